//! Obligations as values, so that others may decide them: threads, other processes, or a run that is resumed.
//!
//! A [`Task`] says which obligation it is, by which members edges of the observer are taken, and which block to begin with.
//! What it is decided on ([`Frame`]) follows from that and the network, so it is made where it is needed. Invariant: what
//! comes of a task depends on nothing else, as long as the memory suffices.

use super::frame::{Frame, Size};
use super::refine::{Answer, Job, Refinement};
use super::split::Taken;
use super::{Account, Fate, Options, Why, has_faults, mutants};
use crate::base::error::{Error, Limit, Result};
use crate::base::memory::Budget;
use crate::engine::parts::{Obligation, Stop, Trouble, obligations, replayed};
use crate::engine::search::Verdict;
use crate::model::network::Network;
use crate::model::trace::Trace;
use crate::property::Property;
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// An obligation, or a part of one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The number of the obligation.
    pub(super) obligation: u32,
    /// The splits that led to it, outermost first.
    pub(super) splits: Vec<Taken>,
    /// The slots to begin with, besides the observer.
    pub(super) block: Vec<u32>,
}

impl Task {
    pub(super) fn whole(obligation: u32) -> Self {
        Task { obligation, splits: Vec::new(), block: Vec::new() }
    }
}

/// The result of a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// The account of the work.
    pub account: Account,
    /// How it ended.
    pub end: TaskEnd,
}

/// How a task ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TaskEnd {
    /// It holds.
    Holds,
    /// This run, which was replayed, shows that it does not.
    Run(Trace),
    /// It holds if all of these do.
    Split(Vec<Task>),
    /// Its blocks have more states than the limit.
    TooLarge,
    /// The memory does not suffice.
    Memory,
    /// It was asked to stop.
    Stopped,
    /// An internal error.
    Failed(String),
}

/// What tasks are about: a network whose tables are complete and its properties, among which there must be no formula.
pub struct Setting<N, P> {
    net: N,
    properties: P,
    obligations: Vec<Obligation>,
    /// What each obligation is decided on; nothing if there is no room for it.
    frames: Vec<OnceLock<Option<Arc<Frame>>>>,
    budget: Arc<Budget>,
}

impl<N: Deref<Target = Network>, P: Deref<Target = [Property]>> Setting<N, P> {
    /// The setting of a search; its frames and blocks may take `max_memory` bytes.
    pub fn new(net: N, properties: P, max_memory: u64) -> Result<Self> {
        if properties.iter().any(|property| matches!(property, Property::Formula(_))) {
            return Err(Error::internal("a local search does not decide formulas"));
        }
        let drop_faults = mutants::is(mutants::Mutant::DropFaults);
        let mut obligations = obligations(has_faults(&net), &properties);
        obligations.retain(|obligation| *obligation != Obligation::Faults || !drop_faults);
        let frames = obligations.iter().map(|_| OnceLock::new()).collect();
        let budget = Arc::new(Budget::new(max_memory));
        Ok(Setting { net, properties, obligations, frames, budget })
    }

    /// How many obligations there are.
    pub fn obligations(&self) -> u32 {
        self.obligations.len() as u32
    }

    /// The most bytes in use at a time.
    pub fn peak_memory(&self) -> u64 {
        self.budget.peak()
    }

    /// The verdict that a run shows about an obligation, after it was replayed.
    pub fn verdict(&self, obligation: u32, trace: Trace) -> Result<Verdict> {
        let unknown = || Error::internal("a run about no obligation");
        let obligation = *self.obligations.get(obligation as usize).ok_or_else(unknown)?;
        replayed(&self.net, &self.properties, obligation, trace).map_err(|trouble| match trouble {
            Trouble::Internal(error) => error,
            _ => Error::internal("a run that does not replay"),
        })
    }

    /// Decides a task. `stop` says whether and why to stop, `progress` is called with the states of blocks as they are
    /// explored.
    pub fn decide(
        &self,
        task: &Task,
        options: &Options,
        stop: &(dyn Fn() -> Option<Limit> + Sync),
        progress: &dyn Fn(u64),
    ) -> Answered {
        let Some(&obligation) = self.obligations.get(task.obligation as usize) else {
            return self
                .nothing(Obligation::Faults, TaskEnd::Failed("a task about no obligation".to_owned()));
        };
        let job = match self.job(task, obligation) {
            Ok(Some(job)) => job,
            Ok(None) => return self.nothing(obligation, TaskEnd::Memory),
            Err(why) => return self.nothing(obligation, TaskEnd::Failed(why)),
        };
        let stop = Stop(stop);
        let on = (&*self.net, &*self.properties);
        let mut refinement = Refinement::new(on, options, &self.budget, &stop, progress);
        let end = match refinement.decide(&job) {
            Ok(Answer::Holds) => TaskEnd::Holds,
            Ok(Answer::Run(trace)) => TaskEnd::Run(trace),
            Ok(Answer::Split(parts)) => {
                let part = |taken: Taken| Task {
                    obligation: task.obligation,
                    splits: task.splits.iter().copied().chain([taken]).collect(),
                    block: refinement.slots.clone(),
                };
                TaskEnd::Split(parts.into_iter().map(part).collect())
            }
            Err(Trouble::TooLarge) => TaskEnd::TooLarge,
            Err(Trouble::Memory) => TaskEnd::Memory,
            Err(Trouble::Stopped(_)) => TaskEnd::Stopped,
            Err(Trouble::Internal(error)) => TaskEnd::Failed(error.to_string()),
        };
        let account = refinement.account(&job, fate(&end, options.limit));
        Answered { account, end }
    }

    fn nothing(&self, obligation: Obligation, end: TaskEnd) -> Answered {
        let (fixpoint, members, block, rounds) = (Size::default(), Vec::new(), Vec::new(), Vec::new());
        let marking = None;
        let (result, time) = (fate(&end, 0), Duration::ZERO);
        Answered {
            account: Account { obligation, members, result, fixpoint, block, marking, rounds, time },
            end,
        }
    }

    /// What a task is decided on; nothing if there is no room for it.
    fn job(&self, task: &Task, obligation: Obligation) -> Result<Option<Job>, String> {
        let asked = obligation.asked(&self.properties);
        let make = || Frame::new(&self.net, asked, &self.budget).ok().map(Arc::new);
        let Some(whole) = self.frames[task.obligation as usize].get_or_init(make) else { return Ok(None) };
        let (mut frame, mut members, mut siblings) = (whole.clone(), Vec::new(), 1usize);
        for taken in &task.splits {
            members.extend(frame.leaf(taken.member));
            let (of_member, of) = taken.frame(&frame).ok_or("an edge that is none")?;
            siblings = siblings.saturating_mul(of);
            frame = Arc::new(of_member);
        }
        // Leaves that no longer matter are gone.
        let there: Vec<u32> = frame.slots().collect();
        let mut block: Vec<u32> = task.block.iter().chain(&frame.observer).copied().collect();
        block.sort_unstable();
        block.dedup();
        block.retain(|slot| there.contains(slot));
        Ok(Some(Job { obligation, frame, members, siblings, block }))
    }
}

/// What became of it, for accounts.
fn fate(end: &TaskEnd, limit: u64) -> Fate {
    match end {
        TaskEnd::Holds => Fate::Holds,
        TaskEnd::Run(_) => Fate::Violated,
        TaskEnd::Split(parts) => Fate::Split(parts.len()),
        TaskEnd::TooLarge => Fate::Left(Why::Limit(limit)),
        TaskEnd::Memory => Fate::Left(Why::Memory),
        TaskEnd::Stopped | TaskEnd::Failed(_) => Fate::Left(Why::Stopped),
    }
}
