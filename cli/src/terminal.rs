//! What differs on a terminal: colours, and that lines have an end. And messages to it that must not fail.

use console::Term;
use gridlock_manager::grid::transport::launch::launched;
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
    /// Characters that fit into a line; where there is no terminal, as many as you like.
    pub columns: usize,
}

impl Style {
    const PLAIN: Style = Style { strong: "", faint: "", good: "", wrong: "", off: "", columns: usize::MAX };
    const COLOURED: Style = Style {
        strong: "\x1b[1m",
        faint: "\x1b[2m",
        good: "\x1b[1;32m",
        wrong: "\x1b[1;31m",
        off: "\x1b[0m",
        columns: usize::MAX,
    };

    /// The style of standard output.
    pub fn of_stdout() -> Style {
        Style::on(stdout().is_terminal(), &Term::stdout())
    }

    /// The style of standard error.
    pub fn of_stderr() -> Style {
        Style::on(stderr().is_terminal(), &Term::stderr())
    }

    fn on(is_terminal: bool, terminal: &Term) -> Style {
        if !is_terminal || launched().is_some() {
            return Style::PLAIN;
        }
        let style = if colours_wanted() { Style::COLOURED } else { Style::PLAIN };
        Style { columns: terminal.size_checked().map_or(usize::MAX, |(_, columns)| columns.into()), ..style }
    }

    /// Whether a text can be written again and again at the same place, as a bar does it.
    pub fn can_redraw() -> bool {
        stderr().is_terminal() && !is_dumb()
    }

    /// Whether there are colours.
    pub fn coloured(self) -> bool {
        !self.off.is_empty()
    }
}

/// Whether a terminal may be given colours. See <https://no-color.org>: any value but the empty one means no. A process that
/// mpirun started writes to a terminal that is none: what it says goes on to wherever mpirun writes, which may be a file.
pub fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !is_dumb() && launched().is_none()
}

/// A terminal that is no more than a printer.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Writes a line to standard error. That nobody listens there is no reason to fail. It is one write: what others write at
/// the same moment, mpirun above all, must not come between its words.
pub fn tell(text: impl std::fmt::Display) {
    let _ = stderr().write_all(format!("{text}\n").as_bytes());
}
