//! A search by parts: processes are put together two at a time and made smaller each time, or explored by their interfaces.
//!
//! The computations are jobs ([`crate::parts`]), for threads and for ranks; the library chooses them, and decides
//! ([`gridlock_lts::engine::parts`]). This module chooses groups by name, shortens counterexamples, and hands undecided
//! properties over to another search. If tables are filled during the search, rank 0 alone explores interfaces. Invariant:
//! the conclusion is that of the library or of that other search.

mod figures;
mod page;
mod picture;

use super::quantities::{count, counted};
use super::subsystem::{check_groups, find_groups};
use super::then::{Left, Onward, Then};
use super::{Bound, Checkpoint, Common, Listed, Method, Outcome, Patience, Row, Run, StatusPage, Tables};
use crate::fingerprint::tables_made;
use crate::grid::driver::Ended;
use crate::grid::journal::Identity;
use crate::parts::{Aggregations, PartsQuestion, Trying};
use figures::Put;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::parts::{
    self, Account, DEFAULT_LIMIT, DEFAULT_MEMBERS, Fate, Options, PartsReport, PartsStatus, Reduction,
    Stages, Trials, Why,
};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::model::trace::Trace;
use gridlock_lts::property::{Property, violated_initially};
use gridlock_worker::hunt::shorten;
use gridlock_worker::life::Life;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A search by parts.
#[derive(clap::Args, Clone, Debug)]
pub struct Parts {
    /// Processes that are put together first: names with commas, groups with semicolons in between, or `auto`
    #[arg(long, value_name = "GROUPS", default_value = AUTO, help_heading = "Parts (with --search parts)")]
    parts: String,

    /// The most states that processes which were put together may have before they are reduced
    #[arg(
        long,
        value_name = "N",
        default_value_t = DEFAULT_LIMIT,
        help_heading = "Parts (with --search parts)"
    )]
    parts_limit: u64,

    /// How the two processes are chosen that are put together next
    #[arg(
        long,
        value_name = "WHICH",
        value_enum,
        default_value_t,
        help_heading = "Parts (with --search parts)"
    )]
    trials: Choosing,

    /// What is tried before another search takes over
    #[arg(
        long,
        value_name = "WHICH",
        value_enum,
        default_value_t,
        help_heading = "Parts (with --search parts)"
    )]
    stages: Wanted,

    /// The most states of a process that may have to be told apart after the same steps with others
    #[arg(
        long,
        value_name = "N",
        default_value_t = DEFAULT_MEMBERS as u64,
        help_heading = "Parts (with --search parts)"
    )]
    members_limit: u64,

    #[command(flatten)]
    onward: Onward,

    #[command(flatten)]
    checkpoint: Checkpoint,

    #[command(flatten)]
    patience: Patience,

    /// Write the trees of what was put together as a picture (.svg), with states before and after reduction
    #[arg(long, value_name = "FILE", help_heading = "Parts (with --search parts)")]
    tree_out: Option<PathBuf>,

    /// Write an HTML page about the run
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// The name of the figures in the page of a checkpoint.
const NUMBERS: &str = "parts";
/// The default value of `--parts`.
const AUTO: &str = "auto";
/// States that are expanded to shorten a counterexample.
const SHORTENING: u64 = 50_000;

/// The values of `--stages`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Wanted {
    /// Put processes together; where that is too large, explore them by their interfaces
    #[default]
    All,
    /// Only put processes together
    Aggregation,
    /// Only explore processes by their interfaces
    Interfaces,
}

impl From<Wanted> for Stages {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::All => Stages::All,
            Wanted::Aggregation => Stages::Aggregation,
            Wanted::Interfaces => Stages::Interfaces,
        }
    }
}

/// The values of `--trials`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Choosing {
    /// Put up to 16 pairs together, the smallest first, and take the best
    #[default]
    Many,
    /// Put four pairs together that an estimate prefers, and take the best
    Few,
    /// Take the pair that an estimate prefers
    None,
}

impl From<Choosing> for Trials {
    fn from(choosing: Choosing) -> Self {
        match choosing {
            Choosing::Many => Trials::Many,
            Choosing::Few => Trials::Few,
            Choosing::None => Trials::None,
        }
    }
}

impl Default for Parts {
    fn default() -> Self {
        Parts {
            parts: AUTO.to_owned(),
            parts_limit: DEFAULT_LIMIT,
            stages: Wanted::default(),
            members_limit: DEFAULT_MEMBERS as u64,
            trials: Choosing::default(),
            onward: Onward::default(),
            checkpoint: Checkpoint::default(),
            patience: Patience::default(),
            tree_out: None,
            report: None,
        }
    }
}

impl Listed for Parts {
    const NAME: &'static str = "parts";
    const CHOSEN_BY: &'static str = "--search parts";
    const ABOUT: &'static str = "By parts: processes are put together one by one and made smaller each time, or seen by their interfaces";

    fn decides(property: &Property) -> bool {
        match property {
            Property::DeadlockFree { .. } | Property::Never(_) | Property::Monitor(_) => true,
            Property::Formula(_) => false,
        }
    }

    fn status(page: &StatusPage) -> Vec<Row> {
        let rows = |status: PartsStatus| {
            vec![
                ("obligations", format!("{} hold", count(status.decided))),
                ("components left", count(status.left)),
                ("all parts", format!("{} states", count(status.states))),
                ("trials", count(status.trials)),
            ]
        };
        page.figures::<PartsStatus>(NUMBERS).map_or(Vec::new(), rows)
    }
}

impl Method for Parts {
    fn runs_on_ranks(&self) -> bool {
        true
    }

    /// Where tables cannot be completed, only interfaces can be explored.
    fn prefers_complete_tables(&self) -> bool {
        true
    }

    fn check(&self, _: &Common) -> Result<()> {
        if self.onward.then == Then::Parts {
            return Err(Error::input("--then parts is for --search local: this is a search by parts"));
        }
        self.checkpoint.check()?;
        if let Some(path) = self.tree_out.as_deref().filter(|path| !is_svg(path)) {
            return Err(Error::input(format!(
                "--tree-out writes .svg, and {} does not end in that",
                path.display()
            )));
        }
        check_groups("--parts", &self.parts)
    }

    fn checkpoint(&self) -> Option<&Checkpoint> {
        Some(&self.checkpoint)
    }

    fn report(&self) -> Option<&Path> {
        self.report.as_deref()
    }

    fn picture(&self) -> Option<(&'static str, &Path)> {
        self.tree_out.as_deref().map(|path| ("--tree-out", path))
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        if self.waits_for_tables(run) {
            return run.by_itself(|run| self.explore_open(run));
        }
        if !run.tables().complete {
            let figures = Put::new(self, run, Vec::new(), 0);
            return self.onward.go_on(run, Left::tables(), Duration::ZERO, false, |handed| {
                Box::new(figures.handed(handed))
            });
        }
        let start = Instant::now();
        if let Some(property) = violated_initially(&run.properties) {
            let verdict = Verdict::Violated { property, trace: Trace::default() };
            let figures = Put::new(self, run, Vec::new(), 0);
            return Ok(Outcome::of(verdict, start.elapsed(), Box::new(figures), || run.limit().into()));
        }
        let budget = Arc::new(Budget::new(run.room()));
        let work = Arc::new(Trying::new(budget.clone(), false));
        let mut machine = Aggregations::new(self.asked(run, budget)?)?;
        let identity = self.identity(run);
        let opened = self.checkpoint.open(&identity)?;
        let resumed = opened.as_ref().map_or(0, |(_, records)| records.len());
        let host = run.host;
        host.begin("putting together", "states");
        let progress = |status: &PartsStatus| {
            let PartsStatus { left, states, trials, .. } = *status;
            host.progress(states, 0, format!("{} left, {}", count(left), counted(trials as usize, "trial")));
        };
        let team = run.team(&identity, self.patience);
        let ended = run.lead(&team, &mut machine, &work, opened, NUMBERS, &progress)?;
        let report = machine.report(&|| host.stopped())?;
        let undecided = matches!(report.verdict, Some(Verdict::Unknown(_)));
        let outcome = self.outcome(run, report, start.elapsed(), true, |figures, run| {
            figures.with_grid(self.checkpoint.shown(), resumed, run.peers.traffic())
        })?;
        Ok(match ended {
            Ended::Journal(trouble) if undecided => {
                Outcome::unknown(Bound::checkpoint(trouble), outcome.time, outcome.figures)
            }
            Ended::Journal(_) | Ended::Done | Ended::Stopped | Ended::Limit(_) => outcome,
        })
    }

    fn serve(&self, run: &mut Run) -> Result<u8> {
        if self.waits_for_tables(run) {
            return run.peers.wait_for_end(None);
        }
        if !run.tables().complete {
            return self.onward.serve(run);
        }
        if violated_initially(&run.properties).is_some() {
            return run.peers.wait_for_end(None);
        }
        let work = Arc::new(Trying::new(Arc::new(Budget::new(run.room())), true));
        let identity = self.identity(run);
        let served = run.peers.serve(&run.team(&identity, self.patience), |grid| grid.serve_until(&work))?;
        drop(work);
        served.map_or_else(|| self.onward.serve(run), Ok)
    }
}

impl Parts {
    /// Whether tables are filled while interfaces are explored. Only one process can fill them, and after that the search
    /// that follows cannot run on all ranks.
    fn waits_for_tables(&self, run: &Run) -> bool {
        !run.tables().complete && self.stages != Wanted::Aggregation
    }

    /// Explores interfaces while tables are filled.
    fn explore_open(&self, run: &mut Run) -> Result<Outcome> {
        if self.stages == Wanted::All && run.tables().network.leaves.len() == 1 && self.onward.goes_on(run) {
            let figures = Put::new(self, run, Vec::new(), 0);
            return self.onward.go_on(run, Left::only_process(), Duration::ZERO, false, |handed| {
                Box::new(figures.handed(handed))
            });
        }
        let (groups, host) = (self.groups(run)?, run.host);
        host.begin("exploring interfaces", "states");
        let progress = |left: u64, states: u64, _: u64| {
            host.progress(states, 0, format!("{} left", count(left)));
        };
        let stop = || host.stopped();
        let options = Options {
            workers: run.threads,
            limit: self.limit(run),
            groups: &groups,
            reduction: Reduction::default(),
            stages: self.stages.into(),
            members: self.members(),
            trials: self.trials.into(),
            max_memory: run.room(),
            stop: &stop,
            progress: &progress,
        };
        let properties = run.properties.clone();
        let Tables { network, mut source, complete } = run.take_tables()?;
        let mut network = Arc::unwrap_or_clone(network);
        let report = parts::check_open(&mut network, &mut *source, &properties, &options);
        run.put_tables(Tables { network: Arc::new(network), source, complete });
        let report = report?;
        let time = report.time;
        self.outcome(run, report, time, false, |figures, _| figures)
    }

    /// Turns a report into an outcome: a verdict, or that of another search. `release`: other ranks are doing jobs.
    fn outcome(
        &self,
        run: &mut Run,
        report: PartsReport,
        time: Duration,
        release: bool,
        with: impl FnOnce(Put, &Run) -> Put,
    ) -> Result<Outcome> {
        let left = report.verdict.is_none().then(|| left(report.accounts.last(), run.tables().complete));
        let figures = with(Put::new(self, run, report.accounts, report.peak_memory), run);
        match (report.verdict, left) {
            (Some(verdict), _) => {
                let verdict = shorter(run, verdict)?;
                let limit = match verdict {
                    Verdict::Unknown(limit) => limit,
                    _ => run.limit(),
                };
                let bound = || Bound::from(limit).resumable(self.checkpoint.checkpoint.is_some());
                Ok(Outcome::of(verdict, time, Box::new(figures), bound))
            }
            (None, left) => {
                let left = left.ok_or_else(|| Error::internal("no verdict, and nothing was left"))?;
                self.onward.go_on(run, left, time, release, |handed| Box::new(figures.handed(handed)))
            }
        }
    }

    fn limit(&self, run: &Run) -> u64 {
        run.common.max_states.map_or(self.parts_limit, |most| most.min(self.parts_limit))
    }

    fn members(&self) -> usize {
        usize::try_from(self.members_limit).unwrap_or(usize::MAX)
    }

    fn asked(&self, run: &Run, budget: Arc<Budget>) -> Result<PartsQuestion> {
        Ok(PartsQuestion {
            net: run.tables().network.clone(),
            properties: run.properties.clone(),
            limit: self.limit(run),
            groups: self.groups(run)?,
            stages: self.stages.into(),
            members: self.members(),
            trials: self.trials.into(),
            budget,
        })
    }

    /// The identity: everything that decides which jobs there are and their answers.
    fn identity(&self, run: &Run) -> Identity {
        let made = tables_made(&run.tables().network);
        let (limit, members) = (self.limit(run).to_string(), self.members_limit.to_string());
        let [stages, trials] =
            [format!("{:?}", self.stages), format!("{:?}", self.trials)].map(|name| name.to_lowercase());
        run.identity(
            Self::NAME,
            [
                ("parts", self.parts.clone()),
                ("parts limit", limit),
                ("members limit", members),
                ("stages", stages),
                ("trials", trials),
                ("tables made", made),
            ],
        )
    }

    /// The leaves of each group that the user named.
    fn groups(&self, run: &Run) -> Result<Vec<Vec<LeafIx>>> {
        if self.parts == AUTO {
            return Ok(Vec::new());
        }
        find_groups("--parts", &run.tables().network, &self.parts)
    }
}

fn is_svg(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg"))
}

/// Why there is no verdict.
fn left(account: Option<&Account>, complete: bool) -> Left {
    let components = account.map_or(0, |account| account.left.len());
    if components == 0 {
        let message = "the processes do not fit into the memory (--max-memory)".to_owned();
        return Left { name: "max-memory", message };
    }
    let (name, why) = match account.map(|account| &account.result) {
        Some(Fate::Left(Why::Limit(limit))) => ("parts-limit", too_large(account, *limit, complete)),
        Some(Fate::Left(Why::Run)) => {
            ("parts-run", "there is a violation, but its run does not fit into the memory".to_owned())
        }
        _ => ("max-memory", "two of them together do not fit into the memory (--max-memory)".to_owned()),
    };
    let are = if components == 1 { "is" } else { "are" };
    Left { name, message: format!("{} {are} left, and {why}", counted(components, "component")) }
}

/// The message about products over the limit.
fn too_large(account: Option<&Account>, limit: u64, complete: bool) -> String {
    let limit = counted(usize::try_from(limit).unwrap_or(usize::MAX), "state");
    let interfaces = format!(
        "their interfaces together have more than {limit} (--parts-limit), or one of them more than \
         --members-limit allows"
    );
    let explored = account.is_some_and(|account| account.interfaces.is_some());
    let products = format!("any two of them together have more than {limit} (--parts-limit)");
    match (complete, explored) {
        (false, _) => format!("their tables cannot be completed ahead of the search, and {interfaces}"),
        (true, true) if account.is_some_and(|account| account.trials == 0) => interfaces,
        (true, true) => format!("{products}, and {interfaces}"),
        (true, false) => products,
    }
}

/// A counterexample of a product may contain loops; this shortens it as a hunt does.
pub(super) fn shorter(run: &Run, verdict: Verdict) -> Result<Verdict> {
    let effort = shorten::Effort { states: SHORTENING, memory: run.room() };
    let (life, done) = (Life::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            while !done.load(Relaxed) {
                if run.host.stopped().is_some() {
                    life.cancel();
                }
                std::thread::park_timeout(Duration::from_millis(20));
            }
        });
        let (network, properties) = (&run.tables().network, &run.properties);
        let verdict = shorten::shortened(network, properties, verdict, effort, &life);
        done.store(true, Relaxed);
        watching.thread().unpark();
        verdict
    })
}
