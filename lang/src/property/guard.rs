//! What the data of a formula says about its variables before any step is looked at.
//!
//! The guard of a formula is a condition on its variables alone. It bounds those of infinite sorts, as in
//! `exists n: Nat. val(n < 3) && a(n + 1)`.
//!
//! Invariant: a guard is no stronger than its formula. Where it is false no step satisfies the formula, so values
//! outside of it can be left out.

use super::resolve::{Meanings, Reading};
use crate::data::code::{Code, Goal, Slot};
use crate::data::compile::{Compiler, Scope, free_vars, junction, negate, occurring};
use crate::data::eval::{Bound, Eval, Evaluator, Frame, new_frame};
use crate::data::solve::{Problem, Solved};
use crate::data::value::Value;
use crate::model::{ExprKind, Model, VarId};
use crate::process::steps::MAX_CANDIDATES;
use crate::syntax::formula::{Action, ActionFormula, ActionKind, Quantifier, StateFormula, StateKind};
use crate::syntax::tree::{Data, VarDecl};
use gridlock_lts::base::hash::Set;
use std::ops::ControlFlow;

/// What a guard leaves.
pub enum Left<'f> {
    /// These values of the variables.
    Values(Vec<Vec<Value>>),
    /// More than there is room for.
    TooMany,
    /// It does not bound this variable.
    Unbounded(&'f VarDecl),
    /// For some values it is neither true nor false.
    Undecided,
}

/// Puts guards together. Polarity `false` asks for the guard of the negation.
pub struct Guards<'m, 'f> {
    meanings: &'m Meanings,
    /// Compiles the data.
    pub compiler: Compiler<'m>,
    /// The slots of all variables.
    pub scope: Scope,
    /// The variables to be solved for: those asked about, then those that only help to bound them.
    pub vars: Vec<(&'f VarDecl, Slot)>,
    /// Whether inner variables are solved for. Only where every solution needs them: not below alternatives.
    hoisting: bool,
}

impl<'m, 'f> Guards<'m, 'f> {
    /// Guards for some variables, in a scope with those that have values already. Inner variables, whose values are not
    /// asked for, are solved for as well if `with_inner` is set.
    pub fn new(
        meanings: &'m Meanings,
        compiler: Compiler<'m>,
        scope: Scope,
        vars: &[&'f VarDecl],
        with_inner: bool,
    ) -> Self {
        let mut guards = Guards { meanings, compiler, scope, vars: Vec::new(), hoisting: with_inner };
        guards.bind(vars.iter().copied());
        guards
    }

    fn bind(&mut self, vars: impl Iterator<Item = &'f VarDecl>) {
        for decl in vars {
            let slot = self.scope.bind(self.meanings.var(decl));
            self.vars.push((decl, slot));
        }
    }

    /// The combinations of values of the `asked` first variables that a guard leaves, each once, in a fixed order; at most
    /// `room` of them.
    pub fn solve(
        mut self,
        guard: Code,
        asked: usize,
        known: Vec<(Slot, Value)>,
        evaluator: &Evaluator,
        room: usize,
    ) -> Eval<Left<'f>> {
        let slots: Vec<Slot> = self.vars.iter().map(|v| v.1).collect();
        let mentioned = occurring(&guard, &slots);
        let helpers = self.vars.split_off(asked);
        self.vars.extend(helpers.into_iter().filter(|v| mentioned.contains(&v.1)));
        let sort = |decl| evaluator.model.vars[self.meanings.var(decl).ix()].sort;
        let vars: Vec<_> = self.vars.iter().map(|(decl, slot)| (*slot, sort(decl))).collect();
        let slots: Vec<Slot> = vars.iter().map(|v| v.0).collect();
        let problem = Problem {
            vars: &vars,
            goal: &Goal::new(guard, &slots),
            equations: Vec::new(),
            max_candidates: MAX_CANDIDATES,
            symbolic: false,
        };
        let (mut seen, mut found) = (Set::default(), Vec::new());
        let outcome = evaluator.solve(&problem, &mut frame_of(&self.scope, known), &mut |frame| {
            let values = slots[..asked].iter().map(|slot| evaluator.force(frame, *slot));
            let values = values.collect::<Eval<Vec<Value>>>()?;
            if seen.insert(values.clone()) {
                found.push(values);
            }
            Ok(if found.len() > room { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(match outcome {
            Solved::All => Left::Values(found),
            Solved::Stopped | Solved::TooMany => Left::TooMany,
            Solved::Undecided => Left::Undecided,
            Solved::Unbounded(slot) => {
                let at = slots.iter().position(|s| *s == slot).expect("a variable of the problem");
                Left::Unbounded(self.vars[at].0)
            }
        })
    }

    /// The guard of an action formula.
    pub fn action(&mut self, formula: &'f ActionFormula, positive: bool) -> Code {
        match &formula.kind {
            ActionKind::Bool(b) => constant(*b == positive),
            ActionKind::Data(data) => self.data(data, positive),
            ActionKind::MultiAction(_) => constant(true),
            ActionKind::Not(a) => self.action(a, !positive),
            ActionKind::And(all) => self.parts(positive, all.iter().map(|a| (a, positive)), Self::action),
            ActionKind::Or(all) => self.parts(!positive, all.iter().map(|a| (a, positive)), Self::action),
            ActionKind::Implies(a, b) => {
                self.parts(!positive, [(&**a, !positive), (&**b, positive)].into_iter(), Self::action)
            }
            ActionKind::Quantifier(quantifier, vars, body) => {
                self.quantifier(*quantifier, vars, positive, |this| this.action(body, positive))
            }
        }
    }

    /// The guard of a state formula.
    pub fn state(&mut self, formula: &'f StateFormula, positive: bool) -> Code {
        match &formula.kind {
            StateKind::Bool(b) => constant(*b == positive),
            StateKind::Data(data) => self.data(data, positive),
            StateKind::Not(f) => self.state(f, !positive),
            StateKind::And(all) => self.parts(positive, all.iter().map(|f| (f, positive)), Self::state),
            StateKind::Or(all) => self.parts(!positive, all.iter().map(|f| (f, positive)), Self::state),
            StateKind::Implies(f, g) => {
                self.parts(!positive, [(&**f, !positive), (&**g, positive)].into_iter(), Self::state)
            }
            StateKind::Quantifier(quantifier, vars, body) => {
                self.quantifier(*quantifier, vars, positive, |this| this.state(body, positive))
            }
            StateKind::Box(..)
            | StateKind::Diamond(..)
            | StateKind::Fixpoint(..)
            | StateKind::Variable(..) => constant(true),
        }
    }

    fn data(&mut self, data: &Data, positive: bool) -> Code {
        let code = self.compiler.expr(self.meanings.expr(data), &mut self.scope);
        if positive { code } else { negate(code) }
    }

    fn parts<T: 'f>(
        &mut self,
        and: bool,
        parts: impl Iterator<Item = (&'f T, bool)>,
        guard: impl Fn(&mut Self, &'f T, bool) -> Code,
    ) -> Code {
        let before = self.hoisting;
        self.hoisting &= and;
        let codes: Vec<Code> = parts.map(|(part, positive)| guard(self, part, positive)).collect();
        self.hoisting = before;
        // Most alternatives are not just data, and then nothing is known.
        if !and && codes.iter().any(|code| matches!(code, Code::Const(Value::Bool(true)))) {
            return constant(true);
        }
        junction(
            and,
            codes.into_iter().filter(|code| !matches!(code, Code::Const(Value::Bool(b)) if *b == and)),
        )
    }

    fn quantifier(
        &mut self,
        quantifier: Quantifier,
        vars: &'f [VarDecl],
        positive: bool,
        body: impl FnOnce(&mut Self) -> Code,
    ) -> Code {
        if self.hoisting && (quantifier == Quantifier::Exists) == positive {
            self.bind(vars.iter());
            return body(self);
        }
        // Sorts are not empty, so what does not depend on the variables is needed for all their values.
        let before = std::mem::replace(&mut self.hoisting, false);
        let inner: Vec<Slot> = vars.iter().map(|decl| self.scope.bind(self.meanings.var(decl))).collect();
        let code = body(self);
        self.hoisting = before;
        match code {
            Code::Junction(true, parts) => {
                junction(true, parts.into_vec().into_iter().filter(|part| occurring(part, &inner).is_empty()))
            }
            code if occurring(&code, &inner).is_empty() => code,
            _ => constant(true),
        }
    }
}

/// A frame with the values that are known.
pub fn frame_of(scope: &Scope, known: Vec<(Slot, Value)>) -> Frame {
    let mut frame = new_frame(scope.size());
    for (slot, value) in known {
        frame[slot as usize] = Bound::Now(value);
    }
    frame
}

fn constant(b: bool) -> Code {
    Code::Const(Value::Bool(b))
}

/// What a formula does with a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It does not occur.
    Absent,
    /// It is an argument of its own sort and nothing else, so that any value of that argument will do.
    Argument,
    /// Its value matters.
    Tested,
}

/// The role of a variable in an action formula or, if not `positive`, its negation.
pub fn role(model: &Model, meanings: &Meanings, var: VarId, formula: &ActionFormula, positive: bool) -> Role {
    let of = |a: &ActionFormula, positive| role(model, meanings, var, a, positive);
    match &formula.kind {
        ActionKind::Bool(_) => Role::Absent,
        ActionKind::Data(data) => {
            let mut occurring = Vec::new();
            free_vars(meanings.expr(data), &mut occurring);
            if occurring.contains(&var) { Role::Tested } else { Role::Absent }
        }
        ActionKind::MultiAction(actions) => match role_in_action(model, meanings, var, actions) {
            Role::Argument if !positive => Role::Tested,
            role => role,
        },
        ActionKind::Not(a) => of(a, !positive),
        ActionKind::And(all) => joined(positive, all.iter().map(|a| of(a, positive))),
        ActionKind::Or(all) => joined(!positive, all.iter().map(|a| of(a, positive))),
        ActionKind::Implies(a, b) => joined(!positive, [of(a, !positive), of(b, positive)].into_iter()),
        ActionKind::Quantifier(quantifier, _, body) => match of(body, positive) {
            // One value must do for all values of the inner variable.
            Role::Argument if (*quantifier == Quantifier::Exists) != positive => Role::Tested,
            role => role,
        },
    }
}

/// In a conjunction the same value must do for all parts.
fn joined(and: bool, parts: impl Iterator<Item = Role>) -> Role {
    parts.fold(Role::Absent, |whole, part| match (whole, part) {
        (Role::Absent, other) | (other, Role::Absent) => other,
        (Role::Argument, Role::Argument) if !and => Role::Argument,
        _ => Role::Tested,
    })
}

fn role_in_action(model: &Model, meanings: &Meanings, var: VarId, actions: &[Action]) -> Role {
    let sort = model.vars[var.ix()].sort;
    let readings: Vec<&[Reading]> = actions.iter().map(|a| meanings.readings(&a.name)).collect();
    let mut occurrences = Vec::new();
    let mut bare = 0;
    for (expr, of) in readings.iter().copied().flatten().filter_map(|r| r.args.as_ref()).flatten() {
        let Some(expr) = expr else { continue };
        free_vars(expr, &mut occurrences);
        bare += usize::from(matches!(expr.kind, ExprKind::Var(v) if v == var) && *of == sort);
    }
    match occurrences.iter().filter(|v| **v == var).count() {
        0 => Role::Absent,
        1 if bare == 1 && readings.iter().all(|r| is_only_declaration(model, r)) => Role::Argument,
        _ => Role::Tested,
    }
}

/// Whether an action is read in one way, and no other declaration of its name takes as many arguments. Labels do not
/// have the sorts of their arguments: with `act a: Nat; a: Bool;` any argument of `a` need not be any number.
fn is_only_declaration(model: &Model, readings: &[Reading]) -> bool {
    let [Reading { name, args: Some(args) }] = readings else { return readings.len() == 1 };
    model.actions.iter().filter(|(n, sorts)| n == name && sorts.len() == args.len()).count() <= 1
}
