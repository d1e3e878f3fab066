//! Which values of a quantified variable can matter at all, going by the steps that the whole system has.
//!
//! `exists x. <a(x)>f && <b(x)>g` and `forall x. [a(x)]false || f` are about any number of values, but for those with which no
//! step of the system matches `a(x)`, the one is false and the other true in every state. So where neither data nor a
//! single modality gives values, the steps of all vectors do.
//!
//! Invariant: where the condition is false, the formula is false in every state behind `exists`, and true behind `forall`.

use super::action::{Action, joined};
use super::compile::Translation;
use super::quantify::{Piece, parts};
use crate::data::code::{Code, Slot};
use crate::data::compile::occurring;
use crate::data::value::Value;
use crate::diagnostic::{Diagnostic, Span};
use crate::model::Model;
use crate::process::action::MultiAction;
use crate::syntax::formula::{Fixpoint, RegularFormula, RegularKind, StateFormula, StateKind};
use crate::syntax::tree::VarDecl;

/// When values can matter.
#[derive(Clone, Debug)]
pub enum Need {
    /// For all values.
    Always,
    /// If some step of the system is in the set.
    Step(Action),
    /// If all of these say so (`true`), or any.
    Junction(bool, Vec<Need>),
}

impl Need {
    /// A junction without parts that make no difference.
    fn junction(and: bool, parts: impl IntoIterator<Item = Need>) -> Need {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Need::Always if and => {}
                Need::Always => return Need::Always,
                part => kept.push(part),
            }
        }
        match kept.len() {
            0 if and => Need::Always,
            1 => kept.remove(0),
            _ => Need::Junction(and, kept),
        }
    }

    /// What it asks of the variables, if these are the steps of the system.
    pub fn condition(&self, model: &Model, steps: &[MultiAction]) -> Code {
        match self {
            Need::Always => Code::Const(Value::Bool(true)),
            Need::Step(action) => joined(false, steps.iter().map(|step| action.condition(model, step, true))),
            Need::Junction(and, parts) => joined(*and, parts.iter().map(|part| part.condition(model, steps))),
        }
    }

    /// Calls `f` with all sets of steps.
    pub fn visit(&self, f: &mut dyn FnMut(&Action)) {
        match self {
            Need::Always => {}
            Need::Step(action) => f(action),
            Need::Junction(_, parts) => parts.iter().for_each(|part| part.visit(f)),
        }
    }
}

/// What values of variables may matter for, and what else the steps depend on that is not known yet.
#[derive(Clone, Debug)]
pub struct Needs {
    /// When they can matter.
    pub need: Need,
    /// Variables inside, which have no values yet.
    pub inner: Vec<Slot>,
}

impl Needs {
    /// The condition for these steps, weakened so that it says nothing about variables inside.
    pub fn condition(&self, model: &Model, steps: &[MultiAction]) -> Code {
        weakened(self.need.condition(model, steps), &self.inner)
    }
}

/// The condition without what depends on some variables. Junctions are monotone in their parts.
fn weakened(code: Code, without: &[Slot]) -> Code {
    match code {
        code if occurring(&code, without).is_empty() => code,
        Code::Junction(and, parts) => {
            joined(and, parts.into_vec().into_iter().map(|part| weakened(part, without)))
        }
        _ => Code::Const(Value::Bool(true)),
    }
}

/// Collects [`Needs`]: behind which quantifier, what was passed on the way.
struct Walk<'t, 'm> {
    translation: &'t mut Translation<'m>,
    all: bool,
    inner: Vec<Slot>,
    /// The names of fixed points around that are as they should be if what they stand for is.
    open: Vec<Span>,
}

impl Translation<'_> {
    /// When values can matter behind `forall` (`all`) or `exists`, in alternatives or conjuncts behind what is left of a
    /// modality. The `others` have no values yet.
    pub(super) fn needs<'f>(
        &mut self,
        all: bool,
        before: &[Piece<'f>],
        formulas: &[(&'f StateFormula, bool)],
        others: &[&'f VarDecl],
    ) -> Result<Needs, Diagnostic> {
        let inner = others.iter().map(|decl| self.unknown(decl).slot).collect();
        let mut walk = Walk { translation: self, all, inner, open: Vec::new() };
        let mut needs = Vec::new();
        for piece in before {
            if let Piece::One(r) = piece {
                needs.push(walk.regular(r)?);
            }
        }
        for (formula, positive) in formulas {
            needs.push(walk.state(formula, *positive)?);
        }
        Ok(Needs { need: Need::junction(true, needs), inner: walk.inner })
    }
}

impl Walk<'_, '_> {
    fn state(&mut self, formula: &StateFormula, positive: bool) -> Result<Need, Diagnostic> {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.state_here(formula, positive))
    }

    fn state_here(&mut self, formula: &StateFormula, positive: bool) -> Result<Need, Diagnostic> {
        if let Some((and, parts)) = parts(formula, positive) {
            let needs = parts.into_iter().map(|(f, positive)| self.state(f, positive));
            let needs = needs.collect::<Result<Vec<_>, _>>()?;
            return Ok(Need::junction(and != self.all, needs));
        }
        match &formula.kind {
            StateKind::Bool(b) if (*b == positive) == self.all => Ok(Need::Junction(false, Vec::new())),
            StateKind::Not(f) => self.state(f, !positive),
            StateKind::Box(r, f) | StateKind::Diamond(r, f)
                if (matches!(formula.kind, StateKind::Box(..)) == positive) == self.all =>
            {
                let step = self.regular(r)?;
                Ok(Need::junction(true, [step, self.state(f, positive)?]))
            }
            StateKind::Quantifier(_, vars, f) => {
                for decl in vars {
                    let slot = self.translation.unknown(decl).slot;
                    self.inner.push(slot);
                }
                self.state(f, positive)
            }
            StateKind::Fixpoint(kind, name, params, f)
                if ((*kind == Fixpoint::Greatest) == positive) == self.all =>
            {
                for param in params {
                    let var = self.translation.meanings.named(&param.name);
                    let slot = self.translation.bind(var);
                    self.inner.push(slot);
                }
                self.open.push(name.span);
                let need = self.state(f, positive);
                self.open.pop();
                need
            }
            StateKind::Variable(name, _)
                if self.open.contains(&self.translation.meanings.declared_at(name)) =>
            {
                Ok(Need::Junction(false, Vec::new()))
            }
            _ => Ok(Need::Always),
        }
    }

    /// When a word of the regular formula needs a step that may be there.
    fn regular(&mut self, r: &RegularFormula) -> Result<Need, Diagnostic> {
        let mut each =
            |rs: &[RegularFormula]| rs.iter().map(|r| self.regular(r)).collect::<Result<Vec<_>, _>>();
        Ok(match &r.kind {
            RegularKind::Action(action) => Need::Step(self.translation.action(action)?),
            RegularKind::Seq(rs) => Need::junction(true, each(rs)?),
            RegularKind::Choice(rs) => Need::junction(false, each(rs)?),
            RegularKind::Plus(r) => self.regular(r)?,
            RegularKind::Star(_) => Need::Always,
        })
    }
}
