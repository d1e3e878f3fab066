//! The input of every method: the system, the properties, the grid that does jobs, the limits, and the host that takes reports.

use super::checkpoint;
use super::formulas;
use super::options::Patience;
use super::outcome::Bound;
use super::quantities::count;
use super::{Peers, StatusPage, Team};
use crate::grid::driver::{Control, Ended, Opened};
use crate::grid::journal::Identity;
use crate::grid::machine::{Machine, Numbered};
use crate::grid::work::Work;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::halt::Halt;
use gridlock_lts::base::memory::resident;
use gridlock_lts::engine::game::Evidence;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::model::network::{Network, TableSource};
use gridlock_lts::property::Property;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Flags that every search takes.
#[derive(Clone, Default, Debug)]
pub struct Common {
    /// The number of threads.
    pub workers: Option<u16>,
    /// The most states.
    pub max_states: Option<u64>,
    /// Whether the whole proof of an answer is wanted.
    pub evidence: bool,
    /// All flags on the command line.
    pub given: Vec<String>,
}

/// The processes, and what fills their tables.
pub struct Tables {
    /// The processes.
    pub network: Arc<Network>,
    /// Fills tables, and has the names of local states.
    pub source: Box<dyn TableSource>,
    /// Whether the tables are complete.
    pub complete: bool,
}

/// The services of the road for a method while it runs.
pub trait Host: Sync {
    /// Whether and why to stop.
    fn stopped(&self) -> Option<Limit>;
    /// The same as a flag, for computations that poll one.
    fn halt(&self) -> Arc<Halt>;
    /// Begins a phase: what is being done, and the unit that is counted.
    fn begin(&self, what: &'static str, unit: &'static str);
    /// Reports progress, with further text for the line of progress.
    fn progress(&self, counted: u64, transitions: u64, detail: String);
    /// Shows the user a note that is no result.
    fn note(&self, text: &str);
    /// Takes a violation of a method that may find several.
    fn found(&self, tables: &Tables, finding: Finding);
}

/// A violation of a method that may find several.
pub struct Finding {
    /// Counted from 1.
    pub number: u64,
    /// The replayed verdict.
    pub verdict: Verdict,
    /// If it is a run that violates a formula: what it shows.
    pub shown: Option<Shown>,
    /// How it was found; `None`: no search was needed.
    pub origin: Option<Origin>,
}

/// What a run that violates a formula shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// For people.
    pub text: String,
    /// The step, counted from 1, from which it repeats for ever.
    pub repeats_from: Option<usize>,
    /// The step after which the formula cannot be fulfilled any more.
    pub critical_step: Option<usize>,
    /// The number of states that can be reached after that.
    pub closure_states: Option<u64>,
}

impl Shown {
    /// What an evidence against a formula shows.
    pub fn of(evidence: &Evidence) -> Self {
        Shown {
            text: formulas::why(false, evidence).unwrap_or_default(),
            repeats_from: formulas::repeats_from(evidence),
            critical_step: formulas::critical_step(evidence),
            closure_states: evidence.closure,
        }
    }
}

/// How a violation was found, and how it is found again.
pub struct Origin {
    /// The job.
    pub job: u64,
    /// The member of the portfolio that the job belongs to.
    pub member: String,
    /// States expanded until then.
    pub states: u64,
    /// Time since the search began.
    pub after: Duration,
    /// Steps before the finding was shortened.
    pub found_steps: u64,
    /// The beginning of the names of its files, after that of the specification.
    pub stem: String,
    /// The options that do the same search again; the file of the finding follows the first.
    pub repeat: Vec<String>,
    /// The options that repeat the run up to that search.
    pub again: Vec<String>,
    /// The record of the search in the file of the finding.
    pub record: Box<dyn erased_serde::Serialize>,
}

/// See the module head.
pub struct Run<'a> {
    /// The processes; `None` while a search fills their tables.
    pub tables: Option<Tables>,
    /// The properties to check.
    pub properties: Arc<[Property]>,
    /// The name of each property.
    pub names: Vec<String>,
    /// What [`Method::patterns`](super::Method::patterns) mean, one for each.
    pub patterns: Vec<Property>,
    /// The specification, as the user named it.
    pub file: String,
    /// The part of the identity that determines the system and the properties.
    pub asked: Identity,
    /// The processes that do jobs.
    pub peers: &'a Peers,
    /// Flags that every search takes.
    pub common: Common,
    /// Threads of this process.
    pub threads: usize,
    /// Bytes that the process may use.
    pub memory: u64,
    /// Asked whether to stop, and called with reports.
    pub host: &'a dyn Host,
    /// Shows the user a warning.
    pub warn: &'a dyn Fn(String),
}

impl Run<'_> {
    /// The processes.
    ///
    /// # Panics
    /// While they are away, which only the search that took them could notice.
    pub fn tables(&self) -> &Tables {
        self.tables.as_ref().expect("the tables are there between searches")
    }

    /// The part of this process in the run.
    pub fn team<'t>(&'t self, identity: &'t Identity, patience: Patience) -> Team<'t> {
        let stuck_after = patience.stuck_after();
        Team { identity, file: &self.file, threads: self.threads, stuck_after, warn: self.warn }
    }

    /// Has all jobs of a machine done, on threads or ranks. The page of the checkpoint has its status under `name`.
    pub fn lead<M, W>(
        &self,
        team: &Team,
        machine: &mut M,
        work: &Arc<W>,
        opened: Option<Opened<M::Record>>,
        name: &str,
        progress: &dyn Fn(&M::Status),
    ) -> Result<Ended>
    where
        M: Machine<Job = W::Job, Answer = W::Answer, Status: Serialize>,
        W: Work<Job: Numbered + Serialize + DeserializeOwned, Answer: Serialize + DeserializeOwned>,
    {
        let (start, host) = (Instant::now(), self.host);
        let resumed = opened.as_ref().map_or(0, |(_, records)| records.len());
        let page = StatusPage { resumed, ..StatusPage::new(&self.file, self.threads, team.identity) };
        let page = |status: &M::Status| page.bytes(start.elapsed(), name, status);
        let stop = || host.stopped().is_some();
        let control = Control { stop: &stop, progress, page: &page };
        let grid = self.peers.grid(team, &stop)?;
        Ok(grid.lead(machine, work, opened, &control)?.0)
    }

    /// Takes the processes out, for a search that fills their tables.
    pub fn take_tables(&mut self) -> Result<Tables> {
        self.tables.take().ok_or_else(|| Error::internal("the tables are away"))
    }

    /// Puts them back.
    pub fn put_tables(&mut self, tables: Tables) {
        self.tables = Some(tables);
    }

    /// Searches as if this process were the only one.
    pub fn by_itself<R>(&mut self, search: impl FnOnce(&mut Run) -> R) -> R {
        let alone = Peers::alone();
        let mut run = Run {
            tables: self.tables.take(),
            properties: self.properties.clone(),
            names: self.names.clone(),
            patterns: std::mem::take(&mut self.patterns),
            file: self.file.clone(),
            asked: self.asked.clone(),
            peers: &alone,
            common: self.common.clone(),
            threads: self.threads,
            memory: self.memory,
            host: self.host,
            warn: self.warn,
        };
        let result = search(&mut run);
        (self.tables, self.patterns) = (run.tables.take(), std::mem::take(&mut run.patterns));
        result
    }

    /// The network with its properties built in. Its tables must be complete.
    pub fn prepared(&self) -> Arc<Prepared> {
        Arc::new(Prepared::new(self.tables().network.clone(), self.properties.clone()))
    }

    /// The memory that is left for a search. A part is reserved for memory outside the budget: code, stacks, and what the
    /// allocator keeps.
    pub fn room(&self) -> u64 {
        (self.memory - self.memory / 64).saturating_sub(resident().unwrap_or(0))
    }

    /// The threads that do jobs, of all ranks, if each has as many as this one.
    pub fn workers(&self) -> u64 {
        let ranks = u64::from(self.peers.size());
        self.threads as u64 * ranks.saturating_sub(1).max(1)
    }

    /// Tells the user if a window leaves workers without jobs.
    pub fn note_idle(&self, window: u64) {
        if self.workers() > window {
            self.host.note(&format!(
                "note: at most {} of the {} workers have something to do at a time (--window)",
                count(window),
                count(self.workers())
            ));
        }
    }

    /// An equal share of the memory for each thread, a power of two: machines that are nearly the same make the same
    /// jobs.
    pub fn share(&self, bounds: std::ops::RangeInclusive<u64>) -> u64 {
        self.share_beside(0, bounds)
    }

    /// The same share of the memory that is left beside some bytes outside the budgets of jobs.
    pub fn share_beside(&self, kept: u64, bounds: std::ops::RangeInclusive<u64>) -> u64 {
        let share = self.room().saturating_sub(kept) / self.threads.max(1) as u64;
        1 << share.clamp(*bounds.start(), *bounds.end()).ilog2()
    }

    /// An error if the run is to stop.
    pub fn go_on(&self) -> Result<()> {
        self.host.stopped().map_or(Ok(()), |limit| Err(Error::Limit(limit)))
    }

    /// Why the run was stopped.
    pub fn limit(&self) -> Limit {
        self.host.stopped().unwrap_or(Limit::Interrupted)
    }

    /// The bound of a run that was stopped.
    pub fn stopped(&self, checkpoint: bool) -> Bound {
        Bound::from(self.limit()).resumable(checkpoint)
    }

    /// The identity of this run: the method, the system and the properties, and everything else that decides which jobs there
    /// are.
    pub fn identity<const N: usize>(&self, method: &str, parts: [(&str, String); N]) -> Identity {
        let own = parts.map(|(name, value)| (name.to_owned(), value));
        let mut identity = vec![(checkpoint::METHOD.to_owned(), method.to_owned())];
        identity.extend(self.asked.iter().cloned());
        identity.extend(own);
        identity
    }
}
