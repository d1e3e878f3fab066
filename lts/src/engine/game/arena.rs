//! The states that a formula talks about, with their steps, each found once.
//!
//! Numbers are the order of discovery, so they depend on the network and the formula alone.

use crate::base::error::{Error, Limit, Result};
use crate::base::hash::Hasher;
use crate::engine::successors::{EveryStep, Steps, Via};
use crate::property::Finding;
use crate::property::formula::Class;
use hashbrown::HashTable;
use std::collections::BTreeSet;
use std::hash::Hasher as _;

/// The number of a state.
pub(super) type State = u32;

/// A step of a state as the formula sees it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Move {
    pub(super) class: Class,
    pub(super) target: State,
}

/// The states met so far and the moves of those that were expanded.
pub(super) struct Arena<'s, S: EveryStep> {
    system: &'s S,
    words: usize,
    packed: Vec<u64>,
    ids: HashTable<State>,
    /// The step that a state was found by, and its distance from the initial one.
    origin: Vec<(State, Via)>,
    depth: Vec<u32>,
    /// Where the moves of a state begin and end; `NONE` if they were not asked for yet.
    range: Vec<(u64, u32)>,
    moves: Vec<Move>,
    steps: Steps,
    /// Steps, counted as searches do.
    pub(super) transitions: u64,
    pub(super) deadlocks: u64,
}

const NONE: u64 = u64::MAX;

/// A fault that was met: its state, and the step out of it.
pub(super) struct Fault {
    pub(super) state: State,
    pub(super) via: Via,
    pub(super) target: Vec<u64>,
    pub(super) fault: u32,
}

/// Why the moves of a state are not available.
pub(super) enum Stop {
    Fault(Fault),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

fn hash(state: &[u64]) -> u64 {
    let mut hasher = Hasher::default();
    state.iter().for_each(|word| hasher.write_u64(*word));
    // The table takes its tag from the highest bits, which this hash mixes least.
    hasher.finish().wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

impl<'s, S: EveryStep> Arena<'s, S> {
    pub(super) fn new(system: &'s S) -> Self {
        let words = system.packing().words();
        let mut arena = Arena {
            system,
            words,
            packed: Vec::new(),
            ids: HashTable::new(),
            origin: Vec::new(),
            depth: Vec::new(),
            range: Vec::new(),
            moves: Vec::new(),
            steps: Steps::new(words),
            transitions: 0,
            deadlocks: 0,
        };
        arena.insert(&system.initial(), 0, Via::new(crate::model::network::VectorIx(0), false), 0);
        arena
    }

    pub(super) fn len(&self) -> usize {
        self.origin.len()
    }

    pub(super) fn state(&self, state: State) -> &[u64] {
        let at = state as usize * self.words;
        &self.packed[at..at + self.words]
    }

    /// The steps by which a state was found, in order from the initial state.
    pub(super) fn way(&self, mut state: State) -> Vec<(Via, State)> {
        let mut way = Vec::new();
        while state != 0 {
            let (from, via) = self.origin[state as usize];
            way.push((via, state));
            state = from;
        }
        way.reverse();
        way
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth.iter().copied().max().unwrap_or(0)
    }

    /// The classes of all steps that were met.
    pub(super) fn classes(&self) -> BTreeSet<Class> {
        self.moves.iter().map(|step| step.class).collect()
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.packed.capacity() * 8
            + self.ids.capacity() * 5
            + self.origin.capacity() * 8
            + self.depth.capacity() * 4
            + self.range.capacity() * 16
            + self.moves.capacity() * 8
    }

    fn insert(&mut self, state: &[u64], from: State, via: Via, depth: u32) -> State {
        let (packed, words) = (&self.packed, self.words);
        let at = |id: State| &packed[id as usize * words..(id as usize + 1) * words];
        let entry = self.ids.entry(hash(state), |id| at(*id) == state, |id| hash(at(*id)));
        let fresh = self.origin.len() as State;
        let id = *entry.or_insert(fresh).get();
        if id == fresh {
            self.packed.extend_from_slice(state);
            self.origin.push((from, via));
            self.depth.push(depth);
            self.range.push((NONE, 0));
        }
        id
    }

    /// Makes sure that the moves of a state are known. `class` is asked about every vector.
    pub(super) fn expand(
        &mut self,
        state: State,
        max_depth: Option<u64>,
        class: &mut dyn FnMut(Via) -> Result<Class>,
    ) -> Result<(), Stop> {
        if self.range[state as usize].0 != NONE {
            return Ok(());
        }
        let depth = self.depth[state as usize];
        if let Some(max) = max_depth.filter(|max| u64::from(depth) >= *max) {
            return Err(Error::Limit(Limit::Depth(max)).into());
        }
        let mut steps = std::mem::replace(&mut self.steps, Steps::new(self.words));
        steps.clear();
        let result = self.fill(state, depth, &mut steps, class);
        self.steps = steps;
        result
    }

    fn fill(
        &mut self,
        state: State,
        depth: u32,
        steps: &mut Steps,
        class: &mut dyn FnMut(Via) -> Result<Class>,
    ) -> Result<(), Stop> {
        let system = self.system;
        system.expand(self.state(state), steps)?;
        let faults = steps.iter().filter(|(_, via)| via.is_marked()).filter_map(|(target, via)| match system
            .finding(target, via)
        {
            Some(Finding::Fault(fault)) => Some((fault, via, target)),
            _ => None,
        });
        if let Some((fault, via, target)) = faults.min_by_key(|(fault, ..)| *fault) {
            return Err(Stop::Fault(Fault { state, via, target: target.to_vec(), fault }));
        }
        let first = self.moves.len();
        for (target, via) in steps.iter() {
            if self.origin.len() >= State::MAX as usize {
                return Err(Error::Limit(Limit::States(u64::from(State::MAX))).into());
            }
            let class = class(via)?;
            let target = self.insert(target, state, via, depth + 1);
            self.moves.push(Move { class, target });
        }
        self.transitions += steps.len() as u64;
        self.deadlocks += u64::from(steps.is_empty());
        // Equal moves are one for the formula.
        self.moves[first..].sort_unstable();
        let mut kept = first;
        for k in first..self.moves.len() {
            if kept == first || self.moves[k] != self.moves[kept - 1] {
                self.moves[kept] = self.moves[k];
                kept += 1;
            }
        }
        self.moves.truncate(kept);
        self.range[state as usize] = (first as u64, (kept - first) as u32);
        Ok(())
    }

    /// The moves of a state that was expanded.
    pub(super) fn moves(&self, state: State) -> &[Move] {
        let (first, count) = self.range[state as usize];
        &self.moves[first as usize..first as usize + count as usize]
    }
}
