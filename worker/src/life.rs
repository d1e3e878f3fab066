//! What a worker and those who wait for it know of each other while a job is done.
//!
//! A thread cannot be ended from outside. It can be told to give up, and it can be seen to be alive: it asks now and then
//! whether to go on, and asking is counted. Invariant: a job that is really at work asks at least every few seconds.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Shared by one worker and the one who gives it jobs.
#[derive(Debug, Default)]
pub struct Life {
    cancelled: AtomicBool,
    signs: AtomicU64,
}

impl Life {
    /// Whether the worker is to give up. To ask is a sign of life.
    pub fn is_cancelled(&self) -> bool {
        self.signs.fetch_add(1, Relaxed);
        self.cancelled.load(Relaxed)
    }

    /// The same without a sign of life: for those who only wait for others.
    pub fn was_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    /// Tells the worker to give up what it is doing, and all that comes after.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// How many signs of life there were.
    pub fn signs(&self) -> u64 {
        self.signs.load(Relaxed)
    }
}
