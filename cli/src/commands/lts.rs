//! `gridlock lts`: the whole state space of a specification as a file.

use crate::flags::{LimitFlags, TableArguments};
use crate::input::explore;
use crate::outcome::{Exit, Failure};
use crate::output::OutputArguments;
use crate::quantities::{counted, duration};
use crate::start::FromFlag;
use crate::terminal::tell;
use crate::watch::Watch;
use clap::Args;
use gridlock_lts::model::explicit::Lts;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gridlock lts abp.mcrl2 -o abp.aut          write every state and transition
  gridlock lts abp.mcrl2 -o abp.dot          the same as a picture for Graphviz
  gridlock lts abp.mcrl2 | wc -l             on standard output
  gridlock lts big.mcrl2 --max-states 1000000 --time-limit 10m -o big.aut

The file appears whole or not at all: if a limit is reached or the run is interrupted, \
nothing is written.";

/// Write the state space of a specification: every state, every transition
///
/// Explores everything the processes of the specification can do together and writes it as a labelled transition system.
/// States are numbered in the order in which a breadth-first search finds them; the initial one is 0.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    #[command(flatten)]
    from: FromFlag,

    #[command(flatten)]
    output: OutputArguments,

    #[command(flatten)]
    pub limits: LimitFlags,

    #[command(flatten)]
    tables: TableArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch, quiet: bool) -> Result<Exit, Failure> {
    let destination = arguments.output.destination()?;
    let start = arguments.from.read()?;
    let Arguments { specification, tables, limits, .. } = arguments;
    let lts = explore(specification, start.as_ref(), tables, limits, watch)?;
    destination.write(&lts, watch)?;
    if !quiet {
        tell(format_args!("{}, {}", size(&lts), duration(watch.elapsed())));
    }
    Ok(Exit::Yes)
}

/// The size of a system in words.
pub fn size(lts: &Lts) -> String {
    format!("{}, {}", counted(lts.num_states(), "state"), counted(lts.num_transitions(), "transition"))
}
