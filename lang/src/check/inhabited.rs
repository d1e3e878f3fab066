//! Sorts without values, and sorts that contain functions over themselves. mCRL2 rejects both; here the second would
//! make enumerating a sort run in circles.

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::model::{SortDef, SortId};

impl Checker {
    /// Reports every sort with constructors that has no value, and every sort that contains functions, sets or bags
    /// over itself. Each sort is reported once.
    pub(super) fn check_inhabited(&mut self) {
        for sort in self.empty_sorts() {
            let message = format!(
                "sort {} has no values: each of its constructors needs a value of it first",
                self.model.sort_name(sort)
            );
            self.report_sort(sort, message, "add a constructor that does not refer to the sort itself");
        }
        for sort in self.sorts_through_functions() {
            let message = format!(
                "sort {} is defined by itself through a function sort, Set or Bag",
                self.model.sort_name(sort)
            );
            self.report_sort(sort, message, "use List, FSet or FBag inside a recursive struct");
        }
    }

    fn report_sort(&mut self, sort: SortId, message: String, help: &str) {
        if !self.reported_sorts.insert(sort) {
            return;
        }
        let Some(SortDef::Named { constructors, .. }) = self.def(sort) else { return };
        let Some(first) = constructors.first() else { return };
        let span = self.constructor_spans[first.ix()];
        self.error(Diagnostic::new(span, message).help(help));
    }

    /// The sorts with constructors of which no value can be built, by fixpoint from those that have one.
    fn empty_sorts(&self) -> Vec<SortId> {
        let sorts = &self.model.sorts;
        let mut inhabited: Vec<bool> = sorts
            .iter()
            .map(|def| match def {
                SortDef::Named { constructors, .. } => constructors.is_empty(),
                SortDef::Function(..) => false,
                _ => true,
            })
            .collect();
        loop {
            let mut changed = false;
            for (i, def) in sorts.iter().enumerate() {
                if inhabited[i] {
                    continue;
                }
                let has = |s: &SortId| inhabited.get(s.ix()).copied().unwrap_or(true);
                let now = match def {
                    SortDef::Named { constructors, .. } => {
                        constructors.iter().any(|c| self.model.constructors[c.ix()].fields.iter().all(has))
                    }
                    SortDef::Function(_, range) => has(range),
                    _ => true,
                };
                inhabited[i] = now;
                changed |= now;
            }
            if !changed {
                break;
            }
        }
        let empty = |&i: &usize| !inhabited[i] && matches!(sorts[i], SortDef::Named { .. });
        (0..sorts.len()).filter(empty).map(|i| SortId(i as u32)).collect()
    }

    /// The named sorts on a cycle of the sort graph that passes through a function sort, a Set or a Bag.
    fn sorts_through_functions(&self) -> Vec<SortId> {
        let component = self.components();
        let mut bad: Vec<u32> = Vec::new();
        for (i, def) in self.model.sorts.iter().enumerate() {
            if matches!(def, SortDef::Function(..) | SortDef::Set(_) | SortDef::Bag(_)) {
                let own = component[i];
                if self.parts(SortId(i as u32)).iter().any(|p| component[p.ix()] == own) {
                    bad.push(own);
                }
            }
        }
        let mut result = Vec::new();
        for (i, def) in self.model.sorts.iter().enumerate() {
            if matches!(def, SortDef::Named { .. }) && bad.contains(&component[i]) {
                // One report for each cycle is enough.
                bad.retain(|c| *c != component[i]);
                result.push(SortId(i as u32));
            }
        }
        result
    }

    /// The sorts a sort is directly made of.
    fn parts(&self, sort: SortId) -> Vec<SortId> {
        let mut parts = match &self.model.sorts[sort.ix()] {
            SortDef::List(e) | SortDef::Set(e) | SortDef::FSet(e) | SortDef::Bag(e) | SortDef::FBag(e) => {
                vec![*e]
            }
            SortDef::Function(domain, range) => domain.iter().copied().chain([*range]).collect(),
            SortDef::Named { constructors, .. } => constructors
                .iter()
                .flat_map(|c| self.model.constructors[c.ix()].fields.iter().copied())
                .collect(),
            _ => Vec::new(),
        };
        parts.retain(|p| *p != SortId::ERROR);
        parts
    }

    /// The strongly connected component of each sort (Tarjan, without recursion).
    fn components(&self) -> Vec<u32> {
        const UNSEEN: u32 = u32::MAX;
        let n = self.model.sorts.len();
        let (mut order, mut low, mut component) = (vec![UNSEEN; n], vec![0u32; n], vec![UNSEEN; n]);
        let (mut next, mut components) = (0u32, 0u32);
        let mut open: Vec<usize> = Vec::new();
        for root in 0..n {
            if order[root] != UNSEEN {
                continue;
            }
            let mut path: Vec<(usize, Vec<SortId>)> = vec![(root, self.parts(SortId(root as u32)))];
            (order[root], low[root]) = (next, next);
            next += 1;
            open.push(root);
            while let Some((node, parts)) = path.last_mut() {
                let node = *node;
                if let Some(part) = parts.pop() {
                    let part = part.ix();
                    if order[part] == UNSEEN {
                        (order[part], low[part]) = (next, next);
                        next += 1;
                        open.push(part);
                        path.push((part, self.parts(SortId(part as u32))));
                    } else if component[part] == UNSEEN {
                        low[node] = low[node].min(order[part]);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    low[*parent] = low[*parent].min(low[node]);
                }
                if low[node] == order[node] {
                    while let Some(member) = open.pop() {
                        component[member] = components;
                        if member == node {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        component
    }
}
