//! Sort expressions to [`SortId`]s: aliases unfolded, equal sorts shared.
//!
//! Invariant: after [`Checker::declare_sorts`] two sorts of the model are equal exactly if their indices are. While
//! the `sort` section is being read this does not hold yet: the fields of structs are only looked at when every alias
//! is known (so that structs may be recursive), and equal structs are then merged.

use super::merge::renumber;
use super::{Checker, deep};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{Model, SortDef, SortId};
use crate::syntax::tree;
use crate::syntax::tree::SortKind;
use gridlock_lts::base::hash::Map;
use std::sync::Arc;

impl SortId {
    /// `Bool`.
    pub const BOOL: SortId = SortId(0);
    /// `Pos`.
    pub const POS: SortId = SortId(1);
    /// `Nat`.
    pub const NAT: SortId = SortId(2);
    /// `Int`.
    pub const INT: SortId = SortId(3);
    /// `Real`.
    pub const REAL: SortId = SortId(4);
    /// Stands for a sort whose error has been reported. Never in a finished model.
    pub(super) const ERROR: SortId = SortId(u32::MAX);

    /// Pos, Nat, Int or Real. Their indices are in the order of inclusion.
    pub fn is_number(self) -> bool {
        (SortId::POS..=SortId::REAL).contains(&self)
    }
}

pub(super) const BASIC: [(&str, SortDef); 5] = [
    ("Bool", SortDef::Bool),
    ("Pos", SortDef::Pos),
    ("Nat", SortDef::Nat),
    ("Int", SortDef::Int),
    ("Real", SortDef::Real),
];

/// A declared sort name.
#[derive(Debug)]
pub(super) enum Alias {
    /// Not looked at yet.
    Pending(tree::Sort),
    /// Being unfolded.
    Busy,
    /// This sort.
    Done(SortId),
}

/// One constructor of a struct with its sorts resolved.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ShapeConstructor {
    pub name: Arc<str>,
    pub fields: Vec<(Option<Arc<str>>, SortId)>,
    pub recogniser: Option<Arc<str>>,
}

/// A struct with its sorts resolved: structs with equal shapes are the same sort.
pub(super) type Shape = Vec<ShapeConstructor>;

/// The tables of sorts.
#[derive(Default, Debug)]
pub(super) struct SortTable {
    pub aliases: Map<Arc<str>, Alias>,
    pub index: Map<SortDef, SortId>,
    shapes: Map<Shape, SortId>,
    /// While the `sort` section is read: structs whose fields are still to be resolved.
    waiting: Option<Vec<(SortId, Vec<tree::StructConstructor>)>>,
}

impl SortTable {
    /// The tables of a finished model.
    pub fn of(model: &Model) -> Self {
        let mut table = SortTable::default();
        for (i, def) in model.sorts.iter().enumerate() {
            let id = SortId(i as u32);
            match def {
                SortDef::Named { name, .. } => {
                    table.aliases.insert(name.clone(), Alias::Done(id));
                }
                _ => {
                    table.index.insert(def.clone(), id);
                }
            }
        }
        for (i, (name, _)) in BASIC.iter().enumerate() {
            table.aliases.insert(Arc::from(*name), Alias::Done(SortId(i as u32)));
        }
        for (name, sort) in &model.sort_names {
            table.aliases.insert(name.clone(), Alias::Done(*sort));
        }
        table
    }
}

impl Checker {
    /// The index of a sort that has no name of its own.
    pub(super) fn intern(&mut self, def: SortDef) -> SortId {
        let broken = match &def {
            SortDef::List(e) | SortDef::Set(e) | SortDef::FSet(e) | SortDef::Bag(e) | SortDef::FBag(e) => {
                *e == SortId::ERROR
            }
            SortDef::Function(domain, range) => domain.contains(&SortId::ERROR) || *range == SortId::ERROR,
            _ => false,
        };
        if broken {
            return SortId::ERROR;
        }
        if let Some(&id) = self.sorts.index.get(&def) {
            return id;
        }
        let id = self.new_sort(def.clone());
        self.sorts.index.insert(def, id);
        id
    }

    fn new_sort(&mut self, def: SortDef) -> SortId {
        self.model.sorts.push(def);
        SortId(self.model.sorts.len() as u32 - 1)
    }

    /// Reads the whole `sort` section and declares the constructors, projections and recognisers of its structs.
    pub(super) fn declare_sorts(&mut self, decls: &[tree::SortDecl]) {
        self.sorts.waiting = Some(Vec::new());
        let mut fresh: Vec<&tree::SortDecl> = Vec::new();
        let mut again: Vec<&tree::SortDecl> = Vec::new();
        for decl in decls {
            let name = &decl.name;
            if BASIC.iter().any(|(basic, _)| *basic == &*name.name) {
                let message = format!("sort '{}' is built in and cannot be declared", name.name);
                self.error(Diagnostic::new(name.span, message));
                continue;
            }
            if let Some(clash) = self.sort_clash(name) {
                self.error(clash);
                continue;
            }
            if self.sorts.aliases.contains_key(&name.name) {
                again.push(decl);
                continue;
            }
            self.model.sorts_at.insert(name.name.clone(), name.span);
            let alias = match &decl.definition {
                None => Alias::Done(
                    self.new_sort(SortDef::Named { name: name.name.clone(), constructors: Vec::new() }),
                ),
                Some(definition) => Alias::Pending(definition.clone()),
            };
            self.sorts.aliases.insert(name.name.clone(), alias);
            fresh.push(decl);
        }
        let declared: Vec<SortId> =
            fresh.iter().map(|decl| self.resolve_name(&decl.name.name, decl.name.span)).collect();
        let shapes = self.resolve_waiting();
        let new_ids = self.merge_equal_structs(&shapes);
        self.sorts.waiting = None;
        for (decl, sort) in fresh.iter().zip(declared) {
            let sort = new_ids.get(sort.ix()).copied().unwrap_or(SortId::ERROR);
            self.sorts.aliases.insert(decl.name.name.clone(), Alias::Done(sort));
            self.model.sort_names.push((decl.name.name.clone(), sort));
        }
        let mut done = vec![false; self.model.sorts.len()];
        for (old, shape, spans) in shapes {
            let sort = new_ids[old.ix()];
            if std::mem::replace(&mut done[sort.ix()], true) {
                continue;
            }
            let shape = renumber(&shape, &new_ids);
            self.sorts.shapes.insert(shape.clone(), sort);
            self.declare_struct(sort, &shape, &spans);
        }
        for decl in again {
            self.check_same_sort(decl);
        }
    }

    /// A second declaration of a sort is accepted if it says the same as the first, as mCRL2 does.
    fn check_same_sort(&mut self, decl: &tree::SortDecl) {
        let Some(Alias::Done(first)) = self.sorts.aliases.get(&decl.name.name) else { return };
        let first = *first;
        let same = match &decl.definition {
            None => matches!(self.def(first), Some(SortDef::Named { name, .. })
                if *name == decl.name.name && !self.sorts.shapes.values().any(|s| *s == first)),
            Some(tree::Sort { kind: SortKind::Struct(constructors), .. }) => {
                let shape = self.shape(constructors);
                self.sorts.shapes.get(&shape) == Some(&first)
            }
            Some(definition) => self.resolve(definition) == first,
        };
        if !same && first != SortId::ERROR {
            let message = format!("sort '{}' is declared before as something else", decl.name.name);
            self.error(Diagnostic::new(decl.name.span, message));
        }
    }

    /// Resolves the fields of all structs seen so far, and of the structs inside them.
    fn resolve_waiting(&mut self) -> Vec<(SortId, Shape, Vec<tree::StructConstructor>)> {
        let mut shapes = Vec::new();
        loop {
            let batch = self.sorts.waiting.as_mut().map(std::mem::take).unwrap_or_default();
            if batch.is_empty() {
                return shapes;
            }
            for (sort, constructors) in batch {
                let shape = self.shape(&constructors);
                shapes.push((sort, shape, constructors));
            }
        }
    }

    fn shape(&mut self, constructors: &[tree::StructConstructor]) -> Shape {
        constructors
            .iter()
            .map(|c| ShapeConstructor {
                name: c.name.name.clone(),
                fields: c
                    .fields
                    .iter()
                    .map(|(projection, sort)| {
                        (projection.as_ref().map(|p| p.name.clone()), self.resolve(sort))
                    })
                    .collect(),
                recogniser: c.recogniser.as_ref().map(|r| r.name.clone()),
            })
            .collect()
    }

    /// The sort a name stands for.
    fn resolve_name(&mut self, name: &Arc<str>, span: Span) -> SortId {
        let Some(alias) = self.sorts.aliases.get_mut(name) else {
            let diagnostic = self.unknown_sort(name, span);
            self.error(diagnostic);
            return SortId::ERROR;
        };
        match std::mem::replace(alias, Alias::Busy) {
            Alias::Done(sort) => {
                *alias = Alias::Done(sort);
                sort
            }
            Alias::Busy => {
                *alias = Alias::Done(SortId::ERROR);
                self.error(
                    Diagnostic::new(span, format!("sort '{name}' is defined by itself"))
                        .help("only a struct can refer to itself, as in 'sort T = struct leaf | node(T, T)'"),
                );
                SortId::ERROR
            }
            Alias::Pending(definition) => {
                let sort = match &definition.kind {
                    SortKind::Struct(constructors) => self.new_struct(name.clone(), constructors),
                    _ => deep(|| self.resolve(&definition)),
                };
                // If the sort turned out to be its own alias, that error stays.
                let alias = self.sorts.aliases.entry(name.clone()).or_insert(Alias::Busy);
                match alias {
                    Alias::Done(error) => *error,
                    _ => {
                        *alias = Alias::Done(sort);
                        sort
                    }
                }
            }
        }
    }

    /// A struct of the `sort` section: its fields wait until all aliases are known.
    fn new_struct(&mut self, name: Arc<str>, constructors: &[tree::StructConstructor]) -> SortId {
        let sort = self.new_sort(SortDef::Named { name, constructors: Vec::new() });
        if let Some(waiting) = &mut self.sorts.waiting {
            waiting.push((sort, constructors.to_vec()));
        }
        sort
    }

    /// An unnamed struct.
    fn unnamed_struct(&mut self, sort: &tree::Sort, constructors: &[tree::StructConstructor]) -> SortId {
        let mut name = super::names::written_sort(sort);
        if name.contains('…') {
            // Cut-off names of different structs must still differ.
            name.push_str(&self.model.sorts.len().to_string());
        }
        let name: Arc<str> = name.into();
        if self.sorts.waiting.is_some() {
            return self.new_struct(name, constructors);
        }
        let shape = self.shape(constructors);
        if let Some(&sort) = self.sorts.shapes.get(&shape) {
            return sort;
        }
        // A finished model has no shapes any more, but the same text is the same struct.
        if let Some(Alias::Done(sort)) = self.sorts.aliases.get(&name) {
            return *sort;
        }
        let sort = self.new_sort(SortDef::Named { name, constructors: Vec::new() });
        self.sorts.shapes.insert(shape.clone(), sort);
        self.declare_struct(sort, &shape, constructors);
        if self.declared {
            self.check_inhabited();
        }
        sort
    }

    /// The sort a sort expression stands for.
    pub(super) fn resolve(&mut self, sort: &tree::Sort) -> SortId {
        deep(|| match &sort.kind {
            SortKind::Name(name) => self.resolve_name(name, sort.span),
            SortKind::Container(kind, elem) => {
                let elem = self.resolve(elem);
                self.container(*kind, elem)
            }
            SortKind::Struct(constructors) => self.unnamed_struct(sort, constructors),
            SortKind::Function(domain, range) => {
                let domain = domain.iter().map(|s| self.resolve(s)).collect();
                let range = self.resolve(range);
                self.intern(SortDef::Function(domain, range))
            }
        })
    }

    /// The sort of a function with these parameters; the result itself if there are none.
    pub(super) fn function_sort(&mut self, domain: Vec<SortId>, range: SortId) -> SortId {
        if domain.is_empty() { range } else { self.intern(SortDef::Function(domain, range)) }
    }
}
