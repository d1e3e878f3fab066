//! How far a hunt is, what it has found and why it ended.

use super::config::Kind;
use super::coverage::{Bits, LeafCoverage};
use super::member::Traces;
use super::prefixes::Shared;
use gridlock_worker::hunt::job::{HuntFinding, HuntJob, Traps};
use gridlock_worker::job::Effort;

/// A violation that no earlier job has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Findings are numbered from 1 in the order of their jobs.
    pub number: u64,
    /// The job that found it: doing it again finds it again.
    pub job: HuntJob,
    /// The member that the job belongs to.
    pub member: Kind,
    /// What and how.
    pub finding: HuntFinding,
    /// States that jobs before this one had expanded, and those of this one until then.
    pub states: u64,
}

/// Why a hunt is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HuntOutcome {
    /// There are as many findings as were wanted.
    Findings,
    /// A search has expanded every reachable state, or guided ones together have.
    Everything,
    /// As many jobs were made as were allowed.
    Jobs,
    /// As many states were expanded as were allowed.
    States,
    /// No member has anything left to do.
    Exhausted,
    /// A worker could not do its job, or its feedback makes no sense.
    Failed {
        /// The job's number.
        number: u64,
        /// Why.
        reason: String,
    },
}

/// What a member of the portfolio has done.
#[derive(Clone, PartialEq, Debug)]
pub struct MemberStatus {
    /// The member.
    pub kind: Kind,
    /// Its jobs, states expanded in them, and the time that took in nanoseconds.
    pub jobs: u64,
    /// States expanded in them.
    pub states: u64,
    /// The time they took in nanoseconds.
    pub nanoseconds: u64,
    /// New local states of leaves that its jobs were the first to see.
    pub locals: u64,
    /// New local transitions of leaves.
    pub moves: u64,
    /// New states of the system, as far as the sketch can tell.
    pub distinct: f64,
    /// Findings that nobody had before.
    pub findings: u64,
    /// What its last jobs have yielded for each state, and the part of the work it gets for that.
    pub yields: f64,
    /// Its part of the work.
    pub weight: f64,
    /// States that its jobs have grown to by what they found.
    pub size: u64,
    /// What it has done of the traces of the subsystem, if it is guided.
    pub traces: Option<Traces>,
}

/// Where a hunt is.
#[derive(Clone, PartialEq, Debug)]
pub struct HuntStatus {
    /// Jobs made.
    pub made: u64,
    /// Jobs whose feedback has come.
    pub done: u64,
    /// Jobs whose feedback was processed. What is below counts these only.
    pub processed: u64,
    /// Jobs that were lost and handed out again.
    pub lost: u64,
    /// All efforts added up; of `memory` and `widest` the greatest.
    pub total: Effort,
    /// States expanded to shorten findings.
    pub shortening: u64,
    /// Different findings.
    pub findings: u64,
    /// Whether every reachable state was seen.
    pub everything: bool,
    /// No run of this many steps or fewer ends with a violation: all states that far were expanded, and nothing was wrong.
    pub within: Option<u32>,
    /// What came of jobs of `prefix` that tell each other which states they have expanded, if they do.
    pub shared: Option<Shared>,
    /// Leaf by leaf.
    pub leaves: Vec<LeafCoverage>,
    /// Different states, an estimate.
    pub distinct: f64,
    /// Bit arrays.
    pub bits: Bits,
    /// What became of walks that may end in a trap.
    pub traps: Traps,
    /// Member by member.
    pub members: Vec<MemberStatus>,
}
