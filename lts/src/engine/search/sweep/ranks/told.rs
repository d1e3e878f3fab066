//! The results of sweeps on ranks: which positions hold where, and the run to a state that is against the formula.
//!
//! Rank 0 asks, in calls that all ranks make together, so that nothing can get lost; the owner of a state answers. It asks
//! about a state and others near it at a time, since those are mostly asked about next.

use super::Sweeps;
use crate::base::error::{Error, Result};
use crate::base::hash::{Map, Set};
use crate::engine::mesh::Mesh;
use crate::engine::search::owned::agree;
use crate::engine::search::sweep::{Audience, Truths};
use crate::engine::successors::{EveryStep, Steps, Via};
use crate::model::network::VectorIx;
use crate::property::formula::Position;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// States that are asked about at a time.
const AT_ONCE: usize = if cfg!(test) { 3 } else { 32 };
/// Answers that are remembered.
const REMEMBERED: usize = if cfg!(test) { 16 } else { 1 << 20 };
/// Instead of a number of states: there are no more questions.
const NO_MORE: u64 = u64::MAX;
/// Instead of an answer: the state is not there.
const STRANGE: u64 = u64::MAX;

impl<S: EveryStep> Sweeps<'_, '_, S> {
    /// On all ranks: a shortest run to a state of a level: of all predecessors in the level before the least, with its least
    /// vector. Each rank looks through its part of the levels.
    pub(super) fn way_to(
        &mut self,
        end: Vec<u64>,
        depth: usize,
        mesh: &mut dyn Mesh,
    ) -> Result<Vec<(Via, Vec<u64>)>> {
        let mut target = end;
        let mut way = Vec::new();
        for depth in (0..depth).rev() {
            let here = self.before(&target, depth);
            let here = agree(mesh, here)?;
            let (before, vector) = self
                .least(here, mesh)
                .ok_or_else(|| Error::internal("a state of a level has no predecessor"))?;
            way.push((Via::new(VectorIx(vector as u32), false), std::mem::replace(&mut target, before)));
        }
        way.reverse();
        Ok(way)
    }

    /// The least state of this rank in a level from which a step leads to a target, and its least vector.
    fn before(&self, target: &[u64], depth: usize) -> Result<Option<(Vec<u64>, u64)>> {
        let mut steps = Steps::new(target.len());
        let mut least: Option<(&[u64], u64)> = None;
        for part in &self.levels[depth] {
            for state in part.chunk.states.chunks_exact(target.len()) {
                if least.is_some_and(|(least, _)| least <= state) {
                    continue;
                }
                steps.clear();
                self.run.system.expand(state, &mut steps)?;
                let vectors = steps.iter().filter(|(to, _)| *to == target).map(|(_, via)| via.vector());
                if let Some(vector) = vectors.min() {
                    least = Some((state, u64::from(vector.0)));
                }
            }
            self.go_on()?;
        }
        Ok(least.map(|(state, vector)| (state.to_vec(), vector)))
    }

    /// On rank 0: lets the audience ask.
    pub(super) fn tell(&self, mesh: &mut dyn Mesh, audience: &mut dyn Audience) -> Result<()> {
        let asking = Asking {
            sweeps: self,
            mesh: RefCell::new(mesh),
            known: RefCell::default(),
            strange: Cell::new(false),
        };
        let heard = audience.hear(&asking);
        let mut said = vec![0; 1 + AT_ONCE * self.words()];
        said[0] = NO_MORE;
        asking.mesh.borrow_mut().share(&said, &mut || false);
        match asking.strange.get() {
            true => Err(Error::internal("a rank does not know a state that it owns")),
            false => heard,
        }
    }

    /// On the others: answers until there are no more questions.
    pub(super) fn answer(&self, mesh: &mut dyn Mesh) -> Result<()> {
        let words = self.words();
        let nothing = vec![0; 1 + AT_ONCE * words];
        loop {
            let said = mesh.share(&nothing, &mut || false);
            if said[0] == NO_MORE {
                return Ok(());
            }
            let states = &said[1..][..(said[0] as usize).min(AT_ONCE) * words];
            let mut answers: Vec<u64> = states
                .chunks_exact(words)
                .map(|state| if self.run.owner.of(state) == self.me { self.own_word(state) } else { 0 })
                .collect();
            answers.resize(AT_ONCE, 0);
            mesh.share(&answers, &mut || false);
        }
    }

    /// Which positions hold in a state that this rank owns.
    fn own_word(&self, state: &[u64]) -> u64 {
        let mut word = STRANGE;
        self.table.find_slots(state, |slot| {
            if let Some(slot) = slot {
                word = u64::from(self.word(slot));
            }
        });
        word
    }
}

/// What rank 0 knows.
struct Asking<'s, 'r, 'a, 'm, S: EveryStep> {
    sweeps: &'s Sweeps<'r, 'a, S>,
    mesh: RefCell<&'s mut (dyn Mesh + 'm)>,
    /// What others have answered.
    known: RefCell<Map<Vec<u64>, u64>>,
    /// Whether a rank did not know a state.
    strange: Cell<bool>,
}

impl<S: EveryStep> Asking<'_, '_, '_, '_, S> {
    fn word(&self, state: &[u64]) -> Option<u64> {
        let sweeps = self.sweeps;
        let word = if sweeps.run.owner.of(state) == sweeps.me {
            sweeps.own_word(state)
        } else {
            let known = self.known.borrow().get(state).copied();
            known.unwrap_or_else(|| self.ask(state))
        };
        if word == STRANGE {
            self.strange.set(true);
            return None;
        }
        Some(word)
    }

    /// Asks about a state of another rank, and about those near it that are not known.
    fn ask(&self, state: &[u64]) -> u64 {
        let (words, owner) = (state.len(), &self.sweeps.run.owner);
        let mut known = self.known.borrow_mut();
        if known.len() > REMEMBERED {
            known.clear();
        }
        let mut asked = state.to_vec();
        let (mut met, mut waiting) = (Set::default(), VecDeque::from([state.to_vec()]));
        met.insert(state.to_vec());
        let mut steps = Steps::new(words);
        while let Some(near) = waiting.pop_front() {
            steps.clear();
            if met.len() > 4 * AT_ONCE || self.sweeps.run.system.expand(&near, &mut steps).is_err() {
                break;
            }
            for (target, _) in steps.iter() {
                if !met.insert(target.to_vec()) {
                    continue;
                }
                waiting.push_back(target.to_vec());
                let theirs = owner.of(target) != self.sweeps.me && !known.contains_key(target);
                if theirs && asked.len() < AT_ONCE * words {
                    asked.extend_from_slice(target);
                }
            }
        }
        let mut said = vec![(asked.len() / words) as u64];
        said.extend(&asked);
        said.resize(1 + AT_ONCE * words, 0);
        let mut mesh = self.mesh.borrow_mut();
        mesh.share(&said, &mut || false);
        let answers = mesh.share(&[0; AT_ONCE], &mut || false);
        let mut first = STRANGE;
        for (k, state) in asked.chunks_exact(words).enumerate() {
            let answer = answers[owner.of(state) * AT_ONCE + k];
            if k == 0 {
                first = answer;
            }
            known.insert(state.to_vec(), answer);
        }
        first
    }
}

impl<S: EveryStep> Truths for Asking<'_, '_, '_, '_, S> {
    fn holds(&self) -> bool {
        // The audience is not asked to show formulas that hold.
        false
    }

    fn truth(&self, state: &[u64], position: Position) -> Option<bool> {
        let formula = self.sweeps.formula;
        let at = *formula.positions.get(&position)?;
        if let Some(way) = self.sweeps.way.as_ref().filter(|_| at == formula.root || at == 0) {
            let initial = self.sweeps.run.system.initial();
            let along = state == initial || way.iter().any(|(_, target)| target == state);
            return (!along).then_some(true);
        }
        if self.sweeps.bits[at].is_empty() {
            return None;
        }
        self.word(state).map(|word| word >> at & 1 == 1)
    }

    fn way(&self) -> Option<Vec<(Via, Vec<u64>)>> {
        self.sweeps.way.clone()
    }
}
