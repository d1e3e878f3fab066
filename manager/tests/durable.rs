//! An answer counts only once it is on disk, also while others are on their way there.

use gridlock_lts::base::error::Result;
use gridlock_manager::grid::driver::{Control, Ended, drive};
use gridlock_manager::grid::journal::{self, Identity, Journal};
use gridlock_manager::grid::transport::{Returned, Ticket, Transport};
use gridlock_manager::traces::swarm::{Config, Granularity, Pace, Swarm};
use gridlock_manager::traces::testbed::{Shape, System};
use gridlock_worker::job::{Feedback, Job, JobLimits};
use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

/// How many records are in a journal, which may be in use.
fn records(dir: &Path) -> Result<u64> {
    let (_, mut tallies) = journal::look(dir)?;
    let mut records = 0;
    while tallies.next()?.is_some() {
        records += 1;
    }
    Ok(records)
}

/// Answers at once, after a look into the journal.
struct Suspicious<'a> {
    system: &'a System,
    journal: &'a Path,
    window: u64,
    answers: VecDeque<(u32, Ticket, Returned<Feedback>)>,
    /// How often a job came while answers were on their way to the disk.
    ahead: u64,
}

impl Transport<Job, Feedback> for Suspicious<'_> {
    fn slots(&self) -> Vec<u32> {
        vec![0; 4]
    }

    fn send(&mut self, worker: u32, ticket: Ticket, job: Job) -> Result<()> {
        // This job was chosen by all answers but the last ones, so these count, so they must be there.
        let on_disk = records(self.journal)?;
        assert!(on_disk + self.window > job.number, "job {} was chosen by {on_disk} answers", job.number);
        self.ahead += u64::from(on_disk < job.number);
        self.answers.push_back((worker, ticket, Returned::Done(self.system.answer(&job))));
        Ok(())
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Ticket, Returned<Feedback>)>> {
        if self.answers.is_empty() {
            std::thread::sleep(wait);
        }
        Ok(self.answers.pop_front())
    }

    fn cancel(&mut self) {}
}

#[test]
fn a_job_is_chosen_only_by_answers_that_are_on_disk() {
    let system = System::new(Shape { depth: 5, width: 4, branching: 3, possible: 80, cost: 10 }, 3);
    for window in [1, 3, 64] {
        let dir = tempfile::tempdir().expect("a directory");
        let identity: Identity = vec![("test".to_owned(), "durable".to_owned())];
        let journal = Journal::open(dir.path(), &identity, false).expect("a journal");
        let limits = JobLimits { states: u64::MAX, memory: u64::MAX };
        let (granularity, pace) = (Granularity::Trace, Pace::Window(window));
        let config = Config { granularity, pace, ..Config::new(limits) };
        let mut swarm = Swarm::new(&system.net, system.guide.clone(), config);
        let answers = VecDeque::new();
        let mut transport = Suspicious { system: &system, journal: dir.path(), window, answers, ahead: 0 };
        let control = Control { stop: &|| false, progress: &|_| {}, page: &|_| Vec::new() };
        let ended = drive(&mut swarm, &mut transport, Some(journal), &control);
        assert!(matches!(ended, Ok((Ended::Done, _))), "{ended:?}");
        let status = swarm.status();
        assert!(status.done > 20, "{status:?}");
        assert_eq!(records(dir.path()).expect("whole"), status.done);
        assert_eq!(transport.ahead > 0, window > 1, "nobody waits for the disk");
    }
}
