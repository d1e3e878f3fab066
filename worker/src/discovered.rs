//! Searches for a guide that is discovered: the searches themselves report what the subsystem can do; it is not known before.
//!
//! Tables are filled while the system is searched, so there is no LTS of the subsystem to follow. A *place* is where the
//! subsystem stands, as its local states. A job gets places with all states that are known there. It expands the waiting
//! states, over moves of the other leaves and over moves of the subsystem between its places. It reports which moves of the
//! subsystem have happened, and hands on states at places of other jobs.
//!
//! Local states are numbered in the order in which tables are filled, and a packed state means something only with these
//! numbers. So a job fills no tables. It comes with the list of entries to fill before it begins, in an order that is the
//! same for all workers. A state that needs more entries waits, and the feedback lists them. Invariants: a feedback depends
//! on the job and the system only; every state that the job was given, and every target of a step from an expanded state, is
//! either handed on or kept at its place, expanded or waiting.

use crate::guided::search::look_at;
use crate::job::{Effort, Finding, JobEnd, JobLimits};
use crate::life::Life;
use crate::states::{Origin, States};
use crate::stop::Stop;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::hash::{Map, Set};
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::look::Found;
use gridlock_lts::engine::pack::Packing;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::{LeafIx, Local, LocalLabel, Network, TableSource};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A local state of a leaf, by numbers.
pub type Entry = (u32, u32);

/// The states that are known at a place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Known {
    /// Packed states, one after the other; there is at least one.
    pub states: Vec<u64>,
    /// The numbers of the states that are not expanded.
    pub waiting: Vec<u32>,
}

/// A search at some places.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Numbered from 0 in the order in which jobs are made.
    pub number: u64,
    /// The table entries to fill before any job of this round, in this order.
    pub filled: Vec<Entry>,
    /// The places; no other job has them at the same time.
    pub places: Vec<Known>,
    /// Whether the job has all places. A place that is not among them is then new, and belongs to the job.
    pub all: bool,
    /// The most that the search may use.
    pub limits: JobLimits,
}

/// A place of the job after its search.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Grown {
    /// New states of the place; they are numbered after the known ones.
    pub states: Vec<u64>,
    /// Where each of them came from: the position of a place in the job's list, the number of a state there, a vector.
    pub origins: Vec<Origin>,
    /// The numbers of all states that are not expanded.
    pub waiting: Vec<u32>,
}

/// A move of the subsystem that has happened.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Edge {
    /// The place it leads from, as a position in the job's list.
    pub from: u32,
    /// The least vector in which the leaves of the subsystem do the same.
    pub vector: u32,
    /// The place it leads to, as a packed state in which all but the subsystem is 0.
    pub to: Vec<u64>,
}

/// The answer to a job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Feedback {
    /// The job's number.
    pub number: u64,
    /// How it ended. The path of a finding is its last step only, and empty for a deadlock.
    pub end: JobEnd,
    /// If something was found: the position of the place and the number of the state there.
    pub at: Option<(u32, u32)>,
    /// The job's places, then the new ones.
    pub places: Vec<Grown>,
    /// States at places that are not the job's.
    pub elsewhere: Vec<u64>,
    /// Where each of them came from.
    pub origins: Vec<Origin>,
    /// Moves of the subsystem, ascending.
    pub edges: Vec<Edge>,
    /// The table entries that the states set aside need, ascending.
    pub missing: Vec<Entry>,
    /// How much was done.
    pub effort: Effort,
}

/// The bits of the subsystem in a packed state.
#[derive(Clone, Debug)]
pub struct Stand(Vec<u64>);

impl Stand {
    /// The bits of some leaves.
    pub fn new(packing: &Packing, leaves: &[LeafIx]) -> Self {
        let mut mask = vec![0; packing.words()];
        for &leaf in leaves {
            let field = packing.field(leaf);
            mask[field.word as usize] |= field.mask() << field.shift;
        }
        Stand(mask)
    }

    /// Where the subsystem stands in a state: the state with all other bits 0.
    pub fn of(&self, state: &[u64]) -> Vec<u64> {
        state.iter().zip(&self.0).map(|(word, mask)| word & mask).collect()
    }

    fn same(&self, one: &[u64], other: &[u64]) -> bool {
        one.iter().zip(other).zip(&self.0).all(|((a, b), mask)| (a ^ b) & mask == 0)
    }
}

/// A system whose tables are filled as jobs need them, shared by the workers of a process.
pub struct Growing {
    /// The system.
    pub lazy: Arc<Lazy<'static>>,
    /// The subsystem.
    pub leaves: Vec<LeafIx>,
    /// How many of the entries that jobs list are filled.
    filled: Mutex<usize>,
}

impl Growing {
    /// A system for which no job has filled an entry yet.
    pub fn new(lazy: Lazy<'static>, leaves: Vec<LeafIx>) -> Self {
        Growing { lazy: Arc::new(lazy), leaves, filled: Mutex::new(0) }
    }

    /// Returns the network as far as it is known, and the source of its tables.
    pub fn take_parts(growing: Arc<Self>) -> Result<(Network, Box<dyn TableSource>)> {
        match Arc::try_unwrap(growing) {
            Ok(growing) => Lazy::take_parts(growing.lazy),
            Err(held) => Lazy::take_parts(held.lazy.clone()),
        }
    }

    /// Fills the table entries that a job lists. Jobs of a later round list more; they come when no job of this round is left.
    pub fn fill(&self, wanted: &[Entry], life: &Life) -> Result<()> {
        let mut filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(&(leaf, local)) = wanted.get(*filled) {
            if life.is_cancelled() {
                return Err(Error::Limit(Limit::Interrupted));
            }
            self.lazy.fill(LeafIx(leaf), Local(local))?;
            *filled += 1;
        }
        Ok(())
    }
}

/// Does jobs, one at a time.
pub struct Worker<'a> {
    growing: &'a Growing,
    stand: Stand,
    /// For each vector the least vector in which the subsystem does the same.
    alike: Vec<u32>,
    first: Map<Vec<(LeafIx, LocalLabel)>, u32>,
}

impl<'a> Worker<'a> {
    /// A worker.
    pub fn new(growing: &'a Growing) -> Self {
        let stand = Stand::new(growing.lazy.packing(), &growing.leaves);
        Worker { growing, stand, alike: Vec::new(), first: Map::default() }
    }

    /// Does a job. It ends early, as interrupted, soon after it is cancelled.
    pub fn run(&mut self, job: &Job, life: &Life) -> Feedback {
        let begun = Instant::now();
        let budget = Budget::new(job.limits.memory);
        let mut feedback = match self.growing.fill(&job.filled, life) {
            Ok(()) => {
                self.growing
                    .lazy
                    .with_network(|net| learn(net, self.growing, &mut self.alike, &mut self.first));
                PlaceSearch::new(&*self.growing.lazy, &self.stand, &self.alike, job, &budget).run(life)
            }
            Err(error) => ended(job, error.into()),
        };
        feedback.effort.memory = budget.peak();
        feedback.effort.nanoseconds = begun.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
        feedback
    }
}

/// Learns for new vectors what the subsystem does in them.
fn learn(
    net: &Network,
    growing: &Growing,
    alike: &mut Vec<u32>,
    first: &mut Map<Vec<(LeafIx, LocalLabel)>, u32>,
) {
    for (v, vector) in (0..).zip(&net.vectors).skip(alike.len()) {
        let own = vector.parts.iter().filter(|(leaf, _)| growing.leaves.contains(leaf));
        alike.push(*first.entry(own.copied().collect()).or_insert(v));
    }
}

fn ended(job: &Job, stop: Stop) -> Feedback {
    Feedback {
        number: job.number,
        end: JobEnd::of(stop).unwrap_or_else(JobEnd::Failed),
        at: None,
        places: Vec::new(),
        elsewhere: Vec::new(),
        origins: Vec::new(),
        edges: Vec::new(),
        missing: Vec::new(),
        effort: Effort::default(),
    }
}

/// A place and how far its search is.
struct Here<'b> {
    states: States<'b>,
    /// States that were known before.
    known: usize,
    /// The numbers of the states that waited at first, and how many of these and of the new states had their turn.
    waiting: &'b [u32],
    turns: usize,
    /// States that had their turn and need table entries that are not filled.
    aside: Vec<u32>,
}

impl<'b> Here<'b> {
    fn new(words: usize, waiting: &'b [u32], budget: &'b Budget) -> Self {
        Here { states: States::new(words, true, budget), known: 0, waiting, turns: 0, aside: Vec::new() }
    }

    /// The number of the state whose turn it is.
    fn next(&self) -> Option<usize> {
        match self.waiting.get(self.turns) {
            Some(&index) => Some(index as usize),
            None => Some(self.known + self.turns - self.waiting.len()).filter(|&k| k < self.states.len()),
        }
    }

    fn grown(mut self) -> Grown {
        while let Some(index) = self.next() {
            self.aside.push(index as u32);
            self.turns += 1;
        }
        let new = self.known..self.states.len();
        Grown {
            states: new.clone().flat_map(|k| self.states.get(k)).copied().collect(),
            origins: new.filter_map(|k| self.states.origin(k)).collect(),
            waiting: self.aside,
        }
    }
}

/// A search under way.
struct PlaceSearch<'s, S> {
    system: &'s S,
    stand: &'s Stand,
    alike: &'s [u32],
    job: &'s Job,
    budget: &'s Budget,
    places: Vec<Here<'s>>,
    at: Map<Vec<u64>, u32>,
    elsewhere: States<'s>,
    edges: Set<Edge>,
    missing: BTreeSet<(LeafIx, Local)>,
    effort: Effort,
    steps: Steps,
}

impl<'s, S: Successors> PlaceSearch<'s, S> {
    fn new(system: &'s S, stand: &'s Stand, alike: &'s [u32], job: &'s Job, budget: &'s Budget) -> Self {
        let words = system.packing().words();
        PlaceSearch {
            system,
            stand,
            alike,
            job,
            budget,
            places: Vec::new(),
            at: Map::default(),
            elsewhere: States::new(words, true, budget),
            edges: Set::default(),
            missing: BTreeSet::new(),
            effort: Effort::default(),
            steps: Steps::new(words),
        }
    }

    fn run(mut self, life: &Life) -> Feedback {
        let searched = self.load().and_then(|()| self.search(life));
        let whole = self.places.len() >= self.job.places.len();
        let mut feedback = match searched {
            Err(stop) => ended(self.job, stop),
            Ok(None) => Feedback { end: JobEnd::Complete, ..ended(self.job, Stop::Interrupted) },
            Ok(Some((at, Found { what, step, .. }))) => {
                let path = step.into_iter().map(|(vector, target)| (vector.0, target)).collect();
                let end = JobEnd::Found(Finding { what, path });
                Feedback { end, at: Some(at), ..ended(self.job, Stop::Interrupted) }
            }
        };
        feedback.effort = self.effort;
        if !whole {
            // There was no room for what is known.
            return feedback;
        }
        // Where there was no room for the first state of a new place, there is none.
        let known = self.job.places.len();
        self.places.truncate(
            self.places.iter().skip(known).take_while(|here| !here.states.is_empty()).count() + known,
        );
        feedback.places = self.places.into_iter().map(Here::grown).collect();
        let others = 0..self.elsewhere.len();
        feedback.elsewhere = others.clone().flat_map(|k| self.elsewhere.get(k)).copied().collect();
        feedback.origins = others.filter_map(|k| self.elsewhere.origin(k)).collect();
        feedback.edges = self.edges.into_iter().collect();
        feedback.edges.sort_unstable();
        feedback.missing = self.missing.into_iter().map(|(leaf, local)| (leaf.0, local.0)).collect();
        feedback
    }

    fn load(&mut self) -> Result<(), Stop> {
        let words = self.system.packing().words();
        for (position, known) in (0..).zip(&self.job.places) {
            let mut here = Here::new(words, &known.waiting, self.budget);
            let states = known.states.chunks_exact(words);
            let place = states.clone().next().map(|state| self.stand.of(state));
            let fits = |state: &[u64]| place.as_ref().is_some_and(|place| self.stand.same(place, state));
            for state in states {
                let nowhere = || Origin { position: 0, index: 0, vector: u32::MAX };
                if !fits(state) || !here.states.insert(state, nowhere)? {
                    return Err(
                        Error::internal("states were given to a job that are not where it begins").into()
                    );
                }
            }
            here.known = here.states.len();
            let known = |place| self.at.insert(place, position).is_none();
            if !place.is_some_and(known) || here.waiting.iter().any(|&k| k as usize >= here.known) {
                return Err(Error::internal("a place was given to a job that is none").into());
            }
            self.places.push(here);
        }
        Ok(())
    }

    /// Expands waiting states, place by place, until none is left that can be expanded.
    fn search(&mut self, life: &Life) -> Result<Option<((u32, u32), Found)>, Stop> {
        loop {
            let before = self.effort.states;
            let mut position = 0;
            while position < self.places.len() {
                let found = self.place(position, life)?;
                if found.is_some() {
                    return Ok(found);
                }
                position += 1;
            }
            if self.effort.states == before {
                return Ok(None);
            }
        }
    }

    fn place(&mut self, position: usize, life: &Life) -> Result<Option<((u32, u32), Found)>, Stop> {
        let (mut state, mut needs) = (Vec::new(), BTreeSet::new());
        while let Some(index) = self.places[position].next() {
            if self.effort.states >= self.job.limits.states {
                return Err(Stop::OverBudget);
            }
            if self.effort.states.is_multiple_of(256) && life.is_cancelled() {
                return Err(Stop::Interrupted);
            }
            state.clear();
            state.extend_from_slice(self.places[position].states.get(index));
            needs.clear();
            self.system.missing(&state, &mut needs);
            if !needs.is_empty() {
                self.missing.append(&mut needs);
                self.places[position].aside.push(index as u32);
                self.places[position].turns += 1;
                continue;
            }
            let before = self.effort;
            let mut steps = std::mem::replace(&mut self.steps, Steps::new(state.len()));
            steps.clear();
            self.system.expand(&state, &mut steps)?;
            let wrong = look_at(self.system, &state, &mut steps, &mut self.effort);
            if let Some(found) = wrong {
                return Ok(Some(((position as u32, index as u32), found)));
            }
            let taken = self.take(position, index, &state, &steps);
            self.steps = steps;
            if let Err(stop) = taken {
                // It counts when it is expanded to its end.
                self.effort = before;
                return Err(stop);
            }
            self.places[position].turns += 1;
            let widest = self.places[position].states.len() as u64;
            self.effort.widest = self.effort.widest.max(widest);
        }
        Ok(None)
    }

    /// Adds the targets of a state's steps to their places, or hands them on.
    fn take(&mut self, position: usize, index: usize, state: &[u64], steps: &Steps) -> Result<(), Stop> {
        for (target, via) in steps.iter() {
            let vector = via.vector().0;
            let origin = || Origin { position: position as u32, index: index as u32, vector };
            if self.stand.same(state, target) {
                self.places[position].states.insert(target, origin)?;
                continue;
            }
            let to = self.stand.of(target);
            let at = match self.at.get(&to) {
                Some(&at) => Some(at as usize),
                None if self.job.all => {
                    self.at.insert(to.clone(), self.places.len() as u32);
                    self.places.push(Here::new(target.len(), &[], self.budget));
                    Some(self.places.len() - 1)
                }
                None => None,
            };
            let vector = self.alike.get(vector as usize).copied().unwrap_or(vector);
            self.edges.insert(Edge { from: position as u32, vector, to });
            match at {
                Some(at) => self.places[at].states.insert(target, origin)?,
                None => self.elsewhere.insert(target, origin)?,
            };
        }
        Ok(())
    }
}
