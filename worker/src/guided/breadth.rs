//! The guided search position by position.
//!
//! The states of a position are those reachable while the subsystem stands there; they are closed under free moves before
//! the next position begins, and then forgotten: where the guide is acyclic they cannot come back. What lies behind the
//! path is one more position, in which the subsystem moves. Invariant: states are numbered within their position in an
//! order that depends on the job only, so a second search finds them under the same numbers.

use super::Observer;
use super::outgoing::Outgoing;
use super::search::{GuidedSearch, Possible, Where};
use crate::job::{Feedback, JobEnd};
use crate::states::{Origin, States};
use crate::stop::Stop;
use gridlock_lts::base::error::Result;
use gridlock_lts::base::hash::Map;
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::look;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::guide::StateIx;

/// Where something was found.
pub(super) struct Found {
    pub(super) at: Spot,
    pub(super) wrong: look::Found,
}

/// A state by its position and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spot {
    pub(super) position: u32,
    pub(super) index: u32,
}

/// Which positions are kept, with the origins of their states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    Nothing,
    All,
    Only(u32),
}

impl Keep {
    fn keeps(self, position: u32) -> bool {
        match self {
            Keep::Nothing => false,
            Keep::All => true,
            Keep::Only(kept) => position == kept,
        }
    }
}

/// Searches, until something is found.
pub(super) fn run<S: Successors>(
    search: &GuidedSearch<S>,
    budget: &Budget,
    observer: Observer,
) -> Result<(Feedback, Option<Found>)> {
    let mut layers = Layers::new(search, budget, Keep::Nothing, None);
    let outcome = layers.search(observer);
    let mut feedback = layers.feedback;
    feedback.effort.memory = budget.peak();
    match outcome {
        Ok(found) => Ok((feedback, found)),
        Err(stop) => {
            feedback.end = JobEnd::of(stop)?;
            Ok((feedback, None))
        }
    }
}

/// A search under way.
pub(super) struct Layers<'s, 'b, S> {
    search: &'s GuidedSearch<'s, S>,
    budget: &'b Budget,
    keep: Keep,
    /// The search ends once this state is known.
    until: Option<Spot>,
    feedback: Feedback,
    steps: Steps,
    /// The state that is expanded.
    state: Vec<u64>,
    /// The positions that are kept.
    pub(super) kept: Vec<(u32, States<'b>)>,
}

impl<'s, 'b, S: Successors> Layers<'s, 'b, S> {
    pub(super) fn new(
        search: &'s GuidedSearch<'s, S>,
        budget: &'b Budget,
        keep: Keep,
        until: Option<Spot>,
    ) -> Self {
        Layers {
            search,
            budget,
            keep,
            until,
            feedback: search.feedback(),
            steps: Steps::new(search.system.width().words()),
            state: Vec::new(),
            kept: Vec::new(),
        }
    }

    fn states(&self, position: u32) -> States<'b> {
        let words = self.search.system.width().words();
        // Where the subsystem moves within the guide, states come with its place there.
        let place = usize::from(self.is_behind(position) && !self.search.anywhere);
        States::new(words + place, self.keep.keeps(position), self.budget)
    }

    /// Whether a position is the one behind the path.
    fn is_behind(&self, position: u32) -> bool {
        position as usize > self.search.path.len()
    }

    fn done_with(&mut self, position: u32, states: States<'b>) {
        let effort = &mut self.feedback.effort;
        effort.widest = effort.widest.max(states.len() as u64);
        if self.keep.keeps(position) {
            self.kept.push((position, states));
        }
    }

    fn is_known(&self, position: u32, states: &States) -> bool {
        self.until.is_some_and(|spot| spot.position == position && states.len() > spot.index as usize)
    }

    /// Searches until all is done, something is found, or the state that is wanted is known.
    pub(super) fn search(&mut self, observer: Observer) -> Result<Option<Found>, Stop> {
        let behind = self.search.path.len() as u32 + 1;
        let mut free = self.states(behind);
        let mut current = self.states(0);
        current.insert(&self.search.system.initial(), || Origin { position: 0, index: 0, vector: 0 })?;
        for position in 0..behind {
            let mut next = self.states(position + 1);
            let found = self.position(position, &mut current, &mut next, &mut free, observer)?;
            let known = self.is_known(position, &current);
            self.done_with(position, current);
            if found.is_some() || known {
                return Ok(found);
            }
            if self.is_known(position + 1, &next) {
                self.done_with(position + 1, next);
                return Ok(None);
            }
            current = next;
            if current.is_empty() {
                break;
            }
        }
        let found = self.behind(behind, &mut free, observer)?;
        self.done_with(behind, free);
        Ok(found)
    }

    /// Visits all states of a position of the path. States of the next one are added to `next`, of the one behind the
    /// path to `free`.
    fn position(
        &mut self,
        position: u32,
        current: &mut States<'b>,
        next: &mut States<'b>,
        free: &mut States<'b>,
        observer: Observer,
    ) -> Result<Option<Found>, Stop> {
        let at = Where::On(position);
        let place = self.search.place(at);
        let mut possible =
            Possible::new(place.as_ref().map_or(0..0, |p| self.search.guide.edges_of(p.state())));
        let mut index = 0;
        while index < current.len() {
            if self.is_known(position, current) {
                return Ok(None);
            }
            self.state.clear();
            self.state.extend_from_slice(current.get(index));
            observer(&self.state);
            if let Some(wrong) =
                self.search.expand(&self.state, &mut self.steps, &mut self.feedback.effort)?
            {
                return Ok(Some(Found { at: Spot { position, index: index as u32 }, wrong }));
            }
            for (target, via) in self.steps.iter() {
                let origin = || Origin { position, index: index as u32, vector: via.vector().0 };
                let step = self.search.follow(at, place.as_ref(), &self.state, target, via.vector());
                step.edge.inspect(|&edge| possible.mark(edge));
                self.feedback.bounded |= step.bounded;
                match step.to {
                    Some(Where::On(to)) if to == position => drop(current.insert(target, origin)?),
                    Some(Where::On(_)) => drop(next.insert(target, origin)?),
                    Some(Where::Anywhere) => drop(free.insert(target, origin)?),
                    Some(Where::Within(place)) => drop(free.insert(&with_place(target, place), origin)?),
                    None => {}
                }
            }
            index += 1;
        }
        self.feedback.possible.push(possible.edges());
        Ok(None)
    }

    /// Visits what lies behind the path.
    fn behind(
        &mut self,
        position: u32,
        free: &mut States<'b>,
        observer: Observer,
    ) -> Result<Option<Found>, Stop> {
        let words = self.search.system.width().words();
        let mut places: Map<StateIx, Option<Outgoing>> = Map::default();
        let mut index = 0;
        while index < free.len() && !self.is_known(position, free) {
            self.state.clear();
            self.state.extend_from_slice(free.get(index));
            let (state, place) = self.state.split_at(words);
            observer(state);
            if let Some(wrong) = self.search.expand(state, &mut self.steps, &mut self.feedback.effort)? {
                return Ok(Some(Found { at: Spot { position, index: index as u32 }, wrong }));
            }
            let (at, place) = match place.first() {
                None => (Where::Anywhere, None),
                Some(&place) => {
                    let state = StateIx(place as u32);
                    let at = Where::Within(state);
                    (at, places.entry(state).or_insert_with(|| self.search.place(at)).as_ref())
                }
            };
            for (target, via) in self.steps.iter() {
                let origin = || Origin { position, index: index as u32, vector: via.vector().0 };
                let step = self.search.follow(at, place, state, target, via.vector());
                self.feedback.bounded |= step.bounded;
                match step.to {
                    Some(Where::Within(place)) => drop(free.insert(&with_place(target, place), origin)?),
                    Some(_) => drop(free.insert(target, origin)?),
                    None => {}
                }
            }
            index += 1;
        }
        Ok(None)
    }
}

/// A state with the place of the subsystem behind it.
fn with_place(state: &[u64], place: StateIx) -> Vec<u64> {
    [state, &[u64::from(place.0)]].concat()
}
