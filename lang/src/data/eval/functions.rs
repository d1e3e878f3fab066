//! Functions as values: symbols, closures, comprehensions, updates, and their application.

use super::{Bound, DEPTH_LIMIT, Eval, Evaluator, Failure, Frame};
use crate::data::code::LambdaCode;
use crate::data::meter::own_bytes;
use crate::data::ops;
use crate::data::sorts::placeholder;
use crate::data::value::{Args, Bag, Base, Function, Head, Number, Set, Value};
use crate::model::{FuncId, SortDef, SortId, Symbol};
use std::sync::Arc;

impl Evaluator {
    /// The value of a mapping without arguments.
    pub(crate) fn constant(&self, f: FuncId) -> Eval {
        self.begin();
        self.symbol(Symbol::Func(f))
    }

    /// A symbol as a value: constants are evaluated once, functions stand for themselves.
    pub(super) fn symbol(&self, symbol: Symbol) -> Eval {
        let Symbol::Func(f) = symbol else { return Ok(self.partial(symbol, Vec::new())) };
        if let Some(value) = &self.constants.borrow()[f.ix()] {
            return Ok(value.clone());
        }
        let clauses = self.functions[f.ix()].by_groups.first();
        let value = match clauses.filter(|c| !c.is_empty()) {
            Some(clauses) => {
                self.tick(Some(self.model.functions[f.ix()].span))?;
                let depth = self.depth.get();
                if depth >= DEPTH_LIMIT {
                    let f = &self.model.functions[f.ix()];
                    return Err(Failure::new(
                        Some(f.span),
                        format!("'{}' is defined in terms of itself", f.name),
                        "check its equation",
                    ));
                }
                self.depth.set(depth + 1);
                let value = self.rewrite(clauses, &mut []);
                self.depth.set(depth);
                value?
            }
            None => None,
        };
        let value = value.unwrap_or_else(|| self.partial(symbol, Vec::new()));
        self.constants.borrow_mut()[f.ix()] = Some(value.clone());
        Ok(value)
    }

    /// A symbol with the argument groups it has so far: a function if more are to come, else an irreducible term.
    pub(super) fn partial(&self, symbol: Symbol, groups: Vec<Args>) -> Value {
        let more = match symbol {
            Symbol::Func(f) => {
                let mut sort = self.model.functions[f.ix()].sort;
                for _ in &groups {
                    if let SortDef::Function(_, range) = &self.model.sorts[sort.ix()] {
                        sort = *range;
                    }
                }
                matches!(self.model.sorts[sort.ix()], SortDef::Function(..))
            }
            _ => groups.is_empty(),
        };
        if more {
            Value::Function(Arc::new(Function::Partial(symbol, groups)))
        } else {
            let count = groups.len() as u32;
            let args = groups.iter().flat_map(|g| g.iter().cloned()).collect();
            Value::stuck(Head::Symbol(symbol, count), args)
        }
    }

    /// A function value applied to one group of arguments.
    pub fn apply(&self, f: Value, args: Vec<Value>) -> Eval {
        self.tick(None)?;
        let Value::Function(function) = &f else {
            let mut all = vec![f];
            all.extend(args);
            return Ok(Value::stuck(Head::Apply, all));
        };
        match &**function {
            Function::Partial(symbol, groups) => self.apply_symbol(*symbol, groups, args),
            Function::Lambda(lambda, captured) => {
                let mut frame: Frame = captured.iter().cloned().chain(args).map(Bound::Now).collect();
                frame.resize(lambda.frame as usize, Bound::Now(placeholder()));
                stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.eval(&lambda.body, &mut frame))
            }
            Function::Update(base, table) => {
                let [x] = &args[..] else { unreachable!("updates exist for unary functions only") };
                if let Ok(at) = table.binary_search_by(|(k, _)| k.cmp(x)) {
                    return Ok(table[at].1.clone());
                }
                if (x.has_stuck() || table.iter().any(|(k, _)| k.has_stuck()))
                    && table.iter().any(|(k, _)| ops::equal(k, x) != Some(false))
                {
                    return Ok(Value::stuck(Head::Apply, vec![f.clone(), x.clone()]));
                }
                self.apply(base.clone(), args)
            }
            Function::Table(sort, values) => match self.table_index(*sort, &args) {
                Some(at) => Ok(values[at].clone()),
                None => {
                    let mut all = vec![f.clone()];
                    all.extend(args);
                    Ok(Value::stuck(Head::Apply, all))
                }
            },
        }
    }

    pub(super) fn apply_symbol(&self, symbol: Symbol, groups: &[Args], args: Vec<Value>) -> Eval {
        match symbol {
            Symbol::Ctor(c) => Ok(Value::Ctor(c, args.into())),
            Symbol::Project(p) => self.project(p, args.into_iter().next().expect("one argument")),
            Symbol::Recognise(r) => self.recognise(r, args.into_iter().next().expect("one argument")),
            Symbol::Op(op) => ops::apply_symbol(self, op, args),
            Symbol::Func(f) if groups.is_empty() => self.call(f, args.into_iter().map(Bound::Now).collect()),
            Symbol::Func(f) => {
                let mut all: Vec<Args> = groups.to_vec();
                all.push(args.into());
                let depth = self.depth.get();
                if depth >= DEPTH_LIMIT {
                    return self.call(f, Vec::new()); // reports the depth
                }
                if let Some(clauses) = self.functions[f.ix()].by_groups.get(all.len()) {
                    let mut bounds: Vec<Vec<Bound>> =
                        all.iter().map(|g| g.iter().cloned().map(Bound::Now).collect()).collect();
                    let mut slices: Vec<&mut [Bound]> = bounds.iter_mut().map(|b| &mut b[..]).collect();
                    self.depth.set(depth + 1);
                    let value = self.rewrite(clauses, &mut slices);
                    self.depth.set(depth);
                    if let Some(value) = value? {
                        return Ok(value);
                    }
                }
                Ok(self.partial(symbol, all))
            }
        }
    }

    pub(super) fn project(&self, p: crate::model::ProjId, value: Value) -> Eval {
        if let Value::Ctor(c, args) = &value
            && let Some((_, field)) = self.model.projections[p.ix()].cases.iter().find(|(d, _)| d == c)
        {
            return Ok(args[*field as usize].clone());
        }
        Ok(Value::stuck(Head::Symbol(Symbol::Project(p), 1), vec![value]))
    }

    pub(super) fn recognise(&self, r: crate::model::RecogId, value: Value) -> Eval {
        Ok(match &value {
            Value::Ctor(c, _) => Value::Bool(self.model.recognisers[r.ix()].cases.contains(c)),
            _ => Value::stuck(Head::Symbol(Symbol::Recognise(r), 1), vec![value]),
        })
    }

    pub(super) fn closure(&self, lambda: &Arc<LambdaCode>, frame: &mut Frame) -> Eval {
        let captured = lambda.captures.iter().map(|s| self.force(frame, *s)).collect::<Eval<_>>()?;
        Ok(Value::Function(Arc::new(Function::Lambda(lambda.clone(), captured))))
    }

    pub(super) fn comprehension(
        &self,
        bag: bool,
        sort: SortId,
        lambda: &Arc<LambdaCode>,
        frame: &mut Frame,
    ) -> Eval {
        let f = self.closure(lambda, frame)?;
        if let Some(values) = self.few_values(sort) {
            let mut members = Vec::new();
            let mut open = false;
            for v in values.iter() {
                match self.apply(f.clone(), vec![v.clone()])? {
                    Value::Bool(true) => members.push((v.clone(), Number::Small(1))),
                    Value::Bool(false) => {}
                    Value::Number(n) if n > Number::Small(0) => members.push((v.clone(), n)),
                    Value::Number(_) => {}
                    _ => open = true,
                }
            }
            if !open {
                return Ok(if bag {
                    Value::Bag(Arc::new(Bag { base: Base::Zero, exceptions: members }))
                } else {
                    Value::Set(Arc::new(Set::Finite(members.into_iter().map(|m| m.0).collect())))
                });
            }
        }
        Ok(if bag {
            Value::Bag(Arc::new(Bag { base: Base::Where(f), exceptions: Vec::new() }))
        } else {
            Value::Set(Arc::new(Set::Where(f)))
        })
    }

    /// `f[x -> y]` in canonical form.
    pub(super) fn update(&self, sort: SortId, f: Value, x: Value, y: Value) -> Eval {
        self.meter.reserve(own_bytes(&f))?;
        if let Value::Function(table) = &f
            && let Function::Table(s, values) = &**table
            && let Some(at) = self.table_index(*s, std::slice::from_ref(&x))
        {
            let mut values = values.clone();
            values[at] = y;
            return Ok(Value::Function(Arc::new(Function::Table(*s, values))));
        }
        if x.has_stuck()
            && !matches!(&x, Value::Stuck(s) if s.args.is_empty() && matches!(s.head, Head::Symbol(..)))
        {
            return Ok(Value::stuck(Head::Update, vec![f, x, y]));
        }
        let (base, mut table) = match &f {
            Value::Function(g) => match &**g {
                Function::Update(base, table) => (base.clone(), table.clone()),
                _ => (f.clone(), Vec::new()),
            },
            _ => (f.clone(), Vec::new()),
        };
        // An exception that repeats what the base yields anyway is dropped, so that equal functions look equal.
        let same = self.apply(base.clone(), vec![x.clone()])? == y;
        match (table.binary_search_by(|(k, _)| k.cmp(&x)), same) {
            (Ok(at), true) => drop(table.remove(at)),
            (Ok(at), false) => table[at].1 = y,
            (Err(_), true) => {}
            (Err(at), false) => table.insert(at, (x, y)),
        }
        if table.is_empty() {
            return Ok(base);
        }
        let updated = Value::Function(Arc::new(Function::Update(base, table)));
        self.canonical(sort, updated)
    }

    /// The position of arguments in the enumeration of a function's domain.
    pub(super) fn table_index(&self, sort: SortId, args: &[Value]) -> Option<usize> {
        let SortDef::Function(domain, _) = &self.model.sorts[sort.ix()] else { return None };
        let mut at = 0;
        for (d, arg) in domain.iter().zip(args) {
            let values = self.sorts.values(&self.model, *d)?;
            at = at * values.len() + values.binary_search(arg).ok()?;
        }
        Some(at)
    }
}
