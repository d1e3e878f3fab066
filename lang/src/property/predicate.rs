//! Action formulas as predicates over label patterns, and the classes of steps that they tell apart.
//!
//! A step's class is decided by which patterns it matches. Not every set of patterns can be matched at once: of
//! `send(0)` and `send(1)` at most one is. [`Classes`] numbers only the sets without two patterns that exclude each
//! other, so a formula over many actions still has few classes. Invariant: the patterns that a step matches are always
//! one of these sets.

use super::labels::{LabelPattern, Steps};
use crate::process::action::{Act, Names, names};
use gridlock_lts::base::hash::Map;

/// The most sets of patterns that are numbered.
const MAX_SETS: usize = 1 << 14;

/// A set of multi-actions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Predicate {
    /// All or none.
    Const(bool),
    /// Those that match a pattern, by its number in [`Patterns`].
    Matches(u32),
    /// Those that are not in a set.
    Not(Box<Predicate>),
    /// Those in all of these sets.
    And(Vec<Predicate>),
    /// Those in any of these sets.
    Or(Vec<Predicate>),
}

impl Predicate {
    /// The complement.
    pub fn negate(self) -> Self {
        match self {
            Predicate::Const(b) => Predicate::Const(!b),
            Predicate::Not(inner) => *inner,
            other => Predicate::Not(Box::new(other)),
        }
    }

    /// The intersection (`and`) or union of sets.
    pub fn junction(and: bool, operands: impl IntoIterator<Item = Predicate>) -> Self {
        let mut kept: Vec<Predicate> = Vec::new();
        for operand in operands {
            match operand {
                Predicate::Const(b) if b == and => {}
                Predicate::Const(b) => return Predicate::Const(b),
                other => kept.push(other),
            }
        }
        match kept.len() {
            0 => Predicate::Const(and),
            1 => kept.remove(0),
            _ if and => Predicate::And(kept),
            _ => Predicate::Or(kept),
        }
    }

    /// Whether a multi-action that matches exactly these patterns is in the set.
    fn holds(&self, matched: &[u32]) -> bool {
        match self {
            Predicate::Const(b) => *b,
            Predicate::Matches(pattern) => matched.binary_search(pattern).is_ok(),
            Predicate::Not(inner) => !inner.holds(matched),
            Predicate::And(all) => all.iter().all(|p| p.holds(matched)),
            Predicate::Or(all) => all.iter().any(|p| p.holds(matched)),
        }
    }

    fn patterns(&self, out: &mut Vec<u32>) {
        match self {
            Predicate::Const(_) => {}
            Predicate::Matches(pattern) => out.push(*pattern),
            Predicate::Not(inner) => inner.patterns(out),
            Predicate::And(all) | Predicate::Or(all) => all.iter().for_each(|p| p.patterns(out)),
        }
    }
}

/// The patterns of a formula, each once.
#[derive(Debug, Default)]
pub struct Patterns {
    all: Vec<LabelPattern>,
    ids: Map<LabelPattern, u32>,
    end: u32,
}

impl Patterns {
    /// The number of a pattern, a new one if it was not seen before.
    pub fn add(&mut self, pattern: LabelPattern) -> u32 {
        let next = self.all.len() as u32;
        let id = *self.ids.entry(pattern.clone()).or_insert(next);
        if id == next {
            self.all.push(pattern);
        }
        id
    }

    /// Adds the pattern of the step in which the system ends.
    pub fn add_end(&mut self, pattern: LabelPattern) {
        self.end = self.add(pattern);
    }

    /// The number of that pattern.
    pub fn end(&self) -> u32 {
        self.end
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }
}

/// The classes that some predicates tell apart.
pub struct Classes {
    /// For each class the truth of each predicate.
    pub truths: Vec<Vec<bool>>,
    /// The class of each set of patterns.
    of_set: Map<Vec<u32>, u32>,
    /// The patterns in use, by the names they match.
    index: Map<Names, Vec<(u32, LabelPattern)>>,
}

/// Why there are no classes: too many sets of patterns can be matched at once.
#[derive(Debug)]
pub struct TooManySets;

impl Classes {
    /// The classes of these predicates.
    pub fn new(patterns: &Patterns, predicates: &[Predicate]) -> Result<Self, TooManySets> {
        let mut used = Vec::new();
        predicates.iter().for_each(|p| p.patterns(&mut used));
        used.sort_unstable();
        used.dedup();
        let pattern = |id: u32| &patterns.all[id as usize];
        let mut classes = Classes { truths: Vec::new(), of_set: Map::default(), index: Map::default() };
        for &id in &used {
            let named = pattern(id).names();
            classes.index.entry(named).or_default().push((id, pattern(id).clone()));
        }
        let mut numbers: Map<Vec<bool>, u32> = Map::default();
        // Each set grows by later patterns only, so each is made once.
        let mut sets: Vec<Vec<u32>> = vec![Vec::new()];
        let mut next = 0;
        while next < sets.len() {
            let set = sets[next].clone();
            next += 1;
            let truths: Vec<bool> = predicates.iter().map(|p| p.holds(&set)).collect();
            let fresh = classes.truths.len() as u32;
            let class = *numbers.entry(truths.clone()).or_insert(fresh);
            if class == fresh {
                classes.truths.push(truths);
            }
            let later = used.partition_point(|id| set.last().is_some_and(|last| id <= last));
            for &id in &used[later..] {
                if !set.iter().any(|other| pattern(*other).excludes(pattern(id))) {
                    sets.push([&set[..], &[id]].concat());
                }
            }
            if sets.len() > MAX_SETS {
                return Err(TooManySets);
            }
            classes.of_set.insert(set, class);
        }
        Ok(classes)
    }

    /// The class of a step.
    pub fn class(&self, steps: &Steps, doing: &[Act]) -> u32 {
        let patterns = self.index.get(&names(doing)).map(Vec::as_slice).unwrap_or_default();
        let fitting = patterns.iter().filter(|(_, pattern)| steps.matches(pattern, doing));
        let mut matched: Vec<u32> = fitting.map(|(id, _)| *id).collect();
        matched.sort_unstable();
        *self.of_set.get(&matched).expect("patterns that match the same step do not exclude each other")
    }
}
