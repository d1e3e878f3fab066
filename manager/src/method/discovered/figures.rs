//! The figures of a swarm whose guide is discovered, for people and as JSON.

use super::super::exhaustive;
use super::super::page::escaped;
use super::super::quantities::{bytes, count, counted};
use super::super::{Figures, Json, Row, Spent, Traffic};
use crate::discovered::DiscoveredStatus;
use gridlock_lts::engine::search::Stats;
use gridlock_worker::job::Effort;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Of a prefix, this many moves are shown at most, from its end.
const SHOWN: usize = 24;

/// What a swarm did, as `docs/json.md` documents it.
#[derive(Serialize)]
pub(super) struct Discovery {
    pub(super) subsystem: Vec<String>,
    /// Whether the guide is known to the end.
    pub(super) closed: bool,
    #[serde(flatten)]
    pub(super) numbers: DiscoveredNumbers,
    pub(super) job_memory_bytes: u64,
    pub(super) job_states: Option<u64>,
    /// Why the subsystem was chosen, if the program chose it.
    pub(super) auto: Option<String>,
    pub(super) checkpoint: Option<String>,
    /// Answers that were in the checkpoint when the run began.
    pub(super) resumed: u64,
    /// What went over the network, if there was one.
    pub(super) traffic: Option<Traffic>,
    pub(super) identity: BTreeMap<String, String>,
    #[serde(skip)]
    pub(super) total: Effort,
    /// The largest places: states, how often they were searched, and the prefix that led there first.
    #[serde(skip)]
    pub(super) largest: Vec<(u64, u64, Vec<String>)>,
}

impl Figures for Discovery {
    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let numbers = &self.numbers;
        let so_far = if self.closed { "" } else { " known so far" };
        let mut rows = vec![
            ("states", count(self.total.states)),
            ("transitions", count(self.total.transitions)),
            ("deadlocks", count(self.total.deadlocks)),
            ("guide", format!("{}{so_far}", numbers.guide())),
            ("states waiting", count(numbers.states_waiting)),
            ("searches", numbers.searched()),
            ("largest search", counted(numbers.largest_search_states as usize, "state")),
            ("largest place", counted(numbers.largest_place_states as usize, "state")),
            ("local states filled", count(numbers.local_states_filled)),
        ];
        if let Some(traffic) = &self.traffic {
            rows.push(("network", traffic.shown(numbers.searches.saturating_sub(self.resumed))));
        }
        rows.extend(spent.seconds());
        rows
    }

    fn settings(&self) -> Vec<Row> {
        let mut rows = vec![
            ("subsystem", self.subsystem.join(", ")),
            ("jobs", format!("places of a discovered guide, at most {}", bytes(self.job_memory_bytes))),
        ];
        if let Some(dir) = &self.checkpoint {
            rows.push(("checkpoint", format!("{dir}, {} answers resumed", count(self.resumed))));
        }
        rows
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        let stats = Stats {
            states: self.total.states,
            transitions: self.total.transitions,
            deadlocks: self.total.deadlocks,
            peak_memory: self.total.memory,
            ..Stats::default()
        };
        let mut fields = exhaustive::fields(&stats, None);
        fields.push(("discovered", Box::new(self)));
        fields
    }

    fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "<h2>Largest places</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"n\">states</th><th class=\"n\">searches</th>\
             <th class=\"n\">moves</th><th>the prefix that led there first</th></tr>"
        )?;
        for (states, searched, prefix) in &self.largest {
            let skipped = prefix.len().saturating_sub(SHOWN);
            let dots = if skipped > 0 { "... . " } else { "" };
            let shown = format!("{dots}{}", prefix[skipped..].join(" . "));
            writeln!(
                out,
                "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"place\">{}</td></tr>",
                count(*states),
                count(*searched),
                count(prefix.len() as u64),
                escaped(&shown)
            )?;
        }
        writeln!(out, "</table></div>")
    }
}

/// The progress of a swarm: for the result, and for the page in its checkpoint.
#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
pub(super) struct DiscoveredNumbers {
    places: u64,
    edges: u64,
    states_known: u64,
    states_waiting: u64,
    searches: u64,
    rounds: u64,
    largest_search_states: u64,
    largest_place_states: u64,
    local_states_filled: u64,
}

impl DiscoveredNumbers {
    pub(super) fn new(status: &DiscoveredStatus) -> Self {
        DiscoveredNumbers {
            places: status.places,
            edges: status.edges,
            states_known: status.known,
            states_waiting: status.waiting,
            searches: status.searches,
            rounds: status.rounds,
            largest_search_states: status.largest_job,
            largest_place_states: status.largest_place,
            local_states_filled: status.filled,
        }
    }

    fn guide(&self) -> String {
        format!("{}, {}", counted(self.places as usize, "place"), counted(self.edges as usize, "move"))
    }

    fn searched(&self) -> String {
        format!("{} in {}", count(self.searches), counted(self.rounds as usize, "round"))
    }

    /// For people who look at a checkpoint.
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![
            (
                "states",
                format!("{} known so far, {} waiting", count(self.states_known), count(self.states_waiting)),
            ),
            ("guide", format!("{} known so far", self.guide())),
            ("searches", self.searched()),
        ]
    }
}
