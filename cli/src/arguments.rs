//! What the user can write on the command line: the commands, and the options that several of them share.

use crate::commands::Command;
use crate::outcome::EXIT_CODES;
use crate::quantities::{parse_bytes, parse_duration};
use crate::watch;
use clap::{Args, Parser, ValueEnum};
use gridlock_lang::system::{Options, Tables};
use gridlock_lts::memory::default_limit;
use gridlock_manager::transport::launch::launched;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// A model checker for specifications in mCRL2's language.
///
/// A specification describes processes that run side by side. Gridlock works out everything they can do together: the
/// labelled transition system (LTS), whose states are what the processes can be in and whose transitions carry the
/// actions.
#[derive(Parser, Debug)]
#[command(name = "gridlock", version = version(), after_help = EXIT_CODES, after_long_help = after_help())]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Arguments {
    /// Tell nothing on standard error but errors: no progress, no summary
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Keep a log in this directory, a file for each process; the variable RUST_LOG says how much [default: info]
    #[arg(long, global = true, value_name = "DIR")]
    pub log_dir: Option<PathBuf>,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

fn after_help() -> String {
    format!(
        "Examples:\n  \
         gridlock check abp.mcrl2               whether it can get stuck\n  \
         gridlock info abp.mcrl2                what the specification is made of\n  \
         gridlock lts abp.mcrl2 -o abp.aut      everything it can do, as a file\n  \
         gridlock sim abp.mcrl2                 step through it by hand\n  \
         gridlock compare abp.mcrl2 spec.mcrl2 --equivalence branching\n  \
         gridlock check big.mcrl2 --search isv --subsystem auto\n  \
         gridlock hunt huge.mcrl2 --budget 10m  look for bugs where there is too much to verify\n\n\
         {EXIT_CODES}\n\n\
         Results go to standard output, everything else to standard error. Colours are used on a terminal only, and \
         not if NO_COLOR is set."
    )
}

/// Version, build profile and what was built in.
fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        format!(
            "{} ({profile} build, {arch} {os}, {})",
            env!("CARGO_PKG_VERSION"),
            if cfg!(feature = "mpi") { "with MPI" } else { "without MPI" }
        )
    })
}

/// Bounds on what a run may spend; reaching one ends it with exit code 3 and without output.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Stop with `unknown` when there are more states than this
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_states: Option<u64>,

    #[command(flatten)]
    resources: Resources,
}

impl Limits {
    /// The most states that may be found.
    pub fn states(&self) -> usize {
        self.max_states.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// What the run may spend.
    pub fn watched(&self) -> watch::Limits {
        self.resources.watched()
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
    /// What the run may spend.
    pub fn watched(&self) -> watch::Limits {
        watch::Limits { memory: Some(self.max_memory.unwrap_or_else(share_of_memory)), time: self.time_limit }
    }
}

/// What there is, divided by the processes that share the machine.
pub fn share_of_memory() -> u64 {
    default_limit() / launched().map_or(1, |launch| launch.here)
}

/// When the local states of the processes are worked out.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableMode {
    /// Whatever is likely to be fastest
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
    /// When the local states of each process are worked out [default: auto, in `sim` on-demand]
    #[arg(long, value_name = "WHEN", value_enum)]
    tables: Option<TableMode>,

    /// The most local states that are worked out before the search begins
    #[arg(long, value_name = "N", default_value_t = Options::default().table_limit)]
    pub table_limit: usize,

    /// How many equations may be applied to evaluate one data expression; one that does not terminate ends here
    #[arg(long, value_name = "N", default_value_t = Options::default().step_limit)]
    step_limit: u64,
}

impl TableArguments {
    /// The options that say the same, for another command line.
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
