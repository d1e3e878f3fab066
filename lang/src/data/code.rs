//! Expressions as the evaluator runs them: variables are slots of a frame, overloads and arities are decided.

use crate::data::value::Value;
use crate::diagnostic::Span;
use crate::model::{CtorId, FuncId, Op, ProjId, RecogId, SortId, Symbol};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A variable's place in a frame.
pub type Slot = u32;

/// An expression ready to run.
#[derive(Clone, Debug)]
pub enum Code {
    /// A variable.
    Slot(Slot),
    /// A value known before running.
    Const(Value),
    /// A constructor with all its arguments.
    Ctor(CtorId, Box<[Code]>),
    /// A mapping with its first group of arguments; shared, since an argument may be run later.
    Call(FuncId, Arc<[Code]>),
    /// A strict operation, with the sort of its first argument and its place.
    Op(Op, SortId, Box<[Code]>, Span),
    /// `if(c, x, y)`.
    If(Box<[Code; 3]>),
    /// `a && b`: a conjunction; `a || b`: a disjunction. Operands are run from left to right until one decides.
    Junction(bool, Box<[Code]>),
    /// `!b`.
    Not(Box<Code>),
    /// A projection.
    Project(ProjId, Box<Code>),
    /// A recogniser.
    Recognise(RecogId, Box<Code>),
    /// A symbol as a function value, or a mapping that is a constant.
    Symbol(Symbol),
    /// An application of a computed function.
    Apply(Box<Code>, Box<[Code]>),
    /// A list.
    List(Box<[Code]>),
    /// A set by its elements.
    Set(Box<[Code]>),
    /// A bag by its elements and their counts.
    Bag(Box<[(Code, Code)]>),
    /// A set or (if the flag is set) bag comprehension over a sort.
    Comprehension(bool, SortId, Arc<LambdaCode>),
    /// `f[x -> y]` of a function of that sort.
    Update(SortId, Box<[Code; 3]>),
    /// `forall` (true) or `exists` (false).
    Quantifier(bool, Arc<QuantifierCode>),
    /// A lambda expression.
    Lambda(Arc<LambdaCode>),
    /// Local definitions.
    Where(Box<[(Slot, Code)]>, Box<Code>),
}

/// A lambda expression. Its frame starts with the captured variables, then come the parameters, then local ones.
#[derive(Debug)]
pub struct LambdaCode {
    /// Identifies it; two lambdas are the same only if this is.
    pub id: u32,
    /// The slots of the surrounding frame that it captures.
    pub captures: Vec<Slot>,
    /// The parameters' sorts.
    pub params: Vec<SortId>,
    /// Size of its frame.
    pub frame: u32,
    /// Its body.
    pub body: Code,
    /// How it is printed, its captured variables by name.
    pub text: Arc<str>,
}

impl PartialEq for LambdaCode {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for LambdaCode {}

impl PartialOrd for LambdaCode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LambdaCode {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl Hash for LambdaCode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// A quantifier: bound variables in slots of the surrounding frame.
#[derive(Debug)]
pub struct QuantifierCode {
    /// The bound variables.
    pub vars: Vec<(Slot, SortId)>,
    /// The body: for `exists` as written, for `forall` negated, so that both search for a solution.
    pub goal: Goal,
    /// Its place.
    pub span: Span,
}

/// A conjunction of conditions to be solved for some variables: the common form of guarded sums, quantifiers and
/// queries from partners.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The conjuncts with the slots of the *solved-for* variables that occur in each.
    pub conjuncts: Vec<(Code, Vec<Slot>)>,
}

/// An equation of a mapping.
#[derive(Debug)]
pub struct ClauseCode {
    /// Patterns by argument group.
    pub groups: Vec<Vec<PatternCode>>,
    /// The condition.
    pub condition: Option<Code>,
    /// The right-hand side.
    pub right: Code,
    /// Size of the frame.
    pub frame: u32,
    /// The place of the equation.
    pub span: Span,
}

/// A pattern; the flag of `Slot` says that the variable was bound further left, so that equality is required.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum PatternCode {
    Slot(Slot, bool),
    Const(Value),
    Ctor(CtorId, Vec<PatternCode>),
    EmptyList,
    Cons(Box<PatternCode>, Box<PatternCode>),
    Snoc(Box<PatternCode>, Box<PatternCode>),
    /// Equal to the value of a closed expression.
    Closed(Code),
    /// An irreducible application of a mapping.
    Func(FuncId, Vec<Vec<PatternCode>>),
}

/// A mapping: its equations by number of argument groups, in the order in which they are tried.
#[derive(Debug, Default)]
pub struct FunctionCode {
    /// `by_groups[k]` holds the equations with `k` argument groups.
    pub by_groups: Vec<Vec<ClauseCode>>,
    /// For each argument of the first group whether every equation needs its value.
    pub strict: Vec<bool>,
    /// Where the mapping is a built-in operator with equations: its built-in meaning.
    pub builtin: Option<BuiltinCode>,
}

/// The built-in meaning of an operator that has equations.
#[derive(Debug)]
pub struct BuiltinCode {
    /// The operator applied to the variables of its frame.
    pub code: Code,
    /// Whether the equations come first.
    pub equations_first: bool,
}

/// Calls `f` with every slot that occurs free in `code` (slots bound inside are frame slots of their own and are
/// reported as well; callers filter by the slots they ask for).
pub fn visit_slots(code: &Code, f: &mut dyn FnMut(Slot)) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match code {
        Code::Slot(s) => f(*s),
        Code::Const(_) | Code::Symbol(_) => {}
        Code::Call(_, xs) => xs.iter().for_each(|x| visit_slots(x, f)),
        Code::Ctor(_, xs)
        | Code::Op(_, _, xs, _)
        | Code::Junction(_, xs)
        | Code::List(xs)
        | Code::Set(xs) => xs.iter().for_each(|x| visit_slots(x, f)),
        Code::If(xs) | Code::Update(_, xs) => xs.iter().for_each(|x| visit_slots(x, f)),
        Code::Not(x) | Code::Project(_, x) | Code::Recognise(_, x) => visit_slots(x, f),
        Code::Apply(h, xs) => {
            visit_slots(h, f);
            xs.iter().for_each(|x| visit_slots(x, f));
        }
        Code::Bag(items) => items.iter().for_each(|(x, n)| {
            visit_slots(x, f);
            visit_slots(n, f);
        }),
        Code::Comprehension(_, _, l) | Code::Lambda(l) => l.captures.iter().for_each(|&s| f(s)),
        Code::Quantifier(_, q) => q.goal.conjuncts.iter().for_each(|(c, _)| visit_slots(c, f)),
        Code::Where(defs, body) => {
            defs.iter().for_each(|(_, d)| visit_slots(d, f));
            visit_slots(body, f);
        }
    })
}
