//! Replays the results of a checkpoint round by round, before the search goes on.
//!
//! Every rank reads some of the files, also those of other ranks, and keeps the results until the end of the round; then
//! their states go to the ranks that have their slices now. Invariant: after the replay all ranks are in the first round that
//! is not complete in the checkpoint, with the results that it has.

use super::kept::{Source, unfit};
use super::rounds::{Rounds, Stop};
use super::{Progress, ranks};
use crate::grid::driver::Control;
use crate::grid::machine::Machine;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::hash::Set;
use gridlock_lts::engine::successors::Successors;
use gridlock_worker::slice::message::{Done, SEGMENT_BYTES};
use gridlock_worker::slice::partition::SliceIx;
use std::time::{Duration, Instant};

/// How often progress is reported.
const TELL: Duration = Duration::from_millis(200);

impl<S: Successors> Rounds<'_, S> {
    /// All ranks together: replays the results.
    pub(super) fn replay(&mut self, mut sources: Vec<Source>, control: &Control<Progress>) {
        let mut told = Instant::now();
        let ended = loop {
            self.turn();
            if self.over {
                // Another reason to end comes first.
                let end = if self.stop.is_none() { end(&sources, true) } else { Ok(()) };
                break self.setting.ranks.agree(end);
            }
            if self.first.is_some() {
                break self.setting.ranks.agree(end(&sources, true));
            }
            match self.replay_round(&mut sources) {
                Ok(true) => {}
                Ok(false) => break self.setting.ranks.agree(end(&sources, false)),
                Err(trouble) => break Err(trouble),
            }
            if told.elapsed() >= TELL {
                told = Instant::now();
                (control.progress)(&self.status());
            }
        };
        if let Err(trouble) = ended {
            self.stop.get_or_insert(Stop::Trouble(trouble));
            self.over = true;
        }
    }

    /// Replays the results of the round. False if some are missing: their slices are in the queue.
    fn replay_round(&mut self, sources: &mut [Source]) -> Result<bool> {
        let mut found = Vec::new();
        let read = self.read_round(sources, &mut found);
        let mine = read.map(|()| found.iter().map(|(slice, _)| *slice).collect::<Vec<SliceIx>>());
        let all = self.setting.ranks.share(&mine)?;
        if let Some(trouble) = ranks::worst(all.iter().map(|said| said.as_ref().err().cloned()).collect()) {
            return Err(trouble);
        }
        // Of a result that several have, that of the first rank counts.
        let me = self.setting.ranks.rank();
        let (mut known, mut others): (Set<SliceIx>, Set<SliceIx>) = (Set::default(), Set::default());
        for (rank, said) in all.into_iter().enumerate() {
            for slice in said.unwrap_or_default() {
                if known.insert(slice) && rank != me {
                    others.insert(slice);
                }
            }
        }
        for (slice, done) in found {
            if others.contains(&slice) {
                let segments = done.run.len() + done.left.len() + done.out.len();
                self.setting.store.memory().give(SEGMENT_BYTES * segments as u64);
            } else {
                self.results.push((slice, done));
            }
        }
        self.resumed += known.len() as u64;
        self.queue.retain(|slice| !known.contains(slice));
        Ok(known.len() == self.round.len())
    }

    fn read_round(&self, sources: &mut [Source], found: &mut Vec<(SliceIx, Done)>) -> Result<()> {
        let (round, wanted): (u32, Set<SliceIx>) =
            (self.coordinator.round, self.round.iter().copied().collect());
        let mut seen: Set<SliceIx> = Set::default();
        for source in sources {
            while let Some(record) = source.up_to(round)? {
                if self.setting.ranks.is_stopped() {
                    return Err(Error::Limit(Limit::Interrupted));
                }
                let Some(done) = record.done.filter(|_| record.round == round) else { continue };
                if !wanted.contains(&record.slice) {
                    return Err(unfit());
                }
                if seen.insert(record.slice) {
                    found.push((record.slice, done.put_away(&self.setting.store)?));
                }
            }
        }
        Ok(())
    }
}

fn end(sources: &[Source], over: bool) -> Result<()> {
    sources.iter().try_for_each(|source| source.end(over))
}
