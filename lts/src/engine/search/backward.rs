//! Rebuilds a shortest trace without a table of parents.
//!
//! The visited set keeps the depth of each state in bits that its word has free anyway, modulo `M`. A state at depth `d`
//! has a predecessor at depth `d - 1`, and no predecessor is nearer to the initial state than that. If the search went
//! less deep than `M`, the depths are exact, and going back costs one step of the reversed tables for each step of the
//! trace. Two bits would do if steps could be undone; in a directed graph a predecessor can be any number of levels
//! too deep, so a short counter is ambiguous where the search went deeper (that a depth modulo three is enough was
//! believed here first, and refuted by the random networks).
//!
//! Where the depths are ambiguous, and where there are very many combinations of local predecessors (all of fifty
//! leaves terminate at once), the way is found by searching forwards again: each state of the frontier carries its
//! ancestor in the middle level, which divides the trace into two halves, and so on down to single steps. It needs no
//! more memory than the search itself, and time for a few searches, most of them small.
//!
//! Invariant: of all predecessors at the right depth the least in packed order is taken, with its least vector; the search
//! forwards runs on one thread in a fixed order. So the trace is the same for every number of workers.

use super::run::Run;
use crate::base::error::{Error, Result};
use crate::base::memory::Stack;
use crate::engine::pack::{Packing, Width};
use crate::engine::predecessors::Predecessors;
use crate::engine::successors::{Steps, Successors};
use crate::model::network::{Network, VectorIx};

/// Combinations of local predecessors that are tried before searching forwards.
const COMBINATIONS: usize = if cfg!(test) { 20 } else { 1 << 20 };

/// A step of a path: the vector and the target.
pub(super) type PathStep = (VectorIx, Vec<u64>);

/// Goes back through what a breadth-first search has visited.
pub(super) struct Backward<'r, 'a, S: Successors> {
    run: &'r Run<'a, S>,
    predecessors: Predecessors<'r>,
}

impl<'r, 'a, S: Successors> Backward<'r, 'a, S> {
    /// `net` is the network that was searched, monitors included.
    pub(super) fn new(run: &'r Run<'a, S>, net: &'r Network, packing: &'r Packing) -> Self {
        Backward { run, predecessors: Predecessors::new(net, packing) }
    }

    /// The steps from the initial state to a visited state at the given depth, the last that was expanded. Afterwards
    /// the visited set is no longer that of the search.
    pub(super) fn path_to(&self, state: &[u64], depth: u64) -> Result<Vec<PathStep>> {
        let initial = self.run.system.initial();
        let mut end = Vec::new();
        let mut state = state.to_vec();
        let mut left = depth;
        // States one level deeper than this one have been visited.
        let exact = depth + 1 < self.run.visited.table().depth_modulus();
        while exact && left > 0 {
            let Some(before) = self.predecessor(&state, left - 1) else { break };
            let (before, vector) =
                before.ok_or_else(|| Error::internal("a visited state has no predecessor"))?;
            end.push((vector, std::mem::replace(&mut state, before)));
            left -= 1;
        }
        if left == 0 && state != initial {
            return Err(Error::internal("a trace does not begin in the initial state"));
        }
        let mut path = Vec::new();
        self.forwards(initial, state, left, &mut path)?;
        path.extend(end.into_iter().rev());
        Ok(path)
    }

    /// The least predecessor at a depth, and the vector; outer `None` if there are too many to try.
    fn predecessor(&self, state: &[u64], depth: u64) -> Option<Option<(Vec<u64>, VectorIx)>> {
        let table = self.run.visited.table();
        let mut least: Option<(Vec<u64>, VectorIx)> = None;
        let few = self.predecessors.of(state, COMBINATIONS, &mut |before, vector| {
            let better = least.as_ref().is_none_or(|(state, v)| (before, vector) < (&state[..], *v));
            if better && table.depth_of(before) == Some(depth) {
                least = Some((before.to_vec(), vector));
            }
        });
        few.then_some(least)
    }

    /// Appends the steps of a shortest path between two states that are `length` steps apart.
    fn forwards(&self, from: Vec<u64>, to: Vec<u64>, length: u64, path: &mut Vec<PathStep>) -> Result<()> {
        let mut parts = vec![(from, to, length)];
        while let Some((from, to, length)) = parts.pop() {
            match length {
                0 => {}
                1 => path.push((self.step(&from, &to)?, to)),
                _ => {
                    let middle = self.halfway(&from, &to, length)?;
                    parts.push((middle.clone(), to, length - length / 2));
                    parts.push((from, middle, length / 2));
                }
            }
        }
        Ok(())
    }

    fn step(&self, from: &[u64], to: &[u64]) -> Result<VectorIx> {
        let mut steps = Steps::new(self.run.system.width().words());
        self.run.system.expand(from, &mut steps)?;
        let there = steps.iter().filter(|(target, _)| *target == to);
        there
            .map(|(_, via)| via.vector())
            .min()
            .ok_or_else(|| Error::internal("a step of a trace is missing"))
    }

    /// A state halfway on a shortest path.
    fn halfway(&self, from: &[u64], to: &[u64], length: u64) -> Result<Vec<u64>> {
        let words = self.run.system.width().words();
        self.run.visited.clear();
        let insert = |keys: &[u64], new: &mut Vec<usize>| {
            let mut done = 0;
            loop {
                let table = self.run.visited.table();
                done += table.insert_all(&keys[done * words..], 0, |k| new.push(done + k));
                drop(table);
                if done * words == keys.len() {
                    return Ok::<(), Error>(());
                }
                self.run.visited.make_room()?;
            }
        };
        // The states of a level, and for each the index of its ancestor among those of the middle level.
        let mut level: (Stack<u64>, Stack<usize>) =
            (Stack::new(self.run.budget), Stack::new(self.run.budget));
        let mut middle: Option<Stack<u64>> = None;
        let (mut steps, mut new) = (Steps::new(words), Vec::new());
        insert(from, &mut new)?;
        level.0.extend(from)?;
        level.1.push(0)?;
        for depth in 0..length {
            if depth == length / 2 {
                let mut states = Stack::new(self.run.budget);
                states.extend(&level.0)?;
                middle = Some(states);
            }
            let mut next = (Stack::new(self.run.budget), Stack::new(self.run.budget));
            for (k, state) in level.0.chunks_exact(words).enumerate() {
                steps.clear();
                self.run.system.expand(state, &mut steps)?;
                new.clear();
                insert(steps.targets(), &mut new)?;
                let ancestor = if depth == length / 2 { k } else { level.1[k] };
                for &n in &new {
                    let target = steps.target(n);
                    if let Some(middle) = middle.as_ref().filter(|_| target == to) {
                        return Ok(middle[ancestor * words..(ancestor + 1) * words].to_vec());
                    }
                    next.0.extend(target)?;
                    next.1.push(ancestor)?;
                }
            }
            level = next;
        }
        Err(Error::internal("the end of a trace was not found again"))
    }
}
