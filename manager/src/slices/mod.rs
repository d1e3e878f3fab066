//! Slices: an exhaustive search that needs memory for the largest slice, not for the state space.
//!
//! The states are partitioned by the local states of a subsystem; a slice is searched by one worker at a time, and what
//! leaves it waits in the inboxes of other slices. Slices that are not being searched are compressed, in memory or in
//! the spill directory. [`check`] is the whole road; the coordinator says which slices come next, the driver has the
//! threads, and the trace of a finding is rebuilt from what the slices remember.
//!
//! Invariant: states, transitions, deadlocks and verdict do not depend on the number of workers. `Holds` is said only
//! when no inbox has a state left, so every reachable state was expanded, exactly once.

mod choose;
mod coordinator;
mod driver;
mod reach;
#[cfg(test)]
mod tests;
mod trace;

pub use choose::{Candidate, Choice, choose_subsystem};
use gridlock_lts::network::{LeafIx, Local};
use gridlock_lts::prepared::{Prepared, Search};
use gridlock_lts::search::{Reason, Verdict};
use gridlock_lts::successors::Successors;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What a search by slices may spend, and whom it tells.
#[derive(Clone)]
pub struct Options<'a> {
    /// The number of threads.
    pub workers: usize,
    /// Bytes that a worker may use for the slice it searches. A slice that needs more is divided.
    pub job_memory: u64,
    /// Bytes for everything: the workers, and slices and inboxes that are put away. What does not fit is spilled.
    /// `None`: 80 % of what the machine or its control group has.
    pub max_memory: Option<u64>,
    /// Where states are spilled; `None`: the system's directory for temporary files.
    pub spill: Option<PathBuf>,
    /// Stop after so many states.
    pub max_states: Option<u64>,
    /// Stop after so much time.
    pub time_limit: Option<Duration>,
    /// Stop when this becomes true.
    pub cancel: Option<&'a AtomicBool>,
    /// Is told now and then how far the search is, from one of its threads.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            workers: 1,
            job_memory: 64 << 20,
            max_memory: None,
            spill: None,
            max_states: None,
            time_limit: None,
            cancel: None,
            progress: None,
        }
    }
}

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Progress {
    /// States expanded.
    pub states: u64,
    /// Their steps, as far as their activations have ended.
    pub transitions: u64,
    /// The round that is being worked on.
    pub rounds: u64,
    /// Slices known.
    pub slices: u64,
    /// States in inboxes when the round began; some of them more than once.
    pub waiting: u64,
    /// Bytes in use for what is put away.
    pub memory: u64,
    /// Bytes written to files so far.
    pub spilled: u64,
    /// Time since the search began.
    pub time: Duration,
}

/// Why a search ended without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// A limit that other searches have, too. [`Reason::Memory`] tells which: that of a job or that of all.
    Limit(Reason),
    /// The spill directory cannot be written.
    Disk(String),
}

/// The answer of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// `Holds`, `Violated` or `Faulty`.
    Verdict(Verdict),
    /// No answer.
    Unknown(Why),
}

/// The size of one slice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SliceSize {
    /// The local states of the subsystem, in the order in which its leaves were given.
    pub locals: Vec<Local>,
    /// Whether this is a part of a slice that was divided.
    pub part: bool,
    /// States.
    pub states: u64,
    /// How often it was activated.
    pub activations: u64,
}

/// What came out of a search by slices.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub answer: Answer,
    /// States expanded.
    pub states: u64,
    /// Their steps; faults are not counted.
    pub transitions: u64,
    /// How many of them have no steps.
    pub deadlocks: u64,
    /// How often slices were activated.
    pub activations: u64,
    /// Rounds.
    pub rounds: u64,
    /// How many slices were divided because they were too large for the job memory.
    pub splits: u64,
    /// The states of the largest slice.
    pub largest: u64,
    /// Slices whose states were forgotten because they could not be entered again.
    pub forgotten: u64,
    /// States that were sent from one slice to another.
    pub sent: u64,
    /// States that were loaded for activations.
    pub loaded: u64,
    /// The most bytes in use at a time: by the workers, and for what is put away.
    pub peak_memory: u64,
    /// The most bytes that one activation used.
    pub job_peak: u64,
    /// Bytes written to files.
    pub spilled: u64,
    /// The slices, in the order in which they were found.
    pub slices: Vec<SliceSize>,
    /// Time.
    pub time: Duration,
}

/// Checks the properties that are built into a network, by slices of a subsystem: the states that agree in the local
/// states of these leaves. An error is a defect: of the disk, or an internal one.
pub fn check(prepared: &Prepared, subsystem: &[LeafIx], options: &Options) -> Result<Report, String> {
    let leaves = prepared.net().leaves.len();
    if let Some(leaf) = subsystem.iter().find(|leaf| leaf.0 as usize >= leaves) {
        return Err(format!("internal: there is no leaf {}", leaf.0));
    }
    prepared.search(Slicing { prepared, subsystem, options, sample: None, started: Instant::now() })?
}

struct Slicing<'a> {
    prepared: &'a Prepared<'a>,
    subsystem: &'a [LeafIx],
    options: &'a Options<'a>,
    /// End after the round in which so many states are reached.
    sample: Option<u64>,
    started: Instant,
}

impl Search for Slicing<'_> {
    type Out = Result<Report, String>;

    fn search<S: Successors>(self, system: &S) -> Self::Out {
        driver::run(system, &self)
    }
}
