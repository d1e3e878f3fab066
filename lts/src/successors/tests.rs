//! The compiled successor function against the naive one.

use super::build::Limits;
use super::{Compiled, Steps, Successors};
use crate::network::{Network, Step, VectorIx};
use crate::pack::{Many, Packing};
use crate::property::Alarms;
use crate::random::Shape;
use std::collections::BTreeSet;

type Locals = Vec<crate::network::Local>;

fn sorted(mut steps: Vec<(VectorIx, Locals)>) -> Vec<(VectorIx, Locals)> {
    steps.sort();
    steps
}

/// Compares the two on every reachable state, up to a number of states.
fn compare(net: &Network, packing: Packing, limits: Limits, seed: u64) {
    let alarms = Alarms::faults_of(net);
    let width = Many(packing.words());
    let compiled = Compiled::with_limits(net, packing.clone(), width, alarms, limits).expect("compiles");
    let mut seen: BTreeSet<Locals> = BTreeSet::from([net.initial()]);
    let mut queue = vec![net.initial()];
    let (mut naive, mut fast) = (Vec::new(), Steps::default());
    while let Some(state) = queue.pop() {
        net.successors(&state, &mut naive);
        let mut packed = vec![0; packing.words()];
        packing.pack(&state, &mut packed);
        fast.clear();
        compiled.expand(&packed, &mut fast).expect("complete tables");
        let targets = fast.targets.chunks_exact(packing.words()).map(|t| packing.unpack(t));
        let fast = sorted(fast.vias.iter().map(|via| via.vector()).zip(targets).collect());
        let expected =
            sorted(naive.iter().map(|Step { vector, target }| (*vector, target.clone())).collect());
        assert_eq!(fast, expected, "seed {seed}, state {state:?}");
        for step in &naive {
            if seen.len() < 300 && seen.insert(step.target.clone()) {
                queue.push(step.target.clone());
            }
        }
    }
}

#[test]
fn same_steps_as_the_naive_function() {
    let shape = Shape { faults: 30, ..Shape::default() };
    for seed in 0..2500 {
        let net = shape.network(seed);
        let limits = match seed % 3 {
            0 => Limits { cells: 0, hits: 0, all: 1 },
            1 => Limits { cells: 1 << 20, hits: 3, all: 2 },
            _ => Limits::DEFAULT,
        };
        let packing = if seed % 2 == 0 {
            Packing::for_network(&net)
        } else {
            Packing::for_bits(net.leaves.iter().map(|_| 31))
        };
        compare(&net, packing, limits, seed);
    }
}

#[test]
fn marks_are_on_faults() {
    let shape = Shape { faults: 100, ..Shape::default() };
    let mut marked = 0;
    for seed in 0..200 {
        let net = shape.network(seed);
        let packing = Packing::for_network(&net);
        let width = Many(packing.words());
        let compiled = Compiled::new(&net, packing, width, Alarms::faults_of(&net)).expect("compiles");
        let mut steps = Steps::default();
        compiled.expand(&compiled.initial(), &mut steps).expect("complete tables");
        for (via, target) in steps.vias.iter().zip(steps.targets.chunks_exact(width.0)) {
            let fault = match net.vectors[via.vector().0 as usize].outcome {
                crate::network::Outcome::Fault(f) => Some(super::Finding::Fault(f)),
                crate::network::Outcome::Step(_) => None,
            };
            assert_eq!(via.is_marked(), fault.is_some());
            assert_eq!(compiled.finding(target, *via), fault);
            marked += usize::from(via.is_marked());
        }
    }
    assert!(marked > 10, "the test must see faults");
}
