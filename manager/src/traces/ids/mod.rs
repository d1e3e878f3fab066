//! Sets of trace IDs as disjoint ranges.
//!
//! Counts outgrow machine words and sets have up to a few hundred thousand ranges. Ranges stand in order in chunks of a
//! few hundred; every chunk knows how many IDs it has. A question is two binary searches and, where IDs are counted, a
//! search in their sums. A treap with sums needs fewer steps, but each waits for memory: with it the manager processed a
//! third less feedback in the same time. Invariant: ranges are not empty, in order, and neither overlap nor touch; no chunk is
//! empty; `sum` of a chunk, `total` and `firsts` are what the ranges say.

mod number;
mod sums;

use num_bigint::BigUint;
use number::Number;
use std::ops::Range;
use sums::Sums;

/// The most ranges in a chunk.
const MOST: usize = if cfg!(test) { 6 } else { 256 };

#[derive(Clone, Debug)]
struct Chunk {
    ranges: Vec<Range<Number>>,
    sum: Number,
}

/// A set of trace IDs.
#[derive(Clone, Debug)]
pub struct IdSet {
    chunks: Vec<Chunk>,
    /// The first ID of each chunk: these are searched first, so they stand together.
    firsts: Vec<Number>,
    /// The sums of the chunks.
    sums: Sums,
    total: Number,
}

impl Default for IdSet {
    fn default() -> Self {
        IdSet { chunks: Vec::new(), firsts: Vec::new(), sums: Sums::default(), total: Number::ZERO }
    }
}

fn numbers(ids: &Range<BigUint>) -> Range<Number> {
    Number::from(&ids.start)..Number::from(&ids.end)
}

fn size(ids: &Range<Number>) -> Number {
    let mut size = ids.end.clone();
    size.sub(&ids.start);
    size
}

fn common(a: &Range<Number>, b: &Range<Number>) -> Range<Number> {
    (&a.start).max(&b.start).clone()..(&a.end).min(&b.end).clone()
}

impl IdSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many IDs there are.
    pub fn count(&self) -> BigUint {
        BigUint::from(&self.total)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Whether the set has all IDs of a range; true for an empty range.
    pub fn contains(&self, ids: &Range<BigUint>) -> bool {
        let ids = numbers(ids);
        let holds = |range: &Range<Number>| range.start <= ids.start && ids.end <= range.end;
        ids.is_empty() || self.overlapping(&ids).is_some_and(|(c, i)| holds(&self.chunks[c].ranges[i]))
    }

    /// Whether the set has some ID of a range.
    pub fn intersects(&self, ids: &Range<BigUint>) -> bool {
        !self.is_empty() && self.overlapping(&numbers(ids)).is_some()
    }

    /// How many IDs of a range the set has.
    pub fn count_in(&self, ids: &Range<BigUint>) -> BigUint {
        let ids = numbers(ids);
        let mut count = Number::ZERO;
        let Some((first, mut at)) = self.overlapping(&ids) else { return BigUint::ZERO };
        for chunk in first..self.chunks.len() {
            let inside = self.firsts.get(chunk + 1).is_some_and(|next| *next <= ids.end);
            if at == 0 && inside && ids.start <= self.firsts[chunk] {
                count.add(&self.chunks[chunk].sum);
                continue;
            }
            for range in self.chunks[chunk].ranges[at..].iter().take_while(|range| range.start < ids.end) {
                count.add(&size(&common(range, &ids)));
            }
            at = 0;
            if !inside {
                break;
            }
        }
        BigUint::from(&count)
    }

    /// The ID with this many before it; `None` if there are not this many.
    pub fn nth(&self, n: &BigUint) -> Option<BigUint> {
        let mut rest = Number::from(n);
        let chunk = self.chunks.get(self.sums.within(&mut rest))?;
        for range in &chunk.ranges {
            rest.add(&range.start);
            if rest < range.end {
                return Some(BigUint::from(&rest));
            }
            rest.sub(&range.end);
        }
        None
    }

    /// The ranges in order.
    pub fn ranges(&self) -> Vec<Range<BigUint>> {
        let all = self.chunks.iter().flat_map(|chunk| &chunk.ranges);
        all.map(|range| BigUint::from(&range.start)..BigUint::from(&range.end)).collect()
    }

    /// Adds a range; returns how many of its IDs are new.
    pub fn insert(&mut self, ids: &Range<BigUint>) -> BigUint {
        BigUint::from(&self.put(numbers(ids)))
    }

    /// Takes a range out; returns how many of its IDs the set had.
    pub fn remove(&mut self, ids: &Range<BigUint>) -> BigUint {
        if self.is_empty() {
            return BigUint::ZERO;
        }
        BigUint::from(&self.take(&numbers(ids), &mut |_| {}))
    }

    /// Moves the IDs of a range to another set; returns how many these are.
    pub fn move_to(&mut self, ids: &Range<BigUint>, other: &mut IdSet) -> BigUint {
        let moved = self.take(&numbers(ids), &mut |piece| {
            other.put(piece);
        });
        BigUint::from(&moved)
    }

    /// The chunk in which an ID is or would be; 0 if it is before all.
    fn chunk_of(&self, id: &Number) -> usize {
        self.firsts.partition_point(|first| first <= id).saturating_sub(1)
    }

    /// Chunk and place of the first range for which `before`, which holds of the first ones only, does not hold.
    fn first_not(&self, id: &Number, before: impl Fn(&Range<Number>) -> bool) -> Option<(usize, usize)> {
        let chunk = self.chunk_of(id);
        let ranges = &self.chunks.get(chunk)?.ranges;
        match ranges.partition_point(before) {
            at if at < ranges.len() => Some((chunk, at)),
            _ => (chunk + 1 < self.chunks.len()).then_some((chunk + 1, 0)),
        }
    }

    /// The first range with IDs of a range.
    fn overlapping(&self, ids: &Range<Number>) -> Option<(usize, usize)> {
        let (chunk, at) = self.first_not(&ids.start, |range| range.end <= ids.start)?;
        (!ids.is_empty() && self.chunks[chunk].ranges[at].start < ids.end).then_some((chunk, at))
    }

    fn put(&mut self, ids: Range<Number>) -> Number {
        if ids.is_empty() {
            return Number::ZERO;
        }
        // What overlaps or touches becomes one range.
        let mut hull = ids.clone();
        if let Some((chunk, at)) = self.first_not(&ids.start, |range| range.end < ids.start) {
            hull.start = hull.start.min(self.chunks[chunk].ranges[at].start.clone());
            let chunk = &self.chunks[self.chunk_of(&ids.end)].ranges;
            if let Some(last) = chunk.partition_point(|range| range.start <= ids.end).checked_sub(1) {
                hull.end = hull.end.max(chunk[last].end.clone());
            }
        }
        let mut new = size(&hull);
        new.sub(&self.take(&hull, &mut |_| {}));
        self.add(hull);
        new
    }

    /// Adds a range that neither overlaps nor touches another.
    fn add(&mut self, ids: Range<Number>) {
        let size = size(&ids);
        self.total.add(&size);
        if self.is_empty() {
            self.firsts.push(ids.start.clone());
            self.chunks.push(Chunk { ranges: vec![ids], sum: size });
            self.recount();
            return;
        }
        let at = self.chunk_of(&ids.start);
        let chunk = &mut self.chunks[at];
        chunk.sum.add(&size);
        self.sums.change(at, |sum| sum.add(&size));
        let place = chunk.ranges.partition_point(|range| range.start < ids.start);
        chunk.ranges.insert(place, ids);
        self.firsts[at].clone_from(&chunk.ranges[0].start);
        self.split_if_full(at);
    }

    fn split_if_full(&mut self, at: usize) {
        let chunk = &mut self.chunks[at];
        if chunk.ranges.len() <= MOST {
            return;
        }
        let ranges = chunk.ranges.split_off(MOST / 2);
        let mut sum = Number::ZERO;
        ranges.iter().for_each(|range| sum.add(&size(range)));
        chunk.sum.sub(&sum);
        self.firsts.insert(at + 1, ranges[0].start.clone());
        self.chunks.insert(at + 1, Chunk { ranges, sum });
        self.recount();
    }

    /// Computes the sums anew after chunks were added or removed.
    fn recount(&mut self) {
        self.sums.set(self.chunks.iter().map(|chunk| &chunk.sum));
    }

    fn take(&mut self, ids: &Range<Number>, piece: &mut dyn FnMut(Range<Number>)) -> Number {
        let mut taken = Number::ZERO;
        let Some((first, mut place)) = self.overlapping(ids) else { return taken };
        let mut at = first;
        while at < self.chunks.len() && self.firsts[at] < ids.end {
            let chunk = &mut self.chunks[at];
            let behind = place + chunk.ranges[place..].partition_point(|range| range.start < ids.end);
            let mut gone = Number::ZERO;
            for range in &chunk.ranges[place..behind] {
                let common = common(range, ids);
                gone.add(&size(&common));
                piece(common);
            }
            if place < behind {
                let before = chunk.ranges[place].start.clone()..ids.start.clone();
                let after = ids.end.clone()..chunk.ranges[behind - 1].end.clone();
                let kept = [before, after].into_iter().filter(|range| !range.is_empty());
                chunk.ranges.splice(place..behind, kept);
            }
            chunk.sum.sub(&gone);
            self.sums.change(at, |sum| sum.sub(&gone));
            taken.add(&gone);
            if let Some(range) = chunk.ranges.first() {
                self.firsts[at].clone_from(&range.start);
            }
            (at, place) = (at + 1, 0);
        }
        self.total.sub(&taken);
        // Only the chunks just seen can be empty, and those without their first and last range stand together.
        let empty = |chunk: &Chunk| chunk.ranges.is_empty();
        let from = first + usize::from(!empty(&self.chunks[first]));
        let to = from + self.chunks[from..at.max(from)].iter().take_while(|chunk| empty(chunk)).count();
        self.chunks.drain(from..to);
        self.firsts.drain(from..to);
        if from < to {
            self.recount();
        }
        if from > first {
            self.split_if_full(first);
        }
        taken
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
    use gridlock_lts::base::rng::Rng;
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
        let firsts = set.chunks.iter().map(|chunk| &chunk.ranges[0].start);
        assert!(firsts.eq(&set.firsts) && set.chunks.iter().all(|chunk| chunk.ranges.len() <= MOST));
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
