//! Guided searches: every state of the system that is reachable while a subsystem follows a path.
//!
//! Moves in which the subsystem takes no part, or that leave it where it is, are free. A move of the subsystem is taken only
//! if it is the next edge of the path; behind the path the subsystem stops or moves freely, as the job says. For each
//! position on the path the search records which edges of the guide were possible in some state it visited there: no state of
//! the system that is reached along that beginning of the path has a step along an edge that is missing.
//!
//! A job may also allow all orders of the independent moves on its path (`orders`), or begin with states that other jobs have
//! handed on (`border`).
//!
//! States from which no violation can follow (see [`Relevance`]) are passed over, as if no step led there.
//!
//! Properties are checked on every visited state and every step out of it, taken or not, as in an exhaustive search; a
//! deadlock is a state in which the whole system has no step. Invariant: a feedback that says `Complete` comes from a
//! search that has visited all states the job asks for.

mod ahead;
mod border;
mod breadth;
mod depth;
mod irrelevant;
mod mutants;
mod orders;
mod outgoing;
pub(crate) mod search;
#[cfg(test)]
mod tests;
mod way;

use crate::helpers::Helpers;
use crate::job::{Effort, Feedback, Handed, Job, JobEnd, Left, Order, Refinement, Spot, Then};
use crate::life::Life;
use crate::sketch::{self, hash};
use crate::stop::Stop;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::guide::{EdgeIx, Guide, NoGuide, Relevance};
use gridlock_lts::model::network::{LeafIx, Network};
use irrelevant::Irrelevant;
use search::{GuidedSearch, moves_anywhere};
use std::sync::Arc;
use std::time::Instant;

/// The largest guide that is made for a single trace, in states.
pub const REFINED_LIMIT: usize = 1 << 20;

/// Guides for single traces that are kept, since several jobs in a row use the same.
const GUIDES_KEPT: usize = 16;

/// Rebuilding the path to a finding may take this many times the memory of its job.
const REBUILD: u64 = 8;

/// What a worker needs to know of the system.
pub struct Setting<'a, S> {
    /// The compiled system, properties built in.
    pub system: &'a S,
    /// The network as specified.
    pub net: &'a Network,
    /// The first guide of the swarm.
    pub guide: Arc<Guide>,
    /// Which states need not be searched because no violation can follow, if that is known.
    pub relevance: Option<Arc<Relevance>>,
}

impl<S> Clone for Setting<'_, S> {
    fn clone(&self) -> Self {
        let Setting { system, net, .. } = *self;
        Setting { system, net, guide: self.guide.clone(), relevance: self.relevance.clone() }
    }
}

/// Called for every state that a search expands.
pub type Observer<'o> = &'o mut dyn FnMut(&[u64]);

/// Does jobs, one at a time.
pub struct Worker<'a, S> {
    setting: Setting<'a, S>,
    /// States that are not searched.
    irrelevant: Irrelevant,
    /// Guides made for single traces, the last used at the end.
    guides: Vec<(Vec<Refinement>, Arc<Guide>)>,
    /// The order of the first guide's places, once it was needed.
    forwards: Option<Arc<[u32]>>,
    /// The threads that help with one job.
    helpers: Option<Helpers>,
}

impl<'a, S: Successors> Worker<'a, S> {
    /// A worker.
    pub fn new(setting: Setting<'a, S>) -> Self {
        let irrelevant = match &setting.relevance {
            Some(relevance) => Irrelevant::new(relevance, setting.system.packing()),
            None => Irrelevant::default(),
        };
        Worker { setting, irrelevant, guides: Vec::new(), forwards: None, helpers: None }
    }

    /// With this number of threads for each job, the worker's own included. The feedback to a job does not depend on it. Only
    /// searches that go position by position or place by place have work for more than one.
    pub fn with_threads(self, threads: usize) -> Self {
        Worker { helpers: Helpers::new(threads), ..self }
    }

    /// Does a job. If it is cancelled it soon ends as interrupted.
    pub fn run(&mut self, job: &Job, life: &Life) -> Feedback {
        if job.then == Then::Stop {
            return self.observed(job, life, &mut |_| {});
        }
        let mut seen = vec![0; sketch::SMALL];
        let feedback = self.observed(job, life, &mut |state| sketch::add(&mut seen, hash(state)));
        Feedback { seen, ..feedback }
    }

    /// Does a job and calls the observer for every state that it expands.
    pub fn observed(&mut self, job: &Job, life: &Life, observer: Observer) -> Feedback {
        let begun = Instant::now();
        let mut feedback = match self.search(job, life, observer) {
            Ok(feedback) => feedback,
            Err(error) => Feedback {
                number: job.number,
                end: JobEnd::Failed(error),
                possible: Vec::new(),
                bounded: false,
                effort: Effort::default(),
                seen: Vec::new(),
                left: Left::default(),
                positions: Vec::new(),
            },
        };
        feedback.effort.nanoseconds = begun.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
        feedback
    }

    fn search(&mut self, job: &Job, life: &Life, observer: Observer) -> Result<Feedback> {
        let guide = self.guide(&job.refinements)?;
        let path = checked_path(&guide, &job.path)?;
        let alone = job.refinements.is_empty() && job.then == Then::Stop && job.handed.is_none();
        if job.any_order && (!alone || job.order != Order::BreadthFirst) {
            return Err(Error::internal(
                "a job in any order is along a trace of the first guide, breadth first",
            ));
        }
        let forwards = job.handed.as_ref().map(|handed| self.accept(job, handed)).transpose()?;
        let budget = Budget::new(job.limits.memory);
        let Setting { system, .. } = self.setting;
        let search = GuidedSearch {
            system,
            guide: &guide,
            path: &path,
            anywhere: moves_anywhere(&guide, !job.refinements.is_empty(), job),
            irrelevant: &self.irrelevant,
            job,
            life,
            helpers: self.helpers.as_ref(),
        };
        if let (Some(handed), Some(forwards)) = (&job.handed, forwards) {
            let task = border::Task { search: &search, handed, forwards: &forwards };
            return border::run(&task, &budget, &way_budget(job), observer);
        }
        if job.any_order {
            return orders::run(&search, &budget, &way_budget(job), observer);
        }
        match job.order {
            Order::BreadthFirst => {
                let (mut feedback, found) = breadth::run(&search, &budget, observer)?;
                if let Some(found) = found {
                    feedback.end = match way::rebuild(&search, &found, &way_budget(job))? {
                        Some(finding) => JobEnd::Found(finding),
                        None => JobEnd::Interrupted,
                    };
                }
                Ok(feedback)
            }
            Order::DepthFirst => depth::run(&search, &budget, observer),
        }
    }

    /// The path to a state that a job expands or hands on: the state handed to the job from which it begins, and the steps as
    /// vectors and packed targets.
    pub fn way(&mut self, job: &Job, to: &Spot, life: &Life) -> Result<(Spot, Vec<(u32, Vec<u64>)>)> {
        let handed = job.handed.as_ref().ok_or_else(|| Error::internal("nothing was handed to the job"))?;
        let forwards = self.accept(job, handed)?;
        let guide = self.setting.guide.clone();
        let search = GuidedSearch {
            system: self.setting.system,
            guide: &guide,
            path: &[],
            anywhere: false,
            irrelevant: &self.irrelevant,
            job,
            life,
            helpers: self.helpers.as_ref(),
        };
        let task = border::Task { search: &search, handed, forwards: &forwards };
        let budget = way_budget(job);
        border::way(&task, to, &budget).map_err(|stop| match stop {
            Stop::OverBudget => border::no_way(&budget),
            Stop::Interrupted => Error::Limit(Limit::Interrupted),
            Stop::Failed(error) => error,
        })
    }

    /// Checks the states that were handed to a job, since they come from another process; returns the order of places.
    fn accept(&mut self, job: &Job, handed: &Handed) -> Result<Arc<[u32]>> {
        let (guide, system) = (&self.setting.guide, self.setting.system);
        let words = system.width().words();
        let mut fits = job.refinements.is_empty() && job.then == Then::Free;
        for start in &handed.starts {
            let place = guide.end(&checked_path(guide, &start.path)?);
            let fields: Vec<_> = guide.leaves().iter().map(|&leaf| system.packing().field(leaf)).collect();
            let there = |state: &[u64]| {
                fields.iter().zip(guide.locals(place)).all(|(field, local)| field.get(state) == *local)
            };
            fits &= start.states.len() % words == 0 && start.expanded <= (start.states.len() / words) as u64;
            fits &= start.states.chunks_exact(words).all(there);
        }
        if !fits || !handed.shared.is_sorted() {
            return Err(Error::internal("states were handed to a job that are not where it begins"));
        }
        let forwards = self.forwards.get_or_insert_with(|| guide.forwards().into());
        Ok(forwards.clone())
    }

    /// The guide of some refinements; it is made if it is not kept.
    fn guide(&mut self, refinements: &[Refinement]) -> Result<Arc<Guide>> {
        let Some((last, before)) = refinements.split_last() else { return Ok(self.setting.guide.clone()) };
        if let Some(at) = self.guides.iter().position(|(known, _)| known == refinements) {
            let known = self.guides.remove(at);
            self.guides.push(known);
        } else {
            let coarse = self.guide(before)?;
            let path = checked_path(&coarse, &last.path)?;
            let leaf = LeafIx(last.leaf);
            if last.leaf as usize >= self.setting.net.leaves.len() || coarse.leaves().contains(&leaf) {
                return Err(Error::Internal(format!("leaf {} cannot join the subsystem", last.leaf)));
            }
            let guide =
                coarse.refine(self.setting.net, &path, leaf, REFINED_LIMIT).map_err(|why| match why {
                    NoGuide::TooLarge { limit } => {
                        Error::Input(format!("a guide has more than {limit} states"))
                    }
                    NoGuide::Cyclic(_) => Error::internal("a guide is cyclic"),
                })?;
            if self.guides.len() == GUIDES_KEPT {
                self.guides.remove(0);
            }
            self.guides.push((refinements.to_vec(), Arc::new(guide)));
        }
        Ok(self.guides.last().expect("just used").1.clone())
    }
}

/// The memory for rebuilding a path.
fn way_budget(job: &Job) -> Budget {
    Budget::new(job.limits.memory.saturating_mul(REBUILD))
}

/// Checks that the edges of a path from another process follow each other.
fn checked_path(guide: &Guide, path: &[u32]) -> Result<Vec<EdgeIx>> {
    let mut state = guide.end(&[]);
    for (k, &edge) in path.iter().enumerate() {
        if !guide.leads_on(state, EdgeIx(edge)) {
            return Err(Error::Internal(format!("edge {k} of a job's path does not follow")));
        }
        state = guide.edge(EdgeIx(edge)).target;
    }
    Ok(path.iter().copied().map(EdgeIx).collect())
}
