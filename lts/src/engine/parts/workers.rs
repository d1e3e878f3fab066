//! Does the tasks of a search on several threads of this process.

use super::board::{Board, TaskPlace};
use super::task::{Answered, Task};
use super::{Options, Setting};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

struct Workers<'a> {
    setting: Setting<'a>,
    options: &'a Options<'a>,
    board: Mutex<Board>,
    changed: Condvar,
    stopped: AtomicBool,
}

/// Does tasks until the board has an end, or the run is to stop.
pub(super) fn decide(board: Board, setting: Setting, options: &Options) -> Board {
    let (board, changed, stopped) = (Mutex::new(board), Condvar::new(), AtomicBool::new(false));
    let workers = Workers { setting, options, board, changed, stopped };
    std::thread::scope(|scope| {
        for _ in 1..options.workers {
            scope.spawn(|| workers.work());
        }
        workers.work();
    });
    workers.board.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Workers<'_> {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; none: nothing is left to do.
    fn take(&self) -> Option<(TaskPlace, Task)> {
        let mut board = self.board();
        loop {
            if board.is_over() || self.stopped.load(Relaxed) {
                return None;
            }
            match board.take(self.setting) {
                Some(taken) => return Some(taken),
                None if board.is_over() => return None,
                None => board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn work(&self) {
        while let Some((place, task)) = self.take() {
            let answered = task.run(self.setting.budget, self.options.stop, false);
            let mut board = self.board();
            match answered.is_stopped() {
                true => self.stopped.store(true, Relaxed),
                false => board.put(self.setting, place, answered),
            }
            let status = board.status();
            drop(board);
            (self.options.progress)(status.left, status.states, status.trials);
            self.changed.notify_all();
        }
        // Those who wait look again whether it is over.
        self.changed.notify_all();
    }
}

/// Does some tasks and returns their results in the order of the tasks.
pub(super) fn all(tasks: &[Task], setting: Setting, options: &Options) -> Vec<Answered> {
    let one = |task: &Task| task.run(setting.budget, options.stop, false);
    if options.workers <= 1 || tasks.len() <= 1 {
        return tasks.iter().map(one).collect();
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..options.workers.min(tasks.len()) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    let Some(task) = tasks.get(number) else { return };
                    let answered = one(task);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((number, answered));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, answered)| answered).collect()
}
