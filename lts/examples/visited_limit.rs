//! How many states a second the visited set can look up at most, on this machine, in a table of a given size.
//!
//! `cargo run --release -p gridlock-lts --example visited_limit -- [STATES [THREADS [LOOKUPS_PER_STATE]]]`
//!
//! Inserts and finds random one-word keys, which were made beforehand, in batches, and prints million lookups a second of
//! all threads together, by processor time. `STATES` keys are new, each once; 2^26 unless told otherwise.

#[path = "rates/limit.rs"]
mod limit;
#[allow(dead_code)] // the models are of use to the other examples
#[path = "rates/models.rs"]
mod models;

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let states = numbers.first().copied().unwrap_or(1 << 26);
    let threads = numbers.get(1).copied().unwrap_or(1).max(1);
    let lookups = numbers.get(2).copied().unwrap_or(1).max(1);
    println!("{:.2} million lookups a second", limit::limit(states, states * lookups, threads));
}
