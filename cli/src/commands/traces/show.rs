//! The output of `traces`: for people, and as JSON, whose fields `docs/json.md` documents.

use crate::quantities::{big, count, exact, rounded};
use crate::shown_trace::JSON_VERSION;
use crate::terminal::Style;
use gridlock_lts::guide::{Guide, Subsystem};
use gridlock_lts::model::network::Network;
use gridlock_manager::method::subsystem::shown_cycle;
use gridlock_manager::method::traces::options::Which;
use num_bigint::BigUint;
use serde::Serialize;
use std::io::{self, Write};

/// The summary of a subsystem and its traces.
#[derive(Serialize)]
pub struct Summary {
    version: u32,
    specification: String,
    subsystem: Vec<String>,
    states: usize,
    edges: usize,
    cyclic: bool,
    cycle: Option<Vec<String>>,
    unroll: Option<u32>,
    orders: Which,
    guide: Option<GuideSize>,
    /// In digits: programs that read numbers as floating-point ones would lose some.
    traces: Option<String>,
    #[serde(skip)]
    number: Option<BigUint>,
    listed: Vec<Listed>,
}

/// The size of the guide.
#[derive(Serialize)]
struct GuideSize {
    states: usize,
    edges: usize,
    bounded: bool,
}

/// A trace with its number.
#[derive(Serialize)]
pub struct Listed {
    id: String,
    labels: Vec<String>,
}

impl Listed {
    /// The trace of an ID that exists.
    pub fn new(net: &Network, guide: &Guide, id: BigUint) -> Self {
        let path = guide.trace(&id).unwrap_or_default();
        Listed { id: id.to_string(), labels: path.into_iter().map(|edge| guide.label(net, edge)).collect() }
    }
}

impl Summary {
    /// Makes the summary. There is no guide if the traces have no end.
    pub fn new(
        specification: &str,
        subsystem: Vec<String>,
        built: &Subsystem,
        cycle: Option<Vec<String>>,
        unroll: Option<u32>,
        guide: Option<&Guide>,
        listed: Vec<Listed>,
    ) -> Self {
        let size =
            |g: &Guide| GuideSize { states: g.states(), edges: g.edge_count(), bounded: g.is_bounded() };
        Summary {
            version: JSON_VERSION,
            specification: specification.to_owned(),
            subsystem,
            states: built.states(),
            edges: built.edge_count(),
            cyclic: cycle.is_some(),
            cycle,
            unroll,
            orders: Which::All,
            guide: guide.map(size),
            traces: guide.map(|g| g.traces().to_string()),
            number: guide.map(|g| g.traces().clone()),
            listed,
        }
    }

    /// The same, of the traces of these orders.
    pub fn of(self, orders: Which) -> Self {
        Summary { orders, ..self }
    }

    /// Writes JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    /// Writes for people. `single`: the one trace is shown step by step.
    pub fn write_text(&self, single: bool, out: &mut dyn Write) -> io::Result<()> {
        let Style { strong, faint, off, .. } = Style::of_stdout();
        let names = self.subsystem.join(", ");
        match &self.number {
            Some(traces) => {
                let plural = if *traces == BigUint::from(1u32) { "" } else { "s" };
                let orders = if self.orders == Which::One { ", one of each class of orders" } else { "" };
                writeln!(out, "{strong}{} trace{plural}{off} of {names}{orders}\n", big(traces))?;
            }
            None => writeln!(
                out,
                "{strong}traces without end{off} of {names}: it is cyclic, and --unroll K bounds it\n"
            )?,
        }
        self.write_sizes(out)?;
        if let (true, [trace]) = (single, &self.listed[..]) {
            writeln!(out, "\n{strong}trace {}{off}", trace.id)?;
            return (1..)
                .zip(&trace.labels)
                .try_for_each(|(k, label): (usize, _)| writeln!(out, "{k:>6}  {label}"));
        }
        let width = self.listed.iter().map(|trace| trace.id.len()).max().unwrap_or(0);
        if width > 0 {
            writeln!(out)?;
        }
        self.listed.iter().try_for_each(|trace| {
            let labels =
                if trace.labels.is_empty() { "(no step)".to_owned() } else { trace.labels.join(" . ") };
            writeln!(out, "{faint}{:>width$}{off}  {labels}", trace.id)
        })
    }

    fn write_sizes(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut rows = vec![("states", count(self.states as u64)), ("edges", count(self.edges as u64))];
        let mut row = |name, value| rows.push((name, value));
        match &self.cycle {
            Some(cycle) => row("cyclic", format!("yes, for instance by {}", shown_cycle(cycle))),
            None => row("cyclic", "no".to_owned()),
        }
        if let (Some(unroll), Some(guide)) = (self.unroll, &self.guide) {
            row("unroll", count(u64::from(unroll)));
            row("unrolled states", count(guide.states as u64));
            row("unrolled edges", count(guide.edges as u64));
            row("edges cut", if guide.bounded { "yes" } else { "no" }.to_owned());
        }
        if let Some(traces) = &self.number {
            row("traces", exact(traces));
            if let Some(rounded) = rounded(traces) {
                row("", format!("about {rounded}"));
            }
        }
        rows.iter().try_for_each(|(name, value)| writeln!(out, "  {name:<17}{value}"))
    }
}
