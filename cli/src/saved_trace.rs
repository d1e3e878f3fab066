//! Traces that were saved, or written by hand: reading them, and finding the run that they stand for.
//!
//! A trace is what `check --trace-out` or `sim` wrote (text, JSON or Aldebaran), or a list of labels. Invariant: a run that
//! [`follow`] returns has been checked step by step on the network, by code that shares nothing with the searches.

use crate::input::{Stoppable, read_text};
use crate::outcome::Failure;
use crate::shown_trace::{JSON_VERSION, ShownStep};
use crate::watch::Watch;
use gridlock_lang::network::build::Builder;
use gridlock_lts::engine::replay::{Growing, Mismatch, matching, steps};
use gridlock_lts::model::aut;
use gridlock_lts::model::explicit::Lts;
use gridlock_lts::model::network::{Network, Outcome, Step, TableSource, VectorIx};
use gridlock_lts::model::trace::Trace;
use gridlock_lts::model::trace_file::{RecordedStep, TraceFile};
use serde::Deserialize;
use std::path::Path;

/// A trace that is longer was not written by hand nor by a search that ended well.
pub const LONGEST_FILE: u64 = 1 << 30;

/// A step that is looked for.
#[derive(Debug)]
pub enum Wanted {
    /// By everything a step is known by.
    Recorded(RecordedStep),
    /// By its label, without white space.
    Label(String),
}

impl Wanted {
    fn label(text: &str) -> Self {
        Wanted::Label(without_space(text))
    }

    fn is(&self, net: &Network, vector: VectorIx) -> bool {
        match (self, net.vectors[vector.0 as usize].outcome) {
            (Wanted::Label(text), Outcome::Step(label)) => {
                without_space(&net.labels[label.0 as usize]) == *text
            }
            (Wanted::Label(_), Outcome::Fault(_)) => false,
            (Wanted::Recorded(step), Outcome::Step(_)) => step.matches(net, vector),
            // Its message contains how the specification was called, which is not what a step is known by.
            (Wanted::Recorded(step), Outcome::Fault(fault)) => {
                RecordedStep { label: net.faults[fault as usize].clone(), parts: step.parts.clone() }
                    .matches(net, vector)
            }
        }
    }

    /// Whether a step leads to the states that were recorded, if any were.
    fn leads_to(&self, net: &Network, source: &dyn TableSource, step: &Step) -> bool {
        let Wanted::Recorded(recorded) = self else { return true };
        let parts = net.vectors[step.vector.0 as usize].parts.iter().zip(&recorded.parts);
        let mut there = parts.filter(|(_, part)| !part.state.is_empty());
        there.all(|(&(leaf, _), part)| source.describe(leaf, step.target[leaf.0 as usize]) == part.state)
    }

    /// Its label, for messages.
    pub fn shown(&self) -> &str {
        match self {
            Wanted::Recorded(step) => &step.label,
            Wanted::Label(text) => text,
        }
    }
}

fn without_space(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Finds a run, as far as there is one. The second is true if it has all steps.
pub fn follow(
    (network, builder): (&mut Network, &mut Builder),
    wanted: &[Wanted],
    watch: &Watch,
) -> Result<(Trace, bool), Failure> {
    match find(network, builder, wanted, watch) {
        Ok(trace) => Ok((trace, true)),
        Err(_) if watch.stopped().is_some() => Err(Failure::Stopped),
        // The steps until there are a run: that is how far all attempts came.
        Err(mismatch) => {
            let before = find(network, builder, &wanted[..mismatch.after.min(wanted.len())], watch);
            Ok((before.map_err(|_| Failure::Input(mismatch.to_string()))?, false))
        }
    }
}

/// Finds a run that has all these steps, and checks it once more step by step. If there are several, one through the states
/// that were recorded is taken, unless they are called otherwise by now.
fn find(
    network: &mut Network,
    builder: &mut Builder,
    wanted: &[Wanted],
    watch: &Watch,
) -> Result<Trace, Mismatch> {
    let mut source = Stoppable { builder: &mut *builder, watch };
    let is = |net: &Network, step: &Step, k: usize| wanted[k].is(net, step.vector);
    let mut trace = matching(Growing { net: &mut *network, source: &mut source }, wanted.len(), is)?;
    // All states of such runs but the last ones are expanded by now.
    let leads = |net: &Network, step: &Step, k: usize| {
        wanted[k].is(net, step.vector) && wanted[k].leads_to(net, &*builder, step)
    };
    if let Ok(exact) = matching(&*network, wanted.len(), leads) {
        trace = exact;
    }
    steps(Growing { net: network, source: &mut Stoppable { builder, watch } }, &trace)?;
    Ok(trace)
}

/// Reads a trace from a file, or from standard input if the path is `-`.
pub fn read(path: &Path) -> Result<Vec<Wanted>, Failure> {
    let (name, text) = read_text(path, LONGEST_FILE)?;
    parse(&name, &text)
}

/// Reads a trace in any of the formats. `name` is how it is called in messages.
pub fn parse(name: &str, text: &str) -> Result<Vec<Wanted>, Failure> {
    let content = text.lines().find(|l| !l.trim().is_empty() && !l.starts_with(['#', '%'])).unwrap_or("");
    let wrong = |problem: &dyn std::fmt::Display| Failure::input(format_args!("{name}: {problem}"));
    // A file that has lost its first line is damaged, not a list of strange labels.
    if content.starts_with("gridlock trace") || text.lines().any(|l| l.starts_with("step\t")) {
        let file = TraceFile::read(text).map_err(|e| wrong(&e))?;
        Ok(file.steps.into_iter().map(Wanted::Recorded).collect())
    } else if content.trim_start().starts_with('<') {
        Err(wrong(
            &"this is a picture or a page, not a trace: save the steps under another name, such as why.trace",
        ))
    } else if content.trim_start().starts_with(['{', '[']) {
        from_json(text).map_err(|e| wrong(&e))
    } else if content.starts_with("des") && content.contains('(') {
        let lts = aut::read(text.as_bytes(), name).map_err(Failure::input)?;
        from_lts(&lts).ok_or_else(|| {
            wrong(&"this is no trace: its transitions are not one path from the initial state")
        })
    } else {
        labels(text).map_err(|e| wrong(&e))
    }
}

/// Labels, one a line. Anything else that is text is refused: it would be a trace that does not run.
fn labels(text: &str) -> Result<Vec<Wanted>, String> {
    let mut labels = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        if !line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let found: String = line.chars().take(20).collect();
            return Err(format!("line {number}: expected a label such as `send(1)|ack`, found `{found}`"));
        }
        labels.push(Wanted::label(line));
    }
    if labels.is_empty() {
        return Err("there is nothing in it: expected a trace, or labels, one a line".to_owned());
    }
    Ok(labels)
}

/// The field `trace` of what `check` wrote. Steps without participants, or that are only texts, are known by their labels.
fn from_json(text: &str) -> Result<Vec<Wanted>, String> {
    #[derive(Deserialize)]
    struct File {
        version: Option<u32>,
        verdict: Option<String>,
        // It may be null, but not missing.
        #[serde(deserialize_with = "Option::deserialize")]
        trace: Option<Vec<Step>>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Step {
        Label(String),
        Shown(ShownStep),
    }
    let wanted = |step: Step| match step {
        Step::Label(label) => Wanted::label(&label),
        Step::Shown(step) if step.leaves.is_empty() => Wanted::label(&step.label),
        Step::Shown(step) => Wanted::Recorded(step.record()),
    };
    let file: File = serde_json::from_str(text).map_err(|e| e.to_string())?;
    if let Some(version) = file.version.filter(|version| *version != JSON_VERSION) {
        return Err(format!("this is version {version} of the format, only {JSON_VERSION} is understood"));
    }
    let Some(trace) = file.trace else {
        let verdict = file.verdict.unwrap_or_default();
        return Err(format!("there is no trace in it; the verdict is '{verdict}'"));
    };
    Ok(trace.into_iter().map(wanted).collect())
}

/// The labels of a system that is a single run and nothing beside it.
fn from_lts(lts: &Lts) -> Option<Vec<Wanted>> {
    let mut labels = Vec::new();
    let mut state = lts.initial();
    loop {
        match lts.outgoing(state) {
            [] => return (labels.len() == lts.num_transitions()).then_some(labels),
            [only] if labels.len() < lts.num_transitions() => {
                labels.push(Wanted::label(lts.label(only.label)));
                state = only.to;
            }
            _ => return None,
        }
    }
}
