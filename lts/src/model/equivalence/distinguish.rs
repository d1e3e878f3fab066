//! From the history of a refinement to a formula that holds in one state and not in another.
//!
//! Two blocks that parted in round r lay in one block B before it and had different signatures, with respect to the
//! partition before r. So one of them, say with signature S, can do (label, C) and the other, with signature T, cannot.
//! The formula says that: `<label>` to a state where for each (label, D) in T a formula holds that tells C from D. Those
//! blocks parted before round r, so the construction ends. For strong bisimulation the nesting is thereby as low as it
//! can be.
//!
//! With inert tau the formula says: *through states like those of B* by tau steps, then `label`. "Like those of B" means
//! that for each (tau, D) in T a formula holds that tells B from D; a path out of the other block either stays in B, and
//! then cannot do `label` to C, or its first step out of B violates this.

use super::formula::{Formula, FormulaBuilder, Node, Subformula};
use super::partition::Partition;
use super::refine::{pair, unpair};
use crate::base::hash::{Map, Set};
use crate::model::explicit::{Lts, State};
use crate::model::network::Label;

/// The number of different pairs of blocks that an explanation may involve. Nobody reads one of that size.
const MOST_PAIRS: usize = 20_000;

/// What the refinement was done on.
pub(super) struct Refined<'a> {
    pub(super) lts: &'a Lts,
    /// Made with full inheritance, so that blocks part only for what a formula can say.
    pub(super) partition: &'a Partition,
    pub(super) inert_tau: bool,
    pub(super) divergence: Option<Label>,
}

/// Two blocks that parted, as they were right after they did; the lower number first.
type Parted = (u32, u32);

/// A formula to be made: true on the states of the first block, false on those of the second, or the reverse.
#[derive(Clone, Copy)]
struct Wanted {
    parted: Parted,
    negated: bool,
}

/// What distinguishes two parted blocks.
struct Reason {
    round: u32,
    parted: Parted,
    /// Whether the second block can do it instead of the first.
    negated: bool,
    label: Label,
    then: Vec<Wanted>,
    hold: Vec<Wanted>,
}

/// A formula that holds in `first` and not in `second`; none if they lie in one block or it gets too large.
pub(super) fn distinguishing_formula(refined: &Refined<'_>, first: State, second: State) -> Option<Formula> {
    let block = |s: State| refined.partition.block_of(s.0);
    if block(first) == block(second) {
        return None;
    }
    let whole = refined.wanted(block(first), block(second));
    let mut asked: Set<Parted> = [whole.parted].into_iter().collect();
    let mut open = vec![whole.parted];
    let mut reasons = Vec::new();
    while let Some(parted) = open.pop() {
        let reason = refined.reason(parted);
        for wanted in reason.then.iter().chain(&reason.hold) {
            if asked.insert(wanted.parted) {
                open.push(wanted.parted);
            }
        }
        reasons.push(reason);
        if asked.len() > MOST_PAIRS {
            return None;
        }
    }
    // A reason refers to earlier rounds only.
    reasons.sort_unstable_by_key(|r| (r.round, r.parted));
    let mut builder = FormulaBuilder::new();
    let mut made: Map<Parted, Subformula> = Map::default();
    for reason in &reasons {
        let then = conjunction(&reason.then, &made, &mut builder);
        let label = reason.label;
        let node = if !refined.inert_tau {
            Node::Step { label, then }
        } else {
            let hold = conjunction(&reason.hold, &made, &mut builder);
            if Some(label) == refined.divergence {
                Node::Diverges { hold }
            } else {
                Node::Until { hold, label, then }
            }
        };
        let formula = builder.add(node);
        made.insert(reason.parted, if reason.negated { builder.not(formula) } else { formula });
    }
    let root = conjunction(&[whole], &made, &mut builder);
    Some(builder.finish(root, refined.lts.labels().to_vec()))
}

fn conjunction(parts: &[Wanted], made: &Map<Parted, Subformula>, builder: &mut FormulaBuilder) -> Subformula {
    let mut formulas = Vec::with_capacity(parts.len());
    for wanted in parts {
        let formula = made[&wanted.parted];
        formulas.push(if wanted.negated { builder.not(formula) } else { formula });
    }
    builder.and(formulas)
}

impl Refined<'_> {
    /// What distinguishes the states of one block from those of another.
    fn wanted(&self, one: u32, other: u32) -> Wanted {
        let round = self.partition.parting(one, other);
        let one = self.partition.ancestor(one, round);
        let other = self.partition.ancestor(other, round);
        Wanted { parted: (one.min(other), one.max(other)), negated: one > other }
    }

    fn reason(&self, parted: Parted) -> Reason {
        let round = self.partition.parting(parted.0, parted.1);
        let common = self.partition.ancestor(parted.0, round - 1);
        let first = self.signature(parted.0, common, round - 1);
        let second = self.signature(parted.1, common, round - 1);
        let candidates = [(&first, &second, false), (&second, &first, true)].into_iter().flat_map(
            |(has, lacks, negated)| {
                has.iter().filter(|p| lacks.binary_search(p).is_err()).map(move |&p| (p, lacks, negated))
            },
        );
        // The fewer formulas it takes, the shorter the whole.
        let (pair, lacks, negated) = candidates
            .min_by_key(|&(pair, lacks, negated)| {
                let label = unpair(pair).0;
                (with_label(lacks, label).len(), negated, pair)
            })
            .expect("blocks part because their signatures differ");
        let (label, target) = unpair(pair);
        let mut then: Vec<Wanted> = Vec::new();
        let mut hold = Vec::new();
        if Some(label) != self.divergence {
            then.extend(with_label(lacks, label).iter().map(|&p| self.wanted(target, unpair(p).1)));
        }
        if self.inert_tau {
            hold.extend(with_label(lacks, Label::TAU).iter().map(|&p| self.wanted(common, unpair(p).1)));
            if label == Label::TAU {
                then.push(self.wanted(target, common));
            }
        }
        Reason { round, parted, negated, label, then, hold }
    }

    /// The signature, sorted, that all states of a block had with respect to the partition after `round`, when they
    /// lay in `common`.
    fn signature(&self, block: u32, common: u32, round: u32) -> Vec<u64> {
        let start = self.partition.members(block)[0];
        let mut seen: Set<u32> = [start].into_iter().collect();
        let mut open = vec![start];
        let mut signature = Vec::new();
        while let Some(s) = open.pop() {
            for t in self.lts.outgoing(State(s)) {
                let target = self.partition.ancestor(self.partition.block_of(t.to.0), round);
                if self.inert_tau && t.label == Label::TAU && target == common {
                    if seen.insert(t.to.0) {
                        open.push(t.to.0);
                    }
                } else {
                    signature.push(pair(t.label, target));
                }
            }
        }
        signature.sort_unstable();
        signature.dedup();
        signature
    }
}

/// The pairs of a signature that have a label.
fn with_label(signature: &[u64], label: Label) -> &[u64] {
    let begin = signature.partition_point(|&p| unpair(p).0 < label);
    let end = signature.partition_point(|&p| unpair(p).0 <= label);
    &signature[begin..end]
}
