//! The game graph: who moves, what is met, and where one can go.
//!
//! Two players: *some* picks disjuncts and steps of diamonds and wants the formula to hold, *all* picks conjuncts and
//! steps of boxes. Who cannot move loses. Of an endless play the greatest rank that is met for ever decides: even for
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

    /// Whose rank it is.
    pub(super) fn of_rank(rank: u32) -> Player {
        if rank.is_multiple_of(2) { Player::Some } else { Player::All }
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// A game, as far as it is known: the vertices from [`Graph::expanded`] on have no edges yet.
pub(super) struct Graph {
    /// For each vertex its owner (bit 0) and its rank plus one (the rest), 0 for none.
    info: Vec<u32>,
    /// Where the edges of each expanded vertex end.
    ends: Vec<u64>,
    edges: Vec<Vertex>,
}

impl Graph {
    /// The vertices [`TRUE`] and [`FALSE`] only.
    pub(super) fn new() -> Self {
        let mut graph = Graph { info: Vec::new(), ends: Vec::new(), edges: Vec::new() };
        graph.add(None);
        graph.add(None);
        graph.expand(Player::All, &[]);
        graph.expand(Player::Some, &[]);
        graph
    }

    pub(super) fn len(&self) -> usize {
        self.info.len()
    }

    /// How many vertices have their edges.
    pub(super) fn expanded(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn edge_count(&self) -> usize {
        self.edges.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.info.capacity() * 4 + self.ends.capacity() * 8 + self.edges.capacity() * 4
    }

    /// A new vertex.
    pub(super) fn add(&mut self, rank: Option<u32>) -> Vertex {
        self.info.push(rank.map_or(0, |rank| (rank + 1) << 1));
        (self.info.len() - 1) as Vertex
    }

    /// Gives the first vertex without edges its owner and edges.
    pub(super) fn expand(&mut self, owner: Player, edges: &[Vertex]) {
        self.info[self.ends.len()] |= owner.index() as u32;
        self.edges.extend_from_slice(edges);
        self.ends.push(self.edges.len() as u64);
    }

    pub(super) fn owner(&self, vertex: Vertex) -> Player {
        if self.info[vertex as usize] & 1 == 0 { Player::Some } else { Player::All }
    }

    pub(super) fn rank(&self, vertex: Vertex) -> Option<u32> {
        (self.info[vertex as usize] >> 1).checked_sub(1)
    }

    /// Where one can go; nothing for vertices that are not expanded.
    pub(super) fn edges(&self, vertex: Vertex) -> &[Vertex] {
        let v = vertex as usize;
        let Some(&end) = self.ends.get(v) else { return &[] };
        let begin = if v == 0 { 0 } else { self.ends[v - 1] };
        &self.edges[begin as usize..end as usize]
    }
}
