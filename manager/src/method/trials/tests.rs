//! Both searches at small sizes: which one answers is the same on any number of threads, and its answer is right.

use super::*;
use gridlock_lts::samples::random::{self, Shape};
use gridlock_lts::samples::synthetic;

const DEADLOCK: Property = Property::DeadlockFree { allow_termination: false };

fn accompany(net: &Network, properties: &[Property], options: &Options, pace: Pace) -> (Report, Decision) {
    accompanied(Task { net, properties, options, found: &|_| () }, pace).expect("a report")
}

#[test]
fn a_small_system_is_searched_in_full() {
    let net = synthetic::philosophers(6);
    let (report, decision) = search(&net, &[DEADLOCK], &Options::default(), &|_| ()).expect("a report");
    assert_eq!(decision, Decision::Full(false));
    let full = search::check(&net, &[DEADLOCK], &Options::default()).expect("a report");
    assert_eq!(report, Report { stats: report.stats.clone(), ..full });
}

#[test]
fn a_large_one_that_reduces_well_is_not() {
    // 3^15 states, of which a reduced search visits hundreds.
    let net = synthetic::philosophers(15);
    let mut seen = Vec::new();
    for workers in [1, 2] {
        let options = Options { workers, ..Options::default() };
        let (report, decision) = search(&net, &[DEADLOCK], &options, &|_| ()).expect("a report");
        let Decision::Reduced(at) = decision else { panic!("{decision:?}") };
        assert!((PACE.first..4 * PACE.first).contains(&at), "{at}");
        assert!(report.stats.states <= at / 100, "{:?}", report.stats);
        let Verdict::Violated { property: 0, trace } = report.verdict else { panic!("{report:?}") };
        assert_eq!(trace.steps.len(), 15, "as short as can be");
        seen.push((at, report.stats.states, trace));
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn one_that_does_not_reduce_is_searched_in_full() {
    // Registers that everybody reads: every order makes a difference.
    let net = synthetic::registers(7, 3);
    let full = search::check(&net, &[DEADLOCK], &Options::default()).expect("a report");
    let pace = Pace { first: full.stats.states / 8, ..PACE };
    for workers in [1, 3] {
        let options = Options { workers, ..Options::default() };
        let (report, decision) = accompany(&net, &[DEADLOCK], &options, pace);
        assert_eq!(decision, Decision::Full(true), "{report:?}");
        assert_eq!((&report.verdict, report.reduction), (&full.verdict, None));
        assert_eq!(
            (report.stats.states, report.stats.transitions),
            (full.stats.states, full.stats.transitions)
        );
    }
}

#[test]
fn a_reduced_search_begins_only_if_its_part_pays_for_its_tables() {
    let net = synthetic::registers(5, 3);
    let pace = Pace { first: 4, setup: 1 << 30, ..PACE };
    let (_, decision) = accompany(&net, &[DEADLOCK], &Options::default(), pace);
    assert_eq!(decision, Decision::Full(false));
    let course = Course::new(PACE, 0);
    assert_eq!(course.share(LONG), LONG / PACE.part);
    assert_eq!(course.share(3 * LONG) - course.share(LONG), 2 * LONG / (PACE.part * LESS));
}

/// A reduced search does no more than it may before it waits, and wakes when it is to end.
#[test]
fn a_companion_keeps_to_its_allowance() {
    let net = synthetic::philosophers(12);
    let options = Options::default();
    let task = Task { net: &net, properties: &[DEADLOCK], options: &options, found: &|_| () };
    let spend = |grants: &[u64]| {
        let companion = Companion::default();
        std::thread::scope(|scope| {
            scope.spawn(|| companion.search(task));
            let spent = |&grant: &u64| {
                companion.allowance.grant(grant);
                companion.allowance.settle()
            };
            companion.allowance.while_needed(|| grants.iter().map(spent).collect::<Vec<_>>())
        })
    };
    // It is asked after some states, not after each step of the algorithm.
    const BETWEEN: u64 = 1 << 15;
    let grants = [1000, 10_000, 100_000];
    let spent = spend(&grants);
    assert!(spent.iter().zip(grants).all(|(&s, g)| (g + 1..g + BETWEEN).contains(&s)), "{spent:?}");
    assert_eq!(spend(&grants), spent, "the same in every run");
    assert_eq!(spend(&[100_000])[0], spent[2], "whatever was granted before");
}

#[test]
fn memory_that_is_not_enough_is_left_to_a_reduced_search() {
    let net = synthetic::philosophers(12);
    let options = Options { max_memory: Some(3 << 20), ..Options::default() };
    let full = search::check(&net, &[DEADLOCK], &options).expect("a report");
    assert!(matches!(full.verdict, Verdict::Unknown(Limit::Memory(_))), "{full:?}");
    let (report, decision) = search(&net, &[DEADLOCK], &options, &|_| ()).expect("a report");
    assert!(matches!(decision, Decision::Memory(_)) && matches!(report.verdict, Verdict::Violated { .. }));
}

fn length(verdict: &Verdict) -> Option<usize> {
    match verdict {
        Verdict::Violated { trace, .. } | Verdict::Faulty { trace, .. } => Some(trace.steps.len()),
        _ => None,
    }
}

/// The same search answers on any number of threads, and its answer is as short and as true as that of the full search.
#[test]
fn both_searches_say_the_same_on_any_number_of_threads() {
    let mut answered = [0, 0];
    for seed in 0..200 {
        let net = Shape { faults: seed as usize % 3 * 20, ..Shape::default() }.network(seed);
        let properties = random::properties(&net, seed);
        let full = search::check(&net, &properties, &Options::default()).expect("a report");
        let pace = Pace { first: 4, part: 1, setup: 0 };
        let of = |workers| accompany(&net, &properties, &Options { workers, ..Options::default() }, pace);
        let (one, decision) = of(1);
        assert_eq!(length(&one.verdict), length(&full.verdict), "seed {seed}, {decision:?}");
        assert_eq!(one.verdict == Verdict::Holds, full.verdict == Verdict::Holds, "seed {seed}");
        for workers in [2, 3] {
            let (several, same) = of(workers);
            assert_eq!((same, &several.verdict), (decision, &one.verdict), "seed {seed}");
            assert_eq!(several.stats.states, one.stats.states, "seed {seed}");
        }
        answered[usize::from(matches!(decision, Decision::Reduced(_)))] += 1;
    }
    assert!(answered.iter().all(|&n| n > 10), "{answered:?}");
}

/// The answer of a trial is that of the full search, and as short; a counterexample that it reports before may be longer.
#[test]
fn reduced_answers_are_those_of_the_full_search() {
    let (mut answered, mut handed_on) = (0, 0);
    for seed in 0..300 {
        let net = Shape { faults: seed as usize % 3 * 20, ..Shape::default() }.network(seed);
        let properties = random::properties(&net, seed);
        for order in [Order::BreadthFirst, Order::DepthFirst] {
            let options = Options { order, ..Options::default() };
            let full = search::check(&net, &properties, &options).expect("a report");
            let task = Task { net: &net, properties: &properties, options: &options, found: &|_| () };
            let longer = Mutex::new(None);
            let trial = reduced(task, &options, |report| *locked(&longer) = Some(report));
            if let Some(report) = locked(&longer).take() {
                let [shortest, found] = [&full.verdict, &report.verdict].map(length);
                assert!(
                    order == Order::BreadthFirst && shortest.is_some() && found >= shortest,
                    "seed {seed}"
                );
                handed_on += 1;
            }
            let Some(trial) = trial.expect("a report") else { continue };
            answered += 1;
            let [a, b] = [&full.verdict, &trial.verdict].map(length);
            match order {
                Order::BreadthFirst => assert_eq!(a, b, "seed {seed}"),
                Order::DepthFirst => assert_eq!(a.is_some(), b.is_some(), "seed {seed}"),
            }
        }
    }
    assert!(answered > 400 && handed_on > 0, "{answered}, {handed_on} handed on");
}
