//! Unknowns in the place of variables that nothing bounds, split by constructors.

use super::{Enumeration, MAX_SPLITS, Solved};
use crate::data::eval::{Bound, Eval, Frame, has_unknown};
use crate::data::numbers;
use crate::data::ops;
use crate::data::value::{Head, Number, Value};
use crate::model::{Op, SortDef, SortId, Symbol};
use std::collections::VecDeque;
use std::ops::ControlFlow;

impl Enumeration<'_, '_> {
    /// Replaces what nothing bounds by unknowns and splits those.
    pub(super) fn split(
        &mut self,
        unbound: Vec<usize>,
        checked: Vec<bool>,
        frame: &mut Frame,
    ) -> Eval<Solved> {
        let start: Vec<Value> = unbound.iter().map(|&i| self.unknown(self.problem.vars[i].1)).collect();
        let mut queue = VecDeque::from([start]);
        let mut splits = 0;
        while let Some(partial) = queue.pop_front() {
            for (&i, value) in unbound.iter().zip(&partial) {
                frame[self.problem.vars[i].0 as usize] = Bound::Now(value.clone());
            }
            let mut all_true = true;
            let mut refuted = false;
            for (c, (code, _)) in self.problem.goal.conjuncts.iter().enumerate() {
                if !checked[c] {
                    match self.ev.eval(code, frame)? {
                        Value::Bool(true) => {}
                        Value::Bool(false) => {
                            refuted = true;
                            break;
                        }
                        _ => all_true = false,
                    }
                }
            }
            if !refuted {
                for equation in &self.problem.equations {
                    match ops::equal(&self.ev.eval(equation.code, frame)?, equation.value) {
                        Some(true) => {}
                        Some(false) => refuted = true,
                        None => all_true = false,
                    }
                }
            }
            if refuted {
                continue;
            }
            let place = partial.iter().position(has_unknown);
            let Some(place) = place else {
                if all_true {
                    if let ControlFlow::Break(()) = (self.report)(frame)? {
                        return Ok(Solved::Stopped);
                    }
                } else {
                    self.undecided = true;
                }
                continue;
            };
            if all_true && self.problem.symbolic {
                if let ControlFlow::Break(()) = (self.report)(frame)? {
                    return Ok(Solved::Stopped);
                }
                continue;
            }
            // The condition holds for all values of an unknown of an infinite sort: there is no end to the solutions.
            if all_true && !self.first_unknown_is_finite(&partial[place]) {
                return Ok(Solved::Unbounded(self.problem.vars[unbound[place]].0));
            }
            splits += 1;
            self.tried += 1;
            self.ev.tick(None)?;
            if splits > MAX_SPLITS || self.tried > self.problem.max_candidates {
                return Ok(Solved::Unbounded(self.problem.vars[unbound[place]].0));
            }
            let Some(parts) = self.split_value(&partial[place]) else {
                return Ok(Solved::Unbounded(self.problem.vars[unbound[place]].0));
            };
            for part in parts {
                let mut next = partial.clone();
                next[place] = part;
                queue.push_back(next);
            }
        }
        Ok(Solved::All)
    }

    pub(super) fn first_unknown_is_finite(&self, value: &Value) -> bool {
        match value {
            Value::Stuck(s) => match &s.head {
                Head::Unknown(sort) => self.ev.sorts.size(*sort).is_some(),
                Head::Range(..) => false,
                _ => s.args.iter().find(|a| has_unknown(a)).is_some_and(|a| self.first_unknown_is_finite(a)),
            },
            Value::Ctor(_, args) => {
                args.iter().find(|a| has_unknown(a)).is_some_and(|a| self.first_unknown_is_finite(a))
            }
            Value::List(l) => {
                l.iter().find(|a| has_unknown(a)).is_some_and(|a| self.first_unknown_is_finite(a))
            }
            _ => false,
        }
    }

    pub(super) fn unknown(&self, sort: SortId) -> Value {
        match &self.ev.model.sorts[sort.ix()] {
            SortDef::Pos => numbers::range(Some(Number::Small(1)), None),
            SortDef::Nat => numbers::range(Some(Number::Small(0)), None),
            SortDef::Int => numbers::range(None, None),
            _ => Value::stuck(Head::Unknown(sort), Vec::new()),
        }
    }

    /// The ways in which the first unknown inside a value can be refined; `None` if its sort cannot be split.
    pub(super) fn split_value(&self, value: &Value) -> Option<Vec<Value>> {
        match value {
            Value::Stuck(s) => match &s.head {
                Head::Unknown(sort) => self.split_sort(*sort),
                Head::Range(lo, hi) => Some(split_range(lo, hi)),
                Head::Symbol(Symbol::Op(Op::Cons), _) => {
                    let at = s.args.iter().position(has_unknown)?;
                    let parts = self.split_value(&s.args[at])?;
                    Some(
                        parts
                            .into_iter()
                            .map(|part| {
                                let mut args = s.args.clone();
                                args[at] = part;
                                cons(args)
                            })
                            .collect(),
                    )
                }
                _ => None,
            },
            Value::Ctor(c, args) => {
                let at = args.iter().position(has_unknown)?;
                let parts = self.split_value(&args[at])?;
                Some(
                    parts
                        .into_iter()
                        .map(|part| {
                            let mut args = args.to_vec();
                            args[at] = part;
                            Value::Ctor(*c, args.into())
                        })
                        .collect(),
                )
            }
            Value::List(l) => {
                let items: Vec<Value> = l.iter().cloned().collect();
                let at = items.iter().position(has_unknown)?;
                let parts = self.split_value(&items[at])?;
                Some(
                    parts
                        .into_iter()
                        .map(|part| {
                            let mut items = items.clone();
                            items[at] = part;
                            Value::List(crate::data::value::List::new(items))
                        })
                        .collect(),
                )
            }
            _ => None,
        }
    }

    pub(super) fn split_sort(&self, sort: SortId) -> Option<Vec<Value>> {
        match &self.ev.model.sorts[sort.ix()] {
            SortDef::List(e) => {
                Some(vec![Value::List(Default::default()), cons(vec![self.unknown(*e), self.unknown(sort)])])
            }
            SortDef::Named { constructors, .. } if !constructors.is_empty() => Some(
                constructors
                    .iter()
                    .map(|c| {
                        let fields = &self.ev.model.constructors[c.ix()].fields;
                        Value::Ctor(*c, fields.iter().map(|f| self.unknown(*f)).collect())
                    })
                    .collect(),
            ),
            _ => self.ev.sorts.values(&self.ev.model, sort).map(|v| (*v).clone()),
        }
    }
}

pub(super) fn cons(args: Vec<Value>) -> Value {
    if let [head, Value::List(tail)] = &args[..] {
        return Value::List(tail.clone().cons(head.clone()));
    }
    Value::stuck(Head::Symbol(Symbol::Op(Op::Cons), 1), args)
}

pub(super) fn split_range(lo: &Option<Number>, hi: &Option<Number>) -> Vec<Value> {
    let shift = |n: &Number, by: i64| {
        Number::from_big(n.to_big().expect("bounds of unknowns are integers") + num_bigint::BigInt::from(by))
    };
    match (lo, hi) {
        (Some(lo), hi) => vec![Value::Number(lo.clone()), numbers::range(Some(shift(lo, 1)), hi.clone())],
        (None, Some(hi)) => vec![Value::Number(hi.clone()), numbers::range(None, Some(shift(hi, -1)))],
        (None, None) => {
            vec![numbers::range(Some(Number::Small(0)), None), numbers::range(None, Some(Number::Small(-1)))]
        }
    }
}
