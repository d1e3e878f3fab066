//! The tree of a search by parts as a picture: processes on the left, what they were put together to on the right.

use super::figures::Shown;
use crate::method::page::escaped;
use crate::method::quantities::{count, counted};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Between two processes, between two columns, and room for names.
const ROW: usize = 22;
const COLUMN: usize = 150;
const NAMES: usize = 220;

/// Writes it.
pub(super) fn write(shown: &Shown, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<h2>{}: {}</h2>", escaped(&shown.name), escaped(shown.result))?;
    let alone = match shown.alone() {
        0 => String::new(),
        n => format!(" {} not needed.", counted(n, "process")),
    };
    let interfaces = shown
        .by_interfaces()
        .map(|interfaces| format!(" Explored by the interfaces of {}.", escaped(&interfaces.told_of())));
    let alone = interfaces.unwrap_or(alone);
    if shown.lines().is_empty() {
        return writeln!(out, "<p class=\"note\">Nothing had to be put together.{alone}</p>");
    }
    writeln!(out, "<div class=\"wide\">\n{}</div>", picture(shown))?;
    writeln!(
        out,
        "<p class=\"note\">States before and after reduction; the largest part has {} states.{alone}</p>",
        count(shown.largest_states)
    )
}

/// Where a component stands.
#[derive(Clone, Copy, Default)]
struct Cell {
    column: usize,
    /// In half rows.
    row: usize,
}

fn places(shown: &Shown) -> (Vec<Cell>, usize) {
    let mut places = vec![Cell::default(); shown.tree.len()];
    let mut rows = 0;
    for (_, ix) in shown.lines() {
        if shown.tree[ix].parts.is_empty() {
            places[ix].row = 2 * rows;
            rows += 1;
        }
    }
    // Parts come before what is made of them.
    for (ix, made) in shown.tree.iter().enumerate() {
        if let [a, b] = made.parts[..] {
            let column = 1 + places[a].column.max(places[b].column);
            places[ix] = Cell { column, row: (places[a].row + places[b].row) / 2 };
        }
    }
    (places, rows)
}

fn picture(shown: &Shown) -> String {
    let (places, rows) = places(shown);
    let columns = places.iter().map(|place| place.column).max().unwrap_or(0);
    let (width, height) = (NAMES + (columns + 1) * COLUMN, (rows + 1) * ROW);
    let x = |place: Cell| NAMES + place.column * COLUMN;
    let y = |place: Cell| ROW + place.row * ROW / 2;
    let mut svg = format!(
        "<svg role=\"img\" aria-label=\"tree of parts\" width=\"{width}\" height=\"{height}\" font-size=\"11\" \
         fill=\"currentColor\">\n"
    );
    // Writing to a string does not fail.
    for (_, ix) in shown.lines() {
        let (made, at) = (&shown.tree[ix], places[ix]);
        for &part in &made.parts {
            let from = places[part];
            let _ = writeln!(
                svg,
                "<path d=\"M{} {}H{}V{}\" fill=\"none\" stroke=\"currentColor\" opacity=\"0.4\"/>",
                x(from),
                y(from),
                x(at),
                y(at)
            );
        }
        // Ten times the states, one and a half more pixels.
        let radius = 2.0 + 1.5 * (made.states.max(1) as f64).log10();
        let sizes = format!("{} \u{2192} {}", count(made.states), count(made.reduced_states));
        let _ = writeln!(
            svg,
            "<circle class=\"w0\" cx=\"{}\" cy=\"{}\" r=\"{radius:.1}\"><title>{} states, {} transitions; reduced to {} \
             states, {} transitions</title></circle>",
            x(at),
            y(at),
            count(made.states),
            count(made.transitions),
            count(made.reduced_states),
            count(made.reduced_transitions)
        );
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\">{sizes}</text>", x(at) + 8, y(at) + 12);
        if let Some(name) = &made.name {
            let short: String = name.chars().take(34).collect();
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                x(at) - 10,
                y(at) + 4,
                escaped(&short)
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}
