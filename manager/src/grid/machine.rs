//! What the [`driver`](super::driver) drives: a state machine over numbered jobs and the answers to them.
//!
//! Invariant of every machine: the sequence of its jobs is a function of its configuration and the contents of the
//! answers, not of who gives them and when. So a run on one worker, on many, and one that was killed and resumed agree.

use super::journal::{Batch, Tally};
use gridlock_lts::base::error::{Limit, Result};
use serde::de::DeserializeOwned;

/// The window of machines that process answers in the order of jobs: job n is based on the answers to the jobs up to
/// n - window, in any order of arrival.
pub const WINDOW: u64 = 64;

/// The window for a number of workers, all of which should have a job. It is the same for all small numbers, so that they
/// make the same jobs; beyond that the window is larger, so that a job that takes longer than others leaves no worker without
/// a job.
pub fn window(workers: u64) -> u64 {
    if workers <= WINDOW {
        WINDOW
    } else {
        workers.checked_next_power_of_two().map_or(workers, |n| n.saturating_mul(2))
    }
}

/// What the driver is to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next<J> {
    /// Hand out this job.
    Job(J),
    /// Wait for more answers.
    Wait,
    /// Stop: there is an outcome.
    Done,
}

/// How an answer was accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepted {
    /// It is the first answer to its job. The answer of an interrupted job does not count: the job will be handed out again.
    New,
    /// The job was answered before, or its answer is not needed any more.
    Duplicate,
    /// There is no such job.
    Unknown,
}

/// A message with the number of a job.
pub trait Numbered {
    /// The number of the job.
    fn number(&self) -> u64;

    /// Called before a job is sent to another rank, given by its number among the workers: adds the data that the job needs
    /// there.
    fn address(&mut self, _rank: u32) {}
}

/// An answer, as far as the driver needs to read it.
pub trait Reply: Numbered {
    /// Whether the worker was cancelled before it was done.
    fn is_interrupted(&self) -> bool;
    /// How it ended, in a word for logs.
    fn end(&self) -> &'static str;
    /// Its effort.
    fn tally(&self) -> Tally;
}

/// See the module head.
pub trait Machine {
    /// What goes out.
    type Job: Numbered;
    /// What comes in.
    type Answer: Reply;
    /// What the journal keeps of an answer.
    type Record: DeserializeOwned;
    /// Its progress.
    type Status;

    /// Whether an answer counts only once the disk has promised to keep it. Otherwise it counts once it is written, and
    /// the disk is asked now and then: for machines whose answers are large and cheap to compute again.
    const DURABLE: bool;

    /// Takes a record of an earlier run. They come one at a time, in the order in which they were written, before the
    /// first job is handed out.
    fn resume(&mut self, record: Self::Record) -> Result<()>;

    /// What the driver is to do next.
    fn next(&mut self) -> Next<Self::Job>;

    /// Whether it waits for machines of other processes: then no job may be in work here, and the driver asks again.
    fn has_peers(&self) -> bool {
        false
    }

    /// Writes the records that the journal keeps of an answer: any number, also none.
    fn record(&self, answer: &Self::Answer, batch: &mut Batch) -> Result<()>;

    /// Writes the records that the journal keeps besides those of answers: the new ones since the last call.
    fn notes(&mut self, _batch: &mut Batch) -> Result<()> {
        Ok(())
    }

    /// Takes the answer to a job.
    fn accept(&mut self, answer: Self::Answer, worker: u32) -> Accepted;

    /// Records that a worker has lost a job, which is handed out again. False if the job is answered or there is no such job.
    fn lost(&mut self, number: u64, worker: u32) -> bool;

    /// Takes the partial answer of a job that was in work when the run was ended. It is not in the journal, and does not
    /// affect other jobs.
    fn cut_short(&mut self, _answer: Self::Answer) {}

    /// A limit of the machine itself that the run has reached. The driver asks regularly while jobs are in work.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// Its progress.
    fn status(&self) -> Self::Status;

    /// Jobs made and jobs answered.
    fn made_and_done(&self) -> (u64, u64);

    /// Whether the times of jobs are to be kept.
    fn keeps_times(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_has_a_job() {
        assert_eq!([1, 2, 64].map(window), [WINDOW; 3]);
        assert_eq!([65, 128, 10_000].map(window), [256, 256, 32_768]);
        assert_eq!(window(u64::MAX), u64::MAX);
    }
}
