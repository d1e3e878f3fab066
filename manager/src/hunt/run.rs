//! A hunt from a prepared network to what it found.
//!
//! Invariant: a finding is replayed by other code before it is reported; one that does not replay is an internal error and
//! ends the run.

use super::{Config, Found, Hunt, HuntOutcome, HuntStatus};
use crate::grid::driver::{self, Control, Ended};
use crate::grid::journal::{Batch, Tally, Trouble};
use crate::grid::machine::{Accepted, Machine, Next, Numbered, Reply};
use crate::grid::work::{AnyWork, Grid, Work, Worker};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::game::{Evidence, live};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::pack::Packing;
use gridlock_lts::engine::prepared::{self, Prepared, Visitor};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::guide::Guide;
use gridlock_lts::model::network::{Step, VectorIx};
use gridlock_lts::model::trace::Trace;
use gridlock_lts::property::Property;
use gridlock_worker::hunt::job::{HuntEnd, HuntFeedback, HuntFinding, HuntJob, Method};
use gridlock_worker::hunt::told::Copies;
use gridlock_worker::hunt::{Hunter, Setting, Shared, View};
use gridlock_worker::job::What;
use std::sync::Arc;

/// Called for every finding as soon as it is known, with the verdict of the replay. Runs that violate formulas come with
/// evidence.
pub type OnFinding<'a> = &'a mut dyn FnMut(&Found, Verdict, Option<Evidence>);

/// A journal and the answers that were in it.
pub type Opened = driver::Opened<HuntFeedback>;

/// How a hunt ended.
#[derive(Debug)]
pub enum HuntConclusion {
    /// By itself.
    Over(HuntOutcome),
    /// It was stopped: time is up, or a signal came.
    Stopped,
    /// The journal could not be written.
    Journal(Trouble),
}

/// The result of a hunt, besides the findings.
#[derive(Debug)]
pub struct HuntReport {
    /// How it ended.
    pub end: HuntConclusion,
    /// Its figures.
    pub status: HuntStatus,
}

impl Numbered for HuntJob {
    fn number(&self) -> u64 {
        self.number
    }

    fn address(&mut self, rank: u32) {
        if let Method::Prefix { known: Some(known), .. } = &mut self.method {
            known.address(rank);
        }
    }
}

impl Numbered for HuntFeedback {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Reply for HuntFeedback {
    fn is_interrupted(&self) -> bool {
        self.end == HuntEnd::Interrupted
    }

    fn end(&self) -> &'static str {
        match self.end {
            HuntEnd::Everything => "everything",
            HuntEnd::Complete => "complete",
            HuntEnd::OverBudget => "over budget",
            HuntEnd::Interrupted => "interrupted",
            HuntEnd::Failed(_) => "failed",
        }
    }

    fn tally(&self) -> Tally {
        Tally { states: self.effort.states, nanoseconds: self.effort.nanoseconds }
    }
}

/// The network that is searched.
#[derive(Clone)]
pub enum Searched {
    /// A network whose tables are complete.
    Complete(Arc<Prepared>),
    /// One whose tables are filled as needed.
    Open(Arc<Lazy<'static>>),
}

impl Searched {
    /// The network.
    pub fn view(&self) -> View<'_> {
        match self {
            Searched::Complete(prepared) => prepared.net().into(),
            Searched::Open(lazy) => View::Open(lazy),
        }
    }

    fn packing(&self) -> &Packing {
        match self {
            Searched::Complete(prepared) => prepared.packing(),
            Searched::Open(lazy) => lazy.packing(),
        }
    }

    fn properties(&self) -> &[Property] {
        match self {
            Searched::Complete(prepared) => prepared.properties(),
            Searched::Open(lazy) => lazy.properties(),
        }
    }

    /// The work of workers: searches of all kinds; the guide is for those that follow one.
    pub fn work(&self, guide: Option<&Arc<Guide>>) -> Result<AnyWork<HuntJob, HuntFeedback>> {
        let (searched, guide) = (self.clone(), guide.cloned());
        match self {
            Searched::Complete(prepared) => prepared.visit(Compile { searched, guide }),
            Searched::Open(lazy) => {
                let (system, shared) = (lazy.clone(), Shared::none());
                Ok(Arc::new(Hunting { searched, guide, system, shared, copies: Copies::default() }))
            }
        }
    }
}

struct Compile {
    searched: Searched,
    guide: Option<Arc<Guide>>,
}

impl Visitor for Compile {
    type Out = AnyWork<HuntJob, HuntFeedback>;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        let Compile { searched, guide } = self;
        let shared = searched.view().with(|net| Shared::new(&*system, net));
        Arc::new(Hunting { searched, guide, system, shared, copies: Copies::default() })
    }
}

struct Hunting<S> {
    searched: Searched,
    guide: Option<Arc<Guide>>,
    system: Arc<S>,
    shared: Arc<Shared>,
    /// On a rank that does not lead: the states that jobs of other ranks have reported.
    copies: Copies,
}

impl<S: Successors + Send + Sync + 'static> Work for Hunting<S> {
    type Job = HuntJob;
    type Answer = HuntFeedback;

    fn worker(&self) -> Worker<'_, HuntJob, HuntFeedback> {
        let (net, properties) = (self.searched.view(), self.searched.properties());
        let (guide, shared) = (self.guide.clone(), self.shared.clone());
        let mut hunter = Hunter::new(Setting { system: &*self.system, net, properties, guide, shared });
        Box::new(move |job, life| hunter.run(&job, life))
    }

    fn arrived(&self, job: &mut HuntJob) {
        if let Method::Prefix { known: Some(known), .. } = &mut job.method {
            self.copies.take_in(self.searched.packing().words(), known);
        }
    }
}

/// Replays a finding; returns its verdict.
fn verdict(searched: &Searched, found: &HuntFinding) -> Result<(Verdict, Option<Evidence>)> {
    let HuntFinding { finding, ending, .. } = found;
    if let (Some(ending), What::Property(property)) = (ending, finding.what) {
        let Some(Property::Formula(equations)) = searched.properties().get(property) else {
            return Err(Error::internal("a run is against a property that is no formula"));
        };
        let net = searched.view().complete()?;
        let step = |(vector, target): &(u32, Vec<u64>)| {
            let mut target = searched.packing().unpack(target);
            target.truncate(net.leaves.len());
            Step { vector: VectorIx(*vector), target }
        };
        let run = Trace { steps: finding.path.iter().map(step).collect() };
        let evidence = live::certify(net, &**equations, &run, *ending)?;
        let verdict = Verdict::Violated { property, trace: evidence.trace.clone() };
        return Ok((verdict, Some(evidence)));
    }
    let step = |(vector, target): &(u32, Vec<u64>)| (VectorIx(*vector), target.clone());
    let path: Vec<_> = finding.path.iter().map(step).collect();
    let (properties, packing) = (searched.properties(), searched.packing());
    let verdict =
        searched.view().with(|net| prepared::verdict(net, properties, packing, finding.what, &path))?;
    Ok((verdict, None))
}

/// A hunt whose findings are reported at once.
struct Telling<'a> {
    hunt: Hunt<'a>,
    searched: &'a Searched,
    on_finding: OnFinding<'a>,
    trouble: Option<Error>,
}

impl Telling<'_> {
    fn tell(&mut self) {
        for found in self.hunt.take_news() {
            match verdict(self.searched, &found.finding) {
                Ok((verdict, evidence)) => (self.on_finding)(&found, verdict, evidence),
                Err(why) => self.trouble = Some(why),
            }
        }
    }
}

impl Machine for Telling<'_> {
    type Job = HuntJob;
    type Answer = HuntFeedback;
    type Record = HuntFeedback;
    type Status = HuntStatus;
    const DURABLE: bool = Hunt::DURABLE;

    fn resume(&mut self, record: HuntFeedback) -> Result<()> {
        let resumed = self.hunt.resume(record);
        self.tell();
        resumed
    }

    fn record(&self, answer: &HuntFeedback, batch: &mut Batch) -> Result<()> {
        self.hunt.record(answer, batch)
    }

    fn next(&mut self) -> Next<HuntJob> {
        let next = self.hunt.next();
        self.tell();
        if self.trouble.is_some() { Next::Done } else { next }
    }

    fn accept(&mut self, answer: HuntFeedback, worker: u32) -> Accepted {
        let accepted = self.hunt.accept(answer, worker);
        self.tell();
        accepted
    }

    fn lost(&mut self, number: u64, worker: u32) -> bool {
        self.hunt.lost(number, worker)
    }

    fn cut_short(&mut self, answer: HuntFeedback) {
        self.hunt.cut_short(answer);
    }

    fn status(&self) -> HuntStatus {
        self.hunt.status()
    }

    fn made_and_done(&self) -> (u64, u64) {
        self.hunt.made_and_done()
    }
}

/// Runs a hunt, with the guide of its guided members.
pub fn conduct(
    searched: &Searched,
    guide: Option<&Arc<Guide>>,
    config: Config,
    grid: &Grid,
    journal: Option<Opened>,
    control: &Control<HuntStatus>,
    on_finding: OnFinding,
) -> Result<HuntReport> {
    let hunt = Hunt::new(searched.view(), searched.packing().clone(), guide.cloned(), config);
    let mut telling = Telling { hunt, searched, on_finding, trouble: None };
    let (ended, _) = grid.lead(&mut telling, &searched.work(guide)?, journal, control)?;
    telling.hunt.finish();
    telling.tell();
    if let Some(why) = telling.trouble {
        return Err(why);
    }
    let end = match (ended, telling.hunt.outcome()) {
        (Ended::Journal(trouble), _) => HuntConclusion::Journal(trouble),
        (_, Some(HuntOutcome::Failed { number, reason })) => {
            return Err(match searched {
                Searched::Complete(_) => Error::Internal(format!("job {number} failed: {reason}")),
                // Most often it is the specification that cannot be evaluated there.
                Searched::Open(_) => Error::Input(reason.clone()),
            });
        }
        (_, Some(outcome)) => HuntConclusion::Over(outcome.clone()),
        (_, None) => HuntConclusion::Stopped,
    };
    let mut status = telling.hunt.status();
    if let HuntConclusion::Over(_) = end {
        // How many jobs were under way when it ended depends on the workers. They do not count.
        (status.made, status.done) = (status.processed, status.processed);
    }
    Ok(HuntReport { end, status })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::samples::synthetic;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::time::Duration;

    /// Work that some threads never do.
    struct Balky {
        inner: AnyWork<HuntJob, HuntFeedback>,
        silent: AtomicU32,
    }

    impl Work for Balky {
        type Job = HuntJob;
        type Answer = HuntFeedback;

        fn worker(&self) -> Worker<'_, HuntJob, HuntFeedback> {
            let mut hunt = self.inner.worker();
            Box::new(move |job, life| {
                let silent =
                    || self.silent.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
                if job.number == 3 && silent() {
                    loop {
                        std::thread::park();
                    }
                }
                hunt(job, life)
            })
        }
    }

    #[test]
    fn a_job_whose_thread_is_stuck_goes_to_another() {
        let prepared = Arc::new(Prepared::new(synthetic::counters(3, 12), []));
        let run = |silent: u32| {
            let config = Config { max_jobs: Some(40), ..Config::new(1, false, Vec::new()) };
            let control = Control { stop: &|| false, progress: &|_| {}, page: &|_| Vec::new() };
            let inner = Searched::Complete(prepared.clone()).work(None).expect("a system");
            let balky = Arc::new(Balky { inner, silent: AtomicU32::new(silent) });
            let mut hunt = Hunt::new(prepared.net(), prepared.packing().clone(), None, config);
            let grid = Grid::threads(2, Some(Duration::from_millis(200)));
            grid.lead(&mut hunt, &balky, None, &control).map(|_| hunt.status())
        };
        let expected = run(0).expect("an end");
        assert!(expected.processed > 3, "{expected:?}");
        for silent in [1, 2] {
            let status = run(silent).expect("an end");
            assert_eq!((status.processed, status.lost), (expected.processed, u64::from(silent)));
        }
        let Err(Error::Internal(why)) = run(u32::MAX) else { panic!("it cannot be done") };
        assert!(why.contains("lost 3 times") && why.contains("no sign of life"), "{why}");
    }
}
