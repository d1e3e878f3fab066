//! A partition of states into blocks that only ever gets finer, with the history of its splits.
//!
//! The states of a block lie side by side in one array, so splitting off some of them costs as much as they are many.
//! Refinement goes in rounds. Every block but the first was split off an older block, its parent, in some round; a
//! parent has a lower number and was there in an earlier round or earlier in the same one. From this the block of a
//! state after any round can be told, and when two blocks parted, without storing the partitions of the past.

pub(super) struct Partition {
    /// The states, block by block.
    members: Vec<u32>,
    /// Where each state stands in `members`.
    position: Vec<u32>,
    block_of: Vec<u32>,
    blocks: Vec<Block>,
}

#[derive(Clone, Copy)]
struct Block {
    begin: u32,
    end: u32,
    parent: u32,
    /// The round after which this block existed; 0 for the first.
    round: u32,
}

impl Partition {
    /// All states in block 0.
    pub(super) fn coarsest(states: usize) -> Self {
        Partition {
            members: (0..states as u32).collect(),
            position: (0..states as u32).collect(),
            block_of: vec![0; states],
            blocks: vec![Block { begin: 0, end: states as u32, parent: 0, round: 0 }],
        }
    }

    /// The blocks that another refinement found: the states block by block, the block of each state, and where each block
    /// begins and ends. There is no history.
    pub(super) fn of_blocks(
        members: Vec<u32>,
        block_of: Vec<u32>,
        ranges: impl Iterator<Item = (u32, u32)>,
    ) -> Self {
        let mut position = vec![0; members.len()];
        for (place, &s) in members.iter().enumerate() {
            position[s as usize] = place as u32;
        }
        let blocks = ranges.map(|(begin, end)| Block { begin, end, parent: 0, round: 0 }).collect();
        Partition { members, position, block_of, blocks }
    }

    pub(super) fn block_of(&self, state: u32) -> u32 {
        self.block_of[state as usize]
    }

    pub(super) fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn members(&self, block: u32) -> &[u32] {
        let b = self.blocks[block as usize];
        &self.members[b.begin as usize..b.end as usize]
    }

    /// Makes a new block of some, not all, states of `block`; `leavers` names each once.
    pub(super) fn split_off(&mut self, block: u32, leavers: &[u32], round: u32) -> u32 {
        let new = self.blocks.len() as u32;
        let end = self.blocks[block as usize].end;
        let mut begin = end;
        for &s in leavers {
            debug_assert_eq!(self.block_of[s as usize], block);
            begin -= 1;
            let other = self.members[begin as usize];
            let place = self.position[s as usize];
            self.members.swap(begin as usize, place as usize);
            self.position[other as usize] = place;
            self.position[s as usize] = begin;
            self.block_of[s as usize] = new;
        }
        self.blocks[block as usize].end = begin;
        self.blocks.push(Block { begin, end, parent: block, round });
        debug_assert!(begin > self.blocks[block as usize].begin && begin < end);
        new
    }

    /// The block that after `round` contained everything that `block` contains now.
    pub(super) fn ancestor(&self, mut block: u32, round: u32) -> u32 {
        while self.blocks[block as usize].round > round {
            block = self.blocks[block as usize].parent;
        }
        block
    }

    /// The round in which the states of two different blocks were told apart.
    pub(super) fn parting(&self, mut one: u32, mut other: u32) -> u32 {
        debug_assert_ne!(one, other);
        let mut round = 0;
        while one != other {
            // The higher number is the younger block; the last step taken undoes the oldest split.
            let younger = if one > other { &mut one } else { &mut other };
            let block = self.blocks[*younger as usize];
            round = block.round;
            *younger = block.parent;
        }
        round
    }
}
