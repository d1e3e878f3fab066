//! The outcome of a search of any method.
//!
//! Invariant: a [`Conclusion`] is a verdict of the library, or names the bound that kept the search from one.

use super::Figures;
use super::quantities::{bytes, count, counted, duration};
use gridlock_lts::base::error::Limit;
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::model::trace::Trace;
use std::time::Duration;

/// The answer to the properties that were checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Conclusion {
    /// All properties hold.
    Holds,
    /// The property of that index does not hold.
    Violated(usize),
    /// The specification has no meaning in a reachable state, for this reason.
    Faulty(String),
    /// No answer.
    Unknown(Bound),
}

impl Conclusion {
    /// The answer in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Conclusion::Holds => "holds",
            Conclusion::Violated(_) => "violated",
            Conclusion::Faulty(_) => "faulty",
            Conclusion::Unknown(_) => "unknown",
        }
    }
}

/// What kept a search from an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// A stable name for programs.
    pub name: &'static str,
    /// The text in parentheses behind the verdict, if the bound has a meaning of its own.
    pub kind: Option<&'static str>,
    /// For people.
    pub message: String,
    /// Whether the checkpoint cannot be written: then the result is not written into it either.
    pub checkpoint_lost: bool,
}

impl Bound {
    /// A bound that only has a reason.
    pub fn new(name: &'static str, message: String) -> Self {
        Bound { name, kind: None, message, checkpoint_lost: false }
    }

    /// The same with a word behind the verdict.
    pub fn of_kind(self, kind: &'static str) -> Self {
        Bound { kind: Some(kind), ..self }
    }

    /// The same, with a hint to resume if there is a checkpoint.
    pub fn resumable(self, checkpoint: bool) -> Self {
        if !checkpoint {
            return self;
        }
        Bound { message: format!("{}; --resume continues", self.message), ..self }
            .of_kind("interrupted, resumable")
    }

    /// The bound of a checkpoint that cannot be written, with the reason.
    pub fn checkpoint(why: impl std::fmt::Display) -> Self {
        let message = format!("the checkpoint cannot be written: {why}; --resume continues");
        Bound { checkpoint_lost: true, ..Bound::new("checkpoint", message) }
    }
}

impl From<Limit> for Bound {
    fn from(limit: Limit) -> Self {
        let too_large = "job too large";
        match limit {
            Limit::States(n) => Bound::new(
                "max-states",
                format!("there are more than {}, which is the limit (--max-states)", counted(n as usize, "state")),
            ),
            Limit::Depth(n) => Bound::new(
                "max-depth",
                format!("there are states at a depth of {}, where the search stops (--max-depth)", count(n)),
            ),
            Limit::Positions(n) => Bound::new(
                "max-positions",
                format!(
                    "the formula has more than {} parts with different values: a parameter may grow for ever",
                    count(n)
                ),
            ),
            Limit::Memory(n) => Bound::new(
                "max-memory",
                format!("the memory limit of {} is reached (--max-memory sets another)", bytes(n)),
            ),
            Limit::JobMemory(n) => Bound::new(
                "job-too-large",
                format!(
                    "{} for a job is not enough for what cannot be divided any more: --job-memory allows more",
                    bytes(n)
                ),
            )
            .of_kind(too_large),
            Limit::Time(t) => {
                Bound::new("time-limit", format!("the time limit of {} is reached (--time-limit)", duration(t)))
            }
            Limit::Interrupted => Bound::new("interrupted", "interrupted".to_owned()),
        }
    }
}

/// The outcome of a run.
pub struct Outcome {
    /// The answer.
    pub conclusion: Conclusion,
    /// The run that shows a violation or a fault.
    pub trace: Option<Trace>,
    /// The time of the search.
    pub time: Duration,
    /// The figures, for people and programs.
    pub figures: Box<dyn Figures>,
}

impl Outcome {
    /// A verdict with its trace; the caller gives the bound that `Unknown` means.
    pub fn of(
        verdict: Verdict,
        time: Duration,
        figures: Box<dyn Figures>,
        bound: impl FnOnce() -> Bound,
    ) -> Self {
        let (conclusion, trace) = match verdict {
            Verdict::Holds => (Conclusion::Holds, None),
            Verdict::Violated { property, trace } => (Conclusion::Violated(property), Some(trace)),
            Verdict::Faulty { message, trace } => (Conclusion::Faulty(message), Some(trace)),
            Verdict::Unknown(_) => (Conclusion::Unknown(bound()), None),
        };
        Outcome { conclusion, trace, time, figures }
    }

    /// No answer.
    pub fn unknown(bound: Bound, time: Duration, figures: Box<dyn Figures>) -> Self {
        Outcome { conclusion: Conclusion::Unknown(bound), trace: None, time, figures }
    }
}
