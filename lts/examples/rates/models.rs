//! The models that the examples measure, by name.

use gridlock_lts::model::network::Network;
use gridlock_lts::samples::synthetic;

/// A model by its name and numbers, e.g. `philosophers:12`.
pub fn network(model: &str) -> Option<Network> {
    let mut parts = model.split(':');
    let name = parts.next()?;
    let numbers: Vec<u32> = parts.filter_map(|p| p.parse().ok()).collect();
    match (name, numbers.as_slice()) {
        ("philosophers", &[n]) => Some(synthetic::philosophers(n)),
        ("counters", &[n, k]) => Some(synthetic::counters(n, k)),
        ("tokens", &[n, k]) => Some(synthetic::tokens(n, k)),
        ("registers", &[n, k]) => Some(synthetic::registers(n, k)),
        ("barrier", &[n, k]) => Some(synthetic::barrier(n, k)),
        ("queues", &[n, k, values]) => Some(synthetic::queues(n, k, values)),
        _ => None,
    }
}

/// Seconds of processor time of this process.
pub fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
