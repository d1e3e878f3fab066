//! Runs the search of the library under the eyes of the [`Watch`], and says in its words why it ended.
//!
//! Invariant: a [`Conclusion`] is a verdict of the library, or says which bound kept it from one.

use super::Arguments;
use super::properties::Properties;
use super::swarm::{SliceRun, SwarmRun};
use crate::outcome::Failure;
use crate::quantities::{big, bytes, count, counted, duration};
use crate::shown_trace::ShownTrace;
use crate::watch::{self, Watch};
use gridlock_lang::system::System;
use gridlock_lts::base::memory::{default_limit, resident};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::search::{self, Options, Reason, Stats, Verdict};
use gridlock_lts::model::network::{Network, TableSource};
use gridlock_manager::traces::swarm::Repeats;
use num_bigint::BigUint;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The answer to what was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Conclusion {
    /// All properties hold.
    Holds,
    /// The property of that index does not.
    Violated(usize),
    /// The specification has no meaning in a reachable state; this is why.
    Faulty(String),
    /// No answer.
    Unknown(Bound),
}

/// What kept a search from an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bound {
    /// `--max-states`.
    States(u64),
    /// `--max-depth`.
    Depth(u64),
    /// `--max-memory`, or what there is.
    Memory(u64),
    /// `--time-limit`.
    Time(Duration),
    /// Ctrl-C, SIGTERM or SIGUSR1.
    Interrupted,
    /// One of these ended a swarm that has a checkpoint.
    Resumable(Box<Bound>),
    /// `--unroll`: the subsystem of a swarm could have moved on.
    Unrolled(u32),
    /// Jobs of a swarm did not fit into their budget and could not be divided.
    JobTooLarge(TooLarge),
    /// `--job-memory`: not enough for a slice that cannot be divided any more.
    JobMemory(u64),
    /// `--ids`: nothing was found there.
    Shard {
        /// And the subsystem could have moved on, too.
        bounded: bool,
    },
    /// Jobs of a swarm did the same work again and again.
    Repeats(Repeats),
    /// The checkpoint of a swarm cannot be written: why.
    Checkpoint(String),
    /// States cannot be spilled: why.
    Spill(String),
}

/// Jobs of a swarm that were too large.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// How many traces were given up.
    pub traces: BigUint,
    /// The most states that one of them visited before it was given up.
    pub states: u64,
    /// The most bytes that one of them used.
    pub memory: u64,
}

impl Bound {
    /// A stable name for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Bound::States(_) => "max-states",
            Bound::Depth(_) => "max-depth",
            Bound::Memory(_) => "max-memory",
            Bound::Time(_) => "time-limit",
            Bound::Interrupted => "interrupted",
            Bound::Resumable(bound) => bound.name(),
            Bound::Unrolled(_) => "bounded",
            Bound::JobTooLarge(_) | Bound::JobMemory(_) => "job-too-large",
            Bound::Shard { bounded: false } => "shard",
            Bound::Shard { bounded: true } => "shard-bounded",
            Bound::Repeats(_) => "work-limit",
            Bound::Checkpoint(_) => "checkpoint",
            Bound::Spill(_) => "spill",
        }
    }

    /// What stands in parentheses behind the verdict, if that has a meaning of its own.
    pub fn kind(&self) -> Option<&'static str> {
        match self {
            Bound::Resumable(_) => Some("interrupted, resumable"),
            Bound::Unrolled(_) => Some("bounded"),
            Bound::JobTooLarge(_) | Bound::JobMemory(_) => Some("job too large"),
            Bound::Shard { bounded: false } => Some("shard holds"),
            Bound::Shard { bounded: true } => Some("shard bounded"),
            _ => None,
        }
    }

    /// For people.
    pub fn message(&self) -> String {
        match self {
            Bound::States(n) => {
                format!("there are more than {} states, which is the limit (--max-states)", count(*n))
            }
            Bound::Depth(n) => {
                format!("there are states at a depth of {}, where the search stops (--max-depth)", count(*n))
            }
            Bound::Memory(n) => {
                format!("the memory limit of {} is reached (--max-memory sets another)", bytes(*n))
            }
            Bound::Time(t) => format!("the time limit of {} is reached (--time-limit)", duration(*t)),
            Bound::Interrupted => "interrupted".to_owned(),
            Bound::Resumable(bound) => format!("{}; --resume continues", bound.message()),
            Bound::Unrolled(k) => format!(
                "nothing was found while cycles of the subsystem are closed at most {k} times (--unroll), and the \
                 subsystem could have gone on"
            ),
            Bound::JobTooLarge(TooLarge { traces, states, memory }) => format!(
                "nothing was found, but {} {} did not fit into the budget of a job, which gave up after {} \
                 and {}: --job-memory and --job-states allow more",
                big(traces),
                if *traces == BigUint::from(1u32) { "trace" } else { "traces" },
                counted(*states as usize, "state"),
                bytes(*memory)
            ),
            Bound::Repeats(Repeats { states, distinct }) => format!(
                "jobs have expanded {} states, {} times the {} or so that are different, and find hardly any new \
                 ones: larger jobs (--job-memory, --job-states) or slices (--jobs slice) do less; --work-limit N \
                 allows N times the work",
                count(*states),
                states / (*distinct).max(1),
                count(*distinct)
            ),
            Bound::JobMemory(n) => format!(
                "{} for a job is not enough for what cannot be divided any more: --job-memory allows more",
                bytes(*n)
            ),
            Bound::Shard { bounded } => format!(
                "nothing was found for these trace IDs{}; `gridlock merge` joins shards",
                if *bounded { ", and the subsystem could have gone on (--unroll)" } else { "" }
            ),
            Bound::Spill(why) => {
                format!("states cannot be spilled: {why} (--spill names another directory)")
            }
            Bound::Checkpoint(why) => format!("the checkpoint cannot be written: {why}; --resume continues"),
        }
    }

    /// Why the watch stopped the run, if it did.
    pub fn of(watch: &Watch) -> Option<Bound> {
        watch.stopped().map(|reason| match reason {
            watch::Reason::Interrupted => Bound::Interrupted,
            watch::Reason::Time(limit) => Bound::Time(limit),
            watch::Reason::Memory(limit) => Bound::Memory(limit),
        })
    }
}

/// What came out.
pub struct Outcome {
    /// The answer.
    pub conclusion: Conclusion,
    /// How much was searched.
    pub stats: Stats,
    /// The run that shows a violation or a fault.
    pub trace: Option<ShownTrace>,
    /// What a swarm did; only some of `stats` is known then.
    pub swarm: Option<Box<SwarmRun>>,
    /// What a search by slices did; the depth is not known then.
    pub slices: Option<Box<SliceRun>>,
}

impl Outcome {
    /// No answer.
    pub fn unknown(bound: Bound, stats: Stats) -> Self {
        Outcome { conclusion: Conclusion::Unknown(bound), stats, trace: None, swarm: None, slices: None }
    }
}

/// Searches a network, with compiled tables if they are complete.
pub fn search(
    system: System,
    properties: &Properties,
    arguments: &Arguments,
    watch: &Watch,
) -> Result<Outcome, Failure> {
    watch.begin("searching", "states");
    let cancel = AtomicBool::new(false);
    // Called by the search about every 100 ms.
    let progress = |stats: &Stats| {
        watch.count(stats.states as usize, stats.transitions as usize);
        watch.detail(format!(
            "{} waiting, {:.1} bytes/state",
            count(stats.frontier),
            per_state(stats.memory, stats)
        ));
        if watch.stopped().is_some() {
            cancel.store(true, Relaxed);
        }
    };
    let limit = arguments.limits.watched().memory.unwrap_or_else(default_limit);
    let options = Options {
        order: arguments.search.order(),
        workers: arguments.workers(),
        max_states: arguments.limits.max_states,
        max_depth: arguments.max_depth,
        // What specification and tables take is not for the search any more.
        max_memory: Some(limit.saturating_sub(resident().unwrap_or(0))),
        // The watch counts from the start of the program.
        time_limit: None,
        cancel: Some(&cancel),
        progress: Some(&progress),
    };
    let System { network, closed, builder } = system;
    let (report, network, source): (_, Network, Box<dyn TableSource>) = if closed {
        (search::check(&network, &properties.checked, &options), network, Box::new(builder))
    } else {
        let lazy = Lazy::new(network, Box::new(builder), &properties.checked).map_err(Failure::Input)?;
        let report = search::check_on_demand(&lazy, &options);
        let (network, source) = lazy.into_parts();
        (report, network, source)
    };
    let report = report.map_err(Failure::Input)?;
    let show = |trace| Some(ShownTrace::new(&network, &*source, &trace));
    let (conclusion, trace) = match report.verdict {
        Verdict::Holds => (Conclusion::Holds, None),
        Verdict::Violated { property, trace } => (Conclusion::Violated(property), show(trace)),
        Verdict::Faulty { message, trace } => (Conclusion::Faulty(message), show(trace)),
        Verdict::Unknown(reason) => {
            let bound = match reason {
                Reason::States(n) => Bound::States(n),
                Reason::Depth(n) => Bound::Depth(n),
                Reason::Memory(_) => Bound::Memory(limit),
                Reason::Time(limit) => Bound::Time(limit),
                Reason::Cancelled => Bound::of(watch).unwrap_or(Bound::Interrupted),
            };
            (Conclusion::Unknown(bound), None)
        }
    };
    Ok(Outcome { conclusion, stats: report.stats, trace, swarm: None, slices: None })
}

/// Bytes for each state.
pub fn per_state(memory: u64, stats: &Stats) -> f64 {
    memory as f64 / stats.states.max(1) as f64
}

/// The number of steps in words, for what is shown after them.
pub fn after(steps: usize) -> String {
    match steps {
        0 => "in the initial state".to_owned(),
        n => format!("after {}", counted(n, "step")),
    }
}
