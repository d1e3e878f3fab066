//! One obligation for each of several alike leaves.
//!
//! Where the observer advances, and cannot come back, the steps that make it do so may be those of many leaves. In a run that
//! becomes bad at most one of them is that step, so the obligation holds if it does for each leaf alone: with an observer that
//! advances there by that leaf only and stops to listen to runs in which another one was first. Each of these obligations
//! may need that leaf only, where the whole needs all of them.
//!
//! Soundness: a run that becomes bad takes the edge at most once, since the observer does not come back; the leaf that takes
//! it has an obligation in which this run is bad, too. A run that never takes it is bad in all of them.

use super::block::{Block, Path};
use super::follow::Follow;
use super::frame::Frame;
use super::mutants::{self, Mutant};
use super::ticks::Ticks;
use crate::base::hash::Map;
use crate::engine::parts::system::{BAD, Component};
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An edge of the observer, and the leaves by which it can be taken.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    /// For each sync that can be it whose it is.
    member_of: Map<u32, u32>,
    /// The slots of the members, ascending.
    pub(super) members: Vec<u32>,
}

/// An edge of the observer that one member takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Taken {
    from: u32,
    to: u32,
    /// The slot.
    pub(super) member: u32,
}

impl Taken {
    /// The frame in which it is so, made from that which was split, and how many members there are.
    pub(super) fn frame(&self, of: &Frame) -> Option<(Frame, usize)> {
        let edge = edge(of, of.observer?, self.from, self.to)?;
        edge.members.contains(&self.member).then_some(())?;
        Some((edge.of_member(of, self.member)?, edge.members.len()))
    }
}

/// The edges of the observer that a path takes and that can be split.
pub(super) fn edges(block: &Block, path: &Path) -> Vec<Edge> {
    let Some(observer) = block.frame.observer else { return Vec::new() };
    let lts = block.frame.lts(observer);
    let at = |k: usize| path.at[k][observer as usize];
    let advances = (0..path.len()).map(|k| (at(k), at(k + 1))).filter(|(from, to)| from != to);
    let mut edges: Vec<Edge> = Vec::new();
    for (from, to) in advances {
        if !reaches(lts, to, from) {
            edges.extend(edge(block.frame, observer, from, to));
        }
    }
    edges
}

fn reaches(lts: &Lts, from: u32, to: u32) -> bool {
    let mut seen = vec![false; lts.num_states()];
    let mut open = vec![from];
    while let Some(state) = open.pop() {
        if !std::mem::replace(&mut seen[state as usize], true) {
            open.extend(lts.outgoing(State(state)).iter().map(|t| t.to.0));
        }
    }
    seen[to as usize]
}

/// A sync belongs to the leaf in it that has the fewest of these syncs: a coordinator takes part in all of them.
fn edge(frame: &Frame, observer: u32, from: u32, to: u32) -> Option<Edge> {
    let mut syncs: Vec<u32> = Vec::new();
    let mut counts: Map<u32, u64> = Map::default();
    for (ix, sync) in (0u32..).zip(frame.syncs()) {
        let heard = sync.iter().find(|part| part.0 == observer);
        if heard.is_some_and(|&part| frame.leads(part, from, to)) {
            syncs.push(ix);
            sync.iter().for_each(|part| *counts.entry(part.0).or_default() += 1);
        }
    }
    let member = |&ix: &u32| {
        let leaves = frame.syncs()[ix as usize].iter().filter(|part| part.0 != observer);
        let slot = leaves.map(|part| part.0).min_by_key(|slot| (counts[slot], *slot))?;
        Some((ix, slot))
    };
    let member_of: Map<u32, u32> = syncs.iter().filter_map(member).collect();
    let mut members: Vec<u32> = member_of.values().copied().collect();
    members.sort_unstable();
    members.dedup();
    (members.len() > 1 && member_of.len() == syncs.len()).then_some(Edge { from, to, member_of, members })
}

impl Edge {
    /// The edge for each of its members.
    pub(super) fn taken(&self) -> Vec<Taken> {
        let Edge { from, to, .. } = *self;
        self.members.iter().map(|&member| Taken { from, to, member }).collect()
    }

    /// Whether some leaf could not follow the path if the edge were that of its first member: a split then gains something.
    pub(super) fn pays(&self, block: &Block, path: &Path, ticks: &mut Ticks) -> bool {
        let Some(observer) = block.frame.observer else { return false };
        let is_edge = |k: usize| {
            (path.at[k][observer as usize], path.at[k + 1][observer as usize]) == (self.from, self.to)
        };
        let step = |k: usize, member: u32| -> Vec<u32> {
            let of_member = |sync: &&u32| !is_edge(k) || self.member_of.get(sync) == Some(&member);
            path.steps[k].iter().filter(of_member).copied().collect()
        };
        let pays = |&member: &u32| {
            let steps = (0..path.len()).map(|k| step(k, member)).collect();
            let narrowed = Path { at: path.at.clone(), steps, loops: path.loops.clone() };
            let follow = Follow::new(block, &narrowed);
            !block.inside[member as usize]
                && (!follow.distances().1.is_empty() || follow.pair(Some(member), ticks).is_some())
        };
        // One of those that are outside stands for all.
        self.members.iter().find(|&&member| !block.inside[member as usize]).is_some_and(pays)
    }

    /// The frame of a member: others no longer take the edge.
    fn of_member(&self, frame: &Frame, member: u32) -> Option<Frame> {
        let component = frame.component(frame.observer?);
        let lts = &component.lts;
        let labels = lts.labels().len() as u32;
        // For each label a second one, without the edge.
        let mut builder = Builder::new();
        builder.require_states(lts.num_states() as u32);
        for state in lts.states() {
            for t in lts.outgoing(state) {
                builder.add(state, t.label, t.to);
            }
            for t in lts.outgoing(state).iter().filter(|t| t.label.0 > BAD) {
                if (state.0, t.to.0) != (self.from, self.to) {
                    builder.add(state, Label(t.label.0 + labels), t.to);
                }
            }
        }
        let mut label_of = component.label_of.clone();
        label_of.extend(component.label_of.clone());
        let observer = Component {
            lts: Arc::new(builder.finish_numbered(2 * labels, State(0))),
            label_of,
            ..(**component).clone()
        };
        let member = if mutants::is(Mutant::SplitToFirst) { self.members[0] } else { member };
        let other = |ix: usize| self.member_of.get(&(ix as u32)).is_some_and(|of| *of != member);
        frame.with_observer(observer, |ix, label| if other(ix) { label + labels } else { label })
    }
}
