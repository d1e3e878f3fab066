//! What the [`driver`](crate::driver) drives: a state machine over numbered jobs and the answers to them.
//!
//! Invariant of every machine: the sequence of its jobs is a function of its configuration and the contents of the
//! answers, whoever gives them and when. So a run on one worker, on many, and one that was killed and resumed agree.

use gridlock_worker::hunt::job::{HuntEnd, HuntFeedback, HuntJob};
use gridlock_worker::job::{Effort, End, Feedback, Job};

/// What to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next<J = Job> {
    /// This.
    Job(J),
    /// Nothing before more feedback comes.
    Wait,
    /// Nothing any more: there is an outcome.
    Done,
}

/// What became of feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepted {
    /// It is the first to its job. That of an interrupted job is none: the job will be handed out again.
    New,
    /// There was feedback to that job before, or none is wanted any more.
    Duplicate,
    /// There is no such job.
    Unknown,
}

/// Something that jobs are numbered by.
pub trait Numbered {
    /// The number.
    fn number(&self) -> u64;
}

/// An answer, as far as whoever drives has to know it.
pub trait Reply: Numbered + Clone {
    /// Whether the worker was told to stop before it was done.
    fn is_interrupted(&self) -> bool;
    /// Whether the job makes no sense or an internal check failed: no reason to remember it.
    fn is_failed(&self) -> bool;
    /// How it ended, in a word for logs.
    fn end(&self) -> &'static str;
    /// How much was done.
    fn effort(&self) -> &Effort;
}

/// See the module head.
pub trait Machine {
    /// What goes out.
    type Job: Numbered;
    /// What comes in.
    type Answer: Reply;
    /// Where it is.
    type Status;

    /// What to do next.
    fn next(&mut self) -> Next<Self::Job>;

    /// Takes the answer to a job, from a worker that is only remembered for the record.
    fn accept(&mut self, answer: Self::Answer, worker: u32) -> Accepted;

    /// Is told that nobody works on a job any more: it is handed out again. False if its answer is there or there is no
    /// such job.
    fn lost(&mut self, number: u64) -> bool;

    /// Takes what a job had come to when the run was ended. It is not in the journal, and nothing follows from it for
    /// other jobs.
    fn cut_short(&mut self, _answer: Self::Answer) {}

    /// Where it is.
    fn status(&self) -> Self::Status;

    /// Jobs made and jobs answered.
    fn made_and_done(&self) -> (u64, u64);

    /// Whether the times of jobs are to be kept.
    fn keeps_times(&self) -> bool {
        false
    }
}

impl Numbered for Job {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Numbered for Feedback {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Reply for Feedback {
    fn is_interrupted(&self) -> bool {
        self.end == End::Interrupted
    }

    fn is_failed(&self) -> bool {
        matches!(self.end, End::Failed(_))
    }

    fn end(&self) -> &'static str {
        self.end.name()
    }

    fn effort(&self) -> &Effort {
        &self.effort
    }
}

impl Numbered for HuntJob {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Numbered for HuntFeedback {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Reply for HuntFeedback {
    fn is_interrupted(&self) -> bool {
        self.end == HuntEnd::Interrupted
    }

    fn is_failed(&self) -> bool {
        matches!(self.end, HuntEnd::Failed(_))
    }

    fn end(&self) -> &'static str {
        match self.end {
            HuntEnd::Everything => "everything",
            HuntEnd::Complete => "complete",
            HuntEnd::OverBudget => "over budget",
            HuntEnd::Interrupted => "interrupted",
            HuntEnd::Failed(_) => "failed",
        }
    }

    fn effort(&self) -> &Effort {
        &self.effort
    }
}
