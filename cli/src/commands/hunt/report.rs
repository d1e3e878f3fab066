//! What `hunt` tells at its end: for people on standard output, for programs as JSON.

use super::super::check::properties::Asked;
use super::super::check::report::write_rows;
use super::figures::Figures;
use super::findings::Finding;
use super::{Arguments, Ending};
use crate::quantities::{count, counted};
use crate::shown_trace::JSON_VERSION;
use crate::swarm::numbers::Identity;
use crate::terminal::Style;
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;

/// More properties than this are not named one by one.
const NAMED: usize = 4;
/// Of a longer counterexample the file has the steps.
const SHOWN_STEPS: usize = 200;

/// A finished hunt.
pub struct Report<'a> {
    pub arguments: &'a Arguments,
    pub specification: &'a str,
    pub asked: &'a [Asked],
    pub ending: &'a Ending,
    pub findings: &'a [Finding],
    /// None if it ended before the first search.
    pub figures: Option<&'a Figures>,
    pub seed: Option<u64>,
    pub subsystem: Option<&'a [String]>,
    pub unroll: Option<u32>,
    pub resumed: usize,
    pub identity: Identity,
    pub traffic: Option<Traffic>,
    pub time: Duration,
    pub build_time: Duration,
}

/// What went over the network of an MPI job.
#[derive(Serialize, Clone, Debug)]
pub struct Traffic {
    ranks: u32,
    messages: u64,
    bytes: u64,
}

impl From<crate::company::Traffic> for Traffic {
    fn from(traffic: crate::company::Traffic) -> Self {
        let crate::company::Traffic { ranks, messages, bytes } = traffic;
        Traffic { ranks, messages, bytes }
    }
}

#[derive(Serialize)]
struct Json<'a> {
    version: u32,
    gridlock: &'static str,
    command: &'static str,
    specification: &'a str,
    verdict: &'static str,
    /// A hunt proves nothing.
    exhaustive: bool,
    properties: Vec<&'a str>,
    reason: &'static str,
    message: String,
    seed: Option<u64>,
    workers: usize,
    budget_seconds: f64,
    seconds: f64,
    build_seconds: f64,
    findings: &'a [Finding],
    subsystem: Option<&'a [String]>,
    unroll: Option<u32>,
    #[serde(flatten)]
    figures: Option<&'a Figures>,
    checkpoint: Option<String>,
    resumed: usize,
    identity: &'a Identity,
    traffic: Option<&'a Traffic>,
}

impl Report<'_> {
    /// `violated`, `faulty` or `unknown`.
    pub fn verdict(&self) -> &'static str {
        let any = |verdict| self.findings.iter().any(|finding| finding.verdict == verdict);
        match (any("violated"), any("faulty")) {
            (true, _) => "violated",
            (false, true) => "faulty",
            (false, false) => "unknown",
        }
    }

    /// Writes JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let json = Json {
            version: JSON_VERSION,
            gridlock: env!("CARGO_PKG_VERSION"),
            command: "hunt",
            specification: self.specification,
            verdict: self.verdict(),
            exhaustive: false,
            properties: self.asked.iter().map(|asked| asked.name.as_str()).collect(),
            reason: self.ending.name(),
            message: self.message(),
            seed: self.seed,
            workers: self.arguments.threads(),
            budget_seconds: self.arguments.budget.as_secs_f64(),
            seconds: self.time.as_secs_f64(),
            build_seconds: self.build_time.as_secs_f64(),
            findings: self.findings,
            subsystem: self.subsystem,
            unroll: self.unroll,
            figures: self.figures,
            checkpoint: self.arguments.checkpoint.as_ref().map(|dir| dir.display().to_string()),
            resumed: self.resumed,
            identity: &self.identity,
            traffic: self.traffic.as_ref(),
        };
        serde_json::to_writer_pretty(&mut *out, &json)?;
        writeln!(out)
    }

    /// What was found and why it ended, without the verdict.
    fn message(&self) -> String {
        let end = self.ending.message(self.arguments);
        match self.findings {
            [] => {
                let about = match self.asked {
                    all if all.len() > NAMED => format!("all {} properties", all.len()),
                    all => all.iter().map(Asked::shown).collect::<Vec<_>>().join(", "),
                };
                format!("{about}: nothing was found; {end}")
            }
            [only] => {
                let title = only.title();
                title.split_once(": ").map_or(title.clone(), |(_, rest)| rest.to_owned())
            }
            several => format!("{} in different places; {end}", counted(several.len(), "violation")),
        }
    }

    /// Writes for people.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = Style::of_stdout();
        let Style { strong, wrong, off, .. } = style;
        let colour = if self.findings.is_empty() { strong } else { wrong };
        writeln!(out, "{colour}{}{off}: {}\n", self.verdict(), self.message())?;
        self.write_findings(out)?;
        if let Some(figures) = self.figures {
            self.write_figures(figures, style, out)?;
        }
        if let Some(first) = self.findings.first() {
            self.write_trace(first, style, out)?;
        }
        Ok(())
    }

    fn write_findings(&self, out: &mut dyn Write) -> io::Result<()> {
        for finding in self.findings {
            writeln!(out, "  {}. {}", finding.number, finding.title())?;
            writeln!(out, "     {}", finding.how())?;
            if let (Some(file), Some(command)) = (&finding.trace_file, &finding.command) {
                writeln!(out, "     saved to {file}; to find it again:\n       {command}")?;
            }
        }
        if self.findings.is_empty() { Ok(()) } else { writeln!(out) }
    }

    fn write_figures(&self, figures: &Figures, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let Style { strong, off, .. } = style;
        if figures.coverage.everything {
            writeln!(
                out,
                "every reachable state was seen (a hunt gives no verdict on that: `check` does)\n"
            )?;
        }
        let mut rows = figures.rows();
        rows.push(("seconds", format!("{:.3}", self.time.as_secs_f64())));
        rows.push(("build seconds", format!("{:.3}", self.build_time.as_secs_f64())));
        rows.push(("workers", count(self.arguments.threads() as u64)));
        if let Some(seed) = self.seed {
            rows.push(("seed", seed.to_string()));
        }
        write_rows(&rows, out)?;
        if let Some(names) = self.subsystem {
            let unroll = self
                .unroll
                .map_or(String::new(), |k| format!(", closing cycles {}", counted(k as usize, "time")));
            writeln!(out, "\n  subsystem       {}{unroll}", names.join(", "))?;
        }
        let leaves = figures.leaf_rows();
        if !leaves.is_empty() {
            writeln!(out, "\n{strong}seen of each process{off}: local states, local transitions")?;
            let width = leaves.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
            let next = leaves.iter().map(|row| row.1.len()).max().unwrap_or(0);
            for (name, states, steps) in &leaves {
                writeln!(out, "  {name:<width$}  {states:<next$}  {steps}")?;
            }
        }
        writeln!(
            out,
            "\n{strong}{:<20}{:>8}{:>14}{:>14}{:>8}{:>8}{:>7}{off}",
            "portfolio", "searches", "states", "new states", "locals", "steps", "share"
        )?;
        for m in &figures.members {
            writeln!(
                out,
                "  {:<18}{:>8}{:>14}{:>14}{:>8}{:>8}{:>6.0}%",
                m.name,
                count(m.jobs),
                count(m.states),
                count(m.new_states as u64),
                count(m.new_local_states),
                count(m.new_local_transitions),
                100.0 * m.weight
            )?;
        }
        Ok(())
    }

    fn write_trace(&self, finding: &Finding, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let Style { strong, off, .. } = style;
        let steps = &finding.trace;
        if steps.is_empty() {
            writeln!(out, "\nviolated in the initial state, by no step at all")?;
        } else if steps.len() > SHOWN_STEPS {
            writeln!(
                out,
                "\n{strong}counterexample{off}: its {} are in the file",
                counted(steps.len(), "step")
            )?;
            return Ok(());
        } else {
            finding.shown.write_names(style, out)?;
            writeln!(out, "\n{strong}counterexample, {}{off}", counted(steps.len(), "step"))?;
            finding.shown.write_steps(style, out)?;
        }
        writeln!(out, "\n{strong}the processes then{off}")?;
        finding.shown.write_end(style, out)?;
        if finding.is_deadlock() { finding.shown.write_stuck(style, out) } else { Ok(()) }
    }
}
