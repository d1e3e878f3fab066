//! Handing over: a search that may leave properties undecided lets another one decide.
//!
//! On ranks all of them go on if that search runs on ranks; otherwise rank 0 goes on alone.
//!
//! Invariant: the conclusion is that of the search that went on, or `unknown`, with the properties that were left and the
//! reason.

use super::exhaustive::{BreadthFirst, DepthFirst};
use super::parts::Parts;
use super::slices::Slices;
use super::{Bound, Figures, Method, Outcome, Run};
use gridlock_lts::base::error::Result;
use serde::Serialize;
use std::time::Duration;

/// The flag.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
pub(super) struct Onward {
    /// Parts, local: what to do if the limit is reached before everything is decided
    #[arg(
        long,
        value_name = "SEARCH",
        value_enum,
        default_value_t,
        help_heading = "Parts (with --search parts)"
    )]
    pub(super) then: Then,
}

/// The values of `--then`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Then {
    /// Search the whole system breadth first
    #[default]
    Bfs,
    /// Search the whole system depth first
    Dfs,
    /// Search the whole system by slices
    Slice,
    /// With --search local: search by parts
    Parts,
    /// Nothing: say `unknown`, and what was left
    None,
}

impl Then {
    fn name(self) -> &'static str {
        match self {
            Then::Bfs => "breadth first",
            Then::Dfs => "depth first",
            Then::Slice => "by slices",
            Then::Parts => "by parts",
            Then::None => "none",
        }
    }

    fn method(self) -> Option<Box<dyn Method>> {
        Some(match self {
            Then::Bfs => Box::new(BreadthFirst::default()),
            Then::Dfs => Box::new(DepthFirst::default()),
            Then::Slice => Box::new(Slices::default()),
            Then::Parts => Box::new(Parts::default()),
            Then::None => return None,
        })
    }
}

/// Why there is no answer yet.
pub(super) struct Left {
    /// For people: the text behind the verdict.
    pub(super) message: String,
    /// A stable name.
    pub(super) name: &'static str,
}

impl Left {
    /// The tables cannot be completed.
    pub(super) fn tables() -> Self {
        Left {
            name: "tables",
            message: "the tables of the processes cannot be completed ahead of the search".to_owned(),
        }
    }

    /// There are no interfaces either: what one process does with others is all that it does.
    pub(super) fn only_process() -> Self {
        Left {
            name: "tables",
            message: "there is only one process, and its tables cannot be completed ahead of the search"
                .to_owned(),
        }
    }
}

/// The properties that were left, and the search that went on.
#[derive(Default, Serialize)]
pub(super) struct Handed {
    /// Why properties were left, if any were.
    pub(super) left: Option<String>,
    /// The search that went on.
    pub(super) then: Option<&'static str>,
    #[serde(skip)]
    pub(super) inner: Option<Box<dyn Figures>>,
}

impl Onward {
    /// On a rank that was released from its jobs, or never had any: goes on with the search that rank 0 goes on with, or waits
    /// for the end.
    pub(super) fn serve(self, run: &mut Run) -> Result<u8> {
        match self.usable(run) {
            Some(method) if method.runs_on_ranks() => method.serve(run),
            _ => run.peers.wait_for_end(None),
        }
    }

    /// Whether there is a method that can go on.
    pub(super) fn goes_on(self, run: &Run) -> bool {
        self.usable(run).is_some()
    }

    /// The method that goes on, if there is one that can.
    fn usable(self, run: &Run) -> Option<Box<dyn Method>> {
        let needs_tables = |method: &dyn Method| method.needs_complete_tables().is_some();
        self.then.method().filter(|method| run.tables().complete || !needs_tables(&**method))
    }

    /// Lets another search decide, or reports that no search decided. The figures are those of the search that left
    /// properties, with their outcome. `release`: other ranks are doing jobs, and must be released for another search.
    pub(super) fn go_on(
        self,
        run: &mut Run,
        left: Left,
        time: Duration,
        release: bool,
        figures: impl FnOnce(Handed) -> Box<dyn Figures>,
    ) -> Result<Outcome> {
        let Some(method) = self.usable(run) else {
            let message = format!("{}; --then bfs searches the whole system instead", left.message);
            let handed = Handed { left: Some(left.message), ..Handed::default() };
            return Ok(Outcome::unknown(Bound::new(left.name, message), time, figures(handed)));
        };
        run.host.note(&format!("note: {}; now {}", left.message, self.then.name()));
        let outcome = match run.peers.is_distributed() {
            true if method.runs_on_ranks() => {
                if release {
                    run.peers.release()?;
                }
                method.conduct(run)?
            }
            true => run.by_itself(|run| method.conduct(run))?,
            false => method.conduct(run)?,
        };
        let handed =
            Handed { left: Some(left.message), then: Some(self.then.name()), inner: Some(outcome.figures) };
        Ok(Outcome { figures: figures(handed), time: time + outcome.time, ..outcome })
    }
}
