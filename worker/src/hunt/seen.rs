//! The coverage of a search, recorded while it runs.
//!
//! A state that is expanded was reached by a step from one that was expanded before, so only the leaves that took part
//! can be in local states that are new; and a vector none of whose leaves has a transition left that was not seen needs no
//! look at all. That makes recording cheap. Invariant: what is recorded is exactly the local states of all expanded
//! states, and the local transitions of all steps looked at.

use super::job::Coverage;
use super::moves::Moves;
use crate::sketch::{self, finish, hash};
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::{Network, VectorIx};

/// A record under way.
#[derive(Debug)]
pub(super) struct Seen<'h> {
    net: Option<&'h Network>,
    /// `None` if tables are filled as needed: the total that coverage refers to is then unknown.
    moves: Option<&'h Moves>,
    locals: Vec<bool>,
    taken: Vec<bool>,
    /// For each group the number of transitions that were not seen.
    unseen: Vec<u32>,
    /// For each vector the number of its groups with a transition that was not seen.
    open: Vec<u32>,
    sketch: Vec<u8>,
}

/// The hash of a state of a system, the same in every process even if the numbers of local states are not.
#[inline]
pub(super) fn hash_of<S: Successors>(system: &S, state: &[u64]) -> u64 {
    system.content(state).map_or_else(|| hash(state), finish)
}

impl<'h> Seen<'h> {
    /// An empty record.
    pub(super) fn new(net: Option<&'h Network>, moves: Option<&'h Moves>) -> Self {
        let mut seen = Seen {
            net,
            moves,
            locals: vec![false; moves.map_or(0, Moves::locals)],
            taken: vec![false; moves.map_or(0, Moves::len)],
            unseen: moves.map_or(Vec::new(), |moves| moves.groups().0.to_vec()),
            open: moves.map_or(Vec::new(), |moves| moves.parts_of_vectors().collect()),
            sketch: vec![0; sketch::REGISTERS],
        };
        // A vector with a group that has no transitions is never taken.
        for group in 0..seen.unseen.len() {
            if seen.unseen[group] == 0 {
                seen.close(group);
            }
        }
        seen
    }

    /// Records that a state with this hash is expanded. `vector` is that of the step from a state expanded before, if that is
    /// known.
    #[inline]
    pub(super) fn enter(&mut self, vector: Option<VectorIx>, state: &[u64], hash: u64) {
        sketch::add(&mut self.sketch, hash);
        let Some(moves) = self.moves else { return };
        match vector {
            Some(vector) => {
                for leaf in moves.leaves_in(vector) {
                    self.locals[moves.local(leaf, state)] = true;
                }
            }
            None => {
                for leaf in 0..moves.leaves() {
                    self.locals[moves.local(leaf, state)] = true;
                }
            }
        }
    }

    /// Records the steps of a state.
    #[inline]
    pub(super) fn look_at(&mut self, state: &[u64], steps: &Steps) {
        let Some(moves) = self.moves else { return };
        for (k, via) in steps.vias().iter().enumerate() {
            if self.open[via.vector().0 as usize] != 0 {
                self.mark(moves, via.vector(), state, steps.target(k));
            }
        }
    }

    fn mark(&mut self, moves: &Moves, vector: VectorIx, state: &[u64], target: &[u64]) {
        for (index, group) in moves.taken(vector, state, target) {
            if !std::mem::replace(&mut self.taken[index], true) {
                self.unseen[group] -= 1;
                if self.unseen[group] == 0 {
                    self.close(group);
                }
            }
        }
    }

    /// Notes that all transitions of a group were seen.
    #[cold]
    fn close(&mut self, group: usize) {
        let (Some(moves), Some(net)) = (self.moves, self.net) else { return };
        let (leaf, label) = moves.groups().1[group];
        for vector in &net.leaves[leaf.0 as usize].vectors_of[label.0 as usize] {
            self.open[vector.0 as usize] -= 1;
        }
    }

    /// The record, for a message.
    pub(super) fn coverage(&self) -> Coverage {
        let leaves = || self.moves.into_iter().flat_map(|moves| (0..moves.leaves()).map(move |l| (moves, l)));
        Coverage {
            locals: leaves().map(|(moves, leaf)| bits(&self.locals[moves.locals_of(leaf)])).collect(),
            moves: leaves().map(|(moves, leaf)| bits(&self.taken[moves.moves_of(leaf)])).collect(),
            sketch: self.sketch.clone(),
            bits_set: 0,
            taken_for_visited: 0,
        }
    }
}

/// Packs a set into words, least first, without zero words at the end.
fn bits(set: &[bool]) -> Vec<u64> {
    let word = |bits: &[bool]| bits.iter().rev().fold(0, |word, &bit| word << 1 | u64::from(bit));
    let mut words: Vec<u64> = set.chunks(64).map(word).collect();
    while words.last() == Some(&0) {
        words.pop();
    }
    words
}
