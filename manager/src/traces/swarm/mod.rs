//! A swarm: jobs out, feedback in, until every trace ID is explored or known to be impossible.
//!
//! Invariant: the sequence of jobs is a function of the configuration and the contents of the feedback. Feedback is processed
//! strictly in the order of job numbers, and job n is made when exactly as much of it has been processed as the [`Pace`]
//! says; feedback that arrives early waits. So feedback is processed when the next job is made and not when it arrives. Once
//! a violation has arrived no further job is made: all of them would have higher numbers than its own, so the jobs made are a
//! beginning of that sequence, and the outcome is the violation with the lowest number in it.

mod border;
mod classes;
mod config;
mod course;
mod history;
mod nested;
mod overlap;
mod processing;
mod seen;
mod sizing;
mod space;
mod status;
#[cfg(test)]
mod tests;

pub use config::{Config, Granularity, Pace};
pub use course::{Again, Course, Point};
pub use history::{Steps, WayWithin};
pub use overlap::Repeats;
pub use status::{Class, Different, Event, Extreme, Pruned, Stuck, SwarmOutcome, SwarmStatus};

use crate::grid::journal::Batch;
use crate::grid::ledger::{Ledger, resume_in_order};
use crate::grid::machine::{Accepted, Machine, Next, Reply};
use border::{Frontier, Node};
use classes::Classes;
use gridlock_lts::base::error::Result;
use gridlock_lts::base::hash::Set;
use gridlock_lts::guide::{EdgeIx, Guide, StateIx};
use gridlock_lts::model::network::Network;
use gridlock_worker::job::{Feedback, Job, JobEnd, JobLimits, Order, Spot, Then};
use history::History;
use num_bigint::BigUint;
use overlap::Overlap;
use sizing::Sizing;
use space::Space;
use std::collections::BTreeSet;
use std::ops::Range;

/// The IDs and states of a job.
struct Part {
    /// The space of its IDs.
    space: usize,
    ids: Range<BigUint>,
    /// How many of the IDs were to be done when it was made.
    count: BigUint,
    /// The nodes whose states were handed to it.
    nodes: Vec<Node>,
}

/// Whether the end of a processed job ends the swarm.
fn ends(end: &JobEnd) -> bool {
    matches!(end, JobEnd::Found(_) | JobEnd::Failed(_))
}

/// An informed swarm over one guide, with finer guides for traces that are too large for a job.
pub struct Swarm<'n> {
    net: &'n Network,
    config: Config,
    /// Spaces of finer guides are dropped when nothing is left to do in them.
    spaces: Vec<Option<Space>>,
    /// The facts about classes, if jobs follow classes of traces in any order.
    classes: Option<Classes>,
    /// The spaces in which IDs remain.
    open: BTreeSet<usize>,
    /// With each answer, the worker that gave it.
    ledger: Ledger<Job, Part, (Feedback, u32)>,
    /// This much feedback must have been processed before the next job is made.
    due: u64,
    /// The lowest number of a job that has found a violation or failed.
    stop: Option<u64>,
    /// Nodes for which no finer guide helps.
    hopeless: Set<nested::Node>,
    stuck: Vec<Stuck>,
    history: History,
    /// If there is a finding: the state handed to the job from which the path to it begins.
    found_from: Option<Spot>,
    overlap: Overlap,
    /// Once this is known, no further job is made.
    repeats: Option<Repeats>,
    status: SwarmStatus,
    events: Vec<Event>,
    course: Course,
    outcome: Option<SwarmOutcome>,
}

impl<'n> Swarm<'n> {
    /// A swarm over the traces of a guide of that network.
    pub fn new(net: &'n Network, guide: Guide, config: Config) -> Self {
        let (space, classes) = match config.orders.clone() {
            None => (Space::new(guide, Vec::new(), &config, Sizing::new(None)), None),
            Some(orders) => {
                // Some order of a class may matter though the one that stands for it does not, so nothing is struck off but all.
                let relevance = config.relevance.clone().filter(|relevance| relevance.is_everything());
                let config = Config { relevance, ..config.clone() };
                let space = Space::new(orders.classes().clone(), Vec::new(), &config, Sizing::new(None));
                let some = !space.remaining.is_empty();
                (space, some.then(|| Classes::new(guide, orders)))
            }
        };
        let borders = space.frontier.is_some();
        let any_order = config.orders.is_some();
        let mut swarm = Swarm {
            net,
            config,
            spaces: vec![Some(space)],
            classes,
            open: BTreeSet::new(),
            ledger: Ledger::default(),
            due: 0,
            stop: None,
            hopeless: Set::default(),
            stuck: Vec::new(),
            history: History::default(),
            found_from: None,
            overlap: Overlap::new(),
            repeats: None,
            status: SwarmStatus { borders, any_order, ..SwarmStatus::default() },
            events: Vec::new(),
            course: Course::default(),
            outcome: None,
        };
        swarm.settle(0);
        swarm
    }

    /// The space of the swarm's own guide.
    fn own(&self) -> &Space {
        self.spaces[0].as_ref().expect("the first space is never dropped")
    }

    /// The guide whose traces the IDs are: the one that the swarm was made with, or one with a trace for each class.
    pub fn guide(&self) -> &Guide {
        &self.own().guide
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Sets the limits of jobs from now on.
    pub fn allow(&mut self, limits: JobLimits) {
        self.config.limits = limits;
    }

    /// The progress of the swarm.
    pub fn status(&self) -> SwarmStatus {
        let space = self.own();
        SwarmStatus {
            all: space.all(),
            remaining: space.remaining.count(),
            in_work: space.in_work.count(),
            explored: space.explored.clone(),
            pruned: space.pruned.clone(),
            irrelevant: space.irrelevant.clone(),
            given_up: space.given_up.count(),
            made: self.ledger.made(),
            done: self.ledger.done(),
            lost: self.ledger.lost_count(),
            processed: self.ledger.processed(),
            nested: self.spaces.len() as u64 - 1,
            beginnings: self.classes.as_ref().map(Classes::open),
            different: self.different(),
            ..self.status.clone()
        }
    }

    /// How many different states jobs have expanded. At places of a guide that was not unrolled different states stand,
    /// and each is expanded once if jobs hand on what they leave.
    fn different(&self) -> Option<Different> {
        let space = self.own();
        if space.frontier.is_some() && !space.guide.is_bounded() {
            return Some(Different { states: self.status.total.states, estimated: false });
        }
        Some(Different { states: self.overlap.distinct()?, estimated: true })
    }

    /// The steps from the initial state to the state from which the job's path to the finding begins: empty, unless the job
    /// was handed states.
    pub fn way_to_finding(&mut self, within: WayWithin) -> Result<Steps> {
        let (Some(SwarmOutcome::Found { number, .. }), Some(from)) = (&self.outcome, self.found_from.clone())
        else {
            return Ok(Vec::new());
        };
        let guide = &self.spaces[0].as_ref().expect("the first space is never dropped").guide;
        self.history.way(guide, *number, from, within)
    }

    /// The outcome, once [`Machine::next`] says that the swarm is done.
    pub fn outcome(&self) -> Option<&SwarmOutcome> {
        self.outcome.as_ref()
    }

    /// The events since they were last taken, if they are recorded.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The course of the work, if events are recorded.
    pub fn take_course(&mut self) -> Course {
        std::mem::take(&mut self.course)
    }

    /// Makes a job, if IDs remain. Finer guides first: then they are not needed any longer than necessary.
    fn make(&mut self) -> Option<Job> {
        if self.repeats.is_some() {
            return None;
        }
        if self.classes.is_some() {
            return self.make_in_any_order();
        }
        let &at = self.open.last()?;
        let space = self.spaces.get_mut(at)?.as_mut()?;
        if space.frontier.as_ref().is_some_and(Frontier::has_begun) {
            return self.make_handed(at);
        }
        let pick = space.pick()?;
        let job = Job {
            number: self.ledger.made(),
            refinements: space.refinements.clone(),
            then: if self.config.granularity == Granularity::Trace { Then::Stop } else { Then::Free },
            any_order: false,
            path: pick.path,
            order: self.config.order,
            limits: self.config.limits,
            handed: None,
        };
        self.add(job.clone(), Part { space: at, ids: pick.ids, count: pick.count, nodes: Vec::new() });
        Some(job)
    }

    /// Makes a job that is given states that others handed on.
    fn make_handed(&mut self, at: usize) -> Option<Job> {
        let space = self.spaces.get_mut(at)?.as_mut()?;
        let mut bundle = space.frontier.as_mut()?.give_out(&space.guide, &self.config)?;
        let moved = bundle.nodes.iter().map(|node| space.remaining.move_to(&node.ids, &mut space.in_work));
        let count = moved.sum();
        let handed = bundle.handed();
        let first = bundle.nodes.first()?;
        let job = Job {
            number: self.ledger.made(),
            refinements: Vec::new(),
            then: Then::Free,
            any_order: false,
            path: first.border.path.clone(),
            order: Order::BreadthFirst,
            limits: self.config.limits,
            handed: Some(handed),
        };
        let ids = first.ids.clone();
        self.add(job.clone(), Part { space: at, ids, count, nodes: bundle.nodes });
        Some(job)
    }

    /// Notes a job.
    fn add(&mut self, job: Job, part: Part) {
        let sources: Vec<_> = part.nodes.iter().map(|node| node.sources.clone()).collect();
        let at = part.space;
        self.history.add(&job, &sources);
        self.ledger.add(job, part);
        self.due = self.config.pace.due(self.due, self.ledger.made());
        self.settle(at);
    }

    fn finish(&mut self) {
        if let Some(repeats) = self.repeats {
            self.outcome = Some(SwarmOutcome::Repeats(repeats));
            return;
        }
        let space = self.own();
        assert!(space.is_settled(), "every trace ID has been done when no job is left");
        let stuck = std::mem::take(&mut self.stuck);
        self.outcome = Some(if stuck.is_empty() {
            SwarmOutcome::Exhausted { bounded: self.status.bounded }
        } else {
            SwarmOutcome::Stuck(stuck)
        });
    }
}

impl Machine for Swarm<'_> {
    type Job = Job;
    type Answer = Feedback;
    type Record = Feedback;
    type Status = SwarmStatus;
    const DURABLE: bool = true;

    fn resume(&mut self, record: Feedback) -> Result<()> {
        resume_in_order!(self, record);
        Ok(())
    }

    fn next(&mut self) -> Next<Job> {
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
            return self.ledger.hand_out_again(stop).map_or(Next::Wait, Next::Job);
        }
        if let Some(job) = self.ledger.hand_out_again(u64::MAX) {
            return Next::Job(job);
        }
        loop {
            while self.ledger.processed() < self.due {
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
            if self.ledger.is_empty() {
                self.finish();
                return Next::Done;
            }
            self.due = self.config.pace.due_when_stalled(self.ledger.processed(), self.ledger.made());
        }
    }

    fn record(&self, answer: &Feedback, batch: &mut Batch) -> Result<()> {
        match answer.end {
            JobEnd::Interrupted | JobEnd::Failed(_) => Ok(()),
            _ => batch.add(answer.tally(), answer),
        }
    }

    fn accept(&mut self, answer: Feedback, worker: u32) -> Accepted {
        let (number, ends) = (answer.number, ends(&answer.end));
        let expected = self.ledger.expects(number);
        if answer.is_interrupted() {
            self.ledger.lose(number);
            return expected;
        }
        if ends && expected == Accepted::New {
            self.stop = Some(self.stop.map_or(number, |stop| stop.min(number)));
        }
        self.ledger.answer(number, (answer, worker))
    }

    fn lost(&mut self, number: u64, _worker: u32) -> bool {
        self.ledger.lose(number)
    }

    fn status(&self) -> SwarmStatus {
        Swarm::status(self)
    }

    fn made_and_done(&self) -> (u64, u64) {
        (self.ledger.made(), self.ledger.done())
    }

    fn keeps_times(&self) -> bool {
        self.config.record
    }
}

/// Whether no trace goes on from a state.
fn is_end(guide: &Guide, state: StateIx) -> bool {
    guide.edges_of(state).all(|edge| guide.edge(EdgeIx(edge)).cut)
}
