//! The machine of a search by slices: rounds of activations, from the initial state to the last inbox.
//!
//! The slices of a round are handed out one at a time, the most expensive first; when all results are in, the coordinator
//! takes them in the order of the slices. A finding whose way leads through slices that were forgotten is found once more
//! by a search that remembers. Invariant: what the coordinator is told does not depend on where results come from:
//! workers of any kind, or the journal of an earlier run, whose records of a round stand together, in any order.

use super::coordinator::Coordinator;
use super::work::{Activations, SliceJob};
use super::{Options, Progress};
use crate::grid::journal::{Batch, Tally};
use crate::grid::ledger::Ledger;
use crate::grid::machine::{Accepted, Machine, Next, Numbered, Reply};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::hash::Set;
use gridlock_lts::engine::successors::Successors;
use gridlock_worker::slice::begin;
use gridlock_worker::slice::message::Done;
use gridlock_worker::slice::partition::SliceIx;
use gridlock_worker::slice::split::split;
use gridlock_worker::slice::store::Store;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Rounds between two looks for slices that can be forgotten.
const FORGET: u32 = if cfg!(test) { 1 } else { 8 };
/// Expanding this many states takes about as long as a message to a rank and its answer. Slices with fewer go together.
const BATCH: u64 = 1 << 13;

/// The result of an activation, as the journal has it.
#[derive(Deserialize, Debug)]
pub struct Record {
    round: u32,
    slice: SliceIx,
    done: Done,
}

/// The same as it is written.
#[derive(Serialize)]
struct RecordOf<'a> {
    round: u32,
    slice: SliceIx,
    done: &'a Done,
}

/// What a search is given.
pub(super) struct Setting<S> {
    pub(super) system: Arc<S>,
    pub(super) store: Arc<Store>,
    /// States expanded by all workers, those of lost activations included.
    pub(super) expanded: Arc<AtomicU64>,
    /// End after the round in which this many states are reached.
    pub(super) sample: Option<u64>,
    /// Activations that may be under way at a time.
    pub(super) most: usize,
    /// Whether workers follow the partition from afar.
    pub(super) afar: bool,
    pub(super) started: Instant,
}

/// See the module head.
pub(super) struct Rounds<'a, S> {
    pub(super) setting: Setting<S>,
    options: &'a Options,
    pub(super) coordinator: Coordinator,
    ledger: Ledger<SliceJob, Vec<SliceIx>, ()>,
    /// Slices of the round that were not handed out yet.
    queue: VecDeque<SliceIx>,
    /// Those of the round whose results are not in the journal, while that is read.
    unrecorded: Option<Set<SliceIx>>,
    results: Vec<(SliceIx, Done)>,
    /// The search that forgot the way to what it found, once there is another.
    pub(super) first: Option<Box<Coordinator>>,
    /// For each worker, how many changes of the partition it was sent.
    known: Vec<usize>,
    pub(super) resumed: u64,
    pub(super) over: bool,
    pub(super) trouble: Option<Error>,
}

impl<'a, S: Successors> Rounds<'a, S> {
    /// The initial state waits for its expansion.
    pub(super) fn new(setting: Setting<S>, options: &'a Options, coordinator: Coordinator) -> Self {
        let mut rounds = Rounds {
            setting,
            options,
            coordinator,
            ledger: Ledger::default(),
            queue: VecDeque::new(),
            unrecorded: None,
            results: Vec::new(),
            first: None,
            known: Vec::new(),
            resumed: 0,
            over: false,
            trouble: None,
        };
        let begun = rounds.begin();
        rounds.note(begun);
        rounds
    }

    fn note<T>(&mut self, outcome: std::result::Result<T, Error>) -> Option<T> {
        outcome
            .map_err(|trouble| {
                self.over = true;
                self.trouble.get_or_insert(trouble);
            })
            .ok()
    }

    fn begin(&mut self) -> std::result::Result<(), Error> {
        let Setting { system, store, sample, .. } = &self.setting;
        let layout = self.coordinator.partition.layout().clone();
        let coordinator = &mut self.coordinator;
        begin::initial_states(&**system, &layout, store, sample.is_some(), &mut |target, segment| {
            coordinator.deliver(target, segment, store)
        })
    }

    fn under_way(&self) -> usize {
        (self.ledger.made() - self.ledger.done()) as usize
    }

    /// Ends a round whose results are all in, and begins the next. Notes when there is none.
    fn turn(&mut self) -> std::result::Result<(), Error> {
        while self.ledger.process().is_some() {}
        let store = self.setting.store.clone();
        let mut results = std::mem::take(&mut self.results);
        results.sort_by_key(|(slice, _)| *slice);
        let absorbed = !results.is_empty();
        for (slice, done) in results {
            self.coordinator.absorb(slice, done, &store)?;
        }
        if absorbed {
            // Those of an activation that was lost were counted, too, and then again.
            self.setting.expanded.store(self.coordinator.totals.states, Relaxed);
            self.divide(&store)?;
            if self.coordinator.round.is_multiple_of(FORGET) {
                self.coordinator.forget(&store);
            }
        }
        if self.coordinator.found.is_some() {
            return self.conclude();
        }
        if self.setting.sample.is_none_or(|sample| self.coordinator.totals.states < sample) {
            self.queue = self.coordinator.next_round().into();
        }
        self.over = self.queue.is_empty();
        Ok(())
    }

    /// Something was found: that is the end, unless the way there was forgotten.
    fn conclude(&mut self) -> std::result::Result<(), Error> {
        if let Some(first) = &self.first {
            self.over = true;
            if first.found != self.coordinator.found {
                return Err(Error::internal("a search is not repeatable"));
            }
            return Ok(());
        }
        if !self.coordinator.forgot || self.setting.sample.is_some() {
            self.over = true;
            return Ok(());
        }
        let layout = self.coordinator.partition.layout().clone();
        let again = Coordinator::new(layout, None, self.setting.afar);
        self.first = Some(Box::new(std::mem::replace(&mut self.coordinator, again)));
        self.known.clear();
        self.setting.expanded.store(0, Relaxed);
        self.begin()?;
        self.turn()
    }

    /// Divides the slices that turned out too large.
    fn divide(&mut self, store: &Store) -> std::result::Result<(), Error> {
        let job_memory = self.options.job_memory;
        while let Some(slice) = self.coordinator.too_large() {
            let of = &self.coordinator.slices[slice.0 as usize];
            let layout = self.coordinator.partition.layout();
            let halves = split(&*self.setting.system, layout, store, job_memory, of)?;
            let halves = halves.ok_or(Error::Limit(Limit::JobMemory(job_memory)))?;
            self.coordinator.divide(slice, halves, store)?;
        }
        Ok(())
    }

    /// The next slice, and for ranks those after it as long as they have few states together.
    fn next_batch(&mut self) -> Vec<SliceIx> {
        let most = if self.setting.afar { BATCH } else { 0 };
        let (mut batch, mut sum) = (Vec::new(), 0u64);
        while let Some(&slice) = self.queue.front() {
            let of = &self.coordinator.slices[slice.0 as usize];
            sum = sum.saturating_add(of.visited + of.waiting);
            if !batch.is_empty() && sum > most {
                break;
            }
            batch.push(slice);
            self.queue.pop_front();
        }
        batch
    }

    fn hand_out(&mut self) -> SliceJob {
        let batch = self.next_batch();
        let slice = |slice: &SliceIx| self.coordinator.slices[slice.0 as usize].clone();
        let job = SliceJob::new(
            self.ledger.made(),
            1 + u32::from(self.first.is_some()),
            self.options.job_memory,
            self.coordinator.partition.clone(),
            batch.iter().map(slice).collect(),
        );
        self.ledger.add(job.clone(), batch);
        job
    }
}

fn unfit() -> Error {
    Error::input(
        "the checkpoint has results that this run does not ask for; begin again in another directory",
    )
}

impl<S: Successors> Machine for Rounds<'_, S> {
    type Job = SliceJob;
    type Answer = Activations;
    type Record = Record;
    type Status = Progress;
    /// Results are large, and what a failure of the machine takes away can be computed again.
    const DURABLE: bool = false;

    fn resume(&mut self, record: Record) -> Result<()> {
        if self.unrecorded.as_ref().is_none_or(Set::is_empty) {
            let turned = self.turn();
            self.note(turned);
            self.unrecorded = Some(self.queue.iter().copied().collect());
        }
        if self.trouble.is_some() {
            return Ok(());
        }
        let Record { round, slice, done } = record;
        let fits = self.unrecorded.as_mut().is_some_and(|slices| slices.remove(&slice));
        if !fits || self.over || self.first.is_some() || round != self.coordinator.round {
            return Err(unfit());
        }
        self.setting.expanded.fetch_add(done.states, Relaxed);
        let put_away = done.put_away(&self.setting.store);
        if let Some(done) = self.note(put_away) {
            self.results.push((slice, done));
            self.resumed += 1;
        }
        Ok(())
    }

    fn next(&mut self) -> Next<SliceJob> {
        if let Some(unrecorded) = self.unrecorded.take() {
            self.queue.retain(|slice| unrecorded.contains(slice));
        }
        loop {
            if self.over {
                return Next::Done;
            }
            if let Some(job) = self.ledger.hand_out_again(u64::MAX) {
                return Next::Job(job);
            }
            if self.queue.is_empty() && self.under_way() == 0 {
                let turned = self.turn();
                self.note(turned);
            } else if self.queue.is_empty() || self.under_way() >= self.setting.most {
                return Next::Wait;
            } else {
                return Next::Job(self.hand_out());
            }
        }
    }

    fn address(&mut self, job: &mut SliceJob, worker: u32) {
        if self.setting.afar {
            let worker = worker as usize;
            self.known.resize(self.known.len().max(worker + 1), 0);
            let changes = self.coordinator.partition.changes().len();
            job.known = std::mem::replace(&mut self.known[worker], changes);
        }
    }

    fn record(&self, answer: &Activations, batch: &mut Batch) -> Result<()> {
        // The second search is not for the journal: the first one leads to it.
        let Some(made) = self.ledger.get(answer.number()).filter(|_| self.first.is_none()) else {
            return Ok(());
        };
        for (&slice, done) in made.about.iter().zip(answer.outcomes.iter().flatten()) {
            let tally = Tally { states: done.states, nanoseconds: 0 };
            batch.add(tally, &RecordOf { round: self.coordinator.round, slice, done })?;
        }
        Ok(())
    }

    fn accept(&mut self, answer: Activations, _worker: u32) -> Accepted {
        let number = answer.number();
        let expected = self.ledger.expects(number);
        let Some(made) = self.ledger.get(number).filter(|_| expected == Accepted::New) else {
            return expected;
        };
        if answer.is_interrupted() {
            self.ledger.lose(number);
            return expected;
        }
        let slices = made.about.clone();
        self.ledger.answer(number, ());
        if answer.outcomes.len() < slices.len() && answer.outcomes.iter().all(std::result::Result::is_ok) {
            self.note::<()>(Err(Error::internal("a slice has no result")));
        }
        for (slice, done) in slices.into_iter().zip(answer.outcomes) {
            let done = done.and_then(|done| {
                if !self.setting.afar {
                    return Ok(done);
                }
                self.setting.expanded.fetch_add(done.states, Relaxed);
                done.put_away(&self.setting.store)
            });
            if let Some(done) = self.note(done) {
                self.results.push((slice, done));
            }
        }
        expected
    }

    fn lost(&mut self, number: u64, worker: u32) -> bool {
        if let Some(known) = self.known.get_mut(worker as usize) {
            // It may have been lost before the changes were looked at.
            *known = 0;
        }
        self.ledger.lose(number)
    }

    fn limit(&self) -> Option<Limit> {
        let most = self.options.max_states?;
        (self.setting.expanded.load(Relaxed) > most).then_some(Limit::States(most))
    }

    fn status(&self) -> Progress {
        let coordinator = &self.coordinator;
        Progress {
            states: self.setting.expanded.load(Relaxed),
            transitions: coordinator.totals.transitions,
            rounds: u64::from(coordinator.round),
            slices: coordinator.slices.len() as u64,
            waiting: coordinator.slices.iter().map(|slice| slice.waiting).sum(),
            largest: coordinator.records.iter().map(|record| record.states).max().unwrap_or(0),
            activations: coordinator.totals.activations,
            splits: coordinator.totals.splits,
            resumed: self.resumed,
            memory: self.setting.store.memory().used(),
            spilled: self.setting.store.spilled(),
            time: self.setting.started.elapsed(),
        }
    }

    fn made_and_done(&self) -> (u64, u64) {
        (self.ledger.made(), self.ledger.done())
    }
}
