//! Which local states a search is likely to see: a few random walks, the same for the same network.
//!
//! The tables can be laid out in several equally correct ways, and which is fastest depends on what is common. Local
//! states alone do not tell: most of those of a queue are full, and hardly any state of the system has a full one.

use crate::network::{Local, Network};
use crate::random::Rng;

/// How often each local state of each leaf was seen.
pub(super) struct Sample {
    seen: Vec<Vec<u32>>,
    total: u32,
}

impl Sample {
    const WALKS: usize = 16;
    const STEPS: usize = 100;

    /// Walks from the initial state.
    pub(super) fn of(net: &Network) -> Self {
        let seen = net.leaves.iter().map(|leaf| vec![0; leaf.states.len()]).collect();
        let mut sample = Sample { seen, total: 0 };
        let (mut rng, mut steps) = (Rng::new(1), Vec::new());
        for _ in 0..Self::WALKS {
            let mut state = net.initial();
            for _ in 0..Self::STEPS {
                sample.add(&state);
                net.successors(&state, &mut steps);
                if steps.is_empty() {
                    break;
                }
                state = steps.swap_remove(rng.below(steps.len())).target;
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
