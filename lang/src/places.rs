//! Places in a specification, for people: the file, the line, the text.

use crate::diagnostic::Span;

/// An excerpt has at most this many characters.
const EXCERPT: usize = 60;

/// The text of a specification, and its name in messages.
#[derive(Clone, Debug)]
pub struct Places {
    file: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl Places {
    /// The places of a text, which messages call `file`.
    pub fn new(text: &str, file: &str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(after_breaks).collect();
        Places { file: file.to_owned(), text: text.to_owned(), lines }
    }

    /// The line where a span begins, counted from 1.
    pub fn line(&self, span: Span) -> usize {
        self.lines.partition_point(|begin| *begin <= span.start as usize)
    }

    /// The column where a span begins, counted from 1.
    pub fn column(&self, span: Span) -> usize {
        let begin = self.lines[self.line(span) - 1];
        self.text.get(begin..span.start as usize).unwrap_or("").chars().count() + 1
    }

    /// `file:line:column`.
    pub fn full(&self, span: Span) -> String {
        format!("{}:{}:{}", self.file, self.line(span), self.column(span))
    }

    /// The text from the beginning of a span to the end of its line or of its definition, or as much of it as a reader can
    /// take in.
    pub fn excerpt(&self, span: Span) -> String {
        let rest = self.text.get(span.start as usize..).unwrap_or("");
        shortened(rest.split(['\n', '\r', ';']).next().unwrap_or("").trim_end())
    }

    /// The text of a span in one line, or as much of it as a reader can take in.
    pub fn quoted(&self, span: Span) -> String {
        let text = self.text.get(span.start as usize..span.end as usize).unwrap_or("");
        shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_columns_count_characters() {
        let places = Places::new("ab\né c\n", "f");
        let at = |start: u32| Span { start, end: start };
        assert_eq!(places.full(at(0)), "f:1:1");
        assert_eq!(places.full(at(2)), "f:1:3");
        assert_eq!(places.full(at(3)), "f:2:1");
        assert_eq!(places.full(at(6)), "f:2:3");
        assert_eq!(places.full(at(99)), "f:3:1");
        assert_eq!(places.excerpt(at(3)), "é c");
        assert_eq!(places.excerpt(at(99)), "");
        assert_eq!(places.quoted(Span { start: 1, end: 5 }), "b é");
    }
}
