//! Ranks against one machine: everything is the same for any delay and order of messages; and what a mesh must not do is
//! noticed.

use super::*;
use crate::base::rng::Rng;
use crate::engine::lazy::Lazy;
use crate::engine::mesh::local::{Disorder, Mischief, ranks};
use crate::engine::pack::Packing;
use crate::engine::reduce::{Keep, Save};
use crate::engine::search::{
    Options, Report, Stats, Verdict, check, check_on_demand, check_on_demand_on_ranks, check_on_ranks,
};
use crate::model::network::Network;
use crate::property::Property;
use crate::samples::random::{self, Shape};
use crate::samples::synthetic;
use std::sync::atomic::AtomicBool;

/// Whether there is time for everything.
pub(in crate::engine::search) fn slow() -> bool {
    std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1")
}

/// Runs the same closure on each of several ranks; all must return the same.
pub(in crate::engine::search) fn on_ranks(
    size: usize,
    disorder: Disorder,
    work: impl Fn(&mut dyn Mesh) -> Result<Report> + Sync,
) -> Result<Report> {
    let reports: Vec<Result<Report>> = std::thread::scope(|scope| {
        let work = &work;
        let start = |mut mesh| scope.spawn(move || work(&mut mesh));
        let threads: Vec<_> = ranks(size, disorder).into_iter().map(start).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
    });
    let facts = |report: &Result<Report>| {
        report.as_ref().map(|r| (r.verdict.clone(), counts(&r.stats), r.ranks.len())).map_err(Clone::clone)
    };
    for report in &reports {
        assert_eq!(facts(report), facts(&reports[0]), "all ranks say the same");
    }
    reports.into_iter().next().expect("a rank")
}

fn counts(stats: &Stats) -> [u64; 5] {
    [stats.states, stats.transitions, stats.depth, stats.deadlocks, stats.frontier]
}

pub(in crate::engine::search) fn same(one: &Report, many: &Report, what: &str) {
    assert_eq!(one.verdict, many.verdict, "{what}");
    assert_eq!(counts(&one.stats)[..4], counts(&many.stats)[..4], "{what}");
    // What was passed on chains is not counted on ranks; a rank saves only what is its own, but each saves something.
    let kept = |report: &Report| {
        report.reduction.map(|kept| crate::engine::search::Reduction { passed: None, saved: None, ..kept })
    };
    let saved = |report: &Report| report.reduction.and_then(|kept| kept.saved);
    match many.reduction.map(|kept| kept.keep) {
        Some(Keep::TwoPhase { foreign: true, .. }) => assert!(saved(many) >= saved(one), "{what}"),
        _ => assert!(saved(many) <= saved(one), "{what}"),
    }
    assert_eq!(kept(one), kept(many), "{what}");
    if !many.ranks.is_empty() {
        assert_eq!(many.ranks.iter().map(|rank| rank.states).sum::<u64>(), one.stats.states, "{what}");
    }
}

const SAVES: [Save; 3] = [Save::All, Save::BackEdges, Save::Nothing];

#[test]
fn same_as_one_machine_with_any_number_of_ranks_and_threads() {
    let shape = Shape { faults: 60, ..Shape::default() };
    let (mut ends, mut sent) = ([0; 3], 0);
    for seed in 0..if slow() { 2000 } else { 200 } {
        let rng = &mut Rng::new(seed);
        let net = shape.network(seed);
        let properties = random::properties(&net, seed);
        let reduce = match seed % 6 {
            0 => Some(Keep::Verdicts),
            1 => Some(Keep::Lengths),
            2 => Some(Keep::Chains),
            3 => Some(Keep::TwoPhase { save: SAVES[seed as usize / 6 % 3], foreign: seed % 4 == 1 }),
            _ => None,
        };
        let options = Options { reduce, ..Options::default() };
        let one = check(&net, &properties, &options).expect("a report");
        ends[match one.verdict {
            Verdict::Holds => 0,
            Verdict::Violated { .. } => 1,
            _ => 2,
        }] += 1;
        for _ in 0..2 {
            let (size, workers) = (rng.between(1, 16), rng.between(1, 3));
            let disorder = Disorder { seed: rng.bits(), delay: rng.below(20), mischief: None };
            let leaves: Vec<LeafIx> =
                (0..net.leaves.len() as u32).map(LeafIx).filter(|_| rng.percent(60)).collect();
            let owners = Some(&leaves[..]).filter(|_| rng.percent(40));
            let options = Options { workers, owners, ..options };
            let many = on_ranks(size, disorder, |mesh| check_on_ranks(&net, &properties, &options, mesh));
            let many = many.expect("a report");
            sent += many.ranks.iter().map(|rank| rank.bytes_sent).sum::<u64>();
            same(&one, &many, &format!("seed {seed}, {size} ranks, {workers} threads"));
        }
    }
    assert!(ends.iter().all(|&n| n > 3), "the networks must differ: {ends:?}");
    assert!(sent > 10_000, "states must travel: {sent}");
}

#[test]
fn tables_on_demand_are_the_same_on_all_ranks() {
    let shape = Shape { faults: 20, ..Shape::default() };
    for seed in 0..if slow() { 600 } else { 120 } {
        let rng = &mut Rng::new(seed);
        let full = shape.network(seed);
        let properties = random::properties(&full, seed);
        let fails = (seed % 5 == 0).then(|| {
            let leaf = rng.below(full.leaves.len());
            (LeafIx(leaf as u32), Local(rng.below(full.leaves[leaf].states.len()) as u32))
        });
        let lazily = |search: &dyn Fn(&Lazy) -> Result<Report>| {
            let (net, mut source) = random::Reveal::new(full.clone());
            if let Some((leaf, local)) = fails {
                source = source.fail_at(leaf, local);
            }
            search(&Lazy::new(net, Box::new(source), &properties).expect("has initial states"))
        };
        let one = lazily(&|lazy| check_on_demand(lazy, &Options::default()));
        let (size, workers) = (rng.between(2, 6), rng.between(1, 2));
        let options = Options { workers, ..Options::default() };
        let disorder = Disorder { seed, delay: rng.below(10), mischief: None };
        let many = on_ranks(size, disorder, |mesh| {
            let mesh = std::cell::RefCell::new(mesh);
            lazily(&|lazy| check_on_demand_on_ranks(lazy, &options, *mesh.borrow_mut()))
        });
        match (&one, &many) {
            (Ok(one), Ok(many)) => same(one, many, &format!("seed {seed}")),
            (one, many) => assert_eq!(one, many, "seed {seed}"),
        }
    }
}

/// For any fault of the network: the search says that something is wrong, and never anything else.
#[test]
fn lost_doubled_late_and_damaged_messages_are_faults() {
    let shape = Shape::default();
    let mut noticed = [0; 4];
    for seed in 0..if slow() { 1000 } else { 200 } {
        let rng = &mut Rng::new(seed);
        let net = shape.network(seed);
        let properties = random::properties(&net, seed);
        let one = check(&net, &properties, &Options::default()).expect("a report");
        let (size, number) = (rng.between(2, 5), rng.below(6) as u64);
        let kind = seed as usize % 4;
        let mischief = [Mischief::Lose, Mischief::Double, Mischief::Late, Mischief::Damage][kind](number);
        let disorder = Disorder { seed, delay: rng.below(10), mischief: Some(mischief) };
        let options = Options { workers: rng.between(1, 2), ..Options::default() };
        match on_ranks(size, disorder, |mesh| check_on_ranks(&net, &properties, &options, mesh)) {
            Err(Error::Internal(_)) => noticed[kind] += 1,
            // There were fewer messages.
            Ok(many) => same(&one, &many, &format!("seed {seed}, {mischief:?}")),
            Err(error) => panic!("seed {seed}, {mischief:?}: {error}"),
        }
    }
    assert!(noticed.iter().all(|&n| n > 15), "{noticed:?}");
}

fn bounded(net: &Network, options: &Options, size: usize) -> (Limit, Report) {
    let disorder = Disorder { seed: 7, delay: 3, mischief: None };
    let report = on_ranks(size, disorder, |mesh| check_on_ranks(net, &[], options, mesh)).expect("a report");
    match report.verdict {
        Verdict::Unknown(limit) => (limit, report),
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn limits_end_the_search_on_all_ranks() {
    let net = synthetic::counters(4, 9);
    for (size, workers) in [(2, 1), (3, 2), (5, 1)] {
        let options = Options { workers, ..Options::default() };
        let (limit, report) = bounded(&net, &Options { max_states: Some(2000), ..options }, size);
        assert_eq!(limit, Limit::States(2000));
        assert!((2000..9_000).contains(&report.stats.states), "{:?}", report.stats);
        let (limit, report) = bounded(&net, &Options { max_depth: Some(5), ..options }, size);
        assert_eq!((limit, report.stats.depth), (Limit::Depth(5), 5));
        let time = Duration::ZERO;
        assert_eq!(bounded(&net, &Options { time_limit: Some(time), ..options }, size).0, Limit::Time(time));
        let cancel = AtomicBool::new(true);
        let options = Options { cancel: Some(&cancel), ..options };
        assert_eq!(bounded(&net, &options, size).0, Limit::Interrupted);
        let reason = || Limit::Memory(5);
        let options = Options { reason: Some(&reason), ..options };
        assert_eq!(bounded(&net, &options, size).0, Limit::Memory(5));
    }
    // A bound that is not reached changes nothing.
    let options = Options { max_states: Some(10_000), max_depth: Some(37), ..Options::default() };
    let report = on_ranks(3, Disorder::default(), |mesh| check_on_ranks(&net, &[], &options, mesh));
    let report = report.expect("a report");
    assert_eq!((report.verdict, counts(&report.stats)), (Verdict::Holds, [10_000, 40_000, 36, 0, 0]));
}

/// One rank has little memory, or is asked to stop: that is the answer of all.
#[test]
fn what_stops_one_rank_stops_all() {
    let net = synthetic::counters(4, 9);
    for which in 0..3 {
        let disorder = Disorder { seed: which as u64, delay: 3, mischief: None };
        for limit in [10, 60_000] {
            let report = on_ranks(3, disorder, |mesh| {
                let max_memory = Some(if mesh.rank() == which { limit } else { 1 << 30 });
                check_on_ranks(&net, &[], &Options { max_memory, ..Options::default() }, mesh)
            });
            assert_eq!(report.expect("a report").verdict, Verdict::Unknown(Limit::Memory(limit)));
        }
        let cancel = AtomicBool::new(true);
        let report = on_ranks(3, disorder, |mesh| {
            let cancel = Some(&cancel).filter(|_| mesh.rank() == which);
            check_on_ranks(&net, &[], &Options { cancel, ..Options::default() }, mesh)
        });
        assert_eq!(report.expect("a report").verdict, Verdict::Unknown(Limit::Interrupted));
    }
}

/// The owner of a state and its line in a visited set are independent: the states of any rank fill the lines of its set as
/// evenly as any states would, for any choice of the leaves that decide the owner, and for states of one word or two.
#[test]
fn the_states_of_a_rank_are_spread_over_its_visited_set() {
    for sizes in [[10, 100, 100], [10, 1 << 31, 1 << 31]] {
        let packing = Packing::for_sizes(sizes);
        let mut state = vec![0; packing.words()];
        for (ranks, lines) in [(8, 64), (3, 500), (64, 16)] {
            for owner in [Owner::new(ranks), Owner::by_leaves(ranks, &packing, &[LeafIx(0), LeafIx(1)])] {
                let mut load = vec![vec![0u64; lines]; ranks];
                for n in 0..10u32.pow(5) {
                    packing.pack(&[n % 10, n / 10 % 100, n / 1000].map(Local), &mut state);
                    let line = (u128::from(crate::engine::visited::hash(&state)) * lines as u128) >> 64;
                    load[owner.of(&state)][line as usize] += 1;
                }
                for (rank, load) in load.iter().enumerate() {
                    let mean = load.iter().sum::<u64>() as f64 / lines as f64;
                    let chi: f64 = load.iter().map(|&n| (n as f64 - mean).powi(2) / mean).sum();
                    // Chi squared with this many degrees of freedom: further from their number once in 10^6 times.
                    let free = lines as f64 - 1.0;
                    assert!(chi < free + 6.0 * (2.0 * free).sqrt(), "rank {rank}: {chi:.0}, {load:?}");
                }
            }
        }
    }
}

/// Levels of one state, and a deadlock that is far away: messages of one state, and depths that are not exact.
#[test]
fn long_thin_systems() {
    let net = synthetic::counters(1, 300);
    let options = Options::default();
    let one =
        check(&net, &[Property::DeadlockFree { allow_termination: false }], &options).expect("a report");
    let many = on_ranks(3, Disorder { seed: 1, delay: 2, mischief: None }, |mesh| {
        check_on_ranks(&net, &[Property::DeadlockFree { allow_termination: false }], &options, mesh)
    });
    same(&one, &many.expect("a report"), "a counter");
    for n in 2..7 {
        let net = synthetic::philosophers(n);
        let properties = [Property::DeadlockFree { allow_termination: false }];
        let one = check(&net, &properties, &options).expect("a report");
        assert!(matches!(&one.verdict, Verdict::Violated { trace, .. } if trace.len() == n as usize));
        for size in [2, 4] {
            let disorder = Disorder { seed: u64::from(n), delay: 5, mischief: None };
            let many = on_ranks(size, disorder, |mesh| check_on_ranks(&net, &properties, &options, mesh));
            same(&one, &many.expect("a report"), "philosophers");
        }
    }
}

/// Far more ranks than cores, and than states in most levels.
#[test]
fn many_ranks_that_mostly_sleep() {
    let size = if slow() { 1024 } else { 100 };
    let properties = [Property::DeadlockFree { allow_termination: false }];
    for (net, properties) in [(synthetic::counters(3, 4), &[][..]), (synthetic::philosophers(5), &properties)]
    {
        let one = check(&net, properties, &Options::default()).expect("a report");
        let options = Options { max_memory: Some(1 << 40), ..Options::default() };
        let many =
            on_ranks(size, Disorder::default(), |mesh| check_on_ranks(&net, properties, &options, mesh));
        same(&one, &many.expect("a report"), "many ranks");
    }
}
