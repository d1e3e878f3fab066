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
/// make the same jobs; beyond, jobs that take longer than others must not leave workers without one.
pub fn window(workers: u64) -> u64 {
    if workers <= WINDOW {
        WINDOW
    } else {
        workers.checked_next_power_of_two().map_or(workers, |n| n.saturating_mul(2))
    }
}

/// What to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next<J> {
    /// Hand out this job.
    Job(J),
    /// Nothing before more answers come.
    Wait,
    /// Nothing any more: there is an outcome.
    Done,
}

/// What became of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepted {
    /// It is the first to its job. That of an interrupted job is none: the job will be handed out again.
    New,
    /// There was an answer to that job before, or none is wanted any more.
    Duplicate,
    /// There is no such job.
    Unknown,
}

/// Something that jobs are numbered by.
pub trait Numbered {
    /// The number of the job.
    fn number(&self) -> u64;

    /// A job is about to be sent to another rank, known by its number among the workers: takes along what it needs there.
    fn address(&mut self, _rank: u32) {}
}

/// An answer, as far as the driver has to know it.
pub trait Reply: Numbered {
    /// Whether the worker was told to stop before it was done.
    fn is_interrupted(&self) -> bool;
    /// How it ended, in a word for logs.
    fn end(&self) -> &'static str;
    /// What it took.
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
    /// How far it is.
    type Status;

    /// Whether an answer counts only once the disk has promised to keep it. Otherwise it counts once it is written, and
    /// the disk is asked now and then: for machines whose answers are large and cheap to compute again.
    const DURABLE: bool;

    /// Takes a record of an earlier run. They come one at a time, in the order in which they were written, before the
    /// first job is handed out.
    fn resume(&mut self, record: Self::Record) -> Result<()>;

    /// What to do next.
    fn next(&mut self) -> Next<Self::Job>;

    /// Whether it waits for machines of other processes, so that nothing may be in work here, and it is asked again.
    fn has_peers(&self) -> bool {
        false
    }

    /// Writes what the journal is to keep of an answer: nothing, or one or more records.
    fn record(&self, answer: &Self::Answer, batch: &mut Batch) -> Result<()>;

    /// Writes what the journal is to keep besides answers: what is new since it was asked last.
    fn notes(&mut self, _batch: &mut Batch) -> Result<()> {
        Ok(())
    }

    /// Takes the answer to a job.
    fn accept(&mut self, answer: Self::Answer, worker: u32) -> Accepted;

    /// Is told that a worker has lost a job: it is handed out again. False if its answer is there or there is no such
    /// job.
    fn lost(&mut self, number: u64, worker: u32) -> bool;

    /// Takes what a job had come to when the run was ended. It is not in the journal, and nothing follows from it for
    /// other jobs.
    fn cut_short(&mut self, _answer: Self::Answer) {}

    /// A limit of its own that the run has reached. It is asked again and again while jobs are in work.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// How far it is.
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
