//! The quotient of an LTS: one state for each block of a bisimulation, and its canonical form.
//!
//! The states are numbered breadth-first from the initial state, which is 0, following transitions in the order of their
//! labels. Of the labels those remain that occur, in alphabetical (byte) order after `tau`. The transitions of a state are
//! sorted by label and target, none twice. So a deterministic system has one canonical form, for any order of the input.
//! Where a state has several transitions with one label, the numbers of the original states decide between them, and what
//! is minimal already does not change.

use super::partition::Partition;
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;

/// A partition of a system that was perhaps made from another one by merging states.
pub(super) struct Partitioned<'a> {
    pub(super) lts: &'a Lts,
    pub(super) partition: &'a Partition,
    pub(super) reading: Reading,
    /// For each state of the original system the one in `lts`; nothing if they are the same.
    pub(super) component: Option<&'a [u32]>,
}

/// How the transitions of the input become transitions of the quotient.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    /// Whether a tau inside a block disappears. If so, each tau leads to a lower number.
    pub(super) inert_tau: bool,
    /// The label that becomes a tau loop.
    pub(super) divergence: Option<Label>,
}

/// The part of the quotient that can be reached from the blocks of `roots`, and their numbers in it. The first root
/// becomes the initial state.
pub(super) fn quotient<const N: usize>(input: &Partitioned<'_>, roots: [State; N]) -> (Lts, [State; N]) {
    let &Partitioned { lts, partition, reading: Reading { inert_tau, divergence }, .. } = input;
    let rank = alphabetical_ranks(lts);
    let representative = representatives(lts, partition);
    let eldest = input.eldest();
    let mut search = Numbering { number: vec![UNSEEN; partition.num_blocks()], order: Vec::new() };
    let roots = roots.map(|root| search.number(partition.block_of(root.0)));

    // The edges of all blocks in the order of the search, as (rank of the label, target block).
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut ends = Vec::new();
    let mut used = vec![false; rank.len()];
    let mut of_block = Vec::new();
    let mut next = 0;
    while next < search.order.len() {
        let block = search.order[next];
        let transitions = lts.outgoing(State(representative[block as usize]));
        of_block.clear();
        of_block.extend(transitions.iter().map(|t| {
            let target = partition.block_of(t.to.0);
            debug_assert!(
                !inert_tau || t.label != Label::TAU || target != block,
                "a representative has no inert tau"
            );
            let label = if Some(t.label) == divergence { Label::TAU } else { t.label };
            (rank[label.0 as usize], eldest[target as usize], target)
        }));
        of_block.sort_unstable();
        of_block.dedup();
        for &(label, _, target) in &of_block {
            used[label as usize] = true;
            search.number(target);
        }
        edges.extend(of_block.iter().map(|e| (e.0, e.2)));
        ends.push(edges.len());
        next += 1;
    }

    let (labels, label_of_rank) = used_labels(lts, &rank, &used);
    let mut builder = Builder::with_capacity(edges.len());
    builder.require_states(search.order.len() as u32);
    let mut begin = 0;
    for (from, &end) in ends.iter().enumerate() {
        let of_state = &mut edges[begin..end];
        for edge in of_state.iter_mut() {
            *edge = (label_of_rank[edge.0 as usize], search.number[edge.1 as usize]);
        }
        of_state.sort_unstable();
        for &(label, to) in of_state.iter() {
            builder.add(State(from as u32), Label(label), State(to));
        }
        begin = end;
    }
    (builder.finish_with_labels(labels, roots[0]), roots)
}

impl Partitioned<'_> {
    /// For each block its lowest original state.
    fn eldest(&self) -> Vec<u32> {
        let mut eldest = vec![UNSEEN; self.partition.num_blocks()];
        let originals = self.component.map_or(self.lts.num_states(), <[u32]>::len);
        for original in (0..originals as u32).rev() {
            let state = self.component.map_or(original, |c| c[original as usize]);
            eldest[self.partition.block_of(state) as usize] = original;
        }
        eldest
    }
}

const UNSEEN: u32 = u32::MAX;

/// Blocks numbered in the order in which they are met.
struct Numbering {
    number: Vec<u32>,
    order: Vec<u32>,
}

impl Numbering {
    fn number(&mut self, block: u32) -> State {
        let number = &mut self.number[block as usize];
        if *number == UNSEEN {
            *number = self.order.len() as u32;
            self.order.push(block);
        }
        State(*number)
    }
}

/// For each block its lowest state. As tau leads to lower numbers where it can be inert, that state has no inert
/// transition, and its own transitions are all that the block can do.
fn representatives(lts: &Lts, partition: &Partition) -> Vec<u32> {
    let mut representative = vec![UNSEEN; partition.num_blocks()];
    for s in lts.states().rev() {
        representative[partition.block_of(s.0) as usize] = s.0;
    }
    representative
}

/// The place of each label in the alphabetical order, `tau` first.
fn alphabetical_ranks(lts: &Lts) -> Vec<u32> {
    let mut sorted: Vec<usize> = (0..lts.labels().len()).collect();
    sorted[1..].sort_unstable_by_key(|&l| &lts.labels()[l]);
    let mut rank = vec![0; sorted.len()];
    for (r, &label) in sorted.iter().enumerate() {
        rank[label] = r as u32;
    }
    rank
}

/// The labels that occur, in order, and for each rank the number of its label among them.
fn used_labels(lts: &Lts, rank: &[u32], used: &[bool]) -> (Vec<String>, Vec<u32>) {
    let mut by_rank = vec![""; rank.len()];
    for (text, &r) in lts.labels().iter().zip(rank) {
        by_rank[r as usize] = text;
    }
    let mut labels = Vec::new();
    let mut label_of_rank = vec![UNSEEN; rank.len()];
    for (r, text) in by_rank.into_iter().enumerate() {
        if r == 0 || used[r] {
            label_of_rank[r] = labels.len() as u32;
            labels.push(text.to_owned());
        }
    }
    (labels, label_of_rank)
}
