//! The end of a round: all ranks get the figures of every activation, states go to the ranks that have their slices, and
//! slices that are too large are divided.
//!
//! Invariant: at the end all ranks have the same numbers, and every slice has as many states as the numbers say, or all ranks
//! have an error. That is the certificate on which `Holds` rests: states that were found were sent, states that were sent
//! have arrived, and states that have arrived wait or were expanded.

use super::coordinator::{Coordinator, Division, Told};
use super::moves::{Move, SegmentKind, bring};
use super::ranks::Ranks;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::engine::successors::Successors;
use gridlock_worker::slice::message::Done;
use gridlock_worker::slice::partition::SliceIx;
use gridlock_worker::slice::split::{segment_bytes, split};
use gridlock_worker::slice::store::{Segment, Store};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The input of the end of a round.
pub(super) struct Turn<'a, 'm, S> {
    pub(super) system: &'a S,
    pub(super) store: &'a Store,
    pub(super) ranks: &'a Ranks<'m>,
    pub(super) job_memory: u64,
}

/// Segments for one slice, numbered.
fn numbered(segments: Vec<Segment>) -> impl Iterator<Item = (u32, Segment)> {
    (0..).zip(segments)
}

impl<S: Successors> Turn<'_, '_, S> {
    /// All ranks together: takes the results of a round, of which each rank has some, and gives the figures of all to all ranks.
    pub(super) fn absorb(
        &self,
        coordinator: &mut Coordinator,
        mut told: Vec<Told>,
        results: Vec<(SliceIx, Done)>,
    ) -> Result<()> {
        told.sort_by_key(|told| told.slice);
        let mut results: BTreeMap<SliceIx, Done> = results.into_iter().collect();
        let (mut moves, mut drained) = (Vec::new(), Vec::new());
        let absorbed = told.iter().try_for_each(|told| {
            let activation = coordinator.totals.activations;
            let targets = coordinator.absorb(told, self.store)?;
            if coordinator.owner(told.slice) == self.ranks.rank() {
                coordinator.drain(told.slice, told.consumed, self.store)?;
                drained.push(told.slice);
            }
            if let Some(done) = results.remove(&told.slice) {
                moves.extend(moves_of(told.slice, activation, done, &targets)?);
            }
            Ok(())
        });
        self.ranks.agree(absorbed)?;
        let mut touched = bring(moves, coordinator, self.ranks, self.store)?;
        touched.extend(drained);
        touched.sort_unstable();
        touched.dedup();
        self.ranks.agree(touched.into_iter().try_for_each(|slice| coordinator.certify(slice)))?;
        self.divide(coordinator)
    }

    /// Divides the slices that turned out too large, each at its rank. The new part goes to the rank that has the fewest states.
    fn divide(&self, coordinator: &mut Coordinator) -> Result<()> {
        let slices = coordinator.too_large();
        if slices.is_empty() {
            return Ok(());
        }
        let me = self.ranks.rank();
        let mut parts = BTreeMap::new();
        let mut divided = || -> Result<Vec<Division>> {
            let mut divisions = Vec::new();
            for &slice in slices.iter().filter(|&&slice| coordinator.owner(slice) == me) {
                let of = &coordinator.slices[slice.0 as usize];
                let layout = coordinator.partition.layout();
                let halves = split(self.system, layout, self.store, self.job_memory, of)?;
                let halves = halves.ok_or(Error::Limit(Limit::JobMemory(self.job_memory)))?;
                let [without, with] = halves.parts;
                divisions.push(Division { slice, by: halves.by, with: (with.visited, with.waiting) });
                parts.insert(slice, [without, with]);
            }
            Ok(divisions)
        };
        let all = self.ranks.share(&divided())?;
        let all = all.into_iter().collect::<Result<Vec<_>>>()?;
        let divisions: BTreeMap<SliceIx, Division> =
            all.into_iter().flatten().map(|division| (division.slice, division)).collect();
        let (mut moves, mut touched) = (Vec::new(), Vec::new());
        let done = slices.iter().try_for_each(|slice| {
            let division = divisions.get(slice).ok_or_else(|| Error::internal("a slice was not divided"))?;
            let other = coordinator.divide(division, self.store)?;
            let Some([without, with]) = parts.remove(slice) else { return Ok(()) };
            let of = Arc::make_mut(&mut coordinator.slices[slice.0 as usize]);
            self.store.memory().give(segment_bytes(of));
            (of.runs, of.inbox) = (without.runs, without.inbox);
            touched.push(*slice);
            for run in with.runs {
                let part = |(part, segment)| Move {
                    to: other,
                    kind: SegmentKind::Run(run.activation, part),
                    segment,
                };
                moves.extend(numbered(run.segments).map(part));
            }
            let part = |(part, segment)| Move { to: other, kind: SegmentKind::Inbox(*slice, part), segment };
            moves.extend(numbered(with.inbox).map(part));
            Ok(())
        });
        self.ranks.agree(done)?;
        touched.extend(bring(moves, coordinator, self.ranks, self.store)?);
        self.ranks.agree(touched.into_iter().try_for_each(|slice| coordinator.certify(slice)))
    }
}

/// The segments of a result, and where they belong.
fn moves_of(slice: SliceIx, activation: u64, done: Done, targets: &[SliceIx]) -> Result<Vec<Move>> {
    let Done { run, left, out, .. } = done;
    let place = |(part, segment)| Move { to: slice, kind: SegmentKind::Run(activation, part), segment };
    let mut moves: Vec<Move> = numbered(run).map(place).collect();
    let place = |(part, segment)| Move { to: slice, kind: SegmentKind::Inbox(slice, part), segment };
    moves.extend(numbered(left).map(place));
    // Targets in the order in which they first occur, as they were told.
    let mut known = BTreeMap::new();
    for (part, (target, segment)) in (0..).zip(out) {
        let next = known.len();
        let at = *known.entry(target).or_insert(next);
        let to = *targets.get(at).ok_or_else(|| Error::internal("a target was not told"))?;
        moves.push(Move { to, kind: SegmentKind::Inbox(slice, part), segment });
    }
    Ok(moves)
}
