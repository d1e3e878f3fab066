//! Remedies for syntax errors that are common slips.

use super::expected::{FailedAt, Wanted, is_bracket, is_keyword};
use super::grammar::Rule;
use super::tokens::{Token, TokenKind, Tokens};
use crate::diagnostic::did_you_mean;

/// What a section begins with.
const SECTIONS: [&str; 9] = ["sort", "cons", "map", "var", "eqn", "glob", "act", "proc", "init"];

/// The section that a word at the beginning of a declaration was probably meant to begin.
pub(super) fn section_meant(word: &str) -> Option<&'static str> {
    Some(match word {
        "process" | "processes" => "proc",
        "action" | "actions" => "act",
        "type" | "types" => "sort",
        "variable" | "variables" => "var",
        "equation" | "equations" => "eqn",
        "mapping" | "mappings" => "map",
        "constructor" | "constructors" => "cons",
        "initial" => "init",
        _ => return did_you_mean(word, SECTIONS).filter(|section| word != *section),
    })
}

/// Words that stand between others and might be misspelt.
const WORDS: [&str; 10] = ["struct", "sum", "forall", "exists", "lambda", "whr", "div", "mod", "in", "end"];

impl FailedAt<'_> {
    /// What to do about it, if the mistake is a common one.
    pub(super) fn hint(&self) -> Option<String> {
        let word = self.word();
        let text = self.piece.text;
        if self.rule == Rule::equation && self.at_end() && self.wants(Wanted::Text("=")) {
            return Some("an equation is written 'left = right' or 'condition -> left = right'".to_string());
        }
        if (self.at_end() || matches!(word, ")" | "]" | "}")) && self.wanted.iter().any(is_bracket) {
            let (bracket, line, column) = self.unclosed()?;
            return Some(format!("the '{bracket}' in line {line}, column {column} is not closed"));
        }
        match self.token?.kind {
            TokenKind::Semicolon if self.rule == Rule::formula && self.wants(Wanted::End) => {
                Some("only 'form formula;' ends with ';'".to_string())
            }
            TokenKind::Close if self.wants(Wanted::End) => {
                Some(format!("there is no opening bracket for this '{word}'"))
            }
            TokenKind::Symbol if word == "=" && text[self.start()..].starts_with("=<") => {
                Some("write '<='".to_string())
            }
            TokenKind::Symbol if word == "=" && text[..self.start()].ends_with('/') => {
                Some("write '!='".to_string())
            }
            TokenKind::Symbol if word == "=" && self.wants(Wanted::Operator) => {
                Some("to compare, write '=='".to_string())
            }
            TokenKind::Symbol if word == ":=" => Some("a value is assigned with '='".to_string()),
            TokenKind::Symbol if word == "->" && self.wants(Wanted::Operator) => {
                Some("data is chosen with if(condition, then, else)".to_string())
            }
            TokenKind::Number if word.starts_with('0') && word.len() > 1 => {
                Some(match text[..self.start()].strip_suffix('.') {
                    Some(before) if before.ends_with(|c: char| c.is_ascii_digit()) => {
                        "there are no decimal fractions; write a fraction such as '1/20'".to_string()
                    }
                    _ => "a number does not begin with 0".to_string(),
                })
            }
            TokenKind::Word | TokenKind::Number | TokenKind::Open if !self.wanted.is_empty() => {
                self.two_in_a_row().or_else(|| self.no_name())
            }
            _ => self.no_name(),
        }
    }

    fn no_name(&self) -> Option<String> {
        (is_keyword(self.word()) && self.wants(Wanted::Name)).then(|| "choose another name".to_string())
    }

    /// Where the token begins that is too much.
    fn start(&self) -> usize {
        self.token.map_or(self.piece.text.len(), |token| token.span.start as usize)
    }

    /// The last two tokens of the declaration before the place.
    fn before(&self) -> (Option<Token>, Option<Token>) {
        let (mut second, mut last) = (None, None);
        for token in Tokens::from(self.piece.text, self.piece.span.start as usize) {
            if token.span.start as usize >= self.start() {
                break;
            }
            (second, last) = (last, Some(token));
        }
        (second, last)
    }

    /// A word where there should be an operator, or another word before it.
    fn two_in_a_row(&self) -> Option<String> {
        let word = self.word();
        let text = self.piece.text;
        let of = |token: Token| &text[token.span.start as usize..token.span.end as usize];
        let (second, last) = self.before();
        let previous = last.map_or("", of);
        let operator = self.wants(Wanted::Operator);
        if operator && (matches!(word, "then" | "else" | "elsif" | "elif") || previous == "if") {
            return Some(CHOICES.to_string());
        }
        if operator && previous.eq_ignore_ascii_case("not") {
            return Some("write '!'".to_string());
        }
        if operator && let Some(spelling) = logic(word) {
            return Some(format!("write '{spelling}'"));
        }
        // `porc P = a;` in the section before: two words in a row, of which the first begins the declaration.
        let first = last.filter(|token| second.is_none() && token.kind == TokenKind::Word);
        if let Some(section) = first.and_then(|_| section_meant(previous)) {
            return Some(format!("did you mean the section '{section}'?"));
        }
        if last.is_some_and(|token| token.kind == TokenKind::Word)
            && !is_keyword(previous)
            && let Some(meant) = did_you_mean(previous, WORDS)
            && !is_short(previous)
        {
            return Some(format!("did you mean '{meant}'?"));
        }
        let ends = matches!(self.rule, Rule::process_decl | Rule::initial);
        if ends && operator && !self.wants(Wanted::Text(",")) && self.token?.kind == TokenKind::Word {
            return Some(match self.defines() {
                true => "is a ';' missing on the line before?".to_string(),
                false => format!("is a '.' missing before '{word}'? 'a . b' is first a and then b"),
            });
        }
        let line = text[..self.start()].trim_end_matches([' ', '\t', '\r']);
        (self.wants(Wanted::End) && line.ends_with('\n'))
            .then(|| "is a ';' missing on the line before?".to_string())
    }

    /// Whether the word at the place begins a declaration: `P =`, `P(n: Nat) =`.
    fn defines(&self) -> bool {
        let text = self.piece.text;
        let mut depth = 0usize;
        for token in Tokens::from(text, self.start()).skip(1) {
            match token.kind {
                TokenKind::Open => depth += 1,
                TokenKind::Close => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                _ => return &text[token.span.start as usize..token.span.end as usize] == "=",
            }
        }
        false
    }
}

/// Whether a word is too short to be taken for another one.
fn is_short(word: &str) -> bool {
    word.chars().count() < 3
}

/// How choices by a condition are written.
pub(crate) const CHOICES: &str =
    "data is chosen with if(condition, then, else), processes with 'condition -> then <> else'";

/// The spelling of a truth value or logical operator that has another one elsewhere.
pub(crate) fn logic(word: &str) -> Option<&'static str> {
    Some(match &*word.to_ascii_lowercase() {
        "true" => "true",
        "false" => "false",
        "and" => "&&",
        "or" => "||",
        "not" => "!",
        "implies" => "=>",
        "xor" => "!=",
        _ => return None,
    })
}
