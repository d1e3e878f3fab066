//! Bounded depth-first search below a path: the jobs of the member `prefix`.
//!
//! Invariant: if a job is complete, it has expanded every state that can be reached from the end of the path within the
//! bound, the steps of the path counted. If its limits were reached, every such state that was not expanded can be reached
//! within the bound from a state that is given back, or other jobs have reported it at that depth or nearer. A search that
//! ends because it has enough findings also gives back the states that are left.

use super::depth::{self, Searched};
use super::job::{Below, HuntEnd};
use super::nearest::Nearest;
use super::survey::Survey;
use super::told::{Known, MOST_TOLD, Told};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::Outcome;

/// Follows the path and searches from its end. An error if there is no such path.
pub(super) fn run<S: Successors>(
    survey: &mut Survey<S>,
    path: &[(u32, Vec<u64>)],
    bound: u32,
    known: Option<&Known>,
    rng: Rng,
) -> Result<(HuntEnd, Below)> {
    let from = follow(survey, path)?;
    let words = survey.system.width().words();
    let visited = Nearest::new(words, known, survey.budget);
    let Searched { end, visited, left, cut } = depth::run(survey, visited, path, bound, rng);
    let covered = match end {
        HuntEnd::Everything | HuntEnd::Complete => true,
        HuntEnd::OverBudget => left.is_some(),
        HuntEnd::Interrupted | HuntEnd::Failed(_) => false,
    };
    let told = known.map(|_| {
        let mut told = if covered { visited.told() } else { Told::default() };
        told.cut(words, MOST_TOLD);
        told
    });
    Ok((end, Below { from, cut_off: cut, left, told, skipped: visited.skipped() }))
}

/// The state at the end of a path, each step of which must be possible. Its states are not counted as expanded.
fn follow<S: Successors>(survey: &Survey<S>, path: &[(u32, Vec<u64>)]) -> Result<Vec<u64>> {
    let mut state = survey.system.initial();
    let mut steps = Steps::new(survey.system.width().words());
    for (number, (vector, target)) in path.iter().enumerate() {
        steps.clear();
        survey.system.expand(&state, &mut steps)?;
        let leads_on = survey.net.with(|net| {
            let known = net.vectors.get(*vector as usize);
            known.is_some_and(|known| matches!(known.outcome, Outcome::Step(_)))
        });
        let same = |(to, via): (&[u64], gridlock_lts::engine::successors::Via)| {
            via.vector().0 == *vector && to == &target[..]
        };
        if !leads_on || !steps.iter().any(same) {
            return Err(Error::Input(format!("step {} of the path is not possible", number + 1)));
        }
        state.copy_from_slice(target);
    }
    Ok(state)
}
