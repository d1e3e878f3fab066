//! A set of vectors at one state, and how it is closed.
//!
//! Invariant: `outside`, `warm` and `free` say at all times what `members` say: how many vectors of a label are not in the
//! set, how many of these are enabled, and which labels have any.

use super::Mutant;
use super::memo::{Memo, NONE, Strength};
use super::tables::Tables;

/// What an enabled vector costs that a closure would have to add, where a disabled one costs 1.
const ENABLED: u32 = 1000;

/// A set of vectors at one state.
#[derive(Debug)]
pub(super) struct Closure {
    pub(super) memo: Memo,
    mutant: Mutant,
    pub(super) locals: Vec<u32>,
    /// The enabled vectors, ascending.
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
    /// For each label the number of the visit that found its topic, and the topic.
    topics: Vec<(u32, u32)>,
    visit: u32,
    /// Counts the labels that become free; for each leaf when one of its labels last did.
    clock: u32,
    freed: Vec<u32>,
    /// For each vector when it was last seen to be valid, and the leaf that keeps it disabled.
    valid: Vec<(u32, u32)>,
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
            topics: vec![(0, 0); tables.labels],
            visit: 0,
            clock: 0,
            freed: vec![0; tables.leaves.len()],
            valid: vec![(0, NONE); tables.vectors],
            hot: Vec::new(),
            cold: Vec::new(),
            chosen: Vec::new(),
        }
    }

    /// Goes to another state, whose local states are in `locals`; `vias` are the vectors of its steps.
    pub(super) fn visit(&mut self, tables: &Tables, vias: impl Iterator<Item = u32>) {
        if self.memo.is_full() {
            self.memo.forget();
        }
        self.visit = self.visit.wrapping_add(1);
        if self.visit == 0 {
            self.topics.fill((0, 0));
            self.visit = 1;
        }
        for v in vias {
            self.steps[v as usize] += 1;
            if self.steps[v as usize] == 1 {
                self.enabled.push(v);
                for &(leaf, label) in tables.parts(v) {
                    self.warm[tables.leaves[leaf as usize].base + label as usize] += 1;
                }
            }
        }
        self.enabled.sort_unstable();
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
        self.clock = 0;
        self.freed.fill(0);
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
        self.members.push(vector);
        self.put_back(tables, vector);
    }

    /// Undoes [`take`](Self::take) while the vector is still among the members.
    pub(super) fn put_back(&mut self, tables: &Tables, vector: u32) {
        self.contains[vector as usize] = true;
        let steps = self.steps[vector as usize];
        self.size += steps;
        for &(l, label) in tables.parts(vector) {
            let leaf = &tables.leaves[l as usize];
            let slot = leaf.base + label as usize;
            self.outside[slot] -= 1;
            self.warm[slot] -= u32::from(steps > 0);
            if self.outside[slot] == 0 {
                self.free[leaf.word_base + label as usize / 64] &= !(1 << (label % 64));
            }
        }
    }

    /// Takes a vector out; who does that removes it from the members, or puts it back.
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
                self.clock += 1;
                self.freed[l as usize] = self.clock;
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

    /// The topic of a label of a leaf in its state.
    #[inline]
    fn topic(&mut self, tables: &Tables, leaf: u32, label: u32) -> u32 {
        let slot = tables.leaves[leaf as usize].base + label as usize;
        if self.topics[slot].0 != self.visit {
            let topic = self.memo.topic(tables, leaf, self.locals[leaf as usize], label);
            self.topics[slot] = (self.visit, topic);
        }
        self.topics[slot].1
    }

    /// The first free label that an enabled vector does not commute with, and its leaf.
    #[inline]
    fn clash(&mut self, tables: &Tables, vector: u32, strength: Strength) -> Option<(u32, u32)> {
        for &(l, label) in tables.parts(vector) {
            let topic = self.topic(tables, l, label);
            let leaf = &tables.leaves[l as usize];
            let free = &self.free[leaf.word_base..leaf.word_base + leaf.words];
            let clash = self.memo.clash(tables, topic, free, strength, self.mutant);
            if clash != NONE {
                return Some((l, clash));
            }
        }
        None
    }

    /// Whether a label of a leaf stays disabled whatever is done outside the set.
    #[inline]
    fn is_never(&mut self, tables: &Tables, l: u32, label: u32) -> bool {
        let leaf = &tables.leaves[l as usize];
        if leaf.offers(self.locals[l as usize], label) {
            return false;
        }
        let topic = self.topic(tables, l, label);
        let free = &self.free[leaf.word_base..leaf.word_base + leaf.words];
        self.memo.is_never(tables, topic, free)
    }

    fn add_label(&mut self, tables: &Tables, leaf: u32, label: u32) {
        for &vector in tables.vectors_of(tables.leaves[leaf as usize].base + label as usize) {
            self.add(tables, vector);
        }
    }

    /// Adds what an enabled vector needs to be a member or a key, until the set has this many steps.
    pub(super) fn support(&mut self, tables: &Tables, vector: u32, strength: Strength, limit: u32) {
        while self.size < limit
            && let Some((leaf, label)) = self.clash(tables, vector, strength)
        {
            self.add_label(tables, leaf, label);
        }
    }

    /// Adds what all members need, until the set is valid or has this many steps. Enabled members come first: what they need
    /// is not a matter of choice.
    pub(super) fn close(&mut self, tables: &Tables, limit: u32) -> bool {
        loop {
            if self.size >= limit {
                return false;
            }
            if let Some(vector) = self.hot.pop() {
                self.support(tables, vector, Strength::Weak, limit);
            } else if let Some(vector) = self.cold.pop() {
                self.disable(tables, vector);
            } else {
                return true;
            }
        }
    }

    /// The leaf that keeps a disabled vector disabled whatever is done outside the set. The phantom of a monitor that is
    /// bad already counts as such: there is nothing left to be kept.
    #[inline]
    fn disabling(&mut self, tables: &Tables, vector: u32) -> Option<u32> {
        if tables.is_phantom(vector) {
            let (leaf, label) = tables.parts(vector)[0];
            if tables.leaves[leaf as usize].offers(self.locals[leaf as usize], label) {
                return Some(leaf);
            }
        }
        let mut parts = tables.parts(vector).iter();
        parts.find(|&&(leaf, label)| self.is_never(tables, leaf, label)).map(|&(leaf, _)| leaf)
    }

    /// Adds what makes a disabled vector stay disabled, by the part for which that is cheapest.
    fn disable(&mut self, tables: &Tables, vector: u32) {
        if self.disabling(tables, vector).is_some() {
            return;
        }
        let mut best = (u32::MAX, NONE);
        for &(l, label) in tables.parts(vector) {
            let leaf = &tables.leaves[l as usize];
            if leaf.offers(self.locals[l as usize], label) {
                continue;
            }
            let topic = self.topic(tables, l, label);
            let free = &self.free[leaf.word_base..leaf.word_base + leaf.words];
            let (exits, entries) = self.memo.cuts(tables, topic, free);
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

    /// Says that all members are valid now.
    pub(super) fn set_valid(&mut self) {
        for &vector in &self.members {
            self.valid[vector as usize] = (self.clock, NONE);
        }
    }

    /// Whether a member is one rightly, after others were taken out. Only labels that became free can change that.
    pub(super) fn is_valid(&mut self, tables: &Tables, vector: u32) -> bool {
        let (when, disabling) = self.valid[vector as usize];
        let is_old = |leaf: u32| self.freed[leaf as usize] <= when;
        let unchanged = if disabling == NONE {
            tables.parts(vector).iter().all(|part| is_old(part.0))
        } else {
            is_old(disabling)
        };
        if unchanged {
            return true;
        }
        let disabling = if self.is_enabled(vector) {
            self.clash(tables, vector, Strength::Weak).is_none().then_some(NONE)
        } else {
            self.disabling(tables, vector)
        };
        if let Some(leaf) = disabling {
            self.valid[vector as usize] = (self.clock, leaf);
        }
        disabling.is_some()
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
