//! Why no step is possible at the end of a trace: as text, as HTML and as JSON.
//!
//! Invariant: processes stand in the order of the specification; a remedy that helps several of them is given once.

use crate::chart::escaped;
use crate::quantities::count;
use crate::terminal::Style;
use gridlock_lts::model::network::{Local, Network, TableSource};
use gridlock_lts::model::stuck::Refusal;
use serde::Serialize;
use std::io::{self, Write};

/// The most names of processes without offers in one line.
const NAMED: usize = 12;

/// One process, and what it offers.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct ShownStuck {
    /// The process.
    pub name: String,
    /// The same, briefly.
    #[serde(skip)]
    pub short: String,
    /// Its offers, and why they do not happen.
    pub offers: Vec<ShownRefusal>,
    /// The number of further offers.
    pub more_offers: usize,
}

/// An offer that does not happen.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct ShownRefusal {
    /// The action.
    pub action: String,
    /// `blocked`, `no-partner`, `other-arguments` or `not-ready`.
    pub obstacle: &'static str,
    /// The same as a sentence.
    pub why: String,
    /// The probable mistake of the user, and its remedy.
    pub remedy: Option<String>,
}

impl From<Refusal> for ShownRefusal {
    fn from(refusal: Refusal) -> Self {
        let Refusal { action, obstacle, why, remedy } = refusal;
        ShownRefusal { action, obstacle: obstacle.name(), why, remedy }
    }
}

/// Why no step is possible in a state; empty if one is possible, or if that is not known.
pub fn explain(
    net: &Network,
    source: &dyn TableSource,
    state: &[Local],
    short: &[String],
) -> Vec<ShownStuck> {
    let expanded = |(leaf, local): (&gridlock_lts::model::network::Leaf, &Local)| {
        leaf.states.get(local.0 as usize).is_some_and(|state| state.expanded)
    };
    if !net.leaves.iter().zip(state).all(expanded) || !net.is_stuck(state) {
        return Vec::new();
    }
    let shown = source.explain(state).into_iter().map(|stuck| ShownStuck {
        name: net.leaves[stuck.leaf.0 as usize].name.clone(),
        short: short[stuck.leaf.0 as usize].clone(),
        offers: stuck.offers.into_iter().map(ShownRefusal::from).collect(),
        more_offers: stuck.more,
    });
    shown.collect()
}

/// Remedies, each once.
fn remedies(stuck: &[ShownStuck]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for remedy in stuck.iter().flat_map(|s| &s.offers).filter_map(|offer| offer.remedy.as_deref()) {
        if !all.contains(&remedy) {
            all.push(remedy);
        }
    }
    all
}

/// The processes that offer nothing, as a sentence.
fn idle(stuck: &[ShownStuck]) -> Option<String> {
    let names: Vec<&str> = stuck.iter().filter(|s| s.offers.is_empty()).map(|s| s.short.as_str()).collect();
    let shown = names[..names.len().min(NAMED)].join(", ");
    match names.len() {
        0 => None,
        1 => Some(format!("{shown} offers nothing")),
        n if n > NAMED => Some(format!("{shown} and {} more offer nothing", count((n - NAMED) as u64))),
        _ => Some(format!("{shown} offer nothing")),
    }
}

/// Writes for people why no step is possible.
pub fn write_text(stuck: &[ShownStuck], style: Style, out: &mut dyn Write) -> io::Result<()> {
    if stuck.is_empty() {
        return Ok(());
    }
    let Style { strong, off, .. } = style;
    writeln!(out, "\n{strong}why nothing happens{off}")?;
    let width =
        stuck.iter().filter(|s| !s.offers.is_empty()).map(|s| s.short.chars().count()).max().unwrap_or(0);
    for ShownStuck { short, offers, more_offers, .. } in stuck {
        for (k, offer) in offers.iter().enumerate() {
            let name = if k == 0 { short.as_str() } else { "" };
            writeln!(out, "  {name:<width$}  offers {}: {}", offer.action, offer.why)?;
        }
        if *more_offers > 0 {
            writeln!(out, "  {:<width$}  and {} more", "", count(*more_offers as u64))?;
        }
    }
    if let Some(idle) = idle(stuck) {
        writeln!(out, "  {idle}")?;
    }
    remedies(stuck).iter().try_for_each(|remedy| writeln!(out, "  help: {remedy}"))
}

/// Writes the same for a page.
pub fn write_html(stuck: &[ShownStuck], out: &mut dyn Write) -> io::Result<()> {
    if stuck.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h2>Why nothing happens</h2>\n<div class=\"wide\"><table>")?;
    writeln!(out, "<tr><th>process</th><th>offers</th><th>which does not happen</th></tr>")?;
    for ShownStuck { name, offers, more_offers, .. } in stuck {
        for (k, offer) in offers.iter().enumerate() {
            writeln!(
                out,
                "<tr><td class=\"place\">{}</td><td class=\"place\">{}</td><td>{}</td></tr>",
                if k == 0 { escaped(name) } else { String::new() },
                escaped(&offer.action),
                escaped(&offer.why)
            )?;
        }
        if *more_offers > 0 {
            writeln!(out, "<tr><td></td><td>and {} more</td><td></td></tr>", count(*more_offers as u64))?;
        }
    }
    writeln!(out, "</table></div>")?;
    for line in idle(stuck).into_iter().chain(remedies(stuck).iter().map(|r| format!("Help: {r}"))) {
        writeln!(out, "<p>{}</p>", escaped(&line))?;
    }
    Ok(())
}
