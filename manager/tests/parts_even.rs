//! How even the jobs of a search by parts are: if a job takes as long as its product has states, and each free worker takes
//! the next job, how much sooner are several workers done than one? Time is counted in states and not by the clock, which
//! depends on the machine.
//!
//! Trials of a round run at a time, rounds do not. This prints the table of `docs/parts.md`, all of it with `GRIDLOCK_SLOW=1`.

use gridlock_lang::property::{Sight, formula};
use gridlock_lang::system::{Options, Tables, load};
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::parts::{
    Answered, Board, DEFAULT_LIMIT, DEFAULT_MEMBERS, Reduction, Setting, Stages, TaskPlace, Trials,
};
use gridlock_lts::model::network::Network;
use gridlock_lts::property::Property;
use gridlock_lts::samples::synthetic;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;
use std::sync::Arc;

/// The task, and the results of all jobs so far.
struct Asked {
    net: Network,
    properties: Vec<Property>,
    known: BTreeMap<TaskPlace, Answered>,
}

impl Asked {
    fn new(net: Network, properties: Vec<Property>) -> Self {
        Asked { net, properties, known: BTreeMap::new() }
    }

    /// When this number of workers is done, counted in states.
    fn end(&mut self, workers: usize) -> u64 {
        let budget = Arc::new(Budget::new(1 << 30));
        let setting = Setting {
            net: &self.net,
            properties: &self.properties,
            limit: DEFAULT_LIMIT,
            groups: &[],
            reduction: Reduction::default(),
            stages: Stages::default(),
            members: DEFAULT_MEMBERS,
            trials: Trials::default(),
            budget: &budget,
        };
        let mut board = Board::new(setting);
        let mut busy: BinaryHeap<Reverse<(u64, TaskPlace)>> = BinaryHeap::new();
        let mut now = 0;
        while !board.is_over() {
            while busy.len() < workers
                && let Some((place, task)) = board.take(setting)
            {
                let answered = self.known.entry(place).or_insert_with(|| task.run(&budget, &|| None, false));
                busy.push(Reverse((now + answered.states.max(1), place)));
            }
            let Some(Reverse((then, place))) = busy.pop() else { break };
            now = then;
            board.put(setting, place, self.known[&place].clone());
        }
        assert!(board.is_over(), "all is decided");
        now
    }

    /// How many times sooner each of these numbers of workers is done than one.
    fn sooner(&mut self, workers: &[usize]) -> Vec<f64> {
        let one = self.end(1) as f64;
        workers.iter().map(|&workers| one / self.end(workers) as f64).collect()
    }
}

/// A model and a formula as they are shipped, or with another number of processes; without a formula, freedom from deadlock.
fn shipped(spec: &str, wanted: Option<&str>, size: Option<u32>) -> Asked {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
    let mut text = std::fs::read_to_string(models.join(spec)).expect("a model");
    if let Some(n) = size {
        let line = text.lines().find(|line| line.starts_with("eqn  N = ")).expect("a number");
        text = text.replace(line, &format!("eqn  N = {n};"));
    }
    let options = Options { tables: Tables::AheadOfTime, ..Options::default() };
    let system = load(&text, spec, &options, &mut |_| true).expect("a specification");
    assert!(system.closed, "{spec}");
    let Some(file) = wanted else { return Asked::new(system.network, free()) };
    let wanted = std::fs::read_to_string(models.join(file)).expect("a formula");
    let properties = formula(&system.builder, &Sight::default(), file, &wanted).expect("checked");
    Asked::new(system.network, properties.into_iter().map(|(_, property)| property).collect())
}

fn free() -> Vec<Property> {
    vec![Property::DeadlockFree { allow_termination: false }]
}

/// Prints a row of the table, which must not be worse than this for 2, 4 and 8 workers.
#[track_caller]
fn row(name: &str, mut asked: Asked, least: [f64; 3]) {
    let sooner = asked.sooner(&[2, 4, 8, 16]);
    println!("| {name} | {} |", sooner.iter().map(|s| format!("{s:.1}")).collect::<Vec<_>>().join(" | "));
    assert!(sooner.iter().zip(least).all(|(&sooner, least)| sooner >= least), "{name}: {sooner:?}");
}

fn slow() -> bool {
    std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1")
}

#[test]
fn several_workers_are_done_sooner() {
    let (twophase, consistent) = ("twophase/twophase.mcrl2", Some("twophase/consistent.mcf"));
    row("two-phase commit, 6 managers", shipped(twophase, consistent, Some(6)), [1.8, 3.2, 6.0]);
    row("40 polite philosophers", Asked::new(synthetic::polite_philosophers(40), free()), [1.8, 3.2, 4.5]);
    if slow() {
        row("two-phase commit, 12 managers", shipped(twophase, consistent, Some(12)), [1.7, 2.8, 3.5]);
        let (paxos, learners) = ("paxos/paxos-learners.mcrl2", Some("paxos/learners_agree.mcf"));
        row("Paxos with learners", shipped(paxos, learners, None), [1.8, 3.2, 5.0]);
        row("DRM, three contacts", shipped("drm/drm-3.mcrl2", Some("drm/fair.mcf"), None), [1.6, 2.3, 3.0]);
        row("MSI caches", shipped("msi/msi.mcrl2", Some("msi/coherent.mcf"), None), [1.7, 2.9, 4.0]);
    }
}
