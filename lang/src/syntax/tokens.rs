//! Tokens, as far as cutting a text and wording messages need them; the grammar has the rest.

use crate::diagnostic::{Diagnostic, Span};

/// A token as far as cutting and messages need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// The kinds of tokens that matter before the grammar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    Word,
    Number,
    Open,
    Close,
    Semicolon,
    Symbol,
    /// A character that no token contains.
    Alien,
}

/// Reads tokens; whitespace and comments are passed over.
#[derive(Clone)]
pub(super) struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

/// The symbols of more than one character, longest first.
const LONG_SYMBOLS: [&str; 15] =
    ["||_", "||", "|>", "&&", "==", "=>", "!=", "<=", "<|", "<>", "<<", ">=", "->", "++", ":="];

impl<'t> Tokens<'t> {
    /// The tokens from a byte on.
    pub(super) fn from(text: &'t str, at: usize) -> Self {
        Tokens { text, at }
    }

    /// Whether the token that was read last begins a comment of another language (`//` to the end of the line, or from
    /// `/*` to the other end), which is then passed over. Neither can stand in a specification.
    pub(super) fn skip_foreign_comment(&mut self, token: Token) -> bool {
        let rest = &self.text[token.span.start as usize..];
        let length = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or_else(|| rest.find('\n').unwrap_or(rest.len()), |end| end + 2)
        } else {
            return false;
        };
        self.at = token.span.start as usize + length;
        true
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'%' => {
                    let rest = &bytes[self.at..];
                    self.at += rest.iter().position(|&b| b == b'\n' || b == b'\r').unwrap_or(rest.len());
                }
                _ if self.at == 0 && self.text.starts_with('\u{feff}') => self.at += '\u{feff}'.len_utf8(),
                _ => return,
            }
        }
    }
}

/// Whether a byte can be inside a word.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'\''
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let first = rest.chars().next()?;
        let run = |more: fn(u8) -> bool| rest.bytes().position(|b| !more(b)).unwrap_or(rest.len());
        let (kind, length) = match first {
            'A'..='Z' | 'a'..='z' | '_' => {
                let length = run(is_word_byte);
                // These enclose like brackets and nest like them.
                match &rest[..length] {
                    "whr" => (TokenKind::Open, length),
                    "end" => (TokenKind::Close, length),
                    _ => (TokenKind::Word, length),
                }
            }
            '0'..='9' => (TokenKind::Number, run(|b| b.is_ascii_digit())),
            '(' | '[' | '{' => (TokenKind::Open, 1),
            ')' | ']' | '}' => (TokenKind::Close, 1),
            ';' => (TokenKind::Semicolon, 1),
            _ => match LONG_SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => (TokenKind::Symbol, symbol.len()),
                None if "!#-+*/.,:=<>|@?".contains(first) => (TokenKind::Symbol, 1),
                None => (TokenKind::Alien, first.len_utf8()),
            },
        };
        let start = self.at;
        self.at += length;
        Some(Token { kind, span: Span::new(start, self.at) })
    }
}

/// How a message names a token.
pub(super) fn found(text: &str, token: Token) -> String {
    const SHOWN: usize = 30;
    let piece = &text[token.span.start as usize..token.span.end as usize];
    let shown: String = piece.chars().take(SHOWN).collect();
    match token.kind {
        TokenKind::Number if shown.len() < piece.len() => format!("the number {shown}…"),
        TokenKind::Number => format!("the number {shown}"),
        _ if shown.len() < piece.len() => format!("'{shown}…'"),
        _ => format!("'{shown}'"),
    }
}

/// A character outside the language, with the spelling that was probably meant.
pub(super) fn alien(text: &str, span: Span) -> Diagnostic {
    let character = text[span.start as usize..].chars().next().unwrap_or('\0');
    let shown = if character.is_control() || character.is_whitespace() || character == '\u{feff}' {
        format!("the character U+{:04X}", character as u32)
    } else {
        format!("'{character}'")
    };
    let diagnostic = Diagnostic::new(span, format!("{shown} is not part of the language"));
    let spelling = match character {
        '&' | '∧' => "&&",
        '∨' => "||",
        '¬' | '~' => "!",
        '→' => "->",
        '⇒' => "=>",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '∀' => "forall",
        '∃' => "exists",
        'λ' => "lambda",
        '∈' => "in",
        '·' => ".",
        '×' => "#",
        '‖' => "||",
        'τ' => "tau",
        'δ' => "delta",
        '–' | '−' => "-",
        '"' => return diagnostic.help("there are no strings; use a constructor of a 'struct' instead"),
        '^' => return diagnostic.help("a power is written exp(base, exponent)"),
        _ => return diagnostic,
    };
    diagnostic.help(format!("write '{spelling}'"))
}
