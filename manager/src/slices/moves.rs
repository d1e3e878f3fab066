//! States on their way to the rank that has their slice: segments, as they are stored.
//!
//! Segments that stay at their rank are not touched; those that leave it are read from the store at their turn, and those
//! that arrive are stored at once, so that neither side needs memory for all of them. Invariant: the order of the segments
//! that a slice gets depends on their senders and not on the time of arrival.

use super::coordinator::Coordinator;
use super::ranks::Ranks;
use gridlock_lts::base::error::{Error, Result};
use gridlock_worker::slice::message::{Run, SEGMENT_BYTES};
use gridlock_worker::slice::partition::SliceIx;
use gridlock_worker::slice::store::{Kind, Segment, Store};
use std::sync::Arc;

/// Segments that arrive are stored once they have this many bytes.
const STORED_AT_ONCE: usize = 1 << 20;
/// Words before the states of a parcel.
const HEADER: usize = 5;

/// The role of a segment in its slice, and its place among others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum SegmentKind {
    /// A part of the run of an activation.
    Run(u64, u32),
    /// States that wait, from a slice. Its own come from before it was divided, or were left when memory ended.
    Inbox(SliceIx, u32),
}

/// A segment for a slice.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) to: SliceIx,
    pub(super) kind: SegmentKind,
    pub(super) segment: Segment,
}

impl Move {
    /// The segment as a parcel: its target, its kind, and its bytes, padded.
    fn words(&self, buffer: &mut Vec<u8>) -> Result<Vec<u64>> {
        let (kind, of, part) = match self.kind {
            SegmentKind::Run(activation, part) => (0, activation, part),
            SegmentKind::Inbox(source, part) => (1, u64::from(source.0), part),
        };
        let count = self.segment.states() as u64;
        let bytes = self.segment.compressed(buffer)?;
        let mut words = Vec::with_capacity(HEADER + bytes.len().div_ceil(8));
        words.extend([u64::from(self.to.0) | kind << 32, of, u64::from(part), count, bytes.len() as u64]);
        words.extend(bytes.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        }));
        Ok(words)
    }

    /// A parcel of another rank.
    fn read(words: &[u64]) -> Option<Self> {
        let (&[to, of, part, count, length], rest) = words.split_first_chunk::<HEADER>()?;
        let part = u32::try_from(part).ok()?;
        let kind = match to >> 32 {
            0 => SegmentKind::Run(of, part),
            1 => SegmentKind::Inbox(SliceIx(u32::try_from(of).ok()?), part),
            _ => return None,
        };
        let length = usize::try_from(length).ok().filter(|length| length.div_ceil(8) == rest.len())?;
        let mut bytes: Vec<u8> = Vec::with_capacity(rest.len() * 8 + 16);
        rest.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.truncate(length);
        let segment = Segment::of_message(bytes, u32::try_from(count).ok()?)?;
        Some(Move { to: SliceIx(to as u32), kind, segment })
    }
}

/// The segments that have arrived from others.
struct Arrivals<'a> {
    store: &'a Store,
    moves: Vec<Move>,
    /// Segments from this index on are not stored yet.
    stored: usize,
    /// Bytes of those that are not.
    bytes: usize,
}

impl Arrivals<'_> {
    fn add(&mut self, arrived: Move) -> Result<()> {
        self.bytes += arrived.segment.bytes();
        self.moves.push(arrived);
        if self.bytes >= STORED_AT_ONCE { self.store() } else { Ok(()) }
    }

    fn store(&mut self) -> Result<()> {
        let moves = self.moves.split_off(self.stored);
        self.store.take(SEGMENT_BYTES * moves.len() as u64)?;
        let (runs, inboxes): (Vec<Move>, Vec<Move>) =
            moves.into_iter().partition(|arrived| matches!(arrived.kind, SegmentKind::Run(..)));
        for (kind, moves) in [(Kind::Run, runs), (Kind::Inbox, inboxes)] {
            let (places, segments): (Vec<_>, Vec<_>) =
                moves.into_iter().map(|arrived| ((arrived.to, arrived.kind), arrived.segment)).unzip();
            let stored = self.store.adopt(kind, segments)?.into_iter().zip(places);
            self.moves.extend(stored.map(|(segment, (to, kind))| Move { to, kind, segment }));
        }
        (self.stored, self.bytes) = (self.moves.len(), 0);
        Ok(())
    }
}

/// All ranks together: brings segments to the ranks that have their slices, and puts them there. Each slice of this rank that
/// gets something is returned.
pub(super) fn bring(
    moves: Vec<Move>,
    coordinator: &mut Coordinator,
    ranks: &Ranks,
    store: &Store,
) -> Result<Vec<SliceIx>> {
    let me = ranks.rank();
    let (mine, others): (Vec<Move>, Vec<Move>) =
        moves.into_iter().partition(|going| coordinator.owner(going.to) == me);
    let stored = mine.len();
    let mut arrivals = Arrivals { store, moves: mine, stored, bytes: 0 };
    let (mut leaving, mut buffer) = (others.into_iter(), Vec::new());
    let slices = coordinator.slices.len();
    ranks.exchange(
        &mut || {
            let Some(going) = leaving.next() else { return Ok(None) };
            let words = going.words(&mut buffer)?;
            store.memory().give(SEGMENT_BYTES);
            Ok(Some((coordinator.owner(going.to), words)))
        },
        &mut |words| {
            let known = Move::read(words).filter(|arrived| (arrived.to.0 as usize) < slices);
            arrivals.add(known.ok_or_else(|| Error::internal("states came that make no sense"))?)
        },
    )?;
    let rest = arrivals.store();
    let mut moves = arrivals.moves;
    ranks.agree(rest)?;
    moves.sort_by_key(|arrived| (arrived.to, arrived.kind));
    let mut touched = Vec::new();
    for Move { to, kind, segment } in moves {
        if touched.last() != Some(&to) {
            touched.push(to);
        }
        let slice = Arc::make_mut(&mut coordinator.slices[to.0 as usize]);
        match kind {
            SegmentKind::Inbox(..) => slice.inbox.push(segment),
            SegmentKind::Run(activation, _) => match slice.runs.last_mut() {
                Some(run) if run.activation == activation => run.segments.push(segment),
                _ => slice.runs.push(Run { activation, segments: vec![segment] }),
            },
        }
    }
    Ok(touched)
}
