//! A local search: processes one by one, and a block of them where that does not decide.
//!
//! Obligations are jobs ([`crate::local`]), for threads and for ranks; the library decides them
//! ([`gridlock_lts::engine::local`]). This module shortens counterexamples and hands undecided obligations over to another
//! search. Invariant: the conclusion is that of the library or of that other search.

mod figures;
mod page;

use super::parts::shorter;
use super::quantities::{count, counted};
use super::then::{Left, Onward, Then};
use super::{Bound, Checkpoint, Common, Listed, Method, Outcome, Patience, Row, Run, StatusPage};
use crate::fingerprint::tables_made;
use crate::grid::driver::Ended;
use crate::grid::journal::Identity;
use crate::local::{Deciding, LocalStatus, Obligations, Spend};
use figures::Checked;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::local::{Account, DEFAULT_LIMIT, DEFAULT_PAIRS, DEFAULT_TRIES, Fate, TaskEnd, Why};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::model::trace::Trace;
use gridlock_lts::property::{Property, violated_initially};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name of the figures in the page of a checkpoint.
const NUMBERS: &str = "local";

/// A local search.
#[derive(clap::Args, Clone, Debug)]
pub struct Local {
    /// What one obligation may take: states of its blocks, all rounds together, or as much work on paths
    #[arg(
        long,
        value_name = "N",
        default_value_t = DEFAULT_LIMIT,
        help_heading = "Local (with --search local)"
    )]
    local_limit: u64,

    /// Freedom from deadlock: try first whether equations show it, without exploring anything
    #[arg(long, help_heading = "Local (with --search local)")]
    marking: bool,

    #[command(flatten)]
    onward: Onward,

    #[command(flatten)]
    checkpoint: Checkpoint,

    #[command(flatten)]
    patience: Patience,

    /// Write an HTML page about the run
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl Listed for Local {
    const NAME: &'static str = "local";
    const CHOSEN_BY: &'static str = "--search local";
    const ABOUT: &'static str =
        "Local: processes one by one, then a block of them that grows until it decides";

    fn decides(property: &Property) -> bool {
        match property {
            Property::DeadlockFree { .. } | Property::Never(_) | Property::Monitor(_) => true,
            Property::Formula(_) => false,
        }
    }

    fn status(page: &StatusPage) -> Vec<Row> {
        let rows = |status: LocalStatus| {
            vec![
                ("obligations", count(status.decided)),
                ("all blocks", format!("{} states", count(status.states))),
            ]
        };
        page.figures::<LocalStatus>(NUMBERS).map_or(Vec::new(), rows)
    }
}

impl Method for Local {
    fn runs_on_ranks(&self) -> bool {
        true
    }

    /// A system whose tables cannot be completed is handed over at once.
    fn prefers_complete_tables(&self) -> bool {
        true
    }

    fn check(&self, _: &Common) -> Result<()> {
        self.checkpoint.check()
    }

    fn checkpoint(&self) -> Option<&Checkpoint> {
        Some(&self.checkpoint)
    }

    fn report(&self) -> Option<&Path> {
        self.report.as_deref()
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        let nothing = |run: &Run| Checked::new(self.local_limit, run, Vec::new(), 0);
        if !run.tables().complete {
            let figures = nothing(run);
            let figures = |handed| Box::new(figures.handed(handed)) as Box<_>;
            return self.onward.go_on(run, Left::tables(), Duration::ZERO, false, figures);
        }
        let start = Instant::now();
        if let Some(property) = violated_initially(&run.properties) {
            let verdict = Verdict::Violated { property, trace: Trace::default() };
            return Ok(Outcome::of(verdict, start.elapsed(), Box::new(nothing(run)), || run.limit().into()));
        }
        let work = self.work(run)?;
        let identity = self.identity(run);
        let opened = self.checkpoint.open(&identity)?;
        let resumed = opened.as_ref().map_or(0, |(_, records)| records.len());
        let mut machine = Obligations::new(work.setting.obligations());
        let host = run.host;
        host.begin("checking blocks", "states");
        let progress = |status: &LocalStatus| {
            host.progress(status.states, 0, format!("{} obligations decided", count(status.decided)));
        };
        let team = run.team(&identity, self.patience);
        let ended = run.lead(&team, &mut machine, &work, opened, NUMBERS, &progress)?;
        let peak_memory = machine.peak_memory();
        let (accounts, decided) = machine.end();
        let left = left(run, accounts.last());
        let figures = Checked::new(self.local_limit, run, accounts, peak_memory).with_grid(
            self.checkpoint.shown(),
            resumed,
            run.peers.traffic(),
        );
        let time = start.elapsed();
        let unknown = |bound: Bound, figures: Checked| Ok(Outcome::unknown(bound, time, Box::new(figures)));
        let verdict = match (ended, decided) {
            (Ended::Journal(trouble), _) => return unknown(Bound::checkpoint(trouble), figures),
            (Ended::Stopped | Ended::Limit(_), _) | (_, Some((_, TaskEnd::Stopped))) => {
                return unknown(run.stopped(self.checkpoint.checkpoint.is_some()), figures);
            }
            (Ended::Done, None) => Verdict::Holds,
            (Ended::Done, Some((obligation, TaskEnd::Run(trace)))) => {
                work.setting.verdict(obligation, trace)?
            }
            (Ended::Done, Some((_, TaskEnd::Failed(why)))) => return Err(Error::Internal(why)),
            (Ended::Done, Some(_)) => {
                let figures = |handed| Box::new(figures.handed(handed)) as Box<_>;
                return self.onward.go_on(run, left, time, true, figures);
            }
        };
        let verdict = shorter(run, verdict)?;
        let limit = match verdict {
            Verdict::Unknown(limit) => limit,
            _ => run.limit(),
        };
        Ok(Outcome::of(verdict, time, Box::new(figures), || limit.into()))
    }

    fn serve(&self, run: &mut Run) -> Result<u8> {
        if !run.tables().complete {
            return self.onward.serve(run);
        }
        if violated_initially(&run.properties).is_some() {
            return run.peers.wait_for_end(None);
        }
        let (work, identity) = (self.work(run)?, self.identity(run));
        let served = run.peers.serve(&run.team(&identity, self.patience), |grid| grid.serve_until(&work))?;
        drop(work);
        served.map_or_else(|| self.onward.serve(run), Ok)
    }
}

impl Local {
    /// A search that leaves obligations over a limit undecided, and hands nothing over.
    pub fn bounded(local_limit: u64) -> Self {
        let onward = Onward { then: Then::None };
        let (checkpoint, patience, report) = (Checkpoint::default(), Patience::default(), None);
        Local { local_limit, marking: false, onward, checkpoint, patience, report }
    }

    fn limit(&self, run: &Run) -> u64 {
        run.common.max_states.map_or(self.local_limit, |most| most.min(self.local_limit))
    }

    fn work(&self, run: &Run) -> Result<Arc<Deciding>> {
        let (limit, marking) = (self.limit(run), self.marking);
        let spend = Spend { limit, tries: DEFAULT_TRIES, pairs: DEFAULT_PAIRS, marking };
        let (net, properties) = (run.tables().network.clone(), run.properties.clone());
        Deciding::new(net, properties, spend, run.room()).map(Arc::new)
    }

    /// The identity: everything that decides which jobs there are and their answers.
    fn identity(&self, run: &Run) -> Identity {
        let made = tables_made(&run.tables().network);
        let (limit, marking) = (self.limit(run).to_string(), self.marking.to_string());
        run.identity(Self::NAME, [("local limit", limit), ("marking", marking), ("tables made", made)])
    }
}

/// Why there is no verdict, and the states that are still suspicious.
fn left(run: &Run, account: Option<&Account>) -> Left {
    let Some(account) = account else {
        let message = "the processes do not fit into the memory (--max-memory)".to_owned();
        return Left { name: "max-memory", message };
    };
    let name = figures::name_of(run, account.obligation);
    let leaves = run.tables().network.leaves.len();
    let block = format!("{} of {leaves} processes", account.block.len());
    match account.result {
        Fate::Left(Why::Limit(limit)) => Left {
            name: "local-limit",
            message: format!(
                "`{name}` is suspicious still: blocks up to {block}, and the paths in them, take more work than {} (--local-limit)",
                counted(usize::try_from(limit).unwrap_or(usize::MAX), "state")
            ),
        },
        _ => Left {
            name: "max-memory",
            message: format!(
                "`{name}` is suspicious still: a block of {block} does not fit into the memory (--max-memory)"
            ),
        },
    }
}
