//! The threads of a search by slices, its limits, and the report.
//!
//! The slices of a round are taken by workers one at a time, the most expensive first; then their results are given to
//! the coordinator in the order of the slices. Invariant: a search ends early only through [`Limits::stop`], and the first
//! reason given is the one reported.

use super::coordinator::Coordinator;
use super::reach::Reach;
use super::trace;
use super::{Answer, Options, Progress, Report, SliceSize, Slicing, Why};
use gridlock_lts::memory::{self, Budget};
use gridlock_lts::network::LeafIx;
use gridlock_lts::pack::Width;
use gridlock_lts::prepared::Prepared;
use gridlock_lts::random::Rng;
use gridlock_lts::search::{Reason, Verdict};
use gridlock_lts::successors::{Steps, Successors};
use gridlock_worker::slice::Trouble;
use gridlock_worker::slice::activation::{Control, Done, Round, SEGMENT_BYTES, Worker};
use gridlock_worker::slice::layout::Layout;
use gridlock_worker::slice::partition::{SliceIx, Target};
use gridlock_worker::slice::split::split;
use gridlock_worker::slice::store::{Draft, Kind, Store};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Rounds between two looks for slices that can be forgotten.
const FORGET: u32 = if cfg!(test) { 1 } else { 8 };
/// Random walks with which a sample begins, and their greatest length.
const WALKS: usize = 512;
const WALK: usize = 1024;

/// The limits of a search, watched by its workers.
pub(super) struct Limits<'a> {
    options: &'a Options<'a>,
    started: Instant,
    pub(super) control: Control,
    why: Mutex<Option<Reason>>,
    next_report: AtomicU64,
    /// What only the coordinator knows, as of the beginning of the round.
    known: Mutex<Progress>,
    store: &'a Store,
}

impl Limits<'_> {
    fn stop(&self, why: Reason) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.control.stop.store(true, Relaxed);
    }

    /// Looks at the limits, and reports progress if it is time.
    pub(super) fn watch(&self) {
        let options = self.options;
        if let Some(limit) = options.time_limit
            && self.started.elapsed() >= limit
        {
            self.stop(Reason::Time(limit));
        }
        if options.cancel.is_some_and(|cancel| cancel.load(Relaxed)) {
            self.stop(Reason::Cancelled);
        }
        if let Some(max) = options.max_states
            && self.control.states.load(Relaxed) > max
        {
            self.stop(Reason::States(max));
        }
        let now = self.started.elapsed().as_millis() as u64;
        let due = self.next_report.load(Relaxed);
        if now >= due
            && self.next_report.compare_exchange(due, now + 100, Relaxed, Relaxed).is_ok()
            && let Some(progress) = options.progress
        {
            let known = *self.known.lock().unwrap_or_else(PoisonError::into_inner);
            progress(&Progress {
                states: self.control.states.load(Relaxed),
                memory: self.store.memory().used(),
                spilled: self.store.spilled(),
                time: self.started.elapsed(),
                ..known
            });
        }
    }

    fn know(&self, coordinator: &Coordinator) {
        let known = Progress {
            transitions: coordinator.totals.transitions,
            rounds: u64::from(coordinator.round),
            slices: coordinator.slices.len() as u64,
            waiting: coordinator.slices.iter().map(|slice| slice.waiting).sum(),
            ..Progress::default()
        };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Why the search was stopped.
    fn reason(&self) -> Reason {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(Reason::Cancelled)
    }
}

/// Everything of one search.
pub(super) struct Driver<'a, S> {
    pub(super) system: &'a S,
    prepared: &'a Prepared<'a>,
    options: &'a Options<'a>,
    pub(super) store: &'a Store,
    pub(super) limits: Limits<'a>,
    workers: usize,
    sample: Option<u64>,
}

/// Searches by slices and makes a report.
pub(super) fn run<S: Successors>(system: &S, slicing: &Slicing) -> Result<Report, String> {
    let &Slicing { prepared, subsystem, options, sample, started } = slicing;
    let layout = Layout::of_leaves(prepared.packing(), subsystem);
    let mut coordinator = Coordinator::new(layout.clone(), None);
    if let Some(verdict) = prepared.violated_initially() {
        let mut report = report(&coordinator, subsystem, prepared, Answer::Verdict(verdict), started);
        report.states = 1;
        return Ok(report);
    }
    let limit = options.max_memory.unwrap_or_else(memory::default_limit);
    let job = options.job_memory.max(1);
    // Slices that are put away need some memory, too: at least a tenth is theirs.
    let workers = (options.workers.max(1) as u64).min(limit / 10 * 9 / job).max(1);
    let Some(left) = limit.checked_sub(workers * job + system.table_bytes()) else {
        let answer = Answer::Unknown(Why::Limit(Reason::Memory(limit)));
        return Ok(report(&coordinator, subsystem, prepared, answer, started));
    };
    let directory = options.spill.clone().unwrap_or_else(std::env::temp_dir);
    let store = Store::new(Arc::new(Budget::new(left)), directory);
    let limits = Limits {
        options,
        started,
        control: Control::default(),
        why: Mutex::new(None),
        next_report: AtomicU64::new(0),
        known: Mutex::new(Progress::default()),
        store: &store,
    };
    let driver =
        Driver { system, prepared, options, store: &store, limits, workers: workers as usize, sample };
    coordinator =
        Coordinator::new(layout.clone(), Some(Reach::new(prepared.net(), prepared.packing(), subsystem)));
    let searched = driver.search(&mut coordinator).and_then(|()| driver.conclude(&mut coordinator));
    let answer = match searched {
        Ok(verdict) => Answer::Verdict(verdict),
        // The memory for what is put away is a part of the limit that the user knows.
        Err(Trouble::Memory(bytes)) if bytes != left => Answer::Unknown(Why::Limit(Reason::Memory(bytes))),
        Err(Trouble::Memory(_)) => Answer::Unknown(Why::Limit(Reason::Memory(limit))),
        Err(Trouble::Disk(message)) => Answer::Unknown(Why::Disk(message)),
        Err(Trouble::Stopped) => Answer::Unknown(Why::Limit(driver.limits.reason())),
        Err(Trouble::Broken(message)) => return Err(message),
    };
    let mut report = report(&coordinator, subsystem, prepared, answer, started);
    report.spilled = store.spilled();
    report.peak_memory = store.memory().peak() + workers * coordinator.totals.peak;
    Ok(report)
}

impl<S: Successors> Driver<'_, S> {
    /// Bytes that are free while no slice is active.
    pub(super) fn idle_memory(&self) -> u64 {
        self.options.job_memory * self.workers as u64
    }

    /// Goes on until nothing waits or something was found.
    fn search(&self, coordinator: &mut Coordinator) -> Result<(), Trouble> {
        self.begin(coordinator)?;
        let mut workers: Vec<Worker> =
            (0..self.workers).map(|_| Worker::new(self.system.width().words())).collect();
        while coordinator.found.is_none() {
            let slices = coordinator.next_round();
            if slices.is_empty() {
                return Ok(());
            }
            self.limits.know(coordinator);
            let results = self.activate(coordinator, &slices, &mut workers)?;
            for (slice, done) in results {
                coordinator.absorb(slice, done, self.store)?;
            }
            self.divide(coordinator)?;
            if coordinator.round.is_multiple_of(FORGET) {
                coordinator.forget(self.store);
            }
            if let Some(sample) = self.sample.filter(|&sample| coordinator.totals.states >= sample) {
                self.limits.stop(Reason::States(sample));
            }
            self.limits.watch();
            if self.limits.control.stop.load(Relaxed) && coordinator.found.is_none() {
                return Err(Trouble::Stopped);
            }
        }
        Ok(())
    }

    /// The initial state waits for its expansion. A sample begins at many places, so that it is not only of what is
    /// near the initial state.
    fn begin(&self, coordinator: &mut Coordinator) -> Result<(), Trouble> {
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
    fn walk(&self, states: &mut Vec<u64>) -> Result<(), Trouble> {
        let mut rng = Rng::new(1);
        let mut steps = Steps::new(self.system.width().words());
        for _ in 0..WALKS {
            let mut state = self.system.initial();
            for _ in 0..rng.below(WALK) {
                steps.clear();
                self.system.expand(&state, &mut steps).map_err(Trouble::Broken)?;
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

    /// Activates slices on all workers. The results are in the order of the slices' numbers.
    fn activate(
        &self,
        coordinator: &Coordinator,
        slices: &[SliceIx],
        workers: &mut [Worker],
    ) -> Result<Vec<(SliceIx, Done)>, Trouble> {
        let watch = || self.limits.watch();
        let round = Round {
            system: self.system,
            partition: &coordinator.partition,
            store: self.store,
            deadlock: self.prepared.deadlock(),
            job_memory: self.options.job_memory,
            quota: self.sample.map_or(u64::MAX, |states| states / 16 + 1),
            control: &self.limits.control,
            watch: &watch,
        };
        let next = AtomicUsize::new(0);
        let work = |worker: &mut Worker| {
            let mut mine = Vec::new();
            while let Some(&slice) = slices.get(next.fetch_add(1, Relaxed)) {
                let done = worker.activate(&round, &coordinator.slices[slice.0 as usize]);
                let failed = done.is_err();
                mine.push((slice, done));
                if failed {
                    next.store(slices.len(), Relaxed);
                }
            }
            mine
        };
        let used = slices.len().min(workers.len());
        let mut results: Vec<(SliceIx, Result<Done, Trouble>)> = std::thread::scope(|scope| {
            let (mine, others) = workers[..used].split_at_mut(1);
            let work = &work;
            let others: Vec<_> = others.iter_mut().map(|worker| scope.spawn(move || work(worker))).collect();
            let mut all: Vec<_> = mine.iter_mut().flat_map(work).collect();
            for other in others {
                all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            all
        });
        results.sort_by_key(|(slice, _)| *slice);
        results.into_iter().map(|(slice, done)| Ok((slice, done?))).collect()
    }

    /// Divides the slices that turned out too large.
    fn divide(&self, coordinator: &mut Coordinator) -> Result<(), Trouble> {
        while let Some(slice) = coordinator.too_large() {
            let of = &coordinator.slices[slice.0 as usize];
            let layout = coordinator.partition.layout();
            let halves = split(self.system, layout, self.store, self.options.job_memory, of)?;
            let halves = halves.ok_or(Trouble::Memory(self.options.job_memory))?;
            coordinator.divide(slice, halves, self.store)?;
        }
        Ok(())
    }

    /// The verdict after a search that went on to its end.
    fn conclude(&self, coordinator: &mut Coordinator) -> Result<Verdict, Trouble> {
        if self.sample.is_some() {
            // A sample is asked for figures only, and it does not remember how it came to where it began.
            return Err(Trouble::Stopped);
        }
        let Some(found) = coordinator.found.clone() else {
            if coordinator.slices.iter().any(|slice| slice.waiting > 0) {
                return Err(Trouble::Broken("internal: states are left".to_owned()));
            }
            return Ok(Verdict::Holds);
        };
        let path = if coordinator.forgot {
            // The way leads through slices that were forgotten. The same search again, which remembers, comes here too.
            let layout = coordinator.partition.layout().clone();
            let mut again = Coordinator::new(layout, None);
            self.limits.control.states.store(0, Relaxed);
            self.search(&mut again)?;
            if again.found.as_ref() != Some(&found) {
                return Err(Trouble::Broken("internal: a search is not repeatable".to_owned()));
            }
            trace::path_to(self, &again, self.prepared, &found)?
        } else {
            trace::path_to(self, coordinator, self.prepared, &found)?
        };
        self.prepared.verdict(found.what, &path).map_err(Trouble::Broken)
    }
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
        slices: slices.collect(),
        time: started.elapsed(),
    }
}
