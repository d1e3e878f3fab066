//! The checkpoint of a search by slices: the journal, and beside it a file of results for each rank that had slices.
//!
//! A single process writes its results into the journal itself. On ranks, each rank that has slices writes its results into a
//! part, and the journal of rank 0 only records that they exist. A list names the parts; it replaces the one before once all
//! parts are begun. Every run adds parts, and no part is changed later.
//!
//! Invariant: results are a function of the slice and the partition, so a missing result is computed again, and two results
//! of one activation are equal. So any number of ranks or threads may resume the run of any other number.

use super::ranks::Ranks;
use super::rounds::Record;
use crate::grid::driver::Opened;
use crate::grid::journal::{Identity, Journal, Records};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::whole_file::write_whole;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The list of parts.
const LIST: &str = "parts.json";

/// A part: the results of a rank in one of the runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Part {
    /// The number of the run, from 1 on.
    run: u32,
    rank: u32,
}

impl Part {
    fn name(self) -> String {
        format!("results-{}-{}", self.run, self.rank)
    }
}

/// The parts in a directory.
fn read_list(dir: &Path) -> Result<Vec<Part>> {
    let path = dir.join(LIST);
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|why| {
            Error::input(format_args!(
                "the checkpoint cannot be resumed: {} is damaged ({why}); put it back as it was, or begin again in another \
                 directory",
                path.display()
            ))
        }),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(Error::disk(format_args!("cannot read {}: {e}", path.display()))),
    }
}

/// A checkpoint, with the files that this process writes and reads.
pub struct Kept {
    dir: PathBuf,
    pub(super) journal: Opened<Record>,
    pub(super) sources: Vec<Source>,
}

/// A file of results of earlier runs.
pub(super) struct Source {
    records: Records<Record>,
    next: Option<Record>,
    /// Whether it is the journal itself.
    main: bool,
}

impl Source {
    fn new(mut records: Records<Record>, main: bool) -> Result<Self> {
        let next = records.next()?;
        Ok(Source { records, next, main })
    }

    /// The next result up to a round, if there is one; records without a result are skipped.
    pub(super) fn up_to(&mut self, round: u32) -> Result<Option<Record>> {
        while let Some(record) = self.next.take_if(|record| record.done.is_none() || record.round <= round) {
            self.next = self.records.next()?;
            if record.done.is_some() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// After the last complete round: an error if the file has a result that cannot be.
    pub(super) fn end(&self, over: bool) -> Result<()> {
        match &self.next {
            None => Ok(self.records.is_whole()?),
            Some(_) if over => Err(unfit()),
            // The rank that wrote it had the results before it, and nobody has them any more.
            Some(record) if self.main => Err(Error::input(format_args!(
                "the checkpoint cannot be resumed: it has results of round {}, and earlier ones are missing, so that one of the \
                 files beside the journal is not as it was; put it back, or begin again in another directory",
                record.round
            ))),
            Some(_) => Ok(()),
        }
    }
}

/// The error of a checkpoint that is not of this search.
pub(super) fn unfit() -> Error {
    Error::input(
        "the checkpoint has results that this run does not ask for; begin again in another directory",
    )
}

impl Kept {
    /// The checkpoint of a single process, which has opened the journal of this run.
    pub fn alone(dir: &Path, identity: &Identity, resume: bool, opened: Opened<Record>) -> Result<Self> {
        let (journal, records) = opened;
        let mut sources = vec![Source::new(records, true)?];
        for part in if resume { read_list(dir)? } else { Vec::new() } {
            sources.push(Source::new(Records::of(dir, Some(&part.name()), identity)?, false)?);
        }
        Ok(Kept { dir: dir.to_owned(), journal: (journal, Records::none(dir)?), sources })
    }

    /// All ranks together: the checkpoint of each; rank 0 has opened the journal of this run.
    pub(super) fn join(
        dir: &Path,
        identity: &Identity,
        resume: bool,
        opened: Option<Opened<Record>>,
        ranks: &Ranks,
    ) -> Result<Self> {
        let before = ranks.agree(if resume { read_list(dir) } else { Ok(Vec::new()) })?;
        let all = ranks.share(&before)?;
        if let Some(rank) = all.iter().position(|theirs| *theirs != all[0]) {
            return Err(Error::input(format_args!(
                "rank {rank} sees another checkpoint in {} than rank 0: it must be on a file system that all ranks share",
                dir.display()
            )));
        }
        let run = 1 + before.iter().map(|part| part.run).max().unwrap_or(0);
        let me = ranks.rank();
        let journal = match opened {
            Some((journal, _)) => Ok(journal),
            None => {
                Journal::begin_part(dir, &Part { run, rank: me as u32 }.name(), identity).map_err(Error::from)
            }
        };
        let journal = ranks.agree(journal)?;
        let new = ranks.owners().map(|rank| Part { run, rank: rank as u32 });
        let list: Vec<Part> = before.iter().copied().chain(new.clone()).collect();
        ranks.agree(if me == 0 { write_list(dir, new, &list) } else { Ok(()) })?;
        let owners = ranks.owners();
        let sources = || -> Result<Vec<Source>> {
            let (mut sources, mut turn) = (Vec::new(), owners.clone().cycle());
            if turn.next() == Some(me) && resume {
                sources.push(Source::new(Records::of(dir, None, identity)?, true)?);
            }
            for part in before.iter().filter(|_| turn.next() == Some(me)) {
                sources.push(Source::new(Records::of(dir, Some(&part.name()), identity)?, false)?);
            }
            Ok(sources)
        };
        let sources = ranks.agree(sources())?;
        Ok(Kept { dir: dir.to_owned(), journal: (journal, Records::none(dir)?), sources })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn write_list(dir: &Path, new: impl Iterator<Item = Part>, list: &[Part]) -> Result<()> {
    for part in new {
        let path = dir.join(part.name());
        if !path.exists() {
            return Err(Error::input(format_args!(
                "rank {} has written {}, and rank 0 does not see it: the directory of a checkpoint must be on a file system \
                 that all ranks share",
                part.rank,
                path.display()
            )));
        }
    }
    // Numbers can always be written.
    let bytes = serde_json::to_vec(list).unwrap_or_default();
    write_whole(&dir.join(LIST), |out| out.write_all(&bytes)).map_err(Error::disk)
}
