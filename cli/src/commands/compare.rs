//! `gridlock compare`: whether two systems are equivalent, and if not, a difference.

use super::lts::size;
use crate::by_parts;
use crate::flags::{LimitFlags, TableArguments};
use crate::input::{is_stdin, read_lts};
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::quantities::duration;
use crate::terminal::{Style, tell};
use crate::watch::Watch;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gridlock_lts::model::equivalence::{Comparison, Equivalence, compare};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gridlock compare old.mcrl2 new.mcrl2
  gridlock compare protocol.mcrl2 service.mcrl2 --equivalence branching
  gridlock compare ours.aut theirs.aut --equivalence trace && echo same

Exit code 0 means equal, 1 different. If they differ, the answer comes with what shows it: a shortest trace (a \
sequence of actions) that only one of the two has, or, if both have the same traces, a formula that only the first \
satisfies. In a formula, <a>f means that some a leads to where f holds, [a]f that every a does.";

/// Tell whether two specifications or files are equivalent
///
/// Answers `equal` or `different`, and in the second case shows why.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A specification in mCRL2's language, or an .aut file; `-` is standard input
    first: PathBuf,

    /// What to compare it with, likewise
    second: PathBuf,

    /// When two systems count as the same
    #[arg(short, long, value_name = "WHICH", default_value = "strong", value_parser = equivalence_parser())]
    equivalence: Equivalence,

    /// Put the processes of a specification together one by one and reduce each time, so that its whole state space never
    /// exists
    #[arg(long)]
    by_parts: bool,

    #[command(flatten)]
    pub limits: LimitFlags,

    #[command(flatten)]
    tables: TableArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch, quiet: bool) -> Result<Exit, Failure> {
    let Arguments { first, second, tables, limits, equivalence, by_parts } = arguments;
    if is_stdin(first) && is_stdin(second) {
        return Err(Failure::input("only one of the two can be read from standard input"));
    }
    let is_lts = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "aut");
    if *by_parts && is_lts(first) && is_lts(second) {
        return Err(Failure::input(
            "--by-parts is for specifications, and both are LTSs already: leave it out",
        ));
    }
    let read = |path: &PathBuf| match *by_parts && !is_lts(path) {
        true => by_parts::read(path, *equivalence, tables, limits, watch).map(|whole| whole.lts),
        false => read_lts(path, tables, limits, watch),
    };
    let (one, two) = (read(first)?, read(second)?);
    watch.begin("comparing", "");
    let answer = compare(&one, &two, *equivalence).map_err(|e| Failure::Limit(e.to_string()))?;
    if watch.stopped().is_some() {
        return Err(Failure::Stopped);
    }
    let Style { good, wrong, off, .. } = Style::of_stdout();
    print(watch, |out| match &answer {
        Comparison::Equal => writeln!(out, "{good}equal{off} ({equivalence})"),
        Comparison::Different(why) => writeln!(out, "{wrong}different{off} ({equivalence}): {why}"),
    })?;
    if !quiet {
        tell(format_args!("first: {}; second: {}; {}", size(&one), size(&two), duration(watch.elapsed())));
    }
    Ok(if answer.is_equal() { Exit::Yes } else { Exit::No })
}

/// Reads the name of an equivalence, and lists them in the help.
pub fn equivalence_parser() -> impl TypedValueParser<Value = Equivalence> {
    let value = |e: Equivalence| {
        let names = e.names();
        let meaning = match e {
            Equivalence::Strong => "bisimulation: each can follow every step of the other, again and again",
            Equivalence::Branching => {
                "bisimulation in which hidden steps (tau) that decide nothing do not count"
            }
            Equivalence::DivergencePreservingBranching => {
                "the same, but an endless sequence of hidden steps does count"
            }
            Equivalence::Trace => "the same sequences of actions, hidden ones among them",
            Equivalence::WeakTrace => "the same sequences of actions once hidden ones are left out",
        };
        PossibleValue::new(names[0]).aliases(names[1..].iter().copied()).help(meaning)
    };
    PossibleValuesParser::new(Equivalence::ALL.map(value)).try_map(|name| name.parse::<Equivalence>())
}
