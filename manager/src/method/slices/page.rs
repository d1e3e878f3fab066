//! The page about a search by slices: the figures of ranks, the sizes of slices, and the largest ones.

use super::figures::{ShownRank, ShownSlice};
use crate::method::page::{COLUMNS, LARGEST, escaped, open, write_numbers};
use crate::method::quantities::count;
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The height of the picture.
const SIZES: usize = 160;

/// A row for each rank, if there are several.
pub fn write_ranks(ranks: &[ShownRank], out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<_> = ranks.iter().enumerate().map(|(number, rank)| rank.cells(number)).collect();
    write_numbers("Ranks", ShownRank::HEADER, &rows, out)
}

/// Writes the sizes of slices and the largest ones.
pub fn write(slices: &[ShownSlice], out: &mut dyn Write) -> io::Result<()> {
    if slices.iter().all(|slice| slice.states == 0) {
        return writeln!(out, "<p class=\"note\">It ended before the first slice was searched.</p>");
    }
    writeln!(out, "<h2>Sizes of slices</h2>\n{}", sizes(slices))?;
    writeln!(
        out,
        "<p class=\"note\">All slices, the largest first, from left to right; the height is the number of states. A slice \
         that was divided counts as several.</p>"
    )?;
    let mut largest: Vec<&ShownSlice> = slices.iter().collect();
    largest.sort_by_key(|slice| Reverse(slice.states));
    writeln!(
        out,
        "<h2>Largest slices</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"n\">states</th><th class=\"n\">activations</th><th>where \
         the subsystem stands</th></tr>"
    )?;
    for slice in largest.into_iter().take(LARGEST) {
        writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"place\">{}{}</td></tr>",
            count(slice.states),
            count(slice.activations),
            escaped(&slice.place),
            if slice.part { " (a part)" } else { "" }
        )?;
    }
    writeln!(out, "</table></div>")
}

/// The sizes of slices, the largest first: columns as high as their share of the largest. Where there are more slices than
/// columns, each column is the largest of some.
fn sizes(slices: &[ShownSlice]) -> String {
    let mut states: Vec<u64> = slices.iter().map(|slice| slice.states).collect();
    states.sort_unstable_by(|a, b| b.cmp(a));
    let largest = states.first().copied().unwrap_or(0).max(1);
    let each = states.len().div_ceil(COLUMNS).max(1);
    let columns = states.len().div_ceil(each).max(1);
    let mut out = String::new();
    open(&mut out, "sizes of slices", SIZES);
    for (k, states) in states.iter().step_by(each).enumerate() {
        let height = (*states as f64 / largest as f64 * SIZES as f64).max(0.5);
        let width = COLUMNS as f64 / columns as f64;
        let _ = write!(
            out,
            "<rect class=\"w0\" x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{height:.2}\"><title>{} states</title></rect>",
            k as f64 * width,
            SIZES as f64 - height,
            (width * 0.9).min(40.0),
            count(*states)
        );
    }
    out.push_str("</svg>");
    out
}
