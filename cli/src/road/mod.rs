//! The road of `check` and `hunt` for all methods: load, choose, run, report, exit.
//!
//! [`load`] makes a system and its properties from texts; the command has chosen a [`Method`]; this module conducts it, with
//! a [`host`] that shows progress and takes findings; [`report`] and [`page`] show the outcome. Invariant: nothing here knows
//! which method it is, and a result that exists reaches the user no matter which limit was hit.

mod evidence;
mod findings;
mod host;
mod load;
mod page;
pub mod properties;
pub mod report;

use crate::flags::TableArguments;
use crate::input::{Specification, is_stdin, name_of};
use crate::methods::methods;
use crate::outcome::{Exit, Failure};
use crate::output::{check_place, first_failure, is_stdout, print};
use crate::shown_trace::ShownTrace;
use crate::start::Start;
use crate::terminal::tell;
use crate::watch::Watch;
use findings::Finding;
use gridlock_lts::base::error::{Error, Limit};
use gridlock_lts::base::whole_file::write_whole;
use gridlock_manager::method::Peers;
use gridlock_manager::method::checkpoint::RESULT;
use gridlock_manager::method::{Bound, Common, Conclusion, Entry, Method, Outcome, Refusal, Run, Tables};
use host::RoadHost;
use load::Loaded;
use properties::{AskedProperty, Kind, Wanted};
use report::{Doubts, FinishedRun};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The findings so far, for the thread of the run and for the one that may have to end it.
pub type Findings = Arc<Mutex<Vec<Finding>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The task of a command.
pub struct Task<'a> {
    /// The command, for command lines that find something again.
    pub command: &'static str,
    /// The specification.
    pub specification: &'a Path,
    /// The properties that the user asks for.
    pub wanted: &'a Wanted,
    /// The state in which it begins, if not the initial one.
    pub from: Option<Start>,
    /// How tables are filled.
    pub tables: &'a TableArguments,
    /// The method, as the list has it.
    pub entry: &'static Entry,
    /// The method with the user's flags.
    pub method: &'a dyn Method,
    /// Flags that every search takes.
    pub common: Common,
    /// Bytes that the process may use.
    pub memory: u64,
    /// Whether to look for equations that disagree.
    pub check_equations: bool,
    /// The file for the counterexample.
    pub trace_out: Option<&'a Path>,
    /// The file for the whole proof of a formula's answer.
    pub evidence_out: Option<&'a Path>,
    /// The file for the result as JSON.
    pub json: Option<&'a Path>,
    /// The list that gets findings as soon as they are known.
    pub findings: Findings,
}

impl Task<'_> {
    /// The number of threads of this process.
    pub fn threads(&self) -> usize {
        self.method.threads(self.common.workers)
    }

    /// Refuses flags that cannot be fulfilled, before any work is done.
    fn check(&self) -> Result<(), Failure> {
        self.method.check(&self.common)?;
        if usize::from(is_stdin(self.specification)) + self.wanted.on_stdin() > 1 {
            return Err(Failure::input("only one file can be read from standard input"));
        }
        if let Some(path) = self.evidence_out.filter(|path| !evidence::is_known(path)) {
            return Err(Failure::input(format_args!(
                "--evidence-out writes .aut and .dot, and {} ends in neither",
                path.display()
            )));
        }
        let files = [
            ("--trace-out", self.trace_out),
            ("--evidence-out", self.evidence_out),
            ("--report", self.method.report()),
        ];
        let picture = self.method.picture().map(|(flag, path)| (flag, Some(path)));
        for (flag, path) in files.into_iter().chain(picture) {
            if let Some(path) = path {
                if is_stdout(path) {
                    return Err(Failure::input(format_args!(
                        "{flag} needs the name of a file; standard output has the result"
                    )));
                }
                check_place(path)?;
            }
        }
        self.json.filter(|path| !is_stdout(path)).map_or(Ok(()), check_place)
    }
}

/// The result of a task.
struct Examined {
    outcome: Outcome,
    trace: Option<ShownTrace>,
    doubts: Doubts,
    build_time: Duration,
    /// Tables that the search does not need any more. Freeing millions of small pieces takes time, and a limit that is
    /// reached then must not cost the result.
    tables: Option<Tables>,
}

/// Runs a task.
pub fn run(task: &Task, watch: &Watch, quiet: bool, peers: &Peers) -> Result<Exit, Failure> {
    task.check()?;
    let specification = Specification::read(task.specification)?;
    let host = RoadHost::new(task, &specification, watch, quiet || peers.is_worker());
    let mut asked = task.wanted.names();
    let examined = match examine(task, &specification, &mut asked, &host, peers) {
        Err(Failure::Stopped) => Examined {
            outcome: Outcome::unknown(
                task.method.bound(watch.limit().unwrap_or(Limit::Interrupted)),
                Duration::ZERO,
                task.method.unbegun(),
            ),
            trace: None,
            doubts: Doubts::default(),
            build_time: watch.elapsed(),
            tables: None,
        },
        examined => examined?,
    };
    if peers.is_worker() {
        // The one that speaks has come to the same.
        return Ok(Exit::Unknown);
    }
    watch.rest();
    // From here on there is a result, which a limit must not take away.
    if !watch.claim_result() {
        // The result that `give_up` writes is the only one, and the process ends with it.
        loop {
            std::thread::park();
        }
    }
    let Examined { outcome, trace, doubts, build_time, tables } = examined;
    // The process is about to end, which frees them faster.
    std::mem::forget(tables);
    let report = FinishedRun {
        task,
        specification: &specification.name,
        asked: &asked,
        outcome: &outcome,
        trace: trace.as_ref(),
        doubts: &doubts,
        findings: &host.findings(),
        build_time,
    };
    conclude(&report, watch, quiet)
}

/// Writes the result to all destinations, and returns the exit code.
fn conclude(report: &FinishedRun, watch: &Watch, quiet: bool) -> Result<Exit, Failure> {
    let told = tell_all(report, watch, quiet);
    if let Conclusion::Faulty(_) = &report.outcome.conclusion {
        first_failure([Err(Failure::Specification(report.fault())), told.clone()])?;
    }
    told.map(|()| match &report.outcome.conclusion {
        Conclusion::Holds => Exit::Yes,
        Conclusion::Violated(_) => Exit::No,
        Conclusion::Unknown(_) | Conclusion::Faulty(_) => Exit::Unknown,
    })
}

/// Writes the result of a run whose work does not notice that it is to stop, from another thread: the findings, or else
/// `unknown` with the reason.
pub fn give_up(task: &Task, watch: &Watch, quiet: bool) -> Result<Exit, Failure> {
    watch.rest();
    let limit = watch.limit().unwrap_or(Limit::Interrupted);
    let (mut asked, findings) = (task.wanted.names(), lock(&task.findings).clone());
    let mut outcome = Outcome::unknown(task.method.bound(limit), Duration::ZERO, task.method.unbegun());
    let shown = findings.iter().find(|found| found.property.is_some()).or(findings.first());
    if let Some(found) = shown {
        outcome.conclusion = match &found.property {
            Some(name) => Conclusion::Violated(place_of(&mut asked, name, found)),
            None => Conclusion::Faulty(found.message.clone()),
        };
    }
    let report = FinishedRun {
        task,
        specification: &name_of(task.specification),
        asked: &asked,
        outcome: &outcome,
        trace: shown.map(|found| &found.shown),
        doubts: &Doubts::default(),
        findings: &findings,
        build_time: watch.elapsed(),
    };
    conclude(&report, watch, quiet)
}

/// The index of the property of a finding. A property of a file with several has a name of its own, which is known only once
/// the file is translated.
fn place_of(asked: &mut Vec<AskedProperty>, name: &str, found: &Finding) -> usize {
    asked.iter().position(|one| one.name == name).unwrap_or_else(|| {
        let repeats = found.repeats_from.is_some() || found.critical_step.is_some();
        let kind = if repeats { Kind::Game } else { Kind::Formula };
        asked.push(AskedProperty { name: name.to_owned(), kind });
        asked.len() - 1
    })
}

/// Runs a task for one of several states, up to the result, which the caller reports.
pub fn tell_one<R>(
    task: &Task,
    specification: &Specification,
    watch: &Watch,
    peers: &Peers,
    tell: impl FnOnce(&FinishedRun) -> R,
) -> Result<R, Failure> {
    let host = RoadHost::new(task, specification, watch, true);
    let mut asked = task.wanted.names();
    let Examined { outcome, trace, doubts, build_time, tables: _tables } =
        examine(task, specification, &mut asked, &host, peers)?;
    if let Conclusion::Unknown(_) = outcome.conclusion
        && watch.stopped().is_some()
    {
        return Err(Failure::Stopped);
    }
    watch.rest();
    Ok(tell(&FinishedRun {
        task,
        specification: &specification.name,
        asked: &asked,
        outcome: &outcome,
        trace: trace.as_ref(),
        doubts: &doubts,
        findings: &[],
        build_time,
    }))
}

/// Everything up to the result; `asked` becomes the list of properties that are searched for.
fn examine(
    task: &Task,
    specification: &Specification,
    asked: &mut Vec<AskedProperty>,
    host: &RoadHost,
    peers: &Peers,
) -> Result<Examined, Failure> {
    let start = Instant::now();
    let Loaded { tables, mut properties, patterns, identity, warnings, disagreements } =
        load::load(task, specification, host)?;
    asked.clone_from(&properties.asked);
    let named = properties.asked.iter().map(|asked| asked.name.as_str()).zip(&properties.checked);
    if let Some(refusal) = Refusal::of(methods(), task.entry, named) {
        return Err(Error::from(refusal).into());
    }
    let names = properties.asked.iter().map(|asked| asked.name.clone()).collect();
    host.know(std::mem::take(&mut properties.asked));
    let mut run = Run {
        tables: Some(tables),
        properties: std::mem::take(&mut properties.checked).into(),
        names,
        patterns,
        file: specification.name.clone(),
        asked: identity,
        peers,
        common: task.common.clone(),
        threads: task.threads(),
        memory: task.memory,
        host,
        warn: &|text| tell(format_args!("warning: {text}")),
    };
    if peers.is_worker() {
        return Err(Failure::Served(task.method.serve(&mut run)?));
    }
    let outcome = match task.method.conduct(&mut run) {
        Err(Error::Limit(limit)) => {
            Outcome::unknown(task.method.bound(limit), Duration::ZERO, task.method.unbegun())
        }
        outcome => outcome?,
    };
    if let Some(disagreements) = disagreements {
        specification.tell(&disagreements);
    }
    let from = task.from.as_ref().map(Start::shown);
    let shown = |trace| ShownTrace {
        from: from.clone(),
        repeats_from: outcome.figures.repeats_from(),
        ..ShownTrace::new(&run.tables().network, &*run.tables().source, trace)
    };
    let trace = outcome.trace.as_ref().map(shown);
    // What was not spent on the search was spent before it.
    let build_time = start.elapsed().saturating_sub(outcome.time);
    let is_sure = outcome.conclusion == Conclusion::Holds && run.tables().complete;
    let vacuous = if is_sure { properties.unasked(&run.tables().network) } else { Vec::new() };
    let doubts = Doubts { warnings, vacuous };
    Ok(Examined { outcome, trace, doubts, build_time, tables: run.tables.take() })
}

/// Writes the result to all destinations that the user asked for. Standard output comes first: a full disk must not cost the
/// verdict.
fn tell_all(report: &FinishedRun, watch: &Watch, quiet: bool) -> Result<(), Failure> {
    let Task { trace_out, evidence_out, json, method, .. } = *report.task;
    let conclusion = &report.outcome.conclusion;
    let write_json = |path: &Path| write_whole(path, |out| report.write_json(out)).map_err(Failure::input);
    let mut told = Vec::new();
    if json.is_some_and(is_stdout) {
        told.push(print(watch, |out| report.write_json(out)));
    } else if !matches!(conclusion, Conclusion::Faulty(_)) || !report.findings.is_empty() {
        // What is wrong with a specification goes to standard error, as everywhere.
        told.push(print(watch, |out| report.write_text(out)));
    }
    if let Some(path) = trace_out {
        match report.trace {
            Some(trace) => told.push(trace.save(path, report.specification, &report.title(), watch)),
            None if !quiet => {
                tell(format_args!("there is no counterexample, so {} is not written", path.display()))
            }
            None => {}
        }
    }
    if let Some(path) = evidence_out {
        match report.outcome.figures.proof() {
            Some(proof) => told.push(evidence::save(proof, path)),
            None if !quiet => tell(format_args!(
                "there is no proof of a formula that was checked, so {} is not written",
                path.display()
            )),
            None => {}
        }
    }
    if let Some((_, path)) = method.picture() {
        match report.outcome.figures.picture(&report.title()) {
            Some(picture) => {
                let written = write_whole(path, |out| out.write_all(picture.as_bytes()));
                told.push(written.map_err(Failure::input));
            }
            None if !quiet => {
                tell(format_args!("there is nothing to draw, so {} is not written", path.display()))
            }
            None => {}
        }
    }
    if let Some(path) = method.report() {
        told.push(write_whole(path, |out| page::write(report, out)).map_err(Failure::input));
    }
    let checkpoint = method.checkpoint().and_then(|place| place.checkpoint.as_deref());
    // A run that ended before the search began says nothing about what is in the checkpoint.
    if let Some(dir) = checkpoint.filter(|_| report.outcome.figures.begun()) {
        // A checkpoint that could not be written once cannot be written now; the run has told so.
        let written = write_json(&dir.join(RESULT));
        if !matches!(conclusion, Conclusion::Unknown(Bound { checkpoint_lost: true, .. })) {
            told.push(written);
        }
    }
    if let Some(path) = json.filter(|path| !is_stdout(path)) {
        told.push(write_json(path));
    }
    first_failure(told)
}
