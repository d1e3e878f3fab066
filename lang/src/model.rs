//! The checked specification: every name resolved, every expression with its sort, every overload decided.
//!
//! Numeric upcasts (Pos to Nat to Int to Real) and the upcasts FSet to Set and FBag to Bag are implicit here: numbers
//! of all sorts share one representation at run time, and so do finite and general sets.

use crate::diagnostic::Span;
use gridlock_lts::base::hash::Map;
use num_bigint::BigInt;
use std::sync::Arc;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into the model's table.
            pub fn ix(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// Index into [`Model::sorts`]. Equal sorts have equal indices: aliases are unfolded.
    SortId
);
index!(
    /// Index into [`Model::constructors`].
    CtorId
);
index!(
    /// Index into [`Model::functions`].
    FuncId
);
index!(
    /// Index into [`Model::projections`].
    ProjId
);
index!(
    /// Index into [`Model::recognisers`].
    RecogId
);
index!(
    /// Index into [`Model::vars`]. Every binding occurrence in the specification is a variable of its own.
    VarId
);
index!(
    /// Index into [`Model::action_names`]: a name with all its overloads.
    ActName
);
index!(
    /// Index into [`Model::processes`].
    ProcId
);

/// A checked specification.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// All sorts that occur. The first five are Bool, Pos, Nat, Int and Real.
    pub sorts: Vec<SortDef>,
    /// The names of the `sort` sections, aliases included, and what they stand for.
    pub sort_names: Vec<(Arc<str>, SortId)>,
    /// Constructors of structured sorts and of `cons`.
    pub constructors: Vec<Constructor>,
    /// Projections of structured sorts. One projection may serve several constructors of its sort.
    pub projections: Vec<Projection>,
    /// Recognisers of structured sorts.
    pub recognisers: Vec<Recogniser>,
    /// The mappings.
    pub functions: Vec<Function>,
    /// The global variables of the specification, each a mapping whose value was chosen.
    pub globals: Vec<FuncId>,
    /// The equations that can never be applied to values, because an operator stands in a pattern over variables.
    pub idle: Vec<crate::diagnostic::Span>,
    /// All variables.
    pub vars: Vec<Var>,
    /// Names of actions.
    pub action_names: Vec<Arc<str>>,
    /// Declared action signatures, in the order of the text.
    pub actions: Vec<(ActName, Vec<SortId>)>,
    /// Process definitions.
    pub processes: Vec<ProcDef>,
    /// The initial process.
    pub init: Option<Proc>,
    /// Where what a name stands for is declared.
    pub declared_at: Map<Symbol, Span>,
    /// Where the names of the `sort` sections are declared.
    pub sorts_at: Map<Arc<str>, Span>,
    /// How many mappings are the specification's, if the model is that of a formula. Further ones are the formula's.
    pub formula_from: Option<usize>,
}

impl Model {
    /// Whether a name stands for a constructor, projection, recogniser or mapping.
    pub fn has_data(&self, name: &str) -> bool {
        self.constructors.iter().any(|c| *c.name == *name)
            || self.projections.iter().any(|p| *p.name == *name)
            || self.recognisers.iter().any(|r| *r.name == *name)
            || self.functions.iter().any(|f| *f.name == *name)
    }
}

/// What a sort is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SortDef {
    Bool,
    Pos,
    Nat,
    Int,
    Real,
    List(SortId),
    Set(SortId),
    FSet(SortId),
    Bag(SortId),
    FBag(SortId),
    Function(Vec<SortId>, SortId),
    /// A declared or structured sort. Without constructors it is abstract: nothing enumerates it. An unnamed `struct`
    /// gets the printed struct as its name. Two sorts of the same name do not exist.
    Named {
        name: Arc<str>,
        constructors: Vec<CtorId>,
    },
}

/// A constructor.
#[derive(Clone, Debug)]
pub struct Constructor {
    /// Its name.
    pub name: Arc<str>,
    /// The sorts of its arguments.
    pub fields: Vec<SortId>,
    /// The sort it constructs.
    pub sort: SortId,
    /// Its position among the constructors of its sort; the order of values follows it.
    pub position: u32,
}

/// A projection: for each constructor it applies to, the field it yields.
#[derive(Clone, Debug)]
pub struct Projection {
    /// Its name.
    pub name: Arc<str>,
    /// The constructors it applies to and which field it takes.
    pub cases: Vec<(CtorId, u32)>,
    /// Argument sort.
    pub domain: SortId,
    /// Result sort.
    pub range: SortId,
}

/// A recogniser: true for the named constructors.
#[derive(Clone, Debug)]
pub struct Recogniser {
    /// Its name.
    pub name: Arc<str>,
    /// The constructors it recognises.
    pub cases: Vec<CtorId>,
    /// Argument sort.
    pub domain: SortId,
}

/// A mapping and its equations.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Arc<str>,
    /// Its sort: a function sort, or that of a constant.
    pub sort: SortId,
    /// Its equations in the order of the text. None: the function is uninterpreted, its applications are normal forms.
    pub clauses: Vec<Clause>,
    /// Where it is declared.
    pub span: Span,
    /// The built-in operator that this is, if it is one for which the specification has equations.
    pub builtin: Option<Builtin>,
}

/// A built-in operator that a specification adds equations to.
#[derive(Clone, Debug)]
pub struct Builtin {
    /// The operator, projection or recogniser.
    pub symbol: Symbol,
    /// The sorts of its arguments.
    pub domain: Vec<SortId>,
    /// Whether the equations come before the built-in meaning of the operator; otherwise they apply where that gives no
    /// value.
    pub equations_first: bool,
}

/// `condition -> f(patterns)(patterns)… = right`.
#[derive(Clone, Debug)]
pub struct Clause {
    /// Argument groups: none for `f = …`, one for `f(x, y) = …`, two for `f(x)(y) = …`.
    pub groups: Vec<Vec<Pattern>>,
    /// The condition, of sort Bool.
    pub condition: Option<Expr>,
    /// The right-hand side. Every variable in it or in the condition occurs in a pattern.
    pub right: Expr,
    /// The place of the equation.
    pub span: Span,
}

/// What an argument of an equation's left-hand side must look like. A variable may occur twice; then both must be equal.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Anything.
    Var(VarId),
    /// This number.
    Number(BigInt),
    /// This truth value.
    Bool(bool),
    /// A constructor application.
    Ctor(CtorId, Vec<Pattern>),
    /// `[]`.
    EmptyList,
    /// `x |> l`.
    Cons(Box<Pattern>, Box<Pattern>),
    /// `l <| x`.
    Snoc(Box<Pattern>, Box<Pattern>),
    /// `{}`.
    EmptySet,
    /// `{:}`.
    EmptyBag,
    /// Any closed expression without a variable that is not one of the above: compared with its value.
    Closed(Expr),
    /// An application of a mapping: matches only an irreducible application of that mapping to matching arguments.
    Func(FuncId, Vec<Vec<Pattern>>),
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Var {
    /// Its name.
    pub name: Arc<str>,
    /// Its sort.
    pub sort: SortId,
    /// Where it is bound.
    pub span: Span,
}

/// A data expression with its sort.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The kind of expression.
    pub kind: ExprKind,
    /// Its sort.
    pub sort: SortId,
    /// Its place.
    pub span: Span,
}

/// The kinds of checked data expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A variable.
    Var(VarId),
    /// A numeral.
    Number(BigInt),
    /// `true`, `false`.
    Bool(bool),
    /// A function, constructor or operator as a value; a constant stands here too.
    Symbol(Symbol),
    /// An application. Operators are applied like functions: `x + y` is `Apply(Symbol(Op(Add)), [x, y])`.
    Apply(Box<Expr>, Vec<Expr>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{a, b}`.
    Set(Vec<Expr>),
    /// `{a: 1, b: 2}`.
    Bag(Vec<(Expr, Expr)>),
    /// `{ x: S | condition }`.
    SetComprehension(VarId, Box<Expr>),
    /// `{ x: S | count }`.
    BagComprehension(VarId, Box<Expr>),
    /// `f[x -> y]`.
    Update(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `forall x: S. e`.
    Forall(Vec<VarId>, Box<Expr>),
    /// `exists x: S. e`.
    Exists(Vec<VarId>, Box<Expr>),
    /// `lambda x: S. e`.
    Lambda(Vec<VarId>, Box<Expr>),
    /// `e whr x = f end`. The definitions do not see each other.
    Where(Box<Expr>, Vec<(VarId, Expr)>),
}

/// What a name or operator stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Symbol {
    /// A mapping.
    Func(FuncId),
    /// A constructor.
    Ctor(CtorId),
    /// A projection of a structured sort.
    Project(ProjId),
    /// A recogniser of a structured sort.
    Recognise(RecogId),
    /// A built-in operation.
    Op(Op),
}

/// Built-in operations. The checker picks the variant by the sorts of the arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// `==` on any sort.
    Equal,
    /// `!=` on any sort.
    NotEqual,
    /// `<` on any sort but sets and bags.
    Less,
    /// `<=` on any sort but sets and bags.
    LessEqual,
    /// `>` on any sort but sets and bags.
    Greater,
    /// `>=` on any sort but sets and bags.
    GreaterEqual,
    /// `if(c, x, y)`.
    If,
    /// `!b`.
    Not,
    /// `a && b`.
    And,
    /// `a || b`.
    Or,
    /// `a => b`.
    Implies,
    /// Numeric `x + y`.
    Add,
    /// Numeric `x - y` (an Int on Pos and Nat).
    Subtract,
    /// Numeric `x * y`.
    Multiply,
    /// Numeric `-x`.
    Negate,
    /// `x / y`, a Real.
    Divide,
    /// `x div y`.
    Div,
    /// `x mod y`.
    Mod,
    /// `succ(x)`.
    Succ,
    /// `pred(x)`.
    Pred,
    /// `abs(x)`.
    Abs,
    /// `min(x, y)`.
    Min,
    /// `max(x, y)`.
    Max,
    /// `exp(x, n)`.
    Exp,
    /// `sqrt(n)`, rounded down.
    Sqrt,
    /// `floor(r)`.
    Floor,
    /// `ceil(r)`.
    Ceil,
    /// `round(r)`.
    Round,
    /// Conversion to Pos (`Nat2Pos`, `Int2Pos`, `Real2Pos`); undefined below 1 and on fractions.
    ToPos,
    /// Conversion to Nat (`Pos2Nat`, `Int2Nat`, `Real2Nat`); undefined below 0 and on fractions.
    ToNat,
    /// Conversion to Int (`Pos2Int`, `Nat2Int`, `Real2Int`); undefined on fractions.
    ToInt,
    /// Conversion to Real (`Pos2Real`, `Nat2Real`, `Int2Real`).
    ToReal,
    /// `x |> l`.
    Cons,
    /// `l <| x`.
    Snoc,
    /// `l ++ m`.
    Concat,
    /// `#l`.
    ListSize,
    /// `l . n`.
    At,
    /// `head(l)`.
    Head,
    /// `tail(l)`.
    Tail,
    /// `rhead(l)`.
    RHead,
    /// `rtail(l)`.
    RTail,
    /// `x in l` for lists.
    InList,
    /// `x in s` for sets.
    InSet,
    /// `s + t`.
    SetUnion,
    /// `s * t`.
    SetIntersection,
    /// `s - t`.
    SetDifference,
    /// `!s`.
    SetComplement,
    /// `s < t`.
    ProperSubset,
    /// `s <= t`.
    Subset,
    /// `s > t`.
    ProperSuperset,
    /// `s >= t`.
    Superset,
    /// `#s` for finite sets.
    SetSize,
    /// `pick(s)` for finite sets: its least element; undefined for the empty set.
    SetPick,
    /// `x in b` for bags.
    InBag,
    /// `b + c`.
    BagUnion,
    /// `b * c`.
    BagIntersection,
    /// `b - c`.
    BagDifference,
    /// `b < c`.
    ProperSubbag,
    /// `b <= c`.
    Subbag,
    /// `b > c`.
    ProperSuperbag,
    /// `b >= c`.
    Superbag,
    /// `#b` for finite bags.
    BagSize,
    /// `pick(b)` for finite bags.
    BagPick,
    /// `count(x, b)`.
    Count,
    /// `Set2Bag(s)`.
    SetToBag,
    /// `Bag2Set(b)`.
    BagToSet,
}

/// `P(x: S) = body`.
#[derive(Clone, Debug)]
pub struct ProcDef {
    /// Its name.
    pub name: Arc<str>,
    /// Its parameters.
    pub params: Vec<VarId>,
    /// Its body.
    pub body: Proc,
    /// Where its name stands.
    pub span: Span,
}

/// A process expression.
#[derive(Clone, Debug)]
pub struct Proc {
    /// The kind of expression.
    pub kind: ProcKind,
    /// Its place.
    pub span: Span,
}

/// An action with its arguments.
#[derive(Clone, Debug)]
pub struct Action {
    /// Its name.
    pub name: ActName,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// Its place.
    pub span: Span,
}

/// The kinds of checked process expressions.
#[derive(Clone, Debug)]
pub enum ProcKind {
    /// `a(e)|b(f)`: one action or several at once; empty is `tau`.
    Multi(Vec<Action>),
    /// `delta`.
    Delta,
    /// `P(e, f)`; the assignment form is resolved to all arguments.
    Call(ProcId, Vec<Expr>),
    /// `p + q + …`.
    Choice(Vec<Proc>),
    /// `p . q . …`.
    Seq(Vec<Proc>),
    /// `p || q || …`.
    Parallel(Vec<Proc>),
    /// `p ||_ q`.
    LeftMerge(Box<Proc>, Box<Proc>),
    /// `p | q` where not both are multi-actions.
    Sync(Box<Proc>, Box<Proc>),
    /// `sum x: S, y: T. p`.
    Sum(Vec<VarId>, Box<Proc>),
    /// `c -> p <> q`; `None` is `delta`.
    Condition(Box<Expr>, Box<Proc>, Option<Box<Proc>>),
    /// `block({a, b}, p)`.
    Block(Vec<ActName>, Box<Proc>),
    /// `hide({a, b}, p)`.
    Hide(Vec<ActName>, Box<Proc>),
    /// `rename({a -> b}, p)`.
    Rename(Vec<(ActName, ActName)>, Box<Proc>),
    /// `allow({a, b|c}, p)`; each multi-name is sorted.
    Allow(Vec<Vec<ActName>>, Box<Proc>),
    /// `comm({a|b -> c}, p)`; each left-hand side is sorted.
    Comm(Vec<(Vec<ActName>, ActName)>, Box<Proc>),
}
