//! The figures of a search by slices, for people and as JSON.

use super::plan::Plan;
use super::{Slices, page};
use crate::method::exhaustive;
use crate::method::quantities::{bytes, count};
use crate::method::reduction::{self, Reduced};
use crate::method::{Figures, Json, Row, Spent, Traffic};
use crate::slices::{Progress, RankSize, SlicesReport};
use gridlock_lts::engine::search::{Reduction, Stats};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What a search by slices did, as `docs/json.md` documents it.
#[derive(Serialize, Clone, Debug)]
pub struct Sliced {
    subsystem: Vec<String>,
    slices: usize,
    largest_states: u64,
    divided: u64,
    forgotten: u64,
    rounds: u64,
    activations: u64,
    states_sent: u64,
    states_loaded: u64,
    job_memory_bytes: u64,
    largest_job_memory_bytes: u64,
    spilled_bytes: u64,
    /// The network traffic of rank 0, if there were several ranks; it has no states.
    traffic: Option<Traffic>,
    /// The figures of each rank, if there were several.
    ranks: Vec<ShownRank>,
    checkpoint: Option<String>,
    /// Results that were in the checkpoint when the run began.
    resumed: u64,
    /// Why the subsystem was chosen, if the program chose it.
    auto: Option<String>,
    identity: BTreeMap<String, String>,
    #[serde(skip)]
    stats: Stats,
    /// The reduction, if steps were left out.
    #[serde(skip)]
    reduction: Option<Reduction>,
    /// The slices, if a page is to be written.
    #[serde(skip)]
    sizes: Vec<ShownSlice>,
}

/// The figures of a rank at the end.
#[derive(Serialize, Clone, Copy, Debug)]
pub struct ShownRank {
    slices: u64,
    states: u64,
    bytes_sent: u64,
    peak_memory_bytes: u64,
    spilled_bytes: u64,
}

impl ShownRank {
    /// The headings of the columns.
    pub const HEADER: [&'static str; 6] =
        ["rank", "slices", "states", "bytes sent", "peak memory", "spilled"];

    fn new(rank: &RankSize) -> Self {
        ShownRank {
            slices: rank.slices,
            states: rank.states,
            bytes_sent: rank.bytes_sent,
            peak_memory_bytes: rank.peak_memory,
            spilled_bytes: rank.spilled,
        }
    }

    /// For people.
    pub fn cells(&self, number: usize) -> [String; 6] {
        [
            number.to_string(),
            count(self.slices),
            count(self.states),
            bytes(self.bytes_sent),
            bytes(self.peak_memory_bytes),
            bytes(self.spilled_bytes),
        ]
    }
}

/// A slice for people.
#[derive(Clone, Debug)]
pub struct ShownSlice {
    /// The local states of the subsystem.
    pub place: String,
    /// Whether this is a part of a slice that was divided.
    pub part: bool,
    /// Its states.
    pub states: u64,
    /// How often it was searched.
    pub activations: u64,
}

impl Sliced {
    /// The figures of a run that has come to an end.
    pub fn new(search: &Slices, plan: Plan, report: &SlicesReport, traffic: Option<Traffic>) -> Self {
        Sliced {
            subsystem: plan.names,
            slices: report.slices.len(),
            largest_states: report.largest,
            divided: report.splits,
            forgotten: report.forgotten,
            rounds: report.rounds,
            activations: report.activations,
            states_sent: report.sent,
            states_loaded: report.loaded,
            job_memory_bytes: search.job_memory(),
            largest_job_memory_bytes: report.job_peak,
            spilled_bytes: report.spilled,
            traffic,
            ranks: report.ranks.iter().map(ShownRank::new).collect(),
            checkpoint: search.informed.checkpoint.shown(),
            resumed: report.resumed,
            auto: plan.chosen,
            identity: plan.identity.into_iter().collect(),
            stats: Stats {
                states: report.states,
                transitions: report.transitions,
                deadlocks: report.deadlocks,
                peak_memory: report.peak_memory,
                time: report.time,
                ..Stats::default()
            },
            reduction: report.reduction,
            sizes: Vec::new(),
        }
    }

    /// The number of deadlocks, if states without steps were deadlocks.
    fn deadlocks(&self) -> Option<u64> {
        self.reduction.is_none_or(|kept| kept.deadlocks).then_some(self.stats.deadlocks)
    }

    /// The same with the slices themselves.
    pub fn with_sizes(self, sizes: Vec<ShownSlice>) -> Self {
        Sliced { sizes, ..self }
    }
}

impl Figures for Sliced {
    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let mut rows = vec![
            ("states", count(self.stats.states)),
            ("transitions", count(self.stats.transitions)),
            ("slices", count(self.slices as u64)),
            ("largest slice", format!("{} states", count(self.largest_states))),
            ("slices divided", count(self.divided)),
            ("rounds", count(self.rounds)),
            ("activations", count(self.activations)),
            ("largest job", bytes(self.largest_job_memory_bytes)),
            ("spilled", bytes(self.spilled_bytes)),
        ];
        let deadlocks = self.deadlocks().map(|deadlocks| ("deadlocks", count(deadlocks)));
        rows.splice(2..2, deadlocks);
        if let Some(traffic) = &self.traffic {
            rows.push(("network", traffic.shown(self.activations.saturating_sub(self.resumed))));
        }
        if let Some((_, owners)) = self.ranks.split_first() {
            let (all, largest) = owners.iter().fold((0, 0), |(all, largest): (u64, u64), rank| {
                (all + rank.states, largest.max(rank.states))
            });
            let uneven = largest as f64 * owners.len() as f64 / all.max(1) as f64;
            let sent = bytes(owners.iter().map(|rank| rank.bytes_sent).sum());
            rows.push((
                "ranks",
                format!(
                    "{}, the largest of those with slices has {uneven:.2} times the mean of the states; {sent} from rank to rank",
                    count(self.ranks.len() as u64)
                ),
            ));
        }
        rows.extend(spent.seconds());
        rows.extend(exhaustive::memory_rows(&self.stats));
        rows
    }

    fn settings(&self) -> Vec<Row> {
        let mut rows = vec![
            ("subsystem", self.subsystem.join(", ")),
            ("jobs", format!("slice, at most {}", bytes(self.job_memory_bytes))),
        ];
        rows.extend(self.reduction.map(|kept| reduction::row(kept, false)));
        if let Some(dir) = &self.checkpoint {
            rows.push(("checkpoint", format!("{dir}, {} results resumed", count(self.resumed))));
        }
        rows
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        let mut fields = exhaustive::fields(&self.stats, None);
        if let Some(field) = fields.iter_mut().find(|(name, _)| *name == "deadlocks") {
            field.1 = Box::new(self.deadlocks());
        }
        fields.push(("reduction", Box::new(self.reduction.map(|kept| Reduced::new(kept, false, None)))));
        fields.push(("slices", Box::new(self)));
        fields
    }

    fn write_tables(&self, strong: &str, off: &str, out: &mut dyn Write) -> io::Result<()> {
        if self.ranks.is_empty() {
            return Ok(());
        }
        let line = |cells: [String; 6]| cells.map(|cell| format!("{cell:>12}")).join(" ");
        writeln!(out, "\n{strong}{}{off}", line(ShownRank::HEADER.map(str::to_owned)))?;
        self.ranks.iter().enumerate().try_for_each(|(k, rank)| writeln!(out, "{}", line(rank.cells(k))))
    }

    fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        page::write_ranks(&self.ranks, out)?;
        page::write(&self.sizes, out)
    }
}

/// The progress of a search by slices, for the page in its checkpoint.
#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
pub struct SliceNumbers {
    states: u64,
    transitions: u64,
    slices: u64,
    largest_states: u64,
    /// States in inboxes; some of them more than once.
    states_waiting: u64,
    rounds: u64,
    activations: u64,
    divided: u64,
    memory_bytes: u64,
    spilled_bytes: u64,
}

impl SliceNumbers {
    /// The figures of a search.
    pub fn new(progress: &Progress) -> Self {
        SliceNumbers {
            states: progress.states,
            transitions: progress.transitions,
            slices: progress.slices,
            largest_states: progress.largest,
            states_waiting: progress.waiting,
            rounds: progress.rounds,
            activations: progress.activations,
            divided: progress.splits,
            memory_bytes: progress.memory,
            spilled_bytes: progress.spilled,
        }
    }

    /// For people who look at a checkpoint.
    pub fn rows(&self) -> Vec<Row> {
        let (memory, spilled) = (bytes(self.memory_bytes), bytes(self.spilled_bytes));
        vec![
            ("states", count(self.states)),
            ("states waiting", format!("{}, some more than once", count(self.states_waiting))),
            ("slices", format!("{}, {} divided", count(self.slices), count(self.divided))),
            ("largest slice", format!("{} states", count(self.largest_states))),
            ("rounds", format!("{}, {} activations", count(self.rounds), count(self.activations))),
            ("stored", format!("{memory} in memory, {spilled} spilled")),
        ]
    }
}
