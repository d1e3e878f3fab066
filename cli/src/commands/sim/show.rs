//! The output of a simulation: states, possible actions, steps.

use super::session::Session;
use crate::quantities::counted;
use crate::shown_trace::{brief, write_names};
use crate::stuck;
use crate::terminal::Style;
use gridlock_lts::model::network::{LeafIx, Outcome, Step};
use std::io::{self, Write};

/// How many possible actions are listed unless the user asks for all.
const SHOWN_ACTIONS: usize = 50;

/// Shows a session.
pub struct Show {
    /// The colours to use.
    pub style: Style,
}

impl Show {
    /// The current state and the possible actions: all of them, or as many as fit a screen or two.
    pub fn here(&self, session: &Session, all: bool, out: &mut dyn Write) -> io::Result<()> {
        let Style { strong, faint, off, .. } = self.style;
        let names = brief(session.network());
        if session.trace().is_empty() {
            let full = session.network().leaves.iter().map(|leaf| leaf.name.as_str());
            write_names(&names.iter().map(String::as_str).zip(full).collect::<Vec<_>>(), self.style, out)?;
        }
        writeln!(out, "\n{strong}after {}{off}", counted(session.trace().len(), "step"))?;
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (ix, (name, local)) in (0..).map(LeafIx).zip(names.iter().zip(session.state())) {
            writeln!(out, "  {name:<width$}  {}", session.describe(ix, local))?;
        }
        let possible = session.possible();
        match possible.len() {
            0 if session.network().is_terminated(&session.state()) => {
                return writeln!(out, "no action is possible: the processes have all terminated");
            }
            0 => {
                writeln!(out, "no action is possible: this is a deadlock")?;
                return stuck::write_text(&session.stuck(&names), self.style, out);
            }
            n => writeln!(out, "{} possible:", counted(n, "action"))?,
        }
        let shown = if all { possible.len() } else { possible.len().min(SHOWN_ACTIONS) };
        let labels: Vec<String> = possible[..shown].iter().map(|step| label(session, step)).collect();
        let width = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0).min(40);
        for (i, (step, label)) in possible.iter().zip(&labels).enumerate() {
            writeln!(out, "{:>5}  {label:<width$}  {faint}{}{off}", i + 1, parts(session, step))?;
        }
        if possible.len() > shown {
            writeln!(out, "       ... and {} more (l lists them)", possible.len() - shown)?;
        }
        Ok(())
    }

    /// The step that was just taken.
    pub fn last_step(&self, session: &Session, out: &mut dyn Write) -> io::Result<()> {
        match session.trace().steps.last() {
            Some(step) => self.step(session, session.trace().len(), step, out),
            None => Ok(()),
        }
    }

    /// All steps so far.
    pub fn history(&self, session: &Session, out: &mut dyn Write) -> io::Result<()> {
        if session.trace().is_empty() {
            return writeln!(out, "no steps yet");
        }
        (1..).zip(&session.trace().steps).try_for_each(|(number, step)| self.step(session, number, step, out))
    }

    fn step(&self, session: &Session, number: usize, step: &Step, out: &mut dyn Write) -> io::Result<()> {
        let Style { strong, faint, off, .. } = self.style;
        let (label, parts) = (label(session, step), parts(session, step));
        writeln!(out, "step {number}: {strong}{label}{off}  {faint}{parts}{off}")
    }
}

/// The label of a step; if something in it is hidden, also the label before hiding.
fn label(session: &Session, step: &Step) -> String {
    let net = session.network();
    let vector = &net.vectors[step.vector.0 as usize];
    match vector.outcome {
        Outcome::Step(label) if label == vector.unhidden => net.labels[label.0 as usize].clone(),
        Outcome::Step(label) => {
            format!("{} (hiding {})", net.labels[label.0 as usize], net.labels[vector.unhidden.0 as usize])
        }
        Outcome::Fault(_) => "no meaning here".to_owned(),
    }
}

/// The participants of a step, and their actions.
fn parts(session: &Session, step: &Step) -> String {
    let net = session.network();
    let vector = &net.vectors[step.vector.0 as usize];
    if let Outcome::Fault(fault) = vector.outcome {
        return net.faults[fault as usize].replace('\n', " ");
    }
    session.shown(step).participants()
}
