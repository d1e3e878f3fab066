use super::*;
use crate::traces::strategy::StrategyKind;
use crate::traces::testbed::{Shape, System, Workers, run};
use gridlock_lts::base::rng::Rng;
use gridlock_worker::job::{Finding, JobLimits, What};

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
fn play(
    system: &System,
    config: &Config,
    workers: &Workers,
) -> (Vec<Job>, SwarmOutcome, SwarmStatus, Vec<Event>) {
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
        assert_eq!(outcome, SwarmOutcome::Exhausted { bounded: false }, "seed {seed}");
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
                SwarmStatus { lost: 0, ..one.2.clone() },
                SwarmStatus { lost: 0, ..many.2 },
                "seed {seed}: the same figures"
            );
        }
    }
}

/// The answers of a system, but some jobs find something.
fn finding(system: &System, job: &Job, found: &[u64]) -> Feedback {
    let mut feedback = system.answer(job);
    if found.contains(&job.number) {
        let finding = Finding { what: What::Deadlock(job.number as usize), path: Vec::new() };
        feedback.end = JobEnd::Found(finding);
    }
    feedback
}

#[test]
fn the_violation_of_the_first_job_counts() {
    let mut seen = 0;
    for (seed, system, config) in cases(300) {
        let (jobs, ..) = play(&system, &config, &reliable(1));
        let rng = &mut Rng::new(seed ^ 0xf0);
        let found: Vec<u64> = (0..3).map(|_| rng.below(jobs.len()) as u64).collect();
        let mut before: Option<(SwarmOutcome, BigUint, BigUint)> = None;
        for count in [1, 3, 100] {
            let mut swarm = Swarm::new(&system.net, system.guide.clone(), config.clone());
            let workers = Workers { count, twice: 10, lost: 20, seed };
            run(&mut swarm, &workers, &mut |job| finding(&system, job, &found), &mut |job| {
                assert_eq!(jobs[job.number as usize], *job, "a beginning of the same sequence");
            });
            let first = found.iter().copied().min().unwrap();
            let status = swarm.status();
            assert!(
                matches!(swarm.outcome(), Some(SwarmOutcome::Found { number, .. }) if *number == first),
                "seed {seed}: {:?}, not {first}",
                swarm.outcome()
            );
            assert_eq!(status.processed, first + 1, "only what counts is counted");
            let now = (swarm.outcome().cloned().unwrap(), status.explored, status.pruned);
            assert_eq!(*before.get_or_insert_with(|| now.clone()), now, "seed {seed}");
            seen += 1;
        }
    }
    assert_eq!(seen, 900);
}

#[test]
fn shards_together_do_everything() {
    for (seed, system, config) in cases(300) {
        let traces = system.guide.traces().clone();
        let mut all = BigUint::ZERO;
        let mut complete = Vec::new();
        for part in 0..3u32 {
            let shard = &traces * part / 3u32..&traces * (part + 1) / 3u32;
            let config = Config { shard: Some(shard.clone()), ..config.clone() };
            let (jobs, outcome, status, events) = play(&system, &config, &reliable(3));
            assert_eq!(outcome, SwarmOutcome::Exhausted { bounded: false });
            assert!(
                events
                    .iter()
                    .flat_map(|e| &e.ids)
                    .all(|ids| shard.start <= ids.start && ids.end <= shard.end)
            );
            let explored = jobs.into_iter().zip(&events).filter(|(_, e)| e.class == Class::Explored);
            complete.extend(explored.map(|(job, _)| job));
            all += status.all;
        }
        assert_eq!(all, traces);
        for path in system.possible_paths() {
            assert!(complete.iter().any(|job| covers(job, &path)), "seed {seed}: {path:?}");
        }
    }
}

#[test]
fn sense_is_made_of_strange_messages() {
    let shape = Shape { depth: 4, width: 2, branching: 2, possible: 100, cost: 2 };
    let system = System::new(shape, 3);
    let config = Config { granularity: Granularity::Trace, ..Config::new(limits(1_000)) };
    let mut swarm = Swarm::new(&system.net, system.guide.clone(), config);
    let Next::Job(job) = swarm.next() else { panic!("there is something to do") };
    let good = system.answer(&job);
    assert_eq!(swarm.accept(Feedback { number: 1, ..good.clone() }, 0), Accepted::Unknown);
    assert!(!swarm.lost(1, 0) && swarm.lost(0, 0) && swarm.lost(0, 0));
    assert_eq!(swarm.next(), Next::Job(job.clone()));
    assert_eq!(swarm.accept(Feedback { end: JobEnd::Interrupted, ..good.clone() }, 0), Accepted::New);
    assert_eq!(swarm.next(), Next::Job(job.clone()));
    assert_eq!(swarm.accept(good.clone(), 0), Accepted::New);
    assert_eq!(swarm.accept(good.clone(), 0), Accepted::Duplicate);
    assert!(!swarm.lost(0, 0));
    assert_eq!((swarm.status().lost, swarm.status().done), (2, 1));
    // A path that was neither followed nor impossible, edges of elsewhere, too many positions: none of it is believed.
    let short = good.possible[..2].to_vec();
    let foreign = vec![vec![77]];
    let long = [&good.possible[..], &[Vec::new()]].concat();
    for possible in [short, foreign, long, Vec::new()] {
        let config = Config { granularity: Granularity::Trace, ..Config::new(limits(1_000)) };
        let mut swarm = Swarm::new(&system.net, system.guide.clone(), config);
        let jobs: Vec<Next<Job>> = (0..16).map(|_| swarm.next()).collect();
        assert_eq!(jobs[0], Next::Job(job.clone()));
        swarm.accept(Feedback { possible, ..good.clone() }, 0);
        assert_eq!(swarm.next(), Next::Done);
        assert!(
            matches!(swarm.outcome(), Some(SwarmOutcome::Failed { number: 0, .. })),
            "{:?}",
            swarm.outcome()
        );
    }
}

/// Batches are as in the paper: all jobs of a batch are chosen before any of its feedback is looked at.
#[test]
fn feedback_waits_for_its_batch() {
    let shape = Shape { depth: 6, width: 3, branching: 3, possible: 60, cost: 2 };
    let system = System::new(shape, 5);
    let mut config = Config::new(limits(1_000));
    (config.granularity, config.pace) = (Granularity::Trace, Pace::Batch(10));
    let mut swarm = Swarm::new(&system.net, system.guide.clone(), config);
    let mut batches = 0;
    loop {
        let pruned = swarm.status().pruned;
        let mut batch = Vec::new();
        while let Next::Job(job) = swarm.next() {
            batch.push(job);
            if batch.len() > 1 {
                assert_eq!(swarm.status().processed % 10, 0);
            }
            if batch.len() == 10 {
                break;
            }
        }
        if batch.is_empty() {
            break;
        }
        batches += 1;
        assert!(batches == 1 || swarm.status().pruned >= pruned);
        for job in &batch {
            swarm.accept(system.answer(job), 0);
        }
    }
    assert_eq!(swarm.status().processed, swarm.status().made);
    assert!(batches > 3);
}

/// Where every prefix costs about the same, not many more jobs are made than the fewest possible.
#[test]
fn prefixes_are_not_cut_too_short() {
    for (seed, possible) in [(1, 70), (2, 85), (3, 100), (4, 60), (5, 90)] {
        let shape = Shape { depth: 12, width: 8, branching: 3, possible, cost: 3 };
        let system = System::new(shape, seed);
        for states in [300, 3_000, 30_000] {
            let config = Config::new(limits(states));
            let (jobs, outcome, status, _) = play(&system, &config, &reliable(2));
            assert_eq!(outcome, SwarmOutcome::Exhausted { bounded: false });
            let fewest = system.fewest_jobs(states);
            println!("{possible} {states}: {} jobs, {fewest} at least, {}", jobs.len(), status.total.states);
            assert!(jobs.len() as u64 <= 3 * fewest + 100, "{} for {fewest}", jobs.len());
            assert!(status.largest.value <= states);
        }
    }
}

/// Thousands of workers that fail: a small edition of the example `testbed`, which runs for longer and measures.
#[test]
fn thousands_of_workers_may_fail() {
    for granularity in [Granularity::Trace, Granularity::Prefix] {
        let shape = Shape { depth: 10, width: 6, branching: 3, possible: 85, cost: 3 };
        let system = System::new(shape, 11);
        let config = Config { granularity, pace: Pace::Window(4_000), ..Config::new(limits(60)) };
        let workers = Workers { count: 3_000, twice: 10, lost: 20, seed: 5 };
        let (jobs, outcome, status, _) = play(&system, &config, &workers);
        assert_eq!(outcome, SwarmOutcome::Exhausted { bounded: false });
        assert_eq!(status.explored + status.pruned, status.all);
        assert_eq!((status.processed, status.done), (jobs.len() as u64, jobs.len() as u64));
        assert!(status.processed > 500 && status.lost > 100, "{} {}", status.processed, status.lost);
    }
}
