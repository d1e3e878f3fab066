//! What can still matter to the properties: places of a subsystem, with the states of the monitors, from which nothing
//! that is forbidden and no deadlock can be reached.
//!
//! A *node* gives the exact local states of the subsystem's leaves and of the monitors. For every other leaf it has a set:
//! the local states that the leaf may be in meanwhile. Sets start with the initial states and grow until no step adds
//! anything. A vector that every part can take, in some local state of the sets, leads to the node of its targets: the sets
//! of the leaves that stay are added there, and of the leaves that move the targets. So every reachable state of the system
//! is in the node of its local states, even if the tables have steps that never happen. A node is *irrelevant* if no node
//! that it leads to has a forbidden step, nor, where deadlocks are asked for, can be without steps.
//!
//! Invariant: from a reachable state whose node is irrelevant no violation and no fault can be reached. Beyond a violation
//! nothing is followed, since a search ends there. If the work or the memory is more than allowed, nothing is irrelevant.

#[cfg(test)]
mod tests;

use super::projection::Projections;
use crate::base::hash::{Map, Set};
use crate::engine::prepared::Prepared;
use crate::model::network::{LeafIx, Local, LocalLabel, Network, VectorIx};
use crate::property::Alarms;

/// Steps of the growth of sets that are worth it. A search does more in a second.
const MOST_WORK: u64 = 1 << 24;
/// Bytes for the sets.
const MOST_MEMORY: usize = 64 << 20;

/// The nodes from which no violation can be reached.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Relevance {
    /// The leaves of the subsystem, then the monitors.
    leaves: Vec<LeafIx>,
    /// How many of them are the subsystem's.
    subsystem: usize,
    /// The local states of each node, in the order of `leaves`; the initial node is 0.
    nodes: Vec<Vec<Local>>,
    irrelevant: Vec<bool>,
    /// For each node what it leads to, and what the subsystem does meanwhile; ascending.
    moves: Vec<Vec<(u32, Option<u32>)>>,
}

impl Relevance {
    /// Of a subsystem of a network with its properties built in. All tables must be complete.
    pub fn of(prepared: &Prepared, subsystem: &[LeafIx]) -> Self {
        let (network, alarms) = (prepared.network(), prepared.alarms());
        let monitors = (prepared.net().leaves.len()..network.leaves.len()).map(|leaf| LeafIx(leaf as u32));
        let leaves: Vec<LeafIx> = subsystem.iter().copied().chain(monitors).collect();
        let nothing = || Relevance { leaves: leaves.clone(), subsystem: subsystem.len(), ..Self::default() };
        let Some(growth) = Growth::run(network, alarms, &leaves, subsystem) else { return nothing() };
        let deadlocks = prepared.deadlock().is_some();
        let bad = |node: usize| growth.nodes[node].bad || (deadlocks && growth.may_be_stuck(node));
        let bad: Vec<bool> = (0..growth.nodes.len()).map(bad).collect();
        let sorted = |node: &Node| {
            let mut moves: Vec<_> = node.moves.iter().copied().collect();
            moves.sort_unstable();
            moves
        };
        let moves: Vec<_> = growth.nodes.iter().map(sorted).collect();
        let relevant = leading_to(&moves, bad);
        Relevance {
            irrelevant: relevant.into_iter().map(|relevant| !relevant).collect(),
            nodes: growth.nodes.into_iter().map(|node| node.joint).collect(),
            moves,
            ..nothing()
        }
    }

    /// Whether everything matters.
    pub fn is_empty(&self) -> bool {
        !self.irrelevant.contains(&true)
    }

    /// Whether nothing matters at all: the initial state is irrelevant.
    pub fn is_everything(&self) -> bool {
        self.irrelevant.first() == Some(&true)
    }

    /// The leaves whose local states tell what is irrelevant: those of the subsystem, then the monitors.
    pub fn leaves(&self) -> &[LeafIx] {
        &self.leaves
    }

    /// The local states of these leaves that are irrelevant, in a fixed order.
    pub fn irrelevant(&self) -> impl Iterator<Item = &[Local]> {
        self.nodes.iter().zip(&self.irrelevant).filter(|(_, is)| **is).map(|(node, _)| &node[..])
    }

    /// A deliberate mistake, for tests that must notice it: one node is taken to be irrelevant that is not, the one with
    /// this many before it, counted around. False if there is none.
    #[doc(hidden)]
    pub fn strike_one_too_many(&mut self, at: usize) -> bool {
        let relevant: Vec<usize> = (0..self.nodes.len()).filter(|&node| !self.irrelevant[node]).collect();
        let one = relevant.get(at % relevant.len().max(1));
        one.inspect(|&&node| self.irrelevant[node] = true).is_some()
    }

    /// The nodes in which the system may be before the subsystem moves: the initial one, and what the others lead to.
    pub(super) fn begin(&self) -> Vec<u32> {
        self.closed(if self.nodes.is_empty() { Vec::new() } else { vec![0] })
    }

    /// The nodes in which the system may be once the subsystem has moved on from some, to these local states.
    pub(super) fn follow(&self, from: &[u32], projection: u32, to: &[Local]) -> Vec<u32> {
        let moves = from.iter().flat_map(|&node| &self.moves[node as usize]);
        let along = moves.filter(|(target, what)| *what == Some(projection) && self.place(*target) == to);
        self.closed(along.map(|(target, _)| *target).collect())
    }

    /// Whether all of these nodes are irrelevant.
    pub(super) fn is_irrelevant(&self, nodes: &[u32]) -> bool {
        nodes.iter().all(|&node| self.irrelevant[node as usize])
    }

    /// Where the subsystem is in a node.
    fn place(&self, node: u32) -> &[Local] {
        &self.nodes[node as usize][..self.subsystem]
    }

    /// Adds what the nodes lead to while the subsystem stays; sorted.
    fn closed(&self, mut nodes: Vec<u32>) -> Vec<u32> {
        nodes.sort_unstable();
        nodes.dedup();
        let mut next = 0;
        let mut known: Set<u32> = nodes.iter().copied().collect();
        while let Some(&node) = nodes.get(next) {
            next += 1;
            for &(target, _) in &self.moves[node as usize] {
                if self.place(target) == self.place(node) && known.insert(target) {
                    nodes.push(target);
                }
            }
        }
        nodes.sort_unstable();
        nodes
    }
}

/// The nodes from which one that is bad can be reached.
fn leading_to(moves: &[Vec<(u32, Option<u32>)>], mut bad: Vec<bool>) -> Vec<bool> {
    let mut before = vec![Vec::new(); moves.len()];
    for (node, moves) in moves.iter().enumerate() {
        moves.iter().for_each(|(target, _)| before[*target as usize].push(node));
    }
    let mut queue: Vec<usize> = (0..moves.len()).filter(|&node| bad[node]).collect();
    while let Some(node) = queue.pop() {
        for &node in &before[node] {
            if !std::mem::replace(&mut bad[node], true) {
                queue.push(node);
            }
        }
    }
    bad
}

/// A node while sets grow.
struct Node {
    joint: Vec<Local>,
    /// The local states that other leaves may be in: a bit for each, leaf by leaf.
    states: Vec<u64>,
    /// The local labels that other leaves may offer.
    labels: Vec<u64>,
    /// Whether a forbidden step may happen.
    bad: bool,
    /// Where steps lead, by the parts that other leaves have in them.
    steps: Vec<(u32, u32)>,
    known: Set<(u32, u32)>,
    moves: Set<(u32, Option<u32>)>,
}

/// The growth of the sets.
struct Growth<'n> {
    net: &'n Network,
    alarms: &'n Alarms,
    joint: &'n [LeafIx],
    projections: Projections,
    /// For each leaf that is not joint where its states and labels begin among the bits.
    first: Vec<Option<(usize, usize)>>,
    words: (usize, usize),
    /// For each vector its parts in the joint leaves, by their place there, and the number of its other parts.
    vectors: Vec<(Vec<(usize, LocalLabel)>, u32)>,
    /// The other parts of vectors.
    groups: Vec<Vec<(LeafIx, LocalLabel)>>,
    /// Vectors in which no other leaf has a part.
    own: Vec<VectorIx>,
    nodes: Vec<Node>,
    numbers: Map<Vec<Local>, u32>,
    /// The leaves that are not joint.
    others: Vec<LeafIx>,
    /// Nodes that are new.
    fresh: Vec<u32>,
    /// Local states that are new at a node.
    queue: Vec<(u32, LeafIx, Local)>,
    work: u64,
}

fn bit(bits: &[u64], at: usize) -> bool {
    bits[at / 64] & (1 << (at % 64)) != 0
}

/// Sets a bit; whether it is new.
fn set(bits: &mut [u64], at: usize) -> bool {
    let new = !bit(bits, at);
    bits[at / 64] |= 1 << (at % 64);
    new
}

impl<'n> Growth<'n> {
    /// Lets the sets grow to their end; `None` if that is too much.
    fn run(net: &'n Network, alarms: &'n Alarms, joint: &'n [LeafIx], subsystem: &[LeafIx]) -> Option<Self> {
        let mut growth = Growth::new(net, alarms, joint, subsystem);
        growth.node(vec![Local(0); joint.len()]);
        for leaf in growth.others.clone() {
            growth.add(0, leaf, Local(0));
        }
        loop {
            if let Some(node) = growth.fresh.pop() {
                growth.work += growth.own.len() as u64;
                (0..growth.own.len()).for_each(|k| growth.fire(node, growth.own[k]));
            } else if let Some((node, leaf, local)) = growth.queue.pop() {
                growth.spread(node, leaf, local);
            } else {
                return Some(growth);
            }
            let bytes = growth.nodes.len() * 8 * (growth.words.0 + growth.words.1);
            if growth.work > MOST_WORK || bytes > MOST_MEMORY {
                return None;
            }
        }
    }

    fn new(net: &'n Network, alarms: &'n Alarms, joint: &'n [LeafIx], subsystem: &[LeafIx]) -> Self {
        let (mut first, mut others, mut bits) = (vec![None; net.leaves.len()], Vec::new(), (0, 0));
        for (leaf, tables) in (0..).map(LeafIx).zip(&net.leaves).filter(|(leaf, _)| !joint.contains(leaf)) {
            first[leaf.0 as usize] = Some(bits);
            others.push(leaf);
            bits = (bits.0 + tables.states.len(), bits.1 + tables.labels.len());
        }
        let mut numbers: Map<Vec<(LeafIx, LocalLabel)>, u32> = Map::default();
        let (mut groups, mut vectors, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for (v, vector) in net.vectors.iter().enumerate() {
            let (mut inside, mut outside) = (Vec::new(), Vec::new());
            for &(leaf, label) in &vector.parts {
                match joint.iter().position(|l| *l == leaf) {
                    Some(at) => inside.push((at, label)),
                    None => outside.push((leaf, label)),
                }
            }
            if outside.is_empty() {
                own.push(VectorIx(v as u32));
            }
            let group = *numbers.entry(outside).or_insert_with_key(|outside| {
                groups.push(outside.clone());
                groups.len() as u32 - 1
            });
            vectors.push((inside, group));
        }
        Growth {
            net,
            alarms,
            joint,
            projections: Projections::new(net, subsystem.to_vec()),
            first,
            words: (bits.0.div_ceil(64), bits.1.div_ceil(64)),
            vectors,
            groups,
            own,
            nodes: Vec::new(),
            numbers: Map::default(),
            others,
            fresh: Vec::new(),
            queue: Vec::new(),
            work: 0,
        }
    }

    /// The node of some local states, a new one if need be.
    fn node(&mut self, joint: Vec<Local>) -> u32 {
        if let Some(&node) = self.numbers.get(&joint) {
            return node;
        }
        let number = self.nodes.len() as u32;
        self.numbers.insert(joint.clone(), number);
        self.nodes.push(Node {
            joint,
            states: vec![0; self.words.0],
            labels: vec![0; self.words.1],
            bad: false,
            steps: Vec::new(),
            known: Set::default(),
            moves: Set::default(),
        });
        self.fresh.push(number);
        number
    }

    /// A leaf may be in a local state at a node.
    fn add(&mut self, node: u32, leaf: LeafIx, local: Local) {
        self.work += 1;
        let Some((states, _)) = self.first[leaf.0 as usize] else { return };
        if set(&mut self.nodes[node as usize].states, states + local.0 as usize) {
            self.queue.push((node, leaf, local));
        }
    }

    /// What follows from a leaf being in a local state.
    fn spread(&mut self, node: u32, leaf: LeafIx, local: Local) {
        for k in 0..self.nodes[node as usize].steps.len() {
            let (to, group) = self.nodes[node as usize].steps[k];
            self.carry(node, to, group, leaf, local);
        }
        let (net, labels) = (self.net, self.first[leaf.0 as usize].map_or(0, |(_, labels)| labels));
        let tables = &net.leaves[leaf.0 as usize];
        for &(label, _) in &tables.states[local.0 as usize].moves {
            if set(&mut self.nodes[node as usize].labels, labels + label.0 as usize) {
                self.work += tables.vectors_of[label.0 as usize].len() as u64;
                for &v in &tables.vectors_of[label.0 as usize] {
                    self.fire(node, v);
                }
            }
        }
    }

    /// Takes the local state of a leaf along with a step, or moves it.
    fn carry(&mut self, node: u32, to: u32, group: u32, leaf: LeafIx, local: Local) {
        let part = self.groups[group as usize].iter().find(|(l, _)| *l == leaf);
        match part.copied() {
            None if node == to => self.work += 1,
            None => self.add(to, leaf, local),
            Some((_, label)) => {
                for &(_, target) in self.net.moves_with(leaf, local, label) {
                    self.add(to, leaf, target);
                }
            }
        }
    }

    /// The local states of the joint leaves after a vector at a node; none if it cannot happen there.
    fn targets(&self, node: u32, vector: VectorIx) -> Vec<Vec<Local>> {
        let Node { joint, labels, .. } = &self.nodes[node as usize];
        let (inside, group) = &self.vectors[vector.0 as usize];
        let offered = |&(leaf, label): &(LeafIx, LocalLabel)| {
            self.first[leaf.0 as usize].is_some_and(|(_, first)| bit(labels, first + label.0 as usize))
        };
        if !self.groups[*group as usize].iter().all(offered) {
            return Vec::new();
        }
        let mut targets = vec![joint.clone()];
        for &(at, label) in inside {
            let moves = self.net.moves_with(self.joint[at], joint[at], label);
            let moved = |target: &Vec<Local>, to: Local| {
                let mut target = target.clone();
                target[at] = to;
                target
            };
            targets = targets.iter().flat_map(|t| moves.iter().map(move |&(_, to)| moved(t, to))).collect();
        }
        targets
    }

    /// Follows a vector if all its parts may be taken at a node.
    fn fire(&mut self, node: u32, vector: VectorIx) {
        for target in self.targets(node, vector) {
            let bad = |(leaf, local): (&LeafIx, &Local)| self.alarms.is_bad(*leaf, *local);
            if self.alarms.is_forbidden(vector) || self.joint.iter().zip(&target).any(bad) {
                self.nodes[node as usize].bad = true;
                continue;
            }
            let (to, group) = (self.node(target), self.vectors[vector.0 as usize].1);
            let here = &mut self.nodes[node as usize];
            here.moves.insert((to, self.projections.of(vector)));
            if here.known.insert((to, group)) {
                here.steps.push((to, group));
                self.work += self.words.0 as u64;
                for k in 0..self.others.len() {
                    for local in self.locals(node, self.others[k]) {
                        self.carry(node, to, group, self.others[k], local);
                    }
                }
            }
        }
    }

    /// The local states that a leaf may be in at a node.
    fn locals(&self, node: u32, leaf: LeafIx) -> Vec<Local> {
        let Some((first, _)) = self.first[leaf.0 as usize] else { return Vec::new() };
        let states = self.net.leaves[leaf.0 as usize].states.len();
        let there = |local: &u32| bit(&self.nodes[node as usize].states, first + *local as usize);
        (0..states as u32).filter(there).map(Local).collect()
    }

    /// Whether the system may be without steps at a node: unless the joint leaves have a step of their own, or another leaf
    /// has one without partners in any of its states.
    fn may_be_stuck(&self, node: usize) -> bool {
        let joint = &self.nodes[node].joint;
        let willing = |inside: &[(usize, LocalLabel)]| {
            inside
                .iter()
                .all(|&(at, label)| !self.net.moves_with(self.joint[at], joint[at], label).is_empty())
        };
        let alone = |leaf: LeafIx, v: VectorIx| {
            let (inside, group) = &self.vectors[v.0 as usize];
            self.groups[*group as usize].iter().all(|(l, _)| *l == leaf) && willing(inside)
        };
        let moves = |leaf: LeafIx, local: Local| {
            let tables = &self.net.leaves[leaf.0 as usize];
            let labels = tables.states[local.0 as usize].moves.iter().map(|(label, _)| label.0 as usize);
            labels.into_iter().any(|label| tables.vectors_of[label].iter().any(|&v| alone(leaf, v)))
        };
        let always =
            |leaf: LeafIx| self.locals(node as u32, leaf).into_iter().all(|local| moves(leaf, local));
        let own = self.own.iter().any(|v| willing(&self.vectors[v.0 as usize].0));
        !own && !self.others.iter().any(|&leaf| always(leaf))
    }
}
