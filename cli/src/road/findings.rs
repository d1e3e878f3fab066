//! Findings: described and saved as soon as they are known, with the commands that find them again.
//!
//! Invariant: a file of another run is never replaced. A file that an equal run wrote is left as it is.

use super::Task;
use super::properties::AskedProperty;
use crate::input::Specification;
use crate::quantities::{count, counted, duration};
use crate::shown_trace::{JSON_VERSION, ShownState, ShownStep, ShownTrace};
use crate::start::Start;
use crate::stuck::ShownStuck;
use gridlock_lts::base::whole_file::write_new;
use gridlock_lts::engine::search::Verdict;
use gridlock_manager::method::{self, Origin, Tables};
use serde::Serialize;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How many names are tried for a finding before it stays unsaved.
const TRIES: u32 = 1_000;

/// A finding as it is shown.
#[derive(Serialize, Clone, Debug)]
pub struct Finding {
    pub number: u64,
    /// `violated`, or `faulty` if the specification has no meaning there.
    pub verdict: &'static str,
    /// The property that is violated.
    pub property: Option<String>,
    pub message: String,
    /// The search that found it, and the member it belongs to; `None` if it needs no search.
    pub job: Option<u64>,
    pub member: Option<String>,
    /// Steps now, and before it was shortened.
    pub steps: u64,
    pub found_steps: u64,
    /// States that were expanded until it was found, in the order of jobs.
    pub states: u64,
    /// Seconds from the beginning of the hunt until it was known.
    pub seconds: f64,
    /// Where it is saved.
    pub trace_file: Option<String>,
    pub job_file: Option<String>,
    /// Commands that find it again: the same search, the same hunt.
    pub command: Option<String>,
    pub from_seed: Option<String>,
    pub trace: Vec<ShownStep>,
    pub end: Vec<ShownState>,
    /// For a run that violates a formula: the step from which it repeats, the step after which the formula cannot be
    /// fulfilled any more, and the number of states that can be reached then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats_from: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_step: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closure_states: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stuck: Vec<ShownStuck>,
    #[serde(skip)]
    pub shown: ShownTrace,
}

impl Finding {
    /// In one line.
    pub fn title(&self) -> String {
        match &self.property {
            Some(property) => format!("violated: {}: {}", AskedProperty::shown_name(property), self.message),
            None => format!("faulty: {}", self.message),
        }
    }

    /// How it was found, in one line.
    pub fn how(&self) -> String {
        let steps = match self.found_steps {
            before if before == self.steps => counted(self.steps as usize, "step"),
            before => {
                format!("{}, {} when it was found", counted(self.steps as usize, "step"), count(before))
            }
        };
        let time = duration(Duration::try_from_secs_f64(self.seconds).unwrap_or_default());
        match (&self.member, self.job) {
            (Some(member), Some(job)) => {
                format!(
                    "{steps}; by {member}, job {}, after {} states and {time}",
                    count(job),
                    count(self.states)
                )
            }
            _ => steps,
        }
    }
}

/// The file beside a counterexample: what was found, the search that found it, and how to find it again.
#[derive(Serialize)]
struct FindingFile<'a> {
    version: u32,
    gridlock: &'static str,
    /// The file, as named on the command line, and the fingerprint of its text.
    specification: &'a str,
    fingerprint: String,
    /// What was found, in one line.
    title: String,
    /// The trace, a file in the same directory.
    trace: String,
    /// Steps of it, and when it was found.
    steps: u64,
    found_steps: u64,
    /// A command that does the same search again.
    command: String,
    /// A command that does everything again up to that search.
    from_seed: String,
    /// The record that the method needs to repeat the search.
    #[serde(flatten)]
    search: &'a dyn erased_serde::Serialize,
}

/// A finding in words; `None` if it is none.
pub fn describe(
    asked: &[AskedProperty],
    tables: &Tables,
    finding: method::Finding,
) -> Option<(Finding, Option<Origin>)> {
    let method::Finding { number, verdict, shown: evidence, origin } = finding;
    let repeats_from = evidence.as_ref().and_then(|evidence| evidence.repeats_from);
    let show =
        |trace| ShownTrace { repeats_from, ..ShownTrace::new(&tables.network, &*tables.source, trace) };
    let (verdict, property, message, shown) = match verdict {
        Verdict::Violated { property, trace } => {
            let (asked, shown) = (&asked[property], show(&trace));
            let how = match &evidence {
                Some(evidence) => evidence.text.clone(),
                None => asked.how(shown.steps.len(), shown.terminated),
            };
            ("violated", Some(asked.name.clone()), how, shown)
        }
        Verdict::Faulty { message, trace } => ("faulty", None, message, show(&trace)),
        Verdict::Holds | Verdict::Unknown(_) => return None,
    };
    let finding = Finding {
        number,
        verdict,
        property,
        message,
        job: origin.as_ref().map(|origin| origin.job),
        member: origin.as_ref().map(|origin| origin.member.clone()),
        steps: shown.steps.len() as u64,
        found_steps: origin.as_ref().map_or(0, |origin| origin.found_steps),
        states: origin.as_ref().map_or(0, |origin| origin.states),
        seconds: origin.as_ref().map_or(0.0, |origin| origin.after.as_secs_f64()),
        trace_file: None,
        job_file: None,
        command: None,
        from_seed: None,
        trace: shown.steps.clone(),
        end: shown.end.clone(),
        repeats_from,
        critical_step: evidence.as_ref().and_then(|evidence| evidence.critical_step),
        closure_states: evidence.as_ref().and_then(|evidence| evidence.closure_states),
        stuck: shown.stuck.clone(),
        shown,
    };
    Some((finding, origin))
}

/// Writes the trace and, beside it, the file that finds it again, if the method names a directory.
pub fn save(
    task: &Task,
    specification: &Specification,
    finding: &mut Finding,
    origin: Origin,
) -> io::Result<()> {
    let Some(dir) = &task.method.findings() else { return Ok(()) };
    fs::create_dir_all(dir)
        .map_err(|e| io::Error::new(e.kind(), format!("cannot make the directory {}: {e}", dir.display())))?;
    let stem =
        Path::new(&specification.name).file_stem().map_or(task.command.into(), |s| s.to_string_lossy());
    let stem = format!("{stem}-{}", origin.stem).replace(char::is_whitespace, "_");
    let mut trace = Vec::new();
    finding.shown.from = task.from.as_ref().map(Start::shown);
    finding.shown.record(&specification.name).write(&mut trace)?;
    for k in 1..=TRIES {
        let name = if k == 1 { stem.clone() } else { format!("{stem}-{k}") };
        let (trace_file, job_file) = (dir.join(format!("{name}.trace")), dir.join(format!("{name}.json")));
        let mut repeat = origin.repeat.clone();
        repeat.insert(1.min(repeat.len()), job_file.display().to_string());
        let file = FindingFile {
            version: JSON_VERSION,
            gridlock: env!("CARGO_PKG_VERSION"),
            specification: &specification.name,
            fingerprint: specification.fingerprint(),
            title: finding.title(),
            trace: format!("{name}.trace"),
            steps: finding.steps,
            found_steps: finding.found_steps,
            command: command(task, &repeat),
            from_seed: command(task, &origin.again),
            search: &*origin.record,
        };
        let mut text = serde_json::to_vec_pretty(&file)?;
        text.push(b'\n');
        if claim(&trace_file, &trace)? && claim(&job_file, &text)? {
            finding.trace_file = Some(trace_file.display().to_string());
            finding.job_file = Some(job_file.display().to_string());
            finding.command = Some(file.command);
            finding.from_seed = Some(file.from_seed);
            return Ok(());
        }
    }
    Err(io::Error::other(format!("all names for it in {} are taken", dir.display())))
}

/// A command line of this task with other options of the method.
fn command(task: &Task, options: &[String]) -> String {
    let specification = task.specification.display().to_string();
    let words = ["gridlock".to_owned(), task.command.to_owned(), specification];
    let (wanted, tables) = (task.wanted.arguments(), task.tables.arguments());
    let from: Vec<String> = task.from.iter().flat_map(Start::arguments).collect();
    let all = words.iter().chain(&wanted).chain(&from).chain(&tables).chain(options);
    all.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Writes a file, or finds that it exists with the same content. False if a file with other content has its name.
fn claim(path: &Path, content: &[u8]) -> io::Result<bool> {
    let new = write_new(path, |out| out.write_all(content))?;
    Ok(new || fs::read(path).is_ok_and(|there| there == content))
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let cases = [("abc.mcrl2", "abc.mcrl2"), ("a b", "'a b'"), ("", "''"), ("it's(_)", "'it'\\''s(_)'")];
        for (word, expected) in cases {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn only_equal_files_are_shared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        assert!(claim(&path, b"one").unwrap());
        assert!(claim(&path, b"one").unwrap());
        assert!(!claim(&path, b"two").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"one");
    }
}
