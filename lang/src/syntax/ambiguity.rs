//! The messages about an expression that can be read in two ways.
//!
//! Files were written for tools that let `forall`, `exists`, `lambda`, `mu` and `nu` reach as far as they can, and mCRL2
//! since 202507 ends them where an operator before them binds more tightly than one behind. Neither reading may be guessed,
//! so where they differ, the author is asked for brackets. In a formula, names may tell: see `property::reach`.

use super::climb::Parting;
use super::formula::Unclear;
use super::grammar::Reader;
use crate::diagnostic::{Diagnostic, Span};

/// The most characters of each part of a reading that are shown.
const WIDEST: usize = 60;

impl Reader {
    /// Asks for brackets where the readings of a sequence differ. `text` is the text of the piece.
    pub(super) fn ambiguous(&mut self, text: &str, partings: &[Parting]) {
        for unclear in self.unclear_in(text, partings) {
            self.push(unclear.problem);
        }
    }

    /// The same in a formula, where names may still tell which reading is meant.
    pub(super) fn perhaps_ambiguous(&mut self, text: &str, partings: &[Parting]) {
        let unclear = self.unclear_in(text, partings);
        self.unclear.extend(unclear);
    }

    fn unclear_in(&self, text: &str, partings: &[Parting]) -> Vec<Unclear> {
        let mut found = Vec::new();
        for parting in partings {
            let piece = |from: u32, to: u32| {
                let (from, to) = (self.local(from), self.local(to));
                shown(text.get(from..to).unwrap_or_default())
            };
            let Parting { outer, prefix, part, end } = *parting;
            let (before, body, rest) = (piece(outer, prefix), piece(prefix, part), piece(part, end));
            let word = body.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default().to_owned();
            let start = prefix as usize;
            let problem = Diagnostic::new(
                Span::new(start, start + word.len()),
                format!("it is unclear how far this '{word}' reaches: brackets are needed"),
            );
            let problem = problem.help(format!(
                "write '{before}({body}{rest})' to let it reach to the end, or '({before}{body}){rest}' to \
                 end it before; mCRL2 reads the latter since version 202507, older files mean the former"
            ));
            found.push(Unclear { prefix, rest: Span::new(part as usize, end as usize), problem });
        }
        found
    }
}

/// A part of the text on one line, without comments, shortened in the middle.
fn shown(text: &str) -> String {
    let mut line = String::new();
    for part in text.lines().map(|line| line.split('%').next().unwrap_or_default()) {
        line.push_str(part);
        line.push(' ');
    }
    let mut words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.starts_with(char::is_whitespace) {
        words.insert(0, ' ');
    }
    if text.ends_with(char::is_whitespace) {
        words.push(' ');
    }
    let count = words.chars().count();
    if count <= WIDEST {
        return words;
    }
    let (head, tail) = (WIDEST / 2, WIDEST / 2 - 2);
    let first: String = words.chars().take(head).collect();
    let last: String = words.chars().skip(count - tail).collect();
    format!("{first} … {last}")
}
