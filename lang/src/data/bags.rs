//! Operations on bags, finite or not.
//!
//! A bag is a base, how often an element occurs in general, with exceptions. Finite bags have the base zero; the bag
//! of a complement of a set has the base one.

use crate::data::eval::{Eval, Evaluator, has_unknown};
use crate::data::ops::{equal, irreducible};
use crate::data::sets::{contains, finite_set};
use crate::data::value::{Bag, BagOp, Base, Number, Set, Value};
use crate::model::{Op, SortId};
use num_rational::BigRational;
use num_traits::Zero;
use std::sync::Arc;

/// A finite bag of these elements; irreducible if a count is.
pub fn finite_bag(items: Vec<(Value, Value)>) -> Value {
    if items.iter().any(|(_, n)| !matches!(n, Value::Number(_))) {
        return irreducible(Op::BagUnion, items.into_iter().flat_map(|(x, n)| [x, n]).collect());
    }
    let mut bag: Vec<(Value, Number)> = Vec::new();
    for (x, n) in items {
        let Value::Number(n) = n else { unreachable!("all are numbers") };
        if n <= Number::Small(0) {
            continue;
        }
        match bag.binary_search_by(|(y, _)| y.cmp(&x)) {
            Ok(at) => bag[at].1 = Number::from_ratio(bag[at].1.to_ratio() + n.to_ratio()),
            Err(at) => bag.insert(at, (x, n)),
        }
    }
    Value::Bag(Arc::new(Bag { base: Base::Zero, exceptions: bag }))
}

/// How often an element occurs; `None` if that cannot be told.
pub fn count(ev: &Evaluator, bag: &Bag, x: &Value) -> Eval<Option<Number>> {
    for (y, n) in &bag.exceptions {
        match equal(x, y) {
            Some(true) => return Ok(Some(n.clone())),
            Some(false) => {}
            None => return Ok(None),
        }
    }
    in_base(ev, &bag.base, x)
}

fn in_base(ev: &Evaluator, base: &Base, x: &Value) -> Eval<Option<Number>> {
    Ok(match base {
        Base::Zero => Some(Number::Small(0)),
        Base::One => Some(Number::Small(1)),
        Base::Where(f) => match ev.apply(f.clone(), vec![x.clone()])? {
            Value::Number(n) => Some(n),
            _ => None,
        },
        Base::Member(set) => contains(ev, set, x)?.map(|is_in| Number::Small(is_in.into())),
        Base::Combined(op, a, b) => match (in_base(ev, a, x)?, in_base(ev, b, x)?) {
            (Some(a), Some(b)) => Some(arithmetic(*op, &a, &b)),
            _ => None,
        },
    })
}

fn arithmetic(op: BagOp, a: &Number, b: &Number) -> Number {
    match op {
        BagOp::Sum => Number::from_ratio(a.to_ratio() + b.to_ratio()),
        BagOp::Least => a.min(b).clone(),
        BagOp::Difference => Number::from_ratio(a.to_ratio() - b.to_ratio()).max(Number::Small(0)),
    }
}

fn combined_base(op: BagOp, a: &Base, b: &Base) -> Base {
    match (op, a, b) {
        (BagOp::Sum, Base::Zero, f) | (BagOp::Sum | BagOp::Difference, f, Base::Zero) => f.clone(),
        (BagOp::Least, Base::Zero, _)
        | (BagOp::Least, _, Base::Zero)
        | (BagOp::Difference, Base::Zero, _) => Base::Zero,
        (BagOp::Least, f, g) if f == g => f.clone(),
        (BagOp::Difference, f, g) if f == g => Base::Zero,
        _ => Base::Combined(op, Arc::new(a.clone()), Arc::new(b.clone())),
    }
}

fn combine(ev: &Evaluator, op: BagOp, a: &Bag, b: &Bag) -> Eval<Option<Value>> {
    let base = combined_base(op, &a.base, &b.base);
    let mut elements: Vec<&Value> = a.exceptions.iter().chain(&b.exceptions).map(|i| &i.0).collect();
    elements.sort();
    elements.dedup();
    let mut exceptions = Vec::new();
    for x in elements {
        let (Some(m), Some(n), Some(usual)) = (count(ev, a, x)?, count(ev, b, x)?, in_base(ev, &base, x)?)
        else {
            return Ok(None);
        };
        let actual = arithmetic(op, &m, &n);
        if actual != usual {
            exceptions.push((x.clone(), actual));
        }
    }
    Ok(Some(Value::Bag(Arc::new(Bag { base, exceptions }))))
}

/// A bag operation; `sort` is that of the bag.
pub fn bag(ev: &Evaluator, op: Op, sort: SortId, args: Vec<Value>) -> Eval {
    if let (Op::Count | Op::InBag, [x, Value::Bag(b)]) = (op, &args[..]) {
        return Ok(match count(ev, b, x)? {
            Some(n) if op == Op::Count => Value::Number(n),
            Some(n) => Value::Bool(n > Number::Small(0)),
            None => irreducible(op, args),
        });
    }
    let compared = matches!(op, Op::Subbag | Op::Superbag | Op::ProperSubbag | Op::ProperSuperbag);
    let mut bags: Vec<Arc<Bag>> = Vec::new();
    for v in &args {
        let v = if compared { ev.comparable(sort, v.clone())? } else { v.clone() };
        let unknown = has_unknown(&v);
        match v {
            Value::Bag(b) if !b.exceptions.iter().any(|i| i.0.has_stuck()) && !unknown => bags.push(b),
            _ => return Ok(irreducible(op, args)),
        }
    }
    let known = match op {
        Op::BagUnion => combine(ev, BagOp::Sum, &bags[0], &bags[1])?,
        Op::BagIntersection => combine(ev, BagOp::Least, &bags[0], &bags[1])?,
        Op::BagDifference => combine(ev, BagOp::Difference, &bags[0], &bags[1])?,
        Op::Subbag | Op::ProperSubbag => within(ev, &bags[0], &bags[1], op == Op::ProperSubbag)?,
        Op::Superbag | Op::ProperSuperbag => within(ev, &bags[1], &bags[0], op == Op::ProperSuperbag)?,
        Op::BagSize if bags[0].base == Base::Zero => {
            let total = bags[0].exceptions.iter().fold(BigRational::zero(), |sum, (_, n)| sum + n.to_ratio());
            Some(Value::Number(Number::from_ratio(total)))
        }
        Op::BagPick if bags[0].base == Base::Zero => bags[0].exceptions.first().map(|i| i.0.clone()),
        Op::BagToSet => match &bags[0].base {
            Base::Member(set) if bags[0].exceptions.is_empty() => Some(Value::Set(set.clone())),
            Base::Zero => Some(finite_set(bags[0].exceptions.iter().map(|i| i.0.clone()).collect())),
            Base::One => {
                let absent =
                    bags[0].exceptions.iter().filter(|i| i.1 == Number::Small(0)).map(|i| i.0.clone());
                Some(Value::Set(Arc::new(Set::CoFinite(absent.collect()))))
            }
            _ => None,
        },
        _ => None,
    };
    Ok(known.unwrap_or_else(|| irreducible(op, args)))
}

/// Whether one bag is part of another; known if both have the same base.
fn within(ev: &Evaluator, a: &Bag, b: &Bag, proper: bool) -> Eval<Option<Value>> {
    if a.base != b.base {
        return Ok(None);
    }
    for (x, _) in a.exceptions.iter().chain(&b.exceptions) {
        match (count(ev, a, x)?, count(ev, b, x)?) {
            (Some(m), Some(n)) if m <= n => {}
            (Some(_), Some(_)) => return Ok(Some(Value::Bool(false))),
            _ => return Ok(None),
        }
    }
    Ok(Some(Value::Bool(!proper || a != b)))
}
