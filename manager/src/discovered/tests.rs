use super::*;
use crate::grid::machine::{Accepted, Machine, Next};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::search::{self, Options};
use gridlock_lts::model::network::Network;
use gridlock_lts::property::violated_initially;
use gridlock_lts::samples::random::{self, Shape};
use gridlock_worker::job::{Effort, JobLimits};

/// A network whose tables are hidden, a subsystem, properties and a configuration.
struct Case {
    seed: u64,
    full: Network,
    properties: Arc<[Property]>,
    leaves: Vec<LeafIx>,
    config: Config,
}

impl Case {
    fn new(seed: u64) -> Self {
        let rng = &mut Rng::new(seed ^ 0x6869_7665);
        let full = Shape { faults: 20, ..Shape::default() }.network(seed);
        let properties = random::properties(&full, seed).into();
        let last = full.leaves.len() - 1;
        let mut leaves: Vec<LeafIx> =
            (0..rng.between(1, 2)).map(|_| LeafIx(rng.between(0, last) as u32)).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let states = [u64::MAX, rng.between(1, 20) as u64][rng.below(2)];
        let config = Config {
            limits: JobLimits { states, memory: 1 << 30 },
            width: [1, 3, 64][rng.below(3)],
            whole: [0, 0, 20, 1 << 14][rng.below(4)],
            states: None,
        };
        Case { seed, full, properties, leaves, config }
    }

    fn growing(&self) -> Arc<Growing> {
        let (net, source) = random::Reveal::new(self.full.clone());
        let lazy = Lazy::shared(net, Box::new(source), self.properties.clone()).expect("a network");
        Arc::new(Growing::new(lazy, self.leaves.clone()))
    }

    fn conduct(&self, threads: usize) -> DiscoveredReport {
        let task = Task { properties: &self.properties, config: self.config, memory: 1 << 30, largest: 3 };
        let control = Control { stop: &|| false, progress: &|_| {}, page: &|_| Vec::new() };
        conduct(&self.growing(), &task, &Grid::threads(threads, None), None, &control).expect("a report")
    }
}

/// The same without times.
fn timeless(status: DiscoveredStatus) -> DiscoveredStatus {
    DiscoveredStatus { total: Effort { nanoseconds: 0, ..status.total }, lost: 0, ..status }
}

#[test]
fn a_discovered_guide_shows_what_a_complete_search_does() {
    let (mut held, mut violated, mut rounds) = (0, 0, 0);
    for case in (0..400).map(Case::new) {
        let seed = case.seed;
        if violated_initially(&case.properties).is_some() {
            // Nobody searches then.
            continue;
        }
        let expected = search::check(&case.full, &case.properties, &Options::default()).expect("a report");
        let reports = [1, 2, 8].map(|threads| case.conduct(threads));
        for report in &reports {
            match (&report.conclusion, &expected.verdict) {
                (Conclusion::Holds, Verdict::Holds) => {
                    let (total, stats) = (&report.status.total, &expected.stats);
                    assert_eq!(total.states, stats.states, "seed {seed}");
                    assert_eq!(report.status.known, stats.states, "seed {seed}");
                    assert_eq!(total.transitions, stats.transitions, "seed {seed}");
                    assert_eq!(total.deadlocks, stats.deadlocks, "seed {seed}");
                }
                // The trace was replayed.
                (Conclusion::Found(Verdict::Violated { .. } | Verdict::Faulty { .. }), expected) => {
                    assert_ne!(*expected, Verdict::Holds, "seed {seed}");
                }
                other => panic!("seed {seed}: {other:?}"),
            }
            assert_eq!(timeless(report.status.clone()), timeless(reports[0].status.clone()), "seed {seed}");
            assert_eq!(format!("{:?}", report.conclusion), format!("{:?}", reports[0].conclusion));
            assert_eq!(report.largest, reports[0].largest, "seed {seed}");
        }
        held += u32::from(expected.verdict == Verdict::Holds);
        violated += u32::from(expected.verdict != Verdict::Holds);
        rounds += reports[0].status.rounds;
    }
    assert!(held > 80 && violated > 80 && rounds > 2_000, "{held} {violated} {rounds}");
}

/// Workers that answer in any order, lose answers and give them twice; `change` may change an answer. Returns the answers
/// in the order of their numbers.
fn play(case: &Case, swarm: &mut Swarm, seed: u64, change: &mut dyn FnMut(&mut Feedback)) -> Vec<Feedback> {
    let (growing, rng) = (case.growing(), &mut Rng::new(seed));
    let mut worker = discovered::Worker::new(&growing);
    let (mut under_way, mut answers): (Vec<Job>, Vec<Feedback>) = (Vec::new(), Vec::new());
    loop {
        match swarm.next() {
            Next::Done => break,
            Next::Job(job) => {
                under_way.push(job);
                continue;
            }
            Next::Wait => {}
        }
        let job = under_way.swap_remove(rng.below(under_way.len()));
        if rng.percent(10) {
            assert!(swarm.lost(job.number, 0));
            continue;
        }
        let mut feedback = worker.run(&job, &Life::default());
        change(&mut feedback);
        answers.push(feedback.clone());
        assert_eq!(swarm.accept(feedback.clone(), 0), Accepted::New);
        if rng.percent(20) {
            assert_eq!(swarm.accept(feedback, 1), Accepted::Duplicate);
        }
    }
    answers.sort_by_key(|answer| answer.number);
    answers
}

fn with_swarm<R>(case: &Case, then: impl FnOnce(&mut Swarm) -> R) -> R {
    let (growing, budget) = (case.growing(), Budget::new(1 << 30));
    let stand = Stand::new(growing.lazy.packing(), &case.leaves);
    let mut swarm = Swarm::new(case.config, stand, &growing.lazy.initial(), &budget).expect("room");
    then(&mut swarm)
}

#[test]
fn nothing_depends_on_when_answers_come_and_a_run_goes_on_where_it_was() {
    for case in (0..200).map(Case::new) {
        let seen = |swarm: &Swarm| (swarm.outcome().cloned(), timeless(swarm.status()));
        let (first, answers) = with_swarm(&case, |swarm| {
            let answers = play(&case, swarm, 1, &mut |_| {});
            (seen(swarm), answers)
        });
        let again = with_swarm(&case, |swarm| {
            play(&case, swarm, 2, &mut |_| {});
            seen(swarm)
        });
        assert_eq!(first, again, "seed {}", case.seed);
        let kept = Rng::new(case.seed).below(answers.len() + 1);
        let resumed = with_swarm(&case, |swarm| {
            answers[..kept].iter().for_each(|answer| swarm.resume(answer.clone()).expect("resumes"));
            play(&case, swarm, 3, &mut |_| {});
            seen(swarm)
        });
        assert_eq!(first, resumed, "seed {}", case.seed);
    }
}

/// A worker that forgets one state is noticed by the number of states.
#[test]
fn a_state_that_is_forgotten_is_missed() {
    let (mut forgotten, mut missed) = (0, 0);
    for case in (0..300).map(Case::new) {
        let (properties, config) = (Arc::from([]), Config { whole: 0, ..case.config });
        let case = Case { properties, config, ..case };
        let whole = with_swarm(&case, |swarm| {
            play(&case, swarm, 1, &mut |_| {});
            swarm.status().total.states
        });
        let mut left = 1;
        let forget = &mut |feedback: &mut Feedback| {
            let words = feedback.elsewhere.len() / feedback.origins.len().max(1);
            if feedback.origins.len() > 1 && left > 0 {
                left -= 1;
                feedback.origins.pop();
                feedback.elsewhere.truncate(words * feedback.origins.len());
            }
        };
        let less = with_swarm(&case, |swarm| {
            play(&case, swarm, 1, forget);
            swarm.status().total.states
        });
        forgotten += u32::from(left == 0);
        missed += u32::from(less < whole);
        assert!(less <= whole);
    }
    assert!(forgotten > 60 && missed > forgotten / 10, "{forgotten} {missed}");
}

#[test]
fn bounds_are_kept() {
    let case = (0..).map(Case::new).find(|case| case.conduct(1).status.known > 200).expect("one");
    let case = Case { properties: Arc::from([]), ..case };
    let bounded = |states, memory, job: u64| {
        let limits = JobLimits { memory: job, ..case.config.limits };
        let config = Config { states, limits, ..case.config };
        let task = Task { properties: &[], config, memory, largest: 0 };
        let control = Control { stop: &|| false, progress: &|_| {}, page: &|_| Vec::new() };
        conduct(&case.growing(), &task, &Grid::threads(2, None), None, &control).expect("a report")
    };
    let report = bounded(Some(100), 1 << 30, 1 << 30);
    assert!(matches!(report.conclusion, Conclusion::Bounded), "{report:?}");
    assert!((1..=100).contains(&report.status.total.states), "{report:?}");
    assert!(matches!(bounded(None, 4_000, 1 << 30).conclusion, Conclusion::Full(4_000)));
    assert!(matches!(bounded(None, 1 << 30, 300).conclusion, Conclusion::TooLarge));
    assert!(matches!(bounded(None, 1 << 30, 1 << 30).conclusion, Conclusion::Holds));
}
