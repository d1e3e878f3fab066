//! What `check` tells: for people on standard output, for programs as JSON. `docs/json.md` documents every field.

use super::properties::{Asked, Kind};
use super::search::{Conclusion, Outcome, after, per_state};
use super::swarm::{Figures, SliceFigures, SliceRun};
use super::{Arguments, Search};
use crate::quantities::{bytes, count, counted, tenths};
use crate::shown_trace::{JSON_VERSION, ShownState, ShownStep};
use crate::stuck::ShownStuck;
use crate::terminal::Style;
use gridlock_lts::engine::search::Stats;
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;

/// More properties than this are not named one by one.
const NAMED: usize = 4;

/// A finished run.
pub struct Report<'a> {
    /// What was asked for.
    pub arguments: &'a Arguments,
    /// The specification as the user called it.
    pub specification: &'a str,
    /// The properties, numbered as in the conclusion.
    pub asked: &'a [Asked],
    /// What came out.
    pub outcome: &'a Outcome,
    /// Time to read the specification and to build tables and properties.
    pub build_time: Duration,
}

#[derive(Serialize)]
struct Json<'a> {
    version: u32,
    gridlock: &'static str,
    specification: &'a str,
    verdict: &'static str,
    exhaustive: bool,
    property: String,
    properties: Vec<JsonProperty<'a>>,
    reason: Option<&'static str>,
    message: Option<String>,
    search: Search,
    workers: usize,
    states: Option<u64>,
    transitions: Option<u64>,
    depth: Option<u64>,
    deadlocks: Option<u64>,
    seconds: f64,
    build_seconds: f64,
    peak_memory_bytes: Option<u64>,
    bytes_per_state: Option<f64>,
    trace: Option<&'a [ShownStep]>,
    end: Option<&'a [ShownState]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stuck: Option<&'a [ShownStuck]>,
    swarm: Option<&'a Figures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slices: Option<&'a SliceFigures>,
}

#[derive(Serialize)]
struct JsonProperty<'a> {
    name: &'a str,
    verdict: &'static str,
}

impl Report<'_> {
    /// Writes JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let Outcome { conclusion, stats, trace, swarm, slices } = self.outcome;
        // The searches of a swarm overlap: nobody knows how many different states they saw.
        let known = self.arguments.search != Search::Isv || slices.is_some();
        let verdict_of = |property| match conclusion {
            Conclusion::Holds => "holds",
            Conclusion::Violated(violated) if *violated == property => "violated",
            _ => "unknown",
        };
        let (verdict, reason) = match conclusion {
            Conclusion::Holds => ("holds", None),
            Conclusion::Violated(_) => ("violated", None),
            Conclusion::Faulty(_) => ("faulty", Some("fault")),
            Conclusion::Unknown(bound) => ("unknown", Some(bound.name())),
        };
        let names = self.asked.iter().enumerate();
        let json = Json {
            version: JSON_VERSION,
            gridlock: env!("CARGO_PKG_VERSION"),
            specification: self.specification,
            verdict,
            exhaustive: *conclusion == Conclusion::Holds,
            property: self.about(|asked| &asked.name, usize::MAX),
            properties: names.map(|(i, a)| JsonProperty { name: &a.name, verdict: verdict_of(i) }).collect(),
            reason,
            message: self.message(),
            search: self.arguments.search,
            workers: self.arguments.workers(),
            states: known.then_some(stats.states),
            transitions: known.then_some(stats.transitions),
            depth: (self.arguments.search != Search::Isv).then_some(stats.depth),
            deadlocks: known.then_some(stats.deadlocks),
            seconds: stats.time.as_secs_f64(),
            build_seconds: self.build_time.as_secs_f64(),
            peak_memory_bytes: known.then_some(stats.peak_memory),
            bytes_per_state: known.then(|| per_state(stats.peak_memory, stats)),
            trace: trace.as_ref().map(|t| &t.steps[..]),
            end: trace.as_ref().map(|t| &t.end[..]),
            stuck: trace.as_ref().map(|t| &t.stuck[..]).filter(|stuck| !stuck.is_empty()),
            swarm: swarm.as_ref().map(|s| &s.figures),
            slices: slices.as_ref().map(|s| &s.figures),
        };
        serde_json::to_writer_pretty(&mut *out, &json)?;
        writeln!(out)
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
        self.write_summary(out)?;
        if let Some(trace) = &self.outcome.trace {
            if trace.steps.is_empty() {
                writeln!(out, "\nviolated in the initial state, by no step at all")?;
            } else {
                trace.write_names(style, out)?;
                writeln!(out, "\n{strong}counterexample, {}{off}", counted(trace.steps.len(), "step"))?;
                trace.write_steps(style, out)?;
            }
            writeln!(out, "\n{strong}the processes then{off}")?;
            trace.write_end(style, out)?;
            if self.is_deadlock() {
                trace.write_stuck(style, out)?;
            }
        }
        Ok(())
    }

    /// Whether what is violated is freedom from deadlock.
    pub fn is_deadlock(&self) -> bool {
        matches!(self.outcome.conclusion, Conclusion::Violated(p) if self.asked[p].kind == Kind::Deadlock)
    }

    /// The verdict in one line.
    pub fn title(&self) -> String {
        let about = self.about(Asked::shown, NAMED);
        match (&self.outcome.conclusion, self.message()) {
            (Conclusion::Violated(_), Some(how)) => format!("violated: {about}: {how}"),
            (Conclusion::Unknown(bound), Some(why)) => {
                let kind = bound.kind().map_or(String::new(), |kind| format!(" ({kind})"));
                format!("unknown{kind}: {about}: {why}")
            }
            (Conclusion::Faulty(_), Some(why)) => format!("faulty: {why}"),
            _ => format!("holds: {about}"),
        }
    }

    /// The property that is violated; all of them if none is, or their number if they are more than `named`.
    fn about<'s>(&'s self, name: impl Fn(&'s Asked) -> &'s str, named: usize) -> String {
        match self.outcome.conclusion {
            Conclusion::Violated(property) => name(&self.asked[property]).to_owned(),
            _ if self.asked.len() > named => format!("all {} properties", self.asked.len()),
            _ => self.asked.iter().map(name).collect::<Vec<_>>().join(", "),
        }
    }

    /// What there is to say beyond the verdict.
    fn message(&self) -> Option<String> {
        let (steps, terminated) =
            self.outcome.trace.as_ref().map_or((0, false), |t| (t.steps.len(), t.terminated));
        match &self.outcome.conclusion {
            Conclusion::Holds => None,
            Conclusion::Violated(property) => Some(self.asked[*property].how(steps, terminated)),
            Conclusion::Faulty(message) => Some(message.clone()),
            Conclusion::Unknown(bound) => Some(bound.message()),
        }
    }

    fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        let stats = &self.outcome.stats;
        if let Some(slices) = &self.outcome.slices {
            return self.write_slices(slices, out);
        }
        if self.arguments.search == Search::Isv {
            return self.write_swarm(out);
        }
        let rows = [
            ("states", count(stats.states)),
            ("transitions", count(stats.transitions)),
            ("depth", count(stats.depth)),
            ("deadlocks", count(stats.deadlocks)),
            ("seconds", format!("{:.3}", stats.time.as_secs_f64())),
            ("build seconds", format!("{:.3}", self.build_time.as_secs_f64())),
            ("peak memory", bytes(stats.peak_memory)),
        ];
        write_rows(&[&rows[..], &bytes_per_state(stats)].concat(), out)
    }

    fn write_slices(&self, slices: &SliceRun, out: &mut dyn Write) -> io::Result<()> {
        write_rows(&self.slice_rows(slices), out)?;
        writeln!(out)?;
        slices.figures.settings().iter().try_for_each(|(name, value)| writeln!(out, "  {name:<16}{value}"))
    }

    /// The figures of a search by slices.
    pub fn slice_rows(&self, slices: &SliceRun) -> Vec<(&'static str, String)> {
        let stats = &self.outcome.stats;
        let mut rows = vec![
            ("states", count(stats.states)),
            ("transitions", count(stats.transitions)),
            ("deadlocks", count(stats.deadlocks)),
        ];
        rows.extend(slices.figures.rows());
        rows.push(("seconds", format!("{:.3}", stats.time.as_secs_f64())));
        rows.push(("build seconds", format!("{:.3}", self.build_time.as_secs_f64())));
        rows.push(("peak memory", bytes(stats.peak_memory)));
        rows.extend(bytes_per_state(stats));
        rows
    }

    /// The figures of a swarm, and how it was run.
    fn write_swarm(&self, out: &mut dyn Write) -> io::Result<()> {
        let swarm = self.outcome.swarm.as_ref();
        let mut rows = swarm.map_or(Vec::new(), |swarm| swarm.figures.rows());
        rows.push(("seconds", format!("{:.3}", self.outcome.stats.time.as_secs_f64())));
        rows.push(("build seconds", format!("{:.3}", self.build_time.as_secs_f64())));
        rows.push(("workers", count(self.arguments.workers() as u64)));
        write_rows(&rows, out)?;
        let Some(swarm) = swarm else { return Ok(()) };
        writeln!(out)?;
        swarm.figures.settings().iter().try_for_each(|(name, value)| writeln!(out, "  {name:<16}{value}"))
    }

    /// A specification without meaning, for standard error.
    pub fn fault(&self) -> String {
        let Style { wrong, strong, off, .. } = Style::of_stderr();
        let message = self.message().unwrap_or_default();
        let mut text = Vec::new();
        // The last step of the trace is the one that has no meaning.
        let steps = self.outcome.trace.as_ref().map_or(&[][..], |t| &t.steps[..]);
        let before = steps.split_last().map_or(steps, |(_, before)| before);
        let _ = writeln!(text, "{wrong}error{off}{strong}: {message}{off}");
        let _ = writeln!(
            text,
            "  this happens {}{}",
            after(before.len()),
            if before.is_empty() { "" } else { ":" }
        );
        let _ = crate::shown_trace::write_steps(before, Style::of_stderr(), &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// The memory of a state, if there are enough states for it to mean something: below that it is that of empty tables.
fn bytes_per_state(stats: &Stats) -> Vec<(&'static str, String)> {
    const ENOUGH: u64 = 100_000;
    let row = || ("bytes/state", tenths(per_state(stats.peak_memory, stats)));
    if stats.states >= ENOUGH { vec![row()] } else { Vec::new() }
}

/// Names to the left, values to the right; a value of several words keeps only its number in the column.
pub fn write_rows(rows: &[(&str, String)], out: &mut dyn Write) -> io::Result<()> {
    let split = |value: &str| value.split_once(' ').map_or(value.len(), |(number, _)| number.len());
    let name_width = rows.iter().map(|(name, _)| name.len() + 2).max().unwrap_or(0).max(14);
    let width = rows.iter().map(|(_, value)| split(value)).max().unwrap_or(0);
    rows.iter().try_for_each(|(name, value)| {
        let (number, unit) = value.split_at(split(value));
        writeln!(out, "  {name:<name_width$}{number:>width$}{unit}")
    })
}
