//! Options that several commands share: limits of a run, and how tables are filled.
//!
//! Commands and the road use them, and the list of all commands ([`arguments`](crate::arguments)) uses the commands, so they
//! stand apart from it.

use crate::quantities::{parse_bytes, parse_duration};
use crate::watch;
use clap::{Args, ValueEnum};
use gridlock_lang::system::{Options, Tables};
use gridlock_lts::base::memory::default_limit;
use gridlock_manager::grid::transport::launch::launched;
use std::time::Duration;

/// Bounds on what a run may spend; reaching one ends it with exit code 3 and without output.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub struct LimitFlags {
    /// Stop with `unknown` when there are more states than this
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_states: Option<u64>,

    #[command(flatten)]
    resources: Resources,
}

impl LimitFlags {
    /// The most states that may be found.
    pub fn states(&self) -> usize {
        self.max_states.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// The limits of the run.
    pub fn watched(&self) -> watch::Limits {
        self.resources.watched()
    }

    /// Bytes that it may use.
    pub fn memory(&self) -> u64 {
        self.resources.memory()
    }
}

/// Bounds on memory and time.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub struct Resources {
    /// Stop with `unknown` when more memory is in use than this, e.g. 500M or 2G [default: 80 % of what there is]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    max_memory: Option<u64>,

    /// Stop with `unknown` after this time, e.g. 30s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    time_limit: Option<Duration>,
}

impl Resources {
    /// The limits of the run.
    pub fn watched(&self) -> watch::Limits {
        watch::Limits { memory: Some(self.memory()), time: self.time_limit }
    }

    /// Bytes that it may use.
    pub fn memory(&self) -> u64 {
        self.max_memory.unwrap_or_else(share_of_memory)
    }
}

/// The memory of the machine, divided by the processes that share it.
pub fn share_of_memory() -> u64 {
    default_limit() / launched().map_or(1, |launch| launch.here)
}

/// When the local states of the processes are worked out.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableMode {
    /// The way that is likely to be fastest
    Auto,
    /// Before the search, for each process; on demand if that does not end
    Ahead,
    /// During the search, when a local state is first reached
    OnDemand,
}

/// How the tables of the processes are filled. The result is the same.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Tables of the processes (these change the speed, not the result)")]
pub struct TableArguments {
    /// When to compute the local states of each process [default: auto, in `sim` on-demand]
    #[arg(long, value_name = "WHEN", value_enum)]
    tables: Option<TableMode>,

    /// The most local states to compute before the search begins
    #[arg(long, value_name = "N", default_value_t = Options::default().table_limit)]
    pub table_limit: usize,

    /// The most equations to apply for one data expression; an evaluation that does not terminate ends here
    #[arg(long, value_name = "N", default_value_t = Options::default().step_limit)]
    step_limit: u64,
}

impl TableArguments {
    /// The same options, for another command line.
    pub fn arguments(&self) -> Vec<String> {
        let usual = Options::default();
        let mut all = Vec::new();
        let mut more = |name: &str, value: String| all.extend([name.to_owned(), value]);
        if let Some(when) = self.tables.and_then(|mode| mode.to_possible_value()) {
            more("--tables", when.get_name().to_owned());
        }
        if self.table_limit != usual.table_limit {
            more("--table-limit", self.table_limit.to_string());
        }
        if self.step_limit != usual.step_limit {
            more("--step-limit", self.step_limit.to_string());
        }
        all
    }

    /// The same for the library.
    pub fn options(&self, default: TableMode) -> Options {
        let tables = match self.tables.unwrap_or(default) {
            TableMode::Auto => Tables::Auto,
            TableMode::Ahead => Tables::AheadOfTime,
            TableMode::OnDemand => Tables::OnDemand,
        };
        Options { step_limit: self.step_limit, table_limit: self.table_limit, tables, ..Options::default() }
    }
}
