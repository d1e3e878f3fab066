//! How fast a search by slices is, against breadth-first search in memory.
//!
//! `cargo run --release -p gridlock-manager --example slices -- MODEL SUBSYSTEM WORKERS JOB_MEMORY [MEMORY]`
//!
//! MODEL is a specification (`.mcrl2`), or one of `philosophers:N`, `counters:N:K`, `tokens:N:K`, `registers:N:K`,
//! `barrier:N:K`, `queues:N:K:V`. SUBSYSTEM is the numbers of leaves, e.g. `1` or `0,2`; `bfs` runs the breadth-first
//! search instead; `auto` chooses. Memory is in MB.

use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::engine::search;
use gridlock_lts::model::network::{LeafIx, Network};
use gridlock_lts::property::Property;
use gridlock_lts::samples::synthetic;
use gridlock_manager::grid::driver::Control;
use gridlock_manager::grid::work::Grid;
use gridlock_manager::slices::{self, Options};

fn network(model: &str) -> Result<Network, String> {
    if model.ends_with(".mcrl2") {
        let text = std::fs::read_to_string(model).map_err(|error| format!("{model}: {error}"))?;
        let options = gridlock_lang::system::Options::default();
        let system = gridlock_lang::system::load(&text, model, &options, &mut |_| true)
            .map_err(|problems| format!("{model}: {problems:?}"))?;
        return if system.closed {
            Ok(system.network)
        } else {
            Err("the tables are not complete".to_owned())
        };
    }
    let mut parts = model.split(':');
    let name = parts.next().unwrap_or_default();
    let numbers: Vec<u32> = parts.filter_map(|part| part.parse().ok()).collect();
    match (name, &numbers[..]) {
        ("philosophers", &[n]) => Ok(synthetic::philosophers(n)),
        ("counters", &[n, k]) => Ok(synthetic::counters(n, k)),
        ("tokens", &[n, k]) => Ok(synthetic::tokens(n, k)),
        ("registers", &[n, k]) => Ok(synthetic::registers(n, k)),
        ("barrier", &[n, k]) => Ok(synthetic::barrier(n, k)),
        ("queues", &[n, k, values]) => Ok(synthetic::queues(n, k, values)),
        _ => Err(format!("no such model: {model}")),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, subsystem, workers, limits @ ..] = &args[..] else {
        return Err("MODEL SUBSYSTEM WORKERS JOB_MEMORY [MEMORY]".into());
    };
    let net = network(model)?;
    let workers = workers.parse().map_err(|_| "WORKERS is a number".to_owned())?;
    let bytes = |k: usize| limits.get(k).and_then(|mb: &String| mb.parse::<u64>().ok()).map(|mb| mb << 20);
    let properties = [Property::DeadlockFree { allow_termination: false }];
    let before = processor_time();
    if subsystem == "bfs" {
        let options = search::Options { workers, ..search::Options::default() };
        let report = search::check(&net, &properties, &options).map_err(|e| e.to_string())?;
        println!("{:?} {:?}, {:.1} s of processors", report.verdict, report.stats, processor_time() - before);
        return Ok(());
    }
    let prepared = Prepared::new(net, properties);
    let job_memory = bytes(0).unwrap_or(64 << 20);
    let options = Options { job_memory, max_memory: bytes(1), ..Options::default() };
    let grid = Grid::threads(workers, None);
    let control = Control { stop: &|| false, progress: &|_| {}, page: &|_| Vec::new() };
    let mut leaves: Vec<LeafIx> =
        subsystem.split(',').filter_map(|leaf| leaf.parse().ok()).map(LeafIx).collect();
    if subsystem == "auto" {
        let choice = slices::choose_subsystem(&prepared, &options, &grid, &|| false)?;
        println!("{choice} ({:.1} s of processors)", processor_time() - before);
        for c in &choice.candidates {
            println!(
                "  {:?} {:?}: cost {:.2}, {} slices, {} activations, largest {:.3}, sent {:.2}, loaded {:.2}",
                c.leaves, c.names, c.cost, c.slices, c.activations, c.largest, c.sent, c.loaded
            );
        }
        leaves = choice.leaves().to_vec();
    }
    let report = slices::check(&prepared, &leaves, &options, &grid, None, &control)?;
    let activated = report.slices.iter().filter(|slice| slice.activations > 0).count();
    println!(
        "{:?}\n{} states, {} transitions, {} deadlocks in {:.2} s, {:.1} s of processors",
        report.answer,
        report.states,
        report.transitions,
        report.deadlocks,
        report.time.as_secs_f64(),
        processor_time() - before
    );
    println!(
        "{activated} slices, largest {}, {} activations in {} rounds, {} divided, {:.1} sent and {:.1} loaded a state",
        report.largest,
        report.activations,
        report.rounds,
        report.splits,
        report.sent as f64 / report.states as f64,
        report.loaded as f64 / report.states as f64
    );
    println!(
        "peak {} MB, job {} MB, spilled {} MB",
        report.peak_memory >> 20,
        report.job_peak >> 20,
        report.spilled >> 20
    );
    Ok(())
}

/// Seconds of processor time of this process so far.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|n| n.parse().ok())
        .collect();
    fields.iter().sum::<f64>() / 100.0
}
