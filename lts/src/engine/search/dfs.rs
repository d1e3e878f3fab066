//! Depth-first search on one thread, without recursion.
//!
//! A state enters the visited set when it is visited, not when it is generated, so the order is the true depth-first
//! one. Invariant: `path` is a run of the system from its initial state, and `pending` holds, frame by frame, the
//! steps of its states that were not taken yet.

use super::run::{Done, Run};
use crate::base::error::{Limit, Result};
use crate::base::memory::Stack;
use crate::engine::look::{self, Found};
use crate::engine::pack::Width;
use crate::engine::successors::{Steps, Successors, Via};

/// A finding and the steps to it: each by its vector and target.
pub(super) type FoundBy = (Found, Vec<(Via, Vec<u64>)>);

struct Dfs<'r, 'a, S: Successors> {
    run: &'r Run<'a, S>,
    /// For each state of the path where its pending steps begin.
    frames: Stack<'a, usize>,
    /// The states of the path but the first, and the vectors taken to them.
    path: Stack<'a, u64>,
    path_vias: Stack<'a, Via>,
    pending: Stack<'a, u64>,
    pending_vias: Stack<'a, Via>,
    steps: Steps,
    done: Done,
    /// Visited so far.
    states: u64,
    longest: u64,
    cut: bool,
}

/// Searches until everything is expanded, something is found, or the search is stopped.
pub(super) fn search<S: Successors>(run: &Run<S>) -> Option<FoundBy> {
    let mut dfs = Dfs {
        run,
        frames: Stack::new(run.budget),
        path: Stack::new(run.budget),
        path_vias: Stack::new(run.budget),
        pending: Stack::new(run.budget),
        pending_vias: Stack::new(run.budget),
        steps: Steps::new(run.system.width().words()),
        done: Done::default(),
        states: 0,
        longest: 0,
        cut: false,
    };
    let found = dfs.search().unwrap_or_else(|stop| {
        run.stop(stop);
        None
    });
    run.set_level(dfs.longest, dfs.pending_vias.len() as u64);
    run.tell(&mut dfs.done);
    if dfs.cut && found.is_none() {
        run.stop(Limit::Depth(run.options.max_depth.unwrap_or(u64::MAX)).into());
    }
    let words = run.system.width().words();
    let path =
        || dfs.path_vias.iter().copied().zip(dfs.path.chunks_exact(words).map(<[u64]>::to_vec)).collect();
    found.map(|found| (found, path()))
}

impl<S: Successors> Dfs<'_, '_, S> {
    fn search(&mut self) -> Result<Option<Found>> {
        let words = self.run.system.width().words();
        let mut state = self.run.system.initial();
        self.insert(&state)?;
        if let Some(found) = self.expand(&state)? {
            return Ok(Some(found));
        }
        while let Some(&start) = self.frames.last() {
            if self.pending_vias.len() == start {
                self.frames.pop();
                self.path_vias.pop();
                self.path.truncate(self.path.len().saturating_sub(words));
                continue;
            }
            let Some(via) = self.pending_vias.pop() else { break };
            let rest = self.pending.len() - words;
            state.copy_from_slice(&self.pending[rest..]);
            self.pending.truncate(rest);
            if !self.insert(&state)? {
                continue;
            }
            self.path.extend(&state)?;
            self.path_vias.push(via)?;
            if let Some(found) = self.expand(&state)? {
                return Ok(Some(found));
            }
            if self.done.expanded >= 1024 {
                self.run.set_level(self.longest, self.pending_vias.len() as u64);
                self.run.tell(&mut self.done);
                if !self.run.is_stopped() {
                    self.run.pause();
                }
                if self.run.is_stopped() {
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    /// Whether the state is new. The first state beyond the limit ends the search and is not counted.
    fn insert(&mut self, state: &[u64]) -> Result<bool> {
        let mut new = false;
        if let Some(max) = self.run.options.max_states.filter(|&max| self.states >= max) {
            self.run.visited.table().absent(state, |_| new = true);
            return if new { Err(Limit::States(max).into()) } else { Ok(false) };
        }
        while self.run.visited.table().insert_all(state, 0, |_| new = true) == 0 {
            self.run.visited.make_room()?;
        }
        self.states += u64::from(new);
        Ok(new)
    }

    /// Pushes the frame of a state that was just appended to the path.
    fn expand(&mut self, state: &[u64]) -> Result<Option<Found>> {
        let depth = self.frames.len() as u64;
        self.longest = self.longest.max(depth);
        self.frames.push(self.pending_vias.len())?;
        self.done.expanded += 1;
        if self.run.options.max_depth.is_some_and(|max| depth >= max) {
            self.cut = true;
            return Ok(None);
        }
        self.steps.clear();
        self.run.system.expand(state, &mut self.steps)?;
        let found = if self.steps.is_empty() {
            let end = self.run.system.dead_end(state);
            self.done.deadlocks += u64::from(end.is_deadlock());
            end.found(state)
        } else if self.steps.any_marked() {
            let ends = [self.steps.len()];
            look::first(self.run.system, state, &ends, &mut self.steps).found
        } else {
            None
        };
        self.done.transitions += self.steps.len() as u64;
        self.pending.reserve(self.steps.targets().len())?;
        self.pending_vias.reserve(self.steps.len())?;
        // The first step is to be taken first and so is pushed last. What was visited before need not be pushed.
        let table = self.run.visited.table();
        let mut absent = Vec::new();
        table.absent(self.steps.targets(), |k| absent.push(k));
        for k in absent.into_iter().rev() {
            self.pending.extend(self.steps.target(k))?;
            self.pending_vias.push(self.steps.vias()[k])?;
        }
        Ok(found)
    }
}
