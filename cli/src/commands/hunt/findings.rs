//! Findings: described, told and saved as soon as they are known.
//!
//! Invariant: a file of another run is never replaced. What an equal run wrote is left as it is.

use super::super::check::properties::{Asked, DEADLOCK};
use super::arguments::Arguments;
use super::job_file::JobFile;
use super::plan::Plan;
use crate::input::Specification;
use crate::quantities::{count, counted, duration};
use crate::shown_trace::{JSON_VERSION, ShownState, ShownStep, ShownTrace};
use crate::stuck::ShownStuck;
use crate::terminal::tell;
use crate::watch::{Phase, Watch};
use gridlock_lts::base::whole_file::write_new;
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::model::trace::Trace;
use gridlock_manager::hunt::Found;
use serde::Serialize;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// So many names are tried for a finding before it stays unsaved.
const TRIES: u32 = 1_000;

/// A finding as it is told.
#[derive(Serialize, Clone, Debug)]
pub struct Finding {
    pub number: u64,
    /// `violated`, or `faulty` if the specification has no meaning there.
    pub verdict: &'static str,
    /// The property that is violated.
    pub property: Option<String>,
    pub message: String,
    /// The search that found it, and the member it belongs to; none if it needs no search.
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stuck: Vec<ShownStuck>,
    #[serde(skip)]
    pub shown: ShownTrace,
}

impl Finding {
    /// Whether what is violated is freedom from deadlock.
    pub fn is_deadlock(&self) -> bool {
        self.property.as_deref() == Some(DEADLOCK)
    }

    /// In one line.
    pub fn title(&self) -> String {
        match &self.property {
            Some(property) => format!("violated: {}: {}", Asked::shown_name(property), self.message),
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

/// What findings are described and saved with.
pub struct Desk<'a> {
    pub specification: &'a Specification,
    pub arguments: &'a Arguments,
    pub asked: &'a [Asked],
    pub plan: &'a Plan,
    pub watch: &'a Watch,
    pub quiet: bool,
}

/// A verdict in words, with its trace.
pub fn described(
    asked: &[Asked],
    verdict: Verdict,
    show: &dyn Fn(&Trace) -> ShownTrace,
) -> Option<(&'static str, Option<String>, String, ShownTrace)> {
    match verdict {
        Verdict::Violated { property, trace } => {
            let asked = &asked[property];
            let shown = show(&trace);
            Some((
                "violated",
                Some(asked.name.clone()),
                asked.how(shown.steps.len(), shown.terminated),
                shown,
            ))
        }
        Verdict::Faulty { message, trace } => Some(("faulty", None, message, show(&trace))),
        // A finding is none of these.
        Verdict::Holds | Verdict::Unknown(_) => None,
    }
}

impl Desk<'_> {
    /// Describes a finding, tells of it and saves it.
    pub fn take(
        &self,
        found: &Found,
        verdict: Verdict,
        seconds: f64,
        show: &dyn Fn(&Trace) -> ShownTrace,
    ) -> Option<Finding> {
        let (verdict, property, message, shown) = described(self.asked, verdict, show)?;
        let mut finding = Finding {
            number: found.number,
            verdict,
            property,
            message,
            job: Some(found.job.number),
            member: Some(found.member.to_string()),
            steps: shown.steps.len() as u64,
            found_steps: found.finding.found_steps,
            states: found.states,
            seconds,
            trace_file: None,
            job_file: None,
            command: None,
            from_seed: None,
            trace: shown.steps.clone(),
            end: shown.end.clone(),
            stuck: shown.stuck.clone(),
            shown,
        };
        let before = self.watch.phase();
        self.watch.enter(Phase::Writing);
        let saved = self.save(&mut finding, found);
        self.watch.enter(before);
        if !self.quiet {
            tell(format_args!("found {}: {} ({})", finding.number, finding.title(), finding.how()));
        }
        if let Err(e) = saved {
            tell(format_args!("warning: finding {} is not saved: {e}", finding.number));
        }
        Some(finding)
    }

    /// Writes the trace and, beside it, what finds it again.
    fn save(&self, finding: &mut Finding, found: &Found) -> io::Result<()> {
        let Some(dir) = &self.arguments.out() else { return Ok(()) };
        fs::create_dir_all(dir).map_err(|e| {
            io::Error::new(e.kind(), format!("cannot make the directory {}: {e}", dir.display()))
        })?;
        let stem =
            Path::new(&self.specification.name).file_stem().map_or("hunt".into(), |s| s.to_string_lossy());
        let stem =
            format!("{stem}-{}-{}", self.plan.config.seed, finding.number).replace(char::is_whitespace, "_");
        let mut trace = Vec::new();
        finding.shown.record(&self.specification.name).write(&mut trace)?;
        for k in 1..=TRIES {
            let name = if k == 1 { stem.clone() } else { format!("{stem}-{k}") };
            let (trace_file, job_file) =
                (dir.join(format!("{name}.trace")), dir.join(format!("{name}.json")));
            let file = self.job_file(finding, found, &trace_file, &job_file);
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

    fn job_file(&self, finding: &Finding, found: &Found, trace_file: &Path, job_file: &Path) -> JobFile {
        let name = trace_file.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut again = vec!["--repeat".to_owned(), job_file.display().to_string()];
        let all = found.job.limits.findings;
        if all > 1 {
            // The search may have come upon others before this one.
            again.extend(["--findings".to_owned(), all.to_string()]);
        }
        let mut file = JobFile {
            version: JSON_VERSION,
            gridlock: env!("CARGO_PKG_VERSION").to_owned(),
            specification: self.specification.name.clone(),
            fingerprint: self.specification.fingerprint(),
            title: finding.title(),
            trace: name.unwrap_or_default(),
            steps: finding.steps,
            found_steps: finding.found_steps,
            command: self.command(&again),
            from_seed: self.command(&self.hunt_again(found)),
            member: found.member.to_string(),
            seed: self.plan.config.seed,
            subsystem: None,
            unroll: None,
            job: found.job.clone(),
        };
        file.guided_by(self.plan.guide.as_ref().filter(|_| found.member.is_guided()));
        file
    }

    /// The options that make the same jobs up to the one that found something.
    fn hunt_again(&self, found: &Found) -> Vec<String> {
        let Plan { config, guide, .. } = self.plan;
        if let (Some(_), Some(path)) = (&config.only, &self.arguments.repeat) {
            return vec!["--repeat".to_owned(), path.display().to_string()];
        }
        let portfolio: Vec<String> = config.portfolio.iter().map(ToString::to_string).collect();
        let mut all = vec![
            "--seed".to_owned(),
            config.seed.to_string(),
            "--max-jobs".to_owned(),
            (found.job.number + 1).to_string(),
            "--findings".to_owned(),
            config.findings.to_string(),
            "--job-memory".to_owned(),
            config.job_memory.to_string(),
            "--portfolio".to_owned(),
            portfolio.join(","),
            "--budget".to_owned(),
            "1d".to_owned(),
        ];
        let mut more = |name: &str, value: String| all.extend([name.to_owned(), value]);
        if let Some(most) = config.max_states {
            more("--max-states", most.to_string());
        }
        self.arguments.prefer.iter().for_each(|pattern| more("--prefer", pattern.clone()));
        if let Some(guided) = guide {
            more("--subsystem", guided.subsystem.join(","));
            if let Some(bound) = guided.unroll {
                more("--unroll", bound.to_string());
            }
        }
        if !config.steering {
            all.push("--no-steering".to_owned());
        }
        all
    }

    /// A command line of this hunt with other options.
    fn command(&self, options: &[String]) -> String {
        let specification = self.arguments.specification.display().to_string();
        let words = ["gridlock".to_owned(), "hunt".to_owned(), specification];
        let wanted = self.arguments.wanted.arguments();
        let tables = self.arguments.tables.arguments();
        let all = words.iter().chain(&wanted).chain(&tables).chain(options);
        all.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Writes a file, or finds that it is there with the same content. False if another one has its name.
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
