//! Declarations: what each name stands for.
//!
//! Invariant: within one name, no two symbols have the same sort.

use super::sorts::Shape;
use super::{Checker, Entry, MAX_OVERLOADS};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{
    ActName, Clause, Constructor, CtorId, Expr, ExprKind, FuncId, Function, Pattern, Proc, ProcDef, ProcId,
    ProcKind, ProjId, Projection, RecogId, Recogniser, SortDef, SortId, Symbol, Var, VarId,
};
use crate::syntax::tree;
use crate::syntax::tree::{FunctionDecl, Ident, StructConstructor};
use gridlock_lts::base::hash::{Map, Set};
use std::sync::Arc;

impl Checker {
    /// Gives a name a meaning; a second meaning of the same sort is an error.
    fn declare(&mut self, name: &Ident, symbol: Symbol, sort: SortId) -> bool {
        if sort == SortId::ERROR {
            // The name is known, so that its uses are not reported as well.
            self.symbols.entry(name.name.clone()).or_default().push(Entry { symbol, sort });
            return false;
        }
        if let Some(clash) = self.clash(name, sort) {
            self.error(clash);
            return false;
        }
        let entries = self.symbols.entry(name.name.clone()).or_default();
        if entries.iter().any(|e| e.sort == sort) {
            let message =
                format!("'{}' is declared more than once as {}", name.name, self.model.sort_name(sort));
            self.error(Diagnostic::new(name.span, message));
            return false;
        }
        if entries.len() == MAX_OVERLOADS {
            let message = format!("'{}' is declared with more than {MAX_OVERLOADS} sorts", name.name);
            self.error(Diagnostic::new(name.span, message).help("give some of them another name"));
            return false;
        }
        entries.push(Entry { symbol, sort });
        self.model.declared_at.insert(symbol, name.span);
        true
    }

    fn add_constructor(&mut self, name: &Ident, fields: Vec<SortId>, sort: SortId) -> CtorId {
        let id = CtorId(self.model.constructors.len() as u32);
        let own_sort = self.function_sort(fields.clone(), sort);
        let declared = self.declare(name, Symbol::Ctor(id), own_sort);
        let mut position = 0;
        if declared && let Some(SortDef::Named { constructors, .. }) = self.model.sorts.get_mut(sort.ix()) {
            position = constructors.len() as u32;
            constructors.push(id);
        }
        self.model.constructors.push(Constructor { name: name.name.clone(), fields, sort, position });
        self.constructor_spans.push(name.span);
        id
    }

    /// Declares the constructors, projections and recognisers of a struct.
    pub(super) fn declare_struct(&mut self, sort: SortId, shape: &Shape, written: &[StructConstructor]) {
        let mut projections: Vec<(&Ident, SortId, Vec<(CtorId, u32)>)> = Vec::new();
        let mut recognisers: Vec<(&Ident, Vec<CtorId>)> = Vec::new();
        let mut place: Map<(Arc<str>, SortId), usize> = Map::default();
        let mut recogniser_place: Map<Arc<str>, usize> = Map::default();
        for (constructor, written) in shape.iter().zip(written) {
            let fields = constructor.fields.iter().map(|(_, sort)| *sort).collect();
            let id = self.add_constructor(&written.name, fields, sort);
            let mut own: Set<Arc<str>> = Set::default();
            for (i, ((_, range), (projection, _))) in
                constructor.fields.iter().zip(&written.fields).enumerate()
            {
                let Some(name) = projection else { continue };
                if !own.insert(name.name.clone()) {
                    let message = format!("two fields of '{}' are named '{}'", constructor.name, name.name);
                    self.error(Diagnostic::new(name.span, message));
                    continue;
                }
                let at = *place.entry((name.name.clone(), *range)).or_insert(projections.len());
                if at == projections.len() {
                    projections.push((name, *range, Vec::new()));
                }
                projections[at].2.push((id, i as u32));
            }
            if let Some(name) = &written.recogniser {
                let at = *recogniser_place.entry(name.name.clone()).or_insert(recognisers.len());
                if at == recognisers.len() {
                    recognisers.push((name, Vec::new()));
                }
                recognisers[at].1.push(id);
            }
        }
        for (name, range, cases) in projections {
            self.add_projection(name, sort, range, cases);
        }
        for (name, cases) in recognisers {
            let id = RecogId(self.model.recognisers.len() as u32);
            self.model.recognisers.push(Recogniser { name: name.name.clone(), cases, domain: sort });
            let own_sort = self.function_sort(vec![sort], SortId::BOOL);
            self.declare(name, Symbol::Recognise(id), own_sort);
        }
    }

    fn add_projection(&mut self, name: &Ident, domain: SortId, range: SortId, cases: Vec<(CtorId, u32)>) {
        let own_sort = self.function_sort(vec![domain], range);
        if self.equation_heads.contains(&name.name) {
            // The user may extend a projection by equations, so it becomes a mapping with one equation for each case.
            let clauses = cases.iter().map(|&(ctor, field)| self.projection_clause(ctor, field, name.span));
            let clauses = clauses.collect();
            self.add_function(name, own_sort, clauses);
            return;
        }
        let id = ProjId(self.model.projections.len() as u32);
        self.model.projections.push(Projection { name: name.name.clone(), cases, domain, range });
        self.declare(name, Symbol::Project(id), own_sort);
    }

    fn projection_clause(&mut self, ctor: CtorId, field: u32, span: Span) -> Clause {
        let fields = self.model.constructors[ctor.ix()].fields.clone();
        let vars: Vec<VarId> =
            fields.iter().enumerate().map(|(i, &s)| self.new_var(format!("x{i}").into(), s, span)).collect();
        let right = Expr { kind: ExprKind::Var(vars[field as usize]), sort: fields[field as usize], span };
        let patterns = vars.into_iter().map(Pattern::Var).collect();
        Clause { groups: vec![vec![Pattern::Ctor(ctor, patterns)]], condition: None, right, span }
    }

    pub(super) fn add_function(&mut self, name: &Ident, sort: SortId, clauses: Vec<Clause>) {
        let id = FuncId(self.model.functions.len() as u32);
        self.model.functions.push(Function {
            name: name.name.clone(),
            sort,
            clauses,
            span: name.span,
            builtin: None,
        });
        self.declare(name, Symbol::Func(id), sort);
    }

    pub(super) fn new_var(&mut self, name: Arc<str>, sort: SortId, span: Span) -> VarId {
        self.model.vars.push(Var { name, sort, span });
        VarId(self.model.vars.len() as u32 - 1)
    }

    /// The `cons` section.
    pub(super) fn declare_constructors(&mut self, decls: &[FunctionDecl]) {
        for decl in decls {
            let sort = self.resolve(&decl.sort);
            let (fields, target) = match self.function_of(sort) {
                Some((fields, target)) => (fields.to_vec(), target),
                None => (Vec::new(), sort),
            };
            match self.def(target) {
                Some(SortDef::Named { .. }) => {
                    if let Some(problem) = self.foreign_constructor(&decl.name, target) {
                        self.error(problem);
                        continue;
                    }
                    self.cons_sorts.insert(target);
                    self.add_constructor(&decl.name, fields, target);
                }
                None => {
                    self.declare(&decl.name, Symbol::Ctor(CtorId(0)), SortId::ERROR);
                }
                Some(_) => {
                    let message = format!(
                        "constructor '{}' is for the sort {}, which cannot have constructors",
                        decl.name.name,
                        self.model.sort_name(target)
                    );
                    self.error(Diagnostic::new(decl.name.span, message).help(
                        "only a sort declared in a 'sort' section can; a function belongs under 'map'",
                    ));
                    self.declare(&decl.name, Symbol::Ctor(CtorId(0)), SortId::ERROR);
                }
            }
        }
    }

    /// The `map` section.
    pub(super) fn declare_maps(&mut self, decls: &[FunctionDecl]) {
        for decl in decls {
            let sort = self.resolve(&decl.sort);
            let entries = self.symbols.get(&decl.name.name).map_or(&[][..], |entries| entries);
            let entries = &entries[self.given.meanings(&decl.name.name)..];
            let same = |e: &Entry| e.sort == sort && matches!(e.symbol, Symbol::Func(_));
            // Saying the same twice is harmless, and mCRL2 accepts it.
            if !entries.iter().any(same) {
                self.add_function(&decl.name, sort, Vec::new());
            }
        }
    }

    /// The `act` section.
    pub(super) fn declare_actions(&mut self, decls: &[tree::ActionDecl]) {
        for decl in decls {
            let sorts: Vec<SortId> = decl.sorts.iter().map(|s| self.resolve(s)).collect();
            let name = self.action_name(&decl.name.name);
            let overloads = &self.signatures[name.ix()];
            if !sorts.contains(&SortId::ERROR)
                && overloads.iter().any(|&i| self.model.actions[i as usize].1 == sorts)
            {
                let message = format!("action '{}' is declared more than once", decl.name.name);
                self.error(Diagnostic::new(decl.name.span, message));
            } else if overloads.len() == MAX_OVERLOADS {
                let message =
                    format!("action '{}' is declared with more than {MAX_OVERLOADS} sorts", decl.name.name);
                self.error(Diagnostic::new(decl.name.span, message));
            } else {
                self.signatures[name.ix()].push(self.model.actions.len() as u32);
                self.model.actions.push((name, sorts));
            }
        }
    }

    /// The index of an action's name, new if it is.
    pub(super) fn action_name(&mut self, name: &Arc<str>) -> ActName {
        if let Some(&id) = self.actions.get(name) {
            return id;
        }
        let id = ActName(self.model.action_names.len() as u32);
        self.model.action_names.push(name.clone());
        self.actions.insert(name.clone(), id);
        self.signatures.push(Vec::new());
        id
    }

    /// The heads of the process definitions; the bodies follow when all names are known.
    pub(super) fn declare_processes(&mut self, decls: &[tree::ProcessDecl]) {
        for decl in decls {
            let params = self.declare_vars(&decl.params);
            let sorts: Vec<SortId> = params.iter().map(|v| self.model.vars[v.ix()].sort).collect();
            let name = &decl.name;
            if self.actions.contains_key(&name.name) {
                let message = format!("'{}' is declared both as an action and as a process", name.name);
                self.error(Diagnostic::new(name.span, message));
            }
            let id = ProcId(self.model.processes.len() as u32);
            let overloads = self.processes.get(&name.name).map_or(&[][..], |o| o);
            let same = |p: &ProcId| self.parameter_sorts(*p) == sorts;
            if !sorts.contains(&SortId::ERROR) && overloads.iter().any(same) {
                let message = format!("process '{}' is declared more than once", name.name);
                let help = match sorts.is_empty() {
                    true => "overloads need different parameter sorts".to_owned(),
                    false => format!(
                        "both have parameters {}; overloads need different ones",
                        self.model.sort_names(&sorts)
                    ),
                };
                self.error(Diagnostic::new(name.span, message).help(help));
            } else if overloads.len() == MAX_OVERLOADS {
                let message = format!("process '{}' is declared more than {MAX_OVERLOADS} times", name.name);
                self.error(Diagnostic::new(name.span, message));
            } else {
                self.processes.entry(name.name.clone()).or_default().push(id);
            }
            let body = Proc { kind: ProcKind::Delta, span: decl.body.span };
            self.model.processes.push(ProcDef { name: name.name.clone(), params, body, span: name.span });
        }
    }

    /// The sorts of a process's parameters.
    pub(super) fn parameter_sorts(&self, process: ProcId) -> Vec<SortId> {
        let params = &self.model.processes[process.ix()].params;
        params.iter().map(|v| self.model.vars[v.ix()].sort).collect()
    }

    /// New variables with pairwise different names.
    pub(super) fn declare_vars(&mut self, decls: &[tree::VarDecl]) -> Vec<VarId> {
        let mut seen: Set<Arc<str>> = Set::default();
        let mut vars = Vec::with_capacity(decls.len());
        for decl in decls {
            let sort = self.resolve(&decl.sort);
            if !seen.insert(decl.name.name.clone()) {
                let message = format!("variable '{}' is declared twice here", decl.name.name);
                self.error(Diagnostic::new(decl.name.span, message));
            }
            vars.push(self.new_var(decl.name.name.clone(), sort, decl.name.span));
        }
        vars
    }
}
