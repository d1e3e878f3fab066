//! The rounds of a search by slices, from the first to the report.
//!
//! The slices of a round are given to workers one at a time, the most expensive first; then their results are given to
//! the coordinator in the order of the slices. Invariant: a result counts only when all of its round are there, and what
//! the coordinator is told does not depend on where they come from: workers of any kind, or a checkpoint.

use super::coordinator::Coordinator;
use super::crew::{Crew, Local, Work};
use super::limits::Limits;
use super::past::Past;
use super::reach::Reach;
use super::trace;
use super::{Answer, Options, Progress, Report, SliceSize, Slicing, Where, Why};
use crate::transport;
use gridlock_lts::base::error::{Error, Limit};
use gridlock_lts::base::hash::Map;
use gridlock_lts::base::memory::{self, Budget};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::LeafIx;
use gridlock_worker::slice::layout::Layout;
use gridlock_worker::slice::message::{Done, SEGMENT_BYTES};
use gridlock_worker::slice::partition::{SliceIx, Target};
use gridlock_worker::slice::split::split;
use gridlock_worker::slice::store::{Draft, Kind, Store};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rounds between two looks for slices that can be forgotten.
const FORGET: u32 = if cfg!(test) { 1 } else { 8 };
/// Random walks with which a sample begins, and their greatest length.
const WALKS: usize = 512;
const WALK: usize = 1024;
/// How often limits are looked at while workers work.
const LOOK: Duration = Duration::from_millis(20);
/// An activation that was lost so often is given up.
const TRIES: u32 = 3;

/// Everything of one search.
pub(super) struct Driver<'a, S> {
    pub(super) system: &'a S,
    prepared: &'a Prepared,
    options: &'a Options<'a>,
    pub(super) store: &'a Store,
    pub(super) limits: Limits<'a>,
    /// Activations that may be under way at a time.
    workers: usize,
    sample: Option<u64>,
    /// Whether workers follow the partition from afar.
    afar: bool,
}

/// Searches by slices and makes a report.
pub(super) fn run<S: Successors + Send + 'static>(
    system: &Arc<S>,
    slicing: Slicing,
) -> Result<Report, String> {
    let Slicing { prepared, subsystem, options, sample, started, place, journal } = slicing;
    let layout = Layout::of_leaves(prepared.packing(), subsystem);
    if let Some(verdict) = prepared.violated_initially() {
        let nothing = Coordinator::new(layout, None, false);
        let mut report = report(&nothing, subsystem, prepared, Answer::Verdict(verdict), started);
        report.states = 1;
        return Ok(report);
    }
    let limit = options.max_memory.unwrap_or_else(memory::default_limit);
    let job = options.job_memory.max(1);
    // Slices that are put away need some memory, too: at least a tenth is theirs. Where ranks do the work, this is the
    // memory of their messages.
    let most = match place {
        Where::Threads(_) => limit / 10 * 9 / job,
        #[cfg(feature = "mpi")]
        Where::Ranks { .. } => limit / 2 / job,
    };
    let slots = match place {
        Where::Threads(_) => options.workers.max(1) as u64,
        #[cfg(feature = "mpi")]
        Where::Ranks { hellos, .. } => hellos.iter().map(|hello| u64::from(hello.threads) + 1).sum(),
    };
    let workers = slots.min(most).max(1);
    let Some(left) = limit.checked_sub(workers * job + system.table_bytes()) else {
        let answer = Answer::Unknown(Why::Limit(Limit::Memory(limit)));
        let nothing = Coordinator::new(layout, None, false);
        return Ok(report(&nothing, subsystem, prepared, answer, started));
    };
    let directory = options.spill.clone().unwrap_or_else(std::env::temp_dir);
    let store = Arc::new(Store::new(Arc::new(Budget::new(left)), directory));
    let expanded = Arc::default();
    let driver = Driver {
        system: &**system,
        prepared,
        options,
        store: &store,
        limits: Limits::new(options, started, &store, &expanded),
        workers: workers as usize,
        sample,
        afar: !matches!(place, Where::Threads(_)),
    };
    let mut past = Past::new(journal);
    let reach = Reach::new(prepared.net(), prepared.packing(), subsystem);
    let mut coordinator = Coordinator::new(layout, Some(reach), driver.afar);
    let searched = match place {
        Where::Threads(_) => {
            let quota = sample.map_or(u64::MAX, |states| states / 16 + 1);
            let work =
                Work { system: system.clone(), store: store.clone(), quota, expanded: expanded.clone() };
            let mut crew = Local::new(work, driver.workers, options.job_memory, options.stuck_after);
            driver.conduct(&mut coordinator, &mut crew, &mut past)
        }
        #[cfg(feature = "mpi")]
        Where::Ranks { world, hellos, warn } => {
            let ranks = crate::transport::mpi::Ranks::new(world, hellos, warn);
            let mut remote = super::crew::Remote::new(ranks, options.job_memory, &store, &expanded);
            driver.conduct(&mut coordinator, &mut remote, &mut past)
        }
    };
    driver.limits.know(&coordinator);
    past.end(|resumed| driver.page(resumed));
    let answer = match (searched, past.failed) {
        (Ok(verdict), _) => Answer::Verdict(verdict),
        // The memory for what is put away is a part of the limit that the user knows.
        (Err(Error::Limit(Limit::Memory(_))), _) => Answer::Unknown(Why::Limit(Limit::Memory(limit))),
        (Err(Error::Disk(message)), _) => Answer::Unknown(Why::Disk(message)),
        (Err(Error::Limit(Limit::Interrupted)), Some(why)) => Answer::Unknown(Why::Journal(why)),
        (Err(Error::Limit(Limit::Interrupted)), None) => {
            Answer::Unknown(Why::Limit(driver.limits.stopped().unwrap_or(Limit::Interrupted)))
        }
        (Err(Error::Limit(limit)), _) => Answer::Unknown(Why::Limit(limit)),
        (Err(error), _) => return Err(error.to_string()),
    };
    let mut report = report(&coordinator, subsystem, prepared, answer, started);
    report.spilled = store.spilled();
    let at_work = match place {
        Where::Threads(_) => workers,
        #[cfg(feature = "mpi")]
        Where::Ranks { hellos, .. } => hellos.iter().map(|hello| u64::from(hello.threads)).sum(),
    };
    report.peak_memory = store.memory().peak() + at_work * coordinator.totals.peak;
    report.resumed = past.resumed;
    Ok(report)
}

impl<S: Successors> Driver<'_, S> {
    /// Bytes that are free while no slice is active.
    pub(super) fn idle_memory(&self) -> u64 {
        self.options.job_memory * self.workers as u64
    }

    fn page(&self, resumed: u64) -> Vec<u8> {
        let progress = Progress { resumed, ..self.limits.progress() };
        self.options.page.map_or(Vec::new(), |page| page(&progress))
    }

    /// Searches and comes to a verdict.
    fn conduct(
        &self,
        coordinator: &mut Coordinator,
        crew: &mut dyn Crew,
        past: &mut Past,
    ) -> Result<Verdict, Error> {
        self.search(coordinator, crew, past)?;
        self.conclude(coordinator, crew)
    }

    /// Goes on until nothing waits or something was found.
    fn search(
        &self,
        coordinator: &mut Coordinator,
        crew: &mut dyn Crew,
        past: &mut Past,
    ) -> Result<(), Error> {
        crew.begin();
        self.begin(coordinator)?;
        while coordinator.found.is_none() {
            let mut slices = coordinator.next_round();
            if slices.is_empty() {
                return Ok(());
            }
            self.limits.know(coordinator);
            let mut results = past.of_round(coordinator.round, &mut slices, self.store, &self.limits)?;
            if !slices.is_empty() {
                results.extend(self.activate(coordinator, slices.into(), crew, past)?);
            }
            results.sort_by_key(|(slice, _)| *slice);
            for (slice, done) in results {
                coordinator.absorb(slice, done, self.store)?;
            }
            self.limits.correct(coordinator.totals.states);
            self.divide(coordinator)?;
            past.end_round()?;
            past.tell(|resumed| self.page(resumed));
            if coordinator.round.is_multiple_of(FORGET) {
                coordinator.forget(self.store);
            }
            if let Some(sample) = self.sample.filter(|&sample| coordinator.totals.states >= sample) {
                self.limits.stop(Limit::States(sample));
            }
            self.limits.watch();
            if self.limits.stopped().is_some() && coordinator.found.is_none() {
                return Err(Error::Limit(Limit::Interrupted));
            }
        }
        Ok(())
    }

    /// The initial state waits for its expansion. A sample begins at many places, so that it is not only of what is
    /// near the initial state.
    fn begin(&self, coordinator: &mut Coordinator) -> Result<(), Error> {
        let (width, words) = (self.system.width(), self.system.width().words());
        let layout = coordinator.partition.layout().clone();
        let mut states = self.system.initial();
        if self.sample.is_some() {
            self.walk(&mut states)?;
            layout.sort_unique(width, &mut states);
        }
        let mut rest = &states[..];
        while let Some(first) = rest.get(..words) {
            let same = rest.chunks_exact(words).take_while(|state| layout.same_key(first, state)).count();
            let (group, others) = rest.split_at(same * words);
            let mut draft = Draft::default();
            draft.add(width, &layout, group);
            self.store.memory().take(SEGMENT_BYTES)?;
            for segment in self.store.put(Kind::Inbox, &mut draft)? {
                coordinator.deliver(Target::Key(layout.key(first)), segment, self.store)?;
            }
            rest = others;
        }
        Ok(())
    }

    /// Appends states of random walks, the same for the same network.
    fn walk(&self, states: &mut Vec<u64>) -> Result<(), Error> {
        let mut rng = Rng::new(1);
        let mut steps = Steps::new(self.system.width().words());
        for _ in 0..WALKS {
            let mut state = self.system.initial();
            for _ in 0..rng.below(WALK) {
                steps.clear();
                self.system.expand(&state, &mut steps)?;
                // Marked steps may be faults, which lead nowhere.
                let innocent: Vec<usize> =
                    (0..steps.len()).filter(|&k| !steps.vias()[k].is_marked()).collect();
                let Some(&step) = innocent.get(rng.below(innocent.len())) else { break };
                state.copy_from_slice(steps.target(step));
            }
            states.extend_from_slice(&state);
        }
        Ok(())
    }

    /// Lets workers activate slices; all results are kept.
    fn activate(
        &self,
        coordinator: &Coordinator,
        mut slices: VecDeque<SliceIx>,
        crew: &mut dyn Crew,
        past: &mut Past,
    ) -> Result<Vec<(SliceIx, Done)>, Error> {
        let mut free: VecDeque<u32> = crew.slots().into_iter().take(self.workers).collect();
        let (mut under_way, mut results) = (Map::<SliceIx, Vec<SliceIx>>::default(), Vec::new());
        let (mut tries, mut trouble, mut cancelled) = (Map::default(), None, false);
        loop {
            while trouble.is_none()
                && let Some(worker) = free.front().copied()
                && let Some(&first) = slices.front()
            {
                free.pop_front();
                let batch = next_batch(coordinator, &mut slices, crew.batch());
                crew.send(worker, &batch, coordinator).map_err(Error::Internal)?;
                under_way.insert(first, batch);
            }
            if under_way.is_empty() {
                return trouble.map_or(Ok(results), Err);
            }
            if let Some((worker, first, answer)) = crew.receive(LOOK).map_err(Error::Internal)? {
                let batch =
                    under_way.remove(&first).ok_or_else(|| Error::internal("an answer to nothing"))?;
                free.push_back(worker);
                let taken = match answer {
                    transport::Answer::Lost(why) => {
                        slices.extend(&batch);
                        lost(first, &why, &mut tries)
                    }
                    transport::Answer::Done(outcomes)
                        if outcomes.len() < batch.len() && outcomes.iter().all(Result::is_ok) =>
                    {
                        Err(Error::internal("a slice has no result"))
                    }
                    transport::Answer::Done(outcomes) => {
                        batch.into_iter().zip(outcomes).try_for_each(|(slice, done)| {
                            results.push((slice, past.keep(coordinator.round, slice, done?)?));
                            Ok(())
                        })
                    }
                };
                trouble = trouble.or(taken.err());
            }
            self.limits.watch();
            past.tell(|resumed| self.page(resumed));
            trouble = trouble.or(self.limits.stopped().map(|_| Error::Limit(Limit::Interrupted)));
            if trouble.is_some() && !std::mem::replace(&mut cancelled, true) {
                crew.cancel();
            }
        }
    }

    /// Divides the slices that turned out too large.
    fn divide(&self, coordinator: &mut Coordinator) -> Result<(), Error> {
        while let Some(slice) = coordinator.too_large() {
            let of = &coordinator.slices[slice.0 as usize];
            let layout = coordinator.partition.layout();
            let halves = split(self.system, layout, self.store, self.options.job_memory, of)?;
            let halves = halves.ok_or(Error::Limit(Limit::JobMemory(self.options.job_memory)))?;
            coordinator.divide(slice, halves, self.store)?;
        }
        Ok(())
    }

    /// The verdict after a search that went on to its end.
    fn conclude(&self, coordinator: &mut Coordinator, crew: &mut dyn Crew) -> Result<Verdict, Error> {
        if self.sample.is_some() {
            // A sample is asked for figures only, and it does not remember how it came to where it began.
            return Err(Error::Limit(Limit::Interrupted));
        }
        let Some(found) = coordinator.found.clone() else {
            if coordinator.slices.iter().any(|slice| slice.waiting > 0) {
                return Err(Error::internal("states are left"));
            }
            return Ok(Verdict::Holds);
        };
        let path = if coordinator.forgot {
            // The way leads through slices that were forgotten. The same search again, which remembers, comes here too.
            let layout = coordinator.partition.layout().clone();
            let mut again = Coordinator::new(layout, None, self.afar);
            self.limits.correct(0);
            self.search(&mut again, crew, &mut Past::new(None))?;
            if again.found.as_ref() != Some(&found) {
                return Err(Error::internal("a search is not repeatable"));
            }
            trace::path_to(self, &again, self.prepared, &found)?
        } else {
            trace::path_to(self, coordinator, self.prepared, &found)?
        };
        self.prepared.verdict(found.what, &path)
    }
}

/// The next slice, and those after it as long as they have no more states than this together.
fn next_batch(coordinator: &Coordinator, slices: &mut VecDeque<SliceIx>, states: u64) -> Vec<SliceIx> {
    let (mut batch, mut sum) = (Vec::new(), 0u64);
    while let Some(&slice) = slices.front() {
        let of = &coordinator.slices[slice.0 as usize];
        sum = sum.saturating_add(of.visited + of.waiting);
        if !batch.is_empty() && sum > states {
            break;
        }
        batch.push(slice);
        slices.pop_front();
    }
    batch
}

/// Counts how often an activation was lost, and gives up after some times.
fn lost(slice: SliceIx, why: &str, tries: &mut Map<SliceIx, u32>) -> Result<(), Error> {
    tracing::warn!(slice = slice.0, %why, "lost");
    let tries = tries.entry(slice).or_default();
    *tries += 1;
    if *tries < TRIES {
        return Ok(());
    }
    Err(Error::Internal(format!("slice {} was lost {TRIES} times, at last because: {why}", slice.0)))
}

fn report(
    coordinator: &Coordinator,
    subsystem: &[LeafIx],
    prepared: &Prepared,
    answer: Answer,
    started: Instant,
) -> Report {
    let totals = coordinator.totals;
    let packing = prepared.packing();
    let root: u32 = coordinator.partition.layout().mask().iter().map(|word| word.count_ones()).sum();
    let slices = coordinator.slices.iter().zip(&coordinator.records).map(|(slice, record)| SliceSize {
        locals: subsystem.iter().map(|&leaf| packing.field(leaf).get(&slice.key)).collect(),
        part: slice.mask.iter().map(|word| word.count_ones()).sum::<u32>() != root,
        states: record.states,
        activations: record.activations,
    });
    Report {
        answer,
        states: totals.states,
        transitions: totals.transitions,
        deadlocks: totals.deadlocks,
        activations: totals.activations,
        rounds: u64::from(coordinator.round),
        splits: totals.splits,
        largest: coordinator.records.iter().map(|record| record.states).max().unwrap_or(0),
        forgotten: coordinator.records.iter().filter(|record| record.forgotten).count() as u64,
        sent: totals.sent,
        loaded: totals.loaded,
        peak_memory: 0,
        job_peak: totals.peak,
        spilled: 0,
        resumed: 0,
        slices: slices.collect(),
        time: started.elapsed(),
    }
}
