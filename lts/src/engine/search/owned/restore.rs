//! Reads a checkpoint back: on any number of ranks and threads, independent of the number that wrote it.
//!
//! Level by level each rank reads its part of the files; a state goes to the rank that owns it now and is looked up there at its
//! depth, by the same messages as in a search. Invariant: the search begins only if all states that the checkpoint speaks of
//! are there, each once.

use super::post::Post;
use super::{Away, Expanded, FEW, FOR_MESSAGES, Kept, Sender, Taken, agree, fill_tables, level_with};
use crate::base::error::{Error, Limit, Result};
use crate::engine::mesh::Mesh;
use crate::engine::pack::Width;
use crate::engine::runs::layout::Layout;
use crate::engine::search::bfs::{Chunk, Route, Worker};
use crate::engine::search::run::Run;
use crate::engine::search::saved::{Checkpoint, Saved, Source, Totals, check_same};
use crate::engine::successors::Successors;
use std::sync::{Mutex, PoisonError};

/// Where a resumed search goes on.
pub(in crate::engine::search) struct Restored<'a> {
    /// The states of the level that this rank owns.
    pub(in crate::engine::search) level: Vec<Chunk<'a>>,
    /// What all ranks had counted.
    pub(in crate::engine::search) totals: Totals,
}

/// All ranks together: where the search goes on, or `None` if it begins. An error is one that all ranks have.
pub(in crate::engine::search) fn restore<'a, S: Successors>(
    run: &Run<'a, S>,
    mesh: &mut dyn Mesh,
) -> Result<Option<Restored<'a>>> {
    check_same(run.options.checkpoint, mesh)?;
    let Some((checkpoint, saved)) = run.options.checkpoint.and_then(|c| Some((c, c.resume?))) else {
        return Ok(None);
    };
    let words = run.system.width().words();
    check(saved, words, checkpoint)?;
    let threads = run.options.workers.max(1);
    let post = Post::new(mesh, words, threads, run.budget.limit() / FOR_MESSAGES);
    let taken = run.budget.take(post.bytes(threads)).map_err(Error::from);
    let _taken = agree(mesh, taken.map(|()| Taken(run.budget, post.bytes(threads))))?;
    let mut kept: Vec<Kept<S>> = (0..threads).map(|_| Kept::new(run, mesh)).collect();
    let each = saved.states / (saved.depth + 1) / mesh.size() as u64;
    let threads = if each < FEW { 1 } else { threads };
    let source = Mutex::new(Source::new(checkpoint, saved, mesh));
    let layout = Layout::new(&vec![0; words]);
    let mut level = Vec::new();
    for depth in 0..=saved.depth {
        run.set_level(depth, 0);
        if let Err(error) = source.lock().unwrap_or_else(PoisonError::into_inner).begin(depth, words) {
            run.stop(error);
        }
        let load = |worker: &mut Sender<'_, '_, '_, S>, _: usize| worker.load(&source, &layout);
        let Expanded { next, .. } = level_with(run, mesh, &post, depth, depth, &mut kept[..threads], &load);
        agree(mesh, run.why_stopped().map_or(Ok(()), Err))?;
        if run.is_stopped() {
            return Err(Limit::Interrupted.into());
        }
        level = next;
        if depth < saved.depth
            && let Some(error) = fill_tables(run, mesh, &mut level)
        {
            // All ranks fill the same, but time may be over on one of them only: they meet after the next level.
            run.stop(error);
        }
    }
    let source = source.into_inner().unwrap_or_else(PoisonError::into_inner);
    let frontier: usize = level.iter().map(|chunk| chunk.states.len() / words).sum();
    let all = mesh.share(&[run.visited.len(), frontier as u64], &mut || false);
    let sum = |k: usize| all.iter().skip(k).step_by(2).sum::<u64>();
    let whole = source.is_over() && (sum(0), sum(1)) == (saved.states, saved.frontier);
    let whole = if whole { Ok(()) } else { Err(incomplete(&source)) };
    agree(mesh, whole)?;
    let &Saved { depth, frontier, states, transitions, deadlocks, .. } = saved;
    run.set_earlier(transitions, deadlocks);
    Ok(Some(Restored { level, totals: Totals { depth, frontier, states, transitions, deadlocks } }))
}

/// What can be known to be wrong before anything is read.
fn check(saved: &Saved, words: usize, checkpoint: &Checkpoint) -> Result<()> {
    if saved.words as usize != words {
        return Err(Error::input(format_args!(
            "the checkpoint in {} cannot be resumed: its states have {} words, and here they have {words}; begin again in \
             another directory",
            checkpoint.dir.display(),
            saved.words
        )));
    }
    if saved.files.iter().map(|file| file.last).max() != Some(saved.depth) {
        return Err(Error::input(format_args!(
            "the checkpoint in {} cannot be resumed: it has no states at depth {}; begin again in another directory",
            checkpoint.dir.display(),
            saved.depth
        )));
    }
    Ok(())
}

fn incomplete(source: &Source) -> Error {
    Error::input(format_args!(
        "the checkpoint in {} cannot be resumed: its files do not have the {} states that it speaks of; begin again in another \
         directory",
        source.place().display(),
        source.saved().states
    ))
}

impl<'m, S: Successors> Worker<'_, '_, S, Away<'_, 'm, S::Width>> {
    /// Looks up the states of the level that is read, or sends them to their owners.
    fn load(&mut self, source: &Mutex<Source>, layout: &Layout) {
        let mut states = Vec::new();
        while !self.run.is_stopped() {
            let block = source.lock().unwrap_or_else(PoisonError::into_inner).next();
            let block = match block {
                Ok(Some(block)) => block,
                Ok(None) => break,
                Err(error) => {
                    self.run.stop(error);
                    break;
                }
            };
            states.clear();
            let looked_up = block
                .decode(self.run.system.width(), layout, &mut states)
                .and_then(|()| Route::hand_out(self, &states));
            if let Err(stop) = looked_up {
                self.run.stop(stop);
            }
            self.let_go();
            self.run.look_around();
        }
    }
}
