//! `--by-parts` of `minimise` and `compare`: a specification as an LTS that is reduced before it is put together.

use crate::flags::{LimitFlags, TableArguments, TableMode};
use crate::input::{Specification, require_closed};
use crate::outcome::Failure;
use crate::quantities::count;
use crate::watch::Watch;
use gridlock_lts::base::error::{Error, Limit};
use gridlock_lts::base::memory::resident;
use gridlock_lts::engine::parts::{DEFAULT_MEMBERS, Options, Reduction, Stages, Trials, Whole, whole};
use gridlock_lts::model::equivalence::Equivalence;
use std::path::Path;

/// An LTS that is equivalent to the state space of a specification; the state space itself is never built.
pub fn read(
    path: &Path,
    equivalence: Equivalence,
    tables: &TableArguments,
    limits: &LimitFlags,
    watch: &Watch,
) -> Result<Whole, Failure> {
    if path.extension().is_some_and(|extension| extension == "aut") {
        return Err(Failure::input(format_args!(
            "--by-parts is for specifications, and {} is one LTS already: leave it out",
            path.display()
        )));
    }
    let specification = Specification::read(path)?;
    let options = tables.options(TableMode::Auto);
    let system = specification.load(&specification.name, &options, usize::MAX, watch)?;
    require_closed(&system, "--by-parts")?;
    watch.begin("putting together", "states");
    let stop = || watch.stopped().map(|_| Limit::Interrupted);
    let progress = |left: u64, states: u64, _: u64| {
        watch.count(usize::try_from(states).unwrap_or(usize::MAX), 0);
        watch.detail(format!("{} left", count(left)));
    };
    let options = Options {
        workers: std::thread::available_parallelism().map_or(1, |n| n.get()),
        limit: limits.max_states.unwrap_or(u64::from(u32::MAX)),
        groups: &[],
        reduction: Reduction::default(),
        stages: Stages::default(),
        members: DEFAULT_MEMBERS,
        trials: Trials::default(),
        max_memory: limits.memory().saturating_sub(resident().unwrap_or(0)),
        stop: &stop,
        progress: &progress,
    };
    whole(&system.network, equivalence, &options).map_err(|error| match error {
        Error::Input(fault) => Failure::input(format_args!("{fault}; `gridlock check` shows the run to it")),
        Error::Limit(Limit::States(n)) => Failure::Limit(format!(
            "any two parts together have more than {} states, which is the limit (--max-states)",
            count(n)
        )),
        other => other.into(),
    })
}
