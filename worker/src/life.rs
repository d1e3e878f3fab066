//! Cancellation and signs of life: what a worker and the thread that waits for it exchange during a job.
//!
//! A thread cannot be ended from outside. It can be cancelled, and it can show that it is alive: it asks regularly whether it
//! is cancelled, and each question is counted. Invariant: a job that makes progress asks at least every few seconds.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Shared by a worker and the thread that gives it jobs.
#[derive(Debug, Default)]
pub struct Life {
    cancelled: AtomicBool,
    signs: AtomicU64,
}

impl Life {
    /// Whether the worker is to give up. The question counts as a sign of life.
    pub fn is_cancelled(&self) -> bool {
        self.signs.fetch_add(1, Relaxed);
        self.cancelled.load(Relaxed)
    }

    /// The same without a sign of life: for threads that only wait for others.
    pub fn was_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    /// Tells the worker to give up this job and all that follow.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// The number of signs of life so far.
    pub fn signs(&self) -> u64 {
        self.signs.load(Relaxed)
    }
}
