//! `--reduce auto`: a full search that tries now and then whether a reduced one would be over already.
//!
//! A state costs a reduced search some ten to thirty times as much as a full one, and nothing cheap tells beforehand how
//! many states it would visit. So both run: each time the full search has four times as many states as the last time, a
//! reduced search may visit one for every [`PART`] of them. If it ends, its answer is the answer. Where reduction does not
//! help, the trials cost time that nothing makes up for (`docs/reduction.md` has figures). Where it helps as much as it can
//! (thousands of times fewer states), the full search ends after a few million states. A full search that runs out of memory
//! leaves all of it to a reduced one.
//!
//! Invariant: which search answers depends on the system, the properties and the limits only, and a shortest counterexample
//! stays one: a reduced search that may find longer ones answers only if nothing is violated.

use gridlock_lts::base::error::{Limit, Result};
use gridlock_lts::engine::reduce::Keep;
use gridlock_lts::engine::search::{self, Options, Order, Report, Stats, Verdict};
use gridlock_lts::model::network::Network;
use gridlock_lts::property::Property;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// States of the full search before the first trial: smaller ones take less than a second anyway.
const FIRST: u64 = 1 << 20;
/// A trial comes when the full search has this many times the states that it had at the last one.
const GROWTH: u64 = 4;
/// States of the full search for each that a trial may visit.
const PART: u64 = 2000;

/// What `--reduce auto` came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// The full search answered, after this number of trials.
    Full(u32),
    /// A trial answered when the full search had this number of states.
    Trial(u64),
    /// The full search ran out of memory at this number of states, and a reduced one took over.
    Memory(u64),
}

struct Trials {
    due: u64,
    made: u32,
    ended: Option<Result<Report>>,
    at: u64,
}

/// Searches as `options` say, with trials in between.
pub(super) fn search(
    net: &Network,
    properties: &[Property],
    options: &Options,
) -> Result<(Report, Decision)> {
    let (started, shortest) = (Instant::now(), options.order == Order::BreadthFirst);
    // The time of a reduced search is that of all there was.
    let whole =
        |report: Report| Report { stats: Stats { time: started.elapsed(), ..report.stats }, ..report };
    let trials = Mutex::new(Trials { due: FIRST, made: 0, ended: None, at: 0 });
    let pause = |states: u64| {
        let mut trials = trials.lock().unwrap_or_else(PoisonError::into_inner);
        if states < trials.due {
            return false;
        }
        (trials.due, trials.made) = (states.saturating_mul(GROWTH), trials.made + 1);
        let most = states / PART;
        let limited = Options { max_states: Some(most), progress: None, ..*options };
        trials.ended = reduced(net, properties, &limited, shortest).transpose();
        // A search on several threads may see the limit late, and end beyond it.
        let beyond = |ended: &Result<Report>| ended.as_ref().is_ok_and(|report| report.stats.states > most);
        trials.ended = trials.ended.take().filter(|ended| !beyond(ended));
        trials.at = states;
        trials.ended.is_some()
    };
    let full = search::check(net, properties, &Options { pause: Some(&pause), ..*options })?;
    let trials = trials.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(ended) = trials.ended {
        return Ok((whole(ended?), Decision::Trial(trials.at)));
    }
    if let Verdict::Unknown(Limit::Memory(_)) = full.verdict
        && let Some(report) = reduced(net, properties, options, shortest)?
    {
        return Ok((whole(report), Decision::Memory(full.stats.states)));
    }
    Ok((full, Decision::Full(trials.made)))
}

/// The answer of a reduced search, if it has one that a full search could have given.
fn reduced(
    net: &Network,
    properties: &[Property],
    options: &Options,
    shortest: bool,
) -> Result<Option<Report>> {
    for keep in [Keep::Verdicts, Keep::Lengths] {
        let report = search::check(net, properties, &Options { reduce: Some(keep), ..*options })?;
        let lengths = report.reduction.is_none_or(|reduction| reduction.lengths);
        match report.verdict {
            Verdict::Unknown(_) => return Ok(None),
            Verdict::Violated { .. } | Verdict::Faulty { .. } if shortest && !lengths => {}
            _ => return Ok(Some(report)),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::samples::random::{self, Shape};
    use gridlock_lts::samples::synthetic;

    const DEADLOCK: Property = Property::DeadlockFree { allow_termination: false };

    #[test]
    fn a_small_system_is_searched_in_full() {
        let net = synthetic::philosophers(6);
        let (report, decision) = search(&net, &[DEADLOCK], &Options::default()).expect("a report");
        assert_eq!(decision, Decision::Full(0));
        assert_eq!(
            report,
            Report {
                stats: report.stats.clone(),
                ..search::check(&net, &[DEADLOCK], &Options::default()).expect("a report")
            }
        );
    }

    #[test]
    fn a_large_one_that_reduces_well_is_not() {
        // 3^15 states, of which a reduced search visits hundreds.
        let net = synthetic::philosophers(15);
        for workers in [1, 2] {
            let options = Options { workers, ..Options::default() };
            let (report, decision) = search(&net, &[DEADLOCK], &options).expect("a report");
            let Decision::Trial(at) = decision else { panic!("{decision:?}") };
            assert!((FIRST..16 * FIRST).contains(&at), "{at}");
            assert!(report.stats.states <= at / PART, "{:?}", report.stats);
            let Verdict::Violated { property: 0, trace } = report.verdict else { panic!("{report:?}") };
            assert_eq!(trace.steps.len(), 15, "as short as can be");
        }
    }

    #[test]
    fn memory_that_is_not_enough_is_left_to_a_reduced_search() {
        let net = synthetic::philosophers(12);
        let options = Options { max_memory: Some(3 << 20), ..Options::default() };
        let full = search::check(&net, &[DEADLOCK], &options).expect("a report");
        assert!(matches!(full.verdict, Verdict::Unknown(Limit::Memory(_))), "{full:?}");
        let (report, decision) = search(&net, &[DEADLOCK], &options).expect("a report");
        assert!(
            matches!(decision, Decision::Memory(_)) && matches!(report.verdict, Verdict::Violated { .. })
        );
    }

    /// What a trial says is what the full search says, and as short.
    #[test]
    fn reduced_answers_are_those_of_the_full_search() {
        let mut answered = 0;
        for seed in 0..300 {
            let net = Shape { faults: seed as usize % 3 * 20, ..Shape::default() }.network(seed);
            let properties = random::properties(&net, seed);
            for order in [Order::BreadthFirst, Order::DepthFirst] {
                let options = Options { order, ..Options::default() };
                let full = search::check(&net, &properties, &options).expect("a report");
                let trial = reduced(&net, &properties, &options, order == Order::BreadthFirst);
                let Some(trial) = trial.expect("a report") else { continue };
                answered += 1;
                let length = |verdict: &Verdict| match verdict {
                    Verdict::Violated { trace, .. } | Verdict::Faulty { trace, .. } => {
                        Some(trace.steps.len())
                    }
                    _ => None,
                };
                let [a, b] = [&full.verdict, &trial.verdict].map(length);
                match order {
                    Order::BreadthFirst => assert_eq!(a, b, "seed {seed}"),
                    Order::DepthFirst => assert_eq!(a.is_some(), b.is_some(), "seed {seed}"),
                }
            }
        }
        assert!(answered > 400, "{answered}");
    }
}
