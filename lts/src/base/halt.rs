//! A request to stop, for computations whose loops lie deep inside: an evaluation, a join.
//!
//! The thread that watches over a run asks for the end ([`Halt::ask`]); one that computes looks at [`Halt::asked`] every few
//! thousand steps, which costs one atomic read. Before much memory is allocated at once, [`Halt::has_room`] compares
//! with the memory limit, since a look every few milliseconds would come too late.
//!
//! Invariant: once asked, always asked.

use crate::base::memory::resident;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A shared request to stop. By default nothing is requested and there is no limit.
#[derive(Debug, Default)]
pub struct Halt {
    asked: AtomicBool,
    memory: Option<u64>,
    exceeded: AtomicBool,
}

impl Halt {
    /// A request that is not made yet, for a process that may use this many bytes of memory.
    pub fn new(memory: Option<u64>) -> Self {
        Halt { memory, ..Halt::default() }
    }

    /// Asks for the end.
    pub fn ask(&self) {
        self.asked.store(true, Relaxed);
    }

    /// Whether to stop.
    pub fn asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    /// The same as a flag, for searches, which look at one.
    pub fn flag(&self) -> &AtomicBool {
        &self.asked
    }

    /// Whether the process may allocate this many more bytes. If not, this asks for the end.
    pub fn has_room(&self, bytes: u64) -> bool {
        let over = |limit: u64| resident().is_some_and(|used| used.saturating_add(bytes) > limit);
        if self.memory.is_some_and(over) {
            self.exceeded.store(true, Relaxed);
            self.ask();
        }
        !self.asked()
    }

    /// The memory limit, if that is why to stop.
    pub fn exceeded(&self) -> Option<u64> {
        self.memory.filter(|_| self.exceeded.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_asked_always_asked() {
        let halt = Halt::default();
        assert!(halt.has_room(u64::MAX) && !halt.asked());
        halt.ask();
        assert!(halt.asked() && !halt.has_room(0));
        assert_eq!(halt.exceeded(), None);
    }

    #[test]
    fn memory_that_is_not_there_asks_for_the_end() {
        let Some(used) = resident() else { return };
        let halt = Halt::new(Some(used + (1 << 30)));
        assert!(halt.has_room(1 << 20) && halt.exceeded().is_none());
        assert!(!halt.has_room(1 << 40));
        assert!(halt.asked());
        assert_eq!(halt.exceeded(), Some(used + (1 << 30)));
    }
}
