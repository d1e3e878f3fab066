//! Which bits of a packed state are the key of its slice, and the order of states in which slices stand together.
//!
//! States are ordered by their key first, then by the rest of their bits. Within a slice the key is the same for all,
//! so only the rest is stored: [`Layout::rest`] moves it together, and [`Layout::state`] puts key and rest back.
//! Invariant: both are inverse to each other, and moving bits together keeps the order of states with the same key.

use crate::engine::pack::{Packing, Width};
use crate::model::network::LeafIx;
use std::cmp::Ordering;

/// Some adjacent bits that move together.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: u32,
    mask: u64,
    to: u32,
}

impl Piece {
    #[inline(always)]
    fn gather(&self, word: u64) -> u64 {
        ((word >> self.from) & self.mask) << self.to
    }

    #[inline(always)]
    fn scatter(&self, word: u64) -> u64 {
        ((word >> self.to) & self.mask) << self.from
    }
}

/// One word: the pieces of the rest, moved to the bottom, and those of the key, moved to the top.
#[derive(Clone, Debug)]
struct Word {
    rest: Vec<Piece>,
    /// Key and rest, each once.
    all: Vec<Piece>,
}

impl Word {
    fn new(mask: u64) -> Self {
        let rest = pieces(!mask, 0);
        let key = pieces(mask, (!mask).count_ones());
        Word { all: [&rest[..], &key[..]].concat(), rest }
    }
}

/// The pieces of the bits of a mask, to be moved together from bit `to` on.
fn pieces(mask: u64, mut to: u32) -> Vec<Piece> {
    let (mut pieces, mut bit) = (Vec::new(), 0);
    while bit < u64::BITS {
        let ones = (mask >> bit).trailing_ones();
        if ones > 0 {
            let mask = if ones == u64::BITS { u64::MAX } else { (1 << ones) - 1 };
            pieces.push(Piece { from: bit, mask, to });
            to += ones;
            bit += ones;
        } else {
            bit += 1;
        }
    }
    pieces
}

/// Which bits of a state are its key.
#[derive(Clone, Debug)]
pub struct Layout {
    mask: Box<[u64]>,
    words: Vec<Word>,
}

impl Layout {
    /// A layout in which the bits of a mask are the key.
    pub fn new(mask: &[u64]) -> Self {
        Layout { mask: mask.into(), words: mask.iter().map(|&mask| Word::new(mask)).collect() }
    }

    /// A layout in which the local states of some leaves are the key.
    pub fn of_leaves(packing: &Packing, leaves: &[LeafIx]) -> Self {
        let mut mask = vec![0; packing.words()];
        for &leaf in leaves {
            let field = packing.field(leaf);
            mask[field.word as usize] |= field.mask() << field.shift;
        }
        Layout::new(&mask)
    }

    /// The bits of the key.
    pub fn mask(&self) -> &[u64] {
        &self.mask
    }

    /// The key of a state.
    pub fn key(&self, state: &[u64]) -> Box<[u64]> {
        state.iter().zip(&self.mask).map(|(word, mask)| word & mask).collect()
    }

    /// Whether two states have the same key.
    #[inline]
    pub fn same_key(&self, one: &[u64], other: &[u64]) -> bool {
        one.iter().zip(other).zip(&self.mask).all(|((a, b), mask)| (a ^ b) & mask == 0)
    }

    /// One word of a state without the bits of the key.
    #[inline(always)]
    pub fn rest(&self, word: usize, value: u64) -> u64 {
        self.words[word].rest.iter().fold(0, |bits, piece| bits | piece.gather(value))
    }

    /// One word of a state, from its rest and the word of its key.
    #[inline(always)]
    pub fn state(&self, word: usize, rest: u64, key: u64) -> u64 {
        self.words[word].rest.iter().fold(key, |bits, piece| bits | piece.scatter(rest))
    }

    /// Sorts states by key, then by the rest.
    pub fn sort<W: Width>(&self, width: W, states: &mut [u64]) {
        match width.words() {
            1 => {
                let word = &self.words[0];
                for state in states.iter_mut() {
                    *state = word.all.iter().fold(0, |bits, piece| bits | piece.gather(*state));
                }
                states.sort_unstable();
                for state in states.iter_mut() {
                    *state = word.all.iter().fold(0, |bits, piece| bits | piece.scatter(*state));
                }
            }
            2 => states.as_chunks_mut::<2>().0.sort_unstable_by(|a, b| self.compare(a, b)),
            words => {
                let mut order: Vec<u32> = (0..(states.len() / words) as u32).collect();
                let state = |k: u32| &states[k as usize * words..][..words];
                order.sort_unstable_by(|&a, &b| self.compare(state(a), state(b)));
                let sorted: Vec<u64> = order.iter().flat_map(|&k| state(k)).copied().collect();
                states.copy_from_slice(&sorted);
            }
        }
    }

    /// Sorts states and removes duplicates.
    pub fn sort_unique<W: Width>(&self, width: W, states: &mut Vec<u64>) {
        self.sort(width, states);
        if width.words() == 1 {
            states.dedup();
        } else {
            remove_duplicates(states, width.words());
        }
    }

    /// The order of states: by key first.
    pub fn compare(&self, one: &[u64], other: &[u64]) -> Ordering {
        let key = |state: &[u64], k: usize| state[k] & self.mask[k];
        let keys = (0..self.mask.len()).map(|k| key(one, k).cmp(&key(other, k)));
        keys.fold(Ordering::Equal, Ordering::then).then_with(|| one.cmp(other))
    }

    /// Whether states of this many words are sorted in place; if not, a copy is made.
    pub fn sorts_in_place(words: usize) -> bool {
        words <= 2
    }

    /// Bytes that sorting this many states takes besides their own.
    pub fn sorting_bytes(words: usize, states: usize) -> u64 {
        if Self::sorts_in_place(words) { 0 } else { (states * (words * size_of::<u64>() + 4)) as u64 }
    }
}

fn remove_duplicates(states: &mut Vec<u64>, words: usize) {
    let (mut kept, count) = (0, states.len() / words);
    for k in 0..count {
        if kept == 0 || states[(kept - 1) * words..kept * words] != states[k * words..(k + 1) * words] {
            states.copy_within(k * words..(k + 1) * words, kept * words);
            kept += 1;
        }
    }
    states.truncate(kept * words);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::engine::pack::{Many, One, Two};

    #[test]
    fn rest_and_key_make_the_state() {
        let mut rng = Rng::new(1);
        for _ in 0..2000 {
            let mask = rng.bits() & rng.bits();
            let layout = Layout::new(&[mask]);
            let (a, b) = (rng.bits(), rng.bits());
            let same_key = (b & !mask) | (a & mask);
            assert_eq!(layout.state(0, layout.rest(0, a), a & mask), a);
            assert_eq!(layout.rest(0, a).cmp(&layout.rest(0, same_key)), a.cmp(&same_key));
        }
        for mask in [0, u64::MAX] {
            let layout = Layout::new(&[mask]);
            assert_eq!(layout.state(0, layout.rest(0, 77), 77 & mask), 77);
        }
    }

    fn sorts<W: Width>(width: W, rng: &mut Rng) {
        let words = width.words();
        let mask: Vec<u64> = (0..words).map(|_| rng.bits() & rng.bits() & 15).collect();
        let layout = Layout::new(&mask);
        let mut states: Vec<u64> = (0..words * 300).map(|_| rng.bits() & 15).collect();
        let mut expected: Vec<Vec<u64>> = states.chunks(words).map(<[u64]>::to_vec).collect();
        expected.sort_by_key(|state| (layout.key(state), state.clone()));
        expected.dedup();
        layout.sort_unique(width, &mut states);
        assert_eq!(states, expected.concat());
    }

    #[test]
    fn sorted_by_key_and_unique() {
        let mut rng = Rng::new(2);
        for _ in 0..50 {
            sorts(One, &mut rng);
            sorts(Two, &mut rng);
            sorts(Many(3), &mut rng);
        }
    }
}
