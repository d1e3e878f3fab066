//! `gridlock watch`: predicts violations from each state of a log.
//!
//! A line of the log is a snapshot or a trace; from the state there a local search with a limit is made, as `check --from`
//! would do it. Invariant: one line at a time is in memory, and the answer to a line depends on that line only.

use crate::flags::{Resources, TableArguments, TableMode};
use crate::input::{Specification, is_stdin, open};
use crate::methods::methods;
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::quantities::counted;
use crate::road::properties::Wanted;
use crate::road::{self, Findings, Task};
use crate::start::Start;
use crate::terminal::{Style, tell};
use crate::watch::{Phase, Watch};
use clap::Args;
use gridlock_lts::base::error::Error;
use gridlock_manager::method::local::Local;
use gridlock_manager::method::{Common, Conclusion, Entry, Peers, Refusal};
use std::io::{self, BufRead, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
was predicted, also if it is interrupted or a limit is reached later; else 2 that some lines could not be used, \
3 that for some the limit was reached, or that it was interrupted, and 0 that there can be no violation from any of these \
states. docs/local.md says more.";

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

    #[arg(skip)]
    told: Told,
}

/// The answers so far; the main thread reads them if the run is ended while it waits for a line.
#[derive(Default, Debug)]
struct Told {
    hold: AtomicU64,
    violated: AtomicU64,
    unknown: AtomicU64,
    unusable: AtomicU64,
}

/// A line of the log.
enum Line {
    Text(String),
    /// It has more than [`LONGEST_LINE`] bytes, which were skipped.
    TooLong,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch, quiet: bool, peers: &Peers) -> Result<Exit, Failure> {
    let stopped = match lines(arguments, watch, peers) {
        Ok(()) => false,
        Err(Failure::Stopped) => true,
        Err(failure) => return Err(failure),
    };
    if !watch.claim_result() {
        // The main thread tells the end, and the process ends with it.
        loop {
            std::thread::park();
        }
    }
    end(arguments, watch, quiet, stopped)
}

/// Answers all lines.
fn lines(arguments: &Arguments, watch: &Watch, peers: &Peers) -> Result<(), Failure> {
    let Arguments { specification: path, log, wanted, told, .. } = arguments;
    if usize::from(is_stdin(path)) + usize::from(is_stdin(log)) + wanted.on_stdin() > 1 {
        return Err(Failure::input("only one file can be read from standard input"));
    }
    let specification = Specification::read(path)?;
    // Faults of the specification and the properties are reported before the first line comes.
    let options = arguments.tables.options(TableMode::Auto);
    let checked = specification.check(&specification.name, &options, usize::MAX, watch)?;
    let properties = wanted.translate(checked.builder())?;
    let named = properties.asked.iter().map(|asked| asked.name.as_str()).zip(&properties.checked);
    if let Some(refusal) = Refusal::of(methods(), &ENTRY, named) {
        return Err(Error::from(Refusal { method: "`gridlock watch`", ..refusal }).into());
    }
    let (name, mut input) = open(log)?;
    let mut number = 0usize;
    while let Some(line) = next_line(&mut *input, &name, watch)? {
        number += 1;
        let place = format!("line {number} of {name}");
        let start = match line {
            Line::Text(line) if line.trim().is_empty() || line.starts_with('#') => continue,
            Line::Text(line) => Start::parse(place.clone(), &line, None),
            Line::TooLong => {
                Err(Failure::input(format_args!("{place} has more than {} MiB", LONGEST_LINE >> 20)))
            }
        };
        let one_more = match start.and_then(|start| answer(arguments, &specification, start, watch, peers)) {
            Ok(Exit::Yes) => &told.hold,
            Ok(Exit::No) => &told.violated,
            Ok(Exit::Unknown) => &told.unknown,
            Err(Failure::Input(why)) => {
                watch.rest();
                match why.starts_with(&place) {
                    true => tell(format_args!("error: {why}")),
                    false => tell(format_args!("error: {place}: {why}")),
                }
                &told.unusable
            }
            Err(failure) => return Err(failure),
        };
        one_more.fetch_add(1, Relaxed);
    }
    Ok(())
}

/// The end of a run that is ended while it waits for a line.
pub fn give_up(arguments: &Arguments, watch: &Watch, quiet: bool) -> Result<Exit, Failure> {
    end(arguments, watch, quiet, true)
}

/// Sums up the answers. Stopping a run does not take a prediction back.
fn end(arguments: &Arguments, watch: &Watch, quiet: bool, stopped: bool) -> Result<Exit, Failure> {
    let Told { hold, violated, unknown, unusable } = &arguments.told;
    let [hold, violated, unknown, unusable] = [hold, violated, unknown, unusable].map(|n| n.load(Relaxed));
    watch.rest();
    if !quiet {
        let states = counted((hold + violated + unknown) as usize, "state");
        tell(format_args!(
            "{states}: {hold} hold, {violated} violated, {unknown} unknown; {} could not be used",
            counted(unusable as usize, "line")
        ));
        if stopped && violated + unusable > 0 {
            tell(format_args!("note: the log was not read to its end: {}", watch.why_stopped()));
        }
    }
    match (violated, unusable, unknown) {
        (1.., _, _) => Ok(Exit::No),
        (0, 1.., _) => {
            let lines = counted(unusable as usize, "line");
            Err(Failure::Input(format!("{lines} of the log could not be used")))
        }
        (0, 0, _) if stopped => Err(Failure::Stopped),
        (0, 0, 1..) => Ok(Exit::Unknown),
        (0, 0, 0) => Ok(Exit::Yes),
    }
}

/// Searches from one state, and prints the answer.
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
        findings: Findings::default(),
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

/// The next line, as soon as it has arrived; `None` at the end.
fn next_line(input: &mut dyn BufRead, name: &str, watch: &Watch) -> Result<Option<Line>, Failure> {
    watch.rest();
    watch.enter(Phase::Waiting);
    let read = read_line(input);
    watch.enter(Phase::Working);
    if watch.stopped().is_some() {
        return Err(Failure::Stopped);
    }
    read.map_err(|e| Failure::input(format_args!("cannot read {name}: {e}")))
}

fn read_line(input: &mut dyn BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    (&mut *input).take(LONGEST_LINE + 1).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(Line::Text(String::from_utf8_lossy(&line).into_owned()))),
        Some(_) if line.len() as u64 > LONGEST_LINE => {
            input.skip_until(b'\n')?;
            Ok(Some(Line::TooLong))
        }
        Some(_) => Ok(Some(Line::Text(String::from_utf8_lossy(&line).into_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let long = "x".repeat(LONGEST_LINE as usize);
        let text = format!("one\n{long}\n{long}y\ntwo\n{long}yy");
        let mut input = io::Cursor::new(text.as_bytes());
        let mut lengths = Vec::new();
        while let Some(line) = read_line(&mut input).expect("it can be read") {
            lengths.push(match line {
                Line::Text(line) => line.len() as u64,
                Line::TooLong => 0,
            });
        }
        // With its end, the second line is as long as a line may be and one more, which is its end.
        assert_eq!(lengths, [4, LONGEST_LINE + 1, 0, 4, 0]);
    }
}
