//! How the components of a network depend on each other: what they do inside, what they do together, and how many different
//! runs they have.
//!
//! The counts are those of interface reduction (Guo and others, SOSP 2011). A *skeleton* is what components do together,
//! each of them in one order; a *local trace* is a run of one component that fits a skeleton, up to the order of
//! independent steps inside; a *global trace* is a run of the whole, up to the order of independent steps. All of them
//! are counted where they cannot be continued.

use super::interface::{Found, Interfaces, Kind, Tree};
use super::product::Effort;
use super::system::{FIRST, Held, Origin, System, TAU};
use super::traces::{self, Uncounted};
use super::{Options, Stop, Trouble, check};
use crate::base::error::{Error, Limit, Result};
use crate::base::memory::Budget;
use crate::engine::search::Verdict;
use crate::model::equivalence::{DeterminisationLimit, deterministic};
use crate::model::explicit::{Builder, State};
use crate::model::network::{Label, LeafIx, Network, Outcome};
use num_bigint::BigUint;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A component.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Its processes.
    pub leaves: Vec<LeafIx>,
    /// Local states of all of them.
    pub states: u64,
    /// Local moves that only the component takes part in.
    pub internal: u64,
    /// Local moves by which it takes part in steps with others.
    pub interface: u64,
    /// The steps that it takes part in with others, as they are printed before hiding, without arguments.
    pub actions: Vec<String>,
}

/// The components of a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    /// The components: the groups, then every other process by itself.
    pub parts: Vec<Part>,
    /// Vectors within a component, and between components.
    pub internal_vectors: u64,
    /// Vectors between components.
    pub interface_vectors: u64,
    /// What components do together, as it is printed before hiding, without arguments.
    pub actions: Vec<String>,
}

/// How many runs there are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// What components can do together, each in one order.
    pub skeletons: BigUint,
    /// For each component its runs.
    pub local: Vec<BigUint>,
    /// Runs of the whole; `None`: more states would have to be remembered than the limit allows.
    pub global: Option<BigUint>,
}

/// The groups, then every other leaf by itself.
fn components(net: &Network, groups: &[Vec<LeafIx>]) -> Vec<Vec<LeafIx>> {
    let mut all = groups.to_vec();
    let grouped: BTreeSet<LeafIx> = groups.iter().flatten().copied().collect();
    all.extend(
        (0..net.leaves.len() as u32).map(LeafIx).filter(|ix| !grouped.contains(ix)).map(|ix| vec![ix]),
    );
    all
}

/// Looks at the components of a network whose tables are complete.
pub fn survey(net: &Network, groups: &[Vec<LeafIx>]) -> Survey {
    let components = components(net, groups);
    let mut home = vec![0; net.leaves.len()];
    for (number, leaves) in components.iter().enumerate() {
        leaves.iter().for_each(|leaf| home[leaf.0 as usize] = number);
    }
    let crosses = |vector: &crate::model::network::Vector| {
        let mut homes = vector.parts.iter().map(|(leaf, _)| home[leaf.0 as usize]);
        let first = homes.next();
        homes.any(|other| Some(other) != first)
    };
    let name = |label: Label| -> String {
        let text = &net.labels[label.0 as usize];
        text.split('|').map(|action| action.split('(').next().unwrap_or(action)).collect::<Vec<_>>().join("|")
    };
    let mut actions: Vec<BTreeSet<String>> = vec![BTreeSet::new(); components.len()];
    let (mut internal, mut interface) = (0, 0);
    let mut shared: Vec<Vec<bool>> = net.leaves.iter().map(|leaf| vec![false; leaf.labels.len()]).collect();
    for vector in &net.vectors {
        if !crosses(vector) {
            internal += 1;
            continue;
        }
        interface += 1;
        for (leaf, label) in &vector.parts {
            shared[leaf.0 as usize][label.0 as usize] = true;
            actions[home[leaf.0 as usize]].insert(name(vector.unhidden));
        }
    }
    let parts = components
        .into_iter()
        .zip(&actions)
        .map(|(leaves, actions)| {
            let mut part = Part {
                leaves,
                states: 0,
                internal: 0,
                interface: 0,
                actions: actions.iter().cloned().collect(),
            };
            for leaf in &part.leaves {
                let tables = &net.leaves[leaf.0 as usize];
                part.states += tables.states.len() as u64;
                for (label, _) in tables.states.iter().flat_map(|table| &table.moves) {
                    match shared[leaf.0 as usize][label.0 as usize] {
                        true => part.interface += 1,
                        false => part.internal += 1,
                    }
                }
            }
            part
        })
        .collect();
    let actions = actions.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect();
    Survey { parts, internal_vectors: internal, interface_vectors: interface, actions }
}

/// Counts the runs of a network whose tables are complete. A reachable fault, a run that need not end, and more than the
/// limits allow are errors.
pub fn count(net: &Network, groups: &[Vec<LeafIx>], options: &Options) -> Result<Counts> {
    let report = check(net, &[], options)?;
    match report.verdict {
        Some(Verdict::Holds) => {}
        Some(Verdict::Faulty { message, .. }) => return Err(Error::Input(message)),
        Some(Verdict::Unknown(limit)) => return Err(limit.into()),
        Some(Verdict::Violated { .. }) => {
            return Err(Error::internal("nothing was asked, and it is violated"));
        }
        None => return Err(Limit::States(options.limit).into()),
    }
    let budget = Arc::new(Budget::new(options.max_memory));
    counts(net, &components(net, groups), options, &budget).map_err(|uncounted| match uncounted {
        Uncounted::Cyclic => Error::input("runs can be counted only if each of them ends, and one need not"),
        Uncounted::Trouble(Trouble::TooLarge) => Limit::States(options.limit).into(),
        Uncounted::Trouble(Trouble::Memory) => Limit::Memory(options.max_memory).into(),
        Uncounted::Trouble(Trouble::Stopped(limit)) => limit.into(),
        Uncounted::Trouble(Trouble::Internal(error)) => error,
    })
}

fn counts(
    net: &Network,
    components: &[Vec<LeafIx>],
    options: &Options,
    budget: &Arc<Budget>,
) -> Result<Counts, Uncounted> {
    let stop = Stop(options.stop);
    let effort = Effort { states: options.limit, budget, stop: &stop };
    let mut system = System::leaves(net, budget)?;
    let steps = net.vectors.iter().filter(|vector| matches!(vector.outcome, Outcome::Step(_)));
    system.syncs =
        steps.map(|v| v.parts.iter().map(|(leaf, label)| (leaf.0, label.0 + FIRST)).collect()).collect();
    system.tidy();
    let tree: Vec<Tree> = components
        .iter()
        .map(|leaves| Tree::Group(leaves.iter().map(|leaf| Tree::Slot(leaf.0)).collect()))
        .collect();
    let mut interfaces = Interfaces::new(&system, &tree, options.members, effort)?;
    if interfaces.explore(false)? != Found::Nothing {
        return Err(Trouble::Internal(Error::internal("nothing was asked, and it is violated")).into());
    }
    let skeletons = skeletons(&interfaces, effort)?;
    let mut local = Vec::with_capacity(components.len());
    for (number, leaves) in components.iter().enumerate() {
        (options.progress)((components.len() - number) as u64, 0, number as u64);
        local.push(local_traces(&system, &interfaces, number, leaves, effort)?);
    }
    let global = match traces::count(&system, effort) {
        Ok(count) => Some(count),
        Err(Uncounted::Trouble(Trouble::TooLarge)) => None,
        Err(other) => return Err(other),
    };
    Ok(Counts { skeletons, local, global })
}

/// What components can do together: traces of the tuples, where steps with a component in common are in one order. Each
/// component is what its macro-states are.
fn skeletons(interfaces: &Interfaces, effort: Effort) -> Result<BigUint, Uncounted> {
    let root = &interfaces.nodes[interfaces.nodes.len() - 1];
    let Kind::Group(group) = &root.kind else { return Ok(BigUint::default()) };
    let mut system = System::empty();
    for &child in &group.children {
        let node = &interfaces.nodes[child];
        let mut builder = Builder::new();
        builder.require_states(node.macros.len() as u32);
        let mut steps: Vec<((u32, u32), u32)> = node.steps().collect();
        steps.sort_unstable();
        for ((from, label), to) in steps {
            builder.add(State(from), Label(label), State(to));
        }
        system.add(builder, node.labels(), Origin::Observer, false, effort.budget)?;
    }
    system.syncs = group.syncs.iter().map(|joint| joint.parts.clone()).collect();
    system.tidy();
    traces::count(&system, effort)
}

/// The runs of a component: its processes, with one more that has all words of the others.
fn local_traces(
    whole: &System,
    interfaces: &Interfaces,
    number: usize,
    leaves: &[LeafIx],
    effort: Effort,
) -> Result<BigUint, Uncounted> {
    let root = &interfaces.nodes[interfaces.nodes.len() - 1];
    let Kind::Group(group) = &root.kind else { return Ok(BigUint::default()) };
    let labels = interfaces.nodes[group.children[number]].labels();
    let own = |via: u32| {
        let parts = group.syncs.get(via as usize).map_or(&[][..], |joint| &joint.parts);
        parts.iter().find(|part| part.0 as usize == number).map_or(TAU, |part| part.1)
    };
    let mut builder = Builder::new();
    builder.require_states(root.moves.len() as u32);
    for (from, moves) in (0..).map(State).zip(&root.moves) {
        for m in moves.as_deref().unwrap_or_default() {
            builder.add(from, Label(own(m.via)), State(m.to));
        }
    }
    let words = builder.finish_numbered(labels, State(0));
    let size = words.num_states() + words.num_transitions();
    let limit = DeterminisationLimit(size.saturating_mul(64).max(1 << 16));
    let _held = Held::new(effort.budget, limit.0 as u64 * 8)?;
    let words = deterministic(&words, limit, &|| effort.stop.asked());
    effort.stop.check()?;
    let words = words.ok_or(Trouble::TooLarge)?;
    let mut system = System::empty();
    for leaf in leaves {
        let component = whole.component(leaf.0).clone();
        system.components.push(Some(component));
    }
    let mut builder = Builder::new();
    builder.require_states(words.num_states() as u32);
    words.transitions().for_each(|(from, label, to)| builder.add(from, label, to));
    system.add(builder, labels, Origin::Observer, false, effort.budget)?;
    let place = |slot: u32| leaves.iter().position(|leaf| leaf.0 == slot).map(|place| place as u32);
    let contributed = interfaces.contributed(number);
    for (sync, &label) in whole.syncs.iter().zip(contributed) {
        let mut parts: Vec<(u32, u32)> =
            sync.iter().filter_map(|&(slot, label)| Some((place(slot)?, label))).collect();
        if parts.is_empty() {
            continue;
        }
        if parts.len() < sync.len() {
            parts.push((leaves.len() as u32, label));
        }
        system.syncs.push(parts);
    }
    system.tidy();
    traces::count(&system, effort)
}
