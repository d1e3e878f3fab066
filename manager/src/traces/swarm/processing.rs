//! Processes feedback: what it means for the IDs.

use super::border::Node;
use super::course::{Again, Point};
use super::status::{Class, Event, Pruned, SwarmOutcome};
use super::{Granularity, Part, Swarm, is_end};
use gridlock_lts::base::error::Error;
use gridlock_lts::guide::{EdgeIx, StateIx};
use gridlock_worker::job::{Feedback, Job, JobEnd, Then};
use num_bigint::BigUint;
use std::ops::Range;

/// A job whose feedback is being processed.
pub(super) struct Answered {
    pub(super) job: Job,
    /// The space of its IDs, which is still there.
    pub(super) space: usize,
    pub(super) ids: Range<BigUint>,
    /// How many of the IDs were to be done when it was made.
    pub(super) count: BigUint,
    pub(super) feedback: Feedback,
}

impl Swarm<'_> {
    /// Processes the feedback to the next job, if it has arrived.
    pub(super) fn process(&mut self) -> bool {
        let Some((job, Part { space, ids, count, nodes }, (feedback, worker))) = self.ledger.process() else {
            return false;
        };
        self.status.add(job.number, &feedback.effort);
        self.status.bounded |= feedback.bounded;
        let before = self.distinct_if_recorded();
        if self.config.granularity == Granularity::Prefix {
            let repeats = self.overlap.add(&feedback.seen, self.status.total.states, self.config.work_limit);
            self.repeats = self.repeats.or(repeats);
        }
        let answered = Answered { job, space, ids, count, feedback };
        if self.config.record {
            self.note_course(&answered, worker, before);
        }
        let mut pruned = Vec::new();
        let class = self.judge(&answered, &nodes, &mut pruned);
        self.settle(space);
        // Of a class that was followed in vain the IDs mean nothing any more.
        if self.config.record && answered.job.any_order == self.status.any_order {
            let Answered { job: Job { number, .. }, ids, feedback: Feedback { effort, .. }, .. } = answered;
            let ids = if nodes.is_empty() { vec![ids] } else { nodes.into_iter().map(|n| n.ids).collect() };
            self.events.push(Event { number, space, worker, ids, class, pruned, effort });
        }
        true
    }

    /// The number of different states so far by the sketch, if a page needs it.
    fn distinct_if_recorded(&self) -> u64 {
        if self.config.record { self.overlap.distinct().unwrap_or(0) } else { 0 }
    }

    /// Records the work after a job; `before` is the number of different states before it.
    fn note_course(&mut self, answered: &Answered, worker: u32, before: u64) {
        let Some(different) = self.different() else { return };
        let (jobs, states) = (self.ledger.processed(), self.status.total.states);
        self.course.add(Point { jobs, states, different });
        let Some(space) = self.spaces[answered.space].as_ref().filter(|_| different.estimated) else {
            return;
        };
        let Job { number, path, .. } = &answered.job;
        let states = answered.feedback.effort.states;
        let new = self.distinct_if_recorded().saturating_sub(before).min(states);
        let (repeated, prefix, left_out) = (states - new, Vec::new(), 0);
        let job = Again { number: *number, worker, states, repeated, prefix, left_out };
        self.course.repeat(job, path, |edge| space.guide.label(self.net, EdgeIx(edge)));
    }

    fn judge(&mut self, answered: &Answered, nodes: &[Node], pruned: &mut Vec<Pruned>) -> Class {
        let number = answered.job.number;
        match &answered.feedback.end {
            JobEnd::Failed(reason) => return self.fail(number, reason.clone()),
            JobEnd::Found(finding) => {
                self.outcome = Some(SwarmOutcome::Found { finding: finding.clone(), number });
                self.found_from = answered.feedback.left.from.clone();
                return Class::Found;
            }
            JobEnd::Complete | JobEnd::OverBudget | JobEnd::Interrupted => {}
        }
        if answered.job.handed.is_some() {
            return self.judge_handed(answered, nodes);
        }
        if answered.job.any_order {
            return self.judge_in_any_order(answered, pruned);
        }
        // Of a space that is gone all IDs were explored or pruned; there is nothing to add.
        let Some(space) = self.spaces[answered.space].as_mut() else { return Class::Explored };
        if let Err(reason) = space.fits(&answered.job.path, &answered.feedback) {
            let why = format_args!("the feedback does not fit the job: {reason}");
            return self.fail(number, Error::internal(why));
        }
        space.prune(&answered.job.path, &answered.feedback.possible, pruned);
        if answered.feedback.end == JobEnd::Complete {
            // Of a path that could not be followed the whole range is pruned now; it says nothing about sizes.
            if space.explore(&answered.ids) > BigUint::ZERO {
                space.sizing.complete(&answered.count, &answered.feedback.effort, &answered.job.limits);
            }
            return Class::Explored;
        }
        if let Some(frontier) = &mut space.frontier {
            // The whole is too large for a job that moves anywhere.
            frontier.begin(answered.ids.clone());
            space.in_work.move_to(&answered.ids, &mut space.remaining);
            return Class::Split;
        }
        let path = &answered.job.path;
        let end = path.last().map_or(StateIx(0), |&edge| space.guide.edge(EdgeIx(edge)).target);
        match answered.feedback.possible.get(path.len()) {
            Some(edges) if answered.job.then == Then::Free && !is_end(&space.guide, end) => {
                space.split(&answered.job.path, &answered.ids, edges, pruned);
                space.sizing.over_budget(&answered.count);
                Class::Split
            }
            _ if !space.in_work.intersects(&answered.ids) => Class::Explored,
            _ => self.divide(answered),
        }
    }

    pub(super) fn fail(&mut self, number: u64, reason: Error) -> Class {
        self.outcome = Some(SwarmOutcome::Failed { number, reason });
        Class::Failed
    }
}
