//! Exact arithmetic, also on numbers of which only bounds are known.
//!
//! Such numbers are computed with as intervals, so that enumerations can rule out whole ranges at once.

use crate::data::eval::{Eval, Failure};
use crate::data::ops::irreducible;
use crate::data::value::{Head, Number, Value};
use crate::diagnostic::Span;
use crate::model::Op;
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Pow, Signed, ToPrimitive, Zero};

/// Results of `exp` and `*` larger than this many bits are refused.
const MAX_BITS: u64 = 1 << 26;

/// Least and greatest possible value.
pub type Bounds = (Option<Number>, Option<Number>);

/// What is known of a number.
pub fn bounds(v: &Value) -> Option<Bounds> {
    match v {
        Value::Number(n) => Some((Some(n.clone()), Some(n.clone()))),
        Value::Stuck(s) => match &s.head {
            Head::Range(lo, hi) => Some((lo.clone(), hi.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Whether one number is below another; `None` if that cannot be told.
pub fn below(x: &Bounds, y: &Bounds, strict: bool) -> Option<bool> {
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

/// An arithmetic operation.
pub fn numeric(op: Op, args: Vec<Value>, span: Option<Span>) -> Eval {
    let numbers: Option<Vec<&Number>> = args
        .iter()
        .map(|v| match v {
            Value::Number(n) => Some(n),
            _ => None,
        })
        .collect();
    let Some(n) = numbers else {
        return Ok(numeric_range(op, &args).unwrap_or_else(|| irreducible(op, args)));
    };
    if let Some(fast) = numeric_small(op, &n) {
        return Ok(Value::Number(fast));
    }
    if let Some(whole) = numeric_whole(op, &n, span)? {
        return Ok(Value::Number(whole));
    }
    Ok(numeric_exact(op, &n, span)?.map_or_else(|| irreducible(op, args), Value::Number))
}

fn too_large(span: Option<Span>) -> Failure {
    Failure::new(span, "a number grows beyond 64 million bits", "check the arguments of 'exp' and '*'")
}

/// The same on integers, of which some are large. As rationals they would be reduced after every operation, which takes
/// the square of their length.
fn numeric_whole(op: Op, n: &[&Number], span: Option<Span>) -> Eval<Option<Number>> {
    let Some(n) = n.iter().map(|n| n.to_big()).collect::<Option<Vec<BigInt>>>() else { return Ok(None) };
    let result = match (op, &n[..]) {
        (Op::Add, [a, b]) => a + b,
        (Op::Subtract, [a, b]) => a - b,
        (Op::Multiply, [a, b]) if a.bits() + b.bits() > MAX_BITS => return Err(too_large(span)),
        (Op::Multiply, [a, b]) => a * b,
        (Op::Exp, [a, b]) if a.bits() > 1 && !b.is_negative() => match b.to_u64() {
            Some(power) if power.saturating_mul(a.bits()) <= MAX_BITS => Pow::pow(a, power),
            _ => return Err(too_large(span)),
        },
        (Op::Succ, [a]) => a + 1,
        (Op::Pred, [a]) => a - 1,
        (Op::Negate, [a]) => -a,
        (Op::Abs, [a]) => a.abs(),
        (Op::Floor | Op::Ceil | Op::Round, [a]) => a.clone(),
        _ => return Ok(None),
    };
    Ok(Some(Number::from_big(result)))
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
    Ok(Some(match op {
        Op::Add => Number::from_ratio(r(0) + r(1)),
        Op::Subtract => Number::from_ratio(r(0) - r(1)),
        Op::Multiply => {
            let (a, b) = (r(0), r(1));
            if a.numer().bits() + b.numer().bits() > MAX_BITS
                || a.denom().bits() + b.denom().bits() > MAX_BITS
            {
                return Err(too_large(span));
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
                None if trivial => {
                    if power.magnitude().is_even() {
                        2
                    } else {
                        1
                    }
                }
                None => return Err(too_large(span)),
            };
            if !trivial && magnitude.saturating_mul(base.numer().bits().max(base.denom().bits())) > MAX_BITS {
                return Err(too_large(span));
            }
            let magnitude =
                if trivial { magnitude % 2 + if magnitude > 1 { 2 } else { 0 } } else { magnitude };
            let raised =
                BigRational::new(Pow::pow(base.numer(), magnitude), Pow::pow(base.denom(), magnitude));
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
