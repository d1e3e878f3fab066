//! How fast the manager is: a million simulated jobs, thousands of workers of which some fail.
//!
//! `cargo run --release -p gridlock-manager --example testbed [JOBS]`

use gridlock_lts::base::rng::Rng;
use gridlock_manager::grid::machine::{Machine, Next};
use gridlock_manager::traces::swarm::{Config, Granularity, Pace, Swarm};
use gridlock_manager::traces::testbed::{Shape, System};
use gridlock_worker::job::{Job, JobLimits};
use std::time::{Duration, Instant};

const WORKERS: usize = 10_000;

/// The time this thread has run, where the system tells; a busy machine makes the time on the wall meaningless.
fn on_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// The time that something took, on the wall and on the processor.
#[derive(Default)]
struct Spent {
    wall: Duration,
    cpu: Duration,
}

impl Spent {
    fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), on_cpu());
        let result = work();
        self.wall += wall.elapsed();
        self.cpu += on_cpu().zip(cpu).map_or(wall.elapsed(), |(now, then)| now.saturating_sub(then));
        result
    }
}

/// Runs a swarm for this many processed jobs or to its end; only the manager's own time is measured.
fn measure(name: &str, system: &System, config: Config, jobs: u64) {
    let mut swarm = Swarm::new(&system.net, system.guide.clone(), config);
    let mut rng = Rng::new(7);
    let mut busy: Vec<Job> = Vec::new();
    let mut spent = Spent::default();
    loop {
        let done = spent.measure(|| {
            while busy.len() < WORKERS {
                match swarm.next() {
                    Next::Job(job) => busy.push(job),
                    Next::Wait => break,
                    Next::Done => return true,
                }
            }
            false
        });
        if done || swarm.status().processed >= jobs {
            break;
        }
        // A tenth of the workers answers, some twice; some are lost.
        let (mut lost, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..busy.len().div_ceil(10) {
            let job = busy.swap_remove(rng.below(busy.len()));
            if rng.percent(3) {
                lost.push(job.number);
                continue;
            }
            let answer = system.answer(&job);
            answers.extend(std::iter::repeat_n(answer, if rng.percent(5) { 2 } else { 1 }));
        }
        spent.measure(|| {
            for number in lost {
                swarm.lost(number, 0);
            }
            for answer in answers {
                swarm.accept(answer, 0);
            }
        });
    }
    let status = swarm.status();
    let rate = |time: Duration| status.processed as f64 / time.as_secs_f64();
    println!(
        "{name:6} {:>9} feedbacks processed, {:>6} jobs lost, {} of {} IDs remain: {:.0} feedbacks a second on the wall, \
         {:.0} on the processor",
        status.processed,
        status.lost,
        status.remaining,
        status.all,
        rate(spent.wall),
        rate(spent.cpu),
    );
}

fn main() {
    let jobs = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let shape = Shape { depth: 24, width: 12, branching: 3, possible: 80, cost: 20 };
    let system = System::new(shape, 1);
    let mut config = Config::new(JobLimits { states: 10_000, memory: u64::MAX });
    config.pace = Pace::Window(WORKERS as u64);
    for granularity in [Granularity::Trace, Granularity::Prefix] {
        let config = Config { granularity, ..config.clone() };
        measure(&granularity.to_string(), &system, config, jobs);
    }
}
