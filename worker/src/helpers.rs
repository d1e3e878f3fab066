//! Threads that help with one job.
//!
//! They are started when there is something to help with for the first time, wait between two tasks, and end with the
//! worker. Invariants: [`Helpers::run`] returns only when no thread is at the task any more, whatever happens, so a task
//! may borrow; a thread that has not begun by then is not waited for, and does not begin it any more.

use gridlock_lts::base::error::{Error, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};

/// What is done by all threads at the same time. It says itself who does which part.
type Task = &'static (dyn Fn() + Sync);

/// See the module head.
pub struct Helpers {
    /// How many there are, the thread that they help included.
    count: usize,
    shared: Arc<Shared>,
    threads: OnceLock<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    board: Mutex<Board>,
    /// There is a task, or all is over.
    begin: Condvar,
    /// Nobody is at the task any more.
    done: Condvar,
}

/// What threads tell each other.
#[derive(Default)]
struct Board {
    task: Option<Task>,
    /// Counts tasks, so that nobody does one twice.
    round: u64,
    /// How many are at the task.
    busy: usize,
    /// What a thread panicked with.
    panic: Option<Box<dyn Any + Send>>,
    over: bool,
}

impl Shared {
    /// Nothing that is done while the board is held can leave it half changed.
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn help(&self) {
        let mut last = 0;
        let mut board = self.board();
        while !board.over {
            let task = board.task.filter(|_| board.round != last);
            let Some(task) = task else {
                board = self.begin.wait(board).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            last = board.round;
            board.busy += 1;
            drop(board);
            let done = catch_unwind(AssertUnwindSafe(task));
            board = self.board();
            if let Err(panic) = done {
                board.panic.get_or_insert(panic);
            }
            board.busy -= 1;
            if board.busy == 0 {
                self.done.notify_all();
            }
        }
    }
}

/// Takes a task away and waits until nobody is at it.
struct Finish<'s>(&'s Shared);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let mut board = self.0.board();
        board.task = None;
        while board.busy > 0 {
            board = self.0.done.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Helpers {
    /// So many threads for a job, the one that asks for help included; none if that is alone.
    pub fn new(count: usize) -> Option<Self> {
        (count > 1).then(|| Helpers { count, shared: Arc::default(), threads: OnceLock::new() })
    }

    /// How many threads there are, the one that asks included.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Does a task on this thread and all others at the same time. Who panics there panics here.
    pub fn run(&self, task: &(dyn Fn() + Sync)) -> Result<()> {
        self.start()?;
        // SAFETY: only the lifetime changes. The task is on the board until `finish` is dropped, which is before this
        // function is left in any way. Who takes it from the board counts as busy before the board is free again, and
        // `finish` waits until nobody is busy. So nobody has the task once it may be gone.
        let lent: Task = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), Task>(task) };
        let finish = Finish(&self.shared);
        {
            let mut board = self.shared.board();
            board.task = Some(lent);
            board.round += 1;
            board.panic = None;
        }
        self.shared.begin.notify_all();
        task();
        drop(finish);
        let panic = self.shared.board().panic.take();
        panic.map_or(Ok(()), |panic| resume_unwind(panic))
    }

    /// Starts the threads if that has not been done.
    fn start(&self) -> Result<()> {
        if self.threads.get().is_some() {
            return Ok(());
        }
        let mut threads = Vec::new();
        for _ in 1..self.count {
            let shared = self.shared.clone();
            match Builder::new().spawn(move || shared.help()) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    self.end(threads);
                    self.shared.board().over = false;
                    return Err(Error::input(format_args!(
                        "a thread cannot be started: {error}; the system may allow fewer (--job-workers)"
                    )));
                }
            }
        }
        // Nobody else can have started them: a worker does one job at a time.
        drop(self.threads.set(threads));
        Ok(())
    }

    fn end(&self, threads: Vec<JoinHandle<()>>) {
        self.shared.board().over = true;
        self.shared.begin.notify_all();
        // What they panicked with was passed on.
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        let threads = self.threads.take().unwrap_or_default();
        self.end(threads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Parts of a task, each done once, on borrowed data.
    fn parts(helpers: &Helpers, count: usize) -> Vec<usize> {
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let task = || {
            loop {
                let part = next.fetch_add(1, Relaxed);
                if part >= count {
                    return;
                }
                done.lock().unwrap().push(part);
            }
        };
        helpers.run(&task).unwrap();
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        done
    }

    #[test]
    fn every_part_is_done_once_and_before_it_returns() {
        assert!(Helpers::new(1).is_none(), "nobody helps one alone");
        for count in [2, 3, 8] {
            let helpers = Helpers::new(count).unwrap();
            for parts_of_it in [0, 1, 5, 100] {
                for _ in 0..200 {
                    assert_eq!(parts(&helpers, parts_of_it), (0..parts_of_it).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn all_are_at_it_at_the_same_time() {
        let helpers = Helpers::new(4).unwrap();
        let together = std::sync::Barrier::new(4);
        for _ in 0..20 {
            let met = AtomicUsize::new(0);
            helpers
                .run(&|| {
                    together.wait();
                    met.fetch_add(1, Relaxed);
                })
                .unwrap();
            assert_eq!(met.into_inner(), 4);
        }
    }

    #[test]
    fn a_panic_comes_through_and_the_threads_remain() {
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let helpers = Helpers::new(3).unwrap();
        let together = std::sync::Barrier::new(3);
        let own = std::thread::current().id();
        for here in [false, true] {
            let task = || {
                together.wait();
                assert_eq!(std::thread::current().id() == own, here, "not here");
            };
            let panic = catch_unwind(AssertUnwindSafe(|| helpers.run(&task)));
            assert!(panic.is_err());
            assert_eq!(parts(&helpers, 50).len(), 50);
        }
        std::panic::set_hook(quiet);
    }
}
