//! Paths in messages where tables are filled as needed.
//!
//! Numbers of vectors and local states then have a meaning in one process only, and lose it when that process ends. The order
//! of a state's steps ([`Lazy::in_order`]) does not depend on these numbers. So in a message a step is the number of the step
//! among those of its state, in place of the vector, and its target is left out. The receiver takes the steps on its own
//! tables. Invariant: a path that is encoded and decoded again, in this process or in another one, leads to the same state.

use super::job::{Below, HuntFeedback, HuntJob, Left, Method};
use super::survey::Path;
use crate::job::{Finding, What};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::Outcome;

/// Translates a vector and a target to the number of the step among those of its state, and back.
struct Translator<'a> {
    lazy: &'a Lazy<'static>,
    steps: Steps,
}

impl<'a> Translator<'a> {
    fn new(lazy: &'a Lazy<'static>) -> Self {
        Translator { lazy, steps: Steps::new(lazy.width().words()) }
    }

    /// The number that stands for a step in a message.
    fn tell(&mut self, from: &[u64], step: &(u32, Vec<u64>)) -> Result<u32> {
        self.steps.clear();
        self.lazy.expand(from, &mut self.steps)?;
        let place = self.steps.iter().position(|(to, via)| via.vector().0 == step.0 && to == &step.1[..]);
        place.map(|place| place as u32).ok_or_else(|| Error::internal("a step of a path is not possible"))
    }

    /// The step that a number in a message stands for in this process.
    fn hear(&mut self, from: &[u64], place: u32) -> Result<(u32, Vec<u64>)> {
        self.steps.clear();
        self.lazy.expand(from, &mut self.steps)?;
        let place = place as usize;
        if place >= self.steps.len() {
            return Err(Error::input("a path has a step that its state does not have"));
        }
        Ok((self.steps.vias()[place].vector().0, self.steps.target(place).to_vec()))
    }

    fn encode_path(&mut self, from: &[u64], path: &Path) -> Result<Path> {
        let mut at = from;
        let mut told = Vec::with_capacity(path.len());
        for step in path {
            told.push((self.tell(at, step)?, Vec::new()));
            at = &step.1;
        }
        Ok(told)
    }

    fn decode_path(&mut self, from: &[u64], path: &Path) -> Result<Path> {
        let mut heard: Path = Vec::with_capacity(path.len());
        for (place, _) in path {
            let at = heard.last().map_or(from, |(_, state)| state);
            let step = self.hear(at, *place)?;
            heard.push(step);
        }
        Ok(heard)
    }
}

/// Where the search of a job begins.
fn first_of(lazy: &Lazy<'static>, job: &HuntJob) -> Vec<u64> {
    match &job.method {
        Method::Prefix { path, .. } => path.last().map(|(_, state)| state.clone()),
        _ => None,
    }
    .unwrap_or_else(|| lazy.initial())
}

/// Translates a job to the form that it has in messages.
pub fn encode_job(lazy: &Lazy<'static>, job: &HuntJob) -> Result<HuntJob> {
    with_path(lazy, job, |speaker, from, path| speaker.encode_path(from, path))
}

/// Translates a job from the form that it has in messages.
pub fn decode_job(lazy: &Lazy<'static>, job: &HuntJob) -> Result<HuntJob> {
    with_path(lazy, job, |speaker, from, path| speaker.decode_path(from, path))
}

type Change = fn(&mut Translator, &[u64], &Path) -> Result<Path>;

fn with_path(lazy: &Lazy<'static>, job: &HuntJob, change: Change) -> Result<HuntJob> {
    let mut job = job.clone();
    if let Method::Prefix { path, .. } = &mut job.method {
        *path = change(&mut Translator::new(lazy), &lazy.initial(), path)?;
    }
    Ok(job)
}

/// Translates a feedback to the form that it has in messages. The job has its path in the numbers of this process.
pub fn encode_feedback(lazy: &Lazy<'static>, job: &HuntJob, feedback: &mut HuntFeedback) -> Result<()> {
    let (mut speaker, end) = (Translator::new(lazy), first_of(lazy, job));
    for found in &mut feedback.findings {
        found.finding.path = speaker.encode_path(&lazy.initial(), &found.finding.path)?;
        if let What::Fault(number) = &mut found.finding.what {
            *number = 0;
        }
    }
    if let Some(Below { from, left, .. }) = &mut feedback.below {
        from.clear();
        if let Some(Left { spine, pending }) = left {
            for pending in pending {
                let at = frame(spine, pending.frame, &end)?;
                let state = std::mem::take(&mut pending.state);
                pending.vector = speaker.tell(at, &(pending.vector, state))?;
            }
            *spine = speaker.encode_path(&end, spine)?;
        }
    }
    Ok(())
}

/// Translates a finding of a message to the numbers of this process.
pub fn decode_finding(lazy: &Lazy<'static>, finding: &mut Finding) -> Result<()> {
    let mut speaker = Translator::new(lazy);
    finding.path = speaker.decode_path(&lazy.initial(), &finding.path)?;
    match (&mut finding.what, finding.path.last()) {
        (What::Fault(number), Some((vector, _))) => {
            let outcome = lazy.with_network(|net| net.vectors[*vector as usize].outcome);
            let Outcome::Fault(fault) = outcome else {
                return Err(Error::input("a finding does not end with a fault"));
            };
            *number = fault;
        }
        // A replay looks at the table of every local state there.
        (What::Deadlock(_), last) => {
            let end = last.map_or_else(|| lazy.initial(), |(_, state)| state.clone());
            speaker.steps.clear();
            lazy.expand(&end, &mut speaker.steps)?;
        }
        _ => {}
    }
    Ok(())
}

/// Translates the part about prefixes in the feedback of a message. The job has its path in the numbers of this process.
pub fn decode_below(lazy: &Lazy<'static>, job: &HuntJob, feedback: &mut HuntFeedback) -> Result<()> {
    let (mut speaker, end) = (Translator::new(lazy), first_of(lazy, job));
    if let Some(Below { from, left, .. }) = &mut feedback.below {
        from.clone_from(&end);
        if let Some(Left { spine, pending }) = left {
            *spine = speaker.decode_path(&end, spine)?;
            for pending in pending {
                let at = frame(spine, pending.frame, &end)?;
                (pending.vector, pending.state) = speaker.hear(at, pending.vector)?;
            }
        }
    }
    Ok(())
}

/// The state after the given number of steps of a spine.
fn frame<'s>(spine: &'s Path, frame: u32, first: &'s [u64]) -> Result<&'s [u64]> {
    match (frame as usize).checked_sub(1) {
        None => Ok(first),
        Some(before) => spine
            .get(before)
            .map(|(_, state)| &state[..])
            .ok_or_else(|| Error::input("a pending state is behind no step of the spine")),
    }
}
