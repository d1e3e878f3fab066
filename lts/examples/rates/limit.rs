//! The limit of a machine: insert-or-find of random keys that were made beforehand.

use crate::models::processor_time;
use gridlock_lts::base::memory::Budget;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::One;
use gridlock_lts::engine::visited::Visited;

/// Lookups that are timed on each thread at each of several fills of the table.
const TIMED: usize = 1 << 22;
/// How often the rate is taken while the table fills.
const FILLS: usize = 6;

/// Million lookups a second of all threads together: `lookups` among `states` different keys, each new once, as an
/// average over the time in which the table fills.
pub fn limit(states: usize, lookups: usize, threads: usize) -> f64 {
    let budget = Budget::new(u64::MAX);
    let visited = Visited::new(One, 2, threads, states, &budget).expect("enough memory");
    visited.touch();
    let per_thread = states / threads;
    let timed = TIMED.min(lookups / threads / FILLS).max(1);
    let new_share = (states as f64 / lookups as f64).min(1.0);
    let mut seconds = 0.0;
    for fill in 1..=FILLS {
        let new = ((timed as f64 * new_share) as usize).max(1);
        let before = (per_thread * fill / FILLS).saturating_sub(new);
        // Keys are made beforehand, so that making them is not measured.
        let streams: Vec<Vec<u64>> = (0..threads).map(|thread| stream(thread, before, new, timed)).collect();
        let table = visited.table();
        for thread in 0..threads {
            let from = (per_thread * (fill - 1) / FILLS).min(before);
            for k in from..before {
                table.insert_all(&[key(thread, k)], 0, |_| {});
            }
        }
        let start = processor_time();
        std::thread::scope(|scope| {
            for keys in &streams {
                let table = &table;
                scope.spawn(move || assert_eq!(table.insert_all(keys, 0, |_| {}), keys.len()));
            }
        });
        seconds += processor_time() - start;
    }
    (timed * FILLS * threads * threads) as f64 / seconds / 1e6
}

/// The k-th key of a thread.
fn key(thread: usize, k: usize) -> u64 {
    Rng::new((k as u64) << 8 | thread as u64).bits() >> 2
}

/// Keys of which `new` follow after the first `before`, evenly mixed with ones that were there.
fn stream(thread: usize, before: usize, new: usize, timed: usize) -> Vec<u64> {
    let (mut rng, mut made) = (Rng::new(thread as u64), 0);
    (0..timed)
        .map(|k| {
            if made * timed <= k * new {
                made += 1;
                key(thread, before + made - 1)
            } else {
                key(thread, rng.below(before + made))
            }
        })
        .collect()
}
