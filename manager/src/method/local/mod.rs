//! A local search: processes one by one, and a block of them where that does not decide.
//!
//! The library decides ([`gridlock_lts::engine::local`]); this shortens counterexamples and hands over to another search
//! what is left. Invariant: the conclusion is that of the library or of the search that it was handed over to.

mod figures;
mod page;

use super::parts::shorter;
use super::quantities::count;
use super::then::{Left, Onward};
use super::{Listed, Method, Outcome, Run};
use figures::Checked;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::local::{
    self, Account, DEFAULT_LIMIT, DEFAULT_PAIRS, DEFAULT_TRIES, Fate, Options, Why,
};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::property::Property;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A local search.
#[derive(clap::Args, Clone, Debug)]
pub struct Local {
    /// The most states that the blocks of one obligation may have, all rounds together
    #[arg(
        long,
        value_name = "N",
        default_value_t = DEFAULT_LIMIT,
        help_heading = "Local (with --search local)"
    )]
    local_limit: u64,

    #[command(flatten)]
    onward: Onward,

    /// Write a page (HTML) about the run
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
}

impl Method for Local {
    /// Tables that cannot be completed are handed over at once.
    fn prefers_complete_tables(&self) -> bool {
        true
    }

    fn report(&self) -> Option<&Path> {
        self.report.as_deref()
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        if !run.tables().complete {
            let figures = Checked::new(self.local_limit, run, Vec::new(), 0);
            let figures = |handed| Box::new(figures.handed(handed)) as Box<_>;
            return self.onward.go_on(run, Left::tables(), Duration::ZERO, figures);
        }
        let host = run.host;
        host.begin("checking blocks", "states");
        let progress = |done: u64, states: u64| {
            host.progress(states, 0, format!("{} obligations decided", count(done)));
        };
        let stop = || host.stopped();
        let options = Options {
            workers: run.threads,
            limit: run.common.max_states.map_or(self.local_limit, |most| most.min(self.local_limit)),
            tries: DEFAULT_TRIES,
            pairs: DEFAULT_PAIRS,
            max_memory: run.room(),
            stop: &stop,
            progress: &progress,
        };
        let (net, properties) = (run.tables().network.clone(), run.properties.clone());
        let report = local::check(&net, &properties, &options)?;
        let left = report.verdict.is_none().then(|| left(run, report.accounts.last()));
        let figures = Checked::new(self.local_limit, run, report.accounts, report.peak_memory);
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
                let figures = |handed| Box::new(figures.handed(handed)) as Box<_>;
                self.onward.go_on(run, left, report.time, figures)
            }
        }
    }
}

/// Why there is no verdict, and what is suspicious still.
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
                "`{name}` is suspicious still: the blocks up to {block} have more than {} states (--local-limit)",
                count(limit)
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
