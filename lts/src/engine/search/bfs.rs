//! Breadth-first search, level by level, on many threads.
//!
//! The states of a level are divided into chunks that workers take one at a time, each from its own stretch of the level
//! and then from those of others; the new states become the chunks of the next level. Invariant: a level is expanded
//! completely before the next begins, also when it contains a violation, and of several findings the least is reported. So
//! states, transitions, depth, deadlocks and the finding itself do not depend on the number of workers, and a finding is as
//! near to the initial state as any.
//!
//! Threads are started for each level that has several chunks: that costs some ten microseconds against a millisecond
//! or more of work, and there is no barrier that a worker could miss.

use super::owned::{Restored, restore};
use super::recent::Recent;
use super::run::{Done, Run};
use super::saved::{Saver, Totals};
use crate::base::error::{Error, Limit, Result};
use crate::base::memory::{Budget, Exhausted};
use crate::engine::look::{self, Found, keep_least};
use crate::engine::mesh::{Alone, Mesh};
use crate::engine::pack::Width;
use crate::engine::successors::{Steps, Successors};
use crate::engine::visited::Table;
use crate::model::network::{LeafIx, Local};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError, RwLockReadGuard};

/// Steps that are collected before they are looked up, so that their cache lines are fetched together.
const BATCH: usize = if cfg!(test) { 8 } else { 256 };

/// Words of a chunk: large enough that taking one costs nothing, small enough that no worker waits long for another.
/// Tests use tiny ones, so that small networks keep many workers busy.
const CHUNK: usize = if cfg!(test) { 1 } else { 1 << 13 };

/// States of one level, accounted for.
pub(super) struct Chunk<'a> {
    pub(super) states: Vec<u64>,
    budget: &'a Budget,
}

impl<'a> Chunk<'a> {
    pub(super) fn new(words: usize, budget: &'a Budget) -> Result<Self, Exhausted> {
        let capacity = CHUNK.max(8 * BATCH * words);
        budget.take((capacity * size_of::<u64>()) as u64)?;
        Ok(Chunk { states: Vec::with_capacity(capacity), budget })
    }

    /// Gives back what it does not need.
    pub(super) fn shrink(&mut self) {
        let before = self.states.capacity();
        self.states.shrink_to_fit();
        self.budget.give(((before - self.states.capacity()) * size_of::<u64>()) as u64);
    }

    /// Whether a batch of new states fits.
    fn has_room(&self, words: usize) -> bool {
        self.states.capacity() - self.states.len() >= BATCH * words
    }
}

impl Drop for Chunk<'_> {
    fn drop(&mut self) {
        self.budget.give((self.states.capacity() * size_of::<u64>()) as u64);
    }
}

/// The chunks of a level, a stretch of neighbours for each worker. States that stand close together share successors, and
/// a worker that has both remembers the second time: fifteen philosophers took two workers 1.1 times as long when they
/// took chunks in turns.
pub(super) struct Queue<'a>(Vec<VecDeque<Chunk<'a>>>);

impl<'a> Queue<'a> {
    pub(super) fn new(level: Vec<Chunk<'a>>, workers: usize) -> Self {
        let mut rest = VecDeque::from(level);
        let stretches = (0..workers).rev().map(|others| {
            let stretch = rest.len().div_ceil(others + 1);
            rest.drain(..stretch).collect()
        });
        Queue(stretches.collect())
    }

    /// The next chunk of a worker: of its own, or else the last of the worker that has the most left.
    pub(super) fn take(&mut self, worker: usize) -> Option<Chunk<'a>> {
        self.0[worker]
            .pop_front()
            .or_else(|| self.0.iter_mut().max_by_key(|stretch| stretch.len())?.pop_back())
    }
}

/// Which targets a worker looks up itself, and what becomes of the others.
pub(super) trait Route<S: Successors>: Sized {
    /// Looks targets up, now or with others later, or sends them on their way.
    fn hand_out(worker: &mut Worker<'_, '_, S, Self>, targets: &[u64]) -> Result<()>;

    /// Sees to what comes from elsewhere; after each batch.
    fn attend(worker: &mut Worker<'_, '_, S, Self>) -> Result<()>;
}

/// All states are those of this process.
struct Here;

impl<S: Successors> Route<S> for Here {
    #[inline(always)]
    fn hand_out(worker: &mut Worker<'_, '_, S, Self>, targets: &[u64]) -> Result<()> {
        worker.look_up(targets)
    }

    #[inline(always)]
    fn attend(_: &mut Worker<'_, '_, S, Self>) -> Result<()> {
        Ok(())
    }
}

/// Searches until everything is expanded, something is found, or the search is stopped. `None`: nothing was found.
pub(super) fn search<S: Successors>(run: &Run<S>) -> Option<(Found, u64)> {
    let mesh: &mut dyn Mesh = &mut Alone::default();
    let mut saver = Saver::new(run.options.checkpoint, run.system.width(), run.options.workers, mesh);
    let (mut level, first) = match begin(run, mesh, &mut saver) {
        Ok(begun) => begun,
        Err(stop) => {
            run.stop(stop);
            return None;
        }
    };
    let words = run.system.width().words();
    let mut scratch: Vec<Scratch<S>> =
        (0..run.options.workers.max(1)).map(|_| Scratch::new(run.system)).collect();
    for depth in first.. {
        let states: usize = level.iter().map(|chunk| chunk.states.len() / words).sum();
        if states == 0 {
            return None;
        }
        if depth > first {
            saver.keep(totals(run, depth, states as u64), &level);
            run.pause();
        }
        if run.is_stopped() {
            saver.commit(mesh);
            return None;
        }
        run.set_level(depth, states as u64);
        if let Some(max) = run.options.max_depth.filter(|&max| depth >= max) {
            saver.commit(mesh);
            run.stop(Limit::Depth(max).into());
            return None;
        }
        if saver.is_due() {
            saver.commit(mesh);
        }
        let failed = fill_tables(run, &mut level);
        let Expanded { found, next, .. } = expand_level(run, level, depth + 1, &mut scratch, false);
        if let Some(found) = found {
            return Some((found, depth));
        }
        if let Some(error) = failed {
            run.stop(error);
        }
        if run.is_stopped() {
            saver.commit(mesh);
            return None;
        }
        level = next;
    }
    None
}

/// All states, level by level, for a caller that goes through them again: `keep` gets each level. `enough` is called after
/// each with the number of states, and says whether to end. False: it said so, something was found, or the search was
/// stopped.
pub(super) fn levels<'a, S: Successors>(
    run: &Run<'a, S>,
    enough: &mut dyn FnMut(u64) -> bool,
    keep: &mut dyn FnMut(Vec<Chunk<'a>>),
) -> Result<bool> {
    let words = run.system.width().words();
    let workers = run.options.workers.max(1);
    let mut scratch: Vec<Scratch<S>> = (0..workers).map(|_| Scratch::new(run.system)).collect();
    let mut level = first_level(run)?;
    for depth in 0.. {
        let states: usize = level.iter().map(|chunk| chunk.states.len() / words).sum();
        if states == 0 {
            break;
        }
        run.set_level(depth, states as u64);
        if let Some(error) = fill_tables(run, &mut level) {
            run.stop(error);
            return Ok(false);
        }
        let Expanded { found, next, expanded } = expand_level(run, level, depth + 1, &mut scratch, true);
        if found.is_some() || run.is_stopped() || enough(run.visited.len()) {
            return Ok(false);
        }
        keep(expanded);
        level = next;
    }
    Ok(true)
}

/// The level with which the search begins or goes on, and its depth.
fn begin<'a, S: Successors>(
    run: &Run<'a, S>,
    mesh: &mut dyn Mesh,
    saver: &mut Saver<S::Width>,
) -> Result<(Vec<Chunk<'a>>, u64)> {
    if let Some(Restored { level, totals }) = restore(run, mesh)? {
        saver.resumed(totals);
        return Ok((level, totals.depth));
    }
    let level = first_level(run)?;
    saver.keep(totals(run, 0, 1), &level);
    Ok((level, 0))
}

/// What has been counted before a level.
fn totals<S: Successors>(run: &Run<S>, depth: u64, frontier: u64) -> Totals {
    let (stats, earlier) = (run.stats(), run.earlier());
    Totals {
        depth,
        frontier,
        states: stats.states,
        transitions: earlier.transitions + stats.transitions,
        deadlocks: earlier.deadlocks + stats.deadlocks,
    }
}

pub(super) fn first_level<'a, S: Successors>(run: &Run<'a, S>) -> Result<Vec<Chunk<'a>>> {
    let words = run.system.width().words();
    let mut chunk = Chunk::new(words, run.budget)?;
    chunk.states.extend(run.system.initial());
    run.visited.table().insert_all(&chunk.states, 0, |_| {});
    Ok(vec![chunk])
}

/// Has the tables filled that the states of a level need, in the order of leaves and local states. What a table source
/// numbers then depends on the levels only, which are the same sets of states for any number of workers, and so does the
/// least finding. After an error the level keeps the states that need nothing more: what they show is true all the same.
fn fill_tables<S: Successors>(run: &Run<S>, level: &mut [Chunk]) -> Option<Error> {
    let missing = missing(run, level);
    fill(run, level, missing)
}

/// The local states whose tables a level needs.
pub(super) fn missing<S: Successors>(run: &Run<S>, level: &[Chunk]) -> BTreeSet<(LeafIx, Local)> {
    let mut missing = BTreeSet::new();
    level.iter().for_each(|chunk| run.system.missing(&chunk.states, &mut missing));
    missing
}

/// Fills these tables.
pub(super) fn fill<S: Successors>(
    run: &Run<S>,
    level: &mut [Chunk],
    missing: BTreeSet<(LeafIx, Local)>,
) -> Option<Error> {
    let fill = |(leaf, local)| {
        // A source may be slow.
        run.check_limits(run.visited.len());
        if run.is_stopped() { Ok(()) } else { run.system.fill(leaf, local) }
    };
    let error = missing.into_iter().try_for_each(fill).err()?;
    let is_ready = |state: &&[u64]| {
        let mut missing = BTreeSet::new();
        run.system.missing(state, &mut missing);
        missing.is_empty()
    };
    for chunk in level {
        let ready = chunk.states.chunks_exact(run.system.width().words()).filter(is_ready);
        let ready = ready.collect::<Vec<_>>().concat();
        chunk.states.clear();
        chunk.states.extend(ready);
    }
    Some(error)
}

/// The result of a level: of several findings the least, the next level, and the level itself if it was to be kept.
struct Expanded<'a> {
    found: Option<Found>,
    next: Vec<Chunk<'a>>,
    expanded: Vec<Chunk<'a>>,
}

fn expand_level<'a, S: Successors>(
    run: &Run<'a, S>,
    level: Vec<Chunk<'a>>,
    depth: u64,
    scratch: &mut [Scratch<S>],
    keep: bool,
) -> Expanded<'a> {
    let workers = run.options.workers.clamp(1, level.len());
    let queue = Mutex::new(Queue::new(level, workers));
    let work = |(number, scratch)| {
        let mut worker = Worker::new(run, depth, scratch, Here);
        worker.expanded = keep.then(Vec::new);
        worker.work(&queue, number);
        (worker.found, worker.full, worker.expanded)
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let work = &work;
        let (first, rest) = scratch[..workers].split_first_mut().expect("there is at least one worker");
        let others: Vec<_> =
            (1..).zip(rest).map(|(number, scratch)| scope.spawn(move || work((number, scratch)))).collect();
        let mine = work((0, first));
        let join = |other: std::thread::ScopedJoinHandle<'_, _>| {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(mine).chain(others.into_iter().map(join)).collect()
    });
    let mut all = Expanded { found: None, next: Vec::new(), expanded: Vec::new() };
    for (found, next, expanded) in results {
        keep_least(&mut all.found, found);
        all.next.extend(next);
        all.expanded.extend(expanded.into_iter().flatten());
    }
    all
}

/// What a worker keeps from level to level.
pub(super) struct Scratch<S: Successors> {
    steps: Steps,
    /// Where the steps of each state end whose steps are collected.
    ends: Vec<usize>,
    recent: Recent<S::Width>,
    /// The collected targets that were not seen lately.
    fresh: Vec<u64>,
}

impl<S: Successors> Scratch<S> {
    pub(super) fn new(system: &S) -> Self {
        let width = system.width();
        Scratch {
            steps: Steps::new(width.words()),
            ends: Vec::new(),
            recent: Recent::new(width),
            fresh: Vec::new(),
        }
    }
}

/// A thread that expands states, and looks up what it finds.
pub(super) struct Worker<'r, 'a, S: Successors, R> {
    pub(super) run: &'r Run<'a, S>,
    /// The depth of the states that are found.
    depth: u64,
    scratch: &'r mut Scratch<S>,
    table: Option<RwLockReadGuard<'r, Table<S::Width>>>,
    /// What is new.
    pub(super) full: Vec<Chunk<'a>>,
    /// What it has expanded, if that is to be kept.
    pub(super) expanded: Option<Vec<Chunk<'a>>>,
    done: Done,
    pub(super) found: Option<Found>,
    pub(super) route: R,
}

impl<'r, 'a, S: Successors, R: Route<S>> Worker<'r, 'a, S, R> {
    pub(super) fn new(run: &'r Run<'a, S>, depth: u64, scratch: &'r mut Scratch<S>, route: R) -> Self {
        let done = Done::default();
        Worker {
            run,
            depth,
            scratch,
            table: None,
            full: Vec::new(),
            expanded: None,
            done,
            found: None,
            route,
        }
    }

    pub(super) fn work(&mut self, queue: &Mutex<Queue<'a>>, number: usize) {
        loop {
            let chunk = queue.lock().unwrap_or_else(PoisonError::into_inner).take(number);
            let Some(chunk) = chunk.filter(|_| !self.run.is_stopped()) else { break };
            if let Err(stop) = self.expand(&chunk.states) {
                self.run.stop(stop);
            }
            if let Some(expanded) = &mut self.expanded {
                expanded.push(chunk);
            }
            self.let_go();
            self.run.tell(&mut self.done);
        }
    }

    /// Lets other threads move the visited set. A thread must call this before it waits for anything.
    pub(super) fn let_go(&mut self) {
        self.table = None;
    }

    fn expand(&mut self, states: &[u64]) -> Result<()> {
        let words = self.run.system.width().words();
        let mut first = 0;
        for (k, state) in states.chunks_exact(words).enumerate() {
            // Expanding may be slow where tables are filled on demand.
            if k % 64 == 63 {
                self.run.check_limits(self.table.as_ref().map_or(0, |table| table.len()));
                if self.run.is_stopped() {
                    return Ok(());
                }
            }
            let before = self.scratch.steps.len();
            self.run.system.expand(state, &mut self.scratch.steps)?;
            if self.scratch.steps.len() == before {
                let end = self.run.system.dead_end(state);
                self.done.deadlocks += u64::from(end.is_deadlock());
                keep_least(&mut self.found, end.found(state));
            }
            self.scratch.ends.push(self.scratch.steps.len());
            if self.scratch.steps.len() >= BATCH {
                self.flush(&states[first * words..])?;
                first = k + 1;
                R::attend(self)?;
                if self.run.is_stopped() {
                    return Ok(());
                }
            }
        }
        self.flush(&states[first * words..])?;
        R::attend(self)
    }

    /// Looks the collected steps up, or sends them on their way; those of `states`, from the first on.
    fn flush(&mut self, states: &[u64]) -> Result<()> {
        if self.scratch.steps.any_marked() {
            let Scratch { steps, ends, .. } = &mut *self.scratch;
            keep_least(&mut self.found, look::first(self.run.system, states, ends, steps).found);
        }
        self.done.expanded += self.scratch.ends.len() as u64;
        self.done.transitions += self.scratch.steps.len() as u64;
        let Scratch { steps, recent, fresh, .. } = &mut *self.scratch;
        let mut fresh = std::mem::take(fresh);
        fresh.resize(steps.targets().len().max(fresh.len()), 0);
        let len = recent.filter(steps.targets(), &mut fresh);
        let looked_up = R::hand_out(self, &fresh[..len]);
        self.scratch.fresh = fresh;
        looked_up?;
        self.scratch.steps.clear();
        self.scratch.ends.clear();
        Ok(())
    }

    /// Looks states up that this worker has not looked up lately.
    pub(super) fn look_up_fresh(&mut self, states: &[u64]) -> Result<()> {
        let Scratch { recent, fresh, .. } = &mut *self.scratch;
        let mut fresh = std::mem::take(fresh);
        fresh.resize(states.len().max(fresh.len()), 0);
        let len = recent.filter(states, &mut fresh);
        let looked_up = self.look_up(&fresh[..len]);
        self.scratch.fresh = fresh;
        looked_up
    }

    /// Looks states up in the visited set; what is new belongs to the next level.
    pub(super) fn look_up(&mut self, states: &[u64]) -> Result<()> {
        let words = self.run.system.width().words();
        let mut rest = states;
        while !rest.is_empty() {
            if self.full.last().is_none_or(|chunk| !chunk.has_room(words)) {
                self.full.push(Chunk::new(words, self.run.budget)?);
            }
            let new = self.full.last_mut().map(|chunk| &mut chunk.states).expect("a chunk was pushed");
            let table = self.table.get_or_insert_with(|| self.run.visited.table());
            let piece = &rest[..rest.len().min(BATCH * words)];
            let done = table
                .insert_all(piece, self.depth, |k| new.extend_from_slice(&piece[k * words..(k + 1) * words]));
            rest = &rest[done * words..];
            if done * words < piece.len() {
                self.table = None;
                self.run.visited.make_room()?;
            }
        }
        Ok(())
    }
}
