//! Replays traces on a network, with code that shares nothing with the searches.
//!
//! Every violation is replayed before it is reported, and a trace from a file is checked the same way. This module uses
//! the tables and [`Network::moves_with`] only. Invariant: a trace that is accepted is a run of the network from its
//! initial state.

use crate::base::error::{Error, Result};
use crate::base::hash::Set;
use crate::model::network::{LeafIx, Local, LocalLabel, Network, Outcome, Step, TableSource, VectorIx};
use crate::model::trace::Trace;
use crate::property::Property;

/// Why a trace does not replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The number of steps that could be taken.
    pub after: usize,
    /// What is wrong with the next one, or with the end.
    pub reason: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "after {} steps: {}", self.after, self.reason)
    }
}

impl std::error::Error for Mismatch {}

/// Tables for a replay: complete ones, or ones that are expanded as the replay goes.
pub trait Tables {
    /// The network, in which the given local states are expanded.
    fn expanded(&mut self, state: &[Local]) -> Result<&Network>;
}

impl Tables for &Network {
    fn expanded(&mut self, state: &[Local]) -> Result<&Network> {
        for (leaf, &local) in self.leaves.iter().zip(state) {
            let table = leaf.states.get(local.0 as usize);
            if !table.is_some_and(|t| t.expanded) {
                return Err(Error::Internal(format!(
                    "local state {} of `{}` has no table",
                    local.0, leaf.name
                )));
            }
        }
        Ok(self)
    }
}

/// A network and the source of its tables.
pub struct Growing<'a> {
    /// The network.
    pub net: &'a mut Network,
    /// What fills its tables.
    pub source: &'a mut dyn TableSource,
}

impl Tables for Growing<'_> {
    fn expanded(&mut self, state: &[Local]) -> Result<&Network> {
        for (i, &local) in state.iter().enumerate() {
            let table = self.net.leaves[i].states.get(local.0 as usize);
            if !table.ok_or_else(|| Error::Internal(format!("there is no local state {}", local.0)))?.expanded
            {
                self.source.expand(self.net, LeafIx(i as u32), local)?;
            }
        }
        Ok(self.net)
    }
}

/// Takes the steps of a trace one by one.
pub fn steps(mut tables: impl Tables, trace: &Trace) -> Result<(), Mismatch> {
    let mut state: Option<Vec<Local>> = None;
    for (after, step) in trace.steps.iter().enumerate() {
        let mismatch = |reason: String| Mismatch { after, reason };
        let no_table = |error: Error| mismatch(error.to_string());
        let net = match &state {
            None => initial(&mut tables).map_err(no_table)?.0,
            Some(state) => tables.expanded(state).map_err(no_table)?,
        };
        let before = state.take().unwrap_or_else(|| net.initial());
        check_step(net, &before, step).map_err(mismatch)?;
        state = Some(step.target.clone());
    }
    Ok(())
}

/// The network with its initial state expanded.
fn initial<T: Tables>(tables: &mut T) -> Result<(&Network, Vec<Local>)> {
    let initial = tables.expanded(&[])?.initial();
    Ok((tables.expanded(&initial)?, initial))
}

fn check_step(net: &Network, before: &[Local], step: &Step) -> Result<(), String> {
    let vector = net.vectors.get(step.vector.0 as usize).ok_or("there is no such vector")?;
    if step.target.len() != before.len() {
        return Err(format!("the target has {} local states instead of {}", step.target.len(), before.len()));
    }
    for (i, (from, to)) in before.iter().zip(&step.target).enumerate() {
        let leaf = LeafIx(i as u32);
        let possible = match vector.parts.iter().find(|part| part.0 == leaf) {
            None => from == to,
            Some(&(_, label)) => net.moves_with(leaf, *from, label).iter().any(|m| m.1 == *to),
        };
        if !possible {
            let (name, label) = (&net.leaves[i].name, &net.labels[vector.unhidden.0 as usize]);
            return Err(format!("`{name}` cannot go from local state {} to {} by `{label}`", from.0, to.0));
        }
    }
    Ok(())
}

/// Finds a run whose steps match one by one: `matches(net, step, k)` says whether a step can be the k-th one. All
/// ways to match are followed at once; the run returned is the first in the order of [`Network::successors`].
pub fn matching(
    tables: impl Tables,
    length: usize,
    matches: impl Fn(&Network, &Step, usize) -> bool,
) -> Result<Trace, Mismatch> {
    find(tables, length, None, matches)
}

/// The same for a run that repeats: at its end it is where it was after `from` steps.
pub fn closing(
    tables: impl Tables,
    length: usize,
    from: usize,
    matches: impl Fn(&Network, &Step, usize) -> bool,
) -> Result<Trace, Mismatch> {
    find(tables, length, Some(from), matches)
}

/// A state that a matching run reaches.
struct Reached {
    /// The index of the one before.
    parent: usize,
    vector: Option<VectorIx>,
    state: Vec<Local>,
    /// Where the run was at the beginning of the part that is repeated, as an index.
    anchor: usize,
}

fn find(
    mut tables: impl Tables,
    length: usize,
    from: Option<usize>,
    matches: impl Fn(&Network, &Step, usize) -> bool,
) -> Result<Trace, Mismatch> {
    let start = initial(&mut tables).map_err(|error| Mismatch { after: 0, reason: error.to_string() })?.1;
    // For each number of steps the states reachable by a matching run.
    let mut layers = vec![vec![Reached { parent: 0, vector: None, state: start, anchor: 0 }]];
    let mut successors = Vec::new();
    for after in 0..length {
        let mut next = Vec::new();
        let mut seen: Set<(usize, Vec<Local>)> = Set::default();
        for (parent, reached) in layers[after].iter().enumerate() {
            let state = &reached.state;
            let anchor = if from == Some(after) { parent } else { reached.anchor };
            let net =
                tables.expanded(state).map_err(|error| Mismatch { after, reason: error.to_string() })?;
            check_number_of_steps(net, state).map_err(|reason| Mismatch { after, reason })?;
            net.successors(state, &mut successors);
            for step in successors.drain(..) {
                if matches(net, &step, after) && seen.insert((anchor, step.target.clone())) {
                    next.push(Reached { parent, vector: Some(step.vector), state: step.target, anchor });
                }
            }
        }
        if next.is_empty() {
            return Err(Mismatch { after, reason: "the next step is not possible".to_owned() });
        }
        layers.push(next);
    }
    let closes = |reached: &Reached| {
        from.filter(|from| *from < length)
            .is_none_or(|from| layers[from][reached.anchor].state == reached.state)
    };
    let Some(mut index) = layers[length].iter().position(closes) else {
        let reason = format!("the run is not where it was after {} steps", from.unwrap_or(0));
        return Err(Mismatch { after: length, reason });
    };
    let mut steps = Vec::new();
    for layer in layers.iter().rev() {
        let Reached { parent, vector, state, .. } = &layer[index];
        if let Some(vector) = vector {
            steps.push(Step { vector: *vector, target: state.clone() });
        }
        index = *parent;
    }
    steps.reverse();
    Ok(Trace { steps })
}

/// Refuses a state whose steps are too many to list: vectors of many leaves with many moves each.
fn check_number_of_steps(net: &Network, state: &[Local]) -> Result<(), String> {
    const MOST: usize = 1 << 24;
    let steps = |parts: &[(LeafIx, LocalLabel)]| {
        let moves =
            |&(leaf, label): &(LeafIx, LocalLabel)| net.moves_with(leaf, state[leaf.0 as usize], label).len();
        parts.iter().map(moves).fold(1, usize::saturating_mul)
    };
    // Only the vectors that some leaf offers its part of: where tables grow there are as many vectors as steps of the trace.
    for (leaf, &local) in net.leaves.iter().zip(state) {
        let labels = leaf.states[local.0 as usize].moves.iter().map(|(label, _)| label.0 as usize);
        let mut vectors = labels.flat_map(|label| &leaf.vectors_of[label]);
        if vectors.any(|vector| steps(&net.vectors[vector.0 as usize].parts) > MOST) {
            return Err(format!("a vector has more than {MOST} steps here"));
        }
    }
    Ok(())
}

/// Finds a run with the given visible labels, hidden steps written `tau`.
pub fn labels(tables: impl Tables, labels: &[impl AsRef<str>]) -> Result<Trace, Mismatch> {
    let visible = |net: &Network, step: &Step, k: usize| match net.vectors[step.vector.0 as usize].outcome {
        Outcome::Step(label) => net.labels[label.0 as usize] == labels[k].as_ref(),
        Outcome::Fault(_) => false,
    };
    matching(tables, labels.len(), visible).map_err(|mismatch| match labels.get(mismatch.after) {
        Some(label) => Mismatch { reason: format!("`{}` is not possible here", label.as_ref()), ..mismatch },
        None => mismatch,
    })
}

/// Checks that a trace runs and shows the violation of a property at its end.
pub fn violation(net: &Network, property: &Property, trace: &Trace) -> Result<(), Mismatch> {
    steps(net, trace)?;
    let shown = match property {
        Property::DeadlockFree { allow_termination } => {
            let (end, mut successors) = (trace.end(net), Vec::new());
            net.successors(&end, &mut successors);
            successors.is_empty() && !(*allow_termination && net.is_terminated(&end))
        }
        Property::Never(forbidden) => trace.steps.last().is_some_and(|step| forbidden(net, step.vector)),
        Property::Monitor(monitor) => {
            let read = |state, step: &Step| monitor.next(state, monitor.class(net, step.vector));
            monitor.is_bad(trace.steps.iter().fold(Local(0), read))
        }
        // A run alone shows no formula wrong: `engine::game` has a check of its own.
        Property::Formula(_) => false,
    };
    let faults =
        trace.steps.iter().any(|s| matches!(net.vectors[s.vector.0 as usize].outcome, Outcome::Fault(_)));
    if shown && !faults {
        Ok(())
    } else {
        Err(Mismatch { after: trace.len(), reason: "the property is not violated there".to_owned() })
    }
}

/// Checks that a trace runs, and that its last step and no other is a fault.
pub fn fault(net: &Network, trace: &Trace) -> Result<(), Mismatch> {
    steps(net, trace)?;
    let is_fault = |step: &Step| matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_));
    match trace.steps.split_last() {
        Some((last, before)) if is_fault(last) && !before.iter().any(is_fault) => Ok(()),
        _ => Err(Mismatch { after: trace.len(), reason: "there is no fault there".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::samples::random::{Reveal, Shape};
    use crate::samples::synthetic;

    /// A random walk.
    fn walk(net: &Network, length: usize, rng: &mut Rng) -> Trace {
        let (mut trace, mut successors) = (Trace::default(), Vec::new());
        while trace.len() < length {
            net.successors(&trace.end(net), &mut successors);
            if successors.is_empty() {
                break;
            }
            trace.steps.push(successors.swap_remove(rng.below(successors.len())));
        }
        trace
    }

    fn visible(net: &Network, trace: &Trace) -> Vec<String> {
        let label = |step: &Step| match net.vectors[step.vector.0 as usize].outcome {
            Outcome::Step(label) => net.labels[label.0 as usize].clone(),
            Outcome::Fault(_) => unreachable!("no faults in these networks"),
        };
        trace.steps.iter().map(label).collect()
    }

    #[test]
    fn walks_replay_and_changed_walks_do_not() {
        let (mut rng, mut refused) = (Rng::new(5), 0);
        for seed in 0..300 {
            let net = Shape::default().network(seed);
            let mut trace = walk(&net, 12, &mut rng);
            assert_eq!(steps(&net, &trace), Ok(()), "seed {seed}");
            if trace.is_empty() {
                continue;
            }
            let k = rng.below(trace.len());
            let before = if k == 0 { net.initial() } else { trace.steps[k - 1].target.clone() };
            let leaf = rng.below(net.leaves.len());
            let states = net.leaves[leaf].states.len();
            trace.steps[k].target[leaf] = Local(rng.below(states) as u32);
            let mut successors = Vec::new();
            net.successors(&before, &mut successors);
            let expected = successors.contains(&trace.steps[k]);
            let result = steps(&net, &trace);
            refused += usize::from(!expected);
            assert!(
                expected || matches!(result, Err(Mismatch { after, .. }) if after == k),
                "seed {seed}: {result:?}"
            );
        }
        assert!(refused > 50, "the test must refuse something");
    }

    #[test]
    fn labels_alone_find_a_run() {
        let mut rng = Rng::new(6);
        for seed in 0..300 {
            let net = Shape::default().network(seed);
            let trace = walk(&net, 8, &mut rng);
            let texts = visible(&net, &trace);
            let found = labels(&net, &texts).expect("the walk itself is such a run");
            assert_eq!(steps(&net, &found), Ok(()));
            assert_eq!(visible(&net, &found), texts);
            let (mut grown, mut source) = Reveal::new(net.clone());
            let tables = Growing { net: &mut grown, source: &mut source };
            assert_eq!(labels(tables, &texts).expect("the same on demand").len(), texts.len());
        }
    }

    /// A walk that comes back is found again by its labels alone, also where other runs have the same labels.
    #[test]
    fn runs_that_go_round_are_found() {
        let (mut rng, mut found) = (Rng::new(7), [0; 2]);
        for seed in 0..300 {
            let net = Shape::default().network(seed);
            let trace = walk(&net, 12, &mut rng);
            let texts = visible(&net, &trace);
            let is = |net: &Network, step: &Step, k: usize| match net.vectors[step.vector.0 as usize].outcome
            {
                Outcome::Step(label) => net.labels[label.0 as usize] == texts[k],
                Outcome::Fault(_) => false,
            };
            for from in 0..trace.len() {
                let before = Trace { steps: trace.steps[..from].to_vec() }.end(&net);
                match closing(&net, trace.len(), from, is) {
                    Ok(run) => {
                        assert_eq!(steps(&net, &run), Ok(()));
                        assert_eq!(visible(&net, &run), texts);
                        assert_eq!(Trace { steps: run.steps[..from].to_vec() }.end(&net), run.end(&net));
                        found[0] += 1;
                    }
                    Err(mismatch) => {
                        assert_eq!(mismatch.after, trace.len());
                        assert_ne!(before, trace.end(&net), "seed {seed}: the walk itself goes round");
                        found[1] += 1;
                    }
                }
            }
        }
        assert!(found.iter().all(|n| *n > 50), "{found:?}");
    }

    #[test]
    fn errors_say_where() {
        let net = synthetic::philosophers(3);
        let wrong = labels(&net, &["take(0, 0)", "take(1, 1)", "take(0, 1)"]).expect_err("the fork is taken");
        assert_eq!(wrong.to_string(), "after 2 steps: `take(0, 1)` is not possible here");
        let everyone = labels(&net, &["take(0, 0)", "take(1, 1)", "take(2, 2)"]).expect("possible");
        assert_eq!(violation(&net, &Property::DeadlockFree { allow_termination: false }, &everyone), Ok(()));
        let two = Trace { steps: everyone.steps[..2].to_vec() };
        assert!(violation(&net, &Property::DeadlockFree { allow_termination: false }, &two).is_err());
        assert!(fault(&net, &everyone).is_err());
        let nobody = Step { vector: VectorIx(9999), target: net.initial() };
        assert!(steps(&net, &Trace { steps: vec![nobody] }).is_err());
    }
}
