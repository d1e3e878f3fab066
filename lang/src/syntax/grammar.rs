//! The pest parser, and the reader that turns what it yields into the tree.
//!
//! Invariant: every pair comes from the grammar, so its parts are those its rule names. Problems that the grammar
//! cannot see become diagnostics of the reader, and a harmless node stands in their place, so that all
//! problems of a declaration are found.

use super::expected;
use super::formula::Unclear;
use super::tree::{BinaryOp, Ident};
use super::{MAX_DEPTH, MAX_ERRORS, STACK_PER_LEVEL};
use crate::diagnostic::{Diagnostic, Span};
use pest::Parser;
use pest::iterators::Pair;
use std::sync::Arc;

/// The parser that pest derives from the grammar files.
#[allow(missing_docs)]
mod derived {
    #[derive(pest_derive::Parser)]
    #[grammar = "syntax/mcrl2.pest"]
    #[grammar = "syntax/mcf.pest"]
    pub struct Grammar;
}

pub(super) use derived::{Grammar, Rule};

/// A part of a text, to be parsed by one rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'t> {
    /// The whole text.
    pub text: &'t str,
    /// The part.
    pub span: Span,
    /// The deepest nesting of brackets in it; pest recurses once for each level.
    pub nesting: usize,
}

impl<'t> Piece<'t> {
    /// Parses the piece and reads the parse with `read`, on a stack that its nesting cannot exhaust.
    pub(super) fn parse<T>(
        self,
        rule: Rule,
        read: impl FnOnce(&mut Reader, Pair<'t, Rule>) -> T,
    ) -> Result<T, Vec<Diagnostic>> {
        let needed = STACK_PER_LEVEL * (self.nesting + 32);
        stacker::maybe_grow(needed, needed, || self.parse_here(rule, read))
    }

    fn parse_here<T>(
        self,
        rule: Rule,
        read: impl FnOnce(&mut Reader, Pair<'t, Rule>) -> T,
    ) -> Result<T, Vec<Diagnostic>> {
        let part = &self.text[self.span.start as usize..self.span.end as usize];
        let pair = match Grammar::parse(rule, part).map(|mut pairs| pairs.next()) {
            Ok(Some(pair)) => pair,
            Ok(None) => return Err(vec![Diagnostic::new(self.span, "this cannot be parsed")]),
            Err(error) => return Err(vec![expected::explain(self, rule, &error)]),
        };
        let offset = self.span.start as usize;
        let mut reader = Reader { offset, errors: Vec::new(), too_deep: false, unclear: Vec::new() };
        let result = read(&mut reader, pair);
        if reader.errors.is_empty() { Ok(result) } else { Err(reader.errors) }
    }
}

/// A part of the tree and how many levels it has.
#[derive(Clone, Debug)]
pub(super) struct Deep<T> {
    pub node: T,
    pub depth: u32,
}

impl<T> Deep<T> {
    pub(super) fn leaf(node: T) -> Self {
        Deep { node, depth: 1 }
    }
}

/// Turns pairs into parts of the tree.
pub(super) struct Reader {
    /// Where the piece begins in the text.
    offset: usize,
    errors: Vec<Diagnostic>,
    /// Whether the depth was reported; once for each declaration is enough.
    too_deep: bool,
    /// What is unclear in formulas.
    pub(super) unclear: Vec<Unclear>,
}

impl Reader {
    /// The place of a pair in the whole text.
    pub(super) fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        let span = pair.as_span();
        Span::new(self.offset + span.start(), self.offset + span.end())
    }

    /// A place of the whole text as one of the piece.
    pub(super) fn local(&self, place: u32) -> usize {
        (place as usize).saturating_sub(self.offset)
    }

    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::new(span, message));
    }

    pub(super) fn error_help(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.push(Diagnostic::new(span, message).help(help));
    }

    pub(super) fn push(&mut self, error: Diagnostic) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }

    /// Reports a sequence that did not come out as one expression. The grammar rules that out.
    pub(super) fn broken(&mut self) {
        let place = Span::new(self.offset, self.offset);
        self.error_help(
            place,
            "internal error: operators and operands of this declaration do not fit together",
            "please report this with the declaration",
        );
    }

    /// The depth of a node over parts of depth `below`, or `None`, with an error, if it would be too deep.
    pub(super) fn deepen(&mut self, below: u32, span: Span) -> Option<u32> {
        if below < MAX_DEPTH {
            return Some(below + 1);
        }
        if !self.too_deep {
            self.too_deep = true;
            self.error_help(
                span,
                format!("this expression is nested deeper than {MAX_DEPTH} levels"),
                "give a part of it a name of its own; each operator of a chain counts as a level",
            );
        }
        None
    }

    pub(super) fn ident(&self, pair: &Pair<'_, Rule>) -> Ident {
        Ident { name: Arc::from(pair.as_str()), span: self.span(pair) }
    }
}

/// Whether a rule is punctuation that carries nothing.
fn is_punctuation(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::comma
            | Rule::colon
            | Rule::equals
            | Rule::full_stop
            | Rule::open
            | Rule::open_list
            | Rule::open_set
            | Rule::close
            | Rule::close_list
            | Rule::close_set
            | Rule::close_diamond
            | Rule::bar
            | Rule::EOI
            | Rule::struct_word
            | Rule::where_word
            | Rule::end_word
            | Rule::sum_word
            | Rule::dist_word
            | Rule::block_word
            | Rule::hide_word
            | Rule::allow_word
            | Rule::rename_word
            | Rule::comm_word
            | Rule::value_word
            | Rule::quantity_word
            | Rule::delay_word
    )
}

/// The parts of a pair without its punctuation. For rules whose operators are the parts, use `into_inner`.
pub(super) fn parts(pair: Pair<'_, Rule>) -> impl Iterator<Item = Pair<'_, Rule>> {
    pair.into_inner().filter(|part| !is_punctuation(part.as_rule()))
}

/// The parts of a pair that are made by one rule.
pub(super) fn parts_of(pair: Pair<'_, Rule>, rule: Rule) -> impl Iterator<Item = Pair<'_, Rule>> {
    pair.into_inner().filter(move |part| part.as_rule() == rule)
}

/// An operator between two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Infix {
    /// One that data knows; processes use some of these signs too.
    Data(BinaryOp),
    /// `->`
    Arrow,
    /// `<>`
    Else,
    /// `<<`
    Until,
    /// `@`
    At,
    /// `||_`
    LeftMerge,
    /// `|`
    Bar,
}

/// The operator that a pair is, if it is one.
pub(super) fn infix(pair: &Pair<'_, Rule>) -> Option<Infix> {
    if !matches!(pair.as_rule(), Rule::data_infix | Rule::mixed_infix) {
        return None;
    }
    Some(match pair.as_str() {
        "->" => Infix::Arrow,
        "<>" => Infix::Else,
        "<<" => Infix::Until,
        "@" => Infix::At,
        "||_" => Infix::LeftMerge,
        "|" => Infix::Bar,
        symbol => Infix::Data(BinaryOp::of_symbol(symbol)?),
    })
}
