//! The processes that were started together: this one alone, or the ranks of an MPI job.
//!
//! Rank 0 speaks for all: it alone writes to standard output, and all ranks end with its exit code. Invariant: no rank
//! waits for one that has given up. A rank that cannot work tells rank 0 why; one that panics ends the whole job.

use crate::driver::Control;
use crate::hunt::run as hunting;
use crate::isv;
use crate::journal::Identity;
use crate::method::Traffic;
use crate::slices;
use crate::swarm::Config;
use crate::transport::launch::{Launch, launched};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::guide::Guide;
use gridlock_lts::model::network::LeafIx;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "mpi")]
use crate::transport::mpi::{self, World};

/// See the module head.
pub struct Peers {
    #[cfg(feature = "mpi")]
    world: Option<World>,
}

/// The part of a process in a run.
#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
pub struct Team<'a> {
    /// What the run is: all ranks must agree on it.
    pub identity: &'a Identity,
    /// The specification, as the user calls it.
    pub file: &'a str,
    /// Threads of this process.
    pub threads: usize,
    /// How long one of them may give no sign of life.
    pub stuck_after: Option<Duration>,
    /// Is told what should not be.
    pub warn: &'a dyn Fn(String),
}

/// The error of a process that has company it cannot work with.
fn stranger(launch: Launch, why: &str) -> Error {
    Error::input(format_args!(
        "this is one of {} processes ({} says so), but {why}",
        launch.size, launch.says
    ))
}

fn failed(message: String) -> Error {
    if message.contains("internal: ") { Error::Internal(message) } else { Error::Input(message) }
}

impl Peers {
    /// Joins the processes that were started together. `alone`: why this must not be one of several.
    pub fn join(alone: Option<&str>) -> Result<Self> {
        let company = launched().filter(Launch::has_company);
        match (company, alone) {
            (Some(launch), Some(why)) => Err(stranger(launch, why)),
            (company, _) => Peers::meet(company),
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
        let world = World::start().map_err(Error::Input)?;
        if world.size() == 1 {
            return Err(stranger(
                launch,
                "MPI sees only this one: start it with the mpirun of the MPI library that gridlock was built with, or \
                 with an srun that knows it (srun --mpi=list)",
            ));
        }
        Ok(Peers { world: Some(world) })
    }

    /// Whether this process works for another.
    pub fn is_worker(&self) -> bool {
        #[cfg(feature = "mpi")]
        return self.world.as_ref().is_some_and(|world| world.rank() > 0);
        #[cfg(not(feature = "mpi"))]
        false
    }

    /// What went over the network so far, if there is one.
    pub fn traffic(&self) -> Option<Traffic> {
        #[cfg(feature = "mpi")]
        return self.world.as_ref().map(|world| {
            let traffic = world.traffic();
            Traffic { ranks: world.size(), messages: traffic.messages, bytes: traffic.bytes }
        });
        #[cfg(not(feature = "mpi"))]
        None
    }

    /// A panic, of which the user has been told when it comes here, is the end of all processes.
    pub fn guard<R>(&self, _code: u8, body: impl FnOnce() -> R) -> R {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            return world.guard(_code, body);
        }
        body()
    }

    /// Rank 0 ends the run with its exit code.
    pub fn end(&self, _code: u8) -> Result<()> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            return world.end(_code).map_err(Error::Input);
        }
        Ok(())
    }

    /// A rank that has nothing to do or cannot work says why, and waits for the exit code.
    pub fn wait_for_end(&self, _cannot: Option<String>) -> Result<u8> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let told = _cannot.map_or(Ok(()), |why| world.hello(0, Err(why)));
            return told.and_then(|()| world.wait_for_end()).map_err(Error::Input);
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

    /// Runs a swarm along traces.
    pub fn traces(
        &self,
        team: &Team,
        prepared: &Arc<Prepared>,
        guide: &Arc<Guide>,
        config: Config,
        journal: Option<isv::Opened>,
        control: &Control,
    ) -> Result<isv::Report> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let hellos = world.gather(&run_of(team), control.stop).map_err(failed)?;
            return isv::on_ranks(world, &hellos, prepared, guide, config, journal, control, team.warn)
                .map_err(failed);
        }
        let mut workers = isv::lasting_workers(prepared, guide, team.threads, team.stuck_after);
        isv::conduct(prepared, guide, config, &mut workers, journal, control).map_err(failed)
    }

    /// Searches by slices.
    pub fn slices(
        &self,
        _team: &Team,
        prepared: &Arc<Prepared>,
        subsystem: &[LeafIx],
        options: &slices::Options,
        journal: Option<slices::Opened>,
        _stop: &dyn Fn() -> bool,
    ) -> Result<slices::Report> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let hellos = world.gather(&run_of(_team), _stop).map_err(failed)?;
            return slices::on_ranks(world, &hellos, prepared, subsystem, options, journal, _team.warn)
                .map_err(failed);
        }
        slices::check(prepared, subsystem, options, journal).map_err(failed)
    }

    /// Hunts.
    pub fn hunt(
        &self,
        team: &Team,
        ground: &hunting::Ground,
        config: crate::hunt::Config,
        journal: Option<hunting::Opened>,
        control: &Control<crate::hunt::Status>,
        found: hunting::Teller,
    ) -> Result<hunting::Report> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let hellos = world.gather(&run_of(team), control.stop).map_err(failed)?;
            return hunting::on_ranks(world, &hellos, ground, config, journal, control, found, team.warn)
                .map_err(failed);
        }
        let hunters = hunting::Hunters { threads: team.threads, stuck_after: team.stuck_after };
        hunting::on_threads(ground, config, hunters, journal, control, found).map_err(failed)
    }

    /// Works for a swarm along traces.
    pub fn serve_traces(&self, _team: &Team, _prepared: &Arc<Prepared>, _guide: &Arc<Guide>) -> Result<u8> {
        #[cfg(feature = "mpi")]
        return self.serve(_team, |world| {
            mpi::serve(world, &mut isv::lasting_workers(_prepared, _guide, _team.threads, _team.stuck_after))
        });
        #[cfg(not(feature = "mpi"))]
        Err(Error::internal("there is no rank to work for"))
    }

    /// Works for a search by slices.
    pub fn serve_slices(&self, _team: &Team, _prepared: &Arc<Prepared>) -> Result<u8> {
        #[cfg(feature = "mpi")]
        return self
            .serve(_team, |world| slices::serve(world, _team.threads as u32, _team.stuck_after, _prepared));
        #[cfg(not(feature = "mpi"))]
        Err(Error::internal("there is no rank to work for"))
    }

    /// Works for a hunt.
    pub fn serve_hunt(&self, _team: &Team, _ground: &hunting::Ground) -> Result<u8> {
        #[cfg(feature = "mpi")]
        return self.serve(_team, |world| {
            let hunters = hunting::Hunters { threads: _team.threads, stuck_after: _team.stuck_after };
            hunting::serve(world, hunters, _ground)
        });
        #[cfg(not(feature = "mpi"))]
        Err(Error::internal("there is no rank to work for"))
    }

    #[cfg(feature = "mpi")]
    fn serve(
        &self,
        team: &Team,
        serve: impl FnOnce(&World) -> std::result::Result<u8, String>,
    ) -> Result<u8> {
        let Some(world) = &self.world else { return Err(Error::internal("there is no rank to work for")) };
        let hello = world.hello(team.threads as u32, Ok(run_of(team)));
        hello.and_then(|()| serve(world)).map_err(failed)
    }
}

#[cfg(feature = "mpi")]
fn run_of(team: &Team) -> mpi::Run {
    mpi::Run { file: team.file.to_owned(), identity: team.identity.clone() }
}
