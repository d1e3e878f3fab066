//! Sorts in the user's notation, for messages.
//!
//! A sort is a graph, not a tree (`sort B = A # A -> Bool; C = B # B -> Bool; …` doubles with each line), so what is
//! printed is cut off at a fixed length.

use super::{Checker, deep};
use crate::model::{Model, SortDef, SortId};
use crate::syntax::tree::{Container, Sort, SortKind};
use crate::{check::types::Ty, model::FuncId};

/// Longest sort that a message shows, in bytes.
const LONGEST: usize = 160;

impl Model {
    /// The sort in the user's notation; very large sorts are cut off with `…`.
    pub fn sort_name(&self, sort: SortId) -> String {
        let mut out = String::new();
        self.write_sort(sort, false, &mut out);
        out
    }

    fn write_sort(&self, sort: SortId, in_function: bool, out: &mut String) {
        if out.len() > LONGEST {
            if !out.ends_with('…') {
                out.push('…');
            }
            return;
        }
        let Some(def) = self.sorts.get(sort.ix()) else { return out.push('?') };
        let container = |name: &str, elem: &SortId, out: &mut String| {
            out.push_str(name);
            out.push('(');
            deep(|| self.write_sort(*elem, false, out));
            out.push(')');
        };
        match def {
            SortDef::Bool => out.push_str("Bool"),
            SortDef::Pos => out.push_str("Pos"),
            SortDef::Nat => out.push_str("Nat"),
            SortDef::Int => out.push_str("Int"),
            SortDef::Real => out.push_str("Real"),
            SortDef::List(e) => container("List", e, out),
            SortDef::Set(e) => container("Set", e, out),
            SortDef::FSet(e) => container("FSet", e, out),
            SortDef::Bag(e) => container("Bag", e, out),
            SortDef::FBag(e) => container("FBag", e, out),
            SortDef::Named { name, .. } => out.push_str(name),
            SortDef::Function(domain, range) => {
                if in_function {
                    out.push('(');
                }
                self.write_sorts(domain, out);
                out.push_str(" -> ");
                deep(|| self.write_sort(*range, false, out));
                if in_function {
                    out.push(')');
                }
            }
        }
    }

    fn write_sorts(&self, sorts: &[SortId], out: &mut String) {
        for (i, sort) in sorts.iter().enumerate() {
            if i > 0 {
                out.push_str(" # ");
            }
            deep(|| self.write_sort(*sort, true, out));
        }
    }

    /// Several sorts as in a declaration, `A # B`.
    pub fn sort_names(&self, sorts: &[SortId]) -> String {
        let mut out = String::new();
        self.write_sorts(sorts, &mut out);
        out
    }

    /// A mapping with its sort, `f: A # B -> C`.
    pub fn function_name(&self, function: FuncId) -> String {
        let function = &self.functions[function.ix()];
        format!("{}: {}", function.name, self.sort_name(function.sort))
    }
}

impl Checker {
    /// The type in the user's notation.
    pub(super) fn type_name(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Unknown => "_".to_owned(),
            Ty::Fresh(kind, elem) => {
                let elem = deep(|| self.type_name(elem));
                let short = if elem.len() > LONGEST { "…" } else { &elem };
                format!("{}({short})", container_name(*kind))
            }
            Ty::Builtin(builtin) => format!("the built-in '{}'", builtin.name),
            ty => {
                let sort = self.concrete(ty);
                self.model.sort_name(sort)
            }
        }
    }
}

fn container_name(kind: Container) -> &'static str {
    match kind {
        Container::List => "List",
        Container::Set => "Set",
        Container::FSet => "FSet",
        Container::Bag => "Bag",
        Container::FBag => "FBag",
    }
}

/// A sort expression as it was written, without layout; cut off, and then not a name to tell sorts apart by, if it is
/// longer than [`LONGEST`].
pub(super) fn written_sort(sort: &Sort) -> String {
    let mut out = String::new();
    write_written(sort, false, &mut out);
    out
}

fn write_written(sort: &Sort, in_function: bool, out: &mut String) {
    if out.len() > LONGEST {
        if !out.ends_with('…') {
            out.push('…');
        }
        return;
    }
    deep(|| match &sort.kind {
        SortKind::Name(name) => out.push_str(name),
        SortKind::Container(kind, elem) => {
            out.push_str(container_name(*kind));
            out.push('(');
            write_written(elem, false, out);
            out.push(')');
        }
        SortKind::Function(domain, range) => {
            if in_function {
                out.push('(');
            }
            for (i, sort) in domain.iter().enumerate() {
                if i > 0 {
                    out.push_str(" # ");
                }
                write_written(sort, true, out);
            }
            out.push_str(" -> ");
            write_written(range, false, out);
            if in_function {
                out.push(')');
            }
        }
        SortKind::Struct(constructors) => {
            for (i, constructor) in constructors.iter().enumerate() {
                out.push_str(if i == 0 { "struct " } else { " | " });
                out.push_str(&constructor.name.name);
                for (j, (projection, sort)) in constructor.fields.iter().enumerate() {
                    out.push_str(if j == 0 { "(" } else { ", " });
                    if let Some(projection) = projection {
                        out.push_str(&projection.name);
                        out.push_str(": ");
                    }
                    write_written(sort, false, out);
                }
                if !constructor.fields.is_empty() {
                    out.push(')');
                }
                if let Some(recogniser) = &constructor.recogniser {
                    out.push('?');
                    out.push_str(&recogniser.name);
                }
            }
        }
    })
}
