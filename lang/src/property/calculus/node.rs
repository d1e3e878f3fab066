//! A formula ready to be unfolded: positive, its stars as fixed points, its data compiled.
//!
//! Nodes refer to each other by number, so that what follows a choice of regular formulas is there once. Invariant: every
//! cycle of nodes goes through a [`Kind::Body`].

use super::action::Action;
use super::need::Needs;
use crate::data::code::{Code, Slot};
use crate::diagnostic::Span;
use crate::model::SortId;
use std::sync::Arc;

/// The number of a node.
pub type NodeId = u32;

/// A part of a formula.
#[derive(Debug)]
pub struct Node {
    /// The kind of node.
    pub kind: Kind,
    /// Its place.
    pub span: Span,
    /// The variables whose values it depends on, sorted.
    pub free: Vec<Slot>,
    /// The greatest rank of the fixed points inside.
    pub rank: u32,
}

/// A variable to be given values.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// Where its value goes.
    pub slot: Slot,
    /// Its sort.
    pub sort: SortId,
    /// Its name.
    pub name: Arc<str>,
    /// Where it is declared.
    pub span: Span,
}

/// The kinds of nodes.
#[derive(Debug)]
pub enum Kind {
    /// `true`, `false`.
    Const(bool),
    /// Data that must be true, or false if the flag is not set.
    Data(Code, bool),
    /// A conjunction (`true`) or disjunction.
    Junction(bool, Vec<NodeId>),
    /// For all values (`true`), or for some, the body.
    Quantifier(bool, Box<Quantified>),
    /// After every step (`true`), or some, and for all values, or some, that fit the step and the condition.
    Modal(bool, Arc<Modal>),
    /// A fixed point variable with values for its parameters: the number of a [`Kind::Body`].
    Call(NodeId, Vec<(Code, SortId)>),
    /// What a fixed point stands for, with its parameters and its rank.
    Body(Vec<Slot>, NodeId, u32),
}

/// Values that are tried one by one.
#[derive(Debug)]
pub struct Quantified {
    /// The variables.
    pub unknowns: Vec<Unknown>,
    /// What must be true of the values that count.
    pub condition: Code,
    /// Which values can matter where the condition leaves too many.
    pub needs: Needs,
    /// What must hold with them.
    pub body: NodeId,
}

/// What a modality asks of steps.
#[derive(Debug)]
pub struct Modal {
    /// Variables that get their values from the step.
    pub unknowns: Vec<Unknown>,
    /// What else must be true of them.
    pub condition: Code,
    /// Which steps are meant.
    pub action: Action,
    /// Where the formula says so.
    pub actions: Span,
    /// What must hold afterwards.
    pub next: NodeId,
}
