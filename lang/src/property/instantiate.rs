//! Regular and action formulas with values for their variables.
//!
//! A quantifier is spelt out over the values of its sort or, if that has no end, over those that its guard leaves
//! ([`super::guard`]). The exception is `exists x: S. a(x)` with a variable that is nothing but one argument: it stands for
//! any value of any sort.
//!
//! Invariant: a formula that asks for more work than its budget ends with an error, not with a long wait. The data of a
//! whole formula has the rewrite steps of one evaluation.

use super::automaton::Regular;
use super::guard::{Guards, Left, Role, frame_of, role};
use super::labels::{ActPattern, Arg, LabelPattern, TERMINATE, has_function, incomparable};
use super::predicate::{Patterns, Predicate};
use super::resolve::{Meanings, Reading};
use crate::data::code::{Code, Slot};
use crate::data::compile::{Compiler, Scope};
use crate::data::eval::{Evaluator, Failure};
use crate::data::print::value_text;
use crate::data::value::Value;
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{Expr, ExprKind, SortId, VarId};
use crate::syntax::formula::{Action, ActionFormula, ActionKind, Quantifier, RegularFormula, RegularKind};
use crate::syntax::tree::{Data, VarDecl};
use gridlock_lts::base::hash::Map;
use std::cell::Cell;

/// How many parts all quantifiers of a formula together may be spelt out to.
const MAX_WORK: usize = 100_000;

/// How many different patterns a formula may have.
const MAX_PATTERNS: usize = 4096;

/// How many readings a multi-action may have.
const MAX_READINGS: usize = 64;

/// What to do about a variable without bounds.
const UNBOUNDED: &str = "quantify over a finite sort or bound it by data, as in 'exists x: Nat. val(x < 10) && …' and \
                         'forall x: Nat. val(x < 10) => …'; for an argument that may be anything write '_' or \
                         'exists x: S. a(x)' inside the action formula";

/// Gives values to the variables of formulas.
pub struct Instantiation<'a> {
    /// Evaluates data.
    pub evaluator: Evaluator,
    meanings: &'a Meanings,
    /// The variables in scope, innermost last; `None` stands for any value.
    scope: Vec<(VarId, Option<Value>)>,
    /// The patterns so far.
    pub patterns: Patterns,
    /// The predicates so far, each once.
    pub predicates: Vec<Predicate>,
    predicate_ids: Map<Predicate, u32>,
    work: usize,
    /// Whether data of the formula could not be evaluated: then the formula is faulty no matter what decides it.
    pub data_failed: Cell<bool>,
    /// Numbers the lambda expressions of the formula, so that different ones are never taken for the same.
    lambdas: Cell<u32>,
}

impl<'a> Instantiation<'a> {
    /// Nothing instantiated yet.
    pub fn new(evaluator: Evaluator, meanings: &'a Meanings) -> Self {
        evaluator.begin();
        let lambdas = Cell::new(evaluator.lambdas);
        Instantiation {
            evaluator,
            meanings,
            scope: Vec::new(),
            patterns: Patterns::default(),
            predicates: Vec::new(),
            predicate_ids: Map::default(),
            work: 0,
            data_failed: Cell::new(false),
            lambdas,
        }
    }

    /// Counts work against the budget.
    fn spend(&mut self, span: Span) -> Result<(), Diagnostic> {
        self.work += 1;
        if self.work > MAX_WORK || self.patterns.len() > MAX_PATTERNS {
            return Err(too_many_values(span));
        }
        Ok(())
    }

    /// The slots of the variables that have values, and these values.
    fn known(&self) -> (Scope, Vec<(Slot, Value)>) {
        let mut scope = Scope::default();
        let slots =
            self.scope.iter().filter_map(|(v, value)| Some((scope.bind(*v), value.clone()?))).collect();
        (scope, slots)
    }

    fn value(&self, expr: &Expr, sort: SortId) -> Result<Value, Diagnostic> {
        let model = self.evaluator.model.clone();
        let (mut scope, known) = self.known();
        let mut compiler = Compiler::numbering_from(&model, self.lambdas.get());
        let code = compiler.expr(expr, &mut scope);
        self.lambdas.set(compiler.lambdas());
        let value = self.evaluator.eval(&code, &mut frame_of(&scope, known));
        let value = value.and_then(|value| self.evaluator.comparable(sort, value));
        value.map_err(|f| self.failed(at_formula(f, expr.span)))
    }

    fn failed(&self, diagnostic: Diagnostic) -> Diagnostic {
        self.data_failed.set(true);
        diagnostic
    }

    /// The truth of `val(e)`.
    pub fn truth(&self, data: &Data) -> Result<bool, Diagnostic> {
        let value = self.value(self.meanings.expr(data), SortId::BOOL)?;
        value.as_bool().ok_or_else(|| {
            let text = value_text(&self.evaluator.model, &value);
            let message = format!("this has no truth value: it rewrites to {text}");
            self.failed(Diagnostic::new(data.span, message).help("add the equations that decide it"))
        })
    }

    /// Runs work once for each combination of values of the variables that the guard leaves.
    pub fn for_each<'f>(
        &mut self,
        vars: &[&'f VarDecl],
        guard: &dyn Fn(&mut Guards<'_, 'f>) -> Code,
        run: &mut dyn FnMut(&mut Self) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let depth = self.scope.len();
        for values in self.combinations(vars, guard)? {
            let bound = vars.iter().map(|decl| self.meanings.var(decl)).zip(values.into_iter().map(Some));
            self.scope.extend(bound);
            let result = run(self);
            self.scope.truncate(depth);
            result?;
        }
        Ok(())
    }

    /// The combinations of values of the variables that the guard leaves, each once, in a fixed order.
    fn combinations<'f>(
        &mut self,
        vars: &[&'f VarDecl],
        guard: &dyn Fn(&mut Guards<'_, 'f>) -> Code,
    ) -> Result<Vec<Vec<Value>>, Diagnostic> {
        let Some(first) = vars.first() else { return Ok(vec![Vec::new()]) };
        let model = self.evaluator.model.clone();
        let room = MAX_WORK.saturating_sub(self.work);
        let mut unbounded = *first;
        // Inner variables can bound outer ones, but they may also have no bounds of their own.
        for with_inner in [false, true] {
            let (scope, known) = self.known();
            let compiler = Compiler::numbering_from(&model, self.lambdas.get());
            let mut guards = Guards::new(self.meanings, compiler, scope, vars, with_inner);
            let guard = guard(&mut guards);
            self.lambdas.set(guards.compiler.lambdas());
            let left = guards.solve(guard, vars.len(), known, &self.evaluator, room);
            match left.map_err(|failure| self.failed(at_formula(failure, first.name.span)))? {
                Left::Values(all) => {
                    self.work += all.len();
                    return Ok(all);
                }
                Left::TooMany => return Err(too_many_values(first.name.span)),
                Left::Undecided => {
                    let message =
                        format!("for some value of '{}' the data has no truth value", first.name.name);
                    let diagnostic = Diagnostic::new(first.name.span, message);
                    return Err(self.failed(diagnostic.help("add the equations that decide it")));
                }
                Left::Unbounded(decl) if !with_inner => unbounded = decl,
                Left::Unbounded(_) => {}
            }
        }
        let sort = model.sort_name(model.vars[self.meanings.var(unbounded).ix()].sort);
        let message = format!("sort {sort} of '{}' has too many values to try them all", unbounded.name.name);
        Err(Diagnostic::new(unbounded.name.span, message).help(UNBOUNDED))
    }

    /// The values in scope, for people: `x = 1, y = true`.
    pub fn bindings(&self) -> String {
        let model = &self.evaluator.model;
        let bound = self.scope.iter().filter_map(|(var, value)| {
            Some(format!("{} = {}", model.vars[var.ix()].name, value_text(model, value.as_ref()?)))
        });
        bound.collect::<Vec<_>>().join(", ")
    }

    /// A regular formula.
    pub fn regular(&mut self, formula: &RegularFormula) -> Result<Regular, Diagnostic> {
        let mut all = |parts: &[RegularFormula]| -> Result<Vec<Regular>, Diagnostic> {
            parts.iter().map(|r| self.regular(r)).collect()
        };
        Ok(match &formula.kind {
            RegularKind::Seq(parts) => Regular::Seq(all(parts)?),
            RegularKind::Choice(parts) => Regular::Choice(all(parts)?),
            RegularKind::Star(body) => Regular::Star(Box::new(self.regular(body)?)),
            RegularKind::Plus(body) => Regular::Plus(Box::new(self.regular(body)?)),
            RegularKind::Action(action) => {
                let predicate = self.action(action)?;
                let fresh = self.predicates.len() as u32;
                let id = *self.predicate_ids.entry(predicate.clone()).or_insert(fresh);
                if id == fresh {
                    self.predicates.push(predicate);
                }
                Regular::Step(id)
            }
        })
    }

    /// An action formula.
    pub fn action(&mut self, formula: &ActionFormula) -> Result<Predicate, Diagnostic> {
        Ok(match &formula.kind {
            ActionKind::Bool(b) => Predicate::Const(*b),
            ActionKind::Data(data) => Predicate::Const(self.truth(data)?),
            ActionKind::MultiAction(actions) => self.multi_action(actions, formula.span)?,
            ActionKind::Not(a) => self.action(a)?.negate(),
            ActionKind::And(all) => self.junction(true, all.iter().map(|a| (a, true)))?,
            ActionKind::Or(all) => self.junction(false, all.iter().map(|a| (a, true)))?,
            ActionKind::Implies(a, b) => self.junction(false, [(&**a, false), (&**b, true)].into_iter())?,
            ActionKind::Quantifier(quantifier, vars, body) => {
                let vars = vars.iter().collect();
                match quantifier {
                    Quantifier::Exists => self.exists(vars, body, true)?,
                    Quantifier::Forall => self.exists(vars, body, false)?.negate(),
                }
            }
        })
    }

    /// An action formula or, if not `positive`, its negation.
    fn literal(&mut self, formula: &ActionFormula, positive: bool) -> Result<Predicate, Diagnostic> {
        let predicate = self.action(formula)?;
        Ok(if positive { predicate } else { predicate.negate() })
    }

    /// A conjunction or disjunction. What stands behind data that decides it may have no value at all.
    fn junction<'f>(
        &mut self,
        and: bool,
        parts: impl Iterator<Item = (&'f ActionFormula, bool)>,
    ) -> Result<Predicate, Diagnostic> {
        let mut all = Vec::new();
        for (part, positive) in parts {
            let predicate = self.literal(part, positive)?;
            if predicate == Predicate::Const(!and) {
                return Ok(predicate);
            }
            all.push(predicate);
        }
        Ok(Predicate::junction(and, all))
    }

    /// The steps for which some values of the variables make a formula true or, if not `positive`, false.
    fn exists<'f>(
        &mut self,
        mut vars: Vec<&'f VarDecl>,
        body: &'f ActionFormula,
        positive: bool,
    ) -> Result<Predicate, Diagnostic> {
        let mut any = |parts: &[(&'f ActionFormula, bool)]| {
            let parts = parts.iter().map(|(part, positive)| self.exists(vars.clone(), part, *positive));
            parts.collect::<Result<Vec<_>, _>>().map(|parts| Predicate::junction(false, parts))
        };
        match &body.kind {
            ActionKind::Not(inner) => return self.exists(vars, inner, !positive),
            ActionKind::Quantifier(quantifier, more, inner)
                if (*quantifier == Quantifier::Exists) == positive =>
            {
                vars.extend(more);
                return self.exists(vars, inner, positive);
            }
            // Each alternative may have bounds of its own.
            ActionKind::Or(all) if positive => {
                return any(&all.iter().map(|a| (a, true)).collect::<Vec<_>>());
            }
            ActionKind::And(all) if !positive => {
                return any(&all.iter().map(|a| (a, false)).collect::<Vec<_>>());
            }
            ActionKind::Implies(a, b) if positive => return any(&[(a, false), (b, true)]),
            _ => {}
        }
        let meanings = self.meanings;
        let model = self.evaluator.model.clone();
        let (valued, free): (Vec<_>, Vec<_>) = vars
            .into_iter()
            .partition(|decl| role(&model, meanings, meanings.var(decl), body, positive) == Role::Tested);
        let depth = self.scope.len();
        self.scope.extend(free.iter().map(|decl| (meanings.var(decl), None)));
        let mut all = Vec::new();
        let result = self.for_each(&valued, &|guards| guards.action(body, positive), &mut |this| {
            all.push(this.literal(body, positive)?);
            Ok(())
        });
        self.scope.truncate(depth);
        result.map(|()| Predicate::junction(false, all))
    }

    /// `a(e)|b`.
    fn multi_action(&mut self, actions: &[Action], span: Span) -> Result<Predicate, Diagnostic> {
        let names: Vec<_> = actions.iter().map(|a| &a.name).collect();
        let meanings = self.meanings;
        let readings: Vec<&[Reading]> = names.iter().map(|name| meanings.readings(name)).collect();
        let mut matches = Vec::new();
        for pattern in self.label_patterns(&readings, span)? {
            self.spend(span)?;
            matches.push(Predicate::Matches(self.patterns.add(pattern)));
        }
        Ok(Predicate::junction(false, matches))
    }

    /// The patterns that a multi-action with these readings of its actions stands for.
    pub fn label_patterns(
        &self,
        readings: &[&[Reading]],
        span: Span,
    ) -> Result<Vec<LabelPattern>, Diagnostic> {
        let mut combinations: Vec<Vec<ActPattern>> = vec![Vec::new()];
        for readings in readings {
            let acts = readings.iter().map(|r| self.act_pattern(r)).collect::<Result<Vec<_>, _>>()?;
            combinations = combinations
                .into_iter()
                .flat_map(|acts_before| {
                    acts.iter().map(move |act| [&acts_before[..], std::slice::from_ref(act)].concat())
                })
                .collect();
            if combinations.len() > MAX_READINGS {
                return Err(Diagnostic::new(
                    span,
                    "the overloads of these actions can be combined in too many ways",
                )
                .help("give arguments that fit one declaration only"));
            }
        }
        let mut patterns: Vec<LabelPattern> = combinations.into_iter().map(LabelPattern::new).collect();
        patterns.sort();
        patterns.dedup();
        Ok(patterns)
    }

    fn act_pattern(&self, reading: &Reading) -> Result<ActPattern, Diagnostic> {
        let args = match &reading.args {
            _ if reading.name == TERMINATE => Some(Vec::new()),
            None => None,
            Some(args) => {
                Some(args.iter().map(|(e, sort)| self.argument(e, *sort)).collect::<Result<_, _>>()?)
            }
        };
        Ok(ActPattern { name: reading.name, args })
    }

    fn argument(&self, expr: &Option<Expr>, sort: SortId) -> Result<Arg, Diagnostic> {
        let Some(expr) = expr else { return Ok(Arg::Any) };
        if let ExprKind::Var(var) = expr.kind
            && self.scope.iter().rev().find(|(v, _)| *v == var).is_some_and(|(_, value)| value.is_none())
        {
            return Ok(Arg::Any);
        }
        let value = self.value(expr, sort)?;
        if !self.evaluator.sorts.is_functional(sort) {
            return Ok(Arg::Equal(value));
        }
        if has_function(&value) {
            return Err(incomparable(expr.span));
        }
        Ok(Arg::Same(value, sort))
    }
}

/// A failure may point into the specification; what the user can look at here is the formula.
fn at_formula(failure: Failure, span: Span) -> Diagnostic {
    Diagnostic { span, message: failure.message, help: failure.help }
}

fn too_many_values(span: Span) -> Diagnostic {
    Diagnostic::new(span, "the quantifiers of this formula range over too many values")
        .help("use sorts with fewer values or tighter bounds, or '_' for an argument that may be anything")
}
