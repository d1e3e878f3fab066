//! `gridlock parts`: the components of a specification, what they do inside and together, and how many runs they have.

use crate::flags::{LimitFlags, TableArguments, TableMode};
use crate::input::{Specification, require_closed};
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::quantities::{count, counted};
use crate::terminal::Style;
use crate::watch::Watch;
use clap::Args;
use gridlock_lts::base::error::{Error, Limit};
use gridlock_lts::base::memory::resident;
use gridlock_lts::engine::parts::{
    self, Counts, DEFAULT_LIMIT, DEFAULT_MEMBERS, Options, Reduction, Stages, Survey, Trials,
};
use gridlock_lts::model::network::Network;
use gridlock_manager::method::subsystem::{find_groups, names};
use num_bigint::BigUint;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  gridlock parts abp.mcrl2
  gridlock parts philosophers.mcrl2 --parts 'Philosopher(0),Fork(0);Philosopher(1),Fork(1)'
  gridlock parts rendezvous.mcrl2 --count

What --count counts, where each run ends:
  skeletons      what components can do together, each of them in one order
  local traces   runs of one component that fit a skeleton, up to the order of independent steps inside
  global traces  runs of the whole, up to the order of independent steps
  ratio          global traces for each local one: what looking at components apart saves
Steps are independent if no process takes part in both. docs/parts.md explains the figures.

Fields of --json (new ones may be added; `version` changes if one changes its meaning):
  version            1
  specification      the file, as named on the command line
  components         list of
    processes        list of names
    states           local states of all its processes
    internal         local transitions that only the component takes part in
    interface        local transitions by which it takes part in steps with other components
    actions          list of the names of these steps, before hiding
    local_traces     digits, with --count
  internal_vectors   vectors within a component
  interface_vectors  vectors between components
  actions            list of the names of steps between components
  counts             null without --count, or
    skeletons        digits
    local_traces     digits, of all components together
    global_traces    digits, or null if that takes more than --max-states allows
    ratio            number, or null";

/// Show the components of a specification: what they do inside, what together, and how many runs they have
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    /// Processes that are one component: names with commas, components with semicolons in between. Every other process is one by itself
    #[arg(long, value_name = "GROUPS")]
    parts: Option<String>,

    /// Count skeletons, local traces and global traces; each run of the system must end
    #[arg(long)]
    count: bool,

    /// Write JSON, for programs
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pub limits: LimitFlags,

    #[command(flatten)]
    tables: TableArguments,
}

#[derive(Serialize)]
struct Shown {
    version: u32,
    specification: String,
    components: Vec<Component>,
    internal_vectors: u64,
    interface_vectors: u64,
    actions: Vec<String>,
    counts: Option<Totals>,
}

#[derive(Serialize)]
struct Component {
    processes: Vec<String>,
    states: u64,
    internal: u64,
    interface: u64,
    actions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_traces: Option<String>,
}

#[derive(Serialize)]
struct Totals {
    skeletons: String,
    local_traces: String,
    global_traces: Option<String>,
    ratio: Option<f64>,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch) -> Result<Exit, Failure> {
    let specification = Specification::read(&arguments.specification)?;
    let options = arguments.tables.options(TableMode::Auto);
    let system = specification.load(&specification.name, &options, usize::MAX, watch)?;
    require_closed(&system, "gridlock parts")?;
    let net = &system.network;
    let groups = match &arguments.parts {
        Some(text) => find_groups("--parts", net, text)?,
        None => Vec::new(),
    };
    let survey = parts::survey(net, &groups);
    let counts = match arguments.count {
        true => Some(counted_runs(net, &groups, &arguments.limits, watch)?),
        false => None,
    };
    let shown = Shown::new(specification.name, net, survey, counts);
    print(watch, |out| {
        if arguments.json {
            serde_json::to_writer_pretty(&mut *out, &shown)?;
            writeln!(out)
        } else {
            show(&shown, out)
        }
    })?;
    Ok(Exit::Yes)
}

fn counted_runs(
    net: &Network,
    groups: &[Vec<gridlock_lts::model::network::LeafIx>],
    limits: &LimitFlags,
    watch: &Watch,
) -> Result<Counts, Failure> {
    watch.begin("counting runs", "components");
    let stop = || watch.stopped().map(|_| Limit::Interrupted);
    let progress = |_: u64, _: u64, done: u64| watch.count(usize::try_from(done).unwrap_or(usize::MAX), 0);
    let options = Options {
        workers: 1,
        limit: limits.max_states.unwrap_or(DEFAULT_LIMIT),
        groups: &[],
        reduction: Reduction::default(),
        stages: Stages::default(),
        members: DEFAULT_MEMBERS,
        trials: Trials::default(),
        max_memory: limits.memory().saturating_sub(resident().unwrap_or(0)),
        stop: &stop,
        progress: &progress,
    };
    parts::count(net, groups, &options).map_err(|error| match error {
        Error::Limit(Limit::States(n)) => Failure::Limit(format!(
            "counting takes more than {} states, which is the limit (--max-states)",
            count(n)
        )),
        Error::Limit(Limit::Interrupted) => Failure::Stopped,
        other => other.into(),
    })
}

impl Shown {
    fn new(specification: String, net: &Network, survey: Survey, counts: Option<Counts>) -> Self {
        let mut local = counts.iter().flat_map(|counts| &counts.local).map(BigUint::to_string);
        let components = survey
            .parts
            .into_iter()
            .map(|part| Component {
                processes: names(net, &part.leaves),
                states: part.states,
                internal: part.internal,
                interface: part.interface,
                actions: part.actions,
                local_traces: local.next(),
            })
            .collect();
        drop(local);
        let counts = counts.map(|counts| {
            let local: BigUint = counts.local.iter().sum();
            Totals {
                ratio: counts.global.as_ref().and_then(|global| ratio(global, &local)),
                skeletons: counts.skeletons.to_string(),
                local_traces: local.to_string(),
                global_traces: counts.global.map(|global| global.to_string()),
            }
        });
        Shown {
            version: 1,
            specification,
            components,
            internal_vectors: survey.internal_vectors,
            interface_vectors: survey.interface_vectors,
            actions: survey.actions,
            counts,
        }
    }
}

/// The ratio of the two numbers; `None` beyond the range of floating-point numbers, which ends at 10^308.
fn ratio(global: &BigUint, local: &BigUint) -> Option<f64> {
    let [global, local] = [global, local].map(|n| n.to_string().parse::<f64>().unwrap_or(f64::INFINITY));
    Some(global / local).filter(|ratio| ratio.is_finite())
}

fn show(shown: &Shown, out: &mut dyn Write) -> io::Result<()> {
    let Style { strong, off, .. } = Style::of_stdout();
    writeln!(
        out,
        "{strong}{}{off}: {}, {} between them, {} inside",
        shown.specification,
        counted(shown.components.len(), "component"),
        counted(shown.interface_vectors as usize, "vector"),
        count(shown.internal_vectors)
    )?;
    for component in &shown.components {
        writeln!(out, "\n{strong}{}{off}", component.processes.join(", "))?;
        writeln!(
            out,
            "  {}, transitions: {} internal, {} with others",
            counted(component.states as usize, "local state"),
            count(component.internal),
            count(component.interface)
        )?;
        if !component.actions.is_empty() {
            writeln!(out, "  interface: {}", component.actions.join(", "))?;
        }
        if let Some(traces) = &component.local_traces {
            writeln!(out, "  local traces: {}", digits(traces))?;
        }
    }
    let Some(counts) = &shown.counts else { return Ok(()) };
    writeln!(out, "\nskeletons      {}", digits(&counts.skeletons))?;
    writeln!(out, "local traces   {}", digits(&counts.local_traces))?;
    match &counts.global_traces {
        Some(traces) => writeln!(out, "global traces  {}", digits(traces))?,
        None => writeln!(out, "global traces  not counted: that takes more states (--max-states)")?,
    }
    match counts.ratio {
        Some(ratio) => writeln!(out, "ratio          {ratio:.1}"),
        None => Ok(()),
    }
}

/// Digits in groups of three.
fn digits(text: &str) -> String {
    let start = text.len() % 3;
    let mut groups: Vec<&str> = Vec::new();
    if start > 0 {
        groups.push(&text[..start]);
    }
    groups.extend((start..text.len()).step_by(3).map(|at| &text[at..at + 3]));
    groups.join(",")
}
