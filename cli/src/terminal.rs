//! What differs on a terminal: colours. And messages to it that must not fail.

use gridlock_manager::transport::launch::launched;
use std::io::{IsTerminal, Write, stderr, stdout};

/// Escape sequences, all empty where there is to be no colour.
#[derive(Clone, Copy)]
pub struct Style {
    /// What matters most.
    pub strong: &'static str,
    /// What matters least.
    pub faint: &'static str,
    /// What is as it should be.
    pub good: &'static str,
    /// What is wrong.
    pub wrong: &'static str,
    /// Back to the ordinary.
    pub off: &'static str,
}

impl Style {
    const PLAIN: Style = Style { strong: "", faint: "", good: "", wrong: "", off: "" };
    const COLOURED: Style = Style {
        strong: "\x1b[1m",
        faint: "\x1b[2m",
        good: "\x1b[1;32m",
        wrong: "\x1b[1;31m",
        off: "\x1b[0m",
    };

    /// The style of standard output.
    pub fn of_stdout() -> Style {
        Style::on(stdout().is_terminal())
    }

    /// The style of standard error.
    pub fn of_stderr() -> Style {
        Style::on(stderr().is_terminal())
    }

    fn on(terminal: bool) -> Style {
        if terminal && colours_wanted() { Style::COLOURED } else { Style::PLAIN }
    }

    /// Whether there are colours.
    pub fn coloured(self) -> bool {
        !self.off.is_empty()
    }
}

/// See <https://no-color.org>: any value but the empty one means no. A process that mpirun started writes to a terminal that
/// is none: what it says goes on to wherever mpirun writes, which may be a file.
fn colours_wanted() -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb") && launched().is_none()
}

/// Writes a line to standard error. That nobody listens there is no reason to fail. It is one write: what others write at
/// the same moment, mpirun above all, must not come between its words.
pub fn tell(text: impl std::fmt::Display) {
    let _ = stderr().write_all(format!("{text}\n").as_bytes());
}
