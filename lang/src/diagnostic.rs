//! Diagnostics: what is wrong, where, and what to do about it, in the user's words.

/// A half-open range of byte offsets in the source text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// One problem in a specification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The offending text.
    pub span: Span,
    /// What is wrong, one sentence without a final stop.
    pub message: String,
    /// What was expected or what to do, if there is something useful to say (`did you mean 'crc'?`).
    pub help: Option<String>,
}

impl Diagnostic {
    /// A problem at a place.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Diagnostic { span, message: message.into(), help: None }
    }

    /// The same with a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
