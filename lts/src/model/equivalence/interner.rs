//! Numbers for slices: equal slices get equal numbers, in the order of first appearance.
//!
//! All slices lie one after another in one vector. The hash map leads from a hash to the newest slice with it, and
//! from there a chain leads to older ones, so two slices are compared only if their hashes agree, and the content is
//! stored once.

use std::hash::{Hash, Hasher};

use crate::base::hash::{self, Map};

const NONE: u32 = u32::MAX;

pub(super) struct Interner<T> {
    items: Vec<T>,
    ends: Vec<usize>,
    newest: Map<u64, u32>,
    older: Vec<u32>,
}

impl<T: Copy + Eq + Hash> Interner<T> {
    pub(super) fn new() -> Self {
        Interner { items: Vec::new(), ends: Vec::new(), newest: Map::default(), older: Vec::new() }
    }

    /// The number of this slice, and whether it is new.
    pub(super) fn intern(&mut self, slice: &[T]) -> (u32, bool) {
        let mut hasher = hash::Hasher::default();
        slice.hash(&mut hasher);
        // This hasher carries differences upwards only, and the map looks at the lower bits first: without folding, slices
        // that differ in upper halves of their items would all meet in one place.
        let hash = hasher.finish();
        let hash = hash ^ (hash >> 32);
        let newest = self.newest.get(&hash).copied().unwrap_or(NONE);
        let mut candidate = newest;
        while candidate != NONE {
            if self.get(candidate) == slice {
                return (candidate, false);
            }
            candidate = self.older[candidate as usize];
        }
        let id =
            u32::try_from(self.ends.len()).ok().filter(|&id| id != NONE).expect("fewer than 2^32 slices");
        self.items.extend_from_slice(slice);
        self.ends.push(self.items.len());
        self.older.push(newest);
        self.newest.insert(hash, id);
        (id, true)
    }

    pub(super) fn get(&self, id: u32) -> &[T] {
        let start = if id == 0 { 0 } else { self.ends[id as usize - 1] };
        &self.items[start..self.ends[id as usize]]
    }

    /// How many different slices there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many items all slices together have.
    pub(super) fn num_items(&self) -> usize {
        self.items.len()
    }
}
