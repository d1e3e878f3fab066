//! The two-phase search (Palmer, Gopalakrishnan: "Partial order reduction assisted parallel model-checking"), for
//! comparison with stubborn sets.
//!
//! A process has a *singleton ample set* if it and those that it may have to wait for have one step together, and no other
//! process can take part in what they offer. Phase 1 takes such steps, process by process, until no process has one; phase
//! 2 takes every step of the state where that ends. What is published as a depth-first search, and as a breadth-first
//! search on ranks, is here a [`Pass`]: any search whose steps are ways past phase 1.
//!
//! [`Save`] says which of the states of phase 1 are saved. A state that is seen twice in one phase 1 ends the turn of its
//! process, so that phase 1 ends. In the publication a saved state is also not searched from again when another step leads
//! to it. Here it is: what is skipped, and with it the counts, would depend on the order in which threads and ranks reach
//! the state.
//!
//! *Soundness.* Let `T` be the vectors that the processes of a singleton ample set offer. Outside `T` none of them moves,
//! so the step commutes with all steps of the others, and stays enabled. A run to a deadlock or to something forbidden
//! either has a vector of `T`, of which the first is this step and can come first; or none, and can be taken after the
//! step. Phase 1 is finite, and after it the run's own first step is among those taken.

use super::chains::{LONGEST, Pass, is_finding};
use super::pool::Pool;
use super::tables::Tables;
use super::{Mutant, Own, Save};
use crate::base::error::Result;
use crate::base::hash::Set;
use crate::engine::pack::Width;
use crate::engine::successors::{Compiled, Steps, Successors};
use crate::model::network::{LeafIx, Network, VectorIx};
use crate::property::Alarms;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The number of sets that saved states are in, by their hash.
const SHARDS: usize = 64;
/// Bytes of a saved state besides its words: the allocation, and its place in a set.
const OVERHEAD: u64 = 40;

/// Phase 1.
#[derive(Debug)]
pub(crate) struct TwoPhase<W> {
    system: Compiled<W>,
    tables: Tables,
    save: Save,
    /// If there are ranks and states of others are dropped: which states those are.
    own: Option<Own>,
    pool: Pool<Scratch>,
    saved: Vec<Mutex<Set<Box<[u64]>>>>,
    count: AtomicU64,
    mutant: Mutant,
}

/// What one thread works with.
#[derive(Debug)]
struct Scratch {
    steps: Steps,
    locals: Vec<u32>,
    /// For each vector how many steps it has, and which is the first.
    enabled: Vec<(u32, u32)>,
    /// Marks of leaves and of vectors; those that are `now` are set.
    leaves: Vec<u32>,
    vectors: Vec<u32>,
    now: u32,
    stack: Vec<u32>,
    /// Processes whose turn has ended.
    done: Vec<bool>,
    list: Set<Box<[u64]>>,
}

impl<W: Width> TwoPhase<W> {
    /// `alarms` are those that the system was compiled with.
    pub(crate) fn new(
        system: Compiled<W>,
        net: &Network,
        alarms: &Alarms,
        save: Save,
        own: Option<Own>,
    ) -> Self {
        TwoPhase {
            tables: Tables::new(net, alarms, true),
            system,
            save,
            own,
            pool: Pool::default(),
            saved: (0..SHARDS).map(|_| Mutex::default()).collect(),
            count: AtomicU64::new(0),
            mutant: Mutant::None,
        }
    }

    #[cfg(test)]
    pub(super) fn with(self, mutant: Mutant) -> Self {
        TwoPhase { mutant, ..self }
    }

    fn scratch(&self) -> Scratch {
        let (leaves, vectors) = (self.tables.leaves.len(), self.tables.vectors);
        Scratch {
            steps: Steps::new(self.system.width().words()),
            locals: vec![0; leaves],
            enabled: vec![(0, 0); vectors],
            leaves: vec![0; leaves],
            vectors: vec![0; vectors],
            now: 0,
            stack: Vec::new(),
            done: vec![false; leaves],
            list: Set::default(),
        }
    }

    /// Whether a step raises the potential; one that does not closes the cycles that it is on.
    fn rises(&self, locals: &[u32], target: &[u64]) -> bool {
        let packing = self.system.packing();
        let gain = |(k, &from): (usize, &u32)| {
            let potential = &self.tables.leaves[k].potential;
            potential[packing.field(LeafIx(k as u32)).get(target).0 as usize] - potential[from as usize]
        };
        locals.iter().enumerate().map(gain).sum::<i64>() > 0
    }

    /// Stores what phase 1 has passed, apart from where it ended.
    fn store(&self, list: &mut Set<Box<[u64]>>, end: &[u64]) {
        for state in list.drain() {
            let foreign = self.own.as_ref().is_some_and(|own| own.owner.of(&state) != own.rank);
            if foreign || &*state == end {
                continue;
            }
            // The high bits of the sum: a set itself goes by others.
            let sum = state.iter().fold(0u64, |sum, &word| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let shard = &self.saved[(sum >> 32) as usize % SHARDS];
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            self.count.fetch_add(u64::from(shard.insert(state)), Relaxed);
        }
    }
}

impl Scratch {
    /// Goes to a state and its steps.
    fn visit<W: Width>(&mut self, of: &TwoPhase<W>, state: &[u64]) -> Result<()> {
        for via in self.steps.vias() {
            self.enabled[via.vector().0 as usize] = (0, 0);
        }
        self.steps.clear();
        of.system.expand(state, &mut self.steps)?;
        for (k, via) in self.steps.vias().iter().enumerate() {
            let known = &mut self.enabled[via.vector().0 as usize];
            *known = if known.0 == 0 { (1, k as u32) } else { (known.0 + 1, known.1) };
        }
        let packing = of.system.packing();
        for (k, local) in self.locals.iter_mut().enumerate() {
            *local = packing.field(LeafIx(k as u32)).get(state).0;
        }
        Ok(())
    }

    fn enter(&mut self, leaf: u32) {
        if std::mem::replace(&mut self.leaves[leaf as usize], self.now) != self.now {
            self.stack.push(leaf);
        }
    }

    /// The step of a process and those that it waits for, if they have one, and no others can take part.
    fn singleton(&mut self, tables: &Tables, process: u32, mutant: Mutant) -> Option<usize> {
        self.now = self.now.wrapping_add(1);
        if self.now == 0 {
            self.leaves.fill(0);
            self.vectors.fill(0);
            self.now = 1;
        }
        self.stack.clear();
        self.enter(process);
        let mut step = None;
        while let Some(l) = self.stack.pop() {
            let leaf = &tables.leaves[l as usize];
            let moves = leaf.moves(self.locals[l as usize]);
            for label in moves.chunk_by(|a, b| a.0 == b.0).map(|same| same[0].0) {
                for &vector in tables.vectors_of(leaf.base + label as usize) {
                    if std::mem::replace(&mut self.vectors[vector as usize], self.now) == self.now {
                        continue;
                    }
                    match self.enabled[vector as usize] {
                        (0, _) => self.wait(tables, vector, mutant),
                        (1, k) if step.is_none() && !tables.faults[vector as usize] => {
                            step = Some(k as usize);
                            if mutant != Mutant::WeakKey {
                                tables.parts(vector).iter().for_each(|part| self.enter(part.leaf));
                            }
                        }
                        _ => return None,
                    }
                }
            }
        }
        step
    }

    /// One of those that a disabled vector waits for must move first. The phantom of a monitor that is bad waits for no
    /// process.
    fn wait(&mut self, tables: &Tables, vector: u32, mutant: Mutant) {
        let waits =
            |leaf: u32, label: u32| !tables.leaves[leaf as usize].offers(self.locals[leaf as usize], label);
        let mut first = None;
        for part in tables.parts(vector).iter().filter(|part| waits(part.leaf, part.label)) {
            if self.leaves[part.leaf as usize] == self.now {
                return;
            }
            first = first.or(Some(part.leaf));
        }
        if let Some(leaf) = first
            && mutant != Mutant::NoWeakCheck
        {
            self.enter(leaf);
        }
    }
}

impl<W: Width> Pass for TwoPhase<W> {
    type System = Compiled<W>;

    fn system(&self) -> &Compiled<W> {
        &self.system
    }

    fn follow(&self, state: &mut [u64], each: &mut dyn FnMut(VectorIx, &[u64])) -> Result<()> {
        let mut lent = self.pool.take(|| self.scratch());
        let scratch = &mut *lent;
        scratch.done.fill(false);
        scratch.list.clear();
        if self.save != Save::Nothing {
            scratch.list.insert(state.into());
        }
        let processes = scratch.done.len();
        let (mut turn, mut taken) = (0, 0);
        // Without a list a cycle would not be seen.
        while taken < LONGEST || self.save != Save::Nothing {
            scratch.visit(self, state)?;
            let order = (turn..processes).chain(0..turn);
            let next = order.filter(|&p| !scratch.done[p]).collect::<Vec<_>>();
            let next = next
                .into_iter()
                .find_map(|p| scratch.singleton(&self.tables, p as u32, self.mutant).map(|step| (p, step)));
            let Some((process, step)) = next else { break };
            let (target, via) = (scratch.steps.target(step), scratch.steps.vias()[step]);
            // The search sees it when it expands this state.
            if is_finding(&self.system, target, via) && self.mutant != Mutant::NoProviso {
                break;
            }
            (turn, taken) = (process, taken + 1);
            let keep = match self.save {
                Save::All => true,
                Save::BackEdges => !self.rises(&scratch.locals, target),
                Save::Nothing => false,
            };
            each(via.vector(), target);
            state.copy_from_slice(target);
            if scratch.list.contains(state) {
                scratch.done[process] = true;
            } else if keep {
                scratch.list.insert((*state).into());
            }
        }
        self.store(&mut scratch.list, state);
        Ok(())
    }

    fn saved(&self) -> Option<u64> {
        Some(self.count.load(Relaxed))
    }

    fn bytes(&self) -> u64 {
        let words = self.system.width().words() as u64;
        self.tables.bytes() + self.count.load(Relaxed) * (8 * words + OVERHEAD)
    }
}
