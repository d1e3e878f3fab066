//! The command-line flags of informed swarms: along traces, and by slices.

use super::ids::{Ids, Share};
use crate::method::quantities::parse_bytes;
use crate::method::then::{Onward, Then};
use crate::method::{Checkpoint, Entry, Patience, slices::Slices};
use crate::traces::strategy::StrategyKind;
use crate::traces::swarm::{Granularity, Pace};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use gridlock_lts::base::error::{Error, Result};
use gridlock_worker::job::Order;
use serde::Serialize;
use std::path::PathBuf;
use std::str::FromStr;

/// The flags that traces and slices share.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Informed swarm (with --search isv)")]
#[allow(missing_docs)]
pub struct Informed {
    /// A process as `info` names it; may be repeated, or several with commas between them; `auto` chooses and says why
    /// [default for slices: auto]
    #[arg(long, value_name = "LEAF")]
    pub subsystem: Vec<String>,

    /// What a job is [default: slice; prefix if an option is given that only traces have]
    #[arg(long, value_name = "SIZE", value_enum)]
    pub jobs: Option<Jobs>,

    /// What the states of one job may take [default: max-memory / workers, a power of two, at most 1 GiB; for slices
    /// 64 MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub job_memory: Option<u64>,

    #[command(flatten)]
    pub checkpoint: Checkpoint,

    #[command(flatten)]
    pub patience: Patience,

    /// Write a page about the swarm: slices, or trace IDs, workers and largest jobs; the counterexample
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

/// What a job is.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jobs {
    /// The states in which the subsystem stands at one place, each expanded once
    Slice,
    /// One trace of the subsystem
    Trace,
    /// All traces with one prefix; prefixes are as short as the limits of a job allow
    Prefix,
}

/// The value of `--subsystem` that leaves the choice to the program.
const AUTO: &str = "auto";

impl Informed {
    /// Refuses flags that do not fit together.
    pub fn check(&self) -> Result<()> {
        if self.is_auto() && self.subsystem.len() > 1 {
            return Err(Error::input("--subsystem auto chooses by itself: leave the other ones out"));
        }
        if self.job_memory == Some(0) {
            return Err(Error::input("--job-memory 0 leaves no room for a state"));
        }
        self.checkpoint.check()
    }

    /// Whether the program is to choose the subsystem.
    pub fn is_auto(&self) -> bool {
        self.subsystem.is_empty() || self.subsystem.iter().any(|name| name.trim() == AUTO)
    }
}

/// An informed swarm along the traces of a subsystem.
#[derive(Args, Clone, Default, Debug)]
#[command(next_help_heading = "Informed swarm along traces (with --search isv)")]
pub struct Traces {
    #[command(flatten)]
    pub(super) informed: Informed,

    /// Bound a cyclic subsystem: go round at most K times in each of its cyclic parts
    #[arg(long, value_name = "K")]
    pub(super) unroll: Option<u32>,

    /// The most states that one job may visit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) job_states: Option<u64>,

    /// Prefixes: search each job with N threads that share its states, so that the memory of a machine serves one job;
    /// --workers W is then the number of jobs at a time [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) job_workers: Option<u16>,

    /// Prefixes: leave it when jobs have expanded N times as many states as there are different ones [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) work_limit: Option<u64>,

    /// Prefixes: what to do beyond --work-limit [default: slice; stop with --ids or --shard]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(super) beyond: Option<Beyond>,

    /// Prefixes: whether a job hands on the states that it leaves, so that none is expanded twice, or is done again in
    /// parts if it is too large [default: on; off with --strategy, --iss dfs, --ids or --shard]
    #[arg(long, value_name = "SWITCH", value_enum)]
    pub(super) borders: Option<Borders>,

    /// Traces of several processes: one search for each class of traces that differ only in the order of independent moves
    /// (no process takes part in both), or for each trace [default: one; all for prefixes, if cycles are bounded, and with
    /// --strategy, --iss dfs, --ids or --shard]
    #[arg(long, value_name = "WHICH", value_enum)]
    pub(super) orders: Option<Which>,

    /// Leave out what cannot lead to a violation any more, as the processes' tables and the properties show: traces before
    /// the first job, states within jobs [default: off]
    #[arg(long, value_name = "SWITCH", value_enum)]
    pub(super) directed: Option<Directed>,

    /// Which trace is next: `even` spreads over what remains [default: even]
    #[arg(long, value_name = "HOW", value_parser = strategies())]
    pub(super) strategy: Option<StrategyKind>,

    /// The seed of --strategy random [default: 0]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,

    /// The order in which a job visits states [default: bfs]
    #[arg(long, value_name = "ORDER", value_enum)]
    pub(super) iss: Option<Iss>,

    /// Choose a job by the answers to all but the last N - 1 before it, which is work for at most N workers
    /// [default: 64; with more than 64 workers, twice their number or a little more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "simulate_workers")]
    pub(super) window: Option<u64>,

    /// Look at answers only after every N jobs, as a swarm of N workers in step would
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) simulate_workers: Option<u64>,

    /// Do only these trace IDs, the last one not included: a shard, for `gridlock merge`
    #[arg(long, value_name = "A..B", value_parser = Ids::from_str)]
    pub(super) ids: Option<Ids>,

    /// Do only the I-th of N equal parts of the trace IDs, counted from 0: a shard, for `gridlock merge`
    #[arg(long, value_name = "I/N", value_parser = Share::from_str, conflicts_with = "ids")]
    pub(super) shard: Option<Share>,

    /// The size of the state space, if it is known, to compare the work with
    #[arg(long, value_name = "N", conflicts_with = "compare_bfs", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) states: Option<u64>,

    /// Search exhaustively as well: compare the work, and check that the verdicts agree
    #[arg(long)]
    pub(super) compare_bfs: bool,
}

/// The strategies by name.
fn strategies() -> impl TypedValueParser<Value = StrategyKind> {
    PossibleValuesParser::new(StrategyKind::ALL.map(StrategyKind::name))
        .try_map(|name| StrategyKind::from_str(&name))
}

/// What follows jobs that do the same work again and again.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// A search by slices, which expands each state once, decides
    Slice,
    /// Nothing: the answer is `unknown`
    Stop,
}

/// Whether jobs hand on what they leave.
#[derive(ValueEnum, Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Borders {
    /// Hand them on while the states that wait take at most twice the memory of a job
    On,
    /// Begin each job in the initial state
    Off,
}

/// Which orders of independent moves have a search of their own.
#[derive(ValueEnum, Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// One of each class; its search follows them all
    One,
    /// Each
    All,
}

/// Whether what cannot lead to a violation is left out.
#[derive(ValueEnum, Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Directed {
    /// It is left out
    On,
    /// Everything is searched
    Off,
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

/// The first flag that was given and that only traces have.
pub fn about_traces(given: &[String]) -> Option<&str> {
    let (traces, slices) = (Entry::of::<Traces>().flags(), Entry::of::<Slices>().flags());
    given.iter().find(|flag| traces.contains(flag) && !slices.contains(flag)).map(String::as_str)
}

impl Traces {
    /// Refuses flags that do not fit together.
    pub(super) fn check_flags(&self, given: &[String]) -> Result<()> {
        if self.informed.subsystem.is_empty() {
            let about = match about_traces(given) {
                Some(flag) if self.informed.jobs.is_none() => format!(" ({flag} is about traces)"),
                _ => String::new(),
            };
            return Err(Error::input(format_args!(
                "a swarm over traces{about} needs --subsystem: a process that `gridlock info` shows, or auto"
            )));
        }
        self.informed.check()?;
        if self.seed.is_some() && self.strategy() != StrategyKind::Random {
            return Err(Error::input("--seed belongs to --strategy random"));
        }
        if let (Some(_), Some(other)) = (self.job_workers, self.against_job_workers()) {
            return Err(Error::input(format_args!("--job-workers does not go with {other}")));
        }
        if self.beyond == Some(Beyond::Slice) && self.is_shard() {
            return Err(Error::input(
                "--beyond slice does not go with --ids or --shard: slices are about the whole system",
            ));
        }
        if let (Some(Borders::On), Some(other)) = (self.borders, self.against_borders()) {
            return Err(Error::input(format_args!(
                "--borders on does not go with {other}: jobs that hand on their states do not follow single traces"
            )));
        }
        if let (Some(Which::One), Some(other)) = (self.orders, self.against_one_order()) {
            return Err(Error::input(format_args!("--orders one does not go with {other}")));
        }
        Ok(())
    }

    /// Why several threads cannot search one job, and what to do instead.
    fn against_job_workers(&self) -> Option<&'static str> {
        [
            (
                self.granularity() == Granularity::Trace,
                "--jobs trace: what lies along one trace is little, and more jobs at a time take more cores (--workers); \
                 or use --jobs prefix",
            ),
            (
                self.iss() == Iss::Dfs,
                "--iss dfs: depth first takes one state after the other, and more jobs at a time take more cores (--workers)",
            ),
        ]
        .into_iter()
        .find_map(|(given, why)| given.then_some(why))
    }

    /// Threads for each job.
    pub(super) fn job_workers(&self) -> usize {
        self.job_workers.map_or(1, usize::from)
    }

    /// Why jobs cannot follow a class of traces in all orders.
    fn against_one_order(&self) -> Option<&'static str> {
        let chosen = |strategy| matches!(strategy, StrategyKind::Even | StrategyKind::Different);
        [
            (
                self.granularity() == Granularity::Prefix,
                "--jobs prefix: such jobs hand on their states, so the order of moves multiplies nothing (--jobs trace)",
            ),
            (
                self.strategy.is_some_and(chosen),
                "--strategy even or different, which choose among IDs: jobs are made for what was seen to be possible",
            ),
            (self.iss() == Iss::Dfs, "--iss dfs: all orders are followed at a time"),
            (self.ids.is_some(), "--ids: whether a class has to be searched depends on all others"),
            (self.shard.is_some(), "--shard: whether a class has to be searched depends on all others"),
        ]
        .into_iter()
        .find_map(|(given, why)| given.then_some(why))
    }

    /// Whether a job is a class of traces of a subsystem with this many processes, in all of their orders.
    pub(super) fn one_order(&self, leaves: usize) -> bool {
        let usual = leaves > 1 && self.strategy.is_none() && self.against_one_order().is_none();
        self.orders.map_or(usual, |which| which == Which::One)
    }

    /// Whether the user asks for that; then it is an error if it is not possible.
    pub(super) fn wants_one_order(&self) -> bool {
        self.orders == Some(Which::One)
    }

    /// Why jobs cannot hand on their states.
    fn against_borders(&self) -> Option<&'static str> {
        [
            (self.granularity() == Granularity::Trace, "--jobs trace"),
            (self.strategy.is_some(), "--strategy"),
            (self.iss() == Iss::Dfs, "--iss dfs"),
            (self.ids.is_some(), "--ids"),
            (self.shard.is_some(), "--shard"),
        ]
        .into_iter()
        .find_map(|(given, flag)| given.then_some(flag))
    }

    /// Whether jobs hand on the states that they leave.
    pub(super) fn borders(&self) -> bool {
        self.borders != Some(Borders::Off) && self.against_borders().is_none()
    }

    fn is_shard(&self) -> bool {
        self.ids.is_some() || self.shard.is_some()
    }

    /// The search that decides if jobs do the same work again and again.
    pub(super) fn onward(&self) -> Onward {
        let beyond = self.beyond.unwrap_or(if self.is_shard() { Beyond::Stop } else { Beyond::Slice });
        Onward { then: if beyond == Beyond::Slice { Then::Slice } else { Then::None } }
    }

    /// Whether states that cannot lead to a violation are left out.
    pub(super) fn directed(&self) -> bool {
        self.directed == Some(Directed::On)
    }

    /// How much of the ID space is one job.
    pub(super) fn granularity(&self) -> Granularity {
        match self.informed.jobs {
            Some(Jobs::Trace) => Granularity::Trace,
            Some(Jobs::Prefix) => Granularity::Prefix,
            Some(Jobs::Slice) | None => Granularity::default(),
        }
    }

    /// How IDs are chosen.
    pub(super) fn strategy(&self) -> StrategyKind {
        self.strategy.unwrap_or_default()
    }

    /// In which order a job visits states.
    pub(super) fn iss(&self) -> Iss {
        self.iss.unwrap_or(Iss::Bfs)
    }

    /// Which answers a job is based on, if the user gave that.
    pub(super) fn pace(&self) -> Option<Pace> {
        self.simulate_workers.map(Pace::Batch).or(self.window.map(Pace::Window))
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

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Iss::Bfs => "bfs",
            Iss::Dfs => "dfs",
        }
    }
}
