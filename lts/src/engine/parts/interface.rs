//! Exploration by interfaces: components see of each other only what they do together, and the product is made
//! deterministic while it is explored.
//!
//! A *macro-state* of a component is the set of its states after one word of the labels by which it takes part in syncs;
//! what it does alone happens in between. Components share no state, so given such a word they choose independently: a
//! tuple of macro-states is reachable if and only if some run has the word, and every combination of their members is then
//! a reachable state. Where a label leads from a macro-state does not depend on the other components, so it is computed
//! once and remembered.
//!
//! The same again one level up: a *group* is a component whose states are tuples of macro-states of its children, and
//! whose own steps are the syncs within it. The root is the group of all, so that exploring the system is to close its
//! initial macro-state. Groups may be in groups.
//!
//! Invariants: numbers of members, macro-states and tuples follow from the order of exploration, which is fixed. A
//! macro-state with a bad member is that member alone: nothing else matters any more.

use super::product::{Effort, NONE};
use super::system::{BAD, Component, FIRST, Held, Sync, System, TAU};
use super::{Seen, Trouble};
use crate::base::hash::{Map, Set};
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which components are together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Tree {
    Slot(u32),
    Group(Vec<Tree>),
}

/// A step of a member: what the outside sees of it, where it leads, and what it is: the own label of a component, or the
/// place of a sync of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Move {
    pub(super) label: u32,
    pub(super) to: u32,
    pub(super) via: u32,
}

/// A sync of a group: children with what each contributes, and what the outside sees of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Joint {
    pub(super) parts: Vec<(u32, u32)>,
    pub(super) label: u32,
}

pub(super) struct Group {
    pub(super) children: Vec<usize>,
    pub(super) syncs: Vec<Joint>,
    /// The syncs by their first part.
    by_first: Map<(u32, u32), Vec<u32>>,
    /// The syncs that are hidden from outside, by their last part.
    pub(super) own_by_last: Map<(u32, u32), Vec<u32>>,
    /// The members: macro-states of the children.
    pub(super) tuples: Vec<Arc<[u32]>>,
    numbers: Map<Arc<[u32]>, u32>,
}

pub(super) enum Kind {
    Component {
        component: Arc<Component>,
        /// For each label whether it is a step alone, and whether others see it.
        alone: Vec<bool>,
        seen: Vec<bool>,
    },
    Group(Group),
}

/// A component or a group.
pub(super) struct Node {
    pub(super) kind: Kind,
    labels: u32,
    /// For each member its moves, sorted, once they are known.
    pub(super) moves: Vec<Option<Box<[Move]>>>,
    /// The macro-states: members in ascending order.
    pub(super) macros: Vec<Arc<[u32]>>,
    numbers: Map<Arc<[u32]>, u32>,
    offers: Vec<Box<[u32]>>,
    pub(super) bad: Vec<bool>,
    steps: Map<(u32, u32), u32>,
    /// For each macro-state the minimal ready sets, once they are known.
    pub(super) ready: Vec<Option<ReadySets>>,
    /// Members whose moves are not known yet; they are never stuck.
    pub(super) unknown: Set<u32>,
}

/// What stable members offer, nothing twice and nothing that contains another one.
pub(super) type ReadySets = Arc<[Box<[u32]>]>;

/// The nodes; children before groups, the root last.
pub(super) struct Interfaces<'a> {
    pub(super) nodes: Vec<Node>,
    pub(super) effort: Effort<'a>,
    members: usize,
    pub(super) work: u64,
    /// For each child of the root and each sync of the system what the child contributes.
    contributed: Vec<Vec<u32>>,
    held: Held,
    seen: Seen,
}

/// How the exploration ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Found {
    /// A tuple is bad.
    Bad,
    /// The components can be stuck in a tuple.
    Stuck,
    Nothing,
}

/// Tuples between two looks at the clock and the budget.
const CHUNK: usize = 1 << 8;
/// Bytes of a number in a set, and of everything around a set or a list of moves.
const NUMBER: u64 = 4;
const AROUND: u64 = 120;

impl<'a> Interfaces<'a> {
    /// The components of a system, in a tree; `members` is the most that a macro-state may have.
    pub(super) fn new(
        system: &System,
        tree: &[Tree],
        members: usize,
        effort: Effort<'a>,
    ) -> Result<Self, Trouble> {
        let held = Held::new(effort.budget, 0)?;
        let mut interfaces = Interfaces {
            nodes: Vec::new(),
            effort,
            members,
            work: 0,
            contributed: Vec::new(),
            held,
            seen: Seen::default(),
        };
        interfaces.seen.groups = tree.len() as u64;
        let mut inside = vec![0; system.syncs.len()];
        interfaces.group(system, tree, &mut inside)?;
        Ok(interfaces)
    }

    /// Adds a group; gives for each sync what the group contributes, and in `inside` how many parts it has there.
    fn group(&mut self, system: &System, tree: &[Tree], inside: &mut [usize]) -> Result<Vec<u32>, Trouble> {
        let (mut children, mut contributed) = (Vec::new(), Vec::new());
        for tree in tree {
            let mut within = vec![0; system.syncs.len()];
            let labels = match tree {
                Tree::Slot(slot) => self.component(system, *slot, &mut within),
                Tree::Group(trees) => self.group(system, trees, &mut within)?,
            };
            inside.iter_mut().zip(&within).for_each(|(sum, n)| *sum += n);
            children.push(self.nodes.len() - 1);
            contributed.push(labels);
        }
        let mut names: Map<Vec<(u32, u32)>, u32> = Map::default();
        let mut syncs = Vec::new();
        let mut labels = vec![NONE; system.syncs.len()];
        for (k, sync) in system.syncs.iter().enumerate() {
            let parts: Vec<(u32, u32)> =
                (0..).zip(&contributed).map(|(i, of)| (i, of[k])).filter(|part| part.1 != NONE).collect();
            if parts.is_empty() {
                continue;
            }
            if inside[k] == sync.len() {
                syncs.push(Joint { parts, label: TAU });
                continue;
            }
            let next = FIRST + names.len() as u32;
            labels[k] = *names.entry(parts.clone()).or_insert(next);
            syncs.push(Joint { parts, label: labels[k] });
        }
        syncs.sort_unstable();
        syncs.dedup();
        let mut by_first: Map<(u32, u32), Vec<u32>> = Map::default();
        let mut own_by_last: Map<(u32, u32), Vec<u32>> = Map::default();
        for (ix, joint) in (0..).zip(&syncs) {
            by_first.entry(joint.parts[0]).or_default().push(ix);
            if joint.label == TAU {
                own_by_last.entry(joint.parts[joint.parts.len() - 1]).or_default().push(ix);
            }
        }
        let start: Arc<[u32]> =
            children.iter().map(|&child| self.macro_state(child, vec![0])).collect::<Result<_, _>>()?;
        let numbers = Map::from_iter([(start.clone(), 0)]);
        let kind =
            Kind::Group(Group { children, syncs, by_first, own_by_last, tuples: vec![start], numbers });
        self.nodes.push(Node::new(kind, FIRST + names.len() as u32, 1));
        self.contributed = contributed;
        Ok(labels)
    }

    fn component(&mut self, system: &System, slot: u32, inside: &mut [usize]) -> Vec<u32> {
        let component = system.component(slot).clone();
        let count = component.lts.labels().len();
        let (mut alone, mut seen) = (vec![false; count], vec![false; count]);
        let mut labels = vec![NONE; system.syncs.len()];
        let own = |sync: &Sync| sync.iter().find(|part| part.0 == slot).map(|part| part.1);
        for (k, sync) in system.syncs.iter().enumerate() {
            let Some(label) = own(sync) else { continue };
            inside[k] = 1;
            match sync.len() {
                1 => alone[label as usize] = true,
                _ => {
                    seen[label as usize] = true;
                    labels[k] = label;
                }
            }
        }
        let states = component.lts.num_states();
        self.nodes.push(Node::new(Kind::Component { component, alone, seen }, count as u32, states));
        labels
    }

    /// Says which states of components are not expanded yet: that they offer nothing means nothing.
    pub(super) fn leave_open(&mut self, is_open: impl Fn(&Component, u32) -> bool) {
        for node in &mut self.nodes {
            if let Kind::Component { component, .. } = &node.kind {
                let states = 0..component.lts.num_states() as u32;
                node.unknown = states.filter(|&state| is_open(component, state)).collect();
            }
        }
    }

    /// Explores all tuples, breadth first. `deadlocks` says whether being stuck matters.
    pub(super) fn explore(&mut self, deadlocks: bool) -> Result<Found, Trouble> {
        let root = self.nodes.len() - 1;
        let mut next = 0;
        while let Some(tuples) = self.tuples(root).filter(|tuples| next < *tuples) {
            if next % CHUNK == 0 {
                self.effort.stop.check()?;
            }
            if tuples as u64 > self.effort.states {
                return Err(Trouble::TooLarge);
            }
            self.moves(root, next as u32)?;
            let moves = self.nodes[root].moves[next].as_deref().unwrap_or_default();
            if moves.first().is_some_and(|m| m.label == BAD) {
                return Ok(Found::Bad);
            }
            self.seen.transitions += moves.len() as u64;
            if deadlocks && self.choice(root, next as u32, &[])?.is_some() {
                return Ok(Found::Stuck);
            }
            next += 1;
        }
        Ok(Found::Nothing)
    }

    fn tuples(&self, node: usize) -> Option<usize> {
        match &self.nodes[node].kind {
            Kind::Group(group) => Some(group.tuples.len()),
            Kind::Component { .. } => None,
        }
    }

    /// What was explored.
    pub(super) fn account(&self) -> Seen {
        let root = self.nodes.len() - 1;
        let mut seen = self.seen.clone();
        seen.tuples = self.tuples(root).unwrap_or(0) as u64;
        for node in &self.nodes[..root] {
            seen.macro_states += node.macros.len() as u64;
            seen.members += node.moves.iter().filter(|moves| moves.is_some()).count() as u64;
            let largest = node.macros.iter().map(|members| members.len()).max().unwrap_or(0);
            seen.largest_macro = seen.largest_macro.max(largest as u64);
        }
        seen
    }

    /// Finds out the moves of a member.
    pub(super) fn moves(&mut self, node: usize, member: u32) -> Result<(), Trouble> {
        if self.nodes[node].moves[member as usize].is_some() {
            return Ok(());
        }
        let mut moves: Vec<Move> = match &self.nodes[node].kind {
            Kind::Component { component, alone, seen } => {
                let mut moves = Vec::new();
                for t in component.lts.outgoing(State(member)) {
                    let (label, to) = (t.label.0, t.to.0);
                    if label < FIRST {
                        moves.push(Move { label, to, via: label });
                        continue;
                    }
                    let called = [(alone[label as usize], TAU), (seen[label as usize], label)];
                    let called = called.into_iter().filter(|(is, _)| *is);
                    moves.extend(called.map(|(_, name)| Move { label: name, to, via: label }));
                }
                moves
            }
            Kind::Group(_) => self.joint_moves(node, member)?,
        };
        moves.sort_unstable();
        moves.dedup();
        self.held.grow(AROUND + moves.len() as u64 * 12)?;
        self.nodes[node].moves[member as usize] = Some(moves.into());
        Ok(())
    }

    /// The syncs that a tuple allows.
    fn joint_moves(&mut self, node: usize, member: u32) -> Result<Vec<Move>, Trouble> {
        let Kind::Group(group) = &self.nodes[node].kind else { return Ok(Vec::new()) };
        let tuple = group.tuples[member as usize].clone();
        let children = group.children.clone();
        let bad = |(&child, &at): (&usize, &u32)| self.nodes[child].bad[at as usize];
        if children.iter().zip(&*tuple).any(bad) {
            return Ok(vec![Move { label: BAD, to: member, via: NONE }]);
        }
        // Which syncs all children offer; then where they lead.
        let mut enabled: Vec<u32> = Vec::new();
        for (i, (&child, &at)) in (0..).zip(children.iter().zip(&*tuple)) {
            for &label in &self.nodes[child].offers[at as usize] {
                let Some(syncs) = group.by_first.get(&(i, label)) else { continue };
                let offered = |&(i, label): &(u32, u32)| {
                    let child = children[i as usize];
                    self.nodes[child].offers[tuple[i as usize] as usize].binary_search(&label).is_ok()
                };
                let all = |&&sync: &&u32| group.syncs[sync as usize].parts[1..].iter().all(offered);
                enabled.extend(syncs.iter().filter(all));
            }
        }
        let mut moves = Vec::with_capacity(enabled.len());
        for sync in enabled {
            let Kind::Group(group) = &self.nodes[node].kind else { continue };
            let Joint { parts, label } = group.syncs[sync as usize].clone();
            let mut target = tuple.to_vec();
            for (i, label) in parts {
                let place = &mut target[i as usize];
                *place = self.step(children[i as usize], *place, label)?;
            }
            let to = self.tuple(node, target.into())?;
            moves.push(Move { label, to, via: sync });
        }
        Ok(moves)
    }

    /// The number of a tuple.
    fn tuple(&mut self, node: usize, tuple: Arc<[u32]>) -> Result<u32, Trouble> {
        let bytes = AROUND + tuple.len() as u64 * NUMBER;
        let Node { kind: Kind::Group(group), moves, .. } = &mut self.nodes[node] else { return Ok(NONE) };
        if let Some(&number) = group.numbers.get(&tuple) {
            return Ok(number);
        }
        let number = group.tuples.len() as u32;
        if u64::from(number) > self.effort.states {
            return Err(Trouble::TooLarge);
        }
        self.held.grow(bytes)?;
        group.numbers.insert(tuple.clone(), number);
        group.tuples.push(tuple);
        moves.push(None);
        Ok(number)
    }

    /// Where a label leads that a macro-state offers.
    fn step(&mut self, node: usize, from: u32, label: u32) -> Result<u32, Trouble> {
        if let Some(&to) = self.nodes[node].steps.get(&(from, label)) {
            self.seen.hits += 1;
            return Ok(to);
        }
        self.seen.steps += 1;
        let members = self.nodes[node].macros[from as usize].clone();
        let mut targets = Vec::new();
        for &member in &*members {
            let moves = self.nodes[node].moves[member as usize].as_deref().unwrap_or_default();
            let start = moves.partition_point(|m| m.label < label);
            targets.extend(moves[start..].iter().take_while(|m| m.label == label).map(|m| m.to));
        }
        let to = self.macro_state(node, targets)?;
        self.held.grow(AROUND)?;
        self.nodes[node].steps.insert((from, label), to);
        Ok(to)
    }

    /// The macro-state of some members and of what they become alone.
    fn macro_state(&mut self, node: usize, mut members: Vec<u32>) -> Result<u32, Trouble> {
        members.sort_unstable();
        members.dedup();
        let mut known: Set<u32> = members.iter().copied().collect();
        let mut next = 0;
        let mut bad = None;
        while next < members.len() {
            if next % CHUNK == 0 {
                self.effort.stop.check()?;
            }
            let member = members[next];
            next += 1;
            self.moves(node, member)?;
            self.work += 1;
            let moves = self.nodes[node].moves[member as usize].as_deref().unwrap_or_default();
            if moves.first().is_some_and(|m| m.label == BAD) {
                bad = Some(bad.map_or(member, |known: u32| known.min(member)));
            }
            let alone = moves.iter().take_while(|m| m.label == TAU).map(|m| m.to);
            members.extend(alone.filter(|&to| known.insert(to)));
            if members.len() > self.members {
                return Err(Trouble::TooLarge);
            }
        }
        if let Some(bad) = bad {
            members = vec![bad];
        }
        members.sort_unstable();
        let members: Arc<[u32]> = members.into();
        if let Some(&number) = self.nodes[node].numbers.get(&members) {
            return Ok(number);
        }
        let of = |&member: &u32| self.nodes[node].moves[member as usize].as_deref().unwrap_or_default();
        let mut offers: Vec<u32> =
            members.iter().flat_map(of).map(|m| m.label).filter(|&label| label >= FIRST).collect();
        offers.sort_unstable();
        offers.dedup();
        self.held.grow(3 * AROUND + (2 * members.len() + offers.len()) as u64 * NUMBER)?;
        let node = &mut self.nodes[node];
        let number = node.macros.len() as u32;
        node.numbers.insert(members.clone(), number);
        node.macros.push(members);
        node.offers.push(offers.into());
        node.bad.push(bad.is_some());
        node.ready.push(None);
        Ok(number)
    }

    /// What a child of the root contributes to each sync of the system.
    pub(super) fn contributed(&self, child: usize) -> &[u32] {
        &self.contributed[child]
    }

    /// What is known of a node as an LTS.
    pub(super) fn lts(&self, node: usize) -> Lts {
        let node = &self.nodes[node];
        let mut builder = Builder::new();
        builder.require_states(node.moves.len() as u32);
        for (from, moves) in (0..).map(State).zip(&node.moves) {
            for m in moves.as_deref().unwrap_or_default() {
                builder.add(from, Label(m.label), State(m.to));
            }
        }
        builder.finish_numbered(node.labels, State(0))
    }

    /// The states of components that are in a macro-state.
    pub(super) fn met(&self) -> impl Iterator<Item = (&Arc<Component>, u32)> {
        self.nodes.iter().flat_map(|node| {
            let component = match &node.kind {
                Kind::Component { component, .. } => Some(component),
                Kind::Group(_) => None,
            };
            let states = (0..).zip(&node.moves).filter(|(_, moves)| moves.is_some()).map(|(state, _)| state);
            component
                .into_iter()
                .flat_map(move |component| states.clone().map(move |state| (component, state)))
        })
    }
}

impl Node {
    pub(super) fn labels(&self) -> u32 {
        self.labels
    }

    /// Where labels lead from macro-states, in no order.
    pub(super) fn steps(&self) -> impl Iterator<Item = ((u32, u32), u32)> {
        self.steps.iter().map(|(at, to)| (*at, *to))
    }

    fn new(kind: Kind, labels: u32, members: usize) -> Self {
        Node {
            kind,
            labels,
            moves: vec![None; members],
            macros: Vec::new(),
            numbers: Map::default(),
            offers: Vec::new(),
            bad: Vec::new(),
            steps: Map::default(),
            ready: Vec::new(),
            unknown: Set::default(),
        }
    }
}
