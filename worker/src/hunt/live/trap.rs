//! Random walks, and a search of all states that follow from their ends: if what the formula asks for is not among them, it
//! never happens.
//!
//! A walk chooses steps for the player who refutes the formula, and records which parts of the formula matter after each
//! step. At its end, the set of pairs that must all be refuted is explored within a budget ([`Traps::closure`]). There are
//! three results: all pairs were seen and none holds, so the walk is in a trap; one pair holds, so the walk is discarded; or
//! the budget is spent, which proves nothing and is counted. On a walk into a trap, bisection looks for the first state where
//! a trap begins: the step to it is the critical one. A run in a trap stays there, so this finds the first such state for
//! formulas whose traps have the same part everywhere; for others it finds an early one.

use super::{Pair, Pairs, bytes, pair, parts};
use crate::hunt::depth::way;
use crate::hunt::job::{HuntEnd, Traps};
use crate::hunt::survey::{LOOKS, Survey};
use crate::stop::Stop;
use gridlock_lts::base::hash::Set;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::game::live::{Ending, MOST_PAIRS};
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::model::network::VectorIx;
use gridlock_lts::property::formula::{Equations, Position};

/// The set of pairs that must be refuted together with one pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closure {
    /// All were seen, and all are refuted. The set begins with this position.
    Trap(Position),
    /// One holds, or the refuting player has more than one alternative.
    None,
    /// The budget is spent.
    Undecided,
}

/// What a walk can do in a state.
enum Looked {
    /// The position is refuted there.
    Decides(Position),
    /// It goes on by one of these steps, and then these positions matter.
    Goes {
        choices: Vec<(u32, Position)>,
        /// Whether it is in a trap here, one of a single pair.
        ends: bool,
    },
}

struct Walk<'h, S> {
    pairs: Pairs<'h, S>,
    property: usize,
    /// The most steps of a walk, and the most pairs of a closure.
    length: u32,
    most: usize,
    rng: Rng,
    /// The states after the initial one, and the vectors to them.
    path: Vec<u64>,
    vectors: Vec<u32>,
    /// For each state of the walk the positions that may begin a trap.
    begins: Vec<Vec<Position>>,
    traps: Traps,
    shortening: u64,
    /// Whether the walk is known to end in a trap.
    found: bool,
}

/// Walks until it is stopped; returns how it ended, the counts of walks, and the states expanded to shorten.
pub(in crate::hunt) fn run<'h, S: Successors>(
    survey: &mut Survey<'h, S>,
    equations: &'h dyn Equations,
    property: usize,
    (length, most): (u32, u32),
    rng: Rng,
) -> (HuntEnd, Traps, u64) {
    let mut walk = Walk {
        pairs: Pairs::new(survey, equations),
        property,
        length,
        most: (most as usize).min(MOST_PAIRS),
        rng,
        path: Vec::new(),
        vectors: Vec::new(),
        begins: Vec::new(),
        traps: Traps::default(),
        shortening: 0,
        found: false,
    };
    let end = loop {
        match walk.once(survey) {
            Ok(true) => {}
            // A walk without a step is the only one.
            Ok(false) => break HuntEnd::Complete,
            Err(stop) => break stop.into(),
        }
    };
    (end, walk.traps, walk.shortening)
}

impl<S: Successors> Walk<'_, S> {
    /// Does one walk and examines its end; returns whether it had a step.
    fn once(&mut self, survey: &mut Survey<S>) -> Result<bool, Stop> {
        let words = survey.system.packing().words();
        self.path.clear();
        self.vectors.clear();
        self.begins.clear();
        let mut state = survey.system.initial();
        let mut positions = vec![Position(0)];
        loop {
            let (path, vectors) = (&self.path, &self.vectors);
            let last = vectors.last().map(|vector| VectorIx(*vector));
            let to_here = || way(words, path, vectors);
            survey.expand(last, &state, &mut self.pairs.steps, vectors.len(), to_here)?;
            self.pairs.classify()?;
            let (choices, ends) = match self.look(&mut positions)? {
                Looked::Goes { choices, ends } => (choices, ends),
                Looked::Decides(position) => {
                    let found = self.vectors.len();
                    let mut left = survey.limits.shorten;
                    let path = way(words, &self.path, &self.vectors);
                    let path = self.pairs.shorter(&pair(&state, position), path, &mut left)?;
                    self.shortening += survey.limits.shorten - left;
                    survey.keep_run(self.property, path, Ending::Decides, found)?;
                    return Ok(found > 0);
                }
            };
            if ends || choices.is_empty() || self.vectors.len() >= self.length as usize {
                break;
            }
            let step = choices[self.rng.below(choices.len())].0;
            positions = choices.iter().filter(|choice| choice.0 == step).map(|choice| choice.1).collect();
            let k = step as usize;
            state.copy_from_slice(self.pairs.steps.target(k));
            self.vectors.push(self.pairs.steps.vias()[k].vector().0);
            self.path.extend_from_slice(&state);
        }
        survey.effort.widest = survey.effort.widest.max(self.vectors.len() as u64);
        self.traps.walks += 1;
        let end = self.vectors.len();
        match self.trap_at(survey, end)? {
            Closure::None => self.traps.discarded += 1,
            Closure::Undecided => self.traps.undecided += 1,
            Closure::Trap(position) => {
                self.traps.proved += 1;
                self.bisect(survey, position)?;
            }
        }
        Ok(end > 0)
    }

    /// Adds all positions that matter in the state that was expanded. Determines which of them may begin a trap, and where
    /// the state's steps lead.
    fn look(&mut self, positions: &mut Vec<Position>) -> Result<Looked, Stop> {
        let mut known: Set<Position> = positions.iter().copied().collect();
        let (mut choices, mut begins, mut ends) = (Vec::new(), Vec::new(), false);
        let mut done = 0;
        while let Some(&position) = positions.get(done) {
            done += 1;
            let alternatives = self.pairs.alternatives(position)?;
            let odd = self.pairs.refuter.rank(position).is_none_or(|rank| rank % 2 == 1);
            if alternatives.iter().any(Vec::is_empty) {
                if !odd {
                    return Ok(Looked::Decides(position));
                }
                ends = true;
            }
            if alternatives.len() == 1 && odd {
                begins.push(position);
            }
            for alternative in alternatives {
                match alternative[..] {
                    [(None, position)] if known.insert(position) => positions.push(position),
                    [(Some(step), position)] => choices.push((step, position)),
                    _ => {}
                }
            }
        }
        choices.sort_by_key(|choice| choice.0);
        // Positions keep their order, whatever their numbers are.
        let mut met = Set::default();
        choices.retain(|choice| met.insert(*choice));
        self.begins.push(begins);
        Ok(Looked::Goes { choices, ends })
    }

    /// The state of the walk after some steps.
    fn state(&self, at: usize, survey: &Survey<S>) -> Vec<u64> {
        let words = survey.system.packing().words();
        at.checked_sub(1)
            .map_or_else(|| survey.system.initial(), |k| self.path[k * words..][..words].to_vec())
    }

    /// Whether a trap begins after some steps of the walk.
    fn trap_at(&mut self, survey: &mut Survey<S>, at: usize) -> Result<Closure, Stop> {
        let state = self.state(at, survey);
        let mut undecided = false;
        for position in self.begins[at].clone() {
            match self.closure(survey, &state, position)? {
                trap @ Closure::Trap(_) => return Ok(trap),
                Closure::Undecided => undecided = true,
                Closure::None => {}
            }
        }
        Ok(if undecided { Closure::Undecided } else { Closure::None })
    }

    /// Looks at all pairs that must be refuted if this one is.
    fn closure(
        &mut self,
        survey: &mut Survey<S>,
        state: &[u64],
        position: Position,
    ) -> Result<Closure, Stop> {
        let first = pair(state, position);
        let each = bytes(state.len());
        let mut known: Set<Pair> = Set::default();
        let mut work = vec![first.clone()];
        known.insert(first);
        let mut taken = 0;
        let mut closure = Closure::Trap(position);
        while let Some(at) = work.pop() {
            let (state, position) = parts(&at);
            if known.len() > self.most || survey.budget.take(each).is_err() {
                closure = Closure::Undecided;
                break;
            }
            taken += each;
            self.pairs.expand(state)?;
            self.charge(survey)?;
            let even = self.pairs.refuter.rank(position).is_some_and(|rank| rank % 2 == 0);
            let alternatives = self.pairs.alternatives(position)?;
            let [only] = &alternatives[..] else {
                closure = Closure::None;
                break;
            };
            if even {
                closure = Closure::None;
                break;
            }
            for &(step, position) in only {
                let target = step.map_or(state, |k| self.pairs.steps.target(k as usize));
                let next = pair(target, position);
                if known.insert(next.clone()) {
                    work.push(next);
                }
            }
        }
        survey.budget.give(taken);
        Ok(closure)
    }

    /// Charges the job for a state that was expanded. States expanded to examine a trap that was found are not charged to its
    /// limits: they are as many as those of a few closures, and with fewer the critical step would be another one.
    fn charge(&mut self, survey: &mut Survey<S>) -> Result<(), Stop> {
        if self.found {
            self.shortening += 1;
        } else if survey.effort.states >= survey.limits.states {
            return Err(Stop::OverBudget);
        } else {
            survey.effort.states += 1;
            survey.effort.transitions += self.pairs.steps.len() as u64;
        }
        let looks = (self.shortening + survey.effort.states).is_multiple_of(LOOKS);
        if looks && survey.life.is_cancelled() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    /// The walk ends in a trap, which begins with that position: looks for the first state where one begins, and keeps a short
    /// way there.
    fn bisect(&mut self, survey: &mut Survey<S>, position: Position) -> Result<(), Stop> {
        let found = self.vectors.len();
        self.found = true;
        let (at, position) = self.first_trap(survey, position)?;
        self.shorten(survey, at, position)?;
        // A shorter way may come to a trap earlier.
        let (at, _) = self.first_trap(survey, position)?;
        self.found = false;
        let words = survey.system.packing().words();
        let path = way(words, &self.path, &self.vectors[..at]);
        survey.keep_run(self.property, path, Ending::Trap, found)
    }

    /// The first state where a trap begins, on a walk that ends in one, as far as the budget goes, and the position with
    /// which it begins.
    fn first_trap(
        &mut self,
        survey: &mut Survey<S>,
        mut position: Position,
    ) -> Result<(usize, Position), Stop> {
        let (mut live, mut dead) = (0, self.vectors.len());
        while live < dead {
            let middle = (live + dead) / 2;
            match self.trap_at(survey, middle)? {
                Closure::Trap(found) => (dead, position) = (middle, found),
                // What is not known to be a trap is none.
                Closure::None | Closure::Undecided => live = middle + 1,
            }
        }
        Ok((dead, position))
    }

    /// Replaces the walk by a shortest one to a position after some of its steps, or by these steps.
    fn shorten(&mut self, survey: &Survey<S>, at: usize, position: Position) -> Result<(), Stop> {
        let words = survey.system.packing().words();
        self.vectors.truncate(at);
        self.path.truncate(at * words);
        self.begins.truncate(at + 1);
        let mut left = survey.limits.shorten;
        let end = pair(&self.state(at, survey), position);
        let path = self.pairs.shorter(&end, way(words, &self.path, &self.vectors), &mut left)?;
        self.shortening += survey.limits.shorten - left;
        if path.len() < at {
            self.retrace(survey, &path)?;
        }
        Ok(())
    }

    /// Replaces the walk by a path.
    fn retrace(&mut self, survey: &Survey<S>, path: &[(u32, Vec<u64>)]) -> Result<(), Stop> {
        self.path.clear();
        self.vectors.clear();
        self.begins.clear();
        let mut state = survey.system.initial();
        let mut positions = vec![Position(0)];
        for next in path.iter().map(Some).chain([None]) {
            self.pairs.expand(&state)?;
            let Looked::Goes { choices, .. } = self.look(&mut positions)? else { break };
            let Some((vector, target)) = next else { break };
            let steps = &self.pairs.steps;
            let taken = |choice: &&(u32, Position)| {
                let k = choice.0 as usize;
                steps.vias()[k].vector().0 == *vector && steps.target(k) == target
            };
            positions = choices.iter().filter(taken).map(|choice| choice.1).collect();
            state.copy_from_slice(target);
            self.vectors.push(*vector);
            self.path.extend_from_slice(target);
        }
        Ok(())
    }
}
