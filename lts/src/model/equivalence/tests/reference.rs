//! The equivalences by their definitions, without any thought of speed: what the real algorithms are tested against.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::equivalence::{Equivalence, Formula, Node};
use crate::model::explicit::{Lts, State};
use crate::model::network::Label;

fn steps(lts: &Lts, s: usize) -> impl Iterator<Item = (Label, usize)> + '_ {
    lts.outgoing(State(s as u32)).iter().map(|t| (t.label, t.to.0 as usize))
}

/// What can be reached by tau steps through states that `through` allows, beginning with `s` itself.
fn by_tau(lts: &Lts, s: usize, through: impl Fn(usize) -> bool) -> BTreeSet<usize> {
    let mut reached = BTreeSet::from([s]);
    let mut open = vec![s];
    while let Some(s) = open.pop() {
        for (label, t) in steps(lts, s) {
            if label == Label::TAU && through(t) && reached.insert(t) {
                open.push(t);
            }
        }
    }
    reached
}

/// The largest relation in which each pair passes the test, symmetrically.
fn largest_relation(n: usize, passes: impl Fn(&[Vec<bool>], usize, usize) -> bool) -> Vec<Vec<bool>> {
    let mut related = vec![vec![true; n]; n];
    loop {
        let mut removed = false;
        for s in 0..n {
            for t in 0..n {
                if related[s][t] && !(passes(&related, s, t) && passes(&related, t, s)) {
                    related[s][t] = false;
                    related[t][s] = false;
                    removed = true;
                }
            }
        }
        if !removed {
            return related;
        }
    }
}

fn strong(lts: &Lts) -> Vec<Vec<bool>> {
    largest_relation(lts.num_states(), |related, s, t| {
        steps(lts, s).all(|(a, s2)| steps(lts, t).any(|(b, t2)| a == b && related[s2][t2]))
    })
}

fn branching(lts: &Lts) -> Vec<Vec<bool>> {
    let closure: Vec<_> = (0..lts.num_states()).map(|s| by_tau(lts, s, |_| true)).collect();
    largest_relation(lts.num_states(), |related, s, t| {
        steps(lts, s).all(|(a, s2)| {
            (a == Label::TAU && related[s2][t])
                || closure[t]
                    .iter()
                    .any(|&t1| related[s][t1] && steps(lts, t1).any(|(b, t2)| a == b && related[s2][t2]))
        })
    })
}

/// Whether an endless tau path goes through states that `through` allows.
fn diverges(lts: &Lts, s: usize, through: impl Fn(usize) -> bool + Copy) -> bool {
    by_tau(lts, s, through).into_iter().any(|u| {
        steps(lts, u).any(|(a, v)| a == Label::TAU && through(v) && by_tau(lts, v, through).contains(&u))
    })
}

/// What a state can do within its class: whether it can diverge there, and where labels lead out of tau paths in it.
type Ability = (usize, bool, BTreeSet<(Label, usize)>);

/// Divergence makes the conditions of the definition depend on the relation in both directions, so this one is found
/// as the coarsest partition that is stable, refined by everything that its definition mentions.
fn divergence_preserving(lts: &Lts) -> Vec<Vec<bool>> {
    let n = lts.num_states();
    let mut class = vec![0; n];
    loop {
        let ability = |s: usize| -> Ability {
            let inside = |t: usize| class[t] == class[s];
            let leads = by_tau(lts, s, inside).into_iter().flat_map(|t| steps(lts, t).collect::<Vec<_>>());
            let visible =
                leads.map(|(a, t)| (a, class[t])).filter(|&(a, c)| a != Label::TAU || c != class[s]);
            (class[s], diverges(lts, s, inside), visible.collect())
        };
        let abilities: Vec<Ability> = (0..n).map(ability).collect();
        let numbers: BTreeMap<&Ability, usize> =
            abilities.iter().collect::<BTreeSet<_>>().into_iter().enumerate().map(|(i, a)| (a, i)).collect();
        let finer: Vec<usize> = abilities.iter().map(|a| numbers[a]).collect();
        let count = |c: &[usize]| c.iter().collect::<BTreeSet<_>>().len();
        if count(&finer) == count(&class) {
            return (0..n).map(|s| (0..n).map(|t| class[s] == class[t]).collect()).collect();
        }
        class = finer;
    }
}

/// Which states are equivalent; for the bisimulations only.
pub fn relation(lts: &Lts, equivalence: Equivalence) -> Vec<Vec<bool>> {
    match equivalence {
        Equivalence::Strong => strong(lts),
        Equivalence::Branching => branching(lts),
        Equivalence::DivergencePreservingBranching => divergence_preserving(lts),
        Equivalence::Trace | Equivalence::WeakTrace => {
            unreachable!("no relation on states is computed for traces")
        }
    }
}

/// The numbers of states and transitions of the minimal system.
pub fn minimal_size(lts: &Lts, equivalence: Equivalence) -> (usize, usize) {
    if matches!(equivalence, Equivalence::Trace | Equivalence::WeakTrace) {
        let deterministic = Deterministic::of(lts, equivalence == Equivalence::WeakTrace);
        return deterministic.minimal_size();
    }
    let lts = lts.reachable();
    let related = relation(&lts, equivalence);
    let class = |s: usize| related[s].iter().position(|&r| r).expect("each state is related to itself");
    let silent = equivalence != Equivalence::Strong;
    let classes: BTreeSet<usize> = (0..lts.num_states()).map(class).collect();
    let mut transitions = BTreeSet::new();
    for s in 0..lts.num_states() {
        for (a, t) in steps(&lts, s) {
            if !(silent && a == Label::TAU && class(s) == class(t)) {
                transitions.insert((class(s), a, class(t)));
            }
        }
        let inside = |t: usize| class(t) == class(s);
        if equivalence == Equivalence::DivergencePreservingBranching && diverges(&lts, s, inside) {
            transitions.insert((class(s), Label::TAU, class(s)));
        }
    }
    (classes.len(), transitions.len())
}

/// Sets of states and what follows them, by label texts.
pub struct Deterministic {
    next: BTreeMap<BTreeSet<usize>, BTreeMap<String, BTreeSet<usize>>>,
    start: BTreeSet<usize>,
}

impl Deterministic {
    pub fn of(lts: &Lts, weak: bool) -> Self {
        let close = |set: BTreeSet<usize>| -> BTreeSet<usize> {
            if weak { set.into_iter().flat_map(|s| by_tau(lts, s, |_| true)).collect() } else { set }
        };
        let start = close(BTreeSet::from([lts.initial().0 as usize]));
        let mut next = BTreeMap::new();
        let mut open = vec![start.clone()];
        while let Some(set) = open.pop() {
            if next.contains_key(&set) {
                continue;
            }
            let mut edges: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
            for (a, t) in set.iter().flat_map(|&s| steps(lts, s)).filter(|s| !weak || s.0 != Label::TAU) {
                edges.entry(lts.label(a).to_owned()).or_default().insert(t);
            }
            let edges: BTreeMap<_, _> = edges.into_iter().map(|(a, set)| (a, close(set))).collect();
            open.extend(edges.values().cloned());
            next.insert(set, edges);
        }
        Deterministic { next, start }
    }

    /// By Moore's rounds.
    fn minimal_size(&self) -> (usize, usize) {
        let mut class: BTreeMap<&BTreeSet<usize>, usize> = self.next.keys().map(|set| (set, 0)).collect();
        loop {
            let view = |set: &BTreeSet<usize>| {
                let edges = self.next[set].iter().map(|(a, target)| (a.clone(), class[target]));
                (class[set], edges.collect::<Vec<_>>())
            };
            let views: BTreeSet<_> = self.next.keys().map(view).collect();
            let numbers: BTreeMap<_, usize> = views.iter().enumerate().map(|(i, v)| (v, i)).collect();
            let finer: BTreeMap<_, usize> = self.next.keys().map(|set| (set, numbers[&view(set)])).collect();
            if views.len() == class.values().collect::<BTreeSet<_>>().len() {
                return (views.len(), views.iter().map(|v| v.1.len()).sum());
            }
            class = finer;
        }
    }

    pub fn has_trace(&self, trace: &[String]) -> bool {
        let mut at = Some(&self.start);
        for label in trace {
            at = at.and_then(|set| self.next[set].get(label));
        }
        at.is_some()
    }

    /// A shortest trace that only one of the two has, found over all pairs; the alphabetically first, `tau` before all.
    pub fn first_difference(&self, other: &Deterministic) -> Option<Vec<String>> {
        let mut seen = BTreeSet::from([(&self.start, &other.start)]);
        let mut level = vec![(&self.start, &other.start, Vec::new())];
        while !level.is_empty() {
            let mut next_level = Vec::new();
            for (left, right, trace) in level {
                let (left, right) = (&self.next[left], &other.next[right]);
                let mut labels: Vec<&String> = left.keys().chain(right.keys()).collect();
                labels.sort_by_key(|l| (*l != "tau", *l));
                labels.dedup();
                for label in labels {
                    let mut longer = trace.clone();
                    longer.push(label.clone());
                    match (left.get(label), right.get(label)) {
                        (Some(l), Some(r)) if seen.insert((l, r)) => next_level.push((l, r, longer)),
                        (Some(_), Some(_)) => {}
                        _ => return Some(longer),
                    }
                }
            }
            level = next_level;
        }
        None
    }
}

/// Whether the initial state satisfies the formula, by the meaning of each operator.
pub fn satisfies(lts: &Lts, formula: &Formula) -> bool {
    let n = lts.num_states();
    let mut holds: Vec<Vec<bool>> = Vec::new();
    for subformula in formula.subformulas() {
        let of = |s| -> &Vec<bool> { &holds[formula.index(s)] };
        let can = |s: usize, label: &str, to: &dyn Fn(usize) -> bool| {
            steps(lts, s).any(|(a, t)| lts.label(a) == label && to(t))
        };
        let here = match formula.node(subformula) {
            Node::True => vec![true; n],
            Node::Not(part) => of(*part).iter().map(|h| !h).collect(),
            Node::And(parts) => (0..n).map(|s| parts.iter().all(|&p| of(p)[s])).collect(),
            Node::Step { label, then } => {
                (0..n).map(|s| can(s, formula.label(*label), &|t| of(*then)[t])).collect()
            }
            Node::Until { hold, label, then } => {
                let mut here = vec![false; n];
                for _ in 0..=n {
                    here = (0..n)
                        .map(|s| {
                            let now = can(s, formula.label(*label), &|t| of(*then)[t]);
                            of(*hold)[s] && (now || can(s, "tau", &|t| here[t]))
                        })
                        .collect();
                }
                here
            }
            Node::Diverges { hold } => {
                let mut here = vec![true; n];
                for _ in 0..=n {
                    here = (0..n).map(|s| of(*hold)[s] && can(s, "tau", &|t| here[t])).collect();
                }
                here
            }
        };
        holds.push(here);
    }
    holds[formula.index(formula.root())][lts.initial().0 as usize]
}
