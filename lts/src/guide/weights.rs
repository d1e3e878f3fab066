//! From a graph to a guide: weights, bottom up.

use super::projection::Projections;
use super::{Edge, Guide, StateIx};
use crate::model::network::Local;
use num_bigint::BigUint;

/// A graph whose states are numbered; targets that are cut lie behind them in `locals`.
pub(super) struct Graph {
    pub(super) locals: Vec<Local>,
    pub(super) edges: Vec<Vec<Edge>>,
}

impl Graph {
    /// Counts the traces. The graph without its cut edges must be acyclic.
    pub(super) fn weighed(self, projections: Projections) -> Guide {
        let mut weights = vec![BigUint::ZERO; self.edges.len()];
        let mut done = vec![false; self.edges.len()];
        // Depth first with a stack of its own: graphs are deeper than the machine's stack.
        let mut stack = vec![(0usize, 0usize)];
        while let Some(top) = stack.last_mut() {
            let (state, next) = *top;
            top.1 += 1;
            match self.edges[state].get(next) {
                Some(edge) if edge.cut || done[edge.target.0 as usize] => {}
                Some(edge) => stack.push((edge.target.0 as usize, 0)),
                None => {
                    let uncut = || self.edges[state].iter().filter(|edge| !edge.cut);
                    weights[state] = match uncut().next() {
                        None => BigUint::from(1u32),
                        Some(_) => uncut().map(|edge| &weights[edge.target.0 as usize]).sum(),
                    };
                    done[state] = true;
                    stack.pop();
                }
            }
        }
        let mut first = vec![0u32];
        let mut edges = Vec::new();
        for of_state in self.edges {
            edges.extend(of_state);
            first.push(u32::try_from(edges.len()).expect("fewer than 2^32 edges"));
        }
        Guide { projections, locals: self.locals, first, edges, weights }
    }
}

/// Numbers for things in the order in which they are first seen, up to a limit.
pub(super) fn state_ix(number: usize) -> StateIx {
    StateIx(u32::try_from(number).expect("fewer than 2^32 states"))
}
