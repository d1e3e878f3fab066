//! `gridlock minimise`: the smallest labelled transition system that is equivalent to a given one.

use super::compare::equivalence_parser;
use super::lts::size;
use crate::by_parts;
use crate::flags::{LimitFlags, TableArguments};
use crate::input::read_lts;
use crate::outcome::{Exit, Failure};
use crate::output::OutputArguments;
use crate::quantities::{counted, duration};
use crate::terminal::tell;
use crate::watch::Watch;
use clap::Args;
use gridlock_lts::model::equivalence::{Equivalence, minimise};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gridlock minimise abp.mcrl2 -o small.aut --equivalence branching
  gridlock minimise large.aut -o small.aut
  gridlock minimise ieee1394.mcrl2 -o small.aut --equivalence branching --by-parts
  gridlock minimise abp.mcrl2 --equivalence weak-trace --format dot | dot -Tsvg > abp.svg";

/// Write the smallest system that is equivalent to a specification or file
///
/// Two systems are equivalent if nobody who watches their actions can tell them apart; how closely one watches is what
/// --equivalence says. The smallest equivalent system is what is left once states that behave alike are one.
#[derive(Args, Debug)]
#[command(visible_alias = "minimize", after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A specification in mCRL2's language, or an .aut file; `-` is standard input
    input: PathBuf,

    /// When two systems count as the same
    #[arg(short, long, value_name = "WHICH", default_value = "strong", value_parser = equivalence_parser())]
    equivalence: Equivalence,

    /// Put the processes together one by one and reduce each time, so that the whole state space never exists
    #[arg(long)]
    by_parts: bool,

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
    let Arguments { input, tables, limits, equivalence, .. } = arguments;
    let (lts, largest) = match arguments.by_parts {
        true => {
            let whole = by_parts::read(input, *equivalence, tables, limits, watch)?;
            (whole.lts, Some(whole.largest))
        }
        false => (read_lts(input, tables, limits, watch)?, None),
    };
    watch.begin("minimising", "");
    let small = minimise(&lts, arguments.equivalence).map_err(|e| Failure::Limit(e.to_string()))?;
    if watch.stopped().is_some() {
        return Err(Failure::Stopped);
    }
    destination.write(&small, watch)?;
    if !quiet {
        let before = match largest {
            Some(states) => format!("largest part {}", counted(states as usize, "state")),
            None => size(&lts),
        };
        tell(format_args!("{before} -> {}, {}", size(&small), duration(watch.elapsed())));
    }
    Ok(Exit::Yes)
}
