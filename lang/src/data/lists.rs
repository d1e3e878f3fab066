//! Operations on lists, also on lists of which only the beginning is known.

use crate::data::eval::has_unknown;
use crate::data::numbers::range;
use crate::data::ops::{equal, irreducible};
use crate::data::value::{Head, List, Number, Stuck, Value};
use crate::model::{Op, Symbol};

/// Whether an irreducible term is `x |> l`.
pub fn is_cons(s: &Stuck) -> bool {
    matches!(s.head, Head::Symbol(Symbol::Op(Op::Cons), _))
}

/// A list operation.
pub fn list(op: Op, args: Vec<Value>) -> Value {
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
        (Op::Concat, [Value::List(a), Value::List(b)]) => Some(Value::List(if a.is_empty() {
            b.clone()
        } else if b.is_empty() {
            a.clone()
        } else {
            List::new(a.iter().chain(b.iter()).cloned().collect())
        })),
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
        (Op::ListSize, [Value::Stuck(_)]) if has_unknown(&args[0]) => {
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

/// Whether a value occurs among others; `None` if that cannot be told.
pub fn any_equal<'a>(items: impl Iterator<Item = &'a Value>, x: &Value) -> Option<bool> {
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
