//! Subsystems and their traces: what guides an informed swarm.
//!
//! A [`Subsystem`] is the LTS of one leaf or a few, in which partners outside are always willing; it over-approximates
//! what those leaves do in the whole network. A [`Guide`] is an acyclic LTS with the same moves: the subsystem itself if
//! that is acyclic, its unrolling if not, or a finer one made for a single trace. Each of its states has a weight, the
//! number of maximal traces from there, so a number below the weight of the initial state names a trace, and a prefix
//! owns a contiguous range of numbers.
//!
//! A move that leaves all local states of the subsystem as they are is no edge: a guided search treats it like a move
//! of the others. That loses nothing, since such a move changes neither where the subsystem is nor what it can do, and
//! it makes more subsystems acyclic.
//!
//! Invariant: numbers of states, edges and traces depend on the network and the chosen leaves only. Edges are
//! identified by what the leaves do (labels before communication and hiding) and where they go, not by visible labels.

mod cycles;
mod dot;
mod orders;
mod projection;
mod refine;
mod relevance;
mod strike;
mod subsystem;
#[cfg(test)]
mod tests;
mod weights;

pub use orders::{ActionIx, NoOrders, Orders};
pub use relevance::Relevance;
pub use subsystem::Subsystem;

use crate::model::network::{LeafIx, Local, Network, VectorIx};
use num_bigint::BigUint;
use projection::Projections;
use std::collections::VecDeque;
use std::ops::Range;

/// A state of a guide; the initial one is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StateIx(pub u32);

/// An edge of a guide. The edges of a state are consecutive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EdgeIx(pub u32);

/// A move of the subsystem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// What the leaves do: see [`Guide::projection`].
    pub projection: u32,
    /// Where they go.
    pub target: StateIx,
    /// Whether this edge was cut when cycles were bounded: it can be recognised, but no trace takes it.
    pub cut: bool,
}

/// Why there is no guide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoGuide {
    /// It would have more states than allowed.
    TooLarge {
        /// How many are allowed.
        limit: usize,
    },
    /// There are cycles; this is one of them, as printed labels.
    Cyclic(Vec<String>),
}

/// Consecutive trace numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdRange {
    /// The first.
    pub start: BigUint,
    /// How many.
    pub size: BigUint,
}

impl IdRange {
    /// The first number behind the range.
    pub fn end(&self) -> BigUint {
        &self.start + &self.size
    }
}

/// An acyclic LTS of a subsystem, with the number of traces from each of its states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guide {
    projections: Projections,
    /// The local states of the subsystem in each state, one after the other.
    locals: Vec<Local>,
    /// Where the edges of each state begin, and the end of the last.
    first: Vec<u32>,
    edges: Vec<Edge>,
    weights: Vec<BigUint>,
}

impl Guide {
    /// The leaves of the subsystem, ascending.
    pub fn leaves(&self) -> &[LeafIx] {
        &self.projections.leaves
    }

    /// The number of states. Targets of edges that were cut may lie beyond.
    pub fn states(&self) -> usize {
        self.first.len() - 1
    }

    /// The number of edges, without those that were cut.
    pub fn edge_count(&self) -> usize {
        self.edges.iter().filter(|edge| !edge.cut).count()
    }

    /// Whether edges were cut, so that the traces do not cover all that the subsystem can do.
    pub fn is_bounded(&self) -> bool {
        self.edges.iter().any(|edge| edge.cut)
    }

    /// The edges of a state, those that were cut among them.
    pub fn edges_of(&self, state: StateIx) -> Range<u32> {
        self.first[state.0 as usize]..self.first[state.0 as usize + 1]
    }

    /// An edge.
    pub fn edge(&self, edge: EdgeIx) -> Edge {
        self.edges[edge.0 as usize]
    }

    /// Whether there is such an edge and it leaves that state and is not cut: for paths that come from elsewhere.
    pub fn leads_on(&self, from: StateIx, edge: EdgeIx) -> bool {
        (from.0 as usize) < self.states() && self.edges_of(from).contains(&edge.0) && !self.edge(edge).cut
    }

    /// The local states of the subsystem's leaves in a state, in the order of [`Guide::leaves`].
    pub fn locals(&self, state: StateIx) -> &[Local] {
        let leaves = self.leaves().len();
        &self.locals[state.0 as usize * leaves..][..leaves]
    }

    /// What the subsystem's leaves do in a vector: equal numbers mean the same. `None` if none of them takes part, or
    /// if the vector is a fault.
    #[inline]
    pub fn projection(&self, vector: VectorIx) -> Option<u32> {
        self.projections.of(vector)
    }

    /// The positions in [`Guide::leaves`] that take part in a projection, ascending.
    pub fn parts(&self, projection: u32) -> impl Iterator<Item = usize> + '_ {
        self.projections.leaves_of(projection)
    }

    /// What the subsystem does on an edge, printed.
    pub fn label(&self, net: &Network, edge: EdgeIx) -> String {
        self.projections.label(net, self.edge(edge).projection)
    }

    /// The number of traces from a state.
    pub fn weight(&self, state: StateIx) -> &BigUint {
        &self.weights[state.0 as usize]
    }

    /// The number of traces. Their numbers are those below.
    pub fn traces(&self) -> &BigUint {
        self.weight(StateIx(0))
    }

    /// The trace of a number; `None` if there are not this many.
    pub fn trace(&self, id: &BigUint) -> Option<Vec<EdgeIx>> {
        if id >= self.traces() {
            return None;
        }
        let (mut rest, mut state, mut path) = (id.clone(), StateIx(0), Vec::new());
        while let Some((edge, before)) = self.choose(state, &rest) {
            rest -= before;
            path.push(edge);
            state = self.edge(edge).target;
        }
        Some(path)
    }

    /// The edge of a state that a number below its weight falls on, and the weight of the edges before it. `None` at
    /// the end of a trace.
    pub fn choose(&self, state: StateIx, number: &BigUint) -> Option<(EdgeIx, BigUint)> {
        let mut before = BigUint::ZERO;
        for e in self.edges_of(state).map(EdgeIx).filter(|&e| !self.edge(e).cut) {
            let after = &before + self.weight(self.edge(e).target);
            if *number < after {
                return Some((e, before));
            }
            before = after;
        }
        None
    }

    /// The state at the end of a path from the initial state.
    pub fn end(&self, path: &[EdgeIx]) -> StateIx {
        path.last().map_or(StateIx(0), |&edge| self.edge(edge).target)
    }

    /// For each state its place in an order in which edges lead forwards, by the least number of steps first among those
    /// that may be next.
    pub fn forwards(&self) -> Vec<u32> {
        let targets = |state: u32| {
            let edges = self.edges_of(StateIx(state)).map(|e| self.edge(EdgeIx(e)));
            edges.filter(|edge| !edge.cut).map(|edge| edge.target.0 as usize)
        };
        let mut before = vec![0u32; self.states()];
        (0..self.states() as u32).flat_map(targets).for_each(|target| before[target] += 1);
        let first = (0..self.states() as u32).filter(|&state| before[state as usize] == 0);
        let (mut queue, mut place) = (VecDeque::from_iter(first), vec![0; self.states()]);
        let mut next = 0;
        while let Some(state) = queue.pop_front() {
            place[state as usize] = next;
            next += 1;
            for target in targets(state) {
                before[target] -= 1;
                if before[target] == 0 {
                    queue.push_back(target as u32);
                }
            }
        }
        debug_assert_eq!(next as usize, self.states(), "guides are acyclic");
        place
    }

    /// The numbers of the traces that begin with a path.
    pub fn range(&self, path: &[EdgeIx]) -> IdRange {
        let (mut start, mut state) = (BigUint::ZERO, StateIx(0));
        for &edge in path {
            for e in self.edges_of(state).map(EdgeIx).take_while(|&e| e < edge).filter(|&e| !self.edge(e).cut)
            {
                start += self.weight(self.edge(e).target);
            }
            state = self.edge(edge).target;
        }
        IdRange { start, size: self.weight(state).clone() }
    }
}
