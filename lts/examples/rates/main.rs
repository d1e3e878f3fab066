//! How fast searches are, as a share of what the visited set can do at most.
//!
//! `cargo run --release -p gridlock-lts --example rates -- [MODEL [WORKERS...]]`
//!
//! With `limit STATES OPERATIONS WORKERS` it prints only the rate of that many insert-or-finds on that many different
//! keys, in millions a second.
//!
//! For each model and number of workers it prints the transitions per second of a complete breadth-first search, and,
//! in the same run, the rate of insert-or-find with as many pre-generated random keys in the same kind of table, of the
//! same size, on as many threads: once with all keys new, once with the share of new keys that the search had. Rates
//! are per second of processor time of all threads together, times the threads, so that they mean something on a machine
//! that others use as well; wall-clock seconds are printed beside them.
//! Models: `philosophers:N`, `counters:N:K`, `tokens:N:K`, `registers:N:K`, `barrier:N:K`, `queues:N:K:V`; all of a default list if none is given.

mod limit;
mod models;

use gridlock_lts::engine::search::{Options, Report, check};
use gridlock_lts::model::network::Network;
use limit::limit;
use models::{network, processor_time};

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, numbers @ ..] = &args[..]
        && mode == "limit"
    {
        let numbers: Vec<usize> = numbers.iter().filter_map(|n| n.parse().ok()).collect();
        let [states, operations, workers] = numbers[..] else {
            eprintln!("limit STATES OPERATIONS WORKERS");
            std::process::exit(2);
        };
        println!("{:.2}", limit(states, operations.max(states), workers));
        return;
    }
    let workers: Vec<usize> = args.iter().skip(1).filter_map(|a| a.parse().ok()).collect();
    let workers = if workers.is_empty() { vec![1, 2] } else { workers };
    args.truncate(1);
    let models = if args.is_empty() {
        ["philosophers:13", "counters:8:7", "tokens:10:5", "registers:6:8"].map(str::to_owned).to_vec()
    } else {
        args
    };
    println!(
        "{:18} {:>7} {:>12} {:>13} {:>6} {:>8} {:>8} {:>9} {:>9} {:>6} {:>6}",
        "model",
        "workers",
        "states",
        "transitions",
        "depth",
        "seconds",
        "Mtrans/s",
        "limit new",
        "limit mix",
        "ratio",
        "mix"
    );
    for model in models {
        let Some(net) = network(&model) else {
            eprintln!("no such model: {model}");
            std::process::exit(2);
        };
        for &workers in &workers {
            row(&model, &net, workers);
        }
    }
}

fn row(model: &str, net: &Network, workers: usize) {
    let options = Options { workers, ..Options::default() };
    let before = processor_time();
    let report: Report = check(net, &[], &options).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2);
    });
    let stats = report.stats;
    let (states, transitions) = (stats.states as usize, stats.transitions as usize);
    let rate = transitions as f64 / (processor_time() - before) * workers as f64 / 1e6;
    let new = limit(states, states, workers);
    let mix = limit(states, transitions, workers);
    println!(
        "{model:18} {workers:>7} {states:>12} {transitions:>13} {:>6} {:>8.2} {rate:>8.2} {new:>9.2} {mix:>9.2} {:>6.2} {:>6.2}   {:.1} bytes a state at the peak",
        stats.depth,
        stats.time.as_secs_f64(),
        rate / new,
        rate / mix,
        stats.peak_memory as f64 / states as f64,
    );
}
