//! What the joint fixpoint alone says: how much each leaf can do, and which properties nothing in it could violate.

use super::block::Block;
use super::calm::Calm;
use super::frame::{Frame, Size};
use super::{has_faults, obligations};
use crate::base::error::{Error, Limit, Result};
use crate::base::memory::Budget;
use crate::engine::parts::Obligation;
use crate::engine::parts::system::SystemQuestion;
use crate::model::network::Network;
use crate::property::Property;
use std::sync::Arc;

/// The sizes of the leaves within the joint fixpoint, and for each obligation whether the fixpoint leaves it open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    /// For each leaf its local states and moves within the fixpoint.
    pub leaves: Vec<Size>,
    /// For each obligation, in order, whether it is suspicious: else it holds. A property that several are one with, or that
    /// only games decide, has none.
    pub obligations: Vec<(Obligation, bool)>,
}

/// Looks at the leaves one by one. The tables must be complete.
pub fn survey(net: &Network, properties: &[Property], max_memory: u64) -> Result<Survey> {
    let budget = Arc::new(Budget::new(max_memory));
    let frame = |asked| {
        Frame::new(net, asked, &budget).map_err(|exhausted| Error::Limit(Limit::Memory(exhausted.limit)))
    };
    // Without observer, so that nothing is left out that a property does not depend on.
    let all = frame(SystemQuestion::Property(&Property::DeadlockFree { allow_termination: false }))?;
    let mut leaves = vec![Size::default(); net.leaves.len()];
    for slot in all.slots() {
        if let Some(leaf) = all.leaf(slot) {
            let states = all.lts(slot).num_states() as u64;
            leaves[leaf.0 as usize] = Size { states, moves: all.moves(slot) };
        }
    }
    let mut verdicts = Vec::new();
    for obligation in obligations(has_faults(net), properties) {
        if matches!(obligation.asked(properties), SystemQuestion::Property(Property::Formula(_))) {
            continue;
        }
        let frame = frame(obligation.asked(properties))?;
        let suspicious = match frame.observer {
            Some(_) => frame.is_suspicious(),
            None => {
                let block = Block::new(&frame, &[]);
                Calm::new(&block).is_suspicious(&vec![0; frame.width()])
            }
        };
        verdicts.push((obligation, suspicious));
    }
    Ok(Survey { leaves, obligations: verdicts })
}
