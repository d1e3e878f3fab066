//! Simulated systems and unreliable workers, to try the manager without searches or transports.
//!
//! A [`System`] is a guide in which chance decides, once and for all, which edges are possible after which prefix and
//! how many states there are; its answers to jobs are what a search would report. [`run`] plays any number of workers
//! that answer in any order, twice, late or never. Like random networks this is part of the public interface so that
//! tests and examples share it. Everything follows from seeds.

use super::swarm::Swarm;
use crate::grid::machine::{Accepted, Machine, Next};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::guide::{EdgeIx, Guide, StateIx, Subsystem};
use gridlock_lts::model::network::{Label, LeafIx, Local, Network, Outcome};
use gridlock_worker::job::{Effort, Feedback, Job, JobEnd, Then};

/// The shape of a simulated system.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Edges of a trace.
    pub depth: u32,
    /// States of the guide at the same distance from the initial one.
    pub width: u32,
    /// Edges of a state.
    pub branching: u32,
    /// How many of 100 edges are possible.
    pub possible: u64,
    /// The most states at a position.
    pub cost: u64,
}

/// A simulated system.
#[derive(Clone, Debug)]
pub struct System {
    /// A network with one leaf, so that there is a guide.
    pub net: Network,
    /// The guide.
    pub guide: Guide,
    shape: Shape,
    seed: u64,
}

fn mix(a: u64, b: u64) -> u64 {
    Rng::new(a ^ b.wrapping_mul(0xd6e8_feb8_6659_fd93)).bits()
}

impl System {
    /// The system of a seed.
    pub fn new(shape: Shape, seed: u64) -> Self {
        let (mut net, mut rng) = (Network::new(), Rng::new(seed));
        let leaf = net.add_leaf("guide");
        let layer = |depth: u32| if depth == 0 { 0 } else { 1 + (depth - 1) * shape.width };
        for _ in 0..layer(shape.depth + 1) {
            let state = net.add_state(leaf);
            net.leaves[0].states[state.0 as usize].expanded = true;
        }
        let labels: Vec<_> =
            (0..shape.branching).map(|k| net.add_local_label(leaf, format!("l{k}"))).collect();
        for &label in &labels {
            net.add_vector(vec![(leaf, label)], Outcome::Step(Label::TAU), Label::TAU);
        }
        for depth in 0..shape.depth {
            for from in layer(depth)..layer(depth + 1) {
                for &label in &labels {
                    let to = layer(depth + 1) + rng.below(shape.width as usize) as u32;
                    net.add_move(leaf, Local(from), label, Local(to));
                }
            }
        }
        let guide = Subsystem::new(&net, &[LeafIx(0)], 1 << 22)
            .and_then(|subsystem| subsystem.guide(&net))
            .expect("layers are acyclic and small");
        System { net, guide, shape, seed }
    }

    /// The number that stands for a prefix with one more edge.
    fn after(&self, prefix: u64, edge: u32) -> u64 {
        mix(prefix, u64::from(edge) + 1)
    }

    /// The number that stands for the empty prefix.
    fn root(&self) -> u64 {
        mix(self.seed, 0)
    }

    /// States while the subsystem is at the end of a prefix.
    fn cost(&self, prefix: u64) -> u64 {
        1 + mix(prefix, 1 << 40) % self.shape.cost
    }

    /// The edges of a state that are possible after a prefix that leads there.
    fn possible(&self, prefix: u64, state: StateIx) -> Vec<u32> {
        let chance = |edge: &u32| mix(prefix, u64::from(*edge) | 1 << 41) % 100 < self.shape.possible;
        self.guide.edges_of(state).filter(chance).collect()
    }

    /// The states below a prefix; counting ends once a limit is exceeded.
    fn below(&self, prefix: u64, state: StateIx, mut states: u64, limit: u64) -> u64 {
        let mut stack = vec![(prefix, state)];
        while let Some((prefix, state)) = stack.pop().filter(|_| states <= limit) {
            for edge in self.possible(prefix, state) {
                let next = self.after(prefix, edge);
                states += self.cost(next);
                stack.push((next, self.guide.edge(EdgeIx(edge)).target));
            }
        }
        states
    }

    /// The feedback of a simulated search.
    pub fn answer(&self, job: &Job) -> Feedback {
        let (mut prefix, mut state, mut states) = (self.root(), StateIx(0), 0);
        let mut possible = Vec::new();
        let mut end = JobEnd::Complete;
        for position in 0..=job.path.len() {
            states += self.cost(prefix);
            if states > job.limits.states {
                end = JobEnd::OverBudget;
                break;
            }
            let edges = self.possible(prefix, state);
            let next = job.path.get(position).filter(|next| edges.contains(next));
            possible.push(edges);
            let Some(&next) = next else { break };
            prefix = self.after(prefix, next);
            state = self.guide.edge(EdgeIx(next)).target;
        }
        if end == JobEnd::Complete && possible.len() == job.path.len() + 1 && job.then == Then::Free {
            states = self.below(prefix, state, states, job.limits.states);
            if states > job.limits.states {
                end = JobEnd::OverBudget;
            }
        }
        let states = states.min(job.limits.states);
        let effort = Effort { states, transitions: states, ..Effort::default() };
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

    /// The least number of jobs by prefixes that stay within a number of states and cover all that is possible.
    pub fn fewest_jobs(&self, limit: u64) -> u64 {
        let mut jobs = 0;
        let mut stack = vec![(self.root(), StateIx(0), 0)];
        while let Some((prefix, state, above)) = stack.pop() {
            let states = above + self.cost(prefix);
            let edges = self.possible(prefix, state);
            if edges.is_empty() || self.below(prefix, state, states, limit) <= limit {
                jobs += 1;
                continue;
            }
            for edge in edges {
                stack.push((self.after(prefix, edge), self.guide.edge(EdgeIx(edge)).target, states));
            }
        }
        jobs
    }

    /// All maximal possible paths. Only for small systems.
    pub fn possible_paths(&self) -> Vec<Vec<u32>> {
        let mut out = Vec::new();
        let mut stack = vec![(self.root(), StateIx(0), Vec::new())];
        while let Some((prefix, state, path)) = stack.pop() {
            let edges = self.possible(prefix, state);
            for &edge in &edges {
                let longer = [&path[..], &[edge]].concat();
                stack.push((self.after(prefix, edge), self.guide.edge(EdgeIx(edge)).target, longer));
            }
            if edges.is_empty() {
                out.push(path);
            }
        }
        out
    }
}

/// Unreliable workers.
#[derive(Clone, Debug)]
pub struct Workers {
    /// How many there are.
    pub count: usize,
    /// How many of 100 answers come twice.
    pub twice: usize,
    /// How many of 100 jobs are lost; of some of them the answer comes nevertheless, later.
    pub lost: usize,
    /// The seed of all random choices.
    pub seed: u64,
}

/// Runs a swarm until it is done. `handed_out` is called for every job each time it is handed out, `answer` does the job.
pub fn run(
    swarm: &mut Swarm<'_>,
    workers: &Workers,
    answer: &mut dyn FnMut(&Job) -> Feedback,
    handed_out: &mut dyn FnMut(&Job),
) {
    let mut rng = Rng::new(workers.seed);
    let (mut busy, mut late): (Vec<Job>, Vec<Feedback>) = (Vec::new(), Vec::new());
    loop {
        while busy.len() < workers.count.max(1) {
            match swarm.next() {
                Next::Job(job) => {
                    handed_out(&job);
                    busy.push(job);
                }
                Next::Wait => break,
                Next::Done => return,
            }
        }
        assert!(!busy.is_empty(), "somebody must be working if there is something to wait for");
        let job = busy.swap_remove(rng.below(busy.len()));
        let worker = rng.below(workers.count) as u32;
        if rng.percent(workers.lost) {
            match rng.below(3) {
                0 => late.push(answer(&job)),
                1 => {
                    let end = JobEnd::Interrupted;
                    swarm.accept(Feedback { end, ..answer(&job) }, worker);
                    continue;
                }
                _ => {}
            }
            swarm.lost(job.number, 0);
            continue;
        }
        let feedback = answer(&job);
        if rng.percent(workers.twice) {
            swarm.accept(feedback.clone(), worker);
            assert_eq!(swarm.accept(feedback, worker), Accepted::Duplicate);
        } else {
            swarm.accept(feedback, worker);
        }
        if !late.is_empty() && rng.percent(30) {
            let at = rng.below(late.len());
            swarm.accept(late.swap_remove(at), worker);
        }
    }
}
