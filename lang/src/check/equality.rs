//! Equations for `==` and `!=` that say what holds anyway.
//!
//! mCRL2 does not define equality on sorts of the `cons` section, so specifications write `d1 == d2 = false` and its kin
//! themselves. Here constructors are always free: such an equation is accepted, and left out, if it agrees with that. An
//! equation that identifies different constructor terms is not one of these.

use super::deep;
use crate::model::{CtorId, Expr, ExprKind, Op, Symbol};

/// Whether the equation `left = right` follows from the constructors being free.
pub(super) fn holds_anyway(left: &Expr, right: &Expr) -> bool {
    let Some((op, [a, b])) = operation(left) else { return false };
    let mut open = Vec::new();
    let differ = !unify(a, b, &mut open);
    match (op, &right.kind) {
        (Op::Equal, ExprKind::Bool(value)) | (Op::NotEqual, ExprKind::Bool(value)) => {
            if *value == (op == Op::Equal) { !differ && open.is_empty() } else { differ }
        }
        (Op::Equal, _) => {
            let mut claimed = Vec::new();
            !differ && conjuncts(right, &mut claimed) && same_pairs(&open, &claimed)
        }
        (Op::NotEqual, _) => match operation(right) {
            Some((Op::Not, [inner])) => {
                matches!(operation(inner), Some((Op::Equal, [c, d])) if same(a, c) && same(b, d))
            }
            _ => false,
        },
        _ => false,
    }
}

pub(super) fn operation(expr: &Expr) -> Option<(Op, &[Expr])> {
    match &expr.kind {
        ExprKind::Apply(head, args) => match head.kind {
            ExprKind::Symbol(Symbol::Op(op)) => Some((op, args)),
            _ => None,
        },
        _ => None,
    }
}

fn constructor(expr: &Expr) -> Option<(CtorId, &[Expr])> {
    match &expr.kind {
        ExprKind::Symbol(Symbol::Ctor(ctor)) => Some((*ctor, &[])),
        ExprKind::Apply(head, args) => match head.kind {
            ExprKind::Symbol(Symbol::Ctor(ctor)) => Some((ctor, args)),
            _ => None,
        },
        _ => None,
    }
}

/// Compares as far as constructors go and collects the pairs on which it then depends. False: surely different.
fn unify<'a>(a: &'a Expr, b: &'a Expr, open: &mut Vec<(&'a Expr, &'a Expr)>) -> bool {
    deep(|| match (constructor(a), constructor(b)) {
        (Some((c, xs)), Some((d, ys))) => c == d && xs.iter().zip(ys).all(|(x, y)| unify(x, y, open)),
        _ => {
            if !same(a, b) {
                open.push((a, b));
            }
            true
        }
    })
}

/// The equalities of a conjunction; false if there is something else in it.
fn conjuncts<'a>(expr: &'a Expr, pairs: &mut Vec<(&'a Expr, &'a Expr)>) -> bool {
    deep(|| match operation(expr) {
        Some((Op::And, [a, b])) => conjuncts(a, pairs) && conjuncts(b, pairs),
        Some((Op::Equal, [a, b])) => {
            pairs.push((a, b));
            true
        }
        _ => false,
    })
}

fn same_pairs(open: &[(&Expr, &Expr)], claimed: &[(&Expr, &Expr)]) -> bool {
    let covers = |some: &[(&Expr, &Expr)], all: &[(&Expr, &Expr)]| {
        all.iter()
            .all(|(a, b)| some.iter().any(|(c, d)| (same(a, c) && same(b, d)) || (same(a, d) && same(b, c))))
    };
    covers(open, claimed) && covers(claimed, open)
}

/// Whether two expressions are the same text, for the simple kinds of expressions.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    deep(|| match (&a.kind, &b.kind) {
        (ExprKind::Var(x), ExprKind::Var(y)) => x == y,
        (ExprKind::Number(x), ExprKind::Number(y)) => x == y,
        (ExprKind::Bool(x), ExprKind::Bool(y)) => x == y,
        (ExprKind::Symbol(x), ExprKind::Symbol(y)) => x == y,
        (ExprKind::Apply(f, xs), ExprKind::Apply(g, ys)) => {
            same(f, g) && xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| same(x, y))
        }
        _ => false,
    })
}
