//! A hunt from a prepared network to what it found.
//!
//! Invariant: a finding is replayed by other code before anybody hears of it; one that does not replay is an internal
//! error and ends the run.

use super::{Config, Found, Hunt, Outcome, Status};
use crate::driver::{Control, Ended, drive};
use crate::journal::{Journal, Trouble};
use crate::machine::{Accepted, Machine, Next};
use crate::transport::Transport;
use crate::transport::threads::{Crew, Threads, lasting};
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::guide::Guide;
use gridlock_lts::model::network::VectorIx;
use gridlock_worker::hunt::job::{HuntFeedback, HuntJob};
use gridlock_worker::hunt::{Hunter, Setting, Shared};
use gridlock_worker::life::Life;
use std::sync::Arc;
use std::time::Duration;

/// Is told of every finding as soon as it is known, with the verdict of the replay.
pub type Teller<'a> = &'a mut dyn FnMut(&Found, Verdict);

/// A journal and the answers that were in it.
pub type Opened = (Journal<HuntFeedback>, Vec<HuntFeedback>);

/// How a hunt ended.
#[derive(Debug)]
pub enum End {
    /// By itself.
    Over(Outcome),
    /// It was told to stop: time is up, a signal came.
    Stopped,
    /// The journal could not be written.
    Journal(Trouble),
}

/// What came of a hunt, besides the findings.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub end: End,
    /// What was done and seen.
    pub status: Status,
}

/// What a hunt needs to know of the system.
#[derive(Clone)]
pub struct Ground {
    /// The network.
    pub prepared: Arc<Prepared>,
    /// What guides the guided members.
    pub guide: Option<Arc<Guide>>,
}

/// How many threads hunt, and how long one may give no sign of life before it is given up and its job done by another.
#[derive(Clone, Copy)]
pub struct Hunters {
    /// How many.
    pub threads: usize,
    /// `None`: one that is stuck is waited for.
    pub stuck_after: Option<Duration>,
}

impl Hunters {
    fn start(self, ground: &Ground) -> Threads<HuntJob, HuntFeedback> {
        let ground = ground.clone();
        lasting(self.threads, self.stuck_after, move |crew| {
            ground.prepared.clone().visit(Lasting { ground, crew }).map_err(|e| e.to_string())
        })
    }
}

struct Lasting {
    ground: Ground,
    crew: Crew<HuntJob, HuntFeedback>,
}

impl Visitor for Lasting {
    type Out = ();

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) {
        self.crew.work(hunter(&self.ground, &*system));
    }
}

/// Hunts with threads as workers.
pub fn on_threads(
    ground: &Ground,
    config: Config,
    hunters: Hunters,
    journal: Option<Opened>,
    control: &Control<Status>,
    teller: Teller,
) -> Result<Report, String> {
    conduct(ground, config, &mut hunters.start(ground), journal, control, teller)
}

/// Makes hunters for [`Crew::work`].
fn hunter<'a, S: Successors>(
    ground: &'a Ground,
    system: &'a S,
) -> impl Fn() -> Box<dyn FnMut(HuntJob, &Life) -> HuntFeedback + 'a> + Sync {
    let Ground { prepared, guide } = ground;
    let net = prepared.net();
    let shared = Shared::new(system, net);
    move || {
        let (guide, shared) = (guide.clone(), shared.clone());
        let mut hunter = Hunter::new(Setting { system, net, guide, shared });
        Box::new(move |job, life| hunter.run(&job, life))
    }
}

/// What a finding says once it has been replayed.
fn verdict(prepared: &Prepared, finding: &gridlock_worker::job::Finding) -> Result<Verdict, String> {
    let step = |(vector, target): &(u32, Vec<u64>)| (VectorIx(*vector), target.clone());
    prepared
        .verdict(finding.what, &finding.path.iter().map(step).collect::<Vec<_>>())
        .map_err(|e| e.to_string())
}

/// A hunt whose findings are told.
struct Telling<'a> {
    hunt: Hunt<'a>,
    prepared: &'a Prepared,
    teller: Teller<'a>,
    trouble: Option<String>,
}

impl Telling<'_> {
    fn tell(&mut self) {
        for found in self.hunt.take_news() {
            match verdict(self.prepared, &found.finding.finding) {
                Ok(verdict) => (self.teller)(&found, verdict),
                Err(why) => self.trouble = Some(why),
            }
        }
    }
}

impl Machine for Telling<'_> {
    type Job = HuntJob;
    type Answer = HuntFeedback;
    type Status = Status;

    fn next(&mut self) -> Next<HuntJob> {
        let next = self.hunt.next();
        self.tell();
        if self.trouble.is_some() { Next::Done } else { next }
    }

    fn accept(&mut self, answer: HuntFeedback, worker: u32) -> Accepted {
        let accepted = self.hunt.accept(answer, worker);
        self.tell();
        accepted
    }

    fn lost(&mut self, number: u64) -> bool {
        self.hunt.lost(number)
    }

    fn cut_short(&mut self, answer: HuntFeedback) {
        self.hunt.cut_short(answer);
    }

    fn status(&self) -> Status {
        self.hunt.status()
    }

    fn made_and_done(&self) -> (u64, u64) {
        self.hunt.made_and_done()
    }
}

/// Hunts over a transport.
fn conduct(
    ground: &Ground,
    config: Config,
    transport: &mut dyn Transport<HuntJob, HuntFeedback>,
    journal: Option<Opened>,
    control: &Control<Status>,
    teller: Teller,
) -> Result<Report, String> {
    let Ground { prepared, guide } = ground;
    let hunt = Hunt::new(prepared.net(), prepared.packing().clone(), guide.clone(), config);
    let mut telling = Telling { hunt, prepared, teller, trouble: None };
    let (mut journal, resumed) = match journal {
        Some((journal, resumed)) => (Some(journal), resumed),
        None => (None, Vec::new()),
    };
    let (ended, _) = drive(&mut telling, transport, journal.as_mut(), resumed, control)?;
    telling.hunt.finish();
    telling.tell();
    if let Some(why) = telling.trouble {
        return Err(why);
    }
    let end = match (ended, telling.hunt.outcome()) {
        (Ended::Journal(trouble), _) => End::Journal(trouble),
        (_, Some(Outcome::Failed { number, reason })) => {
            return Err(format!("internal: job {number} failed: {reason}"));
        }
        (_, Some(outcome)) => End::Over(outcome.clone()),
        (_, None) => End::Stopped,
    };
    let mut status = telling.hunt.status();
    if let End::Over(_) = end {
        // How many jobs were under way when it ended depends on the workers. They do not count.
        (status.made, status.done) = (status.processed, status.processed);
    }
    Ok(Report { end, status })
}

#[cfg(feature = "mpi")]
pub use ranks::{on_ranks, serve};

/// The same with ranks of an MPI job as workers.
#[cfg(feature = "mpi")]
mod ranks {
    use super::*;
    use crate::transport::mpi::{self, Hello, Ranks, World};

    /// Hunts from rank 0 with the ranks that said hello as workers.
    #[allow(clippy::too_many_arguments)]
    pub fn on_ranks(
        world: &World,
        hellos: &[Hello],
        ground: &Ground,
        config: Config,
        journal: Option<Opened>,
        control: &Control<Status>,
        teller: Teller,
        warn: &dyn Fn(String),
    ) -> Result<Report, String> {
        let mut ranks = Ranks::new(world, hellos, warn);
        conduct(ground, config, &mut ranks, journal, control, teller)
    }

    /// Does jobs for rank 0 on some threads until it says that it is over, and returns its exit code.
    pub fn serve(world: &World, hunters: Hunters, ground: &Ground) -> Result<u8, String> {
        mpi::serve(world, &mut hunters.start(ground))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::samples::synthetic;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// Threads of which some never do their job.
    struct Balky {
        ground: Ground,
        crew: Crew<HuntJob, HuntFeedback>,
        silent: u32,
    }

    impl Visitor for Balky {
        type Out = ();

        fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) {
            let system = &*system;
            let Balky { ground, crew, silent } = self;
            let (hunter, left) = (hunter(&ground, system), AtomicU32::new(silent));
            crew.work(|| {
                let mut hunt = hunter();
                let left = &left;
                move |job: HuntJob, life: &Life| {
                    let silent = || left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
                    if job.number == 3 && silent() {
                        loop {
                            std::thread::park();
                        }
                    }
                    hunt(job, life)
                }
            });
        }
    }

    #[test]
    fn a_job_whose_thread_is_stuck_goes_to_another() {
        let prepared = Arc::new(Prepared::new(synthetic::counters(3, 12), []));
        let ground = Ground { prepared, guide: None };
        let run = |silent: u32| {
            let config = Config { max_jobs: Some(40), ..Config::new(1, false, Vec::new()) };
            let control = Control { stop: &|| false, progress: &|_| {}, page: &|_| Vec::new() };
            let own = ground.clone();
            let mut threads = lasting(2, Some(Duration::from_millis(200)), move |crew| {
                own.prepared.clone().visit(Balky { ground: own, crew, silent }).map_err(|e| e.to_string())
            });
            conduct(&ground, config, &mut threads, None, &control, &mut |_, _| {})
        };
        let expected = run(0).expect("a report").status;
        assert!(expected.processed > 3, "{expected:?}");
        for silent in [1, 2] {
            let status = run(silent).expect("a report").status;
            assert_eq!((status.processed, status.lost), (expected.processed, u64::from(silent)));
        }
        let why = run(u32::MAX).expect_err("it cannot be done");
        assert!(why.contains("lost 3 times") && why.contains("no sign of life"), "{why}");
    }
}
