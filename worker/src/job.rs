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

/// States at one place of a guide: those that a job begins with, or those that it leaves.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Border {
    /// A path of the subsystem from the guide's initial state to the place: that of the state that came first.
    pub path: Vec<u32>,
    /// Packed states, one after the other.
    pub states: Vec<u64>,
    /// How many of them are expanded: the first ones.
    pub expanded: u64,
}

/// The states that a job begins with, if not with the initial state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Handed {
    /// States at different places; an empty list stands for the initial state.
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
    /// The states that other jobs have handed on, if the job begins with them. Then it searches place by place.
    pub handed: Option<Handed>,
}

/// How a guided search ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum JobEnd {
    /// All states were visited that are reachable while the subsystem follows the path, and then does as the job says.
    Complete,
    /// The limits were reached. Feedback up to the last position reported is complete; later positions are not. If the job
    /// hands on the states that it leaves, all of its feedback counts.
    OverBudget,
    /// A violation was found; the rest was not searched.
    Found(Finding),
    /// The worker was cancelled.
    Interrupted,
    /// The job makes no sense or an internal check failed.
    Failed(Error),
}

impl JobEnd {
    /// The end of a job whose search stopped early; an error if the search failed.
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
    /// Adds the effort of another job; `memory` and `widest` become the greater of both.
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
    /// How much the job did.
    pub effort: Effort,
    /// A sketch of the different states that were expanded, as far as the subsystem moved freely; see
    /// [`crate::sketch`]. Empty for a job along a whole trace.
    pub seen: Vec<u8>,
    /// What the job leaves to others, if it began with states that were handed on.
    pub left: Left,
    /// If the moves may come in any order: every position that was reached. Only a complete job reports them.
    pub positions: Vec<Position>,
}

/// What a search saw after some moves of a path, done in any order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Position {
    /// For each leaf of the subsystem the number of its moves on the path that are done.
    pub done: Vec<u32>,
    /// The edges of the guide that were possible in some state, ascending.
    pub possible: Vec<u32>,
}

/// What a job leaves to others.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Left {
    /// States that are not expanded, place by place. If a job over its budget leaves none, it could not expand a single
    /// state.
    pub border: Vec<Border>,
    /// The words of a packed state.
    pub words: u32,
    /// If there is a finding: the state handed on to the job from which the path to the finding begins.
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
