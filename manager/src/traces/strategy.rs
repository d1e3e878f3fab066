//! Which of the remaining trace IDs is next.
//!
//! Invariant: a choice depends on the strategy's own past, the remaining IDs and the guide only, so a swarm makes the
//! same jobs on every machine.

use crate::traces::ids::IdSet;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::guide::{EdgeIx, Guide, StateIx};
use num_bigint::BigUint;
use std::fmt;
use std::str::FromStr;

/// A way to choose trace IDs.
pub trait Strategy: Send {
    /// One of the remaining IDs; `None` only if none remains.
    fn choose(&mut self, remaining: &IdSet, guide: &Guide) -> Option<BigUint>;

    /// Called with the path of every job that was made after a choice.
    fn made(&mut self, _path: &[EdgeIx]) {}
}

/// The strategies by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StrategyKind {
    /// Spread evenly over what remains.
    #[default]
    Even,
    /// The lowest first.
    Order,
    /// At random, every remaining ID with the same probability.
    Random,
    /// As different as possible from the traces that were chosen before.
    Different,
}

impl StrategyKind {
    /// All of them.
    pub const ALL: [StrategyKind; 4] =
        [StrategyKind::Even, StrategyKind::Order, StrategyKind::Random, StrategyKind::Different];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            StrategyKind::Even => "even",
            StrategyKind::Order => "order",
            StrategyKind::Random => "random",
            StrategyKind::Different => "different",
        }
    }

    /// A strategy of this kind that has chosen nothing yet. Only random choices look at the seed.
    pub fn strategy(self, seed: u64) -> Box<dyn Strategy> {
        match self {
            StrategyKind::Even => Box::new(EvenSpread::default()),
            StrategyKind::Order => Box::new(InOrder),
            StrategyKind::Random => Box::new(Random::new(seed)),
            StrategyKind::Different => Box::new(MostDifferent::default()),
        }
    }
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for StrategyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("there is no strategy '{text}'; choose even, order, random or different"))
    }
}

/// The n-th choice stands where the n-th number of van der Corput's sequence stands between 0 and 1: 0, 1/2, 1/4, 3/4, 1/8...
/// Any number of first choices is spread evenly, no matter which IDs are taken out in between.
#[derive(Default)]
pub struct EvenSpread {
    chosen: u64,
}

impl Strategy for EvenSpread {
    fn choose(&mut self, remaining: &IdSet, _: &Guide) -> Option<BigUint> {
        let at = (remaining.count() * self.chosen.reverse_bits()) >> 64u32;
        self.chosen = self.chosen.wrapping_add(1);
        remaining.nth(&at)
    }
}

/// The lowest ID.
pub struct InOrder;

impl Strategy for InOrder {
    fn choose(&mut self, remaining: &IdSet, _: &Guide) -> Option<BigUint> {
        remaining.nth(&BigUint::ZERO)
    }
}

/// Any ID with the same probability.
pub struct Random {
    rng: Rng,
}

impl Random {
    /// Equal seeds give equal choices.
    pub fn new(seed: u64) -> Self {
        Random { rng: Rng::new(seed) }
    }

    /// A number below `count`, which is not 0: as many random bits as it has, again until they are below.
    fn below(&mut self, count: &BigUint) -> BigUint {
        let bits = count.bits();
        loop {
            let words = (0..bits.div_ceil(32)).map(|_| self.rng.bits() as u32).collect();
            let number = BigUint::new(words) >> (bits.next_multiple_of(32) - bits);
            if number < *count {
                return number;
            }
        }
    }
}

impl Strategy for Random {
    fn choose(&mut self, remaining: &IdSet, _: &Guide) -> Option<BigUint> {
        let count = remaining.count();
        if count == BigUint::ZERO {
            return None;
        }
        remaining.nth(&self.below(&count))
    }
}

/// From the initial state on always the edge that jobs took least often, among those below which an ID remains.
#[derive(Default)]
pub struct MostDifferent {
    /// How often each edge was taken.
    taken: Vec<u64>,
}

impl MostDifferent {
    fn taken(&self, edge: EdgeIx) -> u64 {
        self.taken.get(edge.0 as usize).copied().unwrap_or(0)
    }
}

impl Strategy for MostDifferent {
    fn choose(&mut self, remaining: &IdSet, guide: &Guide) -> Option<BigUint> {
        let (mut state, mut start) = (StateIx(0), BigUint::ZERO);
        let mut last = None;
        loop {
            let (mut best, mut at) = (None, start);
            for edge in guide.edges_of(state).map(EdgeIx).filter(|&e| !guide.edge(e).cut) {
                let range = at.clone()..&at + guide.weight(guide.edge(edge).target);
                at.clone_from(&range.end);
                let taken = self.taken(edge);
                if best.as_ref().is_none_or(|(least, _, _)| taken < *least) && remaining.intersects(&range) {
                    best = Some((taken, guide.edge(edge).target, range.start));
                }
            }
            let Some((_, target, first)) = best else { break };
            (state, start) = (target, first.clone());
            last = Some(first);
        }
        // No edge: the guide is a single state, so its only trace is what remains, if anything does.
        last.or_else(|| remaining.nth(&BigUint::ZERO))
    }

    fn made(&mut self, path: &[EdgeIx]) {
        for edge in path {
            let edge = edge.0 as usize;
            if self.taken.len() <= edge {
                self.taken.resize(edge + 1, 0);
            }
            self.taken[edge] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::testbed::{Shape, System};

    fn system() -> System {
        System::new(Shape { depth: 3, width: 2, branching: 2, possible: 100, cost: 1 }, 1)
    }

    fn choices(kind: StrategyKind, seed: u64, remaining: &IdSet, count: usize) -> Vec<BigUint> {
        let (system, mut strategy) = (system(), kind.strategy(seed));
        (0..count)
            .map(|_| {
                let id = strategy.choose(remaining, &system.guide).unwrap();
                strategy.made(&system.guide.trace(&id).unwrap());
                id
            })
            .collect()
    }

    fn ids(numbers: &[u32]) -> Vec<BigUint> {
        numbers.iter().map(|&n| n.into()).collect()
    }

    #[test]
    fn choices_are_as_described() {
        let all = IdSet::from_iter([BigUint::ZERO..8u32.into()]);
        assert_eq!(choices(StrategyKind::Even, 0, &all, 8), ids(&[0, 4, 2, 6, 1, 5, 3, 7]));
        assert_eq!(choices(StrategyKind::Order, 0, &all, 3), ids(&[0, 0, 0]));
        let upper = IdSet::from_iter([6u32.into()..8u32.into()]);
        assert_eq!(choices(StrategyKind::Even, 0, &upper, 3), ids(&[6, 7, 6]));
        assert_eq!(choices(StrategyKind::Order, 0, &upper, 1), ids(&[6]));
        let different = choices(StrategyKind::Different, 0, &all, 2);
        assert_eq!(different[0], BigUint::ZERO);
        assert!(different[1] >= 4u32.into(), "the second trace begins with the other edge: {different:?}");
        for kind in StrategyKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(kind.strategy(1).choose(&IdSet::new(), &system().guide), None);
            assert!(choices(kind, 3, &upper, 20).iter().all(|id| upper.contains(&(id.clone()..id + 1u32))));
        }
        assert!("sideways".parse::<StrategyKind>().is_err());
    }

    #[test]
    fn random_choices_are_uniform() {
        let all = IdSet::from_iter([BigUint::ZERO..5u32.into()]);
        let chosen = choices(StrategyKind::Random, 9, &all, 5_000);
        for id in 0..5u32 {
            let times = chosen.iter().filter(|&c| *c == id.into()).count();
            assert!((800..1_200).contains(&times), "{id}: {times}");
        }
        let vast = BigUint::from(10u32).pow(300);
        let mut random = Random::new(4);
        let upper = (0..1_000).filter(|_| random.below(&vast) * 2u32 >= vast).count();
        assert!((400..600).contains(&upper), "{upper}");
    }
}
