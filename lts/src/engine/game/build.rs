//! Makes the game of a network and a formula, vertex by vertex.
//!
//! A vertex is a state with a position, or a part of a position's tree where the other player moves. Vertices are
//! expanded in the order in which they are found, or depth first: what closes a cycle, or is a small part of the game that
//! nothing leads out of, is soon complete then. Invariant: equal pairs of state and position are one vertex.
//!
//! Pairs whose result is already known ([`Known`]) are not played; they count as decided.

use super::arena::{Arena, Fault, State, Stop};
use super::graph::{FALSE, Graph, Player, TRUE, Vertex};
use crate::base::error::{Error, Limit, Result};
use crate::base::hash::Map;
use crate::engine::successors::{EveryStep, Via};
use crate::property::formula::{Class, Equations, Position, Tree};
use std::sync::Arc;

/// Positions of a formula; more are taken for a parameter that grows for ever.
const MOST_POSITIONS: u64 = 1_000_000;

/// The trees of positions, each unfolded when it is asked for first.
#[derive(Default)]
pub(super) struct Trees(Vec<Option<Arc<Tree>>>);

impl Trees {
    pub(super) fn of(&mut self, equations: &dyn Equations, position: Position) -> Result<Arc<Tree>> {
        let at = position.0 as usize;
        if u64::from(position.0) >= MOST_POSITIONS {
            return Err(Error::Limit(Limit::Positions(MOST_POSITIONS)));
        }
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        if let Some(tree) = &self.0[at] {
            return Ok(tree.clone());
        }
        let tree = equations.unfold(position)?;
        self.0[at] = Some(tree.clone());
        Ok(tree)
    }

    /// One more than the greatest position that was asked for.
    fn len(&self) -> usize {
        self.0.len()
    }
}

/// What a vertex is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VertexKind {
    /// Holds, or does not, independent of all else.
    Const,
    /// A state with a position.
    Pair(State, Position),
    /// A part of the tree of a pair, in a state.
    Inner(State),
}

/// Gives the class of a step's vector.
pub(super) type ClassOf<'a> = &'a mut dyn FnMut(Via) -> Result<Class>;

/// Which vertex is expanded next.
pub(super) enum Order {
    /// The first that was found.
    Breadth,
    /// The last that was found: these are waiting.
    Depth(Vec<Vertex>),
}

/// What is known of a pair of a state and a position, if anything.
pub(super) type Known<'s> = &'s dyn Fn(&[u64], Position) -> Option<bool>;

/// A game under construction: its states, its graph, and what each vertex stands for.
pub(super) struct Game<'s, S: EveryStep> {
    pub(super) arena: Arena<'s, S>,
    pub(super) graph: Graph,
    pub(super) places: Vec<VertexKind>,
    equations: &'s dyn Equations,
    pairs: Map<(State, Position), Vertex>,
    /// The trees of the inner vertices that are not expanded yet.
    waiting: Map<Vertex, Tree>,
    trees: Trees,
    max_depth: Option<u64>,
    edges: Vec<Vertex>,
    order: Order,
    known: Option<Known<'s>>,
    /// Vertices before this one are expanded.
    first_open: usize,
}

impl<'s, S: EveryStep> Game<'s, S> {
    /// A game with its initial vertex only, which is [`Game::INITIAL`].
    pub(super) fn new(
        system: &'s S,
        equations: &'s dyn Equations,
        max_depth: Option<u64>,
        order: Order,
    ) -> Result<Self> {
        let mut game = Game {
            arena: Arena::new(system),
            graph: Graph::new(),
            places: vec![VertexKind::Const, VertexKind::Const],
            equations,
            pairs: Map::default(),
            waiting: Map::default(),
            trees: Trees::default(),
            max_depth,
            edges: Vec::new(),
            order,
            known: None,
            first_open: 0,
        };
        let initial = game.pair(0, Position(0))?;
        if let Order::Depth(waiting) = &mut game.order {
            waiting.push(initial);
        }
        Ok(game)
    }

    /// The same with what is known of other pairs than the initial one.
    pub(super) fn knowing(mut self, known: Known<'s>) -> Self {
        self.known = Some(known);
        self
    }

    pub(super) const INITIAL: Vertex = 2;

    /// Bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.arena.bytes()
            + self.graph.bytes()
            + self.places.capacity() * 12
            + self.pairs.capacity() * 14
            + self.waiting.capacity() * 44
            + if let Order::Depth(waiting) = &self.order { waiting.capacity() * 4 } else { 0 }
    }

    pub(super) fn positions(&self) -> usize {
        self.trees.len()
    }

    pub(super) fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    fn pair(&mut self, state: State, position: Position) -> Result<Vertex> {
        if let Some(vertex) = self.pairs.get(&(state, position)) {
            return Ok(*vertex);
        }
        if let Some(known) = self.known
            && let Some(truth) = known(self.arena.state(state), position)
        {
            return Ok(if truth { TRUE } else { FALSE });
        }
        let vertex = self.add(VertexKind::Pair(state, position), self.equations.rank(position))?;
        self.pairs.insert((state, position), vertex);
        Ok(vertex)
    }

    fn add(&mut self, place: VertexKind, rank: Option<u32>) -> Result<Vertex> {
        if self.graph.len() >= (Vertex::MAX - 1) as usize {
            return Err(Error::input("the formula and the system together have more than 2^32 parts"));
        }
        self.places.push(place);
        Ok(self.graph.add(rank))
    }

    /// The tree of a position.
    fn tree(&mut self, position: Position) -> Result<Arc<Tree>> {
        self.trees.of(self.equations, position)
    }

    /// Whether every vertex has its edges.
    pub(super) fn is_complete(&self) -> bool {
        self.graph.expanded() == self.graph.len()
    }

    /// The vertex that is expanded next.
    fn next(&mut self) -> Option<Vertex> {
        match &mut self.order {
            Order::Breadth => {
                while self.first_open < self.graph.len() && self.graph.is_expanded(self.first_open as Vertex)
                {
                    self.first_open += 1;
                }
                (self.first_open < self.graph.len()).then_some(self.first_open as Vertex)
            }
            Order::Depth(waiting) => loop {
                let vertex = waiting.pop()?;
                if !self.graph.is_expanded(vertex) {
                    return Some(vertex);
                }
            },
        }
    }

    /// Gives the next vertex its edges; there must be one.
    pub(super) fn expand(&mut self, class: ClassOf) -> Result<(), Stop> {
        let vertex = self.next().ok_or_else(|| Error::internal("all of a game is expanded"))?;
        let mut edges = std::mem::take(&mut self.edges);
        edges.clear();
        let owner = match self.places[vertex as usize] {
            VertexKind::Const => return Err(Error::internal("a constant has no edges").into()),
            VertexKind::Pair(state, position) => {
                let tree = self.tree(position)?;
                self.branch(state, &tree, class, &mut edges)?
            }
            VertexKind::Inner(state) => {
                let tree = self
                    .waiting
                    .remove(&vertex)
                    .ok_or_else(|| Error::internal("an inner vertex has a tree"))?;
                self.branch(state, &tree, class, &mut edges)?
            }
        };
        edges.sort_unstable();
        edges.dedup();
        if self.graph.edge_count() + edges.len() >= u32::MAX as usize {
            return Err(Error::input("the formula and the system together have more than 2^32 steps").into());
        }
        self.graph.expand(vertex, owner, &edges);
        if let Order::Depth(waiting) = &mut self.order {
            waiting.extend(edges.iter().rev().filter(|to| !self.graph.is_expanded(**to)));
        }
        self.edges = edges;
        Ok(())
    }

    /// Who moves in a tree, and where.
    fn branch(
        &mut self,
        state: State,
        tree: &Tree,
        class: ClassOf,
        edges: &mut Vec<Vertex>,
    ) -> Result<Player, Stop> {
        let and = match tree {
            Tree::Const(b) => {
                edges.push(if *b { TRUE } else { FALSE });
                return Ok(Player::Some);
            }
            Tree::Junction(and, _) => *and,
            Tree::Every(_) => true,
            Tree::Some(_) | Tree::At(_) => false,
        };
        if has_modality(tree) {
            self.arena.expand(state, self.max_depth, class)?;
        }
        // First see whether one part decides: then the others need not be looked at.
        if self.decides(state, tree, and)? {
            edges.push(if and { FALSE } else { TRUE });
        } else {
            self.collect(state, tree, and, edges)?;
        }
        Ok(if and { Player::All } else { Player::Some })
    }

    /// Whether some part of a conjunction is just false, or of a disjunction just true.
    fn decides(&self, state: State, tree: &Tree, and: bool) -> Result<bool> {
        Ok(match tree {
            Tree::Const(b) => *b != and,
            Tree::Junction(kind, parts) if *kind == and => {
                for part in parts {
                    if self.decides(state, part, and)? {
                        return Ok(true);
                    }
                }
                false
            }
            Tree::Every(modality) | Tree::Some(modality) if matches!(tree, Tree::Every(_)) == and => {
                for step in self.arena.moves(state) {
                    let after = self.equations.after(*modality, step.class)?;
                    if self.decides(step.target, &after, and)? {
                        return Ok(true);
                    }
                }
                false
            }
            _ => false,
        })
    }

    /// The vertices that the parts of a conjunction (`and`) or disjunction lead to.
    fn collect(&mut self, state: State, tree: &Tree, and: bool, edges: &mut Vec<Vertex>) -> Result<()> {
        match tree {
            Tree::Const(_) => {}
            Tree::At(position) => edges.push(self.pair(state, *position)?),
            Tree::Junction(kind, parts) if *kind == and => {
                for part in parts {
                    self.collect(state, part, and, edges)?;
                }
            }
            Tree::Every(modality) | Tree::Some(modality) if matches!(tree, Tree::Every(_)) == and => {
                for k in 0..self.arena.moves(state).len() {
                    let step = self.arena.moves(state)[k];
                    let after = self.equations.after(*modality, step.class)?;
                    self.collect(step.target, &after, and, edges)?;
                }
            }
            Tree::Junction(..) | Tree::Every(_) | Tree::Some(_) => {
                let vertex = self.add(VertexKind::Inner(state), None)?;
                self.waiting.insert(vertex, tree.clone());
                edges.push(vertex);
            }
        }
        Ok(())
    }

    /// The steps to a fault.
    pub(super) fn way_to(&self, fault: &Fault) -> Vec<(Via, Vec<u64>)> {
        let way = self.arena.way(fault.state);
        let mut steps: Vec<_> =
            way.into_iter().map(|(via, state)| (via, self.arena.state(state).to_vec())).collect();
        steps.push((fault.via, fault.target.clone()));
        steps
    }
}

fn has_modality(tree: &Tree) -> bool {
    match tree {
        Tree::Const(_) | Tree::At(_) => false,
        Tree::Junction(_, parts) => parts.iter().any(has_modality),
        Tree::Every(_) | Tree::Some(_) => true,
    }
}
