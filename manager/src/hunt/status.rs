//! The progress of a hunt, its findings, and why it ended.

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
    /// The job that found it; doing that job again finds it again.
    pub job: HuntJob,
    /// The member that the job belongs to.
    pub member: Kind,
    /// The violation, and the path to it.
    pub finding: HuntFinding,
    /// States expanded by the jobs before, and by this one until then.
    pub states: u64,
}

/// Why a hunt is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HuntOutcome {
    /// The wanted number of findings was reached.
    Findings,
    /// A search has expanded every reachable state, or guided ones together have.
    Everything,
    /// The limit on jobs was reached.
    Jobs,
    /// The limit on states was reached.
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
    /// Its jobs.
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
    /// Findings that no member had before.
    pub findings: u64,
    /// The yield of its last jobs for each state expanded.
    pub yields: f64,
    /// Its part of the work.
    pub weight: f64,
    /// The states of its jobs, grown by their findings.
    pub size: u64,
    /// The traces of the subsystem that it has done, if it is guided.
    pub traces: Option<Traces>,
}

/// The progress of a hunt.
#[derive(Clone, PartialEq, Debug)]
pub struct HuntStatus {
    /// Jobs made.
    pub made: u64,
    /// Jobs whose feedback has come.
    pub done: u64,
    /// Jobs whose feedback was processed. All figures below count these only.
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
    /// No run of this many steps or fewer ends with a violation: all states up to that depth were expanded, without a finding.
    pub within: Option<u32>,
    /// The figures about states that jobs of `prefix` share, if they share them.
    pub shared: Option<Shared>,
    /// Leaf by leaf.
    pub leaves: Vec<LeafCoverage>,
    /// Different states, an estimate.
    pub distinct: f64,
    /// Bit arrays.
    pub bits: Bits,
    /// The counts of walks that may end in a trap.
    pub traps: Traps,
    /// Member by member.
    pub members: Vec<MemberStatus>,
}
