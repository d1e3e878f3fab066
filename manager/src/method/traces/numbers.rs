//! The figures of a swarm as files have them: in the page of a checkpoint, and as a part of the result.
//!
//! Invariant: big numbers are written in digits as text, since programs that read numbers as floating-point ones would lose
//! digits.

use crate::method::Row;
use crate::method::quantities::{big, bytes, count};
use crate::traces::swarm::SwarmStatus;
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

/// The progress and the effort of a swarm.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[allow(missing_docs)]
pub struct SwarmNumbers {
    /// Jobs made, jobs answered, jobs lost and handed out again.
    pub jobs_made: u64,
    pub jobs_done: u64,
    pub jobs_lost: u64,
    /// Jobs whose answer was processed.
    pub searches: u64,
    /// Trace IDs: all to be done, and their classes.
    pub ids_all: String,
    pub ids_remaining: String,
    pub ids_in_work: String,
    pub ids_explored: String,
    pub ids_pruned: String,
    /// Those struck off before the first job.
    #[serde(default)]
    pub ids_irrelevant: String,
    pub ids_given_up: String,
    /// Finer guides made for single traces.
    pub finer_guides: u64,
    pub largest_states: u64,
    pub largest_job: u64,
    pub largest_memory_bytes: u64,
    pub longest_seconds: f64,
    pub total_states: u64,
    pub total_transitions: u64,
    /// Different states among them, and whether that is an estimate; `None` if it is unknown.
    pub different_states: Option<u64>,
    pub different_estimated: bool,
    /// Whether jobs handed on the states that they left up to the end, and how many states these were.
    pub borders: bool,
    pub handed_on: u64,
    /// Whether jobs were classes of orders up to the end, and if so how many beginnings are possible that no job has followed.
    #[serde(default)]
    pub any_order: bool,
    #[serde(default)]
    pub open_beginnings: Option<u64>,
    /// The time of all searches, added up.
    pub total_seconds: f64,
    /// Whether the subsystem could have moved on where its cycles were bounded.
    pub bounded: bool,
}

impl SwarmNumbers {
    /// The figures of a status.
    pub fn new(status: &SwarmStatus) -> Self {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        SwarmNumbers {
            jobs_made: status.made,
            jobs_done: status.done,
            jobs_lost: status.lost,
            searches: status.processed,
            ids_all: status.all.to_string(),
            ids_remaining: status.remaining.to_string(),
            ids_in_work: status.in_work.to_string(),
            ids_explored: status.explored.to_string(),
            ids_pruned: status.pruned.to_string(),
            ids_irrelevant: status.irrelevant.to_string(),
            ids_given_up: status.given_up.to_string(),
            finer_guides: status.nested,
            largest_states: status.largest.value,
            largest_job: status.largest.number,
            largest_memory_bytes: status.most_memory.value,
            longest_seconds: seconds(status.longest.value),
            total_states: status.total.states,
            total_transitions: status.total.transitions,
            different_states: status.different.map(|different| different.states),
            different_estimated: status.different.is_some_and(|different| different.estimated),
            borders: status.borders,
            handed_on: status.handed_on,
            any_order: status.any_order,
            open_beginnings: status.beginnings,
            total_seconds: seconds(status.total.nanoseconds),
            bounded: status.bounded,
        }
    }

    /// States expanded by all jobs together for each different one: against the size of the state space if that is known,
    /// and else against the different ones that jobs saw.
    pub fn work_factor(&self, state_space: Option<u64>) -> String {
        let of = |states: u64| self.total_states as f64 / states.max(1) as f64;
        match (state_space, self.different_states) {
            _ if self.total_states == 0 => "no search was needed".to_owned(),
            (Some(states), _) => format!("{:.2} times the state space", of(states)),
            (None, Some(states)) if self.different_estimated => {
                format!("about {:.1} times the different states", of(states).max(1.0))
            }
            (None, Some(states)) => format!("{:.2} times the different states", of(states)),
            (None, None) => "unknown: --states N or --compare-bfs tell it".to_owned(),
        }
    }

    /// For people who look at a checkpoint.
    pub fn rows(&self) -> Vec<Row> {
        let in_work = self.jobs_made.saturating_sub(self.jobs_done);
        let (left, all) = (shown(&self.ids_remaining), shown(&self.ids_all));
        let largest = format!("{} states, {}", count(self.largest_states), bytes(self.largest_memory_bytes));
        let mut rows = vec![
            ("work factor", self.work_factor(None)),
            ("jobs done", format!("{}, {} in work", count(self.jobs_done), count(in_work))),
            ("IDs remaining", format!("{left} of {all}")),
            ("IDs explored", shown(&self.ids_explored)),
            ("IDs pruned", shown(&self.ids_pruned)),
            ("largest search", largest),
            ("longest search", format!("{:.3} s", self.longest_seconds)),
            ("states in total", count(self.total_states)),
        ];
        rows.extend(self.open_beginnings.map(|open| ("to follow", format!("{} beginnings", count(open)))));
        rows
    }
}

/// A number that a file has as text, shortened for people. Text that is no number stays as it is.
pub fn shown(digits: &str) -> String {
    digits.parse::<BigUint>().map_or_else(|_| digits.to_owned(), |n| big(&n))
}

/// The progress of a swarm, for the line of progress.
pub fn progress(status: &SwarmStatus) -> String {
    let in_work = status.made.saturating_sub(status.done);
    // Of classes nobody knows how many of those that remain will have to be searched; what is open must be.
    let left = match status.beginnings {
        Some(open) => format!("{} beginnings to follow", count(open)),
        None => format!("{} IDs remaining", big(&status.remaining)),
    };
    format!(
        "{} jobs done, {} in work, {left}, largest job {} states",
        count(status.done),
        count(in_work),
        count(status.largest.value)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::swarm::Different;

    #[test]
    fn progress_is_what_is_known() {
        let mut status = SwarmStatus { made: 7, done: 5, ..SwarmStatus::default() };
        (status.all, status.remaining) = (BigUint::from(10u32).pow(9), 21u32.into());
        status.total.states = 3_000;
        status.largest.value = 900;
        // The IDs that remain are counted, however few of all they are, and nobody says how long that takes.
        assert_eq!(progress(&status), "5 jobs done, 2 in work, 21 IDs remaining, largest job 900 states");
        status.beginnings = Some(4);
        assert_eq!(
            progress(&status),
            "5 jobs done, 2 in work, 4 beginnings to follow, largest job 900 states"
        );
        let factor = |status: &SwarmStatus, space| SwarmNumbers::new(status).work_factor(space);
        assert_eq!(factor(&status, None), "unknown: --states N or --compare-bfs tell it");
        assert_eq!(factor(&status, Some(1_000)), "3.00 times the state space");
        status.different = Some(Different { states: 1_200, estimated: false });
        assert_eq!(factor(&status, None), "2.50 times the different states");
        status.different = Some(Different { states: 3_100, estimated: true });
        assert_eq!(factor(&status, None), "about 1.0 times the different states");
    }
}
