//! Decides formulas without alternation by sweeps over all states: no edges are kept, a bit for each slot of the visited
//! set and each position of the formula is.
//!
//! A breadth-first search finds all states and keeps its levels. Then the blocks of the formula ([`blocks`]) are solved
//! one after the other: every state whose bits may still change is expanded again and its positions are evaluated, deepest
//! level first, until nothing changes. What is possible, or inevitable, mostly comes from deeper levels, so that few sweeps
//! are enough; where they are not, the steps between the states that are left are kept, and what changes is followed back
//! along them ([`rest`]). Bits change in one direction only, so the result depends neither on the order nor on the number of
//! threads. Invariant: an answer is one about all reachable states, none of which has a fault.
//!
//! Evidence is made by the [`Audience`]: a game ([`game`](crate::engine::game)) that asks what is known of states and
//! positions ([`Truths`]) and therefore stays small.

mod blocks;
mod levels;
mod look;
pub mod ranks;
mod rest;
mod single;
mod way;

use super::bfs;
use super::run::Run;
use super::{Level, Options, RankStats, Stats};
use crate::base::error::{Error, Limit, Result};
use crate::base::memory::{self, Budget};
use crate::engine::lazy::Plain;
use crate::engine::pack::Width;
use crate::engine::successors::{EveryStep, Via};
use crate::engine::visited::Table;
use crate::property::formula::{Class, Equations, Position};
use blocks::{Block, Blocks, Kind, Node};
use levels::{Buffer, Levels, Part};
use look::{Judged, Question, Scratch, UNKNOWN};
use single::{Count, Single};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Sweeps after which what is left of a block is finished otherwise, if there is memory: an order of states against which
/// something spreads takes a sweep for each step.
const SWEEPS: u32 = if cfg!(test) { 2 } else { 4 };

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
    /// Bytes of levels that were in a file.
    pub spilled: u64,
}

/// Receives the results of sweeps.
pub trait Audience {
    /// Is asked after each level of the search, with the number of states, whether it knows the answer by now.
    fn has_enough(&mut self, states: u64) -> bool;

    /// Is told what was found out, if the formula does not hold, while it is still known.
    fn hear(&mut self, truths: &dyn Truths) -> Result<()>;
}

/// Access to the results of sweeps.
pub trait Truths {
    /// Whether the formula holds.
    fn holds(&self) -> bool;

    /// Whether a position holds in a reachable state, if that is known. Where the formula is about all states, it is said
    /// to hold in all states that are not on the run to the first one that is against it ([`Truths::way`]).
    fn truth(&self, state: &[u64], position: Position) -> Option<bool>;

    /// If the formula says something of all states, a shortest run to one of which it is not true.
    fn way(&self) -> Option<Vec<(Via, Vec<u64>)>>;
}

/// Decides a formula. `None`: it is not for sweeps, some state has a fault, or the audience has enough. A limit is an error.
///
/// Tables that are filled as needed are complete when all states are found: nothing else is asked of them then.
pub fn decide<S: EveryStep>(
    system: &S,
    plain: &impl Plain,
    equations: &dyn Equations,
    options: &Options,
    audience: &mut dyn Audience,
) -> Result<Option<Swept>> {
    let started = Instant::now();
    if options.max_depth.is_some() {
        return Ok(None);
    }
    let Some(mut formula) = plain.with(|net| Blocks::of(net, equations))? else { return Ok(None) };
    let budget = Budget::new(options.max_memory.unwrap_or_else(memory::default_limit));
    budget.take(system.table_bytes())?;
    let run = Run::new(system, options, &budget, started, 1)?;
    let mut levels = Levels::new(system.width().words(), budget.limit());
    if !bfs::levels(&run, &mut |states| audience.has_enough(states), &mut |level| levels.add(level))? {
        // A finding can only be a fault.
        return run.why_stopped().map_or(Ok(None), Err);
    }
    if system.fills_tables() {
        // There may be more steps now.
        match plain.with(|net| Blocks::of(net, equations))? {
            Some(now) => formula = now,
            None => return Ok(None),
        }
    }
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
        noted: false,
        levels,
        way: None,
    };
    let holds = sweeps.solve()?;
    if !holds {
        audience.hear(&sweeps)?;
    }
    let stats = Stats { time: started.elapsed(), peak_memory: budget.peak(), ..run.stats() };
    let met = sweeps.met.iter().zip(&formula.class_names).filter(|(met, _)| met.load(Relaxed));
    let classes = met.map(|(_, class)| *class).collect();
    Ok(Some(Swept {
        holds,
        stats,
        positions: formula.trees.len() as u64,
        classes,
        ranks: Vec::new(),
        levels: Vec::new(),
        spilled: sweeps.levels.spilled(),
    }))
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
    /// Whether all states were looked at for that.
    noted: bool,
    levels: Levels<'a>,
    /// If the formula is about all states: the run to one that is against it.
    way: Option<Vec<(Via, Vec<u64>)>>,
}

impl<'r, S: EveryStep> Sweeps<'r, '_, S> {
    /// Whether the formula holds in the initial state.
    fn solve(&mut self) -> Result<bool> {
        self.bits.resize_with(self.formula.trees.len(), Vec::new);
        let root = self.formula.root;
        for block in &self.formula.blocks {
            if block.positions == [root] {
                match (block.kind, self.formula.of_each_state()) {
                    (Kind::Greatest, Some(of_each)) => return self.of_all(of_each),
                    (Kind::Plain, _) => return self.initially(),
                    _ => {}
                }
            }
            let ones = if block.kind == Kind::Greatest { u64::MAX } else { 0 };
            for &position in &block.positions {
                self.run.budget.take(self.bytes_of_bits())?;
                self.bits[position] = self.new_bits(ones);
            }
            let never = self.settle(block)?;
            if block.positions.contains(&root) {
                break;
            }
            if let [position] = block.positions[..] {
                let unchanged = self.levels.live() as u64 + never;
                let greatest = block.kind == Kind::Greatest;
                self.counts[position] = Some(if greatest { unchanged } else { self.table.len() - unchanged });
            }
        }
        let mut initial = 0;
        self.table.slots_of(&self.run.system.initial(), |_, slot| initial = slot);
        Ok(self.bit(root, initial))
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
        let question = self.ask(parts.iter().copied());
        let words = self.run.system.width().words();
        let mut scratch = self.scratch();
        for depth in 0..self.levels.levels.len() {
            let least: Mutex<Option<Vec<u64>>> = Mutex::new(None);
            let sweeps = &*self;
            on_threads(sweeps, sweeps.levels.levels[depth].iter(), &mut scratch, |scratch, part| {
                let mut against = Vec::new();
                let mut buffer = std::mem::take(&mut scratch.buffer);
                let states = part.states(&sweeps.levels, &mut buffer)?;
                sweeps.look(states, &question, scratch, |k, slot, steps| {
                    match look::joined(true, parts.iter().map(|part| sweeps.truth(part, slot, steps, false)))
                    {
                        None => return Judged::Open,
                        Some(true) => {}
                        Some(false) => against.push(k),
                    }
                    Judged::Settled
                })?;
                let against = against.iter().map(|k| &states[k * words..(k + 1) * words]);
                if let Some(state) = against.min() {
                    let mut least = least.lock().unwrap_or_else(PoisonError::into_inner);
                    if least.as_deref().is_none_or(|least| state < least) {
                        *least = Some(state.to_vec());
                    }
                }
                scratch.buffer = buffer;
                Ok(())
            })?;
            if let Some(end) = least.into_inner().unwrap_or_else(PoisonError::into_inner) {
                let way = self.way_to(&end, depth)?;
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
        let tree = &self.formula.trees[self.formula.root];
        let mut holds = None;
        let mut scratch = Scratch::new(self.run.system.width());
        let question = self.ask(std::iter::once(tree));
        self.look(&self.run.system.initial(), &question, &mut scratch, |_, slot, steps| {
            holds = self.truth(tree, slot, steps, false);
            if holds.is_some() { Judged::Settled } else { Judged::Open }
        })?;
        holds.ok_or_else(|| Error::internal("a formula has a truth where everything is known"))
    }

    /// One for each worker.
    fn scratch(&self) -> Vec<Scratch<S::Width>> {
        (0..self.run.options.workers.max(1)).map(|_| Scratch::new(self.run.system.width())).collect()
    }

    /// Sweeps until the bits of a block are settled. States that were set aside because their bits never change: how many.
    fn settle(&mut self, block: &Block) -> Result<u64> {
        self.levels.levels.iter_mut().flatten().for_each(Part::revive);
        let question = self.ask_about(block);
        let single = Single::of(self.formula, block);
        let bytes = single.as_ref().map_or(0, |_| self.bytes_of_bits());
        self.run.budget.take(bytes)?;
        let never = if single.is_some() { self.new_bits(0) } else { Vec::new() };
        let mut scratch = self.scratch();
        let mut all = Count::default();
        for sweep in 1.. {
            let count = self.sweep_all(&mut scratch, |sweeps, part, scratch| match &single {
                Some(single) => sweeps.sweep_single(single, &never, part, scratch),
                None => sweeps.sweep(block, &question, part, scratch),
            })?;
            self.noted = true;
            all.never += count.never;
            if count.changed == 0 || block.kind == Kind::Plain {
                break;
            }
            if sweep == SWEEPS && self.finish(block, &question)? {
                break;
            }
        }
        drop(never);
        self.run.budget.give(bytes);
        Ok(all.never)
    }

    /// Looks at all states that may still change, deepest level first.
    fn sweep_all(
        &mut self,
        scratch: &mut [Scratch<S::Width>],
        look: impl Fn(&Self, &mut Part, &mut Scratch<S::Width>) -> Result<Count> + Sync,
    ) -> Result<Count> {
        let (changed, never) = (AtomicU64::new(0), AtomicU64::new(0));
        let mut levels = std::mem::take(&mut self.levels.levels);
        let sweeps = &*self;
        let mut swept = Ok(());
        for level in levels.iter_mut().rev().filter(|level| level.iter().any(|part| part.live() > 0)) {
            swept = on_threads(sweeps, level.iter_mut(), scratch, |scratch, part| {
                let count = look(sweeps, part, scratch)?;
                changed.fetch_add(count.changed, Relaxed);
                never.fetch_add(count.never, Relaxed);
                Ok(())
            });
            if swept.is_err() {
                break;
            }
        }
        self.levels.levels = levels;
        swept?;
        Ok(Count { changed: changed.into_inner(), never: never.into_inner() })
    }

    /// Bits for all slots, and what they take.
    fn new_bits(&self, word: u64) -> Vec<AtomicU64> {
        (0..self.table.slot_count().div_ceil(64)).map(|_| AtomicU64::new(word)).collect()
    }

    fn bytes_of_bits(&self) -> u64 {
        (self.table.slot_count().div_ceil(64) * size_of::<u64>()) as u64
    }

    /// Evaluates the positions of a block in the states of a part that may still change.
    fn sweep(
        &self,
        block: &Block,
        question: &Question,
        part: &mut Part,
        scratch: &mut Scratch<S::Width>,
    ) -> Result<Count> {
        let mut any = false;
        let mut over = std::mem::take(&mut scratch.over);
        over.clear();
        over.resize(part.live(), false);
        let mut buffer = std::mem::take(&mut scratch.buffer);
        let states = part.live_states(&self.levels, &mut buffer)?;
        self.look(states, question, scratch, |k, slot, steps| {
            let judged = self.judge(block, question, slot, steps, &mut any);
            over[k] = judged.1;
            judged.0
        })?;
        part.set_aside(&over, &self.levels, &mut buffer)?;
        (scratch.over, scratch.buffer) = (over, buffer);
        Ok(Count { changed: u64::from(any), never: 0 })
    }

    /// Evaluates the positions of a block in a state, and whether none of them can change any more. `any` becomes true if one
    /// changes.
    #[inline]
    fn judge(
        &self,
        block: &Block,
        question: &Question,
        slot: usize,
        steps: &[look::Look],
        any: &mut bool,
    ) -> (Judged, bool) {
        let flipped = question.flipped;
        let (mut judged, mut over) = (Judged::Settled, true);
        for &position in &block.positions {
            if slot != UNKNOWN && self.bit(position, slot) == flipped {
                continue;
            }
            match self.truth(&self.formula.trees[position], slot, steps, flipped) {
                Some(truth) if truth == flipped => {
                    *any = true;
                    if slot == UNKNOWN {
                        judged = Judged::Changes;
                    } else {
                        self.flip(position, slot, flipped);
                    }
                }
                Some(_) => over = false,
                None => (judged, over) = (Judged::Open, false),
            }
        }
        (judged, over)
    }
}

/// Does something with each item, on as many threads as there is work for.
fn on_threads<T: Send, S: EveryStep>(
    sweeps: &Sweeps<S>,
    items: impl ExactSizeIterator<Item = T> + Send,
    scratch: &mut [Scratch<S::Width>],
    work: impl Fn(&mut Scratch<S::Width>, T) -> Result<()> + Sync,
) -> Result<()> {
    let threads = scratch.len().min(items.len());
    let (queue, failed) = (Mutex::new(items), Mutex::new(None));
    let work = |scratch: &mut Scratch<S::Width>| {
        loop {
            let item = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(item) = item.filter(|_| !sweeps.run.is_stopped()) else { break };
            if let Err(error) = work(scratch, item) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        let (first, rest) = scratch.split_first_mut().expect("there is at least one worker");
        for scratch in &mut rest[..threads.saturating_sub(1)] {
            scope.spawn(|| work(scratch));
        }
        work(first);
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => sweeps.go_on(),
    }
}
