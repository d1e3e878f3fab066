//! The obligations of a local search as a table, with a picture of how each block grew.

use super::figures::{Shown, Turn};
use crate::method::page::escaped;
use crate::method::quantities::count;
use std::fmt::Write as _;
use std::io::{self, Write};

/// A bar of the picture: its width, the space to the next one, and the height for each factor of ten.
const BAR: usize = 9;
const SPACE: usize = 3;
const DECADE: f64 = 6.0;
const HEIGHT: usize = 44;

/// Writes the table and the pictures.
pub(super) fn write(obligations: &[Shown], out: &mut dyn Write) -> io::Result<()> {
    if obligations.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h2>Blocks</h2>\n<div class=\"wide\"><table>")?;
    writeln!(
        out,
        "<tr><th>obligation</th><th>result</th><th>block</th><th>largest</th><th>rounds</th></tr>"
    )?;
    for shown in obligations {
        let result = match shown.split {
            Some(members) => format!("split into {members}"),
            None => shown.result.to_owned(),
        };
        writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{} of {}{}{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&shown.title()),
            escaped(&result),
            shown.block.len(),
            shown.processes,
            if shown.block.is_empty() { "" } else { ": " },
            escaped(&shown.block.join(", ")),
            count(shown.largest_states),
            picture(&shown.rounds)
        )?;
    }
    writeln!(out, "</table></div>")?;
    writeln!(
        out,
        "<p class=\"note\">Each bar is a round: its height is the number of states of the block, ten times as many for a fixed \
         step. No bar: the fixpoint or equations decided alone.</p>"
    )
}

fn picture(rounds: &[Turn]) -> String {
    if rounds.is_empty() {
        return String::new();
    }
    let width = rounds.len() * (BAR + SPACE);
    let mut svg = format!(
        "<svg role=\"img\" aria-label=\"growth of the block\" width=\"{width}\" height=\"{HEIGHT}\" \
         fill=\"currentColor\">"
    );
    for (k, round) in rounds.iter().enumerate() {
        let height = (2.0 + DECADE * (round.states.max(1) as f64).log10()).min(HEIGHT as f64);
        let path = match round.path {
            Some(steps) => format!("suspicious after {} steps", count(steps)),
            None => "nothing suspicious".to_owned(),
        };
        let joined = round.joined.map_or(String::new(), |joined| format!(", then joined: {joined}"));
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<rect class=\"w0\" x=\"{}\" y=\"{:.1}\" width=\"{BAR}\" height=\"{height:.1}\"><title>{} processes, {} states, \
             {path}{joined}</title></rect>",
            k * (BAR + SPACE),
            HEIGHT as f64 - height,
            round.processes,
            count(round.states)
        );
    }
    svg.push_str("</svg>");
    svg
}
