//! `--search isv`: an informed swarm, from the plan to the conclusion.
//!
//! Invariant: a conclusion is that of the manager in the words of `check`; `holds` comes from a swarm that has done or
//! pruned every trace ID of the subsystem, unbounded, and from nothing else.

mod arguments;
pub mod auto;
mod compare;
mod figures;
pub mod picture;
mod plan;
mod slice;
mod slice_plan;

pub use arguments::SwarmArguments;
pub use figures::Figures;
pub use slice::{ShownSlice, SliceFigures, SliceRun};

use super::Arguments;
use super::properties::Properties;
use super::search::{Bound, Conclusion, Outcome, TooLarge};
use crate::company::{Company, Team};
use crate::input::Specification;
use crate::outcome::Failure;
use crate::quantities::count;
use crate::shown_trace::ShownTrace;
use crate::swarm::numbers::{Numbers, Page, part_done, progress};
use crate::swarm::subsystem::require_closed;
use crate::terminal::tell;
use crate::watch::Watch;
use gridlock_lang::system::System;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::engine::search::{Stats, Verdict};
use gridlock_manager::grid::driver::{Control, Times};
use gridlock_manager::traces;
use gridlock_manager::traces::swarm::{Event, Status};
use num_bigint::BigUint;
use plan::Plan;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// What a swarm leaves behind beside its conclusion.
pub struct SwarmRun {
    /// For people and programs.
    pub figures: Figures,
    /// Job by job, if a page is to be written.
    pub events: Vec<Event>,
    /// When jobs were handed out and answered.
    pub times: Times,
    /// The trace IDs that were to be done.
    pub ids: Range<BigUint>,
}

/// Runs a swarm over a network whose tables are complete.
pub fn search(
    specification: &Specification,
    system: System,
    mut properties: Properties,
    arguments: &Arguments,
    watch: &Watch,
    quiet: bool,
    company: &Company,
) -> Result<Outcome, Failure> {
    if arguments.swarm.is_slice() {
        return slice::search(specification, system, properties, arguments, watch, quiet, company);
    }
    require_closed(&system, "an informed swarm")?;
    let System { network, builder, .. } = system;
    let prepared = properties.prepare(network);
    let network = prepared.net();
    if let Some(verdict) = prepared.violated_initially() {
        let (conclusion, trace) = conclude(verdict, |trace| ShownTrace::new(network, &builder, trace));
        return Ok(Outcome { conclusion, stats: Stats::default(), trace, swarm: None, slices: None });
    }
    let plan = Plan::new(specification, &prepared, &properties, arguments, watch)?;
    let team = Team {
        identity: &plan.agreed(),
        file: &specification.name,
        threads: arguments.workers(),
        stuck_after: arguments.swarm.patience.stuck_after(),
    };
    company.serve(&team, |grid| grid.serve(&traces::work(&prepared, &plan.guide)?))?;
    if !quiet {
        announce(&plan, arguments);
    }
    let start = Instant::now();
    let (report, resumed) = run(specification, &prepared, &plan, &team, arguments, watch, company)?;
    let traces::Report { conclusion, status, events, times } = report;
    let mut figures = Figures::new(&plan, arguments, &status, resumed);
    figures.traffic = company.traffic().map(Into::into);
    let stats = Stats { time: start.elapsed(), ..Stats::default() };
    let (conclusion, trace) = match conclusion {
        traces::Conclusion::Holds => (Conclusion::Holds, None),
        traces::Conclusion::Found(verdict, job) => {
            figures.found_by = Some(job);
            conclude(verdict, |trace| ShownTrace::new(network, &builder, trace))
        }
        other => {
            let bound = bound(other, &status.given_up, &mut figures, arguments, watch);
            (Conclusion::Unknown(bound), None)
        }
    };
    if arguments.swarm.compare_bfs && watch.stopped().is_none() {
        figures.compare(compare::search(&prepared, arguments, watch)?, &conclusion)?;
    }
    let swarm = Some(Box::new(SwarmRun { figures, events, times, ids: plan.ids }));
    Ok(Outcome { conclusion, stats, trace, swarm, slices: None })
}

/// Tells what was chosen, and what the user may not have expected.
fn announce(plan: &Plan, arguments: &Arguments) {
    if let Some(auto) = &plan.auto {
        auto.tell();
    }
    let width = plan.config.pace.width();
    if arguments.workers() as u64 > width {
        tell(format_args!(
            "note: at most {} of the {} workers have something to do at a time (--window)",
            count(width),
            arguments.workers()
        ));
    }
}

/// The swarm itself, and the number of answers that were in the checkpoint.
fn run(
    specification: &Specification,
    prepared: &Arc<Prepared>,
    plan: &Plan,
    team: &Team,
    arguments: &Arguments,
    watch: &Watch,
    company: &Company,
) -> Result<(traces::Report, usize), Failure> {
    let opened = plan.open(arguments)?;
    let resumed = opened.as_ref().map_or(0, |(_, records)| records.len());
    watch.begin("searching", "states");
    let start = Instant::now();
    let tell_progress = |status: &Status| {
        watch.count(status.total.states as usize, 0);
        watch.detail(progress(status));
        watch.part_done(part_done(status));
    };
    let page = |status: &Status| {
        let identity = plan.identity.iter().cloned().collect();
        let page = Page::new(&specification.name, start.elapsed(), arguments.workers(), identity);
        Page { resumed, numbers: Some(Numbers::new(status)), ..page }.bytes()
    };
    let control = Control { stop: &|| watch.stopped().is_some(), progress: &tell_progress, page: &page };
    let grid = company.grid(team, control.stop)?;
    let report = traces::conduct(prepared, &plan.guide, plan.config.clone(), &grid, opened, &control)?;
    Ok((report, resumed))
}

/// A verdict of the library in the words of `check`.
fn conclude(
    verdict: Verdict,
    show: impl Fn(&gridlock_lts::model::trace::Trace) -> ShownTrace,
) -> (Conclusion, Option<ShownTrace>) {
    match verdict {
        Verdict::Violated { property, trace } => (Conclusion::Violated(property), Some(show(&trace))),
        Verdict::Faulty { message, trace } => (Conclusion::Faulty(message), Some(show(&trace))),
        Verdict::Holds => (Conclusion::Holds, None),
        // A finding is never this.
        Verdict::Unknown(_) => (Conclusion::Unknown(Bound::Interrupted), None),
    }
}

/// What kept a swarm from an answer.
fn bound(
    conclusion: traces::Conclusion,
    given_up: &BigUint,
    figures: &mut Figures,
    arguments: &Arguments,
    watch: &Watch,
) -> Bound {
    match conclusion {
        traces::Conclusion::TooLarge(stuck) => {
            figures.set_too_large(&stuck);
            let largest = stuck.iter().map(|s| s.effort.states).max().unwrap_or(0);
            let memory = stuck.iter().map(|s| s.effort.memory).max().unwrap_or(0);
            Bound::JobTooLarge(TooLarge { traces: given_up.clone(), states: largest, memory })
        }
        traces::Conclusion::Repeats(repeats) => resumable(Bound::Repeats(repeats), arguments),
        traces::Conclusion::Shard { bounded } => Bound::Shard { bounded },
        traces::Conclusion::Bounded => Bound::Unrolled(arguments.swarm.unroll.unwrap_or(0)),
        traces::Conclusion::Journal(trouble) => Bound::Checkpoint(trouble.to_string()),
        // `Holds` and `Found` are answers and do not come here.
        traces::Conclusion::Stopped | traces::Conclusion::Holds | traces::Conclusion::Found(..) => {
            resumable(Bound::of(watch).unwrap_or(Bound::Interrupted), arguments)
        }
    }
}

/// The same bound; if there is a checkpoint, there is something to resume.
fn resumable(bound: Bound, arguments: &Arguments) -> Bound {
    match arguments.swarm.checkpoint {
        Some(_) => Bound::Resumable(Box::new(bound)),
        None => bound,
    }
}
