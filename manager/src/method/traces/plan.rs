//! The plan of a swarm, fixed before it begins: subsystem, guide, budgets, and the identity of the run.

use super::choose::{self, Choice, Look};
use super::options::Traces;
use crate::grid::journal::Identity;
use crate::grid::machine::window;
use crate::method::checkpoint::{JOB_MEMORY, given_job_memory};
use crate::method::subsystem::{self, split_names};
use crate::method::{Listed, Run};
use crate::traces::swarm::{Config, Pace};
use gridlock_lts::base::error::Result;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::guide::{Guide, Relevance};
use gridlock_worker::job::JobLimits;
use num_bigint::BigUint;
use std::ops::Range;
use std::sync::Arc;

/// The default memory of a job: less than the first is too little for any job, and no job needs more than the second.
const DEFAULT_JOB_MEMORY: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// By default jobs of prefixes may do this many times the work of an exhaustive search.
const WORK_LIMIT: u64 = 10;

/// Waiting states that were handed on may take this many times the memory of a job.
const WAITING: u64 = 2;

/// Parts of the identity that decide the meaning of trace IDs and the properties: the shards of one swarm share them.
pub const OF_THE_SPACE: [&str; 6] =
    ["specification", "properties", "tables", "subsystem", "unroll", "traces"];
/// The part of the identity with the IDs to be done.
pub const IDS: &str = "ids";
/// Its value for all IDs.
pub const ALL_IDS: &str = "all";

/// The part of the identity with the answers that a job is based on, and the beginning of its value for a window.
const PACE: &str = "pace";
const WINDOW: &str = "window ";

/// See the module head.
pub struct Plan {
    /// The names of the subsystem's leaves.
    pub subsystem: Vec<String>,
    /// States and edges of its LTS.
    pub size: (usize, usize),
    /// Whether that is cyclic.
    pub cyclic: bool,
    /// The guide of the searches.
    pub guide: Arc<Guide>,
    /// How the subsystem was chosen, if the program chose it.
    pub choice: Option<Choice>,
    /// How many IDs there are: one for each trace of the guide, or for each class.
    pub traces: BigUint,
    /// The IDs to be done.
    pub ids: Range<BigUint>,
    /// For the manager.
    pub config: Config,
    /// The identity of this run.
    pub identity: Identity,
}

impl Plan {
    /// Makes the plan.
    pub fn new(traces: &Traces, run: &Run, prepared: &Prepared) -> Result<Plan> {
        let informed = &traces.informed;
        let recorded = || informed.checkpoint.recorded_number(Traces::NAME, JOB_MEMORY);
        // The number of workers may differ from run to run, so the checkpoint comes first.
        let memory = informed.job_memory.or_else(recorded).unwrap_or_else(|| run.share(DEFAULT_JOB_MEMORY));
        let limits = JobLimits { states: traces.job_states.unwrap_or(u64::MAX), memory };
        let net = prepared.net();
        let (leaves, choice) = if informed.is_auto() {
            let look = if traces.borders() { Look::Once } else { Look::Close };
            let (leaves, choice) = choose::choose(prepared, traces.unroll, limits, look, run.host)?;
            (leaves, Some(choice))
        } else {
            (subsystem::find_leaves(net, &split_names(&informed.subsystem))?, None)
        };
        let built = subsystem::build(net, &leaves)?;
        let guide = Arc::new(subsystem::guide(net, &built, traces.unroll)?);
        let orders = match traces.one_order(guide.leaves().len()).then(|| subsystem::orders(&guide)) {
            Some(Err(error)) if traces.wants_one_order() => return Err(error),
            made => made.and_then(Result::ok).map(Arc::new),
        };
        let all = orders.as_ref().map_or(guide.traces(), |orders| orders.classes().traces());
        let shard = match (&traces.ids, &traces.shard) {
            (Some(ids), _) => Some(ids.resolve(all, "--ids")?),
            (None, Some(share)) => Some(share.resolve(all, "--shard")?),
            (None, None) => None,
        };
        let relevance = traces.directed().then(|| Arc::new(Relevance::of(prepared, guide.leaves())));
        let config = Config {
            relevance: relevance.filter(|relevance| !relevance.is_empty()),
            orders: orders.clone(),
            granularity: traces.granularity(),
            strategy: traces.strategy(),
            seed: traces.seed.unwrap_or(0),
            order: traces.iss().order(),
            pace: pace(traces, run),
            shard: shard.clone(),
            job_workers: traces.job_workers(),
            record: informed.report.is_some(),
            borders: traces.borders(),
            border_memory: limits.memory.saturating_mul(WAITING),
            work_limit: Some(traces.work_limit.unwrap_or(WORK_LIMIT)),
            ..Config::new(limits)
        };
        let names = subsystem::names(net, &leaves);
        Ok(Plan {
            identity: identity(traces, run, &names, all, &config),
            subsystem: names,
            size: (built.states(), built.edge_count()),
            cyclic: built.cycle(net).is_some(),
            choice,
            ids: shard.unwrap_or(BigUint::ZERO..all.clone()),
            traces: all.clone(),
            config,
            guide,
        })
    }

    /// The identity that all processes of a run must agree on. Jobs carry their limits, and only rank 0 makes them, so
    /// machines of different size may take part.
    pub fn agreed(&self, traces: &Traces) -> Identity {
        let own = [JOB_MEMORY, PACE];
        let decided = self.identity.iter().filter(|(name, _)| !own.contains(&name.as_str())).cloned();
        decided.chain([given_job_memory(traces.informed.job_memory)]).collect()
    }
}

/// Which answers a job is based on: from the flag, from the run that is resumed, or from the number of workers.
fn pace(traces: &Traces, run: &Run) -> Pace {
    let recorded = || {
        let identity = traces.informed.checkpoint.recorded(Traces::NAME)?;
        identity.get(PACE)?.strip_prefix(WINDOW)?.parse().ok()
    };
    traces.pace().unwrap_or_else(|| Pace::Window(recorded().unwrap_or_else(|| window(run.workers()))))
}

/// The value of `--orders` in effect.
pub(super) fn orders_name(config: &Config) -> &'static str {
    if config.orders.is_some() { "one" } else { "all" }
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn identity(traces: &Traces, run: &Run, names: &[String], all: &BigUint, config: &Config) -> Identity {
    let shown_ids = |ids: &Range<BigUint>| format!("{}..{}", ids.start, ids.end);
    let pace = match config.pace {
        Pace::Window(n) => format!("{WINDOW}{n}"),
        Pace::Batch(n) => format!("simulated workers {n}"),
    };
    run.identity(
        Traces::NAME,
        [
            ("subsystem", names.join(", ")),
            ("unroll", traces.unroll.map_or("no".to_owned(), |k| k.to_string())),
            ("traces", all.to_string()),
            (IDS, config.shard.as_ref().map_or(ALL_IDS.to_owned(), shown_ids)),
            ("jobs", config.granularity.to_string()),
            ("orders", orders_name(config).to_owned()),
            (JOB_MEMORY, config.limits.memory.to_string()),
            ("job states", traces.job_states.map_or("no limit".to_owned(), |n| n.to_string())),
            ("borders", on_off(config.borders)),
            ("beyond", format!("{:?}", traces.onward().then).to_lowercase()),
            ("directed", on_off(traces.directed())),
            ("strategy", config.strategy.to_string()),
            ("seed", config.seed.to_string()),
            ("iss", traces.iss().name().to_owned()),
            (PACE, pace),
        ],
    )
}
