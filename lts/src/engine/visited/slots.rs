//! The lock-free protocol: exact insert-or-find over slots that threads share.
//!
//! A slot holds one packed state. Its word 0 is the state's word 0, shifted up by its free bits, and in those a mark: the
//! depth at which the state was found, modulo [`Marks::modulus`], plus one. A mark is never 0, so 0 is an empty slot and
//! every state can be stored.
//!
//! Slots are grouped into lines of 64 bytes, and a line is filled front to back. A state belongs into the first line of
//! its [`Walk`] that was not full; most lookups touch one cache line.
//!
//! Invariant: slots are never emptied while threads share them, a slot is filled only by a thread that has seen all
//! slots before it filled and different from its state, and what is in a filled slot never changes. So of all threads
//! that insert the same state exactly one sees it as new: another one that filled a later slot would have had to see
//! the first one filled with something else.
//!
//! States of several words are written in two phases: [`Marks::busy`] claims the slot, and word 0 is written last, with
//! release ordering; a reader that meets it waits for those few stores.
//!
//! What was tried: walking on to the next line instead of to one that the hash chooses makes full lines attract more
//! (3.5 lines for a new state at a load of 0.85 instead of 2.1); beginning in the middle of a line, which spreads writers,
//! costs a mispredicted branch for each slot, while comparing all slots of a line costs none.

use crate::engine::pack::Width;

/// How a slot divides its word 0 between the state and the mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Marks {
    bits: u32,
}

impl Marks {
    /// Marks of this many bits, from 2 to 32.
    pub(super) fn new(bits: u32) -> Self {
        assert!((2..=32).contains(&bits), "a mark has from 2 to 32 bits");
        Marks { bits }
    }

    /// Depths are known modulo this.
    #[inline(always)]
    pub(super) fn modulus(self) -> u64 {
        (1 << self.bits) - 1
    }

    /// The mark of a depth.
    pub(super) fn mark(self, depth: u64) -> Mark {
        Mark(depth % self.modulus() + 1)
    }

    /// Word 0 of a slot.
    #[inline(always)]
    pub(super) fn stored(self, word: u64, mark: Mark) -> u64 {
        word << self.bits | mark.0
    }

    /// The state's word 0.
    #[inline(always)]
    pub(super) fn word(self, stored: u64) -> u64 {
        stored >> self.bits
    }

    /// The mark of a slot.
    #[inline(always)]
    pub(super) fn of(self, stored: u64) -> Mark {
        Mark(stored & self.modulus())
    }

    /// The depth that a mark stands for.
    pub(super) fn depth_of(self, mark: Mark) -> u64 {
        mark.0 - 1
    }

    /// Claims a slot whose words are being written: no state has a zero mark and other bits.
    #[inline(always)]
    fn busy(self) -> u64 {
        1 << self.bits
    }
}

/// A depth as a slot keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark(u64);

/// An atomic word: the standard one, or loom's in tests.
pub(super) trait Word {
    fn read(&self) -> u64;
    fn read_acquire(&self) -> u64;
    /// Replaces 0 by a value; otherwise returns the value that is present.
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

/// A line is full and does not have a state: it may be in the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Elsewhere;

/// A well mixed hash of a state: every bit of the state changes about half of the upper bits.
#[inline(always)]
pub(crate) fn hash(key: &[u64]) -> u64 {
    let mut h = 0u64;
    for &word in key {
        let mut x = word ^ h;
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        h = x;
    }
    h ^ (h >> 32)
}

/// Lines that the hash of a state chooses freely before its walk goes on line by line.
const JUMPS: usize = 16;

/// A place in the sequence of lines in which a state may be. The first is in proportion to the hash, so that states of
/// increasing hashes stand in increasing lines and a table of any size is moved to a larger one front to back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    hash: u64,
    line: usize,
    tried: usize,
}

impl Walk {
    /// The line it is at.
    pub(super) fn line(self) -> usize {
        self.line
    }
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

    /// Where to look for the state of a hash first.
    #[inline(always)]
    pub(super) fn walk(&self, hash: u64) -> Walk {
        let line = ((u128::from(hash) * self.lines as u128) >> 64) as usize;
        Walk { hash, line, tried: 0 }
    }

    /// Where to look next after a line that is full; `None` after all lines.
    #[inline]
    pub(super) fn next(&self, walk: Walk) -> Option<Walk> {
        let Walk { hash, line, tried } = walk;
        // The lower half of the hash chooses the step. It need not reach all lines, so single steps follow.
        let step = if tried < JUMPS {
            1 + (((hash & 0xffff_ffff) * (self.lines as u64 - 1)) >> 32) as usize
        } else {
            1
        };
        let line = if line + step >= self.lines { line + step - self.lines } else { line + step };
        (tried < JUMPS + self.lines).then_some(Walk { hash, line, tried: tried + 1 })
    }

    /// The address of a line, for prefetching.
    #[inline(always)]
    pub(super) fn address(&self, walk: Walk) -> *const A {
        self.words[walk.line * line_words(self.width)..].as_ptr()
    }

    /// Inserts a state into a line unless it is there. `None` if the line is full.
    #[inline(always)]
    pub(super) fn insert_at(&self, walk: Walk, key: &[u64], mark: Mark) -> Option<Inserted> {
        let line = &self.words[walk.line * line_words(self.width)..][..line_words(self.width)];
        let stored = self.marks.stored(key[0], mark);
        if self.width.words() == 1 {
            loop {
                let (there, empty) = self.scan(line, key[0]);
                if there {
                    return Some(Inserted::Old);
                }
                // If another thread was faster, what it stored there is seen when looking again.
                if line.get(empty)?.claim(stored).is_ok() {
                    return Some(Inserted::New);
                }
            }
        }
        for slot in line.chunks_exact(self.width.words()) {
            let mut first = slot[0].read_acquire();
            if first == 0 {
                match slot[0].claim(self.marks.busy()) {
                    Ok(()) => {
                        slot[1..].iter().zip(&key[1..]).for_each(|(word, &value)| word.write(value));
                        slot[0].write_release(stored);
                        return Some(Inserted::New);
                    }
                    Err(other) => first = other,
                }
            }
            if self.same(slot, first, key) {
                return Some(Inserted::Old);
            }
        }
        None
    }

    /// Whether a line of one-word states has a state, and which of its slots is the first empty one: without a branch.
    /// (Counting the used ones instead is not enough. Where another thread fills a line, an old view of an early slot
    /// and a new one of a later slot may go together, and then the slot that was claimed in vain can be claimed again and
    /// again; loom found it.)
    #[inline(always)]
    fn scan(&self, line: &[A], key: u64) -> (bool, usize) {
        let wanted = self.marks.stored(key, Mark(0));
        let (mut there, mut empty) = (false, 0u32);
        for (k, slot) in line.iter().enumerate() {
            let value = slot.read();
            // Only the mark differs, and an empty slot has none.
            there |= (value ^ wanted).wrapping_sub(1) < self.marks.modulus();
            empty |= u32::from(value == 0) << k;
        }
        (there, empty.trailing_zeros() as usize)
    }

    /// Inserts a state unless it is there.
    #[cfg(loom)]
    pub(super) fn insert(&self, key: &[u64], mark: Mark) -> Inserted {
        self.insert_from(self.walk(hash(key)), key, mark)
    }

    /// Inserts a state unless it is there; its walk begins as given.
    #[inline(always)]
    pub(super) fn insert_from(&self, mut walk: Walk, key: &[u64], mark: Mark) -> Inserted {
        loop {
            if let Some(inserted) = self.insert_at(walk, key, mark) {
                return inserted;
            }
            match self.next(walk) {
                Some(next) => walk = next,
                None => return Inserted::Full,
            }
        }
    }

    /// The depth, as far as it is known, of a state that is there.
    pub(super) fn find(&self, key: &[u64]) -> Option<u64> {
        let slot = self.locate(key)? * self.width.words();
        Some(self.marks.depth_of(self.marks.of(self.words[slot].read())))
    }

    /// The slot of a state that is there.
    #[inline]
    pub(super) fn locate(&self, key: &[u64]) -> Option<usize> {
        let mut walk = self.walk(hash(key));
        loop {
            match self.locate_at(walk, key) {
                Ok(found) => return found,
                Err(Elsewhere) => walk = self.next(walk)?,
            }
        }
    }

    /// The slot of a state if it is in a line; nothing if it would be there but is not.
    #[inline(always)]
    pub(super) fn locate_at(&self, walk: Walk, key: &[u64]) -> Result<Option<usize>, Elsewhere> {
        let line = &self.words[walk.line * line_words(self.width)..][..line_words(self.width)];
        let first_slot = walk.line * slots_in_line(self.width);
        if self.width.words() == 1 {
            // Without a branch for each slot, as in `scan`.
            let wanted = self.marks.stored(key[0], Mark(0));
            let (mut there, mut empty) = (0u32, false);
            for (k, slot) in line.iter().enumerate() {
                let value = slot.read();
                there |= u32::from((value ^ wanted).wrapping_sub(1) < self.marks.modulus()) << k;
                empty |= value == 0;
            }
            return match there {
                0 if empty => Ok(None),
                0 => Err(Elsewhere),
                _ => Ok(Some(first_slot + there.trailing_zeros() as usize)),
            };
        }
        for (k, slot) in line.chunks_exact(self.width.words()).enumerate() {
            let first = slot[0].read_acquire();
            if first == 0 {
                return Ok(None);
            }
            if self.same(slot, first, key) {
                return Ok(Some(first_slot + k));
            }
        }
        Err(Elsewhere)
    }

    /// The state of a slot that no thread writes, and its mark.
    #[inline(always)]
    pub(super) fn content(&self, slot: usize, key: &mut [u64]) -> Option<Mark> {
        let words = self.width.words();
        let slot = &self.words[slot * words..(slot + 1) * words];
        let first = slot[0].read();
        key[0] = self.marks.word(first);
        slot[1..].iter().zip(&mut key[1..]).for_each(|(word, value)| *value = word.read());
        (first != 0).then(|| self.marks.of(first))
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
