//! Workers that are threads of this process.
//!
//! A thread that panics loses its job, not the run: it says so and goes on with a new state.

use super::{Answer, Ticket, Transport};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Threads, as long as [`with_threads`] lasts.
pub struct Threads<'a, J, A> {
    jobs: Vec<Sender<(Ticket, J)>>,
    answers: Receiver<(u32, Ticket, Answer<A>)>,
    cancel: &'a AtomicBool,
}

/// Starts some threads and calls `body` with them. `worker` makes the state of a thread, which does one job at a time
/// and gives up soon after the flag becomes true.
pub fn with_threads<J, A, W, R>(
    count: usize,
    worker: impl Fn() -> W + Sync,
    body: impl FnOnce(&mut Threads<J, A>) -> R,
) -> R
where
    J: Send,
    A: Send,
    W: FnMut(J, &AtomicBool) -> A,
{
    let cancel = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (answer, answers) = channel();
        let jobs = (0..count.max(1) as u32)
            .map(|number| {
                let (send, receive) = channel();
                let (answer, worker, cancel) = (answer.clone(), &worker, &cancel);
                scope.spawn(move || work(number, worker, receive, answer, cancel));
                send
            })
            .collect();
        let mut threads = Threads { jobs, answers, cancel: &cancel };
        // However the body ends, the threads must.
        let result = catch_unwind(AssertUnwindSafe(|| body(&mut threads)));
        cancel.store(true, Relaxed);
        drop(threads);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn work<J, A, W: FnMut(J, &AtomicBool) -> A>(
    number: u32,
    worker: impl Fn() -> W,
    jobs: Receiver<(Ticket, J)>,
    answers: Sender<(u32, Ticket, Answer<A>)>,
    cancel: &AtomicBool,
) {
    let mut state = None;
    while let Ok((ticket, job)) = jobs.recv() {
        let done = catch_unwind(AssertUnwindSafe(|| state.get_or_insert_with(&worker)(job, cancel)));
        let answer = done.map(Answer::Done).unwrap_or_else(|panic| {
            // It may be half changed.
            state = None;
            Answer::Lost(message(&*panic))
        });
        if answers.send((number, ticket, answer)).is_err() {
            return;
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a worker panicked".to_owned())
}

impl<J: Send, A: Send> Transport<J, A> for Threads<'_, J, A> {
    fn slots(&self) -> Vec<u32> {
        (0..self.jobs.len() as u32).collect()
    }

    fn send(&mut self, worker: u32, ticket: Ticket, job: J) -> Result<(), String> {
        self.jobs[worker as usize].send((ticket, job)).map_err(|_| format!("worker {worker} has gone"))
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Ticket, Answer<A>)>, String> {
        match self.answers.recv_timeout(wait) {
            Ok(answer) => Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err("all workers have gone".to_owned()),
        }
    }

    fn cancel(&mut self) {
        self.cancel.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn every_job_is_answered_once() {
        let made = AtomicU32::new(0);
        let worker = || {
            made.fetch_add(1, Relaxed);
            |job: u32, _: &AtomicBool| {
                assert!(!job.is_multiple_of(10), "no job for me");
                job * 2
            }
        };
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let (mut done, mut lost) = (Vec::new(), 0);
        with_threads(3, worker, |threads| {
            let mut free = threads.slots();
            let mut next = 0;
            while next < 100 || free.len() < 3 {
                if let Some(worker) = (next < 100).then(|| free.pop()).flatten() {
                    threads.send(worker, u64::from(next), next).unwrap();
                    next += 1;
                    continue;
                }
                let (worker, ticket, answer) =
                    threads.receive(Duration::from_secs(60)).unwrap().expect("an answer");
                free.push(worker);
                match answer {
                    Answer::Done(answer) => {
                        assert_eq!(ticket, u64::from(answer / 2));
                        done.push(answer / 2);
                    }
                    Answer::Lost(why) => lost += u32::from(why == "no job for me"),
                }
            }
        });
        std::panic::set_hook(quiet);
        done.sort_unstable();
        assert_eq!(done, (0..100).filter(|n| n % 10 != 0).collect::<Vec<_>>());
        assert_eq!(lost, 10);
        assert!(made.load(Relaxed) >= 10, "a worker that panicked begins anew");
    }

    #[test]
    fn the_end_of_the_body_ends_the_work() {
        let worker = || |_: u32, cancel: &AtomicBool| while !cancel.load(Relaxed) {};
        with_threads(2, worker, |threads| {
            threads.send(0, 5, 1).unwrap();
            assert_eq!(threads.receive(Duration::from_millis(10)), Ok(None));
        });
    }
}
