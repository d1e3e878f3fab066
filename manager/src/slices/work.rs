//! The work of a search by slices: activations, on threads that share the store or on ranks that are sent what they need.
//!
//! A rank has no states between two jobs: a job brings the slices, compressed as they were stored, and the answer takes
//! the results back. What a rank keeps is a replica of the partition, and a job brings the changes since the last one that
//! was sent there. Invariant: the same slice and the same partition give the same result, wherever it is activated.

use crate::grid::journal::Tally;
use crate::grid::machine::{Numbered, Reply};
use crate::grid::work::{Work, Worker};
use gridlock_lts::base::error::{Error, Limit};
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::Successors;
use gridlock_worker::life::Life;
use gridlock_worker::slice::activation::{self, Round};
use gridlock_worker::slice::layout::Layout;
use gridlock_worker::slice::message::{Done, Run, Slice};
use gridlock_worker::slice::partition::{Change, Partition};
use gridlock_worker::slice::store::{Segment, Store};
use serde::{Deserialize, Serialize, Serializer};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What a job says of the partition.
#[derive(Clone, Debug)]
enum Parts {
    /// Everything, in the process that has it.
    All(Arc<Partition>),
    /// The bits of the subsystem, and the changes since those that were known, for a process that follows.
    Changes(Box<[u64]>, Vec<Change>),
}

/// Slices to be activated one after the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Incoming")]
pub(super) struct SliceJob {
    number: u64,
    /// Which search of the run it is.
    search: u32,
    /// So many changes of the partition were sent before.
    pub(super) known: usize,
    job_memory: u64,
    parts: Parts,
    slices: Vec<Arc<Slice>>,
}

impl SliceJob {
    pub(super) fn new(
        number: u64,
        search: u32,
        job_memory: u64,
        partition: Arc<Partition>,
        slices: Vec<Arc<Slice>>,
    ) -> Self {
        SliceJob { number, search, known: 0, job_memory, parts: Parts::All(partition), slices }
    }
}

impl Numbered for SliceJob {
    fn number(&self) -> u64 {
        self.number
    }
}

#[derive(Serialize)]
struct Outgoing<'a> {
    number: u64,
    search: u32,
    known: usize,
    job_memory: u64,
    mask: &'a [u64],
    changes: &'a [Change],
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

impl Serialize for SliceJob {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let (mask, changes) = match &self.parts {
            Parts::All(partition) => (partition.layout().mask(), partition.changes()),
            Parts::Changes(mask, changes) => (&mask[..], &changes[..]),
        };
        Outgoing {
            number: self.number,
            search: self.search,
            known: self.known,
            job_memory: self.job_memory,
            mask,
            changes: changes.get(self.known..).unwrap_or(&[]),
            slices: self.slices.iter().map(|slice| OutgoingSlice::new(slice, self.job_memory)).collect(),
        }
        .serialize(serializer)
    }
}

#[derive(Deserialize)]
struct Incoming {
    number: u64,
    search: u32,
    known: usize,
    job_memory: u64,
    mask: Box<[u64]>,
    changes: Vec<Change>,
    slices: Vec<Slice>,
}

impl From<Incoming> for SliceJob {
    fn from(job: Incoming) -> Self {
        SliceJob {
            number: job.number,
            search: job.search,
            known: job.known,
            job_memory: job.job_memory,
            parts: Parts::Changes(job.mask, job.changes),
            slices: job.slices.into_iter().map(Arc::new).collect(),
        }
    }
}

/// What came of the slices of a job; after one that failed, the others are missing.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Activations {
    number: u64,
    pub(super) outcomes: Vec<Result<Done, Error>>,
}

impl Numbered for Activations {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Reply for Activations {
    fn is_interrupted(&self) -> bool {
        self.outcomes.iter().any(|outcome| matches!(outcome, Err(Error::Limit(Limit::Interrupted))))
    }

    fn end(&self) -> &'static str {
        if self.outcomes.iter().all(Result::is_ok) { "complete" } else { "failed" }
    }

    fn tally(&self) -> Tally {
        let states = self.outcomes.iter().flatten().map(|done| done.states).sum();
        Tally { states, nanoseconds: 0 }
    }
}

/// What a process knows of a partition that another one has. Jobs are taken by threads, not necessarily in the order in
/// which they came: one that is ahead of the changes waits for the one that brings them. If that one was lost on its way,
/// nobody brings them; so to wait is no sign of life, and whoever waits too long is lost as well and sent again with all
/// changes.
#[derive(Default)]
struct Replica {
    now: Mutex<(u32, Option<Arc<Partition>>, usize)>,
    changed: Condvar,
}

impl Replica {
    fn follow(
        &self,
        (search, known): (u32, usize),
        mask: &[u64],
        changes: &[Change],
        life: &Life,
    ) -> Result<Arc<Partition>, Error> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.0 < search {
            *now = (search, None, 0);
        }
        // A thread that was given up may come back when another search has long begun.
        while now.0 > search || now.2 < known {
            if now.0 > search || life.was_cancelled() {
                return Err(Error::Limit(Limit::Interrupted));
            }
            let waited = self.changed.wait_timeout(now, Duration::from_millis(50));
            now = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let (_, partition, position) = &mut *now;
        let partition = partition.get_or_insert_with(|| Arc::new(Partition::new(Layout::new(mask), false)));
        let new = &changes[(*position - known).min(changes.len())..];
        if !new.is_empty() {
            *position += new.len();
            let changing = Arc::make_mut(partition);
            new.iter().for_each(|change| changing.apply(change.clone()));
            self.changed.notify_all();
        }
        Ok(partition.clone())
    }
}

/// What all workers of a process share, those that were given up included.
pub(super) struct SliceWork<S> {
    pub(super) system: Arc<S>,
    pub(super) store: Arc<Store>,
    /// States that one activation may expand.
    pub(super) quota: u64,
    /// States expanded by all workers of this process.
    pub(super) expanded: Arc<AtomicU64>,
    replica: Replica,
}

impl<S: Successors + Send + Sync + 'static> SliceWork<S> {
    pub(super) fn new(system: Arc<S>, store: Arc<Store>, quota: u64, expanded: Arc<AtomicU64>) -> Arc<Self> {
        Arc::new(SliceWork { system, store, quota, expanded, replica: Replica::default() })
    }

    fn activate(
        &self,
        worker: &mut activation::Worker,
        job: &SliceJob,
        life: &Life,
    ) -> Vec<Result<Done, Error>> {
        let partition = match &job.parts {
            Parts::All(partition) => Ok(partition.clone()),
            Parts::Changes(mask, changes) => {
                self.replica.follow((job.search, job.known), mask, changes, life)
            }
        };
        let partition = match partition {
            Ok(partition) => partition,
            Err(trouble) => return vec![Err(trouble)],
        };
        let round = Round {
            system: &*self.system,
            partition: &partition,
            store: &self.store,
            job_memory: job.job_memory,
            quota: self.quota,
            life,
            expanded: &self.expanded,
        };
        let mut outcomes = Vec::new();
        for slice in &job.slices {
            outcomes.push(worker.activate(&round, slice));
            if outcomes.last().is_some_and(Result::is_err) {
                break;
            }
        }
        outcomes
    }
}

impl<S: Successors + Send + Sync + 'static> Work for SliceWork<S> {
    type Job = SliceJob;
    type Answer = Activations;

    fn worker(&self) -> Worker<'_, SliceJob, Activations> {
        let mut worker = activation::Worker::new(self.system.width().words());
        Box::new(move |job, life| Activations {
            number: job.number,
            outcomes: self.activate(&mut worker, &job, life),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::wire;
    use gridlock_worker::slice::partition::{Bit, SliceIx};

    #[test]
    fn a_replica_follows_whoever_brings_the_changes() {
        let mut partition = Partition::new(Layout::new(&[3]), true);
        partition.add(&[0], SliceIx(0));
        partition.add(&[1], SliceIx(1));
        partition.divide(&[1], Bit { word: 0, bit: 5 }, SliceIx(2));
        let (partition, slice) = (Arc::new(partition), Arc::new(Slice::new(&[3], &[1])));
        let job = |known: usize, search: u32| -> SliceJob {
            let job = SliceJob::new(9, search, 7, partition.clone(), vec![slice.clone()]);
            let job = SliceJob { known, ..job };
            wire::decode(&wire::encode(&job).expect("bytes")).expect("the same")
        };
        let (replica, life) = (Replica::default(), Life::default());
        let follow = |known, search, life: &Life| {
            let job = job(known, search);
            let Parts::Changes(mask, changes) = &job.parts else { panic!("it came as bytes") };
            replica.follow((job.search, job.known), mask, changes, life)
        };
        assert_eq!(job(1, 1).slices[0].key, slice.key);
        std::thread::scope(|scope| {
            let ahead = scope.spawn(|| follow(2, 1, &life).map(|p| p.slice_of(&[33])));
            std::thread::sleep(Duration::from_millis(20));
            for _ in 0..2 {
                let first = follow(0, 1, &life).expect("a partition");
                assert_eq!(first.slice_of(&[33]), Some(SliceIx(2)));
            }
            assert_eq!(ahead.join().expect("an end"), Ok(Some(SliceIx(2))));
        });
        let again = follow(0, 2, &life).expect("a partition");
        assert_eq!(again.slice_of(&[2]), None);
        // One of the search before has no say any more.
        assert!(follow(0, 1, &life).is_err());
        let known = follow(3, 2, &life).expect("it is still there");
        assert_eq!(known.slice_of(&[33]), Some(SliceIx(2)));
        let life = Life::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| follow(1, 3, &life));
            std::thread::sleep(Duration::from_millis(150));
            assert_eq!(life.signs(), 0, "whoever waits in vain is given up");
            life.cancel();
            assert!(waits.join().expect("an end").is_err(), "nobody brings the first change");
        });
    }
}
