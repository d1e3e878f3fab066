//! What both orders of a guided search share: the question, and the look at a state's steps.

use super::place::{Move, Place};
use crate::job::{Effort, End, Feedback, Job, Then, What};
use crate::life::Life;
use gridlock_lts::base::memory::Exhausted;
use gridlock_lts::engine::search;
use gridlock_lts::engine::successors::{Steps, Successors, Via};
use gridlock_lts::guide::{EdgeIx, Guide, StateIx};
use gridlock_lts::model::network::VectorIx;

/// A guided search to be done.
pub(super) struct Search<'s, S> {
    pub(super) system: &'s S,
    pub(super) deadlock: Option<usize>,
    pub(super) guide: &'s Guide,
    pub(super) path: &'s [EdgeIx],
    /// Whether the subsystem moves without regard to the guide once it has followed the path.
    pub(super) anywhere: bool,
    pub(super) job: &'s Job,
    pub(super) life: &'s Life,
}

/// Whether the subsystem moves without regard to the guide once it has followed the path of a job. The other way to move
/// freely is within the guide. One that was made for a prefix of another (`nested`) must not be left: beyond it other
/// jobs are at work. One whose cycles were cut must not be left either, or a job would be as large as the whole system
/// wherever that goes round; only the job without a path tries everything.
pub(super) fn moves_anywhere(guide: &Guide, nested: bool, job: &Job) -> bool {
    job.then == Then::Free && !nested && (job.path.is_empty() || !guide.is_bounded())
}

/// Why a search ends before it is through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    OverBudget,
    Interrupted,
    Failed(String),
}

impl From<Exhausted> for Stop {
    fn from(_: Exhausted) -> Self {
        Stop::OverBudget
    }
}

impl Stop {
    /// The end of a job that was stopped; an error if it failed.
    pub(super) fn end(self) -> Result<End, String> {
        match self {
            Stop::OverBudget => Ok(End::OverBudget),
            Stop::Interrupted => Ok(End::Interrupted),
            Stop::Failed(message) => Err(message),
        }
    }
}

/// Where the subsystem is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Where {
    /// At this position of the path.
    On(u32),
    /// Behind the path, free to move without regard to the guide.
    Anywhere,
    /// Behind the path, free to move within the guide: now in this state of it.
    Within(StateIx),
}

/// What a step is to a guided search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Followed {
    /// The edge of the guide that the subsystem would go along.
    pub(super) edge: Option<EdgeIx>,
    /// Where the subsystem then is; `None` if the search does not take the step.
    pub(super) to: Option<Where>,
    /// Whether the step is not taken only because cycles are bounded.
    pub(super) bounded: bool,
}

/// What is wrong in a state: the finding, and the step if it is one.
pub(super) type Wrong = (What, Option<(Via, Vec<u64>)>);

impl<S: Successors> Search<'_, S> {
    /// The edges of the guide where the subsystem is; `None` if the guide does not matter there.
    pub(super) fn place(&self, at: Where) -> Option<Place> {
        let state = match at {
            Where::On(position) => self.guide.end(&self.path[..position as usize]),
            Where::Anywhere => return None,
            Where::Within(state) => state,
        };
        Some(Place::new(self.guide, self.system.packing(), state))
    }

    /// What a step is to this search. `place` is where the subsystem is.
    #[inline]
    pub(super) fn follow(
        &self,
        at: Where,
        place: Option<&Place>,
        from: &[u64],
        to: &[u64],
        vector: VectorIx,
    ) -> Followed {
        let stay = Followed { edge: None, to: Some(at), bounded: false };
        let Some(place) = place else { return stay };
        let e = match place.classify(self.guide, from, to, vector) {
            Move::Free => return stay,
            Move::Elsewhere => return Followed { edge: None, to: None, bounded: false },
            Move::Along(e) => e,
        };
        let edge = self.guide.edge(e);
        let wanted = match at {
            Where::On(position) => self.path.get(position as usize).copied(),
            Where::Anywhere | Where::Within(_) => None,
        };
        let to = match at {
            Where::On(position) if wanted == Some(e) => Some(Where::On(position + 1)),
            _ if self.anywhere && wanted.is_none() => Some(Where::Anywhere),
            _ if wanted.is_none() && !edge.cut && self.job.then == Then::Free => {
                Some(Where::Within(edge.target))
            }
            _ => None,
        };
        Followed { edge: Some(e), to, bounded: edge.cut && to.is_none() }
    }

    /// The state of a search before it begins.
    pub(super) fn feedback(&self) -> Feedback {
        Feedback {
            number: self.job.number,
            end: End::Complete,
            possible: Vec::new(),
            bounded: false,
            effort: Effort::default(),
            seen: Vec::new(),
        }
    }

    /// Replaces `steps` by those of a state, faults left out, and says what is wrong with the state or its steps: of
    /// several things the one an exhaustive search prefers. Looks at the limits before.
    pub(super) fn expand(
        &self,
        state: &[u64],
        steps: &mut Steps,
        effort: &mut Effort,
    ) -> Result<Option<Wrong>, Stop> {
        if effort.states >= self.job.limits.states {
            return Err(Stop::OverBudget);
        }
        if effort.states.is_multiple_of(1_024) && self.life.is_cancelled() {
            return Err(Stop::Interrupted);
        }
        steps.clear();
        self.system.expand(state, steps).map_err(Stop::Failed)?;
        effort.states += 1;
        let wrong = self.look_at(steps, effort);
        effort.transitions += steps.len() as u64;
        Ok(wrong)
    }

    fn look_at(&self, steps: &mut Steps, effort: &mut Effort) -> Option<Wrong> {
        if steps.is_empty() {
            effort.deadlocks += 1;
            return self.deadlock.map(|property| (What::from(search::What::Deadlock(property)), None));
        }
        if !steps.vias().iter().any(|via| via.is_marked()) {
            return None;
        }
        let marked = (0..steps.len()).filter(|&k| steps.vias()[k].is_marked());
        let found = |k: usize| {
            let (via, target) = (steps.vias()[k], steps.target(k));
            Some((search::What::from(self.system.finding(target, via)?), via, target.to_vec(), k))
        };
        let all: Vec<_> = marked.filter_map(found).collect();
        let faults = all.iter().rev().filter(|(what, ..)| matches!(what, search::What::Fault(_)));
        for k in faults.map(|(.., k)| *k) {
            steps.remove(k);
        }
        let least = all.into_iter().min_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
        least.map(|(what, via, target, _)| (what.into(), Some((via, target))))
    }
}

impl From<search::What> for What {
    fn from(what: search::What) -> Self {
        match what {
            search::What::Fault(fault) => What::Fault(fault),
            search::What::Deadlock(property) => What::Deadlock(property as u32),
            search::What::Property(property) => What::Property(property as u32),
        }
    }
}

impl From<What> for search::What {
    fn from(what: What) -> Self {
        match what {
            What::Fault(fault) => search::What::Fault(fault),
            What::Deadlock(property) => search::What::Deadlock(property as usize),
            What::Property(property) => search::What::Property(property as usize),
        }
    }
}

/// The edges of one state of a guide that were possible.
pub(super) struct Possible {
    first: u32,
    seen: Vec<bool>,
}

impl Possible {
    pub(super) fn new(edges: std::ops::Range<u32>) -> Self {
        Possible { first: edges.start, seen: vec![false; edges.len()] }
    }

    pub(super) fn mark(&mut self, edge: EdgeIx) {
        self.seen[(edge.0 - self.first) as usize] = true;
    }

    /// The edges, ascending.
    pub(super) fn edges(&self) -> Vec<u32> {
        let seen = self.seen.iter().enumerate().filter(|(_, seen)| **seen);
        seen.map(|(k, _)| self.first + k as u32).collect()
    }
}
