//! Components and the steps that they take together.
//!
//! A component is an LTS whose labels are numbers: [`TAU`], [`BAD`], and from [`FIRST`] on those by which it takes part in
//! *syncs*. A sync lists components with the label that each contributes, at least one, each component once; all of them
//! must be able to, and then they move together. So a system is a network whose steps have no names any more: what a step
//! is called matters only to the observer of a property, which is a component like others.
//!
//! Invariants: the moves of a state are sorted by label; a state with a [`BAD`] move has no other move and stays where it
//! is; initial states are 0; once the own steps of leaves are hidden, no sync has fewer than two parts.

use super::mutants::{self, Mutant};
use super::product::{NONE, Table};
use crate::base::hash::Map;
use crate::base::memory::{Budget, Exhausted};
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::{Label, LeafIx, Local, Network, Outcome, Vector, VectorIx};
use crate::property::{Monitor, Property};
use std::sync::Arc;

/// The label of steps that a component takes alone.
pub(in crate::engine) const TAU: u32 = 0;
/// The label by which the observer says that the property is violated. No component can hinder it.
pub(in crate::engine) const BAD: u32 = 1;
/// The first label by which a component takes part in syncs.
pub(in crate::engine) const FIRST: u32 = 2;

/// The components that take part in a step, in ascending order, with what each contributes.
pub(in crate::engine) type Sync = Vec<(u32, u32)>;

/// Bytes taken from a budget, given back at the end.
#[derive(Debug)]
pub(in crate::engine) struct Held {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Held {
    pub(in crate::engine) fn new(budget: &Arc<Budget>, bytes: u64) -> Result<Self, Exhausted> {
        budget.take(bytes)?;
        Ok(Held { budget: budget.clone(), bytes })
    }

    /// Takes some more.
    pub(in crate::engine) fn grow(&mut self, bytes: u64) -> Result<(), Exhausted> {
        self.budget.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.give(self.bytes);
    }
}

/// Where a component comes from.
#[derive(Clone, Debug)]
pub(in crate::engine) enum Origin {
    /// A leaf of the network: states and labels are its own, labels shifted by [`FIRST`].
    Leaf(LeafIx),
    /// The observer of the property, which is no part of the network.
    Observer,
    /// A product that was reduced.
    Made(Arc<Making>),
}

/// What a component was made of: one component whose own steps were hidden, or two that were put together.
#[derive(Debug)]
pub(in crate::engine) struct Making {
    pub(in crate::engine) first: Arc<Component>,
    pub(in crate::engine) second: Option<Arc<Component>>,
    pub(in crate::engine) table: Table,
}

/// One process, or several that were put together.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Component {
    pub(in crate::engine) lts: Arc<Lts>,
    pub(in crate::engine) origin: Origin,
    /// For each label those of the origin that it stands for.
    pub(in crate::engine) label_of: Vec<Vec<u32>>,
    /// For each state that of the origin: of the leaf, or of the reduced product.
    pub(in crate::engine) state_of: Vec<u32>,
    /// Whether the observer is in it.
    pub(in crate::engine) observes: bool,
    /// Where the account of the run lists it.
    pub(in crate::engine) node: usize,
    /// Different for components that differ.
    pub(in crate::engine) version: u64,
    /// The memory of its transitions.
    pub(in crate::engine) _held: Arc<Held>,
}

impl Component {
    /// States and transitions together: what there is to look at.
    pub(in crate::engine) fn size(&self) -> u64 {
        (self.lts.num_states() + self.lts.num_transitions()) as u64
    }

    /// Whether the property is violated in a state.
    pub(in crate::engine) fn is_bad(&self, state: u32) -> bool {
        is_bad(&self.lts, state)
    }
}

/// Whether the property is violated in a state.
pub(in crate::engine) fn is_bad(lts: &Lts, state: u32) -> bool {
    lts.outgoing(State(state)).first().is_some_and(|t| t.label.0 == BAD)
}

/// The moves of a state with one label.
pub(in crate::engine) fn moves_with(
    lts: &Lts,
    state: u32,
    label: u32,
) -> &[crate::model::explicit::Transition] {
    let moves = lts.outgoing(State(state));
    let start = moves.partition_point(|t| t.label.0 < label);
    let end = start + moves[start..].partition_point(|t| t.label.0 == label);
    &moves[start..end]
}

/// Bytes of an LTS.
pub(in crate::engine) fn bytes_of(lts: &Lts) -> u64 {
    (lts.num_states() * 16 + lts.num_transitions() * 12 + lts.labels().len() * 40) as u64
}

/// The question about a system.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum SystemQuestion<'a> {
    /// That no fault is reachable.
    Faults,
    /// That the property holds, in a system without reachable faults.
    Property(&'a Property),
}

impl SystemQuestion<'_> {
    /// The sync that a vector is, with the observer as the last part if it hears it.
    pub(in crate::engine) fn sync(self, net: &Network, vector: VectorIx) -> Option<Sync> {
        let Vector { parts, outcome, .. } = &net.vectors[vector.0 as usize];
        let fault = matches!(outcome, Outcome::Fault(_));
        let heard = match self {
            SystemQuestion::Faults => fault.then_some(FIRST),
            // Proved to be unreachable before this is asked.
            SystemQuestion::Property(_) if fault => return None,
            SystemQuestion::Property(Property::Never(forbidden)) => forbidden(net, vector).then_some(FIRST),
            SystemQuestion::Property(Property::Monitor(monitor)) => {
                let class = monitor.class(net, vector);
                monitor.listens_to(class).then_some(class + FIRST)
            }
            SystemQuestion::Property(Property::DeadlockFree { .. } | Property::Formula(_)) => None,
        };
        let parts = parts.iter().map(|(leaf, label)| (leaf.0, label.0 + FIRST));
        Some(parts.chain(heard.map(|label| (net.leaves.len() as u32, label))).collect())
    }
}

/// The components that are left. Slots of those that were put together are empty.
#[derive(Clone, Debug)]
pub(in crate::engine) struct System {
    pub(in crate::engine) components: Vec<Option<Arc<Component>>>,
    pub(in crate::engine) syncs: Vec<Sync>,
    versions: u64,
}

impl System {
    /// The leaves of a network, with the observer of what is asked.
    pub(in crate::engine) fn new(
        net: &Network,
        asked: SystemQuestion,
        budget: &Arc<Budget>,
    ) -> Result<Self, Exhausted> {
        let mut system = System::leaves(net, budget)?;
        match asked {
            SystemQuestion::Faults | SystemQuestion::Property(Property::Never(_)) => {
                system.add_alarm(budget)?
            }
            SystemQuestion::Property(Property::Monitor(monitor)) => system.add_monitor(monitor, budget)?,
            SystemQuestion::Property(Property::DeadlockFree { .. } | Property::Formula(_)) => {}
        }
        system.syncs = (0..net.vectors.len() as u32).filter_map(|v| asked.sync(net, VectorIx(v))).collect();
        if let SystemQuestion::Property(Property::DeadlockFree { allow_termination: true }) = asked {
            system.add_regular_end(net, budget)?;
        }
        system.tidy();
        Ok(system)
    }

    /// A system without components.
    pub(super) fn empty() -> Self {
        System { components: Vec::new(), syncs: Vec::new(), versions: 0 }
    }

    /// The leaves of a network, without syncs.
    pub(in crate::engine) fn leaves(net: &Network, budget: &Arc<Budget>) -> Result<Self, Exhausted> {
        let mut system = System::empty();
        for (ix, leaf) in (0..).map(LeafIx).zip(&net.leaves) {
            let mut builder = Builder::new();
            builder.require_states(leaf.states.len() as u32);
            for (from, table) in (0..).map(State).zip(&leaf.states) {
                for &(label, to) in &table.moves {
                    builder.add(from, Label(label.0 + FIRST), State(to.0));
                }
            }
            system.add(builder, leaf.labels.len() as u32 + FIRST, Origin::Leaf(ix), false, budget)?;
        }
        Ok(system)
    }

    pub(in crate::engine) fn add(
        &mut self,
        builder: Builder,
        labels: u32,
        origin: Origin,
        observes: bool,
        budget: &Arc<Budget>,
    ) -> Result<(), Exhausted> {
        let lts = builder.finish_numbered(labels, State(0));
        let held = Arc::new(Held::new(budget, bytes_of(&lts))?);
        let component = Component {
            label_of: (0..labels).map(|label| vec![label]).collect(),
            state_of: (0..lts.num_states() as u32).collect(),
            lts: Arc::new(lts),
            origin,
            observes,
            node: self.components.len(),
            version: self.version(),
            _held: held,
        };
        self.components.push(Some(Arc::new(component)));
        Ok(())
    }

    /// A number that no component has.
    pub(in crate::engine) fn version(&mut self) -> u64 {
        self.versions += 1;
        self.versions
    }

    /// An observer for steps that must not happen.
    fn add_alarm(&mut self, budget: &Arc<Budget>) -> Result<(), Exhausted> {
        let mut builder = Builder::new();
        builder.add(State(0), Label(FIRST), State(1));
        builder.add(State(1), Label(BAD), State(1));
        self.add(builder, FIRST + 1, Origin::Observer, true, budget)
    }

    fn add_monitor(&mut self, monitor: &Monitor, budget: &Arc<Budget>) -> Result<(), Exhausted> {
        let mut builder = Builder::new();
        for state in 0..monitor.states() as u32 {
            if monitor.is_bad(Local(state)) {
                builder.add(State(state), Label(BAD), State(state));
                continue;
            }
            for class in 0..monitor.classes() {
                builder.add(State(state), Label(class + FIRST), State(monitor.next(Local(state), class).0));
            }
        }
        self.add(builder, monitor.classes() + FIRST, Origin::Observer, true, budget)
    }

    /// A state in which all have terminated is no deadlock: there all can stay, together.
    fn add_regular_end(&mut self, net: &Network, budget: &Arc<Budget>) -> Result<(), Exhausted> {
        let Some(ends) = net.leaves.iter().map(|leaf| leaf.terminated).collect::<Option<Vec<_>>>() else {
            return Ok(());
        };
        let mut sync = Sync::new();
        for (slot, end) in ends.into_iter().enumerate() {
            let Some(component) = self.components[slot].take() else { continue };
            let label = component.lts.labels().len() as u32;
            let mut builder = Builder::new();
            for (from, name, to) in component.lts.transitions() {
                builder.add(from, name, to);
            }
            builder.require_states(component.lts.num_states() as u32);
            builder.add(State(end.0), Label(label), State(end.0));
            let lts = builder.finish_numbered(label + 1, State(0));
            let held = Arc::new(Held::new(budget, bytes_of(&lts))?);
            let mut label_of = component.label_of.clone();
            label_of.push(vec![label]);
            let component = Component { lts: Arc::new(lts), label_of, _held: held, ..(*component).clone() };
            self.components[slot] = Some(Arc::new(component));
            sync.push((slot as u32, label));
        }
        self.syncs.push(sync);
        Ok(())
    }

    /// Sorts the syncs; those that cannot be told apart become one.
    pub(in crate::engine) fn tidy(&mut self) {
        self.syncs.sort_unstable();
        self.syncs.dedup();
    }

    /// The slots that are in use.
    pub(in crate::engine) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.components).filter(|(_, component)| component.is_some()).map(|(slot, _)| slot)
    }

    /// The component in a slot that is in use.
    pub(in crate::engine) fn component(&self, slot: u32) -> &Arc<Component> {
        self.components[slot as usize].as_ref().expect("the slot is in use")
    }

    /// What components in one or two slots do, seen from the others: steps without other components are hidden, and steps
    /// in which the others cannot tell the difference get one label. Also the syncs of the product, which stands in the
    /// first slot.
    pub(in crate::engine) fn table(&self, first: u32, second: Option<u32>) -> (Table, Vec<Sync>) {
        // For each pair of labels the contexts in which it occurs: the parts of the others.
        let mut contexts: Map<(u32, u32), Vec<Sync>> = Map::default();
        let mut hidden: Vec<(u32, u32)> = Vec::new();
        for sync in &self.syncs {
            let own = |slot: u32| sync.iter().find(|part| part.0 == slot).map_or(NONE, |part| part.1);
            let pair = (own(first), second.map_or(NONE, own));
            if pair == (NONE, NONE) {
                continue;
            }
            let others: Sync =
                sync.iter().filter(|part| part.0 != first && Some(part.0) != second).copied().collect();
            let observer = |slot: u32| self.component(slot).observes;
            let unheard = mutants::is(Mutant::HideHeard) && others.iter().all(|part| observer(part.0));
            match others.is_empty() || unheard {
                true => hidden.push(pair),
                false => contexts.entry(pair).or_default().push(others),
            }
        }
        let mut pairs: Vec<((u32, u32), Vec<Sync>)> = contexts.into_iter().collect();
        pairs.iter_mut().for_each(|(_, contexts)| contexts.sort_unstable());
        pairs.sort_unstable();
        hidden.sort_unstable();
        let mut labels: Map<&[Sync], u32> = Map::default();
        let mut shown = Vec::with_capacity(pairs.len());
        let mut syncs: Vec<Sync> = Vec::new();
        for (pair, contexts) in &pairs {
            let next = FIRST + labels.len() as u32;
            let label = *labels.entry(contexts).or_insert(next);
            if label == next {
                for others in contexts {
                    let mut sync = others.clone();
                    sync.push((first, label));
                    sync.sort_unstable();
                    syncs.push(sync);
                }
            }
            shown.push((*pair, label));
        }
        let count = FIRST + labels.len() as u32;
        let of = |slot: u32| self.component(slot).lts.labels().len();
        let table = Table::new(of(first), second.map_or(0, of), count, &hidden, &shown);
        (table, syncs)
    }

    /// Has what components in one or two slots do called as their [table](System::table) says.
    pub(super) fn rename(&mut self, first: u32, second: Option<u32>, syncs: Vec<Sync>) {
        self.syncs.retain(|sync| sync.iter().all(|part| part.0 != first && Some(part.0) != second));
        self.syncs.extend(syncs);
        self.tidy();
    }

    /// Puts a product in the place of what it was made of.
    pub(in crate::engine) fn replace(
        &mut self,
        first: u32,
        second: Option<u32>,
        product: Component,
        syncs: Vec<Sync>,
    ) {
        self.rename(first, second, syncs);
        if let Some(second) = second {
            self.components[second as usize] = None;
        }
        self.components[first as usize] = Some(Arc::new(product));
    }
}
