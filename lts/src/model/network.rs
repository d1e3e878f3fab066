//! A network of process LTSs: leaves with their tables, and vectors that say which leaves move together.
//!
//! The tables grow in two ways that share this one structure. Ahead of time a front end expands every local state
//! before the first search and the network is then immutable. On demand a [`TableSource`] expands a local state when a
//! search first reaches it. Either way the invariant is: *in a global state all of whose local states are expanded,
//! every enabled vector is present.* [`Network::successors`] is the naive successor function, the reference that any
//! faster one is tested against.
//!
//! A vector is enabled in a global state if each of its parts is: the part's leaf has, in its current local state, at
//! least one transition with the part's local label. It then yields one global transition for every combination of
//! such transitions; leaves that take no part stay where they are.

use crate::base::error::Result;
use crate::base::hash::{Map, content_of};
use crate::model::stuck::Stuck;
use serde::{Deserialize, Serialize};

/// Index of a leaf in [`Network::leaves`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LeafIx(pub u32);

/// A local state of one leaf. Numbers are dense and start at 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Local(pub u32);

/// Index of a local label of one leaf: what that leaf contributes to a vector, before communication and hiding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocalLabel(pub u32);

/// Index of a visible label of the whole system in [`Network::labels`]. [`Label::TAU`] is the hidden one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Label(pub u32);

impl Label {
    /// The label of hidden steps, printed `tau`.
    pub const TAU: Label = Label(0);
}

/// Index of a vector in [`Network::vectors`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct VectorIx(pub u32);

/// What happens when a vector is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The system performs the label and moves.
    Step(Label),
    /// The specification has no meaning here (a guard without a truth value, a sum that nothing bounds): the search
    /// must stop with the fault of that index in [`Network::faults`]. A fault counts only once a search reaches a
    /// global state in which its vector is enabled, since tables over-approximate what happens.
    Fault(u32),
}

/// Leaves that move together. `parts` is sorted by leaf and names each leaf at most once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vector {
    /// The leaves that take part, each with its local label.
    pub parts: Vec<(LeafIx, LocalLabel)>,
    /// The visible outcome.
    pub outcome: Outcome,
    /// The label before any hiding, printed, for properties and traces that name hidden actions; equal to the visible
    /// label where nothing was hidden.
    pub unhidden: Label,
}

/// The table of one local state.
#[derive(Clone, Default, Debug)]
pub struct LocalTable {
    /// Outgoing transitions, sorted by label, then by the order of discovery.
    pub moves: Vec<(LocalLabel, Local)>,
    /// Whether the source has filled this table. An unexpanded table says nothing.
    pub expanded: bool,
}

/// One process LTS.
#[derive(Clone, Default, Debug)]
pub struct Leaf {
    /// Readable and unique in the network, e.g. `LINK(2, 0)`.
    pub name: String,
    /// One table for each local state; the initial one is 0.
    pub states: Vec<LocalTable>,
    /// The local labels as printed, e.g. `sPDreq(0, Start)`.
    pub labels: Vec<String>,
    /// For each local label the vectors it occurs in, ascending.
    pub vectors_of: Vec<Vec<VectorIx>>,
    /// The local state behind successful termination, if there is one.
    pub terminated: Option<Local>,
}

/// A network of process LTSs. See the module head for its invariant.
#[derive(Clone, Debug)]
pub struct Network {
    /// The leaves, in the order of the specification.
    pub leaves: Vec<Leaf>,
    /// Visible labels as printed; `labels[0]` is `tau`.
    pub labels: Vec<String>,
    /// The vectors.
    pub vectors: Vec<Vector>,
    /// Messages of the faults that vectors may have as outcome.
    pub faults: Vec<String>,
    label_ids: Map<String, Label>,
}

/// One step of the system, as the naive successor function reports it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The vector taken.
    pub vector: VectorIx,
    /// The local states afterwards, one for each leaf.
    pub target: Vec<Local>,
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl Network {
    /// A network without leaves, in which the label 0 is `tau`.
    pub fn new() -> Self {
        let mut net = Network {
            leaves: Vec::new(),
            labels: Vec::new(),
            vectors: Vec::new(),
            faults: Vec::new(),
            label_ids: Map::default(),
        };
        net.label("tau");
        net
    }

    /// The number of a visible label, a new one if it was not seen before.
    pub fn label(&mut self, text: &str) -> Label {
        if let Some(&id) = self.label_ids.get(text) {
            return id;
        }
        let id = Label(u32::try_from(self.labels.len()).expect("fewer than 2^32 labels"));
        self.labels.push(text.to_owned());
        self.label_ids.insert(text.to_owned(), id);
        id
    }

    /// The number of a visible label that is already known.
    pub fn find_label(&self, text: &str) -> Option<Label> {
        self.label_ids.get(text).copied()
    }

    /// A new leaf without states.
    pub fn add_leaf(&mut self, name: impl Into<String>) -> LeafIx {
        self.leaves.push(Leaf { name: name.into(), ..Leaf::default() });
        LeafIx(self.leaves.len() as u32 - 1)
    }

    /// A new local state of a leaf, unexpanded.
    pub fn add_state(&mut self, leaf: LeafIx) -> Local {
        let states = &mut self.leaves[leaf.0 as usize].states;
        states.push(LocalTable::default());
        Local(u32::try_from(states.len() - 1).expect("fewer than 2^32 local states"))
    }

    /// A new local label of a leaf. The caller keeps them distinct.
    pub fn add_local_label(&mut self, leaf: LeafIx, text: impl Into<String>) -> LocalLabel {
        let leaf = &mut self.leaves[leaf.0 as usize];
        leaf.labels.push(text.into());
        leaf.vectors_of.push(Vec::new());
        LocalLabel(leaf.labels.len() as u32 - 1)
    }

    /// A local transition. Adding the same one twice is harmless.
    pub fn add_move(&mut self, leaf: LeafIx, from: Local, label: LocalLabel, to: Local) {
        let moves = &mut self.leaves[leaf.0 as usize].states[from.0 as usize].moves;
        let end = moves.partition_point(|m| m.0 <= label);
        let start = moves[..end].partition_point(|m| m.0 < label);
        if !moves[start..end].contains(&(label, to)) {
            moves.insert(end, (label, to));
        }
    }

    /// A vector. `parts` must be sorted by leaf, each leaf once.
    pub fn add_vector(
        &mut self,
        parts: Vec<(LeafIx, LocalLabel)>,
        outcome: Outcome,
        unhidden: Label,
    ) -> VectorIx {
        assert!(
            !parts.is_empty() && parts.windows(2).all(|w| w[0].0 < w[1].0),
            "parts sorted, each leaf once"
        );
        let ix = VectorIx(u32::try_from(self.vectors.len()).expect("fewer than 2^32 vectors"));
        for &(leaf, label) in &parts {
            self.leaves[leaf.0 as usize].vectors_of[label.0 as usize].push(ix);
        }
        self.vectors.push(Vector { parts, outcome, unhidden });
        ix
    }

    /// Removes the local states that were never expanded, and all transitions into them. Only for a network that a
    /// complete search has been over: what it did not reach cannot happen. Returns, for each leaf, the new number of each
    /// old state that is kept.
    pub fn forget_unexpanded(&mut self) -> Vec<Vec<Option<Local>>> {
        self.leaves
            .iter_mut()
            .map(|leaf| {
                let mut kept = 0;
                let renumbered: Vec<Option<Local>> = leaf
                    .states
                    .iter()
                    .map(|s| {
                        kept += u32::from(s.expanded);
                        s.expanded.then(|| Local(kept - 1))
                    })
                    .collect();
                leaf.states.retain(|s| s.expanded);
                leaf.terminated = leaf.terminated.and_then(|local| renumbered[local.0 as usize]);
                for table in &mut leaf.states {
                    table.moves = table
                        .moves
                        .iter()
                        .filter_map(|(label, to)| Some((*label, renumbered[to.0 as usize]?)))
                        .collect();
                }
                renumbered
            })
            .collect()
    }

    /// The initial global state.
    pub fn initial(&self) -> Vec<Local> {
        vec![Local(0); self.leaves.len()]
    }

    /// Whether all leaves have terminated: a state without steps that is a regular end.
    pub fn is_terminated(&self, state: &[Local]) -> bool {
        self.leaves.iter().zip(state).all(|(leaf, &local)| leaf.terminated == Some(local))
    }

    /// The transitions of `leaf` in local state `from` with the given label.
    pub fn moves_with(&self, leaf: LeafIx, from: Local, label: LocalLabel) -> &[(LocalLabel, Local)] {
        let moves = &self.leaves[leaf.0 as usize].states[from.0 as usize].moves;
        let start = moves.partition_point(|m| m.0 < label);
        let end = start + moves[start..].partition_point(|m| m.0 == label);
        &moves[start..end]
    }

    /// All steps of a global state in a fixed order: by the first participating leaf, its label, then by vector, then
    /// by the targets. The naive reference; every local state of `state` must be expanded. Returns how much there was to look
    /// at: labels, vectors and steps.
    pub fn successors(&self, state: &[Local], out: &mut Vec<Step>) -> u64 {
        out.clear();
        let mut looks = 0;
        for (i, leaf) in self.leaves.iter().enumerate() {
            let moves = &leaf.states[state[i].0 as usize].moves;
            let mut last = None;
            for &(label, _) in moves {
                if last == Some(label) {
                    continue;
                }
                last = Some(label);
                let vectors = &leaf.vectors_of[label.0 as usize];
                looks += 1 + vectors.len();
                for &v in vectors {
                    if self.vectors[v.0 as usize].parts[0].0.0 as usize == i {
                        self.steps_of(v, state, out);
                    }
                }
            }
        }
        (looks + out.len()) as u64
    }

    /// Whether a state, all of whose local states are expanded, has no step. Lists no steps, of which there may be many.
    pub fn is_stuck(&self, state: &[Local]) -> bool {
        let has = |&(leaf, label): &(LeafIx, LocalLabel)| {
            !self.moves_with(leaf, state[leaf.0 as usize], label).is_empty()
        };
        let enabled = |v: &VectorIx| self.vectors[v.0 as usize].parts.iter().all(has);
        let moves = self.leaves.iter().zip(state);
        !moves.into_iter().any(|(leaf, local)| {
            let labels = leaf.states[local.0 as usize].moves.iter();
            labels.into_iter().any(|(label, _)| leaf.vectors_of[label.0 as usize].iter().any(enabled))
        })
    }

    fn steps_of(&self, v: VectorIx, state: &[Local], out: &mut Vec<Step>) {
        let parts = &self.vectors[v.0 as usize].parts;
        let choices: Vec<&[(LocalLabel, Local)]> =
            parts.iter().map(|&(leaf, label)| self.moves_with(leaf, state[leaf.0 as usize], label)).collect();
        if choices.iter().any(|c| c.is_empty()) {
            return;
        }
        let mut pick = vec![0; parts.len()];
        loop {
            let mut target = state.to_vec();
            for (k, &(leaf, _)) in parts.iter().enumerate() {
                target[leaf.0 as usize] = choices[k][pick[k]].1;
            }
            out.push(Step { vector: v, target });
            let Some(k) = (0..parts.len()).rev().find(|&k| pick[k] + 1 < choices[k].len()) else { return };
            pick[k] += 1;
            pick[k + 1..].fill(0);
        }
    }
}

/// Fills tables while a network is searched.
///
/// Duties: after `expand(net, leaf, local)` returns `Ok`, that table is marked expanded, and the network's invariant
/// holds for all global states made of expanded local states. It may add states, labels, moves of *any* leaf, vectors
/// and faults, and removes or renumbers nothing.
pub trait TableSource: Send {
    /// Expands one local state.
    fn expand(&mut self, net: &mut Network, leaf: LeafIx, local: Local) -> Result<()>;

    /// How a person reads a local state: control point and data.
    fn describe(&self, leaf: LeafIx, local: Local) -> String;

    /// A hash of what a local state is: every source of the same system says the same, no matter what was expanded before.
    fn content(&self, leaf: LeafIx, local: Local) -> u128 {
        content_of(&self.describe(leaf, local))
    }

    /// The beginning of the text that stands at a control point, if the source has a text.
    fn excerpt(&self, _leaf: LeafIx, _local: Local) -> Option<String> {
        None
    }

    /// Why each leaf does not move in a state without steps, if the source knows.
    fn explain(&self, _state: &[Local]) -> Vec<Stuck> {
        Vec::new()
    }
}
