//! The report of `info` about a specification. The structures are its JSON; the help of the command documents every field.

use super::cycle::has_cycle;
use super::local::Local;
use gridlock_lang::network::build::Builder;
use gridlock_lang::network::explain::blocked_everywhere;
use gridlock_lang::system::System;
use gridlock_lts::engine::pack::Packing;
use gridlock_lts::model::network::{LeafIx, LocalLabel, Network, Outcome};
use gridlock_lts::model::stuck::Refusal;
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;

const COMPLETE: &str = "complete";

#[derive(Serialize)]
pub struct Summary {
    version: u32,
    pub specification: String,
    tables: &'static str,
    pub on_demand_because: Option<String>,
    pub build_seconds: f64,
    pub processes: Vec<Process>,
    pub rules: Vec<Vec<Part>>,
    pub blocked: Vec<Blocked>,
    pub motionless: Vec<String>,
    pub globals: Vec<Global>,
    pub idle_equations: Vec<usize>,
    pub vectors: usize,
    pub labels: usize,
    pub bits_per_state: usize,
    pub words_per_state: usize,
    pub local: Option<Local>,
}

#[derive(Serialize)]
pub struct Process {
    pub name: String,
    pub states: usize,
    pub pending: usize,
    pub transitions: usize,
    pub labels: usize,
    pub actions: Vec<String>,
    pub cyclic: Option<bool>,
    pub bits: u32,
}

#[derive(Serialize)]
pub struct Part {
    pub process: String,
    pub actions: Vec<String>,
}

/// A global variable and the value that was taken for it.
#[derive(Serialize)]
pub struct Global {
    pub name: String,
    pub sort: String,
    pub value: String,
}

/// An action that a process is written to do and that can never happen.
#[derive(Serialize)]
pub struct Blocked {
    pub process: String,
    pub action: String,
    pub obstacle: &'static str,
    pub why: String,
    pub remedy: Option<String>,
}

impl Summary {
    pub fn new(specification: &str, system: &System, build_time: Duration) -> Self {
        let System { network, closed, builder, left_open } = system;
        let packing = Packing::for_network(network);
        let alphabets = alphabets(builder, network.leaves.len());
        let processes: Vec<Process> = (0..)
            .map(LeafIx)
            .zip(alphabets)
            .map(|(leaf, actions)| process(network, *closed, leaf, actions, packing.field(leaf).bits))
            .collect();
        let steps = network.vectors.iter().filter_map(|v| match v.outcome {
            Outcome::Step(label) => Some(label),
            Outcome::Fault(_) => None,
        });
        let labels: Vec<_> = steps.collect();
        Summary {
            version: 1,
            specification: specification.to_owned(),
            tables: if *closed { COMPLETE } else { "on demand" },
            on_demand_because: left_open.map(|why| why.to_string()),
            build_seconds: build_time.as_secs_f64(),
            bits_per_state: processes.iter().map(|p| p.bits as usize).sum(),
            words_per_state: packing.words(),
            local: None,
            // Where tables are filled on demand, a process that has not moved yet may move later.
            globals: builder
                .globals()
                .into_iter()
                .map(|[name, sort, value]| Global { name, sort, value })
                .collect(),
            idle_equations: builder.idle_equations(),
            motionless: processes
                .iter()
                .filter(|p| p.transitions == 0 && (p.pending == 0 || p.actions.is_empty()))
                .map(|p| p.name.clone())
                .collect(),
            processes,
            rules: rules(network, builder),
            blocked: blocked(network, builder),
            vectors: labels.len(),
            labels: labels.into_iter().collect::<BTreeSet<_>>().len(),
        }
    }

    pub fn complete(&self) -> bool {
        self.tables == COMPLETE
    }
}

/// For each leaf the names of the actions that some rule uses, sorted.
fn alphabets(builder: &Builder, leaves: usize) -> Vec<Vec<String>> {
    let mut names = vec![BTreeSet::new(); leaves];
    for (leaf, actions) in builder.rules().iter().flat_map(|rule| &rule.parts) {
        names[*leaf].extend(actions.iter().map(|a| builder.action_name(*a)));
    }
    names.into_iter().map(|n| n.into_iter().map(str::to_owned).collect()).collect()
}

fn rules(network: &Network, builder: &Builder) -> Vec<Vec<Part>> {
    let part = |(leaf, actions): &(usize, Vec<_>)| Part {
        process: network.leaves[*leaf].name.clone(),
        actions: actions.iter().map(|a| builder.action_name(*a).to_owned()).collect(),
    };
    builder.rules().iter().map(|rule| rule.parts.iter().map(part).collect()).collect()
}

fn blocked(network: &Network, builder: &Builder) -> Vec<Blocked> {
    let refused = blocked_everywhere(builder).into_iter().flat_map(|(leaf, refused)| {
        let process = &network.leaves[leaf.0 as usize].name;
        refused.into_iter().map(move |refusal| (process.clone(), refusal))
    });
    let blocked = |(process, refusal): (String, Refusal)| {
        let Refusal { action, obstacle, why, remedy } = refusal;
        Blocked { process, action, obstacle: obstacle.name(), why, remedy }
    };
    refused.map(blocked).collect()
}

fn process(network: &Network, closed: bool, ix: LeafIx, actions: Vec<String>, bits: u32) -> Process {
    let leaf = &network.leaves[ix.0 as usize];
    // A label of faults only marks where the specification has no meaning; nothing moves.
    let moves: Vec<bool> = leaf
        .vectors_of
        .iter()
        .map(|of| of.iter().any(|v| matches!(network.vectors[v.0 as usize].outcome, Outcome::Step(_))))
        .collect();
    let is_move = |label: LocalLabel| moves[label.0 as usize];
    let targets: Vec<Vec<u32>> = leaf
        .states
        .iter()
        .map(|s| s.moves.iter().filter(|m| is_move(m.0)).map(|m| m.1.0).collect())
        .collect();
    let states = leaf.states.iter().filter(|s| s.expanded).count();
    // In complete tables, what was not expanded is never reached.
    let pending = if closed { 0 } else { leaf.states.len() - states };
    let cyclic = has_cycle(&targets);
    Process {
        name: leaf.name.clone(),
        states,
        pending,
        transitions: targets.iter().map(Vec::len).sum(),
        labels: moves.iter().filter(|m| **m).count(),
        actions,
        cyclic: (cyclic || pending == 0).then_some(cyclic),
        bits,
    }
}
