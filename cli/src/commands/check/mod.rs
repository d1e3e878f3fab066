//! `gridlock check`: whether a specification has its properties, and if not, what shows it.

mod page;
pub mod properties;
pub mod report;
mod search;
pub mod swarm;

use crate::arguments::{Limits, TableArguments, TableMode};
use crate::company::Company;
use crate::input::{Specification, is_stdin};
use crate::outcome::{Answer, Failure};
use crate::output::{check_place, print};
use crate::swarm::checkpoint::RESULT;
use crate::terminal::tell;
use crate::watch::{Phase, Watch};
use clap::{Args, ValueEnum};
use gridlock_lang::system::{Options, Tables};
use gridlock_lts::base::whole_file::write_whole;
use gridlock_lts::engine::search::{Order, Stats};
use gridlock_manager::grid::transport::launch::launched;
use properties::Wanted;
use report::Report;
use search::{Bound, Conclusion, Outcome};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use swarm::SwarmArguments;

const HELP: &str = "\
Examples:
  gridlock check abp.mcrl2                                  can it get stuck?
  gridlock check abp.mcrl2 --never 'error(_)' --deadlock    or go wrong?
  gridlock check abp.mcrl2 --property order.mcf --trace-out why.svg
  gridlock check abp.mcrl2 --json - | jq .states
  gridlock check big.mcrl2 --time-limit 10m --max-memory 4G
  gridlock check big.mcrl2 --search isv                     slice by slice, in little memory
  gridlock check big.mcrl2 --search isv --checkpoint run --resume
  gridlock check big.mcrl2 --search isv --subsystem 'LINK(2, 0)' --strategy random

The answer is the first word on standard output and the exit code: `holds` (0), `violated` (1) \
with a counterexample, `unknown` (3) with what was seen until then. A specification that has no \
meaning in some reachable state is an error (2). A search that is breadth-first gives a \
shortest counterexample, whatever the number of workers. Before a counterexample is shown it \
has been replayed, by code that did not find it; `gridlock replay` does that again. \
An informed swarm (--search isv) is explained in docs/swarm.md.";

/// Check whether a specification has its properties
///
/// Searches every state that the processes can reach together. Says `holds` only after all of them were seen, and shows
/// a run of the system if something is violated.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    #[command(flatten)]
    wanted: Wanted,

    /// The order in which states are visited
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = Search::Bfs, help_heading = "Search")]
    search: Search,

    /// The number of threads of a breadth-first search or a swarm [default: one for each core; one in each MPI process]
    #[arg(long, value_name = "N", help_heading = "Search", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// Write the counterexample: .svg a chart, .json, .aut, any other name the text that `replay` reads
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    trace_out: Option<PathBuf>,

    /// Write the result as JSON; `-` is standard output, which then has nothing else on it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Expand no state that is so many steps away from the initial one; `unknown` if there are any
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_depth: Option<u64>,

    #[command(flatten)]
    swarm: SwarmArguments,

    #[command(flatten)]
    pub limits: Limits,

    #[command(flatten)]
    tables: TableArguments,
}

/// An order of visiting states.
#[derive(ValueEnum, Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
enum Search {
    /// Breadth first, on all workers: counterexamples are as short as can be
    Bfs,
    /// Depth first, on one worker
    Dfs,
    /// Informed swarm: many small searches, by the slices or along the traces of a subsystem
    Isv,
}

impl Search {
    fn order(self) -> Order {
        match self {
            // A swarm says itself what each of its searches does.
            Search::Bfs | Search::Isv => Order::BreadthFirst,
            Search::Dfs => Order::DepthFirst,
        }
    }
}

impl Arguments {
    /// Whether several processes can do it together.
    pub fn is_shared(&self) -> bool {
        self.search == Search::Isv
    }

    /// The number of threads that search. With several processes there is usually one for each core.
    fn workers(&self) -> usize {
        let company = launched().is_some_and(|launch| launch.has_company());
        match (self.search, self.workers) {
            (Search::Isv, None) if company => 1,
            (Search::Dfs, _) => 1,
            (Search::Bfs | Search::Isv, Some(workers)) => usize::from(workers),
            (Search::Bfs | Search::Isv, None) => std::thread::available_parallelism().map_or(1, |n| n.get()),
        }
    }

    fn json_on_stdout(&self) -> bool {
        self.json.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }

    /// Says no to flags that do not fit together.
    fn check_flags(&self) -> Result<(), Failure> {
        let isv = self.search == Search::Isv;
        self.swarm.check(isv)?;
        if isv && !self.swarm.is_slice() && self.limits.max_states.is_some() {
            return Err(Failure::input(
                "--max-states does not belong to --search isv: --job-states bounds a job",
            ));
        }
        if isv && self.max_depth.is_some() {
            return Err(Failure::input("--max-depth does not belong to --search isv"));
        }
        if usize::from(is_stdin(&self.specification)) + self.wanted.on_stdin() > 1 {
            return Err(Failure::input("only one file can be read from standard input"));
        }
        Ok(())
    }

    /// Checks places before any work is done for them.
    fn check_places(&self) -> Result<(), Failure> {
        if let Some(path) = &self.trace_out {
            if path.as_os_str() == "-" {
                return Err(Failure::input(
                    "--trace-out needs the name of a file; standard output has the result",
                ));
            }
            check_place(path)?;
        }
        if let Some(path) = &self.swarm.report {
            if path.as_os_str() == "-" {
                return Err(Failure::input(
                    "--report needs the name of a file; standard output has the result",
                ));
            }
            check_place(path)?;
        }
        match &self.json {
            Some(path) if !self.json_on_stdout() => check_place(path),
            _ => Ok(()),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch, quiet: bool, company: &Company) -> Result<Answer, Failure> {
    arguments.check_flags()?;
    arguments.check_places()?;
    if arguments.search == Search::Dfs && arguments.workers.is_some_and(|n| n > 1) && !quiet {
        tell("note: a depth-first search has one worker");
    }
    let specification = Specification::read(&arguments.specification)?;
    let mut asked = arguments.wanted.names();
    let (outcome, build_time) = match examine(&specification, arguments, &mut asked, watch, quiet, company) {
        Err(Failure::Stopped) => {
            let bound = Bound::of(watch).unwrap_or(Bound::Interrupted);
            (Outcome::unknown(bound, Stats::default()), watch.elapsed())
        }
        examined => examined?,
    };
    if company.is_worker() {
        // The one that speaks has come to the same.
        return Ok(Answer::Unknown);
    }
    let specification = &specification.name;
    let report = Report { arguments, specification, asked: &asked, outcome: &outcome, build_time };
    watch.rest();
    // From here on there is a result, which a limit must not take away.
    watch.enter(Phase::Writing);
    tell_all(&report, watch, quiet)?;
    match &outcome.conclusion {
        Conclusion::Holds => Ok(Answer::Yes),
        Conclusion::Violated(_) => Ok(Answer::No),
        Conclusion::Unknown(_) => Ok(Answer::Unknown),
        Conclusion::Faulty(_) => Err(Failure::Specification(report.fault())),
    }
}

/// Everything up to the result; `asked` becomes what is really searched for.
fn examine(
    specification: &Specification,
    arguments: &Arguments,
    asked: &mut Vec<properties::Asked>,
    watch: &Watch,
    quiet: bool,
    company: &Company,
) -> Result<(Outcome, Duration), Failure> {
    let start = Instant::now();
    let options = arguments.tables.options(TableMode::Auto);
    if arguments.wanted.can_be_wrong() {
        // Tables may take minutes; what is wrong with a property is told before.
        let options = Options { tables: Tables::OnDemand, ..options.clone() };
        let system = specification.load(&specification.name, &options, options.table_limit, watch)?;
        arguments.wanted.translate(&system.builder)?;
        if !quiet && !company.is_worker() {
            for (place, name) in arguments.wanted.absent(&system.builder)? {
                tell(format_args!(
                    "note: {place}: no step can have the action '{name}', hidden or not; nothing matches it"
                ));
            }
        }
    }
    // An endless process is searched while it unfolds.
    let most = arguments.limits.states().min(options.table_limit);
    let system = specification.load(&specification.name, &options, most, watch)?;
    let properties = arguments.wanted.translate(&system.builder)?;
    asked.clone_from(&properties.asked);
    let outcome = match arguments.search {
        Search::Isv => swarm::search(specification, system, properties, arguments, watch, quiet, company)?,
        Search::Bfs | Search::Dfs => search::search(system, &properties, arguments, watch)?,
    };
    // What was not spent on the search was spent before it.
    let build_time = start.elapsed().saturating_sub(outcome.stats.time);
    Ok((outcome, build_time))
}

/// Writes the result wherever it is wanted.
fn tell_all(report: &Report, watch: &Watch, quiet: bool) -> Result<(), Failure> {
    let Arguments { trace_out, json, .. } = report.arguments;
    let faulty = matches!(report.outcome.conclusion, Conclusion::Faulty(_));
    if let Some(path) = trace_out {
        match &report.outcome.trace {
            Some(trace) => trace.save(path, report.specification, &report.title(), watch)?,
            None if !quiet => {
                tell(format_args!("there is no counterexample, so {} is not written", path.display()))
            }
            None => {}
        }
    }
    let write_json = |path: &Path| write_whole(path, |out| report.write_json(out)).map_err(Failure::input);
    if let Some(path) = &report.arguments.swarm.report {
        write_whole(path, |out| page::write(report, out)).map_err(Failure::input)?;
    }
    // A run that ended before the swarm began says nothing about what is in the checkpoint.
    let begun = report.outcome.swarm.is_some() || report.outcome.slices.is_some();
    if let Some(dir) = report.arguments.swarm.checkpoint.as_ref().filter(|_| begun) {
        // A checkpoint that could not be written once cannot be written now; the run has told so.
        let told = write_json(&dir.join(RESULT));
        if !matches!(report.outcome.conclusion, Conclusion::Unknown(search::Bound::Checkpoint(_))) {
            told?;
        }
    }
    match json {
        Some(_) if report.arguments.json_on_stdout() => return print(watch, |out| report.write_json(out)),
        Some(path) => write_json(path)?,
        None => {}
    }
    // What is wrong with a specification is told on standard error, as everywhere.
    if faulty { Ok(()) } else { print(watch, |out| report.write_text(out)) }
}
