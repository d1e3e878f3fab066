//! Concrete syntax: the pest grammar, the tree it yields, and the parser between them.
//!
//! The road of a text: [`decode`] (bytes to text) → `scan` (cut at section keywords and `;`) → `grammar` (pest, one
//! declaration at a time) → the readers `sorts`, `data`, `process`, `declarations` (pairs to [`tree`], with `climb` for
//! precedence). No text, however long or deep, exhausts the stack: see [`MAX_NESTING`] and [`MAX_DEPTH`].

mod climb;
mod data;
mod declarations;
mod expected;
mod grammar;
mod number;
mod process;
mod scan;
mod sorts;
pub mod tree;

use crate::diagnostic::{Diagnostic, Span};

/// How deep brackets may be nested.
pub const MAX_NESTING: usize = 10_000;

/// How many levels a sort, a data expression or a process may have in the tree. Whoever walks a tree recursively
/// recurses at most this deep.
pub const MAX_DEPTH: u32 = 2_000;

/// The longest text that is parsed, in bytes.
pub const MAX_LENGTH: usize = 64 << 20;

/// Stack that pest and the readers use for one level of brackets, with room to spare.
const STACK_PER_LEVEL: usize = 32 << 10;

/// Parses a specification. Gives its tree, or everything that is wrong with its syntax.
pub fn parse(text: &str) -> Result<tree::Spec, Vec<Diagnostic>> {
    check_length(text)?;
    let (spec, errors) = declarations::assemble(text, scan::cut(text, false));
    if errors.is_empty() { Ok(spec) } else { Err(errors) }
}

fn check_length(text: &str) -> Result<(), Vec<Diagnostic>> {
    if text.len() <= MAX_LENGTH {
        return Ok(());
    }
    let message = format!("the text is longer than {} MiB", MAX_LENGTH >> 20);
    Err(vec![Diagnostic::new(Span::default(), message)])
}
