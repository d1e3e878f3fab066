//! The figures of a search by parts, for people and as JSON.

use super::{AUTO, Parts, page, picture};
use crate::method::quantities::{bytes, count, counted};
use crate::method::then::Handed;
use crate::method::{Figures, Json, Row, Run, Spent, Traffic, kept_in};
use gridlock_lts::engine::parts::{Account, Fate, Node, Obligation, Seen, Stage, Why};
use serde::Serialize;
use std::io::{self, Write};

/// Lines of a tree that are printed; the JSON result and the page have all.
const LINES: usize = 60;

/// What a search by parts did, as `docs/json.md` documents it.
#[derive(Serialize)]
pub(super) struct Put {
    groups: Option<String>,
    limit: u64,
    obligations: Vec<Shown>,
    #[serde(flatten)]
    handed: Handed,
    checkpoint: Option<String>,
    /// Answers that were in the checkpoint.
    resumed: usize,
    traffic: Option<Traffic>,
    #[serde(skip)]
    peak_memory: u64,
}

/// An obligation and its tree.
#[derive(Serialize)]
pub(super) struct Shown {
    /// The index of the property; `None`: faults.
    property: Option<usize>,
    pub(super) name: String,
    pub(super) result: &'static str,
    pub(super) largest_states: u64,
    states: u64,
    transitions: u64,
    trials: u64,
    tried_states: u64,
    seconds: f64,
    /// What decided it; `None`: nothing did.
    decided_by: Option<&'static str>,
    pub(super) interfaces: Option<Explored>,
    /// The components at the end, by their positions.
    pub(super) components: Vec<usize>,
    pub(super) tree: Vec<Made>,
}

/// A component.
#[derive(Serialize)]
pub(super) struct Made {
    pub(super) name: Option<String>,
    pub(super) parts: Vec<usize>,
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) reduced_states: u64,
    pub(super) reduced_transitions: u64,
}

/// The exploration by interfaces.
#[derive(Serialize)]
pub(super) struct Explored {
    pub(super) groups: u64,
    pub(super) tuples: u64,
    transitions: u64,
    pub(super) macro_states: u64,
    members: u64,
    pub(super) largest_macro: u64,
    steps: u64,
    hits: u64,
    rounds: u64,
}

impl From<Seen> for Explored {
    fn from(seen: Seen) -> Self {
        let Seen { groups, tuples, transitions, macro_states, members, largest_macro, steps, hits, rounds } =
            seen;
        Explored { groups, tuples, transitions, macro_states, members, largest_macro, steps, hits, rounds }
    }
}

impl Explored {
    /// The exploration in words, with the number of components.
    pub(super) fn told_of(&self) -> String {
        let groups = usize::try_from(self.groups).unwrap_or(usize::MAX);
        format!("{}: {}", counted(groups, "component"), self.told())
    }

    /// The result in words.
    pub(super) fn told(&self) -> String {
        let of = |n: u64, noun: &str| counted(usize::try_from(n).unwrap_or(usize::MAX), noun);
        format!(
            "{} of {}, the largest with {}",
            of(self.tuples, "tuple"),
            of(self.macro_states, "macro-state"),
            of(self.largest_macro, "member")
        )
    }
}

impl From<Node> for Made {
    fn from(node: Node) -> Self {
        let Node { name, parts, product, reduced } = node;
        Made {
            name,
            parts,
            states: product.0,
            transitions: product.1,
            reduced_states: reduced.0,
            reduced_transitions: reduced.1,
        }
    }
}

impl Shown {
    fn new(run: &Run, account: Account) -> Self {
        let (property, name) = match account.obligation {
            Obligation::Faults => (None, "no faults".to_owned()),
            Obligation::Property(index) => {
                (Some(index), run.names.get(index).cloned().unwrap_or_else(|| format!("property {index}")))
            }
        };
        let result = match account.result {
            Fate::Holds => "holds",
            Fate::Violated => "violated",
            Fate::Left(Why::Limit(_)) => "left: limit",
            Fate::Left(Why::Memory) => "left: memory",
            Fate::Left(Why::Run) => "left: run",
            Fate::Left(Why::Stopped) => "left: stopped",
        };
        let left = matches!(account.result, Fate::Left(_));
        let decided_by = match account.stage {
            _ if left => None,
            Stage::Fixpoint => Some("fixpoint"),
            Stage::Aggregation => Some("aggregation"),
            Stage::Interfaces => Some("interfaces"),
        };
        Shown {
            property,
            name,
            result,
            decided_by,
            interfaces: account.interfaces.clone().map(Explored::from),
            largest_states: account.largest(),
            states: account.states(),
            transitions: account.transitions(),
            trials: account.trials,
            tried_states: account.tried_states,
            seconds: account.time.as_secs_f64(),
            components: account.left,
            tree: account.nodes.into_iter().map(Made::from).collect(),
        }
    }

    /// The exploration by interfaces, if it decided the obligation.
    pub(super) fn by_interfaces(&self) -> Option<&Explored> {
        self.interfaces.as_ref().filter(|_| self.decided_by == Some("interfaces"))
    }

    /// The components that are no part of another one, of those that were put together.
    pub(super) fn roots(&self) -> Vec<usize> {
        let mut inside = vec![false; self.tree.len()];
        self.tree.iter().flat_map(|made| &made.parts).for_each(|&part| inside[part] = true);
        let joined = |&ix: &usize| !inside[ix] && !self.tree[ix].parts.is_empty();
        (0..self.tree.len()).filter(joined).collect()
    }

    /// The components below some, each with its depth, parents before their parts.
    pub(super) fn lines(&self) -> Vec<(usize, usize)> {
        let mut lines = Vec::new();
        let mut open: Vec<(usize, usize)> = self.roots().into_iter().rev().map(|root| (0, root)).collect();
        while let Some((depth, ix)) = open.pop() {
            lines.push((depth, ix));
            open.extend(self.tree[ix].parts.iter().rev().map(|&part| (depth + 1, part)));
        }
        lines
    }

    /// Processes that were never put together with others: they do not matter, or the answer came before.
    pub(super) fn alone(&self) -> usize {
        let mut inside = vec![false; self.tree.len()];
        self.tree.iter().flat_map(|made| &made.parts).for_each(|&part| inside[part] = true);
        (0..self.tree.len()).filter(|&ix| !inside[ix] && self.tree[ix].parts.is_empty()).count()
    }
}

impl Put {
    pub(super) fn new(parts: &Parts, run: &Run, accounts: Vec<Account>, peak_memory: u64) -> Self {
        Put {
            groups: Some(parts.parts.clone()).filter(|groups| groups != AUTO),
            limit: parts.parts_limit,
            obligations: accounts.into_iter().map(|account| Shown::new(run, account)).collect(),
            handed: Handed::default(),
            checkpoint: None,
            resumed: 0,
            traffic: None,
            peak_memory,
        }
    }

    /// The same, with the threads or ranks that did the jobs.
    pub(super) fn with_grid(
        self,
        checkpoint: Option<String>,
        resumed: usize,
        traffic: Option<Traffic>,
    ) -> Self {
        Put { checkpoint, resumed, traffic, ..self }
    }

    /// The same, with the search that decided the rest.
    pub(super) fn handed(self, handed: Handed) -> Self {
        Put { handed, ..self }
    }

    fn sum(&self, of: impl Fn(&Shown) -> u64) -> u64 {
        self.obligations.iter().map(of).sum()
    }
}

impl Figures for Put {
    fn headline(&self) -> Option<String> {
        self.handed.inner.as_ref()?.headline()
    }

    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let largest = self.obligations.iter().map(|shown| shown.largest_states).max().unwrap_or(0);
        let products = |shown: &Shown| shown.tree.iter().filter(|made| !made.parts.is_empty()).count() as u64;
        let mut rows = vec![
            ("put together", counted(self.sum(products) as usize, "time")),
            ("largest part", counted(largest as usize, "state")),
            ("all parts", counted(self.sum(|shown| shown.states) as usize, "state")),
            (
                "tried",
                format!(
                    "{} in {}",
                    counted(self.sum(|s| s.tried_states) as usize, "state"),
                    counted(self.sum(|s| s.trials) as usize, "trial")
                ),
            ),
        ];
        let interfaces = self.obligations.iter().filter_map(|shown| shown.interfaces.as_ref());
        if let Some(largest) = interfaces.max_by_key(|explored| explored.tuples) {
            rows.push(("interfaces", largest.told()));
        }
        match &self.handed.inner {
            Some(inner) => rows.extend(inner.rows(spent)),
            None => {
                rows.extend(spent.seconds());
                rows.push(("parts' memory", bytes(self.peak_memory)));
            }
        }
        rows
    }

    fn settings(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        rows.extend(self.groups.as_ref().map(|groups| ("groups", groups.clone())));
        rows.extend(self.handed.left.as_ref().map(|left| ("left", left.clone())));
        rows.extend(self.handed.then.map(|then| ("then", then.to_owned())));
        rows.extend(self.checkpoint.as_deref().map(|place| kept_in(place, self.resumed)));
        rows.extend(self.traffic.map(|traffic| ("traffic", traffic.shown(self.sum(|s| s.trials)))));
        rows.extend(self.handed.inner.iter().flat_map(|inner| inner.settings()));
        rows
    }

    fn write_tables(&self, strong: &str, off: &str, out: &mut dyn Write) -> io::Result<()> {
        for shown in &self.obligations {
            let lines = shown.lines();
            if lines.is_empty() {
                let how = match (shown.by_interfaces(), &shown.interfaces) {
                    (Some(interfaces), _) => format!("by the interfaces of {}", interfaces.told_of()),
                    (None, Some(interfaces)) if shown.result.starts_with("left") => {
                        format!("after {} of interfaces", interfaces.told())
                    }
                    (None, _) => "without putting anything together".to_owned(),
                };
                writeln!(out, "\n{strong}{}: {}{off}, {how}", shown.name, shown.result)?;
                continue;
            }
            writeln!(
                out,
                "\n{strong}{}: {}{off}, states before and after reduction",
                shown.name, shown.result
            )?;
            for &(depth, ix) in lines.iter().take(LINES) {
                let made = &shown.tree[ix];
                let name = made.name.as_deref().unwrap_or("together");
                let indent = "  ".repeat(depth.min(40) + 1);
                writeln!(out, "{indent}{name} {} -> {}", count(made.states), count(made.reduced_states))?;
            }
            if lines.len() > LINES {
                writeln!(
                    out,
                    "  ... {} more (--json and --report have all)",
                    count((lines.len() - LINES) as u64)
                )?;
            }
            if let Some(interfaces) = shown.by_interfaces() {
                writeln!(out, "  then by the interfaces of {}", interfaces.told_of())?;
            } else if shown.alone() > 0 {
                writeln!(out, "  {} not needed", counted(shown.alone(), "process"))?;
            }
        }
        match &self.handed.inner {
            Some(inner) => inner.write_tables(strong, off, out),
            None => Ok(()),
        }
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        let mut fields = match &self.handed.inner {
            Some(inner) => inner.fields(),
            None => vec![("peak_memory_bytes", Box::new(self.peak_memory) as Json<'_>)],
        };
        fields.push(("parts", Box::new(self)));
        fields
    }

    fn picture(&self, title: &str) -> Option<String> {
        picture::file(title, &self.obligations)
    }

    fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        for shown in &self.obligations {
            page::write(shown, out)?;
        }
        match &self.handed.inner {
            Some(inner) => inner.write_page(out),
            None => Ok(()),
        }
    }
}
