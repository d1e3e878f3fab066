//! Partial order reduction: a successor function that leaves out steps that are not needed.
//!
//! Steps of different leaves often commute, and then one order is as good as all. [`Reduced`] wraps a successor function
//! and keeps, of the steps of a state, those of a *stubborn set*: a set `T` of vectors such that the others, in any run of
//! theirs, neither enable what is disabled in `T` nor get in the way of what is enabled (Valmari). What the others can do
//! is read off the local tables: for each leaf the states that it can reach by labels of vectors outside `T`. As these
//! shrink when `T` grows, the union of two such sets is one, and a set can be had by adding what is missing, or by taking
//! out of a larger one what does not belong.
//!
//! What is kept: every deadlock with its exact depth, if one is asked for, since `T` then has a *key*, a vector that no
//! vector outside can disable; and for everything forbidden (faults, forbidden steps, bad monitors) whether it is
//! reachable, since `T` either blocks all that is forbidden or has a key that raises a potential (see [`potential`]). If
//! `T` always blocks, shortest lengths are kept as well. The proof stands in `docs/architecture.md`.
//!
//! Invariants: the set is a function of the state alone, so every search, thread and rank sees the same graph; and the
//! reduction reads complete tables only, because of tables that still grow it could not tell what is reachable. A search
//! that needs every step asks for [`EveryStep`](crate::engine::successors::EveryStep), which [`Reduced`] is not.

mod allowance;
mod chains;
mod closure;
mod memo;
pub(crate) mod pool;
mod potential;
mod stubborn;
mod tables;
#[cfg(test)]
mod tests;
mod two_phase;

use crate::base::error::Result;
use crate::engine::mesh::Owner;
use crate::engine::pack::{Packing, Width};
use crate::engine::successors::{Compiled, Steps, Successors, Via};
use crate::model::network::{LeafIx, Network};
use crate::property::{Alarms, DeadEnd, Finding};
use pool::Pool;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use stubborn::Stubborn;
use tables::Tables;

/// The parameters of a reduction.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) keep: Keep,
    /// For states that are saved on ranks: which of them are this rank's. `None`: all.
    pub(crate) own: Option<Own>,
    /// Whether deadlocks must be kept; they are if nothing is forbidden.
    pub(crate) deadlocks: bool,
    /// Bytes that each thread may spend on what it remembers.
    pub(crate) room: u64,
    /// What work is taken from, if it is limited.
    pub(crate) allowance: Option<Arc<Allowance>>,
}

/// The share of all memory that threads may spend on what they remember, as a divisor.
const SHARE: u64 = 8;

impl Wanted {
    /// With a share of the memory for what threads remember.
    pub(crate) fn new(keep: Keep, deadlocks: bool, memory: u64, threads: usize) -> Self {
        let room = memory / SHARE / threads.max(1) as u64;
        Wanted { keep, own: None, deadlocks, room, allowance: None }
    }
}

/// Which states a rank owns.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    pub(crate) owner: Owner,
    pub(crate) rank: usize,
}

/// What a reduction keeps besides every verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// Nothing more: counterexamples to what is forbidden may become longer. Deadlocks keep their depth all the same.
    Verdicts,
    /// The length of shortest counterexamples.
    Lengths,
    /// Verdicts, and deadlocks without their depth: states with a single step are passed and not stored.
    Chains,
    /// The same by other means, for comparison: steps are left out by the two-phase method.
    TwoPhase {
        /// Which states of phase 1 are stored.
        save: Save,
        /// On ranks: whether a rank also stores those that another one owns.
        foreign: bool,
    },
}

/// Which states of a phase 1 are stored although they are not searched from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Save {
    /// All of them.
    All,
    /// Those after a step that does not raise the potential: every cycle has one.
    BackEdges,
    /// None.
    Nothing,
}

impl Keep {
    /// Whether some states are passed and not stored, so that the depth of a state is not its distance.
    pub fn passes_states(self) -> bool {
        match self {
            Keep::Verdicts | Keep::Lengths => false,
            Keep::Chains | Keep::TwoPhase { .. } => true,
        }
    }
}

/// Known ways to get it wrong, for tests that must notice.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Mutant {
    #[default]
    None,
    /// Any key will do, without regard to what is forbidden.
    NoProviso,
    /// A key need only not lower the potential.
    LazyPotential,
    /// A key need not stay enabled.
    WeakKey,
    /// A member need not commute to the front.
    NoWeakCheck,
    /// Steps commute if both orders are possible, even if they end in different states.
    NoRejoin,
    /// What was a member before it became the key is not looked at again.
    MemberAsKey,
    /// A fault may be the key.
    FaultKey,
}

pub use allowance::Allowance;
pub(crate) use chains::{Chained, Links};
pub(crate) use memo::MOST;
pub(crate) use tables::{Asked, asked};
pub(crate) use two_phase::TwoPhase;

/// A successor function without the steps that are not needed.
#[derive(Debug)]
pub(crate) struct Reduced<W> {
    inner: Compiled<W>,
    tables: Tables,
    pool: Pool<Stubborn>,
    /// Bytes that threads spend on what they remember.
    remembered: AtomicU64,
    room: u64,
    allowance: Option<Arc<Allowance>>,
    keep: Keep,
    mutant: Mutant,
}

/// What a state costs besides choosing, and each of its steps, in moves looked at.
const STATE: u64 = 20;
const STEP: u64 = 10;

/// A thread's memory is counted anew when it has grown by this number of bytes.
const GRAIN: u64 = 1 << 14;

impl<W: Width> Reduced<W> {
    /// Reduces the compiled form of a network. `alarms` are those it was compiled with.
    pub(crate) fn new(inner: Compiled<W>, net: &Network, alarms: &Alarms, wanted: &Wanted) -> Self {
        let tables = Tables::new(net, alarms, wanted.deadlocks);
        Reduced {
            inner,
            tables,
            pool: Pool::default(),
            remembered: AtomicU64::new(0),
            room: wanted.room.min(memo::MOST),
            allowance: wanted.allowance.clone(),
            keep: wanted.keep,
            mutant: Mutant::None,
        }
    }

    /// The same with all steps.
    pub(crate) fn full(&self) -> &Compiled<W> {
        &self.inner
    }

    /// The potential of a local state.
    pub(crate) fn potential(&self, leaf: usize, state: usize) -> i64 {
        self.tables.leaves[leaf].potential[state]
    }

    /// Takes work from the allowance: that of choosing, and of the steps that there were.
    fn spend(&self, steps: usize, work: u64) -> Result<()> {
        match &self.allowance {
            Some(allowance) => allowance.spend(work + STATE + STEP * steps as u64),
            None => Ok(()),
        }
    }

    /// Counts what a thread remembers, which forgets everything if it is too much.
    fn account(&self, stubborn: &mut Stubborn) {
        if stubborn.set.memo.forgettable() > self.room {
            stubborn.set.memo.forget();
        }
        let bytes = stubborn.bytes();
        if bytes.abs_diff(stubborn.counted) >= GRAIN {
            let before = std::mem::replace(&mut stubborn.counted, bytes);
            self.remembered.fetch_add(bytes.wrapping_sub(before), Relaxed);
        }
    }
}

impl<W: Width> Successors for Reduced<W> {
    type Width = W;

    fn width(&self) -> W {
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
        let before = out.len();
        self.inner.expand(state, out)?;
        // A single step cannot be spared where a state without steps is a deadlock.
        let taken = out.len() - before;
        if taken <= usize::from(self.tables.asked.deadlocks) {
            return self.spend(taken, 0);
        }
        let tables = &self.tables;
        let mut stubborn = self.pool.take(|| Stubborn::new(tables, self.room, self.keep, self.mutant));
        let packing = self.inner.packing();
        for (k, local) in stubborn.set.locals.iter_mut().enumerate() {
            *local = packing.field(LeafIx(k as u32)).get(state).0;
        }
        if stubborn.choose(tables, out.vias()[before..].iter().map(|via| via.vector().0)) {
            let chosen = &stubborn.set.contains;
            out.retain_from(before, |via| chosen[via.vector().0 as usize]);
        }
        stubborn.leave(tables);
        self.account(&mut stubborn);
        let work = stubborn.work_since();
        drop(stubborn);
        self.spend(taken, work)
    }

    fn finding(&self, target: &[u64], via: Via) -> Option<Finding> {
        self.inner.finding(target, via)
    }

    fn findings(&self, source: &[u64], target: &[u64], via: Via, found: &mut Vec<Finding>) {
        self.inner.findings(source, target, via, found);
    }

    fn table_bytes(&self) -> u64 {
        self.inner.table_bytes() + self.tables.bytes()
    }

    fn growing_bytes(&self) -> u64 {
        self.remembered.load(Relaxed)
    }
}
