//! Visited sets: exact sets of packed states, shared by threads without locks.
//!
//! States are stored themselves, not their fingerprints, so no state is ever mistaken for another. A set grows while it
//! is used: threads work under a read guard ([`Visited::table`]), and one that finds the table almost full lets go and
//! calls [`Visited::make_room`], which moves everything to a larger table on all threads while the others wait at their
//! next batch. Invariant: memory is taken from the budget before it is mapped, and what [`Table::insert_all`] has
//! processed is in the set.
//!
//! What was tried and measured stands at the heads of `slots` and `table`.

#[cfg(all(test, loom))]
mod loom_tests;
mod region;
mod slots;
mod table;
#[cfg(test)]
mod tests;

pub use region::Region;
pub use table::Table;

pub(crate) use region::prefetch;
pub(crate) use slots::hash;

use crate::base::memory::{self, Budget, Exhausted};
use crate::engine::pack::Width;
use slots::Marks;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// The part of the budget from which on a table grows only after the allocator was asked for what it keeps.
const TRIMMED: u64 = 4;

/// A growing set of packed states.
#[derive(Debug)]
pub struct Visited<'a, W> {
    table: RwLock<Table<W>>,
    budget: &'a Budget,
    threads: usize,
}

impl<'a, W: Width> Visited<'a, W> {
    /// An empty set for this many threads, with room for `expected` states to begin with. States have
    /// [`free_bits`](crate::engine::pack::Packing::free_bits), which are used for their depths.
    pub fn new(
        width: W,
        free_bits: u32,
        threads: usize,
        expected: usize,
        budget: &'a Budget,
    ) -> Result<Self, Exhausted> {
        let threads = threads.max(1);
        let lines = Table::lines_for(width, threads, expected);
        let bytes = Table::bytes_of(width, lines);
        budget.take(bytes)?;
        let table =
            Table::new(width, Marks::new(free_bits), threads, lines).inspect_err(|_| budget.give(bytes))?;
        Ok(Visited { table: RwLock::new(table), budget, threads })
    }

    /// The table, for as long as a thread does not wait for anything else.
    pub fn table(&self) -> RwLockReadGuard<'_, Table<W>> {
        // A thread that panicked ends the search anyway, and a table is never left half moved by a panic of a reader.
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of states.
    pub fn len(&self) -> u64 {
        self.table().len()
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes the system provide all pages now, so that a measurement of lookups does not measure page faults.
    pub fn touch(&self) {
        self.table.write().unwrap_or_else(PoisonError::into_inner).touch();
    }

    /// Removes all states. The caller must not hold a guard.
    pub fn clear(&self) {
        self.table.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Makes room if the table is almost full. The caller must not hold a guard.
    pub fn make_room(&self) -> Result<(), Exhausted> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if !table.is_due() {
            return Ok(());
        }
        // The allocator may keep what frontiers gave back to the budget, and the table takes it a second time.
        if table.bytes() > self.budget.limit() / TRIMMED {
            memory::trim();
        }
        match table.grown(self.threads, self.budget) {
            Ok(larger) => {
                *table = larger;
                Ok(())
            }
            // Slower lookups in a fuller table are better than no answer.
            Err(exhausted) => {
                if table.fill_up() {
                    Ok(())
                } else {
                    Err(exhausted)
                }
            }
        }
    }
}

impl<W> Drop for Visited<'_, W> {
    fn drop(&mut self) {
        let table = self.table.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.budget.give(table.bytes());
    }
}
