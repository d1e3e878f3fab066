//! Equations: to clauses of the mapping at the head of the left-hand side.
//!
//! The head may be a built-in operator: `head([]) = none`, `low < high = true`. The built-in meaning of the operator stays,
//! and the equations apply where it gives no value. Only for comparisons on sorts of a `cons` section, for which mCRL2 has
//! no rules of its own, do the equations come first.
//!
//! Invariant: every variable of a clause's condition or right-hand side occurs in one of its patterns.

use super::Checker;
use super::builtin::generic_order;
use super::equality::{holds_anyway, operation};
use super::infer::key;
use super::patterns::{Bound, Narrowed, free_variables};
use super::truth::{follows, is_logic};
use super::types::{Candidate, Ty};
use crate::data::print::symbol_text;
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{Builtin, Clause, Expr, ExprKind, FuncId, Function, Op, SortId, Symbol, VarId};
use crate::syntax::tree;
use crate::syntax::tree::DataKind;
use gridlock_lts::base::hash::{Map, Set};
use std::sync::Arc;

/// The names at the heads of the left-hand sides.
pub(super) fn heads(sections: &[tree::EquationSection]) -> Set<Arc<str>> {
    let mut heads = Set::default();
    for equation in sections.iter().flat_map(|section| &section.equations) {
        let mut head = &equation.left;
        while let DataKind::Apply(inner, _) = &head.kind {
            head = inner;
        }
        if let DataKind::Name(name) = &head.kind {
            heads.insert(name.clone());
        }
    }
    heads
}

impl Checker {
    /// All equations.
    pub(super) fn check_equations(&mut self, sections: &[tree::EquationSection]) {
        for section in sections {
            let vars = self.equation_vars(&section.vars);
            self.begin_equations();
            self.in_scope(&vars, |checker| {
                for equation in &section.equations {
                    checker.begin_equation(&equation.left);
                    checker.check_equation(equation);
                    checker.end_equation();
                }
            });
        }
    }

    /// The variables of a `var` section. A name may stand there twice as long as its sort is the same.
    fn equation_vars(&mut self, decls: &[tree::VarDecl]) -> Vec<VarId> {
        let mut seen: Map<Arc<str>, VarId> = Map::default();
        let mut vars = Vec::new();
        for decl in decls {
            let sort = self.resolve(&decl.sort);
            if let Some(first) = seen.get(&decl.name.name) {
                let before = self.model.vars[first.ix()].sort;
                if before != sort && before != SortId::ERROR && sort != SortId::ERROR {
                    let message = format!(
                        "variable '{}' is declared as {} and as {}",
                        decl.name.name,
                        self.model.sort_name(before),
                        self.model.sort_name(sort)
                    );
                    self.error(
                        Diagnostic::new(decl.name.span, message)
                            .help("start a new 'var' section before the equations that need the other sort"),
                    );
                }
                continue;
            }
            let var = self.new_var(decl.name.name.clone(), sort, decl.name.span);
            seen.insert(decl.name.name.clone(), var);
            vars.push(var);
        }
        vars
    }

    fn check_equation(&mut self, equation: &tree::Equation) {
        let errors = self.errors.len();
        self.forget();
        let left = self.infer(&equation.left);
        let right = self.infer(&equation.right);
        let condition = equation.condition.as_ref().map(|c| {
            self.infer(c);
            self.elaborate(c, SortId::BOOL)
        });
        let unknown = left.iter().any(|candidate| matches!(candidate.ty, Ty::Unknown));
        if self.memo.get(&key(&equation.left)).is_some_and(|known| known.failed) {
            return;
        }
        let sort = match unknown {
            false => self.equation_sort(&left, &right),
            // Nothing on the left says which sort it is, as in `head([]) = 0`.
            true if self.errors.is_empty() => match right.first().map(|candidate| &candidate.ty) {
                None | Some(Ty::Unknown) => {
                    let message = "nothing says which sort the sides of this equation have";
                    return self.error(
                        Diagnostic::new(equation.span, message).help("write it for a mapping of your own"),
                    );
                }
                Some(ty) => Some(self.concrete(&ty.clone())),
            },
            // It follows from another error.
            true => return,
        };
        let Some(sort) = sort else {
            let found = self.concrete(&left[0].ty);
            let diagnostic = self.mismatch(&equation.right, found, &right);
            return self.error(match diagnostic.help {
                Some(_) => diagnostic,
                None => diagnostic.help("both sides of an equation must have the same sort"),
            });
        };
        let left = self.elaborate(&equation.left, sort);
        let right = self.elaborate(&equation.right, sort);
        if self.errors.len() > errors {
            return;
        }
        if let Some((function, clause)) = self.clause(equation, left, condition, right) {
            if let Some(problem) = self.not_its_own(function, equation.left.span) {
                return self.error(problem);
            }
            self.model.functions[function.ix()].clauses.push(clause);
        }
    }

    /// The sort of an equation: one the left-hand side can have as it stands and the right-hand side can be upcast to.
    fn equation_sort(&mut self, left: &[Candidate], right: &[Candidate]) -> Option<SortId> {
        let mut best: Option<(u32, SortId)> = None;
        for candidate in left {
            let sort = self.concrete(&candidate.ty);
            if let Some(cost) = self.fit(right, &Ty::Sort(sort)) {
                let cost = cost.saturating_add(candidate.cost);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, sort));
                }
            }
        }
        best.map(|(_, sort)| sort)
    }

    /// The clause of an equation; `None` if there is an error, or if it has no effect.
    fn clause(
        &mut self,
        equation: &tree::Equation,
        left: Expr,
        condition: Option<Expr>,
        right: Expr,
    ) -> Option<(FuncId, Clause)> {
        if holds_anyway(&left, &right) {
            return None;
        }
        if let Some((op, _)) = operation(&left)
            && is_logic(Symbol::Op(op))
        {
            if !follows(&left, condition.as_ref(), &right) {
                let name = symbol_text(&self.model, Symbol::Op(op));
                let message = format!("this equation gives '{name}' another meaning than it has");
                self.error(Diagnostic::new(equation.span, message).help(
                    "what logical operators and 'if' yield is fixed for all truth values; remove the equation, or \
                     declare a mapping of your own for it",
                ));
            }
            return None;
        }
        let mut args: Vec<Vec<Expr>> = Vec::new();
        let mut head = left;
        while let ExprKind::Apply(inner, group) = head.kind {
            args.push(group);
            head = *inner;
        }
        args.reverse();
        let head_of = match (&head.kind, &args[..]) {
            (ExprKind::Symbol(Symbol::Func(function)), _) => Some(*function),
            (ExprKind::Symbol(Symbol::Op(Op::Cons)), _) => None,
            (ExprKind::Symbol(symbol @ (Symbol::Op(_) | Symbol::Recognise(_))), [group]) => {
                let domain = group.iter().map(|arg| arg.sort).collect();
                Some(self.operator(*symbol, domain, head.sort, equation))
            }
            _ => None,
        };
        let Some(function) = head_of else {
            let diagnostic = self.bad_head(equation, &head);
            self.error(diagnostic);
            return None;
        };
        let mut bound = Bound::default();
        let mut groups = Vec::with_capacity(args.len());
        for group in args {
            let patterns: Option<Vec<_>> =
                group.into_iter().map(|arg| self.pattern(arg, &mut bound)).collect();
            groups.push(patterns?);
        }
        let mut free: Vec<VarId> = Vec::new();
        for side in condition.iter().chain([&right]) {
            free_variables(side, &mut free);
        }
        free.retain(|var| !bound.vars.contains(var));
        if !free.is_empty() {
            let names: Vec<String> =
                free.iter().map(|var| format!("'{}'", self.model.vars[var.ix()].name)).collect();
            let message =
                format!("{} on the right or in the condition, but not on the left", names.join(", "));
            self.error(
                Diagnostic::new(equation.span, message)
                    .help("every variable of an equation must occur in the arguments on its left-hand side"),
            );
            return None;
        }
        if bound.never {
            self.model.idle.push(equation.span);
            return None;
        }
        let condition = self.guarded(&bound.narrowed, condition, equation);
        Some((function, Clause { groups, condition, right, span: equation.span }))
    }

    /// The mapping that stands for a built-in operator on arguments of these sorts.
    fn operator(
        &mut self,
        symbol: Symbol,
        domain: Vec<SortId>,
        sort: SortId,
        equation: &tree::Equation,
    ) -> FuncId {
        let is_this = |f: &Function| {
            f.builtin.as_ref().is_some_and(|builtin| builtin.symbol == symbol && builtin.domain == domain)
        };
        if let Some(at) = self.model.functions.iter().position(is_this) {
            return FuncId(at as u32);
        }
        let compares =
            matches!(symbol, Symbol::Op(op) if op == Op::Equal || op == Op::NotEqual || generic_order(op));
        let equations_first = compares && self.cons_sorts.contains(&domain[0]);
        let name = symbol_text(&self.model, symbol).into();
        let builtin = Some(Builtin { symbol, domain, equations_first });
        self.model.functions.push(Function { name, sort, clauses: Vec::new(), span: equation.span, builtin });
        FuncId(self.model.functions.len() as u32 - 1)
    }

    fn bad_head(&self, equation: &tree::Equation, head: &Expr) -> Diagnostic {
        let what = match &head.kind {
            ExprKind::Var(var) => {
                let name = &self.model.vars[var.ix()].name;
                return Diagnostic::new(
                    equation.left.span,
                    format!("the left-hand side of an equation cannot start with the variable '{name}'"),
                );
            }
            ExprKind::Symbol(Symbol::Ctor(c)) => {
                let name = &self.model.constructors[c.ix()].name;
                return Diagnostic::new(
                    equation.left.span,
                    format!(
                        "equations for the constructor '{name}' are not supported: values that are built differently \
                         are different"
                    ),
                )
                .help(format!(
                    "declare a mapping under 'map' that yields such values, give it this equation, and use it where \
                     '{name}' stands for more than itself"
                ));
            }
            ExprKind::Symbol(Symbol::Op(Op::Cons)) => {
                return Diagnostic::new(
                    equation.left.span,
                    "equations for '|>' are not supported: it builds lists, and lists that are built differently are \
                     different",
                )
                .help("declare a mapping under 'map' that adds an element as you want it, and use it for '|>'");
            }
            ExprKind::Symbol(Symbol::Project(p)) => {
                format!("the projection '{}'", self.model.projections[p.ix()].name)
            }
            _ => "values of built-in sorts".to_owned(),
        };
        Diagnostic::new(equation.left.span, format!("equations for {what} are not supported"))
            .help("the left-hand side must be a mapping applied to patterns; declare one under 'map'")
    }

    /// The condition with the sorts of narrowed variables in front: where a parameter is an Int and the equation's
    /// variable a Nat, the equation is only for the natural numbers.
    fn guarded(
        &mut self,
        narrowed: &[Narrowed],
        condition: Option<Expr>,
        equation: &tree::Equation,
    ) -> Option<Expr> {
        let span = equation.left.span;
        let number = |n: u32| Expr { kind: ExprKind::Number(n.into()), sort: SortId::REAL, span };
        let mut guards: Vec<Expr> = Vec::new();
        for &Narrowed { var, from } in narrowed {
            let value = || Expr { kind: ExprKind::Var(var), sort: SortId::REAL, span };
            if from == SortId::REAL {
                let floor = self.apply_op(Op::Floor, vec![value()], SortId::INT, span);
                guards.push(self.apply_op(Op::Equal, vec![floor, value()], SortId::BOOL, span));
            }
            let least = match self.model.vars[var.ix()].sort {
                SortId::POS => 1,
                SortId::NAT => 0,
                _ => continue,
            };
            let args = vec![value(), number(least)];
            guards.push(self.apply_op(Op::GreaterEqual, args, SortId::BOOL, span));
        }
        guards.into_iter().rev().fold(condition, |rest, guard| {
            Some(match rest {
                None => guard,
                Some(rest) => self.apply_op(Op::And, vec![guard, rest], SortId::BOOL, span),
            })
        })
    }

    fn apply_op(&mut self, op: Op, args: Vec<Expr>, sort: SortId, span: Span) -> Expr {
        let own_sort = self.function_sort(args.iter().map(|arg| arg.sort).collect(), sort);
        let head = Expr { kind: ExprKind::Symbol(Symbol::Op(op)), sort: own_sort, span };
        Expr { kind: ExprKind::Apply(Box::new(head), args), sort, span }
    }
}
