//! The guided search along the path first: for hunting, where the end of a trace is of more interest than all its
//! beginnings.
//!
//! A state is visited once for each place of the subsystem. Nothing is forgotten, so the path to a finding is at hand. If the
//! search runs to its end the feedback is that of the search position by position; if it is stopped no position is known to
//! be complete.

use super::Observer;
use super::outgoing::Outgoing;
use super::search::{GuidedSearch, Possible, Where};
use crate::job::{Feedback, Finding, JobEnd};
use crate::states::{Origin, States};
use crate::stop::Stop;
use gridlock_lts::base::error::Result;
use gridlock_lts::base::hash::Map;
use gridlock_lts::base::memory::{Budget, Stack};
use gridlock_lts::engine::look::Found;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::guide::StateIx;

/// Searches until there is a finding.
pub(super) fn run<S: Successors>(
    search: &GuidedSearch<S>,
    budget: &Budget,
    observer: Observer,
) -> Result<Feedback> {
    let mut walk = Walk {
        search,
        feedback: search.feedback(),
        states: States::new(search.system.width().words() + 1, true, budget),
        stack: Stack::new(budget),
        possible: (0..=search.path.len()).map(|_| None).collect(),
        places: Map::default(),
    };
    let outcome = walk.walk(observer);
    let mut feedback = walk.feedback;
    feedback.effort.widest = walk.states.len() as u64;
    feedback.effort.memory = budget.peak();
    match outcome {
        Ok(None) => {
            feedback.possible = walk.possible.iter().map_while(|p| Some(p.as_ref()?.edges())).collect()
        }
        Ok(Some(finding)) => feedback.end = JobEnd::Found(finding),
        Err(stop) => feedback.end = JobEnd::of(stop)?,
    }
    Ok(feedback)
}

struct Walk<'s, 'b, S> {
    search: &'s GuidedSearch<'s, S>,
    feedback: Feedback,
    /// States, each with the place of the subsystem behind it.
    states: States<'b>,
    /// The states that wait for their expansion.
    stack: Stack<'b, u32>,
    /// For each position that was reached the edges that were possible.
    possible: Vec<Option<Possible>>,
    places: Map<u64, Option<Outgoing>>,
}

impl<S: Successors> Walk<'_, '_, S> {
    /// Encodes a place as a number: positions on the path first, then "anywhere", then states of the guide.
    fn number(&self, at: Where) -> u64 {
        let behind = self.search.path.len() as u64 + 1;
        match at {
            Where::On(position) => u64::from(position),
            Where::Anywhere => behind,
            Where::Within(state) => behind + 1 + u64::from(state.0),
        }
    }

    fn at(&self, number: u64) -> Where {
        let behind = self.search.path.len() as u64 + 1;
        match number.checked_sub(behind) {
            None => Where::On(number as u32),
            Some(0) => Where::Anywhere,
            Some(state) => Where::Within(StateIx(state as u32 - 1)),
        }
    }

    fn walk(&mut self, observer: Observer) -> Result<Option<Finding>, Stop> {
        let words = self.search.system.width().words();
        let (mut steps, mut state) = (Steps::new(words), self.search.system.initial());
        state.push(0);
        self.states.insert(&state, || Origin { position: 0, index: 0, vector: 0 })?;
        self.stack.push(0)?;
        while let Some(index) = self.stack.pop() {
            state.clear();
            state.extend_from_slice(self.states.get(index as usize));
            observer(&state[..words]);
            let wrong = self.search.expand(&state[..words], &mut steps, &mut self.feedback.effort)?;
            if let Some(Found { what, step, .. }) = wrong {
                let mut path = self.way_to(index);
                path.extend(step.map(|(vector, target)| (vector.0, target)));
                return Ok(Some(Finding { what, path }));
            }
            self.push_steps(index, &state, &steps)?;
        }
        Ok(None)
    }

    fn push_steps(&mut self, index: u32, state: &[u64], steps: &Steps) -> Result<(), Stop> {
        let words = self.search.system.width().words();
        let (search, at) = (self.search, self.at(state[words]));
        let place = self.places.entry(state[words]).or_insert_with(|| search.place(at));
        if let (Where::On(position), Some(place)) = (at, &place) {
            let edges = search.guide.edges_of(place.state());
            self.possible[position as usize].get_or_insert_with(|| Possible::new(edges));
        }
        let mut taken = Vec::with_capacity(steps.len());
        for (target, via) in steps.iter() {
            let step = search.follow(at, place.as_ref(), &state[..words], target, via.vector());
            self.feedback.bounded |= step.bounded;
            if let (Where::On(position), Some(edge)) = (at, step.edge)
                && let Some(possible) = &mut self.possible[position as usize]
            {
                possible.mark(edge);
            }
            taken.extend(step.to.map(|to| (to, target, via.vector().0)));
        }
        // Steps of the subsystem are pushed last, so that they are taken first.
        taken.sort_by_key(|(to, ..)| *to != at);
        for (to, target, vector) in taken {
            let target = [target, &[self.number(to)]].concat();
            if self.states.insert(&target, || Origin { position: 0, index, vector })? {
                self.stack.push(self.states.len() as u32 - 1)?;
            }
        }
        Ok(())
    }

    /// The steps from the initial state.
    fn way_to(&self, mut index: u32) -> Vec<(u32, Vec<u64>)> {
        let words = self.search.system.width().words();
        let mut path = Vec::new();
        while index != 0 {
            let origin = self.states.origin(index as usize).expect("origins are kept");
            path.push((origin.vector, self.states.get(index as usize)[..words].to_vec()));
            index = origin.index;
        }
        path.reverse();
        path
    }
}
