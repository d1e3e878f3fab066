//! The trees of a search by parts as pictures: processes on the left, their products on the right. A page has one for each
//! property; a file of its own has all of them, below each other.
//!
//! Invariant: a file is well-formed SVG for any names, and loads no other files.

use super::figures::Shown;
use crate::method::page::{WORKERS, escaped};
use crate::method::quantities::{count, counted};
use std::fmt::Write as _;

/// Between two processes, between two columns, and room for names.
const ROW: usize = 22;
const COLUMN: usize = 150;
const NAMES: usize = 220;

/// Around what a file shows, how much room a heading takes there, and a character of it.
const MARGIN: usize = 16;
const HEADING: usize = 24;
const CHARACTER: usize = 9;

/// The colours of a file, which are those of a light page: not all SVG viewers support dark ones.
const STYLE: &str = "text{font-family:system-ui,sans-serif}.title,.name{font-weight:bold}.note{fill:#66727f}";

/// A tree that is drawn.
struct Drawn {
    width: usize,
    height: usize,
    svg: String,
}

/// The picture of one tree, for a page.
pub(super) fn for_page(shown: &Shown) -> String {
    let Drawn { width, height, svg } = drawn(shown);
    format!(
        "<svg role=\"img\" aria-label=\"tree of parts\" width=\"{width}\" height=\"{height}\" font-size=\"11\" \
         fill=\"currentColor\">\n{svg}</svg>\n"
    )
}

/// All trees as a file; `None`: nothing was put together.
pub(super) fn file(title: &str, obligations: &[Shown]) -> Option<String> {
    if obligations.iter().all(|shown| shown.lines().is_empty()) {
        return None;
    }
    let mut body = String::new();
    // Writing to a string does not fail.
    let text = |body: &mut String, class: &str, y: usize, text: &str| {
        let _ = writeln!(body, "<text class=\"{class}\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", escaped(text));
        2 * MARGIN + CHARACTER * text.chars().count()
    };
    let mut y = MARGIN + HEADING / 2;
    let mut width = text(&mut body, "title", y, title);
    for shown in obligations {
        y += 2 * HEADING;
        width = width.max(text(&mut body, "name", y, &heading(shown)));
        let note = note(shown);
        if shown.lines().is_empty() {
            y += HEADING;
        } else {
            let tree = drawn(shown);
            let _ =
                write!(body, "<g transform=\"translate({MARGIN} {})\">\n{}</g>\n", y + MARGIN / 2, tree.svg);
            width = width.max(tree.width + 2 * MARGIN);
            y += MARGIN / 2 + tree.height + HEADING;
        }
        width = width.max(text(&mut body, "note", y, &note));
    }
    let height = y + 2 * MARGIN;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"trees of parts\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-size=\"11\" color=\"#1b2733\" fill=\"currentColor\">\n\
         <style>{STYLE}.w0{{fill:{}}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n",
        WORKERS[0]
    ))
}

/// The heading of a tree: its property and the result.
pub(super) fn heading(shown: &Shown) -> String {
    format!("{}: {}", shown.name, shown.result)
}

/// The text below a tree.
pub(super) fn note(shown: &Shown) -> String {
    let rest = match (shown.by_interfaces(), shown.alone()) {
        (Some(interfaces), _) => format!(" Explored by the interfaces of {}.", interfaces.told_of()),
        (None, 0) => String::new(),
        (None, n) => format!(" {} not needed.", counted(n, "process")),
    };
    if shown.lines().is_empty() {
        return format!("Nothing had to be put together.{rest}");
    }
    let largest = count(shown.largest_states);
    format!("States before and after reduction; the largest part has {largest} states.{rest}")
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

fn drawn(shown: &Shown) -> Drawn {
    let (places, rows) = places(shown);
    let columns = places.iter().map(|place| place.column).max().unwrap_or(0);
    let (width, height) = (NAMES + (columns + 1) * COLUMN, (rows + 1) * ROW);
    let x = |place: Cell| NAMES + place.column * COLUMN;
    let y = |place: Cell| ROW + place.row * ROW / 2;
    let mut svg = String::new();
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
    Drawn { width, height, svg }
}
