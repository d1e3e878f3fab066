//! A swarm visits what a plain search visits: on random networks, against a search that is as simple as possible.
//!
//! The reference worker here keeps global states as vectors and looks at positions one after the other; it shares no
//! code with the worker of the tool.

use gridlock_lts::base::error::Error;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::guide::{EdgeIx, Guide, StateIx, Subsystem};
use gridlock_lts::model::network::{LeafIx, Local, Network};
use gridlock_lts::samples::random::Shape;
use gridlock_manager::traces::strategy::StrategyKind;
use gridlock_manager::traces::swarm::{Config, Granularity, Pace, Swarm, SwarmOutcome, SwarmStatus};
use gridlock_manager::traces::testbed::{Workers, run};
use gridlock_worker::job::{Effort, Feedback, Job, JobEnd, JobLimits, Order, Then};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const GUIDE_STATES: usize = 3_000;

type Global = Vec<Local>;

fn reachable(net: &Network) -> BTreeSet<Global> {
    let mut seen = BTreeSet::from([net.initial()]);
    let mut queue = VecDeque::from([net.initial()]);
    let mut steps = Vec::new();
    while let Some(state) = queue.pop_front() {
        net.successors(&state, &mut steps);
        for step in &steps {
            if seen.insert(step.target.clone()) {
                queue.push_back(step.target.clone());
            }
        }
    }
    seen
}

struct Reference<'a> {
    net: &'a Network,
    guide: Guide,
    /// The position, or one beyond the last for free moves, the place in the guide and the state.
    visited: BTreeSet<(usize, StateIx, Global)>,
    bounded: bool,
}

impl<'a> Reference<'a> {
    fn new(net: &'a Network, guide: &Guide, job: &Job) -> Self {
        let mut guide = guide.clone();
        for step in &job.refinements {
            let path: Vec<EdgeIx> = step.path.iter().map(|&e| EdgeIx(e)).collect();
            guide = guide.refine(net, &path, LeafIx(step.leaf), GUIDE_STATES).unwrap();
        }
        Reference { net, guide, visited: BTreeSet::new(), bounded: false }
    }

    /// Visits all states at one place of the guide; returns the targets by edges. `None` over the limit.
    fn position(
        &mut self,
        position: usize,
        place: StateIx,
        from: BTreeSet<Global>,
        limit: u64,
    ) -> Option<BTreeMap<u32, BTreeSet<Global>>> {
        let leaves = self.guide.leaves().to_vec();
        let project = |s: &Global| leaves.iter().map(|l| s[l.0 as usize]).collect::<Vec<_>>();
        let mut queue: Vec<Global> = from.into_iter().collect();
        let (mut by_edge, mut steps) = (BTreeMap::<u32, BTreeSet<Global>>::new(), Vec::new());
        while let Some(state) = queue.pop() {
            if !self.visited.insert((position, place, state.clone())) {
                continue;
            }
            if self.visited.len() as u64 > limit {
                return None;
            }
            assert_eq!(project(&state), self.guide.locals(place));
            self.net.successors(&state, &mut steps);
            for step in &steps {
                let to = project(&step.target);
                if to == self.guide.locals(place) {
                    queue.push(step.target.clone());
                    continue;
                }
                let projection = self.guide.projection(step.vector).unwrap();
                let edge = self.guide.edges_of(place).find(|&e| {
                    let edge = self.guide.edge(EdgeIx(e));
                    edge.projection == projection && self.guide.locals(edge.target) == to
                });
                if let Some(edge) = edge {
                    by_edge.entry(edge).or_default().insert(step.target.clone());
                    self.bounded |= self.guide.edge(EdgeIx(edge)).cut;
                }
            }
        }
        Some(by_edge)
    }

    fn free(&mut self, position: usize, from: BTreeMap<u32, BTreeSet<Global>>, limit: u64) -> bool {
        let mut queue = VecDeque::from_iter(from);
        while let Some((edge, mut states)) = queue.pop_front() {
            let edge = self.guide.edge(EdgeIx(edge));
            if edge.cut {
                continue;
            }
            states.retain(|s| !self.visited.contains(&(position, edge.target, s.clone())));
            if !states.is_empty() {
                match self.position(position, edge.target, states, limit) {
                    Some(on) => queue.extend(on),
                    None => return false,
                }
            }
        }
        true
    }

    fn search(&mut self, job: &Job) -> Feedback {
        let (mut states, mut place) = (BTreeSet::from([self.net.initial()]), StateIx(0));
        let (mut possible, mut end) = (Vec::new(), JobEnd::Complete);
        for position in 0..=job.path.len() {
            let Some(mut on) = self.position(position, place, states, job.limits.states) else {
                end = JobEnd::OverBudget;
                break;
            };
            possible.push(on.keys().copied().collect::<Vec<u32>>());
            let Some(&next) = job.path.get(position) else {
                if job.then == Then::Free && !self.free(position + 1, on, job.limits.states) {
                    end = JobEnd::OverBudget;
                }
                break;
            };
            let Some(targets) = on.remove(&next) else { break };
            (states, place) = (targets, self.guide.edge(EdgeIx(next)).target);
        }
        if job.order == Order::DepthFirst && end == JobEnd::OverBudget {
            possible.clear();
        }
        let effort = Effort { states: self.visited.len() as u64, ..Effort::default() };
        Feedback {
            number: job.number,
            end,
            possible,
            bounded: self.bounded,
            effort,
            seen: Vec::new(),
            left: Default::default(),
            positions: Vec::new(),
        }
    }
}

/// Small budgets make many jobs; such a case is given up.
const MOST_JOBS: u64 = 300;

fn failed(job: &Job) -> Feedback {
    let end = JobEnd::Failed(Error::input("enough"));
    let (possible, effort) = (Vec::new(), Effort::default());
    Feedback {
        number: job.number,
        end,
        possible,
        bounded: false,
        effort,
        seen: Vec::new(),
        left: Default::default(),
        positions: Vec::new(),
    }
}

struct Played {
    outcome: SwarmOutcome,
    status: SwarmStatus,
    visited: BTreeSet<Global>,
    jobs: BTreeMap<u64, Job>,
}

fn play(net: &Network, guide: &Guide, config: &Config, workers: &Workers) -> Played {
    let mut swarm = Swarm::new(net, guide.clone(), config.clone());
    let (mut visited, mut jobs) = (BTreeSet::new(), BTreeMap::new());
    run(
        &mut swarm,
        workers,
        &mut |job| {
            if job.number >= MOST_JOBS {
                return failed(job);
            }
            let mut reference = Reference::new(net, guide, job);
            let feedback = reference.search(job);
            // What a job over its budget has visited must be visited again by others.
            if feedback.end == JobEnd::Complete {
                visited.extend(reference.visited.into_iter().map(|(_, _, state)| state));
            }
            feedback
        },
        &mut |job| {
            jobs.insert(job.number, job.clone());
        },
    );
    Played { outcome: swarm.outcome().cloned().unwrap(), status: swarm.status(), visited, jobs }
}

fn config(rng: &mut Rng, states: usize) -> Config {
    // From so little that finer guides are needed to so much that one job is enough.
    let limit = match rng.below(4) {
        0 => rng.between(1, 8),
        1 => rng.between(5, 30),
        _ => rng.between(1, 2 * states),
    };
    let mut config = Config::new(JobLimits { states: limit as u64, memory: u64::MAX });
    config.granularity = [Granularity::Trace, Granularity::Prefix][rng.below(2)];
    config.strategy = StrategyKind::ALL[rng.below(4)];
    config.seed = rng.bits();
    config.pace = [Pace::Window(1), Pace::Window(5), Pace::Batch(10), Pace::default()][rng.below(4)];
    config.order = if rng.percent(15) { Order::DepthFirst } else { Order::BreadthFirst };
    config.guide_states = GUIDE_STATES;
    config
}

#[test]
fn a_swarm_visits_what_a_plain_search_visits() {
    let mut long = 0;
    let (mut exhausted, mut stuck, mut nested, mut bounded, mut split) = (0, 0, 0, 0, 0);
    for seed in 0..1_000 {
        let shape = Shape { acyclic: seed % 3 != 0, leaves: 4, ..Shape::default() };
        let (net, rng) = (shape.network(seed), &mut Rng::new(seed));
        let leaves: Vec<LeafIx> =
            (0..rng.between(1, 2)).map(|_| LeafIx(rng.below(net.leaves.len()) as u32)).collect();
        let unroll = rng.below(3) as u32;
        let Ok(guide) = Subsystem::new(&net, &leaves, 500).and_then(|s| s.unrolled(unroll, 500)) else {
            continue;
        };
        if guide.traces() > &2_000u32.into() {
            continue;
        }
        let all = reachable(&net);
        let config = config(rng, all.len());
        let workers = Workers { count: rng.between(1, 8), twice: 10, lost: 10, seed };
        let played = play(&net, &guide, &config, &workers);
        assert!(played.visited.is_subset(&all), "seed {seed}");
        let ids = &played.status;
        if let SwarmOutcome::Failed { number, reason } = &played.outcome {
            assert_eq!((*number, reason), (MOST_JOBS, &Error::input("enough")), "seed {seed}");
            long += 1;
            continue;
        }
        assert_eq!(ids.explored.clone() + &ids.pruned + &ids.given_up, ids.all, "seed {seed}");
        nested += u32::from(ids.nested > 0);
        split += u32::from(ids.nested == 0 && ids.processed > 1);
        match played.outcome {
            SwarmOutcome::Exhausted { bounded: false } => {
                exhausted += 1;
                assert_eq!(played.visited.len(), all.len(), "seed {seed}: {config:?}");
            }
            SwarmOutcome::Exhausted { bounded: true } => bounded += 1,
            SwarmOutcome::Stuck(_) => stuck += 1,
            other => panic!("seed {seed}: {other:?}"),
        }
        if seed % 5 == 0 {
            let again = play(&net, &guide, &config, &Workers { count: 100, twice: 0, lost: 0, seed: 1 });
            assert_eq!(again.jobs, played.jobs, "seed {seed}: the same jobs with other workers");
        }
    }
    println!(
        "exhausted {exhausted}, bounded {bounded}, stuck {stuck}, nested {nested}, split {split}, long {long}"
    );
    assert!(exhausted > 400 && stuck > 50 && nested > 100 && bounded > 30 && split > 100);
}
