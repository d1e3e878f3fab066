//! The figures of a swarm as files have them: the page in a checkpoint, and a part of the result of `check`.
//!
//! Invariant: big numbers are written in digits as text, since programs that read numbers as floating-point ones would
//! lose some.

use crate::commands::hunt::Figures as HuntFigures;
use crate::quantities::{big, count, percent};
use crate::shown_trace::JSON_VERSION;
use gridlock_manager::slices::Progress;
use gridlock_manager::traces::swarm::Status;
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a run is, name by name: runs with the same ones can share a checkpoint.
pub type Identity = BTreeMap<String, String>;

/// Parts of the identity that decide what trace IDs mean and what is asked about them: the shards of one swarm share
/// them.
pub const OF_THE_SPACE: [&str; 6] =
    ["specification", "properties", "tables", "subsystem", "unroll", "traces"];
/// The part of the identity that says which IDs are to be done.
pub const IDS: &str = "ids";
/// What it says if all of them are.
pub const ALL_IDS: &str = "all";

/// Where a swarm is and what it took.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Numbers {
    /// Jobs made, jobs answered, jobs lost and handed out again.
    pub jobs_made: u64,
    pub jobs_done: u64,
    pub jobs_lost: u64,
    /// Jobs whose answer was taken into account.
    pub searches: u64,
    /// Trace IDs: to be done in all, and what became of them.
    pub ids_all: String,
    pub ids_remaining: String,
    pub ids_in_work: String,
    pub ids_explored: String,
    pub ids_pruned: String,
    pub ids_given_up: String,
    /// Finer guides made for single traces.
    pub finer_guides: u64,
    pub largest_states: u64,
    pub largest_job: u64,
    pub largest_memory_bytes: u64,
    pub longest_seconds: f64,
    pub total_states: u64,
    pub total_transitions: u64,
    /// The time of all searches, added up.
    pub total_seconds: f64,
    /// Whether the subsystem could have moved on where its cycles were bounded.
    pub bounded: bool,
}

impl Numbers {
    /// The figures of a status.
    pub fn new(status: &Status) -> Self {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        Numbers {
            jobs_made: status.made,
            jobs_done: status.done,
            jobs_lost: status.lost,
            searches: status.processed,
            ids_all: status.all.to_string(),
            ids_remaining: status.remaining.to_string(),
            ids_in_work: status.in_work.to_string(),
            ids_explored: status.explored.to_string(),
            ids_pruned: status.pruned.to_string(),
            ids_given_up: status.given_up.to_string(),
            finer_guides: status.nested,
            largest_states: status.largest.value,
            largest_job: status.largest.number,
            largest_memory_bytes: status.most_memory.value,
            longest_seconds: seconds(status.longest.value),
            total_states: status.total.states,
            total_transitions: status.total.transitions,
            total_seconds: seconds(status.total.nanoseconds),
            bounded: status.bounded,
        }
    }
}

/// A number that a file has as text, shortened for people. Text that is no number stays as it is.
pub fn shown(digits: &str) -> String {
    digits.parse::<BigUint>().map_or_else(|_| digits.to_owned(), |n| big(&n))
}

/// How far a swarm is, for the line of progress.
pub fn progress(status: &Status) -> String {
    let in_work = status.made.saturating_sub(status.done);
    format!(
        "{} jobs done, {} in work, {} = {} IDs remaining, largest job {} states",
        count(status.done),
        count(in_work),
        percent(&status.remaining, &status.all),
        big(&status.remaining),
        count(status.largest.value)
    )
}

/// The part of the IDs that are done with, from 0 to 1.
pub fn part_done(status: &Status) -> f64 {
    let open = &status.remaining + &status.in_work;
    if status.all == BigUint::ZERO || open > status.all {
        return 0.0;
    }
    let millionths = (&status.all - open) * 1_000_000u32 / &status.all;
    u32::try_from(millionths).map_or(0.0, |n| f64::from(n) / 1e6)
}

/// The page in a checkpoint, for whoever wants to know how far the run is.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Page {
    pub version: u32,
    /// Version of the program.
    pub gridlock: String,
    /// The file, as named on the command line.
    pub specification: String,
    /// When the page was written, in seconds since 1970.
    pub written: u64,
    /// Time of this run so far; what was done before it was resumed does not count.
    pub seconds: f64,
    pub workers: usize,
    /// Answers that were in the checkpoint when the run began.
    pub resumed: usize,
    pub identity: Identity,
    /// Where a swarm over traces is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub numbers: Option<Numbers>,
    /// Where a search by slices is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub slices: Option<SliceNumbers>,
    /// Where a hunt is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hunt: Option<HuntFigures>,
}

impl Page {
    /// A page of now, without numbers.
    pub fn new(specification: &str, time: Duration, workers: usize, identity: Identity) -> Self {
        Page {
            version: JSON_VERSION,
            gridlock: env!("CARGO_PKG_VERSION").to_owned(),
            specification: specification.to_owned(),
            written: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()),
            seconds: time.as_secs_f64(),
            workers,
            resumed: 0,
            identity,
            numbers: None,
            slices: None,
            hunt: None,
        }
    }

    /// The page as bytes. One that cannot be written is no reason to stop, and numbers and texts always can.
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }
}

/// Where a search by slices is and what it took.
#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
pub struct SliceNumbers {
    pub states: u64,
    pub transitions: u64,
    pub slices: u64,
    pub largest_states: u64,
    /// States in inboxes; some of them more than once.
    pub states_waiting: u64,
    pub rounds: u64,
    pub activations: u64,
    pub divided: u64,
    pub memory_bytes: u64,
    pub spilled_bytes: u64,
}

impl SliceNumbers {
    /// The figures of a search.
    pub fn new(progress: &Progress) -> Self {
        SliceNumbers {
            states: progress.states,
            transitions: progress.transitions,
            slices: progress.slices,
            largest_states: progress.largest,
            states_waiting: progress.waiting,
            rounds: progress.rounds,
            activations: progress.activations,
            divided: progress.splits,
            memory_bytes: progress.memory,
            spilled_bytes: progress.spilled,
        }
    }
}
