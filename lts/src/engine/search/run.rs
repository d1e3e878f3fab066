//! What all workers of one search share: the system, the visited set, the limits, the counters.
//!
//! Invariant: a search ends early only through [`Run::stop`], and the first reason given is the one reported.

use super::{Options, Stats};
use crate::base::error::{Error, Limit};
use crate::base::memory::{self, Budget, Exhausted};
use crate::engine::mesh::Owner;
use crate::engine::successors::Successors;
use crate::engine::visited::Visited;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The shared part of a search.
pub(super) struct Run<'a, S: Successors> {
    pub(super) system: &'a S,
    pub(super) visited: Visited<'a, S::Width>,
    pub(super) budget: &'a Budget,
    pub(super) options: &'a Options<'a>,
    /// Which rank owns a state.
    pub(super) owner: Owner,
    started: Instant,
    resident_before: u64,
    /// Bytes in the account that the system has come to hold.
    grown: Mutex<u64>,
    transitions: AtomicU64,
    deadlocks: AtomicU64,
    frontier: AtomicU64,
    depth: AtomicU64,
    expanded: AtomicU64,
    /// What other ranks had visited and done when the last level ended; nothing if there are none.
    elsewhere: Elsewhere,
    /// What was done before the search was resumed, by all ranks.
    earlier: [AtomicU64; 2],
    next_report: AtomicU64,
    stopped: AtomicBool,
    stop: Mutex<Option<Error>>,
}

/// Steps and states without steps of those expanded before a search was resumed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Earlier {
    pub(super) transitions: u64,
    pub(super) deadlocks: u64,
}

/// What other ranks have done.
#[derive(Default)]
struct Elsewhere {
    states: AtomicU64,
    transitions: AtomicU64,
    frontier: AtomicU64,
}

impl<'a, S: Successors> Run<'a, S> {
    pub(super) fn new(
        system: &'a S,
        options: &'a Options<'a>,
        budget: &'a Budget,
        started: Instant,
        ranks: usize,
    ) -> Result<Self, Exhausted> {
        // Tests leave few bits for the depths, so that all ways to rebuild a trace are taken.
        let free_bits = system.packing().free_bits().min(if cfg!(test) { 3 } else { 32 });
        Ok(Run {
            system,
            visited: Visited::new(system.width(), free_bits, options.workers, 0, budget)?,
            budget,
            options,
            owner: super::owner(ranks, system.packing(), options),
            started,
            resident_before: memory::resident().unwrap_or(0),
            grown: Mutex::new(0),
            transitions: AtomicU64::new(0),
            deadlocks: AtomicU64::new(0),
            frontier: AtomicU64::new(0),
            depth: AtomicU64::new(0),
            expanded: AtomicU64::new(0),
            elsewhere: Elsewhere::default(),
            earlier: Default::default(),
            next_report: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            stop: Mutex::new(None),
        })
    }

    pub(super) fn stop(&self, why: Error) {
        let cancelled = self.options.cancel.is_some_and(|cancel| cancel.load(Relaxed));
        let why = match why {
            // A table source fails when it is asked to stop; that is no error of the source.
            Error::Input(_) | Error::Internal(_) if cancelled => self.cancelled().into(),
            why => why,
        };
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.stopped.store(true, Relaxed);
    }

    /// Why the search was cancelled.
    fn cancelled(&self) -> Limit {
        self.options.reason.map_or(Limit::Interrupted, |reason| reason())
    }

    /// Stops for a reason that another rank has.
    pub(super) fn halt(&self) {
        self.stopped.store(true, Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// The first reason to stop.
    pub(super) fn why_stopped(&self) -> Option<Error> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_level(&self, depth: u64, frontier: u64) {
        self.depth.store(depth, Relaxed);
        self.frontier.store(frontier, Relaxed);
    }

    /// Learns what other ranks have done.
    pub(super) fn set_elsewhere(&self, states: u64, transitions: u64, frontier: u64) {
        self.elsewhere.states.store(states, Relaxed);
        self.elsewhere.transitions.store(transitions, Relaxed);
        self.elsewhere.frontier.store(frontier, Relaxed);
    }

    /// Learns what was done before the search was resumed.
    pub(super) fn set_earlier(&self, transitions: u64, deadlocks: u64) {
        self.earlier[0].store(transitions, Relaxed);
        self.earlier[1].store(deadlocks, Relaxed);
    }

    /// What was done before the search was resumed: no part of [`Run::stats`].
    pub(super) fn earlier(&self) -> Earlier {
        let [transitions, deadlocks] = &self.earlier;
        Earlier { transitions: transitions.load(Relaxed), deadlocks: deadlocks.load(Relaxed) }
    }

    /// States expanded so far.
    pub(super) fn expanded(&self) -> u64 {
        self.expanded.load(Relaxed)
    }

    /// Looks at the limits, and reports progress if it is time, for threads that wait. The caller must not hold the table.
    pub(super) fn look_around(&self) {
        self.tell(&mut Done::default());
    }

    /// Adds what a worker has done since its last report, looks at the limits, and reports progress if it is time.
    pub(super) fn tell(&self, done: &mut Done) {
        self.transitions.fetch_add(done.transitions, Relaxed);
        self.deadlocks.fetch_add(done.deadlocks, Relaxed);
        self.expanded.fetch_add(done.expanded, Relaxed);
        self.frontier.fetch_sub(done.expanded.min(self.frontier.load(Relaxed)), Relaxed);
        *done = Done::default();
        self.charge();
        self.check_limits(self.visited.len());
        let now = self.started.elapsed().as_millis() as u64;
        let due = self.next_report.load(Relaxed);
        if now >= due && self.next_report.compare_exchange(due, now + 100, Relaxed, Relaxed).is_ok() {
            // A search with an allowance accompanies another one, whose memory it would take for its own.
            if self.options.allowance.is_none() {
                self.check_resident();
            }
            if let Some(progress) = self.options.progress {
                let own = self.stats();
                let Elsewhere { states, transitions, frontier } = &self.elsewhere;
                progress(&Stats {
                    states: own.states + states.load(Relaxed),
                    transitions: own.transitions + transitions.load(Relaxed) + self.earlier().transitions,
                    frontier: own.frontier + frontier.load(Relaxed),
                    ..own
                });
            }
        }
    }

    /// Puts what the system has come to hold into the account.
    fn charge(&self) {
        let mut grown = self.grown.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.system.growing_bytes();
        match self.budget.take(now.saturating_sub(*grown)) {
            Ok(()) => self.budget.give(grown.saturating_sub(now)),
            Err(exhausted) => return self.stop(exhausted.into()),
        }
        *grown = now;
    }

    /// Stops the search if a limit is reached. The number of states is given by the caller, who may hold the table.
    pub(super) fn check_limits(&self, states: u64) {
        let options = self.options;
        if let Some(limit) = options.time_limit
            && self.started.elapsed() >= limit
        {
            self.stop(Limit::Time(limit).into());
        }
        if options.cancel.is_some_and(|cancel| cancel.load(Relaxed)) {
            self.stop(self.cancelled().into());
        }
        if let Some(max) = options.max_states
            && states + self.elsewhere.states.load(Relaxed) > max
        {
            self.stop(Limit::States(max).into());
        }
    }

    /// A point of the search that depends on the system only.
    pub(super) fn pause(&self) {
        if self.options.pause.is_some_and(|pause| pause(&self.stats())) {
            self.stop(Limit::Interrupted.into());
        }
    }

    /// Tables that grow during the search are not in the account: what the process really has counts as well.
    fn check_resident(&self) {
        let grown = memory::resident().unwrap_or(0).saturating_sub(self.resident_before);
        if grown > self.budget.limit() {
            self.stop(Limit::Memory(self.budget.limit()).into());
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
}

/// What a worker has done since its last report.
#[derive(Default, Debug)]
pub(super) struct Done {
    pub(super) expanded: u64,
    pub(super) transitions: u64,
    pub(super) deadlocks: u64,
}
