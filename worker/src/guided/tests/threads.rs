//! Jobs on several threads against the same jobs on one: the same feedback, and the same states in the same order.

use super::*;
use crate::guided::mutants::{self, Mutant};
use crate::job::{Border, Handed};
use gridlock_lts::guide::StateIx;
use num_bigint::BigUint;

/// A feedback without its time.
fn timeless(mut feedback: Feedback) -> Feedback {
    feedback.effort.nanoseconds = 0;
    feedback
}

type Told = (Feedback, Vec<Vec<u64>>);

/// Does the same jobs with different numbers of threads.
struct Compare<'a, F> {
    prepared: &'a Prepared,
    guide: Arc<Guide>,
    threads: &'a [usize],
    with: F,
}

impl<F: FnMut(&mut dyn FnMut(&Job) -> Vec<Told>)> Visitor for Compare<'_, F> {
    type Out = ();

    fn visit<S: Successors + Send + Sync + 'static>(mut self, system: Arc<S>) {
        let net = self.prepared.net();
        let setting = Setting { system: &*system, net, guide: self.guide.clone(), relevance: None };
        let worker = |&threads: &usize| Worker::new(setting.clone()).with_threads(threads);
        let mut workers: Vec<_> = self.threads.iter().map(worker).collect();
        (self.with)(&mut |job| {
            let told = |worker: &mut Worker<S>| {
                let mut order = Vec::new();
                let feedback =
                    worker.observed(job, &Life::default(), &mut |state| order.push(state.to_vec()));
                (timeless(feedback), order)
            };
            workers.iter_mut().map(told).collect()
        });
    }
}

/// The answer to a job, which is the same with every number of threads.
fn same(run: &mut dyn FnMut(&Job) -> Vec<Told>, job: &Job, what: &str) -> Feedback {
    let mut told = run(job).into_iter();
    let alone = told.next().expect("one thread");
    for several in told {
        assert_eq!(several, alone, "{what}: {job:?}");
    }
    alone.0
}

/// What a job leaves, as what the next one begins with; some places are shared.
fn handed_on(guide: &Guide, left: &[Border], rng: &mut Rng) -> Handed {
    let place = |start: &Border| start.path.last().map_or(StateIx(0), |&e| guide.edge(EdgeIx(e)).target);
    let starts: Vec<Border> = left.iter().filter(|_| rng.percent(70)).cloned().collect();
    let mine: BTreeSet<u32> = starts.iter().map(|start| place(start).0).collect();
    let places = 0..guide.states() as u32;
    Handed { shared: places.filter(|p| !mine.contains(p) && rng.percent(15)).collect(), starts }
}

/// The number of networks: from an environment variable, or the usual one.
fn networks(usual: u64) -> u64 {
    std::env::var("GRIDLOCK_JOB_WORKERS_NETWORKS").map_or(usual, |n| n.parse().expect("a number"))
}

#[test]
fn threads_do_what_one_does() {
    let (mut cut, mut complete, mut found, mut handed, mut behind) = (0, 0, 0, 0, 0);
    for seed in 0..networks(60) {
        let rng = &mut Rng::new(seed);
        let leaves = rng.between(4, 6);
        let net = Shape { acyclic: seed % 3 != 0, leaves, faults: 5, ..Shape::default() }.network(seed);
        let asked = if seed % 2 == 0 { Vec::new() } else { properties(&net, rng) };
        let chosen = some_leaves(&net, rng);
        let Ok(guide) = Subsystem::new(&net, &chosen, LIMIT).unwrap().unrolled(1, LIMIT) else { continue };
        let prepared = Prepared::new(net.clone(), asked);
        if prepared.violated_initially().is_some() || guide.traces() > &1_000_000u32.into() {
            continue;
        }
        let with = |run: &mut dyn FnMut(&Job) -> Vec<Told>| {
            let ids = [BigUint::ZERO, guide.traces() / 2u32, guide.traces() - 1u32];
            for id in ids {
                let path = guide.trace(&id).unwrap();
                for depth in [0, 1, path.len() / 2, path.len()] {
                    let path = &path[..depth.min(path.len())];
                    for then in [Then::Stop, Then::Free] {
                        let mut job = job(path, then, Order::BreadthFirst);
                        let whole = same(run, &job, "whole");
                        complete += u32::from(whole.end == JobEnd::Complete);
                        found += u32::from(matches!(whole.end, JobEnd::Found(_)));
                        behind += u32::from(then == Then::Free && depth > 0);
                        for _ in 0..4 {
                            job.limits.states = rng.below(whole.effort.states as usize + 1) as u64;
                            cut += u32::from(same(run, &job, "states").end == JobEnd::OverBudget);
                            job.limits = JobLimits {
                                memory: rng.below(whole.effort.memory as usize + 1) as u64,
                                ..PLENTY
                            };
                            cut += u32::from(same(run, &job, "memory").end == JobEnd::OverBudget);
                            job.limits = PLENTY;
                        }
                    }
                }
            }
            // Jobs that hand on what they leave, one after the other.
            let mut start = Handed::default();
            for round in 0..12 {
                let mut job =
                    Job { handed: Some(start.clone()), ..job(&[], Then::Free, Order::BreadthFirst) };
                let whole = same(run, &job, "handed");
                handed += u32::from(round > 0 && !start.starts.is_empty());
                found += u32::from(matches!(whole.end, JobEnd::Found(_)));
                job.limits.memory = rng.below(2 * whole.effort.memory as usize + 1) as u64;
                cut += u32::from(same(run, &job, "handed, memory").end == JobEnd::OverBudget);
                job.limits =
                    JobLimits { states: rng.below(whole.effort.states as usize + 2) as u64, ..PLENTY };
                let part = same(run, &job, "handed, states");
                cut += u32::from(part.end == JobEnd::OverBudget);
                start = handed_on(&guide, &part.left.border, rng);
            }
        };
        let guide = Arc::new(guide.clone());
        prepared.visit(Compare { prepared: &prepared, guide, threads: &[1, 2, 8], with }).unwrap();
    }
    assert!(complete > 100 && found > 20 && cut > 800, "{complete} {found} {cut}");
    assert!(handed > 50 && behind > 80, "{handed} {behind}");
}

/// Guides of single traces, where states behind the path come with their places.
#[test]
fn threads_follow_finer_guides() {
    let mut finer = 0;
    for seed in 0..networks(60) {
        let net = Shape { acyclic: seed % 4 != 0, leaves: 5, ..Shape::default() }.network(seed);
        let guide = Subsystem::new(&net, &[LeafIx(0)], LIMIT).unwrap().unrolled(1, LIMIT).unwrap();
        let path = guide.trace(&(guide.traces() / 2u32)).unwrap();
        let with = |run: &mut dyn FnMut(&Job) -> Vec<Told>| {
            for leaf in 1..net.leaves.len() as u32 {
                let Ok(fine) = guide.refine(&net, &path, LeafIx(leaf), LIMIT) else { continue };
                let last = fine.trace(&(fine.traces() - 1u32)).unwrap();
                let refinements = vec![Refinement { path: path.iter().map(|e| e.0).collect(), leaf }];
                for depth in [0, 1, last.len()] {
                    let prefix = &last[..depth.min(last.len())];
                    let job = Job {
                        refinements: refinements.clone(),
                        ..job(prefix, Then::Free, Order::BreadthFirst)
                    };
                    let whole = same(run, &job, "finer");
                    finer += u32::from(whole.effort.states > 20);
                    let limits = JobLimits { states: whole.effort.states / 2, ..PLENTY };
                    same(run, &Job { limits, ..job }, "finer, states");
                }
            }
        };
        let prepared = Prepared::new(net.clone(), []);
        let guide = Arc::new(guide.clone());
        prepared.visit(Compare { prepared: &prepared, guide, threads: &[1, 2, 8], with }).unwrap();
    }
    assert!(finer > 50, "{finer}");
}

/// If the threads of a job took states in another order, lost one of their steps or let the limit fall elsewhere, the
/// comparison would notice.
#[test]
fn what_threads_might_do_wrong_is_noticed() {
    for mutant in [Mutant::Order, Mutant::Loss, Mutant::Limit] {
        let mut noticed = 0;
        for seed in 0..40 {
            let net = Shape { acyclic: true, leaves: 5, ..Shape::default() }.network(seed);
            let guide = Subsystem::new(&net, &[LeafIx(0)], LIMIT).unwrap().guide(&net).unwrap();
            let with = |run: &mut dyn FnMut(&Job) -> Vec<Told>| {
                for handed in [None, Some(Handed::default())] {
                    let mut job = Job { handed, ..job(&[], Then::Free, Order::BreadthFirst) };
                    let whole = same(run, &job, "whole");
                    job.limits.states = whole.effort.states * 2 / 3;
                    let told = mutants::with(mutant, || run(&job));
                    noticed += u32::from(told[0] != told[1]);
                }
            };
            let prepared = Prepared::new(net.clone(), []);
            let guide = Arc::new(guide.clone());
            prepared.visit(Compare { prepared: &prepared, guide, threads: &[1, 2], with }).unwrap();
        }
        assert!(noticed > 20, "{mutant:?}: {noticed}");
    }
}

/// A job that is cancelled says so, also while threads help.
#[test]
fn threads_hear_that_a_job_is_cancelled() {
    struct Cancelled(Arc<Guide>, Prepared);

    impl Visitor for &Cancelled {
        type Out = ();

        fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) {
            let Cancelled(guide, prepared) = self;
            let setting =
                Setting { system: &*system, net: prepared.net(), guide: guide.clone(), relevance: None };
            let mut worker = Worker::new(setting).with_threads(3);
            let job = Job { handed: Some(Handed::default()), ..job(&[], Then::Free, Order::BreadthFirst) };
            let (life, mut seen) = (Life::default(), 0);
            let signs = {
                let whole = worker.run(&job, &life);
                assert!(whole.end == JobEnd::Complete && whole.effort.states > 500, "{whole:?}");
                life.signs()
            };
            assert!(signs > 20, "each block is a sign of life: {signs}");
            let feedback = worker.observed(&job, &life, &mut |_| {
                seen += 1;
                if seen == 20 {
                    life.cancel();
                }
            });
            assert_eq!(feedback.end, JobEnd::Interrupted);
        }
    }
    let shape = Shape { acyclic: true, ..Shape::default() };
    let net = (0..).map(|seed| shape.network(seed)).find(|net| reachable(net).len() > 1_000).expect("one");
    let guide = Subsystem::new(&net, &[LeafIx(0)], LIMIT).unwrap().guide(&net).unwrap();
    let prepared = Prepared::new(net, []);
    let cancelled = Cancelled(Arc::new(guide), prepared);
    cancelled.1.visit(&cancelled).unwrap();
}
