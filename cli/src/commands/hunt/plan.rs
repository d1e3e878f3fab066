//! What a hunt does, settled before it begins: portfolio, guide, budgets, and the identity of the run.

use super::super::check::properties::Properties;
use super::super::check::swarm::auto;
use super::arguments::Arguments;
use super::job_file::JobFile;
use crate::arguments::TableMode;
use crate::input::{Specification, faulty};
use crate::outcome::Failure;
use crate::swarm::checkpoint::{self, COMMAND, HUNT, RESULT};
use crate::swarm::subsystem::{self, split_names};
use crate::watch::Watch;
use gridlock_lang::network::build::Builder;
use gridlock_lang::property::never;
use gridlock_lts::base::memory::resident;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::guide::Guide;
use gridlock_lts::model::network::{LeafIx, Network, Outcome, VectorIx};
use gridlock_lts::property::Property;
use gridlock_manager::grid::journal::{Identity, Journal};
use gridlock_manager::hunt::run::Opened;
use gridlock_manager::hunt::{Config, Kind};
use gridlock_worker::hunt::job::HuntFeedback;
use gridlock_worker::job::JobLimits;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the states of one job take at most by default, and at least.
const JOB_MEMORY: std::ops::RangeInclusive<u64> = 1 << 20..=128 << 20;
/// A short look is enough to choose a subsystem that guides only some of the searches.
const LOOK: JobLimits = JobLimits { states: 500, memory: 8 << 20 };
/// How often the cycles of a subsystem that was chosen are closed.
const UNROLL: u32 = 1;

const SEED: &str = "seed";
const MEMORY: &str = "job memory";

/// See the module head.
pub struct Plan {
    /// For the manager.
    pub config: Config,
    /// What guides the guided members, if there are any.
    pub guide: Option<Guided>,
    /// What this run is.
    pub identity: Identity,
}

/// The subsystem of the guided members.
pub struct Guided {
    /// The names of its leaves.
    pub subsystem: Vec<String>,
    /// How often its cycles are closed.
    pub unroll: Option<u32>,
    /// Its traces.
    pub guide: Arc<Guide>,
}

impl Plan {
    /// Settles everything.
    pub fn new(
        specification: &Specification,
        prepared: &Prepared,
        builder: &Builder,
        properties: &Properties,
        arguments: &Arguments,
        watch: &Watch,
    ) -> Result<Plan, Failure> {
        let repeated = arguments.repeat.as_ref().map(|path| JobFile::read(path)).transpose()?;
        let net = prepared.net();
        let preferred = preferred(net, builder, &arguments.prefer)?;
        let guide = match &repeated {
            Some(file) => file.subsystem().map(|(names, unroll)| named(net, &names, unroll)).transpose()?,
            None => choose(prepared, arguments, watch)?,
        };
        let seed = repeated.as_ref().map(|file| file.seed).or(arguments.seed);
        let seed = seed.or_else(|| recorded(arguments, SEED)).unwrap_or_else(any_seed);
        let mut config = Config::new(seed, guide.is_some(), preferred);
        if !arguments.portfolio.is_empty() {
            config.portfolio = arguments.portfolio.clone();
        }
        config.steering = !arguments.no_steering;
        config.max_jobs = arguments.max_jobs;
        config.max_states = arguments.max_states;
        config.findings = arguments.findings;
        config.job_memory = job_memory(arguments);
        if let Some(file) = repeated {
            config.portfolio = vec![file.member()?];
            config.job_memory = file.job.limits.memory;
            config.only = Some(file.job);
        }
        let identity = identity(specification, properties, arguments, &config, guide.as_ref());
        Ok(Plan { config, guide, identity })
    }

    /// What all processes of a run must agree on: what jobs mean. The jobs themselves come from one of them.
    pub fn agreed(&self) -> Identity {
        let own = [SEED, MEMORY];
        self.identity.iter().filter(|(name, _)| !own.contains(&name.as_str())).cloned().collect()
    }

    /// Opens the checkpoint, if one is wanted.
    pub fn open(&self, arguments: &Arguments) -> Result<Option<Opened>, Failure> {
        let Some(dir) = &arguments.checkpoint else { return Ok(None) };
        let opened = Journal::<HuntFeedback>::open(dir, &self.identity, arguments.resume)
            .map_err(checkpoint::cannot_use)?;
        // The result of an earlier run is not that of this one.
        match std::fs::remove_file(dir.join(RESULT)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::input(format_args!("cannot remove {}: {e}", dir.join(RESULT).display())))
            }
            _ => Ok(Some(opened)),
        }
    }
}

fn identity(
    specification: &Specification,
    properties: &Properties,
    arguments: &Arguments,
    config: &Config,
    guide: Option<&Guided>,
) -> Identity {
    let tables = arguments.tables.options(TableMode::Auto);
    let portfolio: Vec<String> = config.portfolio.iter().map(Kind::to_string).collect();
    let no = || "no".to_owned();
    let parts = [
        (COMMAND, HUNT.to_owned()),
        ("gridlock", env!("CARGO_PKG_VERSION").to_owned()),
        ("specification", specification.fingerprint()),
        ("properties", properties.identity.join(", ")),
        ("tables", format!("{:?}, {}, {}", tables.tables, tables.table_limit, tables.step_limit)),
        ("portfolio", portfolio.join(",")),
        ("steering", if config.steering { "yes" } else { "no" }.to_owned()),
        ("prefer", arguments.prefer.join(", ")),
        ("subsystem", guide.map_or_else(no, |guided| guided.subsystem.join(", "))),
        ("unroll", guide.and_then(|guided| guided.unroll).map_or_else(no, |k| k.to_string())),
        // More of these would make other jobs. More jobs would not.
        ("max states", config.max_states.map_or_else(no, |n| n.to_string())),
        ("findings", config.findings.to_string()),
        (MEMORY, config.job_memory.to_string()),
        (SEED, config.seed.to_string()),
    ];
    parts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The guide of the guided members; none if there are none, or if nobody named a subsystem and no process is fit for one.
fn choose(prepared: &Prepared, arguments: &Arguments, watch: &Watch) -> Result<Option<Guided>, Failure> {
    let wanted = &arguments.portfolio;
    if !wanted.is_empty() && !wanted.iter().any(|kind| kind.is_guided()) {
        return Ok(None);
    }
    let names = split_names(&arguments.subsystem);
    if names.iter().any(|name| name != "auto") {
        return named(prepared.net(), &names, arguments.unroll).map(Some);
    }
    let mut bounds = vec![arguments.unroll];
    if arguments.unroll.is_none() {
        bounds.push(Some(UNROLL));
    }
    for unroll in bounds {
        match auto::choose(prepared, unroll, LOOK, auto::Look::Short, watch) {
            Ok((leaves, _)) => return guided(prepared.net(), &leaves, unroll).map(Some),
            Err(Failure::Input(why)) if unroll.is_some() && !wanted.is_empty() => {
                return Err(Failure::Input(why));
            }
            Err(Failure::Input(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(None)
}

fn named(net: &Network, names: &[String], unroll: Option<u32>) -> Result<Guided, Failure> {
    guided(net, &subsystem::find_leaves(net, names)?, unroll)
}

fn guided(net: &Network, leaves: &[LeafIx], unroll: Option<u32>) -> Result<Guided, Failure> {
    let built = subsystem::build(net, leaves)?;
    let guide = Arc::new(subsystem::guide(net, &built, unroll)?);
    Ok(Guided { subsystem: subsystem::names(net, leaves), unroll, guide })
}

/// The vectors whose labels match one of the patterns.
fn preferred(net: &Network, builder: &Builder, patterns: &[String]) -> Result<Vec<u32>, Failure> {
    let mut vectors = Vec::new();
    for pattern in patterns {
        let matches = match never(builder, pattern).map_err(|p| faulty("--prefer", pattern, &p))? {
            Property::Never(matches) => matches,
            Property::DeadlockFree | Property::Monitor(_) => continue,
        };
        let is_step = |v: u32| matches!(net.vectors[v as usize].outcome, Outcome::Step(_));
        vectors.extend((0..net.vectors.len() as u32).filter(|&v| is_step(v) && matches(net, VectorIx(v))));
    }
    vectors.sort_unstable();
    vectors.dedup();
    Ok(vectors)
}

/// What the states of one job may take: as told; else as the checkpoint has it; else an equal share of what there is.
fn job_memory(arguments: &Arguments) -> u64 {
    let share = || {
        let limits = arguments.watched();
        let room = limits.memory.unwrap_or(u64::MAX).saturating_sub(resident().unwrap_or(0));
        let share = (room / arguments.threads() as u64).clamp(*JOB_MEMORY.start(), *JOB_MEMORY.end());
        // Round numbers: machines that are nearly the same make the same jobs.
        1 << share.ilog2()
    };
    arguments.job_memory.or_else(|| recorded(arguments, MEMORY)).unwrap_or_else(share)
}

/// A number that the checkpoint to be resumed has in its identity.
fn recorded(arguments: &Arguments, name: &str) -> Option<u64> {
    let dir: &Path = arguments.checkpoint.as_deref().filter(|_| arguments.resume)?;
    checkpoint::identity(dir).ok()?.get(name)?.parse().ok()
}

/// A seed that nobody chose, short enough to be typed.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    gridlock_lts::base::rng::Rng::new(now ^ (u64::from(std::process::id()) << 32)).bits() >> 32
}
