//! Informed swarms on systems whose tables cannot be completed: the guide is discovered.
//!
//! Both slices and prefixes use this module if the tables are not complete. A subsystem then has no LTS to begin with; its
//! places and moves come from the searches, and the manager keeps those known so far. Invariant: the conclusion is that of
//! the manager; `holds` comes only from a swarm that has expanded every known state.

mod figures;

use super::checkpoint::{JOB_MEMORY, given_job_memory};
use super::quantities::{bytes, count, counted};
use super::slices::Slices;
use super::subsystem::{find_leaves, names, split_names};
use super::traces::Traces;
use super::traces::options::{Informed, Jobs};
use super::{Bound, Entry, Nothing, Outcome, Row, Run, StatusPage, Tables};
use crate::discovered::{self as swarm, Conclusion, Config, DiscoveredStatus, Discovering, Task};
use crate::fingerprint::tables_made;
use crate::grid::driver::Control;
use crate::grid::journal::Identity;
use crate::grid::machine::window;
use figures::{DiscoveredNumbers, Discovery};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::model::trace::Trace;
use gridlock_lts::property::violated_initially;
use gridlock_worker::discovered::Growing;
use gridlock_worker::job::JobLimits;
use gridlock_worker::states::{Origin, States};
use std::sync::Arc;
use std::time::Instant;

/// Flags of informed swarms that this search takes. The others are about slices, or about traces that are counted beforehand.
const TAKEN: [&str; 9] = [
    "--subsystem",
    "--jobs",
    "--job-memory",
    "--job-states",
    "--window",
    "--checkpoint",
    "--resume",
    "--stuck-after",
    "--report",
];
/// The default memory of a job: the least and the most.
const DEFAULT_JOB_MEMORY: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;
/// The share of the memory for known states, as a divisor: jobs have copies of them.
const KNOWN: u64 = 4;
/// Up to this many known states one job has all places: copies of so few take no time.
const WHOLE: u64 = 1 << 14;
/// States that are looked at to choose a subsystem.
const SAMPLE: usize = 1_000;
/// Places that a page shows.
const LARGEST: usize = super::page::LARGEST;
/// The name of the figures in the page of a checkpoint.
const NUMBERS: &str = "discovered";
/// The part of the identity with the number of jobs of a round.
const WIDTH: &str = "window";

/// The user's flags.
pub(super) struct Discovered<'a> {
    /// The name of the method in identities.
    pub(super) name: &'static str,
    pub(super) informed: &'a Informed,
    pub(super) job_states: Option<u64>,
    pub(super) window: Option<u64>,
}

/// The settings of a swarm, fixed before it begins.
struct Plan {
    subsystem: Vec<String>,
    /// Why it was chosen, if the program chose it.
    chosen: Option<String>,
    config: Config,
    identity: Identity,
}

/// The rows of the page in a checkpoint.
pub(super) fn status(page: &StatusPage) -> Vec<Row> {
    page.figures::<DiscoveredNumbers>(NUMBERS).map_or(Vec::new(), |numbers| numbers.rows())
}

impl Discovered<'_> {
    /// Searches, on the only process or on rank 0.
    pub(super) fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        self.check(run)?;
        if let Some(property) = violated_initially(&run.properties) {
            let verdict = Verdict::Violated { property, trace: Trace::default() };
            return Ok(Outcome::of(verdict, Default::default(), Box::new(Nothing), || run.stopped(false)));
        }
        let (growing, plan) = self.begin(run)?;
        let searched = self.search(run, &growing, plan);
        put_back(run, growing)?;
        searched
    }

    /// Works for rank 0 until that ends the run, and returns its exit code.
    pub(super) fn serve(&self, run: &mut Run) -> Result<u8> {
        self.check(run)?;
        if violated_initially(&run.properties).is_some() {
            return run.peers.wait_for_end(None);
        }
        let (growing, plan) = self.begin(run)?;
        let identity = self.agreed(&plan);
        let work = Arc::new(Discovering(growing));
        run.peers.serve(&run.team(&identity, self.informed.patience), |grid| grid.serve(&work))
    }

    /// Refuses flags that need a guide made beforehand.
    fn check(&self, run: &Run) -> Result<()> {
        let flags = [Entry::of::<Slices>().flags(), Entry::of::<Traces>().flags()].concat();
        let given = run.common.given.iter();
        let refused =
            given.clone().find(|flag| flags.contains(flag) && !TAKEN.contains(&flag.as_str())).cloned();
        let traces = (self.informed.jobs == Some(Jobs::Trace)).then(|| "--jobs trace".to_owned());
        match refused.or(traces) {
            None => Ok(()),
            Some(flag) => Err(Error::input(format_args!(
                "{flag} is about a guide that is made ahead of the search, and the tables of this specification are not \
                 complete: leave it out"
            ))),
        }
    }

    /// Takes the tables and fixes all settings.
    fn begin(&self, run: &mut Run) -> Result<(Arc<Growing>, Plan)> {
        let made = tables_made(&run.tables().network);
        let named = match self.informed.is_auto() {
            true => None,
            false => Some(find_leaves(&run.tables().network, &split_names(&self.informed.subsystem))?),
        };
        let Tables { network, source, .. } = run.take_tables()?;
        let lazy = Lazy::shared(Arc::unwrap_or_clone(network), source, run.properties.clone())?;
        let chosen = match &named {
            Some(_) => Ok(None),
            None => choose(&lazy, run).map(Some),
        };
        let leaves = named.unwrap_or_else(|| match &chosen {
            Ok(Some((leaf, _))) => vec![*leaf],
            _ => Vec::new(),
        });
        let growing = Arc::new(Growing::new(lazy, leaves));
        match chosen {
            Ok(chosen) => {
                let plan = self.plan(run, &growing, made, chosen.map(|(_, why)| why));
                Ok((growing, plan))
            }
            Err(error) => {
                put_back(run, growing)?;
                Err(error)
            }
        }
    }

    fn plan(&self, run: &Run, growing: &Growing, made: String, chosen: Option<String>) -> Plan {
        let recorded = |part| self.informed.checkpoint.recorded_number(self.name, part);
        let memory = self.informed.job_memory.or_else(|| recorded(JOB_MEMORY));
        let memory = memory.unwrap_or_else(|| run.share(DEFAULT_JOB_MEMORY));
        let width = self.window.or_else(|| recorded(WIDTH)).unwrap_or_else(|| window(run.workers()));
        let states = self.job_states.unwrap_or(u64::MAX);
        let subsystem = growing.lazy.with_network(|net| names(net, &growing.leaves));
        let identity = run.identity(
            self.name,
            [
                ("guide", "discovered".to_owned()),
                ("subsystem", subsystem.join(", ")),
                ("job states", self.job_states.map_or("no limit".to_owned(), |n| n.to_string())),
                // States are numbers of local states.
                ("tables made", made),
                (JOB_MEMORY, memory.to_string()),
                (WIDTH, width.to_string()),
            ],
        );
        let limits = JobLimits { states, memory };
        let config = Config { limits, width, whole: WHOLE, states: run.common.max_states };
        Plan { subsystem, chosen, config, identity }
    }

    /// The identity that all processes of a run must agree on. Only rank 0 makes jobs, and they come with their limits.
    fn agreed(&self, plan: &Plan) -> Identity {
        let own = [JOB_MEMORY, WIDTH];
        let decided = plan.identity.iter().filter(|(name, _)| !own.contains(&name.as_str())).cloned();
        decided.chain([given_job_memory(self.informed.job_memory)]).collect()
    }

    fn search(&self, run: &Run, growing: &Arc<Growing>, plan: Plan) -> Result<Outcome> {
        let host = run.host;
        host.note("note: the tables of the processes are not complete, so the guide is discovered");
        plan.chosen.iter().for_each(|why| host.note(why));
        run.note_idle(plan.config.width);
        let start = Instant::now();
        let opened = self.informed.checkpoint.open(&plan.identity)?;
        let resumed = opened.as_ref().map_or(0, |(_, records)| records.len());
        host.begin("searching", "states");
        let tell = |status: &DiscoveredStatus| {
            let detail = format!(
                "{} places and {} moves known so far, {} states waiting",
                count(status.places),
                count(status.edges),
                count(status.waiting)
            );
            host.progress(status.total.states, status.total.transitions, detail);
        };
        let page = StatusPage { resumed, ..StatusPage::new(&run.file, run.threads, &plan.identity) };
        let page =
            |status: &DiscoveredStatus| page.bytes(start.elapsed(), NUMBERS, &DiscoveredNumbers::new(status));
        let stop = || host.stopped().is_some();
        let control = Control { stop: &stop, progress: &tell, page: &page };
        let identity = self.agreed(&plan);
        let grid = run.peers.grid(&run.team(&identity, self.informed.patience), &stop)?;
        let task = Task {
            properties: &run.properties,
            config: plan.config,
            memory: run.room() / KNOWN,
            largest: if self.informed.report.is_some() { LARGEST } else { 0 },
        };
        let report = swarm::conduct(growing, &task, &grid, opened, &control)?;
        let time = start.elapsed();
        let bound = self.bound_of(&report.conclusion, &report.status, &plan, run);
        let closed = matches!(report.conclusion, Conclusion::Holds);
        let figures = Discovery {
            numbers: DiscoveredNumbers::new(&report.status),
            closed,
            subsystem: plan.subsystem,
            job_memory_bytes: plan.config.limits.memory,
            job_states: self.job_states,
            auto: plan.chosen,
            checkpoint: self.informed.checkpoint.shown(),
            resumed: resumed as u64,
            traffic: run.peers.traffic(),
            identity: plan.identity.into_iter().collect(),
            total: report.status.total,
            largest: report.largest,
        };
        let figures = Box::new(figures);
        Ok(match report.conclusion {
            Conclusion::Found(verdict) => Outcome::of(verdict, time, figures, || bound),
            Conclusion::Holds => Outcome::of(Verdict::Holds, time, figures, || bound),
            _ => Outcome::unknown(bound, time, figures),
        })
    }

    /// What kept a swarm from an answer.
    fn bound_of(&self, conclusion: &Conclusion, status: &DiscoveredStatus, plan: &Plan, run: &Run) -> Bound {
        let checkpoint = self.informed.checkpoint.checkpoint.is_some();
        let so_far = format!(
            "nothing was found in {}; {} places of the subsystem and {} moves are known so far, {} waiting",
            counted(status.total.states as usize, "state"),
            count(status.places),
            count(status.edges),
            counted(status.waiting as usize, "state"),
        );
        let bounded = |bound: Bound| {
            Bound { message: format!("{so_far}: {}", bound.message), ..bound }.of_kind("bounded")
        };
        match conclusion {
            Conclusion::Bounded => bounded(Bound::from(Limit::States(plan.config.states.unwrap_or(0)))),
            Conclusion::Full(limit) => bounded(Bound::new(
                "max-memory",
                format!("they take {}, all that --max-memory leaves for them", bytes(*limit)),
            )),
            Conclusion::TooLarge => Limit::JobMemory(plan.config.limits.memory).into(),
            Conclusion::Journal(trouble) => Bound::checkpoint(trouble),
            // The others are answers and do not come here.
            Conclusion::Stopped | Conclusion::Holds | Conclusion::Found(_) => match run.limit() {
                limit @ (Limit::Time(_) | Limit::Memory(_)) if !checkpoint => bounded(limit.into()),
                _ => run.stopped(checkpoint),
            },
        }
    }
}

/// Puts the tables back, as far as they are filled.
fn put_back(run: &mut Run, growing: Arc<Growing>) -> Result<()> {
    let (network, source) = Growing::take_parts(growing)?;
    run.put_tables(Tables { network: Arc::new(network), source, complete: false });
    Ok(())
}

/// The process that has the most local states within the first few states: its places divide the work best. Returns the
/// reason, too, for people.
fn choose(lazy: &Lazy, run: &Run) -> Result<(LeafIx, String)> {
    run.host.begin("choosing a subsystem", "states");
    let budget = Budget::new(u64::MAX);
    let (initial, nowhere) = (lazy.initial(), || Origin { position: 0, index: 0, vector: 0 });
    let mut states = States::new(initial.len(), false, &budget);
    let full = |_| Error::internal("a sample has no room");
    states.insert(&initial, nowhere).map_err(full)?;
    let (mut next, mut steps) = (0, Steps::new(initial.len()));
    while next < states.len().min(SAMPLE) {
        run.go_on()?;
        steps.clear();
        lazy.expand(states.get(next), &mut steps)?;
        // What is marked may be a fault, which leads nowhere.
        for (target, _) in steps.iter().filter(|(_, via)| !via.is_marked()) {
            states.insert(target, nowhere).map_err(full)?;
        }
        next += 1;
    }
    lazy.with_network(|net| {
        let sizes = net.leaves.iter().map(|leaf| leaf.states.len()).enumerate();
        let (leaf, size) = sizes.rev().max_by_key(|(_, size)| *size).unwrap_or((0, 0));
        let leaf = LeafIx(leaf as u32);
        let why = format!(
            "subsystem: {}, of which {} are known after {}; no other process has more",
            names(net, &[leaf]).concat(),
            counted(size, "local state"),
            counted(next, "state")
        );
        Ok((leaf, why))
    })
}
