//! A first look at the text, before the grammar: cuts it into sections and declarations.
//!
//! `;` and the section keywords occur nowhere else in the language, so the cut is exact and costs one pass without
//! backtracking. It gives the parser natural points to recover at, bounds the nesting of brackets before
//! anything recurses over them, and finds characters that no token can contain.
//!
//! Invariant: the declarations are disjoint, in the order of the text, and contain no `;` outside comments.

use super::hints::section_meant;
use super::tokens::{Token, TokenKind, Tokens, alien, found};
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
    let mut tokens = Tokens::from(text, 0);
    while let Some(token) = tokens.next() {
        if tokens.skip_foreign_comment(token) {
            cutter.foreign_comment(token.span);
            continue;
        }
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
    /// Whether a comment of another language was reported.
    foreign: bool,
}

impl<'t> Cutter<'t> {
    fn new(text: &'t str) -> Self {
        Cutter {
            text,
            cut: Cut::default(),
            section: None,
            current: None,
            brackets: Vec::new(),
            foreign: false,
        }
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
            let word = &self.text[token.span.start as usize..token.span.end as usize];
            let found = found(self.text, token);
            let help = match section_meant(word) {
                Some(section) => format!("did you mean '{section}'?"),
                None => "a section begins with sort, cons, map, var, eqn, act, proc or init".to_string(),
            };
            self.error(Diagnostic::new(token.span, format!("expected a section, found {found}")).help(help));
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

    /// A comment as other languages write it. It is reported once, since one is rarely alone.
    fn foreign_comment(&mut self, span: Span) {
        if let Some(current) = &mut self.current {
            current.faulty = true;
        }
        if !std::mem::replace(&mut self.foreign, true) {
            let sign = &self.text[span.start as usize..span.start as usize + 2];
            self.error(
                Diagnostic::new(
                    Span::new(span.start as usize, span.start as usize + 2),
                    format!("'{sign}' begins no comment"),
                )
                .help("a comment begins with '%' and reaches to the end of the line"),
            );
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
        if !current.faulty {
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
        self.cut.sections.push((section, span));
        self.section = Some((section, 0));
    }

    fn check_not_empty(&mut self) {
        if let (Some((section, 0)), Some((_, span))) = (self.section, self.cut.sections.last()) {
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
    let mut tokens = Tokens::from(text, 0);
    while let Some(token) = tokens.next() {
        if tokens.skip_foreign_comment(token) {
            cutter.foreign_comment(token.span);
            continue;
        }
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
