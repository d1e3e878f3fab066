//! The game graph: the owner, the rank and the edges of each vertex.
//!
//! Two players: *some* picks disjuncts and steps of diamonds and wants the formula to hold, *all* picks conjuncts and steps
//! of boxes. A player who cannot move loses. Of an endless play the greatest rank that is met for ever decides: even for
//! *some*, odd for *all*. Vertices without a rank do not decide anything.

/// The number of a vertex.
pub(super) type Vertex = u32;

/// The vertex in which *all* cannot move: what leads there holds.
pub(super) const TRUE: Vertex = 0;

/// The vertex in which *some* cannot move.
pub(super) const FALSE: Vertex = 1;

/// The players.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Player {
    Some,
    All,
}

impl Player {
    pub(super) fn other(self) -> Player {
        match self {
            Player::Some => Player::All,
            Player::All => Player::Some,
        }
    }

    /// The player that wins if this is the greatest rank met for ever.
    pub(super) fn of_rank(rank: u32) -> Player {
        if rank.is_multiple_of(2) { Player::Some } else { Player::All }
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// A game, as far as it is known: vertices get their edges in any order.
pub(super) struct Graph {
    /// For each vertex its owner (bit 0) and its rank plus one (the rest), 0 for none.
    info: Vec<u32>,
    /// Where the edges of each vertex begin, and how many there are; [`UNKNOWN`] if it has none yet.
    ranges: Vec<(u32, u32)>,
    edges: Vec<Vertex>,
    expanded: usize,
}

/// The number of edges of a vertex that is not expanded.
const UNKNOWN: u32 = u32::MAX;

impl Graph {
    /// The vertices [`TRUE`] and [`FALSE`] only.
    pub(super) fn new() -> Self {
        let mut graph = Graph { info: Vec::new(), ranges: Vec::new(), edges: Vec::new(), expanded: 0 };
        for (constant, stuck) in [(TRUE, Player::All), (FALSE, Player::Some)] {
            graph.add(None);
            graph.expand(constant, stuck, &[]);
        }
        graph
    }

    pub(super) fn len(&self) -> usize {
        self.info.len()
    }

    /// How many vertices have their edges.
    pub(super) fn expanded(&self) -> usize {
        self.expanded
    }

    /// Whether a vertex has its edges.
    pub(super) fn is_expanded(&self, vertex: Vertex) -> bool {
        self.ranges[vertex as usize].1 != UNKNOWN
    }

    pub(super) fn edge_count(&self) -> usize {
        self.edges.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.info.capacity() * 4 + self.ranges.capacity() * 8 + self.edges.capacity() * 4
    }

    /// A new vertex.
    pub(super) fn add(&mut self, rank: Option<u32>) -> Vertex {
        self.info.push(rank.map_or(0, |rank| (rank + 1) << 1));
        self.ranges.push((0, UNKNOWN));
        (self.info.len() - 1) as Vertex
    }

    /// Gives a vertex its owner and edges, once. There must be fewer than 2^32 edges in all.
    pub(super) fn expand(&mut self, vertex: Vertex, owner: Player, edges: &[Vertex]) {
        self.info[vertex as usize] |= owner.index() as u32;
        self.ranges[vertex as usize] = (self.edges.len() as u32, edges.len() as u32);
        self.edges.extend_from_slice(edges);
        self.expanded += 1;
    }

    pub(super) fn owner(&self, vertex: Vertex) -> Player {
        if self.info[vertex as usize] & 1 == 0 { Player::Some } else { Player::All }
    }

    pub(super) fn rank(&self, vertex: Vertex) -> Option<u32> {
        (self.info[vertex as usize] >> 1).checked_sub(1)
    }

    /// The edges of a vertex; none if it is not expanded.
    pub(super) fn edges(&self, vertex: Vertex) -> &[Vertex] {
        match self.ranges[vertex as usize] {
            (_, UNKNOWN) => &[],
            (begin, count) => &self.edges[begin as usize..begin as usize + count as usize],
        }
    }
}
