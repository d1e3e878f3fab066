//! One obligation, from the leaves of the network to one component.
//!
//! Nothing is computed here: an aggregation says which tasks come next, and goes on with the answers to all of them.
//! Invariant: it is a function of the answers, so it makes no difference which worker computes them, or whether an earlier
//! run did.

use super::choose::{Choice, Chooser, Choosing, Memory};
use super::interface::{Found, Interfaces, Tree};
use super::lift::{Lift, Root};
use super::product::{Effort, Table};
use super::system::{Component, Making, Origin, System, SystemQuestion, TAU};
use super::task::{Answered, End as Done, Kept, Part, Task, What, size, trouble};
use super::{
    Account, Fate, Keep, Node, Obligation, Reduction, Seen, Setting, Stage, Stages, Stop, Trouble, Why,
};
use crate::base::error::{Error, Limit};
use crate::base::hash::{Map, Set};
use crate::engine::search::Verdict;
use crate::model::explicit::State;
use crate::model::network::LeafIx;
use crate::property::Property;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// The answer to an obligation.
pub(super) enum Answer {
    Holds,
    /// Violated or faulty, replayed.
    Verdict(Verdict),
    Left(Why),
    Stopped(Limit),
    Failed(Error),
}

/// What a task is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(super) enum Purpose {
    /// To hide the own steps of the leaf in a slot.
    Leaf(u32),
    /// To see what putting two components together comes to: the number of the trial.
    Trial(u64),
    /// To make a component again that an earlier run made: its node.
    Again(u64),
    /// To explore the components by their interfaces: how often that was done before.
    Interfaces(u64),
}

/// What is to be done next.
pub(super) enum Step {
    /// These tasks, before it goes on.
    Tasks(Vec<(Purpose, Task)>),
    Ended(End),
}

/// How the rounds ended.
pub(super) enum End {
    Holds,
    /// Components that show a violation together, with the states that they reach if these matter.
    Violated(Vec<Root>),
    /// A violation that was found in the interfaces of the components, in these groups and with that limit.
    Found(Vec<Tree>, u64),
    Left(Why),
}

/// What answers are waited for.
enum Phase {
    Nothing,
    /// The own steps of these leaves are hidden, as their tables say.
    Leaves(Vec<(u32, Table)>),
    Choosing(Choosing),
    /// Of the pairs that were chosen, those whose products are not at hand are put together once more.
    Again(Vec<Choice>),
    Exploring(Exploring),
}

/// Components are explored by their interfaces.
struct Exploring {
    /// The groups that are being tried, and those that are next.
    trees: VecDeque<Vec<Tree>>,
    /// Why nothing can be put together.
    why: Why,
}

/// What comes after an answer.
enum Next {
    /// A round begins.
    Round,
    Choose(Choosing),
    /// Nothing can be put together.
    Explore(Exploring),
    Decided(End),
}

/// The aggregation of one obligation.
pub(super) struct Aggregation {
    obligation: Obligation,
    keep: Keep,
    system: System,
    /// For each slot the group that the user wants it in.
    groups: Vec<Option<u32>>,
    /// Components without connection to others that got stuck.
    ended: Vec<Root>,
    limit: u64,
    phase: Phase,
    explorations: u64,
    nodes: Vec<Node>,
    left: Vec<usize>,
    memory: Memory,
    stage: Stage,
    seen: Option<Seen>,
    start: Instant,
}

/// The first limit on states, as far as the user allows it, and how much higher the next ones are. Where products are too
/// large for a limit, the components are explored by their interfaces with the same one before it is raised: what takes
/// one of the two seconds may take the other for ever.
const FIRST_LIMIT: u64 = 1 << 14;
const RAISED: u64 = 8;

/// What a choice is made for. A function would borrow the whole aggregation, of which the memory is written meanwhile.
macro_rules! chooser {
    ($self:ident, $setting:ident) => {
        Chooser {
            system: &$self.system,
            groups: &$self.groups,
            around: None,
            keep: $self.keep,
            limit: $self.limit,
            trials: $setting.trials,
            budget: $setting.budget,
        }
    };
}

impl Aggregation {
    pub(super) fn new(setting: Setting, obligation: Obligation) -> Self {
        let keep = match (obligation.asked(setting.properties), setting.reduction) {
            (SystemQuestion::Property(Property::DeadlockFree { .. }), _) => Keep::Deadlocks,
            (_, Reduction::WeakTraces) => Keep::WeakTraces,
            (_, Reduction::Branching) => Keep::Branching,
            (_, Reduction::Divergence) => Keep::Divergence,
        };
        Aggregation {
            obligation,
            keep,
            system: System::empty(),
            groups: Vec::new(),
            ended: Vec::new(),
            limit: setting.limit.min(FIRST_LIMIT),
            phase: Phase::Nothing,
            explorations: 0,
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

    /// Components left, states of all components so far before reduction, and trials made.
    pub(super) fn progress(&self) -> (u64, u64, u64) {
        let states = self.nodes.iter().map(|node| node.product.0).sum();
        (self.left.len() as u64, states, self.memory.made)
    }

    /// What an end comes to: the run of the network that shows a violation is put together.
    pub(super) fn answer(&mut self, setting: Setting, end: End, stop: &Stop) -> Answer {
        let told = match end {
            End::Holds => return Answer::Holds,
            End::Left(why) => return Answer::Left(why),
            End::Violated(roots) => self.lifted(setting, stop, roots, None),
            End::Found(tree, limit) => self.found(setting, stop, &tree, limit),
        };
        match told {
            Ok(verdict) => Answer::Verdict(verdict),
            Err(Trouble::Memory) => Answer::Left(Why::Run),
            Err(trouble) => trouble.answer(Why::Run),
        }
    }

    fn lifted(
        &self,
        setting: Setting,
        stop: &Stop,
        roots: Vec<Root>,
        interfaces: Option<(&mut Interfaces, Found)>,
    ) -> Result<Verdict, Trouble> {
        let effort = Effort { states: setting.limit, budget: setting.budget, stop };
        let lift = Lift { net: setting.net, effort };
        lift.verdict(roots, interfaces, self.obligation, setting.properties)
    }

    /// The task that found a violation in the interfaces kept nothing of it, so they are explored again.
    fn found(
        &mut self,
        setting: Setting,
        stop: &Stop,
        tree: &[Tree],
        limit: u64,
    ) -> Result<Verdict, Trouble> {
        let effort = Effort { states: limit, budget: setting.budget, stop };
        let mut interfaces = Interfaces::new(&self.system, tree, setting.members, effort)?;
        let found = interfaces.explore(self.keep == Keep::Deadlocks)?;
        let roots = std::mem::take(&mut self.ended);
        self.lifted(setting, stop, roots, Some((&mut interfaces, found)))
    }

    /// The first step.
    pub(super) fn begin(&mut self, setting: Setting) -> Result<Step, Trouble> {
        let asked = self.obligation.asked(setting.properties);
        self.system = System::new(setting.net, asked, setting.budget)?;
        self.list_leaves(setting);
        self.system.prune(self.keep);
        let (mut leaves, mut tasks) = (Vec::new(), Vec::new());
        for slot in self.system.slots().collect::<Vec<_>>() {
            // A leaf is there already, however large it is.
            let (table, syncs) = self.system.table(slot, None);
            let first = Part::from(&**self.system.component(slot));
            let what = What::Product { first, second: None, table: table.clone() };
            tasks.push((Purpose::Leaf(slot), Task { what, keep: self.keep, limit: u64::MAX }));
            leaves.push((slot, table));
            self.system.rename(slot, None, syncs);
        }
        self.phase = Phase::Leaves(leaves);
        if tasks.is_empty() {
            return self.advance(setting, Vec::new());
        }
        Ok(Step::Tasks(tasks))
    }

    /// Goes on with the results of the tasks of the last step, in their order.
    pub(super) fn advance(&mut self, setting: Setting, answers: Vec<Answered>) -> Result<Step, Trouble> {
        let mut next = self.absorb(setting, answers)?;
        loop {
            next = match next {
                Next::Round => self.round(setting),
                Next::Choose(mut choosing) => {
                    match choosing.tasks(&chooser!(self, setting), &mut self.memory) {
                        Some(tasks) if tasks.is_empty() => {
                            choosing.absorb(&chooser!(self, setting), &mut self.memory, [])?;
                            Next::Choose(choosing)
                        }
                        Some(tasks) => {
                            self.phase = Phase::Choosing(choosing);
                            let tasks =
                                tasks.into_iter().map(|(number, task)| (Purpose::Trial(number), task));
                            return Ok(Step::Tasks(tasks.collect()));
                        }
                        None => match self.chosen(setting, choosing)? {
                            Ok(next) => next,
                            Err(step) => return Ok(step),
                        },
                    }
                }
                Next::Explore(exploring) => match self.explore(setting, exploring) {
                    ControlFlow::Break(step) => return Ok(step),
                    ControlFlow::Continue(next) => next,
                },
                Next::Decided(end) => return Ok(Step::Ended(end)),
            };
        }
    }

    fn absorb(&mut self, setting: Setting, answers: Vec<Answered>) -> Result<Next, Trouble> {
        match std::mem::replace(&mut self.phase, Phase::Nothing) {
            Phase::Nothing => Err(Trouble::Internal(Error::internal("answers that nobody waits for"))),
            Phase::Leaves(leaves) => {
                for ((slot, table), answered) in leaves.into_iter().zip(answers) {
                    let kept = kept(answered.end, setting)?;
                    let leaf = self.system.component(slot).clone();
                    let node = leaf.node;
                    self.nodes[node].reduced = size(&kept.lts);
                    let making = Making { first: leaf, second: None, table };
                    let component = component(&mut self.system, making, kept, node);
                    self.system.components[slot as usize] = Some(Arc::new(component));
                }
                self.groups = grouped(&self.system, setting.groups);
                Ok(Next::Round)
            }
            Phase::Choosing(mut choosing) => {
                choosing.absorb(&chooser!(self, setting), &mut self.memory, answers)?;
                Ok(Next::Choose(choosing))
            }
            Phase::Again(mut choices) => {
                let lacking = choices.iter_mut().filter(|choice| choice.kept.is_none());
                for (choice, answered) in lacking.zip(answers) {
                    choice.kept = Some(kept(answered.end, setting)?);
                }
                self.join(choices)?;
                Ok(Next::Round)
            }
            Phase::Exploring(exploring) => {
                let answered = answers.into_iter().next().map_or(Done::Stopped, |answered| answered.end);
                self.explored(exploring, answered)
            }
        }
    }

    /// Looks at what there is, and begins to choose what is put together next.
    fn round(&mut self, setting: Setting) -> Next {
        self.system.prune(self.keep);
        self.left = self.system.slots().map(|slot| self.system.component(slot).node).collect();
        let decided = match self.keep {
            Keep::Deadlocks => stuck(&mut self.system, &mut self.ended),
            Keep::WeakTraces | Keep::Branching | Keep::Divergence | Keep::Strong => observed(&self.system),
        };
        if let Some(end) = decided {
            return Next::Decided(end);
        }
        if setting.stages == Stages::Interfaces {
            return Next::Explore(self.exploring(setting, Why::Limit(self.limit)));
        }
        Next::Choose(Choosing::new(&chooser!(self, setting), &mut self.memory))
    }

    /// Puts the pairs together that were chosen, if there are any.
    fn chosen(&mut self, setting: Setting, choosing: Choosing) -> Result<Result<Next, Step>, Trouble> {
        let why = match choosing.chosen(&chooser!(self, setting)) {
            Ok(choices) if choices.is_empty() => Why::Limit(self.limit),
            Ok(choices) => {
                let numbered = (self.nodes.len() as u64..).zip(&choices);
                let lacking = numbered.filter(|(_, choice)| choice.kept.is_none());
                // That they are not too large is known.
                let again = lacking.map(|(node, choice)| {
                    let task = chooser!(self, setting).task(choice.slots, &choice.table, u64::MAX);
                    (Purpose::Again(node), task)
                });
                let again: Vec<_> = again.collect();
                if again.is_empty() {
                    self.join(choices)?;
                    return Ok(Ok(Next::Round));
                }
                self.phase = Phase::Again(choices);
                return Ok(Err(Step::Tasks(again)));
            }
            Err(Trouble::Memory) => Why::Memory,
            Err(trouble) => return Err(trouble),
        };
        Ok(Ok(Next::Explore(self.exploring(setting, why))))
    }

    fn join(&mut self, choices: Vec<Choice>) -> Result<(), Trouble> {
        self.stage = Stage::Aggregation;
        for choice in choices {
            let (first, second) = choice.slots;
            let group = self.groups[second as usize];
            let same = |g: &u32| group == Some(*g);
            self.groups[first as usize] = self.groups[first as usize].filter(same);
            let reduced = choice.kept.as_ref().map_or((0, 0), |kept| size(&kept.lts));
            let of = |slot: u32| self.system.component(slot).node;
            let parts = vec![of(first), of(second)];
            self.nodes.push(Node { name: None, parts, product: choice.product, reduced });
            put_together(&mut self.system, choice, self.nodes.len() - 1)?;
        }
        Ok(())
    }

    /// Nothing can be put together with the present limit.
    fn exploring(&self, setting: Setting, why: Why) -> Exploring {
        let trees = match setting.stages {
            Stages::Aggregation => Vec::new(),
            Stages::All | Stages::Interfaces => trees(&self.system, &self.groups),
        };
        Exploring { trees: trees.into(), why }
    }

    /// Has the components explored by their interfaces; if that was too large, too, the limit is raised.
    fn explore(&mut self, setting: Setting, exploring: Exploring) -> ControlFlow<Step, Next> {
        let Some(tree) = exploring.trees.front() else {
            if self.limit >= setting.limit {
                return ControlFlow::Break(Step::Ended(End::Left(exploring.why)));
            }
            self.limit = self.limit.saturating_mul(RAISED).min(setting.limit);
            return ControlFlow::Continue(Next::Round);
        };
        let what = What::Interfaces {
            parts: self.system.parts(),
            syncs: self.system.syncs.clone(),
            tree: tree.clone(),
            members: setting.members,
        };
        let purpose = Purpose::Interfaces(self.explorations);
        self.explorations += 1;
        self.phase = Phase::Exploring(exploring);
        ControlFlow::Break(Step::Tasks(vec![(purpose, Task { what, keep: self.keep, limit: self.limit })]))
    }

    fn explored(&mut self, mut exploring: Exploring, end: Done) -> Result<Next, Trouble> {
        let rounds = self.seen.as_ref().map_or(0, |seen| seen.rounds);
        if let Done::Explored(_, seen) | Done::TooLarge(Some(seen)) | Done::Memory(Some(seen)) = &end {
            self.seen = Some(Seen { rounds: rounds + 1, ..seen.clone() });
        }
        let tree = exploring.trees.pop_front();
        match end {
            Done::Explored(found, _) => {
                self.stage = Stage::Interfaces;
                Ok(Next::Decided(match found {
                    Found::Nothing => End::Holds,
                    Found::Bad | Found::Stuck => End::Found(tree.unwrap_or_default(), self.limit),
                }))
            }
            Done::TooLarge(_) | Done::Memory(_) => Ok(Next::Explore(exploring)),
            other => Err(trouble(other)),
        }
    }

    fn list_leaves(&mut self, setting: Setting) {
        let names = setting.net.leaves.iter().map(|leaf| leaf.name.clone()).chain(["observer".to_owned()]);
        let system = &self.system;
        self.nodes = system
            .slots()
            .zip(names)
            .map(|(slot, name)| {
                let size = size(&system.component(slot).lts);
                Node { name: Some(name), parts: Vec::new(), product: size, reduced: size }
            })
            .collect();
    }
}

/// The component that a task was to make.
pub(super) fn kept(end: Done, setting: Setting) -> Result<Kept, Trouble> {
    match end {
        Done::Made { body, .. } => Kept::new(body, setting.budget),
        other => Err(trouble(other)),
    }
}

/// Replaces two components by their product, which must be at hand.
pub(super) fn put_together(system: &mut System, choice: Choice, node: usize) -> Result<(), Trouble> {
    let Choice { slots: (a, b), table, syncs, kept, .. } = choice;
    let lacking = || Trouble::Internal(Error::internal("a product that nobody has made"));
    let kept = kept.ok_or_else(lacking)?;
    let (first, second) = (system.component(a).clone(), system.component(b).clone());
    let making = Making { first, second: Some(second), table };
    let component = component(system, making, kept, node);
    system.replace(a, Some(b), component, syncs);
    Ok(())
}

pub(super) fn component(system: &mut System, making: Making, kept: Kept, node: usize) -> Component {
    let Kept { lts, held } = kept;
    let observes = making.first.observes || making.second.as_ref().is_some_and(|c| c.observes);
    Component {
        label_of: (0..lts.labels().len() as u32).map(|label| vec![label]).collect(),
        state_of: (0..lts.num_states() as u32).collect(),
        observes,
        node,
        version: system.version(),
        _held: held,
        origin: Origin::Made(Arc::new(making)),
        lts,
    }
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
