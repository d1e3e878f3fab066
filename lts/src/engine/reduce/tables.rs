//! The tables of a network as the reduction reads them: flat, with what is never used left out.
//!
//! Three things differ from the network itself. Moves whose label occurs in no vector are gone, since they can never be
//! taken. The bad states of monitors are absorbing, so that a run stays a violation when a step is put before it. And each
//! monitor that can become bad has a *phantom*: a vector that is never taken, with one label that only bad states offer. To
//! keep a phantom disabled is to keep the monitor from becoming bad, so that monitors need no code of their own.

use super::potential;
use crate::model::network::{self as model, LeafIx, Local, Network, Outcome, VectorIx};
use crate::property::Alarms;

/// One leaf.
#[derive(Debug)]
pub(super) struct Leaf {
    /// How many labels there are, the phantom's included.
    pub(super) labels: usize,
    /// Words of a set of labels.
    pub(super) words: usize,
    /// The number of this leaf's label 0 among the labels of all leaves.
    pub(super) base: usize,
    /// Where the words of this leaf's sets of labels begin among those of all leaves.
    pub(super) word_base: usize,
    place_base: u64,
    starts: Vec<u32>,
    moves: Vec<(u32, u32)>,
    enabled: Vec<u64>,
    /// The labels that occur in vectors that can be taken.
    pub(super) used: Vec<u64>,
    /// The potential of each state.
    pub(super) potential: Vec<i64>,
}

impl Leaf {
    pub(super) fn states(&self) -> usize {
        self.starts.len() - 1
    }

    /// The moves of a state, sorted by label.
    #[inline]
    pub(super) fn moves(&self, state: u32) -> &[(u32, u32)] {
        &self.moves[self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize]
    }

    /// The moves of a state with one label.
    #[inline]
    pub(super) fn with(&self, state: u32, label: u32) -> &[(u32, u32)] {
        let moves = self.moves(state);
        let start = moves.partition_point(|m| m.0 < label);
        let end = start + moves[start..].partition_point(|m| m.0 == label);
        &moves[start..end]
    }

    /// The labels that a state offers.
    #[inline]
    pub(super) fn enabled(&self, state: u32) -> &[u64] {
        &self.enabled[state as usize * self.words..(state as usize + 1) * self.words]
    }

    /// A number for a state and a label, of this leaf and no other.
    #[inline]
    pub(super) fn place(&self, state: u32, label: u32) -> u64 {
        self.place_base + u64::from(state) * self.labels as u64 + u64::from(label)
    }

    #[inline]
    pub(super) fn offers(&self, state: u32, label: u32) -> bool {
        contains(self.enabled(state), label)
    }
}

/// Whether a set of labels has a label.
#[inline]
pub(super) fn contains(set: &[u64], label: u32) -> bool {
    set[label as usize / 64] >> (label % 64) & 1 == 1
}

/// A leaf that takes part in a vector, with its label, and where the sets of a closure have them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) leaf: u32,
    pub(super) label: u32,
    /// The label's number among those of all leaves.
    pub(super) slot: u32,
    /// Its word among those of all leaves' sets of labels, and its bit there; none for a phantom's label, which is never
    /// free.
    pub(super) word: u32,
    pub(super) mask: u64,
}

/// What must be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    /// Every deadlock. If not, a state without steps need not be one: perhaps nothing forbidden can be reached from it.
    pub(crate) deadlocks: bool,
    /// Whether something forbidden can be reached: faults, forbidden steps, bad monitors.
    pub(crate) targets: bool,
}

/// What a reduction of a network keeps. If nothing is forbidden, it keeps deadlocks.
pub(crate) fn asked(net: &Network, alarms: &Alarms, deadlocks: bool) -> Asked {
    let bad = |(i, leaf): (usize, &model::Leaf)| {
        (0..leaf.states.len()).any(|state| alarms.is_bad(LeafIx(i as u32), Local(state as u32)))
    };
    let targets = (0..net.vectors.len()).any(|v| alarms.is_forbidden(VectorIx(v as u32)))
        || net.leaves.iter().enumerate().any(bad);
    Asked { deadlocks: deadlocks || !targets, targets }
}

/// The tables of all leaves and the vectors over them.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) leaves: Vec<Leaf>,
    part_starts: Vec<u32>,
    parts: Vec<Part>,
    vector_starts: Vec<u32>,
    vectors_of: Vec<u32>,
    leaf_starts: Vec<u32>,
    vectors_of_leaf: Vec<u32>,
    /// Vectors that never move the system.
    pub(super) faults: Vec<bool>,
    /// What is forbidden: faults, vectors that a property forbids, phantoms.
    pub(super) targets: Vec<u32>,
    pub(super) asked: Asked,
    /// The number of vectors, phantoms included: they are the last.
    pub(super) vectors: usize,
    phantoms: usize,
    /// The number of labels of all leaves.
    pub(super) labels: usize,
    /// The number of pairs of a state and a label of one leaf.
    pub(super) places: u64,
}

impl Tables {
    /// `net` is the network that is searched, monitors included.
    pub(super) fn new(net: &Network, alarms: &Alarms, deadlocks: bool) -> Self {
        let mut parts: Vec<Vec<(u32, u32)>> =
            net.vectors.iter().map(|v| v.parts.iter().map(|&(l, a)| (l.0, a.0)).collect()).collect();
        let mut targets: Vec<u32> =
            (0..parts.len() as u32).filter(|&v| alarms.is_forbidden(VectorIx(v))).collect();
        let mut leaves: Vec<Leaf> = Vec::new();
        let (mut base, mut word_base, mut place_base) = (0, 0, 0);
        for (i, leaf) in net.leaves.iter().enumerate() {
            let index = LeafIx(i as u32);
            let bad = |state: usize| alarms.is_bad(index, Local(state as u32));
            let used: Vec<bool> = leaf.vectors_of.iter().map(|vectors| !vectors.is_empty()).collect();
            let phantom = (0..leaf.states.len()).any(bad).then_some(used.len() as u32);
            if let Some(label) = phantom {
                targets.push(parts.len() as u32);
                parts.push(vec![(i as u32, label)]);
            }
            let states: Vec<Vec<(u32, u32)>> = (0..leaf.states.len())
                .map(|state| {
                    let absorbing = bad(state);
                    let moves = leaf.states[state].moves.iter().filter(|m| used[m.0.0 as usize]);
                    let mut moves: Vec<(u32, u32)> =
                        moves.map(|m| (m.0.0, if absorbing { state as u32 } else { m.1.0 })).collect();
                    moves.dedup();
                    moves.extend(phantom.filter(|_| absorbing).map(|label| (label, state as u32)));
                    moves
                })
                .collect();
            let leaf = Leaf { base, word_base, place_base, ..Leaf::new(&states, &used, phantom.is_some()) };
            place_base += (leaf.labels * states.len()) as u64;
            base += leaf.labels;
            word_base += leaf.words;
            leaves.push(leaf);
        }
        let mut faults: Vec<bool> =
            net.vectors.iter().map(|v| matches!(v.outcome, Outcome::Fault(_))).collect();
        faults.resize(parts.len(), true);
        let asked = asked(net, alarms, deadlocks);
        let part = |&(l, label): &(u32, u32)| {
            let leaf = &leaves[l as usize];
            let (index, bit) = (label as usize / 64, 1 << (label % 64));
            Part {
                leaf: l,
                label,
                slot: leaf.base as u32 + label,
                word: (leaf.word_base + index) as u32,
                mask: leaf.used[index] & bit,
            }
        };
        debug_assert_eq!(asked.targets, !targets.is_empty());
        let mut tables = Tables {
            part_starts: starts(parts.iter().map(Vec::len)),
            vectors: parts.len(),
            phantoms: parts.len() - net.vectors.len(),
            parts: parts.iter().flatten().map(part).collect(),
            vector_starts: Vec::new(),
            vectors_of: Vec::new(),
            leaf_starts: Vec::new(),
            vectors_of_leaf: Vec::new(),
            faults,
            targets,
            asked,
            labels: base,
            places: place_base,
            leaves,
        };
        tables.index();
        tables
    }

    /// Lists the vectors of every label and of every leaf.
    fn index(&mut self) {
        let (mut lists, mut of_leaf) = (vec![Vec::new(); self.labels], vec![Vec::new(); self.leaves.len()]);
        for v in 0..self.vectors as u32 {
            for part in self.parts(v) {
                lists[part.slot as usize].push(v);
                of_leaf[part.leaf as usize].push(v);
            }
        }
        self.leaf_starts = starts(of_leaf.iter().map(Vec::len));
        self.vectors_of_leaf = of_leaf.concat();
        self.vector_starts = starts(lists.iter().map(Vec::len));
        self.vectors_of = lists.concat();
    }

    /// The leaves that take part in a vector, each with its label.
    #[inline]
    pub(super) fn parts(&self, vector: u32) -> &[Part] {
        let v = vector as usize;
        &self.parts[self.part_starts[v] as usize..self.part_starts[v + 1] as usize]
    }

    /// Whether a vector stands for a monitor that becomes bad.
    #[inline]
    pub(super) fn is_phantom(&self, vector: u32) -> bool {
        vector as usize >= self.vectors - self.phantoms
    }

    /// The vectors of a label, by its number among those of all leaves.
    #[inline]
    pub(super) fn vectors_of(&self, label: usize) -> &[u32] {
        &self.vectors_of[self.vector_starts[label] as usize..self.vector_starts[label + 1] as usize]
    }

    /// The vectors that a leaf takes part in.
    #[inline]
    pub(super) fn vectors_of_leaf(&self, leaf: u32) -> &[u32] {
        let l = leaf as usize;
        &self.vectors_of_leaf[self.leaf_starts[l] as usize..self.leaf_starts[l + 1] as usize]
    }

    pub(super) fn bytes(&self) -> u64 {
        let leaf = |l: &Leaf| {
            l.starts.len() * 4 + l.moves.len() * 8 + (l.enabled.len() + l.used.len() + l.potential.len()) * 8
        };
        let leaves: usize = self.leaves.iter().map(leaf).sum();
        let lists = self.part_starts.len()
            + self.vector_starts.len()
            + self.vectors_of.len()
            + self.leaf_starts.len()
            + self.vectors_of_leaf.len();
        (leaves + lists * 4 + self.parts.len() * size_of::<Part>() + self.faults.len()) as u64
    }
}

impl Leaf {
    fn new(states: &[Vec<(u32, u32)>], used: &[bool], phantom: bool) -> Self {
        let labels = used.len() + usize::from(phantom);
        let words = labels.div_ceil(64).max(1);
        let set = |labels: &mut dyn Iterator<Item = u32>| {
            let mut set = vec![0u64; words];
            labels.for_each(|label| set[label as usize / 64] |= 1 << (label % 64));
            set
        };
        Leaf {
            labels,
            words,
            base: 0,
            word_base: 0,
            place_base: 0,
            starts: starts(states.iter().map(Vec::len)),
            enabled: states.iter().flat_map(|moves| set(&mut moves.iter().map(|m| m.0))).collect(),
            used: set(&mut (0..used.len() as u32).filter(|&label| used[label as usize])),
            potential: potential::of(states),
            moves: states.concat(),
        }
    }
}

/// Where lists of the given lengths begin when they are stored one after the other, and where the last ends.
fn starts(lengths: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut sum = 0;
    let ends = lengths.map(|len| {
        sum += len;
        u32::try_from(sum).expect("tables have fewer than 2^32 entries")
    });
    std::iter::once(0).chain(ends).collect()
}
