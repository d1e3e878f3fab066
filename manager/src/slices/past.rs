//! The checkpoint of a search by slices: the result of every activation.
//!
//! The coordinator is a function of these results, so a search that is resumed takes them from the journal instead of
//! activating slices, and divides slices again as it did before. A result is written as soon as it is there; the disk is
//! asked to keep it once a round at most, since what a failure of the machine takes away can be computed again.
//! Invariant: results of a round stand together, in any order. They are read one at a time and put away like new ones, so
//! the journal may be larger than the memory.

use super::limits::Limits;
use crate::journal::{Journal, Records};
use gridlock_lts::base::error::{Error, Limit};
use gridlock_lts::base::hash::Set;
use gridlock_worker::slice::message::Done;
use gridlock_worker::slice::partition::SliceIx;
use gridlock_worker::slice::store::Store;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Between two times that the disk is asked to keep what was written.
const SYNC: Duration = Duration::from_secs(1);
/// How often the page of the journal is replaced.
const PAGE: Duration = Duration::from_secs(2);

/// The result of an activation.
#[derive(Serialize, Deserialize, Debug)]
pub struct Record {
    round: u32,
    slice: SliceIx,
    done: Done,
}

/// What a record begins with, for those who only count.
#[derive(Deserialize, Clone, Copy, Debug)]
pub struct Beginning {
    /// The round.
    pub round: u32,
    /// The slice.
    pub slice: SliceIx,
    /// States expanded.
    pub states: u64,
}

/// A journal and the results that were in it.
pub type Opened = (Journal<Record>, Records<Record>);

/// What was done before, and where what is done now is kept.
pub(super) struct Past {
    journal: Option<Journal<Record>>,
    records: Option<Records<Record>>,
    /// The first record that was read and does not belong to the round yet.
    next: Option<Record>,
    /// Results that were taken from the journal.
    pub(super) resumed: u64,
    /// Why the journal cannot be written.
    pub(super) failed: Option<String>,
    synced: Instant,
    paged: Option<Instant>,
}

impl Past {
    /// Nothing was done before; with a journal, what it says.
    pub(super) fn new(opened: Option<Opened>) -> Self {
        let (journal, records) = opened.unzip();
        Past { journal, records, next: None, resumed: 0, failed: None, synced: Instant::now(), paged: None }
    }

    /// The results of a round that are in the journal. Their slices are taken away from those of the round.
    pub(super) fn of_round(
        &mut self,
        round: u32,
        slices: &mut Vec<SliceIx>,
        store: &Store,
        limits: &Limits,
    ) -> Result<Vec<(SliceIx, Done)>, Error> {
        let (mut results, mut left) = (Vec::new(), None::<Set<SliceIx>>);
        while let Some(record) = self.read()? {
            if record.round != round {
                self.next = Some(record);
                break;
            }
            let Record { slice, done, .. } = record;
            if !left.get_or_insert_with(|| slices.iter().copied().collect()).remove(&slice) {
                return Err(unfit());
            }
            limits.add(done.states);
            results.push((slice, done.put_away(store)?));
            self.resumed += 1;
            limits.watch();
            if limits.stopped().is_some() {
                return Err(Error::Limit(Limit::Interrupted));
            }
        }
        if let Some(left) = left {
            slices.retain(|slice| left.contains(slice));
        }
        // A round that is not complete is the last one.
        if self.next.is_some() && !slices.is_empty() {
            return Err(unfit());
        }
        Ok(results)
    }

    fn read(&mut self) -> Result<Option<Record>, Error> {
        if let Some(record) = self.next.take() {
            return Ok(Some(record));
        }
        let Some(records) = &mut self.records else { return Ok(None) };
        let record = records.next().map_err(|trouble| Error::Input(trouble.to_string()))?;
        if record.is_none() {
            self.records = None;
        }
        Ok(record)
    }

    /// Keeps a result, and returns it.
    pub(super) fn keep(&mut self, round: u32, slice: SliceIx, done: Done) -> Result<Done, Error> {
        let Some(journal) = self.journal.as_mut().filter(|_| self.failed.is_none()) else { return Ok(done) };
        let record = Record { round, slice, done };
        match journal.write(&record) {
            Ok(()) => Ok(record.done),
            Err(trouble) => self.fail(trouble),
        }
    }

    /// To be called after each round.
    pub(super) fn end_round(&mut self) -> Result<(), Error> {
        match &mut self.journal {
            Some(journal) if self.synced.elapsed() >= SYNC && self.failed.is_none() => {
                self.synced = Instant::now();
                journal.sync().or_else(|trouble| self.fail(trouble))
            }
            _ => Ok(()),
        }
    }

    fn fail<R>(&mut self, trouble: crate::journal::Trouble) -> Result<R, Error> {
        self.failed = Some(trouble.to_string());
        Err(Error::Limit(Limit::Interrupted))
    }

    /// Replaces the page of the journal if it is time.
    pub(super) fn tell(&mut self, page: impl Fn(u64) -> Vec<u8>) {
        if let Some(journal) = &self.journal
            && self.paged.is_none_or(|paged| paged.elapsed() >= PAGE)
        {
            self.paged = Some(Instant::now());
            journal.tell(&page(self.resumed));
        }
    }

    /// Keeps everything for good.
    pub(super) fn end(&mut self, page: impl Fn(u64) -> Vec<u8>) {
        if let Some(journal) = &mut self.journal {
            if self.failed.is_none()
                && let Err(trouble) = journal.sync()
            {
                self.failed = Some(trouble.to_string());
            }
            journal.tell(&page(self.resumed));
        }
    }
}

fn unfit() -> Error {
    Error::Input(
        "the checkpoint has results that this run does not ask for; begin again in another directory"
            .to_owned(),
    )
}
