//! What enabled vectors need of each other at once, before anything is closed.
//!
//! An enabled vector does not commute with some labels that its leaves offer right now. Whatever set it is a member of, all
//! enabled vectors with these labels are members as well. That is a small graph over the enabled vectors, worked out once a
//! state, and it bounds what closures and deletions can come to: most of them need not be begun.
//!
//! Invariant: what the graph says is necessary is necessary, so that passing over an attempt that it rules out changes no
//! choice.

use super::closure::Closure;
use super::memo::Strength;
use super::tables::{Tables, contains};

/// With more enabled vectors than this there is no graph.
const MOST: usize = 64;

/// The graph: enabled vectors are numbered as in [`Closure::enabled`], and sets of them are words.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Whether it was worked out for this state.
    known: bool,
    /// What each needs to be a member.
    weak: Vec<u64>,
    /// What each needs to be a key, besides.
    strong: Vec<u64>,
    /// Steps of each.
    steps: Vec<u32>,
    /// For each leaf the enabled vectors that it takes part in, with their labels there.
    at: Vec<Vec<(u32, u64)>>,
    touched: Vec<u32>,
}

impl Needs {
    pub(super) fn new(tables: &Tables) -> Self {
        Needs { at: vec![Vec::new(); tables.leaves.len()], ..Needs::default() }
    }

    /// Whether there is a graph.
    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    /// Works the graph out for the state that a set is at, if it is wanted.
    pub(super) fn visit(&mut self, tables: &Tables, set: &mut Closure, wanted: bool) {
        let count = set.enabled.len();
        self.known = wanted && count <= MOST;
        if !self.known {
            return;
        }
        for &leaf in &self.touched {
            self.at[leaf as usize].clear();
        }
        self.touched.clear();
        self.steps.clear();
        for k in 0..count {
            let vector = set.enabled[k];
            self.steps.push(set.steps[vector as usize]);
            for part in tables.parts(vector) {
                let at = &mut self.at[part.leaf as usize];
                if at.is_empty() {
                    self.touched.push(part.leaf);
                }
                match at.iter_mut().find(|(label, _)| *label == part.label) {
                    Some((_, vectors)) => *vectors |= 1 << k,
                    None => at.push((part.label, 1 << k)),
                }
            }
        }
        self.weak.clear();
        self.strong.clear();
        for k in 0..count {
            let (mut weak, mut strong) = (0, 0);
            for part in tables.parts(set.enabled[k]) {
                let at = &self.at[part.leaf as usize];
                for (needs, strength) in [(&mut weak, Strength::Weak), (&mut strong, Strength::Strong)] {
                    let clashing = set.clashing(tables, part, strength);
                    let all = at.iter().filter(|(label, _)| contains(clashing, *label));
                    *needs |= all.fold(0, |all, (_, vectors)| all | vectors);
                }
            }
            self.weak.push(weak);
            self.strong.push(strong);
        }
    }

    /// A valid set with the k-th enabled vector as its key has at least this many steps.
    pub(super) fn least_with_key(&self, k: usize) -> u32 {
        if !self.known {
            return 0;
        }
        let (mut all, mut new) = (1 << k | self.strong[k], 1 << k | self.strong[k]);
        let mut steps = 0;
        while new != 0 {
            let member = new.trailing_zeros() as usize;
            steps += self.steps[member];
            new &= new - 1;
            new |= self.weak[member] & !all;
            all |= self.weak[member];
        }
        steps
    }

    /// What remains at most of a valid set without the k-th enabled vector.
    pub(super) fn without(&self, set: u64, k: usize) -> u64 {
        let mut rest = set & !(1 << k);
        loop {
            let before = rest;
            let mut members = rest;
            while members != 0 {
                let member = members.trailing_zeros() as usize;
                members &= members - 1;
                if self.weak[member] & !rest != 0 {
                    rest &= !(1 << member);
                }
            }
            if rest == before {
                return rest;
            }
        }
    }

    /// Whether the k-th enabled vector may be a key of a set.
    pub(super) fn may_be_key(&self, set: u64, k: usize) -> bool {
        set >> k & 1 == 1 && self.strong[k] & !set == 0
    }
}
