//! How jobs reach workers and answers come back.
//!
//! A [`Transport`] moves jobs and answers and knows nothing of either. Invariant: every job that was sent is answered
//! exactly once, by its answer or by the news that it was lost, unless the transport itself fails, which is an error.

pub mod launch;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod threads;

use gridlock_lts::base::error::Result;
use std::time::Duration;

/// A fingerprint of the sources of this program (see `build.rs`).
pub const SOURCES: &str = env!("GRIDLOCK_SOURCES");

/// Jobs are known by a number that the sender chooses; those under way at a time have different ones.
pub type Ticket = u64;

/// The reply to a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Returned<A> {
    /// The answer.
    Done(A),
    /// The worker could not finish the job, for this reason. It is ready for another job.
    Lost(String),
}

/// Workers: threads here, or other ranks.
pub trait Transport<J, A> {
    /// For each job that may be under way at a time, the worker that it belongs to.
    fn slots(&self) -> Vec<u32>;

    /// Sends a job. The worker must have a free slot.
    fn send(&mut self, worker: u32, ticket: Ticket, job: J) -> Result<()>;

    /// The next answer, if one comes within some time, with its worker and its job.
    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Ticket, Returned<A>)>>;

    /// Tells all workers to give up what they are doing. They answer nevertheless.
    fn cancel(&mut self);
}
