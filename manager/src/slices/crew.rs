//! Those who activate slices: threads that share the store, or ranks that are sent what they need.
//!
//! A rank has no states between two jobs: a job brings the slice, compressed as it was put away, and the answer takes the
//! result back. What a rank keeps is a replica of the partition, and a job brings the changes since the last one that was
//! sent there. Invariant: the same slice and the same partition give the same result, wherever it is activated.

use super::coordinator::Coordinator;
use crate::transport::threads::{Threads, lasting};
use crate::transport::{Answer, Transport};
use gridlock_lts::base::error::Error;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::Successors;
use gridlock_worker::life::Life;
use gridlock_worker::slice::activation::{Round, Worker};
use gridlock_worker::slice::message::{Done, Slice};
use gridlock_worker::slice::partition::{Partition, SliceIx};
use gridlock_worker::slice::store::Store;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// What comes of an activation.
pub(super) type Outcome = Result<Done, Error>;

/// Workers, wherever they are.
pub(super) trait Crew {
    /// For each activation that may be under way at a time, the worker that it belongs to.
    fn slots(&self) -> Vec<u32>;

    /// A search begins, with a partition that nobody knows yet.
    fn begin(&mut self);

    /// States up to which slices are activated together, where each message costs something.
    fn batch(&self) -> u64;

    /// Lets a worker activate slices one after the other.
    fn send(&mut self, worker: u32, slices: &[SliceIx], coordinator: &Coordinator) -> Result<(), String>;

    /// The next answer, if one comes within some time: from whom, the first of the slices, and what came of them; after
    /// one that failed, the others are missing.
    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, SliceIx, Answer<Vec<Outcome>>)>, String>;

    /// Tells all workers to give up. They answer nevertheless.
    fn cancel(&mut self);
}

/// What all workers of a process share, those that were given up included.
pub(super) struct Work<S> {
    pub(super) system: Arc<S>,
    pub(super) store: Arc<Store>,
    pub(super) quota: u64,
    pub(super) expanded: Arc<AtomicU64>,
}

impl<S: Successors> Work<S> {
    /// A worker for this work.
    fn worker(&self) -> Worker {
        Worker::new(self.system.width().words())
    }

    fn activate(
        &self,
        worker: &mut Worker,
        partition: &Partition,
        slice: &Slice,
        job_memory: u64,
        life: &Life,
    ) -> Outcome {
        let round = Round {
            system: &*self.system,
            partition,
            store: &self.store,
            job_memory,
            quota: self.quota,
            life,
            expanded: &self.expanded,
        };
        worker.activate(&round, slice)
    }
}

/// Activations for a thread.
pub(super) struct Job {
    partition: Arc<Partition>,
    slices: Vec<Arc<Slice>>,
}

/// Does one thing after the other until something fails.
fn until_trouble<T>(all: impl IntoIterator<Item = T>, mut each: impl FnMut(T) -> Outcome) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for one in all {
        outcomes.push(each(one));
        if outcomes.last().is_some_and(Result::is_err) {
            break;
        }
    }
    outcomes
}

/// Threads of this process.
pub(super) struct Local(Threads<Job, Vec<Outcome>>);

impl Local {
    /// Starts threads; one that gives no sign of life for `stuck_after` is given up.
    pub(super) fn new<S: Successors + Send + 'static>(
        work: Work<S>,
        threads: usize,
        job_memory: u64,
        stuck_after: Option<Duration>,
    ) -> Self {
        Local(lasting(threads, stuck_after, move |crew| {
            crew.work(|| {
                let mut worker = work.worker();
                let work = &work;
                move |job: Job, life: &Life| {
                    until_trouble(&job.slices, |slice| {
                        work.activate(&mut worker, &job.partition, slice, job_memory, life)
                    })
                }
            });
            Ok(())
        }))
    }
}

impl Crew for Local {
    fn slots(&self) -> Vec<u32> {
        self.0.slots()
    }

    fn begin(&mut self) {}

    fn batch(&self) -> u64 {
        // Handing over costs microseconds, and nobody must wait for a long batch at the end of a round.
        0
    }

    fn send(&mut self, worker: u32, slices: &[SliceIx], coordinator: &Coordinator) -> Result<(), String> {
        let slice = |slice: &SliceIx| coordinator.slices[slice.0 as usize].clone();
        let job =
            Job { partition: coordinator.partition.clone(), slices: slices.iter().map(slice).collect() };
        self.0.send(worker, ticket(slices), job)
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, SliceIx, Answer<Vec<Outcome>>)>, String> {
        let answer = self.0.receive(wait)?;
        Ok(answer.map(|(worker, ticket, answer)| (worker, SliceIx(ticket as u32), answer)))
    }

    fn cancel(&mut self) {
        self.0.cancel();
    }
}

/// The number of a message about slices: that of the first.
fn ticket(slices: &[SliceIx]) -> u64 {
    slices.first().map_or(0, |slice| u64::from(slice.0))
}

#[cfg(feature = "mpi")]
pub(super) use remote::{Remote, serve};

#[cfg(feature = "mpi")]
mod remote {
    use super::*;
    use crate::transport::mpi::{self, Ranks, World};
    use gridlock_lts::base::error::Limit;
    use gridlock_lts::base::memory::Budget;
    use gridlock_worker::slice::layout::Layout;
    use gridlock_worker::slice::message::Run;
    use gridlock_worker::slice::partition::Change;
    use gridlock_worker::slice::store::Segment;
    use serde::{Deserialize, Serialize};
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::{Condvar, Mutex, PoisonError};

    /// Expanding so many states takes about as long as a message and its answer.
    const BATCH: u64 = 1 << 13;

    /// Activations for a rank, as rank 0 sees them.
    #[derive(Serialize)]
    struct Outgoing<'a> {
        search: u32,
        mask: &'a [u64],
        known: usize,
        changes: &'a [Change],
        job_memory: u64,
        slices: Vec<OutgoingSlice<'a>>,
    }

    /// The same fields as [`Slice`].
    #[derive(Serialize)]
    struct OutgoingSlice<'a> {
        mask: &'a [u64],
        key: &'a [u64],
        runs: &'a [Run],
        visited: u64,
        inbox: &'a [Segment],
        waiting: u64,
    }

    impl<'a> OutgoingSlice<'a> {
        fn new(slice: &'a Slice, job_memory: u64) -> Self {
            let Slice { mask, key, runs, visited, waiting, .. } = slice;
            let inbox = slice.inbox_within(job_memory);
            OutgoingSlice { mask, key, runs, visited: *visited, inbox, waiting: *waiting }
        }
    }

    /// The same on the other side.
    #[derive(Deserialize)]
    struct Incoming {
        /// Which search of the run it is.
        search: u32,
        /// The bits of the subsystem.
        mask: Box<[u64]>,
        /// So many changes were sent before.
        known: usize,
        /// Those after.
        changes: Vec<Change>,
        job_memory: u64,
        slices: Vec<Slice>,
    }

    /// The other ranks of an MPI job.
    pub(in crate::slices) struct Remote<'w> {
        ranks: Ranks<'w, Vec<Outcome>>,
        search: u32,
        /// For each worker, how many changes of the partition it was sent.
        known: Vec<usize>,
        job_memory: u64,
        store: &'w Store,
        expanded: &'w AtomicU64,
    }

    impl<'w> Remote<'w> {
        /// Ranks as workers of a search.
        pub(in crate::slices) fn new(
            ranks: Ranks<'w, Vec<Outcome>>,
            job_memory: u64,
            store: &'w Store,
            expanded: &'w AtomicU64,
        ) -> Self {
            Remote { ranks, search: 0, known: Vec::new(), job_memory, store, expanded }
        }
    }

    impl Crew for Remote<'_> {
        fn slots(&self) -> Vec<u32> {
            <Ranks<_> as Transport<Outgoing, _>>::slots(&self.ranks)
        }

        fn begin(&mut self) {
            self.search += 1;
            self.known.clear();
        }

        fn batch(&self) -> u64 {
            BATCH
        }

        fn send(&mut self, worker: u32, slices: &[SliceIx], coordinator: &Coordinator) -> Result<(), String> {
            let outgoing =
                |slice: &SliceIx| OutgoingSlice::new(&coordinator.slices[slice.0 as usize], self.job_memory);
            let outgoing = slices.iter().map(outgoing).collect();
            let partition = &coordinator.partition;
            let worker_ix = worker as usize;
            self.known.resize(self.known.len().max(worker_ix + 1), 0);
            let known = std::mem::replace(&mut self.known[worker_ix], partition.changes().len());
            let job = Outgoing {
                search: self.search,
                mask: partition.layout().mask(),
                known,
                changes: &partition.changes()[known..],
                job_memory: self.job_memory,
                slices: outgoing,
            };
            self.ranks.send(worker, ticket(slices), job)
        }

        fn receive(
            &mut self,
            wait: Duration,
        ) -> Result<Option<(u32, SliceIx, Answer<Vec<Outcome>>)>, String> {
            let received = <Ranks<_> as Transport<Outgoing, _>>::receive(&mut self.ranks, wait)?;
            let Some((worker, ticket, answer)) = received else { return Ok(None) };
            let answer = match answer {
                Answer::Done(outcomes) => Answer::Done(until_trouble(outcomes, |outcome| {
                    let done = outcome?;
                    self.expanded.fetch_add(done.states, Relaxed);
                    done.put_away(self.store)
                })),
                Answer::Lost(why) => {
                    // It may have been lost before the changes were looked at.
                    self.known[worker as usize] = 0;
                    Answer::Lost(why)
                }
            };
            Ok(Some((worker, SliceIx(ticket as u32), answer)))
        }

        fn cancel(&mut self) {
            <Ranks<_> as Transport<Outgoing, _>>::cancel(&mut self.ranks);
        }
    }

    /// What a rank knows of the partition. Jobs are taken by threads, not necessarily in the order in which they came: one
    /// that is ahead of the changes waits for the one that brings them. If that one was lost on its way, nobody brings them;
    /// so to wait is no sign of life, and whoever waits too long is lost as well and sent again with all changes.
    #[derive(Default)]
    struct Replica {
        now: Mutex<(u32, Option<Arc<Partition>>, usize)>,
        changed: Condvar,
    }

    impl Replica {
        fn follow(&self, job: &mut Incoming, life: &Life) -> Result<Arc<Partition>, Error> {
            let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
            if now.0 < job.search {
                *now = (job.search, None, 0);
            }
            // A thread that was given up may come back when another search has long begun.
            while now.0 > job.search || now.2 < job.known {
                if now.0 > job.search || life.was_cancelled() {
                    return Err(Error::Limit(Limit::Interrupted));
                }
                let waited = self.changed.wait_timeout(now, Duration::from_millis(50));
                now = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let (_, partition, position) = &mut *now;
            let partition =
                partition.get_or_insert_with(|| Arc::new(Partition::new(Layout::new(&job.mask), false)));
            let new = job.changes.split_off((*position - job.known).min(job.changes.len()));
            if !new.is_empty() {
                *position += new.len();
                let changing = Arc::make_mut(partition);
                new.into_iter().for_each(|change| changing.apply(change));
                self.changed.notify_all();
            }
            Ok(partition.clone())
        }
    }

    /// Activates slices for rank 0 until it says that it is over.
    pub(in crate::slices) fn serve<S: Successors + Send + 'static>(
        world: &World,
        threads: u32,
        stuck_after: Option<Duration>,
        system: Arc<S>,
    ) -> Result<u8, String> {
        // Results stay in memory until they are sent.
        let store = Arc::new(Store::new(Arc::new(Budget::new(u64::MAX)), std::env::temp_dir()));
        let (replica, expanded) = (Replica::default(), Arc::default());
        let work = Work { system, store, quota: u64::MAX, expanded };
        let mut threads = lasting(threads as usize, stuck_after, move |crew| {
            crew.work(|| {
                let mut worker = work.worker();
                let (work, replica) = (&work, &replica);
                move |mut job: Incoming, life: &Life| -> Vec<Outcome> {
                    let partition = match replica.follow(&mut job, life) {
                        Ok(partition) => partition,
                        Err(trouble) => return vec![Err(trouble)],
                    };
                    until_trouble(&job.slices, |slice| {
                        work.activate(&mut worker, &partition, slice, job.job_memory, life)
                    })
                }
            });
            Ok(())
        });
        mpi::serve(world, &mut threads)
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::wire;
        use gridlock_worker::slice::partition::Bit;

        #[test]
        fn a_replica_follows_whoever_brings_the_changes() {
            let mut partition = Partition::new(Layout::new(&[3]), true);
            partition.add(&[0], SliceIx(0));
            partition.add(&[1], SliceIx(1));
            partition.divide(&[1], Bit { word: 0, bit: 5 }, SliceIx(2));
            let slice = Slice::new(&[3], &[1]);
            let job = |known: usize, search: u32| -> Incoming {
                let job = Outgoing {
                    search,
                    mask: partition.layout().mask(),
                    known,
                    changes: &partition.changes()[known..],
                    job_memory: 7,
                    slices: vec![OutgoingSlice::new(&slice, 7)],
                };
                wire::decode(&wire::encode(&job).expect("bytes")).expect("the same")
            };
            assert_eq!(job(1, 1).slices[0].key, slice.key);
            let (replica, life) = (Replica::default(), Life::default());
            std::thread::scope(|scope| {
                let ahead = scope.spawn(|| replica.follow(&mut job(2, 1), &life).map(|p| p.slice_of(&[33])));
                std::thread::sleep(Duration::from_millis(20));
                for _ in 0..2 {
                    let first = replica.follow(&mut job(0, 1), &life).expect("a partition");
                    assert_eq!(first.slice_of(&[33]), Some(SliceIx(2)));
                }
                assert_eq!(ahead.join().expect("an end"), Ok(Some(SliceIx(2))));
            });
            let again = replica.follow(&mut job(0, 2), &life).expect("a partition");
            assert_eq!(again.slice_of(&[2]), None);
            // One of the search before has no say any more.
            assert!(replica.follow(&mut job(0, 1), &life).is_err());
            let known = replica.follow(&mut job(3, 2), &life).expect("it is still there");
            assert_eq!(known.slice_of(&[33]), Some(SliceIx(2)));
            let life = Arc::new(Life::default());
            std::thread::scope(|scope| {
                let waits = scope.spawn(|| replica.follow(&mut job(1, 3), &life));
                std::thread::sleep(Duration::from_millis(150));
                assert_eq!(life.signs(), 0, "whoever waits in vain is given up");
                life.cancel();
                assert!(waits.join().expect("an end").is_err(), "nobody brings the first change");
            });
        }
    }
}
