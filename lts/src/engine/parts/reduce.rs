//! Makes a component smaller without changing what is asked of the system.
//!
//! | asked | reduced modulo | why that is enough |
//! |---|---|---|
//! | no deadlock | branching bisimulation that preserves divergence | a congruence for syncs and hiding that keeps states without steps apart |
//! | nothing bad | weak trace equivalence, or branching bisimulation where that is smaller or too expensive | a congruence; whether `BAD` can happen is read off the weak traces |
//!
//! Both need that no component synchronises with tau or hinders it. A component that observes is [trimmed](trim) besides:
//! only what leads to [`BAD`] matters.

use super::mutants::{self, Mutant};
use super::product::Effort;
use super::system::{BAD, Held, TAU, bytes_of, is_bad};
use super::{Keep, Trouble};
use crate::model::equivalence::{DeterminisationLimit, Equivalence, deterministic, quotient_by};
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;

/// A product made smaller.
#[derive(Debug)]
pub(super) struct Reduced {
    pub(super) lts: Lts,
    /// The memory of its transitions.
    _held: Held,
}

impl Reduced {
    fn new(lts: Lts, effort: Effort) -> Result<Self, Trouble> {
        let held = Held::new(effort.budget, bytes_of(&lts))?;
        Ok(Reduced { lts, _held: held })
    }
}

/// Bytes that a reduction takes for a state and a transition while it runs.
const STATE: u64 = 64;
const TRANSITION: u64 = 40;
/// How much a determinisation may store for each state and transition of what it determinises, and at least.
const SUBSETS: usize = 8;
const FEW: usize = 1 << 12;

/// Reduces a product, all of whose states are reachable.
pub(super) fn reduce(lts: &Lts, keep: Keep, observes: bool, effort: Effort) -> Result<Reduced, Trouble> {
    let bytes = lts.num_states() as u64 * STATE + lts.num_transitions() as u64 * TRANSITION;
    let _held = Held::new(effort.budget, bytes)?;
    let asked = || effort.stop.asked();
    let stopped = || effort.stop.check().err().unwrap_or(Trouble::TooLarge);
    if keep == Keep::Deadlocks {
        let by = match mutants::is(Mutant::IgnoreDivergence) {
            true => Equivalence::Branching,
            false => Equivalence::DivergencePreservingBranching,
        };
        if mutants::is(Mutant::TracesForDeadlocks) {
            let limit = DeterminisationLimit(1 << 20);
            let weak = deterministic(lts, limit, &asked).ok_or_else(stopped)?;
            return Reduced::new(weak, effort);
        }
        let (lts, _) = quotient_by(lts, by, &asked).ok_or_else(stopped)?;
        return Reduced::new(lts, effort);
    }
    let trimmed = observes.then(|| trim(lts));
    let lts = trimmed.as_ref().unwrap_or(lts);
    let by = match keep {
        Keep::Divergence | Keep::Deadlocks => Equivalence::DivergencePreservingBranching,
        Keep::Strong => Equivalence::Strong,
        Keep::Branching | Keep::WeakTraces => Equivalence::Branching,
    };
    let (mut small, _) = quotient_by(lts, by, &asked).ok_or_else(stopped)?;
    if keep == Keep::WeakTraces {
        let size = small.num_states() + small.num_transitions();
        let limit = DeterminisationLimit(size * SUBSETS + FEW);
        let _held = Held::new(effort.budget, limit.0 as u64 * 8)?;
        let weak = deterministic(&small, limit, &asked);
        effort.stop.check()?;
        let smaller = |weak: &Lts| weak.num_states() + weak.num_transitions() < size;
        if let Some(weak) = weak.filter(smaller) {
            small = weak;
        }
    }
    if observes {
        small = trim(&small);
    }
    Reduced::new(small, effort)
}

const OUT: u32 = u32::MAX;

/// What of an observing component leads to [`BAD`]. A state from which the component can get there all by itself is as bad;
/// from a state that cannot get there no run goes on that matters, so steps into it are left out. If nothing leads to
/// [`BAD`], one state without moves remains.
pub(super) fn trim(lts: &Lts) -> Lts {
    let n = lts.num_states();
    let mut incoming: Vec<Vec<(u32, u32)>> = vec![Vec::new(); n];
    for (from, label, to) in lts.transitions() {
        incoming[to.0 as usize].push((label.0, from.0));
    }
    let bad: Vec<u32> = (0..n as u32).filter(|&s| may_be_bad(lts, s)).collect();
    let back = |silently: bool| {
        let mut reached = vec![false; n];
        let mut queue = bad.clone();
        queue.iter().for_each(|&s| reached[s as usize] = true);
        while let Some(state) = queue.pop() {
            for &(label, from) in &incoming[state as usize] {
                if (!silently || label == TAU) && !std::mem::replace(&mut reached[from as usize], true) {
                    queue.push(from);
                }
            }
        }
        reached
    };
    let (lost, leads) = (back(true), back(false));
    let initial = lts.initial().0;
    let mut builder = Builder::new();
    builder.require_states(1);
    if leads[initial as usize] {
        // All bad states are one.
        let mut number = vec![OUT; n];
        let mut worst = None;
        let mut order = Vec::new();
        let mut place = |state: u32, order: &mut Vec<u32>| {
            if lost[state as usize] {
                return *worst.get_or_insert_with(|| {
                    order.push(state);
                    order.len() as u32 - 1
                });
            }
            if number[state as usize] == OUT {
                number[state as usize] = order.len() as u32;
                order.push(state);
            }
            number[state as usize]
        };
        place(initial, &mut order);
        let mut next = 0;
        let mut moves: Vec<(u32, u32)> = Vec::new();
        while next < order.len() {
            let from = order[next];
            moves.clear();
            if lost[from as usize] {
                moves.push((BAD, next as u32));
            } else {
                for t in lts.outgoing(State(from)).iter().filter(|t| leads[t.to.0 as usize]) {
                    moves.push((t.label.0, place(t.to.0, &mut order)));
                }
                moves.sort_unstable();
                moves.dedup();
            }
            for &(label, to) in &moves {
                builder.add(State(next as u32), Label(label), State(to));
            }
            next += 1;
        }
        builder.require_states(order.len() as u32);
    }
    builder.finish_numbered(lts.labels().len() as u32, State(0))
}

/// Whether one of the moves is [`BAD`]; a state of a determinised system may have others.
fn may_be_bad(lts: &Lts, state: u32) -> bool {
    is_bad(lts, state) || lts.outgoing(State(state)).iter().any(|t| t.label.0 == BAD)
}
