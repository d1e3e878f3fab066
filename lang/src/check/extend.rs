//! The declarations of a formula file, on top of those of the specification.
//!
//! The formula sees both. Invariant: nothing of the specification changes: its sorts, constructors and mappings keep their
//! numbers, and no sort of it gets a constructor, no mapping an equation. So the values in labels are values here, too.

use super::{Checker, equations};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{FuncId, SortDef, SortId, Symbol};
use crate::places::Places;
use crate::syntax::tree::{Ident, Spec};
use gridlock_lts::base::hash::Map;
use std::sync::Arc;

/// How much of a model is the specification's. Nothing, while a specification itself is checked.
#[derive(Default, Debug)]
pub(super) struct Given {
    sorts: usize,
    functions: usize,
    /// How many meanings each name has.
    meanings: Map<Arc<str>, usize>,
    /// Its text.
    places: Option<Places>,
}

impl Given {
    /// How many meanings the specification gives a name.
    pub(super) fn meanings(&self, name: &str) -> usize {
        self.meanings.get(name).copied().unwrap_or(0)
    }

    /// What to say about a declaration of the specification, if it is known where that is.
    fn declared(&self, at: Option<&Span>) -> String {
        let place = self.places.as_ref().zip(at).map(|(places, at)| format!(" ({})", places.full(*at)));
        format!("the specification{}", place.unwrap_or_default())
    }
}

impl Checker {
    /// Adds what a formula file declares, apart from actions. `places` has the text of the specification.
    pub fn extend(&mut self, spec: &Spec, places: &Places) -> Result<(), Vec<Diagnostic>> {
        self.given = Given {
            sorts: self.model.sorts.len(),
            functions: self.model.functions.len(),
            meanings: self.symbols.iter().map(|(name, entries)| (name.clone(), entries.len())).collect(),
            places: Some(places.clone()),
        };
        self.equation_heads = equations::heads(&spec.equations);
        self.declared = false;
        self.declare_sorts(&spec.sorts);
        self.declare_constructors(&spec.constructors);
        self.declare_maps(&spec.maps);
        self.declared = true;
        self.check_inhabited();
        self.check_equations(&spec.equations);
        self.given = Given::default();
        self.finish()
    }

    /// The problem with a name of data that the specification has with the same arguments.
    pub(super) fn clash(&self, name: &Ident, sort: SortId) -> Option<Diagnostic> {
        let given = self.given.meanings(&name.name);
        let domain = self.function_of(sort).map(|(domain, _)| domain);
        let entries = self.symbols.get(&name.name)?[..given].iter();
        let same = |entry: SortId| self.function_of(entry).map(|(domain, _)| domain) == domain;
        let other = entries.into_iter().find(|entry| same(entry.sort))?;
        let message = match domain {
            None => format!("'{}' is declared before", name.name),
            Some(domain) => {
                let domain = self.model.sort_names(domain);
                format!("'{}' is declared before for arguments of {domain}", name.name)
            }
        };
        let by = self.given.declared(self.model.declared_at.get(&other.symbol));
        Some(Diagnostic::new(name.span, message).help(format!("by {by}; give this one another name")))
    }

    /// The same for the name of a sort.
    pub(super) fn sort_clash(&self, name: &Ident) -> Option<Diagnostic> {
        self.given.places.as_ref()?;
        let at = self.model.sorts_at.get(&name.name)?;
        if !self.is_given_name(&name.name) {
            return None;
        }
        let message = format!("sort '{}' is declared before", name.name);
        let help = format!(
            "by {}; the formula sees it, so remove this declaration or give it another name",
            self.given.declared(Some(at))
        );
        Some(Diagnostic::new(name.span, message).help(help))
    }

    fn is_given_name(&self, name: &str) -> bool {
        self.model.sort_names.iter().any(|(known, _)| **known == *name)
    }

    /// The problem with a constructor for a sort of the specification.
    pub(super) fn foreign_constructor(&self, constructor: &Ident, target: SortId) -> Option<Diagnostic> {
        let Some(SortDef::Named { name, .. }) = self.def(target) else { return None };
        if target.ix() >= self.given.sorts {
            return None;
        }
        let by = self.given.declared(self.model.sorts_at.get(name));
        let message =
            format!("constructor '{}' is for the sort {name} of the specification", constructor.name);
        Some(Diagnostic::new(constructor.span, message).help(format!(
            "{by} says which values it has; declare a sort of the formula, or a function under 'map'"
        )))
    }

    /// The problem with an equation for something that the formula file does not declare.
    pub(super) fn not_its_own(&self, function: FuncId, place: Span) -> Option<Diagnostic> {
        self.given.places.as_ref()?;
        let f = &self.model.functions[function.ix()];
        let own_sort = |sort: &SortId| {
            sort.ix() >= self.given.sorts && matches!(self.def(*sort), Some(SortDef::Named { .. }))
        };
        match &f.builtin {
            Some(builtin) if builtin.domain.iter().any(own_sort) => None,
            None if function.ix() >= self.given.functions => None,
            Some(_) => {
                let message = format!("this equation is for the built-in '{}'", f.name);
                Some(Diagnostic::new(place, message).help(
                    "in a formula file equations are for its own mappings, and for operators on its own sorts; the \
                     values in labels were computed without them",
                ))
            }
            None => {
                let by = self.given.declared(self.model.declared_at.get(&Symbol::Func(function)));
                let message = format!("this equation is for the mapping '{}' of the specification", f.name);
                Some(Diagnostic::new(place, message).help(format!(
                    "{by} declares it, and the values in labels were computed without this equation; declare a \
                     mapping of the formula"
                )))
            }
        }
    }
}
