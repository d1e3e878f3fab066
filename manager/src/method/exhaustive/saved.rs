//! The checkpoint of breadth-first search: a directory with the states of levels, and a manifest with the parts of them that
//! count.
//!
//! The search writes the states (see `lts/engine/search/saved`). This module writes the manifest, which is renamed into its
//! place once all data that it lists is on disk, and the journal that all checkpoints have: it locks the directory, and has
//! the identity of the run and a record of each checkpoint, for `status`. Rank 0 writes both; the other ranks only read the
//! manifest.
//!
//! Invariant: a manifest is whole and of this run, or it is refused with the name of its file.

use super::super::quantities::count;
use super::ranks::{self, RankFields};
use crate::fingerprint::{fingerprint, tables_made};
use crate::grid::journal::{Batch, Identity, Journal, Tally};
use crate::method::{Bound, Checkpoint, Host, Row, Run, StatusPage, checkpoint};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::whole_file::write_whole;
use gridlock_lts::engine::search::{self, Keeper, RankStats, Saved, Stats};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The file of the manifest.
const MANIFEST: &str = "manifest.json";
/// The beginning of its first line; the checksum of the rest follows.
const FIRST: &str = "GRIDLOCK CHECKPOINT 1 ";
/// The name of the figures in the page of a checkpoint.
const NUMBERS: &str = "levels";
/// The default time between two checkpoints.
pub(super) const EVERY: Duration = Duration::from_secs(300);
/// Time between two pages with the progress of the run.
const BETWEEN_PAGES: Duration = Duration::from_secs(2);

/// A manifest.
#[derive(Serialize, Deserialize)]
struct Manifest {
    identity: Identity,
    saved: Saved,
}

impl Manifest {
    fn bytes(&self) -> Vec<u8> {
        // Numbers and texts can always be written.
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        format!("{FIRST}{:08x}\n{text}\n", crc32fast::hash(text.as_bytes())).into_bytes()
    }

    /// The manifest in a directory, if there is one. It must be of the run with this identity.
    fn read(dir: &Path, identity: &Identity) -> Result<Option<Saved>> {
        let path = dir.join(MANIFEST);
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::disk(format_args!("cannot read {}: {e}", path.display()))),
        };
        let read = || -> Option<Manifest> {
            let (first, rest) = text.split_once('\n')?;
            let checksum = u32::from_str_radix(first.strip_prefix(FIRST)?, 16).ok()?;
            let rest = rest.strip_suffix('\n')?;
            (crc32fast::hash(rest.as_bytes()) == checksum).then(|| serde_json::from_str(rest).ok())?
        };
        let Manifest { identity: theirs, saved } = read().ok_or_else(|| {
            Error::input(format_args!(
                "the checkpoint cannot be resumed: {} is damaged, or of another version; put it back as it was, or begin again \
                 in another directory",
                path.display()
            ))
        })?;
        match theirs == *identity {
            true => Ok(Some(saved)),
            false => Err(Error::input(format_args!(
                "the checkpoint cannot be resumed: {} is of another run than the journal beside it; put the right one back, or \
                 begin again in another directory",
                path.display()
            ))),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The checkpoints that a run has written.
#[derive(Clone, Copy, Debug, Default)]
struct Book {
    /// Checkpoints of this run.
    written: u64,
    /// States in the last one, and their depth.
    states: u64,
    depth: u64,
    /// Time of the search when it was written.
    at: Duration,
    /// The time when the page was written.
    told: Option<Instant>,
    /// The last figures.
    stats: [u64; 4],
    /// States that this run began with.
    resumed: u64,
}

/// The checkpoint of a run.
pub(super) struct LevelCheckpoint<'a> {
    dir: PathBuf,
    identity: Identity,
    every: Duration,
    resume: Option<Saved>,
    /// On rank 0.
    journal: Option<Mutex<Journal<()>>>,
    page: StatusPage,
    begun: Instant,
    book: Mutex<Book>,
    /// The work of each rank up to the last level.
    ranks: Mutex<Vec<RankStats>>,
    lost: Mutex<Option<Error>>,
    host: &'a dyn Host,
}

impl<'a> LevelCheckpoint<'a> {
    /// Opens the checkpoint that the flags name, if they name one, for a search with this reduction.
    pub(super) fn open(
        flags: &Checkpoint,
        every: Option<Duration>,
        run: &Run<'a>,
        reduction: &str,
    ) -> Result<Option<Self>> {
        let Some(dir) = flags.checkpoint.clone() else { return Ok(None) };
        let identity = run.identity(
            super::NAME,
            [("reduction", reduction.to_owned()), ("tables made", tables_made(&run.tables().network))],
        );
        let mut page = StatusPage::new(&run.file, run.threads * run.peers.size() as usize, &identity);
        let mut journal = None;
        let resume;
        if run.peers.is_worker() {
            resume = if flags.resume { Manifest::read(&dir, &identity)? } else { None };
        } else {
            let opened = Journal::open(&dir, &identity, flags.resume).map_err(checkpoint::cannot_use)?;
            resume = if flags.resume { Manifest::read(&dir, &identity)? } else { None };
            page.resumed = opened.1.len();
            if resume.is_none() && page.resumed > 0 {
                return Err(Error::input(format_args!(
                    "the checkpoint cannot be resumed: {} is missing; put it back, or begin again in another directory",
                    dir.join(MANIFEST).display()
                )));
            }
            checkpoint::forget_result(&dir)?;
            journal = Some(Mutex::new(opened.0));
        }
        let (states, depth) = resume.as_ref().map_or((0, 0), |saved| (saved.states, saved.depth));
        Ok(Some(LevelCheckpoint {
            dir,
            identity,
            every: every.unwrap_or(EVERY),
            resume,
            journal,
            page,
            begun: Instant::now(),
            book: Mutex::new(Book { states, depth, resumed: states, ..Book::default() }),
            ranks: Mutex::default(),
            lost: Mutex::default(),
            host: run.host,
        }))
    }

    /// For the search.
    pub(super) fn checkpoint(&self) -> search::Checkpoint<'_> {
        let names: Vec<String> =
            self.identity.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let print = fingerprint(&names.join("\n"));
        search::Checkpoint {
            dir: &self.dir,
            // As many digits as fit.
            print: u64::from_str_radix(&print[..16], 16).unwrap_or_default(),
            resume: self.resume.as_ref(),
            every: self.every,
            keeper: self,
        }
    }

    /// Writes the page with the progress of the search from time to time.
    pub(super) fn tell(&self, stats: &Stats) {
        let mut book = lock(&self.book);
        book.stats = [stats.states, stats.transitions, stats.depth, stats.frontier];
        if book.told.is_none_or(|told| told.elapsed() >= BETWEEN_PAGES) {
            book.told = Some(Instant::now());
            self.write_page(*book);
        }
    }

    fn write_page(&self, book: Book) {
        if let Some(journal) = &self.journal {
            let time = self.begun.elapsed();
            let numbers = LevelNumbers::new(book, time, ranks::fields(&lock(&self.ranks)));
            lock(journal).tell(&self.page.bytes(time, NUMBERS, &numbers));
        }
    }

    /// The summary at the end.
    pub(super) fn end(&self, stats: &Stats) -> LevelEnd {
        let mut book = *lock(&self.book);
        book.stats = [stats.states, stats.transitions, stats.depth, stats.frontier];
        self.write_page(book);
        LevelEnd {
            dir: self.dir.display().to_string(),
            resumed: self.resume.as_ref().map(|saved| (saved.depth, saved.states)),
            kept: (book.states > 0).then_some((book.depth, book.states)),
            lost: lock(&self.lost).clone(),
        }
    }
}

impl Keeper for LevelCheckpoint<'_> {
    fn tell(&self, ranks: Vec<RankStats>) {
        *lock(&self.ranks) = ranks;
    }

    fn commit(&self, saved: &Saved) -> Result<()> {
        let manifest = Manifest { identity: self.identity.clone(), saved: saved.clone() };
        write_whole(&self.dir.join(MANIFEST), |out| out.write_all(&manifest.bytes())).map_err(Error::disk)?;
        let mut book = lock(&self.book);
        let now = self.begun.elapsed();
        let tally = Tally {
            states: saved.states - book.states.min(saved.states),
            nanoseconds: u64::try_from((now - book.at.min(now)).as_nanos()).unwrap_or(u64::MAX),
        };
        *book =
            Book { written: book.written + 1, states: saved.states, depth: saved.depth, at: now, ..*book };
        if let Some(journal) = &self.journal {
            let mut batch = Batch::default();
            batch.add(tally, &())?;
            lock(journal).write(batch).map_err(checkpoint::cannot_use)?;
        }
        self.write_page(*book);
        Ok(())
    }

    fn lost(&self, why: &Error) {
        lock(&self.lost).get_or_insert_with(|| why.clone());
        if self.journal.is_some() {
            self.host.note(&format!(
                "warning: the checkpoint cannot be written any more: {why}; the search goes on without, and --resume continues \
                 from the one before"
            ));
        }
    }
}

/// The summary of a checkpoint when a search is over.
#[derive(Clone, Debug)]
pub(super) struct LevelEnd {
    dir: String,
    /// Depth and states of the checkpoint that was resumed.
    resumed: Option<(u64, u64)>,
    /// Depth and states of the checkpoint that can be resumed now.
    kept: Option<(u64, u64)>,
    /// Why the checkpoint could not be written.
    lost: Option<Error>,
}

/// The checkpoint in the JSON result.
#[derive(Serialize)]
pub(super) struct EndFields<'a> {
    directory: &'a str,
    resumed_depth: Option<u64>,
    resumed_states: u64,
    kept_depth: Option<u64>,
    kept_states: u64,
    lost: Option<String>,
}

impl LevelEnd {
    /// A row for people.
    pub(super) fn row(&self) -> Row {
        let resumed = match self.resumed {
            Some((depth, states)) => {
                format!("resumed at depth {} with {} states", count(depth), count(states))
            }
            None => "begun anew".to_owned(),
        };
        let kept = match self.kept {
            Some((depth, states)) => format!("has {} states up to depth {}", count(states), count(depth)),
            None => "has nothing yet".to_owned(),
        };
        ("checkpoint", format!("{}, {resumed}; {kept}", self.dir))
    }

    pub(super) fn fields(&self) -> EndFields<'_> {
        EndFields {
            directory: &self.dir,
            resumed_depth: self.resumed.map(|(depth, _)| depth),
            resumed_states: self.resumed.map_or(0, |(_, states)| states),
            kept_depth: self.kept.map(|(depth, _)| depth),
            kept_states: self.kept.map_or(0, |(_, states)| states),
            lost: self.lost.as_ref().map(Error::to_string),
        }
    }
}

/// The bound that a limit means for a breadth-first search, with a hint for the user.
pub(super) fn bound(limit: Limit, end: Option<&LevelEnd>, on_ranks: bool) -> Bound {
    let mut bound = Bound::from(limit);
    let memory = matches!(limit, Limit::Memory(_));
    if memory {
        let ranks = if on_ranks { "more ranks" } else { "ranks on more machines (mpirun)" };
        bound.message += &format!("; {ranks}, --reduce on, or slices (--search isv) may be enough");
    }
    let Some(end) = end else { return bound };
    if let Some(why) = &end.lost {
        bound.message += &format!("; the checkpoint could not be written to the end: {why}");
        bound.checkpoint_lost = true;
    }
    let bound = bound.resumable(end.kept.is_some());
    if memory && end.kept.is_some() { bound.of_kind("memory, resumable") } else { bound }
}

/// The progress of a breadth-first search, for the page in its checkpoint.
#[derive(Serialize, Deserialize)]
pub(super) struct LevelNumbers {
    states: u64,
    transitions: u64,
    depth: u64,
    frontier: u64,
    checkpoints: u64,
    kept_states: u64,
    kept_depth: u64,
    /// States a second of this run.
    #[serde(default)]
    rate: f64,
    /// The ranks after the last level; empty for a run on one machine.
    #[serde(default)]
    ranks: Vec<RankFields>,
}

impl LevelNumbers {
    fn new(book: Book, time: Duration, ranks: Vec<RankFields>) -> Self {
        let [states, transitions, depth, frontier] = book.stats;
        let Book { written: checkpoints, states: kept_states, depth: kept_depth, resumed, .. } = book;
        let rate = states.saturating_sub(resumed) as f64 / time.as_secs_f64().max(0.001);
        LevelNumbers {
            states,
            transitions,
            depth,
            frontier,
            checkpoints,
            kept_states,
            kept_depth,
            rate,
            ranks,
        }
    }

    fn rows(&self, time: Duration) -> Vec<Row> {
        let mut rows = vec![
            ("states", format!("{}, {} waiting", count(self.states), count(self.frontier))),
            ("rate", format!("{} states/s", count(self.rate as u64))),
            ("transitions", count(self.transitions)),
            ("depth", count(self.depth)),
        ];
        let stats: Vec<RankStats> = self.ranks.iter().map(RankFields::stats).collect();
        // Of the steps of all ranks after the last level, since those of the level are not all sent yet.
        let transitions = stats.iter().map(|rank| rank.transitions).sum();
        rows.extend(ranks::rows(&stats, &Stats { transitions, time, ..Stats::default() }));
        rows.extend(stats.iter().enumerate().map(ranks::row));
        let kept = format!("{} states up to depth {}", count(self.kept_states), count(self.kept_depth));
        rows.push(("checkpoint", kept));
        rows
    }
}

/// The rows of `status`.
pub(super) fn status(page: &StatusPage) -> Vec<Row> {
    // A page that another version wrote may have any number there.
    let time = Duration::try_from_secs_f64(page.seconds).unwrap_or_default();
    page.figures::<LevelNumbers>(NUMBERS).map_or(Vec::new(), |numbers| numbers.rows(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::rng::Rng;
    use gridlock_lts::samples::synthetic;

    #[test]
    fn a_manifest_is_whole_and_of_this_run_or_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let identity: Identity = vec![("method".to_owned(), "bfs".to_owned())];
        assert!(matches!(Manifest::read(dir.path(), &identity), Ok(None)));
        let saved = Saved { states: 7, depth: 3, ..Saved::default() };
        let bytes = Manifest { identity: identity.clone(), saved: saved.clone() }.bytes();
        let path = dir.path().join(MANIFEST);
        std::fs::write(&path, &bytes).expect("written");
        assert_eq!(Manifest::read(dir.path(), &identity), Ok(Some(saved)));
        let other = vec![("method".to_owned(), "dfs".to_owned())];
        let why = Manifest::read(dir.path(), &other).expect_err("another run").to_string();
        assert!(why.contains("manifest.json is of another run"), "{why}");
        let rng = &mut Rng::new(4);
        for _ in 0..500 {
            let mut changed = bytes.clone();
            match rng.percent(30) {
                true => changed.truncate(rng.below(bytes.len())),
                false => changed[rng.below(bytes.len())] ^= 1 << rng.below(8),
            }
            std::fs::write(&path, &changed).expect("written");
            let read = Manifest::read(dir.path(), &identity);
            // A letter of the checksum may be written large.
            let same =
                String::from_utf8_lossy(&changed).eq_ignore_ascii_case(&String::from_utf8_lossy(&bytes));
            let why = match read {
                Ok(Some(_)) if same => continue,
                read => read.expect_err("it is damaged").to_string(),
            };
            assert!(why.contains("manifest.json is damaged"), "{why}");
        }
    }

    #[test]
    fn other_tables_have_another_name() {
        let net = synthetic::philosophers(4);
        let mut other = net.clone();
        assert_eq!(tables_made(&net), tables_made(&other));
        other.leaves[2].states[1].moves[0].1.0 ^= 1;
        assert_ne!(tables_made(&net), tables_made(&other));
        let mut other = net.clone();
        other.vectors.swap(0, 1);
        assert_ne!(tables_made(&net), tables_made(&other));
    }
}
