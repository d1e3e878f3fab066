//! What is in the directory of a checkpoint, for those who only read it.

use crate::outcome::Failure;
use crate::swarm::numbers::Identity;
use gridlock_manager::journal::{self, Trouble};
use gridlock_worker::job::Feedback;
use std::io;
use std::path::Path;

/// The file with the result of a run that came to its end.
pub const RESULT: &str = "result.json";

/// What the run is, and its answers so far. It may be running.
pub fn read(dir: &Path) -> Result<(Identity, Vec<Feedback>), Failure> {
    match journal::read::<Feedback>(dir) {
        Ok((identity, answers)) => Ok((identity.into_iter().collect(), answers)),
        Err(Trouble::Io(_, e)) if e.kind() == io::ErrorKind::NotFound => Err(Failure::input(format_args!(
            "there is no checkpoint in {}: name the directory that --checkpoint was given",
            dir.display()
        ))),
        Err(trouble) => Err(cannot_use(trouble)),
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
