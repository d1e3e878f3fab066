//! Which leaves outside can follow a path of a block.
//!
//! A leaf outside follows if it has a run of its own in which it takes the part that some sync behind each step gives it,
//! or none, and in between any steps for which the block need not move. That is decided backwards, for all of its states at
//! once, and also gives how many moves of its own it needs from each: [`Distances`]. Two leaves together follow if they do
//! so in step with each other. A leaf that cannot follow shows that the path is no run of the system; that all can follow,
//! one by one or in pairs, shows nothing.

use super::block::{Block, Path};
use super::calm::Calm;
use super::ticks::{LABEL, Ticks};
use crate::base::hash::{Map, Set};
use crate::engine::parts::system::moves_with;
use crate::model::explicit::State;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A leaf cannot get there.
pub(super) const NEVER: u32 = u32::MAX;
/// The most distances that are kept for a path.
const MOST: u64 = 1 << 24;
/// No part of the leaf.
const NONE: u32 = u32::MAX;

/// What a path asks of a leaf outside.
struct Role {
    /// For each step whether the leaf may stay out of it, and the labels by which it may take part.
    steps: Vec<(bool, Vec<u32>)>,
    /// For each label whether it is in a sync without the block.
    free: Vec<bool>,
    /// For each position further labels of syncs that leave the block where it is.
    loops: Vec<Vec<u32>>,
}

/// For each slot outside, position and local state how many moves of its own the leaf needs to follow the rest.
pub(super) struct Distances {
    of: Map<u32, Vec<Vec<u32>>>,
}

impl Distances {
    /// The moves that a leaf needs.
    pub(super) fn get(&self, slot: u32, position: usize, state: u32) -> u32 {
        self.of.get(&slot).map_or(0, |of| of[position][state as usize])
    }
}

/// A path of a block, and what it asks of the leaves outside.
pub(super) struct Follow<'a> {
    block: &'a Block<'a>,
    path: &'a Path,
    others: Vec<u32>,
    roles: Map<u32, Role>,
    /// For deadlocks: which states of the leaves outside are calm at the end.
    calm: Option<Map<u32, Vec<bool>>>,
}

impl<'a> Follow<'a> {
    pub(super) fn new(block: &'a Block<'a>, path: &'a Path) -> Self {
        let frame = block.frame;
        let end = &path.at[path.len()];
        let calm = frame.observer.is_none().then(|| Calm::new(block).calm_states(end).into_iter().collect());
        let others = block.others();
        let mut roles: Map<u32, Role> = Map::default();
        for &slot in &others {
            let free = vec![false; frame.lts(slot).labels().len()];
            let steps = path.steps.iter().map(|_| (false, Vec::new())).collect();
            roles.insert(slot, Role { steps, free, loops: vec![Vec::new(); path.at.len()] });
        }
        let of = |roles: &mut Map<u32, Role>, sync: u32, tell: &mut dyn FnMut(&mut Role, u32)| {
            for (slot, label) in block.outside(sync) {
                if let Some(role) = roles.get_mut(&slot) {
                    tell(role, label);
                }
            }
        };
        for &sync in &block.free {
            of(&mut roles, sync, &mut |role, label| role.free[label as usize] = true);
        }
        for (k, syncs) in path.loops.iter().enumerate() {
            for &sync in syncs {
                of(&mut roles, sync, &mut |role, label| role.loops[k].push(label));
            }
        }
        for (k, syncs) in path.steps.iter().enumerate() {
            let mut parts: Map<u32, usize> = Map::default();
            for &sync in syncs {
                of(&mut roles, sync, &mut |role, label| role.steps[k].1.push(label));
                block.outside(sync).for_each(|(slot, _)| *parts.entry(slot).or_default() += 1);
            }
            for (slot, role) in &mut roles {
                role.steps[k].0 = parts.get(slot).copied().unwrap_or(0) < syncs.len();
            }
        }
        for role in roles.values_mut() {
            let labels = role.steps.iter_mut().map(|step| &mut step.1).chain(&mut role.loops);
            labels.for_each(|labels| {
                labels.sort_unstable();
                labels.dedup();
            });
        }
        Follow { block, path, others, roles, calm }
    }

    /// The distances of all leaves outside, or those that cannot follow; nothing if that is too much.
    pub(super) fn distances(&self) -> (Option<Distances>, Vec<u32>) {
        let positions = self.path.at.len() as u64;
        let states: u64 =
            self.others.iter().map(|&slot| self.block.frame.lts(slot).num_states() as u64).sum();
        let keep = states * positions <= MOST;
        let (mut of, mut cannot) = (Map::default(), Vec::new());
        for &slot in &self.others {
            let distances = self.backwards(slot, keep);
            match distances.first() {
                Some(first) if first[0] == NEVER => cannot.push(slot),
                _ if keep => {
                    of.insert(slot, distances);
                }
                _ => {}
            }
        }
        (keep.then_some(Distances { of }), cannot)
    }

    /// For each position how many moves of its own a leaf needs from each state; only the first position unless all are to
    /// be kept.
    fn backwards(&self, slot: u32, keep: bool) -> Vec<Vec<u32>> {
        let lts = self.block.frame.lts(slot);
        let role = &self.roles[&slot];
        let mut back: Vec<Vec<(u32, u32)>> = vec![Vec::new(); lts.num_states()];
        for (from, label, to) in lts.transitions() {
            back[to.0 as usize].push((label.0, from.0));
        }
        let end = self.calm.as_ref().and_then(|calm| calm.get(&slot));
        let at_end = |state: usize| if end.is_none_or(|calm| calm[state]) { 0 } else { NEVER };
        let mut distances: Vec<Vec<u32>> = vec![(0..lts.num_states()).map(at_end).collect()];
        self.relax(role, self.path.len(), &back, distances.last_mut().expect("the end is there"));
        for k in (0..self.path.len()).rev() {
            let next = distances.last().expect("the position behind is there");
            let (may_stay, labels) = &role.steps[k];
            let before = |state: State| {
                let moves = lts.outgoing(state).iter().filter(|t| labels.binary_search(&t.label.0).is_ok());
                let there = moves.map(|t| next[t.to.0 as usize]).min().unwrap_or(NEVER);
                if *may_stay { there.min(next[state.0 as usize]) } else { there }
            };
            let mut now: Vec<u32> = lts.states().map(before).collect();
            self.relax(role, k, &back, &mut now);
            if !keep {
                distances.clear();
            }
            distances.push(now);
        }
        distances.reverse();
        distances
    }

    /// What moves change that the block need not move for.
    fn relax(&self, role: &Role, position: usize, back: &[Vec<(u32, u32)>], distances: &mut [u32]) {
        let known = (0u32..).zip(distances.iter()).filter(|(_, d)| **d != NEVER);
        let mut queue: BinaryHeap<_> = known.map(|(state, &d)| Reverse((d, state))).collect();
        while let Some(Reverse((distance, state))) = queue.pop() {
            if distances[state as usize] < distance {
                continue;
            }
            for &(label, from) in &back[state as usize] {
                let free = role.free[label as usize] || role.loops[position].binary_search(&label).is_ok();
                if free && distances[from as usize] > distance + 1 {
                    distances[from as usize] = distance + 1;
                    queue.push(Reverse((distance + 1, from)));
                }
            }
        }
    }

    /// What it costs to see which leaves can follow alone, in ticks: each position looks at all moves of a leaf.
    pub(super) fn cost(&self) -> u64 {
        let size = |slot: &u32| {
            let lts = self.block.frame.lts(*slot);
            (lts.num_states() + lts.num_transitions()) as u64
        };
        self.others.iter().map(size).sum::<u64>() * self.path.at.len() as u64
    }

    /// The first two leaves that cannot follow together, of those that share a sync. Every label that is tried in a pair of
    /// states is paid for; if nothing is left there are none.
    pub(super) fn pair(&self, only: Option<u32>, ticks: &mut Ticks) -> Option<(u32, u32)> {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for ix in 0..self.block.frame.syncs().len() as u32 {
            let parts: Vec<u32> = self.block.outside(ix).map(|part| part.0).collect();
            // Syncs of many leaves would make pairs of all of them.
            for (k, &first) in parts.iter().enumerate().take(MANY) {
                let rest = parts[k + 1..].iter().take(MANY).map(|&second| (first, second));
                pairs.extend(rest.filter(|pair| only.is_none_or(|only| pair.0 == only || pair.1 == only)));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let size = |slot: u32| self.block.frame.lts(slot).num_states() as u64;
        let needed = |slot: u32| usize::from(self.roles[&slot].steps.iter().any(|(may_stay, _)| !may_stay));
        // Two that no step needs stay where they are.
        pairs.retain(|&(a, b)| self.calm.is_some() || needed(a) + needed(b) > 0);
        pairs.sort_by_key(|&(a, b)| (Reverse(needed(a) + needed(b)), size(a) * size(b)));
        pairs.into_iter().find(|&pair| self.pair_follows(pair, ticks) == Some(false))
    }

    /// Whether two leaves can follow together; nothing if the ticks do not suffice.
    fn pair_follows(&self, pair: (u32, u32), ticks: &mut Ticks) -> Option<bool> {
        let labels = |syncs: &[u32]| {
            let of = |&sync: &u32| {
                let part =
                    |slot| self.block.outside(sync).find(|part| part.0 == slot).map_or(NONE, |part| part.1);
                (part(pair.0), part(pair.1))
            };
            let mut labels: Vec<(u32, u32)> = syncs.iter().map(of).collect();
            labels.sort_unstable();
            labels.dedup();
            labels
        };
        let free = labels(&self.block.free);
        let syncs = |k: usize| self.path.loops[k].len() + self.path.steps.get(k).map_or(0, Vec::len);
        ticks.pay((self.block.free.len() + (0..self.path.at.len()).map(syncs).sum::<usize>()) as u64);
        let mut now: Vec<(u32, u32)> = vec![(0, 0)];
        for k in 0..self.path.at.len() {
            let loops = labels(&self.path.loops[k]);
            let mut seen: Set<(u32, u32)> = now.iter().copied().collect();
            let mut next = 0;
            while next < now.len() {
                ticks.pay(LABEL * (1 + free.len() + loops.len()) as u64);
                if ticks.is_empty() {
                    return None;
                }
                let at = now[next];
                for &by in free.iter().chain(&loops) {
                    self.moves(pair, at, by, &mut |to| {
                        if seen.insert(to) {
                            now.push(to);
                        }
                    });
                }
                next += 1;
            }
            if k == self.path.len() {
                return Some(self.may_end(pair, &now));
            }
            let (mut then, mut seen) = (Vec::new(), Set::default());
            let by = labels(&self.path.steps[k]);
            ticks.pay(LABEL * (now.len() * by.len()) as u64);
            for &at in &now {
                for &by in &by {
                    self.moves(pair, at, by, &mut |to| {
                        if seen.insert(to) {
                            then.push(to);
                        }
                    });
                }
            }
            if then.is_empty() {
                return Some(false);
            }
            now = then;
        }
        Some(true)
    }

    fn moves(&self, pair: (u32, u32), at: (u32, u32), by: (u32, u32), tell: &mut dyn FnMut((u32, u32))) {
        let frame = self.block.frame;
        let (first, second) = (frame.lts(pair.0), frame.lts(pair.1));
        match by {
            (NONE, NONE) => tell(at),
            (a, NONE) => moves_with(first, at.0, a).iter().for_each(|t| tell((t.to.0, at.1))),
            (NONE, b) => moves_with(second, at.1, b).iter().for_each(|t| tell((at.0, t.to.0))),
            (a, b) => {
                for t in moves_with(first, at.0, a) {
                    moves_with(second, at.1, b).iter().for_each(|u| tell((t.to.0, u.to.0)));
                }
            }
        }
    }

    /// Whether two leaves may end in one of these pairs of states: always, unless a deadlock is looked for.
    fn may_end(&self, pair: (u32, u32), states: &[(u32, u32)]) -> bool {
        let Some(calm) = &self.calm else { return true };
        let frame = self.block.frame;
        let is_calm = |slot: u32, state: u32| calm.get(&slot).is_none_or(|calm| calm[state as usize]);
        let mut at = self.path.at[self.path.len()].clone();
        let together: Vec<_> = frame
            .syncs()
            .iter()
            .filter(|sync| {
                let ours = |slot: u32| slot == pair.0 || slot == pair.1;
                sync.iter().filter(|part| ours(part.0)).count() == 2
                    && sync.iter().all(|part| ours(part.0) || self.block.inside[part.0 as usize])
            })
            .collect();
        states.iter().any(|&(a, b)| {
            (at[pair.0 as usize], at[pair.1 as usize]) = (a, b);
            let possible =
                |sync: &&&Vec<(u32, u32)>| sync.iter().all(|&part| frame.offers(part, at[part.0 as usize]));
            is_calm(pair.0, a) && is_calm(pair.1, b) && !together.iter().any(|sync| possible(&sync))
        })
    }
}

/// Parts of a sync that make pairs.
const MANY: usize = 16;
