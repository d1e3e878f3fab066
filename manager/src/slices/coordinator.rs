//! Which slices are activated next, and which rank has them: a state machine over the results of activations, without threads.
//!
//! Work goes in rounds. Each round some slices with waiting states are activated, in any order, and the states that they send
//! arrive after the round. All ranks have a coordinator, get the same results and so take the same decisions. It knows the
//! number of states of every slice; the states themselves are at the rank that has the slice, where the [`Slice`] has runs
//! and an inbox.
//!
//! Invariant: which slices a round has, and everything that is counted, depends on the network, the subsystem and the job
//! memory only. Results of a round are taken in the order of the slices, not in that of their arrival. The rank that has a
//! slice does its work; nothing else depends on it.

use gridlock_lts::base::error::{Error, Result};
use gridlock_worker::slice::layout::Layout;
use gridlock_worker::slice::message::{Done, Found, SEGMENT_BYTES, Slice, keep_least};
use gridlock_worker::slice::partition::{Bit, Partition, SliceIx, Target};
use gridlock_worker::slice::reach::Reach;
use gridlock_worker::slice::split::segment_bytes;
use gridlock_worker::slice::store::{Segment, Store};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Bytes kept in memory about a slice.
const SLICE_BYTES: u64 = 328;
/// A round has at least this many slices if this many have waiting states: enough to keep several workers busy. With many
/// more, slices are activated for few states; with fewer, workers wait for each other. Between 16 and 64 it matters little.
const ROUND: usize = 32;
/// If very many slices have waiting states, a round has one in this many of them.
const SHARE: usize = 8;

/// The record of a slice, without its states.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    /// States that were expanded, forgotten ones included.
    pub(super) states: u64,
    /// How often it was activated.
    pub(super) activations: u64,
    /// Whether its states were forgotten.
    pub(super) forgotten: bool,
    /// The rank that has it.
    pub(super) owner: usize,
}

/// Totals of all rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) deadlocks: u64,
    pub(super) activations: u64,
    pub(super) sent: u64,
    pub(super) loaded: u64,
    pub(super) splits: u64,
    pub(super) peak: u64,
}

/// The part of the result of an activation that all ranks get: everything but the states.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) slice: SliceIx,
    states: u64,
    transitions: u64,
    deadlocks: u64,
    /// The number of segments of the inbox that were read, and of the states in them.
    pub(super) consumed: usize,
    received: u64,
    left: u64,
    overflow: bool,
    found: Option<Found>,
    peak: u64,
    /// How many states go where, the targets in the order in which they first occur.
    out: Vec<(Target, u64)>,
}

impl Told {
    /// The part of a result that all ranks get.
    pub(super) fn new(slice: SliceIx, done: &Done) -> Self {
        let states = |segments: &[Segment]| segments.iter().map(|segment| segment.states() as u64).sum();
        let mut out: Vec<(Target, u64)> = Vec::new();
        let mut places = std::collections::BTreeMap::new();
        for (target, segment) in &done.out {
            let at = *places.entry(target).or_insert_with(|| {
                out.push((target.clone(), 0));
                out.len() - 1
            });
            out[at].1 += segment.states() as u64;
        }
        Told {
            slice,
            states: done.states,
            transitions: done.transitions,
            deadlocks: done.deadlocks,
            consumed: done.consumed,
            received: done.received,
            left: states(&done.left),
            overflow: done.overflow,
            found: done.found.clone(),
            peak: done.peak,
            out,
        }
    }

    /// States that were expanded.
    pub(super) fn states(&self) -> u64 {
        self.states
    }
}

/// How a slice was divided, without its states.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Division {
    pub(super) slice: SliceIx,
    pub(super) by: Bit,
    /// States visited and waiting in the part with the bit.
    pub(super) with: (u64, u64),
}

/// The slices, and the states that wait for them.
#[derive(Debug)]
pub(super) struct Coordinator {
    /// Shared with workers during a round, like the slices; no worker has them when they change.
    pub(super) partition: Arc<Partition>,
    pub(super) slices: Vec<Arc<Slice>>,
    pub(super) records: Vec<Record>,
    pub(super) totals: Totals,
    pub(super) round: u32,
    pub(super) found: Option<Found>,
    /// Slices that must be divided before the next round.
    too_large: Vec<SliceIx>,
    reach: Option<Reach>,
    pub(super) forgot: bool,
    /// The ranks that have slices, and how many states each of them has, waiting ones included.
    owners: Range<usize>,
    load: Vec<u64>,
}

impl Coordinator {
    /// A coordinator without slices. With `reach`, slices that cannot be entered again are forgotten.
    pub(super) fn new(layout: Layout, reach: Option<Reach>, owners: Range<usize>) -> Self {
        Coordinator {
            partition: Arc::new(Partition::new(layout)),
            slices: Vec::new(),
            records: Vec::new(),
            totals: Totals::default(),
            round: 0,
            found: None,
            too_large: Vec::new(),
            reach,
            forgot: false,
            load: vec![0; owners.end],
            owners,
        }
    }

    /// The rank that has a slice.
    pub(super) fn owner(&self, slice: SliceIx) -> usize {
        self.records[slice.0 as usize].owner
    }

    /// The slices of the next round, the most expensive first; empty if no states wait.
    pub(super) fn next_round(&mut self) -> Vec<SliceIx> {
        let mut waiting: Vec<(u64, SliceIx)> = Vec::new();
        for (k, slice) in self.slices.iter().enumerate().filter(|(_, slice)| slice.waiting > 0) {
            let worth = slice.waiting.saturating_mul(1 << 20) / (slice.visited + slice.waiting);
            waiting.push((u64::MAX - worth, SliceIx(k as u32)));
        }
        waiting.sort_unstable();
        waiting.truncate(ROUND.max(waiting.len() / SHARE));
        self.round += u32::from(!waiting.is_empty());
        let mut slices: Vec<SliceIx> = waiting.into_iter().map(|(_, slice)| slice).collect();
        slices.sort_unstable_by_key(|slice| {
            let of = &self.slices[slice.0 as usize];
            (u64::MAX - of.visited - of.waiting, *slice)
        });
        slices
    }

    /// Changes the numbers of a slice, and those of its rank with them.
    fn change(&mut self, slice: SliceIx, change: impl FnOnce(&mut Slice)) {
        let index = slice.0 as usize;
        let of = Arc::make_mut(&mut self.slices[index]);
        let before = of.visited + of.waiting;
        change(of);
        let load = &mut self.load[self.records[index].owner];
        *load = *load + of.visited + of.waiting - before;
    }

    /// Adds waiting states to a slice, which is made if it does not exist.
    pub(super) fn announce(&mut self, target: &Target, states: u64, store: &Store) -> Result<SliceIx> {
        let slice = match target {
            Target::Slice(slice) => *slice,
            Target::Key(key) => match self.partition.slice_of(key) {
                Some(slice) => slice,
                None => {
                    let slice = self.add(Slice::new(self.partition.layout().mask(), key), None, store)?;
                    Arc::make_mut(&mut self.partition).add(key, slice);
                    slice
                }
            },
        };
        match self.records.get(slice.0 as usize) {
            None => return Err(Error::internal("states are sent to a slice that is not there")),
            Some(record) if record.forgotten => {
                return Err(Error::internal("a slice that was forgotten is entered again"));
            }
            Some(_) => self.change(slice, |of| of.waiting += states),
        }
        Ok(slice)
    }

    /// Adds a slice; the rank that has the fewest states gets it, of several the one that is preferred, or the first.
    fn add(&mut self, slice: Slice, preferred: Option<usize>, store: &Store) -> Result<SliceIx> {
        store.take(SLICE_BYTES)?;
        let rank = |&rank: &usize| (self.load[rank], Some(rank) != preferred, rank);
        let owner = self.owners.clone().min_by_key(rank).unwrap_or(0);
        self.load[owner] += slice.visited + slice.waiting;
        let index = SliceIx(self.slices.len() as u32);
        self.slices.push(Arc::new(slice));
        self.records.push(Record { owner, ..Record::default() });
        Ok(index)
    }

    /// Takes the result of an activation, apart from the states. The results of a round must come in the order of their slices.
    /// Returns the slices to which the targets lead.
    pub(super) fn absorb(&mut self, told: &Told, store: &Store) -> Result<Vec<SliceIx>> {
        let index = told.slice.0 as usize;
        let of = &self.slices[index];
        if told.received > of.waiting {
            return Err(Error::internal("an activation has read more states than there were"));
        }
        self.totals.loaded += of.visited;
        self.change(told.slice, |of| {
            of.waiting = of.waiting - told.received + told.left;
            of.visited += told.states;
        });
        if told.overflow {
            self.too_large.push(told.slice);
        }
        let record = &mut self.records[index];
        record.states += told.states;
        record.activations += 1;
        self.totals.states += told.states;
        self.totals.transitions += told.transitions;
        self.totals.deadlocks += told.deadlocks;
        self.totals.activations += 1;
        self.totals.peak = self.totals.peak.max(told.peak);
        keep_least(&mut self.found, told.found.clone());
        let mut targets = Vec::with_capacity(told.out.len());
        for (target, states) in &told.out {
            self.totals.sent += states;
            targets.push(self.announce(target, *states, store)?);
        }
        Ok(targets)
    }

    /// The slices that must be divided, in the order in which that is done.
    pub(super) fn too_large(&mut self) -> Vec<SliceIx> {
        let mut slices = std::mem::take(&mut self.too_large);
        slices.reverse();
        slices
    }

    /// Replaces a slice by its parts, apart from the states. Returns the part with the bit, which may be at another rank.
    pub(super) fn divide(&mut self, division: &Division, store: &Store) -> Result<SliceIx> {
        let Division { slice, by, with: (visited, waiting) } = *division;
        let index = slice.0 as usize;
        let of = &self.slices[index];
        if visited > of.visited || waiting > of.waiting {
            return Err(Error::internal("a part of a slice is larger than the slice"));
        }
        let (mut mask, key) = (of.mask.clone(), of.key.clone());
        mask[by.word as usize] |= 1 << by.bit;
        let mut other = Slice::new(&mask, &key);
        other.key[by.word as usize] |= 1 << by.bit;
        (other.visited, other.waiting) = (visited, waiting);
        self.change(slice, |of| {
            of.mask = mask;
            of.visited -= visited;
            of.waiting -= waiting;
        });
        let owner = self.records[index].owner;
        let other = self.add(other, Some(owner), store)?;
        Arc::make_mut(&mut self.partition).divide(&key, by, other);
        self.records[index].states -= visited;
        self.records[other.0 as usize].states = visited;
        self.totals.splits += 1;
        Ok(other)
    }

    /// Forgets the states of slices that cannot be entered again.
    pub(super) fn forget(&mut self, store: &Store) {
        let Some(reach) = &mut self.reach else { return };
        let pending = self.slices.iter().filter(|slice| slice.waiting > 0).map(|slice| &slice.key[..]);
        reach.from(pending);
        for (slice, record) in self.slices.iter_mut().zip(&mut self.records) {
            if slice.visited > 0 && slice.waiting == 0 && !reach.contains(&slice.key) {
                store.memory().give(segment_bytes(slice));
                self.load[record.owner] -= slice.visited;
                let slice = Arc::make_mut(slice);
                slice.runs = Vec::new();
                slice.visited = 0;
                record.forgotten = true;
                self.forgot = true;
            }
        }
    }

    /// Drops the segments that an activation has read from the inbox of a slice of this rank.
    pub(super) fn drain(&mut self, slice: SliceIx, consumed: usize, store: &Store) -> Result<()> {
        let of = Arc::make_mut(&mut self.slices[slice.0 as usize]);
        if consumed > of.inbox.len() {
            return Err(Error::internal("an activation has read more than there was"));
        }
        of.inbox.drain(..consumed);
        store.memory().give(consumed as u64 * SEGMENT_BYTES);
        Ok(())
    }

    /// An error unless the states of a slice of this rank are as many as all ranks have counted.
    pub(super) fn certify(&self, slice: SliceIx) -> Result<()> {
        let of = &self.slices[slice.0 as usize];
        let states =
            |segments: &[Segment]| segments.iter().map(|segment| segment.states() as u64).sum::<u64>();
        let visited: u64 = of.runs.iter().map(|run| states(&run.segments)).sum();
        if (visited, states(&of.inbox)) == (of.visited, of.waiting) {
            return Ok(());
        }
        Err(Error::Internal(format!(
            "slice {} has {visited} states and {} waiting ones, and should have {} and {}",
            slice.0,
            states(&of.inbox),
            of.visited,
            of.waiting
        )))
    }
}
