//! What can be said on the command line about an informed swarm.
//!
//! Invariant: everything here is refused with another search, so that no flag is ignored.

use crate::arguments::Patience;
use crate::outcome::Failure;
use crate::quantities::parse_bytes;
use crate::swarm::checkpoint;
use crate::swarm::ids::{Ids, Share};
use crate::swarm::numbers::Identity;
use clap::{Args, ValueEnum};
use gridlock_manager::traces::strategy::StrategyKind;
use gridlock_manager::traces::swarm::{Granularity, Pace};
use gridlock_worker::job::Order;
use serde::Serialize;
use std::path::PathBuf;
use std::str::FromStr;

/// How an informed swarm is run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Informed swarm (with --search isv)")]
pub struct SwarmArguments {
    /// A process as `info` names it; may be repeated, or several with commas between them; `auto` chooses and says why
    /// [default for slices: auto]
    #[arg(long, value_name = "LEAF")]
    pub subsystem: Vec<String>,

    /// Bound a cyclic subsystem: close cycles at most K times in each part in which it can go round
    #[arg(long, value_name = "K")]
    pub unroll: Option<u32>,

    /// What a job is: a `slice`, the states in which the subsystem stands at one place, each expanded once; a `trace`; or
    /// all traces with a `prefix` that is as short as the limits of jobs allow [default: slice; prefix if an option is
    /// given that is about traces: --unroll, --job-states, --strategy, --seed, --iss, --window, --simulate-workers,
    /// --ids, --shard, --states or --compare-bfs]
    #[arg(long, value_name = "SIZE", value_parser = Jobs::from_str)]
    pub jobs: Option<Jobs>,

    /// What the states of one job may take [default: max-memory / workers, a power of two, at most 1 GiB; for slices
    /// 64 MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub job_memory: Option<u64>,

    /// For slices: where states go that do not fit into --max-memory [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub spill: Option<PathBuf>,

    /// The most states that one job may visit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub job_states: Option<u64>,

    /// Prefixes: stop when jobs have expanded N times as many states as there are different ones [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub work_limit: Option<u64>,

    /// Which trace is next: `even` (spread over what remains), `order`, `random` or `different` [default: even]
    #[arg(long, value_name = "HOW", value_parser = StrategyKind::from_str)]
    pub strategy: Option<StrategyKind>,

    /// For --strategy random: another seed, other choices [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// The order in which a job visits states [default: bfs]
    #[arg(long, value_name = "ORDER", value_enum)]
    pub iss: Option<Iss>,

    /// Choose a job by the answers to all but the last N - 1 before it; more workers than that have nothing to do
    /// [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "simulate_workers")]
    pub window: Option<u64>,

    /// Look at answers only after every N jobs, as a swarm of N workers in step would
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub simulate_workers: Option<u64>,

    /// Do only these trace IDs, the last one not included: a shard, for `gridlock merge`
    #[arg(long, value_name = "A..B", value_parser = Ids::from_str)]
    pub ids: Option<Ids>,

    /// Do only the I-th of N equal parts of the trace IDs, counted from 0: a shard, for `gridlock merge`
    #[arg(long, value_name = "I/N", value_parser = Share::from_str, conflicts_with = "ids")]
    pub shard: Option<Share>,

    /// Keep every answer in this directory, so that the run can be resumed whatever happens
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,

    /// Continue what is in the checkpoint, if there is something
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,

    #[command(flatten)]
    pub patience: Patience,

    /// The size of the state space, if it is known, to compare the work with
    #[arg(long, value_name = "N", conflicts_with = "compare_bfs", value_parser = clap::value_parser!(u64).range(1..))]
    pub states: Option<u64>,

    /// Search exhaustively as well: compare the work, and check that the verdicts agree
    #[arg(long)]
    pub compare_bfs: bool,

    /// Write a page about the swarm: slices, or trace IDs, workers and largest jobs; the counterexample
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

/// The order in which a guided search visits states.
#[derive(ValueEnum, Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Iss {
    /// Position by position, each breadth first; states of earlier positions are forgotten
    Bfs,
    /// Along the trace first, for hunting
    Dfs,
}

/// What a job is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jobs {
    /// Some traces of the subsystem.
    Traces(Granularity),
    /// A slice.
    Slice,
}

impl FromStr for Jobs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "slice" {
            return Ok(Jobs::Slice);
        }
        text.parse()
            .map(Jobs::Traces)
            .map_err(|_| format!("there is no `{text}`: choose trace, prefix or slice"))
    }
}

/// Flags that make no sense for slices.
const ABOUT_TRACES: [&str; 12] = [
    "--unroll",
    "--job-states",
    "--work-limit",
    "--strategy",
    "--seed",
    "--iss",
    "--window",
    "--simulate-workers",
    "--ids",
    "--shard",
    "--states",
    "--compare-bfs",
];

/// What `--subsystem` says to leave the choice to the program.
const AUTO: &str = "auto";

impl SwarmArguments {
    /// Says no to what does not fit together. `isv`: whether a swarm is asked for.
    pub fn check(&self, isv: bool) -> Result<(), Failure> {
        if !isv {
            return match self.given() {
                Some(flag) => Err(Failure::input(format_args!("{flag} belongs to --search isv"))),
                None => Ok(()),
            };
        }
        if self.subsystem.is_empty() && !self.is_slice() {
            let about = match self.about_traces() {
                Some(flag) if self.jobs.is_none() => format!(" ({flag} is about traces)"),
                _ => String::new(),
            };
            return Err(Failure::input(format_args!(
                "a swarm over traces{about} needs --subsystem: a process that `gridlock info` shows, or auto"
            )));
        }
        if self.is_auto() && self.subsystem.len() > 1 {
            return Err(Failure::input("--subsystem auto chooses by itself: leave the other ones out"));
        }
        if self.job_memory == Some(0) {
            return Err(Failure::input("--job-memory 0 leaves no room for a state"));
        }
        if self.checkpoint.as_ref().is_some_and(|dir| dir.exists() && !dir.is_dir()) {
            return Err(Failure::input("--checkpoint needs a directory, and there is a file of that name"));
        }
        if self.is_slice() {
            return self.check_slice();
        }
        if self.spill.is_some() {
            return Err(Failure::input("--spill belongs to --jobs slice"));
        }
        if self.seed.is_some() && self.strategy() != StrategyKind::Random {
            return Err(Failure::input("--seed belongs to --strategy random"));
        }
        Ok(())
    }

    /// Says no to what is for traces only.
    fn check_slice(&self) -> Result<(), Failure> {
        if let Some(flag) = self.about_traces() {
            return Err(Failure::input(format_args!("{flag} does not belong to --jobs slice")));
        }
        if self.spill.as_ref().is_some_and(|dir| !dir.is_dir()) {
            return Err(Failure::input("--spill needs a directory that is there"));
        }
        Ok(())
    }

    /// Whether the search is by slices: if that is said, or if nothing is said that is about traces.
    pub fn is_slice(&self) -> bool {
        self.jobs.map_or(self.about_traces().is_none(), |jobs| jobs == Jobs::Slice)
    }

    /// The first flag that was given and makes no sense for slices.
    fn about_traces(&self) -> Option<&'static str> {
        self.all_given().into_iter().find(|flag| ABOUT_TRACES.contains(flag))
    }

    /// What the run in the checkpoint is, if there is one to be resumed.
    pub fn recorded(&self) -> Option<Identity> {
        checkpoint::identity(self.checkpoint.as_ref().filter(|_| self.resume)?).ok()
    }

    /// How much of the ID space is one job.
    pub fn granularity(&self) -> Granularity {
        match self.jobs {
            Some(Jobs::Traces(granularity)) => granularity,
            Some(Jobs::Slice) | None => Granularity::default(),
        }
    }

    /// The first flag that was given.
    fn given(&self) -> Option<&'static str> {
        self.all_given().first().copied()
    }

    fn all_given(&self) -> Vec<&'static str> {
        let flags = [
            (!self.subsystem.is_empty(), "--subsystem"),
            (self.spill.is_some(), "--spill"),
            (self.unroll.is_some(), "--unroll"),
            (self.jobs.is_some(), "--jobs"),
            (self.job_memory.is_some(), "--job-memory"),
            (self.job_states.is_some(), "--job-states"),
            (self.work_limit.is_some(), "--work-limit"),
            (self.strategy.is_some(), "--strategy"),
            (self.seed.is_some(), "--seed"),
            (self.iss.is_some(), "--iss"),
            (self.window.is_some(), "--window"),
            (self.simulate_workers.is_some(), "--simulate-workers"),
            (self.ids.is_some(), "--ids"),
            (self.shard.is_some(), "--shard"),
            (self.checkpoint.is_some(), "--checkpoint"),
            (self.resume, "--resume"),
            (self.patience.is_given(), "--stuck-after"),
            (self.states.is_some(), "--states"),
            (self.compare_bfs, "--compare-bfs"),
            (self.report.is_some(), "--report"),
        ];
        flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag).collect()
    }

    /// Whether the program is to choose the subsystem.
    pub fn is_auto(&self) -> bool {
        self.subsystem.is_empty() || self.subsystem.iter().any(|name| name.trim() == AUTO)
    }

    /// How IDs are chosen.
    pub fn strategy(&self) -> StrategyKind {
        self.strategy.unwrap_or_default()
    }

    /// In which order a job visits states.
    pub fn iss(&self) -> Iss {
        self.iss.unwrap_or(Iss::Bfs)
    }

    /// Which answers a job is based on.
    pub fn pace(&self) -> Pace {
        match (self.simulate_workers, self.window) {
            (Some(workers), _) => Pace::Batch(workers),
            (None, Some(window)) => Pace::Window(window),
            (None, None) => Pace::default(),
        }
    }
}

impl Iss {
    /// The same for the worker.
    pub fn order(self) -> Order {
        match self {
            Iss::Bfs => Order::BreadthFirst,
            Iss::Dfs => Order::DepthFirst,
        }
    }

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Iss::Bfs => "bfs",
            Iss::Dfs => "dfs",
        }
    }
}
