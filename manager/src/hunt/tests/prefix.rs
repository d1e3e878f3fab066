//! Hunts by prefixes: "no violation within k steps" against breadth-first search, for any number of workers.

use super::*;
use crate::grid::machine::Numbered;
use crate::grid::wire;
use crate::hunt::run::Searched;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::engine::search::{self, Verdict};
use gridlock_lts::model::network::{Local, Network, Outcome as Leads, Step};
use gridlock_lts::property::Property;
use gridlock_lts::samples::random::{self, Shape};
use gridlock_lts::samples::synthetic;
use gridlock_worker::hunt::told::Told;
use gridlock_worker::life::Life;
use gridlock_worker::sketch::{self, hash};
use std::collections::BTreeSet;

/// A random network with properties, and the steps of its nearest violation or fault.
fn case(seed: u64) -> (Arc<Prepared>, Option<u64>) {
    let (net, properties, nearest) = random_case(seed);
    (Arc::new(Prepared::new(net, properties)), nearest)
}

/// The same as it was made.
pub(super) fn random_case(seed: u64) -> (Network, Vec<Property>, Option<u64>) {
    let net = Shape { acyclic: seed.is_multiple_of(5), faults: 5, ..Shape::default() }.network(seed);
    // One property, so that some networks have their violation far away and some have none.
    let one = |net: &Network| {
        let all = random::properties(net, seed);
        let count = all.len().max(1);
        all.into_iter().skip(seed as usize % count).take(1).collect::<Vec<_>>()
    };
    let report = search::check(&net, &one(&net), &search::Options::default()).expect("a verdict");
    let nearest = match report.verdict {
        Verdict::Violated { trace, .. } | Verdict::Faulty { trace, .. } => Some(trace.len() as u64),
        Verdict::Holds => None,
        Verdict::Unknown(why) => panic!("seed {seed}: {why:?}"),
    };
    let properties = one(&net);
    (net, properties, nearest)
}

fn config(seed: u64, job_states: u64) -> Config {
    Config {
        portfolio: vec![Kind::Prefix],
        job_states,
        max_jobs: Some(3_000),
        shorten: 0,
        // The smaller the window, the more a job knows of others.
        window: [64, 1, 7][seed as usize % 3],
        ..Config::new(seed, false, Vec::new())
    }
}

/// Hunts with real searches; `spoil` may change their answers.
fn hunt(
    prepared: &Arc<Prepared>,
    config: Config,
    workers: usize,
    chance: u64,
    mut spoil: impl FnMut(&HuntJob, &mut HuntFeedback),
) -> Course {
    let hunt = Hunt::new(prepared.net(), prepared.packing().clone(), None, config);
    let work = Searched::Complete(prepared.clone()).work(None).expect("a system");
    let mut worker = work.worker();
    play_with(hunt, workers, chance, |job| {
        let mut feedback = worker(job.clone(), &Life::default());
        feedback.effort.nanoseconds = 0;
        spoil(job, &mut feedback);
        feedback
    })
}

/// The same with jobs that are sent to some ranks, by turns, and done there.
fn hunt_on_ranks(prepared: &Arc<Prepared>, config: Config, ranks: usize, chance: u64) -> Course {
    let hunt = Hunt::new(prepared.net(), prepared.packing().clone(), None, config);
    let work = || Searched::Complete(prepared.clone()).work(None).expect("a system");
    let ranks: Vec<_> = (0..ranks).map(|_| work()).collect();
    let mut workers: Vec<_> = ranks.iter().map(|work| work.worker()).collect();
    play_with(hunt, 3 * ranks.len(), chance, |job| {
        let (mut job, rank) = (job.clone(), (job.seed % ranks.len() as u64) as usize);
        job.address(rank as u32);
        let mut job: HuntJob = wire::decode(&wire::encode(&job).expect("bytes")).expect("a job");
        ranks[rank].arrived(&mut job);
        let mut feedback = workers[rank](job, &Life::default());
        feedback.effort.nanoseconds = 0;
        wire::decode(&wire::encode(&feedback).expect("bytes")).expect("an answer")
    })
}

#[test]
fn what_is_proved_is_so_with_any_number_of_workers() {
    let slow = std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1");
    let (mut proved, mut violated, mut everything) = (0, 0, 0);
    let (mut skipped, mut counted) = (0, 0);
    for seed in 0..if slow { 500 } else { 50 } {
        let (prepared, nearest) = case(seed);
        if prepared.violated_initially().is_some() {
            continue;
        }
        let job_states = [1, 3, 10, 60, 1_000][seed as usize % 5];
        let one = hunt(&prepared, config(seed, job_states), 1, 0, |_, _| {});
        for workers in [2, 8] {
            let many =
                hunt(&prepared, config(seed, job_states), workers, seed * 9 + workers as u64, |_, _| {});
            assert_eq!(one, many, "seed {seed} with {workers} workers");
        }
        for ranks in [2, 3] {
            let many = hunt_on_ranks(&prepared, config(seed, job_states), ranks, seed * 7 + ranks as u64);
            assert_eq!(one, many, "seed {seed} on {ranks} ranks");
        }
        let shared = one.status.shared.expect("they tell each other");
        skipped += shared.skipped;
        if let Some((bound, states, exact)) = shared.within {
            let all = near(&prepared, bound).len() as u64;
            assert!(if exact { states == all } else { states <= all }, "seed {seed}: {shared:?}, {all}");
            counted += u64::from(exact && all > 10);
        }
        if seed % 4 == 0 {
            let silent = Config { share: false, ..config(seed, job_states) };
            let silent = hunt(&prepared, silent, 1, 0, |_, _| {}).status;
            assert_eq!(silent.shared, None);
            let within = silent.within.map(u64::from);
            assert!(nearest.is_none_or(|steps| within < Some(steps)), "seed {seed}: {within:?}");
        }
        let within = one.status.within.map(u64::from);
        assert!(nearest.is_none_or(|steps| within < Some(steps)), "seed {seed}: {within:?} and {nearest:?}");
        proved += usize::from(within.is_some());
        match one.outcome {
            HuntOutcome::Findings => {
                violated += 1;
                assert!(nearest.is_some(), "seed {seed}");
            }
            HuntOutcome::Everything => {
                everything += 1;
                assert_eq!(nearest, None, "seed {seed}");
            }
            HuntOutcome::Jobs => assert!(job_states < 10, "seed {seed}: {:?}", one.status),
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(proved > 15 && violated > 10 && everything > 5, "{proved}, {violated}, {everything}");
    assert!(skipped > 1_000 && counted > 10, "{skipped}, {counted}");
}

/// Mistakes that would make a proof wrong are seen by the comparison.
#[test]
fn prefixes_that_are_dropped_are_noticed() {
    let noticed = |seed: u64| {
        let (prepared, nearest) = case(seed);
        let Some(nearest) = nearest.filter(|_| prepared.violated_initially().is_none()) else { return false };
        let course = hunt(&prepared, config(seed, 3), 1, 0, |_, feedback| {
            if let Some(left) = feedback.below.as_mut().and_then(|below| below.left.as_mut()) {
                left.pending.clear();
            }
        });
        course.status.within.map(u64::from) >= Some(nearest)
    };
    assert!((0..300).any(noticed));
}

/// All states within some steps, by breadth-first search on the plain network; faults lead nowhere.
fn near(prepared: &Prepared, bound: u32) -> BTreeSet<Vec<Local>> {
    let net = prepared.network();
    let mut known = BTreeSet::from([net.initial()]);
    let (mut level, mut steps) = (vec![net.initial()], Vec::new());
    for _ in 0..bound {
        let mut next = Vec::new();
        for state in level {
            net.successors(&state, &mut steps);
            let is_step = |step: &Step| matches!(net.vectors[step.vector.0 as usize].outcome, Leads::Step(_));
            let targets = steps.iter().filter(|step| is_step(step)).map(|step| step.target.clone());
            next.extend(targets.filter(|target| known.insert(target.clone())));
        }
        level = next;
    }
    known
}

/// The sketch of these.
fn within(prepared: &Prepared, bound: u32) -> Vec<u8> {
    let packing = prepared.packing();
    let mut sketch = vec![0; sketch::REGISTERS];
    for state in near(prepared, bound) {
        let mut packed = vec![0; packing.words()];
        packing.pack(&state, &mut packed);
        sketch::add(&mut sketch, hash(&packed));
    }
    sketch
}

/// Whether some bound counts as exhausted although a state within it was not expanded by the jobs of that bound. `drop` says
/// how many answers with something left come before the one that loses the first of it.
fn misses_a_state(seed: u64, job_states: u64, mut drop: Option<u32>, spoil: fn(&mut Told)) -> bool {
    let (prepared, _) = case(seed);
    if prepared.violated_initially().is_some() {
        return false;
    }
    let mut seen: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    let course = hunt(&prepared, config(seed, job_states), 1, 0, |job, feedback| {
        let Method::Prefix { bound, .. } = job.method else { panic!("a prefix") };
        let all = seen.entry(bound).or_insert_with(|| vec![0; sketch::REGISTERS]);
        sketch::merge(all, &feedback.coverage.sketch);
        feedback.below.as_mut().and_then(|below| below.told.as_mut()).map(spoil);
        let left = feedback.below.as_mut().and_then(|below| below.left.as_mut());
        let Some(left) = left.filter(|left| !left.pending.is_empty()) else { return };
        if drop == Some(0) {
            left.pending.remove(0);
        }
        drop = drop.and_then(|before| before.checked_sub(1));
    });
    let proved = seen.range(..=course.status.within.unwrap_or(0));
    proved.into_iter().any(|(bound, seen)| *seen != within(&prepared, *bound))
}

/// A bound is exhausted exactly when all states within it were expanded: a manager that forgets a single prefix is noticed.
#[test]
fn a_single_prefix_that_is_dropped_is_noticed() {
    let mut noticed = 0;
    for seed in 0..60 {
        let job_states = [2, 3, 10][seed as usize % 3];
        assert!(!misses_a_state(seed, job_states, None, |_| {}), "seed {seed}");
        noticed += (0..6).filter(|before| misses_a_state(seed, job_states, Some(*before), |_| {})).count();
    }
    assert!(noticed > 10, "{noticed} of 360");
}

/// A manager that gets depths which are too small leaves out too many states, and that is noticed.
#[test]
fn depths_that_are_ignored_are_noticed() {
    let ignored =
        |seed| misses_a_state(seed, [2, 3, 10][seed as usize % 3], None, |told| told.depths.fill(0));
    let noticed = (0..60).filter(|seed| ignored(*seed)).count();
    assert!(noticed > 5, "{noticed} of 60");
}

/// A search that was only begun proves nothing, and neither does a search with a finding.
#[test]
fn what_was_not_searched_is_not_proved() {
    let prepared = Arc::new(Prepared::new(synthetic::counters(3, 12), []));
    let undisturbed = hunt(&prepared, config(1, 50), 1, 0, |_, _| {});
    assert!(undisturbed.status.within.is_some(), "{:?}", undisturbed.status);
    let with_finding =
        hunt(&prepared, Config { findings: 99, max_jobs: Some(60), ..config(1, 50) }, 1, 0, |_, f| {
            let finding = Finding { what: What::Property(0), path: vec![(0, vec![0])] };
            f.findings = vec![HuntFinding { finding, ending: None, found_steps: 1, after_states: 0 }];
        });
    assert_eq!(with_finding.status.within, None);
    let mut hunt = Hunt::new(prepared.net(), prepared.packing().clone(), None, config(1, 50));
    let Next::Job(job) = hunt.next() else { panic!("a job") };
    let work = Searched::Complete(prepared.clone()).work(None).expect("a system");
    let mut feedback = (work.worker())(job, &Life::default());
    feedback.end = HuntEnd::Interrupted;
    hunt.cut_short(feedback);
    hunt.finish();
    assert_eq!((hunt.status().processed, hunt.status().within), (1, None));
}
