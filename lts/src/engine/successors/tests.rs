//! The compiled successor function against the naive one.

use super::blocks;
use super::build::ChannelLimits;
use super::{Compiled, Steps, Successors};
use crate::engine::pack::{Many, Packing};
use crate::model::network::{Network, Step, VectorIx};
use crate::property::Alarms;
use crate::samples::random::Shape;
use std::collections::BTreeSet;

type Locals = Vec<crate::model::network::Local>;

fn sorted(mut steps: Vec<(VectorIx, Locals)>) -> Vec<(VectorIx, Locals)> {
    steps.sort();
    steps
}

/// Compares the two on every reachable state, up to a number of states.
fn compare(net: &Network, packing: Packing, limits: ChannelLimits, blocks: blocks::BlockLimits, seed: u64) {
    let alarms = Alarms::faults_of(net);
    let width = Many(packing.words());
    let compiled =
        Compiled::with_limits(net, packing.clone(), width, alarms, limits, blocks).expect("compiles");
    let mut seen: BTreeSet<Locals> = BTreeSet::from([net.initial()]);
    let mut queue = vec![net.initial()];
    let (mut naive, mut fast) = (Vec::new(), Steps::new(packing.words()));
    while let Some(state) = queue.pop() {
        net.successors(&state, &mut naive);
        let mut packed = vec![0; packing.words()];
        packing.pack(&state, &mut packed);
        fast.clear();
        compiled.expand(&packed, &mut fast).expect("complete tables");
        let fast = sorted(fast.iter().map(|(target, via)| (via.vector(), packing.unpack(target))).collect());
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
            0 => ChannelLimits { cells: 0, hits: 0, all: 1 },
            1 => ChannelLimits { cells: 1 << 20, hits: 3, all: 2 },
            _ => ChannelLimits::DEFAULT,
        };
        let packing = if seed % 2 == 0 {
            Packing::for_network(&net)
        } else {
            Packing::for_bits(net.leaves.iter().map(|_| 31))
        };
        let blocks = match seed % 5 {
            0 => blocks::BlockLimits { bytes: 0, ..blocks::BlockLimits::DEFAULT },
            1 => blocks::BlockLimits { cells: 20, merged_cells: 1000, bytes: 2000 },
            2 => blocks::BlockLimits { merged_cells: 0, ..blocks::BlockLimits::DEFAULT },
            _ => blocks::BlockLimits::DEFAULT,
        };
        compare(&net, packing, limits, blocks, seed);
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
        let mut steps = Steps::new(width.0);
        compiled.expand(&compiled.initial(), &mut steps).expect("complete tables");
        for (target, via) in steps.iter() {
            let fault = match net.vectors[via.vector().0 as usize].outcome {
                crate::model::network::Outcome::Fault(f) => Some(crate::property::Finding::Fault(f)),
                crate::model::network::Outcome::Step(_) => None,
            };
            assert_eq!(via.is_marked(), fault.is_some());
            assert_eq!(compiled.finding(target, via), fault);
            marked += usize::from(via.is_marked());
        }
    }
    assert!(marked > 10, "the test must see faults");
}
