//! A small cache of prefixes that were handled before.
//!
//! Jobs share the beginnings of their paths, so the same positions come again and again; this saves asking the ID sets each
//! time. It forgets: a place holds the prefix that came last. Invariant: its answers only save work. No ID is lost by a
//! prefix that is forgotten, nor by two prefixes that share their 64 bits: that leaves IDs to be searched that could have
//! been pruned.

/// A number for a prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PrefixHash(u64);

impl PrefixHash {
    /// The hash of the empty prefix.
    pub(super) const EMPTY: PrefixHash = PrefixHash(0x243f_6a88_85a3_08d3);

    /// The hash of the prefix with one more edge.
    pub(super) fn with(self, edge: u32) -> Self {
        let z = (self.0 ^ u64::from(edge)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        PrefixHash((z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (z >> 32))
    }
}

/// The prefixes seen lately.
#[derive(Clone)]
pub(super) struct Seen {
    places: Vec<u64>,
}

impl Seen {
    /// A cache with two to the power of `bits` places, at most 2^16.
    pub(super) fn new(bits: u64) -> Self {
        Seen { places: vec![0; 1 << bits.min(16)] }
    }

    fn place(&self, prefix: PrefixHash) -> usize {
        prefix.0 as usize & (self.places.len() - 1)
    }

    pub(super) fn contains(&self, prefix: PrefixHash) -> bool {
        self.places[self.place(prefix)] == prefix.0
    }

    pub(super) fn insert(&mut self, prefix: PrefixHash) {
        let place = self.place(prefix);
        self.places[place] = prefix.0;
    }
}
