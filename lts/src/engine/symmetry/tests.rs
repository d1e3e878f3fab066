//! Symmetric searches against full ones, on random networks that are symmetric by construction, or nearly so.
//!
//! `GRIDLOCK_SLOW` has more networks tried, `GRIDLOCK_SYMMETRY_NETWORKS` as many as it says.

use super::*;
use crate::base::rng::Rng;
use crate::engine::pack::Many;
use crate::engine::reduce::Keep;
use crate::engine::search::{self, Options, Order, Verdict};
use crate::model::network::{LocalLabel, Outcome};
use crate::property::{Instrumented, Property, instrument, violated_initially};
use crate::samples::{random, synthetic};
use std::collections::{BTreeMap, BTreeSet};

const MOST: usize = 4000;

fn networks(few: u64, share: u64) -> u64 {
    match std::env::var("GRIDLOCK_SYMMETRY_NETWORKS") {
        Ok(count) => count.parse().expect("GRIDLOCK_SYMMETRY_NETWORKS is a number"),
        Err(_) if std::env::var_os("GRIDLOCK_SLOW").is_some() => share,
        Err(_) => few,
    }
}

/// Copies of a process around a process that remembers a bit of each; perhaps in a ring. Sometimes one copy is a little
/// different.
fn like_processes(seed: u64) -> Network {
    let rng = &mut Rng::new(seed);
    let mut net = Network::new();
    net.faults.push("a fault".to_owned());
    let (copies, states, cores) = (rng.between(2, 5), rng.between(2, 4), rng.between(1, 3));
    let (ring, named, odd) = (rng.percent(30), rng.percent(20), rng.percent(15));
    let expanded = |net: &mut Network, name: String, count: usize| {
        let leaf = net.add_leaf(name);
        for _ in 0..count {
            let state = net.add_state(leaf);
            net.leaves[leaf.0 as usize].states[state.0 as usize].expanded = true;
        }
        leaf
    };
    let memory = expanded(&mut net, "Memory".to_owned(), cores << copies);
    let leaves: Vec<LeafIx> = (0..copies).map(|i| expanded(&mut net, format!("P({i})"), states)).collect();
    // The local states of a copy have other numbers than those of the next; the initial one is 0 always.
    let numbers: Vec<Vec<u32>> = (0..copies)
        .map(|_| {
            let mut numbers: Vec<u32> = (0..states as u32).collect();
            for k in (2..states).rev() {
                numbers.swap(k, rng.between(1, k));
            }
            numbers
        })
        .collect();
    let actions = rng.between(2, 4);
    for action in 0..actions {
        let mut moves: Vec<(usize, usize)> = Vec::new();
        for from in 0..states {
            for _ in 0..rng.below(3) {
                moves.push((from, rng.below(states)));
            }
        }
        moves.sort_unstable();
        moves.dedup();
        let shared = action == 0 || rng.percent(50);
        let fault = rng.percent(8);
        // By core, bit and number of bits: what becomes of core and bit.
        let rules: Vec<Option<(usize, usize)>> = (0..cores * 2 * (copies + 1))
            .map(|_| rng.percent(60).then(|| (rng.below(cores), rng.below(2))))
            .collect();
        for i in 0..copies {
            let label = net.add_local_label(leaves[i], format!("a{action}"));
            for &(from, to) in &moves {
                if odd && i == 0 && from == 0 && action == 1 {
                    continue;
                }
                net.add_move(leaves[i], Local(numbers[i][from]), label, Local(numbers[i][to]));
            }
            let mut parts = vec![(leaves[i], label)];
            if shared {
                let hears = net.add_local_label(memory, format!("a{action}({i})"));
                for core in 0..cores {
                    for mask in 0..1usize << copies {
                        let (bit, bits) = (mask >> i & 1, mask.count_ones() as usize);
                        if let Some((core_after, bit_after)) = rules[(core * 2 + bit) * (copies + 1) + bits] {
                            let after = mask & !(1 << i) | bit_after << i;
                            let (from, to) = ((core << copies) + mask, (core_after << copies) + after);
                            net.add_move(memory, Local(from as u32), hears, Local(to as u32));
                        }
                    }
                }
                parts.push((memory, hears));
            } else if ring && copies > 2 {
                let next = (i + 1) % copies;
                let text = format!("b{action}");
                let known =
                    net.leaves[leaves[next].0 as usize].labels.iter().position(|known| *known == text);
                let hears = known.map(|k| LocalLabel(k as u32)).unwrap_or_else(|| {
                    let label = net.add_local_label(leaves[next], text);
                    for &(from, to) in &moves {
                        let (from, to) = (numbers[next][to], numbers[next][from]);
                        net.add_move(leaves[next], Local(from), label, Local(to));
                    }
                    label
                });
                parts.push((leaves[next], hears));
            }
            parts.sort();
            let text = if named { format!("step{action}({i})") } else { format!("step{action}") };
            let label = net.label(&text);
            let outcome = if fault { Outcome::Fault(0) } else { Outcome::Step(label) };
            net.add_vector(parts, outcome, label);
        }
    }
    net
}

struct Case {
    net: Network,
    alarms: Alarms,
    properties: Vec<Property>,
    plain: Network,
}

/// What an exploration sees: depths of deadlocks and of findings, and the states.
#[derive(PartialEq, Eq, Debug)]
struct Seen {
    deadlocks: BTreeMap<usize, String>,
    findings: BTreeMap<Finding, usize>,
}

fn explore<S: Successors>(system: &S) -> Option<(Seen, BTreeSet<Vec<u64>>)> {
    let mut seen = Seen { deadlocks: BTreeMap::new(), findings: BTreeMap::new() };
    let mut visited = BTreeSet::from([system.initial()]);
    let mut level = vec![system.initial()];
    let mut steps = Steps::new(system.packing().words());
    let mut found = Vec::new();
    for depth in 0.. {
        let mut next = Vec::new();
        for state in &level {
            steps.clear();
            system.expand(state, &mut steps).expect("complete tables");
            if steps.is_empty() {
                seen.deadlocks.insert(depth, format!("{:?}", system.dead_end(state)));
            }
            for (target, via) in steps.iter() {
                found.clear();
                system.findings(state, target, via, &mut found);
                for &finding in &found {
                    seen.findings.entry(finding).or_insert(depth + 1);
                }
                let fault = found.iter().any(|finding| matches!(finding, Finding::Fault(_)));
                if !fault && visited.insert(target.to_vec()) {
                    next.push(target.to_vec());
                }
            }
        }
        if visited.len() > MOST {
            return None;
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    Some((seen, visited))
}

impl Case {
    fn new(seed: u64) -> Option<Case> {
        let plain = like_processes(seed);
        let properties = random::properties(&plain, seed);
        if violated_initially(&properties).is_some() {
            return None;
        }
        let Instrumented { network, alarms } = instrument(&plain, &properties);
        let net = network.into_owned();
        Some(Case { net, alarms, properties, plain })
    }

    fn compiled(&self) -> Compiled<Many> {
        let packing = Packing::for_network(&self.net);
        let width = Many(packing.words());
        Compiled::new(&self.net, packing, width, self.alarms.clone()).expect("compiles")
    }

    fn permutations(&self, mistake: Mistake) -> Permutations {
        detect::permutations(&self.net, &self.alarms, &|_| true, mistake)
    }

    /// What a symmetric search got wrong; and how many states it has.
    fn difference(&self, permutations: Permutations) -> Option<(Option<String>, usize, usize)> {
        let full = self.compiled();
        let (expected, states) = explore(&full)?;
        let symmetric = Symmetric::new(self.compiled(), permutations);
        let Some((seen, like)) = explore(&symmetric) else {
            return Some((Some("more states than there are".to_owned()), states.len(), 0));
        };
        let mut wrong = (seen != expected).then(|| format!("{seen:?} instead of {expected:?}"));
        // Every state has a representative, in whose place it can be put.
        let mut scratch = symmetric.scratch();
        for state in &states {
            let mut like_it = state.clone();
            symmetric.represent(&mut like_it, &mut scratch);
            if !states.contains(&like_it) {
                wrong = wrong.or(Some(format!("{state:?} becomes {like_it:?}, which is no state")));
            }
        }
        if !like.is_subset(&states) {
            wrong = wrong.or(Some("a representative is no state".to_owned()));
        }
        Some((wrong, states.len(), like.len()))
    }
}

#[test]
fn like_processes_are_found_and_nothing_is_lost() {
    let (mut full, mut fewer, mut found, mut seen) = (0, 0, 0, 0);
    for seed in 0..networks(600, 2000) {
        let Some(case) = Case::new(seed) else { continue };
        let permutations = case.permutations(Mistake::None);
        seen += 1;
        if permutations.is_empty() {
            continue;
        }
        found += 1;
        let Some((wrong, states, like)) = case.difference(permutations) else { continue };
        assert_eq!(wrong, None, "seed {seed}");
        (full, fewer) = (full + states, fewer + like);
    }
    println!("{found} of {seen} are symmetric: {fewer} states instead of {full}");
    assert!(3 * found > seen && 2 * fewer < full, "{found} of {seen}: {fewer} states instead of {full}");
}

#[test]
fn mistakes_are_noticed() {
    for mistake in [Mistake::Moves, Mistake::Vectors, Mistake::Marks, Mistake::Others] {
        let noticed = |seed: &u64| {
            let Some(case) = Case::new(*seed) else { return false };
            let permutations = case.permutations(mistake);
            let difference = if permutations.is_empty() { None } else { case.difference(permutations) };
            difference.is_some_and(|(wrong, ..)| wrong.is_some())
        };
        let seed = (0..20_000).find(noticed);
        println!("{mistake:?} at seed {seed:?}");
        assert!(seed.is_some(), "{mistake:?} goes unnoticed");
    }
}

/// The whole road: verdicts, lengths and runs that replay, with and without reduction, for any order and number of workers.
#[test]
fn verdicts_and_lengths_are_those_of_the_full_search() {
    let (mut violated, mut symmetric) = (0, 0);
    for seed in 0..networks(400, 1200) {
        let Some(case) = Case::new(seed) else { continue };
        let check =
            |options: &Options| search::check(&case.plain, &case.properties, options).expect("a report");
        let full = check(&Options { max_states: Some(20_000), ..Options::default() });
        let facts = |verdict: &Verdict| match verdict {
            Verdict::Holds => None,
            Verdict::Violated { property, trace } => Some((Some(*property), trace.steps.len())),
            Verdict::Faulty { trace, .. } => Some((None, trace.steps.len())),
            Verdict::Unknown(limit) => panic!("{limit:?}"),
        };
        if matches!(full.verdict, Verdict::Unknown(_)) {
            continue;
        }
        let expected = facts(&full.verdict);
        violated += usize::from(expected.is_some());
        let mut counts = Vec::new();
        for workers in [1, 2] {
            let report = check(&Options { symmetry: true, workers, ..Options::default() });
            assert_eq!(facts(&report.verdict), expected, "seed {seed}");
            symmetric += usize::from(report.like_leaves.is_some());
            counts.push((report.verdict, report.stats.states, report.stats.transitions));
        }
        assert_eq!(counts[0], counts[1], "seed {seed}");
        let lengths = check(&Options { symmetry: true, reduce: Some(Keep::Lengths), ..Options::default() });
        assert_eq!(facts(&lengths.verdict).map(|f| f.1), expected.map(|f| f.1), "seed {seed}");
        for (order, reduce) in [
            (Order::BreadthFirst, Some(Keep::Verdicts)),
            (Order::DepthFirst, Some(Keep::Verdicts)),
            (Order::DepthFirst, None),
        ] {
            let report = check(&Options { symmetry: true, order, reduce, ..Options::default() });
            assert_eq!(
                facts(&report.verdict).is_some(),
                expected.is_some(),
                "seed {seed}, {order:?}, {reduce:?}"
            );
        }
    }
    assert!(violated > 100 && symmetric > 200, "{violated} violated, {symmetric} symmetric");
}

#[test]
fn known_orbits() {
    // A ring can be turned: necklaces.
    let net = synthetic::philosophers(6);
    let report =
        search::check(&net, &[], &Options { symmetry: true, ..Options::default() }).expect("a report");
    let full = search::check(&net, &[], &Options::default()).expect("a report");
    let [states, all] = [report.stats.states, full.stats.states];
    assert!(all / 6 <= states && states < all / 4, "{states} of {all}");
    // Counters can be exchanged: multisets of three out of eleven values.
    let net = synthetic::counters(3, 10);
    let report =
        search::check(&net, &[], &Options { symmetry: true, ..Options::default() }).expect("a report");
    assert_eq!(report.stats.states, 13 * 12 * 11 / 6);
    assert_eq!(report.like_leaves, Some(vec![(0..3).map(LeafIx).collect()]));
}
