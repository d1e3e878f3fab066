//! Slices: an exhaustive search that needs memory for the largest slice, not for the state space.
//!
//! The states are partitioned by the local states of a subsystem; a slice is searched by one worker at a time, and states
//! that leave it wait in the inboxes of other slices. Slices that are not being searched are compressed, in memory or in the
//! spill directory. [`check`] is the entry point. The coordinator decides which slices come next, the rounds are the machine
//! that the driver drives, and the trace of a finding is rebuilt from the runs of the slices.
//!
//! Invariant: states, transitions, deadlocks and verdict do not depend on the number of workers. The verdict is `Holds` only
//! when no inbox has a state left, so every reachable state was expanded, exactly once.

mod choose;
mod coordinator;
mod kept;
mod moves;
mod past;
mod ranks;
#[cfg(test)]
mod ranks_tests;
mod replay;
mod rounds;
#[cfg(test)]
mod tests;
mod turn;
mod work;

use crate::grid::driver::{Control, Opened};
use crate::grid::journal::Identity;
use crate::grid::work::Grid;
pub use choose::{Candidate, Choice, choose_subsystem};
use coordinator::Coordinator;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::memory::{self, Budget};
use gridlock_lts::engine::mesh::{Alone, Mesh};
use gridlock_lts::engine::prepared::{FrugalVisitor, Prepared, Thrift};
use gridlock_lts::engine::reduce::Keep;
use gridlock_lts::engine::search::{Reduction, Verdict};
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::model::network::{LeafIx, Local};
use gridlock_worker::slice::layout::Layout;
use gridlock_worker::slice::reach::Reach;
use gridlock_worker::slice::store::Store;
use gridlock_worker::slice::trace::Searched;
pub use kept::Kept;
use ranks::Ranks;
pub use rounds::Record;
use rounds::{Rounds, Setting, Stop};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use work::SliceWork;

/// The options and limits of a search by slices.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes that a worker may use for the slice it searches. A slice that needs more is divided.
    pub job_memory: u64,
    /// Bytes for everything: the workers, and slices and inboxes that are stored. Slices and inboxes that do not fit are
    /// spilled. `None`: 80 % of what the machine or its control group has.
    pub max_memory: Option<u64>,
    /// Bytes that the process may have in memory, as the system counts them, all uses together. Blocks go to files before
    /// this is reached.
    pub max_resident: Option<u64>,
    /// Where states are spilled; `None`: the system's directory for temporary files.
    pub spill: Option<PathBuf>,
    /// Stop after this many states.
    pub max_states: Option<u64>,
    /// The reduction, if steps are left out.
    pub reduce: Option<Keep>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            job_memory: 64 << 20,
            max_memory: None,
            max_resident: None,
            spill: None,
            max_states: None,
            reduce: None,
        }
    }
}

impl Options {
    fn limit(&self) -> u64 {
        self.max_memory.unwrap_or_else(memory::default_limit)
    }

    /// The budget of the reduction. Which steps these are is a function of the state, so it does not matter which worker
    /// activates a slice.
    fn thrift(&self, grid: &Grid) -> Option<Thrift> {
        self.reduce.map(|keep| Thrift { keep, memory: self.limit(), threads: grid.own_threads() })
    }
}

/// The progress of a search.
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
    /// Bytes in use for stored slices and inboxes.
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
pub enum SlicesAnswer {
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

/// The report of a search by slices.
#[derive(Clone, Debug)]
pub struct SlicesReport {
    /// The answer.
    pub answer: SlicesAnswer,
    /// States expanded.
    pub states: u64,
    /// Their steps; faults are not counted.
    pub transitions: u64,
    /// The number of deadlocks among them.
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
    /// The most bytes in use at a time: by the workers, and for stored slices and inboxes.
    pub peak_memory: u64,
    /// The most bytes that one activation used.
    pub job_peak: u64,
    /// Bytes written to files.
    pub spilled: u64,
    /// Activations whose results were in the journal.
    pub resumed: u64,
    /// The reduction, if steps were left out; states are then those visited, not all reachable ones.
    pub reduction: Option<Reduction>,
    /// The slices, in the order in which they were found.
    pub slices: Vec<SliceSize>,
    /// The figures of each rank, if there were several.
    pub ranks: Vec<RankSize>,
    /// Time.
    pub time: Duration,
}

/// The figures of one of several ranks at the end of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RankSize {
    /// Slices.
    pub slices: u64,
    /// Their states, forgotten ones included.
    pub states: u64,
    /// Bytes of states that it sent to others.
    pub bytes_sent: u64,
    /// The most bytes in use at a time.
    pub peak_memory: u64,
    /// Bytes written to files.
    pub spilled: u64,
}

/// Checks the properties that are built into a network, by slices of a subsystem: the states that agree in the local states
/// of these leaves. With a checkpoint, activations whose results it has are not done again.
pub fn check(
    prepared: &Prepared,
    subsystem: &[LeafIx],
    options: &Options,
    grid: &Grid,
    kept: Option<Kept>,
    control: &Control<Progress>,
) -> Result<SlicesReport> {
    let mut alone = Alone::default();
    let told = || (control.stop)().then_some(Limit::Interrupted);
    let ranks = Ranks::new(&mut alone, &told);
    let slicing = Slicing { prepared, subsystem, options, grid, ranks: &ranks, sample: None, kept, control };
    slicing.search()
}

/// The settings that rank 0 has chosen and every rank needs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Settled {
    /// The subsystem.
    pub leaves: Vec<u32>,
    /// Bytes that a worker may use for a slice.
    pub job_memory: u64,
    /// The identity of the run in a checkpoint.
    pub identity: Identity,
}

/// The checkpoint of a run on ranks.
pub struct RankCheckpoint<'a> {
    /// The directory, which all ranks see.
    pub dir: &'a Path,
    /// Whether to resume the run in the checkpoint.
    pub resume: bool,
    /// The journal, which rank 0 has opened.
    pub opened: Option<Opened<Record>>,
}

/// A rank among others.
pub struct RankLink<'m> {
    /// The ranks.
    pub mesh: &'m mut dyn Mesh,
    /// Whether and why this rank is to stop.
    pub told: &'m dyn Fn() -> Option<Limit>,
}

/// All ranks together: the same, with slices distributed over the ranks. Rank 0 gives the settings; all get the same report.
/// `grid` are the threads of this rank.
pub fn check_on_ranks(
    link: RankLink,
    prepared: &Prepared,
    settled: Option<Settled>,
    options: &Options,
    grid: &Grid,
    place: Option<RankCheckpoint>,
    control: &Control<Progress>,
) -> Result<SlicesReport> {
    let ranks = &Ranks::new(link.mesh, link.told);
    let settled = ranks.share(&settled)?.swap_remove(0);
    let settled = settled.ok_or_else(|| Error::internal("rank 0 has settled nothing"))?;
    let subsystem: Vec<LeafIx> = settled.leaves.iter().copied().map(LeafIx).collect();
    let options = &Options { job_memory: settled.job_memory, ..options.clone() };
    let join =
        |RankCheckpoint { dir, resume, opened }| Kept::join(dir, &settled.identity, resume, opened, ranks);
    let kept = place.map(join).transpose()?;
    let stop = || ranks.is_stopped();
    let control = &Control { stop: &stop, ..*control };
    let subsystem = &subsystem[..];
    Slicing { prepared, subsystem, options, grid, ranks, sample: None, kept, control }.search()
}

struct Slicing<'a> {
    prepared: &'a Prepared,
    subsystem: &'a [LeafIx],
    options: &'a Options,
    grid: &'a Grid<'a>,
    ranks: &'a Ranks<'a>,
    /// End after the round in which this many states are reached.
    sample: Option<u64>,
    kept: Option<Kept>,
    control: &'a Control<'a, Progress>,
}

impl Slicing<'_> {
    fn search(self) -> Result<SlicesReport> {
        let (prepared, thrift) = (self.prepared, self.options.thrift(self.grid));
        let reduction = self.options.reduce.map(|keep| prepared.reduction(keep));
        let report = prepared.visit_frugally(thrift, self)??;
        Ok(SlicesReport { reduction, ..report })
    }
}

/// How the memory of a search is shared out.
struct Shares {
    /// Activations that may be under way at a time.
    most: u64,
    /// Bytes for stored slices and inboxes.
    store: u64,
}

impl Shares {
    /// The limit, and the shares if there is enough for one activation.
    fn new(options: &Options, grid: &Grid, tables: u64) -> (u64, Option<Shares>) {
        let limit = options.limit();
        let tables = tables + options.thrift(grid).map_or(0, |thrift| thrift.bytes());
        let job = options.job_memory.max(1);
        // Slices that are stored need some memory, too: at least a tenth is theirs.
        let most = grid.workers().min(limit / 10 * 9 / job).max(1);
        let store = limit.checked_sub(most * job + tables);
        (limit, store.map(|store| Shares { most, store }))
    }
}

impl FrugalVisitor for Slicing<'_> {
    type Out = Result<SlicesReport>;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Result<SlicesReport> {
        let Slicing { prepared, subsystem, options, grid, ranks, sample, kept, control } = self;
        let started = Instant::now();
        if let Some(leaf) = subsystem.iter().find(|leaf| leaf.0 as usize >= prepared.net().leaves.len()) {
            return Err(Error::Internal(format!("there is no leaf {}", leaf.0)));
        }
        let layout = Layout::of_leaves(prepared.packing(), subsystem);
        let nothing = || Coordinator::new(layout.clone(), None, ranks.owners());
        if let Some(verdict) = prepared.violated_initially() {
            let report =
                SlicesReport::new(&nothing(), subsystem, prepared, SlicesAnswer::Verdict(verdict), started);
            return Ok(SlicesReport { states: 1, ..report });
        }
        // What was built before this search, to choose its subsystem for instance.
        memory::trim();
        let (limit, shares) = Shares::new(options, grid, system.table_bytes());
        let shares = match ranks.agree(shares.ok_or(Error::Limit(Limit::Memory(limit)))) {
            Ok(shares) => shares,
            Err(trouble) => {
                let answer = SlicesAnswer::unknown(Stop::Trouble(trouble), limit)?;
                return Ok(SlicesReport::new(&nothing(), subsystem, prepared, answer, started));
            }
        };
        let directory = options.spill.clone().unwrap_or_else(std::env::temp_dir);
        // With room for what workers take meanwhile.
        let ceiling = options.max_resident.map_or(u64::MAX, |bytes| bytes / 8 * 7);
        let store = Arc::new(Store::new(Arc::new(Budget::new(shares.store)), directory).within(ceiling));
        let expanded = Arc::default();
        let quota = sample.map_or(u64::MAX, |states| states / 16 + 1);
        let work = SliceWork {
            system: system.clone(),
            store: store.clone(),
            quota,
            expanded: Arc::clone(&expanded),
        };
        let work = Arc::new(work);
        let reach = Reach::new(prepared.net(), prepared.packing(), subsystem);
        let coordinator = Coordinator::new(layout, Some(reach), ranks.owners());
        let most = shares.most as usize;
        let setting = Setting { system, store, ranks, expanded, sample, most, started };
        let mut rounds = Rounds::new(setting, options, coordinator);
        let journal = kept.map(|Kept { journal, sources, .. }| {
            rounds.replay(sources, control);
            journal
        });
        let ended = grid.lead_here(&mut rounds, &work, journal, control);
        rounds.settle(ended.map(|(ended, _)| ended))?;
        let answer = rounds.answer(prepared, limit, shares.most * options.job_memory)?;
        let store = &work.store;
        let coordinator = rounds.first.as_deref().unwrap_or(&rounds.coordinator);
        let report = SlicesReport::new(coordinator, subsystem, prepared, answer, started);
        // A search that was stopped within its first round has expanded states, too.
        let states = match report.answer {
            SlicesAnswer::Verdict(_) => report.states,
            SlicesAnswer::Unknown(_) => report.states.max(work.expanded.load(Relaxed)),
        };
        let me = ranks.rank();
        let own = RankSize {
            slices: coordinator.records.iter().filter(|record| record.owner == me).count() as u64,
            states: coordinator
                .records
                .iter()
                .filter(|record| record.owner == me)
                .map(|record| record.states)
                .sum(),
            bytes_sent: 8 * ranks.sent().words,
            peak_memory: store.memory().peak()
                + if ranks.owners().contains(&me) {
                    grid.workers().min(shares.most) * coordinator.totals.peak
                } else {
                    0
                },
            spilled: store.spilled(),
        };
        let all = ranks.share(&own)?;
        Ok(SlicesReport {
            states,
            spilled: all.iter().map(|rank| rank.spilled).sum(),
            // Of the rank that had most.
            peak_memory: all.iter().map(|rank| rank.peak_memory).max().unwrap_or(0),
            resumed: rounds.resumed,
            ranks: if ranks.is_distributed() { all } else { Vec::new() },
            ..report
        })
    }
}

impl SlicesAnswer {
    /// The answer of a search that stopped before its end. A memory limit is reported as the limit that the user knows, not
    /// as the part of it for stored slices.
    fn unknown(stop: Stop, limit: u64) -> Result<Self> {
        Ok(SlicesAnswer::Unknown(match stop {
            Stop::Journal(why) => Why::Journal(why),
            Stop::Trouble(Error::Limit(Limit::Memory(_))) => Why::Limit(Limit::Memory(limit)),
            Stop::Trouble(Error::Limit(limit)) => Why::Limit(limit),
            Stop::Trouble(Error::Disk(message)) => Why::Disk(message),
            Stop::Trouble(error @ (Error::Input(_) | Error::Internal(_))) => return Err(error),
        }))
    }
}

impl<S: Successors> Rounds<'_, S> {
    /// All ranks together: the answer of a search that has ended. The path to a finding is searched with this many bytes.
    fn answer(&mut self, prepared: &Prepared, limit: u64, idle: u64) -> Result<SlicesAnswer> {
        if let Some(stop) = self.stop.take() {
            return SlicesAnswer::unknown(stop, limit);
        }
        match self.verdict(prepared, idle) {
            Ok(verdict) => Ok(SlicesAnswer::Verdict(verdict)),
            Err(trouble) => SlicesAnswer::unknown(Stop::Trouble(trouble), limit),
        }
    }

    /// The verdict of a search that came to its end.
    fn verdict(&self, prepared: &Prepared, memory: u64) -> Result<Verdict> {
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
            // Others may be sending already.
            stop: &|| self.setting.ranks.is_told(),
        };
        let slice = coordinator.partition.slice_of(&found.state);
        let leader = coordinator.owner(slice.ok_or_else(|| Error::internal("a finding has no slice"))?);
        let path =
            past::way(&searched, self.setting.ranks, leader, found).map_err(|trouble| match trouble {
                Error::Limit(Limit::JobMemory(bytes)) => Error::Limit(Limit::Memory(bytes)),
                other => other,
            })?;
        prepared.verdict(found.what, &path)
    }
}

impl SlicesReport {
    fn new(
        coordinator: &Coordinator,
        subsystem: &[LeafIx],
        prepared: &Prepared,
        answer: SlicesAnswer,
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
        SlicesReport {
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
            reduction: None,
            slices: slices.collect(),
            ranks: Vec::new(),
            time: started.elapsed(),
        }
    }
}
