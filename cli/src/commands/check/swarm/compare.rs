//! `--compare-bfs`: the exhaustive search beside the swarm, to measure the one and to doubt the other.

use super::super::Arguments;
use super::super::search::Conclusion;
use crate::outcome::Failure;
use crate::watch::Watch;
use gridlock_lts::base::memory::{default_limit, resident};
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::engine::search::{self, Options, Order, Stats, Verdict};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What the exhaustive search says.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct Compared {
    /// `holds`, `violated`, `faulty` or `unknown`.
    pub verdict: &'static str,
    /// States it saw: all there are only if the verdict is `holds`.
    pub states: u64,
    /// Time it took.
    pub seconds: f64,
}

/// Searches exhaustively.
pub fn search(prepared: &Prepared, arguments: &Arguments, watch: &Watch) -> Result<Compared, Failure> {
    watch.begin("comparing with an exhaustive search", "states");
    let cancel = AtomicBool::new(false);
    let progress = |stats: &Stats| {
        watch.count(stats.states as usize, stats.transitions as usize);
        if watch.stopped().is_some() {
            cancel.store(true, Relaxed);
        }
    };
    let limit = arguments.limits.watched().memory.unwrap_or_else(default_limit);
    let options = Options {
        order: Order::BreadthFirst,
        workers: arguments.workers(),
        max_states: None,
        max_depth: None,
        max_memory: Some(limit.saturating_sub(resident().unwrap_or(0))),
        time_limit: None,
        cancel: Some(&cancel),
        progress: Some(&progress),
    };
    let report = search::check(prepared.net(), prepared.properties(), &options)?;
    let verdict = match report.verdict {
        Verdict::Holds => "holds",
        Verdict::Violated { .. } => "violated",
        Verdict::Faulty { .. } => "faulty",
        Verdict::Unknown(_) => "unknown",
    };
    Ok(Compared { verdict, states: report.stats.states, seconds: report.stats.time.as_secs_f64() })
}

impl Compared {
    /// Whether the conclusion of a swarm does not contradict this. Which of several violations is found first is a
    /// matter of luck, and a swarm that has no answer contradicts nobody.
    pub fn agrees(&self, conclusion: &Conclusion) -> bool {
        !matches!(
            (self.verdict, conclusion),
            ("holds", Conclusion::Violated(_) | Conclusion::Faulty(_))
                | ("violated" | "faulty", Conclusion::Holds)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::search::Bound;
    use super::*;

    #[test]
    fn contradictions_are_noticed() {
        let says = |verdict| Compared { verdict, states: 1, seconds: 0.0 };
        let unknown = Conclusion::Unknown(Bound::Interrupted);
        assert!(!says("holds").agrees(&Conclusion::Violated(0)));
        assert!(!says("holds").agrees(&Conclusion::Faulty(String::new())));
        assert!(!says("violated").agrees(&Conclusion::Holds));
        assert!(!says("faulty").agrees(&Conclusion::Holds));
        for verdict in ["holds", "violated", "faulty", "unknown"] {
            assert!(says(verdict).agrees(&unknown));
        }
        assert!(says("faulty").agrees(&Conclusion::Violated(0)) && says("holds").agrees(&Conclusion::Holds));
    }
}
