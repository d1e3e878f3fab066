//! Guided jobs of a hunt: done by the worker of informed swarms, with an observer that records coverage.
//!
//! The worker passes states only to the observer, so their steps are computed once more for the record; a guided search
//! spends most of its time elsewhere.

use super::job::{HuntEnd, HuntFinding};
use super::survey::Survey;
use crate::guided::Worker;
use crate::job::{Feedback, Job, JobEnd, JobLimits, Then};
use crate::sketch::hash;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};

/// Does a guided job within the limits of the hunt's job. A finding goes to the survey. The feedback then reports that the
/// limits were reached, so that what the search left out does not count as searched.
pub(super) fn run<S: Successors>(
    survey: &mut Survey<S>,
    worker: &mut Worker<S>,
    job: &Job,
) -> (HuntEnd, Feedback) {
    let limits = JobLimits { states: survey.limits.states, memory: survey.limits.memory };
    let job = Job { limits, ..job.clone() };
    let (system, seen) = (survey.system, &mut survey.seen);
    let mut steps = Steps::new(system.width().words());
    let mut left = limits.states;
    let mut feedback = worker.observed(&job, survey.life, &mut |state| {
        // The search tells of a state before it looks at its limits.
        if left == 0 {
            return;
        }
        left -= 1;
        steps.clear();
        // It is about to expand the state as well, and says what is wrong if that fails.
        if system.expand(state, &mut steps).is_ok() {
            seen.enter(None, state, hash(state));
            seen.look_at(state, &steps);
        }
    });
    survey.effort = feedback.effort;
    let exhaustive = job.path.is_empty() && job.refinements.is_empty() && job.then == Then::Free;
    let end = match std::mem::replace(&mut feedback.end, JobEnd::OverBudget) {
        JobEnd::Found(finding) => {
            let (found_steps, after_states) = (finding.path.len() as u64, feedback.effort.states);
            survey.findings.push(HuntFinding { finding, ending: None, found_steps, after_states });
            return (HuntEnd::Complete, feedback);
        }
        JobEnd::Complete if exhaustive && !feedback.bounded => HuntEnd::Everything,
        JobEnd::Complete => HuntEnd::Complete,
        JobEnd::OverBudget => HuntEnd::OverBudget,
        JobEnd::Interrupted => HuntEnd::Interrupted,
        JobEnd::Failed(why) => HuntEnd::Failed(why),
    };
    feedback.end = match &end {
        HuntEnd::Everything | HuntEnd::Complete => JobEnd::Complete,
        HuntEnd::OverBudget => JobEnd::OverBudget,
        HuntEnd::Interrupted => JobEnd::Interrupted,
        HuntEnd::Failed(why) => JobEnd::Failed(why.clone()),
    };
    (end, feedback)
}
