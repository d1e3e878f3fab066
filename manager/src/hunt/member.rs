//! A member of a portfolio: what its next job is.
//!
//! Jobs begin small, so that bugs near the initial state are found at once. They grow while they use up their limits, faster
//! if they find something new, so that deep bugs are found later. The parameters of a search (depth, length, width) are drawn
//! anew for each job, small values as often as large ones: different searches see different states. Invariant: a job follows
//! from the feedback that was processed and from its seed.

use super::config::{Config, Kind};
use super::prefixes::{Handed, Prefixes, Shared, Sharing, Taken};
use crate::grid::machine::{Machine, Next, WINDOW};
use crate::traces::swarm::{self, Granularity, Pace, Swarm, SwarmOutcome};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::game::live::Shape;
use gridlock_lts::guide::Guide;
use gridlock_lts::model::network::Network;
use gridlock_worker::hunt::job::{HuntEnd, HuntFeedback, HuntLimits, Keep, Method};
use gridlock_worker::hunt::told::MOST_TOLD;
use gridlock_worker::job::{Feedback, JobLimits, Order};
use num_bigint::BigUint;
use std::collections::VecDeque;
use std::sync::Arc;

/// Jobs have twice as many states after this many that used up theirs, one that found something new counted as [`WORTHWHILE`]:
/// soon where large jobs pay, and in the end also where small ones have seen all they can.
const DOUBLING: u64 = 16;
const WORTHWHILE: u64 = 4;
/// Where jobs share states, a window of them may expand at most this many times the states that the round had expanded before.
const AT_ONCE: u64 = 4;
/// States of the largest jobs.
const LARGEST: u64 = 1 << 24;
/// Bits of an array for each state that may be stored: with three of them set, at most one of ten thousand new states counts
/// as visited.
const BITS_A_STATE: u64 = 64;
const HASHES: u8 = 3;
/// Finer guides are for swarms that must not leave out any state; a hunt does not wait for large ones.
const GUIDE_STATES: usize = 20_000;

/// Findings of one job at most: each is shortened, and one search seldom sees many that differ in more than their end.
const MOST_FINDINGS: u64 = 16;

/// The traces of the subsystem, and how many of them a member has done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Traces {
    /// All there are.
    pub all: BigUint,
    /// Searched to their end.
    pub explored: BigUint,
    /// Shown to be impossible.
    pub pruned: BigUint,
}

/// The input for the turn of a member.
#[derive(Clone, Copy)]
pub(super) struct Draw {
    /// The source of the job's choices.
    pub(super) seed: u64,
    /// States that it may expand at most.
    pub(super) room: u64,
    /// Jobs of the hunt made so far.
    pub(super) made: u64,
}

/// The result of a member's turn.
pub(super) enum Turn {
    /// A job: its method, and the states that it may expand.
    Job(Method, u64),
    /// No job now, or none any more.
    Nothing,
    /// No job any more: all traces of the subsystem are done, or all prefixes, so every reachable state was seen.
    Everything,
}

pub(super) struct Member<'n> {
    pub(super) kind: Kind,
    /// States of its first jobs.
    first: u64,
    /// The swarm of a guided member.
    swarm: Option<Swarm<'n>>,
    /// The pool of the member that divides by prefixes.
    prefixes: Option<Prefixes>,
    /// The most that its swarm had done when this many jobs of the hunt were made, for the last jobs; the swarm may have
    /// begun anew since.
    best: VecDeque<(u64, Traces)>,
    /// Jobs that used up their states, those that found something new several times.
    used_up: u64,
    /// How often jobs were doubled beyond that, since traces were too large or prefixes too many.
    doubled: u32,
    retired: bool,
    /// The formulas for which nothing is left to do.
    through: Vec<u32>,
    /// Whether a job of the swarm ended with a finding, so that its traces were not searched to their end.
    cut: bool,
}

impl<'n> Member<'n> {
    /// A member; `words`, the words of a state, are given if jobs may share the states that they have expanded.
    pub(super) fn new(kind: Kind, config: &Config, words: Option<usize>) -> Self {
        let sharing = words.map(|words| Sharing { words, bytes: config.job_memory });
        Member {
            kind,
            first: config.job_states.clamp(1, LARGEST),
            swarm: None,
            prefixes: (kind == Kind::Prefix).then(|| Prefixes::new(sharing)),
            best: VecDeque::new(),
            used_up: 0,
            doubled: 0,
            retired: false,
            through: Vec::new(),
            cut: false,
        }
    }

    /// The states of its jobs, grown by their use.
    pub(super) fn grown(&self) -> u64 {
        self.doubled_by(0)
    }

    /// States of its next job.
    fn size(&self) -> u64 {
        self.doubled_by(self.doubled)
    }

    fn doubled_by(&self, more: u32) -> u64 {
        let mut grown = self.used_up / DOUBLING;
        if self.shared().is_some() {
            // An answer can tell of all that was expanded.
            grown = grown.min(u64::from((MOST_TOLD as u64 / self.first).max(1).ilog2()));
        }
        let times = (grown + u64::from(more)).min(u64::from(LARGEST.ilog2()));
        self.first.saturating_mul(1 << times).min(LARGEST)
    }

    /// Its next job, with at most this many states.
    pub(super) fn turn(
        &mut self,
        net: Option<&'n Network>,
        guide: Option<&Arc<Guide>>,
        config: &Config,
        turn: Draw,
    ) -> Turn {
        if self.retired {
            return Turn::Nothing;
        }
        let Draw { seed, room, .. } = turn;
        let states = self.size().min(room);
        match (self.kind, guide.zip(net)) {
            (Kind::Guided(..), Some((guide, net))) => self.guided(net, guide, config, turn),
            (Kind::Guided(..), None) => {
                self.retired = true;
                Turn::Nothing
            }
            (Kind::Prefix, _) => self.prefix(turn.made, states.min(self.share(config.window))),
            (Kind::Lasso | Kind::Trap, _) => self.for_formula(config, &mut Rng::new(seed), states),
            (kind, _) => Turn::Job(method(kind, &mut Rng::new(seed), states, config), states),
        }
    }

    fn guided(&mut self, net: &'n Network, guide: &Arc<Guide>, config: &Config, turn: Draw) -> Turn {
        let seed = turn.seed;
        let Kind::Guided(order, strategy) = self.kind else { return Turn::Nothing };
        let window = config.window;
        loop {
            let states = self.size().min(turn.room);
            let limits = JobLimits { states, memory: config.job_memory };
            let swarm = self.swarm.get_or_insert_with(|| {
                // Going along a trace first is for reaching its end; in breadth, traces that begin alike are one search.
                let granularity = match order {
                    Order::BreadthFirst => Granularity::Prefix,
                    Order::DepthFirst => Granularity::Trace,
                };
                let pace = Pace::Window(window);
                let guide_states = GUIDE_STATES;
                let usual = swarm::Config::new(limits);
                let config =
                    swarm::Config { granularity, strategy, seed, order, pace, guide_states, ..usual };
                Swarm::new(net, guide.as_ref().clone(), config)
            });
            swarm.allow(limits);
            let next = swarm.next();
            self.remember(turn.made, window);
            match next {
                Next::Job(job) => return Turn::Job(Method::Guided(job), states),
                Next::Wait => return Turn::Nothing,
                Next::Done => {}
            }
            let outcome = self.swarm.take().and_then(|swarm| swarm.outcome().cloned());
            match outcome {
                Some(SwarmOutcome::Exhausted { bounded: false }) if !self.cut => {
                    self.retired = true;
                    return Turn::Everything;
                }
                // Traces were too large for their jobs: it begins anew with larger ones.
                Some(SwarmOutcome::Stuck(_)) if self.size() < LARGEST => {
                    self.doubled += 1;
                }
                _ => {
                    self.retired = true;
                    return Turn::Nothing;
                }
            }
        }
    }

    /// A job for one of the formulas of its shape that are not finished.
    fn for_formula(&mut self, config: &Config, rng: &mut Rng, states: u64) -> Turn {
        let fits = |(property, shape): &&(u32, Shape)| {
            let suits = if self.kind == Kind::Lasso { shape.run } else { shape.trap };
            suits && !self.through.contains(property)
        };
        let formulas: Vec<u32> = config.formulas.iter().filter(fits).map(|formula| formula.0).collect();
        if formulas.is_empty() {
            self.retired = true;
            return Turn::Nothing;
        }
        let property = formulas[rng.below(formulas.len())];
        let method = match self.kind {
            Kind::Lasso => Method::Lasso { property, depth: depth(rng) },
            // A walk and what follows it leave room for others.
            _ => Method::Trap {
                property,
                length: spread(rng, 2, 12),
                pairs: (states / 4).clamp(16, u64::from(u32::MAX)) as u32,
            },
        };
        Turn::Job(method, states)
    }

    /// From now on the member gets no jobs.
    pub(super) fn retire(&mut self) {
        self.retired = true;
    }

    /// Records that a search for runs that violate a formula has seen everything that it can see.
    pub(super) fn take_run(&mut self, method: &Method, end: &HuntEnd) {
        if *end != HuntEnd::Complete {
            return;
        }
        if let Method::Lasso { property, depth: u32::MAX } | Method::Trap { property, .. } = method {
            self.through.push(*property);
        }
    }

    /// The states that a job may expand where jobs share states: a few times those that all answers of the round have
    /// expanded, divided by the window. So the first jobs are small, and soon there is work for all workers. Fewer workers
    /// than the usual window begin with larger ones, which repeat less.
    fn share(&self, window: u64) -> u64 {
        if window <= WINDOW {
            return LARGEST;
        }
        let Some(spent) = self.prefixes.as_ref().filter(|_| self.shared().is_some()).map(Prefixes::spent)
        else {
            return LARGEST;
        };
        let least = self.first.saturating_mul(1 << self.doubled.min(LARGEST.ilog2()));
        least.max(spent.saturating_mul(AT_ONCE) / window.max(1))
    }

    fn prefix(&mut self, number: u64, states: u64) -> Turn {
        let Some(prefixes) = &mut self.prefixes else { return Turn::Nothing };
        match prefixes.next(number) {
            Some(Handed { path, bound, known }) => Turn::Job(Method::Prefix { path, bound, known }, states),
            None if prefixes.everything() => Turn::Everything,
            None => Turn::Nothing,
        }
    }

    /// Takes the feedback to a job below a prefix that was allowed to expand `allowed` states.
    pub(super) fn take_prefix(&mut self, feedback: &HuntFeedback, allowed: u64) {
        let size = self.size();
        let Some(prefixes) = &mut self.prefixes else { return };
        if prefixes.take(feedback) == Taken::Well {
            return;
        }
        // If memory ended the job, larger ones would end there as well.
        if size < LARGEST && feedback.effort.states >= allowed {
            self.doubled += 2;
            prefixes.larger_jobs();
        } else {
            prefixes.no_larger_jobs();
        }
    }

    /// No run of this many steps or fewer ends with a violation: that is proved.
    pub(super) fn proved(&self) -> Option<u32> {
        self.prefixes.as_ref().and_then(Prefixes::proved)
    }

    /// The figures about shared states, if its jobs share states.
    pub(super) fn shared(&self) -> Option<Shared> {
        self.prefixes.as_ref().and_then(Prefixes::shared)
    }

    /// Takes the feedback to a guided job.
    pub(super) fn take(&mut self, feedback: Feedback, found: bool) {
        self.cut |= found;
        if let Some(swarm) = &mut self.swarm {
            // An answer that does not fit makes the swarm end, and with it this member.
            let _ = swarm.accept(feedback, 0);
        }
    }

    /// Learns the yield of a job.
    pub(super) fn learn(&mut self, used_up: bool, worth: f64) {
        if used_up {
            self.used_up += if worth > 0.0 { WORTHWHILE } else { 1 };
        }
    }

    fn remember(&mut self, made: u64, window: u64) {
        let Some(swarm) = &self.swarm else { return };
        let status = swarm.status();
        let now = Traces { all: status.all, explored: status.explored, pruned: status.pruned };
        let done = |traces: &Traces| &traces.explored + &traces.pruned;
        if self.best.back().is_none_or(|(_, best)| done(best) < done(&now)) {
            self.best.push_back((made, now));
        }
        // Nobody looks back further than the jobs that may be in work.
        while self.best.get(1).is_some_and(|(at, _)| at + window < made) {
            self.best.pop_front();
        }
    }

    /// The most traces that it had done when fewer than this many jobs of the hunt were made, if it is guided.
    pub(super) fn traces(&self, before: u64) -> Option<&Traces> {
        let known = self.best.iter().rev().find(|(made, _)| *made < before);
        known.map(|(_, traces)| traces)
    }
}

fn method(kind: Kind, rng: &mut Rng, states: u64, config: &Config) -> Method {
    match kind {
        Kind::DepthFirst => Method::DepthFirst { depth: depth(rng) },
        Kind::Bitstate => {
            let wanted = states.saturating_mul(BITS_A_STATE).next_power_of_two().ilog2();
            // Half of the memory is for the states on the stack.
            let room = (config.job_memory.max(1 << 10) * 4).ilog2();
            Method::Bitstate { log2_bits: wanted.min(room) as u8, hashes: HASHES, depth: depth(rng) }
        }
        Kind::Walk | Kind::WeightedWalk => {
            Method::Walk { length: spread(rng, 4, 14), weighted: kind == Kind::WeightedWalk }
        }
        Kind::Beam => {
            Method::Levels { width: spread(rng, 3, 12), keep: Keep::Preferred(config.preferred.clone()) }
        }
        Kind::Aimed => Method::Aimed { width: spread(rng, 2, 9), patience: spread(rng, 2, 6) },
        Kind::Highway => Method::Levels { width: spread(rng, 3, 12), keep: Keep::Random },
        // Guided members have their jobs from their swarms, and the one with prefixes has them from its pool. Those for
        // formulas have theirs above.
        Kind::Rare | Kind::Guided(..) | Kind::Prefix | Kind::Lasso | Kind::Trap => {
            Method::Levels { width: spread(rng, 3, 12), keep: Keep::Rare }
        }
    }
}

/// A bound on the depth of a search: every other time none at all.
fn depth(rng: &mut Rng) -> u32 {
    if rng.percent(50) { u32::MAX } else { spread(rng, 4, 16) }
}

/// A number between two to the power of `low` and of `high`, each doubling with the same probability.
fn spread(rng: &mut Rng, low: usize, high: usize) -> u32 {
    let power = 1u32 << rng.between(low, high - 1);
    power + rng.below(power as usize) as u32
}

/// The limits of a job of the hunt.
pub(super) fn limits(config: &Config, states: u64) -> HuntLimits {
    let findings = config.findings.clamp(1, MOST_FINDINGS) as u32;
    HuntLimits { states, memory: config.job_memory, findings, shorten: config.shorten }
}
