//! How much work a reduced search may do before it has to wait.
//!
//! A reduced search can accompany another one and take a small part of its time ([`Options::allowance`]). Work is counted in
//! moves looked at, or as much, and so is the same in every run; the clock would not be. Invariant: after
//! [`settle`](Allowance::settle) the search has either ended, or done exactly the work that it does before it exceeds what was
//! granted, if one thread does it.
//!
//! [`Options::allowance`]: crate::engine::search::Options::allowance

use crate::base::error::{Limit, Result};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What a search may spend, granted little by little.
#[derive(Debug, Default)]
pub struct Allowance {
    ledger: Mutex<Ledger>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Ledger {
    granted: u64,
    spent: u64,
    /// Whether the search waits for more.
    waits: bool,
    ended: bool,
    closed: bool,
}

impl Allowance {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the search do this much work in all.
    pub fn grant(&self, work: u64) {
        self.change(|ledger| {
            ledger.granted = ledger.granted.max(work);
            ledger.waits &= ledger.spent > ledger.granted;
        });
    }

    /// Waits until the search has spent what it was granted, or has ended; what it has spent.
    pub fn settle(&self) -> u64 {
        let mut ledger = self.ledger();
        while !(ledger.waits || ledger.ended) {
            ledger = self.changed.wait(ledger).unwrap_or_else(PoisonError::into_inner);
        }
        ledger.spent
    }

    /// Does the search, and notes that it has ended, even if it panics: nothing may wait for it then.
    pub fn until_end<R>(&self, search: impl FnOnce() -> R) -> R {
        let _end = AtEnd(|| self.change(|ledger| ledger.ended = true));
        search()
    }

    /// Does something, after which the search is not needed any more and ends.
    pub fn while_needed<R>(&self, something: impl FnOnce() -> R) -> R {
        let _end = AtEnd(|| self.change(|ledger| ledger.closed = true));
        something()
    }

    fn change(&self, change: impl FnOnce(&mut Ledger)) {
        change(&mut self.ledger());
        self.changed.notify_all();
    }

    /// What was spent so far.
    pub fn spent(&self) -> u64 {
        self.ledger().spent
    }

    /// Counts work, and waits if it is more than was granted. An error if the search is not needed any more.
    pub(crate) fn spend(&self, work: u64) -> Result<()> {
        let mut ledger = self.ledger();
        ledger.spent += work;
        while ledger.spent > ledger.granted && !ledger.closed {
            ledger.waits = true;
            self.changed.notify_all();
            ledger = self.changed.wait(ledger).unwrap_or_else(PoisonError::into_inner);
        }
        if ledger.closed { Err(Limit::Interrupted.into()) } else { Ok(()) }
    }
}

/// Does something when it is dropped.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
