//! One activation of a slice: load it, expand its new states, store it again.
//!
//! Invariant: the result is complete, for any amount of memory. States that were expanded are a new run, all their steps were
//! counted and checked, and those that leave the slice are in the outboxes. If the job memory ends before the slice does,
//! states that were found and not expanded are returned as well, for the inbox of the same slice, and [`Done::overflow`] says
//! that the slice must be divided. So no work is lost, and no state is counted twice.

use super::buffer::Buffer;
use super::code::most_bytes;
use super::message::{Done, SEGMENT_BYTES, Slice};
use super::partition::Partition;
use super::set::StateSet;
use super::sizes::{Sizes, put_states};
use super::store::{Draft, Kind, Store};
use crate::life::Life;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::memory::{Budget, Exhausted};
use gridlock_lts::engine::look::{self, keep_least};
use gridlock_lts::engine::pack::Width;

use gridlock_lts::engine::successors::{Steps, Successors};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Steps that are collected before they are looked up.
const BATCH: usize = 256;
/// Bytes of a result beyond which an activation ends, and the rest waits for the next one: a result is one message and one
/// record of a checkpoint.
const LARGEST: u64 = 1 << 30;

/// What all activations of a round share.
pub struct Round<'a, S> {
    /// The successor function.
    pub system: &'a S,
    /// Which slices there are.
    pub partition: &'a Partition,
    /// Where states are stored.
    pub store: &'a Store,
    /// Bytes that one activation may use.
    pub job_memory: u64,
    /// States that one activation expands at most; the rest waits for the next one.
    pub quota: u64,
    /// Whether to stop.
    pub life: &'a Life,
    /// Counts the states that were expanded; it is raised from time to time.
    pub expanded: &'a AtomicU64,
}

/// A worker: buffers that are used again and again.
#[derive(Debug)]
pub struct Worker {
    steps: Steps,
    ends: Vec<usize>,
    inside: Vec<u64>,
    outside: Vec<u64>,
    outbox: Vec<u64>,
    states: Vec<u64>,
    draft: Draft,
    bytes: Vec<u8>,
}

impl Worker {
    /// A worker for states of this many words.
    pub fn new(words: usize) -> Self {
        Worker {
            steps: Steps::new(words),
            ends: Vec::new(),
            inside: Vec::new(),
            outside: Vec::new(),
            outbox: Vec::new(),
            states: Vec::new(),
            draft: Draft::default(),
            bytes: Vec::new(),
        }
    }

    /// Activates a slice.
    pub fn activate<S: Successors>(&mut self, round: &Round<S>, slice: &Slice) -> Result<Done> {
        let budget = Budget::new(round.job_memory);
        let sizes = Sizes::new(round.job_memory, round.system.width().words());
        budget.take(sizes.bytes).map_err(Exhausted::of_job)?;
        // What an activation that failed has left there.
        self.outbox.clear();
        self.states.clear();
        self.draft.clear();
        let mut activation = Activation {
            round,
            slice,
            sizes,
            list: Buffer::new(&budget),
            expanded: 0,
            sent: 0,
            done: Done::default(),
            worker: self,
        };
        activation.run(&budget)?;
        let mut done = activation.done;
        done.peak = budget.peak();
        Ok(done)
    }
}

struct Activation<'r, 'b, S> {
    round: &'r Round<'r, S>,
    slice: &'r Slice,
    sizes: Sizes,
    /// The new states, in the order in which they were found; the first `expanded` of them are expanded.
    list: Buffer<'b>,
    expanded: usize,
    /// Bytes of what was sent to other slices.
    sent: u64,
    done: Done,
    worker: &'r mut Worker,
}

impl<'b, S: Successors> Activation<'_, 'b, S> {
    fn words(&self) -> usize {
        self.round.system.width().words()
    }

    fn run(&mut self, budget: &'b Budget) -> Result<()> {
        let Some(mut set) = self.load(budget)? else {
            self.done.overflow = true;
            return Ok(());
        };
        self.receive(&mut set)?;
        self.expand(&mut set)?;
        drop(set);
        self.flush()?;
        self.put_away()
    }

    /// The states of all runs; `None` if they do not fit.
    fn load(&mut self, budget: &'b Budget) -> Result<Option<StateSet<'b, S::Width>>> {
        let width = self.round.system.width();
        let visited = self.slice.visited as usize;
        let more = (self.slice.waiting as usize).min(visited / 2 + BATCH);
        let set =
            StateSet::new(width, visited + more, budget).or_else(|_| StateSet::new(width, visited, budget));
        let Ok(mut set) = set else { return Ok(None) };
        let layout = self.round.partition.layout();
        for segment in self.slice.runs.iter().flat_map(|run| &run.segments) {
            let mut decoder = segment.decoder(width, layout, &self.slice.key, &mut self.worker.bytes)?;
            while decoder.read(BATCH, &mut self.worker.states)? > 0 {
                set.insert_all(&self.worker.states, |_| {});
                self.worker.states.clear();
            }
            self.stop_if_asked()?;
        }
        if set.len() != visited {
            return Err(Error::internal("a state was stored twice"));
        }
        Ok(Some(set))
    }

    /// Reads the inbox as far as there is room.
    fn receive(&mut self, set: &mut StateSet<'b, S::Width>) -> Result<()> {
        let (width, words) = (self.round.system.width(), self.words());
        let layout = self.round.partition.layout();
        for segment in self.slice.inbox_within(self.round.job_memory) {
            if self.list_bytes() > LARGEST / 2 {
                break;
            }
            let mut decoder = segment.decoder(width, layout, &self.slice.key, &mut self.worker.bytes)?;
            loop {
                self.worker.states.clear();
                let count = decoder.read(BATCH, &mut self.worker.states)?;
                if count == 0 {
                    break;
                }
                if set.reserve(count).is_err() || self.list.reserve(count * words).is_err() {
                    self.worker.states.clear();
                    self.done.overflow = true;
                    return Ok(());
                }
                let (list, states) = (self.list.words(), &self.worker.states);
                set.insert_all(states, |k| list.extend_from_slice(&states[k * words..(k + 1) * words]));
            }
            self.done.consumed += 1;
            self.done.received += segment.states() as u64;
            self.stop_if_asked()?;
        }
        Ok(())
    }

    /// Expands new states until there are none or the memory is not enough.
    fn expand(&mut self, set: &mut StateSet<'b, S::Width>) -> Result<()> {
        let words = self.words();
        let (mut most, mut told) = (BATCH, 0);
        let most_sent = self.round.job_memory.min(LARGEST);
        while self.expanded * words < self.list.len()
            && self.done.states < self.round.quota
            && self.sent < most_sent
            && self.list_bytes() < LARGEST
        {
            let batch = self.collect(most)?;
            let inside = self.worker.inside.len();
            if set.reserve(inside / words).is_err() || self.list.reserve(inside).is_err() {
                if batch > 1 {
                    most = 1;
                    continue;
                }
                self.done.overflow = true;
                break;
            }
            self.commit(set, batch)?;
            told += batch;
            if told >= 1 << 14 {
                self.tell(told);
                told = 0;
                self.stop_if_asked()?;
            }
        }
        self.tell(told);
        Ok(())
    }

    /// Bytes that the new states take at most in a result.
    fn list_bytes(&self) -> u64 {
        most_bytes(1, self.list.len()) as u64
    }

    /// Reports expanded states. An activation that was given up reports none: another worker does the same work.
    fn tell(&self, states: usize) {
        if self.round.life.was_cancelled() {
            return;
        }
        self.round.expanded.fetch_add(states as u64, Relaxed);
    }

    fn stop_if_asked(&self) -> Result<()> {
        if self.round.life.is_cancelled() { Err(Limit::Interrupted.into()) } else { Ok(()) }
    }

    /// Collects the steps of some states, at least one, divided into those that stay in the slice and those that leave
    /// it. Nothing is changed yet.
    fn collect(&mut self, most: usize) -> Result<usize> {
        let words = self.words();
        let worker = &mut *self.worker;
        worker.steps.clear();
        worker.ends.clear();
        for state in self.list[self.expanded * words..].chunks_exact(words) {
            self.round.system.expand(state, &mut worker.steps)?;
            worker.ends.push(worker.steps.len());
            if worker.steps.len() >= most || worker.ends.len() >= most {
                break;
            }
        }
        worker.inside.clear();
        worker.outside.clear();
        let (mask, key) = (&self.slice.mask[..words], &self.slice.key[..words]);
        for target in worker.steps.targets().chunks_exact(words) {
            let differs = (0..words).fold(0, |bits, k| bits | ((target[k] & mask[k]) ^ key[k]));
            let part = if differs == 0 { &mut worker.inside } else { &mut worker.outside };
            part.extend_from_slice(target);
        }
        Ok(worker.ends.len())
    }

    /// Counts the collected steps, and takes them; there is room for them.
    fn commit(&mut self, set: &mut StateSet<'b, S::Width>, batch: usize) -> Result<()> {
        let words = self.words();
        let marked = self.worker.steps.any_marked();
        let mut begin = 0;
        for k in 0..batch {
            if self.worker.ends[k] == begin {
                self.without_steps(k);
            }
            begin = self.worker.ends[k];
        }
        if marked {
            self.look_at_marked();
        }
        self.expanded += batch;
        self.done.states += batch as u64;
        self.done.transitions += self.worker.steps.len() as u64;
        let mut outside = std::mem::take(&mut self.worker.outside);
        for target in outside.chunks_exact(words) {
            if self.worker.outbox.len() >= self.sizes.outbox * words {
                self.flush()?;
            }
            self.worker.outbox.extend_from_slice(target);
        }
        outside.clear();
        self.worker.outside = outside;
        let (list, inside) = (self.list.words(), &self.worker.inside);
        set.insert_all(inside, |k| list.extend_from_slice(&inside[k * words..(k + 1) * words]));
        Ok(())
    }

    #[cold]
    fn without_steps(&mut self, k: usize) {
        let words = self.words();
        let state = &self.list[(self.expanded + k) * words..][..words];
        let end = self.round.system.dead_end(state);
        self.done.deadlocks += u64::from(end.is_deadlock());
        keep_least(&mut self.done.found, end.found(state));
    }

    /// Checks the marked steps that were collected. Steps that are findings are not followed: the search ends with this round
    /// anyway, and behind a violation it would find others that are none.
    #[cold]
    fn look_at_marked(&mut self) {
        let words = self.words();
        let worker = &mut *self.worker;
        let (states, steps) = (&self.list[self.expanded * words..], &mut worker.steps);
        let looked = look::first(self.round.system, states, &worker.ends, steps);
        if looked.found.is_none() {
            return;
        }
        keep_least(&mut self.done.found, looked.found);
        worker.inside.clear();
        worker.outside.clear();
        for step in (0..steps.len()).filter(|step| looked.violating.binary_search(step).is_err()) {
            let target = steps.target(step);
            let differs = (0..words).any(|k| target[k] & self.slice.mask[k] != self.slice.key[k]);
            if differs { &mut worker.outside } else { &mut worker.inside }.extend_from_slice(target);
        }
    }

    /// Stores the outbox, by target.
    fn flush(&mut self) -> Result<()> {
        let (width, words, partition) = (self.round.system.width(), self.words(), self.round.partition);
        let layout = partition.layout();
        let worker = &mut *self.worker;
        layout.sort_unique(width, &mut worker.outbox);
        let mut targets = Vec::new();
        let mut rest = &worker.outbox[..];
        while let Some(first) = rest.get(..words) {
            let same = rest.chunks_exact(words).take_while(|state| layout.same_key(first, state)).count();
            let (group, others) = rest.split_at(same * words);
            partition.route(group, words, |target, states| {
                worker.draft.add(width, layout, states);
                targets.push(target);
            });
            rest = others;
        }
        worker.outbox.clear();
        self.round.store.take(SEGMENT_BYTES * targets.len() as u64)?;
        self.sent += worker.draft.len() as u64;
        let segments = self.round.store.put(Kind::Inbox, &mut worker.draft)?;
        self.done.out.extend(targets.into_iter().zip(segments));
        Ok(())
    }

    /// Stores the new states: the expanded ones as a run, and the rest for the slice's own inbox.
    fn put_away(&mut self) -> Result<()> {
        let words = self.words();
        let (width, layout, sizes) = (self.round.system.width(), self.round.partition.layout(), self.sizes);
        let (expanded, left) = self.list.words().split_at_mut(self.expanded * words);
        let draft = &mut self.worker.draft;
        self.done.run =
            put_states(self.round.store, Kind::Run, (width, layout), sizes.segment, expanded, draft)?;
        self.done.left =
            put_states(self.round.store, Kind::Inbox, (width, layout), sizes.segment, left, draft)?;
        Ok(())
    }
}
