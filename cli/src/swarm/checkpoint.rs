//! What is in the directory of a checkpoint, for those who only read it.

use crate::outcome::Failure;
use crate::swarm::numbers::Identity;
use gridlock_manager::grid::journal::{self, Tallies, Trouble};
use std::io;
use std::path::Path;

/// The file with the result of a run that came to its end.
pub const RESULT: &str = "result.json";

/// The part of the identity that says what was run, and what it says of a hunt.
pub const COMMAND: &str = "command";
pub const HUNT: &str = "hunt";
/// The part of the identity that says what a job is, and what it says of a search by slices.
pub const JOBS: &str = "jobs";
pub const SLICE: &str = "slice";
/// The part of the identity that says what a job may use.
pub const JOB_MEMORY: &str = "job memory";

/// What is in a checkpoint.
pub struct Contents {
    /// What the run is.
    pub identity: Identity,
    /// Answers, and what they took.
    pub answers: u64,
    pub states: u64,
    /// Not known of slices.
    pub seconds: f64,
}

/// What the run is. It may be running.
pub fn identity(dir: &Path) -> Result<Identity, Failure> {
    open(dir).map(|(identity, _)| identity)
}

/// What the run is, and how many answers it has so far. It may be running.
pub fn read(dir: &Path) -> Result<Contents, Failure> {
    let (identity, mut tallies) = open(dir)?;
    let mut contents = Contents { identity, answers: 0, states: 0, seconds: 0.0 };
    while let Some(tally) = tallies.next().map_err(cannot_use)? {
        contents.answers += 1;
        contents.states += tally.states;
        contents.seconds += tally.nanoseconds as f64 / 1e9;
    }
    Ok(contents)
}

/// Removes the result of an earlier run, which is not that of this one.
pub fn forget_result(dir: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(dir.join(RESULT)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(Failure::input(format_args!("cannot remove {}: {e}", dir.join(RESULT).display())))
        }
        _ => Ok(()),
    }
}

fn open(dir: &Path) -> Result<(Identity, Tallies), Failure> {
    match journal::look(dir) {
        Ok((identity, tallies)) => Ok((identity.into_iter().collect(), tallies)),
        Err(trouble) => Err(unreadable(dir, trouble)),
    }
}

fn unreadable(dir: &Path, trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Io(_, e) if e.kind() == io::ErrorKind::NotFound => Failure::input(format_args!(
            "there is no checkpoint in {}: name the directory that --checkpoint was given",
            dir.display()
        )),
        trouble => cannot_use(trouble),
    }
}

/// Why a checkpoint cannot be used.
pub fn cannot_use(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Io(path, e) => {
            Failure::input(format_args!("cannot use the checkpoint: {}: {e}", path.display()))
        }
        other => Failure::input(other),
    }
}
