//! The Aldebaran format `.aut`: one header line `des (INITIAL,TRANSITIONS,STATES)`, then one line
//! `(FROM,"LABEL",TO)` for each transition.
//!
//! Labels are written verbatim between quotes. Reading takes a line apart from both ends, so a label may contain
//! commas, parentheses and quotes, and what is written is read back as it was, with two exceptions that lie in the
//! format: a label with a line break cannot be written, and a visible label `i` comes back as `tau`, since `i` is
//! what other tools call the hidden label.
//!
//! Reading trusts nothing: memory grows with what the file contains, never with what its header announces.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;

/// The longest line that is read; a longer one is no transition but a file of another kind.
const LONGEST_LINE: u64 = 1 << 20;

/// How many states may occur in no transition at all. Files with a few exist; a header that announces billions of
/// them is damaged, and believing it would fill the memory.
const MOST_ISOLATED_STATES: u64 = 1 << 20;

/// Writes the system in the Aldebaran format.
pub fn write(lts: &Lts, mut out: impl Write) -> io::Result<()> {
    const CHUNK: usize = 1 << 16;
    if let Some(label) = lts.labels().iter().find(|l| l.contains('\n')) {
        let reason = format!("the label {label:?} contains a line break, which a .aut file cannot hold");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let mut text = Vec::with_capacity(2 * CHUNK);
    writeln!(text, "des ({},{},{})", lts.initial().0, lts.num_transitions(), lts.num_states())?;
    for (from, label, to) in lts.transitions() {
        writeln!(text, "({},\"{}\",{})", from.0, lts.label(label), to.0)?;
        if text.len() >= CHUNK {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)?;
    out.flush()
}

/// Why a file could not be read, and where.
#[derive(Debug)]
pub struct ReadError {
    /// The name of the file as the user gave it.
    pub name: String,
    /// The line, counted from 1; none if the file as a whole is at fault.
    pub line: Option<u64>,
    /// What is wrong and what was expected.
    pub problem: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{}: {}", self.name, line, self.problem),
            None => write!(f, "{}: {}", self.name, self.problem),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads a file in the Aldebaran format.
pub fn read_file(path: &Path) -> Result<Lts, ReadError> {
    let name = path.display().to_string();
    let file = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, name a file")),
        false => Ok(file),
    });
    match file {
        Ok(file) => read(BufReader::with_capacity(1 << 16, file), &name),
        Err(e) => Err(ReadError { name, line: None, problem: format!("cannot be read: {e}") }),
    }
}

/// Reads the Aldebaran format; `name` is what errors call the input.
pub fn read(input: impl BufRead, name: &str) -> Result<Lts, ReadError> {
    let mut lines = Lines { input, line: Vec::new(), number: 0 };
    read_lines(&mut lines).map_err(|(place, problem)| ReadError {
        name: name.to_owned(),
        line: match place {
            Scope::Line => Some(lines.number),
            Scope::File => None,
        },
        problem,
    })
}

/// Whether an error is about the current line or about the whole file.
enum Scope {
    Line,
    File,
}

type Fault = (Scope, String);

fn here(problem: impl Into<String>) -> Fault {
    (Scope::Line, problem.into())
}

struct Header {
    initial: u64,
    transitions: u64,
    states: u64,
}

fn read_lines(lines: &mut Lines<impl BufRead>) -> Result<Lts, Fault> {
    let Some(line) = lines.next()? else {
        return Err((Scope::File, format!("the file is empty; {HEADER_EXPECTED}")));
    };
    let header = header(line)?;
    let mut builder = Builder::new();
    while let Some(line) = lines.next()? {
        let Some((from, label, to)) = split_transition(line) else {
            let reason = format!("expected a transition such as (0,\"a\",1), found {}", excerpt(line));
            return Err(here(reason));
        };
        if builder.num_transitions() as u64 == header.transitions {
            let reason =
                format!("one transition more than the {} that the header announces", header.transitions);
            return Err(here(reason));
        }
        let (from, to) = (state(from, &header)?, state(to, &header)?);
        let label = label_of(label, &mut builder)?;
        builder.add(from, label, to);
    }
    let found = builder.num_transitions() as u64;
    if found != header.transitions {
        let announced = header.transitions;
        let reason =
            format!("the header announces {announced} transitions, the file has {found}: is it cut off?");
        return Err((Scope::File, reason));
    }
    let most = found.saturating_mul(2).saturating_add(1 + MOST_ISOLATED_STATES);
    if header.states > most {
        let reason = format!(
            "the header announces {} states, but {found} transitions cannot connect that many",
            header.states
        );
        return Err((Scope::File, reason));
    }
    builder.require_states(header.states as u32);
    Ok(builder.finish(State(header.initial as u32)))
}

const HEADER_EXPECTED: &str =
    "expected the header des (INITIAL,TRANSITIONS,STATES), for instance des (0,12,5)";

fn header(line: &[u8]) -> Result<Header, Fault> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    let wrong = || here(format!("{HEADER_EXPECTED}, found {}", excerpt(line)));
    let inner = line.strip_prefix(b"des").map(<[u8]>::trim_ascii_start);
    let inner =
        inner.and_then(|l| l.strip_prefix(b"(")).and_then(|l| l.strip_suffix(b")")).ok_or_else(wrong)?;
    let mut numbers = inner.split(|&c| c == b',').map(<[u8]>::trim_ascii);
    let (Some(initial), Some(transitions), Some(states), None) =
        (numbers.next(), numbers.next(), numbers.next(), numbers.next())
    else {
        return Err(wrong());
    };
    if [initial, transitions, states].iter().any(|n| n.is_empty() || !n.iter().all(u8::is_ascii_digit)) {
        return Err(wrong());
    }
    // Numbers beyond 64 bits saturate: they are too large for every check that follows.
    let [initial, transitions, states] =
        [initial, transitions, states].map(|n| number(n).unwrap_or(u64::MAX));
    if states >= u64::from(u32::MAX) {
        return Err(here(format!(
            "the header announces more than the {} states that can be numbered",
            u32::MAX - 1
        )));
    }
    if initial >= states {
        let reason = format!(
            "the initial state is {initial}, but with {states} states the numbers end before {states}"
        );
        return Err(here(reason));
    }
    Ok(Header { initial, transitions, states })
}

/// Takes a transition apart into its source, label and target, all still as text.
fn split_transition(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let inner = line.trim_ascii().strip_prefix(b"(")?.strip_suffix(b")")?;
    let first = inner.iter().position(|&c| c == b',')?;
    let last = inner.iter().rposition(|&c| c == b',')?;
    let label = inner.get(first + 1..last)?.trim_ascii();
    (!label.is_empty()).then_some((inner[..first].trim_ascii(), label, inner[last + 1..].trim_ascii()))
}

fn state(text: &[u8], header: &Header) -> Result<State, Fault> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err(here(format!("expected the number of a state, found {}", excerpt(text))));
    }
    match number(text) {
        Some(n) if n < header.states => Ok(State(n as u32)),
        _ => {
            let reason =
                format!("there is no state {}: the header announces {}", excerpt(text), header.states);
            Err(here(reason))
        }
    }
}

fn label_of(text: &[u8], builder: &mut Builder) -> Result<Label, Fault> {
    let text = match text.strip_prefix(b"\"") {
        None => text,
        Some(rest) => rest
            .strip_suffix(b"\"")
            .ok_or_else(|| here(format!("expected a quote at the end of the label {}", excerpt(text))))?,
    };
    let text = std::str::from_utf8(text)
        .map_err(|_| here(format!("expected a label in UTF-8, found {}", excerpt(text))))?;
    Ok(if text == "i" { Label::TAU } else { builder.label(text) })
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |n, d| n.checked_mul(10)?.checked_add(u64::from(d - b'0')))
}

/// The beginning of a text as an error message can show it.
fn excerpt(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    let start = &text[..text.len().min(LONGEST)];
    let shown: String = String::from_utf8_lossy(start).chars().flat_map(char::escape_debug).collect();
    // The text stands in backquotes, so its own quotes need no backslash.
    let shown = shown.replace("\\\"", "\"").replace("\\'", "'");
    let rest = if text.len() > LONGEST { "..." } else { "" };
    format!("`{shown}`{rest}")
}

/// The lines that are not blank, one at a time in one buffer.
struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<&[u8]>, Fault> {
        loop {
            self.line.clear();
            let read = (&mut self.input).take(LONGEST_LINE + 1).read_until(b'\n', &mut self.line);
            let length = read.map_err(|e| (Scope::File, format!("cannot be read: {e}")))?;
            if length == 0 {
                return Ok(None);
            }
            self.number += 1;
            if length as u64 > LONGEST_LINE {
                let reason = format!("the line is longer than {LONGEST_LINE} bytes; is this an .aut file?");
                return Err(here(reason));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(self.line.trim_ascii()));
            }
        }
    }
}

#[cfg(test)]
mod tests;
