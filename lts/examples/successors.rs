//! Nanoseconds that the compiled successor function takes for one step, without any visited set.
//!
//! `cargo run --release -p gridlock-lts --example successors -- MODEL...`, with models as in the example `rates`.

#[path = "rates/models.rs"]
mod models;

use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::pack::{Many, Packing, Width};
use gridlock_lts::engine::successors::{Compiled, Steps, Successors};
use gridlock_lts::engine::visited::Visited;
use gridlock_lts::property::Alarms;
use models::{network, processor_time};

fn main() {
    for model in std::env::args().skip(1) {
        let Some(net) = network(&model) else {
            eprintln!("no such model: {model}");
            std::process::exit(2);
        };
        let packing = Packing::for_network(&net);
        let alarms = Alarms::faults_of(&net);
        let words = packing.words();
        let (states, steps, seconds, bytes) = match words {
            1 => measure(
                Compiled::new(&net, packing, gridlock_lts::engine::pack::One, alarms).expect("compiles"),
            ),
            2 => measure(
                Compiled::new(&net, packing, gridlock_lts::engine::pack::Two, alarms).expect("compiles"),
            ),
            n => measure(Compiled::new(&net, packing, Many(n), alarms).expect("compiles")),
        };
        println!(
            "{model:18} {words} words, {states} states, {:.1} steps a state, {:.1} ns a step, {bytes} bytes of tables",
            steps as f64 / states as f64,
            seconds * 1e9 / steps as f64,
        );
    }
}

/// Collects some states breadth-first, then expands them all again and again.
fn measure<W: Width>(compiled: Compiled<W>) -> (usize, usize, f64, u64) {
    const STATES: usize = 1 << 19;
    let words = compiled.width().words();
    let budget = Budget::new(u64::MAX);
    let visited = Visited::new(compiled.width(), 2, 1, 4 * STATES, &budget).expect("enough memory");
    let mut states = compiled.initial();
    let mut steps = Steps::new(words);
    let table = visited.table();
    table.insert_all(&states, 0, |_| {});
    let mut next = 0;
    while next * words < states.len() && states.len() < STATES * words {
        steps.clear();
        compiled.expand(&states[next * words..(next + 1) * words], &mut steps).expect("complete tables");
        let targets = steps.targets();
        table.insert_all(targets, 0, |k| states.extend_from_slice(&targets[k * words..(k + 1) * words]));
        next += 1;
    }
    let count = states.len() / words;
    let (mut total, mut check, mut best) = (0, 0, f64::INFINITY);
    // The best of several rounds, since others use the machine as well.
    for _ in 0..(20_000_000 / count).clamp(5, 2000) {
        total = 0;
        let before = processor_time();
        for state in states.chunks_exact(words) {
            compiled.expand(state, &mut steps).expect("complete tables");
            if steps.len() >= 256 {
                total += steps.len();
                check ^= steps.target(steps.len() - 1)[0];
                steps.clear();
            }
        }
        best = best.min(processor_time() - before);
    }
    std::hint::black_box(check);
    (count, total, best, compiled.table_bytes())
}
