//! The figures of a local search, for people and as JSON.

use super::page;
use crate::method::quantities::{bytes, count, counted};
use crate::method::subsystem::names;
use crate::method::then::Handed;
use crate::method::{Figures, Json, Row, Run, Spent, Traffic, kept_in};
use gridlock_lts::engine::local::{Account, Fate, Joined, Marking, Round, Why};
use gridlock_lts::engine::parts::Obligation;
use serde::Serialize;
use std::io::{self, Write};

/// Obligations that are printed; the JSON result and the page have all.
const LINES: usize = 40;
/// Processes of a block that are printed.
const NAMES: usize = 6;

/// What a local search did, as `docs/json.md` documents it.
#[derive(Serialize)]
pub(super) struct Checked {
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

/// An obligation and its rounds.
#[derive(Serialize)]
pub(super) struct Shown {
    /// The index of the property; `None`: faults.
    property: Option<usize>,
    pub(super) name: String,
    /// The processes whose steps make the observer advance, where it was split.
    pub(super) members: Vec<String>,
    pub(super) result: &'static str,
    /// Into how many obligations it was split.
    pub(super) split: Option<usize>,
    local_states: u64,
    local_moves: u64,
    /// The processes of the last block, and of all.
    pub(super) block: Vec<String>,
    pub(super) processes: usize,
    pub(super) largest_states: u64,
    states: u64,
    seconds: f64,
    /// The equations that decided it, if equations did.
    marking: Option<Marking>,
    pub(super) rounds: Vec<Turn>,
}

/// A round.
#[derive(Serialize)]
pub(super) struct Turn {
    pub(super) processes: u64,
    pub(super) states: u64,
    transitions: u64,
    pub(super) path: Option<u64>,
    tried: u64,
    pub(super) joined: Option<&'static str>,
}

impl From<Round> for Turn {
    fn from(round: Round) -> Self {
        let joined = match round.joined {
            Joined::Nobody => None,
            Joined::CannotFollow => Some("cannot follow"),
            Joined::PairCannotFollow => Some("cannot follow together"),
            Joined::InTheWay => Some("in the way"),
            Joined::TooManyAtOnce => Some("too many at once"),
        };
        let Round { leaves, states, transitions, path, runs, .. } = round;
        Turn { processes: leaves, states, transitions, path, tried: runs, joined }
    }
}

/// The name of an obligation.
pub(super) fn name_of(run: &Run, obligation: Obligation) -> String {
    match obligation {
        Obligation::Faults => "no faults".to_owned(),
        Obligation::Property(index) => {
            run.names.get(index).cloned().unwrap_or_else(|| format!("property {index}"))
        }
    }
}

impl Shown {
    fn new(run: &Run, account: Account) -> Self {
        let net = &run.tables().network;
        let property = match account.obligation {
            Obligation::Faults => None,
            Obligation::Property(index) => Some(index),
        };
        let (result, split) = match account.result {
            Fate::Holds => ("holds", None),
            Fate::Violated => ("violated", None),
            Fate::Split(members) => ("split", Some(members)),
            Fate::Left(Why::Limit(_)) => ("left: limit", None),
            Fate::Left(Why::Memory) => ("left: memory", None),
            Fate::Left(Why::Stopped) => ("left: stopped", None),
        };
        Shown {
            property,
            name: name_of(run, account.obligation),
            members: names(net, &account.members),
            result,
            split,
            local_states: account.fixpoint.states,
            local_moves: account.fixpoint.moves,
            block: names(net, &account.block),
            processes: net.leaves.len(),
            largest_states: account.largest(),
            states: account.states(),
            seconds: account.time.as_secs_f64(),
            marking: account.marking,
            rounds: account.rounds.into_iter().map(Turn::from).collect(),
        }
    }

    /// Its name, with the members that it is about.
    pub(super) fn title(&self) -> String {
        match self.members.is_empty() {
            true => self.name.clone(),
            false => format!("{} by {}", self.name, self.members.join(", then ")),
        }
    }

    /// Its result, and the processes that decided it.
    pub(super) fn told(&self) -> String {
        if let Some(members) = self.split {
            return format!("split into {}", counted(members, "obligation"));
        }
        if let Some(Marking { cases, traps, .. }) = self.marking {
            let (cases, traps) = (counted(cases as usize, "case"), counted(traps as usize, "trap"));
            return format!("{} by the marking equation, {cases}, {traps}", self.result);
        }
        if self.rounds.is_empty() {
            return format!("{} by the fixpoint alone, {} local moves", self.result, count(self.local_moves));
        }
        let shown = self.block.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = self.block.len().saturating_sub(NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let block = if shown.is_empty() { String::new() } else { format!(" ({shown}{more})") };
        format!(
            "{} with {} of {} processes{block}, {} states at most, {}",
            self.result,
            self.block.len(),
            self.processes,
            count(self.largest_states),
            counted(self.rounds.len(), "round")
        )
    }
}

impl Checked {
    pub(super) fn new(limit: u64, run: &Run, accounts: Vec<Account>, peak_memory: u64) -> Self {
        let obligations = accounts.into_iter().map(|account| Shown::new(run, account)).collect();
        let handed = Handed::default();
        Checked { limit, obligations, handed, checkpoint: None, resumed: 0, traffic: None, peak_memory }
    }

    /// The same, with the threads or ranks that decided it.
    pub(super) fn with_grid(
        self,
        checkpoint: Option<String>,
        resumed: usize,
        traffic: Option<Traffic>,
    ) -> Self {
        Checked { checkpoint, resumed, traffic, ..self }
    }

    /// The same, with the search that decided the rest.
    pub(super) fn handed(self, handed: Handed) -> Self {
        Checked { handed, ..self }
    }

    fn most(&self, of: impl Fn(&Shown) -> u64) -> u64 {
        self.obligations.iter().map(of).max().unwrap_or(0)
    }

    fn sum(&self, of: impl Fn(&Shown) -> u64) -> u64 {
        self.obligations.iter().map(of).sum()
    }
}

impl Figures for Checked {
    fn headline(&self) -> Option<String> {
        self.handed.inner.as_ref()?.headline()
    }

    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let decided = self.obligations.iter().filter(|shown| shown.split.is_none()).count() as u64;
        let mut rows = vec![
            ("obligations", count(decided)),
            (
                "local",
                format!(
                    "{} states, {} moves at most",
                    count(self.most(|shown| shown.local_states)),
                    count(self.most(|shown| shown.local_moves))
                ),
            ),
            ("largest block", counted(self.most(|shown| shown.largest_states) as usize, "state")),
            ("all blocks", counted(self.sum(|shown| shown.states) as usize, "state")),
            ("rounds", count(self.sum(|shown| shown.rounds.len() as u64))),
        ];
        match &self.handed.inner {
            Some(inner) => rows.extend(inner.rows(spent)),
            None => {
                rows.extend(spent.seconds());
                rows.push(("blocks' memory", bytes(self.peak_memory)));
            }
        }
        rows
    }

    fn settings(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        rows.extend(self.handed.left.as_ref().map(|left| ("left", left.clone())));
        rows.extend(self.handed.then.map(|then| ("then", then.to_owned())));
        rows.extend(self.checkpoint.as_deref().map(|place| kept_in(place, self.resumed)));
        rows.extend(self.traffic.map(|traffic| ("traffic", traffic.shown(self.obligations.len() as u64))));
        rows.extend(self.handed.inner.iter().flat_map(|inner| inner.settings()));
        rows
    }

    fn write_tables(&self, strong: &str, off: &str, out: &mut dyn Write) -> io::Result<()> {
        if !self.obligations.is_empty() {
            writeln!(out)?;
        }
        for shown in self.obligations.iter().take(LINES) {
            writeln!(out, "{strong}{}{off}: {}", shown.title(), shown.told())?;
        }
        if self.obligations.len() > LINES {
            let more = (self.obligations.len() - LINES) as u64;
            writeln!(out, "... {} more (--json and --report have all)", count(more))?;
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
        fields.push(("local", Box::new(self)));
        fields
    }

    fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        page::write(&self.obligations, out)?;
        match &self.handed.inner {
            Some(inner) => inner.write_page(out),
            None => Ok(()),
        }
    }
}
