//! Local states as terms: a node with the values of its free variables, or an operator over such.
//!
//! Terms are normalised when they are made: process calls are unfolded, conditions decided, finished parts dropped. So
//! two states that differ only in how they were reached are one.

use crate::data::eval::{Eval, Failure, Frame};
use crate::data::print::value_text;
use crate::data::value::Value;
use crate::process::action::Operator;
use crate::process::program::{NodeId, NodeKind, Program, Target, frame_with};
use crate::process::stack::{HIGHEST, superfluous};
use std::sync::Arc;

/// How many calls may be unfolded on the way to the first action or parallel component.
const MAX_UNFOLD: u32 = 1_000;

/// A local state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// A node with the values of its free variables.
    Node(NodeId, Arc<[Value]>),
    /// First, then second.
    Seq(Arc<Term>, Arc<Term>),
    /// At least two parts, none of them finished, in ascending order: how they are arranged makes no difference.
    Parallel(Arc<[Term]>),
    /// `p ||_ q`.
    LeftMerge(Arc<Term>, Arc<Term>),
    /// `p | q`.
    Sync(Arc<Term>, Arc<Term>),
    /// The operator of a node around a term.
    Operator(NodeId, Arc<Term>),
    /// Successful termination: the only step is `Terminate`.
    Done,
    /// The state after the step `Terminate`, without steps: a regular end.
    Ended,
    /// No step is possible, and nothing has terminated.
    Dead,
    /// The state has no meaning: making it failed.
    Fault(Arc<Failure>),
}

impl Program {
    /// The term a target stands for, given the frame it refers to.
    pub fn instantiate(&self, target: &Target, frame: &mut Frame) -> Eval<Term> {
        self.instantiate_at(target, frame, 0)
    }

    fn instantiate_at(&self, target: &Target, frame: &mut Frame, unfolded: u32) -> Eval<Term> {
        self.normalise(target.node, self.target_values(target, frame)?, unfolded)
    }

    /// The initial term.
    pub fn initial(&self) -> Eval<Term> {
        self.normalise(self.init, Vec::new(), 0)
    }

    /// The term of a node with the values of its free variables.
    pub fn normalise(&self, id: NodeId, values: Vec<Value>, unfolded: u32) -> Eval<Term> {
        stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || self.normalise_inner(id, values, unfolded))
    }

    fn normalise_inner(&self, mut id: NodeId, mut values: Vec<Value>, mut unfolded: u32) -> Eval<Term> {
        loop {
            let node = self.node(id);
            match &node.kind {
                NodeKind::Summands(_) => return Ok(Term::Node(id, values.into())),
                NodeKind::Call(proc, args, size) => {
                    unfolded += 1;
                    if unfolded > MAX_UNFOLD {
                        return Err(self.endless(*proc, node.span));
                    }
                    self.ev.tick(Some(node.span))?;
                    let mut frame = frame_with(&values, *size);
                    let def = &self.ev.model.processes[proc.ix()];
                    let body = self.bodies[proc.ix()];
                    // Only the parameters that the body reads are evaluated.
                    values = Vec::with_capacity(self.node(body).free.len());
                    for var in &self.node(body).free {
                        let at = def
                            .params
                            .iter()
                            .position(|p| p == var)
                            .expect("a body's free variables are parameters");
                        let value = self.ev.eval(&args[at], &mut frame)?;
                        values.push(self.ev.canonical(self.ev.model.vars[var.ix()].sort, value)?);
                    }
                    id = body;
                }
                NodeKind::Condition(code, size, yes, no) => {
                    let mut frame = frame_with(&values, *size);
                    let next = match self.ev.eval(code, &mut frame)? {
                        Value::Bool(true) => Some(yes),
                        Value::Bool(false) => no.as_ref(),
                        other => return Err(self.no_truth_value(&other, node.span)),
                    };
                    let Some(next) = next else { return Ok(Term::Dead) };
                    values = self.target_values(next, &mut frame)?;
                    id = next.node;
                }
                NodeKind::Seq(first, second) => {
                    let mut frame = frame_with(&values, 0);
                    let a = self.instantiate_at(first, &mut frame, unfolded)?;
                    if !self.may_finish(&a) {
                        return Ok(a);
                    }
                    // What follows is left folded up: unfolding it now could be endless in `P = a . P . P`.
                    let b = self.suspend(second, &mut frame)?;
                    return self.sequence(a, b);
                }
                NodeKind::Parallel(parts) => {
                    let mut frame = frame_with(&values, 0);
                    let parts: Vec<Term> = parts
                        .iter()
                        .map(|p| self.instantiate_at(p, &mut frame, unfolded + 1))
                        .collect::<Eval<_>>()?;
                    return Ok(parallel(parts));
                }
                NodeKind::LeftMerge(a, b) | NodeKind::Sync(a, b) => {
                    let mut frame = frame_with(&values, 0);
                    let x = Arc::new(self.instantiate_at(a, &mut frame, unfolded + 1)?);
                    let y = Arc::new(self.instantiate_at(b, &mut frame, unfolded + 1)?);
                    let left = matches!(node.kind, NodeKind::LeftMerge(..));
                    return Ok(if left { Term::LeftMerge(x, y) } else { Term::Sync(x, y) });
                }
                NodeKind::Operator(_, inner) => {
                    let mut frame = frame_with(&values, 0);
                    let inner = self.instantiate_at(inner, &mut frame, unfolded + 1)?;
                    return Ok(self.wrap(id, inner));
                }
            }
        }
    }

    /// A continuation that is not normalised yet.
    pub fn suspend(&self, target: &Target, frame: &mut Frame) -> Eval<Term> {
        let values = self.target_values(target, frame)?;
        Ok(Term::Node(target.node, values.into()))
    }

    /// Whether a term may ever terminate; if not, nothing that follows it matters.
    fn may_finish(&self, term: &Term) -> bool {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match term {
            Term::Node(id, _) => self.may_finish[id.0 as usize],
            Term::Seq(a, b) | Term::LeftMerge(a, b) | Term::Sync(a, b) => {
                self.may_finish(a) && self.may_finish(b)
            }
            Term::Parallel(parts) => parts.iter().all(|p| self.may_finish(p)),
            Term::Operator(_, inner) => self.may_finish(inner),
            Term::Done => true,
            Term::Ended | Term::Dead | Term::Fault(_) => false,
        })
    }

    /// `first . second`; the second is normalised once the first has finished, and dropped if it never does: in
    /// `P = a . P . b` the `b`s would pile up.
    pub fn sequence(&self, first: Term, second: Term) -> Eval<Term> {
        match first {
            Term::Done => self.resume(second),
            first if !self.may_finish(&first) => Ok(first),
            first => Ok(Term::Seq(Arc::new(first), Arc::new(second))),
        }
    }

    /// Normalises a suspended continuation.
    pub fn resume(&self, term: Term) -> Eval<Term> {
        match term {
            Term::Node(id, values) => self.normalise(id, values.to_vec(), 0),
            Term::Seq(a, b) => {
                let a = self.resume((*a).clone())?;
                self.sequence(a, (*b).clone())
            }
            other => Ok(other),
        }
    }

    /// The term after a step of a summand: what follows it, in a frame with all its variables.
    pub fn after(&self, then: &[Target], frame: &mut Frame, outer: &[Arc<Term>]) -> Eval<Term> {
        let mut parts: Vec<Term> = then.iter().map(|t| self.suspend(t, frame)).collect::<Eval<_>>()?;
        parts.extend(outer.iter().map(|t| (**t).clone()));
        if let Some(last) = parts.iter().position(|p| !self.may_finish(p)) {
            parts.truncate(last + 1);
        }
        let Some(mut whole) = parts.pop() else { return Ok(Term::Done) };
        if parts.is_empty() {
            return self.resume(whole);
        }
        while parts.len() > 1 {
            let before = parts.pop().expect("more than one");
            whole = Term::Seq(Arc::new(before), Arc::new(whole));
        }
        let first = self.resume(parts.pop().expect("one left"))?;
        self.sequence(first, whole)
    }

    /// An operator around a term, without what is superfluous among the operators that are around it then.
    pub fn wrap(&self, operator: NodeId, inner: Term) -> Term {
        if matches!(inner, Term::Done | Term::Ended | Term::Dead) {
            return inner;
        }
        let mut stack = vec![operator];
        let mut below = &inner;
        while let Term::Operator(next, inside) = below {
            stack.push(*next);
            below = inside;
        }
        let mut out = if stack.len() > HIGHEST { 0 } else { self.superfluous(stack) };
        if out == 0 {
            return Term::Operator(operator, Arc::new(inner));
        }
        let mut inner = inner;
        while out > 1 {
            let Term::Operator(_, inside) = &inner else { break };
            inner = (**inside).clone();
            out -= 1;
        }
        inner
    }

    /// How many operators at the top of a stack can be left out.
    fn superfluous(&self, stack: Vec<NodeId>) -> usize {
        if let Some(known) = self.superfluous.borrow().get(&stack) {
            return *known;
        }
        let operator = |id: &NodeId| match &self.node(*id).kind {
            NodeKind::Operator(operator, _) => operator,
            _ => unreachable!("operator terms refer to operator nodes"),
        };
        let operators: Vec<&Operator> = stack.iter().map(operator).collect();
        let count = superfluous(&operators, self.ev.model.action_names.len());
        self.superfluous.borrow_mut().insert(stack, count);
        count
    }

    fn endless(&self, proc: crate::model::ProcId, span: crate::diagnostic::Span) -> Failure {
        Failure::new(
            Some(span),
            format!("the recursion of '{}' never reaches an action", self.ev.model.processes[proc.ix()].name),
            "every cycle of process calls needs an action in front of it, and a recursion over parallel processes an end",
        )
    }

    /// The failure of a condition that is neither true nor false.
    pub fn no_truth_value(&self, value: &Value, span: crate::diagnostic::Span) -> Failure {
        Failure::new(
            Some(span),
            format!("the condition is neither true nor false: {}", value_text(&self.ev.model, value)),
            "add equations that define it for these arguments",
        )
    }
}

/// A parallel composition without its finished parts.
pub fn parallel(parts: Vec<Term>) -> Term {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Term::Done => {}
            Term::Parallel(inner) => flat.extend(inner.iter().cloned()),
            other => flat.push(other),
        }
    }
    match flat.len() {
        0 => Term::Done,
        1 => flat.pop().expect("one part"),
        _ => {
            flat.sort();
            Term::Parallel(flat.into())
        }
    }
}
