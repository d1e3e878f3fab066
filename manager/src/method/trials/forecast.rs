//! What a reduced search will come to, judged by its first levels.
//!
//! Both searches go level by level, so that they can be compared where both have been. Where reduction helps, the full
//! search has more transitions by a factor that grows with the depth, and over a few levels it grows evenly. Invariant: a
//! forecast is a function of counts, which are the same in every run.

/// What a reduced search had done when a level ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reached {
    pub(super) states: u64,
    pub(super) transitions: u64,
    /// In units of its work.
    pub(super) work: u64,
}

/// Levels over which the factor must have been seen to grow.
const SEEN: usize = 3;
/// A search has left its forecast when it has more transitions than expected by this factor.
const OFF: f64 = 2.0;

/// How the full search and the reduced one are related.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Forecast {
    /// The last level that was compared,
    depth: usize,
    /// what the reduced search had done there,
    reached: Reached,
    /// the logarithm of how many times more transitions the full one had, and by how much that grows with each level.
    factor: f64,
    growth: f64,
    /// What a transition costs the reduced search, in units of work.
    cost: f64,
}

impl Forecast {
    /// Compares both searches by the transitions of the full one when each level ended, and what the reduced one had
    /// done then; `None` if there is too little to tell.
    pub(super) fn new(full: &[u64], reduced: &[Reached]) -> Option<Self> {
        let depth = full.len().min(reduced.len()).checked_sub(1).filter(|&depth| depth >= SEEN)?;
        let factor = |k: usize| (full[k].max(1) as f64 / reduced[k].transitions.max(1) as f64).ln();
        // A factor that grows unevenly is taken for one that grows slowly.
        let growth = (depth - SEEN..depth).map(|k| factor(k + 1) - factor(k)).fold(f64::INFINITY, f64::min);
        // What it knows already makes transitions cheaper later: only the last ones count.
        let (before, reached) = (reduced[depth - 2], reduced[depth]);
        let steps = (reached.transitions - before.transitions).max(1);
        let cost = (reached.work - before.work) as f64 / steps as f64;
        Some(Forecast { depth, reached, factor: factor(depth), growth, cost })
    }

    /// Transitions of the reduced search when a level ends, for which those of the full one are known.
    fn transitions(&self, full: &[u64], depth: usize) -> f64 {
        let levels = depth as f64 - self.depth as f64;
        full[depth] as f64 / (self.factor + self.growth * levels).exp()
    }

    /// The work of the reduced search until it is as deep as the full one. `None` if the full one is not far enough ahead
    /// for the comparison to mean anything.
    pub(super) fn work_until(&self, full: &[u64]) -> Option<u64> {
        let last = full.len().checked_sub(1).filter(|&last| last >= self.depth)?;
        let more = (self.transitions(full, last) - self.reached.transitions as f64).max(0.0);
        Some(self.reached.work.saturating_add((more * self.cost) as u64))
    }

    /// How many states the reduced search visits for this much work, if they stay as dear as they were.
    pub(super) fn states_for(&self, work: u64) -> u64 {
        let states =
            u128::from(self.reached.states) * u128::from(work) / u128::from(self.reached.work.max(1));
        u64::try_from(states).unwrap_or(u64::MAX)
    }

    /// Whether a reduced search with this many transitions at the end of a level is what was expected. Beyond where the
    /// full one came there is nothing to compare with.
    pub(super) fn holds(&self, full: &[u64], depth: usize, transitions: u64) -> bool {
        depth >= full.len() || transitions as f64 <= OFF * self.transitions(full, depth).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both searches have done when each of so many levels ended, if their transitions are multiplied by these factors.
    fn levels(depth: usize, full: f64, reduced: f64, cost: u64) -> (Vec<u64>, Vec<Reached>) {
        let of = |factor: f64, k: usize| (100.0 * factor.powi(k as i32)) as u64;
        let reached = |k| {
            let transitions = of(reduced, k);
            Reached { states: transitions / 2, transitions, work: transitions * cost }
        };
        ((0..2 * depth).map(|k| of(full, k)).collect(), (0..depth).map(reached).collect())
    }

    #[test]
    fn even_growth_is_foreseen() {
        let (full, reduced) = levels(6, 3.0, 1.5, 400);
        let forecast = Forecast::new(&full, &reduced).expect("six levels are enough");
        let expected = 100.0 * 1.5f64.powi(11) * 400.0;
        let said = forecast.work_until(&full).expect("the full search is deeper") as f64;
        assert!((0.95..1.05).contains(&(said / expected)), "{said} for {expected}");
        assert_eq!(forecast.states_for(reduced[5].work), reduced[5].states);
        let at_ten = 100.0 * 1.5f64.powi(10);
        assert!(forecast.holds(&full, 10, (1.8 * at_ten) as u64));
        assert!(!forecast.holds(&full, 10, (2.2 * at_ten) as u64));
        assert!(forecast.holds(&full, full.len(), u64::MAX), "nothing to compare with");
    }

    /// A factor that once shrank is not taken for one that grows.
    #[test]
    fn uneven_growth_is_not_trusted() {
        let (full, mut reduced) = levels(6, 3.0, 1.5, 400);
        let even = Forecast::new(&full, &reduced).and_then(|f| f.work_until(&full)).expect("a forecast");
        reduced[4].transitions *= 4;
        reduced[5].transitions *= 4;
        reduced[4].work *= 4;
        reduced[5].work *= 4;
        let uneven = Forecast::new(&full, &reduced).and_then(|f| f.work_until(&full)).expect("a forecast");
        assert!(uneven > 16 * even, "{uneven} and {even}");
    }

    #[test]
    fn three_levels_are_too_few() {
        let (full, reduced) = levels(SEEN, 3.0, 1.5, 400);
        assert_eq!(Forecast::new(&full, &reduced), None);
        assert_eq!(Forecast::new(&full[..SEEN], &levels(9, 3.0, 1.5, 400).1), None);
        assert!(Forecast::new(&full, &levels(SEEN + 1, 3.0, 1.5, 400).1).is_some());
    }
}
