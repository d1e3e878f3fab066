//! The processes that were started together: this one alone, or the ranks of an MPI job.
//!
//! Rank 0 speaks for all: it alone writes to standard output, and all ranks end with its exit code. Invariant: no rank
//! waits for one that has given up. A rank that cannot work tells rank 0 why; one that panics ends the whole job.

use super::Traffic;
use crate::grid::journal::Identity;
use crate::grid::transport::launch::{Launch, launched};
use crate::grid::work::Grid;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::mesh::Mesh;
use std::time::Duration;

#[cfg(feature = "mpi")]
use crate::grid::transport::mpi::{self, World};

/// See the module head.
pub struct Peers {
    #[cfg(feature = "mpi")]
    world: Option<World>,
}

/// The part of a process in a run.
#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
pub struct Team<'a> {
    /// The identity of the run: all ranks must agree on it.
    pub identity: &'a Identity,
    /// The specification, as the user named it.
    pub file: &'a str,
    /// Threads of this process.
    pub threads: usize,
    /// How long a thread may give no sign of life.
    pub stuck_after: Option<Duration>,
    /// Called with warnings.
    pub warn: &'a dyn Fn(String),
}

/// The result of a search by all ranks.
pub enum Together<R> {
    /// Its result.
    Searched(R),
    /// It did not begin, and the run ended with this exit code.
    Over(u8),
}

/// The error of a process that is one of several and cannot work with the others.
fn stranger(launch: Launch, why: &str) -> Error {
    Error::input(format_args!(
        "this is one of {} processes ({} says so), but {why}",
        launch.size, launch.says
    ))
}

impl Peers {
    /// Joins the processes that were started together. `alone`: why this must not be one of several.
    pub fn join(alone: Option<&str>) -> Result<Self> {
        let distributed = launched().filter(Launch::is_distributed);
        match (distributed, alone) {
            (Some(launch), Some(why)) => Err(stranger(launch, why)),
            (distributed, _) => Peers::meet(distributed),
        }
    }

    #[cfg(not(feature = "mpi"))]
    fn meet(launch: Option<Launch>) -> Result<Self> {
        match launch {
            None => Ok(Peers {}),
            Some(launch) => Err(stranger(
                launch,
                "gridlock was built without MPI: build it with `--features mpi`, or start it once and let --workers \
                 use the cores of the machine",
            )),
        }
    }

    #[cfg(feature = "mpi")]
    fn meet(launch: Option<Launch>) -> Result<Self> {
        let Some(launch) = launch else { return Ok(Peers { world: None }) };
        let world = World::start()?;
        if world.size() == 1 {
            return Err(stranger(
                launch,
                "MPI sees only this one: start it with the mpirun of the MPI library that gridlock was built with, or \
                 with an srun that knows it (srun --mpi=list)",
            ));
        }
        Ok(Peers { world: Some(world) })
    }

    /// This process alone, even if others were started with it.
    pub fn alone() -> Self {
        #[cfg(feature = "mpi")]
        return Peers { world: None };
        #[cfg(not(feature = "mpi"))]
        Peers {}
    }

    /// On rank 0: tells ranks that do jobs that all ranks meet for another search.
    pub fn release(&self) -> Result<()> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            return world.release();
        }
        Ok(())
    }

    /// Whether this process works for another.
    pub fn is_worker(&self) -> bool {
        #[cfg(feature = "mpi")]
        return self.world.as_ref().is_some_and(|world| world.rank() > 0);
        #[cfg(not(feature = "mpi"))]
        false
    }

    /// Whether there are other processes.
    pub fn is_distributed(&self) -> bool {
        #[cfg(feature = "mpi")]
        return self.world.is_some();
        #[cfg(not(feature = "mpi"))]
        false
    }

    /// The number of processes.
    pub fn size(&self) -> u32 {
        #[cfg(feature = "mpi")]
        return self.world.as_ref().map_or(1, World::size);
        #[cfg(not(feature = "mpi"))]
        1
    }

    /// The network traffic so far, if there are several ranks.
    pub fn traffic(&self) -> Option<Traffic> {
        #[cfg(feature = "mpi")]
        return self.world.as_ref().map(|world| {
            let traffic = world.traffic();
            Traffic { ranks: world.size(), messages: traffic.messages, bytes: traffic.bytes }
        });
        #[cfg(not(feature = "mpi"))]
        None
    }

    /// Runs `body`. A panic in it, which has been reported by then, ends all processes.
    pub fn guard<R>(&self, _code: u8, body: impl FnOnce() -> R) -> R {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            return world.guard(_code, body);
        }
        body()
    }

    /// On rank 0: ends the run with its exit code.
    pub fn end(&self, _code: u8) -> Result<()> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            return world.end(_code);
        }
        Ok(())
    }

    /// On a rank that has nothing to do or cannot work: reports why, and waits for the exit code.
    pub fn wait_for_end(&self, _cannot: Option<String>) -> Result<u8> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let told = _cannot.map_or(Ok(()), |why| world.hello(0, Err(why)));
            return told.and_then(|()| world.wait_for_end());
        }
        Err(Error::internal("there is no other process to wait for"))
    }

    /// Ends all processes.
    pub fn abort(&self, code: u8) -> u8 {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            world.abort(code)
        }
        code
    }

    /// The number of this process.
    pub fn rank(&self) -> u32 {
        #[cfg(feature = "mpi")]
        return self.world.as_ref().map_or(0, World::rank);
        #[cfg(not(feature = "mpi"))]
        0
    }

    /// The grid that does jobs: the threads of this process, or the other ranks once all have joined.
    pub fn grid<'a>(&'a self, team: &Team<'a>, stop: &dyn Fn() -> bool) -> Result<Grid<'a>> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let run = mpi::Run { file: team.file.to_owned(), identity: team.identity.clone() };
            return Grid::ranks(world, &run, team.threads, team.stuck_after, stop, team.warn);
        }
        let _ = stop;
        Ok(Grid::threads(team.threads, team.stuck_after))
    }

    /// Searches together with all other ranks, once they have joined; `None` if there is only one process. On a rank that is
    /// not 0 the run may be over before, with an exit code.
    pub fn together<R>(
        &self,
        _team: &Team,
        _stop: &dyn Fn() -> bool,
        _search: impl FnOnce(&mut dyn Mesh) -> R,
    ) -> Result<Option<Together<R>>> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let run = mpi::Run { file: _team.file.to_owned(), identity: _team.identity.clone() };
            return Ok(Some(match world.meet(_team.threads as u32, &run, _stop)? {
                mpi::Met::All(mut mesh) => {
                    mesh.watch(_team.stuck_after, _team.warn);
                    Together::Searched(_search(&mut mesh))
                }
                mpi::Met::Over(code) => Together::Over(code),
            }));
        }
        Ok(None)
    }

    /// Does jobs for rank 0, by `serve`. A rank that cannot go on ends all ranks.
    pub fn serve<R>(&self, team: &Team, serve: impl FnOnce(&Grid) -> Result<R>) -> Result<R> {
        let served = self.grid(team, &|| false).and_then(|grid| serve(&grid));
        if let Err(why) = &served {
            (team.warn)(format!("rank {}: {why}", self.rank()));
            self.abort(2);
        }
        served
    }
}
