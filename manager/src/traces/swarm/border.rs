//! States that jobs hand on: where they wait, and which of them make the next jobs.
//!
//! A place of the guide is given out when all places that lead there are done, so that it is searched once and as a whole.
//! Several jobs at a time are possible because each gets places that only it can reach. Places that several jobs reach are
//! `shared`, belong to none of them, and wait for the next round. Invariant: no place is given out while jobs of the round
//! before are under way, so a round follows from the answers before it and not from the workers.

use super::Swarm;
use super::config::Config;
use super::processing::Answered;
use super::sizing::Sizing;
use super::space::Space;
use super::status::Class;
use gridlock_lts::base::error::Error;
use gridlock_lts::base::hash::Map;
use gridlock_lts::guide::{EdgeIx, Guide, StateIx};
use gridlock_worker::job::{Border, Handed, JobEnd};
use gridlock_worker::sketch::hash;
use num_bigint::BigUint;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// A job gets at least this part of the states that would fill it, and at least this many, so that not all are tiny.
const PART: u64 = 64;
const FEWEST: u64 = 16;

/// How many states of a border came from which job.
pub(super) type Sources = Vec<(u64, u64)>;

/// States that wait at a place.
#[derive(Clone, Default)]
pub(super) struct Node {
    pub(super) border: Border,
    pub(super) sources: Sources,
    /// The traces that begin with the path.
    pub(super) ids: Range<BigUint>,
    /// For each hash the first state with it. A state that has the hash of another one may be kept twice, which costs only
    /// work.
    known: Map<u64, usize>,
}

impl Node {
    /// Adds the states of a border that are new.
    fn merge(&mut self, other: &Border, number: u64, words: usize) {
        let before = self.border.states.len() / words;
        for state in other.states.chunks_exact(words) {
            let next = self.border.states.len() / words;
            let at = *self.known.entry(hash(state)).or_insert(next);
            if at == next || self.border.states[at * words..][..words] != *state {
                self.border.states.extend_from_slice(state);
            }
        }
        let new = self.border.states.len() / words - before;
        self.sources.push((number, new as u64));
        // Of two borders none can say what is expanded of the other; that a place is given out as a whole means that
        // there is nothing of the kind.
        self.border.expanded = if before == 0 { other.expanded.min(new as u64) } else { 0 };
    }

    fn bytes(&self) -> u64 {
        (self.border.states.len() * 8 + self.known.len() * 24) as u64
    }
}

/// The input of one job.
pub(super) struct Bundle {
    pub(super) nodes: Vec<Node>,
    pub(super) shared: Vec<u32>,
}

impl Bundle {
    /// The same for a worker; the states are moved. The node of the whole has none: the job begins with the initial one.
    pub(super) fn handed(&mut self) -> Handed {
        let borders = self.nodes.iter_mut().map(|node| {
            node.known = Map::default();
            Border { states: std::mem::take(&mut node.border.states), ..node.border.clone() }
        });
        Handed {
            starts: borders.filter(|border| !border.states.is_empty()).collect(),
            shared: std::mem::take(&mut self.shared),
        }
    }
}

/// The states that wait in a space of IDs.
pub(super) struct Frontier {
    /// For each place its turn, and the other way round.
    turns: Vec<u32>,
    places: Vec<u32>,
    /// By turns.
    waiting: BTreeMap<u32, Node>,
    round: VecDeque<Bundle>,
    under_way: usize,
    /// Whether the initial state was given out, or waits to be.
    begun: bool,
    /// Words of a state, once it is known.
    words: usize,
    /// Whether jobs of several places were too large, so that each gets one from now on.
    alone: bool,
}

/// Which jobs reach a place in a round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    Nobody,
    By(u32),
    Several,
}

impl Reached {
    fn and(self, other: Reached) -> Reached {
        match (self, other) {
            (Reached::Nobody, one) | (one, Reached::Nobody) => one,
            (one, other) if one == other => one,
            _ => Reached::Several,
        }
    }
}

impl Frontier {
    pub(super) fn new(guide: &Guide) -> Self {
        let turns = guide.forwards();
        let mut places = vec![0; turns.len()];
        turns.iter().enumerate().for_each(|(place, &turn)| places[turn as usize] = place as u32);
        Frontier {
            turns,
            places,
            waiting: BTreeMap::new(),
            round: VecDeque::new(),
            under_way: 0,
            begun: false,
            words: 1,
            alone: false,
        }
    }

    /// Begins: the initial state waits.
    pub(super) fn begin(&mut self, ids: Range<BigUint>) {
        self.begun = true;
        self.waiting.insert(self.turns[0], Node { ids, ..Node::default() });
    }

    /// Whether jobs already hand on the states that they leave.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether states can be given out, now or later.
    pub(super) fn is_open(&self) -> bool {
        !self.waiting.is_empty() || !self.round.is_empty()
    }

    /// Whether everything is done.
    pub(super) fn is_settled(&self) -> bool {
        !self.is_open() && self.under_way == 0
    }

    pub(super) fn bytes(&self) -> u64 {
        let planned = self.round.iter().flat_map(|bundle| &bundle.nodes);
        self.waiting.values().chain(planned).map(Node::bytes).sum()
    }

    /// The input of the next job, if one can be made now.
    pub(super) fn give_out(&mut self, guide: &Guide, config: &Config) -> Option<Bundle> {
        if self.round.is_empty() && self.under_way == 0 && !self.waiting.is_empty() {
            self.plan(guide, config);
        }
        let bundle = self.round.pop_front()?;
        self.under_way += 1;
        Some(bundle)
    }

    /// Divides the waiting states into jobs that do not reach each other's places.
    fn plan(&mut self, guide: &Guide, config: &Config) {
        let targets = |place: u32| {
            let edges = guide.edges_of(StateIx(place)).map(|e| guide.edge(EdgeIx(e)));
            edges.filter(|edge| !edge.cut).map(|edge| edge.target.0)
        };
        let first = self.waiting.first_key_value().map_or(0, |(&turn, _)| turn) as usize;
        // The places that no other one leads to that waits.
        let mut entered = vec![false; self.places.len()];
        let mut heads: Vec<(u32, u64)> = Vec::new();
        for turn in first..self.places.len() {
            let (place, waiting) = (self.places[turn], self.waiting.get(&(turn as u32)));
            if let Some(node) = waiting.filter(|_| !entered[turn]) {
                heads.push((turn as u32, (node.border.states.len() / self.words).max(1) as u64));
            }
            if waiting.is_some() || entered[turn] {
                targets(place).for_each(|target| entered[self.turns[target as usize] as usize] = true);
            }
        }
        let mut reached = vec![Reached::Nobody; self.places.len()];
        let jobs = self.divide(&heads, config, &mut reached);
        let mut bundles: Vec<Bundle> =
            (0..jobs).map(|_| Bundle { nodes: Vec::new(), shared: Vec::new() }).collect();
        for turn in first..self.places.len() {
            let by = reached[turn];
            if by != Reached::Nobody {
                for target in targets(self.places[turn]) {
                    let target = &mut reached[self.turns[target as usize] as usize];
                    *target = target.and(by);
                }
            }
            let Reached::By(job) = by else { continue };
            if let Some(node) = self.waiting.remove(&(turn as u32)) {
                bundles[job as usize].nodes.push(node);
            }
        }
        for turn in first..self.places.len() {
            if let Reached::By(job) = reached[turn] {
                let several =
                    |target: &u32| reached[self.turns[*target as usize] as usize] == Reached::Several;
                bundles[job as usize].shared.extend(targets(self.places[turn]).filter(several));
            }
        }
        for bundle in &mut bundles {
            bundle.shared.sort_unstable();
            bundle.shared.dedup();
        }
        self.round = bundles.into();
    }

    /// Assigns the heads to jobs, neighbours to the same one; returns the number of jobs.
    fn divide(&self, heads: &[(u32, u64)], config: &Config, reached: &mut [Reached]) -> u32 {
        let all: u64 = heads.iter().map(|(_, states)| states).sum();
        let limits = &config.limits;
        let room = limits.states.min(limits.memory / (8 * self.words as u64 + 16));
        let wanted = match self.alone {
            true => heads.len() as u64,
            false => (all / (room / PART).max(FEWEST)).clamp(1, config.pace.width()),
        };
        let (mut before, mut jobs, mut last) = (0, 0, None);
        for &(turn, states) in heads {
            let part = if self.alone { u64::from(turn) } else { before * wanted / all };
            if last.replace(part) != Some(part) {
                jobs += 1;
            }
            before += states;
            reached[turn as usize] = Reached::By(jobs - 1);
        }
        jobs
    }

    /// Lets states wait at a place; false if others wait there already.
    fn put(&mut self, guide: &Guide, border: &Border, number: u64, ids: Range<BigUint>) -> bool {
        let turn = self.turns[end(guide, &border.path).0 as usize];
        let new = !self.waiting.contains_key(&turn);
        let node = self.waiting.entry(turn).or_insert_with(|| Node {
            border: Border { path: border.path.clone(), ..Border::default() },
            ids,
            ..Node::default()
        });
        node.merge(border, number, self.words);
        new
    }

    /// Whether a border is one of the guide.
    fn fits(&self, guide: &Guide, border: &Border) -> bool {
        let mut state = StateIx(0);
        for &edge in &border.path {
            if !guide.leads_on(state, EdgeIx(edge)) {
                return false;
            }
            state = guide.edge(EdgeIx(edge)).target;
        }
        !border.states.is_empty()
            && border.states.len().is_multiple_of(self.words)
            && border.expanded <= (border.states.len() / self.words) as u64
    }
}

pub(super) fn end(guide: &Guide, path: &[u32]) -> StateIx {
    path.last().map_or(StateIx(0), |&edge| guide.edge(EdgeIx(edge)).target)
}

impl Swarm<'_> {
    /// Judges the answer to a job that was given states to begin with.
    pub(super) fn judge_handed(&mut self, answered: &Answered, nodes: &[Node]) -> Class {
        let number = answered.job.number;
        let Some(space) = self.spaces[answered.space].as_mut() else { return Class::Explored };
        let Some(frontier) = space.frontier.as_mut() else {
            // States are not handed on any more: others do this again.
            return Class::Split;
        };
        frontier.under_way -= 1;
        let left = &answered.feedback.left;
        if answered.feedback.end == JobEnd::OverBudget && left.border.is_empty() {
            if nodes.len() < 2 {
                self.abandon(answered.space);
                return Class::Split;
            }
            frontier.alone = true;
            let starts = answered.job.handed.iter().flat_map(|handed| &handed.starts);
            for (node, border) in nodes.iter().zip(starts) {
                let turn = frontier.turns[end(&space.guide, &node.border.path).0 as usize];
                frontier.waiting.insert(turn, Node { border: border.clone(), ..node.clone() });
                space.in_work.move_to(&node.ids, &mut space.remaining);
            }
            return Class::Split;
        }
        frontier.words = (left.words as usize).max(1);
        if !left.border.iter().all(|border| frontier.fits(&space.guide, border)) {
            return self.fail(number, Error::internal("what it hands on does not fit the guide"));
        }
        for border in &left.border {
            let path: Vec<EdgeIx> = border.path.iter().map(|&edge| EdgeIx(edge)).collect();
            let ids = space.guide.range(&path);
            let ids = ids.start.clone()..ids.end();
            if frontier.put(&space.guide, border, number, ids.clone()) {
                space.in_work.move_to(&ids, &mut space.remaining);
            }
        }
        self.status.handed_on +=
            left.border.iter().map(|b| (b.states.len() / frontier.words) as u64).sum::<u64>();
        let bytes = frontier.bytes();
        for node in nodes {
            space.explored += space.in_work.remove(&node.ids);
        }
        if bytes > self.config.border_memory {
            self.abandon(answered.space);
        }
        Class::Explored
    }

    /// Stops handing on states: the space begins anew, with jobs that begin with the initial state.
    fn abandon(&mut self, at: usize) {
        let Some(space) = self.spaces[at].as_ref() else { return };
        let config = Config { borders: false, ..self.config.clone() };
        let anew = Space::new(space.guide.clone(), space.refinements.clone(), &config, Sizing::new(None));
        self.spaces[at] = Some(anew);
        self.status.borders = false;
    }
}
