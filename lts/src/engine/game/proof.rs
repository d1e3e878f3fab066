//! The whole proof of an answer as an LTS: its states are pairs of a state of the system and a part of the formula.
//!
//! Invariant: its first state is the initial one with the whole formula; every state but the last, which stands for what needs no
//! proof, is a pair of the certificate that was checked.

use super::certificate::Certificate;
use super::evidence::{deciding, for_each_modality, names};
use crate::base::error::Result;
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::{Network, Outcome, VectorIx};
use crate::property::formula::{Equations, Tree};
use std::sync::Arc;

/// A proof that was checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof(pub(super) Arc<Certificate>);

/// A proof as an LTS.
pub struct ProofLts {
    /// Transitions are steps of the system, or go on to another part of the formula in the same state: these have the label `in`
    /// with that part.
    pub lts: Lts,
    /// For each state which state of the system it is, numbered as they are met, and the part of the formula. The last one
    /// may be what needs no proof, and is no state of the system.
    pub places: Vec<(Option<u32>, String)>,
}

impl Proof {
    /// Whether the formula holds.
    pub fn holds(&self) -> bool {
        self.0.holds
    }

    /// As an LTS. The network is the one that the formula was decided on.
    pub fn lts(&self, net: &Network, equations: &dyn Equations) -> Result<ProofLts> {
        let Certificate { holds, states, pairs, next } = &*self.0;
        let mut lts = Builder::with_capacity(pairs.len());
        lts.require_states(pairs.len() as u32);
        let mut places: Vec<(Option<u32>, String)> =
            pairs.iter().map(|(state, position)| (Some(*state), equations.describe(*position))).collect();
        let decided = State(pairs.len() as u32);
        let label_of = |vector: VectorIx| match net.vectors[vector.0 as usize].outcome {
            Outcome::Step(label) => net.labels[label.0 as usize].as_str(),
            Outcome::Fault(fault) => &net.faults[fault as usize],
        };
        let mut steps = Vec::new();
        for (from, ((state, position), next)) in (0..).map(State).zip(pairs.iter().zip(next)) {
            let (state, tree) = (&states[*state as usize], equations.unfold(*position)?);
            net.successors(state, &mut steps);
            for &to in next {
                let (target, then) = pairs[to as usize];
                let target = &states[target as usize];
                if state == target && names(&tree, then) {
                    let label = lts.label(&format!("in {}", places[to as usize].1));
                    lts.add(from, label, State(to));
                }
                for step in steps.iter().filter(|step| step.target == *target) {
                    let class = equations.class(net, step.vector)?;
                    let mut leads = false;
                    for_each_modality(&tree, &mut |tree| {
                        let (Tree::Every(modality) | Tree::Some(modality)) = tree else { return Ok(()) };
                        leads |= names(&*equations.after(*modality, class)?, then);
                        Ok(())
                    })?;
                    if leads {
                        let label = lts.label(label_of(step.vector));
                        lts.add(from, label, State(to));
                    }
                }
            }
            if next.is_empty()
                && let Some(step) = deciding(net, equations, state, *position, *holds)?
            {
                let label = lts.label(label_of(step.vector));
                lts.add(from, label, decided);
                if places.len() == pairs.len() {
                    places.push((None, holds.to_string()));
                }
            }
        }
        Ok(ProofLts { lts: lts.finish(State(0)), places })
    }
}
