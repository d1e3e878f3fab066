//! The choice of the leaves that decide which rank owns a state: those that move least, as many as make the parts even.
//!
//! A step that moves none of them needs no message. A single leaf has too few states to divide them evenly among many
//! ranks, and with all of them nearly every step leads to another rank. Candidates are tried on the first states of a
//! breadth-first search, and the best is taken. Invariant: the choice depends on the network and the number of ranks only,
//! so that ranks agree.

use super::Owner;
use crate::engine::pack::Packing;
use crate::model::network::{LeafIx, Local, Network, Outcome};
use std::collections::BTreeSet;

/// States that are expanded for the choice.
const STATES: usize = 20_000;
/// Steps that are looked at.
const STEPS: usize = 400_000;
/// How uneven parts may be, against those by the whole state.
const UNEVEN: f64 = 1.1;

/// A choice, and what it means for what was tried.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// The leaves; none if all of a state should decide.
    pub leaves: Vec<LeafIx>,
    /// The share of steps that lead to another rank.
    pub crossing: f64,
    /// The same if all of a state decided.
    pub crossing_by_all: f64,
    /// The largest part against the mean.
    pub imbalance: f64,
}

/// What was tried.
struct Sample {
    /// Packed, one after the other.
    states: Vec<Vec<u64>>,
    steps: Vec<(usize, Vec<u64>)>,
}

impl Sample {
    fn of(net: &Network, packing: &Packing) -> Self {
        let pack = |locals: &[Local]| {
            let mut state = vec![0; packing.words()];
            packing.pack(locals, &mut state);
            state
        };
        let initial = net.initial();
        let (mut seen, mut queue) = (BTreeSet::from([initial.clone()]), vec![initial]);
        let mut sample = Sample { states: Vec::new(), steps: Vec::new() };
        let (mut next, mut steps) = (0, Vec::new());
        while next < queue.len() && next < STATES && sample.steps.len() < STEPS {
            net.successors(&queue[next], &mut steps);
            sample.states.push(pack(&queue[next]));
            for step in &steps {
                if let Outcome::Fault(_) = net.vectors[step.vector.0 as usize].outcome {
                    continue;
                }
                sample.steps.push((next, pack(&step.target)));
                if queue.len() < STATES && seen.insert(step.target.clone()) {
                    queue.push(step.target.clone());
                }
            }
            next += 1;
        }
        sample
    }

    /// The share of steps that cross, and the largest part against the mean.
    fn judge(&self, owner: &Owner, ranks: usize) -> (f64, f64) {
        let owners: Vec<usize> = self.states.iter().map(|state| owner.of(state)).collect();
        let crossing = self.steps.iter().filter(|(from, to)| owners[*from] != owner.of(to)).count();
        let mut parts = vec![0usize; ranks];
        owners.iter().for_each(|&rank| parts[rank] += 1);
        let largest = parts.into_iter().max().unwrap_or(0);
        (
            crossing as f64 / self.steps.len().max(1) as f64,
            largest as f64 * ranks as f64 / self.states.len().max(1) as f64,
        )
    }
}

/// Chooses for a network whose tables are complete and a number of ranks.
pub fn choose(net: &Network, ranks: usize) -> Choice {
    let packing = Packing::for_network(net);
    let sample = Sample::of(net, &packing);
    let (crossing_by_all, imbalance) = sample.judge(&Owner::new(ranks), ranks);
    let by_all = Choice { leaves: Vec::new(), crossing: crossing_by_all, crossing_by_all, imbalance };
    let moves = |leaf: LeafIx| {
        let field = packing.field(leaf);
        let moved = |(from, to): &&(usize, Vec<u64>)| field.get(&sample.states[*from]) != field.get(to);
        sample.steps.iter().filter(moved).count()
    };
    // Whole numbers, so that the order is the same everywhere: moves for each bit, times 1,000.
    let mut order: Vec<(usize, LeafIx)> = (0..net.leaves.len() as u32)
        .map(LeafIx)
        .filter(|&leaf| packing.field(leaf).bits > 0)
        .map(|leaf| (1000 * moves(leaf) / packing.field(leaf).bits as usize, leaf))
        .collect();
    order.sort_unstable();
    let mut leaves = Vec::new();
    for (_, leaf) in order {
        leaves.push(leaf);
        let (crossing, uneven) = sample.judge(&Owner::by_leaves(ranks, &packing, &leaves), ranks);
        if uneven <= UNEVEN * imbalance {
            leaves.sort_unstable();
            let better = crossing < 0.9 * crossing_by_all;
            return if better {
                Choice { leaves, crossing, crossing_by_all, imbalance: uneven }
            } else {
                by_all
            };
        }
    }
    by_all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::random::Shape;
    use crate::samples::synthetic;

    #[test]
    fn few_leaves_are_enough_for_few_ranks() {
        let net = synthetic::philosophers(9);
        let two = choose(&net, 2);
        assert!(!two.leaves.is_empty() && two.leaves.len() < net.leaves.len() / 2, "{two:?}");
        assert!(two.crossing < 0.6 * two.crossing_by_all, "{two:?}");
        let many = choose(&net, 16);
        assert!(many.leaves.is_empty() || many.leaves.len() >= two.leaves.len(), "{many:?}");
    }

    #[test]
    fn any_network_has_a_choice() {
        for seed in 0..200 {
            let net = Shape { faults: 20, ..Shape::default() }.network(seed);
            let choice = choose(&net, 4);
            assert_eq!(choice, choose(&net, 4), "seed {seed}");
            assert!(choice.crossing <= choice.crossing_by_all, "seed {seed}: {choice:?}");
        }
    }
}
