//! Regular and action formulas with values for their variables.
//!
//! A quantifier is spelt out over the values of its sort, which must be finite. The exception is `exists x: S. a(x)`
//! with a variable that is nothing but one argument: it stands for any value, whatever the sort.
//!
//! Invariant: a formula that asks for more work than its budget ends with an error, not with a long wait.

use super::automaton::Regular;
use super::labels::{ActPattern, Arg, LabelPattern, TERMINATE};
use super::occurrence::Occurrence;
use super::predicate::{Patterns, Predicate};
use super::resolve::{Meanings, Reading};
use crate::data::compile::{Compiler, Scope, free_vars};
use crate::data::eval::{Bound, Evaluator, new_frame};
use crate::data::print::value_text;
use crate::data::value::{Base, Function, Set, Value};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{Expr, ExprKind, SortId, VarId};
use crate::syntax::formula::{Action, ActionFormula, ActionKind, Quantifier, RegularFormula, RegularKind};
use crate::syntax::tree::{Data, VarDecl};
use gridlock_lts::hash::Map;

/// How many parts all quantifiers of a formula together may be spelt out to.
const MAX_WORK: usize = 100_000;

/// How many different patterns a formula may have.
const MAX_PATTERNS: usize = 4096;

/// How many readings a multi-action may have.
const MAX_READINGS: usize = 64;

/// Gives values to the variables of formulas.
pub struct Instantiation<'a> {
    /// Evaluates data.
    pub evaluator: Evaluator,
    meanings: &'a Meanings,
    occurrence: &'a Occurrence,
    /// The variables in scope, innermost last; `None` stands for any value.
    scope: Vec<(VarId, Option<Value>)>,
    /// The patterns so far.
    pub patterns: Patterns,
    /// The predicates so far, each once.
    pub predicates: Vec<Predicate>,
    predicate_ids: Map<Predicate, u32>,
    work: usize,
}

impl<'a> Instantiation<'a> {
    /// Nothing instantiated yet.
    pub fn new(evaluator: Evaluator, meanings: &'a Meanings, occurrence: &'a Occurrence) -> Self {
        Instantiation {
            evaluator,
            meanings,
            occurrence,
            scope: Vec::new(),
            patterns: Patterns::default(),
            predicates: Vec::new(),
            predicate_ids: Map::default(),
            work: 0,
        }
    }

    /// Counts work against the budget.
    fn spend(&mut self, span: Span) -> Result<(), Diagnostic> {
        self.work += 1;
        if self.work > MAX_WORK || self.patterns.len() > MAX_PATTERNS {
            return Err(Diagnostic::new(span, "the quantifiers of this formula range over too many values")
                .help("use sorts with fewer values, or '_' for an argument that may be anything"));
        }
        Ok(())
    }

    fn value(&self, expr: &Expr, sort: SortId) -> Result<Value, Diagnostic> {
        let model = self.evaluator.model.clone();
        let mut scope = Scope::default();
        let slots: Vec<_> =
            self.scope.iter().filter_map(|(v, value)| Some((scope.bind(*v), value.clone()?))).collect();
        let code = Compiler::after_functions(&model, &self.evaluator).expr(expr, &mut scope);
        let mut frame = new_frame(scope.size());
        for (slot, value) in slots {
            frame[slot as usize] = Bound::Now(value);
        }
        self.evaluator.begin();
        let value = self.evaluator.eval(&code, &mut frame);
        // A failure may point into the specification; what the user can look at here is the expression.
        value.and_then(|value| self.evaluator.comparable(sort, value)).map_err(|failure| Diagnostic {
            span: expr.span,
            message: failure.message,
            help: failure.help,
        })
    }

    /// The truth of `val(e)`.
    pub fn truth(&self, data: &Data) -> Result<bool, Diagnostic> {
        let value = self.value(self.meanings.expr(data), SortId::BOOL)?;
        value.as_bool().ok_or_else(|| {
            let text = value_text(&self.evaluator.model, &value);
            Diagnostic::new(data.span, format!("this has no truth value: it rewrites to {text}"))
                .help("add the equations that decide it")
        })
    }

    /// Runs work once for each combination of values of the variables.
    pub fn for_each(
        &mut self,
        vars: &[VarDecl],
        run: &mut dyn FnMut(&mut Self) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let Some((decl, rest)) = vars.split_first() else { return run(self) };
        let var = self.meanings.var(decl);
        let model = self.evaluator.model.clone();
        let sort = model.vars[var.ix()].sort;
        let Some(values) = self.evaluator.sorts.values(&model, sort) else {
            let message = format!(
                "sort {} of '{}' has too many values to try them all",
                model.sort_name(sort),
                decl.name.name
            );
            return Err(Diagnostic::new(decl.name.span, message).help(
                "quantify over a finite sort; for an argument that may be anything write '_' or \
                 'exists x: S. a(x)' inside the action formula",
            ));
        };
        for value in values.iter() {
            self.spend(decl.name.span)?;
            self.scope.push((var, Some(value.clone())));
            let result = self.for_each(rest, run);
            self.scope.pop();
            result?;
        }
        Ok(())
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
            ActionKind::And(all) => Predicate::junction(true, self.actions(all)?),
            ActionKind::Or(all) => Predicate::junction(false, self.actions(all)?),
            ActionKind::Implies(a, b) => {
                let premise = self.action(a)?.negate();
                let conclusion = self.action(b)?;
                Predicate::junction(false, [premise, conclusion])
            }
            ActionKind::Quantifier(Quantifier::Exists, vars, body) => self.exists(vars, body)?,
            ActionKind::Quantifier(Quantifier::Forall, vars, body) => match &body.kind {
                // `forall x. !A` is `!exists x. A`, which needs no list of values if x is just an argument.
                ActionKind::Not(inner) => self.exists(vars, inner)?.negate(),
                _ => self.over_values(true, vars, body)?,
            },
        })
    }

    fn actions(&mut self, all: &[ActionFormula]) -> Result<Vec<Predicate>, Diagnostic> {
        all.iter().map(|a| self.action(a)).collect()
    }

    fn over_values(
        &mut self,
        and: bool,
        vars: &[VarDecl],
        body: &ActionFormula,
    ) -> Result<Predicate, Diagnostic> {
        let mut all = Vec::new();
        self.for_each(vars, &mut |this| {
            all.push(this.action(body)?);
            Ok(())
        })?;
        Ok(Predicate::junction(and, all))
    }

    fn exists(&mut self, vars: &[VarDecl], body: &ActionFormula) -> Result<Predicate, Diagnostic> {
        if let ActionKind::Or(all) = &body.kind {
            let all = all.iter().map(|a| self.exists(vars, a)).collect::<Result<Vec<_>, _>>()?;
            return Ok(Predicate::junction(false, all));
        }
        let free: Vec<bool> =
            vars.iter().map(|v| self.is_just_an_argument(self.meanings.var(v), body)).collect();
        let depth = self.scope.len();
        for (decl, _) in vars.iter().zip(&free).filter(|(_, free)| **free) {
            self.scope.push((self.meanings.var(decl), None));
        }
        let valued: Vec<VarDecl> =
            vars.iter().zip(&free).filter(|(_, free)| !**free).map(|(v, _)| v.clone()).collect();
        let result = self.over_values(false, &valued, body);
        self.scope.truncate(depth);
        result
    }

    /// Whether a variable occurs exactly once in a formula, as an argument whose sort is its own.
    fn is_just_an_argument(&self, var: VarId, body: &ActionFormula) -> bool {
        let mut body = body;
        while let ActionKind::Quantifier(Quantifier::Exists, _, inner) = &body.kind {
            body = inner;
        }
        let ActionKind::MultiAction(actions) = &body.kind else { return false };
        let sort = self.evaluator.model.vars[var.ix()].sort;
        let readings: Vec<&[Reading]> = actions.iter().map(|a| self.meanings.readings(&a.name)).collect();
        // With several readings the variable would have to be just an argument in each of them.
        if readings.iter().any(|r| r.len() != 1) {
            return false;
        }
        let mut occurrences = Vec::new();
        let mut bare = 0;
        for (expr, of) in readings.iter().flat_map(|r| &r[0].args).flatten() {
            let Some(expr) = expr else { continue };
            free_vars(expr, &mut occurrences);
            bare += usize::from(matches!(expr.kind, ExprKind::Var(v) if v == var) && *of == sort);
        }
        bare == 1 && occurrences.iter().filter(|v| **v == var).count() == 1
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
        let is_hidden = |name| self.occurrence.is_hidden(name);
        let mut patterns: Vec<LabelPattern> =
            combinations.into_iter().map(|acts| LabelPattern::new(acts, is_hidden)).collect();
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
            let message =
                "arguments cannot be compared with this value: it contains a function over many values";
            return Err(
                Diagnostic::new(expr.span, message).help("write '_' for an argument that may be anything")
            );
        }
        Ok(Arg::Same(value, sort))
    }
}

/// Whether a value contains a function that is not a table, so that equal ones need not look equal.
fn has_function(value: &Value) -> bool {
    stacker::maybe_grow(64 << 10, 1 << 20, || match value {
        Value::Bool(_) | Value::Number(_) => false,
        Value::Ctor(_, args) => args.iter().any(has_function),
        Value::List(items) => items.iter().any(has_function),
        Value::Set(set) => match &**set {
            Set::Finite(items) | Set::CoFinite(items) => items.iter().any(has_function),
            Set::Where(_) | Set::Combined(..) => true,
        },
        Value::Bag(bag) => {
            !matches!(bag.base, Base::Zero | Base::One) || bag.exceptions.iter().any(|(v, _)| has_function(v))
        }
        Value::Function(function) => match &**function {
            Function::Table(_, values) => values.iter().any(has_function),
            _ => true,
        },
        Value::Stuck(stuck) => stuck.args.iter().any(has_function),
    })
}
