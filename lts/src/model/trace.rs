//! Traces: the steps of a run from the initial state of a network.

use crate::model::network::{Local, Network, Step};
use serde::{Deserialize, Serialize};

/// A run from the initial state, step by step.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trace {
    /// The steps, each with the local states it leads to.
    pub steps: Vec<Step>,
}

impl Trace {
    /// The number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether this is the run without steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The last state.
    pub fn end(&self, net: &Network) -> Vec<Local> {
        self.steps.last().map_or_else(|| net.initial(), |step| step.target.clone())
    }
}
