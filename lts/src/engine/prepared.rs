//! A network with its properties built in, ready for any search over packed states.
//!
//! Searches are generic over the width of a state; [`Prepared::visit`] chooses the width once, so that a search need not
//! know how many there are. Invariant of [`Prepared::verdict`]: what it returns was replayed by code that shares nothing
//! with the searches.

use crate::base::error::{Error, Result};
use crate::engine::look::What;
use crate::engine::pack::{Many, One, Packing, Two, Width};
use crate::engine::reduce::{self, Chained, Keep, Links, Reduced, TwoPhase, Wanted};
use crate::engine::replay::{self, Mismatch};
use crate::engine::successors::{Compiled, EveryStep, Successors};
use crate::engine::symmetry::{Permutation, Permutations, Symmetric};
use crate::engine::verdict::{Reduction, Verdict};
use crate::model::network::{Network, Step, VectorIx};
use crate::model::trace::Trace;
use crate::property::{self, Alarms, Instrumented, Property};
use std::borrow::Cow;
use std::sync::Arc;

/// A network whose tables are complete, with its properties built in.
#[derive(Debug)]
pub struct Prepared {
    net: Arc<Network>,
    properties: Arc<[Property]>,
    /// With one more leaf for each monitor; without monitors it is the network itself.
    network: Arc<Network>,
    alarms: Alarms,
    packing: Packing,
}

/// Something to do with a compiled system of any width. It may keep the system, as detached threads do.
pub trait Visitor {
    /// What comes out.
    type Out;

    /// Does it.
    fn visit<S: EveryStep + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out;
}

/// A visitor that stays correct if a reduction leaves steps out: a search that looks for violations and concludes nothing
/// from a step that it does not see. A search that needs every step implements [`Visitor`] instead and never gets a reduced
/// system.
pub trait FrugalVisitor {
    /// What comes out.
    type Out;

    /// Does it.
    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out;
}

/// How steps are left out, and what may be spent on choosing them.
#[derive(Clone, Copy, Debug)]
pub struct Thrift {
    /// What is kept besides verdicts.
    pub keep: Keep,
    /// Bytes of the search; threads may spend a share of them on what they remember.
    pub memory: u64,
    /// Threads that expand states.
    pub threads: usize,
}

impl Thrift {
    /// Bytes that all threads together may spend.
    pub fn bytes(&self) -> u64 {
        let threads = self.threads.max(1) as u64;
        threads * Wanted::new(self.keep, false, self.memory, self.threads).room.min(reduce::MOST)
    }
}

impl Prepared {
    /// Builds the properties in. All local states of the network must be expanded.
    pub fn new(net: impl Into<Arc<Network>>, properties: impl Into<Arc<[Property]>>) -> Self {
        let (net, properties) = (net.into(), properties.into());
        let Instrumented { network, alarms } = property::instrument(&net, &properties);
        let network = match network {
            Cow::Borrowed(_) => net.clone(),
            Cow::Owned(network) => Arc::new(network),
        };
        let packing = Packing::for_network(&network);
        Prepared { net, properties, network, alarms, packing }
    }

    /// The network as it was specified, without monitors.
    pub fn net(&self) -> &Arc<Network> {
        &self.net
    }

    /// The network that is searched: with one more leaf for each monitor.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The properties.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// Which steps of that network are findings.
    pub(crate) fn alarms(&self) -> &Alarms {
        &self.alarms
    }

    /// How the states of the searches are packed: the leaves of [`Prepared::net`] come first, then the monitors.
    pub fn packing(&self) -> &Packing {
        &self.packing
    }

    /// The least property that is violated before the first step; no search looks for that.
    pub fn violated_initially(&self) -> Option<Verdict> {
        property::violated_initially(&self.properties)
            .map(|property| Verdict::Violated { property, trace: Trace::default() })
    }

    /// The property that asks for freedom from deadlock.
    pub fn deadlock(&self) -> Option<usize> {
        property::asks_for_deadlocks(&self.properties)
    }

    /// Compiles the network and hands it to a visitor.
    pub fn visit<V: Visitor>(&self, visitor: V) -> Result<V::Out> {
        visit(&self.network, self.packing.clone(), self.alarms.clone(), visitor)
    }

    /// Compiles the network, leaves out steps as far as `reduce` says, and hands it to a visitor.
    pub fn visit_frugally<V: FrugalVisitor>(&self, reduce: Option<Thrift>, visitor: V) -> Result<V::Out> {
        let wanted = reduce
            .map(|thrift| Wanted::new(thrift.keep, self.deadlock().is_some(), thrift.memory, thrift.threads));
        let way = Way { reduce: wanted, symmetry: false };
        visit_frugally(&self.network, self.packing.clone(), self.alarms.clone(), way, visitor)
    }

    /// What a search that leaves steps out needs to know.
    pub fn reduction(&self, keep: Keep) -> Reduction {
        Reduction::of(keep, reduce::asked(&self.network, &self.alarms, self.deadlock().is_some()))
    }

    /// The verdict of a finding, given the steps to it (the forbidden one included). An error means that the steps do
    /// not replay: a defect of the search that found them.
    pub fn verdict(&self, what: What, path: &[(VectorIx, Vec<u64>)]) -> Result<Verdict> {
        verdict(&self.net, &self.properties, &self.packing, what, path)
    }
}

/// Compiles a network with monitors at the width that its states need.
pub fn visit<V: Visitor>(network: &Network, packing: Packing, alarms: Alarms, visitor: V) -> Result<V::Out> {
    Ok(match packing.words() {
        1 => visitor.visit(Arc::new(Compiled::new(network, packing, One, alarms)?)),
        2 => visitor.visit(Arc::new(Compiled::new(network, packing, Two, alarms)?)),
        n => visitor.visit(Arc::new(Compiled::new(network, packing, Many(n), alarms)?)),
    })
}

/// What is left out of a search.
#[derive(Debug, Default)]
pub(crate) struct Way {
    pub(crate) reduce: Option<Wanted>,
    /// Whether states stand for others that differ from them by exchanging like leaves.
    pub(crate) symmetry: bool,
}

/// Compiles a network with monitors at the width that its states need, and leaves out what `way` says.
pub(crate) fn visit_frugally<V: FrugalVisitor>(
    network: &Network,
    packing: Packing,
    alarms: Alarms,
    way: Way,
    visitor: V,
) -> Result<V::Out> {
    Ok(match packing.words() {
        1 => frugal(Compiled::new(network, packing, One, alarms.clone())?, network, &alarms, way, visitor),
        2 => frugal(Compiled::new(network, packing, Two, alarms.clone())?, network, &alarms, way, visitor),
        n => {
            frugal(Compiled::new(network, packing, Many(n), alarms.clone())?, network, &alarms, way, visitor)
        }
    })
}

fn frugal<W: Width, V: FrugalVisitor>(
    system: Compiled<W>,
    network: &Network,
    alarms: &Alarms,
    way: Way,
    visitor: V,
) -> V::Out {
    let Way { reduce, symmetry } = way;
    match reduce {
        None if symmetry => {
            let permutations = Permutations::of(network, alarms, &|_| true);
            match permutations.is_empty() {
                true => visitor.visit(Arc::new(system)),
                false => visitor.visit(Arc::new(Symmetric::new(system, permutations))),
            }
        }
        None => visitor.visit(Arc::new(system)),
        Some(wanted) => match wanted.keep {
            Keep::Verdicts | Keep::Lengths => {
                let reduced = Reduced::new(system, network, alarms, &wanted);
                if !symmetry {
                    return visitor.visit(Arc::new(reduced));
                }
                // Without anything forbidden, and where lengths are kept, nothing depends on the potential.
                let targets = reduce::asked(network, alarms, wanted.deadlocks).targets;
                let depends = targets && wanted.keep == Keep::Verdicts;
                let suits =
                    |p: &Permutation| !depends || p.preserves(|leaf, state| reduced.potential(leaf, state));
                let permutations = Permutations::of(network, alarms, &suits);
                match permutations.is_empty() {
                    true => visitor.visit(Arc::new(reduced)),
                    false => visitor.visit(Arc::new(Symmetric::new(reduced, permutations))),
                }
            }
            Keep::Chains => {
                let links = Links::new(Reduced::new(system, network, alarms, &wanted));
                visitor.visit(Arc::new(Chained::new(links)))
            }
            Keep::TwoPhase { save, foreign } => {
                let own = wanted.own.filter(|_| !foreign);
                let phases = TwoPhase::new(system, network, alarms, save, own);
                visitor.visit(Arc::new(Chained::new(phases)))
            }
        },
    }
}

/// Unpacks the steps to a finding and replays them on the network as it was specified.
pub fn verdict(
    net: &Network,
    properties: &[Property],
    packing: &Packing,
    what: What,
    path: &[(VectorIx, Vec<u64>)],
) -> Result<Verdict> {
    let step = |(vector, target): &(VectorIx, Vec<u64>)| {
        let mut target = packing.unpack(target);
        target.truncate(net.leaves.len());
        Step { vector: *vector, target }
    };
    let trace = Trace { steps: path.iter().map(step).collect() };
    let internal =
        |mismatch: Mismatch| Error::Internal(format!("a counterexample does not replay, {mismatch}"));
    match what {
        What::Fault(fault) => {
            replay::fault(net, &trace).map_err(internal)?;
            Ok(Verdict::Faulty { message: net.faults[fault as usize].clone(), trace })
        }
        What::Deadlock(property) | What::Property(property) => {
            replay::violation(net, &properties[property], &trace).map_err(internal)?;
            Ok(Verdict::Violated { property, trace })
        }
    }
}
