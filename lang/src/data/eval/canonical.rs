//! Values in the form in which equal ones look the same.

use super::{Eval, Evaluator, TABLE_POINTS};
use crate::data::bags;
use crate::data::sets;
use crate::data::value::{Base, Function, Head, List, Set, Value};
use crate::model::{SortDef, SortId, Symbol};
use std::sync::Arc;

impl Evaluator {
    /// The form in which a value of the given sort is stored in a state: functions over small domains become tables.
    pub fn canonical(&self, sort: SortId, value: Value) -> Eval {
        self.in_form(sort, value, false)
    }

    /// The form in which equal values of the given sort look equal: like [`Self::canonical`], and sets and bags over
    /// small sorts are spelt out.
    pub fn comparable(&self, sort: SortId, value: Value) -> Eval {
        self.in_form(sort, value, true)
    }

    pub(super) fn in_form(&self, sort: SortId, value: Value, spelt_out: bool) -> Eval {
        if !self.sorts.is_functional(sort) {
            return Ok(value);
        }
        let model = self.model.clone();
        match (&model.sorts[sort.ix()], &value) {
            (SortDef::Function(domain, range), Value::Function(f)) => {
                if matches!(&**f, Function::Table(..)) {
                    return Ok(value);
                }
                let points = domain.iter().try_fold(1usize, |n, d| {
                    n.checked_mul(self.sorts.size(*d)?).filter(|&n| n <= TABLE_POINTS)
                });
                if points.is_none() {
                    return Ok(value);
                }
                let domains: Vec<_> =
                    domain.iter().map(|d| self.sorts.values(&model, *d).expect("finite")).collect();
                let mut table = Vec::new();
                for args in crate::data::sorts::product(&domains) {
                    let y = self.apply(value.clone(), args)?;
                    table.push(self.in_form(*range, y, spelt_out)?);
                }
                Ok(Value::Function(Arc::new(Function::Table(sort, table))))
            }
            (SortDef::List(e), Value::List(l)) => {
                let items = l.iter().map(|v| self.in_form(*e, v.clone(), spelt_out)).collect::<Eval<_>>()?;
                Ok(Value::List(List::new(items)))
            }
            (SortDef::Set(e) | SortDef::FSet(e), Value::Set(s)) => match &**s {
                Set::Finite(items) if self.sorts.is_functional(*e) => {
                    let items =
                        items.iter().map(|v| self.in_form(*e, v.clone(), spelt_out)).collect::<Eval<_>>()?;
                    Ok(sets::finite_set(items))
                }
                Set::Finite(_) => Ok(value),
                _ if spelt_out => self.spell_out_set(*e, value),
                _ => Ok(value),
            },
            (SortDef::Bag(e) | SortDef::FBag(e), Value::Bag(b)) if spelt_out && b.base != Base::Zero => {
                self.spell_out_bag(*e, value)
            }
            (SortDef::Named { .. }, Value::Ctor(c, args)) => {
                let fields = &model.constructors[c.ix()].fields;
                let args: Vec<Value> = fields
                    .iter()
                    .zip(args.iter())
                    .map(|(s, v)| self.in_form(*s, v.clone(), spelt_out))
                    .collect::<Eval<_>>()?;
                Ok(Value::Ctor(*c, args.into()))
            }
            _ => Ok(value),
        }
    }

    /// All values of a sort that is small enough to be gone through.
    pub(super) fn few_values(&self, sort: SortId) -> Option<Arc<Vec<Value>>> {
        self.sorts.size(sort).filter(|n| *n <= TABLE_POINTS)?;
        self.sorts.values(&self.model, sort)
    }

    pub(super) fn spell_out_set(&self, element: SortId, value: Value) -> Eval {
        let (Value::Set(set), Some(all)) = (&value, self.few_values(element)) else { return Ok(value) };
        let mut members = Vec::new();
        for x in all.iter() {
            match sets::contains(self, set, x)? {
                Some(true) => members.push(x.clone()),
                Some(false) => {}
                None => return Ok(value),
            }
        }
        Ok(Value::Set(Arc::new(Set::Finite(members))))
    }

    pub(super) fn spell_out_bag(&self, element: SortId, value: Value) -> Eval {
        let (Value::Bag(bag), Some(all)) = (&value, self.few_values(element)) else { return Ok(value) };
        let mut members = Vec::new();
        for x in all.iter() {
            match bags::count(self, bag, x)? {
                Some(n) => members.push((x.clone(), Value::Number(n))),
                None => return Ok(value),
            }
        }
        Ok(bags::finite_bag(members))
    }
}

/// Whether a value is a mapping without arguments and equations.
pub(super) fn is_constant(value: &Value) -> bool {
    matches!(value, Value::Stuck(s) if s.args.is_empty() && matches!(s.head, Head::Symbol(Symbol::Func(_), _)))
}

/// Whether a value contains an unknown of an enumeration, or what depends on one. Two of those are not equal for looking
/// equal: unknowns of one sort all look alike.
pub fn has_unknown(value: &Value) -> bool {
    value.any_stuck(&|s| {
        matches!(s.head, Head::Unknown(_) | Head::Range(..) | Head::Quantifier)
            || s.args.iter().any(has_unknown)
    })
}
