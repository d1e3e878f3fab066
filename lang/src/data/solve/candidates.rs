//! Candidates for a variable, from what is known of it: equations, equalities, memberships, bounds.

use super::{Candidates, Enumeration};
use crate::data::code::{Code, Slot};
use crate::data::compile::occurring;
use crate::data::eval::{Bound, Eval, Frame};
use crate::data::ops;
use crate::data::sorts::fits;
use crate::data::value::{Base, Number, Set, Value};
use crate::model::Op;
use num_traits::ToPrimitive;

impl<'a> Enumeration<'a, '_> {
    /// Values outside of which the condition is surely false for the variable; `None` if it does not say.
    pub(super) fn candidates(
        &self,
        code: &Code,
        var: Slot,
        open: &[Slot],
        frame: &mut Frame,
    ) -> Eval<Option<Candidates>> {
        let known = |code: &Code| occurring(code, open).is_empty();
        Ok(match code {
            Code::Const(Value::Bool(false)) => Some(Candidates::Values(Vec::new())),
            Code::Junction(true, parts) => {
                let mut all = None;
                for part in parts {
                    all = both(all, self.candidates(part, var, open, frame)?);
                }
                all
            }
            Code::Junction(false, parts) => {
                let mut all = Some(Candidates::Values(Vec::new()));
                for part in parts {
                    if known(part) && self.ev.eval(part, frame)? == Value::Bool(false) {
                        continue;
                    }
                    all = either(all, self.candidates(part, var, open, frame)?);
                }
                all
            }
            Code::If(parts) => {
                if known(&parts[0]) {
                    match self.ev.eval(&parts[0], frame)? {
                        Value::Bool(true) => return self.candidates(&parts[1], var, open, frame),
                        Value::Bool(false) => return self.candidates(&parts[2], var, open, frame),
                        _ => {}
                    }
                }
                let yes = both(
                    self.candidates(&parts[0], var, open, frame)?,
                    self.candidates(&parts[1], var, open, frame)?,
                );
                either(yes, self.candidates(&parts[2], var, open, frame)?)
            }
            Code::Op(op, _, args, _) if args.len() == 2 => {
                let (slot_first, other) = match (&args[0], &args[1]) {
                    (Code::Slot(s), other) if *s == var && known(other) => (true, other),
                    (other, Code::Slot(s)) if *s == var && known(other) => (false, other),
                    (a, b) if *op == Op::Equal && (known(a) || known(b)) => {
                        return self.component(if known(a) { (b, a) } else { (a, b) }, var, open, frame);
                    }
                    _ => return Ok(None),
                };
                self.compare_candidates(*op, slot_first, other, frame)?
            }
            _ => None,
        })
    }

    pub(super) fn compare_candidates(
        &self,
        op: Op,
        first: bool,
        other: &Code,
        frame: &mut Frame,
    ) -> Eval<Option<Candidates>> {
        let container = matches!(op, Op::InList | Op::InSet | Op::InBag);
        let order = matches!(op, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual);
        if !(op == Op::Equal || order || (container && first)) {
            return Ok(None);
        }
        let value = self.ev.eval(other, frame)?;
        Ok(match (op, &value) {
            (Op::Equal, _) => (!value.has_stuck()).then(|| Candidates::Values(vec![value])),
            (Op::InList, Value::List(l)) => Some(Candidates::Values(l.iter().cloned().collect())),
            (Op::InSet, Value::Set(s)) => finite_part(s).map(Candidates::Values),
            (Op::InBag, Value::Bag(b)) if b.base == Base::Zero => {
                Some(Candidates::Values(b.exceptions.iter().map(|i| i.0.clone()).collect()))
            }
            (_, Value::Number(n)) if order => {
                let upper = matches!(op, Op::Less | Op::LessEqual) == first;
                // Bounds of integers; the exact comparison is checked again once the variable is bound.
                let n = match n {
                    Number::Ratio(r) if upper => Number::from_big(r.floor().to_integer()),
                    Number::Ratio(r) => Number::from_big(r.ceil().to_integer()),
                    n => n.clone(),
                };
                Some(if upper {
                    Candidates::Between(None, Some(n))
                } else {
                    Candidates::Between(Some(n), None)
                })
            }
            _ => None,
        })
    }

    /// The variable's value if `pattern`, which contains it, must equal what `known` yields.
    pub(super) fn component(
        &self,
        (pattern, known): (&Code, &Code),
        var: Slot,
        open: &[Slot],
        frame: &mut Frame,
    ) -> Eval<Option<Candidates>> {
        if !matches!(pattern, Code::Ctor(..) | Code::List(_) | Code::Op(Op::Cons, ..)) {
            return Ok(None);
        }
        let value = self.ev.eval(known, frame)?;
        let mut trial = frame.clone();
        Ok(match self.unify(pattern, &value, open, &mut trial)? {
            Unified::No => Some(Candidates::Values(Vec::new())),
            Unified::Yes(bound) if bound.contains(&var) => {
                Some(Candidates::Values(vec![self.ev.force(&mut trial, var)?]))
            }
            _ => None,
        })
    }

    /// Makes `code` equal `value` by binding open variables in the frame.
    pub(super) fn unify(
        &self,
        code: &Code,
        value: &Value,
        open: &[Slot],
        frame: &mut Frame,
    ) -> Eval<Unified> {
        if let Code::Slot(s) = code
            && open.contains(s)
        {
            let sort =
                self.problem.vars.iter().find(|v| v.0 == *s).expect("open variables are of the problem").1;
            if !fits(&self.ev.model.sorts[sort.ix()], value) {
                return Ok(Unified::No);
            }
            frame[*s as usize] = Bound::Now(value.clone());
            return Ok(Unified::Yes(vec![*s]));
        }
        if occurring(code, open).is_empty() {
            let have = self.ev.eval(code, frame)?;
            return Ok(match ops::equal(&have, value) {
                Some(true) => Unified::Yes(Vec::new()),
                // Two different irreducible terms are different values, as in mCRL2's own exploration.
                _ => Unified::No,
            });
        }
        match (code, value) {
            (Code::Ctor(c, _), Value::Ctor(d, _)) if c != d => Ok(Unified::No),
            (Code::Ctor(_, parts), Value::Ctor(_, args)) => self.unify_all(parts, &args[..], open, frame),
            (Code::List(parts), Value::List(l)) => {
                if parts.len() != l.len() {
                    return Ok(Unified::No);
                }
                let items: Vec<Value> = l.iter().cloned().collect();
                self.unify_all(parts, &items, open, frame)
            }
            (Code::Op(Op::Cons, _, parts, _), Value::List(l)) => match l.get(0) {
                None => Ok(Unified::No),
                Some(first) => {
                    let rest = Value::List(l.clone().tail().expect("not empty"));
                    self.unify_all(parts, &[first.clone(), rest], open, frame)
                }
            },
            _ => Ok(Unified::Later),
        }
    }

    pub(super) fn unify_all(
        &self,
        codes: &[Code],
        values: &[Value],
        open: &[Slot],
        frame: &mut Frame,
    ) -> Eval<Unified> {
        let mut bound: Vec<Slot> = Vec::new();
        for (code, value) in codes.iter().zip(values) {
            let still: Vec<Slot> = open.iter().copied().filter(|s| !bound.contains(s)).collect();
            match self.unify(code, value, &still, frame)? {
                Unified::Yes(more) => bound.extend(more),
                // What was bound so far is not reported, so the caller treats all of it as open; the values left in
                // the frame are overwritten before they are read.
                other => return Ok(other),
            }
        }
        Ok(Unified::Yes(bound))
    }
}

pub(super) enum Unified {
    No,
    Later,
    Yes(Vec<Slot>),
}

pub(super) fn finite_part(set: &Set) -> Option<Vec<Value>> {
    match set {
        Set::Finite(items) => Some(items.clone()),
        Set::Combined(crate::data::value::SetOp::Intersection, a, b) => {
            finite_part(a).or_else(|| finite_part(b))
        }
        Set::Combined(crate::data::value::SetOp::Difference, a, _) => finite_part(a),
        _ => None,
    }
}

pub(super) fn span_size(lo: &Number, hi: &Number) -> Option<usize> {
    if hi < lo {
        return Some(0);
    }
    (hi.to_big()? - lo.to_big()? + 1u32).to_usize()
}

/// The integers from `lo` to `hi`, at most one more than there is room for.
pub(super) fn integers(lo: &Number, hi: &Number, room: usize) -> Vec<Value> {
    let (Some(mut n), Some(hi)) = (lo.to_big(), hi.to_big()) else { return Vec::new() };
    let mut values = Vec::new();
    while n <= hi && values.len() <= room {
        values.push(Value::Number(Number::from_big(n.clone())));
        n += 1u32;
    }
    values
}

pub(super) fn both(a: Option<Candidates>, b: Option<Candidates>) -> Option<Candidates> {
    use Candidates::{Between, Values};
    Some(match (a, b) {
        (None, x) | (x, None) => return x,
        (Some(Values(x)), Some(Values(y))) => Values(if x.len() <= y.len() { x } else { y }),
        (Some(Values(x)), Some(Between(..))) | (Some(Between(..)), Some(Values(x))) => Values(x),
        (Some(Between(a, b)), Some(Between(c, d))) => {
            let lo = match (a, c) {
                (Some(a), Some(c)) => Some(a.max(c)),
                (a, c) => a.or(c),
            };
            let hi = match (b, d) {
                (Some(b), Some(d)) => Some(b.min(d)),
                (b, d) => b.or(d),
            };
            Between(lo, hi)
        }
    })
}

pub(super) fn either(a: Option<Candidates>, b: Option<Candidates>) -> Option<Candidates> {
    use Candidates::{Between, Values};
    let hull = |values: &[Value]| -> Option<(Number, Number)> {
        let numbers = values.iter().map(|v| match v {
            Value::Number(n) => Some(n.clone()),
            _ => None,
        });
        let numbers: Vec<Number> = numbers.collect::<Option<_>>()?;
        Some((numbers.iter().min()?.clone(), numbers.iter().max()?.clone()))
    };
    Some(match (a?, b?) {
        (Values(mut x), Values(y)) => {
            x.extend(y);
            Values(x)
        }
        (Values(x), Between(lo, hi)) | (Between(lo, hi), Values(x)) => {
            if x.is_empty() {
                return Some(Between(lo, hi));
            }
            let (least, most) = hull(&x)?;
            Between(lo.map(|lo| lo.min(least)), hi.map(|hi| hi.max(most)))
        }
        (Between(a, b), Between(c, d)) => {
            let lo = a.zip(c).map(|(a, c)| a.min(c));
            let hi = b.zip(d).map(|(b, d)| b.max(d));
            Between(lo, hi)
        }
    })
}
