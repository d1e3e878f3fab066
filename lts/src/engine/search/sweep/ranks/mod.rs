//! Sweeps over states that several ranks own.
//!
//! The search is the one of ranks ([`owned`]), and each rank keeps its part of every level. Blocks are solved as on one
//! machine, deepest level first; whether a position holds in a state is known to the owner of the state alone, so a rank
//! asks the owners of targets that are not its own, many at a time ([`turn`]). A sweep in which no rank changes anything is the
//! last. Bits change in one direction only, so what is read too early is read again in the next sweep, and the
//! answer does not depend on ranks, threads or the order of messages.
//!
//! Rank 0 has the audience. Others answer what it asks about single states meanwhile ([`told`]).
//!
//! Invariant: all ranks take every decision alike, from numbers that all of them share. An answer is one about all reachable
//! states, for the search has a certificate, and each turn has one: every question is answered once, or the turn is an
//! error of all ranks.

mod hand;
mod told;
mod turn;

use super::blocks::{self, Block, Blocks, Kind, Node};
use super::single::Single;
use super::{Audience, Swept};
use crate::base::error::{Error, Limit, Result};
use crate::base::memory::{self, Budget};
use crate::engine::mesh::Mesh;
use crate::engine::pack::Width;
use crate::engine::search::bfs::Chunk;
use crate::engine::search::owned::{self, Listener, agree};
use crate::engine::search::run::Run;
use crate::engine::search::{Options, RankStats, Stats, all_ranks};
use crate::engine::successors::{EveryStep, Via};
use crate::engine::visited::Table;
use crate::model::network::Network;
use crate::property::formula::{Class, Equations};
use hand::Hand;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often a state is looked at again, on average, before a block is left to others. Others are a game that rank 0 makes
/// alone, so there is more patience than on one machine.
const PATIENCE: u64 = if cfg!(test) { 1 << 20 } else { 200 };
/// Where the numbers of exchanges begin: the messages of a search have smaller ones.
const FIRST_EXCHANGE: u64 = 1 << 40;

/// Decides a formula together with all other ranks, as [`decide`](super::decide) does on one machine. Rank 0 alone has an
/// audience. What is returned, an error as well, is the same on all ranks.
pub fn decide<S: EveryStep>(
    system: &S,
    net: &Network,
    equations: &dyn Equations,
    options: &Options,
    mesh: &mut dyn Mesh,
    mut audience: Option<&mut dyn Audience>,
) -> Result<Option<Swept>> {
    let started = Instant::now();
    if options.max_depth.is_some() {
        return Ok(None);
    }
    let Some(formula) = agree(mesh, Blocks::of(net, equations))? else { return Ok(None) };
    let budget = Budget::new(options.max_memory.unwrap_or_else(memory::default_limit));
    let run = budget
        .take(system.table_bytes())
        .and_then(|()| Run::new(system, options, &budget, started, mesh.size()));
    let run = agree(mesh, run.map_err(Error::from))?;
    let mut has_enough = |states| audience.as_deref_mut().is_some_and(|audience| audience.has_enough(states));
    let mut listener = Listener { levels: Vec::new(), has_enough: &mut has_enough, over: false };
    let ended = owned::search(&run, mesh, Some(&mut listener))?;
    if let Some(stop) = ended.stop {
        return Err(stop);
    }
    // A finding can only be a fault.
    if listener.over || ended.found.is_some() {
        return Ok(None);
    }
    let whole = |chunk| Part { live: usize::MAX, chunk };
    let levels = listener.levels.into_iter().map(|level| level.into_iter().map(whole).collect()).collect();
    let found = all_ranks(&ended, run.stats(), run.earlier());
    let table = run.visited.table();
    let mut sweeps = Sweeps {
        run: &run,
        table: &table,
        formula: &formula,
        bits: (0..formula.trees.len()).map(|_| Vec::new()).collect(),
        never: Vec::new(),
        counts: vec![None; formula.trees.len()],
        met: (0..formula.class_count).map(|_| AtomicBool::new(false)).collect(),
        levels,
        way: None,
        states: found.states,
        exchange: FIRST_EXCHANGE,
        me: mesh.rank(),
        asked: 0,
        waited: Duration::ZERO,
    };
    let hands = sweeps.hands(mesh);
    let mut hands = agree(mesh, hands)?;
    let holds = sweeps.solve(mesh, &mut hands)?;
    if holds == Some(false) {
        let told = match audience {
            Some(audience) => sweeps.tell(mesh, audience),
            None => sweeps.answer(mesh),
        };
        agree(mesh, told)?;
    }
    let classes = sweeps.classes(mesh);
    let ranks = sweeps.ranks(mesh, &ended.ranks);
    let peak_memory = ranks.iter().map(|rank| rank.peak_memory).sum();
    let stats = Stats { time: started.elapsed(), peak_memory, ..found };
    let positions = formula.trees.len() as u64;
    Ok(holds.map(|holds| Swept { holds, stats, positions, classes, ranks, levels: ended.levels, spilled: 0 }))
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
    /// Of the block that is being settled, in which states its bit never changes, if it has one.
    never: Vec<AtomicU64>,
    /// For each position that has a block for itself, in how many states of all ranks it holds, once it is known.
    counts: Vec<Option<u64>>,
    /// Which classes of steps were met here.
    met: Vec<AtomicBool>,
    levels: Vec<Vec<Part<'a>>>,
    /// If the formula is about all states: the run to one that is against it.
    way: Option<Vec<(Via, Vec<u64>)>>,
    /// States of all ranks.
    states: u64,
    /// The number of the next exchange.
    exchange: u64,
    /// The number of this rank.
    me: usize,
    /// States that other ranks were asked about.
    asked: u64,
    /// Time without anything to do.
    waited: Duration,
}

/// What is to be found out about states.
enum Aim<'g> {
    /// Bits of these positions become what they are not yet, where their trees say so.
    Settle(&'g [usize], bool),
    /// The least state in which not all of these hold.
    All(Vec<&'g Node>),
}

/// An aim, and what must be known of targets for it.
struct Goal<'g> {
    aim: Aim<'g>,
    /// The classes of steps whose targets matter.
    needed: Vec<bool>,
    /// Which positions matter there.
    asked: Vec<usize>,
    /// If bits of a single position change that asks for nothing else: what steps mean for it. Answers then say, too, whether
    /// the bit never changes in a target.
    single: Option<Single>,
}

impl<'g> Goal<'g> {
    fn new(formula: &'g Blocks, aim: Aim<'g>) -> Self {
        let trees: Vec<&Node> = match &aim {
            Aim::Settle(positions, _) => positions.iter().map(|at| &formula.trees[*at]).collect(),
            Aim::All(parts) => parts.clone(),
        };
        let mask = formula.asked_by(trees.iter().copied());
        let mut needed = formula.needed_by(trees.into_iter());
        if mask == 0 {
            needed.fill(false);
        }
        Goal { aim, needed, asked: blocks::in_mask(mask).collect(), single: None }
    }

    /// To settle the bits of a block.
    fn settle(formula: &'g Blocks, block: &'g Block) -> Self {
        let aim = Aim::Settle(&block.positions, block.kind != Kind::Greatest);
        Goal { single: Single::of(formula, block), ..Goal::new(formula, aim) }
    }

    /// Bits of an answer about a state.
    fn each(&self) -> usize {
        self.asked.len() + usize::from(self.single.is_some())
    }
}

impl<'r, S: EveryStep> Sweeps<'r, '_, S> {
    /// Whether the formula holds in the initial state. `None` if that takes too long.
    fn solve(&mut self, mesh: &mut dyn Mesh, hands: &mut [Hand]) -> Result<Option<bool>> {
        let (formula, root) = (self.formula, self.formula.root);
        for block in &formula.blocks {
            if block.positions == [root] {
                match (block.kind, formula.of_each_state()) {
                    (Kind::Greatest, Some(of_each)) => return self.of_all(of_each, mesh, hands).map(Some),
                    (Kind::Plain, _) => {
                        // The first level is the initial state.
                        let goal = Goal::new(formula, Aim::All(vec![&formula.trees[root]]));
                        return self
                            .least_against(&goal, 0, mesh, hands)
                            .map(|against| Some(against.is_none()));
                    }
                    _ => {}
                }
            }
            let goal = Goal::settle(formula, block);
            let room = self.make_room(block, &goal);
            agree(mesh, room)?;
            if !self.settle(block, &goal, mesh, hands)? {
                return Ok(None);
            }
            let never = hands.iter_mut().map(|hand| std::mem::take(&mut hand.never)).sum::<u64>();
            self.run.budget.give((self.never.len() * size_of::<u64>()) as u64);
            self.never = Vec::new();
            if block.positions.contains(&root) {
                break;
            }
            if let [position] = block.positions[..] {
                let live: u64 = self.levels.iter().flatten().map(|part| part.live as u64).sum();
                let unchanged: u64 = self.share(mesh, &[live + never]).into_iter().sum();
                let greatest = block.kind == Kind::Greatest;
                self.counts[position] = Some(if greatest { unchanged } else { self.states - unchanged });
            }
        }
        let initial = self.run.system.initial();
        let mut holds = false;
        if self.run.owner.of(&initial) == mesh.rank() {
            self.table.slots_of(&initial, |_, slot| holds = self.bit(root, slot));
        }
        Ok(Some(self.share(mesh, &[u64::from(holds)]).contains(&1)))
    }

    /// Gives the positions of a block their bits.
    fn make_room(&mut self, block: &Block, goal: &Goal) -> Result<()> {
        let ones = if block.kind == Kind::Greatest { u64::MAX } else { 0 };
        let words = self.table.slot_count().div_ceil(64);
        if goal.single.is_some() {
            self.run.budget.take((words * size_of::<u64>()) as u64)?;
            self.never = (0..words).map(|_| AtomicU64::new(0)).collect();
        }
        for &position in &block.positions {
            self.run.budget.take((words * size_of::<u64>()) as u64)?;
            self.bits[position] = (0..words).map(|_| AtomicU64::new(ones)).collect();
        }
        Ok(())
    }

    /// Whether these parts hold in all states. If not, the way to one of the nearest states where they do not is remembered.
    fn of_all(&mut self, parts: Vec<&'r Node>, mesh: &mut dyn Mesh, hands: &mut [Hand]) -> Result<bool> {
        let known = |part: &&Node| match part {
            Node::Const(b) => *b,
            Node::At(earlier) => self.counts[*earlier] == Some(self.states),
            _ => false,
        };
        if parts.iter().all(known) {
            return Ok(true);
        }
        let goal = Goal::new(self.formula, Aim::All(parts));
        for depth in 0..self.levels.len() {
            if let Some(end) = self.least_against(&goal, depth, mesh, hands)? {
                self.way = Some(self.way_to(end, depth, mesh)?);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The least state of a level in which not everything holds that is to hold in all.
    fn least_against(
        &mut self,
        goal: &Goal,
        depth: usize,
        mesh: &mut dyn Mesh,
        hands: &mut [Hand],
    ) -> Result<Option<Vec<u64>>> {
        hands.iter_mut().for_each(|hand| hand.least = None);
        self.look_at_level(goal, depth, mesh, hands)?;
        let own = hands.iter_mut().filter_map(|hand| hand.least.take()).min();
        let least = self.least(own.map(|state| (state, 0)), mesh);
        Ok(least.map(|(state, _)| state))
    }

    /// The least of what the ranks have.
    fn least(&mut self, own: Option<(Vec<u64>, u64)>, mesh: &mut dyn Mesh) -> Option<(Vec<u64>, u64)> {
        let words = self.words();
        let mut said = vec![u64::from(own.is_some())];
        let (state, number) = own.unwrap_or_else(|| (vec![0; words], 0));
        said.extend(state);
        said.push(number);
        let all = self.share(mesh, &said);
        let theirs = all.chunks_exact(words + 2).filter(|said| said[0] == 1);
        theirs.map(|said| (said[1..=words].to_vec(), said[words + 1])).min()
    }

    /// Sweeps until the bits of a block are settled. False if that takes too long.
    fn settle(
        &mut self,
        block: &Block,
        goal: &Goal,
        mesh: &mut dyn Mesh,
        hands: &mut [Hand],
    ) -> Result<bool> {
        let words = self.words();
        for part in self.levels.iter_mut().flatten() {
            part.live = part.chunk.states.len() / words;
        }
        let mut looked_at = 0;
        loop {
            // Levels in which some rank has a state that may change.
            let live = |level: &Vec<Part>| level.iter().map(|part| part.live as u64).sum::<u64>();
            let live: Vec<u64> = self.levels.iter().map(live).collect();
            let mut mine = vec![live.iter().sum()];
            let flag = |lives: &[u64]| (0..).zip(lives).fold(0, |word, (k, &n)| word | u64::from(n > 0) << k);
            mine.extend(live.chunks(64).map(flag));
            let all = self.share(mesh, &mine);
            let mut of_any = vec![0; mine.len()];
            for theirs in all.chunks_exact(mine.len()) {
                looked_at += theirs[0];
                of_any.iter_mut().zip(theirs).for_each(|(any, word)| *any |= word);
            }
            let mut changed = false;
            for depth in (0..self.levels.len()).rev() {
                if of_any[1 + depth / 64] >> (depth % 64) & 1 == 1 {
                    changed |= self.look_at_level(goal, depth, mesh, hands)?;
                }
            }
            if !changed || block.kind == Kind::Plain {
                return Ok(true);
            }
            if looked_at > PATIENCE * self.states {
                return Ok(false);
            }
        }
    }

    /// Words of a state.
    fn words(&self) -> usize {
        self.run.system.width().words()
    }

    /// An error if the search is to stop.
    fn go_on(&self) -> Result<()> {
        self.run.look_around();
        if self.run.is_stopped() {
            return Err(self.run.why_stopped().unwrap_or(Error::Limit(Limit::Interrupted)));
        }
        Ok(())
    }

    /// All ranks together: the numbers of all.
    fn share(&mut self, mesh: &mut dyn Mesh, mine: &[u64]) -> Vec<u64> {
        let waiting = Instant::now();
        let all = mesh.share(mine, &mut || false);
        self.waited += waiting.elapsed();
        all
    }

    fn bit(&self, position: usize, slot: usize) -> bool {
        self.bits[position][slot / 64].load(Relaxed) >> (slot % 64) & 1 == 1
    }

    /// Which positions hold in the state of a slot, as bits; of those that are not reached yet none does.
    fn word(&self, slot: usize) -> u32 {
        let known = self.bits.iter().enumerate().filter(|(_, bits)| !bits.is_empty());
        known.fold(0, |word, (position, _)| word | u32::from(self.bit(position, slot)) << position)
    }

    /// The classes of steps that some rank has met.
    fn classes(&mut self, mesh: &mut dyn Mesh) -> BTreeSet<Class> {
        let mut words = vec![0u64; self.met.len().div_ceil(64).max(1)];
        for (k, _) in self.met.iter().enumerate().filter(|(_, met)| met.load(Relaxed)) {
            words[k / 64] |= 1 << (k % 64);
        }
        let all = self.share(mesh, &words);
        let met = |k: usize| all.chunks_exact(words.len()).any(|theirs| theirs[k / 64] >> (k % 64) & 1 == 1);
        let classes = self.formula.class_names.iter().enumerate();
        classes.filter(|(k, _)| met(*k)).map(|(_, class)| *class).collect()
    }

    /// What each rank has done, questions included.
    fn ranks(&mut self, mesh: &mut dyn Mesh, found: &[RankStats]) -> Vec<RankStats> {
        let mut ranks = found.to_vec();
        let words = self.words() as u64;
        let mine =
            [self.asked, self.run.budget.used(), self.run.budget.peak(), self.waited.as_nanos() as u64];
        let all = self.share(mesh, &mine);
        for (rank, said) in ranks.iter_mut().zip(all.chunks_exact(mine.len())) {
            rank.states_sent += said[0];
            rank.bytes_sent += 8 * words * said[0];
            (rank.memory, rank.peak_memory) = (said[1], said[2]);
            rank.waited += Duration::from_nanos(said[3]);
        }
        ranks
    }
}
