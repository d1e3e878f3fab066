//! Which two components are put together next: the pair whose product, once reduced, is smallest against what it replaces.
//!
//! That is measured. Pairs that share a sync are candidates, those first that have one between them alone, then by the
//! product of their sizes. A few of them are put together and reduced on trial, in batches; each batch has a limit that
//! depends on the best so far, so that hopeless ones end early. What was measured is remembered as long as nothing about the
//! pair changes.

use super::product::{Effort, Table, compose};
use super::reduce::{Reduced, reduce};
use super::system::{Component, Sync, System};
use super::{Keep, Trouble};
use crate::base::hash::Map;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The most pairs that are put together on trial in a round.
const TRIALS: usize = 16;
/// How many of them run with the same limit.
const BATCH: usize = 4;
/// A trial ends when its product has this many times the states of the best product so far.
const HOPELESS: u64 = 8;
/// No trial ends with fewer states than this.
const FEW: u64 = 4096;

/// What a trial came to.
#[derive(Clone, Debug)]
pub(super) enum Trial {
    /// The reduced product, and states and transitions before.
    Made(Arc<Reduced>, (u64, u64)),
    /// More states than this.
    Over(u64),
}

/// Trials that were made, by the versions of both components.
#[derive(Default)]
pub(super) struct Memory {
    trials: Map<(u64, u64), (Table, Trial)>,
    /// How many trials were made.
    pub(super) made: u64,
    /// States of all their products.
    pub(super) states: u64,
}

/// What to do next.
pub(super) struct Choice {
    pub(super) slots: (u32, u32),
    pub(super) table: Table,
    pub(super) syncs: Vec<Sync>,
    pub(super) reduced: Arc<Reduced>,
    pub(super) product: (u64, u64),
}

struct Candidate {
    slots: (u32, u32),
    table: Table,
    syncs: Vec<Sync>,
}

/// What the choice is made for.
pub(super) struct Chooser<'a> {
    pub(super) system: &'a System,
    /// For each slot its group, if it is in one.
    pub(super) groups: &'a [Option<u32>],
    /// The slot of a component that nothing is put together with.
    pub(super) around: Option<u32>,
    pub(super) keep: Keep,
    pub(super) effort: Effort<'a>,
    pub(super) workers: usize,
}

impl Chooser<'_> {
    /// The best pair; `None` if every trial was over the limit.
    pub(super) fn choose(&self, memory: &mut Memory) -> Result<Option<Choice>, Trouble> {
        memory.forget(self.system);
        let mut best: Option<(f64, Choice)> = None;
        let mut trouble = None;
        let pairs = self.pairs();
        for batch in pairs.chunks(BATCH) {
            let cap = best.as_ref().map_or(self.effort.states, |(_, choice)| {
                self.effort.states.min((choice.product.0 * HOPELESS).max(FEW))
            });
            let candidates: Vec<Candidate> = batch
                .iter()
                .map(|&slots| {
                    let (table, syncs) = self.system.table(slots.0, Some(slots.1));
                    Candidate { slots, table, syncs }
                })
                .collect();
            let trials = self.run(&candidates, cap, memory);
            for (candidate, trial) in candidates.into_iter().zip(trials) {
                let Candidate { slots, table, syncs } = candidate;
                let of = |slot: u32| self.system.component(slot);
                let key = (of(slots.0).version, of(slots.1).version);
                let trial = match trial {
                    Ok(trial) => trial,
                    Err(Trouble::Memory | Trouble::TooLarge) if best.is_some() => continue,
                    Err(stopped @ (Trouble::Stopped(_) | Trouble::Internal(_))) => return Err(stopped),
                    Err(other) => {
                        trouble = Some(other);
                        continue;
                    }
                };
                memory.trials.insert(key, (table.clone(), trial.clone()));
                let Trial::Made(reduced, product) = trial else { continue };
                let after = reduced.lts.num_states() + reduced.lts.num_transitions();
                let ratio = after as f64 / (of(slots.0).size() + of(slots.1).size()) as f64;
                if best.as_ref().is_none_or(|(least, _)| ratio < *least) {
                    best = Some((ratio, Choice { slots, table, syncs, reduced, product }));
                }
            }
        }
        match (best, trouble) {
            (Some((_, choice)), _) => Ok(Some(choice)),
            (None, Some(trouble)) => Err(trouble),
            (None, None) => Ok(None),
        }
    }

    /// The pairs worth a trial, the most promising first.
    fn pairs(&self) -> Vec<(u32, u32)> {
        let mut shared: Map<(u32, u32), bool> = Map::default();
        let outside = |slot: u32| Some(slot) == self.around;
        for sync in &self.system.syncs {
            let inside: Vec<u32> = sync.iter().map(|part| part.0).filter(|&slot| !outside(slot)).collect();
            for (i, &a) in inside.iter().enumerate() {
                for &b in &inside[i + 1..] {
                    *shared.entry((a, b)).or_default() |= sync.len() == 2;
                }
            }
        }
        // As long as a group is not together, nothing else is done.
        let slots: Vec<u32> = self.system.slots().filter(|&slot| !outside(slot)).collect();
        if self.around.is_some() && shared.is_empty() {
            // Components without anything in common still are one system.
            let pairs =
                slots.iter().enumerate().flat_map(|(i, &a)| slots[i + 1..].iter().map(move |&b| (a, b)));
            shared.extend(pairs.map(|pair| (pair, false)));
        }
        let mut grouped = Vec::new();
        for (i, &a) in slots.iter().enumerate() {
            for &b in &slots[i + 1..] {
                let group = self.groups[a as usize];
                if group.is_some() && group == self.groups[b as usize] {
                    grouped.push((a, b));
                }
            }
        }
        let size = |slot: u32| self.system.component(slot).lts.num_states() as u64;
        let rank = |pair: &(u32, u32)| {
            let alone = shared.get(pair).copied().unwrap_or(false);
            (!alone, size(pair.0).saturating_mul(size(pair.1)), *pair)
        };
        let mut pairs: Vec<(u32, u32)> = match grouped.is_empty() {
            true => shared.keys().copied().collect(),
            false => grouped,
        };
        pairs.sort_by_cached_key(rank);
        pairs.truncate(TRIALS);
        pairs
    }

    /// Puts the pairs of a batch together.
    fn run(&self, candidates: &[Candidate], cap: u64, memory: &mut Memory) -> Vec<Result<Trial, Trouble>> {
        let components = |candidate: &Candidate| {
            let (a, b) = candidate.slots;
            (self.system.component(a), self.system.component(b))
        };
        let known = |candidate: &Candidate| {
            let (a, b) = components(candidate);
            let (table, trial) = memory.trials.get(&(a.version, b.version))?;
            let still = match trial {
                Trial::Made(..) => true,
                Trial::Over(limit) => *limit >= cap,
            };
            (still && *table == candidate.table).then(|| trial.clone())
        };
        let mut trials: Vec<Option<Result<Trial, Trouble>>> =
            candidates.iter().map(|candidate| known(candidate).map(Ok)).collect();
        let todo: Vec<usize> = (0..candidates.len()).filter(|&i| trials[i].is_none()).collect();
        let one = |i: usize| {
            let (a, b) = components(&candidates[i]);
            self.trial(a, b, &candidates[i].table, cap)
        };
        if self.workers <= 1 || todo.len() <= 1 {
            todo.iter().for_each(|&i| trials[i] = Some(one(i)));
        } else {
            let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
            std::thread::scope(|scope| {
                for _ in 0..self.workers.min(todo.len()) {
                    scope.spawn(|| {
                        while let Some(&i) = todo.get(next.fetch_add(1, Relaxed)) {
                            let trial = one(i);
                            results.lock().unwrap_or_else(PoisonError::into_inner).push((i, trial));
                        }
                    });
                }
            });
            for (i, trial) in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
                trials[i] = Some(trial);
            }
        }
        for &i in &todo {
            memory.made += 1;
            memory.states += match &trials[i] {
                Some(Ok(Trial::Made(_, product))) => product.0,
                _ => cap,
            };
        }
        trials.into_iter().map(|trial| trial.unwrap_or(Ok(Trial::Over(cap)))).collect()
    }

    fn trial(&self, a: &Component, b: &Component, table: &Table, cap: u64) -> Result<Trial, Trouble> {
        let effort = Effort { states: cap, ..self.effort };
        let product = match compose(a, Some(b), table, effort) {
            Ok(product) => product,
            Err(Trouble::TooLarge) => return Ok(Trial::Over(cap)),
            Err(other) => return Err(other),
        };
        let size = (product.lts.num_states() as u64, product.lts.num_transitions() as u64);
        let reduced = reduce(&product.lts, self.keep, a.observes || b.observes, effort)?;
        // Where states went is found out again if a counterexample needs it.
        Ok(Trial::Made(Arc::new(reduced.without_places()), size))
    }
}

impl Memory {
    /// Forgets trials of components that are gone.
    fn forget(&mut self, system: &System) {
        let live: Vec<u64> = {
            let mut live: Vec<u64> = system.slots().map(|slot| system.component(slot).version).collect();
            live.sort_unstable();
            live
        };
        let lives = |version: &u64| live.binary_search(version).is_ok();
        self.trials.retain(|(a, b), _| lives(a) && lives(b));
    }
}
