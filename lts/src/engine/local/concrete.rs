//! From a path of a block to a run of the system, if there is one.
//!
//! The block goes along the path; all leaves outside move together, in between by any step that leaves the block where it is. The
//! states that need the fewest moves by the distances of their leaves come first, so that a run, if there is one, is mostly
//! walked straight to. The search has a limit; if it ends before, the path is no run.

use super::block::{Block, Path};
use super::follow::{Distances, NEVER};
use super::mutants::{self, Mutant};
use super::ticks::{STEP, Ticks};
use crate::base::hash::{Hasher, Map};
use crate::engine::parts::system::moves_with;
use crate::engine::parts::{Stop, Trouble};
use crate::model::explicit::State;
use crate::model::network::{Network, Step};
use crate::model::trace::Trace;
use hashbrown::HashTable;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{Hash, Hasher as _};

/// States that are kept for each that may be expanded.
const KEPT: u64 = 5;
/// Ways that one sync is taken in a state.
const WAYS: usize = 256;
/// States whose blockers are counted.
const LOOKED_AT: usize = 64;

/// The result for a path.
pub(super) enum Made {
    /// A run of the network.
    Run(Trace),
    /// The path is no run, or none was found.
    None {
        /// The slots that did not offer what the next step needs, in the states that got furthest; the most frequent first.
        blockers: Vec<u32>,
        /// How many states were expanded.
        expanded: u64,
    },
}

/// Syncs by their first part outside.
#[derive(Default)]
struct Index {
    alone: Vec<u32>,
    by: Map<(u32, u32), Vec<u32>>,
}

impl Index {
    fn new(block: &Block, syncs: &[u32]) -> Self {
        let mut index = Index::default();
        for &sync in syncs {
            match block.outside(sync).next() {
                None => index.alone.push(sync),
                Some(first) => index.by.entry(first).or_default().push(sync),
            }
        }
        index
    }
}

struct Node {
    parent: u32,
    /// The sync that led here.
    via: u32,
    position: u32,
}

/// The search for a run along a path.
pub(super) struct Concrete<'a> {
    block: &'a Block<'a>,
    path: &'a Path,
    distances: &'a Distances,
    others: Vec<u32>,
    free: Index,
    steps: Vec<Index>,
    loops: Vec<Index>,
    nodes: Vec<Node>,
    states: Vec<u32>,
    numbers: HashTable<u32>,
    queue: BinaryHeap<Reverse<(u64, u32)>>,
}

fn hash(position: u32, state: &[u32]) -> u64 {
    let mut hasher = Hasher::default();
    (position, state).hash(&mut hasher);
    hasher.finish()
}

const NONE: u32 = u32::MAX;

impl<'a> Concrete<'a> {
    pub(super) fn new(block: &'a Block<'a>, path: &'a Path, distances: &'a Distances) -> Self {
        let index = |syncs: &Vec<u32>| Index::new(block, syncs);
        Concrete {
            block,
            path,
            distances,
            others: block.others(),
            free: Index::new(block, &block.free),
            steps: path.steps.iter().map(index).collect(),
            loops: path.loops.iter().map(index).collect(),
            nodes: Vec::new(),
            states: Vec::new(),
            numbers: HashTable::new(),
            queue: BinaryHeap::new(),
        }
    }

    /// Looks for a run, and expands `tries` states for it, or as many as the path has.
    pub(super) fn make(
        mut self,
        net: &Network,
        tries: u64,
        ticks: &mut Ticks,
        stop: &Stop,
    ) -> Result<Made, Trouble> {
        let tries = tries.max(self.path.at.len() as u64);
        self.add(NONE, NONE, 0, &vec![0; self.others.len()]);
        let mut expanded = 0;
        let mut successors: Vec<(u32, u32, Vec<u32>)> = Vec::new();
        while let Some(Reverse((_, number))) = self.queue.pop() {
            if self.is_end(number) {
                return Ok(Made::Run(self.trace(net, number)));
            }
            if ticks.is_empty() || expanded >= tries || self.nodes.len() as u64 >= tries.saturating_mul(KEPT)
            {
                break;
            }
            if expanded % 256 == 0 {
                stop.check()?;
            }
            expanded += 1;
            self.expand(number, &mut successors);
            ticks.pay(((1 + successors.len()) * (STEP as usize + self.others.len() / 4)) as u64);
            for (via, position, state) in successors.drain(..) {
                self.add(number, via, position, &state);
            }
        }
        Ok(Made::None { blockers: self.blockers(), expanded })
    }

    fn state(&self, number: u32) -> &[u32] {
        &self.states[number as usize * self.others.len()..][..self.others.len()]
    }

    fn add(&mut self, parent: u32, via: u32, position: u32, state: &[u32]) {
        let alone = mutants::is(Mutant::FollowAlone);
        let mut needed = (self.path.len() - position as usize) as u64;
        for (&slot, &local) in self.others.iter().zip(state).take(if alone { 1 } else { usize::MAX }) {
            match self.distances.get(slot, position as usize, local) {
                NEVER => return,
                distance => needed += u64::from(distance),
            }
        }
        if self.block.frame.observer.is_none() && position as usize == self.path.len() {
            needed += self.enabled_at_end(state);
        }
        let hashed = hash(position, state);
        let Concrete { nodes, states, numbers, others, .. } = self;
        let width = others.len();
        let at = |number: u32| (nodes[number as usize].position, &states[number as usize * width..][..width]);
        if numbers.find(hashed, |&number| at(number) == (position, state)).is_some() {
            return;
        }
        let number = nodes.len() as u32;
        numbers.insert_unique(hashed, number, |&number| {
            let (position, state) = at(number);
            hash(position, state)
        });
        nodes.push(Node { parent, via, position });
        states.extend_from_slice(state);
        self.queue.push(Reverse((needed, number)));
    }

    /// How many syncs keep this from being a deadlock.
    fn enabled_at_end(&self, state: &[u32]) -> u64 {
        let mut at = self.path.at[self.path.len()].clone();
        for (&slot, &local) in self.others.iter().zip(state) {
            at[slot as usize] = local;
        }
        let frame = self.block.frame;
        let mut enabled = 0;
        for (&slot, &local) in self.others.iter().zip(state) {
            let mut last = None;
            for t in frame.lts(slot).outgoing(State(local)) {
                if last.replace(t.label.0) == Some(t.label.0) {
                    continue;
                }
                let syncs = [&self.free, &self.loops[self.path.len()]].into_iter();
                let syncs = syncs.flat_map(|index| index.by.get(&(slot, t.label.0)).into_iter().flatten());
                let possible = |&sync: &u32| {
                    self.block.outside(sync).all(|part| frame.offers(part, at[part.0 as usize]))
                };
                enabled += syncs.filter(|sync| possible(sync)).count() as u64;
            }
        }
        enabled
    }

    fn is_end(&self, number: u32) -> bool {
        let position = self.nodes[number as usize].position as usize;
        let deadlock = || self.block.frame.observer.is_none();
        position == self.path.len() && (!deadlock() || self.block.frame.is_stuck(&self.all(number)))
    }

    /// The local states of all slots.
    fn all(&self, number: u32) -> Vec<u32> {
        let mut at = self.path.at[self.nodes[number as usize].position as usize].clone();
        for (&slot, &local) in self.others.iter().zip(self.state(number)) {
            at[slot as usize] = local;
        }
        at
    }

    fn expand(&self, number: u32, out: &mut Vec<(u32, u32, Vec<u32>)>) {
        let position = self.nodes[number as usize].position;
        let (state, k) = (self.state(number), position as usize);
        if let Some(index) = self.steps.get(k) {
            self.enabled(index, state, |sync, state| out.push((sync, position + 1, state)));
        }
        for index in [&self.loops[k], &self.free] {
            self.enabled(index, state, |sync, state| out.push((sync, position, state)));
        }
    }

    fn enabled(&self, index: &Index, state: &[u32], mut tell: impl FnMut(u32, Vec<u32>)) {
        for &sync in &index.alone {
            tell(sync, state.to_vec());
        }
        for (&slot, &local) in self.others.iter().zip(state) {
            let mut last = None;
            for t in self.block.frame.lts(slot).outgoing(State(local)) {
                if last.replace(t.label.0) == Some(t.label.0) {
                    continue;
                }
                for &sync in index.by.get(&(slot, t.label.0)).into_iter().flatten() {
                    self.ways(sync, state, |state| tell(sync, state));
                }
            }
        }
    }

    /// All ways in which the leaves outside can take their parts in a sync.
    fn ways(&self, sync: u32, state: &[u32], mut tell: impl FnMut(Vec<u32>)) {
        // The regular end of all leaves leads nowhere.
        if self.block.frame.vector(sync).is_none() {
            return;
        }
        let mut ways = vec![state.to_vec()];
        let alone = mutants::is(Mutant::FollowAlone);
        for (slot, label) in self.block.outside(sync) {
            let place = self.others.partition_point(|&known| known < slot);
            if alone && place > 0 {
                continue;
            }
            let moves = moves_with(self.block.frame.lts(slot), state[place], label);
            let taken = |way: &Vec<u32>| -> Vec<Vec<u32>> {
                let one = |to: u32| {
                    let mut way = way.clone();
                    way[place] = to;
                    way
                };
                moves.iter().map(|t| one(t.to.0)).collect()
            };
            ways = ways.iter().flat_map(taken).take(WAYS).collect();
        }
        ways.into_iter().for_each(&mut tell);
    }

    /// The slots that do not offer what the next step needs, in the states that got furthest; the most frequent first.
    fn blockers(&self) -> Vec<u32> {
        let furthest = self.nodes.iter().map(|node| node.position).max().unwrap_or(0);
        let Some(syncs) = self.path.steps.get(furthest as usize) else { return Vec::new() };
        let mut counts: Map<u32, u64> = Map::default();
        let there = (0u32..).zip(&self.nodes).filter(|(_, node)| node.position == furthest);
        for (number, _) in there.take(LOOKED_AT) {
            let at = self.all(number);
            for &sync in syncs {
                for part in self.block.outside(sync) {
                    let blocks = !self.block.frame.offers(part, at[part.0 as usize]);
                    *counts.entry(part.0).or_default() += u64::from(blocks);
                }
            }
        }
        let mut blockers: Vec<(u64, u32)> =
            counts.into_iter().filter(|(_, count)| *count > 0).map(|(slot, count)| (count, slot)).collect();
        blockers.sort_unstable_by_key(|&(count, slot)| (Reverse(count), slot));
        blockers.into_iter().map(|(_, slot)| slot).collect()
    }

    fn trace(&self, net: &Network, end: u32) -> Trace {
        let (mut numbers, mut number) = (Vec::new(), end);
        while number != NONE {
            numbers.push(number);
            number = self.nodes[number as usize].parent;
        }
        numbers.reverse();
        let mut steps = Vec::new();
        let mut target = net.initial();
        for number in numbers {
            let at = self.all(number);
            for slot in self.block.frame.slots() {
                if let Some((leaf, local)) = self.block.frame.local(slot, at[slot as usize]) {
                    target[leaf.0 as usize] = local;
                }
            }
            let via = self.nodes[number as usize].via;
            if via != NONE
                && let Some(vector) = self.block.frame.vector(via)
            {
                steps.push(Step { vector, target: target.clone() });
            }
        }
        Trace { steps }
    }
}
