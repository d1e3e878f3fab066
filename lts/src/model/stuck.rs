//! Why a leaf does not move in a state: what it offers there, and what stands in the way of each offer.
//!
//! A network has only what survives the rules, so a [`TableSource`](crate::model::network::TableSource) that knows the
//! specification gives these explanations. Leaves and offers stand in the order of the specification.

use crate::model::network::LeafIx;

/// One leaf in a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// The leaf.
    pub leaf: LeafIx,
    /// What it offers, and why that does not happen. Empty if it offers nothing at all.
    pub offers: Vec<Refusal>,
    /// The number of further offers, which are not listed.
    pub more: usize,
}

/// An offer that does not happen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Refusal {
    /// The action with its arguments, `_` for an argument that a partner would supply.
    pub action: String,
    /// What kind of obstacle it is.
    pub obstacle: Obstacle,
    /// The same as a sentence.
    pub why: String,
    /// What the user probably forgot.
    pub remedy: Option<String>,
}

/// What stands in the way of an offer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Obstacle {
    /// An operator (`allow`, `block`) never lets it pass.
    Blocked,
    /// No process ever offers the partner of its communication.
    NoPartner,
    /// Partners offer the right action with other arguments.
    OtherArguments,
    /// A partner could do its part in another state.
    NotReady,
}

impl Obstacle {
    /// A stable name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Obstacle::Blocked => "blocked",
            Obstacle::NoPartner => "no-partner",
            Obstacle::OtherArguments => "other-arguments",
            Obstacle::NotReady => "not-ready",
        }
    }
}
