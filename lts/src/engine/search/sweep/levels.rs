//! The levels of a search, to be gone through again and again: in memory up to a share of it, then in a file without a name.
//!
//! A level is divided into parts, and a thread has one part of a file in memory at a time. States of a part whose bits may
//! still change stand at its front, and only these are read for a sweep. Invariant: what is read from the file is what was
//! written: sums of hashes are kept, which do not depend on the order of states.

use crate::base::error::{Error, Result};
use crate::base::spill::SpillFile;
use crate::engine::search::bfs::Chunk;
use crate::engine::visited::hash;

/// The part of the memory limit that levels may take: with a limit of twice what the visited set needs, a byte or two for each
/// state.
const SHARE: u64 = 16;
/// They may take so much in any case, and in tests no more.
const LEAST: u64 = if cfg!(test) { 256 } else { 16 << 20 };

/// States of a level.
pub(super) struct Part<'a> {
    content: Content<'a>,
    count: usize,
    /// The first of them may still change.
    live: usize,
}

enum Content<'a> {
    Memory(Chunk<'a>),
    /// Where they begin, and the sums of all of them and of those that may change.
    File(u64, u64, u64),
}

/// The file, if there is one.
pub(super) struct Levels<'a> {
    words: usize,
    /// Bytes that may stay in memory.
    room: u64,
    file: Option<SpillFile>,
    /// Whether there can be none.
    failed: bool,
    pub(super) levels: Vec<Vec<Part<'a>>>,
}

fn sum(states: &[u64], words: usize) -> u64 {
    states.chunks_exact(words).fold(0, |sum, state| sum.wrapping_add(hash(state)))
}

fn trouble(error: impl std::fmt::Display) -> Error {
    Error::Disk(format!("states that were written to a temporary file cannot be read again: {error}"))
}

impl<'a> Levels<'a> {
    /// No levels yet, of states of `words` words; `limit` is that of memory.
    pub(super) fn new(words: usize, limit: u64) -> Self {
        let room = if cfg!(test) { LEAST } else { (limit / SHARE).max(LEAST) };
        Levels { words, room, file: None, failed: false, levels: Vec::new() }
    }

    /// Adds the next level. If nothing can be written, it stays in memory.
    pub(super) fn add(&mut self, level: Vec<Chunk<'a>>) {
        let mut bytes = Vec::new();
        let parts = level.into_iter().map(|mut chunk| {
            let count = chunk.states.len() / self.words;
            let written = match self.room.checked_sub((chunk.states.len() * size_of::<u64>()) as u64) {
                Some(room) => {
                    self.room = room;
                    None
                }
                None => self.write(&chunk.states, &mut bytes),
            };
            let content = match written {
                Some(at) => Content::File(at, sum(&chunk.states, self.words), 0),
                None => {
                    chunk.shrink();
                    Content::Memory(chunk)
                }
            };
            Part { content, count, live: 0 }
        });
        let parts = parts.collect();
        self.levels.push(parts);
    }

    /// Writes states to the end of the file.
    fn write(&mut self, states: &[u64], bytes: &mut Vec<u8>) -> Option<u64> {
        if self.file.is_none() && !self.failed {
            self.file = SpillFile::new_in(&std::env::temp_dir()).ok();
        }
        let file = self.file.as_ref().filter(|_| !self.failed)?;
        encode(states, bytes);
        let at = file.reserve(bytes.len() as u64);
        self.failed = file.write(bytes, at).is_err();
        (!self.failed).then_some(at)
    }

    fn file(&self) -> Result<&SpillFile> {
        self.file.as_ref().ok_or_else(|| Error::internal("states are in a file that is not there"))
    }

    /// Bytes in the file.
    pub(super) fn spilled(&self) -> u64 {
        self.file.as_ref().map_or(0, SpillFile::end)
    }

    /// How many states may still change.
    pub(super) fn live(&self) -> usize {
        self.levels.iter().flatten().map(|part| part.live).sum()
    }
}

/// A part that a thread has read.
#[derive(Default)]
pub(super) struct Buffer {
    states: Vec<u64>,
    bytes: Vec<u8>,
}

fn encode(states: &[u64], bytes: &mut Vec<u8>) {
    bytes.resize(size_of_val(states), 0);
    let places = bytes.chunks_exact_mut(size_of::<u64>());
    places.zip(states).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
}

impl Buffer {
    fn read(&mut self, file: &SpillFile, at: u64, count: usize, words: usize, expected: u64) -> Result<()> {
        self.bytes.resize(count * words * size_of::<u64>(), 0);
        file.read(&mut self.bytes, at).map_err(trouble)?;
        let (word_bytes, _) = self.bytes.as_chunks();
        self.states.clear();
        self.states.extend(word_bytes.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        if sum(&self.states, words) != expected {
            return Err(trouble(
                "they are not as they were written; check the disk, or name another one (TMPDIR)",
            ));
        }
        Ok(())
    }
}

impl Part<'_> {
    /// How many states may still change.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// All states may change again.
    pub(super) fn revive(&mut self) {
        self.live = self.count;
        if let Content::File(_, all, live) = &mut self.content {
            *live = *all;
        }
    }

    /// The states that may still change.
    pub(super) fn live_states<'s>(&'s self, of: &Levels, buffer: &'s mut Buffer) -> Result<&'s [u64]> {
        self.first(self.live, of, buffer)
    }

    /// All states.
    pub(super) fn states<'s>(&'s self, of: &Levels, buffer: &'s mut Buffer) -> Result<&'s [u64]> {
        self.first(self.count, of, buffer)
    }

    fn first<'s>(&'s self, count: usize, of: &Levels, buffer: &'s mut Buffer) -> Result<&'s [u64]> {
        match &self.content {
            Content::Memory(chunk) => Ok(&chunk.states[..count * of.words]),
            Content::File(at, all, live) => {
                let expected = if count == self.count { *all } else { *live };
                buffer.read(of.file()?, *at, count, of.words, expected)?;
                Ok(&buffer.states)
            }
        }
    }

    /// Of the states that may still change, which the buffer has if they were read, those that can change no more go to the
    /// back.
    pub(super) fn set_aside(&mut self, over: &[bool], of: &Levels, buffer: &mut Buffer) -> Result<()> {
        let before = std::mem::replace(&mut self.live, over.iter().filter(|over| !**over).count());
        if self.live == before {
            return Ok(());
        }
        match &mut self.content {
            Content::Memory(chunk) => to_the_back(&mut chunk.states, over, of.words),
            // They are never read apart from the others then.
            Content::File(_, _, live) if self.live == 0 => *live = 0,
            Content::File(at, _, live) => {
                to_the_back(&mut buffer.states, over, of.words);
                *live = sum(&buffer.states[..self.live * of.words], of.words);
                encode(&buffer.states, &mut buffer.bytes);
                of.file()?.write(&buffer.bytes, *at).map_err(trouble)?;
            }
        }
        Ok(())
    }
}

fn to_the_back(states: &mut [u64], over: &[bool], words: usize) {
    let stay = over.iter().enumerate().filter(|(_, over)| !**over);
    for (to, (from, _)) in stay.enumerate() {
        for word in 0..words {
            states.swap(to * words + word, from * words + word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::memory::Budget;

    const WORDS: usize = 2;

    /// Levels of which the first stays in memory and the others do not, each of one part with these states.
    fn levels(budget: &Budget) -> (Levels<'_>, Vec<u64>) {
        let states: Vec<u64> = (0..40).map(|k| k * k).collect();
        let mut levels = Levels::new(WORDS, 0);
        let room = (size_of_val(&states[..]) as u64 + LEAST) / LEAST;
        for _ in 0..room + 2 {
            let mut chunk = Chunk::new(WORDS, budget).expect("room");
            chunk.states.extend(&states);
            levels.add(vec![chunk]);
        }
        (levels, states)
    }

    fn sorted(states: &[u64]) -> Vec<Vec<u64>> {
        let mut states: Vec<Vec<u64>> = states.chunks_exact(WORDS).map(<[u64]>::to_vec).collect();
        states.sort();
        states
    }

    #[test]
    fn files_keep_what_memory_does_not() {
        let budget = Budget::new(1 << 30);
        let (mut levels, states) = levels(&budget);
        assert!(levels.spilled() > 0);
        let mut buffer = Buffer::default();
        let mut parts = std::mem::take(&mut levels.levels);
        for part in parts.iter_mut().flatten() {
            for _ in 0..2 {
                part.revive();
                assert_eq!(part.live_states(&levels, &mut buffer).expect("readable").len(), states.len());
                let over: Vec<bool> = (0..part.live()).map(|k| k % 3 != 1).collect();
                let stay: Vec<u64> = {
                    let live = part.live_states(&levels, &mut buffer).expect("readable");
                    let stay = live.chunks_exact(WORDS).zip(&over).filter(|(_, over)| !**over);
                    stay.flat_map(|(state, _)| state.to_vec()).collect()
                };
                part.set_aside(&over, &levels, &mut buffer).expect("writable");
                assert_eq!(sorted(part.live_states(&levels, &mut buffer).expect("readable")), sorted(&stay));
                let none = vec![true; part.live()];
                part.set_aside(&none, &levels, &mut buffer).expect("writable");
                assert_eq!(part.live(), 0);
                assert_eq!(sorted(part.states(&levels, &mut buffer).expect("readable")), sorted(&states));
            }
        }
    }

    #[test]
    fn a_damaged_file_is_noticed() {
        let budget = Budget::new(1 << 30);
        let (mut levels, _) = levels(&budget);
        let parts = std::mem::take(&mut levels.levels);
        let (part, at) = parts
            .iter()
            .flatten()
            .find_map(|part| match part.content {
                Content::File(at, ..) => Some((part, at)),
                Content::Memory(_) => None,
            })
            .expect("some are in the file");
        let mut buffer = Buffer::default();
        assert!(part.states(&levels, &mut buffer).is_ok());
        levels.file().expect("there").write(&[9], at + 8).expect("writable");
        let told = part.states(&levels, &mut buffer).expect_err("one byte is another").to_string();
        assert!(told.contains("not as they were written"), "{told}");
    }

    #[test]
    fn what_cannot_be_written_stays_in_memory() {
        let budget = Budget::new(1 << 30);
        let mut levels = Levels { failed: true, room: 0, ..Levels::new(1, 0) };
        let mut chunk = Chunk::new(1, &budget).expect("room");
        chunk.states.extend([4, 5]);
        levels.add(vec![chunk]);
        let mut buffer = Buffer::default();
        assert_eq!(levels.levels[0][0].states(&levels, &mut buffer).expect("in memory"), [4, 5]);
        assert_eq!(levels.spilled(), 0);
    }
}
