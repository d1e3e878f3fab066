//! Counted runs against all runs, one by one.

use super::*;
use crate::base::rng::Rng;
use crate::model::network::{Local, LocalLabel, Step};
use crate::samples::random::Shape;
use num_bigint::BigUint;
use std::collections::BTreeSet;

/// A step: who takes part with which label, and where each goes.
type Event = Vec<(LeafIx, LocalLabel, u32)>;
/// A trace: steps with the least place that they can have, sorted.
type Normal = Vec<(usize, Event)>;

/// The trace of a run (Foata's normal form).
fn normal(run: &[Event], dependent: &dyn Fn(&Event, &Event) -> bool) -> Normal {
    let mut normal: Normal = Vec::new();
    for event in run {
        let before = normal.iter().filter(|(_, other)| dependent(event, other)).map(|(level, _)| level + 1);
        normal.push((before.max().unwrap_or(0), event.clone()));
    }
    normal.sort();
    normal
}

/// Traces that are met, and those among them that go on.
#[derive(Default)]
struct Met {
    all: BTreeSet<Normal>,
    longer: BTreeSet<Normal>,
}

impl Met {
    fn maximal(&self) -> BigUint {
        BigUint::from(self.all.len() - self.longer.len())
    }
}

struct Naive<'a> {
    net: &'a Network,
    home: Vec<usize>,
    global: Met,
    skeletons: Met,
    local: Vec<Met>,
    runs: usize,
}

impl Naive<'_> {
    fn crosses(&self, event: &Event) -> bool {
        event.iter().any(|part| self.home[part.0.0 as usize] != self.home[event[0].0.0 as usize])
    }

    /// Follows all runs; false if there are too many.
    fn follow(&mut self, state: &[Local], run: &mut Vec<Event>) -> bool {
        self.runs += 1;
        if self.runs > 4000 {
            return false;
        }
        let mut steps: Vec<Step> = Vec::new();
        self.net.successors(state, &mut steps);
        let events = steps.iter().map(|step| {
            let parts = &self.net.vectors[step.vector.0 as usize].parts;
            parts.iter().map(|&(leaf, label)| (leaf, label, step.target[leaf.0 as usize].0)).collect()
        });
        let events: Vec<Event> = events.collect();
        let shares = |a: &Event, b: &Event| a.iter().any(|part| b.iter().any(|other| part.0 == other.0));
        let home = self.home.clone();
        let meets = |a: &Event, b: &Event| {
            let of = |part: &(LeafIx, LocalLabel, u32)| home[part.0.0 as usize];
            a.iter().any(|part| b.iter().any(|other| of(part) == of(other)))
        };
        let trace = normal(run, &shares);
        // What components do together has labels, and no places.
        let skeleton: Vec<Event> = run
            .iter()
            .filter(|event| self.crosses(event))
            .map(|event| event.iter().map(|&(leaf, label, _)| (leaf, label, 0)).collect())
            .collect();
        let skeleton = normal(&skeleton, &meets);
        if !events.is_empty() {
            self.global.longer.insert(trace.clone());
        }
        if events.iter().any(|event| self.crosses(event)) {
            self.skeletons.longer.insert(skeleton.clone());
        }
        self.global.all.insert(trace);
        self.skeletons.all.insert(skeleton);
        for component in 0..self.local.len() {
            let inside = |leaf: LeafIx| home[leaf.0 as usize] == component;
            let takes_part = |event: &&Event| event.iter().any(|part| inside(part.0));
            // Its own parts, and one that stands for the others and so puts the steps with them in one order.
            let own = |event: &Event| -> Event {
                let others = event.iter().any(|part| !inside(part.0));
                let others = others.then_some((LeafIx(u32::MAX), LocalLabel(0), 0));
                event.iter().copied().filter(|part| inside(part.0)).chain(others).collect()
            };
            let projected: Vec<Event> = run.iter().filter(takes_part).map(own).collect();
            let trace = normal(&projected, &shares);
            if events.iter().any(|event| takes_part(&event)) {
                self.local[component].longer.insert(trace.clone());
            }
            self.local[component].all.insert(trace);
        }
        for (event, step) in events.into_iter().zip(steps) {
            run.push(event);
            let few = self.follow(&step.target, run);
            run.pop();
            if !few {
                return false;
            }
        }
        true
    }
}

/// A network whose runs all end.
fn acyclic(seed: u64) -> Network {
    let shape = Shape { acyclic: true, ..Shape::default() };
    let shape = match seed % 3 {
        0 => Shape { leaves: 4, states: 4, moves: 120, ..shape },
        1 => Shape { leaves: 3, states: 5, ..shape },
        _ => shape,
    };
    shape.network(seed)
}

fn options() -> Options<'static> {
    Options {
        workers: 1,
        limit: DEFAULT_LIMIT,
        groups: &[],
        reduction: Reduction::default(),
        stages: Stages::All,
        members: DEFAULT_MEMBERS,
        trials: Trials::default(),
        max_memory: 1 << 30,
        stop: &|| None,
        progress: &|_, _, _| {},
    }
}

#[test]
fn counts_are_those_of_all_runs() {
    let (mut seen, mut many) = (0, 0);
    for seed in 0..600 {
        let net = acyclic(seed);
        let rng = &mut Rng::new(seed);
        let mut groups: Vec<Vec<LeafIx>> = vec![Vec::new(); 2];
        for leaf in 0..net.leaves.len() as u32 {
            if let Some(group) = groups.get_mut(rng.below(3)) {
                group.push(LeafIx(leaf));
            }
        }
        groups.retain(|group| !group.is_empty());
        let mut home = vec![usize::MAX; net.leaves.len()];
        let mut components = 0;
        for group in &groups {
            group.iter().for_each(|leaf| home[leaf.0 as usize] = components);
            components += 1;
        }
        for home in home.iter_mut().filter(|home| **home == usize::MAX) {
            *home = components;
            components += 1;
        }
        let local = (0..components).map(|_| Met::default()).collect();
        let mut naive =
            Naive { net: &net, home, global: Met::default(), skeletons: Met::default(), local, runs: 0 };
        if !naive.follow(&net.initial(), &mut Vec::new()) {
            continue;
        }
        let counts = count(&net, &groups, &options()).expect("all runs end");
        assert_eq!(counts.global, Some(naive.global.maximal()), "seed {seed}: global");
        assert_eq!(counts.skeletons, naive.skeletons.maximal(), "seed {seed}: skeletons");
        let local: Vec<BigUint> = naive.local.iter().map(Met::maximal).collect();
        assert_eq!(counts.local, local, "seed {seed}: local");
        seen += 1;
        many += u32::from(naive.global.maximal() > BigUint::from(5u32));
    }
    assert!(seen > 200 && many > 50, "{seen} counted, {many} with more than five traces");
}

#[test]
fn a_run_that_need_not_end_has_no_count() {
    let net = crate::samples::synthetic::philosophers(3);
    assert!(matches!(count(&net, &[], &options()), Err(Error::Input(_))));
}
