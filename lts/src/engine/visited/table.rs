//! One table of a visited set: a fixed number of slots, batches of insertions, and the move to a larger one.
//!
//! Invariant: a table is never full. It says that it is due while every thread can still finish a batch.
//!
//! A lookup is one miss of all caches, so lookups are done in batches whose lines are fetched beforehand. A state whose line
//! is full waits until the end of its batch while its next line is fetched: going on at once took 14 to 39 % more time of
//! whole searches (nine resource managers, fifteen philosophers).

use super::region::{RELEASES_PARTS, Region, prefetch};
use super::slots::{self, Elsewhere, Inserted, Mark, Marks, Slots, Walk, line_words, slots_in_line};
use crate::base::memory::{Budget, Exhausted};
use crate::engine::pack::Width;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

// The numbers for tests make small networks reach every path, growth above all.

/// Lookups whose cache line is on its way while earlier ones are worked on.
const AHEAD: usize = if cfg!(test) { 4 } else { 16 };
/// A thread inserts at most this many states before it looks whether the table is almost full.
const BATCH: usize = if cfg!(test) { 8 } else { 256 };
/// Share of the slots that is used before a table grows. One core looked up 45 million states a second at a load of 0.6,
/// 33 million at 0.85 and 30 million at 0.9, and inserted 32, 16 and 13 million new ones.
const FULL: f64 = 0.88;
/// Share of the slots that is used where a table cannot grow.
const BRIM: f64 = 0.96;
/// By how much a table grows that takes a good part of the budget. With [`FULL`] it bounds the bytes of a one-word state by
/// 8 / 0.70.
const GROWTH: f64 = 1.25;
/// The part of the budget below which a table grows twofold. Growing by a quarter moves every state four times as often,
/// and that took a quarter of the time of a search; saving memory that is not short is not worth that.
const PLENTY: u64 = 32;
/// Tables below this many bytes grow fourfold.
const SMALL: u64 = 4 << 20;
/// Bytes of the old and of the new table that a thread has at the same time while it moves: pages are large.
const AT_ONCE: u64 = 6 << 20;
/// The part of a table that states may take that are moved last. If hashes are even, about a
/// tenth of the states stands in another line than its first at a load of [`FULL`].
const STRAYS: u64 = 8;
/// A state is moved at once if its new line is so near to where its old one is in proportion.
const NEAR: usize = if cfg!(test) { 2 } else { 1024 };

/// A table with a fixed number of slots.
#[derive(Debug)]
pub struct Table<W> {
    region: Region,
    width: W,
    marks: Marks,
    /// States stored; exact whenever no thread is within a batch.
    len: AtomicU64,
    /// Growth is due beyond this.
    limit: u64,
    slack: u64,
}

impl<W> Table<W> {
    /// Bytes of all slots.
    pub fn bytes(&self) -> u64 {
        size_of_val(&*self.region) as u64
    }
}

impl<W: Width> Table<W> {
    /// Lines for a number of states.
    pub(super) fn lines_for(width: W, threads: usize, expected: usize) -> usize {
        // All threads may be within a batch when the limit is reached, and that must be a small part.
        let slots = ((expected as f64 / FULL) as usize).max(16 * threads * BATCH);
        slots.div_ceil(slots_in_line(width)) + 1
    }

    pub(super) fn bytes_of(width: W, lines: usize) -> u64 {
        (lines * line_words(width) * size_of::<u64>()) as u64
    }

    pub(super) fn new(width: W, marks: Marks, threads: usize, lines: usize) -> Result<Self, Exhausted> {
        let region = Region::zeroed(lines * line_words(width))?;
        let slots = (lines * slots_in_line(width)) as f64;
        let slack = (threads * BATCH) as u64;
        Ok(Table { region, width, marks, len: AtomicU64::new(0), limit: (slots * FULL) as u64, slack })
    }

    fn slots(&self) -> Slots<'_, AtomicU64, W> {
        Slots::new(&self.region, self.width, self.marks)
    }

    /// The number of words of a state.
    pub fn width(&self) -> W {
        self.width
    }

    /// The number of states. While threads insert, those of unfinished batches may be missing.
    pub fn len(&self) -> u64 {
        self.len.load(Relaxed)
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the table is almost full.
    pub(super) fn is_due(&self) -> bool {
        self.len() >= self.limit
    }

    /// Inserts states that were found at a depth, one after the other in `keys`, and calls `new` with the index of each
    /// that was not there, not necessarily in ascending order.
    /// Returns how many were processed: not all if the table is almost full, see [`Visited::make_room`].
    ///
    /// [`Visited::make_room`]: super::Visited::make_room
    #[inline]
    pub fn insert_all(&self, keys: &[u64], depth: u64, mut new: impl FnMut(usize)) -> usize {
        let words = self.width.words();
        let count = keys.len() / words;
        let mark = self.marks.mark(depth);
        let mut done = 0;
        while done < count {
            if self.is_due() {
                return done;
            }
            let batch = (count - done).min(BATCH);
            let keys = &keys[done * words..(done + batch) * words];
            let inserted = self.insert_batch(keys, mark, |k| new(done + k));
            let inserted =
                inserted.expect("a table grows before it is full, whatever all threads insert meanwhile");
            self.len.fetch_add(inserted, Relaxed);
            done += batch;
        }
        done
    }

    /// Inserts at most [`BATCH`] states. A state whose line is full waits until all others have been looked up, while
    /// its next line is fetched.
    #[inline]
    fn insert_batch(&self, keys: &[u64], mark: Mark, mut new: impl FnMut(usize)) -> Result<u64, Inserted> {
        let words = self.width.words();
        let count = keys.len() / words;
        let slots = self.slots();
        let key = |k: usize| &keys[k * words..(k + 1) * words];
        let look = |k: usize| {
            let walk = slots.walk(slots::hash(key(k)));
            prefetch(slots.address(walk));
            walk
        };
        let mut ahead = [slots.walk(0); AHEAD];
        for (k, walk) in ahead.iter_mut().enumerate().take(count) {
            *walk = look(k);
        }
        let mut inserted = 0;
        let mut waiting = [(0u32, slots.walk(0)); BATCH];
        let mut waits = 0;
        for k in 0..count {
            let walk = ahead[k % AHEAD];
            if k + AHEAD < count {
                ahead[k % AHEAD] = look(k + AHEAD);
            }
            match slots.insert_at(walk, key(k), mark) {
                Some(Inserted::New) => {
                    inserted += 1;
                    new(k);
                }
                Some(_) => {}
                None => {
                    let next = slots.next(walk).ok_or(Inserted::Full)?;
                    prefetch(slots.address(next));
                    waiting[waits] = (k as u32, next);
                    waits += 1;
                }
            }
        }
        while waits > 0 {
            let round = std::mem::take(&mut waits);
            for w in 0..round {
                let (k, walk) = waiting[w];
                match slots.insert_at(walk, key(k as usize), mark) {
                    Some(Inserted::New) => {
                        inserted += 1;
                        new(k as usize);
                    }
                    Some(_) => {}
                    None => {
                        let next = slots.next(walk).ok_or(Inserted::Full)?;
                        prefetch(slots.address(next));
                        waiting[waits] = (k, next);
                        waits += 1;
                    }
                }
            }
        }
        Ok(inserted)
    }

    /// Calls `visit` with the index of each state that is not in the table. Another thread may insert it meanwhile.
    pub fn absent(&self, keys: &[u64], mut visit: impl FnMut(usize)) {
        let words = self.width.words();
        let slots = self.slots();
        for (batch, keys) in keys.chunks(BATCH * words).enumerate() {
            for key in keys.chunks_exact(words) {
                prefetch(slots.address(slots.walk(slots::hash(key))));
            }
            for (k, key) in keys.chunks_exact(words).enumerate() {
                if self.depth_of(key).is_none() {
                    visit(batch * BATCH + k);
                }
            }
        }
    }

    /// How many slots there are, used or not.
    pub fn slot_count(&self) -> usize {
        self.region.len() / self.width.words()
    }

    /// Calls `tell` with the slot of each state, in order, or with nothing if it is not in the table. None may be inserted
    /// meanwhile.
    pub fn find_slots(&self, keys: &[u64], mut tell: impl FnMut(Option<usize>)) {
        let words = self.width.words();
        let slots = self.slots();
        for keys in keys.chunks(BATCH * words) {
            for key in keys.chunks_exact(words) {
                prefetch(slots.address(slots.walk(slots::hash(key))));
            }
            for key in keys.chunks_exact(words) {
                tell(slots.locate(key));
            }
        }
    }

    /// Calls `tell` with the index of each state in `keys` and its slot, not necessarily in order. All of them must be in the
    /// table, and none may be inserted meanwhile. A state keeps its slot as long as the table does not grow.
    #[inline]
    pub fn slots_of(&self, keys: &[u64], mut tell: impl FnMut(usize, usize)) {
        let words = self.width.words();
        let slots = self.slots();
        let missing = "the state is in the table";
        for (batch, keys) in keys.chunks(BATCH * words).enumerate() {
            let first = batch * BATCH;
            let count = keys.len() / words;
            let key = |k: usize| &keys[k * words..(k + 1) * words];
            let look = |k: usize| {
                let walk = slots.walk(slots::hash(key(k)));
                prefetch(slots.address(walk));
                walk
            };
            let mut ahead = [slots.walk(0); AHEAD];
            for (k, walk) in ahead.iter_mut().enumerate().take(count) {
                *walk = look(k);
            }
            // A state whose line is full waits while its next line is fetched, as in an insertion.
            let mut waiting = [(0u32, slots.walk(0)); BATCH];
            let mut waits = 0;
            for k in 0..count {
                let walk = ahead[k % AHEAD];
                if k + AHEAD < count {
                    ahead[k % AHEAD] = look(k + AHEAD);
                }
                match slots.locate_at(walk, key(k)) {
                    Ok(found) => tell(first + k, found.expect(missing)),
                    Err(Elsewhere) => {
                        let next = slots.next(walk).expect(missing);
                        prefetch(slots.address(next));
                        waiting[waits] = (k as u32, next);
                        waits += 1;
                    }
                }
            }
            while waits > 0 {
                let round = std::mem::take(&mut waits);
                for w in 0..round {
                    let (k, walk) = waiting[w];
                    match slots.locate_at(walk, key(k as usize)) {
                        Ok(found) => tell(first + k as usize, found.expect(missing)),
                        Err(Elsewhere) => {
                            let next = slots.next(walk).expect(missing);
                            prefetch(slots.address(next));
                            waiting[waits] = (k, next);
                            waits += 1;
                        }
                    }
                }
            }
        }
    }

    /// Depths are known modulo this.
    pub fn depth_modulus(&self) -> u64 {
        self.marks.modulus()
    }

    /// The depth of a state modulo [`Table::depth_modulus`]; `None` if it is not in the table.
    pub fn depth_of(&self, key: &[u64]) -> Option<u64> {
        self.slots().find(key)
    }

    /// Calls `visit` with every state of one of `parts` parts of the table, and its depth modulo
    /// [`Table::depth_modulus`]. No thread may insert meanwhile.
    pub fn for_each(&self, part: usize, parts: usize, mut visit: impl FnMut(&[u64], u64)) {
        let words = self.width.words();
        let slots = self.region.len() / words;
        let mut key = vec![0; words];
        for slot in slots * part / parts..slots * (part + 1) / parts {
            if let Some(mark) = self.slots().content(slot, &mut key) {
                visit(&key, self.marks.depth_of(mark));
            }
        }
    }

    /// A larger table with the same states, made on several threads. What has been moved is given back at once, so that
    /// this needs little more memory than the larger table.
    pub(super) fn grown(&mut self, threads: usize, budget: &Budget) -> Result<Self, Exhausted> {
        let lines = self.region.len() / line_words(self.width);
        let factor = match self.bytes() {
            bytes if bytes < SMALL => 4.0,
            bytes if bytes < budget.limit() / PLENTY => 2.0,
            _ => GROWTH,
        };
        let old = self.bytes();
        // Where the usual step is too much, a smaller one may still do.
        for factor in [factor, GROWTH, 1.05] {
            let more = (lines as f64 * factor) as usize + 1;
            let bytes = Self::bytes_of(self.width, more);
            // Two threads had 7 to 11 MiB more in memory than twice what one has.
            let spread = (3 * threads as u64 - 2) * AT_ONCE;
            let unreleased = if RELEASES_PARTS { old.min(spread + old / STRAYS) } else { old };
            let at_once = bytes - old + unreleased;
            if budget.take(at_once).is_err() {
                continue;
            }
            let Ok(larger) = Table::new(self.width, self.marks, threads, more) else {
                budget.give(at_once);
                continue;
            };
            self.move_to(&larger, threads);
            // What was taken on top of the difference in size.
            budget.give(unreleased);
            return Ok(larger);
        }
        Err(Exhausted { limit: budget.limit() })
    }

    /// Removes all states.
    pub(super) fn clear(&mut self) {
        self.region.clear();
        *self.len.get_mut() = 0;
    }

    /// Writes to all pages.
    pub(super) fn touch(&mut self) {
        self.region.iter().step_by(512).for_each(|word| {
            word.fetch_or(0, Relaxed);
        });
    }

    /// Lets the table become fuller than it should. False if it is as full as that already.
    pub(super) fn fill_up(&mut self) -> bool {
        let slots = self.region.len() as u64 / self.width.words() as u64;
        let brim = ((slots as f64 * BRIM) as u64).min(slots.saturating_sub(2 * self.slack));
        let more = brim > self.limit;
        self.limit = self.limit.max(brim);
        more
    }

    /// Moves all states. Lines are in proportion to hashes in both tables, so that a thread that reads a stretch of the
    /// old one front to back writes a stretch of the new one front to back.
    fn move_to(&mut self, larger: &Self, threads: usize) {
        let from = &*self;
        std::thread::scope(|scope| {
            for part in 1..threads {
                scope.spawn(move || from.move_part(larger, part, threads));
            }
            from.move_part(larger, 0, threads);
        });
        debug_assert_eq!(larger.len(), self.len());
    }

    /// Most states stand in the first line of their walk in both tables, so that memory is written in order. Those that do
    /// not would touch all pages of the new table while those of the old one are still in use; they are moved last. The
    /// lines of all are fetched beforehand, in batches.
    fn move_part(&self, larger: &Self, part: usize, parts: usize) {
        const PIECE: usize = 1 << 18;
        let words = self.width.words();
        let count = self.region.len() / words;
        let (first, last) = (count * part / parts, count * (part + 1) / parts);
        let (slots, target) = (self.slots(), larger.slots());
        let lines = larger.region.len() / line_words(self.width);
        let mut strays = Strays::new(self, parts);
        let mut keys = vec![0; BATCH * words];
        let mut batch = Vec::with_capacity(BATCH);
        let (mut moved, mut released) = (0, first * words);
        for slot in first..last {
            let key = &mut keys[batch.len() * words..(batch.len() + 1) * words];
            if let Some(mark) = slots.content(slot, key) {
                moved += 1;
                let walk = target.walk(slots::hash(key));
                let here = (slot as u128 * lines as u128 / count as u128) as usize;
                if walk.line().abs_diff(here) <= NEAR || !strays.keep(key, mark) {
                    prefetch(target.address(walk));
                    batch.push((walk, mark));
                }
            }
            if batch.len() < BATCH && slot + 1 < last {
                continue;
            }
            for ((walk, mark), key) in batch.drain(..).zip(keys.chunks_exact(words)) {
                match target.insert_at(walk, key, mark) {
                    Some(inserted) => assert_eq!(inserted, Inserted::New, "a table has a state once"),
                    None if strays.keep(key, mark) => {}
                    None => larger.insert_moved(walk, key, mark),
                }
            }
            // Pages are whole multiples: what does not fill one yet waits for the next piece.
            if (slot + 1) * words >= released + PIECE {
                let end = (slot + 1) * words / PIECE * PIECE;
                self.region.release(released..end);
                released = end;
            }
        }
        strays.move_to(larger);
        larger.len.fetch_add(moved, Relaxed);
    }

    fn insert_moved(&self, walk: Walk, key: &[u64], mark: Mark) {
        let inserted = self.slots().insert_from(walk, key, mark);
        assert_eq!(inserted, Inserted::New, "a larger table has room for what was in the smaller one");
    }
}

/// States that a thread moves last, as they are stored.
struct Strays {
    words: usize,
    marks: Marks,
    states: Vec<u64>,
}

impl Strays {
    /// None yet; all threads together have room for a part of the table.
    fn new<W: Width>(table: &Table<W>, threads: usize) -> Self {
        let words = table.width.words();
        let room = table.region.len() / STRAYS as usize / threads / words * words;
        Strays { words, marks: table.marks, states: Vec::with_capacity(room) }
    }

    /// Keeps a state for later if there is room.
    fn keep(&mut self, key: &[u64], mark: Mark) -> bool {
        let has_room = self.states.capacity() - self.states.len() >= self.words;
        if has_room {
            self.states.push(self.marks.stored(key[0], mark));
            self.states.extend_from_slice(&key[1..]);
        }
        has_room
    }

    fn move_to<W: Width>(mut self, larger: &Table<W>) {
        let target = larger.slots();
        for batch in self.states.chunks_mut(BATCH * self.words) {
            let mut walks = Vec::with_capacity(BATCH);
            for state in batch.chunks_exact_mut(self.words) {
                let mark = self.marks.of(state[0]);
                state[0] = self.marks.word(state[0]);
                let walk = target.walk(slots::hash(state));
                prefetch(target.address(walk));
                walks.push((walk, mark));
            }
            for ((walk, mark), key) in walks.into_iter().zip(batch.chunks_exact(self.words)) {
                larger.insert_moved(walk, key, mark);
            }
        }
    }
}
