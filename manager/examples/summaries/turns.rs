//! Virtual workers that search depth first below the states of a short breadth-first search.

use super::{Scene, Score};
use gridlock_lts::base::hash::{Map, Set};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use std::collections::VecDeque;

/// States where workers begin, for each of them at least.
const BEGINNINGS: usize = 2;

/// The states, numbered, and the turn from which on all workers know that a state was expanded.
struct Space<'a, S> {
    system: &'a S,
    words: usize,
    numbers: Map<Vec<u64>, u32>,
    states: Vec<u64>,
    /// Of each state the turn from which on others know that it was expanded.
    known: Vec<u64>,
    expanded: Vec<bool>,
    steps: Steps,
    targets: Vec<u32>,
}

impl<'a, S: Successors> Space<'a, S> {
    fn new(system: &'a S) -> Self {
        let words = system.width().words();
        let (numbers, states, known, expanded) = Default::default();
        let (steps, targets) = (Steps::new(words), Vec::new());
        Space { system, words, numbers, states, known, expanded, steps, targets }
    }

    fn number(&mut self, state: &[u64]) -> u32 {
        if let Some(&known) = self.numbers.get(state) {
            return known;
        }
        let number = self.known.len() as u32;
        self.numbers.insert(state.to_vec(), number);
        self.states.extend_from_slice(state);
        self.known.push(u64::MAX);
        self.expanded.push(false);
        number
    }

    /// The targets of a state, in the order of its steps, are then in `targets`. Whether it is its first expansion.
    fn expand(&mut self, state: u32) -> Result<bool, String> {
        let mut steps = std::mem::replace(&mut self.steps, Steps::new(self.words));
        steps.clear();
        let at = state as usize * self.words;
        self.system
            .expand(&self.states[at..at + self.words], &mut steps)
            .map_err(|error| error.to_string())?;
        self.targets.clear();
        for k in 0..steps.len() {
            let target = self.number(steps.target(k));
            self.targets.push(target);
        }
        self.steps = steps;
        Ok(!std::mem::replace(&mut self.expanded[state as usize], true))
    }
}

#[derive(Default)]
struct Worker {
    /// Its states to expand, the oldest first.
    pending: VecDeque<u32>,
    /// The states that it has expanded itself.
    own: Set<u32>,
}

/// Whether one worker knows in a turn that a state need not be expanded.
fn is_known(worker: &Worker, known: &[u64], state: u32, turn: u64) -> bool {
    worker.own.contains(&state) || known[state as usize] <= turn
}

pub(super) fn play<S: Successors>(system: &S, policy: &str, scene: Scene) -> Result<Score, String> {
    let (random, tells, steals) = match policy {
        "fixed" => (false, false, false),
        "random" => (true, false, false),
        "shared" => (true, true, false),
        "stealing" => (true, true, true),
        _ => return Err(format!("there is no policy {policy}")),
    };
    let Scene { workers: count, turns, delay, told } = scene;
    let rng = &mut Rng::new(1);
    let mut space = Space::new(system);
    let mut workers: Vec<Worker> = (0..count).map(|_| Worker::default()).collect();
    let mut score = Score { turns, ..Score::default() };
    for (k, state) in beginnings(&mut space, count)?.into_iter().enumerate() {
        workers[k % count].pending.push_front(state);
    }
    for turn in 0..turns {
        for k in 0..count {
            let state = match take(&mut workers[k], &space.known, turn) {
                None if steals => {
                    steal(&mut workers, k, rng);
                    take(&mut workers[k], &space.known, turn)
                }
                taken => taken,
            };
            let Some(state) = state else {
                score.idle += 1;
                continue;
            };
            score.expanded += 1;
            score.unique += u64::from(space.expand(state)?);
            let worker = &mut workers[k];
            worker.own.insert(state);
            if tells && u64::from(state) % told == 0 {
                score.keys += 1;
                let known = &mut space.known[state as usize];
                *known = (*known).min(turn + delay);
            }
            // The last one is taken first.
            if random {
                for left in (1..space.targets.len()).rev() {
                    space.targets.swap(left, rng.below(left + 1));
                }
            } else {
                space.targets.reverse();
            }
            let new = space.targets.iter().filter(|target| !is_known(worker, &space.known, **target, turn));
            let new: Vec<u32> = new.copied().collect();
            worker.pending.extend(new);
        }
    }
    Ok(score)
}

/// The states after a breadth-first search that is just long enough to give each worker some. All workers know which states
/// it expanded.
fn beginnings<S: Successors>(space: &mut Space<S>, workers: usize) -> Result<VecDeque<u32>, String> {
    let first = space.number(&space.system.initial());
    let mut pending = VecDeque::from([first]);
    let mut seen = Set::from_iter([first]);
    while workers > 1 && pending.len() < BEGINNINGS * workers {
        let Some(state) = pending.pop_front() else { break };
        space.expand(state)?;
        space.known[state as usize] = 0;
        pending.extend(space.targets.iter().filter(|target| seen.insert(**target)));
    }
    Ok(pending)
}

/// The state that a worker expands next: the last one it got that is not known.
fn take(worker: &mut Worker, known: &[u64], turn: u64) -> Option<u32> {
    while let Some(state) = worker.pending.pop_back() {
        if !is_known(worker, known, state, turn) {
            return Some(state);
        }
    }
    None
}

/// One worker takes the older half of the states of another: of two others, the one with more.
fn steal(workers: &mut [Worker], thief: usize, rng: &mut Rng) {
    let (a, b) = (rng.below(workers.len()), rng.below(workers.len()));
    let from = if workers[a].pending.len() >= workers[b].pending.len() { a } else { b };
    if from == thief {
        return;
    }
    let half = workers[from].pending.len().div_ceil(2);
    let taken: VecDeque<u32> = workers[from].pending.drain(..half).collect();
    workers[thief].pending = taken;
}
