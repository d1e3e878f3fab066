//! Steps of states that wait, computed ahead of their turn by all threads of a job.
//!
//! Threads look at the next states in blocks: they expand them, classify each step, and leave out the steps that bring
//! nothing new. Then the search takes the states in its own order, one after the other, as it does without helpers.
//! Invariant: the result is that of one thread. A search never forgets a state that it knows, so a target that is known when
//! a thread looks at the step is still known at the state's turn, and taking the step then would change nothing. States,
//! steps and memory are counted at the state's turn: the same state reaches the limits, and memory is taken for the same
//! states in the same order.
//!
//! The blocks are no part of the memory of the job; each is bounded by [`BYTES`].

use super::mutants::{self, Mutant};
use super::search::{GuidedSearch, look_at};
use crate::helpers::Helpers;
use crate::job::Effort;
use crate::stop::Stop;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::look::Found;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::VectorIx;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// States of a block.
const BLOCK: usize = if cfg!(test) { 4 } else { 64 };
/// Blocks for each thread: some take longer than others.
const BLOCKS: usize = 16;
/// With fewer states than this the search is faster without helpers.
const LEAST: usize = if cfg!(test) { 6 } else { 256 };
/// A block ends early once its kept steps take this many bytes.
const BYTES: usize = if cfg!(test) { 200 } else { 1 << 18 };

/// New steps of the states that were looked at. `T` is the class of a step.
pub(super) struct Ahead<'h, T> {
    helpers: Option<&'h Helpers>,
    /// The number of the first state that was looked at, and of the one after the last.
    range: Range<usize>,
    blocks: Vec<Mutex<Block<T>>>,
}

/// New steps of the states of a block, as far as they were looked at.
struct Block<T> {
    looked: Vec<Looked>,
    /// For each kept step its class, its vector, and the hash of its target.
    kept: Vec<(T, u32, u64)>,
    /// The targets of the kept steps.
    targets: Vec<u64>,
}

/// A state that was looked at.
struct Looked {
    counts: Result<Counts>,
    wrong: Option<Found>,
    /// The end of its kept steps.
    end: usize,
}

#[derive(Clone, Copy)]
struct Counts {
    transitions: u64,
    deadlocks: u64,
}

/// A state that was looked at, when it is its turn.
pub(super) struct Outlook<'a, T> {
    counts: &'a Result<Counts>,
    /// The violation in the state or in its steps, if there is one.
    pub(super) wrong: &'a Option<Found>,
    kept: &'a [(T, u32, u64)],
    targets: &'a [u64],
}

impl<T> Default for Block<T> {
    fn default() -> Self {
        Block { looked: Vec::new(), kept: Vec::new(), targets: Vec::new() }
    }
}

impl<T> Block<T> {
    /// Empties the block, and keeps no more memory than it should need.
    fn clear(&mut self) {
        if self.bytes(self.kept.capacity(), self.targets.capacity()) > 2 * BYTES {
            *self = Block::default();
        }
        self.looked.clear();
        self.kept.clear();
        self.targets.clear();
    }

    fn bytes(&self, kept: usize, words: usize) -> usize {
        kept * size_of::<(T, u32, u64)>() + words * size_of::<u64>()
    }

    fn is_full(&self) -> bool {
        self.bytes(self.kept.len(), self.targets.len()) >= BYTES
    }
}

impl<T> Outlook<'_, T> {
    /// Counts the state and its steps; an error if it could not be expanded.
    pub(super) fn count(&self, effort: &mut Effort) -> Result<()> {
        let Counts { transitions, deadlocks } = self.counts.clone()?;
        effort.states += 1;
        effort.transitions += transitions;
        effort.deadlocks += deadlocks;
        Ok(())
    }
}

impl<T: Copy> Outlook<'_, T> {
    /// The steps that may bring something new: the class of each, its vector, and its target with the hash.
    pub(super) fn steps(&self) -> impl Iterator<Item = (T, u32, u64, &[u64])> {
        let words = self.targets.len() / self.kept.len().max(1);
        let targets = self.targets.chunks_exact(words.max(1));
        self.kept.iter().zip(targets).map(|(&(what, vector, hash), target)| (what, vector, hash, target))
    }
}

impl<'h, T: Copy + Send> Ahead<'h, T> {
    pub(super) fn new(helpers: Option<&'h Helpers>) -> Self {
        Ahead { helpers, range: 0..0, blocks: Vec::new() }
    }

    /// Forgets all states: their numbers will be given to other states.
    pub(super) fn forget(&mut self) {
        self.range = 0..0;
    }

    /// The states to look at now, if that pays. A state waits until it is expanded.
    #[inline]
    pub(super) fn next<S>(
        &self,
        search: &GuidedSearch<S>,
        waiting: Range<usize>,
        effort: &Effort,
    ) -> Option<Range<usize>> {
        let helpers = self.helpers?;
        if waiting.start < self.range.end || waiting.len() < LEAST {
            return None;
        }
        let allowed = match mutants::is(Mutant::Limit) {
            false => search.job.limits.states.saturating_sub(effort.states),
            true => u64::MAX,
        };
        let most = (helpers.count() * BLOCKS * BLOCK).min(usize::try_from(allowed).unwrap_or(usize::MAX));
        (most >= LEAST).then(|| waiting.start..waiting.end.min(waiting.start + most))
    }

    /// Has all threads look at some states. `get` returns a state by its number; `new` returns the class of a step and the
    /// hash of its target, or `None` if the step brings nothing new.
    pub(super) fn look<'s, S: Successors>(
        &mut self,
        search: &GuidedSearch<S>,
        range: Range<usize>,
        get: &(impl Fn(usize) -> &'s [u64] + Sync),
        new: &(impl Fn(&[u64], &[u64], VectorIx) -> Option<(T, u64)> + Sync),
    ) -> Result<(), Stop> {
        let Some(helpers) = self.helpers else { return Ok(()) };
        let count = range.len().div_ceil(BLOCK);
        self.blocks.resize_with(count.max(self.blocks.len()), Mutex::default);
        let (blocks, next) = (&self.blocks[..count], AtomicUsize::new(0));
        let words = search.system.width().words();
        helpers.run(&|| {
            let mut steps = Steps::new(words);
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(block) = blocks.get(number) else { return };
                let mut block = block.lock().unwrap_or_else(PoisonError::into_inner);
                block.clear();
                if search.life.is_cancelled() {
                    continue;
                }
                let first = range.start + number * BLOCK;
                for index in first..range.end.min(first + BLOCK) {
                    if !block.look(search, get(index), &mut steps, new) {
                        break;
                    }
                }
            }
        })?;
        if search.life.was_cancelled() {
            return Err(Stop::Interrupted);
        }
        self.range = range;
        Ok(())
    }

    /// The new steps of a state, if it was looked at.
    #[inline]
    pub(super) fn of(&mut self, index: usize) -> Option<Outlook<'_, T>> {
        if !self.range.contains(&index) {
            return None;
        }
        let index = index - self.range.start;
        let block = self.blocks[index / BLOCK].get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut place = index % BLOCK;
        if mutants::is(Mutant::Order) && place ^ 1 < block.looked.len() {
            place ^= 1;
        }
        let looked = block.looked.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| block.looked[before].end);
        let end = looked.end - usize::from(mutants::is(Mutant::Loss) && looked.end > start);
        let words = block.targets.len() / block.kept.len().max(1);
        Some(Outlook {
            counts: &looked.counts,
            wrong: &looked.wrong,
            kept: &block.kept[start..end],
            targets: &block.targets[start * words..end * words],
        })
    }
}

impl<T> Block<T> {
    /// Looks at one more state; returns whether there is room for another.
    fn look<S: Successors>(
        &mut self,
        search: &GuidedSearch<S>,
        whole: &[u64],
        steps: &mut Steps,
        new: &impl Fn(&[u64], &[u64], VectorIx) -> Option<(T, u64)>,
    ) -> bool {
        // Behind it may stand the place of the subsystem.
        let state = &whole[..search.system.width().words()];
        steps.clear();
        if let Err(error) = search.system.expand(state, steps) {
            self.looked.push(Looked::failed(error, self.kept.len()));
            return false;
        }
        let mut effort = Effort::default();
        let wrong = look_at(search.system, state, steps, &mut effort);
        // The search ends with it, without a step.
        if wrong.is_none() {
            for (target, via) in steps.iter() {
                if let Some((what, hash)) = new(whole, target, via.vector()) {
                    self.kept.push((what, via.vector().0, hash));
                    self.targets.extend_from_slice(target);
                }
            }
        }
        let Effort { transitions, deadlocks, .. } = effort;
        let counts = Ok(Counts { transitions, deadlocks });
        self.looked.push(Looked { counts, wrong, end: self.kept.len() });
        !self.is_full()
    }
}

impl Looked {
    fn failed(error: Error, end: usize) -> Self {
        Looked { counts: Err(error), wrong: None, end }
    }
}
