//! What one leaf can do without the vectors of the set, remembered.
//!
//! A *view* is a leaf in one of its states with a set of free labels: those that occur in a vector outside the set. It
//! knows which states the leaf can reach by free labels, and answers questions about one label, each worked out once:
//! which free label keeps it from being a member or a key, and which free labels must go so that it stays disabled.
//! Invariant: every answer is a function of leaf, state, free labels and label, so that forgetting all of them changes
//! nothing but time.

use super::Mutant;
use super::tables::{Leaf, Tables, contains};
use crate::base::hash::Map;

/// No view, label or answer.
pub(super) const NONE: u32 = u32::MAX;
/// An answer that was not worked out yet.
const UNKNOWN: u32 = u32::MAX - 1;

/// How strong the commutation of a label with all free ones must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Strength {
    /// It can be moved to the front of any run of free labels that it ends.
    Weak,
    /// And it can be put before any run of free labels, after which it is still enabled.
    Strong,
}

/// Bytes that are remembered before everything is forgotten.
const MOST: usize = if cfg!(test) { 1 << 14 } else { 1 << 26 };

#[derive(Clone, Copy, Debug)]
struct View {
    leaf: u32,
    /// The set of free labels, by its place in `sets`.
    free: u32,
    /// The states that can be reached, in `states`: nearest first, the state itself before all others.
    reached: (u32, u32),
    /// The labels that none of them offers, in `sets`.
    never: u32,
    /// Answers, in `answers`: three for each label.
    answers: u32,
}

/// Views and their answers.
#[derive(Debug, Default)]
pub(super) struct Memo {
    views: Vec<View>,
    states: Vec<u32>,
    sets: Vec<u64>,
    answers: Vec<u32>,
    /// Lists of labels: exits, then entries, each with its length before it.
    cuts: Vec<u32>,
    /// For each leaf the views with all labels free, by state.
    whole: Vec<Vec<u32>>,
    /// For each leaf the numbers of other sets of free labels.
    frees: Vec<Map<Box<[u64]>, u32>>,
    by_key: Vec<Map<u64, u32>>,
    marks: Marks,
    exits: Vec<u32>,
    entries: Vec<u32>,
}

/// A set of states that is emptied in no time.
#[derive(Debug, Default)]
struct Marks {
    stamps: Vec<u32>,
    now: u32,
}

impl Marks {
    fn clear(&mut self, len: usize) {
        self.now = self.now.wrapping_add(1);
        if self.stamps.len() < len || self.now == 0 {
            self.stamps.clear();
            self.stamps.resize(len, 0);
            self.now = 1;
        }
    }

    fn insert(&mut self, state: u32) -> bool {
        std::mem::replace(&mut self.stamps[state as usize], self.now) != self.now
    }

    fn contains(&self, state: u32) -> bool {
        self.stamps[state as usize] == self.now
    }
}

impl Memo {
    pub(super) fn new(tables: &Tables) -> Self {
        let mut memo = Memo::default();
        memo.forget(tables);
        memo
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self, tables: &Tables) {
        self.views.clear();
        self.states.clear();
        self.sets.clear();
        self.answers.clear();
        self.cuts.clear();
        self.whole.clear();
        self.whole.extend(tables.leaves.iter().map(|leaf| vec![NONE; leaf.states()]));
        self.frees = tables.leaves.iter().map(|_| Map::default()).collect();
        self.by_key = self.frees.iter().map(|_| Map::default()).collect();
    }

    pub(super) fn is_full(&self) -> bool {
        let words = self.states.len() + self.answers.len() + self.cuts.len() + 2 * self.sets.len();
        // A key with its place in a map takes about 32 bytes.
        4 * words + (size_of::<View>() + 32) * self.views.len() > MOST
    }

    /// The view of a leaf in a state with a set of free labels.
    #[inline]
    pub(super) fn view(&mut self, leaf: u32, tables: &Leaf, state: u32, free: &[u64]) -> u32 {
        let l = leaf as usize;
        if free == &tables.used[..] {
            let known = self.whole[l][state as usize];
            if known != NONE {
                return known;
            }
            let view = self.make(leaf, tables, state, free);
            self.whole[l][state as usize] = view;
            return view;
        }
        let set = match self.frees[l].get(free) {
            Some(&set) => set,
            None => {
                let set = self.frees[l].len() as u32;
                self.frees[l].insert(free.into(), set);
                set
            }
        };
        let key = u64::from(set) << 32 | u64::from(state);
        if let Some(&view) = self.by_key[l].get(&key) {
            return view;
        }
        let view = self.make(leaf, tables, state, free);
        self.by_key[l].insert(key, view);
        view
    }

    fn make(&mut self, leaf: u32, tables: &Leaf, state: u32, free: &[u64]) -> u32 {
        let (first, set) = (self.states.len(), self.sets.len());
        self.marks.clear(tables.states());
        self.marks.insert(state);
        self.states.push(state);
        self.sets.extend_from_slice(free);
        self.sets.resize(set + 2 * tables.words, u64::MAX);
        let never = set + tables.words;
        let mut next = first;
        while let Some(&state) = self.states.get(next) {
            next += 1;
            for (word, offered) in self.sets[never..].iter_mut().zip(tables.enabled(state)) {
                *word &= !offered;
            }
            for &(label, to) in tables.moves(state) {
                if contains(free, label) && self.marks.insert(to) {
                    self.states.push(to);
                }
            }
        }
        let answers = self.answers.len();
        self.answers.resize(answers + 3 * tables.labels, UNKNOWN);
        self.views.push(View {
            leaf,
            free: set as u32,
            reached: (first as u32, next as u32),
            never: never as u32,
            answers: answers as u32,
        });
        self.views.len() as u32 - 1
    }

    fn free(&self, view: View, leaf: &Leaf) -> &[u64] {
        &self.sets[view.free as usize..view.free as usize + leaf.words]
    }

    fn reached(&self, view: View) -> &[u32] {
        &self.states[view.reached.0 as usize..view.reached.1 as usize]
    }

    /// Whether no state that can be reached offers a label.
    #[inline]
    pub(super) fn is_never(&self, view: u32, label: u32) -> bool {
        let view = self.views[view as usize];
        self.sets[view.never as usize + label as usize / 64] >> (label % 64) & 1 == 1
    }

    /// The first free label, nearest states first, with which a label does not commute; `NONE` if it does with all.
    #[inline]
    pub(super) fn clash(
        &mut self,
        tables: &Tables,
        view: u32,
        label: u32,
        strength: Strength,
        mutant: Mutant,
    ) -> u32 {
        let view = self.views[view as usize];
        let slot = view.answers as usize + 3 * label as usize + usize::from(strength == Strength::Strong);
        let known = self.answers[slot];
        if known != UNKNOWN {
            return known;
        }
        let leaf = &tables.leaves[view.leaf as usize];
        let free = self.free(view, leaf);
        let clash = self.reached(view).iter().find_map(|&state| {
            let moves = leaf.moves(state).iter().filter(|m| contains(free, m.0));
            moves.copied().find(|&m| clashes(leaf, state, m, label, strength, mutant)).map(|m| m.0)
        });
        self.answers[slot] = clash.unwrap_or(NONE);
        clash.unwrap_or(NONE)
    }

    /// Two sets of free labels, each of which must go so that a label that is disabled stays so: those by which the
    /// leaf leaves its state towards the label, and those by which it comes to states that offer it.
    pub(super) fn cuts(&mut self, tables: &Tables, view: u32, label: u32) -> (&[u32], &[u32]) {
        let view = self.views[view as usize];
        let slot = view.answers as usize + 3 * label as usize + 2;
        if self.answers[slot] == UNKNOWN {
            self.work_out_cuts(&tables.leaves[view.leaf as usize], view, label);
            self.answers[slot] = self.cuts.len() as u32;
            for list in [&self.exits, &self.entries] {
                self.cuts.push(list.len() as u32);
                self.cuts.extend_from_slice(list);
            }
        }
        let at = self.answers[slot] as usize;
        let exits = self.cuts[at] as usize;
        let entries = self.cuts[at + 1 + exits] as usize;
        (&self.cuts[at + 1..][..exits], &self.cuts[at + 2 + exits..][..entries])
    }

    fn work_out_cuts(&mut self, leaf: &Leaf, view: View, label: u32) {
        let (mut exits, mut entries) = (std::mem::take(&mut self.exits), std::mem::take(&mut self.entries));
        exits.clear();
        entries.clear();
        let (free, reached) = (
            &self.sets[view.free as usize..view.free as usize + leaf.words],
            &self.states[view.reached.0 as usize..view.reached.1 as usize],
        );
        // The states from which the label comes into reach, by going round until nothing changes: the lists are short.
        self.marks.clear(leaf.states());
        let mut changed = true;
        while changed {
            changed = false;
            for &state in reached.iter().rev().filter(|&&state| !leaf.offers(state, label)) {
                if self.marks.contains(state) {
                    continue;
                }
                let leads = |&&(by, to): &&(u32, u32)| {
                    contains(free, by) && (leaf.offers(to, label) || self.marks.contains(to))
                };
                if leaf.moves(state).iter().any(|m| leads(&m)) {
                    self.marks.insert(state);
                    changed = true;
                }
            }
        }
        let start = reached[0];
        for &(by, to) in leaf.moves(start).iter().filter(|m| contains(free, m.0)) {
            if leaf.offers(to, label) || self.marks.contains(to) {
                exits.push(by);
            }
        }
        for &state in reached.iter().filter(|&&state| !leaf.offers(state, label)) {
            let into = leaf.moves(state).iter().filter(|m| contains(free, m.0) && leaf.offers(m.1, label));
            entries.extend(into.map(|m| m.0));
        }
        for list in [&mut exits, &mut entries] {
            list.sort_unstable();
            list.dedup();
        }
        self.exits = exits;
        self.entries = entries;
    }
}

/// Whether a label does not commute with a move of a state.
fn clashes(leaf: &Leaf, state: u32, (by, to): (u32, u32), label: u32, strength: Strength, mutant: Mutant) -> bool {
    let rejoins = |from: u32, by: u32, end: u32| {
        let moves = leaf.with(from, by);
        if mutant == Mutant::NoRejoin { !moves.is_empty() } else { moves.iter().any(|m| m.1 == end) }
    };
    let weak = || {
        let mut ends = leaf.with(to, label).iter();
        ends.any(|&(_, end)| !leaf.with(state, label).iter().any(|&(_, first)| rejoins(first, by, end)))
    };
    let strong = || {
        let mut firsts = leaf.with(state, label).iter();
        firsts.any(|&(_, first)| !leaf.with(to, label).iter().any(|&(_, end)| rejoins(first, by, end)))
    };
    let check_weak = mutant != Mutant::NoWeakCheck;
    let check_strong = strength == Strength::Strong && mutant != Mutant::WeakKey;
    (check_weak && weak()) || (check_strong && strong())
}
