//! How many IDs a job may have.
//!
//! Nothing is known at first, so the first job is everything. A job over its budget shows that this many IDs are too many; a
//! job of about the size allowed that used little of its budget shows that more would do. Both compare with the limit as it
//! is when the feedback is processed, so the many jobs made under one limit change it once and not once for each of them.

use gridlock_worker::job::{Effort, JobLimits};
use num_bigint::BigUint;

/// The limit for the IDs of a job.
#[derive(Clone, Debug)]
pub(super) struct Sizing {
    /// `None`: no limit yet.
    limit: Option<BigUint>,
}

impl Sizing {
    pub(super) fn new(limit: Option<BigUint>) -> Self {
        Sizing { limit }
    }

    pub(super) fn limit(&self) -> Option<&BigUint> {
        self.limit.as_ref()
    }

    /// Halves the limit, to one ID at least.
    pub(super) fn over_budget(&mut self, ids: &BigUint) {
        let half = (ids / 2u32).max(BigUint::from(1u32));
        if self.limit.as_ref().is_none_or(|limit| half < *limit) {
            self.limit = Some(half);
        }
    }

    /// Doubles the limit if the job had more than half of the allowed IDs and used less than a quarter of its limits.
    pub(super) fn complete(&mut self, ids: &BigUint, effort: &Effort, limits: &JobLimits) {
        let small = effort.states < limits.states / 4 && effort.memory < limits.memory / 4;
        if let Some(limit) = self.limit.as_mut().filter(|limit| small && ids * 2u32 > **limit) {
            *limit *= 2u32;
        }
    }
}
