//! Local states for people: the name of the control point, with the values that the state holds.
//!
//! The body of a process is named by the process, a point inside it by the process and the line (`LINK line 159`), and by
//! the column where several points of a process begin in one line. The file is not part of a name: reports name it once.

use crate::data::print::value_text;
use crate::diagnostic::Span;
use crate::places::Places;
use crate::process::program::{NodeKind, Program};
use crate::process::term::Term;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The names of all nodes of a program.
#[derive(Debug)]
pub struct ControlPoints {
    names: Vec<String>,
}

impl ControlPoints {
    /// Names the nodes of a program.
    pub fn new(program: &Program, places: &Places) -> Self {
        let model = &program.ev.model;
        // Where definitions begin. A point belongs to the last one that begins before it.
        let mut owners: BTreeMap<u32, &str> =
            model.processes.iter().map(|process| (process.span.start, &*process.name)).collect();
        if let Some(init) = &model.init {
            owners.insert(init.span.start, "init");
        }
        let owner = |span: Span| owners.range(..=span.start).next_back().map_or("init", |(_, name)| *name);
        let mut points: BTreeMap<(&str, usize), BTreeSet<u32>> = BTreeMap::new();
        let bodies: BTreeSet<u32> = program.bodies.iter().map(|body| body.0).collect();
        let inside = (0..).zip(&program.nodes).filter(|(id, node)| stays(&node.kind) && !bodies.contains(id));
        for (_, node) in inside {
            let point = (owner(node.span), places.line(node.span));
            points.entry(point).or_default().insert(node.span.start);
        }
        let mut names: Vec<String> = program
            .nodes
            .iter()
            .map(|node| {
                let (owner, line) = (owner(node.span), places.line(node.span));
                let alone = points.get(&(owner, line)).is_some_and(|p| p.len() == 1);
                if alone && stays(&node.kind) {
                    format!("{owner} line {line}")
                } else {
                    format!("{owner} line {line}:{}", places.column(node.span))
                }
            })
            .collect();
        for (process, body) in model.processes.iter().zip(&program.bodies) {
            names[body.0 as usize] = process.name.to_string();
        }
        ControlPoints { names }
    }

    /// Where control is, with the values that the state holds.
    pub fn describe(&self, program: &Program, term: &Term) -> String {
        let go = |term: &Term| self.describe(program, term);
        match term {
            Term::Node(id, values) => {
                let model = &program.ev.model;
                let mut text = self.names[id.0 as usize].clone();
                for (i, (var, value)) in program.node(*id).free.iter().zip(values.iter()).enumerate() {
                    text.push_str(if i == 0 { "(" } else { ", " });
                    let _ = write!(text, "{} = {}", model.vars[var.ix()].name, value_text(model, value));
                }
                if !values.is_empty() {
                    text.push(')');
                }
                text
            }
            Term::Seq(a, b) => format!("{} . {}", go(a), go(b)),
            Term::Parallel(parts) => {
                let parts: Vec<String> = parts.iter().map(go).collect();
                format!("({})", parts.join(" || "))
            }
            Term::LeftMerge(a, b) => format!("({} ||_ {})", go(a), go(b)),
            Term::Sync(a, b) => format!("({} | {})", go(a), go(b)),
            Term::Operator(_, inner) => go(inner),
            Term::Done => "finished".to_owned(),
            Term::Ended => "terminated".to_owned(),
            Term::Dead => "delta".to_owned(),
            Term::Fault(failure) => format!("fault: {}", failure.message),
        }
    }

    /// Where a point inside a process is written. The body of a process is known by its name, and a state that is made of
    /// several terms has no single place.
    pub fn place(&self, program: &Program, term: &Term) -> Option<Span> {
        match term {
            Term::Node(id, _) => Some(program.node(*id).span).filter(|_| !program.bodies.contains(id)),
            Term::Seq(first, _) => self.place(program, first),
            Term::Operator(_, inner) => self.place(program, inner),
            _ => None,
        }
    }
}

/// Whether a state can stay at a node: calls and conditions are followed at once, unless they wait behind a sequence.
fn stays(kind: &NodeKind) -> bool {
    !matches!(kind, NodeKind::Call(..) | NodeKind::Condition(..) | NodeKind::Seq(..))
}
