//! Guided searches against a naive one on random networks.

mod threads;

use super::*;
use crate::job::{JobLimits, Then};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::search::{self as plain, Verdict};
use gridlock_lts::guide::{Orders, Subsystem};
use gridlock_lts::model::network::{Local, Outcome};
use gridlock_lts::property::Property;
use gridlock_lts::samples::random::{self, Shape};
use std::collections::{BTreeMap, BTreeSet};

const LIMIT: usize = 100_000;
const PLENTY: JobLimits = JobLimits { states: u64::MAX, memory: 1 << 30 };

fn job(path: &[EdgeIx], then: Then, order: Order) -> Job {
    let path = path.iter().map(|e| e.0).collect();
    Job {
        number: 7,
        refinements: Vec::new(),
        path,
        then,
        any_order: false,
        order,
        limits: PLENTY,
        handed: None,
    }
}

/// Does jobs one after the other, and returns the states that were expanded, unpacked and without monitors.
struct Do<'a, F> {
    prepared: &'a Prepared,
    guide: Arc<Guide>,
    with: F,
}

type Doer<'w> = &'w mut dyn FnMut(&Job) -> (Feedback, BTreeSet<Vec<Local>>);

impl<F: FnMut(Doer)> Visitor for Do<'_, F> {
    type Out = ();

    fn visit<S: Successors + Send + Sync + 'static>(mut self, system: Arc<S>) {
        let system = &*system;
        let net = self.prepared.net();
        let setting = Setting { system, net, guide: self.guide.clone(), relevance: None };
        let mut worker = Worker::new(setting);
        (self.with)(&mut |job| {
            let mut seen = BTreeSet::new();
            let feedback = worker.observed(job, &Life::default(), &mut |state| {
                let mut locals = system.packing().unpack(state);
                locals.truncate(net.leaves.len());
                seen.insert(locals);
            });
            (feedback, seen)
        });
    }
}

fn with_jobs(prepared: &Prepared, guide: &Guide, with: impl FnMut(Doer)) {
    prepared.visit(Do { prepared, guide: Arc::new(guide.clone()), with }).unwrap();
}

fn reachable(net: &Network) -> BTreeSet<Vec<Local>> {
    let (mut seen, mut queue) = (BTreeSet::from([net.initial()]), vec![net.initial()]);
    let mut steps = Vec::new();
    while let Some(state) = queue.pop() {
        net.successors(&state, &mut steps);
        for step in &steps {
            let fault = matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_));
            if !fault && seen.insert(step.target.clone()) {
                queue.push(step.target.clone());
            }
        }
    }
    seen
}

/// The states that a search along a path should visit if the subsystem then stops, and the edges possible at each position,
/// computed naively.
fn naive(net: &Network, guide: &Guide, path: &[EdgeIx]) -> (BTreeSet<Vec<Local>>, Vec<BTreeSet<u32>>) {
    let mut seen = BTreeSet::from([(0, net.initial())]);
    let mut queue = vec![(0, net.initial())];
    let mut possible = BTreeMap::<usize, BTreeSet<u32>>::new();
    let mut steps = Vec::new();
    while let Some((position, state)) = queue.pop() {
        let here = possible.entry(position).or_default();
        let at = guide.end(&path[..position]);
        net.successors(&state, &mut steps);
        for step in &steps {
            if matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_)) {
                continue;
            }
            let local = |s: &[Local]| guide.leaves().iter().map(|l| s[l.0 as usize]).collect::<Vec<_>>();
            let mut to = Some(position);
            if local(&state) != local(&step.target) {
                let edge = guide.edges_of(at).find(|&e| {
                    let edge = guide.edge(EdgeIx(e));
                    Some(edge.projection) == guide.projection(step.vector)
                        && guide.locals(edge.target) == local(&step.target)
                });
                here.extend(edge);
                to = edge.filter(|&e| path.get(position) == Some(&EdgeIx(e))).map(|_| position + 1);
            }
            if let Some(to) = to
                && seen.insert((to, step.target.clone()))
            {
                queue.push((to, step.target.clone()));
            }
        }
    }
    (seen.into_iter().map(|(_, s)| s).collect(), possible.into_values().collect())
}

fn traces(guide: &Guide) -> Option<Vec<Vec<EdgeIx>>> {
    let count = u32::try_from(guide.traces()).ok().filter(|&n| n <= 60)?;
    Some((0..count).map(|id| guide.trace(&id.into()).unwrap()).collect())
}

fn some_leaves(net: &Network, rng: &mut Rng) -> Vec<LeafIx> {
    (0..rng.between(1, 2)).map(|_| LeafIx(rng.below(net.leaves.len()) as u32)).collect()
}

#[test]
fn a_guided_search_sees_what_a_naive_one_sees() {
    let mut compared = 0;
    for seed in 0..400 {
        let net = Shape { acyclic: seed % 3 != 0, faults: 20, ..Shape::default() }.network(seed);
        let chosen = some_leaves(&net, &mut Rng::new(seed));
        let guide = Subsystem::new(&net, &chosen, LIMIT).unwrap().unrolled(1, LIMIT).unwrap();
        let Some(traces) = traces(&guide) else { continue };
        with_jobs(&Prepared::new(net.clone(), []), &guide, |run| {
            for path in &traces {
                let (seen, possible) = naive(&net, &guide, path);
                for order in [Order::BreadthFirst, Order::DepthFirst] {
                    let (feedback, visited) = run(&job(path, Then::Stop, order));
                    if let JobEnd::Found(finding) = &feedback.end {
                        assert!(matches!(finding.what, crate::job::What::Fault(_)), "seed {seed}");
                        continue;
                    }
                    compared += 1;
                    assert_eq!(feedback.end, JobEnd::Complete);
                    assert_eq!(visited, seen, "seed {seed}, {order:?}");
                    let reported: Vec<BTreeSet<u32>> =
                        feedback.possible.iter().map(|p| p.iter().copied().collect()).collect();
                    assert_eq!(reported, possible, "seed {seed}, {order:?}");
                    let cut = possible.iter().flatten().any(|&e| guide.edge(EdgeIx(e)).cut);
                    assert_eq!(feedback.bounded, cut, "seed {seed}");
                }
            }
        });
    }
    assert!(compared > 1_000, "{compared}");
}

/// All traces together visit all states, unless bounded; and so do, for any depth, all prefixes of that depth with free
/// moves behind.
#[test]
fn together_searches_are_exhaustive() {
    let mut bounded_swarms = 0;
    for seed in 0..300 {
        let net = Shape { acyclic: seed % 3 != 0, ..Shape::default() }.network(seed);
        let chosen = some_leaves(&net, &mut Rng::new(seed));
        let guide = Subsystem::new(&net, &chosen, LIMIT).unwrap().unrolled(1, LIMIT).unwrap();
        let Some(traces) = traces(&guide) else { continue };
        let all = reachable(&net);
        with_jobs(&Prepared::new(net.clone(), []), &guide, |run| {
            let (mut union, mut bounded) = (BTreeSet::new(), false);
            for path in &traces {
                let (feedback, seen) = run(&job(path, Then::Stop, Order::BreadthFirst));
                bounded |= feedback.bounded;
                union.extend(seen);
            }
            assert!(union.is_subset(&all));
            assert!(bounded || union == all, "seed {seed}");
            bounded_swarms += u32::from(bounded);
            for depth in 0..4 {
                for order in [Order::BreadthFirst, Order::DepthFirst] {
                    let prefixes: BTreeSet<&[EdgeIx]> =
                        traces.iter().map(|p| &p[..p.len().min(depth)]).collect();
                    let (mut union, mut bounded) = (BTreeSet::new(), false);
                    for prefix in prefixes {
                        let (feedback, seen) = run(&job(prefix, Then::Free, order));
                        bounded |= feedback.bounded;
                        union.extend(seen);
                    }
                    assert!(union.is_subset(&all));
                    assert!(!bounded || (guide.is_bounded() && depth > 0), "seed {seed}, depth {depth}");
                    assert!(bounded || union == all, "seed {seed}, depth {depth}, {order:?}");
                }
            }
        });
    }
    assert!(bounded_swarms > 20, "{bounded_swarms}");
}

/// The traces of a finer guide cover what its one trace covers, whether they are followed to the end or freely.
#[test]
fn a_finer_guide_covers_its_trace() {
    let mut finer = 0;
    for seed in 0..300 {
        let net = Shape { acyclic: seed % 4 != 0, ..Shape::default() }.network(seed);
        let guide = Subsystem::new(&net, &[LeafIx(0)], LIMIT).unwrap().unrolled(1, LIMIT).unwrap();
        let Some(some) = traces(&guide) else { continue };
        with_jobs(&Prepared::new(net.clone(), []), &guide, |run| {
            for path in some.iter().take(4) {
                let (coarse, seen) = run(&job(path, Then::Stop, Order::BreadthFirst));
                for leaf in 1..net.leaves.len() as u32 {
                    let Ok(fine) = guide.refine(&net, path, LeafIx(leaf), LIMIT) else { continue };
                    let Some(traces) = traces(&fine) else { continue };
                    finer += usize::from(traces.len() > 1);
                    let refinements = vec![Refinement { path: path.iter().map(|e| e.0).collect(), leaf }];
                    for (then, depth) in
                        [(Then::Stop, usize::MAX), (Then::Free, 0), (Then::Free, 1), (Then::Free, 3)]
                    {
                        for order in [Order::BreadthFirst, Order::DepthFirst] {
                            let prefixes: BTreeSet<&[EdgeIx]> =
                                traces.iter().map(|p| &p[..p.len().min(depth)]).collect();
                            let (mut union, mut bounded) = (BTreeSet::new(), false);
                            for prefix in prefixes {
                                let job =
                                    Job { refinements: refinements.clone(), ..job(prefix, then, order) };
                                let (feedback, seen) = run(&job);
                                assert_eq!(feedback.end, JobEnd::Complete);
                                bounded |= feedback.bounded;
                                union.extend(seen);
                            }
                            assert_eq!(union, seen, "seed {seed}, {then:?}, {depth}, {order:?}");
                            assert_eq!(bounded, coarse.bounded, "seed {seed}");
                        }
                    }
                }
            }
        });
    }
    assert!(finer > 100, "{finer}");
}

fn properties(net: &Network, rng: &mut Rng) -> Vec<Property> {
    let forbidden = rng.below(net.vectors.len()) as u32;
    let monitor = random::monitor("m", rng);
    match rng.below(4) {
        0 => vec![Property::DeadlockFree { allow_termination: false }],
        1 => vec![Property::Never(Box::new(move |_, v| v.0 == forbidden))],
        2 => vec![Property::Monitor(monitor)],
        _ => vec![Property::Monitor(monitor), Property::DeadlockFree { allow_termination: false }],
    }
}

/// A swarm finds a violation if and only if there is one, and the way to it replays, also when it is rebuilt position
/// by position.
#[test]
fn violations_are_found_and_replay() {
    let (mut violated, mut held) = (0, 0);
    for seed in 0..600 {
        let net = Shape { acyclic: seed % 3 != 0, faults: 15, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let properties = properties(&net, rng);
        let chosen = some_leaves(&net, rng);
        let guide = Subsystem::new(&net, &chosen, LIMIT).unwrap().unrolled(1, LIMIT).unwrap();
        let Some(traces) = traces(&guide) else { continue };
        let prepared = Prepared::new(net.clone(), properties);
        if prepared.violated_initially().is_some() {
            continue;
        }
        let expected = plain::check(&net, prepared.properties(), &plain::Options::default()).unwrap().verdict;
        let order = if rng.percent(50) { Order::BreadthFirst } else { Order::DepthFirst };
        with_jobs(&prepared, &guide, |run| {
            let mut found = None;
            for path in &traces {
                let depth = rng.below(path.len() + 1);
                let (feedback, _) = run(&job(&path[..depth], Then::Free, order));
                if let JobEnd::Found(finding) = feedback.end {
                    found = Some(finding);
                    break;
                }
            }
            match (&expected, found) {
                (Verdict::Holds, None) => held += 1,
                (_, None) if guide.is_bounded() => {}
                (Verdict::Violated { .. } | Verdict::Faulty { .. }, Some(finding)) => {
                    violated += 1;
                    let path: Vec<_> = finding
                        .path
                        .iter()
                        .map(|(v, target)| (gridlock_lts::model::network::VectorIx(*v), target.clone()))
                        .collect();
                    prepared.verdict(finding.what, &path).unwrap();
                }
                (expected, found) => panic!("seed {seed}: {expected:?}, {found:?}"),
            }
        });
    }
    assert!(violated > 100 && held > 50, "{violated} {held}");
}

#[test]
fn both_ways_to_rebuild_agree() {
    struct Rebuild<'a> {
        guide: &'a Guide,
        path: &'a [EdgeIx],
    }
    impl Visitor for Rebuild<'_> {
        type Out = bool;

        fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> bool {
            let system = &*system;
            let Rebuild { guide, path } = self;
            let job = job(path, Then::Free, Order::BreadthFirst);
            let life = Life::default();
            let irrelevant = &Irrelevant::default();
            let (anywhere, job, life) = (true, &job, &life);
            let search = GuidedSearch { system, guide, path, anywhere, irrelevant, job, life, helpers: None };
            let budget = Budget::new(1 << 30);
            let (_, found) = breadth::run(&search, &budget, &mut |_| {}).unwrap();
            let Some(found) = found else { return false };
            let [all, one] = [true, false].map(|all| way::steps_to(&search, found.at, &budget, all).unwrap());
            assert_eq!(all, one);
            true
        }
    }
    let mut rebuilt = 0;
    for seed in 0..200 {
        let net = Shape { acyclic: true, ..Shape::default() }.network(seed);
        let guide = Subsystem::new(&net, &[LeafIx(0)], LIMIT).unwrap().guide(&net).unwrap();
        let path = guide.trace(&(guide.traces() - 1u32)).unwrap();
        let prepared = Prepared::new(net.clone(), [Property::DeadlockFree { allow_termination: false }]);
        let path = &path[..path.len() / 2];
        rebuilt += u32::from(prepared.visit(Rebuild { guide: &guide, path }).unwrap());
    }
    assert!(rebuilt > 100, "{rebuilt}");
}

/// What a search over its budget reports is right as far as it goes.
#[test]
fn a_search_over_its_budget_reports_complete_positions_only() {
    let mut over = 0;
    for seed in 0..300 {
        let net = Shape { acyclic: true, ..Shape::default() }.network(seed);
        let guide = Subsystem::new(&net, &[LeafIx(0)], LIMIT).unwrap().guide(&net).unwrap();
        let path = guide.trace(&(guide.traces() / 3u32)).unwrap();
        with_jobs(&Prepared::new(net.clone(), []), &guide, |run| {
            let (complete, _) = run(&job(&path, Then::Free, Order::BreadthFirst));
            let step = (complete.effort.states / 20).max(1) as usize;
            for states in (0..complete.effort.states).step_by(step) {
                let limits = JobLimits { states, ..PLENTY };
                let (feedback, seen) = run(&Job { limits, ..job(&path, Then::Free, Order::BreadthFirst) });
                assert_eq!(feedback.end, JobEnd::OverBudget);
                assert!(complete.possible.starts_with(&feedback.possible));
                assert!(seen.len() as u64 <= states + 1);
                over += 1;
            }
            let limits = JobLimits { memory: 300, ..PLENTY };
            let (feedback, _) = run(&Job { limits, ..job(&path, Then::Free, Order::BreadthFirst) });
            assert!(feedback.effort.memory <= 300);
        });
    }
    assert!(over > 500, "{over}");
}

#[test]
fn senseless_jobs_fail() {
    let net = Shape { acyclic: true, ..Shape::default() }.network(3);
    let guide = Subsystem::new(&net, &[LeafIx(0)], LIMIT).unwrap().guide(&net).unwrap();
    with_jobs(&Prepared::new(net.clone(), []), &guide, |run| {
        let failed = |feedback: &Feedback| matches!(feedback.end, JobEnd::Failed(_));
        assert!(failed(&run(&job(&[EdgeIx(u32::MAX)], Then::Stop, Order::BreadthFirst)).0));
        for leaf in [0, 1_000] {
            let refinements = vec![Refinement { path: Vec::new(), leaf }];
            assert!(failed(&run(&Job { refinements, ..job(&[], Then::Stop, Order::BreadthFirst) }).0));
        }
    });
}

/// A search in any order sees what searches along all orders see, each position once, and what is possible there; what it
/// finds replays.
#[test]
fn any_order_is_all_orders() {
    let (mut compared, mut several, mut found) = (0, 0, 0);
    for seed in 0..500 {
        let net = Shape { acyclic: true, leaves: 5, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let chosen: Vec<LeafIx> =
            (0..rng.between(2, 3)).map(|_| LeafIx(rng.below(net.leaves.len()) as u32)).collect();
        let guide = Subsystem::new(&net, &chosen, LIMIT).unwrap().guide(&net).unwrap();
        let Some(traces) = traces(&guide) else { continue };
        let orders = Orders::of(&guide, LIMIT).unwrap();
        let mut classes: BTreeMap<Vec<EdgeIx>, Vec<&Vec<EdgeIx>>> = BTreeMap::new();
        for path in &traces {
            classes.entry(orders.representative(path).unwrap()).or_default().push(path);
        }
        let properties = if seed % 2 == 0 { Vec::new() } else { properties(&net, rng) };
        let prepared = Prepared::new(net.clone(), properties);
        if prepared.violated_initially().is_some() {
            continue;
        }
        with_jobs(&prepared, &guide, |run| {
            for paths in classes.values() {
                // Any order may be given.
                let given = paths[rng.below(paths.len())];
                let any = Job { any_order: true, ..job(given, Then::Stop, Order::BreadthFirst) };
                let (feedback, seen) = run(&any);
                let (mut union, mut possible) = (BTreeSet::new(), BTreeMap::<Vec<u32>, BTreeSet<u32>>::new());
                let mut bad = false;
                for path in paths {
                    let (one, seen) = run(&job(path, Then::Stop, Order::BreadthFirst));
                    bad |= matches!(one.end, JobEnd::Found(_));
                    union.extend(seen);
                    let mut done = vec![0; guide.leaves().len()];
                    for (position, edges) in one.possible.iter().enumerate() {
                        possible.entry(done.clone()).or_default().extend(edges);
                        let Some(edge) = path.get(position) else { break };
                        guide.parts(guide.edge(*edge).projection).for_each(|leaf| done[leaf] += 1);
                    }
                }
                if let JobEnd::Found(finding) = &feedback.end {
                    assert!(bad, "seed {seed}");
                    let vector = gridlock_lts::model::network::VectorIx;
                    let path: Vec<_> = finding.path.iter().map(|(v, to)| (vector(*v), to.clone())).collect();
                    prepared.verdict(finding.what, &path).unwrap();
                    found += 1;
                    continue;
                }
                assert!(!bad && feedback.end == JobEnd::Complete, "seed {seed}: {:?}", feedback.end);
                assert_eq!(seen, union, "seed {seed}");
                let reported: BTreeMap<Vec<u32>, BTreeSet<u32>> = feedback
                    .positions
                    .iter()
                    .map(|position| (position.done.clone(), position.possible.iter().copied().collect()))
                    .collect();
                assert_eq!(reported.len(), feedback.positions.len(), "each position once");
                assert_eq!(reported, possible, "seed {seed}");
                compared += 1;
                several += usize::from(paths.len() > 1);
                // Too small a budget is told, and what is not through says nothing.
                let limits = JobLimits { states: feedback.effort.states - 1, ..PLENTY };
                let (less, _) = run(&Job { limits, ..any });
                assert_eq!((less.end, less.positions), (JobEnd::OverBudget, Vec::new()));
            }
        });
    }
    assert!(compared > 200 && several > 40 && found > 20, "{compared} {several} {found}");
}
