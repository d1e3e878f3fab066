//! Diagnostics: what is wrong, where, and what to do about it, in the user's words; and how they are shown.
//!
//! Invariant: any diagnostic can be shown over any text. A span that lies outside, or inside a character, is moved to
//! the nearest place before it.

/// A half-open range of byte offsets in the source text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The end of the text, however long it is.
    pub const END: Span = Span { start: u32::MAX, end: u32::MAX };

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

/// The most diagnostics that [`render`] shows.
const MOST_SHOWN: usize = 50;

/// The most characters of a source line that [`render`] shows.
const WIDEST_LINE: usize = 160;

/// What a tab in the source is shown as.
const TAB: &str = "    ";

/// Line and column, both from 1, of a byte in a text. The column counts characters.
pub fn locate(text: &str, offset: usize) -> (usize, usize) {
    let offset = floor(text, offset);
    let before = &text.as_bytes()[..offset];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    (line, text[line_start..offset].chars().filter(|&c| c != '\u{feff}').count() + 1)
}

/// The last character boundary that is not behind `offset`.
fn floor(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The diagnostics of a file as text for a terminal, in the order of their places, each once:
///
/// ```text
/// error: expected an action or process, found ';'
///   --> abp.mcrl2:12:14
///    |
/// 12 | init hide({i}, );
///    |                ^
///    = help: …
/// ```
pub fn render(file_name: &str, text: &str, diagnostics: &[Diagnostic], colour: bool) -> String {
    let paint = if colour { Paint::ANSI } else { Paint::PLAIN };
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by(|a, b| (a.span, &a.message, &a.help).cmp(&(b.span, &b.message, &b.help)));
    sorted.dedup();
    let mut out = String::new();
    let mut lines = Lines { text, start: 0, number: 1 };
    for diagnostic in sorted.iter().take(MOST_SHOWN) {
        render_one(&mut out, file_name, &mut lines, diagnostic, &paint);
        out.push('\n');
    }
    if sorted.len() > MOST_SHOWN {
        out.push_str(&format!("and {} more\n", sorted.len() - MOST_SHOWN));
    }
    out
}

/// The escape sequences around parts of a message.
struct Paint {
    error: &'static str,
    strong: &'static str,
    frame: &'static str,
    off: &'static str,
}

impl Paint {
    const PLAIN: Paint = Paint { error: "", strong: "", frame: "", off: "" };
    const ANSI: Paint = Paint { error: "\x1b[1;31m", strong: "\x1b[1m", frame: "\x1b[1;34m", off: "\x1b[0m" };
}

/// Walks the lines of a text forwards, so that many diagnostics cost one pass.
struct Lines<'t> {
    text: &'t str,
    /// Where the current line begins.
    start: usize,
    /// Its number, from 1.
    number: usize,
}

impl<'t> Lines<'t> {
    /// Goes to the line of an offset that is not before the current line, and gives it without its end.
    fn seek(&mut self, offset: usize) -> &'t str {
        while let Some(end) = self.text[self.start..].find('\n') {
            if offset <= self.start + end {
                break;
            }
            self.start += end + 1;
            self.number += 1;
        }
        let line = &self.text[self.start..];
        line[..line.find('\n').unwrap_or(line.len())].trim_end_matches('\r')
    }
}

fn render_one(out: &mut String, file: &str, lines: &mut Lines<'_>, diagnostic: &Diagnostic, paint: &Paint) {
    let Paint { error, strong, frame, off } = paint;
    let start = floor(lines.text, diagnostic.span.start as usize);
    let line = lines.seek(start);
    let from = (start - lines.start).min(line.len());
    let to = (floor(lines.text, diagnostic.span.end as usize).max(start) - lines.start).min(line.len());
    let column = line[..from].chars().filter(|&c| c != '\u{feff}').count() + 1;
    let number = lines.number.to_string();
    let margin = " ".repeat(number.len());
    let excerpt = Excerpt::new(line, from, to);
    out.push_str(&format!("{error}error{off}{strong}: {}{off}\n", diagnostic.message));
    out.push_str(&format!("{margin}{frame}-->{off} {file}:{number}:{column}\n"));
    out.push_str(&format!("{margin} {frame}|{off}\n"));
    out.push_str(&format!("{frame}{number} |{off} {}\n", excerpt.line));
    let marks = "^".repeat(excerpt.marks);
    out.push_str(&format!("{margin} {frame}|{off} {}{error}{marks}{off}\n", " ".repeat(excerpt.indent)));
    if let Some(help) = &diagnostic.help {
        out.push_str(&format!("{margin} {frame}={off} {strong}help{off}: {help}\n"));
    }
}

/// A line as it is shown, and where the marks under it go.
struct Excerpt {
    line: String,
    indent: usize,
    marks: usize,
}

impl Excerpt {
    /// Shows tabs as spaces and other control characters as a dot, and of a long line the part around the place.
    fn new(line: &str, from: usize, to: usize) -> Self {
        let before = line[..from].chars().count();
        let length = line.chars().count();
        // A third of the window stands before the place.
        let first = if length <= WIDEST_LINE { 0 } else { before.saturating_sub(WIDEST_LINE / 3) };
        let mut excerpt = Excerpt { line: String::new(), indent: 0, marks: 0 };
        if first > 0 {
            excerpt.push("…", false, true);
        }
        let window = line.char_indices().skip(first).take(WIDEST_LINE);
        for (at, character) in window {
            let mut buffer = [0; 4];
            let shown = match character {
                '\u{feff}' => "",
                '\t' => TAB,
                c if c.is_control() => "·",
                c => c.encode_utf8(&mut buffer),
            };
            excerpt.push(shown, at >= from && at < to, at < from);
        }
        if length > first + WIDEST_LINE {
            excerpt.line.push('…');
        }
        excerpt.line.truncate(excerpt.line.trim_end().len().max(excerpt.indent));
        excerpt.marks = excerpt.marks.max(1);
        excerpt
    }

    fn push(&mut self, shown: &str, marked: bool, before: bool) {
        let width = shown.chars().count();
        self.line.push_str(shown);
        self.indent += if before { width } else { 0 };
        self.marks += if marked { width } else { 0 };
    }
}

/// The candidate that a misspelt name was probably meant to be: the nearest by insertions, deletions, replacements and
/// swaps of neighbours, if that is near enough. Of equally near ones the first in the alphabet.
pub fn did_you_mean<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    /// Names longer than this are not compared; a long name that differs in a few letters is another name.
    const LONGEST: usize = 64;
    let wanted: Vec<char> = name.chars().take(LONGEST + 1).collect();
    if wanted.len() > LONGEST {
        return None;
    }
    let allowed = (wanted.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let letters: Vec<char> = candidate.chars().take(LONGEST + 1).collect();
        if letters.len() > LONGEST || letters.len().abs_diff(wanted.len()) > allowed || candidate == name {
            continue;
        }
        // A wrong capital is the smallest of mistakes.
        let distance =
            if candidate.eq_ignore_ascii_case(name) { 0 } else { edit_distance(&wanted, &letters) };
        // A name of one letter is at distance 1 from every other.
        let near = distance <= allowed && distance < wanted.len().max(letters.len());
        if near && best.is_none_or(|found| (distance, candidate) < found) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, diagnostics: &[Diagnostic], expected: &str) {
        assert_eq!(render("f.mcrl2", text, diagnostics, false), expected);
    }

    #[test]
    fn the_place_is_underlined_and_the_remedy_follows() {
        check(
            "act a;\ninit b;\n",
            &[Diagnostic::new(Span::new(12, 13), "unknown action 'b'").help("did you mean 'a'?")],
            "error: unknown action 'b'\n --> f.mcrl2:2:6\n  |\n2 | init b;\n  |      ^\n  = help: did you mean 'a'?\n\n",
        );
    }

    #[test]
    fn diagnostics_are_sorted_and_shown_once() {
        let at = |start, message| Diagnostic::new(Span::new(start, start + 1), message);
        check(
            "ab\r\ncd",
            &[at(4, "second"), at(0, "first"), at(4, "second")],
            "error: first\n --> f.mcrl2:1:1\n  |\n1 | ab\n  | ^\n\nerror: second\n --> f.mcrl2:2:1\n  |\n2 | cd\n  | ^\n\n",
        );
    }

    #[test]
    fn tabs_are_widened_and_columns_count_characters() {
        check(
            "é\tbcd\n",
            &[Diagnostic::new(Span::new(3, 5), "here")],
            "error: here\n --> f.mcrl2:1:3\n  |\n1 | é    bcd\n  |      ^^\n\n",
        );
    }

    #[test]
    fn a_span_of_several_lines_is_underlined_in_the_first() {
        check(
            "abc\ndef\n",
            &[Diagnostic::new(Span::new(1, 7), "here")],
            "error: here\n --> f.mcrl2:1:2\n  |\n1 | abc\n  |  ^^\n\n",
        );
    }

    #[test]
    fn the_end_of_the_file_has_a_place() {
        check(
            "",
            &[Diagnostic::new(Span::new(0, 0), "x")],
            "error: x\n --> f.mcrl2:1:1\n  |\n1 | \n  | ^\n\n",
        );
        check(
            "ab\n",
            &[Diagnostic::new(Span::new(3, 3), "x")],
            "error: x\n --> f.mcrl2:2:1\n  |\n2 | \n  | ^\n\n",
        );
        check(
            "ab",
            &[Diagnostic::new(Span::new(2, 900), "x")],
            "error: x\n --> f.mcrl2:1:3\n  |\n1 | ab\n  |   ^\n\n",
        );
    }

    #[test]
    fn a_span_inside_a_character_does_no_harm() {
        let text = "ééé";
        for start in 0..9 {
            for end in 0..9 {
                assert!(render("f", text, &[Diagnostic::new(Span { start, end }, "x")], true).contains("x"));
            }
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}X{}", "a".repeat(1000), "b".repeat(1000));
        let out = render("f", &text, &[Diagnostic::new(Span::new(1000, 1001), "x")], false);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[1], " --> f:1:1001");
        assert!(lines[3].chars().count() < 200 && lines[3].starts_with("1 | …a") && lines[3].ends_with("b…"));
        let column = lines[4].chars().position(|c| c == '^').unwrap();
        assert_eq!(lines[3].chars().nth(column), Some('X'));
        assert_eq!(lines[4].matches('^').count(), 1);
    }

    #[test]
    fn very_many_are_cut_short() {
        let all: Vec<_> = (0..120).map(|at| Diagnostic::new(Span::new(at, at + 1), "x")).collect();
        let out = render("f", &"y".repeat(120), &all, false);
        assert_eq!(out.matches("error: x").count(), MOST_SHOWN);
        assert!(out.ends_with("\nand 70 more\n"));
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let diagnostics = [Diagnostic::new(Span::new(1, 2), "x").help("y")];
        let painted = render("f", "abc", &diagnostics, true);
        let mut plain = String::new();
        let mut rest = painted.as_str();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            plain.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        plain.push_str(rest);
        assert!(painted.contains("\x1b[1;31m"));
        assert_eq!(plain, render("f", "abc", &diagnostics, false));
    }

    #[test]
    fn places_are_counted_from_one() {
        assert_eq!(locate("ab\ncd", 0), (1, 1));
        assert_eq!(locate("ab\ncd", 4), (2, 2));
        assert_eq!(locate("ab\ncd", 99), (2, 3));
        assert_eq!(locate("\u{feff}ab", 4), (1, 2));
    }

    #[test]
    fn a_misspelt_name_is_recognised() {
        let names = ["crc", "send", "receive", "Receive2", "s"];
        assert_eq!(did_you_mean("crv", names), Some("crc"));
        assert_eq!(did_you_mean("sned", names), Some("send"));
        assert_eq!(did_you_mean("recieve", names), Some("receive"));
        assert_eq!(did_you_mean("SEND", names), Some("send"));
        assert_eq!(did_you_mean("S", names), Some("s"));
        assert_eq!(did_you_mean("x", names), None);
        assert_eq!(did_you_mean("transmit", names), None);
        assert_eq!(did_you_mean("ab", ["ac", "bb", "aa"]), Some("aa"));
        assert_eq!(did_you_mean("ab", ["aa", "bb", "ac"]), Some("aa"));
        assert_eq!(did_you_mean("send", ["send"]), None);
    }
}
