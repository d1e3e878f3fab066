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
use crate::company::{Chase, Company};
use crate::input::{Specification, fill};
use crate::outcome::{Answer, Failure};
use crate::output::{first_failure, print};
use crate::quantities::{count, duration};
use crate::shown_trace::ShownTrace;
use crate::swarm::checkpoint::RESULT;
use crate::swarm::numbers::{Identity, Page};
use crate::swarm::subsystem::require_closed;
use crate::terminal::tell;
use crate::watch::{Phase, Reason, Watch};
use findings::{Desk, Finding, described};
use gridlock_lang::system::System;
use gridlock_lts::base::whole_file::write_whole;
use gridlock_lts::model::trace::Trace;
use gridlock_manager::driver::Control;
use gridlock_manager::hunt::run::{End, Ground, Hunters};
use gridlock_manager::hunt::{Outcome, Status, WINDOW};
use plan::Plan;
use report::Report;
use std::path::Path;
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
    let told = tell_all(&report, watch);
    if report.verdict() == "faulty" {
        let fault = Failure::Specification(format!("error: {}", bag.findings[0].message));
        first_failure([Err(fault), told.clone()])?;
    }
    told.map(|()| if report.verdict() == "violated" { Answer::No } else { Answer::Unknown })
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
    let checked = specification.check(&specification.name, &options, options.table_limit, watch)?;
    // Tables may take long; what is wrong with a property is told before.
    let mut properties = arguments.wanted.translate(checked.builder())?;
    if !quiet && !company.is_worker() {
        arguments.wanted.notes(checked.builder())?.iter().for_each(|note| tell(format_args!("{note}")));
    }
    let system = fill(checked, &[], watch)?;
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
    let ground = Ground { prepared: prepared.clone(), guide: guide.map(|guided| guided.guide.clone()) };
    let agreed = plan.agreed();
    let hunters = Hunters { threads: arguments.threads(), stuck_after: arguments.patience.stuck_after() };
    let chase = Chase { ground, identity: &agreed, file: &specification.name, hunters };
    company.serve_hunt(&chase)?;
    bag.seed = Some(plan.config.seed);
    if !quiet {
        announce(&plan, arguments);
    }
    let desk = Desk { specification, arguments, asked: &properties.asked, plan: &plan, watch, quiet };
    hunt(&desk, &chase, bag, company, &show)
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
        stuck: shown.stuck.clone(),
        shown,
    })
}

/// The hunt itself.
fn hunt(
    desk: &Desk,
    chase: &Chase,
    bag: &mut Bag,
    company: &Company,
    show: &dyn Fn(&Trace) -> ShownTrace,
) -> Result<Ending, Failure> {
    let Desk { specification, arguments, plan, watch, .. } = *desk;
    let opened = plan.open(arguments)?;
    let resumed = opened.as_ref().map_or(0, |(_, answers)| answers.len());
    bag.resumed = resumed;
    watch.begin("hunting", "states");
    let start = Instant::now();
    let net = chase.ground.prepared.net();
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
    let mut teller = |found: &gridlock_manager::hunt::Found, verdict| {
        findings.extend(desk.take(found, verdict, start.elapsed().as_secs_f64(), show));
    };
    let report = company.hunt(chase, plan.config.clone(), opened, &control, &mut teller);
    bag.time = start.elapsed();
    let report = report.map_err(|message| {
        if message.contains("internal: ") { Failure::Internal(message) } else { Failure::Input(message) }
    })?;
    bag.figures = Some(Figures::new(net, &report.status));
    Ok(match report.end {
        End::Over(outcome) => Ending::Over(outcome),
        End::Stopped => Ending::of(watch),
        End::Journal(trouble) => Ending::Checkpoint(trouble.to_string()),
    })
}

/// Writes the result to all places where it is wanted. Standard output comes first: a disk that is full must not cost the
/// verdict.
fn tell_all(report: &Report, watch: &Watch) -> Result<(), Failure> {
    let write_json = |path: &Path| write_whole(path, |out| report.write_json(out)).map_err(Failure::input);
    let on_stdout = report.arguments.json_on_stdout();
    let mut told =
        vec![print(watch, |out| if on_stdout { report.write_json(out) } else { report.write_text(out) })];
    // A run that ended before the hunt began says nothing about what is in the checkpoint.
    if let (Some(dir), Some(_)) = (&report.arguments.checkpoint, report.figures) {
        // A checkpoint that could not be written once cannot be written now; the run has told so.
        let written = write_json(&dir.join(RESULT));
        if !matches!(report.ending, Ending::Checkpoint(_)) {
            told.push(written);
        }
    }
    if let Some(path) = report.arguments.json.as_ref().filter(|_| !on_stdout) {
        told.push(write_json(path));
    }
    first_failure(told)
}
