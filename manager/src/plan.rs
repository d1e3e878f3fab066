//! How large a state space is, from a sample of it, and what a breadth-first search of it needs.
//!
//! The sample is the beginning of a breadth-first search. The logarithm of the sizes of its levels is fitted by a parabola
//! and continued until levels are empty: exact where processes are independent, since levels are then close to a bell curve,
//! and otherwise a guess. To show the quality of the guess, the same is done with parts of the sample: their estimates of the
//! whole span the range. Where they contradict each other, or the growth of levels does not slow down, only a lower bound is
//! given: the states seen.
//!
//! Invariant: the estimate is a function of the levels, and never below the number of states seen.

/// What is known of the size of a state space.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Size {
    /// All of it was seen.
    Exact(u64),
    /// There are probably this many states.
    Estimated {
        /// The least estimate from a part of the sample.
        low: f64,
        /// The estimate from the whole sample.
        likely: f64,
        /// The greatest estimate from a part of the sample.
        high: f64,
    },
    /// There are at least this many; how many more is unknown.
    AtLeast(u64),
}

/// The states of a whole space and those of its largest level, estimated from a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// All states.
    pub size: Size,
    /// States of the largest level.
    pub widest: f64,
}

/// With fewer levels there is no estimate.
const FEWEST: usize = 8;
/// The parts of the sample from which estimates are made.
const PARTS: [f64; 4] = [0.7, 0.8, 0.9, 1.0];
/// If the largest estimate is this many times the smallest, there is no estimate.
const APART: f64 = 100.0;
/// Levels beyond the sample that are added up.
const FURTHEST: usize = 1_000_000;

/// Estimates the whole space from the sizes of its first levels. `seen` includes states of the next level.
pub fn estimate(levels: &[u64], seen: u64, complete: bool) -> Estimate {
    let seen = seen.max(levels.iter().sum());
    let widest = levels.iter().copied().max().unwrap_or(0) as f64;
    if complete {
        return Estimate { size: Size::Exact(seen), widest };
    }
    let unknown = Estimate { size: Size::AtLeast(seen), widest };
    let mut totals = Vec::new();
    let mut whole = None;
    for part in PARTS {
        let end = (levels.len() as f64 * part).round() as usize;
        if end < FEWEST {
            return unknown;
        }
        let Some((total, wide)) = continued(&levels[..end]) else { return unknown };
        totals.push(total.max(seen as f64));
        whole = Some((total.max(seen as f64), wide.max(widest)));
    }
    let Some((likely, widest)) = whole else { return unknown };
    let low = totals.iter().copied().fold(f64::INFINITY, f64::min);
    let high = totals.iter().copied().fold(0.0, f64::max);
    if high > APART * low {
        return unknown;
    }
    Estimate { size: Size::Estimated { low, likely, high }, widest }
}

/// The states of some levels and all that follow them, and those of the largest; none if levels do not slow down.
fn continued(levels: &[u64]) -> Option<(f64, f64)> {
    // The first levels are small and of another shape.
    let first = levels.len() / 3;
    let points: Vec<(f64, f64)> =
        levels.iter().enumerate().skip(first).map(|(k, &n)| (k as f64, (n.max(1) as f64).ln())).collect();
    let [a, b, c] = parabola(&points)?;
    if a >= -1e-9 {
        return None;
    }
    let mut total: f64 = levels.iter().sum::<u64>() as f64;
    let mut widest = levels.iter().copied().max()? as f64;
    // The curve goes through the last level as it is.
    let at = |k: f64| (a * k + b) * k + c;
    let last = (levels.len() - 1) as f64;
    let shift = (*levels.last()?.max(&1) as f64).ln() - at(last);
    for k in levels.len()..levels.len() + FURTHEST {
        let next = (at(k as f64) + shift).exp();
        if next < 1.0 {
            return total.is_finite().then_some((total, widest));
        }
        total += next;
        widest = widest.max(next);
    }
    None
}

/// The parabola a x² + b x + c nearest to some points.
fn parabola(points: &[(f64, f64)]) -> Option<[f64; 3]> {
    if points.len() < 4 {
        return None;
    }
    // Around the middle, so that numbers stay small.
    let middle = points.iter().map(|p| p.0).sum::<f64>() / points.len() as f64;
    let power = |n: i32| points.iter().map(|p| (p.0 - middle).powi(n)).sum::<f64>();
    let moment = |n: i32| points.iter().map(|p| (p.0 - middle).powi(n) * p.1).sum::<f64>();
    let s = [power(0), power(1), power(2), power(3), power(4)];
    let rows = [[s[4], s[3], s[2], moment(2)], [s[3], s[2], s[1], moment(1)], [s[2], s[1], s[0], moment(0)]];
    let det = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let column = |with: Option<usize>| {
        let mut m = [[0.0; 3]; 3];
        for (row, from) in m.iter_mut().zip(&rows) {
            row.copy_from_slice(&from[..3]);
            if let Some(k) = with {
                row[k] = from[3];
            }
        }
        det(m)
    };
    let all = column(None);
    if all.abs() < 1e-12 {
        return None;
    }
    let [a, b, c] = [0, 1, 2].map(|k| column(Some(k)) / all);
    // Back to where x begins at 0.
    Some([a, b - 2.0 * a * middle, c - b * middle + a * middle * middle])
}

/// The memory and speed of a rank, and the size of states.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Bytes that a rank may use.
    pub memory: u64,
    /// Bytes of the program with its tables.
    pub base: u64,
    /// Words of a state.
    pub words: usize,
    /// States a second of one rank.
    pub rate: f64,
}

impl Costs {
    /// The memory for states of a rank that is one of several.
    fn for_states(&self) -> f64 {
        self.memory as f64 * (1.0 - MESSAGES) - self.base as f64
    }
}

/// A visited set grows at a load of at most this.
const LEAST_LOAD: f64 = 0.70;
/// The share of the memory that messages may take.
const MESSAGES: f64 = 1.0 / 16.0;
/// The largest part against the mean.
const IMBALANCE: f64 = 1.15;
/// The rate of each of several ranks, relative to that of a single one.
const EFFICIENCY: f64 = 0.7;

/// The resources that a breadth-first search needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Need {
    /// Bytes of all ranks together.
    pub bytes: f64,
    /// How many ranks have as much; `None`: the memory of a rank is too little for any.
    pub ranks: Option<u64>,
    /// Seconds on that number of ranks.
    pub seconds: f64,
}

/// How many states ranks have room for, if the largest level is this part of all.
pub fn room(ranks: u64, widest: f64, costs: Costs) -> f64 {
    let word = 8.0 * costs.words as f64;
    let a_state = word / LEAST_LOAD + 2.0 * widest * word;
    let bytes = match ranks {
        1 => costs.memory as f64 - costs.base as f64,
        n => n as f64 * costs.for_states() / IMBALANCE,
    };
    bytes.max(0.0) / a_state
}

/// The resources that a search needs, from the number of its states and that of its largest level.
pub fn need(states: f64, widest: f64, costs: Costs) -> Need {
    let word = 8.0 * costs.words as f64;
    // A level and the next are in memory together.
    let bytes = states * word / LEAST_LOAD + 2.0 * widest * word;
    let room = costs.for_states();
    let alone = bytes <= costs.memory as f64 - costs.base as f64;
    let several = (bytes * IMBALANCE / room).ceil().max(2.0);
    let ranks = match (alone, room > 0.0 && several < 1e18) {
        (true, _) => Some(1),
        (false, true) => Some(several as u64),
        (false, false) => None,
    };
    let parallel = ranks.map_or(1.0, |n| if n == 1 { 1.0 } else { n as f64 * EFFICIENCY });
    Need { bytes, ranks, seconds: states / (costs.rate.max(1.0) * parallel) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels of independent counters that go round: a bell curve whose sum is known.
    fn counters(number: usize, values: usize) -> Vec<u64> {
        let mut levels = vec![1u64];
        for _ in 0..number {
            let mut more = vec![0; levels.len() + values - 1];
            for (k, n) in levels.iter().enumerate() {
                (0..values).for_each(|v| more[k + v] += n);
            }
            levels = more;
        }
        levels
    }

    #[test]
    fn bell_curves_are_continued() {
        for (number, values) in [(12, 4), (8, 8), (14, 3)] {
            let levels = counters(number, values);
            let all: u64 = levels.iter().sum();
            assert_eq!(estimate(&levels, 0, true).size, Size::Exact(all));
            for share in [0.5, 0.6] {
                let sample = &levels[..(levels.len() as f64 * share) as usize];
                let Size::Estimated { low, likely, high } = estimate(sample, 0, false).size else {
                    panic!("{number} {values} {share}: {:?}", estimate(sample, 0, false))
                };
                assert!(low <= likely && likely <= high, "{low} {likely} {high}");
                assert!(likely > all as f64 / 2.0 && likely < all as f64 * 2.0, "{likely} of {all}");
            }
        }
    }

    #[test]
    fn what_cannot_be_known_is_not_said() {
        // Growth without an end, levels of one state, and too few levels.
        let doubling: Vec<u64> = (0..30).map(|k| 1 << k).collect();
        let sum = doubling.iter().sum();
        assert_eq!(estimate(&doubling, 0, false).size, Size::AtLeast(sum));
        assert_eq!(estimate(&[1; 500], 0, false).size, Size::AtLeast(500));
        assert_eq!(estimate(&[1, 3, 9, 20], 40, false).size, Size::AtLeast(40));
        assert_eq!(estimate(&[], 0, false).size, Size::AtLeast(0));
    }

    #[test]
    fn ranks_are_as_many_as_their_memory_asks_for() {
        let costs = Costs { memory: 1 << 30, base: 1 << 26, words: 1, rate: 1e6 };
        let small = need(1e6, 1e5, costs);
        assert_eq!((small.ranks, small.seconds), (Some(1), 1.0));
        let large = need(1e9, 1e8, costs);
        let bytes = 1e9 * 8.0 / 0.7 + 16e8;
        assert!((large.bytes - bytes).abs() < 1e3);
        let ranks = large.ranks.expect("a number");
        let each = (1u64 << 30) as f64 * 15.0 / 16.0 - (1u64 << 26) as f64;
        assert!(ranks as f64 * each >= bytes * 1.15 && (ranks - 1) as f64 * each < bytes * 1.15, "{ranks}");
        assert_eq!(need(1e12, 1e9, Costs { memory: 1 << 20, ..costs }).ranks, None);
        // That many have room for them, and one rank less has not.
        assert!(room(ranks, 0.1, costs) >= 1e9 && room(ranks - 1, 0.1, costs) < 1e9);
        let alone = room(1, 0.1, costs);
        assert_eq!(need(alone * 0.99, alone * 0.099, costs).ranks, Some(1));
        assert_eq!(need(alone * 1.01, alone * 0.101, costs).ranks, Some(2));
        assert_eq!(room(5, 0.1, Costs { base: 1 << 30, ..costs }), 0.0);
        // Twice the words are twice the memory.
        assert!((need(1e9, 1e8, Costs { words: 2, ..costs }).bytes / bytes - 2.0).abs() < 1e-9);
    }
}
