//! The visited sets of depth-first searches: exact, or bits of an array.
//!
//! The array is a Bloom filter: a state sets a few bits, at positions that step through the array from one hash by another
//! (double hashing). A state all of whose bits are set is taken for visited, and may not have been; one that was visited is
//! never taken for new. The hashes depend on the seed of the job, so what one job leaves out another one does not.

use super::depth::Visited;
use super::seen::{finish, hash};
use gridlock_lts::memory::{Budget, Exhausted};
use gridlock_lts::pack::Width;
use gridlock_lts::successors::Successors;
use gridlock_lts::visited;

/// States themselves.
pub(super) struct Exact<'b, W> {
    states: visited::Visited<'b, W>,
}

impl<'b, W: Width> Exact<'b, W> {
    /// An empty set for states of a system.
    pub(super) fn new<S: Successors<Width = W>>(system: &S, budget: &'b Budget) -> Result<Self, Exhausted> {
        let free_bits = system.packing().free_bits();
        Ok(Exact { states: visited::Visited::new(system.width(), free_bits, 1, 0, budget)? })
    }
}

impl<W: Width> Visited for Exact<'_, W> {
    const EXACT: bool = true;

    #[inline]
    fn insert(&mut self, state: &[u64]) -> Result<bool, Exhausted> {
        let mut new = false;
        while self.states.table().insert_all(state, 0, |_| new = true) == 0 {
            self.states.make_room()?;
        }
        Ok(new)
    }

    #[inline]
    fn absent(&mut self, targets: &[u64], absent: &mut Vec<u32>) {
        absent.clear();
        self.states.table().absent(targets, |k| absent.push(k as u32));
        // The table has an order of its own, which depends on what else is in it.
        absent.sort_unstable();
    }
}

/// Bits for states.
pub(super) struct Bits<'b, W> {
    width: W,
    words: Vec<u64>,
    mask: u64,
    hashes: u8,
    salt: u64,
    /// Steps to states that were taken for visited.
    taken_for_visited: u64,
    bytes: u64,
    budget: &'b Budget,
}

impl<'b, W: Width> Bits<'b, W> {
    /// An array of two to the power `log2` of bits, at least 64, with so many bits a state.
    pub(super) fn new(
        width: W,
        log2: u8,
        hashes: u8,
        salt: u64,
        budget: &'b Budget,
    ) -> Result<Self, Exhausted> {
        let exhausted = Exhausted { limit: budget.limit() };
        let bits = 1u64.checked_shl(u32::from(log2)).ok_or(exhausted)?.max(64);
        let bytes = bits / 8;
        let len = usize::try_from(bits / 64).map_err(|_| exhausted)?;
        budget.take(bytes)?;
        let mut words = Vec::new();
        if words.try_reserve_exact(len).is_err() {
            budget.give(bytes);
            return Err(exhausted);
        }
        words.resize(len, 0);
        Ok(Bits { width, words, mask: bits - 1, hashes, salt, taken_for_visited: 0, bytes, budget })
    }

    /// Bits that are set.
    pub(super) fn bits_set(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Steps to states that were taken for visited.
    pub(super) fn taken_for_visited(&self) -> u64 {
        self.taken_for_visited
    }

    /// The first position and the distance to the next one.
    #[inline]
    fn positions(&self, state: &[u64]) -> (u64, u64) {
        let first = finish(hash(state) ^ self.salt);
        // An odd distance visits the whole array before it repeats.
        (first, first.rotate_right(32).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
}

impl<W: Width> Visited for Bits<'_, W> {
    const EXACT: bool = false;

    #[inline]
    fn insert(&mut self, state: &[u64]) -> Result<bool, Exhausted> {
        let (mut at, distance) = self.positions(&state[..self.width.words()]);
        let mut all = 1;
        for _ in 0..self.hashes {
            let (word, bit) = ((at & self.mask) >> 6, at & 63);
            let word = &mut self.words[word as usize];
            all &= *word >> bit;
            *word |= 1 << bit;
            at = at.wrapping_add(distance);
        }
        self.taken_for_visited += all;
        Ok(all == 0)
    }

    /// Without a branch on what is there: the loads of all states are then under way at the same time, which is what counts
    /// where each misses all caches.
    #[inline]
    fn absent(&mut self, targets: &[u64], absent: &mut Vec<u32>) {
        let words = self.width.words();
        let count = targets.len() / words;
        absent.resize(count, 0);
        let mut len = 0;
        for (k, target) in targets.chunks_exact(words).enumerate() {
            let (mut at, distance) = self.positions(target);
            let mut all = 1;
            for _ in 0..self.hashes {
                all &= self.words[((at & self.mask) >> 6) as usize] >> (at & 63);
                at = at.wrapping_add(distance);
            }
            absent[len] = k as u32;
            len += (all ^ 1) as usize;
        }
        absent.truncate(len);
        self.taken_for_visited += (count - len) as u64;
    }
}

impl<W> Drop for Bits<'_, W> {
    fn drop(&mut self) {
        self.budget.give(self.bytes);
    }
}
