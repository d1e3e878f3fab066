//! How fast the manager is: a million simulated jobs, thousands of workers of which some fail.
//!
//! `cargo run --release -p gridlock-manager --example testbed [JOBS]`

use gridlock_lts::random::Rng;
use gridlock_manager::swarm::{Config, Granularity, Next, Pace, Swarm};
use gridlock_manager::testbed::{Shape, System};
use gridlock_worker::job::{Job, JobLimits};
use std::time::{Duration, Instant};

const WORKERS: usize = 4_000;

/// Runs a swarm for so many processed jobs or to its end; only the manager's own time is measured.
fn measure(name: &str, system: &System, config: Config, jobs: u64) {
    let mut swarm = Swarm::new(&system.net, system.guide.clone(), config);
    let mut rng = Rng::new(7);
    let mut busy: Vec<Job> = Vec::new();
    let mut spent = Duration::ZERO;
    'swarm: loop {
        let begin = Instant::now();
        while busy.len() < WORKERS {
            match swarm.next() {
                Next::Job(job) => busy.push(job),
                Next::Wait => break,
                Next::Done => break 'swarm,
            }
        }
        spent += begin.elapsed();
        if swarm.status().processed >= jobs {
            break;
        }
        // A tenth of the workers answers, some twice; some are lost.
        for _ in 0..busy.len().div_ceil(10) {
            let job = busy.swap_remove(rng.below(busy.len()));
            let feedback = (!rng.percent(3)).then(|| system.answer(&job));
            let again = feedback.clone().filter(|_| rng.percent(5));
            let begin = Instant::now();
            match feedback {
                Some(feedback) => {
                    swarm.accept(feedback, 0);
                }
                None => {
                    swarm.lost(job.number);
                }
            }
            if let Some(again) = again {
                swarm.accept(again, 0);
            }
            spent += begin.elapsed();
        }
    }
    let status = swarm.status();
    println!(
        "{name:7} {:>9} feedbacks processed, {:>6} jobs lost, {:>12} of {} IDs remain: {:>9.0} feedbacks a second",
        status.processed,
        status.lost,
        status.remaining,
        status.all,
        status.processed as f64 / spent.as_secs_f64()
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
