//! What the choice of a subsystem predicts of the swarm, to be compared with what happened.
//!
//! Jobs that hand on their borders expand each state once, so what they need follows from the size of the state space and
//! that of a job. Along single traces the short searches of the choice speak for all. Invariant: nothing here is known only
//! once the swarm has run.

use super::choose::Choice;
use super::numbers::shown;
use crate::method::quantities::count;
use crate::traces::swarm::{Config, Granularity};
use num_bigint::BigUint;
use serde::Serialize;

/// What is expected.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct Predicted {
    /// Searches, in digits: at most so many if prefixes are jobs that hand on nothing.
    pub searches: String,
    /// States of the largest search.
    pub largest_states: u64,
    /// States of all searches together as a multiple of the state space.
    pub work_factor: f64,
    /// States of the system.
    pub state_space: u64,
}

impl Predicted {
    /// What a choice means for a swarm that is run like this.
    pub fn new(choice: &Choice, config: &Config) -> Option<Self> {
        let best = choice.candidates.first()?;
        let state_space = choice.likely_states.max(1);
        if config.borders && config.granularity == Granularity::Prefix {
            let job = config.limits.states.min(state_space);
            let searches = state_space.div_ceil(job.max(1)).to_string();
            return Some(Predicted { searches, largest_states: job, work_factor: 1.0, state_space });
        }
        let total: BigUint = best.predicted_total.parse().ok()?;
        let times = total * 100u32 / state_space;
        Some(Predicted {
            searches: best.traces.clone(),
            largest_states: best.largest_states,
            // Beyond what a number can say it is as good as endless.
            work_factor: u64::try_from(times).map_or(f64::INFINITY, |times| times as f64 / 100.0),
            state_space,
        })
    }

    /// For people.
    pub fn told(&self) -> String {
        format!(
            "{} searches, largest {} states, work factor {:.2}, {} states in all",
            shown(&self.searches),
            count(self.largest_states),
            self.work_factor,
            count(self.state_space)
        )
    }
}
