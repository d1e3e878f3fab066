//! A set of vectors at one state, and how it is closed.
//!
//! Invariant: `outside`, `warm`, `free` and `views` say at all times what `members` say: how many vectors of a label are
//! not in the set, how many of these are enabled, which labels have any, and what the leaves can do by those.

use super::Mutant;
use super::memo::{Memo, NONE, Strength};
use super::tables::{Leaf, Tables};

/// What an enabled vector costs that a closure would have to add, where a disabled one costs 1.
const ENABLED: u32 = 1000;

/// A set of vectors at one state.
#[derive(Debug)]
pub(super) struct Closure {
    pub(super) memo: Memo,
    mutant: Mutant,
    pub(super) locals: Vec<u32>,
    /// The enabled vectors, in the order of the steps.
    pub(super) enabled: Vec<u32>,
    /// For each vector how many steps it has.
    pub(super) steps: Vec<u32>,
    pub(super) contains: Vec<bool>,
    pub(super) members: Vec<u32>,
    /// Steps of the members.
    pub(super) size: u32,
    outside: Vec<u32>,
    warm: Vec<u32>,
    free: Vec<u64>,
    views: Vec<u32>,
    /// Members that are not looked at yet.
    hot: Vec<u32>,
    cold: Vec<u32>,
    chosen: Vec<u32>,
}

impl Closure {
    pub(super) fn new(tables: &Tables, mutant: Mutant) -> Self {
        let outside = (0..tables.labels).map(|label| tables.vectors_of(label).len() as u32).collect();
        Closure {
            memo: Memo::new(tables),
            mutant,
            locals: vec![0; tables.leaves.len()],
            enabled: Vec::new(),
            steps: vec![0; tables.vectors],
            contains: vec![false; tables.vectors],
            members: Vec::new(),
            size: 0,
            outside,
            warm: vec![0; tables.labels],
            free: tables.leaves.iter().flat_map(|leaf| leaf.used.iter().copied()).collect(),
            views: vec![NONE; tables.leaves.len()],
            hot: Vec::new(),
            cold: Vec::new(),
            chosen: Vec::new(),
        }
    }

    /// Goes to another state, whose local states are in `locals`; `vias` are the vectors of its steps.
    pub(super) fn visit(&mut self, tables: &Tables, vias: impl Iterator<Item = u32>) {
        if self.memo.is_full() {
            self.memo.forget(tables);
        }
        self.views.fill(NONE);
        for v in vias {
            self.steps[v as usize] += 1;
            if self.steps[v as usize] == 1 {
                self.enabled.push(v);
                for &(leaf, label) in tables.parts(v) {
                    self.warm[tables.leaves[leaf as usize].base + label as usize] += 1;
                }
            }
        }
    }

    /// Leaves the state.
    pub(super) fn leave(&mut self, tables: &Tables) {
        self.shrink(tables, 0);
        for &v in &self.enabled {
            self.steps[v as usize] = 0;
            for &(leaf, label) in tables.parts(v) {
                self.warm[tables.leaves[leaf as usize].base + label as usize] = 0;
            }
        }
        self.enabled.clear();
    }

    #[inline]
    pub(super) fn is_enabled(&self, vector: u32) -> bool {
        self.steps[vector as usize] > 0
    }

    /// Puts a vector into the set, to be looked at by [`close`](Self::close).
    #[inline]
    pub(super) fn add(&mut self, tables: &Tables, vector: u32) {
        if self.contains[vector as usize] {
            return;
        }
        self.put(tables, vector);
        if self.is_enabled(vector) { self.hot.push(vector) } else { self.cold.push(vector) }
    }

    /// Puts a vector into the set that need not be looked at.
    pub(super) fn put(&mut self, tables: &Tables, vector: u32) {
        self.contains[vector as usize] = true;
        self.members.push(vector);
        let steps = self.steps[vector as usize];
        self.size += steps;
        for &(l, label) in tables.parts(vector) {
            let leaf = &tables.leaves[l as usize];
            let slot = leaf.base + label as usize;
            self.outside[slot] -= 1;
            self.warm[slot] -= u32::from(steps > 0);
            if self.outside[slot] == 0 {
                self.free[leaf.word_base + label as usize / 64] &= !(1 << (label % 64));
                self.views[l as usize] = NONE;
            }
        }
    }

    /// Takes a vector out that is no longer among the members.
    pub(super) fn take(&mut self, tables: &Tables, vector: u32) {
        self.contains[vector as usize] = false;
        let steps = self.steps[vector as usize];
        self.size -= steps;
        for &(l, label) in tables.parts(vector) {
            let leaf = &tables.leaves[l as usize];
            let slot = leaf.base + label as usize;
            self.outside[slot] += 1;
            self.warm[slot] += u32::from(steps > 0);
            // A phantom's label is never free.
            if self.outside[slot] == 1 {
                let word = leaf.word_base + label as usize / 64;
                self.free[word] |= (1 << (label % 64)) & leaf.used[label as usize / 64];
                self.views[l as usize] = NONE;
            }
        }
    }

    /// Takes out all but the first members.
    pub(super) fn shrink(&mut self, tables: &Tables, len: usize) {
        while self.members.len() > len {
            if let Some(vector) = self.members.pop() {
                self.take(tables, vector);
            }
        }
        self.hot.clear();
        self.cold.clear();
    }

    #[inline]
    fn view(&mut self, leaf: u32, tables: &Leaf) -> u32 {
        let view = self.views[leaf as usize];
        if view != NONE {
            return view;
        }
        let free = &self.free[tables.word_base..tables.word_base + tables.words];
        let view = self.memo.view(leaf, tables, self.locals[leaf as usize], free);
        self.views[leaf as usize] = view;
        view
    }

    /// The first free label that an enabled vector does not commute with, and its leaf.
    #[inline]
    fn clash(&mut self, tables: &Tables, vector: u32, strength: Strength) -> Option<(u32, u32)> {
        for &(leaf, label) in tables.parts(vector) {
            let view = self.view(leaf, &tables.leaves[leaf as usize]);
            let clash = self.memo.clash(tables, view, label, strength, self.mutant);
            if clash != NONE {
                return Some((leaf, clash));
            }
        }
        None
    }

    fn add_label(&mut self, tables: &Tables, leaf: u32, label: u32) {
        for &vector in tables.vectors_of(tables.leaves[leaf as usize].base + label as usize) {
            self.add(tables, vector);
        }
    }

    /// Adds what an enabled vector needs to be a member or a key.
    pub(super) fn support(&mut self, tables: &Tables, vector: u32, strength: Strength) {
        while let Some((leaf, label)) = self.clash(tables, vector, strength) {
            self.add_label(tables, leaf, label);
        }
    }

    /// Adds what all members need, until the set is valid or has so many steps. Enabled members come first: what they need
    /// is not a matter of choice.
    pub(super) fn close(&mut self, tables: &Tables, limit: u32) -> bool {
        loop {
            if self.size >= limit {
                return false;
            }
            if let Some(vector) = self.hot.pop() {
                self.support(tables, vector, Strength::Weak);
            } else if let Some(vector) = self.cold.pop() {
                self.disable(tables, vector);
            } else {
                return true;
            }
        }
    }

    /// Whether a disabled vector stays so whatever is done outside the set. So does the phantom of a monitor that is bad
    /// already: there is nothing left to be kept.
    #[inline]
    fn stays_disabled(&mut self, tables: &Tables, vector: u32) -> bool {
        if tables.is_phantom(vector) {
            let (leaf, label) = tables.parts(vector)[0];
            if tables.leaves[leaf as usize].offers(self.locals[leaf as usize], label) {
                return true;
            }
        }
        for &(leaf, label) in tables.parts(vector) {
            let view = self.view(leaf, &tables.leaves[leaf as usize]);
            if self.memo.is_never(view, label) {
                return true;
            }
        }
        false
    }

    /// Adds what makes a disabled vector stay disabled, by the part for which that is cheapest.
    fn disable(&mut self, tables: &Tables, vector: u32) {
        if self.stays_disabled(tables, vector) {
            return;
        }
        let mut best = (u32::MAX, NONE);
        for &(l, label) in tables.parts(vector) {
            let leaf = &tables.leaves[l as usize];
            if leaf.offers(self.locals[l as usize], label) {
                continue;
            }
            let view = self.view(l, leaf);
            let (exits, entries) = self.memo.cuts(tables, view, label);
            for cut in [exits, entries] {
                let cost = |&label: &u32| {
                    let slot = leaf.base + label as usize;
                    self.outside[slot] + (ENABLED - 1) * self.warm[slot]
                };
                let cost = cut.iter().map(cost).fold(0, u32::saturating_add);
                if cost < best.0 {
                    best = (cost, l);
                    self.chosen.clear();
                    self.chosen.extend_from_slice(cut);
                }
            }
        }
        let chosen = std::mem::take(&mut self.chosen);
        for &label in &chosen {
            self.add_label(tables, best.1, label);
        }
        self.chosen = chosen;
    }

    /// Whether a member is one rightly.
    pub(super) fn is_valid(&mut self, tables: &Tables, vector: u32) -> bool {
        if self.is_enabled(vector) {
            self.clash(tables, vector, Strength::Weak).is_none()
        } else {
            self.stays_disabled(tables, vector)
        }
    }

    /// Whether an enabled member is a key: it stays enabled whatever is done outside the set, and commutes with it.
    pub(super) fn is_key(&mut self, tables: &Tables, vector: u32) -> bool {
        self.clash(tables, vector, Strength::Strong).is_none()
    }

    /// Whether a step of a vector raises the potential: a key is put before any run whichever of its steps is taken.
    pub(super) fn rises(&self, tables: &Tables, vector: u32) -> bool {
        let gain = |&(l, label): &(u32, u32)| {
            let leaf = &tables.leaves[l as usize];
            let from = self.locals[l as usize];
            let to = leaf.with(from, label).iter().map(|m| leaf.potential[m.1 as usize]).max();
            to.unwrap_or(0) - leaf.potential[from as usize]
        };
        let gain: i64 = tables.parts(vector).iter().map(gain).sum();
        gain > 0 || (self.mutant == Mutant::LazyPotential && gain == 0)
    }
}
