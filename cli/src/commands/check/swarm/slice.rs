//! `--jobs slice`: the states of the system, divided by where a subsystem stands, and searched slice by slice.
//!
//! Every state is expanded once, so counts are exact as those of an exhaustive search, and the memory is that of the
//! largest slice. Invariant: the conclusion is that of the manager in the words of `check`.

use super::super::Arguments;
use super::super::properties::Properties;
use super::super::search::{Bound, Conclusion, Outcome};
use super::figures::Traffic;
use super::slice_plan::{SlicePlan, agreed, job_memory};
use super::{conclude, resumable};
use crate::company::{Company, Team};
use crate::input::Specification;
use crate::outcome::Failure;
use crate::quantities::{bytes, count};
use crate::shown_trace::ShownTrace;
use crate::swarm::numbers::{Identity, Page, SliceNumbers};
use crate::swarm::subsystem::require_closed;
use crate::terminal::tell;
use crate::watch::Watch;
use gridlock_lang::system::System;
use gridlock_lts::base::error::Limit;
use gridlock_lts::base::memory::{default_limit, resident};
use gridlock_lts::engine::search::Stats;
use gridlock_lts::model::network::{LeafIx, TableSource};
use gridlock_manager::grid::driver::Control;
use gridlock_manager::slices::{self, Answer, Options, Progress, Report, SliceSize, Why};
use serde::Serialize;

/// The figures of a search by slices, as `docs/json.md` documents them.
#[derive(Serialize, Clone, Debug)]
pub struct SliceFigures {
    subsystem: Vec<String>,
    slices: usize,
    largest_states: u64,
    divided: u64,
    forgotten: u64,
    rounds: u64,
    activations: u64,
    states_sent: u64,
    states_loaded: u64,
    job_memory_bytes: u64,
    largest_job_memory_bytes: u64,
    spilled_bytes: u64,
    /// What went over the network, if there was one.
    traffic: Option<Traffic>,
    checkpoint: Option<String>,
    /// Results that were in the checkpoint when the run began.
    resumed: u64,
    /// Why the subsystem was chosen, if the program chose it.
    auto: Option<String>,
    identity: Identity,
}

/// A slice for people.
pub struct ShownSlice {
    /// The local states of the subsystem.
    pub place: String,
    /// Whether this is a part of a slice that was divided.
    pub part: bool,
    pub states: u64,
    pub activations: u64,
}

/// What a search by slices leaves behind beside its conclusion.
pub struct SliceRun {
    /// For people and programs.
    pub figures: SliceFigures,
    /// The slices, if a page is to be written.
    pub sizes: Vec<ShownSlice>,
}

impl SliceFigures {
    /// Names and values for people.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![
            ("slices", count(self.slices as u64)),
            ("largest slice", format!("{} states", count(self.largest_states))),
            ("slices divided", count(self.divided)),
            ("rounds", count(self.rounds)),
            ("activations", count(self.activations)),
            ("largest job", bytes(self.largest_job_memory_bytes)),
            ("spilled", bytes(self.spilled_bytes)),
        ];
        if let Some(traffic) = &self.traffic {
            rows.push(("network", traffic.shown(self.activations.saturating_sub(self.resumed))));
        }
        rows
    }

    /// How it was run, in lines for people.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![
            ("subsystem", self.subsystem.join(", ")),
            ("jobs", format!("slice, at most {}", bytes(self.job_memory_bytes))),
        ];
        if let Some(dir) = &self.checkpoint {
            rows.push(("checkpoint", format!("{dir}, {} results resumed", count(self.resumed))));
        }
        rows
    }
}

/// Searches a network whose tables are complete.
pub fn search(
    specification: &Specification,
    system: System,
    mut properties: Properties,
    arguments: &Arguments,
    watch: &Watch,
    quiet: bool,
    company: &Company,
) -> Result<Outcome, Failure> {
    require_closed(&system, "a search by slices")?;
    let System { network, builder, .. } = system;
    let prepared = properties.prepare(network);
    let network = prepared.net();
    let agreed = agreed(specification, &properties, arguments);
    let team = Team {
        identity: &agreed,
        file: &specification.name,
        threads: arguments.workers(),
        stuck_after: arguments.swarm.patience.stuck_after(),
    };
    company.serve(&team, |grid| slices::serve(&prepared, grid))?;
    let progress = |p: &Progress| {
        watch.count(p.states as usize, p.transitions as usize);
        watch.detail(format!(
            "{} slices, {} waiting, {} spilled",
            count(p.slices),
            count(p.waiting),
            bytes(p.spilled)
        ));
    };
    let limit = arguments.limits.watched().memory.unwrap_or_else(default_limit);
    let room = limit.saturating_sub(resident().unwrap_or(0));
    let options = Options {
        job_memory: job_memory(arguments),
        max_memory: Some(room),
        max_resident: Some(limit),
        spill: arguments.swarm.spill.clone(),
        max_states: arguments.limits.max_states,
    };
    let plan = SlicePlan::new(&prepared, agreed.clone(), &options, arguments, watch)?;
    if let Some(why) = plan.chosen.as_ref().filter(|_| !quiet) {
        watch.rest();
        tell(why);
    }
    let journal = plan.open(arguments)?;
    let identity: Identity = plan.identity.iter().cloned().collect();
    let page = |p: &Progress| {
        let page = Page::new(&specification.name, p.time, arguments.workers(), identity.clone());
        Page { resumed: p.resumed as usize, slices: Some(SliceNumbers::new(p)), ..page }.bytes()
    };
    watch.begin("searching", "states");
    let control = Control { stop: &|| watch.stopped().is_some(), progress: &progress, page: &page };
    let grid = company.grid(&team, control.stop)?;
    let report = slices::check(&prepared, &plan.leaves, &options, &grid, journal, &control)?;
    let stats = Stats {
        states: report.states,
        transitions: report.transitions,
        deadlocks: report.deadlocks,
        peak_memory: report.peak_memory,
        time: report.time,
        ..Stats::default()
    };
    let show = |slice: &SliceSize| shown(slice, &plan.leaves, &builder);
    // Names of local states may be long, and there may be very many slices.
    let sizes =
        if arguments.swarm.report.is_some() { report.slices.iter().map(show).collect() } else { vec![] };
    let figures = figures(&report, plan, options.job_memory, arguments, company);
    let (conclusion, trace) = match report.answer {
        Answer::Verdict(verdict) => conclude(verdict, |trace| ShownTrace::new(network, &builder, trace)),
        Answer::Unknown(why) => (Conclusion::Unknown(bound(why, limit, arguments, watch)), None),
    };
    Ok(Outcome { conclusion, stats, trace, swarm: None, slices: Some(Box::new(SliceRun { figures, sizes })) })
}

fn shown(slice: &SliceSize, leaves: &[LeafIx], source: &dyn TableSource) -> ShownSlice {
    let places = leaves.iter().zip(&slice.locals).map(|(leaf, local)| source.describe(*leaf, *local));
    ShownSlice {
        place: places.collect::<Vec<_>>().join("; "),
        part: slice.part,
        states: slice.states,
        activations: slice.activations,
    }
}

fn figures(
    report: &Report,
    plan: SlicePlan,
    job_memory: u64,
    arguments: &Arguments,
    company: &Company,
) -> SliceFigures {
    SliceFigures {
        subsystem: plan.names,
        slices: report.slices.len(),
        largest_states: report.largest,
        divided: report.splits,
        forgotten: report.forgotten,
        rounds: report.rounds,
        activations: report.activations,
        states_sent: report.sent,
        states_loaded: report.loaded,
        job_memory_bytes: job_memory,
        largest_job_memory_bytes: report.job_peak,
        spilled_bytes: report.spilled,
        traffic: company.traffic().map(Into::into),
        checkpoint: arguments.swarm.checkpoint.as_ref().map(|dir| dir.display().to_string()),
        resumed: report.resumed,
        auto: plan.chosen,
        identity: plan.identity.into_iter().collect(),
    }
}

/// What kept a search from an answer.
fn bound(why: Why, memory: u64, arguments: &Arguments, watch: &Watch) -> Bound {
    let limit = match why {
        Why::Journal(why) => return Bound::Checkpoint(why),
        Why::Disk(reason) => return resumable(Bound::Spill(reason), arguments),
        // More for each job is another run.
        Why::Limit(Limit::JobMemory(bytes)) => return Bound::JobMemory(bytes),
        Why::Limit(limit) => limit,
    };
    let bound = Bound::of(watch).unwrap_or(match limit {
        Limit::States(n) => Bound::States(n),
        Limit::Depth(n) => Bound::Depth(n),
        Limit::Memory(_) | Limit::JobMemory(_) => Bound::Memory(memory),
        Limit::Time(t) => Bound::Time(t),
        Limit::Interrupted => Bound::Interrupted,
    });
    resumable(bound, arguments)
}
