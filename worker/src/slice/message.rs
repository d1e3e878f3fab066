//! The input and the result of an activation, as values and as bytes.
//!
//! Bytes are for checkpoints, and segments also go from rank to rank. A segment is written with its compressed states as they
//! are, in memory or in files, and read into memory of its own; [`Done::put_away`] gives it to a store, which may put it into
//! a file. Invariant: a result that was written, read and stored has the same states in the same segments as before.

use super::partition::Target;
use super::store::{Kind, Segment, Store};
pub use gridlock_lts::engine::look::{Found, keep_least};

use gridlock_lts::base::error::Result;
use serde::{Deserialize, Serialize};

/// Bytes kept in memory about a segment, without its content.
pub const SEGMENT_BYTES: u64 = 64;

/// The states that one activation expanded.
#[derive(Clone, Debug)]
pub struct Run {
    /// The number of the activation. What it received was sent by activations with lower numbers; a run that was divided
    /// with its slice keeps its number in both parts.
    pub activation: u64,
    /// The states, in parts that are sorted each.
    pub segments: Vec<Segment>,
}

/// The states that agree in the bits of a mask.
#[derive(Clone, Debug)]
pub struct Slice {
    /// The bits that are the same for all states.
    pub mask: Box<[u64]>,
    /// The values of these bits.
    pub key: Box<[u64]>,
    /// The states expanded so far, at the rank that has the slice; on other ranks only the numbers of states are known.
    pub runs: Vec<Run>,
    /// The number of states in all runs.
    pub visited: u64,
    /// States that other slices have found for this one; some more than once, some in a run already. Also only at the rank
    /// that has the slice.
    pub inbox: Vec<Segment>,
    /// The number of states in the inbox.
    pub waiting: u64,
}

impl Slice {
    /// A slice without states.
    pub fn new(mask: &[u64], key: &[u64]) -> Self {
        Slice {
            mask: mask.into(),
            key: key.into(),
            runs: Vec::new(),
            visited: 0,
            inbox: Vec::new(),
            waiting: 0,
        }
    }
}

/// The result of an activation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Done {
    /// The number of states expanded. This field comes first, so that a reader that only counts can stop here.
    pub states: u64,
    /// These states.
    pub run: Vec<Segment>,
    /// Their steps, without faults.
    pub transitions: u64,
    /// The number of deadlocks among them.
    pub deadlocks: u64,
    /// The number of segments of the inbox that were read, from the first on.
    pub consumed: usize,
    /// The number of states in them.
    pub received: u64,
    /// States of the slice that were found and not expanded.
    pub left: Vec<Segment>,
    /// States for other slices.
    pub out: Vec<(Target, Segment)>,
    /// Whether the job memory is too small for this slice.
    pub overflow: bool,
    /// The least finding.
    pub found: Option<Found>,
    /// The most bytes in use.
    pub peak: u64,
}

impl Done {
    /// Gives a result that came from another rank or from a checkpoint to a store.
    pub fn put_away(mut self, store: &Store) -> Result<Self> {
        let segments = self.run.len() + self.left.len() + self.out.len();
        store.take(SEGMENT_BYTES * segments as u64)?;
        self.run = store.adopt(Kind::Run, self.run)?;
        self.left = store.adopt(Kind::Inbox, self.left)?;
        let (targets, segments): (Vec<Target>, Vec<Segment>) = self.out.into_iter().unzip();
        self.out = targets.into_iter().zip(store.adopt(Kind::Inbox, segments)?).collect();
        Ok(self)
    }
}

impl Slice {
    /// The first segments of the inbox, as many as fit into this many bytes; at least one.
    pub fn inbox_within(&self, bytes: u64) -> &[Segment] {
        let mut left = bytes;
        let fits = |segment: &&Segment| {
            let fits = left > 0;
            left = left.saturating_sub(segment.bytes() as u64);
            fits
        };
        &self.inbox[..self.inbox.iter().take_while(fits).count().max(1).min(self.inbox.len())]
    }
}
