//! Where slices and inboxes are stored: in memory up to a limit, then in files of the spill directory.
//!
//! A [`Block`] is the unit of writing; a [`Segment`] is the part of a block that holds the states of one slice. A block is
//! written once, to memory or to the end of a file, and is freed with its last segment. Files have no names: the system
//! removes them with the process, however it ends. Runs and inboxes are in different files, because inboxes are soon read and
//! freed; a file is closed, and its space returned, when its last block is freed.
//!
//! Invariant: memory is taken from the budget before a block is kept there; a block read from a file has the checksum with
//! which it was written, or the search ends with an error.

use super::code::{Decoder, SLACK};
use super::layout::Layout;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::memory::{Budget, resident, trim};
use gridlock_lts::base::spill::SpillFile;
use gridlock_lts::engine::pack::Width;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What a block is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// States that were expanded.
    Run,
    /// States that wait for their expansion.
    Inbox,
}

/// Bytes of memory that a block takes besides its content.
const OVERHEAD: u64 = 96;
/// Bytes after which a new file is begun.
const FILE_BYTES: u64 = if cfg!(test) { 1 << 10 } else { 256 << 20 };

/// The system is asked again for the memory of the process each time this many bytes were kept in memory.
const ASK: u64 = if cfg!(test) { 1 << 9 } else { 1 << 18 };

/// Bytes of segments of a message that become one block.
const ADOPTED: usize = 1 << 20;

#[derive(Debug)]
enum Content {
    Memory(Box<[u8]>, Arc<Budget>),
    /// Memory outside the budget: a part of a message.
    Message(Box<[u8]>),
    File(Arc<SpillFile>, u64),
}

/// A block, in memory or in a file.
#[derive(Debug)]
pub struct Block(Content);

impl Drop for Block {
    fn drop(&mut self) {
        if let Content::Memory(bytes, budget) = &self.0 {
            budget.give(bytes.len() as u64 + OVERHEAD);
        }
    }
}

/// Sorted states of one slice.
#[derive(Clone, Debug)]
pub struct Segment {
    block: Arc<Block>,
    start: u32,
    len: u32,
    count: u32,
    checksum: u32,
}

impl Segment {
    /// The number of states.
    pub fn states(&self) -> usize {
        self.count as usize
    }

    /// A segment of this many states that came with a message. Its memory is outside the budget.
    pub fn of_message(mut bytes: Vec<u8>, count: u32) -> Option<Self> {
        let len = u32::try_from(bytes.len()).ok()?;
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&[0; SLACK]);
        let block = Arc::new(Block(Content::Message(bytes.into())));
        Some(Segment { block, start: 0, len, count, checksum })
    }

    /// The number of bytes of its compressed states.
    pub fn bytes(&self) -> usize {
        self.len as usize
    }

    /// Its compressed states, from memory or from a file. `buffer` is for bytes from files.
    pub fn compressed<'a>(&'a self, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        Ok(&self.content(buffer)?[..self.bytes()])
    }

    /// Whether it is in a file.
    pub fn is_spilled(&self) -> bool {
        matches!(self.block.0, Content::File(..))
    }

    /// The states; they have the given key. `buffer` is for bytes from files.
    pub fn decoder<'a, W: Width>(
        &'a self,
        width: W,
        layout: &'a Layout,
        key: &'a [u64],
        buffer: &'a mut Vec<u8>,
    ) -> Result<Decoder<'a, W>> {
        Ok(Decoder::new(width, layout, key, self.content(buffer)?, self.states()))
    }

    /// The compressed states, and behind them at least [`SLACK`] bytes. `buffer` is for bytes from files.
    pub(super) fn content<'a>(&'a self, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        match &self.block.0 {
            Content::Memory(bytes, _) | Content::Message(bytes) => Ok(&bytes[self.start as usize..]),
            Content::File(file, at) => {
                buffer.clear();
                buffer.resize(self.len as usize + SLACK, 0);
                let content = &mut buffer[..self.len as usize];
                file.read(content, at + u64::from(self.start))
                    .map_err(|error| Error::Disk(format!("a spill file cannot be read: {error}")))?;
                if crc32fast::hash(content) != self.checksum {
                    return Err(Error::Disk(
                        "a spill file is not as it was written (its checksum is wrong); \
                         check the disk, or name another directory for spilled states"
                            .to_owned(),
                    ));
                }
                Ok(&buffer[..])
            }
        }
    }
}

/// A block that is being filled, segment by segment.
#[derive(Debug, Default)]
pub struct Draft {
    bytes: Vec<u8>,
    ends: Vec<(u32, u32)>,
}

impl Draft {
    /// Whether the draft is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes written so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Drops what was written.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends a segment: sorted, different states with the same key.
    pub fn add<W: Width>(&mut self, width: W, layout: &Layout, states: &[u64]) {
        super::code::encode(width, layout, states, &mut self.bytes);
        self.ends.push((self.bytes.len() as u32, (states.len() / width.words()) as u32));
    }
}

/// Stores blocks.
#[derive(Debug)]
pub struct Store {
    memory: Arc<Budget>,
    /// Beyond this many bytes blocks go to files; the rest of the budget is for data that must stay in memory.
    share: u64,
    /// Blocks also go to files while the process has more than this in memory.
    ceiling: u64,
    /// Bytes kept since the system was last asked, and its answer.
    unasked: AtomicU64,
    crowded: AtomicBool,
    directory: PathBuf,
    files: [Mutex<Option<Arc<SpillFile>>>; 2],
    spilled: AtomicU64,
}

impl Store {
    /// A store that may use nine tenths of a budget, and files in a directory.
    pub fn new(memory: Arc<Budget>, directory: PathBuf) -> Self {
        let share = memory.limit() / 10 * 9;
        Store {
            memory,
            share,
            ceiling: u64::MAX,
            unasked: AtomicU64::new(u64::MAX / 2),
            crowded: AtomicBool::new(false),
            directory,
            files: Default::default(),
            spilled: AtomicU64::new(0),
        }
    }

    /// The same store, which also writes blocks to files while the process has more bytes in memory than this, as the system
    /// counts them. The budget does not include memory that allocators keep, nor other memory of the process; this limit
    /// does. The place of a block affects only the number of bytes spilled.
    pub fn within(self, ceiling: u64) -> Self {
        Store { ceiling, ..self }
    }

    fn is_crowded(&self, bytes: u64) -> bool {
        if self.ceiling < u64::MAX && self.unasked.fetch_add(bytes, Relaxed) >= ASK {
            self.unasked.store(0, Relaxed);
            let is_over = || resident().is_some_and(|now| now > self.ceiling);
            let was_over = self.crowded.load(Relaxed);
            let mut over = is_over();
            if over && !was_over {
                trim();
                over = is_over();
            }
            self.crowded.store(over, Relaxed);
        }
        self.crowded.load(Relaxed)
    }

    /// The budget for blocks and for the records about them.
    pub fn memory(&self) -> &Arc<Budget> {
        &self.memory
    }

    /// Takes memory for records about blocks.
    pub fn take(&self, bytes: u64) -> Result<(), Error> {
        self.memory.take(bytes).map_err(|exhausted| Error::Limit(Limit::Memory(exhausted.limit)))
    }

    /// Bytes written to files so far.
    pub fn spilled(&self) -> u64 {
        self.spilled.load(Relaxed)
    }

    /// Stores a block and leaves the draft empty; the segments are in the order in which they were added.
    pub fn put(&self, kind: Kind, draft: &mut Draft) -> Result<Vec<Segment>> {
        if draft.is_empty() {
            return Ok(Vec::new());
        }
        let mut start = 0;
        let parts: Vec<(u32, u32, u32, u32)> = draft
            .ends
            .drain(..)
            .map(|(end, count)| {
                let checksum = crc32fast::hash(&draft.bytes[start as usize..end as usize]);
                let part = (start, end - start, count, checksum);
                start = end;
                part
            })
            .collect();
        draft.bytes.extend_from_slice(&[0; SLACK]);
        let bytes = draft.bytes.len() as u64 + OVERHEAD;
        let fits = !self.is_crowded(bytes)
            && self.memory.used() + bytes <= self.share
            && self.memory.take(bytes).is_ok();
        let content = if fits {
            Content::Memory(draft.bytes.as_slice().into(), self.memory.clone())
        } else {
            let (file, at) = self.append(kind, &draft.bytes)?;
            Content::File(file, at)
        };
        draft.bytes.clear();
        let block = Arc::new(Block(content));
        let segment =
            |(start, len, count, checksum)| Segment { block: block.clone(), start, len, count, checksum };
        Ok(parts.into_iter().map(segment).collect())
    }

    /// Stores segments of messages, in the order in which they are given.
    pub fn adopt(&self, kind: Kind, segments: Vec<Segment>) -> Result<Vec<Segment>> {
        let (mut draft, mut buffer, mut adopted) = (Draft::default(), Vec::new(), Vec::new());
        for segment in segments {
            let content = segment.content(&mut buffer)?;
            draft.bytes.extend_from_slice(&content[..segment.len as usize]);
            draft.ends.push((draft.bytes.len() as u32, segment.count));
            // Inboxes are many small segments that come and go together.
            if kind == Kind::Run || draft.len() >= ADOPTED {
                adopted.extend(self.put(kind, &mut draft)?);
            }
        }
        adopted.extend(self.put(kind, &mut draft)?);
        Ok(adopted)
    }

    fn append(&self, kind: Kind, bytes: &[u8]) -> Result<(Arc<SpillFile>, u64)> {
        let trouble = |error: io::Error| {
            let directory = self.directory.display();
            Error::Disk(format!("states cannot be written to the spill directory {directory}: {error}"))
        };
        let (file, at) = {
            let mut current = self.files[kind as usize].lock().unwrap_or_else(PoisonError::into_inner);
            let full = current.as_ref().is_none_or(|file| file.end() + bytes.len() as u64 > FILE_BYTES);
            if full {
                *current = Some(Arc::new(SpillFile::new_in(&self.directory).map_err(trouble)?));
            }
            let file = current.clone().ok_or_else(|| Error::internal("no spill file"))?;
            let at = file.reserve(bytes.len() as u64);
            (file, at)
        };
        file.write(bytes, at).map_err(trouble)?;
        self.spilled.fetch_add(bytes.len() as u64, Relaxed);
        Ok((file, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::engine::pack::One;

    fn states_of(segment: &Segment, layout: &Layout, key: &[u64]) -> Result<Vec<u64>> {
        let (mut buffer, mut states) = (Vec::new(), Vec::new());
        segment.decoder(One, layout, key, &mut buffer)?.read(usize::MAX, &mut states)?;
        Ok(states)
    }

    fn put_three(store: &Store, layout: &Layout) -> Vec<Segment> {
        let mut draft = Draft::default();
        for key in 0..3u64 {
            let states: Vec<u64> = (0..50).map(|k| (k * k) << 4 | key).collect();
            draft.add(One, layout, &states);
        }
        store.put(Kind::Run, &mut draft).expect("room")
    }

    #[test]
    fn memory_first_then_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let layout = Layout::new(&[15]);
        let store = Store::new(Arc::new(Budget::new(3000)), directory.path().to_owned());
        let all: Vec<Vec<Segment>> = (0..20).map(|_| put_three(&store, &layout)).collect();
        assert!(!all[0][0].is_spilled() && all[19][0].is_spilled() && store.spilled() > 1000);
        for segments in &all {
            for (key, segment) in segments.iter().enumerate() {
                let expected: Vec<u64> = (0..50).map(|k| (k * k) << 4 | key as u64).collect();
                assert_eq!(states_of(segment, &layout, &[key as u64]).expect("whole"), expected);
            }
        }
        assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0, "files have no names");
        drop(all);
        assert_eq!(store.memory().used(), 0);
    }

    #[test]
    fn a_process_with_too_much_in_memory_writes_files() {
        let layout = Layout::new(&[15]);
        let store = || Store::new(Arc::new(Budget::new(1 << 20)), std::env::temp_dir());
        let (crowded, roomy) = (store().within(1), store().within(1 << 50));
        for _ in 0..20 {
            for (key, segment) in put_three(&crowded, &layout).iter().enumerate() {
                assert_eq!(segment.is_spilled(), resident().is_some());
                assert_eq!(states_of(segment, &layout, &[key as u64]).expect("whole").len(), 50);
            }
            assert!(!put_three(&roomy, &layout)[0].is_spilled());
        }
    }

    #[test]
    fn a_changed_file_is_an_error() {
        let layout = Layout::new(&[15]);
        let store = Store::new(Arc::new(Budget::new(0)), std::env::temp_dir());
        let segments = put_three(&store, &layout);
        let Content::File(file, at) = &segments[1].block.0 else { panic!("not in a file") };
        assert!(states_of(&segments[1], &layout, &[1]).is_ok());
        file.write(&[0xaa], at + u64::from(segments[1].start) + 7).expect("writable");
        assert!(
            matches!(states_of(&segments[1], &layout, &[1]), Err(Error::Disk(m)) if m.contains("checksum"))
        );
        assert!(states_of(&segments[0], &layout, &[0]).is_ok(), "the others are whole");
        (**file).as_ref().set_len(3).expect("writable");
        assert!(matches!(states_of(&segments[2], &layout, &[2]), Err(Error::Disk(_))));
    }

    #[test]
    fn a_missing_directory_and_a_full_disk_are_told() {
        let layout = Layout::new(&[15]);
        let missing = Store::new(Arc::new(Budget::new(0)), PathBuf::from("/does/not/exist"));
        let mut draft = Draft::default();
        draft.add(One, &layout, &[16, 32]);
        let told = missing.put(Kind::Inbox, &mut draft);
        assert!(matches!(told, Err(Error::Disk(m)) if m.contains("/does/not/exist")));
        #[cfg(target_os = "linux")]
        {
            let full = Store::new(Arc::new(Budget::new(0)), std::env::temp_dir());
            let file = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
            *full.files[0].lock().expect("unlocked") = Some(Arc::new(SpillFile::from(file)));
            let mut draft = Draft::default();
            draft.add(One, &layout, &[16, 32]);
            let told = full.put(Kind::Run, &mut draft);
            assert!(matches!(told, Err(Error::Disk(m)) if m.contains("space")));
        }
    }
}
