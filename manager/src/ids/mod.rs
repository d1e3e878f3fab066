//! Sets of trace IDs as disjoint ranges.
//!
//! Counts outgrow machine words and sets have up to a few hundred thousand ranges, so ranges are the nodes of a treap
//! that also know how many IDs are below them: every question and every change costs a logarithmic number of steps.
//! Invariant: ranges are not empty, in order, and neither overlap nor touch; `sum` of a node is the number of IDs in
//! its subtree. The shape depends on the sequence of operations only.

mod number;

use num_bigint::BigUint;
use number::Number;
use std::ops::Range;

const NIL: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node {
    start: Number,
    end: Number,
    sum: Number,
    priority: u64,
    left: u32,
    right: u32,
}

/// A set of trace IDs.
#[derive(Clone, Debug)]
pub struct IdSet {
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: u32,
    /// The state of a generator of priorities.
    seed: u64,
}

impl Default for IdSet {
    fn default() -> Self {
        IdSet { nodes: Vec::new(), free: Vec::new(), root: NIL, seed: 0 }
    }
}

fn numbers(ids: &Range<BigUint>) -> Range<Number> {
    Number::from(&ids.start)..Number::from(&ids.end)
}

impl IdSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many IDs there are.
    pub fn count(&self) -> BigUint {
        self.sum(self.root).map(BigUint::from).unwrap_or_default()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.root == NIL
    }

    /// Whether all IDs of a range are there; true of an empty range.
    pub fn contains(&self, ids: &Range<BigUint>) -> bool {
        let ids = numbers(ids);
        ids.is_empty()
            || self.overlapping(&ids).is_some_and(|node| node.start <= ids.start && ids.end <= node.end)
    }

    /// Whether some ID of a range is there.
    pub fn intersects(&self, ids: &Range<BigUint>) -> bool {
        self.root != NIL && self.overlapping(&numbers(ids)).is_some()
    }

    /// A node with IDs of a range.
    fn overlapping(&self, ids: &Range<Number>) -> Option<&Node> {
        let mut at = if ids.is_empty() { NIL } else { self.root };
        while at != NIL {
            let node = &self.nodes[at as usize];
            if node.end <= ids.start {
                at = node.right;
            } else if node.start >= ids.end {
                at = node.left;
            } else {
                return Some(node);
            }
        }
        None
    }

    /// How many IDs of a range are there.
    pub fn count_in(&self, ids: &Range<BigUint>) -> BigUint {
        let ids = numbers(ids);
        if self.overlapping(&ids).is_none() {
            return BigUint::ZERO;
        }
        let mut count = self.count_below(&ids.end);
        count.sub(&self.count_below(&ids.start));
        BigUint::from(&count)
    }

    fn count_below(&self, id: &Number) -> Number {
        let (mut at, mut count) = (self.root, Number::ZERO);
        while at != NIL {
            let node = &self.nodes[at as usize];
            if *id <= node.start {
                at = node.left;
                continue;
            }
            if let Some(left) = self.sum(node.left) {
                count.add(left);
            }
            count.add(id.min(&node.end));
            count.sub(&node.start);
            if *id < node.end {
                return count;
            }
            at = node.right;
        }
        count
    }

    /// The ID with so many before it; `None` if there are not so many.
    pub fn nth(&self, n: &BigUint) -> Option<BigUint> {
        let (mut at, mut rest) = (self.root, Number::from(n));
        while at != NIL {
            let node = &self.nodes[at as usize];
            if let Some(left) = self.sum(node.left) {
                if rest < *left {
                    at = node.left;
                    continue;
                }
                rest.sub(left);
            }
            rest.add(&node.start);
            if rest < node.end {
                return Some(BigUint::from(&rest));
            }
            rest.sub(&node.end);
            at = node.right;
        }
        None
    }

    /// The ranges in order.
    pub fn ranges(&self) -> Vec<Range<BigUint>> {
        let mut out = Vec::new();
        self.in_order(self.root, &mut |node| out.push(BigUint::from(&node.start)..BigUint::from(&node.end)));
        out
    }

    /// Adds a range; returns how many of its IDs are new.
    pub fn insert(&mut self, ids: &Range<BigUint>) -> BigUint {
        BigUint::from(&self.put(&numbers(ids)))
    }

    fn put(&mut self, ids: &Range<Number>) -> Number {
        if ids.is_empty() {
            return Number::ZERO;
        }
        if !self.touches(ids) {
            let node = self.node(ids.start.clone(), ids.end.clone());
            let size = self.nodes[node as usize].sum.clone();
            self.add_node(node);
            return size;
        }
        // What overlaps or touches is replaced by one range.
        let (before, rest) = self.split(self.root, &|node: &Node| node.end < ids.start);
        let (touched, after) = self.split(rest, &|node: &Node| node.start <= ids.end);
        let (mut start, mut end) = (ids.start.clone(), ids.end.clone());
        if touched != NIL {
            start = start.min(self.first(touched).start.clone());
            end = end.max(self.last(touched).end.clone());
        }
        let mut new = end.clone();
        new.sub(&start);
        if let Some(old) = self.sum(touched) {
            new.sub(old);
        }
        self.release(touched);
        let node = self.node(start, end);
        let before = self.merge(before, node);
        self.root = self.merge(before, after);
        new
    }

    /// Takes a range out; returns how many of its IDs were there.
    pub fn remove(&mut self, ids: &Range<BigUint>) -> BigUint {
        self.take(ids, &mut |_| {})
    }

    /// Takes a range out and puts what was there into another set; returns how many that are.
    pub fn move_to(&mut self, ids: &Range<BigUint>, other: &mut IdSet) -> BigUint {
        self.take(ids, &mut |piece| {
            other.put(&piece);
        })
    }

    fn take(&mut self, ids: &Range<BigUint>, piece: &mut dyn FnMut(Range<Number>)) -> BigUint {
        if self.root == NIL {
            return BigUint::ZERO;
        }
        let ids = numbers(ids);
        match self.overlapping(&ids) {
            None => return BigUint::ZERO,
            Some(node) if node.start <= ids.start && ids.end <= node.end => {
                let whole = node.start.clone()..node.end.clone();
                piece(ids.clone());
                return BigUint::from(&self.take_from_one(ids, whole));
            }
            Some(_) => {}
        }
        let (mut before, rest) = self.split(self.root, &|node: &Node| node.end <= ids.start);
        let (hit, mut after) = self.split(rest, &|node: &Node| node.start < ids.end);
        self.in_order(hit, &mut |node| {
            piece((&node.start).max(&ids.start).clone()..(&node.end).min(&ids.end).clone());
        });
        let mut removed = self.nodes[hit as usize].sum.clone();
        let (first, last) = (self.first(hit).start.clone(), self.last(hit).end.clone());
        self.release(hit);
        if first < ids.start {
            removed.add(&first);
            removed.sub(&ids.start);
            let kept = self.node(first, ids.start);
            before = self.merge(before, kept);
        }
        if last > ids.end {
            removed.add(&ids.end);
            removed.sub(&last);
            let kept = self.node(ids.end, last);
            after = self.merge(kept, after);
        }
        self.root = self.merge(before, after);
        BigUint::from(&removed)
    }

    /// Whether a node overlaps a range or ends where it begins or the other way round.
    fn touches(&self, ids: &Range<Number>) -> bool {
        let mut at = self.root;
        while at != NIL {
            let node = &self.nodes[at as usize];
            if node.end < ids.start {
                at = node.right;
            } else if node.start > ids.end {
                at = node.left;
            } else {
                return true;
            }
        }
        false
    }

    /// Takes out a range that lies within one node. The usual case: sums change on the way to the node only, and no
    /// other node is looked at.
    fn take_from_one(&mut self, ids: Range<Number>, whole: Range<Number>) -> Number {
        let mut size = ids.end.clone();
        size.sub(&ids.start);
        // In the middle: what is behind the range leaves the sums too and comes back as a node of its own.
        let middle = whole.start < ids.start && ids.end < whole.end;
        let mut less = if middle { whole.end.clone() } else { ids.end.clone() };
        less.sub(&ids.start);
        let (mut at, mut above) = (self.root, NIL);
        loop {
            let node = &mut self.nodes[at as usize];
            node.sum.sub(&less);
            if node.start == whole.start {
                break;
            }
            above = at;
            at = if node.start < whole.start { node.right } else { node.left };
        }
        let node = &mut self.nodes[at as usize];
        if middle {
            node.end = ids.start;
            let behind = self.node(ids.end, whole.end);
            self.add_node(behind);
        } else if whole.start < ids.start {
            node.end = ids.start;
        } else if ids.end < whole.end {
            node.start = ids.end;
        } else {
            let (left, right) = (node.left, node.right);
            let below = self.merge(left, right);
            self.replace_child(above, at, below);
            self.free.push(at);
        }
        size
    }

    /// Adds a node that neither overlaps nor touches another.
    fn add_node(&mut self, new: u32) {
        let Node { start, sum, priority, .. } = self.nodes[new as usize].clone();
        let (mut at, mut above) = (self.root, NIL);
        while at != NIL && self.nodes[at as usize].priority >= priority {
            let node = &mut self.nodes[at as usize];
            node.sum.add(&sum);
            above = at;
            at = if node.start < start { node.right } else { node.left };
        }
        let (left, right) = self.split(at, &|node: &Node| node.start < start);
        self.nodes[new as usize].left = left;
        self.nodes[new as usize].right = right;
        self.weigh(new);
        if at != NIL {
            self.replace_child(above, at, new);
        } else if above == NIL {
            self.root = new;
        } else if self.nodes[above as usize].start < start {
            self.nodes[above as usize].right = new;
        } else {
            self.nodes[above as usize].left = new;
        }
    }

    fn replace_child(&mut self, above: u32, old: u32, new: u32) {
        match self.nodes.get_mut(above as usize) {
            None => self.root = new,
            Some(node) if node.left == old => node.left = new,
            Some(node) => node.right = new,
        }
    }

    fn sum(&self, at: u32) -> Option<&Number> {
        self.nodes.get(at as usize).map(|node| &node.sum)
    }

    fn first(&self, mut at: u32) -> &Node {
        while self.nodes[at as usize].left != NIL {
            at = self.nodes[at as usize].left;
        }
        &self.nodes[at as usize]
    }

    fn last(&self, mut at: u32) -> &Node {
        while self.nodes[at as usize].right != NIL {
            at = self.nodes[at as usize].right;
        }
        &self.nodes[at as usize]
    }

    fn node(&mut self, start: Number, end: Number) -> u32 {
        // SplitMix64: priorities that no order of insertions can line up with.
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mut sum = end.clone();
        sum.sub(&start);
        let node = Node { start, end, sum, priority: z ^ (z >> 31), left: NIL, right: NIL };
        if let Some(at) = self.free.pop() {
            self.nodes[at as usize] = node;
            return at;
        }
        let at = u32::try_from(self.nodes.len()).ok().filter(|&at| at != NIL);
        self.nodes.push(node);
        at.expect("fewer than 2^32 ranges")
    }

    fn release(&mut self, at: u32) {
        let mut waiting = vec![at];
        while let Some(at) = waiting.pop() {
            if let Some(node) = self.nodes.get(at as usize) {
                waiting.extend([node.left, node.right]);
                self.free.push(at);
            }
        }
    }

    /// Makes the sum of a node right after its children changed.
    fn weigh(&mut self, at: u32) {
        let node = &self.nodes[at as usize];
        let mut sum = node.end.clone();
        sum.sub(&node.start);
        for child in [node.left, node.right] {
            if let Some(below) = self.sum(child) {
                sum.add(below);
            }
        }
        self.nodes[at as usize].sum = sum;
    }

    /// Splits a subtree into the nodes for which `low` holds, which are the first ones, and the others.
    fn split(&mut self, at: u32, low: &dyn Fn(&Node) -> bool) -> (u32, u32) {
        if at == NIL {
            return (NIL, NIL);
        }
        if low(&self.nodes[at as usize]) {
            let (left, right) = self.split(self.nodes[at as usize].right, low);
            self.nodes[at as usize].right = left;
            self.weigh(at);
            (at, right)
        } else {
            let (left, right) = self.split(self.nodes[at as usize].left, low);
            self.nodes[at as usize].left = right;
            self.weigh(at);
            (left, at)
        }
    }

    /// Joins two subtrees, all of the first before all of the second.
    fn merge(&mut self, left: u32, right: u32) -> u32 {
        if left == NIL || right == NIL {
            return if left == NIL { right } else { left };
        }
        if self.nodes[left as usize].priority > self.nodes[right as usize].priority {
            self.nodes[left as usize].right = self.merge(self.nodes[left as usize].right, right);
            self.weigh(left);
            left
        } else {
            self.nodes[right as usize].left = self.merge(left, self.nodes[right as usize].left);
            self.weigh(right);
            right
        }
    }

    fn in_order(&self, root: u32, visit: &mut dyn FnMut(&Node)) {
        let (mut above, mut at) = (Vec::new(), root);
        while at != NIL || !above.is_empty() {
            while at != NIL {
                above.push(at);
                at = self.nodes[at as usize].left;
            }
            if let Some(top) = above.pop() {
                visit(&self.nodes[top as usize]);
                at = self.nodes[top as usize].right;
            }
        }
    }
}

impl FromIterator<Range<BigUint>> for IdSet {
    fn from_iter<T: IntoIterator<Item = Range<BigUint>>>(ranges: T) -> Self {
        let mut set = IdSet::new();
        ranges.into_iter().for_each(|range| {
            set.insert(&range);
        });
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::random::Rng;
    use std::collections::BTreeSet;

    fn range(a: u32, b: u32) -> Range<BigUint> {
        a.into()..b.into()
    }

    fn same(set: &IdSet, naive: &BTreeSet<u32>, rng: &mut Rng, top: usize) {
        assert_eq!(set.count(), naive.len().into());
        assert_eq!(set.is_empty(), naive.is_empty());
        let (a, b) = (rng.below(top) as u32, rng.below(top) as u32);
        let inside = if a <= b { naive.range(a..b).count() } else { 0 };
        assert_eq!(set.count_in(&range(a, b)), inside.into());
        assert_eq!(set.intersects(&range(a, b)), inside > 0);
        assert_eq!(set.contains(&range(a, b)), inside == b.saturating_sub(a) as usize);
        let n = rng.below(naive.len() + 2);
        assert_eq!(set.nth(&n.into()), naive.iter().nth(n).map(|&id| id.into()));
        let listed: Vec<u32> = set
            .ranges()
            .into_iter()
            .flat_map(|r| u32::try_from(r.start).unwrap()..u32::try_from(r.end).unwrap())
            .collect();
        assert!(listed.iter().eq(naive), "in order and nothing twice");
        let apart = set.ranges().windows(2).all(|pair| pair[0].end < pair[1].start);
        assert!(apart, "ranges that touch are one");
    }

    #[test]
    fn agrees_with_a_plain_set() {
        for seed in 0..60 {
            let rng = &mut Rng::new(seed);
            let top = [40, 300, 2_000][seed as usize % 3];
            let (mut set, mut naive) = (IdSet::new(), BTreeSet::new());
            let (mut other, mut naive_other) = (IdSet::new(), BTreeSet::new());
            for _ in 0..300 {
                let a = rng.below(top);
                let b = rng.between(a, (a + top / 8).min(top));
                let (a, b) = (a as u32, b as u32);
                match rng.below(5) {
                    0 | 1 => {
                        let new = (a..b).filter(|&id| naive.insert(id)).count();
                        assert_eq!(set.insert(&range(a, b)), new.into());
                    }
                    2 | 3 => {
                        let gone = (a..b).filter(|id| naive.remove(id)).count();
                        assert_eq!(set.remove(&range(a, b)), gone.into());
                    }
                    _ => {
                        let moved: Vec<u32> = (a..b).filter(|id| naive.remove(id)).collect();
                        assert_eq!(set.move_to(&range(a, b), &mut other), moved.len().into());
                        naive_other.extend(moved);
                    }
                }
                same(&set, &naive, rng, top);
                same(&other, &naive_other, rng, top);
            }
        }
    }

    #[test]
    fn counts_have_hundreds_of_digits() {
        for digits in [37, 38, 39, 40, 300] {
            counts_of(&BigUint::from(10u32).pow(digits));
        }
    }

    fn counts_of(all: &BigUint) {
        let mut set = IdSet::from_iter([BigUint::ZERO..all.clone()]);
        assert_eq!(set.count(), *all);
        let third = all / 3u32;
        assert_eq!(set.remove(&(third.clone()..&third + 7u32)), 7u32.into());
        assert_eq!(set.nth(&third), Some(&third + 7u32));
        assert_eq!(set.nth(&(all - 8u32)), Some(all - 1u32));
        assert_eq!(set.nth(&(all - 7u32)), None);
        assert_eq!(set.count() + 7u32, *all);
    }
}
