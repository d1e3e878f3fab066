//! What is in the directory of a checkpoint, for those who only read it.

use crate::outcome::Failure;
use crate::swarm::numbers::Identity;
use gridlock_manager::journal::{self, Trouble};
use gridlock_worker::job::Feedback;
use serde::de::DeserializeOwned;
use std::io;
use std::path::Path;

/// The file with the result of a run that came to its end.
pub const RESULT: &str = "result.json";

/// What the run is, and its answers so far. It may be running.
pub fn read(dir: &Path) -> Result<(Identity, Vec<Feedback>), Failure> {
    answers(dir)
}

/// The same for answers of any kind.
pub fn answers<T: DeserializeOwned>(dir: &Path) -> Result<(Identity, Vec<T>), Failure> {
    match journal::read::<T>(dir) {
        Ok((identity, answers)) => Ok((identity.into_iter().collect(), answers)),
        Err(trouble) => Err(unreadable(dir, trouble)),
    }
}

/// What the run is.
pub fn identity(dir: &Path) -> Result<Identity, Failure> {
    match journal::read_identity(dir) {
        Ok(identity) => Ok(identity.into_iter().collect()),
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
