//! Bottom-up half of sort inference: which sorts can this expression have?
//!
//! Every node is looked at once and remembered by its address; the top-down half (`elaborate`) reads what was
//! remembered. Invariant: a node whose own error has been reported is marked as failed and has the sort
//! [`Ty::Unknown`], which fits everywhere, so that no second error follows from the first.

use super::builtin;
use super::overload::{Candidates, Choice};
use super::types::{Candidate, Ty};
use super::{Checker, MAX_READINGS, deep};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{SortDef, SortId, VarId};
use crate::syntax::tree::{Binder, Container, Data, DataKind, Ident};
use num_traits::Zero;
use std::rc::Rc;
use std::sync::Arc;

/// What inference remembers of a node.
#[derive(Clone, Debug)]
pub(super) struct Inferred {
    pub candidates: Candidates,
    pub failed: bool,
    /// The variables the node binds.
    pub vars: Rc<[VarId]>,
}

/// The address of a node serves as its name while the tree is borrowed.
pub(super) fn key(data: &Data) -> usize {
    std::ptr::from_ref(data) as usize
}

impl Checker {
    /// All sorts an expression can have.
    pub(super) fn infer(&mut self, data: &Data) -> Candidates {
        if let Some(known) = self.memo.get(&key(data)) {
            return known.candidates.clone();
        }
        let inferred = deep(|| self.infer_node(data)).unwrap_or_else(|()| Inferred {
            candidates: Rc::new([Candidate::free(Ty::Unknown)]),
            failed: true,
            vars: Rc::new([]),
        });
        let candidates = inferred.candidates.clone();
        self.memo.insert(key(data), inferred);
        candidates
    }

    /// Forgets the nodes of the last expression, whose addresses may be used again.
    pub(super) fn forget(&mut self) {
        self.memo.clear();
        self.definition_types.clear();
    }

    fn infer_node(&mut self, data: &Data) -> Result<Inferred, ()> {
        let mut vars: Vec<VarId> = Vec::new();
        let found: Vec<Candidate> = match &data.kind {
            DataKind::Name(name) => self.infer_name(name, data.span)?,
            DataKind::Number(n) => {
                vec![Candidate::free(Ty::Sort(if n.is_zero() { SortId::NAT } else { SortId::POS }))]
            }
            DataKind::Bool(_) => vec![Candidate::free(Ty::Sort(SortId::BOOL))],
            DataKind::List(elems) => self.infer_elements(Container::List, elems.iter())?,
            DataKind::Set(elems) => self.infer_elements(Container::FSet, elems.iter())?,
            DataKind::Bag(elems) => {
                for (_, count) in elems {
                    self.require(count, SortId::NAT);
                }
                self.infer_elements(Container::FBag, elems.iter().map(|(elem, _)| elem))?
            }
            DataKind::Comprehension(var, body) => {
                vars = self.declare_vars(std::slice::from_ref(var));
                self.infer_comprehension(vars[0], body)?
            }
            DataKind::Apply(head, args) => self.infer_application(data, head, args)?,
            DataKind::Update(function, at, value) => self.infer_update(function, at, value)?,
            DataKind::Unary(op, arg) => self.infer_operator(data, builtin::unary(*op), &[arg])?,
            DataKind::Binary(op, left, right) => {
                self.infer_operator(data, builtin::binary(*op), &[left, right])?
            }
            DataKind::Binder(binder, decls, body) => {
                vars = self.declare_vars(decls);
                self.infer_binder(*binder, &vars, body)
            }
            DataKind::Where(body, definitions) => {
                vars = self.infer_definitions(definitions);
                self.in_scope(&vars, |checker| checker.infer(body)).to_vec()
            }
        };
        let candidates = self.prune(found);
        if candidates.len() > MAX_READINGS && !matches!(data.kind, DataKind::Name(_)) {
            let message = format!("this can have more than {MAX_READINGS} different sorts");
            let help = "give some of the overloaded functions in it names of their own";
            return self.fail(Diagnostic::new(data.span, message).help(help));
        }
        Ok(Inferred { candidates, failed: false, vars: vars.into() })
    }

    /// Runs with these variables in scope.
    pub(super) fn in_scope<R>(&mut self, vars: &[VarId], run: impl FnOnce(&mut Self) -> R) -> R {
        for &var in vars {
            let name = self.model.vars[var.ix()].name.clone();
            self.scope.entry(name).or_default().push(var);
        }
        let result = run(self);
        for &var in vars {
            if let Some(stack) = self.scope.get_mut(&self.model.vars[var.ix()].name) {
                stack.pop();
            }
        }
        result
    }

    /// The variable a name stands for here.
    pub(super) fn variable(&self, name: &str) -> Option<VarId> {
        self.scope.get(name)?.last().copied()
    }

    /// The type of a variable: its sort, or for a variable of `whr` what its definition can become.
    pub(super) fn variable_ty(&self, var: VarId) -> Ty {
        match self.definition_types.get(&var) {
            Some(ty) => ty.clone(),
            None => self.ty(self.model.vars[var.ix()].sort),
        }
    }

    fn infer_name(&mut self, name: &Arc<str>, span: Span) -> Result<Vec<Candidate>, ()> {
        if let Some(var) = self.variable(name) {
            return Ok(vec![Candidate::free(self.variable_ty(var))]);
        }
        let mut found = Vec::new();
        for entry in self.symbols.get(name).map_or(&[][..], |entries| entries) {
            // Without an application a constant is likelier meant than a function.
            let cost = u32::from(self.function_of(entry.sort).is_some());
            found.push(Candidate { ty: self.ty(entry.sort), cost });
        }
        if let Some(builtin) = builtin::named(name) {
            found.push(Candidate { ty: Ty::Builtin(builtin), cost: 1 });
        }
        if found.is_empty() {
            return match self.unknown_name(name, span) {
                Some(diagnostic) => self.fail(diagnostic),
                None => Err(()),
            };
        }
        Ok(found)
    }

    pub(super) fn fail<T>(&mut self, diagnostic: Diagnostic) -> Result<T, ()> {
        self.error(diagnostic);
        Err(())
    }

    /// Infers and reports if the expression cannot have this sort.
    fn require(&mut self, data: &Data, sort: SortId) -> bool {
        let candidates = self.infer(data);
        if self.fit(&candidates, &Ty::Sort(sort)).is_some() {
            return true;
        }
        let diagnostic = self.mismatch(data, sort, &candidates);
        self.error(diagnostic);
        false
    }

    /// The candidates in words: the likeliest ones.
    pub(super) fn candidate_names(&mut self, candidates: &[Candidate]) -> String {
        let mut names: Vec<String> = Vec::new();
        for candidate in candidates.iter().take(3) {
            let name = self.type_name(&candidate.ty);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if candidates.len() > 3 {
            names.push("…".to_owned());
        }
        names.join(" or ")
    }

    fn infer_elements<'a>(
        &mut self,
        kind: Container,
        elems: impl Iterator<Item = &'a Data>,
    ) -> Result<Vec<Candidate>, ()> {
        let mut joined: Vec<Candidate> = vec![Candidate::free(Ty::Unknown)];
        let mut failed = false;
        for elem in elems {
            let candidates = self.infer(elem);
            if failed {
                continue;
            }
            let next = self.join_candidates(&joined, &candidates);
            if next.is_empty() {
                let (before, here) = (self.candidate_names(&joined), self.candidate_names(&candidates));
                let message = format!("the elements before this one are {before}, this one is {here}");
                self.error(Diagnostic::new(elem.span, message));
                failed = true;
            } else {
                joined = next;
            }
        }
        if failed {
            return Err(());
        }
        Ok(joined.into_iter().map(|c| Candidate { ty: Ty::Fresh(kind, Rc::new(c.ty)), ..c }).collect())
    }

    fn join_candidates(&mut self, left: &[Candidate], right: &[Candidate]) -> Vec<Candidate> {
        let mut joined = Vec::new();
        for a in left {
            for b in right {
                if let Some(ty) = self.join(&a.ty, &b.ty) {
                    joined.push(Candidate { ty, cost: a.cost.saturating_add(b.cost) });
                }
            }
        }
        self.prune(joined).to_vec()
    }

    fn infer_comprehension(&mut self, var: VarId, body: &Data) -> Result<Vec<Candidate>, ()> {
        let candidates = self.in_scope(&[var], |checker| checker.infer(body));
        let elem = self.model.vars[var.ix()].sort;
        let mut found = Vec::new();
        for (sort, kind) in [(SortId::BOOL, Container::Set), (SortId::NAT, Container::Bag)] {
            if let Some(cost) = self.fit(&candidates, &Ty::Sort(sort)) {
                let container = self.container(kind, elem);
                found.push(Candidate { ty: self.ty(container), cost });
            }
        }
        if found.is_empty() {
            let names = self.candidate_names(&candidates);
            let message = format!("expected Bool (for a set) or Nat (for a bag), found {names}");
            return self.fail(Diagnostic::new(body.span, message));
        }
        Ok(found)
    }

    fn infer_binder(&mut self, binder: Binder, vars: &[VarId], body: &Data) -> Vec<Candidate> {
        if binder != Binder::Lambda {
            self.in_scope(vars, |checker| checker.require(body, SortId::BOOL));
            return vec![Candidate::free(Ty::Sort(SortId::BOOL))];
        }
        let domain: Rc<[SortId]> = vars.iter().map(|v| self.model.vars[v.ix()].sort).collect();
        let body = self.in_scope(vars, |checker| checker.infer(body));
        if domain.contains(&SortId::ERROR) {
            return vec![Candidate::free(Ty::Unknown)];
        }
        let lambda =
            |c: &Candidate| Candidate { ty: Ty::Lambda(domain.clone(), Rc::new(c.ty.clone())), cost: c.cost };
        body.iter().map(lambda).collect()
    }

    fn infer_definitions(&mut self, definitions: &[(Ident, Data)]) -> Vec<VarId> {
        let mut vars: Vec<VarId> = Vec::with_capacity(definitions.len());
        for (name, definition) in definitions {
            let candidates = self.infer(definition);
            if vars.iter().any(|v| self.model.vars[v.ix()].name == name.name) {
                let message = format!("'{}' is defined twice here", name.name);
                self.error(Diagnostic::new(name.span, message));
            }
            let ty = candidates.first().map_or(Ty::Unknown, |c| c.ty.clone());
            let sort = self.concrete(&ty);
            let var = self.new_var(name.name.clone(), sort, name.span);
            self.definition_types.insert(var, ty);
            vars.push(var);
        }
        vars
    }

    fn infer_update(&mut self, function: &Data, at: &Data, value: &Data) -> Result<Vec<Candidate>, ()> {
        let functions = self.infer(function);
        let at_candidates = self.infer(at);
        let value_candidates = self.infer(value);
        let mut found = Vec::new();
        let mut unary: Option<(SortId, Ty)> = None;
        for candidate in functions.iter() {
            let (domain, range) = match self.function_ty(&candidate.ty) {
                Some((domain, range)) if domain.len() == 1 => (domain[0], range),
                _ if matches!(candidate.ty, Ty::Unknown) => {
                    return Ok(vec![Candidate::free(Ty::Unknown)]);
                }
                _ => continue,
            };
            unary = Some((domain, range.clone()));
            let Some(at_cost) = self.fit(&at_candidates, &self.ty(domain)) else { continue };
            for v in value_candidates.iter() {
                let (ty, cost) = match &candidate.ty {
                    Ty::Lambda(domain, body) => match self.join(body, &v.ty) {
                        Some(body) => (Ty::Lambda(domain.clone(), Rc::new(body)), 0),
                        None => continue,
                    },
                    ty => match self.cost(&v.ty, &range) {
                        Some(cost) => (ty.clone(), cost),
                        None => continue,
                    },
                };
                let cost = cost.saturating_add(at_cost).saturating_add(candidate.cost);
                found.push(Candidate { ty, cost: cost.saturating_add(v.cost) });
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
        let Some((domain, range)) = unary else {
            let names = self.candidate_names(&functions);
            let message = format!("only a function of one argument can be updated, this is {names}");
            return self.fail(Diagnostic::new(function.span, message));
        };
        if self.fit(&at_candidates, &self.ty(domain)).is_none() {
            let diagnostic = self.mismatch(at, domain, &at_candidates);
            return self.fail(diagnostic);
        }
        let range = self.concrete(&range);
        let diagnostic = self.mismatch(value, range, &value_candidates);
        self.fail(diagnostic)
    }

    /// A function type taken apart.
    pub(super) fn function_ty(&self, ty: &Ty) -> Option<(Vec<SortId>, Ty)> {
        match ty {
            Ty::Sort(sort) => {
                let (domain, range) = self.function_of(*sort)?;
                Some((domain.to_vec(), self.ty(range)))
            }
            Ty::Lambda(domain, range) => Some((domain.to_vec(), (**range).clone())),
            _ => None,
        }
    }

    fn infer_operator(
        &mut self,
        data: &Data,
        operator: &'static builtin::Builtin,
        args: &[&Data],
    ) -> Result<Vec<Candidate>, ()> {
        let candidates: Vec<Candidates> = args.iter().map(|arg| self.infer(arg)).collect();
        let choices = self.builtin_choices(operator, &candidates, None);
        if choices.is_empty() {
            let diagnostic = self.operator_mismatch(data.span, operator.name, &candidates);
            return self.fail(match Self::decimal(data) {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            });
        }
        Ok(results(choices, &candidates))
    }

    fn infer_application(&mut self, data: &Data, head: &Data, args: &[Data]) -> Result<Vec<Candidate>, ()> {
        let candidates: Vec<Candidates> = args.iter().map(|arg| self.infer(arg)).collect();
        if let Some(name) = self.applied_symbol(head) {
            let mut choices = self.declared_choices(name, &candidates);
            if let Some(builtin) = builtin::named(name) {
                choices.extend(self.builtin_choices(builtin, &candidates, None));
            }
            if choices.is_empty() {
                let diagnostic = self.application_mismatch(data.span, head.span, name, args, &candidates);
                return self.fail(diagnostic);
            }
            return Ok(results(choices, &candidates));
        }
        self.undeclared.applied = true;
        let heads = self.infer(head);
        self.undeclared.applied = false;
        let mut found = Vec::new();
        for candidate in heads.iter() {
            if matches!(candidate.ty, Ty::Unknown) {
                return Ok(vec![Candidate::free(Ty::Unknown)]);
            }
            let Some((domain, range)) = self.function_ty(&candidate.ty) else { continue };
            let Some(cost) = self.fit_all(&candidates, &domain) else { continue };
            found.push(Candidate { ty: range, cost: cost.saturating_add(candidate.cost) });
        }
        if found.is_empty() {
            let diagnostic = self.value_mismatch(head.span, &heads, args, &candidates);
            return self.fail(diagnostic);
        }
        Ok(found)
    }

    /// The name at the head of an application if it stands for declared or built-in functions. A variable shadows
    /// them, unless it cannot be applied and they can.
    pub(super) fn applied_symbol<'a>(&self, head: &'a Data) -> Option<&'a Arc<str>> {
        let DataKind::Name(name) = &head.kind else { return None };
        let known = self.symbols.contains_key(name) || builtin::named(name).is_some();
        match self.variable(name) {
            None => known.then_some(name),
            Some(var) => {
                let applicable = match self.variable_ty(var) {
                    Ty::Sort(sort) => matches!(self.def(sort), Some(SortDef::Function(..))),
                    Ty::Fresh(..) => false,
                    _ => true,
                };
                (known && !applicable).then_some(name)
            }
        }
    }
}

fn results(choices: Vec<Choice>, args: &[Candidates]) -> Vec<Candidate> {
    // Everything fits an argument that has failed; then the many readings are no news.
    let unknown = |arg: &Candidates| arg.iter().any(|c| matches!(c.ty, Ty::Unknown));
    if choices.len() > MAX_READINGS && args.iter().any(unknown) {
        return vec![Candidate::free(Ty::Unknown)];
    }
    choices.into_iter().map(|c| Candidate { ty: c.result, cost: c.cost }).collect()
}
