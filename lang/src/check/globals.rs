//! Global variables (`glob`): any value of its sort is right for each, so one is taken.
//!
//! Each becomes a mapping whose only equation is the value: `false`, 0 or 1, an empty list, set or bag, the constructor
//! that needs the fewest values below it, a function that is the same everywhere. A sort without constructors has no
//! values to take, and the variable stands for itself.

use super::Checker;
use crate::model::{Clause, Expr, ExprKind, FuncId, SortDef, SortId, Symbol};
use crate::syntax::tree::VarDecl;
use gridlock_lts::base::hash::Map;

impl Checker {
    /// Declares the variables, as mappings without arguments.
    pub(super) fn declare_globals(&mut self, globals: &[VarDecl]) {
        for global in globals {
            let sort = self.resolve(&global.sort);
            self.add_function(&global.name, sort, Vec::new());
        }
    }

    /// Takes a value for each. All constructors are known by now, and no sort is empty unless that was reported.
    pub(super) fn choose_globals(&mut self, globals: &[VarDecl]) {
        if globals.is_empty() || !self.errors.is_empty() {
            return;
        }
        let depths = self.depths();
        for global in globals {
            let is_this = |f: &crate::model::Function| f.span == global.name.span;
            let Some(at) = self.model.functions.iter().position(is_this) else { continue };
            let sort = self.model.functions[at].sort;
            let span = global.name.span;
            if let Some(kind) = self.some_value(sort, &depths, span) {
                let right = Expr { kind, sort, span };
                self.model.functions[at].clauses.push(Clause {
                    groups: Vec::new(),
                    condition: None,
                    right,
                    span,
                });
            }
            self.model.globals.push(FuncId(at as u32));
        }
    }

    /// How many levels of constructors the smallest value of each named sort has; none for sorts without values.
    fn depths(&self) -> Map<SortId, u32> {
        let mut depths: Map<SortId, u32> = Map::default();
        loop {
            let mut changed = false;
            for at in 0..self.model.sorts.len() {
                let sort = SortId(at as u32);
                if depths.contains_key(&sort) {
                    continue;
                }
                let depth = match &self.model.sorts[at] {
                    SortDef::Named { constructors, .. } => constructors
                        .iter()
                        .filter_map(|c| {
                            let fields = &self.model.constructors[c.ix()].fields;
                            let mut below = fields.iter().map(|field| depths.get(field).copied());
                            below.try_fold(0, |most, depth| Some(depth?.max(most))).map(|most| most + 1)
                        })
                        .min(),
                    SortDef::Function(_, range) => depths.get(range).copied(),
                    _ => Some(0),
                };
                if let Some(depth) = depth {
                    depths.insert(sort, depth);
                    changed = true;
                }
            }
            if !changed {
                return depths;
            }
        }
    }

    fn some_value(
        &mut self,
        sort: SortId,
        depths: &Map<SortId, u32>,
        span: crate::diagnostic::Span,
    ) -> Option<ExprKind> {
        Some(match self.model.sorts.get(sort.ix())?.clone() {
            SortDef::Bool => ExprKind::Bool(false),
            SortDef::Pos => ExprKind::Number(1.into()),
            SortDef::Nat | SortDef::Int | SortDef::Real => ExprKind::Number(0.into()),
            SortDef::List(_) => ExprKind::List(Vec::new()),
            SortDef::Set(_) | SortDef::FSet(_) => ExprKind::Set(Vec::new()),
            SortDef::Bag(_) | SortDef::FBag(_) => ExprKind::Bag(Vec::new()),
            SortDef::Function(domain, range) => {
                let kind = self.some_value(range, depths, span)?;
                let vars = domain.iter().map(|&s| self.new_var("x".into(), s, span)).collect();
                ExprKind::Lambda(vars, Box::new(Expr { kind, sort: range, span }))
            }
            SortDef::Named { constructors, .. } => {
                let own = *depths.get(&sort)?;
                let fits = |fields: &[SortId]| fields.iter().all(|f| depths.get(f).is_some_and(|d| *d < own));
                let ctor = *constructors.iter().find(|c| fits(&self.model.constructors[c.ix()].fields))?;
                let fields = self.model.constructors[ctor.ix()].fields.clone();
                let mut args = Vec::with_capacity(fields.len());
                for field in &fields {
                    let kind = self.some_value(*field, depths, span)?;
                    args.push(Expr { kind, sort: *field, span });
                }
                let symbol = ExprKind::Symbol(Symbol::Ctor(ctor));
                if args.is_empty() {
                    return Some(symbol);
                }
                let own_sort = self.function_sort(fields, sort);
                ExprKind::Apply(Box::new(Expr { kind: symbol, sort: own_sort, span }), args)
            }
        })
    }
}
