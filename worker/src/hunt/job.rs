//! The messages of a hunt: a job, which is one cheap search of a portfolio, and the feedback to it.
//!
//! As in [`crate::job`], everything is named by numbers that all ranks agree on. Invariant: a feedback depends on the job
//! and the network only, not on who worked on it or when; only its times do.

use super::told::{Known, Told};
use crate::job::{Effort, Finding, Job};
use gridlock_lts::base::error::Error;
use gridlock_lts::engine::game::live::Ending;
use serde::{Deserialize, Serialize};

/// Which states a search with bounded levels keeps.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Keep {
    /// Any, at random: highway search.
    Random,
    /// Those reached by steps of these vectors first, then at random: beam search. The vectors are ascending.
    Preferred(Vec<u32>),
    /// States reached by local transitions that the search has taken least often.
    Rare,
}

/// The way in which one job searches.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Method {
    /// A search guided by a trace of a subsystem. The limits of the guided job are those of the hunt's job.
    Guided(Job),
    /// Depth first, successors in random order, states visited kept exactly; it stops where the limits are reached.
    DepthFirst {
        /// Not deeper than this.
        depth: u32,
    },
    /// Depth first, successors in random order, states visited kept as bits of an array.
    Bitstate {
        /// The array has two to this power of bits.
        log2_bits: u8,
        /// Bits set for a state.
        hashes: u8,
        /// Not deeper than this.
        depth: u32,
    },
    /// Depth first from the end of a path, successors in random order; within the bound no state is left out. If its limits
    /// are reached, the job returns the states that remain ([`Left`]).
    Prefix {
        /// Steps from the initial state: vectors and packed targets.
        path: Vec<(u32, Vec<u64>)>,
        /// States within this many steps of the initial state, along the path, are expanded.
        bound: u32,
        /// The states that other jobs have reported; the job then reports its own. `None`: it gets no states and reports none.
        known: Option<Known>,
    },
    /// Random walks from the initial state, one after another.
    Walk {
        /// Steps after which a walk begins anew.
        length: u32,
        /// Whether steps whose local transitions this job has taken least often are preferred.
        weighted: bool,
    },
    /// Breadth first with a bounded number of states a level.
    Levels {
        /// States kept of a level.
        width: u32,
        /// Which states are kept.
        keep: Keep,
    },
    /// Depth first, in random order, for a lasso that violates a formula; see [`super::live`].
    Lasso {
        /// The formula, by the number of the property.
        property: u32,
        /// Not deeper than this.
        depth: u32,
    },
    /// Random walks, and searches from their ends for traps; see [`super::live`].
    Trap {
        /// The formula, by the number of the property.
        property: u32,
        /// Steps of a walk.
        length: u32,
        /// The most pairs of a state and a part of the formula that are examined for one trap.
        pairs: u32,
    },
    /// Breadth first with a bounded number of states a level, those nearest to a step that was not seen yet; see
    /// [`super::aimed`].
    Aimed {
        /// States kept of a level.
        width: u32,
        /// The most levels in a row that come no nearer.
        patience: u32,
    },
}

/// What one job may use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HuntLimits {
    /// States expanded.
    pub states: u64,
    /// Bytes for states at a time.
    pub memory: u64,
    /// Different findings after which the search ends.
    pub findings: u32,
    /// The most states that may be expanded to shorten one finding.
    pub shorten: u64,
}

/// One search of a hunt.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HuntJob {
    /// Numbered from 0 in the order in which jobs are made.
    pub number: u64,
    /// The seed of all its random choices.
    pub seed: u64,
    /// The kind of search, with its settings.
    pub method: Method,
    /// The most that the search may use.
    pub limits: HuntLimits,
}

/// How a search of a hunt ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum HuntEnd {
    /// It has expanded every reachable state, exactly; nothing was left out by a bound, a hash or a guide.
    Everything,
    /// It has done all that its method allows; bounds, hashes or a guide may have left out states.
    Complete,
    /// The limits were reached.
    OverBudget,
    /// The worker was cancelled.
    Interrupted,
    /// The job makes no sense or an internal check failed.
    Failed(Error),
}

/// A state that a search has not expanded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// The number of steps of the spine before the step to it.
    pub frame: u32,
    /// The vector of that step.
    pub vector: u32,
    /// The packed state.
    pub state: Vec<u64>,
}

/// The states that remain of a job with a path and a bound. Each state within the bound that was not expanded can be reached
/// from a pending one within the bound.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Left {
    /// The steps that go on from the end of the job's path.
    pub spine: Vec<(u32, Vec<u64>)>,
    /// States to begin with, in the order of their frames.
    pub pending: Vec<Pending>,
}

/// The part of the feedback that only a job with a path and a bound has.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Below {
    /// The packed state in which it began.
    pub from: Vec<u64>,
    /// Whether steps were cut off by the bound.
    pub cut_off: bool,
    /// What remains if its limits were reached. `None` if not even the first state could be expanded.
    pub left: Option<Left>,
    /// The states that it has expanded, as far as others may rely on them: the states that follow from them were expanded, or
    /// lie behind states that are given back, or were known. `None` if the job was not to report them.
    pub told: Option<Told>,
    /// The number of steps to a state that was left out because another job had reported it.
    pub skipped: u64,
}

/// A violation that a search found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HuntFinding {
    /// The finding after shortening: without loops, and with short cuts.
    pub finding: Finding,
    /// How the run ends, if it is a run that violates a formula.
    pub ending: Option<Ending>,
    /// Steps when it was found, before anything was shortened.
    pub found_steps: u64,
    /// States the search had expanded when it was found.
    pub after_states: u64,
}

/// Counts of the walks that may end in a trap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Traps {
    /// Walks that were finished.
    pub walks: u64,
    /// Walks that ended in a trap.
    pub proved: u64,
    /// Walks from whose end the formula can still be fulfilled.
    pub discarded: u64,
    /// Walks for which the budget was too small to decide.
    pub undecided: u64,
}

/// The coverage of a search. Sets are bits packed into words, least first, without zero words at the end.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// For each leaf of the network as specified: the local states that it had in some state that was expanded.
    pub locals: Vec<Vec<u64>>,
    /// For each leaf: the local transitions, in the order of its tables, that it took in some step that was looked at.
    pub moves: Vec<Vec<u64>>,
    /// A HyperLogLog sketch of the states expanded: registers, see [`crate::sketch`].
    pub sketch: Vec<u8>,
    /// Bits set in the array of a bitstate search.
    pub bits_set: u64,
    /// States that a bitstate search took for visited; some of them may not have been.
    pub taken_for_visited: u64,
}

/// The answer to a job of a hunt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HuntFeedback {
    /// The job's number.
    pub number: u64,
    /// How it ended.
    pub end: HuntEnd,
    /// Its findings, all different, in the order in which they were found.
    pub findings: Vec<HuntFinding>,
    /// What was seen.
    pub coverage: Coverage,
    /// The feedback of the guided search, for the swarm that made the job; its end never has a finding.
    pub guided: Option<crate::job::Feedback>,
    /// The part that belongs to a job with a path and a bound, for the pool that made the job.
    pub below: Option<Below>,
    /// Counts of walks, of a job that looks for traps.
    pub traps: Traps,
    /// How much the job did, shortening left out.
    pub effort: Effort,
    /// States expanded to shorten.
    pub shortening: u64,
}
