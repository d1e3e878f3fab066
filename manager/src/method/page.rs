//! Functions that the pages of methods share.
//!
//! Invariant: a page is well-formed HTML for any names and labels, and loads no other files.

use std::io::{self, Write};

/// Rows of the table of the largest jobs.
pub(super) const LARGEST: usize = 20;

/// The number of colours for workers; then they repeat.
pub const COLOURS: usize = 8;

/// The colours of the workers.
pub const WORKERS: [&str; COLOURS] =
    ["#1f6fb2", "#2f9e8f", "#6aa84f", "#3d85c6", "#a2653e", "#8e7cc3", "#45818e", "#b4678c"];

/// Cells of a picture from left to right.
pub(super) const COLUMNS: usize = 1000;

/// Text for XML, in content and in attributes. Characters that XML cannot contain are replaced.
pub fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\'' => xml.push_str("&#39;"),
            '\n' | '\t' | '\r' => xml.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => xml.push('\u{fffd}'),
            c => xml.push(c),
        }
    }
    xml
}

/// The beginning of a picture.
pub(super) fn open(out: &mut String, label: &str, height: usize) {
    use std::fmt::Write as _;
    let _ = writeln!(
        out,
        "<svg class=\"swarm\" role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {COLUMNS} {height}\" \
         preserveAspectRatio=\"none\" style=\"height:{height}px\">"
    );
}

/// A table of numbers with a heading; nothing if it has no rows.
pub(super) fn write_numbers<const N: usize>(
    heading: &str,
    header: [&str; N],
    rows: &[[String; N]],
    out: &mut dyn Write,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let header = header.map(|name| format!("<th class=\"n\">{name}</th>")).concat();
    writeln!(out, "<h2>{heading}</h2>\n<div class=\"wide\"><table>\n<tr>{header}</tr>")?;
    for row in rows {
        writeln!(
            out,
            "<tr>{}</tr>",
            row.each_ref().map(|cell| format!("<td class=\"n\">{cell}</td>")).concat()
        )?;
    }
    writeln!(out, "</table></div>")
}
