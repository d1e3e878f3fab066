//! Informed swarm verification from a prepared network to a verdict.
//!
//! Invariant: a violation is replayed by other code before it is reported, and `holds` is said only of a swarm that has
//! done or pruned every trace ID and was not bounded.

use crate::driver::{Control, Ended, Times, drive};
use crate::journal::{Journal, Trouble};
use crate::swarm::{Config, Event, Outcome, Status, Stuck, Swarm};
use crate::transport::Transport;
use crate::transport::threads::{Crew, Threads, lasting, with_threads};
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::guide::Guide;
use gridlock_lts::model::network::VectorIx;
use gridlock_worker::guided::{Setting, Worker};
use gridlock_worker::job::{Feedback, Job};
use gridlock_worker::life::Life;
use std::sync::Arc;
use std::time::Duration;

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

/// What came of a swarm.
#[derive(Debug)]
pub struct Report {
    /// The answer.
    pub conclusion: Conclusion,
    /// How far it came and what it took.
    pub status: Status,
    /// What each job did to the space of IDs, if the configuration asked for it.
    pub events: Vec<Event>,
    /// When each of these jobs was handed out and answered; nothing of jobs whose answers were resumed.
    pub times: Times,
}

/// A journal and the answers that were in it.
pub type Opened = (Journal<Feedback>, Vec<Feedback>);

/// Runs a swarm with threads as its workers, who are waited for even if they are stuck.
pub fn on_threads(
    prepared: &Prepared,
    guide: &Arc<Guide>,
    config: Config,
    workers: usize,
    journal: Option<Opened>,
    control: &Control,
) -> Result<Report, String> {
    with_workers(prepared, guide, workers, |threads| {
        conduct(prepared, guide, config, threads, journal, control)
    })?
}

/// Starts threads that do jobs, and calls `body` with them.
pub fn with_workers<R>(
    prepared: &Prepared,
    guide: &Arc<Guide>,
    threads: usize,
    body: impl FnOnce(&mut Threads<Job, Feedback>) -> R,
) -> Result<R, String> {
    prepared.visit(WithWorkers { prepared, guide, threads, body }).map_err(|e| e.to_string())
}

struct WithWorkers<'a, B> {
    prepared: &'a Prepared,
    guide: &'a Arc<Guide>,
    threads: usize,
    body: B,
}

impl<R, B: FnOnce(&mut Threads<Job, Feedback>) -> R> Visitor for WithWorkers<'_, B> {
    type Out = R;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> R {
        with_threads(self.threads, worker(self.prepared, self.guide, &*system), self.body)
    }
}

/// Starts threads that do jobs and that are given up if they give no sign of life for `patience`.
pub fn lasting_workers(
    prepared: &Arc<Prepared>,
    guide: &Arc<Guide>,
    threads: usize,
    patience: Option<Duration>,
) -> Threads<Job, Feedback> {
    let (prepared, guide) = (prepared.clone(), guide.clone());
    lasting(threads, patience, move |crew| {
        prepared.clone().visit(Lasting { prepared, guide, crew }).map_err(|e| e.to_string())
    })
}

struct Lasting {
    prepared: Arc<Prepared>,
    guide: Arc<Guide>,
    crew: Crew<Job, Feedback>,
}

impl Visitor for Lasting {
    type Out = ();

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) {
        self.crew.work(worker(&self.prepared, &self.guide, &*system));
    }
}

/// Makes workers for [`Crew::work`].
fn worker<'a, S: Successors>(
    prepared: &'a Prepared,
    guide: &'a Arc<Guide>,
    system: &'a S,
) -> impl Fn() -> Box<dyn FnMut(Job, &Life) -> Feedback + 'a> + Sync {
    move || {
        let net = prepared.net();
        let mut worker = Worker::new(Setting { system, net, guide: guide.clone() });
        Box::new(move |job, life| worker.run(&job, life))
    }
}

/// Runs a swarm over a transport.
pub fn conduct(
    prepared: &Prepared,
    guide: &Guide,
    config: Config,
    transport: &mut dyn Transport<Job, Feedback>,
    journal: Option<Opened>,
    control: &Control,
) -> Result<Report, String> {
    let sharded = config.shard.is_some();
    let mut swarm = Swarm::new(prepared.net(), guide.clone(), config);
    let (mut journal, resumed) = match journal {
        Some((journal, resumed)) => (Some(journal), resumed),
        None => (None, Vec::new()),
    };
    let (ended, times) = drive(&mut swarm, transport, journal.as_mut(), resumed, control)?;
    let conclusion = match (ended, swarm.outcome()) {
        (Ended::Journal(trouble), _) => Conclusion::Journal(trouble),
        (Ended::Stopped, None) => Conclusion::Stopped,
        (_, None) => return Err("internal: a swarm is done without an outcome".to_owned()),
        (_, Some(outcome)) => conclude(prepared, outcome, sharded)?,
    };
    let mut status = swarm.status();
    if let Conclusion::Found(..) = conclusion {
        // How many jobs were under way when it was found depends on the workers. They do not count.
        status.remaining += std::mem::take(&mut status.in_work);
        (status.made, status.done) = (status.processed, status.processed);
    }
    Ok(Report { conclusion, status, events: swarm.take_events(), times })
}

fn conclude(prepared: &Prepared, outcome: &Outcome, sharded: bool) -> Result<Conclusion, String> {
    Ok(match outcome {
        Outcome::Exhausted { bounded } if sharded => Conclusion::Shard { bounded: *bounded },
        Outcome::Exhausted { bounded: true } => Conclusion::Bounded,
        Outcome::Exhausted { bounded: false } => Conclusion::Holds,
        Outcome::Stuck(stuck) => Conclusion::TooLarge(stuck.clone()),
        Outcome::Failed { number, reason } => return Err(format!("job {number} failed: {reason}")),
        Outcome::Found { finding, number } => {
            let path: Vec<_> =
                finding.path.iter().map(|(vector, target)| (VectorIx(*vector), target.clone())).collect();
            Conclusion::Found(prepared.verdict(finding.what, &path).map_err(|e| e.to_string())?, *number)
        }
    })
}

#[cfg(feature = "mpi")]
pub use ranks::on_ranks;

/// The same with ranks of an MPI job as workers.
#[cfg(feature = "mpi")]
mod ranks {
    use super::*;
    use crate::transport::mpi::{Hello, Ranks, World};

    /// Runs a swarm on rank 0 with the ranks that said hello as its workers.
    #[allow(clippy::too_many_arguments)]
    pub fn on_ranks(
        world: &World,
        hellos: &[Hello],
        prepared: &Prepared,
        guide: &Guide,
        config: Config,
        journal: Option<Opened>,
        control: &Control,
        warn: &dyn Fn(String),
    ) -> Result<Report, String> {
        let mut ranks = Ranks::new(world, hellos, warn);
        conduct(prepared, guide, config, &mut ranks, journal, control)
    }
}
