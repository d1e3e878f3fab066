//! Certificates that the equations have no solution, checked exactly.
//!
//! A certificate has a multiplier for each equation and inequality. Added up they say that a sum of things that are never
//! negative is at most something negative. In terms of the net: no sync lowers the sum of potentials that prices pay for, and a
//! deadlock would need less than there is at the beginning. The solver's numbers are rounded to fractions with small
//! denominators; if that was wrong, the check fails, and nothing is claimed.

use super::Fixed;
use super::equations::Equations;
use super::traps::is_trap;
use num_bigint::BigInt;
use num_rational::BigRational;

/// The largest denominator of a multiplier.
const MOST_DENOMINATOR: i64 = 1000;
/// How near a fraction must be.
const NEAR: f64 = 1e-6;

/// A multiplier for each equation and each inequality.
#[derive(Clone, Debug)]
pub(super) struct Certificate {
    /// For each place, of the equation of its tokens.
    pub(super) potential: Vec<BigRational>,
    /// For each class, of the equation of its moves.
    pub(super) price: Vec<BigRational>,
    /// For each sync, of the inequality that it is not possible at the end.
    pub(super) stuck: Vec<BigRational>,
    /// For each trap, of the inequality that it has a token.
    pub(super) held: Vec<BigRational>,
    /// For each place that is fixed in this case.
    pub(super) cases: Vec<BigRational>,
}

fn whole(number: i64) -> BigRational {
    BigRational::from_integer(BigInt::from(number))
}

/// The fraction with a small denominator that a number stands for, if there is one.
pub(super) fn fraction(number: f64) -> Option<BigRational> {
    if !number.is_finite() || number.abs() > 1e9 {
        return None;
    }
    for denominator in 1..=MOST_DENOMINATOR {
        let numerator = (number * denominator as f64).round();
        if (numerator / denominator as f64 - number).abs() < NEAR {
            return Some(BigRational::new(BigInt::from(numerator as i64), BigInt::from(denominator)));
        }
    }
    None
}

impl Certificate {
    /// Whether it shows that the equations have no solution.
    pub(super) fn is_valid(&self, of: &Equations, traps: &[Vec<u32>], fixed: &[Fixed]) -> bool {
        let sizes =
            (self.potential.len(), self.price.len(), self.stuck.len(), self.held.len(), self.cases.len());
        if sizes != (of.initial.len(), of.offering.len(), of.syncs.len(), traps.len(), fixed.len()) {
            return false;
        }
        let zero = whole(0);
        let never_negative = |numbers: &[BigRational]| numbers.iter().all(|number| *number >= zero);
        let moves = of.moves.iter().all(|&(from, to, class)| {
            let change = &self.potential[from as usize] - &self.potential[to as usize];
            change + &self.price[class as usize] >= zero
        });
        let paid = |sync: &Vec<u32>| {
            sync.iter().map(|&class| &self.price[class as usize]).sum::<BigRational>() <= zero
        };
        never_negative(&self.stuck)
            && never_negative(&self.held)
            && moves
            && of.syncs.iter().all(paid)
            && never_negative(&self.at_the_end(of, traps, fixed))
            && self.bound(of, fixed) < zero
            && traps.iter().all(|trap| is_trap(of, trap))
    }

    /// For each place what its tokens at the end are multiplied by.
    fn at_the_end(&self, of: &Equations, traps: &[Vec<u32>], fixed: &[Fixed]) -> Vec<BigRational> {
        let mut places = self.potential.clone();
        for (sync, stuck) in of.syncs.iter().zip(&self.stuck) {
            for &place in sync.iter().flat_map(|&class| &of.offering[class as usize]) {
                places[place as usize] += stuck;
            }
        }
        for (trap, held) in traps.iter().zip(&self.held) {
            trap.iter().for_each(|&place| places[place as usize] -= held);
        }
        for (&(place, _), case) in fixed.iter().zip(&self.cases) {
            places[place as usize] += case;
        }
        places
    }

    /// What the sum of all is at most.
    fn bound(&self, of: &Equations, fixed: &[Fixed]) -> BigRational {
        let mut bound = whole(0);
        for (potential, _) in self.potential.iter().zip(&of.initial).filter(|(_, initial)| **initial) {
            bound += potential;
        }
        for (sync, stuck) in of.syncs.iter().zip(&self.stuck) {
            bound += stuck * whole(sync.len() as i64 - 1);
        }
        for held in &self.held {
            bound -= held;
        }
        for (_, case) in fixed.iter().zip(&self.cases).filter(|((_, full), _)| *full) {
            bound += case;
        }
        bound
    }
}
