//! How even the jobs of a search by parts are: if each takes as long as its product has states, and who is free takes the next
//! one, how much sooner are several workers done than one? By states and not by the clock, which depends on the machine.
//!
//! Trials of one round run at a time, rounds do not, so there is an end to it: with philosophers in a ring, a new component has two
//! neighbours, and hardly more than two trials are new in a round.

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

/// What is asked, and what came of every job so far.
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

fn managers(n: u32) -> Asked {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/twophase");
    let text = std::fs::read_to_string(models.join("twophase.mcrl2")).expect("a model");
    let line = text.lines().find(|line| line.starts_with("eqn  N = ")).expect("a number");
    let text = text.replace(line, &format!("eqn  N = {n};"));
    let options = Options { tables: Tables::AheadOfTime, ..Options::default() };
    let system = load(&text, "twophase.mcrl2", &options, &mut |_| true).expect("a specification");
    assert!(system.closed);
    let wanted = std::fs::read_to_string(models.join("consistent.mcf")).expect("a formula");
    let properties = formula(&system.builder, &Sight::default(), "consistent.mcf", &wanted).expect("checked");
    Asked::new(system.network, properties.into_iter().map(|(_, property)| property).collect())
}

#[test]
fn several_workers_are_done_sooner() {
    let free = || vec![Property::DeadlockFree { allow_termination: false }];
    for (name, mut asked, least) in [
        ("two-phase commit, 6 managers", managers(6), [1.7, 3.0]),
        ("40 polite philosophers", Asked::new(synthetic::polite_philosophers(40), free()), [1.6, 1.7]),
    ] {
        let sooner = asked.sooner(&[2, 4, 8, 16, 32]);
        println!("{name}: {sooner:.2?} times as fast with 2, 4, 8, 16, 32 workers");
        assert!(sooner[0] >= least[0] && sooner[1] >= least[1], "{name}: {sooner:?}");
    }
}
