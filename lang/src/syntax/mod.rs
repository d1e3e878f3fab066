//! Concrete syntax: the pest grammar, the tree it yields, and the parser between them.
//!
//! The stages of a text: [`decode`] (bytes to text) → `scan` (cut at section keywords and `;`) → `grammar` (pest, one
//! declaration at a time) → the readers `sorts`, `data`, `process`, `atoms`, `modal`, `regular` and `declarations` (pairs
//! to [`tree`] and [`formula`], with `climb` for precedence). [`mod@print`] and [`print_formula`] go the way back.
//! `expected` words what went wrong, `hints` what to do about it.
//!
//! Invariant: no text, however long or deep, exhausts the stack or multiplies work; see [`MAX_LENGTH`],
//! [`MAX_NESTING`] and [`MAX_DEPTH`]. What parses, prints to a text that parses to the same.

mod ambiguity;
mod atoms;
mod climb;
mod data;
mod declarations;
mod expected;
pub mod formula;
mod grammar;
pub(crate) mod hints;
mod modal;
mod number;
pub mod print;
pub mod print_formula;
mod process;
mod regular;
mod scan;
mod sorts;
mod tokens;
pub mod tree;

use crate::diagnostic::{Diagnostic, Span, locate};
use grammar::{Piece, Reader, Rule};

/// How deep brackets may be nested.
pub const MAX_NESTING: usize = 10_000;

/// How many levels a sort, a data expression or a process may have in the tree. A recursive walk over a tree
/// recurses at most this deep.
pub const MAX_DEPTH: u32 = 2_000;

/// The longest text that is parsed, in bytes.
pub const MAX_LENGTH: usize = 8 << 20;

/// Stack for one level of brackets. pest and the readers need less than 7 KiB without optimisation and less than 2 KiB
/// with it.
const STACK_PER_LEVEL: usize = 12 << 10;

/// The most problems that are collected.
const MAX_ERRORS: usize = 100;

/// Parses a specification. Gives its tree, or everything that is wrong with its syntax.
pub fn parse(text: &str) -> Result<tree::Spec, Vec<Diagnostic>> {
    check_length(text)?;
    let (spec, errors) = declarations::specification(text, scan::cut(text, false));
    if errors.is_empty() { Ok(spec) } else { Err(errors) }
}

/// Parses a formula file: a formula, or declarations of data and actions around `form formula;`.
pub fn parse_formula(text: &str) -> Result<formula::Formula, Vec<Diagnostic>> {
    check_length(text)?;
    if scan::has_sections(text) {
        return match declarations::formula_file(text, scan::cut(text, true)) {
            (Some(formula), errors) if errors.is_empty() => Ok(formula),
            (_, errors) => Err(errors),
        };
    }
    let (span, nesting) = scan::whole(text).map_err(|error| vec![error])?;
    let state = Piece { text, span, nesting }.parse(Rule::formula, Reader::formula)?;
    match state {
        Some((state, unclear)) => {
            Ok(formula::Formula { declarations: tree::Spec::default(), state, unclear })
        }
        None => Err(vec![Diagnostic::new(span, "there is no formula")]),
    }
}

/// Parses a pattern for transitions, such as `send(0, _) | ack`: names of actions, each with its arguments or, without
/// parentheses, any; `_` stands for any argument.
pub fn parse_action_pattern(text: &str) -> Result<formula::ActionPattern, Vec<Diagnostic>> {
    check_length(text)?;
    let (span, nesting) = scan::whole(text).map_err(|error| vec![error])?;
    Piece { text, span, nesting }.parse(Rule::pattern, Reader::pattern)
}

/// Runs work that recurses over a tree, at most [`MAX_DEPTH`] levels deep and with up to 16 KiB of stack a level, so that
/// it cannot exhaust the stack on any thread.
pub fn with_deep_stack<T>(work: impl FnOnce() -> T) -> T {
    const NEEDED: usize = (MAX_DEPTH as usize) * (16 << 10);
    stacker::maybe_grow(NEEDED, NEEDED, work)
}

/// The text of a file. A byte order mark is dropped. Bytes that are not UTF-8 are replaced inside comments, where
/// authors of older files wrote names in other encodings, and refused elsewhere.
pub fn decode(bytes: &[u8]) -> Result<String, Diagnostic> {
    let rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut text = String::with_capacity(rest.len());
    let mut at = bytes.len() - rest.len();
    let mut in_comment = false;
    for chunk in rest.utf8_chunks() {
        let valid = chunk.valid();
        if let Some(nul) = valid.find('\0') {
            text.push_str(&valid[..nul]);
            return Err(not_text(&text, at + nul, 0));
        }
        for line in valid.split_inclusive(['\n', '\r']) {
            in_comment = (in_comment || line.contains('%')) && !line.ends_with(['\n', '\r']);
        }
        text.push_str(valid);
        at += valid.len();
        match chunk.invalid() {
            [] => {}
            _ if in_comment => text.push('\u{fffd}'),
            [byte, ..] => return Err(not_text(&text, at, *byte)),
        }
        at += chunk.invalid().len();
    }
    Ok(text)
}

/// What to say about the first byte that is not text; `before` is what could be read, `at` the byte's place in the
/// file.
fn not_text(before: &str, at: usize, byte: u8) -> Diagnostic {
    let (line, column) = locate(before, before.len());
    let message = format!("this is not text: byte {at}, in line {line} at column {column}, is 0x{byte:02x}");
    let help = if byte == 0 || byte >= 0xfe {
        "a specification is a text file in UTF-8; this looks like a binary file or like UTF-16"
    } else {
        "a specification is a text file in UTF-8; convert it, for instance with iconv"
    };
    Diagnostic::new(Span::new(before.len(), before.len()), message).help(help)
}

fn check_length(text: &str) -> Result<(), Vec<Diagnostic>> {
    if text.len() <= MAX_LENGTH {
        return Ok(());
    }
    let message = format!("the text is longer than {} MiB", MAX_LENGTH >> 20);
    let end = Span::new(MAX_LENGTH, text.len());
    Err(vec![Diagnostic::new(end, message).help("divide the specification, or remove what is not needed")])
}
