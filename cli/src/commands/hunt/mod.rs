//! `gridlock hunt`: looks for bugs with many cheap, very different searches.
//!
//! Invariant: it never says `holds`. What it says to be violated was replayed before.

mod arguments;
mod figures;
mod findings;
mod job_file;
pub mod plan;
mod report;

pub use arguments::Arguments;
pub use figures::Figures;

use super::check::properties::{Asked, Properties};
use crate::arguments::TableMode;
use crate::company::{Company, Team};
use crate::input::Specification;
use crate::outcome::{Answer, Failure};
use crate::output::print;
use crate::quantities::{count, duration};
use crate::shown_trace::ShownTrace;
use crate::swarm::checkpoint::RESULT;
use crate::swarm::numbers::{Identity, Page};
use crate::swarm::subsystem::require_closed;
use crate::terminal::tell;
use crate::watch::{Phase, Reason, Watch};
use findings::{Desk, Finding, described};
use gridlock_lang::system::{Options, System, Tables};
use gridlock_lts::base::whole_file::write_whole;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::model::trace::Trace;
use gridlock_manager::grid::driver::Control;
use gridlock_manager::hunt::run::{self, End};
use gridlock_manager::hunt::{Outcome, Status, WINDOW};
use plan::Plan;
use report::Report;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why a hunt is over, in the words of the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// By itself.
    Over(Outcome),
    /// Before the first step something is violated.
    Initially,
    /// `--budget`.
    Time,
    /// `--memory`.
    Memory,
    /// Ctrl-C, SIGTERM or SIGUSR1.
    Interrupted,
    /// The checkpoint cannot be written: why.
    Checkpoint(String),
}

impl Ending {
    fn of(watch: &Watch) -> Self {
        match watch.stopped() {
            Some(Reason::Time(_)) => Ending::Time,
            Some(Reason::Memory(_)) => Ending::Memory,
            Some(Reason::Interrupted) | None => Ending::Interrupted,
        }
    }

    /// A stable name for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Ending::Over(Outcome::Findings) | Ending::Initially => "findings",
            Ending::Over(Outcome::Everything) => "everything",
            Ending::Over(Outcome::Jobs) => "max-jobs",
            Ending::Over(Outcome::States) => "max-states",
            Ending::Over(Outcome::Exhausted | Outcome::Failed { .. }) => "exhausted",
            Ending::Time => "budget",
            Ending::Memory => "memory",
            Ending::Interrupted => "interrupted",
            Ending::Checkpoint(_) => "checkpoint",
        }
    }

    /// For people.
    fn message(&self, arguments: &Arguments) -> String {
        let resumable = if arguments.checkpoint.is_some() { ", --resume continues" } else { "" };
        match self {
            Ending::Over(Outcome::Findings) | Ending::Initially => {
                "as many as wanted were found (--findings)".to_owned()
            }
            Ending::Over(Outcome::Everything) => "every reachable state was seen".to_owned(),
            Ending::Over(Outcome::Jobs) if arguments.repeat.is_some() => "the search was repeated".to_owned(),
            Ending::Over(Outcome::Jobs) => {
                format!("{} searches were done (--max-jobs)", count(arguments.max_jobs.unwrap_or(0)))
            }
            Ending::Over(Outcome::States) => {
                format!("{} states were expanded (--max-states)", count(arguments.max_states.unwrap_or(0)))
            }
            Ending::Over(Outcome::Exhausted | Outcome::Failed { .. }) => {
                "no member of the portfolio has anything left to do".to_owned()
            }
            Ending::Time => {
                format!("the budget of {} is spent (--budget){resumable}", duration(arguments.budget))
            }
            Ending::Memory => format!("the memory is used up (--memory){resumable}"),
            Ending::Interrupted => format!("interrupted{resumable}"),
            Ending::Checkpoint(why) => format!("the checkpoint cannot be written: {why}{resumable}"),
        }
    }
}

/// Everything that comes of a hunt.
#[derive(Default)]
struct Bag {
    findings: Vec<Finding>,
    figures: Option<Figures>,
    seed: Option<u64>,
    subsystem: Option<Vec<String>>,
    unroll: Option<u32>,
    resumed: usize,
    identity: Identity,
    time: Duration,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch, quiet: bool, company: &Company) -> Result<Answer, Failure> {
    arguments.check()?;
    let specification = Specification::read(&arguments.specification)?;
    let mut asked = arguments.wanted.names();
    let mut bag = Bag::default();
    let start = Instant::now();
    let ending = match examine(&specification, arguments, &mut asked, &mut bag, watch, quiet, company) {
        Err(Failure::Stopped) => Ending::of(watch),
        examined => examined?,
    };
    if company.is_worker() {
        // The one that speaks has come to the same.
        return Ok(Answer::Unknown);
    }
    let build_time = start.elapsed().saturating_sub(bag.time);
    watch.rest();
    // From here on there is a result, which a limit must not take away.
    watch.enter(Phase::Writing);
    let report = Report {
        arguments,
        specification: &specification.name,
        asked: &asked,
        ending: &ending,
        findings: &bag.findings,
        figures: bag.figures.as_ref(),
        seed: bag.seed,
        subsystem: bag.subsystem.as_deref(),
        unroll: bag.unroll,
        resumed: bag.resumed,
        identity: bag.identity.clone(),
        traffic: company.traffic().map(Into::into),
        time: bag.time,
        build_time,
    };
    tell_all(&report, watch)?;
    match report.verdict() {
        "violated" => Ok(Answer::No),
        "faulty" => Err(Failure::Specification(format!("error: {}", bag.findings[0].message))),
        _ => Ok(Answer::Unknown),
    }
}

/// Everything up to the result; `asked` becomes what is really searched for.
fn examine(
    specification: &Specification,
    arguments: &Arguments,
    asked: &mut Vec<Asked>,
    bag: &mut Bag,
    watch: &Watch,
    quiet: bool,
    company: &Company,
) -> Result<Ending, Failure> {
    let options = arguments.tables.options(TableMode::Auto);
    if arguments.wanted.can_be_wrong() {
        // Tables may take minutes; what is wrong with a property is told before.
        let options = Options { tables: Tables::OnDemand, ..options.clone() };
        let system = specification.load(&specification.name, &options, options.table_limit, watch)?;
        arguments.wanted.translate(&system.builder)?;
    }
    let system = specification.load(&specification.name, &options, options.table_limit, watch)?;
    let mut properties = arguments.wanted.translate(&system.builder)?;
    asked.clone_from(&properties.asked);
    require_closed(&system, "a hunt")?;
    let System { network, builder, .. } = system;
    let prepared = properties.prepare(network);
    let network = prepared.net();
    let show = |trace: &Trace| ShownTrace::new(network, &builder, trace);
    if let Some(verdict) = prepared.violated_initially() {
        bag.findings.extend(initially(&properties, verdict, &show));
        return Ok(Ending::Initially);
    }
    let plan = Plan::new(specification, &prepared, &builder, &properties, arguments, watch)?;
    let guide = plan.guide.as_ref();
    bag.subsystem = guide.map(|guided| guided.subsystem.clone());
    bag.unroll = guide.and_then(|guided| guided.unroll);
    bag.identity = plan.identity.iter().cloned().collect();
    let guide = guide.map(|guided| &guided.guide);
    let team = Team {
        identity: &plan.agreed(),
        file: &specification.name,
        threads: arguments.threads(),
        stuck_after: arguments.patience.stuck_after(),
    };
    company.serve(&team, |grid| grid.serve(&run::work(&prepared, guide)?))?;
    bag.seed = Some(plan.config.seed);
    if !quiet {
        announce(&plan, arguments);
    }
    let desk = Desk { specification, arguments, asked: &properties.asked, plan: &plan, watch, quiet };
    hunt(&desk, &prepared, &team, bag, company, &show)
}

/// Tells what all choices come from, and what the user may not have expected.
fn announce(plan: &Plan, arguments: &Arguments) {
    tell(format_args!("seed {} (--seed {} makes the same searches)", plan.config.seed, plan.config.seed));
    let workers = arguments.all_workers();
    if workers > WINDOW {
        tell(format_args!("note: at most {WINDOW} of the {workers} workers have something to do at a time"));
    }
}

/// A property that is violated before the first step.
fn initially(
    properties: &Properties,
    verdict: gridlock_lts::engine::search::Verdict,
    show: &dyn Fn(&Trace) -> ShownTrace,
) -> Option<Finding> {
    let (verdict, property, message, shown) = described(&properties.asked, verdict, show)?;
    Some(Finding {
        number: 1,
        verdict,
        property,
        message,
        job: None,
        member: None,
        steps: 0,
        found_steps: 0,
        states: 0,
        seconds: 0.0,
        trace_file: None,
        job_file: None,
        command: None,
        from_seed: None,
        trace: Vec::new(),
        end: shown.end.clone(),
        shown,
    })
}

/// The hunt itself.
fn hunt(
    desk: &Desk,
    prepared: &Arc<Prepared>,
    team: &Team,
    bag: &mut Bag,
    company: &Company,
    show: &dyn Fn(&Trace) -> ShownTrace,
) -> Result<Ending, Failure> {
    let Desk { specification, arguments, plan, watch, .. } = *desk;
    let opened = plan.open(arguments)?;
    let resumed = opened.as_ref().map_or(0, |(_, records)| records.len());
    bag.resumed = resumed;
    watch.begin("hunting", "states");
    let start = Instant::now();
    let net = prepared.net();
    let tell_progress = |status: &Status| {
        watch.count(status.total.states as usize, 0);
        watch.detail(figures::progress(status));
    };
    let page = |status: &Status| {
        let identity = plan.identity.iter().cloned().collect();
        let page = Page::new(&specification.name, start.elapsed(), arguments.threads(), identity);
        Page { resumed, hunt: Some(Figures::new(net, status)), ..page }.bytes()
    };
    let control = Control { stop: &|| watch.stopped().is_some(), progress: &tell_progress, page: &page };
    let findings = &mut bag.findings;
    let mut on_finding = |found: &gridlock_manager::hunt::Found, verdict| {
        findings.extend(desk.take(found, verdict, start.elapsed().as_secs_f64(), show));
    };
    let guide = plan.guide.as_ref().map(|guided| &guided.guide);
    let report = company.grid(team, control.stop).and_then(|grid| {
        run::conduct(prepared, guide, plan.config.clone(), &grid, opened, &control, &mut on_finding)
    });
    bag.time = start.elapsed();
    let report = report?;
    bag.figures = Some(Figures::new(net, &report.status));
    Ok(match report.end {
        End::Over(outcome) => Ending::Over(outcome),
        End::Stopped => Ending::of(watch),
        End::Journal(trouble) => Ending::Checkpoint(trouble.to_string()),
    })
}

/// Writes the result wherever it is wanted.
fn tell_all(report: &Report, watch: &Watch) -> Result<(), Failure> {
    let write_json = |path: &Path| write_whole(path, |out| report.write_json(out)).map_err(Failure::input);
    // A run that ended before the hunt began says nothing about what is in the checkpoint.
    if let (Some(dir), Some(_)) = (&report.arguments.checkpoint, report.figures) {
        // A checkpoint that could not be written once cannot be written now; the run has told so.
        let told = write_json(&dir.join(RESULT));
        if !matches!(report.ending, Ending::Checkpoint(_)) {
            told?;
        }
    }
    match &report.arguments.json {
        Some(_) if report.arguments.json_on_stdout() => return print(watch, |out| report.write_json(out)),
        Some(path) => write_json(path)?,
        None => {}
    }
    print(watch, |out| report.write_text(out))
}
