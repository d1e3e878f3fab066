//! The guided search position by position.
//!
//! The states of a position are those reachable while the subsystem stands there; they are closed under free moves before the
//! next position begins, and then forgotten: where the guide is acyclic they cannot come back. Everything behind the path is
//! one more position, in which the subsystem moves. Invariant: states are numbered within their position in an order that
//! depends on the job only, so a second search finds them under the same numbers.

use super::Observer;
use super::ahead::Ahead;
use super::outgoing::Outgoing;
use super::search::{Followed, GuidedSearch, Possible, Where};
use crate::job::{Feedback, JobEnd};
use crate::states::{Origin, States};
use crate::stop::Stop;
use gridlock_lts::base::error::Result;
use gridlock_lts::base::hash::Map;
use gridlock_lts::base::memory::{Budget, Exhausted};
use gridlock_lts::engine::look;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::guide::StateIx;

/// A violation and the state in which it was found.
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

/// Searches until there is a finding.
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

    /// Searches until all is done, there is a finding, or the wanted state is known.
    pub(super) fn search(&mut self, observer: Observer) -> Result<Option<Found>, Stop> {
        let behind = self.search.path.len() as u32 + 1;
        let mut free = self.states(behind);
        let mut ahead = Ahead::new(self.search.helpers);
        let mut current = self.states(0);
        current.insert(&self.search.system.initial(), || Origin { position: 0, index: 0, vector: 0 })?;
        for position in 0..behind {
            let mut next = self.states(position + 1);
            let found = {
                let sets = Sets { position, current: &mut current, next: &mut next, free: &mut free };
                self.position(sets, &mut ahead, observer)?
            };
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
        let found = self.behind(behind, &mut free, &mut ahead, observer)?;
        self.done_with(behind, free);
        Ok(found)
    }

    /// Visits all states of a position of the path.
    fn position(
        &mut self,
        mut sets: Sets<'_, 'b>,
        ahead: &mut Ahead<Followed>,
        observer: Observer,
    ) -> Result<Option<Found>, Stop> {
        let (search, position) = (self.search, sets.position);
        let at = Where::On(position);
        let place = search.place(at);
        let mut possible = Possible::new(place.as_ref().map_or(0..0, |p| search.guide.edges_of(p.state())));
        let mut index = 0;
        ahead.forget();
        while index < sets.current.len() {
            if self.is_known(position, sets.current) {
                return Ok(None);
            }
            if let Some(next) = ahead.next(search, index..sets.current.len(), &self.feedback.effort) {
                let (sets, possible, bounded) = (&sets, &possible, self.feedback.bounded);
                ahead.look(search, next, &|index| sets.current.get(index), &|state, target, vector| {
                    let step = search.follow(at, place.as_ref(), state, target, vector);
                    let (hash, known) = sets.look_up(step.to, target);
                    let told =
                        step.edge.is_none_or(|edge| possible.is_marked(edge)) && (bounded || !step.bounded);
                    (!known || !told).then_some((step, hash))
                })?;
            }
            self.state.clear();
            self.state.extend_from_slice(sets.current.get(index));
            observer(&self.state);
            let outlook = ahead.of(index);
            let wrong = match &outlook {
                Some(outlook) => search.expand_known(outlook, &mut self.feedback.effort)?,
                None => search.expand(&self.state, &mut self.steps, &mut self.feedback.effort)?,
            };
            if let Some(wrong) = wrong {
                return Ok(Some(Found { at: Spot { position, index: index as u32 }, wrong }));
            }
            let mut tell = |step: Followed| {
                step.edge.inspect(|&edge| possible.mark(edge));
                self.feedback.bounded |= step.bounded;
            };
            match outlook {
                Some(outlook) => {
                    for (step, vector, hash, target) in outlook.steps() {
                        tell(step);
                        sets.put(
                            step.to,
                            target,
                            Some(hash),
                            Origin { position, index: index as u32, vector },
                        )?;
                    }
                }
                None => {
                    for (target, via) in self.steps.iter() {
                        let step = search.follow(at, place.as_ref(), &self.state, target, via.vector());
                        tell(step);
                        let vector = via.vector().0;
                        sets.put(step.to, target, None, Origin { position, index: index as u32, vector })?;
                    }
                }
            }
            index += 1;
        }
        self.feedback.possible.push(possible.edges());
        Ok(None)
    }

    /// Visits the states behind the path.
    fn behind(
        &mut self,
        position: u32,
        free: &mut States<'b>,
        ahead: &mut Ahead<Followed>,
        observer: Observer,
    ) -> Result<Option<Found>, Stop> {
        let search = self.search;
        let words = search.system.width().words();
        let mut places = Outgoings::default();
        let mut index = 0;
        ahead.forget();
        while index < free.len() && !self.is_known(position, free) {
            if let Some(next) = ahead.next(search, index..free.len(), &self.feedback.effort) {
                for index in next.clone() {
                    places.at(search, &free.get(index)[words..]);
                }
                let (free, places, bounded) = (&*free, &places, self.feedback.bounded);
                ahead.look(search, next, &|index| free.get(index), &|state, target, vector| {
                    let (at, place) = places.known(&state[words..]);
                    let step = search.follow(at, place, &state[..words], target, vector);
                    let (hash, known) = look_up(free, step.to, target);
                    (!known || (step.bounded && !bounded)).then_some((step, hash))
                })?;
            }
            self.state.clear();
            self.state.extend_from_slice(free.get(index));
            let (state, place) = self.state.split_at(words);
            observer(state);
            let outlook = ahead.of(index);
            let wrong = match &outlook {
                Some(outlook) => search.expand_known(outlook, &mut self.feedback.effort)?,
                None => search.expand(state, &mut self.steps, &mut self.feedback.effort)?,
            };
            if let Some(wrong) = wrong {
                return Ok(Some(Found { at: Spot { position, index: index as u32 }, wrong }));
            }
            match outlook {
                Some(outlook) => {
                    for (step, vector, hash, target) in outlook.steps() {
                        self.feedback.bounded |= step.bounded;
                        let origin = Origin { position, index: index as u32, vector };
                        put(free, step.to, target, Some(hash), origin)?;
                    }
                }
                None => {
                    let (at, place) = places.at(search, place);
                    for (target, via) in self.steps.iter() {
                        let step = search.follow(at, place, state, target, via.vector());
                        self.feedback.bounded |= step.bounded;
                        let origin = Origin { position, index: index as u32, vector: via.vector().0 };
                        put(free, step.to, target, None, origin)?;
                    }
                }
            }
            index += 1;
        }
        Ok(None)
    }
}

/// The sets that take the targets of a position of the path.
struct Sets<'x, 'b> {
    position: u32,
    current: &'x mut States<'b>,
    /// The states of the next position.
    next: &'x mut States<'b>,
    /// The states behind the path.
    free: &'x mut States<'b>,
}

impl Sets<'_, '_> {
    /// The hash of a target in its set, and whether the set contains it. A step that is not taken brings nothing new.
    fn look_up(&self, to: Option<Where>, target: &[u64]) -> (u64, bool) {
        match to {
            Some(Where::On(to)) if to == self.position => self.current.look_up(target),
            Some(Where::On(_)) => self.next.look_up(target),
            to => look_up(self.free, to, target),
        }
    }

    /// Adds a target to its set.
    #[inline(always)]
    fn put(
        &mut self,
        to: Option<Where>,
        target: &[u64],
        hash: Option<u64>,
        origin: Origin,
    ) -> Result<(), Exhausted> {
        match to {
            Some(Where::On(to)) if to == self.position => insert(self.current, target, hash, origin),
            Some(Where::On(_)) => insert(self.next, target, hash, origin),
            to => put(self.free, to, target, hash, origin),
        }
    }
}

/// The hash of a target behind the path, and whether it is known.
fn look_up(free: &States, to: Option<Where>, target: &[u64]) -> (u64, bool) {
    match to {
        Some(Where::Within(place)) => free.look_up(&with_place(target, place)),
        Some(_) => free.look_up(target),
        None => (0, true),
    }
}

/// Adds a target to the states behind the path.
#[inline(always)]
fn put(
    free: &mut States,
    to: Option<Where>,
    target: &[u64],
    hash: Option<u64>,
    origin: Origin,
) -> Result<(), Exhausted> {
    match to {
        Some(Where::Within(place)) => insert(free, &with_place(target, place), hash, origin),
        Some(_) => insert(free, target, hash, origin),
        None => Ok(()),
    }
}

#[inline(always)]
fn insert(states: &mut States, state: &[u64], hash: Option<u64>, origin: Origin) -> Result<(), Exhausted> {
    match hash {
        Some(hash) => states.insert_hashed(hash, state, || origin)?,
        None => states.insert(state, || origin)?,
    };
    Ok(())
}

/// The edges of the places behind the path, made when they are first needed.
#[derive(Default)]
struct Outgoings(Map<StateIx, Option<Outgoing>>);

impl Outgoings {
    /// Where the subsystem is, from the words behind a packed state.
    fn is_at(place: &[u64]) -> Where {
        place.first().map_or(Where::Anywhere, |&place| Where::Within(StateIx(place as u32)))
    }

    fn at<S: Successors>(&mut self, search: &GuidedSearch<S>, place: &[u64]) -> (Where, Option<&Outgoing>) {
        match Outgoings::is_at(place) {
            at @ Where::Within(state) => {
                (at, self.0.entry(state).or_insert_with(|| search.place(at)).as_ref())
            }
            at => (at, None),
        }
    }

    /// The same for a place that was asked for before.
    fn known(&self, place: &[u64]) -> (Where, Option<&Outgoing>) {
        match Outgoings::is_at(place) {
            at @ Where::Within(state) => (at, self.0.get(&state).and_then(Option::as_ref)),
            at => (at, None),
        }
    }
}

/// A state with the place of the subsystem behind it.
fn with_place(state: &[u64], place: StateIx) -> Vec<u64> {
    [state, &[u64::from(place.0)]].concat()
}
