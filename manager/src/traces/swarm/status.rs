//! The progress of a swarm and its outcome.

use super::overlap::Repeats;
use gridlock_lts::base::error::Error;
use gridlock_worker::job::{Effort, Finding};
use num_bigint::BigUint;
use std::ops::Range;

/// A job and one of its figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extreme {
    /// The figure.
    pub value: u64,
    /// The job's number: the first with that figure.
    pub number: u64,
}

impl Extreme {
    pub(super) fn see(&mut self, value: u64, number: u64) {
        if value > self.value {
            *self = Extreme { value, number };
        }
    }
}

/// The progress of a swarm. IDs are those of the swarm's own guide; a trace that is worked on with a finer guide is in work.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SwarmStatus {
    /// Jobs made.
    pub made: u64,
    /// Jobs whose feedback has come.
    pub done: u64,
    /// Jobs whose feedback was processed: the searches that count. It is a function of the configuration and the
    /// feedback once the swarm is done, as are all figures below except times.
    pub processed: u64,
    /// Jobs that were lost and handed out again.
    pub lost: u64,
    /// IDs to be done in all.
    pub all: BigUint,
    /// IDs not yet handed out.
    pub remaining: BigUint,
    /// IDs handed out.
    pub in_work: BigUint,
    /// IDs searched.
    pub explored: BigUint,
    /// IDs that feedback showed to be impossible.
    pub pruned: BigUint,
    /// IDs struck off before the first job, since no violation can follow.
    pub irrelevant: BigUint,
    /// IDs too large for a job that no finer guide could divide.
    pub given_up: BigUint,
    /// Finer guides made so far.
    pub nested: u64,
    /// The most states that a job visited.
    pub largest: Extreme,
    /// The most bytes for states that a job used at a time.
    pub most_memory: Extreme,
    /// The longest time that a job took, in nanoseconds.
    pub longest: Extreme,
    /// All efforts added up; of `memory` and `widest` the greatest.
    pub total: Effort,
    /// Whether the subsystem could have moved on where its cycles were bounded.
    pub bounded: bool,
    /// Whether jobs hand on the states that they leave; they stop if these are too many.
    pub borders: bool,
    /// Whether a job is a class of traces, in any order; this ends if the classes take too much memory.
    pub any_order: bool,
    /// If so: the number of possible beginnings that no job has followed.
    pub beginnings: Option<u64>,
    /// States that were handed on.
    pub handed_on: u64,
    /// How many different states were expanded, if that is known.
    pub different: Option<Different>,
}

/// How many different states there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Different {
    /// The number.
    pub states: u64,
    /// Whether it is an estimate, from a sketch that comes with each answer.
    pub estimated: bool,
}

impl SwarmStatus {
    pub(super) fn add(&mut self, number: u64, effort: &Effort) {
        self.largest.see(effort.states, number);
        self.most_memory.see(effort.memory, number);
        self.longest.see(effort.nanoseconds, number);
        self.total.add(effort);
    }
}

/// A trace that is too large for a job and could not be divided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// The job that showed it.
    pub number: u64,
    /// Its effort before it stopped.
    pub effort: Effort,
    /// The position on its path at which it stopped.
    pub position: usize,
    /// The length of its path.
    pub length: usize,
    /// How many IDs were given up for it, in the space of IDs that the job belongs to.
    pub ids: BigUint,
}

/// The outcome of a swarm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SwarmOutcome {
    /// Every ID was explored or is impossible.
    Exhausted {
        /// The subsystem could have moved on where its cycles were bounded, so that is not everything.
        bounded: bool,
    },
    /// A violation: of those found, the one of the job with the lowest number.
    Found {
        /// The violation.
        finding: Finding,
        /// The job's number.
        number: u64,
    },
    /// Nothing was found, but some traces are too large for a job: in the order in which they were met.
    Stuck(Vec<Stuck>),
    /// Nothing was found, but jobs did the same work again and again, and were stopped.
    Repeats(Repeats),
    /// A worker could not do its job, or its feedback makes no sense.
    Failed {
        /// The job's number.
        number: u64,
        /// Why.
        reason: Error,
    },
}

/// The class of a job's IDs after its feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// They were explored; those that the path's own positions showed to be impossible were pruned.
    Explored,
    /// The job was over its budget; the possible ones went back.
    Split,
    /// The job was over its budget; a finer guide was made for them or had been made before.
    Nested {
        /// The space of the finer guide's IDs.
        space: usize,
    },
    /// The job was over its budget and nothing could divide it.
    GivenUp,
    /// The job found a violation.
    Found,
    /// The job failed.
    Failed,
}

/// IDs that a job showed to be impossible and that no job had before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pruned {
    /// The position on the job's path at which the first edge is impossible.
    pub position: usize,
    /// The range; some of it may have been pruned before.
    pub ids: Range<BigUint>,
}

/// A job whose feedback was processed, for drawing the space of IDs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The job's number. Events come in the order of numbers.
    pub number: u64,
    /// The space of IDs: 0 is the swarm's own guide, others belong to finer guides in the order in which they were made.
    pub space: usize,
    /// The worker, as it named itself.
    pub worker: u32,
    /// Its IDs: one range, or one for each place whose states were handed to it.
    pub ids: Vec<Range<BigUint>>,
    /// Their class.
    pub class: Class,
    /// What it pruned.
    pub pruned: Vec<Pruned>,
    /// Its effort.
    pub effort: Effort,
}
