//! How a swarm is run.

use crate::grid::machine::WINDOW;
use crate::traces::strategy::StrategyKind;
use gridlock_lts::guide::{Orders, Relevance};
use gridlock_worker::job::{JobLimits, Order};
use num_bigint::BigUint;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

/// How much of the ID space is one job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Granularity {
    /// One trace.
    Trace,
    /// All traces with a prefix, as short a one as the limits of jobs allow.
    #[default]
    Prefix,
}

impl fmt::Display for Granularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Granularity::Trace => "trace",
            Granularity::Prefix => "prefix",
        })
    }
}

impl FromStr for Granularity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "trace" => Ok(Granularity::Trace),
            "prefix" => Ok(Granularity::Prefix),
            _ => Err(format!("there is no granularity '{text}'; choose trace or prefix")),
        }
    }
}

/// Which feedback a job is based on. The rule, not the order of arrival, decides it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Job n is based on the feedback to the jobs up to n - W, or, if no job could be made then, on the least further
    /// feedback, job by job, after which one can be made.
    Window(u64),
    /// N jobs are based on the feedback to all jobs before them; fewer only if no more jobs can be made.
    Batch(u64),
}

impl Pace {
    /// The largest number of jobs in work.
    pub fn width(self) -> u64 {
        let (Pace::Window(width) | Pace::Batch(width)) = self;
        width.max(1)
    }

    /// How much feedback must be processed before job `made` is made; for the last job it was `due`.
    pub(super) fn due(self, due: u64, made: u64) -> u64 {
        match self {
            Pace::Window(_) => due.max((made + 1).saturating_sub(self.width())),
            Pace::Batch(_) if made - due >= self.width() => made,
            Pace::Batch(_) => due,
        }
    }

    /// The same after no job could be made.
    pub(super) fn due_when_stalled(self, processed: u64, made: u64) -> u64 {
        match self {
            Pace::Window(_) => processed + 1,
            Pace::Batch(_) => made,
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Pace::Window(WINDOW)
    }
}

/// How a swarm is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// How much of the ID space is one job.
    pub granularity: Granularity,
    /// How IDs are chosen.
    pub strategy: StrategyKind,
    /// The seed of random choices.
    pub seed: u64,
    /// The limits of a job.
    pub limits: JobLimits,
    /// In which order a job visits states.
    pub order: Order,
    /// Which feedback a job is based on.
    pub pace: Pace,
    /// Only these trace IDs are to be done; `None` means all.
    pub shard: Option<Range<BigUint>>,
    /// The greatest number of states of a finer guide, made when a trace is too large for a job.
    pub guide_states: usize,
    /// Jobs of prefixes stop when they have expanded this many times as many states as there are different ones, and hardly
    /// find new ones any more; `None`: never.
    pub work_limit: Option<u64>,
    /// Whether prefix jobs hand on the states that they leave, instead of being done again in parts.
    pub borders: bool,
    /// Bytes that states may take which were handed on and wait; beyond, jobs hand on nothing. The facts about classes may
    /// take as many; beyond, jobs are single traces.
    pub border_memory: u64,
    /// The classes, if a job is to be a class of traces, followed in any order. Only for jobs that are one trace, breadth
    /// first, and all IDs.
    pub orders: Option<Arc<Orders>>,
    /// States that need not be searched because no violation can follow; `None`: all states are searched.
    pub relevance: Option<Arc<Relevance>>,
    /// Threads for each job. No job and no answer depends on them.
    pub job_workers: usize,
    /// Whether events are recorded.
    pub record: bool,
}

impl Config {
    /// Whether jobs of a swarm with this configuration hand on the states that they leave. There is no choice of the next
    /// trace then, so this cannot be combined with a strategy, nor with a part of the IDs.
    pub(super) fn hands_on(&self) -> bool {
        self.borders
            && self.granularity == Granularity::Prefix
            && self.order == Order::BreadthFirst
            && self.shard.is_none()
    }

    /// The usual choices with some limits of jobs.
    pub fn new(limits: JobLimits) -> Self {
        Config {
            granularity: Granularity::default(),
            strategy: StrategyKind::default(),
            seed: 0,
            limits,
            order: Order::BreadthFirst,
            pace: Pace::default(),
            shard: None,
            guide_states: 1 << 20,
            work_limit: None,
            borders: false,
            border_memory: 1 << 30,
            orders: None,
            relevance: None,
            job_workers: 1,
            record: false,
        }
    }
}
