//! The readable form of a certificate: a run, as far as one run shows the answer.
//!
//! Where several parts matter and the formula says that one run serves them in turn ([`Equations::in_turn`]), the run does: of
//! the parts that the proof lists there, the next one each time. What is repeated is then where the run was before with
//! the same part next.
//!
//! Where what is asked for has become impossible, all continuations matter, even if there is only one. So a run into such a trap
//! ends with its *critical* step, the last one that the player who refutes the formula has chosen.

use super::MOST_CHECKED;
use super::certificate::Certificate;
use super::proof::Proof;
use crate::base::error::{Error, Result};
use crate::base::hash::{Map, Set};
use crate::model::network::{Local, Network, Outcome, Step};
use crate::model::trace::Trace;
use crate::property::formula::{Equations, Position, Tree};
use std::sync::Arc;

/// How the run of an [`Evidence`] ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// It repeats for ever: after its last step it is in the state that it had after the given number of steps.
    Repeats(usize),
    /// Its last step, or that no step is possible at its end, decides.
    Decides,
    /// All continuations from its end matter, so that no single one shows it.
    Branches,
}

/// Why a formula holds or does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// The run.
    pub trace: Trace,
    /// How it ends.
    pub end: RunEnd,
    /// What the formula asks for at its end.
    pub asks: String,
    /// Pairs of states and parts of the formula that the proof consists of; 0 if there are too many to be checked.
    pub pairs: u64,
    /// How many states can be reached from its end as far as the proof goes there, if all continuations matter.
    pub closure: Option<u64>,
    /// The whole proof, if it was checked.
    pub proof: Option<Proof>,
}

/// The run of a certificate that was checked.
pub(super) fn of(
    net: &Network,
    equations: &dyn Equations,
    certificate: &Arc<Certificate>,
) -> Result<Evidence> {
    let mut trace = Trace::default();
    let mut at = 0u32;
    // The part that was served last, and how long the run was before the first.
    let (mut served, mut before) = (None, None);
    // For each pair on the way, with that part, how many steps lead there.
    let mut met: Map<(u32, Option<Position>), usize> = Map::default();
    // The pairs on the way, each with how long the run was before it.
    let mut path = Vec::new();
    let mut end = loop {
        path.push((at, trace.len()));
        if let Some(steps) = met.insert((at, served), trace.len()) {
            // A formula may go round without a step, as `mu X. X` does.
            break if steps < trace.len() { RunEnd::Repeats(steps) } else { RunEnd::Decides };
        }
        let (state, position) = certificate.pairs[at as usize];
        let state = &certificate.states[state as usize];
        let in_turn = !certificate.holds && equations.in_turn(position);
        let next = match certificate.next[at as usize][..] {
            [] => {
                trace.steps.extend(deciding(net, equations, state, position, certificate.holds)?);
                break RunEnd::Decides;
            }
            ref parts if in_turn && trace.len() < MOST_CHECKED => {
                before.get_or_insert((at, trace.len()));
                let place = |pair: &u32| certificate.pairs[*pair as usize].1;
                let later = parts.iter().copied().filter(|pair| Some(place(pair)) > served).min_by_key(place);
                let next = later.or(parts.iter().copied().min_by_key(place));
                let next = next.ok_or_else(|| Error::internal("a proof has no part that is served"))?;
                served = Some(place(&next));
                next
            }
            [next] if !in_turn => next,
            _ => {
                // A run that is too long to be shown ends where its parts begin to matter.
                if let Some((first, length)) = before {
                    at = first;
                    trace.steps.truncate(length);
                }
                break RunEnd::Branches;
            }
        };
        let (to, then) = certificate.pairs[next as usize];
        let to = &certificate.states[to as usize];
        trace.steps.extend(step(net, equations, (state, position), (to, then))?);
        at = next;
    };
    let mut asked = certificate.pairs[at as usize].1;
    let mut closure = (end == RunEnd::Branches).then(|| closure(certificate, at));
    if !certificate.holds && served.is_none() {
        // How many steps lead to the first state where it is impossible, as far as the proof says.
        let first = match end {
            RunEnd::Repeats(steps) => trap(equations, certificate, &path)?.filter(|first| first.1 <= steps),
            RunEnd::Decides | RunEnd::Branches => trap(equations, certificate, &path)?,
        };
        if let Some((pair, mut length)) = first {
            let position = certificate.pairs[pair as usize].1;
            let state = |length: usize| match length {
                0 => net.initial(),
                steps => trace.steps[steps - 1].target.clone(),
            };
            let mut states = impossible(net, equations, &state(length), position)?;
            while length > 0
                && states.is_some()
                && let Some(more) = impossible(net, equations, &state(length - 1), position)?
            {
                (length, states) = (length - 1, Some(more));
            }
            // A run that repeats or ends says more than that it was impossible all the time.
            if states.is_some() && (length > 0 || end == RunEnd::Branches) {
                trace.steps.truncate(length);
                (end, asked, closure) = (RunEnd::Branches, position, states);
            }
        }
    }
    let asks = equations.describe(asked);
    let pairs = certificate.pairs.len() as u64;
    Ok(Evidence { trace, end, asks, pairs, closure, proof: Some(Proof(certificate.clone())) })
}

/// The first pair of a way from which on there is nothing to choose for the player who refutes the formula, up to the end of it.
/// With it, how long the run was before.
fn trap(
    equations: &dyn Equations,
    certificate: &Certificate,
    path: &[(u32, usize)],
) -> Result<Option<(u32, usize)>> {
    let mut first = None;
    for &(pair, length) in path.iter().rev() {
        if chooses(&*equations.unfold(certificate.pairs[pair as usize].1)?) {
            break;
        }
        first = Some((pair, length));
    }
    Ok(first)
}

/// How many states can be reached from one where what a position asks for is impossible: a least fixed point of what may happen, on
/// the plain network. `None` if it is possible, if the position is of another kind, or if there are too many.
fn impossible(
    net: &Network,
    equations: &dyn Equations,
    state: &[Local],
    position: Position,
) -> Result<Option<u64>> {
    if equations.rank(position).is_none_or(|rank| rank % 2 == 0) {
        return Ok(None);
    }
    let mut states: Set<Vec<Local>> = Set::default();
    let mut met: Set<(Vec<Local>, Position)> = Set::default();
    let mut work = vec![(state.to_vec(), position)];
    let mut steps = Vec::new();
    while let Some((state, position)) = work.pop() {
        if !met.insert((state.clone(), position)) {
            continue;
        }
        let tree = equations.unfold(position)?;
        let is_greatest = equations.rank(position).is_some_and(|rank| rank % 2 == 0);
        // Where tables are filled as needed, this state may not have been asked for.
        let is_known =
            net.leaves.iter().zip(&state).all(|(leaf, local)| leaf.states[local.0 as usize].expanded);
        if met.len() > MOST_CHECKED || is_greatest || chooses(&tree) || !is_known {
            return Ok(None);
        }
        states.insert(state.clone());
        net.successors(&state, &mut steps);
        if steps.iter().any(|step| matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_))) {
            return Ok(None);
        }
        let mut open = vec![(&*tree, &state)];
        let mut later = Vec::new();
        for step in &steps {
            let class = equations.class(net, step.vector)?;
            for_each_modality(&tree, &mut |tree| {
                let Tree::Some(modality) = tree else { return Ok(()) };
                later.push((equations.after(*modality, class)?, &step.target));
                Ok(())
            })?;
        }
        open.extend(later.iter().map(|(tree, target)| (&**tree, *target)));
        while let Some((tree, state)) = open.pop() {
            match tree {
                Tree::Const(true) | Tree::Junction(true, _) => return Ok(None),
                Tree::Const(false) | Tree::Every(_) | Tree::Some(_) => {}
                Tree::At(position) => work.push((state.clone(), *position)),
                Tree::Junction(false, parts) => open.extend(parts.iter().map(|part| (part, state))),
            }
        }
        steps.clear();
    }
    Ok(Some(states.len() as u64))
}

/// Whether the player who refutes a formula may have to choose something in a tree.
fn chooses(tree: &Tree) -> bool {
    match tree {
        Tree::Const(_) | Tree::At(_) | Tree::Some(_) => false,
        Tree::Every(_) | Tree::Junction(true, _) => true,
        Tree::Junction(false, parts) => parts.iter().any(chooses),
    }
}

/// How many different states there are from a pair on.
fn closure(certificate: &Certificate, from: u32) -> u64 {
    let mut met = vec![false; certificate.pairs.len()];
    let mut states = vec![false; certificate.states.len()];
    met[from as usize] = true;
    let mut work = vec![from];
    while let Some(at) = work.pop() {
        states[certificate.pairs[at as usize].0 as usize] = true;
        for &next in &certificate.next[at as usize] {
            if !std::mem::replace(&mut met[next as usize], true) {
                work.push(next);
            }
        }
    }
    states.into_iter().filter(|met| *met).count() as u64
}

/// The step from one pair to the next; none if the formula goes on in the same state.
fn step(
    net: &Network,
    equations: &dyn Equations,
    (state, position): (&[Local], Position),
    (to, then): (&[Local], Position),
) -> Result<Option<Step>> {
    let tree = equations.unfold(position)?;
    if state == to && names(&tree, then) {
        return Ok(None);
    }
    let mut steps = Vec::new();
    net.successors(state, &mut steps);
    for step in steps.into_iter().filter(|step| step.target == to) {
        let class = equations.class(net, step.vector)?;
        let mut found = false;
        for_each_modality(&tree, &mut |tree| {
            let (Tree::Every(modality) | Tree::Some(modality)) = tree else { return Ok(()) };
            found |= names(&*equations.after(*modality, class)?, then);
            Ok(())
        })?;
        if found {
            return Ok(Some(step));
        }
    }
    Err(Error::internal("the run of a formula's evidence has no such step"))
}

/// A step that decides a tree at once.
pub(super) fn deciding(
    net: &Network,
    equations: &dyn Equations,
    state: &[Local],
    position: Position,
    holds: bool,
) -> Result<Option<Step>> {
    let tree = equations.unfold(position)?;
    let mut steps = Vec::new();
    net.successors(state, &mut steps);
    for step in steps {
        let class = equations.class(net, step.vector)?;
        let mut found = false;
        for_each_modality(&tree, &mut |tree| {
            let (Tree::Every(modality) | Tree::Some(modality)) = tree else { return Ok(()) };
            let decides = *equations.after(*modality, class)? == Tree::Const(holds);
            found |= decides && matches!(tree, Tree::Some(_)) == holds;
            Ok(())
        })?;
        if found {
            return Ok(Some(step));
        }
    }
    Ok(None)
}

/// Whether a tree names a position in the same state.
pub(super) fn names(tree: &Tree, position: Position) -> bool {
    match tree {
        Tree::At(at) => *at == position,
        Tree::Junction(_, parts) => parts.iter().any(|part| names(part, position)),
        Tree::Const(_) | Tree::Every(_) | Tree::Some(_) => false,
    }
}

pub(super) fn for_each_modality(tree: &Tree, f: &mut dyn FnMut(&Tree) -> Result<()>) -> Result<()> {
    match tree {
        Tree::Const(_) | Tree::At(_) => Ok(()),
        Tree::Junction(_, parts) => parts.iter().try_for_each(|part| for_each_modality(part, f)),
        Tree::Every(_) | Tree::Some(_) => f(tree),
    }
}
