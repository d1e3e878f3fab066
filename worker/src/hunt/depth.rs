//! Depth-first search with a random order of successors, over any kind of visited set.
//!
//! A state enters the visited set when it is visited, not when it is generated, so the order is the true depth-first one.
//! A state at the bound is looked at, but none of its steps is taken. A state that was first reached along a long path is
//! not expanded again when a shorter one leads to it: what lay beyond the bound then may stay unseen, as in SPIN without
//! its option for exact bounds. To do otherwise visits states again and again, and another seed is a better use of the
//! time; the search only never says that it has seen everything once the bound cut something off.
//!
//! Invariant: `path` is a run of the system from its initial state, and `pending` holds, frame by frame, the steps of its
//! states that were not taken yet.

use super::job::HuntEnd;
use super::survey::{Path, Survey};
use crate::stop::Stop;
use gridlock_lts::base::memory::{Budget, Exhausted, Stack};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::VectorIx;

/// A visited set.
pub(super) trait Visited {
    /// Whether no state is ever taken for another one.
    const EXACT: bool;

    /// Adds a state; whether it is new.
    fn insert(&mut self, state: &[u64]) -> Result<bool, Exhausted>;

    /// Replaces `absent` by the indices of those of some states, one after the other in `targets`, that are not there.
    fn absent(&mut self, targets: &[u64], absent: &mut Vec<u32>);
}

struct Depth<'b, V> {
    visited: V,
    bound: u32,
    rng: Rng,
    words: usize,
    /// For each state of the path where its pending steps begin.
    frames: Stack<'b, usize>,
    /// The states of the path but the first, and the vectors taken to them.
    path: Stack<'b, u64>,
    path_vectors: Stack<'b, u32>,
    pending: Stack<'b, u64>,
    pending_vectors: Stack<'b, u32>,
    absent: Vec<u32>,
    steps: Steps,
    /// Whether a bound left something out.
    cut: bool,
}

/// Searches to the end or until it is stopped; gives the visited set back.
pub(super) fn run<'h, S: Successors, V: Visited>(
    survey: &mut Survey<'h, S>,
    visited: V,
    bound: u32,
    rng: Rng,
) -> (HuntEnd, V) {
    let budget: &'h Budget = survey.budget;
    let words = survey.system.width().words();
    let mut depth = Depth {
        visited,
        bound,
        rng,
        words,
        frames: Stack::new(budget),
        path: Stack::new(budget),
        path_vectors: Stack::new(budget),
        pending: Stack::new(budget),
        pending_vectors: Stack::new(budget),
        absent: Vec::new(),
        steps: Steps::new(words),
        cut: false,
    };
    let end = match depth.search(survey) {
        Ok(()) if V::EXACT && !depth.cut => HuntEnd::Everything,
        Ok(()) => HuntEnd::Complete,
        Err(stop) => stop.into(),
    };
    (end, depth.visited)
}

impl<V: Visited> Depth<'_, V> {
    fn search<S: Successors>(&mut self, survey: &mut Survey<S>) -> Result<(), Stop> {
        let words = survey.system.width().words();
        let mut state = survey.system.initial();
        self.visited.insert(&state)?;
        self.frames.reserve(1)?;
        self.visit(survey, None, &state)?;
        while let Some(&start) = self.frames.last() {
            if self.pending_vectors.len() == start {
                self.frames.pop();
                self.path_vectors.pop();
                self.path.truncate(self.path.len().saturating_sub(words));
                continue;
            }
            let Some(vector) = self.pending_vectors.pop() else { break };
            let rest = self.pending.len() - words;
            state.copy_from_slice(&self.pending[rest..]);
            self.pending.truncate(rest);
            if !self.visited.insert(&state)? {
                continue;
            }
            if self.has_room(0)? {
                self.path.extend(&state)?;
                self.path_vectors.push(vector)?;
                self.visit(survey, Some(VectorIx(vector)), &state)?;
            }
        }
        Ok(())
    }

    /// Whether the stack has room for one more state of the path, or for some more steps. Where the visited set does not
    /// grow, a stack that may not grow any more is one more bound on the depth; elsewhere it ends the search.
    fn has_room(&mut self, steps: usize) -> Result<bool, Exhausted> {
        let words = self.words;
        let reserved = if steps == 0 {
            (self.frames.reserve(1))
                .and_then(|()| self.path_vectors.reserve(1))
                .and_then(|()| self.path.reserve(words))
        } else {
            self.pending_vectors.reserve(steps).and_then(|()| self.pending.reserve(steps * words))
        };
        match reserved {
            Err(_) if !V::EXACT => {
                self.cut = true;
                Ok(false)
            }
            other => other.map(|()| true),
        }
    }

    /// Expands a state that was just appended to the path, and pushes its frame.
    fn visit<S: Successors>(
        &mut self,
        survey: &mut Survey<S>,
        vector: Option<VectorIx>,
        state: &[u64],
    ) -> Result<(), Stop> {
        let words = survey.system.width().words();
        let depth = self.frames.len();
        self.frames.push(self.pending_vectors.len())?;
        survey.effort.widest = survey.effort.widest.max(depth as u64);
        let (path, vectors) = (&self.path, &self.path_vectors);
        let way = || way(words, path, vectors);
        survey.expand(vector, state, &mut self.steps, vectors.len(), way)?;
        // What was visited before need not be pushed.
        self.visited.absent(self.steps.targets(), &mut self.absent);
        if self.absent.is_empty() {
            return Ok(());
        }
        if depth as u64 >= u64::from(self.bound) {
            self.cut = true;
            return Ok(());
        }
        if !self.has_room(self.absent.len())? {
            return Ok(());
        }
        for left in (0..self.absent.len()).rev() {
            let chosen = if left == 0 { 0 } else { self.rng.below(left + 1) };
            self.absent.swap(chosen, left);
            let k = self.absent[left] as usize;
            self.pending.extend(self.steps.target(k))?;
            self.pending_vectors.push(self.steps.vias()[k].vector().0)?;
        }
        Ok(())
    }
}

/// The steps of a path that is kept as states one after the other, and vectors.
pub(super) fn way(words: usize, states: &[u64], vectors: &[u32]) -> Path {
    vectors.iter().copied().zip(states.chunks_exact(words).map(<[u64]>::to_vec)).collect()
}
