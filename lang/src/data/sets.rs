//! Operations on sets, finite or not.
//!
//! As in mCRL2, a complement stays a complement, also over a finite sort: `!{a}` and `{b, c}` may be equal, but they
//! are different values of a state or a label.

use crate::data::code::{Code, Goal};
use crate::data::eval::{Eval, Evaluator, has_unknown, new_frame};
use crate::data::lists::any_equal;
use crate::data::ops::irreducible;
use crate::data::solve::{Problem, Solved};
use crate::data::value::{Bag, Base, Number, Set, SetOp, Value};
use crate::diagnostic::Span;
use crate::model::{Op, SortDef, SortId};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A finite set of these elements.
pub fn finite_set(mut items: Vec<Value>) -> Value {
    items.sort();
    items.dedup();
    Value::Set(Arc::new(Set::Finite(items)))
}

/// Whether a set contains a value; `None` if that cannot be told.
pub fn contains(ev: &Evaluator, set: &Set, x: &Value) -> Eval<Option<bool>> {
    Ok(match set {
        Set::Finite(items) => member(items, x),
        Set::CoFinite(items) => member(items, x).map(|b| !b),
        Set::Where(f) => ev.apply(f.clone(), vec![x.clone()])?.as_bool(),
        Set::Combined(op, a, b) => {
            let (a, b) = (contains(ev, a, x)?, contains(ev, b, x)?);
            match (op, a, b) {
                (SetOp::Union, Some(true), _) | (SetOp::Union, _, Some(true)) => Some(true),
                (SetOp::Union, Some(false), b) => b,
                (SetOp::Union, a, Some(false)) => a,
                (SetOp::Intersection, Some(false), _) | (SetOp::Intersection, _, Some(false)) => Some(false),
                (SetOp::Intersection, Some(true), b) => b,
                (SetOp::Intersection, a, Some(true)) => a,
                (SetOp::Difference, Some(false), _) | (SetOp::Difference, _, Some(true)) => Some(false),
                (SetOp::Difference, Some(true), Some(false)) => Some(true),
                _ => None,
            }
        }
    })
}

fn member(items: &[Value], x: &Value) -> Option<bool> {
    if items.binary_search(x).is_ok() && !has_unknown(x) {
        return Some(true);
    }
    if !x.has_stuck() && !items.iter().any(Value::has_stuck) {
        return Some(false);
    }
    any_equal(items.iter(), x)
}

/// A set operation; `sort` is that of the set.
pub fn set(ev: &Evaluator, op: Op, sort: SortId, args: Vec<Value>) -> Eval {
    let mut sets = Vec::new();
    for v in &args {
        match v {
            Value::Set(s) => sets.push(s.clone()),
            _ => return Ok(irreducible(op, args)),
        }
    }
    // With unknown elements one cannot say which of them are the same.
    let vague = sets
        .iter()
        .any(|s| matches!(&**s, Set::Finite(i) | Set::CoFinite(i) if i.iter().any(Value::has_stuck)));
    if matches!(op, Op::Subset | Op::Superset | Op::ProperSubset | Op::ProperSuperset) {
        for s in &mut sets {
            if let Value::Set(alike) = ev.comparable(sort, Value::Set(s.clone()))? {
                *s = alike;
            }
        }
    }
    let known = match op {
        Op::SetUnion | Op::SetIntersection | Op::SetDifference | Op::SetComplement if vague => None,
        Op::SetUnion => Some(combine(ev, SetOp::Union, &sets[0], &sets[1])?),
        Op::SetIntersection => Some(combine(ev, SetOp::Intersection, &sets[0], &sets[1])?),
        Op::SetDifference => Some(combine(ev, SetOp::Difference, &sets[0], &sets[1])?),
        Op::SetComplement => {
            Some(combine(ev, SetOp::Difference, &Arc::new(Set::CoFinite(Vec::new())), &sets[0])?)
        }
        Op::Subset => subset(ev, &sets[0], &sets[1])?.map(Value::Bool),
        Op::Superset => subset(ev, &sets[1], &sets[0])?.map(Value::Bool),
        Op::ProperSubset | Op::ProperSuperset => {
            let (a, b) = if op == Op::ProperSubset { (&sets[0], &sets[1]) } else { (&sets[1], &sets[0]) };
            match (subset(ev, a, b)?, subset(ev, b, a)?) {
                (Some(false), _) | (_, Some(true)) => Some(Value::Bool(false)),
                (Some(true), Some(false)) => Some(Value::Bool(true)),
                _ => None,
            }
        }
        Op::SetSize => match &*sets[0] {
            Set::Finite(items) if !vague => Some(Value::int(items.len() as i64)),
            _ => None,
        },
        Op::SetPick => match &*sets[0] {
            Set::Finite(items) if !vague || items.len() == 1 => items.first().cloned(),
            _ => None,
        },
        Op::SetToBag => match &*sets[0] {
            Set::Finite(items) => Some(constant_bag(Base::Zero, items, 1)),
            Set::CoFinite(items) => Some(constant_bag(Base::One, items, 0)),
            Set::Where(_) | Set::Combined(..) => {
                let base = Base::Member(sets[0].clone());
                Some(Value::Bag(Arc::new(Bag { base, exceptions: Vec::new() })))
            }
        },
        _ => None,
    };
    Ok(known.unwrap_or_else(|| irreducible(op, args)))
}

/// How many elements may be tried for it.
const MOST_COMPARED: usize = 2_000;

/// Rewrite steps that may be taken to find out whether two described sets have the same elements.
const STEPS_TO_COMPARE: u64 = 100_000;

/// Whether two described sets over a sort without end have the same elements, if few enough can be in one of them:
/// `{n: Nat | n < 3} - {0} == {1, 2}`. `None` if that cannot be told.
pub fn same_members(ev: &Evaluator, sort: SortId, x: &Value, y: &Value) -> Option<bool> {
    let (Value::Set(_), Value::Set(_)) = (x, y) else { return None };
    let (SortDef::Set(element) | SortDef::FSet(element)) = ev.model.sorts[sort.ix()] else { return None };
    if x.has_stuck() || y.has_stuck() {
        return None;
    }
    let within = |set: &Value| {
        let args = Box::new([Code::Slot(0), Code::Const(set.clone())]);
        Code::Op(Op::InSet, element, args, Span::default())
    };
    for (one, other) in [(x, y), (y, x)] {
        let outside = Code::Not(Box::new(within(other)));
        let goal = Goal::new(Code::Junction(true, vec![within(one), outside].into()), &[0]);
        let problem = Problem {
            vars: &[(0, element)],
            goal: &goal,
            equations: Vec::new(),
            max_candidates: MOST_COMPARED,
            symbolic: true,
        };
        let mut found = false;
        let outcome = ev.meter.aside(STEPS_TO_COMPARE, || {
            ev.solve(&problem, &mut new_frame(1), &mut |_| {
                found = true;
                Ok(ControlFlow::Break(()))
            })
        });
        match outcome {
            _ if found => return Some(false),
            Ok(Solved::All) => {}
            _ => return None,
        }
    }
    Some(true)
}

fn subset(ev: &Evaluator, a: &Arc<Set>, b: &Arc<Set>) -> Eval<Option<bool>> {
    let all = |items: &[Value], other: &Set| {
        let mut all = Some(true);
        for x in items {
            match contains(ev, other, x)? {
                Some(true) => {}
                Some(false) => return Ok(Some(false)),
                None => all = None,
            }
        }
        Ok(all)
    };
    Ok(match (&**a, &**b) {
        (Set::Finite(items), other) => all(items, other)?,
        (Set::CoFinite(_), Set::Finite(_)) => Some(false),
        (Set::CoFinite(x), Set::CoFinite(y)) => all(y, &Set::Finite(x.clone()))?,
        _ => (a == b && !has_unknown(&Value::Set(a.clone()))).then_some(true),
    })
}

fn combine(ev: &Evaluator, op: SetOp, a: &Arc<Set>, b: &Arc<Set>) -> Eval {
    use Set::{CoFinite, Finite};
    use SetOp::{Difference, Intersection, Union};
    let both = |x: &[Value], y: &[Value]| x.iter().filter(|v| y.binary_search(v).is_ok()).cloned().collect();
    let without =
        |x: &[Value], y: &[Value]| x.iter().filter(|v| y.binary_search(v).is_err()).cloned().collect();
    let union = |x: &[Value], y: &[Value]| {
        let mut all = [x, y].concat();
        all.sort();
        all.dedup();
        all
    };
    let simple = match (op, &**a, &**b) {
        (Union, Finite(x), Finite(y)) => Finite(union(x, y)),
        (Union, Finite(x), CoFinite(y)) | (Union, CoFinite(y), Finite(x)) => CoFinite(without(y, x)),
        (Union, CoFinite(x), CoFinite(y)) => CoFinite(both(x, y)),
        (Intersection, Finite(x), Finite(y)) => Finite(both(x, y)),
        (Intersection, Finite(x), CoFinite(y)) | (Intersection, CoFinite(y), Finite(x)) => {
            Finite(without(x, y))
        }
        (Intersection, CoFinite(x), CoFinite(y)) => CoFinite(union(x, y)),
        (Difference, Finite(x), Finite(y)) => Finite(without(x, y)),
        (Difference, Finite(x), CoFinite(y)) => Finite(both(x, y)),
        (Difference, CoFinite(x), Finite(y)) => CoFinite(union(x, y)),
        (Difference, CoFinite(x), CoFinite(y)) => Finite(without(y, x)),
        // A finite set cut by a described one stays finite.
        (Intersection, Finite(items), other)
        | (Intersection, other, Finite(items))
        | (Difference, Finite(items), other) => {
            let mut kept = Vec::new();
            for x in items {
                match contains(ev, other, x)? {
                    Some(inside) if inside == (op == Intersection) => kept.push(x.clone()),
                    Some(_) => {}
                    None => return Ok(Value::Set(Arc::new(Set::Combined(op, a.clone(), b.clone())))),
                }
            }
            Finite(kept)
        }
        (Union, other, Finite(items)) | (Union, Finite(items), other) => {
            let described = if std::ptr::eq(other, &**a) { a } else { b };
            return changed(ev, described, items, true, || Set::Combined(op, a.clone(), b.clone()));
        }
        (Difference, _, Finite(items)) | (Intersection, _, CoFinite(items)) => {
            return changed(ev, a, items, false, || Set::Combined(op, a.clone(), b.clone()));
        }
        (Intersection, CoFinite(items), _) => {
            return changed(ev, b, items, false, || Set::Combined(op, a.clone(), b.clone()));
        }
        _ => Set::Combined(op, a.clone(), b.clone()),
    };
    Ok(Value::Set(Arc::new(simple)))
}

/// A described set to which elements are added, or from which they are removed. What changed is kept apart from the
/// description, as `(description - removed) + added`, with nothing in it that makes no difference: adding and removing the
/// same elements again and again has few results. Where it cannot be decided whether an element belongs to the description,
/// the result is `otherwise`.
fn changed(
    ev: &Evaluator,
    set: &Arc<Set>,
    items: &[Value],
    present: bool,
    otherwise: impl FnOnce() -> Set,
) -> Eval {
    let (rest, mut added) = split(set, SetOp::Union);
    let (description, mut removed) = split(rest, SetOp::Difference);
    for x in items {
        let Some(inside) = contains(ev, description, x)? else {
            return Ok(Value::Set(Arc::new(otherwise())));
        };
        let (to, from) = if present { (&mut added, &mut removed) } else { (&mut removed, &mut added) };
        from.retain(|y| y != x);
        if inside != present {
            to.push(x.clone());
        }
    }
    let mut result = description.clone();
    for (op, mut items) in [(SetOp::Difference, removed), (SetOp::Union, added)] {
        items.sort();
        items.dedup();
        if !items.is_empty() {
            result = Arc::new(Set::Combined(op, result, Arc::new(Set::Finite(items))));
        }
    }
    Ok(Value::Set(result))
}

/// A set that was combined with a finite one in this way, as the two of them.
fn split(set: &Arc<Set>, by: SetOp) -> (&Arc<Set>, Vec<Value>) {
    if let Set::Combined(op, rest, items) = &**set
        && *op == by
        && let Set::Finite(items) = &**items
    {
        return (rest, items.clone());
    }
    (set, Vec::new())
}

fn constant_bag(base: Base, items: &[Value], count: i64) -> Value {
    let exceptions = items.iter().map(|x| (x.clone(), Number::Small(count))).collect();
    Value::Bag(Arc::new(Bag { base, exceptions }))
}
