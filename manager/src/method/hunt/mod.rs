//! A hunt: looks for bugs with many cheap, very different searches.
//!
//! Invariant: it never concludes `holds`. A violation is replayed before it is reported.

mod figures;
mod job_file;
mod open;
mod options;
mod plan;

pub use options::{Hunting, members};

use super::quantities::{count, duration};
use super::{
    Bound, Checkpoint, Common, Conclusion, Figures, Finding, Listed, Method, Origin, Outcome, Row, Run,
    Shown, StatusPage,
};
use crate::grid::driver::Control;
use crate::hunt::run::{self, HuntConclusion, Searched};
use crate::hunt::{self, Found, HuntStatus};
use figures::{HuntNumbers, Hunted};
use gridlock_lts::base::error::{Limit, Result};
use gridlock_lts::engine::game::Evidence;
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::model::trace::Trace;
use gridlock_lts::property::{self, Property};
use job_file::Record;
use plan::Plan;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The name of the figures in the page of a checkpoint.
const NUMBERS: &str = "hunt";

impl Listed for Hunting {
    const NAME: &'static str = "hunt";
    const SEARCH: Option<&'static str> = None;
    const CHOSEN_BY: &'static str = "`gridlock hunt`";
    const ABOUT: &'static str = "Many cheap, very different searches for violations";

    fn decides(property: &Property) -> bool {
        match property {
            // Of formulas the plan refuses those that take a game.
            Property::DeadlockFree { .. }
            | Property::Never(_)
            | Property::Monitor(_)
            | Property::Formula(_) => true,
        }
    }

    fn is_advised(property: &Property) -> bool {
        !matches!(property, Property::Formula(_))
    }

    fn status(page: &StatusPage) -> Vec<Row> {
        page.figures::<HuntNumbers>(NUMBERS).map_or(Vec::new(), |numbers| numbers.status_rows())
    }
}

/// The first finding, as far as the conclusion needs it.
#[derive(Default)]
struct First {
    number: u64,
    trace: Option<Trace>,
    violated: Option<usize>,
    faulty: Option<String>,
    shown: Option<Shown>,
}

impl First {
    fn see(&mut self, verdict: &Verdict, shown: Option<&Shown>) {
        let trace = match verdict {
            Verdict::Violated { property, trace } => {
                self.violated.get_or_insert(*property);
                trace
            }
            Verdict::Faulty { message, trace } => {
                self.faulty.get_or_insert_with(|| message.clone());
                trace
            }
            // A finding is none of these.
            Verdict::Holds | Verdict::Unknown(_) => return,
        };
        self.number += 1;
        if self.trace.is_none() {
            self.shown = shown.cloned();
        }
        self.trace.get_or_insert_with(|| trace.clone());
    }

    fn outcome(self, ending: Bound, time: Duration, mut figures: Hunted) -> Outcome {
        figures.ended(self.number, &ending, self.shown);
        let conclusion = match (self.violated, self.faulty) {
            (Some(property), _) => Conclusion::Violated(property),
            (None, Some(message)) => Conclusion::Faulty(message),
            (None, None) => Conclusion::Unknown(Bound {
                message: format!("nothing was found; {}", ending.message),
                ..ending
            }),
        };
        Outcome { conclusion, trace: self.trace, time, figures: Box::new(figures) }
    }
}

impl Method for Hunting {
    fn runs_on_ranks(&self) -> bool {
        true
    }

    fn prefers_complete_tables(&self) -> bool {
        true
    }

    fn check(&self, _: &Common) -> Result<()> {
        self.check_flags()
    }

    fn checkpoint(&self) -> Option<&Checkpoint> {
        Some(&self.checkpoint)
    }

    fn finds_several(&self) -> bool {
        true
    }

    fn findings(&self) -> Option<PathBuf> {
        self.out()
    }

    fn patterns(&self) -> (&'static str, &[String]) {
        ("--prefer", &self.prefer)
    }

    fn bound(&self, limit: Limit) -> Bound {
        let ending = self.ending(limit);
        Bound { message: format!("nothing was found; {}", ending.message), ..ending }
    }

    fn unbegun(&self) -> Box<dyn Figures> {
        Box::new(Hunted::new(self))
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        if let Some(property) = property::violated_initially(&run.properties) {
            let verdict = Verdict::Violated { property, trace: Trace::default() };
            let (mut first, figures) = (First::default(), Hunted::new(self));
            first.see(&verdict, None);
            run.host.found(run.tables(), Finding { number: 1, verdict, shown: None, origin: None });
            let ending = self.over(&hunt::HuntOutcome::Findings);
            return Ok(first.outcome(ending, Duration::ZERO, figures));
        }
        open::with_searched(run, |run, searched| self.hunt(run, searched))
    }

    fn serve(&self, run: &mut Run) -> Result<u8> {
        if property::violated_initially(&run.properties).is_some() {
            return run.peers.wait_for_end(None);
        }
        open::with_searched(run, |run, searched| {
            let plan = Plan::new(self, run, searched)?;
            let guide = plan.guide.as_ref().map(|guided| &guided.guide);
            let identity = plan.agreed(self.job_memory);
            run.peers.serve(&run.team(&identity, self.patience), |grid| grid.serve(&searched.work(guide)?))
        })
    }
}

/// Prints the seed, and the choices that the user may not have expected.
fn announce(plan: &Plan, run: &Run) {
    let seed = plan.config.seed;
    run.host.note(&format!("seed {seed} (--seed {seed} makes the same searches)"));
    if let Some(note) = plan.left_out() {
        run.host.note(&note);
    }
    run.note_idle(plan.config.window);
}

impl Hunting {
    fn hunt(&self, run: &Run, searched: &Searched) -> Result<Outcome> {
        let (mut first, mut figures) = (First::default(), Hunted::new(self));
        let plan = Plan::new(self, run, searched)?;
        announce(&plan, run);
        let guide = plan.guide.as_ref().map(|guided| &guided.guide);
        let opened = self.checkpoint.open(&plan.identity)?;
        let resumed = opened.as_ref().map_or(0, |(_, records)| records.len());
        run.host.begin("hunting", "states");
        let (start, net) = (Instant::now(), searched.view().known());
        let tell = |status: &HuntStatus| run.host.progress(status.total.states, 0, figures::progress(status));
        let page = StatusPage { resumed, ..StatusPage::new(&run.file, run.threads, &plan.identity) };
        let page = |status: &HuntStatus| page.bytes(start.elapsed(), NUMBERS, &HuntNumbers::new(net, status));
        let stop = || run.host.stopped().is_some();
        let control = Control { stop: &stop, progress: &tell, page: &page };
        let mut found = |found: &Found, verdict: Verdict, evidence: Option<Evidence>| {
            let shown = evidence.as_ref().map(Shown::of);
            first.see(&verdict, shown.as_ref());
            let origin = Some(self.origin(&plan, found, start.elapsed()));
            let finding = Finding { number: found.number, verdict, shown, origin };
            open::with_tables(run, searched, |tables| run.host.found(tables, finding));
        };
        let identity = plan.agreed(self.job_memory);
        let team = run.team(&identity, self.patience);
        let grid = run.peers.grid(&team, &stop)?;
        let report = run::conduct(searched, guide, plan.config.clone(), &grid, opened, &control, &mut found)?;
        figures.fill(&plan, HuntNumbers::new(net, &report.status), resumed, run.peers.traffic());
        let ending = match report.end {
            HuntConclusion::Over(outcome) => self.over(&outcome),
            HuntConclusion::Stopped => self.ending(run.limit()),
            HuntConclusion::Journal(trouble) => Bound {
                message: self.resumable(format!("the checkpoint cannot be written: {trouble}")),
                ..Bound::checkpoint("")
            },
        };
        Ok(first.outcome(ending, start.elapsed(), figures))
    }

    /// How a finding was found.
    fn origin(&self, plan: &Plan, found: &Found, after: Duration) -> Origin {
        let mut repeat = vec!["--repeat".to_owned()];
        let all = found.job.limits.findings;
        if all > 1 {
            // The search may have come upon others before this one.
            repeat.extend(["--findings".to_owned(), all.to_string()]);
        }
        Origin {
            job: found.job.number,
            member: found.member.to_string(),
            states: found.states,
            after,
            found_steps: found.finding.found_steps,
            stem: format!("{}-{}", plan.config.seed, found.number),
            repeat,
            again: plan.again(self, found),
            record: Box::new(Record::new(plan, found)),
        }
    }

    /// Adds a hint if the run can be resumed.
    fn resumable(&self, message: String) -> String {
        if self.checkpoint.checkpoint.is_some() { format!("{message}, --resume continues") } else { message }
    }

    /// The bound that a limit means: the limits of a hunt are budgets.
    fn ending(&self, limit: Limit) -> Bound {
        let (name, message) = match limit {
            Limit::Time(_) => {
                ("budget", format!("the budget of {} is spent (--budget)", duration(self.budget)))
            }
            Limit::Memory(_) => ("memory", "the memory is used up (--memory)".to_owned()),
            _ => ("interrupted", "interrupted".to_owned()),
        };
        Bound::new(name, self.resumable(message))
    }

    /// The bound that the end of a hunt by itself means.
    fn over(&self, outcome: &hunt::HuntOutcome) -> Bound {
        let (name, message) = match outcome {
            hunt::HuntOutcome::Findings => {
                ("findings", "as many as wanted were found (--findings)".to_owned())
            }
            hunt::HuntOutcome::Everything => ("everything", "every reachable state was seen".to_owned()),
            hunt::HuntOutcome::Jobs if self.repeat.is_some() => {
                ("max-jobs", "the search was repeated".to_owned())
            }
            hunt::HuntOutcome::Jobs => {
                let jobs = count(self.max_jobs.unwrap_or(0));
                ("max-jobs", format!("{jobs} searches were done (--max-jobs)"))
            }
            hunt::HuntOutcome::States => {
                let states = count(self.max_states.unwrap_or(0));
                ("max-states", format!("{states} states were expanded (--max-states)"))
            }
            hunt::HuntOutcome::Exhausted | hunt::HuntOutcome::Failed { .. } => {
                ("exhausted", "no member of the portfolio has anything left to do".to_owned())
            }
        };
        Bound::new(name, message)
    }
}
