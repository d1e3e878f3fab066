//! Where a block may be part of a deadlock.
//!
//! A state of a block is suspicious if none of the block's own syncs is possible there, and every leaf outside has a local
//! state in which it is *calm*: no sync of it alone, or of it and the block, is possible. In a deadlock all leaves are calm,
//! so none is missed; leaves that are calm one by one need not be so together, which is for refinement to find out.

use super::block::Block;
use super::mutants::{self, Mutant};
use crate::engine::parts::system::Sync;
use crate::model::explicit::State;

/// A leaf outside.
struct Other {
    slot: u32,
    /// Its labels in syncs of it and the block, ascending, each with what the block must offer.
    labels: Vec<(u32, Vec<Sync>)>,
    /// What its states offer of these, as bits; only the sets that contain no other.
    offers: Vec<Vec<u64>>,
}

/// Tells in which states a block may be part of a deadlock.
pub(super) struct Calm<'a> {
    block: &'a Block<'a>,
    own: Vec<Sync>,
    others: Vec<Other>,
}

fn is_subset(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a & !b == 0)
}

impl<'a> Calm<'a> {
    pub(super) fn new(block: &'a Block<'a>) -> Self {
        let frame = block.frame;
        let mut own = Vec::new();
        let mut near: Vec<Vec<(u32, Sync)>> = vec![Vec::new(); frame.width()];
        for (ix, sync) in (0u32..).zip(frame.syncs()) {
            let mut outside = block.outside(ix);
            match (outside.next(), outside.next()) {
                (None, _) => own.push(sync.clone()),
                (Some((slot, label)), None) => {
                    let within = sync.iter().filter(|part| part.0 != slot).copied().collect();
                    near[slot as usize].push((label, within));
                }
                _ => {}
            }
        }
        let other = |slot: u32| {
            let mut near = std::mem::take(&mut near[slot as usize]);
            near.sort_unstable();
            let mut labels: Vec<(u32, Vec<Sync>)> = Vec::new();
            for (label, within) in near {
                match labels.last_mut() {
                    Some((last, contexts)) if *last == label => contexts.push(within),
                    _ => labels.push((label, vec![within])),
                }
            }
            let lts = frame.lts(slot);
            let offers = |state: State| {
                let mut bits = vec![0u64; labels.len().div_ceil(64)];
                for t in lts.outgoing(state) {
                    if let Ok(k) = labels.binary_search_by_key(&t.label.0, |(label, _)| *label) {
                        bits[k / 64] |= 1 << (k % 64);
                    }
                }
                bits
            };
            let mut sets: Vec<Vec<u64>> = lts.states().map(offers).collect();
            sets.sort_unstable_by_key(|set| {
                (set.iter().map(|word| word.count_ones()).sum::<u32>(), set.clone())
            });
            sets.dedup();
            let mut least: Vec<Vec<u64>> = Vec::new();
            for set in sets {
                if !least.iter().any(|known| is_subset(known, &set)) {
                    least.push(set);
                }
            }
            Other { slot, labels, offers: least }
        };
        let others = block.others().into_iter().map(other).collect();
        Calm { block, own, others }
    }

    /// Whether no leaf is outside.
    pub(super) fn is_whole(&self) -> bool {
        self.others.is_empty()
    }

    fn possible(&self, within: &Sync, at: &[u32]) -> bool {
        within.iter().all(|&part| self.block.frame.offers(part, at[part.0 as usize]))
    }

    /// Which labels of a leaf the block would take part in.
    fn armed(&self, other: &Other, at: &[u32]) -> Vec<u64> {
        let mut armed = vec![0u64; other.labels.len().div_ceil(64)];
        for (k, (_, contexts)) in other.labels.iter().enumerate() {
            if contexts.iter().any(|within| self.possible(within, at)) || mutants::is(Mutant::ArmedAlways) {
                armed[k / 64] |= 1 << (k % 64);
            }
        }
        armed
    }

    /// Whether there may be a deadlock in which the block is here.
    pub(super) fn is_suspicious(&self, at: &[u32]) -> bool {
        !self.own.iter().any(|sync| self.possible(sync, at))
            && self.others.iter().all(|other| {
                let armed = self.armed(other, at);
                other.offers.iter().any(|set| set.iter().zip(&armed).all(|(a, b)| a & b == 0))
            })
    }

    /// For each slot outside which of its states are calm if the block is here.
    pub(super) fn calm_states(&self, at: &[u32]) -> Vec<(u32, Vec<bool>)> {
        let of = |other: &Other| {
            let armed = self.armed(other, at);
            let lts = self.block.frame.lts(other.slot);
            let is_calm = |state: State| {
                !lts.outgoing(state).iter().any(|t| {
                    let label = other.labels.binary_search_by_key(&t.label.0, |(label, _)| *label);
                    label.is_ok_and(|k| armed[k / 64] >> (k % 64) & 1 == 1)
                })
            };
            (other.slot, lts.states().map(is_calm).collect())
        };
        self.others.iter().map(of).collect()
    }
}
