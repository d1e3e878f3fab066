//! The messages between a manager and its workers: a job, and the feedback to it.
//!
//! A job names everything by numbers that all ranks agree on because they build the same network: edges of guides,
//! leaves, vectors. Big numbers (trace IDs) stay with the manager. Invariant: a feedback depends on the job and the
//! network only, not on who worked on it or when; only its times do.

pub use gridlock_lts::engine::look::What;

use crate::stop::Stop;
use gridlock_lts::base::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Where a guide came from: the guide before, one of its traces, and the leaf that joined for that trace.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Refinement {
    /// The trace, as edges of the guide before.
    pub path: Vec<u32>,
    /// The leaf that joins.
    pub leaf: u32,
}

/// What a guided search does once the subsystem has followed its path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Then {
    /// The subsystem stays where it is.
    Stop,
    /// The subsystem moves freely: within the guide if its cycles were cut or it was made for a prefix of another.
    Free,
}

/// The order in which a guided search visits states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Position by position, each breadth first; earlier positions are forgotten.
    BreadthFirst,
    /// Along the path first: for hunting.
    DepthFirst,
}

/// What one job may use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct JobLimits {
    /// States visited.
    pub states: u64,
    /// Bytes for states at a time.
    pub memory: u64,
}

/// States at one place of a guide: for a job to begin with, or left over by one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Border {
    /// A way of the subsystem to the place, from the guide's initial state: that of the state that came first.
    pub path: Vec<u32>,
    /// Packed states, one after the other.
    pub states: Vec<u64>,
    /// How many of them are expanded: the first ones.
    pub expanded: u64,
}

/// What a job begins with that does not begin with the initial state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Handed {
    /// States at different places; none at all stand for the initial state.
    pub starts: Vec<Border>,
    /// Places, ascending, that other jobs reach as well: states there are handed on and not expanded.
    pub shared: Vec<u32>,
}

/// A guided search.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Numbered from 0 in the order in which jobs are made.
    pub number: u64,
    /// How the guide is made from the swarm's first one; empty for that itself.
    pub refinements: Vec<Refinement>,
    /// The edges that the subsystem follows, from the guide's initial state.
    pub path: Vec<u32>,
    /// What the subsystem does behind the path.
    pub then: Then,
    /// Whether the moves on the path may come in any order in which each leaf does its own in that of the path.
    pub any_order: bool,
    /// The order in which states are visited.
    pub order: Order,
    /// The most that the search may use.
    pub limits: JobLimits,
    /// If the job begins with states that others have handed on: these. Then it searches place by place.
    pub handed: Option<Handed>,
}

/// How a guided search ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum JobEnd {
    /// All states were visited that are reachable while the subsystem follows the path, and then does as the job says.
    Complete,
    /// The limits were reached. Feedback up to the last position reported is complete; what came after is not. Of a job
    /// that hands on what it leaves everything counts.
    OverBudget,
    /// A violation was found; the rest was not searched.
    Found(Finding),
    /// The worker was told to stop.
    Interrupted,
    /// The job makes no sense or an internal check failed.
    Failed(Error),
}

impl JobEnd {
    /// The end of a search that was stopped; an error if it failed.
    pub(crate) fn of(stop: Stop) -> Result<Self> {
        match stop {
            Stop::OverBudget => Ok(JobEnd::OverBudget),
            Stop::Interrupted => Ok(JobEnd::Interrupted),
            Stop::Failed(error) => Err(error),
        }
    }

    /// A word for logs.
    pub fn name(&self) -> &'static str {
        match self {
            JobEnd::Complete => "complete",
            JobEnd::OverBudget => "over budget",
            JobEnd::Found(_) => "found",
            JobEnd::Interrupted => "interrupted",
            JobEnd::Failed(_) => "failed",
        }
    }
}

/// A violation and the way to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The kind, with the index of the property or fault.
    pub what: What,
    /// The steps from the initial state, the forbidden one included: vectors and packed targets.
    pub path: Vec<(u32, Vec<u64>)>,
}

/// How much a job did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Effort {
    /// States visited; a state counts once for each position at which it was visited.
    pub states: u64,
    /// Steps looked at.
    pub transitions: u64,
    /// Visited states without steps.
    pub deadlocks: u64,
    /// The most bytes in use for states at a time.
    pub memory: u64,
    /// The most states at one position.
    pub widest: u64,
    /// The time it took.
    pub nanoseconds: u64,
}

impl Effort {
    /// Adds what another job did; of `memory` and `widest` the greater one stays.
    pub fn add(&mut self, other: &Effort) {
        self.states = self.states.saturating_add(other.states);
        self.transitions = self.transitions.saturating_add(other.transitions);
        self.deadlocks = self.deadlocks.saturating_add(other.deadlocks);
        self.nanoseconds = self.nanoseconds.saturating_add(other.nanoseconds);
        self.memory = self.memory.max(other.memory);
        self.widest = self.widest.max(other.widest);
    }
}

/// The answer to a job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Feedback {
    /// The job's number.
    pub number: u64,
    /// How it ended.
    pub end: JobEnd,
    /// For each position whose states were all visited, from the first on: the edges of the guide that were possible in
    /// some of them, ascending, cut ones included. It ends with the last position of the path, or earlier if the path
    /// cannot be followed that far or the limits were reached.
    pub possible: Vec<Vec<u32>>,
    /// Whether the subsystem could have moved on where the guide or the job forbids it: an edge that was cut to bound
    /// cycles was possible and was not followed. Then the swarm is not exhaustive.
    pub bounded: bool,
    /// How much was done.
    pub effort: Effort,
    /// A sketch of the different states that were expanded, as far as the subsystem moved freely; see
    /// [`crate::sketch`]. Empty for a job along a whole trace.
    pub seen: Vec<u8>,
    /// What a job that begins with states handed on leaves to others.
    pub left: Left,
    /// If the moves could come in any order: every position that was reached. Only of a job that is complete.
    pub positions: Vec<Position>,
}

/// What was seen when some moves of a path were done, in any order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Position {
    /// For each leaf of the subsystem how many of its moves on the path are done.
    pub done: Vec<u32>,
    /// The edges of the guide that were possible in some state, ascending.
    pub possible: Vec<u32>,
}

/// What a job leaves to others.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Left {
    /// States that are not expanded, place by place. Empty at the end of a job over its budget: it could not expand a
    /// single one.
    pub border: Vec<Border>,
    /// The words of a packed state.
    pub words: u32,
    /// If something was found: the state that was handed on to the job and from which the way to the finding begins.
    pub from: Option<Spot>,
}

/// A state at a place of a guide.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Spot {
    /// The place.
    pub place: u32,
    /// The packed state.
    pub state: Vec<u64>,
}
