//! Syntax errors in the user's words.
//!
//! pest says which rules it tried at the furthest place it reached; here these become what a user calls them, with a
//! hint (`hints`) where the mistake is a common one.

use super::grammar::{Grammar, Piece, Rule};
use super::tokens::{Token, TokenKind, Tokens, found};
use crate::diagnostic::{Diagnostic, Span, locate};
use pest::Parser;
use pest::error::{Error, ErrorVariant, InputLocation};

/// What can be expected, in the order of mention.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Wanted {
    Process,
    Data,
    Sort,
    Formula,
    ActionFormula,
    Action,
    Constructor,
    Name,
    Assignment,
    Operator,
    Text(&'static str),
    End,
}

/// What a failed parse of a piece means to the user.
pub(super) fn explain(piece: Piece<'_>, rule: Rule, error: &Error<Rule>) -> Diagnostic {
    let (InputLocation::Pos(at) | InputLocation::Span((at, _))) = error.location;
    let at = piece.span.start as usize + at;
    let token = Tokens::from(piece.text, at).next();
    let span = token.map_or(Span::new(piece.text.len(), piece.text.len()), |token| token.span);
    let tried: &[Rule] = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives,
        // The only limit that pest can run into: brackets are counted, but what a level costs is not.
        ErrorVariant::CustomError { .. } => {
            return Diagnostic::new(span, "this is nested too deep to be read")
                .help("give an inner part a name of its own");
        }
    };
    let place = FailedAt { piece, rule, token, wanted: wanted(tried) };
    let message = place.message();
    match place.hint() {
        Some(help) => Diagnostic::new(span, message).help(help),
        None => Diagnostic::new(span, message),
    }
}

/// Where a parse failed.
pub(super) struct FailedAt<'t> {
    pub(super) piece: Piece<'t>,
    pub(super) rule: Rule,
    /// The token there, `None` at the end of the text.
    pub(super) token: Option<Token>,
    pub(super) wanted: Vec<Wanted>,
}

impl<'t> FailedAt<'t> {
    pub(super) fn word(&self) -> &'t str {
        self.token.map_or("", |token| &self.piece.text[token.span.start as usize..token.span.end as usize])
    }

    pub(super) fn wants(&self, wanted: Wanted) -> bool {
        self.wanted.contains(&wanted)
    }

    /// Whether the piece is no declaration among others but all there is.
    fn is_whole_text(&self) -> bool {
        let mut behind = Tokens::from(self.piece.text, self.piece.span.end as usize);
        matches!(self.rule, Rule::formula | Rule::pattern) && behind.next().is_none()
    }

    /// Whether the piece was read to its end, so that it is its end that came too early.
    pub(super) fn at_end(&self) -> bool {
        self.token.is_none_or(|token| token.span.start >= self.piece.span.end)
    }

    fn message(&self) -> String {
        let keyword = is_keyword(self.word());
        if keyword && self.wants(Wanted::Name) {
            return format!("'{}' is a keyword and cannot be used as a name", self.word());
        }
        let found = match self.token {
            None => "the end of the text".to_string(),
            Some(_) if keyword => format!("the keyword '{}'", self.word()),
            Some(token) => found(self.piece.text, token),
        };
        let choices: Vec<String> = self.wanted.iter().map(|wanted| self.phrase(*wanted)).collect();
        match &choices[..] {
            [] => format!("{found} cannot stand here"),
            [only] => format!("expected {only}, found {found}"),
            [first @ .., last] => format!("expected {} or {last}, found {found}", first.join(", ")),
        }
    }

    fn phrase(&self, wanted: Wanted) -> String {
        match wanted {
            Wanted::Process => "an action or process".to_string(),
            Wanted::Data => "a data expression".to_string(),
            Wanted::Sort => "a sort".to_string(),
            Wanted::Formula => "a formula".to_string(),
            Wanted::ActionFormula => "an action or regular formula".to_string(),
            Wanted::Action => "an action".to_string(),
            Wanted::Constructor => "the name of a constructor".to_string(),
            Wanted::Name => "a name".to_string(),
            Wanted::Assignment => "'name = value'".to_string(),
            Wanted::Operator => "an operator".to_string(),
            Wanted::Text(text) => format!("'{text}'"),
            Wanted::End if self.is_whole_text() => "the end".to_string(),
            Wanted::End => "';'".to_string(),
        }
    }

    /// The last bracket before the place that is still open, with its line and column.
    pub(super) fn unclosed(&self) -> Option<(&'t str, usize, usize)> {
        let end = self.token.map_or(self.piece.text.len(), |token| token.span.start as usize);
        let mut open = Vec::new();
        for token in Tokens::from(self.piece.text, self.piece.span.start as usize) {
            if token.span.start as usize >= end {
                break;
            }
            match token.kind {
                TokenKind::Open => open.push(token.span),
                TokenKind::Close => {
                    open.pop();
                }
                _ => {}
            }
        }
        let span = open.pop()?;
        let (line, column) = locate(self.piece.text, span.start as usize);
        Some((&self.piece.text[span.start as usize..span.end as usize], line, column))
    }
}

pub(super) fn is_bracket(wanted: &Wanted) -> bool {
    matches!(wanted, Wanted::Text(")" | "]" | "}"))
}

/// Whether a word is reserved in specifications.
pub(super) fn is_keyword(word: &str) -> bool {
    Grammar::parse(Rule::keyword, word).is_ok()
}

/// The user's words for the rules that pest tried.
fn wanted(tried: &[Rule]) -> Vec<Wanted> {
    let has = |rule: Rule| tried.contains(&rule);
    let mut wanted: Vec<Wanted> = tried.iter().filter_map(|rule| one(*rule)).collect();
    let operand = if has(Rule::state) || has(Rule::box_modality) {
        Some(Wanted::Formula)
    } else if has(Rule::regular) || has(Rule::multi_action) {
        Some(Wanted::ActionFormula)
    } else if has(Rule::mixed) || has(Rule::delta) {
        Some(Wanted::Process)
    } else if has(Rule::data) || has(Rule::number) || has(Rule::sign) {
        Some(Wanted::Data)
    } else {
        None
    };
    if operand.is_some() {
        // What an operand can begin with is no news besides.
        wanted.retain(|w| *w != Wanted::Name && *w != Wanted::Operator);
        wanted.extend(operand);
    }
    if has(Rule::sort) || has(Rule::basic_sort) {
        wanted.push(Wanted::Sort);
        wanted.retain(|w| *w != Wanted::Name);
    }
    if wanted.contains(&Wanted::Operator) {
        wanted.retain(|w| !matches!(w, Wanted::Text("->" | "|")));
    }
    wanted.sort();
    wanted.dedup();
    wanted
}

/// What one rule is to the user; `None` if others say it.
fn one(rule: Rule) -> Option<Wanted> {
    Some(match rule {
        Rule::name
        | Rule::names
        | Rule::vars
        | Rule::var_group
        | Rule::multi_action_name
        | Rule::formula_name => Wanted::Name,
        Rule::pattern | Rule::pattern_action => Wanted::Action,
        Rule::constructor => Wanted::Constructor,
        Rule::assignment => Wanted::Assignment,
        Rule::EOI => Wanted::End,
        Rule::comma => Wanted::Text(","),
        Rule::colon => Wanted::Text(":"),
        Rule::equals => Wanted::Text("="),
        Rule::arrow => Wanted::Text("->"),
        Rule::full_stop => Wanted::Text("."),
        Rule::open | Rule::params | Rule::fields => Wanted::Text("("),
        Rule::open_list => Wanted::Text("["),
        Rule::open_set
        | Rule::action_set
        | Rule::multi_action_set
        | Rule::renaming_set
        | Rule::communication_set => Wanted::Text("{"),
        Rule::close => Wanted::Text(")"),
        Rule::close_list => Wanted::Text("]"),
        Rule::close_set => Wanted::Text("}"),
        Rule::close_diamond => Wanted::Text(">"),
        Rule::bar => Wanted::Text("|"),
        Rule::product => Wanted::Text("#"),
        Rule::recogniser => Wanted::Text("?"),
        Rule::end_word => Wanted::Text("end"),
        Rule::data_infix | Rule::mixed_infix | Rule::state_infix | Rule::regular_infix => Wanted::Operator,
        _ => return None,
    })
}
