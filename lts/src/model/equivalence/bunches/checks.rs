//! Which slices may not be stable: checks that are due, and the slices of each block that none is due for.

use super::Refinement;
use super::slices::NONE;

/// A slice that may not be stable, and what it became as blocks were split.
#[derive(Default)]
pub(super) struct Check {
    /// Slices of different blocks.
    pub(super) slices: Vec<u32>,
    /// The bottom states of these blocks that have a transition in them.
    pub(super) bottoms: Vec<u32>,
}

impl Refinement {
    /// Puts a slice among those of its block that wait for nothing.
    pub(super) fn settle(&mut self, slice: u32, block: u32) {
        let settled = &mut self.settled[block as usize];
        self.waiting[slice as usize] = NONE;
        self.place[slice as usize] = settled.len() as u32;
        settled.push(slice);
    }

    /// Takes a slice from among those.
    pub(super) fn unsettle(&mut self, slice: u32, block: u32) {
        let place = self.place[slice as usize];
        let settled = &mut self.settled[block as usize];
        settled.swap_remove(place as usize);
        if let Some(&moved) = settled.get(place as usize) {
            self.place[moved as usize] = place;
        }
    }

    pub(super) fn block_of_slice(&self, slice: u32) -> u32 {
        self.blocks.of(self.system.source[self.by_block.members(slice)[0] as usize])
    }

    /// A new check of a slice that is not among the settled ones.
    pub(super) fn await_check(&mut self, slice: u32) -> u32 {
        let check = self.free.pop().unwrap_or(self.checks.len() as u32);
        if check as usize == self.checks.len() {
            self.checks.push(Check::default());
        }
        self.checks[check as usize].slices.push(slice);
        self.waiting[slice as usize] = check;
        self.open.push(check);
        check
    }

    /// Has all slices of a block checked. `bottoms` are those of its bottom states that became so since its slices
    /// were last checked: all of them.
    pub(super) fn check_all(&mut self, block: u32, bottoms: &[u32]) {
        for slice in std::mem::take(&mut self.settled[block as usize]) {
            self.await_check(slice);
        }
        for &s in bottoms {
            self.work += self.system.outgoing(s).len() as u64;
            for t in self.system.outgoing(s).filter(|&t| self.by_block.contains(t)) {
                let check = self.waiting[self.by_block.of(t) as usize];
                self.checks[check as usize].bottoms.push(s);
            }
        }
    }

    /// Makes blocks stable for slices that wait for it; false if none do.
    pub(super) fn check_next(&mut self) -> bool {
        let Some(check) = self.open.pop() else {
            return false;
        };
        let Check { mut slices, bottoms } = std::mem::take(&mut self.checks[check as usize]);
        self.free.push(check);
        self.work += (slices.len() + bottoms.len()) as u64;
        slices.retain(|&slice| self.waiting[slice as usize] == check);
        for &slice in &slices {
            let block = self.block_of_slice(slice);
            self.settle(slice, block);
        }
        bottoms.iter().for_each(|&s| self.blocks.mark(s));
        for slice in slices {
            let block = self.block_of_slice(slice);
            self.split_if_unmarked(block, slice);
        }
        true
    }
}
