//! What all searches of a hunt do with a state: expand it within the limits, record coverage, and keep violations.
//!
//! A search goes on after a finding, also past a forbidden step; only faults have no target. Invariant: every finding kept
//! has a path of steps that this survey has computed, and no two have the same [`Key`].

use super::job::{HuntEnd, HuntFinding, HuntLimits};
use super::key::Key;
use super::seen::{Seen, hash_of};
use super::view::View;
use crate::job::{Effort, Finding, What};
use crate::life::Life;
use crate::stop::Stop;
use gridlock_lts::base::error::Error;
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::game::live::Ending;
use gridlock_lts::engine::look;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::VectorIx;
use gridlock_lts::property::DeadEnd;
use std::collections::BTreeSet;

/// The search asks whether to stop each time it has expanded this many states.
pub(super) const LOOKS: u64 = 1_024;

/// Steps by their vectors and packed targets.
pub(super) type Path = Vec<(u32, Vec<u64>)>;

impl From<Stop> for HuntEnd {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::OverBudget => HuntEnd::OverBudget,
            Stop::Interrupted => HuntEnd::Interrupted,
            Stop::Failed(why) => HuntEnd::Failed(why),
        }
    }
}

/// A search under way, by any method.
pub(super) struct Survey<'h, S> {
    pub(super) system: &'h S,
    pub(super) net: View<'h>,
    pub(super) limits: HuntLimits,
    pub(super) life: &'h Life,
    pub(super) budget: &'h Budget,
    pub(super) seen: Seen<'h>,
    pub(super) effort: Effort,
    pub(super) findings: Vec<HuntFinding>,
    /// Bytes of the findings.
    pub(super) kept: u64,
    keys: BTreeSet<Key>,
}

impl<'h, S: Successors> Survey<'h, S> {
    /// A search that has not begun.
    pub(super) fn new(
        system: &'h S,
        net: View<'h>,
        limits: HuntLimits,
        life: &'h Life,
        budget: &'h Budget,
        seen: Seen<'h>,
    ) -> Self {
        let (effort, findings, keys) = (Effort::default(), Vec::new(), BTreeSet::new());
        Survey { system, net, limits, life, budget, seen, effort, findings, kept: 0, keys }
    }

    /// Replaces `steps` by those of a state that was reached by a step of `vector`, faults left out, and keeps the violations
    /// there. `way` returns the steps to the state, `length` is their number.
    #[inline]
    pub(super) fn expand(
        &mut self,
        vector: Option<VectorIx>,
        state: &[u64],
        steps: &mut Steps,
        length: usize,
        way: impl Fn() -> Path,
    ) -> Result<(), Stop> {
        if self.effort.states >= self.limits.states {
            return Err(Stop::OverBudget);
        }
        if self.effort.states.is_multiple_of(LOOKS) && self.life.is_cancelled() {
            return Err(Stop::Interrupted);
        }
        steps.clear();
        self.system.expand(state, steps)?;
        self.effort.states += 1;
        self.seen.enter(vector, state, hash_of(self.system, state));
        self.seen.look_at(state, steps);
        if steps.is_empty() {
            self.without_steps(state, length, way)?;
        } else if steps.any_marked() {
            self.look_at_marked(state, steps, length, way)?;
        }
        self.effort.transitions += steps.len() as u64;
        Ok(())
    }

    #[cold]
    fn without_steps(&mut self, state: &[u64], length: usize, way: impl Fn() -> Path) -> Result<(), Stop> {
        let end = self.system.dead_end(state);
        self.effort.deadlocks += u64::from(end.is_deadlock());
        let DeadEnd::Deadlock(Some(property)) = end else { return Ok(()) };
        let packing = self.system.packing();
        let key = self.net.with(|net| Key::deadlock(net, packing, property, state));
        self.keep(key, What::Deadlock(property), None, length, way)
    }

    #[cold]
    fn look_at_marked(
        &mut self,
        state: &[u64],
        steps: &mut Steps,
        length: usize,
        way: impl Fn() -> Path,
    ) -> Result<(), Stop> {
        look::all(self.system, state, steps, |what, vector, target| {
            let key = self.net.with(|net| Key::step(net, what, vector.0));
            let Some(key) = key else { return Ok(()) };
            self.keep(key, what, Some((vector.0, target)), length, &way)
        })
    }

    /// Keeps a finding unless one with the same key is kept. The search ends once there are enough.
    fn keep(
        &mut self,
        key: Key,
        what: What,
        step: Option<(u32, &[u64])>,
        length: usize,
        way: impl Fn() -> Path,
    ) -> Result<(), Stop> {
        if self.keys.contains(&key) {
            return Ok(());
        }
        self.take_room(length)?;
        let mut path = way();
        path.extend(step.map(|(vector, target)| (vector, target.to_vec())));
        let (found_steps, after_states) = (path.len() as u64, self.effort.states);
        let finding = Finding { what, path };
        self.push(key, HuntFinding { finding, ending: None, found_steps, after_states })
    }

    /// Keeps a run that violates the formula of that index, unless one with the same key is kept; `found` is the number of
    /// its steps before it was shortened.
    pub(super) fn keep_run(
        &mut self,
        property: usize,
        path: Path,
        ending: Ending,
        found: usize,
    ) -> Result<(), Stop> {
        let finding = Finding { what: What::Property(property), path };
        let (found_steps, after_states) = (found as u64, self.effort.states);
        let found = HuntFinding { finding, ending: Some(ending), found_steps, after_states };
        let key = self.net.with(|net| Key::of_any(net, self.system.packing(), &found));
        let key = key.ok_or_else(|| Stop::Failed(Error::internal("a run of unknown steps")))?;
        if self.keys.contains(&key) {
            return Ok(());
        }
        self.take_room(found.finding.path.len())?;
        self.push(key, found)
    }

    /// Takes memory for a path. Each step has a vector on the heap; the memory of the key is small beside that.
    fn take_room(&mut self, length: usize) -> Result<(), Stop> {
        let words = self.system.packing().words();
        let bytes = (length as u64 + 4).saturating_mul((words * 8 + 64) as u64);
        self.budget.take(bytes)?;
        self.kept += bytes;
        Ok(())
    }

    fn push(&mut self, key: Key, found: HuntFinding) -> Result<(), Stop> {
        self.findings.push(found);
        self.keys.insert(key);
        if self.findings.len() as u64 >= u64::from(self.limits.findings) {
            Err(Stop::OverBudget)
        } else {
            Ok(())
        }
    }
}
