//! `gridlock info`: what a specification is made of.

mod cycle;
mod local;
mod summary;

use crate::flags::{Resources, TableArguments, TableMode};
use crate::input::{Specification, require_closed};
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::quantities::{count, counted, duration};
use crate::road::properties::Wanted;
use crate::terminal::Style;
use crate::watch::Watch;
use clap::Args;
use gridlock_lang::data::disagreement::Disagreements;
use gridlock_lang::system::Options;
use gridlock_lts::base::memory::resident;
use local::Local;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use summary::{Blocked, Global, Process, Summary};

/// The number of rules shown unless the user asks for all.
const SHOWN_RULES: usize = 40;

const HELP: &str = "\
Examples:
  gridlock info abp.mcrl2
  gridlock info abp.mcrl2 --all
  gridlock info paxos.mcrl2 --local --property agreement.mcf
  gridlock info abp.mcrl2 --json | jq '.processes[] | select(.cyclic == false) | .name'

What it shows:
  processes   the parts that run side by side, each with its local states and transitions
              (those worked out so far, if tables are filled on demand), the actions it can
              take part in, and whether it can return to a local state (cyclic). Tables built
              ahead of the search may hold local states that never occur.
  blocked     actions that a process is written to do and that can never happen, with the reason,
              and processes that can never move
  rules       which processes can move together, and the names of what each contributes
  vectors     the same with values: local transitions that together make a step
  labels      what these steps look like from outside, `tau` (hidden) among them
  bits        what a state of the whole system takes in memory
  local       with --local: local states and moves of each process, if it moves against all that
              the others may ever offer; the sum, that of the processes that --network does not
              name, and which properties hold because nothing there could violate them

Fields of --json (new ones may be added; `version` changes if one changes its meaning):
  version           1
  specification     the file, as named on the command line
  tables            \"complete\", or \"on demand\": worked out as a search meets local states
  on_demand_because why tables are filled on demand, a sentence for people, or null
  build_seconds     time to read the specification and build the tables
  processes         list, in the order of the specification, of
    name            unique, e.g. \"LINK(2, 0)\"
    states          local states worked out
    pending         local states known but not worked out
    transitions     local transitions worked out
    labels          different local labels (actions with values)
    actions         list of the names of the actions, sorted
    cyclic          true, false, or null if that is not known yet
    bits            bits it takes in a state
  rules             list of lists of {process, actions}: who moves together, and the names
                    of what each contributes
  blocked           list of {process, action, obstacle, why, remedy}: actions that can never
                    happen; obstacle is \"blocked\" or \"no-partner\", remedy may be null
  motionless        list of the names of processes that can never move
  globals           list of {name, sort, value}: variables of `glob`, and the value taken for each
  idle_equations    lines of equations that can never be applied to values
  vectors           number of vectors
  labels            number of visible labels, `tau` counted if it occurs
  bits_per_state    sum of the bits of all processes
  words_per_state   64-bit words that a state takes
  local             with --local, else null
    processes       list of {name, network, states, moves}
    states, moves   of all processes
    node_states     of those that are not the network
    node_moves      the same for moves
    properties      list of {property, safe}: safe is false if that decides nothing, and null
                    if only a search can decide it";

/// Show what a specification is made of: processes, actions, rules
///
/// Reads the specification, splits it into the processes that run side by side and works out what each can do. Explores
/// no state space beyond a short look.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    /// Write JSON, for programs
    #[arg(long)]
    json: bool,

    /// Show all rules, however many there are
    #[arg(long)]
    all: bool,

    /// Look at the processes one by one, and say what that decides about properties
    #[arg(long)]
    local: bool,

    /// With --local: processes that are the network, by name, `*` for anything; may be repeated
    #[arg(long, value_name = "PATTERN", requires = "local")]
    network: Vec<String>,

    #[command(flatten)]
    wanted: Wanted,

    #[command(flatten)]
    pub resources: Resources,

    #[command(flatten)]
    tables: TableArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch) -> Result<Exit, Failure> {
    let start = Instant::now();
    let specification = Specification::read(&arguments.specification)?;
    let disagreements = Arc::new(Disagreements::default());
    let options = arguments.tables.options(TableMode::Auto);
    let options = Options { disagreements: Some(disagreements.clone()), ..options };
    let system = specification.load(&specification.name, &options, options.table_limit, watch)?;
    specification.tell(&disagreements);
    let mut summary = Summary::new(&specification.name, &system, start.elapsed());
    if arguments.local {
        require_closed(&system, "--local")?;
        let properties = arguments.wanted.translate(&system.builder)?;
        let memory = arguments.resources.memory().saturating_sub(resident().unwrap_or(0));
        summary.local = Some(Local::new(&system.network, &properties, &arguments.network, memory)?);
    } else if let Some(flag) = arguments.wanted.arguments().first() {
        return Err(Failure::input(format!("{flag} belongs to --local: without it nothing is decided")));
    }
    print(watch, |out| {
        if arguments.json {
            serde_json::to_writer_pretty(&mut *out, &summary)?;
            writeln!(out)
        } else {
            show(&summary, arguments.all, out)
        }
    })?;
    Ok(Exit::Yes)
}

fn show(summary: &Summary, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let Style { strong, off, .. } = Style::of_stdout();
    let time = duration(Duration::from_secs_f64(summary.build_seconds));
    writeln!(out, "{strong}{}{off}", summary.specification)?;
    match summary.complete() {
        true => writeln!(out, "tables: complete, built in {time}")?,
        false => {
            let why = summary.on_demand_because.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            writeln!(out, "tables: filled on demand, begun in {time}{why}; numbers are those so far")?;
        }
    }
    let (bits, words) = (summary.bits_per_state, summary.words_per_state);
    writeln!(out, "a state of the system: {} in {}", counted(bits, "bit"), counted(words, "64-bit word"))?;
    writeln!(out, "{}, {}", counted(summary.vectors, "vector"), counted(summary.labels, "visible label"))?;
    writeln!(out, "\n{strong}{}{off}", counted(summary.processes.len(), "process"))?;
    show_processes(&summary.processes, out)?;
    if !summary.globals.is_empty() || !summary.idle_equations.is_empty() {
        writeln!(out)?;
    }
    for Global { name, sort, value } in &summary.globals {
        writeln!(out, "global variable {name}: {sort} is taken to be {value}")?;
    }
    if let [line, more @ ..] = &summary.idle_equations[..] {
        let others =
            if more.is_empty() { String::new() } else { format!(" and of {} other lines", more.len()) };
        writeln!(
            out,
            "the equation of line {line}{others} can never be applied to values: an operator in it has variables"
        )?;
    }
    show_blocked(summary, all, out)?;
    writeln!(out, "\n{strong}{}{off}", counted(summary.rules.len(), "rule"))?;
    let shown = if all { summary.rules.len() } else { SHOWN_RULES };
    for rule in summary.rules.iter().take(shown) {
        let parts: Vec<String> =
            rule.iter().map(|p| format!("{}: {}", p.process, p.actions.join("|"))).collect();
        writeln!(out, "  {}", parts.join("  "))?;
    }
    if summary.rules.len() > shown {
        writeln!(out, "  ... and {} more (--all shows them)", count((summary.rules.len() - shown) as u64))?;
    }
    summary.local.iter().try_for_each(|local| local.show(out))
}

/// Shows the actions that can never happen: usually an `allow` or a `comm` lacks an entry.
fn show_blocked(summary: &Summary, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let Style { strong, off, .. } = Style::of_stdout();
    let Summary { blocked, motionless, .. } = summary;
    if !blocked.is_empty() {
        writeln!(out, "\n{strong}{} can never happen{off}", counted(blocked.len(), "action"))?;
        let shown = if all { blocked.len() } else { SHOWN_RULES };
        for Blocked { process, action, why, remedy, .. } in blocked.iter().take(shown) {
            writeln!(out, "  {action} of {process}: {why}")?;
            if let Some(remedy) = remedy {
                writeln!(out, "    help: {remedy}")?;
            }
        }
        if blocked.len() > shown {
            writeln!(out, "  ... and {} more (--all shows them)", count((blocked.len() - shown) as u64))?;
        }
    }
    if !motionless.is_empty() {
        writeln!(out, "\n{strong}{} can never move{off}", counted(motionless.len(), "process"))?;
        motionless.iter().try_for_each(|name| writeln!(out, "  {name}"))?;
    }
    Ok(())
}

fn show_processes(processes: &[Process], out: &mut dyn Write) -> io::Result<()> {
    let header = ["name", "states", "pending", "transitions", "labels", "cyclic", "bits"].map(str::to_owned);
    let mut rows = vec![header];
    rows.extend(processes.iter().map(|p| {
        let cyclic = p.cyclic.map_or("not yet", |cyclic| if cyclic { "yes" } else { "no" });
        let [states, pending, transitions, labels] =
            [p.states, p.pending, p.transitions, p.labels].map(|n| count(n as u64));
        [p.name.clone(), states, pending, transitions, labels, cyclic.to_owned(), p.bits.to_string()]
    }));
    // Where nothing is pending, the column tells nothing.
    let pending = processes.iter().any(|p| p.pending > 0);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    for row in &rows {
        write!(out, "  {:<w$}", row[0], w = widths[0])?;
        for column in (1..row.len()).filter(|c| pending || *c != 2) {
            write!(out, "  {:>w$}", row[column], w = widths[column])?;
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    for p in processes {
        writeln!(out, "  {:<w$}  {}", p.name, p.actions.join(" "), w = widths[0])?;
    }
    Ok(())
}
