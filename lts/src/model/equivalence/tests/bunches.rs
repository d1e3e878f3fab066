//! Refinement by bunches against the definitions and against refinement by signatures, and how much work it is.

use std::cell::Cell;

use super::super::bunches;
use super::*;
use crate::base::hash::Map;

/// The blocks of all states, numbered in the order of their lowest states.
fn classes(partition: &Partition, states: usize) -> Vec<usize> {
    let mut numbers: Map<u32, usize> = Map::default();
    let number = |s| {
        let next = numbers.len();
        *numbers.entry(partition.block_of(s)).or_insert(next)
    };
    (0..states as u32).map(number).collect()
}

/// The classes of a relation, numbered likewise.
fn classes_of(related: &[Vec<bool>]) -> Vec<usize> {
    let mut lowest = Vec::new();
    let mut class = |s: usize| {
        let first = related[s].iter().position(|&r| r).expect("each state is related to itself");
        let known = lowest.iter().position(|&l| l == first);
        known.unwrap_or_else(|| {
            lowest.push(first);
            lowest.len() - 1
        })
    };
    (0..related.len()).map(&mut class).collect()
}

fn by_bunches(lts: &Lts, inert_tau: bool, start: &Partition) -> (Partition, u64) {
    bunches::refine(lts, inert_tau, start, &|| false).expect("nobody stops it")
}

fn partitioned<'a>(prepared: &'a Prepared<'_>, partition: &'a Partition) -> Partitioned<'a> {
    let component = prepared.component.as_deref();
    Partitioned { lts: &prepared.lts, partition, reading: prepared.reading, component }
}

/// A system of a shape in which blocks are split late: tau chains, diamonds and cycles, with ways out.
fn silent_shape(random: &mut Random, most: usize) -> Lts {
    let n = 2 + random.below(most - 1);
    let mut edges: Vec<(u32, String, u32)> = Vec::new();
    let labels = ["a", "b", "c"];
    let shape = random.below(4);
    for k in 0..n as u32 - 1 {
        let last = n as u32 - 1;
        match shape {
            0 => edges.push((k, "tau".to_owned(), k + 1)),
            1 => {
                edges.push((k, "tau".to_owned(), k + 1));
                edges.push((k, "tau".to_owned(), (k + 2).min(last)));
            }
            2 => edges.push((k, "tau".to_owned(), k + 1 + random.below((last - k) as usize) as u32)),
            _ if random.one_in(2) => edges.push((k, "tau".to_owned(), k + 1)),
            _ => edges.push((k, "a".to_owned(), k + 1)),
        }
    }
    let visible = 1 + random.below(labels.len());
    for _ in 0..random.below(2 * n) {
        let (from, to) = (random.below(n) as u32, random.below(n) as u32);
        edges.push((from, labels[random.below(visible)].to_owned(), to));
    }
    if random.one_in(3) {
        edges.push((random.below(n) as u32, "tau".to_owned(), random.below(n) as u32));
    }
    build(n as u32, 0, &edges)
}

#[test]
fn bunches_agree_with_the_definitions() {
    let mut random = Random(6);
    let mut split = 0;
    let rounds = if std::env::var_os("GRIDLOCK_SLOW").is_some() { 1_000_000 } else { 24_000 };
    for round in 0..rounds {
        let lts = if random.one_in(2) { random_lts(&mut random, 9) } else { silent_shape(&mut random, 9) };
        let equivalence = BISIMULATIONS[round % 3];
        let prepared = Prepared::new(&lts, equivalence);
        let n = prepared.lts.num_states();
        let (partition, _) = by_bunches(&prepared.lts, prepared.reading.inert_tau, &Partition::coarsest(n));
        let class = classes(&partition, n);
        let related = relation(&lts, equivalence);
        let expected = classes_of(&related);
        // States of a tau cycle were merged, so what is numbered differs, and only equality counts.
        for one in lts.states() {
            for other in lts.states() {
                let found = class[prepared.state(one).0 as usize] == class[prepared.state(other).0 as usize];
                let same = expected[one.0 as usize] == expected[other.0 as usize];
                assert_eq!(found, same, "{round} {equivalence} {one:?} {other:?}\n{}", text(&lts));
            }
        }
        split += usize::from(partition.num_blocks() > 2);
    }
    assert!(split > rounds / 3, "{split}");
}

/// Larger systems, from every partition on the way of the signatures.
#[test]
fn bunches_go_on_from_any_round() {
    let mut random = Random(7);
    let mut later = 0;
    for round in 0..400 {
        let most = 20 + random.below(60);
        let lts =
            if random.one_in(2) { random_lts(&mut random, most) } else { silent_shape(&mut random, most) };
        for equivalence in BISIMULATIONS {
            let prepared = Prepared::new(&lts, equivalence);
            let n = prepared.lts.num_states();
            let expected = classes(&prepared.partition(), n);
            let small = prepared.quotient([lts.initial()]).0;
            for rounds in 0.. {
                let asked = Cell::new(0);
                let stop = || asked.replace(asked.get() + 1) >= rounds;
                let (start, complete) =
                    refine::partition_after(&prepared.lts, prepared.reading.inert_tau, &stop);
                let (partition, _) = by_bunches(&prepared.lts, prepared.reading.inert_tau, &start);
                let found = classes(&partition, n);
                assert_eq!(found, expected, "{round} {equivalence} {rounds}\n{}", text(&lts));
                let root = [prepared.state(lts.initial())];
                assert_eq!(quotient(&partitioned(&prepared, &partition), root).0, small, "the same numbers");
                if complete {
                    later += rounds;
                    break;
                }
            }
        }
    }
    assert!(later > 2000, "{later}");
}

/// A chain of `n` hidden steps, with a way out at each state into another place of a chain of visible steps.
fn ways_out(n: u32) -> Lts {
    let step = |from, label: &str, to| (from, label.to_owned(), to);
    let edges: Vec<_> = (0..n)
        .flat_map(|k| [step(k, "tau", k + 1), step(k, "a", n + 1 + k), step(n + 1 + k, "a", n + 2 + k)])
        .collect();
    build(1, 0, &edges)
}

/// The same, where the ways out come in another order than the chain.
fn crossed_ways_out(n: u32) -> Lts {
    let step = |from, label: &str, to| (from, label.to_owned(), to);
    let place = |k: u32| (u64::from(k) * 7919 % u64::from(n)) as u32;
    let edges: Vec<_> = (0..n)
        .flat_map(|k| {
            [step(k, "tau", k + 1), step(k, "b", n + 1 + place(k)), step(n + 1 + k, "a", n + 2 + k)]
        })
        .collect();
    build(1, 0, &edges)
}

/// A bottom state with `n` labels, and a hidden chain to it with one of them at each state.
fn many_slices(n: u32) -> Lts {
    let mut edges: Vec<_> = (0..n).map(|k| (k, "tau".to_owned(), k + 1)).collect();
    edges.extend((0..n).map(|k| (n, format!("b{k}"), n + 1)));
    edges.extend((0..n).map(|k| (k, format!("b{k}"), n + 1)));
    edges.push((n - 1, "c".to_owned(), n + 1));
    build(1, 0, &edges)
}

/// Counts, not times: sixteen times the system, at most sixteen times the work and a half as much for the logarithm.
#[test]
fn work_grows_little_more_than_the_system() {
    for (name, system) in [
        ("ways out", ways_out as fn(u32) -> Lts),
        ("crossed ways out", crossed_ways_out),
        ("many slices", many_slices),
    ] {
        for equivalence in BISIMULATIONS {
            let work = |n: u32| {
                let lts = system(n);
                let prepared = Prepared::new(&lts, equivalence);
                let start = Partition::coarsest(prepared.lts.num_states());
                let (partition, work) = by_bunches(&prepared.lts, prepared.reading.inert_tau, &start);
                assert!(partition.num_blocks() >= n as usize);
                let log = f64::from(lts.num_transitions().ilog2());
                println!("{name} {n} {equivalence}: {work}");
                assert!(work as f64 <= 6.0 * lts.num_transitions() as f64 * log, "{name} {n} {equivalence}");
                work
            };
            let (small, large) = (work(2_000), work(32_000));
            assert!(large <= 24 * small, "{name} {equivalence}: {small} {large}");
        }
    }
}

/// Signatures alone would take 30,000 rounds of up to 30,000 states.
#[test]
fn what_signatures_take_long_for_is_left_to_bunches() {
    let n = 30_000;
    let lts = ways_out(n);
    for equivalence in [Equivalence::Branching, Equivalence::DivergencePreservingBranching] {
        let small = minimise(&lts, equivalence).unwrap();
        assert_eq!(size(&small), (2 * n as usize + 1, 3 * n as usize), "{equivalence}");
        let asked = Cell::new(0);
        let stop_at = |last| {
            asked.set(0);
            quotient_by(&lts, equivalence, &|| asked.replace(asked.get() + 1) == last)
        };
        assert_eq!(stop_at(u32::MAX).unwrap().0.num_states(), small.num_states());
        let last = asked.get() - 1;
        assert!(last < 1000, "bunches did not take over");
        assert!(stop_at(last).is_none(), "bunches ask whether to stop");
    }
}
