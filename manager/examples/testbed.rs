//! How fast the manager is: a million simulated jobs, thousands of workers of which some fail.
//!
//! `cargo run --release -p gridlock-manager --example testbed [JOBS]`

use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Packing;
use gridlock_manager::grid::machine::{Machine, Next, Numbered, window};
use gridlock_manager::hunt::{self, Hunt, Kind};
use gridlock_manager::traces::swarm::{Config, Granularity, Pace, Swarm};
use gridlock_manager::traces::testbed::{Shape, System};
use gridlock_worker::hunt::job::{
    Below, Coverage, HuntEnd, HuntFeedback, HuntJob, Left, Method, Pending, Traps,
};
use gridlock_worker::job::{Effort, JobLimits};
use gridlock_worker::sketch;
use std::time::{Duration, Instant};

const WORKERS: usize = 10_000;

/// Processor time of this thread, if the system reports it; on a busy machine elapsed time means little.
fn on_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// Elapsed time and processor time.
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

    /// How many feedbacks a second that is.
    fn rates(&self, processed: u64) -> String {
        let rate = |time: Duration| processed as f64 / time.as_secs_f64();
        let (wall, cpu) = (rate(self.wall), rate(self.cpu));
        let each = self.cpu.as_secs_f64() * 1e6 / processed as f64;
        format!("{wall:.0} feedbacks a second on the wall, {cpu:.0} on the processor: {each:.1} µs each")
    }
}

/// Runs a machine for this many answers or to its end; only the manager's own time is measured.
fn drive<M: Machine>(machine: &mut M, jobs: u64, answer: impl Fn(&M::Job) -> M::Answer) -> Spent
where
    M::Answer: Clone,
{
    let mut rng = Rng::new(7);
    let mut busy: Vec<M::Job> = Vec::new();
    let mut spent = Spent::default();
    loop {
        let done = spent.measure(|| {
            while busy.len() < WORKERS {
                match machine.next() {
                    Next::Job(job) => busy.push(job),
                    Next::Wait => break,
                    Next::Done => return true,
                }
            }
            false
        });
        if done || machine.made_and_done().1 >= jobs {
            return spent;
        }
        // A tenth of the workers answers, some twice; some are lost.
        let (mut lost, mut answers) = (Vec::new(), Vec::new());
        for _ in 0..busy.len().div_ceil(10) {
            let job = busy.swap_remove(rng.below(busy.len()));
            if rng.percent(3) {
                lost.push(job.number());
                continue;
            }
            let answer = answer(&job);
            answers.extend(std::iter::repeat_n(answer, if rng.percent(5) { 2 } else { 1 }));
        }
        spent.measure(|| {
            for number in lost {
                machine.lost(number, 0);
            }
            for answer in answers {
                machine.accept(answer, 0);
            }
        });
    }
}

/// A swarm by trace IDs.
fn swarm(name: &str, system: &System, config: Config, jobs: u64) {
    let mut swarm = Swarm::new(&system.net, system.guide.clone(), config);
    let spent = drive(&mut swarm, jobs, |job| system.answer(job));
    let status = swarm.status();
    println!(
        "{name:6} {:>9} feedbacks processed, {:>6} jobs lost, {} of {} IDs remain: {}",
        status.processed,
        status.lost,
        status.remaining,
        status.all,
        spent.rates(status.processed),
    );
}

/// The states that remain of a job behind a path: states that no other job has, twenty levels of them, sixteen to a job.
fn below(job: &HuntJob) -> Option<Below> {
    let Method::Prefix { path, .. } = &job.method else { return None };
    let pending = |k: u64| Pending { frame: 0, vector: 0, state: vec![job.number * 16 + k + 1] };
    let left = (path.len() < 20).then(|| Left { spine: Vec::new(), pending: (0..16).map(pending).collect() });
    Some(Below { from: vec![0], cut_off: true, left, ..Below::default() })
}

/// A hunt whose searches report the same coverage each time, and new states if they search below paths.
fn hunt(name: &str, system: &System, jobs: u64, portfolio: Vec<Kind>) {
    let config =
        hunt::Config { portfolio, window: window(WORKERS as u64), ..hunt::Config::new(1, false, Vec::new()) };
    let mut hunt = Hunt::new(&system.net, Packing::for_network(&system.net), None, config);
    let spent = drive(&mut hunt, jobs, |job| HuntFeedback {
        number: job.number,
        end: HuntEnd::OverBudget,
        findings: Vec::new(),
        coverage: Coverage {
            // Else jobs would be taken for repetitions, and made larger.
            sketch: vec![if below(job).is_some() { 40 } else { 1 }; sketch::REGISTERS],
            ..Coverage::default()
        },
        guided: None,
        below: below(job),
        traps: Traps::default(),
        effort: Effort { states: job.limits.states, ..Effort::default() },
        shortening: 0,
    });
    let status = hunt.status();
    println!(
        "{name:6} {:>9} feedbacks processed, {:>6} jobs lost: {}",
        status.processed,
        status.lost,
        spent.rates(status.processed)
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
        swarm(&granularity.to_string(), &system, config, jobs);
    }
    let usual = |kind: &Kind| !kind.is_guided() && !kind.is_for_formulas();
    let usual =
        Kind::NAMED.into_iter().filter(usual).filter(|kind| !matches!(kind, Kind::Beam | Kind::Prefix));
    hunt("hunt", &system, jobs, usual.collect());
    hunt("below", &system, jobs, vec![Kind::Prefix]);
}
