//! One search for each class of orders.
//!
//! Traces that differ only in the order of independent moves are one class (see [`Orders`]), and one job follows it in all of
//! its orders. What jobs report are *beginnings*: sets of moves that were done, each leaf's in its own order, and the moves
//! that were possible then. A beginning is *known* once a job has visited all states in which exactly that is done, and
//! *open* once a known one and a possible move lead to it while it is not known. Jobs are made for open beginnings, along any
//! class with that beginning.
//!
//! An ID cannot be pruned because its own order was impossible: another order of the same class may be possible, since moves
//! that share no leaf of the subsystem may need each other by way of the other leaves. So the IDs that remain are pruned when
//! no beginning is open. Invariant: every run of the system follows known beginnings, or goes on from an open one, or from
//! one that a job under way will report. So when no beginning is open and no job is under way, every reachable state was
//! visited.

use super::processing::Answered;
use super::sizing::Sizing;
use super::space::Space;
use super::status::{Class, Pruned};
use super::{Config, Part, Swarm};
use crate::traces::strategy::StrategyKind;
use gridlock_lts::base::error::Error;
use gridlock_lts::base::hash::{Map, Set};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::guide::{ActionIx, EdgeIx, Guide, Orders, StateIx};
use gridlock_worker::job::{Job, JobEnd, Position, Then};
use num_bigint::BigUint;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A beginning: for each leaf the moves that it has done, as the number of a word. Orders of the same moves have the same words.
type Key = Box<[u32]>;

/// Bytes of a beginning in the tables, apart from its words and its path.
const OVERHEAD: u64 = 64;

/// Words of actions, by numbers; 0 is the empty one.
struct Words {
    longer: Map<(u32, ActionIx), u32>,
    lengths: Vec<u32>,
}

impl Words {
    /// A word with one more action.
    fn with(&mut self, word: u32, action: ActionIx) -> u32 {
        let (next, length) = (self.lengths.len() as u32, self.lengths[word as usize] + 1);
        let number = *self.longer.entry((word, action)).or_insert(next);
        if number == next {
            self.lengths.push(length);
        }
        number
    }
}

/// An open beginning, with one of its orders as edges of the guide.
struct Open {
    key: Key,
    path: Vec<EdgeIx>,
}

/// A class under way.
struct UnderWay {
    /// The beginning that the job was made for.
    wanted: Key,
    /// The trace that stands for the class, as edges of the guide.
    path: Vec<EdgeIx>,
    /// For each leaf the words that it goes through, by length.
    words: Vec<Vec<u32>>,
}

impl UnderWay {
    /// Whether the class has this beginning.
    fn covers(&self, key: &[u32], words: &Words) -> bool {
        key.iter()
            .zip(&self.words)
            .all(|(&word, through)| through.get(words.lengths[word as usize] as usize) == Some(&word))
    }
}

/// The known facts about the classes of a guide.
pub(super) struct Classes {
    guide: Guide,
    orders: Arc<Orders>,
    words: Words,
    known: Set<Key>,
    /// In the order in which they were found.
    open: BTreeMap<u64, Open>,
    numbers: Map<Key, u64>,
    found: u64,
    /// By the numbers of jobs.
    under_way: BTreeMap<u64, UnderWay>,
    /// For each action whether it was possible anywhere, and on how many paths it was.
    possible: Vec<bool>,
    used: Vec<u32>,
    bytes: u64,
}

impl Classes {
    pub(super) fn new(guide: Guide, orders: Arc<Orders>) -> Self {
        let mut classes = Classes {
            words: Words { longer: Map::default(), lengths: vec![0] },
            known: Set::default(),
            open: BTreeMap::new(),
            numbers: Map::default(),
            found: 0,
            under_way: BTreeMap::new(),
            possible: vec![false; orders.actions()],
            used: vec![0; orders.actions()],
            bytes: 0,
            guide,
            orders,
        };
        classes.add(vec![0; classes.guide.leaves().len()].into(), Vec::new());
        classes
    }

    /// How many beginnings are open.
    pub(super) fn open(&self) -> u64 {
        self.open.len() as u64
    }

    fn add(&mut self, key: Key, path: Vec<EdgeIx>) {
        self.bytes += OVERHEAD + 4 * (2 * key.len() + path.len()) as u64;
        self.numbers.insert(key.clone(), self.found);
        self.open.insert(self.found, Open { key, path });
        self.found += 1;
    }

    /// A class for job `number`, as edges of the guide of classes; `None` if all open beginnings are under way.
    fn give_out(&mut self, number: u64, config: &Config) -> Option<Vec<EdgeIx>> {
        let free = |open: &&Open| !self.under_way.values().any(|way| way.covers(&open.key, &self.words));
        let chosen = match config.strategy {
            StrategyKind::Random if !self.open.is_empty() => {
                let skip =
                    Rng::new(config.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).below(self.open.len());
                let from = self.open.values().skip(skip).chain(self.open.values().take(skip));
                from.into_iter().find(free)?
            }
            _ => self.open.values().find(free)?,
        };
        let (wanted, beginning) = (chosen.key.clone(), chosen.path.clone());
        let whole = self.extended(beginning);
        let representative =
            self.orders.representative(&whole).expect("the path goes on to an end of the guide");
        let path: Vec<EdgeIx> = representative.iter().map(|&e| self.orders.original(e)).collect();
        let mut words = vec![vec![0]; self.guide.leaves().len()];
        for action in path.iter().map(|&e| self.orders.action(e)) {
            self.used[action.0 as usize] += 1;
            for &leaf in self.orders.parts(action) {
                let last = *words[leaf].last().expect("the empty word at least");
                words[leaf].push(self.words.with(last, action));
            }
        }
        self.under_way.insert(number, UnderWay { wanted, path, words });
        Some(representative)
    }

    /// A path with this beginning to an end of the guide. It prefers moves that were possible in some state and that few jobs
    /// have followed.
    fn extended(&self, mut path: Vec<EdgeIx>) -> Vec<EdgeIx> {
        let mut state = self.guide.end(&path);
        let worth = |&e: &EdgeIx| {
            let action = self.orders.action(e).0 as usize;
            (!self.possible[action], self.used[action], e)
        };
        while let Some(edge) = self.guide.edges_of(state).map(EdgeIx).min_by_key(worth) {
            path.push(edge);
            state = self.guide.edge(edge).target;
        }
        path
    }

    /// Takes the positions that a complete job has reported.
    fn learn(&mut self, number: u64, positions: &[Position]) -> Result<(), String> {
        let way = self.under_way.remove(&number).ok_or("it was not under way")?;
        let mut keys = Vec::with_capacity(positions.len());
        for position in positions {
            let done = &position.done;
            let within = done.len() == way.words.len()
                && done.iter().zip(&way.words).all(|(&n, words)| (n as usize) < words.len());
            if !within || !self.is_beginning(&way.path, done) {
                return Err("a position is none of its path".to_owned());
            }
            let key: Key = done.iter().zip(&way.words).map(|(&n, words)| words[n as usize]).collect();
            if let Some(open) = self.numbers.remove(&key) {
                self.open.remove(&open);
            }
            if self.known.insert(key.clone()) {
                self.bytes += OVERHEAD + 4 * key.len() as u64;
            }
            keys.push(key);
        }
        if !self.known.contains(&way.wanted) {
            return Err("it does not tell of the beginning that it was made for".to_owned());
        }
        for (position, key) in positions.iter().zip(keys) {
            for edge in position.possible.iter().map(|&e| EdgeIx(e)) {
                if edge.0 as usize >= self.orders.edges() {
                    return Err("an edge is none of the guide".to_owned());
                }
                let action = self.orders.action(edge);
                self.possible[action.0 as usize] = true;
                let mut longer = key.clone();
                for &leaf in self.orders.parts(action) {
                    longer[leaf] = self.words.with(longer[leaf], action);
                }
                if self.known.contains(&longer) || self.numbers.contains_key(&longer) {
                    continue;
                }
                let mut path = self.in_order(&way.path, &position.done);
                if !self.guide.leads_on(self.guide.end(&path), edge) {
                    return Err("an edge does not leave the place of its position".to_owned());
                }
                path.push(edge);
                self.add(longer, path);
            }
        }
        Ok(())
    }

    /// Whether the given numbers of moves of each leaf are a beginning of the path in one of its orders.
    fn is_beginning(&self, path: &[EdgeIx], done: &[u32]) -> bool {
        let mut met = vec![0; done.len()];
        path.iter().all(|&e| {
            let parts = self.orders.parts(self.orders.action(e));
            let some = parts.iter().filter(|&&leaf| met[leaf] < done[leaf]).count();
            parts.iter().for_each(|&leaf| met[leaf] += 1);
            some == 0 || some == parts.len()
        })
    }

    /// The moves of a path that are done, as edges of the guide in the order of the path.
    fn in_order(&self, path: &[EdgeIx], done: &[u32]) -> Vec<EdgeIx> {
        let (mut met, mut state, mut out) = (vec![0; done.len()], StateIx(0), Vec::new());
        for &e in path {
            let action = self.orders.action(e);
            let parts = self.orders.parts(action);
            if met[parts[0]] < done[parts[0]] {
                let mut edges = self.guide.edges_of(state).map(EdgeIx);
                let edge = edges.find(|&e| self.orders.action(e) == action);
                let edge = edge.expect("independent moves may come in any order");
                state = self.guide.edge(edge).target;
                out.push(edge);
            }
            parts.iter().for_each(|&leaf| met[leaf] += 1);
        }
        out
    }
}

impl Swarm<'_> {
    /// Makes a job that follows a class in any order, if one can be made now.
    pub(super) fn make_in_any_order(&mut self) -> Option<Job> {
        let number = self.ledger.made();
        let classes = self.classes.as_mut()?;
        let representative = classes.give_out(number, &self.config)?;
        let path = representative.iter().map(|&e| classes.orders.original(e).0).collect();
        let space = self.spaces[0].as_mut().expect("the first space is never dropped");
        let ids = space.guide.range(&representative);
        let ids = ids.start.clone()..ids.end();
        let count = space.remaining.move_to(&ids, &mut space.in_work);
        assert!(count == BigUint::from(1u32), "what is open was neither searched nor is it under way");
        let job = Job {
            number,
            refinements: Vec::new(),
            path,
            then: Then::Stop,
            any_order: true,
            order: self.config.order,
            limits: self.config.limits,
            handed: None,
        };
        self.add(job.clone(), Part { space: 0, ids, count, nodes: Vec::new() });
        Some(job)
    }

    /// Judges the answer to a job that followed a class in any order.
    pub(super) fn judge_in_any_order(&mut self, answered: &Answered, pruned: &mut Vec<Pruned>) -> Class {
        let number = answered.job.number;
        // Once a class was too large single traces are followed: others do this again.
        let Some(classes) = self.classes.as_mut() else { return Class::Split };
        if answered.feedback.end != JobEnd::Complete {
            self.follow_single_traces();
            return Class::Split;
        }
        if let Err(reason) = classes.learn(number, &answered.feedback.positions) {
            let why = format_args!("the feedback does not fit the job: {reason}");
            return self.fail(number, Error::internal(why));
        }
        if classes.bytes > self.config.border_memory {
            self.follow_single_traces();
            return Class::Split;
        }
        let through = classes.open.is_empty() && classes.under_way.is_empty();
        let space = self.spaces[0].as_mut().expect("the first space is never dropped");
        space.explore(&answered.ids);
        if through {
            let all = BigUint::ZERO..space.guide.traces().clone();
            space.take_out(all, 0, pruned);
        }
        Class::Explored
    }

    /// Goes on with jobs of one trace in one order: the space begins anew.
    fn follow_single_traces(&mut self) {
        let Some(classes) = self.classes.take() else { return };
        self.spaces[0] = Some(Space::new(classes.guide, Vec::new(), &self.config, Sizing::new(None)));
        self.status.any_order = false;
        // The IDs of what was recorded are those of classes.
        self.events.clear();
    }
}
