//! The order in which the equations of a mapping are tried: that of mCRL2's default rewriter, jitty.
//!
//! Where two equations fit the same arguments with different results, the order decides. jitty evaluates arguments one
//! after the other and tries each equation as soon as the arguments that it looks at are there: those that look at
//! none first, then, argument by argument, beginning with the one that most equations look at, those for which nothing
//! is missing any more; among these the order is that of the text. An equation looks at an argument where its pattern is
//! not a variable, and where the variable stands elsewhere on the left, in the condition, or twice on the right.

use crate::model::{Clause, Expr, ExprKind, Pattern, VarId};
use gridlock_lts::base::hash::Map;

/// The equations of a mapping in the order in which they are tried.
pub fn ordered(clauses: &[Clause]) -> Vec<&Clause> {
    let arity = |clause: &Clause| clause.groups.iter().map(Vec::len).sum::<usize>();
    let mut arities: Vec<usize> = clauses.iter().map(arity).collect();
    arities.sort_unstable();
    arities.dedup();
    let mut there = vec![false; arities.last().copied().unwrap_or(0)];
    let mut ordered = Vec::new();
    for n in arities {
        let mut waiting: Vec<(&Clause, Vec<usize>)> = clauses
            .iter()
            .filter(|clause| arity(clause) == n)
            .map(|clause| (clause, looked_at(clause).into_iter().filter(|&i| !there[i]).collect()))
            .collect();
        let mut wanted = vec![0; n];
        waiting.iter().flat_map(|(_, arguments)| arguments).for_each(|&i| wanted[i] += 1);
        loop {
            let (ready, rest): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|(_, missing)| missing.is_empty());
            ordered.extend(ready.into_iter().map(|(clause, _)| clause));
            waiting = rest;
            // The first of those that are wanted most.
            let Some(next) = (0..n).rev().max_by_key(|&i| wanted[i]).filter(|_| !waiting.is_empty()) else {
                break;
            };
            wanted[next] = 0;
            there[next] = true;
            waiting.iter_mut().for_each(|(_, missing)| missing.retain(|&i| i != next));
        }
    }
    ordered
}

/// The arguments, counted through all groups, that an equation looks at.
fn looked_at(clause: &Clause) -> Vec<usize> {
    let (mut left, mut condition, mut right) = (Map::default(), Map::default(), Map::default());
    let arguments: Vec<&Pattern> = clause.groups.iter().flatten().collect();
    arguments.iter().for_each(|pattern| in_pattern(pattern, &mut left));
    clause.condition.iter().for_each(|c| in_expr(c, &mut condition));
    in_expr(&clause.right, &mut right);
    let times = |map: &Map<VarId, u32>, var: &VarId| map.get(var).copied().unwrap_or(0);
    let looks = |pattern: &Pattern| match pattern {
        Pattern::Var(var) => times(&left, var) > 1 || times(&condition, var) > 0 || times(&right, var) > 1,
        _ => true,
    };
    (0..arguments.len()).filter(|&i| looks(arguments[i])).collect()
}

/// Counts the variables of a pattern.
fn in_pattern(pattern: &Pattern, times: &mut Map<VarId, u32>) {
    stacker::maybe_grow(64 << 10, 1 << 20, || match pattern {
        Pattern::Var(var) => *times.entry(*var).or_default() += 1,
        Pattern::Ctor(_, parts) => parts.iter().for_each(|p| in_pattern(p, times)),
        Pattern::Cons(a, b) | Pattern::Snoc(a, b) => [a, b].into_iter().for_each(|p| in_pattern(p, times)),
        Pattern::Func(_, groups) => groups.iter().flatten().for_each(|p| in_pattern(p, times)),
        Pattern::Number(_)
        | Pattern::Bool(_)
        | Pattern::EmptyList
        | Pattern::EmptySet
        | Pattern::EmptyBag
        | Pattern::Closed(_) => {}
    })
}

/// Counts the variables of an expression.
fn in_expr(expr: &Expr, times: &mut Map<VarId, u32>) {
    stacker::maybe_grow(64 << 10, 1 << 20, || match &expr.kind {
        ExprKind::Var(var) => *times.entry(*var).or_default() += 1,
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Symbol(_) => {}
        ExprKind::Apply(head, args) => {
            in_expr(head, times);
            args.iter().for_each(|arg| in_expr(arg, times));
        }
        ExprKind::List(items) | ExprKind::Set(items) => items.iter().for_each(|item| in_expr(item, times)),
        ExprKind::Bag(items) => items.iter().for_each(|(item, count)| {
            in_expr(item, times);
            in_expr(count, times);
        }),
        ExprKind::SetComprehension(_, body)
        | ExprKind::BagComprehension(_, body)
        | ExprKind::Forall(_, body)
        | ExprKind::Exists(_, body)
        | ExprKind::Lambda(_, body) => in_expr(body, times),
        ExprKind::Update(f, at, value) => [f, at, value].into_iter().for_each(|part| in_expr(part, times)),
        ExprKind::Where(body, definitions) => {
            definitions.iter().for_each(|(_, definition)| in_expr(definition, times));
            in_expr(body, times);
        }
    })
}
