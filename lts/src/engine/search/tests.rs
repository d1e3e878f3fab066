//! Searches against a naive one, on random networks and on some with known numbers.

use super::*;
use crate::base::rng::Rng;
use crate::model::network::{LeafIx, Local, Outcome, Step, TableSource};
use crate::samples::random::{self, Shape};
use crate::samples::synthetic;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A state of the network with the states of all monitors.
type Full = (Vec<Local>, Vec<Local>);

#[derive(Debug, PartialEq, Eq)]
enum End {
    Holds,
    Violated { length: usize, property: usize },
    Faulty { length: usize },
}

/// Level by level with ordinary sets; monitors run beside the network instead of in it.
fn naive(net: &Network, properties: &[Property]) -> (End, Stats) {
    let monitors: Vec<(usize, &property::Monitor)> = properties
        .iter()
        .enumerate()
        .filter_map(|(k, p)| if let Property::Monitor(m) = p { Some((k, m)) } else { None })
        .collect();
    let allowed = properties.iter().find_map(|property| match property {
        Property::DeadlockFree { allow_termination } => Some(*allow_termination),
        Property::Never(_) | Property::Monitor(_) | Property::Formula(_) => None,
    });
    let allowed = allowed.unwrap_or(false);
    let mut stats = Stats { states: 1, ..Stats::default() };
    if let Some((property, _)) = monitors.iter().find(|(_, m)| m.is_bad(Local(0))) {
        return (End::Violated { length: 0, property: *property }, stats);
    }
    let initial: Full = (net.initial(), vec![Local(0); monitors.len()]);
    let mut seen = BTreeSet::from([initial.clone()]);
    let mut level = vec![initial];
    let mut steps = Vec::new();
    for depth in 0.. {
        stats.depth = depth;
        let (mut next, mut fault, mut deadlock, mut violated) = (Vec::new(), false, false, None::<usize>);
        for (state, watched) in &level {
            net.successors(state, &mut steps);
            let is_deadlock = steps.is_empty() && !(allowed && net.is_terminated(state));
            deadlock |= is_deadlock;
            stats.deadlocks += u64::from(is_deadlock);
            for Step { vector, target } in &steps {
                if let Outcome::Fault(_) = net.vectors[vector.0 as usize].outcome {
                    fault = true;
                    continue;
                }
                stats.transitions += 1;
                let read = |((_, m), &s): (&(usize, &property::Monitor), _)| m.next(s, m.class(net, *vector));
                let watched: Vec<Local> = monitors.iter().zip(watched).map(read).collect();
                let bad =
                    monitors.iter().zip(&watched).filter(|((_, m), s)| m.is_bad(**s)).map(|((k, _), _)| *k);
                let never = properties.iter().enumerate().filter_map(|(k, p)| match p {
                    Property::Never(forbidden) if forbidden(net, *vector) => Some(k),
                    _ => None,
                });
                violated = violated.into_iter().chain(bad).chain(never).min();
                if seen.insert((target.clone(), watched.clone())) {
                    next.push((target.clone(), watched));
                }
            }
        }
        stats.states = seen.len() as u64;
        let length = depth as usize;
        let deadlock_asked = property::asks_for_deadlocks(properties).filter(|_| deadlock);
        if fault {
            return (End::Faulty { length: length + 1 }, stats);
        } else if let Some(property) = deadlock_asked {
            return (End::Violated { length, property }, stats);
        } else if let Some(property) = violated {
            return (End::Violated { length: length + 1, property }, stats);
        } else if next.is_empty() {
            return (End::Holds, stats);
        }
        level = next;
    }
    unreachable!("a finite network has finitely many levels")
}

fn end(verdict: &Verdict) -> End {
    match verdict {
        Verdict::Holds => End::Holds,
        Verdict::Violated { property, trace } => End::Violated { length: trace.len(), property: *property },
        Verdict::Faulty { trace, .. } => End::Faulty { length: trace.len() },
        Verdict::Unknown(reason) => panic!("unknown: {reason:?}"),
    }
}

fn counts(stats: &Stats) -> [u64; 4] {
    [stats.states, stats.transitions, stats.depth, stats.deadlocks]
}

#[test]
fn same_as_naive_with_any_number_of_workers() {
    let shape = Shape { faults: 30, ..Shape::default() };
    let mut ends = [0; 3];
    for seed in 0..1500 {
        let net = shape.network(seed);
        let properties = random::properties(&net, seed);
        let (expected, stats) = naive(&net, &properties);
        let reports = [1, 2, 3, 8].map(|workers| {
            check(&net, &properties, &Options { workers, ..Options::default() }).expect("a report")
        });
        for report in &reports {
            assert_eq!(end(&report.verdict), expected, "seed {seed}");
            assert_eq!(counts(&report.stats), counts(&stats), "seed {seed}");
            assert_eq!(report.verdict, reports[0].verdict, "seed {seed}: one trace for all");
        }
        ends[match expected {
            End::Holds => 0,
            End::Violated { .. } => 1,
            End::Faulty { .. } => 2,
        }] += 1;
    }
    assert!(ends.iter().all(|&n| n > 30), "the networks must differ: {ends:?}");
}

#[test]
fn depth_first_finds_the_same() {
    let shape = Shape { faults: 20, ..Shape::default() };
    for seed in 0..1000 {
        let net = shape.network(seed);
        let properties = random::properties(&net, seed);
        let (expected, stats) = naive(&net, &properties);
        let options = Options { order: Order::DepthFirst, ..Options::default() };
        let report = check(&net, &properties, &options).expect("a report");
        match (end(&report.verdict), expected) {
            (End::Holds, End::Holds) => {
                assert_eq!(counts(&report.stats)[..2], counts(&stats)[..2], "seed {seed}");
                assert_eq!(report.stats.deadlocks, stats.deadlocks, "seed {seed}");
                assert!(report.stats.depth >= stats.depth, "seed {seed}");
            }
            (End::Holds, other) | (other, End::Holds) => panic!("seed {seed}: {other:?}"),
            _ => {}
        }
    }
}

#[test]
fn tables_on_demand_give_the_same() {
    let shape = Shape { faults: 20, ..Shape::default() };
    for seed in 0..600 {
        let full = shape.network(seed);
        let properties = random::properties(&full, seed);
        let (expected, stats) = naive(&full, &properties);
        for (order, workers) in [
            (Order::BreadthFirst, 1),
            (Order::BreadthFirst, 2),
            (Order::BreadthFirst, 8),
            (Order::DepthFirst, 1),
        ] {
            let (net, source) = random::Reveal::new(full.clone());
            let lazy = Lazy::new(net, Box::new(source), &properties).expect("has initial states");
            let options = Options { order, workers, ..Options::default() };
            let report = check_on_demand(&lazy, &options).expect("a report");
            if order == Order::BreadthFirst {
                assert_eq!(end(&report.verdict), expected, "seed {seed}");
                assert_eq!(counts(&report.stats), counts(&stats), "seed {seed}");
            } else {
                assert_eq!(end(&report.verdict) == End::Holds, expected == End::Holds, "seed {seed}");
            }
        }
    }
}

/// A reduced search says the same, with the same counts for any number of workers; its monitors may leave bad again.
#[test]
fn reduction_keeps_verdicts() {
    let shape = Shape { faults: 40, ..Shape::default() };
    let (mut ends, mut full, mut reduced) = ([0; 3], 0, 0);
    for seed in 0..1000 {
        let net = shape.network(seed);
        let properties = random::properties(&net, seed);
        let (expected, stats) = naive(&net, &properties);
        full += stats.states;
        for keep in [Keep::Verdicts, Keep::Lengths, Keep::Chains] {
            let run = |order, workers| {
                let options = Options { order, workers, reduce: Some(keep), ..Options::default() };
                check(&net, &properties, &options).expect("a report")
            };
            let reports = [1, 2, 4].map(|workers| run(Order::BreadthFirst, workers));
            for report in &reports {
                assert_eq!(counts(&report.stats), counts(&reports[0].stats), "seed {seed}, {keep:?}");
                assert_eq!(report.verdict, reports[0].verdict, "seed {seed}, {keep:?}");
                assert_eq!(report.reduction, reports[0].reduction, "seed {seed}, {keep:?}");
            }
            let kept = reports[0].reduction;
            if kept.is_none_or(|kept| kept.lengths) {
                assert_eq!(end(&reports[0].verdict), expected, "seed {seed}, {keep:?}");
            }
            for report in [&reports[0], &run(Order::DepthFirst, 1)] {
                assert_eq!(
                    end(&report.verdict) == End::Holds,
                    expected == End::Holds,
                    "seed {seed}, {keep:?}"
                );
            }
            if expected == End::Holds && kept.is_some_and(|kept| kept.deadlocks) {
                assert_eq!(reports[0].stats.deadlocks, stats.deadlocks, "seed {seed}, {keep:?}");
            }
            reduced += reports[0].stats.states;
        }
        ends[match expected {
            End::Holds => 0,
            End::Violated { .. } => 1,
            End::Faulty { .. } => 2,
        }] += 1;
    }
    assert!(ends.iter().all(|&n| n > 30), "{ends:?}");
    assert!(reduced < 3 * full * 9 / 10, "{reduced} states, and without reduction three times {full}");
}

#[test]
fn reduction_refuses_tables_that_grow() {
    let (net, source) = random::Reveal::new(synthetic::counters(3, 9));
    let lazy = Lazy::new(net, Box::new(source), &[]).expect("has initial states");
    let options = Options { reduce: Some(Keep::Verdicts), ..Options::default() };
    let error = check_on_demand(&lazy, &options).expect_err("must be refused");
    assert!(error.to_string().contains("complete tables"), "{error}");
}

/// Philosophers who all reach to the left: quadratically many states are left of 3^n.
#[test]
fn reduction_of_known_size() {
    for n in 3..12 {
        let net = synthetic::philosophers(n);
        let options = Options { reduce: Some(Keep::Verdicts), ..Options::default() };
        let report =
            check(&net, &[Property::DeadlockFree { allow_termination: false }], &options).expect("a report");
        assert_eq!(end(&report.verdict), End::Violated { length: n as usize, property: 0 });
        assert!(report.stats.states <= 3 * u64::from(n).pow(2), "{n}: {}", report.stats.states);
    }
}

#[test]
fn errors_of_a_table_source_end_the_search() {
    for workers in [1, 3] {
        let (net, source) = random::Reveal::new(synthetic::counters(3, 9));
        let source = source.fail_at(LeafIx(1), Local(5));
        let lazy = Lazy::new(net, Box::new(source), &[]).expect("has initial states");
        let error =
            check_on_demand(&lazy, &Options { workers, ..Options::default() }).expect_err("must fail");
        assert_eq!(error, Error::input("no table for Counter(1) in 5"));
    }
}

/// A source that also expands, at random, what was not asked for: any difference in what it is asked shows in the numbers.
struct ExpandsMore {
    source: random::Reveal,
    rng: Rng,
}

impl TableSource for ExpandsMore {
    fn expand(&mut self, net: &mut Network, leaf: LeafIx, local: Local) -> Result<()> {
        self.source.expand(net, leaf, local)?;
        let other = LeafIx(self.rng.below(net.leaves.len()) as u32);
        let state = self.rng.below(net.leaves[other.0 as usize].states.len());
        if self.rng.percent(30) && !net.leaves[other.0 as usize].states[state].expanded {
            self.source.expand(net, other, Local(state as u32))?;
        }
        Ok(())
    }

    fn describe(&self, leaf: LeafIx, local: Local) -> String {
        self.source.describe(leaf, local)
    }
}

#[test]
fn tables_on_demand_give_one_trace_with_any_number_of_workers() {
    let shape = Shape { faults: 20, ..Shape::default() };
    let (mut violated, mut failed) = (0, 0);
    for seed in 0..600 {
        let full = shape.network(seed);
        let properties = random::properties(&full, seed);
        let fails = (seed % 3 == 0).then(|| {
            let mut rng = Rng::new(seed);
            let leaf = rng.below(full.leaves.len());
            (LeafIx(leaf as u32), Local(rng.below(full.leaves[leaf].states.len()) as u32))
        });
        let outcomes = [1, 2, 3, 8].map(|workers| {
            let (net, mut source) = random::Reveal::new(full.clone());
            if let Some((leaf, local)) = fails {
                source = source.fail_at(leaf, local);
            }
            let source = ExpandsMore { source, rng: Rng::new(seed) };
            let lazy = Lazy::new(net, Box::new(source), &properties).expect("has initial states");
            let report = check_on_demand(&lazy, &Options { workers, ..Options::default() });
            let report = report.map(|report| (report.verdict, counts(&report.stats)));
            let (net, source) = lazy.into_parts();
            let states = |(i, leaf): (usize, &crate::model::network::Leaf)| {
                let describe = |s| source.describe(LeafIx(i as u32), Local(s as u32));
                (0..leaf.states.len()).map(describe).collect::<Vec<_>>()
            };
            (report, net.leaves.iter().enumerate().map(states).collect::<Vec<_>>(), net.vectors)
        });
        for outcome in &outcomes {
            assert_eq!(outcome, &outcomes[0], "seed {seed}");
        }
        violated += usize::from(matches!(&outcomes[0].0, Ok((Verdict::Violated { .. }, _))));
        failed += usize::from(outcomes[0].0.is_err());
    }
    assert!(violated > 100 && failed > 30, "{violated} violated, {failed} failed");
}

#[test]
fn known_numbers() {
    for n in 2..8 {
        let net = synthetic::philosophers(n);
        for workers in [1, 2, 3, 8] {
            let options = Options { workers, ..Options::default() };
            let report = check(&net, &[], &options).expect("a report");
            assert_eq!(report.verdict, Verdict::Holds);
            assert_eq!(report.stats.states, synthetic::philosophers_states(n), "{n} philosophers");
            assert_eq!(report.stats.deadlocks, 1);
            let report = check(&net, &[Property::DeadlockFree { allow_termination: false }], &options)
                .expect("a report");
            assert_eq!(end(&report.verdict), End::Violated { length: n as usize, property: 0 });
        }
    }
    let report = check(&synthetic::counters(4, 9), &[], &Options::default()).expect("a report");
    assert_eq!(counts(&report.stats), [10_000, 40_000, 36, 0]);
    // Sixty leaves: a state of three words.
    let report = check(&synthetic::counters(2, 300), &[], &Options::default()).expect("a report");
    assert_eq!(counts(&report.stats), [90_601, 181_202, 600, 0]);
}

#[test]
fn bounds_end_a_search_as_unknown() {
    let net = synthetic::counters(4, 9);
    let unknown = |options: &Options| match check(&net, &[], options).expect("a report") {
        Report { verdict: Verdict::Unknown(reason), stats, .. } => (reason, stats),
        report => panic!("{report:?}"),
    };
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        let options = Options { order, workers: 2, ..Options::default() };
        let (reason, stats) = unknown(&Options { max_states: Some(2000), ..options });
        assert_eq!(reason, Limit::States(2000));
        let exactly = order == Order::DepthFirst;
        assert!((2000..6000).contains(&stats.states) && (!exactly || stats.states == 2000), "{stats:?}");
        let (reason, stats) = unknown(&Options { max_depth: Some(5), ..options });
        assert_eq!((reason, stats.depth), (Limit::Depth(5), 5));
        let limit = Duration::ZERO;
        assert_eq!(unknown(&Options { time_limit: Some(limit), ..options }).0, Limit::Time(limit));
        let cancel = AtomicBool::new(true);
        assert_eq!(unknown(&Options { cancel: Some(&cancel), ..options }).0, Limit::Interrupted);
        let (reason, stats) = unknown(&Options { max_memory: Some(60_000), ..options });
        assert_eq!(reason, Limit::Memory(60_000));
        assert!(stats.peak_memory <= 60_000 && stats.states > 500, "{stats:?}");
        assert_eq!(unknown(&Options { max_memory: Some(10), ..options }).0, Limit::Memory(10));
    }
    // A bound that is not reached changes nothing.
    let options = Options { max_states: Some(10_000), max_depth: Some(37), ..Options::default() };
    assert_eq!(check(&net, &[], &options).expect("a report").verdict, Verdict::Holds);
}

/// Leaves that all move at once, each in two ways: 2^n steps.
fn explosion(n: u32) -> Network {
    let mut net = Network::new();
    let mut parts = Vec::new();
    for i in 0..n {
        let leaf = net.add_leaf(format!("L{i}"));
        (0..2).for_each(|_| {
            net.add_state(leaf);
        });
        let label = net.add_local_label(leaf, "all");
        for (from, to) in [(0, 0), (0, 1), (1, 1)] {
            net.add_move(leaf, Local(from), label, Local(to));
        }
        net.leaves[i as usize].states.iter_mut().for_each(|state| state.expanded = true);
        parts.push((leaf, label));
    }
    let label = net.label("all");
    net.add_vector(parts, Outcome::Step(label), label);
    net
}

#[test]
fn a_state_with_too_many_steps_is_an_error_and_not_a_hang() {
    let report = check(&explosion(10), &[], &Options::default()).expect("a report");
    assert_eq!(counts(&report.stats)[..2], [1 << 10, 3u64.pow(10)]);
    let error = check(&explosion(60), &[], &Options::default()).expect_err("too many steps");
    assert_eq!(error, Error::input("a state has more than 4096 steps"));
    let (net, source) = random::Reveal::new(explosion(60));
    let lazy = Lazy::new(net, Box::new(source), &[]).expect("has initial states");
    assert_eq!(check_on_demand(&lazy, &Options::default()).expect_err("too many steps"), error);
}

#[test]
fn progress_is_told() {
    let (calls, last) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = |stats: &Stats| {
        calls.fetch_add(1, Relaxed);
        last.fetch_max(stats.states, Relaxed);
    };
    let options = Options { progress: Some(&progress), workers: 2, ..Options::default() };
    check(&synthetic::philosophers(9), &[], &options).expect("a report");
    assert!(calls.load(Relaxed) >= 1 && last.load(Relaxed) >= 1);
}

/// The property that allows termination differs from the one that does not where a regular end is the only deadlock.
#[test]
fn a_regular_end_is_no_deadlock_if_it_is_allowed() {
    let (mut regular, mut others) = (0, 0);
    for seed in 0..600 {
        let net = Shape::default().network(seed);
        let ends = [false, true].map(|allow_termination| {
            let properties = [Property::DeadlockFree { allow_termination }];
            let report = check(&net, &properties, &Options::default()).expect("a report");
            assert_eq!((end(&report.verdict), report.stats.deadlocks), {
                let (end, stats) = naive(&net, &properties);
                (end, stats.deadlocks)
            });
            let deep = Options { order: Order::DepthFirst, ..Options::default() };
            let deep = check(&net, &properties, &deep).expect("a report").verdict;
            assert_eq!(deep == Verdict::Holds, report.verdict == Verdict::Holds, "seed {seed}");
            end(&report.verdict)
        });
        regular += usize::from(ends[0] != End::Holds && ends[1] == End::Holds);
        others += usize::from(ends[0] != End::Holds && ends[1] != End::Holds);
    }
    assert!(regular > 30 && others > 30, "{regular} end regularly, {others} elsewhere, too");
}
