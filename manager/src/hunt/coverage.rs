//! The joint coverage of all searches of a hunt.
//!
//! Invariant: it is the union of all merged coverage, in any order; gains depend on the order, so they are computed in the
//! order of jobs.

use gridlock_lts::model::network::Network;
use gridlock_worker::hunt::job::Coverage;
use gridlock_worker::sketch::{self, REGISTERS};

/// How much of a set was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// How many of its elements were.
    pub reached: u64,
    /// How many are in the tables; some of these may occur nowhere in the whole system.
    pub total: u64,
}

/// The coverage of one leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeafCoverage {
    /// Local states.
    pub locals: Part,
    /// Local transitions.
    pub moves: Part,
}

/// The fullest array of a bitstate search, and what it may have left out.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Bits {
    /// Bitstate searches so far.
    pub jobs: u64,
    /// The greatest part of an array that was set.
    pub fill: f64,
    /// States that the search with that array is expected to have left out, without those behind them.
    pub omissions: f64,
    /// States that all these searches counted as visited; nearly all of them were.
    pub taken_for_visited: u64,
}

/// The new coverage of a search.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Gain {
    /// Local states of leaves.
    pub locals: u64,
    /// Local transitions of leaves.
    pub moves: u64,
    /// Different states, as far as the sketch can tell.
    pub states: f64,
}

/// See the module head.
pub struct Seen {
    locals: Vec<Vec<u64>>,
    moves: Vec<Vec<u64>>,
    leaves: Vec<LeafCoverage>,
    sketch: Vec<u8>,
    distinct: f64,
    bits: Bits,
}

impl Seen {
    /// Empty coverage. Without complete tables the totals are unknown.
    pub fn new(net: Option<&Network>) -> Self {
        let all = net.map_or(&[][..], |net| &net.leaves);
        let leaf = |leaf: &gridlock_lts::model::network::Leaf| {
            let moves = leaf.states.iter().map(|state| state.moves.len() as u64).sum();
            let part = |total| Part { reached: 0, total };
            LeafCoverage { locals: part(leaf.states.len() as u64), moves: part(moves) }
        };
        Seen {
            locals: vec![Vec::new(); all.len()],
            moves: vec![Vec::new(); all.len()],
            leaves: all.iter().map(leaf).collect(),
            sketch: vec![0; REGISTERS],
            distinct: 0.0,
            bits: Bits::default(),
        }
    }

    /// Adds the coverage of a search; returns the new part. An error says why the coverage cannot be right.
    pub fn add(&mut self, coverage: &Coverage) -> Result<Gain, String> {
        let mut gain = Gain::default();
        for (k, leaf) in self.leaves.iter_mut().enumerate() {
            let sets = [
                (&mut self.locals[k], &coverage.locals, &mut leaf.locals, &mut gain.locals),
                (&mut self.moves[k], &coverage.moves, &mut leaf.moves, &mut gain.moves),
            ];
            for (ours, theirs, part, gained) in sets {
                let new = theirs.get(k).map_or(0, |theirs| unite(ours, theirs));
                part.reached += new;
                *gained += new;
                if part.reached > part.total {
                    return Err(format!("leaf {k} has more in it than its tables"));
                }
            }
        }
        if !coverage.sketch.is_empty() {
            sketch::merge(&mut self.sketch, &coverage.sketch);
            let distinct = sketch::estimate(&self.sketch);
            // Where the formula changes the estimate may take a step back.
            gain.states = (distinct - self.distinct).max(0.0);
            self.distinct = distinct;
        }
        Ok(gain)
    }

    /// Adds the figures of a bitstate search about its array.
    pub fn add_bits(&mut self, coverage: &Coverage, log2_bits: u8, hashes: u8, states: u64) {
        let fill = coverage.bits_set as f64 / 2f64.powi(i32::from(log2_bits));
        self.bits.jobs += 1;
        self.bits.taken_for_visited += coverage.taken_for_visited;
        if fill > self.bits.fill {
            self.bits.fill = fill;
            self.bits.omissions = expected_omissions(fill, hashes, states);
        }
    }

    /// Leaf by leaf.
    pub fn leaves(&self) -> &[LeafCoverage] {
        &self.leaves
    }

    /// An estimate of the different states.
    pub fn distinct(&self) -> f64 {
        self.distinct
    }

    /// The figures about bit arrays.
    pub fn bits(&self) -> Bits {
        self.bits
    }
}

/// Bits of a block of an array: all bits of a state are in one.
const BLOCK: f64 = 512.0;
/// Steps of the sum over the filling of an array.
const STEPS: u32 = 64;

/// States left out by a search that stored this many in an array that was filled to a part of `fill` in the end: the array
/// fills evenly, and at each point [`taken`] gives the probability that a new state is left out.
fn expected_omissions(fill: f64, hashes: u8, states: u64) -> f64 {
    let part = |step: u32| taken(fill * (f64::from(step) + 0.5) / f64::from(STEPS), hashes);
    states as f64 * (0..STEPS).map(part).sum::<f64>() / f64::from(STEPS)
}

/// The probability that a new state counts as visited in an array of which a part `fill` is set.
///
/// If all blocks were equally full it would be the power of `fill` to the number of bits of a state, which all must be set
/// by chance. But the states in a block are Poisson distributed, and fuller blocks count more: with n states of k bits in a
/// block of B bits it is (n k / B)^k, whose mean is that of n^k, the k-th moment.
fn taken(fill: f64, hashes: u8) -> f64 {
    let k = f64::from(hashes);
    let mean = fill * BLOCK / k;
    // The moments of a Poisson distribution: m(0) = 1, m(i + 1) = mean * sum of binomial(i, j) m(j) for j up to i.
    let mut moments = vec![1.0];
    for i in 0..u32::from(hashes) {
        let (mut sum, mut binomial) = (0.0, 1.0);
        for (j, moment) in (0..).zip(&moments) {
            sum += binomial * moment;
            binomial *= f64::from(i - j) / f64::from(j + 1);
        }
        moments.push(mean * sum);
    }
    (moments[usize::from(hashes)] * (k / BLOCK).powi(i32::from(hashes))).min(1.0)
}

/// Adds one set to another; returns how many elements were new.
fn unite(ours: &mut Vec<u64>, theirs: &[u64]) -> u64 {
    if ours.len() < theirs.len() {
        ours.resize(theirs.len(), 0);
    }
    ours.iter_mut().zip(theirs).fold(0, |new, (ours, theirs)| {
        let more = theirs & !*ours;
        *ours |= more;
        new + u64::from(more.count_ones())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::rng::Rng;

    #[test]
    fn unions_count_new_elements() {
        let mut set = Vec::new();
        assert_eq!(unite(&mut set, &[0b1010]), 2);
        assert_eq!(unite(&mut set, &[0b1110, 1]), 2);
        assert_eq!(unite(&mut set, &[0b1110, 1]), 0);
        assert_eq!(set, [0b1110, 1]);
    }

    /// Stores random states in a small array and counts new states that are taken for visited.
    #[test]
    fn omissions_are_as_many_as_expected() {
        for (seed, bits, hashes, states) in
            [(1, 1 << 18, 2u8, 20_000), (2, 1 << 19, 3, 60_000), (3, 1 << 16, 1, 6_000)]
        {
            let rng = &mut Rng::new(seed);
            let mut array = vec![false; bits];
            let (mut stored, mut omitted) = (0u64, 0);
            while stored < states {
                let block = rng.below(bits / 512) * 512;
                let places: Vec<usize> = (0..hashes).map(|_| block + rng.below(512)).collect();
                if places.iter().all(|&place| array[place]) {
                    omitted += 1;
                } else {
                    places.iter().for_each(|&place| array[place] = true);
                    stored += 1;
                }
            }
            let fill = array.iter().filter(|&&bit| bit).count() as f64 / bits as f64;
            let expected = expected_omissions(fill, hashes, states);
            let off = (expected - f64::from(omitted)).abs() / expected;
            assert!(off < 0.3, "{expected} expected, {omitted} omitted, fill {fill}");
        }
    }
}
