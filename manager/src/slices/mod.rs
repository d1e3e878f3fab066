//! Slices: an exhaustive search that needs memory for the largest slice, not for the state space.
//!
//! The states are partitioned by the local states of a subsystem; a slice is searched by one worker at a time, and what
//! leaves it waits in the inboxes of other slices. Slices that are not being searched are compressed, in memory or in
//! the spill directory. [`check`] is the whole road; the coordinator says which slices come next, the rounds are
//! the machine that the driver drives, and the trace of a finding is rebuilt from what the slices remember.
//!
//! Invariant: states, transitions, deadlocks and verdict do not depend on the number of workers. `Holds` is said only
//! when no inbox has a state left, so every reachable state was expanded, exactly once.

mod choose;
mod coordinator;
mod rounds;
#[cfg(test)]
mod tests;
mod work;

use crate::grid::driver::{self, Control, Ended};
use crate::grid::work::Grid;
pub use choose::{Candidate, Choice, choose_subsystem};
use coordinator::Coordinator;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::memory::{self, Budget};
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::model::network::{LeafIx, Local};
use gridlock_worker::slice::layout::Layout;
use gridlock_worker::slice::reach::Reach;
use gridlock_worker::slice::store::Store;
use gridlock_worker::slice::trace::{self, Searched};
pub use rounds::Record;
use rounds::{Rounds, Setting};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use work::SliceWork;

/// What a search by slices may spend.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes that a worker may use for the slice it searches. A slice that needs more is divided.
    pub job_memory: u64,
    /// Bytes for everything: the workers, and slices and inboxes that are stored. What does not fit is spilled.
    /// `None`: 80 % of what the machine or its control group has.
    pub max_memory: Option<u64>,
    /// Bytes that the process may have in memory, as the system counts them and whoever uses them. What is stored goes
    /// to files before that.
    pub max_resident: Option<u64>,
    /// Where states are spilled; `None`: the system's directory for temporary files.
    pub spill: Option<PathBuf>,
    /// Stop after this many states.
    pub max_states: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options { job_memory: 64 << 20, max_memory: None, max_resident: None, spill: None, max_states: None }
    }
}

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Progress {
    /// States expanded.
    pub states: u64,
    /// Their steps, as far as their activations have ended.
    pub transitions: u64,
    /// The round that is being worked on.
    pub rounds: u64,
    /// Slices known.
    pub slices: u64,
    /// States in inboxes when the round began; some of them more than once.
    pub waiting: u64,
    /// The states of the largest slice then.
    pub largest: u64,
    /// Activations of the rounds before.
    pub activations: u64,
    /// Slices that were divided.
    pub splits: u64,
    /// Activations whose results were in the journal, when the page is written.
    pub resumed: u64,
    /// Bytes in use for what is stored.
    pub memory: u64,
    /// Bytes written to files so far.
    pub spilled: u64,
    /// Time since the search began.
    pub time: Duration,
}

/// Why a search ended without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// A limit.
    Limit(Limit),
    /// The spill directory cannot be written.
    Disk(String),
    /// The journal cannot be written.
    Journal(String),
}

/// The answer of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// `Holds`, `Violated` or `Faulty`.
    Verdict(Verdict),
    /// No answer.
    Unknown(Why),
}

/// The size of one slice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SliceSize {
    /// The local states of the subsystem, in the order in which its leaves were given.
    pub locals: Vec<Local>,
    /// Whether this is a part of a slice that was divided.
    pub part: bool,
    /// States.
    pub states: u64,
    /// How often it was activated.
    pub activations: u64,
}

/// What came out of a search by slices.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub answer: Answer,
    /// States expanded.
    pub states: u64,
    /// Their steps; faults are not counted.
    pub transitions: u64,
    /// How many of them have no steps.
    pub deadlocks: u64,
    /// How often slices were activated.
    pub activations: u64,
    /// Rounds.
    pub rounds: u64,
    /// How many slices were divided because they were too large for the job memory.
    pub splits: u64,
    /// The states of the largest slice.
    pub largest: u64,
    /// Slices whose states were forgotten because they could not be entered again.
    pub forgotten: u64,
    /// States that were sent from one slice to another.
    pub sent: u64,
    /// States that were loaded for activations.
    pub loaded: u64,
    /// The most bytes in use at a time: by the workers, and for what is stored.
    pub peak_memory: u64,
    /// The most bytes that one activation used.
    pub job_peak: u64,
    /// Bytes written to files.
    pub spilled: u64,
    /// Activations whose results were in the journal.
    pub resumed: u64,
    /// The slices, in the order in which they were found.
    pub slices: Vec<SliceSize>,
    /// Time.
    pub time: Duration,
}

/// A journal and the results that were in it.
pub type Opened = driver::Opened<Record>;

/// Checks the properties that are built into a network, by slices of a subsystem: the states that agree in the local
/// states of these leaves. With a journal, what is in there is not done again.
pub fn check(
    prepared: &Prepared,
    subsystem: &[LeafIx],
    options: &Options,
    grid: &Grid,
    journal: Option<Opened>,
    control: &Control<Progress>,
) -> Result<Report> {
    let slicing = Slicing { prepared, subsystem, options, grid, sample: None, journal, control };
    prepared.visit(slicing)?
}

struct Slicing<'a> {
    prepared: &'a Prepared,
    subsystem: &'a [LeafIx],
    options: &'a Options,
    grid: &'a Grid<'a>,
    /// End after the round in which this many states are reached.
    sample: Option<u64>,
    journal: Option<Opened>,
    control: &'a Control<'a, Progress>,
}

/// How the memory of a search is shared out.
struct Shares {
    /// Activations that may be under way at a time.
    most: u64,
    /// For what is stored.
    store: u64,
}

impl Shares {
    /// The limit, and the shares if there is enough for one activation.
    fn new(options: &Options, grid: &Grid, tables: u64) -> (u64, Option<Shares>) {
        let limit = options.max_memory.unwrap_or_else(memory::default_limit);
        let job = options.job_memory.max(1);
        // Slices that are stored need some memory, too: at least a tenth is theirs. Where ranks do the work, this is the
        // memory of their messages.
        let most = if grid.is_remote() { limit / 2 / job } else { limit / 10 * 9 / job };
        let most = grid.slots().min(most).max(1);
        let store = limit.checked_sub(most * job + tables);
        (limit, store.map(|store| Shares { most, store }))
    }
}

impl Visitor for Slicing<'_> {
    type Out = Result<Report>;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Result<Report> {
        let Slicing { prepared, subsystem, options, grid, sample, journal, control } = self;
        let started = Instant::now();
        if let Some(leaf) = subsystem.iter().find(|leaf| leaf.0 as usize >= prepared.net().leaves.len()) {
            return Err(Error::Internal(format!("there is no leaf {}", leaf.0)));
        }
        let layout = Layout::of_leaves(prepared.packing(), subsystem);
        let nothing = || Coordinator::new(layout.clone(), None, false);
        if let Some(verdict) = prepared.violated_initially() {
            let report = Report::new(&nothing(), subsystem, prepared, Answer::Verdict(verdict), started);
            return Ok(Report { states: 1, ..report });
        }
        // What was built before this search, to choose its subsystem for instance.
        memory::trim();
        let (limit, shares) = Shares::new(options, grid, system.table_bytes());
        let Some(Shares { most, store }) = shares else {
            let answer = Answer::Unknown(Why::Limit(Limit::Memory(limit)));
            return Ok(Report::new(&nothing(), subsystem, prepared, answer, started));
        };
        let directory = options.spill.clone().unwrap_or_else(std::env::temp_dir);
        // With room for what workers take meanwhile.
        let ceiling = options.max_resident.map_or(u64::MAX, |bytes| bytes / 8 * 7);
        let store = Arc::new(Store::new(Arc::new(Budget::new(store)), directory).within(ceiling));
        let expanded = Arc::default();
        let quota = sample.map_or(u64::MAX, |states| states / 16 + 1);
        let work = SliceWork::new(system.clone(), store.clone(), quota, Arc::clone(&expanded));
        let afar = grid.is_remote();
        let reach = Reach::new(prepared.net(), prepared.packing(), subsystem);
        let coordinator = Coordinator::new(layout, Some(reach), afar);
        let setting = Setting { system, store, expanded, sample, most: most as usize, afar, started };
        let mut rounds = Rounds::new(setting, options, coordinator);
        let (ended, _) = grid.lead(&mut rounds, &work, journal, control)?;
        let answer = rounds.answer(prepared, ended, limit, most * options.job_memory, control.stop)?;
        let store = &work.store;
        let coordinator = rounds.first.as_deref().unwrap_or(&rounds.coordinator);
        let report = Report::new(coordinator, subsystem, prepared, answer, started);
        // A search that was stopped within its first round has expanded states, too.
        let states = match report.answer {
            Answer::Verdict(_) => report.states,
            Answer::Unknown(_) => report.states.max(work.expanded.load(Relaxed)),
        };
        Ok(Report {
            states,
            spilled: store.spilled(),
            peak_memory: store.memory().peak() + grid.workers().min(most) * coordinator.totals.peak,
            resumed: rounds.resumed,
            ..report
        })
    }
}

impl<S: Successors> Rounds<'_, S> {
    /// The answer of a search that has ended. Its way is searched with this many bytes.
    fn answer(
        &mut self,
        prepared: &Prepared,
        ended: Ended,
        limit: u64,
        idle: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Answer> {
        let verdict = match (ended, self.trouble.take()) {
            (Ended::Journal(trouble), _) => return Ok(Answer::Unknown(Why::Journal(trouble.to_string()))),
            (_, Some(trouble)) => Err(trouble),
            (Ended::Limit(limit), None) => return Ok(Answer::Unknown(Why::Limit(limit))),
            (Ended::Stopped, None) => Err(Error::Limit(Limit::Interrupted)),
            (Ended::Done, None) => self.verdict(prepared, idle, stop),
        };
        Ok(match verdict {
            Ok(verdict) => Answer::Verdict(verdict),
            // The memory for what is stored is a part of the limit that the user knows.
            Err(Error::Limit(Limit::Memory(_))) => Answer::Unknown(Why::Limit(Limit::Memory(limit))),
            Err(Error::Limit(limit)) => Answer::Unknown(Why::Limit(limit)),
            Err(Error::Disk(message)) => Answer::Unknown(Why::Disk(message)),
            Err(error @ (Error::Input(_) | Error::Internal(_))) => return Err(error),
        })
    }

    /// The verdict of a search that came to its end.
    fn verdict(
        &self,
        prepared: &Prepared,
        memory: u64,
        stop: &dyn Fn() -> bool,
    ) -> std::result::Result<Verdict, Error> {
        if self.setting.sample.is_some() {
            // A sample is asked for figures only, and it does not remember how it came to where it began.
            return Err(Error::Limit(Limit::Interrupted));
        }
        let coordinator = &self.coordinator;
        let Some(found) = &coordinator.found else {
            if coordinator.slices.iter().any(|slice| slice.waiting > 0) {
                return Err(Error::internal("states are left"));
            }
            return Ok(Verdict::Holds);
        };
        let searched = Searched {
            system: &*self.setting.system,
            network: prepared.network(),
            partition: &coordinator.partition,
            slices: &coordinator.slices,
            memory,
            stop,
        };
        let path = trace::path_to(&searched, found).map_err(|trouble| match trouble {
            Error::Limit(Limit::JobMemory(bytes)) => Error::Limit(Limit::Memory(bytes)),
            other => other,
        })?;
        prepared.verdict(found.what, &path)
    }
}

impl Report {
    fn new(
        coordinator: &Coordinator,
        subsystem: &[LeafIx],
        prepared: &Prepared,
        answer: Answer,
        started: Instant,
    ) -> Self {
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
}

/// On a rank that does not lead: activates slices until rank 0 says that it is over, and returns its exit code. The
/// subsystem comes with the jobs.
pub fn serve(prepared: &Prepared, grid: &Grid) -> Result<u8> {
    struct Serve<'a>(&'a Grid<'a>);

    impl Visitor for Serve<'_> {
        type Out = Result<u8>;

        fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Result<u8> {
            // Results stay in memory until they are sent.
            let store = Arc::new(Store::new(Arc::new(Budget::new(u64::MAX)), std::env::temp_dir()));
            self.0.serve(&SliceWork::new(system, store, u64::MAX, Arc::default()))
        }
    }
    prepared.visit(Serve(grid))?
}
