//! The searches of a hunt against naive ones on random networks.

use super::job::*;
use super::*;
use crate::job::{Job, JobLimits, Order, Then, What};
use crate::life::Life;
use crate::sketch;
use gridlock_lts::engine::pack::Packing;
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::search::{self as plain, Verdict};
use gridlock_lts::engine::successors::{Steps, Via};
use gridlock_lts::guide::Subsystem;
use gridlock_lts::model::network::{LeafIx, Local, Outcome, Step, VectorIx};
use gridlock_lts::property::Finding as Marked;
use gridlock_lts::property::{DeadEnd, Property};
use gridlock_lts::samples::random::{self, Shape};
use gridlock_lts::samples::synthetic;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

mod live;
mod prefix;
mod told;
mod walks;

const PLENTY: HuntLimits = HuntLimits { states: 3_000, memory: 1 << 26, findings: 1_000, shorten: 0 };

/// A system that remembers what was expanded.
struct Recording<'a, S> {
    inner: &'a S,
    expanded: Mutex<Vec<Vec<u64>>>,
}

impl<S: Successors> Successors for Recording<'_, S> {
    type Width = S::Width;

    fn width(&self) -> S::Width {
        self.inner.width()
    }

    fn packing(&self) -> &Packing {
        self.inner.packing()
    }

    fn initial(&self) -> Vec<u64> {
        self.inner.initial()
    }

    fn expand(&self, state: &[u64], out: &mut Steps) -> Result<()> {
        self.expanded.lock().unwrap().push(state.to_vec());
        self.inner.expand(state, out)
    }

    fn dead_end(&self, state: &[u64]) -> DeadEnd {
        self.inner.dead_end(state)
    }

    fn finding(&self, target: &[u64], via: Via) -> Option<Marked> {
        self.inner.finding(target, via)
    }

    fn findings(&self, source: &[u64], target: &[u64], via: Via, found: &mut Vec<Marked>) {
        self.inner.findings(source, target, via, found);
    }

    fn table_bytes(&self) -> u64 {
        self.inner.table_bytes()
    }
}

/// The feedback to a job, and the states that were expanded for it, one after the other.
type Doer<'w> = &'w mut dyn FnMut(&HuntJob) -> (HuntFeedback, Vec<Vec<u64>>);

struct Do<'a, F> {
    prepared: &'a Prepared,
    guide: Option<Arc<Guide>>,
    with: F,
}

impl<F: FnMut(Doer)> Visitor for Do<'_, F> {
    type Out = ();

    fn visit<S: Successors + Send + Sync + 'static>(mut self, system: Arc<S>) {
        let system = &*system;
        let system = &Recording { inner: system, expanded: Mutex::default() };
        let net = self.prepared.net();
        let (guide, shared) = (self.guide.clone(), Shared::new(system, net));
        let mut hunter = Hunter::new(Setting {
            system,
            net: net.into(),
            properties: self.prepared.properties(),
            guide,
            shared,
        });
        (self.with)(&mut |job| {
            let mut feedback = hunter.run(job, &Life::default());
            feedback.effort.nanoseconds = 0;
            if let Some(guided) = &mut feedback.guided {
                guided.effort.nanoseconds = 0;
            }
            (feedback, std::mem::take(&mut system.expanded.lock().unwrap()))
        });
    }
}

fn with_hunter(prepared: &Prepared, guide: Option<&Guide>, with: impl FnMut(Doer)) {
    let guide = guide.map(|guide| Arc::new(guide.clone()));
    prepared.visit(Do { prepared, guide, with }).unwrap();
}

fn job(method: Method, seed: u64) -> HuntJob {
    HuntJob { number: 9, seed, method, limits: PLENTY }
}

fn guided(order: Order, path: Vec<u32>) -> Method {
    let limits = JobLimits { states: 0, memory: 0 };
    Method::Guided(Job {
        number: 3,
        refinements: Vec::new(),
        path,
        then: Then::Free,
        any_order: false,
        order,
        limits,
        handed: None,
    })
}

/// Some of every method.
fn methods(net: &Network) -> Vec<Method> {
    let some = (0..net.vectors.len() as u32).step_by(3).collect();
    vec![
        Method::DepthFirst { depth: 1_000 },
        Method::DepthFirst { depth: 6 },
        Method::Prefix { path: Vec::new(), bound: 1_000, known: None },
        Method::Prefix { path: Vec::new(), bound: 5, known: None },
        Method::Bitstate { log2_bits: 20, hashes: 3, depth: 1_000 },
        Method::Bitstate { log2_bits: 8, hashes: 2, depth: 20 },
        Method::Walk { length: 50, weighted: false },
        Method::Walk { length: 50, weighted: true },
        Method::Levels { width: 1_000, keep: Keep::Random },
        Method::Levels { width: 5, keep: Keep::Random },
        Method::Levels { width: 3, keep: Keep::Preferred(some) },
        Method::Levels { width: 4, keep: Keep::Rare },
        Method::Aimed { width: 4, patience: 5 },
        Method::Aimed { width: 200, patience: 50 },
        guided(Order::BreadthFirst, Vec::new()),
        guided(Order::DepthFirst, Vec::new()),
    ]
}

fn is_fault(net: &Network, step: &Step) -> bool {
    matches!(net.vectors[step.vector.0 as usize].outcome, Outcome::Fault(_))
}

/// All states of the network that is searched, with the distance of each from the initial one, and its steps but faults.
fn reachable(net: &Network) -> BTreeMap<Vec<Local>, usize> {
    let mut seen = BTreeMap::from([(net.initial(), 0)]);
    let (mut queue, mut steps) = (vec![net.initial()], Vec::new());
    let mut k = 0;
    while k < queue.len() {
        let distance = seen[&queue[k]];
        net.successors(&queue[k].clone(), &mut steps);
        for step in steps.drain(..).filter(|step| !is_fault(net, step)) {
            if !seen.contains_key(&step.target) {
                seen.insert(step.target.clone(), distance + 1);
                queue.push(step.target);
            }
        }
        k += 1;
    }
    seen
}

fn packed(set: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut words = Vec::new();
    for bit in set {
        words.resize(words.len().max(bit / 64 + 1), 0);
        words[bit / 64] |= 1 << (bit % 64);
    }
    words
}

/// The coverage of some states, computed from the tables of the network alone.
fn naive_coverage(net: &Network, expanded: &BTreeSet<Vec<Local>>) -> (Vec<Vec<u64>>, Vec<Vec<u64>>) {
    let mut locals = vec![BTreeSet::new(); net.leaves.len()];
    let mut moves = vec![BTreeSet::new(); net.leaves.len()];
    let mut steps = Vec::new();
    for state in expanded {
        let state = &state[..net.leaves.len()];
        for (seen, local) in locals.iter_mut().zip(state) {
            seen.insert(local.0 as usize);
        }
        net.successors(state, &mut steps);
        for step in &steps {
            for &(leaf, label) in &net.vectors[step.vector.0 as usize].parts {
                let (l, from) = (leaf.0 as usize, state[leaf.0 as usize].0 as usize);
                let tables = &net.leaves[l].states;
                let before: usize = tables[..from].iter().map(|t| t.moves.len()).sum();
                let this = tables[from].moves.iter().position(|m| *m == (label, step.target[l]));
                moves[l].insert(before + this.expect("the leaf has this transition"));
            }
        }
    }
    let all = |sets: Vec<BTreeSet<usize>>| sets.into_iter().map(|set| packed(set.into_iter())).collect();
    (all(locals), all(moves))
}

fn random_case(seed: u64) -> (Network, Vec<Property>) {
    let net = Shape { acyclic: seed.is_multiple_of(5), faults: 20, ..Shape::default() }.network(seed);
    let properties = random::properties(&net, seed);
    (net, properties)
}

fn some_guide(net: &Network, seed: u64) -> Option<Guide> {
    let leaf = LeafIx(Rng::new(seed).below(net.leaves.len()) as u32);
    Subsystem::new(net, &[leaf], 10_000).ok()?.unrolled(1, 10_000).ok()
}

/// The end of a finding's path is where its key says, every step is possible, and what it shows is a violation.
fn check_findings(prepared: &Prepared, feedback: &HuntFeedback, holds: &BTreeSet<usize>, at: &str) {
    let mut keys = BTreeSet::new();
    for HuntFinding { finding, found_steps, after_states, .. } in &feedback.findings {
        let path: Vec<_> = finding.path.iter().map(|(v, state)| (VectorIx(*v), state.clone())).collect();
        prepared.verdict(finding.what, &path).unwrap_or_else(|why| panic!("{at}: {why}"));
        assert!(*found_steps >= path.len() as u64 && *after_states <= feedback.effort.states, "{at}");
        let key = Key::of(prepared.net(), prepared.packing(), finding).expect("a key");
        assert!(keys.insert(key), "{at}: found twice");
        if let What::Deadlock(p) | What::Property(p) = finding.what {
            assert!(!holds.contains(&p), "{at}: property {p} holds");
        }
    }
}

fn holding(net: &Network, seed: u64) -> BTreeSet<usize> {
    let count = random::properties(net, seed).len();
    let holds = |p: &usize| {
        let one = random::properties(net, seed).into_iter().skip(*p).take(1).collect::<Vec<_>>();
        // A fault would end the search; without one the answer is about the property.
        plain::check(net, &one, &plain::Options::default()).unwrap().verdict == Verdict::Holds
    };
    (0..count).filter(holds).collect()
}

#[test]
fn findings_replay_and_what_holds_is_never_found() {
    let (mut found, mut held) = (0, 0);
    for seed in 0..80 {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net.clone(), properties);
        let (guide, holds) = (some_guide(&net, seed), holding(&net, seed));
        held += holds.len();
        with_hunter(&prepared, guide.as_ref(), |run| {
            for (k, method) in methods(&net).into_iter().enumerate() {
                let mut job = job(method, seed * 31 + k as u64);
                job.limits.shorten = 500 * (k as u64 % 3);
                let (feedback, _) = run(&job);
                found += feedback.findings.len();
                check_findings(&prepared, &feedback, &holds, &format!("seed {seed}, {job:?}"));
            }
        });
    }
    assert!(found > 500 && held > 25, "{found} findings, {held} properties hold");
}

#[test]
fn coverage_and_everything_are_exact() {
    let (mut everything, mut cut, mut compared) = (0, 0, 0);
    for seed in 0..120 {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net.clone(), properties);
        let all: BTreeSet<_> = reachable(prepared.network()).into_keys().collect();
        let guide = some_guide(&net, seed);
        with_hunter(&prepared, guide.as_ref(), |run| {
            for (k, method) in methods(&net).into_iter().enumerate() {
                let job = job(method, seed * 31 + k as u64);
                let at = format!("seed {seed}, {job:?}");
                let (feedback, expanded) = run(&job);
                if matches!(feedback.end, HuntEnd::Failed(_)) {
                    assert!(guide.is_none() && matches!(job.method, Method::Guided(_)), "{at}: {feedback:?}");
                    continue;
                }
                if matches!(job.method, Method::Guided(_)) && !feedback.findings.is_empty() {
                    // The way to the finding is found by a second search, which is not part of the record.
                    continue;
                }
                let times = expanded.len();
                let expanded: BTreeSet<_> = expanded.iter().map(|s| prepared.packing().unpack(s)).collect();
                let (locals, moves) = naive_coverage(&net, &expanded);
                assert_eq!(feedback.coverage.locals, locals, "{at}");
                assert_eq!(feedback.coverage.moves, moves, "{at}");
                let estimate = sketch::estimate(&feedback.coverage.sketch);
                let off = (estimate - expanded.len() as f64).abs();
                assert!(off <= 2.0 + 0.1 * expanded.len() as f64, "{at}: {estimate} for {}", expanded.len());
                assert!(expanded.is_subset(&all), "{at}");
                compared += 1;
                if !matches!(job.method, Method::Guided(_)) {
                    assert_eq!(feedback.effort.states, times as u64, "{at}");
                }
                match feedback.end {
                    HuntEnd::Everything => {
                        everything += 1;
                        assert_eq!(expanded, all, "{at}");
                    }
                    _ => cut += usize::from(expanded != all),
                }
                match &job.method {
                    Method::DepthFirst { depth: 1_000 } | Method::Levels { width: 1_000, .. }
                        if all.len() < 900 =>
                    {
                        assert_eq!(feedback.end, HuntEnd::Everything, "{at}");
                        assert_eq!(times, all.len(), "{at}: a state was expanded twice");
                    }
                    Method::Bitstate { log2_bits: 20, .. } if all.len() < 900 => {
                        assert_eq!(expanded, all, "{at}: unlikely to lose a state");
                        let coverage = &feedback.coverage;
                        assert!(coverage.bits_set <= 3 * all.len() as u64, "{at}");
                        // Every step leads to a state that is new or taken for visited, now or when its turn comes.
                        let new = all.len() as u64 - 1;
                        assert_eq!(coverage.taken_for_visited + new, feedback.effort.transitions, "{at}");
                    }
                    Method::Levels { width, .. } => {
                        assert!(feedback.effort.widest <= u64::from(*width), "{at}");
                    }
                    _ => {}
                }
            }
        });
    }
    assert!(everything > 150 && cut > 150 && compared > 1_000, "{everything}, {cut} of {compared}");
}

#[test]
fn the_same_job_gives_the_same_feedback() {
    for seed in 0..40 {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net.clone(), properties);
        let guide = some_guide(&net, seed);
        let mut answers: Vec<Vec<HuntFeedback>> = Vec::new();
        for turn in 0..2 {
            with_hunter(&prepared, guide.as_ref(), |run| {
                let mut methods: Vec<_> = methods(&net).into_iter().enumerate().collect();
                // Another order, so that what a hunter did before is seen not to matter.
                if turn == 1 {
                    methods.reverse();
                }
                let mut answered = Vec::new();
                for (k, method) in methods {
                    let mut job = job(method, seed + k as u64);
                    (job.limits.shorten, job.limits.findings) = (300, 3);
                    answered.push(run(&job).0);
                    assert_eq!(answered.last(), Some(&run(&job).0), "seed {seed}");
                }
                if turn == 1 {
                    answered.reverse();
                }
                answers.push(answered);
            });
        }
        assert_eq!(answers[0], answers[1], "seed {seed}");
    }
}

#[test]
fn limits_are_kept() {
    let mut over = 0;
    for seed in 0..40 {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net.clone(), properties);
        let guide = some_guide(&net, seed);
        with_hunter(&prepared, guide.as_ref(), |run| {
            for (k, method) in methods(&net).into_iter().enumerate() {
                for memory in [0, 1, 100, 700, 2_000, 10_000, 200_000] {
                    let mut job = job(method.clone(), seed);
                    job.limits = HuntLimits { states: 40, memory, findings: 2, shorten: 50 };
                    let (feedback, _) = run(&job);
                    let at = format!("seed {seed}, {job:?}: {feedback:?}");
                    assert!(feedback.effort.memory <= memory, "{at}");
                    assert!(feedback.effort.states <= 40 && feedback.findings.len() <= 2, "{at}");
                    assert!(feedback.shortening <= 100, "{at}");
                    over += usize::from(feedback.end == HuntEnd::OverBudget);
                    if let HuntEnd::Failed(why) = &feedback.end {
                        let small = why.to_string().contains("takes more than") || k >= 10;
                        assert!(small, "{at}");
                    }
                    check_findings(&prepared, &feedback, &BTreeSet::new(), &at);
                }
            }
        });
    }
    assert!(over > 1_000, "{over}");
}

#[test]
fn odd_jobs_fail_and_interrupted_ones_end() {
    let net = synthetic::philosophers(4);
    let properties = [Property::DeadlockFree { allow_termination: false }];
    let prepared = Prepared::new(net.clone(), properties);
    with_hunter(&prepared, None, |run| {
        let odd = [
            Method::Bitstate { log2_bits: 255, hashes: 1, depth: 1 },
            Method::Bitstate { log2_bits: 64, hashes: 1, depth: 1 },
            Method::Bitstate { log2_bits: 42, hashes: 1, depth: 1 },
            Method::Bitstate { log2_bits: 0, hashes: 1, depth: 1 },
            Method::Bitstate { log2_bits: 20, hashes: 0, depth: 1 },
            Method::Bitstate { log2_bits: 20, hashes: 255, depth: 1 },
            Method::Walk { length: 0, weighted: true },
            Method::Levels { width: 0, keep: Keep::Random },
            Method::Aimed { width: 0, patience: 1 },
            Method::Levels { width: 1, keep: Keep::Preferred(vec![2, 1]) },
            Method::Levels { width: 1, keep: Keep::Preferred(vec![1, u32::MAX]) },
            guided(Order::BreadthFirst, Vec::new()),
        ];
        for method in odd {
            let (feedback, _) = run(&job(method.clone(), 0));
            assert!(matches!(feedback.end, HuntEnd::Failed(_)), "{method:?}: {feedback:?}");
        }
        let nothing = HuntLimits { findings: 0, ..PLENTY };
        let (feedback, _) = run(&HuntJob { limits: nothing, ..job(Method::DepthFirst { depth: 3 }, 0) });
        assert!(matches!(feedback.end, HuntEnd::Failed(_)));
        let (feedback, _) = run(&job(Method::DepthFirst { depth: 0 }, 0));
        assert_eq!((feedback.end, feedback.effort.states), (HuntEnd::Complete, 1));
    });
    let guide = some_guide(&net, 0).unwrap();
    with_hunter(&prepared, Some(&guide), |run| {
        let (feedback, _) = run(&job(guided(Order::DepthFirst, vec![7, 7, 7, u32::MAX]), 0));
        assert!(matches!(feedback.end, HuntEnd::Failed(_)));
    });
    struct Cancelled<'a>(&'a Network);
    impl Visitor for Cancelled<'_> {
        type Out = ();
        fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) {
            let system = &*system;
            let shared = Shared::new(system, self.0);
            let mut hunter =
                Hunter::new(Setting { system, net: self.0.into(), properties: &[], guide: None, shared });
            for method in methods(self.0).into_iter().filter(|m| !matches!(m, Method::Guided(_))) {
                let limits = HuntLimits { states: u64::MAX, ..PLENTY };
                let life = Life::default();
                life.cancel();
                let feedback = hunter.run(&HuntJob { limits, ..job(method, 1) }, &life);
                assert_eq!(feedback.end, HuntEnd::Interrupted);
            }
        }
    }
    prepared.visit(Cancelled(&net)).unwrap();
}

/// The least number of steps to a finding of each key, naively.
fn shortest(prepared: &Prepared) -> BTreeMap<Key, u64> {
    let (net, all) = (prepared.net(), reachable(prepared.network()));
    let mut least: BTreeMap<Key, u64> = BTreeMap::new();
    let mut steps = Vec::new();
    for (state, &distance) in &all {
        let mut add = |key: Key, length: usize| {
            let least = least.entry(key).or_insert(u64::MAX);
            *least = (*least).min(length as u64);
        };
        prepared.network().successors(state, &mut steps);
        let mut words = vec![0; prepared.packing().words()];
        prepared.packing().pack(state, &mut words);
        let asked = prepared.properties().iter().enumerate().find_map(|(p, property)| match property {
            Property::DeadlockFree { allow_termination } => Some((p, *allow_termination)),
            Property::Never(_) | Property::Monitor(_) | Property::Formula(_) => None,
        });
        let regular = |allowed: bool| allowed && net.is_terminated(state);
        if let Some((property, _)) = asked.filter(|(_, allowed)| steps.is_empty() && !regular(*allowed)) {
            add(Key::deadlock(net, prepared.packing(), property, &words), distance);
        }
        for step in &steps {
            let vector = &net.vectors[step.vector.0 as usize];
            if let Outcome::Fault(fault) = vector.outcome {
                add(Key::Fault(fault, vector.unhidden.0), distance + 1);
                continue;
            }
            let mut monitor_leaf = net.leaves.len();
            for (p, property) in prepared.properties().iter().enumerate() {
                let violated = match property {
                    Property::DeadlockFree { .. } => false,
                    Property::Never(forbidden) => forbidden(net, step.vector),
                    Property::Monitor(monitor) => {
                        monitor_leaf += 1;
                        let local = |s: &[Local]| monitor.is_bad(s[monitor_leaf - 1]);
                        local(&step.target) && !local(state)
                    }
                    Property::Formula(_) => false,
                };
                if violated {
                    add(Key::Step(p, vector.unhidden.0), distance + 1);
                }
            }
        }
    }
    least
}

#[test]
fn everything_finds_each_violation_and_plenty_of_shortening_makes_it_minimal() {
    let mut shortened = 0;
    for seed in 0..60 {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net.clone(), properties);
        let least = shortest(&prepared);
        with_hunter(&prepared, None, |run| {
            for method in [
                Method::DepthFirst { depth: 10_000 },
                Method::Levels { width: 10_000, keep: Keep::Rare },
                Method::Walk { length: 300, weighted: false },
            ] {
                let all = !matches!(method, Method::Walk { .. });
                let mut job = job(method, seed);
                job.limits = HuntLimits { states: 5_000, shorten: 30_000, ..PLENTY };
                let (feedback, _) = run(&job);
                let key = |f: &HuntFinding| Key::of(&net, prepared.packing(), &f.finding).unwrap();
                let length = |f: &HuntFinding| f.finding.path.len() as u64;
                let found: BTreeMap<Key, u64> =
                    feedback.findings.iter().map(|f| (key(f), length(f))).collect();
                shortened += feedback.findings.iter().filter(|f| f.found_steps > length(f)).count();
                if all {
                    assert_eq!(found, least, "seed {seed}, {job:?}");
                } else {
                    assert!(found.iter().all(|(key, length)| least[key] == *length), "seed {seed}");
                }
            }
        });
    }
    assert!(shortened > 50, "{shortened}");
}
