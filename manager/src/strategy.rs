//! Which of the remaining trace IDs is next.
//!
//! Invariant: a choice depends on the strategy's own past, the remaining IDs and the guide only, so a swarm makes the
//! same jobs wherever it runs.

use crate::ids::IdSet;
use gridlock_lts::guide::{EdgeIx, Guide, StateIx};
use gridlock_lts::random::Rng;
use num_bigint::BigUint;
use std::fmt;
use std::str::FromStr;

/// A way to choose trace IDs.
pub trait Strategy: Send {
    /// One of the remaining IDs; `None` only if none remains.
    fn choose(&mut self, remaining: &IdSet, guide: &Guide) -> Option<BigUint>;

    /// Is told the path of every job that was made after a choice.
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
    /// As different as possible from the traces that had their turn.
    Different,
}

impl StrategyKind {
    /// All of them.
    pub const ALL: [StrategyKind; 4] =
        [StrategyKind::Even, StrategyKind::Order, StrategyKind::Random, StrategyKind::Different];

    /// What it is called.
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

/// The n-th choice stands where the n-th number of van der Corput's sequence stands between 0 and 1: 0, 1/2, 1/4, 3/4,
/// 1/8... Any number of first choices is spread evenly, whatever is taken out in between.
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
