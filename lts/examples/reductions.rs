//! How long the reductions take on systems of about a million transitions: processor time, each equivalence by itself.
//!
//!     cargo run --release -p gridlock-lts --example reductions
//!
//! With arguments, on these `.aut` files instead.

use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::explore::{Options, explore};
use gridlock_lts::model::aut;
use gridlock_lts::model::equivalence::{Equivalence, minimise};
use gridlock_lts::model::explicit::{Builder, Lts, State};
use gridlock_lts::model::network::{Label, Network};
use gridlock_lts::samples::synthetic::{philosophers, tokens};

/// Seconds that this thread has been on a processor; other jobs of the machine do not count.
fn spent() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// A system in which every transition is drawn at random, a third of them tau.
fn random(states: u32, transitions: u32) -> Lts {
    let mut rng = Rng::new(1);
    let mut builder = Builder::with_capacity(transitions as usize);
    let labels: Vec<Label> = ["tau", "tau", "a", "b", "c", "d"].iter().map(|l| builder.label(l)).collect();
    for k in 0..transitions {
        let from = if k < states { k } else { rng.below(states as usize) as u32 };
        let to = rng.below(states as usize) as u32;
        builder.add(State(from), labels[rng.below(labels.len())], State(to));
    }
    builder.finish(State(0))
}

/// The state space of a network, with all labels hidden but every `keep`-th.
fn explored(mut net: Network, keep: u32) -> Lts {
    let options = Options { max_states: usize::MAX, progress: &mut |_| true };
    let lts = explore(&mut net, None, options).expect("no limit");
    let mut builder = Builder::with_capacity(lts.num_transitions());
    for (from, label, to) in lts.transitions() {
        let shown = if label.0.is_multiple_of(keep) { label } else { Label::TAU };
        builder.add(from, shown, to);
    }
    builder.finish_with_labels(lts.labels().to_vec(), lts.initial())
}

/// A system from a list of transitions.
fn listed(transitions: impl Iterator<Item = (u32, String, u32)>) -> Lts {
    let mut builder = Builder::new();
    for (from, label, to) in transitions {
        let label = builder.label(&label);
        builder.add(State(from), label, State(to));
    }
    builder.finish(State(0))
}

/// A chain of `n` hidden steps, each state of which has a way out into a chain of `n` visible steps, at another place.
fn ways_out(n: u32) -> Lts {
    let (tau, a) = (|| "tau".to_owned(), || "a".to_owned());
    listed((0..n).flat_map(|k| [(k, tau(), k + 1), (k, a(), n + 1 + k), (n + 1 + k, a(), n + 2 + k)]))
}

/// A state with `n` hidden steps to states each of which has a label of its own.
fn fan(n: u32) -> Lts {
    listed((1..=n).flat_map(|k| [(0, "tau".to_owned(), k), (k, format!("b{k}"), 0)]))
}

/// The words of `bits` bits: each step shifts one bit in, and shows it where the first bit of the word is set.
fn de_bruijn(bits: u32) -> Lts {
    let mask = (1u32 << bits) - 1;
    listed((0..=mask).flat_map(move |word| {
        [0, 1].map(|bit| {
            let label = if word >> (bits - 1) == 1 { format!("b{bit}") } else { "a".to_owned() };
            (word, label, (word << 1 | bit) & mask)
        })
    }))
}

fn read(file: String) -> (String, Lts) {
    let lts = aut::read_file(file.as_ref()).unwrap_or_else(|error| panic!("{file}: {error}"));
    (file, lts)
}

fn built_in() -> Vec<(String, Lts)> {
    [
        ("random", random(330_000, 1_000_000)),
        ("philosophers", explored(philosophers(11), 4)),
        ("tokens", explored(tokens(9, 2), 5)),
        ("ways out, 25,000", ways_out(25_000)),
        ("ways out, 400,000", ways_out(400_000)),
        ("fan", fan(200_000)),
        ("de Bruijn", de_bruijn(18)),
    ]
    .map(|(name, lts)| (name.to_owned(), lts))
    .into()
}

fn main() {
    let files: Vec<_> = std::env::args().skip(1).collect();
    let systems = if files.is_empty() { built_in() } else { files.into_iter().map(read).collect() };
    println!("system, states, transitions: equivalence, states, transitions, seconds");
    for (name, lts) in &systems {
        println!("{name}, {}, {}", lts.num_states(), lts.num_transitions());
        let equivalences =
            [Equivalence::Strong, Equivalence::Branching, Equivalence::DivergencePreservingBranching];
        for equivalence in equivalences {
            let before = spent();
            let small = minimise(lts, equivalence).expect("no determinisation");
            let seconds = spent() - before;
            println!("  {equivalence}, {}, {}, {seconds:.2}", small.num_states(), small.num_transitions());
        }
    }
}
