//! A block of leaves, explored exactly while the others are left out: they may always do what is asked of them.
//!
//! A sync is cut to the parts that are inside. Those that become equal are one *cut*, which stands for all of them. So every
//! run of the system is one of the block as far as its leaves can tell, and what the block never reaches, the system never
//! does. A [`Path`] leads to a suspicious state: for each step it has all syncs that may stand behind it.

use super::calm::Calm;
use super::frame::Frame;
use super::mutants::{self, Mutant};
use super::ticks::{STATE, STEP, Ticks};
use crate::base::error::Error;
use crate::base::memory::Budget;
use crate::engine::parts::system::{BAD, Held, Sync};
use crate::engine::parts::{Stop, Trouble};
use crate::engine::prepared::{Prepared, Visitor};
use crate::engine::successors::{EveryStep, Steps, Successors};
use crate::engine::visited::hash;
use crate::model::explicit::State;
use crate::model::network::{Label, Leaf, LeafIx, Local, LocalLabel, LocalTable, Network, Outcome};
use hashbrown::HashTable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the search of a block may take.
#[derive(Clone, Copy)]
pub(super) struct Effort<'a> {
    /// The most states of this block.
    pub(super) states: u64,
    /// What they and their steps may cost.
    pub(super) ticks: Ticks,
    pub(super) budget: &'a Arc<Budget>,
    pub(super) stop: &'a Stop<'a>,
}

/// Leaves that are explored exactly.
pub(super) struct Block<'a> {
    pub(super) frame: &'a Frame,
    /// The slots inside, ascending.
    pub(super) slots: Vec<u32>,
    /// For each slot whether it is inside.
    pub(super) inside: Vec<bool>,
    /// What is left of syncs inside, and which syncs each stands for.
    cuts: Vec<(Sync, Vec<u32>)>,
    /// The syncs without part inside.
    pub(super) free: Vec<u32>,
}

/// A way to a suspicious state.
#[derive(Debug)]
pub(super) struct Path {
    /// For each position the local state of each slot; outside of the block it says nothing.
    pub(super) at: Vec<Vec<u32>>,
    /// For each step the syncs that may be it.
    pub(super) steps: Vec<Vec<u32>>,
    /// For each position the syncs with parts inside and outside that leave the block where it is.
    pub(super) loops: Vec<Vec<u32>>,
}

impl Path {
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }
}

/// The result of searching a block.
#[derive(Debug)]
pub(super) struct Searched {
    pub(super) states: u64,
    pub(super) transitions: u64,
    /// The shortest way to a suspicious state, if there is one.
    pub(super) path: Option<Path>,
}

impl Searched {
    /// What it cost, in ticks.
    pub(super) fn cost(&self) -> u64 {
        cost(self.states, self.transitions)
    }
}

fn cost(states: u64, transitions: u64) -> u64 {
    STATE * states + STEP * transitions
}

impl<'a> Block<'a> {
    pub(super) fn new(frame: &'a Frame, slots: &[u32]) -> Self {
        let mut inside = vec![false; frame.width()];
        slots.iter().for_each(|&slot| inside[slot as usize] = true);
        let mut cuts: BTreeMap<Sync, Vec<u32>> = BTreeMap::new();
        let mut free = Vec::new();
        for (ix, sync) in (0u32..).zip(frame.syncs()) {
            let within: Sync = sync.iter().filter(|part| inside[part.0 as usize]).copied().collect();
            if within.is_empty() {
                free.push(ix);
            } else if within.len() == sync.len() || !mutants::is(Mutant::ForgetEnvironment) {
                cuts.entry(within).or_default().push(ix);
            }
        }
        Block { frame, slots: slots.to_vec(), inside, cuts: cuts.into_iter().collect(), free }
    }

    /// The parts of a sync that are outside.
    pub(super) fn outside(&self, sync: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let parts = self.frame.syncs()[sync as usize].iter().copied();
        parts.filter(|part| !self.inside[part.0 as usize])
    }

    /// The slots outside.
    pub(super) fn others(&self) -> Vec<u32> {
        self.frame.slots().filter(|&slot| !self.inside[slot as usize]).collect()
    }

    /// Explores it until something suspicious is found.
    pub(super) fn search(&self, effort: Effort) -> Result<Searched, Trouble> {
        let calm = self.frame.observer.is_none().then(|| Calm::new(self));
        if self.slots.is_empty() {
            let start = vec![0; self.frame.width()];
            let suspicious = calm.is_some_and(|calm| calm.is_suspicious(&start));
            let path = suspicious.then(|| self.path(vec![start]));
            return Ok(Searched { states: 1, transitions: 0, path });
        }
        let prepared = Prepared::new(self.network(), Vec::new());
        let search = BlockSearch { block: self, calm: calm.as_ref(), effort };
        prepared.visit(search).map_err(Trouble::Internal)?
    }

    /// The block as a network of its own: its vectors are the cuts.
    fn network(&self) -> Network {
        let mut net = Network::new();
        for &slot in &self.slots {
            let lts = self.frame.lts(slot);
            let table = |state: State| {
                let moves = lts.outgoing(state).iter().filter(|t| t.label.0 != BAD);
                let moves = moves.map(|t| (LocalLabel(t.label.0), Local(t.to.0))).collect();
                LocalTable { moves, expanded: true }
            };
            let labels = lts.labels().len();
            net.leaves.push(Leaf {
                states: lts.states().map(table).collect(),
                labels: vec![String::new(); labels],
                vectors_of: vec![Vec::new(); labels],
                ..Leaf::default()
            });
        }
        for (parts, _) in &self.cuts {
            let part = |&(slot, label): &(u32, u32)| {
                let leaf = self.slots.partition_point(|&known| known < slot);
                (LeafIx(leaf as u32), LocalLabel(label))
            };
            net.add_vector(parts.iter().map(part).collect(), Outcome::Step(Label::TAU), Label::TAU);
        }
        net
    }

    /// A way through these states, with all that may stand behind its steps.
    fn path(&self, at: Vec<Vec<u32>>) -> Path {
        let leads = |parts: &Sync, from: &[u32], to: &[u32]| {
            let moves = |&slot: &u32| from[slot as usize] != to[slot as usize];
            let moving = self.slots.iter().filter(|slot| moves(slot)).count();
            let takes_part = parts.iter().filter(|part| moves(&part.0)).count();
            let can = |&part: &(u32, u32)| self.frame.leads(part, from[part.0 as usize], to[part.0 as usize]);
            moving == takes_part && parts.iter().all(can)
        };
        let between = |from: &[u32], to: &[u32]| -> Vec<u32> {
            let cuts = self.cuts.iter().filter(|(parts, _)| leads(parts, from, to));
            cuts.flat_map(|(_, syncs)| syncs.iter().copied()).collect()
        };
        let steps = at.windows(2).map(|pair| between(&pair[0], &pair[1])).collect();
        let loops = |state: &Vec<u32>| {
            let mut loops = between(state, state);
            loops.retain(|&sync| self.outside(sync).next().is_some());
            loops
        };
        Path { loops: at.iter().map(loops).collect(), steps, at }
    }
}

/// Breadth first, on one thread.
struct BlockSearch<'a> {
    block: &'a Block<'a>,
    calm: Option<&'a Calm<'a>>,
    effort: Effort<'a>,
}

/// How many states are explored between two looks at the clock and the budget.
const CHUNK: usize = 1 << 10;
/// No state: where the search began.
const NONE: u32 = u32::MAX;

impl Visitor for BlockSearch<'_> {
    type Out = Result<Searched, Trouble>;

    fn visit<S: EveryStep + Send + std::marker::Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        self.explore(&*system)
    }
}

impl BlockSearch<'_> {
    fn explore<S: Successors>(&self, system: &S) -> Result<Searched, Trouble> {
        let words = system.packing().words();
        let mut held = Held::new(self.effort.budget, 0)?;
        let mut states = system.initial();
        let mut parents = vec![NONE];
        // By the hash of visited sets: packed states differ in upper bits, too, and that of maps carries nothing down. With it most
        // of the time was spent on states that met in one place of the table.
        let mut numbers: HashTable<u32> = HashTable::new();
        numbers.insert_unique(hash(&states), 0, |_| unreachable!("the first needs no room made"));
        let mut local = vec![0; self.block.frame.width()];
        let mut steps = Steps::new(words);
        let (mut next, mut counted, mut transitions) = (0, 0, 0);
        // A state, its parent and its place in the table, which is full at seven of eight.
        let bytes = (words * 8 + 4 + 10) as u64;
        let found = |states: &[u64], number: usize, local: &mut Vec<u32>| {
            self.unpack(system, &states[number * words..][..words], local);
            self.is_suspicious(local)
        };
        if found(&states, 0, &mut local) {
            return Ok(Searched {
                states: 1,
                transitions,
                path: Some(self.way(system, &states, &parents, 0)),
            });
        }
        while next < parents.len() {
            if next % CHUNK == 0 {
                self.effort.stop.check()?;
                let now = parents.len() as u64;
                held.grow(2 * (now - counted) * bytes)?;
                counted = now;
                if cost(now, transitions) > self.effort.ticks.left() {
                    return Err(Trouble::TooLarge);
                }
            }
            steps.clear();
            let from = states[next * words..][..words].to_vec();
            system.expand(&from, &mut steps).map_err(Trouble::Internal)?;
            transitions += steps.len() as u64;
            if self.is_whole_and_stuck(&steps) {
                let path = Some(self.way(system, &states, &parents, next as u32));
                return Ok(Searched { states: parents.len() as u64, transitions, path });
            }
            for (target, _) in steps.iter() {
                let hashed = hash(target);
                let at = |number: u32| &states[number as usize * words..][..words];
                if numbers.find(hashed, |&number| at(number) == target).is_some() {
                    continue;
                }
                if parents.len() as u64 >= self.effort.states.min(u64::from(NONE - 1)) {
                    return Err(Trouble::TooLarge);
                }
                let number = parents.len() as u32;
                numbers.insert_unique(hashed, number, |&number| hash(at(number)));
                states.extend_from_slice(target);
                parents.push(next as u32);
                if found(&states, number as usize, &mut local) {
                    let path = Some(self.way(system, &states, &parents, number));
                    return Ok(Searched { states: parents.len() as u64, transitions, path });
                }
            }
            next += 1;
        }
        Ok(Searched { states: parents.len() as u64, transitions, path: None })
    }

    fn unpack<S: Successors>(&self, system: &S, state: &[u64], local: &mut [u32]) {
        for (leaf, &slot) in (0..).map(LeafIx).zip(&self.block.slots) {
            local[slot as usize] = system.packing().field(leaf).get(state).0;
        }
    }

    fn is_suspicious(&self, local: &[u32]) -> bool {
        match (self.block.frame.observer, self.calm) {
            (Some(slot), _) => self.block.frame.component(slot).is_bad(local[slot as usize]),
            (None, Some(calm)) => !calm.is_whole() && calm.is_suspicious(local),
            (None, None) => false,
        }
    }

    /// If no leaf is outside, a deadlock is where no step leads on: that is cheaper to see when a state is expanded.
    fn is_whole_and_stuck(&self, steps: &Steps) -> bool {
        steps.is_empty() && self.calm.is_some_and(Calm::is_whole)
    }

    fn way<S: Successors>(&self, system: &S, states: &[u64], parents: &[u32], end: u32) -> Path {
        let words = system.packing().words();
        let (mut at, mut number) = (Vec::new(), end);
        while number != NONE {
            let mut local = vec![0; self.block.frame.width()];
            self.unpack(system, &states[number as usize * words..][..words], &mut local);
            at.push(local);
            number = parents[number as usize];
        }
        at.reverse();
        self.block.path(at)
    }
}

/// An internal error.
pub(super) fn internal(message: impl std::fmt::Display) -> Trouble {
    Trouble::Internal(Error::internal(message))
}
