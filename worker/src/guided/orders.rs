//! The search along a path in any order of its independent moves.
//!
//! A *position* gives, for each leaf of the subsystem, the number of its moves on the path that are done. The moves that are
//! done are a beginning of the path in one of its orders. A move of the subsystem is taken if it is the next one on the path
//! for all leaves that take part. Positions have their turn in the order of the number of moves that are done. So all
//! positions that lead to one are searched before it, and are then forgotten. Invariant: a feedback that says `Complete` has
//! each position that is reachable in the system, once, with all edges that are possible there, along the path or not.

use super::Observer;
use super::border::{Way, no_way};
use super::outgoing::{Move, Outgoing};
use super::search::{GuidedSearch, Possible};
use crate::job::{Feedback, Finding, JobEnd, Position, Spot};
use crate::states::{Origin, States};
use crate::stop::Stop;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::hash::Map;
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::look::Found;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::guide::{EdgeIx, Guide, StateIx};

/// Searches until there is a finding. The path to it is rebuilt with `rebuild` as the budget.
pub(super) fn run<S: Successors>(
    search: &GuidedSearch<S>,
    budget: &Budget,
    rebuild: &Budget,
    observer: Observer,
) -> Result<Feedback> {
    let mut positions = Positions::new(search, budget, None);
    let outcome = positions.search(observer);
    let Positions { mut feedback, .. } = positions;
    feedback.effort.memory = budget.peak();
    match outcome {
        Ok(Some(hit)) => {
            let mut path = match way(search, hit.at, rebuild) {
                Ok((_, path)) => path,
                Err(Stop::Interrupted) => return Ok(Feedback { end: JobEnd::Interrupted, ..feedback }),
                Err(Stop::OverBudget) => return Err(no_way(rebuild)),
                Err(Stop::Failed(error)) => return Err(error),
            };
            let what = hit.wrong.what;
            path.extend(hit.wrong.step.map(|(vector, target)| (vector.0, target)));
            feedback.end = JobEnd::Found(Finding { what, path });
        }
        Ok(None) => {}
        Err(stop) => {
            feedback.end = JobEnd::of(stop)?;
            // What is not through says nothing.
            feedback.positions.clear();
        }
    }
    Ok(feedback)
}

/// The path from the initial state to a state: repeats the search, and keeps the origins.
fn way<S: Successors>(search: &GuidedSearch<S>, to: At, budget: &Budget) -> Result<Way, Stop> {
    let mut positions = Positions::new(search, budget, Some(to));
    positions.search(&mut |_| {})?;
    let (mut at, mut path) = (to, Vec::new());
    loop {
        let here = positions.here.get(at.position as usize);
        let states = here.map(|here| &here.states).filter(|states| states.len() > at.index as usize);
        let origin = states.and_then(|states| Some((states, states.origin(at.index as usize)?)));
        let (states, origin) = origin.ok_or_else(|| Error::internal("a state was not found again"))?;
        let state = states.get(at.index as usize).to_vec();
        if at == (At { position: 0, index: 0 }) {
            path.reverse();
            return Ok((Spot { place: 0, state }, path));
        }
        path.push((origin.vector, state));
        at = At { position: origin.position, index: origin.index };
    }
}

/// A state by the number of its position, and its own number there.
#[derive(Clone, Copy, PartialEq, Eq)]
struct At {
    position: u32,
    index: u32,
}

/// A finding, and the state in which it was found.
struct Hit {
    at: At,
    wrong: Found,
}

/// The moves of a path.
struct Moves<'s> {
    guide: &'s Guide,
    path: &'s [EdgeIx],
    /// For each leaf its moves, by their places on the path.
    words: Vec<Vec<u32>>,
}

impl<'s> Moves<'s> {
    fn new(guide: &'s Guide, path: &'s [EdgeIx]) -> Self {
        let mut words = vec![Vec::new(); guide.leaves().len()];
        for (k, &edge) in path.iter().enumerate() {
            guide.parts(guide.edge(edge).projection).for_each(|leaf| words[leaf].push(k as u32));
        }
        Moves { guide, path, words }
    }

    /// If an edge from `place`, which is where the leaves stand when the given numbers of their moves are done, is the next one on the path
    /// for all that take part: the numbers of moves behind it.
    fn follow(&self, place: StateIx, done: &[u32], edge: EdgeIx) -> Option<Vec<u32>> {
        let (guide, edge) = (self.guide, self.guide.edge(edge));
        let next = |leaf: usize| self.words[leaf].get(done[leaf] as usize).copied();
        let on_path = next(guide.parts(edge.projection).next()?)?;
        let wanted = guide.edge(self.path[on_path as usize]);
        let (from, to) = (guide.locals(place), guide.locals(edge.target));
        let same = |leaf: usize| {
            // Leaves that take part in both are where they are on the path, so their targets tell.
            next(leaf) == Some(on_path) && to[leaf] == guide.locals(wanted.target)[leaf]
        };
        if wanted.projection != edge.projection || !guide.parts(edge.projection).all(same) {
            return None;
        }
        debug_assert!(from != to, "edges go somewhere");
        let mut done = done.to_vec();
        guide.parts(edge.projection).for_each(|leaf| done[leaf] += 1);
        Some(done)
    }
}

/// The states of a position.
struct Here<'b> {
    place: StateIx,
    done: Vec<u32>,
    states: States<'b>,
}

/// A search under way.
struct Positions<'s, 'b, S> {
    search: &'s GuidedSearch<'s, S>,
    moves: Moves<'s>,
    budget: &'b Budget,
    /// The search ends once this state is known; then all states are kept, with their origins.
    until: Option<At>,
    feedback: Feedback,
    /// The states of each position, by its number; positions are numbered in the order in which they are met.
    here: Vec<Here<'b>>,
    /// The positions with as many moves done as the present one, and with one more.
    known: Map<Vec<u32>, u32>,
    steps: Steps,
}

impl<'s, 'b, S: Successors> Positions<'s, 'b, S> {
    fn new(search: &'s GuidedSearch<'s, S>, budget: &'b Budget, until: Option<At>) -> Self {
        Positions {
            search,
            moves: Moves::new(search.guide, search.path),
            budget,
            until,
            feedback: search.feedback(),
            here: Vec::new(),
            known: Map::default(),
            steps: Steps::new(search.system.width().words()),
        }
    }

    /// The number of a position; a new one gets the next number.
    fn number(&mut self, place: StateIx, done: Vec<u32>) -> u32 {
        if let Some(&number) = self.known.get(&done) {
            return number;
        }
        let number = self.here.len() as u32;
        let states = States::new(self.search.system.width().words(), self.until.is_some(), self.budget);
        self.known.insert(done.clone(), number);
        self.here.push(Here { place, done, states });
        number
    }

    fn is_known(&self) -> bool {
        self.until.is_some_and(|at| {
            let here = self.here.get(at.position as usize);
            here.is_some_and(|here| here.states.len() > at.index as usize)
        })
    }

    fn search(&mut self, observer: Observer) -> Result<Option<Hit>, Stop> {
        let leaves = self.search.guide.leaves().len();
        self.number(StateIx(0), vec![0; leaves]);
        let initial = self.search.system.initial();
        self.here[0].states.insert(&initial, || Origin { position: 0, index: 0, vector: 0 })?;
        // Every move adds one, so positions come in the order of how many moves are done.
        let mut next = 0;
        while next < self.here.len() && !self.is_known() {
            let hit = self.position(next as u32, observer)?;
            let words = self.search.system.width().words();
            let here = &mut self.here[next];
            let effort = &mut self.feedback.effort;
            effort.widest = effort.widest.max(here.states.len() as u64);
            if hit.is_some() {
                return Ok(hit);
            }
            if self.until.is_none() {
                here.states = States::new(words, false, self.budget);
            }
            next += 1;
        }
        Ok(None)
    }

    /// Expands all states of a position.
    fn position(&mut self, number: u32, observer: Observer) -> Result<Option<Hit>, Stop> {
        let (search, at) = (self.search, number as usize);
        let (place, done) = (self.here[at].place, std::mem::take(&mut self.here[at].done));
        let outgoing = Outgoing::new(search.guide, search.system.packing(), place);
        let mut possible = Possible::new(search.guide.edges_of(place));
        let (mut index, mut state) = (0, Vec::new());
        // For each edge that was taken the number of the position behind it.
        let mut behind: Map<u32, Option<u32>> = Map::default();
        while index < self.here[at].states.len() && !self.is_known() {
            state.clear();
            state.extend_from_slice(self.here[at].states.get(index));
            observer(&state);
            let wrong = search.expand(&state, &mut self.steps, &mut self.feedback.effort)?;
            if let Some(wrong) = wrong {
                return Ok(Some(Hit { at: At { position: number, index: index as u32 }, wrong }));
            }
            let steps = std::mem::replace(&mut self.steps, Steps::new(state.len()));
            for (target, via) in steps.iter() {
                if search.irrelevant.contains(target) {
                    continue;
                }
                let origin = || Origin { position: number, index: index as u32, vector: via.vector().0 };
                match outgoing.classify(search.guide, &state, target, via.vector()) {
                    Move::Free => drop(self.here[at].states.insert(target, origin)?),
                    Move::Elsewhere => return Err(Error::internal("a step leads beyond the guide").into()),
                    Move::Along(e) => {
                        possible.mark(e);
                        let next = match behind.get(&e.0) {
                            Some(&next) => next,
                            None => {
                                let next = self.moves.follow(place, &done, e);
                                let next = next.map(|done| self.number(search.guide.edge(e).target, done));
                                *behind.entry(e.0).or_insert(next)
                            }
                        };
                        if let Some(next) = next {
                            self.here[next as usize].states.insert(target, origin)?;
                        }
                    }
                }
            }
            self.steps = steps;
            index += 1;
        }
        self.known.remove(&done);
        self.feedback.positions.push(Position { done, possible: possible.edges() });
        Ok(None)
    }
}
