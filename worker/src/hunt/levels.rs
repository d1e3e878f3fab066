//! Breadth-first search with a bounded number of states a level: highway search, beam search, and one after what is rare.
//!
//! All states kept are remembered, with their origins, so none is expanded twice and the way to a finding is at hand. A
//! state that was not kept is forgotten, and may come back at a later level. Invariant: a level has at most `width` states,
//! and if nothing was ever left out all reachable states were expanded.

use super::job::{HuntEnd, Keep};
use super::moves::{Moves, Tally};
use super::survey::{Path, Stop, Survey};
use crate::states::{Origin, States};
use gridlock_lts::memory::{Budget, Stack};
use gridlock_lts::network::VectorIx;
use gridlock_lts::pack::Width;
use gridlock_lts::random::Rng;
use gridlock_lts::successors::{Steps, Successors};

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

/// States that may become the next level, and how much each is wanted: less is more.
struct Candidates<'h> {
    states: States<'h>,
    wanted: Stack<'h, u32>,
}

/// Searches to the end or until it is stopped.
pub(super) fn run<'h, S: Successors>(
    survey: &mut Survey<'h, S>,
    moves: &'h Moves,
    width: u32,
    keep: &'h Keep,
    rng: Rng,
) -> HuntEnd {
    let (budget, words) = (survey.budget, survey.system.width().words());
    let (preferred, tally) = match keep {
        Keep::Random => (None, None),
        Keep::Preferred(vectors) => (Some(&vectors[..]), None),
        Keep::Rare => (None, Some(Tally::new(moves))),
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
        let mut next =
            Candidates { states: States::new(words, true, self.budget), wanted: Stack::new(self.budget) };
        while begin < self.kept.len() {
            let end = self.kept.len();
            survey.effort.widest = survey.effort.widest.max((end - begin) as u64);
            next.states.clear();
            next.wanted.clear();
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
            let (number, new) = next.states.number(target, || origin)?;
            if new {
                next.wanted.push(wanted)?;
            } else if wanted < next.wanted[number] {
                next.wanted.as_mut_slice()[number] = wanted;
                next.states.set_origin(number, origin);
            }
        }
        Ok(())
    }

    /// Keeps the states that are wanted most; any of those that are wanted equally.
    fn keep(&mut self, next: &Candidates<'h>) -> Result<(), Stop> {
        let mut order: Stack<(u32, u64, u32)> = Stack::new(self.budget);
        let all = next.states.len();
        let few = all <= self.width;
        if !few {
            self.dropped = true;
            order.reserve(all)?;
            for (index, &wanted) in next.wanted.iter().enumerate() {
                order.push((wanted, self.rng.bits(), index as u32))?;
            }
            order.as_mut_slice().select_nth_unstable(self.width - 1);
            order.truncate(self.width);
            order.as_mut_slice().sort_unstable_by_key(|&(.., index)| index);
        }
        let count = if few { all } else { order.len() };
        for k in 0..count {
            let index = if few { k } else { order[k].2 as usize };
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

/// The steps from the initial state to one of a set with origins in itself.
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
