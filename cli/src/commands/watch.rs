//! `gridlock watch`: what may go wrong soon, from each state of a log.
//!
//! A line of the log is a snapshot or a trace; from the state there a local search with a limit is made, as `check --from` would
//! do it. Invariant: one line at a time is in memory, and what is said of it depends on nothing but the line.

use crate::flags::{Resources, TableArguments, TableMode};
use crate::input::{Specification, is_stdin, open};
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::quantities::counted;
use crate::road::properties::Wanted;
use crate::road::{self, Task};
use crate::start::Start;
use crate::terminal::{Style, tell};
use crate::watch::{Phase, Watch};
use clap::Args;
use gridlock_manager::method::local::Local;
use gridlock_manager::method::{Common, Conclusion, Entry, Peers};
use std::io::{BufRead, Read};
use std::path::PathBuf;

static ENTRY: Entry = Entry::of::<Local>();

/// The longest line that is read.
const LONGEST_LINE: u64 = 1 << 24;

const HELP: &str = "\
Examples:
  gridlock watch paxos.mcrl2 --property agreement.mcf --log snapshots.jsonl
  tail -f snapshots.jsonl | gridlock watch paxos.mcrl2 --property agreement.mcf
  gridlock watch abp.mcrl2 --never 'error(_)' --log run.jsonl --json

A line of the log is a JSON object: with a list `end` (or `leaves`) of `name` and `state` for every \
process, as results of `check` and answers of `explore` have it, or with a list `trace` of steps from the \
initial state, each as in these results or simply a label. Empty lines and lines that begin with # mean \
nothing. Each line gets an answer: what may happen from the state there. Exit code 1 means that a violation \
was predicted, 0 that there can be none from any of these states, 3 that for some the limit was reached, 2 \
that some lines could not be used. docs/local.md says more.";

/// Predict violations from the states of a running system
///
/// Reads a log of snapshots or traces, looks from each of these states for violations with a local search that has a limit,
/// and tells what it finds.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    /// The log, one JSON object a line; `-` is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    log: PathBuf,

    #[command(flatten)]
    wanted: Wanted,

    /// What one obligation may take from one state of the log: states of its blocks, or as much work on paths
    #[arg(long, value_name = "N", default_value_t = 100_000, help_heading = "Search")]
    local_limit: u64,

    /// The number of threads [default: one for each core]
    #[arg(long, value_name = "N", help_heading = "Search", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// Write each answer as a line of JSON, as `check --json` has it
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    pub resources: Resources,

    #[command(flatten)]
    tables: TableArguments,
}

/// What was told.
#[derive(Default)]
struct Told {
    hold: usize,
    violated: usize,
    unknown: usize,
    unusable: usize,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch, quiet: bool, peers: &Peers) -> Result<Exit, Failure> {
    let Arguments { specification: path, log, wanted, .. } = arguments;
    if usize::from(is_stdin(path)) + usize::from(is_stdin(log)) + wanted.on_stdin() > 1 {
        return Err(Failure::input("only one file can be read from standard input"));
    }
    let specification = Specification::read(path)?;
    // Faults of the specification and the properties are reported before the first line comes.
    let options = arguments.tables.options(TableMode::Auto);
    wanted.translate(specification.check(&specification.name, &options, usize::MAX, watch)?.builder())?;
    let (name, mut input) = open(log)?;
    let (mut told, mut number) = (Told::default(), 0usize);
    while let Some(line) = next_line(&mut *input, &name, watch)? {
        number += 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("line {number} of {name}");
        let start = Start::parse(place.clone(), place.clone(), &line, None);
        match start.and_then(|start| answer(arguments, &specification, start, watch, peers)) {
            Ok(exit) => match exit {
                Exit::Yes => told.hold += 1,
                Exit::No => told.violated += 1,
                Exit::Unknown => told.unknown += 1,
            },
            Err(Failure::Input(why)) => {
                told.unusable += 1;
                watch.rest();
                tell(format_args!("error: {place}: {why}"));
            }
            Err(failure) => return Err(failure),
        }
    }
    watch.rest();
    let Told { hold, violated, unknown, unusable } = told;
    if !quiet {
        let states = counted(hold + violated + unknown, "state");
        tell(format_args!(
            "{states}: {hold} hold, {violated} violated, {unknown} unknown; {unusable} lines could not be used"
        ));
    }
    match told {
        Told { violated: 1.., .. } => Ok(Exit::No),
        Told { unusable: 1.., .. } => {
            Err(Failure::Input(format!("{} of {name} could not be used", counted(unusable, "line"))))
        }
        Told { unknown: 1.., .. } => Ok(Exit::Unknown),
        _ => Ok(Exit::Yes),
    }
}

/// Searches from one state, and tells what comes of it.
fn answer(
    arguments: &Arguments,
    specification: &Specification,
    start: Start,
    watch: &Watch,
    peers: &Peers,
) -> Result<Exit, Failure> {
    let method = Local::bounded(arguments.local_limit);
    let task = Task {
        command: "watch",
        specification: &arguments.specification,
        wanted: &arguments.wanted,
        from: Some(start),
        tables: &arguments.tables,
        entry: &ENTRY,
        method: &method,
        common: Common { workers: arguments.workers, ..Common::default() },
        memory: arguments.resources.memory(),
        check_equations: false,
        trace_out: None,
        evidence_out: None,
        json: None,
    };
    road::tell_one(&task, specification, watch, peers, |report| {
        if let Conclusion::Faulty(_) = &report.outcome.conclusion {
            return Err(Failure::Specification(report.fault()));
        }
        print(watch, |out| match arguments.json {
            true => report.write_json_line(out),
            false => {
                writeln!(out, "{}", report.title())?;
                report.trace.map_or(Ok(()), |trace| trace.write_steps(Style::of_stdout(), out))
            }
        })?;
        Ok(match &report.outcome.conclusion {
            Conclusion::Holds => Exit::Yes,
            Conclusion::Violated(_) => Exit::No,
            Conclusion::Unknown(_) | Conclusion::Faulty(_) => Exit::Unknown,
        })
    })?
}

/// The next line, as soon as it is there; none at the end.
fn next_line(input: &mut dyn BufRead, name: &str, watch: &Watch) -> Result<Option<String>, Failure> {
    let mut line = Vec::new();
    watch.rest();
    watch.enter(Phase::Waiting);
    let read = input.take(LONGEST_LINE + 1).read_until(b'\n', &mut line);
    watch.enter(Phase::Working);
    if watch.stopped().is_some() {
        return Err(Failure::Stopped);
    }
    match read {
        Err(e) => Err(Failure::input(format_args!("cannot read {name}: {e}"))),
        Ok(0) => Ok(None),
        Ok(_) if line.len() as u64 > LONGEST_LINE => {
            Err(Failure::input(format_args!("{name} has a line of more than {} MiB", LONGEST_LINE >> 20)))
        }
        Ok(_) => Ok(Some(String::from_utf8_lossy(&line).into_owned())),
    }
}
