//! Names and sorts: from the syntax tree to the checked [`Model`].
//!
//! The order of work: sorts, then everything that is declared (`cons`, `map`, `act`, the heads of `proc`), then what
//! uses the declarations (equations, process bodies, `init`). Sections may therefore stand in any order. Expressions
//! are checked in two passes, bottom-up (`infer`) and top-down (`elaborate`).
//!
//! Invariants: every error of a specification is collected before any is returned; what has an error is replaced by
//! something that fits everywhere, so that one mistake is reported once; a model is returned only without errors.

mod action_sets;
mod builtin;
mod declare;
mod elaborate;
mod equality;
mod equations;
mod extend;
mod globals;
mod infer;
mod inhabited;
mod merge;
mod mismatch;
mod names;
mod overload;
mod patterns;
mod processes;
mod remedies;
mod sorts;
mod truth;
mod types;

use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::model::{ActName, Action, Expr, Model, ProcId, SortId, Symbol, VarId};
use crate::syntax::tree;
use gridlock_lts::base::hash::{Map, Set};
use infer::Inferred;
use sorts::SortTable;
use std::sync::Arc;
use types::Ty;

/// How many sorts one name may be declared with. Keeps overload resolution fast for any specification.
const MAX_OVERLOADS: usize = 128;

/// How many sorts an expression that is not just a name may have before its context decides. For the same reason.
const MAX_READINGS: usize = 32;

/// How many errors get a hint that compares a name with all others. A specification with more has another problem.
const MAX_HINTS: usize = 100;

/// Checks a specification. All errors are reported, in the order of the text.
pub fn check(spec: &tree::Spec) -> Result<Model, Vec<Diagnostic>> {
    let mut checker = Checker::new(Model::default());
    checker.equation_heads = equations::heads(&spec.equations);
    checker.declare_sorts(&spec.sorts);
    checker.declare_constructors(&spec.constructors);
    checker.declare_maps(&spec.maps);
    checker.declare_globals(&spec.globals);
    checker.declare_actions(&spec.actions);
    checker.declare_processes(&spec.processes);
    checker.declared = true;
    checker.check_inhabited();
    checker.choose_globals(&spec.globals);
    checker.check_equations(&spec.equations);
    checker.check_processes(&spec.processes);
    checker.check_init(&spec.inits);
    checker.finish()?;
    Ok(checker.model)
}

/// Checks a data expression against a finished model, with these variables in scope, innermost last.
pub fn check_data_in(
    model: &mut Model,
    scope: &[VarId],
    data: &tree::Data,
    expected: SortId,
) -> Result<Expr, Vec<Diagnostic>> {
    let mut checker = Checker::new(std::mem::take(model));
    let result = checker.data(scope, data, expected);
    *model = checker.into_model();
    result
}

/// A meaning of a name.
#[derive(Clone, Copy, Debug)]
struct Entry {
    symbol: Symbol,
    sort: SortId,
}

/// The symbol tables of a model, ready to check expressions against them.
pub struct Checker {
    model: Model,
    sorts: SortTable,
    symbols: Map<Arc<str>, Vec<Entry>>,
    actions: Map<Arc<str>, ActName>,
    /// For each action name its declarations, as indices into the model's actions.
    signatures: Vec<Vec<u32>>,
    processes: Map<Arc<str>, Vec<ProcId>>,
    /// The process whose body is being checked.
    enclosing: Option<ProcId>,
    /// For each name the variables it stands for, innermost last.
    scope: Map<Arc<str>, Vec<VarId>>,
    /// What inference found out about the nodes of the current expression.
    memo: Map<usize, Inferred>,
    /// What the definitions of `whr` variables in the current expression can become.
    definition_types: Map<VarId, Ty>,
    /// The names at the heads of left-hand sides.
    equation_heads: Set<Arc<str>>,
    /// The sorts with constructors from a `cons` section, for which mCRL2 defines no order and no inequality.
    cons_sorts: Set<SortId>,
    /// Where each constructor is declared.
    constructor_spans: Vec<Span>,
    /// Whether all declarations have been read.
    declared: bool,
    /// What a formula file may not change: the declarations of the specification.
    given: extend::Given,
    reported_sorts: Set<SortId>,
    undeclared: remedies::Undeclared,
    errors: Vec<Diagnostic>,
}

impl Checker {
    /// The symbol tables of a model.
    pub fn new(mut model: Model) -> Self {
        if model.sorts.is_empty() {
            model.sorts.extend(sorts::BASIC.map(|(_, def)| def));
        }
        let mut checker = Checker {
            sorts: SortTable::of(&model),
            symbols: Map::default(),
            actions: Map::default(),
            signatures: vec![Vec::new(); model.action_names.len()],
            processes: Map::default(),
            enclosing: None,
            scope: Map::default(),
            memo: Map::default(),
            definition_types: Map::default(),
            equation_heads: Set::default(),
            cons_sorts: Set::default(),
            constructor_spans: vec![Span::default(); model.constructors.len()],
            declared: !model.sorts.is_empty() && model.init.is_some(),
            given: extend::Given::default(),
            reported_sorts: Set::default(),
            undeclared: remedies::Undeclared::default(),
            errors: Vec::new(),
            model,
        };
        checker.index_model();
        checker
    }

    fn index_model(&mut self) {
        for i in 0..self.model.constructors.len() {
            let (name, fields, sort) = {
                let c = &self.model.constructors[i];
                (c.name.clone(), c.fields.clone(), c.sort)
            };
            let sort = self.function_sort(fields, sort);
            self.index(name, Symbol::Ctor(crate::model::CtorId(i as u32)), sort);
        }
        for i in 0..self.model.projections.len() {
            let (name, domain, range) = {
                let p = &self.model.projections[i];
                (p.name.clone(), p.domain, p.range)
            };
            let sort = self.function_sort(vec![domain], range);
            self.index(name, Symbol::Project(crate::model::ProjId(i as u32)), sort);
        }
        for i in 0..self.model.recognisers.len() {
            let (name, domain) = (self.model.recognisers[i].name.clone(), self.model.recognisers[i].domain);
            let sort = self.function_sort(vec![domain], SortId::BOOL);
            self.index(name, Symbol::Recognise(crate::model::RecogId(i as u32)), sort);
        }
        for i in 0..self.model.functions.len() {
            if self.model.functions[i].builtin.is_some() {
                continue;
            }
            let (name, sort) = (self.model.functions[i].name.clone(), self.model.functions[i].sort);
            self.index(name, Symbol::Func(crate::model::FuncId(i as u32)), sort);
        }
        for (i, name) in self.model.action_names.iter().enumerate() {
            self.actions.insert(name.clone(), ActName(i as u32));
        }
        for (i, (name, _)) in self.model.actions.iter().enumerate() {
            self.signatures[name.ix()].push(i as u32);
        }
        for (i, process) in self.model.processes.iter().enumerate() {
            self.processes.entry(process.name.clone()).or_default().push(ProcId(i as u32));
        }
    }

    fn index(&mut self, name: Arc<str>, symbol: Symbol, sort: SortId) {
        self.symbols.entry(name).or_default().push(Entry { symbol, sort });
    }

    /// The model, with the sorts and variables that checking has added.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model back.
    pub fn into_model(self) -> Model {
        self.model
    }

    /// The sort a sort expression stands for.
    pub fn sort(&mut self, sort: &tree::Sort) -> Result<SortId, Vec<Diagnostic>> {
        let id = self.resolve(sort);
        self.finish()?;
        Ok(id)
    }

    /// New variables, as a quantifier declares them.
    pub fn variables(&mut self, decls: &[tree::VarDecl]) -> Result<Vec<VarId>, Vec<Diagnostic>> {
        let vars = self.declare_vars(decls);
        self.finish()?;
        Ok(vars)
    }

    /// A data expression of the expected sort, with these variables in scope, innermost last.
    pub fn data(
        &mut self,
        scope: &[VarId],
        data: &tree::Data,
        expected: SortId,
    ) -> Result<Expr, Vec<Diagnostic>> {
        let expr = self.in_scope(scope, |checker| checker.expression(data, expected));
        self.finish()?;
        Ok(expr)
    }

    /// An action with its arguments.
    pub fn action(
        &mut self,
        scope: &[VarId],
        name: &tree::Ident,
        args: &[tree::Data],
        span: Span,
    ) -> Result<Action, Vec<Diagnostic>> {
        let action = self.in_scope(scope, |checker| checker.action_call(name, args, span));
        self.finish()?;
        action.ok_or_else(|| vec![self.unknown(name.span, "action", &name.name, std::iter::empty())])
    }

    /// Says that a name is not declared, with the closest of the names that are.
    fn unknown<'a>(
        &self,
        span: Span,
        kind: &str,
        name: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Diagnostic {
        let diagnostic = Diagnostic::new(span, format!("no {kind} '{name}' is declared"));
        if self.errors.len() >= MAX_HINTS {
            return diagnostic;
        }
        match did_you_mean(name, known) {
            Some(guess) => diagnostic.help(format!("did you mean '{guess}'?")),
            None if name == "_" => {
                diagnostic.help("'_' stands for a whole argument of an action in a property")
            }
            None => diagnostic,
        }
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.errors.push(diagnostic);
    }

    /// The errors so far, in the order of the text.
    fn finish(&mut self) -> Result<(), Vec<Diagnostic>> {
        self.forget();
        let mut errors = std::mem::take(&mut self.errors);
        errors.sort_by_key(|e| e.span);
        errors.dedup();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

/// Runs on a stack that is surely large enough: expressions may be nested deeply.
fn deep<R>(run: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(128 << 10, 2 << 20, run)
}
