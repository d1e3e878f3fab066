//! Informed swarm verification from a prepared network to a verdict.
//!
//! Invariant: a violation is replayed by other code before it is reported, and the conclusion is `holds` only for a swarm
//! that has done or pruned every trace ID and was not bounded.

pub mod ids;
pub mod strategy;
pub mod swarm;
pub mod testbed;

use crate::grid::driver::{self, Control, Ended, Times};
use crate::grid::journal::{Tally, Trouble};
use crate::grid::machine::{Numbered, Reply};
use crate::grid::work::{AnyWork, Grid, Work, Worker};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::guide::{Guide, Relevance};
use gridlock_lts::model::network::VectorIx;
use gridlock_worker::guided::{self, Setting};
use gridlock_worker::job::{Feedback, Job, JobEnd};
use gridlock_worker::life::Life;
use std::sync::Arc;
use swarm::{Config, Course, Event, Repeats, Steps, Stuck, Swarm, SwarmOutcome, SwarmStatus};

/// What a swarm concludes.
#[derive(Debug)]
pub enum Conclusion {
    /// All properties hold: the searches together have visited every reachable state.
    Holds,
    /// A property is violated or the specification is faulty, with a trace that replays, found by the job of that number.
    Found(Verdict, u64),
    /// Nothing was found, but cycles were bounded and the subsystem could have gone on.
    Bounded,
    /// Nothing was found, but these traces were too large for a job.
    TooLarge(Vec<Stuck>),
    /// Nothing was found, but jobs did the same work again and again: more often than the configuration allows.
    Repeats(Repeats),
    /// Only some of the trace IDs were to be done, and those hold.
    Shard {
        /// Whether cycles were bounded and the subsystem could have gone on.
        bounded: bool,
    },
    /// The run was stopped.
    Stopped,
    /// The journal could not be written.
    Journal(Trouble),
}

/// The result of a swarm.
#[derive(Debug)]
pub struct SwarmReport {
    /// The answer.
    pub conclusion: Conclusion,
    /// How far it came and what it took.
    pub status: SwarmStatus,
    /// What each job did to the space of IDs, if the configuration asked for it.
    pub events: Vec<Event>,
    /// The course of the work, if the configuration asked for it.
    pub course: Course,
    /// When each of these jobs was handed out and answered; jobs whose answers were resumed are left out.
    pub times: Times,
}

/// A journal and the answers that were in it.
pub type Opened = driver::Opened<Feedback>;

impl Numbered for Job {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Numbered for Feedback {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Reply for Feedback {
    fn is_interrupted(&self) -> bool {
        self.end == JobEnd::Interrupted
    }

    fn end(&self) -> &'static str {
        self.end.name()
    }

    fn tally(&self) -> Tally {
        Tally { states: self.effort.states, nanoseconds: self.effort.nanoseconds }
    }
}

struct Tracing<S> {
    prepared: Arc<Prepared>,
    guide: Arc<Guide>,
    relevance: Option<Arc<Relevance>>,
    system: Arc<S>,
    /// Threads of each job.
    job_workers: usize,
}

impl<S: Successors + Send + Sync + 'static> Work for Tracing<S> {
    type Job = Job;
    type Answer = Feedback;

    fn worker(&self) -> Worker<'_, Job, Feedback> {
        let net = self.prepared.net();
        let (guide, relevance) = (self.guide.clone(), self.relevance.clone());
        let setting = Setting { system: &*self.system, net, guide, relevance };
        let mut worker = guided::Worker::new(setting).with_threads(self.job_workers);
        Box::new(move |job, life| worker.run(&job, life))
    }
}

/// The work of workers: searches along traces of a guide.
pub fn work(prepared: &Arc<Prepared>, guide: &Arc<Guide>, config: &Config) -> Result<AnyWork<Job, Feedback>> {
    struct Compile(Arc<Prepared>, Arc<Guide>, Option<Arc<Relevance>>, usize);

    impl Visitor for Compile {
        type Out = AnyWork<Job, Feedback>;

        fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
            let Compile(prepared, guide, relevance, job_workers) = self;
            Arc::new(Tracing { prepared, guide, relevance, system, job_workers })
        }
    }
    prepared.visit(Compile(prepared.clone(), guide.clone(), config.relevance.clone(), config.job_workers))
}

/// Runs a swarm.
pub fn conduct(
    prepared: &Arc<Prepared>,
    guide: &Arc<Guide>,
    config: Config,
    grid: &Grid,
    journal: Option<Opened>,
    control: &Control<SwarmStatus>,
) -> Result<SwarmReport> {
    let sharded = config.shard.is_some();
    let work = work(prepared, guide, &config)?;
    let mut swarm = Swarm::new(prepared.net(), Guide::clone(guide), config);
    let (ended, times) = grid.lead(&mut swarm, &work, journal, control)?;
    let conclusion = match (ended, swarm.outcome()) {
        (Ended::Journal(trouble), _) => Conclusion::Journal(trouble),
        (Ended::Stopped | Ended::Limit(_), None) => Conclusion::Stopped,
        (Ended::Done, None) => return Err(Error::internal("a swarm is done without an outcome")),
        (_, Some(outcome)) => {
            let outcome = outcome.clone();
            conclude(prepared, guide, &mut swarm, &outcome, sharded)?
        }
    };
    let mut status = swarm.status();
    if let Conclusion::Found(..) = conclusion {
        // How many jobs were under way when it was found depends on the workers. They do not count.
        status.remaining += std::mem::take(&mut status.in_work);
        (status.made, status.done) = (status.processed, status.processed);
    }
    Ok(SwarmReport { conclusion, status, events: swarm.take_events(), course: swarm.take_course(), times })
}

/// The steps from the initial state to the state handed to a job from which the path to its finding begins.
fn way_to_finding(prepared: &Prepared, guide: &Arc<Guide>, swarm: &mut Swarm) -> Result<Steps> {
    struct Rebuild<'r, 's, 'n>(&'r Prepared, &'r Arc<Guide>, &'s mut Swarm<'n>);

    impl Visitor for Rebuild<'_, '_, '_> {
        type Out = Result<Steps>;

        fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
            let Config { relevance, job_workers, .. } = self.2.config().clone();
            let setting = Setting { system: &*system, net: self.0.net(), guide: self.1.clone(), relevance };
            let mut worker = guided::Worker::new(setting).with_threads(job_workers);
            self.2.way_to_finding(&mut |job, to| worker.way(job, to, &Life::default()))
        }
    }
    prepared.visit(Rebuild(prepared, guide, swarm))?
}

fn conclude(
    prepared: &Prepared,
    guide: &Arc<Guide>,
    swarm: &mut Swarm,
    outcome: &SwarmOutcome,
    sharded: bool,
) -> Result<Conclusion> {
    Ok(match outcome {
        SwarmOutcome::Exhausted { bounded } if sharded => Conclusion::Shard { bounded: *bounded },
        SwarmOutcome::Exhausted { bounded: true } => Conclusion::Bounded,
        SwarmOutcome::Exhausted { bounded: false } => Conclusion::Holds,
        SwarmOutcome::Stuck(stuck) => Conclusion::TooLarge(stuck.clone()),
        SwarmOutcome::Repeats(repeats) => Conclusion::Repeats(*repeats),
        SwarmOutcome::Failed { number, reason } => {
            return Err(match reason {
                // Something that the user can do something about.
                Error::Input(why) => Error::Input(format!("job {number}: {why}")),
                reason => Error::Internal(format!("job {number} failed: {reason}")),
            });
        }
        SwarmOutcome::Found { finding, number } => {
            let before = way_to_finding(prepared, guide, swarm)?;
            let path: Vec<_> = before
                .iter()
                .chain(&finding.path)
                .map(|(vector, target)| (VectorIx(*vector), target.clone()))
                .collect();
            let verdict = prepared.verdict(finding.what, &path)?;
            Conclusion::Found(verdict, *number)
        }
    })
}
