//! The command-line flags of a hunt.

use crate::hunt::Kind;
use crate::method::quantities::{parse_bytes, parse_duration};
use crate::method::{Checkpoint, Patience};
use crate::traces::strategy::StrategyKind;
use clap::Args;
use gridlock_lts::base::error::{Error, Result};
use gridlock_worker::job::Order;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Whether something is done.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Share {
    On,
    Off,
}

/// A hunt: many cheap and very different searches.
#[derive(Args, Clone, Default, Debug)]
pub struct Hunting {
    /// The time for everything, e.g. 30s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_duration, help_heading = "Budget")]
    pub budget: Duration,

    /// The memory for all workers together, e.g. 500M or 2G [default: 80 % of what there is]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Budget")]
    pub memory: Option<u64>,

    /// The number of searches in all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Budget")]
    pub(super) max_jobs: Option<u64>,

    /// The number of states that all searches together may expand
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Budget")]
    pub(super) max_states: Option<u64>,

    /// End with the K-th different violation
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Budget")]
    pub(super) findings: u64,

    #[arg(long, value_name = "MEMBERS", value_delimiter = ',', value_parser = Kind::from_str, help_heading = "Search",
        help = portfolio_help())]
    pub(super) portfolio: Vec<Kind>,

    /// Beams keep states reached by steps that match the pattern, e.g. 'timeout(_)'; may be repeated
    #[arg(long, value_name = "PATTERN", help_heading = "Search")]
    pub(super) prefer: Vec<String>,

    /// Give all members the same number of turns, no matter what they find
    #[arg(long, help_heading = "Search")]
    pub(super) no_steering: bool,

    /// Whether searches of `prefix` tell each other which states they have expanded [default: on]
    #[arg(long, value_name = "on|off", value_enum, help_heading = "Search")]
    pub(super) share: Option<Share>,

    /// The source of all choices [default: another one each time; it is printed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 53), help_heading = "Search")]
    pub(super) seed: Option<u64>,

    /// For guided members: a process as `info` names it; several with commas or by repeating the option [default: auto]
    #[arg(long, value_name = "LEAF", help_heading = "Search")]
    pub(super) subsystem: Vec<String>,

    /// For guided members: close cycles of the subsystem at most K times
    #[arg(long, value_name = "K", help_heading = "Search")]
    pub(super) unroll: Option<u32>,

    /// What the states of one search may take [default: memory / workers, a power of two, at most 128 MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Search")]
    pub(super) job_memory: Option<u64>,

    /// Choose a search by the answers to all but the last N - 1 before it, which is work for at most N workers
    /// [default: 64; with more than 64 workers, twice their number or a little more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Search")]
    pub(super) window: Option<u64>,

    #[command(flatten, next_help_heading = "Search")]
    pub(super) patience: Patience,

    /// Do only the search that this file describes: one that a hunt wrote beside a counterexample
    #[arg(long, value_name = "FILE.json", help_heading = "Search", conflicts_with_all = [
        "max_jobs", "max_states", "portfolio", "prefer", "no_steering", "share", "seed", "subsystem", "unroll", "job_memory",
        "window", "checkpoint",
    ])]
    pub(super) repeat: Option<PathBuf>,

    /// The directory for findings, made when there is the first [default: gridlock-hunt; with --repeat none]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    #[command(flatten, next_help_heading = "Output")]
    pub(super) checkpoint: Checkpoint,
}

fn portfolio_help() -> String {
    let names: Vec<&str> = Kind::NAMED.iter().map(|kind| kind.name()).collect();
    let strategies: Vec<String> = StrategyKind::ALL.iter().map(|kind| format!(":{kind}")).collect();
    format!(
        "The ways to search, with commas between them: {}; guided ones also with {} [default: all that fit]",
        names.join(", "),
        strategies.join(", ")
    )
}

/// The description of a member, in a line for the help.
fn about(kind: Kind) -> &'static str {
    match kind {
        Kind::Guided(Order::BreadthFirst, _) => {
            "where one process follows the beginning of a trace of its own, breadth first"
        }
        Kind::Guided(Order::DepthFirst, _) => "the same along whole traces, depth first",
        Kind::DepthFirst => "depth first, in random order, remembering states exactly",
        Kind::Bitstate => "depth first, remembering three bits for each state, so that many more fit",
        Kind::Prefix => {
            "depth first within a bound, divided by prefixes of paths; proves that nothing is wrong within K steps"
        }
        Kind::Walk => "random walks from the initial state",
        Kind::WeightedWalk => "random walks, preferring what was done least often",
        Kind::Beam => "level by level with a bounded number of states, preferring --prefer",
        Kind::Highway => "level by level with a bounded number of states, chosen at random",
        Kind::Rare => "level by level with a bounded number of states, preferring what was done least often",
        Kind::Aimed => "level by level with a bounded number of states, towards steps that were not seen yet",
        Kind::Lasso => {
            "for formulas: depth first, in random order, for a run that goes round without what is asked for"
        }
        Kind::Trap => {
            "for formulas: random walks to where what is asked for is impossible, as all that follows shows"
        }
    }
}

/// The members, one a line, for the help.
pub fn members() -> String {
    let width = Kind::NAMED.iter().map(|kind| kind.name().len()).max().unwrap_or(0);
    Kind::NAMED.iter().map(|kind| format!("  {:<width$}  {}\n", kind.name(), about(*kind))).collect()
}

impl Hunting {
    /// The directory for findings; `None` if the search that is repeated has its findings saved already.
    pub(super) fn out(&self) -> Option<PathBuf> {
        let usual = || self.repeat.is_none().then(|| PathBuf::from("gridlock-hunt"));
        self.out.clone().or_else(usual)
    }

    /// Refuses flags that do not fit together, before any work is done.
    pub(super) fn check_flags(&self) -> Result<()> {
        let beam = self.portfolio.contains(&Kind::Beam);
        if beam && self.prefer.is_empty() {
            return Err(Error::input("--portfolio beam needs --prefer: a pattern of the steps to prefer"));
        }
        if !self.portfolio.is_empty() && !beam && !self.prefer.is_empty() {
            return Err(Error::input("--prefer is for beams, and --portfolio has none: add beam to it"));
        }
        let guided = self.portfolio.is_empty() || self.portfolio.iter().any(|kind| kind.is_guided());
        if !guided && (!self.subsystem.is_empty() || self.unroll.is_some()) {
            let flag = if self.subsystem.is_empty() { "--unroll" } else { "--subsystem" };
            return Err(Error::input(format_args!(
                "{flag} is for guided members, and --portfolio has none: add guided-bfs or guided-dfs to it"
            )));
        }
        let prefix = self.portfolio.is_empty() || self.portfolio.contains(&Kind::Prefix);
        if self.share.is_some() && !prefix {
            return Err(Error::input("--share is for prefix, and --portfolio has none: add prefix to it"));
        }
        if (1..self.portfolio.len()).any(|k| self.portfolio[..k].contains(&self.portfolio[k])) {
            return Err(Error::input("--portfolio has a member twice"));
        }
        if self.job_memory.is_some_and(|memory| memory < 1 << 16) {
            return Err(Error::input("--job-memory must be at least 64K"));
        }
        if let Some(out) = self.out().filter(|out| out.exists() && !out.is_dir()) {
            return Err(Error::input(format_args!(
                "--out needs a directory, and {} is a file",
                out.display()
            )));
        }
        self.checkpoint.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_forgets_no_member() {
        let (list, flag) = (members(), portfolio_help());
        for kind in Kind::NAMED {
            assert!(list.contains(&format!("  {} ", kind.name())), "{kind} in {list}");
            assert!(flag.contains(kind.name()), "{kind} in {flag}");
        }
    }
}
