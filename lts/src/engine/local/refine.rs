//! One obligation: a block that grows until nothing in it is suspicious, or what is suspicious is a run.
//!
//! Each round explores the block. If it comes to a suspicious state, somebody outside is asked in this order: a leaf that
//! cannot follow the path alone joins the block; two that cannot follow together do; an edge of the observer that many leaves
//! may take is split ([`split`](super::split)) if that leaves somebody who cannot follow. Then a run is looked for
//! ([`concrete`](super::concrete)); if none is found, the leaf that was in its way joins. The block grows in each round, and when
//! all are in it, it is the system.

use super::block::{Block, Effort, Path, internal};
use super::concrete::{Concrete, Made};
use super::follow::Follow;
use super::frame::{Frame, Size};
use super::split::{self, Taken};
use super::{Account, Fate, Joined, Options, Round, SHARE};
use crate::base::memory::Budget;
use crate::engine::parts::{Obligation, Stop, Trouble, replayed};
use crate::model::network::{LeafIx, Network};
use crate::model::trace::Trace;
use crate::property::Property;
use std::sync::Arc;
use std::time::Instant;

/// Obligations that one property may be split into.
const MOST_MEMBERS: usize = 1024;

/// What is to be decided: an obligation, or a part of it. A [`Task`](super::Task) that was made ready.
pub(super) struct Job {
    pub(super) obligation: Obligation,
    pub(super) frame: Arc<Frame>,
    /// The leaves by which edges of the observer are taken here.
    pub(super) members: Vec<LeafIx>,
    /// How many obligations the property was split into so far.
    pub(super) siblings: usize,
    /// The slots to begin with.
    pub(super) block: Vec<u32>,
}

/// What became of it.
pub(super) enum Answer {
    Holds,
    /// A run that violates it or is faulty, replayed.
    Run(Trace),
    /// One for each member, to begin with the slots that the block has now.
    Split(Vec<Taken>),
}

/// See the module head.
pub(super) struct Refinement<'a> {
    pub(super) net: &'a Network,
    pub(super) properties: &'a [Property],
    pub(super) options: &'a Options<'a>,
    pub(super) budget: &'a Arc<Budget>,
    pub(super) stop: &'a Stop<'a>,
    pub(super) progress: &'a dyn Fn(u64),
    pub(super) rounds: Vec<Round>,
    pub(super) slots: Vec<u32>,
    /// States of all rounds so far.
    spent: u64,
    /// What is left for runs and for pairs.
    tries: u64,
    pairs: u64,
    start: Instant,
}

/// What to do about a path.
enum Next {
    Join(Joined, Vec<u32>),
    Split(Vec<Taken>),
    Run(Trace),
}

impl<'a> Refinement<'a> {
    pub(super) fn new(
        (net, properties): (&'a Network, &'a [Property]),
        options: &'a Options<'a>,
        budget: &'a Arc<Budget>,
        stop: &'a Stop<'a>,
        progress: &'a dyn Fn(u64),
    ) -> Self {
        let start = Instant::now();
        let (rounds, slots) = (Vec::new(), Vec::new());
        let (spent, tries, pairs) = (0, options.tries, options.pairs);
        Refinement {
            net,
            properties,
            options,
            budget,
            stop,
            progress,
            rounds,
            slots,
            spent,
            tries,
            pairs,
            start,
        }
    }

    /// What was done.
    pub(super) fn account(self, job: &Job, result: Fate) -> Account {
        let size: Size = job.frame.size();
        let leaf = |&slot: &u32| job.frame.leaf(slot);
        Account {
            obligation: job.obligation,
            members: job.members.clone(),
            result,
            fixpoint: size,
            block: self.slots.iter().filter_map(leaf).collect(),
            rounds: self.rounds,
            time: self.start.elapsed(),
        }
    }

    /// Decides it.
    pub(super) fn decide(&mut self, job: &Job) -> Result<Answer, Trouble> {
        self.slots = job.block.clone();
        if !job.frame.is_suspicious() {
            return Ok(Answer::Holds);
        }
        loop {
            let block = Block::new(&job.frame, &self.slots);
            let states = self.options.limit.saturating_sub(self.spent);
            if states == 0 {
                return Err(Trouble::TooLarge);
            }
            let effort = Effort { states, budget: self.budget, stop: self.stop };
            let searched = block.search(effort)?;
            self.spent += searched.states;
            (self.progress)(searched.states);
            let length = searched.path.as_ref().map(|path| path.len() as u64);
            let mut round = Round {
                leaves: self.slots.iter().filter(|&&slot| job.frame.leaf(slot).is_some()).count() as u64,
                states: searched.states,
                transitions: searched.transitions,
                path: length,
                runs: 0,
                joined: Joined::Nobody,
            };
            let Some(path) = searched.path else {
                self.rounds.push(round);
                return Ok(Answer::Holds);
            };
            let next = self.next(job, &block, &path, &mut round)?;
            if let Next::Join(why, _) = &next {
                round.joined = *why;
            }
            self.rounds.push(round);
            match next {
                Next::Run(trace) => return Ok(Answer::Run(trace)),
                Next::Split(parts) => return Ok(Answer::Split(parts)),
                Next::Join(_, slots) => {
                    self.slots.extend(slots);
                    self.slots.sort_unstable();
                }
            }
        }
    }

    fn next(&mut self, job: &Job, block: &Block, path: &Path, round: &mut Round) -> Result<Next, Trouble> {
        let frame = block.frame;
        let size = |slot: u32| (frame.lts(slot).num_states(), slot);
        let follow = Follow::new(block, path);
        let (distances, cannot) = follow.distances();
        if let Some(slot) = cannot.into_iter().min_by_key(|&slot| size(slot)) {
            return Ok(Next::Join(Joined::CannotFollow, vec![slot]));
        }
        self.stop.check()?;
        if let Some((first, second)) = follow.pair(None, &mut self.pairs) {
            return Ok(Next::Join(Joined::PairCannotFollow, vec![first, second]));
        }
        if let Some(parts) = self.split(job, block, path) {
            return Ok(Next::Split(parts));
        }
        let mut blockers = Vec::new();
        if let Some(distances) = &distances {
            let tries = self.tries.min(self.options.tries.div_ceil(SHARE));
            match Concrete::new(block, path, distances).make(self.net, tries, self.stop)? {
                Made::Run(trace) => {
                    replayed(self.net, self.properties, job.obligation, trace.clone())?;
                    return Ok(Next::Run(trace));
                }
                Made::None { blockers: found, expanded } => {
                    blockers = found;
                    round.runs = expanded;
                    self.tries = self.tries.saturating_sub(expanded);
                }
            }
        }
        let slot = blockers.first().copied().or_else(|| most_connected(block));
        let slot = slot.ok_or_else(|| internal("all leaves are in the block, and its path is no run"))?;
        Ok(Next::Join(Joined::InTheWay, vec![slot]))
    }

    /// An edge of the observer that is worth to be taken by one member at a time.
    fn split(&mut self, job: &Job, block: &Block, path: &Path) -> Option<Vec<Taken>> {
        let fits = |edge: &split::Edge| job.siblings * edge.members.len() <= MOST_MEMBERS;
        let edges = split::edges(block, path).into_iter().filter(fits);
        let edge = edges.into_iter().find(|edge| edge.pays(block, path, &mut self.pairs))?;
        Some(edge.taken())
    }
}

/// The leaf outside that shares most syncs with the block, or with anybody if nobody does.
fn most_connected(block: &Block) -> Option<u32> {
    let mut shared = vec![(0u64, 0u64); block.frame.width()];
    for (ix, sync) in (0u32..).zip(block.frame.syncs()) {
        let outside: Vec<u32> = block.outside(ix).map(|part| part.0).collect();
        for &slot in &outside {
            let (with_block, all) = &mut shared[slot as usize];
            *with_block += u64::from(outside.len() < sync.len());
            *all += u64::from(sync.len() > 1);
        }
    }
    let others = block.others().into_iter();
    others.min_by_key(|&slot| (std::cmp::Reverse(shared[slot as usize]), slot))
}
