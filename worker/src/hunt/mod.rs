//! The searches of a hunt: cheap, very different ways through a system that is too large to verify.
//!
//! A [`Hunter`] does one job at a time: a search by some method ([`job::Method`]) within limits. All searches expand states
//! through one survey, which records coverage and keeps findings; they differ only in the choice of the next state. Findings
//! are shortened at the end of the search, when its memory is free again. Invariant: a feedback depends on the network and
//! the job only, unless the job is interrupted; a job that makes no sense ends as failed, never in a panic.

mod aimed;
mod depth;
mod distance;
mod guided;
pub mod job;
mod key;
mod levels;
mod live;
mod moves;
mod nearest;
pub mod portable;
mod prefix;
mod seen;
pub mod shorten;
mod survey;
#[cfg(test)]
mod tests;
pub mod told;
mod view;
mod visited;
mod walk;

pub use key::Key;
pub use view::View;

use crate::guided::Worker;
use crate::life::Life;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::memory::{Budget, Exhausted};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::guide::Guide;
use gridlock_lts::model::network::Network;
use gridlock_lts::property::Property;
use gridlock_lts::property::formula::Equations;
use job::{HuntEnd, HuntFeedback, HuntJob, Keep, Method, Traps};
use moves::{Moves, Tally};
use nearest::DEEPEST;
use seen::Seen;
use shorten::Shortener;
use std::sync::Arc;
use std::time::Instant;
use survey::Survey;
use visited::{Bits, Exact};

/// Arrays of more bits than two to this power are refused.
const MOST_LOG2_BITS: u8 = 42;
/// More bits a state than this are refused.
const MOST_HASHES: u8 = 32;

/// What a hunter needs to know of the system.
pub struct Setting<'a, S> {
    /// The compiled system, properties built in.
    pub system: &'a S,
    /// The network as specified.
    pub net: View<'a>,
    /// The properties to check; formulas among them are for the searches that look for runs.
    pub properties: &'a [Property],
    /// The first guide of guided jobs; without one they fail.
    pub guide: Option<Arc<Guide>>,
    /// The tables that all hunters share.
    pub shared: Arc<Shared>,
}

/// Tables that all hunters of a process share: they are as large as the network's own, so there is one copy.
#[derive(Debug)]
pub struct Shared {
    /// None if tables are filled as needed.
    moves: Option<Result<Moves>>,
}

impl Shared {
    /// The tables of a system.
    pub fn new<S: Successors>(system: &S, net: &Network) -> Arc<Self> {
        Arc::new(Shared { moves: Some(Moves::new(net, system.packing())) })
    }

    /// No tables, for a system whose tables are filled as needed.
    pub fn none() -> Arc<Self> {
        Arc::new(Shared { moves: None })
    }

    /// The local transitions, if all are known.
    fn moves(&self) -> Result<Option<&Moves>> {
        self.moves.as_ref().map(|moves| moves.as_ref().map_err(Error::clone)).transpose()
    }
}

impl<S> Clone for Setting<'_, S> {
    fn clone(&self) -> Self {
        let Setting { system, net, properties, .. } = *self;
        Setting { system, net, properties, guide: self.guide.clone(), shared: self.shared.clone() }
    }
}

impl<'a, S> Setting<'a, S> {
    /// The formula of that number.
    fn formula(&self, property: u32) -> Result<&'a dyn Equations> {
        match self.properties.get(property as usize) {
            Some(Property::Formula(equations)) => Ok(&**equations),
            _ => Err(Error::Input(format!("property {property} is no formula"))),
        }
    }
}

/// Does the jobs of a hunt, one at a time.
pub struct Hunter<'a, S> {
    setting: Setting<'a, S>,
    worker: Option<Worker<'a, S>>,
}

impl<'a, S: Successors> Hunter<'a, S> {
    /// A hunter.
    pub fn new(setting: Setting<'a, S>) -> Self {
        let Setting { system, net, guide, .. } = setting.clone();
        let worker = guide
            .zip(net.known())
            .map(|(guide, net)| Worker::new(crate::guided::Setting { system, net, guide, relevance: None }));
        Hunter { setting, worker }
    }

    /// Does a job. If it is cancelled it soon ends as interrupted. Where tables are filled as needed, job and feedback have
    /// the form that they have in messages ([`portable`]).
    pub fn run(&mut self, job: &HuntJob, life: &Life) -> HuntFeedback {
        let begun = Instant::now();
        let done = match self.setting.net {
            View::Complete(_) => self.hunt(job, life),
            View::Open(lazy) => self.hunt_as_told(lazy, job, life),
        };
        let mut feedback = match done {
            Ok(feedback) => feedback,
            // The source of the tables was told to stop.
            Err(Error::Limit(_)) => HuntFeedback { end: HuntEnd::Interrupted, ..failed(job, no_guide()) },
            Err(why) => failed(job, why),
        };
        feedback.effort.nanoseconds = begun.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
        feedback
    }

    fn hunt_as_told(&mut self, lazy: &Lazy<'static>, job: &HuntJob, life: &Life) -> Result<HuntFeedback> {
        let job = portable::decode_job(lazy, job)?;
        let mut feedback = self.hunt(&job, life)?;
        portable::encode_feedback(lazy, &job, &mut feedback)?;
        Ok(feedback)
    }

    fn hunt(&mut self, job: &HuntJob, life: &Life) -> Result<HuntFeedback> {
        check(job, self.setting.net)?;
        let Hunter { setting, worker } = self;
        let moves = setting.shared.moves()?;
        let complete = || moves.ok_or_else(|| Error::input("the job needs complete tables"));
        let budget = Budget::new(job.limits.memory);
        let seen = Seen::new(setting.net.known(), moves);
        let Setting { system, net, .. } = *setting;
        let mut survey = Survey::new(system, net, job.limits, life, &budget, seen);
        let mut feedback = failed(job, Error::internal("the job has not begun"));
        let mut rng = Rng::new(job.seed);
        let (mut bits_set, mut taken_for_visited) = (0, 0);
        feedback.end = match &job.method {
            Method::Guided(guided) => {
                let worker = worker.as_mut().ok_or_else(no_guide)?;
                let (end, inner) = guided::run(&mut survey, worker, guided);
                feedback.guided = Some(inner);
                end
            }
            Method::DepthFirst { depth } => match Exact::new(system, &budget) {
                Ok(exact) => depth::run(&mut survey, exact, &[], *depth, rng).end,
                Err(Exhausted { .. }) => HuntEnd::OverBudget,
            },
            Method::Bitstate { log2_bits, hashes, depth } => {
                let bits = Bits::new(system, *log2_bits, *hashes, rng.bits(), &budget)
                    .map_err(|Exhausted { limit }| no_room(*log2_bits, limit))?;
                let depth::Searched { end, visited, .. } = depth::run(&mut survey, bits, &[], *depth, rng);
                (bits_set, taken_for_visited) = (visited.bits_set(), visited.taken_for_visited());
                end
            }
            Method::Prefix { path, bound, known } => {
                let (end, below) = prefix::run(&mut survey, path, *bound, known.as_ref(), rng)?;
                feedback.below = Some(below);
                end
            }
            Method::Walk { length, weighted } => {
                let tally = weighted.then(|| complete().map(Tally::new)).transpose()?;
                walk::run(&mut survey, *length, tally, rng)
            }
            Method::Lasso { property, depth } => {
                let equations = setting.formula(*property)?;
                let (end, shortening) =
                    live::lasso::run(&mut survey, equations, *property as usize, *depth, rng);
                feedback.shortening = shortening;
                end
            }
            Method::Trap { property, length, pairs } => {
                let equations = setting.formula(*property)?;
                let sizes = (*length, *pairs);
                let (end, traps, shortening) =
                    live::trap::run(&mut survey, equations, *property as usize, sizes, rng);
                (feedback.traps, feedback.shortening) = (traps, shortening);
                end
            }
            Method::Levels { width, keep } => {
                let tally = (*keep == Keep::Rare).then(|| complete().map(Tally::new)).transpose()?;
                levels::run(&mut survey, tally, *width, keep, rng)
            }
            Method::Aimed { width, patience } => aimed::run(&mut survey, complete()?, *width, *patience, rng),
        };
        let Survey { seen, effort, findings, kept, .. } = survey;
        feedback.coverage = seen.coverage();
        feedback.coverage.bits_set = bits_set;
        feedback.coverage.taken_for_visited = taken_for_visited;
        feedback.effort = effort;
        feedback.effort.memory = budget.peak();
        feedback.findings = findings;
        let mut shortener = Shortener::new(setting, moves, job.limits.memory.saturating_sub(kept), life);
        // Runs against formulas are shortened by who found them.
        for found in feedback.findings.iter_mut().filter(|found| found.ending.is_none()) {
            feedback.shortening += shortener.shorten(&mut found.finding, job.limits.shorten)?;
        }
        Ok(feedback)
    }
}

/// The feedback to a job that failed.
fn failed(job: &HuntJob, why: Error) -> HuntFeedback {
    HuntFeedback {
        number: job.number,
        end: HuntEnd::Failed(why),
        findings: Vec::new(),
        coverage: Default::default(),
        guided: None,
        below: None,
        traps: Traps::default(),
        effort: Default::default(),
        shortening: 0,
    }
}

fn no_guide() -> Error {
    Error::input("a guided job needs a guide, and there is none")
}

fn no_room(log2_bits: u8, limit: u64) -> Error {
    Error::Input(format!(
        "an array of 2^{log2_bits} bits takes more than the {limit} bytes that the job may use"
    ))
}

/// Refuses a job that makes no sense.
fn check(job: &HuntJob, net: View) -> Result<()> {
    if job.limits.findings == 0 {
        return Err(Error::input("a job must be allowed at least one finding"));
    }
    match &job.method {
        Method::Guided(_) | Method::DepthFirst { .. } => Ok(()),
        Method::Bitstate { log2_bits, .. } if *log2_bits > MOST_LOG2_BITS || *log2_bits < 6 => {
            Err(Error::Input(format!("an array has from 2^6 to 2^{MOST_LOG2_BITS} bits, not 2^{log2_bits}")))
        }
        Method::Bitstate { hashes, .. } if *hashes == 0 || *hashes > MOST_HASHES => {
            Err(Error::Input(format!("a state sets from 1 to {MOST_HASHES} bits, not {hashes}")))
        }
        Method::Bitstate { .. } => Ok(()),
        Method::Prefix { path, bound, .. } if path.len() as u64 > u64::from(*bound) || *bound > DEEPEST => {
            Err(Error::Input(format!("a path of {} steps does not fit a bound of {bound}", path.len())))
        }
        Method::Prefix { known: Some(known), .. } if !known.is_there() => {
            Err(Error::input("a job needs what others have told, and it is not there"))
        }
        Method::Prefix { .. } => Ok(()),
        Method::Walk { length: 0, .. } | Method::Trap { length: 0, .. } => {
            Err(Error::input("a walk must have at least one step"))
        }
        Method::Walk { .. } => Ok(()),
        Method::Levels { width: 0, .. } | Method::Aimed { width: 0, .. } => {
            Err(Error::input("a level must have at least one state"))
        }
        Method::Levels { keep: Keep::Preferred(vectors), .. } => {
            let ascending = vectors.windows(2).all(|pair| pair[0] < pair[1]);
            let known =
                vectors.last().is_none_or(|&last| net.with(|net| (last as usize) < net.vectors.len()));
            if ascending && known {
                Ok(())
            } else {
                Err(Error::input("the preferred vectors are not ascending numbers of vectors"))
            }
        }
        Method::Levels { .. } | Method::Aimed { .. } | Method::Lasso { .. } | Method::Trap { .. } => Ok(()),
    }
}
