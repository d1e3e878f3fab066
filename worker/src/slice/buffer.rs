//! A growing sequence of words whose memory is accounted for, and which can be sorted in place.
//!
//! Invariant: capacity is taken from the budget before it is allocated, and both old and new capacity while words are moved.

use gridlock_lts::base::memory::{Budget, Exhausted};

/// A buffer of words whose memory is accounted for.
#[derive(Debug)]
pub struct Buffer<'b> {
    words: Vec<u64>,
    budget: &'b Budget,
}

const WORD: u64 = size_of::<u64>() as u64;

impl<'b> Buffer<'b> {
    /// An empty buffer.
    pub fn new(budget: &'b Budget) -> Self {
        Buffer { words: Vec::new(), budget }
    }

    /// An empty buffer with room for this many words.
    pub fn with_room(words: usize, budget: &'b Budget) -> Result<Self, Exhausted> {
        let mut buffer = Buffer::new(budget);
        budget.take(words as u64 * WORD)?;
        buffer.words.reserve_exact(words);
        Ok(buffer)
    }

    /// Makes room for this many more words. If doubling is too much, a smaller step may fit; a very small one is not tried,
    /// or all time would go into moving words.
    pub fn reserve(&mut self, more: usize) -> Result<(), Exhausted> {
        let (have, need) = (self.words.capacity(), self.words.len() + more);
        if need <= have {
            return Ok(());
        }
        let mut refused = None;
        for room in [need.max(2 * have).max(32), need.max(have + have / 4), need.max(have + have / 8)] {
            match self.budget.take(room as u64 * WORD) {
                Ok(()) => {
                    self.words.reserve_exact(room - self.words.len());
                    self.budget.give(have as u64 * WORD);
                    return Ok(());
                }
                Err(exhausted) => refused = Some(exhausted),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// The words. Callers may append as many as there is room for, sort or shorten, but not grow beyond the room.
    #[inline]
    pub fn words(&mut self) -> &mut Vec<u64> {
        &mut self.words
    }
}

impl std::ops::Deref for Buffer<'_> {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        &self.words
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        self.budget.give(self.words.capacity() as u64 * WORD);
    }
}
