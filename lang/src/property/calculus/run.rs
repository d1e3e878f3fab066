//! Evaluates the data of a formula: truth values, arguments, and the values of variables that a condition leaves.

use super::action::same;
use super::node::Unknown;
use crate::data::code::{Code, Goal, Slot};
use crate::data::eval::{Bound, Evaluator, Failure, Frame, new_frame};
use crate::data::ops;
use crate::data::print::value_text;
use crate::data::solve::{Problem, Solved};
use crate::data::value::Value;
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{Model, SortId};
use crate::process::steps::MAX_CANDIDATES;
use crate::property::labels::{has_function, incomparable};
use gridlock_lts::base::hash::Set;
use std::ops::ControlFlow;

/// The most values that one quantifier may have at a time.
const MOST_VALUES: usize = 100_000;

/// Evaluates the data of one formula.
#[derive(Debug)]
pub struct Run {
    /// The evaluator.
    pub evaluator: Evaluator,
    /// The number of slots of a frame.
    pub frame: u32,
}

impl Run {
    /// The specification's sorts and names.
    pub fn model(&self) -> &Model {
        &self.evaluator.model
    }

    fn frame(&self, env: &[(Slot, Value)]) -> Frame {
        let mut frame = new_frame(self.frame);
        for (slot, value) in env {
            frame[*slot as usize] = Bound::Now(value.clone());
        }
        frame
    }

    /// The value of data of a sort.
    pub fn value(
        &self,
        code: &Code,
        sort: SortId,
        span: Span,
        env: &[(Slot, Value)],
    ) -> Result<Value, Diagnostic> {
        let value = self.evaluator.eval(code, &mut self.frame(env));
        value.and_then(|value| self.evaluator.comparable(sort, value)).map_err(|f| at_formula(f, span))
    }

    /// The truth of data.
    pub fn truth(&self, code: &Code, span: Span, env: &[(Slot, Value)]) -> Result<bool, Diagnostic> {
        if let Code::Const(Value::Bool(b)) = code {
            return Ok(*b);
        }
        let value = self.value(code, SortId::BOOL, span, env)?;
        value.as_bool().ok_or_else(|| {
            let text = value_text(self.model(), &value);
            Diagnostic::new(span, format!("this has no truth value: it rewrites to {text}"))
                .help("add the equations that decide it")
        })
    }

    /// Whether data of a sort is a value that a step has.
    pub fn is(
        &self,
        code: &Code,
        sort: SortId,
        value: &Value,
        span: Span,
        env: &[(Slot, Value)],
    ) -> Result<bool, Diagnostic> {
        let wanted = self.value(code, sort, span, env)?;
        if !self.evaluator.sorts.is_functional(sort) {
            return Ok(wanted == *value);
        }
        let value = self.evaluator.comparable(sort, value.clone()).map_err(|f| at_formula(f, span))?;
        if same(&wanted, &value) {
            return Ok(true);
        }
        if ops::equal(&wanted, &value).is_none() && (has_function(&wanted) || has_function(&value)) {
            return Err(incomparable(span));
        }
        Ok(false)
    }

    /// The values of variables that a condition leaves, each combination once, in a fixed order. The condition may leave
    /// more than it should.
    pub fn solutions(
        &self,
        unknowns: &[Unknown],
        condition: Code,
        env: &[(Slot, Value)],
    ) -> Result<Vec<Vec<Value>>, Diagnostic> {
        let Some(first) = unknowns.first() else { return Ok(vec![Vec::new()]) };
        if matches!(condition, Code::Const(Value::Bool(false))) {
            return Ok(Vec::new());
        }
        let vars: Vec<(Slot, SortId)> = unknowns.iter().map(|unknown| (unknown.slot, unknown.sort)).collect();
        let slots: Vec<Slot> = vars.iter().map(|var| var.0).collect();
        let problem = Problem {
            vars: &vars,
            goal: &Goal::new(condition, &slots),
            equations: Vec::new(),
            max_candidates: MAX_CANDIDATES,
            symbolic: false,
        };
        let (mut seen, mut found) = (Set::default(), Vec::new());
        let outcome = self.evaluator.solve(&problem, &mut self.frame(env), &mut |frame| {
            let values = slots.iter().map(|slot| self.evaluator.force(frame, *slot));
            let values = values.collect::<Result<Vec<Value>, Failure>>()?;
            if seen.insert(values.clone()) {
                found.push(values);
            }
            Ok(if found.len() > MOST_VALUES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        match outcome.map_err(|failure| at_formula(failure, first.span))? {
            Solved::All => Ok(found),
            Solved::Stopped | Solved::TooMany => Err(Diagnostic::new(
                first.span,
                format!("'{}' has too many values to try them all", first.name),
            )
            .help("use a sort with fewer values or tighter bounds")),
            Solved::Undecided => Err(Diagnostic::new(
                first.span,
                format!("for some value of '{}' the data has no truth value", first.name),
            )
            .help("add the equations that decide it")),
            Solved::Unbounded(slot) => {
                let unknown = unknowns.iter().find(|unknown| unknown.slot == slot).unwrap_or(first);
                let sort = self.model().sort_name(unknown.sort);
                let message =
                    format!("sort {sort} of '{}' has too many values to try them all", unknown.name);
                Err(Diagnostic::new(unknown.span, message).help(UNBOUNDED))
            }
        }
    }
}

/// What to do about a variable without bounds.
const UNBOUNDED: &str = "quantify over a finite sort, bound it by data, as in 'forall x: Nat. val(x < 10) => …', or let \
                         the step give its value, as in 'forall x: Nat. [a(x)]…' and 'exists x: Nat. <a(x)>…'";

/// A failure may point into the specification; what the user can look at here is the formula.
fn at_formula(failure: Failure, span: Span) -> Diagnostic {
    Diagnostic { span, message: failure.message, help: failure.help }
}
