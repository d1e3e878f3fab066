//! Checkpoints of breadth-first search.
//!
//! At the end of each level every rank appends the new states that it owns to a file of its own, as runs ([`file`]). Now and
//! then, and when a limit or a signal ends the search, all ranks make sure that their files are on disk, and then rank 0
//! has a [`Saved`] written in the place of the one before: which files there are, how much of each counts, and what had been
//! counted until then. So a kill at any moment loses what came after the last one and nothing else.
//!
//! A resumed search reads level by level, sends each state to its present owner, with its depth, and goes on with the last
//! level. Tables that are filled on demand are filled as the first time, level by level. Since breadth-first search depends
//! on nothing but the visited states, their depths and the level, everything is then as if it had never been interrupted,
//! for any number of ranks and threads.
//!
//! Invariant: files are only added to. If something cannot be written, the search goes on without a checkpoint, and the last
//! one stays as it is.

mod file;
#[cfg(test)]
mod tests;

use super::RankStats;
use super::bfs::Chunk;
use super::owned::agree;
use crate::base::error::{Error, Result};
use crate::engine::mesh::Mesh;
use crate::engine::pack::Width;
use crate::engine::runs::layout::Layout;
use file::{Label, LevelReader, LevelWriter};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) use file::Block;

/// Where a search keeps its levels, and which checkpoint it resumes.
#[derive(Clone, Copy)]
pub struct Checkpoint<'a> {
    /// The directory, which is there. All ranks must see the same.
    pub dir: &'a Path,
    /// A number for the run: files of runs with another are refused.
    pub print: u64,
    /// The checkpoint to resume.
    pub resume: Option<&'a Saved>,
    /// How much time may pass between two checkpoints.
    pub every: Duration,
    /// Records the checkpoints.
    pub keeper: &'a dyn Keeper,
}

/// Maintains the one file that says which data counts.
pub trait Keeper: Sync {
    /// Everything that this speaks of is on disk: writes it in the place of the one before, whole or not at all. Is called
    /// on rank 0.
    fn commit(&self, saved: &Saved) -> Result<()>;

    /// Nothing can be written any more, and the search goes on. Is called on every rank.
    fn lost(&self, why: &Error);

    /// What each rank has done so far, after a level. Is called on every rank.
    fn tell(&self, ranks: Vec<RankStats>);
}

/// A checkpoint: the files that belong to it, and what had been counted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Saved {
    /// Words of a state.
    pub words: u32,
    /// The depth of the last level, whose states are not expanded yet.
    pub depth: u64,
    /// States of that level.
    pub frontier: u64,
    /// All states.
    pub states: u64,
    /// Steps of the states that were expanded.
    pub transitions: u64,
    /// Those of them without steps.
    pub deadlocks: u64,
    /// How often the search has been begun or resumed.
    pub generation: u32,
    /// The files with the states, those of each generation together.
    pub files: Vec<SavedFile>,
}

impl Saved {
    /// A number that differs for different ones.
    fn print(&self) -> u64 {
        let mut print = crc32fast::Hasher::new();
        for number in [self.depth, self.frontier, self.states, self.transitions, self.deadlocks] {
            print.update(&number.to_le_bytes());
        }
        for file in &self.files {
            print.update(&file.bytes.to_le_bytes());
            print.update(&file.heads.to_le_bytes());
        }
        u64::from(print.finalize()) | u64::from(self.generation) << 32
    }
}

/// A file of a checkpoint, as far as it counts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SavedFile {
    /// Its name in the directory.
    pub name: String,
    /// When the search was begun or resumed by which it was written.
    pub generation: u32,
    /// The rank that wrote it.
    pub rank: u32,
    /// The first level in it.
    pub first: u64,
    /// The last level in it.
    pub last: u64,
    /// Bytes that count.
    pub bytes: u64,
    /// Runs of states.
    pub blocks: u64,
    /// States.
    pub states: u64,
    /// The checksum of the heads of all runs.
    pub heads: u32,
}

/// What had been counted by all ranks when a level began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Totals {
    pub(super) depth: u64,
    pub(super) frontier: u64,
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) deadlocks: u64,
}

/// Writes the levels of one rank; does nothing if no checkpoint is wanted, or none can be written any more.
pub(super) struct Saver<'a, W> {
    checkpoint: Option<&'a Checkpoint<'a>>,
    width: W,
    layout: Layout,
    threads: usize,
    writer: Mutex<LevelWriter>,
    generation: u32,
    totals: Totals,
    /// What went wrong here.
    failed: Option<Error>,
    last: Instant,
    /// Whether there is something that no checkpoint has.
    news: bool,
}

/// Fewer runs than this are written by one thread.
const FEW_RUNS: usize = 8;

impl<'a, W: Width> Saver<'a, W> {
    pub(super) fn new(
        checkpoint: Option<&'a Checkpoint<'a>>,
        width: W,
        threads: usize,
        mesh: &dyn Mesh,
    ) -> Self {
        let generation =
            checkpoint.and_then(|c| c.resume).map_or(1, |saved| saved.generation.saturating_add(1));
        let label = Label {
            print: checkpoint.map_or(0, |c| c.print),
            generation,
            rank: mesh.rank() as u32,
            words: width.words() as u32,
        };
        let writer = LevelWriter::new(checkpoint.map_or(Path::new(""), |c| c.dir), label);
        Saver {
            checkpoint,
            width,
            layout: Layout::new(&vec![0; width.words()]),
            threads: threads.max(1),
            writer: Mutex::new(writer),
            generation,
            totals: Totals::default(),
            failed: None,
            last: Instant::now(),
            news: false,
        }
    }

    /// Keeps the states of a level that this rank owns. They need not be on disk when this returns.
    pub(super) fn keep(&mut self, totals: Totals, level: &[Chunk]) {
        if self.checkpoint.is_none() {
            return;
        }
        self.totals = totals;
        self.news = true;
        if self.failed.is_some() {
            return;
        }
        let next = AtomicUsize::new(0);
        let this = &*self;
        let write = || -> Result<()> {
            let (mut states, mut bytes) = (Vec::new(), Vec::new());
            while let Some(chunk) = level.get(next.fetch_add(1, Relaxed)) {
                if chunk.states.is_empty() {
                    continue;
                }
                states.clear();
                states.extend_from_slice(&chunk.states);
                bytes.clear();
                file::encode(this.width, &this.layout, &mut states, &mut bytes);
                let count = (states.len() / this.width.words()) as u32;
                let mut writer = this.writer.lock().unwrap_or_else(PoisonError::into_inner);
                writer.append(totals.depth, count, &bytes)?;
            }
            Ok(())
        };
        let threads = if level.len() < FEW_RUNS { 1 } else { self.threads };
        let written = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(write)).collect();
            let mine = write();
            let join = |other: std::thread::ScopedJoinHandle<'_, _>| {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            others.into_iter().map(join).fold(mine, Result::and)
        });
        self.failed = written.err();
    }

    /// Tells what the ranks have done.
    pub(super) fn tell(&self, ranks: impl FnOnce() -> Vec<RankStats>) {
        if let Some(checkpoint) = self.checkpoint {
            checkpoint.keeper.tell(ranks());
        }
    }

    /// Takes note of what a checkpoint has already.
    pub(super) fn resumed(&mut self, totals: Totals) {
        self.totals = totals;
    }

    /// Whether it is time for a checkpoint.
    pub(super) fn is_due(&self) -> bool {
        self.checkpoint.is_some_and(|checkpoint| self.news && self.last.elapsed() >= checkpoint.every)
    }

    /// All ranks together: makes what was kept survive.
    pub(super) fn commit(&mut self, mesh: &mut dyn Mesh) {
        let Some(checkpoint) = self.checkpoint.filter(|_| self.news) else { return };
        self.news = false;
        match self.try_commit(checkpoint, mesh) {
            Ok(()) => self.last = Instant::now(),
            Err(why) => {
                // What was lost is not in memory any more.
                self.checkpoint = None;
                checkpoint.keeper.lost(&why);
            }
        }
    }

    fn try_commit(&mut self, checkpoint: &Checkpoint, mesh: &mut dyn Mesh) -> Result<()> {
        let synced = match self.failed.take() {
            Some(error) => Err(error),
            None => self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).sync(),
        };
        let own = agree(mesh, synced)?;
        let said = [own.first, own.last, own.bytes, own.blocks, own.states, u64::from(own.heads)];
        let all = mesh.share(&said, &mut || false);
        let words = self.width.words() as u32;
        let written = (0..).zip(all.chunks_exact(said.len())).filter(|(_, said)| said[3] > 0);
        let file = |(rank, said): (u32, &[u64])| {
            let name = Label { print: 0, generation: self.generation, rank, words }.name();
            let [first, last, bytes, blocks, states] = [said[0], said[1], said[2], said[3], said[4]];
            let (generation, heads) = (self.generation, said[5] as u32);
            SavedFile { name, generation, rank, first, last, bytes, blocks, states, heads }
        };
        let mut files = checkpoint.resume.map_or(Vec::new(), |saved| saved.files.clone());
        files.extend(written.map(file));
        let Totals { depth, frontier, states, transitions, deadlocks } = self.totals;
        let generation = self.generation;
        let saved = Saved { words, depth, frontier, states, transitions, deadlocks, generation, files };
        let committed = match mesh.rank() {
            0 => are_seen(checkpoint.dir, &saved, generation).and_then(|()| checkpoint.keeper.commit(&saved)),
            _ => Ok(()),
        };
        agree(mesh, committed)
    }
}

/// An error if this process does not see the files that all ranks have written.
fn are_seen(dir: &Path, saved: &Saved, generation: u32) -> Result<()> {
    for file in saved.files.iter().filter(|file| file.generation == generation) {
        let path = dir.join(&file.name);
        let length = std::fs::metadata(&path).map(|data| data.len());
        if !length.as_ref().is_ok_and(|&length| length >= file.bytes) {
            return Err(Error::disk(format_args!(
                "rank {} has written {}, and rank 0 does not see it: the directory of a checkpoint must be on a file system \
                 that all ranks share",
                file.rank,
                path.display()
            )));
        }
    }
    Ok(())
}

/// All ranks together: an error unless they resume the same.
pub(super) fn check_same(checkpoint: Option<&Checkpoint>, mesh: &mut dyn Mesh) -> Result<()> {
    let Some(checkpoint) = checkpoint else { return Ok(()) };
    let own = checkpoint.resume.map_or(0, Saved::print);
    let all = mesh.share(&[own], &mut || false);
    match all.iter().position(|&theirs| theirs != all[0]) {
        None => Ok(()),
        Some(rank) => Err(Error::input(format_args!(
            "rank {rank} sees another checkpoint in {} than rank 0: it must be on a file system that all ranks share",
            checkpoint.dir.display()
        ))),
    }
}

/// What one of several ranks reads of a checkpoint, level by level.
pub(super) struct Source<'a> {
    checkpoint: &'a Checkpoint<'a>,
    saved: &'a Saved,
    /// The files that it reads, and the part of their runs.
    own: Vec<(&'a SavedFile, (u64, u64))>,
    open: Vec<LevelReader>,
    level: u64,
}

impl<'a> Source<'a> {
    pub(super) fn new(checkpoint: &'a Checkpoint<'a>, saved: &'a Saved, mesh: &dyn Mesh) -> Self {
        let (rank, ranks) = (mesh.rank(), mesh.size());
        let mut own = Vec::new();
        let mut rest = &saved.files[..];
        while let Some(first) = rest.first() {
            let count = rest.iter().take_while(|file| file.generation == first.generation).count();
            let (these, later) = rest.split_at(count);
            rest = later;
            for (k, file) in these.iter().enumerate() {
                if count >= ranks {
                    // Every file has one reader.
                    if k % ranks == rank {
                        own.push((file, (0, 1)));
                    }
                } else if rank % count == k {
                    // Several readers for each, and each of them has a part of its runs.
                    let readers = (ranks - k).div_ceil(count);
                    own.push((file, ((rank / count) as u64, readers as u64)));
                }
            }
        }
        Source { checkpoint, saved, own, open: Vec::new(), level: 0 }
    }

    /// Begins with a level; they must come one after the other.
    pub(super) fn begin(&mut self, level: u64, words: usize) -> Result<()> {
        self.level = level;
        if let Some(late) = self.open.iter().find(|reader| reader.level().is_some_and(|next| next < level)) {
            return Err(Error::input(format_args!(
                "the checkpoint in {} cannot be resumed: states of depth {} come too late; begin again in another directory",
                self.checkpoint.dir.display(),
                late.level().unwrap_or_default()
            )));
        }
        self.open.retain(|reader| reader.level().is_some());
        let print = self.checkpoint.print;
        for &(file, part) in self.own.iter().filter(|(file, _)| file.first == level) {
            let label = Label { print, generation: file.generation, rank: file.rank, words: words as u32 };
            self.open.push(LevelReader::open(self.checkpoint.dir, file, label, part)?);
        }
        Ok(())
    }

    /// The next run of the level.
    pub(super) fn next(&mut self) -> Result<Option<Block>> {
        while let Some(reader) = self.open.last_mut() {
            if let Some(block) = reader.read(self.level)? {
                return Ok(Some(block));
            }
            // Nothing more of this level here.
            match self.open.iter().rposition(|reader| reader.level() == Some(self.level)) {
                Some(other) => {
                    let last = self.open.len() - 1;
                    self.open.swap(other, last);
                }
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Whether nothing is left, after the last level.
    pub(super) fn is_over(&self) -> bool {
        self.open.iter().all(|reader| reader.level().is_none())
    }

    /// What the checkpoint says.
    pub(super) fn saved(&self) -> &'a Saved {
        self.saved
    }

    /// For people.
    pub(super) fn place(&self) -> PathBuf {
        self.checkpoint.dir.to_owned()
    }
}
