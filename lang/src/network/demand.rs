//! What the surrounding operators can still use: a bound on the multi-actions worth building inside them.
//!
//! A demand is a set of multi-actions (multisets of names), given by two conditions that must both hold: it contains no
//! *forbidden* name, and without its *free* names it is part of one of the *patterns*. Every such set is closed downwards:
//! with a multi-action it contains all its parts. Two things follow.
//!
//! 1. Parallel composition passes its demand on to its components unchanged, since what one of them contributes to a
//!    multi-action is a part of it.
//! 2. For an operator it is enough that the demand inside contains every `m` that the operator can turn into some `r`
//!    of the demand outside. [`Demand::inside`] is that pre-image, or a larger set of the same form. It may treat the
//!    two conditions apart, for the pre-image of an intersection lies in the intersection of the pre-images.
//!
//! A demand that is too large costs time; one that is too small loses steps. So where something is given up, it is a
//! condition, never a multi-action.

use crate::model::ActName;
use crate::process::action::{Names, Operator};
use std::collections::BTreeSet;

/// Demands with more patterns than this are given up (everything is then wanted).
const MAX_PATTERNS: usize = 20_000;

/// A set of multi-actions, see the module head.
#[derive(Clone, Debug)]
pub struct Demand {
    /// Multi-actions, each sorted, of which what is done must be a part; `None`: anything.
    patterns: Option<Vec<Names>>,
    /// Names that patterns do not count.
    free: BTreeSet<ActName>,
    /// Names that are never wanted, be they free or not.
    forbidden: BTreeSet<ActName>,
}

impl Demand {
    /// Every multi-action is wanted.
    pub fn everything() -> Self {
        Demand { patterns: None, free: BTreeSet::new(), forbidden: BTreeSet::new() }
    }

    /// Whether it contains only parts of certain multi-actions, apart from names that do not count.
    pub fn is_bounded(&self) -> bool {
        self.patterns.is_some()
    }

    /// Whether a multi-action, sorted, may become part of a step of the whole system.
    pub fn wants(&self, names: &[ActName]) -> bool {
        if names.iter().any(|n| self.forbidden.contains(n)) {
            return false;
        }
        let Some(patterns) = &self.patterns else { return true };
        let counted: Names = names.iter().copied().filter(|n| !self.free.contains(n)).collect();
        counted.is_empty() || patterns.iter().any(|p| is_part(&counted, p))
    }

    /// What is wanted of the process inside an operator.
    pub fn inside(&self, operator: &Operator) -> Demand {
        match operator {
            // What passes is one of the entries, or `tau`, which is part of every pattern. The parts of the entries
            // that are wanted outside are a demand by themselves.
            Operator::Allow(allowed) => Demand {
                patterns: Some(allowed.iter().filter(|names| self.wants(names)).cloned().collect()),
                free: BTreeSet::new(),
                forbidden: BTreeSet::new(),
            },
            // What passes is unchanged and has no blocked name.
            Operator::Block(blocked) => {
                let mut demand = self.clone();
                demand.forbidden.extend(blocked);
                demand
            }
            // Hidden names do not get out: what is outside about them says nothing about what is inside.
            Operator::Hide(hidden) => {
                let mut demand = self.clone();
                demand.free.extend(hidden);
                demand.forbidden.retain(|n| !hidden.contains(n));
                demand
            }
            Operator::Rename(pairs) => self.before_rename(pairs),
            Operator::Comm(rules) => self.before_comm(rules),
        }
    }

    /// All names change at once, each by itself. So a name is free or forbidden inside if and only if the name it
    /// becomes is, and what is part of a pattern has, for every occurrence of a name there, at most one action that
    /// becomes this name. A name that nothing becomes (it is itself renamed away) takes no room; the rest of its
    /// pattern stays.
    fn before_rename(&self, pairs: &[(ActName, ActName)]) -> Demand {
        let sources = |n: ActName| {
            let renamed = pairs.iter().filter(move |(_, to)| *to == n).map(|(from, _)| *from);
            let same = pairs.iter().all(|(from, _)| *from != n).then_some(n);
            renamed.chain(same)
        };
        let all = |names: &BTreeSet<ActName>| names.iter().flat_map(|n| sources(*n)).collect();
        Demand {
            patterns: self.patterns_before(&|n| sources(n).map(|from| vec![from]).collect()),
            free: all(&self.free),
            forbidden: all(&self.forbidden),
        }
    }

    /// Which groups of actions communicate depends on their arguments, so any choice of groups may. Each action that
    /// comes out was there before or stands for one group that went in.
    ///
    /// - Patterns: every occurrence of a name takes the room of that name or of a left-hand side that yields it. What
    ///   becomes a free name is made of that name and the left-hand sides that yield it, and these are free.
    /// - Forbidden: an action with such a name must go into a communication. It stays forbidden if no left-hand side
    ///   has it, or if only those that yield forbidden names do.
    fn before_comm(&self, rules: &[(Names, ActName)]) -> Demand {
        let mut free = self.free.clone();
        for (left, _) in rules.iter().filter(|(_, to)| self.free.contains(to)) {
            free.extend(left);
        }
        let used_up =
            |n: &ActName| rules.iter().any(|(left, to)| left.contains(n) && !self.forbidden.contains(to));
        Demand {
            patterns: self.patterns_before(&|n| {
                let yields = rules.iter().filter(|(_, to)| *to == n).map(|(left, _)| left.clone());
                std::iter::once(vec![n]).chain(yields).collect()
            }),
            free,
            forbidden: self.forbidden.iter().copied().filter(|n| !used_up(n)).collect(),
        }
    }

    /// The patterns before each of their names comes from one of `sources`; a name without a source is left out.
    fn patterns_before(&self, sources: &dyn Fn(ActName) -> Vec<Names>) -> Option<Vec<Names>> {
        let mut all: BTreeSet<Names> = BTreeSet::new();
        for pattern in self.patterns.as_ref()? {
            let mut before: Vec<Names> = vec![Vec::new()];
            // Free names need no room, forbidden ones can have none.
            for n in pattern.iter().filter(|n| !self.free.contains(n) && !self.forbidden.contains(n)) {
                let from = sources(*n);
                if from.is_empty() {
                    continue;
                }
                before = before
                    .iter()
                    .flat_map(|prefix| from.iter().map(move |s| [&prefix[..], &s[..]].concat()))
                    .collect();
                if before.len() > MAX_PATTERNS {
                    return None;
                }
            }
            all.extend(before.into_iter().map(|mut names| {
                names.sort();
                names
            }));
            if all.len() > MAX_PATTERNS {
                return None;
            }
        }
        Some(all.into_iter().collect())
    }
}

/// Whether a sorted multiset is part of another.
fn is_part(part: &[ActName], whole: &[ActName]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|n| whole.by_ref().any(|m| m == n))
}
