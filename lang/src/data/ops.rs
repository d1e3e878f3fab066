//! The built-in operations on values: dispatch, logic, equality and order.
//!
//! An operation outside its domain (`head([])`) or on an unknown yields an irreducible term, as in mCRL2.

use crate::data::bags::bag;
use crate::data::eval::{Eval, Evaluator, has_unknown};
use crate::data::lists::{is_cons, list};
use crate::data::meter::own_bytes;
use crate::data::numbers::{below, bounds, numeric};
use crate::data::sets::{contains, same_members, set};
use crate::data::value::{Function, Head, Set, Value};
use crate::diagnostic::Span;
use crate::model::{Op, SortId, Symbol};
use std::cmp::Ordering;

/// An operation applied to what it cannot reduce.
pub fn irreducible(op: Op, args: Vec<Value>) -> Value {
    Value::stuck(Head::Symbol(Symbol::Op(op), 1), args)
}

/// An operation used as a function value; its sort is read off the arguments.
pub fn apply_symbol(ev: &Evaluator, op: Op, args: Vec<Value>) -> Eval {
    match op {
        Op::If => {
            let mut args = args.into_iter();
            match (args.next(), args.next(), args.next()) {
                (Some(Value::Bool(c)), Some(x), Some(y)) => Ok(if c { x } else { y }),
                (c, x, y) => Ok(Value::stuck(Head::If, [c, x, y].into_iter().flatten().collect())),
            }
        }
        Op::And | Op::Or | Op::Implies | Op::Not => Ok(logic(op, args)),
        // Without a sort, complements cannot be enumerated; they stay symbolic.
        _ => apply(ev, op, SortId(0), args, None),
    }
}

fn logic(op: Op, args: Vec<Value>) -> Value {
    let b: Vec<Option<bool>> = args.iter().map(Value::as_bool).collect();
    let result = match (op, &b[..]) {
        (Op::Not, [a]) => a.map(|a| !a),
        (Op::And, [Some(false), _] | [_, Some(false)]) => Some(false),
        (Op::And, [Some(true), Some(true)]) => Some(true),
        (Op::Or, [Some(true), _] | [_, Some(true)]) => Some(true),
        (Op::Or, [Some(false), Some(false)]) => Some(false),
        (Op::Implies, [Some(false), _] | [_, Some(true)]) => Some(true),
        (Op::Implies, [Some(true), Some(false)]) => Some(false),
        _ => None,
    };
    result.map_or_else(|| irreducible(op, args), Value::Bool)
}

/// A strict operation on values; `sort` is that of the argument that decides its meaning.
pub fn apply(ev: &Evaluator, op: Op, sort: SortId, args: Vec<Value>, span: Option<Span>) -> Eval {
    use Op::*;
    ev.meter.reserve(copied_bytes(op, &args))?;
    match op {
        Equal | NotEqual => {
            let (x, y) = (ev.comparable(sort, args[0].clone())?, ev.comparable(sort, args[1].clone())?);
            let known = match equal(&x, &y) {
                None if functions_differ(ev, &x, &y)? => Some(false),
                None => same_members(ev, sort, &x, &y),
                known => known,
            };
            Ok(known.map_or_else(|| irreducible(op, args), |b| Value::Bool(b == (op == Equal))))
        }
        Less | LessEqual | Greater | GreaterEqual => Ok(ordered(op, args)),
        If | Not | And | Or | Implies => apply_symbol(ev, op, args),
        Add | Subtract | Multiply | Negate | Divide | Div | Mod | Succ | Pred | Abs | Min | Max | Exp
        | Sqrt | Floor | Ceil | Round | ToPos | ToNat | ToInt | ToReal => numeric(op, args, span),
        Cons | Snoc | Concat | ListSize | At | Head | Tail | RHead | RTail | InList => Ok(list(op, args)),
        InSet => match &args[1] {
            Value::Set(s) => {
                Ok(contains(ev, s, &args[0])?.map_or_else(|| irreducible(op, args.clone()), Value::Bool))
            }
            _ => Ok(irreducible(op, args)),
        },
        SetUnion | SetIntersection | SetDifference | SetComplement | ProperSubset | Subset
        | ProperSuperset | Superset | SetSize | SetPick | SetToBag => set(ev, op, sort, args),
        InBag | BagUnion | BagIntersection | BagDifference | ProperSubbag | Subbag | ProperSuperbag
        | Superbag | BagSize | BagPick | Count | BagToSet => bag(ev, op, sort, args),
    }
}

/// How many bytes an operation copies at most, or 0 where it copies none.
fn copied_bytes(op: Op, args: &[Value]) -> usize {
    use Op::*;
    match op {
        Cons => match args {
            [_, Value::List(l)] => l.cons_bytes(),
            _ => 0,
        },
        Snoc | Concat | RTail | SetUnion | SetIntersection | SetDifference | SetComplement | BagUnion
        | BagIntersection | BagDifference | SetToBag | BagToSet => args.iter().map(own_bytes).sum(),
        _ => 0,
    }
}

/// Whether two values are equal; `None` if that cannot be told.
pub fn equal(x: &Value, y: &Value) -> Option<bool> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match (x, y) {
        (Value::Bool(a), Value::Bool(b)) => Some(a == b),
        (Value::Number(a), Value::Number(b)) => Some(a == b),
        (Value::Ctor(a, _), Value::Ctor(b, _)) if a != b => Some(false),
        (Value::Ctor(_, xs), Value::Ctor(_, ys)) => equal_all(xs.iter().zip(ys.iter())),
        (Value::List(a), Value::List(b)) if a.len() != b.len() => Some(false),
        (Value::List(a), Value::List(b)) => equal_all(a.iter().zip(b.iter())),
        (Value::List(l), Value::Stuck(s)) | (Value::Stuck(s), Value::List(l)) if is_cons(s) => match l.get(0)
        {
            None => Some(false),
            Some(first) => match equal(first, &s.args[0]) {
                Some(true) => equal(&Value::List(l.clone().tail()?), &s.args[1]),
                known => known,
            },
        },
        (Value::Set(a), Value::Set(b)) => match (&**a, &**b) {
            // Two sets of different form may still be equal over a finite sort; `Evaluator::comparable` has made
            // them alike before if so.
            (Set::Finite(a), Set::Finite(b)) | (Set::CoFinite(a), Set::CoFinite(b)) => {
                if a == b && !a.iter().any(has_unknown) {
                    Some(true)
                } else if a.iter().chain(b).any(Value::has_stuck) {
                    None
                } else {
                    Some(false)
                }
            }
            _ => (x == y && !has_unknown(x)).then_some(true),
        },
        (Value::Bag(a), Value::Bag(b)) => {
            let vague = a.exceptions.iter().chain(&b.exceptions).any(|i| i.0.has_stuck());
            if has_unknown(x) || has_unknown(y) {
                None
            } else if a.base == b.base && !vague {
                Some(a.exceptions == b.exceptions)
            } else {
                (x == y).then_some(true)
            }
        }
        (Value::Function(a), Value::Function(b)) => match (&**a, &**b) {
            (Function::Table(s, p), Function::Table(t, q)) if s == t => equal_all(p.iter().zip(q)),
            _ => (x == y && !x.has_stuck()).then_some(true),
        },
        (Value::Number(n), Value::Stuck(s)) | (Value::Stuck(s), Value::Number(n)) => match &s.head {
            Head::Range(lo, hi)
                if lo.as_ref().is_some_and(|lo| n < lo) || hi.as_ref().is_some_and(|hi| n > hi) =>
            {
                Some(false)
            }
            _ => None,
        },
        _ => (x == y && !has_unknown(x)).then_some(true),
    })
}

fn equal_all<'a>(pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Option<bool> {
    let mut all = Some(true);
    for (x, y) in pairs {
        match equal(x, y) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}

/// Whether two functions over an infinite domain differ at one of the points where either has an exception.
fn functions_differ(ev: &Evaluator, x: &Value, y: &Value) -> Eval<bool> {
    let (Value::Function(f), Value::Function(g)) = (x, y) else { return Ok(false) };
    for function in [f, g] {
        if let Function::Update(_, table) = &**function {
            for (k, _) in table {
                let (a, b) = (ev.apply(x.clone(), vec![k.clone()])?, ev.apply(y.clone(), vec![k.clone()])?);
                if equal(&a, &b) == Some(false) {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// The order of two values; `None` if it cannot be told.
fn compare(x: &Value, y: &Value) -> Option<Ordering> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match (x, y) {
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => Some(a.cmp(b)),
        (Value::Ctor(a, _), Value::Ctor(b, _)) if a != b => Some(a.cmp(b)),
        (Value::Ctor(_, xs), Value::Ctor(_, ys)) => compare_all(xs.iter(), ys.iter()),
        (Value::List(a), Value::List(b)) => compare_all(a.iter(), b.iter()),
        (Value::Function(a), Value::Function(b)) => match (&**a, &**b) {
            (Function::Table(s, p), Function::Table(t, q)) if s == t => compare_all(p.iter(), q.iter()),
            _ => None,
        },
        _ => None,
    })
}

fn compare_all<'a>(
    mut xs: impl Iterator<Item = &'a Value>,
    mut ys: impl Iterator<Item = &'a Value>,
) -> Option<Ordering> {
    loop {
        match (xs.next(), ys.next()) {
            (None, None) => return Some(Ordering::Equal),
            (None, Some(_)) => return Some(Ordering::Less),
            (Some(_), None) => return Some(Ordering::Greater),
            (Some(x), Some(y)) => match compare(x, y)? {
                Ordering::Equal => {}
                decided => return Some(decided),
            },
        }
    }
}

fn ordered(op: Op, args: Vec<Value>) -> Value {
    let known = match compare(&args[0], &args[1]) {
        Some(order) => Some(match op {
            Op::Less => order.is_lt(),
            Op::LessEqual => order.is_le(),
            Op::Greater => order.is_gt(),
            _ => order.is_ge(),
        }),
        None => match (bounds(&args[0]), bounds(&args[1])) {
            (Some(x), Some(y)) => match op {
                Op::Less => below(&x, &y, true),
                Op::LessEqual => below(&x, &y, false),
                Op::Greater => below(&y, &x, true),
                _ => below(&y, &x, false),
            },
            _ => None,
        },
    };
    known.map_or_else(|| irreducible(op, args), Value::Bool)
}
