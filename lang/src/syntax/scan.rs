//! A first look at the text, before the grammar: cuts it into sections and declarations.
//!
//! `;` and the section keywords occur nowhere else in the language, so the cut is exact and costs one pass without
//! backtracking. It gives the parser natural points to recover at, bounds the nesting of brackets before
//! anything recurses over them, and finds characters that no token can contain.
//!
//! Invariant: the declarations are disjoint, in the order of the text, and contain no `;` outside comments.

use super::{MAX_ERRORS, MAX_NESTING};
use crate::diagnostic::{Diagnostic, Span};

/// The kinds of sections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Section {
    Sort,
    Cons,
    Map,
    Var,
    Eqn,
    Glob,
    Act,
    Proc,
    Init,
    Form,
}

impl Section {
    /// The section that a word opens. `form` opens one only in formula files.
    fn of_word(word: &str, formulas: bool) -> Option<Section> {
        Some(match word {
            "sort" => Section::Sort,
            "cons" => Section::Cons,
            "map" => Section::Map,
            "var" => Section::Var,
            "eqn" => Section::Eqn,
            "glob" => Section::Glob,
            "act" => Section::Act,
            "proc" => Section::Proc,
            "init" => Section::Init,
            "form" if formulas => Section::Form,
            _ => return None,
        })
    }

    /// Its keyword.
    pub(super) fn keyword(self) -> &'static str {
        match self {
            Section::Sort => "sort",
            Section::Cons => "cons",
            Section::Map => "map",
            Section::Var => "var",
            Section::Eqn => "eqn",
            Section::Glob => "glob",
            Section::Act => "act",
            Section::Proc => "proc",
            Section::Init => "init",
            Section::Form => "form",
        }
    }
}

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
            'A'..='Z' | 'a'..='z' | '_' => (TokenKind::Word, run(is_word_byte)),
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

/// One declaration, without its `;`.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub section: Section,
    /// From the first token to the last.
    pub span: Span,
    /// The deepest nesting of brackets in it.
    pub nesting: usize,
    /// Whether it is the first of its section.
    pub first: bool,
    /// What to say about its missing `;`, unless there is something worse to say about the declaration.
    pub unended: Option<Diagnostic>,
}

/// What the first look found.
#[derive(Default, Debug)]
pub(super) struct Cut {
    /// The declarations that are worth parsing.
    pub declarations: Vec<Declaration>,
    /// Every section keyword, in the order of the text.
    pub sections: Vec<(Section, Span)>,
    /// What is wrong already.
    pub errors: Vec<Diagnostic>,
}

/// Cuts a text into its sections and declarations.
pub(super) fn cut(text: &str, formulas: bool) -> Cut {
    let mut cutter = Cutter::new(text);
    for token in Tokens::from(text, 0) {
        let word = (token.kind == TokenKind::Word)
            .then(|| &text[token.span.start as usize..token.span.end as usize]);
        match word.and_then(|word| Section::of_word(word, formulas)) {
            Some(section) => cutter.keyword(section, token.span),
            None if token.kind == TokenKind::Semicolon => cutter.semicolon(token.span),
            None => cutter.token(token),
        }
    }
    cutter.end();
    cutter.cut
}

/// A declaration while its tokens come in.
struct Current {
    span: Span,
    nesting: usize,
    faulty: bool,
}

struct Cutter<'t> {
    text: &'t str,
    cut: Cut,
    /// The section that is open, and how many declarations it has had.
    section: Option<(Section, usize)>,
    current: Option<Current>,
    brackets: Vec<Span>,
}

impl<'t> Cutter<'t> {
    fn new(text: &'t str) -> Self {
        Cutter { text, cut: Cut::default(), section: None, current: None, brackets: Vec::new() }
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        if self.cut.errors.len() < MAX_ERRORS {
            self.cut.errors.push(diagnostic);
        }
    }

    fn token(&mut self, token: Token) {
        let orphan = self.current.is_none() && self.section.is_none();
        let current = self.current.get_or_insert(Current { span: token.span, nesting: 0, faulty: orphan });
        current.span = current.span.to(token.span);
        if orphan {
            let found = found(self.text, token);
            self.error(
                Diagnostic::new(token.span, format!("expected a section, found {found}"))
                    .help("a section begins with sort, cons, map, var, eqn, act, proc or init"),
            );
            return;
        }
        match token.kind {
            TokenKind::Open => {
                self.brackets.push(token.span);
                current.nesting = current.nesting.max(self.brackets.len());
                if self.brackets.len() == MAX_NESTING + 1 && !current.faulty {
                    current.faulty = true;
                    self.error(
                        Diagnostic::new(
                            token.span,
                            format!("brackets are nested deeper than {MAX_NESTING} levels"),
                        )
                        .help("give an inner part a name of its own"),
                    );
                }
            }
            TokenKind::Close => {
                self.brackets.pop();
            }
            TokenKind::Alien if !current.faulty => {
                current.faulty = true;
                let diagnostic = alien(self.text, token.span);
                self.error(diagnostic);
            }
            _ => {}
        }
    }

    fn semicolon(&mut self, span: Span) {
        if self.current.is_some() {
            self.finish(None);
            return;
        }
        let diagnostic = match &mut self.section {
            None => Diagnostic::new(span, "there is nothing for this ';' to end").help("remove the ';'"),
            Some((section, count)) => {
                // The section is not empty too: that would be the same mistake told twice.
                *count += 1;
                let wanted = match section {
                    Section::Init => "an action or process".to_string(),
                    Section::Form => "a formula".to_string(),
                    _ => format!("a declaration of '{}'", section.keyword()),
                };
                Diagnostic::new(span, format!("expected {wanted}, found ';'"))
            }
        };
        self.error(diagnostic);
    }

    /// Ends the declaration that is open and hands it on if it can be parsed.
    fn finish(&mut self, unended: Option<Diagnostic>) {
        self.brackets.clear();
        let Some(current) = self.current.take() else { return };
        let Some((section, count)) = &mut self.section else { return };
        let section = *section;
        let first = *count == 0;
        *count += 1;
        // What stands behind the single declaration of these belongs to no section.
        if matches!(section, Section::Init | Section::Form) {
            self.section = None;
        }
        // Global variables are refused as a section.
        if !current.faulty && section != Section::Glob {
            let Current { span, nesting, .. } = current;
            self.cut.declarations.push(Declaration { section, span, nesting, first, unended });
        }
    }

    fn keyword(&mut self, section: Section, span: Span) {
        let word = section.keyword();
        let Some(current) = &mut self.current else {
            self.check_not_empty();
            self.open(section, span);
            return;
        };
        let end = current.span.end as usize;
        if self.text[end..span.start as usize].contains(['\n', '\r']) {
            let unended = Diagnostic::new(Span::new(end, end), format!("expected ';' before '{word}'"))
                .help(format!("a ';' ends each declaration; '{word}' begins a new section"));
            self.finish(Some(unended));
            self.open(section, span);
            return;
        }
        // In the middle of a line it is rather a name; what follows belongs to the same declaration.
        current.span = current.span.to(span);
        if !std::mem::replace(&mut current.faulty, true) {
            self.error(
                Diagnostic::new(span, format!("'{word}' is a keyword and cannot be used as a name")).help(
                    "choose another name; if a section was meant, end the declaration before it with ';'",
                ),
            );
        }
    }

    fn open(&mut self, section: Section, span: Span) {
        if section == Section::Glob {
            self.error(
                Diagnostic::new(
                    span,
                    "global variables ('glob') are not supported: they stand for unspecified values",
                )
                .help("replace each by a value of its sort, or by a parameter of the processes that use it"),
            );
        }
        self.cut.sections.push((section, span));
        self.section = Some((section, 0));
    }

    fn check_not_empty(&mut self) {
        if let (Some((section, 0)), Some((_, span))) = (self.section, self.cut.sections.last())
            && section != Section::Glob
        {
            let span = *span;
            let word = section.keyword();
            let missing = match section {
                Section::Init => "a process",
                Section::Form => "a formula",
                _ => "a declaration",
            };
            self.error(
                Diagnostic::new(span, format!("there is nothing behind '{word}'"))
                    .help(format!("write {missing} and ';' behind it, or remove '{word}'")),
            );
        }
    }

    fn end(&mut self) {
        let Some(current) = &self.current else {
            self.check_not_empty();
            return;
        };
        let end = current.span.end as usize;
        self.finish(Some(
            Diagnostic::new(Span::new(end, end), "expected ';' at the end of the file")
                .help("a ';' ends each declaration"),
        ));
    }
}

/// A text that is one piece: from its first token to its last, and the deepest nesting of brackets.
pub(super) fn whole(text: &str) -> Result<(Span, usize), Diagnostic> {
    let mut cutter = Cutter::new(text);
    cutter.section = Some((Section::Form, 0));
    let mut span: Option<Span> = None;
    for token in Tokens::from(text, 0) {
        span = Some(span.map_or(token.span, |span| span.to(token.span)));
        cutter.token(token);
    }
    match cutter.cut.errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok((span.unwrap_or_default(), cutter.current.map_or(0, |current| current.nesting))),
    }
}

/// Whether a text of a formula file has sections; otherwise it is just a formula.
pub(super) fn has_sections(text: &str) -> bool {
    Tokens::from(text, 0).any(|token| {
        token.kind == TokenKind::Word
            && Section::of_word(&text[token.span.start as usize..token.span.end as usize], true).is_some()
    })
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
fn alien(text: &str, span: Span) -> Diagnostic {
    let character = text[span.start as usize..].chars().next().unwrap_or('\0');
    let shown = if character.is_control() || character == '\u{feff}' {
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
