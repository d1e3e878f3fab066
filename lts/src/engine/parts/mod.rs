//! A search by parts: put two components together, hide what only they do, make the result smaller, and so on until one
//! component is left. The state space of the whole never exists.
//!
//! Each property is an *obligation* of its own, and freedom from faults is one more, decided first. The observer of an
//! obligation is a component like any other ([`system`]). A round ([`aggregate`]) prunes what no run of the system does
//! ([`prune`]), puts pairs of components together on trial and keeps those that pay best ([`choose`], [`product`]), reduced
//! modulo an equivalence that keeps the answer ([`reduce`]). Where every product is too large, the components that are left are
//! explored by their interfaces alone ([`interface`]), which needs less where they keep each other in bounds. Limits rise
//! step by step, and both are tried with each. A violation is lifted down the tree of products to a run of the network
//! ([`lift`]) and replayed. Tables that cannot be completed have no products, but interfaces ([`open`]).
//!
//! What takes time are tasks ([`task`]): reductions of leaves, trials, explorations of interfaces. They are values, so
//! threads ([`workers`]) or other processes may do them, and a run that is resumed remembers their results. The [`board`]
//! says which tasks there are and which results count.
//!
//! Invariants: an answer is exact, or there is none and the report says what was left and why. Nothing depends on the
//! number of workers: which trials are made and with which limits is decided before they run.

mod aggregate;
mod along;
mod board;
mod choose;
#[cfg(test)]
mod count_tests;
mod estimate;
mod interface;
mod lift;
mod minimise;
mod mutants;
#[cfg(test)]
pub(super) mod naive;
mod open;
mod product;
mod prune;
mod ready;
mod reduce;
mod spread;
mod survey;
pub(super) mod system;
mod task;
#[cfg(test)]
mod tests;
mod traces;
mod workers;

use crate::base::error::{Error, Limit, Result};
use crate::base::memory::{Budget, Exhausted};
use crate::engine::search::Verdict;
use crate::model::network::{LeafIx, Network, Outcome, Vector};
use crate::property::{self, Property};
use aggregate::Answer;
pub use board::{Board, PartsStatus, TaskPlace};
pub(super) use lift::replayed;
pub use minimise::{Whole, whole};
pub use open::check_open;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
pub use survey::{Counts, Part, Survey, count, survey};
use system::SystemQuestion;
pub use task::{Answered, Task};

/// The most states of a product if nothing else is said.
pub const DEFAULT_LIMIT: u64 = 1_000_000;

/// The limits of a search, and where it reports progress.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The number of threads.
    pub workers: usize,
    /// The most states that a product may have before it is reduced.
    pub limit: u64,
    /// Leaves that are put together first, group by group; no leaf may be in two groups. Empty: the search chooses.
    pub groups: &'a [Vec<LeafIx>],
    /// The equivalence modulo which safety properties are decided.
    pub reduction: Reduction,
    /// What is done about an obligation.
    pub stages: Stages,
    /// The most members that a macro-state may have.
    pub members: usize,
    /// How the pairs are chosen that are put together.
    pub trials: Trials,
    /// Bytes that components and products may take.
    pub max_memory: u64,
    /// Whether and why to stop.
    pub stop: &'a (dyn Fn() -> Option<Limit> + Sync),
    /// Called with the progress: components left, states and transitions of all products so far.
    pub progress: &'a (dyn Fn(u64, u64, u64) + Sync),
}

/// The most members of a macro-state if nothing else is said.
pub const DEFAULT_MEMBERS: usize = 1 << 16;

/// What is done about an obligation. What no run can do is left out in any case, which may decide it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stages {
    /// Components are put together; where that is too large, they are explored by their interfaces.
    #[default]
    All,
    /// They are put together only.
    Aggregation,
    /// The processes are explored by their interfaces at once.
    Interfaces,
}

/// How the two components are chosen that are put together next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Trials {
    /// Of the pairs with the smallest products, as sizes say, many are put together on trial; the best counts.
    #[default]
    Many,
    /// A few that an estimate prefers are put together on trial; the best counts.
    Few,
    /// The one that an estimate prefers; the next only if that is too large.
    None,
    /// Any two, drawn with this seed: what is right must not depend on the choice.
    #[cfg(test)]
    Random(u64),
}

/// What decided an obligation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// What no run can do was left out; no two components were put together.
    Fixpoint,
    /// Components were put together.
    Aggregation,
    /// Components were explored by their interfaces.
    Interfaces,
}

/// Figures of an exploration of components by their interfaces.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Components and groups of them that met each other.
    pub groups: u64,
    /// Tuples of macro-states.
    pub tuples: u64,
    /// Steps between tuples.
    pub transitions: u64,
    /// Macro-states of all components and groups.
    pub macro_states: u64,
    /// Their members, each counted once for a component or group.
    pub members: u64,
    /// Members of the largest macro-state.
    pub largest_macro: u64,
    /// How often it was computed where a label leads from a macro-state.
    pub steps: u64,
    /// How often that was known already.
    pub hits: u64,
    /// How often they were explored: with a higher limit, in other groups, or with more of the tables.
    pub rounds: u64,
}

/// The equivalence modulo which components are reduced for safety properties. Freedom from deadlock always takes branching
/// bisimulation that preserves divergence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reduction {
    /// Weak trace equivalence where that is cheap and gains something, else branching bisimulation.
    #[default]
    WeakTraces,
    /// Branching bisimulation.
    Branching,
    /// Branching bisimulation that preserves divergence.
    Divergence,
}

/// What a reduction keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Keep {
    Deadlocks,
    WeakTraces,
    Branching,
    Divergence,
    /// Everything, hidden steps among it.
    Strong,
}

/// Why there is no product.
#[derive(Clone, Debug)]
pub(super) enum Trouble {
    /// It has more states than it may have.
    TooLarge,
    /// The memory does not suffice.
    Memory,
    /// The run is to stop.
    Stopped(Limit),
    /// An internal error.
    Internal(Error),
}

impl From<Exhausted> for Trouble {
    fn from(_: Exhausted) -> Self {
        Trouble::Memory
    }
}

/// Whether to stop.
pub(super) struct Stop<'a>(pub(super) &'a (dyn Fn() -> Option<Limit> + Sync));

impl Stop<'_> {
    pub(super) fn check(&self) -> Result<(), Trouble> {
        (self.0)().map_or(Ok(()), |limit| Err(Trouble::Stopped(limit)))
    }

    fn asked(&self) -> bool {
        (self.0)().is_some()
    }
}

/// What an obligation is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Obligation {
    /// No step without meaning is reachable.
    Faults,
    /// The property of that index.
    Property(usize),
}

/// What became of an obligation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It holds.
    Holds,
    /// It does not.
    Violated,
    /// Undecided, and why.
    Left(Why),
}

/// Why an obligation was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Every product that could be next has more states than the limit, this one.
    Limit(u64),
    /// The memory does not suffice.
    Memory,
    /// The run was asked to stop.
    Stopped,
    /// It is violated, but the memory does not suffice to put its run together.
    Run,
}

/// A component in the tree of products: a process, the observer, or two components together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its name, if it is a process or the observer.
    pub name: Option<String>,
    /// The two components that it is made of, by their places in the list.
    pub parts: Vec<usize>,
    /// States and transitions before it was reduced.
    pub product: (u64, u64),
    /// States and transitions after it was reduced.
    pub reduced: (u64, u64),
}

/// What was done about an obligation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// The obligation.
    pub obligation: Obligation,
    /// Its outcome.
    pub result: Fate,
    /// All components, those before those that are made of them.
    pub nodes: Vec<Node>,
    /// The components that were left at the end, by their places in the list.
    pub left: Vec<usize>,
    /// How many products were made on trial.
    pub trials: u64,
    /// States of all products, those on trial included.
    pub tried_states: u64,
    /// What decided it, or would have been next.
    pub stage: Stage,
    /// What was seen when components were last explored by their interfaces, if they were.
    pub interfaces: Option<Seen>,
    /// The time it took.
    pub time: Duration,
}

impl Account {
    /// The components that were made of two others.
    pub fn products(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.parts.len() == 2)
    }

    /// States of the largest component in the tree, before reduction.
    pub fn largest(&self) -> u64 {
        self.nodes.iter().map(|node| node.product.0).max().unwrap_or(0)
    }

    /// Transitions of all components in the tree, before reduction.
    pub fn transitions(&self) -> u64 {
        self.nodes.iter().map(|node| node.product.1).sum()
    }

    /// States of all components in the tree, before reduction.
    pub fn states(&self) -> u64 {
        self.nodes.iter().map(|node| node.product.0).sum()
    }
}

/// The result of a search by parts.
#[derive(Clone, Debug)]
pub struct PartsReport {
    /// The answer; `None`: an obligation was left.
    pub verdict: Option<Verdict>,
    /// The obligations that were looked at, in order; only the last may be left or violated.
    pub accounts: Vec<Account>,
    /// The most bytes in use at a time.
    pub peak_memory: u64,
    /// The time it took.
    pub time: Duration,
}

/// What a search is about, and what it may spend. See [`Options`].
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// A network whose tables are complete.
    pub net: &'a Network,
    /// Its properties; there must be no formula among them.
    pub properties: &'a [Property],
    /// See [`Options::limit`].
    pub limit: u64,
    /// See [`Options::groups`].
    pub groups: &'a [Vec<LeafIx>],
    /// See [`Options::reduction`].
    pub reduction: Reduction,
    /// See [`Options::stages`].
    pub stages: Stages,
    /// See [`Options::members`].
    pub members: usize,
    /// See [`Options::trials`].
    pub trials: Trials,
    /// What components and products may take.
    pub budget: &'a Arc<Budget>,
}

impl<'a> Setting<'a> {
    fn new(
        net: &'a Network,
        properties: &'a [Property],
        options: &Options<'a>,
        budget: &'a Arc<Budget>,
    ) -> Self {
        let Options { limit, groups, reduction, stages, members, trials, .. } = *options;
        Setting { net, properties, limit, groups, reduction, stages, members, trials, budget }
    }
}

/// Decides properties of a network whose tables are complete; there must be no formula among them. A run that is asked to
/// stop ends with [`Verdict::Unknown`].
pub fn check(net: &Network, properties: &[Property], options: &Options) -> Result<PartsReport> {
    no_formulas(properties)?;
    let budget = Arc::new(Budget::new(options.max_memory));
    let setting = Setting::new(net, properties, options, &budget);
    workers::decide(Board::new(setting), setting, options).report(setting, options.stop)
}

/// An error if there is a formula among properties.
pub fn no_formulas(properties: &[Property]) -> Result<()> {
    match properties.iter().any(|property| matches!(property, Property::Formula(_))) {
        true => Err(Error::internal("a search by parts does not decide formulas")),
        false => Ok(()),
    }
}

/// What an answer means for its obligation, and for all of them if it decides.
fn result_of(answer: Answer) -> Result<(Fate, Option<Verdict>)> {
    Ok(match answer {
        Answer::Holds => (Fate::Holds, None),
        Answer::Verdict(verdict) => (Fate::Violated, Some(verdict)),
        Answer::Left(why) => (Fate::Left(why), None),
        Answer::Stopped(limit) => (Fate::Left(Why::Stopped), Some(Verdict::Unknown(limit))),
        Answer::Failed(error) => return Err(error),
    })
}

impl Obligation {
    pub(super) fn asked(self, properties: &[Property]) -> SystemQuestion<'_> {
        match self {
            Obligation::Faults => SystemQuestion::Faults,
            Obligation::Property(index) => SystemQuestion::Property(&properties[index]),
        }
    }
}

/// What has to be decided, in order. Of several properties that ask for freedom from deadlock the strictest counts.
pub(super) fn obligations(faulty: bool, properties: &[Property]) -> Vec<Obligation> {
    let faults = (faulty && !mutants::is(mutants::Mutant::DropFaults)).then_some(Obligation::Faults);
    let deadlock = property::deadlock_freedom(properties).map(|(index, _)| index);
    let wanted = |(index, property): (usize, &Property)| match property {
        Property::DeadlockFree { .. } => Some(index) == deadlock,
        Property::Never(_) | Property::Monitor(_) | Property::Formula(_) => true,
    };
    let asked = properties.iter().enumerate().filter(|(index, property)| wanted((*index, property)));
    faults.into_iter().chain(asked.map(|(index, _)| Obligation::Property(index))).collect()
}

/// What has to be decided about a network whose tables are complete, in order.
fn obligations_of(setting: Setting) -> Vec<Obligation> {
    let is_fault = |vector: &Vector| matches!(vector.outcome, Outcome::Fault(_));
    obligations(setting.net.vectors.iter().any(is_fault), setting.properties)
}
