//! The jobs of a machine from when they are made until their answers are processed.
//!
//! Invariants: jobs are numbered from 0 in the order in which they are made, and their answers are processed in that
//! order; a job has one answer, the first that came.

use super::machine::{Accepted, Numbered};
use std::collections::{BTreeSet, VecDeque};

/// A job whose answer has not been processed.
pub struct Made<J, X, A> {
    /// The job.
    pub job: J,
    /// The data that its machine keeps with it.
    pub about: X,
    /// Its answer, once that has come.
    pub answer: Option<A>,
}

/// See the module head.
pub struct Ledger<J, X, A> {
    /// The jobs from number `processed` on.
    jobs: VecDeque<Made<J, X, A>>,
    processed: u64,
    /// Jobs without an answer that no worker has.
    idle: BTreeSet<u64>,
    done: u64,
    lost: u64,
}

impl<J, X, A> Default for Ledger<J, X, A> {
    fn default() -> Self {
        Ledger { jobs: VecDeque::new(), processed: 0, idle: BTreeSet::new(), done: 0, lost: 0 }
    }
}

impl<J: Numbered + Clone, X, A> Ledger<J, X, A> {
    /// Jobs made, which is the number of the next one.
    pub fn made(&self) -> u64 {
        self.processed + self.jobs.len() as u64
    }

    /// Jobs answered.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Jobs whose answers were processed.
    pub fn processed(&self) -> u64 {
        self.processed
    }

    /// How often jobs were lost.
    pub fn lost_count(&self) -> u64 {
        self.lost
    }

    /// Whether all answers were processed.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Notes a job that was made.
    pub fn add(&mut self, job: J, about: X) {
        self.jobs.push_back(Made { job, about, answer: None });
    }

    /// A job that was made and not processed.
    pub fn get(&self, number: u64) -> Option<&Made<J, X, A>> {
        self.jobs.get(usize::try_from(number.checked_sub(self.processed)?).ok()?)
    }

    /// A job without an answer.
    fn waiting(&mut self, number: u64) -> Option<&mut Made<J, X, A>> {
        let at = usize::try_from(number.checked_sub(self.processed)?).ok()?;
        self.jobs.get_mut(at).filter(|made| made.answer.is_none())
    }

    /// How an answer to a job would be accepted.
    pub fn expects(&self, number: u64) -> Accepted {
        match self.get(number) {
            Some(made) if made.answer.is_none() => Accepted::New,
            None if number >= self.made() => Accepted::Unknown,
            _ => Accepted::Duplicate,
        }
    }

    /// Takes the answer to a job.
    pub fn answer(&mut self, number: u64, answer: A) -> Accepted {
        let expected = self.expects(number);
        if let Some(made) = self.waiting(number) {
            made.answer = Some(answer);
            self.idle.remove(&number);
            self.done += 1;
        }
        expected
    }

    /// Records that the worker of a job lost it. False if the job is answered or there is no such job.
    pub fn lose(&mut self, number: u64) -> bool {
        let waiting = self.waiting(number).is_some();
        if waiting && self.idle.insert(number) {
            self.lost += 1;
        }
        waiting
    }

    /// The first job below a number that no worker has, to be handed out again.
    pub fn hand_out_again(&mut self, below: u64) -> Option<J> {
        let number = self.idle.first().copied().filter(|&number| number < below)?;
        self.idle.remove(&number);
        self.get(number).map(|made| made.job.clone())
    }

    /// Removes the next job and returns it, if it is answered.
    pub fn process(&mut self) -> Option<(J, X, A)> {
        self.jobs.front()?.answer.as_ref()?;
        let Made { job, about, answer } = self.jobs.pop_front()?;
        self.processed += 1;
        Some((job, about, answer?))
    }

    /// Removes the next job without an answer, because none will come.
    pub fn abandon(&mut self) {
        if let Some(made) = self.jobs.pop_front() {
            self.idle.remove(&made.job.number());
            self.processed += 1;
        }
    }

    /// Takes out the jobs that no worker has, while jobs are made for the records of an earlier run.
    pub fn take_idle(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.idle)
    }

    /// Puts them back, with those that were made meanwhile and have no answer.
    pub fn set_idle(&mut self, idle: BTreeSet<u64>) {
        self.idle = idle;
    }
}

/// Makes jobs until the job of a record is made, and sets them aside. The machine made that job before the record was
/// written, from records that were written earlier, so it makes it again; if it does not, the record is not needed any more.
macro_rules! resume_in_order {
    ($machine:expr, $record:expr) => {{
        let mut idle = $machine.ledger.take_idle();
        while $machine.ledger.made() <= $record.number {
            match $crate::grid::machine::Machine::next($machine) {
                $crate::grid::machine::Next::Job(job) => idle.insert(job.number),
                _ => break,
            };
        }
        $machine.ledger.set_idle(idle);
        $crate::grid::machine::Machine::accept($machine, $record, u32::MAX);
    }};
}
pub(crate) use resume_in_order;
