//! The visited sets of depth-first searches: exact, or bits of an array.
//!
//! The array is a Bloom filter in blocks of a cache line: one part of a state's hash chooses the block, others the bits in it
//! that the state sets. A state all of whose bits are set counts as visited, though it may be new; a visited state never
//! counts as new. So a lookup is one cache miss, for any number of bits. The price is that some blocks are fuller than
//! others: with a tenth of the bits set, three a state, a new state counts as visited in 0.0012 of the cases instead of
//! 0.0010. The hash depends on the seed of the job, so what one job leaves out another one does not.

use super::depth::Visited;
use crate::sketch::finish;
use crate::states;
use gridlock_lts::base::memory::{Budget, Exhausted};
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::engine::visited::{self, Region};
use std::sync::atomic::Ordering::Relaxed;

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
    fn insert(&mut self, state: &[u64], _depth: u32) -> Result<bool, Exhausted> {
        let mut new = false;
        while self.states.table().insert_all(state, 0, |_| new = true) == 0 {
            self.states.make_room()?;
        }
        Ok(new)
    }

    #[inline]
    fn absent(&mut self, targets: &[u64], _depth: u32, absent: &mut Vec<u32>) {
        absent.clear();
        self.states.table().absent(targets, |k| absent.push(k as u32));
        // The table has an order of its own, which depends on what else is in it.
        absent.sort_unstable();
    }
}

/// Bits of a block, as a power of two: a cache line.
const BLOCK: u32 = 9;

/// Bits for states.
pub(super) struct Bits<'b, S> {
    system: &'b S,
    words: Region,
    /// The bits of a hash that choose the block, and the bits of another number that choose a bit in it.
    block_mask: u64,
    bit_mask: u64,
    hashes: u8,
    salt: u64,
    /// Steps to states that were taken for visited.
    taken_for_visited: u64,
    /// The blocks and bits of the states that are being looked up.
    places: Vec<(usize, u64)>,
    bytes: u64,
    budget: &'b Budget,
}

impl<'b, S: Successors> Bits<'b, S> {
    /// An array of two to the power `log2` of bits, at least 64, with this many bits a state.
    pub(super) fn new(
        system: &'b S,
        log2: u8,
        hashes: u8,
        salt: u64,
        budget: &'b Budget,
    ) -> Result<Self, Exhausted> {
        let exhausted = Exhausted { limit: budget.limit() };
        let log2 = u32::from(log2.max(6));
        let bits = 1u64.checked_shl(log2).ok_or(exhausted)?;
        let len = usize::try_from(bits / 64).map_err(|_| exhausted)?;
        let bytes = bits / 8;
        budget.take(bytes)?;
        let words = Region::zeroed(len).map_err(|_| {
            budget.give(bytes);
            exhausted
        })?;
        let in_block = log2.min(BLOCK);
        let (block_mask, bit_mask) = ((1 << (log2 - in_block)) - 1, (1 << in_block) - 1);
        let (taken_for_visited, places) = (0, Vec::new());
        Ok(Bits {
            system,
            words,
            block_mask,
            bit_mask,
            hashes,
            salt,
            taken_for_visited,
            places,
            bytes,
            budget,
        })
    }

    /// Bits that are set.
    pub(super) fn bits_set(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum()
    }

    /// Steps to states that were taken for visited.
    pub(super) fn taken_for_visited(&self) -> u64 {
        self.taken_for_visited
    }

    /// The first word of a state's block, and a number whose rotations select the bits.
    #[inline(always)]
    fn place(&self, state: &[u64]) -> (usize, u64) {
        let hash = self.system.content(state).unwrap_or_else(|| states::hash(state));
        let hash = finish(hash ^ self.salt);
        let bits = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // An array that is smaller than a block is the only one.
        (((hash >> 16) & self.block_mask) as usize * (1 << (BLOCK - 6)), bits ^ (bits >> 29))
    }
}

impl<S: Successors> Visited for Bits<'_, S> {
    const EXACT: bool = false;

    #[inline]
    fn insert(&mut self, state: &[u64], _depth: u32) -> Result<bool, Exhausted> {
        let (block, mut bits) = self.place(&state[..self.system.width().words()]);
        let mut all = 1;
        for _ in 0..self.hashes {
            let bit = bits & self.bit_mask;
            let word = &self.words[block + (bit >> 6) as usize];
            let before = word.load(Relaxed);
            all &= before >> (bit & 63);
            word.store(before | 1 << (bit & 63), Relaxed);
            // 9 and 64 have no common divisor: 64 different rotations.
            bits = bits.rotate_right(BLOCK);
        }
        self.taken_for_visited += all;
        Ok(all == 0)
    }

    /// All blocks are fetched before the first is looked at, and no branch depends on their contents: that decides the speed
    /// where each lookup misses all caches.
    #[inline]
    fn absent(&mut self, targets: &[u64], _depth: u32, absent: &mut Vec<u32>) {
        let words = self.system.width().words();
        let count = targets.len() / words;
        absent.resize(count, 0);
        self.places.clear();
        for target in targets.chunks_exact(words) {
            let place = self.place(target);
            self.words.prefetch(place.0);
            self.places.push(place);
        }
        let mut len = 0;
        for (k, &(block, mut bits)) in self.places.iter().enumerate() {
            let mut all = 1;
            for _ in 0..self.hashes {
                let bit = bits & self.bit_mask;
                all &= self.words[block + (bit >> 6) as usize].load(Relaxed) >> (bit & 63);
                bits = bits.rotate_right(BLOCK);
            }
            absent[len] = k as u32;
            len += (all ^ 1) as usize;
        }
        absent.truncate(len);
        self.taken_for_visited += (count - len) as u64;
    }
}

impl<S> Drop for Bits<'_, S> {
    fn drop(&mut self) {
        self.budget.give(self.bytes);
    }
}
