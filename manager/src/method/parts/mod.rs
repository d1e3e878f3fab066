//! A search by parts: processes are put together two at a time and made smaller each time, or explored by their interfaces.
//!
//! The library decides ([`gridlock_lts::engine::parts`]); this chooses groups by name, shortens counterexamples, and hands
//! over to another search what is left. Invariant: the conclusion is that of the library or of the search that it was
//! handed over to.

mod figures;
mod page;

use super::quantities::{count, counted};
use super::subsystem::{check_groups, find_groups};
use super::then::{Left, Onward, Then};
use super::{Common, Listed, Method, Outcome, Run, Tables};
use figures::Put;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::parts::{
    self, Account, DEFAULT_LIMIT, DEFAULT_MEMBERS, Fate, Options, Reduction, Stages, Why,
};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::property::Property;
use gridlock_worker::hunt::shorten;
use gridlock_worker::life::Life;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

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

    /// Write an HTML page about the run
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// What `--parts` says by default.
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

impl Default for Parts {
    fn default() -> Self {
        Parts {
            parts: AUTO.to_owned(),
            parts_limit: DEFAULT_LIMIT,
            stages: Wanted::default(),
            members_limit: DEFAULT_MEMBERS as u64,
            onward: Onward::default(),
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
}

impl Method for Parts {
    /// Where tables cannot be completed, only interfaces can be explored.
    fn prefers_complete_tables(&self) -> bool {
        true
    }

    fn check(&self, _: &Common) -> Result<()> {
        if self.onward.then == Then::Parts {
            return Err(Error::input("--then parts is for --search local: this is a search by parts"));
        }
        check_groups("--parts", &self.parts)
    }

    fn report(&self) -> Option<&Path> {
        self.report.as_deref()
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        let complete = run.tables().complete;
        if !complete && self.stages == Wanted::Aggregation {
            let figures = Put::new(self, run, Vec::new(), 0);
            return self.onward.go_on(run, Left::tables(), Duration::ZERO, false, |handed| {
                Box::new(figures.handed(handed))
            });
        }
        let groups = self.groups(run)?;
        let host = run.host;
        host.begin(if complete { "putting together" } else { "exploring interfaces" }, "states");
        let progress = |left: u64, states: u64, trials: u64| {
            host.progress(states, 0, format!("{} left, {} trials", count(left), count(trials)));
        };
        let stop = || host.stopped();
        let options = Options {
            workers: run.threads,
            limit: run.common.max_states.map_or(self.parts_limit, |most| most.min(self.parts_limit)),
            groups: &groups,
            reduction: Reduction::default(),
            stages: self.stages.into(),
            members: usize::try_from(self.members_limit).unwrap_or(usize::MAX),
            max_memory: run.room(),
            stop: &stop,
            progress: &progress,
        };
        let properties = run.properties.clone();
        let report = match complete {
            true => parts::check(&run.tables().network.clone(), &properties, &options)?,
            false => {
                let Tables { network, mut source, complete } = run.take_tables()?;
                let mut network = Arc::unwrap_or_clone(network);
                let report = parts::check_open(&mut network, &mut *source, &properties, &options);
                run.put_tables(Tables { network: Arc::new(network), source, complete });
                report?
            }
        };
        let left = report.verdict.is_none().then(|| left(report.accounts.last(), complete));
        let figures = Put::new(self, run, report.accounts, report.peak_memory);
        match (report.verdict, left) {
            (Some(verdict), _) => {
                let verdict = shorter(run, verdict)?;
                let limit = match verdict {
                    Verdict::Unknown(limit) => limit,
                    _ => run.limit(),
                };
                Ok(Outcome::of(verdict, report.time, Box::new(figures), || limit.into()))
            }
            (None, left) => {
                let left = left.ok_or_else(|| Error::internal("no verdict, and nothing was left"))?;
                self.onward.go_on(run, left, report.time, false, |handed| Box::new(figures.handed(handed)))
            }
        }
    }
}

impl Parts {
    /// The leaves of each group that the user named.
    fn groups(&self, run: &Run) -> Result<Vec<Vec<LeafIx>>> {
        if self.parts == AUTO {
            return Ok(Vec::new());
        }
        find_groups("--parts", &run.tables().network, &self.parts)
    }
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

/// What is over the limit.
fn too_large(account: Option<&Account>, limit: u64, complete: bool) -> String {
    let limit = count(limit);
    let interfaces = format!(
        "their interfaces together have more than {limit} states (--parts-limit), or one of them more than \
         --members-limit allows"
    );
    let explored = account.is_some_and(|account| account.interfaces.is_some());
    let products = format!("any two of them together have more than {limit} states (--parts-limit)");
    match (complete, explored) {
        (false, _) => format!("their tables cannot be completed ahead of the search, and {interfaces}"),
        (true, true) if account.is_some_and(|account| account.trials == 0) => interfaces,
        (true, true) => format!("{products}, and {interfaces}"),
        (true, false) => products,
    }
}

/// A counterexample that was put together may go round; this shortens it as a hunt does.
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
