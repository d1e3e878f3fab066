//! How fast the searches of a hunt are, and how short what they find becomes.
//!
//! `cargo run --release -p gridlock-worker --example hunt_rates -- [PHILOSOPHERS [STATES]]`
//!
//! For each method it prints states and steps a second on that many philosophers, what it found, and how the finding was
//! shortened; before that the rate of a bare walk, which records nothing. Rates are per second of processor time.

use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::property::Property;
use gridlock_lts::samples::synthetic;
use gridlock_worker::hunt::job::{HuntJob, HuntLimits, Keep, Method};
use gridlock_worker::hunt::{Hunter, Setting, Shared};
use gridlock_worker::life::Life;
use gridlock_worker::sketch;
use std::sync::Arc;

struct Rates<'a> {
    prepared: &'a Prepared,
    states: u64,
}

impl Visitor for Rates<'_> {
    type Out = ();

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) {
        let system = &*system;
        let net = self.prepared.net();
        let mut hunter = Hunter::new(Setting {
            system,
            net: net.into(),
            properties: &[],
            guide: None,
            shared: Shared::new(system, net),
        });
        let methods = [
            Method::DepthFirst { depth: 100_000 },
            Method::Bitstate { log2_bits: 26, hashes: 3, depth: 100_000 },
            Method::Bitstate { log2_bits: 30, hashes: 3, depth: 100_000 },
            Method::Bitstate { log2_bits: 33, hashes: 3, depth: 100_000 },
            Method::Walk { length: 10_000, weighted: false },
            Method::Walk { length: 10_000, weighted: true },
            Method::Levels { width: 10_000, keep: Keep::Random },
            Method::Levels { width: 10_000, keep: Keep::Rare },
        ];
        println!("bare walk: {:.2} M states/s", bare_walk(system, self.states) / 1e6);
        for method in methods {
            let limits = HuntLimits { states: self.states, memory: 3 << 30, findings: 1_000, shorten: 2_000 };
            let job = HuntJob { number: 0, seed: 5, method, limits };
            let begun = processor_time();
            let feedback = hunter.run(&job, &Life::default());
            let seconds = processor_time() - begun;
            let (effort, distinct) = (feedback.effort, sketch::estimate(&feedback.coverage.sketch));
            println!("{:?}: {:?}", job.method, feedback.end);
            println!(
                "  {:.2} M states/s, {:.2} M steps/s; {} states, about {distinct:.0} different, {} MB, {seconds:.2} s",
                effort.states as f64 / seconds / 1e6,
                effort.transitions as f64 / seconds / 1e6,
                effort.states,
                effort.memory >> 20,
            );
            for found in &feedback.findings {
                let (before, after) = (found.found_steps, found.finding.path.len());
                println!("  found after {} states: {before} steps, then {after}", found.after_states);
            }
        }
    }
}

/// The rate of walks that record nothing, in states per second.
fn bare_walk<S: Successors>(system: &S, states: u64) -> f64 {
    let mut steps = Steps::new(system.width().words());
    let (mut rng, begun) = (Rng::new(5), processor_time());
    let (mut state, mut path, mut vectors) = (system.initial(), Vec::new(), Vec::new());
    for k in 0..states {
        steps.clear();
        if system.expand(&state, &mut steps).is_err() || steps.is_empty() || k % 10_000 == 0 {
            state = system.initial();
            path.clear();
            vectors.clear();
            continue;
        }
        let chosen = rng.below(steps.len());
        state.copy_from_slice(steps.target(chosen));
        path.extend_from_slice(&state);
        vectors.push(steps.vias()[chosen].vector().0);
    }
    states as f64 / (processor_time() - begun)
}

/// Processor time of this thread in seconds, if the system reports it: elapsed time says little on a shared machine.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|text| text.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e9
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let (philosophers, states) =
        (numbers.first().copied().unwrap_or(15), numbers.get(1).copied().unwrap_or(20_000_000));
    let net = synthetic::philosophers(philosophers.clamp(2, 60) as u32);
    let properties = [Property::DeadlockFree { allow_termination: false }];
    let prepared = Prepared::new(net, properties);
    if let Err(error) = prepared.visit(Rates { prepared: &prepared, states }) {
        eprintln!("{error}");
        std::process::exit(2);
    }
}
