//! Action formulas, asked about one step: what its data must be for the step to match.
//!
//! A multi-action against a step becomes equations between its arguments and the values of the step, so that a variable
//! of any sort is bound by the step that it is an argument of.
//!
//! Invariant: the condition of a formula is no stronger than the formula. Where it is false, the step does not match.

use super::node::Unknown;
use super::run::Run;
use crate::data::code::{Code, Slot};
use crate::data::compile::{junction, negate, occurring};
use crate::data::ops;
use crate::data::value::Value;
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{ActName, Model, Op, SortDef, SortId};
use crate::process::action::Act;
use crate::property::labels::TERMINATE;

/// A set of multi-actions.
#[derive(Clone, Debug)]
pub enum Action {
    /// All or none.
    Const(bool),
    /// All if the data is true, else none.
    Data(Code, Span),
    /// The ways to read a multi-action.
    Multi(Vec<Vec<Pattern>>, Span),
    /// What is not in a set.
    Not(Box<Action>),
    /// What is in all (`true`), or any, of these sets.
    Junction(bool, Vec<Action>),
    /// What is in the set for all (`true`), or some, values.
    Quantifier(bool, Vec<Unknown>, Box<Action>),
}

/// One action of a multi-action: its name and, unless any will do, its arguments.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Its name.
    pub name: ActName,
    /// Its arguments, `None` for any value.
    pub args: Option<Vec<Option<(Code, SortId)>>>,
}

fn constant(b: bool) -> Code {
    Code::Const(Value::Bool(b))
}

/// A junction without parts that make no difference.
pub fn joined(and: bool, parts: impl IntoIterator<Item = Code>) -> Code {
    let mut kept = Vec::new();
    for part in parts {
        match part {
            Code::Const(Value::Bool(b)) if b == and => {}
            Code::Const(Value::Bool(b)) => return constant(b),
            other => kept.push(other),
        }
    }
    match kept.len() {
        0 => constant(and),
        1 => kept.remove(0),
        _ => junction(and, kept),
    }
}

/// Calls `f` for each way to give every part of a multi-action an action of the step, until it says that is enough.
fn pairings<'a, E>(
    parts: &'a [Pattern],
    doing: &'a [Act],
    used: &mut Vec<usize>,
    f: &mut dyn FnMut(&[usize]) -> Result<bool, E>,
) -> Result<bool, E> {
    if parts.len() != doing.len() {
        return Ok(false);
    }
    let Some(part) = parts.get(used.len()) else { return f(used) };
    for (at, act) in doing.iter().enumerate() {
        let fits =
            part.name == act.name && part.args.as_ref().is_none_or(|args| args.len() == act.args.len());
        // Of equal actions any will do.
        let again = doing[..at].iter().enumerate().any(|(k, other)| other == act && !used.contains(&k));
        if fits && !used.contains(&at) && !again {
            used.push(at);
            let enough = pairings(parts, doing, used, f)?;
            used.pop();
            if enough {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether a value can be one of a sort. Labels do not have the sorts of their arguments: with `act a: Nat; a: Bool;` an
/// argument of `a` need not be a number.
fn can_be(model: &Model, sort: SortId, value: &Value) -> bool {
    match (&model.sorts[sort.ix()], value) {
        (_, Value::Stuck(_)) => true,
        (def @ (SortDef::Pos | SortDef::Nat | SortDef::Int), Value::Number(_)) => {
            crate::data::sorts::fits(def, value)
        }
        (SortDef::Real, Value::Number(_)) => true,
        (SortDef::Bool, value) => matches!(value, Value::Bool(_)),
        (SortDef::Pos | SortDef::Nat | SortDef::Int | SortDef::Real, _) => false,
        (SortDef::List(_), value) => matches!(value, Value::List(_)),
        (SortDef::Set(_) | SortDef::FSet(_), value) => matches!(value, Value::Set(_)),
        (SortDef::Bag(_) | SortDef::FBag(_), value) => matches!(value, Value::Bag(_)),
        (SortDef::Function(..), value) => matches!(value, Value::Function(_)),
        (SortDef::Named { .. }, Value::Ctor(ctor, _)) => model.constructors[ctor.ix()].sort == sort,
        (SortDef::Named { .. }, _) => false,
    }
}

impl Action {
    /// What must be true of the variables for a step to be in the set or, if not `positive`, outside.
    pub fn condition(&self, model: &Model, doing: &[Act], positive: bool) -> Code {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.condition_here(model, doing, positive))
    }

    fn condition_here(&self, model: &Model, doing: &[Act], positive: bool) -> Code {
        match self {
            Action::Const(b) => constant(*b == positive),
            Action::Data(code, _) => {
                if positive {
                    code.clone()
                } else {
                    negate(code.clone())
                }
            }
            Action::Multi(readings, span) => {
                let code = matching(model, readings, doing, *span);
                if positive { code } else { negate(code) }
            }
            Action::Not(inner) => inner.condition(model, doing, !positive),
            Action::Junction(and, parts) => {
                joined(*and == positive, parts.iter().map(|part| part.condition(model, doing, positive)))
            }
            Action::Quantifier(_, unknowns, inner) => {
                // Sorts are not empty, so what does not depend on the variables is needed for all their values.
                let slots: Vec<Slot> = unknowns.iter().map(|unknown| unknown.slot).collect();
                match inner.condition(model, doing, positive) {
                    Code::Junction(true, parts) => {
                        let parts = parts.into_vec().into_iter();
                        joined(true, parts.filter(|part| occurring(part, &slots).is_empty()))
                    }
                    code if occurring(&code, &slots).is_empty() => code,
                    _ => constant(true),
                }
            }
        }
    }

    /// Whether a step is in the set.
    pub fn holds(&self, run: &Run, doing: &[Act], env: &mut Vec<(Slot, Value)>) -> Result<bool, Diagnostic> {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.holds_here(run, doing, env))
    }

    fn holds_here(&self, run: &Run, doing: &[Act], env: &mut Vec<(Slot, Value)>) -> Result<bool, Diagnostic> {
        Ok(match self {
            Action::Const(b) => *b,
            Action::Data(code, span) => run.truth(code, *span, env)?,
            Action::Multi(readings, span) => {
                for parts in readings {
                    let found = pairings(parts, doing, &mut Vec::new(), &mut |used| {
                        for (part, at) in parts.iter().zip(used) {
                            for (arg, value) in part.args.iter().flatten().zip(&doing[*at].args) {
                                let Some((code, sort)) = arg else { continue };
                                if !run.is(code, *sort, value, *span, env)? {
                                    return Ok(false);
                                }
                            }
                        }
                        Ok::<bool, Diagnostic>(true)
                    })?;
                    if found {
                        return Ok(true);
                    }
                }
                false
            }
            Action::Not(inner) => !inner.holds(run, doing, env)?,
            Action::Junction(and, parts) => {
                for part in parts {
                    if part.holds(run, doing, env)? != *and {
                        return Ok(!and);
                    }
                }
                *and
            }
            Action::Quantifier(all, unknowns, inner) => {
                let condition = inner.condition(run.model(), doing, !all);
                let depth = env.len();
                for values in run.solutions(unknowns, condition, env)? {
                    env.extend(unknowns.iter().map(|unknown| unknown.slot).zip(values));
                    let holds = inner.holds(run, doing, env);
                    env.truncate(depth);
                    if holds? != *all {
                        return Ok(!all);
                    }
                }
                *all
            }
        })
    }

    /// Whether it is clear that every step is in the set, or none.
    pub fn constant(&self) -> Option<bool> {
        match self {
            Action::Const(b) => Some(*b),
            _ => None,
        }
    }

    /// Calls `f` with the code of all data.
    pub fn visit(&self, f: &mut dyn FnMut(&Code)) {
        match self {
            Action::Const(_) => {}
            Action::Data(code, _) => f(code),
            Action::Multi(readings, _) => {
                let args = readings.iter().flatten().filter_map(|part| part.args.as_ref()).flatten();
                args.flatten().for_each(|(code, _)| f(code));
            }
            Action::Not(inner) | Action::Quantifier(_, _, inner) => inner.visit(f),
            Action::Junction(_, parts) => parts.iter().for_each(|part| part.visit(f)),
        }
    }
}

/// When one of the readings of a multi-action is what a step does.
fn matching(model: &Model, readings: &[Vec<Pattern>], doing: &[Act], span: Span) -> Code {
    let mut ways = Vec::new();
    for parts in readings {
        let all = pairings(parts, doing, &mut Vec::new(), &mut |used| {
            let mut equations = Vec::new();
            for (part, at) in parts.iter().zip(used) {
                debug_assert!(part.name == TERMINATE || (part.name.0 as usize) < model.action_names.len());
                for (arg, value) in part.args.iter().flatten().zip(&doing[*at].args) {
                    let Some((code, sort)) = arg else { continue };
                    if !can_be(model, *sort, value) {
                        return Ok(false);
                    }
                    let sides = Box::new([code.clone(), Code::Const(value.clone())]);
                    equations.push(Code::Op(Op::Equal, *sort, sides, span));
                }
            }
            ways.push(joined(true, equations));
            Ok::<bool, std::convert::Infallible>(false)
        });
        match all {
            Ok(_) => {}
            Err(never) => match never {},
        }
    }
    joined(false, ways)
}

/// Whether two values of a sort without functions are the same.
pub fn same(x: &Value, y: &Value) -> bool {
    x == y || ops::equal(x, y) == Some(true)
}
