//! Hunts against workers that only pretend to search: the same jobs and findings, no matter which worker answers when.

use super::*;
use crate::grid::machine::window;
use crate::traces::testbed::{Shape, System};
use gridlock_lts::base::rng::Rng;
use gridlock_worker::hunt::job::{Coverage, HuntFinding, HuntLimits, Method};
use gridlock_worker::job::{Finding, What};
use gridlock_worker::sketch;
use std::collections::BTreeSet;

mod open;
mod prefix;

fn system() -> System {
    System::new(Shape { depth: 40, width: 3, branching: 3, possible: 95, cost: 50 }, 7)
}

/// The feedback of a simulated search: a function of the job. One of `rare` jobs on average finds something.
fn answer(system: &System, job: &HuntJob, rare: usize) -> HuntFeedback {
    let rng = &mut Rng::new(job.seed ^ 5);
    let mut coverage = Coverage { sketch: vec![0; sketch::REGISTERS], ..Coverage::default() };
    let states = match &job.method {
        Method::Guided(_) => job.limits.states / 2,
        _ => job.limits.states,
    };
    // Members differ in how much of what they see is new.
    let pool = match &job.method {
        Method::Walk { .. } => 500,
        Method::Bitstate { .. } => usize::MAX,
        _ => 100_000,
    };
    for _ in 0..states.min(2_000) {
        sketch::add(&mut coverage.sketch, Rng::new(rng.below(pool) as u64).bits());
    }
    let places = system.net.leaves[0].states.len();
    coverage.locals = vec![vec![0; places.div_ceil(64)]];
    let place = rng.below(places);
    coverage.locals[0][place / 64] |= 1 << (place % 64);
    let mut findings = Vec::new();
    if rng.below(rare) == 0 {
        let vector = rng.below(system.net.vectors.len()) as u32;
        let path = vec![(vector, vec![0])];
        let finding = Finding { what: What::Property(rng.below(50)), path };
        findings.push(HuntFinding { finding, ending: None, found_steps: 9, after_states: states / 2 });
    }
    let guided = match &job.method {
        Method::Guided(inner) => Some(system.answer(inner)),
        _ => None,
    };
    HuntFeedback {
        number: job.number,
        end: HuntEnd::OverBudget,
        findings,
        coverage,
        guided,
        below: None,
        traps: Default::default(),
        effort: Effort { states, ..Effort::default() },
        shortening: 0,
    }
}

fn config(seed: u64) -> Config {
    Config { max_jobs: Some(500), findings: 4, ..Config::new(seed, true, vec![0]) }
}

fn hunt(system: &System, config: Config) -> Hunt<'_> {
    let packing = Packing::for_network(&system.net);
    Hunt::new(&system.net, packing, Some(Arc::new(system.guide.clone())), config)
}

/// Everything that must not depend on the workers.
#[derive(PartialEq, Debug)]
struct Course {
    jobs: Vec<HuntJob>,
    found: Vec<Found>,
    outcome: HuntOutcome,
    status: HuntStatus,
}

/// Plays some workers that pretend.
fn play(system: &System, config: Config, workers: usize, rare: usize, chance: u64) -> Course {
    play_with(hunt(system, config), workers, chance, |job| answer(system, job, rare))
}

/// Plays some workers that answer in any order, lose jobs and answer twice.
fn play_with(
    mut hunt: Hunt,
    workers: usize,
    chance: u64,
    mut answer: impl FnMut(&HuntJob) -> HuntFeedback,
) -> Course {
    let rng = &mut Rng::new(chance);
    let (mut jobs, mut found, mut busy) = (BTreeMap::new(), Vec::new(), Vec::<HuntJob>::new());
    loop {
        let next = if busy.len() < workers { hunt.next() } else { Next::Wait };
        match next {
            Next::Done => break,
            Next::Job(job) => {
                if let Some(before) = jobs.insert(job.number, job.clone()) {
                    assert_eq!(before, job, "a job that is handed out again is the same");
                }
                busy.push(job);
            }
            Next::Wait => {
                assert!(!busy.is_empty(), "waits for nothing");
                let job = busy.swap_remove(rng.below(busy.len()));
                if workers > 1 && rng.percent(5) {
                    assert!(hunt.lost(job.number, 0));
                    continue;
                }
                let feedback = answer(&job);
                assert_eq!(hunt.accept(feedback.clone(), 0), Accepted::New);
                assert_eq!(hunt.accept(feedback, 0), Accepted::Duplicate);
                found.extend(hunt.take_news());
            }
        }
    }
    found.extend(hunt.take_news());
    let outcome = hunt.outcome().cloned().expect("it is done");
    let mut status = hunt.status();
    let made = status.processed as usize;
    (status.made, status.done, status.lost) = (0, 0, 0);
    Course { jobs: jobs.into_values().take(made).collect(), found, outcome, status }
}

#[test]
fn workers_change_nothing() {
    let system = system();
    let mut outcomes = Vec::new();
    for seed in 0..12 {
        let (rare, steering) = ([50, 400, 100_000][seed as usize % 3], seed % 4 != 3);
        let config = Config { steering, ..config(seed) };
        let one = play(&system, config.clone(), 1, rare, 0);
        for workers in [2, 5, 64, 100] {
            let many = play(&system, config.clone(), workers, rare, seed * 100 + workers as u64);
            assert_eq!(one, many, "seed {seed} with {workers} workers");
        }
        let keys: BTreeSet<_> = one
            .found
            .iter()
            .map(|f| (f.finding.finding.what, f.finding.finding.path[0].0))
            .map(|(what, v)| (format!("{what:?}"), system.net.vectors[v as usize].unhidden))
            .collect();
        assert_eq!(keys.len(), one.found.len(), "findings differ");
        assert!(one.found.windows(2).all(|pair| pair[0].states <= pair[1].states));
        outcomes.push(one.outcome);
    }
    for outcome in [HuntOutcome::Findings, HuntOutcome::Jobs] {
        assert!(outcomes.contains(&outcome), "no run ended with {outcome:?}: {outcomes:?}");
    }
}

/// The window of that many workers leaves none of them without a job, also where the first job takes longest.
#[test]
fn ten_thousand_workers_have_work() {
    const WORKERS: u64 = 10_000;
    let system = system();
    let portfolio = vec![Kind::DepthFirst, Kind::Walk, Kind::Bitstate, Kind::Rare];
    let config = Config { window: window(WORKERS), max_jobs: None, portfolio, ..config(1) };
    let mut hunt = hunt(&system, config);
    let answer = |job: &HuntJob| HuntFeedback {
        coverage: Coverage::default(),
        ..answer(
            &system,
            &HuntJob { limits: HuntLimits { states: 1, ..job.limits }, ..job.clone() },
            usize::MAX,
        )
    };
    let mut busy: VecDeque<HuntJob> = VecDeque::new();
    for made in 0..3 * WORKERS {
        let Next::Job(job) = hunt.next() else { panic!("no job for worker {}", busy.len()) };
        assert_eq!(job.number, made);
        busy.push_back(job);
        // The first one is answered only after as many others as there are workers.
        if busy.len() as u64 == WORKERS {
            let last = if made < 2 * WORKERS { busy.remove(1) } else { busy.pop_front() };
            let last = last.expect("a job");
            assert_eq!(hunt.accept(answer(&last), 0), Accepted::New);
        }
    }
    assert_eq!(hunt.status().done, 2 * WORKERS + 1);
}

#[test]
fn seeds_give_other_jobs() {
    let system = system();
    let jobs = |seed| play(&system, Config { max_jobs: Some(20), ..config(seed) }, 1, 100_000, 0).jobs;
    assert_eq!(jobs(1), jobs(1));
    assert_ne!(jobs(1), jobs(2));
    let seeds: BTreeSet<u64> = jobs(1).iter().map(|job| job.seed).collect();
    assert_eq!(seeds.len(), 20);
    assert!(seeds.iter().all(|seed| *seed < 1 << SEED_BITS));
}

#[test]
fn budgets_are_totals() {
    let system = system();
    for (workers, most) in [(1, 1), (3, 999), (8, 123_456)] {
        let config = Config { max_jobs: None, max_states: Some(most), ..config(1) };
        let course = play(&system, config, workers, 1_000_000, 3);
        assert_eq!(course.outcome, HuntOutcome::States);
        assert!(course.status.total.states <= most, "{most}");
        // What is left is less than a guided job gives back.
        assert!(course.status.total.states + 1 >= most, "{most}: {}", course.status.total.states);
    }
    let course = play(&system, Config { max_jobs: Some(70), ..config(1) }, 4, 1_000_000, 3);
    assert_eq!((course.outcome, course.jobs.len()), (HuntOutcome::Jobs, 70));
}

#[test]
fn work_goes_to_who_finds_new_things() {
    let system = system();
    let config = Config {
        portfolio: vec![Kind::Walk, Kind::Bitstate],
        max_jobs: Some(600),
        findings: 1_000,
        ..config(3)
    };
    let steered = play(&system, config.clone(), 1, 1_000_000, 0).status;
    let [walk, bitstate] = &steered.members[..] else { panic!("two members") };
    assert!(bitstate.states > walk.states * 3 / 2, "{} {}", bitstate.states, walk.states);
    assert!(walk.jobs > 100, "nobody starves");
    assert!(bitstate.size > 1_000, "jobs grow");
    let turns = play(&system, Config { steering: false, ..config }, 1, 1_000_000, 0).status;
    assert_eq!(turns.members[0].jobs, turns.members[1].jobs);
}

#[test]
fn everything_ends_it_and_so_does_a_failure() {
    let system = system();
    for (end, workers) in
        [(HuntEnd::Everything, 3), (HuntEnd::Failed(gridlock_lts::base::error::Error::input("no")), 1)]
    {
        let mut hunt = hunt(&system, config(2));
        let mut jobs = Vec::new();
        for _ in 0..workers {
            let Next::Job(job) = hunt.next() else { panic!("a job") };
            jobs.push(job);
        }
        for job in jobs.iter().rev() {
            let mut feedback = answer(&system, job, 1_000_000);
            if job.number + 1 == workers {
                feedback.end = end.clone();
            }
            hunt.accept(feedback, 0);
        }
        assert_eq!(hunt.next(), Next::Done);
        let everything = end == HuntEnd::Everything;
        assert_eq!(hunt.status().everything, everything);
        assert_eq!(hunt.status().processed, workers, "what came before counts");
        assert_eq!(hunt.outcome() == Some(&HuntOutcome::Everything), everything);
    }
}

#[test]
fn a_stopped_hunt_tells_what_it_has() {
    let system = system();
    let mut hunt = hunt(&system, config(5));
    let mut jobs: Vec<HuntJob> = Vec::new();
    while jobs.len() < 10 {
        let Next::Job(job) = hunt.next() else { panic!("a job") };
        jobs.push(job);
    }
    // The first is never answered, the second is cut short.
    let mut cut = answer(&system, &jobs[1], 1);
    cut.end = HuntEnd::Interrupted;
    hunt.cut_short(cut);
    for job in &jobs[2..] {
        hunt.accept(answer(&system, job, 1_000_000), 0);
    }
    assert!(hunt.take_news().is_empty(), "the first job may still come");
    hunt.finish();
    let status = hunt.status();
    assert_eq!((status.findings, hunt.take_news().len()), (1, 1));
    assert!(status.total.states > 8_000 / 2);
    assert_eq!(hunt.outcome(), None);
}
