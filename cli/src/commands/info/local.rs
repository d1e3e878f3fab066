//! `info --local`: the processes one by one.

use crate::outcome::Failure;
use crate::quantities::count;
use crate::road::properties::{AskedProperty, Properties};
use crate::terminal::Style;
use gridlock_lts::engine::local::{Size, survey};
use gridlock_lts::engine::parts::Obligation;
use gridlock_lts::model::network::Network;
use serde::Serialize;
use std::io::{self, Write};

/// The result of `info --local`; the help of the command documents every field.
#[derive(Serialize)]
pub struct Local {
    processes: Vec<Alone>,
    states: u64,
    moves: u64,
    node_states: u64,
    node_moves: u64,
    properties: Vec<Judged>,
}

/// A process.
#[derive(Serialize)]
struct Alone {
    name: String,
    network: bool,
    states: u64,
    moves: u64,
}

/// A property.
#[derive(Serialize)]
struct Judged {
    property: String,
    safe: Option<bool>,
}

/// Whether a name matches a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or("");
    for piece in pieces {
        let Some(at) = name.find(piece) else { return false };
        name = &name[at + piece.len()..];
    }
    name.ends_with(last)
}

impl Local {
    /// Checks the processes.
    pub fn new(net: &Network, asked: &Properties, network: &[String], memory: u64) -> Result<Self, Failure> {
        if let Some(pattern) = network.iter().find(|p| !net.leaves.iter().any(|leaf| matches(p, &leaf.name)))
        {
            let names: Vec<&str> = net.leaves.iter().map(|leaf| leaf.name.as_str()).collect();
            return Err(Failure::input(format!(
                "--network {pattern}: there is no such process\n  the processes are: {}",
                names.join(", ")
            )));
        }
        let survey = survey(net, &asked.checked, memory)?;
        let alone = |(leaf, size): (&gridlock_lts::model::network::Leaf, &Size)| Alone {
            name: leaf.name.clone(),
            network: network.iter().any(|pattern| matches(pattern, &leaf.name)),
            states: size.states,
            moves: size.moves,
        };
        let processes: Vec<Alone> = net.leaves.iter().zip(&survey.leaves).map(alone).collect();
        let safe = |wanted: Obligation| {
            let found = survey.obligations.iter().find(|(obligation, _)| *obligation == wanted);
            found.map(|(_, suspicious)| !suspicious)
        };
        let mut properties = Vec::new();
        if let Some(safe) = safe(Obligation::Faults) {
            properties.push(Judged { property: "no faults".to_owned(), safe: Some(safe) });
        }
        properties.extend(asked.asked.iter().enumerate().map(|(index, asked)| Judged {
            property: asked.name.clone(),
            safe: safe(Obligation::Property(index)),
        }));
        let sum = |of: &dyn Fn(&Alone) -> u64| processes.iter().map(of).sum();
        Ok(Local {
            states: sum(&|p| p.states),
            moves: sum(&|p| p.moves),
            node_states: sum(&|p| if p.network { 0 } else { p.states }),
            node_moves: sum(&|p| if p.network { 0 } else { p.moves }),
            processes,
            properties,
        })
    }

    /// Writes the result for people.
    pub fn show(&self, out: &mut dyn Write) -> io::Result<()> {
        let Style { strong, off, .. } = Style::of_stdout();
        writeln!(out, "\n{strong}one by one{off}, against all that the others may ever offer")?;
        let width = self.processes.iter().map(|p| p.name.chars().count()).max().unwrap_or(0);
        for Alone { name, network, states, moves } in &self.processes {
            let network = if *network { "  network" } else { "" };
            writeln!(out, "  {name:<width$}  {} states, {} moves{network}", count(*states), count(*moves))?;
        }
        writeln!(out, "  all: {} states, {} moves", count(self.states), count(self.moves))?;
        if self.processes.iter().any(|p| p.network) {
            let (states, moves) = (count(self.node_states), count(self.node_moves));
            writeln!(out, "  without the network: {states} states, {moves} moves")?;
        }
        for Judged { property, safe } in &self.properties {
            let told = match safe {
                Some(true) => "holds: nothing there could violate it",
                Some(false) => "suspicious: check --search local says more",
                None => "this says nothing about it",
            };
            writeln!(out, "  {}: {told}", AskedProperty::shown_name(property))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_is_anything() {
        for (pattern, name, expected) in [
            ("Msg", "Msg", true),
            ("Msg", "Msg(1)", false),
            ("Msg*", "Msg(1)", true),
            ("*(1)", "Msg(1)", true),
            ("M*g*", "Msg(1)", true),
            ("M*x*", "Msg(1)", false),
            ("*1*1*", "Msg(1)", false),
            ("ab*ba", "aba", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
