//! Open offers: what a leaf offers although some arguments are not known to it.
//!
//! A sum that its own leaf cannot bound is asked again with the values that partners know, as they become known. What
//! stays unbounded becomes a fault vector, which counts only if a search reaches a state where it is enabled.

use crate::data::eval::Failure;
use crate::data::value::Value;
use crate::network::build::Builder;
use crate::network::join::{Choice, Groups, OpenOffer};
use crate::network::rules::Rule;
use crate::process::program::{NodeId, SummandHead};
use crate::process::steps::{Known, MAX_CANDIDATES, Solution, unbounded};
use crate::process::term::Term;
use gridlock_lts::base::hash::Map;
use gridlock_lts::model::network::{LeafIx, Local, LocalLabel, Network};
use std::sync::Arc;

/// The work of asking one summand, besides what is evaluated for it.
const ASKING: u64 = 32;

/// An open offer: summands that know the same of their arguments.
pub(super) struct OpenEntry {
    pub(super) members: Vec<Member>,
    asked: Vec<Asked>,
    asked_ids: Map<Known, usize>,
}

#[derive(Clone)]
pub(super) struct Member {
    pub(super) from: Local,
    pub(super) node: NodeId,
    pub(super) summand: usize,
    pub(super) values: Arc<[Value]>,
    pub(super) outer: Vec<Arc<Term>>,
}

/// A question to an open offer: what if this much is known?
struct Asked {
    known: Known,
    /// A label for the members that have no answer, and why the first of them has none.
    blocked: Option<(LocalLabel, Failure)>,
    /// The choices in which the question came up.
    tuples: Vec<Tuple>,
}

#[derive(Clone)]
struct Tuple {
    rule: usize,
    choices: Vec<Choice>,
    /// For each part that is an open offer, which question it was asked.
    questions: Vec<Option<usize>>,
}

impl Builder {
    /// For each position in the sorted names the index of the summand's action.
    fn order(&self, (node, summand): (NodeId, usize)) -> Vec<usize> {
        let SummandHead::Action(acts) = &self.program.summand(node, summand).head else {
            unreachable!("offers have actions")
        };
        let mut order: Vec<usize> = (0..acts.len()).collect();
        order.sort_by_key(|i| acts[*i].name);
        order
    }

    pub(super) fn in_order(&self, summand: (NodeId, usize), known: Known) -> Known {
        self.order(summand).into_iter().map(|i| known[i].clone()).collect()
    }

    pub(super) fn open(
        &mut self,
        net: &mut Network,
        leaf: usize,
        signature: usize,
        offer: OpenOffer,
        member: Member,
    ) {
        let enumerated = offer.enumerated;
        let (at, fresh) = self.leaves[leaf].signatures[signature].add_open(offer);
        if fresh {
            self.leaves[leaf].opens[signature].push(OpenEntry {
                members: vec![member],
                asked: Vec::new(),
                asked_ids: Map::default(),
            });
            if !enumerated || self.irreducible {
                self.join_all(net, leaf, signature, Choice::Open(at));
            }
            return;
        }
        let entry = &mut self.leaves[leaf].opens[signature][at];
        entry.members.push(member.clone());
        for question in 0..entry.asked.len() {
            self.ask(net, leaf, signature, at, question, &member);
        }
    }

    /// Whether some open part may learn from a choice: one that has run through its values learns only from
    /// irreducible terms.
    pub(super) fn is_worth_asking(&self, rule: &Rule, choices: &[Choice], groups: &Groups) -> bool {
        groups.iter().flatten().flatten().flatten().any(Value::has_stuck)
            || rule.parts.iter().zip(choices).all(|((leaf, names), choice)| match choice {
                Choice::Label(_) => true,
                Choice::Open(o) => {
                    let tables = &self.leaves[*leaf];
                    !tables.signatures[tables.signature_ids[names]].opens[*o].enumerated
                }
            })
    }

    /// Some parts are open offers: they are asked again with what the others know.
    pub(super) fn question(&mut self, net: &mut Network, rule: usize, choices: Vec<Choice>, groups: &Groups) {
        let rules = self.rules.clone();
        let mut questions = vec![None; choices.len()];
        let mut new = Vec::new();
        for (part, choice) in choices.iter().enumerate() {
            let Choice::Open(open) = *choice else { continue };
            let leaf = rules[rule].parts[part].0;
            let signature = self.leaves[leaf].signature_ids[&rules[rule].parts[part].1];
            let mut known = self.leaves[leaf].signatures[signature].opens[open].known.clone();
            for (members, values) in rules[rule].groups.iter().zip(groups) {
                for (_, position) in members.iter().filter(|m| m.0 == part) {
                    if let Some(values) = values {
                        known[*position].clone_from(values);
                    }
                }
            }
            let entry = &mut self.leaves[leaf].opens[signature][open];
            let fresh = entry.asked.len();
            let question = *entry.asked_ids.entry(known.clone()).or_insert(fresh);
            if question == fresh {
                entry.asked.push(Asked { known, blocked: None, tuples: Vec::new() });
                new.push((leaf, signature, open, question));
            }
            questions[part] = Some(question);
        }
        let tuple = Tuple { rule, choices, questions };
        for (part, choice) in tuple.choices.iter().enumerate() {
            if let (Choice::Open(open), Some(question)) = (choice, tuple.questions[part]) {
                let leaf = rules[rule].parts[part].0;
                let signature = self.leaves[leaf].signature_ids[&rules[rule].parts[part].1];
                self.leaves[leaf].opens[signature][*open].asked[question].tuples.push(tuple.clone());
            }
        }
        for (leaf, signature, open, question) in new {
            for member in self.leaves[leaf].opens[signature][open].members.clone() {
                self.ask(net, leaf, signature, open, question, &member);
            }
        }
        self.blocked_tuple(net, &tuple);
    }

    fn ask(
        &mut self,
        net: &mut Network,
        leaf: usize,
        signature: usize,
        open: usize,
        question: usize,
        m: &Member,
    ) {
        self.spend(ASKING);
        let sorted = &self.leaves[leaf].opens[signature][open].asked[question].known;
        let order = self.order((m.node, m.summand));
        let mut known: Known = vec![Vec::new(); order.len()];
        for (position, act) in order.into_iter().enumerate() {
            known[act].clone_from(&sorted[position]);
        }
        match self.program.answer((m.node, m.summand), &m.values, &m.outer, &known, MAX_CANDIDATES) {
            Ok(Solution::Steps(steps)) => {
                for (acts, next) in steps {
                    self.add_label(net, leaf, m.from, acts, next);
                }
            }
            Ok(Solution::Unbounded(span)) => {
                self.block(net, (leaf, signature, open, question), m, unbounded(span))
            }
            Err(failure) => self.block(net, (leaf, signature, open, question), m, failure),
        }
    }

    /// A member of an open offer has no answer to a question: if a search gets to where it is asked, that is a fault.
    fn block(
        &mut self,
        net: &mut Network,
        (leaf, signature, open, question): (usize, usize, usize, usize),
        member: &Member,
        failure: Failure,
    ) {
        let asked = &mut self.leaves[leaf].opens[signature][open].asked[question];
        let fresh = asked.blocked.is_none();
        let (label, _) = asked.blocked.get_or_insert_with(|| {
            (net.add_local_label(LeafIx(leaf as u32), format!("fault: {}", failure.message)), failure)
        });
        net.add_move(LeafIx(leaf as u32), member.from, *label, member.from);
        if fresh {
            for tuple in self.leaves[leaf].opens[signature][open].asked[question].tuples.clone() {
                self.blocked_tuple(net, &tuple);
            }
        }
    }

    /// If no open part of a choice has an answer to what all know together, taking it is a fault.
    fn blocked_tuple(&mut self, net: &mut Network, tuple: &Tuple) {
        let rules = self.rules.clone();
        let mut parts = Vec::new();
        let mut why = None;
        for (part, (leaf, names)) in rules[tuple.rule].parts.iter().enumerate() {
            match (tuple.choices[part], tuple.questions[part]) {
                (Choice::Open(open), Some(question)) => {
                    let signature = self.leaves[*leaf].signature_ids[names];
                    let asked = &self.leaves[*leaf].opens[signature][open].asked[question];
                    let Some((label, failure)) = &asked.blocked else { return };
                    why = Some(failure.clone());
                    parts.push((LeafIx(*leaf as u32), *label));
                }
                (Choice::Label(l), _) => parts.push((LeafIx(*leaf as u32), self.live(net, *leaf, l))),
                (Choice::Open(_), None) => unreachable!("every open part was asked"),
            }
        }
        if let Some(failure) = why
            && self.vectors.insert(parts.clone())
        {
            self.fault_vector(net, parts, failure);
        }
    }
}
