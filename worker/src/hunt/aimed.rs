//! Breadth-first search with bounded levels that aims at steps: one that was not seen yet, and then, from the state that it
//! leads to, the next one.
//!
//! The aim is a vector, drawn from those that were possible in no state yet, later from those that were least often an aim.
//! The distance of a state is a sum over the leaves that take part in the vector: how far each is, in its own table, from a
//! local state where it can take its part. The nearest states of a level are kept. Where the distance is 0 the step is
//! possible; it is taken, and the search goes on from there with another aim. If none of the last levels came nearer, or no
//! state is left, the search begins anew at the initial state. So it reaches states that need many steps of one kind and none
//! of another; other searches are led astray by a single step of the other kind.

use super::depth::way;
use super::distance::{Distances, FAR};
use super::job::HuntEnd;
use super::levels::{Candidates, way_to};
use super::moves::Moves;
use super::survey::{Path, Survey};
use crate::states::{Origin, States};
use crate::stop::Stop;
use gridlock_lts::base::memory::{Exhausted, Stack};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::VectorIx;

/// After this many steps it begins anew at the initial state.
const LONGEST: usize = 1 << 12;

/// A search has at least this many aims, even if making their distances takes longer than it may search.
const LEAST: u64 = 32;

/// What to aim at next.
struct Aims {
    /// For each vector the first round in which it may be an aim; [`NEVER`] if no leaf tables lead to it.
    rounds: Vec<u32>,
    round: u32,
    /// The vectors of this round that are left, and some that were seen meanwhile.
    left: Vec<u32>,
}

/// Cannot be reached.
const NEVER: u32 = u32::MAX;

impl Aims {
    fn new(vectors: usize) -> Self {
        Aims { rounds: vec![0; vectors], round: 0, left: (0..vectors as u32).collect() }
    }

    /// A vector is possible somewhere; it is not among the first aims any more.
    fn seen(&mut self, vector: VectorIx) {
        let round = &mut self.rounds[vector.0 as usize];
        *round = (*round).max(1);
    }

    fn draw(&mut self, rng: &mut Rng) -> Option<VectorIx> {
        loop {
            if self.left.is_empty() {
                self.round += 1;
                let rounds = &self.rounds;
                self.left.extend((0..rounds.len() as u32).filter(|&v| rounds[v as usize] <= self.round));
                if self.left.is_empty() && rounds.iter().all(|&round| round == NEVER) {
                    return None;
                }
                continue;
            }
            let vector = self.left.swap_remove(rng.below(self.left.len()));
            let round = &mut self.rounds[vector as usize];
            if *round <= self.round {
                *round = self.round + 1;
                return Some(VectorIx(vector));
            }
        }
    }
}

struct Aimed<'h> {
    moves: &'h Moves,
    width: usize,
    patience: u32,
    rng: Rng,
    aims: Aims,
    distances: Distances,
    /// The cost of computing distances, counted in states.
    cost: u64,
    /// The path from the initial state to the root: its states but the first, and its vectors.
    path: Stack<'h, u64>,
    vectors: Stack<'h, u32>,
    root: Vec<u64>,
    /// The states kept between the root and the aim.
    kept: States<'h>,
    next: Candidates<'h>,
    steps: Steps,
}

/// Searches until it is stopped or no vector can be an aim.
pub(super) fn run<'h, S: Successors>(
    survey: &mut Survey<'h, S>,
    moves: &'h Moves,
    width: u32,
    patience: u32,
    rng: Rng,
) -> HuntEnd {
    let (budget, words) = (survey.budget, survey.system.width().words());
    let mut aimed = Aimed {
        moves,
        width: width as usize,
        patience,
        rng,
        aims: Aims::new(survey.net.with(|net| net.vectors.len())),
        distances: Distances(Vec::new()),
        cost: 0,
        path: Stack::new(budget),
        vectors: Stack::new(budget),
        root: survey.system.initial(),
        kept: States::new(words, true, budget),
        next: Candidates::new(words, budget),
        steps: Steps::new(words),
    };
    aimed.search(survey).unwrap_or_else(HuntEnd::from)
}

impl<'h> Aimed<'h> {
    fn search<S: Successors>(&mut self, survey: &mut Survey<'h, S>) -> Result<HuntEnd, Stop> {
        survey.expand(None, &self.root, &mut self.steps, 0, Vec::new)?;
        if self.steps.is_empty() {
            // A system without a step was seen with its first state.
            return Ok(HuntEnd::Everything);
        }
        while let Some(aim) = self.aims.draw(&mut self.rng) {
            let cost = self.moves.backwards().cost();
            self.cost += cost;
            if self.cost > survey.limits.states.max(cost.saturating_mul(LEAST)) {
                return Err(Stop::OverBudget);
            }
            if survey.life.is_cancelled() {
                return Err(Stop::Interrupted);
            }
            self.moves.backwards().to_step(self.moves, aim, &mut self.distances);
            if self.distance(aim, &self.root) == FAR || self.vectors.len() > LONGEST {
                self.begin_anew(survey);
                if self.distance(aim, &self.root) == FAR {
                    self.aims.rounds[aim.0 as usize] = NEVER;
                    continue;
                }
            }
            match self.approach(survey, aim)? {
                Some(index) => self.go_on(aim, index)?,
                None => self.begin_anew(survey),
            }
        }
        Ok(HuntEnd::Complete)
    }

    fn begin_anew<S: Successors>(&mut self, survey: &Survey<S>) {
        self.path.clear();
        self.vectors.clear();
        self.root = survey.system.initial();
    }

    /// How far a state is from a step of a vector.
    fn distance(&self, aim: VectorIx, state: &[u64]) -> u32 {
        let far = |leaf| self.distances.0[self.moves.local(leaf, state)];
        self.moves.leaves_in(aim).map(far).fold(0, u32::saturating_add)
    }

    /// Searches from the root for a state in which the aim is possible. Returns its index among the kept states; its steps
    /// are then in the survey.
    fn approach<S: Successors>(
        &mut self,
        survey: &mut Survey<'h, S>,
        aim: VectorIx,
    ) -> Result<Option<usize>, Stop> {
        self.kept.clear();
        self.kept.insert(&self.root, || Origin { position: 0, index: 0, vector: 0 })?;
        let (mut begin, mut level, mut nearest, mut without) = (0, 0, FAR, 0);
        while begin < self.kept.len() {
            let end = self.kept.len();
            survey.effort.widest = survey.effort.widest.max((end - begin) as u64);
            self.next.clear();
            for index in begin..end {
                if self.expand(survey, index, level, aim)? {
                    return Ok(Some(index));
                }
            }
            let least = self.next.least().unwrap_or(FAR);
            without = if least < nearest { 0 } else { without + 1 };
            nearest = nearest.min(least);
            if without > self.patience {
                return Ok(None);
            }
            let chosen = self.next.best(self.width, &mut self.rng, survey.budget)?;
            for &index in chosen.iter() {
                if let Some(origin) = self.next.states.origin(index as usize) {
                    self.kept.insert(self.next.states.get(index as usize), || origin)?;
                }
            }
            (begin, level) = (end, level + 1);
        }
        Ok(None)
    }

    /// Expands a state of a level; returns whether the aim is possible there.
    fn expand<S: Successors>(
        &mut self,
        survey: &mut Survey<'h, S>,
        index: usize,
        level: usize,
        aim: VectorIx,
    ) -> Result<bool, Stop> {
        let (kept, path, vectors) = (&self.kept, &self.path, &self.vectors);
        let state = kept.get(index);
        let last = match index {
            0 => vectors.last().copied(),
            _ => kept.origin(index).map(|origin| origin.vector),
        };
        let words = survey.system.width().words();
        let way = || -> Path {
            let mut all = way(words, path, vectors);
            all.extend(way_to(kept, index));
            all
        };
        survey.expand(last.map(VectorIx), state, &mut self.steps, vectors.len() + level, way)?;
        let is_there = self.distance(aim, state) == 0;
        for k in 0..self.steps.len() {
            let (target, vector) = (self.steps.target(k), self.steps.vias()[k].vector());
            self.aims.seen(vector);
            if is_there || self.kept.find(target).is_some() {
                continue;
            }
            let distance = self.distance(aim, target);
            if distance != FAR {
                let origin = Origin { position: 0, index: index as u32, vector: vector.0 };
                self.next.add(target, origin, distance)?;
            }
        }
        Ok(is_there)
    }

    /// Takes the aim's step from the state of that index, whose steps were just computed. A step that is a fault is not taken.
    fn go_on(&mut self, aim: VectorIx, index: usize) -> Result<(), Exhausted> {
        let is_aim = |&k: &usize| self.steps.vias()[k].vector() == aim;
        let possible: Vec<usize> = (0..self.steps.len()).filter(is_aim).collect();
        for (vector, state) in way_to(&self.kept, index) {
            self.path.extend(&state)?;
            self.vectors.push(vector)?;
        }
        self.root.copy_from_slice(self.kept.get(index));
        if !possible.is_empty() {
            let target = self.steps.target(possible[self.rng.below(possible.len())]);
            self.path.extend(target)?;
            self.vectors.push(aim.0)?;
            self.root.copy_from_slice(target);
        }
        Ok(())
    }
}
