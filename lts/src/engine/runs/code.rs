//! Sorted states as bytes: differences, each in as few bytes as it needs.
//!
//! Two numbers share one byte of lengths that stands before them. A state is one number for each of its words: the
//! first word that differs from the state before is written as the difference, words before it as 0, words behind it as
//! they are. A state of one word always differs, so there one less is written, and neighbours cost half a byte.
//! The key is not written: it is that of the slice.
//!
//! Reading takes eight bytes at a time even where a number has fewer; so [`SLACK`] more bytes must follow.

use super::layout::Layout;
use crate::base::error::{Error, Result};
use crate::engine::pack::Width;

/// Bytes that must be readable behind those of the last state.
pub const SLACK: usize = 8;

/// Most bytes of this many states.
pub fn most_bytes(words: usize, states: usize) -> usize {
    states * words * 8 + (states * words).div_ceil(2)
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    lengths: usize,
    second: bool,
}

impl Writer<'_> {
    #[inline(always)]
    fn put(&mut self, number: u64) {
        let length = (u64::BITS - number.leading_zeros()).div_ceil(8) as usize;
        if self.second {
            self.out[self.lengths] |= (length as u8) << 4;
        } else {
            self.lengths = self.out.len();
            self.out.push(length as u8);
        }
        self.second = !self.second;
        let end = self.out.len() + length;
        self.out.extend_from_slice(&number.to_le_bytes());
        self.out.truncate(end);
    }
}

/// Appends the bytes of states with the same key, sorted and different.
pub fn encode<W: Width>(width: W, layout: &Layout, states: &[u64], out: &mut Vec<u8>) {
    let words = width.words();
    let mut writer = Writer { out, lengths: 0, second: false };
    if words == 1 {
        let mut next = 0;
        for &state in states {
            let rest = layout.rest(0, state);
            writer.put(rest - next);
            next = rest + 1;
        }
        return;
    }
    let mut before = vec![0; words];
    for state in states.chunks_exact(words) {
        let mut same = true;
        for (k, (&word, before)) in state.iter().zip(&mut before).enumerate() {
            let rest = layout.rest(k, word);
            writer.put(if same { rest - *before } else { rest });
            same &= rest == *before;
            *before = rest;
        }
    }
}

/// Reads states back.
#[derive(Debug)]
pub struct Decoder<'a, W> {
    width: W,
    layout: &'a Layout,
    key: &'a [u64],
    bytes: &'a [u8],
    at: usize,
    lengths: u8,
    second: bool,
    left: usize,
    /// Where states have one word: one more than the last one.
    next: u64,
    /// Where they have more: the last one.
    before: Vec<u64>,
}

const MASKS: [u64; 16] = {
    let mut masks = [u64::MAX; 16];
    let mut k = 0;
    while k < 8 {
        masks[k] = (1 << (8 * k)) - 1;
        k += 1;
    }
    masks
};

impl<'a, W: Width> Decoder<'a, W> {
    /// A reader of `count` states with a key; `bytes` includes the [`SLACK`].
    pub fn new(width: W, layout: &'a Layout, key: &'a [u64], bytes: &'a [u8], count: usize) -> Self {
        let before = if width.words() == 1 { Vec::new() } else { vec![0; width.words()] };
        Decoder { width, layout, key, bytes, at: 0, lengths: 0, second: false, left: count, next: 0, before }
    }

    #[inline(always)]
    fn number(&mut self) -> Result<u64> {
        if !self.second {
            self.lengths = *self.bytes.get(self.at).ok_or_else(short)?;
            self.at += 1;
        }
        let length = usize::from(if self.second { self.lengths >> 4 } else { self.lengths & 15 });
        self.second = !self.second;
        let bytes = self.bytes.get(self.at..self.at + 8).ok_or_else(short)?;
        self.at += length;
        let number = bytes.try_into().map(u64::from_le_bytes).map_err(|_| short())?;
        Ok(number & MASKS[length])
    }

    /// Appends up to `most` further states; says how many.
    pub fn read(&mut self, most: usize, out: &mut Vec<u64>) -> Result<usize> {
        let count = self.left.min(most);
        self.left -= count;
        if self.width.words() == 1 {
            let (mut next, key) = (self.next, self.key[0]);
            for _ in 0..count {
                let rest = self.number()?.wrapping_add(next);
                out.push(self.layout.state(0, rest, key));
                next = rest.wrapping_add(1);
            }
            self.next = next;
            return Ok(count);
        }
        for _ in 0..count {
            let mut same = true;
            for k in 0..self.width.words() {
                let number = self.number()?;
                let rest = if same { number.wrapping_add(self.before[k]) } else { number };
                same &= rest == self.before[k];
                self.before[k] = rest;
                out.push(self.layout.state(k, rest, self.key[k]));
            }
        }
        Ok(count)
    }
}

#[cold]
fn short() -> Error {
    Error::internal("states that were stored end too early")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::engine::pack::{Many, One, Two};

    fn round_trip<W: Width>(width: W, rng: &mut Rng) {
        let words = width.words();
        let mask: Vec<u64> = (0..words).map(|_| rng.bits() & rng.bits()).collect();
        let key: Vec<u64> = mask.iter().map(|mask| mask & rng.bits()).collect();
        let layout = Layout::new(&mask);
        let range = u64::MAX >> rng.below(64);
        let one = |rng: &mut Rng, k: usize| {
            let few = if rng.percent(50) { range } else { 1 };
            layout.state(k, rng.bits() & few & layout.rest(k, u64::MAX), key[k])
        };
        let count = rng.below(100);
        let mut states = Vec::new();
        for _ in 0..count {
            (0..words).for_each(|k| states.push(one(rng, k)));
        }
        layout.sort_unique(width, &mut states);
        let count = states.len() / words;
        let mut bytes = vec![9, 9];
        encode(width, &layout, &states, &mut bytes);
        assert!(bytes.len() - 2 <= most_bytes(words, count));
        bytes.extend([0xff; SLACK]);
        let mut decoder = Decoder::new(width, &layout, &key, &bytes[2..], count);
        let mut back = Vec::new();
        while decoder.read(1 + rng.below(20), &mut back).expect("whole") > 0 {}
        assert_eq!(back, states);
        if count > 0 {
            let cut = &bytes[2..bytes.len() - SLACK];
            let mut decoder = Decoder::new(width, &layout, &key, &cut[..cut.len() / 2], count);
            assert!(decoder.read(count, &mut back).is_err());
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut rng = Rng::new(3);
        for _ in 0..500 {
            round_trip(One, &mut rng);
            round_trip(Two, &mut rng);
            round_trip(Many(4), &mut rng);
        }
    }
}
