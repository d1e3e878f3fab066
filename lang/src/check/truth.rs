//! Equations for the logical operators and for `if`.
//!
//! Their meaning is decided for all truth values, and evaluation relies on it: `&&` and `if` do not look at what they do
//! not need. So an equation for one of them is accepted if it says what holds anyway, as `if(b, x, x) = x` does, and
//! then nothing has to be done about it. Whether that is so is tried for all truth values of the Bools in it.

use super::deep;
use super::equality::{operation, same};
use crate::model::{Expr, ExprKind, Op, SortId, Symbol};

/// The most Bools that are tried.
const MOST: usize = 10;

/// Whether an operator belongs to logic.
pub(super) fn is_logic(symbol: Symbol) -> bool {
    matches!(symbol, Symbol::Op(Op::If | Op::Not | Op::And | Op::Or | Op::Implies))
}

/// Whether an equation follows from what the logical operators and `if` mean.
pub(super) fn follows(left: &Expr, condition: Option<&Expr>, right: &Expr) -> bool {
    let mut atoms = Vec::new();
    [left, right].into_iter().chain(condition).for_each(|side| collect(side, &mut atoms));
    if atoms.len() > MOST {
        return false;
    }
    (0..1u32 << atoms.len()).all(|truths| {
        let case = Case { atoms: &atoms, truths };
        condition.is_some_and(|c| case.truth(c) == Some(false))
            || same(&case.resolved(left), &case.resolved(right))
    })
}

/// The Bools that are no logic themselves, each once.
fn collect<'e>(expr: &'e Expr, atoms: &mut Vec<&'e Expr>) {
    deep(|| {
        let logic = operation(expr).is_some_and(|(op, _)| is_logic(Symbol::Op(op)));
        if !logic && expr.sort == SortId::BOOL && !matches!(expr.kind, ExprKind::Bool(_)) {
            if !atoms.iter().any(|atom| same(atom, expr)) {
                atoms.push(expr);
            }
        } else if let ExprKind::Apply(_, args) = &expr.kind {
            args.iter().for_each(|arg| collect(arg, atoms));
        }
    })
}

/// One choice of truth values.
struct Case<'e> {
    atoms: &'e [&'e Expr],
    truths: u32,
}

impl Case<'_> {
    fn truth(&self, expr: &Expr) -> Option<bool> {
        match self.resolved(expr).kind {
            ExprKind::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// The expression without Bools and choices that are decided.
    fn resolved(&self, expr: &Expr) -> Expr {
        deep(|| {
            let with = |kind: ExprKind| Expr { kind, sort: expr.sort, span: expr.span };
            if let Some((op, args)) = operation(expr) {
                let truth = |at: usize| args.get(at).and_then(|arg| self.truth(arg));
                let decided = match op {
                    Op::Not => truth(0).map(|a| !a),
                    Op::And => truth(0).zip(truth(1)).map(|(a, b)| a && b),
                    Op::Or => truth(0).zip(truth(1)).map(|(a, b)| a || b),
                    Op::Implies => truth(0).zip(truth(1)).map(|(a, b)| !a || b),
                    Op::If => {
                        if let (Some(chosen), [_, yes, no]) = (truth(0), args) {
                            return self.resolved(if chosen { yes } else { no });
                        }
                        None
                    }
                    _ => None,
                };
                if let Some(truth) = decided {
                    return with(ExprKind::Bool(truth));
                }
            }
            if let Some(at) = self.atoms.iter().position(|atom| same(atom, expr)) {
                return with(ExprKind::Bool(self.truths >> at & 1 == 1));
            }
            match &expr.kind {
                ExprKind::Apply(head, args) => {
                    with(ExprKind::Apply(head.clone(), args.iter().map(|arg| self.resolved(arg)).collect()))
                }
                _ => expr.clone(),
            }
        })
    }
}
