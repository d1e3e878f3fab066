//! The limits of a search by slices, and whom it tells how far it is.
//!
//! Invariant: a search ends early only through [`Limits::stop`], and the first reason given is the one reported. All this
//! happens on the thread of the coordinator; workers only add to a number.

use super::coordinator::Coordinator;
use super::{Options, Progress};
use gridlock_lts::base::error::Limit;
use gridlock_worker::slice::store::Store;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often progress is told.
const TELL: Duration = Duration::from_millis(100);

/// See the module head.
pub(super) struct Limits<'a> {
    options: &'a Options<'a>,
    started: Instant,
    why: Cell<Option<Limit>>,
    told: Cell<Duration>,
    /// What only the coordinator knows, as of the beginning of the round.
    known: Cell<Progress>,
    store: &'a Store,
    /// States expanded by all workers.
    expanded: &'a AtomicU64,
}

impl<'a> Limits<'a> {
    /// Limits that nothing has reached yet.
    pub(super) fn new(
        options: &'a Options<'a>,
        started: Instant,
        store: &'a Store,
        expanded: &'a AtomicU64,
    ) -> Self {
        Limits {
            options,
            started,
            why: Cell::default(),
            told: Cell::default(),
            known: Cell::default(),
            store,
            expanded,
        }
    }

    /// Ends the search.
    pub(super) fn stop(&self, why: Limit) {
        self.why.set(self.why.get().or(Some(why)));
    }

    /// Why the search is to end, if it is.
    pub(super) fn stopped(&self) -> Option<Limit> {
        self.why.get()
    }

    /// Looks at the limits, and reports progress if it is time.
    pub(super) fn watch(&self) {
        let options = self.options;
        if let Some(limit) = options.time_limit
            && self.started.elapsed() >= limit
        {
            self.stop(Limit::Time(limit));
        }
        if options.cancel.is_some_and(|cancel| cancel.load(Relaxed)) {
            self.stop(Limit::Interrupted);
        }
        if let Some(max) = options.max_states
            && self.expanded.load(Relaxed) > max
        {
            self.stop(Limit::States(max));
        }
        let now = self.started.elapsed();
        if let Some(progress) = options.progress
            && now >= self.told.get()
        {
            self.told.set(now + TELL);
            progress(&self.progress());
        }
    }

    /// How far the search is.
    pub(super) fn progress(&self) -> Progress {
        Progress {
            states: self.expanded.load(Relaxed),
            memory: self.store.memory().used(),
            spilled: self.store.spilled(),
            time: self.started.elapsed(),
            ..self.known.get()
        }
    }

    /// States that others than the workers of this process have expanded.
    pub(super) fn add(&self, states: u64) {
        self.expanded.fetch_add(states, Relaxed);
    }

    /// So many states were really expanded. Those of an activation that was lost were counted, too, and then again.
    pub(super) fn correct(&self, states: u64) {
        self.expanded.store(states, Relaxed);
    }

    /// Takes over what the coordinator knows.
    pub(super) fn know(&self, coordinator: &Coordinator) {
        self.known.set(Progress {
            transitions: coordinator.totals.transitions,
            rounds: u64::from(coordinator.round),
            slices: coordinator.slices.len() as u64,
            waiting: coordinator.slices.iter().map(|slice| slice.waiting).sum(),
            largest: coordinator.records.iter().map(|record| record.states).max().unwrap_or(0),
            activations: coordinator.totals.activations,
            splits: coordinator.totals.splits,
            ..Progress::default()
        });
    }
}
