//! The local transitions of all leaves under one numbering, and the ones among them that a step takes.
//!
//! Leaves come one after the other, within a leaf the local states, within a local state its table. A step says which
//! vector was taken and between which states; where each of the vector's leaves moved follows from a table of the leaf's
//! first transition for each label and local state. Such a table is as large as labels times local states, so a leaf that
//! has many of both is searched instead. Invariant: a step of the network takes exactly one transition of each leaf that
//! takes part, and that is the one found here.

use super::distance::Backwards;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::pack::{Field, Packing};
use gridlock_lts::model::network::{LeafIx, LocalLabel, Network, VectorIx};
use std::sync::OnceLock;

/// The most entries of all tables together; 64 MiB.
const DENSE: usize = if cfg!(test) { 40 } else { 1 << 24 };
/// Marks an entry for several transitions with the same label.
const MANY: u32 = 1 << 31;
/// No table, or no transition.
const NONE: u32 = u32::MAX;

/// One leaf's part in a vector.
#[derive(Clone, Copy, Debug)]
struct Part {
    field: Field,
    leaf: u32,
    label: u32,
    /// Where the table for this label begins; [`NONE`] if there is none.
    dense: u32,
    /// The number of leaf and label together, in the order of the leaves.
    group: u32,
}

/// The local transitions of a network, numbered.
#[derive(Debug)]
pub(super) struct Moves {
    fields: Vec<Field>,
    /// For each leaf the number of its first local state, and the end.
    first_local: Vec<u32>,
    /// For each local state the number of its first transition, and the end.
    first_move: Vec<u32>,
    labels: Vec<u32>,
    targets: Vec<u32>,
    /// For each vector its first part, and the end.
    first_part: Vec<u32>,
    parts: Vec<Part>,
    dense: Vec<u32>,
    /// For each group the number of its transitions.
    group_sizes: Vec<u32>,
    /// For each group its leaf and label.
    groups: Vec<(LeafIx, LocalLabel)>,
    backwards: OnceLock<Backwards>,
}

impl Moves {
    /// Numbers the transitions of a network whose states are packed so; monitors behind its leaves do not matter.
    pub(super) fn new(net: &Network, packing: &Packing) -> Result<Self> {
        let total: usize =
            net.leaves.iter().flat_map(|leaf| &leaf.states).map(|state| state.moves.len()).sum();
        let locals: usize = net.leaves.iter().map(|leaf| leaf.states.len()).sum();
        if total.max(locals) >= MANY as usize {
            return Err(Error::Input(format!(
                "the leaves have {total} local transitions: too many to number them"
            )));
        }
        let mut moves = Moves {
            fields: (0..net.leaves.len()).map(|leaf| packing.field(LeafIx(leaf as u32))).collect(),
            first_local: vec![0],
            first_move: vec![0],
            labels: Vec::with_capacity(total),
            targets: Vec::with_capacity(total),
            first_part: vec![0],
            parts: Vec::new(),
            dense: Vec::new(),
            group_sizes: Vec::new(),
            groups: Vec::new(),
            backwards: OnceLock::new(),
        };
        let mut first_group = vec![0];
        for (leaf, table) in net.leaves.iter().enumerate() {
            moves.groups.extend((0..table.labels.len()).map(|l| (LeafIx(leaf as u32), LocalLabel(l as u32))));
            moves.group_sizes.resize(moves.groups.len(), 0);
            for &(label, to) in table.states.iter().flat_map(|state| &state.moves) {
                moves.labels.push(label.0);
                moves.targets.push(to.0);
                moves.group_sizes[first_group[leaf] + label.0 as usize] += 1;
            }
            let mut end = moves.first_move[moves.first_move.len() - 1];
            moves.first_move.extend(table.states.iter().map(|state| {
                end += state.moves.len() as u32;
                end
            }));
            moves.first_local.push(moves.first_move.len() as u32 - 1);
            first_group.push(moves.groups.len());
        }
        let tables = moves.tables(net);
        for vector in &net.vectors {
            for &(leaf, label) in &vector.parts {
                let group = (first_group[leaf.0 as usize] + label.0 as usize) as u32;
                let (field, dense) = (packing.field(leaf), tables[group as usize]);
                moves.parts.push(Part { field, leaf: leaf.0, label: label.0, dense, group });
            }
            moves.first_part.push(moves.parts.len() as u32);
        }
        Ok(moves)
    }

    /// Makes tables as far as there is room; returns for each group where its table begins.
    fn tables(&mut self, net: &Network) -> Vec<u32> {
        let mut tables = Vec::with_capacity(self.groups.len());
        for (leaf, table) in net.leaves.iter().enumerate() {
            let (states, labels) = (table.states.len(), table.labels.len());
            if states.saturating_mul(labels) > DENSE - self.dense.len() {
                tables.resize(tables.len() + labels, NONE);
                continue;
            }
            let begin = self.dense.len();
            tables.extend((0..labels).map(|label| (begin + label * states) as u32));
            self.dense.resize(begin + labels * states, NONE);
            for local in 0..states {
                let first = self.first_local[leaf] as usize + local;
                for k in self.first_move[first]..self.first_move[first + 1] {
                    let entry = &mut self.dense[begin + self.labels[k as usize] as usize * states + local];
                    *entry = if *entry == NONE { k } else { *entry | MANY };
                }
            }
        }
        tables
    }

    /// The number of leaves.
    pub(super) fn leaves(&self) -> usize {
        self.fields.len()
    }

    /// The number of local states of all leaves.
    pub(super) fn locals(&self) -> usize {
        self.first_move.len() - 1
    }

    /// The number of transitions of all leaves.
    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Where the local states of a leaf stand among those of all leaves.
    pub(super) fn locals_of(&self, leaf: usize) -> std::ops::Range<usize> {
        self.first_local[leaf] as usize..self.first_local[leaf + 1] as usize
    }

    /// The transitions of a leaf.
    pub(super) fn moves_of(&self, leaf: usize) -> std::ops::Range<usize> {
        let locals = self.locals_of(leaf);
        self.first_move[locals.start] as usize..self.first_move[locals.end] as usize
    }

    /// For each pair of a leaf and one of its labels the number of transitions, and the pair.
    pub(super) fn groups(&self) -> (&[u32], &[(LeafIx, LocalLabel)]) {
        (&self.group_sizes, &self.groups)
    }

    /// Calls a function for each local transition, with the numbers of its source and target among the local states of all
    /// leaves.
    pub(super) fn for_each(&self, mut call: impl FnMut(usize, usize)) {
        for leaf in 0..self.leaves() {
            let locals = self.locals_of(leaf);
            for local in locals.clone() {
                for k in self.first_move[local]..self.first_move[local + 1] {
                    call(local, locals.start + self.targets[k as usize] as usize);
                }
            }
        }
    }

    /// The reversed transitions, computed when they are first asked for.
    pub(super) fn backwards(&self) -> &Backwards {
        self.backwards.get_or_init(|| Backwards::new(self))
    }

    /// The local states in which a leaf can take its part in a vector, for all leaves that have one.
    pub(super) fn places_of(&self, vector: VectorIx) -> Vec<u32> {
        let mut places = Vec::new();
        for part in self.parts(vector) {
            let locals = self.locals_of(part.leaf as usize);
            let first = locals.start;
            places.extend(locals.filter(|&local| self.search(part, local - first) != NONE).map(|l| l as u32));
        }
        places
    }

    /// The local state of a leaf in a state, as its number among those of all leaves.
    #[inline]
    pub(super) fn local(&self, leaf: usize, state: &[u64]) -> usize {
        self.first_local[leaf] as usize + self.fields[leaf].get(state).0 as usize
    }

    #[inline]
    fn parts(&self, vector: VectorIx) -> &[Part] {
        let v = vector.0 as usize;
        &self.parts[self.first_part[v] as usize..self.first_part[v + 1] as usize]
    }

    /// The leaves that take part in a vector.
    #[inline]
    pub(super) fn leaves_in(&self, vector: VectorIx) -> impl Iterator<Item = usize> {
        self.parts(vector).iter().map(|part| part.leaf as usize)
    }

    /// How many groups each vector has.
    pub(super) fn parts_of_vectors(&self) -> impl Iterator<Item = u32> {
        self.first_part.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// The transitions that a step takes, each with its group.
    #[inline]
    pub(super) fn taken(
        &self,
        vector: VectorIx,
        from: &[u64],
        to: &[u64],
    ) -> impl Iterator<Item = (usize, usize)> {
        self.parts(vector).iter().filter_map(move |part| {
            let local = part.field.get(from).0 as usize;
            let entry = match part.dense {
                NONE => self.search(part, local),
                table => self.dense[table as usize + local],
            };
            let index = if entry & MANY == 0 { entry } else { self.among(part, entry, local, to)? };
            Some((index as usize, part.group as usize))
        })
    }

    /// The entry that a table would have, found by search.
    fn search(&self, part: &Part, local: usize) -> u32 {
        let state = self.first_local[part.leaf as usize] as usize + local;
        let (begin, end) = (self.first_move[state] as usize, self.first_move[state + 1] as usize);
        let labels = &self.labels[begin..end];
        let first = labels.partition_point(|&label| label < part.label);
        match labels[first..].iter().take(2).filter(|&&label| label == part.label).count() {
            0 => NONE,
            1 => (begin + first) as u32,
            _ => (begin + first) as u32 | MANY,
        }
    }

    /// The one of several transitions that ends where the step does.
    fn among(&self, part: &Part, entry: u32, local: usize, to: &[u64]) -> Option<u32> {
        let state = self.first_local[part.leaf as usize] as usize + local;
        let target = part.field.get(to).0;
        let all = entry & !MANY..self.first_move[state + 1];
        all.take_while(|&k| self.labels[k as usize] == part.label)
            .find(|&k| self.targets[k as usize] == target)
    }
}

/// How often a search has taken each local transition.
#[derive(Debug)]
pub(super) struct Tally<'m> {
    moves: &'m Moves,
    taken: Vec<u32>,
}

impl<'m> Tally<'m> {
    /// A tally in which no transition was taken yet.
    pub(super) fn new(moves: &'m Moves) -> Self {
        Tally { moves, taken: vec![0; moves.len()] }
    }

    /// How often the least-taken local transition of a step was taken.
    #[inline]
    pub(super) fn rarity(&self, vector: VectorIx, from: &[u64], to: &[u64]) -> u32 {
        self.moves.taken(vector, from, to).map(|(index, _)| self.taken[index]).min().unwrap_or(u32::MAX)
    }

    /// Counts a step.
    pub(super) fn take(&mut self, vector: VectorIx, from: &[u64], to: &[u64]) {
        for (index, _) in self.moves.taken(vector, from, to) {
            self.taken[index] = self.taken[index].saturating_add(1);
        }
    }
}
