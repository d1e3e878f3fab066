//! Levels that have ended: their times, and a listener that goes through them again.

use crate::engine::mesh::Mesh;
use crate::engine::search::Level;
use crate::engine::search::bfs::Chunk;
use std::time::Duration;

/// The most levels that are reported one by one; of more, neighbours are merged.
const MOST_LEVELS: usize = if cfg!(test) { 8 } else { 2048 };

/// Remembers a level that has ended.
pub(super) fn remember(levels: &mut Vec<Level>, states: u64, ended: Duration) {
    if levels.len() == MOST_LEVELS {
        let both = |two: &[Level]| Level {
            states: two.iter().map(|level| level.states).max().unwrap_or(0),
            ended: two[two.len() - 1].ended,
        };
        *levels = levels.chunks(2).map(both).collect();
    }
    levels.push(Level { states, ended });
}

/// A listener that goes through the levels again, and may end the search early.
pub(in crate::engine::search) struct Listener<'a, 'l> {
    /// This rank's part of each level that was expanded.
    pub(in crate::engine::search) levels: Vec<Vec<Chunk<'a>>>,
    /// Called after each level with the number of states of all ranks; says whether to end. One rank that says so is
    /// enough.
    pub(in crate::engine::search) has_enough: &'l mut dyn FnMut(u64) -> bool,
    /// Whether it said so.
    pub(in crate::engine::search) over: bool,
}

impl<'a> Listener<'a, '_> {
    /// All ranks together, after a level: whether to end.
    pub(super) fn hear(&mut self, level: Vec<Chunk<'a>>, states: u64, mesh: &mut dyn Mesh) -> bool {
        let level = level.into_iter().map(|mut chunk| {
            chunk.shrink();
            chunk
        });
        self.levels.push(level.collect());
        let enough = (self.has_enough)(states);
        self.over = mesh.share(&[u64::from(enough)], &mut || false).contains(&1);
        self.over
    }
}
