//! A finer guide for the traces with a prefix: one more leaf joins the subsystem while the others follow the prefix and
//! then move as the old guide allows.
//!
//! States are a position on the prefix, or a state of the old guide behind it, and a local state of the new leaf. The
//! moves of the old subsystem that the prefix does not take next are not there at all: other prefixes cover them.

use super::cycles::find_cycle;
use super::projection::Projections;
use super::weights::{Graph, state_ix};
use super::{Edge, EdgeIx, Guide, NoGuide, StateIx};
use crate::base::hash::Map;
use crate::model::network::{LeafIx, Local, Network};

impl Guide {
    /// The guide in which `leaf`, which is not in the subsystem yet, joins it while that follows `path` and then moves
    /// freely within this guide. Cyclic if the leaf can move in circles while the others stay where they are.
    pub fn refine(
        &self,
        net: &Network,
        path: &[EdgeIx],
        leaf: LeafIx,
        limit: usize,
    ) -> Result<Guide, NoGuide> {
        let mut leaves = self.leaves().to_vec();
        let at = leaves.partition_point(|&l| l < leaf);
        leaves.insert(at, leaf);
        let width = leaves.len();
        let projections = Projections::new(net, leaves);
        let mut finer = Finer { guide: self, path, at, known: Map::default(), order: Vec::new() };
        finer.state(0, StateIx(0), Local(0));
        // Of a cut edge the target is its place in `beyond` until all states are numbered.
        let (mut edges, mut locals, mut beyond) = (Vec::<Vec<Edge>>::new(), Vec::new(), Vec::new());
        while edges.len() < finer.order.len() {
            let (position, place, local) = finer.order[edges.len()];
            let mut from = self.locals(place).to_vec();
            from.insert(at, local);
            let mut of_state = Vec::new();
            projections.moves(net, &from, &mut |projection, target| {
                let before = self.projection(projections.example[projection as usize]);
                match finer.follow(position, place, before, target) {
                    Some(Move::To(target)) => of_state.push(Edge { projection, target, cut: false }),
                    Some(Move::Cut) => {
                        of_state.push(Edge { projection, target: state_ix(beyond.len() / width), cut: true });
                        beyond.extend_from_slice(target);
                    }
                    None => {}
                }
            });
            if finer.order.len() > limit {
                return Err(NoGuide::TooLarge { limit });
            }
            locals.extend(from);
            edges.push(of_state);
        }
        let states = edges.len();
        for edge in edges.iter_mut().flatten().filter(|edge| edge.cut) {
            edge.target = state_ix(states + edge.target.0 as usize);
        }
        locals.extend(beyond);
        let uncut = |of_state: &Vec<Edge>| {
            of_state.iter().filter(|e| !e.cut).map(|e| (e.projection, e.target)).collect::<Vec<_>>()
        };
        let moves: Vec<_> = edges.iter().map(uncut).collect();
        if let Some(cycle) = find_cycle(&moves) {
            return Err(NoGuide::Cyclic(cycle.into_iter().map(|p| projections.label(net, p)).collect()));
        }
        Ok(Graph { locals, edges }.weighed(projections))
    }
}

enum Move {
    To(StateIx),
    /// The old guide cut it.
    Cut,
}

struct Finer<'a> {
    guide: &'a Guide,
    path: &'a [EdgeIx],
    /// Where the new leaf stands among the leaves.
    at: usize,
    known: Map<(usize, StateIx, Local), StateIx>,
    order: Vec<(usize, StateIx, Local)>,
}

impl Finer<'_> {
    /// The state with this many edges of the path taken, the old subsystem in `place` and the new leaf in `local`.
    fn state(&mut self, position: usize, place: StateIx, local: Local) -> StateIx {
        let next = state_ix(self.order.len());
        *self.known.entry((position, place, local)).or_insert_with(|| {
            self.order.push((position, place, local));
            next
        })
    }

    /// Where a move leads, given its projection onto the old subsystem. `None`: the path does not take it.
    fn follow(
        &mut self,
        position: usize,
        place: StateIx,
        old: Option<u32>,
        target: &[Local],
    ) -> Option<Move> {
        let local = target[self.at];
        let others: Vec<Local> =
            target.iter().enumerate().filter(|(k, _)| *k != self.at).map(|(_, l)| *l).collect();
        if self.guide.locals(place) == others {
            return Some(Move::To(self.state(position, place, local)));
        }
        let guide = self.guide;
        let is = |e: EdgeIx| {
            let edge = guide.edge(e);
            Some(edge.projection) == old && guide.locals(edge.target) == others
        };
        // Cut edges are recognised all along the path: they say that cycles were bounded.
        let next = self.path.get(position).copied();
        let edge = next.filter(|&e| is(e)).or_else(|| guide.edges_of(place).map(EdgeIx).find(|&e| is(e)))?;
        let target = guide.edge(edge).target;
        match next {
            _ if guide.edge(edge).cut => Some(Move::Cut),
            Some(next) if next == edge => Some(Move::To(self.state(position + 1, target, local))),
            Some(_) => None,
            None => Some(Move::To(self.state(position, target, local))),
        }
    }
}
