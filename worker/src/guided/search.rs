//! What all orders of a guided search share: the question, and the check of a state and its steps.

use super::ahead::Outlook;
use super::irrelevant::Irrelevant;
use super::mutants::{self, Mutant};
use super::outgoing::{Move, Outgoing};
use crate::helpers::Helpers;
use crate::job::{Effort, Feedback, Job, JobEnd, Left, Then};
use crate::life::Life;
use crate::stop::Stop;
use gridlock_lts::engine::look::{self, Found};
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::guide::{EdgeIx, Guide, StateIx};
use gridlock_lts::model::network::VectorIx;

/// A guided search to be done.
pub(super) struct GuidedSearch<'s, S> {
    pub(super) system: &'s S,
    pub(super) guide: &'s Guide,
    pub(super) path: &'s [EdgeIx],
    /// Whether the subsystem moves without regard to the guide once it has followed the path.
    pub(super) anywhere: bool,
    pub(super) irrelevant: &'s Irrelevant,
    pub(super) job: &'s Job,
    pub(super) life: &'s Life,
    /// The threads that help with the job.
    pub(super) helpers: Option<&'s Helpers>,
}

/// Whether the subsystem moves without regard to the guide once it has followed the path of a job. The other way to move
/// freely is within the guide. One that was made for a prefix of another (`nested`) must not be left: beyond it other jobs
/// are at work. One whose cycles were cut must not be left either: in a system with cycles every job would be as large as the
/// whole system. Only the job without a path tries everything.
pub(super) fn moves_anywhere(guide: &Guide, nested: bool, job: &Job) -> bool {
    job.then == Then::Free && !nested && (job.path.is_empty() || !guide.is_bounded())
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

impl<S: Successors> GuidedSearch<'_, S> {
    /// The edges of the guide where the subsystem is; `None` if the guide does not matter there.
    pub(super) fn place(&self, at: Where) -> Option<Outgoing> {
        let state = match at {
            Where::On(position) => self.guide.end(&self.path[..position as usize]),
            Where::Anywhere => return None,
            Where::Within(state) => state,
        };
        Some(Outgoing::new(self.guide, self.system.packing(), state))
    }

    /// What a step is to this search. `place` is where the subsystem is.
    #[inline]
    pub(super) fn follow(
        &self,
        at: Where,
        place: Option<&Outgoing>,
        from: &[u64],
        to: &[u64],
        vector: VectorIx,
    ) -> Followed {
        let passed_over = Followed { edge: None, to: None, bounded: false };
        if self.irrelevant.contains(to) {
            return passed_over;
        }
        let stay = Followed { edge: None, to: Some(at), bounded: false };
        let Some(place) = place else { return stay };
        let e = match place.classify(self.guide, from, to, vector) {
            Move::Free => return stay,
            Move::Elsewhere => return passed_over,
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
            end: JobEnd::Complete,
            possible: Vec::new(),
            bounded: false,
            effort: Effort::default(),
            seen: Vec::new(),
            left: Left::default(),
            positions: Vec::new(),
        }
    }

    /// Replaces `steps` by those of a state, faults left out, and returns the violation in the state or its steps: of several
    /// the one that an exhaustive search prefers. Checks the limits first.
    pub(super) fn expand(
        &self,
        state: &[u64],
        steps: &mut Steps,
        effort: &mut Effort,
    ) -> Result<Option<Found>, Stop> {
        self.admit(effort)?;
        steps.clear();
        self.system.expand(state, steps)?;
        Ok(look_at(self.system, state, steps, effort))
    }

    /// The same for a state whose steps are known: counts it, and returns the violation in it or in them.
    pub(super) fn expand_known<T>(
        &self,
        outlook: &Outlook<'_, T>,
        effort: &mut Effort,
    ) -> Result<Option<Found>, Stop> {
        if !mutants::is(Mutant::Limit) {
            self.admit(effort)?;
        }
        outlook.count(effort)?;
        Ok(outlook.wrong.clone())
    }

    /// Whether the limits allow one more state.
    #[inline]
    fn admit(&self, effort: &Effort) -> Result<(), Stop> {
        if effort.states >= self.job.limits.states {
            return Err(Stop::OverBudget);
        }
        if effort.states.is_multiple_of(1_024) && self.life.is_cancelled() {
            return Err(Stop::Interrupted);
        }
        Ok(())
    }
}

/// Returns the violation in a state or its steps, and removes faults from the steps; counts the state, its steps and deadlocks.
pub(crate) fn look_at<S: Successors>(
    system: &S,
    state: &[u64],
    steps: &mut Steps,
    effort: &mut Effort,
) -> Option<Found> {
    effort.states += 1;
    let wrong = if steps.is_empty() {
        let end = system.dead_end(state);
        effort.deadlocks += u64::from(end.is_deadlock());
        end.found(state)
    } else if steps.any_marked() {
        let ends = [steps.len()];
        look::first(system, state, &ends, steps).found
    } else {
        None
    };
    effort.transitions += steps.len() as u64;
    wrong
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

    pub(super) fn is_marked(&self, edge: EdgeIx) -> bool {
        self.seen[(edge.0 - self.first) as usize]
    }

    /// The edges, ascending.
    pub(super) fn edges(&self) -> Vec<u32> {
        let seen = self.seen.iter().enumerate().filter(|(_, seen)| **seen);
        seen.map(|(k, _)| self.first + k as u32).collect()
    }
}
