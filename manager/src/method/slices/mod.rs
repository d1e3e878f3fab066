//! An exhaustive search by slices: the states are divided by the local states of a subsystem.
//!
//! Every state is expanded once, so counts are as exact as those of a search without slices, and the memory is that of the
//! largest slice. Invariant: the conclusion is that of the manager.

mod figures;
mod page;
mod plan;

use super::Together;
use super::checkpoint::{JOB_MEMORY, given_job_memory};
use super::discovered::{self, Discovered};
use super::quantities::{bytes, count};
use super::reduction::Less;
use super::traces::options::{Informed, Jobs, about_traces};
use super::{Bound, Checkpoint, Common, Listed, Method, Outcome, Row, Run, StatusPage};
use crate::fingerprint::tables_made;
use crate::grid::driver::{Control, Opened};
use crate::grid::journal::Identity;
use crate::grid::work::Grid;
use crate::slices::{
    self, Kept, Options, Progress, RankCheckpoint, RankLink, Record, Settled, SliceSize, SlicesAnswer, Why,
};
use figures::{ShownSlice, SliceNumbers, Sliced};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::engine::reduce::Keep;
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::property::Property;
use plan::Plan;
use std::path::{Path, PathBuf};

/// The default memory of a worker for a slice.
const DEFAULT_JOB_MEMORY: u64 = 64 << 20;
/// The name of the figures in the page of a checkpoint.
const NUMBERS: &str = "slices";

/// A search by slices.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct Slices {
    #[command(flatten)]
    informed: Informed,

    #[command(flatten)]
    less: Less,

    /// For slices: where states go that do not fit into --max-memory [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", help_heading = "Informed swarm (with --search isv)")]
    spill: Option<PathBuf>,
}

impl Listed for Slices {
    const NAME: &'static str = "slices";
    const SEARCH: Option<&'static str> = Some("isv");
    const CHOSEN_BY: &'static str = "--search isv --jobs slice";
    const ABOUT: &'static str =
        "Informed swarm: many small searches, by the slices or along the traces of a subsystem";

    fn decides(property: &Property) -> bool {
        match property {
            Property::DeadlockFree { .. } | Property::Never(_) | Property::Monitor(_) => true,
            Property::Formula(_) => false,
        }
    }

    /// This method is meant if the user asks for slices, or gives no flag that only traces have.
    fn is_meant(matches: &clap::ArgMatches, given: &[String]) -> bool {
        match matches.get_one::<Jobs>("jobs") {
            Some(jobs) => *jobs == Jobs::Slice,
            None => about_traces(given).is_none(),
        }
    }

    fn status(page: &StatusPage) -> Vec<Row> {
        page.figures::<SliceNumbers>(NUMBERS)
            .map_or_else(|| discovered::status(page), |numbers| numbers.rows())
    }
}

impl Method for Slices {
    fn runs_on_ranks(&self) -> bool {
        true
    }

    /// If tables are not complete, the guide is discovered.
    fn prefers_complete_tables(&self) -> bool {
        true
    }

    fn check(&self, _: &Common) -> Result<()> {
        self.informed.check()?;
        self.keep()?;
        if self.spill.as_ref().is_some_and(|dir| !dir.is_dir()) {
            return Err(Error::input("--spill needs a directory that is there"));
        }
        Ok(())
    }

    fn checkpoint(&self) -> Option<&Checkpoint> {
        Some(&self.informed.checkpoint)
    }

    fn report(&self) -> Option<&Path> {
        self.informed.report.as_deref()
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        if !run.tables().complete {
            return self.discovered().conduct(run);
        }
        let (prepared, host) = (run.prepared(), run.host);
        let progress = |p: &Progress| {
            let detail = format!(
                "{} slices, {} waiting, {} spilled",
                count(p.slices),
                count(p.waiting),
                bytes(p.spilled)
            );
            host.progress(p.states, p.transitions, detail);
        };
        let options = self.options(run)?;
        let plan = Plan::new(self, run, &prepared, &options)?;
        if let Some(why) = &plan.chosen {
            host.note(why);
        }
        let opened = self.informed.checkpoint.open(&plan.identity)?;
        let page = StatusPage::new(&run.file, run.threads, &plan.identity);
        let page = |p: &Progress| {
            StatusPage { resumed: p.resumed as usize, ..page.clone() }.bytes(
                p.time,
                NUMBERS,
                &SliceNumbers::new(p),
            )
        };
        host.begin("searching", "states");
        let (identity, stop) = (self.agreed(run), || host.stopped().is_some());
        let team = run.team(&identity, self.informed.patience);
        let control = Control { stop: &stop, progress: &progress, page: &page };
        let report = if run.peers.is_distributed() {
            let settled = Settled {
                leaves: plan.leaves.iter().map(|leaf| leaf.0).collect(),
                job_memory: options.job_memory,
                identity: plan.identity.clone(),
            };
            let place = self.place(opened);
            let (grid, settled) = (Grid::threads(1, team.stuck_after), Some(settled));
            let searched = run.peers.together(&team, &stop, |mesh| {
                let link = RankLink { mesh, told: &|| host.stopped() };
                slices::check_on_ranks(link, &prepared, settled, &options, &grid, place, &control)
            })?;
            match searched {
                Some(Together::Searched(report)) => report?,
                _ => return Err(Error::internal("rank 0 decides when it is over")),
            }
        } else {
            let grid = Grid::threads(run.threads, team.stuck_after);
            let kept = match (opened, &self.informed.checkpoint) {
                (Some(opened), Checkpoint { checkpoint: Some(dir), resume }) => {
                    Some(Kept::alone(dir, &plan.identity, *resume, opened)?)
                }
                _ => None,
            };
            slices::check(&prepared, &plan.leaves, &options, &grid, kept, &control)?
        };
        let show = |slice: &SliceSize| shown(slice, &plan.leaves, run);
        // Names of local states may be long, and there may be very many slices.
        let sizes = match self.informed.report {
            Some(_) => report.slices.iter().map(show).collect(),
            None => Vec::new(),
        };
        let figures = Sliced::new(self, plan, &report, run.peers.traffic()).with_sizes(sizes);
        let (time, figures) = (report.time, Box::new(figures));
        Ok(match report.answer {
            SlicesAnswer::Verdict(verdict) => Outcome::of(verdict, time, figures, || run.stopped(false)),
            SlicesAnswer::Unknown(why) => Outcome::unknown(self.bound_of(why, run), time, figures),
        })
    }

    fn serve(&self, run: &mut Run) -> Result<u8> {
        if !run.tables().complete {
            return self.discovered().serve(run);
        }
        let (prepared, identity, options) = (run.prepared(), self.agreed(run), self.options(run)?);
        let (team, host) = (run.team(&identity, self.informed.patience), run.host);
        let stop = || host.stopped().is_some();
        let control = Control { stop: &stop, progress: &|_: &Progress| {}, page: &|_| Vec::new() };
        let grid = Grid::threads(run.threads, team.stuck_after);
        let served = run.peers.together(&team, &stop, |mesh| {
            let link = RankLink { mesh, told: &|| host.stopped() };
            slices::check_on_ranks(link, &prepared, None, &options, &grid, self.place(None), &control)
        });
        // What ended the search, an error as well, rank 0 tells.
        let served = served.and_then(|served| match served {
            Some(Together::Over(code)) => Ok(code),
            Some(Together::Searched(_)) => run.peers.wait_for_end(None),
            None => Err(Error::internal("there are no other ranks")),
        });
        if let Err(why) = &served {
            (run.warn)(format!("rank {}: {why}", run.peers.rank()));
            run.peers.abort(2);
        }
        served
    }
}

impl Slices {
    /// The search on tables that are not complete.
    fn discovered(&self) -> Discovered<'_> {
        Discovered { name: Slices::NAME, informed: &self.informed, job_states: None, window: None }
    }

    /// The reduction.
    fn keep(&self) -> Result<Option<Keep>> {
        self.less.keep_of("a search by slices")
    }

    fn options(&self, run: &Run) -> Result<Options> {
        Ok(Options {
            job_memory: self.job_memory(),
            max_memory: Some(run.room()),
            max_resident: Some(run.memory),
            spill: self.spill.clone(),
            max_states: run.common.max_states,
            reduce: self.keep()?,
        })
    }

    /// The checkpoint of a run on ranks; rank 0 has opened its journal.
    fn place(&self, opened: Option<Opened<Record>>) -> Option<RankCheckpoint<'_>> {
        let Checkpoint { checkpoint, resume } = &self.informed.checkpoint;
        checkpoint.as_deref().map(|dir| RankCheckpoint { dir, resume: *resume, opened })
    }

    /// Bytes that a job may use: from the flag, or else from the checkpoint.
    fn job_memory(&self) -> u64 {
        let recorded = || self.informed.checkpoint.recorded_number(Slices::NAME, JOB_MEMORY);
        self.informed.job_memory.or_else(recorded).unwrap_or(DEFAULT_JOB_MEMORY)
    }

    /// The identity that all processes of a run must agree on. Rank 0 tells the others all further settings.
    fn agreed(&self, run: &Run) -> Identity {
        let mut agreed = plan::identity(self, run);
        agreed.push(given_job_memory(self.informed.job_memory));
        // States are sent as numbers.
        agreed.push(("tables made".to_owned(), tables_made(&run.tables().network)));
        let wanted = if self.informed.checkpoint.checkpoint.is_some() { "wanted" } else { "not wanted" };
        agreed.push(("checkpoint".to_owned(), wanted.to_owned()));
        agreed
    }

    /// What kept a search from an answer.
    fn bound_of(&self, why: Why, run: &Run) -> Bound {
        let checkpoint = self.informed.checkpoint.checkpoint.is_some();
        let limit = match why {
            Why::Journal(why) => return Bound::checkpoint(why),
            Why::Disk(why) => {
                let message = format!("states cannot be spilled: {why} (--spill names another directory)");
                return Bound::new("spill", message).resumable(checkpoint);
            }
            // More for each job is another run.
            Why::Limit(limit @ Limit::JobMemory(_)) => return limit.into(),
            Why::Limit(Limit::Memory(_)) => Limit::Memory(run.memory),
            Why::Limit(limit) => limit,
        };
        let limit = run.host.stopped().unwrap_or(limit);
        let (mut bound, memory) = (Bound::from(limit), matches!(limit, Limit::Memory(_)));
        if memory {
            let ranks =
                if run.peers.is_distributed() { "more ranks" } else { "ranks on more machines (mpirun)" };
            bound.message += &format!("; {ranks}, fewer --workers or a smaller --job-memory may be enough");
        }
        let bound = bound.resumable(checkpoint);
        if memory && checkpoint { bound.of_kind("memory, resumable") } else { bound }
    }
}

fn shown(slice: &SliceSize, leaves: &[LeafIx], run: &Run) -> ShownSlice {
    let source = &run.tables().source;
    let places = leaves.iter().zip(&slice.locals).map(|(leaf, local)| source.describe(*leaf, *local));
    ShownSlice {
        place: places.collect::<Vec<_>>().join("; "),
        part: slice.part,
        states: slice.states,
        activations: slice.activations,
    }
}
