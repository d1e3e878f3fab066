//! A swarm over a guide that is discovered: rounds of jobs, each at places that no other job of the round has.
//!
//! A round begins when all feedback of the round before was processed: states that were handed on have come to their places,
//! and the entries that they need are on the list of entries to fill. Invariant: rounds, jobs, and the numbers of local
//! states follow from the configuration and the contents of the feedback, so they are the same on any number of workers and
//! after a run was resumed.

use super::places::{Places, Steps, Trouble};
use crate::grid::journal::Batch;
use crate::grid::ledger::{Ledger, resume_in_order};
use crate::grid::machine::{Accepted, Machine, Next, Reply};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::memory::{Budget, Exhausted};
use gridlock_worker::discovered::{Entry, Feedback, Job, Stand};
use gridlock_worker::job::{Effort, Finding, JobEnd, JobLimits};
use std::collections::{BTreeSet, VecDeque};

/// A job gets at least this many of the states that wait, if there are enough.
const FEWEST: u64 = 16;
/// A job may always have this many states at once,
const FEW: u64 = 1_024;
/// and beyond that, this many known states for each waiting one.
const KNOWN: u64 = 16;

/// How a swarm is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// What a job may use.
    pub limits: JobLimits,
    /// The most jobs of a round.
    pub width: u64,
    /// Up to this many known states a round may be one job, which has all places.
    pub whole: u64,
    /// The most states to expand, if that is bounded.
    pub states: Option<u64>,
}

/// The progress of a swarm.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DiscoveredStatus {
    /// Jobs whose feedback counts.
    pub searches: u64,
    /// Jobs that were lost and handed out again.
    pub lost: u64,
    /// Rounds that began.
    pub rounds: u64,
    /// Places known so far.
    pub places: u64,
    /// Moves between them known so far.
    pub edges: u64,
    /// States known so far.
    pub known: u64,
    /// The known states that are not expanded.
    pub waiting: u64,
    /// Local states whose table entries jobs asked for.
    pub filled: u64,
    /// The most states at one place.
    pub largest_place: u64,
    /// The most states that a job expanded.
    pub largest_job: u64,
    /// The effort of all jobs; for `memory` and `widest` the greatest.
    pub total: Effort,
}

/// The outcome of a swarm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DiscoveredOutcome {
    /// Every known state is expanded: the guide is finite, and there are no other states.
    Exhausted,
    /// A violation, and the steps from the initial state to it.
    Found(Finding),
    /// The limit on expanded states was reached.
    Bounded,
    /// The known states do not fit into the memory.
    Full,
    /// A place does not fit into a job.
    TooLarge,
    /// A worker could not do its job.
    Failed(Error),
}

/// See the module head.
pub struct Swarm<'b> {
    config: Config,
    places: Places<'b>,
    /// The entries to fill before the jobs of this round, in order.
    filled: Vec<Entry>,
    missing: BTreeSet<Entry>,
    /// Places that are given out together in this round.
    round: VecDeque<Vec<u32>>,
    /// The most states that a job of this round may expand.
    share: u64,
    /// Whether jobs of several places were too large, so that each gets one from now on.
    alone: bool,
    ledger: Ledger<Job, Vec<u32>, Feedback>,
    status: DiscoveredStatus,
    outcome: Option<DiscoveredOutcome>,
}

impl<'b> Swarm<'b> {
    /// A swarm that begins with the initial state; `stand` has the bits of its subsystem.
    pub fn new(config: Config, stand: Stand, initial: &[u64], budget: &'b Budget) -> Result<Self, Exhausted> {
        Ok(Swarm {
            config,
            places: Places::new(stand, initial, budget)?,
            filled: Vec::new(),
            missing: BTreeSet::new(),
            round: VecDeque::new(),
            share: 0,
            alone: false,
            ledger: Ledger::default(),
            status: DiscoveredStatus::default(),
            outcome: None,
        })
    }

    /// The outcome, once [`Machine::next`] says that the swarm is done.
    pub fn outcome(&self) -> Option<&DiscoveredOutcome> {
        self.outcome.as_ref()
    }

    /// All entries that jobs had filled, in order.
    pub fn filled(&self) -> &[Entry] {
        &self.filled
    }

    /// The largest places: states, how often they were searched, and the vectors of the prefix that led there first.
    pub fn largest(&self, most: usize) -> Vec<(u64, u64, Vec<u32>)> {
        let mut ids: Vec<u32> = (0..self.places.list.len() as u32).collect();
        ids.sort_by_key(|&id| (std::cmp::Reverse(self.places.list[id as usize].states.len()), id));
        let shown = |&id: &u32| {
            let place = &self.places.list[id as usize];
            (place.states.len() as u64, place.searched, self.places.prefix(id))
        };
        ids.iter().take(most).map(shown).collect()
    }

    /// Divides the waiting states into jobs, or determines the outcome.
    fn plan(&mut self) {
        if let Err(Exhausted { .. }) = self.places.deliver() {
            self.outcome = Some(DiscoveredOutcome::Full);
            return;
        }
        self.filled.extend(std::mem::take(&mut self.missing));
        let waiting = self.places.waiting();
        if waiting == 0 {
            self.outcome = Some(DiscoveredOutcome::Exhausted);
            return;
        }
        let left = self.config.states.map(|most| most.saturating_sub(self.status.total.states));
        if left == Some(0) {
            self.outcome = Some(DiscoveredOutcome::Bounded);
            return;
        }
        self.round = self.divide(waiting);
        let even = left.map_or(u64::MAX, |left| (left / self.round.len() as u64).max(1));
        self.share = even.min(self.config.limits.states);
        self.status.rounds += 1;
    }

    /// The places of each job: all of them, or neighbours with about the same number of states that wait.
    fn divide(&self, waiting: u64) -> VecDeque<Vec<u32>> {
        let all = 0..self.places.list.len() as u32;
        let most = self.config.whole.min(FEW.max(waiting.saturating_mul(KNOWN)));
        if !self.alone && self.places.states() <= most {
            return [all.collect()].into();
        }
        let jobs = (waiting / FEWEST).clamp(1, self.config.width.max(1));
        let mut round: Vec<Vec<u32>> = Vec::new();
        let (mut before, mut last) = (0, None);
        for id in all {
            let here = self.places.list[id as usize].waiting.len() as u64;
            if here == 0 {
                continue;
            }
            let part = if self.alone { u64::from(id) } else { before * jobs / waiting };
            if last.replace(part) != Some(part) {
                round.push(Vec::new());
            }
            before += here;
            round.last_mut().expect("just begun").push(id);
        }
        round.into()
    }

    /// Makes the next job of the round.
    fn make(&mut self) -> Option<Job> {
        let ids = self.round.pop_front()?;
        let job = Job {
            number: self.ledger.made(),
            filled: self.filled.clone(),
            places: ids.iter().map(|&id| self.places.known(id)).collect(),
            all: ids.len() == self.places.list.len(),
            limits: JobLimits { states: self.share, ..self.config.limits },
        };
        self.ledger.add(job.clone(), ids);
        Some(job)
    }

    /// Processes the feedback to the next job, if it has arrived.
    fn process(&mut self) -> bool {
        let Some((_, ids, mut feedback)) = self.ledger.process() else { return false };
        self.status.searches += 1;
        self.add(&feedback.effort);
        let end = std::mem::replace(&mut feedback.end, JobEnd::Complete);
        let at = feedback.at;
        if let JobEnd::Failed(error) = end {
            self.outcome = Some(DiscoveredOutcome::Failed(error));
            return true;
        }
        if end == JobEnd::OverBudget && feedback.effort.states == 0 {
            // What it has put aside meanwhile, others put aside again.
            match ids.len() {
                1 => self.outcome = Some(DiscoveredOutcome::TooLarge),
                _ => self.alone = true,
            }
            return true;
        }
        self.missing.extend(feedback.missing.iter().copied());
        let found = |end| match end {
            JobEnd::Found(finding) => Some(finding),
            _ => None,
        };
        let outcome = match (self.places.note(&ids, feedback), found(end)) {
            (Err(Trouble::Senseless(why)), _) => {
                Some(DiscoveredOutcome::Failed(Error::Internal(format!("an answer makes no sense: {why}"))))
            }
            (Err(Trouble::Full), Some(_)) => Some(DiscoveredOutcome::Failed(Error::input(
                "a violation was found, but there is no memory left for the way to it: --job-memory allows more",
            ))),
            (Err(Trouble::Full), None) => Some(DiscoveredOutcome::Full),
            (Ok(()), Some(finding)) => Some(self.found(&ids, at, finding)),
            (Ok(()), None) => None,
        };
        self.outcome = outcome;
        true
    }

    /// The way to a finding, from the initial state.
    fn found(&self, ids: &[u32], at: Option<(u32, u32)>, finding: Finding) -> DiscoveredOutcome {
        let way = || -> Result<Steps> {
            let (position, index) = at.ok_or_else(|| Error::internal("a finding is nowhere"))?;
            // New places are those behind the ones that were given, and have the last numbers.
            let id = match ids.get(position as usize) {
                Some(&id) => id,
                None => position,
            };
            self.places.way(id, index)
        };
        match way() {
            Ok(mut path) => {
                path.extend(finding.path);
                DiscoveredOutcome::Found(Finding { path, ..finding })
            }
            Err(error) => DiscoveredOutcome::Failed(error),
        }
    }

    fn add(&mut self, effort: &Effort) {
        self.status.largest_job = self.status.largest_job.max(effort.states);
        self.status.total.add(effort);
    }
}

impl Machine for Swarm<'_> {
    type Job = Job;
    type Answer = Feedback;
    type Record = Feedback;
    type Status = DiscoveredStatus;
    // Answers are large and cheap to compute again.
    const DURABLE: bool = false;

    fn resume(&mut self, record: Feedback) -> Result<()> {
        resume_in_order!(self, record);
        Ok(())
    }

    fn next(&mut self) -> Next<Job> {
        loop {
            if self.outcome.is_some() {
                return Next::Done;
            }
            if let Some(job) = self.ledger.hand_out_again(u64::MAX).or_else(|| self.make()) {
                return Next::Job(job);
            }
            if self.ledger.is_empty() {
                self.plan();
            } else if !self.process() {
                return Next::Wait;
            }
        }
    }

    fn record(&self, answer: &Feedback, batch: &mut Batch) -> Result<()> {
        match answer.end {
            JobEnd::Interrupted | JobEnd::Failed(_) => Ok(()),
            _ => batch.add(answer.tally(), answer),
        }
    }

    fn accept(&mut self, answer: Feedback, _worker: u32) -> Accepted {
        let number = answer.number;
        if answer.is_interrupted() {
            let expected = self.ledger.expects(number);
            self.ledger.lose(number);
            return expected;
        }
        self.ledger.answer(number, answer)
    }

    fn lost(&mut self, number: u64, _worker: u32) -> bool {
        self.ledger.lose(number)
    }

    fn status(&self) -> DiscoveredStatus {
        let largest = self.places.list.iter().map(|place| place.states.len() as u64).max();
        DiscoveredStatus {
            lost: self.ledger.lost_count(),
            places: self.places.list.len() as u64,
            edges: self.places.edges() as u64,
            known: self.places.states(),
            waiting: self.places.waiting(),
            filled: self.filled.len() as u64,
            largest_place: largest.unwrap_or(0),
            ..self.status.clone()
        }
    }

    fn made_and_done(&self) -> (u64, u64) {
        (self.ledger.made(), self.ledger.done())
    }
}
