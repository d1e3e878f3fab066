//! Packed states: a vector of local states as a few 64-bit words.
//!
//! Every leaf owns one bit field; no field straddles a word, so that a local state is one shift and one mask away and
//! a step of a leaf is one addition to one word. Invariant: the highest bits of word 0 are zero in every packed state
//! ([`Packing::free_bits`], at least [`FREE_BITS`]). A visited set uses them to tell an empty slot from a state and for
//! the depth of a state; so every packed state can be stored, none is reserved.
//!
//! The number of words is a type ([`Width`]), because the searches spend their time in loops over the words of a state
//! and these loops must vanish where a state is one word.

use crate::model::network::{LeafIx, Local, Network};

/// Bits of word 0 that no field ever uses.
pub const FREE_BITS: u32 = 2;

/// How many words a state has: known to the compiler for the usual sizes.
pub trait Width: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// The number of words, at least one.
    fn words(self) -> usize;
}

/// States of one word.
#[derive(Clone, Copy, Debug)]
pub struct One;

/// States of two words.
#[derive(Clone, Copy, Debug)]
pub struct Two;

/// States of any number of words.
#[derive(Clone, Copy, Debug)]
pub struct Many(pub usize);

impl Width for One {
    #[inline(always)]
    fn words(self) -> usize {
        1
    }
}

impl Width for Two {
    #[inline(always)]
    fn words(self) -> usize {
        2
    }
}

impl Width for Many {
    #[inline(always)]
    fn words(self) -> usize {
        self.0
    }
}

/// Where a leaf's local state stands in a packed state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// The index of the word that has the field.
    pub word: u32,
    /// The lowest bit in that word.
    pub shift: u32,
    /// The number of bits; 0 for a leaf that has one local state only.
    pub bits: u32,
}

impl Field {
    /// The field's value in a packed state.
    #[inline]
    pub fn get(self, state: &[u64]) -> Local {
        Local(((state[self.word as usize] >> self.shift) & self.mask()) as u32)
    }

    /// Replaces the field's value.
    #[inline]
    pub fn set(self, state: &mut [u64], local: Local) {
        let word = &mut state[self.word as usize];
        *word = (*word & !(self.mask() << self.shift)) | (u64::from(local.0) << self.shift);
    }

    /// The bits of the field, shifted to bit 0.
    #[inline]
    pub fn mask(self) -> u64 {
        (1 << self.bits) - 1
    }

    /// What to add (modulo 2^64) to the field's word for a move from one local state to another.
    pub fn delta(self, from: Local, to: Local) -> u64 {
        (u64::from(to.0) << self.shift).wrapping_sub(u64::from(from.0) << self.shift)
    }
}

/// The fields of all leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packing {
    fields: Vec<Field>,
    words: usize,
    free_bits: u32,
}

impl Packing {
    /// A packing for leaves that have the given numbers of local states.
    pub fn for_sizes(sizes: impl IntoIterator<Item = usize>) -> Self {
        Self::for_bits(sizes.into_iter().map(|n| usize::BITS - n.saturating_sub(1).leading_zeros()))
    }

    /// A packing for a network whose tables are complete.
    pub fn for_network(net: &Network) -> Self {
        Self::for_sizes(net.leaves.iter().map(|leaf| leaf.states.len()))
    }

    /// A packing with fields of the given widths, at most 32 bits each. First fit, widest first: with fields this much
    /// smaller than a word it wastes a word at most in contrived cases.
    pub fn for_bits(bits: impl IntoIterator<Item = u32>) -> Self {
        let bits: Vec<u32> = bits.into_iter().collect();
        assert!(bits.iter().all(|&b| b <= 32), "a local state has at most 32 bits");
        let mut order: Vec<usize> = (0..bits.len()).collect();
        order.sort_by_key(|&leaf| (std::cmp::Reverse(bits[leaf]), leaf));
        let mut fields = vec![Field { word: 0, shift: 0, bits: 0 }; bits.len()];
        let mut used = vec![0u32];
        for leaf in order {
            let capacity = |word: usize| if word == 0 { u64::BITS - FREE_BITS } else { u64::BITS };
            let word = (0..used.len()).find(|&w| used[w] + bits[leaf] <= capacity(w)).unwrap_or(used.len());
            if word == used.len() {
                used.push(0);
            }
            // A field without bits must not be shifted by 64.
            let shift = if bits[leaf] == 0 { 0 } else { used[word] };
            fields[leaf] = Field { word: word as u32, shift, bits: bits[leaf] };
            used[word] += bits[leaf];
        }
        // The emptiest word comes first: its free bits are of use.
        let emptiest = (0..used.len()).min_by_key(|&w| (used[w], w)).unwrap_or(0);
        for field in &mut fields {
            if field.word == 0 {
                field.word = emptiest as u32;
            } else if field.word == emptiest as u32 {
                field.word = 0;
            }
        }
        Packing { fields, words: used.len(), free_bits: (u64::BITS - used[emptiest]).min(32) }
    }

    /// The highest bits of word 0 that no field uses, from [`FREE_BITS`] to 32.
    pub fn free_bits(&self) -> u32 {
        self.free_bits
    }

    /// The number of words of a packed state, at least one.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.fields.len()
    }

    /// The field of a leaf.
    pub fn field(&self, leaf: LeafIx) -> Field {
        self.fields[leaf.0 as usize]
    }

    /// Packs a vector of local states into `out`, which has [`Packing::words`] words.
    pub fn pack(&self, locals: &[Local], out: &mut [u64]) {
        assert_eq!(locals.len(), self.fields.len(), "one local state for each leaf");
        out.fill(0);
        for (field, &local) in self.fields.iter().zip(locals) {
            assert!(u64::from(local.0) <= field.mask(), "a local state beyond the leaf's table");
            out[field.word as usize] |= u64::from(local.0) << field.shift;
        }
    }

    /// The vector of local states of a packed state.
    pub fn unpack(&self, state: &[u64]) -> Vec<Local> {
        self.fields.iter().map(|field| field.get(state)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(sizes: &[usize], locals: &[u32]) {
        let packing = Packing::for_sizes(sizes.iter().copied());
        let locals: Vec<Local> = locals.iter().map(|&l| Local(l)).collect();
        let mut state = vec![0; packing.words()];
        packing.pack(&locals, &mut state);
        assert_eq!(packing.unpack(&state), locals);
        assert!((2..=32).contains(&packing.free_bits()));
        assert_eq!(state[0] >> (64 - packing.free_bits()), 0, "the free bits stay free");
        for (i, &local) in locals.iter().enumerate() {
            let field = packing.field(LeafIx(i as u32));
            let mut other = state.clone();
            field.set(&mut other, Local(0));
            other[field.word as usize] =
                other[field.word as usize].wrapping_add(field.delta(Local(0), local));
            assert_eq!(other, state, "a delta moves exactly one field");
        }
    }

    #[test]
    fn fields_hold_every_local_state() {
        round_trip(&[], &[]);
        round_trip(&[1, 1, 1], &[0, 0, 0]);
        round_trip(&[2, 3, 5, 1, 1 << 20], &[1, 2, 4, 0, (1 << 20) - 1]);
        round_trip(&[1 << 32, 1 << 30, 1], &[u32::MAX, (1 << 30) - 1, 0]);
        round_trip(&[1 << 32; 7], &[u32::MAX; 7]);
        round_trip(&[1 << 31; 50], &[(1 << 31) - 1; 50]);
    }

    #[test]
    fn as_few_words_as_needed() {
        let words = |bits: &[u32]| Packing::for_bits(bits.iter().copied()).words();
        assert_eq!(words(&[]), 1);
        assert_eq!(words(&[31, 31]), 1);
        assert_eq!(words(&[31, 32]), 2);
        assert_eq!(words(&[1; 62]), 1);
        assert_eq!(words(&[1; 63]), 2);
        assert_eq!(words(&[2, 30, 2, 30, 32, 30]), 2);
        let free = |bits: &[u32]| Packing::for_bits(bits.iter().copied()).free_bits();
        assert_eq!(
            [free(&[]), free(&[31, 31]), free(&[20; 3]), free(&[31, 31, 20]), free(&[31; 6])],
            [32, 2, 4, 32, 2]
        );
    }
}
