//! A partition of states into blocks, in which the states without inert transitions, the *bottom states*, can be marked.

use crate::model::equivalence::partition::Partition;

pub(super) struct Blocks {
    /// The states, block by block; in each block first the marked bottom states, then the other bottom states, then the
    /// rest.
    members: Vec<u32>,
    /// Where each state stands in `members`.
    position: Vec<u32>,
    block_of: Vec<u32>,
    ranges: Vec<Range>,
}

#[derive(Clone, Copy)]
struct Range {
    begin: u32,
    /// Where the marked bottom states end.
    marked: u32,
    /// Where the bottom states end.
    bottoms: u32,
    end: u32,
}

impl Blocks {
    /// The blocks of a partition; `inert` says how many inert transitions each state has.
    pub(super) fn new(partition: &Partition, inert: &[u32]) -> Self {
        let mut blocks = Blocks {
            members: Vec::with_capacity(inert.len()),
            position: vec![0; inert.len()],
            block_of: (0..inert.len() as u32).map(|s| partition.block_of(s)).collect(),
            ranges: Vec::with_capacity(partition.num_blocks()),
        };
        for block in 0..partition.num_blocks() as u32 {
            let begin = blocks.members.len() as u32;
            let members = partition.members(block);
            blocks.members.extend(members.iter().filter(|&&s| inert[s as usize] == 0));
            let bottoms = blocks.members.len() as u32;
            blocks.members.extend(members.iter().filter(|&&s| inert[s as usize] > 0));
            let end = blocks.members.len() as u32;
            blocks.ranges.push(Range { begin, marked: begin, bottoms, end });
        }
        for (place, &s) in blocks.members.iter().enumerate() {
            blocks.position[s as usize] = place as u32;
        }
        blocks
    }

    pub(super) fn into_partition(self) -> Partition {
        Partition::of_blocks(self.members, self.block_of, self.ranges.iter().map(|r| (r.begin, r.end)))
    }

    pub(super) fn of(&self, state: u32) -> u32 {
        self.block_of[state as usize]
    }

    pub(super) fn size(&self, block: u32) -> usize {
        let range = self.ranges[block as usize];
        (range.end - range.begin) as usize
    }

    pub(super) fn is_bottom(&self, state: u32) -> bool {
        self.position[state as usize] < self.ranges[self.of(state) as usize].bottoms
    }

    pub(super) fn bottoms(&self, block: u32) -> &[u32] {
        let range = self.ranges[block as usize];
        &self.members[range.begin as usize..range.bottoms as usize]
    }

    pub(super) fn unmarked_bottoms(&self, block: u32) -> &[u32] {
        let range = self.ranges[block as usize];
        &self.members[range.marked as usize..range.bottoms as usize]
    }

    /// Marks a state of its block, if it is a bottom state.
    pub(super) fn mark(&mut self, state: u32) {
        let range = &mut self.ranges[self.block_of[state as usize] as usize];
        let (place, goal) = (self.position[state as usize], range.marked);
        if place >= goal && place < range.bottoms {
            range.marked += 1;
            self.swap(place, goal);
        }
    }

    /// Removes the marks of a block.
    pub(super) fn unmark(&mut self, block: u32) {
        let range = &mut self.ranges[block as usize];
        range.marked = range.begin;
    }

    /// Takes note that a state has no inert transition any more. No state of its block is marked.
    pub(super) fn becomes_bottom(&mut self, state: u32) {
        let range = &mut self.ranges[self.block_of[state as usize] as usize];
        debug_assert!(range.marked == range.begin);
        let (place, goal) = (self.position[state as usize], range.bottoms);
        debug_assert!(place >= goal);
        range.bottoms += 1;
        self.swap(place, goal);
    }

    /// Makes a new block of some, not all, states of `block`, and removes the marks in it.
    pub(super) fn split_off(&mut self, block: u32, leavers: &[u32]) -> u32 {
        self.unmark(block);
        let new = self.ranges.len() as u32;
        let end = self.ranges[block as usize].end;
        let mut bottoms = 0;
        // The states with inert transitions go to the end, then the bottom states to the place before them.
        for bottom in [false, true] {
            for &s in leavers {
                let range = self.ranges[block as usize];
                if self.of(s) != block || self.is_bottom(s) != bottom {
                    continue;
                }
                if bottom {
                    bottoms += 1;
                    self.swap(self.position[s as usize], range.bottoms - 1);
                    self.ranges[block as usize].bottoms -= 1;
                }
                self.swap(self.position[s as usize], range.end - 1);
                self.ranges[block as usize].end -= 1;
                self.block_of[s as usize] = new;
            }
        }
        let begin = self.ranges[block as usize].end;
        debug_assert!(begin > self.ranges[block as usize].begin && begin < end);
        self.ranges.push(Range { begin, marked: begin, bottoms: begin + bottoms, end });
        new
    }

    fn swap(&mut self, one: u32, other: u32) {
        self.members.swap(one as usize, other as usize);
        self.position[self.members[one as usize] as usize] = one;
        self.position[self.members[other as usize] as usize] = other;
    }
}
