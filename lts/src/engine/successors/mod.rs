//! Successor functions over packed states: what every search is written against.
//!
//! [`Successors`] is the one interface between a search and a network. [`Compiled`] implements it for complete tables,
//! where the hot loop is integer additions only, and [`Lazy`](crate::engine::lazy::Lazy) for tables that grow while they are
//! searched. Invariant of every implementation that is also [`EveryStep`]: `expand` yields exactly the steps of
//! [`Network::successors`](crate::model::network::Network::successors), each once, in an order that depends on the state
//! only. The one that is not leaves out steps that a search for violations does not need:
//! [`reduce`](crate::engine::reduce).

mod blocks;
mod build;
mod channels;
mod compiled;
mod sample;
mod steps;

#[cfg(test)]
mod tests;

pub use compiled::Compiled;
pub use steps::Steps;

use crate::base::error::{Error, Result};
use crate::engine::pack::{Packing, Width};
use crate::model::network::{LeafIx, Local, VectorIx};
use crate::property::{DeadEnd, Finding, What};
use std::collections::BTreeSet;

/// The vector of a step, with a mark on those that a search must look at: faults and steps a property forbids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Via(u32);

impl Via {
    const MARK: u32 = 1 << 31;
    /// Vectors must have smaller numbers than this.
    pub(crate) const LIMIT: u32 = 1 << 30;

    /// The step of a vector.
    #[inline]
    pub fn new(vector: VectorIx, marked: bool) -> Self {
        debug_assert!(vector.0 < Self::LIMIT);
        Via(vector.0 | if marked { Self::MARK } else { 0 })
    }

    /// The vector taken.
    #[inline]
    pub fn vector(self) -> VectorIx {
        VectorIx(self.0 & (Self::LIMIT - 1))
    }

    /// Whether [`Successors::finding`] has something to say about steps of this vector.
    #[inline]
    pub fn is_marked(self) -> bool {
        self.0 & Self::MARK != 0
    }
}

/// A successor function that leaves no step out. What needs every step asks for this: traces, guides, coverage, counts of
/// the state space.
pub trait EveryStep: Successors {}

/// A successor function over packed states.
pub trait Successors: Sync {
    /// The number of words of a state.
    type Width: Width;

    /// The number of words of a state.
    fn width(&self) -> Self::Width;

    /// How states are packed.
    fn packing(&self) -> &Packing;

    /// The initial state.
    fn initial(&self) -> Vec<u64>;

    /// Appends the steps of `state` to `out`. An error is that of a table source and ends the search.
    fn expand(&self, state: &[u64], out: &mut Steps) -> Result<()>;

    /// Whether tables may have to be filled before states can be expanded.
    fn fills_tables(&self) -> bool {
        false
    }

    /// Adds the local states that must be filled before some states can be expanded. A search that cares about the order
    /// in which that happens has them filled itself; all others leave it to [`expand`](Self::expand).
    fn missing(&self, _states: &[u64], _missing: &mut BTreeSet<(LeafIx, Local)>) {}

    /// Fills the table of a local state. An error is that of a table source.
    fn fill(&self, _leaf: LeafIx, _local: Local) -> Result<()> {
        Ok(())
    }

    /// A hash of what a state is, if its numbers depend on the order in which tables were filled.
    fn content(&self, _state: &[u64]) -> Option<u64> {
        None
    }

    /// What a state is that has no steps.
    fn dead_end(&self, state: &[u64]) -> DeadEnd;

    /// What a marked step is, if it is anything: of several the least.
    fn finding(&self, target: &[u64], via: Via) -> Option<Finding>;

    /// Adds everything that a marked step is, for searches that go on after a finding: a property whose monitor was bad
    /// before the step is not violated again by it.
    fn findings(&self, source: &[u64], target: &[u64], via: Via, found: &mut Vec<Finding>);

    /// Bytes held by tables.
    fn table_bytes(&self) -> u64;

    /// Bytes that it has come to hold since the search began.
    fn growing_bytes(&self) -> u64 {
        0
    }

    /// Whether its steps may stand for several of the system, one after the other.
    fn has_chains(&self) -> bool {
        false
    }

    /// States passed on such steps, each time.
    fn passed(&self) -> u64 {
        0
    }

    /// How many of these are stored all the same, if any may be.
    fn saved(&self) -> Option<u64> {
        None
    }

    /// Leaves that take each other's places, if states stand for others that differ in nothing else.
    fn like_leaves(&self) -> Option<&[Vec<LeafIx>]> {
        None
    }

    /// The run of the system that a run to a finding stands for, that of the finding included.
    fn lift(&self, path: Vec<(VectorIx, Vec<u64>)>, _what: What) -> Result<Vec<(VectorIx, Vec<u64>)>> {
        Ok(path)
    }

    /// The steps of the system that a step stands for: each by its vector and target. Of several ways a fixed one.
    fn unfold(&self, from: &[u64], to: &[u64]) -> Result<Vec<(VectorIx, Vec<u64>)>> {
        let mut steps = Steps::new(self.packing().words());
        self.expand(from, &mut steps)?;
        let there = steps.iter().filter(|(target, _)| *target == to);
        let vector = there.map(|(_, via)| via.vector()).min();
        let vector = vector.ok_or_else(|| Error::internal("a step of a trace is missing"))?;
        Ok(vec![(vector, to.to_vec())])
    }
}
