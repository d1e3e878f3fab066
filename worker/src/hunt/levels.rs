//! Breadth-first search with a bounded number of states a level: highway search, beam search, and search for rare local
//! transitions.
//!
//! All states kept are remembered, with their origins, so none is expanded twice and the path to a finding is at hand. A
//! state that was not kept is forgotten, and may come back at a later level. Invariant: a level has at most `width` states,
//! and if no level left out a state, all reachable states were expanded.

use super::job::{HuntEnd, Keep};
use super::moves::Tally;
use super::survey::{Path, Survey};
use crate::states::{Origin, States};
use crate::stop::Stop;
use gridlock_lts::base::memory::{Budget, Exhausted, Stack};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::VectorIx;

struct Levels<'h> {
    width: usize,
    preferred: Option<&'h [u32]>,
    tally: Option<Tally<'h>>,
    rng: Rng,
    budget: &'h Budget,
    /// All states that were kept, level by level.
    kept: States<'h>,
    steps: Steps,
    dropped: bool,
}

/// States that may become the next level, each with a rank: those with the least rank are kept.
pub(super) struct Candidates<'h> {
    pub(super) states: States<'h>,
    wanted: Stack<'h, u32>,
}

impl<'h> Candidates<'h> {
    pub(super) fn new(words: usize, budget: &'h Budget) -> Self {
        Candidates { states: States::new(words, true, budget), wanted: Stack::new(budget) }
    }

    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.wanted.clear();
    }

    /// Adds a state. Of two ranks of the same state the lesser one counts.
    pub(super) fn add(&mut self, state: &[u64], origin: Origin, wanted: u32) -> Result<(), Exhausted> {
        let (number, new) = self.states.number(state, || origin)?;
        if new {
            self.wanted.push(wanted)?;
        } else if wanted < self.wanted[number] {
            self.wanted.as_mut_slice()[number] = wanted;
            self.states.set_origin(number, origin);
        }
        Ok(())
    }

    /// The least rank of a state.
    pub(super) fn least(&self) -> Option<u32> {
        self.wanted.iter().copied().min()
    }

    /// The indices of as many states as a level may have, ascending: those of least rank, and a random choice among equal ranks.
    pub(super) fn best(
        &self,
        width: usize,
        rng: &mut Rng,
        budget: &'h Budget,
    ) -> Result<Stack<'h, u32>, Exhausted> {
        let mut chosen: Stack<u32> = Stack::new(budget);
        let all = self.states.len();
        chosen.reserve(all.min(width))?;
        if all <= width {
            (0..all as u32).try_for_each(|index| chosen.push(index))?;
            return Ok(chosen);
        }
        let mut order: Stack<(u32, u64, u32)> = Stack::new(budget);
        order.reserve(all)?;
        for (index, &wanted) in self.wanted.iter().enumerate() {
            order.push((wanted, rng.bits(), index as u32))?;
        }
        order.as_mut_slice().select_nth_unstable(width - 1);
        order.iter().take(width).try_for_each(|&(.., index)| chosen.push(index))?;
        chosen.as_mut_slice().sort_unstable();
        Ok(chosen)
    }
}

/// Searches until no state is left or it is stopped. A search for rare local transitions needs the tally.
pub(super) fn run<'h, S: Successors>(
    survey: &mut Survey<'h, S>,
    tally: Option<Tally<'h>>,
    width: u32,
    keep: &'h Keep,
    rng: Rng,
) -> HuntEnd {
    let (budget, words) = (survey.budget, survey.system.width().words());
    let preferred = match keep {
        Keep::Preferred(vectors) => Some(&vectors[..]),
        Keep::Random | Keep::Rare => None,
    };
    let kept = States::new(words, true, budget);
    let steps = Steps::new(words);
    let width = width as usize;
    let mut levels = Levels { width, preferred, tally, rng, budget, kept, steps, dropped: false };
    match levels.search(survey) {
        Ok(()) if !levels.dropped => HuntEnd::Everything,
        Ok(()) => HuntEnd::Complete,
        Err(stop) => stop.into(),
    }
}

impl<'h> Levels<'h> {
    fn search<S: Successors>(&mut self, survey: &mut Survey<'h, S>) -> Result<(), Stop> {
        let words = survey.system.width().words();
        self.kept.insert(&survey.system.initial(), || Origin { position: 0, index: 0, vector: 0 })?;
        let (mut level, mut begin) = (0, 0);
        let mut next = Candidates::new(words, self.budget);
        while begin < self.kept.len() {
            let end = self.kept.len();
            survey.effort.widest = survey.effort.widest.max((end - begin) as u64);
            next.clear();
            for index in begin..end {
                self.expand(survey, index, level, &mut next)?;
            }
            self.keep(&next)?;
            begin = end;
            level += 1;
        }
        Ok(())
    }

    /// Expands a state of a level.
    fn expand<S: Successors>(
        &mut self,
        survey: &mut Survey<'h, S>,
        index: usize,
        level: usize,
        next: &mut Candidates<'h>,
    ) -> Result<(), Stop> {
        let kept = &self.kept;
        let state = kept.get(index);
        let vector = kept.origin(index).filter(|_| index > 0).map(|origin| VectorIx(origin.vector));
        survey.expand(vector, state, &mut self.steps, level, || way_to(kept, index))?;
        for (target, via) in self.steps.iter() {
            if kept.find(target).is_some() {
                continue;
            }
            let vector = via.vector();
            let wanted = match (self.preferred, &self.tally) {
                (Some(preferred), _) => u32::from(preferred.binary_search(&vector.0).is_err()),
                (None, Some(tally)) => tally.rarity(vector, state, target),
                (None, None) => 0,
            };
            let origin = Origin { position: 0, index: index as u32, vector: vector.0 };
            next.add(target, origin, wanted)?;
        }
        Ok(())
    }

    /// Keeps the states of least rank, and a random choice among equal ranks.
    fn keep(&mut self, next: &Candidates<'h>) -> Result<(), Stop> {
        let chosen = next.best(self.width, &mut self.rng, self.budget)?;
        self.dropped |= chosen.len() < next.states.len();
        for &index in chosen.iter() {
            let index = index as usize;
            let Some(origin) = next.states.origin(index) else { continue };
            let state = next.states.get(index);
            if let Some(tally) = &mut self.tally {
                tally.take(VectorIx(origin.vector), self.kept.get(origin.index as usize), state);
            }
            self.kept.insert(state, || origin)?;
        }
        Ok(())
    }
}

/// The steps from the initial state to a state of a set whose origins are in the same set.
pub(super) fn way_to(states: &States, mut index: usize) -> Path {
    let mut path = Vec::new();
    while index > 0 {
        let Some(origin) = states.origin(index) else { break };
        path.push((origin.vector, states.get(index).to_vec()));
        index = origin.index as usize;
    }
    path.reverse();
    path
}
