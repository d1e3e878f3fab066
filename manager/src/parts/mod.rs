//! A search by parts on the grid: reductions of processes, trials and explorations of interfaces are jobs.
//!
//! The library decides which tasks there are and which answers count ([`Board`]). A task carries its components, so a worker
//! needs no other data. The journal keeps the results of trials, but not the reduced products: a run that is resumed makes
//! the chosen products again, which are a small part of those tried. Invariant: the tree of products and the report about it
//! are the same for any number of workers and after any number of kills, as long as the memory suffices.

use crate::fingerprint::print_of;
use crate::grid::journal::{Batch, Tally};
use crate::grid::machine::{Accepted, Machine, Next, Numbered, Reply};
use crate::grid::placed::PlacedJobs;
use crate::grid::wire;
use crate::grid::work::{Work, Worker};
use gridlock_lts::base::error::{Limit, Result};
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::parts::{
    Answered, Board, PartsReport, PartsStatus, Reduction, Setting, Stages, Task, TaskPlace, Trials,
    no_formulas,
};
use gridlock_lts::model::network::{LeafIx, Network};
use gridlock_lts::property::Property;
use gridlock_worker::life::Life;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A task for a worker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PartsJob {
    number: u64,
    task: Task,
}

/// The answer to a job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PartsAnswer {
    number: u64,
    answered: Answered,
    /// The most bytes that components and products of that process took so far.
    peak_memory: u64,
}

/// The record of an answer in the journal. In a run that is resumed the same place may have another task, if an earlier task
/// could not be done for lack of memory; so the record has the fingerprint of the task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    place: TaskPlace,
    print: u128,
    answered: Answered,
}

impl Numbered for PartsJob {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Numbered for PartsAnswer {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Reply for PartsAnswer {
    fn is_interrupted(&self) -> bool {
        self.answered.is_stopped()
    }

    fn end(&self) -> &'static str {
        self.answered.end()
    }

    fn tally(&self) -> Tally {
        let nanoseconds = u64::try_from(self.answered.time.as_nanos()).unwrap_or(u64::MAX);
        Tally { states: self.answered.states, nanoseconds }
    }
}

/// The task of a search, and its limits. See [`Setting`].
pub struct PartsQuestion {
    /// The network, whose tables are complete.
    pub net: Arc<Network>,
    /// The properties to check.
    pub properties: Arc<[Property]>,
    /// See [`Setting::limit`].
    pub limit: u64,
    /// See [`Setting::groups`].
    pub groups: Vec<Vec<LeafIx>>,
    /// See [`Setting::stages`].
    pub stages: Stages,
    /// See [`Setting::members`].
    pub members: usize,
    /// See [`Setting::trials`].
    pub trials: Trials,
    /// The memory for components and products in this process.
    pub budget: Arc<Budget>,
}

impl PartsQuestion {
    fn setting(&self) -> Setting<'_> {
        Setting {
            net: &self.net,
            properties: &self.properties,
            limit: self.limit,
            groups: &self.groups,
            reduction: Reduction::default(),
            stages: self.stages,
            members: self.members,
            trials: self.trials,
            budget: &self.budget,
        }
    }
}

/// See the module head.
pub struct Aggregations {
    asked: PartsQuestion,
    board: Board,
    /// Answers of an earlier run.
    known: BTreeMap<(TaskPlace, u128), Answered>,
    placed: PlacedJobs<TaskPlace, Task>,
    peak_memory: u64,
}

impl Aggregations {
    /// A search that has not begun.
    pub fn new(asked: PartsQuestion) -> Result<Self> {
        no_formulas(&asked.properties)?;
        let (known, placed) = (BTreeMap::new(), PlacedJobs::default());
        Ok(Aggregations { board: Board::new(asked.setting()), asked, known, placed, peak_memory: 0 })
    }

    /// The answer of an earlier run.
    fn remembered(&mut self, place: TaskPlace, task: &Task) -> Option<Answered> {
        if self.known.is_empty() || !place.is_memorable() {
            return None;
        }
        self.known.remove(&(place, print(task)?))
    }

    /// The record of an answer.
    fn kept(&self, answer: &PartsAnswer) -> Option<Record> {
        let (place, task) = self.placed.get(answer.number).filter(|(place, _)| place.is_memorable())?;
        Some(Record { place: *place, print: print(task)?, answered: answer.answered.remembered()? })
    }

    /// The report; see [`Board::report`]. Its memory is that of the process with the highest peak.
    pub fn report(self, stop: &(dyn Fn() -> Option<Limit> + Sync)) -> Result<PartsReport> {
        let report = self.board.report(self.asked.setting(), stop)?;
        Ok(PartsReport { peak_memory: report.peak_memory.max(self.peak_memory), ..report })
    }
}

impl Machine for Aggregations {
    type Job = PartsJob;
    type Answer = PartsAnswer;
    type Record = Record;
    type Status = PartsStatus;
    /// Answers that are lost are computed again.
    const DURABLE: bool = false;

    fn resume(&mut self, record: Record) -> Result<()> {
        self.known.insert((record.place, record.print), record.answered);
        Ok(())
    }

    fn next(&mut self) -> Next<PartsJob> {
        if let Some((number, task)) = self.placed.again() {
            return Next::Job(PartsJob { number, task });
        }
        loop {
            if self.board.is_over() {
                return Next::Done;
            }
            match self.board.take(self.asked.setting()) {
                Some((place, task)) => match self.remembered(place, &task) {
                    Some(answered) => self.board.put(self.asked.setting(), place, answered),
                    None => {
                        let number = self.placed.add(place, task.clone());
                        return Next::Job(PartsJob { number, task });
                    }
                },
                None if self.board.is_over() => return Next::Done,
                None => return Next::Wait,
            }
        }
    }

    fn record(&self, answer: &PartsAnswer, batch: &mut Batch) -> Result<()> {
        self.kept(answer).map_or(Ok(()), |record| batch.add(answer.tally(), &record))
    }

    fn accept(&mut self, answer: PartsAnswer, worker: u32) -> Accepted {
        if answer.is_interrupted() {
            return if self.lost(answer.number, worker) { Accepted::New } else { Accepted::Duplicate };
        }
        self.peak_memory = self.peak_memory.max(answer.peak_memory);
        match self.placed.answered(answer.number) {
            Ok(place) => {
                self.board.put(self.asked.setting(), place, answer.answered);
                Accepted::New
            }
            Err(why) => why,
        }
    }

    fn lost(&mut self, number: u64, _: u32) -> bool {
        self.placed.lost(number)
    }

    fn status(&self) -> PartsStatus {
        self.board.status()
    }

    fn made_and_done(&self) -> (u64, u64) {
        self.placed.made_and_done()
    }
}

/// The fingerprint of a task.
fn print(task: &Task) -> Option<u128> {
    wire::encode(task).ok().map(|bytes| print_of(&bytes))
}

/// What workers of a process share.
pub struct Trying {
    budget: Arc<Budget>,
    /// Whether jobs come from another process, so that their components count as memory of this one.
    received: bool,
}

impl Trying {
    /// Workers whose components and products take their memory from a budget.
    pub fn new(budget: Arc<Budget>, received: bool) -> Self {
        Trying { budget, received }
    }

    fn answer(&self, job: &PartsJob, life: &Life) -> PartsAnswer {
        let stop = || life.is_cancelled().then_some(Limit::Interrupted);
        let answered = job.task.run(&self.budget, &stop, self.received);
        PartsAnswer { number: job.number, answered, peak_memory: self.budget.peak() }
    }
}

impl Work for Trying {
    type Job = PartsJob;
    type Answer = PartsAnswer;

    fn worker(&self) -> Worker<'_, PartsJob, PartsAnswer> {
        Box::new(|job, life| self.answer(&job, life))
    }
}
