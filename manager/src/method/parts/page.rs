//! The part of a page that a search by parts writes: each property with its tree.

use super::figures::Shown;
use super::picture;
use crate::method::page::escaped;
use std::io::{self, Write};

/// Writes the tree of a property.
pub(super) fn write(shown: &Shown, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<h2>{}</h2>", escaped(&picture::heading(shown)))?;
    if !shown.lines().is_empty() {
        writeln!(out, "<div class=\"wide\">\n{}</div>", picture::for_page(shown))?;
    }
    writeln!(out, "<p class=\"note\">{}</p>", escaped(&picture::note(shown)))
}
