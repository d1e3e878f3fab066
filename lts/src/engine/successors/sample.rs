//! Which local states a search is likely to see: a few random walks, the same for the same network.
//!
//! The tables can be laid out in several equally correct ways, and which is fastest depends on what is common. Local
//! states alone do not tell: most of those of a queue are full, and hardly any state of the system has a full one.

use crate::base::rng::Rng;
use crate::model::network::{Leaf, LeafIx, Local, LocalLabel, Network};

/// How often each local state of each leaf was seen.
pub(super) struct Sample {
    seen: Vec<Vec<u32>>,
    total: u32,
}

impl Sample {
    const WALKS: usize = 16;
    const STEPS: usize = 100;
    /// Vectors that all walks together may look at.
    const WORK: usize = 10_000_000;

    /// Walks from the initial state.
    pub(super) fn of(net: &Network) -> Self {
        let widest = |leaf: &Leaf| leaf.vectors_of.iter().map(Vec::len).max().unwrap_or(0);
        let work: usize = 1 + net.leaves.iter().map(widest).sum::<usize>();
        let steps_of_a_walk = Self::STEPS.min(Self::WORK / work / Self::WALKS).max(1);
        let seen = net.leaves.iter().map(|leaf| vec![0; leaf.states.len()]).collect();
        let mut sample = Sample { seen, total: 0 };
        let mut rng = Rng::new(1);
        for _ in 0..Self::WALKS {
            let mut state = net.initial();
            for _ in 0..steps_of_a_walk {
                sample.add(&state);
                if !step(net, &mut state, &mut rng) {
                    break;
                }
            }
        }
        sample
    }

    fn add(&mut self, state: &[Local]) {
        for (seen, local) in self.seen.iter_mut().zip(state) {
            seen[local.0 as usize] += 1;
        }
        self.total += 1;
    }

    /// How common a local state is. Never exactly zero, so that what the walks did not see still counts a little.
    pub(super) fn share_of(&self, leaf: usize, local: usize) -> f64 {
        f64::from(self.seen[leaf][local]) / f64::from(self.total) + 0.01 / self.seen[leaf].len() as f64
    }

    /// How common local states with a property are.
    pub(super) fn share(&self, leaf: usize, has: impl Fn(usize) -> bool) -> f64 {
        (0..self.seen[leaf].len()).filter(|&k| has(k)).map(|k| self.share_of(leaf, k)).sum()
    }
}

/// Takes a random step: of a random enabled vector, without listing all combinations of its moves. False if there is
/// none.
fn step(net: &Network, state: &mut [Local], rng: &mut Rng) -> bool {
    let (mut chosen, mut enabled) = (None, 0);
    for (i, leaf) in net.leaves.iter().enumerate() {
        let mut last = None;
        for &(label, _) in &leaf.states[state[i].0 as usize].moves {
            if last.replace(label) == Some(label) {
                continue;
            }
            for &v in &leaf.vectors_of[label.0 as usize] {
                let parts = &net.vectors[v.0 as usize].parts;
                let can = |&(leaf, label): &(LeafIx, LocalLabel)| {
                    !net.moves_with(leaf, state[leaf.0 as usize], label).is_empty()
                };
                if parts[0].0.0 as usize == i && parts.iter().all(can) {
                    enabled += 1;
                    if rng.below(enabled) == 0 {
                        chosen = Some(parts);
                    }
                }
            }
        }
    }
    for &(leaf, label) in chosen.into_iter().flatten() {
        let moves = net.moves_with(leaf, state[leaf.0 as usize], label);
        state[leaf.0 as usize] = moves[rng.below(moves.len())].1;
    }
    chosen.is_some()
}
