//! The system as the refinement by bunches needs it: transitions with numbers, in both directions.

use crate::model::equivalence::partition::Partition;
use crate::model::explicit::{Lts, State};
use crate::model::network::Label;

/// A transition is its place in the order of `Lts::transitions`.
pub(super) struct System {
    pub(super) source: Vec<u32>,
    pub(super) target: Vec<u32>,
    /// Where the transitions of each state begin, and where the last end.
    first: Vec<u32>,
    /// The transitions by target; of each target first those that were inert at the start.
    incoming: Vec<u32>,
    /// Where those of each state begin, and where the last end.
    first_incoming: Vec<u32>,
    /// Where those of each state that were inert at the start end.
    inert_end: Vec<u32>,
}

impl System {
    /// `inert` tells which transitions are inert at the start. At most 2^32 - 1 transitions.
    pub(super) fn new(lts: &Lts, inert: impl Fn(Label, u32, u32) -> bool) -> (Self, Vec<bool>) {
        let (n, m) = (lts.num_states(), lts.num_transitions());
        let mut system = System {
            source: Vec::with_capacity(m),
            target: Vec::with_capacity(m),
            first: Vec::with_capacity(n + 1),
            incoming: vec![0; m],
            first_incoming: vec![0; n + 1],
            inert_end: vec![0; n],
        };
        let mut is_inert = Vec::with_capacity(m);
        for s in lts.states() {
            system.first.push(system.source.len() as u32);
            for t in lts.outgoing(s) {
                system.source.push(s.0);
                system.target.push(t.to.0);
                system.first_incoming[t.to.0 as usize + 1] += 1;
                is_inert.push(inert(t.label, s.0, t.to.0));
            }
        }
        system.first.push(m as u32);
        for s in 0..n {
            system.first_incoming[s + 1] += system.first_incoming[s];
        }
        let mut free = system.first_incoming.clone();
        for inert in [true, false] {
            for (t, &to) in system.target.iter().enumerate().filter(|&(t, _)| is_inert[t] == inert) {
                system.incoming[free[to as usize] as usize] = t as u32;
                free[to as usize] += 1;
            }
            if inert {
                system.inert_end.copy_from_slice(&free[..n]);
            }
        }
        (system, is_inert)
    }

    pub(super) fn outgoing(&self, state: u32) -> std::ops::Range<u32> {
        self.first[state as usize]..self.first[state as usize + 1]
    }

    pub(super) fn incoming(&self, state: u32) -> &[u32] {
        let (begin, end) = (self.first_incoming[state as usize], self.first_incoming[state as usize + 1]);
        &self.incoming[begin as usize..end as usize]
    }

    /// Those that were inert at the start; some may not be any more.
    pub(super) fn incoming_inert(&self, state: u32) -> &[u32] {
        &self.incoming[self.first_incoming[state as usize] as usize..self.inert_end[state as usize] as usize]
    }
}

/// The transitions that are not inert, sorted by a key that stands for the label and the block of the target.
pub(super) fn by_label_and_target(lts: &Lts, partition: &Partition, is_inert: &[bool]) -> Vec<(u64, u32)> {
    let mut keys: Vec<(u64, u32)> = Vec::new();
    let transitions = lts.states().flat_map(|s| lts.outgoing(State(s.0)));
    for (t, transition) in transitions.enumerate().filter(|&(t, _)| !is_inert[t]) {
        let block = partition.block_of(transition.to.0);
        keys.push((u64::from(transition.label.0) << 32 | u64::from(block), t as u32));
    }
    keys.sort_unstable();
    keys
}
