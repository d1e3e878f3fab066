//! A visited set with the depths of its states, for searches that must leave out no state within a bound.
//!
//! A bounded depth-first search that meets a state far from its beginning cuts off the states that follow. If a shorter path
//! leads to the state later, it has to be expanded again. Invariant: each state has the least depth at which it was expanded;
//! it is marked if the bound cut off some of its steps then.

use super::depth::Visited;
use super::told::{Known, Told};
use crate::states::{Origin, States};
use gridlock_lts::base::memory::{Budget, Exhausted, Stack};

/// Set in the depth of a state whose steps were cut off.
const CUT_OFF: u32 = 1 << 31;
/// The depth of a state that was not expanded after all.
const NEVER: u32 = CUT_OFF - 1;
/// The greatest bound: one step further is still less than never.
pub(super) const DEEPEST: u32 = NEVER - 2;

/// See the module head.
pub(super) struct Nearest<'b> {
    states: States<'b>,
    /// The depth of each state, by its number.
    depths: Stack<'b, u32>,
    words: usize,
    /// The states that other jobs reported, and how often a state was left out because of them.
    known: Option<&'b Known>,
    skipped: u64,
}

impl<'b> Nearest<'b> {
    /// An empty set of states of this many words, for a job that gets these states of other jobs.
    pub(super) fn new(words: usize, known: Option<&'b Known>, budget: &'b Budget) -> Self {
        let states = States::new(words, false, budget);
        Nearest { states, depths: Stack::new(budget), words, known, skipped: 0 }
    }

    /// How often a state was left out because others have expanded it.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The states that were expanded, with their least depths; those that were taken back are left out.
    pub(super) fn told(&self) -> Told {
        let mut told = Told::default();
        for (number, depth) in self.depths.iter().map(|depth| depth & !CUT_OFF).enumerate() {
            if depth < NEVER {
                told.states.extend_from_slice(self.states.get(number));
                told.depths.push(depth);
            }
        }
        told
    }

    fn depth(&mut self, state: &[u64]) -> Option<&mut u32> {
        let number = self.states.find(state)?;
        self.depths.as_mut_slice().get_mut(number)
    }
}

impl Visited for Nearest<'_> {
    const EXACT: bool = true;
    const GIVES_BACK: bool = true;

    fn insert(&mut self, state: &[u64], depth: u32) -> Result<bool, Exhausted> {
        self.depths.reserve(1)?;
        let none = || Origin { position: 0, index: 0, vector: 0 };
        let (number, new) = self.states.number(state, none)?;
        if new {
            self.depths.push(depth)?;
            return Ok(true);
        }
        let known = &mut self.depths.as_mut_slice()[number];
        let nearer = depth < *known & !CUT_OFF;
        if nearer {
            *known = depth;
        }
        Ok(nearer)
    }

    fn absent(&mut self, targets: &[u64], depth: u32, absent: &mut Vec<u32>) {
        absent.clear();
        for (k, target) in targets.chunks_exact(self.words).enumerate() {
            let known = self.states.find(target).map_or(NEVER, |number| self.depths[number] & !CUT_OFF);
            if known > depth {
                absent.push(k as u32);
            }
        }
        if let Some(known) = self.known {
            self.skipped += known.leave_out(targets, depth, absent);
        }
    }

    fn cut_off(&mut self, state: &[u64]) -> bool {
        match self.depth(state) {
            Some(depth) => {
                *depth |= CUT_OFF;
                false
            }
            None => true,
        }
    }

    fn has_cut_off(&self) -> bool {
        self.depths.iter().any(|depth| depth & CUT_OFF != 0)
    }

    fn take_back(&mut self, state: &[u64]) {
        if let Some(depth) = self.depth(state) {
            *depth = NEVER;
        }
    }

    fn is_all(&self) -> bool {
        self.skipped == 0
    }
}
