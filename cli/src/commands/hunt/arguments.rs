//! What can be said on the command line about a hunt.

use super::super::check::properties::Wanted;
use crate::arguments::{Patience, TableArguments, share_of_memory};
use crate::outcome::Failure;
use crate::output::check_place;
use crate::quantities::{parse_bytes, parse_duration};
use crate::watch::Limits;
use clap::Args;
use gridlock_manager::grid::transport::launch::launched;
use gridlock_manager::hunt::Kind;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

const HELP: &str = "\
Examples:
  gridlock hunt huge.mcrl2                                  a minute, until the first deadlock
  gridlock hunt huge.mcrl2 --never 'error(_)' --budget 10m --memory 4G
  gridlock hunt huge.mcrl2 --findings 10 --out bugs         ten different ones, into bugs/
  gridlock hunt huge.mcrl2 --portfolio walk,bitstate --no-steering
  gridlock hunt huge.mcrl2 --prefer 'timeout(_)'            beams prefer these steps
  gridlock hunt huge.mcrl2 --seed 7 --max-jobs 500          the same findings on every machine
  mpirun -n 33 gridlock hunt huge.mcrl2 --budget 2h --checkpoint run --resume

Ways to search (--portfolio):
  guided-bfs     where one process follows the beginning of a trace of its own, breadth first
  guided-dfs     the same along whole traces, depth first
  dfs            depth first, in random order, remembering states exactly
  bitstate       the same, remembering three bits for each state, so that many more fit
  walk           random walks from the initial state
  weighted-walk  the same, preferring what was done least often
  beam           level by level with a bounded number of states, preferring --prefer
  highway        the same, states chosen at random
  rare           the same, preferring what was done least often

A hunt looks for violations with many cheap and very different searches. It never says `holds`: \
the answer is `violated` (exit code 1) with counterexamples that were replayed and shortened, or \
`unknown` (3); either way it says how much it has seen. Every finding is saved at once, with the \
command that finds it again. All searches follow from one seed, which is printed. docs/hunt.md \
explains the members of the portfolio and the figures.";

/// Look for bugs in a system that is too large to verify
///
/// Throws a swarm of cheap, very different searches at a specification until something is found or the budget is spent.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    pub specification: PathBuf,

    #[command(flatten)]
    pub wanted: Wanted,

    /// The time for everything, e.g. 30s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_duration, help_heading = "Budget")]
    pub budget: Duration,

    /// The memory for all workers together, e.g. 500M or 2G [default: 80 % of what there is]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Budget")]
    pub memory: Option<u64>,

    /// The number of searches in all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Budget")]
    pub max_jobs: Option<u64>,

    /// The number of states that all searches together may expand
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Budget")]
    pub max_states: Option<u64>,

    /// End with the K-th different violation
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Budget")]
    pub findings: u64,

    /// The number of threads [default: one for each core; one in each MPI process]
    #[arg(long, value_name = "N", help_heading = "Budget", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,

    /// The ways to search, with commas between them: guided-bfs, guided-dfs (each also with :even, :order, :random or
    /// :different), dfs, bitstate, walk, weighted-walk, beam, highway, rare, aimed [default: all that fit]
    #[arg(long, value_name = "MEMBERS", value_delimiter = ',', value_parser = Kind::from_str, help_heading = "Search")]
    pub portfolio: Vec<Kind>,

    /// Beams keep states reached by steps that match the pattern, e.g. 'timeout(_)'; may be repeated
    #[arg(long, value_name = "PATTERN", help_heading = "Search")]
    pub prefer: Vec<String>,

    /// Members take turns, whatever they find
    #[arg(long, help_heading = "Search")]
    pub no_steering: bool,

    /// The source of all choices [default: another one each time; it is printed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 53), help_heading = "Search")]
    pub seed: Option<u64>,

    /// For guided members: a process as `info` names it; several with commas or by repeating the option [default: auto]
    #[arg(long, value_name = "LEAF", help_heading = "Search")]
    pub subsystem: Vec<String>,

    /// For guided members: close cycles of the subsystem at most K times
    #[arg(long, value_name = "K", help_heading = "Search")]
    pub unroll: Option<u32>,

    /// What the states of one search may take [default: memory / workers, a power of two, at most 128 MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Search")]
    pub job_memory: Option<u64>,

    #[command(flatten, next_help_heading = "Search")]
    pub patience: Patience,

    /// Do only the search that this file describes: one that a hunt wrote beside a counterexample
    #[arg(long, value_name = "FILE.json", help_heading = "Search", conflicts_with_all = [
        "max_jobs", "max_states", "portfolio", "prefer", "no_steering", "seed", "subsystem", "unroll", "job_memory",
        "checkpoint",
    ])]
    pub repeat: Option<PathBuf>,

    /// The directory for findings, made when there is the first [default: gridlock-hunt; with --repeat none]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Keep every answer in this directory, so that the run can be resumed whatever happens
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub checkpoint: Option<PathBuf>,

    /// Continue what is in the checkpoint, if there is something
    #[arg(long, requires = "checkpoint", help_heading = "Output")]
    pub resume: bool,

    /// Write the result as JSON; `-` is standard output, which then has nothing else on it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub tables: TableArguments,
}

impl Arguments {
    /// What the run may spend. The memory is that of all processes.
    pub fn watched(&self) -> Limits {
        let processes = launched().map_or(1, |launch| launch.size.max(1));
        let memory = self.memory.map_or_else(share_of_memory, |memory| memory / processes);
        Limits { memory: Some(memory), time: Some(self.budget) }
    }

    /// The directory for findings; none if what is repeated is saved already.
    pub fn out(&self) -> Option<PathBuf> {
        let usual = || self.repeat.is_none().then(|| PathBuf::from("gridlock-hunt"));
        self.out.clone().or_else(usual)
    }

    /// The number of threads of this process.
    pub fn threads(&self) -> usize {
        let company = launched().is_some_and(|launch| launch.has_company());
        match self.workers {
            Some(workers) => usize::from(workers),
            None if company => 1,
            None => std::thread::available_parallelism().map_or(1, |n| n.get()),
        }
    }

    /// The number of threads that search in all processes together.
    pub fn all_workers(&self) -> u64 {
        let company = launched().filter(|launch| launch.has_company());
        self.threads() as u64 * company.map_or(1, |launch| launch.size - 1)
    }

    /// Whether JSON is all that goes to standard output.
    pub fn json_on_stdout(&self) -> bool {
        self.json.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }

    /// Says no to what does not fit together, before any work is done.
    pub fn check(&self) -> Result<(), Failure> {
        let beam = self.portfolio.contains(&Kind::Beam);
        if beam && self.prefer.is_empty() {
            return Err(Failure::input("--portfolio beam needs --prefer: a pattern of the steps to prefer"));
        }
        if !self.portfolio.is_empty() && !beam && !self.prefer.is_empty() {
            return Err(Failure::input("--prefer is for beams, and --portfolio has none: add beam to it"));
        }
        let guided = self.portfolio.is_empty() || self.portfolio.iter().any(|kind| kind.is_guided());
        if !guided && (!self.subsystem.is_empty() || self.unroll.is_some()) {
            let flag = if self.subsystem.is_empty() { "--unroll" } else { "--subsystem" };
            return Err(Failure::input(format_args!(
                "{flag} is for guided members, and --portfolio has none: add guided-bfs or guided-dfs to it"
            )));
        }
        if (1..self.portfolio.len()).any(|k| self.portfolio[..k].contains(&self.portfolio[k])) {
            return Err(Failure::input("--portfolio has a member twice"));
        }
        if self.job_memory.is_some_and(|memory| memory < 1 << 16) {
            return Err(Failure::input("--job-memory must be at least 64K"));
        }
        if let Some(out) = self.out().filter(|out| out.exists() && !out.is_dir()) {
            return Err(Failure::input(format_args!(
                "--out needs a directory, and {} is a file",
                out.display()
            )));
        }
        if self.checkpoint.as_ref().is_some_and(|dir| dir.exists() && !dir.is_dir()) {
            return Err(Failure::input("--checkpoint needs a directory, and there is a file of that name"));
        }
        match &self.json {
            Some(path) if !self.json_on_stdout() => check_place(path),
            _ => Ok(()),
        }
    }
}
