//! Workers that are threads of this process.
//!
//! A thread that panics loses its job, but the run goes on: the thread reports the loss and continues with a new state. A
//! thread that is stuck, which means that it gives no sign of life for too long, loses its job, too. It cannot be ended, so
//! it is cancelled and abandoned; another thread takes its place, and its later answers are ignored.
//!
//! Invariants: messages of a thread that was given up have no effect. [`Threads`] never wait for such a thread, so threads
//! own the data that they use.

use super::{Returned, Ticket, Transport};
use gridlock_lts::base::error::{Error, Result};
use gridlock_worker::life::Life;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// How long a thread may take to notice that it was cancelled. Its job does not count any more, so this is short.
const TO_GIVE_UP: Duration = Duration::from_secs(1);
/// How often threads are checked, unless patience is shorter than that.
const LOOK: Duration = Duration::from_millis(500);

/// Threads as the one that gives them jobs sees them.
pub struct Threads<J, A> {
    posts: Vec<Post<J>>,
    orders: Option<Sender<Order<J>>>,
    answers: Receiver<Said<A>>,
    /// How long a thread may be silent.
    patience: Option<Duration>,
    looked: Instant,
    cancelled: bool,
    host: Option<JoinHandle<()>>,
    unstarted: Unstarted,
}

/// Why a thread could not be started, if one could not: its jobs would never be answered.
type Unstarted = Arc<OnceLock<String>>;

fn cannot_start(unstarted: &Unstarted, error: &std::io::Error) {
    let why = format!("a thread cannot be started: {error}; the system may allow fewer (--workers)");
    let _ = unstarted.set(why);
}

/// The place of one thread, which may be filled by several threads one after the other.
struct Post<J> {
    jobs: Sender<(Ticket, J)>,
    life: Arc<Life>,
    /// The number of threads that this place had before.
    generation: u32,
    busy: Option<Busy>,
}

/// A job that a thread has, and the time of its last sign of life.
struct Busy {
    ticket: Ticket,
    signs: u64,
    seen: Instant,
}

/// An answer, with its thread and the generation of that thread.
type Said<A> = (u32, u32, Ticket, Returned<A>);

/// A thread to be started.
struct Order<J> {
    number: u32,
    generation: u32,
    jobs: Receiver<(Ticket, J)>,
    life: Arc<Life>,
}

/// Threads that are yet to be started.
pub struct Crew<J, A> {
    orders: Receiver<Order<J>>,
    answer: Sender<Said<A>>,
    unstarted: Unstarted,
}

impl<J: Send, A: Send> Crew<J, A> {
    /// Starts threads as they are wanted, and ends when all have ended. `worker` makes the state of a thread, which does
    /// one job at a time, gives signs of life meanwhile, and gives up soon after it is cancelled.
    pub fn work<W: FnMut(J, &Life) -> A>(self, worker: impl Fn() -> W + Sync) {
        self.work_on(Builder::new, worker);
    }

    fn work_on<W: FnMut(J, &Life) -> A>(self, thread: fn() -> Builder, worker: impl Fn() -> W + Sync) {
        let (worker, answer) = (&worker, self.answer);
        std::thread::scope(|scope| {
            for order in self.orders {
                let answer = answer.clone();
                let work = move || order.carry_out(worker, &answer);
                if let Err(error) = thread().spawn_scoped(scope, work) {
                    cannot_start(&self.unstarted, &error);
                    break;
                }
            }
        });
    }
}

impl<J> Order<J> {
    fn carry_out<A, W: FnMut(J, &Life) -> A>(self, worker: impl Fn() -> W, answers: &Sender<Said<A>>) {
        let mut state = None;
        while let Ok((ticket, job)) = self.jobs.recv() {
            let done = catch_unwind(AssertUnwindSafe(|| state.get_or_insert_with(&worker)(job, &self.life)));
            let answer = done.map(Returned::Done).unwrap_or_else(|panic| {
                // It may be half changed.
                state = None;
                Returned::Lost(message(&*panic))
            });
            if answers.send((self.number, self.generation, ticket, answer)).is_err() {
                return;
            }
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a worker panicked".to_owned())
}

/// Starts some threads. With `patience` they are given up if they give no sign of life for that long; otherwise one that is
/// stuck is waited for. They are all
/// started by one further thread, which runs `host`; that has to call [`Crew::work`].
pub fn start<J: Send + 'static, A: Send + 'static>(
    count: usize,
    patience: Option<Duration>,
    host: impl FnOnce(Crew<J, A>) + Send + 'static,
) -> Threads<J, A> {
    let (mut threads, crew) = enlist(count, patience);
    match Builder::new().spawn(move || host(crew)) {
        Ok(host) => threads.host = Some(host),
        Err(error) => cannot_start(&threads.unstarted, &error),
    }
    threads
}

fn enlist<J, A>(count: usize, patience: Option<Duration>) -> (Threads<J, A>, Crew<J, A>) {
    let ((order, orders), (answer, answers)) = (channel(), channel());
    let posts = (0..count.max(1) as u32).map(|number| post(number, 0, &order)).collect();
    let unstarted = Unstarted::default();
    let threads = Threads {
        posts,
        orders: Some(order),
        answers,
        patience,
        looked: Instant::now(),
        cancelled: false,
        host: None,
        unstarted: unstarted.clone(),
    };
    (threads, Crew { orders, answer, unstarted })
}

/// Orders a thread.
fn post<J>(number: u32, generation: u32, orders: &Sender<Order<J>>) -> Post<J> {
    let (jobs, receive) = channel();
    let life = Arc::<Life>::default();
    // If nobody starts threads any more, the first job says so.
    let _ = orders.send(Order { number, generation, jobs: receive, life: life.clone() });
    Post { jobs, life, generation, busy: None }
}

impl<J, A> Threads<J, A> {
    /// Why there is no thread.
    fn gone(&self) -> Error {
        match self.unstarted.get() {
            Some(why) => Error::input(why),
            None => Error::internal("all workers have gone"),
        }
    }

    /// Gives up a thread that has been silent for too long, if there is one: its number and its job.
    fn give_up(&mut self) -> Option<(u32, Ticket, Returned<A>)> {
        let patience = self.patience?;
        if self.looked.elapsed() < LOOK.min(patience / 4) {
            return None;
        }
        for (number, held) in (0..).zip(&mut self.posts) {
            let Some(busy) = &mut held.busy else { continue };
            let signs = held.life.signs();
            if signs != busy.signs {
                (busy.signs, busy.seen) = (signs, Instant::now());
            }
            if busy.seen.elapsed() < patience {
                continue;
            }
            let (ticket, orders) = (busy.ticket, self.orders.as_ref()?);
            held.life.cancel();
            *held = post(number, held.generation + 1, orders);
            if self.cancelled {
                held.life.cancel();
            }
            let why = format!("a thread gave no sign of life for {:.1} s", patience.as_secs_f64());
            return Some((number, ticket, Returned::Lost(why)));
        }
        self.looked = Instant::now();
        None
    }

    /// The answer, if its job is still waited for.
    fn heard(&mut self, (number, generation, ticket, answer): Said<A>) -> Option<(u32, Ticket, Returned<A>)> {
        let post = &mut self.posts[number as usize];
        if post.generation != generation {
            return None;
        }
        post.busy = None;
        Some((number, ticket, answer))
    }
}

impl<J, A> Drop for Threads<J, A> {
    /// Threads that notice the cancellation end before this returns.
    fn drop(&mut self) {
        self.posts.drain(..).for_each(|post| post.life.cancel());
        self.orders = None;
        let Some(host) = self.host.take() else { return };
        let begun = Instant::now();
        while self.patience.is_some() && !host.is_finished() {
            if begun.elapsed() > TO_GIVE_UP {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // The thread that waited for an answer has reported what went wrong there.
        let _ = host.join();
    }
}

impl<J: Send, A: Send> Transport<J, A> for Threads<J, A> {
    fn slots(&self) -> Vec<u32> {
        (0..self.posts.len() as u32).collect()
    }

    fn send(&mut self, worker: u32, ticket: Ticket, job: J) -> Result<()> {
        let post = &mut self.posts[worker as usize];
        post.busy = Some(Busy { ticket, signs: post.life.signs(), seen: Instant::now() });
        post.jobs.send((ticket, job)).map_err(|_| self.gone())
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Ticket, Returned<A>)>> {
        let until = Instant::now() + wait;
        loop {
            if self.unstarted.get().is_some() {
                return Err(self.gone());
            }
            match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(said) => {
                    if let Some(answer) = self.heard(said) {
                        return Ok(Some(answer));
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Ok(self.give_up()),
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
            }
        }
    }

    fn cancel(&mut self) {
        self.cancelled = true;
        self.posts.iter_mut().for_each(|post| {
            post.life.cancel();
            if let Some(busy) = &mut post.busy {
                (busy.signs, busy.seen) = (post.life.signs(), Instant::now());
            }
        });
        // From here on nothing is lost that would count.
        self.patience = self.patience.map(|patience| patience.min(TO_GIVE_UP));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

    #[test]
    fn every_job_is_answered_once() {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let worker = || {
            MADE.fetch_add(1, Relaxed);
            |job: u32, _: &Life| {
                assert!(!job.is_multiple_of(10), "no job for me");
                job * 2
            }
        };
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let (mut done, mut lost) = (Vec::new(), 0);
        {
            let mut threads = start(3, None, move |crew| crew.work(worker));
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
                    Returned::Done(answer) => {
                        assert_eq!(ticket, u64::from(answer / 2));
                        done.push(answer / 2);
                    }
                    Returned::Lost(why) => lost += u32::from(why == "no job for me"),
                }
            }
        }
        std::panic::set_hook(quiet);
        done.sort_unstable();
        assert_eq!(done, (0..100).filter(|n| n % 10 != 0).collect::<Vec<_>>());
        assert_eq!(lost, 10);
        assert!(MADE.load(Relaxed) >= 10, "a worker that panicked begins anew");
    }

    #[test]
    fn dropping_the_threads_ends_the_work() {
        let worker = || |_: u32, life: &Life| while !life.is_cancelled() {};
        let mut threads = start(2, None, move |crew| crew.work(worker));
        threads.send(0, 5, 1).unwrap();
        assert_eq!(threads.receive(Duration::from_millis(10)), Ok(None));
    }

    /// The next answer, however long it takes.
    fn next(threads: &mut Threads<u32, u32>) -> (u32, Ticket, Returned<u32>) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if let Some(answer) = threads.receive(Duration::from_millis(5)).unwrap() {
                return answer;
            }
        }
        panic!("no answer");
    }

    #[test]
    fn a_stuck_thread_is_replaced_and_not_heard_any_more() {
        static FREE: AtomicBool = AtomicBool::new(false);
        static ENDED: AtomicU32 = AtomicU32::new(0);
        // Job 1 hangs until it is freed, 2 takes as long but is alive, others are quick.
        let work = |job: u32, life: &Life| {
            while job == 1 && !FREE.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            while job == 2 && !FREE.load(Relaxed) {
                assert!(!life.is_cancelled(), "it is alive");
                std::thread::sleep(Duration::from_millis(1));
            }
            ENDED.fetch_add(u32::from(job == 1), Relaxed);
            job * 2
        };
        // Long enough that a thread which is alive gets its turn on a machine that has much to do.
        let patience = Some(Duration::from_secs(2));
        let mut threads = start(2, patience, move |crew| crew.work(|| work));
        threads.send(0, 11, 1).unwrap();
        threads.send(1, 12, 2).unwrap();
        let (worker, ticket, answer) = next(&mut threads);
        assert_eq!((worker, ticket), (0, 11));
        assert_eq!(answer, Returned::Lost("a thread gave no sign of life for 2.0 s".to_owned()));
        // Another thread is there, and what the first one says now is not taken for its answer.
        threads.send(0, 13, 3).unwrap();
        assert_eq!(next(&mut threads), (0, 13, Returned::Done(6)));
        FREE.store(true, Relaxed);
        while ENDED.load(Relaxed) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(next(&mut threads), (1, 12, Returned::Done(4)));
        assert_eq!(threads.receive(Duration::from_millis(50)), Ok(None));
    }

    #[test]
    fn nobody_waits_for_a_thread_that_is_stuck_at_the_end() {
        let patience = Some(Duration::from_secs(3600));
        let mut threads: Threads<u32, u32> = start(2, patience, |crew| {
            crew.work(|| {
                |_, _: &Life| loop {
                    std::thread::park();
                }
            });
        });
        threads.send(0, 1, 1).unwrap();
        let begun = Instant::now();
        assert_eq!(threads.receive(Duration::from_millis(50)), Ok(None));
        threads.cancel();
        assert!(matches!(next(&mut threads), (0, 1, Returned::Lost(_))));
        drop(threads);
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_system_without_room_for_a_thread_is_told() {
        let mut threads: Threads<u32, u32> = start(3, Some(Duration::from_secs(3600)), |crew| {
            crew.work_on(|| Builder::new().stack_size(1 << 50), || |job, _: &Life| job);
        });
        let begun = Instant::now();
        let mut said = threads.send(0, 1, 1);
        while said.is_ok() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nobody answers");
            said = threads.receive(Duration::from_millis(20)).map(drop);
        }
        let why = said.expect_err("no thread").to_string();
        assert!(why.starts_with("a thread cannot be started: ") && why.contains("--workers"), "{why}");
    }
}
