//! The syntax tree of formula files and action patterns, with the place of every part.
//!
//! Time (`delay`, `yaled`, `@`) and quantities (`inf`, `sup`, `sum`, `+`, `*`, `-` on formulas) are refused while
//! parsing, so the tree has no form for them.

use super::tree::{Data, Ident, Sort, Spec, VarDecl};
use crate::diagnostic::{Diagnostic, Span};

/// A formula file.
#[derive(Clone, Debug)]
pub struct Formula {
    /// The declarations before and behind `form`: sorts, constructors, maps, equations and actions. Empty if the file
    /// is just a formula.
    pub declarations: Spec,
    /// The formula. A loose operator below a tight one, as in `[a]forall d: D. f && g`, reaches as far as it can.
    pub state: StateFormula,
    /// Where such an operator could also end before.
    pub unclear: Vec<Unclear>,
}

/// A place where mCRL2's versions read a formula in different ways. The author is asked for brackets, unless one of the readings
/// leaves a variable without a declaration, which only names tell.
#[derive(Clone, Debug)]
pub struct Unclear {
    /// Where the loose operator begins.
    pub prefix: u32,
    /// What it reaches over in one of the readings, and not in the other one.
    pub rest: Span,
    /// What is said about it.
    pub problem: Diagnostic,
}

/// A state formula.
#[derive(Clone, Debug)]
pub struct StateFormula {
    /// The kind of formula.
    pub kind: StateKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of state formulas. Associative operators hold all their operands.
#[derive(Clone, Debug)]
pub enum StateKind {
    /// `true`, `false`.
    Bool(bool),
    /// `val(e)`.
    Data(Data),
    /// `!f`.
    Not(Box<StateFormula>),
    /// `f && g && …`.
    And(Vec<StateFormula>),
    /// `f || g || …`.
    Or(Vec<StateFormula>),
    /// `f => g`.
    Implies(Box<StateFormula>, Box<StateFormula>),
    /// `[R]f`.
    Box(RegularFormula, Box<StateFormula>),
    /// `<R>f`.
    Diamond(RegularFormula, Box<StateFormula>),
    /// `mu X(n: Nat = 0). f`, `nu X. f`.
    Fixpoint(Fixpoint, Ident, Vec<FixpointParam>, Box<StateFormula>),
    /// `forall x: S. f`, `exists x: S. f`.
    Quantifier(Quantifier, Vec<VarDecl>, Box<StateFormula>),
    /// `X`, `X(e, f)`.
    Variable(Ident, Vec<Data>),
}

/// The fixed points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fixpoint {
    /// `mu`.
    Least,
    /// `nu`.
    Greatest,
}

/// The quantifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Quantifier {
    Forall,
    Exists,
}

/// `x: S = e`, a parameter of a fixed point with its first value.
#[derive(Clone, Debug)]
pub struct FixpointParam {
    /// The name.
    pub name: Ident,
    /// Its sort.
    pub sort: Sort,
    /// Its first value.
    pub value: Data,
}

/// A regular formula.
#[derive(Clone, Debug)]
pub struct RegularFormula {
    /// The kind of formula.
    pub kind: RegularKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of regular formulas. Associative operators hold all their operands.
#[derive(Clone, Debug)]
pub enum RegularKind {
    /// One action.
    Action(ActionFormula),
    /// `R . S . …`.
    Seq(Vec<RegularFormula>),
    /// `R + S + …`.
    Choice(Vec<RegularFormula>),
    /// `R*`.
    Star(Box<RegularFormula>),
    /// `R+`.
    Plus(Box<RegularFormula>),
}

/// An action formula: a set of multi-actions.
#[derive(Clone, Debug)]
pub struct ActionFormula {
    /// The kind of formula.
    pub kind: ActionKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of action formulas. Associative operators hold all their operands.
#[derive(Clone, Debug)]
pub enum ActionKind {
    /// `true`, `false`.
    Bool(bool),
    /// `val(e)`.
    Data(Data),
    /// `a(e, f) | b`; none for `tau`.
    MultiAction(Vec<Action>),
    /// `!A`.
    Not(Box<ActionFormula>),
    /// `A && B && …`.
    And(Vec<ActionFormula>),
    /// `A || B || …`.
    Or(Vec<ActionFormula>),
    /// `A => B`.
    Implies(Box<ActionFormula>, Box<ActionFormula>),
    /// `forall x: S. A`, `exists x: S. A`.
    Quantifier(Quantifier, Vec<VarDecl>, Box<ActionFormula>),
}

/// `a(e, f)`.
#[derive(Clone, Debug)]
pub struct Action {
    /// Its name.
    pub name: Ident,
    /// Its arguments.
    pub arguments: Vec<Data>,
}

/// A pattern for transitions: `a(0, _) | b`.
#[derive(Clone, Debug)]
pub struct ActionPattern {
    /// The actions that occur together; none for `tau`.
    pub actions: Vec<PatternAction>,
    /// The place of the whole.
    pub span: Span,
}

/// One action of a pattern.
#[derive(Clone, Debug)]
pub struct PatternAction {
    /// Its name.
    pub name: Ident,
    /// Its arguments, `None` if any will do.
    pub arguments: Option<Vec<PatternArgument>>,
}

/// One argument of a pattern.
#[derive(Clone, Debug)]
pub enum PatternArgument {
    /// `_`: any value.
    Any(Span),
    /// The value of a data expression.
    Data(Data),
}
