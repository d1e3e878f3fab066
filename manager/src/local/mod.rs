//! A local search on the grid: an obligation, or a part of one, is a job.
//!
//! The library decides which tasks there are and which answers count ([`Board`]); a worker needs the network, the properties
//! and the task. Invariants: the report about obligations is the same for any number of workers and after any number of
//! kills. It follows from the answers and the places of their tasks, so records are identified by places; the numbers of jobs
//! depend on which worker was faster and have no meaning.

#[cfg(test)]
mod tests;

use crate::grid::journal::{Batch, Tally};
use crate::grid::machine::{Accepted, Machine, Next, Numbered, Reply};
use crate::grid::placed::PlacedJobs;
use crate::grid::work::{Work, Worker};
use gridlock_lts::base::error::{Limit, Result};
use gridlock_lts::engine::local::{Account, Answered, Board, Options, Setting, Task, TaskEnd, TaskPath};
use gridlock_lts::model::network::Network;
use gridlock_lts::property::Property;
use gridlock_worker::life::Life;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A task for a worker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LocalJob {
    number: u64,
    task: Task,
}

/// The answer to a job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LocalAnswer {
    number: u64,
    answered: Answered,
    /// The most bytes that frames and blocks of that process took so far.
    peak_memory: u64,
}

/// The record of an answer in the journal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    place: TaskPath,
    answered: Answered,
}

/// The progress of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LocalStatus {
    /// Obligations, and parts of them, that are decided.
    pub decided: u64,
    /// States of all their blocks.
    pub states: u64,
}

impl Numbered for LocalJob {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Numbered for LocalAnswer {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Reply for LocalAnswer {
    fn is_interrupted(&self) -> bool {
        self.answered.end == TaskEnd::Stopped
    }

    fn end(&self) -> &'static str {
        match self.answered.end {
            TaskEnd::Holds => "holds",
            TaskEnd::Run(_) => "violated",
            TaskEnd::Split(_) => "split",
            TaskEnd::TooLarge => "too large",
            TaskEnd::Memory => "out of memory",
            TaskEnd::Stopped => "interrupted",
            TaskEnd::Failed(_) => "failed",
        }
    }

    fn tally(&self) -> Tally {
        tally(&self.answered.account)
    }
}

fn tally(account: &Account) -> Tally {
    let nanoseconds = u64::try_from(account.time.as_nanos()).unwrap_or(u64::MAX);
    Tally { states: account.states(), nanoseconds }
}

/// See the module head.
#[derive(Debug)]
pub struct Obligations {
    board: Board,
    /// Answers of an earlier run.
    known: BTreeMap<TaskPath, Answered>,
    placed: PlacedJobs<TaskPath, Task>,
    status: LocalStatus,
    peak_memory: u64,
}

impl Obligations {
    /// This many obligations, none of which is decided.
    pub fn new(obligations: u32) -> Self {
        Obligations {
            board: Board::new(obligations),
            known: BTreeMap::new(),
            placed: PlacedJobs::default(),
            status: LocalStatus::default(),
            peak_memory: 0,
        }
    }

    /// The most bytes that one process took for frames and blocks.
    pub fn peak_memory(&self) -> u64 {
        self.peak_memory
    }

    /// The accounts up to the first obligation that does not hold, and how that one ended.
    pub fn end(self) -> (Vec<Account>, Option<(u32, TaskEnd)>) {
        self.board.end()
    }

    fn put(&mut self, place: TaskPath, answered: Answered) {
        self.status.decided += 1;
        self.status.states += answered.account.states();
        self.board.put(place, answered);
    }
}

impl Machine for Obligations {
    type Job = LocalJob;
    type Answer = LocalAnswer;
    type Record = Record;
    type Status = LocalStatus;
    const DURABLE: bool = true;

    fn resume(&mut self, record: Record) -> Result<()> {
        self.known.insert(record.place, record.answered);
        Ok(())
    }

    fn next(&mut self) -> Next<LocalJob> {
        if let Some((number, task)) = self.placed.again() {
            return Next::Job(LocalJob { number, task });
        }
        loop {
            if self.board.is_over() {
                return Next::Done;
            }
            let Some((place, task)) = self.board.take() else { return Next::Wait };
            if let Some(answered) = self.known.remove(&place) {
                self.put(place, answered);
                continue;
            }
            let number = self.placed.add(place, task.clone());
            return Next::Job(LocalJob { number, task });
        }
    }

    /// Answers that depend on the memory of a machine are not recorded: a run that is resumed tries them again.
    fn record(&self, answer: &LocalAnswer, batch: &mut Batch) -> Result<()> {
        let Some((place, _)) = self.placed.get(answer.number) else { return Ok(()) };
        match answer.answered.end {
            TaskEnd::Memory | TaskEnd::Stopped | TaskEnd::Failed(_) => Ok(()),
            TaskEnd::Holds | TaskEnd::Run(_) | TaskEnd::Split(_) | TaskEnd::TooLarge => {
                let record = Record { place: place.clone(), answered: answer.answered.clone() };
                batch.add(answer.tally(), &record)
            }
        }
    }

    fn accept(&mut self, answer: LocalAnswer, worker: u32) -> Accepted {
        let number = answer.number;
        if answer.is_interrupted() {
            return if self.lost(number, worker) { Accepted::New } else { Accepted::Duplicate };
        }
        self.peak_memory = self.peak_memory.max(answer.peak_memory);
        match self.placed.answered(number) {
            Ok(place) => {
                self.put(place, answer.answered);
                Accepted::New
            }
            Err(why) => why,
        }
    }

    fn lost(&mut self, number: u64, _: u32) -> bool {
        self.placed.lost(number)
    }

    fn status(&self) -> LocalStatus {
        self.status
    }

    fn made_and_done(&self) -> (u64, u64) {
        self.placed.made_and_done()
    }
}

/// What a job may spend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spend {
    /// States of the blocks of a task, all rounds together.
    pub limit: u64,
    /// See [`Options::tries`].
    pub tries: u64,
    /// See [`Options::pairs`].
    pub pairs: u64,
    /// See [`Options::marking`].
    pub marking: bool,
}

/// What workers of a process share.
pub struct Deciding {
    /// The network, its properties and what obligations are decided on.
    pub setting: Setting<Arc<Network>, Arc<[Property]>>,
    spend: Spend,
}

impl Deciding {
    /// Workers that decide tasks about these properties; frames and blocks may take `max_memory` bytes.
    pub fn new(
        net: Arc<Network>,
        properties: Arc<[Property]>,
        spend: Spend,
        max_memory: u64,
    ) -> Result<Self> {
        Ok(Deciding { setting: Setting::new(net, properties, max_memory)?, spend })
    }

    fn answer(&self, job: LocalJob, life: &Life) -> LocalAnswer {
        let Spend { limit, tries, pairs, marking } = self.spend;
        let stop = || life.is_cancelled().then_some(Limit::Interrupted);
        let (workers, max_memory) = (1, u64::MAX);
        let progress = &|_, _| {};
        let options = Options { workers, limit, tries, pairs, marking, max_memory, stop: &stop, progress };
        let answered = self.setting.decide(&job.task, &options, &stop, &|_| {});
        LocalAnswer { number: job.number, answered, peak_memory: self.setting.peak_memory() }
    }
}

impl Work for Deciding {
    type Job = LocalJob;
    type Answer = LocalAnswer;

    fn worker(&self) -> Worker<'_, LocalJob, LocalAnswer> {
        Box::new(|job, life| self.answer(job, life))
    }
}
