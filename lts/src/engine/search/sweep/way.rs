//! The results of sweeps: which positions hold where, and the run to a state that is against the formula.

use super::{Buffer, Sweeps, Truths};
use crate::base::error::{Error, Result};
use crate::engine::pack::Width;
use crate::engine::successors::{EveryStep, Steps, Via};
use crate::property::formula::Position;

impl<S: EveryStep> Sweeps<'_, '_, S> {
    /// A shortest run to a state of a level: of all predecessors in the level before the least, with its least vector. The
    /// levels are expanded once more for that, which needs no memory.
    pub(super) fn way_to(&self, end: &[u64], depth: usize) -> Result<Vec<(Via, Vec<u64>)>> {
        let words = self.run.system.width().words();
        let mut steps = Steps::new(words);
        let mut target = end.to_vec();
        let mut way = Vec::new();
        let mut buffer = Buffer::default();
        for level in self.levels.levels[..depth].iter().rev() {
            let mut least: Option<(Vec<u64>, Via)> = None;
            for part in level {
                for state in part.states(&self.levels, &mut buffer)?.chunks_exact(words) {
                    if least.as_ref().is_some_and(|(least, _)| &least[..] <= state) {
                        continue;
                    }
                    steps.clear();
                    self.run.system.expand(state, &mut steps)?;
                    let via = steps.iter().filter(|(to, _)| *to == target).map(|(_, via)| via);
                    if let Some(via) = via.min_by_key(|via| via.vector()) {
                        least = Some((state.to_vec(), via));
                    }
                }
                self.go_on()?;
            }
            let (before, via) =
                least.ok_or_else(|| Error::internal("a state of a level has no predecessor"))?;
            way.push((via, std::mem::replace(&mut target, before)));
        }
        way.reverse();
        Ok(way)
    }
}

impl<S: EveryStep> Truths for Sweeps<'_, '_, S> {
    fn holds(&self) -> bool {
        // The audience is not asked to show formulas that hold.
        false
    }

    fn truth(&self, state: &[u64], position: Position) -> Option<bool> {
        let at = *self.formula.positions.get(&position)?;
        if let Some(way) = self.way.as_ref().filter(|_| at == self.formula.root || at == 0) {
            let along = state == self.run.system.initial() || way.iter().any(|(_, target)| target == state);
            return (!along).then_some(true);
        }
        if self.bits[at].is_empty() {
            return None;
        }
        let mut slot = 0;
        self.table.slots_of(state, |_, found| slot = found);
        Some(self.bit(at, slot))
    }

    fn way(&self) -> Option<Vec<(Via, Vec<u64>)>> {
        self.way.clone()
    }
}
