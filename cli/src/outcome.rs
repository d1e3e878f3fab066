//! The end of a command: its exit code and, if it did not succeed, the reason.

use crate::terminal::{Style, tell};
use crate::watch::Watch;
use gridlock_lts::base::error::{Error, Limit};
use std::fmt::Display;

/// The exit codes, as `--help` lists them.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    success: it holds, it is equal, it is written
  1    violated, or different
  2    wrong use, or a specification or file that is faulty or cannot be read or written
  3    unknown: a limit was reached, or the run was interrupted (Ctrl-C, SIGTERM, SIGUSR1)
  101  internal error: a fault of gridlock itself
  130  ended at once by a second Ctrl-C";

/// The answer of a command that came to an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The property holds, the systems are equal, or the command is done.
    Yes,
    /// The property is violated, or the systems differ.
    No,
    /// A limit was reached or the run was interrupted, and this was reported to the user.
    Unknown,
}

/// Why a command has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A mistake that the user can correct: a wrong argument, an unreadable file. One message without `error:`.
    Input(String),
    /// The specification is faulty. The message is complete: place, text, underlining.
    Specification(String),
    /// A limit on a size was reached: which limit, and the figures so far.
    Limit(String),
    /// The [`Watch`] stopped the run, and has the reason.
    Stopped,
    /// An internal error: the two facts that contradict each other.
    Internal(String),
    /// Not a failure: this process has worked for another, which ended with this exit code.
    Served(u8),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Input(message) | Error::Disk(message) => Failure::Input(message),
            Error::Limit(Limit::Interrupted) => Failure::Stopped,
            Error::Limit(limit) => Failure::Limit(limit.to_string()),
            Error::Internal(message) => Failure::Internal(message),
        }
    }
}

impl Failure {
    /// The reason in words, for another process to report.
    pub fn reason(&self, watch: &Watch) -> String {
        match self {
            Failure::Input(text) | Failure::Limit(text) | Failure::Internal(text) => text.clone(),
            // It begins with what the other one will say anyway.
            Failure::Specification(text) => text.trim().trim_start_matches("error: ").to_owned(),
            Failure::Stopped => watch.why_stopped(),
            Failure::Served(code) => format!("it ended with {code}"),
        }
    }

    /// A mistake that the user can correct.
    pub fn input(message: impl Display) -> Self {
        Failure::Input(message.to_string())
    }
}

/// What to do about an internal error.
pub const REPORT_IT: &str =
    "This is a fault of gridlock. Please report it with the command and the specification.";

/// The exit code of an internal error.
pub const INTERNAL_ERROR: u8 = 101;

/// Prints why there is no answer, if there is none, and returns the exit code.
pub fn finish(outcome: Result<Exit, Failure>, watch: &Watch) -> u8 {
    let Style { wrong, strong, off, .. } = Style::of_stderr();
    match outcome {
        Ok(Exit::Yes) => 0,
        Ok(Exit::No) => 1,
        Ok(Exit::Unknown) => 3,
        Err(Failure::Input(message)) => {
            tell(format_args!("{wrong}error{off}{strong}: {message}{off}"));
            2
        }
        Err(Failure::Specification(message)) => {
            tell(message.trim_end());
            2
        }
        Err(Failure::Internal(message)) => {
            tell(format_args!("{wrong}internal error{off}{strong}: {message}{off}\n{REPORT_IT}"));
            INTERNAL_ERROR
        }
        Err(Failure::Limit(message)) => {
            tell(format_args!("{strong}unknown{off}: {message}"));
            3
        }
        Err(Failure::Served(code)) => code,
        Err(Failure::Stopped) => {
            tell(format_args!("{strong}unknown{off}: {}", watch.why_stopped()));
            3
        }
    }
}
