//! When two findings are the same.
//!
//! A fault or a forbidden step is identified by what it violates and by its label before hiding: the same step in another
//! state is usually the same bug, and a user wants to see the other bugs. A deadlock has no step, and two states without
//! steps are seldom related; it is identified by its state, monitors left out since they only observe. A lasso is identified
//! by the least label on its cycle, no matter where the cycle begins; a run that ends by its last label.

use super::job::HuntFinding;
use crate::job::{Finding, What};
use gridlock_lts::engine::game::live::Ending;
use gridlock_lts::engine::pack::Packing;
use gridlock_lts::model::network::{LeafIx, Network};

/// The identity of a finding. The order has no meaning; sorted sets need one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// A fault by its number and the label of its step.
    Fault(u32, u32),
    /// The violation of a property by its number and the label of the forbidden step.
    Step(usize, u32),
    /// A deadlock by the number of the property and the packed state, the fields of monitors zero.
    Deadlock(usize, Vec<u64>),
    /// A lasso that violates the formula of that number, by the least label on its cycle.
    Round(usize, u32),
    /// A run that violates a formula and ends, by its last label if it has a step, and whether it ends in a trap.
    Run(usize, Option<u32>, bool),
}

impl Key {
    /// The key of a finding with its path; `None` if the path does not fit the network: its end is no state, or a vector is
    /// unknown.
    pub fn of(net: &Network, packing: &Packing, finding: &Finding) -> Option<Key> {
        let last = finding.path.last();
        if let What::Deadlock(property) = finding.what {
            let state = last.map_or_else(|| vec![0; packing.words()], |(_, state)| state.clone());
            let fits = state.len() == packing.words() && packing.leaves() >= net.leaves.len();
            return fits.then(|| Key::deadlock(net, packing, property, &state));
        }
        Key::step(net, finding.what, last?.0)
    }

    /// The key of a finding of a hunt; `None` as for [`Key::of`].
    pub fn of_any(net: &Network, packing: &Packing, found: &HuntFinding) -> Option<Key> {
        match (found.ending, found.finding.what) {
            (Some(ending), What::Property(property)) => Key::run(net, property, ending, &found.finding.path),
            _ => Key::of(net, packing, &found.finding),
        }
    }

    fn run(net: &Network, property: usize, ending: Ending, path: &[(u32, Vec<u64>)]) -> Option<Key> {
        let label = |step: &(u32, Vec<u64>)| net.vectors.get(step.0 as usize).map(|vector| vector.unhidden.0);
        let labels: Vec<u32> = path.iter().map(label).collect::<Option<_>>()?;
        Some(match ending {
            Ending::Repeats(from) => {
                Key::Round(property, labels.get(from as usize..)?.iter().copied().min()?)
            }
            Ending::Decides => Key::Run(property, labels.last().copied(), false),
            Ending::Trap => Key::Run(property, labels.last().copied(), true),
        })
    }

    /// The key of a deadlock.
    pub(super) fn deadlock(net: &Network, packing: &Packing, property: usize, state: &[u64]) -> Key {
        let mut masked = vec![0; state.len()];
        for field in (0..net.leaves.len()).map(|leaf| packing.field(LeafIx(leaf as u32))) {
            field.set(&mut masked, field.get(state));
        }
        Key::Deadlock(property, masked)
    }

    /// The key of a fault or a forbidden step of a vector.
    pub(super) fn step(net: &Network, what: What, vector: u32) -> Option<Key> {
        let label = net.vectors.get(vector as usize)?.unhidden.0;
        match what {
            What::Fault(fault) => Some(Key::Fault(fault, label)),
            What::Property(property) => Some(Key::Step(property, label)),
            What::Deadlock(_) => None,
        }
    }
}
