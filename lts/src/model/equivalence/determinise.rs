//! The subset construction: states that are sets of states, such that no trace leads to two of them.
//!
//! Sets are found on demand, so a comparison explores only as far as it must. Their number may be exponential in that
//! of the states; a limit on what is stored turns this into an error.

use super::TooLarge;
use super::interner::Interner;
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;

/// How much a determinisation may store: members of sets plus transitions between sets, four to eight bytes each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeterminisationLimit(pub usize);

impl Default for DeterminisationLimit {
    /// Around a quarter of a gigabyte, which takes some ten seconds to fill.
    fn default() -> Self {
        DeterminisationLimit(1 << 25)
    }
}

/// Number of a set of states.
type SetIx = u32;

pub(super) struct Subsets<'a> {
    lts: &'a Lts,
    /// Whether tau is no step of a trace.
    weak: bool,
    limit: DeterminisationLimit,
    sets: Interner<u32>,
    /// The sets before tau steps were added, and for each of them the number of the set with these added. Often few
    /// sets lead to many large ones, and adding tau steps is what takes most time. Used for weak traces only.
    unclosed: Interner<u32>,
    closure: Vec<SetIx>,
    /// For each set the range of its edges, once they are known.
    edges_of: Vec<Option<(usize, usize)>>,
    edges: Vec<(Label, SetIx)>,
    /// Which states are in the set that is being closed; all false in between.
    member: Vec<bool>,
}

impl<'a> Subsets<'a> {
    pub(super) fn new(lts: &'a Lts, weak: bool, limit: DeterminisationLimit) -> Self {
        Subsets {
            lts,
            weak,
            limit,
            sets: Interner::new(),
            unclosed: Interner::new(),
            closure: Vec::new(),
            edges_of: Vec::new(),
            edges: Vec::new(),
            member: vec![false; lts.num_states()],
        }
    }

    /// The set of states that the empty trace leads to from `state`.
    pub(super) fn start(&mut self, state: State) -> Result<SetIx, TooLarge> {
        self.set(vec![state.0])
    }

    /// What can follow in a set: one edge for each label, in the order of labels.
    pub(super) fn edges(&mut self, set: SetIx) -> Result<&[(Label, SetIx)], TooLarge> {
        let (begin, end) = match self.edges_of[set as usize] {
            Some(range) => range,
            None => {
                let range = self.explore(set)?;
                self.edges_of[set as usize] = Some(range);
                range
            }
        };
        Ok(&self.edges[begin..end])
    }

    fn explore(&mut self, set: SetIx) -> Result<(usize, usize), TooLarge> {
        // Steps as one integer each, label first: sorting them is where the time goes.
        let mut steps: Vec<u64> = Vec::new();
        for &s in self.sets.get(set) {
            let outgoing = self.lts.outgoing(State(s)).iter();
            let counted = outgoing.filter(|t| !self.weak || t.label != Label::TAU);
            steps.extend(counted.map(|t| u64::from(t.label.0) << 32 | u64::from(t.to.0)));
        }
        steps.sort_unstable();
        steps.dedup();
        let begin = self.edges.len();
        for same_label in steps.chunk_by(|a, b| a >> 32 == b >> 32) {
            let target = self.set(same_label.iter().map(|&s| s as u32).collect())?;
            self.edges.push((Label((same_label[0] >> 32) as u32), target));
        }
        Ok((begin, self.edges.len()))
    }

    /// The number of a set, given in ascending order, after tau steps were added if they are silent.
    fn set(&mut self, mut set: Vec<u32>) -> Result<SetIx, TooLarge> {
        if self.weak {
            let (unclosed, new) = self.unclosed.intern(&set);
            if !new {
                return Ok(self.closure[unclosed as usize]);
            }
            self.close(&mut set);
        }
        let (ix, new) = self.sets.intern(&set);
        if new {
            self.edges_of.push(None);
        }
        if self.weak {
            self.closure.push(ix);
        }
        let stored = self.sets.num_items() + self.unclosed.num_items() + self.sets.len() + self.edges.len();
        if stored > self.limit.0 {
            return Err(TooLarge::Deterministic { states: self.sets.len(), limit: self.limit });
        }
        Ok(ix)
    }

    /// Adds what tau steps lead to.
    fn close(&mut self, set: &mut Vec<u32>) {
        set.iter().for_each(|&s| self.member[s as usize] = true);
        let mut next = 0;
        while next < set.len() {
            for t in self.lts.outgoing(State(set[next])) {
                if t.label == Label::TAU && !std::mem::replace(&mut self.member[t.to.0 as usize], true) {
                    set.push(t.to.0);
                }
            }
            next += 1;
        }
        set.iter().for_each(|&s| self.member[s as usize] = false);
        set.sort_unstable();
    }
}

/// The deterministic system with the same traces, where `weak` ones leave out tau; not yet minimal.
pub(super) fn determinise(lts: &Lts, weak: bool, limit: DeterminisationLimit) -> Result<Lts, TooLarge> {
    let mut subsets = Subsets::new(lts, weak, limit);
    let start = subsets.start(lts.initial())?;
    let mut builder = Builder::new();
    let mut next = start;
    while (next as usize) < subsets.sets.len() {
        for &(label, target) in subsets.edges(next)? {
            builder.add(State(next), label, State(target));
        }
        next += 1;
    }
    Ok(builder.finish_with_labels(lts.labels().to_vec(), State(start)))
}

/// A trace that only one of two states has, and which of them.
pub(super) struct TraceDifference {
    pub(super) trace: Vec<Label>,
    pub(super) of_first: bool,
}

/// A shortest trace that only one of two states has; among equally short ones the alphabetically first.
///
/// Pairs of sets are visited breadth-first (after Hopcroft and Karp). A pair whose sets are already linked by earlier
/// pairs is skipped: a trace that tells it apart tells one of those apart too, and those were met no later, so the
/// first difference found is still a shortest one.
pub(super) fn distinguishing_trace(
    subsets: &mut Subsets<'_>,
    first: State,
    second: State,
) -> Result<Option<TraceDifference>, TooLarge> {
    struct Pair {
        sets: (SetIx, SetIx),
        /// The pair before and the label from there; the starting pair refers to itself.
        before: usize,
        label: Label,
    }
    let start = (subsets.start(first)?, subsets.start(second)?);
    let mut pairs = vec![Pair { sets: start, before: 0, label: Label::TAU }];
    let mut links = Links::default();
    links.join(start.0, start.1);
    let mut next = 0;
    while next < pairs.len() {
        let (left, right) = pairs[next].sets;
        let left = subsets.edges(left)?.to_vec();
        let right = subsets.edges(right)?;
        let (mut i, mut j) = (0, 0);
        while i < left.len() || j < right.len() {
            let label_left = left.get(i).map(|e| e.0);
            let label_right = right.get(j).map(|e| e.0);
            if label_left == label_right {
                if links.join(left[i].1, right[j].1) {
                    pairs.push(Pair { sets: (left[i].1, right[j].1), before: next, label: left[i].0 });
                }
                i += 1;
                j += 1;
                continue;
            }
            let of_first = label_right.is_none() || label_left.is_some_and(|l| Some(l) < label_right);
            let mut trace: Vec<Label> = if of_first { label_left } else { label_right }.into_iter().collect();
            let mut at = next;
            while at != 0 {
                trace.push(pairs[at].label);
                at = pairs[at].before;
            }
            trace.reverse();
            return Ok(Some(TraceDifference { trace, of_first }));
        }
        next += 1;
    }
    Ok(None)
}

/// Disjoint sets of set numbers.
#[derive(Default)]
struct Links {
    parent: Vec<u32>,
}

impl Links {
    fn root(&mut self, mut x: u32) -> u32 {
        while self.parent.len() <= x as usize {
            self.parent.push(self.parent.len() as u32);
        }
        while self.parent[x as usize] != x {
            let grandparent = self.parent[self.parent[x as usize] as usize];
            self.parent[x as usize] = grandparent;
            x = grandparent;
        }
        x
    }

    /// Links two numbers; false if they were linked before.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a as usize] = b;
        a != b
    }
}
