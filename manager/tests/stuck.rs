//! Swarms with threads that get stuck: the job goes to another thread, and the run ends as if nothing had happened.

use gridlock_lts::base::error::Error;
use gridlock_manager::grid::driver::{Control, Ended, Opened, drive};
use gridlock_manager::grid::journal::{Identity, Journal};
use gridlock_manager::grid::transport::threads;
use gridlock_manager::traces::swarm::{Config, Granularity, Swarm, SwarmStatus};
use gridlock_manager::traces::testbed::{Shape, System};
use gridlock_worker::job::{Feedback, Job, JobLimits};
use gridlock_worker::life::Life;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// The job that gets stuck.
const STUCK: u64 = 5;

fn control() -> Control<'static, SwarmStatus> {
    Control { stop: &|| false, progress: &|_| {}, page: &|_| Vec::new() }
}

/// Runs a swarm of which a job never ends, this many times; gives what drive says and the status.
fn run(
    system: &Arc<System>,
    times: u32,
    journal: Option<Opened<Feedback>>,
) -> (Result<(), Error>, SwarmStatus) {
    let limits = JobLimits { states: u64::MAX, memory: u64::MAX };
    let config = Config { granularity: Granularity::Trace, ..Config::new(limits) };
    let mut swarm = Swarm::new(&system.net, system.guide.clone(), config);
    let (shared, left) = (system.clone(), Arc::new(AtomicU32::new(times)));
    let hangs = move |job: &Job| {
        job.number == STUCK && left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    };
    // Long enough that a thread which is alive gets its turn on a machine that has much to do.
    let mut threads = threads::start(2, Some(Duration::from_secs(1)), move |crew| {
        crew.work(|| {
            |job: Job, _: &Life| {
                if hangs(&job) {
                    loop {
                        std::thread::park();
                    }
                }
                shared.answer(&job)
            }
        });
    });
    let ended = drive(&mut swarm, &mut threads, journal, &control());
    let ended = ended.map(|(ended, _)| assert!(matches!(ended, Ended::Done), "{ended:?}"));
    drop(threads);
    (ended, swarm.status())
}

fn system() -> Arc<System> {
    let shape = Shape { depth: 4, width: 3, branching: 3, possible: 70, cost: 10 };
    Arc::new(System::new(shape, 1))
}

#[test]
fn a_job_that_is_stuck_is_done_by_another() {
    let system = system();
    let (ended, expected) = run(&system, 0, None);
    assert_eq!(ended, Ok(()));
    assert!(expected.done > 2 * STUCK, "{expected:?}");
    for times in [1, 2] {
        let dir = tempfile::tempdir().expect("a directory");
        let identity: Identity = vec![("test".to_owned(), "stuck".to_owned())];
        let journal = Journal::open(dir.path(), &identity, false).expect("a journal");
        let (ended, status) = run(&system, times, Some(journal));
        assert_eq!(ended, Ok(()), "stuck {times} times");
        assert_eq!(status.lost, u64::from(times));
        assert_eq!(SwarmStatus { lost: 0, ..status }, expected, "stuck {times} times");
        let (_, answers) = Journal::<Feedback>::open(dir.path(), &identity, true).expect("a whole journal");
        assert_eq!(answers.len() as u64, expected.done);
    }
}

#[test]
fn a_job_that_is_always_stuck_is_an_error() {
    let (ended, _) = run(&system(), u32::MAX, None);
    let Err(Error::Internal(why)) = ended else { panic!("it cannot be done") };
    assert!(why.contains("job 5 was lost 3 times") && why.contains("no sign of life"), "{why}");
}
