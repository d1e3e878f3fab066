//! The traces that need no search because nothing after some prefix of them can violate a property.
//!
//! A prefix is struck off, with all traces that have it, if every node of the [`Relevance`] that the system may be in after
//! it is irrelevant. Invariant: of every prefix that is not struck off at least one trace is left, so a search along what
//! is left still sees all states up to where nothing matters any more.

use super::{EdgeIx, Guide, IdRange, Relevance, StateIx};
use num_bigint::BigUint;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Beginnings that are looked at, those of the most traces first. What lies behind others is left to the searches.
const MOST: usize = 4_096;

impl Guide {
    /// Trace numbers that need no search, in order.
    pub fn struck(&self, relevance: &Relevance) -> Vec<IdRange> {
        if relevance.is_empty() {
            return Vec::new();
        }
        if relevance.is_everything() {
            return vec![IdRange { start: BigUint::ZERO, size: self.traces().clone() }];
        }
        let mut struck = Vec::new();
        let mut open =
            BinaryHeap::from([(self.traces().clone(), Reverse(BigUint::ZERO), 0, relevance.begin())]);
        for _ in 0..MOST {
            let Some((_, Reverse(start), state, nodes)) = open.pop() else { break };
            let (mut ids, mut left, mut gone) = (start, false, Vec::new());
            let edges = self.edges_of(StateIx(state)).map(|e| self.edge(EdgeIx(e)));
            for edge in edges.filter(|edge| !edge.cut) {
                let size = self.weight(edge.target).clone();
                let next = relevance.follow(&nodes, edge.projection, self.locals(edge.target));
                if relevance.is_irrelevant(&next) {
                    gone.push(IdRange { start: ids.clone(), size: size.clone() });
                } else {
                    left = true;
                    open.push((size.clone(), Reverse(ids.clone()), edge.target.0, next));
                }
                ids += size;
            }
            if !left && let Some(first) = gone.first_mut() {
                first.start += 1u32;
                first.size -= 1u32;
            }
            struck.extend(gone.into_iter().filter(|range| range.size != BigUint::ZERO));
        }
        struck.sort_by(|a, b| a.start.cmp(&b.start));
        struck
    }
}
