//! Whether this process works alone or is one of several, and how it then begins and ends.
//!
//! Rank 0 speaks for all: it alone writes to standard output, and all ranks end with its exit code. Invariant: no rank
//! waits for one that has given up. Whoever cannot work tells rank 0 why; a rank that panics ends the whole job.

use crate::commands::Command;
use crate::outcome::{Answer, Failure, finish};
use crate::watch::Watch;
use gridlock_lts::base::error;
use gridlock_manager::grid::journal::Identity;
use gridlock_manager::grid::transport::launch::{Launch, launched};
use gridlock_manager::grid::work::Grid;
use std::time::Duration;

#[cfg(feature = "mpi")]
use gridlock_manager::grid::transport::mpi::{Run, World};

/// The processes that work together.
pub struct Company {
    #[cfg(feature = "mpi")]
    world: Option<World>,
}

/// What the processes of a run agree on, and how each of them works.
pub struct Team<'a> {
    /// What the run is: all ranks must agree on it.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    pub identity: &'a Identity,
    /// The specification, as the user calls it.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    pub file: &'a str,
    /// Threads of each process.
    pub threads: usize,
    /// How long one of them may give no sign of life.
    pub stuck_after: Option<Duration>,
}

#[cfg(feature = "mpi")]
impl Team<'_> {
    fn run(&self) -> Run {
        Run { file: self.file.to_owned(), identity: self.identity.clone() }
    }
}

/// What went over the network.
pub struct Traffic {
    /// How many processes there were.
    pub ranks: u32,
    /// Messages, and the bytes in them, as rank 0 saw them.
    pub messages: u64,
    pub bytes: u64,
}

/// Time for the process that speaks to do so.
const SPEAK: Duration = Duration::from_secs(1);

/// Whether this process has nothing to say, because another one speaks.
pub fn is_silent() -> bool {
    launched().is_some_and(|launch| launch.has_company() && !launch.speaks())
}

/// The exit code of a process that has nothing to say, once the one that speaks has had its time to: mpirun ends all
/// processes when the first has failed.
pub fn let_speak(code: u8) -> u8 {
    std::thread::sleep(SPEAK);
    code
}

/// Runs a command in whatever company there is; gives the exit code.
pub fn run(command: &Command, watch: &Watch, quiet: bool) -> u8 {
    let company = match Company::join(command) {
        Ok(company) => company,
        Err(_) if is_silent() => return let_speak(2),
        Err(failure) => {
            watch.rest();
            return finish(Err(failure), watch);
        }
    };
    let outcome = company.guard(|| command.run(watch, quiet, &company));
    company.leave(outcome, watch)
}

/// The error of a process that has company it cannot work with.
fn stranger(launch: Launch, why: &str) -> Failure {
    Failure::input(format_args!(
        "this is one of {} processes ({} says so), but {why}",
        launch.size, launch.says
    ))
}

impl Company {
    fn join(command: &Command) -> Result<Self, Failure> {
        let company = launched().filter(Launch::has_company);
        if let Some(launch) = company
            && !command.is_shared()
        {
            return Err(stranger(
                launch,
                "only `check --search isv` and `hunt` run on several: start this command once, without mpirun or srun",
            ));
        }
        Company::meet(company)
    }

    #[cfg(not(feature = "mpi"))]
    fn meet(launch: Option<Launch>) -> Result<Self, Failure> {
        match launch {
            None => Ok(Company {}),
            Some(launch) => Err(stranger(
                launch,
                "gridlock was built without MPI: build it with `--features mpi`, or start it once and let --workers \
                 use the cores of the machine",
            )),
        }
    }

    #[cfg(feature = "mpi")]
    fn meet(launch: Option<Launch>) -> Result<Self, Failure> {
        let Some(launch) = launch else { return Ok(Company { world: None }) };
        let world = World::start()?;
        if world.size() == 1 {
            return Err(stranger(
                launch,
                "MPI sees only this one: start it with the mpirun of the MPI library that gridlock was built with, or \
                 with an srun that knows it (srun --mpi=list)",
            ));
        }
        Ok(Company { world: Some(world) })
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

    /// A worker works until it is over: `serve` does it. Others go on.
    pub fn serve(&self, team: &Team, serve: impl FnOnce(&Grid) -> error::Result<u8>) -> Result<(), Failure> {
        #[cfg(feature = "mpi")]
        if let Some(world) = self.world.as_ref().filter(|world| world.rank() > 0) {
            return match self.grid(team, &|| false).and_then(|grid| serve(&grid)) {
                Ok(code) => Err(Failure::Served(code)),
                Err(why) => {
                    crate::terminal::tell(format_args!("error: rank {}: {why}", world.rank()));
                    world.abort(2)
                }
            };
        }
        let _ = (team, serve);
        Ok(())
    }

    /// Where jobs are done: by the threads of this process, or by the other ranks once all are there.
    pub fn grid(&self, team: &Team, stop: &dyn Fn() -> bool) -> error::Result<Grid<'_>> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            static WARN: fn(String) = |text| crate::terminal::tell(format_args!("warning: {text}"));
            return Grid::ranks(world, &team.run(), team.threads, team.stuck_after, stop, &WARN);
        }
        let _ = stop;
        Ok(Grid::threads(team.threads, team.stuck_after))
    }

    fn leave(self, outcome: Result<Answer, Failure>, watch: &Watch) -> u8 {
        watch.rest();
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            return if world.rank() == 0 {
                first_leaves(world, outcome, watch)
            } else {
                worker_leaves(world, outcome, watch)
            };
        }
        finish(outcome, watch)
    }

    /// A panic, of which the user has been told when it comes here, is the end of all processes.
    fn guard<R>(&self, body: impl FnOnce() -> R) -> R {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            return world.guard(crate::outcome::INTERNAL_ERROR, body);
        }
        body()
    }
}

#[cfg(feature = "mpi")]
fn first_leaves(world: &World, outcome: Result<Answer, Failure>, watch: &Watch) -> u8 {
    let code = finish(outcome, watch);
    if let Err(why) = world.end(code) {
        crate::terminal::tell(format_args!("warning: {why}"));
    }
    code
}

#[cfg(feature = "mpi")]
fn worker_leaves(world: &World, outcome: Result<Answer, Failure>, watch: &Watch) -> u8 {
    let heard = match outcome {
        Err(Failure::Served(code)) => Ok(code),
        Ok(_) => world.wait_for_end(),
        Err(failure) => world.hello(0, Err(failure.reason(watch))).and_then(|()| world.wait_for_end()),
    };
    heard.unwrap_or_else(|why| {
        crate::terminal::tell(format_args!("error: rank {}: {why}", world.rank()));
        world.abort(2)
    })
}
