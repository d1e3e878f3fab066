//! What all workers of one search share: the system, the visited set, the limits, the counters.
//!
//! Invariant: a search ends early only through [`Run::stop`], and the first reason given is the one reported.

use super::{Options, Reason, Stats};
use crate::base::memory::{self, Budget, Exhausted};
use crate::engine::pack::Width;
use crate::engine::successors::{Steps, Successors, Via};
use crate::engine::visited::Visited;
use crate::property::Finding;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Why a search ends before it is through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    Unknown(Reason),
    /// A table source failed.
    Failed(String),
}

impl From<Exhausted> for Stop {
    fn from(exhausted: Exhausted) -> Self {
        Stop::Unknown(Reason::Memory(exhausted.limit))
    }
}

/// What was found. The order is the order of preference among findings of one level, whoever found them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Found {
    pub(super) what: What,
    /// The state that is the deadlock, or from which the step was taken.
    pub(super) state: Vec<u64>,
    /// The step, if it was one.
    pub(super) step: Option<(Via, Vec<u64>)>,
}

/// The kinds of findings, in the order of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// A step whose outcome is the fault of that index.
    Fault(u32),
    /// A state without steps; the property of that index asks that there be none.
    Deadlock(usize),
    /// A step that violates the property of that index.
    Property(usize),
}

impl From<Finding> for What {
    fn from(finding: Finding) -> Self {
        match finding {
            Finding::Fault(fault) => What::Fault(fault),
            Finding::Property(property) => What::Property(property),
        }
    }
}

/// Keeps the lesser of two findings.
pub(super) fn keep_least(kept: &mut Option<Found>, found: Option<Found>) {
    if let Some(found) = found
        && kept.as_ref().is_none_or(|k| found < *k)
    {
        *kept = Some(found);
    }
}

/// The shared part of a search.
pub(super) struct Run<'a, S: Successors> {
    pub(super) system: &'a S,
    pub(super) visited: Visited<'a, S::Width>,
    pub(super) budget: &'a Budget,
    pub(super) options: &'a Options<'a>,
    /// The property that asks for freedom from deadlock.
    pub(super) deadlock: Option<usize>,
    started: Instant,
    resident_before: u64,
    transitions: AtomicU64,
    deadlocks: AtomicU64,
    frontier: AtomicU64,
    depth: AtomicU64,
    next_report: AtomicU64,
    stopped: AtomicBool,
    stop: Mutex<Option<Stop>>,
}

impl<'a, S: Successors> Run<'a, S> {
    pub(super) fn new(
        system: &'a S,
        deadlock: Option<usize>,
        options: &'a Options<'a>,
        budget: &'a Budget,
        started: Instant,
    ) -> Result<Self, Exhausted> {
        // Tests leave few bits for the depths, so that all ways to rebuild a trace are taken.
        let free_bits = system.packing().free_bits().min(if cfg!(test) { 3 } else { 32 });
        Ok(Run {
            system,
            visited: Visited::new(system.width(), free_bits, options.workers, 0, budget)?,
            budget,
            options,
            deadlock,
            started,
            resident_before: memory::resident().unwrap_or(0),
            transitions: AtomicU64::new(0),
            deadlocks: AtomicU64::new(0),
            frontier: AtomicU64::new(0),
            depth: AtomicU64::new(0),
            next_report: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            stop: Mutex::new(None),
        })
    }

    pub(super) fn stop(&self, why: Stop) {
        let cancelled = self.options.cancel.is_some_and(|cancel| cancel.load(Relaxed));
        let why = match why {
            // A table source that is told to stop fails, and that is no fault of it.
            Stop::Failed(_) if cancelled => Stop::Unknown(Reason::Cancelled),
            why => why,
        };
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.stopped.store(true, Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// The first reason to stop.
    pub(super) fn why_stopped(&self) -> Option<Stop> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_level(&self, depth: u64, frontier: u64) {
        self.depth.store(depth, Relaxed);
        self.frontier.store(frontier, Relaxed);
    }

    /// Adds what a worker has done since it last told, looks at the limits, and reports progress if it is time.
    pub(super) fn tell(&self, done: &mut Done) {
        self.transitions.fetch_add(done.transitions, Relaxed);
        self.deadlocks.fetch_add(done.deadlocks, Relaxed);
        self.frontier.fetch_sub(done.expanded.min(self.frontier.load(Relaxed)), Relaxed);
        *done = Done::default();
        self.check_limits(self.visited.len());
        let now = self.started.elapsed().as_millis() as u64;
        let due = self.next_report.load(Relaxed);
        if now >= due && self.next_report.compare_exchange(due, now + 100, Relaxed, Relaxed).is_ok() {
            self.check_resident();
            if let Some(progress) = self.options.progress {
                progress(&self.stats());
            }
        }
    }

    /// Stops the search if a limit is reached. The number of states is given by the caller, who may hold the table.
    pub(super) fn check_limits(&self, states: u64) {
        let options = self.options;
        if let Some(limit) = options.time_limit
            && self.started.elapsed() >= limit
        {
            self.stop(Stop::Unknown(Reason::Time(limit)));
        }
        if options.cancel.is_some_and(|cancel| cancel.load(Relaxed)) {
            self.stop(Stop::Unknown(Reason::Cancelled));
        }
        if let Some(max) = options.max_states
            && states > max
        {
            self.stop(Stop::Unknown(Reason::States(max)));
        }
    }

    /// Tables that grow during the search are not in the account: what the process really has counts as well.
    fn check_resident(&self) {
        let grown = memory::resident().unwrap_or(0).saturating_sub(self.resident_before);
        if grown > self.budget.limit() {
            self.stop(Stop::Unknown(Reason::Memory(self.budget.limit())));
        }
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            states: self.visited.len(),
            transitions: self.transitions.load(Relaxed),
            depth: self.depth.load(Relaxed),
            deadlocks: self.deadlocks.load(Relaxed),
            frontier: self.frontier.load(Relaxed),
            memory: self.budget.used(),
            peak_memory: self.budget.peak(),
            time: self.started.elapsed(),
        }
    }

    /// Looks at the marked steps among those of some states: `ends[k]` is where the steps of the k-th state end. Faults
    /// are removed, since they lead nowhere.
    #[cold]
    pub(super) fn look_at_marked(&self, states: &[u64], ends: &[usize], steps: &mut Steps) -> Option<Found> {
        let words = self.system.width().words();
        let (mut least, mut faults, mut k) = (None, Vec::new(), 0);
        for (state, &end) in states.chunks_exact(words).zip(ends) {
            for (k, &via) in (k..end).zip(&steps.vias()[k..end]).filter(|(_, via)| via.is_marked()) {
                let target = steps.target(k);
                let Some(finding) = self.system.finding(target, via) else { continue };
                let what = finding.into();
                keep_least(
                    &mut least,
                    Some(Found { what, state: state.to_vec(), step: Some((via, target.to_vec())) }),
                );
                if let Finding::Fault(_) = finding {
                    faults.push(k);
                }
            }
            k = end;
        }
        for k in faults.into_iter().rev() {
            steps.remove(k);
        }
        least
    }

    /// What a state without steps is.
    #[cold]
    pub(super) fn deadlock_at(&self, state: &[u64]) -> Option<Found> {
        self.deadlock.map(|p| Found { what: What::Deadlock(p), state: state.to_vec(), step: None })
    }
}

/// What a worker has done since it last told.
#[derive(Default, Debug)]
pub(super) struct Done {
    pub(super) expanded: u64,
    pub(super) transitions: u64,
    pub(super) deadlocks: u64,
}
