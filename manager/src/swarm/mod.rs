//! A swarm: jobs out, feedback in, until every trace ID is explored or known to be impossible.
//!
//! Invariant: the sequence of jobs is a function of the configuration and the contents of the feedback. Feedback is
//! processed strictly in the order of job numbers, and job n is made when exactly as much of it has been processed as
//! the [`Pace`] says; what arrives early waits. So feedback is processed when the next job asks for it and not when it
//! comes. Once a violation has arrived no further job is made: all of them would have higher numbers than its own, so
//! the jobs made are a beginning of that sequence, and the outcome is the violation with the lowest number in it.

mod config;
mod nested;
mod processing;
mod seen;
mod sizing;
mod space;
mod status;
#[cfg(test)]
mod tests;

pub use crate::machine::{Accepted, Next};
pub use config::{Config, Granularity, Pace};
pub use status::{Class, Event, Extreme, Outcome, Pruned, Status, Stuck};

use crate::machine::Machine;
use gridlock_lts::base::hash::Set;
use gridlock_lts::guide::{EdgeIx, Guide, StateIx};
use gridlock_lts::model::network::Network;
use gridlock_worker::job::{End, Feedback, Job, JobLimits, Then};
use num_bigint::BigUint;
use sizing::Sizing;
use space::Space;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// A job that was made and whose feedback has not been processed.
struct Made {
    job: Job,
    /// The space of its IDs.
    space: usize,
    ids: Range<BigUint>,
    /// How many of the IDs were to be done when it was made.
    count: BigUint,
    feedback: Option<(Feedback, u32)>,
}

/// Why a processed job says that the swarm is over.
fn ends(end: &End) -> bool {
    matches!(end, End::Found(_) | End::Failed(_))
}

/// An informed swarm over one guide, with finer guides for traces that are too large for a job.
pub struct Swarm<'n> {
    net: &'n Network,
    config: Config,
    /// Those of finer guides are dropped when nothing is left to do in them.
    spaces: Vec<Option<Space>>,
    /// The spaces in which IDs remain.
    open: BTreeSet<usize>,
    /// The jobs from number `processed` on.
    jobs: VecDeque<Made>,
    processed: u64,
    /// So much feedback must have been processed before the next job is made.
    due: u64,
    /// Numbers of jobs to be handed out again.
    lost: BTreeSet<u64>,
    /// The lowest number of a job that has found a violation or failed.
    stop: Option<u64>,
    /// Nodes for which no finer guide helps.
    hopeless: Set<nested::Node>,
    stuck: Vec<Stuck>,
    status: Status,
    events: Vec<Event>,
    outcome: Option<Outcome>,
}

impl<'n> Swarm<'n> {
    /// A swarm over the traces of a guide of that network.
    pub fn new(net: &'n Network, guide: Guide, config: Config) -> Self {
        let space = Space::new(guide, Vec::new(), &config, Sizing::new(None));
        let mut swarm = Swarm {
            net,
            config,
            spaces: vec![Some(space)],
            open: BTreeSet::new(),
            jobs: VecDeque::new(),
            processed: 0,
            due: 0,
            lost: BTreeSet::new(),
            stop: None,
            hopeless: Set::default(),
            stuck: Vec::new(),
            status: Status::default(),
            events: Vec::new(),
            outcome: None,
        };
        swarm.settle(0);
        swarm
    }

    /// The space of the swarm's own guide.
    fn own(&self) -> &Space {
        self.spaces[0].as_ref().expect("the first space is never dropped")
    }

    /// The guide of the swarm.
    pub fn guide(&self) -> &Guide {
        &self.own().guide
    }

    /// How it is run.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// From now on jobs may use this much.
    pub fn allow(&mut self, limits: JobLimits) {
        self.config.limits = limits;
    }

    /// What to do next.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Next {
        if self.outcome.is_some() {
            return Next::Done;
        }
        if let Some(stop) = self.stop {
            // What came before may have found something too.
            while self.process() {
                if self.outcome.is_some() {
                    return Next::Done;
                }
            }
            let again = self.lost.first().copied().filter(|&number| number < stop);
            return again.map_or(Next::Wait, |number| self.hand_out_again(number));
        }
        if let Some(&number) = self.lost.first() {
            return self.hand_out_again(number);
        }
        loop {
            while self.processed < self.due {
                if !self.process() {
                    return Next::Wait;
                }
                if self.outcome.is_some() {
                    return Next::Done;
                }
            }
            if let Some(job) = self.make() {
                return Next::Job(job);
            }
            if self.jobs.is_empty() {
                self.finish();
                return Next::Done;
            }
            self.due = self.config.pace.due_when_stalled(self.processed, self.status.made);
        }
    }

    /// Takes the answer to a job, from a worker that is only remembered for the record.
    pub fn accept(&mut self, feedback: Feedback, worker: u32) -> Accepted {
        let number = feedback.number;
        if number >= self.status.made {
            return Accepted::Unknown;
        }
        let Some(job) = self.waiting(number) else { return Accepted::Duplicate };
        if feedback.end == End::Interrupted {
            self.lost(number);
            return Accepted::New;
        }
        let ends = ends(&feedback.end);
        job.feedback = Some((feedback, worker));
        self.lost.remove(&number);
        self.status.done += 1;
        if ends {
            self.stop = Some(self.stop.map_or(number, |stop| stop.min(number)));
        }
        Accepted::New
    }

    /// Is told that nobody works on a job any more: it is handed out again. False if its feedback is there or there is
    /// no such job.
    pub fn lost(&mut self, number: u64) -> bool {
        let waiting = self.waiting(number).is_some();
        if waiting && self.lost.insert(number) {
            self.status.lost += 1;
        }
        waiting
    }

    /// Where the swarm is.
    pub fn status(&self) -> Status {
        let space = self.own();
        Status {
            all: space.all(),
            remaining: space.remaining.count(),
            in_work: space.in_work.count(),
            explored: space.explored.clone(),
            pruned: space.pruned.clone(),
            given_up: space.given_up.count(),
            processed: self.processed,
            nested: self.spaces.len() as u64 - 1,
            ..self.status.clone()
        }
    }

    /// What came of it, once [`Swarm::next`] says that it is done.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// The events since they were last taken, if they are recorded.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// A job without feedback.
    fn waiting(&mut self, number: u64) -> Option<&mut Made> {
        let at = usize::try_from(number.checked_sub(self.processed)?).ok()?;
        self.jobs.get_mut(at).filter(|job| job.feedback.is_none())
    }

    fn hand_out_again(&mut self, number: u64) -> Next {
        self.lost.remove(&number);
        let job = self.waiting(number).expect("a lost job has no feedback");
        Next::Job(job.job.clone())
    }

    /// Makes a job, if IDs remain. Finer guides first: then they are not needed any longer than necessary.
    fn make(&mut self) -> Option<Job> {
        let &at = self.open.last()?;
        let space = self.spaces.get_mut(at)?.as_mut()?;
        let pick = space.pick()?;
        let job = Job {
            number: self.status.made,
            refinements: space.refinements.clone(),
            then: if self.config.granularity == Granularity::Trace { Then::Stop } else { Then::Free },
            path: pick.path,
            order: self.config.order,
            limits: self.config.limits,
        };
        self.jobs.push_back(Made {
            job: job.clone(),
            space: at,
            ids: pick.ids,
            count: pick.count,
            feedback: None,
        });
        self.status.made += 1;
        self.due = self.config.pace.due(self.due, self.status.made);
        self.settle(at);
        Some(job)
    }

    fn finish(&mut self) {
        let space = self.own();
        assert!(space.is_settled(), "every trace ID has been done when no job is left");
        let stuck = std::mem::take(&mut self.stuck);
        self.outcome = Some(if stuck.is_empty() {
            Outcome::Exhausted { bounded: self.status.bounded }
        } else {
            Outcome::Stuck(stuck)
        });
    }
}

impl Machine for Swarm<'_> {
    type Job = Job;
    type Answer = Feedback;
    type Status = Status;

    fn next(&mut self) -> Next {
        Swarm::next(self)
    }

    fn accept(&mut self, answer: Feedback, worker: u32) -> Accepted {
        Swarm::accept(self, answer, worker)
    }

    fn lost(&mut self, number: u64) -> bool {
        Swarm::lost(self, number)
    }

    fn status(&self) -> Status {
        Swarm::status(self)
    }

    fn made_and_done(&self) -> (u64, u64) {
        (self.status.made, self.status.done)
    }

    fn keeps_times(&self) -> bool {
        self.config.record
    }
}

/// Whether no trace goes on from a state.
fn is_end(guide: &Guide, state: StateIx) -> bool {
    guide.edges_of(state).all(|edge| guide.edge(EdgeIx(edge)).cut)
}
