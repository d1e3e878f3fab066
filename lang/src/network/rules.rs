//! Synchronisation rules: which leaves can move together, worked out on action names.
//!
//! A rule names its parts (leaf and multi-action names) and the groups of actions that must carry equal arguments for
//! the communications it stands for. Rules over-approximate: whether a combination with values really passes all
//! operators is decided by [`Context::compose`]. To keep their number small, what the operators further out can still
//! use is passed inwards as a [`Demand`].

use crate::data::eval::{Eval, Failure};
use crate::model::ActName;
use crate::network::flatten::Context;
use crate::process::action::{Names, Operator};
use crate::process::program::{NodeId, NodeKind, Program, SummandHead, Target};
use crate::process::term::Term;
use gridlock_lts::base::hash::{Map, Set};
use std::collections::BTreeSet;

/// More rules than this are refused: something is missing an `allow`.
const MAX_RULES: usize = 500_000;
/// Demands with more patterns than this are given up (everything is then wanted).
const MAX_PATTERNS: usize = 20_000;
/// More kinds of multi-actions in one leaf than this are refused.
const MAX_ALPHABET: usize = 5_000;
/// More actions at once than this are refused: a recursion through parallel composition has no bound.
const MAX_AT_ONCE: usize = 64;

/// More names than this handled for the alphabet of one leaf are refused: such a recursion can also grow in breadth.
const MAX_NAMES: usize = 2_000_000;

/// Leaves that may move together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Who takes part, with the names of its multi-action; ascending by leaf.
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

/// What the surrounding operators may still make use of.
#[derive(Clone, Debug)]
struct Demand {
    /// Multi-actions of which what is done must be a part; `None`: anything.
    patterns: Option<Vec<Names>>,
    /// Names of which any number may be added to a pattern.
    free: Vec<ActName>,
    /// Names that are never wanted.
    forbidden: Vec<ActName>,
}

/// The rules of a system of leaves with the given alphabets.
pub fn rules(context: &Context, alphabets: &[Vec<Names>]) -> Eval<Vec<Rule>> {
    let all = Demand { patterns: None, free: Vec::new(), forbidden: Vec::new() };
    let found = combinations(context, &all, alphabets)?;
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

fn combinations(context: &Context, demand: &Demand, alphabets: &[Vec<Names>]) -> Eval<Vec<Combination>> {
    stacker::maybe_grow(128 * 1024, 1024 * 1024, || match context {
        Context::Leaf(leaf) => Ok(alphabets[*leaf]
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
                let more = combinations(part, demand, alphabets)?;
                // Counted before they are made: each part multiplies them, so the last one costs most of the time.
                let mut pairs = Vec::new();
                for (i, a) in all.iter().enumerate() {
                    for b in &more {
                        if demand.wants(&sorted_names(a.items.iter().chain(&b.items))) {
                            pairs.push((i, b));
                        }
                    }
                    if all.len() + pairs.len() > MAX_RULES {
                        return Err(too_many());
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
            let mut out = Vec::new();
            for c in combinations(inner, &demand.inside(operator), alphabets)? {
                for result in outcomes(operator, c.items) {
                    if demand.wants(&sorted_names(&result)) {
                        out.push(Combination { parts: c.parts.clone(), items: result });
                    }
                }
                if out.len() > MAX_RULES {
                    return Err(too_many());
                }
            }
            Ok(out)
        }
    })
}

fn too_many() -> Failure {
    Failure::new(
        None,
        format!("more than {MAX_RULES} combinations of actions could happen at once"),
        "put an allow around the parallel processes that names what may happen together",
    )
}

fn sorted_names<'a>(items: impl IntoIterator<Item = &'a Item>) -> Names {
    let mut names: Names = items.into_iter().map(|i| i.name).collect();
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

/// The possible results of an operator on a combination; with communication every choice of what communicates.
fn outcomes(operator: &Operator, items: Vec<Item>) -> Vec<Vec<Item>> {
    match operator {
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
            let visible = sorted_names(items.iter().filter(|i| i.name != HIDDEN));
            if visible.is_empty() || allowed.contains(&visible) { vec![items] } else { vec![] }
        }
        Operator::Comm(rules) => {
            let mut done = vec![(items, Vec::new())];
            for (left, to) in rules {
                let mut next: Vec<(Vec<Item>, Vec<Item>)> = Vec::new();
                for (rest, results) in done {
                    communications(&rest, left, *to, results, 0, &mut next);
                }
                next.sort();
                next.dedup();
                done = next;
            }
            done.into_iter().map(|(rest, results)| [rest, results].concat()).collect()
        }
    }
}

/// The name of actions that are hidden but whose communication still binds arguments.
const HIDDEN: ActName = ActName(u32::MAX);

/// All ways to let some groups of actions communicate by one rule. `from` avoids counting the same set of groups twice.
fn communications(
    items: &[Item],
    left: &[ActName],
    to: ActName,
    results: Vec<Item>,
    from: usize,
    out: &mut Vec<(Vec<Item>, Vec<Item>)>,
) {
    out.push((items.to_vec(), results.clone()));
    for first in from..items.len() {
        if items[first].name != left[0] {
            continue;
        }
        let mut choices = vec![vec![first]];
        for name in &left[1..] {
            let mut longer = Vec::new();
            for chosen in &choices {
                for (i, item) in items.iter().enumerate() {
                    if item.name == *name && !chosen.contains(&i) {
                        longer.push([&chosen[..], &[i]].concat());
                    }
                }
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
            results.push(Item { name: to, members });
            results.sort();
            // Actions before `first` were decided not to start another group.
            let from = items[..first].iter().enumerate().filter(|(i, _)| !chosen.contains(i)).count();
            communications(&rest, left, to, results, from, out);
        }
    }
}

impl Demand {
    fn wants(&self, names: &[ActName]) -> bool {
        if names.iter().any(|n| self.forbidden.contains(n)) {
            return false;
        }
        let Some(patterns) = &self.patterns else { return true };
        let rest: Names = names.iter().copied().filter(|n| *n != HIDDEN && !self.free.contains(n)).collect();
        rest.is_empty() || patterns.iter().any(|p| is_part(&rest, p))
    }

    /// What is wanted of the process inside an operator.
    fn inside(&self, operator: &Operator) -> Demand {
        match operator {
            Operator::Allow(allowed) => Demand {
                patterns: Some(allowed.iter().filter(|names| self.wants(names)).cloned().collect()),
                free: Vec::new(),
                forbidden: Vec::new(),
            },
            Operator::Block(blocked) => {
                let mut demand = self.clone();
                demand.forbidden.extend(blocked);
                demand.free.retain(|n| !blocked.contains(n));
                demand
            }
            Operator::Hide(hidden) => {
                let mut demand = self.clone();
                demand.free.extend(hidden);
                demand.forbidden.retain(|n| !hidden.contains(n));
                demand
            }
            Operator::Rename(pairs) => {
                let sources = |n: ActName| {
                    let mut from: Vec<Names> =
                        pairs.iter().filter(|(_, to)| *to == n).map(|(from, _)| vec![*from]).collect();
                    if !pairs.iter().any(|(from, _)| *from == n) {
                        from.push(vec![n]);
                    }
                    from
                };
                self.before(&sources)
            }
            Operator::Comm(rules) => {
                let sources = |n: ActName| {
                    let mut from = vec![vec![n]];
                    from.extend(rules.iter().filter(|(_, to)| *to == n).map(|(left, _)| left.clone()));
                    from
                };
                let mut demand = self.before(&sources);
                // A forbidden name may still be used up by a communication.
                demand.forbidden.retain(|n| !rules.iter().any(|(left, _)| left.contains(n)));
                demand
            }
        }
    }

    /// The demand before a step that turns any of `sources(n)` into `n`.
    fn before(&self, sources: &dyn Fn(ActName) -> Vec<Names>) -> Demand {
        let mut free: Vec<ActName> = self.free.iter().flat_map(|n| sources(*n).concat()).collect();
        free.sort_unstable();
        free.dedup();
        let forbidden = self
            .forbidden
            .iter()
            .flat_map(|n| sources(*n).into_iter().filter(|s| s.len() == 1).flatten())
            .collect();
        let patterns = self.patterns.as_ref().and_then(|patterns| {
            let mut all: BTreeSet<Names> = BTreeSet::new();
            for pattern in patterns {
                let mut expanded: Vec<Names> = vec![Vec::new()];
                for n in pattern {
                    let from = sources(*n);
                    expanded = expanded
                        .iter()
                        .flat_map(|prefix| from.iter().map(move |s| [&prefix[..], &s[..]].concat()))
                        .collect();
                    if expanded.len() > MAX_PATTERNS {
                        return None;
                    }
                }
                all.extend(expanded.into_iter().map(|mut names| {
                    names.sort();
                    names
                }));
                if all.len() > MAX_PATTERNS {
                    return None;
                }
            }
            Some(all.into_iter().collect())
        });
        Demand { patterns, free, forbidden }
    }
}

/// Whether a sorted multiset is part of another.
fn is_part(part: &[ActName], whole: &[ActName]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|n| whole.by_ref().any(|m| m == n))
}

/// The multi-actions, by names, that a term may ever perform: an over-approximation read off the program.
pub fn alphabet(program: &Program, term: &Term) -> Eval<Vec<Names>> {
    let mut reach = Vec::new();
    let mut seen = Set::default();
    term_nodes(term, &mut |id| {
        if seen.insert(id) {
            reach.push(id);
        }
    });
    let mut next = 0;
    while next < reach.len() {
        for target in targets(program, reach[next]) {
            if seen.insert(target) {
                reach.push(target);
            }
        }
        next += 1;
    }
    // Only roots and what operators are applied to need a set of their own. One for every node would take quadratic time
    // and memory: in a choice of thousands of summands each goes on with a call that can do all of them.
    let mut asked: Set<NodeId> = Set::default();
    term_nodes(term, &mut |id| _ = asked.insert(id));
    for &id in reach.iter().filter(|id| composes(program, **id)) {
        asked.insert(id);
        asked.extend(targets(program, id));
    }
    reach.retain(|id| asked.contains(id));
    let runs: Vec<Run> = reach.iter().map(|id| Run::from(program, *id)).collect();
    let mut sets: Map<NodeId, BTreeSet<Names>> = reach.iter().map(|id| (*id, BTreeSet::new())).collect();
    let mut work = 0;
    loop {
        let mut changed = false;
        // Successors come after their predecessors in `reach`, so backwards is nearly one pass.
        for (&id, run) in reach.iter().zip(&runs).rev() {
            let new = node_alphabet(program, id, run, &sets, &mut work)?;
            if new.len() != sets[&id].len() {
                sets.insert(id, new);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    Ok(term_alphabet(program, term, &sets, &mut work)?.into_iter().collect())
}

/// Whether the alphabet of a node is composed from those of its targets, not just their union.
fn composes(program: &Program, id: NodeId) -> bool {
    use NodeKind::{LeftMerge, Operator, Parallel, Sync};
    matches!(program.node(id).kind, Parallel(_) | LeftMerge(..) | Sync(..) | Operator(..))
}

/// What a node does up to the nodes that compose alphabets.
struct Run {
    names: BTreeSet<Names>,
    composing: Vec<NodeId>,
}

impl Run {
    fn from(program: &Program, start: NodeId) -> Self {
        let mut run = Run { names: BTreeSet::new(), composing: Vec::new() };
        let mut seen: Set<NodeId> = [start].into_iter().collect();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            if composes(program, id) {
                run.composing.push(id);
                continue;
            }
            if let NodeKind::Summands(summands) = &program.node(id).kind {
                run.names.extend(summands.iter().filter_map(|s| s.names()));
            }
            open.extend(targets(program, id).into_iter().filter(|target| seen.insert(*target)));
        }
        run
    }
}

fn term_nodes(term: &Term, f: &mut dyn FnMut(NodeId)) {
    match term {
        Term::Node(id, _) => f(*id),
        Term::Seq(a, b) | Term::LeftMerge(a, b) | Term::Sync(a, b) => {
            term_nodes(a, f);
            term_nodes(b, f);
        }
        Term::Parallel(parts) => parts.iter().for_each(|p| term_nodes(p, f)),
        Term::Operator(id, inner) => {
            f(*id);
            term_nodes(inner, f);
        }
        Term::Done | Term::Ended | Term::Dead | Term::Fault(_) => {}
    }
}

fn targets(program: &Program, id: NodeId) -> Vec<NodeId> {
    let nodes = |ts: &[&Target]| ts.iter().map(|t| t.node).collect::<Vec<_>>();
    match &program.node(id).kind {
        NodeKind::Summands(summands) => summands
            .iter()
            .flat_map(|s| {
                let head = match &s.head {
                    SummandHead::Process(t) => Some(t.node),
                    SummandHead::Action(_) => None,
                };
                s.then.iter().map(|t| t.node).chain(head)
            })
            .collect(),
        NodeKind::Call(proc, ..) => vec![program.bodies[proc.ix()]],
        NodeKind::Condition(_, _, yes, no) => {
            let mut all = vec![yes.node];
            all.extend(no.as_ref().map(|t| t.node));
            all
        }
        NodeKind::Seq(a, b) | NodeKind::LeftMerge(a, b) | NodeKind::Sync(a, b) => nodes(&[a, b]),
        NodeKind::Parallel(parts) => parts.iter().map(|t| t.node).collect(),
        NodeKind::Operator(_, t) => vec![t.node],
    }
}

fn node_alphabet(
    program: &Program,
    id: NodeId,
    run: &Run,
    sets: &Map<NodeId, BTreeSet<Names>>,
    work: &mut usize,
) -> Eval<BTreeSet<Names>> {
    let of = |t: &Target| &sets[&t.node];
    Ok(match &program.node(id).kind {
        NodeKind::Summands(_) | NodeKind::Call(..) | NodeKind::Condition(..) | NodeKind::Seq(..) => {
            let mut all = run.names.clone();
            all.extend(run.composing.iter().flat_map(|id| sets[id].iter().cloned()));
            all
        }
        NodeKind::Parallel(parts) => together(&parts.iter().map(of).collect::<Vec<_>>(), work)?,
        NodeKind::LeftMerge(a, b) | NodeKind::Sync(a, b) => together(&[of(a), of(b)], work)?,
        NodeKind::Operator(operator, t) => images(operator, of(t)),
    })
}

fn term_alphabet(
    program: &Program,
    term: &Term,
    sets: &Map<NodeId, BTreeSet<Names>>,
    work: &mut usize,
) -> Eval<BTreeSet<Names>> {
    Ok(match term {
        Term::Node(id, _) => sets[id].clone(),
        Term::Seq(a, b) => {
            let mut all = term_alphabet(program, a, sets, work)?;
            all.extend(term_alphabet(program, b, sets, work)?);
            all
        }
        Term::Parallel(parts) => {
            let parts =
                parts.iter().map(|p| term_alphabet(program, p, sets, work)).collect::<Eval<Vec<_>>>()?;
            together(&parts.iter().collect::<Vec<_>>(), work)?
        }
        Term::LeftMerge(a, b) | Term::Sync(a, b) => {
            let (a, b) = (term_alphabet(program, a, sets, work)?, term_alphabet(program, b, sets, work)?);
            together(&[&a, &b], work)?
        }
        Term::Operator(id, inner) => match &program.node(*id).kind {
            NodeKind::Operator(operator, _) => images(operator, &term_alphabet(program, inner, sets, work)?),
            _ => unreachable!("operator terms refer to operator nodes"),
        },
        Term::Done | Term::Ended | Term::Dead | Term::Fault(_) => BTreeSet::new(),
    })
}

fn together(parts: &[&BTreeSet<Names>], work: &mut usize) -> Eval<BTreeSet<Names>> {
    let mut all: BTreeSet<Names> = BTreeSet::from([Vec::new()]);
    let mut silent = false;
    for part in parts {
        silent |= part.contains(&Vec::new());
        let mut joined = Vec::new();
        for a in &all {
            for b in part.iter() {
                let mut names = [&a[..], &b[..]].concat();
                names.sort();
                *work += names.len();
                joined.push(names);
            }
            if *work > MAX_NAMES
                || joined.len() > MAX_ALPHABET
                || joined.last().is_some_and(|names| names.len() > MAX_AT_ONCE)
            {
                return Err(Failure::new(
                    None,
                    "a parallel composition inside a sequential process can do too many actions at once",
                    "put an allow around it, or move the parallel composition to the initial process",
                ));
            }
        }
        all.extend(joined);
        if all.len() > MAX_ALPHABET {
            return Err(too_many());
        }
    }
    if !silent {
        all.remove(&Vec::new());
    }
    Ok(all)
}

fn images(operator: &Operator, names: &BTreeSet<Names>) -> BTreeSet<Names> {
    let mut all = BTreeSet::new();
    for n in names {
        let items = n.iter().enumerate().map(|(i, n)| Item { name: *n, members: vec![(0, i)] }).collect();
        for result in outcomes(operator, items) {
            all.insert(sorted_names(result.iter().filter(|i| i.name != HIDDEN)));
        }
    }
    all
}
