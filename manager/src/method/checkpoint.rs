//! What is in the directory of a checkpoint, for those who only read it.

use crate::journal::{self, Records, Trouble};
use gridlock_lts::base::error::{Error, Result};
use gridlock_worker::job::Effort;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The file with the result of a run that came to its end.
pub const RESULT: &str = "result.json";
/// The part of the identity that says which method was run.
pub const METHOD: &str = "method";
/// The part of the identity that says what a job may use.
pub const JOB_MEMORY: &str = "job memory";

/// The answers in a checkpoint, and what they took.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Answers {
    /// How many.
    pub answers: u64,
    /// States expanded for them.
    pub states: u64,
    /// Seconds, if they are known.
    pub seconds: f64,
}

impl Answers {
    /// Adds up what answers took.
    pub fn count<T: DeserializeOwned>(dir: &Path, effort: impl Fn(&T) -> &Effort) -> Result<Self> {
        let (mut sum, mut records) = (Answers::default(), open::<T>(dir)?.1);
        while let Some(answer) = records.next().map_err(cannot_use)? {
            let effort = effort(&answer);
            sum.answers += 1;
            sum.states += effort.states;
            sum.seconds += effort.nanoseconds as f64 / 1e9;
        }
        Ok(sum)
    }
}

/// What the run is. It may be running.
pub fn identity(dir: &Path) -> Result<BTreeMap<String, String>> {
    open::<()>(dir).map(|(identity, _)| identity)
}

/// Removes the result of an earlier run, which is not that of this one.
pub fn forget_result(dir: &Path) -> Result<()> {
    match std::fs::remove_file(dir.join(RESULT)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(Error::disk(format_args!("cannot remove {}: {e}", dir.join(RESULT).display())))
        }
        _ => Ok(()),
    }
}

/// What the run is, and its answers.
pub fn open<T: DeserializeOwned>(dir: &Path) -> Result<(BTreeMap<String, String>, Records<T>)> {
    match journal::look::<T>(dir) {
        Ok((identity, records)) => Ok((identity.into_iter().collect(), records)),
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
