//! The network of a hunt: its tables are complete, or filled during the hunt.

use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::model::network::Network;
use std::sync::Arc;

/// The network as it was specified, as far as it is known.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// All of the network.
    Complete(&'a Network),
    /// The tables that searches have needed so far. Steps must be in order ([`Lazy::in_order`]).
    Open(&'a Lazy<'static>),
}

impl<'a> View<'a> {
    /// Calls `look` with the network.
    pub fn with<R>(self, look: impl FnOnce(&Network) -> R) -> R {
        match self {
            View::Complete(net) => look(net),
            View::Open(lazy) => lazy.with_network(look),
        }
    }

    /// The network; an error if its tables are not complete.
    pub fn complete(self) -> Result<&'a Network> {
        self.known().ok_or_else(|| Error::internal("a search needs complete tables, and there are none"))
    }

    /// The network, if its tables are complete.
    pub fn known(self) -> Option<&'a Network> {
        match self {
            View::Complete(net) => Some(net),
            View::Open(_) => None,
        }
    }
}

impl<'a> From<&'a Arc<Network>> for View<'a> {
    fn from(net: &'a Arc<Network>) -> Self {
        View::Complete(net)
    }
}

impl<'a> From<&'a Network> for View<'a> {
    fn from(net: &'a Network) -> Self {
        View::Complete(net)
    }
}
