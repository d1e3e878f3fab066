//! The report of a run at its end: for people on standard output, for programs as JSON. `docs/json.md` documents every field.

use super::Task;
use super::findings::Finding;
use super::properties::{AskedProperty, Kind, after};
use crate::quantities::counted;
use crate::shown_trace::{JSON_VERSION, ShownTrace};
use crate::start::Start;
use crate::terminal::Style;
use gridlock_manager::method::{Conclusion, Json, Outcome, Row, Spent};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// More properties than this are not named one by one.
const NAMED: usize = 4;
/// The steps of a longer counterexample are shown only in the file in which it is saved, if it is saved.
const SHOWN_STEPS: usize = 200;

/// Why a property may hold, or not, for another reason than it should.
#[derive(Default)]
pub struct Doubts {
    /// Actions that properties name and no step can be seen to have.
    pub warnings: Vec<String>,
    /// Of formulas that automata watched and that hold: the antecedents for which the system has no step.
    pub vacuous: Vec<String>,
}

/// A finished run.
pub struct FinishedRun<'a> {
    /// The task.
    pub task: &'a Task<'a>,
    /// The specification, as the user named it.
    pub specification: &'a str,
    /// The properties, numbered as in the conclusion.
    pub asked: &'a [AskedProperty],
    /// The outcome.
    pub outcome: &'a Outcome,
    /// The run that shows a violation or a fault.
    pub trace: Option<&'a ShownTrace>,
    /// Reasons to doubt the verdict.
    pub doubts: &'a Doubts,
    /// The findings of a method that may find several.
    pub findings: &'a [Finding],
    /// Time to read the specification and to build tables and properties.
    pub build_time: Duration,
}

/// A JSON object, its fields in order.
#[derive(Default)]
struct Object<'a>(Vec<(&'static str, Json<'a>)>);

impl<'a> Object<'a> {
    /// Adds a field, or replaces the one of that name.
    fn set(&mut self, name: &'static str, value: Json<'a>) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[derive(Serialize)]
struct JsonProperty<'a> {
    name: &'a str,
    verdict: &'static str,
}

impl FinishedRun<'_> {
    fn spent(&self) -> Spent {
        Spent { search: self.outcome.time, build: self.build_time, workers: self.task.threads() }
    }

    /// Writes JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &self.json())?;
        writeln!(out)
    }

    /// Writes JSON in one line.
    pub fn write_json_line(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, &self.json())?;
        writeln!(out)
    }

    fn json(&self) -> Object<'_> {
        let Outcome { conclusion, time, figures, .. } = self.outcome;
        let reason = match conclusion {
            Conclusion::Holds | Conclusion::Violated(_) => None,
            Conclusion::Faulty(_) => Some("fault"),
            Conclusion::Unknown(bound) => Some(bound.name),
        };
        let mut json = Object::default();
        json.set("version", Box::new(JSON_VERSION));
        json.set("gridlock", Box::new(env!("CARGO_PKG_VERSION")));
        json.set("specification", Box::new(self.specification));
        json.set("from", Box::new(self.task.from.as_ref().map(Start::fields)));
        json.set("verdict", Box::new(conclusion.name()));
        json.set("exhaustive", Box::new(*conclusion == Conclusion::Holds));
        json.set("property", Box::new(self.about(|asked| &asked.name, usize::MAX)));
        json.set("properties", self.properties());
        json.set("reason", Box::new(reason));
        json.set("message", Box::new(self.message()));
        json.set("search", Box::new(self.task.entry.search.unwrap_or(self.task.entry.name)));
        json.set("workers", Box::new(self.task.threads()));
        // Which of these it knows, the method says.
        for name in ["states", "transitions", "depth", "deadlocks"] {
            json.set(name, Box::new(()));
        }
        json.set("seconds", Box::new(time.as_secs_f64()));
        json.set("build_seconds", Box::new(self.build_time.as_secs_f64()));
        json.set("peak_memory_bytes", Box::new(()));
        json.set("bytes_per_state", Box::new(()));
        json.set("trace", Box::new(self.trace.map(|trace| &trace.steps)));
        json.set("end", Box::new(self.trace.map(|trace| &trace.end)));
        if let Some(trace) = self.trace.filter(|trace| !trace.stuck.is_empty()) {
            json.set("stuck", Box::new(&trace.stuck));
        }
        json.set("swarm", Box::new(()));
        if self.task.method.finds_several() {
            json.set("findings", Box::new(self.findings));
        }
        json.set("warnings", Box::new(&self.doubts.warnings));
        figures.fields().into_iter().for_each(|(name, value)| json.set(name, value));
        json.set("vacuous", Box::new(self.vacuous()));
        json
    }

    /// The antecedents of formulas that hold, for which the system has no step.
    fn vacuous(&self) -> Vec<&str> {
        let all = self.outcome.figures.vacuous().iter().chain(&self.doubts.vacuous);
        all.map(String::as_str).collect()
    }

    /// The notes before the figures.
    pub fn notes(&self) -> Vec<Cow<'_, str>> {
        let vacuous = self.vacuous().into_iter().map(|antecedent| {
            Cow::from(format!(
                "warning: no step is {antecedent} wherever the formula looks: what it asks for afterwards was not put to the test"
            ))
        });
        vacuous.chain(self.outcome.figures.note()).collect()
    }

    /// The properties with their verdicts; only their names if several may be violated.
    fn properties(&self) -> Json<'_> {
        if self.task.method.finds_several() {
            return Box::new(self.asked.iter().map(|asked| &asked.name).collect::<Vec<_>>());
        }
        let verdict = |property| match &self.outcome.conclusion {
            Conclusion::Holds => "holds",
            Conclusion::Violated(violated) if *violated == property => "violated",
            _ => "unknown",
        };
        let named = self.asked.iter().enumerate();
        Box::new(named.map(|(i, a)| JsonProperty { name: &a.name, verdict: verdict(i) }).collect::<Vec<_>>())
    }

    /// Writes for people: the verdict, how much was searched, the counterexample.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = Style::of_stdout();
        let Style { strong, good, wrong, off, .. } = style;
        let colour = match self.outcome.conclusion {
            Conclusion::Holds => good,
            Conclusion::Violated(_) => wrong,
            _ => strong,
        };
        let title = self.title();
        let (verdict, rest) = title.split_once(':').unwrap_or((&title, ""));
        writeln!(out, "{colour}{verdict}{off}:{rest}\n")?;
        self.write_findings(out)?;
        let figures = &self.outcome.figures;
        let notes = self.notes();
        if !notes.is_empty() {
            writeln!(out, "{}\n", notes.join("\n"))?;
        }
        write_rows(&self.rows(), out)?;
        let settings = figures.settings();
        if !settings.is_empty() {
            writeln!(out)?;
        }
        settings.iter().try_for_each(|(name, value)| writeln!(out, "  {name:<16}{value}"))?;
        figures.write_tables(strong, off, out)?;
        self.trace.map_or(Ok(()), |trace| self.write_trace(trace, style, out))
    }

    /// The work done, as numbers.
    pub fn rows(&self) -> Vec<Row> {
        self.outcome.figures.rows(&self.spent())
    }

    fn write_findings(&self, out: &mut dyn Write) -> io::Result<()> {
        for finding in self.findings {
            writeln!(out, "  {}. {}", finding.number, finding.title())?;
            writeln!(out, "     {}", finding.how())?;
            if let (Some(file), Some(command)) = (&finding.trace_file, &finding.command) {
                writeln!(out, "     saved to {file}; to find it again:\n       {command}")?;
            }
        }
        if self.findings.is_empty() { Ok(()) } else { writeln!(out) }
    }

    fn write_trace(&self, trace: &ShownTrace, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let Style { strong, off, .. } = style;
        let steps = counted(trace.steps.len(), "step");
        let shown = match self.outcome.conclusion {
            Conclusion::Holds => "witness",
            _ => "counterexample",
        };
        if trace.steps.is_empty() {
            let place = self.begins().unwrap_or_else(|| "the initial state".to_owned());
            writeln!(out, "\nviolated in {place}, by no step at all")?;
        } else if trace.steps.len() > SHOWN_STEPS && self.findings.iter().any(|f| f.trace_file.is_some()) {
            return writeln!(out, "\n{strong}counterexample{off}: its {steps} are in the file");
        } else {
            trace.write_names(style, out)?;
            let from = self.from();
            writeln!(out, "\n{strong}{shown}, {steps}{from}{off}")?;
            trace.write_steps(style, out)?;
        }
        writeln!(out, "\n{strong}the processes then{off}")?;
        trace.write_end(style, out)?;
        if self.is_deadlock() { trace.write_stuck(style, out) } else { Ok(()) }
    }

    /// Whether what is violated is freedom from deadlock.
    pub fn is_deadlock(&self) -> bool {
        matches!(self.outcome.conclusion, Conclusion::Violated(p) if self.asked[p].kind == Kind::Deadlock)
    }

    /// The state in which it begins, if not the initial one.
    fn begins(&self) -> Option<String> {
        self.task.from.as_ref().map(|start| match start.shown() {
            state if state.starts_with("the ") => state,
            step => format!("the state after {step}"),
        })
    }

    /// The same, to follow another text.
    fn from(&self) -> String {
        self.task.from.as_ref().map_or(String::new(), |start| format!(", from {}", start.shown()))
    }

    /// The verdict in one line.
    pub fn title(&self) -> String {
        format!("{}{}", self.verdict(), self.from())
    }

    fn verdict(&self) -> String {
        let about = self.about(AskedProperty::shown, NAMED);
        if let Some(headline) = self.outcome.figures.headline() {
            return format!("{}: {headline}", self.outcome.conclusion.name());
        }
        match (&self.outcome.conclusion, self.message()) {
            (Conclusion::Violated(_), Some(how)) => format!("violated: {about}: {how}"),
            (Conclusion::Unknown(bound), Some(why)) => {
                let kind = bound.kind.map_or(String::new(), |kind| format!(" ({kind})"));
                format!("unknown{kind}: {about}: {why}")
            }
            (Conclusion::Faulty(_), Some(why)) => format!("faulty: {why}"),
            _ => format!("holds: {about}"),
        }
    }

    /// The property that is violated; all of them if none is, or their number if they are more than `named`.
    fn about<'s>(&'s self, name: impl Fn(&'s AskedProperty) -> &'s str, named: usize) -> String {
        match self.outcome.conclusion {
            Conclusion::Violated(property) => name(&self.asked[property]).to_owned(),
            _ if self.asked.len() > named => format!("all {} properties", self.asked.len()),
            _ => self.asked.iter().map(name).collect::<Vec<_>>().join(", "),
        }
    }

    /// The message beyond the verdict.
    fn message(&self) -> Option<String> {
        let (steps, terminated) =
            self.trace.map_or((0, false), |trace| (trace.steps.len(), trace.terminated));
        self.outcome.figures.headline().or_else(|| match &self.outcome.conclusion {
            Conclusion::Holds => None,
            Conclusion::Violated(property) => Some(self.asked[*property].how(steps, terminated)),
            Conclusion::Faulty(message) => Some(message.clone()),
            Conclusion::Unknown(bound) => Some(bound.message.clone()),
        })
    }

    /// A specification without meaning, for standard error.
    pub fn fault(&self) -> String {
        let Style { wrong, strong, off, .. } = Style::of_stderr();
        let message = self.message().unwrap_or_default();
        let mut text = Vec::new();
        // The last step of the trace is the one that has no meaning.
        let steps = self.trace.map_or(&[][..], |t| &t.steps[..]);
        let before = steps.split_last().map_or(steps, |(_, before)| before);
        let _ = writeln!(text, "{wrong}error{off}{strong}: {message}{off}");
        let _ = writeln!(
            text,
            "  this happens {}{}{}",
            after(before.len()),
            self.from(),
            if before.is_empty() { "" } else { ":" }
        );
        let _ = crate::shown_trace::write_steps(before, Style::of_stderr(), &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Names to the left, values to the right; a value of several words keeps only its number in the column.
fn write_rows(rows: &[(&str, String)], out: &mut dyn Write) -> io::Result<()> {
    let split = |value: &str| value.split_once(' ').map_or(value.len(), |(number, _)| number.len());
    let name_width = rows.iter().map(|(name, _)| name.len() + 2).max().unwrap_or(0).max(14);
    let width = rows.iter().map(|(_, value)| split(value)).max().unwrap_or(0);
    rows.iter().try_for_each(|(name, value)| {
        let (number, unit) = value.split_at(split(value));
        writeln!(out, "  {name:<name_width$}{number:>width$}{unit}")
    })
}
