//! From the last component back to a run of the network.
//!
//! A run is a list of happenings. At first it has only what the last component does: being bad, or nothing but reaching a
//! state. Components are then replaced by what they were made of, one after the other. A component knows which labels it
//! contributes, in order. Its product has a path with these labels, because the reduction kept them
//! ([`along`](super::along) looks for it without making the product again); what happens inside in between is put right
//! before the next label that others see. The path says what each side contributes. At the leaves the labels are those of
//! the network, and every happening is one of its vectors.
//!
//! For a deadlock the path must also end where nothing can happen inside any more and others are offered what a given
//! state offers them.
//!
//! Invariant: what comes out is replayed before it is believed.

use super::along::{Along, path, ready};
use super::interface::{Found, Interfaces};
use super::product::{Effort, Event, NONE, events};
use super::system::{BAD, Component, FIRST, Making, Origin, Sync, SystemQuestion, TAU};
use super::{Obligation, Trouble};
use crate::base::error::Error;
use crate::base::hash::Map;
use crate::engine::replay;
use crate::engine::search::Verdict;
use crate::model::explicit::State;
use crate::model::network::{Local, Network, Outcome, Step, VectorIx};
use crate::model::trace::Trace;
use crate::property::Property;
use std::sync::Arc;

/// A component that shows a violation: it is bad, or it is stuck in a state.
pub(super) struct Root {
    pub(super) component: Arc<Component>,
    pub(super) state: Option<u32>,
}

/// Something that happens in the run.
#[derive(Clone, Default)]
pub(super) struct Happening {
    /// Components that are still to be replaced, and what they contribute.
    open: Vec<(usize, u32)>,
    /// Leaves, with label and target, and the observer.
    done: Vec<(u32, u32, Local)>,
}

/// A component, or a node of the product of interfaces, that is to be replaced by what it is made of.
pub(super) struct Item {
    pub(super) what: What,
    /// Where it ends, if that matters.
    pub(super) goal: Option<Goal>,
}

pub(super) enum What {
    Component(Arc<Component>),
    /// A node of the product of interfaces.
    Node(usize),
}

/// Where the run of something has to end.
#[derive(Clone)]
pub(super) enum Goal {
    State(u32),
    /// In a state that cannot move alone and offers exactly this.
    Ready(Box<[u32]>),
}

/// The data that lifting needs.
pub(super) struct Lift<'a> {
    pub(super) net: &'a Network,
    pub(super) effort: Effort<'a>,
}

pub(super) fn internal(message: impl std::fmt::Display) -> Trouble {
    Trouble::Internal(Error::internal(message))
}

/// The verdict that a run shows, which must replay.
pub(in crate::engine) fn replayed(
    net: &Network,
    properties: &[Property],
    obligation: Obligation,
    trace: Trace,
) -> Result<Verdict, Trouble> {
    let mismatch = |m: replay::Mismatch| internal(format_args!("a run does not replay, {m}"));
    match obligation {
        Obligation::Property(property) => {
            replay::violation(net, &properties[property], &trace).map_err(mismatch)?;
            Ok(Verdict::Violated { property, trace })
        }
        Obligation::Faults => {
            replay::fault(net, &trace).map_err(mismatch)?;
            let last = trace.steps.last().map(|step| net.vectors[step.vector.0 as usize].outcome);
            let Some(Outcome::Fault(fault)) = last else { return Err(internal("a fault is missing")) };
            Ok(Verdict::Faulty { message: net.faults[fault as usize].clone(), trace })
        }
    }
}

impl Lift<'_> {
    /// The verdict that the roots show, replayed; with what was found in the product of interfaces, if there is one.
    pub(super) fn verdict(
        &self,
        roots: Vec<Root>,
        interfaces: Option<(&mut Interfaces, Found)>,
        obligation: Obligation,
        properties: &[Property],
    ) -> Result<Verdict, Trouble> {
        let trace = self.shown(roots, interfaces, obligation, properties)?;
        replayed(self.net, properties, obligation, trace)
    }

    /// The run that the roots show, which is not replayed yet.
    pub(super) fn shown(
        &self,
        roots: Vec<Root>,
        interfaces: Option<(&mut Interfaces, Found)>,
        obligation: Obligation,
        properties: &[Property],
    ) -> Result<Trace, Trouble> {
        let (mut items, mut run) = (Vec::new(), Vec::new());
        for Root { component, state } in roots {
            if state.is_none() {
                run.push(Happening { open: vec![(items.len(), BAD)], ..Happening::default() });
            }
            items.push(Item { what: What::Component(component), goal: state.map(Goal::State) });
        }
        if let Some((interfaces, found)) = &interfaces {
            let goal = match found {
                Found::Stuck => Some(Goal::Ready(Box::default())),
                Found::Bad | Found::Nothing => {
                    run.push(Happening { open: vec![(items.len(), BAD)], ..Happening::default() });
                    None
                }
            };
            items.push(Item { what: What::Node(interfaces.nodes.len() - 1), goal });
        }
        let run = self.run(items, run, interfaces.map(|(interfaces, _)| interfaces))?;
        let asked = obligation.asked(properties);
        let mut trace = self.trace(run, asked)?;
        cut(self.net, asked, &mut trace);
        Ok(trace)
    }

    /// Replaces components until only leaves are left.
    fn run(
        &self,
        mut items: Vec<Item>,
        mut run: Vec<Happening>,
        mut interfaces: Option<&mut Interfaces>,
    ) -> Result<Vec<Happening>, Trouble> {
        let mut next = 0;
        while next < items.len() {
            self.effort.stop.check()?;
            let (state, ready) = match items[next].goal.clone() {
                None => (None, None),
                Some(Goal::State(state)) => (Some(state), None),
                Some(Goal::Ready(ready)) => (None, Some(ready)),
            };
            run = match (&items[next].what, &mut interfaces) {
                (What::Component(component), _) => {
                    let component = component.clone();
                    match &component.origin {
                        Origin::Made(making) => {
                            self.unfold(run, next, &component, making, state, &mut items)?
                        }
                        Origin::Leaf(leaf) => self.walk(run, next, &component, leaf.0, state)?,
                        Origin::Observer => heard(run, next, &component, self.net.leaves.len() as u32),
                    }
                }
                (What::Node(node), Some(interfaces)) => {
                    let node = *node;
                    self.spread(interfaces, run, next, node, ready.as_deref(), &mut items)?
                }
                (What::Node(_), None) => return Err(internal("a node without its product")),
            };
            next += 1;
        }
        Ok(run)
    }

    /// Replaces a component by the two, or the one, that it was made of.
    fn unfold(
        &self,
        run: Vec<Happening>,
        item: usize,
        component: &Component,
        making: &Arc<Making>,
        end: Option<u32>,
        items: &mut Vec<Item>,
    ) -> Result<Vec<Happening>, Trouble> {
        let word = word(&run, item);
        if word.is_empty() && end.is_none() {
            return Ok(run);
        }
        let Making { first, second, table } = &**making;
        let mut product = Along::new(&first.lts, second.as_ref().map(|c| &*c.lts), table, self.effort)?;
        let mut owner = vec![NONE; table.labels as usize];
        for (label, of) in component.label_of.iter().enumerate() {
            of.iter().for_each(|&l| owner[l as usize] = label as u32);
        }
        // States that offer the same and cannot move alone are interchangeable for a deadlock.
        let wanted = end.map(|state| {
            let moves = component.lts.outgoing(State(state)).iter().map(|t| (t.label.0, t.to.0));
            ready(&moves.collect::<Vec<_>>(), |label| label)
        });
        let at_goal = |_, moves: &[(u32, u32)]| {
            wanted.as_ref().is_none_or(|wanted| ready(moves, |label| owner[label as usize]) == *wanted)
        };
        let labels: Vec<u32> = word.iter().map(|&(_, label)| label).collect();
        let path = path(self.effort, &mut product, &labels, &owner, at_goal)?;
        let (a, b) = (items.len(), items.len() + 1);
        let pair = |state: u32| product.pairs[state as usize];
        let last = pair(path.last().map_or(0, |step| step.1));
        let ends = |state: u32| end.map(|_| Goal::State(state));
        items.push(Item { what: What::Component(first.clone()), goal: ends(last.0) });
        if let Some(second) = second {
            items.push(Item { what: What::Component(second.clone()), goal: ends(last.1) });
        }
        let parts = |event: Event| {
            let taking_part = |label: u32| label != NONE && label != TAU;
            let sides = [(a, event.first), (b, event.second)];
            sides.into_iter().filter(move |(_, label)| taking_part(*label))
        };
        let mut steps = Vec::with_capacity(path.len());
        let (mut from, mut position) = (0, 0);
        for (seen, to) in path {
            let wanted = seen.then(|| labels[position]);
            position += usize::from(seen);
            let event = step(making, &product.pairs, &owner, from, to, wanted)?;
            from = to;
            steps.push((seen, parts(event).collect()));
        }
        replaced(run, item, &word, steps)
    }

    /// What a leaf does.
    fn walk(
        &self,
        mut run: Vec<Happening>,
        item: usize,
        component: &Component,
        leaf: u32,
        end: Option<u32>,
    ) -> Result<Vec<Happening>, Trouble> {
        let word = word(&run, item);
        let labels: Vec<u32> = word.iter().map(|&(_, label)| label).collect();
        let owner: Vec<u32> = (0..component.lts.labels().len() as u32).collect();
        let at_goal = |state: u32, _: &[(u32, u32)]| end.is_none_or(|end| end == state);
        let path = path(self.effort, &mut &*component.lts, &labels, &owner, at_goal)?;
        for ((at, label), (_, to)) in word.into_iter().zip(path) {
            let happening = &mut run[at];
            happening.open.retain(|(open, _)| *open != item);
            let label = component.label_of[label as usize][0];
            happening.done.push((leaf, label, Local(component.state_of[to as usize])));
        }
        Ok(run)
    }

    /// The run as steps of the network.
    fn trace(&self, run: Vec<Happening>, asked: SystemQuestion) -> Result<Trace, Trouble> {
        let mut vectors: Map<Sync, VectorIx> = Map::default();
        for v in (0..self.net.vectors.len() as u32).rev().map(VectorIx) {
            if let Some(mut sync) = asked.sync(self.net, v) {
                sync.sort_unstable();
                vectors.insert(sync, v);
            }
        }
        let mut state = self.net.initial();
        let mut trace = Trace::default();
        for happening in run {
            let Happening { open, mut done } = happening;
            if done.is_empty() {
                // The observer says that the property is violated: no step of the network.
                continue;
            }
            if !open.is_empty() {
                return Err(internal("a component was not replaced"));
            }
            done.sort_unstable_by_key(|part| part.0);
            let sync: Sync = done.iter().map(|&(leaf, label, _)| (leaf, label)).collect();
            let Some(&vector) = vectors.get(&sync) else {
                return Err(internal("leaves move together that no vector joins"));
            };
            for (leaf, _, to) in done {
                if let Some(local) = state.get_mut(leaf as usize) {
                    *local = to;
                }
            }
            trace.steps.push(Step { vector, target: state.clone() });
        }
        Ok(trace)
    }
}

/// A run in which an item is replaced: for each of its steps whether others see it, and what takes its part. Steps that no
/// other component sees come right before the next step that others see.
pub(super) fn replaced(
    run: Vec<Happening>,
    item: usize,
    word: &[(usize, u32)],
    steps: Vec<(bool, Vec<(usize, u32)>)>,
) -> Result<Vec<Happening>, Trouble> {
    let mut old = run.into_iter().enumerate().peekable();
    let (mut new, mut inside): (Vec<Happening>, Vec<Happening>) = (Vec::new(), Vec::new());
    let mut position = 0;
    for (seen, parts) in steps {
        if !seen {
            if !parts.is_empty() {
                inside.push(Happening { open: parts, ..Happening::default() });
            }
            continue;
        }
        let at = word[position].0;
        position += 1;
        while let Some((_, happening)) = old.next_if(|(ix, _)| *ix < at) {
            new.push(happening);
        }
        new.append(&mut inside);
        let Some((_, mut happening)) = old.next() else { return Err(internal("a happening is missing")) };
        happening.open.retain(|(open, _)| *open != item);
        happening.open.extend(parts);
        new.push(happening);
    }
    new.extend(old.map(|(_, happening)| happening));
    new.append(&mut inside);
    Ok(new)
}

/// The labels that an item contributes, with the happenings.
pub(super) fn word(run: &[Happening], item: usize) -> Vec<(usize, u32)> {
    let own = |happening: &Happening| happening.open.iter().find(|open| open.0 == item).map(|open| open.1);
    run.iter().enumerate().filter_map(|(ix, happening)| Some((ix, own(happening)?))).collect()
}

/// What the observer hears; that it is bad is no step of the network.
fn heard(mut run: Vec<Happening>, item: usize, component: &Component, observer: u32) -> Vec<Happening> {
    for happening in &mut run {
        let own = happening.open.iter().position(|open| open.0 == item);
        let Some((_, label)) = own.map(|at| happening.open.remove(at)) else { continue };
        if label >= FIRST {
            happening.done.push((observer, component.label_of[label as usize][0], Local(0)));
        }
    }
    run
}

/// The step of a product between two states: one with a label that stands for the wanted one, or a hidden one.
fn step(
    making: &Making,
    pairs: &[(u32, u32)],
    owner: &[u32],
    from: u32,
    to: u32,
    wanted: Option<u32>,
) -> Result<Event, Trouble> {
    let (at, goal) = (pairs[from as usize], pairs[to as usize]);
    let mut found = None;
    events(&making.first.lts, making.second.as_deref().map(|c| &*c.lts), &making.table, at, |event| {
        let fits = match wanted {
            None => event.label == TAU,
            Some(wanted) => event.label != TAU && owner[event.label as usize] == wanted,
        };
        if found.is_none() && fits && event.to == goal {
            found = Some(event);
        }
    });
    found.ok_or_else(|| internal("a product lacks a step of its own path"))
}

/// Cuts a run after the first step that shows what it is to show.
fn cut(net: &Network, asked: SystemQuestion, trace: &mut Trace) {
    let mut state = Local(0);
    let shows = |step: &Step| match asked {
        SystemQuestion::Faults => matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_)),
        SystemQuestion::Property(Property::Never(forbidden)) => forbidden(net, step.vector),
        SystemQuestion::Property(Property::Monitor(monitor)) => {
            state = monitor.next(state, monitor.class(net, step.vector));
            monitor.is_bad(state)
        }
        SystemQuestion::Property(Property::DeadlockFree { .. } | Property::Formula(_)) => false,
    };
    if let Some(at) = trace.steps.iter().position(shows) {
        trace.steps.truncate(at + 1);
    }
}
