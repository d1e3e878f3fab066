//! How far a state is from another, or from a step, leaf by leaf.
//!
//! The distance of a leaf is that in its own table, as if no other leaf were in its way; so a state in which some leaf cannot
//! reach its own goal cannot reach the goal either, and may be forgotten. The sum over the leaves estimates how many steps
//! remain; it is not a lower bound, because leaves move together.

use super::moves::Moves;
use gridlock_lts::model::network::VectorIx;

/// The local transitions of all leaves, backwards.
#[derive(Debug)]
pub(super) struct Backwards {
    /// For each local state its first predecessor, and the end.
    first: Vec<u32>,
    sources: Vec<u32>,
}

/// For each local state of each leaf the distance to its local state in one state; [`FAR`] if no path leads there.
pub(super) struct Distances(pub(super) Vec<u32>);

/// No path leads there.
pub(super) const FAR: u32 = u32::MAX;

impl Backwards {
    /// Reverses the transitions.
    pub(super) fn new(moves: &Moves) -> Self {
        let mut first = vec![0u32; moves.locals() + 1];
        moves.for_each(|_, to| first[to + 1] += 1);
        for k in 1..first.len() {
            first[k] += first[k - 1];
        }
        let (mut next, mut sources) = (first.clone(), vec![0; moves.len()]);
        moves.for_each(|from, to| {
            sources[next[to] as usize] = from as u32;
            next[to] += 1;
        });
        Backwards { first, sources }
    }

    /// The cost of computing distances, counted in states expanded.
    pub(super) fn cost(&self) -> u64 {
        (self.sources.len() + self.first.len()) as u64 / 64
    }

    /// The distances to the local states of a state.
    pub(super) fn distances(&self, moves: &Moves, state: &[u64]) -> Distances {
        let goals = (0..moves.leaves()).map(|leaf| moves.local(leaf, state) as u32).collect();
        let mut distances = Vec::new();
        self.fill(goals, moves.locals(), &mut distances);
        Distances(distances)
    }

    /// The distances of the leaves that take part in a vector to where they can; the others' are [`FAR`].
    pub(super) fn to_step(&self, moves: &Moves, vector: VectorIx, distances: &mut Distances) {
        self.fill(moves.places_of(vector), moves.locals(), &mut distances.0);
    }

    /// The distances to the nearest of some local states.
    fn fill(&self, goals: Vec<u32>, locals: usize, distances: &mut Vec<u32>) {
        distances.clear();
        distances.resize(locals, FAR);
        let mut queue = goals;
        for &goal in &queue {
            distances[goal as usize] = 0;
        }
        let mut k = 0;
        while k < queue.len() {
            let local = queue[k] as usize;
            for &from in &self.sources[self.first[local] as usize..self.first[local + 1] as usize] {
                if distances[from as usize] == FAR {
                    distances[from as usize] = distances[local] + 1;
                    queue.push(from);
                }
            }
            k += 1;
        }
    }
}
