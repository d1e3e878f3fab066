//! Informed swarm verification: many small searches along the traces of a subsystem.
//!
//! Invariant: a conclusion is that of the manager; `holds` comes from a swarm that has done or pruned every trace ID of
//! the subsystem, unbounded, and from nothing else.

pub mod choose;
mod compare;
mod figures;
pub mod ids;
mod numbers;
pub mod options;
mod page;
mod picture;
mod plan;

pub use options::Traces;
pub use plan::{ALL_IDS, IDS, OF_THE_SPACE};

use super::discovered::{self, Discovered};
use super::quantities::{big, bytes, count, counted};
use super::then::{Left, Then};
use super::{Bound, Checkpoint, Common, Conclusion, Listed, Method, Nothing, Outcome, Row, Run, StatusPage};
use crate::grid::driver::Control;
use crate::traces as swarm;
use crate::traces::swarm::{Repeats, Stuck, SwarmStatus};
use figures::Swarmed;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::property::Property;
use num_bigint::BigUint;
use numbers::{SwarmNumbers, progress};
use plan::Plan;
use std::path::Path;
use std::time::Instant;

/// The name of the figures in the page of a checkpoint.
const NUMBERS: &str = "numbers";

/// A number that a file has as text, shortened for people. Text that is no number stays as it is.
pub fn shown(digits: &str) -> String {
    numbers::shown(digits)
}

impl Listed for Traces {
    const NAME: &'static str = "traces";
    const SEARCH: Option<&'static str> = Some("isv");
    const CHOSEN_BY: &'static str = "--search isv --jobs prefix";
    const ABOUT: &'static str = "Informed swarm along the traces of a subsystem";

    fn decides(property: &Property) -> bool {
        match property {
            Property::DeadlockFree { .. } | Property::Never(_) | Property::Monitor(_) => true,
            Property::Formula(_) => false,
        }
    }

    fn status(page: &StatusPage) -> Vec<Row> {
        page.figures::<SwarmNumbers>(NUMBERS)
            .map_or_else(|| discovered::status(page), |numbers| numbers.rows())
    }
}

impl Method for Traces {
    fn runs_on_ranks(&self) -> bool {
        true
    }

    /// If tables are not complete, the guide is discovered.
    fn prefers_complete_tables(&self) -> bool {
        true
    }

    fn check(&self, common: &Common) -> Result<()> {
        self.check_flags(&common.given)?;
        if common.max_states.is_some() {
            return Err(Error::input(
                "--max-states does not belong to --search isv: --job-states bounds a job",
            ));
        }
        Ok(())
    }

    /// Threads that do jobs: as many as the cores allow, if each job has several.
    fn threads(&self, wanted: Option<u16>) -> usize {
        match wanted {
            None => (super::options::threads(None, self.runs_on_ranks()) / self.job_workers()).max(1),
            wanted => super::options::threads(wanted, self.runs_on_ranks()),
        }
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
        let prepared = run.prepared();
        if let Some(verdict) = prepared.violated_initially() {
            return Ok(Outcome::of(verdict, Default::default(), Box::new(Nothing), || run.stopped(false)));
        }
        let plan = Plan::new(self, run, &prepared)?;
        self.announce(&plan, run);
        let start = Instant::now();
        let opened = self.informed.checkpoint.open(&plan.identity)?;
        let resumed = opened.as_ref().map_or(0, |(_, records)| records.len());
        run.host.begin("searching", "states");
        let tell = |status: &SwarmStatus| run.host.progress(status.total.states, 0, progress(status));
        let page = StatusPage { resumed, ..StatusPage::new(&run.file, run.threads, &plan.identity) };
        let page = |status: &SwarmStatus| page.bytes(start.elapsed(), NUMBERS, &SwarmNumbers::new(status));
        let stop = || run.host.stopped().is_some();
        let control = Control { stop: &stop, progress: &tell, page: &page };
        let identity = plan.agreed(self);
        let team = run.team(&identity, self.informed.patience);
        let grid = run.peers.grid(&team, &stop)?;
        let report = swarm::conduct(&prepared, &plan.guide, plan.config.clone(), &grid, opened, &control)?;
        let mut figures = Swarmed::new(&plan, self, &report.status, resumed);
        figures.traffic = run.peers.traffic();
        (figures.record.events, figures.record.times) = (report.events, report.times);
        (figures.record.course, figures.record.on_ranks) = (report.course, run.peers.is_distributed());
        if !report.status.any_order {
            // IDs are those of single traces, perhaps after classes were too large.
            figures.record.ids.end = figures.record.ids.end.max(report.status.all.clone());
        }
        let time = start.elapsed();
        let left = match &report.conclusion {
            swarm::Conclusion::Repeats(repeats) if self.onward().then != Then::None => Some(left(repeats)),
            _ => None,
        };
        let (conclusion, trace) = match report.conclusion {
            swarm::Conclusion::Found(verdict, job) => {
                figures.found_by = Some(job);
                let found = Outcome::of(verdict, time, Box::new(Nothing), || run.stopped(false));
                (found.conclusion, found.trace)
            }
            swarm::Conclusion::Holds => (Conclusion::Holds, None),
            other => {
                (Conclusion::Unknown(self.bound_of(other, &report.status.given_up, &mut figures, run)), None)
            }
        };
        if self.compare_bfs && run.host.stopped().is_none() {
            figures.compare(compare::search(run)?, &conclusion)?;
        }
        if let Some(left) = left {
            // Slices have one thread each.
            run.threads *= self.job_workers();
            return self.onward().go_on(run, left, time, true, |handed| Box::new(figures.handed(handed)));
        }
        Ok(Outcome { conclusion, trace, time, figures: Box::new(figures) })
    }

    fn serve(&self, run: &mut Run) -> Result<u8> {
        if !run.tables().complete {
            return self.discovered().serve(run);
        }
        let prepared = run.prepared();
        if prepared.violated_initially().is_some() {
            return run.peers.wait_for_end(None);
        }
        let plan = Plan::new(self, run, &prepared)?;
        let identity = plan.agreed(self);
        let work = swarm::work(&prepared, &plan.guide, &plan.config)?;
        let served =
            run.peers.serve(&run.team(&identity, self.informed.patience), |grid| grid.serve_until(&work))?;
        drop(work);
        served.map_or_else(
            || {
                run.threads *= self.job_workers();
                self.onward().serve(run)
            },
            Ok,
        )
    }
}

impl Traces {
    /// The search on tables that are not complete.
    fn discovered(&self) -> Discovered<'_> {
        let Traces { informed, job_states, window, .. } = self;
        Discovered { name: Traces::NAME, informed, job_states: *job_states, window: *window }
    }

    /// Prints the choice of the subsystem, and settings that the user may not have expected.
    fn announce(&self, plan: &Plan, run: &Run) {
        if let Some(choice) = &plan.choice {
            choice.tell(run.host);
        }
        run.note_idle(plan.config.pace.width());
    }

    /// What kept a swarm from an answer.
    fn bound_of(
        &self,
        conclusion: swarm::Conclusion,
        given_up: &BigUint,
        figures: &mut Swarmed,
        run: &Run,
    ) -> Bound {
        match conclusion {
            swarm::Conclusion::TooLarge(stuck) => {
                figures.set_too_large(&stuck);
                too_large(&stuck, given_up)
            }
            swarm::Conclusion::Repeats(repeats) => {
                repeating(&repeats).resumable(self.informed.checkpoint.checkpoint.is_some())
            }
            swarm::Conclusion::Shard { bounded } => shard(bounded),
            swarm::Conclusion::Bounded => Bound::new(
                "bounded",
                format!(
                    "nothing was found while cycles of the subsystem are closed at most {} times (--unroll), and the \
                     subsystem could have gone on",
                    self.unroll.unwrap_or(0)
                ),
            )
            .of_kind("bounded"),
            swarm::Conclusion::Journal(trouble) => Bound::checkpoint(trouble),
            // `Holds` and `Found` are answers and do not come here.
            swarm::Conclusion::Stopped | swarm::Conclusion::Holds | swarm::Conclusion::Found(..) => {
                run.stopped(self.informed.checkpoint.checkpoint.is_some())
            }
        }
    }
}

/// The bound for jobs that did not fit into their budget and could not be divided.
fn too_large(stuck: &[Stuck], given_up: &BigUint) -> Bound {
    let states = stuck.iter().map(|s| s.effort.states).max().unwrap_or(0);
    let memory = stuck.iter().map(|s| s.effort.memory).max().unwrap_or(0);
    Bound::new(
        "job-too-large",
        format!(
            "nothing was found, but {} {} did not fit into the budget of a job, which gave up after {} and {}: \
             --job-memory and --job-states allow more",
            big(given_up),
            if *given_up == BigUint::from(1u32) { "trace" } else { "traces" },
            counted(states as usize, "state"),
            bytes(memory)
        ),
    )
    .of_kind("job too large")
}

/// How often jobs did the same work.
fn repeated(Repeats { states, distinct }: &Repeats) -> String {
    let times = states / (*distinct).max(1);
    format!(
        "jobs have expanded {} states, {times} times the {} or so that are different, and find hardly any new ones",
        count(*states),
        count(*distinct)
    )
}

/// The bound for jobs that did the same work again and again.
fn repeating(repeats: &Repeats) -> Bound {
    let advice = "larger jobs (--job-memory, --job-states) or slices (--jobs slice) do less; --work-limit N allows N \
                  times the work";
    Bound::new("work-limit", format!("{}: {advice}", repeated(repeats)))
}

/// The same, for the search that goes on.
fn left(repeats: &Repeats) -> Left {
    Left { name: "work-limit", message: format!("{} (--work-limit)", repeated(repeats)) }
}

/// The bound for a part of the IDs without a finding.
fn shard(bounded: bool) -> Bound {
    let (name, kind, more) = match bounded {
        false => ("shard", "shard holds", ""),
        true => ("shard-bounded", "shard bounded", ", and the subsystem could have gone on (--unroll)"),
    };
    let message = format!("nothing was found for these trace IDs{more}; `gridlock merge` joins shards");
    Bound::new(name, message).of_kind(kind)
}
