//! Quotients for callers that know labels by their numbers and want to know where each state went.
//!
//! A canonical quotient (`quotient`) renames labels, which costs texts; the products of a search by parts are made and
//! reduced by the thousand. Invariant: labels keep their numbers, the initial state is 0, and the transitions of a state
//! are sorted by label and target.

use super::determinise::determinise;
use super::partition::Partition;
use super::refine::{Inheritance, refine_until};
use super::{DeterminisationLimit, Equivalence, Prepared};
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;

const UNSEEN: u32 = u32::MAX;

/// The quotient by a bisimulation, and for each state its state in the quotient. All states must be reachable. `None` if it
/// is asked to stop.
pub(crate) fn quotient_by(
    lts: &Lts,
    bisimulation: Equivalence,
    stop: &dyn Fn() -> bool,
) -> Option<(Lts, Vec<u32>)> {
    let prepared = Prepared::new(lts, bisimulation.bisimulation());
    let small = &prepared.lts;
    let partition = refine_until(small, prepared.reading.inert_tau, Inheritance::Inductive, stop)?;
    // The lowest state of a block has no inert transition (`silent`), so its transitions are those of the block.
    let mut lowest = vec![UNSEEN; partition.num_blocks()];
    for state in small.states().rev() {
        lowest[partition.block_of(state.0) as usize] = state.0;
    }
    let order = Order::new(small, &partition, &lowest, prepared.state(lts.initial()));
    let labels = lts.labels().len() as u32;
    let mut builder = Builder::new();
    builder.require_states(order.blocks.len() as u32);
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for (from, &block) in order.blocks.iter().enumerate() {
        edges.clear();
        edges.extend(small.outgoing(State(lowest[block as usize])).iter().map(|t| {
            let label = if Some(t.label) == prepared.reading.divergence { Label::TAU } else { t.label };
            (label.0, order.number[partition.block_of(t.to.0) as usize])
        }));
        edges.sort_unstable();
        edges.dedup();
        for &(label, to) in &edges {
            builder.add(State(from as u32), Label(label), State(to));
        }
    }
    let place = |state: State| order.number[partition.block_of(prepared.state(state).0) as usize];
    let places = lts.states().map(place).collect();
    Some((builder.finish_numbered(labels, State(0)), places))
}

/// The smallest deterministic system with the same weak traces, if it can be found within the limit. `None` also if it is
/// asked to stop.
pub(crate) fn deterministic(lts: &Lts, limit: DeterminisationLimit, stop: &dyn Fn() -> bool) -> Option<Lts> {
    let deterministic = determinise(lts, true, limit).ok()?;
    quotient_by(&deterministic, Equivalence::Strong, stop).map(|(small, _)| small)
}

/// Blocks breadth first from that of the initial state.
struct Order {
    blocks: Vec<u32>,
    number: Vec<u32>,
}

impl Order {
    fn new(lts: &Lts, partition: &Partition, lowest: &[u32], initial: State) -> Self {
        let mut number = vec![UNSEEN; partition.num_blocks()];
        let first = partition.block_of(initial.0);
        number[first as usize] = 0;
        let mut blocks = vec![first];
        let mut next = 0;
        while next < blocks.len() {
            for t in lts.outgoing(State(lowest[blocks[next] as usize])) {
                let block = partition.block_of(t.to.0);
                if number[block as usize] == UNSEEN {
                    number[block as usize] = blocks.len() as u32;
                    blocks.push(block);
                }
            }
            next += 1;
        }
        Order { blocks, number }
    }
}
