//! Synchronisation rules: which leaves can move together, worked out on action names.
//!
//! A rule names its parts (leaf and multi-action names) and the groups of actions that must carry equal arguments for
//! the communications it stands for. Rules over-approximate: whether a combination with values really passes all
//! operators is decided by [`Context::compose`]. To keep their number small, what the operators further out can still
//! use is passed inwards as a [`Demand`].

use crate::data::eval::{Eval, Failure};
use crate::diagnostic::Span;
use crate::model::ActName;
use crate::network::demand::Demand;
use crate::network::flatten::Context;
use crate::process::action::{Names, Operator};
use gridlock_lts::base::hash::{Map, Set};
use std::collections::BTreeSet;

/// More rules than this are refused: something is missing an `allow`.
const MAX_RULES: usize = 500_000;
/// And so are more actions in all of them together. Twelve equal actions that communicate in pairs do so in 140,152 ways:
/// their number must be bounded while they are made.
const MAX_ACTIONS: usize = 2_000_000;
/// Leaves that may move together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The leaves that take part, each with the names of its multi-action; ascending.
    pub parts: Vec<(usize, Names)>,
    /// Actions, as (part, position in its sorted names), that must carry equal arguments; at least two each.
    pub groups: Vec<Vec<(usize, usize)>>,
}

/// An action of a combination: its present name and the original actions that communicated into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Item {
    name: ActName,
    members: Vec<(usize, usize)>,
}

/// Leaves moving together, seen from inside some operators. Members refer to (leaf, position).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Combination {
    parts: Vec<(usize, Names)>,
    items: Vec<Item>,
}

/// The rules of a system of leaves with the given alphabets. `whole` is where the initial process is written, and
/// `operators` where those of the context are, each before those inside it.
pub fn rules(
    context: &Context,
    alphabets: &[Vec<Names>],
    whole: Span,
    operators: &[Span],
) -> Eval<Vec<Rule>> {
    let mut work = Combinations { alphabets, operators: operators.iter(), around: whole };
    let found = work.of(context, &Demand::everything())?;
    let mut seen = Set::default();
    let mut rules = Vec::new();
    for c in found {
        let part_of: Map<usize, usize> = c.parts.iter().enumerate().map(|(i, p)| (p.0, i)).collect();
        let mut groups: Vec<Vec<(usize, usize)>> = c
            .items
            .iter()
            .filter(|item| item.members.len() > 1)
            .map(|item| {
                let mut group: Vec<_> =
                    item.members.iter().map(|(leaf, pos)| (part_of[leaf], *pos)).collect();
                group.sort_unstable();
                group
            })
            .collect();
        groups.sort();
        let key = (c.parts.clone(), groups.clone());
        if seen.insert(key) {
            rules.push(Rule { parts: c.parts, groups });
        }
    }
    Ok(rules)
}

/// Works out which leaves can move together.
struct Combinations<'a> {
    alphabets: &'a [Vec<Names>],
    /// The places of the operators that have not been met yet.
    operators: std::slice::Iter<'a, Span>,
    /// The place of the operator around what is being looked at.
    around: Span,
}

impl Combinations<'_> {
    fn of(&mut self, context: &Context, demand: &Demand) -> Eval<Vec<Combination>> {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || match context {
            Context::Leaf(leaf) => Ok(self.alphabets[*leaf]
                .iter()
                .filter(|names| demand.wants(names))
                .map(|names| Combination {
                    parts: vec![(*leaf, names.clone())],
                    items: names
                        .iter()
                        .enumerate()
                        .map(|(i, n)| Item { name: *n, members: vec![(*leaf, i)] })
                        .collect(),
                })
                .collect()),
            Context::Parallel(inner) => {
                let mut all = vec![Combination { parts: Vec::new(), items: Vec::new() }];
                for part in inner {
                    let more = self.of(part, demand)?;
                    // Counted before they are made: each part multiplies them, so the last one costs most of the time.
                    let mut pairs = Vec::new();
                    let mut actions: usize = all.iter().map(|c| c.items.len()).sum();
                    for (i, a) in all.iter().enumerate() {
                        for b in &more {
                            if demand.wants(&visible(a.items.iter().chain(&b.items))) {
                                pairs.push((i, b));
                                actions += a.items.len() + b.items.len();
                            }
                        }
                        if all.len() + pairs.len() > MAX_RULES || actions > MAX_ACTIONS {
                            return Err(too_many(self.around, demand));
                        }
                    }
                    for (i, b) in pairs {
                        all.push(all[i].with(b));
                    }
                }
                all.remove(0);
                Ok(all)
            }
            Context::Operator(operator, inner) => {
                let outside = self.around;
                self.around = self.operators.next().copied().unwrap_or(outside);
                let (mut out, mut actions) = (Vec::new(), 0);
                for c in self.of(inner, &demand.inside(operator))? {
                    let results = outcomes(operator, c.items).ok_or_else(|| too_many(self.around, demand))?;
                    for result in results {
                        if demand.wants(&visible(&result)) {
                            actions += result.len();
                            out.push(Combination { parts: c.parts.clone(), items: result });
                        }
                    }
                    if out.len() > MAX_RULES || actions > MAX_ACTIONS {
                        return Err(too_many(self.around, demand));
                    }
                }
                self.around = outside;
                Ok(out)
            }
        })
    }
}

/// The failure of a composition with too many combinations, of which only what is demanded was counted.
fn too_many(place: Span, demand: &Demand) -> Failure {
    let help = if demand.is_bounded() {
        "the 'allow' further out leaves too much open, for instance what a 'hide' inside it hides; put another 'allow' \
         directly around the parallel processes, or around groups of them"
    } else {
        "put an 'allow' around the parallel processes that names what may happen together"
    };
    Failure::new(Some(place), "too many combinations of actions could happen at once", help)
}

/// The names of actions that are not hidden, sorted.
fn visible<'a>(items: impl IntoIterator<Item = &'a Item>) -> Names {
    let mut names: Names = items.into_iter().map(|i| i.name).filter(|n| *n != HIDDEN).collect();
    names.sort();
    names
}

impl Combination {
    fn with(&self, other: &Combination) -> Combination {
        let mut parts = [&self.parts[..], &other.parts[..]].concat();
        parts.sort();
        Combination { parts, items: [&self.items[..], &other.items[..]].concat() }
    }
}

/// The possible results of an operator on a combination; with communication every choice of what communicates. `None`:
/// there are too many.
fn outcomes(operator: &Operator, items: Vec<Item>) -> Option<Vec<Vec<Item>>> {
    Some(match operator {
        Operator::Block(names) => {
            if items.iter().any(|i| names.contains(&i.name)) {
                vec![]
            } else {
                vec![items]
            }
        }
        Operator::Hide(names) => {
            // Hidden communications still need equal arguments: they stay, under no name, through their members.
            vec![
                items
                    .into_iter()
                    .filter(|i| !names.contains(&i.name) || i.members.len() > 1)
                    .map(|mut i| {
                        if names.contains(&i.name) {
                            i.name = HIDDEN;
                        }
                        i
                    })
                    .collect(),
            ]
        }
        Operator::Rename(pairs) => vec![
            items
                .into_iter()
                .map(|mut i| {
                    if let Some((_, to)) = pairs.iter().find(|(from, _)| *from == i.name) {
                        i.name = *to;
                    }
                    i
                })
                .collect(),
        ],
        Operator::Allow(allowed) => {
            let names = visible(&items);
            if names.is_empty() || allowed.contains(&names) { vec![items] } else { vec![] }
        }
        Operator::Comm(rules) => {
            let mut done = vec![(items, Vec::new())];
            for (left, to) in rules {
                let mut ways = Ways { left, to: *to, found: Vec::new(), actions: 0 };
                for (rest, results) in done {
                    ways.communicate(&rest, results, 0)?;
                }
                ways.found.sort();
                ways.found.dedup();
                done = ways.found;
            }
            done.into_iter().map(|(rest, results)| [rest, results].concat()).collect()
        }
    })
}

/// The name of actions that are hidden but whose communication still binds arguments.
const HIDDEN: ActName = ActName(u32::MAX);

/// All ways to let some groups of actions communicate by one rule.
struct Ways<'a> {
    left: &'a [ActName],
    to: ActName,
    /// The actions that do not communicate, and the results of the others.
    found: Vec<(Vec<Item>, Vec<Item>)>,
    actions: usize,
}

impl Ways<'_> {
    /// Adds those of some actions. `from` avoids counting the same set of groups twice. `None`: there are too many.
    fn communicate(&mut self, items: &[Item], results: Vec<Item>, from: usize) -> Option<()> {
        self.actions += items.len() + results.len();
        if self.actions > MAX_ACTIONS {
            return None;
        }
        self.found.push((items.to_vec(), results.clone()));
        for first in from..items.len() {
            if items[first].name != self.left[0] {
                continue;
            }
            let mut choices = vec![vec![first]];
            for name in &self.left[1..] {
                let mut longer = Vec::new();
                for chosen in &choices {
                    for (i, item) in items.iter().enumerate() {
                        if item.name == *name && !chosen.contains(&i) {
                            longer.push([&chosen[..], &[i]].concat());
                        }
                    }
                }
                if longer.len() * self.left.len() > MAX_ACTIONS {
                    return None;
                }
                choices = longer;
            }
            for mut chosen in choices {
                let mut members: Vec<(usize, usize)> =
                    chosen.iter().flat_map(|i| items[*i].members.iter().copied()).collect();
                members.sort_unstable();
                chosen.sort_unstable();
                let rest: Vec<Item> = items
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| !chosen.contains(i))
                    .map(|(_, i)| i.clone())
                    .collect();
                let mut results = results.clone();
                results.push(Item { name: self.to, members });
                results.sort();
                // Actions before `first` were decided not to start another group.
                let from = items[..first].iter().enumerate().filter(|(i, _)| !chosen.contains(i)).count();
                self.communicate(&rest, results, from)?;
            }
        }
        Some(())
    }
}

/// What an operator can make of the multi-actions of an alphabet. `None`: there are too many.
pub fn images(operator: &Operator, names: &BTreeSet<Names>) -> Option<BTreeSet<Names>> {
    let mut all = BTreeSet::new();
    for n in names {
        if let Operator::Comm(rules) = operator {
            communicated(rules, n.clone(), Vec::new(), &mut all)?;
            continue;
        }
        let items = n.iter().enumerate().map(|(i, n)| Item { name: *n, members: vec![(0, i)] }).collect();
        all.extend(outcomes(operator, items)?.iter().map(visible));
    }
    Some(all)
}

/// What communication can make of names. Which of equal names take part makes no difference, only how often a rule is used.
fn communicated(
    rules: &[(Names, ActName)],
    mut rest: Names,
    mut results: Names,
    all: &mut BTreeSet<Names>,
) -> Option<()> {
    let Some(((left, to), later)) = rules.split_first() else {
        rest.append(&mut results);
        rest.sort();
        all.insert(rest);
        return (all.len() <= MAX_RULES).then_some(());
    };
    loop {
        communicated(later, rest.clone(), results.clone(), all)?;
        for name in left {
            let Some(at) = rest.iter().position(|n| n == name) else { return Some(()) };
            rest.swap_remove(at);
        }
        results.push(*to);
    }
}
