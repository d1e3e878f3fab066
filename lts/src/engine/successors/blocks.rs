//! Blocks: the fastest part of the compiled successor function, for vectors among leaves with few local states.
//!
//! A block is a set of leaves with a cell for every combination of their local states. A cell lists the steps of the
//! block's vectors in that combination, as ready-made differences to add to the packed state. Looking a cell up takes
//! a few shifts; its steps are written four at a time whether it has four or not, and then counted. So there is no
//! branch to predict, and that is what matters: which of its steps a leaf can take is hardly predictable, and with a
//! branch for each step half of the time went into wrong predictions (27 ns a step with the channels of
//! [`channels`](super::channels) on fifteen philosophers, 5 ns with blocks).
//!
//! Invariant: the tables of all blocks together stay within [`BlockLimits::bytes`], so that they stay in a cache near the
//! processor; a vector that would make them larger is left to the channels. Every vector is in one block or in none.

use super::{Steps, Via};
use crate::base::hash::Map;
use crate::engine::pack::{Packing, Width};
use crate::model::network::{LeafIx, Local, LocalLabel, Network, VectorIx};
use crate::property::Alarms;
use std::collections::BTreeMap;

/// Steps that are written at once.
const AT_ONCE: usize = 4;

/// Bounds on blocks. Tests lower them so that the channels are used too.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockLimits {
    /// Cells of a block that is one group of leaves as the vectors have them.
    pub(super) cells: usize,
    /// Cells of a block that was merged from several: fewer lookups, but larger tables.
    pub(super) merged_cells: usize,
    /// All tables together.
    pub(super) bytes: usize,
}

impl BlockLimits {
    /// The second-level cache of current processors has from 256 KiB to 2 MiB.
    pub(super) const DEFAULT: BlockLimits = BlockLimits { cells: 4096, merged_cells: 512, bytes: 256 << 10 };
}

#[derive(Clone, Copy, Debug)]
struct Block {
    /// The end of its fields in [`Blocks::fields`]; they begin where those of the block before end.
    fields_end: u32,
    first_cell: u32,
    /// The most steps of a cell.
    most: u32,
    /// The words that its leaves are in; equal if it is one.
    words: [u32; 2],
}

#[derive(Clone, Copy, Debug)]
struct BlockField {
    word: u32,
    shift: u32,
    mask: u32,
    stride: u32,
}

/// The blocks of a network.
#[derive(Default, Debug)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    fields: Vec<BlockField>,
    /// For each cell its first step and the number of its steps.
    cells: Vec<(u32, u32)>,
    /// For each step the difference for each of the block's two words, or for the only word.
    deltas: Vec<u64>,
    vias: Vec<Via>,
    /// The most steps that all blocks together write.
    room: usize,
}

impl Blocks {
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.blocks[..])
            + size_of_val(&self.fields[..])
            + size_of_val(&self.cells[..])
            + size_of_val(&self.deltas[..])
            + size_of_val(&self.vias[..])
    }

    /// Appends the steps of all blocks.
    #[inline(always)]
    pub(super) fn expand<W: Width>(&self, width: W, state: &[u64], out: &mut Steps) {
        let words = width.words();
        let (targets, vias) = out.spare(self.room);
        assert!(state.len() == words && vias.len() >= self.room && targets.len() >= self.room * words);
        let (mut fields, mut len) = (0, 0);
        for block in &self.blocks {
            let end = block.fields_end as usize;
            let mut cell = block.first_cell as usize;
            for field in &self.fields[fields..end] {
                let word = if words == 1 { state[0] } else { state[field.word as usize] };
                cell += ((word >> field.shift) as u32 & field.mask) as usize * field.stride as usize;
            }
            fields = end;
            // Checked, because the bits of a field may mean no local state if the caller made the state up.
            let (first, count) = self.cells[cell];
            let (first, count) = (first as usize, count as usize);
            if words <= 2 {
                // SAFETY: `count` is at most the `most` of the block, and `room` is the sum of these, each rounded up
                // to a multiple of `AT_ONCE` and at least that; so what is written from `len` on, rounded up in the
                // same way, ends within `room`, and both buffers were seen to be that long. `first + count` is at most
                // the number of steps when the cell was made, and `AT_ONCE` more entries follow them in both tables.
                unsafe {
                    let (targets, vias) = (targets.as_mut_ptr().add(len * words), vias.as_mut_ptr().add(len));
                    match block.most {
                        1 => self.write::<1>(words, first, state, targets, vias),
                        2 => self.write::<2>(words, first, state, targets, vias),
                        _ => self.write::<AT_ONCE>(words, first, state, targets, vias),
                    }
                    let mut k = AT_ONCE;
                    while k < count {
                        self.write::<AT_ONCE>(words, first + k, state, targets.add(k * words), vias.add(k));
                        k += AT_ONCE;
                    }
                }
            } else {
                vias[len..len + count].copy_from_slice(&self.vias[first..first + count]);
                for (k, target) in
                    targets[len * words..(len + count) * words].chunks_exact_mut(words).enumerate()
                {
                    target.copy_from_slice(state);
                    for (word, delta) in block.words.iter().zip(&self.deltas[2 * (first + k)..]) {
                        target[*word as usize] = target[*word as usize].wrapping_add(*delta);
                    }
                }
            }
            len += count;
        }
        out.commit(len);
    }

    /// Writes `N` steps, for states of one or two words. Without bounds checks, which were half of the instructions of
    /// the loop above.
    ///
    /// # Safety
    /// There must be this many steps from `first` on in the tables, and room for them at `targets` and `vias`.
    #[inline(always)]
    unsafe fn write<const N: usize>(
        &self,
        words: usize,
        first: usize,
        state: &[u64],
        targets: *mut u64,
        vias: *mut Via,
    ) {
        let deltas = self.deltas.as_ptr();
        for k in 0..N * words {
            // SAFETY: the caller's duty; a step has as many differences as the state has words.
            unsafe { targets.add(k).write(state[k % words].wrapping_add(*deltas.add(first * words + k))) };
        }
        // SAFETY: the caller's duty; the table is not what is written.
        unsafe { std::ptr::copy_nonoverlapping(self.vias.as_ptr().add(first), vias, N) };
    }
}

/// Leaves with the vectors among them.
#[derive(Clone, Debug)]
struct Group {
    leaves: Vec<LeafIx>,
    vectors: Vec<VectorIx>,
    /// The most steps of a cell.
    most: usize,
}

struct Builder<'a> {
    net: &'a Network,
    packing: &'a Packing,
    limits: BlockLimits,
    /// For each leaf and label its moves: source and target.
    moves: Vec<Vec<Vec<(Local, Local)>>>,
}

/// Builds blocks. Also says which vectors are in none and left to others; vectors that can never fire are neither.
pub(super) fn build(
    net: &Network,
    packing: &Packing,
    alarms: &Alarms,
    limits: BlockLimits,
) -> (Blocks, Vec<VectorIx>) {
    let moves = net.leaves.iter().map(moves_by_label).collect();
    let builder = Builder { net, packing, limits, moves };
    let (groups, left) = builder.groups();
    let mut blocks = Blocks::default();
    for group in builder.merge(groups) {
        builder.add(&group, alarms, &mut blocks);
    }
    // What is written beyond the last step must be there to be read.
    blocks.deltas.resize(blocks.deltas.len() + 2 * AT_ONCE, 0);
    blocks.vias.resize(blocks.vias.len() + AT_ONCE, Via::new(VectorIx(0), false));
    (blocks, left)
}

fn moves_by_label(leaf: &crate::model::network::Leaf) -> Vec<Vec<(Local, Local)>> {
    let mut moves = vec![Vec::new(); leaf.labels.len()];
    for (from, state) in leaf.states.iter().enumerate() {
        for &(label, to) in &state.moves {
            moves[label.0 as usize].push((Local(from as u32), to));
        }
    }
    moves
}

impl Builder<'_> {
    fn states(&self, leaf: LeafIx) -> usize {
        self.net.leaves[leaf.0 as usize].states.len()
    }

    fn cells(&self, leaves: &[LeafIx]) -> usize {
        leaves.iter().fold(1usize, |cells, &leaf| cells.saturating_mul(self.states(leaf)))
    }

    fn moves(&self, (leaf, label): (LeafIx, LocalLabel)) -> &[(Local, Local)] {
        &self.moves[leaf.0 as usize][label.0 as usize]
    }

    /// The number of steps in all cells.
    fn steps(&self, leaves: &[LeafIx], vectors: &[VectorIx]) -> usize {
        let cells = self.cells(leaves);
        let steps = |v: &VectorIx| {
            let parts = &self.net.vectors[v.0 as usize].parts;
            let of_parts = parts.iter().fold(1usize, |n, &part| n.saturating_mul(self.moves(part).len()));
            let own: Vec<LeafIx> = parts.iter().map(|part| part.0).collect();
            of_parts.saturating_mul(cells / self.cells(&own).max(1))
        };
        vectors.iter().fold(0usize, |sum, v| sum.saturating_add(steps(v)))
    }

    fn bytes(&self, leaves: &[LeafIx], vectors: &[VectorIx]) -> usize {
        let per_step = 4 + 8 * self.packing.words().min(2);
        self.cells(leaves)
            .saturating_mul(8)
            .saturating_add(self.steps(leaves, vectors).saturating_mul(per_step))
    }

    /// The words of leaves, if they are at most two.
    fn words(&self, leaves: &[LeafIx]) -> Option<[u32; 2]> {
        if self.packing.words() <= 2 {
            return Some([0, self.packing.words() as u32 - 1]);
        }
        let mut words: Vec<u32> = leaves.iter().map(|&leaf| self.packing.field(leaf).word).collect();
        words.sort_unstable();
        words.dedup();
        match words[..] {
            [one] => Some([one, one]),
            [one, two] => Some([one, two]),
            _ => None,
        }
    }

    /// The vectors by their leaves, smallest first as far as they fit; and the vectors that do not.
    fn groups(&self) -> (Vec<Group>, Vec<VectorIx>) {
        let mut by_leaves: BTreeMap<Vec<LeafIx>, Vec<VectorIx>> = BTreeMap::new();
        for (v, vector) in self.net.vectors.iter().enumerate() {
            if vector.parts.iter().all(|&part| !self.moves(part).is_empty()) {
                let leaves = vector.parts.iter().map(|part| part.0).collect();
                by_leaves.entry(leaves).or_default().push(VectorIx(v as u32));
            }
        }
        let mut sized: Vec<(usize, Vec<LeafIx>, Vec<VectorIx>)> = by_leaves
            .into_iter()
            .map(|(leaves, vectors)| (self.bytes(&leaves, &vectors), leaves, vectors))
            .collect();
        sized.sort();
        let (mut groups, mut left, mut total) = (Vec::new(), Vec::new(), 0usize);
        for (bytes, leaves, vectors) in sized {
            total = total.saturating_add(bytes);
            let small = self.cells(&leaves) <= self.limits.cells && total <= self.limits.bytes;
            if small && self.words(&leaves).is_some() {
                let most = self.most(&leaves, &vectors);
                groups.push(Group { leaves, vectors, most });
            } else {
                left.extend(vectors);
            }
        }
        left.sort();
        groups.sort_by(|a, b| a.leaves.cmp(&b.leaves));
        (groups, left)
    }

    /// The most steps of a cell.
    fn most(&self, leaves: &[LeafIx], vectors: &[VectorIx]) -> usize {
        let mut counts = vec![0; self.cells(leaves)];
        self.for_each_step(leaves, vectors, |cell, _, _| counts[cell] += 1);
        counts.into_iter().max().unwrap_or(0)
    }

    /// Merges groups as long as a cell has no more steps than are written at once.
    fn merge(&self, groups: Vec<Group>) -> Vec<Group> {
        let mut merged: Vec<Group> = Vec::new();
        // All pairs are compared.
        if groups.len() > 2000 {
            return groups;
        }
        let mut total: usize = groups.iter().map(|g| self.bytes(&g.leaves, &g.vectors)).sum();
        for group in groups {
            let union = |other: &Group| {
                let mut leaves = [&other.leaves[..], &group.leaves].concat();
                leaves.sort();
                leaves.dedup();
                leaves
            };
            let fits = |other: &Group| {
                let leaves = union(other);
                let cells = self.cells(&leaves);
                let small = cells <= self.limits.merged_cells && other.most + group.most <= AT_ONCE;
                (small && self.words(&leaves).is_some()).then_some((leaves.len() - other.leaves.len(), cells))
            };
            // Few additional fields, then few cells.
            let best = (0..merged.len()).filter_map(|m| Some((fits(&merged[m])?, m))).min();
            let Some((_, m)) = best else {
                merged.push(group);
                continue;
            };
            let (leaves, vectors) = (union(&merged[m]), [&merged[m].vectors[..], &group.vectors].concat());
            let apart =
                self.bytes(&merged[m].leaves, &merged[m].vectors) + self.bytes(&group.leaves, &group.vectors);
            let together = self.bytes(&leaves, &vectors);
            if total - apart + together > self.limits.bytes {
                merged.push(group);
                continue;
            }
            total = total - apart + together;
            let most = self.most(&leaves, &vectors);
            merged[m] = Group { leaves, vectors, most };
        }
        merged
    }

    /// Calls `visit` with the cell of every step, its vector and the targets of the vector's parts.
    fn for_each_step(
        &self,
        leaves: &[LeafIx],
        vectors: &[VectorIx],
        mut visit: impl FnMut(usize, VectorIx, &[(LeafIx, Local, Local)]),
    ) {
        let mut stride = 1;
        let mut strides: Map<LeafIx, usize> = Map::default();
        for &leaf in leaves {
            strides.insert(leaf, stride);
            stride *= self.states(leaf);
        }
        for &v in vectors {
            let parts = &self.net.vectors[v.0 as usize].parts;
            let others: Vec<LeafIx> =
                leaves.iter().copied().filter(|leaf| parts.iter().all(|part| part.0 != *leaf)).collect();
            let combinations: usize = parts.iter().map(|&part| self.moves(part).len()).product();
            for mut number in 0..combinations {
                let mut taken = Vec::new();
                let mut cell = 0;
                for &(leaf, label) in parts {
                    let moves = self.moves((leaf, label));
                    let (from, to) = moves[number % moves.len()];
                    number /= moves.len();
                    cell += from.0 as usize * strides[&leaf];
                    taken.push((leaf, from, to));
                }
                for mut number in 0..self.cells(&others) {
                    let mut cell = cell;
                    for leaf in &others {
                        cell += number % self.states(*leaf) * strides[leaf];
                        number /= self.states(*leaf);
                    }
                    visit(cell, v, &taken);
                }
            }
        }
    }

    fn add(&self, group: &Group, alarms: &Alarms, blocks: &mut Blocks) {
        let words = self.words(&group.leaves).expect("only groups within two words are kept");
        let mut steps: Vec<(usize, VectorIx, [u64; 2])> = Vec::new();
        self.for_each_step(&group.leaves, &group.vectors, |cell, vector, taken| {
            let mut deltas = [0u64; 2];
            for &(leaf, from, to) in taken {
                let field = self.packing.field(leaf);
                let which = usize::from(field.word != words[0]);
                deltas[which] = deltas[which].wrapping_add(field.delta(from, to));
            }
            steps.push((cell, vector, deltas));
        });
        steps.sort();
        let first_cell = blocks.cells.len();
        let mut next = 0;
        for cell in 0..self.cells(&group.leaves) {
            let count = steps[next..].iter().take_while(|step| step.0 == cell).count();
            blocks.cells.push((blocks.vias.len() as u32, count as u32));
            for &(_, vector, deltas) in &steps[next..next + count] {
                blocks.vias.push(Via::new(vector, alarms.is_marked(vector)));
                blocks.deltas.extend(&deltas[..self.packing.words().min(2)]);
            }
            next += count;
        }
        let mut stride = 1;
        for &leaf in &group.leaves {
            let field = self.packing.field(leaf);
            let mask = field.mask() as u32;
            blocks.fields.push(BlockField { word: field.word, shift: field.shift, mask, stride });
            stride *= self.states(leaf) as u32;
        }
        let fields_end = blocks.fields.len() as u32;
        blocks.blocks.push(Block {
            fields_end,
            first_cell: first_cell as u32,
            most: group.most as u32,
            words,
        });
        blocks.room += group.most.max(1).next_multiple_of(AT_ONCE);
    }
}
