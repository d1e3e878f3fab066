//! The sizes of buffers and segments, and storing states in segments of that size.
//!
//! Invariant: the sizes depend on the job memory and the width of states only, so segments are the same on every rank.

use super::code::{SLACK, most_bytes};
use super::layout::Layout;
use super::message::SEGMENT_BYTES;
use super::store::{Draft, Kind, Segment, Store};
use gridlock_lts::base::error::Result;
use gridlock_lts::engine::pack::Width;

/// States of a segment of a run, at most.
const SEGMENT: usize = 1 << 15;

/// The sizes of buffers that follow from the job memory.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// States of the outbox before it is sorted and stored.
    pub outbox: usize,
    /// States of a segment of a run.
    pub segment: usize,
    /// Bytes of all buffers of fixed size.
    pub bytes: u64,
}

impl Sizes {
    /// The sizes for a job memory and states of this many words.
    pub fn new(job_memory: u64, words: usize) -> Self {
        // Places in a block have 32 bits.
        let outbox = (job_memory.min(1 << 32) as usize / 32 / (words * size_of::<u64>())).clamp(16, 1 << 20);
        let segment = outbox.min(SEGMENT);
        let raw = outbox * words * size_of::<u64>();
        // The outbox, a copy while it is divided, its compressed form, what was read from a file, and what sorting takes.
        let bytes = (2 * raw + 2 * most_bytes(words, outbox)) as u64
            + Layout::sorting_bytes(words, outbox.max(segment));
        Sizes { outbox, segment, bytes }
    }
}

/// Sorts different states of one slice and stores them in segments.
pub(super) fn put_states<W: Width>(
    store: &Store,
    kind: Kind,
    (width, layout): (W, &Layout),
    most: usize,
    states: &mut [u64],
    draft: &mut Draft,
) -> Result<Vec<Segment>> {
    let words = width.words();
    // Where sorting makes a copy, each segment is sorted for itself.
    let whole = Layout::sorts_in_place(words);
    if whole {
        layout.sort(width, states);
    }
    let mut segments = Vec::new();
    for part in states.chunks_mut(most * words) {
        if !whole {
            layout.sort(width, part);
        }
        draft.add(width, layout, part);
        store.take(SEGMENT_BYTES)?;
        segments.extend(store.put(kind, draft)?);
    }
    debug_assert!(SLACK >= size_of::<u64>());
    Ok(segments)
}
