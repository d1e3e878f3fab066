//! The alphabet of a leaf: the multi-actions, by names, that it may ever perform.

use crate::data::eval::{Eval, Failure};
use crate::diagnostic::Span;
use crate::network::rules::images;
use crate::process::action::Names;
use crate::process::program::{NodeId, NodeKind, Program, Target};
use crate::process::term::Term;
use gridlock_lts::base::hash::{Map, Set};
use std::collections::BTreeSet;

/// More kinds of multi-actions in one leaf than this are refused.
const MAX_ALPHABET: usize = 5_000;
/// More actions at once than this are refused: a recursion through parallel composition has no bound.
const MAX_AT_ONCE: usize = 64;
/// More names than this handled for the alphabet of one leaf are refused: such a recursion can also grow in breadth.
const MAX_NAMES: usize = 2_000_000;

/// The multi-actions, by names, that a term may ever perform: an over-approximation read off the program. `place` is
/// where the leaf is written.
pub fn alphabet(program: &Program, term: &Term, place: Span) -> Eval<Vec<Names>> {
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
    let mut work = Work { names: 0, place };
    loop {
        let mut changed = false;
        // Successors come after their predecessors in `reach`, so backwards is nearly one pass.
        for (&id, run) in reach.iter().zip(&runs).rev() {
            work.place = program.node(id).span;
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
    work.place = place;
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
    program.node(id).successors(&program.bodies)
}

fn node_alphabet(
    program: &Program,
    id: NodeId,
    run: &Run,
    sets: &Map<NodeId, BTreeSet<Names>>,
    work: &mut Work,
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
        NodeKind::Operator(operator, t) => images(operator, of(t)).ok_or_else(|| work.too_many())?,
    })
}

fn term_alphabet(
    program: &Program,
    term: &Term,
    sets: &Map<NodeId, BTreeSet<Names>>,
    work: &mut Work,
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
            NodeKind::Operator(operator, _) => {
                let inner = term_alphabet(program, inner, sets, work)?;
                images(operator, &inner).ok_or_else(|| work.too_many())?
            }
            _ => unreachable!("operator terms refer to operator nodes"),
        },
        Term::Done | Term::Ended | Term::Dead | Term::Fault(_) => BTreeSet::new(),
    })
}

/// How much has been done, and for which part of the specification.
struct Work {
    names: usize,
    place: Span,
}

impl Work {
    fn too_many(&self) -> Failure {
        Failure::new(
            Some(self.place),
            "a parallel composition inside a sequential process can do too many actions at once",
            "put an 'allow' around it, or move the parallel composition to the initial process",
        )
    }
}

fn together(parts: &[&BTreeSet<Names>], work: &mut Work) -> Eval<BTreeSet<Names>> {
    let mut all: BTreeSet<Names> = BTreeSet::from([Vec::new()]);
    let mut silent = false;
    for part in parts {
        silent |= part.contains(&Vec::new());
        let mut joined = Vec::new();
        for a in &all {
            for b in part.iter() {
                let mut names = [&a[..], &b[..]].concat();
                names.sort();
                work.names += names.len();
                joined.push(names);
            }
            if work.names > MAX_NAMES
                || joined.len() > MAX_ALPHABET
                || joined.last().is_some_and(|names| names.len() > MAX_AT_ONCE)
            {
                return Err(work.too_many());
            }
        }
        all.extend(joined);
        if all.len() > MAX_ALPHABET {
            return Err(work.too_many());
        }
    }
    if !silent {
        all.remove(&Vec::new());
    }
    Ok(all)
}
