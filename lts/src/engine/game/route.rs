//! A short run that shows who wins, if one run does.
//!
//! The winner may go anywhere in what he wins, as long as the run ends well for him: at a vertex that decides, or on a
//! cycle whose greatest rank is his. Where the loser has several ways to go, one run does not show it; the way to the
//! nearest such vertex is then shown, and what follows the solver's choices. What comes out is only a proposal: the check
//! of certificates decides.

use super::build::{Game, VertexKind};
use super::graph::{FALSE, Player, TRUE, Vertex};
use super::solve::{NOWHERE, Solution};
use crate::base::hash::Map;
use crate::engine::successors::EveryStep;
use std::collections::VecDeque;

/// Vertices from which a cycle is looked for, and how many are visited for each.
const TRIES: usize = 64;
const EFFORT: usize = 20_000;

/// Where one can go from a vertex.
enum Ways {
    /// It is decided here.
    Decided,
    /// The loser has several ways.
    Several,
    To(Vec<Vertex>),
}

struct Router<'a, 's, S: EveryStep> {
    game: &'a Game<'s, S>,
    solution: &'a Solution,
    winner: Player,
}

/// Where the winner should go on a short run, by vertex. Empty if the solver's choices are as good.
pub(super) fn choices<S: EveryStep>(game: &Game<S>, solution: &Solution) -> Map<Vertex, Vertex> {
    let winner = solution.winner[Game::<S>::INITIAL as usize];
    let search = Router { game, solution, winner };
    let route = search.route();
    route.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

impl<S: EveryStep> Router<'_, '_, S> {
    fn ways(&self, vertex: Vertex) -> Ways {
        let (graph, places) = (&self.game.graph, &self.game.places);
        let is_const = |v: &Vertex| places[*v as usize] == VertexKind::Const;
        let mine = graph.owner(vertex) == self.winner;
        let won =
            graph.edges(vertex).iter().copied().filter(|v| self.solution.winner[*v as usize] == self.winner);
        if mine {
            let won: Vec<Vertex> = won.collect();
            return if won.iter().any(is_const) { Ways::Decided } else { Ways::To(won) };
        }
        let open: Vec<Vertex> = won.filter(|v| !is_const(v)).collect();
        match open.len() {
            0 => Ways::Decided,
            1 => Ways::To(open),
            _ => Ways::Several,
        }
    }

    /// The vertices of the run; a cycle ends with the vertex that it began with.
    fn route(&self) -> Vec<Vertex> {
        let initial = Game::<S>::INITIAL;
        let mut came_from = vec![NOWHERE; self.game.graph.len()];
        came_from[initial as usize] = initial;
        let mut queue = VecDeque::from([initial]);
        let (mut tries, mut several) = (TRIES, None);
        while let Some(vertex) = queue.pop_front() {
            let ways = match self.ways(vertex) {
                Ways::Decided => {
                    let mut path = self.path(&came_from, vertex);
                    let end = [TRUE, FALSE].into_iter().find(|end| {
                        self.solution.winner[*end as usize] == self.winner
                            && self.game.graph.edges(vertex).contains(end)
                    });
                    path.extend(end);
                    return path;
                }
                Ways::Several => {
                    several = several.or(Some(vertex));
                    continue;
                }
                Ways::To(ways) => ways,
            };
            let rank = self.game.graph.rank(vertex).filter(|rank| Player::of_rank(*rank) == self.winner);
            if let Some(rank) = rank.filter(|_| tries > 0) {
                tries -= 1;
                if let Some(cycle) = self.cycle(vertex, rank) {
                    return joined(self.path(&came_from, vertex), cycle);
                }
            }
            for to in ways {
                if came_from[to as usize] == NOWHERE {
                    came_from[to as usize] = vertex;
                    queue.push_back(to);
                }
            }
        }
        several.map(|vertex| self.path(&came_from, vertex)).unwrap_or_default()
    }

    fn path(&self, came_from: &[Vertex], mut vertex: Vertex) -> Vec<Vertex> {
        let mut path = vec![vertex];
        while vertex != Game::<S>::INITIAL {
            vertex = came_from[vertex as usize];
            path.push(vertex);
        }
        path.reverse();
        path
    }

    /// A shortest cycle through a vertex whose greatest rank is its own: the vertices behind it, itself last.
    fn cycle(&self, start: Vertex, rank: u32) -> Option<Vec<Vertex>> {
        let mut came_from: Map<Vertex, Vertex> = Map::default();
        let mut queue = VecDeque::from([start]);
        while let Some(vertex) = queue.pop_front() {
            let Ways::To(ways) = self.ways(vertex) else { continue };
            for to in ways {
                if self.game.graph.rank(to).is_some_and(|r| r > rank) || came_from.contains_key(&to) {
                    continue;
                }
                came_from.insert(to, vertex);
                if to == start {
                    let mut cycle = vec![start];
                    let mut at = vertex;
                    while at != start {
                        cycle.push(at);
                        at = came_from[&at];
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if came_from.len() > EFFORT {
                    return None;
                }
                queue.push_back(to);
            }
        }
        None
    }
}

/// A way and the cycle at its end: the cycle is entered as soon as the way meets it.
fn joined(mut way: Vec<Vertex>, mut cycle: Vec<Vertex>) -> Vec<Vertex> {
    let entry = way.iter().position(|vertex| cycle.contains(vertex)).expect("the cycle is at the end");
    way.truncate(entry + 1);
    let at = cycle.iter().position(|vertex| *vertex == way[entry]).expect("it is on the cycle");
    cycle.rotate_left(at + 1);
    way.extend(cycle);
    way
}
