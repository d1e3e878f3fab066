//! The states from which a state can be reached in one step, from the tables read backwards.
//!
//! They are candidates: the tables show what could have led here, not what is reachable. A vector yields one for every
//! combination of local predecessors, so there may be very many; the caller says how many are worth it.

use crate::engine::pack::Packing;
use crate::model::network::{LeafIx, Local, LocalLabel, LocalTable, Network, Outcome, VectorIx};

/// The moves of one leaf by their target: target, label, source; sorted.
#[derive(Debug)]
struct Reversed(Vec<(Local, LocalLabel, Local)>);

impl Reversed {
    fn new(states: &[LocalTable]) -> Self {
        let mut moves = Vec::new();
        for (from, table) in states.iter().enumerate() {
            moves.extend(table.moves.iter().map(|&(label, to)| (to, label, Local(from as u32))));
        }
        moves.sort_unstable();
        Reversed(moves)
    }

    fn to(&self, target: Local) -> &[(Local, LocalLabel, Local)] {
        let start = self.0.partition_point(|m| m.0 < target);
        let end = start + self.0[start..].partition_point(|m| m.0 == target);
        &self.0[start..end]
    }

    fn with_label(&self, target: Local, label: LocalLabel) -> &[(Local, LocalLabel, Local)] {
        let moves = self.to(target);
        let start = moves.partition_point(|m| m.1 < label);
        let end = start + moves[start..].partition_point(|m| m.1 == label);
        &moves[start..end]
    }
}

/// The tables of a network, reversed.
#[derive(Debug)]
pub struct Predecessors<'n> {
    net: &'n Network,
    packing: &'n Packing,
    leaves: Vec<Reversed>,
}

impl<'n> Predecessors<'n> {
    /// Reverses tables. `net` is the network that is searched, monitors included.
    pub fn new(net: &'n Network, packing: &'n Packing) -> Self {
        Predecessors {
            net,
            packing,
            leaves: net.leaves.iter().map(|leaf| Reversed::new(&leaf.states)).collect(),
        }
    }

    /// Calls `found` with all predecessors of a state and the vectors of the steps, some of them perhaps more than once.
    /// Returns false, after only some calls, if there are more than `most`.
    pub fn of(&self, state: &[u64], most: usize, found: &mut dyn FnMut(&[u64], VectorIx)) -> bool {
        let locals = self.packing.unpack(state);
        let mut left = most;
        for (i, leaf) in self.leaves.iter().enumerate() {
            let mut last = None;
            for &(_, label, _) in leaf.to(locals[i]) {
                if last.replace(label) == Some(label) {
                    continue;
                }
                for &v in &self.net.leaves[i].vectors_of[label.0 as usize] {
                    let vector = &self.net.vectors[v.0 as usize];
                    if vector.parts[0].0.0 as usize != i || matches!(vector.outcome, Outcome::Fault(_)) {
                        continue;
                    }
                    let sources = |&(leaf, label): &(LeafIx, LocalLabel)| {
                        self.leaves[leaf.0 as usize].with_label(locals[leaf.0 as usize], label)
                    };
                    let choices: Vec<_> = vector.parts.iter().map(sources).collect();
                    let product = choices.iter().fold(1usize, |n, choice| n.saturating_mul(choice.len()));
                    let Some(less) = left.checked_sub(product) else { return false };
                    left = less;
                    let mut before = state.to_vec();
                    for mut number in 0..product {
                        for (choice, &(leaf, _)) in choices.iter().zip(&vector.parts) {
                            self.packing.field(leaf).set(&mut before, choice[number % choice.len()].2);
                            number /= choice.len();
                        }
                        found(&before, v);
                    }
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::prepared::{Prepared, Visitor};
    use crate::engine::successors::{Steps, Successors};
    use crate::samples::random::Shape;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    /// Explores and compares: a step leads from a state to a target if and only if the state is a predecessor.
    struct Compare<'a>(&'a Predecessors<'a>, u64);

    impl Visitor for Compare<'_> {
        type Out = usize;

        fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> usize {
            let words = system.packing().words();
            let (mut seen, mut edges) = (BTreeSet::from([system.initial()]), BTreeSet::new());
            let mut queue: Vec<Vec<u64>> = seen.iter().cloned().collect();
            let mut steps = Steps::new(words);
            while let Some(state) = queue.pop() {
                steps.clear();
                system.expand(&state, &mut steps).expect("complete tables");
                for (target, via) in steps.iter() {
                    if !via.is_marked() {
                        edges.insert((state.clone(), target.to_vec()));
                        if seen.insert(target.to_vec()) {
                            queue.push(target.to_vec());
                        }
                    }
                }
            }
            let mut back = BTreeSet::new();
            for state in &seen {
                let mut before = Vec::new();
                assert!(self.0.of(state, usize::MAX, &mut |b, _| before.push(b.to_vec())));
                let count = before.len();
                back.extend(before.into_iter().filter(|b| seen.contains(b)).map(|b| (b, state.clone())));
                assert!(count == 0 || !self.0.of(state, count - 1, &mut |_, _| {}));
            }
            assert_eq!(edges, back, "seed {}", self.1);
            edges.len()
        }
    }

    #[test]
    fn steps_read_backwards() {
        let shape = Shape { faults: 30, ..Shape::default() };
        let mut edges = 0;
        for seed in 0..300 {
            let net = shape.network(seed);
            let prepared = Prepared::new(net.clone(), []);
            let predecessors = Predecessors::new(&net, prepared.packing());
            edges += prepared.visit(Compare(&predecessors, seed)).expect("compiles");
        }
        assert!(edges > 5000);
    }
}
