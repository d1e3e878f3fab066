//! `gridlock status`: the progress of a search, from its checkpoint, whether it runs or not.
//!
//! Invariant: nothing is written. The lock is only tried for a moment, so the command does not disturb a run.

use crate::methods::methods;
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::quantities::{count, counted, duration};
use crate::shown_trace::JSON_VERSION;
use crate::terminal::Style;
use crate::watch::Watch;
use clap::Args;
use gridlock_manager::grid::journal::{STATUS, is_open};
use gridlock_manager::method::checkpoint::{self, Answers, METHOD, RESULT};
use gridlock_manager::method::traces::shown;
use gridlock_manager::method::{Entry, Row, StatusPage};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A page older than this is that of a run that has ended: a run replaces its page every two seconds. It is used where locks
/// do not work.
const ALIVE: u64 = 15;

const HELP: &str = "\
Examples:
  gridlock status run
  gridlock status run --json | jq -r .page.numbers.ids_remaining
  watch gridlock status run

The first word says how it is:
  running    a process works on it
  silent     no process works on it, and there is no result: the run was killed; the same
             command with --resume continues
  stopped    it was interrupted or reached a limit; the same command with --resume continues
  finished   there is a result

A run locks its checkpoint. On a file system without locks, `running` means that the run has
reported within the last 15 seconds.

docs/json.md documents the fields of --json.";

/// Show how far a search is, from its checkpoint
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The directory that `--checkpoint` was given
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Write JSON, for programs
    #[arg(long)]
    json: bool,
}

/// The content of a checkpoint.
#[derive(Serialize)]
struct Status {
    version: u32,
    directory: String,
    state: &'static str,
    verdict: Option<String>,
    reason: Option<String>,
    message: Option<String>,
    /// Answers on disk, and their effort.
    answers: u64,
    answered_states: u64,
    answered_seconds: f64,
    /// Seconds since the page was written.
    age_seconds: Option<u64>,
    identity: BTreeMap<String, String>,
    /// The page as the run wrote it, if it came that far.
    page: Option<StatusPage>,
    #[serde(skip)]
    method: &'static Entry,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch) -> Result<Exit, Failure> {
    let status = look(&arguments.directory)?;
    print(watch, |out| {
        if arguments.json {
            serde_json::to_writer_pretty(&mut *out, &status)?;
            writeln!(out)
        } else {
            show(&status, out)
        }
    })?;
    Ok(Exit::Yes)
}

fn look(dir: &Path) -> Result<Status, Failure> {
    if !dir.is_dir() {
        return Err(Failure::input(format_args!("there is no directory {}", dir.display())));
    }
    // The result first: what comes after it can only be newer.
    let result: Option<Value> = parsed(&dir.join(RESULT))?;
    let page: Option<StatusPage> = parsed(&dir.join(STATUS))?;
    let identity = checkpoint::identity(dir)?;
    let method = identity.get(METHOD).and_then(|name| Entry::named(methods(), name));
    let Some(method) = method else {
        return Err(Failure::input(format_args!("{} is of a search that is not known here", dir.display())));
    };
    let Answers { answers, states, seconds } = checkpoint::answers(dir)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
    let age = page.as_ref().map(|page| now.saturating_sub(page.written));
    let text = |field: &str| result.as_ref().and_then(|r| Some(r.get(field)?.as_str()?.to_owned()));
    let state = match (&result, text("reason").as_deref()) {
        (
            Some(_),
            Some(
                "interrupted" | "time-limit" | "max-memory" | "max-states" | "max-depth" | "budget"
                | "memory" | "max-jobs" | "checkpoint" | "spill",
            ),
        ) => "stopped",
        (Some(_), _) => "finished",
        (None, _) if is_open(dir).unwrap_or_else(|| age.is_some_and(|age| age <= ALIVE)) => "running",
        (None, _) => "silent",
    };
    Ok(Status {
        version: JSON_VERSION,
        directory: dir.display().to_string(),
        state,
        verdict: text("verdict"),
        reason: text("reason"),
        message: text("message"),
        answers,
        answered_states: states,
        answered_seconds: seconds,
        age_seconds: age,
        identity,
        page,
        method,
    })
}

/// The JSON in a file; `None` if there is no such file.
fn parsed<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    let cannot =
        |why: &dyn std::fmt::Display| Failure::input(format_args!("cannot read {}: {why}", path.display()));
    match fs::read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(cannot(&e)),
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|e| cannot(&e)),
    }
}

fn rows_of(method: &Entry, page: &StatusPage) -> Vec<Row> {
    let mut rows = vec![("specification", page.specification.clone())];
    rows.extend((method.status)(page));
    let time = duration(Duration::try_from_secs_f64(page.seconds).unwrap_or_default());
    let resumed = count(page.resumed as u64);
    rows.push((
        "this run",
        format!("{time}, {}, {resumed} answers resumed", counted(page.workers, "worker")),
    ));
    rows
}

fn show(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    let Style { strong, off, .. } = Style::of_stdout();
    let about = match (&status.verdict, &status.message) {
        (Some(verdict), Some(message)) => format!("{verdict}: {message}"),
        (Some(verdict), None) => verdict.clone(),
        (None, _) => match status.age_seconds {
            Some(age) => format!("the last report is {} old", duration(Duration::from_secs(age))),
            None => "there is no report yet".to_owned(),
        },
    };
    writeln!(out, "{strong}{}{off}: {about}\n", status.state)?;
    let mut rows = status.page.as_ref().map_or_else(Vec::new, |page| rows_of(status.method, page));
    rows.push((
        "answers on disk",
        format!("{}, {} states", count(status.answers), count(status.answered_states)),
    ));
    let names = [
        "subsystem",
        "unroll",
        "traces",
        "ids",
        "jobs",
        "job memory",
        "strategy",
        "portfolio",
        "seed",
        "reduction",
    ];
    let setting = |name: &&str| Some(format!("{name} {}", shown(status.identity.get(*name)?)));
    let settings: Vec<String> = names.iter().filter_map(setting).collect();
    rows.push(("run", settings.join("; ")));
    rows.iter().try_for_each(|(name, value)| writeln!(out, "  {name:<17}{value}"))
}
