//! Traps: places that no sync takes a token from without putting one into them.

use super::super::mutants::{self, Mutant};
use super::equations::Equations;

/// What the moves of each class do to a set of places.
struct Effect {
    /// A move of the class ends outside.
    leaves_out: Vec<bool>,
}

impl Effect {
    fn new(of: &Equations, inside: &[bool]) -> Self {
        let mut leaves_out = vec![false; of.offering.len()];
        for &(_, to, class) in &of.moves {
            leaves_out[class as usize] |= !inside[to as usize];
        }
        Effect { leaves_out }
    }

    /// Whether a sync can be taken such that all of its moves end outside.
    fn can_leave_out(&self, sync: &[u32]) -> bool {
        sync.iter().all(|&class| self.leaves_out[class as usize])
    }
}

/// For each class whether it is in a sync all of whose moves can end outside.
fn leaving(of: &Equations, inside: &[bool]) -> Vec<bool> {
    let effect = Effect::new(of, inside);
    let mut leaving = vec![false; of.offering.len()];
    for sync in of.syncs.iter().filter(|sync| effect.can_leave_out(sync)) {
        sync.iter().for_each(|&class| leaving[class as usize] = true);
    }
    leaving
}

/// Whether a set of places is a trap and has a token at the beginning: by the definition.
pub(super) fn is_trap(of: &Equations, trap: &[u32]) -> bool {
    if mutants::is(Mutant::AnyTrap) {
        return true;
    }
    let mut inside = vec![false; of.initial.len()];
    trap.iter().for_each(|&place| inside[place as usize] = true);
    let marked = trap.iter().any(|&place| of.initial[place as usize]);
    let effect = Effect::new(of, &inside);
    let lost = |sync: &Vec<u32>| {
        let leaves = |&(from, to, class): &(u32, u32, u32)| {
            inside[from as usize] && !inside[to as usize] && sync.contains(&class)
        };
        effect.can_leave_out(sync) && of.moves.iter().any(leaves)
    };
    marked && !of.syncs.iter().any(lost)
}

/// The largest trap within some places.
fn largest(of: &Equations, inside: &mut [bool]) {
    if mutants::is(Mutant::AnyTrap) {
        return;
    }
    loop {
        let leaving = leaving(of, inside);
        let mut changed = false;
        for &(from, to, class) in &of.moves {
            if inside[from as usize] && !inside[to as usize] && leaving[class as usize] {
                inside[from as usize] = false;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

/// A trap within some places that has a token at the beginning, with no place that it does not need.
pub(super) fn marked_trap(of: &Equations, places: &[bool]) -> Option<Vec<u32>> {
    let marked =
        |inside: &[bool]| inside.iter().zip(&of.initial).any(|(inside, initial)| *inside && *initial);
    let mut trap = places.to_vec();
    largest(of, &mut trap);
    if !marked(&trap) {
        return None;
    }
    // The fewer places, the more the inequality says.
    for place in 0..trap.len() {
        if trap[place] {
            let mut smaller = trap.clone();
            smaller[place] = false;
            largest(of, &mut smaller);
            if marked(&smaller) {
                trap = smaller;
            }
        }
    }
    Some((0u32..).zip(&trap).filter(|(_, inside)| **inside).map(|(place, _)| place).collect())
}
