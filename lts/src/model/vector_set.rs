//! Sets of vectors as bits: one load tells a search whether a step is of interest to it.

use crate::model::network::{LeafIx, Network, VectorIx};

/// A set of vectors.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct VectorSet {
    bits: Vec<u64>,
}

impl VectorSet {
    /// The vectors in which one of the given leaves takes part, as a predicate with one load: what a guided search asks of
    /// every step.
    pub fn taking_part(net: &Network, leaves: &[LeafIx]) -> Self {
        let mut set = VectorSet::default();
        for &leaf in leaves {
            for &vector in net.leaves[leaf.0 as usize].vectors_of.iter().flatten() {
                set.insert(vector);
            }
        }
        set
    }

    /// Adds a vector.
    pub fn insert(&mut self, vector: VectorIx) {
        let word = vector.0 as usize / 64;
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (vector.0 % 64);
    }

    /// Whether a vector is in the set.
    #[inline]
    pub fn contains(&self, vector: VectorIx) -> bool {
        self.bits.get(vector.0 as usize / 64).is_some_and(|w| w >> (vector.0 % 64) & 1 == 1)
    }

    /// Whether no vector is in the set.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&w| w == 0)
    }
}
