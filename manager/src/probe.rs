//! How large the search is that a choice is made for, and so what the choice may cost.
//!
//! To choose a subsystem must cost little beside the search that follows, and nobody knows how long that is. A probe is the
//! beginning of a plain breadth-first search: its levels tell how large the state space probably is ([`crate::plan`]). It
//! goes on as long as it is itself a small part of that. Invariant: what it says depends on the network alone, and a probe
//! expands at most a twentieth of the states that it speaks for, or [`FIRST`].

use crate::plan::{self, Size};
use gridlock_lts::base::error::Result;
use gridlock_lts::base::hash::Set;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::successors::{Steps, Successors};
use std::sync::Arc;

/// States that are always expanded: a plain search of so many takes less than a millisecond.
pub const FIRST: u64 = 1 << 10;
/// The probe grows by this factor as long as it is worth it, up to so many states.
const GROWTH: u64 = 8;
const MOST: u64 = 1 << 15;
/// Choosing costs at most this part of the search.
const SHARE: u64 = 10;
/// Where levels do not slow down yet, there are probably more than this many times as many states as are known.
const BEYOND: u64 = 8;

/// The beginning of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Probe {
    /// States expanded, and states known.
    pub expanded: u64,
    /// States that were met.
    pub known: u64,
    /// Steps of the expanded states.
    pub steps: u64,
    /// Words of a state.
    pub words: usize,
    /// What the levels tell.
    pub size: Size,
}

impl Probe {
    /// Looks at a system.
    pub fn of(prepared: &Prepared) -> Result<Self> {
        prepared.visit(Look)?
    }

    /// How many states there probably are: rather too few than too many.
    pub fn likely(&self) -> u64 {
        match self.size {
            Size::Exact(states) => states,
            // As many as fit: the greatest number is as good as any other that is too large.
            Size::Estimated { low, .. } => low as u64,
            Size::AtLeast(_) => self.known.saturating_mul(BEYOND),
        }
    }

    /// States that a choice may still expand, of a search that expands at most `most`.
    pub fn allowed(&self, most: Option<u64>) -> u64 {
        (self.likely().min(most.unwrap_or(u64::MAX)) / SHARE).saturating_sub(self.expanded)
    }

    /// Steps of each state.
    pub fn branching(&self) -> f64 {
        self.steps as f64 / self.expanded.max(1) as f64
    }
}

struct Look;

impl Visitor for Look {
    type Out = Result<Probe>;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        let words = system.width().words();
        let (initial, mut steps) = (system.initial(), Steps::new(words));
        let mut known: Set<Vec<u64>> = Set::from_iter([initial.clone()]);
        let (mut level, mut next, mut levels) = (vec![initial], Vec::new(), vec![1]);
        let mut probe = Probe { expanded: 0, known: 1, steps: 0, words, size: Size::AtLeast(1) };
        let mut limit = FIRST;
        while !level.is_empty() {
            for state in &level {
                if probe.expanded == limit {
                    probe.known = known.len() as u64;
                    probe.size = plan::estimate(&levels, false).size;
                    limit *= GROWTH;
                    if limit > MOST || probe.likely() / (2 * SHARE) < limit {
                        return Ok(probe);
                    }
                }
                steps.clear();
                system.expand(state, &mut steps)?;
                probe.expanded += 1;
                probe.steps += steps.len() as u64;
                for (target, _) in steps.iter() {
                    if !known.contains(target) {
                        known.insert(target.to_vec());
                        next.push(target.to_vec());
                    }
                }
            }
            levels.extend((!next.is_empty()).then_some(next.len() as u64));
            level = std::mem::take(&mut next);
        }
        let states = known.len() as u64;
        Ok(Probe { known: states, size: Size::Exact(states), ..probe })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::model::network::Network;
    use gridlock_lts::samples::synthetic;

    #[test]
    fn a_choice_may_cost_a_tenth_of_what_the_probe_speaks_for() {
        let probe = |net: Network| Probe::of(&Prepared::new(net, [])).unwrap();
        let small = probe(synthetic::philosophers(3));
        assert_eq!((small.size, small.expanded), (Size::Exact(26), 26));
        assert_eq!(small.allowed(None), 0);
        // 2,560,000 states.
        let large = probe(synthetic::counters(4, 40));
        assert!(large.expanded <= FIRST || large.expanded * 2 * SHARE <= large.likely(), "{large:?}");
        assert!((50_000..20_000_000).contains(&large.likely()), "{large:?}");
        let allowed = large.allowed(None);
        assert!(allowed + large.expanded <= large.likely() / SHARE && allowed > 0, "{large:?}");
        assert_eq!(large.allowed(Some(100)), 0);
    }
}
