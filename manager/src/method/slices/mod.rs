//! An exhaustive search by slices: the states, divided by where a subsystem stands.
//!
//! Every state is expanded once, so counts are exact as those of an exhaustive search, and the memory is that of the
//! largest slice. Invariant: the conclusion is that of the manager.

mod figures;
mod page;
mod plan;

use super::Team;
use super::checkpoint::{JOB_MEMORY, given_job_memory};
use super::quantities::{bytes, count};
use super::traces::options::{Informed, Jobs, about_traces};
use super::{Bound, Checkpoint, Common, Listed, Method, Outcome, Row, Run, StatusPage};
use crate::grid::driver::Control;
use crate::grid::journal::Identity;
use crate::slices::{self, Answer, Options, Progress, SliceSize, Why};
use figures::{Numbers, ShownSlice, Sliced};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::property::Property;
use plan::Plan;
use std::path::{Path, PathBuf};

/// What one worker may use for a slice if nothing else is said.
const DEFAULT_JOB_MEMORY: u64 = 64 << 20;
/// What the figures are called in the page of a checkpoint.
const NUMBERS: &str = "slices";

/// A search by slices.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct Slices {
    #[command(flatten)]
    informed: Informed,

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

    /// If the user says so, or says nothing that only traces have.
    fn is_meant(matches: &clap::ArgMatches, given: &[String]) -> bool {
        match matches.get_one::<Jobs>("jobs") {
            Some(jobs) => *jobs == Jobs::Slice,
            None => about_traces(given).is_none(),
        }
    }

    fn status(page: &StatusPage) -> Vec<Row> {
        page.figures::<Numbers>(NUMBERS).map_or(Vec::new(), |numbers| numbers.rows())
    }
}

impl Method for Slices {
    fn runs_on_ranks(&self) -> bool {
        true
    }

    fn needs_complete_tables(&self) -> Option<&'static str> {
        Some("a search by slices")
    }

    fn check(&self, _: &Common) -> Result<()> {
        self.informed.check()?;
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
        let options = Options {
            job_memory: self.job_memory(),
            max_memory: Some(run.room()),
            max_resident: Some(run.memory),
            spill: self.spill.clone(),
            max_states: run.common.max_states,
        };
        let plan = Plan::new(self, run, &prepared, &options)?;
        if let Some(why) = &plan.chosen {
            host.note(why);
        }
        let journal = self.informed.checkpoint.open(&plan.identity)?;
        let page = StatusPage::new(&run.file, run.threads, &plan.identity);
        let page = |p: &Progress| {
            StatusPage { resumed: p.resumed as usize, ..page.clone() }.bytes(
                p.time,
                NUMBERS,
                &Numbers::new(p),
            )
        };
        host.begin("searching", "states");
        let (identity, stop) = (self.agreed(run), || host.stopped().is_some());
        let team = self.team(run, &identity);
        let control = Control { stop: &stop, progress: &progress, page: &page };
        let grid = run.peers.grid(&team, &stop)?;
        let report = slices::check(&prepared, &plan.leaves, &options, &grid, journal, &control)?;
        let show = |slice: &SliceSize| shown(slice, &plan.leaves, run);
        // Names of local states may be long, and there may be very many slices.
        let sizes = match self.informed.report {
            Some(_) => report.slices.iter().map(show).collect(),
            None => Vec::new(),
        };
        let figures = Sliced::new(self, plan, &report, run.peers.traffic()).with_sizes(sizes);
        let (time, figures) = (report.time, Box::new(figures));
        Ok(match report.answer {
            Answer::Verdict(verdict) => Outcome::of(verdict, time, figures, || run.stopped(false)),
            Answer::Unknown(why) => Outcome::unknown(self.bound_of(why, run), time, figures),
        })
    }

    fn serve(&self, run: &mut Run) -> Result<u8> {
        let (prepared, identity) = (run.prepared(), self.agreed(run));
        run.peers.serve(&self.team(run, &identity), |grid| slices::serve(&prepared, grid))
    }
}

impl Slices {
    /// Bytes that a job may use: as the user says, else as the checkpoint has it.
    fn job_memory(&self) -> u64 {
        let recorded = || self.informed.checkpoint.recorded_number(Slices::NAME, JOB_MEMORY);
        self.informed.job_memory.or_else(recorded).unwrap_or(DEFAULT_JOB_MEMORY)
    }

    /// What all processes of a run must agree on. The subsystem comes with the jobs.
    fn agreed(&self, run: &Run) -> Identity {
        let mut agreed = plan::identity(run);
        agreed.push(given_job_memory(self.informed.job_memory));
        agreed
    }

    fn team<'a>(&self, run: &'a Run, identity: &'a Identity) -> Team<'a> {
        Team {
            identity,
            file: &run.file,
            threads: run.threads,
            stuck_after: self.informed.patience.stuck_after(),
            warn: run.warn,
        }
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
        Bound::from(run.host.stopped().unwrap_or(limit)).resumable(checkpoint)
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
