//! `--compare-bfs`: an exhaustive search beside the swarm, to compare the work and to check the verdict.

use crate::method::{Conclusion, Run, exhaustive};
use gridlock_lts::base::error::Result;
use gridlock_lts::engine::search::{Order, Verdict};
use serde::Serialize;

/// The result of the exhaustive search.
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
pub fn search(run: &mut Run) -> Result<Compared> {
    run.host.begin("comparing with an exhaustive search", "states");
    let (report, _) = exhaustive::search(run, Order::BreadthFirst, Default::default(), None)?;
    let verdict = match report.verdict {
        Verdict::Holds => "holds",
        Verdict::Violated { .. } => "violated",
        Verdict::Faulty { .. } => "faulty",
        Verdict::Unknown(_) => "unknown",
    };
    Ok(Compared { verdict, states: report.stats.states, seconds: report.stats.time.as_secs_f64() })
}

impl Compared {
    /// Whether the conclusion of a swarm agrees with this. The two may find different violations, and a swarm without an
    /// answer agrees with every result.
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
    use super::*;
    use crate::method::Bound;

    #[test]
    fn contradictions_are_noticed() {
        let says = |verdict| Compared { verdict, states: 1, seconds: 0.0 };
        let unknown = Conclusion::Unknown(Bound::new("interrupted", String::new()));
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
