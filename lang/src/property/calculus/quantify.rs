//! Where the values of quantified variables come from.
//!
//! A quantifier moves inwards as far as it goes: `forall x. (f && g)` falls apart, `forall x. [R]f` is `[R]forall x. f` if
//! `R` does not name `x`, and at last `forall x. [a(x)]f` is one modality that takes `x` from each step; and so do
//! `exists`, `||` and `<…>`. So a sort may have any number of values if steps give them. Data beside it, as in
//! `forall x. val(c) => f`, goes along as a guard. Where it cannot move any more, the values that the data leaves are
//! tried one by one.
//!
//! Sorts are not empty, so a variable that does not occur can be dropped.

use super::action::joined;
use super::compile::Translation;
use super::need::Needs;
use super::node::{Kind, NodeId, Quantified, Unknown};
use crate::data::code::{Code, Goal, QuantifierCode, Slot};
use crate::data::compile::{Compiler, free_vars, occurring};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::VarId;
use crate::property::guard::Guards;
use crate::syntax::formula::{
    ActionFormula, ActionKind, Quantifier, RegularFormula, RegularKind, StateFormula, StateKind,
};
use crate::syntax::tree::{Data, VarDecl};
use std::sync::Arc;

/// Data that must be true, or false, for the values that count.
type Guard<'f> = (&'f Data, bool);

/// A part of a regular formula that is still to come.
#[derive(Clone, Copy)]
pub(super) enum Piece<'f> {
    One(&'f RegularFormula),
    Star(&'f RegularFormula, Span),
}

/// What a quantifier is about: `all` values of the variables for which the guards are true, or some.
#[derive(Clone)]
struct Values<'f> {
    all: bool,
    vars: Vec<&'f VarDecl>,
    guards: Vec<Guard<'f>>,
}

impl Translation<'_> {
    /// All values (`all`), or some, of the variables for which the guards are true make a formula true or, if not
    /// `positive`, false.
    pub(super) fn quantified<'f>(
        &mut self,
        all: bool,
        vars: Vec<&'f VarDecl>,
        guards: Vec<Guard<'f>>,
        formula: &'f StateFormula,
        positive: bool,
    ) -> Result<NodeId, Diagnostic> {
        self.spread(Values { all, vars, guards }, formula, positive)
    }

    fn spread<'f>(
        &mut self,
        mut values: Values<'f>,
        mut formula: &'f StateFormula,
        mut positive: bool,
    ) -> Result<NodeId, Diagnostic> {
        let all = values.all;
        loop {
            match &formula.kind {
                StateKind::Not(inner) => (formula, positive) = (inner, !positive),
                StateKind::Quantifier(quantifier, more, inner)
                    if ((*quantifier == Quantifier::Forall) == positive) == all =>
                {
                    values.vars.extend(more);
                    formula = inner;
                }
                _ => break,
            }
        }
        let span = formula.span;
        for decl in &values.vars {
            self.bind(self.meanings.var(decl));
        }
        let used = self.used_by_guards(&values.guards);
        values.vars.retain(|decl| used.contains(&self.meanings.var(decl)) || self.is_used(decl, formula));
        if values.vars.is_empty() {
            let mut parts = Vec::new();
            for (data, truth) in &values.guards {
                let code = self.data(data, true);
                parts.push(self.add(Kind::Data(code, *truth != all), data.span)?);
            }
            parts.push(self.state(formula, positive)?);
            return self.junction(!all, parts, span);
        }
        if let Some((and, parts)) = parts(formula, positive) {
            if and == all {
                let spread = parts.into_iter().map(|(f, positive)| self.spread(values.clone(), f, positive));
                let spread = spread.collect::<Result<Vec<_>, _>>()?;
                return self.junction(all, spread, span);
            }
            let mut flat = Vec::new();
            parts.into_iter().for_each(|(f, positive)| flatten(f, positive, and, &mut flat));
            return self.beside(values, formula, positive, flat);
        }
        match &formula.kind {
            StateKind::Box(r, f) | StateKind::Diamond(r, f)
                if (matches!(formula.kind, StateKind::Box(..)) == positive) == all =>
            {
                let before = self.around.replace(span);
                let node = self.along(values, vec![Piece::One(r)], f, positive);
                self.around = before;
                node
            }
            _ => {
                let needs = self.needs(all, &[], &[(formula, positive)], &[])?;
                self.tried(values, &[], needs, formula, positive, |this| this.state(formula, positive))
            }
        }
    }

    /// Alternatives behind `forall`, or conjuncts behind `exists`: data is a guard, what does not name the variables
    /// stays outside, and if one part is left the quantifier goes on into it.
    fn beside<'f>(
        &mut self,
        mut values: Values<'f>,
        formula: &'f StateFormula,
        positive: bool,
        parts: Vec<(&'f StateFormula, bool)>,
    ) -> Result<NodeId, Diagnostic> {
        let all = values.all;
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for (part, positive) in parts {
            match data_of(part, positive) {
                Some((data, truth)) => values.guards.push((data, truth != all)),
                None if values.vars.iter().any(|decl| self.is_used(decl, part)) => {
                    inside.push((part, positive));
                }
                None => outside.push((part, positive)),
            }
        }
        let span = formula.span;
        let inner = match inside[..] {
            // No alternative is left but the guards: they must be false for all values, or true for one.
            [] => self.some_value(values, span)?,
            [(part, positive)] => self.spread(values, part, positive)?,
            _ => {
                let needs = self.needs(all, &[], &inside, &[])?;
                self.tried(values, &[], needs, formula, positive, |this| {
                    this.parts(!all, inside.iter().copied(), span)
                })?
            }
        };
        let mut nodes = vec![inner];
        for (part, positive) in outside {
            nodes.push(self.state(part, positive)?);
        }
        self.junction(!all, nodes, span)
    }

    /// Along a regular formula: `pieces` in their order, then the formula.
    fn along<'f>(
        &mut self,
        values: Values<'f>,
        mut pieces: Vec<Piece<'f>>,
        formula: &'f StateFormula,
        positive: bool,
    ) -> Result<NodeId, Diagnostic> {
        if pieces.is_empty() {
            return self.spread(values, formula, positive);
        }
        let (every, first) = (values.all, pieces.remove(0));
        let body = match first {
            Piece::One(r) => r,
            Piece::Star(r, _) => r,
        };
        let named: Vec<&'f VarDecl> =
            values.vars.iter().copied().filter(|decl| self.is_used_regular(decl, body)).collect();
        if named.is_empty() {
            let next = self.along(values, pieces, formula, positive)?;
            return match first {
                Piece::One(r) => self.regular(every, r, next),
                Piece::Star(r, span) => self.star(every, r, next, span),
            };
        }
        match (first, &body.kind) {
            (Piece::One(_), RegularKind::Seq(rs)) => {
                pieces.splice(0..0, rs.iter().map(Piece::One));
                self.along(values, pieces, formula, positive)
            }
            (Piece::One(_), RegularKind::Choice(rs)) => {
                let each = rs.iter().map(|r| {
                    let pieces = [&[Piece::One(r)], &pieces[..]].concat();
                    self.along(values.clone(), pieces, formula, positive)
                });
                let each = each.collect::<Result<Vec<_>, _>>()?;
                self.junction(every, each, body.span)
            }
            (Piece::One(_), RegularKind::Plus(r)) => {
                pieces.splice(0..0, [Piece::One(r), Piece::Star(r, body.span)]);
                self.along(values, pieces, formula, positive)
            }
            (Piece::One(_), RegularKind::Star(r)) => {
                pieces.insert(0, Piece::Star(r, body.span));
                self.along(values, pieces, formula, positive)
            }
            (Piece::One(_), RegularKind::Action(action)) => {
                let (here, later) = self.split(values, &named);
                let next = self.along(later, pieces, formula, positive)?;
                let unknowns = here.vars.iter().map(|decl| self.unknown(decl)).collect();
                let guards = here.guards.iter().map(|(data, truth)| self.data(data, *truth)).collect();
                self.step(every, unknowns, guards, action, next)
            }
            (Piece::Star(..), _) => {
                pieces.insert(0, first);
                let (here, later) = self.split(values, &named);
                let others = later.vars.clone();
                let needs = self.needs(every, &pieces, &[(formula, positive)], &others)?;
                self.tried(here, &others, needs, formula, positive, |this| {
                    this.along(later, pieces, formula, positive)
                })
            }
        }
    }

    /// The named variables with the guards about them alone, and the others.
    fn split<'f>(&self, values: Values<'f>, named: &[&'f VarDecl]) -> (Values<'f>, Values<'f>) {
        let is_named = |decl: &&VarDecl| named.iter().any(|other| std::ptr::eq(*other, *decl));
        let (here, later): (Vec<&VarDecl>, Vec<&VarDecl>) = values.vars.into_iter().partition(is_named);
        let about_later = |guard: &Guard| {
            let used = self.used_by_guards(std::slice::from_ref(guard));
            later.iter().any(|decl| used.contains(&self.meanings.var(decl)))
        };
        let (guards_later, guards): (Vec<Guard>, Vec<Guard>) =
            values.guards.into_iter().partition(about_later);
        let all = values.all;
        (Values { all, vars: here, guards }, Values { all, vars: later, guards: guards_later })
    }

    /// Values are tried one by one, those that the guards and the data of the formula leave. The `others` have no values
    /// yet.
    fn tried<'f>(
        &mut self,
        values: Values<'f>,
        others: &[&'f VarDecl],
        needs: Needs,
        formula: &'f StateFormula,
        positive: bool,
        body: impl FnOnce(&mut Self) -> Result<NodeId, Diagnostic>,
    ) -> Result<NodeId, Diagnostic> {
        let unknowns: Vec<_> = values.vars.iter().map(|decl| self.unknown(decl)).collect();
        let mut guards: Vec<Code> =
            values.guards.iter().map(|(data, truth)| self.data(data, *truth)).collect();
        // Values for which the formula is decided by its data alone make no difference.
        let compiler = Compiler::numbering_from(self.model, self.lambdas);
        let mut inside = Guards::new(self.meanings, compiler, self.scope.clone(), &values.vars, false);
        let data = inside.state(formula, positive != values.all);
        self.lambdas = inside.compiler.lambdas();
        self.scope = inside.scope;
        let others: Vec<Slot> = others.iter().map(|decl| self.unknown(decl).slot).collect();
        match data {
            Code::Junction(true, parts) => {
                guards
                    .extend(parts.into_vec().into_iter().filter(|part| occurring(part, &others).is_empty()));
            }
            data if occurring(&data, &others).is_empty() => guards.push(data),
            _ => {}
        }
        let body = body(self)?;
        let condition = joined(true, guards);
        let quantified = Quantified { unknowns, condition, needs, body };
        self.add(Kind::Quantifier(values.all, Box::new(quantified)), formula.span)
    }

    /// Whether some value makes the guards true, or none: data, of which one value is enough.
    fn some_value(&mut self, values: Values<'_>, span: Span) -> Result<NodeId, Diagnostic> {
        let unknowns: Vec<Unknown> = values.vars.iter().map(|decl| self.unknown(decl)).collect();
        let guards: Vec<Code> = values.guards.iter().map(|(data, truth)| self.data(data, *truth)).collect();
        let vars: Vec<_> = unknowns.iter().map(|unknown| (unknown.slot, unknown.sort)).collect();
        let slots: Vec<Slot> = vars.iter().map(|var| var.0).collect();
        let goal = Goal::new(joined(true, guards), &slots);
        let some = QuantifierCode { vars, goal, span };
        self.add(Kind::Data(Code::Quantifier(false, Arc::new(some)), !values.all), span)
    }

    fn used_by_guards(&self, guards: &[Guard]) -> Vec<VarId> {
        let mut used = Vec::new();
        guards.iter().for_each(|(data, _)| free_vars(self.meanings.expr(data), &mut used));
        used
    }

    fn is_used(&self, decl: &VarDecl, formula: &StateFormula) -> bool {
        let data = |data: &Data| self.is_in_data(decl, data);
        match &formula.kind {
            StateKind::Bool(_) => false,
            StateKind::Data(d) => data(d),
            StateKind::Not(f) | StateKind::Quantifier(_, _, f) => self.is_used(decl, f),
            StateKind::And(fs) | StateKind::Or(fs) => fs.iter().any(|f| self.is_used(decl, f)),
            StateKind::Implies(f, g) => self.is_used(decl, f) || self.is_used(decl, g),
            StateKind::Box(r, f) | StateKind::Diamond(r, f) => {
                self.is_used_regular(decl, r) || self.is_used(decl, f)
            }
            StateKind::Fixpoint(_, _, params, f) => {
                params.iter().any(|param| data(&param.value)) || self.is_used(decl, f)
            }
            StateKind::Variable(_, args) => args.iter().any(data),
        }
    }

    fn is_used_regular(&self, decl: &VarDecl, formula: &RegularFormula) -> bool {
        match &formula.kind {
            RegularKind::Action(action) => self.is_used_action(decl, action),
            RegularKind::Seq(rs) | RegularKind::Choice(rs) => {
                rs.iter().any(|r| self.is_used_regular(decl, r))
            }
            RegularKind::Star(r) | RegularKind::Plus(r) => self.is_used_regular(decl, r),
        }
    }

    fn is_used_action(&self, decl: &VarDecl, formula: &ActionFormula) -> bool {
        match &formula.kind {
            ActionKind::Bool(_) => false,
            ActionKind::Data(data) => self.is_in_data(decl, data),
            ActionKind::MultiAction(actions) => actions.iter().any(|action| {
                let readings = self.meanings.readings(&action.name).iter();
                let mut args = readings.filter_map(|reading| reading.args.as_ref()).flatten();
                args.any(|(expr, _)| {
                    let mut used = Vec::new();
                    expr.iter().for_each(|expr| free_vars(expr, &mut used));
                    used.contains(&self.meanings.var(decl))
                })
            }),
            ActionKind::Not(a) | ActionKind::Quantifier(_, _, a) => self.is_used_action(decl, a),
            ActionKind::And(all) | ActionKind::Or(all) => all.iter().any(|a| self.is_used_action(decl, a)),
            ActionKind::Implies(a, b) => self.is_used_action(decl, a) || self.is_used_action(decl, b),
        }
    }

    fn is_in_data(&self, decl: &VarDecl, data: &Data) -> bool {
        let mut used = Vec::new();
        free_vars(self.meanings.expr(data), &mut used);
        used.contains(&self.meanings.var(decl))
    }
}

/// The parts of a conjunction (`true`) or disjunction, each with its polarity.
pub(super) fn parts(formula: &StateFormula, positive: bool) -> Option<(bool, Vec<(&StateFormula, bool)>)> {
    match &formula.kind {
        StateKind::And(fs) => Some((positive, fs.iter().map(|f| (f, positive)).collect())),
        StateKind::Or(fs) => Some((!positive, fs.iter().map(|f| (f, positive)).collect())),
        StateKind::Implies(f, g) => Some((!positive, vec![(f, !positive), (g, positive)])),
        _ => None,
    }
}

/// The parts of nested conjunctions (`and`) or disjunctions.
fn flatten<'f>(
    formula: &'f StateFormula,
    positive: bool,
    and: bool,
    out: &mut Vec<(&'f StateFormula, bool)>,
) {
    match (&formula.kind, parts(formula, positive)) {
        (StateKind::Not(inner), _) => flatten(inner, !positive, and, out),
        (_, Some((kind, inner))) if kind == and => {
            inner.into_iter().for_each(|(f, positive)| flatten(f, positive, and, out));
        }
        _ => out.push((formula, positive)),
    }
}

/// What a formula is if it is just data: the data, and what it must be.
fn data_of(formula: &StateFormula, positive: bool) -> Option<(&Data, bool)> {
    match &formula.kind {
        StateKind::Data(data) => Some((data, positive)),
        StateKind::Not(f) => data_of(f, !positive),
        _ => None,
    }
}
