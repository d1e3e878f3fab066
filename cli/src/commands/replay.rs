//! `gridlock replay`: whether a trace is a run of a specification, step by step.
//!
//! The trace is searched for by its labels and by the parts of its participants, with [`gridlock_lts::engine::replay`], which
//! shares nothing with the searches. All runs that fit are followed at once, so a trace is refused only if none does.

use crate::flags::{Resources, TableArguments, TableMode};
use crate::input::{Specification, is_stdin};
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::quantities::counted;
use crate::saved_trace::{self, Followed, Saved, Wanted, follow};
use crate::shown_trace::{ShownStep, ShownTrace};
use crate::start::FromFlag;
use crate::terminal::Style;
use crate::watch::Watch;
use clap::Args;
use gridlock_lang::system::System;
use gridlock_lts::model::network::{LeafIx, Network, Outcome, Step, TableSource};
use gridlock_lts::model::trace::Trace;
use std::io::{self, Write};
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  gridlock check abp.mcrl2 --trace-out why.trace || gridlock replay abp.mcrl2 why.trace
  gridlock replay fixed.mcrl2 why.trace          does it still happen?
  printf 'accept(d1)\\nframe_lost\\n' | gridlock replay abp.mcrl2 -

A trace is what `check --trace-out` or `s FILE` in `sim` wrote (text, .json or .aut), or simply \
a list of labels, one a line, where `tau` is a hidden step and lines that begin with # or % mean \
nothing. A run that repeats from some step for ever must be at its end where it was before that \
step. Exit code 0 means that it runs, 1 that it does not; then the answer says how far it \
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
    from: FromFlag,

    #[command(flatten)]
    pub resources: Resources,

    #[command(flatten)]
    tables: TableArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch) -> Result<Exit, Failure> {
    if is_stdin(&arguments.specification) && is_stdin(&arguments.trace) {
        return Err(Failure::input("only one of the two can be read from standard input"));
    }
    let saved = saved_trace::read(&arguments.trace)?;
    let specification = Specification::read(&arguments.specification)?;
    let options = arguments.tables.options(TableMode::OnDemand);
    let start = arguments.from.read()?;
    let (name, most) = (&specification.name, options.table_limit);
    let mut system = specification.load_from(start.as_ref(), name, &options, most, watch)?;
    watch.begin("replaying", "");
    let (trace, followed) = follow((&mut system.network, &mut system.builder), &saved, watch)?;
    let Saved { steps: wanted, repeats_from } = &saved;
    let ends_in_fault = trace.steps.last().is_some_and(|step| is_fault(&system.network, step));
    let possible =
        if ends_in_fault { Vec::new() } else { possible(&mut system, &trace).map_err(Failure::Input)? };
    let mut shown = ShownTrace::new(&system.network, &system.builder, &trace);
    let end = match (followed, repeats_from, ends_in_fault) {
        (Followed::Part, ..) => End::Refused { step: wanted.get(trace.len()).map_or("", Wanted::shown) },
        (Followed::Open, from, _) => End::Open { from: from.unwrap_or(1) },
        (Followed::Whole, .., true) => End::Fault,
        (Followed::Whole, ..) => {
            shown.repeats_from = *repeats_from;
            End::Ran
        }
    };
    print(watch, |out| show(&shown, &end, &possible, wanted.len(), out))?;
    Ok(if matches!(end, End::Refused { .. } | End::Open { .. }) { Exit::No } else { Exit::Yes })
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
    /// In another state than that before the step from which it should repeat.
    Open {
        from: usize,
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
    let Style { strong, good, wrong, off, .. } = style;
    match end {
        End::Ran => {
            let steps = counted(length, "step");
            let repeats = trace.repeats_from.map_or(String::new(), |k| format!(", repeats from step {k}"));
            writeln!(out, "{good}runs{off}: {steps}{repeats}")?;
        }
        End::Open { from } => {
            let steps = counted(length, "step");
            writeln!(
                out,
                "{wrong}does not run{off}: all of its {steps} are possible, but then it is not where it was before step \
                 {from}, from which it should repeat"
            )?;
        }
        End::Fault => {
            writeln!(out, "{strong}runs{off}: {}, the last one without meaning", counted(length, "step"))?
        }
        End::Refused { step } => {
            let after = counted(trace.steps.len(), "step");
            writeln!(out, "{wrong}does not run{off}: after {after} of {length}, `{step}` is not possible")?;
        }
    }
    trace.write_names(style, out)?;
    if trace.has_short_names() {
        writeln!(out, "\n{strong}steps{off}")?;
    }
    trace.write_steps(style, out)?;
    writeln!(out, "\n{strong}the processes then{off}")?;
    trace.write_end(style, out)?;
    match (end, possible) {
        (End::Fault, _) => Ok(()),
        (_, []) if trace.terminated => {
            writeln!(out, "\nno action is possible: the processes have all terminated")
        }
        (_, []) => {
            writeln!(out, "\nno action is possible: this is a deadlock")?;
            trace.write_stuck(style, out)
        }
        (End::Refused { .. }, possible) => {
            writeln!(out, "\n{strong}possible instead{off}")?;
            crate::shown_trace::write_steps(possible, style, out)
        }
        (End::Ran | End::Open { .. }, _) => Ok(()),
    }
}

fn is_fault(net: &Network, step: &Step) -> bool {
    matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_))
}

/// The steps that are possible after a trace.
fn possible(system: &mut System, trace: &Trace) -> Result<Vec<ShownStep>, String> {
    let System { network, builder, .. } = system;
    let state = trace.end(network);
    for (leaf, local) in (0..).map(LeafIx).zip(&state) {
        builder.expand(network, leaf, *local).map_err(|e| e.to_string())?;
    }
    let mut steps = Vec::new();
    network.successors(&state, &mut steps);
    Ok(ShownTrace::steps(network, builder, &Trace { steps }).steps)
}
