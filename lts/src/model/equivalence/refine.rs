//! Partition refinement by signatures: the coarsest strong or branching bisimulation of an LTS.
//!
//! The signature of a state is the set of pairs (label, block of the target) over its transitions. For branching
//! bisimulation a tau transition inside a block is *inert*: it is left out, and the state inherits the signature of
//! its target. A round computes signatures with respect to the partition at its start and splits every block whose
//! states differ. Where no block splits any more, the partition is the coarsest bisimulation. For strong
//! bisimulation the partition after round k is bisimilarity up to depth k, which explanations use.
//!
//! **Only what may have changed is looked at.** A state is *stale* if its signature may have changed since its block
//! was last examined. The invariant between rounds: all states of a block that are not stale have the same signature.
//! The largest part of a split block keeps the block's number, so only the smaller parts make their predecessors
//! stale, and each state moves at most log n times.
//!
//! **Inheritance has two forms.** In full, the signature of a state is united with those of its inert successors. That is
//! what a formula can be read off, but a chain of n tau transitions with a new label at each state takes n² memory and
//! may take n rounds, so it is done with bounded effort and for explanations only. Otherwise signatures are *inductive*: a
//! state refers to its inert successors by the numbers of their signatures, unless one of these already contains all
//! else that the state has; then the state has that one. The size is linear, and far fewer rounds are needed since a
//! split is seen by the predecessors inside the block at once. (The idea is that of Laveaux and Martens, "Faster Signature
//! Refinement for Branching Bisimilarity Minimization", TACAS 2026.)
//!
//! **Where this takes long, bunches take over.** A round looks at all states that reach a stale one by inert transitions, so
//! a chain of n tau transitions whose states are told apart one by one takes n rounds of n states. Ordinary systems are
//! done when each state and transition was looked at some ten times. What is not done then goes on with the partition so
//! far in O(m log m) (`bunches`), which is several times slower where signatures are quick. With full inheritance the
//! effort is bounded, and the rounds are needed.
//!
//! Why bisimilar states s and u never get different inductive signatures, by induction along tau: follow tau from each
//! to a last state bisimilar to it, s' and u'. All that s' can do leads elsewhere, so u' must do the same without a tau step
//! before it and conversely, and where this is an inert tau the targets have equal signatures by induction; so s' and u'
//! agree. Now if s is not s', some inert successor of s is bisimilar to s and by induction has the signature, say k, of s'.
//! Whatever else s can do, s' can do, so k contains it and s gets k. No second number can compete with k: if each of two
//! signatures referred to the other, each would have been numbered before the other.

use super::bunches;
use super::interner::Interner;
use super::partition::Partition;
use crate::model::explicit::{Lts, State};
use crate::model::network::Label;

/// The label of references to signatures of inert successors.
const REFERENCE: Label = Label(u32::MAX);

/// How a state takes over the signatures of its inert successors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inheritance {
    /// By reference, as far as possible.
    Inductive,
    /// In full, as long as all signatures of the refinement together have at most this many pairs.
    Full(u64),
}

/// How often signatures look at a state or transition on average before bunches take over. Systems of a million
/// transitions that were measured take 14 at most.
const PATIENCE: u64 = 32;

/// The coarsest bisimulation of the system. If `inert_tau`, each tau must lead to a lower number. `None` only if the
/// effort for full inheritance does not suffice.
pub(super) fn refine(lts: &Lts, inert_tau: bool, inheritance: Inheritance) -> Option<Partition> {
    refine_until(lts, inert_tau, inheritance, &|| false)
}

/// The same; `None` also if it is asked to stop, which it checks before each round.
pub(super) fn refine_until(
    lts: &Lts,
    inert_tau: bool,
    inheritance: Inheritance,
    stop: &dyn Fn() -> bool,
) -> Option<Partition> {
    let mut refinement = Refinement::new(lts, inert_tau, inheritance);
    let patience = PATIENCE * (lts.num_states() + lts.num_transitions()) as u64;
    while !refinement.stale.is_empty() {
        if stop() {
            return None;
        }
        if inheritance == Inheritance::Inductive && refinement.looked > patience && bunches::fits(lts) {
            let start = refinement.into_partition();
            return bunches::refine(lts, inert_tau, &start, stop).map(|refined| refined.0);
        }
        refinement.round()?;
    }
    Some(refinement.partition)
}

/// The pair of a signature in one integer, ordered by label.
pub(super) fn pair(label: Label, block: u32) -> u64 {
    u64::from(label.0) << 32 | u64::from(block)
}

/// The label and block of a pair.
pub(super) fn unpair(pair: u64) -> (Label, u32) {
    (Label((pair >> 32) as u32), pair as u32)
}

/// The sources of transitions, grouped by target.
struct Incoming {
    offsets: Vec<usize>,
    sources: Vec<u32>,
}

impl Incoming {
    fn of(lts: &Lts, relevant: impl Fn(Label) -> bool) -> Self {
        let mut offsets = vec![0; lts.num_states() + 2];
        for (_, _, to) in lts.transitions().filter(|t| relevant(t.1)) {
            offsets[to.0 as usize + 2] += 1;
        }
        for s in 2..offsets.len() {
            offsets[s] += offsets[s - 1];
        }
        let mut sources = vec![0; offsets[offsets.len() - 1]];
        for (from, _, to) in lts.transitions().filter(|t| relevant(t.1)) {
            let place = &mut offsets[to.0 as usize + 1];
            sources[*place] = from.0;
            *place += 1;
        }
        Incoming { offsets, sources }
    }

    fn to(&self, state: u32) -> &[u32] {
        &self.sources[self.offsets[state as usize]..self.offsets[state as usize + 1]]
    }
}

struct Refinement<'a> {
    lts: &'a Lts,
    inert_tau: bool,
    inheritance: Inheritance,
    /// How many pairs full inheritance has yielded so far.
    effort: u64,
    /// How many states and transitions were looked at so far.
    looked: u64,
    incoming: Incoming,
    incoming_tau: Option<Incoming>,
    partition: Partition,
    round: u32,
    /// The stale states, each once, and the same as a mark on each state.
    stale: Vec<u32>,
    is_stale: Vec<bool>,
    /// The numbers of the signatures of the stale states, as far as their blocks were examined in this round.
    value: Vec<u32>,
    signature: Vec<u64>,
    inherited: Vec<u32>,
}

/// States that leave their blocks, those that go together side by side.
#[derive(Default)]
struct Leaving {
    states: Vec<u32>,
    /// For each part the block it leaves and where it ends in `states`.
    parts: Vec<(u32, usize)>,
}

impl Leaving {
    fn add(&mut self, block: u32, states: impl Iterator<Item = u32>) {
        self.states.extend(states);
        self.parts.push((block, self.states.len()));
    }
}

impl<'a> Refinement<'a> {
    fn new(lts: &'a Lts, inert_tau: bool, inheritance: Inheritance) -> Self {
        let n = lts.num_states();
        Refinement {
            lts,
            inert_tau,
            inheritance,
            effort: 0,
            looked: 0,
            incoming: Incoming::of(lts, |_| true),
            incoming_tau: inert_tau.then(|| Incoming::of(lts, |label| label == Label::TAU)),
            partition: Partition::coarsest(n),
            round: 0,
            stale: (0..n as u32).collect(),
            is_stale: vec![true; n],
            value: vec![0; n],
            signature: Vec::new(),
            inherited: Vec::new(),
        }
    }

    /// The partition; everything else is freed.
    fn into_partition(self) -> Partition {
        self.partition
    }

    fn round(&mut self) -> Option<()> {
        self.round += 1;
        let stale = self.close_over_inert_predecessors();
        self.looked += stale.len() as u64;
        // By block, and there in ascending order, so that inert successors come before those that inherit from them.
        // Sorting keys that contain the block is much faster than looking it up at each comparison. A block of one state
        // cannot split.
        let mut keys: Vec<(u32, u32)> = Vec::with_capacity(stale.len());
        for s in stale {
            let block = self.partition.block_of(s);
            match self.partition.members(block).len() {
                1 => self.is_stale[s as usize] = false,
                _ => keys.push((block, s)),
            }
        }
        keys.sort_unstable();
        let mut signatures = Interner::new();
        let mut leaving = Leaving::default();
        for of_block in keys.chunk_by(|a, b| a.0 == b.0) {
            self.examine(of_block, &mut signatures, &mut leaving)?;
        }
        for (_, s) in keys {
            self.is_stale[s as usize] = false;
        }
        self.split(&leaving);
        Some(())
    }

    /// The stale states and those that can inherit from them.
    fn close_over_inert_predecessors(&mut self) -> Vec<u32> {
        let mut stale = std::mem::take(&mut self.stale);
        if let Some(incoming_tau) = &self.incoming_tau {
            let mut next = 0;
            while next < stale.len() {
                let s = stale[next];
                self.looked += incoming_tau.to(s).len() as u64;
                for &p in incoming_tau.to(s) {
                    if self.partition.block_of(p) == self.partition.block_of(s) && !self.is_stale[p as usize]
                    {
                        self.is_stale[p as usize] = true;
                        stale.push(p);
                    }
                }
                next += 1;
            }
        }
        stale
    }

    /// Finds the parts of one block from its stale states, and adds those that have to leave to `leaving`.
    fn examine(
        &mut self,
        stale: &[(u32, u32)],
        signatures: &mut Interner<u64>,
        leaving: &mut Leaving,
    ) -> Option<()> {
        let block = stale[0].0;
        let size = self.partition.members(block).len();
        let fresh = if stale.len() < size { Some(self.fresh_signature(block, signatures)?) } else { None };
        let mut by_value: Vec<(u32, u32)> = Vec::with_capacity(stale.len());
        for &(_, s) in stale {
            let value = self.signature_of(s, block, fresh, signatures)?;
            self.value[s as usize] = value;
            by_value.push((value, s));
        }
        let first = by_value[0].0;
        if fresh.is_none_or(|fresh| fresh == first) && by_value.iter().all(|v| v.0 == first) {
            return Some(());
        }
        by_value.sort_unstable();
        let parts = by_value.chunk_by(|a, b| a.0 == b.0);
        let num_fresh = size - stale.len();
        let is_fresh = |part: &[(u32, u32)]| Some(part[0].0) == fresh;
        let fresh_size = num_fresh + parts.clone().find(|p| is_fresh(p)).map_or(0, <[_]>::len);
        let largest_stale = parts.clone().filter(|p| !is_fresh(p)).map(<[_]>::len).max().unwrap_or(0);
        let mut one_stays = num_fresh > 0 && fresh_size >= largest_stale;
        if num_fresh > 0 && !one_stays {
            let members = self.partition.members(block).iter().copied();
            let remain = |&s: &u32| !self.is_stale[s as usize] || Some(self.value[s as usize]) == fresh;
            leaving.add(block, members.filter(remain));
        }
        for part in parts.filter(|p| !is_fresh(p)) {
            if !one_stays && part.len() == largest_stale {
                one_stays = true;
            } else {
                leaving.add(block, part.iter().map(|v| v.1));
            }
        }
        Some(())
    }

    /// The signature of the states of a block that are not stale.
    fn fresh_signature(&mut self, block: u32, signatures: &mut Interner<u64>) -> Option<u32> {
        let members = self.partition.members(block).iter();
        let mut s =
            members.copied().find(|&s| !self.is_stale[s as usize]).expect("the block has a fresh state");
        // An inert successor of a fresh state is fresh; at the end of the path nothing is inherited.
        while let Some(t) = self.lts.outgoing(State(s)).iter().find(|t| self.is_inert(t.label, t.to, block)) {
            self.looked += 1;
            s = t.to.0;
        }
        self.signature_of(s, block, None, signatures)
    }

    fn is_inert(&self, label: Label, to: State, block: u32) -> bool {
        self.inert_tau && label == Label::TAU && self.partition.block_of(to.0) == block
    }

    /// The number of a state's signature, where `fresh` is that of all states of its block that are not stale.
    fn signature_of(
        &mut self,
        s: u32,
        block: u32,
        fresh: Option<u32>,
        signatures: &mut Interner<u64>,
    ) -> Option<u32> {
        self.signature.clear();
        self.inherited.clear();
        self.looked += 1 + self.lts.outgoing(State(s)).len() as u64;
        for t in self.lts.outgoing(State(s)) {
            if !self.is_inert(t.label, t.to, block) {
                self.signature.push(pair(t.label, self.partition.block_of(t.to.0)));
            } else if self.is_stale[t.to.0 as usize] {
                self.inherited.push(self.value[t.to.0 as usize]);
            } else {
                self.inherited.extend(fresh);
            }
        }
        match self.inheritance {
            Inheritance::Inductive => {
                if let Some(taken_over) = self.inherit_by_reference(signatures) {
                    return Some(taken_over);
                }
            }
            Inheritance::Full(most) => {
                for &number in &self.inherited {
                    self.signature.extend_from_slice(signatures.get(number));
                }
                self.effort += self.signature.len() as u64 + 1;
                if self.effort > most {
                    return None;
                }
            }
        }
        self.signature.sort_unstable();
        self.signature.dedup();
        Some(signatures.intern(&self.signature).0)
    }

    /// Adds references to the inherited signatures, unless one of those contains all the rest and can be taken over.
    fn inherit_by_reference(&mut self, signatures: &Interner<u64>) -> Option<u32> {
        // A signature refers to lower numbers only, so none but the highest can contain references to all the others.
        let highest = self.inherited.iter().copied().max()?;
        self.signature.extend(self.inherited.iter().filter(|&&k| k != highest).map(|&k| pair(REFERENCE, k)));
        let content = signatures.get(highest);
        if self.signature.iter().all(|p| content.binary_search(p).is_ok()) {
            return Some(highest);
        }
        self.signature.push(pair(REFERENCE, highest));
        None
    }

    fn split(&mut self, leaving: &Leaving) {
        let mut begin = 0;
        for &(block, end) in &leaving.parts {
            self.partition.split_off(block, &leaving.states[begin..end], self.round);
            begin = end;
        }
        let mut begin = 0;
        for &(block, end) in &leaving.parts {
            for &s in &leaving.states[begin..end] {
                for i in self.incoming.offsets[s as usize]..self.incoming.offsets[s as usize + 1] {
                    self.mark_stale(self.incoming.sources[i]);
                }
                // A tau into the part that stayed was inert and is not any more.
                if self.lts.outgoing(State(s)).iter().any(|t| self.is_inert(t.label, t.to, block)) {
                    self.mark_stale(s);
                }
            }
            begin = end;
        }
    }

    fn mark_stale(&mut self, s: u32) {
        if !std::mem::replace(&mut self.is_stale[s as usize], true) {
            self.stale.push(s);
        }
    }
}

/// The partition after as many rounds as it takes to be told to stop, and whether it is the coarsest bisimulation.
#[cfg(test)]
pub(super) fn partition_after(lts: &Lts, inert_tau: bool, stop: &dyn Fn() -> bool) -> (Partition, bool) {
    let mut refinement = Refinement::new(lts, inert_tau, Inheritance::Inductive);
    while !refinement.stale.is_empty() && !stop() {
        refinement.round().expect("the effort of this is not limited");
    }
    let complete = refinement.stale.is_empty();
    (refinement.partition, complete)
}
