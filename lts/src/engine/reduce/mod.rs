//! Partial order reduction: a successor function that leaves out steps that are not needed.
//!
//! Steps of different leaves often commute, and then one order is as good as all. [`Reduced`] wraps a successor function
//! and keeps, of the steps of a state, those of a *stubborn set*: a set `T` of vectors such that whatever the others do,
//! they neither enable what is disabled in `T` nor get in the way of what is enabled (Valmari). What the others can do is
//! read off the local tables: for each leaf the states that it can reach by labels of vectors outside `T`. As these shrink
//! when `T` grows, the union of two such sets is one, and a set can be had by adding what is missing, or by taking out of a
//! larger one what does not belong.
//!
//! What is kept: every deadlock with its exact depth, if one is asked for, since `T` then has a *key*, a vector that
//! nobody outside can disable; and for everything forbidden (faults, forbidden steps, bad monitors) whether it is
//! reachable, since `T` either blocks all that is forbidden or has a key that raises a potential (see
//! [`potential`]). If `T` always blocks, shortest lengths are kept as well. The proof stands in `docs/architecture.md`.
//!
//! Invariants: the set is a function of the state alone, so every search, thread and rank sees the same graph; and the
//! reduction reads complete tables only, because of tables that still grow it could not tell what is reachable. A search
//! that needs every step asks for [`EveryStep`](crate::engine::successors::EveryStep), which [`Reduced`] is not.

mod closure;
mod memo;
mod pool;
mod potential;
mod stubborn;
mod tables;
#[cfg(test)]
mod tests;

use crate::engine::pack::{Packing, Width};
use crate::engine::successors::{Compiled, Steps, Successors, Via};
use crate::model::network::{LeafIx, Network};
use crate::property::{Alarms, DeadEnd, Finding};
use pool::Pool;
use stubborn::Stubborn;
use tables::Tables;

/// What a reduction keeps besides every verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// Nothing more: counterexamples to what is forbidden may become longer. Deadlocks keep their depth all the same.
    Verdicts,
    /// The length of shortest counterexamples.
    Lengths,
}

/// Known ways to get it wrong, for tests that must notice.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Mutant {
    #[default]
    None,
    /// Any key will do, whatever is forbidden.
    NoProviso,
    /// A key need only not lower the potential.
    LazyPotential,
    /// A key need not stay enabled.
    WeakKey,
    /// A member need not commute to the front.
    NoWeakCheck,
    /// Steps commute if both orders are possible, wherever they end.
    NoRejoin,
    /// What was a member before it became the key is not looked at again.
    MemberAsKey,
    /// A fault may be the key.
    FaultKey,
}

pub(crate) use tables::asked;

/// A successor function without the steps that are not needed.
#[derive(Debug)]
pub(crate) struct Reduced<W> {
    inner: Compiled<W>,
    tables: Tables,
    pool: Pool<Stubborn>,
    keep: Keep,
    mutant: Mutant,
}

impl<W: Width> Reduced<W> {
    /// Reduces the compiled form of a network. `alarms` are those it was compiled with; `deadlocks` says whether deadlocks
    /// must be kept (they are if nothing is forbidden).
    pub(crate) fn new(
        inner: Compiled<W>,
        net: &Network,
        alarms: &Alarms,
        deadlocks: bool,
        keep: Keep,
    ) -> Self {
        let tables = Tables::new(net, alarms, deadlocks);
        Reduced { inner, tables, pool: Pool::default(), keep, mutant: Mutant::None }
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

    fn expand(&self, state: &[u64], out: &mut Steps) -> crate::base::error::Result<()> {
        let before = out.len();
        self.inner.expand(state, out)?;
        // A single step cannot be spared where a state without steps is a deadlock.
        if out.len() - before <= usize::from(self.tables.asked.deadlocks) {
            return Ok(());
        }
        let tables = &self.tables;
        let mut stubborn = self.pool.take(|| Stubborn::new(tables, self.keep, self.mutant));
        let packing = self.inner.packing();
        for (k, local) in stubborn.set.locals.iter_mut().enumerate() {
            *local = packing.field(LeafIx(k as u32)).get(state).0;
        }
        if stubborn.choose(tables, out.vias()[before..].iter().map(|via| via.vector().0)) {
            let chosen = &stubborn.set.contains;
            out.retain_from(before, |via| chosen[via.vector().0 as usize]);
        }
        stubborn.leave(tables);
        Ok(())
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
}
