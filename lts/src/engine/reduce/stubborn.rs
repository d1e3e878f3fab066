//! Which steps of a state are enough.
//!
//! Several closures are tried, from every enabled vector as the key and from what blocks all that is forbidden, and the one
//! with the fewest steps is kept; then vectors are taken out again as long as the rest is accepted. Invariant: the choice
//! is a function of the state, independent of earlier questions.

use super::closure::Closure;
use super::memo::Strength;
use super::tables::Tables;
use super::{Keep, Mutant};

/// Chooses steps, state by state.
#[derive(Debug)]
pub(super) struct Stubborn {
    keep: Keep,
    mutant: Mutant,
    pub(super) set: Closure,
    /// The members of the best set so far.
    best: Vec<u32>,
    removed: Vec<u32>,
    /// Bytes of it that are in the account.
    pub(super) counted: u64,
    /// Its work when [`work_since`](Self::work_since) was last asked.
    asked: u64,
}

impl Stubborn {
    pub(super) fn new(tables: &Tables, room: u64, keep: Keep, mutant: Mutant) -> Self {
        Stubborn {
            keep,
            mutant,
            set: Closure::new(tables, room, mutant),
            best: Vec::new(),
            removed: Vec::new(),
            counted: 0,
            asked: 0,
        }
    }

    /// Chooses among the steps of the state whose local states are in `set.locals`. Afterwards the chosen vectors are
    /// those in the set, until it is left; false if all steps are needed.
    pub(super) fn choose(&mut self, tables: &Tables, vias: impl Iterator<Item = u32>) -> bool {
        self.set.visit(tables, vias);
        let all: u32 = self.set.enabled.iter().map(|&v| self.set.steps[v as usize]).sum();
        let least = u32::from(tables.asked.deadlocks);
        let found = self.close(tables, all, least);
        if found > least && all > least {
            self.restore(tables, found == all);
            self.delete(tables);
            return self.set.size < all;
        }
        if found < all {
            self.restore(tables, false);
        }
        found < all
    }

    /// What was done since this was last asked.
    pub(super) fn work_since(&mut self) -> u64 {
        let work = self.set.work();
        work - std::mem::replace(&mut self.asked, work)
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.set.bytes()
    }

    /// Leaves the state.
    pub(super) fn leave(&mut self, tables: &Tables) {
        self.set.leave(tables);
    }

    /// Tries closures; the number of steps of the best. There is none that is better than all steps if it is `all`.
    fn close(&mut self, tables: &Tables, all: u32, least: u32) -> u32 {
        let asked = tables.asked;
        let mut best = all;
        let mut blocked = false;
        let proviso = asked.targets && self.mutant != Mutant::NoProviso;
        if proviso {
            for &target in &tables.targets {
                self.set.add(tables, target);
            }
            blocked = self.set.close(tables, best);
            if blocked && !asked.deadlocks {
                best = self.record();
            }
        }
        // What follows is either put on top of the blocking set, or begins from nothing.
        let blocking = if blocked { self.set.members.len() } else { 0 };
        for on_top in [true, false] {
            if !on_top || !blocked {
                self.set.shrink(tables, 0);
            }
            for k in 0..self.set.enabled.len() {
                if best <= least {
                    return best;
                }
                let seed = self.set.enabled[k];
                let rises = !proviso || (self.keep != Keep::Lengths && self.set.rises(tables, seed));
                let wanted = if on_top { blocked && asked.deadlocks && !rises } else { rises };
                if !wanted || (tables.faults[seed as usize] && self.mutant != Mutant::FaultKey) {
                    continue;
                }
                self.set.shrink(tables, if on_top { blocking } else { 0 });
                let was_member = self.set.contains[seed as usize];
                self.set.add(tables, seed);
                if !(was_member && self.mutant == Mutant::MemberAsKey) {
                    self.set.support(tables, seed, Strength::Strong, best);
                }
                if self.set.close(tables, best) {
                    best = self.record();
                }
            }
        }
        best
    }

    fn record(&mut self) -> u32 {
        self.best.clear();
        self.best.extend_from_slice(&self.set.members);
        self.set.size
    }

    /// Makes the best set the current one, or the set of all vectors.
    fn restore(&mut self, tables: &Tables, all: bool) {
        self.set.shrink(tables, 0);
        if all {
            self.set.fill(tables);
        } else {
            let best = std::mem::take(&mut self.best);
            best.iter().for_each(|&v| self.set.put(tables, v));
            self.best = best;
        }
    }

    /// Takes vectors out as long as the rest is accepted. What is not accepted is not accepted without some more, so
    /// that an attempt ends as soon as that is so.
    fn delete(&mut self, tables: &Tables) {
        self.set.set_valid();
        for k in 0..self.set.enabled.len() {
            let vector = self.set.enabled[k];
            if !self.set.contains[vector as usize] {
                continue;
            }
            self.removed.clear();
            self.remove(tables, vector);
            let accepted =
                self.is_accepted(tables) && self.remove_invalid(tables) && self.is_accepted(tables);
            if accepted {
                let contains = &self.set.contains;
                self.set.members.retain(|&v| contains[v as usize]);
            } else {
                for k in 0..self.removed.len() {
                    self.set.put_back(tables, self.removed[k]);
                }
                while self.set.next_fresh().is_some() {}
            }
        }
    }

    fn remove(&mut self, tables: &Tables, vector: u32) {
        self.set.take(tables, vector);
        self.removed.push(vector);
    }

    /// Takes out what is no member rightly any more, which leaves the largest valid set. False if that is given up because
    /// the rest would not be accepted.
    fn remove_invalid(&mut self, tables: &Tables) -> bool {
        while let Some(leaf) = self.set.next_fresh() {
            let mut fewer_steps = false;
            self.set.look_through(tables.vectors_of_leaf(leaf).len());
            for &vector in tables.vectors_of_leaf(leaf) {
                if self.set.contains[vector as usize] && !self.set.is_valid(tables, vector) {
                    self.remove(tables, vector);
                    fewer_steps |= self.set.is_enabled(vector);
                }
            }
            if fewer_steps && !self.is_accepted(tables) {
                return false;
            }
        }
        true
    }

    /// Whether a valid set keeps what must be kept.
    fn is_accepted(&mut self, tables: &Tables) -> bool {
        let asked = tables.asked;
        let proviso = asked.targets && self.mutant != Mutant::NoProviso;
        let blocks = !proviso || tables.targets.iter().all(|&v| self.set.contains[v as usize]);
        if blocks && !asked.deadlocks {
            return true;
        }
        if !blocks && self.keep == Keep::Lengths {
            return false;
        }
        (0..self.set.enabled.len()).any(|k| {
            let v = self.set.enabled[k];
            let can = self.set.contains[v as usize]
                && (!tables.faults[v as usize] || self.mutant == Mutant::FaultKey);
            can && (blocks || self.set.rises(tables, v)) && self.set.is_key(tables, v)
        })
    }
}
