//! Decides obligations on several threads of this process.

use super::Options;
use super::board::{Board, TaskPath};
use super::task::{Setting, Task};
use crate::base::error::Limit;
use crate::model::network::Network;
use crate::property::Property;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

struct Workers<'a, N, P> {
    setting: &'a Setting<N, P>,
    options: &'a Options<'a>,
    board: Mutex<Board>,
    changed: Condvar,
    states: AtomicU64,
}

/// Decides them, until the board has an end.
pub(super) fn decide<N, P>(setting: &Setting<N, P>, options: &Options) -> Board
where
    N: Deref<Target = Network> + Sync,
    P: Deref<Target = [Property]> + Sync,
{
    let board = Mutex::new(Board::new(setting.obligations()));
    let workers = Workers { setting, options, board, changed: Condvar::new(), states: AtomicU64::new(0) };
    std::thread::scope(|scope| {
        for _ in 1..options.workers {
            scope.spawn(|| workers.work());
        }
        workers.work();
    });
    workers.board.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl<N, P> Workers<'_, N, P>
where
    N: Deref<Target = Network> + Sync,
    P: Deref<Target = [Property]> + Sync,
{
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; none: nothing is left to do.
    fn take(&self) -> Option<(TaskPath, Task)> {
        let mut board = self.board();
        loop {
            match board.take() {
                Some(taken) => return Some(taken),
                None if board.is_over() => return None,
                None => board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn work(&self) {
        while let Some((place, task)) = self.take() {
            let in_vain = || self.board().is_in_vain(&place);
            let stop = || (self.options.stop)().or_else(|| in_vain().then_some(Limit::Interrupted));
            let progress = |states: u64| {
                let all = self.states.fetch_add(states, Relaxed) + states;
                (self.options.progress)(self.board().done(), all);
            };
            let answered = self.setting.decide(&task, self.options, &stop, &progress);
            self.board().put(place, answered);
            self.changed.notify_all();
        }
    }
}
