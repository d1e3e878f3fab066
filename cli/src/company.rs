//! Whether this process works alone or is one of several, and how it then begins and ends.
//!
//! Rank 0 speaks for all: it alone writes to standard output, and all ranks end with its exit code. Invariant: no rank
//! waits for one that has given up. Whoever cannot work tells rank 0 why; a rank that panics ends the whole job.

use crate::commands::Command;
use crate::outcome::{Answer, Failure, finish};
use crate::watch::Watch;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::guide::Guide;
use gridlock_lts::model::network::LeafIx;
use gridlock_manager::driver::Control;
use gridlock_manager::hunt::run as hunting;
use gridlock_manager::isv::{self, Opened, Report};
use gridlock_manager::journal::Identity;
use gridlock_manager::slices;
use gridlock_manager::swarm::Config;
use gridlock_manager::transport::launch::{Launch, launched};
use gridlock_manager::transport::threads::Threads;
use gridlock_worker::job::{Feedback, Job};
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "mpi")]
use gridlock_manager::transport::mpi::{self, Run, World};

/// The processes that work together.
pub struct Company {
    #[cfg(feature = "mpi")]
    world: Option<World>,
}

/// What a job is.
#[derive(Clone, Copy)]
pub enum Jobs<'a> {
    /// Some traces of a guide.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    Traces(&'a Arc<Guide>),
    /// A slice; of which subsystem, rank 0 says.
    Slices,
}

/// A swarm and those who work for it.
pub struct Undertaking<'a> {
    /// The network.
    pub prepared: Arc<Prepared>,
    /// What a job is.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    pub jobs: Jobs<'a>,
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

impl Undertaking<'_> {
    fn workers(&self, guide: &Arc<Guide>) -> Threads<Job, Feedback> {
        isv::lasting_workers(&self.prepared, guide, self.threads, self.stuck_after)
    }
}

/// A hunt and those who work for it.
pub struct Chase<'a> {
    /// What is hunted through.
    pub ground: hunting::Ground,
    /// What the run is: all ranks must agree on it.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    pub identity: &'a Identity,
    /// The specification, as the user calls it.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    pub file: &'a str,
    /// Threads of each process.
    pub hunters: hunting::Hunters,
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

/// Tells, with the rank, what is wrong with the arguments of a process that usually has nothing to say. If the process that
/// speaks had the same arguments, it has told the same by then, and mpirun has ended this one.
pub fn speak_after_others(problem: &str) {
    std::thread::sleep(5 * SPEAK);
    let rank = launched().and_then(|launch| launch.rank).unwrap_or(0);
    let problem = problem.trim().trim_start_matches("error: ");
    crate::terminal::tell(format_args!("error: rank {rank}: {problem}"));
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
        let world = World::start().map_err(Failure::Input)?;
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

    /// A worker works until it is over. Others go on.
    pub fn serve(&self, work: &Undertaking) -> Result<(), Failure> {
        #[cfg(feature = "mpi")]
        return self.serve_with(run_of(work.identity, work.file), work.threads, |world, threads| match work
            .jobs
        {
            Jobs::Traces(guide) => mpi::serve(world, &mut work.workers(guide)),
            Jobs::Slices => slices::serve(world, threads, work.stuck_after, &work.prepared),
        });
        #[cfg(not(feature = "mpi"))]
        {
            let _ = work;
            Ok(())
        }
    }

    /// The same for a hunt.
    pub fn serve_hunt(&self, chase: &Chase) -> Result<(), Failure> {
        #[cfg(feature = "mpi")]
        return self.serve_with(run_of(chase.identity, chase.file), chase.hunters.threads, |world, _| {
            hunting::serve(world, chase.hunters, &chase.ground)
        });
        #[cfg(not(feature = "mpi"))]
        {
            let _ = chase;
            Ok(())
        }
    }

    #[cfg(feature = "mpi")]
    fn serve_with(
        &self,
        run: Run,
        threads: usize,
        serve: impl FnOnce(&World, u32) -> Result<u8, String>,
    ) -> Result<(), Failure> {
        let Some(world) = self.world.as_ref().filter(|world| world.rank() > 0) else { return Ok(()) };
        let threads = threads as u32;
        match world.hello(threads, Ok(run)).and_then(|()| serve(world, threads)) {
            Ok(code) => Err(Failure::Served(code)),
            Err(why) => {
                crate::terminal::tell(format_args!("error: rank {}: {why}", world.rank()));
                world.abort(2)
            }
        }
    }

    /// Hunts with the threads of this process, or with the other ranks.
    pub fn hunt(
        &self,
        chase: &Chase,
        config: gridlock_manager::hunt::Config,
        journal: Option<hunting::Opened>,
        control: &Control<gridlock_manager::hunt::Status>,
        teller: hunting::Teller,
    ) -> Result<hunting::Report, String> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let hellos = world.gather(&run_of(chase.identity, chase.file), control.stop)?;
            let warn = |text: String| crate::terminal::tell(format_args!("warning: {text}"));
            return hunting::on_ranks(world, &hellos, &chase.ground, config, journal, control, teller, &warn);
        }
        hunting::on_threads(&chase.ground, config, chase.hunters, journal, control, teller)
    }

    /// Searches by slices with the threads of this process, or with the other ranks.
    pub fn search_slices(
        &self,
        work: &Undertaking,
        subsystem: &[LeafIx],
        options: &slices::Options,
        journal: Option<slices::Opened>,
        stop: &dyn Fn() -> bool,
    ) -> Result<slices::Report, String> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let hellos = world.gather(&run_of(work.identity, work.file), stop)?;
            let warn = |text: String| crate::terminal::tell(format_args!("warning: {text}"));
            return slices::on_ranks(world, &hellos, &work.prepared, subsystem, options, journal, &warn);
        }
        let _ = stop;
        slices::check(&work.prepared, subsystem, options, journal)
    }

    /// Runs a swarm with the threads of this process, or with the other ranks.
    pub fn conduct(
        &self,
        work: &Undertaking,
        guide: &Arc<Guide>,
        config: Config,
        journal: Option<Opened>,
        control: &Control,
    ) -> Result<Report, String> {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            let hellos = world.gather(&run_of(work.identity, work.file), control.stop)?;
            let warn = |text: String| crate::terminal::tell(format_args!("warning: {text}"));
            return isv::on_ranks(world, &hellos, &work.prepared, guide, config, journal, control, &warn);
        }
        isv::conduct(&work.prepared, guide, config, &mut work.workers(guide), journal, control)
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
fn run_of(identity: &Identity, file: &str) -> Run {
    Run { file: file.to_owned(), identity: identity.clone() }
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
