//! Random networks for tests, the same for the same seed on every machine.
//!
//! They are small, so that a naive search can be the reference, and crowded with what successor functions and searches get
//! wrong: nondeterministic moves, labels shared by several vectors, vectors of one to all leaves, hidden steps, faults,
//! deadlocks, leaves with one state, labels that no leaf offers. This is part of the public interface so that other crates
//! test their searches on the same networks.

use crate::base::error::{Error, Result};
use crate::base::hash::{Map, Set};
use crate::base::rng::Rng;
use crate::model::network::{LeafIx, Local, LocalLabel, Network, Outcome, TableSource, Vector, VectorIx};
use crate::property::{Monitor, Property};

/// What random networks look like.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The greatest number of leaves.
    pub leaves: usize,
    /// The greatest number of local states of a leaf.
    pub states: usize,
    /// The greatest number of local labels of a leaf.
    pub labels: usize,
    /// Moves of a local state on average besides those that make it reachable, in percent: 150 means one and a half.
    pub moves: usize,
    /// The greatest number of vectors besides those that give most labels a use, divided by the number of leaves.
    pub vectors: usize,
    /// In how many of 100 networks vectors may have faults.
    pub faults: usize,
    /// Whether all local moves lead to a higher number, so that every leaf is acyclic.
    pub acyclic: bool,
}

impl Default for Shape {
    /// One to six leaves, a few thousand global states at most.
    fn default() -> Self {
        Shape { leaves: 6, states: 6, labels: 5, moves: 60, vectors: 2, faults: 0, acyclic: false }
    }
}

impl Shape {
    /// The network of a seed. All tables are expanded.
    pub fn network(&self, seed: u64) -> Network {
        let rng = &mut Rng::new(seed);
        let mut net = Network::new();
        for i in 0..rng.between(1, self.leaves) {
            self.add_leaf(&mut net, i, rng);
        }
        let faults = rng.percent(self.faults);
        // Most labels are of some use, and some of several.
        for leaf in 0..net.leaves.len() {
            for label in 0..net.leaves[leaf].labels.len() {
                if rng.percent(80) {
                    let parts = random_parts(&net, Some((leaf, label)), rng);
                    add_vector(&mut net, parts, faults && rng.percent(3), rng);
                }
            }
        }
        for _ in 0..rng.between(1, self.vectors * net.leaves.len()) {
            let parts = random_parts(&net, None, rng);
            add_vector(&mut net, parts, faults && rng.percent(3), rng);
        }
        if rng.percent(30) {
            // Termination: all leaves at once, each by its last label.
            let last = |leaf: &crate::model::network::Leaf| LocalLabel(leaf.labels.len() as u32 - 1);
            let parts = net.leaves.iter().enumerate().map(|(i, l)| (LeafIx(i as u32), last(l))).collect();
            let label = net.label("Terminate");
            net.add_vector(parts, Outcome::Step(label), label);
        }
        mark_end(&mut net);
        net
    }

    fn add_leaf(&self, net: &mut Network, i: usize, rng: &mut Rng) {
        let leaf = net.add_leaf(format!("L{i}"));
        // A leaf with many states now and then, so that fields have different widths.
        let states =
            if rng.percent(10) { rng.between(1, 3 * self.states) } else { rng.between(1, self.states) };
        for _ in 0..states {
            let state = net.add_state(leaf);
            net.leaves[leaf.0 as usize].states[state.0 as usize].expanded = true;
        }
        let labels = rng.between(1, self.labels);
        for k in 0..labels {
            net.add_local_label(leaf, format!("l{i}.{k}"));
        }
        // Every local state can be reached within its leaf, whether or not it is in the network.
        for to in 1..states {
            let (from, label) = (rng.below(to), LocalLabel(rng.below(labels) as u32));
            net.add_move(leaf, Local(from as u32), label, Local(to as u32));
        }
        for _ in 0..states * self.moves / 100 {
            let (from, to) = (rng.below(states), rng.below(states));
            if self.acyclic && from >= to {
                continue;
            }
            let label = LocalLabel(rng.below(labels) as u32);
            net.add_move(leaf, Local(from as u32), label, Local(to as u32));
        }
    }
}

/// Declares the first deadlock that is near the initial state to be the regular end, so that there is one at all.
fn mark_end(net: &mut Network) {
    let mut queue = vec![net.initial()];
    let (mut seen, mut steps, mut next) = (Set::from_iter(queue.iter().cloned()), Vec::new(), 0);
    while next < queue.len().min(200) {
        net.successors(&queue[next], &mut steps);
        if steps.is_empty() {
            net.leaves.iter_mut().zip(&queue[next]).for_each(|(leaf, &local)| leaf.terminated = Some(local));
            return;
        }
        queue.extend(steps.drain(..).map(|step| step.target).filter(|target| seen.insert(target.clone())));
        next += 1;
    }
}

/// Mostly one or two leaves, as in real specifications, sometimes all. One part may be given.
fn random_parts(net: &Network, part: Option<(usize, usize)>, rng: &mut Rng) -> Vec<(LeafIx, LocalLabel)> {
    let leaves = net.leaves.len();
    let wanted = match rng.below(20) {
        0..=7 => 1,
        8..=15 => 2,
        16..=18 => 3,
        _ => rng.between(1, leaves),
    };
    let mut chosen: Vec<usize> = (0..leaves).collect();
    while chosen.len() > wanted {
        let out = rng.below(chosen.len());
        if part.is_none_or(|(leaf, _)| leaf != chosen[out]) {
            chosen.remove(out);
        }
    }
    let mut label = |leaf: usize| match part {
        Some((given, label)) if given == leaf => LocalLabel(label as u32),
        _ => LocalLabel(rng.below(net.leaves[leaf].labels.len()) as u32),
    };
    chosen.into_iter().map(|leaf| (LeafIx(leaf as u32), label(leaf))).collect()
}

fn add_vector(net: &mut Network, parts: Vec<(LeafIx, LocalLabel)>, fault: bool, rng: &mut Rng) {
    // Few labels, so that different vectors share one.
    let unhidden = net.label(&format!("a{}", rng.below(8)));
    let outcome = if fault {
        net.faults.push(format!("fault of vector {}", net.vectors.len()));
        Outcome::Fault(net.faults.len() as u32 - 1)
    } else if rng.percent(20) {
        Outcome::Step(crate::model::network::Label::TAU)
    } else {
        Outcome::Step(unhidden)
    };
    net.add_vector(parts, outcome, unhidden);
}

/// Reveals a known network as a table source does: local states, labels and vectors appear when they are first needed,
/// numbered in that order.
pub struct Reveal {
    full: Network,
    /// For each leaf the original number of each local state, and its new number.
    original: Vec<Vec<Local>>,
    known: Vec<Map<Local, Local>>,
    labels: Vec<Map<LocalLabel, LocalLabel>>,
    vectors: Vec<bool>,
    fail_at: Option<(LeafIx, Local)>,
}

impl Reveal {
    /// A network with initial states only, and the source for the rest of `full`.
    pub fn new(full: Network) -> (Network, Self) {
        let mut net = Network::new();
        full.labels.iter().for_each(|text| {
            net.label(text);
        });
        net.faults.clone_from(&full.faults);
        for leaf in &full.leaves {
            let leaf = net.add_leaf(leaf.name.clone());
            net.add_state(leaf);
        }
        let leaves = full.leaves.len();
        let source = Reveal {
            original: vec![vec![Local(0)]; leaves],
            known: vec![Map::from_iter([(Local(0), Local(0))]); leaves],
            labels: vec![Map::default(); leaves],
            vectors: vec![false; full.vectors.len()],
            full,
            fail_at: None,
        };
        (0..leaves).for_each(|leaf| net.leaves[leaf].terminated = source.end(leaf));
        (net, source)
    }

    /// Makes the expansion of a local state, by its original number, fail.
    pub fn fail_at(self, leaf: LeafIx, local: Local) -> Self {
        Reveal { fail_at: Some((leaf, local)), ..self }
    }

    /// The terminated state of a leaf, if it is known.
    fn end(&self, leaf: usize) -> Option<Local> {
        self.known[leaf].get(&self.full.leaves[leaf].terminated?).copied()
    }

    fn label(&mut self, net: &mut Network, leaf: LeafIx, label: LocalLabel) -> LocalLabel {
        let i = leaf.0 as usize;
        if let Some(&known) = self.labels[i].get(&label) {
            return known;
        }
        let new = net.add_local_label(leaf, self.full.leaves[i].labels[label.0 as usize].clone());
        self.labels[i].insert(label, new);
        // A vector appears with the last of its labels.
        for &v in &self.full.leaves[i].vectors_of[label.0 as usize] {
            let vector = &self.full.vectors[v.0 as usize];
            let known = |&(leaf, label): &(LeafIx, LocalLabel)| {
                self.labels[leaf.0 as usize].get(&label).map(|&known| (leaf, known))
            };
            let parts: Option<Vec<_>> = vector.parts.iter().map(known).collect();
            if let Some(parts) = parts.filter(|_| !self.vectors[v.0 as usize]) {
                net.add_vector(parts, vector.outcome, vector.unhidden);
                self.vectors[v.0 as usize] = true;
            }
        }
        new
    }
}

impl TableSource for Reveal {
    fn expand(&mut self, net: &mut Network, leaf: LeafIx, local: Local) -> Result<()> {
        let i = leaf.0 as usize;
        let original = self.original[i][local.0 as usize];
        if self.fail_at == Some((leaf, original)) {
            return Err(Error::Input(format!("no table for {}", self.describe(leaf, local))));
        }
        for (label, to) in self.full.leaves[i].states[original.0 as usize].moves.clone() {
            let label = self.label(net, leaf, label);
            let to = *self.known[i].entry(to).or_insert_with(|| {
                self.original[i].push(to);
                net.add_state(leaf)
            });
            net.add_move(leaf, local, label, to);
        }
        net.leaves[i].states[local.0 as usize].expanded = true;
        net.leaves[i].terminated = self.end(i);
        Ok(())
    }

    fn describe(&self, leaf: LeafIx, local: Local) -> String {
        format!(
            "{} in {}",
            self.full.leaves[leaf.0 as usize].name, self.original[leaf.0 as usize][local.0 as usize].0
        )
    }
}

/// Random properties of a network: freedom from deadlock, forbidden vectors, monitors; none to four of them.
pub fn properties(net: &Network, seed: u64) -> Vec<Property> {
    let mut rng = Rng::new(seed ^ 0x70_726f_7065_7274);
    (0..rng.below(5))
        .map(|k| match rng.below(3) {
            0 => Property::DeadlockFree { allow_termination: seed % 2 == 1 },
            1 => {
                // By what the vector is, not by its number: that can be another one if tables are revealed.
                let forbidden = net.vectors[rng.below(net.vectors.len())].clone();
                let texts = texts(net, &forbidden);
                Property::Never(Box::new(move |net, v| texts == self::texts(net, &net.vectors[v.0 as usize])))
            }
            _ => Property::Monitor(monitor(&format!("monitor {k}"), &mut rng)),
        })
        .collect()
}

/// The label of a vector and those of its parts.
fn texts(net: &Network, vector: &Vector) -> Vec<String> {
    let part =
        |&(leaf, label): &(LeafIx, LocalLabel)| net.leaves[leaf.0 as usize].labels[label.0 as usize].clone();
    let label = net.labels[vector.unhidden.0 as usize].clone();
    std::iter::once(label).chain(vector.parts.iter().map(part)).collect()
}

/// A random monitor whose classes depend on the vectors' labels.
pub fn monitor(name: &str, rng: &mut Rng) -> Monitor {
    let (states, classes) = (rng.between(2, 5), rng.between(1, 4));
    let salt = rng.bits();
    let classify = move |net: &Network, v: VectorIx| {
        let label = &net.labels[net.vectors[v.0 as usize].unhidden.0 as usize];
        let text = label.bytes().fold(salt, |sum, b| sum.wrapping_mul(31).wrapping_add(u64::from(b)));
        Rng::new(text).below(classes) as u32
    };
    let mut next = vec![vec![0; classes]; states];
    for (state, row) in next.iter_mut().enumerate() {
        for to in row {
            *to = if rng.percent(50) { state } else { rng.below(states) } as u32;
        }
    }
    let bad = (0..states).map(|s| s + 1 == states || (s == 0 && rng.percent(2))).collect();
    Monitor::new(name, Box::new(classify), next, bad).expect("total by construction")
}
