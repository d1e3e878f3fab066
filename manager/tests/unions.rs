//! Cumulative exhaustiveness with the real worker: the states that all jobs of a swarm visit together are those that a
//! naive search visits, on random networks and on the models that ship with the tool.

use gridlock_lang::system::{Options, load};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::guide::{EdgeIx, Guide, Orders, Relevance, Subsystem};
use gridlock_lts::model::network::{LeafIx, Local, Network, Outcome as Step};
use gridlock_lts::property::Property;
use gridlock_lts::samples::random::Shape;
use gridlock_manager::traces::strategy::StrategyKind;
use gridlock_manager::traces::swarm::{Config, Granularity, Pace, Swarm, SwarmOutcome};
use gridlock_manager::traces::testbed::{Workers, run};
use gridlock_worker::guided::{Setting, Worker};
use gridlock_worker::job::{Effort, Feedback, JobEnd, JobLimits, Order};
use gridlock_worker::life::Life;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

type States = BTreeSet<Vec<Local>>;

fn reachable(net: &Network, most: usize) -> Option<States> {
    let (mut seen, mut queue, mut steps) = (States::from([net.initial()]), vec![net.initial()], Vec::new());
    while let Some(state) = queue.pop() {
        net.successors(&state, &mut steps);
        for step in &steps {
            let fault = matches!(net.vectors[step.vector.0 as usize].outcome, Step::Fault(_));
            if !fault && seen.insert(step.target.clone()) {
                queue.push(step.target.clone());
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    Some(seen)
}

/// Deliberate mistakes, which must be noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    None,
    /// Of every border one state is forgotten.
    Border,
    /// Of classes: one possible move is not reported, so one beginning too many is struck off.
    Beginning,
    /// Of classes: only moves that are possible in the order of the path are reported, as if moves that share no leaf of the
    /// subsystem never needed each other.
    OneOrder,
}

/// Plays a swarm with answers in any order, doubled and lost.
struct Play<'a> {
    net: &'a Network,
    guide: &'a Guide,
    config: Config,
    workers: Workers,
    most_jobs: u64,
    mistake: Mistake,
}

impl Visitor for Play<'_> {
    type Out = (SwarmOutcome, States);

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        let system = &*system;
        let Play { net, guide, config, workers, most_jobs, mistake } = self;
        let (relevance, guide_of) = (config.relevance.clone(), Arc::new(guide.clone()));
        let setting = Setting { system, net, guide: guide_of, relevance };
        let mut worker = Worker::new(setting);
        let mut swarm = Swarm::new(net, guide.clone(), config);
        let (mut union, mut handed_on, mut in_any_order) = (States::new(), States::new(), States::new());
        let answer = &mut |job: &gridlock_worker::job::Job| {
            if job.number >= most_jobs {
                let end = JobEnd::Failed(gridlock_lts::base::error::Error::input("enough"));
                let (possible, effort) = (Vec::new(), Effort::default());
                return Feedback {
                    number: job.number,
                    end,
                    possible,
                    bounded: false,
                    effort,
                    seen: Vec::new(),
                    left: Default::default(),
                    positions: Vec::new(),
                };
            }
            let mut seen = States::new();
            let mut feedback = worker.observed(job, &Life::default(), &mut |state| {
                seen.insert(system.packing().unpack(state));
            });
            if mistake == Mistake::Border
                && let Some(border) = feedback.left.border.last_mut()
            {
                let (words, last) = (feedback.left.words as usize, border.states.len());
                if border.expanded < (last / words) as u64 {
                    border.states.truncate(last - words);
                }
                if border.states.is_empty() {
                    feedback.left.border.pop();
                }
            }
            match mistake {
                Mistake::Beginning => {
                    let some = feedback.positions.iter_mut().rev().find(|p| !p.possible.is_empty());
                    some.and_then(|position| position.possible.pop());
                }
                Mistake::OneOrder if job.any_order => {
                    let mut done = vec![0; guide.leaves().len()];
                    let mut along = BTreeSet::from([done.clone()]);
                    for &edge in &job.path {
                        guide.parts(guide.edge(EdgeIx(edge)).projection).for_each(|leaf| done[leaf] += 1);
                        along.insert(done.clone());
                    }
                    let others = feedback.positions.iter_mut().filter(|p| !along.contains(&p.done));
                    others.for_each(|position| position.possible.clear());
                }
                Mistake::None | Mistake::Border | Mistake::OneOrder => {}
            }
            // What a job over its budget has visited must be visited again by others, unless it hands on what it leaves.
            if job.any_order {
                if feedback.end == JobEnd::Complete {
                    in_any_order.append(&mut seen);
                }
            } else if job.handed.is_some() {
                handed_on.append(&mut seen);
            } else if feedback.end == JobEnd::Complete {
                union.append(&mut seen);
            }
            feedback
        };
        run(&mut swarm, &workers, answer, &mut |_| {});
        // Once jobs hand on nothing any more, everything is visited again.
        let status = swarm.status();
        if status.borders {
            union.append(&mut handed_on);
        }
        // So it is once single traces are followed instead of classes.
        if status.any_order {
            union.append(&mut in_any_order);
        }
        if let (Some(SwarmOutcome::Exhausted { .. }), Some(different)) = (swarm.outcome(), status.different)
            && !different.estimated
            && mistake == Mistake::None
        {
            assert_eq!(different.states, union.len() as u64, "each state is expanded once");
        }
        (swarm.outcome().cloned().expect("it is done"), union)
    }
}

#[derive(Default, Debug)]
struct Tally {
    exhausted: u32,
    bounded: u32,
    stuck: u32,
    long: u32,
}

fn config(all: usize, rng: &mut Rng) -> Config {
    let states = match rng.below(3) {
        0 => u64::MAX,
        1 => rng.between(1, 2 * all) as u64,
        _ => rng.between(1 + all / 4, 2 + all / 2) as u64,
    };
    let mut config = Config::new(JobLimits { states, memory: 1 << 28 });
    config.granularity = [Granularity::Trace, Granularity::Prefix][rng.below(2)];
    config.strategy = StrategyKind::ALL[rng.below(4)];
    config.seed = rng.bits();
    config.pace = [Pace::Window(1), Pace::Window(5), Pace::Batch(10), Pace::default()][rng.below(4)];
    config.order = if rng.percent(20) { Order::DepthFirst } else { Order::BreadthFirst };
    config.borders = rng.percent(60);
    if rng.percent(20) {
        config.border_memory = rng.below(3_000) as u64;
    }
    if config.borders && rng.percent(20) {
        config.limits.memory = rng.between(1_000, 60_000) as u64;
    }
    config
}

fn compare(net: &Network, guide: &Guide, all: &States, rng: &mut Rng, what: &str, tally: &mut Tally) {
    let config = config(all.len(), rng);
    let workers = Workers { count: rng.between(1, 8), twice: 10, lost: 10, seed: rng.bits() };
    let prepared = Prepared::new(net.clone(), []);
    let shown = format!("{what}: {config:?}");
    let (outcome, union) = {
        let play = Play { net, guide, config, workers, most_jobs: 2_000, mistake: Mistake::None };
        prepared.visit(play).unwrap()
    };
    assert!(union.is_subset(all), "{shown}");
    match outcome {
        SwarmOutcome::Exhausted { bounded: false } => {
            assert!(union == *all, "{shown}: {} of {} states", union.len(), all.len());
            tally.exhausted += 1;
        }
        SwarmOutcome::Exhausted { bounded: true } => {
            assert!(guide.is_bounded(), "{shown}");
            tally.bounded += 1;
        }
        SwarmOutcome::Stuck(_) => tally.stuck += 1,
        // A fault of a random network, or more jobs than we have patience for.
        SwarmOutcome::Found { .. } | SwarmOutcome::Failed { .. } | SwarmOutcome::Repeats(_) => {
            tally.long += 1
        }
    }
}

#[test]
fn on_random_networks() {
    let mut tally = Tally::default();
    for seed in 0..2_500 {
        let net = Shape { acyclic: seed % 3 != 0, leaves: 5, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let leaves: Vec<LeafIx> =
            (0..rng.between(1, 3)).map(|_| LeafIx(rng.below(net.leaves.len()) as u32)).collect();
        let unroll = rng.below(3) as u32;
        let Ok(guide) = Subsystem::new(&net, &leaves, 500).and_then(|s| s.unrolled(unroll, 2_000)) else {
            continue;
        };
        let Some(all) = reachable(&net, 3_000) else { continue };
        if guide.traces() <= &1_000u32.into() {
            compare(&net, &guide, &all, rng, &format!("seed {seed}"), &mut tally);
        }
    }
    assert!(tally.exhausted > 1_000 && tally.bounded > 50 && tally.stuck > 50, "{tally:?}");
}

/// The vectors that some of these states can take.
fn taken(net: &Network, states: &States) -> BTreeSet<u32> {
    let (mut taken, mut steps) = (BTreeSet::new(), Vec::new());
    for state in states {
        net.successors(state, &mut steps);
        taken.extend(steps.iter().map(|step| step.vector.0));
    }
    taken
}

/// The states that are reachable while irrelevant ones are passed over, and whether a forbidden step is possible there.
fn mattering(net: &Network, relevance: &Relevance, forbidden: u32, most: usize) -> Option<(States, bool)> {
    let irrelevant: BTreeSet<&[Local]> = relevance.irrelevant().collect();
    let passed = |state: &[Local]| {
        let place: Vec<Local> = relevance.leaves().iter().map(|leaf| state[leaf.0 as usize]).collect();
        irrelevant.contains(&place[..])
    };
    let (mut seen, mut queue, mut steps) = (States::from([net.initial()]), vec![net.initial()], Vec::new());
    let mut violated = false;
    while let Some(state) = queue.pop() {
        net.successors(&state, &mut steps);
        for step in &steps {
            violated |= step.vector.0 == forbidden;
            if !passed(&step.target) && seen.insert(step.target.clone()) {
                queue.push(step.target.clone());
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    Some((seen, violated))
}

/// Seeds of directed swarms, and how many of them may be about something that happens.
const SEEDS: u64 = 12_000;
const VIOLATED: u64 = 2_000;

/// Swarms that leave out states that cannot lead to a violation visit exactly the rest, for any jobs.
#[test]
fn directed_swarms_visit_what_matters() {
    let (mut exhausted, mut less, mut found) = (0, 0, 0);
    for seed in 0..SEEDS {
        let net = Shape { acyclic: seed % 3 != 0, leaves: 5, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let leaves: Vec<LeafIx> =
            (0..rng.between(1, 2)).map(|_| LeafIx(rng.below(net.leaves.len()) as u32)).collect();
        let unroll = rng.below(3) as u32;
        let Ok(guide) = Subsystem::new(&net, &leaves, 500).and_then(|s| s.unrolled(unroll, 2_000)) else {
            continue;
        };
        let Some(all) = reachable(&net, 3_000).filter(|_| guide.traces() <= &1_000u32.into()) else {
            continue;
        };
        let never = |forbidden: u32| {
            let never = Property::Never(Box::new(move |_, vector| vector.0 == forbidden));
            let prepared = Prepared::new(net.clone(), [never]);
            let relevance = Relevance::of(&prepared, guide.leaves());
            let some = !relevance.is_empty() && !relevance.is_everything();
            some.then_some((forbidden, prepared, relevance))
        };
        // Rather something that does not happen, though the tables do not rule it out: then everything is searched. Of small
        // networks few have such a vector, so beyond the first seeds only those count.
        let happens = taken(&net, &all);
        let (mut yes, no): (Vec<u32>, Vec<u32>) =
            (0..net.vectors.len() as u32).partition(|v| happens.contains(v));
        if seed >= VIOLATED {
            yes.clear();
        }
        let Some((forbidden, prepared, relevance)) = no.into_iter().chain(yes).find_map(never) else {
            continue;
        };
        let Some((matter, violated)) = mattering(&net, &relevance, forbidden, 3_000) else { continue };
        let config = Config { relevance: Some(Arc::new(relevance)), ..config(matter.len(), rng) };
        let shown = format!("seed {seed}: {:?}, {:?}", config.granularity, config.limits);
        let workers = Workers { count: rng.between(1, 8), twice: 10, lost: 10, seed: rng.bits() };
        let play =
            Play { net: &net, guide: &guide, config, workers, most_jobs: 2_000, mistake: Mistake::None };
        let (outcome, union) = prepared.visit(play).unwrap();
        match outcome {
            SwarmOutcome::Exhausted { bounded: false } => {
                assert!(!violated, "{shown}");
                assert!(union == matter, "{shown}: {} of {} states", union.len(), matter.len());
                exhausted += 1;
                less += usize::from(matter.len() < all.len());
            }
            SwarmOutcome::Found { .. } => {
                assert!(violated, "{shown}");
                found += 1;
            }
            _ => assert!(union.is_subset(&matter), "{shown}"),
        }
    }
    assert!(exhausted > 80 && less > 75 && found > 1_000, "{exhausted} {less} {found}");
}

/// Jobs of one state, or a few, that hand on all the rest: as many states are expanded as there are. A border from which a
/// state is missing is noticed.
#[test]
fn borders_of_tiny_jobs() {
    let (mut compared, mut noticed) = (0, 0);
    for seed in 0..600 {
        let net = Shape { acyclic: seed % 4 != 0, leaves: 4, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let leaf = LeafIx(rng.below(net.leaves.len()) as u32);
        let Ok(guide) = Subsystem::new(&net, &[leaf], 500).and_then(|s| s.guide(&net)) else { continue };
        let Some(all) = reachable(&net, 300).filter(|all| all.len() > 3) else { continue };
        let mut config =
            Config::new(JobLimits { states: rng.between(1, 1 + all.len() / 8) as u64, memory: 1 << 26 });
        (config.borders, config.pace) = (true, Pace::Window(rng.between(1, 9) as u64));
        let prepared = Prepared::new(net.clone(), []);
        for mistake in [Mistake::None, Mistake::Border] {
            let (config, workers) = (config.clone(), Workers { count: 3, twice: 10, lost: 10, seed });
            let play = Play { net: &net, guide: &guide, config, workers, most_jobs: 2_000, mistake };
            let (outcome, union) = prepared.visit(play).unwrap();
            if let SwarmOutcome::Found { .. } = outcome {
                continue;
            }
            let exhausted = outcome == SwarmOutcome::Exhausted { bounded: false };
            if mistake == Mistake::Border {
                noticed += usize::from(exhausted && union != all);
            } else {
                assert!(exhausted, "seed {seed}: {outcome:?}");
                assert!(union == all, "seed {seed}: {} of {} states", union.len(), all.len());
                compared += 1;
            }
        }
    }
    assert!(compared > 150 && noticed > 50, "{compared}, {noticed} noticed");
}

/// One search for each class, in all of its orders: every state is visited, in no more searches than there are classes. If
/// jobs report too few moves, a swarm misses states.
#[test]
fn one_order_of_each_class() {
    let (mut exhausted, mut several, mut single, mut directed) = (0, 0, 0, 0);
    let mut noticed = [0; 2];
    let slow = std::env::var_os("GRIDLOCK_SLOW").is_some();
    let seeds: usize = if slow { 60_000 } else { 1_200 };
    for seed in 0..seeds as u64 {
        let net = Shape { acyclic: true, leaves: 5, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let leaves: Vec<LeafIx> =
            (0..rng.between(2, 3)).map(|_| LeafIx(rng.below(net.leaves.len()) as u32)).collect();
        let Ok(guide) = Subsystem::new(&net, &leaves, 2_000).and_then(|s| s.guide(&net)) else { continue };
        let Some(all) = reachable(&net, 3_000).filter(|_| guide.traces() <= &20_000u32.into()) else {
            continue;
        };
        let orders = Arc::new(Orders::of(&guide, 100_000).unwrap());
        let classes = orders.classes().traces().clone();
        let mut config = config(all.len(), rng);
        (config.granularity, config.order, config.borders) = (Granularity::Trace, Order::BreadthFirst, false);
        config.strategy = [StrategyKind::Order, StrategyKind::Random][rng.below(2)];
        config.orders = Some(orders);
        // Some are directed by a vector that is never taken, though the tables do not rule it out.
        let never = |forbidden: u32| {
            let never = Property::Never(Box::new(move |_, vector| vector.0 == forbidden));
            let prepared = Prepared::new(net.clone(), [never]);
            let relevance = Relevance::of(&prepared, guide.leaves());
            let some = !relevance.is_empty() && !relevance.is_everything();
            some.then_some((prepared, relevance))
        };
        let happens = taken(&net, &all);
        let idle = (0..net.vectors.len() as u32).filter(|v| seed % 2 == 0 && !happens.contains(v)).take(8);
        let (mut prepared, mut matter) = (Prepared::new(net.clone(), []), all.clone());
        if let Some((with, relevance)) = idle.into_iter().find_map(never) {
            let Some((less, _)) = mattering(&net, &relevance, u32::MAX, 3_000) else { continue };
            directed += usize::from(less.len() < all.len());
            (prepared, matter, config.relevance) = (with, less, Some(Arc::new(relevance)));
        }
        let shown = format!("seed {seed}: {:?}, {:?}, {:?}", config.limits, config.pace, config.strategy);
        for mistake in [Mistake::None, Mistake::Beginning, Mistake::OneOrder] {
            let workers = Workers { count: rng.between(1, 8), twice: 10, lost: 10, seed };
            let config = config.clone();
            let play = Play { net: &net, guide: &guide, config, workers, most_jobs: 3_000, mistake };
            let (outcome, union) = prepared.visit(play).unwrap();
            let is_exhausted = outcome == SwarmOutcome::Exhausted { bounded: false };
            match mistake {
                Mistake::None => {
                    assert!(union.is_subset(&matter), "{shown}");
                    assert!(!is_exhausted || union == matter, "{shown}: {} of {}", union.len(), matter.len());
                    exhausted += usize::from(is_exhausted);
                    several += usize::from(is_exhausted && classes < *guide.traces());
                    single += usize::from(is_exhausted && classes == *guide.traces());
                }
                _ => {
                    noticed[usize::from(mistake == Mistake::OneOrder)] +=
                        usize::from(is_exhausted && union != matter)
                }
            }
        }
    }
    println!("{exhausted} {several} {single} {directed} {noticed:?}");
    assert!(
        exhausted > seeds / 4 && several > seeds / 20 && single > seeds / 40 && directed > 0,
        "{exhausted} {several} {single} {directed}"
    );
    assert!(noticed.iter().all(|&n| n > seeds / 100), "{noticed:?}");
}

/// Every specification in `models/` that is small enough, with each of its leaves as the subsystem.
#[test]
fn on_the_models() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
    let mut specs: Vec<_> = models
        .read_dir()
        .unwrap()
        .filter_map(|dir| dir.unwrap().path().read_dir().ok())
        .flat_map(|files| files.map(|file| file.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|e| e == "mcrl2"))
        .collect();
    specs.sort();
    let (mut tally, mut compared) = (Tally::default(), 0);
    for spec in specs {
        let name = spec.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&spec).unwrap();
        // What is larger is left out before its tables are built.
        let options = Options { warm_up: 6_000, table_limit: 3_000, ..Options::default() };
        let Ok(system) = load(&text, &name, &options, &mut |_| true) else { continue };
        if !system.closed {
            continue;
        }
        let net = &system.network;
        let Some(all) = reachable(net, 6_000) else { continue };
        let rng = &mut Rng::new(all.len() as u64);
        for leaf in (0..net.leaves.len() as u32).map(LeafIx) {
            for unroll in 0..2 {
                let guide = Subsystem::new(net, &[leaf], 2_000).and_then(|s| s.unrolled(unroll, 5_000));
                let Ok(guide) = guide else { continue };
                compare(net, &guide, &all, rng, &format!("{name}, {leaf:?}, unroll {unroll}"), &mut tally);
                compared += 1;
            }
        }
    }
    println!("{compared} swarms: {tally:?}");
    assert!(compared > 100 && tally.exhausted > 30, "{tally:?}");
}
