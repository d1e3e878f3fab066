//! Symmetry reduction: of states that differ only by exchanging like processes, one is searched.
//!
//! A *permutation* maps leaves to leaves, and the local states of each to those of its image, so that initial states, moves,
//! vectors, marks, monitors and regular ends go to themselves. It is found by guessing which leaves change places, and
//! counts only if all of this was checked (`detect`). It maps runs to runs, and what is found at their ends to the same, so
//! a state stands for all its images. [`Symmetric`] puts in the place of every target the least of its images that
//! it comes to by single permutations as long as each makes it less. That is a function of the state alone, so threads and
//! ranks need no agreement. Where all of a group is there (all rotations of a ring) it is one state of each orbit; where pairs
//! of leaves are exchanged it may be a few.
//!
//! Depths, lengths and verdicts are those of all states, since the search is one modulo a bisimulation. A run of the
//! reduced search is not a run of the system: [`lift`](Successors::lift) finds one, step by step, which is then replayed
//! like any other.
//!
//! *With a reduction:* what a stubborn set keeps is shown by induction over the length of a run, and over the potential where
//! one is needed. A state has runs as long as its image has, so all that remains is that both have the same potential:
//! permutations that change it are left out where a choice depends on it.

mod detect;
#[cfg(test)]
mod tests;

use crate::base::error::{Error, Result};
use crate::engine::look::What;
use crate::engine::pack::{Packing, Width};
use crate::engine::reduce::Reduced;
use crate::engine::reduce::pool::Pool;
use crate::engine::successors::{Compiled, Steps, Successors, Via};
use crate::model::network::{LeafIx, Local, Network, VectorIx};
use crate::property::{Alarms, DeadEnd, Finding};

/// Known ways to get it wrong, for tests that must notice.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Mistake {
    #[default]
    None,
    /// The moves of local states are not looked at.
    Moves,
    /// The vectors are not looked at.
    Vectors,
    /// What is forbidden, and where monitors are bad, is not compared.
    Marks,
    /// Only the leaves that change places are mapped, and not the local states of the others.
    Others,
}

/// Leaves that change places, and what becomes of all local states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Permutation {
    /// For each leaf where it goes.
    leaves: Vec<u32>,
    /// For each leaf and local state which one of the leaf it goes to it becomes.
    states: Vec<Vec<u32>>,
    /// The leaves of which anything changes.
    moved: Vec<u32>,
}

impl Permutation {
    fn new(leaves: Vec<u32>, states: Vec<Vec<u32>>) -> Self {
        let is_moved = |&l: &u32| {
            let stays = states[l as usize].iter().enumerate().all(|(state, &to)| state == to as usize);
            leaves[l as usize] != l || !stays
        };
        let moved = (0..leaves.len() as u32).filter(is_moved).collect();
        Permutation { leaves, states, moved }
    }

    /// First the other, then this one.
    fn after(&self, first: &Permutation) -> Self {
        let leaves = first.leaves.iter().map(|&l| self.leaves[l as usize]).collect();
        let states = first.states.iter().zip(&first.leaves).map(|(states, &l)| {
            states.iter().map(|&state| self.states[l as usize][state as usize]).collect()
        });
        Permutation::new(leaves, states.collect())
    }

    fn apply(&self, locals: &[u32], image: &mut [u32]) {
        image.copy_from_slice(locals);
        for &l in &self.moved {
            let local = self.states[l as usize][locals[l as usize] as usize];
            image[self.leaves[l as usize] as usize] = local;
        }
    }

    /// Whether a number of each local state stays the same.
    pub(crate) fn preserves(&self, number: impl Fn(usize, usize) -> i64) -> bool {
        self.moved.iter().all(|&l| {
            let states = self.states[l as usize].iter().enumerate();
            let to = self.leaves[l as usize] as usize;
            states.into_iter().all(|(state, &image)| number(l as usize, state) == number(to, image as usize))
        })
    }
}

/// The permutations of a network.
#[derive(Debug)]
pub(crate) struct Permutations {
    all: Vec<Permutation>,
    /// Leaves that can take each other's place.
    classes: Vec<Vec<LeafIx>>,
}

impl Permutations {
    /// Those of a network with monitors; all local states are expanded. `suits` says which may be used.
    pub(crate) fn of(net: &Network, alarms: &Alarms, suits: &dyn Fn(&Permutation) -> bool) -> Self {
        detect::permutations(net, alarms, suits, Mistake::None)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn bytes(&self) -> u64 {
        let one = |p: &Permutation| 4 * p.states.iter().map(|states| states.len() + 8).sum::<usize>();
        self.all.iter().map(one).sum::<usize>() as u64
    }
}

/// A successor function that can also say every step, for runs that are looked for step by step.
pub(crate) trait Lift: Successors {
    /// Appends every step.
    fn every_step(&self, state: &[u64], out: &mut Steps) -> Result<()>;
}

impl<W: Width> Lift for Compiled<W> {
    fn every_step(&self, state: &[u64], out: &mut Steps) -> Result<()> {
        self.expand(state, out)
    }
}

impl<W: Width> Lift for Reduced<W> {
    fn every_step(&self, state: &[u64], out: &mut Steps) -> Result<()> {
        self.full().expand(state, out)
    }
}

/// What one thread works with.
#[derive(Debug)]
struct Scratch {
    locals: Vec<u32>,
    image: Vec<u32>,
}

/// A successor function whose targets stand for all their images.
#[derive(Debug)]
pub(crate) struct Symmetric<S> {
    inner: S,
    permutations: Permutations,
    pool: Pool<Scratch>,
}

impl<S: Lift> Symmetric<S> {
    pub(crate) fn new(inner: S, permutations: Permutations) -> Self {
        Symmetric { inner, permutations, pool: Pool::default() }
    }

    /// Puts the state in the place of another one that stands for it.
    fn represent(&self, state: &mut [u64], scratch: &mut Scratch) {
        let packing = self.inner.packing();
        let Scratch { locals, image } = scratch;
        for (k, local) in locals.iter_mut().enumerate() {
            *local = packing.field(LeafIx(k as u32)).get(state).0;
        }
        let mut changed = false;
        loop {
            let mut less = false;
            for permutation in &self.permutations.all {
                permutation.apply(locals, image);
                if *image < *locals {
                    std::mem::swap(locals, image);
                    less = true;
                }
            }
            changed |= less;
            if !less {
                break;
            }
        }
        if changed {
            for (k, &local) in locals.iter().enumerate() {
                packing.field(LeafIx(k as u32)).set(state, Local(local));
            }
        }
    }

    fn scratch(&self) -> Scratch {
        let leaves = self.permutations.all.first().map_or(0, |p| p.leaves.len());
        Scratch { locals: vec![0; leaves], image: vec![0; leaves] }
    }
}

impl<S: Lift> Successors for Symmetric<S> {
    type Width = S::Width;

    fn width(&self) -> S::Width {
        self.inner.width()
    }

    fn packing(&self) -> &Packing {
        self.inner.packing()
    }

    fn initial(&self) -> Vec<u64> {
        self.inner.initial()
    }

    fn dead_end(&self, state: &[u64]) -> DeadEnd {
        self.inner.dead_end(state)
    }

    fn expand(&self, state: &[u64], out: &mut Steps) -> Result<()> {
        let first = out.len();
        self.inner.expand(state, out)?;
        let mut scratch = self.pool.take(|| self.scratch());
        for k in first..out.len() {
            self.represent(out.target_mut(k), &mut scratch);
        }
        Ok(())
    }

    fn finding(&self, target: &[u64], via: Via) -> Option<Finding> {
        self.inner.finding(target, via)
    }

    fn findings(&self, source: &[u64], target: &[u64], via: Via, found: &mut Vec<Finding>) {
        self.inner.findings(source, target, via, found);
    }

    fn table_bytes(&self) -> u64 {
        self.inner.table_bytes() + self.permutations.bytes()
    }

    fn growing_bytes(&self) -> u64 {
        self.inner.growing_bytes()
    }

    fn like_leaves(&self) -> Option<&[Vec<LeafIx>]> {
        Some(&self.permutations.classes)
    }

    fn lift(&self, path: Vec<(VectorIx, Vec<u64>)>, what: What) -> Result<Vec<(VectorIx, Vec<u64>)>> {
        let mut scratch = self.scratch();
        let mut steps = Steps::new(self.inner.width().words());
        let (mut lifted, mut state) = (Vec::with_capacity(path.len()), self.inner.initial());
        let last = path.len().wrapping_sub(1);
        for (k, (_, wanted)) in path.into_iter().enumerate() {
            steps.clear();
            self.inner.every_step(&state, &mut steps)?;
            let is_last = k == last && !matches!(what, What::Deadlock(_));
            let mut least: Option<(VectorIx, Vec<u64>)> = None;
            for (target, via) in steps.iter() {
                let found =
                    via.is_marked().then(|| self.inner.finding(target, via)).flatten().map(What::from);
                if found != is_last.then_some(what) {
                    continue;
                }
                let mut like = target.to_vec();
                self.represent(&mut like, &mut scratch);
                // A fault leads nowhere.
                let fits = like == wanted || matches!(found, Some(What::Fault(_)));
                let step = (via.vector(), target.to_vec());
                if fits && least.as_ref().is_none_or(|least| step < *least) {
                    least = Some(step);
                }
            }
            let step =
                least.ok_or_else(|| Error::internal("a run of representatives is none of the system"))?;
            state.clone_from(&step.1);
            lifted.push(step);
        }
        Ok(lifted)
    }
}
