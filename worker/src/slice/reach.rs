//! Which slices can still be entered, from what each leaf of the subsystem can do on its own.
//!
//! The table of a leaf over-approximates what the leaf does in the system. So a slice can be entered only if each leaf of the
//! subsystem can get to its local state in this slice from its local state in some slice with waiting states, which need not
//! be the same slice for all leaves. Invariant: a slice that is not contained is never entered again.

use gridlock_lts::engine::pack::{Field, Packing};
use gridlock_lts::model::network::{LeafIx, Local, Network};

#[derive(Debug)]
struct LeafGraph {
    field: Field,
    /// For each local state where its moves begin in `targets`, and the end of the last.
    first: Vec<u32>,
    targets: Vec<Local>,
    seen: Vec<bool>,
}

/// The slices that can be reached from some slices.
#[derive(Debug)]
pub struct Reach {
    leaves: Vec<LeafGraph>,
}

impl Reach {
    /// The graphs of some leaves.
    pub fn new(net: &Network, packing: &Packing, subsystem: &[LeafIx]) -> Self {
        let graph = |&leaf: &LeafIx| {
            let states = &net.leaves[leaf.0 as usize].states;
            let (mut first, mut targets) = (vec![0], Vec::new());
            for state in states {
                targets.extend(state.moves.iter().map(|&(_, to)| to));
                first.push(targets.len() as u32);
            }
            LeafGraph { field: packing.field(leaf), first, targets, seen: vec![false; states.len()] }
        };
        Reach { leaves: subsystem.iter().map(graph).collect() }
    }

    /// Computes what can be reached from slices given by their keys.
    pub fn from<'k>(&mut self, keys: impl Iterator<Item = &'k [u64]> + Clone) {
        for leaf in &mut self.leaves {
            leaf.seen.fill(false);
            let mut stack = Vec::new();
            for key in keys.clone() {
                let local = leaf.field.get(key);
                if !std::mem::replace(&mut leaf.seen[local.0 as usize], true) {
                    stack.push(local);
                }
            }
            while let Some(local) = stack.pop() {
                let moves = leaf.first[local.0 as usize]..leaf.first[local.0 as usize + 1];
                for &to in &leaf.targets[moves.start as usize..moves.end as usize] {
                    if !std::mem::replace(&mut leaf.seen[to.0 as usize], true) {
                        stack.push(to);
                    }
                }
            }
        }
    }

    /// Whether the slice of a key can be entered.
    pub fn contains(&self, key: &[u64]) -> bool {
        self.leaves.iter().all(|leaf| leaf.seen[leaf.field.get(key).0 as usize])
    }
}
