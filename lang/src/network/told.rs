//! Remarks on the data of a specification: values that were chosen, and equations that can never be applied.

use crate::data::print::value_text;
use crate::network::build::Builder;

impl Builder {
    /// The global variables of the specification, in the order of the text: name, sort, and the value that was taken.
    pub fn globals(&self) -> Vec<[String; 3]> {
        let ev = &self.program().ev;
        let shown = |f: &crate::model::FuncId| {
            let function = &ev.model.functions[f.ix()];
            let value = ev.constant(*f).map_or_else(|failure| failure.message, |v| value_text(&ev.model, &v));
            [function.name.to_string(), ev.model.sort_name(function.sort), value]
        };
        ev.model.globals.iter().map(shown).collect()
    }

    /// The lines of the equations that can never be applied to values, ascending.
    pub fn idle_equations(&self) -> Vec<usize> {
        let mut lines: Vec<usize> = self.model().idle.iter().map(|span| self.places().line(*span)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}
