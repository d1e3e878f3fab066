//! `--jobs slice`: the states of the system, divided by where a subsystem stands, and searched slice by slice.
//!
//! Every state is expanded once, so counts are exact as those of an exhaustive search, and the memory is that of the
//! largest slice. Invariant: the conclusion is that of the manager in the words of `check`.

use super::super::Arguments;
use super::super::properties::Properties;
use super::super::search::{Bound, Conclusion, Outcome};
use super::conclude;
use crate::outcome::Failure;
use crate::quantities::{bytes, count};
use crate::shown_trace::ShownTrace;
use crate::swarm::subsystem::{find_leaves, names, require_closed, split_names};
use crate::terminal::tell;
use crate::watch::Watch;
use gridlock_lang::system::System;
use gridlock_lts::memory::{default_limit, resident};
use gridlock_lts::prepared::Prepared;
use gridlock_lts::search::{Reason, Stats};
use gridlock_manager::slices::{self, Answer, Options, Progress, Why};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What one worker may use for a slice if nothing else is said.
const DEFAULT_JOB_MEMORY: u64 = 64 << 20;

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
}

impl SliceFigures {
    /// Names and values for people.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        vec![
            ("slices", count(self.slices as u64)),
            ("largest slice", format!("{} states", count(self.largest_states))),
            ("slices divided", count(self.divided)),
            ("rounds", count(self.rounds)),
            ("activations", count(self.activations)),
            ("largest job", bytes(self.largest_job_memory_bytes)),
            ("spilled", bytes(self.spilled_bytes)),
        ]
    }

    /// The subsystem, for people.
    pub fn subsystem(&self) -> String {
        self.subsystem.join(", ")
    }
}

/// Searches a network whose tables are complete.
pub fn search(
    system: System,
    properties: &Properties,
    arguments: &Arguments,
    watch: &Watch,
    quiet: bool,
) -> Result<Outcome, Failure> {
    require_closed(&system, "a search by slices")?;
    let System { network, builder, .. } = system;
    let prepared = Prepared::new(&network, &properties.checked);
    let cancel = AtomicBool::new(false);
    let progress = |p: &Progress| {
        watch.count(p.states as usize, p.transitions as usize);
        watch.detail(format!(
            "{} slices, {} waiting, {} spilled",
            count(p.slices),
            count(p.waiting),
            bytes(p.spilled)
        ));
        if watch.stopped().is_some() {
            cancel.store(true, Relaxed);
        }
    };
    let limit = arguments.limits.watched().memory.unwrap_or_else(default_limit);
    let options = Options {
        workers: arguments.workers(),
        job_memory: arguments.swarm.job_memory.unwrap_or(DEFAULT_JOB_MEMORY),
        max_memory: Some(limit.saturating_sub(resident().unwrap_or(0))),
        spill: arguments.swarm.spill.clone(),
        max_states: arguments.limits.max_states,
        time_limit: None,
        cancel: Some(&cancel),
        progress: Some(&progress),
    };
    let leaves = if arguments.swarm.is_auto() {
        watch.begin("choosing a subsystem", "states");
        let choice = slices::choose_subsystem(&prepared, &options).map_err(Failure::Input)?;
        if !quiet {
            watch.rest();
            tell(&choice);
        }
        choice.leaves().to_vec()
    } else {
        find_leaves(&network, &split_names(&arguments.swarm.subsystem))?
    };
    watch.begin("searching", "states");
    let report = slices::check(&prepared, &leaves, &options).map_err(Failure::Input)?;
    let stats = Stats {
        states: report.states,
        transitions: report.transitions,
        deadlocks: report.deadlocks,
        peak_memory: report.peak_memory,
        time: report.time,
        ..Stats::default()
    };
    let (conclusion, trace) = match report.answer {
        Answer::Verdict(verdict) => conclude(verdict, |trace| ShownTrace::new(&network, &builder, trace)),
        Answer::Unknown(why) => (Conclusion::Unknown(bound(why, watch)), None),
    };
    let figures = SliceFigures {
        subsystem: names(&network, &leaves),
        slices: report.slices.len(),
        largest_states: report.largest,
        divided: report.splits,
        forgotten: report.forgotten,
        rounds: report.rounds,
        activations: report.activations,
        states_sent: report.sent,
        states_loaded: report.loaded,
        job_memory_bytes: options.job_memory,
        largest_job_memory_bytes: report.job_peak,
        spilled_bytes: report.spilled,
    };
    Ok(Outcome { conclusion, stats, trace, swarm: None, slices: Some(figures) })
}

fn bound(why: Why, watch: &Watch) -> Bound {
    match why {
        Why::Disk(reason) => Bound::Spill(reason),
        Why::Limit(reason) => Bound::of(watch).unwrap_or(match reason {
            Reason::States(n) => Bound::States(n),
            Reason::Depth(n) => Bound::Depth(n),
            Reason::Memory(n) => Bound::Memory(n),
            Reason::Time(t) => Bound::Time(t),
            Reason::Cancelled => Bound::Interrupted,
        }),
    }
}
