//! Leaves out what no run of the whole system does.
//!
//! The joint fixpoint: a state of a component counts as reachable if it is by labels that occur in a sync all of whose parts
//! are offered in reachable states. Every run of the system stays within it. What is outside goes: states, moves, labels,
//! syncs. Labels of a component that occur in the same contexts become one. For what is bad, components that are not
//! connected with the observer go, together with their syncs: they can always be left standing.

use super::Keep;
use super::mutants::{self, Mutant};
use super::reduce::trim;
use super::system::{BAD, Component, FIRST, Origin, Sync, System, TAU};
use crate::base::hash::Map;
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;
use std::sync::Arc;

impl System {
    /// Leaves out all that can be, until nothing changes.
    pub(in crate::engine) fn prune(&mut self, keep: Keep) {
        loop {
            let mut changed = self.fixpoint();
            changed |= self.merge_labels();
            if keep != Keep::Deadlocks {
                changed |= self.trim_observer();
                changed |= self.leave_out_unconnected();
            }
            if !changed {
                return;
            }
        }
    }

    /// The slot of the observer.
    pub(in crate::engine) fn observer(&self) -> Option<u32> {
        self.slots().find(|&slot| self.component(slot).observes)
    }

    fn fixpoint(&mut self) -> bool {
        let mut reach = Reach::new(self);
        reach.run();
        let Reach { reached, alive, missing, .. } = reach;
        let mut changed = false;
        let mut number_of: Vec<Option<Vec<u32>>> = vec![None; self.components.len()];
        for slot in 0..self.components.len() {
            let Some(component) = self.components[slot].clone() else { continue };
            let (reached, alive) = (&reached[slot], &alive[slot]);
            if reached.iter().all(|r| *r) && alive.iter().skip(FIRST as usize).all(|a| *a) {
                continue;
            }
            changed = true;
            let kept: Vec<u32> =
                (0..alive.len() as u32).filter(|&label| label < FIRST || alive[label as usize]).collect();
            let mut label_number = vec![u32::MAX; alive.len()];
            kept.iter().zip(0..).for_each(|(&label, number)| label_number[label as usize] = number);
            let states: Vec<u32> =
                (0..reached.len() as u32).filter(|&state| reached[state as usize]).collect();
            let mut state_number = vec![u32::MAX; reached.len()];
            states.iter().zip(0..).for_each(|(&state, number)| state_number[state as usize] = number);
            let mut builder = Builder::new();
            builder.require_states(states.len() as u32);
            for (from, &state) in states.iter().enumerate() {
                for t in component.lts.outgoing(State(state)) {
                    let label = label_number[t.label.0 as usize];
                    if label != u32::MAX {
                        let to = state_number[t.to.0 as usize];
                        builder.add(State(from as u32), Label(label), State(to));
                    }
                }
            }
            let component = Component {
                lts: Arc::new(builder.finish_numbered(kept.len() as u32, State(0))),
                label_of: kept.iter().map(|&label| component.label_of[label as usize].clone()).collect(),
                state_of: states.iter().map(|&state| component.state_of[state as usize]).collect(),
                version: self.version(),
                ..(*component).clone()
            };
            self.components[slot] = Some(Arc::new(component));
            number_of[slot] = Some(label_number);
        }
        let before = self.syncs.len();
        let mut missing = missing.into_iter();
        self.syncs.retain(|_| missing.next() == Some(0));
        for part in self.syncs.iter_mut().flatten() {
            if let Some(numbers) = &number_of[part.0 as usize] {
                part.1 = numbers[part.1 as usize];
            }
        }
        self.tidy();
        changed || self.syncs.len() != before
    }

    /// Labels of one component that the others cannot tell apart become one.
    fn merge_labels(&mut self) -> bool {
        let mut changed = false;
        for slot in self.slots().collect::<Vec<_>>() {
            let component = self.component(slot).clone();
            if !matches!(component.origin, Origin::Made(_)) {
                // The labels of leaves are merged when their own steps are hidden.
                continue;
            }
            let mut contexts: Vec<Vec<Sync>> = vec![Vec::new(); component.lts.labels().len()];
            for sync in &self.syncs {
                if let Some(part) = sync.iter().find(|part| part.0 == slot) {
                    let others = sync.iter().filter(|part| part.0 != slot).copied().collect();
                    contexts[part.1 as usize].push(others);
                }
            }
            contexts.iter_mut().for_each(|contexts| contexts.sort_unstable());
            let mut known: Map<&[Sync], u32> = Map::default();
            let mut number: Vec<u32> = (0..FIRST).collect();
            for contexts in &contexts[FIRST as usize..] {
                let next = FIRST + known.len() as u32;
                number.push(*known.entry(contexts).or_insert(next));
            }
            let labels = FIRST + known.len() as u32;
            if labels as usize == contexts.len() {
                continue;
            }
            changed = true;
            let mut label_of: Vec<Vec<u32>> = vec![Vec::new(); labels as usize];
            for (label, of) in component.label_of.iter().enumerate() {
                label_of[number[label] as usize].extend(of);
            }
            let component = Component {
                lts: Arc::new(renamed(&component.lts, &number, labels)),
                label_of,
                version: self.version(),
                ..(*component).clone()
            };
            self.components[slot as usize] = Some(Arc::new(component));
            let parts = self.syncs.iter_mut().flatten().filter(|part| part.0 == slot);
            parts.for_each(|part| part.1 = number[part.1 as usize]);
            self.tidy();
        }
        changed
    }

    fn trim_observer(&mut self) -> bool {
        let Some(slot) = self.observer() else { return false };
        let component = self.component(slot).clone();
        let lts = trim(&component.lts);
        if (lts.num_states(), lts.num_transitions())
            == (component.lts.num_states(), component.lts.num_transitions())
        {
            return false;
        }
        // Only where deadlocks are kept the origin of a state matters.
        let state_of = vec![0; lts.num_states()];
        let lts = Arc::new(lts);
        let component = Component { lts, state_of, version: self.version(), ..(*component).clone() };
        self.components[slot as usize] = Some(Arc::new(component));
        true
    }

    fn leave_out_unconnected(&mut self) -> bool {
        let Some(observer) = self.observer() else { return false };
        let mut connected = vec![false; self.components.len()];
        connected[observer as usize] = true;
        loop {
            let before = connected.clone();
            for sync in &self.syncs {
                if sync.iter().any(|part| connected[part.0 as usize]) {
                    sync.iter().for_each(|part| connected[part.0 as usize] = true);
                }
            }
            if before == connected || mutants::is(Mutant::DropConnected) {
                break;
            }
        }
        let mut changed = false;
        for (component, connected) in self.components.iter_mut().zip(&connected) {
            changed |= !connected && component.take().is_some();
        }
        for sync in &mut self.syncs {
            // All parts or none, as long as this is right.
            sync.retain(|part| connected[part.0 as usize]);
        }
        self.syncs.retain(|sync| !sync.is_empty());
        self.tidy();
        changed
    }
}

fn renamed(lts: &Lts, number: &[u32], labels: u32) -> Lts {
    let mut builder = Builder::new();
    builder.require_states(lts.num_states() as u32);
    let mut moves: Vec<(u32, u32)> = Vec::new();
    for state in lts.states() {
        moves.clear();
        moves.extend(lts.outgoing(state).iter().map(|t| (number[t.label.0 as usize], t.to.0)));
        moves.sort_unstable();
        moves.dedup();
        moves.iter().for_each(|&(label, to)| builder.add(state, Label(label), State(to)));
    }
    builder.finish_numbered(labels, State(0))
}

/// The joint fixpoint while it is computed.
struct Reach<'a> {
    system: &'a System,
    /// For each component which states are reached, and which labels are in a sync that all can take part in.
    reached: Vec<Vec<bool>>,
    alive: Vec<Vec<bool>>,
    /// For each component which labels are offered in a reached state.
    offered: Vec<Vec<bool>>,
    /// For each component and label where it leads, as long as it is not alive.
    waiting: Vec<Vec<Vec<u32>>>,
    syncs_of: Vec<Vec<Vec<u32>>>,
    /// For each sync how many of its parts are not offered yet.
    missing: Vec<usize>,
    queue: Vec<(u32, u32)>,
}

impl<'a> Reach<'a> {
    fn new(system: &'a System) -> Self {
        let of = |size: &dyn Fn(&Component) -> usize| -> Vec<usize> {
            system.components.iter().map(|c| c.as_ref().map_or(0, |c| size(c))).collect()
        };
        let states = of(&|c| c.lts.num_states());
        let labels = of(&|c| c.lts.labels().len());
        let flags = |sizes: &[usize]| sizes.iter().map(|&n| vec![false; n]).collect::<Vec<_>>();
        let mut syncs_of: Vec<Vec<Vec<u32>>> = labels.iter().map(|&n| vec![Vec::new(); n]).collect();
        for (ix, sync) in system.syncs.iter().enumerate() {
            for &(slot, label) in sync {
                syncs_of[slot as usize][label as usize].push(ix as u32);
            }
        }
        Reach {
            system,
            reached: flags(&states),
            alive: flags(&labels),
            offered: flags(&labels),
            waiting: labels.iter().map(|&n| vec![Vec::new(); n]).collect(),
            syncs_of,
            missing: system.syncs.iter().map(Vec::len).collect(),
            queue: Vec::new(),
        }
    }

    fn run(&mut self) {
        for slot in self.system.slots() {
            self.reach(slot, 0);
        }
        while let Some((slot, state)) = self.queue.pop() {
            let component = self.system.component(slot);
            for t in component.lts.outgoing(State(state)) {
                let (c, label) = (slot as usize, t.label.0 as usize);
                if t.label.0 == TAU || t.label.0 == BAD || self.alive[c][label] {
                    self.reach(slot, t.to.0);
                    continue;
                }
                self.waiting[c][label].push(t.to.0);
                if !std::mem::replace(&mut self.offered[c][label], true) {
                    self.offer(c, label);
                }
            }
        }
    }

    fn reach(&mut self, slot: u32, state: u32) {
        if !std::mem::replace(&mut self.reached[slot as usize][state as usize], true) {
            self.queue.push((slot, state));
        }
    }

    fn offer(&mut self, slot: usize, label: usize) {
        for sync in std::mem::take(&mut self.syncs_of[slot][label]) {
            self.missing[sync as usize] -= 1;
            if self.missing[sync as usize] > 0 {
                continue;
            }
            for &(c, label) in &self.system.syncs[sync as usize] {
                self.alive[c as usize][label as usize] = true;
                for state in std::mem::take(&mut self.waiting[c as usize][label as usize]) {
                    self.reach(c, state);
                }
            }
        }
    }
}
