//! The beginning and end of this process, which may be one of several.
//!
//! Rank 0 reports for all: only rank 0 writes to standard output, and all ranks end with its exit code. Invariant: no rank
//! waits for one that has given up. A rank that cannot work tells rank 0 why; a rank that panics ends the whole job.

use crate::commands::Command;
use crate::outcome::{Exit, Failure, INTERNAL_ERROR, finish};
use crate::terminal::tell;
use crate::watch::{Phase, Watch};
use gridlock_manager::grid::transport::launch::{Launch, launched};
use gridlock_manager::method::Peers;
use std::time::Duration;

/// The time that rank 0 gets to report.
const SPEAK: Duration = Duration::from_secs(1);

/// Whether this process is one of several that work together.
pub fn is_distributed() -> bool {
    launched().is_some_and(|launch| launch.is_distributed())
}

/// Whether this process prints nothing, because another one reports.
pub fn is_silent() -> bool {
    launched().is_some_and(|launch| launch.is_distributed() && !launch.speaks())
}

/// Returns the exit code of a process that prints nothing, after it has given the reporting process its time: mpirun ends all
/// processes when the first has failed.
pub fn let_speak(code: u8) -> u8 {
    std::thread::sleep(SPEAK);
    code
}

/// Ends a process whose arguments are wrong, with this exit code. Of several processes all may have these arguments, or this
/// one alone: the reporting process prints its own problem, or that of a rank, and all end together. mpirun would end the
/// others with the first that fails, but not every launcher does.
pub fn refuse(code: u8, problem: &str, speak: impl FnOnce()) -> u8 {
    let problem = problem.trim().trim_start_matches("error: ");
    let peers = match launched().filter(Launch::is_distributed).map(|_| Peers::join(None)) {
        Some(Ok(peers)) => peers,
        // The processes cannot meet. If the one that speaks has the same arguments, it has told the same by then.
        Some(Err(_)) if is_silent() => {
            std::thread::sleep(5 * SPEAK);
            let rank = launched().and_then(|launch| launch.rank).unwrap_or(0);
            tell(format_args!("error: rank {rank}: {problem}"));
            return code;
        }
        Some(Err(_)) | None => {
            speak();
            return code;
        }
    };
    if peers.is_worker() {
        return peers.wait_for_end(Some(problem.to_owned())).unwrap_or(code);
    }
    speak();
    if let Err(why) = peers.end(code) {
        tell(format_args!("warning: {why}"));
    }
    code
}

/// Runs a command, with the processes that were started together with this one; returns the exit code.
pub fn run(command: &Command, watch: &Watch, quiet: bool) -> u8 {
    let alone = "only `check` (not --search dfs) and `hunt` run on several: start this command once, without mpirun or srun";
    let peers = match Peers::join((!command.runs_on_ranks()).then_some(alone)) {
        Ok(peers) => peers,
        Err(_) if is_silent() => return let_speak(2),
        Err(error) => {
            watch.rest();
            return finish(Err(error.into()), watch);
        }
    };
    let outcome = peers.guard(INTERNAL_ERROR, || command.run(watch, quiet, &peers));
    watch.rest();
    // The result is out. What is left is to part, which may take a while, and nobody is to end it with another result.
    watch.enter(Phase::Writing);
    if peers.is_worker() { worker_leaves(&peers, outcome, watch) } else { leave(&peers, outcome, watch) }
}

fn leave(peers: &Peers, outcome: Result<Exit, Failure>, watch: &Watch) -> u8 {
    let code = finish(outcome, watch);
    if let Err(why) = peers.end(code) {
        tell(format_args!("warning: {why}"));
    }
    code
}

fn worker_leaves(peers: &Peers, outcome: Result<Exit, Failure>, watch: &Watch) -> u8 {
    let heard = match outcome {
        Err(Failure::Served(code)) => Ok(code),
        Ok(_) => peers.wait_for_end(None),
        Err(failure) => peers.wait_for_end(Some(failure.reason(watch))),
    };
    heard.unwrap_or_else(|why| {
        tell(format_args!("error: rank {}: {why}", peers.rank()));
        peers.abort(2)
    })
}
