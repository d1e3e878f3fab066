use super::*;
use crate::base::rng::Rng;
use crate::samples::random::Shape;
use std::collections::BTreeSet;

const LIMIT: usize = 100_000;

fn leaves(net: &Network, rng: &mut Rng) -> Vec<LeafIx> {
    (0..rng.between(1, 2)).map(|_| LeafIx(rng.below(net.leaves.len()) as u32)).collect()
}

/// All maximal paths, by brute force.
fn all_paths(guide: &Guide) -> Vec<Vec<EdgeIx>> {
    let mut out = Vec::new();
    let mut stack = vec![(StateIx(0), Vec::new())];
    while let Some((state, path)) = stack.pop() {
        let next: Vec<_> = guide.edges_of(state).map(EdgeIx).filter(|&e| !guide.edge(e).cut).collect();
        if next.is_empty() {
            out.push(path.clone());
        }
        for e in next.into_iter().rev() {
            stack.push((guide.edge(e).target, [&path[..], &[e]].concat()));
        }
    }
    out
}

fn numbers_name_traces(guide: &Guide) {
    if guide.traces() > &BigUint::from(3_000u32) {
        return;
    }
    let all = all_paths(guide);
    assert_eq!(*guide.traces(), BigUint::from(all.len()));
    for (id, path) in all.iter().enumerate() {
        assert_eq!(guide.trace(&id.into()).as_ref(), Some(path), "numbers follow the order of edges");
        for k in 0..=path.len() {
            let range = guide.range(&path[..k]);
            let owned: Vec<_> = all.iter().enumerate().filter(|(_, p)| p.starts_with(&path[..k])).collect();
            assert_eq!(range.start, owned[0].0.into());
            assert_eq!(range.size, owned.len().into(), "a prefix owns a contiguous range");
        }
    }
    assert_eq!(guide.trace(guide.traces()), None);
}

#[test]
fn every_number_names_one_trace() {
    let (mut acyclic, mut cyclic) = (0, 0);
    for seed in 0..400 {
        let net = Shape { acyclic: seed % 2 == 0, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let chosen = leaves(&net, rng);
        let subsystem = Subsystem::new(&net, &chosen, LIMIT).unwrap();
        match subsystem.guide(&net) {
            Ok(guide) => {
                acyclic += 1;
                numbers_name_traces(&guide);
                assert!(!guide.is_bounded());
                assert_eq!(subsystem.unrolled(2, LIMIT).unwrap().traces(), guide.traces());
            }
            Err(NoGuide::Cyclic(cycle)) => {
                cyclic += 1;
                assert!(!cycle.is_empty());
                for bound in 0..3 {
                    let guide = subsystem.unrolled(bound, LIMIT).unwrap();
                    assert!(guide.is_bounded());
                    numbers_name_traces(&guide);
                }
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(acyclic > 50 && cyclic > 50, "{acyclic} {cyclic}");
}

/// Every run of the network projects to a run of the subsystem.
#[test]
fn a_subsystem_can_do_what_it_does_in_the_network() {
    for seed in 0..300 {
        let net = Shape { faults: 30, ..Shape::default() }.network(seed);
        let chosen = leaves(&net, &mut Rng::new(seed));
        let subsystem = Subsystem::new(&net, &chosen, LIMIT).unwrap();
        let guide = subsystem.unrolled(1, LIMIT).unwrap();
        let edges: BTreeSet<(Vec<Local>, u32, Vec<Local>)> = (0..guide.states() as u32)
            .flat_map(|s| guide.edges_of(StateIx(s)).map(move |e| (StateIx(s), EdgeIx(e))))
            .map(|(s, e)| {
                let edge = guide.edge(e);
                (guide.locals(s).to_vec(), edge.projection, guide.locals(edge.target).to_vec())
            })
            .collect();
        let project = |s: &[Local]| guide.leaves().iter().map(|l| s[l.0 as usize]).collect::<Vec<_>>();
        let mut seen = BTreeSet::from([net.initial()]);
        let mut queue = vec![net.initial()];
        let mut steps = Vec::new();
        while let Some(state) = queue.pop() {
            net.successors(&state, &mut steps);
            for step in &steps {
                if matches!(
                    net.vectors[step.vector.0 as usize].outcome,
                    crate::model::network::Outcome::Fault(_)
                ) {
                    assert_eq!(guide.projection(step.vector), None);
                    continue;
                }
                let (from, to) = (project(&state), project(&step.target));
                if from != to {
                    let projection = guide.projection(step.vector).expect("a leaf of the subsystem moved");
                    assert!(edges.contains(&(from, projection, to)), "seed {seed}");
                }
                if seen.len() < 500 && seen.insert(step.target.clone()) {
                    queue.push(step.target.clone());
                }
            }
        }
    }
}

/// A ladder of this many rungs has 2^n traces; it is too deep for the machine's stack and its count for any machine word.
#[test]
fn long_ladders_are_counted_exactly() {
    let mut net = Network::new();
    let leaf = net.add_leaf("ladder");
    let rungs = 100_000u32;
    for _ in 0..=rungs {
        let s = net.add_state(leaf);
        net.leaves[0].states[s.0 as usize].expanded = true;
    }
    for name in ["left", "right"] {
        let local = net.add_local_label(leaf, name);
        let label = net.label(name);
        net.add_vector(vec![(leaf, local)], crate::model::network::Outcome::Step(label), label);
        for s in 0..rungs.min(if name == "left" { rungs } else { 1_000 }) {
            net.add_move(leaf, Local(s), local, Local(s + 1));
        }
    }
    let guide = Subsystem::new(&net, &[leaf], 1 << 20).unwrap().guide(&net).unwrap();
    assert_eq!(*guide.traces(), BigUint::from(1u32) << 1_000);
    let last = guide.traces() - 1u32;
    let path = guide.trace(&last).unwrap();
    assert_eq!(path.len(), rungs as usize);
    assert_eq!(guide.range(&path), IdRange { start: last, size: 1u32.into() });
    assert!(matches!(Subsystem::new(&net, &[leaf], 500), Err(NoGuide::TooLarge { limit: 500 })));
}

#[test]
fn a_finer_guide_follows_its_trace() {
    let mut finer = 0;
    for seed in 0..300 {
        let net = Shape { acyclic: true, ..Shape::default() }.network(seed);
        if net.leaves.len() < 2 {
            continue;
        }
        let guide = Subsystem::new(&net, &[LeafIx(0)], LIMIT).unwrap().guide(&net).unwrap();
        let path = guide.trace(&(guide.traces() / 2u32)).unwrap();
        for leaf in 1..net.leaves.len() as u32 {
            let fine = guide.refine(&net, &path, LeafIx(leaf), LIMIT).unwrap();
            finer += usize::from(fine.traces() > &BigUint::from(1u32));
            numbers_name_traces(&fine);
            for trace in all_paths(&fine).iter().take(500) {
                // Without the steps in which the first leaf stays, it is the path or the beginning of it.
                let mut at = Local(0);
                let mut taken = 0;
                for &e in trace {
                    let to = fine.locals(fine.edge(e).target)[0];
                    if to != at {
                        assert_eq!(guide.locals(guide.edge(path[taken]).target), [to], "seed {seed}");
                        (at, taken) = (to, taken + 1);
                    }
                }
            }
        }
    }
    assert!(finer > 50, "{finer}");
}
