//! What a search has seen of the system, recorded as it goes.
//!
//! A state that is expanded was reached by a step from one that was expanded before, so only the leaves that took part
//! can be in local states that are new; and a vector none of whose leaves has a transition left that was not seen needs no
//! look at all. That makes recording cheap. Invariant: what is recorded is exactly the local states of all expanded
//! states, and the local transitions of all steps looked at.

use super::job::Coverage;
use super::moves::Moves;
use super::sketch;
use crate::states;
use gridlock_lts::engine::successors::Steps;
use gridlock_lts::model::network::{Network, VectorIx};

/// A record under way.
#[derive(Debug)]
pub(super) struct Seen<'h> {
    net: &'h Network,
    moves: &'h Moves,
    locals: Vec<bool>,
    taken: Vec<bool>,
    /// For each group of transitions how many were not seen.
    unseen: Vec<u32>,
    /// For each vector in how many of its groups something was not seen.
    open: Vec<u32>,
    sketch: Vec<u8>,
}

/// A hash of a state all of whose bits are good, the same in every job.
#[inline]
pub fn hash(state: &[u64]) -> u64 {
    finish(states::hash(state))
}

/// Makes all bits of a hash depend on all others; no two hashes become one.
#[inline]
pub(super) fn finish(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

impl<'h> Seen<'h> {
    /// Nothing was seen yet.
    pub(super) fn new(net: &'h Network, moves: &'h Moves) -> Self {
        let mut seen = Seen {
            net,
            moves,
            locals: vec![false; moves.locals()],
            taken: vec![false; moves.len()],
            unseen: moves.groups().0.to_vec(),
            open: moves.parts_of_vectors().collect(),
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

    /// A state is expanded that was reached by a step of that vector from a state expanded before, or from nowhere known.
    #[inline]
    pub(super) fn enter(&mut self, vector: Option<VectorIx>, state: &[u64]) {
        sketch::add(&mut self.sketch, hash(state));
        match vector {
            Some(vector) => {
                for leaf in self.moves.leaves_in(vector) {
                    self.locals[self.moves.local(leaf, state)] = true;
                }
            }
            None => {
                for leaf in 0..self.moves.leaves() {
                    self.locals[self.moves.local(leaf, state)] = true;
                }
            }
        }
    }

    /// The steps of a state are looked at.
    #[inline]
    pub(super) fn look_at(&mut self, state: &[u64], steps: &Steps) {
        for (k, via) in steps.vias().iter().enumerate() {
            if self.open[via.vector().0 as usize] != 0 {
                self.mark(via.vector(), state, steps.target(k));
            }
        }
    }

    fn mark(&mut self, vector: VectorIx, state: &[u64], target: &[u64]) {
        let moves = self.moves;
        for (index, group) in moves.taken(vector, state, target) {
            if !std::mem::replace(&mut self.taken[index], true) {
                self.unseen[group] -= 1;
                if self.unseen[group] == 0 {
                    self.close(group);
                }
            }
        }
    }

    /// All transitions of a group were seen.
    #[cold]
    fn close(&mut self, group: usize) {
        let (leaf, label) = self.moves.groups().1[group];
        for vector in &self.net.leaves[leaf.0 as usize].vectors_of[label.0 as usize] {
            self.open[vector.0 as usize] -= 1;
        }
    }

    /// The record, for a message.
    pub(super) fn coverage(&self) -> Coverage {
        let leaves = 0..self.moves.leaves();
        Coverage {
            locals: leaves.clone().map(|leaf| bits(&self.locals[self.moves.locals_of(leaf)])).collect(),
            moves: leaves.map(|leaf| bits(&self.taken[self.moves.moves_of(leaf)])).collect(),
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
