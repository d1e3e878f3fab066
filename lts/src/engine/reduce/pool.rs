//! Working memory for threads that come and go.
//!
//! A breadth-first search starts its threads anew for each level, and what one of them has worked out should be there for
//! the next. Invariant: a value is used by one thread at a time; there are at most as many as threads at work at once.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// More threads than this share.
const SLOTS: usize = 64;

/// Values that are lent to threads.
#[derive(Debug)]
pub(crate) struct Pool<T>(Vec<Mutex<Option<Box<T>>>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool((0..SLOTS).map(|_| Mutex::new(None)).collect())
    }
}

thread_local! {
    /// Where this thread found a value last.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

impl<T> Pool<T> {
    /// Lends a value, a new one if all are in use. One that a panic left behind is thrown away.
    #[inline]
    pub(crate) fn take(&self, make: impl FnOnce() -> T) -> Lent<'_, T> {
        let last = LAST.get();
        if let Ok(mut slot) = self.0[last].try_lock() {
            slot.get_or_insert_with(|| Box::new(make()));
            return Lent(slot);
        }
        self.look(make)
    }

    #[cold]
    fn look(&self, make: impl FnOnce() -> T) -> Lent<'_, T> {
        for (k, slot) in self.0.iter().enumerate() {
            let slot = match slot.try_lock() {
                Ok(slot) => Some(slot),
                Err(TryLockError::Poisoned(poisoned)) => Some(renewed(poisoned)),
                Err(TryLockError::WouldBlock) => None,
            };
            if let Some(mut slot) = slot {
                LAST.set(k);
                slot.get_or_insert_with(|| Box::new(make()));
                return Lent(slot);
            }
        }
        let mut slot = self.0[SLOTS - 1].lock().unwrap_or_else(renewed);
        slot.get_or_insert_with(|| Box::new(make()));
        Lent(slot)
    }
}

fn renewed<'a, T>(poisoned: PoisonError<MutexGuard<'a, Option<Box<T>>>>) -> MutexGuard<'a, Option<Box<T>>> {
    let mut slot = poisoned.into_inner();
    *slot = None;
    slot
}

/// A value on loan; it goes back when this is dropped.
pub(crate) struct Lent<'p, T>(MutexGuard<'p, Option<Box<T>>>);

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("a slot that is lent has a value")
    }
}

impl<T> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("a slot that is lent has a value")
    }
}
