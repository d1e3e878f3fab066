//! The work of a search by slices: activations, by threads that share the store of their process.
//!
//! Invariant: the same slice and the same partition give the same result, on any rank and thread.

use crate::grid::journal::Tally;
use crate::grid::machine::{Numbered, Reply};
use crate::grid::work::{Work, Worker};
use gridlock_lts::base::error::{Error, Limit};
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::Successors;
use gridlock_worker::slice::activation::{self, Round};
use gridlock_worker::slice::message::{Done, Slice};
use gridlock_worker::slice::partition::Partition;
use gridlock_worker::slice::store::Store;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A slice to be activated.
#[derive(Clone, Debug)]
pub(super) struct SliceJob {
    pub(super) number: u64,
    pub(super) job_memory: u64,
    pub(super) partition: Arc<Partition>,
    pub(super) slice: Arc<Slice>,
}

impl Numbered for SliceJob {
    fn number(&self) -> u64 {
        self.number
    }
}

/// The result of an activation.
#[derive(Debug)]
pub(super) struct Activated {
    number: u64,
    pub(super) outcome: Result<Done, Error>,
}

impl Numbered for Activated {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Reply for Activated {
    fn is_interrupted(&self) -> bool {
        matches!(self.outcome, Err(Error::Limit(Limit::Interrupted)))
    }

    fn end(&self) -> &'static str {
        if self.outcome.is_ok() { "complete" } else { "failed" }
    }

    fn tally(&self) -> Tally {
        Tally { states: self.outcome.as_ref().map_or(0, |done| done.states), nanoseconds: 0 }
    }
}

/// Data that all workers of a process share, those that were given up included.
pub(super) struct SliceWork<S> {
    pub(super) system: Arc<S>,
    pub(super) store: Arc<Store>,
    /// States that one activation may expand.
    pub(super) quota: u64,
    /// States expanded by all workers of this process.
    pub(super) expanded: Arc<AtomicU64>,
}

impl<S: Successors + Send + Sync + 'static> Work for SliceWork<S> {
    type Job = SliceJob;
    type Answer = Activated;

    fn worker(&self) -> Worker<'_, SliceJob, Activated> {
        let mut worker = activation::Worker::new(self.system.width().words());
        Box::new(move |job, life| {
            let round = Round {
                system: &*self.system,
                partition: &job.partition,
                store: &self.store,
                job_memory: job.job_memory,
                quota: self.quota,
                life,
                expanded: &self.expanded,
            };
            Activated { number: job.number, outcome: worker.activate(&round, &job.slice) }
        })
    }
}
