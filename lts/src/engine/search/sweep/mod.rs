//! Decides formulas without alternation by sweeps over all states: no edges are kept, a bit for each slot of the visited
//! set and each position of the formula is.
//!
//! A breadth-first search finds all states and keeps its levels. Then the blocks of the formula ([`blocks`]) are solved
//! one after the other: every state whose bits may still change is expanded again and its positions are evaluated, deepest
//! level first, until nothing changes. What is possible, or inevitable, mostly comes from deeper levels, so that few sweeps
//! are enough. Bits change in one direction only, so the result depends neither on the order nor on the number of
//! threads. Invariant: an answer is one about all reachable states, none of which has a fault.
//!
//! Evidence is made by who listens ([`Audience`]): a game ([`game`](crate::engine::game)) that asks what is known of states and
//! positions ([`Truths`]) and is small therefore.

mod blocks;
pub mod ranks;
mod way;

use super::bfs::{self, Chunk};
use super::run::Run;
use super::{Level, Options, RankStats, Stats};
use crate::base::error::{Error, Limit, Result};
use crate::base::memory::{self, Budget};
use crate::engine::pack::Width;
use crate::engine::successors::{EveryStep, Steps, Via};
use crate::engine::visited::Table;
use crate::model::network::Network;
use crate::property::formula::{Class, Equations, Position};
use blocks::{Block, Blocks, Kind, Node};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Steps that are collected before their targets are looked up together.
const BATCH: usize = if cfg!(test) { 8 } else { 512 };
/// Targets of a state that are looked up first.
const FEW: usize = if cfg!(test) { 1 } else { 2 };
/// The slot of a target that was not looked up.
const UNKNOWN: usize = usize::MAX;
/// How often a state is looked at again, on average, before a block is left to others: an order of states against which
/// something spreads takes a sweep for each step.
const PATIENCE: u64 = if cfg!(test) { 1 << 20 } else { 20 };

/// The answer to a formula.
#[derive(Clone, PartialEq, Debug)]
pub struct Swept {
    /// Whether it holds.
    pub holds: bool,
    /// How much was searched.
    pub stats: Stats,
    /// Positions of the formula.
    pub positions: u64,
    /// The classes of all steps of all states.
    pub classes: BTreeSet<Class>,
    /// What each rank has done, if there were several.
    pub ranks: Vec<RankStats>,
    /// When levels of the search ended then.
    pub levels: Vec<Level>,
}

/// Who listens to sweeps.
pub trait Audience {
    /// Is asked after each level of the search, with the number of states, whether it knows the answer by now.
    fn has_enough(&mut self, states: u64) -> bool;

    /// Is told what was found out, if the formula does not hold, while it is still known.
    fn hear(&mut self, truths: &dyn Truths) -> Result<()>;
}

/// What sweeps have found out.
pub trait Truths {
    /// Whether the formula holds.
    fn holds(&self) -> bool;

    /// Whether a position holds in a reachable state, if that is known. Where the formula is about all states, it is said
    /// to hold wherever the run to the first one that is against it ([`Truths::way`]) does not come along.
    fn truth(&self, state: &[u64], position: Position) -> Option<bool>;

    /// If the formula says something of all states, a shortest run to one of which it is not true.
    fn way(&self) -> Option<Vec<(Via, Vec<u64>)>>;
}

/// Decides a formula on a network whose tables are complete. `None`: it is not for sweeps, some state has a fault, sweeps are
/// slow here, or the audience has enough. A limit is an error.
pub fn decide<S: EveryStep>(
    system: &S,
    net: &Network,
    equations: &dyn Equations,
    options: &Options,
    audience: &mut dyn Audience,
) -> Result<Option<Swept>> {
    let started = Instant::now();
    if options.max_depth.is_some() {
        return Ok(None);
    }
    let Some(formula) = Blocks::of(net, equations)? else { return Ok(None) };
    let budget = Budget::new(options.max_memory.unwrap_or_else(memory::default_limit));
    budget.take(system.table_bytes())?;
    let run = Run::new(system, options, &budget, started, 1)?;
    let Some(levels) = bfs::levels(&run, &mut |states| audience.has_enough(states))? else {
        // A finding can only be a fault.
        return run.why_stopped().map_or(Ok(None), Err);
    };
    let whole = |chunk| Part { live: usize::MAX, chunk };
    let levels = levels.into_iter().map(|level| level.into_iter().map(whole).collect()).collect();
    let table = run.visited.table();
    let counts = vec![None; formula.trees.len()];
    let met = (0..formula.class_count).map(|_| AtomicBool::new(false)).collect();
    let mut sweeps = Sweeps {
        run: &run,
        table: &table,
        formula: &formula,
        bits: Vec::new(),
        counts,
        met,
        levels,
        way: None,
    };
    let holds = sweeps.solve()?;
    if holds == Some(false) {
        audience.hear(&sweeps)?;
    }
    let stats = Stats { time: started.elapsed(), peak_memory: budget.peak(), ..run.stats() };
    let met = sweeps.met.iter().zip(&formula.class_names).filter(|(met, _)| met.load(Relaxed));
    let classes = met.map(|(_, class)| *class).collect();
    Ok(holds.map(|holds| Swept {
        holds,
        stats,
        positions: formula.trees.len() as u64,
        classes,
        ranks: Vec::new(),
        levels: Vec::new(),
    }))
}

/// States of a level. Those whose bits may still change stand at the front.
struct Part<'a> {
    chunk: Chunk<'a>,
    live: usize,
}

struct Sweeps<'r, 'a, S: EveryStep> {
    run: &'r Run<'a, S>,
    table: &'r Table<S::Width>,
    formula: &'r Blocks,
    /// For each position, whether it holds in the state of a slot; nothing of positions that are not reached yet.
    bits: Vec<Vec<AtomicU64>>,
    /// For each position that has a block for itself, in how many states it holds, once it is known.
    counts: Vec<Option<u64>>,
    /// Which classes of steps were met.
    met: Vec<AtomicBool>,
    levels: Vec<Vec<Part<'a>>>,
    /// If the formula is about all states: the run to one that is against it.
    way: Option<Vec<(Via, Vec<u64>)>>,
}

impl<'r, S: EveryStep> Sweeps<'r, '_, S> {
    /// Whether the formula holds in the initial state.
    fn solve(&mut self) -> Result<Option<bool>> {
        self.bits.resize_with(self.formula.trees.len(), Vec::new);
        let root = self.formula.root;
        for block in &self.formula.blocks {
            if block.positions == [root] {
                match (block.kind, self.formula.of_each_state()) {
                    (Kind::Greatest, Some(of_each)) => return self.of_all(of_each).map(Some),
                    (Kind::Plain, _) => return self.initially().map(Some),
                    _ => {}
                }
            }
            let ones = if block.kind == Kind::Greatest { u64::MAX } else { 0 };
            let words = self.table.slot_count().div_ceil(64);
            for &position in &block.positions {
                self.run.budget.take((words * size_of::<u64>()) as u64)?;
                self.bits[position] = (0..words).map(|_| AtomicU64::new(ones)).collect();
            }
            if !self.settle(block)? {
                return Ok(None);
            }
            if block.positions.contains(&root) {
                break;
            }
            if let [position] = block.positions[..] {
                let unchanged = self.levels.iter().flatten().map(|part| part.live as u64).sum();
                let greatest = block.kind == Kind::Greatest;
                self.counts[position] = Some(if greatest { unchanged } else { self.table.len() - unchanged });
            }
        }
        let mut initial = 0;
        self.table.slots_of(&self.run.system.initial(), |slot| initial = slot);
        Ok(Some(self.bit(root, initial)))
    }

    /// Whether these parts hold in all states. If not, the way to one of the nearest states where they do not is remembered.
    fn of_all(&mut self, parts: Vec<&'r Node>) -> Result<bool> {
        let known = |part: &&Node| match part {
            Node::Const(b) => *b,
            Node::At(earlier) => self.counts[*earlier] == Some(self.table.len()),
            _ => false,
        };
        if parts.iter().all(known) {
            return Ok(true);
        }
        let needed = self.formula.needed_by(parts.iter().copied());
        let words = self.run.system.width().words();
        let mut scratch = Scratch::new(self.run.system);
        for depth in 0..self.levels.len() {
            let mut least: Option<&[u64]> = None;
            for part in &self.levels[depth] {
                let states = &part.chunk.states;
                let mut state = states.chunks_exact(words);
                self.evaluate(states, &needed, usize::MAX, &mut scratch, |sweeps, slot, steps| {
                    let state = state.next().expect("each is looked at");
                    let all = parts.iter().all(|part| sweeps.holds(part, slot, steps, true));
                    if !all && least.is_none_or(|least| state < least) {
                        least = Some(state);
                    }
                })?;
                self.go_on()?;
            }
            if let Some(end) = least {
                let way = self.way_to(end, depth)?;
                self.way = Some(way);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// An error if the search is to stop.
    fn go_on(&self) -> Result<()> {
        self.run.look_around();
        if self.run.is_stopped() {
            return Err(self.run.why_stopped().unwrap_or(Error::Limit(Limit::Interrupted)));
        }
        Ok(())
    }

    /// The whole formula in the initial state, if it does not depend on itself.
    fn initially(&self) -> Result<bool> {
        let mut scratch = Scratch::new(self.run.system);
        let state = self.run.system.initial();
        let mut holds = false;
        self.evaluate(
            &state,
            &vec![true; self.formula.class_count],
            usize::MAX,
            &mut scratch,
            |sweeps, slot, steps| {
                holds = sweeps.holds(&sweeps.formula.trees[sweeps.formula.root], slot, steps, true);
            },
        )?;
        Ok(holds)
    }

    /// Sweeps until the bits of a block are settled. False if that takes too long.
    fn settle(&mut self, block: &Block) -> Result<bool> {
        let words = self.run.system.width().words();
        for part in self.levels.iter_mut().flatten() {
            part.live = part.chunk.states.len() / words;
        }
        let needed = self.formula.needed_by(block.positions.iter().map(|at| &self.formula.trees[*at]));
        let (workers, table_len) = (self.run.options.workers.max(1), self.table.len());
        let mut scratch: Vec<Scratch> = (0..workers).map(|_| Scratch::new(self.run.system)).collect();
        let looked_at = AtomicUsize::new(0);
        loop {
            let changed = AtomicBool::new(false);
            let mut levels = std::mem::take(&mut self.levels);
            let (sweeps, failed) = (&*self, Mutex::new(None));
            for level in levels.iter_mut().rev() {
                let threads = workers.min(level.len());
                let queue = Mutex::new(level.iter_mut());
                let work = |scratch: &mut Scratch| {
                    loop {
                        let part = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some(part) = part.filter(|_| !sweeps.run.is_stopped()) else { break };
                        looked_at.fetch_add(part.live, Relaxed);
                        match sweeps.sweep(block, part, &needed, scratch) {
                            Ok(any) => changed.fetch_or(any, Relaxed),
                            Err(error) => {
                                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                                break;
                            }
                        };
                    }
                };
                std::thread::scope(|scope| {
                    let (first, rest) = scratch.split_first_mut().expect("there is at least one worker");
                    for scratch in &mut rest[..threads.saturating_sub(1)] {
                        scope.spawn(|| work(scratch));
                    }
                    work(first);
                });
            }
            self.levels = levels;
            if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
                return Err(error);
            }
            self.go_on()?;
            if !changed.into_inner() || block.kind == Kind::Plain {
                return Ok(true);
            }
            if looked_at.load(Relaxed) as u64 > PATIENCE * table_len {
                return Ok(false);
            }
        }
    }

    /// Evaluates the positions of a block in the states of a part that may still change: whether any did. A few targets of
    /// each state are looked up first: one that may happen decides what is possible, and one that does not what is inevitable.
    fn sweep(&self, block: &Block, part: &mut Part, needed: &[bool], scratch: &mut Scratch) -> Result<bool> {
        // What a bit becomes when it changes.
        let flipped = block.kind != Kind::Greatest;
        let words = self.run.system.width().words();
        let mut any = false;
        let mut over = std::mem::take(&mut scratch.over);
        let mut again = std::mem::take(&mut scratch.again);
        over.clear();
        again.clear();
        let flip = |position: usize, slot: usize| {
            let (word, bit) = (&self.bits[position][slot / 64], 1 << (slot % 64));
            if flipped {
                word.fetch_or(bit, Relaxed)
            } else {
                word.fetch_and(!bit, Relaxed)
            };
        };
        let states = &part.chunk.states[..part.live * words];
        self.evaluate(states, needed, FEW, scratch, |sweeps, slot, steps| {
            let (mut all, mut open) = (true, false);
            for &position in &block.positions {
                if sweeps.bit(position, slot) == flipped {
                    continue;
                }
                let tree = &sweeps.formula.trees[position];
                // What is not known counts as what does not help; if it did not matter, that is the answer.
                if sweeps.holds(tree, slot, steps, !flipped) == flipped {
                    flip(position, slot);
                    any = true;
                } else {
                    all = false;
                    open |= sweeps.holds(tree, slot, steps, flipped) == flipped;
                }
            }
            if open {
                again.push(over.len());
            }
            over.push(all);
        })?;
        if !again.is_empty() {
            let mut open = std::mem::take(&mut scratch.open);
            open.clear();
            again.iter().for_each(|k| open.extend_from_slice(&states[k * words..(k + 1) * words]));
            let mut places = again.iter();
            self.evaluate(&open, needed, usize::MAX, scratch, |sweeps, slot, steps| {
                let mut all = true;
                for &position in &block.positions {
                    if sweeps.bit(position, slot) == flipped {
                        continue;
                    }
                    if sweeps.holds(&sweeps.formula.trees[position], slot, steps, !flipped) == flipped {
                        flip(position, slot);
                        any = true;
                    } else {
                        all = false;
                    }
                }
                over[*places.next().expect("each is looked at")] = all;
            })?;
            scratch.open = open;
        }
        // Those that can change no more go to the back.
        let mut live = 0;
        for (k, _) in over.iter().enumerate().filter(|(_, over)| !**over) {
            for word in 0..words {
                part.chunk.states.swap(live * words + word, k * words + word);
            }
            live += 1;
        }
        part.live = live;
        (scratch.over, scratch.again) = (over, again);
        Ok(any)
    }

    /// Expands states, and calls `look` for each, in order, with its slot and the classes and slots of its steps. Of each state
    /// at most `few` targets are looked up; the others are [`UNKNOWN`].
    fn evaluate(
        &self,
        states: &[u64],
        needed: &[bool],
        few: usize,
        scratch: &mut Scratch,
        mut look: impl FnMut(&Self, usize, &[(u32, usize)]),
    ) -> Result<()> {
        let words = self.run.system.width().words();
        let Scratch { steps, ends, keys, slots, classes, pairs, met, .. } = scratch;
        met.resize(self.formula.class_count, false);
        let mut first = 0;
        let count = states.len() / words;
        for k in 0..count {
            self.run.system.expand(&states[k * words..(k + 1) * words], steps)?;
            ends.push(steps.len());
            if steps.len() < BATCH && k + 1 < count {
                continue;
            }
            self.run.check_limits(0);
            // The states themselves, then what their steps lead to.
            keys.clear();
            keys.extend_from_slice(&states[first * words..(k + 1) * words]);
            classes.clear();
            let (mut state, mut left) = (0, few);
            for (at, (target, via)) in steps.iter().enumerate() {
                while at == ends[state] {
                    (state, left) = (state + 1, few);
                }
                let class = self.formula.classes[via.vector().0 as usize].expect("no state has a fault");
                classes.push(class);
                met[class as usize] = true;
                if needed[class as usize] && left > 0 {
                    left -= 1;
                    keys.extend_from_slice(target);
                }
            }
            slots.clear();
            self.table.slots_of(keys, |slot| slots.push(slot));
            let (own, mut targets) = slots.split_at(k + 1 - first);
            let mut begin = 0;
            for (&slot, end) in own.iter().zip(ends.drain(..)) {
                pairs.clear();
                let mut left = few;
                for &class in &classes[begin..end] {
                    let mut target = UNKNOWN;
                    if needed[class as usize] && left > 0 {
                        left -= 1;
                        (target, targets) = (targets[0], &targets[1..]);
                    }
                    pairs.push((class, target));
                }
                begin = end;
                look(self, slot, pairs);
            }
            steps.clear();
            first = k + 1;
        }
        self.met.iter().zip(met).filter(|(_, met)| **met).for_each(|(all, _)| all.store(true, Relaxed));
        Ok(())
    }

    fn bit(&self, position: usize, slot: usize) -> bool {
        self.bits[position][slot / 64].load(Relaxed) >> (slot % 64) & 1 == 1
    }

    /// The truth of a tree, if `unknown` is that of what is asked of targets that were not looked up.
    fn holds(&self, node: &Node, slot: usize, steps: &[(u32, usize)], unknown: bool) -> bool {
        match node {
            Node::Const(b) => *b,
            Node::Junction(true, parts) => parts.iter().all(|part| self.holds(part, slot, steps, unknown)),
            Node::Junction(false, parts) => parts.iter().any(|part| self.holds(part, slot, steps, unknown)),
            Node::At(_) if slot == UNKNOWN => unknown,
            Node::At(position) => self.bit(*position, slot),
            Node::Every(modality) => steps.iter().all(|step| self.after(*modality, *step, unknown)),
            Node::Some(modality) => steps.iter().any(|step| self.after(*modality, *step, unknown)),
        }
    }

    fn after(&self, modality: usize, (class, target): (u32, usize), unknown: bool) -> bool {
        // Trees of what must hold after a step have no modalities.
        self.holds(&self.formula.after[modality][class as usize], target, &[], unknown)
    }
}

/// What a thread keeps from part to part.
struct Scratch {
    steps: Steps,
    /// Where the steps of each state end.
    ends: Vec<usize>,
    keys: Vec<u64>,
    slots: Vec<usize>,
    classes: Vec<u32>,
    pairs: Vec<(u32, usize)>,
    /// Which classes of steps were met.
    met: Vec<bool>,
    /// Which states can change no more.
    over: Vec<bool>,
    /// The places of states for which more targets must be looked up, and these states.
    again: Vec<usize>,
    open: Vec<u64>,
}

impl Scratch {
    fn new<S: EveryStep>(system: &S) -> Self {
        Scratch {
            steps: Steps::new(system.width().words()),
            ends: Vec::new(),
            keys: Vec::new(),
            slots: Vec::new(),
            classes: Vec::new(),
            pairs: Vec::new(),
            met: Vec::new(),
            over: Vec::new(),
            again: Vec::new(),
            open: Vec::new(),
        }
    }
}
