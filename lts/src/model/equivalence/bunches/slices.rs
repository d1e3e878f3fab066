//! A partition of transitions into slices that only ever gets finer. Transitions can be added later, as slices of
//! their own.
//!
//! A slice is split by marking some of its transitions: that costs as much as there are marked ones, however large the
//! rest is.

/// Stands for no slice.
pub(super) const NONE: u32 = u32::MAX;

pub(super) struct Slices {
    /// The transitions, slice by slice.
    members: Vec<u32>,
    /// Where each transition stands in `members`.
    position: Vec<u32>,
    slice_of: Vec<u32>,
    ranges: Vec<Range>,
    /// Slices with marked transitions.
    touched: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Range {
    begin: u32,
    end: u32,
    /// How many transitions are marked; they come first.
    marked: u32,
}

/// What became of a slice with marked transitions.
#[derive(Clone, Copy)]
pub(super) struct Split {
    /// The slice, without what was marked unless that was all of it.
    pub(super) old: u32,
    /// The slice of what was marked; the same one if all of it was.
    pub(super) marked: u32,
}

impl Split {
    pub(super) fn is_whole(self) -> bool {
        self.old == self.marked
    }
}

impl Slices {
    /// No transition of `count` is in a slice yet.
    pub(super) fn new(count: usize) -> Self {
        Slices {
            members: Vec::with_capacity(count),
            position: vec![NONE; count],
            slice_of: vec![NONE; count],
            ranges: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// The slice of a transition, `NONE` if it is in none.
    pub(super) fn of(&self, transition: u32) -> u32 {
        self.slice_of[transition as usize]
    }

    pub(super) fn contains(&self, transition: u32) -> bool {
        self.of(transition) != NONE
    }

    pub(super) fn members(&self, slice: u32) -> &[u32] {
        let range = self.ranges[slice as usize];
        &self.members[range.begin as usize..range.end as usize]
    }

    /// Adds a slice of transitions that are in none.
    pub(super) fn add(&mut self, transitions: impl IntoIterator<Item = u32>) -> u32 {
        let slice = self.ranges.len() as u32;
        let begin = self.members.len() as u32;
        for t in transitions {
            debug_assert!(!self.contains(t));
            self.position[t as usize] = self.members.len() as u32;
            self.slice_of[t as usize] = slice;
            self.members.push(t);
        }
        self.ranges.push(Range { begin, end: self.members.len() as u32, marked: 0 });
        slice
    }

    /// Marks a transition, if it is in a slice.
    pub(super) fn mark(&mut self, transition: u32) {
        let slice = self.of(transition);
        if slice == NONE {
            return;
        }
        let range = &mut self.ranges[slice as usize];
        let (place, goal) = (self.position[transition as usize], range.begin + range.marked);
        if place < goal {
            return;
        }
        if range.marked == 0 {
            self.touched.push(slice);
        }
        range.marked += 1;
        let other = self.members[goal as usize];
        self.members.swap(place as usize, goal as usize);
        self.position[other as usize] = place;
        self.position[transition as usize] = goal;
    }

    /// Makes slices of what is marked, and removes the marks.
    pub(super) fn split_marked(&mut self) -> Vec<Split> {
        let mut splits = Vec::with_capacity(self.touched.len());
        for old in std::mem::take(&mut self.touched) {
            let Range { begin, end, marked: count } = self.ranges[old as usize];
            self.ranges[old as usize].marked = 0;
            if begin + count == end {
                splits.push(Split { old, marked: old });
                continue;
            }
            let marked = self.ranges.len() as u32;
            self.ranges[old as usize].begin = begin + count;
            self.ranges.push(Range { begin, end: begin + count, marked: 0 });
            for &t in &self.members[begin as usize..(begin + count) as usize] {
                self.slice_of[t as usize] = marked;
            }
            splits.push(Split { old, marked });
        }
        splits
    }
}
