//! Tables that are filled while components are explored by their interfaces.
//!
//! Nothing can be put together, reduced or left out as long as it is not known what processes can do. But a macro-state
//! needs only its members. So the present tables are explored, and members that are met unexpanded are expanded, until none
//! is left. Then every state in a macro-state is expanded, and so is every local state of every reachable state, where by
//! the invariant of networks all steps are present. What is found before then is valid all the same: a run that is bad
//! replays, and members that are not expanded are never taken to be stuck.
//!
//! Exploring begins anew each time, since the source adds labels and vectors to what was seen before.

use super::aggregate::{Answer, grouped, trees};
use super::interface::{Found, Interfaces};
use super::lift::{Lift, replayed};
use super::product::Effort;
use super::system::{Component, Origin, System, SystemQuestion};
use super::{
    Account, Fate, Node, Obligation, Options, PartsReport, Seen, Stage, Stop, Trouble, Why, no_formulas,
    obligations, result_of,
};
use crate::base::error::Result;
use crate::base::memory::Budget;
use crate::engine::search::Verdict;
use crate::model::network::{LeafIx, Local, Network, TableSource};
use crate::model::trace::Trace;
use crate::property::{self, Property};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

/// What all rounds together may look at, in multiples of the limit on states.
const ROUNDS: u64 = 8;

/// Decides properties of a network whose tables are filled on demand, like [`check`](super::check); they have grown
/// afterwards, and the source goes with them. Only interfaces are explored; the stages in the options do not matter.
pub fn check_open(
    net: &mut Network,
    source: &mut dyn TableSource,
    properties: &[Property],
    options: &Options,
) -> Result<PartsReport> {
    no_formulas(properties)?;
    let budget = Arc::new(Budget::new(options.max_memory));
    // A fault may turn up at any time.
    decided(properties, true, &budget, |obligation| {
        let start = Instant::now();
        let mut rounds = Rounds { net, source, properties, options, budget: &budget, seen: Seen::default() };
        let answer = rounds.decide(obligation);
        let Rounds { seen, net, .. } = rounds;
        let account = Account {
            obligation,
            result: Fate::Left(Why::Stopped),
            nodes: nodes(net, obligation, properties),
            left: (0..net.leaves.len()).collect(),
            trials: 0,
            tried_states: 0,
            stage: Stage::Interfaces,
            interfaces: Some(seen),
            time: start.elapsed(),
        };
        (answer, account)
    })
}

/// Decides obligation by obligation; `decide` makes accounts without results.
fn decided(
    properties: &[Property],
    faulty: bool,
    budget: &Budget,
    mut decide: impl FnMut(Obligation) -> (Answer, Account),
) -> Result<PartsReport> {
    let start = Instant::now();
    let mut accounts = Vec::new();
    let mut verdict = Some(Verdict::Holds);
    let initially = property::violated_initially(properties);
    let asked = match initially {
        Some(_) => Vec::new(),
        None => obligations(faulty, properties),
    };
    if let Some(property) = initially {
        verdict = Some(Verdict::Violated { property, trace: Trace::default() });
    }
    for obligation in asked {
        let (answer, account) = decide(obligation);
        let (result, told) = result_of(answer)?;
        let holds = result == Fate::Holds;
        accounts.push(Account { result, ..account });
        if !holds {
            verdict = told;
            break;
        }
    }
    Ok(PartsReport { verdict, accounts, peak_memory: budget.peak(), time: start.elapsed() })
}

/// The processes, as far as they are known.
fn nodes(net: &Network, obligation: Obligation, properties: &[Property]) -> Vec<Node> {
    let observed =
        !matches!(obligation.asked(properties), SystemQuestion::Property(Property::DeadlockFree { .. }));
    let leaves = net.leaves.iter().map(|leaf| {
        let moves: usize = leaf.states.iter().map(|table| table.moves.len()).sum();
        (leaf.name.clone(), (leaf.states.len() as u64, moves as u64))
    });
    let observer = observed.then(|| ("observer".to_owned(), (0, 0)));
    leaves
        .chain(observer)
        .map(|(name, size)| Node { name: Some(name), parts: Vec::new(), product: size, reduced: size })
        .collect()
}

struct Rounds<'a> {
    net: &'a mut Network,
    source: &'a mut dyn TableSource,
    properties: &'a [Property],
    options: &'a Options<'a>,
    budget: &'a Arc<Budget>,
    seen: Seen,
}

/// What a round came to.
enum Round {
    Done(Answer),
    /// What has to be expanded first.
    Missing(BTreeSet<(LeafIx, Local)>),
}

impl Rounds<'_> {
    fn decide(&mut self, obligation: Obligation) -> Answer {
        let most = self.options.limit.saturating_mul(ROUNDS);
        let mut work = 0;
        loop {
            let missing = match self.round(obligation) {
                Ok(Round::Done(answer)) => return answer,
                Ok(Round::Missing(missing)) => missing,
                Err(trouble) => return trouble.answer(Why::Limit(self.options.limit)),
            };
            for (leaf, local) in missing {
                if let Err(error) = self.source.expand(self.net, leaf, local) {
                    return match (self.options.stop)() {
                        Some(limit) => Answer::Stopped(limit),
                        None => Answer::Failed(error),
                    };
                }
            }
            let states: usize = self.net.leaves.iter().map(|leaf| leaf.states.len()).sum();
            work += self.seen.tuples + states as u64;
            (self.options.progress)(self.net.leaves.len() as u64, self.seen.tuples, self.seen.rounds);
            if work > most {
                return Answer::Left(Why::Limit(self.options.limit));
            }
        }
    }

    fn round(&mut self, obligation: Obligation) -> Result<Round, Trouble> {
        let asked = obligation.asked(self.properties);
        let system = System::new(self.net, asked, self.budget)?;
        let stop = Stop(self.options.stop);
        let effort = Effort { states: self.options.limit, budget: self.budget, stop: &stop };
        let groups = grouped(&system, self.options.groups);
        let tree = trees(&system, &groups).swap_remove(0);
        let deadlocks = matches!(asked, SystemQuestion::Property(Property::DeadlockFree { .. }));
        let rounds = self.seen.rounds + 1;
        let mut interfaces = Interfaces::new(&system, &tree, self.options.members, effort)?;
        interfaces.leave_open(|component, state| open(self.net, component, state).is_some());
        let explored = interfaces.explore(deadlocks);
        self.seen = Seen { rounds, ..interfaces.account() };
        let found = explored?;
        if found == Found::Nothing {
            let missing: BTreeSet<_> =
                interfaces.met().filter_map(|(component, state)| open(self.net, component, state)).collect();
            return Ok(match missing.is_empty() {
                true => Round::Done(Answer::Holds),
                false => Round::Missing(missing),
            });
        }
        let lift = Lift { net: self.net, effort };
        let trace = match lift.shown(Vec::new(), Some((&mut interfaces, found)), obligation, self.properties)
        {
            Ok(trace) => trace,
            Err(Trouble::Memory) => return Ok(Round::Done(Answer::Left(Why::Run))),
            Err(trouble) => return Err(trouble),
        };
        // Others may be in states that were not looked at yet while some come to a violation, and a replay looks at all of
        // them.
        let missing = unexpanded(self.net, &trace);
        if !missing.is_empty() {
            return Ok(Round::Missing(missing));
        }
        let verdict = replayed(self.net, self.properties, obligation, trace)?;
        Ok(Round::Done(Answer::Verdict(verdict)))
    }
}

/// Local states along a run, its end left out, that are not expanded yet.
fn unexpanded(net: &Network, trace: &Trace) -> BTreeSet<(LeafIx, Local)> {
    let Some((_, before)) = trace.steps.split_last() else { return BTreeSet::new() };
    let initial = net.initial();
    let states = std::iter::once(&initial).chain(before.iter().map(|step| &step.target));
    let all =
        states.flat_map(|state| state.iter().enumerate().map(|(leaf, &local)| (LeafIx(leaf as u32), local)));
    all.filter(|(leaf, local)| !net.leaves[leaf.0 as usize].states[local.0 as usize].expanded).collect()
}

/// The local state that a state of a component is, if it is not expanded yet.
fn open(net: &Network, component: &Component, state: u32) -> Option<(LeafIx, Local)> {
    let Origin::Leaf(leaf) = component.origin else { return None };
    let local = Local(component.state_of[state as usize]);
    let table = &net.leaves[leaf.0 as usize].states[local.0 as usize];
    (!table.expanded).then_some((leaf, local))
}
