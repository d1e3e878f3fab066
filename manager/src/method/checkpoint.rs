//! The directory of a checkpoint, for commands that only read it.

use crate::grid::journal::{self, Tallies, Trouble};
use gridlock_lts::base::error::{Error, Result};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The file with the result of a run that came to its end.
pub const RESULT: &str = "result.json";
/// The part of the identity with the name of the method.
pub const METHOD: &str = "method";
/// The part of the identity with the memory of a job.
pub const JOB_MEMORY: &str = "job memory";

/// `--job-memory` as the user gave it; all processes of a run must agree on it. Without the option, machines of different
/// size have different defaults, and jobs carry their own limits.
pub fn given_job_memory(given: Option<u64>) -> (String, String) {
    ("--job-memory".to_owned(), given.map_or("its default".to_owned(), |bytes| bytes.to_string()))
}

/// The answers in a checkpoint, and their effort.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Answers {
    /// How many.
    pub answers: u64,
    /// States expanded for them.
    pub states: u64,
    /// Seconds, if they are known.
    pub seconds: f64,
}

/// The answers of a run of any method. It may be running.
pub fn answers(dir: &Path) -> Result<Answers> {
    let (mut sum, mut tallies) = (Answers::default(), open(dir)?.1);
    while let Some(tally) = tallies.next().map_err(cannot_use)? {
        sum.answers += 1;
        sum.states += tally.states;
        sum.seconds += tally.nanoseconds as f64 / 1e9;
    }
    Ok(sum)
}

/// The identity of the run. It may be running.
pub fn identity(dir: &Path) -> Result<BTreeMap<String, String>> {
    open(dir).map(|(identity, _)| identity)
}

/// Removes the result of an earlier run, so that it cannot be mistaken for that of this one.
pub fn forget_result(dir: &Path) -> Result<()> {
    match std::fs::remove_file(dir.join(RESULT)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(Error::disk(format_args!("cannot remove {}: {e}", dir.join(RESULT).display())))
        }
        _ => Ok(()),
    }
}

/// The identity of the run, and the effort of its answers.
fn open(dir: &Path) -> Result<(BTreeMap<String, String>, Tallies)> {
    match journal::look(dir) {
        Ok((identity, tallies)) => Ok((identity.into_iter().collect(), tallies)),
        Err(Trouble::Io(_, e)) if e.kind() == io::ErrorKind::NotFound => Err(Error::input(format_args!(
            "there is no checkpoint in {}: name the directory that --checkpoint was given",
            dir.display()
        ))),
        Err(trouble) => Err(cannot_use(trouble)),
    }
}

/// Why a checkpoint cannot be used.
pub fn cannot_use(trouble: Trouble) -> Error {
    match trouble {
        Trouble::Io(path, e) => {
            Error::disk(format_args!("cannot use the checkpoint: {}: {e}", path.display()))
        }
        other => Error::input(other),
    }
}
