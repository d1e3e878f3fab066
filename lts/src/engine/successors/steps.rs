//! A reusable buffer of steps.
//!
//! Invariant: the buffers are longer than what is in use. Producers write into the spare part first and say afterwards
//! how much of it counts, so that they need not know beforehand.

use super::Via;
use crate::base::error::{Error, Result};
use crate::model::network::VectorIx;

/// No state may have more steps. A vector of many leaves with many moves each has as many as all combinations.
const MOST: usize = if cfg!(test) { 1 << 12 } else { 1 << 24 };

/// Steps of one or of several states.
#[derive(Debug)]
pub struct Steps {
    words: usize,
    targets: Vec<u64>,
    vias: Vec<Via>,
    len: usize,
}

impl Steps {
    /// An empty buffer for states of this many words.
    pub fn new(words: usize) -> Self {
        Steps { words, targets: Vec::new(), vias: Vec::new(), len: 0 }
    }

    /// The number of steps.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no step.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets all steps and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Keeps the first `len` steps.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The packed target states, one after the other.
    #[inline]
    pub fn targets(&self) -> &[u64] {
        &self.targets[..self.len * self.words]
    }

    /// The target of one step.
    #[inline]
    pub fn target(&self, k: usize) -> &[u64] {
        &self.targets()[k * self.words..(k + 1) * self.words]
    }

    /// The target of one step, to be changed.
    pub(crate) fn target_mut(&mut self, k: usize) -> &mut [u64] {
        assert!(k < self.len, "there is such a step");
        &mut self.targets[k * self.words..(k + 1) * self.words]
    }

    /// Changes the vector of one step, or its mark.
    pub(crate) fn set_via(&mut self, k: usize, via: Via) {
        assert!(k < self.len, "there is such a step");
        self.vias[k] = via;
    }

    /// The vectors of the steps.
    #[inline]
    pub fn vias(&self) -> &[Via] {
        &self.vias[..self.len]
    }

    /// Whether some step carries a mark. All of them are read, which is faster than stopping early: marks are rare.
    #[inline]
    pub fn any_marked(&self) -> bool {
        self.vias().iter().fold(false, |any, via| any | via.is_marked())
    }

    /// The steps.
    pub fn iter(&self) -> impl Iterator<Item = (&[u64], Via)> {
        self.targets().chunks_exact(self.words).zip(self.vias().iter().copied())
    }

    /// Appends a step.
    #[inline]
    pub fn push(&mut self, target: &[u64], via: Via) {
        let (targets, vias) = self.spare(1);
        targets[..target.len()].copy_from_slice(target);
        vias[0] = via;
        self.len += 1;
    }

    /// Removes a step.
    pub fn remove(&mut self, k: usize) {
        assert!(k < self.len, "there is such a step");
        self.targets.copy_within((k + 1) * self.words..self.len * self.words, k * self.words);
        self.vias.copy_within(k + 1..self.len, k);
        self.len -= 1;
    }

    /// Of the steps from one on keeps those of some vectors, in their order.
    pub(crate) fn retain_from(&mut self, first: usize, keep: impl Fn(Via) -> bool) {
        let mut kept = first;
        for k in first..self.len {
            if keep(self.vias[k]) {
                self.vias[kept] = self.vias[k];
                self.targets.copy_within(k * self.words..(k + 1) * self.words, kept * self.words);
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// Puts the steps from one on into the order of their keys; those with equal keys stay as they are.
    pub(crate) fn sort_from<K: Ord>(&mut self, first: usize, key: impl Fn(&[u64], Via) -> K) {
        let words = self.words;
        let mut order: Vec<(K, usize)> =
            (first..self.len).map(|k| (key(self.target(k), self.vias[k]), k)).collect();
        if order.is_sorted_by(|a, b| a.0 <= b.0) {
            return;
        }
        order.sort_by(|a, b| a.0.cmp(&b.0));
        let (targets, vias) = (self.targets().to_vec(), self.vias().to_vec());
        for (place, (_, k)) in (first..).zip(order) {
            self.vias[place] = vias[k];
            self.targets[place * words..(place + 1) * words]
                .copy_from_slice(&targets[k * words..(k + 1) * words]);
        }
    }

    /// Room behind the steps for at least `more`.
    #[inline(always)]
    pub(super) fn spare(&mut self, more: usize) -> (&mut [u64], &mut [Via]) {
        if self.vias.len() < self.len + more {
            self.grow(more);
        }
        (&mut self.targets[self.len * self.words..], &mut self.vias[self.len..])
    }

    /// Counts the first `more` of what was written into the room behind the steps.
    #[inline(always)]
    pub(super) fn commit(&mut self, more: usize) {
        self.len += more;
        debug_assert!(self.len <= self.vias.len());
    }

    /// The targets from one on, those in use.
    #[inline(always)]
    pub(crate) fn targets_from(&mut self, k: usize) -> &mut [u64] {
        &mut self.targets[k * self.words..self.len * self.words]
    }

    /// Whether there are too many steps, so that finding more is of no use.
    #[inline(always)]
    pub(crate) fn is_overfull(&self) -> bool {
        self.len > MOST
    }

    /// Refuses too many steps.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_overfull() { Err(too_many()) } else { Ok(()) }
    }

    /// Appends copies of some steps.
    pub(crate) fn repeat(&mut self, range: std::ops::Range<usize>) {
        let (count, words, len) = (range.len(), self.words, self.len);
        self.spare(count);
        self.targets.copy_within(range.start * words..range.end * words, len * words);
        self.vias.copy_within(range, len);
        self.len += count;
    }

    /// Replaces the vectors of all steps from one on.
    pub(super) fn set_vias_from(&mut self, k: usize, via: Via) {
        self.vias[k..self.len].fill(via);
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let room = (self.len + more).max(2 * self.vias.len()).max(64);
        self.targets.resize(room * self.words, 0);
        self.vias.resize(room, Via::new(VectorIx(0), false));
    }
}

#[cold]
fn too_many() -> Error {
    Error::Input(format!("a state has more than {MOST} steps"))
}
