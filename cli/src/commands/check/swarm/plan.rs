//! What a swarm does, settled before it begins: subsystem, guide, budgets, and the identity of the run.

use super::super::Arguments;
use super::super::properties::Properties;
use super::auto::{self, Auto, Look};
use crate::arguments::TableMode;
use crate::input::Specification;
use crate::outcome::Failure;
use crate::swarm::checkpoint::{self, JOB_MEMORY, JOBS};
use crate::swarm::numbers::{ALL_IDS, IDS};
use crate::swarm::subsystem::{self, split_names};
use crate::watch::Watch;
use gridlock_lts::base::memory::{default_limit, resident};
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::guide::Guide;
use gridlock_manager::grid::journal::{Identity, Journal};
use gridlock_manager::traces::Opened;
use gridlock_manager::traces::swarm::{Config, Pace};
use gridlock_worker::job::{Feedback, JobLimits};
use num_bigint::BigUint;
use std::ops::Range;
use std::sync::Arc;

/// Nobody needs more for a single job by default, and less than the smaller one is too little for any.
const DEFAULT_JOB_MEMORY: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// How many times the work of an exhaustive search prefixes may do by default.
const WORK_LIMIT: u64 = 10;

/// See the module head.
pub struct Plan {
    /// The names of the subsystem's leaves.
    pub subsystem: Vec<String>,
    /// States and edges of its LTS.
    pub size: (usize, usize),
    /// Whether that is cyclic.
    pub cyclic: bool,
    /// What guides the searches.
    pub guide: Arc<Guide>,
    /// How the subsystem was chosen, if the program chose it.
    pub auto: Option<Auto>,
    /// The IDs to be done.
    pub ids: Range<BigUint>,
    /// For the manager.
    pub config: Config,
    /// What this run is.
    pub identity: Identity,
}

impl Plan {
    /// Settles everything.
    pub fn new(
        specification: &Specification,
        prepared: &Prepared,
        properties: &Properties,
        arguments: &Arguments,
        watch: &Watch,
    ) -> Result<Plan, Failure> {
        let swarm = &arguments.swarm;
        let limits =
            JobLimits { states: swarm.job_states.unwrap_or(u64::MAX), memory: job_memory(arguments) };
        let net = prepared.net();
        let (leaves, auto) = if swarm.is_auto() {
            let (leaves, auto) = auto::choose(prepared, swarm.unroll, limits, Look::Close, watch)?;
            (leaves, Some(auto))
        } else {
            (subsystem::find_leaves(net, &split_names(&swarm.subsystem))?, None)
        };
        let built = subsystem::build(net, &leaves)?;
        let guide = Arc::new(subsystem::guide(net, &built, swarm.unroll)?);
        let traces = guide.traces();
        let shard = match (&swarm.ids, &swarm.shard) {
            (Some(ids), _) => Some(ids.resolve(traces, "--ids")?),
            (None, Some(share)) => Some(share.resolve(traces, "--shard")?),
            (None, None) => None,
        };
        let names = subsystem::names(net, &leaves);
        let config = Config {
            granularity: swarm.granularity(),
            strategy: swarm.strategy(),
            seed: swarm.seed.unwrap_or(0),
            order: swarm.iss().order(),
            pace: swarm.pace(),
            shard: shard.clone(),
            record: swarm.report.is_some(),
            work_limit: Some(swarm.work_limit.unwrap_or(WORK_LIMIT)),
            ..Config::new(limits)
        };
        let tables = arguments.tables.options(TableMode::Auto);
        let shown_ids = |ids: &Range<BigUint>| format!("{}..{}", ids.start, ids.end);
        let pace = match config.pace {
            Pace::Window(n) => format!("window {n}"),
            Pace::Batch(n) => format!("simulated workers {n}"),
        };
        let parts = [
            ("gridlock", env!("CARGO_PKG_VERSION").to_owned()),
            ("specification", specification.fingerprint()),
            ("properties", properties.identity.join(", ")),
            // Tables that are filled otherwise may have other local states, and so other traces.
            ("tables", format!("{:?}, {}, {}", tables.tables, tables.table_limit, tables.step_limit)),
            ("subsystem", names.join(", ")),
            ("unroll", swarm.unroll.map_or("no".to_owned(), |k| k.to_string())),
            ("traces", traces.to_string()),
            (IDS, shard.as_ref().map_or(ALL_IDS.to_owned(), shown_ids)),
            (JOBS, config.granularity.to_string()),
            (JOB_MEMORY, limits.memory.to_string()),
            ("job states", swarm.job_states.map_or("no limit".to_owned(), |n| n.to_string())),
            ("strategy", config.strategy.to_string()),
            ("seed", config.seed.to_string()),
            ("iss", swarm.iss().name().to_owned()),
            ("pace", pace),
        ];
        Ok(Plan {
            subsystem: names,
            size: (built.states(), built.edge_count()),
            cyclic: built.cycle(net).is_some(),
            auto,
            ids: shard.unwrap_or(BigUint::ZERO..traces.clone()),
            config,
            identity: parts.map(|(name, value)| (name.to_owned(), value)).into(),
            guide,
        })
    }

    /// What all processes of a run must agree on. Jobs come with their limits, so machines of different size may help.
    pub fn agreed(&self) -> Identity {
        self.identity.iter().filter(|(name, _)| name != JOB_MEMORY).cloned().collect()
    }

    /// Opens the checkpoint, if one is wanted.
    pub fn open(&self, arguments: &Arguments) -> Result<Option<Opened>, Failure> {
        let Some(dir) = &arguments.swarm.checkpoint else { return Ok(None) };
        let opened = Journal::<Feedback>::open(dir, &self.identity, arguments.swarm.resume)
            .map_err(checkpoint::cannot_use)?;
        checkpoint::forget_result(dir)?;
        Ok(Some(opened))
    }
}

/// What a job may use: as told; else as the checkpoint has it, since the number of workers may differ from run to run;
/// else an equal share of what there is.
fn job_memory(arguments: &Arguments) -> u64 {
    let swarm = &arguments.swarm;
    let resumed = || swarm.recorded().and_then(|identity| identity.get(JOB_MEMORY)?.parse().ok());
    let share = || {
        let limit = arguments.limits.watched().memory.unwrap_or_else(default_limit);
        let share = limit.saturating_sub(resident().unwrap_or(0)) / arguments.workers() as u64;
        let share = share.clamp(*DEFAULT_JOB_MEMORY.start(), *DEFAULT_JOB_MEMORY.end());
        // Round numbers: two machines that are nearly the same make the same jobs.
        1 << share.ilog2()
    };
    swarm.job_memory.or_else(resumed).unwrap_or_else(share)
}
