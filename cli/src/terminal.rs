//! Properties of a terminal: colours and the width of lines. Also messages to it that must not fail.
//!
//! Text from files may contain characters that a terminal interprets as commands. Invariant: text that goes through
//! [`Escaping`] or [`tell`] has no such character but line breaks, tabs and the colours of [`Style`].

use console::Term;
use gridlock_manager::grid::transport::launch::launched;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write, stderr, stdout};

/// Escape sequences, all empty if there are to be no colours.
#[derive(Clone, Copy)]
pub struct Style {
    /// Begins important text.
    pub strong: &'static str,
    /// Begins unimportant text.
    pub faint: &'static str,
    /// Begins text about a good result.
    pub good: &'static str,
    /// Begins text about a problem.
    pub wrong: &'static str,
    /// Returns to ordinary text.
    pub off: &'static str,
    /// Characters that fit into a line; without a terminal there is no limit.
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

    /// Whether text can be redrawn at the same place, as a spinner needs it.
    pub fn can_redraw() -> bool {
        stderr().is_terminal() && !is_dumb()
    }

    /// Whether there are colours.
    pub fn coloured(self) -> bool {
        !self.off.is_empty()
    }
}

/// Whether a terminal may be given colours. See <https://no-color.org>: any value but the empty one means no. A process that
/// mpirun started may see a terminal that is none: its output goes where mpirun writes, which may be a file.
pub fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !is_dumb() && launched().is_none()
}

/// Whether the terminal has no escape sequences.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Writes a line to standard error. A closed standard error is no reason to fail. It is one write, so that the output of
/// other processes, mpirun above all, does not come between its words.
pub fn tell(text: impl std::fmt::Display) {
    let mut line = String::new();
    escape(&text.to_string(), &mut line);
    line.push('\n');
    let _ = stderr().write_all(line.as_bytes());
}

/// Whether a terminal interprets a character as a command, or shows the text around it in another order.
fn is_dangerous(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends a text in which dangerous characters are written as `\u001b`. JSON writes them in the same way, so JSON keeps its
/// meaning. The colours of [`Style`] pass unchanged.
fn escape(text: &str, out: &mut String) {
    let Style { strong, faint, good, wrong, off, .. } = Style::COLOURED;
    let colours = [strong, faint, good, wrong, off];
    let mut rest = text;
    while let Some(at) = rest.find(is_dangerous) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let colour = colours.iter().find(|colour| rest.starts_with(**colour));
        let length = match (colour, rest.chars().next()) {
            (Some(colour), _) => {
                out.push_str(colour);
                colour.len()
            }
            (None, Some(c)) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
                c.len_utf8()
            }
            (None, None) => 0,
        };
        rest = &rest[length..];
    }
    out.push_str(rest);
}

/// Passes text on, with dangerous characters escaped. Pieces must end between characters, as formatted text does.
pub struct Escaping<W>(pub W);

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut safe = String::with_capacity(bytes.len());
        escape(&String::from_utf8_lossy(bytes), &mut safe);
        self.0.write_all(safe.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut out = Escaping(Vec::new());
        write!(out, "{text}").expect("memory");
        String::from_utf8(out.0).expect("text")
    }

    #[test]
    fn what_a_terminal_obeys_is_shown_instead() {
        assert_eq!(shown("a\u{1b}[2Jb\u{9b}\u{7f}"), "a\\u001b[2Jb\\u009b\\u007f");
        assert_eq!(shown("x\u{202e}y\u{2066}\rz\tw"), "x\\u202ey\\u2066\\u000dz\tw");
        assert_eq!(shown("plain é 漢\nnext"), "plain é 漢\nnext");
        assert_eq!(shown("\u{1b}[1mstrong\u{1b}[0m"), "\u{1b}[1mstrong\u{1b}[0m", "our own colours");
    }

    #[test]
    fn json_means_the_same_after_it() {
        let value = serde_json::json!({ "name": "a\u{202e}b\u{9b}\u{1b}" });
        let text = shown(&value.to_string());
        assert!(!text.contains(['\u{202e}', '\u{9b}']), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }
}
