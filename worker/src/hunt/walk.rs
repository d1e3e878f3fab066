//! Random walks from the initial state, one after another.
//!
//! A walk chooses any step of a state. If it is weighted, a coin decides whether it is instead one of those whose least-taken
//! local transition this job has taken least often: so it prefers transitions that are new, and a step that is always
//! possible is not always taken. Without the coin the leaves of a regular system end up moving in turns: fifteen philosophers
//! then saw 23 thousand states in ten million steps, where plain walks saw 1.7 million. A walk begins anew after this many
//! steps, in a state without steps, and where the memory for its path ends.

use super::depth::way;
use super::job::HuntEnd;
use super::moves::Tally;
use super::survey::Survey;
use crate::stop::Stop;
use gridlock_lts::base::memory::Stack;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::VectorIx;

struct Walk<'h, 'b> {
    length: u32,
    rng: Rng,
    tally: Option<Tally<'h>>,
    /// The states of the path but the first, and the vectors taken to them.
    path: Stack<'b, u64>,
    vectors: Stack<'b, u32>,
    steps: Steps,
}

/// Walks until it is stopped.
pub(super) fn run<'h, S: Successors>(
    survey: &mut Survey<'h, S>,
    length: u32,
    tally: Option<Tally<'h>>,
    rng: Rng,
) -> HuntEnd {
    let (budget, words) = (survey.budget, survey.system.width().words());
    let (path, vectors) = (Stack::new(budget), Stack::new(budget));
    let mut walk = Walk { length, rng, tally, path, vectors, steps: Steps::new(words) };
    loop {
        match walk.walk(survey) {
            // A system without a step was seen with its first state.
            Ok(0) => return HuntEnd::Everything,
            Ok(steps) => survey.effort.widest = survey.effort.widest.max(steps as u64),
            Err(stop) => return stop.into(),
        }
    }
}

impl Walk<'_, '_> {
    /// Does one walk; returns the number of its steps.
    fn walk<S: Successors>(&mut self, survey: &mut Survey<S>) -> Result<usize, Stop> {
        let words = survey.system.width().words();
        let mut state = survey.system.initial();
        let mut vector = None;
        self.path.clear();
        self.vectors.clear();
        loop {
            let (path, vectors) = (&self.path, &self.vectors);
            survey.expand(vector, &state, &mut self.steps, vectors.len(), || way(words, path, vectors))?;
            if self.steps.is_empty() || self.vectors.len() >= self.length as usize {
                return Ok(self.vectors.len());
            }
            let k = self.choose(&state);
            let (target, via) = (self.steps.target(k), self.steps.vias()[k].vector());
            if self.path.reserve(words).and_then(|()| self.vectors.reserve(1)).is_err() {
                return if self.vectors.is_empty() { Err(Stop::OverBudget) } else { Ok(self.vectors.len()) };
            }
            if let Some(tally) = &mut self.tally {
                tally.take(via, &state, target);
            }
            state.copy_from_slice(target);
            self.path.extend(target)?;
            self.vectors.push(via.0)?;
            vector = Some(VectorIx(via.0));
        }
    }

    /// The step to take.
    #[inline]
    fn choose(&mut self, state: &[u64]) -> usize {
        let tally = match &self.tally {
            Some(tally) if self.rng.bits() & 1 == 0 => tally,
            _ => return self.rng.below(self.steps.len()),
        };
        let (mut least, mut equal, mut chosen) = (u32::MAX, 0, 0);
        for (k, (target, via)) in self.steps.iter().enumerate() {
            let rarity = tally.rarity(via.vector(), state, target);
            if rarity < least {
                (least, equal, chosen) = (rarity, 1, k);
            } else if rarity == least {
                equal += 1;
                if self.rng.below(equal) == 0 {
                    chosen = k;
                }
            }
        }
        chosen
    }
}
