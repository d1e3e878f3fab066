//! The built-in operators and functions with all their signatures.
//!
//! Every signature mentions at most one unknown sort, the element sort `A`, and at most two of its parameters do.
//! Overload resolution relies on both.

use crate::model::{Op, SortId};
use crate::syntax::tree::{BinaryOp, Container, UnaryOp};

/// A parameter or result sort of a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// This sort.
    Is(SortId),
    /// `A`.
    Elem,
    /// A container of `A`.
    Of(Container),
}

/// One version of a built-in.
#[derive(Debug)]
pub(super) struct Signature {
    pub op: Op,
    pub params: &'static [Slot],
    pub result: Slot,
}

/// A built-in with all its versions, the cheaper ones first.
#[derive(Debug)]
pub(super) struct Builtin {
    pub name: &'static str,
    pub signatures: &'static [Signature],
}

const B: Slot = Slot::Is(SortId::BOOL);
const P: Slot = Slot::Is(SortId::POS);
const N: Slot = Slot::Is(SortId::NAT);
const I: Slot = Slot::Is(SortId::INT);
const R: Slot = Slot::Is(SortId::REAL);
const A: Slot = Slot::Elem;
const LIST: Slot = Slot::Of(Container::List);
const SET: Slot = Slot::Of(Container::Set);
const FSET: Slot = Slot::Of(Container::FSet);
const BAG: Slot = Slot::Of(Container::Bag);
const FBAG: Slot = Slot::Of(Container::FBag);

macro_rules! builtin {
    ($name:literal, $($op:ident: $($param:ident)* => $result:ident),+ $(,)?) => {
        Builtin {
            name: $name,
            signatures: &[$(Signature { op: Op::$op, params: &[$($param),*], result: $result }),+],
        }
    };
}

static NOT: Builtin = builtin!("!", Not: B => B, SetComplement: SET => SET);
static NEGATE: Builtin = builtin!("-", Negate: P => I, Negate: N => I, Negate: I => I, Negate: R => R);
static SIZE: Builtin = builtin!("#", ListSize: LIST => N, SetSize: FSET => N, BagSize: FBAG => N);

static IMPLIES: Builtin = builtin!("=>", Implies: B B => B);
static OR: Builtin = builtin!("||", Or: B B => B);
static AND: Builtin = builtin!("&&", And: B B => B);
static EQUAL: Builtin = builtin!("==", Equal: A A => B);
static NOT_EQUAL: Builtin = builtin!("!=", NotEqual: A A => B);
static LESS: Builtin = builtin!(
    "<", Less: A A => B, ProperSubset: FSET FSET => B, ProperSubset: SET SET => B,
    ProperSubbag: FBAG FBAG => B, ProperSubbag: BAG BAG => B
);
static LESS_EQUAL: Builtin = builtin!(
    "<=", LessEqual: A A => B, Subset: FSET FSET => B, Subset: SET SET => B,
    Subbag: FBAG FBAG => B, Subbag: BAG BAG => B
);
static GREATER: Builtin = builtin!(
    ">", Greater: A A => B, ProperSuperset: FSET FSET => B, ProperSuperset: SET SET => B,
    ProperSuperbag: FBAG FBAG => B, ProperSuperbag: BAG BAG => B
);
static GREATER_EQUAL: Builtin = builtin!(
    ">=", GreaterEqual: A A => B, Superset: FSET FSET => B, Superset: SET SET => B,
    Superbag: FBAG FBAG => B, Superbag: BAG BAG => B
);
static IN: Builtin = builtin!(
    "in", InList: A LIST => B, InSet: A FSET => B, InSet: A SET => B, InBag: A FBAG => B, InBag: A BAG => B
);
static CONS: Builtin = builtin!("|>", Cons: A LIST => LIST);
static SNOC: Builtin = builtin!("<|", Snoc: LIST A => LIST);
static CONCAT: Builtin = builtin!("++", Concat: LIST LIST => LIST);
static PLUS: Builtin = builtin!(
    "+", Add: P P => P, Add: P N => P, Add: N P => P, Add: N N => N, Add: I I => I, Add: R R => R,
    SetUnion: FSET FSET => FSET, SetUnion: SET SET => SET, BagUnion: FBAG FBAG => FBAG, BagUnion: BAG BAG => BAG
);
static MINUS: Builtin = builtin!(
    "-", Subtract: P P => I, Subtract: N N => I, Subtract: I I => I, Subtract: R R => R,
    SetDifference: FSET FSET => FSET, SetDifference: SET SET => SET,
    BagDifference: FBAG FBAG => FBAG, BagDifference: BAG BAG => BAG
);
static TIMES: Builtin = builtin!(
    "*", Multiply: P P => P, Multiply: N N => N, Multiply: I I => I, Multiply: R R => R,
    SetIntersection: FSET FSET => FSET, SetIntersection: SET SET => SET,
    BagIntersection: FBAG FBAG => FBAG, BagIntersection: BAG BAG => BAG
);
static DIVIDE: Builtin =
    builtin!("/", Divide: P P => R, Divide: N N => R, Divide: I I => R, Divide: R R => R);
static DIV: Builtin = builtin!("div", Div: P P => N, Div: N P => N, Div: I P => I);
static MOD: Builtin = builtin!("mod", Mod: P P => N, Mod: N P => N, Mod: I P => N);
static AT: Builtin = builtin!(".", At: LIST N => A);

/// The built-ins that are called by name.
pub(super) static NAMED: &[Builtin] = &[
    builtin!("if", If: B A A => A),
    builtin!("min", Min: P P => P, Min: N N => N, Min: I I => I, Min: R R => R),
    builtin!(
        "max", Max: P P => P, Max: P N => P, Max: N P => P, Max: N N => N, Max: P I => P, Max: I P => P,
        Max: N I => N, Max: I N => N, Max: I I => I, Max: R R => R
    ),
    builtin!("abs", Abs: N => N, Abs: I => N, Abs: R => R),
    builtin!("succ", Succ: P => P, Succ: N => P, Succ: I => I, Succ: R => R),
    builtin!("pred", Pred: P => N, Pred: N => I, Pred: I => I, Pred: R => R),
    builtin!("exp", Exp: P N => P, Exp: N N => N, Exp: I N => I, Exp: R I => R),
    builtin!("sqrt", Sqrt: N => N),
    builtin!("floor", Floor: R => I),
    builtin!("ceil", Ceil: R => I),
    builtin!("round", Round: R => I),
    builtin!("Nat2Pos", ToPos: N => P),
    builtin!("Int2Pos", ToPos: I => P),
    builtin!("Real2Pos", ToPos: R => P),
    builtin!("Pos2Nat", ToNat: P => N),
    builtin!("Int2Nat", ToNat: I => N),
    builtin!("Real2Nat", ToNat: R => N),
    builtin!("Pos2Int", ToInt: P => I),
    builtin!("Nat2Int", ToInt: N => I),
    builtin!("Real2Int", ToInt: R => I),
    builtin!("Pos2Real", ToReal: P => R),
    builtin!("Nat2Real", ToReal: N => R),
    builtin!("Int2Real", ToReal: I => R),
    builtin!("head", Head: LIST => A),
    builtin!("tail", Tail: LIST => LIST),
    builtin!("rhead", RHead: LIST => A),
    builtin!("rtail", RTail: LIST => LIST),
    builtin!("count", Count: A FBAG => N, Count: A BAG => N),
    builtin!("pick", SetPick: FSET => A, BagPick: FBAG => A),
    builtin!("Set2Bag", SetToBag: FSET => FBAG, SetToBag: SET => BAG),
    builtin!("Bag2Set", BagToSet: FBAG => FSET, BagToSet: BAG => SET),
];

/// The built-in of this name.
pub(super) fn named(name: &str) -> Option<&'static Builtin> {
    NAMED.iter().find(|b| b.name == name)
}

/// The built-in behind a prefix operator.
pub(super) fn unary(op: UnaryOp) -> &'static Builtin {
    match op {
        UnaryOp::Not => &NOT,
        UnaryOp::Minus => &NEGATE,
        UnaryOp::Size => &SIZE,
    }
}

/// The built-in behind an infix operator.
pub(super) fn binary(op: BinaryOp) -> &'static Builtin {
    match op {
        BinaryOp::Implies => &IMPLIES,
        BinaryOp::Or => &OR,
        BinaryOp::And => &AND,
        BinaryOp::Equal => &EQUAL,
        BinaryOp::NotEqual => &NOT_EQUAL,
        BinaryOp::Less => &LESS,
        BinaryOp::LessEqual => &LESS_EQUAL,
        BinaryOp::GreaterEqual => &GREATER_EQUAL,
        BinaryOp::Greater => &GREATER,
        BinaryOp::In => &IN,
        BinaryOp::Cons => &CONS,
        BinaryOp::Snoc => &SNOC,
        BinaryOp::Concat => &CONCAT,
        BinaryOp::Plus => &PLUS,
        BinaryOp::Minus => &MINUS,
        BinaryOp::Divide => &DIVIDE,
        BinaryOp::Div => &DIV,
        BinaryOp::Mod => &MOD,
        BinaryOp::Times => &TIMES,
        BinaryOp::At => &AT,
    }
}

/// Whether the operation compares by the generic order, which sets and bags do not have.
pub(super) fn generic_order(op: Op) -> bool {
    matches!(op, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual)
}
