//! The reduction against naive exploration, and against itself with every known mistake built in.
//!
//! `GRIDLOCK_SLOW` has more networks tried, `GRIDLOCK_REDUCE_NETWORKS` as many as it says.

use super::chains::{Mistake, Pass};
use super::*;
use crate::base::rng::Rng;
use crate::engine::pack::Many;
use crate::model::network::{Local, Outcome, Step, VectorIx};
use crate::property::{Instrumented, Monitor, Property, instrument, violated_initially};
use crate::samples::random::{self, Shape};
use std::collections::{BTreeMap, BTreeSet};

/// What an exploration sees: the deadlocks and the findings, each with its least depth, and the number of states.
#[derive(Debug, PartialEq, Eq, Default)]
struct Seen {
    deadlocks: BTreeMap<Vec<Local>, usize>,
    findings: BTreeMap<Finding, usize>,
    states: usize,
}

/// Larger networks are left out.
const MOST: usize = 3000;

/// Explores with the naive successor function; `None` if there are too many states.
fn naive(net: &Network, alarms: &Alarms) -> Option<Seen> {
    let mut seen = Seen::default();
    let mut visited = BTreeSet::from([net.initial()]);
    let mut level = vec![net.initial()];
    let (mut steps, mut found) = (Vec::new(), Vec::new());
    for depth in 0.. {
        let mut next = Vec::new();
        for state in &level {
            net.successors(state, &mut steps);
            if steps.is_empty() {
                seen.deadlocks.insert(state.clone(), depth);
            }
            for Step { vector, target } in &steps {
                let (before, after) =
                    (|leaf: LeafIx| state[leaf.0 as usize], |leaf: LeafIx| target[leaf.0 as usize]);
                found.clear();
                alarms.findings(*vector, before, after, &mut found);
                found.iter().for_each(|&finding| {
                    seen.findings.entry(finding).or_insert(depth + 1);
                });
                let fault = matches!(net.vectors[vector.0 as usize].outcome, Outcome::Fault(_));
                if !fault && visited.insert(target.clone()) {
                    next.push(target.clone());
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
    seen.states = visited.len();
    Some(seen)
}

/// Explores a successor function in the same way.
fn explore<S: Successors>(system: &S, mut after_each: impl FnMut()) -> Seen {
    let mut seen = Seen::default();
    let mut visited = BTreeSet::from([system.initial()]);
    let mut level = vec![system.initial()];
    let mut steps = Steps::new(system.packing().words());
    let mut found = Vec::new();
    for depth in 0.. {
        let mut next = Vec::new();
        for state in &level {
            steps.clear();
            system.expand(state, &mut steps).expect("complete tables");
            after_each();
            if steps.is_empty() {
                seen.deadlocks.insert(system.packing().unpack(state), depth);
            }
            for (target, via) in steps.iter() {
                found.clear();
                system.findings(state, target, via, &mut found);
                found.iter().for_each(|&finding| {
                    seen.findings.entry(finding).or_insert(depth + 1);
                });
                let fault = found.iter().any(|finding| matches!(finding, Finding::Fault(_)));
                if !fault && visited.insert(target.to_vec()) {
                    next.push(target.to_vec());
                }
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    seen.states = visited.len();
    seen
}

/// Random properties whose monitors stay bad: so all findings can be compared, not only the first.
fn properties(net: &Network, seed: u64) -> Vec<Property> {
    let stays_bad = |property| match property {
        Property::Monitor(monitor) => Property::Monitor(absorbing(monitor, net)),
        property => property,
    };
    random::properties(net, seed).into_iter().map(stays_bad).collect()
}

fn absorbing(monitor: Monitor, net: &Network) -> Monitor {
    let state = |s: usize| Local(s as u32);
    // The classes of vectors that exist are all that matters.
    let classes =
        (0..net.vectors.len()).map(|v| monitor.class(net, VectorIx(v as u32)) + 1).max().unwrap_or(1);
    let next = |s: usize| {
        let to = |class| if monitor.is_bad(state(s)) { s as u32 } else { monitor.next(state(s), class).0 };
        (0..classes).map(to).collect()
    };
    let (rows, bad) = (0..monitor.states()).map(|s| (next(s), monitor.is_bad(state(s)))).unzip();
    let name = monitor.name().to_owned();
    Monitor::new(name, Box::new(move |net, v| monitor.class(net, v)), rows, bad).expect("total as before")
}

fn shape(seed: u64) -> Shape {
    let shape = Shape { faults: 30, ..Shape::default() };
    match seed % 6 {
        0 => shape,
        1 => Shape { acyclic: true, ..shape },
        // Few labels: nondeterministic.
        2 => Shape { labels: 2, moves: 120, ..shape },
        3 => Shape { leaves: 8, states: 3, ..shape },
        4 => Shape { faults: 0, vectors: 3, ..shape },
        _ => Shape { leaves: 4, states: 8, moves: 30, ..shape },
    }
}

/// A network with properties and what naive exploration sees of it.
struct Case {
    net: Network,
    alarms: Alarms,
    deadlock: bool,
    full: Seen,
}

impl Case {
    /// `None` if it is too large, or violated before the first step.
    fn new(seed: u64) -> Option<Self> {
        let net = shape(seed).network(seed);
        let properties = properties(&net, seed);
        if violated_initially(&properties).is_some() {
            return None;
        }
        let Instrumented { network, alarms } = instrument(&net, &properties);
        let network = network.into_owned();
        let full = naive(&network, &alarms)?;
        let deadlock = crate::property::asks_for_deadlocks(&properties).is_some();
        Some(Case { net: network, alarms, deadlock, full })
    }

    fn reduced(&self, keep: Keep, mutant: Mutant) -> Reduced<Many> {
        let packing = Packing::for_network(&self.net);
        let width = Many(packing.words());
        let inner = Compiled::new(&self.net, packing, width, self.alarms.clone()).expect("compiles");
        let wanted = Wanted::new(keep, self.deadlock, 1 << 30, 1);
        let reduced = Reduced::new(inner, &self.net, &self.alarms, &wanted);
        Reduced { mutant, ..reduced }
    }

    fn chained(&self, mistake: Mistake) -> Chained<Links<Many>> {
        let mut chained = Chained::new(Links::new(self.reduced(Keep::Chains, Mutant::None)));
        chained.pass.mistake = mistake;
        chained
    }

    fn two_phase(&self, save: Save, mutant: Mutant) -> Chained<TwoPhase<Many>> {
        let packing = Packing::for_network(&self.net);
        let width = Many(packing.words());
        let inner = Compiled::new(&self.net, packing, width, self.alarms.clone()).expect("compiles");
        Chained::new(TwoPhase::new(inner, &self.net, &self.alarms, save, None).with(mutant))
    }

    /// What chains got wrong: they keep no depths.
    fn lost_on_chains(&self, seen: &Seen) -> Option<String> {
        let (full, asked) = (&self.full, tables::asked(&self.net, &self.alarms, self.deadlock));
        if asked.deadlocks && !seen.deadlocks.keys().eq(full.deadlocks.keys()) {
            return Some(format!("deadlocks {:?} instead of {:?}", seen.deadlocks, full.deadlocks));
        }
        let same = seen.findings.keys().eq(full.findings.keys());
        (!same).then(|| format!("findings {:?} instead of {:?}", seen.findings, full.findings))
    }

    /// What a reduction got wrong.
    fn difference(&self, reduced: &Reduced<Many>, seen: &Seen) -> Option<String> {
        let full = &self.full;
        if reduced.tables.asked.deadlocks && seen.deadlocks != full.deadlocks {
            return Some(format!("deadlocks {:?} instead of {:?}", seen.deadlocks, full.deadlocks));
        }
        let same = if reduced.keep == Keep::Lengths || !reduced.tables.asked.targets {
            seen.findings == full.findings
        } else {
            seen.findings.keys().eq(full.findings.keys())
        };
        (!same).then(|| format!("findings {:?} instead of {:?}", seen.findings, full.findings))
    }
}

const MODES: [Keep; 2] = [Keep::Verdicts, Keep::Lengths];

fn networks(few: u64, share: u64) -> u64 {
    match std::env::var("GRIDLOCK_REDUCE_NETWORKS") {
        Ok(count) => count.parse().expect("GRIDLOCK_REDUCE_NETWORKS is a number"),
        Err(_) if std::env::var_os("GRIDLOCK_SLOW").is_some() => share,
        Err(_) => few,
    }
}

#[test]
fn keeps_deadlocks_and_findings() {
    let (mut full, mut kept, mut stored, mut found, mut deadlocks) = (0, [0; 2], 0, 0, 0);
    for seed in 0..networks(1500, 12_000) {
        let Some(case) = Case::new(seed) else { continue };
        full += case.full.states;
        found += case.full.findings.len();
        deadlocks += if case.deadlock { case.full.deadlocks.len() } else { 0 };
        for (keep, kept) in MODES.into_iter().zip(&mut kept) {
            let reduced = case.reduced(keep, Mutant::None);
            let seen = explore(&reduced, || {});
            *kept += seen.states;
            if let Some(difference) = case.difference(&reduced, &seen) {
                panic!("seed {seed}, {keep:?}: {difference}");
            }
        }
        let seen = explore(&case.chained(Mistake::None), || {});
        stored += seen.states;
        if let Some(difference) = case.lost_on_chains(&seen) {
            panic!("seed {seed}, chains: {difference}");
        }
    }
    println!("{full} states, {kept:?} with reduction, {stored} stored with chains");
    println!("{found} findings, {deadlocks} deadlocks");
    assert!(20 * stored < 19 * kept[0], "{kept:?} with reduction, {stored} stored with chains");
    assert!(kept.iter().all(|&kept| 2 * kept < full), "{full} states, {kept:?} with reduction");
    assert!(found > 500 && deadlocks > 500, "{found} findings, {deadlocks} deadlocks");
}

/// Every known mistake shows.
#[test]
fn mistakes_are_noticed() {
    for mutant in [
        Mutant::NoProviso,
        Mutant::LazyPotential,
        Mutant::WeakKey,
        Mutant::NoWeakCheck,
        Mutant::NoRejoin,
        Mutant::MemberAsKey,
        Mutant::FaultKey,
    ] {
        let noticed = |seed: &u64| {
            Case::new(*seed).is_some_and(|case| {
                MODES.into_iter().any(|keep| {
                    let reduced = case.reduced(keep, mutant);
                    case.difference(&reduced, &explore(&reduced, || {})).is_some()
                })
            })
        };
        let seed = (0..20_000).find(noticed);
        println!("{mutant:?} at seed {seed:?}");
        assert!(seed.is_some(), "{mutant:?} goes unnoticed");
    }
}

#[test]
fn mistakes_on_chains_are_noticed() {
    for mistake in [Mistake::Blind, Mistake::FirstOfSeveral] {
        let noticed = |seed: &u64| {
            let case = Case::new(*seed);
            case.is_some_and(|case| case.lost_on_chains(&explore(&case.chained(mistake), || {})).is_some())
        };
        let seed = (0..20_000).find(noticed);
        println!("{mistake:?} at seed {seed:?}");
        assert!(seed.is_some(), "{mistake:?} goes unnoticed");
    }
}

const SAVES: [Save; 3] = [Save::All, Save::BackEdges, Save::Nothing];

#[test]
fn two_phases_keep_deadlocks_and_findings() {
    let (mut full, mut stored, mut saved) = (0, [0; 3], [0; 3]);
    for seed in 0..networks(800, 6000) {
        let Some(case) = Case::new(seed) else { continue };
        full += case.full.states;
        for (k, save) in SAVES.into_iter().enumerate() {
            let system = case.two_phase(save, Mutant::None);
            let seen = explore(&system, || {});
            assert_eq!(case.lost_on_chains(&seen), None, "seed {seed}, {save:?}");
            assert!(seen.deadlocks.keys().eq(case.full.deadlocks.keys()), "seed {seed}, {save:?}");
            stored[k] += seen.states;
            saved[k] += system.saved().expect("counted");
        }
    }
    println!("{full} states, {stored:?} expanded, {saved:?} saved besides");
    assert!(saved[0] > saved[1] && saved[1] > saved[2] && saved[2] == 0, "{saved:?}");
    assert!(stored.iter().all(|&stored| 10 * stored < 9 * full), "{full} states, {stored:?} expanded");
}

#[test]
fn mistakes_in_phase_1_are_noticed() {
    for mutant in [Mutant::WeakKey, Mutant::NoWeakCheck, Mutant::NoProviso] {
        let noticed = |seed: &u64| {
            Case::new(*seed).is_some_and(|case| {
                let seen = explore(&case.two_phase(Save::All, mutant), || {});
                case.lost_on_chains(&seen).is_some()
            })
        };
        let seed = (0..20_000).find(noticed);
        println!("{mutant:?} at seed {seed:?}");
        assert!(seed.is_some(), "{mutant:?} goes unnoticed");
    }
}

/// What chains pass and where they end is what the reduction visits, no more and no less.
#[test]
fn chains_pass_what_they_do_not_store() {
    let (mut passed, mut stored) = (0, 0);
    for seed in 0..networks(300, 3000).min(3000) {
        let Some(case) = Case::new(seed) else { continue };
        let (reduced, chained) = (case.reduced(Keep::Chains, Mutant::None), case.chained(Mistake::None));
        let visited = |system: &dyn Fn(&[u64], &mut Steps), ways: bool| {
            let mut visited = BTreeSet::from([reduced.initial()]);
            let (mut stack, mut on_ways) = (vec![reduced.initial()], BTreeSet::new());
            let mut steps = Steps::new(reduced.packing().words());
            while let Some(state) = stack.pop() {
                steps.clear();
                system(&state, &mut steps);
                for (target, via) in steps.iter() {
                    if via.is_marked() && matches!(reduced.finding(target, via), Some(Finding::Fault(_))) {
                        continue;
                    }
                    if ways {
                        let way = chained.unfold(&state, target).expect("a way");
                        assert_eq!(way.last().map(|step| &step.1[..]), Some(target), "seed {seed}");
                        on_ways.extend(way.into_iter().map(|step| step.1));
                    }
                    if visited.insert(target.to_vec()) {
                        stack.push(target.to_vec());
                    }
                }
            }
            (visited, on_ways)
        };
        let (all, _) = visited(&|state, out| reduced.expand(state, out).expect("complete tables"), false);
        let (kept, on_ways) =
            visited(&|state, out| chained.expand(state, out).expect("complete tables"), true);
        assert!(kept.is_subset(&all) && on_ways.is_subset(&all), "seed {seed}");
        // What is not kept is passed; where several chains lead from one state to another, a way is one of them only.
        let mut on_chains = BTreeSet::new();
        let mut steps = Steps::new(reduced.packing().words());
        for state in &kept {
            steps.clear();
            reduced.expand(state, &mut steps).expect("complete tables");
            for (target, _) in steps.iter() {
                on_chains.insert(target.to_vec());
                let follow = &mut |_, next: &[u64]| {
                    on_chains.insert(next.to_vec());
                };
                chained.pass.follow(&mut target.to_vec(), follow).expect("complete tables");
            }
        }
        assert!(all.iter().all(|state| kept.contains(state) || on_chains.contains(state)), "seed {seed}");
        (passed, stored) = (passed + chained.passed(), stored + kept.len());
    }
    assert!(passed > 1000 && stored > 1000, "{passed} passed, {stored} stored");
}

/// The choice is a function of the state: forgetting what was worked out changes nothing, nor does the order of states.
#[test]
fn the_choice_depends_on_the_state_alone() {
    for seed in 0..300 {
        let Some(case) = Case::new(seed) else { continue };
        for keep in MODES {
            let (steady, forgetful) = (case.reduced(keep, Mutant::None), case.reduced(keep, Mutant::None));
            let rng = &mut Rng::new(seed);
            let forget = || {
                if rng.percent(20) {
                    let mut stubborn = forgetful
                        .pool
                        .take(|| Stubborn::new(&forgetful.tables, forgetful.room, keep, Mutant::None));
                    stubborn.set.memo.forget();
                }
            };
            assert_eq!(explore(&steady, || {}), explore(&forgetful, forget), "seed {seed}");
            // The other way round: each state for itself.
            let mut visited = BTreeSet::from([steady.initial()]);
            let mut stack = vec![steady.initial()];
            let (mut one, mut other) =
                (Steps::new(steady.packing().words()), Steps::new(steady.packing().words()));
            while let Some(state) = stack.pop() {
                one.clear();
                other.clear();
                steady.expand(&state, &mut one).expect("complete tables");
                case.reduced(keep, Mutant::None).expand(&state, &mut other).expect("complete tables");
                assert!(one.iter().eq(other.iter()), "seed {seed}");
                let new = one.iter().filter(|(target, _)| visited.insert(target.to_vec()));
                stack.extend(new.map(|(target, _)| target.to_vec()).take(20));
                if visited.len() > 60 {
                    break;
                }
            }
        }
    }
}
