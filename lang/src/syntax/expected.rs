//! Syntax errors in the user's words.

use super::grammar::{Piece, Rule};
use super::scan::{TokenKind, Tokens, found};
use crate::diagnostic::{Diagnostic, Span};
use pest::error::{Error, ErrorVariant, InputLocation};

/// What a failed parse of a piece means to the user.
pub(super) fn explain(piece: Piece<'_>, _rule: Rule, error: &Error<Rule>) -> Diagnostic {
    let (InputLocation::Pos(at) | InputLocation::Span((at, _))) = error.location;
    let at = piece.span.start as usize + at;
    let token = Tokens::from(piece.text, at).next();
    let (span, found) = match token {
        Some(token) => (token.span, found(piece.text, token)),
        None => (Span::new(at, at), "the end of the file".to_string()),
    };
    let _ = TokenKind::Word;
    match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => {
            Diagnostic::new(span, format!("expected {positives:?}, found {found}"))
        }
        ErrorVariant::CustomError { message } => Diagnostic::new(span, message.clone()),
    }
}
