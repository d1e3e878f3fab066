//! The values of finite sorts, in a fixed order, computed once.

use crate::data::value::{Function, Number, Set, Value};
use crate::model::{Model, SortDef, SortId};
use std::cell::RefCell;
use std::sync::Arc;

/// Above this many values a sort counts as too large to enumerate.
pub const MAX_VALUES: usize = 1 << 20;

/// Sizes and enumerations of the sorts of a model.
#[derive(Debug)]
pub struct Sorts {
    /// The number of values of each sort, if it is finite and at most [`MAX_VALUES`].
    sizes: Vec<Option<usize>>,
    values: RefCell<Vec<Option<Arc<Vec<Value>>>>>,
    /// Whether values of the sort may need [`crate::data::eval::Evaluator::canonical`]: it contains a function.
    functional: Vec<bool>,
}

impl Sorts {
    /// Works out which sorts are finite.
    pub fn new(model: &Model) -> Self {
        let n = model.sorts.len();
        let mut sizes = vec![None; n];
        // Least fixpoint from below: a sort is finite if all its parts are. A recursive sort never becomes finite.
        loop {
            let mut changed = false;
            for s in 0..n {
                if sizes[s].is_none()
                    && let Some(size) = size_of(model, &sizes, SortId(s as u32))
                {
                    sizes[s] = Some(size);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let mut functional: Vec<bool> = model
            .sorts
            .iter()
            .map(|s| matches!(s, SortDef::Function(..) | SortDef::Set(_) | SortDef::Bag(_)))
            .collect();
        loop {
            let mut changed = false;
            for (s, def) in model.sorts.iter().enumerate() {
                let inside = match def {
                    SortDef::List(e) | SortDef::FSet(e) | SortDef::FBag(e) => functional[e.ix()],
                    SortDef::Named { constructors, .. } => constructors
                        .iter()
                        .any(|c| model.constructors[c.ix()].fields.iter().any(|f| functional[f.ix()])),
                    _ => false,
                };
                if inside && !functional[s] {
                    functional[s] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        Sorts { sizes, values: RefCell::new(vec![None; n]), functional }
    }

    /// The number of values, if finite and not too large.
    pub fn size(&self, sort: SortId) -> Option<usize> {
        self.sizes[sort.ix()]
    }

    /// Whether values of the sort may contain functions.
    pub fn is_functional(&self, sort: SortId) -> bool {
        self.functional[sort.ix()]
    }

    /// All values of a finite sort, ascending.
    pub fn values(&self, model: &Model, sort: SortId) -> Option<Arc<Vec<Value>>> {
        self.sizes[sort.ix()]?;
        if let Some(values) = &self.values.borrow()[sort.ix()] {
            return Some(values.clone());
        }
        let values = Arc::new(self.enumerate(model, sort)?);
        self.values.borrow_mut()[sort.ix()] = Some(values.clone());
        Some(values)
    }

    fn enumerate(&self, model: &Model, sort: SortId) -> Option<Vec<Value>> {
        Some(match &model.sorts[sort.ix()] {
            SortDef::Bool => vec![Value::Bool(false), Value::Bool(true)],
            SortDef::Set(e) | SortDef::FSet(e) => {
                let elements = self.values(model, *e)?;
                let mut sets: Vec<Value> = (0..1usize << elements.len())
                    .map(|mask| {
                        let chosen = elements
                            .iter()
                            .enumerate()
                            .filter(|(i, _)| mask >> i & 1 == 1)
                            .map(|(_, v)| v.clone());
                        Value::Set(Arc::new(Set::Finite(chosen.collect())))
                    })
                    .collect();
                sets.sort();
                sets
            }
            SortDef::Function(domain, range) => {
                let points =
                    product(&domain.iter().map(|d| self.values(model, *d)).collect::<Option<Vec<_>>>()?)
                        .len();
                let range = self.values(model, *range)?;
                product(&vec![range; points])
                    .into_iter()
                    .map(|table| Value::Function(Arc::new(Function::Table(sort, table))))
                    .collect()
            }
            SortDef::Named { constructors, .. } => {
                let mut all = Vec::new();
                for &c in constructors {
                    let fields = &model.constructors[c.ix()].fields;
                    let fields = fields.iter().map(|f| self.values(model, *f)).collect::<Option<Vec<_>>>()?;
                    all.extend(product(&fields).into_iter().map(|args| Value::Ctor(c, args.into())));
                }
                all
            }
            _ => return None,
        })
    }
}

/// All combinations of one value from each list, the last position changing fastest.
pub fn product(lists: &[Arc<Vec<Value>>]) -> Vec<Vec<Value>> {
    let mut all = vec![Vec::new()];
    for list in lists {
        all = all
            .into_iter()
            .flat_map(|prefix: Vec<Value>| {
                list.iter().map(move |v| {
                    let mut row = prefix.clone();
                    row.push(v.clone());
                    row
                })
            })
            .collect();
    }
    all
}

fn size_of(model: &Model, sizes: &[Option<usize>], sort: SortId) -> Option<usize> {
    let limited = |n: Option<usize>| n.filter(|&n| n <= MAX_VALUES);
    match &model.sorts[sort.ix()] {
        SortDef::Bool => Some(2),
        SortDef::Set(e) | SortDef::FSet(e) => {
            limited(2usize.checked_pow(u32::try_from(sizes[e.ix()]?).ok()?))
        }
        SortDef::Function(domain, range) => {
            let points = domain.iter().try_fold(1usize, |n, d| limited(n.checked_mul(sizes[d.ix()]?)))?;
            limited(sizes[range.ix()]?.checked_pow(u32::try_from(points).ok()?))
        }
        SortDef::Named { constructors, .. } if !constructors.is_empty() => {
            constructors.iter().try_fold(0usize, |sum, c| {
                let fields = &model.constructors[c.ix()].fields;
                let n = fields.iter().try_fold(1usize, |n, f| limited(n.checked_mul(sizes[f.ix()]?)))?;
                limited(sum.checked_add(n))
            })
        }
        _ => None,
    }
}

/// The value that stands for "nothing yet" in frames; never visible to a specification.
pub fn placeholder() -> Value {
    Value::Bool(false)
}

/// Whether a value lies in a numeric sort (any value lies in any other sort).
pub fn fits(def: &SortDef, value: &Value) -> bool {
    match (def, value) {
        (SortDef::Pos, Value::Number(n)) => !matches!(n, Number::Ratio(_)) && *n >= Number::Small(1),
        (SortDef::Nat, Value::Number(n)) => !matches!(n, Number::Ratio(_)) && !n.is_negative(),
        (SortDef::Int, Value::Number(n)) => !matches!(n, Number::Ratio(_)),
        _ => true,
    }
}
