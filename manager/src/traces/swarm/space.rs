//! The trace IDs of one guide: which remain, which are in work, and which feedback has settled.
//!
//! Invariant, asserted after every change: each ID is in exactly one class, so those remaining, in work, explored,
//! pruned, irrelevant and given up add up to all. `explored`, `pruned` and `irrelevant` are counted on their way out of the
//! sets, not as the difference, so a range that was counted twice or forgotten is noticed.

use super::border::Frontier;
use super::config::{Config, Granularity};
use super::nested::Nested;
use super::seen::{PrefixHash, Seen};
use super::sizing::Sizing;
use super::status::Pruned;
use crate::traces::ids::IdSet;
use crate::traces::strategy::Strategy;
use gridlock_lts::base::hash::Set;
use gridlock_lts::guide::{EdgeIx, Guide, StateIx};
use gridlock_worker::job::{Feedback, JobEnd, Refinement};
use num_bigint::BigUint;
use std::ops::Range;

/// IDs for a job.
pub(super) struct Pick {
    /// The edges that all of them begin with.
    pub(super) path: Vec<u32>,
    /// All traces with that prefix.
    pub(super) ids: Range<BigUint>,
    /// How many of them are to be done.
    pub(super) count: BigUint,
}

/// The IDs of one guide.
pub(super) struct Space {
    pub(super) guide: Guide,
    /// How the guide is made from the swarm's own one.
    pub(super) refinements: Vec<Refinement>,
    shard: Range<BigUint>,
    granularity: Granularity,
    strategy: Box<dyn Strategy>,
    pub(super) sizing: Sizing,
    pub(super) remaining: IdSet,
    pub(super) in_work: IdSet,
    pub(super) given_up: IdSet,
    pub(super) explored: BigUint,
    pub(super) pruned: BigUint,
    /// IDs that were struck off before the first job: no violation can follow.
    pub(super) irrelevant: BigUint,
    /// Ranges of jobs that were explored, whole: no job may have them again. Only prefixes need it.
    done: IdSet,
    /// For each depth the first IDs of the nodes that are too large for a job.
    too_large: Vec<Set<BigUint>>,
    /// Prefixes that can never be jobs any more.
    unfit: Seen,
    /// Prefixes after which impossible IDs have been taken out.
    known: Seen,
    /// Finer guides that were made for nodes of this one.
    pub(super) nested: Vec<Nested>,
    /// The states that were handed on and wait, if jobs hand on the states that they leave.
    pub(super) frontier: Option<Frontier>,
    /// The space this one was made for, and the place in its `nested`.
    pub(super) parent: Option<(usize, usize)>,
}

impl Space {
    pub(super) fn new(guide: Guide, refinements: Vec<Refinement>, config: &Config, sizing: Sizing) -> Self {
        let all = BigUint::ZERO..guide.traces().clone();
        // Only the swarm's own guide is shared out; IDs of finer ones are another matter.
        let shard = match config.shard.as_ref().filter(|_| refinements.is_empty()) {
            Some(shard) => shard.start.clone()..shard.end.clone().min(all.end),
            None => all,
        };
        let (mut remaining, mut irrelevant) = (IdSet::from_iter([shard.clone()]), BigUint::ZERO);
        // States that are irrelevant are passed over in finer guides as well, but their IDs are another matter.
        if let Some(relevance) = config.relevance.as_ref().filter(|_| refinements.is_empty()) {
            for ids in guide.struck(relevance) {
                irrelevant += remaining.remove(&(ids.start.clone()..ids.end()));
            }
        }
        // Jobs that hand on move within the guide; where its cycles are cut, one that moves anywhere comes first.
        let frontier = (config.hands_on() && refinements.is_empty()).then(|| {
            let mut frontier = Frontier::new(&guide);
            if !guide.is_bounded() && !remaining.is_empty() {
                frontier.begin(shard.clone());
            }
            frontier
        });
        let bits = guide.traces().bits() + 1;
        Space {
            guide,
            unfit: Seen::new(bits),
            known: Seen::new(bits),
            refinements,
            remaining,
            shard,
            granularity: config.granularity,
            strategy: config.strategy.strategy(config.seed),
            sizing,
            in_work: IdSet::new(),
            given_up: IdSet::new(),
            explored: BigUint::ZERO,
            pruned: BigUint::ZERO,
            irrelevant,
            done: IdSet::new(),
            too_large: Vec::new(),
            nested: Vec::new(),
            frontier,
            parent: None,
        }
    }

    /// The number of IDs to be done.
    pub(super) fn all(&self) -> BigUint {
        if self.shard.is_empty() { BigUint::ZERO } else { &self.shard.end - &self.shard.start }
    }

    /// Whether all IDs belong to this swarm.
    pub(super) fn is_within_shard(&self, ids: &Range<BigUint>) -> bool {
        self.shard.start <= ids.start && ids.end <= self.shard.end
    }

    /// Checks that the classes add up to all IDs.
    pub(super) fn check(&self) {
        let sum = self.remaining.count()
            + self.in_work.count()
            + self.given_up.count()
            + &self.explored
            + &self.pruned
            + &self.irrelevant;
        assert!(sum == self.all(), "each trace ID is in exactly one class: {sum} of {}", self.all());
    }

    /// Takes IDs for a job out of the remaining ones.
    pub(super) fn pick(&mut self) -> Option<Pick> {
        let id = self.strategy.choose(&self.remaining, &self.guide)?;
        let (path, ids) = self.prefix(&id);
        self.strategy.made(&path);
        let count = self.remaining.move_to(&ids, &mut self.in_work);
        Some(Pick { path: path.into_iter().map(|edge| edge.0).collect(), ids, count })
    }

    /// The shortest prefix of a trace that may be a job.
    fn prefix(&mut self, id: &BigUint) -> (Vec<EdgeIx>, Range<BigUint>) {
        let (mut state, mut path) = (StateIx(0), Vec::new());
        let mut ids = BigUint::ZERO..self.guide.traces().clone();
        let (mut rest, mut hash) = (id.clone(), PrefixHash::EMPTY);
        while self.granularity == Granularity::Trace || !self.may_be_job(&ids, path.len(), hash) {
            let Some((edge, before)) = self.guide.choose(state, &rest) else { break };
            state = self.guide.edge(edge).target;
            rest -= &before;
            ids.start += before;
            ids.end.clone_from(&ids.start);
            ids.end += self.guide.weight(state);
            hash = hash.with(edge.0);
            path.push(edge);
        }
        (path, ids)
    }

    fn may_be_job(&mut self, ids: &Range<BigUint>, depth: usize, hash: PrefixHash) -> bool {
        if self.unfit.contains(hash) {
            return false;
        }
        let too_large = self.too_large.get(depth).is_some_and(|nodes| nodes.contains(&ids.start));
        if too_large || !self.is_within_shard(ids) || self.done.intersects(ids) {
            self.unfit.insert(hash);
            return false;
        }
        !self.in_work.intersects(ids)
            && !self.given_up.intersects(ids)
            && self
                .sizing
                .limit()
                .is_none_or(|limit| &ids.end - &ids.start <= *limit || self.remaining.count_in(ids) <= *limit)
    }

    /// Whether feedback is an answer to a job with such a path.
    pub(super) fn fits(&self, path: &[u32], feedback: &Feedback) -> Result<(), String> {
        let possible = &feedback.possible;
        if possible.len() > path.len() + 1 {
            return Err(format!("it has {} positions on a path of {} edges", possible.len(), path.len()));
        }
        let mut state = StateIx(0);
        for (position, edges) in possible.iter().enumerate() {
            let own = self.guide.edges_of(state);
            let ascending = edges.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascending || !edges.iter().all(|edge| own.contains(edge)) {
                return Err(format!("the edges at position {position} are not those of the guide"));
            }
            let Some(&next) = path.get(position) else { break };
            let last = position + 1 == possible.len();
            let followed = edges.binary_search(&next).is_ok();
            if (!last && !followed) || (last && followed && feedback.end == JobEnd::Complete) {
                return Err(format!("it is not clear whether the path was followed at position {position}"));
            }
            state = self.guide.edge(EdgeIx(next)).target;
        }
        if possible.is_empty() && feedback.end == JobEnd::Complete {
            return Err("it does not say what was possible".to_owned());
        }
        Ok(())
    }

    /// Takes out the IDs that the positions before the end of a path show to be impossible.
    pub(super) fn prune(&mut self, path: &[u32], possible: &[Vec<u32>], pruned: &mut Vec<Pruned>) {
        let (mut state, mut start, mut hash) = (StateIx(0), BigUint::ZERO, PrefixHash::EMPTY);
        for (position, (&next, edges)) in path.iter().zip(possible).enumerate() {
            // Every search that gets past a position reports the same for it.
            let last = position + 1 == possible.len();
            if !last && self.known.contains(hash) {
                for edge in (self.guide.edges_of(state).start..next).map(|e| self.guide.edge(EdgeIx(e))) {
                    if !edge.cut {
                        start += self.guide.weight(edge.target);
                    }
                }
            } else {
                self.known.insert(hash);
                let mut on = None;
                self.prune_at(state, &start, position, edges, pruned, &mut |_, edge, ids| {
                    if edge.0 == next {
                        on = Some(ids.start.clone());
                    }
                });
                start = on.expect("the path of a job is one of the guide");
            }
            hash = hash.with(next);
            state = self.guide.edge(EdgeIx(next)).target;
        }
    }

    /// Puts back the IDs that are possible after the end of a job's path and takes out the rest.
    pub(super) fn split(
        &mut self,
        path: &[u32],
        ids: &Range<BigUint>,
        edges: &[u32],
        pruned: &mut Vec<Pruned>,
    ) {
        let depth = path.len();
        if self.too_large.len() <= depth {
            self.too_large.resize_with(depth + 1, Set::default);
        }
        self.too_large[depth].insert(ids.start.clone());
        let end = path.last().map_or(StateIx(0), |&edge| self.guide.edge(EdgeIx(edge)).target);
        self.prune_at(end, &ids.start, depth, edges, pruned, &mut |space, edge, child| {
            if edges.binary_search(&edge.0).is_ok() {
                space.in_work.move_to(child, &mut space.remaining);
            }
        });
    }

    /// Takes out the IDs of the edges of a state, reached with `start` as its first ID, that are not among `possible`.
    fn prune_at(
        &mut self,
        state: StateIx,
        start: &BigUint,
        position: usize,
        possible: &[u32],
        pruned: &mut Vec<Pruned>,
        each: &mut dyn FnMut(&mut Self, EdgeIx, &Range<BigUint>),
    ) {
        let mut impossible: Option<Range<BigUint>> = None;
        let mut ids = start.clone()..start.clone();
        for edge in self.guide.edges_of(state).map(EdgeIx) {
            let to = self.guide.edge(edge);
            if to.cut {
                continue;
            }
            std::mem::swap(&mut ids.start, &mut ids.end);
            ids.end.clone_from(&ids.start);
            ids.end += self.guide.weight(to.target);
            each(self, edge, &ids);
            if possible.binary_search(&edge.0).is_err() {
                // Neighbours make one range: fewer steps, fewer words in the record.
                impossible.get_or_insert_with(|| ids.clone()).end.clone_from(&ids.end);
            } else if let Some(range) = impossible.take() {
                self.take_out(range, position, pruned);
            }
        }
        if let Some(range) = impossible {
            self.take_out(range, position, pruned);
        }
    }

    /// Takes out IDs that need not be searched any more.
    pub(super) fn take_out(&mut self, ids: Range<BigUint>, position: usize, pruned: &mut Vec<Pruned>) {
        let mut gone = self.remaining.remove(&ids);
        gone += self.in_work.remove(&ids);
        gone += self.given_up.remove(&ids);
        if gone > BigUint::ZERO {
            self.pruned += gone;
            pruned.push(Pruned { position, ids });
        }
    }

    /// Marks the IDs of a range that are in work as explored; returns how many these are.
    pub(super) fn explore(&mut self, ids: &Range<BigUint>) -> BigUint {
        let explored = self.in_work.remove(ids);
        self.explored += &explored;
        if self.granularity == Granularity::Prefix && explored > BigUint::ZERO {
            self.done.insert(ids);
        }
        explored
    }

    /// Gives up the IDs of a range that are in work; returns how many these are.
    pub(super) fn give_up(&mut self, ids: &Range<BigUint>) -> BigUint {
        self.in_work.move_to(ids, &mut self.given_up)
    }

    /// Puts the remaining IDs of a range in work, and returns them.
    pub(super) fn take_remaining(&mut self, ids: &Range<BigUint>) -> IdSet {
        let mut taken = IdSet::new();
        self.remaining.move_to(ids, &mut taken);
        for range in taken.ranges() {
            self.in_work.insert(&range);
        }
        taken
    }

    /// Whether IDs or states are left to hand out.
    pub(super) fn is_open(&self) -> bool {
        !self.remaining.is_empty() || self.frontier.as_ref().is_some_and(Frontier::is_open)
    }

    /// Whether nothing is left to do.
    pub(super) fn is_settled(&self) -> bool {
        self.frontier.as_ref().is_none_or(Frontier::is_settled)
            && self.remaining.is_empty()
            && self.in_work.is_empty()
    }
}
