//! This process as one of several: how it begins and ends.
//!
//! Rank 0 speaks for all: it alone writes to standard output, and all ranks end with its exit code. Invariant: no rank
//! waits for one that has given up. One that cannot work tells rank 0 why; one that panics ends the whole job.

use crate::commands::Command;
use crate::outcome::{Answer, Failure, INTERNAL_ERROR, finish};
use crate::terminal::tell;
use crate::watch::Watch;
use gridlock_manager::grid::Grid;
use gridlock_manager::transport::launch::launched;
use std::time::Duration;

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

/// Runs a command on the grid that there is; gives the exit code.
pub fn run(command: &Command, watch: &Watch, quiet: bool) -> u8 {
    let alone = "only `check --search isv` and `hunt` run on several: start this command once, without mpirun or srun";
    let grid = match Grid::join((!command.runs_on_ranks()).then_some(alone)) {
        Ok(grid) => grid,
        Err(_) if is_silent() => return let_speak(2),
        Err(error) => {
            watch.rest();
            return finish(Err(error.into()), watch);
        }
    };
    let outcome = grid.guard(INTERNAL_ERROR, || command.run(watch, quiet, &grid));
    watch.rest();
    if grid.is_worker() { worker_leaves(&grid, outcome, watch) } else { leave(&grid, outcome, watch) }
}

fn leave(grid: &Grid, outcome: Result<Answer, Failure>, watch: &Watch) -> u8 {
    let code = finish(outcome, watch);
    if let Err(why) = grid.end(code) {
        tell(format_args!("warning: {why}"));
    }
    code
}

fn worker_leaves(grid: &Grid, outcome: Result<Answer, Failure>, watch: &Watch) -> u8 {
    let heard = match outcome {
        Err(Failure::Served(code)) => Ok(code),
        Ok(_) => grid.wait_for_end(None),
        Err(failure) => grid.wait_for_end(Some(failure.reason(watch))),
    };
    heard.unwrap_or_else(|why| {
        tell(format_args!("error: rank {}: {why}", grid.rank()));
        grid.abort(2)
    })
}
