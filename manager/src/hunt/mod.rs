//! A hunt: cheap, very different searches, until enough was found or the budget is spent.
//!
//! Like a [`swarm`](crate::traces::swarm) it is a state machine without clocks, threads or files. Job n is made when exactly
//! the feedback to the jobs up to n - [`Config::window`] has been processed (or, where nothing could be made then, the least
//! further feedback after which something can), strictly in the order of jobs. So the same seed gives the same jobs and, for
//! the same number of jobs, the same findings, for any number of workers. A hunt never concludes that a property holds; it
//! only proves that there is no violation within some number of steps ([`HuntStatus::within`]). Invariant: a finding is
//! reported once all jobs before its own are answered; no two reported ones have the same [`Key`].

mod config;
mod coverage;
mod member;
mod prefixes;
mod processing;
pub mod run;
mod status;
mod steering;
#[cfg(test)]
mod tests;

pub use config::{Config, Kind};
pub use coverage::{Bits, LeafCoverage, Part};
pub use member::Traces;
pub use prefixes::Shared;
pub use status::{Found, HuntOutcome, HuntStatus, MemberStatus};

use crate::grid::journal::Batch;
use crate::grid::ledger::{Ledger, resume_in_order};
use crate::grid::machine::{Accepted, Machine, Next, Reply};
use coverage::Seen;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::hash::Set;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Packing;
use gridlock_lts::guide::Guide;
use gridlock_worker::hunt::job::{HuntEnd, HuntFeedback, HuntJob, Traps};
use gridlock_worker::hunt::{Key, View, portable};
use gridlock_worker::job::Effort;
use member::{Draw, Member, Turn, limits};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use steering::Steering;

/// Seeds have this many bits: a number that every reader of JSON can hold.
const SEED_BITS: u32 = 53;

/// The member that a job is charged to.
struct Charged {
    member: usize,
    /// The charge.
    charge: f64,
}

/// The figures of a member, without those of steering.
#[derive(Clone, Copy, Default)]
struct Record {
    jobs: u64,
    states: u64,
    nanoseconds: u64,
    locals: u64,
    moves: u64,
    distinct: f64,
    findings: u64,
}

/// See the module head.
pub struct Hunt<'n> {
    net: View<'n>,
    packing: Packing,
    guide: Option<Arc<Guide>>,
    config: Config,
    members: Vec<Member<'n>>,
    records: Vec<Record>,
    steering: Steering,
    rng: Rng,
    ledger: Ledger<HuntJob, Charged, HuntFeedback>,
    /// This much feedback must have been processed before the next job is made.
    due: u64,
    /// The jobs before this one are answered, and their findings reported.
    reported: u64,
    /// States that these jobs have expanded.
    reported_states: u64,
    /// No job beyond this one is needed: it found enough, saw everything or failed.
    last: Option<u64>,
    /// States that jobs in work may expand.
    out: u64,
    total: Effort,
    shortening: u64,
    traps: Traps,
    keys: Set<Key>,
    news: VecDeque<Found>,
    found: u64,
    everything: bool,
    seen: Seen,
    /// Partial feedback of jobs that were in work when the run was ended, by their numbers.
    cut_short: BTreeMap<u64, HuntFeedback>,
    outcome: Option<HuntOutcome>,
    /// Whether a job ended the hunt. Whether jobs beyond that one were made depends on the number of workers.
    ended_by_job: bool,
}

impl<'n> Hunt<'n> {
    /// A hunt in a network; `packing` is that of the searched states. Where tables are filled as needed, there is no guide,
    /// and jobs and feedback have the form that they have in messages ([`portable`]).
    pub fn new(
        net: impl Into<View<'n>>,
        packing: Packing,
        guide: Option<Arc<Guide>>,
        config: Config,
    ) -> Self {
        let net = net.into();
        // Where tables are filled as needed, packed states mean something in one process only.
        let words = (config.share && net.known().is_some()).then(|| packing.words());
        Hunt {
            net,
            packing,
            guide,
            members: config.portfolio.iter().map(|&kind| Member::new(kind, &config, words)).collect(),
            records: vec![Record::default(); config.portfolio.len()],
            steering: Steering::new(config.portfolio.len(), config.steering),
            rng: Rng::new(config.seed),
            ledger: Ledger::default(),
            due: 0,
            reported: 0,
            reported_states: 0,
            last: None,
            out: 0,
            total: Effort::default(),
            shortening: 0,
            traps: Traps::default(),
            keys: Set::default(),
            news: VecDeque::new(),
            found: 0,
            everything: false,
            seen: Seen::new(net.known()),
            cut_short: BTreeMap::new(),
            outcome: None,
            ended_by_job: false,
            config,
        }
    }

    /// Findings since they were last taken, each the first of its kind.
    pub fn take_news(&mut self) -> Vec<Found> {
        self.news.drain(..).collect()
    }

    /// The outcome, once [`Machine::next`] says that the hunt is over.
    pub fn outcome(&self) -> Option<&HuntOutcome> {
        self.outcome.as_ref()
    }

    /// Ends a hunt that was stopped from outside: all feedback that has arrived counts now, also the findings of jobs that
    /// were stopped. Does nothing if the hunt was over before.
    pub fn finish(&mut self) {
        if self.outcome.is_some() {
            return;
        }
        for (number, feedback) in std::mem::take(&mut self.cut_short) {
            self.ledger.answer(number, feedback);
        }
        while let (Some(made), None) = (self.ledger.get(self.ledger.processed()), &self.outcome) {
            if made.answer.is_none() {
                // Nobody will answer it any more.
                self.ledger.abandon();
                self.reported = self.reported.max(self.ledger.processed());
                continue;
            }
            self.report();
            self.process();
        }
    }

    /// Makes a job, or returns why there is none at this point.
    fn make(&mut self) -> std::result::Result<HuntJob, HuntOutcome> {
        if self.everything {
            return Err(HuntOutcome::Everything);
        }
        if self.config.max_jobs.is_some_and(|most| self.ledger.made() >= most) {
            return Err(HuntOutcome::Jobs);
        }
        if let Some(only) = &self.config.only {
            if self.ledger.made() > 0 {
                return Err(HuntOutcome::Jobs);
            }
            let only = HuntJob { number: 0, ..only.clone() };
            let only = match self.net {
                View::Complete(_) => only,
                View::Open(lazy) => portable::decode_job(lazy, &only)
                    .map_err(|why| HuntOutcome::Failed { number: 0, reason: why.to_string() })?,
            };
            return Ok(self.made(only, 0));
        }
        let spent = self.total.states.saturating_add(self.out);
        let room = self.config.max_states.map_or(u64::MAX, |most| most.saturating_sub(spent));
        if room == 0 {
            return Err(HuntOutcome::States);
        }
        let seed = self.rng.bits() >> (64 - SEED_BITS);
        let draw = Draw { seed, room, made: self.ledger.made() };
        for k in self.steering.order() {
            match self.members[k].turn(self.net.known(), self.guide.as_ref(), &self.config, draw) {
                Turn::Nothing => {}
                Turn::Everything if self.has_formulas() => self.retire_others(),
                Turn::Everything => {
                    // What is in work may have findings yet.
                    self.everything = true;
                    return Err(HuntOutcome::Everything);
                }
                Turn::Job(method, states) => {
                    let job = HuntJob {
                        number: self.ledger.made(),
                        seed,
                        method,
                        limits: limits(&self.config, states),
                    };
                    return Ok(self.made(job, k));
                }
            }
        }
        Err(HuntOutcome::Exhausted)
    }

    /// Records a job that a member has made.
    fn made(&mut self, job: HuntJob, member: usize) -> HuntJob {
        let charge = self.steering.charge(member, job.limits.states);
        self.ledger.add(job.clone(), Charged { member, charge });
        self.out = self.out.saturating_add(job.limits.states);
        self.due = self.due.max((self.ledger.made() + 1).saturating_sub(self.config.window));
        job
    }

    /// Translates a job to the form that it has in messages.
    fn told(&mut self, job: HuntJob) -> Next<HuntJob> {
        let View::Open(lazy) = self.net else { return Next::Job(job) };
        match portable::encode_job(lazy, &job) {
            Ok(job) => Next::Job(job),
            Err(why) => self.fails(job.number, why),
        }
    }

    /// Ends the hunt with an error, unless the run is only being stopped.
    fn fails(&mut self, number: u64, why: Error) -> Next<HuntJob> {
        if let Error::Limit(_) = why {
            self.ledger.lose(number);
            return Next::Wait;
        }
        self.outcome = Some(HuntOutcome::Failed { number, reason: why.to_string() });
        Next::Done
    }

    /// Whether the hunt looks for runs that violate formulas: then it does not end when every state was seen.
    fn has_formulas(&self) -> bool {
        !self.config.formulas.is_empty()
    }

    /// Retires members that only look at states, once every state was seen.
    fn retire_others(&mut self) {
        self.members.iter_mut().filter(|member| !member.kind.is_for_formulas()).for_each(Member::retire);
    }

    fn ends(&self, feedback: &HuntFeedback) -> bool {
        let ends = match feedback.end {
            HuntEnd::Everything => !self.has_formulas(),
            HuntEnd::Failed(_) => true,
            _ => false,
        };
        ends || (self.config.findings <= 1 && !feedback.findings.is_empty())
    }
}

impl Machine for Hunt<'_> {
    type Job = HuntJob;
    type Answer = HuntFeedback;
    type Record = HuntFeedback;
    type Status = HuntStatus;
    const DURABLE: bool = true;

    fn resume(&mut self, record: HuntFeedback) -> Result<()> {
        resume_in_order!(self, record);
        Ok(())
    }

    fn next(&mut self) -> Next<HuntJob> {
        if self.outcome.is_some() {
            return Next::Done;
        }
        if let Some(last) = self.last {
            let again = self.ledger.hand_out_again(last + 1);
            return again.map_or(Next::Wait, |job| self.told(job));
        }
        if let Some(job) = self.ledger.hand_out_again(u64::MAX) {
            return self.told(job);
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
            match self.make() {
                Ok(job) => return self.told(job),
                Err(why) if self.ledger.is_empty() => {
                    self.outcome = Some(why);
                    return Next::Done;
                }
                Err(_) => self.due = self.ledger.processed() + 1,
            }
        }
    }

    fn record(&self, answer: &HuntFeedback, batch: &mut Batch) -> Result<()> {
        match answer.end {
            HuntEnd::Interrupted | HuntEnd::Failed(_) => Ok(()),
            _ => batch.add(answer.tally(), answer),
        }
    }

    fn accept(&mut self, answer: HuntFeedback, _worker: u32) -> Accepted {
        let number = answer.number;
        let expected = self.ledger.expects(number);
        if expected != Accepted::New || self.outcome.is_some() {
            return if expected == Accepted::Unknown { expected } else { Accepted::Duplicate };
        }
        if answer.is_interrupted() {
            self.ledger.lose(number);
            return expected;
        }
        if self.ends(&answer) {
            self.last = Some(self.last.map_or(number, |last| last.min(number)));
        }
        self.ledger.answer(number, answer);
        self.report();
        expected
    }

    fn lost(&mut self, number: u64, _worker: u32) -> bool {
        self.ledger.lose(number)
    }

    fn cut_short(&mut self, answer: HuntFeedback) {
        if self.outcome.is_none() {
            self.cut_short.insert(answer.number, answer);
        }
    }

    fn status(&self) -> HuntStatus {
        self.summary()
    }

    fn made_and_done(&self) -> (u64, u64) {
        (self.ledger.made(), self.ledger.done())
    }
}
