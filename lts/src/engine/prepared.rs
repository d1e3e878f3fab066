//! A network with its properties built in, ready for any search over packed states.
//!
//! Searches are generic over the width of a state; [`Prepared::visit`] chooses the width once, so that a search need not
//! know how many there are. Invariant of [`Prepared::verdict`]: what it returns was replayed by code that shares nothing
//! with the searches.

use crate::base::error::{Error, Result};
use crate::engine::look::What;
use crate::engine::pack::{Many, One, Packing, Two, Width};
use crate::engine::reduce::{Keep, Reduced};
use crate::engine::replay::{self, Mismatch};
use crate::engine::search::Verdict;
use crate::engine::successors::{Compiled, EveryStep, Successors};
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

/// Something to do with a compiled system of any width. It may keep the system: threads that nobody waits for do.
pub trait Visitor {
    /// What comes out.
    type Out;

    /// Does it.
    fn visit<S: EveryStep + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out;
}

/// The same for what is right also if a reduction leaves steps out. Only this crate can say so of a search: a successor
/// function that is reduced is never seen outside.
pub(crate) trait FrugalVisitor {
    type Out;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out;
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

/// Compiles a network with monitors at the width that its states need, and reduces it if `reduce` says what to keep.
pub(crate) fn visit_frugally<V: FrugalVisitor>(
    network: &Network,
    packing: Packing,
    alarms: Alarms,
    reduce: Option<(Keep, bool)>,
    visitor: V,
) -> Result<V::Out> {
    Ok(match packing.words() {
        1 => frugal(Compiled::new(network, packing, One, alarms.clone())?, network, &alarms, reduce, visitor),
        2 => frugal(Compiled::new(network, packing, Two, alarms.clone())?, network, &alarms, reduce, visitor),
        n => frugal(
            Compiled::new(network, packing, Many(n), alarms.clone())?,
            network,
            &alarms,
            reduce,
            visitor,
        ),
    })
}

fn frugal<W: Width, V: FrugalVisitor>(
    system: Compiled<W>,
    network: &Network,
    alarms: &Alarms,
    reduce: Option<(Keep, bool)>,
    visitor: V,
) -> V::Out {
    match reduce {
        None => visitor.visit(Arc::new(system)),
        Some((keep, deadlocks)) => {
            visitor.visit(Arc::new(Reduced::new(system, network, alarms, deadlocks, keep)))
        }
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
