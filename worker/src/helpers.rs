//! Threads that do one job together.
//!
//! They are started with the first task, wait between two tasks, and end with the worker. A task may borrow: [`Helpers::run`]
//! returns only when no thread works on the task any more, also after a panic.

use gridlock_lts::base::error::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

/// See the module head.
pub struct Helpers {
    count: usize,
    pool: OnceLock<ThreadPool>,
}

impl Helpers {
    /// Helpers with this number of threads for a job; `None` if the worker does it alone.
    pub fn new(count: usize) -> Option<Self> {
        (count > 1).then(|| Helpers { count, pool: OnceLock::new() })
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Runs a task on all threads at the same time, while this thread waits. The task itself divides the work among the
    /// threads. A panic in one of them is a panic here.
    pub fn run(&self, task: &(dyn Fn() + Sync)) -> Result<()> {
        self.pool()?.broadcast(|_| task());
        Ok(())
    }

    fn pool(&self) -> Result<&ThreadPool> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let pool = ThreadPoolBuilder::new().num_threads(self.count).build().map_err(|error| {
            Error::input(format_args!(
                "a thread cannot be started: {error}; the system may allow fewer (--job-workers)"
            ))
        })?;
        Ok(self.pool.get_or_init(|| pool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;
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
        let helpers = Helpers::new(3).unwrap();
        let next = AtomicUsize::new(0);
        let panic =
            catch_unwind(AssertUnwindSafe(|| helpers.run(&|| assert_ne!(next.fetch_add(1, Relaxed), 1))));
        assert!(panic.is_err());
        assert_eq!(parts(&helpers, 50).len(), 50);
    }
}
