//! The search that begins with states which others have handed on, and hands on what it leaves.
//!
//! A state is expanded once at each place of the guide. Places have their turn in an order in which edges lead forwards, so
//! once the turn of a place has begun no other place adds states to it, and it is forgotten after its turn. States at places
//! that other jobs reach as well are not expanded but handed on, and so are all states that are left when the limits are
//! reached: no work is done twice. Invariant: every state that was handed to the job, and every target of a step from an
//! expanded state, unless it is irrelevant, has been expanded or is among the states that the job leaves.

use super::Observer;
use super::ahead::Ahead;
use super::outgoing::{Move, Outgoing};
use super::search::{GuidedSearch, Where};
use crate::job::{Border, Feedback, Finding, Handed, JobEnd, Spot};
use crate::states::{Origin, States};
use crate::stop::Stop;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::hash::Map;
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::look::Found;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::guide::{EdgeIx, StateIx};
use std::collections::BTreeMap;

/// Stands in place of a vector in the origin of a state that was handed to the job.
const HANDED: u32 = u32::MAX;

/// Steps to a state, as vectors and packed targets, and the state that was handed on from which they begin.
pub(super) type Way = (Spot, Vec<(u32, Vec<u64>)>);

/// A search and the states that were handed to it.
pub(super) struct Task<'s, S> {
    pub(super) search: &'s GuidedSearch<'s, S>,
    pub(super) handed: &'s Handed,
    /// The order of places: see [`gridlock_lts::guide::Guide::forwards`].
    pub(super) forwards: &'s [u32],
}

/// Searches until there is a finding. The path to it is rebuilt with `rebuild` as the budget.
pub(super) fn run<S: Successors>(
    task: &Task<S>,
    budget: &Budget,
    rebuild: &Budget,
    observer: Observer,
) -> Result<Feedback> {
    let mut places = Places::new(task, budget, false, None);
    let outcome = places.search(observer);
    let Places { mut feedback, open, shared, expanded, .. } = places;
    feedback.effort.memory = budget.peak();
    feedback.left.words = task.search.system.width().words() as u32;
    match outcome {
        Ok(Some(found)) => {
            let what = found.wrong.what;
            let (from, mut path) = match way(task, &found.at, rebuild) {
                Ok(way) => way,
                Err(Stop::Interrupted) => return Ok(Feedback { end: JobEnd::Interrupted, ..feedback }),
                Err(Stop::OverBudget) => return Err(no_way(rebuild)),
                Err(Stop::Failed(error)) => return Err(error),
            };
            path.extend(found.wrong.step.map(|(vector, target)| (vector.0, target)));
            feedback.end = JobEnd::Found(Finding { what, path });
            feedback.left.from = Some(from);
            return Ok(feedback);
        }
        Ok(None) => {}
        Err(stop) => feedback.end = JobEnd::of(stop)?,
    }
    if feedback.end == JobEnd::Complete || expanded {
        let left = BTreeMap::from_iter(open.into_iter().chain(shared));
        // Where there was no room for the first state, there is none.
        let some = left.into_values().filter(|here| !here.states.is_empty());
        feedback.left.border = some.map(Here::border).collect();
    }
    Ok(feedback)
}

/// The path to a state that the job expands or hands on.
pub(super) fn way<S: Successors>(task: &Task<S>, to: &Spot, budget: &Budget) -> Result<Way, Stop> {
    let mut places = Places::new(task, budget, true, Some(to));
    places.search(&mut |_| {})?;
    places.way().ok_or_else(|| Error::internal("a state was not found again").into())
}

pub(super) fn no_way(budget: &Budget) -> Error {
    Error::Input(format!(
        "a violation was found, but rebuilding the way to it takes more than {} bytes: give jobs more memory",
        budget.limit()
    ))
}

/// States at a place.
struct Here<'b> {
    place: StateIx,
    /// The path by which the subsystem came here first.
    path: Vec<u32>,
    states: States<'b>,
    /// How many states are expanded: the first ones.
    expanded: usize,
}

impl Here<'_> {
    fn border(self) -> Border {
        let states = (0..self.states.len()).flat_map(|index| self.states.get(index)).copied().collect();
        Border { path: self.path, states, expanded: self.expanded as u64 }
    }
}

/// A finding, and the state in which it was found.
struct Hit {
    at: Spot,
    wrong: Found,
}

/// A search under way.
struct Places<'t, 's, 'b, S> {
    task: &'t Task<'s, S>,
    budget: &'b Budget,
    /// Whether all states are kept, with their origins.
    keep: bool,
    /// The search ends once this state is known.
    until: Option<&'t Spot>,
    feedback: Feedback,
    /// Whether a state was expanded.
    expanded: bool,
    /// The places that have states to expand, in the order of their turns.
    open: BTreeMap<u32, Here<'b>>,
    /// Shared places, whose states are handed on.
    shared: BTreeMap<u32, Here<'b>>,
    /// Places that are fully expanded, if they are kept.
    closed: Map<StateIx, Here<'b>>,
    steps: Steps,
    /// The state that is expanded.
    state: Vec<u64>,
}

impl<'t, 's, 'b, S: Successors> Places<'t, 's, 'b, S> {
    fn new(task: &'t Task<'s, S>, budget: &'b Budget, keep: bool, until: Option<&'t Spot>) -> Self {
        Places {
            task,
            budget,
            keep,
            until,
            feedback: task.search.feedback(),
            expanded: false,
            open: BTreeMap::new(),
            shared: BTreeMap::new(),
            closed: Map::default(),
            steps: Steps::new(task.search.system.width().words()),
            state: Vec::new(),
        }
    }

    /// The states at a place. `path` is called if there are none yet.
    fn at(&mut self, place: StateIx, path: impl FnOnce() -> Vec<u32>) -> &mut Here<'b> {
        let shared = self.task.handed.shared.binary_search(&place.0).is_ok();
        let places = if shared { &mut self.shared } else { &mut self.open };
        let (words, keep, budget) = (self.task.search.system.width().words(), self.keep, self.budget);
        places.entry(self.task.forwards[place.0 as usize]).or_insert_with(|| {
            let states = States::new(words, keep, budget);
            Here { place, path: path(), states, expanded: 0 }
        })
    }

    fn load(&mut self) -> Result<(), Stop> {
        let (guide, initial) = (self.task.search.guide, self.task.search.system.initial());
        if self.task.handed.starts.is_empty() {
            let origin = || Origin { position: 0, index: 0, vector: HANDED };
            self.at(StateIx(0), Vec::new).states.insert(&initial, origin)?;
        }
        for start in &self.task.handed.starts {
            let place = start.path.last().map_or(StateIx(0), |&edge| guide.edge(EdgeIx(edge)).target);
            let origin = || Origin { position: place.0, index: 0, vector: HANDED };
            let words = self.task.search.system.width().words();
            let here = self.at(place, || start.path.clone());
            // Two that were handed on for one place: what is expanded of one says nothing about the other.
            let expanded = if here.states.is_empty() { start.expanded as usize } else { 0 };
            for state in start.states.chunks_exact(words) {
                here.states.insert(state, origin)?;
            }
            here.expanded = expanded;
        }
        Ok(())
    }

    fn search(&mut self, observer: Observer) -> Result<Option<Hit>, Stop> {
        self.load()?;
        let mut ahead = Ahead::new(self.task.search.helpers);
        while !self.is_known() {
            let Some((turn, mut here)) = self.open.pop_first() else { break };
            let outcome = self.place(&mut here, &mut ahead, observer);
            let effort = &mut self.feedback.effort;
            effort.widest = effort.widest.max(here.states.len() as u64);
            match outcome {
                Ok(None) if here.expanded == here.states.len() => {
                    if self.keep {
                        self.closed.insert(here.place, here);
                    }
                }
                Ok(None) => drop(self.open.insert(turn, here)),
                other => {
                    self.open.insert(turn, here);
                    return other;
                }
            }
        }
        Ok(None)
    }

    /// Expands the states at a place, until all are expanded or the wanted state is known.
    fn place(
        &mut self,
        here: &mut Here<'b>,
        ahead: &mut Ahead<Move>,
        observer: Observer,
    ) -> Result<Option<Hit>, Stop> {
        let search = self.task.search;
        let Some(outgoing) = search.place(Where::Within(here.place)) else { return Ok(None) };
        ahead.forget();
        while here.expanded < here.states.len() {
            self.look_ahead(here, &outgoing, ahead)?;
            self.state.clear();
            self.state.extend_from_slice(here.states.get(here.expanded));
            let before = self.feedback.effort;
            let outlook = ahead.of(here.expanded);
            let wrong = match &outlook {
                Some(outlook) => search.expand_known(outlook, &mut self.feedback.effort)?,
                None => search.expand(&self.state, &mut self.steps, &mut self.feedback.effort)?,
            };
            if let Some(wrong) = wrong {
                observer(&self.state);
                let at = Spot { place: here.place.0, state: self.state.clone() };
                return Ok(Some(Hit { at, wrong }));
            }
            let taken = match outlook {
                Some(outlook) => outlook.steps().try_for_each(|(what, vector, hash, target)| {
                    self.put(here, what, vector, target, Some(hash))
                }),
                None => {
                    let steps = std::mem::replace(&mut self.steps, Steps::new(self.state.len()));
                    let taken = self.take(here, &outgoing, &steps);
                    self.steps = steps;
                    taken
                }
            };
            if let Err(stop) = taken {
                // It counts when it is expanded to its end.
                self.feedback.effort = before;
                return Err(stop);
            }
            observer(&self.state);
            here.expanded += 1;
            self.expanded = true;
            if self.until.is_some_and(|to| to.place == here.place.0 && here.states.find(&to.state).is_some())
                || self.is_known()
            {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Has the threads of the job look at the next states, if that pays.
    fn look_ahead(&self, here: &Here, outgoing: &Outgoing, ahead: &mut Ahead<Move>) -> Result<(), Stop> {
        let search = self.task.search;
        let states = &here.states;
        let Some(next) = ahead.next(search, here.expanded..states.len(), &self.feedback.effort) else {
            return Ok(());
        };
        let (guide, bounded) = (search.guide, self.feedback.bounded);
        let get = |index| states.get(index);
        ahead.look(search, next, &get, &|state, target, vector| {
            if search.irrelevant.contains(target) {
                return None;
            }
            let what = outgoing.classify(guide, state, target, vector);
            let (hash, nothing_new) = match what {
                Move::Free => states.look_up(target),
                Move::Along(e) if guide.edge(e).cut => (0, bounded),
                Move::Along(e) => match self.known_at(guide.edge(e).target) {
                    Some(there) => there.states.look_up(target),
                    None => (crate::states::hash(target), false),
                },
                Move::Elsewhere => (0, false),
            };
            (!nothing_new).then_some((what, hash))
        })
    }

    /// The states at a place that is not the one whose turn it is, if there are any.
    fn known_at(&self, place: StateIx) -> Option<&Here<'b>> {
        let turn = self.task.forwards[place.0 as usize];
        self.open.get(&turn).or_else(|| self.shared.get(&turn))
    }

    /// Adds the targets of a state's steps to their places.
    fn take(&mut self, here: &mut Here<'b>, outgoing: &Outgoing, steps: &Steps) -> Result<(), Stop> {
        let guide = self.task.search.guide;
        let state = std::mem::take(&mut self.state);
        let mut all = || {
            for (target, via) in steps.iter() {
                if self.task.search.irrelevant.contains(target) {
                    continue;
                }
                let what = outgoing.classify(guide, &state, target, via.vector());
                self.put(here, what, via.vector().0, target, None)?;
            }
            Ok(())
        };
        let taken = all();
        self.state = state;
        taken
    }

    /// Adds the target of a step to its place, and records what the step shows.
    #[inline(always)]
    fn put(
        &mut self,
        here: &mut Here<'b>,
        what: Move,
        vector: u32,
        target: &[u64],
        hash: Option<u64>,
    ) -> Result<(), Stop> {
        let guide = self.task.search.guide;
        let (position, index) = (here.place.0, here.expanded as u32);
        let origin = || Origin { position, index, vector };
        let states = match what {
            Move::Free => &mut here.states,
            Move::Along(e) if guide.edge(e).cut => {
                self.feedback.bounded = true;
                return Ok(());
            }
            Move::Along(e) => {
                let path = || [&here.path[..], &[e.0]].concat();
                &mut self.at(guide.edge(e).target, path).states
            }
            Move::Elsewhere => return Err(Error::internal("a step leads beyond the guide").into()),
        };
        match hash {
            Some(hash) => states.insert_hashed(hash, target, origin)?,
            None => states.insert(target, origin)?,
        };
        Ok(())
    }

    /// The places with their states, as far as they are kept.
    fn find(&self, place: u32) -> Option<&Here<'b>> {
        let turn = self.task.forwards.get(place as usize)?;
        let through = || self.closed.get(&StateIx(place));
        self.open.get(turn).or_else(|| self.shared.get(turn)).or_else(through)
    }

    /// Whether the wanted state is known, the states at the place whose turn it is left out.
    fn is_known(&self) -> bool {
        let known = |to: &Spot| self.find(to.place).is_some_and(|here| here.states.find(&to.state).is_some());
        self.until.is_some_and(known)
    }

    /// The path to the wanted state.
    fn way(&self) -> Option<Way> {
        let to = self.until?;
        let mut here = self.find(to.place)?;
        let mut index = here.states.find(&to.state)?;
        let mut path = Vec::new();
        loop {
            let origin = here.states.origin(index)?;
            let state = here.states.get(index).to_vec();
            if origin.vector == HANDED {
                path.reverse();
                return Some((Spot { place: here.place.0, state }, path));
            }
            path.push((origin.vector, state));
            (here, index) = (self.find(origin.position)?, origin.index as usize);
        }
    }
}
