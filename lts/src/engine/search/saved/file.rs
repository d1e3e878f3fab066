//! The files of a checkpoint: the states of levels as runs, one block after the other.
//!
//! A file begins with a head that says to which run, generation and rank it belongs. A block is a run of sorted states of
//! one level with a head of its own. Levels do not decrease within a file. What is written is never changed, only added to;
//! how much of a file counts is said elsewhere ([`SavedFile`]), so that what a killed process wrote last is no part of it.
//!
//! Invariant: nothing that is damaged, missing or of another run is taken for states. Heads and contents have checksums, and
//! the checksum of all heads of a file is in [`SavedFile`].

use super::SavedFile;
use crate::base::error::{Error, Result};
use crate::engine::pack::Width;
use crate::engine::runs::code::{self, Decoder, SLACK};
use crate::engine::runs::layout::Layout;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"GRIDLVL1";
/// Bytes of the head of a file: the format, the run, generation, rank, words of a state, checksum.
const FILE_HEAD: usize = 32;
/// Bytes of the head of a block: level, states, bytes, checksum of the content, checksum of the head.
const BLOCK_HEAD: usize = 24;
/// Bytes that are collected before they are written.
const BUFFER: usize = if cfg!(test) { 100 } else { 256 << 10 };

/// Which file it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label {
    /// A number for the run: files of other runs have another.
    pub(super) print: u64,
    pub(super) generation: u32,
    pub(super) rank: u32,
    pub(super) words: u32,
}

impl Label {
    /// What the file is called.
    pub(super) fn name(&self) -> String {
        format!("levels-{:03}-{:05}", self.generation, self.rank)
    }

    fn head(&self) -> [u8; FILE_HEAD] {
        let mut head = [0; FILE_HEAD];
        head[..8].copy_from_slice(MAGIC);
        head[8..16].copy_from_slice(&self.print.to_le_bytes());
        head[16..20].copy_from_slice(&self.generation.to_le_bytes());
        head[20..24].copy_from_slice(&self.rank.to_le_bytes());
        head[24..28].copy_from_slice(&self.words.to_le_bytes());
        let checksum = crc32fast::hash(&head[..28]);
        head[28..].copy_from_slice(&checksum.to_le_bytes());
        head
    }
}

/// A file that is written.
pub(super) struct LevelWriter {
    path: PathBuf,
    label: Label,
    /// Made with the first block.
    file: Option<File>,
    buffer: Vec<u8>,
    heads: crc32fast::Hasher,
    so_far: SavedFile,
}

impl LevelWriter {
    pub(super) fn new(dir: &Path, label: Label) -> Self {
        let so_far = SavedFile {
            name: label.name(),
            generation: label.generation,
            rank: label.rank,
            ..SavedFile::default()
        };
        LevelWriter {
            path: dir.join(label.name()),
            label,
            file: None,
            buffer: Vec::new(),
            heads: crc32fast::Hasher::new(),
            so_far,
        }
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::disk(format_args!("{}: {error}", self.path.display()))
    }

    /// Appends a run of states of a level.
    pub(super) fn append(&mut self, level: u64, states: u32, content: &[u8]) -> Result<()> {
        if self.file.is_none() {
            // What a killed run of the same generation has left does not count.
            let file = OpenOptions::new().write(true).create(true).truncate(true).open(&self.path);
            self.file = Some(file.map_err(|e| self.failed(e))?);
            self.buffer.extend(self.label.head());
            self.so_far.bytes = FILE_HEAD as u64;
            self.so_far.first = level;
        }
        let length = u32::try_from(content.len()).map_err(|_| Error::internal("a run is too long"))?;
        let mut head = [0; BLOCK_HEAD];
        head[..8].copy_from_slice(&level.to_le_bytes());
        head[8..12].copy_from_slice(&states.to_le_bytes());
        head[12..16].copy_from_slice(&length.to_le_bytes());
        head[16..20].copy_from_slice(&crc32fast::hash(content).to_le_bytes());
        let checksum = crc32fast::hash(&head[..20]);
        head[20..].copy_from_slice(&checksum.to_le_bytes());
        self.heads.update(&head);
        self.buffer.extend(head);
        self.buffer.extend(content);
        self.so_far.last = level;
        self.so_far.bytes += (BLOCK_HEAD + content.len()) as u64;
        self.so_far.blocks += 1;
        self.so_far.states += u64::from(states);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(file) = &mut self.file {
            let written = file.write_all(&self.buffer);
            self.buffer.clear();
            written.map_err(|e| self.failed(e))?;
        }
        Ok(())
    }

    /// Makes everything that was appended survive a crash of process or machine; what of the file counts then.
    pub(super) fn sync(&mut self) -> Result<SavedFile> {
        self.flush()?;
        if let Some(file) = &self.file {
            file.sync_data().map_err(|e| self.failed(e))?;
        }
        Ok(SavedFile { heads: self.heads.clone().finalize(), ..self.so_far.clone() })
    }
}

/// Appends the bytes of some states, which are put in order.
pub(super) fn encode<W: Width>(width: W, layout: &Layout, states: &mut [u64], out: &mut Vec<u8>) {
    layout.sort(width, states);
    code::encode(width, layout, states, out);
}

/// The head of a block.
#[derive(Clone, Copy)]
struct BlockHead {
    level: u64,
    states: u32,
    bytes: u32,
    checksum: u32,
}

/// The content of a block as it is on disk.
#[derive(Default)]
pub(in crate::engine::search) struct Block {
    states: usize,
    bytes: Vec<u8>,
    path: PathBuf,
}

impl Block {
    /// Its states.
    pub(in crate::engine::search) fn decode<W: Width>(
        &self,
        width: W,
        layout: &Layout,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let key = vec![0; width.words()];
        let mut decoder = Decoder::new(width, layout, &key, &self.bytes, self.states);
        let damaged = |_| damaged(&self.path, "a run of states ends too early");
        decoder.read(self.states, out).map(drop).map_err(damaged)
    }
}

/// What is said of a file that is not as it was written.
fn damaged(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::input(format_args!(
        "the checkpoint cannot be resumed: {} is damaged: {what}; put the file back as it was, or begin again in another \
         directory",
        path.display()
    ))
}

/// A file that is read, from front to back.
pub(super) struct LevelReader {
    path: PathBuf,
    reader: BufReader<File>,
    saved: SavedFile,
    /// Of the part that counts.
    bytes_left: u64,
    blocks_left: u64,
    states_left: u64,
    heads: crc32fast::Hasher,
    next: Option<BlockHead>,
    /// The blocks whose number has this remainder are read, the others passed over.
    part: (u64, u64),
    number: u64,
}

impl LevelReader {
    /// Opens a file. Of its blocks every `part.1`-th is read.
    pub(super) fn open(dir: &Path, saved: &SavedFile, label: Label, part: (u64, u64)) -> Result<Self> {
        let path = dir.join(&saved.name);
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = match opened {
            Ok(opened) => opened,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Error::input(format_args!(
                    "the checkpoint cannot be resumed: {} is missing; put it back, name a directory that all ranks see, or \
                     begin again in another directory",
                    path.display()
                )));
            }
            Err(e) => return Err(Error::disk(format_args!("{}: {e}", path.display()))),
        };
        if length < saved.bytes {
            let what = format!("it has {length} bytes and had {}", saved.bytes);
            return Err(damaged(&path, what));
        }
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut head = [0; FILE_HEAD];
        reader.read_exact(&mut head).map_err(|e| damaged(&path, e))?;
        if crc32fast::hash(&head[..28]).to_le_bytes() != head[28..] || &head[..8] != MAGIC {
            return Err(damaged(&path, "its first bytes are not those of a file of a checkpoint"));
        }
        if head != label.head() {
            return Err(Error::input(format_args!(
                "the checkpoint cannot be resumed: {} is a file of another checkpoint; put the right one back, or begin again \
                 in another directory",
                path.display()
            )));
        }
        let mut reader = LevelReader {
            path,
            reader,
            bytes_left: saved.bytes.saturating_sub(FILE_HEAD as u64),
            blocks_left: saved.blocks,
            states_left: saved.states,
            heads: crc32fast::Hasher::new(),
            saved: saved.clone(),
            next: None,
            part,
            number: 0,
        };
        reader.advance()?;
        Ok(reader)
    }

    fn damaged(&self, what: impl std::fmt::Display) -> Error {
        damaged(&self.path, what)
    }

    /// Reads the head of the next block, or looks whether everything was there.
    fn advance(&mut self) -> Result<()> {
        self.next = None;
        if self.blocks_left == 0 {
            let heads = std::mem::take(&mut self.heads).finalize();
            let SavedFile { heads: expected, .. } = self.saved;
            if self.bytes_left != 0 || self.states_left != 0 || heads != expected {
                return Err(self.damaged("its blocks are not those that were written"));
            }
            return Ok(());
        }
        let mut head = [0; BLOCK_HEAD];
        self.take(&mut head)?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if crc32fast::hash(&head[..20]) != word(20) {
            return Err(self.damaged(format_args!("block {} has another checksum", self.number)));
        }
        let level = u64::from(word(0)) | u64::from(word(4)) << 32;
        let block = BlockHead { level, states: word(8), bytes: word(12), checksum: word(16) };
        // Half a byte for each number at least.
        let fits = u64::from(block.states) <= 2 * u64::from(block.bytes) + 1;
        if u64::from(block.bytes) > self.bytes_left || u64::from(block.states) > self.states_left || !fits {
            return Err(self.damaged(format_args!("block {} is longer than it can be", self.number)));
        }
        self.heads.update(&head);
        self.blocks_left -= 1;
        self.states_left -= u64::from(block.states);
        self.next = Some(block);
        Ok(())
    }

    fn take(&mut self, bytes: &mut [u8]) -> Result<()> {
        let left = self.bytes_left.checked_sub(bytes.len() as u64);
        self.bytes_left = left.ok_or_else(|| self.damaged("its blocks are longer than it is"))?;
        self.reader.read_exact(bytes).map_err(|e| self.damaged(e))
    }

    /// The level of the next block.
    pub(super) fn level(&self) -> Option<u64> {
        self.next.map(|block| block.level)
    }

    /// The next block that is to be read, if it is of this level.
    pub(super) fn read(&mut self, level: u64) -> Result<Option<Block>> {
        while let Some(head) = self.next.filter(|head| head.level == level) {
            let wanted = self.number % self.part.1 == self.part.0;
            let block = match wanted {
                true => {
                    let length = head.bytes as usize;
                    let mut bytes = vec![0; length + SLACK];
                    self.take(&mut bytes[..length])?;
                    if crc32fast::hash(&bytes[..length]) != head.checksum {
                        return Err(
                            self.damaged(format_args!("the states of block {} have changed", self.number))
                        );
                    }
                    Some(Block { states: head.states as usize, bytes, path: self.path.clone() })
                }
                false => {
                    let skipped = self.reader.seek_relative(i64::from(head.bytes));
                    skipped.map_err(|e| self.damaged(e))?;
                    self.bytes_left -= u64::from(head.bytes);
                    None
                }
            };
            self.number += 1;
            self.advance()?;
            if block.is_some() {
                return Ok(block);
            }
        }
        Ok(None)
    }
}
