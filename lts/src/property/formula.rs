//! Formulas of the modal µ-calculus as equations that are unfolded on demand.
//!
//! A *position* is a part of a formula with values for its variables, known by its number; position 0 is the whole
//! formula. Whether a position holds in a state follows from its [`Tree`], whose modalities talk about the steps of the
//! state. A fixed point is a position with a *rank*: even for a greatest, odd for a least one, and not smaller than the
//! ranks of the fixed points inside of it. So the formula holds in a state if the player who picks disjuncts and steps of
//! diamonds wins a parity game whose greatest rank that is met for ever must be even.
//!
//! This crate evaluates no data; implementations of [`Equations`] do. Invariant: every cycle of positions goes through one
//! that has a rank, and the same question always gets the same answer.

use crate::base::error::Result;
use crate::model::network::{Network, VectorIx};
use crate::model::trace::Trace;
use std::sync::Arc;

/// A part of a formula with values for its variables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position(pub u32);

/// What must hold after steps, known by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Modality(pub u32);

/// A set of steps that a formula cannot tell apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Class(pub u32);

/// When a position holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tree {
    /// Always or never.
    Const(bool),
    /// If all of these do (`true`), or any.
    Junction(bool, Vec<Tree>),
    /// If this position does, in the same state.
    At(Position),
    /// If every step leads where [`Equations::after`] says.
    Every(Modality),
    /// If some step does.
    Some(Modality),
}

impl Tree {
    /// A conjunction (`and`) or disjunction without parts that make no difference.
    pub fn junction(and: bool, parts: impl IntoIterator<Item = Tree>) -> Tree {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Tree::Const(b) if b == and => {}
                Tree::Const(b) => return Tree::Const(b),
                Tree::Junction(kind, inner) if kind == and => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match kept.len() {
            0 => Tree::Const(and),
            1 => kept.remove(0),
            _ => Tree::Junction(and, kept),
        }
    }
}

/// A formula as equations.
pub trait Equations: Send + Sync {
    /// Learns the network before anything else is asked, and whether it is complete. An error says why the formula cannot be
    /// decided on it.
    fn prepare(&self, _net: &Network, _complete: bool) -> Result<()> {
        Ok(())
    }

    /// The class of a vector, which is no fault.
    fn class(&self, net: &Network, vector: VectorIx) -> Result<Class>;

    /// When a position holds. An error ends the search.
    fn unfold(&self, position: Position) -> Result<Arc<Tree>>;

    /// What must hold after a step of a class, in the state that it leads to. Has no modalities.
    fn after(&self, modality: Modality, class: Class) -> Result<Arc<Tree>>;

    /// The rank of a position that is a fixed point.
    fn rank(&self, position: Position) -> Option<u32>;

    /// A position for people: its part of the formula, with the values of its variables.
    fn describe(&self, position: Position) -> String;

    /// Whether a single run that refutes this position serves in turn, again and again, all the parts that a proof has for it.
    /// Such a run is shown instead of the proof.
    fn in_turn(&self, _position: Position) -> bool {
        false
    }

    /// Checks once more, on the plain network, that a run is against the formula, if the formula is about runs. With
    /// `repeats` the run goes on for ever: its end is where it was after this number of steps. Without, it ends.
    fn confirm(&self, _net: &Network, _run: &Trace, _repeats: Option<usize>) -> Result<()> {
        Ok(())
    }

    /// The steps that a modality is about, for people, if it asks for something after every one of them: the formula says
    /// nothing there if none of them ever happens. Not for what is forbidden, nor for what only repeats.
    fn antecedent(&self, _modality: Modality) -> Option<String> {
        None
    }
}
