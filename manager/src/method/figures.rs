//! The figures of a run: what a method reports beside the conclusion.
//!
//! Invariant: a report is made from [`Figures`] alone, so that text, JSON and the page know no method by name.

use super::JSON_VERSION;
use super::quantities::{bytes, count, counted};
use crate::grid::journal::Identity;
use gridlock_lts::engine::game::ProofLts;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A name and a value, for people.
pub type Row = (&'static str, String);

/// A value of a JSON object.
pub type Json<'a> = Box<dyn erased_serde::Serialize + 'a>;

/// The times of a run, as the road measured them.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// The time of the search.
    pub search: Duration,
    /// The time before it.
    pub build: Duration,
    /// Threads of this process.
    pub workers: usize,
}

impl Spent {
    /// Seconds of the search and before it.
    pub fn seconds(&self) -> [Row; 2] {
        let seconds = |time: Duration| format!("{:.3}", time.as_secs_f64());
        [("seconds", seconds(self.search)), ("build seconds", seconds(self.build))]
    }

    /// The threads.
    pub fn workers(&self) -> Row {
        ("workers", count(self.workers as u64))
    }
}

/// The row with the place where answers are kept, and how many were there before.
pub fn kept_in(place: &str, resumed: usize) -> Row {
    let resumed = match resumed {
        0 => String::new(),
        answers => format!(", {} were in it", counted(answers, "answer")),
    };
    ("checkpoint", format!("{place}{resumed}"))
}

/// The figures that a method reports about a run.
pub trait Figures {
    /// Whether the search began; if not, its checkpoint, if there is one, belongs to another run.
    fn begun(&self) -> bool {
        true
    }

    /// The text behind the verdict in the first line, if it is not that of the conclusion.
    fn headline(&self) -> Option<String> {
        None
    }

    /// A line before the rows.
    fn note(&self) -> Option<Cow<'static, str>> {
        None
    }

    /// Of formulas that hold: after which steps they ask for something although no such step was met.
    fn vacuous(&self) -> &[String] {
        &[]
    }

    /// The work done, as numbers; a value of several words begins with its number.
    fn rows(&self, spent: &Spent) -> Vec<Row>;

    /// How it was run, in words.
    fn settings(&self) -> Vec<Row> {
        Vec::new()
    }

    /// Tables below the rows; `strong` and `off` stand around headings.
    fn write_tables(&self, _strong: &str, _off: &str, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// If the run that is shown ends in a cycle: the first step of the cycle, counted from 1.
    fn repeats_from(&self) -> Option<usize> {
        None
    }

    /// The whole proof of the answer, if it was asked for and there is one.
    fn proof(&self) -> Option<&ProofLts> {
        None
    }

    /// Its fields of the JSON result. A field with a name that every result has replaces the common one.
    fn fields(&self) -> Vec<(&'static str, Json<'_>)>;

    /// The picture that [`Method::picture`](super::Method::picture) names a file for, under a title: SVG; `None`: there is
    /// nothing to draw.
    fn picture(&self, _title: &str) -> Option<String> {
        None
    }

    /// Its part of the page, below rows and settings: HTML.
    fn write_page(&self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// The figures of a run that did not begin.
pub struct Nothing;

impl Figures for Nothing {
    fn begun(&self) -> bool {
        false
    }

    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let mut rows = spent.seconds().to_vec();
        rows.push(spent.workers());
        rows
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        Vec::new()
    }

    fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "<p>It ended before the search began.</p>")
    }
}

/// The network traffic of an MPI job.
#[derive(Serialize, Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Traffic {
    pub ranks: u32,
    pub messages: u64,
    pub bytes: u64,
}

impl Traffic {
    /// For people, with the number of jobs for which there were messages.
    pub fn shown(&self, jobs: u64) -> String {
        let each = |total: u64| total as f64 / jobs.max(1) as f64;
        let (messages, volume) = (each(self.messages), bytes(each(self.bytes) as u64));
        format!("{} ranks, {messages:.1} messages and {volume} a job", self.ranks)
    }
}

/// The page in a checkpoint with the progress of the run.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[allow(missing_docs)]
pub struct StatusPage {
    pub version: u32,
    /// Version of the program.
    pub gridlock: String,
    /// The file, as named on the command line.
    pub specification: String,
    /// When the page was written, in seconds since 1970.
    pub written: u64,
    /// Time of this run so far; the time before it was resumed does not count.
    pub seconds: f64,
    pub workers: usize,
    /// Answers that were in the checkpoint when the run began.
    pub resumed: usize,
    pub identity: BTreeMap<String, String>,
    /// The progress of the run: a field whose name the method chooses.
    #[serde(flatten)]
    pub figures: serde_json::Map<String, serde_json::Value>,
}

impl StatusPage {
    /// A page of now, without figures.
    pub fn new(specification: &str, workers: usize, identity: &Identity) -> Self {
        StatusPage {
            version: JSON_VERSION,
            gridlock: env!("CARGO_PKG_VERSION").to_owned(),
            specification: specification.to_owned(),
            written: 0,
            seconds: 0.0,
            workers,
            resumed: 0,
            identity: identity.iter().cloned().collect(),
            figures: serde_json::Map::new(),
        }
    }

    /// The page of now as bytes. One that cannot be written is no reason to stop, and numbers and texts always can.
    pub fn bytes(&self, time: Duration, name: &str, figures: &impl Serialize) -> Vec<u8> {
        let mut page = self.clone();
        page.written = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
        page.seconds = time.as_secs_f64();
        page.figures.insert(name.to_owned(), serde_json::to_value(figures).unwrap_or_default());
        serde_json::to_vec_pretty(&page).unwrap_or_default()
    }

    /// The figures of a name, if the page has them and they can be read.
    pub fn figures<'d, T: Deserialize<'d>>(&'d self, name: &str) -> Option<T> {
        T::deserialize(self.figures.get(name)?).ok()
    }
}
