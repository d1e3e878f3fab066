//! Top-down half of sort inference: the checked expression at the sort its context wants.
//!
//! Runs after `infer` over the same tree. Invariant: what a node wants of its parts follows from candidates that fit,
//! so apart from ambiguity the only new error is a mismatch at the top.

use super::builtin;
use super::infer::key;
use super::overload::{Candidates, Choice};
use super::types::Ty;
use super::{Checker, deep};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{Expr, ExprKind, SortDef, SortId, Symbol};
use crate::syntax::tree::{Binder, Container, Data, DataKind};
use num_bigint::BigInt;
use std::rc::Rc;
use std::sync::Arc;

impl Checker {
    /// Checks a whole expression against the sort its place demands.
    pub(super) fn expression(&mut self, data: &Data, want: SortId) -> Expr {
        self.forget();
        self.infer(data);
        self.elaborate(data, want)
    }

    /// The checked expression at a sort; an arbitrary one if there is an error.
    pub(super) fn elaborate(&mut self, data: &Data, want: SortId) -> Expr {
        let candidates = self.infer(data);
        let failed = self.memo.get(&key(data)).is_some_and(|known| known.failed);
        let placeholder = Expr { kind: ExprKind::Bool(false), sort: want, span: data.span };
        if failed || self.def(want).is_none() {
            return placeholder;
        }
        if self.fit(&candidates, &Ty::Sort(want)).is_none() {
            let diagnostic = self.mismatch(data, want, &candidates);
            self.error(diagnostic);
            return placeholder;
        }
        match deep(|| self.elaborate_node(data, want)) {
            Some(kind) => Expr { kind, sort: want, span: data.span },
            None => placeholder,
        }
    }

    fn elaborate_node(&mut self, data: &Data, want: SortId) -> Option<ExprKind> {
        let vars = self.memo.get(&key(data)).map(|known| known.vars.clone()).unwrap_or_else(|| Rc::new([]));
        Some(match &data.kind {
            DataKind::Name(name) => self.elaborate_name(name, want, data.span)?,
            DataKind::Number(n) => ExprKind::Number(BigInt::from(n.clone())),
            DataKind::Bool(b) => ExprKind::Bool(*b),
            DataKind::List(elems) => {
                let (_, elem) = self.container_of(want)?;
                ExprKind::List(elems.iter().map(|e| self.elaborate(e, elem)).collect())
            }
            DataKind::Set(elems) => {
                let (_, elem) = self.container_of(want)?;
                ExprKind::Set(elems.iter().map(|e| self.elaborate(e, elem)).collect())
            }
            DataKind::Bag(elems) => {
                let (_, elem) = self.container_of(want)?;
                let pair = |(e, n): &(Data, Data)| (self.elaborate(e, elem), self.elaborate(n, SortId::NAT));
                ExprKind::Bag(elems.iter().map(pair).collect())
            }
            DataKind::Comprehension(_, body) => match self.container_of(want)?.0 {
                Container::Bag => {
                    let body = self.in_scope(&vars, |checker| checker.elaborate(body, SortId::NAT));
                    ExprKind::BagComprehension(vars[0], Box::new(body))
                }
                _ => {
                    let body = self.in_scope(&vars, |checker| checker.elaborate(body, SortId::BOOL));
                    ExprKind::SetComprehension(vars[0], Box::new(body))
                }
            },
            DataKind::Apply(head, args) => self.elaborate_application(data, head, args, want)?,
            DataKind::Update(function, at, value) => {
                let (domain, range) = self.function_of(want)?;
                let (domain, range) = (*domain.first()?, range);
                let function = self.elaborate(function, want);
                let (at, value) = (self.elaborate(at, domain), self.elaborate(value, range));
                ExprKind::Update(Box::new(function), Box::new(at), Box::new(value))
            }
            DataKind::Unary(op, arg) => {
                self.elaborate_operator(data.span, builtin::unary(*op), &[arg], want)?
            }
            DataKind::Binary(op, left, right) => {
                self.elaborate_operator(data.span, builtin::binary(*op), &[left, right], want)?
            }
            DataKind::Binder(binder, _, body) => {
                let sort = match binder {
                    Binder::Lambda => self.function_of(want)?.1,
                    _ => SortId::BOOL,
                };
                let body = Box::new(self.in_scope(&vars, |checker| checker.elaborate(body, sort)));
                match binder {
                    Binder::Forall => ExprKind::Forall(vars.to_vec(), body),
                    Binder::Exists => ExprKind::Exists(vars.to_vec(), body),
                    Binder::Lambda => ExprKind::Lambda(vars.to_vec(), body),
                }
            }
            DataKind::Where(body, definitions) => {
                let pairs: Vec<_> = vars.iter().zip(definitions).collect();
                let definitions = pairs
                    .into_iter()
                    .map(|(&var, (_, definition))| {
                        let sort = self.model.vars[var.ix()].sort;
                        (var, self.elaborate(definition, sort))
                    })
                    .collect();
                let body = self.in_scope(&vars, |checker| checker.elaborate(body, want));
                ExprKind::Where(Box::new(body), definitions)
            }
        })
    }

    fn elaborate_name(&mut self, name: &Arc<str>, want: SortId, span: Span) -> Option<ExprKind> {
        if let Some(var) = self.variable(name) {
            return Some(ExprKind::Var(var));
        }
        let mut choices = Vec::new();
        for entry in self.symbols.get(name).map_or(&[][..], |entries| entries) {
            let result = self.ty(entry.sort);
            choices.push(Choice { symbol: entry.symbol, params: Vec::new(), result, cost: 0 });
        }
        if let Some(builtin) = builtin::named(name)
            && let Some(signature) = self.signature_for(builtin, want)
        {
            let symbol = Symbol::Op(signature.op);
            choices.push(Choice { symbol, params: Vec::new(), result: Ty::Sort(want), cost: 1 });
        }
        let choice = self.pick(choices, want, span, name, &[])?;
        Some(ExprKind::Symbol(choice.symbol))
    }

    fn elaborate_operator(
        &mut self,
        span: Span,
        operator: &'static builtin::Builtin,
        args: &[&Data],
        want: SortId,
    ) -> Option<ExprKind> {
        let candidates: Vec<Candidates> = args.iter().map(|arg| self.infer(arg)).collect();
        let choices = self.builtin_choices(operator, &candidates, Some(want));
        let choice = self.pick(choices, want, span, operator.name, &candidates)?;
        Some(self.apply_choice(choice, span, args.iter().copied(), want))
    }

    fn elaborate_application(
        &mut self,
        data: &Data,
        head: &Data,
        args: &[Data],
        want: SortId,
    ) -> Option<ExprKind> {
        let candidates: Vec<Candidates> = args.iter().map(|arg| self.infer(arg)).collect();
        if let Some(name) = self.applied_symbol(head) {
            let mut choices = self.declared_choices(name, &candidates);
            if let Some(builtin) = builtin::named(name) {
                choices.extend(self.builtin_choices(builtin, &candidates, Some(want)));
            }
            let choice = self.pick(choices, want, data.span, name, &candidates)?;
            return Some(self.apply_choice(choice, head.span, args.iter(), want));
        }
        let heads = self.infer(head);
        let mut best: Option<(u32, Vec<SortId>, Ty)> = None;
        for candidate in heads.iter() {
            let Some((domain, range)) = self.function_ty(&candidate.ty) else { continue };
            let Some(result) = self.cost(&range, &Ty::Sort(want)) else { continue };
            let Some(cost) = self.fit_all(&candidates, &domain) else { continue };
            let cost = cost.saturating_add(result).saturating_add(candidate.cost);
            if best.as_ref().is_none_or(|(least, _, _)| cost < *least) {
                best = Some((cost, domain, range));
            }
        }
        let (_, domain, range) = best?;
        let range = match range {
            Ty::Sort(range) => range,
            _ => want,
        };
        let sort = self.intern(SortDef::Function(domain.clone(), range));
        let head = self.elaborate(head, sort);
        let args = args.iter().zip(domain).map(|(arg, sort)| self.elaborate(arg, sort)).collect();
        Some(ExprKind::Apply(Box::new(head), args))
    }

    fn apply_choice<'a>(
        &mut self,
        choice: Choice,
        span: Span,
        args: impl Iterator<Item = &'a Data>,
        want: SortId,
    ) -> ExprKind {
        let args = args.zip(&choice.params).map(|(arg, sort)| self.elaborate(arg, *sort)).collect();
        let range = match choice.result {
            Ty::Sort(range) => range,
            _ => want,
        };
        let sort = self.function_sort(choice.params, range);
        let head = Expr { kind: ExprKind::Symbol(choice.symbol), sort, span };
        ExprKind::Apply(Box::new(head), args)
    }

    /// The cheapest choice that fits. A declared function wins over a built-in (declared ones come first); otherwise,
    /// between two that are equally cheap there is no telling which is meant.
    fn pick(
        &mut self,
        choices: Vec<Choice>,
        want: SortId,
        span: Span,
        name: &str,
        args: &[Candidates],
    ) -> Option<Choice> {
        let mut best: Option<(u32, Choice)> = None;
        let mut tie: Option<Choice> = None;
        for choice in choices {
            let Some(cost) = self.cost(&choice.result, &Ty::Sort(want)) else { continue };
            let cost = cost.saturating_add(choice.cost);
            match &best {
                Some((least, _)) if cost > *least => {}
                Some((least, first)) if cost == *least => {
                    let built_in = |c: &Choice| matches!(c.symbol, Symbol::Op(_));
                    // Two readings of one operator differ only if its arguments do.
                    let same_kind = built_in(first) == built_in(&choice);
                    if same_kind && (!built_in(first) || args.iter().any(|arg| arg.len() > 1)) {
                        tie = Some(choice);
                    }
                }
                _ => {
                    best = Some((cost, choice));
                    tie = None;
                }
            }
        }
        let (_, best) = best?;
        let known = args.iter().all(|arg| arg.iter().all(|c| !matches!(c.ty, Ty::Unknown)));
        if let Some(tie) = tie
            && known
        {
            let both: Vec<String> = [&best, &tie].into_iter().map(|c| self.choice_name(name, c)).collect();
            let message = format!("'{name}' is ambiguous here");
            self.error(Diagnostic::new(span, message).help(format!("it could be {}", both.join(" or "))));
            return None;
        }
        Some(best)
    }

    fn choice_name(&mut self, name: &str, choice: &Choice) -> String {
        let range = self.concrete(&choice.result);
        let sort = self.function_sort(choice.params.clone(), range);
        format!("'{name}: {}'", self.model.sort_name(sort))
    }
}
