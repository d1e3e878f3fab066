//! What is called irrelevant against the reachable states of random networks, one by one.

use super::*;
use crate::base::rng::Rng;
use crate::guide::{EdgeIx, Guide, StateIx, Subsystem};
use crate::model::network::Outcome;
use crate::property::Property;
use crate::samples::random::{self, Shape};
use num_bigint::BigUint;
use std::collections::{BTreeMap, BTreeSet};

fn properties(net: &Network, rng: &mut Rng) -> Vec<Property> {
    let forbidden = rng.below(net.vectors.len()) as u32;
    let never = Property::Never(Box::new(move |_, v| v.0 == forbidden));
    let deadlock = Property::DeadlockFree { allow_termination: rng.percent(50) };
    match rng.below(5) {
        0 => vec![never],
        1 => vec![Property::Monitor(random::monitor("m", rng))],
        2 => vec![Property::Monitor(random::monitor("m", rng)), never],
        3 => vec![deadlock],
        _ => vec![never, deadlock],
    }
}

/// The states that a search reaches which ends at a violation, each with those before it; and whether a violation happens
/// in it or with its next step.
type Reached = BTreeMap<Vec<Local>, (Vec<Vec<Local>>, bool)>;

fn reached(prepared: &Prepared, most: usize) -> Option<Reached> {
    let (net, alarms) = (prepared.network(), prepared.alarms());
    let mut reached = Reached::from([(net.initial(), (Vec::new(), false))]);
    let (mut queue, mut steps) = (vec![net.initial()], Vec::new());
    while let Some(state) = queue.pop() {
        net.successors(&state, &mut steps);
        let local = |leaf: LeafIx| state[leaf.0 as usize];
        let mut wrong =
            steps.is_empty() && matches!(alarms.dead_end(local), crate::property::DeadEnd::Deadlock(Some(_)));
        for step in &steps {
            let target = |leaf: LeafIx| step.target[leaf.0 as usize];
            if alarms.is_marked(step.vector) && alarms.finding(step.vector, target).is_some() {
                wrong = true;
            } else if !matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_)) {
                let known = reached.len();
                reached.entry(step.target.clone()).or_default().0.push(state.clone());
                if reached.len() > known {
                    queue.push(step.target.clone());
                }
            }
        }
        reached.get_mut(&state).unwrap().1 = wrong;
        if reached.len() > most {
            return None;
        }
    }
    Some(reached)
}

/// The states from which a violation can be reached.
fn matter(reached: &Reached) -> BTreeSet<&Vec<Local>> {
    let mut queue: Vec<&Vec<Local>> =
        reached.iter().filter(|(_, (_, wrong))| *wrong).map(|(s, _)| s).collect();
    let mut seen: BTreeSet<_> = queue.iter().copied().collect();
    while let Some(state) = queue.pop() {
        queue.extend(reached[state].0.iter().filter(|before| seen.insert(before)));
    }
    seen
}

/// A state that is called irrelevant, although a violation can be reached from it.
fn mistaken(relevance: &Relevance, matter: &BTreeSet<&Vec<Local>>) -> bool {
    let irrelevant: BTreeSet<&[Local]> = relevance.irrelevant().collect();
    let node = |state: &[Local]| -> Vec<Local> {
        relevance.leaves().iter().map(|leaf| state[leaf.0 as usize]).collect()
    };
    matter.iter().any(|state| irrelevant.contains(&node(state)[..]))
}

#[test]
fn from_what_is_irrelevant_no_violation_is_reachable() {
    let (mut struck, mut noticed, mut compared) = (0, 0, 0);
    for seed in 0..1_200 {
        let net = Shape { acyclic: seed % 2 == 0, faults: 10, leaves: 5, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let properties = properties(&net, rng);
        let prepared = Prepared::new(net.clone(), properties);
        if prepared.violated_initially().is_some() {
            continue;
        }
        let Some(reached) = reached(&prepared, 2_000) else { continue };
        let mut leaves: Vec<LeafIx> =
            (0..rng.between(1, 2)).map(|_| LeafIx(rng.below(net.leaves.len()) as u32)).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let mut relevance = Relevance::of(&prepared, &leaves);
        assert!(!relevance.nodes.is_empty());
        // Every reachable state is in a node that is known.
        let nodes: BTreeSet<&Vec<Local>> = relevance.nodes.iter().collect();
        for state in reached.keys() {
            let node: Vec<Local> = relevance.leaves.iter().map(|leaf| state[leaf.0 as usize]).collect();
            assert!(nodes.contains(&node), "seed {seed}");
        }
        let matter = matter(&reached);
        assert!(!mistaken(&relevance, &matter), "seed {seed}");
        compared += 1;
        struck += usize::from(!relevance.is_empty());
        if relevance.strike_one_too_many(rng.below(100)) {
            noticed += usize::from(mistaken(&relevance, &matter));
        }
    }
    assert!(compared > 700 && struck > 200 && noticed > 200, "{compared} {struck} {noticed}");
}

/// Beginnings of traces, from the shortest on: which of them are struck off as a whole.
fn visit(
    guide: &Guide,
    state: StateIx,
    start: BigUint,
    path: &mut Vec<EdgeIx>,
    told: &mut dyn FnMut(&[EdgeIx], BigUint),
) {
    told(path, start.clone());
    let mut start = start;
    for e in guide.edges_of(state).map(EdgeIx).filter(|&e| !guide.edge(e).cut) {
        let target = guide.edge(e).target;
        path.push(e);
        visit(guide, target, start.clone(), path, told);
        path.pop();
        start += guide.weight(target);
    }
}

/// A beginning is struck off only if every state that the system can be in after it is irrelevant, and of what is left
/// every beginning has a trace.
#[test]
fn traces_are_struck_off_where_nothing_matters() {
    let (mut struck_off, mut kept_one) = (0, 0);
    for seed in 0..1_200 {
        let net = Shape { acyclic: true, leaves: 4, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let properties = properties(&net, rng);
        let prepared = Prepared::new(net.clone(), properties);
        let leaves = [LeafIx(rng.below(net.leaves.len()) as u32)];
        let Ok(guide) = Subsystem::new(&net, &leaves, 200).and_then(|s| s.guide(&net)) else { continue };
        if prepared.violated_initially().is_some() || guide.traces() > &2_000u32.into() {
            continue;
        }
        let relevance = Relevance::of(&prepared, &leaves);
        let struck = guide.struck(&relevance);
        assert!(struck.windows(2).all(|pair| pair[0].end() <= pair[1].start), "seed {seed}");
        let is_struck = |id: &BigUint| struck.iter().any(|range| range.start <= *id && *id < range.end());
        if relevance.is_everything() {
            assert!(struck[0].size == *guide.traces(), "seed {seed}");
            continue;
        }
        if relevance.is_empty() {
            assert!(struck.is_empty(), "seed {seed}");
            continue;
        }
        let mut all = Vec::new();
        visit(&guide, StateIx(0), BigUint::ZERO, &mut Vec::new(), &mut |path, start| {
            all.push((path.to_vec(), start))
        });
        for (path, start) in all {
            let mut nodes = relevance.begin();
            let mut gone = relevance.is_irrelevant(&nodes);
            for &e in &path {
                let edge = guide.edge(e);
                nodes = relevance.follow(&nodes, edge.projection, guide.locals(edge.target));
                gone |= relevance.is_irrelevant(&nodes);
            }
            let end = &start + guide.weight(guide.end(&path));
            let mut id = start.clone();
            let mut left = 0;
            while id < end {
                left += usize::from(!is_struck(&id));
                id += 1u32;
            }
            // Something is left of what matters, and of what does not at most the one that covers the way there.
            assert!(if gone { left <= 1 } else { left >= 1 }, "seed {seed}: {path:?} {start}");
            struck_off += usize::from(gone && left == 0);
            kept_one += usize::from(gone && left == 1);
        }
    }
    assert!(struck_off > 200 && kept_one > 20, "{struck_off} {kept_one}");
}
