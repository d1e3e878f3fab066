//! What inference knows of an expression's sort before its context is considered.
//!
//! A variable of sort `List(Pos)` is rigid: it is no `List(Nat)`. The literal `[1, 2]` is not: its elements can still be
//! upcast one by one. [`Ty`] keeps that difference. Invariant: `Ty::Sort` is rigid for any sort that it holds; the other
//! variants can still become larger.

use super::Checker;
use super::builtin::Builtin;
use super::deep;
use crate::model::{SortDef, SortId};
use crate::syntax::tree::Container;
use std::rc::Rc;

/// A sort as far as it is known.
#[derive(Clone, Debug)]
pub(super) enum Ty {
    /// Nothing is known: an element of `[]`, or something whose error has been reported. Fits everywhere.
    Unknown,
    /// Exactly this sort, upcasts aside.
    Sort(SortId),
    /// A container built on the spot, whose elements can still be upcast.
    Fresh(Container, Rc<Ty>),
    /// A `lambda`, whose body can still be upcast.
    Lambda(Rc<[SortId]>, Rc<Ty>),
    /// A built-in function as a value.
    Builtin(&'static Builtin),
}

/// One sort an expression can have, and how many upcasts inside it that takes.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub ty: Ty,
    pub cost: u32,
}

impl Candidate {
    pub fn free(ty: Ty) -> Self {
        Candidate { ty, cost: 0 }
    }
}

/// `FSet` is a `Set`, `FBag` is a `Bag`: the cost of seeing one container as another.
pub(super) fn container_cost(from: Container, to: Container) -> Option<u32> {
    use Container::*;
    match (from, to) {
        _ if from == to => Some(0),
        (FSet, Set) | (FBag, Bag) => Some(1),
        _ => None,
    }
}

impl Checker {
    /// The definition of a sort; `None` for the placeholder of a sort whose error has been reported.
    pub(super) fn def(&self, sort: SortId) -> Option<&SortDef> {
        self.model.sorts.get(sort.ix())
    }

    /// The sort as a type.
    pub(super) fn ty(&self, sort: SortId) -> Ty {
        if self.def(sort).is_some() { Ty::Sort(sort) } else { Ty::Unknown }
    }

    /// A container sort taken apart.
    pub(super) fn container_of(&self, sort: SortId) -> Option<(Container, SortId)> {
        Some(match *self.def(sort)? {
            SortDef::List(e) => (Container::List, e),
            SortDef::Set(e) => (Container::Set, e),
            SortDef::FSet(e) => (Container::FSet, e),
            SortDef::Bag(e) => (Container::Bag, e),
            SortDef::FBag(e) => (Container::FBag, e),
            _ => return None,
        })
    }

    /// A container type taken apart: the kind, the elements, and whether it is rigid.
    pub(super) fn container_ty(&self, ty: &Ty) -> Option<(Container, Ty, bool)> {
        match ty {
            Ty::Sort(s) => self.container_of(*s).map(|(kind, elem)| (kind, self.ty(elem), true)),
            Ty::Fresh(kind, elem) => Some((*kind, (**elem).clone(), false)),
            _ => None,
        }
    }

    /// The container sort with these elements.
    pub(super) fn container(&mut self, kind: Container, elem: SortId) -> SortId {
        self.intern(match kind {
            Container::List => SortDef::List(elem),
            Container::Set => SortDef::Set(elem),
            Container::FSet => SortDef::FSet(elem),
            Container::Bag => SortDef::Bag(elem),
            Container::FBag => SortDef::FBag(elem),
        })
    }

    /// A function sort taken apart.
    pub(super) fn function_of(&self, sort: SortId) -> Option<(&[SortId], SortId)> {
        match self.def(sort)? {
            SortDef::Function(domain, range) => Some((domain, *range)),
            _ => None,
        }
    }

    fn sort_cost(&self, from: SortId, to: SortId) -> Option<u32> {
        if from == to {
            return Some(0);
        }
        let (a, b) = (self.def(from), self.def(to));
        if a.is_none() || b.is_none() {
            return Some(0);
        }
        if from.is_number() && to.is_number() {
            return (from < to).then(|| to.0 - from.0);
        }
        match (self.container_of(from)?, self.container_of(to)?) {
            ((k, e), (l, f)) if e == f => container_cost(k, l),
            _ => None,
        }
    }

    /// How many upcasts turn `from` into `to`; `None` if there is no way.
    pub(super) fn cost(&self, from: &Ty, to: &Ty) -> Option<u32> {
        match (from, to) {
            (Ty::Unknown, _) | (_, Ty::Unknown) => Some(0),
            (Ty::Sort(a), Ty::Sort(b)) => self.sort_cost(*a, *b),
            (Ty::Builtin(a), Ty::Builtin(b)) => std::ptr::eq(*a, *b).then_some(0),
            (Ty::Builtin(b), Ty::Sort(s)) => self.signature_for(b, *s).map(|_| 1),
            (Ty::Lambda(d, c), Ty::Sort(s)) => {
                let (domain, range) = self.function_of(*s)?;
                if domain == &**d { deep(|| self.cost(c, &self.ty(range))) } else { None }
            }
            (Ty::Sort(s), Ty::Lambda(d, c)) => {
                let (domain, range) = self.function_of(*s)?;
                (domain == &**d && self.cost(&self.ty(range), c) == Some(0)).then_some(0)
            }
            (Ty::Lambda(d, c), Ty::Lambda(e, f)) => {
                if d == e {
                    deep(|| self.cost(c, f))
                } else {
                    None
                }
            }
            _ => {
                let (k, e, rigid) = self.container_ty(from)?;
                let (l, f, _) = self.container_ty(to)?;
                let kind = container_cost(k, l)?;
                let elem = deep(|| self.cost(&e, &f))?;
                (!rigid || elem == 0).then_some(kind + elem)
            }
        }
    }

    /// The smallest type both fit into.
    pub(super) fn join(&mut self, a: &Ty, b: &Ty) -> Option<Ty> {
        for (x, y) in [(a, b), (b, a)] {
            // A rigid sort never becomes fresh again, even where the costs are equal.
            if (matches!(y, Ty::Sort(_) | Ty::Builtin(_)) || matches!(x, Ty::Unknown))
                && self.cost(x, y).is_some()
            {
                return Some(y.clone());
            }
        }
        if let (Ty::Lambda(d, c), Ty::Lambda(e, f)) = (a, b) {
            let range = if d == e { deep(|| self.join(c, f))? } else { return None };
            return Some(Ty::Lambda(d.clone(), Rc::new(range)));
        }
        let (k, e, a_rigid) = self.container_ty(a)?;
        let (l, f, b_rigid) = self.container_ty(b)?;
        let kind = if container_cost(k, l).is_some() { l } else { container_cost(l, k).map(|_| k)? };
        if !a_rigid && !b_rigid {
            let elem = deep(|| self.join(&e, &f))?;
            return Some(Ty::Fresh(kind, Rc::new(elem)));
        }
        let rigid = if a_rigid { &e } else { &f };
        let Ty::Sort(elem) = *rigid else { return Some(Ty::Unknown) };
        let joined = Ty::Sort(self.container(kind, elem));
        let fits = self.kind_fits(a, &joined) && self.kind_fits(b, &joined);
        fits.then_some(joined)
    }

    fn kind_fits(&self, from: &Ty, to: &Ty) -> bool {
        self.cost(from, to).is_some()
    }

    /// A sort of this type: what is unknown is settled arbitrarily, since nothing can tell the difference.
    pub(super) fn concrete(&mut self, ty: &Ty) -> SortId {
        match ty {
            Ty::Unknown => SortId::BOOL,
            Ty::Sort(s) => *s,
            Ty::Fresh(kind, elem) => {
                let elem = deep(|| self.concrete(elem));
                self.container(*kind, elem)
            }
            Ty::Lambda(domain, range) => {
                let range = deep(|| self.concrete(range));
                self.intern(SortDef::Function(domain.to_vec(), range))
            }
            Ty::Builtin(builtin) => self.default_sort(builtin),
        }
    }
}
