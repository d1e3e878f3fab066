//! Depth-first search, in random order, for a lasso that violates a formula.
//!
//! A pair is white until it is visited, grey while it is on the path and black afterwards. A step to a grey pair closes a
//! cycle; the cycle violates the formula if the greatest rank on it is odd. Where parts of a formula that lead to each other
//! have ranks of one parity only, as those of all flags have, a cycle of odd rank is found if there is one within the bound.
//! Where both parities mix, a cycle may be missed.

use super::{Pair, Pairs, bytes, pair, parts};
use crate::hunt::job::HuntEnd;
use crate::hunt::survey::{Path, Survey};
use crate::stop::Stop;
use gridlock_lts::base::hash::Map;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::game::live::Ending;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::model::network::VectorIx;
use gridlock_lts::property::formula::{Equations, Position};

/// Marks a black pair.
const DONE: u32 = u32::MAX;

/// A pair of the path.
struct Frame {
    at: Pair,
    /// The vector of the step to it; none within a state.
    vector: Option<u32>,
    /// The pairs that follow and were not visited from here yet.
    pending: Vec<(Option<u32>, Pair)>,
    /// The bytes that these take.
    bytes: u64,
}

struct Lasso<'h, S> {
    pairs: Pairs<'h, S>,
    property: usize,
    bound: u32,
    rng: Rng,
    /// For each visited pair its index on the path, or that it is black.
    colours: Map<Pair, u32>,
    path: Vec<Frame>,
    /// States expanded to shorten findings.
    shortening: u64,
}

/// Searches until no pair is left or it is stopped; returns how it ended, and the states expanded to shorten.
pub(in crate::hunt) fn run<'h, S: Successors>(
    survey: &mut Survey<'h, S>,
    equations: &'h dyn Equations,
    property: usize,
    bound: u32,
    rng: Rng,
) -> (HuntEnd, u64) {
    let pairs = Pairs::new(survey, equations);
    let (colours, path) = (Map::default(), Vec::new());
    let mut lasso = Lasso { pairs, property, bound, rng, colours, path, shortening: 0 };
    let end = lasso.search(survey).map_or_else(HuntEnd::from, |()| HuntEnd::Complete);
    (end, lasso.shortening)
}

impl<S: Successors> Lasso<'_, S> {
    fn search(&mut self, survey: &mut Survey<S>) -> Result<(), Stop> {
        let first = pair(&survey.system.initial(), Position(0));
        self.visit(survey, None, first)?;
        while let Some(frame) = self.path.last_mut() {
            let Some((vector, next)) = frame.pending.pop() else {
                survey.budget.give(frame.bytes);
                if let Some(frame) = self.path.pop() {
                    self.colours.insert(frame.at, DONE);
                }
                continue;
            };
            match self.colours.get(&next) {
                None => self.visit(survey, vector, next)?,
                Some(&DONE) => {}
                Some(&grey) => self.close(survey, grey as usize, vector, &next)?,
            }
        }
        Ok(())
    }

    fn visit(&mut self, survey: &mut Survey<S>, vector: Option<u32>, at: Pair) -> Result<(), Stop> {
        let (state, position) = parts(&at);
        if self.path.len() as u64 >= u64::from(self.bound) {
            return Ok(());
        }
        survey.budget.take(2 * bytes(state.len()))?;
        survey.effort.widest = survey.effort.widest.max(self.path.len() as u64);
        let path = &self.path;
        let way = || along(path, vector, state);
        survey.expand(vector.map(VectorIx), state, &mut self.pairs.steps, path.len() + 1, way)?;
        self.pairs.classify()?;
        let alternatives = self.pairs.alternatives(position)?;
        let mut pending = Vec::with_capacity(alternatives.len());
        let mut decided = false;
        for alternative in alternatives {
            match alternative[..] {
                [] => decided = true,
                [(step, position)] => {
                    let taken = self.pairs.taken(step);
                    let next = pair(taken.as_ref().map_or(state, |(_, target)| target), position);
                    pending.push((taken.map(|(vector, _)| vector), next));
                }
                _ => {}
            }
        }
        if decided {
            let path = along(&self.path, vector, state);
            let found = path.len();
            let mut left = survey.limits.shorten;
            let shorter = self.pairs.shorter(&at, path, &mut left)?;
            self.shortening += survey.limits.shorten - left;
            survey.keep_run(self.property, shorter, Ending::Decides, found)?;
            self.colours.insert(at, DONE);
            return Ok(());
        }
        for k in (1..pending.len()).rev() {
            let chosen = self.rng.below(k + 1);
            pending.swap(k, chosen);
        }
        let bytes = pending.len() as u64 * bytes(state.len());
        survey.budget.take(bytes)?;
        self.colours.insert(at.clone(), self.path.len() as u32);
        self.path.push(Frame { at, vector, pending, bytes });
        Ok(())
    }

    /// Handles a step that leads back to a pair of the path.
    fn close(
        &mut self,
        survey: &mut Survey<S>,
        grey: usize,
        vector: Option<u32>,
        next: &Pair,
    ) -> Result<(), Stop> {
        let round = &self.path[grey..];
        let rank = |at: &Pair| self.pairs.refuter.rank(parts(at).1);
        let greatest = round.iter().filter_map(|frame| rank(&frame.at)).max();
        let Some(greatest) = greatest.filter(|rank| rank % 2 == 1) else { return Ok(()) };
        let mut path = along(&self.path, vector, parts(next).0);
        let mut from = self.path[..=grey].iter().filter(|frame| frame.vector.is_some()).count();
        let found = path.len();
        if from == found {
            // A round without a step is a part of the formula that only names itself.
            return Ok(());
        }
        // From a pair that decides who wins the round: every way back to it without a greater rank is as good.
        let Some(anchor) = round.iter().find(|frame| rank(&frame.at) == Some(greatest)) else {
            return Ok(());
        };
        let anchor = anchor.at.clone();
        let mut left = survey.limits.shorten;
        if let Some(back) = self.pairs.nearest(&anchor, &anchor, greatest, &mut left)?
            && let Some(there) = self.pairs.way_to(&anchor, &mut left)?
            && there.len() + back.len() < found
            && !back.is_empty()
        {
            from = there.len();
            path = there.into_iter().chain(back).collect();
        }
        self.shortening += survey.limits.shorten - left;
        survey.keep_run(self.property, path, Ending::Repeats(from as u32), found)
    }
}

/// The steps of a path, and one more to a state.
fn along(path: &[Frame], vector: Option<u32>, state: &[u64]) -> Path {
    let step = |frame: &Frame| Some((frame.vector?, parts(&frame.at).0.to_vec()));
    path.iter().filter_map(step).chain(vector.map(|vector| (vector, state.to_vec()))).collect()
}
