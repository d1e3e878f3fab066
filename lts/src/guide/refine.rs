//! A finer guide for one trace: one more leaf joins the subsystem while the others follow the trace.
//!
//! States are a position on the trace and a local state of the new leaf. The moves of the old subsystem that the trace
//! does not take next are not there at all: other traces cover them.

use super::cycles::find_cycle;
use super::projection::Projections;
use super::weights::{Graph, state_ix};
use super::{Edge, EdgeIx, Guide, NoGuide, StateIx};
use crate::hash::Map;
use crate::network::{LeafIx, Local, Network};

impl Guide {
    /// The guide in which `leaf`, which is not in the subsystem yet, joins it while that follows `path`. Cyclic if the
    /// leaf can move in circles while the others stay where they are.
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
        finer.state(0, Local(0));
        // Of a cut edge the target is its place in `beyond` until all states are numbered.
        let (mut edges, mut locals, mut beyond) = (Vec::<Vec<Edge>>::new(), Vec::new(), Vec::new());
        while edges.len() < finer.order.len() {
            let (position, local) = finer.order[edges.len()];
            let mut from = self.locals(finer.place(position)).to_vec();
            from.insert(at, local);
            let mut of_state = Vec::new();
            projections.moves(net, &from, &mut |projection, target| {
                let before = self.projection(projections.example[projection as usize]);
                match finer.follow(position, before, target) {
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
    known: Map<(usize, Local), StateIx>,
    order: Vec<(usize, Local)>,
}

impl Finer<'_> {
    fn state(&mut self, position: usize, local: Local) -> StateIx {
        let next = state_ix(self.order.len());
        *self.known.entry((position, local)).or_insert_with(|| {
            self.order.push((position, local));
            next
        })
    }

    /// The state of the old guide at a position of the path.
    fn place(&self, position: usize) -> StateIx {
        self.guide.end(&self.path[..position])
    }

    /// Where a move leads, given its projection onto the old subsystem. `None`: the path does not take it.
    fn follow(&mut self, position: usize, old: Option<u32>, target: &[Local]) -> Option<Move> {
        let local = target[self.at];
        let others: Vec<Local> =
            target.iter().enumerate().filter(|(k, _)| *k != self.at).map(|(_, l)| *l).collect();
        let place = self.place(position);
        if self.guide.locals(place) == others {
            return Some(Move::To(self.state(position, local)));
        }
        let is = |e: EdgeIx| {
            let edge = self.guide.edge(e);
            Some(edge.projection) == old && self.guide.locals(edge.target) == others
        };
        if self.path.get(position).is_some_and(|&next| is(next)) {
            return Some(Move::To(self.state(position + 1, local)));
        }
        let cut = self.guide.edges_of(place).map(EdgeIx).any(|e| self.guide.edge(e).cut && is(e));
        cut.then_some(Move::Cut)
    }
}
