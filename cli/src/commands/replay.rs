//! `gridlock replay`: whether a trace is a run of a specification, step by step.
//!
//! The trace is searched for by its labels and by who contributes what, with [`gridlock_lts::replay`], which shares
//! nothing with the searches. All runs that fit are followed at once, so a trace is refused only if none does.

use crate::arguments::{Resources, TableArguments, TableMode};
use crate::input::{Specification, Stoppable, is_stdin, read_text};
use crate::outcome::{Answer, Failure};
use crate::output::print;
use crate::quantities::counted;
use crate::shown_trace::{ShownStep, ShownTrace};
use crate::terminal::Style;
use crate::watch::Watch;
use clap::Args;
use gridlock_lang::system::System;
use gridlock_lts::aut;
use gridlock_lts::explicit::Lts;
use gridlock_lts::network::{LeafIx, Network, Outcome, Step, TableSource, VectorIx};
use gridlock_lts::replay::{Growing, Mismatch, matching, steps};
use gridlock_lts::trace::Trace;
use gridlock_lts::trace_file::{RecordedStep, TraceFile};
use serde::Deserialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A trace that is longer was not written by hand nor by a search that ended well.
const LONGEST_FILE: u64 = 1 << 30;

const HELP: &str = "\
Examples:
  gridlock check abp.mcrl2 --trace-out why.trace || gridlock replay abp.mcrl2 why.trace
  gridlock replay fixed.mcrl2 why.trace          does it still happen?
  printf 'accept(d1)\\nframe_lost\\n' | gridlock replay abp.mcrl2 -

A trace is what `check --trace-out` or `s FILE` in `sim` wrote (text, .json or .aut), or simply \
a list of labels, one a line, where `tau` is a hidden step and lines that begin with # or % mean \
nothing. Exit code 0 means that it runs, 1 that it does not; then the answer says how far it \
came and what is possible there.";

/// Tell whether a trace is a run of a specification, and show it
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    /// The trace; `-` is standard input
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

    #[command(flatten)]
    pub resources: Resources,

    #[command(flatten)]
    tables: TableArguments,
}

/// A step that is looked for.
enum Wanted {
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

    fn shown(&self) -> &str {
        match self {
            Wanted::Recorded(step) => &step.label,
            Wanted::Label(text) => text,
        }
    }
}

fn without_space(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch) -> Result<Answer, Failure> {
    if is_stdin(&arguments.specification) && is_stdin(&arguments.trace) {
        return Err(Failure::input("only one of the two can be read from standard input"));
    }
    let wanted = read(&arguments.trace)?;
    let specification = Specification::read(&arguments.specification)?;
    let options = arguments.tables.options(TableMode::OnDemand);
    let mut system = specification.load(&specification.name, &options, options.table_limit, watch)?;
    watch.begin("replaying", "");
    let (trace, mismatch) = match find(&mut system, &wanted, watch) {
        Ok(trace) => (trace, None),
        Err(_) if watch.stopped().is_some() => return Err(Failure::Stopped),
        // The steps until there are a run: that is how far all attempts came.
        Err(mismatch) => {
            let before = find(&mut system, &wanted[..mismatch.after.min(wanted.len())], watch);
            let before = before.map_err(|_| Failure::Input(mismatch.to_string()))?;
            (before, Some(mismatch))
        }
    };
    let ends_in_fault = trace.steps.last().is_some_and(|step| is_fault(&system.network, step));
    let possible =
        if ends_in_fault { Vec::new() } else { possible(&mut system, &trace).map_err(Failure::Input)? };
    let shown = ShownTrace::new(&system.network, &system.builder, &trace);
    let end = match (mismatch.is_some(), ends_in_fault) {
        (true, _) => End::Refused { step: wanted.get(trace.len()).map_or("", Wanted::shown) },
        (false, true) => End::Fault,
        (false, false) => End::Ran,
    };
    print(watch, |out| show(&shown, &end, &possible, wanted.len(), out))?;
    Ok(if matches!(end, End::Refused { .. }) { Answer::No } else { Answer::Yes })
}

/// How a replay ends.
enum End<'a> {
    Ran,
    /// With a step that has no meaning, as recorded.
    Fault,
    /// Before the step with this label.
    Refused {
        step: &'a str,
    },
}

fn show(
    trace: &ShownTrace,
    end: &End,
    possible: &[ShownStep],
    length: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = Style::of_stdout();
    let Style { strong, wrong, off, .. } = style;
    match end {
        End::Ran => writeln!(out, "{strong}runs{off}: {}", counted(length, "step"))?,
        End::Fault => {
            writeln!(out, "{strong}runs{off}: {}, the last one without meaning", counted(length, "step"))?
        }
        End::Refused { step } => {
            let after = counted(trace.steps.len(), "step");
            writeln!(out, "{wrong}does not run{off}: after {after} of {length}, `{step}` is not possible")?;
        }
    }
    trace.write_steps(style, out)?;
    writeln!(out, "\n{strong}the processes then{off}")?;
    trace.write_end(out)?;
    match (end, possible) {
        (End::Fault, _) => Ok(()),
        (_, []) => writeln!(out, "\nno action is possible: this is a deadlock"),
        (End::Refused { .. }, possible) => {
            writeln!(out, "\n{strong}possible instead{off}")?;
            crate::shown_trace::write_steps(possible, style, out)
        }
        (End::Ran, _) => Ok(()),
    }
}

/// Finds a run, and checks it once more step by step.
fn find(system: &mut System, wanted: &[Wanted], watch: &Watch) -> Result<Trace, Mismatch> {
    let System { network, builder, .. } = system;
    let mut source = Stoppable { builder: &mut *builder, watch };
    let is = |net: &Network, vector, k: usize| wanted[k].is(net, vector);
    let trace = matching(Growing { net: &mut *network, source: &mut source }, wanted.len(), is)?;
    steps(Growing { net: network, source: &mut source }, &trace)?;
    Ok(trace)
}

fn is_fault(net: &Network, step: &Step) -> bool {
    matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_))
}

/// What can happen after a trace.
fn possible(system: &mut System, trace: &Trace) -> Result<Vec<ShownStep>, String> {
    let System { network, builder, .. } = system;
    let state = trace.end(network);
    for (leaf, local) in (0..).map(LeafIx).zip(&state) {
        builder.expand(network, leaf, *local)?;
    }
    let mut steps = Vec::new();
    network.successors(&state, &mut steps);
    Ok(ShownTrace::new(network, builder, &Trace { steps }).steps)
}

/// Reads a trace in any of the formats.
fn read(path: &Path) -> Result<Vec<Wanted>, Failure> {
    let (name, text) = read_text(path, LONGEST_FILE)?;
    let content = text.lines().find(|l| !l.trim().is_empty() && !l.starts_with(['#', '%'])).unwrap_or("");
    let wrong = |problem: &dyn std::fmt::Display| Failure::input(format_args!("{name}: {problem}"));
    if content.starts_with("gridlock trace") {
        let file = TraceFile::read(&text).map_err(|e| wrong(&e))?;
        Ok(file.steps.into_iter().map(Wanted::Recorded).collect())
    } else if content.trim_start().starts_with('{') {
        from_json(&text).map_err(|e| wrong(&e))
    } else if content.starts_with("des") && content.contains('(') {
        let lts = aut::read(text.as_bytes(), &name).map_err(Failure::input)?;
        from_lts(&lts)
            .ok_or_else(|| wrong(&"this is no trace: states have several transitions, or there is a cycle"))
    } else {
        let labels = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with(['#', '%']));
        Ok(labels.map(Wanted::label).collect())
    }
}

/// The field `trace` of what `check` wrote. Steps without participants are known by their labels.
fn from_json(text: &str) -> Result<Vec<Wanted>, serde_json::Error> {
    #[derive(Deserialize)]
    struct File {
        trace: Vec<ShownStep>,
    }
    let wanted = |step: ShownStep| match step.leaves[..] {
        [] => Wanted::label(&step.label),
        _ => Wanted::Recorded(step.record()),
    };
    Ok(serde_json::from_str::<File>(text)?.trace.into_iter().map(wanted).collect())
}

/// The labels of a system that is a single run.
fn from_lts(lts: &Lts) -> Option<Vec<Wanted>> {
    let mut labels = Vec::new();
    let mut state = lts.initial();
    loop {
        match lts.outgoing(state) {
            [] => return Some(labels),
            [only] if labels.len() < lts.num_transitions() => {
                labels.push(Wanted::label(lts.label(only.label)));
                state = only.to;
            }
            _ => return None,
        }
    }
}
