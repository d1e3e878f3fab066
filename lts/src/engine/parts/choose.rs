//! Which components are put together next: the pair whose reduced product is smallest in relation to what it replaces, and
//! all pairs that are exactly as good, as far as no component is in two of them ([`as_good`]).
//!
//! That is measured. Pairs that share a sync are candidates, those first that have one between them alone, then by the
//! product of their sizes. What was measured is remembered as long as nothing about the pair changes. The others are put
//! together and reduced on trial: if nothing is known yet, a few of them at first, then all. Each batch has a limit that
//! depends on the best so far, so that hopeless ones end early.
//!
//! If the user wants fewer trials, an [estimate](super::estimate) orders the pairs, and the first that can be made decide.
//!
//! Invariant: which trials there are, and what is chosen, follows from the results of the trials before; which worker made
//! them, and in which order, does not matter.

use super::estimate::Estimates;
use super::mutants::{self, Mutant};
use super::product::Table;
use super::system::{Sync, System};
use super::task::{Answered, End, Kept, Part, Task, What, size, trouble};
use super::{Keep, Trials, Trouble};
use crate::base::error::Error;
use crate::base::hash::Map;
use crate::base::memory::Budget;
use std::collections::VecDeque;
use std::sync::Arc;

/// The most pairs that are put together on trial in a round.
const TRIALS: usize = 16;
/// How many of them are tried first if nothing is known that limits them.
const BATCH: usize = 4;
/// A trial ends when its product has this many times the states of the best product so far.
const HOPELESS: u64 = 8;
/// No trial ends with fewer states than this.
const FEW: u64 = 512;

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
    /// Its place among the pairs of the round.
    place: usize,
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
    /// Pairs of which it is not known what they come to, the most promising first.
    open: VecDeque<Candidate>,
    /// The batch that is being tried, and its limit.
    batch: Vec<Candidate>,
    cap: u64,
    measured: Vec<Measured>,
    /// The best of them, by its place.
    best: Option<usize>,
    trouble: Option<Trouble>,
}

/// A pair whose product was made.
struct Measured {
    place: usize,
    /// States and transitions of the reduced product against those of what it replaces.
    ratio: f64,
    choice: Choice,
}

impl Choosing {
    pub(super) fn new(chooser: &Chooser, memory: &mut Memory) -> Self {
        memory.forget(chooser.system);
        let pairs = chooser.pairs().into_iter().enumerate();
        let open = pairs.map(|(place, slots)| chooser.candidate(place, slots, memory)).collect();
        let (batch, measured) = (Vec::new(), Vec::new());
        let mut choosing = Choosing { open, batch, cap: chooser.limit, measured, best: None, trouble: None };
        if chooser.trials == Trials::Many {
            choosing.recall(chooser);
        }
        choosing
    }

    /// Takes the results that are known already: they cost nothing, and show early which trials are hopeless.
    fn recall(&mut self, chooser: &Chooser) {
        for candidate in std::mem::take(&mut self.open) {
            match &candidate.known {
                Some(Trial::Made { .. }) => self.measure(chooser, candidate),
                Some(Trial::Over(_)) | None => self.open.push_back(candidate),
            }
        }
    }

    /// The trials of the next batch, each with its number among all that were ever made; none: there is no batch left.
    pub(super) fn tasks(&mut self, chooser: &Chooser, memory: &mut Memory) -> Option<Vec<(u64, Task)>> {
        let enough = chooser.trials != Trials::Many && self.best.is_some();
        if self.open.is_empty() || enough {
            return None;
        }
        let batch = match (chooser.trials, self.best) {
            (Trials::None, _) => 1,
            #[cfg(test)]
            (Trials::Random(_), _) => 1,
            (Trials::Many, Some(_)) => TRIALS,
            (Trials::Few, _) | (Trials::Many, None) => BATCH,
        };
        let hopeless = |best: usize| (self.measured[best].choice.product.0 * HOPELESS).max(FEW);
        self.cap = self.best.map_or(chooser.limit, |best| chooser.limit.min(hopeless(best)));
        let cap = self.cap;
        self.batch = self.open.drain(..batch.min(self.open.len())).collect();
        for candidate in &mut self.batch {
            candidate.known.take_if(|trial| matches!(trial, Trial::Over(limit) if *limit < cap));
        }
        let unknown = self.batch.iter().filter(|candidate| candidate.known.is_none());
        let tasks = unknown.map(|candidate| {
            memory.made += 1;
            (memory.made - 1, chooser.task(candidate.slots, &candidate.table, cap))
        });
        Some(tasks.collect())
    }

    /// Takes the results of these trials, in the same order.
    pub(super) fn absorb(
        &mut self,
        chooser: &Chooser,
        memory: &mut Memory,
        answers: impl IntoIterator<Item = Answered>,
    ) -> Result<(), Trouble> {
        let mut answers = answers.into_iter();
        for mut candidate in std::mem::take(&mut self.batch) {
            if candidate.known.is_none() {
                let trial = self.trial(answers.next().map(|answered| answered.end), chooser.budget);
                memory.states += match &trial {
                    Ok(Trial::Made { product, .. }) => product.0,
                    _ => self.cap,
                };
                match trial {
                    Ok(trial) => {
                        let of = |slot: u32| chooser.system.component(slot).version;
                        let key = (of(candidate.slots.0), of(candidate.slots.1));
                        memory.trials.insert(key, (candidate.table.clone(), trial.clone()));
                        candidate.known = Some(trial);
                    }
                    Err(Trouble::Memory | Trouble::TooLarge) if self.best.is_some() => continue,
                    Err(stopped @ (Trouble::Stopped(_) | Trouble::Internal(_))) => return Err(stopped),
                    Err(other) => {
                        self.trouble = Some(other);
                        continue;
                    }
                }
            }
            self.measure(chooser, candidate);
        }
        Ok(())
    }

    /// Takes a pair of which it is known what it comes to.
    fn measure(&mut self, chooser: &Chooser, candidate: Candidate) {
        let Candidate { place, slots, table, syncs, known } = candidate;
        let Some(Trial::Made { kept, product, reduced }) = known else { return };
        let of = |slot: u32| chooser.system.component(slot).size();
        let ratio = (reduced.0 + reduced.1) as f64 / (of(slots.0) + of(slots.1)) as f64;
        if self.best.is_none_or(|best| ratio < self.measured[best].ratio) {
            self.best = Some(self.measured.len());
        }
        self.measured.push(Measured { place, ratio, choice: Choice { slots, table, syncs, kept, product } });
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

    /// The pairs that are put together, the best first, none of them with a component of another one; none if every trial
    /// was over the limit.
    pub(super) fn chosen(self, chooser: &Chooser) -> Result<Vec<Choice>, Trouble> {
        let Some(best) = self.best else { return self.trouble.map_or(Ok(Vec::new()), Err) };
        if chooser.trials == Trials::Many {
            return in_turn(chooser.system, as_good(self.measured));
        }
        let best = self.measured.into_iter().nth(best);
        Ok(best.map(|measured| measured.choice).into_iter().collect())
    }
}

/// The best pair, and those that are exactly as good, in the order of the pairs; no component is in two of them.
fn as_good(mut measured: Vec<Measured>) -> Vec<Choice> {
    let least = measured.iter().map(|pair| pair.ratio).fold(f64::INFINITY, f64::min);
    measured.retain(|pair| pair.ratio <= least);
    measured.sort_by_key(|pair| pair.place);
    let mut choices: Vec<Choice> = Vec::new();
    for Measured { choice, .. } in measured {
        let (a, b) = choice.slots;
        let shares = |other: &Choice| [other.slots.0, other.slots.1].iter().any(|slot| [a, b].contains(slot));
        if !choices.iter().any(shares) {
            choices.push(choice);
        }
    }
    choices
}

/// Several pairs without a component in common, with the syncs that there are when those before are put together.
///
/// Their trials stay right: what a pair does is called the same afterwards only if it has the same contexts, so contexts of
/// another pair that differ go on to differ, and its table is what it was.
fn in_turn(system: &System, mut choices: Vec<Choice>) -> Result<Vec<Choice>, Trouble> {
    if choices.len() < 2 || mutants::is(Mutant::OldSyncs) {
        return Ok(choices);
    }
    let mut system = system.clone();
    for choice in &mut choices {
        let (first, second) = choice.slots;
        let (table, syncs) = system.table(first, Some(second));
        if table != choice.table {
            return Err(Trouble::Internal(Error::internal("a trial of components that have changed")));
        }
        system.rename(first, Some(second), syncs.clone());
        choice.syncs = syncs;
    }
    Ok(choices)
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
        #[cfg(test)]
        if let Trials::Random(seed) = self.trials {
            return drawn(&slots, seed);
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

    /// A pair, with what it came to if that was tried and still is so.
    fn candidate(&self, place: usize, slots: (u32, u32), memory: &Memory) -> Candidate {
        let (table, syncs) = self.system.table(slots.0, Some(slots.1));
        let of = |slot: u32| self.system.component(slot).version;
        let tried = memory.trials.get(&(of(slots.0), of(slots.1)));
        let known = tried.filter(|(as_table, _)| *as_table == table).map(|(_, trial)| trial.clone());
        Candidate { place, slots, table, syncs, known }
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

/// Pairs in an order that is drawn, whether they have anything to do with each other or not.
#[cfg(test)]
fn drawn(slots: &[u32], seed: u64) -> Vec<(u32, u32)> {
    let mut rng = crate::base::rng::Rng::new(seed ^ (slots.len() as u64) << 32);
    let mut pairs: Vec<(u32, u32)> =
        slots.iter().enumerate().flat_map(|(i, &a)| slots[i + 1..].iter().map(move |&b| (a, b))).collect();
    for i in 1..pairs.len() {
        pairs.swap(i, rng.below(i + 1));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::parts::system::SystemQuestion;
    use crate::property::Property;
    use crate::samples::synthetic;

    /// What is chosen in the first round among philosophers, and what is in the system.
    fn first_round(trials: Trials) -> (Vec<Choice>, System) {
        let net = synthetic::polite_philosophers(12);
        let property = Property::DeadlockFree { allow_termination: false };
        let budget = Arc::new(Budget::new(1 << 30));
        let system = System::new(&net, SystemQuestion::Property(&property), &budget).expect("it is small");
        let groups = vec![None; system.components.len()];
        let (keep, limit) = (Keep::Deadlocks, 1000);
        let chooser =
            Chooser { system: &system, groups: &groups, around: None, keep, limit, trials, budget: &budget };
        let mut memory = Memory::default();
        let mut choosing = Choosing::new(&chooser, &mut memory);
        while let Some(tasks) = choosing.tasks(&chooser, &mut memory) {
            let answers: Vec<Answered> =
                tasks.iter().map(|(_, task)| task.run(&budget, &|| None, false)).collect();
            choosing.absorb(&chooser, &mut memory, answers).expect("nothing is too large");
        }
        let chosen = choosing.chosen(&chooser).expect("nothing is too large");
        (chosen, system)
    }

    #[test]
    fn pairs_that_are_as_good_are_put_together_in_one_round() {
        let (chosen, system) = first_round(Trials::Many);
        assert!(chosen.len() > 2, "{}", chosen.len());
        let mut slots: Vec<u32> = chosen.iter().flat_map(|choice| [choice.slots.0, choice.slots.1]).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), 2 * chosen.len(), "nobody is put together with two others at once");
        // The syncs of each are those of the system that those before it leave.
        let mut left = system.clone();
        for Choice { slots: (a, b), table, syncs, kept, .. } in chosen {
            assert_eq!(left.table(a, Some(b)), (table, syncs.clone()));
            assert!(kept.is_some(), "it was made on trial");
            left.rename(a, Some(b), syncs);
        }
    }

    #[test]
    fn an_estimate_chooses_one_pair() {
        assert_eq!(first_round(Trials::Few).0.len(), 1);
        assert_eq!(first_round(Trials::None).0.len(), 1);
    }

    #[test]
    fn only_what_is_as_good_is_put_together_with_the_best() {
        let choice = |slots| Choice {
            slots,
            table: Table::new(0, 0, 0, &[], &[]),
            syncs: Vec::new(),
            kept: None,
            product: (1, 1),
        };
        let taken = |pairs: &[(f64, (u32, u32))]| -> Vec<(u32, u32)> {
            let measured = pairs.iter().enumerate();
            let measured =
                measured.map(|(place, &(ratio, slots))| Measured { place, ratio, choice: choice(slots) });
            as_good(measured.collect()).iter().map(|choice| choice.slots).collect()
        };
        // The first of those that share a component counts, in the order of the pairs.
        let pairs =
            [(0.9, (2, 3)), (0.5, (1, 2)), (0.6, (4, 5)), (0.5, (2, 6)), (0.5, (8, 9)), (0.5, (6, 7))];
        assert_eq!(taken(&pairs), [(1, 2), (8, 9), (6, 7)]);
        assert_eq!(taken(&[(1.6, (2, 3)), (1.5, (4, 5)), (1.5, (5, 6))]), [(4, 5)]);
        assert_eq!(taken(&[]), []);
    }
}
