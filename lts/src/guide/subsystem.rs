//! The LTS of a subsystem, cyclic or not, and its unrolling.

use super::cycles::{Cycles, find_cycle};
use super::projection::Projections;
use super::weights::{Graph, state_ix};
use super::{Edge, Guide, NoGuide, StateIx};
use crate::base::hash::Map;
use crate::model::network::{LeafIx, Local, Network};
use std::collections::VecDeque;

/// The LTS of a subsystem in which partners outside are always willing. States are numbered breadth first.
#[derive(Clone, Debug)]
pub struct Subsystem {
    projections: Projections,
    locals: Vec<Local>,
    /// For each state its moves: projection and target.
    moves: Vec<Vec<(u32, StateIx)>>,
}

impl Subsystem {
    /// The LTS of some leaves, if it has not more states than `limit`. All their local states must be expanded.
    pub fn new(net: &Network, leaves: &[LeafIx], limit: usize) -> Result<Self, NoGuide> {
        let mut leaves = leaves.to_vec();
        leaves.sort_unstable();
        leaves.dedup();
        let width = leaves.len();
        let projections = Projections::new(net, leaves);
        let mut locals = vec![Local(0); width];
        let mut known: Map<Vec<Local>, StateIx> = Map::from_iter([(locals.clone(), StateIx(0))]);
        let mut moves: Vec<Vec<(u32, StateIx)>> = Vec::new();
        let mut too_large = false;
        while moves.len() < known.len() && !too_large {
            let from = locals[moves.len() * width..][..width].to_vec();
            let mut of_state = Vec::new();
            projections.moves(net, &from, &mut |projection, target| {
                let next = state_ix(known.len());
                let target = *known.entry(target.to_vec()).or_insert_with(|| {
                    locals.extend_from_slice(target);
                    next
                });
                too_large |= known.len() > limit;
                if !too_large {
                    of_state.push((projection, target));
                }
            });
            moves.push(of_state);
        }
        if too_large {
            return Err(NoGuide::TooLarge { limit });
        }
        Ok(Subsystem { projections, locals, moves })
    }

    /// The leaves, ascending.
    pub fn leaves(&self) -> &[LeafIx] {
        &self.projections.leaves
    }

    /// The number of states.
    pub fn states(&self) -> usize {
        self.moves.len()
    }

    /// The number of edges.
    pub fn edge_count(&self) -> usize {
        self.moves.iter().map(Vec::len).sum()
    }

    /// A cycle as printed labels, if there is one.
    pub fn cycle(&self, net: &Network) -> Option<Vec<String>> {
        let cycle = find_cycle(&self.moves)?;
        Some(cycle.into_iter().map(|projection| self.projections.label(net, projection)).collect())
    }

    /// The guide of an acyclic subsystem.
    pub fn guide(&self, net: &Network) -> Result<Guide, NoGuide> {
        if let Some(cycle) = self.cycle(net) {
            return Err(NoGuide::Cyclic(cycle));
        }
        let edge = |&(projection, target): &(u32, StateIx)| Edge { projection, target, cut: false };
        let edges = self.moves.iter().map(|of_state| of_state.iter().map(edge).collect()).collect();
        Ok(Graph { locals: self.locals.clone(), edges }.weighed(self.projections.clone()))
    }

    /// A guide in which at most `bound` edges that close a cycle are taken in each strongly connected component. Every
    /// cycle has such an edge, so no cycle is run through more often; the edges beyond are cut. Of an acyclic
    /// subsystem it is the guide itself.
    pub fn unrolled(&self, bound: u32, limit: usize) -> Result<Guide, NoGuide> {
        let cycles = Cycles::of(&self.moves);
        let width = self.leaves().len();
        // A state and how many closing edges were taken in its component.
        let mut known: Map<(StateIx, u32), StateIx> = Map::from_iter([((StateIx(0), 0), StateIx(0))]);
        let mut queue = VecDeque::from([(StateIx(0), 0)]);
        let (mut order, mut edges) = (vec![StateIx(0)], Vec::new());
        while let Some((state, taken)) = queue.pop_front() {
            let mut of_state = Vec::new();
            for (k, &(projection, target)) in self.moves[state.0 as usize].iter().enumerate() {
                let closing = cycles.is_closing(state, k);
                if closing && taken == bound {
                    // The place of the target is known by its local states only; it is set below.
                    of_state.push(Edge { projection, target, cut: true });
                    continue;
                }
                let inside = cycles.component(state) == cycles.component(target);
                let count = if inside { taken + u32::from(closing) } else { 0 };
                let next = state_ix(known.len());
                let target = *known.entry((target, count)).or_insert_with(|| {
                    queue.push_back((target, count));
                    order.push(target);
                    next
                });
                if known.len() > limit {
                    return Err(NoGuide::TooLarge { limit });
                }
                of_state.push(Edge { projection, target, cut: false });
            }
            edges.push(of_state);
        }
        let mut locals = Vec::with_capacity(order.len() * width);
        for state in &order {
            locals.extend_from_slice(&self.locals[state.0 as usize * width..][..width]);
        }
        for edge in edges.iter_mut().flatten().filter(|edge| edge.cut) {
            let original = edge.target.0 as usize;
            edge.target = state_ix(locals.len() / width);
            locals.extend_from_slice(&self.locals[original * width..][..width]);
        }
        Ok(Graph { locals, edges }.weighed(self.projections.clone()))
    }
}
