//! One obligation: a block that grows until nothing in it is suspicious, or what is suspicious is a run.
//!
//! Each round explores the block. If it comes to a suspicious state, remedies are tried in this order: a leaf that cannot
//! follow the path alone joins the block; two that cannot follow together do; an edge of the observer that many leaves may
//! take is split ([`split`](super::split)) if some leaf can then not follow. Then a run is looked for
//! ([`concrete`](super::concrete)); if none is found, the leaf that was in its way joins. The block grows in each round,
//! and when all are in it, it is the system.
//!
//! Work is bounded ([`ticks`](super::ticks)). Much of it is wasted if the system is small. So after a first part of it, all
//! leaves join the block at once, and if that block has few states, it decides. If it has many, the refinement goes on
//! where it was, with all of the work that is allowed.

use super::block::{Block, Effort, Path, Searched, internal};
use super::concrete::{Concrete, Made};
use super::follow::Follow;
use super::frame::{Frame, Size};
use super::marking::{self, Marking};
use super::split::{self, Taken};
use super::ticks::{LABEL, Ticks};
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

/// Before all leaves are tried at once, `1 / FIRST` of the work is done.
const FIRST: u64 = 4;
/// All leaves at once may have `1 / AT_ONCE` of the states.
const AT_ONCE: u64 = 2;

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

/// The answer to an obligation.
pub(super) enum Answer {
    Holds,
    /// A run that violates it or is faulty, replayed.
    Run(Trace),
    /// One for each member, to begin with the slots that the block has now.
    Split(Vec<Taken>),
}

/// The state of deciding one obligation.
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
    /// States that may be expanded for runs still, and labels that may be tried in pairs.
    tries: u64,
    pairs: u64,
    /// The equations that decided, if they did.
    marking: Option<Marking>,
    /// Whether a block of all leaves was too large.
    too_many: bool,
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
        let (spent, tries, pairs, too_many) = (0, options.tries, options.pairs, false);
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
            marking: None,
            too_many,
            start,
        }
    }

    /// The account of the work.
    pub(super) fn account(self, job: &Job, result: Fate) -> Account {
        let size: Size = job.frame.size();
        let leaf = |&slot: &u32| job.frame.leaf(slot);
        Account {
            obligation: job.obligation,
            members: job.members.clone(),
            result,
            fixpoint: size,
            block: self.slots.iter().filter_map(leaf).collect(),
            marking: self.marking,
            rounds: self.rounds,
            time: self.start.elapsed(),
        }
    }

    /// Decides it: at first with a part of the work, then all leaves at once if they are few states, then with all of the
    /// work. See the module head.
    pub(super) fn decide(&mut self, job: &Job) -> Result<Answer, Trouble> {
        self.slots = job.block.clone();
        if !job.frame.is_suspicious() {
            return Ok(Answer::Holds);
        }
        if self.options.marking && job.frame.observer.is_none() {
            self.marking = marking::proves(&job.frame, self.stop)?;
            if self.marking.is_some() {
                return Ok(Answer::Holds);
            }
        }
        match self.refine(job, Ticks::of(self.options.limit / FIRST)) {
            Err(Trouble::TooLarge) => {}
            ended => return ended,
        }
        let part = std::mem::replace(&mut self.slots, job.frame.slots().collect());
        match self.refine(job, Ticks::of(self.options.limit)) {
            Err(Trouble::TooLarge) => {}
            ended => return ended,
        }
        (self.slots, self.too_many) = (part, true);
        self.refine(job, Ticks::of(self.options.limit))
    }

    /// Rounds, until it is decided or no ticks are left.
    fn refine(&mut self, job: &Job, mut ticks: Ticks) -> Result<Answer, Trouble> {
        loop {
            let block = Block::new(&job.frame, &self.slots);
            let searched = self.search(&block, ticks)?;
            self.spent += searched.states;
            ticks.pay(searched.cost());
            (self.progress)(searched.states);
            let length = searched.path.as_ref().map(|path| path.len() as u64);
            let mut round = Round {
                leaves: leaves(&block),
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
            let next = self.next(job, &block, &path, &mut ticks, &mut round)?;
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

    /// Explores a block. All leaves at once get no more than a part of the states that are left, and only one chance: what they
    /// cost is what the search costs that the obligation would be handed over to.
    fn search(&mut self, block: &Block, ticks: Ticks) -> Result<Searched, Trouble> {
        let left = self.options.limit.saturating_sub(self.spent);
        let whole = block.others().is_empty();
        let states = if whole { left.min(self.options.limit.div_ceil(AT_ONCE)) } else { left };
        if states == 0 || ticks.is_empty() || (whole && self.too_many) {
            return Err(Trouble::TooLarge);
        }
        let searched = block.search(Effort { states, ticks, budget: self.budget, stop: self.stop });
        if whole && matches!(searched, Err(Trouble::TooLarge)) {
            self.too_many = true;
            self.spent += states;
            let (leaves, joined) = (leaves(block), Joined::TooManyAtOnce);
            self.rounds.push(Round { leaves, states, transitions: 0, path: None, runs: 0, joined });
        }
        searched
    }

    fn next(
        &mut self,
        job: &Job,
        block: &Block,
        path: &Path,
        ticks: &mut Ticks,
        round: &mut Round,
    ) -> Result<Next, Trouble> {
        let frame = block.frame;
        let size = |slot: u32| (frame.lts(slot).num_states(), slot);
        let follow = Follow::new(block, path);
        ticks.pay(follow.cost());
        let (distances, cannot) = follow.distances();
        if let Some(slot) = cannot.into_iter().min_by_key(|&slot| size(slot)) {
            return Ok(Next::Join(Joined::CannotFollow, vec![slot]));
        }
        self.stop.check()?;
        if let Some((first, second)) = self.pairs(ticks, |share| follow.pair(None, share)) {
            return Ok(Next::Join(Joined::PairCannotFollow, vec![first, second]));
        }
        if let Some(parts) = self.split(job, block, path, ticks) {
            return Ok(Next::Split(parts));
        }
        let mut blockers = Vec::new();
        if let Some(distances) = &distances {
            let tries = self.tries.min(self.options.tries.div_ceil(SHARE));
            let mut share = ticks.share(SHARE);
            let made = Concrete::new(block, path, distances).make(self.net, tries, &mut share, self.stop)?;
            ticks.back(share);
            match made {
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

    /// Looks for pairs with a part of the ticks.
    fn pairs<T>(&mut self, ticks: &mut Ticks, look: impl FnOnce(&mut Ticks) -> T) -> T {
        let mut share = ticks.share(SHARE);
        let before = share.left();
        let mut used = share.at_most(self.pairs.saturating_mul(LABEL));
        let found = look(&mut used);
        share.back(used);
        self.pairs -= ((before - share.left()) / LABEL).min(self.pairs);
        ticks.back(share);
        found
    }

    /// An edge of the observer that is worth to be taken by one member at a time.
    fn split(&mut self, job: &Job, block: &Block, path: &Path, ticks: &mut Ticks) -> Option<Vec<Taken>> {
        let fits = |edge: &split::Edge| job.siblings * edge.members.len() <= MOST_MEMBERS;
        let edges: Vec<_> = split::edges(block, path).into_iter().filter(fits).collect();
        let edge = self.pairs(ticks, |share| edges.iter().find(|edge| edge.pays(block, path, share)))?;
        Some(edge.taken())
    }
}

/// The leaves of a block.
fn leaves(block: &Block) -> u64 {
    block.slots.iter().filter(|&&slot| block.frame.leaf(slot).is_some()).count() as u64
}

/// The leaf outside that shares most syncs with the block, or with any leaf if none shares one with the block.
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
