//! The built-in operations on values.
//!
//! An operation outside its domain (`head([])`) or on an unknown yields an irreducible term, as in mCRL2. Numbers of
//! which only bounds are known are computed with as intervals, so that enumerations can rule out whole ranges.

use crate::data::eval::{Eval, Evaluator, Failure, TABLE_POINTS, has_range};
use crate::data::value::{Bag, Function, Head, List, Number, Set, SetOp, Stuck, Value};
use crate::diagnostic::Span;
use crate::model::{Op, SortDef, SortId, Symbol};
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Pow, Signed, ToPrimitive, Zero};
use std::cmp::Ordering;
use std::sync::Arc;

/// Results of `exp` and `*` larger than this many bits are refused.
const MAX_BITS: u64 = 1 << 26;

/// Whether an irreducible term is `x |> l`.
pub fn is_cons(s: &Stuck) -> bool {
    matches!(s.head, Head::Symbol(Symbol::Op(Op::Cons), _))
}

fn irreducible(op: Op, args: Vec<Value>) -> Value {
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
    match op {
        Equal | NotEqual => {
            let (x, y) = if ev.sorts.is_functional(sort) {
                (ev.canonical(sort, args[0].clone())?, ev.canonical(sort, args[1].clone())?)
            } else {
                (args[0].clone(), args[1].clone())
            };
            let known = match equal(&x, &y) {
                None => functions_differ(ev, &x, &y)?.then_some(false),
                known => known,
            };
            Ok(known.map_or_else(|| irreducible(op, args), |b| Value::Bool(b == (op == Equal))))
        }
        Less | LessEqual | Greater | GreaterEqual => Ok(ordered(op, args)),
        If | Not | And | Or | Implies => apply_symbol(ev, op, args),
        Add | Subtract | Multiply | Negate | Divide | Div | Mod | Succ | Pred | Abs | Min | Max | Exp | Sqrt | Floor
        | Ceil | Round | ToPos | ToNat | ToInt | ToReal => numeric(op, args, span),
        Cons | Snoc | Concat | ListSize | At | Head | Tail | RHead | RTail | InList => Ok(list(op, args)),
        InSet => match &args[1] {
            Value::Set(s) => Ok(contains(ev, s, &args[0])?.map_or_else(|| irreducible(op, args.clone()), Value::Bool)),
            _ => Ok(irreducible(op, args)),
        },
        SetUnion | SetIntersection | SetDifference | SetComplement | ProperSubset | Subset | ProperSuperset
        | Superset | SetSize | SetPick | SetToBag => set(ev, op, sort, args),
        InBag | BagUnion | BagIntersection | BagDifference | ProperSubbag | Subbag | ProperSuperbag | Superbag
        | BagSize | BagPick | Count | BagToSet => bag(ev, op, args),
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
        (Value::List(l), Value::Stuck(s)) | (Value::Stuck(s), Value::List(l)) if is_cons(s) => match l.get(0) {
            None => Some(false),
            Some(first) => match equal(first, &s.args[0]) {
                Some(true) => equal(&Value::List(l.clone().tail()?), &s.args[1]),
                known => known,
            },
        },
        (Value::Set(a), Value::Set(b)) => match (&**a, &**b) {
            (Set::Finite(a), Set::Finite(b)) | (Set::CoFinite(a), Set::CoFinite(b)) => {
                if a == b && !a.iter().any(has_range) {
                    Some(true)
                } else if a.iter().chain(b).any(Value::has_stuck) {
                    None
                } else {
                    Some(false)
                }
            }
            // Over a finite sort every set is finite in form, so these two lie over an infinite one.
            (Set::Finite(_), Set::CoFinite(_)) | (Set::CoFinite(_), Set::Finite(_)) => Some(false),
            _ => (x == y).then_some(true),
        },
        (Value::Bag(a), Value::Bag(b)) => match (&**a, &**b) {
            (Bag::Finite(p), Bag::Finite(q)) if !p.iter().chain(q).any(|i| i.0.has_stuck()) => Some(p == q),
            _ => (x == y).then_some(true),
        },
        (Value::Function(a), Value::Function(b)) => match (&**a, &**b) {
            (Function::Table(s, p), Function::Table(t, q)) if s == t => equal_all(p.iter().zip(q)),
            _ => (x == y && !x.has_stuck()).then_some(true),
        },
        (Value::Number(n), Value::Stuck(s)) | (Value::Stuck(s), Value::Number(n)) => match &s.head {
            Head::Range(lo, hi) if lo.as_ref().is_some_and(|lo| n < lo) || hi.as_ref().is_some_and(|hi| n > hi) => {
                Some(false)
            }
            _ => None,
        },
        _ => (x == y && !has_range(x)).then_some(true),
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

type Bounds = (Option<Number>, Option<Number>);

/// What is known of a number.
fn bounds(v: &Value) -> Option<Bounds> {
    match v {
        Value::Number(n) => Some((Some(n.clone()), Some(n.clone()))),
        Value::Stuck(s) => match &s.head {
            Head::Range(lo, hi) => Some((lo.clone(), hi.clone())),
            _ => None,
        },
        _ => None,
    }
}

fn below(x: &Bounds, y: &Bounds, strict: bool) -> Option<bool> {
    if let (Some(hi), Some(lo)) = (&x.1, &y.0)
        && (hi < lo || (!strict && hi == lo))
    {
        return Some(true);
    }
    if let (Some(lo), Some(hi)) = (&x.0, &y.1)
        && (lo > hi || (strict && lo == hi))
    {
        return Some(false);
    }
    None
}

/// A number between bounds, or the number itself if there is just one.
pub fn range(lo: Option<Number>, hi: Option<Number>) -> Value {
    match (&lo, &hi) {
        (Some(a), Some(b)) if a == b => Value::Number(a.clone()),
        _ => Value::stuck(Head::Range(lo, hi), Vec::new()),
    }
}

fn numeric(op: Op, args: Vec<Value>, span: Option<Span>) -> Eval {
    let numbers: Option<Vec<&Number>> = args
        .iter()
        .map(|v| match v {
            Value::Number(n) => Some(n),
            _ => None,
        })
        .collect();
    let Some(n) = numbers else { return Ok(numeric_range(op, &args).unwrap_or_else(|| irreducible(op, args))) };
    if let Some(fast) = numeric_small(op, &n) {
        return Ok(Value::Number(fast));
    }
    Ok(numeric_exact(op, &n, span)?.map_or_else(|| irreducible(op, args), Value::Number))
}

fn numeric_small(op: Op, n: &[&Number]) -> Option<Number> {
    let small = |i: usize| match n.get(i) {
        Some(Number::Small(n)) => Some(*n),
        _ => None,
    };
    let a = small(0)?;
    let result = match op {
        Op::Add => a.checked_add(small(1)?)?,
        Op::Subtract => a.checked_sub(small(1)?)?,
        Op::Multiply => a.checked_mul(small(1)?)?,
        Op::Div if small(1)? > 0 => a.div_euclid(small(1)?),
        Op::Mod if small(1)? > 0 => a.rem_euclid(small(1)?),
        Op::Succ => a.checked_add(1)?,
        Op::Pred => a.checked_sub(1)?,
        Op::Negate => a.checked_neg()?,
        Op::Abs => a.checked_abs()?,
        Op::Min => a.min(small(1)?),
        Op::Max => a.max(small(1)?),
        Op::ToReal | Op::ToInt | Op::Floor | Op::Ceil | Op::Round => a,
        Op::ToNat if a >= 0 => a,
        Op::ToPos if a >= 1 => a,
        _ => return None,
    };
    Some(Number::Small(result))
}

fn numeric_exact(op: Op, n: &[&Number], span: Option<Span>) -> Eval<Option<Number>> {
    let r = |i: usize| n[i].to_ratio();
    let int = |i: usize| n[i].to_big();
    let too_large = || {
        Failure::new(span, "a number grows beyond 64 million bits", "check the arguments of 'exp' and '*'")
    };
    Ok(Some(match op {
        Op::Add => Number::from_ratio(r(0) + r(1)),
        Op::Subtract => Number::from_ratio(r(0) - r(1)),
        Op::Multiply => {
            let (a, b) = (r(0), r(1));
            if a.numer().bits() + b.numer().bits() > MAX_BITS || a.denom().bits() + b.denom().bits() > MAX_BITS {
                return Err(too_large());
            }
            Number::from_ratio(a * b)
        }
        Op::Divide => {
            let divisor = r(1);
            if divisor.is_zero() {
                return Ok(None);
            }
            Number::from_ratio(r(0) / divisor)
        }
        Op::Div | Op::Mod => match (int(0), int(1)) {
            (Some(a), Some(b)) if b.is_positive() => {
                Number::from_big(if op == Op::Div { a.div_floor(&b) } else { a.mod_floor(&b) })
            }
            _ => return Ok(None),
        },
        Op::Succ => Number::from_ratio(r(0) + BigRational::from_integer(1.into())),
        Op::Pred => Number::from_ratio(r(0) - BigRational::from_integer(1.into())),
        Op::Negate => Number::from_ratio(-r(0)),
        Op::Abs => Number::from_ratio(r(0).abs()),
        Op::Min => n[0].min(n[1]).clone(),
        Op::Max => n[0].max(n[1]).clone(),
        Op::Exp => {
            let (base, Some(power)) = (r(0), int(1)) else { return Ok(None) };
            let trivial = base.numer().magnitude().bits() <= 1 && base.denom().bits() <= 1;
            let magnitude = match power.magnitude().to_u64() {
                Some(p) => p,
                None if trivial => power.magnitude().is_even().then_some(2).unwrap_or(1),
                None => return Err(too_large()),
            };
            if !trivial && magnitude.saturating_mul(base.numer().bits().max(base.denom().bits())) > MAX_BITS {
                return Err(too_large());
            }
            let magnitude = if trivial { magnitude % 2 + if magnitude > 1 { 2 } else { 0 } } else { magnitude };
            let raised = BigRational::new(
                Pow::pow(base.numer(), magnitude),
                Pow::pow(base.denom(), magnitude),
            );
            if power.is_negative() {
                if raised.is_zero() {
                    return Ok(None);
                }
                Number::from_ratio(raised.recip())
            } else {
                Number::from_ratio(raised)
            }
        }
        Op::Sqrt => match int(0) {
            Some(a) if !a.is_negative() => Number::from_big(a.sqrt()),
            _ => return Ok(None),
        },
        Op::Floor => Number::from_big(r(0).floor().to_integer()),
        Op::Ceil => Number::from_big(r(0).ceil().to_integer()),
        Op::Round => {
            let half = BigRational::new(BigInt::from(1), BigInt::from(2));
            Number::from_big((r(0) + half).floor().to_integer())
        }
        Op::ToReal => n[0].clone(),
        Op::ToPos | Op::ToNat | Op::ToInt => {
            let least = match op {
                Op::ToPos => Some(Number::Small(1)),
                Op::ToNat => Some(Number::Small(0)),
                _ => None,
            };
            if matches!(n[0], Number::Ratio(_)) || least.is_some_and(|l| *n[0] < l) {
                return Ok(None);
            }
            n[0].clone()
        }
        _ => return Ok(None),
    }))
}

/// Arithmetic on bounds, for the operations where that is simple.
fn numeric_range(op: Op, args: &[Value]) -> Option<Value> {
    let a = bounds(&args[0])?;
    let add = |x: &Option<Number>, y: &Option<Number>| -> Option<Number> {
        Some(Number::from_ratio(x.as_ref()?.to_ratio() + y.as_ref()?.to_ratio()))
    };
    let neg = |x: &Bounds| -> Bounds {
        let n = |x: &Option<Number>| x.as_ref().map(|x| Number::from_ratio(-x.to_ratio()));
        (n(&x.1), n(&x.0))
    };
    let one = Some(Number::Small(1));
    let minus_one = Some(Number::Small(-1));
    Some(match op {
        Op::Add | Op::Subtract => {
            let b = bounds(&args[1])?;
            let b = if op == Op::Add { b } else { neg(&b) };
            range(add(&a.0, &b.0), add(&a.1, &b.1))
        }
        Op::Succ => range(add(&a.0, &one), add(&a.1, &one)),
        Op::Pred => range(add(&a.0, &minus_one), add(&a.1, &minus_one)),
        Op::Negate => {
            let n = neg(&a);
            range(n.0, n.1)
        }
        Op::Multiply => {
            let b = bounds(&args[1])?;
            let lows = (a.0.as_ref()?, b.0.as_ref()?);
            if lows.0.is_negative() || lows.1.is_negative() {
                return None;
            }
            let times = |x: &Number, y: &Number| Number::from_ratio(x.to_ratio() * y.to_ratio());
            let hi = match (&a.1, &b.1) {
                (Some(x), Some(y)) => Some(times(x, y)),
                _ => None,
            };
            range(Some(times(lows.0, lows.1)), hi)
        }
        Op::Max => {
            let b = bounds(&args[1])?;
            let lo = match (a.0, b.0) {
                (Some(x), Some(y)) => Some(x.max(y)),
                (x, y) => x.or(y),
            };
            let hi = match (a.1, b.1) {
                (Some(x), Some(y)) => Some(x.max(y)),
                _ => None,
            };
            range(lo, hi)
        }
        Op::Min => {
            let b = bounds(&args[1])?;
            let hi = match (a.1, b.1) {
                (Some(x), Some(y)) => Some(x.min(y)),
                (x, y) => x.or(y),
            };
            let lo = match (a.0, b.0) {
                (Some(x), Some(y)) => Some(x.min(y)),
                _ => None,
            };
            range(lo, hi)
        }
        Op::Mod => {
            let b = bounds(&args[1])?;
            let hi = b.1.map(|hi| Number::from_ratio(hi.to_ratio() - BigRational::from_integer(1.into())));
            range(Some(Number::Small(0)), hi)
        }
        Op::ToReal => range(a.0, a.1),
        Op::ToInt => range(a.0, a.1),
        Op::ToNat if a.0.as_ref().is_some_and(|lo| !lo.is_negative()) => range(a.0, a.1),
        Op::ToPos if a.0.as_ref().is_some_and(|lo| *lo >= Number::Small(1)) => range(a.0, a.1),
        _ => return None,
    })
}

fn list(op: Op, args: Vec<Value>) -> Value {
    let known = match (op, &args[..]) {
        (Op::Cons, [_, Value::List(_)]) => {
            let mut args = args.into_iter();
            let (Some(head), Some(Value::List(tail))) = (args.next(), args.next()) else {
                unreachable!("matched above")
            };
            return Value::List(tail.cons(head));
        }
        (Op::Snoc, [Value::List(l), x]) => {
            Some(Value::List(List::new(l.iter().chain([x]).cloned().collect())))
        }
        (Op::Concat, [Value::List(a), Value::List(b)]) => {
            Some(Value::List(if a.is_empty() {
                b.clone()
            } else if b.is_empty() {
                a.clone()
            } else {
                List::new(a.iter().chain(b.iter()).cloned().collect())
            }))
        }
        (Op::ListSize, [Value::List(l)]) => Some(Value::int(l.len() as i64)),
        (Op::At, [Value::List(l), Value::Number(Number::Small(n))]) => {
            usize::try_from(*n).ok().and_then(|n| l.get(n).cloned())
        }
        (Op::Head, [Value::List(l)]) => l.get(0).cloned(),
        (Op::Tail, [Value::List(l)]) => l.clone().tail().map(Value::List),
        (Op::RHead, [Value::List(l)]) => l.iter().next_back().cloned(),
        (Op::RTail, [Value::List(l)]) if !l.is_empty() => {
            Some(Value::List(List::new(l.iter().take(l.len() - 1).cloned().collect())))
        }
        (Op::InList, [x, Value::List(l)]) => any_equal(l.iter(), x).map(Value::Bool),
        (Op::Head, [Value::Stuck(s)]) if is_cons(s) => Some(s.args[0].clone()),
        (Op::Tail, [Value::Stuck(s)]) if is_cons(s) => Some(s.args[1].clone()),
        // The length of a list is at least the number of elements in front of an unknown rest.
        (Op::ListSize, [Value::Stuck(_)]) => {
            let (mut least, mut rest) = (0, &args[0]);
            while let Value::Stuck(s) = rest
                && is_cons(s)
            {
                least += 1;
                rest = &s.args[1];
            }
            Some(range(Some(Number::Small(least)), None))
        }
        _ => None,
    };
    known.unwrap_or_else(|| irreducible(op, args))
}

fn any_equal<'a>(items: impl Iterator<Item = &'a Value>, x: &Value) -> Option<bool> {
    let mut open = false;
    for item in items {
        match equal(item, x) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => open = true,
        }
    }
    if open { None } else { Some(false) }
}

/// A finite set of these elements.
pub fn finite_set(mut items: Vec<Value>) -> Value {
    items.sort();
    items.dedup();
    Value::Set(Arc::new(Set::Finite(items)))
}

/// A finite bag of these elements; irreducible if a count is.
pub fn finite_bag(items: Vec<(Value, Value)>) -> Value {
    let mut bag: Vec<(Value, Number)> = Vec::new();
    for (x, n) in items {
        let Value::Number(n) = n else {
            return irreducible(Op::BagUnion, vec![x, n]);
        };
        if n <= Number::Small(0) {
            continue;
        }
        match bag.binary_search_by(|(y, _)| y.cmp(&x)) {
            Ok(at) => bag[at].1 = Number::from_ratio(bag[at].1.to_ratio() + n.to_ratio()),
            Err(at) => bag.insert(at, (x, n)),
        }
    }
    Value::Bag(Arc::new(Bag::Finite(bag)))
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
    if items.binary_search(x).is_ok() && !has_range(x) {
        return Some(true);
    }
    if !x.has_stuck() && !items.iter().any(Value::has_stuck) {
        return Some(false);
    }
    any_equal(items.iter(), x)
}

fn set(ev: &Evaluator, op: Op, sort: SortId, args: Vec<Value>) -> Eval {
    let mut sets = Vec::new();
    for v in &args {
        match v {
            Value::Set(s) => sets.push(s.clone()),
            _ => return Ok(irreducible(op, args)),
        }
    }
    // With unknown elements one cannot say which of them are the same.
    let vague = sets.iter().any(|s| matches!(&**s, Set::Finite(i) | Set::CoFinite(i) if i.iter().any(Value::has_stuck)));
    let known = match op {
        Op::SetUnion | Op::SetIntersection | Op::SetDifference | Op::SetComplement if vague => None,
        Op::SetUnion => Some(combine(ev, SetOp::Union, &sets[0], &sets[1])?),
        Op::SetIntersection => Some(combine(ev, SetOp::Intersection, &sets[0], &sets[1])?),
        Op::SetDifference => Some(combine(ev, SetOp::Difference, &sets[0], &sets[1])?),
        Op::SetComplement => {
            let element = match &ev.model.sorts[sort.ix()] {
                SortDef::Set(e) | SortDef::FSet(e) => Some(*e),
                _ => None,
            };
            let all = element.filter(|e| ev.sorts.size(*e).is_some_and(|n| n <= TABLE_POINTS));
            let everything = match all.and_then(|e| ev.sorts.values(&ev.model, e)) {
                Some(values) => Set::Finite((*values).clone()),
                None => Set::CoFinite(Vec::new()),
            };
            Some(combine(ev, SetOp::Difference, &Arc::new(everything), &sets[0])?)
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
            Set::Finite(items) => items.first().cloned(),
            _ => None,
        },
        Op::SetToBag => match &*sets[0] {
            Set::Finite(items) => Some(Value::Bag(Arc::new(Bag::Finite(
                items.iter().map(|x| (x.clone(), Number::Small(1))).collect(),
            )))),
            _ => None,
        },
        _ => None,
    };
    Ok(known.unwrap_or_else(|| irreducible(op, args)))
}

fn subset(ev: &Evaluator, a: &Set, b: &Set) -> Eval<Option<bool>> {
    Ok(match (a, b) {
        (Set::Finite(items), _) => {
            let mut all = Some(true);
            for x in items {
                match contains(ev, b, x)? {
                    Some(true) => {}
                    Some(false) => return Ok(Some(false)),
                    None => all = None,
                }
            }
            all
        }
        (Set::CoFinite(_), Set::Finite(_)) => Some(false),
        (Set::CoFinite(x), Set::CoFinite(y)) => Some(y.iter().all(|v| x.binary_search(v).is_ok())),
        _ => (a == b).then_some(true),
    })
}

fn combine(ev: &Evaluator, op: SetOp, a: &Arc<Set>, b: &Arc<Set>) -> Eval {
    use Set::{CoFinite, Finite};
    use SetOp::{Difference, Intersection, Union};
    let both = |x: &[Value], y: &[Value]| x.iter().filter(|v| y.binary_search(v).is_ok()).cloned().collect();
    let without = |x: &[Value], y: &[Value]| x.iter().filter(|v| y.binary_search(v).is_err()).cloned().collect();
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
        (Intersection, Finite(x), CoFinite(y)) | (Intersection, CoFinite(y), Finite(x)) => Finite(without(x, y)),
        (Intersection, CoFinite(x), CoFinite(y)) => CoFinite(union(x, y)),
        (Difference, Finite(x), Finite(y)) => Finite(without(x, y)),
        (Difference, Finite(x), CoFinite(y)) => Finite(both(x, y)),
        (Difference, CoFinite(x), Finite(y)) => CoFinite(union(x, y)),
        (Difference, CoFinite(x), CoFinite(y)) => Finite(without(y, x)),
        // A finite set cut by a described one stays finite.
        (Intersection, Finite(items), other) | (Intersection, other, Finite(items)) | (Difference, Finite(items), other) => {
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
        (Union, Finite(items), _) if items.is_empty() => return Ok(Value::Set(b.clone())),
        (Union | Difference, _, Finite(items)) if items.is_empty() => return Ok(Value::Set(a.clone())),
        _ => Set::Combined(op, a.clone(), b.clone()),
    };
    Ok(Value::Set(Arc::new(simple)))
}

fn bag(ev: &Evaluator, op: Op, args: Vec<Value>) -> Eval {
    if let (Op::Count | Op::InBag, [x, Value::Bag(b)]) = (op, &args[..]) {
        let count = match &**b {
            Bag::Finite(items) => {
                let mut open = false;
                let mut n = Number::Small(0);
                for (y, k) in items {
                    match equal(x, y) {
                        Some(true) => n = k.clone(),
                        Some(false) => {}
                        None => open = true,
                    }
                }
                (!open).then_some(Value::Number(n))
            }
            Bag::Where(f) => Some(ev.apply(f.clone(), vec![x.clone()])?),
        };
        return Ok(match (op, count) {
            (Op::Count, Some(n)) => n,
            (_, Some(Value::Number(n))) => Value::Bool(n > Number::Small(0)),
            _ => irreducible(op, args),
        });
    }
    let mut bags = Vec::new();
    for v in &args {
        match v {
            Value::Bag(b) => match &**b {
                Bag::Finite(items) if !items.iter().any(|i| i.0.has_stuck()) => bags.push(items.clone()),
                _ => return Ok(irreducible(op, args)),
            },
            _ => return Ok(irreducible(op, args)),
        }
    }
    let count = |items: &[(Value, Number)], x: &Value| {
        items.binary_search_by(|(y, _)| y.cmp(x)).map_or(Number::Small(0), |at| items[at].1.clone())
    };
    let within = |a: &[(Value, Number)], b: &[(Value, Number)]| a.iter().all(|(x, n)| *n <= count(b, x));
    let known = match op {
        Op::BagUnion => {
            let all = bags[0].iter().chain(&bags[1]).map(|(x, n)| (x.clone(), Value::Number(n.clone())));
            return Ok(finite_bag(all.collect()));
        }
        Op::BagIntersection => {
            let both = bags[0].iter().map(|(x, n)| (x.clone(), Value::Number(n.clone().min(count(&bags[1], x)))));
            return Ok(finite_bag(both.collect()));
        }
        Op::BagDifference => {
            let rest = bags[0].iter().map(|(x, n)| {
                (x.clone(), Value::Number(Number::from_ratio(n.to_ratio() - count(&bags[1], x).to_ratio())))
            });
            return Ok(finite_bag(rest.collect()));
        }
        Op::Subbag => Value::Bool(within(&bags[0], &bags[1])),
        Op::Superbag => Value::Bool(within(&bags[1], &bags[0])),
        Op::ProperSubbag => Value::Bool(within(&bags[0], &bags[1]) && bags[0] != bags[1]),
        Op::ProperSuperbag => Value::Bool(within(&bags[1], &bags[0]) && bags[0] != bags[1]),
        Op::BagSize => {
            let total = bags[0].iter().fold(BigRational::zero(), |sum, (_, n)| sum + n.to_ratio());
            Value::Number(Number::from_ratio(total))
        }
        Op::BagPick => match bags[0].first() {
            Some((x, _)) => x.clone(),
            None => return Ok(irreducible(op, args)),
        },
        Op::BagToSet => finite_set(bags[0].iter().map(|i| i.0.clone()).collect()),
        _ => return Ok(irreducible(op, args)),
    };
    Ok(known)
}
