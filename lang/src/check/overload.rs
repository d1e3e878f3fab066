//! Overload resolution of one application: which versions of a function fit these arguments, and at what cost.
//!
//! Arguments enter with all the sorts they can have ([`Candidate`]); each version that fits yields a [`Choice`]. The
//! work is polynomial: for a declared function the arguments are looked at one by one, and for a built-in at most two
//! arguments depend on each other.

use super::Checker;
use super::builtin::{Builtin, Signature, Slot, generic_order};
use super::types::{Candidate, Ty, container_cost};
use crate::model::{SortDef, SortId, Symbol};
use crate::syntax::tree::Container;
use std::rc::Rc;

/// The candidates of an expression; never empty.
pub(super) type Candidates = Rc<[Candidate]>;

/// A way to read an application.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub symbol: Symbol,
    /// The sorts the arguments are to have; empty for a built-in as long as no result was wanted.
    pub params: Vec<SortId>,
    /// The sort of the symbol itself is a function from `params` to this.
    pub result: Ty,
    pub cost: u32,
}

/// What is known of a signature's element sort.
#[derive(Clone, Debug)]
struct Binding {
    lower: Ty,
    exact: Option<SortId>,
}

impl Binding {
    fn value(&self) -> Ty {
        self.exact.map_or_else(|| self.lower.clone(), Ty::Sort)
    }
}

impl Checker {
    /// The least cost at which one of the candidates fits.
    pub(super) fn fit(&self, candidates: &[Candidate], to: &Ty) -> Option<u32> {
        candidates.iter().filter_map(|c| Some(self.cost(&c.ty, to)?.saturating_add(c.cost))).min()
    }

    /// The least cost at which all arguments fit parameters of these sorts.
    pub(super) fn fit_all(&self, args: &[Candidates], params: &[SortId]) -> Option<u32> {
        if args.len() != params.len() {
            return None;
        }
        let mut costs = args.iter().zip(params).map(|(arg, param)| self.fit(arg, &self.ty(*param)));
        costs.try_fold(0u32, |sum, cost| Some(sum.saturating_add(cost?)))
    }

    /// The declared functions of this name that fit the arguments.
    pub(super) fn declared_choices(&self, name: &str, args: &[Candidates]) -> Vec<Choice> {
        let mut choices = Vec::new();
        for entry in self.symbols.get(name).map_or(&[][..], |entries| entries) {
            if entry.sort == SortId::ERROR {
                let params = vec![SortId::ERROR; args.len()];
                choices.push(Choice { symbol: entry.symbol, params, result: Ty::Unknown, cost: 0 });
                continue;
            }
            let Some((domain, range)) = self.function_of(entry.sort) else { continue };
            let Some(cost) = self.fit_all(args, domain) else { continue };
            let result = self.ty(range);
            choices.push(Choice { symbol: entry.symbol, params: domain.to_vec(), result, cost });
        }
        choices
    }

    /// The versions of a built-in that fit the arguments, and the wanted result if there is one.
    pub(super) fn builtin_choices(
        &mut self,
        builtin: &'static Builtin,
        args: &[Candidates],
        want: Option<SortId>,
    ) -> Vec<Choice> {
        let mut choices = Vec::new();
        for signature in builtin.signatures {
            if signature.params.len() == args.len() {
                self.signature_choices(signature, args, want, &mut choices);
            }
        }
        choices
    }

    fn signature_choices(
        &mut self,
        signature: &Signature,
        args: &[Candidates],
        want: Option<SortId>,
        choices: &mut Vec<Choice>,
    ) {
        let mut fixed = 0u32;
        let mut open: Vec<usize> = Vec::new();
        for (i, (slot, arg)) in signature.params.iter().zip(args).enumerate() {
            match slot {
                Slot::Is(sort) => match self.fit(arg, &Ty::Sort(*sort)) {
                    Some(cost) => fixed = fixed.saturating_add(cost),
                    None => return,
                },
                _ => open.push(i),
            }
        }
        let none: Candidates = Rc::new([Candidate::free(Ty::Unknown)]);
        let first = open.first().map_or(&none, |&i| &args[i]);
        let second = open.get(1).map_or(&none, |&i| &args[i]);
        for a in first.iter() {
            for b in second.iter() {
                let picks: Vec<(Slot, &Ty)> =
                    open.iter().map(|&i| signature.params[i]).zip([&a.ty, &b.ty]).collect();
                let Some((binding, cost)) = self.bind(signature, &picks, want) else { continue };
                let cost = cost.saturating_add(fixed).saturating_add(a.cost).saturating_add(b.cost);
                choices.push(self.instance(signature, &binding, cost, want.is_some()));
            }
        }
    }

    /// Finds the element sort that fits the arguments and the wanted result.
    fn bind(
        &mut self,
        signature: &Signature,
        picks: &[(Slot, &Ty)],
        want: Option<SortId>,
    ) -> Option<(Binding, u32)> {
        let mut binding = Binding { lower: Ty::Unknown, exact: None };
        let mut kinds = 0u32;
        for (slot, ty) in picks {
            match slot {
                Slot::Of(kind) if !matches!(ty, Ty::Unknown) => {
                    let (found, elem, rigid) = self.container_ty(ty)?;
                    kinds += container_cost(found, *kind)?;
                    match elem {
                        Ty::Sort(elem) if rigid => self.bind_exact(&mut binding, elem)?,
                        elem => self.bind_lower(&mut binding, &elem)?,
                    }
                }
                Slot::Of(_) | Slot::Is(_) => {}
                Slot::Elem => self.bind_lower(&mut binding, ty)?,
            }
        }
        if let Some(want) = want {
            self.bind_result(&mut binding, signature.result, want)?;
        }
        let value = binding.value();
        if generic_order(signature.op)
            && matches!(self.container_ty(&value), Some((kind, _, _)) if kind != Container::List)
        {
            return None;
        }
        for (slot, ty) in picks {
            let elem = match slot {
                Slot::Elem => (*ty).clone(),
                _ => self.container_ty(ty).map_or(Ty::Unknown, |(_, elem, _)| elem),
            };
            kinds = kinds.saturating_add(self.cost(&elem, &value)?);
        }
        Some((binding, kinds))
    }

    fn bind_lower(&mut self, binding: &mut Binding, ty: &Ty) -> Option<()> {
        match binding.exact {
            Some(exact) => self.cost(ty, &Ty::Sort(exact)).map(|_| ()),
            None => {
                binding.lower = self.join(&binding.lower, ty)?;
                Some(())
            }
        }
    }

    fn bind_exact(&mut self, binding: &mut Binding, sort: SortId) -> Option<()> {
        match binding.exact {
            Some(exact) => (exact == sort).then_some(()),
            None => {
                self.cost(&binding.lower, &Ty::Sort(sort))?;
                binding.exact = Some(sort);
                Some(())
            }
        }
    }

    fn bind_result(&mut self, binding: &mut Binding, result: Slot, want: SortId) -> Option<()> {
        if self.def(want).is_none() {
            return Some(());
        }
        match result {
            Slot::Is(sort) => self.cost(&Ty::Sort(sort), &Ty::Sort(want)).map(|_| ()),
            Slot::Elem => match binding.exact {
                Some(exact) => self.cost(&Ty::Sort(exact), &Ty::Sort(want)).map(|_| ()),
                None => self.bind_exact(binding, want),
            },
            Slot::Of(kind) => {
                let (wanted, elem) = self.container_of(want)?;
                container_cost(kind, wanted)?;
                self.bind_exact(binding, elem)
            }
        }
    }

    /// The choice for a signature and its element sort. The parameters are settled only where the result is: before
    /// that nothing asks for them.
    fn instance(&mut self, signature: &Signature, binding: &Binding, cost: u32, settled: bool) -> Choice {
        let value = binding.value();
        let params = if settled {
            let elem = self.concrete(&value);
            signature.params.iter().map(|slot| self.slot_sort(*slot, elem)).collect()
        } else {
            Vec::new()
        };
        let result = match (signature.result, binding.exact) {
            (Slot::Is(sort), _) => Ty::Sort(sort),
            (Slot::Elem, _) => value,
            (Slot::Of(kind), Some(elem)) => Ty::Sort(self.container(kind, elem)),
            (Slot::Of(kind), None) => Ty::Fresh(kind, Rc::new(value)),
        };
        Choice { symbol: Symbol::Op(signature.op), params, result, cost }
    }

    fn slot_sort(&mut self, slot: Slot, elem: SortId) -> SortId {
        match slot {
            Slot::Is(sort) => sort,
            Slot::Elem => elem,
            Slot::Of(kind) => self.container(kind, elem),
        }
    }

    /// The version of a built-in that can stand for a value of this function sort.
    pub(super) fn signature_for(
        &self,
        builtin: &'static Builtin,
        sort: SortId,
    ) -> Option<&'static Signature> {
        let (domain, range) = self.function_of(sort)?;
        let matches = |signature: &&Signature| {
            let mut elem: Option<SortId> = None;
            let mut same = |sort: SortId| *elem.get_or_insert(sort) == sort;
            let mut fits = |slot: Slot, sort: SortId, upcast: bool| match slot {
                Slot::Is(s) => {
                    let (from, to) = if upcast { (s, sort) } else { (sort, s) };
                    self.cost(&Ty::Sort(from), &Ty::Sort(to)).is_some()
                }
                Slot::Elem => same(sort),
                Slot::Of(kind) => {
                    self.container_of(sort).is_some_and(|(found, elem)| found == kind && same(elem))
                }
            };
            signature.params.len() == domain.len()
                && signature.params.iter().zip(domain).all(|(slot, sort)| fits(*slot, *sort, false))
                && fits(signature.result, range, true)
        };
        builtin.signatures.iter().find(matches)
    }

    /// Some function sort of a built-in, for a place that asks for none in particular.
    pub(super) fn default_sort(&mut self, builtin: &'static Builtin) -> SortId {
        let signature = &builtin.signatures[0];
        let domain = signature.params.iter().map(|slot| self.slot_sort(*slot, SortId::BOOL)).collect();
        let range = self.slot_sort(signature.result, SortId::BOOL);
        self.intern(SortDef::Function(domain, range))
    }

    /// Drops the candidates that another one makes superfluous: one that costs no more and fits everywhere they do.
    pub(super) fn prune(&self, mut found: Vec<Candidate>) -> Candidates {
        found.sort_by_key(|c| c.cost);
        let mut kept: Vec<Candidate> = Vec::new();
        for candidate in found {
            let rigid = matches!(candidate.ty, Ty::Sort(_));
            let covers = |k: &Candidate| {
                (rigid || !matches!(k.ty, Ty::Sort(_))) && self.cost(&k.ty, &candidate.ty).is_some()
            };
            if !kept.iter().any(covers) {
                kept.push(candidate);
            }
        }
        kept.into()
    }
}
