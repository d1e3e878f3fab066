//! The machine of a search by slices: rounds of activations, from the initial state to the last inbox.
//!
//! Each rank has one, and hands out those slices of a round that it has, one at a time, the most expensive first. When all
//! results have arrived, all ranks begin the next round together. If the path to a finding leads through slices that were
//! forgotten, a second search without forgetting finds it once more. Invariant: the results that the coordinator gets do not
//! depend on their origin: threads of any rank, or the checkpoint of an earlier run. While a rank is not in a turn, all
//! others are in the same round, or wait for it at its end.

use super::coordinator::{Coordinator, Told};
use super::ranks::Ranks;
use super::turn::Turn;
use super::work::{Activated, SliceJob};
use super::{Options, Progress};
use crate::grid::driver::Ended;
use crate::grid::journal::{Batch, Tally};
use crate::grid::ledger::Ledger;
use crate::grid::machine::{Accepted, Machine, Next, Numbered, Reply};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::engine::successors::Successors;
use gridlock_worker::slice::begin;
use gridlock_worker::slice::message::{Done, SEGMENT_BYTES};
use gridlock_worker::slice::partition::SliceIx;
use gridlock_worker::slice::store::Store;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Rounds between two checks for slices that can be forgotten.
const FORGET: u32 = if cfg!(test) { 1 } else { 8 };

/// The result of an activation, as a checkpoint has it; rank 0 only records that there is one.
#[derive(Deserialize, Debug)]
pub struct Record {
    pub(super) round: u32,
    pub(super) slice: SliceIx,
    pub(super) done: Option<Done>,
}

/// The same as it is written.
#[derive(Serialize)]
struct RecordOf<'a> {
    round: u32,
    slice: SliceIx,
    done: Option<&'a Done>,
}

/// The settings of a search.
pub(super) struct Setting<'a, S> {
    pub(super) system: Arc<S>,
    pub(super) store: Arc<Store>,
    pub(super) ranks: &'a Ranks<'a>,
    /// States expanded by all workers of this process, those of lost activations included, and by others before the round.
    pub(super) expanded: Arc<AtomicU64>,
    /// End after the round in which this many states are reached.
    pub(super) sample: Option<u64>,
    /// Activations that may be under way at a time.
    pub(super) most: usize,
    pub(super) started: Instant,
}

/// Why a search ended before it came to its end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Stop {
    /// The checkpoint cannot be written.
    Journal(String),
    /// Anything else.
    Trouble(Error),
}

/// The status of a rank at the end of a round.
#[derive(Serialize, Deserialize)]
struct Status {
    stop: Option<Stop>,
    told: Vec<Told>,
}

/// Why all ranks stop, if one of them does: the first reason that is more than an interruption.
fn worst(stops: impl Iterator<Item = Option<Stop>>) -> Option<Stop> {
    let stops: Vec<Stop> = stops.flatten().collect();
    let told = |stop: &&Stop| **stop == Stop::Trouble(Error::Limit(Limit::Interrupted));
    stops.iter().find(|stop| !told(stop)).or(stops.first()).cloned()
}

/// See the module head.
pub(super) struct Rounds<'a, S> {
    pub(super) setting: Setting<'a, S>,
    pub(super) options: &'a Options,
    pub(super) coordinator: Coordinator,
    ledger: Ledger<SliceJob, SliceIx, ()>,
    /// The slices of the round.
    pub(super) round: Vec<SliceIx>,
    /// The slices of this rank that were not handed out yet.
    pub(super) queue: VecDeque<SliceIx>,
    pub(super) results: Vec<(SliceIx, Done)>,
    /// Results of the round before, for rank 0 to record.
    noted: Vec<(SliceIx, u64)>,
    /// The search that forgot the path to its finding, once there is a second search.
    pub(super) first: Option<Box<Coordinator>>,
    pub(super) resumed: u64,
    /// Whether all ranks know that the search is over.
    pub(super) over: bool,
    /// Whether the driver has returned to its loop since the last turn.
    looked: bool,
    pub(super) stop: Option<Stop>,
}

impl<'a, S: Successors> Rounds<'a, S> {
    /// The rounds of a new search: the initial state waits for its expansion.
    pub(super) fn new(setting: Setting<'a, S>, options: &'a Options, coordinator: Coordinator) -> Self {
        let mut rounds = Rounds {
            setting,
            options,
            coordinator,
            ledger: Ledger::default(),
            round: Vec::new(),
            queue: VecDeque::new(),
            results: Vec::new(),
            noted: Vec::new(),
            first: None,
            resumed: 0,
            over: false,
            looked: true,
            stop: None,
        };
        let begun = rounds.begin();
        rounds.note(begun);
        rounds
    }

    /// Keeps an error of this rank, which all ranks get at the end of the round.
    pub(super) fn note<T>(&mut self, outcome: Result<T>) -> Option<T> {
        outcome.map_err(|trouble| self.stop.get_or_insert(Stop::Trouble(trouble))).ok()
    }

    fn begin(&mut self) -> Result<()> {
        let Setting { system, store, sample, ranks, .. } = &self.setting;
        let layout = self.coordinator.partition.layout().clone();
        let coordinator = &mut self.coordinator;
        begin::initial_states(&**system, &layout, store, sample.is_some(), &mut |target, segment| {
            let slice = coordinator.announce(&target, segment.states() as u64, store)?;
            // All ranks know the state; one of them has it.
            if coordinator.owner(slice) == ranks.rank() {
                Arc::make_mut(&mut coordinator.slices[slice.0 as usize]).inbox.push(segment);
            } else {
                store.memory().give(SEGMENT_BYTES);
            }
            Ok(())
        })
    }

    fn under_way(&self) -> usize {
        (self.ledger.made() - self.ledger.done()) as usize
    }

    /// All ranks together: ends a round whose results have all arrived, and begins the next one, or records that there is none.
    pub(super) fn turn(&mut self) {
        let turned = self.try_turn();
        if let Err(trouble) = turned {
            // All ranks have come to the same.
            self.stop.get_or_insert(Stop::Trouble(trouble));
            self.over = true;
        }
        self.looked = false;
    }

    fn try_turn(&mut self) -> Result<()> {
        while self.ledger.process().is_some() {}
        let results = std::mem::take(&mut self.results);
        let told: Vec<Told> = results.iter().map(|(slice, done)| Told::new(*slice, done)).collect();
        if self.stop.is_none() && self.setting.ranks.is_distributed() && self.setting.ranks.is_stopped() {
            self.stop = Some(Stop::Trouble(Error::Limit(self.setting.ranks.why())));
        }
        let all = self.setting.ranks.share(&Status { stop: self.stop.take(), told })?;
        let (stops, told): (Vec<_>, Vec<_>) =
            all.into_iter().map(|status| (status.stop, status.told)).unzip();
        self.stop = worst(stops.into_iter());
        if self.stop.is_some() {
            self.over = true;
            return Ok(());
        }
        let mut told: Vec<Told> = told.into_iter().flatten().collect();
        told.sort_by_key(|told| told.slice);
        let mut expected = std::mem::take(&mut self.round);
        expected.sort_unstable();
        if !told.iter().map(|told| told.slice).eq(expected) {
            return Err(Error::internal("the results of a round are not those of its slices"));
        }
        if !told.is_empty() {
            self.absorb(told, results)?;
        }
        if self.coordinator.found.is_some() {
            return self.conclude();
        }
        if self.setting.sample.is_none_or(|sample| self.coordinator.totals.states < sample) {
            self.round = self.coordinator.next_round();
        }
        let me = self.setting.ranks.rank();
        let own = self.round.iter().copied().filter(|&slice| self.coordinator.owner(slice) == me);
        self.queue = own.collect();
        self.over = self.round.is_empty();
        Ok(())
    }

    fn absorb(&mut self, told: Vec<Told>, results: Vec<(SliceIx, Done)>) -> Result<()> {
        let Setting { system, store, ranks, expanded, .. } = &self.setting;
        let turn = Turn { system: &**system, store, ranks, job_memory: self.options.job_memory };
        if ranks.is_distributed() && ranks.rank() == 0 && self.first.is_none() {
            self.noted = told.iter().map(|told| (told.slice, told.states())).collect();
        }
        turn.absorb(&mut self.coordinator, told, results)?;
        // Those of an activation that was lost were counted, too, and then again.
        expanded.store(self.coordinator.totals.states, Relaxed);
        if self.coordinator.round.is_multiple_of(FORGET) {
            self.coordinator.forget(store);
        }
        Ok(())
    }

    /// Ends the search with a finding, unless the path to it was forgotten.
    fn conclude(&mut self) -> Result<()> {
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
        let again = Coordinator::new(layout, None, self.setting.ranks.owners());
        self.first = Some(Box::new(std::mem::replace(&mut self.coordinator, again)));
        self.setting.expanded.store(0, Relaxed);
        let begun = self.begin();
        self.note(begun);
        self.try_turn()
    }

    fn hand_out(&mut self, slice: SliceIx) -> SliceJob {
        let job = SliceJob {
            number: self.ledger.made(),
            job_memory: self.options.job_memory,
            partition: self.coordinator.partition.clone(),
            slice: self.coordinator.slices[slice.0 as usize].clone(),
        };
        self.ledger.add(job.clone(), slice);
        self.looked = true;
        job
    }

    /// All ranks together: exchanges how each rank has ended; after that all know it.
    pub(super) fn settle(&mut self, ended: Result<Ended>) -> Result<()> {
        let mine = match (ended, self.stop.take()) {
            (Ok(Ended::Journal(trouble)), _) => Some(Stop::Journal(trouble.to_string())),
            (Err(trouble), _) => Some(Stop::Trouble(trouble)),
            (Ok(_), Some(stop)) => Some(stop),
            (Ok(Ended::Limit(limit)), None) => Some(Stop::Trouble(Error::Limit(limit))),
            (Ok(Ended::Stopped), None) => Some(Stop::Trouble(Error::Limit(self.setting.ranks.why()))),
            (Ok(Ended::Done), None) => None,
        };
        let ranks = self.setting.ranks;
        let mut mine = mine;
        if !self.over {
            // The others are in this round, or wait at its end.
            ranks.halt();
            let all = ranks.share(&Status { stop: mine.clone(), told: Vec::new() })?;
            mine = worst(all.into_iter().map(|status| status.stop));
            self.over = true;
        }
        self.stop = worst(ranks.share(&mine)?.into_iter());
        Ok(())
    }
}

impl<S: Successors> Machine for Rounds<'_, S> {
    type Job = SliceJob;
    type Answer = Activated;
    type Record = Record;
    type Status = Progress;
    /// Results are large, and those lost in a failure of the machine can be computed again.
    const DURABLE: bool = false;

    fn resume(&mut self, _: Record) -> Result<()> {
        Err(Error::internal("what a checkpoint has is read before the search begins"))
    }

    fn next(&mut self) -> Next<SliceJob> {
        loop {
            if self.over || self.stop.is_some() {
                return Next::Done;
            }
            if let Some(job) = self.ledger.hand_out_again(u64::MAX) {
                return Next::Job(job);
            }
            if self.queue.is_empty() && self.under_way() == 0 {
                if !self.looked {
                    // Nothing is to be done here in this round.
                    self.looked = true;
                    return Next::Wait;
                }
                self.turn();
            } else if self.under_way() >= self.setting.most {
                return Next::Wait;
            } else {
                match self.queue.pop_front() {
                    Some(slice) => return Next::Job(self.hand_out(slice)),
                    None => return Next::Wait,
                }
            }
        }
    }

    fn has_peers(&self) -> bool {
        self.setting.ranks.is_distributed()
    }

    fn record(&self, answer: &Activated, batch: &mut Batch) -> Result<()> {
        // The second search is not for the journal: the first one leads to it.
        let Some(made) = self.ledger.get(answer.number()).filter(|_| self.first.is_none()) else {
            return Ok(());
        };
        if let Ok(done) = &answer.outcome {
            let tally = Tally { states: done.states, nanoseconds: 0 };
            batch.add(
                tally,
                &RecordOf { round: self.coordinator.round, slice: made.about, done: Some(done) },
            )?;
        }
        Ok(())
    }

    fn notes(&mut self, batch: &mut Batch) -> Result<()> {
        for (slice, states) in std::mem::take(&mut self.noted) {
            let tally = Tally { states, nanoseconds: 0 };
            batch.add(tally, &RecordOf { round: self.coordinator.round, slice, done: None })?;
        }
        Ok(())
    }

    fn accept(&mut self, answer: Activated, _worker: u32) -> Accepted {
        let number = answer.number();
        let expected = self.ledger.expects(number);
        let Some(made) = self.ledger.get(number).filter(|_| expected == Accepted::New) else {
            return expected;
        };
        if answer.is_interrupted() {
            self.ledger.lose(number);
            return expected;
        }
        let slice = made.about;
        self.ledger.answer(number, ());
        if let Some(done) = self.note(answer.outcome) {
            self.results.push((slice, done));
        }
        expected
    }

    fn lost(&mut self, number: u64, _worker: u32) -> bool {
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
