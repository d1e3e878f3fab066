//! `gridlock hunt`: looks for bugs with many cheap, very different searches.

use crate::flags::{TableArguments, share_of_memory};
use crate::outcome::{Exit, Failure};
use crate::road::properties::Wanted;
use crate::road::{self, Findings, Task};
use crate::start::FromFlag;
use crate::watch::{Limits, Watch};
use clap::Args;
use gridlock_manager::grid::transport::launch::launched;
use gridlock_manager::method::Peers;
use gridlock_manager::method::hunt::{Hunting, members};
use gridlock_manager::method::{Common, Entry};
use std::path::PathBuf;

static ENTRY: Entry = Entry::of::<Hunting>();

fn help() -> String {
    format!(
        "\
Examples:
  gridlock hunt huge.mcrl2                                  a minute, until the first deadlock
  gridlock hunt huge.mcrl2 --never 'error(_)' --budget 10m --memory 4G
  gridlock hunt huge.mcrl2 --findings 10 --out bugs         ten different ones, into bugs/
  gridlock hunt huge.mcrl2 --portfolio walk,bitstate --no-steering
  gridlock hunt huge.mcrl2 --prefer 'timeout(_)'            beams prefer these steps
  gridlock hunt huge.mcrl2 --seed 7 --max-jobs 500          the same findings on every machine
  mpirun -n 33 gridlock hunt huge.mcrl2 --budget 2h --checkpoint run --resume

Ways to search (--portfolio):
{}
A hunt looks for violations with many cheap and very different searches. It never says `holds`: \
the answer is `violated` (exit code 1) with counterexamples that were replayed and shortened, or \
`unknown` (3); either way it says how much it has seen. Every finding is saved at once, with the \
command that finds it again. All searches follow from one seed, which is printed. Where tables \
cannot be completed before the search, dfs, bitstate, prefix, walk and highway hunt. docs/hunt.md \
explains the members of the portfolio and the figures.",
        members()
    )
}

/// Look for bugs in a system that is too large to verify
///
/// Throws a swarm of cheap, very different searches at a specification until something is found or the budget is spent.
#[derive(Args, Debug)]
#[command(after_long_help = help())]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    #[command(flatten)]
    wanted: Wanted,

    #[command(flatten)]
    from: FromFlag,

    #[command(flatten)]
    hunting: Hunting,

    /// The number of threads [default: one for each core; one in each MPI process]
    #[arg(long, value_name = "N", help_heading = "Budget", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// Write the result as JSON; `-` is standard output, which then has nothing else on it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    #[command(flatten)]
    tables: TableArguments,

    /// What was found so far.
    #[arg(skip)]
    findings: Findings,
}

impl Arguments {
    fn memory(&self) -> u64 {
        // The memory is that of all processes.
        let processes = launched().map_or(1, |launch| launch.size.max(1));
        self.hunting.memory.map_or_else(share_of_memory, |memory| memory / processes)
    }

    /// What the run may spend.
    pub fn watched(&self) -> Limits {
        Limits { memory: Some(self.memory()), time: Some(self.hunting.budget) }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch, quiet: bool, peers: &Peers) -> Result<Exit, Failure> {
    road::run(&task(arguments)?, watch, quiet, peers)
}

/// Writes the result of a run that must be ended, from another thread than that of the run.
pub fn give_up(arguments: &Arguments, watch: &Watch, quiet: bool) -> Result<Exit, Failure> {
    road::give_up(&task(arguments)?, watch, quiet)
}

fn task(arguments: &Arguments) -> Result<Task<'_>, Failure> {
    let Arguments { specification, wanted, from, hunting, workers, json, tables, findings } = arguments;
    Ok(Task {
        command: "hunt",
        specification,
        wanted,
        from: from.read()?,
        tables,
        entry: &ENTRY,
        method: hunting,
        common: Common { workers: *workers, ..Common::default() },
        memory: arguments.memory(),
        check_equations: false,
        trace_out: None,
        evidence_out: None,
        json: json.as_deref(),
        findings: findings.clone(),
    })
}
