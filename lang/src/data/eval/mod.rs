//! The evaluator: closed expressions to values, innermost, lazy where a mapping does not need an argument.
//!
//! Every run is bounded: a step limit ends equations that do not terminate and a depth limit ends runaway recursion,
//! both in a clear [`Failure`]. The machine stack grows on the heap, so depth is never a crash.

mod canonical;
mod functions;
mod matching;

use crate::data::bags;
use crate::data::code::{BuiltinCode, ClauseCode, Code, FunctionCode, Slot};
use crate::data::compile::Compiler;
use crate::data::disagreement::Disagreements;
use crate::data::meter::Meter;
use crate::data::ops;
use crate::data::sets;
use crate::data::sorts::{Sorts, placeholder};
use crate::data::value::{Function, Head, List, Value};
use crate::diagnostic::Span;
use crate::model::{FuncId, Model, Symbol};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

pub use canonical::has_unknown;

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

impl Bound {
    /// Whether the value, as far as it was needed, contains an unknown.
    fn has_unknown(&self) -> bool {
        match self {
            Bound::Now(value) => has_unknown(value),
            Bound::Later(lazy) => match &lazy.borrow().state {
                LazyState::Done(value) => has_unknown(value),
                LazyState::Waiting(..) => false,
            },
        }
    }
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
    /// Where equations that disagree are collected, if they are looked for.
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
                    Ok(if x == y && !has_unknown(&x) { x } else { Value::stuck(Head::If, vec![c, x, y]) })
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

    /// Tries equations in order; `None` if none applies or one cannot be decided before more is known.
    fn rewrite(&self, clauses: &[ClauseCode], groups: &mut [&mut [Bound]]) -> Eval<Option<Value>> {
        for (at, clause) in clauses.iter().enumerate() {
            let mut frame = new_frame(clause.frame);
            match self.applies(clause, groups, &mut frame)? {
                // A later equation may overlap with this one, so nothing can be said before this one is decided.
                Fit::Open if groups.iter().any(|group| group.iter().any(Bound::has_unknown)) => {
                    return Ok(None);
                }
                // What is irreducible stays so. As in mCRL2, it fits no pattern that it does not look like, and a
                // condition that does not become true does not hold.
                Fit::No | Fit::Open => continue,
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
}
