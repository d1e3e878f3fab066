//! Finer guides for what is too large for a job and cannot be divided along the guide's own edges.
//!
//! A search that goes over its budget at a position of its path does so for every trace with the same beginning, so the finer
//! guide is made for that beginning, and all IDs with it wait for the finer guide. Invariant: an ID that waits for a finer
//! guide is in work until that guide's own IDs are settled; then it is explored, or given up if some of those were.

use super::Swarm;
use super::processing::Answered;
use super::sizing::Sizing;
use super::space::Space;
use super::status::{Class, Stuck};
use crate::traces::ids::IdSet;
use gridlock_lts::guide::{EdgeIx, Guide};
use gridlock_lts::model::network::LeafIx;
use gridlock_worker::job::{Order, Refinement};
use num_bigint::BigUint;
use std::cmp::Reverse;
use std::ops::Range;

/// A node of a guide's tree of prefixes: the space, the depth and the first ID.
pub(super) type Node = (usize, usize, BigUint);

/// How far the work with a finer guide is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Open,
    Explored,
    GivenUp,
}

/// A finer guide, seen from the space it was made for.
pub(super) struct Nested {
    /// All traces with the prefix.
    ids: Range<BigUint>,
    /// The IDs that wait for it; ranges of jobs as a whole.
    waiting: IdSet,
    /// The space of its own IDs.
    space: usize,
    progress: Progress,
}

impl Swarm<'_> {
    /// Divides a job that is over its budget before the end of its path, or whose path is a whole trace.
    pub(super) fn divide(&mut self, answered: &Answered) -> Class {
        let Some(space) = self.spaces[answered.space].as_mut() else { return Class::Explored };
        let ids = &answered.ids;
        let covers = |nested: &&mut Nested| nested.ids.start <= ids.start && ids.end <= nested.ids.end;
        if let Some(nested) = space.nested.iter_mut().rev().find(covers) {
            let class = Class::Nested { space: nested.space };
            match nested.progress {
                Progress::Open => {
                    nested.waiting.insert(ids);
                }
                Progress::Explored => {
                    space.explore(ids);
                }
                Progress::GivenUp => {
                    space.give_up(ids);
                }
            }
            return class;
        }
        let length = answered.job.path.len();
        // Depth first, later positions are met before earlier ones are done: nothing is known about others.
        let first = match answered.job.order {
            Order::BreadthFirst => answered.feedback.possible.len().min(length),
            Order::DepthFirst => length,
        };
        for depth in [first, length] {
            if let Some(made) = self.refine(answered, depth) {
                return Class::Nested { space: made };
            }
        }
        self.give_up(answered, first)
    }

    /// Makes a finer guide for the beginning of a job's path, unless none helps; returns its space.
    fn refine(&mut self, answered: &Answered, depth: usize) -> Option<usize> {
        let space = self.spaces[answered.space].as_ref()?;
        let path = &answered.job.path[..depth];
        let edges: Vec<EdgeIx> = path.iter().map(|&edge| EdgeIx(edge)).collect();
        let ids = space.guide.range(&edges);
        let ids = ids.start.clone()..ids.end();
        let node = (answered.space, depth, ids.start.clone());
        if !space.is_within_shard(&ids) || self.hopeless.contains(&node) {
            return None;
        }
        let Some((guide, leaf)) = self.finer(&space.guide, &edges) else {
            self.hopeless.insert(node);
            return None;
        };
        let mut refinements = space.refinements.clone();
        refinements.push(Refinement { path: path.to_vec(), leaf: leaf.0 });
        // The whole is too large: that much is known.
        let limit = (guide.traces() / 2u32).max(BigUint::from(1u32));
        let mut finer = Space::new(guide, refinements, &self.config, Sizing::new(Some(limit)));
        let new = self.spaces.len();
        let space = self.spaces[answered.space].as_mut()?;
        finer.parent = Some((answered.space, space.nested.len()));
        let mut waiting = space.take_remaining(&ids);
        waiting.insert(&answered.ids);
        space.nested.push(Nested { ids, waiting, space: new, progress: Progress::Open });
        self.spaces.push(Some(finer));
        self.settle(new);
        Some(new)
    }

    /// The finer guide with the largest leaf that tells more traces apart.
    fn finer(&self, guide: &Guide, path: &[EdgeIx]) -> Option<(Guide, LeafIx)> {
        let leaves = &self.net.leaves;
        let built = |leaf: &u32| leaves[*leaf as usize].states.iter().all(|state| state.expanded);
        let mut order: Vec<u32> = (0..leaves.len() as u32)
            .filter(|leaf| !guide.leaves().contains(&LeafIx(*leaf)))
            .filter(built)
            .collect();
        order.sort_by_key(|&leaf| (Reverse(leaves[leaf as usize].states.len()), leaf));
        let traces = guide.weight(guide.end(path));
        order.into_iter().map(LeafIx).find_map(|leaf| {
            let finer = guide.refine(self.net, path, leaf, self.config.guide_states).ok()?;
            (finer.traces() > traces).then_some((finer, leaf))
        })
    }

    /// Nothing can divide the job: it and all that begins with the same `depth` edges will not be explored.
    fn give_up(&mut self, answered: &Answered, depth: usize) -> Class {
        if let Some(space) = self.spaces[answered.space].as_mut() {
            let path: Vec<EdgeIx> = answered.job.path[..depth].iter().map(|&edge| EdgeIx(edge)).collect();
            let ids = space.guide.range(&path);
            let mut given_up = space.give_up(&answered.ids);
            for range in space.take_remaining(&(ids.start.clone()..ids.end())).ranges() {
                given_up += space.give_up(&range);
            }
            self.stuck.push(Stuck {
                number: answered.job.number,
                effort: answered.feedback.effort,
                position: answered.feedback.possible.len(),
                length: answered.job.path.len(),
                ids: given_up,
            });
        }
        Class::GivenUp
    }

    /// Checks the sums of a space that has changed, records whether IDs remain in it, and settles the IDs that wait for it if
    /// nothing is left to do.
    pub(super) fn settle(&mut self, at: usize) {
        let mut at = at;
        loop {
            let Some(space) = self.spaces[at].as_ref() else { return };
            space.check();
            if space.is_open() {
                self.open.insert(at);
            } else {
                self.open.remove(&at);
            }
            let Some((parent, place)) = space.parent.filter(|_| space.is_settled()) else { return };
            let progress = if space.given_up.is_empty() { Progress::Explored } else { Progress::GivenUp };
            self.drop_space(at);
            let Some(space) = self.spaces[parent].as_mut() else { return };
            space.nested[place].progress = progress;
            let waiting = std::mem::take(&mut space.nested[place].waiting);
            for ids in waiting.ranges() {
                match progress {
                    Progress::GivenUp => space.give_up(&ids),
                    Progress::Open | Progress::Explored => space.explore(&ids),
                };
            }
            at = parent;
        }
    }

    /// Drops a space and those that were made for its IDs; no ID waits for them any more.
    fn drop_space(&mut self, at: usize) {
        let mut waiting = vec![at];
        while let Some(at) = waiting.pop() {
            self.open.remove(&at);
            if let Some(space) = self.spaces[at].take() {
                waiting.extend(space.nested.iter().map(|nested| nested.space));
            }
        }
    }
}
