//! What an obligation is decided on: the leaves within the joint fixpoint, the observer, and the steps that they take
//! together.
//!
//! The fixpoint is that of [`parts`](crate::engine::parts): a local state counts if labels lead to it that others can take
//! part in *somewhere*. So every leaf moves against all that the others may ever offer, as if messages stayed for ever. A run
//! of the system stays within it; what is bad nowhere in it is bad in no run.
//!
//! Invariant: each sync is a vector of the network, or the regular end of all leaves, which leads nowhere.

use crate::base::hash::Map;
use crate::base::memory::{Budget, Exhausted};
use crate::engine::parts::Keep;
use crate::engine::parts::system::{Component, FIRST, Origin, Sync, System, SystemQuestion, moves_with};
use crate::model::explicit::{Lts, State};
use crate::model::network::{LeafIx, Local, Network, VectorIx};
use crate::property::Property;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The leaves, the observer and their syncs that an obligation is decided on.
#[derive(Debug)]
pub(super) struct Frame {
    system: System,
    /// The slot of the observer; none: it is asked for deadlocks.
    pub(super) observer: Option<u32>,
    /// For each sync its vector.
    vectors: Vec<Option<VectorIx>>,
    /// The vector of each sync before anything was left out.
    known: Arc<Map<Sync, VectorIx>>,
}

/// The size of one leaf or of several within the fixpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Size {
    /// Local states.
    pub states: u64,
    /// Local moves.
    pub moves: u64,
}

impl Frame {
    /// The frame of what is asked.
    pub(super) fn new(net: &Network, asked: SystemQuestion, budget: &Arc<Budget>) -> Result<Self, Exhausted> {
        let system = System::new(net, asked, budget)?;
        let mut known = Map::default();
        for vector in (0..net.vectors.len() as u32).map(VectorIx) {
            if let Some(sync) = asked.sync(net, vector) {
                known.entry(sync).or_insert(vector);
            }
        }
        let deadlocks = matches!(asked, SystemQuestion::Property(Property::DeadlockFree { .. }));
        Ok(Frame::pruned(system, Arc::new(known), deadlocks))
    }

    fn pruned(mut system: System, known: Arc<Map<Sync, VectorIx>>, deadlocks: bool) -> Self {
        system.prune(if deadlocks { Keep::Deadlocks } else { Keep::WeakTraces });
        let original = |sync: &Sync| -> Sync {
            let part =
                |&(slot, label): &(u32, u32)| (slot, system.component(slot).label_of[label as usize][0]);
            sync.iter().map(part).collect()
        };
        let vectors = system.syncs.iter().map(|sync| known.get(&original(sync)).copied()).collect();
        Frame { observer: system.observer(), vectors, known, system }
    }

    /// The same with an observer that hears some syncs differently: `changed` gives each of them a label of its own.
    pub(super) fn with_observer(
        &self,
        observer: Component,
        changed: impl Fn(usize, u32) -> u32,
    ) -> Option<Self> {
        let slot = self.observer?;
        let mut system = self.system.clone();
        let version = system.version();
        system.components[slot as usize] = Some(Arc::new(Component { version, ..observer }));
        for (ix, sync) in system.syncs.iter_mut().enumerate() {
            if let Some(part) = sync.iter_mut().find(|part| part.0 == slot) {
                part.1 = changed(ix, part.1);
            }
        }
        system.tidy();
        Some(Frame::pruned(system, self.known.clone(), false))
    }

    /// Whether the observer can be bad at all.
    pub(super) fn is_suspicious(&self) -> bool {
        self.observer.is_none_or(|slot| {
            let component = self.system.component(slot);
            (0..component.lts.num_states() as u32).any(|state| component.is_bad(state))
        })
    }

    /// What takes part: leaves that matter, and the observer.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.system.slots()
    }

    /// The number of slots, some of which may be empty.
    pub(super) fn width(&self) -> usize {
        self.system.components.len()
    }

    pub(super) fn component(&self, slot: u32) -> &Arc<Component> {
        self.system.component(slot)
    }

    pub(super) fn lts(&self, slot: u32) -> &Lts {
        &self.system.component(slot).lts
    }

    pub(super) fn syncs(&self) -> &[Sync] {
        &self.system.syncs
    }

    pub(super) fn vector(&self, sync: u32) -> Option<VectorIx> {
        self.vectors[sync as usize]
    }

    /// Whether a part can be taken in a local state.
    pub(super) fn offers(&self, (slot, label): (u32, u32), state: u32) -> bool {
        !moves_with(self.lts(slot), state, label).is_empty()
    }

    /// Whether a part can lead from one local state to another.
    pub(super) fn leads(&self, (slot, label): (u32, u32), from: u32, to: u32) -> bool {
        moves_with(self.lts(slot), from, label).iter().any(|t| t.to.0 == to)
    }

    /// Whether no sync is possible, given the local state of each slot.
    pub(super) fn is_stuck(&self, at: &[u32]) -> bool {
        !self.syncs().iter().any(|sync| sync.iter().all(|&part| self.offers(part, at[part.0 as usize])))
    }

    /// The leaf of a slot and its local state in the network.
    pub(super) fn local(&self, slot: u32, state: u32) -> Option<(LeafIx, Local)> {
        let component = self.component(slot);
        match component.origin {
            Origin::Leaf(leaf) => Some((leaf, Local(component.state_of[state as usize]))),
            Origin::Observer | Origin::Made(_) => None,
        }
    }

    /// The leaf of a slot.
    pub(super) fn leaf(&self, slot: u32) -> Option<LeafIx> {
        self.local(slot, 0).map(|(leaf, _)| leaf)
    }

    /// The number of moves of a slot by labels that occur in syncs.
    pub(super) fn moves(&self, slot: u32) -> u64 {
        let lts = self.lts(slot);
        let shared = |state: State| lts.outgoing(state).iter().filter(|t| t.label.0 >= FIRST).count() as u64;
        lts.states().map(shared).sum()
    }

    /// All leaves that matter, and the observer.
    pub(super) fn size(&self) -> Size {
        let mut size = Size::default();
        for slot in self.slots() {
            size.states += self.lts(slot).num_states() as u64;
            size.moves += self.moves(slot);
        }
        size
    }
}
