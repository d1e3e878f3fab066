//! Shorter traces to a finding: the trace of a long random walk is of little use to a reader.
//!
//! First loops are removed: where a state occurs twice, the steps between are removed. Then short cuts are looked for, by
//! searches from a state of the trace for any later one, directed towards the end of a window (see [`shortcut`]). The first
//! window is the whole trace; as long as no short cut is found, windows get shorter, and a pass over all of them replaces
//! what it can. Half of the states that may be expanded are spent on this. The other half is for a breadth-first search from
//! the initial state for a finding with the same key: if it finds one, no other is shorter.
//!
//! Invariant: a trace is only ever replaced by a shorter one, of steps of the system, whose end has the same key.

mod shortcut;
#[cfg(test)]
mod tests;
mod verdict;

pub use verdict::{Effort, shortened};

use super::Setting;
use super::key::Key;
use super::moves::Moves;
use super::survey::Path;
use crate::job::{Finding, What};
use crate::life::Life;
use crate::states::{Origin, States};
use crate::stop::Stop;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::memory::{Budget, Exhausted};
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::Successors;
use shortcut::{Goal, Question, Spent};

/// A search for a short cut may expand at least this many states.
const LEAST: u64 = 64;

/// Shortens findings.
pub(super) struct Shortener<'h, S> {
    setting: &'h Setting<'h, S>,
    /// `None` if tables are filled as needed: distances are unknown then, and windows are left out.
    moves: Option<&'h Moves>,
    memory: u64,
    life: &'h Life,
}

/// A trace without loops, and the finding's own step behind it unless that is a deadlock.
struct Trace<'b> {
    /// All states, numbered in their order on the trace.
    states: States<'b>,
    /// The vectors between them.
    vectors: Vec<u32>,
    last: Option<(u32, Vec<u64>)>,
}

impl Trace<'_> {
    /// The number of steps before the last one.
    fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Appends the steps from one state of the trace to another.
    fn copy(&self, from: usize, to: usize, path: &mut Path) {
        path.extend((from..to).map(|k| (self.vectors[k], self.states.get(k + 1).to_vec())));
    }

    fn path(&self) -> Path {
        let mut path = Vec::with_capacity(self.len() + 1);
        self.copy(0, self.len(), &mut path);
        path.extend(self.last.clone());
        path
    }
}

impl<'h, S: Successors> Shortener<'h, S> {
    /// A shortener that uses this many bytes at a time.
    pub(super) fn new(
        setting: &'h Setting<'h, S>,
        moves: Option<&'h Moves>,
        memory: u64,
        life: &'h Life,
    ) -> Self {
        Shortener { setting, moves, memory, life }
    }

    /// Shortens a finding; returns how many states it expanded. Fails only if the system does.
    pub(super) fn shorten(&mut self, finding: &mut Finding, states: u64) -> Result<u64> {
        let packing = self.setting.system.packing();
        let Some(key) = self.setting.net.with(|net| Key::of(net, packing, finding)) else {
            return Err(Error::internal("a finding without an end"));
        };
        let budget = Budget::new(self.memory);
        let mut path = finding.path.clone();
        let last = if matches!(finding.what, What::Deadlock(_)) { None } else { path.pop() };
        // A trace that does not fit into the memory stays as it is.
        let Ok(trace) = self.without_loops(&path, last, &budget) else { return Ok(0) };
        drop(path);
        let mut spent = Spent { expanded: 0, used: 0, most: states };
        let mut shorter = trace.path();
        let outcome = self.short_cuts(trace, &key, &budget, &mut spent, &mut shorter);
        if shorter.len() < finding.path.len() {
            finding.path = shorter;
        }
        match outcome {
            Err(Stop::Failed(why)) => Err(why),
            Ok(()) | Err(Stop::OverBudget | Stop::Interrupted) => Ok(spent.expanded),
        }
    }

    /// The trace without the steps between two visits of a state.
    fn without_loops<'b>(
        &self,
        path: &[(u32, Vec<u64>)],
        last: Option<(u32, Vec<u64>)>,
        budget: &'b Budget,
    ) -> Result<Trace<'b>, Exhausted> {
        let words = self.setting.system.width().words();
        let nowhere = || Origin { position: 0, index: 0, vector: 0 };
        let initial = self.setting.system.initial();
        let state = |k: usize| if k == 0 { &initial } else { &path[k - 1].1 };
        let mut states = States::new(words, false, budget);
        let mut vectors = Vec::new();
        // For each different state when it was last there; these are little beside the path that is given.
        let mut latest = Vec::new();
        let mut numbers = Vec::with_capacity(path.len() + 1);
        for k in 0..=path.len() {
            let (number, new) = states.number(state(k), nowhere)?;
            if new {
                latest.push(k);
            } else {
                latest[number] = k;
            }
            numbers.push(number);
        }
        drop(states);
        let mut states = States::new(words, false, budget);
        let mut k = 0;
        loop {
            k = latest[numbers[k]];
            states.insert(state(k), nowhere)?;
            match path.get(k) {
                Some((vector, _)) => vectors.push(*vector),
                None => return Ok(Trace { states, vectors, last }),
            }
            k += 1;
        }
    }

    /// Takes short cuts; `shorter` is the shortest trace known whenever this returns.
    fn short_cuts<'b>(
        &mut self,
        mut trace: Trace<'b>,
        key: &Key,
        budget: &'b Budget,
        spent: &mut Spent,
        shorter: &mut Path,
    ) -> Result<(), Stop> {
        let all = spent.most;
        if let Some(moves) = self.moves {
            spent.most = all / 2;
            let mut window = trace.len();
            while window >= 2 && spent.left() >= LEAST {
                trace = self.pass(trace, moves, key, window, budget, spent)?;
                *shorter = trace.path();
                window = (window / 2).min(trace.len());
            }
            spent.most = all;
        }
        if trace.len() > 0 {
            let question = Question { from: 0, goal: Goal::Any, most: spent.left() };
            if let Some(cut) = shortcut::search(self, &trace, key, &question, budget, spent)? {
                let mut path = cut.path;
                trace.copy(cut.to, trace.len(), &mut path);
                path.extend(cut.last.or(trace.last));
                *shorter = path;
            }
        }
        Ok(())
    }

    /// Looks once for a short cut from the beginning of each window of a length, going on where each one ends.
    fn pass<'b>(
        &mut self,
        trace: Trace<'b>,
        moves: &Moves,
        key: &Key,
        window: usize,
        budget: &'b Budget,
        spent: &mut Spent,
    ) -> Result<Trace<'b>, Stop> {
        let stride = window.div_ceil(2);
        let windows = if window >= trace.len() { 1 } else { trace.len().div_ceil(stride) };
        // Each pass gets half of what is left: many short windows need less in all than a few long ones.
        let share = (spent.left() / 2 / windows as u64).max(LEAST);
        let (mut path, mut last) = (Vec::new(), trace.last.clone());
        let (mut at, mut changed) = (0, false);
        while at + 1 < trace.len() && spent.left() > 0 && !self.life.is_cancelled() {
            let end = (at + window).min(trace.len());
            let backwards = moves.backwards();
            let goal = Goal::State(end, backwards.distances(moves, trace.states.get(end)));
            spent.used += backwards.cost();
            let question = Question { from: at, goal, most: share };
            match shortcut::search(self, &trace, key, &question, budget, spent)? {
                Some(cut) => {
                    path.extend(cut.path);
                    last = cut.last.or(last);
                    at = cut.to;
                    changed = true;
                }
                None => {
                    let next = (at + stride).min(trace.len());
                    trace.copy(at, next, &mut path);
                    at = next;
                }
            }
        }
        if !changed {
            return Ok(trace);
        }
        trace.copy(at, trace.len(), &mut path);
        drop(trace);
        Ok(self.without_loops(&path, last, budget)?)
    }
}
