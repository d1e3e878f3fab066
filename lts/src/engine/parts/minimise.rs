//! The whole system, reduced, from parts that are reduced before they are put together.
//!
//! The same rounds as for a property, with one more component: the *surroundings*, a single state in which every visible
//! label is possible. It takes part in each visible vector, so that these are not hidden; nothing is put together with it.
//! At the end there is one component beside it, and the syncs between the two say what its labels are called.
//!
//! Invariant: what comes out is equivalent to the explicit state space. It is not the smallest yet: the caller minimises it.

use super::aggregate::{component, kept, put_together};
use super::choose::{Choice, Chooser, Choosing, Memory};
use super::system::{FIRST, Making, Origin, System, TAU};
use super::task::{Part, Task, What};
use super::{Keep, Options, Setting, Trouble, check, workers};
use crate::base::error::{Error, Limit, Result};
use crate::base::memory::Budget;
use crate::engine::search::Verdict;
use crate::model::equivalence::Equivalence;
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::{Label, Network, Outcome};
use std::sync::Arc;

/// The reduced system.
#[derive(Clone, Debug)]
pub struct Whole {
    /// A system that is equivalent to the network.
    pub lts: Lts,
    /// States of the largest product.
    pub largest: u64,
}

/// A system that is equivalent to a network whose tables are complete, without its state space. A reachable fault, a
/// limit, or a product over the limit ([`Limit::States`]) is an error.
pub fn whole(net: &Network, equivalence: Equivalence, options: &Options) -> Result<Whole> {
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
    let keep = match equivalence {
        Equivalence::Strong | Equivalence::Trace => Keep::Strong,
        Equivalence::Branching => Keep::Branching,
        Equivalence::DivergencePreservingBranching => Keep::Divergence,
        Equivalence::WeakTrace => Keep::WeakTraces,
    };
    let budget = Arc::new(Budget::new(options.max_memory));
    rounds(net, keep, options, &budget).map_err(|trouble| match trouble {
        Trouble::TooLarge => Limit::States(options.limit).into(),
        Trouble::Memory => Limit::Memory(options.max_memory).into(),
        Trouble::Stopped(limit) => (options.stop)().unwrap_or(limit).into(),
        Trouble::Internal(error) => error,
    })
}

fn rounds(net: &Network, keep: Keep, options: &Options, budget: &Arc<Budget>) -> Result<Whole, Trouble> {
    let setting = Setting::new(net, &[], options, budget);
    let mut system = System::leaves(net, budget)?;
    let around = system.surroundings(net, budget)?;
    system.syncs = net
        .vectors
        .iter()
        .filter_map(|vector| {
            let Outcome::Step(label) = vector.outcome else { return None };
            let parts = vector.parts.iter().map(|(leaf, label)| (leaf.0, label.0 + FIRST));
            let heard = (label != Label::TAU).then_some((around, label.0 + FIRST));
            Some(parts.chain(heard).collect())
        })
        .collect();
    system.tidy();
    system.prune(keep);
    let inside = |system: &System| system.slots().filter(|&slot| slot != around).collect::<Vec<_>>();
    for slot in inside(&system) {
        hide_own(&mut system, slot, keep, setting, options)?;
    }
    let (mut memory, mut largest) = (Memory::default(), 0);
    let groups = vec![None; system.components.len()];
    let last = loop {
        system.prune(keep);
        let left = inside(&system);
        (options.progress)(left.len() as u64, memory.states, memory.made);
        if let [last] = left[..] {
            break last;
        }
        let chooser = Chooser {
            system: &system,
            groups: &groups,
            around: Some(around),
            keep,
            limit: options.limit,
            trials: options.trials,
            budget,
        };
        let choices = choose(&chooser, &mut memory, setting, options)?;
        if choices.is_empty() {
            return Err(Trouble::TooLarge);
        }
        for choice in choices {
            largest = largest.max(choice.product.0);
            put_together(&mut system, choice, 0)?;
        }
    };
    Ok(Whole { lts: named(net, &system, last, around), largest })
}

/// Hides the steps that a leaf takes alone, and reduces it.
fn hide_own(
    system: &mut System,
    slot: u32,
    keep: Keep,
    setting: Setting,
    options: &Options,
) -> Result<(), Trouble> {
    let (table, syncs) = system.table(slot, None);
    let leaf = system.component(slot).clone();
    let what = What::Product { first: Part::from(&*leaf), second: None, table: table.clone() };
    // A leaf is there already, however large it is.
    let answered = Task { what, keep, limit: u64::MAX }.run(setting.budget, options.stop, false);
    let kept = kept(answered.end, setting)?;
    let node = leaf.node;
    let component = component(system, Making { first: leaf, second: None, table }, kept, node);
    system.replace(slot, None, component, syncs);
    Ok(())
}

/// Has pairs put together on trial, and gives the best of them; none: all are too large.
fn choose(
    chooser: &Chooser,
    memory: &mut Memory,
    setting: Setting,
    options: &Options,
) -> Result<Vec<Choice>, Trouble> {
    let mut choosing = Choosing::new(chooser, memory);
    while let Some(tasks) = choosing.tasks(chooser, memory) {
        let tasks: Vec<Task> = tasks.into_iter().map(|(_, task)| task).collect();
        choosing.absorb(chooser, memory, workers::all(&tasks, setting, options))?;
    }
    choosing.chosen(chooser)
}

/// The last component with the labels of the network.
fn named(net: &Network, system: &System, last: u32, around: u32) -> Lts {
    let component = system.component(last);
    let called = &system.component(around).label_of;
    let mut names: Vec<Vec<u32>> = vec![Vec::new(); component.lts.labels().len()];
    for sync in &system.syncs {
        let of = |slot: u32| sync.iter().find(|part| part.0 == slot).map(|part| part.1 as usize);
        if let (Some(label), Some(name)) = (of(last), of(around)) {
            names[label].push(called[name][0] - FIRST);
        }
    }
    let mut builder = Builder::with_capacity(component.lts.num_transitions());
    builder.require_states(component.lts.num_states() as u32);
    for (from, label, to) in component.lts.transitions() {
        if label.0 == TAU {
            builder.add(from, Label::TAU, to);
        }
        names[label.0 as usize].iter().for_each(|&name| builder.add(from, Label(name), to));
    }
    builder.finish_with_labels(net.labels.clone(), State(0))
}

impl System {
    /// Adds a component in which every visible label is always possible, and gives its slot.
    fn surroundings(&mut self, net: &Network, budget: &Arc<Budget>) -> Result<u32, Trouble> {
        let mut builder = Builder::new();
        builder.require_states(1);
        for label in 0..net.labels.len() as u32 {
            builder.add(State(0), Label(label + FIRST), State(0));
        }
        self.add(builder, net.labels.len() as u32 + FIRST, Origin::Observer, false, budget)?;
        Ok(self.components.len() as u32 - 1)
    }
}
