//! Patterns of equations against arguments.

use super::canonical::{has_unknown, is_constant};
use super::{Bound, Eval, Evaluator, Fit, Frame};
use crate::data::code::{ClauseCode, PatternCode};
use crate::data::lists;
use crate::data::ops;
use crate::data::value::{Function, Head, List, Value};
use crate::model::Symbol;

impl Evaluator {
    /// Whether an equation fits the arguments and its condition holds.
    pub(in crate::data) fn applies(
        &self,
        clause: &ClauseCode,
        groups: &mut [&mut [Bound]],
        frame: &mut Frame,
    ) -> Eval<Fit> {
        let mut fit = Fit::Yes;
        for (patterns, args) in clause.groups.iter().zip(groups.iter_mut()) {
            for (pattern, arg) in patterns.iter().zip(args.iter_mut()) {
                match self.fit(pattern, arg, frame)? {
                    Fit::Yes => {}
                    Fit::Open => fit = Fit::Open,
                    Fit::No => return Ok(Fit::No),
                }
            }
        }
        if let (Fit::Yes, Some(condition)) = (fit, &clause.condition) {
            return Ok(match self.eval(condition, frame)? {
                Value::Bool(true) => Fit::Yes,
                Value::Bool(false) => Fit::No,
                _ => Fit::Open,
            });
        }
        Ok(fit)
    }

    pub(super) fn fit(&self, pattern: &PatternCode, arg: &mut Bound, frame: &mut Frame) -> Eval<Fit> {
        if let PatternCode::Slot(slot, false) = pattern {
            frame[*slot as usize] = arg.clone();
            return Ok(Fit::Yes);
        }
        let value = self.force_bound(arg)?;
        self.fit_value(pattern, &value, frame)
    }

    pub(super) fn fit_value(&self, pattern: &PatternCode, value: &Value, frame: &mut Frame) -> Eval<Fit> {
        let known = |equal: Option<bool>| match equal {
            Some(true) => Fit::Yes,
            Some(false) => Fit::No,
            None => Fit::Open,
        };
        Ok(match pattern {
            PatternCode::Slot(slot, false) => {
                frame[*slot as usize] = Bound::Now(value.clone());
                Fit::Yes
            }
            PatternCode::Slot(slot, true) => {
                let earlier = self.force(frame, *slot)?;
                known(ops::equal(&earlier, value))
            }
            PatternCode::Const(c) => known(ops::equal(c, value)),
            PatternCode::Closed(code) => {
                let expected = self.eval(code, &mut Frame::new())?;
                match ops::equal(&expected, value) {
                    // Constants without equations are normal forms, and mCRL2 compares normal forms by their looks.
                    None if is_constant(&expected) && is_constant(value) => Fit::No,
                    equal => known(equal),
                }
            }
            PatternCode::Ctor(c, patterns) => match value {
                Value::Ctor(d, args) if c == d => self.fit_all(patterns.iter().zip(args.iter()), frame)?,
                Value::Stuck(_) => Fit::Open,
                _ => Fit::No,
            },
            PatternCode::EmptyList => match value {
                Value::List(l) if l.is_empty() => Fit::Yes,
                Value::Stuck(s) if !lists::is_cons(s) => Fit::Open,
                _ => Fit::No,
            },
            PatternCode::Cons(head, tail) => match value {
                Value::List(l) => match l.get(0) {
                    Some(first) => {
                        let rest = Value::List(l.clone().tail().expect("not empty"));
                        self.fit_all([(&**head, first), (&**tail, &rest)].into_iter(), frame)?
                    }
                    None => Fit::No,
                },
                Value::Stuck(s) if lists::is_cons(s) => {
                    self.fit_all([(&**head, &s.args[0]), (&**tail, &s.args[1])].into_iter(), frame)?
                }
                Value::Stuck(_) => Fit::Open,
                _ => Fit::No,
            },
            PatternCode::Snoc(init, last) => match value {
                Value::List(l) if !l.is_empty() => {
                    let mut items: Vec<Value> = l.iter().cloned().collect();
                    let end = items.pop().expect("not empty");
                    let rest = Value::List(List::new(items));
                    self.fit_all([(&**init, &rest), (&**last, &end)].into_iter(), frame)?
                }
                Value::Stuck(_) => Fit::Open,
                _ => Fit::No,
            },
            PatternCode::Func(f, groups) => {
                let patterns = groups.iter().flatten();
                match value {
                    // What becomes known inside may let another equation apply to it.
                    Value::Stuck(_) if has_unknown(value) => Fit::Open,
                    Value::Stuck(s)
                        if matches!(s.head, Head::Symbol(Symbol::Func(g), _) if g == *f)
                            && s.args.len() == groups.iter().map(Vec::len).sum::<usize>() =>
                    {
                        self.fit_all(patterns.zip(s.args.iter()), frame)?
                    }
                    Value::Function(p) => match &**p {
                        Function::Partial(Symbol::Func(g), applied)
                            if g == f && applied.len() == groups.len() =>
                        {
                            self.fit_all(patterns.zip(applied.iter().flat_map(|a| a.iter())), frame)?
                        }
                        _ => Fit::No,
                    },
                    Value::Stuck(_) => Fit::Open,
                    _ => Fit::No,
                }
            }
        })
    }

    pub(super) fn fit_all<'a>(
        &self,
        pairs: impl Iterator<Item = (&'a PatternCode, &'a Value)>,
        frame: &mut Frame,
    ) -> Eval<Fit> {
        let mut all = Fit::Yes;
        for (pattern, value) in pairs {
            match self.fit_value(pattern, value, frame)? {
                Fit::Yes => {}
                Fit::No => return Ok(Fit::No),
                Fit::Open => all = Fit::Open,
            }
        }
        Ok(all)
    }
}
