//! Left-hand sides: checked expressions to patterns.
//!
//! mCRL2 matches terms in normal form, so a pattern can only be made of what normal forms are made of: constructors,
//! numbers, list cells, mappings that do not reduce. Other operators with variables below them can never match a value.
//! Specifications have equations with such patterns nevertheless, as in `f(if(c, x, y)) = if(c, f(x), f(y))`, to help mCRL2
//! rewrite open terms; here they have no effect. Only `f(n + 1)` is refused: its author means an equation for `f(n)` with
//! `n - 1`.

use super::{Checker, deep};
use crate::diagnostic::Diagnostic;
use crate::model::{Expr, ExprKind, Op, Pattern, SortId, Symbol, VarId};
use gridlock_lts::base::hash::Set;

/// A variable that stands where a larger number sort is expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrowed {
    pub var: VarId,
    /// The sort of its place.
    pub from: SortId,
}

/// What the patterns of an equation bind.
#[derive(Default, Debug)]
pub(super) struct Bound {
    pub vars: Set<VarId>,
    /// In the order of the text, each variable once.
    pub narrowed: Vec<Narrowed>,
    /// Whether one of the patterns can match no value.
    pub never: bool,
}

impl Checker {
    /// The pattern an argument of a left-hand side stands for; `None` with an error if there is none.
    pub(super) fn pattern(&mut self, expr: Expr, bound: &mut Bound) -> Option<Pattern> {
        let sort = expr.sort;
        self.pattern_at(expr, sort, bound)
    }

    /// The same for a place of this sort, which is larger than the expression's below a conversion.
    fn pattern_at(&mut self, expr: Expr, place: SortId, bound: &mut Bound) -> Option<Pattern> {
        deep(|| {
            let Expr { kind, sort, span } = expr;
            match kind {
                ExprKind::Var(var) => {
                    let own = self.model.vars[var.ix()].sort;
                    let narrowed = own.is_number() && own < place && place.is_number();
                    if narrowed && !bound.narrowed.iter().any(|n| n.var == var && n.from >= place) {
                        bound.narrowed.push(Narrowed { var, from: place });
                    }
                    bound.vars.insert(var);
                    Some(Pattern::Var(var))
                }
                ExprKind::Number(n) => Some(Pattern::Number(n)),
                ExprKind::Bool(b) => Some(Pattern::Bool(b)),
                ExprKind::Symbol(Symbol::Ctor(ctor))
                    if self.model.constructors[ctor.ix()].fields.is_empty() =>
                {
                    Some(Pattern::Ctor(ctor, Vec::new()))
                }
                ExprKind::List(elems) => self.list_pattern(elems, bound),
                ExprKind::Set(elems) if elems.is_empty() => Some(Pattern::EmptySet),
                ExprKind::Bag(elems) if elems.is_empty() => Some(Pattern::EmptyBag),
                ExprKind::Apply(head, args) => self.application_pattern(
                    Expr { kind: ExprKind::Apply(head, args), sort, span },
                    place,
                    bound,
                ),
                kind => self.other_pattern(Expr { kind, sort, span }, bound),
            }
        })
    }

    fn list_pattern(&mut self, elems: Vec<Expr>, bound: &mut Bound) -> Option<Pattern> {
        let elems: Option<Vec<Pattern>> = elems.into_iter().map(|elem| self.pattern(elem, bound)).collect();
        let cons = |tail, elem| Pattern::Cons(Box::new(elem), Box::new(tail));
        Some(elems?.into_iter().rev().fold(Pattern::EmptyList, cons))
    }

    fn application_pattern(&mut self, expr: Expr, place: SortId, bound: &mut Bound) -> Option<Pattern> {
        let symbol = match &expr.kind {
            ExprKind::Apply(head, args) => match (&head.kind, &args[..]) {
                (ExprKind::Symbol(Symbol::Op(Op::Negate)), [Expr { kind: ExprKind::Number(n), .. }]) => {
                    return Some(Pattern::Number(-n));
                }
                (ExprKind::Symbol(symbol), _) => Some(*symbol),
                _ => None,
            },
            _ => None,
        };
        let mapping = innermost_head(&expr);
        match (symbol, expr.kind) {
            (Some(Symbol::Ctor(ctor)), ExprKind::Apply(_, args)) => {
                let args: Option<Vec<_>> = args.into_iter().map(|arg| self.pattern(arg, bound)).collect();
                Some(Pattern::Ctor(ctor, args?))
            }
            (Some(Symbol::Op(op @ (Op::Cons | Op::Snoc))), ExprKind::Apply(_, args)) => {
                let mut args = args.into_iter().map(|arg| self.pattern(arg, bound));
                let (first, second) = (args.next()??, args.next()??);
                let (first, second) = (Box::new(first), Box::new(second));
                Some(if op == Op::Cons { Pattern::Cons(first, second) } else { Pattern::Snoc(first, second) })
            }
            // `Pos2Nat(p)` and its kin are the constructors of the larger number sorts.
            (Some(Symbol::Op(op)), ExprKind::Apply(_, mut args)) if is_upcast(op, &args) => {
                let arg = args.pop()?;
                self.pattern_at(arg, place, bound)
            }
            (_, kind) => {
                let expr = Expr { kind, ..expr };
                match mapping {
                    Some(Symbol::Func(function)) if !is_closed(&expr) => {
                        let mut groups = Vec::new();
                        let mut head = expr;
                        while let ExprKind::Apply(inner, args) = head.kind {
                            let args: Option<Vec<_>> =
                                args.into_iter().map(|arg| self.pattern(arg, bound)).collect();
                            groups.push(args?);
                            head = *inner;
                        }
                        groups.reverse();
                        Some(Pattern::Func(function, groups))
                    }
                    _ => self.other_pattern(expr, bound),
                }
            }
        }
    }

    /// A closed expression is compared by value; with variables in it, it never matches.
    fn other_pattern(&mut self, expr: Expr, bound: &mut Bound) -> Option<Pattern> {
        let mut free = Vec::new();
        free_variables(&expr, &mut free);
        if free.is_empty() {
            return Some(Pattern::Closed(expr));
        }
        if let Some(Symbol::Op(Op::Add | Op::Succ)) = innermost_head(&expr) {
            let message = "this can never match: a number is a value, not a sum";
            self.error(Diagnostic::new(expr.span, message).help(
                "use a variable here and a condition, as in '(n > 0) -> f(n) = … f(Int2Nat(n - 1)) …'",
            ));
            return None;
        }
        bound.vars.extend(free);
        bound.never = true;
        Some(Pattern::Closed(expr))
    }
}

/// The symbol at the bottom of `f(x)(y)…`.
fn innermost_head(expr: &Expr) -> Option<Symbol> {
    let mut head = expr;
    while let ExprKind::Apply(inner, _) = &head.kind {
        head = inner;
    }
    match head.kind {
        ExprKind::Symbol(symbol) => Some(symbol),
        _ => None,
    }
}

fn is_upcast(op: Op, args: &[Expr]) -> bool {
    let to = match op {
        Op::ToNat => SortId::NAT,
        Op::ToInt => SortId::INT,
        Op::ToReal => SortId::REAL,
        _ => return false,
    };
    args.len() == 1 && args[0].sort < to
}

/// Whether no variable of the outside occurs.
fn is_closed(expr: &Expr) -> bool {
    let mut free = Vec::new();
    free_variables(expr, &mut free);
    free.is_empty()
}

/// Adds the variables that occur in the expression and are not bound in it, each once.
pub(super) fn free_variables(expr: &Expr, free: &mut Vec<VarId>) {
    let mut known: Set<VarId> = free.iter().copied().collect();
    collect(expr, &mut known, free);
}

/// Every binding has variables of its own, so a set of all that were bound so far is enough.
fn collect(expr: &Expr, known: &mut Set<VarId>, free: &mut Vec<VarId>) {
    deep(|| match &expr.kind {
        ExprKind::Var(var) => {
            if known.insert(*var) {
                free.push(*var);
            }
        }
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Symbol(_) => {}
        ExprKind::Apply(head, args) => {
            collect(head, known, free);
            args.iter().for_each(|arg| collect(arg, known, free));
        }
        ExprKind::List(elems) | ExprKind::Set(elems) => {
            elems.iter().for_each(|elem| collect(elem, known, free));
        }
        ExprKind::Bag(elems) => elems.iter().for_each(|(elem, count)| {
            collect(elem, known, free);
            collect(count, known, free);
        }),
        ExprKind::SetComprehension(var, body) | ExprKind::BagComprehension(var, body) => {
            known.insert(*var);
            collect(body, known, free);
        }
        ExprKind::Update(function, at, value) => {
            [function, at, value].into_iter().for_each(|part| collect(part, known, free));
        }
        ExprKind::Forall(vars, body) | ExprKind::Exists(vars, body) | ExprKind::Lambda(vars, body) => {
            known.extend(vars);
            collect(body, known, free);
        }
        ExprKind::Where(body, definitions) => {
            for (var, definition) in definitions {
                known.insert(*var);
                collect(definition, known, free);
            }
            collect(body, known, free);
        }
    })
}
