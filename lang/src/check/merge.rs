//! Structs with the same constructors, fields, projections and recognisers are one sort, even under different names.
//!
//! Runs once, after the `sort` section: equal sorts are merged until nothing changes, since merging two structs can
//! make the sorts built from them equal.

use super::Checker;
use super::sorts::Shape;
use crate::model::{SortDef, SortId};
use crate::syntax::tree;
use gridlock_lts::base::hash::Map;
use std::sync::Arc;

impl Checker {
    /// Merges sorts that are equal, rebuilds the table without the doubles and says what became of each old index.
    pub(super) fn merge_equal_structs(
        &mut self,
        shapes: &[(SortId, Shape, Vec<tree::StructConstructor>)],
    ) -> Vec<SortId> {
        let old = std::mem::take(&mut self.model.sorts);
        let mut new_ids = representatives(&old, shapes);
        // Close the gaps that the doubles leave.
        let mut position = vec![SortId::ERROR; old.len()];
        let mut kept = 0;
        for i in 0..old.len() {
            if new_ids[i].ix() == i {
                position[i] = SortId(kept);
                kept += 1;
            }
        }
        for id in &mut new_ids {
            *id = position[id.ix()];
        }
        self.rebuild_sorts(&old, &new_ids, kept as usize);
        new_ids
    }

    fn rebuild_sorts(&mut self, old: &[SortDef], new_ids: &[SortId], kept: usize) {
        self.sorts.index.clear();
        let mut named: Vec<Option<Arc<str>>> = vec![None; kept];
        for (def, id) in old.iter().zip(new_ids) {
            if let SortDef::Named { name, .. } = def {
                // A declared name wins over the printed text of the same struct without one.
                let slot = &mut named[id.ix()];
                if slot.as_ref().is_none_or(|n| n.starts_with("struct ") && !name.starts_with("struct ")) {
                    *slot = Some(name.clone());
                }
            }
        }
        for (def, id) in old.iter().zip(new_ids) {
            if id.ix() != self.model.sorts.len() {
                continue;
            }
            let def = match (named[id.ix()].take(), def) {
                // Only sorts that were there before have any yet.
                (Some(name), SortDef::Named { constructors, .. }) => {
                    SortDef::Named { name, constructors: constructors.clone() }
                }
                _ => renumber_def(def, new_ids),
            };
            if !matches!(def, SortDef::Named { .. }) {
                self.sorts.index.insert(def.clone(), *id);
            }
            self.model.sorts.push(def);
        }
    }
}

/// For each sort the first one that is equal to it.
fn representatives(old: &[SortDef], shapes: &[(SortId, Shape, Vec<tree::StructConstructor>)]) -> Vec<SortId> {
    let mut first_equal: Vec<SortId> = (0..old.len()).map(|i| SortId(i as u32)).collect();
    let mut shape_of: Vec<Option<&Shape>> = vec![None; old.len()];
    for (sort, shape, _) in shapes {
        shape_of[sort.ix()] = Some(shape);
    }
    // Each round sees the merges of the one before; most specifications need one round.
    loop {
        let mut defs: Map<SortDef, SortId> = Map::default();
        let mut structs: Map<Shape, SortId> = Map::default();
        let mut changed = false;
        for i in 0..old.len() {
            let own = SortId(i as u32);
            let first = match (&old[i], shape_of[i]) {
                (_, Some(shape)) => *structs.entry(renumber(shape, &first_equal)).or_insert(own),
                (SortDef::Named { .. }, None) => own,
                (def, None) => *defs.entry(renumber_def(def, &first_equal)).or_insert(own),
            };
            let target = first_equal[first.ix()].min(first);
            changed |= first_equal[i] != target;
            first_equal[i] = target;
        }
        if !changed {
            return first_equal;
        }
    }
}

pub(super) fn renumber(shape: &Shape, new_ids: &[SortId]) -> Shape {
    let new_id = |id: SortId| new_ids.get(id.ix()).copied().unwrap_or(SortId::ERROR);
    let mut shape = shape.clone();
    for constructor in &mut shape {
        for (_, sort) in &mut constructor.fields {
            *sort = new_id(*sort);
        }
    }
    shape
}

fn renumber_def(def: &SortDef, new_ids: &[SortId]) -> SortDef {
    let new_id = |id: &SortId| new_ids[id.ix()];
    match def {
        SortDef::List(e) => SortDef::List(new_id(e)),
        SortDef::Set(e) => SortDef::Set(new_id(e)),
        SortDef::FSet(e) => SortDef::FSet(new_id(e)),
        SortDef::Bag(e) => SortDef::Bag(new_id(e)),
        SortDef::FBag(e) => SortDef::FBag(new_id(e)),
        SortDef::Function(domain, range) => {
            SortDef::Function(domain.iter().map(new_id).collect(), new_id(range))
        }
        other => other.clone(),
    }
}
