//! States that a guided search passes over, because no violation can follow from them.
//!
//! The local states of the subsystem and the monitors decide, for every job and guide. Invariant: only states that a
//! [`Relevance`] calls irrelevant are passed over.

use gridlock_lts::engine::pack::Packing;
use gridlock_lts::guide::Relevance;

/// The bits of the subsystem and the monitors, and their irrelevant values.
#[derive(Default)]
pub(super) struct Irrelevant {
    mask: Vec<u64>,
    /// Sorted.
    values: Vec<Vec<u64>>,
}

impl Irrelevant {
    pub(super) fn new(relevance: &Relevance, packing: &Packing) -> Self {
        let mut mask = vec![0; packing.words()];
        for &leaf in relevance.leaves() {
            let field = packing.field(leaf);
            mask[field.word as usize] |= field.mask() << field.shift;
        }
        let packed = |locals: &[gridlock_lts::model::network::Local]| {
            let mut words = vec![0; packing.words()];
            for (&leaf, &local) in relevance.leaves().iter().zip(locals) {
                packing.field(leaf).set(&mut words, local);
            }
            words
        };
        let mut values: Vec<_> = relevance.irrelevant().map(packed).collect();
        values.sort();
        Irrelevant { mask, values }
    }

    /// Whether a packed state is irrelevant.
    #[inline]
    pub(super) fn contains(&self, state: &[u64]) -> bool {
        if self.values.is_empty() {
            return false;
        }
        let masked = || state.iter().zip(&self.mask).map(|(word, mask)| word & mask);
        self.values.binary_search_by(|value| value.iter().copied().cmp(masked())).is_ok()
    }
}
