//! A set of packed states in the order of their insertion, with their origins if these are wanted.
//!
//! It is for one thread. The states stand one after the other and serve as the queue of a breadth-first search; a hash table
//! holds their indices. Invariant: memory is taken from the budget before it is allocated.

use gridlock_lts::base::memory::{Budget, Exhausted, Stack};
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

/// Where a state came from: the position and index of its predecessor, and the vector of the step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The position of the predecessor, or its place.
    pub position: u32,
    /// The predecessor's number there.
    pub index: u32,
    /// The vector of the step.
    pub vector: u32,
}

/// Bytes that a slot of the hash table takes: an index and a byte of control.
const SLOT: u64 = 5;

/// A set of states in the order of their insertion.
pub struct States<'b> {
    words: usize,
    states: Stack<'b, u64>,
    table: HashTable<u32>,
    /// Bytes taken for the table.
    table_bytes: u64,
    origins: Option<Stack<'b, Origin>>,
    budget: &'b Budget,
}

impl<'b> States<'b> {
    /// An empty set of states of this many words, with or without their origins.
    pub fn new(words: usize, with_origins: bool, budget: &'b Budget) -> Self {
        let origins = with_origins.then(|| Stack::new(budget));
        States { words, states: Stack::new(budget), table: HashTable::new(), table_bytes: 0, origins, budget }
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.states.len() / self.words
    }

    /// Forgets all states and keeps the memory.
    pub fn clear(&mut self) {
        self.states.clear();
        self.table.clear();
        if let Some(origins) = &mut self.origins {
            origins.clear();
        }
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The state of a number.
    #[inline]
    pub fn get(&self, index: usize) -> &[u64] {
        &self.states[index * self.words..(index + 1) * self.words]
    }

    /// The first origin of a state; only if origins are kept.
    pub fn origin(&self, index: usize) -> Option<Origin> {
        self.origins.as_ref().map(|origins| origins[index])
    }

    /// The number of a state, if the set contains it.
    #[inline]
    pub fn find(&self, state: &[u64]) -> Option<usize> {
        self.find_hashed(hash(state), state)
    }

    #[inline]
    fn find_hashed(&self, hash: u64, state: &[u64]) -> Option<usize> {
        let (states, words) = (&self.states, self.words);
        let at = |index: u32| &states[index as usize * words..(index as usize + 1) * words];
        // Word by word: a call to compare one or two words takes longer than comparing them.
        let same = |index: u32| at(index).iter().zip(state).all(|(a, b)| a == b);
        self.table.find(hash, |&index| same(index)).map(|&index| index as usize)
    }

    /// The hash of a state, and whether the set contains it.
    #[inline]
    pub fn look_up(&self, state: &[u64]) -> (u64, bool) {
        let hash = hash(state);
        (hash, self.find_hashed(hash, state).is_some())
    }

    /// Replaces the origin of a state; only if origins are kept.
    pub fn set_origin(&mut self, index: usize, origin: Origin) {
        if let Some(origins) = &mut self.origins {
            origins.as_mut_slice()[index] = origin;
        }
    }

    /// Adds a state; returns whether it is new.
    #[inline]
    pub fn insert(&mut self, state: &[u64], origin: impl FnOnce() -> Origin) -> Result<bool, Exhausted> {
        self.number(state, origin).map(|(_, new)| new)
    }

    /// The same with the hash that [`States::look_up`] returned.
    #[inline]
    pub fn insert_hashed(
        &mut self,
        hash: u64,
        state: &[u64],
        origin: impl FnOnce() -> Origin,
    ) -> Result<bool, Exhausted> {
        self.number_hashed(hash, state, origin).map(|(_, new)| new)
    }

    /// Adds a state; returns its number and whether it is new.
    #[inline]
    pub fn number(
        &mut self,
        state: &[u64],
        origin: impl FnOnce() -> Origin,
    ) -> Result<(usize, bool), Exhausted> {
        self.number_hashed(hash(state), state, origin)
    }

    #[inline]
    fn number_hashed(
        &mut self,
        hash: u64,
        state: &[u64],
        origin: impl FnOnce() -> Origin,
    ) -> Result<(usize, bool), Exhausted> {
        debug_assert_eq!((state.len(), self::hash(state)), (self.words, hash));
        if let Some(index) = self.find_hashed(hash, state) {
            return Ok((index, false));
        }
        // Indices have 32 bits; a set of 2^32 states is beyond any job.
        let index = u32::try_from(self.len()).map_err(|_| Exhausted { limit: self.budget.limit() })?;
        if self.table.len() == self.table.capacity() {
            self.grow()?;
        }
        self.states.extend(state)?;
        if let Some(origins) = &mut self.origins {
            origins.push(origin())?;
        }
        let (states, words) = (&self.states, self.words);
        self.table.insert_unique(hash, index, |&index| {
            self::hash(&states[index as usize * words..(index as usize + 1) * words])
        });
        Ok((index as usize, true))
    }

    #[cold]
    fn grow(&mut self) -> Result<(), Exhausted> {
        // Seven eighths of the slots are used, their number is a power of two; old and new table exist side by side.
        let slots = (self.table.capacity() as u64 + 1).max(8) * 8 / 7;
        let bytes = slots.next_power_of_two() * SLOT + 16;
        self.budget.take(bytes)?;
        let (states, words) = (&self.states, self.words);
        self.table.reserve(self.table.len() + 1, |&index| {
            hash(&states[index as usize * words..(index as usize + 1) * words])
        });
        self.budget.give(self.table_bytes);
        self.table_bytes = bytes;
        Ok(())
    }
}

impl Drop for States<'_> {
    fn drop(&mut self) {
        self.budget.give(self.table_bytes);
    }
}

/// A hash whose high and low bits are both well mixed.
#[inline]
pub fn hash(state: &[u64]) -> u64 {
    let mix = |hash: u64, word: &u64| {
        let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
        (product >> 64) as u64 ^ product as u64
    };
    state.iter().fold(0x243f_6a88_85a3_08d3, mix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::rng::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_in_the_order_of_insertion() {
        for words in 1..4 {
            let budget = Budget::new(1 << 30);
            let mut states = States::new(words, true, &budget);
            let (mut naive, mut order) = (BTreeSet::new(), Vec::new());
            let rng = &mut Rng::new(words as u64);
            for k in 0..20_000u32 {
                let state: Vec<u64> =
                    (0..words).map(|_| rng.below(if words == 1 { 9_000 } else { 90 }) as u64).collect();
                let new = states.insert(&state, || Origin { position: 0, index: k, vector: 1 }).unwrap();
                assert_eq!(new, naive.insert(state.clone()));
                if new {
                    order.push((state, k));
                }
            }
            assert_eq!(states.len(), order.len());
            for (index, (state, k)) in order.iter().enumerate() {
                assert_eq!(states.get(index), state);
                assert_eq!(states.origin(index).map(|o| o.index), Some(*k));
            }
            assert!(budget.used() >= (order.len() * words * 8) as u64);
            drop(states);
            assert_eq!(budget.used(), 0);
        }
    }

    #[test]
    fn a_budget_is_kept() {
        let budget = Budget::new(10_000);
        let mut states = States::new(1, false, &budget);
        let refused = (0..100_000u64)
            .find(|&k| states.insert(&[k], || Origin { position: 0, index: 0, vector: 0 }).is_err());
        assert!(refused.is_some_and(|k| k > 100), "{refused:?}");
        assert!(budget.peak() <= 10_000);
    }
}
