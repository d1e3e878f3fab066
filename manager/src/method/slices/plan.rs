//! The plan of a search by slices, fixed before it begins: subsystem, memory of a job, and the identity of the run.
//!
//! Invariant: two runs with the same identity have the same activations in the same order, with the same results.

use super::Slices;
use crate::grid::journal::Identity;
use crate::grid::work::Grid;
use crate::method::checkpoint::JOB_MEMORY;
use crate::method::subsystem::{find_leaves, names, split_names};
use crate::method::{Listed, Run};
use crate::slices::{self, Options};
use gridlock_lts::base::error::Result;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::model::network::LeafIx;

const SUBSYSTEM: &str = "subsystem";

/// See the module head.
pub struct Plan {
    /// The subsystem.
    pub leaves: Vec<LeafIx>,
    /// The names of its leaves.
    pub names: Vec<String>,
    /// Why it was chosen, if the program chose it.
    pub chosen: Option<String>,
    /// The identity of this run.
    pub identity: Identity,
}

/// The identity of a run without its subsystem and its memory.
pub fn identity(search: &Slices, run: &Run) -> Identity {
    let mut identity = run.identity(Slices::NAME, [("jobs", "slice".to_owned())]);
    // A run that takes every step is called as before there was a choice.
    if let Ok(Some(_)) = search.keep() {
        identity.push(("reduce".to_owned(), "on".to_owned()));
    }
    identity
}

impl Plan {
    /// Makes the plan.
    pub fn new(search: &Slices, run: &Run, prepared: &Prepared, options: &Options) -> Result<Self> {
        let (informed, net) = (&search.informed, prepared.net());
        // The choice would be the same again, but it takes time.
        let before = || informed.checkpoint.recorded(Slices::NAME)?.get(SUBSYSTEM).cloned();
        let before = if informed.is_auto() { before() } else { None };
        let (leaves, chosen) = match before {
            Some(names) => (find_leaves(net, &split_names(&[names]))?, None),
            None if informed.is_auto() => {
                run.host.begin("choosing a subsystem", "states");
                let grid = Grid::threads(run.threads, informed.patience.stuck_after());
                let stop = || run.host.stopped().is_some();
                let choice = slices::choose_subsystem(prepared, options, &grid, &stop)?;
                run.go_on()?;
                (choice.leaves().to_vec(), Some(choice.to_string()))
            }
            None => (find_leaves(net, &split_names(&informed.subsystem))?, None),
        };
        let names = names(net, &leaves);
        let mut identity = identity(search, run);
        identity.push((SUBSYSTEM.to_owned(), names.join(", ")));
        identity.push((JOB_MEMORY.to_owned(), options.job_memory.to_string()));
        Ok(Plan { leaves, names, chosen, identity })
    }
}
