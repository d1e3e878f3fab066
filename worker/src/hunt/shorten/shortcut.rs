//! One search for a short cut: from a state of a trace to any later one by fewer steps, or to a finding with the same key.
//!
//! The next state is the one with the least sum of the steps to it and the distance from it to the goal; without a goal that
//! is breadth-first search. A state is not expanded if it cannot lead to a better result than the best so far.

use super::{Shortener, Trace};
use crate::hunt::Setting;
use crate::hunt::distance::{Distances, FAR};
use crate::hunt::key::Key;
use crate::hunt::moves::Moves;
use crate::hunt::survey::{LOOKS, Path};
use crate::states::{Origin, States};
use crate::stop::Stop;
use gridlock_lts::base::memory::{Budget, Exhausted, Stack};
use gridlock_lts::engine::look;
use gridlock_lts::engine::pack::{Packing, Width};

use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::{LeafIx, VectorIx};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;

/// The states that shortening has spent.
pub(super) struct Spent {
    /// States expanded.
    pub(super) expanded: u64,
    /// These and other work, counted in states.
    pub(super) used: u64,
    pub(super) most: u64,
}

impl Spent {
    pub(super) fn left(&self) -> u64 {
        self.most.saturating_sub(self.used)
    }
}

/// Where a search is directed to.
pub(super) enum Goal {
    /// A state of the trace by its number, with the distances to it.
    State(usize, Distances),
    /// To no goal.
    Any,
}

/// The task of a search.
pub(super) struct Question {
    /// The state of the trace to begin with.
    pub(super) from: usize,
    pub(super) goal: Goal,
    /// The most states to expand.
    pub(super) most: u64,
}

/// A short cut.
pub(super) struct Shortcut {
    /// The state of the trace that it leads to.
    pub(super) to: usize,
    /// The steps there.
    pub(super) path: Path,
    /// If it leads to another finding with the same key: the step behind the path.
    pub(super) last: Option<(u32, Vec<u64>)>,
}

/// The best short cut so far, and how many steps it saves.
struct Best {
    gain: usize,
    to: usize,
    /// The number of the last state of its path.
    end: usize,
    last: Option<(u32, Vec<u64>)>,
}

/// Bytes of an entry of the queue, room to grow included.
const ENTRY: u64 = 24;

struct ShortcutSearch<'s, 'b> {
    trace: &'s Trace<'b>,
    key: &'s Key,
    question: &'s Question,
    moves: Option<&'s Moves>,
    leaves: usize,
    packing: &'s Packing,
    states: States<'b>,
    /// For each state the steps to it, and its distance to the goal.
    ways: Stack<'b, (u32, u32)>,
    queue: BinaryHeap<Reverse<(u32, u32, u32)>>,
    queue_bytes: u64,
    budget: &'b Budget,
    best: Option<Best>,
    /// The bits of a state that are not those of monitors.
    mask: Vec<u64>,
}

/// Looks for the best short cut.
pub(super) fn search<'b, S: Successors>(
    shortener: &Shortener<S>,
    trace: &Trace<'b>,
    key: &Key,
    question: &Question,
    budget: &'b Budget,
    spent: &mut Spent,
) -> Result<Option<Shortcut>, Stop> {
    let system = shortener.setting.system;
    let leaves = shortener.setting.net.with(|net| net.leaves.len());
    let mut search = ShortcutSearch {
        trace,
        key,
        question,
        moves: shortener.moves,
        leaves,
        packing: system.packing(),
        states: States::new(system.width().words(), true, budget),
        ways: Stack::new(budget),
        queue: BinaryHeap::new(),
        queue_bytes: 0,
        budget,
        best: None,
        mask: mask(leaves, system.packing()),
    };
    let outcome = search.search(shortener, spent);
    budget.give(search.queue_bytes);
    match outcome {
        // What was found before the memory was used up is as good as any.
        Ok(()) | Err(Stop::OverBudget | Stop::Interrupted) => {}
        Err(Stop::Failed(why)) => return Err(Stop::Failed(why)),
    }
    let states = &search.states;
    Ok(search.best.map(|best| Shortcut {
        to: best.to,
        path: crate::hunt::levels::way_to(states, best.end),
        last: best.last,
    }))
}

impl ShortcutSearch<'_, '_> {
    fn search<S: Successors>(&mut self, shortener: &Shortener<S>, spent: &mut Spent) -> Result<(), Stop> {
        let words = shortener.setting.system.width().words();
        let start = self.trace.states.get(self.question.from);
        let distance = self.distance(start);
        self.add(start, Origin { position: 0, index: 0, vector: 0 }, 0, distance)?;
        let (mut steps, mut state) = (Steps::new(words), vec![0; words]);
        let limit = spent.used.saturating_add(self.question.most).min(spent.most);
        while let Some(Reverse((_, _, index))) = self.queue.pop() {
            let (length, distance) = self.ways[index as usize];
            if length as usize + self.gain() >= self.trace.len() - self.question.from {
                continue;
            }
            if spent.used >= limit {
                return Ok(());
            }
            if spent.expanded.is_multiple_of(LOOKS) && shortener.life.is_cancelled() {
                return Err(Stop::Interrupted);
            }
            (spent.used, spent.expanded) = (spent.used + 1, spent.expanded + 1);
            state.copy_from_slice(self.states.get(index as usize));
            steps.clear();
            shortener.setting.system.expand(&state, &mut steps)?;
            self.look_at_marked(shortener, index, &state, &mut steps);
            for (target, via) in steps.iter() {
                let origin = Origin { position: 0, index, vector: via.vector().0 };
                let further = self.further(distance, via.vector(), &state, target);
                if self.add(target, origin, length + 1, further)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Whether a state is the deadlock that the trace ends in, no matter what the states of the monitors are.
    fn is_deadlock(&self, state: &[u64]) -> bool {
        let Key::Deadlock(_, deadlock) = self.key else { return false };
        state.iter().zip(&self.mask).map(|(word, mask)| word & mask).eq(deadlock.iter().copied())
    }

    fn gain(&self) -> usize {
        self.best.as_ref().map_or(0, |best| best.gain)
    }

    /// Adds a state unless it is known or cannot lead to the goal. Returns whether it is the goal.
    fn add(&mut self, state: &[u64], origin: Origin, length: u32, distance: u32) -> Result<bool, Exhausted> {
        if distance == FAR {
            return Ok(false);
        }
        let (index, new) = self.states.number(state, || origin)?;
        if !new {
            return Ok(false);
        }
        self.ways.push((length, distance))?;
        self.budget.take(ENTRY)?;
        self.queue_bytes += ENTRY;
        self.queue.push(Reverse((length.saturating_add(distance), distance, index as u32)));
        let to = if self.is_deadlock(state) { Some(self.trace.len()) } else { self.trace.states.find(state) };
        let Some(to) = to.filter(|&to| to > self.question.from) else { return Ok(false) };
        let gain = (to - self.question.from).saturating_sub(length as usize);
        if gain > self.gain() {
            self.best = Some(Best { gain, to, end: index, last: None });
        }
        Ok(match self.question.goal {
            Goal::State(goal, _) => to == goal,
            // A finding need not be behind the state that the trace has before it.
            Goal::Any => to == self.trace.len() && self.trace.last.is_none(),
        })
    }

    /// Looks for findings with the same key, and leaves out faults.
    fn look_at_marked<S: Successors>(
        &mut self,
        shortener: &Shortener<S>,
        index: u32,
        state: &[u64],
        steps: &mut Steps,
    ) {
        if !steps.any_marked() {
            return;
        }
        let Setting { system, net, .. } = *shortener.setting;
        let (length, _) = self.ways[index as usize];
        let gain = (self.trace.len() - self.question.from).saturating_sub(length as usize);
        let looked: Result<(), Infallible> = look::all(system, state, steps, |what, vector, target| {
            if gain > self.gain() && net.with(|net| Key::step(net, what, vector.0)).as_ref() == Some(self.key)
            {
                let last = Some((vector.0, target.to_vec()));
                self.best = Some(Best { gain, to: self.trace.len(), end: index as usize, last });
            }
            Ok(())
        });
        let Ok(()) = looked;
    }

    /// The distance of a state to the goal.
    fn distance(&self, state: &[u64]) -> u32 {
        let (Goal::State(_, distances), Some(moves)) = (&self.question.goal, self.moves) else { return 0 };
        let leaves = (0..self.leaves).map(|leaf| distances.0[moves.local(leaf, state)]);
        let sum = leaves.fold(0u32, u32::saturating_add);
        sum.saturating_add(self.monitors(state))
    }

    /// The distance after a step, from that before.
    fn further(&self, distance: u32, vector: VectorIx, from: &[u64], to: &[u64]) -> u32 {
        let (Goal::State(_, distances), Some(moves)) = (&self.question.goal, self.moves) else { return 0 };
        let mut sum = i64::from(distance) - i64::from(self.monitors(from)) + i64::from(self.monitors(to));
        for leaf in moves.leaves_in(vector) {
            let after = distances.0[moves.local(leaf, to)];
            if after == FAR {
                return FAR;
            }
            sum += i64::from(after) - i64::from(distances.0[moves.local(leaf, from)]);
        }
        u32::try_from(sum).unwrap_or(FAR)
    }

    /// The number of monitors whose states differ from those in the goal.
    fn monitors(&self, state: &[u64]) -> u32 {
        let Goal::State(goal, _) = self.question.goal else { return 0 };
        let goal = self.trace.states.get(goal);
        let fields = (self.leaves..self.packing.leaves()).map(|k| self.packing.field(LeafIx(k as u32)));
        fields.filter(|field| field.get(state) != field.get(goal)).count() as u32
    }
}

/// The bits of the first leaves.
fn mask(leaves: usize, packing: &Packing) -> Vec<u64> {
    let mut mask = vec![0; packing.words()];
    for field in (0..leaves).map(|leaf| packing.field(LeafIx(leaf as u32))) {
        mask[field.word as usize] |= field.mask() << field.shift;
    }
    mask
}
