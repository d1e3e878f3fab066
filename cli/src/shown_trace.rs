//! A trace as it is shown to people and programs: on standard output, and in files of four formats.
//!
//! Invariant: it has everything that is shown, as text, so that neither network nor tables are needed any more. Steps are in
//! the order of the run, participants and `end` in the order of the specification.

use crate::chart;
use crate::outcome::Failure;
use crate::stuck::{self, ShownStuck};
use crate::terminal::Style;
use crate::watch::{Phase, Watch};
use gridlock_lts::base::whole_file::write_whole;
use gridlock_lts::model::aut;
use gridlock_lts::model::explicit::{Builder, State};
use gridlock_lts::model::network::{LeafIx, Network, Outcome, Step, TableSource};
use gridlock_lts::model::short_names::short_names;
use gridlock_lts::model::trace::Trace;
use gridlock_lts::model::trace_file::{RecordedPart, RecordedStep, TraceFile};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::Path;

pub use gridlock_manager::method::JSON_VERSION;

/// See the module head.
#[derive(Serialize, Clone, Default, Debug)]
pub struct ShownTrace {
    /// The state in which it begins, if not the initial one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The steps.
    #[serde(rename = "trace")]
    pub steps: Vec<ShownStep>,
    /// The first of the steps that are repeated for ever, counted from 1, if any are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats_from: Option<usize>,
    /// The states of all leaves after the last step.
    pub end: Vec<ShownState>,
    /// Whether all processes have terminated there.
    #[serde(skip)]
    pub terminated: bool,
    /// If no step is possible there: why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stuck: Vec<ShownStuck>,
}

/// One step.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct ShownStep {
    /// The visible label, `tau` if all actions are hidden; the message if the specification has no meaning here.
    pub label: String,
    /// The label before hiding, if something was hidden.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unhidden: Option<String>,
    /// The leaves that take part.
    #[serde(default)]
    pub leaves: Vec<ShownPart>,
}

/// The part of one leaf in a step.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct ShownPart {
    /// The leaf.
    pub name: String,
    /// The same, briefly.
    #[serde(skip)]
    pub short: String,
    /// The action that it contributes.
    pub action: String,
    /// Its state afterwards.
    #[serde(default)]
    pub state: String,
}

/// The state of one leaf.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct ShownState {
    /// The leaf.
    pub name: String,
    /// The same, briefly.
    #[serde(skip)]
    pub short: String,
    /// Its state.
    pub state: String,
    /// The text of the specification at the control point, if that is inside a process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl ShownTrace {
    /// Describes a trace of a network from its initial state, and, if no step is possible at its end, why.
    pub fn new(net: &Network, source: &dyn TableSource, trace: &Trace) -> Self {
        let short = brief(net);
        let fault = |step: &Step| matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_));
        let stuck = if trace.steps.last().is_some_and(fault) {
            Vec::new()
        } else {
            stuck::explain(net, source, &trace.end(net), &short)
        };
        ShownTrace { stuck, ..ShownTrace::steps(net, source, trace) }
    }

    /// Describes some steps, from any state.
    pub fn steps(net: &Network, source: &dyn TableSource, trace: &Trace) -> Self {
        let short = brief(net);
        let steps = trace.steps.iter().map(|step| {
            let RecordedStep { label, parts } = RecordedStep::new(net, source, step.vector, &step.target);
            let unhidden = &net.labels[net.vectors[step.vector.0 as usize].unhidden.0 as usize];
            // A vector that is a fault has no label that could have been hidden.
            let hidden = net.find_label(&label).is_some() && *unhidden != label;
            let who = net.vectors[step.vector.0 as usize].parts.iter();
            let part = |(&(ix, _), part): (&(LeafIx, _), RecordedPart)| {
                let RecordedPart { leaf, action, state } = part;
                ShownPart { name: leaf, short: short[ix.0 as usize].clone(), action, state }
            };
            let leaves = who.zip(parts).map(part).collect();
            ShownStep { label, unhidden: hidden.then(|| unhidden.clone()), leaves }
        });
        let terminated = net.is_terminated(&trace.end(net));
        let end = (0..).map(LeafIx).zip(net.leaves.iter().zip(trace.end(net)));
        let end = end.map(|(ix, (leaf, local))| ShownState {
            name: leaf.name.clone(),
            short: short[ix.0 as usize].clone(),
            state: source.describe(ix, local),
            source: source.excerpt(ix, local),
        });
        ShownTrace { steps: steps.collect(), end: end.collect(), terminated, ..ShownTrace::default() }
    }

    /// Whether the text uses short names of processes.
    pub fn has_short_names(&self) -> bool {
        self.end.iter().any(|leaf| leaf.short != leaf.name)
    }

    /// Writes the full names of processes for which the rest of the text uses short ones.
    pub fn write_names(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<(&str, &str)> =
            self.end.iter().map(|leaf| (leaf.short.as_str(), leaf.name.as_str())).collect();
        write_names(&names, style, out)
    }

    /// Writes the steps for people, one per line.
    pub fn write_steps(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        write_steps(&self.steps, style, out)?;
        let Style { faint, off, .. } = style;
        self.repeats_from
            .map_or(Ok(()), |from| writeln!(out, "{faint}        and so on from step {from} for ever{off}"))
    }

    /// Writes the states of all leaves at the end, for people.
    pub fn write_end(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let Style { faint, off, .. } = style;
        let width = self.end.iter().map(|leaf| leaf.short.chars().count()).max().unwrap_or(0);
        self.end.iter().try_for_each(|leaf| {
            let source = leaf.source.as_ref().map_or(String::new(), |text| format!("  {faint}{text}{off}"));
            writeln!(out, "  {:<width$}  {}{source}", leaf.short, leaf.state)
        })
    }

    /// Writes for people why no step is possible at the end, if none is.
    pub fn write_stuck(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        stuck::write_text(&self.stuck, style, out)
    }

    /// The trace in the form of a trace file.
    pub fn record(&self, specification: &str) -> TraceFile {
        let steps = self.steps.iter().map(ShownStep::record).collect();
        TraceFile {
            specification: specification.to_owned(),
            from: self.from.clone(),
            steps,
            repeats_from: self.repeats_from,
        }
    }

    /// Writes a file, in the format of its name. `title` says what the trace shows.
    pub fn save(&self, path: &Path, specification: &str, title: &str, watch: &Watch) -> Result<(), Failure> {
        let before = watch.phase();
        watch.enter(Phase::Writing);
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let written = write_whole(path, |out| match extension.as_deref() {
            Some("json") => self.write_json(specification, title, out),
            Some("aut") => self.write_aut(out),
            Some("svg") => chart::write(self, title, out),
            _ => self.record(specification).write(out),
        });
        watch.enter(before);
        written.map_err(Failure::input)
    }

    fn write_json(&self, specification: &str, title: &str, out: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct File<'a> {
            version: u32,
            specification: &'a str,
            title: &'a str,
            #[serde(flatten)]
            trace: &'a ShownTrace,
        }
        let mut out = io::BufWriter::new(out);
        let file = File { version: JSON_VERSION, specification, title, trace: self };
        serde_json::to_writer_pretty(&mut out, &file)?;
        writeln!(out)?;
        out.flush()
    }

    fn write_aut(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut lts = Builder::with_capacity(self.steps.len());
        lts.require_states(1);
        for (from, step) in (0..).zip(&self.steps) {
            let label = lts.label(&step.label.replace('\n', " "));
            // The last step of a run that goes round leads back.
            let back = self.repeats_from.filter(|_| from as usize + 1 == self.steps.len());
            lts.add(State(from), label, State(back.map_or(from + 1, |k| k as u32 - 1)));
        }
        aut::write(&lts.finish(State(0)), out)
    }
}

impl ShownStep {
    /// The step in the form of a trace file.
    pub fn record(&self) -> RecordedStep {
        let part = |p: &ShownPart| RecordedPart {
            leaf: p.name.clone(),
            action: p.action.clone(),
            state: p.state.clone(),
        };
        RecordedStep { label: self.label.clone(), parts: self.leaves.iter().map(part).collect() }
    }

    /// The label; if something in it is hidden, also the label before hiding.
    pub fn full_label(&self) -> String {
        match &self.unhidden {
            // Only the message of a fault can have several lines.
            None => self.label.replace('\n', " "),
            Some(unhidden) => format!("{} (hiding {unhidden})", self.label),
        }
    }

    /// The participants, with their actions if the label does not show these.
    pub fn participants(&self) -> String {
        self.each_participant().join(", ")
    }

    fn each_participant(&self) -> Vec<String> {
        match &self.leaves[..] {
            [only] if only.action == *self.unhidden.as_ref().unwrap_or(&self.label) => {
                vec![only.short.clone()]
            }
            several => several.iter().map(|p| format!("{}: {}", p.short, p.action)).collect(),
        }
    }
}

/// A short name for each leaf.
pub fn brief(net: &Network) -> Vec<String> {
    short_names(&net.leaves.iter().map(|leaf| leaf.name.as_str()).collect::<Vec<_>>())
}

/// Writes the full names of leaves that have short ones, if there are any.
pub fn write_names(names: &[(&str, &str)], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Style { strong, off, .. } = style;
    let different: Vec<_> = names.iter().filter(|(short, name)| short != name).collect();
    if different.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{strong}processes{off}")?;
    let width = different.iter().map(|(short, _)| short.chars().count()).max().unwrap_or(0);
    different.iter().try_for_each(|(short, name)| writeln!(out, "  {short:<width$}  {name}"))
}

/// A list with commas that begins in the column `first`. At the end of the terminal's line it continues on the next line, in
/// the column `below`.
fn wrapped(parts: &[String], first: usize, below: usize, columns: usize) -> String {
    /// Lists are not wrapped into fewer columns than this.
    const NARROWEST: usize = 24;
    let (mut text, mut column) = (String::new(), first);
    for (k, part) in parts.iter().enumerate() {
        let comma = if k + 1 < parts.len() { "," } else { "" };
        let width = part.chars().count() + comma.len();
        if k > 0 && column + 1 + width > columns && below.saturating_add(NARROWEST) < columns {
            text += &format!("\n{:below$}", "");
            column = below;
        } else if k > 0 {
            text.push(' ');
            column += 1;
        }
        text += part;
        text += comma;
        column += width;
    }
    text
}

/// Writes steps for people, numbered from 1, one per line if the terminal is wide enough.
pub fn write_steps(steps: &[ShownStep], style: Style, out: &mut dyn Write) -> io::Result<()> {
    /// A label longer than this does not widen the column.
    const WIDEST: usize = 40;
    let Style { faint, off, columns, .. } = style;
    let width =
        steps.iter().map(|s| s.full_label().chars().count()).filter(|w| *w <= WIDEST).max().unwrap_or(0);
    (1..).zip(steps).try_for_each(|(number, step): (usize, _)| {
        let label = step.full_label();
        let (first, below) = (10 + label.chars().count().max(width), 10 + width);
        let participants = wrapped(&step.each_participant(), first, below, columns);
        writeln!(out, "{number:>6}  {label:<width$}  {faint}{participants}{off}")
    })
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lists_end_where_the_terminal_ends() {
        let parts = ["Sender: put(d1)", "Channel: enter(d1)", "Log: note"].map(str::to_owned);
        assert_eq!(wrapped(&parts, 10, 10, usize::MAX), parts.join(", "));
        assert_eq!(wrapped(&parts, 20, 10, 57), "Sender: put(d1), Channel: enter(d1),\n          Log: note");
        assert_eq!(
            wrapped(&parts, 10, 10, 36),
            "Sender: put(d1),\n          Channel: enter(d1),\n          Log: note"
        );
        assert_eq!(wrapped(&parts, 10, 10, 30), parts.join(", "), "too narrow");
    }
}
