//! Slices: an exhaustive search that needs memory for the largest slice, not for the state space.
//!
//! The states are partitioned by the local states of a subsystem; a slice is searched by one worker at a time, and what
//! leaves it waits in the inboxes of other slices. Slices that are not being searched are compressed, in memory or in
//! the spill directory. [`check`] is the whole road; the coordinator says which slices come next, the driver has the
//! threads, and the trace of a finding is rebuilt from what the slices remember.
//!
//! Invariant: states, transitions, deadlocks and verdict do not depend on the number of workers. `Holds` is said only
//! when no inbox has a state left, so every reachable state was expanded, exactly once.

mod choose;
mod coordinator;
mod crew;
mod driver;
mod limits;
mod past;
mod reach;
#[cfg(test)]
mod tests;
mod trace;

pub use choose::{Candidate, Choice, choose_subsystem};
use gridlock_lts::base::error::Limit;
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::model::network::{LeafIx, Local};
pub use past::{Beginning, Opened, Record};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What a search by slices may spend, and whom it tells.
#[derive(Clone)]
pub struct Options<'a> {
    /// The number of threads.
    pub workers: usize,
    /// A thread that gives no sign of life for so long is given up, and its slice goes to another; `None`: never.
    pub stuck_after: Option<Duration>,
    /// Bytes that a worker may use for the slice it searches. A slice that needs more is divided.
    pub job_memory: u64,
    /// Bytes for everything: the workers, and slices and inboxes that are put away. What does not fit is spilled.
    /// `None`: 80 % of what the machine or its control group has.
    pub max_memory: Option<u64>,
    /// Where states are spilled; `None`: the system's directory for temporary files.
    pub spill: Option<PathBuf>,
    /// Stop after so many states.
    pub max_states: Option<u64>,
    /// Stop after so much time.
    pub time_limit: Option<Duration>,
    /// Stop when this becomes true.
    pub cancel: Option<&'a AtomicBool>,
    /// Is told now and then how far the search is.
    pub progress: Option<&'a dyn Fn(&Progress)>,
    /// The page for the journal, from how far the search is.
    pub page: Option<&'a dyn Fn(&Progress) -> Vec<u8>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            workers: 1,
            stuck_after: None,
            job_memory: 64 << 20,
            max_memory: None,
            spill: None,
            max_states: None,
            time_limit: None,
            cancel: None,
            progress: None,
            page: None,
        }
    }
}

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Progress {
    /// States expanded.
    pub states: u64,
    /// Their steps, as far as their activations have ended.
    pub transitions: u64,
    /// The round that is being worked on.
    pub rounds: u64,
    /// Slices known.
    pub slices: u64,
    /// States in inboxes when the round began; some of them more than once.
    pub waiting: u64,
    /// The states of the largest slice then.
    pub largest: u64,
    /// Activations of the rounds before.
    pub activations: u64,
    /// Slices that were divided.
    pub splits: u64,
    /// Activations whose results were in the journal, when the page is written.
    pub resumed: u64,
    /// Bytes in use for what is put away.
    pub memory: u64,
    /// Bytes written to files so far.
    pub spilled: u64,
    /// Time since the search began.
    pub time: Duration,
}

/// Why a search ended without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// A limit that other searches have, too. [`Limit::Memory`] tells which: that of a job or that of all.
    Limit(Limit),
    /// The spill directory cannot be written.
    Disk(String),
    /// The journal cannot be written.
    Journal(String),
}

/// The answer of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// `Holds`, `Violated` or `Faulty`.
    Verdict(Verdict),
    /// No answer.
    Unknown(Why),
}

/// The size of one slice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SliceSize {
    /// The local states of the subsystem, in the order in which its leaves were given.
    pub locals: Vec<Local>,
    /// Whether this is a part of a slice that was divided.
    pub part: bool,
    /// States.
    pub states: u64,
    /// How often it was activated.
    pub activations: u64,
}

/// What came out of a search by slices.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub answer: Answer,
    /// States expanded.
    pub states: u64,
    /// Their steps; faults are not counted.
    pub transitions: u64,
    /// How many of them have no steps.
    pub deadlocks: u64,
    /// How often slices were activated.
    pub activations: u64,
    /// Rounds.
    pub rounds: u64,
    /// How many slices were divided because they were too large for the job memory.
    pub splits: u64,
    /// The states of the largest slice.
    pub largest: u64,
    /// Slices whose states were forgotten because they could not be entered again.
    pub forgotten: u64,
    /// States that were sent from one slice to another.
    pub sent: u64,
    /// States that were loaded for activations.
    pub loaded: u64,
    /// The most bytes in use at a time: by the workers, and for what is put away.
    pub peak_memory: u64,
    /// The most bytes that one activation used.
    pub job_peak: u64,
    /// Bytes written to files.
    pub spilled: u64,
    /// Activations whose results were in the journal.
    pub resumed: u64,
    /// The slices, in the order in which they were found.
    pub slices: Vec<SliceSize>,
    /// Time.
    pub time: Duration,
}

/// Checks the properties that are built into a network, by slices of a subsystem: the states that agree in the local
/// states of these leaves. With a journal, what is in there is not done again. An error is a defect: of the disk, or an
/// internal one.
pub fn check(
    prepared: &Prepared,
    subsystem: &[LeafIx],
    options: &Options,
    journal: Option<Opened>,
) -> Result<Report, String> {
    Slicing { journal, ..Slicing::new(prepared, subsystem, options) }.run()
}

/// Who activates slices.
#[derive(Clone, Copy)]
enum Where<'a> {
    /// Threads of this process. They borrow nothing, which has to be said in a build without MPI.
    Threads(PhantomData<&'a ()>),
    /// The other ranks of an MPI job.
    #[cfg(feature = "mpi")]
    Ranks {
        world: &'a crate::transport::mpi::World,
        hellos: &'a [crate::transport::mpi::Hello],
        warn: &'a dyn Fn(String),
    },
}

struct Slicing<'a> {
    prepared: &'a Prepared,
    subsystem: &'a [LeafIx],
    options: &'a Options<'a>,
    /// End after the round in which so many states are reached.
    sample: Option<u64>,
    started: Instant,
    place: Where<'a>,
    journal: Option<Opened>,
}

impl<'a> Slicing<'a> {
    fn new(prepared: &'a Prepared, subsystem: &'a [LeafIx], options: &'a Options) -> Self {
        Slicing {
            prepared,
            subsystem,
            options,
            sample: None,
            started: Instant::now(),
            place: Where::Threads(PhantomData),
            journal: None,
        }
    }

    fn run(self) -> Result<Report, String> {
        let leaves = self.prepared.net().leaves.len();
        if let Some(leaf) = self.subsystem.iter().find(|leaf| leaf.0 as usize >= leaves) {
            return Err(format!("internal: there is no leaf {}", leaf.0));
        }
        self.prepared.visit(self).map_err(|e| e.to_string())?
    }
}

impl Visitor for Slicing<'_> {
    type Out = Result<Report, String>;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        driver::run(&system, self)
    }
}

#[cfg(feature = "mpi")]
pub use ranks::{on_ranks, serve};

/// The same with ranks of an MPI job as workers.
#[cfg(feature = "mpi")]
mod ranks {
    use super::*;
    use crate::transport::mpi::{Hello, World};

    /// Like [`check`], on rank 0 with the ranks that said hello as its workers.
    #[allow(clippy::too_many_arguments)]
    pub fn on_ranks(
        world: &World,
        hellos: &[Hello],
        prepared: &Prepared,
        subsystem: &[LeafIx],
        options: &Options,
        journal: Option<Opened>,
        warn: &dyn Fn(String),
    ) -> Result<Report, String> {
        let place = Where::Ranks { world, hellos, warn };
        Slicing { journal, place, ..Slicing::new(prepared, subsystem, options) }.run()
    }

    /// Activates slices for rank 0 on some threads until it says that it is over, and returns its exit code. The subsystem
    /// comes with the jobs.
    pub fn serve(
        world: &World,
        threads: u32,
        stuck_after: Option<Duration>,
        prepared: &Prepared,
    ) -> Result<u8, String> {
        prepared.visit(Serve { world, threads, stuck_after }).map_err(|e| e.to_string())?
    }

    struct Serve<'a> {
        world: &'a World,
        threads: u32,
        stuck_after: Option<Duration>,
    }

    impl Visitor for Serve<'_> {
        type Out = Result<u8, String>;

        fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
            crew::serve(self.world, self.threads, self.stuck_after, system)
        }
    }
}
