//! The path from the initial state to a finding, from the runs of the slices.
//!
//! A run has the number of the activation in which its states were expanded. Such a state was found by steps inside its slice
//! from one that came out of the inbox, and that one was sent by a state that was expanded in an earlier activation. So the
//! search goes backwards inside the activation until a predecessor lies in an earlier one, and goes on from there. If the
//! slice was divided since, the run of an activation is in several parts. Invariant: the number of the activation decreases
//! from one activation to the next, so the search ends, at the initial state in the first activation. Only steps are taken
//! that are no findings themselves. The path need not be the shortest. A [`Past`] gives the same answers on every rank.

use super::buffer::Buffer;
use super::layout::Layout;
use super::message::{Found, Slice};
use super::partition::{Partition, SliceIx};
use gridlock_lts::base::error::{Error, Limit};
use gridlock_lts::base::memory::{Budget, Exhausted};
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::predecessors::Predecessors;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::{Network, VectorIx};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// At most this many combinations of local predecessors are tried for one state; beyond, all states are expanded instead.
const COMBINATIONS: usize = if cfg!(test) { 20 } else { 1 << 16 };
/// Predecessors outside of a run that are collected before their slices are read.
const CANDIDATES: usize = if cfg!(test) { 3 } else { 1 << 14 };

/// A step of a path: the vector and the target.
pub type PathStep = (VectorIx, Vec<u64>);

fn internal(broken: &str) -> Error {
    Error::internal(broken)
}

/// A search by slices at its end.
pub struct Searched<'a, S> {
    /// The system that was searched.
    pub system: &'a S,
    /// The network that was searched, with monitors.
    pub network: &'a Network,
    /// Which slice a state belongs to.
    pub partition: &'a Partition,
    /// The slices, by their numbers.
    pub slices: &'a [Arc<Slice>],
    /// Bytes that may be used.
    pub memory: u64,
    /// Whether to give up.
    pub stop: &'a dyn Fn() -> bool,
}

/// A state of a slice that may be a predecessor of another state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// Where the state belongs.
    pub slice: SliceIx,
    /// The state.
    pub state: Vec<u64>,
    /// The state that it may be a predecessor of.
    pub target: Vec<u64>,
}

/// States that were expanded: those of a run, which its slice and its place there identify.
pub type OfRun = (SliceIx, usize, Vec<u64>);

/// Access to the runs of all slices, in memory or in files.
pub trait Past {
    /// The activation in which a state was expanded, if that is before the given one.
    fn find(&mut self, slice: SliceIx, state: &[u64], before: u64) -> Result<Option<u64>, Error>;

    /// Hands over the states that an activation expanded, in memory or in files, in any order.
    fn load(
        &mut self,
        activation: u64,
        visit: &mut dyn FnMut(&[u64]) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// The first of some candidates, which are sorted, that was expanded before an activation and has a step to its target:
    /// by slice, by run and by the place in the run.
    fn earlier(&mut self, activation: u64, candidates: &[Candidate]) -> Result<Option<Candidate>, Error>;

    /// All predecessors of a state that were expanded up to an activation, by slice and run.
    fn predecessors(&mut self, target: &[u64], activation: u64) -> Result<Vec<OfRun>, Error>;
}

/// The runs of the slices of this process.
pub struct Remembered<'a, S> {
    searched: &'a Searched<'a, S>,
    steps: Steps,
    bytes: Vec<u8>,
}

impl<'a, S: Successors> Remembered<'a, S> {
    /// The runs of a search.
    pub fn new(searched: &'a Searched<'a, S>) -> Self {
        let steps = Steps::new(searched.system.width().words());
        Remembered { searched, steps, bytes: Vec::new() }
    }

    /// The runs of activations whose numbers are wanted, as slices and indices.
    fn runs(&self, wanted: impl Fn(u64) -> bool) -> Vec<(SliceIx, usize)> {
        let slices = self.searched.slices.iter().enumerate();
        let runs = slices.flat_map(|(k, slice)| {
            slice.runs.iter().enumerate().map(move |(run, of)| (SliceIx(k as u32), run, of.activation))
        });
        runs.filter(|run| wanted(run.2)).map(|(slice, run, _)| (slice, run)).collect()
    }

    /// Calls `visit` with the states of a run until it says that this is enough.
    fn scan(
        &mut self,
        slice: SliceIx,
        run: usize,
        mut visit: impl FnMut(&mut Self, &[u64]) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let (width, searched) = (self.searched.system.width(), self.searched);
        let (of, layout) = (&searched.slices[slice.0 as usize], searched.partition.layout());
        let mut states = Vec::new();
        for segment in &of.runs[run].segments {
            if (self.searched.stop)() {
                return Err(Error::Limit(Limit::Interrupted));
            }
            let mut bytes = std::mem::take(&mut self.bytes);
            let mut decoder = segment.decoder(width, layout, &of.key, &mut bytes)?;
            while decoder.read(256, &mut states)? > 0 {
                for state in states.chunks_exact(width.words()) {
                    if visit(self, state)? {
                        return Ok(true);
                    }
                }
                states.clear();
            }
            self.bytes = bytes;
        }
        Ok(false)
    }

    /// The vector of a step that is no finding; the least of several.
    fn step(&mut self, from: &[u64], to: &[u64]) -> Result<Option<VectorIx>, Error> {
        innocent(self.searched.system, &mut self.steps, from, to)
    }

    /// The runs of a slice before an activation.
    fn before(&self, slice: SliceIx, activation: u64) -> Result<Vec<(usize, u64)>, Error> {
        let of =
            self.searched.slices.get(slice.0 as usize).ok_or_else(|| internal("there is no such slice"))?;
        let runs = of.runs.iter().map(|run| run.activation).enumerate();
        Ok(runs.filter(|&(_, number)| number < activation).collect())
    }
}

fn innocent<S: Successors>(
    system: &S,
    steps: &mut Steps,
    from: &[u64],
    to: &[u64],
) -> Result<Option<VectorIx>, Error> {
    steps.clear();
    system.expand(from, steps)?;
    let innocent = steps
        .iter()
        .filter(|&(target, via)| target == to && !(via.is_marked() && system.finding(target, via).is_some()));
    Ok(innocent.map(|(_, via)| via.vector()).min())
}

impl<S: Successors> Past for Remembered<'_, S> {
    fn find(&mut self, slice: SliceIx, state: &[u64], before: u64) -> Result<Option<u64>, Error> {
        for (run, activation) in self.before(slice, before)? {
            if self.scan(slice, run, |_, other| Ok(other == state))? {
                return Ok(Some(activation));
            }
        }
        Ok(None)
    }

    fn load(
        &mut self,
        activation: u64,
        visit: &mut dyn FnMut(&[u64]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (slice, run) in self.runs(|number| number == activation) {
            self.scan(slice, run, |_, state| visit(state).map(|()| false))?;
        }
        Ok(())
    }

    fn earlier(&mut self, activation: u64, candidates: &[Candidate]) -> Result<Option<Candidate>, Error> {
        let mut rest = candidates;
        while let Some(first) = rest.first() {
            let slice = first.slice;
            let (group, others) = rest.split_at(rest.partition_point(|c| c.slice == slice));
            rest = others;
            for (run, _) in self.before(slice, activation)? {
                let mut hit = None;
                self.scan(slice, run, |past, state| {
                    let start = group.partition_point(|c| c.state[..] < *state);
                    for candidate in group[start..].iter().take_while(|c| c.state == state) {
                        if past.step(state, &candidate.target)?.is_some() {
                            hit = Some(candidate.clone());
                            return Ok(true);
                        }
                    }
                    Ok(false)
                })?;
                if hit.is_some() {
                    return Ok(hit);
                }
            }
        }
        Ok(None)
    }

    /// Expands all states again: slow, but the number of combinations of local predecessors does not matter.
    fn predecessors(&mut self, target: &[u64], activation: u64) -> Result<Vec<OfRun>, Error> {
        let mut found = Vec::new();
        for (slice, run) in self.runs(|number| number <= activation) {
            let mut before = Vec::new();
            self.scan(slice, run, |past, state| {
                if past.step(state, target)?.is_some() {
                    before.extend_from_slice(state);
                }
                Ok(false)
            })?;
            if !before.is_empty() {
                found.push((slice, run, before));
            }
        }
        Ok(found)
    }
}

/// The steps from the initial state to a finding, that of the finding included.
pub fn path_to<S: Successors>(
    searched: &Searched<S>,
    past: &mut dyn Past,
    found: &Found,
) -> Result<Vec<PathStep>, Error> {
    let predecessors = Predecessors::new(searched.network, searched.system.packing());
    let mut back = Back {
        searched,
        past,
        predecessors: &predecessors,
        initial: searched.system.initial(),
        steps: Steps::new(searched.system.width().words()),
        path: Vec::new(),
    };
    let mut state = found.state.clone();
    let mut activation = u64::MAX;
    while state != back.initial {
        let slice = searched.partition.slice_of(&state).ok_or_else(|| internal("a state has no slice"))?;
        activation = back
            .past
            .find(slice, &state, activation)?
            .ok_or_else(|| internal("a state of a trace was never expanded"))?;
        state = back.leave(activation, &state)?;
    }
    back.path.reverse();
    back.path.extend(found.step.clone());
    Ok(back.path)
}

struct Back<'a, S> {
    searched: &'a Searched<'a, S>,
    past: &'a mut dyn Past,
    predecessors: &'a Predecessors<'a>,
    initial: Vec<u64>,
    steps: Steps,
    /// From the finding backwards.
    path: Vec<PathStep>,
}

/// The states of one run, sorted, and for each the state that it was seen from, going backwards.
struct Loaded<'b> {
    words: usize,
    states: Buffer<'b>,
    next: Buffer<'b>,
}

const UNSEEN: u64 = u64::MAX;

impl Loaded<'_> {
    fn state(&self, k: usize) -> &[u64] {
        &self.states[k * self.words..][..self.words]
    }

    fn index(&self, state: &[u64]) -> Option<usize> {
        let (mut low, mut high) = (0, self.next.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.state(middle).cmp(state) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

impl<S: Successors> Back<'_, S> {
    /// Goes back inside an activation until a predecessor is in an earlier one, or until the initial state. Returns that state,
    /// after the steps from there to `state` have been added to the path.
    fn leave(&mut self, activation: u64, state: &[u64]) -> Result<Vec<u64>, Error> {
        let words = self.searched.system.width().words();
        // The workers are idle, so their memory is free.
        let budget = Budget::new(self.searched.memory);
        let mut loaded = self.load(activation, &budget)?;
        let start = loaded.index(state).ok_or_else(|| internal("a state is not in its run"))?;
        loaded.next.words()[start] = start as u64;
        let mut queue = Buffer::new(&budget);
        queue.reserve(1).map_err(Exhausted::of_job)?;
        queue.words().push(start as u64);
        let (mut head, mut candidates, mut before): (usize, Vec<Candidate>, Vec<u64>) =
            (0, Vec::new(), Vec::new());
        while head < queue.len() {
            let here = queue[head] as usize;
            head += 1;
            let target = loaded.state(here).to_vec();
            if target == self.initial {
                self.add_path(&loaded, here)?;
                return Ok(target);
            }
            before.clear();
            if !self.predecessors.of(&target, COMBINATIONS, &mut |state, _| before.extend_from_slice(state)) {
                let of_runs = self.past.predecessors(&target, activation)?;
                before = of_runs.into_iter().flat_map(|(_, _, states)| states).collect();
            }
            for state in before.chunks_exact(words) {
                match loaded.index(state) {
                    Some(k) if loaded.next[k] == UNSEEN => {
                        if self.step(state, &target)?.is_some() {
                            loaded.next.words()[k] = here as u64;
                            queue.reserve(1).map_err(Exhausted::of_job)?;
                            queue.words().push(k as u64);
                        }
                    }
                    Some(_) => {}
                    None => {
                        if let Some(slice) = self.searched.partition.slice_of(state) {
                            let (state, target) = (state.to_vec(), target.clone());
                            candidates.push(Candidate { slice, state, target });
                        }
                    }
                }
            }
            if candidates.len() >= CANDIDATES || head == queue.len() {
                candidates.sort();
                candidates.dedup();
                if let Some(Candidate { state, target, .. }) = self.past.earlier(activation, &candidates)? {
                    let here = loaded.index(&target).ok_or_else(|| internal("a state is not in its run"))?;
                    self.add_path(&loaded, here)?;
                    let vector = self.step(&state, &target)?.ok_or_else(|| internal("a step is missing"))?;
                    self.path.push((vector, target));
                    return Ok(state);
                }
                candidates.clear();
            }
        }
        Err(internal("a state of a trace has no predecessor"))
    }

    /// The states that an activation expanded, in memory or in files.
    fn load<'b>(&mut self, activation: u64, budget: &'b Budget) -> Result<Loaded<'b>, Error> {
        let width = self.searched.system.width();
        let words = width.words();
        let mut states = Buffer::new(budget);
        self.past.load(activation, &mut |state| {
            states.reserve(words).map_err(Exhausted::of_job)?;
            states.words().extend_from_slice(state);
            Ok(())
        })?;
        let count = states.len() / words;
        let sorting = Layout::sorting_bytes(words, count);
        budget.take(sorting).map_err(Exhausted::of_job)?;
        Layout::new(&vec![0; words]).sort(width, states.words());
        budget.give(sorting);
        let mut next = Buffer::with_room(count, budget).map_err(Exhausted::of_job)?;
        next.words().resize(count, UNSEEN);
        Ok(Loaded { words, states, next })
    }

    /// The vector of a step that is no finding; the least of several.
    fn step(&mut self, from: &[u64], to: &[u64]) -> Result<Option<VectorIx>, Error> {
        innocent(self.searched.system, &mut self.steps, from, to)
    }

    /// Adds the steps from a state of a run to the one where the search began.
    fn add_path(&mut self, loaded: &Loaded, mut here: usize) -> Result<(), Error> {
        let begin = self.path.len();
        loop {
            let next = loaded.next[here] as usize;
            if next == here {
                break;
            }
            let (from, to) = (loaded.state(here), loaded.state(next));
            let vector = self.step(from, to)?.ok_or_else(|| internal("a step is missing"))?;
            self.path.push((vector, to.to_vec()));
            here = next;
        }
        self.path[begin..].reverse();
        Ok(())
    }
}
