//! The product of two components, explored from its initial state.
//!
//! A [`Table`] says which labels go together and what the rest of the system sees of it. A product is not kept: what needs a
//! run of it, as counterexamples do, explores [as much as that takes](super::along).

use super::system::{BAD, Held, TAU, is_bad, moves_with};
use super::{Stop, Trouble};
use crate::base::hash::Map;
use crate::base::memory::Budget;
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// No label: the component takes no part. No state: it does not matter.
pub(super) const NONE: u32 = u32::MAX;

/// What a step of two components is called from outside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::engine) struct Table {
    /// For each label of the first: with which label of the second, or [`NONE`], and what that is called.
    first: Vec<Vec<(u32, u32)>>,
    /// For each label of the second alone what it is called.
    second: Vec<Vec<u32>>,
    /// The number of labels.
    pub(in crate::engine) labels: u32,
}

impl Table {
    pub(super) fn new(
        first_labels: usize,
        second_labels: usize,
        labels: u32,
        hidden: &[(u32, u32)],
        shown: &[((u32, u32), u32)],
    ) -> Self {
        let mut table =
            Table { first: vec![Vec::new(); first_labels], second: vec![Vec::new(); second_labels], labels };
        let hidden = hidden.iter().map(|&pair| (pair, TAU));
        for ((first, second), label) in hidden.chain(shown.iter().copied()) {
            match (first, second) {
                (NONE, second) => table.second[second as usize].push(label),
                (first, second) => table.first[first as usize].push((second, label)),
            }
        }
        table
    }
}

/// A step of a product: what each side contributes ([`NONE`]: nothing, [`TAU`]: a step of its own), what it is called, and
/// where it leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event {
    pub(super) first: u32,
    pub(super) second: u32,
    pub(super) label: u32,
    pub(super) to: (u32, u32),
}

/// Tells the steps of a state of the product. Where the property is violated nothing else is looked at, and the other
/// side does not matter any more.
pub(super) fn events(
    first: &Lts,
    second: Option<&Lts>,
    table: &Table,
    at: (u32, u32),
    mut tell: impl FnMut(Event),
) {
    if at.0 == NONE || (at.1 == NONE && second.is_some()) {
        let (a, b) = if at.0 == NONE { (NONE, BAD) } else { (BAD, NONE) };
        tell(Event { first: a, second: b, label: BAD, to: at });
        return;
    }
    let landed = |to: (u32, u32)| match second {
        Some(second) if is_bad(second, to.1) => (NONE, to.1),
        Some(_) if is_bad(first, to.0) => (to.0, NONE),
        _ => to,
    };
    for t in first.outgoing(State(at.0)) {
        let (label, to) = (t.label.0, t.to.0);
        if label == TAU {
            tell(Event { first: TAU, second: NONE, label: TAU, to: landed((to, at.1)) });
            continue;
        }
        if label == BAD {
            tell(Event { first: BAD, second: NONE, label: BAD, to: landed((to, at.1)) });
            continue;
        }
        for &(partner, called) in &table.first[label as usize] {
            if partner == NONE {
                tell(Event { first: label, second: NONE, label: called, to: landed((to, at.1)) });
                continue;
            }
            let Some(second) = second else { continue };
            for u in moves_with(second, at.1, partner) {
                tell(Event { first: label, second: partner, label: called, to: landed((to, u.to.0)) });
            }
        }
    }
    let Some(second) = second else { return };
    for u in second.outgoing(State(at.1)) {
        let (label, to) = (u.label.0, u.to.0);
        if label == TAU {
            tell(Event { first: NONE, second: TAU, label: TAU, to: landed((at.0, to)) });
            continue;
        }
        if label == BAD {
            tell(Event { first: NONE, second: BAD, label: BAD, to: landed((at.0, to)) });
            continue;
        }
        for &called in &table.second[label as usize] {
            tell(Event { first: NONE, second: label, label: called, to: landed((at.0, to)) });
        }
    }
}

/// Where a product begins.
pub(super) fn start(first: &Lts, second: Option<&Lts>) -> (u32, u32) {
    match second {
        Some(second) if is_bad(second, 0) => (NONE, 0),
        Some(_) if is_bad(first, 0) => (0, NONE),
        _ => (0, 0),
    }
}

/// A product before it is reduced.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) lts: Lts,
    _held: Held,
}

/// What a product may take.
#[derive(Clone, Copy)]
pub(super) struct Effort<'a> {
    pub(super) states: u64,
    pub(super) budget: &'a Arc<Budget>,
    pub(super) stop: &'a Stop<'a>,
}

/// Transitions for each state that are allowed before a product counts as too large.
const FAN_OUT: u64 = 64;
/// How many states are explored between two looks at the clock and the budget.
const CHUNK: usize = 1 << 10;
/// Bytes of a state: in the list, in the map and in the offsets; and of a transition while it is built.
const STATE: u64 = 8 + 40 + 8;
const TRANSITION: u64 = 12;

/// Explores a product.
pub(super) fn compose(a: &Lts, b: Option<&Lts>, table: &Table, effort: Effort) -> Result<Product, Trouble> {
    let start = start(a, b);
    let mut held = Held::new(effort.budget, 0)?;
    let mut pairs = vec![start];
    let mut numbers: Map<(u32, u32), u32> = Map::from_iter([(start, 0)]);
    let mut builder = Builder::new();
    let mut moves: Vec<(u32, u32)> = Vec::new();
    let (mut next, mut counted) = (0, (0, 0));
    let most = effort.states.min(u64::from(u32::MAX - 1));
    let most_moves = most.saturating_mul(FAN_OUT);
    while next < pairs.len() {
        if next % CHUNK == 0 {
            effort.stop.check()?;
            let now = (pairs.len() as u64, builder.num_transitions() as u64);
            held.grow((now.0 - counted.0) * STATE + (now.1 - counted.1) * TRANSITION)?;
            counted = now;
        }
        moves.clear();
        events(a, b, table, pairs[next], |event| {
            if moves.len() as u64 > most_moves {
                return;
            }
            let number = *numbers.entry(event.to).or_insert_with(|| {
                pairs.push(event.to);
                pairs.len() as u32 - 1
            });
            moves.push((event.label, number));
        });
        moves.sort_unstable();
        moves.dedup();
        for &(label, to) in &moves {
            builder.add(State(next as u32), Label(label), State(to));
        }
        if pairs.len() as u64 > most || builder.num_transitions() as u64 > most_moves {
            return Err(Trouble::TooLarge);
        }
        next += 1;
    }
    builder.require_states(pairs.len() as u32);
    let lts = builder.finish_numbered(table.labels, State(0));
    Ok(Product { lts, _held: held })
}
