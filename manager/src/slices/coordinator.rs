//! Which slices are activated next: a state machine over the results of activations, without threads.
//!
//! Work goes in rounds. Each round some slices with waiting states are activated, in any order, and what they send
//! arrives after the round. Invariant: which slices a round has, and everything that is counted, depends on the network,
//! the subsystem and the job memory only. Results of a round are taken in the order of the slices, not in that in which
//! they came.

use gridlock_lts::base::error::Error;
use gridlock_worker::slice::layout::Layout;
use gridlock_worker::slice::message::{Done, Found, Run, SEGMENT_BYTES, Slice, keep_least};
use gridlock_worker::slice::partition::{Partition, SliceIx, Target};
use gridlock_worker::slice::reach::Reach;
use gridlock_worker::slice::split::{Halves, segment_bytes};
use gridlock_worker::slice::store::{Segment, Store};
use std::sync::Arc;

/// Bytes kept in memory about a slice.
const SLICE_BYTES: u64 = 320;
/// A round has at least this many slices if this many have waiting states: enough to keep several workers busy. With many
/// more, slices are activated for little; with fewer, workers wait for each other. Between 16 and 64 it matters little.
const ROUND: usize = 32;
/// Where very many have waiting states, a round has one in this many.
const SHARE: usize = 8;

/// What is known about a slice besides its states.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    /// States that were expanded, also if they were forgotten since.
    pub(super) states: u64,
    /// How often it was activated.
    pub(super) activations: u64,
    /// Whether its states were forgotten.
    pub(super) forgotten: bool,
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

/// The slices and what waits for them.
#[derive(Debug)]
pub(super) struct Coordinator {
    /// Shared with workers during a round, like the slices; nobody else has them when they change.
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
}

impl Coordinator {
    /// No slices yet. With `reach`, slices that cannot be entered again are forgotten. `afar`: whether workers follow the
    /// changes of the partition.
    pub(super) fn new(layout: Layout, reach: Option<Reach>, afar: bool) -> Self {
        Coordinator {
            partition: Arc::new(Partition::new(layout, afar)),
            slices: Vec::new(),
            records: Vec::new(),
            totals: Totals::default(),
            round: 0,
            found: None,
            too_large: Vec::new(),
            reach,
            forgot: false,
        }
    }

    /// The slices of the next round, the most expensive first; none if nothing waits.
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

    /// Puts states into the inbox of a slice.
    pub(super) fn deliver(&mut self, target: Target, segment: Segment, store: &Store) -> Result<(), Error> {
        let slice = match target {
            Target::Slice(slice) => slice,
            Target::Key(key) => match self.partition.slice_of(&key) {
                Some(slice) => slice,
                None => {
                    let slice = self.add(Slice::new(self.partition.layout().mask(), &key), store)?;
                    Arc::make_mut(&mut self.partition).add(&key, slice);
                    slice
                }
            },
        };
        if self.records[slice.0 as usize].forgotten {
            return Err(Error::internal("a slice that was forgotten is entered again"));
        }
        let slice = Arc::make_mut(&mut self.slices[slice.0 as usize]);
        slice.waiting += segment.states() as u64;
        slice.inbox.push(segment);
        Ok(())
    }

    fn add(&mut self, slice: Slice, store: &Store) -> Result<SliceIx, Error> {
        store.take(SLICE_BYTES)?;
        let index = SliceIx(self.slices.len() as u32);
        self.slices.push(Arc::new(slice));
        self.records.push(Record::default());
        Ok(index)
    }

    /// Takes the result of an activation. The results of a round must come in the order of their slices.
    pub(super) fn absorb(&mut self, slice: SliceIx, done: Done, store: &Store) -> Result<(), Error> {
        let index = slice.0 as usize;
        let of = Arc::make_mut(&mut self.slices[index]);
        self.totals.loaded += of.visited;
        let consumed: Vec<Segment> = of.inbox.drain(..done.consumed).collect();
        store.memory().give(consumed.len() as u64 * SEGMENT_BYTES);
        of.waiting -= consumed.iter().map(|segment| segment.states() as u64).sum::<u64>();
        of.waiting += done.left.iter().map(|segment| segment.states() as u64).sum::<u64>();
        of.inbox.extend(done.left);
        of.visited += done.states;
        if !done.run.is_empty() {
            of.runs.push(Run { activation: self.totals.activations, segments: done.run });
        }
        if done.overflow {
            self.too_large.push(slice);
        }
        let record = &mut self.records[index];
        record.states += done.states;
        record.activations += 1;
        self.totals.states += done.states;
        self.totals.transitions += done.transitions;
        self.totals.deadlocks += done.deadlocks;
        self.totals.activations += 1;
        self.totals.peak = self.totals.peak.max(done.peak);
        keep_least(&mut self.found, done.found);
        for (target, segment) in done.out {
            self.totals.sent += segment.states() as u64;
            self.deliver(target, segment, store)?;
        }
        Ok(())
    }

    /// A slice that must be divided, if there is one.
    pub(super) fn too_large(&mut self) -> Option<SliceIx> {
        self.too_large.pop()
    }

    /// Replaces a slice by its parts.
    pub(super) fn divide(&mut self, slice: SliceIx, halves: Halves, store: &Store) -> Result<(), Error> {
        let Halves { by, parts: [without, with] } = halves;
        let index = slice.0 as usize;
        let states = with.visited;
        let other = self.add(with, store)?;
        Arc::make_mut(&mut self.partition).divide(&without.key, by, other);
        let old = std::mem::replace(&mut self.slices[index], Arc::new(without));
        store.memory().give(segment_bytes(&old));
        self.records[index].states -= states;
        self.records[other.0 as usize].states = states;
        self.totals.splits += 1;
        Ok(())
    }

    /// Forgets the states of slices that cannot be entered again.
    pub(super) fn forget(&mut self, store: &Store) {
        let Some(reach) = &mut self.reach else { return };
        let pending = self.slices.iter().filter(|slice| slice.waiting > 0).map(|slice| &slice.key[..]);
        reach.from(pending);
        for (slice, record) in self.slices.iter_mut().zip(&mut self.records) {
            if !slice.runs.is_empty() && slice.waiting == 0 && !reach.contains(&slice.key) {
                store.memory().give(segment_bytes(slice));
                let slice = Arc::make_mut(slice);
                slice.runs = Vec::new();
                slice.visited = 0;
                record.forgotten = true;
                self.forgot = true;
            }
        }
    }
}
