//! The lock-free protocol: exact insert-or-find over slots that threads share.
//!
//! A slot holds one packed state. Its word 0 is the state's word 0, shifted up by its free bits, and in those a mark: the
//! depth at which the state was found, modulo [`Marks::modulus`], plus one. A mark is never 0, so 0 is an empty slot and
//! every state can be stored. Slots are grouped into lines of 64
//! bytes. A lookup starts at a slot of its line, walks around that line and then on to the following ones; most
//! lookups touch one cache line.
//!
//! Invariant: slots are never emptied while threads share them, and a state is stored in the first slot of its walk
//! that was empty. So of all threads that insert the same state exactly one sees it as new.
//!
//! States of several words are written in two phases: [`Marks::busy`] claims the slot, and word 0 is written last, with release
//! ordering; a reader that meets it waits for those few stores.

use crate::pack::Width;

/// How a slot divides its word 0 between the state and the mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Marks {
    bits: u32,
}

impl Marks {
    /// Marks of so many bits, from 2 to 32.
    pub(super) fn new(bits: u32) -> Self {
        assert!((2..=32).contains(&bits), "a mark has from 2 to 32 bits");
        Marks { bits }
    }

    /// Depths are known modulo this.
    #[inline(always)]
    pub(super) fn modulus(self) -> u64 {
        (1 << self.bits) - 1
    }

    /// Word 0 of a slot.
    #[inline(always)]
    fn stored(self, word: u64, depth: u64) -> u64 {
        word << self.bits | (depth % self.modulus() + 1)
    }

    /// The state's word 0.
    #[inline(always)]
    fn word(self, stored: u64) -> u64 {
        stored >> self.bits
    }

    #[inline(always)]
    fn depth(self, stored: u64) -> u64 {
        (stored & self.modulus()).wrapping_sub(1)
    }

    /// Claims a slot whose words are being written: no state has a zero mark and other bits.
    #[inline(always)]
    fn busy(self) -> u64 {
        1 << self.bits
    }
}

/// An atomic word: the standard one, or loom's in tests.
pub(super) trait Word {
    fn read(&self) -> u64;
    fn read_acquire(&self) -> u64;
    /// Replaces 0 by a value; otherwise says what is there.
    fn claim(&self, value: u64) -> Result<(), u64>;
    fn write(&self, value: u64);
    fn write_release(&self, value: u64);
}

macro_rules! word {
    ($atomic:ty, $order:path) => {
        impl Word for $atomic {
            #[inline(always)]
            fn read(&self) -> u64 {
                use $order as O;
                self.load(O::Relaxed)
            }
            #[inline(always)]
            fn read_acquire(&self) -> u64 {
                use $order as O;
                self.load(O::Acquire)
            }
            #[inline(always)]
            fn claim(&self, value: u64) -> Result<(), u64> {
                use $order as O;
                self.compare_exchange(0, value, O::Acquire, O::Acquire).map(|_| ())
            }
            #[inline(always)]
            fn write(&self, value: u64) {
                use $order as O;
                self.store(value, O::Relaxed);
            }
            #[inline(always)]
            fn write_release(&self, value: u64) {
                use $order as O;
                self.store(value, O::Release);
            }
        }
    };
}

word!(std::sync::atomic::AtomicU64, std::sync::atomic::Ordering);
#[cfg(loom)]
word!(loom::sync::atomic::AtomicU64, std::sync::atomic::Ordering);

/// How an insertion ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Inserted {
    New,
    Old,
    /// No slot is free.
    Full,
}

/// A well mixed hash of a state: every bit of the state changes about half of the upper bits.
#[inline(always)]
pub(super) fn hash(key: &[u64]) -> u64 {
    let mut h = 0u64;
    for &word in key {
        let mut x = word ^ h;
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        h = x;
    }
    h ^ (h >> 32)
}

/// The slots of a table.
pub(super) struct Slots<'a, A, W> {
    words: &'a [A],
    width: W,
    marks: Marks,
    lines: usize,
}

impl<'a, A: Word, W: Width> Slots<'a, A, W> {
    /// Takes whole lines only.
    #[inline(always)]
    pub(super) fn new(words: &'a [A], width: W, marks: Marks) -> Self {
        Slots { words, width, marks, lines: words.len() / line_words(width) }
    }

    /// The line at which the walk of a hash begins: in proportion to the hash, so that states of increasing hashes
    /// stand in increasing lines and a table of any size can be moved to a larger one front to back.
    #[inline(always)]
    pub(super) fn line(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.lines as u128) >> 64) as usize
    }

    /// The address of a line, for prefetching.
    #[inline(always)]
    pub(super) fn address(&self, line: usize) -> *const A {
        self.words[line * line_words(self.width)..].as_ptr()
    }

    /// Inserts a state unless it is there.
    #[inline(always)]
    pub(super) fn insert(&self, key: &[u64], hash: u64, line: usize, depth: u64) -> Inserted {
        let stored = self.marks.stored(key[0], depth);
        self.walk(hash, line, |slot| {
            let mut first = if slot.len() == 1 { slot[0].read() } else { slot[0].read_acquire() };
            if first == 0 {
                let value = if slot.len() == 1 { stored } else { self.marks.busy() };
                match slot[0].claim(value) {
                    Ok(()) => {
                        if slot.len() > 1 {
                            slot[1..].iter().zip(&key[1..]).for_each(|(word, &value)| word.write(value));
                            slot[0].write_release(stored);
                        }
                        return Some(Inserted::New);
                    }
                    Err(other) => first = other,
                }
            }
            self.same(slot, first, key).then_some(Inserted::Old)
        })
        .unwrap_or(Inserted::Full)
    }

    /// The depth, as far as it is known, of a state that is there.
    #[inline(always)]
    pub(super) fn find(&self, key: &[u64], hash: u64, line: usize) -> Option<u64> {
        self.walk(hash, line, |slot| match slot[0].read_acquire() {
            0 => Some(None),
            first => self.same(slot, first, key).then(|| Some(self.marks.depth(slot[0].read()))),
        })
        .flatten()
    }

    /// The state of a slot that no thread writes, and its depth as far as it is known.
    #[inline(always)]
    pub(super) fn content(&self, slot: usize, key: &mut [u64]) -> Option<u64> {
        let words = self.width.words();
        let slot = &self.words[slot * words..(slot + 1) * words];
        let first = slot[0].read();
        key[0] = self.marks.word(first);
        slot[1..].iter().zip(&mut key[1..]).for_each(|(word, value)| *value = word.read());
        (first != 0).then(|| self.marks.depth(first))
    }

    /// Whether a slot holds `key`; `first` is what its word 0 was last.
    #[inline(always)]
    fn same(&self, slot: &[A], mut first: u64, key: &[u64]) -> bool {
        if slot.len() > 1 {
            first = settled(&slot[0], first, self.marks.busy());
        }
        self.marks.word(first) == key[0]
            && slot[1..].iter().zip(&key[1..]).all(|(word, &value)| word.read() == value)
    }

    /// Visits the slots of a walk until `visit` has an answer; `None` after all slots.
    #[inline(always)]
    fn walk<T>(&self, hash: u64, mut line: usize, mut visit: impl FnMut(&[A]) -> Option<T>) -> Option<T> {
        let words = self.width.words();
        let slots = slots_in_line(self.width);
        for _ in 0..self.lines {
            let line_words = &self.words[line * slots * words..][..slots * words];
            for k in 0..slots {
                let at = (hash as usize).wrapping_add(k) % slots * words;
                if let Some(answer) = visit(&line_words[at..at + words]) {
                    return Some(answer);
                }
            }
            line = if line + 1 == self.lines { 0 } else { line + 1 };
        }
        None
    }
}

/// Waits until a claimed slot is written.
#[inline(always)]
fn settled<A: Word>(word: &A, mut value: u64, busy: u64) -> u64 {
    let mut rounds = 0u32;
    while value == busy {
        // The writer has a few stores to do. If it lost its processor in between, spinning would only delay it.
        rounds += 1;
        if rounds.is_multiple_of(64) || cfg!(loom) {
            #[cfg(loom)]
            loom::thread::yield_now();
            #[cfg(not(loom))]
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        value = word.read_acquire();
    }
    value
}

/// States in a line: as many as fit in 64 bytes, at least one.
#[inline(always)]
pub(super) fn slots_in_line<W: Width>(width: W) -> usize {
    (8 / width.words()).max(1)
}

/// Words of a line.
#[inline(always)]
pub(super) fn line_words<W: Width>(width: W) -> usize {
    slots_in_line(width) * width.words()
}
