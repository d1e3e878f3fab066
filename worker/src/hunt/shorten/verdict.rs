//! Shortens the trace of a verdict, for searches that do not find shortest counterexamples.

use super::Shortener;
use crate::hunt::{Setting, Shared};
use crate::job::{Finding, What};
use crate::life::Life;
use gridlock_lts::base::error::Result;
use gridlock_lts::engine::pack::Packing;
use gridlock_lts::engine::prepared::{self, Visitor};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::model::network::{LeafIx, Network, Outcome, VectorIx};
use gridlock_lts::model::trace::Trace;
use gridlock_lts::property::{self, Instrumented, Property};
use std::sync::Arc;

/// The limits of shortening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// States expanded.
    pub states: u64,
    /// Bytes for states at a time.
    pub memory: u64,
}

/// A verdict with a shorter trace, replayed as the first one was, or the same verdict if there is no shorter one within
/// the effort. The tables of the network must be complete. It ends soon after `life` is cancelled, with the best so far.
pub fn shortened(
    net: &Network,
    properties: &[Property],
    verdict: Verdict,
    effort: Effort,
    life: &Life,
) -> Result<Verdict> {
    let (what, trace) = match &verdict {
        Verdict::Violated { property, trace } => match properties[*property] {
            Property::DeadlockFree { .. } => (What::Deadlock(*property), trace),
            Property::Never(_) | Property::Monitor(_) => (What::Property(*property), trace),
            // What its evidence shows need not be at the end.
            Property::Formula(_) => return Ok(verdict),
        },
        Verdict::Faulty { trace, .. } => {
            let outcome = trace.steps.last().map(|step| net.vectors[step.vector.0 as usize].outcome);
            let Some(Outcome::Fault(fault)) = outcome else { return Ok(verdict) };
            (What::Fault(fault), trace)
        }
        Verdict::Holds | Verdict::Unknown(_) => return Ok(verdict),
    };
    let Instrumented { network, alarms } = property::instrument(net, properties);
    let packing = Packing::for_network(&network);
    let finding = Finding { what, path: packed(net, &network, &packing, trace) };
    let work = Shortening { net, finding, effort, life };
    // A trace that cannot be shortened is as true as before.
    match prepared::visit(&network, packing.clone(), alarms, work) {
        Ok(Ok(path)) if path.len() < trace.len() => prepared::verdict(net, properties, &packing, what, &path),
        Ok(_) | Err(_) => Ok(verdict),
    }
}

/// The steps of a trace as searches have them: packed, with the states of monitors.
fn packed(net: &Network, network: &Network, packing: &Packing, trace: &Trace) -> Vec<(u32, Vec<u64>)> {
    let leaves = net.leaves.len();
    let mut monitors = network.initial().split_off(leaves);
    let step = |step: &gridlock_lts::model::network::Step| {
        for &(leaf, label) in &network.vectors[step.vector.0 as usize].parts {
            if let Some(local) = (leaf.0 as usize).checked_sub(leaves).map(|k| &mut monitors[k]) {
                // Monitors are total and deterministic.
                *local = network.moves_with(LeafIx(leaf.0), *local, label)[0].1;
            }
        }
        let mut target = vec![0; packing.words()];
        packing.pack(&[&step.target[..], &monitors].concat(), &mut target);
        (step.vector.0, target)
    };
    trace.steps.iter().map(step).collect()
}

struct Shortening<'a> {
    net: &'a Network,
    finding: Finding,
    effort: Effort,
    life: &'a Life,
}

impl Visitor for Shortening<'_> {
    type Out = Result<Vec<(VectorIx, Vec<u64>)>>;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        let Shortening { net, mut finding, effort, life } = self;
        let (system, shared) = (&*system, Shared::new(&*system, net));
        let setting =
            Setting { system, net: net.into(), properties: &[], guide: None, shared: shared.clone() };
        let moves = shared.moves()?;
        Shortener::new(&setting, moves, effort.memory, life).shorten(&mut finding, effort.states)?;
        Ok(finding.path.into_iter().map(|(vector, target)| (VectorIx(vector), target)).collect())
    }
}
