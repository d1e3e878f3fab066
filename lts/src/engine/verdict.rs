//! What searches answer.

use crate::base::error::Limit;
use crate::engine::reduce::{self, Keep};
use crate::model::trace::Trace;

/// The answer of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All properties hold; all reachable states were expanded.
    Holds,
    /// A property does not hold.
    Violated {
        /// Its index.
        property: usize,
        /// Shows it: it ends in the deadlock, or with the forbidden step.
        trace: Trace,
    },
    /// The specification has no meaning at the end of the trace.
    Faulty {
        /// The message of the fault.
        message: String,
        /// Ends with the step that has no meaning.
        trace: Trace,
    },
    /// No answer.
    Unknown(Limit),
}

/// What a search that left out steps has kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reduction {
    /// Whether every deadlock was visited, at its exact depth unless there were chains, and the number of deadlocks in
    /// [`Stats`](crate::engine::search::Stats) counts them all.
    pub deadlocks: bool,
    /// Whether shortest counterexamples are as short as without reduction.
    pub lengths: bool,
    /// By which method. Some pass states and do not store them; [`Stats`](crate::engine::search::Stats) then count what
    /// was expanded, and ways as transitions.
    pub keep: Keep,
    /// How many were passed, each time; unknown on ranks.
    pub passed: Option<u64>,
    /// How many of them were stored all the same, on all ranks, if any may be.
    pub saved: Option<u64>,
}

impl Reduction {
    /// What a search keeps.
    pub(crate) fn of(keep: Keep, asked: reduce::Asked) -> Self {
        let lengths = keep == Keep::Lengths || (keep == Keep::Verdicts && !asked.targets);
        // Phase 2 takes every step.
        let deadlocks = asked.deadlocks || matches!(keep, Keep::TwoPhase { .. });
        Reduction { deadlocks, lengths, keep, passed: None, saved: None }
    }
}
