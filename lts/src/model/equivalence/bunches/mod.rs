//! Partition refinement in time O(m log m), for the systems on which refinement by signatures (`refine`) takes long.
//!
//! The algorithm is that of Jansen, Groote, Keiren and Wijs, "An O(m log n) algorithm for branching bisimilarity on labelled
//! transition systems", TACAS 2020. Beside the blocks of states there is a partition of the transitions that are not inert
//! into **bunches**. Between steps the blocks are *stable*: if a state of a block has a transition in a bunch, then so has
//! each of the bottom states, those without inert transitions, and all others reach one of these. A bunch whose transitions
//! all have one label and lead to one block is *trivial*. If all are, then the partition is a branching bisimulation;
//! as a block is split only where some of its states reach by inert transitions what others don't, it is the coarsest
//! one.
//!
//! A step takes the transitions with one label to one block out of a bunch, at most half of it, as a new one. A block
//! with transitions in both parts may have to be split twice, first by the smaller part and then by the larger one; which
//! bottom states have transitions in the larger one is asked only of those that have one in the smaller.
//!
//! **A split costs as much as the smaller half** (`halves`). What became of inert transitions between the halves makes a new
//! bunch, trivial from the start. By that some states become bottom states, each once: those that reach such transitions
//! make a block of their own, in which *all* bottom states are new, so that the block is checked against all its slices (a
//! slice is what a block has in a bunch) by looking at what its bottom states can do, and nothing else.
//!
//! **The bound.** A transition is in the part that a bunch loses at most log m times, a state in the smaller half at most
//! log n times. Checks: a slice whose block has only new bottom states is waiting to be checked until it is, however
//! often the block is split meanwhile. A check either splits a block, or finds a transition of a bottom state that was
//! new; the next check of that slice is due only when all bottom states are new again.

mod blocks;
mod checks;
mod halves;
mod slices;
mod system;

use super::partition::Partition;
use crate::model::explicit::Lts;
use crate::model::network::Label;
use blocks::Blocks;
use checks::Check;
use halves::{Ground, Halves};
use slices::{NONE, Slices};
use system::{System, by_label_and_target};

/// Whether the system has few enough transitions to be refined here.
pub(super) fn fits(lts: &Lts) -> bool {
    u32::try_from(lts.num_transitions()).is_ok_and(|m| m < NONE)
}

/// The coarsest bisimulation that is finer than `start`, which must not separate bisimilar states. If `inert_tau`, there
/// is no tau cycle. With it the number of steps it took. `None` if it is told to stop, which it asks now and then.
pub(super) fn refine(
    lts: &Lts,
    inert_tau: bool,
    start: &Partition,
    stop: &dyn Fn() -> bool,
) -> Option<(Partition, u64)> {
    /// How much work is done between two questions.
    const PATIENCE: u64 = 1 << 18;
    let mut refinement = Refinement::new(lts, inert_tau, start);
    let mut asked = 0;
    loop {
        if refinement.work() >= asked + PATIENCE {
            asked = refinement.work();
            if stop() {
                return None;
            }
        }
        if !refinement.check_next() && !refinement.split_next_bunch() {
            let work = refinement.work();
            return Some((refinement.blocks.into_partition(), work));
        }
    }
}

struct Refinement {
    system: System,
    blocks: Blocks,
    /// How many inert transitions each state has.
    inert: Vec<u32>,
    /// By bunch, label and block of the target. Inert transitions are in no slice, here and below.
    by_target: Slices,
    bunch_of: Vec<u32>,
    bunches: Vec<Vec<u32>>,
    /// Among others the bunches that are not trivial.
    nontrivial: Vec<u32>,
    /// By bunch and block of the source.
    by_block: Slices,
    /// For each of these the check that it waits for, if any.
    waiting: Vec<u32>,
    /// The slices of each block that wait for nothing, and for each slice the place in that list.
    settled: Vec<Vec<u32>>,
    place: Vec<u32>,
    /// By bunch and source.
    by_state: Slices,
    checks: Vec<Check>,
    open: Vec<u32>,
    /// Numbers of checks that are done.
    free: Vec<u32>,
    halves: Halves,
    work: u64,
}

/// What a split has made of a block.
struct Parted {
    reaching: u32,
    other: u32,
    /// The slice of what was inert before, if anything was.
    torn: u32,
    /// The states that have no inert transition any more.
    new_bottoms: Vec<u32>,
}

impl Refinement {
    fn new(lts: &Lts, inert_tau: bool, start: &Partition) -> Self {
        let (n, m) = (lts.num_states(), lts.num_transitions());
        let (system, is_inert) = System::new(lts, |label, from, to| {
            inert_tau && label == Label::TAU && start.block_of(from) == start.block_of(to)
        });
        let mut inert = vec![0; n];
        for t in (0..m).filter(|&t| is_inert[t]) {
            inert[system.source[t] as usize] += 1;
        }
        let mut refinement = Refinement {
            blocks: Blocks::new(start, &inert),
            system,
            inert,
            by_target: Slices::new(m),
            bunch_of: Vec::new(),
            bunches: vec![Vec::new()],
            nontrivial: vec![0],
            by_block: Slices::new(m),
            waiting: Vec::new(),
            settled: vec![Vec::new(); start.num_blocks()],
            place: Vec::new(),
            by_state: Slices::new(m),
            checks: Vec::new(),
            open: Vec::new(),
            free: Vec::new(),
            halves: Halves::new(n),
            work: 0,
        };
        refinement.first_slices(lts, start, &is_inert);
        refinement
    }

    /// Puts all transitions that are not inert into one bunch, and has all blocks checked.
    fn first_slices(&mut self, lts: &Lts, start: &Partition, is_inert: &[bool]) {
        for group in by_label_and_target(lts, start, is_inert).chunk_by(|a, b| a.0 == b.0) {
            let slice = self.by_target.add(group.iter().map(|key| key.1));
            self.bunch_of.push(0);
            self.bunches[0].push(slice);
        }
        let mut steps = Vec::new();
        for block in 0..start.num_blocks() as u32 {
            steps.clear();
            for &s in start.members(block) {
                let begin = steps.len();
                steps.extend(self.system.outgoing(s).filter(|&t| !is_inert[t as usize]));
                if begin < steps.len() {
                    self.by_state.add(steps[begin..].iter().copied());
                }
            }
            if !steps.is_empty() {
                self.add_slice_of_block(block, &steps);
            }
            let bottoms = self.blocks.bottoms(block).to_vec();
            self.check_all(block, &bottoms);
        }
    }

    fn work(&self) -> u64 {
        self.work + self.halves.steps
    }

    fn add_slice_of_block(&mut self, block: u32, transitions: &[u32]) -> u32 {
        let slice = self.by_block.add(transitions.iter().copied());
        self.waiting.push(NONE);
        self.place.push(0);
        self.settle(slice, block);
        slice
    }

    /// Splits a block if one of its bottom states is unmarked, and removes the marks, which are those with a transition
    /// in the slice. Returns the block of those that do not reach the slice.
    fn split_if_unmarked(&mut self, block: u32, slice: u32) -> Option<u32> {
        if self.blocks.unmarked_bottoms(block).is_empty() {
            self.blocks.unmark(block);
            return None;
        }
        let Parted { reaching, other, torn, mut new_bottoms } = self.split(block, slice);
        if torn == NONE {
            return Some(other);
        }
        new_bottoms.iter().for_each(|&s| self.blocks.mark(s));
        let mut renewed = reaching;
        if self.blocks.unmarked_bottoms(reaching).is_empty() {
            self.blocks.unmark(reaching);
        } else {
            let again = self.split(reaching, torn);
            renewed = again.reaching;
            new_bottoms.extend(again.new_bottoms);
        }
        self.check_all(renewed, &new_bottoms);
        Some(other)
    }

    /// Splits a block into the states that reach the slice by inert transitions and the others.
    fn split(&mut self, block: u32, slice: u32) -> Parted {
        let ground = Ground {
            system: &self.system,
            blocks: &self.blocks,
            by_block: &self.by_block,
            inert: &self.inert,
        };
        let half = self.halves.find(&ground, block, slice);
        let new = self.blocks.split_off(block, &half.states);
        self.settled.push(Vec::new());
        self.split_slices(block, new, &half.states);
        let (reaching, other) = if half.reaches { (new, block) } else { (block, new) };
        let mut torn = Vec::new();
        for &s in &half.states {
            if half.reaches {
                let torn_here = |&t: &u32| {
                    !self.by_block.contains(t) && self.blocks.of(self.system.target[t as usize]) == other
                };
                torn.extend(self.system.outgoing(s).filter(torn_here));
            } else {
                let torn_here = |&&t: &&u32| {
                    !self.by_block.contains(t) && self.blocks.of(self.system.source[t as usize]) == reaching
                };
                torn.extend(self.system.incoming_inert(s).iter().filter(torn_here));
            }
        }
        // By source, as the numbers of transitions are.
        torn.sort_unstable();
        let (torn, new_bottoms) = self.add_torn(reaching, &torn);
        Parted { reaching, other, torn, new_bottoms }
    }

    /// Splits the slices that a block of some states of `block` has a share in.
    fn split_slices(&mut self, block: u32, new: u32, states: &[u32]) {
        for &s in states {
            self.work += (self.system.outgoing(s).len() + self.system.incoming(s).len()) as u64;
            self.system.outgoing(s).for_each(|t| self.by_block.mark(t));
            self.system.incoming(s).iter().for_each(|&t| self.by_target.mark(t));
        }
        for split in self.by_block.split_marked() {
            let check = self.waiting[split.old as usize];
            if split.is_whole() {
                if check == NONE {
                    self.unsettle(split.old, block);
                    self.settle(split.old, new);
                }
                continue;
            }
            self.waiting.push(check);
            self.place.push(0);
            if check == NONE {
                self.settle(split.marked, new);
            } else {
                self.checks[check as usize].slices.push(split.marked);
            }
        }
        for split in self.by_target.split_marked() {
            if !split.is_whole() {
                let bunch = self.bunch_of[split.old as usize];
                self.bunch_of.push(bunch);
                let slices = &mut self.bunches[bunch as usize];
                slices.push(split.marked);
                if slices.len() == 2 {
                    self.nontrivial.push(bunch);
                }
            }
        }
    }

    /// Makes a bunch of transitions that were inert and lead from `block` to one other block now. Returns the slice, if
    /// there is one, and the states that became bottom states.
    fn add_torn(&mut self, block: u32, torn: &[u32]) -> (u32, Vec<u32>) {
        let mut new_bottoms = Vec::new();
        if torn.is_empty() {
            return (NONE, new_bottoms);
        }
        for &t in torn {
            let s = self.system.source[t as usize];
            self.inert[s as usize] -= 1;
            if self.inert[s as usize] == 0 {
                self.blocks.becomes_bottom(s);
                new_bottoms.push(s);
            }
        }
        for of_state in
            torn.chunk_by(|&a, &b| self.system.source[a as usize] == self.system.source[b as usize])
        {
            self.by_state.add(of_state.iter().copied());
        }
        let slice = self.by_target.add(torn.iter().copied());
        self.bunch_of.push(self.bunches.len() as u32);
        self.bunches.push(vec![slice]);
        (self.add_slice_of_block(block, torn), new_bottoms)
    }

    /// Makes two bunches of one that is not trivial; false if all are.
    fn split_next_bunch(&mut self) -> bool {
        let Some(&bunch) = self.nontrivial.last() else {
            return false;
        };
        let slices = &mut self.bunches[bunch as usize];
        let &[.., one, other] = &slices[..] else {
            self.nontrivial.pop();
            return true;
        };
        // The smaller of two is at most half of all.
        let one_is_smaller = self.by_target.members(one).len() < self.by_target.members(other).len();
        let (taken, left) = if one_is_smaller { (one, other) } else { (other, one) };
        slices.truncate(slices.len() - 2);
        slices.push(left);
        self.bunch_of[taken as usize] = self.bunches.len() as u32;
        self.bunches.push(vec![taken]);
        for &t in self.by_target.members(taken) {
            self.work += 1;
            self.by_block.mark(t);
            self.by_state.mark(t);
        }
        let splits = self.by_block.split_marked();
        let mut pairs = Vec::with_capacity(splits.len());
        for split in splits.into_iter().filter(|split| !split.is_whole()) {
            self.waiting.push(NONE);
            self.place.push(0);
            let block = self.block_of_slice(split.old);
            self.settle(split.marked, block);
            self.unsettle(split.old, block);
            let check = self.await_check(split.old);
            pairs.push((block, split.marked, check));
        }
        for split in self.by_state.split_marked().into_iter().filter(|split| !split.is_whole()) {
            let rest = self.by_state.members(split.old)[0];
            let s = self.system.source[rest as usize];
            if self.blocks.is_bottom(s) {
                let check = self.waiting[self.by_block.of(rest) as usize];
                self.checks[check as usize].bottoms.push(s);
            }
        }
        for (block, smaller, check) in pairs {
            self.split_by_smaller(block, smaller, check);
        }
        true
    }

    /// Splits a block by the smaller part of a slice that was split. The check is that of the larger part.
    fn split_by_smaller(&mut self, block: u32, smaller: u32, check: u32) {
        for &t in self.by_block.members(smaller) {
            self.blocks.mark(self.system.source[t as usize]);
        }
        let Some(other) = self.split_if_unmarked(block, smaller) else {
            return;
        };
        // Where the smaller part is not reached, each bottom state has what it had before, in the larger part. The block was
        // split into three at most.
        for at in 0..self.checks[check as usize].slices.len() {
            let slice = self.checks[check as usize].slices[at];
            if self.block_of_slice(slice) == other {
                self.settle(slice, other);
            }
        }
    }
}
