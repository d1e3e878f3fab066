//! The syntax tree: what the user wrote, with the place of every part. Nothing is resolved here.

use crate::diagnostic::Span;
use num_bigint::BigUint;
use std::sync::Arc;

/// A name and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ident {
    /// The name.
    pub name: Arc<str>,
    /// Its place.
    pub span: Span,
}

/// A whole specification. Sections may be repeated and stand in any order; each list is in the order of the text.
#[derive(Clone, Default, Debug)]
pub struct Spec {
    /// `sort`.
    pub sorts: Vec<SortDecl>,
    /// `cons`.
    pub constructors: Vec<FunctionDecl>,
    /// `map`.
    pub maps: Vec<FunctionDecl>,
    /// `var … eqn …`, one entry for each `eqn` section with the variables of the `var` section before it.
    pub equations: Vec<EquationSection>,
    /// `glob`.
    pub globals: Vec<VarDecl>,
    /// `act`.
    pub actions: Vec<ActionDecl>,
    /// `proc`.
    pub processes: Vec<ProcessDecl>,
    /// `init`. More than one, or none, is for the checker to report.
    pub inits: Vec<Process>,
}

/// `sort A, B;` (one entry for each name) or `sort A = …;`.
#[derive(Clone, Debug)]
pub struct SortDecl {
    /// The sort's name.
    pub name: Ident,
    /// What it stands for; `None` for a sort that is only declared.
    pub definition: Option<Sort>,
}

/// A sort expression.
#[derive(Clone, Debug)]
pub struct Sort {
    /// The kind of expression.
    pub kind: SortKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of sort expressions.
#[derive(Clone, Debug)]
pub enum SortKind {
    /// A name, `Bool`, `Pos`, `Nat`, `Int` and `Real` included.
    Name(Arc<str>),
    /// `List(S)`, `Set(S)`, `FSet(S)`, `Bag(S)`, `FBag(S)`.
    Container(Container, Box<Sort>),
    /// `struct c(p: S, T)?is_c | d`.
    Struct(Vec<StructConstructor>),
    /// `A # B -> C`. The domain has at least one sort.
    Function(Vec<Sort>, Box<Sort>),
}

/// The container sorts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Container {
    List,
    Set,
    FSet,
    Bag,
    FBag,
}

/// One constructor of a `struct`.
#[derive(Clone, Debug)]
pub struct StructConstructor {
    /// Its name.
    pub name: Ident,
    /// Its fields with their projections, if named.
    pub fields: Vec<(Option<Ident>, Sort)>,
    /// Its recogniser, if named.
    pub recogniser: Option<Ident>,
}

/// `f: A # B -> C` in `cons` or `map`; one entry for each name.
#[derive(Clone, Debug)]
pub struct FunctionDecl {
    /// The name.
    pub name: Ident,
    /// Its sort; a function sort or not.
    pub sort: Sort,
}

/// `x: S` in `var`, `sum`, quantifiers, parameters; one entry for each name.
#[derive(Clone, Debug)]
pub struct VarDecl {
    /// The name.
    pub name: Ident,
    /// Its sort.
    pub sort: Sort,
}

/// The equations of one `eqn` section.
#[derive(Clone, Debug)]
pub struct EquationSection {
    /// The variables of the `var` section before it.
    pub vars: Vec<VarDecl>,
    /// The equations.
    pub equations: Vec<Equation>,
}

/// `condition -> left = right`.
#[derive(Clone, Debug)]
pub struct Equation {
    /// The condition, if there is one.
    pub condition: Option<Data>,
    /// The left-hand side.
    pub left: Data,
    /// The right-hand side.
    pub right: Data,
    /// The place of the whole.
    pub span: Span,
}

/// `a: A # B`; one entry for each name.
#[derive(Clone, Debug)]
pub struct ActionDecl {
    /// The name.
    pub name: Ident,
    /// The sorts of the arguments.
    pub sorts: Vec<Sort>,
}

/// `P(x: S) = …;`.
#[derive(Clone, Debug)]
pub struct ProcessDecl {
    /// The name.
    pub name: Ident,
    /// The parameters.
    pub params: Vec<VarDecl>,
    /// The body.
    pub body: Process,
}

/// A data expression.
#[derive(Clone, Debug)]
pub struct Data {
    /// The kind of expression.
    pub kind: DataKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of data expressions.
#[derive(Clone, Debug)]
pub enum DataKind {
    /// A name.
    Name(Arc<str>),
    /// A numeral.
    Number(BigUint),
    /// `true`, `false`.
    Bool(bool),
    /// `[a, b]`, `[]`.
    List(Vec<Data>),
    /// `{a, b}`; `{}` is the empty set (or bag).
    Set(Vec<Data>),
    /// `{a: 1, b: 2}`; `{:}` is the empty bag.
    Bag(Vec<(Data, Data)>),
    /// `{ x: S | e }`: a set if `e` is a Bool, a bag if it is a number.
    Comprehension(Box<VarDecl>, Box<Data>),
    /// `f(a, b)`.
    Apply(Box<Data>, Vec<Data>),
    /// `f[a -> b]`.
    Update(Box<Data>, Box<Data>, Box<Data>),
    /// `!e`, `-e`, `#e`.
    Unary(UnaryOp, Box<Data>),
    /// `e op f`.
    Binary(BinaryOp, Box<Data>, Box<Data>),
    /// `forall x: S. e` and its kin.
    Binder(Binder, Vec<VarDecl>, Box<Data>),
    /// `e whr x = f, y = g end`.
    Where(Box<Data>, Vec<(Ident, Data)>),
}

/// Prefix operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `!`: negation of Bool, complement of a set.
    Not,
    /// `-`.
    Minus,
    /// `#`.
    Size,
}

/// Infix operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Implies,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    GreaterEqual,
    Greater,
    In,
    /// `|>`
    Cons,
    /// `<|`
    Snoc,
    /// `++`
    Concat,
    Plus,
    Minus,
    /// `/`
    Divide,
    Div,
    Mod,
    Times,
    /// `.` on lists.
    At,
}

/// Binders of data expressions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Binder {
    Forall,
    Exists,
    Lambda,
}

/// A process expression.
#[derive(Clone, Debug)]
pub struct Process {
    /// The kind of expression.
    pub kind: ProcessKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of process expressions. Associative operators hold all their operands, so that a long chain is not deep.
#[derive(Clone, Debug)]
pub enum ProcessKind {
    /// `a`, `a(e, f)`, `P`, `P(e, f)`: an action or a process with positional arguments.
    Call(Ident, Vec<Data>),
    /// `P(x = e)` and `P()`: a process, the parameters not named keep their value.
    Assign(Ident, Vec<(Ident, Data)>),
    /// `delta`.
    Delta,
    /// `tau`.
    Tau,
    /// `p + q + …`.
    Choice(Vec<Process>),
    /// `p . q . …`.
    Seq(Vec<Process>),
    /// `p || q || …`.
    Parallel(Vec<Process>),
    /// `p ||_ q`.
    LeftMerge(Box<Process>, Box<Process>),
    /// `p | q | …`.
    Sync(Vec<Process>),
    /// `sum x: S, y: T. p`.
    Sum(Vec<VarDecl>, Box<Process>),
    /// `c -> p <> q`.
    Condition(Box<Data>, Box<Process>, Option<Box<Process>>),
    /// `block({a, b}, p)`.
    Block(Vec<Ident>, Box<Process>),
    /// `hide({a, b}, p)`.
    Hide(Vec<Ident>, Box<Process>),
    /// `rename({a -> b}, p)`.
    Rename(Vec<(Ident, Ident)>, Box<Process>),
    /// `allow({a, b|c}, p)`.
    Allow(Vec<Vec<Ident>>, Box<Process>),
    /// `comm({a|b -> c}, p)`.
    Comm(Vec<(Vec<Ident>, Ident)>, Box<Process>),
}
