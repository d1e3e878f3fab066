use super::*;
use crate::strategy::StrategyKind;
use crate::testbed::{Shape, System, Workers, run};
use gridlock_lts::random::Rng;
use gridlock_worker::job::JobLimits;

fn limits(states: u64) -> JobLimits {
    JobLimits { states, memory: u64::MAX }
}

fn reliable(count: usize) -> Workers {
    Workers { count, twice: 0, lost: 0, seed: 1 }
}

/// Small systems of all kinds with a configuration for each.
fn cases(count: u64) -> impl Iterator<Item = (u64, System, Config)> {
    (0..count).map(|seed| {
        let rng = &mut Rng::new(seed);
        let shape = Shape {
            depth: rng.between(0, 7) as u32,
            width: rng.between(1, 4) as u32,
            branching: rng.between(1, 3) as u32,
            possible: rng.between(30, 100) as u64,
            cost: 5,
        };
        let granularity = if rng.percent(50) { Granularity::Trace } else { Granularity::Prefix };
        let pace = match rng.below(4) {
            0 => Pace::Window(1),
            1 => Pace::Window(rng.between(2, 80) as u64),
            2 => Pace::Batch(rng.between(1, 30) as u64),
            _ => Pace::default(),
        };
        // A path has at most 8 positions of at most 5 states.
        let mut config = Config::new(limits(rng.between(40, 120) as u64));
        config.granularity = granularity;
        config.strategy = StrategyKind::ALL[rng.below(4)];
        config.pace = pace;
        config.seed = seed;
        config.record = true;
        (seed, System::new(shape, seed), config)
    })
}

/// All jobs in the order of their numbers, each handed out the same whenever it was; and how the swarm ended.
fn play(system: &System, config: &Config, workers: &Workers) -> (Vec<Job>, Outcome, Status, Vec<Event>) {
    let mut swarm = Swarm::new(&system.net, system.guide.clone(), config.clone());
    let mut jobs: Vec<Job> = Vec::new();
    run(&mut swarm, workers, &mut |job| system.answer(job), &mut |job| match jobs.get(job.number as usize) {
        Some(before) => assert_eq!(before, job, "handed out again as it was"),
        None => {
            assert_eq!(job.number, jobs.len() as u64);
            jobs.push(job.clone());
        }
    });
    let outcome = swarm.outcome().cloned().unwrap();
    (jobs, outcome, swarm.status(), swarm.take_events())
}

/// Whether a job that was completed visits all that a maximal possible path leads through.
fn covers(job: &Job, path: &[u32]) -> bool {
    job.path.starts_with(path) || (job.then == Then::Free && path.starts_with(&job.path))
}

#[test]
fn every_possible_path_is_searched() {
    let mut pruned = 0;
    for (seed, system, config) in cases(1_500) {
        let (jobs, outcome, status, events) = play(&system, &config, &reliable(5));
        assert_eq!(outcome, Outcome::Exhausted { bounded: false }, "seed {seed}");
        assert_eq!(status.explored.clone() + &status.pruned, status.all, "seed {seed}");
        pruned += usize::from(status.pruned > BigUint::ZERO);
        let complete: Vec<&Job> =
            jobs.iter().zip(&events).filter(|(_, e)| e.class == Class::Explored).map(|(j, _)| j).collect();
        for path in system.possible_paths() {
            assert!(
                complete.iter().any(|job| covers(job, &path)),
                "seed {seed}: {path:?} was never searched"
            );
        }
    }
    assert!(pruned > 500);
}

#[test]
fn jobs_do_not_depend_on_workers() {
    for (seed, system, config) in cases(400) {
        let one = play(&system, &config, &reliable(1));
        for (count, twice, lost) in [(1_000, 0, 0), (7, 30, 0), (50, 20, 30)] {
            let many = play(&system, &config, &Workers { count, twice, lost, seed });
            assert_eq!(one.0, many.0, "seed {seed}: the same jobs");
            assert_eq!(one.1, many.1);
            assert_eq!(
                Status { lost: 0, ..one.2.clone() },
                Status { lost: 0, ..many.2 },
                "seed {seed}: the same figures"
            );
        }
    }
}
