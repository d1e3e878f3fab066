//! The outgoing edges of a state of a guide: decides which of them a step of the system takes.

use gridlock_lts::engine::pack::Packing;
use gridlock_lts::guide::{EdgeIx, Guide, StateIx};
use gridlock_lts::model::network::VectorIx;

/// What a step is to the subsystem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Move {
    /// The subsystem stays where it is.
    Free,
    /// It goes along this edge.
    Along(EdgeIx),
    /// It goes where the guide has no edge. Only guides for single traces leave edges out.
    Elsewhere,
}

/// The edges of a state of a guide.
pub(super) struct Outgoing {
    state: StateIx,
    /// The bits of the subsystem in a packed state.
    mask: Vec<u64>,
    /// Projection, packed local states of the target under the mask, edge; sorted.
    edges: Vec<(u32, Vec<u64>, EdgeIx)>,
}

impl Outgoing {
    pub(super) fn new(guide: &Guide, packing: &Packing, state: StateIx) -> Self {
        let mut mask = vec![0; packing.words()];
        for &leaf in guide.leaves() {
            let field = packing.field(leaf);
            mask[field.word as usize] |= field.mask() << field.shift;
        }
        let packed = |target: StateIx| {
            let mut words = vec![0; packing.words()];
            for (&leaf, &local) in guide.leaves().iter().zip(guide.locals(target)) {
                packing.field(leaf).set(&mut words, local);
            }
            words
        };
        let edge = |e: EdgeIx| (guide.edge(e).projection, packed(guide.edge(e).target), e);
        let mut edges: Vec<_> = guide.edges_of(state).map(EdgeIx).map(edge).collect();
        edges.sort();
        Outgoing { state, mask, edges }
    }

    /// The state of the guide.
    pub(super) fn state(&self) -> StateIx {
        self.state
    }

    /// What a step is to the subsystem, which is at this place.
    #[inline]
    pub(super) fn classify(&self, guide: &Guide, from: &[u64], to: &[u64], vector: VectorIx) -> Move {
        let Some(projection) = guide.projection(vector) else { return Move::Free };
        if from.iter().zip(to).zip(&self.mask).all(|((from, to), mask)| (from ^ to) & mask == 0) {
            return Move::Free;
        }
        let order = |(p, target, _): &(u32, Vec<u64>, EdgeIx)| {
            let target =
                target.iter().copied().cmp(to.iter().zip(&self.mask).map(|(word, mask)| word & mask));
            p.cmp(&projection).then(target)
        };
        match self.edges.binary_search_by(order) {
            Ok(k) => Move::Along(self.edges[k].2),
            Err(_) => Move::Elsewhere,
        }
    }
}
