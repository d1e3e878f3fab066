//! A set of vectors at one state, and how it is closed.
//!
//! Invariant: `counts` and `free` say at all times what `members` say: how many vectors of a label are not in the set and
//! how many of these are enabled, and which labels have any.

use super::Mutant;
use super::memo::{Memo, NONE, Strength};
use super::tables::{Part, Tables};

/// How many vectors of a label are not in a set, and how many of these are enabled.
#[derive(Clone, Copy, Default, Debug)]
struct Count {
    outside: u32,
    warm: u32,
}

/// What an enabled vector costs that a closure would have to add, where a disabled one costs 1.
const ENABLED: u32 = 1000;

/// What a question about a leaf costs whose answer is known, in moves looked at.
const QUESTION: u64 = 3;

/// A set of vectors at one state.
#[derive(Debug)]
pub(super) struct Closure {
    pub(super) memo: Memo,
    mutant: Mutant,
    pub(super) locals: Vec<u32>,
    /// The labels that leaves offer in these states, word by word.
    offered: Vec<u64>,
    /// The enabled vectors, ascending.
    pub(super) enabled: Vec<u32>,
    /// For each vector how many steps it has.
    pub(super) steps: Vec<u32>,
    pub(super) contains: Vec<bool>,
    pub(super) members: Vec<u32>,
    /// Steps of the members.
    pub(super) size: u32,
    counts: Vec<Count>,
    free: Vec<u64>,
    /// The same of the empty set in this state: going back to it is a copy.
    empty_counts: Vec<Count>,
    empty_free: Vec<u64>,
    /// For each label the number of the visit that found its topic, and the topic.
    topics: Vec<(u32, u32)>,
    visit: u32,
    /// Counts the labels that become free; for each leaf when one of its labels last did.
    clock: u32,
    freed: Vec<u32>,
    /// Leaves with labels that became free and whose vectors were not looked at since.
    fresh: Vec<u32>,
    is_fresh: Vec<bool>,
    /// For each vector when it was last seen to be valid, and the leaf that keeps it disabled.
    valid: Vec<(u32, u32)>,
    /// Members that are not looked at yet.
    hot: Vec<u32>,
    cold: Vec<u32>,
    chosen: Vec<u32>,
    /// What was done besides asking what a leaf can do, in the same units.
    work: u64,
}

impl Closure {
    pub(super) fn new(tables: &Tables, room: u64, mutant: Mutant) -> Self {
        let count = |label| Count { outside: tables.vectors_of(label).len() as u32, warm: 0 };
        let counts: Vec<Count> = (0..tables.labels).map(count).collect();
        let free: Vec<u64> = tables.leaves.iter().flat_map(|leaf| leaf.used.iter().copied()).collect();
        Closure {
            memo: Memo::new(tables, room),
            mutant,
            locals: vec![0; tables.leaves.len()],
            offered: vec![0; free.len()],
            enabled: Vec::new(),
            steps: vec![0; tables.vectors],
            contains: vec![false; tables.vectors],
            members: Vec::new(),
            size: 0,
            empty_counts: counts.clone(),
            counts,
            empty_free: free.clone(),
            free,
            topics: vec![(0, 0); tables.labels],
            visit: 0,
            clock: 0,
            freed: vec![0; tables.leaves.len()],
            fresh: Vec::new(),
            is_fresh: vec![false; tables.leaves.len()],
            valid: vec![(0, NONE); tables.vectors],
            hot: Vec::new(),
            cold: Vec::new(),
            chosen: Vec::new(),
            work: 0,
        }
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        let labels = self.counts.len() * (2 * size_of::<Count>() + 8) + 16 * self.free.len();
        self.memo.bytes() + (labels + 32 * self.steps.len()) as u64
    }

    /// What was done so far, in units that take about the same time.
    pub(super) fn work(&self) -> u64 {
        self.work + self.memo.work()
    }

    /// Counts vectors that are looked at only to see whether they are members.
    pub(super) fn look_through(&mut self, vectors: usize) {
        self.work += vectors as u64 / 2;
    }

    /// Goes to another state, whose local states are in `locals`; `vias` are the vectors of its steps.
    pub(super) fn visit(&mut self, tables: &Tables, vias: impl Iterator<Item = u32>) {
        self.visit = self.visit.wrapping_add(1);
        self.work += self.locals.len() as u64;
        if self.visit == 0 {
            self.topics.fill((0, 0));
            self.visit = 1;
        }
        for (leaf, &local) in tables.leaves.iter().zip(&self.locals) {
            self.offered[leaf.word_base..leaf.word_base + leaf.words].copy_from_slice(leaf.enabled(local));
        }
        for v in vias {
            self.steps[v as usize] += 1;
            if self.steps[v as usize] == 1 {
                self.enabled.push(v);
                for part in tables.parts(v) {
                    self.counts[part.slot as usize].warm += 1;
                    self.empty_counts[part.slot as usize].warm += 1;
                }
            }
        }
        self.enabled.sort_unstable();
    }

    /// Leaves the state.
    pub(super) fn leave(&mut self, tables: &Tables) {
        self.empty();
        for &v in &self.enabled {
            self.steps[v as usize] = 0;
            for part in tables.parts(v) {
                self.counts[part.slot as usize].warm = 0;
                self.empty_counts[part.slot as usize].warm = 0;
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
        self.work += 1 + tables.parts(vector).len() as u64;
        let steps = self.steps[vector as usize];
        self.size += steps;
        for part in tables.parts(vector) {
            let count = &mut self.counts[part.slot as usize];
            count.outside -= 1;
            count.warm -= u32::from(steps > 0);
            if count.outside == 0 {
                self.free[part.word as usize] &= !part.mask;
            }
        }
    }

    /// Takes a vector out; the caller then removes it from the members, or puts it back.
    pub(super) fn take(&mut self, tables: &Tables, vector: u32) {
        self.contains[vector as usize] = false;
        self.work += 1 + tables.parts(vector).len() as u64;
        let steps = self.steps[vector as usize];
        self.size -= steps;
        for part in tables.parts(vector) {
            let count = &mut self.counts[part.slot as usize];
            count.outside += 1;
            count.warm += u32::from(steps > 0);
            if count.outside == 1 {
                self.free[part.word as usize] |= part.mask;
                self.clock += 1;
                self.freed[part.leaf as usize] = self.clock;
                if !std::mem::replace(&mut self.is_fresh[part.leaf as usize], true) {
                    self.fresh.push(part.leaf);
                }
            }
        }
    }

    /// The next leaf whose vectors must be looked at after others were taken out.
    pub(super) fn next_fresh(&mut self) -> Option<u32> {
        let leaf = self.fresh.pop()?;
        self.is_fresh[leaf as usize] = false;
        Some(leaf)
    }

    /// Makes all vectors members.
    pub(super) fn fill(&mut self, tables: &Tables) {
        self.members.clear();
        self.work += tables.vectors as u64 / 4;
        self.members.extend(0..tables.vectors as u32);
        self.size = self.enabled.iter().map(|&v| self.steps[v as usize]).sum();
        self.contains.fill(true);
        self.counts.fill(Count::default());
        self.free.fill(0);
    }

    /// Takes out all members.
    pub(super) fn empty(&mut self) {
        if !self.members.is_empty() {
            self.members.clear();
            self.size = 0;
            self.work += (self.counts.len() + self.contains.len() / 4) as u64 / 4;
            self.contains.fill(false);
            self.counts.copy_from_slice(&self.empty_counts);
            self.free.copy_from_slice(&self.empty_free);
        }
        self.hot.clear();
        self.cold.clear();
    }

    /// Takes out all but the first members.
    pub(super) fn shrink(&mut self, tables: &Tables, len: usize) {
        if len == 0 {
            return self.empty();
        }
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
    fn topic(&mut self, tables: &Tables, part: &Part) -> u32 {
        let known = &mut self.topics[part.slot as usize];
        if known.0 != self.visit {
            let topic = self.memo.topic(tables, part.leaf, self.locals[part.leaf as usize], part.label);
            *known = (self.visit, topic);
        }
        known.1
    }

    /// The first free label that an enabled vector does not commute with, and its leaf.
    #[inline]
    fn clash(&mut self, tables: &Tables, vector: u32, strength: Strength) -> Option<(u32, u32)> {
        for part in tables.parts(vector) {
            let topic = self.topic(tables, part);
            let leaf = &tables.leaves[part.leaf as usize];
            self.work += QUESTION;
            let free = &self.free[leaf.word_base..leaf.word_base + leaf.words];
            let clash = self.memo.clash(tables, topic, free, strength, self.mutant);
            if clash != NONE {
                return Some((part.leaf, clash));
            }
        }
        None
    }

    /// Whether a label of a leaf stays disabled under all steps outside the set.
    #[inline]
    fn is_never(&mut self, tables: &Tables, part: &Part) -> bool {
        // A phantom's label has no bit: its caller has seen that it is not offered.
        if self.offered[part.word as usize] & part.mask != 0 {
            return false;
        }
        let topic = self.topic(tables, part);
        self.work += QUESTION;
        let leaf = &tables.leaves[part.leaf as usize];
        let free = &self.free[leaf.word_base..leaf.word_base + leaf.words];
        self.memo.is_never(tables, topic, free)
    }

    fn add_label(&mut self, tables: &Tables, leaf: u32, label: u32) {
        for &vector in tables.vectors_of(tables.leaves[leaf as usize].base + label as usize) {
            self.add(tables, vector);
        }
    }

    /// Adds what an enabled vector needs to be a member or a key, until the set has this many steps. What is added for one
    /// part gets in the way of no other: all conditions get easier as the set grows.
    pub(super) fn support(&mut self, tables: &Tables, vector: u32, strength: Strength, limit: u32) {
        for part in tables.parts(vector) {
            let topic = self.topic(tables, part);
            let leaf = &tables.leaves[part.leaf as usize];
            while self.size < limit {
                self.work += QUESTION;
                let free = &self.free[leaf.word_base..leaf.word_base + leaf.words];
                let clash = self.memo.clash(tables, topic, free, strength, self.mutant);
                if clash == NONE {
                    break;
                }
                self.add_label(tables, part.leaf, clash);
            }
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

    /// The leaf that keeps a disabled vector disabled under all steps outside the set. The phantom of a monitor that is bad
    /// already counts as such: there is nothing left to be kept.
    #[inline]
    fn disabling(&mut self, tables: &Tables, vector: u32) -> Option<u32> {
        if tables.is_phantom(vector) {
            let part = &tables.parts(vector)[0];
            if tables.leaves[part.leaf as usize].offers(self.locals[part.leaf as usize], part.label) {
                return Some(part.leaf);
            }
        }
        let mut parts = tables.parts(vector).iter();
        parts.find(|part| self.is_never(tables, part)).map(|part| part.leaf)
    }

    /// Adds what makes a disabled vector stay disabled, by the part for which that is cheapest.
    fn disable(&mut self, tables: &Tables, vector: u32) {
        if self.disabling(tables, vector).is_some() {
            return;
        }
        let mut best = (u32::MAX, NONE);
        for part in tables.parts(vector) {
            let leaf = &tables.leaves[part.leaf as usize];
            if leaf.offers(self.locals[part.leaf as usize], part.label) {
                continue;
            }
            let topic = self.topic(tables, part);
            self.work += 2 * QUESTION;
            let free = &self.free[leaf.word_base..leaf.word_base + leaf.words];
            let (exits, entries) = self.memo.cuts(tables, topic, free);
            for cut in [exits, entries] {
                let cost = |&label: &u32| {
                    let Count { outside, warm } = self.counts[leaf.base + label as usize];
                    outside + (ENABLED - 1) * warm
                };
                let cost = cut.iter().map(cost).fold(0, u32::saturating_add);
                if cost < best.0 {
                    best = (cost, part.leaf);
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
        while self.next_fresh().is_some() {}
        self.work += self.members.len() as u64;
        for &vector in &self.members {
            self.valid[vector as usize] = (self.clock, NONE);
        }
    }

    /// Whether a member still belongs to the set after others were taken out. Only labels that became free can change that.
    pub(super) fn is_valid(&mut self, tables: &Tables, vector: u32) -> bool {
        let (when, disabling) = self.valid[vector as usize];
        self.work += 1;
        let is_old = |leaf: u32| self.freed[leaf as usize] <= when;
        let unchanged = if disabling == NONE {
            tables.parts(vector).iter().all(|part| is_old(part.leaf))
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

    /// Whether an enabled member is a key: it stays enabled under all steps outside the set, and commutes with them.
    pub(super) fn is_key(&mut self, tables: &Tables, vector: u32) -> bool {
        self.clash(tables, vector, Strength::Strong).is_none()
    }

    /// Whether a step of a vector raises the potential: a key is put before any run whichever of its steps is taken.
    pub(super) fn rises(&self, tables: &Tables, vector: u32) -> bool {
        let gain = |part: &Part| {
            let leaf = &tables.leaves[part.leaf as usize];
            let from = self.locals[part.leaf as usize];
            let to = leaf.with(from, part.label).iter().map(|m| leaf.potential[m.1 as usize]).max();
            to.unwrap_or(0) - leaf.potential[from as usize]
        };
        let gain: i64 = tables.parts(vector).iter().map(gain).sum();
        gain > 0 || (self.mutant == Mutant::LazyPotential && gain == 0)
    }
}
