//! Operators around a term, and which of them can go.
//!
//! In `P = a . allow({a}, hide({b}, P))` every step puts two more operators around the same process. Operators apply to
//! each multi-action of what they stand around, before and after every step, so a stack of them is one function on
//! multi-actions (which may also forbid one), and two stacks with the same function around the same term are strongly
//! bisimilar: a step of the one is a step of the other, and leads to the same stacks around the same term again. Two
//! rules keep stacks from growing:
//!
//! 1. An operator goes if it changes nothing that can come out of the stack below it. What can come out is
//!    over-approximated ([`Results`]), for any term inside: so the operator leaves every step of the term alone, and those
//!    of all its successors, around which the stack below is the same.
//! 2. `block`, `hide` and `rename` look at one name at a time: a stack of only these is a function from names to names,
//!    to nothing, or to "forbidden", and a multi-action passes if none of its names is forbidden. Where the function of
//!    the topmost of them, down to some place, is that of fewer of them from there, the others go. There are finitely
//!    many such functions, so that renaming in circles ends, too.
//!
//! Stacks of other kinds, say a `comm` whose results communicate again, may still grow; that costs states, never steps.

use crate::model::ActName;
use crate::process::action::{Names, Operator};
use std::collections::BTreeSet;

/// Higher stacks are left as they are.
pub const HIGHEST: usize = 32;

/// More multi-actions than this are not told apart.
const MOST: usize = 1000;

/// How many operators of a stack, outermost first, can be left out at its top; `names` is how many names there are.
pub fn superfluous(stack: &[&Operator], names: usize) -> usize {
    let Some((top, below)) = stack.split_first() else { return 0 };
    let mut results = Results::anything(names);
    below.iter().rev().for_each(|operator| results.after(operator));
    if results.are_fixed_by(top) {
        return 1;
    }
    let by_name =
        stack.iter().take_while(|operator| !matches!(operator, Operator::Allow(_) | Operator::Comm(_)));
    let by_name: Vec<&&Operator> = by_name.collect();
    // Element k is the function of the innermost k of them; the last one is that of all.
    let mut function: Vec<Fate> = (0..names as u32).map(|n| Fate::Name(ActName(n))).collect();
    let mut functions = vec![function.clone()];
    for operator in by_name.iter().rev() {
        function.iter_mut().for_each(|fate| *fate = fate.then(operator));
        functions.push(function.clone());
    }
    let fewest = functions.iter().position(|earlier| *earlier == function).unwrap_or(by_name.len());
    by_name.len() - fewest
}

/// What becomes of an action by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Name(ActName),
    Hidden,
    Forbidden,
}

impl Fate {
    fn then(self, operator: &Operator) -> Fate {
        let Fate::Name(name) = self else { return self };
        match operator {
            Operator::Block(names) if names.contains(&name) => Fate::Forbidden,
            Operator::Hide(names) if names.contains(&name) => Fate::Hidden,
            Operator::Rename(pairs) => {
                Fate::Name(pairs.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| *to))
            }
            _ => self,
        }
    }
}

/// What can come out of a stack of operators, or more.
struct Results<'o> {
    /// The names that can occur.
    present: BTreeSet<ActName>,
    /// If known, the multi-actions by names, of which each result that is not `tau` is one.
    exact: Option<BTreeSet<Names>>,
    /// Communications of which no group with equal arguments is left.
    settled: Vec<&'o [(Names, ActName)]>,
}

impl<'o> Results<'o> {
    fn anything(names: usize) -> Self {
        Results { present: (0..names as u32).map(ActName).collect(), exact: None, settled: Vec::new() }
    }

    /// What comes out of one more operator.
    fn after(&mut self, operator: &'o Operator) {
        match operator {
            Operator::Block(names) => {
                self.present.retain(|n| !names.contains(n));
                if let Some(exact) = &mut self.exact {
                    exact.retain(|multi| !multi.iter().any(|n| names.contains(n)));
                }
            }
            Operator::Hide(names) => {
                self.present.retain(|n| !names.contains(n));
                self.map(&|n| (!names.contains(&n)).then_some(n));
            }
            Operator::Rename(pairs) => {
                let target = |n: ActName| pairs.iter().find(|(from, _)| *from == n).map_or(n, |(_, to)| *to);
                self.present = self.present.iter().map(|n| target(*n)).collect();
                self.map(&|n| Some(target(n)));
                // A new name may complete a group.
                let new = |n: &ActName| pairs.iter().any(|(_, to)| to == n);
                self.settled.retain(|rules| !rules.iter().any(|(left, _)| left.iter().any(new)));
            }
            Operator::Allow(allowed) => {
                let possible = |multi: &&Names| {
                    multi.iter().all(|n| self.present.contains(n))
                        && self.exact.as_ref().is_none_or(|exact| exact.contains(*multi))
                };
                let exact: BTreeSet<Names> = allowed.iter().filter(possible).cloned().collect();
                self.present = exact.iter().flatten().copied().collect();
                self.exact = (exact.len() <= MOST).then_some(exact);
            }
            Operator::Comm(rules) => {
                if self.can_change(rules) {
                    let ready = |left: &Names| left.iter().all(|n| self.present.contains(n));
                    let made: Vec<ActName> =
                        rules.iter().filter(|(left, _)| ready(left)).map(|(_, to)| *to).collect();
                    self.settled
                        .retain(|known| !known.iter().any(|(left, _)| left.iter().any(|n| made.contains(n))));
                    self.present.extend(made);
                    self.exact = None;
                }
                // What comes out of a communication may be part of another group.
                if operator.is_idempotent() {
                    self.settled.push(rules);
                }
            }
        }
    }

    /// The multi-actions when each name becomes another one or goes.
    fn map(&mut self, target: &dyn Fn(ActName) -> Option<ActName>) {
        if let Some(exact) = &mut self.exact {
            *exact = exact
                .iter()
                .map(|multi| {
                    let mut names: Names = multi.iter().filter_map(|n| target(*n)).collect();
                    names.sort();
                    names
                })
                .collect();
        }
    }

    /// Whether a communication may find partners.
    fn can_change(&self, rules: &[(Names, ActName)]) -> bool {
        if self.settled.contains(&rules) {
            return false;
        }
        rules.iter().any(|(left, _)| match &self.exact {
            Some(exact) => exact.iter().any(|multi| is_part(left, multi)),
            None => left.iter().all(|n| self.present.contains(n)),
        })
    }

    /// Whether an operator forbids none of the results and changes none.
    fn are_fixed_by(&self, operator: &Operator) -> bool {
        match operator {
            Operator::Block(names) | Operator::Hide(names) => !names.iter().any(|n| self.present.contains(n)),
            Operator::Rename(pairs) => {
                pairs.iter().all(|(from, to)| from == to || !self.present.contains(from))
            }
            Operator::Allow(allowed) => self
                .exact
                .as_ref()
                .is_some_and(|exact| exact.iter().all(|multi| multi.is_empty() || allowed.contains(multi))),
            Operator::Comm(rules) => !self.can_change(rules),
        }
    }
}

/// Whether a sorted multiset is part of another.
fn is_part(part: &[ActName], whole: &[ActName]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|n| whole.by_ref().any(|m| m == n))
}
