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

/// Bytes that are remembered before everything is forgotten, if there is as much memory.
pub(crate) const MOST: u64 = if cfg!(test) { 1 << 14 } else { 1 << 26 };

/// A set of labels: itself if a word is enough, else its place in [`Memo::sets`].
type SetRef = u64;

/// What settles a question for many sets of free labels, two kinds of clashes first (weak, strong): free labels of which
/// none clashes, here or where they lead; free labels that lead to no state that offers the label; the labels of a path to
/// one that does.
const NO_PATH: usize = 2;
const PATH: usize = 3;
/// Witnesses of a kind that a topic has at most.
const WITNESSES: usize = 3;

/// What is known about a leaf in a state and one of its labels.
#[derive(Clone, Debug)]
struct Topic {
    leaf: u32,
    state: u32,
    label: u32,
    /// Whether the clashing labels are known, weak and strong.
    worked_out: [bool; 2],
    /// How many witnesses of each kind there are.
    had: [u8; 4],
    /// The labels by which the leaf can leave the state and with which the label does not commute there, weak and strong.
    clashing: [SetRef; 2],
    witnesses: [[SetRef; WITNESSES]; 4],
    /// For each kind of question the free labels of the one whose answer was last looked up, and the answer: neighbours
    /// among the states ask the same.
    last: [Option<(SetRef, u32)>; KINDS],
}

/// Kinds of questions whose answers are remembered together with the free labels: clashes, weak and strong, cuts, and
/// whether a label stays disabled.
const KINDS: usize = 4;
const CUTS: usize = 2;
const NEVER: usize = 3;

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
    /// By topic, kind and the free labels, or a hash of them and their place: the answer.
    exact: Map<(u64, u64), (u32, u32)>,
    /// Lists of labels: exits, then entries, each with its length before it.
    cuts: Vec<u32>,
    walk: Walk,
    exits: Vec<u32>,
    entries: Vec<u32>,
    scratch: Vec<u64>,
    /// What was done so far, in moves looked at or as much: [`work`](Self::work).
    work: u64,
}

/// What it costs to keep something new, in moves looked at.
const KEEPING: u64 = 16;
/// What it costs to see whether a label commutes with a move.
const COMMUTING: u64 = 8;

/// States in the order in which they are reached.
#[derive(Debug, Default)]
struct Walk {
    states: Vec<u32>,
    /// For each of them from which one it was reached, and by which label.
    from: Vec<(u32, u32)>,
    stamps: Vec<u32>,
    now: u32,
    /// Moves that were looked at since this was last taken.
    seen: u64,
}

impl Walk {
    fn begin(&mut self, leaf: &Leaf, state: u32) {
        self.clear_marks(leaf.states());
        self.states.clear();
        self.from.clear();
        self.seen += 4;
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

    /// Takes those labels out of a set that lead from the states to others: with the rest free, the states would be the same.
    fn stay(&mut self, leaf: &Leaf, set: &mut [u64]) {
        for &state in &self.states {
            self.seen += 1 + leaf.moves(state).len() as u64;
            for &(label, to) in leaf.moves(state) {
                if !self.is_marked(to) {
                    set[label as usize / 64] &= !(1 << (label % 64));
                }
            }
        }
    }

    /// Reaches what the k-th state leads to.
    fn step(&mut self, leaf: &Leaf, k: usize, free: &[u64]) {
        self.seen += 2 + leaf.moves(self.states[k]).len() as u64;
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
    let other = &other[..one.len()];
    for k in 0..one.len() {
        let common = one[k] & other[k];
        if common != 0 {
            return Some(k as u32 * 64 + common.trailing_zeros());
        }
    }
    None
}

#[inline]
fn is_subset(one: &[u64], other: &[u64]) -> bool {
    let other = &other[..one.len()];
    (0..one.len()).all(|k| one[k] & !other[k] == 0)
}

impl Memo {
    /// `room`: bytes that may be in use about.
    pub(super) fn new(tables: &Tables, room: u64) -> Self {
        let places = Some(tables.places).filter(|&places| places <= PLACES.min(room / 16)).unwrap_or(0);
        Memo { places: vec![NONE; places as usize], ..Memo::default() }
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        let (mut places, walk) = (std::mem::take(&mut self.places), std::mem::take(&mut self.walk));
        places.fill(NONE);
        *self = Memo { places, walk, work: self.work, ..Memo::default() };
    }

    /// What was done so far, in units that take about the same time: a function of the questions and their order.
    pub(super) fn work(&self) -> u64 {
        self.work + self.walk.seen
    }

    /// Bytes that are in use, about.
    pub(super) fn bytes(&self) -> u64 {
        self.forgettable() + 4 * self.places.len() as u64
    }

    /// Bytes of what can be forgotten, about.
    pub(super) fn forgettable(&self) -> u64 {
        // Of eight places of a map seven are used.
        let far = self.far_places.capacity() * (size_of::<(u64, u32)>() + 1) * 8 / 7;
        let exact = self.exact.capacity() * (size_of::<((u64, u64), (u32, u32))>() + 1) * 8 / 7;
        let topics = self.topics.capacity() * size_of::<Topic>();
        (topics + 8 * self.sets.capacity() + 4 * self.cuts.capacity() + far + exact) as u64
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
            self.work += KEEPING;
            self.topics.push(Topic {
                leaf,
                state,
                label,
                worked_out: [false; 2],
                had: [0; 4],
                clashing: [0; 2],
                witnesses: [[0; WITNESSES]; 4],
                last: [None; KINDS],
            });
            return next;
        }
        *known
    }

    #[inline]
    fn set<'a>(&'a self, leaf: &Leaf, place: &'a SetRef) -> &'a [u64] {
        if leaf.words == 1 {
            return std::slice::from_ref(place);
        }
        &self.sets[*place as usize..*place as usize + leaf.words]
    }

    fn add_set(&mut self, set: &[u64]) -> SetRef {
        if let &[word] = set {
            return word;
        }
        let at = self.sets.len() as u64;
        self.sets.extend_from_slice(set);
        at
    }

    /// Whether some witness settles a question.
    #[inline]
    fn is_witnessed(&self, leaf: &Leaf, about: &Topic, kind: usize, free: &[u64]) -> bool {
        let had = usize::from(about.had[kind]).min(WITNESSES);
        about.witnesses[kind][..had].iter().any(|place| match kind {
            PATH => is_subset(self.set(leaf, place), free),
            _ => is_subset(free, self.set(leaf, place)),
        })
    }

    /// Keeps a witness, in the place of the oldest one if there are enough: questions that come soon are like this one.
    /// False if one was given up for it.
    fn add_witness(&mut self, topic: u32, kind: usize, set: &[u64]) -> bool {
        let had = self.topics[topic as usize].had[kind];
        let at = usize::from(had) % WITNESSES;
        let room = usize::from(had) < WITNESSES;
        let place = match self.topics[topic as usize].witnesses[kind][at] {
            old if !room && set.len() > 1 => {
                self.sets[old as usize..old as usize + set.len()].copy_from_slice(set);
                old
            }
            _ => self.add_set(set),
        };
        let topic = &mut self.topics[topic as usize];
        topic.witnesses[kind][at] = place;
        // Beyond the number of witnesses only the remainder counts.
        topic.had[kind] = if usize::from(had) + 1 < 2 * WITNESSES { had + 1 } else { WITNESSES as u8 };
        room
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
        let kind = strength as usize;
        let leaf = &tables.leaves[self.topics[topic as usize].leaf as usize];
        if !self.topics[topic as usize].worked_out[kind] {
            self.work_out_clashing(leaf, topic, strength, mutant);
        }
        let about = &self.topics[topic as usize];
        if let Some(label) = first_common(self.set(leaf, &about.clashing[kind]), free) {
            return label;
        }
        if self.is_witnessed(leaf, about, kind, free) {
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
        let kind = strength as usize;
        if let Some(answer) = self.known(tables, topic, kind, free) {
            return answer;
        }
        let Topic { leaf: l, state, label, .. } = self.topics[topic as usize];
        let leaf = &tables.leaves[l as usize];
        let mut walk = std::mem::take(&mut self.walk);
        let mut peaceful = std::mem::take(&mut self.scratch);
        peaceful.clear();
        peaceful.resize(leaf.words, u64::MAX);
        walk.begin(leaf, state);
        let (mut k, mut answer) = (0, NONE);
        while k < walk.states.len() && answer == NONE {
            let there = self.topic(tables, l, walk.states[k], label);
            if !self.topics[there as usize].worked_out[kind] {
                self.work_out_clashing(leaf, there, strength, mutant);
            }
            let clashing = self.set(leaf, &self.topics[there as usize].clashing[kind]);
            answer = first_common(clashing, free).unwrap_or(NONE);
            peaceful.iter_mut().zip(clashing).for_each(|(all, word)| *all &= !word);
            walk.step(leaf, k, free);
            k += 1;
        }
        let mut kept = false;
        if answer == NONE {
            // With more free labels than asked for the answer may be the same.
            walk.stay(leaf, &mut peaceful);
            kept = self.add_witness(topic, kind, &peaceful);
        }
        if !kept {
            self.remember(topic, kind, free, answer);
        }
        (self.walk, self.scratch) = (walk, peaceful);
        answer
    }

    #[cold]
    fn work_out_clashing(&mut self, leaf: &Leaf, topic: u32, strength: Strength, mutant: Mutant) {
        let Topic { state, label, .. } = self.topics[topic as usize];
        let (mut word, at) = (0, self.sets.len());
        self.work += KEEPING + COMMUTING * leaf.moves(state).len() as u64;
        if leaf.words > 1 {
            self.sets.resize(at + leaf.words, 0);
        }
        for &(by, to) in leaf.moves(state) {
            if clashes(leaf, state, (by, to), label, strength, mutant) {
                let set = if leaf.words > 1 { &mut self.sets[at + by as usize / 64] } else { &mut word };
                *set |= 1 << (by % 64);
            }
        }
        let topic = &mut self.topics[topic as usize];
        topic.clashing[strength as usize] = if leaf.words > 1 { at as u64 } else { word };
        topic.worked_out[strength as usize] = true;
    }

    /// Whether a label that the state does not offer stays disabled while only free labels are taken.
    #[inline]
    pub(super) fn is_never(&mut self, tables: &Tables, topic: u32, free: &[u64]) -> bool {
        let about = &self.topics[topic as usize];
        let leaf = &tables.leaves[about.leaf as usize];
        if self.is_witnessed(leaf, about, NO_PATH, free) {
            return true;
        }
        if self.is_witnessed(leaf, about, PATH, free) {
            return false;
        }
        match self.known(tables, topic, NEVER, free) {
            Some(answer) => answer == 1,
            None => self.search(leaf, topic, free),
        }
    }

    fn search(&mut self, leaf: &Leaf, topic: u32, free: &[u64]) -> bool {
        let Topic { state, label, .. } = self.topics[topic as usize];
        let mut walk = std::mem::take(&mut self.walk);
        let mut set = std::mem::take(&mut self.scratch);
        set.clear();
        walk.begin(leaf, state);
        let mut k = 0;
        while k < walk.states.len() && !leaf.offers(walk.states[k], label) {
            walk.step(leaf, k, free);
            k += 1;
        }
        let never = k == walk.states.len();
        if never {
            set.resize(leaf.words, u64::MAX);
            walk.stay(leaf, &mut set);
        } else {
            set.resize(leaf.words, 0);
            while k > 0 {
                let (from, by) = walk.from[k];
                set[by as usize / 64] |= 1 << (by % 64);
                k = from as usize;
            }
        }
        if !self.add_witness(topic, if never { NO_PATH } else { PATH }, &set) {
            self.remember(topic, NEVER, free, u32::from(never));
        }
        (self.walk, self.scratch) = (walk, set);
        never
    }

    #[inline]
    fn key(topic: u32, kind: usize, free: &[u64]) -> (u64, u64) {
        // The map looks at the low bits, and those of a product know nothing of the high bits of its factors. Of a single
        // word nothing is lost: the factor is odd, and the shift can be undone.
        let mixed = free.iter().fold(0u64, |sum, &word| {
            let product = (sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            product ^ (product >> 32)
        });
        (u64::from(topic) * KINDS as u64 + kind as u64, mixed)
    }

    #[inline]
    fn known(&mut self, tables: &Tables, topic: u32, kind: usize, free: &[u64]) -> Option<u32> {
        let about = &self.topics[topic as usize];
        if let Some((place, answer)) = &about.last[kind]
            && self.set(&tables.leaves[about.leaf as usize], place) == free
        {
            return Some(*answer);
        }
        self.look_up(topic, kind, free)
    }

    fn look_up(&mut self, topic: u32, kind: usize, free: &[u64]) -> Option<u32> {
        let &(at, answer) = self.exact.get(&Self::key(topic, kind, free))?;
        let place = match *free {
            [word] => word,
            // Two large sets may have one key.
            _ if self.sets[at as usize..at as usize + free.len()] != *free => return None,
            _ => u64::from(at),
        };
        self.topics[topic as usize].last[kind] = Some((place, answer));
        Some(answer)
    }

    fn remember(&mut self, topic: u32, kind: usize, free: &[u64], answer: u32) {
        self.work += KEEPING;
        let place = self.add_set(free);
        let at = if free.len() == 1 { 0 } else { place as u32 };
        self.exact.insert(Self::key(topic, kind, free), (at, answer));
        self.topics[topic as usize].last[kind] = Some((place, answer));
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
                walk.seen += 1 + leaf.moves(state).len() as u64;
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
