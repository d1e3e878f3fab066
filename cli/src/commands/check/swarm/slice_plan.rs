//! What a search by slices is, settled before it begins: subsystem, memory of a job, and the identity of the run.
//!
//! Invariant: two runs with the same identity ask for the same activations, one after the other, with the same results.

use super::super::Arguments;
use super::super::properties::Properties;
use crate::arguments::TableMode;
use crate::input::Specification;
use crate::outcome::Failure;
use crate::swarm::checkpoint::{self, JOB_MEMORY, JOBS, SLICE};
use crate::swarm::subsystem::{find_leaves, names, split_names};
use crate::watch::Watch;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::model::network::LeafIx;
use gridlock_manager::grid::journal::{Identity, Journal};
use gridlock_manager::grid::work::Grid;
use gridlock_manager::slices::{self, Opened, Options, Record};

/// What one worker may use for a slice if nothing else is said.
const DEFAULT_JOB_MEMORY: u64 = 64 << 20;
const SUBSYSTEM: &str = "subsystem";

/// What all processes of a run must agree on. Subsystem and memory come with the jobs.
pub fn agreed(specification: &Specification, properties: &Properties, arguments: &Arguments) -> Identity {
    let tables = arguments.tables.options(TableMode::Auto);
    let parts = [
        ("gridlock", env!("CARGO_PKG_VERSION").to_owned()),
        (JOBS, SLICE.to_owned()),
        ("specification", specification.fingerprint()),
        ("properties", properties.identity.join(", ")),
        // Tables that are filled otherwise may number local states otherwise.
        ("tables", format!("{:?}, {}, {}", tables.tables, tables.table_limit, tables.step_limit)),
    ];
    parts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Bytes that a job may use: as told, else as the checkpoint has it.
pub fn job_memory(arguments: &Arguments) -> u64 {
    let recorded = || recorded(arguments)?.get(JOB_MEMORY)?.parse().ok();
    arguments.swarm.job_memory.or_else(recorded).unwrap_or(DEFAULT_JOB_MEMORY)
}

/// What the checkpoint that is to be resumed says, if it is of a search by slices.
fn recorded(arguments: &Arguments) -> Option<crate::swarm::numbers::Identity> {
    arguments.swarm.recorded().filter(|identity| identity.get(JOBS).is_some_and(|jobs| jobs == SLICE))
}

/// See the module head.
pub struct SlicePlan {
    /// The subsystem.
    pub leaves: Vec<LeafIx>,
    /// What its leaves are called.
    pub names: Vec<String>,
    /// Why it was chosen, if the program chose it.
    pub chosen: Option<String>,
    /// What this run is.
    pub identity: Identity,
}

impl SlicePlan {
    /// Settles everything.
    pub fn new(
        prepared: &Prepared,
        mut identity: Identity,
        options: &Options,
        arguments: &Arguments,
        watch: &Watch,
    ) -> Result<Self, Failure> {
        let (swarm, net) = (&arguments.swarm, prepared.net());
        // The choice would be the same again, but it takes time.
        let before = || recorded(arguments)?.get(SUBSYSTEM).cloned();
        let before = if swarm.is_auto() { before() } else { None };
        let (leaves, chosen) = match before {
            Some(names) => (find_leaves(net, &split_names(&[names]))?, None),
            None if swarm.is_auto() => {
                watch.begin("choosing a subsystem", "states");
                let grid = Grid::threads(arguments.workers(), swarm.patience.stuck_after());
                let stop = || watch.stopped().is_some();
                let choice = slices::choose_subsystem(prepared, options, &grid, &stop)?;
                if watch.stopped().is_some() {
                    return Err(Failure::Stopped);
                }
                (choice.leaves().to_vec(), Some(choice.to_string()))
            }
            None => (find_leaves(net, &split_names(&swarm.subsystem))?, None),
        };
        let names = names(net, &leaves);
        identity.push((SUBSYSTEM.to_owned(), names.join(", ")));
        identity.push((JOB_MEMORY.to_owned(), options.job_memory.to_string()));
        Ok(SlicePlan { leaves, names, chosen, identity })
    }

    /// Opens the checkpoint, if one is wanted.
    pub fn open(&self, arguments: &Arguments) -> Result<Option<Opened>, Failure> {
        let Some(dir) = &arguments.swarm.checkpoint else { return Ok(None) };
        let opened = Journal::<Record>::open(dir, &self.identity, arguments.swarm.resume)
            .map_err(checkpoint::cannot_use)?;
        checkpoint::forget_result(dir)?;
        Ok(Some(opened))
    }
}
