//! `gridlock check`: whether a specification has its properties, and if not, a counterexample.

use crate::flags::{LimitFlags, TableArguments};
use crate::methods::{Flags, SearchFlag, methods};
use crate::outcome::{Exit, Failure};
use crate::road::properties::Wanted;
use crate::road::{self, Findings, Task};
use crate::start::FromFlag;
use crate::watch::Watch;
use clap::Args;
use gridlock_manager::method::Peers;
use gridlock_manager::method::{Chosen, Common};
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  gridlock check abp.mcrl2                                  can it get stuck?
  gridlock check abp.mcrl2 --never 'error(_)' --deadlock    or go wrong?
  gridlock check abp.mcrl2 --property order.mcf --trace-out why.svg
  gridlock check abp.mcrl2 --json - | jq .states
  gridlock check big.mcrl2 --time-limit 10m --max-memory 4G
  mpirun -n 64 gridlock check big.mcrl2                     in the memory of a cluster
  gridlock check big.mcrl2 --search isv                     slice by slice, in little memory
  gridlock check big.mcrl2 --search isv --checkpoint run --resume
  gridlock check big.mcrl2 --search isv --subsystem 'LINK(2, 0)' --strategy random

The answer is the first word on standard output and the exit code: `holds` (0), `violated` (1) \
with a counterexample, `unknown` (3) with what was seen until then. A specification that has no \
meaning in some reachable state is an error (2). A search that is breadth-first gives a \
shortest counterexample, whatever the number of workers. Before a counterexample is shown it \
has been replayed, by code that did not find it; `gridlock replay` does that again. \
An informed swarm (--search isv) is explained in docs/swarm.md.";

/// Check whether a specification has its properties
///
/// Searches every state that the processes can reach together. Says `holds` only after it has seen all of them, and shows
/// a run of the system if something is violated.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    #[command(flatten)]
    wanted: Wanted,

    #[command(flatten)]
    from: FromFlag,

    #[command(flatten)]
    search: SearchFlag,

    /// The number of threads of a breadth-first search or a swarm [default: one for each core; one in each MPI process]
    #[arg(long, value_name = "N", help_heading = "Search", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// Write the counterexample: .svg a chart, .json, .aut, any other name the text that `replay` reads
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    trace_out: Option<PathBuf>,

    /// Write the whole proof of a formula's answer, states with parts of the formula, as an LTS: .aut or .dot
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    evidence_out: Option<PathBuf>,

    /// Write the result as JSON; `-` is standard output, which then has nothing else on it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    #[command(flatten)]
    flags: Flags,

    #[command(flatten)]
    pub limits: LimitFlags,

    #[command(flatten)]
    tables: TableArguments,

    /// Try all equations that apply, and warn where two equations of a mapping disagree; slower
    #[arg(long)]
    check_equations: bool,
}

impl Arguments {
    /// Whether the ranks of an MPI job can do it together.
    pub fn runs_on_ranks(&self) -> bool {
        self.search.0.method.runs_on_ranks()
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
    let Arguments {
        specification, wanted, from, search: SearchFlag(chosen), workers, tables, limits, ..
    } = arguments;
    let Chosen { entry, method, given } = chosen;
    chosen.check_flags(methods())?;
    Ok(Task {
        command: "check",
        specification,
        wanted,
        from: from.read()?,
        tables,
        entry,
        method: &**method,
        common: Common {
            workers: *workers,
            max_states: limits.max_states,
            evidence: arguments.evidence_out.is_some(),
            given: given.clone(),
        },
        memory: limits.memory(),
        check_equations: arguments.check_equations,
        trace_out: arguments.trace_out.as_deref(),
        evidence_out: arguments.evidence_out.as_deref(),
        json: arguments.json.as_deref(),
        findings: Findings::default(),
    })
}
