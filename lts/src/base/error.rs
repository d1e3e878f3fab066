//! What can go wrong, as types.
//!
//! Invariant: what a caller does about an error (the exit code, the verdict `unknown`, whether a checkpoint can be
//! resumed) follows from its type, never from a word in its message.

use crate::base::memory::Exhausted;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The usual result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Error {
    /// The user can correct it: a wrong argument or an invalid file. The message says how.
    Input(String),
    /// A limit was reached before the answer was known.
    Limit(Limit),
    /// A file or directory cannot be read or written: which, and why.
    Disk(String),
    /// A defect of Gridlock itself. The message says what contradicts what.
    Internal(String),
}

/// A limit that ends a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Limit {
    /// States visited.
    States(u64),
    /// Steps from the initial state.
    Depth(u64),
    /// Positions of a formula: its parts with different values of their variables.
    Positions(u64),
    /// Bytes of the whole process.
    Memory(u64),
    /// Bytes of one job.
    JobMemory(u64),
    /// Time since the run began.
    Time(Duration),
    /// A signal, or a caller that does not want the answer any more.
    Interrupted,
}

impl Error {
    /// An [`Error::Input`] with this message.
    pub fn input(message: impl fmt::Display) -> Self {
        Error::Input(message.to_string())
    }

    /// An [`Error::Disk`] with this message.
    pub fn disk(message: impl fmt::Display) -> Self {
        Error::Disk(message.to_string())
    }

    /// An [`Error::Internal`] with this message.
    pub fn internal(message: impl fmt::Display) -> Self {
        Error::Internal(message.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input(message) | Error::Disk(message) => f.write_str(message),
            Error::Internal(message) => write!(f, "internal: {message}"),
            Error::Limit(limit) => limit.fmt(f),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::States(n) => write!(f, "the limit of {n} states is reached"),
            Limit::Depth(n) => write!(f, "the limit of {n} steps is reached"),
            Limit::Positions(n) => write!(f, "the limit of {n} positions of a formula is reached"),
            Limit::Memory(bytes) => write!(f, "the memory limit of {bytes} bytes is reached"),
            Limit::JobMemory(bytes) => write!(f, "the memory limit of {bytes} bytes for a job is reached"),
            Limit::Time(time) => write!(f, "the time limit of {time:?} is reached"),
            Limit::Interrupted => f.write_str("the run was interrupted"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Limit> for Error {
    fn from(limit: Limit) -> Self {
        Error::Limit(limit)
    }
}

impl Exhausted {
    /// The error where the budget was that of one job, and not of the whole process.
    pub fn of_job(self) -> Error {
        Error::Limit(Limit::JobMemory(self.limit))
    }
}

impl From<Exhausted> for Error {
    fn from(exhausted: Exhausted) -> Self {
        Error::Limit(Limit::Memory(exhausted.limit))
    }
}
