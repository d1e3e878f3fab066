//! Which two components are put together next: the pair whose product, once reduced, is smallest against what it replaces.
//!
//! That is measured. Pairs that share a sync are candidates, those first that have one between them alone, then by the
//! product of their sizes. A few of them are put together and reduced on trial, in batches; each batch has a limit that
//! depends on the best so far, so that hopeless ones end early. What was measured is remembered as long as nothing about the
//! pair changes.
//!
//! If the user wants fewer trials, an [estimate](super::estimate) orders the pairs, and the first that can be made decide.
//!
//! Invariant: which trials there are, and what is chosen, follows from what came of the trials before; who made them, and
//! in which order, does not matter.

use super::estimate::Estimates;
use super::product::Table;
use super::system::{Sync, System};
use super::task::{Answered, End, Kept, Part, Task, What, size, trouble};
use super::{Keep, Trials, Trouble};
use crate::base::hash::Map;
use crate::base::memory::Budget;
use std::sync::Arc;

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
enum Trial {
    /// States and transitions of the product before and after it was reduced. What it was reduced to is not at hand
    /// if an earlier run made it.
    Made { kept: Option<Kept>, product: (u64, u64), reduced: (u64, u64) },
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
    /// What the product is reduced to, if it is at hand.
    pub(super) kept: Option<Kept>,
    pub(super) product: (u64, u64),
}

struct Candidate {
    slots: (u32, u32),
    table: Table,
    syncs: Vec<Sync>,
    /// What it came to, if that is known already.
    known: Option<Trial>,
}

/// What the choice is made for.
#[derive(Clone, Copy)]
pub(super) struct Chooser<'a> {
    pub(super) system: &'a System,
    /// For each slot its group, if it is in one.
    pub(super) groups: &'a [Option<u32>],
    /// The slot of a component that nothing is put together with.
    pub(super) around: Option<u32>,
    pub(super) keep: Keep,
    /// The most states of a product.
    pub(super) limit: u64,
    pub(super) trials: Trials,
    pub(super) budget: &'a Arc<Budget>,
}

/// A choice while trials are made for it.
pub(super) struct Choosing {
    pairs: Vec<(u32, u32)>,
    /// Pairs of batches that are through.
    through: usize,
    /// The batch that is being tried, and its limit.
    batch: Vec<Candidate>,
    cap: u64,
    best: Option<(f64, Choice)>,
    trouble: Option<Trouble>,
}

impl Choosing {
    pub(super) fn new(chooser: &Chooser, memory: &mut Memory) -> Self {
        memory.forget(chooser.system);
        let (pairs, batch) = (chooser.pairs(), Vec::new());
        Choosing { pairs, through: 0, batch, cap: chooser.limit, best: None, trouble: None }
    }

    /// The trials of the next batch, each with its number among all that were ever made; none: there is no batch left.
    pub(super) fn tasks(&mut self, chooser: &Chooser, memory: &mut Memory) -> Option<Vec<(u64, Task)>> {
        let batch = if chooser.trials == Trials::None { 1 } else { BATCH };
        let pairs = self.pairs[self.through..].iter().take(batch).copied().collect::<Vec<_>>();
        let enough = chooser.trials != Trials::Many && self.best.is_some();
        if pairs.is_empty() || enough {
            return None;
        }
        self.through += pairs.len();
        let hopeless = |(_, choice): &(f64, Choice)| (choice.product.0 * HOPELESS).max(FEW);
        self.cap = self.best.as_ref().map_or(chooser.limit, |best| chooser.limit.min(hopeless(best)));
        let cap = self.cap;
        self.batch = pairs.into_iter().map(|slots| chooser.candidate(slots, cap, memory)).collect();
        let unknown = self.batch.iter().filter(|candidate| candidate.known.is_none());
        let tasks = unknown.map(|candidate| {
            memory.made += 1;
            (memory.made - 1, chooser.task(candidate.slots, &candidate.table, cap))
        });
        Some(tasks.collect())
    }

    /// Takes what came of these trials, in the same order.
    pub(super) fn absorb(
        &mut self,
        chooser: &Chooser,
        memory: &mut Memory,
        answers: impl IntoIterator<Item = Answered>,
    ) -> Result<(), Trouble> {
        let mut answers = answers.into_iter();
        for candidate in std::mem::take(&mut self.batch) {
            let Candidate { slots, table, syncs, known } = candidate;
            let trial = match known {
                Some(trial) => Ok(trial),
                None => {
                    let trial = self.trial(answers.next().map(|answered| answered.end), chooser.budget);
                    memory.states += match &trial {
                        Ok(Trial::Made { product, .. }) => product.0,
                        _ => self.cap,
                    };
                    trial
                }
            };
            let trial = match trial {
                Ok(trial) => trial,
                Err(Trouble::Memory | Trouble::TooLarge) if self.best.is_some() => continue,
                Err(stopped @ (Trouble::Stopped(_) | Trouble::Internal(_))) => return Err(stopped),
                Err(other) => {
                    self.trouble = Some(other);
                    continue;
                }
            };
            let of = |slot: u32| chooser.system.component(slot);
            let key = (of(slots.0).version, of(slots.1).version);
            memory.trials.insert(key, (table.clone(), trial.clone()));
            let Trial::Made { kept, product, reduced } = trial else { continue };
            let ratio = (reduced.0 + reduced.1) as f64 / (of(slots.0).size() + of(slots.1).size()) as f64;
            if self.best.as_ref().is_none_or(|(least, _)| ratio < *least) {
                self.best = Some((ratio, Choice { slots, table, syncs, kept, product }));
            }
        }
        Ok(())
    }

    /// What an answer says about a candidate.
    fn trial(&self, end: Option<End>, budget: &Arc<Budget>) -> Result<Trial, Trouble> {
        match end.unwrap_or(End::Stopped) {
            End::Made { body, product } => {
                let reduced = size(&body.0);
                Ok(Trial::Made { kept: Some(Kept::new(body, budget)?), product, reduced })
            }
            End::Known { product, reduced } => Ok(Trial::Made { kept: None, product, reduced }),
            End::TooLarge(_) => Ok(Trial::Over(self.cap)),
            other => Err(trouble(other)),
        }
    }

    /// The best pair; `None` if every trial was over the limit.
    pub(super) fn chosen(self) -> Result<Option<Choice>, Trouble> {
        match (self.best, self.trouble) {
            (Some((_, choice)), _) => Ok(Some(choice)),
            (None, Some(trouble)) => Err(trouble),
            (None, None) => Ok(None),
        }
    }
}

impl Chooser<'_> {
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
        if self.trials != Trials::Many {
            let estimates = Estimates::new(self.system, &pairs);
            pairs.sort_by_key(|&pair| std::cmp::Reverse(estimates.promise(pair)));
        }
        pairs.truncate(TRIALS);
        pairs
    }

    /// A pair, with what it came to if that was tried with at least this limit and still is so.
    fn candidate(&self, slots: (u32, u32), cap: u64, memory: &Memory) -> Candidate {
        let (table, syncs) = self.system.table(slots.0, Some(slots.1));
        let of = |slot: u32| self.system.component(slot);
        let tried = memory.trials.get(&(of(slots.0).version, of(slots.1).version));
        let still = |(as_table, trial): &&(Table, Trial)| {
            let enough = match trial {
                Trial::Made { .. } => true,
                Trial::Over(limit) => *limit >= cap,
            };
            enough && *as_table == table
        };
        let known = tried.filter(still).map(|(_, trial)| trial.clone());
        Candidate { slots, table, syncs, known }
    }

    /// Puts two components together and reduces the result.
    pub(super) fn task(&self, slots: (u32, u32), table: &Table, limit: u64) -> Task {
        let of = |slot: u32| Part::from(&**self.system.component(slot));
        let (first, second) = (of(slots.0), Some(of(slots.1)));
        Task { what: What::Product { first, second, table: table.clone() }, keep: self.keep, limit }
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
