//! States looked at together: they are expanded, and what matters of their targets is looked up in batches.
//!
//! Most states are decided by few of their steps: one that may happen decides what is possible, one that does not what is
//! inevitable. So targets are looked up in rounds: none at first, then a few of each state, then all. Targets where a bit is
//! known to have changed are remembered for a while: neighbours share successors, and what has changed stays so.
//!
//! Invariant: what a tree is said to be ([`Sweeps::truth`]) does not depend on targets that were not looked up.

use super::blocks::Node;
use super::single::Targets;
use super::{Buffer, Kind, Sweeps, blocks};
use crate::base::error::Result;
use crate::engine::pack::Width;
use crate::engine::search::recent::Recent;
use crate::engine::successors::{EveryStep, Steps, Via};
use std::sync::atomic::Ordering::Relaxed;

/// Steps that are collected before their targets are looked up together.
pub(super) const BATCH: usize = if cfg!(test) { 8 } else { 256 };
/// Targets of a state that are looked up first.
pub(super) const FEW: usize = if cfg!(test) { 1 } else { 2 };

/// The slot of what was not looked up.
pub(super) const UNKNOWN: usize = usize::MAX;
/// The slot of a target where the bit that is asked for has changed.
pub(super) const CHANGED: usize = usize::MAX - 1;

/// A step: its class, and the slot of its target.
pub(super) type Look = (u32, usize);

/// What is asked of states.
#[derive(Clone)]
pub(super) struct Question {
    /// The classes of steps whose targets matter.
    needed: Vec<bool>,
    /// Whether the state itself must be looked up.
    own: bool,
    /// The only position whose bit may change, if the state itself need not be looked up to know it.
    single: Option<usize>,
    /// What a bit becomes when it changes.
    pub(super) flipped: bool,
    /// Whether nothing but that bit is asked of targets.
    remembers: bool,
    /// Whether all targets that matter are looked up at once.
    all: bool,
}

impl Question {
    /// The same, with all targets that matter looked up at once.
    pub(super) fn of_every_target(&self) -> Self {
        Question { all: true, remembers: false, ..self.clone() }
    }
}

/// The result of a look at a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Judged {
    /// More targets must be looked up.
    Open,
    /// Nothing is left to ask.
    Settled,
    /// The bit of the only position is to change.
    Changes,
}

/// What a thread keeps from part to part.
pub(super) struct Scratch<W> {
    pub(super) steps: Steps,
    /// Where the steps of each state end.
    pub(super) ends: Vec<usize>,
    pub(super) keys: Vec<u64>,
    /// The states themselves, if they are looked up.
    own: Vec<usize>,
    looks: Vec<Look>,
    /// The states that are not decided, and the steps whose targets are looked up for that.
    open: Vec<usize>,
    wanted: Vec<usize>,
    /// The states whose bit changes.
    changing: Vec<usize>,
    /// Targets whose bit has changed.
    recent: Recent<W>,
    /// Which classes of steps were met.
    met: Vec<bool>,
    /// Which states of a part can change no more.
    pub(super) over: Vec<bool>,
    /// For states from a file.
    pub(super) buffer: Buffer,
    /// For blocks of one position.
    pub(super) targets: Targets<W>,
}

impl<W: Width> Scratch<W> {
    pub(super) fn new(width: W) -> Self {
        Scratch {
            steps: Steps::new(width.words()),
            ends: Vec::new(),
            keys: Vec::new(),
            own: Vec::new(),
            looks: Vec::new(),
            open: Vec::new(),
            wanted: Vec::new(),
            changing: Vec::new(),
            recent: Recent::new(width),
            met: Vec::new(),
            over: Vec::new(),
            buffer: Buffer::default(),
            targets: Targets::new(width),
        }
    }
}

impl<'r, S: EveryStep> Sweeps<'r, '_, S> {
    /// What must be looked up to know trees that do not change.
    pub(super) fn ask<'t>(&self, trees: impl Iterator<Item = &'t Node> + Clone) -> Question {
        Question {
            needed: self.formula.needed_by(trees.clone()),
            own: trees.clone().any(is_about_itself),
            single: None,
            flipped: false,
            remembers: false,
            all: false,
        }
    }

    /// What must be looked up to settle the bits of a block.
    pub(super) fn ask_about(&self, block: &blocks::Block) -> Question {
        let trees = block.positions.iter().map(|at| &self.formula.trees[*at]);
        let mut question = self.ask(trees.clone());
        question.flipped = block.kind != Kind::Greatest;
        question.own |= block.positions.len() > 1;
        if let [only] = block.positions[..]
            && !question.own
        {
            question.single = Some(only);
            let tree = &self.formula.trees[only];
            question.remembers = blocks::depends_on(tree, &self.formula.after) & !(1 << only) == 0;
        }
        question
    }

    /// Expands states and calls `judge` with the number of each, its slot and its steps, not necessarily in order, and again
    /// with more slots as long as it says [`Judged::Open`]. Changes the bits that it says.
    pub(super) fn look(
        &self,
        states: &[u64],
        question: &Question,
        scratch: &mut Scratch<S::Width>,
        mut judge: impl FnMut(usize, usize, &[Look]) -> Judged,
    ) -> Result<()> {
        let words = self.run.system.width().words();
        let mut first = 0;
        let count = states.len() / words;
        for k in 0..count {
            self.run.system.expand(&states[k * words..(k + 1) * words], &mut scratch.steps)?;
            scratch.ends.push(scratch.steps.len());
            if scratch.steps.len() < BATCH && k + 1 < count {
                continue;
            }
            self.run.check_limits(0);
            self.note(scratch);
            let batch = &states[first * words..(k + 1) * words];
            self.look_at_batch(batch, question, scratch, |j, slot, steps| judge(first + j, slot, steps));
            first = k + 1;
        }
        Ok(())
    }

    /// Notes the classes of the steps that are collected.
    pub(super) fn note(&self, scratch: &mut Scratch<S::Width>) {
        if self.noted {
            return;
        }
        scratch.met.resize(self.formula.class_count, false);
        for via in scratch.steps.vias() {
            let class = self.class(*via) as usize;
            if !scratch.met[class] {
                scratch.met[class] = true;
                self.met[class].store(true, Relaxed);
            }
        }
    }

    fn class(&self, via: Via) -> u32 {
        self.formula.classes[via.vector().0 as usize].expect("no state has a fault")
    }

    /// The states whose steps are collected.
    fn look_at_batch(
        &self,
        states: &[u64],
        question: &Question,
        scratch: &mut Scratch<S::Width>,
        mut judge: impl FnMut(usize, usize, &[Look]) -> Judged,
    ) {
        let words = self.run.system.width().words();
        let Scratch { steps, ends, keys, own, looks, open, wanted, changing, recent, .. } = scratch;
        own.clear();
        own.resize(ends.len(), UNKNOWN);
        if question.own {
            self.table.slots_of(states, |k, slot| own[k] = slot);
        }
        looks.clear();
        for (target, via) in steps.iter() {
            let class = self.class(via);
            let known = question.remembers && question.needed[class as usize] && recent.has(target);
            looks.push((class, if known { CHANGED } else { UNKNOWN }));
        }
        let begin = |ends: &[usize], state: usize| if state == 0 { 0 } else { ends[state - 1] };
        changing.clear();
        open.clear();
        open.extend(0..ends.len());
        for most in if question.all { [usize::MAX; 3] } else { [0, FEW, usize::MAX] } {
            keys.clear();
            wanted.clear();
            if most > 0 {
                for &state in open.iter() {
                    let of_state = begin(ends, state)..ends[state];
                    let matters =
                        |at: &usize| looks[*at].1 == UNKNOWN && question.needed[looks[*at].0 as usize];
                    wanted.extend(of_state.filter(matters).take(most));
                }
                wanted.iter().for_each(|at| keys.extend_from_slice(steps.target(*at)));
                self.table.slots_of(keys, |k, slot| {
                    looks[wanted[k]].1 = slot;
                    if question.remembers
                        && question.single.is_some_and(|only| self.bit(only, slot) == question.flipped)
                    {
                        looks[wanted[k]].1 = CHANGED;
                        recent.keep(&keys[k * words..(k + 1) * words]);
                    }
                });
            }
            open.retain(|&state| {
                match judge(state, own[state], &looks[begin(ends, state)..ends[state]]) {
                    Judged::Open => return true,
                    Judged::Settled => {}
                    Judged::Changes => changing.push(state),
                }
                false
            });
            if open.is_empty() {
                break;
            }
        }
        if let Some(only) = question.single {
            keys.clear();
            changing
                .iter()
                .for_each(|state| keys.extend_from_slice(&states[state * words..(state + 1) * words]));
            self.table.slots_of(keys, |_, slot| self.flip(only, slot, question.flipped));
        }
        steps.clear();
        ends.clear();
    }

    /// The truth of a tree, unless it depends on targets that were not looked up.
    pub(super) fn truth(&self, node: &Node, slot: usize, steps: &[Look], flipped: bool) -> Option<bool> {
        match node {
            Node::Const(b) => Some(*b),
            Node::At(position) => self.known(*position, slot, flipped),
            Node::Junction(and, parts) => {
                joined(*and, parts.iter().map(|part| self.truth(part, slot, steps, flipped)))
            }
            Node::Every(modality) | Node::Some(modality) => {
                let row = &self.formula.after[*modality];
                let after = steps.iter().map(|&(class, target)| match &row[class as usize] {
                    Node::Const(b) => Some(*b),
                    Node::At(position) => self.known(*position, target, flipped),
                    // Trees of what must hold after a step have no modalities.
                    other => self.truth(other, target, &[], flipped),
                });
                joined(matches!(node, Node::Every(_)), after)
            }
        }
    }

    #[inline]
    fn known(&self, position: usize, slot: usize, flipped: bool) -> Option<bool> {
        match slot {
            UNKNOWN => None,
            CHANGED => Some(flipped),
            slot => Some(self.bit(position, slot)),
        }
    }

    #[inline]
    pub(super) fn bit(&self, position: usize, slot: usize) -> bool {
        self.bits[position][slot / 64].load(Relaxed) >> (slot % 64) & 1 == 1
    }

    /// Changes a bit.
    #[inline]
    pub(super) fn flip(&self, position: usize, slot: usize, to: bool) {
        let (word, bit) = (&self.bits[position][slot / 64], 1 << (slot % 64));
        if to {
            word.fetch_or(bit, Relaxed)
        } else {
            word.fetch_and(!bit, Relaxed)
        };
    }
}

/// A conjunction (`and`) or disjunction of what is known.
#[inline]
pub(super) fn joined(and: bool, parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut all = Some(and);
    for part in parts {
        match part {
            Some(b) if b != and => return Some(b),
            Some(_) => {}
            None => all = None,
        }
    }
    all
}

/// Whether a tree asks for positions in the state itself.
fn is_about_itself(node: &Node) -> bool {
    match node {
        Node::At(_) => true,
        Node::Junction(_, parts) => parts.iter().any(is_about_itself),
        Node::Const(_) | Node::Every(_) | Node::Some(_) => false,
    }
}
