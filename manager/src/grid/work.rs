//! What a worker does with a job, and where jobs are done: on threads of this process or on the ranks of an MPI job.
//!
//! Invariant: a method defines its work once; only this module decides whether threads or ranks do it.

use super::driver::{Control, Ended, Opened, Times, drive};
use super::machine::{Machine, Numbered};
use super::transport::threads::{self, Threads};
use gridlock_lts::base::error::{Error, Result};
use gridlock_worker::life::Life;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "mpi")]
use super::transport::mpi::{self, Hello, Ranks, Run, World};

/// A worker of a thread: does one job at a time, gives signs of life meanwhile, and gives up soon after it is cancelled.
pub type Worker<'w, J, A> = Box<dyn FnMut(J, &Life) -> A + 'w>;

/// What workers of one process share. Threads that are stuck are given up and may refer to it for ever, so they own it together.
pub trait Work: Send + Sync + 'static {
    /// The jobs.
    type Job: Send + 'static;
    /// The answers.
    type Answer: Send + 'static;

    /// A new worker.
    fn worker(&self) -> Worker<'_, Self::Job, Self::Answer>;

    /// Called for a job from another rank: takes the data that came with it ([`Numbered::address`]). Jobs come in the order
    /// in which they were sent here.
    fn arrived(&self, _job: &mut Self::Job) {}
}

/// Any work with these messages.
pub type AnyWork<J, A> = Arc<dyn Work<Job = J, Answer = A>>;

enum WorkersAt<'w> {
    /// Threads borrow nothing; the marker uses the lifetime in a build without MPI.
    Threads(PhantomData<&'w ()>),
    #[cfg(feature = "mpi")]
    Ranks { world: &'w World, hellos: Vec<Hello>, warn: &'w dyn Fn(String) },
}

/// See the module head.
pub struct Grid<'w> {
    threads: usize,
    /// A thread that gives no sign of life for this time is given up; `None`: the grid waits for it.
    patience: Option<Duration>,
    place: WorkersAt<'w>,
}

impl<'w> Grid<'w> {
    /// Threads of this process.
    pub fn threads(threads: usize, patience: Option<Duration>) -> Self {
        Grid { threads: threads.max(1), patience, place: WorkersAt::Threads(PhantomData) }
    }

    /// The ranks of an MPI job, with this many threads each; on rank 0 this waits until all have joined or `stop` returns
    /// true. `warn` is called for ranks that are silent.
    #[cfg(feature = "mpi")]
    pub fn ranks(
        world: &'w World,
        run: &Run,
        threads: usize,
        patience: Option<Duration>,
        stop: &dyn Fn() -> bool,
        warn: &'w dyn Fn(String),
    ) -> Result<Self> {
        let hellos = if world.rank() == 0 {
            world.gather(run, stop)?
        } else {
            world.hello(threads as u32, Ok(run.clone()))?;
            Vec::new()
        };
        Ok(Grid { threads: threads.max(1), patience, place: WorkersAt::Ranks { world, hellos, warn } })
    }

    /// The threads of this process that do jobs, or would do them.
    pub fn own_threads(&self) -> usize {
        self.threads
    }

    /// The number of jobs in work at a time.
    pub fn workers(&self) -> u64 {
        match &self.place {
            WorkersAt::Threads(_) => self.threads as u64,
            #[cfg(feature = "mpi")]
            WorkersAt::Ranks { hellos, .. } => hellos.iter().map(|hello| u64::from(hello.threads)).sum(),
        }
    }

    /// Runs a machine until it has an outcome or is stopped. Jobs whose answers are in the journal are not done again.
    pub fn lead<M, W>(
        &self,
        machine: &mut M,
        work: &Arc<W>,
        journal: Option<Opened<M::Record>>,
        control: &Control<M::Status>,
    ) -> Result<(Ended, Times)>
    where
        M: Machine<Job = W::Job, Answer = W::Answer>,
        W: Work<Job: Numbered + Serialize + DeserializeOwned, Answer: Serialize + DeserializeOwned> + ?Sized,
    {
        match &self.place {
            WorkersAt::Threads(_) => drive(machine, &mut self.start(work), journal, control),
            #[cfg(feature = "mpi")]
            WorkersAt::Ranks { world, hellos, warn } => {
                drive(machine, &mut Ranks::new(world, hellos, *warn), journal, control)
            }
        }
    }

    /// The same, with jobs that never leave this process: by its threads, even if there are other ranks.
    pub fn lead_here<M, W>(
        &self,
        machine: &mut M,
        work: &Arc<W>,
        journal: Option<Opened<M::Record>>,
        control: &Control<M::Status>,
    ) -> Result<(Ended, Times)>
    where
        M: Machine<Job = W::Job, Answer = W::Answer>,
        W: Work + ?Sized,
    {
        drive(machine, &mut self.start(work), journal, control)
    }

    /// On a rank that does not lead: does jobs until rank 0 ends the run, and returns its exit code.
    pub fn serve<W>(&self, work: &Arc<W>) -> Result<u8>
    where
        W: Work<Job: Serialize + DeserializeOwned, Answer: Serialize + DeserializeOwned> + ?Sized,
    {
        self.serve_until(work)?.ok_or_else(|| Error::internal("rank 0 wants a mesh, and this is a star"))
    }

    /// The same; `None` if rank 0 goes on with another search for which all ranks meet.
    pub fn serve_until<W>(&self, work: &Arc<W>) -> Result<Option<u8>>
    where
        W: Work<Job: Serialize + DeserializeOwned, Answer: Serialize + DeserializeOwned> + ?Sized,
    {
        match &self.place {
            #[cfg(feature = "mpi")]
            WorkersAt::Ranks { world, .. } => {
                mpi::serve(world, &mut self.start(work), &|job| work.arrived(job))
            }
            WorkersAt::Threads(_) => {
                let _ = work;
                Err(Error::internal("threads of a process serve nobody else"))
            }
        }
    }

    fn start<W: Work + ?Sized>(&self, work: &Arc<W>) -> Threads<W::Job, W::Answer> {
        let work = work.clone();
        threads::start(self.threads, self.patience, move |crew| crew.work(|| work.worker()))
    }
}
