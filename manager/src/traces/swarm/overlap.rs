//! Whether a swarm does the same work again and again: the states that jobs have expanded, against the number of different ones.
//!
//! Jobs that give up along different prefixes visit much the same states, so a swarm whose jobs are too small for its system
//! multiplies the work. At first that is normal: while jobs reach new states, they may yet make up for it. So a swarm repeats
//! itself if the work is many times the number of different states *and* that number has hardly grown during the last half of
//! the work. Different states are counted by a sketch that comes with the feedback. Invariant: the result is a function of
//! the feedback, job by job.

use gridlock_worker::sketch;
use std::collections::VecDeque;

/// The first check comes after this many states: less work is soon done, even repeatedly.
const FIRST: u64 = 100_000;
/// Between two checks the work grows by a fifth; in this many it doubles.
const LOOKS: usize = 4;
/// If there are more than this times as many different states as before the last half of the work, the swarm goes on.
const GROWTH: f64 = 1.25;

/// Work that was done, and the different states in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repeats {
    /// States expanded.
    pub states: u64,
    /// Different ones, an estimate.
    pub distinct: u64,
}

pub(super) struct Overlap {
    seen: Vec<u8>,
    /// The work and the different states at the last checks.
    looks: VecDeque<(u64, f64)>,
}

impl Overlap {
    pub(super) fn new() -> Self {
        Overlap { seen: vec![0; sketch::SMALL], looks: VecDeque::new() }
    }

    /// An estimate of the number of different states; `None` if no feedback had a sketch.
    pub(super) fn distinct(&self) -> Option<u64> {
        let some = self.seen.iter().any(|&register| register > 0);
        some.then(|| sketch::estimate(&self.seen) as u64)
    }

    /// Adds the sketch of a job, after which all jobs have expanded `states` states. Returns the figures if these are more
    /// than `limit` times the different states, and those hardly grow any more.
    pub(super) fn add(&mut self, seen: &[u8], states: u64, limit: Option<u64>) -> Option<Repeats> {
        sketch::merge(&mut self.seen, seen);
        let limit = limit?;
        let due = self.looks.back().map_or(FIRST, |(last, _)| last.saturating_add(last / 5));
        if states < due {
            return None;
        }
        let distinct = sketch::estimate(&self.seen);
        self.looks.push_back((states, distinct));
        if self.looks.len() <= LOOKS {
            return None;
        }
        let (_, before) = self.looks.pop_front()?;
        let repeats = states as f64 > distinct * limit as f64 && distinct <= before * GROWTH;
        repeats.then_some(Repeats { states, distinct: distinct as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::rng::Rng;

    /// Jobs of 1,000 states each, drawn from this many, or from ever more.
    fn play(states: impl Fn(u64) -> usize, limit: u64) -> Option<Repeats> {
        let (mut overlap, mut rng) = (Overlap::new(), Rng::new(3));
        (1..2_000).find_map(|job| {
            let mut seen = vec![0; sketch::SMALL];
            for _ in 0..1_000 {
                sketch::add(&mut seen, Rng::new(rng.below(states(job)) as u64).bits());
            }
            overlap.add(&seen, job * 1_000, Some(limit))
        })
    }

    #[test]
    fn work_that_is_done_again_and_again_is_noticed() {
        let repeats = play(|_| 50_000, 10).expect("it repeats itself");
        assert!((40_000..60_000).contains(&repeats.distinct), "{repeats:?}");
        let factor = repeats.states / repeats.distinct;
        assert!((10..=14).contains(&factor), "{repeats:?}");
        let later = play(|_| 50_000, 30).expect("it repeats itself");
        assert!(later.states > 2 * repeats.states, "{later:?}");
        // Enough that is new makes up for it.
        assert_eq!(play(|job| 20 * job as usize, 10), None);
        assert_eq!(play(|_| 1_000_000, 10), None);
    }
}
