//! The path to a finding of a search that keeps no origins: the search is repeated with origins.
//!
//! First all positions keep their origins. If that takes too much memory, one position at a time does, with one more search
//! for each position on the path.

use super::breadth::{Found, Keep, Layers, Spot};
use super::search::GuidedSearch;
use crate::job::Finding;
use crate::stop::Stop;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::Successors;

/// The finding with the steps from the initial state; `None` if the search was interrupted.
pub(super) fn rebuild<S: Successors>(
    search: &GuidedSearch<S>,
    found: &Found,
    budget: &Budget,
) -> Result<Option<Finding>> {
    let steps = match steps_to(search, found.at, budget, true) {
        Err(Stop::OverBudget) => steps_to(search, found.at, budget, false),
        other => other,
    };
    match steps {
        Ok(mut path) => {
            path.extend(found.wrong.step.iter().map(|(vector, target)| (vector.0, target.clone())));
            Ok(Some(Finding { what: found.wrong.what, path }))
        }
        Err(Stop::Interrupted) => Ok(None),
        Err(Stop::OverBudget) => Err(Error::Input(format!(
            "a violation was found, but rebuilding the way to it takes more than {} bytes: give jobs more memory",
            budget.limit()
        ))),
        Err(Stop::Failed(error)) => Err(error),
    }
}

pub(super) fn steps_to<S: Successors>(
    search: &GuidedSearch<S>,
    end: Spot,
    budget: &Budget,
    all: bool,
) -> Result<Vec<(u32, Vec<u64>)>, Stop> {
    let words = search.system.width().words();
    let (mut at, mut backwards) = (end, Vec::new());
    loop {
        let keep = if all { Keep::All } else { Keep::Only(at.position) };
        let mut layers = Layers::new(search, budget, keep, Some(at));
        layers.search(&mut |_| {})?;
        while let Some((_, states)) = layers.kept.iter().find(|(position, _)| *position == at.position) {
            let index = at.index as usize;
            let origin = (index < states.len()).then(|| states.origin(index)).flatten();
            let origin = origin.ok_or_else(|| Error::internal("a state was not found again"))?;
            if at == (Spot { position: 0, index: 0 }) {
                backwards.reverse();
                return Ok(backwards);
            }
            backwards.push((origin.vector, states.get(index)[..words].to_vec()));
            at = Spot { position: origin.position, index: origin.index };
        }
        if all {
            return Err(Error::internal("a position was not found again").into());
        }
    }
}
