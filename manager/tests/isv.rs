//! Whole swarms on random networks: the same verdict as an exhaustive search, and the same jobs for any number of workers.

use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::engine::search::{self, Verdict};
use gridlock_lts::guide::{Guide, Orders, Relevance, Subsystem};
use gridlock_lts::model::network::{LeafIx, Network};
use gridlock_lts::property::Property;
use gridlock_lts::samples::random::{self, Shape};
use gridlock_manager::grid::driver::Control;
use gridlock_manager::grid::journal::Journal;
use gridlock_manager::grid::work::Grid;
use gridlock_manager::traces::strategy::StrategyKind;
use gridlock_manager::traces::swarm::{Config, Granularity, Pace, SwarmStatus};
use gridlock_manager::traces::{Conclusion, SwarmReport, conduct};
use gridlock_worker::job::{JobLimits, Order};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LIMIT: usize = 100_000;
const STRATEGIES: [StrategyKind; 4] =
    [StrategyKind::Even, StrategyKind::Order, StrategyKind::Random, StrategyKind::Different];

fn control() -> Control<'static, SwarmStatus> {
    Control { stop: &|| false, progress: &|_| {}, page: &|_| Vec::new() }
}

/// Runs a swarm, unless it takes long: tiny jobs may need any number of finer guides.
fn swarm(prepared: &Arc<Prepared>, guide: &Arc<Guide>, config: &Config, workers: usize) -> SwarmReport {
    let begun = Instant::now();
    let stop = || begun.elapsed() > Duration::from_millis(500);
    let control = Control { stop: &stop, ..control() };
    conduct(prepared, guide, config.clone(), &Grid::threads(workers, None), None, &control).unwrap()
}

fn properties(net: &Network, rng: &mut Rng) -> Vec<Property> {
    let forbidden = rng.below(net.vectors.len()) as u32;
    let monitor = random::monitor("m", rng);
    match rng.below(3) {
        0 => vec![Property::DeadlockFree { allow_termination: false }],
        1 => vec![Property::Never(Box::new(move |_, v| v.0 == forbidden))],
        _ => vec![Property::Monitor(monitor), Property::DeadlockFree { allow_termination: false }],
    }
}

fn guide(net: &Network, rng: &mut Rng) -> Arc<Guide> {
    let leaves: Vec<LeafIx> =
        (0..rng.between(1, 2)).map(|_| LeafIx(rng.below(net.leaves.len()) as u32)).collect();
    Arc::new(Subsystem::new(net, &leaves, LIMIT).unwrap().unrolled(1, LIMIT).unwrap())
}

fn config(rng: &mut Rng) -> Config {
    let states = if rng.percent(50) { u64::MAX } else { rng.between(5, 200) as u64 };
    let mut config = Config::new(JobLimits { states, memory: 1 << 26 });
    config.granularity = if rng.percent(50) { Granularity::Trace } else { Granularity::Prefix };
    config.strategy = STRATEGIES[rng.below(4)];
    config.seed = rng.bits();
    config.order = if rng.percent(80) { Order::BreadthFirst } else { Order::DepthFirst };
    let width = [1, 3, 64][rng.below(3)];
    config.pace = if rng.percent(70) { Pace::Window(width) } else { Pace::Batch(width) };
    config.record = true;
    config.borders = rng.percent(60);
    config
}

/// Lets many swarms along traces follow classes of them in any order, where that is possible.
fn in_any_order(config: Config, guide: &Guide, rng: &mut Rng) -> Config {
    let along = config.granularity == Granularity::Trace && config.order == Order::BreadthFirst;
    let orders = (along && rng.percent(60)).then(|| Orders::of(guide, LIMIT)).and_then(Result::ok);
    Config { orders: orders.map(Arc::new), ..config }
}

/// Lets most swarms leave out what cannot lead to a violation.
fn directed(config: Config, prepared: &Prepared, guide: &Guide, rng: &mut Rng) -> Config {
    let relevance = || Arc::new(Relevance::of(prepared, guide.leaves()));
    Config { relevance: rng.percent(70).then(relevance), ..in_any_order(config, guide, rng) }
}

/// Without times.
fn figures(report: SwarmReport) -> String {
    let (mut status, mut conclusion) = (report.status, report.conclusion);
    if let Conclusion::TooLarge(stuck) = &mut conclusion {
        stuck.iter_mut().for_each(|s| s.effort.nanoseconds = 0);
    }
    status.longest = Default::default();
    status.total.nanoseconds = 0;
    status.lost = 0;
    let jobs: Vec<_> =
        report.events.iter().map(|e| (e.number, e.space, &e.ids, e.class, &e.pruned)).collect();
    format!("{conclusion:?} {status:?} {jobs:?}")
}

#[test]
fn a_swarm_agrees_with_an_exhaustive_search() {
    let (mut held, mut found, mut unknown, mut stopped, mut struck) = (0, 0, 0, 0, 0);
    for seed in 0..1_500 {
        let net = Shape { acyclic: seed % 3 != 0, faults: 10, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let properties = properties(&net, rng);
        let prepared = Arc::new(Prepared::new(net.clone(), properties));
        if prepared.violated_initially().is_some() {
            continue;
        }
        let guide = guide(&net, rng);
        if guide.traces() > &5_000u32.into() {
            continue;
        }
        let config = directed(config(rng), &prepared, &guide, rng);
        let expected =
            search::check(&net, prepared.properties(), &search::Options::default()).unwrap().verdict;
        let report = swarm(&prepared, &guide, &config, 1 + seed as usize % 3);
        match (&report.conclusion, &expected) {
            (Conclusion::Holds, Verdict::Holds) => {
                held += 1;
                struck += u32::from(report.status.irrelevant > 0u32.into());
            }
            (Conclusion::Found(..), Verdict::Violated { .. } | Verdict::Faulty { .. }) => found += 1,
            (Conclusion::Stopped, _) => stopped += 1,
            (Conclusion::Bounded | Conclusion::TooLarge(_), _) => {
                unknown += 1;
                let unlimited = config.limits.states == u64::MAX;
                assert!(guide.is_bounded() || !unlimited, "seed {seed}: {:?}", report.conclusion);
                // Behind a prefix the subsystem moves freely, also round its cycles.
                let prefix = config.granularity == Granularity::Prefix;
                assert!(!(prefix && unlimited), "seed {seed}: {:?}", report.conclusion);
            }
            (conclusion, expected) => panic!("seed {seed}: {conclusion:?}, but {expected:?}"),
        }
    }
    assert!(held > 100 && found > 300 && unknown > 8, "{held} {found} {unknown} {stopped}");
    assert!(struck > 20, "{struck}");
}

/// A swarm that strikes off one beginning too many misses violations, and the comparison above notices.
#[test]
fn one_beginning_too_many_is_noticed() {
    let (mut missed, mut found) = (0, 0);
    for seed in 0..600 {
        let net = Shape { acyclic: true, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let properties = properties(&net, rng);
        let prepared = Arc::new(Prepared::new(net.clone(), properties));
        let guide = guide(&net, rng);
        if prepared.violated_initially().is_some() || guide.traces() > &5_000u32.into() {
            continue;
        }
        let expected =
            search::check(&net, prepared.properties(), &search::Options::default()).unwrap().verdict;
        let mut relevance = Relevance::of(&prepared, guide.leaves());
        if expected == Verdict::Holds || !relevance.strike_one_too_many(rng.below(50)) {
            continue;
        }
        let config = Config { relevance: Some(Arc::new(relevance)), ..config(rng) };
        match swarm(&prepared, &guide, &config, 1).conclusion {
            Conclusion::Holds => missed += 1,
            Conclusion::Found(..) => found += 1,
            _ => {}
        }
    }
    assert!(missed > 20 && found > 20, "{missed} {found}");
}

#[test]
fn nothing_depends_on_the_number_of_workers() {
    for seed in 0..120 {
        let net = Shape { acyclic: true, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let properties = properties(&net, rng);
        let prepared = Arc::new(Prepared::new(net.clone(), properties));
        let guide = guide(&net, rng);
        if guide.traces() > &5_000u32.into() {
            continue;
        }
        let config = directed(config(rng), &prepared, &guide, rng);
        let one = swarm(&prepared, &guide, &config, 1);
        if let Conclusion::Stopped = one.conclusion {
            continue;
        }
        let one = figures(one);
        for workers in [2, 3, 8] {
            let grid = Grid::threads(workers, None);
            let several = conduct(&prepared, &guide, config.clone(), &grid, None, &control()).unwrap();
            assert_eq!(figures(several), one, "seed {seed}, {workers} workers");
        }
    }
}

#[test]
fn a_run_that_is_stopped_resumes_and_ends_alike() {
    let mut resumed = 0;
    for seed in 0..150 {
        let net = Shape { acyclic: true, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let properties = properties(&net, rng);
        let prepared = Arc::new(Prepared::new(net.clone(), properties));
        let guide = guide(&net, rng);
        if guide.traces() > &5_000u32.into() {
            continue;
        }
        // One trace a job, or small ones that hand on what they leave: many jobs.
        let mut config = Config { granularity: Granularity::Trace, ..config(rng) };
        if seed % 2 == 0 {
            (config.granularity, config.order, config.borders) =
                (Granularity::Prefix, Order::BreadthFirst, true);
            config.limits.states = rng.between(20, 60) as u64;
        }
        let config = directed(config, &prepared, &guide, rng);
        let whole = swarm(&prepared, &guide, &config, 1);
        if let Conclusion::Stopped = whole.conclusion {
            continue;
        }
        let whole = figures(whole);
        let dir = tempfile::tempdir().unwrap();
        let identity = vec![("seed".to_owned(), seed.to_string())];
        let mut runs = 0;
        let last = loop {
            runs += 1;
            assert!(runs < 10_000, "it makes progress");
            let journal = Journal::open(dir.path(), &identity, true).unwrap();
            // Stopped after some looks; at least one job is done between two.
            let looks = std::cell::Cell::new(rng.between(1, 4));
            let stop = || {
                looks.set(looks.get().saturating_sub(1));
                looks.get() == 0
            };
            let control = Control { stop: &stop, ..control() };
            let grid = Grid::threads(2, None);
            let report = conduct(&prepared, &guide, config.clone(), &grid, Some(journal), &control).unwrap();
            if !matches!(report.conclusion, Conclusion::Stopped) {
                break report;
            }
            resumed += 1;
        };
        assert_eq!(figures(last), whole, "seed {seed}");
    }
    assert!(resumed > 50, "{resumed}");
}
