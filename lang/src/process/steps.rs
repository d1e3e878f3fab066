//! The steps of a local state.
//!
//! [`Program::offers`] lists what a term can do first as *offers*: a summand with its environment, not yet solved, so
//! that a synchronisation partner may supply values for its sums. [`Program::steps`] solves everything on the spot and
//! serves terms that contain parallel composition themselves.

use crate::data::eval::{Eval, Failure, Frame};
use crate::data::solve::{Equation, Problem, Solved};
use crate::data::value::Value;
use crate::diagnostic::Span;
use crate::process::action::{Act, MultiAction, Operator};
use crate::process::program::{NodeId, NodeKind, Program, Summand, SummandHead, frame_with};
use crate::process::term::{Term, parallel};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How many values a sum that no partner drives may run through.
pub const MAX_CANDIDATES: usize = 1 << 20;
/// How deep calls may nest before an action is reached.
const MAX_HEADS: usize = 500;

/// Something a local state may do first.
#[derive(Clone, Debug)]
pub enum Offer {
    /// A summand whose variables and condition are still to be solved.
    Summand {
        /// The node that has the summand.
        node: NodeId,
        /// Which one.
        summand: usize,
        /// The values of the node's free variables.
        values: Arc<[Value]>,
        /// What follows after the summand itself.
        outer: Vec<Arc<Term>>,
    },
    /// A step that is completely known.
    Step(MultiAction, Term),
}

/// What is known of the arguments of each action of a summand, in the summand's order.
pub type Known = Vec<Vec<Option<Value>>>;

/// Where a step leads, worked out only once it is known that the step can happen.
#[derive(Clone, Debug)]
pub enum Pending {
    /// Known.
    Ready(Term),
    /// What follows a summand with all its variables bound.
    Later {
        /// The node that has the summand.
        node: NodeId,
        /// Which one.
        summand: usize,
        /// The values in its frame.
        frame: Arc<[Value]>,
        /// What follows after the summand itself.
        outer: Vec<Arc<Term>>,
    },
}

/// The outcome of solving an offer.
pub enum Solution {
    /// All steps that fit.
    Steps(Vec<(MultiAction, Pending)>),
    /// Nothing bounds the sum variable at this place.
    Unbounded(Span),
}

impl Program {
    /// The summand an offer refers to.
    pub fn summand(&self, node: NodeId, summand: usize) -> &Summand {
        match &self.node(node).kind {
            NodeKind::Summands(all) => &all[summand],
            _ => unreachable!("offers refer to nodes with summands"),
        }
    }

    /// What a term can do first.
    pub fn offers(&self, term: &Term) -> Eval<Vec<Offer>> {
        let mut out = Vec::new();
        self.collect(term, &mut Vec::new(), &mut Vec::new(), &mut out)?;
        Ok(out)
    }

    fn collect(
        &self,
        term: &Term,
        outer: &mut Vec<Arc<Term>>,
        path: &mut Vec<Term>,
        out: &mut Vec<Offer>,
    ) -> Eval<()> {
        stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || match term {
            Term::Node(id, values) => self.collect_node(*id, values, term, outer, path, out),
            Term::Seq(a, b) => {
                outer.push(b.clone());
                self.collect(a, outer, path, out)?;
                outer.pop();
                Ok(())
            }
            Term::Done | Term::Ended | Term::Dead => Ok(()),
            Term::Fault(failure) => Err((**failure).clone()),
            _ => {
                for (acts, next) in self.steps_at(term, path)? {
                    let next = self.continue_with(next, outer)?;
                    out.push(Offer::Step(acts, next));
                }
                Ok(())
            }
        })
    }

    fn collect_node(
        &self,
        id: NodeId,
        values: &Arc<[Value]>,
        term: &Term,
        outer: &mut Vec<Arc<Term>>,
        path: &mut Vec<Term>,
        out: &mut Vec<Offer>,
    ) -> Eval<()> {
        let NodeKind::Summands(summands) = &self.node(id).kind else {
            let term = self.resume(term.clone())?;
            return self.collect(&term, outer, path, out);
        };
        for (i, summand) in summands.iter().enumerate() {
            match &summand.head {
                SummandHead::Action(_) => out.push(Offer::Summand {
                    node: id,
                    summand: i,
                    values: values.clone(),
                    // Innermost last on the stack, but first to run.
                    outer: outer.iter().rev().cloned().collect(),
                }),
                SummandHead::Process(target) => {
                    if path.contains(term) || path.len() > MAX_HEADS {
                        return Err(self.unguarded(summand.span));
                    }
                    let mut found: Vec<(Term, Vec<Term>)> = Vec::new();
                    self.solve_fully(summand, values, &mut |frame| {
                        let rest =
                            summand.then.iter().map(|t| self.suspend(t, frame)).collect::<Eval<_>>()?;
                        found.push((self.instantiate(target, frame)?, rest));
                        Ok(())
                    })?;
                    path.push(term.clone());
                    for (head, rest) in found {
                        let before = outer.len();
                        outer.extend(rest.into_iter().rev().map(Arc::new));
                        self.collect(&head, outer, path, out)?;
                        outer.truncate(before);
                    }
                    path.pop();
                }
            }
        }
        Ok(())
    }

    fn unguarded(&self, span: Span) -> Failure {
        Failure::new(
            Some(span),
            "unguarded recursion: this process calls itself before any action",
            "put an action in front of the recursive call",
        )
    }

    fn continue_with(&self, next: Term, outer: &[Arc<Term>]) -> Eval<Term> {
        let mut whole = next;
        for after in outer.iter().rev() {
            whole = self.sequence(whole, (**after).clone())?;
        }
        Ok(whole)
    }

    /// Runs through all solutions of a summand; an unbounded sum is a failure at its place.
    fn solve_fully(
        &self,
        summand: &Summand,
        values: &[Value],
        found: &mut dyn FnMut(&mut Frame) -> Eval<()>,
    ) -> Eval<()> {
        match self.solve_summand(summand, values, Vec::new(), MAX_CANDIDATES, found)? {
            None => Ok(()),
            Some(span) => Err(unbounded(span)),
        }
    }

    /// Runs through the solutions of a summand under equations. The place of a sum variable is returned if nothing
    /// bounds it or it has more candidates than allowed.
    fn solve_summand(
        &self,
        summand: &Summand,
        values: &[Value],
        equations: Vec<Equation>,
        max_candidates: usize,
        found: &mut dyn FnMut(&mut Frame) -> Eval<()>,
    ) -> Eval<Option<Span>> {
        self.ev.begin();
        let mut frame = frame_with(values, summand.frame);
        let problem =
            Problem { vars: &summand.vars, goal: &summand.goal, equations, max_candidates, symbolic: false };
        let outcome = self.ev.solve(&problem, &mut frame, &mut |frame| {
            found(frame)?;
            Ok(ControlFlow::Continue(()))
        })?;
        let place = |slot: u32| {
            let at = summand.vars.iter().position(|v| v.0 == slot).unwrap_or(0);
            summand.var_spans.get(at).copied().unwrap_or(summand.span)
        };
        match outcome {
            Solved::All | Solved::Stopped => Ok(None),
            Solved::Unbounded(slot) => Ok(Some(place(slot))),
            Solved::TooMany => Ok(Some(summand.var_spans.first().copied().unwrap_or(summand.span))),
            Solved::Undecided => {
                let mut frame = frame_with(values, summand.frame);
                let mut shown = Value::Bool(false);
                for (code, occurs) in &summand.goal.conjuncts {
                    if occurs.is_empty() {
                        shown = self.ev.eval(code, &mut frame)?;
                        if shown.as_bool().is_none() {
                            break;
                        }
                    }
                }
                Err(if shown.as_bool().is_none() {
                    self.no_truth_value(&shown, summand.span)
                } else {
                    Failure::new(
                        Some(summand.span),
                        "a condition in front of this action is neither true nor false for some value of its sum",
                        "add equations that define it",
                    )
                })
            }
        }
    }

    /// Solves an offer of a summand, given what is known of the arguments of its actions.
    pub fn answer(
        &self,
        (node, index): (NodeId, usize),
        values: &[Value],
        outer: &[Arc<Term>],
        known: &Known,
        max_candidates: usize,
    ) -> Eval<Solution> {
        let summand = self.summand(node, index);
        let SummandHead::Action(acts) = &summand.head else { unreachable!("offers have actions") };
        let mut equations = Vec::new();
        for (act, known) in acts.iter().zip(known) {
            for (code, value) in act.args.iter().zip(known) {
                if let Some(value) = value {
                    equations.push(Equation { code, value });
                }
            }
        }
        let mut steps = Vec::new();
        let unbounded = self.solve_summand(summand, values, equations, max_candidates, &mut |frame| {
            let mut multi: MultiAction = Vec::with_capacity(acts.len());
            for act in acts {
                let args = act.args.iter().map(|c| self.ev.eval(c, frame)).collect::<Eval<Vec<_>>>()?;
                multi.push(Act { name: act.name, args });
            }
            multi.sort();
            let slots = 0..frame.len() as u32;
            let values = slots.map(|s| self.ev.force(frame, s)).collect::<Eval<Vec<_>>>()?;
            let next = Pending::Later { node, summand: index, frame: values.into(), outer: outer.to_vec() };
            steps.push((multi, next));
            Ok(())
        })?;
        Ok(match unbounded {
            Some(span) => Solution::Unbounded(span),
            None => Solution::Steps(steps),
        })
    }

    /// The term a step leads to.
    pub fn finish(&self, pending: &Pending) -> Eval<Term> {
        match pending {
            Pending::Ready(term) => Ok(term.clone()),
            Pending::Later { node, summand, frame, outer } => {
                self.ev.begin();
                let mut frame = frame_with(frame, 0);
                self.after(&self.summand(*node, *summand).then, &mut frame, outer)
            }
        }
    }

    /// What is known of the arguments of a summand's actions before any variable is bound.
    pub fn known_of(&self, (node, summand): (NodeId, usize), values: &[Value]) -> Eval<Known> {
        let summand = self.summand(node, summand);
        let SummandHead::Action(acts) = &summand.head else { unreachable!("offers have actions") };
        let slots: Vec<u32> = summand.vars.iter().map(|v| v.0).collect();
        let mut frame = frame_with(values, summand.frame);
        self.ev.begin();
        acts.iter()
            .map(|act| {
                act.args
                    .iter()
                    .map(|code| {
                        if crate::data::compile::occurring(code, &slots).is_empty() {
                            self.ev.eval(code, &mut frame).map(Some)
                        } else {
                            Ok(None)
                        }
                    })
                    .collect()
            })
            .collect()
    }

    /// All steps of a term, solved on the spot. Termination is not a step.
    pub fn steps(&self, term: &Term) -> Eval<Vec<(MultiAction, Term)>> {
        self.steps_at(term, &mut Vec::new())
    }

    fn steps_at(&self, term: &Term, path: &mut Vec<Term>) -> Eval<Vec<(MultiAction, Term)>> {
        stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || match term {
            Term::Parallel(parts) => self.parallel_steps(parts, path),
            Term::LeftMerge(a, b) => Ok(self
                .steps_at(a, path)?
                .into_iter()
                .map(|(acts, next)| (acts, parallel(vec![next, (**b).clone()])))
                .collect()),
            Term::Sync(a, b) => {
                let (left, right) = (self.steps_at(a, path)?, self.steps_at(b, path)?);
                let mut out = Vec::new();
                for (x, p) in &left {
                    for (y, q) in &right {
                        out.push((merge(x, y), parallel(vec![p.clone(), q.clone()])));
                    }
                }
                Ok(out)
            }
            Term::Operator(node, inner) => {
                let NodeKind::Operator(operator, _) = &self.node(*node).kind else {
                    unreachable!("operator terms refer to operator nodes")
                };
                let mut out = Vec::new();
                for (mut acts, next) in self.steps_at(inner, path)? {
                    if operator_allows(operator, &mut acts) {
                        out.push((acts, self.wrap(*node, next)));
                    }
                }
                Ok(out)
            }
            _ => {
                let mut offers = Vec::new();
                self.collect(term, &mut Vec::new(), path, &mut offers)?;
                let mut out = Vec::new();
                for offer in offers {
                    match offer {
                        Offer::Step(acts, next) => out.push((acts, next)),
                        Offer::Summand { node, summand, values, outer } => {
                            let nothing = Vec::new();
                            match self.answer((node, summand), &values, &outer, &nothing, MAX_CANDIDATES)? {
                                Solution::Steps(steps) => {
                                    for (acts, next) in steps {
                                        out.push((acts, self.finish(&next)?));
                                    }
                                }
                                Solution::Unbounded(span) => return Err(unbounded(span)),
                            }
                        }
                    }
                }
                Ok(out)
            }
        })
    }

    fn parallel_steps(&self, parts: &[Term], path: &mut Vec<Term>) -> Eval<Vec<(MultiAction, Term)>> {
        // Partial combinations: the actions so far, the parts that moved, and which of its steps the last part made; one
        // that stays counts as if behind its last step.
        let mut combined: Vec<(MultiAction, Vec<(usize, Term)>, usize)> = vec![(Vec::new(), Vec::new(), 0)];
        let mut steps = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            // Equal parts, which stand next to each other, can be exchanged. They choose in ascending order, so k of them
            // with one step each have k + 1 combinations, not 2^k.
            let again = i > 0 && parts[i - 1] == *part;
            if !again {
                steps = self.steps_at(part, path)?;
            }
            let mut more = Vec::new();
            for (acts, moved, last) in &mut combined {
                let from = if again { *last } else { 0 };
                for (choice, (other, next)) in steps.iter().enumerate().skip(from) {
                    self.ev.tick(self.place(part))?;
                    let mut moved = moved.clone();
                    moved.push((i, next.clone()));
                    more.push((merge(acts, other), moved, choice));
                }
                *last = steps.len();
            }
            combined.extend(more);
        }
        Ok(combined
            .into_iter()
            .filter(|(_, moved, _)| !moved.is_empty())
            .map(|(acts, moved, _)| {
                let mut next = parts.to_vec();
                for (i, term) in moved {
                    next[i] = term;
                }
                (acts, parallel(next))
            })
            .collect())
    }
}

impl Program {
    /// Where the first process of a term is written.
    fn place(&self, term: &Term) -> Option<Span> {
        let mut term = term;
        loop {
            term = match term {
                Term::Node(id, _) | Term::Operator(id, _) => return Some(self.node(*id).span),
                Term::Seq(first, _) | Term::LeftMerge(first, _) | Term::Sync(first, _) => first,
                Term::Parallel(parts) => parts.first()?,
                Term::Done | Term::Ended | Term::Dead | Term::Fault(_) => return None,
            };
        }
    }
}

/// The failure of a sum that nothing bounds.
pub fn unbounded(span: Span) -> Failure {
    Failure::new(
        Some(span),
        "this sum ranges over infinitely (or far too) many values and nothing bounds it",
        "bound the variable in a condition (n < 10, n == e, n in xs), or let a communication partner supply its value",
    )
}

fn operator_allows(operator: &Operator, acts: &mut MultiAction) -> bool {
    operator.apply(acts, &mut Vec::new())
}

fn merge(a: &[Act], b: &[Act]) -> MultiAction {
    let mut all = [a, b].concat();
    all.sort();
    all
}
