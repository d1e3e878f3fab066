//! Reads traces that were saved or written by hand, and finds the runs that they stand for.
//!
//! A trace is what `check --trace-out` or `sim` wrote (text, JSON or Aldebaran), or a list of labels. Invariant: a run that
//! [`follow`] returns has been checked step by step on the network, by code that shares nothing with the searches.

use crate::input::{Stoppable, read_text};
use crate::outcome::Failure;
use crate::shown_trace::{JSON_VERSION, ShownStep};
use crate::watch::Watch;
use gridlock_lang::network::build::Builder;
use gridlock_lts::base::hash::Map;
use gridlock_lts::engine::replay::{Growing, Mismatch, Tables, closing, matching, steps};
use gridlock_lts::model::aut;
use gridlock_lts::model::explicit::Lts;
use gridlock_lts::model::network::{Network, Outcome, Step, TableSource, VectorIx};
use gridlock_lts::model::trace::Trace;
use gridlock_lts::model::trace_file::{RecordedStep, TraceFile};
use serde::Deserialize;
use std::path::Path;

/// A longer trace was written neither by hand nor by a search that ended properly.
pub const LONGEST_FILE: u64 = 1 << 30;

/// A trace as it was saved.
#[derive(Debug)]
pub struct Saved {
    /// Its steps.
    pub steps: Vec<Wanted>,
    /// The first of those that are repeated for ever, counted from 1, if any are.
    pub repeats_from: Option<usize>,
}

/// The result of following a saved trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Followed {
    /// The whole trace is a run.
    Whole,
    /// All steps are possible, but the last one does not lead back to the state from which the run should repeat.
    Open,
    /// The next step is not possible.
    Part,
}

/// A step to look for.
#[derive(Debug)]
pub enum Wanted {
    /// A step by all that is recorded of it.
    Recorded(RecordedStep),
    /// A step by its label, without white space.
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

/// Finds a run, as far as there is one.
pub fn follow(
    (network, builder): (&mut Network, &mut Builder),
    saved: &Saved,
    watch: &Watch,
) -> Result<(Trace, Followed), Failure> {
    let wanted = &saved.steps;
    match find(network, builder, wanted, saved.repeats_from, watch) {
        Ok(trace) => Ok((trace, Followed::Whole)),
        Err(_) if watch.stopped().is_some() => Err(Failure::Stopped),
        // The steps until there are a run: that is how far all attempts came.
        Err(mismatch) => {
            let possible = mismatch.after.min(wanted.len());
            let before = find(network, builder, &wanted[..possible], None, watch);
            let before = before.map_err(|_| Failure::Input(mismatch.to_string()))?;
            Ok((before, if possible == wanted.len() { Followed::Open } else { Followed::Part }))
        }
    }
}

/// Finds a run that has all these steps and repeats where it should, and checks it once more step by step. Of several runs it
/// takes one through the recorded states, unless the states have other names by now.
fn find(
    network: &mut Network,
    builder: &mut Builder,
    wanted: &[Wanted],
    repeats_from: Option<usize>,
    watch: &Watch,
) -> Result<Trace, Mismatch> {
    fn run(
        tables: impl Tables,
        length: usize,
        repeats_from: Option<usize>,
        matches: impl Fn(&Network, &Step, usize) -> bool,
    ) -> Result<Trace, Mismatch> {
        match repeats_from {
            Some(from) => closing(tables, length, from - 1, matches),
            None => matching(tables, length, matches),
        }
    }
    let mut source = Stoppable { builder: &mut *builder, watch };
    let is = |net: &Network, step: &Step, k: usize| wanted[k].is(net, step.vector);
    let tables = Growing { net: &mut *network, source: &mut source };
    let mut trace = run(tables, wanted.len(), repeats_from, is)?;
    // All states of such runs but the last ones are expanded by now.
    let leads = |net: &Network, step: &Step, k: usize| {
        wanted[k].is(net, step.vector) && wanted[k].leads_to(net, &*builder, step)
    };
    if let Ok(exact) = run(&*network, wanted.len(), repeats_from, leads) {
        trace = exact;
    }
    steps(Growing { net: &mut *network, source: &mut Stoppable { builder, watch } }, &trace)?;
    if let Some(from) = repeats_from {
        let before = Trace { steps: trace.steps[..from - 1].to_vec() };
        if before.end(network) != trace.end(network) {
            let reason = "the run that was found does not go round".to_owned();
            return Err(Mismatch { after: trace.len(), reason });
        }
    }
    Ok(trace)
}

/// Reads a trace from a file, or from standard input if the path is `-`.
pub fn read(path: &Path) -> Result<Saved, Failure> {
    let (name, text) = read_text(path, LONGEST_FILE)?;
    parse(&name, &text)
}

/// Reads a trace in any of the formats. `name` is its name in messages.
pub fn parse(name: &str, text: &str) -> Result<Saved, Failure> {
    let content = text.lines().find(|l| !l.trim().is_empty() && !l.starts_with(['#', '%'])).unwrap_or("");
    let wrong = |problem: &dyn std::fmt::Display| Failure::input(format_args!("{name}: {problem}"));
    // A file that has lost its first line is damaged, not a list of strange labels.
    if content.starts_with("gridlock trace") || text.lines().any(|l| l.starts_with("step\t")) {
        let file = TraceFile::read(text).map_err(|e| wrong(&e))?;
        let steps = file.steps.into_iter().map(Wanted::Recorded).collect();
        Ok(Saved { steps, repeats_from: file.repeats_from })
    } else if content.trim_start().starts_with('<') {
        Err(wrong(
            &"this is a picture or a page, not a trace: save the steps under another name, such as why.trace",
        ))
    } else if content.trim_start().starts_with(['{', '[']) {
        from_json(text).map_err(|e| wrong(&e))
    } else if content.starts_with("des") && content.contains('(') {
        let lts = aut::read(text.as_bytes(), name).map_err(Failure::input)?;
        from_lts(&lts).ok_or_else(|| {
            wrong(
                &"this is no trace: its transitions are not one path from the initial state, which may lead back at its end",
            )
        })
    } else {
        let steps = labels(text).map_err(|e| wrong(&e))?;
        Ok(Saved { steps, repeats_from: None })
    }
}

/// Labels, one per line. Other text is refused: read as labels it would be a trace that cannot be followed.
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

/// The field `trace` of a result of `check`. Steps without participants, and steps that are plain texts, are identified by
/// their labels.
fn from_json(text: &str) -> Result<Saved, String> {
    #[derive(Deserialize)]
    struct File {
        version: Option<u32>,
        verdict: Option<String>,
        // It may be null, but not missing.
        #[serde(deserialize_with = "Option::deserialize")]
        trace: Option<Vec<Step>>,
        #[serde(default)]
        repeats_from: Option<usize>,
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
    if text.trim_start().starts_with('[') {
        return Err("this is a list: expected an object with the steps as its field `trace`".to_owned());
    }
    let file: File = serde_json::from_str(text).map_err(|e| e.to_string())?;
    if let Some(version) = file.version.filter(|version| *version != JSON_VERSION) {
        return Err(format!("this is version {version} of the format, only {JSON_VERSION} is understood"));
    }
    let Some(trace) = file.trace else {
        let verdict = file.verdict.unwrap_or_default();
        return Err(format!("there is no trace in it; the verdict is '{verdict}'"));
    };
    if let Some(from) = file.repeats_from.filter(|from| !(1..=trace.len()).contains(from)) {
        return Err(format!("it repeats from step {from}, which is none of its {} steps", trace.len()));
    }
    Ok(Saved { steps: trace.into_iter().map(wanted).collect(), repeats_from: file.repeats_from })
}

/// The labels of a system that is a single run, which may lead back at its end, and nothing beside it.
fn from_lts(lts: &Lts) -> Option<Saved> {
    let mut saved = Saved { steps: Vec::new(), repeats_from: None };
    let mut state = lts.initial();
    // How many steps lead to each state.
    let mut met = Map::default();
    met.insert(state, 0);
    loop {
        match lts.outgoing(state) {
            [] => return (saved.steps.len() == lts.num_transitions()).then_some(saved),
            [only] if saved.steps.len() < lts.num_transitions() => {
                saved.steps.push(Wanted::label(lts.label(only.label)));
                state = only.to;
                if let Some(before) = met.insert(state, saved.steps.len()) {
                    saved.repeats_from = Some(before + 1);
                    return (saved.steps.len() == lts.num_transitions()).then_some(saved);
                }
            }
            _ => return None,
        }
    }
}
