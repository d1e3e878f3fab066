//! The set of states of the slice that is being searched: open addressing, one thread, gone with the activation.
//!
//! A slot holds the words of a state, with the highest bit of word 0 set, which no packed state uses; so 0 is an empty slot.
//! Invariant: at most three quarters of the slots are used, and memory is taken from the budget before the set grows. The
//! shared set of [`gridlock_lts::engine::visited`] was not used because it maps memory for each set and writes with atomics;
//! a slice often is a few thousand states that stay in the processor's cache.

use gridlock_lts::base::memory::{Budget, Exhausted};
use gridlock_lts::engine::pack::Width;

const USED: u64 = 1 << 63;
/// Lookups whose slots are touched before the first is worked on.
const BATCH: usize = 64;

/// A set of states.
#[derive(Debug)]
pub struct StateSet<'b, W> {
    width: W,
    slots: Vec<u64>,
    capacity: usize,
    len: usize,
    budget: &'b Budget,
}

#[inline(always)]
fn hash(state: &[u64]) -> u64 {
    const K: u64 = 0xd6e8_feb8_6659_fd93;
    let mut h = 0u64;
    for &word in state {
        h = (word ^ h).wrapping_mul(K);
        h = (h ^ (h >> 32)).wrapping_mul(K);
    }
    h ^ (h >> 29)
}

impl<'b, W: Width> StateSet<'b, W> {
    /// An empty set with room for this many states.
    pub fn new(width: W, states: usize, budget: &'b Budget) -> Result<Self, Exhausted> {
        let capacity = slots_for(states);
        budget.take(bytes(width, capacity))?;
        Ok(StateSet { width, slots: vec![0; capacity * width.words()], capacity, len: 0, budget })
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes room for this many more states. If doubling is too much, a smaller step may fit; a very small one is not tried,
    /// or all time would go into moving states.
    #[inline]
    pub fn reserve(&mut self, more: usize) -> Result<(), Exhausted> {
        if (self.len + more) * 4 <= self.capacity * 3 { Ok(()) } else { self.grow(more) }
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), Exhausted> {
        let (words, need) = (self.width.words(), slots_for(self.len + more));
        let mut refused = None;
        let have = self.capacity;
        for capacity in [need.max(2 * have), need.max(have + have / 4), need.max(have + have / 8)] {
            if let Err(exhausted) = self.budget.take(bytes(self.width, capacity)) {
                refused = Some(exhausted);
                continue;
            }
            let old = std::mem::replace(&mut self.slots, vec![0; capacity * words]);
            let released = bytes(self.width, self.capacity);
            self.capacity = capacity;
            self.len = 0;
            for slot in old.chunks_exact(words).filter(|slot| slot[0] != 0) {
                let start = self.start(slot[0] & !USED, &slot[1..]);
                self.insert(slot, start);
            }
            drop(old);
            self.budget.give(released);
            return Ok(());
        }
        refused.map_or(Ok(()), Err)
    }

    /// Inserts states, for which there must be room, and calls `new` with the index of each new one.
    #[inline]
    pub fn insert_all(&mut self, states: &[u64], mut new: impl FnMut(usize)) {
        let words = self.width.words();
        debug_assert!((self.len + states.len() / words) * 4 <= self.capacity * 3);
        let mut starts = [0usize; BATCH];
        for (batch, states) in states.chunks(BATCH * words).enumerate() {
            // Reading the slots first lets the processor fetch them at the same time.
            let mut touched = 0;
            for (start, state) in starts.iter_mut().zip(states.chunks_exact(words)) {
                *start = self.start(state[0], &state[1..]);
                touched |= self.slots[*start * words];
            }
            std::hint::black_box(touched);
            for (k, state) in states.chunks_exact(words).enumerate() {
                if self.insert(state, starts[k]) {
                    new(batch * BATCH + k);
                }
            }
        }
    }

    #[inline(always)]
    fn start(&self, first: u64, others: &[u64]) -> usize {
        let mut h = hash(&[first]);
        if self.width.words() > 1 {
            for &word in others {
                h = hash(&[word ^ h]);
            }
        }
        ((u128::from(h) * self.capacity as u128) >> 64) as usize
    }

    #[inline(always)]
    fn insert(&mut self, state: &[u64], mut at: usize) -> bool {
        let words = self.width.words();
        let first = state[0] | USED;
        loop {
            let slot = &mut self.slots[at * words..at * words + words];
            if slot[0] == 0 {
                slot[0] = first;
                slot[1..].copy_from_slice(&state[1..words]);
                self.len += 1;
                return true;
            }
            if slot[0] == first && slot[1..] == state[1..words] {
                return false;
            }
            at = if at + 1 == self.capacity { 0 } else { at + 1 };
        }
    }
}

fn slots_for(states: usize) -> usize {
    states.div_ceil(3) * 4 + 4
}

fn bytes<W: Width>(width: W, capacity: usize) -> u64 {
    (capacity * width.words() * size_of::<u64>()) as u64
}

impl<W> Drop for StateSet<'_, W> {
    fn drop(&mut self) {
        self.budget.give(size_of_val(&self.slots[..]) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::rng::Rng;
    use gridlock_lts::engine::pack::{Many, One, Two};
    use std::collections::BTreeSet;

    fn like_a_set<W: Width>(width: W, seed: u64) {
        let (words, mut rng) = (width.words(), Rng::new(seed));
        let budget = Budget::new(2_000_000);
        let mut set = StateSet::new(width, rng.below(50), &budget).expect("room");
        let mut expected: BTreeSet<Vec<u64>> = BTreeSet::new();
        for _ in 0..100 {
            let states: Vec<u64> = (0..words * rng.below(100)).map(|_| rng.bits() & 31).collect();
            set.reserve(states.len() / words).expect("room");
            let mut new = Vec::new();
            set.insert_all(&states, |k| new.push(k));
            let chunks = states.chunks(words).enumerate();
            let expected_new: Vec<usize> =
                chunks.filter(|(_, s)| expected.insert(s.to_vec())).map(|(k, _)| k).collect();
            assert_eq!(new, expected_new);
            assert_eq!(set.len(), expected.len());
        }
        drop(set);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn contains_what_was_inserted() {
        for seed in 0..20 {
            like_a_set(One, seed);
            like_a_set(Two, seed);
            like_a_set(Many(3), seed);
        }
    }

    #[test]
    fn never_more_than_the_budget() {
        let budget = Budget::new(10_000);
        let mut set = StateSet::new(One, 0, &budget).expect("room");
        let mut n = 0;
        while set.reserve(1).is_ok() {
            set.insert_all(&[n], |_| {});
            n += 1;
        }
        assert!(n > 300 && budget.peak() <= 10_000);
    }
}
