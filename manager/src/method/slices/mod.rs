//! An exhaustive search by slices: the states, divided by where a subsystem stands.
//!
//! Every state is expanded once, so counts are exact as those of an exhaustive search, and the memory is that of the
//! largest slice. Invariant: the conclusion is that of the manager.

mod figures;
mod page;
mod plan;

use super::Team;
use super::checkpoint::{self, Answers, JOB_MEMORY, cannot_use};
use super::quantities::{bytes, count};
use super::traces::options::{Informed, Jobs, about_traces};
use super::{Bound, Checkpoint, Common, Listed, Method, Outcome, Row, Run, StatusPage};
use crate::journal::Identity;
use crate::slices::{Answer, Beginning, Options, Progress, Record, SliceSize, Why};
use figures::{Numbers, ShownSlice, Sliced};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::engine::search::Reason;
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::property::Property;
use plan::{Plan, agreed};
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
            Property::DeadlockFree | Property::Never(_) | Property::Monitor(_) => true,
        }
    }

    /// If the user says so, or says nothing that only traces have.
    fn is_meant(matches: &clap::ArgMatches, given: &[String]) -> bool {
        match matches.get_one::<Jobs>("jobs") {
            Some(jobs) => *jobs == Jobs::Slice,
            None => about_traces(given).is_none(),
        }
    }

    fn answers(dir: &Path) -> Result<Answers> {
        // These have the states themselves in them, which would take long to read.
        let (mut sum, mut results) = (Answers::default(), checkpoint::open::<Record>(dir)?.1);
        while let Some(result) = results.next_beginning::<Beginning>().map_err(cannot_use)? {
            sum.answers += 1;
            sum.states += result.states;
        }
        Ok(sum)
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
        let halt = host.halt();
        let progress = |p: &Progress| {
            let detail = format!(
                "{} slices, {} waiting, {} spilled",
                count(p.slices),
                count(p.waiting),
                bytes(p.spilled)
            );
            host.progress(p.states, p.transitions, detail);
        };
        let room = run.room();
        let mut options = Options {
            workers: run.threads,
            stuck_after: self.informed.patience.stuck_after(),
            job_memory: self.job_memory(),
            max_memory: Some(room),
            spill: self.spill.clone(),
            max_states: run.common.max_states,
            time_limit: None,
            cancel: Some(halt.flag()),
            progress: Some(&progress),
            page: None,
        };
        let plan = Plan::new(self, run, &prepared, &options)?;
        if let Some(why) = &plan.chosen {
            host.note(why);
        }
        let journal = plan.open(self)?;
        let page = StatusPage::new(&run.file, run.threads, &plan.identity);
        let page = |p: &Progress| {
            StatusPage { resumed: p.resumed as usize, ..page.clone() }.bytes(
                p.time,
                NUMBERS,
                &Numbers::new(p),
            )
        };
        options.page = Some(&page);
        host.begin("searching", "states");
        let (identity, stop) = (agreed(run), || host.stopped().is_some());
        let team = self.team(run, &identity);
        let report = run.peers.slices(&team, &prepared, &plan.leaves, &options, journal, &stop)?;
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
            Answer::Unknown(why) => Outcome::unknown(self.bound_of(why, room, run), time, figures),
        })
    }

    fn serve(&self, run: &mut Run) -> Result<u8> {
        let (prepared, identity) = (run.prepared(), agreed(run));
        run.peers.serve_slices(&self.team(run, &identity), &prepared)
    }
}

impl Slices {
    /// Bytes that a job may use: as the user says, else as the checkpoint has it.
    fn job_memory(&self) -> u64 {
        let recorded = || self.informed.checkpoint.recorded_number(Slices::NAME, JOB_MEMORY);
        self.informed.job_memory.or_else(recorded).unwrap_or(DEFAULT_JOB_MEMORY)
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

    /// What kept a search from an answer that was given `room` for everything.
    fn bound_of(&self, why: Why, room: u64, run: &Run) -> Bound {
        let checkpoint = self.informed.checkpoint.checkpoint.is_some();
        let limit = match why {
            Why::Journal(why) => return Bound::checkpoint(why),
            Why::Disk(why) => {
                let message = format!("states cannot be spilled: {why} (--spill names another directory)");
                return Bound::new("spill", message).resumable(checkpoint);
            }
            // More for each job is another run.
            Why::Limit(Reason::Memory(n)) if n != room => return Limit::JobMemory(self.job_memory()).into(),
            Why::Limit(Reason::Memory(_)) => Limit::Memory(run.memory),
            Why::Limit(Reason::States(n)) => Limit::States(n),
            Why::Limit(Reason::Depth(n)) => Limit::Depth(n),
            Why::Limit(Reason::Time(time)) => Limit::Time(time),
            Why::Limit(Reason::Cancelled) => Limit::Interrupted,
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
