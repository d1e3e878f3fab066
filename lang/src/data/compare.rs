//! The checking mode of the evaluator: what other equations say about the same arguments.

use crate::data::code::ClauseCode;
use crate::data::disagreement::Example;
use crate::data::eval::{Bound, Eval, Evaluator, Fit, new_frame};
use crate::data::ops;
use crate::data::print::value_text;
use crate::data::value::Value;
use crate::diagnostic::Span;

/// Rewrite steps that other equations may take for one application. What takes longer is not compared.
const STEPS: u64 = 100_000;

impl Evaluator {
    /// Notes which of the equations fit the arguments and yield something else. The value came from the equation at
    /// `decided` or, without one, from the built-in meaning of an operator.
    pub(super) fn compare_with(
        &self,
        decided: Option<Span>,
        others: &[ClauseCode],
        groups: &mut [&mut [Bound]],
        value: &Value,
    ) {
        // Nothing is compared inside of a comparison, so that the work does not multiply.
        let Some(found) = self.disagreements.take() else { return };
        for other in others {
            // Other equations may be for other arguments, and fail or not end on these.
            let Ok(Some(result)) = self.meter.aside(STEPS, || self.result(other, groups)) else { continue };
            if ops::equal(value, &result) == Some(false) {
                let call = self.call_text(groups).unwrap_or_default();
                let text = |value: &Value| value_text(&self.model, value);
                let (mut first, mut second) = ((decided, text(value)), (Some(other.span), text(&result)));
                if decided.is_none() {
                    std::mem::swap(&mut first, &mut second);
                }
                if let Some(place) = first.0 {
                    found.add(place, second.0, Example { call, first: first.1, second: second.1 });
                }
            }
        }
        self.disagreements.replace(Some(found));
    }

    /// What an equation yields, if it fits.
    fn result(&self, clause: &ClauseCode, groups: &mut [&mut [Bound]]) -> Eval<Option<Value>> {
        let mut frame = new_frame(clause.frame);
        match self.applies(clause, groups, &mut frame)? {
            Fit::Yes => self.eval(&clause.right, &mut frame).map(Some),
            Fit::No | Fit::Open => Ok(None),
        }
    }

    fn call_text(&self, groups: &mut [&mut [Bound]]) -> Eval<String> {
        let mut text = String::new();
        for group in groups {
            let values = group.iter_mut().map(|arg| self.force_bound(arg)).collect::<Eval<Vec<_>>>()?;
            let shown: Vec<String> = values.iter().map(|value| value_text(&self.model, value)).collect();
            text.push_str(&format!("({})", shown.join(", ")));
        }
        Ok(text)
    }
}
