//! One obligation, from the leaves of the network to one component.

use super::choose::{Choice, Chooser, Memory};
use super::interface::{Found, Interfaces, Tree};
use super::lift::{Lift, Root};
use super::product::{Effort, compose};
use super::reduce::{Reduced, reduce};
use super::system::{Asked, Component, Held, Making, Origin, System, TAU, bytes_of};
use super::{
    Account, Fate, Keep, Node, Obligation, Options, Reduction, Seen, Stage, Stages, Stop, Trouble, Why,
};
use crate::base::error::{Error, Limit};
use crate::base::hash::{Map, Set};
use crate::base::memory::Budget;
use crate::engine::search::Verdict;
use crate::model::explicit::{Lts, State};
use crate::model::network::{LeafIx, Network};
use crate::property::Property;
use std::sync::Arc;
use std::time::Instant;

/// What became of it.
pub(super) enum Answer {
    Holds,
    /// Violated or faulty, replayed.
    Verdict(Verdict),
    Left(Why),
    Stopped(Limit),
    Failed(Error),
}

/// See the module head.
pub(super) struct Aggregation<'a> {
    net: &'a Network,
    properties: &'a [Property],
    obligation: Obligation,
    asked: Asked<'a>,
    options: &'a Options<'a>,
    budget: &'a Arc<Budget>,
    keep: Keep,
    nodes: Vec<Node>,
    left: Vec<usize>,
    memory: Memory,
    stage: Stage,
    seen: Option<Seen>,
    start: Instant,
}

/// How the rounds ended.
enum End {
    Holds,
    /// Components that show a violation together, with the states that they reach if these matter.
    Violated(Vec<Root>),
    /// Violated, replayed, or why the run cannot be told.
    Told(Result<Verdict, Trouble>),
    Left(Why),
}

/// The first limit on states, as far as the user allows it, and how much higher the next ones are. Where products are too
/// large for a limit, the components are explored by their interfaces with the same one before it is raised: what takes
/// one of the two seconds may take the other for ever.
const FIRST_LIMIT: u64 = 1 << 14;
const RAISED: u64 = 8;

impl<'a> Aggregation<'a> {
    pub(super) fn new(
        net: &'a Network,
        properties: &'a [Property],
        obligation: Obligation,
        asked: Asked<'a>,
        options: &'a Options<'a>,
        budget: &'a Arc<Budget>,
    ) -> Self {
        let keep = match (asked, options.reduction) {
            (Asked::Property(Property::DeadlockFree { .. }), _) => Keep::Deadlocks,
            (_, Reduction::WeakTraces) => Keep::WeakTraces,
            (_, Reduction::Branching) => Keep::Branching,
            (_, Reduction::Divergence) => Keep::Divergence,
        };
        Aggregation {
            net,
            properties,
            obligation,
            asked,
            options,
            budget,
            keep,
            nodes: Vec::new(),
            left: Vec::new(),
            memory: Memory::default(),
            stage: Stage::Fixpoint,
            seen: None,
            start: Instant::now(),
        }
    }

    /// What was done; the caller knows what became of it.
    pub(super) fn account(self) -> Account {
        Account {
            obligation: self.obligation,
            result: Fate::Left(Why::Stopped),
            nodes: self.nodes,
            left: self.left,
            trials: self.memory.made,
            tried_states: self.memory.states,
            stage: self.stage,
            interfaces: self.seen,
            time: self.start.elapsed(),
        }
    }

    /// Decides it.
    pub(super) fn decide(&mut self) -> Answer {
        let ended = self.rounds();
        let told = match ended {
            Ok(End::Holds) => return Answer::Holds,
            Ok(End::Left(why)) => return Answer::Left(why),
            Ok(End::Violated(roots)) => self.lifted(roots, None),
            Ok(End::Told(told)) => told,
            Err(trouble) => return trouble.answer(Why::Limit(self.options.limit)),
        };
        match told {
            Ok(verdict) => Answer::Verdict(verdict),
            Err(Trouble::Memory) => Answer::Left(Why::Run),
            Err(trouble) => trouble.answer(Why::Run),
        }
    }

    /// The run of the network that shows a violation.
    fn lifted(
        &self,
        roots: Vec<Root>,
        interfaces: Option<(&mut Interfaces, Found)>,
    ) -> Result<Verdict, Trouble> {
        let stop = Stop(self.options.stop);
        let lift = Lift { net: self.net, keep: self.keep, effort: self.effort(&stop) };
        lift.verdict(roots, interfaces, self.obligation, self.properties)
    }

    fn effort<'b>(&'b self, stop: &'b Stop<'b>) -> Effort<'b> {
        Effort { states: self.options.limit, budget: self.budget, stop }
    }

    fn rounds(&mut self) -> Result<End, Trouble> {
        let mut system = System::new(self.net, self.asked, self.budget)?;
        self.list_leaves(&system);
        system.prune(self.keep);
        for slot in system.slots().collect::<Vec<_>>() {
            self.hide_own(&mut system, slot)?;
        }
        let mut groups = grouped(&system, self.options.groups);
        let mut ended = Vec::new();
        let mut limit = self.options.limit.min(FIRST_LIMIT);
        loop {
            system.prune(self.keep);
            let left = system.slots().count() as u64;
            (self.options.progress)(left, self.states(), self.memory.made);
            self.left = system.slots().map(|slot| system.component(slot).node).collect();
            let decided = match self.keep {
                Keep::Deadlocks => stuck(&mut system, &mut ended),
                Keep::WeakTraces | Keep::Branching | Keep::Divergence | Keep::Strong => observed(&system),
            };
            if let Some(end) = decided {
                return Ok(end);
            }
            let why = match self.choice(&system, &groups, limit)? {
                Ok(choice) => {
                    self.stage = Stage::Aggregation;
                    let (first, second) = choice.slots;
                    let same = |g: &u32| groups[second as usize] == Some(*g);
                    groups[first as usize] = groups[first as usize].filter(same);
                    self.join(&mut system, choice)?;
                    continue;
                }
                Err(why) => why,
            };
            if let Some(end) = self.by_interfaces(&system, &groups, &mut ended, limit)? {
                self.stage = Stage::Interfaces;
                return Ok(end);
            }
            if limit >= self.options.limit {
                return Ok(End::Left(why));
            }
            limit = limit.saturating_mul(RAISED).min(self.options.limit);
        }
    }

    /// Which two components are next, or why there are none.
    fn choice(
        &mut self,
        system: &System,
        groups: &[Option<u32>],
        limit: u64,
    ) -> Result<Result<Choice, Why>, Trouble> {
        if self.options.stages == Stages::Interfaces {
            return Ok(Err(Why::Limit(limit)));
        }
        let stop = Stop(self.options.stop);
        let chooser = Chooser {
            system,
            groups,
            around: None,
            keep: self.keep,
            effort: Effort { states: limit, budget: self.budget, stop: &stop },
            workers: self.options.workers,
        };
        match chooser.choose(&mut self.memory) {
            Ok(Some(choice)) => Ok(Ok(choice)),
            Ok(None) => Ok(Err(Why::Limit(limit))),
            Err(Trouble::Memory) => Ok(Err(Why::Memory)),
            Err(trouble) => Err(trouble),
        }
    }

    /// Explores the components by their interfaces; `None` if that is too large.
    fn by_interfaces(
        &mut self,
        system: &System,
        groups: &[Option<u32>],
        ended: &mut Vec<Root>,
        limit: u64,
    ) -> Result<Option<End>, Trouble> {
        if self.options.stages == Stages::Aggregation {
            return Ok(None);
        }
        let stop = Stop(self.options.stop);
        let effort = Effort { states: limit, budget: self.budget, stop: &stop };
        for tree in trees(system, groups) {
            let rounds = self.seen.as_ref().map_or(0, |seen| seen.rounds);
            let explored = Interfaces::new(system, &tree, self.options.members, effort);
            let (mut interfaces, found) = match explored {
                Ok(mut interfaces) => {
                    let found = interfaces.explore(self.keep == Keep::Deadlocks);
                    self.seen = Some(Seen { rounds: rounds + 1, ..interfaces.account() });
                    (interfaces, found)
                }
                Err(Trouble::TooLarge | Trouble::Memory) => continue,
                Err(trouble) => return Err(trouble),
            };
            match found {
                Ok(Found::Nothing) => return Ok(Some(End::Holds)),
                Ok(found) => {
                    let told = self.lifted(std::mem::take(ended), Some((&mut interfaces, found)));
                    return Ok(Some(End::Told(told)));
                }
                Err(Trouble::TooLarge | Trouble::Memory) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(None)
    }

    /// States of all components so far, before reduction.
    fn states(&self) -> u64 {
        self.nodes.iter().map(|node| node.product.0).sum()
    }

    fn list_leaves(&mut self, system: &System) {
        let names = self.net.leaves.iter().map(|leaf| leaf.name.clone()).chain(["observer".to_owned()]);
        self.nodes = system
            .slots()
            .zip(names)
            .map(|(slot, name)| {
                let size = size(&system.component(slot).lts);
                Node { name: Some(name), parts: Vec::new(), product: size, reduced: size }
            })
            .collect();
    }

    /// Hides the steps that a leaf takes alone, and reduces it.
    fn hide_own(&mut self, system: &mut System, slot: u32) -> Result<(), Trouble> {
        let stop = Stop(self.options.stop);
        let node = system.component(slot).node;
        self.nodes[node].reduced = hidden_own(system, slot, self.keep, self.effort(&stop))?;
        Ok(())
    }

    fn join(&mut self, system: &mut System, choice: Choice) -> Result<(), Trouble> {
        let (a, b) = choice.slots;
        let parts = vec![system.component(a).node, system.component(b).node];
        let (product, reduced) = (choice.product, size(&choice.reduced.lts));
        self.nodes.push(Node { name: None, parts, product, reduced });
        put_together(system, choice, self.nodes.len() - 1, self.budget)
    }
}

/// Hides the steps that a leaf takes alone, and reduces it; tells its size then.
pub(super) fn hidden_own(
    system: &mut System,
    slot: u32,
    keep: Keep,
    effort: Effort,
) -> Result<(u64, u64), Trouble> {
    let (table, syncs) = system.table(slot, None);
    let leaf = system.component(slot).clone();
    // A leaf is there already, however large it is.
    let effort = Effort { states: u64::MAX, ..effort };
    let product = compose(&leaf, None, &table, effort)?;
    let reduced = reduce(&product.lts, keep, leaf.observes, effort)?;
    let node = leaf.node;
    let making = Making { first: leaf, second: None, table };
    let component = component(system, making, &reduced, node, effort.budget)?;
    system.replace(slot, None, component, syncs);
    Ok(size(&reduced.lts))
}

/// Replaces two components by their product.
pub(super) fn put_together(
    system: &mut System,
    choice: Choice,
    node: usize,
    budget: &Arc<Budget>,
) -> Result<(), Trouble> {
    let Choice { slots: (a, b), table, syncs, reduced, .. } = choice;
    let (first, second) = (system.component(a).clone(), system.component(b).clone());
    let making = Making { first, second: Some(second), table };
    let component = component(system, making, &reduced, node, budget)?;
    system.replace(a, Some(b), component, syncs);
    Ok(())
}

fn component(
    system: &mut System,
    making: Making,
    reduced: &Reduced,
    node: usize,
    budget: &Arc<Budget>,
) -> Result<Component, Trouble> {
    let lts = reduced.lts.clone();
    let observes = making.first.observes || making.second.as_ref().is_some_and(|c| c.observes);
    Ok(Component {
        label_of: (0..lts.labels().len() as u32).map(|label| vec![label]).collect(),
        state_of: (0..lts.num_states() as u32).collect(),
        observes,
        node,
        version: system.version(),
        _held: Arc::new(Held::new(budget, bytes_of(&lts))?),
        origin: Origin::Made(Arc::new(making)),
        lts,
    })
}

/// For each slot the group that the user wants its leaf in.
pub(super) fn grouped(system: &System, wanted: &[Vec<LeafIx>]) -> Vec<Option<u32>> {
    let mut groups = vec![None; system.components.len()];
    for (number, group) in (0..).zip(wanted) {
        for leaf in group {
            groups[leaf.0 as usize] = Some(number);
        }
    }
    groups
}

/// In which groups components are explored by their interfaces: each by itself, apart from what the user wants together;
/// then in pairs of those that have most in common.
pub(super) fn trees(system: &System, groups: &[Option<u32>]) -> Vec<Vec<Tree>> {
    let slots: Vec<u32> = system.slots().collect();
    let mut flat: Vec<Tree> = Vec::new();
    let mut place: Map<u32, usize> = Map::default();
    for &slot in &slots {
        let Some(group) = groups[slot as usize] else {
            flat.push(Tree::Slot(slot));
            continue;
        };
        let at = *place.entry(group).or_insert_with(|| {
            flat.push(Tree::Group(Vec::new()));
            flat.len() - 1
        });
        if let Tree::Group(members) = &mut flat[at] {
            members.push(Tree::Slot(slot));
        }
    }
    let mut shared: Map<(u32, u32), i64> = Map::default();
    for sync in &system.syncs {
        if let [(a, _), (b, _)] = sync[..] {
            *shared.entry((a, b)).or_default() -= 1;
        }
    }
    let mut pairs: Vec<(i64, (u32, u32))> = shared.into_iter().map(|(pair, n)| (n, pair)).collect();
    pairs.sort_unstable();
    let mut free: Set<u32> = slots.iter().copied().collect();
    let mut paired: Vec<Tree> = Vec::new();
    for (_, (a, b)) in pairs {
        if free.contains(&a) && free.contains(&b) {
            free.remove(&a);
            free.remove(&b);
            paired.push(Tree::Group(vec![Tree::Slot(a), Tree::Slot(b)]));
        }
    }
    paired.extend(slots.into_iter().filter(|slot| free.contains(slot)).map(Tree::Slot));
    let pairs = place.is_empty() && paired.len() < flat.len();
    std::iter::once(flat).chain(pairs.then_some(paired)).collect()
}

fn size(lts: &Lts) -> (u64, u64) {
    (lts.num_states() as u64, lts.num_transitions() as u64)
}

impl Trouble {
    pub(super) fn answer(self, too_large: Why) -> Answer {
        match self {
            Trouble::TooLarge => Answer::Left(too_large),
            Trouble::Memory => Answer::Left(Why::Memory),
            Trouble::Stopped(limit) => Answer::Stopped(limit),
            Trouble::Internal(error) => Answer::Failed(error),
        }
    }
}

/// What the observer's component says already. It is trimmed: its initial state is bad if it can get there alone, and it
/// has no bad state if nothing leads to one.
fn observed(system: &System) -> Option<End> {
    let component = system.component(system.observer()?);
    if component.is_bad(0) {
        return Some(End::Violated(vec![Root { component: component.clone(), state: None }]));
    }
    let bad = (0..component.lts.num_states() as u32).any(|state| component.is_bad(state));
    (!bad).then_some(End::Holds)
}

/// What the components say about deadlocks. One that no sync connects with others goes its own way: if it can get stuck
/// it is put aside, since then the others decide; if it cannot, there is no deadlock. One that can always move alone
/// never lets the system get stuck either.
fn stuck(system: &mut System, ended: &mut Vec<Root>) -> Option<End> {
    let slots: Vec<u32> = system.slots().collect();
    for slot in slots {
        let component = system.component(slot).clone();
        let lts = &component.lts;
        let moves_alone = |state: State| lts.outgoing(state).iter().any(|t| t.label.0 == TAU);
        if lts.states().all(moves_alone) {
            return Some(End::Holds);
        }
        if system.syncs.iter().flatten().any(|part| part.0 == slot) {
            continue;
        }
        // Without syncs all moves are its own.
        let stuck = lts.states().find(|&state| lts.outgoing(state).is_empty());
        let Some(state) = stuck else { return Some(End::Holds) };
        ended.push(Root { component, state: Some(state.0) });
        system.components[slot as usize] = None;
    }
    (system.slots().next().is_none()).then(|| End::Violated(std::mem::take(ended)))
}
