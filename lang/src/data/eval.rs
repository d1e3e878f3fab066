//! The evaluator: closed expressions to values, innermost, lazy where a mapping does not need an argument.
//!
//! Every run is bounded: a step limit ends equations that do not terminate and a depth limit ends runaway recursion,
//! both in a clear [`Failure`]. The machine stack grows on the heap, so depth is never a crash.

use crate::data::bags;
use crate::data::code::{BuiltinCode, ClauseCode, Code, FunctionCode, LambdaCode, PatternCode, Slot};
use crate::data::compile::Compiler;
use crate::data::disagreement::Disagreements;
use crate::data::lists;
use crate::data::meter::{Meter, own_bytes};
use crate::data::ops;
use crate::data::sets;
use crate::data::sorts::{Sorts, placeholder};
use crate::data::value::{Args, Bag, Base, Function, Head, List, Number, Set, Value};
use crate::diagnostic::Span;
use crate::model::{FuncId, Model, SortDef, SortId, Symbol};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Rewrite steps that one evaluation may take unless the user says otherwise.
pub const STEP_LIMIT: u64 = 20_000_000;
/// How deep mappings may call each other.
pub const DEPTH_LIMIT: u32 = 100_000;
/// A function over at most this many points is stored as a table, so that equal functions are equal values.
pub const TABLE_POINTS: usize = 4096;

/// Why an evaluation gave no value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure {
    /// The place, if known.
    pub span: Option<Span>,
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Failure {
    /// A failure at a place.
    pub fn new(span: Option<Span>, message: impl Into<String>, help: impl Into<String>) -> Failure {
        Failure { span, message: message.into(), help: Some(help.into()) }
    }
}

/// Result of an evaluation.
pub type Eval<T = Value> = Result<T, Failure>;

/// A variable in a frame: its value, or an argument that has not been needed yet.
#[derive(Clone, Debug)]
pub enum Bound {
    /// A value.
    Now(Value),
    /// Not evaluated so far.
    Later(Rc<RefCell<Lazy>>),
}

/// An argument passed unevaluated.
#[derive(Debug)]
pub struct Lazy {
    state: LazyState,
}

#[derive(Debug)]
enum LazyState {
    Waiting(Arc<[Code]>, usize, Frame),
    Done(Value),
}

/// The variables of one activation.
pub type Frame = Vec<Bound>;

/// A frame with room for `size` variables.
pub fn new_frame(size: u32) -> Frame {
    vec![Bound::Now(placeholder()); size as usize]
}

/// Whether a pattern fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    Yes,
    No,
    /// The value is not known well enough.
    Open,
}

/// Evaluates the expressions of one model.
#[derive(Debug)]
pub struct Evaluator {
    /// The model.
    pub model: Arc<Model>,
    /// Finite sorts.
    pub sorts: Sorts,
    functions: Vec<FunctionCode>,
    /// How many lambda expressions the mappings contain; further ones are numbered from here.
    pub lambdas: u32,
    constants: RefCell<Vec<Option<Value>>>,
    depth: Cell<u32>,
    /// What evaluations cost, and when they are to end.
    pub meter: Meter,
    /// Where equations that disagree are told, if they are looked for.
    pub(super) disagreements: RefCell<Option<Arc<Disagreements>>>,
}

impl Evaluator {
    /// An evaluator for the expressions of a model.
    pub fn new(model: Arc<Model>, step_limit: u64) -> Self {
        let mut compiler = Compiler::new(&model);
        let functions = compiler.functions();
        let lambdas = compiler.lambdas();
        let constants = RefCell::new(vec![None; model.functions.len()]);
        let sorts = Sorts::new(&model);
        Evaluator {
            model,
            sorts,
            functions,
            lambdas,
            constants,
            depth: Cell::new(0),
            meter: Meter::new(step_limit),
            disagreements: RefCell::new(None),
        }
    }

    /// From now on looks for equations that disagree.
    pub fn tell_disagreements(&self, to: Arc<Disagreements>) {
        *self.disagreements.borrow_mut() = Some(to);
    }

    /// Starts a new evaluation as far as the step limit is concerned.
    pub fn begin(&self) {
        self.meter.begin();
    }

    /// Counts work against the step limit.
    pub fn tick(&self, span: Option<Span>) -> Eval<()> {
        self.meter.step(span)
    }

    /// Runs code in a frame.
    pub fn eval(&self, code: &Code, frame: &mut Frame) -> Eval {
        match code {
            Code::Const(v) => Ok(v.clone()),
            Code::Slot(s) => self.force(frame, *s),
            _ => stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.eval_inner(code, frame)),
        }
    }

    fn eval_all(&self, codes: &[Code], frame: &mut Frame) -> Eval<Vec<Value>> {
        codes.iter().map(|c| self.eval(c, frame)).collect()
    }

    fn eval_inner(&self, code: &Code, frame: &mut Frame) -> Eval {
        self.meter.spend(1)?;
        match code {
            Code::Const(v) => Ok(v.clone()),
            Code::Slot(s) => self.force(frame, *s),
            Code::Ctor(c, args) => Ok(Value::Ctor(*c, self.eval_all(args, frame)?.into())),
            Code::Call(f, args) => {
                let strict = &self.functions[f.ix()].strict;
                let mut bounds = Vec::with_capacity(args.len());
                for (i, arg) in args.iter().enumerate() {
                    bounds.push(match arg {
                        Code::Slot(s) => frame[*s as usize].clone(),
                        Code::Const(v) => Bound::Now(v.clone()),
                        _ if strict[i] => Bound::Now(self.eval(arg, frame)?),
                        _ => Bound::Later(Rc::new(RefCell::new(Lazy {
                            state: LazyState::Waiting(args.clone(), i, frame.clone()),
                        }))),
                    });
                }
                self.call(*f, bounds)
            }
            Code::Op(op, sort, args, span) => {
                let args = self.eval_all(args, frame)?;
                ops::apply(self, *op, *sort, args, Some(*span))
            }
            Code::If(parts) => match self.eval(&parts[0], frame)? {
                Value::Bool(true) => self.eval(&parts[1], frame),
                Value::Bool(false) => self.eval(&parts[2], frame),
                c => {
                    let (x, y) = (self.eval(&parts[1], frame)?, self.eval(&parts[2], frame)?);
                    Ok(if x == y && !has_range(&x) { x } else { Value::stuck(Head::If, vec![c, x, y]) })
                }
            },
            Code::Junction(and, parts) => self.junction(*and, parts, frame),
            Code::Not(x) => Ok(match self.eval(x, frame)? {
                Value::Bool(b) => Value::Bool(!b),
                v => Value::stuck(Head::Symbol(Symbol::Op(crate::model::Op::Not), 1), vec![v]),
            }),
            Code::Project(p, x) => self.project(*p, self.eval(x, frame)?),
            Code::Recognise(r, x) => self.recognise(*r, self.eval(x, frame)?),
            Code::Symbol(s) => self.symbol(*s),
            Code::Apply(head, args) => {
                let head = self.eval(head, frame)?;
                let args = self.eval_all(args, frame)?;
                self.apply(head, args)
            }
            Code::List(items) => Ok(Value::List(List::new(self.eval_all(items, frame)?))),
            Code::Set(items) => Ok(sets::finite_set(self.eval_all(items, frame)?)),
            Code::Bag(items) => {
                let mut counted = Vec::with_capacity(items.len());
                for (x, n) in items {
                    counted.push((self.eval(x, frame)?, self.eval(n, frame)?));
                }
                Ok(bags::finite_bag(counted))
            }
            Code::Comprehension(bag, sort, lambda) => self.comprehension(*bag, *sort, lambda, frame),
            Code::Update(sort, parts) => {
                let f = self.eval(&parts[0], frame)?;
                let x = self.eval(&parts[1], frame)?;
                let y = self.eval(&parts[2], frame)?;
                self.update(*sort, f, x, y)
            }
            Code::Quantifier(forall, q) => {
                let found = self.solvable(q, frame)?;
                Ok(match found {
                    Some(found) => Value::Bool(found != *forall),
                    None => Value::stuck(Head::Quantifier, Vec::new()),
                })
            }
            Code::Lambda(lambda) => self.closure(lambda, frame),
            Code::Where(defs, body) => {
                for (slot, def) in defs {
                    let value = self.eval(def, frame)?;
                    frame[*slot as usize] = Bound::Now(value);
                }
                self.eval(body, frame)
            }
        }
    }

    fn junction(&self, and: bool, parts: &[Code], frame: &mut Frame) -> Eval {
        let mut open = Vec::new();
        for part in parts {
            match self.eval(part, frame)? {
                Value::Bool(b) if b == and => {}
                Value::Bool(b) => return Ok(Value::Bool(b)),
                v => open.push(v),
            }
        }
        Ok(match open.len() {
            0 => Value::Bool(and),
            1 => open.remove(0),
            _ => {
                let op = if and { crate::model::Op::And } else { crate::model::Op::Or };
                Value::stuck(Head::Symbol(Symbol::Op(op), 1), open)
            }
        })
    }

    /// The value of a variable, evaluating a waiting argument once.
    pub fn force(&self, frame: &mut Frame, slot: Slot) -> Eval {
        let value = match &frame[slot as usize] {
            Bound::Now(v) => return Ok(v.clone()),
            Bound::Later(lazy) => self.force_lazy(&lazy.clone())?,
        };
        frame[slot as usize] = Bound::Now(value.clone());
        Ok(value)
    }

    fn force_lazy(&self, lazy: &Rc<RefCell<Lazy>>) -> Eval {
        let waiting = match &mut lazy.borrow_mut().state {
            LazyState::Done(v) => return Ok(v.clone()),
            LazyState::Waiting(codes, i, frame) => (codes.clone(), *i, std::mem::take(frame)),
        };
        let (codes, i, mut frame) = waiting;
        let value = self.eval(&codes[i], &mut frame)?;
        lazy.borrow_mut().state = LazyState::Done(value.clone());
        Ok(value)
    }

    pub(super) fn force_bound(&self, bound: &mut Bound) -> Eval {
        if let Bound::Later(lazy) = bound {
            let value = self.force_lazy(&lazy.clone())?;
            *bound = Bound::Now(value);
        }
        match bound {
            Bound::Now(v) => Ok(v.clone()),
            Bound::Later(_) => unreachable!("just forced"),
        }
    }

    /// A mapping applied to its first group of arguments.
    fn call(&self, f: FuncId, mut args: Vec<Bound>) -> Eval {
        self.tick(Some(self.model.functions[f.ix()].span))?;
        let depth = self.depth.get();
        if depth >= DEPTH_LIMIT {
            self.meter.set_hit_limit();
            return Err(Failure::new(
                Some(self.model.functions[f.ix()].span),
                format!(
                    "equations of '{}' call each other more than {DEPTH_LIMIT} deep",
                    self.model.functions[f.ix()].name
                ),
                "check that the recursion ends",
            ));
        }
        self.depth.set(depth + 1);
        let result = self.call_inner(f, &mut args);
        self.depth.set(depth);
        result
    }

    fn call_inner(&self, f: FuncId, args: &mut [Bound]) -> Eval {
        let code = &self.functions[f.ix()];
        if let Some(builtin) = &code.builtin {
            return self.call_builtin(code, builtin, args);
        }
        if let Some(clauses) = code.by_groups.get(1)
            && let Some(value) = self.rewrite(clauses, &mut [args])?
        {
            return Ok(value);
        }
        let values: Vec<Value> = args.iter_mut().map(|a| self.force_bound(a)).collect::<Eval<_>>()?;
        // `f = lambda x. …`: the constant is a function of its own.
        if code.by_groups.first().is_some_and(|c| !c.is_empty()) {
            let head = self.symbol(Symbol::Func(f))?;
            if !matches!(&head, Value::Function(p) if matches!(&**p, Function::Partial(Symbol::Func(g), _) if *g == f))
            {
                return self.apply(head, values);
            }
        }
        Ok(self.partial(Symbol::Func(f), vec![values.into()]))
    }

    /// A built-in operator with equations: what it means anyway, and the equations where that is irreducible; or first.
    fn call_builtin(&self, code: &FunctionCode, builtin: &BuiltinCode, args: &mut [Bound]) -> Eval {
        let mut frame: Frame = args.to_vec();
        let clauses = code.by_groups.get(1).map(Vec::as_slice).unwrap_or_default();
        if builtin.equations_first
            && let Some(value) = self.rewrite(clauses, &mut [&mut *args])?
        {
            return Ok(value);
        }
        let value = self.eval(&builtin.code, &mut frame)?;
        if !matches!(value, Value::Stuck(_)) {
            self.compare_with(None, clauses, &mut [&mut *args], &value);
        }
        if matches!(value, Value::Stuck(_))
            && !builtin.equations_first
            && let Some(value) = self.rewrite(clauses, &mut [args])?
        {
            return Ok(value);
        }
        Ok(value)
    }

    /// Tries equations in order; `None` if none applies or one cannot be decided.
    fn rewrite(&self, clauses: &[ClauseCode], groups: &mut [&mut [Bound]]) -> Eval<Option<Value>> {
        for (at, clause) in clauses.iter().enumerate() {
            let mut frame = new_frame(clause.frame);
            match self.applies(clause, groups, &mut frame)? {
                Fit::No => continue,
                // A later equation may overlap with this one, so nothing can be said before this one is decided.
                Fit::Open => return Ok(None),
                Fit::Yes => {}
            }
            let value = self.eval(&clause.right, &mut frame)?;
            if at + 1 < clauses.len() {
                self.compare_with(Some(clause.span), &clauses[at + 1..], groups, &value);
            }
            return Ok(Some(value));
        }
        Ok(None)
    }

    /// Whether an equation fits the arguments and its condition holds.
    pub(super) fn applies(
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

    fn fit(&self, pattern: &PatternCode, arg: &mut Bound, frame: &mut Frame) -> Eval<Fit> {
        if let PatternCode::Slot(slot, false) = pattern {
            frame[*slot as usize] = arg.clone();
            return Ok(Fit::Yes);
        }
        let value = self.force_bound(arg)?;
        self.fit_value(pattern, &value, frame)
    }

    fn fit_value(&self, pattern: &PatternCode, value: &Value, frame: &mut Frame) -> Eval<Fit> {
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

    fn fit_all<'a>(
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

    /// The value of a mapping without arguments.
    pub(crate) fn constant(&self, f: FuncId) -> Eval {
        self.begin();
        self.symbol(Symbol::Func(f))
    }

    /// A symbol as a value: constants are evaluated once, functions stand for themselves.
    fn symbol(&self, symbol: Symbol) -> Eval {
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
    fn partial(&self, symbol: Symbol, groups: Vec<Args>) -> Value {
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

    fn apply_symbol(&self, symbol: Symbol, groups: &[Args], args: Vec<Value>) -> Eval {
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

    fn project(&self, p: crate::model::ProjId, value: Value) -> Eval {
        if let Value::Ctor(c, args) = &value
            && let Some((_, field)) = self.model.projections[p.ix()].cases.iter().find(|(d, _)| d == c)
        {
            return Ok(args[*field as usize].clone());
        }
        Ok(Value::stuck(Head::Symbol(Symbol::Project(p), 1), vec![value]))
    }

    fn recognise(&self, r: crate::model::RecogId, value: Value) -> Eval {
        Ok(match &value {
            Value::Ctor(c, _) => Value::Bool(self.model.recognisers[r.ix()].cases.contains(c)),
            _ => Value::stuck(Head::Symbol(Symbol::Recognise(r), 1), vec![value]),
        })
    }

    fn closure(&self, lambda: &Arc<LambdaCode>, frame: &mut Frame) -> Eval {
        let captured = lambda.captures.iter().map(|s| self.force(frame, *s)).collect::<Eval<_>>()?;
        Ok(Value::Function(Arc::new(Function::Lambda(lambda.clone(), captured))))
    }

    fn comprehension(&self, bag: bool, sort: SortId, lambda: &Arc<LambdaCode>, frame: &mut Frame) -> Eval {
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
    fn update(&self, sort: SortId, f: Value, x: Value, y: Value) -> Eval {
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
    fn table_index(&self, sort: SortId, args: &[Value]) -> Option<usize> {
        let SortDef::Function(domain, _) = &self.model.sorts[sort.ix()] else { return None };
        let mut at = 0;
        for (d, arg) in domain.iter().zip(args) {
            let values = self.sorts.values(&self.model, *d)?;
            at = at * values.len() + values.binary_search(arg).ok()?;
        }
        Some(at)
    }

    /// The form in which a value of the given sort is stored in a state: functions over small domains become tables.
    pub fn canonical(&self, sort: SortId, value: Value) -> Eval {
        self.in_form(sort, value, false)
    }

    /// The form in which equal values of the given sort look equal: like [`Self::canonical`], and sets and bags over
    /// small sorts are spelt out.
    pub fn comparable(&self, sort: SortId, value: Value) -> Eval {
        self.in_form(sort, value, true)
    }

    fn in_form(&self, sort: SortId, value: Value, spelt_out: bool) -> Eval {
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
    fn few_values(&self, sort: SortId) -> Option<Arc<Vec<Value>>> {
        self.sorts.size(sort).filter(|n| *n <= TABLE_POINTS)?;
        self.sorts.values(&self.model, sort)
    }

    fn spell_out_set(&self, element: SortId, value: Value) -> Eval {
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

    fn spell_out_bag(&self, element: SortId, value: Value) -> Eval {
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
fn is_constant(value: &Value) -> bool {
    matches!(value, Value::Stuck(s) if s.args.is_empty() && matches!(s.head, Head::Symbol(Symbol::Func(_), _)))
}

/// Whether a value contains a number of which only bounds are known; two of those are not equal for looking equal.
pub fn has_range(value: &Value) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match value {
        Value::Stuck(s) => {
            matches!(s.head, Head::Range(..) | Head::Quantifier) || s.args.iter().any(has_range)
        }
        Value::Ctor(_, args) => args.iter().any(has_range),
        Value::List(l) => l.iter().any(has_range),
        Value::Bool(_) | Value::Number(_) => false,
        other => other.has_stuck(),
    })
}
