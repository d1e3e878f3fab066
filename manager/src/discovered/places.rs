//! The known part of a guide that is discovered: places, the states at each, and the moves between them.
//!
//! A place is identified by where the subsystem stands, and the first prefix that led there is the word of edges back to
//! the initial place. Invariant: a state stands at its place once, its number there never changes, and its origin is a
//! state that was there before it; so origins lead back to the initial state.

use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::hash::{Map, Set};
use gridlock_lts::base::memory::{Budget, Exhausted};
use gridlock_worker::discovered::{Feedback, Grown, Known, Stand};
use gridlock_worker::states::{Origin, States};

/// Bytes that a move between places takes, about.
const EDGE: u64 = 96;
/// Bytes that a place takes besides its states, about.
const PLACE: u64 = 256;

/// Steps as vectors and packed targets.
pub(super) type Steps = Vec<(u32, Vec<u64>)>;

/// A place.
pub(super) struct Place<'b> {
    pub(super) states: States<'b>,
    /// The numbers of the states that are not expanded.
    pub(super) waiting: Vec<u32>,
    /// How often a job had it.
    pub(super) searched: u64,
}

/// See the module head.
pub(super) struct Places<'b> {
    stand: Stand,
    words: usize,
    budget: &'b Budget,
    pub(super) list: Vec<Place<'b>>,
    at: Map<Vec<u64>, u32>,
    edges: Set<(u32, u32, Vec<u64>)>,
    /// States for places of other jobs, until the round is over.
    inbox: Vec<(Vec<u64>, Origin)>,
}

/// Why a feedback could not be recorded.
pub(super) enum Trouble {
    /// There is no memory for it.
    Full,
    /// It makes no sense.
    Senseless(&'static str),
}

impl From<Exhausted> for Trouble {
    fn from(_: Exhausted) -> Self {
        Trouble::Full
    }
}

impl<'b> Places<'b> {
    /// The places of a new swarm: only the initial state waits.
    pub(super) fn new(stand: Stand, initial: &[u64], budget: &'b Budget) -> Result<Self, Exhausted> {
        let mut places = Places {
            stand,
            words: initial.len(),
            budget,
            list: Vec::new(),
            at: Map::default(),
            edges: Set::default(),
            inbox: Vec::new(),
        };
        places.put(initial, Origin { position: 0, index: 0, vector: u32::MAX })?;
        Ok(places)
    }

    pub(super) fn edges(&self) -> usize {
        self.edges.len()
    }

    pub(super) fn states(&self) -> u64 {
        self.list.iter().map(|place| place.states.len() as u64).sum()
    }

    pub(super) fn waiting(&self) -> u64 {
        self.list.iter().map(|place| place.waiting.len() as u64).sum()
    }

    /// The states of a place, as a job gets them.
    pub(super) fn known(&self, id: u32) -> Known {
        let Place { states, waiting, .. } = &self.list[id as usize];
        let all = (0..states.len()).flat_map(|k| states.get(k)).copied().collect();
        Known { states: all, waiting: waiting.clone() }
    }

    /// Adds a place.
    fn open(&mut self, stand: Vec<u64>) -> Result<u32, Exhausted> {
        self.budget.take(PLACE)?;
        let id = self.list.len() as u32;
        self.at.insert(stand, id);
        let states = States::new(self.words, true, self.budget);
        self.list.push(Place { states, waiting: Vec::new(), searched: 0 });
        Ok(id)
    }

    /// Adds a state, which waits at its place if it is new.
    fn put(&mut self, state: &[u64], origin: Origin) -> Result<(), Exhausted> {
        let stand = self.stand.of(state);
        let id = match self.at.get(&stand) {
            Some(&id) => id,
            None => self.open(stand)?,
        };
        let place = &mut self.list[id as usize];
        let (index, new) = place.states.number(state, || origin)?;
        if new {
            place.waiting.push(index as u32);
        }
        Ok(())
    }

    /// Records the feedback to a job that was given these places. States that it hands on wait until the round is over.
    pub(super) fn note(&mut self, ids: &[u32], feedback: Feedback) -> Result<(), Trouble> {
        let Feedback { places, elsewhere, origins, edges, .. } = feedback;
        let mut all = ids.to_vec();
        if places.len() < ids.len() {
            return Err(Trouble::Senseless("places are missing"));
        }
        for grown in &places[ids.len()..] {
            let stand = grown.states.chunks_exact(self.words).next().map(|state| self.stand.of(state));
            let new = stand.filter(|stand| !self.at.contains_key(stand));
            all.push(self.open(new.ok_or(Trouble::Senseless("a place is not new"))?)?);
        }
        for (grown, &id) in places.iter().zip(&all) {
            self.grow(id, grown, &all)?;
        }
        for (state, origin) in elsewhere.chunks_exact(self.words).zip(origins) {
            self.inbox.push((state.to_vec(), global(origin, &all)?));
        }
        for edge in edges {
            let from = *all.get(edge.from as usize).ok_or(Trouble::Senseless("an edge begins nowhere"))?;
            if self.edges.insert((from, edge.vector, edge.to)) {
                self.budget.take(EDGE)?;
            }
        }
        Ok(())
    }

    /// Records what a job reports about a place.
    fn grow(&mut self, id: u32, grown: &Grown, all: &[u32]) -> Result<(), Trouble> {
        let place = &mut self.list[id as usize];
        place.searched += 1;
        for (state, origin) in grown.states.chunks_exact(self.words).zip(&grown.origins) {
            let origin = global(*origin, all)?;
            if !place.states.insert(state, || origin)? {
                return Err(Trouble::Senseless("a state is not new"));
            }
        }
        if grown.waiting.iter().any(|&k| k as usize >= place.states.len()) {
            return Err(Trouble::Senseless("a state waits that is not there"));
        }
        place.waiting.clone_from(&grown.waiting);
        Ok(())
    }

    /// Ends the round: states that were handed on come to their places.
    pub(super) fn deliver(&mut self) -> Result<(), Exhausted> {
        for (state, origin) in std::mem::take(&mut self.inbox) {
            self.put(&state, origin)?;
        }
        Ok(())
    }

    /// The steps from the initial state to a state at a place.
    pub(super) fn way(&self, id: u32, index: u32) -> Result<Steps> {
        let lost = || Error::internal("a state has no origin");
        let (mut steps, mut at) = (Vec::new(), (id, index as usize));
        loop {
            let place = self.list.get(at.0 as usize).filter(|place| at.1 < place.states.len());
            let place = place.ok_or_else(lost)?;
            let origin = place.states.origin(at.1).ok_or_else(lost)?;
            if origin.vector == u32::MAX {
                steps.reverse();
                return Ok(steps);
            }
            steps.push((origin.vector, place.states.get(at.1).to_vec()));
            at = (origin.position, origin.index as usize);
        }
    }

    /// The prefix of a place: the vectors of the moves that led there first.
    pub(super) fn prefix(&self, id: u32) -> Vec<u32> {
        let (mut prefix, mut at) = (Vec::new(), id);
        while let Some(origin) = self.list[at as usize].states.origin(0).filter(|o| o.vector != u32::MAX) {
            prefix.push(origin.vector);
            at = origin.position;
        }
        prefix.reverse();
        prefix
    }
}

/// An origin with the number of its place, not its position in the list of a job.
fn global(origin: Origin, all: &[u32]) -> Result<Origin, Trouble> {
    let position = *all.get(origin.position as usize).ok_or(Trouble::Senseless("an origin is nowhere"))?;
    Ok(Origin { position, ..origin })
}
