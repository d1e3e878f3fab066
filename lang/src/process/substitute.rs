//! Substitution of expressions for variables, and the free variables of processes.
//!
//! Used to unfold a process call under a `sum` whose variables are not known yet. Every binder is a variable of its own
//! in the model, and what is put in has no variable that a binder inside an expression binds, so nothing is captured.

use crate::model::{Expr, ExprKind, Proc, ProcKind, VarId};
use gridlock_lts::base::hash::Map;

/// What to replace.
pub type Substitution = Map<VarId, Expr>;

/// The expression with the variables replaced.
pub fn in_expr(e: &Expr, map: &Substitution) -> Expr {
    stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
        let one = |e: &Expr| Box::new(in_expr(e, map));
        let all = |es: &[Expr]| es.iter().map(|e| in_expr(e, map)).collect::<Vec<_>>();
        let kind = match &e.kind {
            ExprKind::Var(v) => match map.get(v) {
                Some(to) => return to.clone(),
                None => ExprKind::Var(*v),
            },
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Symbol(_) => e.kind.clone(),
            ExprKind::Apply(h, args) => ExprKind::Apply(one(h), all(args)),
            ExprKind::List(xs) => ExprKind::List(all(xs)),
            ExprKind::Set(xs) => ExprKind::Set(all(xs)),
            ExprKind::Bag(xs) => {
                ExprKind::Bag(xs.iter().map(|(x, n)| (in_expr(x, map), in_expr(n, map))).collect())
            }
            ExprKind::SetComprehension(v, b) => ExprKind::SetComprehension(*v, one(b)),
            ExprKind::BagComprehension(v, b) => ExprKind::BagComprehension(*v, one(b)),
            ExprKind::Update(f, x, y) => ExprKind::Update(one(f), one(x), one(y)),
            ExprKind::Forall(vs, b) => ExprKind::Forall(vs.clone(), one(b)),
            ExprKind::Exists(vs, b) => ExprKind::Exists(vs.clone(), one(b)),
            ExprKind::Lambda(vs, b) => ExprKind::Lambda(vs.clone(), one(b)),
            ExprKind::Where(b, defs) => {
                ExprKind::Where(one(b), defs.iter().map(|(v, d)| (*v, in_expr(d, map))).collect())
            }
        };
        Expr { kind, sort: e.sort, span: e.span }
    })
}

/// The free variables of a process, in the order of their first occurrence, each once.
pub fn free_in_proc(p: &Proc) -> Vec<VarId> {
    let mut out = Vec::new();
    collect(p, &mut Vec::new(), &mut out);
    let mut seen = gridlock_lts::base::hash::Set::default();
    out.retain(|v| seen.insert(*v));
    out
}

fn collect(p: &Proc, bound: &mut Vec<VarId>, out: &mut Vec<VarId>) {
    stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
        let exprs = |es: &mut dyn Iterator<Item = &Expr>, bound: &[VarId], out: &mut Vec<VarId>| {
            for e in es {
                let mut free = Vec::new();
                crate::data::compile::free_vars(e, &mut free);
                out.extend(free.into_iter().filter(|v| !bound.contains(v)));
            }
        };
        match &p.kind {
            ProcKind::Multi(acts) => exprs(&mut acts.iter().flat_map(|a| a.args.iter()), bound, out),
            ProcKind::Delta => {}
            ProcKind::Call(_, args) => exprs(&mut args.iter(), bound, out),
            ProcKind::Choice(ps) | ProcKind::Seq(ps) | ProcKind::Parallel(ps) => {
                ps.iter().for_each(|p| collect(p, bound, out));
            }
            ProcKind::LeftMerge(a, b) | ProcKind::Sync(a, b) => {
                collect(a, bound, out);
                collect(b, bound, out);
            }
            ProcKind::Sum(vs, b) => {
                let before = bound.len();
                bound.extend(vs);
                collect(b, bound, out);
                bound.truncate(before);
            }
            ProcKind::Condition(c, p, q) => {
                exprs(&mut std::iter::once(&**c), bound, out);
                collect(p, bound, out);
                if let Some(q) = q {
                    collect(q, bound, out);
                }
            }
            ProcKind::Block(_, p) | ProcKind::Hide(_, p) => collect(p, bound, out),
            ProcKind::Rename(_, p) => collect(p, bound, out),
            ProcKind::Allow(_, p) => collect(p, bound, out),
            ProcKind::Comm(_, p) => collect(p, bound, out),
        }
    })
}
