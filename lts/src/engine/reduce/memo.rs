//! What one leaf can do without the vectors of the set, remembered.
//!
//! A question is about a leaf in one of its states, one of its labels, and the *free* labels: those that occur in a vector
//! outside the set. Answers are shared between sets of free labels: what holds for some free labels holds for fewer, so
//! a set for which a label was seen to commute, or to stay disabled, settles all its subsets, and a path to a state that
//! offers the label settles all sets that contain the path.
//!
//! Invariant: every answer is a function of the question, so that forgetting all of them changes nothing but time.

use super::Mutant;
use super::tables::{Leaf, Tables, contains};
use crate::base::hash::Map;

/// No label, or an answer that was not worked out yet.
pub(super) const NONE: u32 = u32::MAX;

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

/// What is known about a leaf in a state and one of its labels. Sets are places in [`Memo::sets`].
#[derive(Clone, Copy, Debug)]
struct Topic {
    leaf: u32,
    state: u32,
    label: u32,
    /// The labels by which the leaf can leave the state and with which the label does not commute there, weak and strong.
    clashing: [u32; 2],
    /// Free labels of which none, here or wherever they lead, clashes.
    peaceful: [u32; 2],
    /// Free labels that lead to no state that offers the label.
    never: u32,
    /// The labels of a path to one that does.
    path: u32,
}

/// Kinds of questions whose answers are remembered together with the free labels: clashes, weak and strong, cuts, and
/// whether a label stays disabled.
const KINDS: u64 = 4;
const CUTS: u64 = 2;
const NEVER: u64 = 3;

/// Topics are found by their place as long as there are no more places than this, and by hashing else.
const PLACES: u64 = if cfg!(test) { 100 } else { 1 << 22 };

/// Answers.
#[derive(Debug, Default)]
pub(super) struct Memo {
    topics: Vec<Topic>,
    /// By leaf, state and label: all of them, or those that were asked for.
    places: Vec<u32>,
    far_places: Map<u64, u32>,
    sets: Vec<u64>,
    /// By topic, kind and a hash of the free labels: the free labels and the answer.
    exact: Map<u64, (u32, u32)>,
    /// Lists of labels: exits, then entries, each with its length before it.
    cuts: Vec<u32>,
    walk: Walk,
    exits: Vec<u32>,
    entries: Vec<u32>,
}

/// States in the order in which they are reached.
#[derive(Debug, Default)]
struct Walk {
    states: Vec<u32>,
    /// For each of them from which one it was reached, and by which label.
    from: Vec<(u32, u32)>,
    stamps: Vec<u32>,
    now: u32,
}

impl Walk {
    fn begin(&mut self, leaf: &Leaf, state: u32) {
        self.clear_marks(leaf.states());
        self.states.clear();
        self.from.clear();
        self.reach(state, 0, NONE);
    }

    fn clear_marks(&mut self, len: usize) {
        self.now = self.now.wrapping_add(1);
        if self.stamps.len() < len || self.now == 0 {
            self.stamps.clear();
            self.stamps.resize(len, 0);
            self.now = 1;
        }
    }

    fn reach(&mut self, state: u32, from: u32, by: u32) {
        if self.mark(state) {
            self.states.push(state);
            self.from.push((from, by));
        }
    }

    fn mark(&mut self, state: u32) -> bool {
        std::mem::replace(&mut self.stamps[state as usize], self.now) != self.now
    }

    fn is_marked(&self, state: u32) -> bool {
        self.stamps[state as usize] == self.now
    }

    /// Reaches what the k-th state leads to.
    fn step(&mut self, leaf: &Leaf, k: usize, free: &[u64]) {
        for &(label, to) in leaf.moves(self.states[k]) {
            if contains(free, label) {
                self.reach(to, k as u32, label);
            }
        }
    }
}

/// The first label that is in two sets.
#[inline]
fn first_common(one: &[u64], other: &[u64]) -> Option<u32> {
    let common = one.iter().zip(other).map(|(a, b)| a & b);
    common.enumerate().find(|(_, word)| *word != 0).map(|(k, word)| k as u32 * 64 + word.trailing_zeros())
}

#[inline]
fn is_subset(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).all(|(a, b)| a & !b == 0)
}

impl Memo {
    pub(super) fn new(tables: &Tables) -> Self {
        let places = Some(tables.places).filter(|&places| places <= PLACES).unwrap_or(0);
        Memo { places: vec![NONE; places as usize], ..Memo::default() }
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        self.topics.clear();
        self.places.fill(NONE);
        self.far_places.clear();
        self.sets.clear();
        self.exact.clear();
        self.cuts.clear();
    }

    pub(super) fn is_full(&self) -> bool {
        // A key with its place in a map takes about 32 bytes.
        let entries = self.topics.len() * (size_of::<Topic>() + 32) + self.exact.len() * 32;
        8 * self.sets.len() + 4 * self.cuts.len() + entries > MOST
    }

    /// The topic of a leaf in a state and a label.
    #[inline]
    pub(super) fn topic(&mut self, tables: &Tables, leaf: u32, state: u32, label: u32) -> u32 {
        let place = tables.leaves[leaf as usize].place(state, label);
        let next = self.topics.len() as u32;
        let known = match self.places.get_mut(place as usize) {
            Some(known) => known,
            None => self.far_places.entry(place).or_insert(NONE),
        };
        if *known == NONE {
            *known = next;
            let (clashing, peaceful) = ([NONE; 2], [NONE; 2]);
            self.topics.push(Topic { leaf, state, label, clashing, peaceful, never: NONE, path: NONE });
            return next;
        }
        *known
    }

    fn set(&self, leaf: &Leaf, at: u32) -> &[u64] {
        &self.sets[at as usize..at as usize + leaf.words]
    }

    fn add_set(&mut self, set: &[u64]) -> u32 {
        let at = self.sets.len() as u32;
        self.sets.extend_from_slice(set);
        at
    }

    /// The first free label, nearest states first, with which a label does not commute; `NONE` if it does with all.
    #[inline]
    pub(super) fn clash(
        &mut self,
        tables: &Tables,
        topic: u32,
        free: &[u64],
        strength: Strength,
        mutant: Mutant,
    ) -> u32 {
        let kind = usize::from(strength == Strength::Strong);
        let about = self.topics[topic as usize];
        let leaf = &tables.leaves[about.leaf as usize];
        let clashing = match about.clashing[kind] {
            NONE => self.work_out_clashing(leaf, topic, strength, mutant),
            known => known,
        };
        if let Some(label) = first_common(self.set(leaf, clashing), free) {
            return label;
        }
        let peaceful = about.peaceful[kind];
        if peaceful != NONE && is_subset(free, self.set(leaf, peaceful)) {
            return NONE;
        }
        self.distant_clash(tables, topic, free, strength, mutant)
    }

    /// The same where nothing clashes in the state itself.
    fn distant_clash(
        &mut self,
        tables: &Tables,
        topic: u32,
        free: &[u64],
        strength: Strength,
        mutant: Mutant,
    ) -> u32 {
        let kind = usize::from(strength == Strength::Strong);
        if let Some(answer) = self.known(tables, topic, kind as u64, free) {
            return answer;
        }
        let Topic { leaf: l, state, label, .. } = self.topics[topic as usize];
        let leaf = &tables.leaves[l as usize];
        let mut walk = std::mem::take(&mut self.walk);
        walk.begin(leaf, state);
        walk.step(leaf, 0, free);
        let (mut k, mut answer) = (1, NONE);
        while k < walk.states.len() && answer == NONE {
            let there = self.topic(tables, l, walk.states[k], label);
            let clashing = match self.topics[there as usize].clashing[kind] {
                NONE => self.work_out_clashing(leaf, there, strength, mutant),
                known => known,
            };
            answer = first_common(self.set(leaf, clashing), free).unwrap_or(NONE);
            walk.step(leaf, k, free);
            k += 1;
        }
        self.walk = walk;
        if answer == NONE && self.topics[topic as usize].peaceful[kind] == NONE {
            self.topics[topic as usize].peaceful[kind] = self.add_set(free);
        } else {
            self.remember(topic, kind as u64, free, answer);
        }
        answer
    }

    #[cold]
    fn work_out_clashing(&mut self, leaf: &Leaf, topic: u32, strength: Strength, mutant: Mutant) -> u32 {
        let Topic { state, label, .. } = self.topics[topic as usize];
        let at = self.sets.len();
        self.sets.resize(at + leaf.words, 0);
        for &(by, to) in leaf.moves(state) {
            if clashes(leaf, state, (by, to), label, strength, mutant) {
                self.sets[at + by as usize / 64] |= 1 << (by % 64);
            }
        }
        self.topics[topic as usize].clashing[usize::from(strength == Strength::Strong)] = at as u32;
        at as u32
    }

    /// Whether a label that the state does not offer stays disabled while only free labels are taken.
    #[inline]
    pub(super) fn is_never(&mut self, tables: &Tables, topic: u32, free: &[u64]) -> bool {
        let about = self.topics[topic as usize];
        let leaf = &tables.leaves[about.leaf as usize];
        if about.never != NONE && is_subset(free, self.set(leaf, about.never)) {
            return true;
        }
        if about.path != NONE && is_subset(self.set(leaf, about.path), free) {
            return false;
        }
        match self.known(tables, topic, NEVER, free) {
            Some(answer) => answer == 1,
            None => self.search(leaf, topic, free),
        }
    }

    fn search(&mut self, leaf: &Leaf, topic: u32, free: &[u64]) -> bool {
        let Topic { state, label, never: old_never, path: old_path, .. } = self.topics[topic as usize];
        let mut walk = std::mem::take(&mut self.walk);
        walk.begin(leaf, state);
        let mut k = 0;
        while k < walk.states.len() && !leaf.offers(walk.states[k], label) {
            walk.step(leaf, k, free);
            k += 1;
        }
        let never = k == walk.states.len();
        if if never { old_never } else { old_path } != NONE {
            self.remember(topic, NEVER, free, u32::from(never));
        } else if never {
            self.topics[topic as usize].never = self.add_set(free);
        } else {
            let at = self.sets.len();
            self.sets.resize(at + leaf.words, 0);
            while k > 0 {
                let (from, by) = walk.from[k];
                self.sets[at + by as usize / 64] |= 1 << (by % 64);
                k = from as usize;
            }
            self.topics[topic as usize].path = at as u32;
        }
        self.walk = walk;
        never
    }

    fn key(topic: u32, kind: u64, free: &[u64]) -> u64 {
        let start = u64::from(topic) * KINDS + kind;
        // The map looks at the low bits, and those of a product know nothing of the high bits of its factors.
        free.iter().fold(start, |sum, &word| {
            let product = (sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            product ^ (product >> 32)
        })
    }

    fn known(&self, tables: &Tables, topic: u32, kind: u64, free: &[u64]) -> Option<u32> {
        let &(at, answer) = self.exact.get(&Self::key(topic, kind, free))?;
        let leaf = &tables.leaves[self.topics[topic as usize].leaf as usize];
        // Two questions may have one key; the set begins with what is asked.
        let asked = u64::from(topic) * KINDS + kind;
        let same = self.sets[at as usize] == asked && self.set(leaf, at + 1) == free;
        same.then_some(answer)
    }

    fn remember(&mut self, topic: u32, kind: u64, free: &[u64], answer: u32) {
        let at = self.add_set(&[u64::from(topic) * KINDS + kind]);
        self.add_set(free);
        self.exact.insert(Self::key(topic, kind, free), (at, answer));
    }

    /// Two sets of free labels, each of which must go so that a label that is disabled stays so: those by which the
    /// leaf leaves its state towards the label, and those by which it comes to states that offer it.
    pub(super) fn cuts(&mut self, tables: &Tables, topic: u32, free: &[u64]) -> (&[u32], &[u32]) {
        let at = match self.known(tables, topic, CUTS, free) {
            Some(at) => at as usize,
            None => {
                let Topic { leaf, state, label, .. } = self.topics[topic as usize];
                self.work_out_cuts(&tables.leaves[leaf as usize], state, label, free);
                let at = self.cuts.len();
                for list in [&self.exits, &self.entries] {
                    self.cuts.push(list.len() as u32);
                    self.cuts.extend_from_slice(list);
                }
                self.remember(topic, CUTS, free, at as u32);
                at
            }
        };
        let exits = self.cuts[at] as usize;
        let entries = self.cuts[at + 1 + exits] as usize;
        (&self.cuts[at + 1..][..exits], &self.cuts[at + 2 + exits..][..entries])
    }

    fn work_out_cuts(&mut self, leaf: &Leaf, state: u32, label: u32, free: &[u64]) {
        let (walk, exits, entries) = (&mut self.walk, &mut self.exits, &mut self.entries);
        exits.clear();
        entries.clear();
        walk.begin(leaf, state);
        let mut k = 0;
        while k < walk.states.len() {
            let state = walk.states[k];
            if !leaf.offers(state, label) {
                let moves = leaf.moves(state).iter().filter(|m| contains(free, m.0));
                entries.extend(moves.filter(|m| leaf.offers(m.1, label)).map(|m| m.0));
                walk.step(leaf, k, free);
            }
            k += 1;
        }
        // The states from which the label comes into reach, by going round until nothing changes; going from the far end
        // settles most of them the first time.
        walk.clear_marks(leaf.states());
        for &state in walk.states.iter().filter(|&&state| leaf.offers(state, label)) {
            walk.stamps[state as usize] = walk.now;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for k in (0..walk.states.len()).rev() {
                let state = walk.states[k];
                let leads = |m: &(u32, u32)| contains(free, m.0) && walk.is_marked(m.1);
                if !walk.is_marked(state) && leaf.moves(state).iter().any(leads) {
                    walk.mark(state);
                    changed = true;
                }
            }
        }
        let towards = |m: &&(u32, u32)| contains(free, m.0) && walk.is_marked(m.1) && m.1 != state;
        exits.extend(leaf.moves(state).iter().filter(towards).map(|m| m.0));
        for list in [exits, entries] {
            list.sort_unstable();
            list.dedup();
        }
    }
}

/// Whether a label does not commute with a move of a state.
fn clashes(
    leaf: &Leaf,
    state: u32,
    (by, to): (u32, u32),
    label: u32,
    strength: Strength,
    mutant: Mutant,
) -> bool {
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
