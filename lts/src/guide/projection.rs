//! What the vectors of a network look like from a few of its leaves.
//!
//! Two vectors in which the leaves of a subsystem do the same, only with other partners, are one move of the subsystem:
//! they have the same *projection*. Invariant: projections are numbered by their first vector, so the numbers do not
//! depend on anything but the network and the leaves.

use crate::base::hash::Map;
use crate::model::network::{LeafIx, Local, LocalLabel, Network, Outcome, VectorIx};

/// The projections of a network onto a subsystem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Projections {
    /// The leaves of the subsystem, ascending.
    pub(super) leaves: Vec<LeafIx>,
    /// For each vector its projection, or [`Projections::NONE`].
    of: Vec<u32>,
    /// For each projection the positions in `leaves` that take part, with their labels.
    parts: Vec<Vec<(usize, LocalLabel)>>,
    /// For each projection its first vector.
    pub(super) example: Vec<VectorIx>,
    /// For each position in `leaves` and label the projections whose first part it is.
    first: Map<(usize, LocalLabel), Vec<u32>>,
}

impl Projections {
    const NONE: u32 = u32::MAX;

    /// The projections onto some leaves. Vectors that are faults have none: they lead nowhere.
    pub(super) fn new(net: &Network, leaves: Vec<LeafIx>) -> Self {
        let mut known: Map<Vec<(usize, LocalLabel)>, u32> = Map::default();
        let (mut of, mut parts, mut example) =
            (Vec::with_capacity(net.vectors.len()), Vec::new(), Vec::new());
        let mut first: Map<(usize, LocalLabel), Vec<u32>> = Map::default();
        for (v, vector) in net.vectors.iter().enumerate() {
            let mine: Vec<(usize, LocalLabel)> = vector
                .parts
                .iter()
                .filter_map(|(leaf, label)| Some((leaves.binary_search(leaf).ok()?, *label)))
                .collect();
            if mine.is_empty() || matches!(vector.outcome, Outcome::Fault(_)) {
                of.push(Self::NONE);
                continue;
            }
            let number = *known.entry(mine).or_insert_with_key(|mine| {
                let number = parts.len() as u32;
                first.entry(mine[0]).or_default().push(number);
                parts.push(mine.clone());
                example.push(VectorIx(v as u32));
                number
            });
            of.push(number);
        }
        Projections { leaves, of, parts, example, first }
    }

    /// The projection of a vector, if the subsystem takes part.
    #[inline]
    pub(super) fn of(&self, vector: VectorIx) -> Option<u32> {
        let number = self.of[vector.0 as usize];
        (number != Self::NONE).then_some(number)
    }

    /// The positions in `leaves` that take part, ascending.
    pub(super) fn leaves_of(&self, projection: u32) -> impl Iterator<Item = usize> + '_ {
        self.parts[projection as usize].iter().map(|&(at, _)| at)
    }

    /// What the leaves do in a projection, printed.
    pub(super) fn label(&self, net: &Network, projection: u32) -> String {
        let part = |&(at, label): &(usize, LocalLabel)| {
            net.leaves[self.leaves[at].0 as usize].labels[label.0 as usize].as_str()
        };
        let parts: Vec<&str> = self.parts[projection as usize].iter().map(part).collect();
        parts.join(" | ")
    }

    /// The moves of the subsystem from some local states, partners being willing: by the first leaf, its label, the
    /// projection, then the targets. Moves that change none of the local states are left out.
    pub(super) fn moves(&self, net: &Network, from: &[Local], found: &mut dyn FnMut(u32, &[Local])) {
        for (at, leaf) in self.leaves.iter().enumerate() {
            let mut last = None;
            for &(label, _) in &net.leaves[leaf.0 as usize].states[from[at].0 as usize].moves {
                if last.replace(label) == Some(label) {
                    continue;
                }
                for &projection in self.first.get(&(at, label)).into_iter().flatten() {
                    self.targets(net, from, projection, found);
                }
            }
        }
    }

    fn targets(&self, net: &Network, from: &[Local], projection: u32, found: &mut dyn FnMut(u32, &[Local])) {
        let parts = &self.parts[projection as usize];
        let choices: Vec<&[(LocalLabel, Local)]> =
            parts.iter().map(|&(at, label)| net.moves_with(self.leaves[at], from[at], label)).collect();
        if choices.iter().any(|choice| choice.is_empty()) {
            return;
        }
        let (mut pick, mut target) = (vec![0; parts.len()], from.to_vec());
        loop {
            for (k, &(at, _)) in parts.iter().enumerate() {
                target[at] = choices[k][pick[k]].1;
            }
            if target != from {
                found(projection, &target);
            }
            let Some(k) = (0..parts.len()).rev().find(|&k| pick[k] + 1 < choices[k].len()) else { return };
            pick[k] += 1;
            pick[k + 1..].fill(0);
        }
    }
}
