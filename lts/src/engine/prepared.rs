//! A network with its properties built in, ready for any search over packed states.
//!
//! Searches are generic over the width of a state; [`Prepared::search`] chooses the width once, so that a search need not
//! know how many there are. Invariant of [`Prepared::verdict`]: what it returns was replayed by code that shares nothing
//! with the searches.

use crate::base::error::{Error, Result};
use crate::engine::pack::{Many, One, Packing, Two};
use crate::engine::replay::{self, Mismatch};
use crate::engine::search::{Verdict, What};
use crate::engine::successors::{Compiled, Successors};
use crate::model::network::{Network, Step, VectorIx};
use crate::model::trace::Trace;
use crate::property::{self, Instrumented, Property};
use std::sync::Arc;

/// A network whose tables are complete, with its properties built in.
#[derive(Debug)]
pub struct Prepared<'a> {
    net: &'a Network,
    properties: &'a [Property],
    instrumented: Instrumented<'a>,
    packing: Packing,
}

/// Something to do with a compiled system of any width.
pub trait Search {
    /// What comes out.
    type Out;

    /// Does it.
    fn search<S: Successors>(self, system: &S) -> Self::Out;
}

/// The same for those who may look at the system after they have come to an end: threads that nobody waits for.
pub trait SharedSearch {
    /// What comes out.
    type Out;

    /// Does it.
    fn search<S: Successors + Send + 'static>(self, system: Arc<S>) -> Self::Out;
}

struct Alone<T>(T);

impl<T: Search> SharedSearch for Alone<T> {
    type Out = T::Out;

    fn search<S: Successors + Send + 'static>(self, system: Arc<S>) -> T::Out {
        self.0.search(&*system)
    }
}

impl<'a> Prepared<'a> {
    /// Builds the properties in. All local states of the network must be expanded.
    pub fn new(net: &'a Network, properties: &'a [Property]) -> Self {
        let instrumented = property::instrument(net, properties);
        let packing = Packing::for_network(&instrumented.network);
        Prepared { net, properties, instrumented, packing }
    }

    /// The network as it was specified, without monitors.
    pub fn net(&self) -> &'a Network {
        self.net
    }

    /// The network that is searched: with one more leaf for each monitor.
    pub fn network(&self) -> &Network {
        &self.instrumented.network
    }

    /// The properties.
    pub fn properties(&self) -> &'a [Property] {
        self.properties
    }

    /// How the states of the searches are packed: the leaves of [`Prepared::net`] come first, then the monitors.
    pub fn packing(&self) -> &Packing {
        &self.packing
    }

    /// The least property that is violated before the first step; no search looks for that.
    pub fn violated_initially(&self) -> Option<Verdict> {
        property::violated_initially(self.properties)
            .map(|property| Verdict::Violated { property, trace: Trace::default() })
    }

    /// The property that asks for freedom from deadlock.
    pub fn deadlock(&self) -> Option<usize> {
        property::asks_for_deadlocks(self.properties)
    }

    /// Compiles the network and hands it to a search.
    pub fn search<T: Search>(&self, search: T) -> Result<T::Out> {
        self.share(Alone(search))
    }

    /// Compiles the network and hands it to a search that may keep it.
    pub fn share<T: SharedSearch>(&self, search: T) -> Result<T::Out> {
        let (network, packing) = (self.network(), self.packing.clone());
        let alarms = self.instrumented.alarms.clone();
        Ok(match packing.words() {
            1 => search.search(Arc::new(Compiled::new(network, packing, One, alarms)?)),
            2 => search.search(Arc::new(Compiled::new(network, packing, Two, alarms)?)),
            n => search.search(Arc::new(Compiled::new(network, packing, Many(n), alarms)?)),
        })
    }

    /// The verdict of a finding, given the steps to it (the forbidden one included). An error means that the steps do
    /// not replay: a defect of the search that found them.
    pub fn verdict(&self, what: What, path: &[(VectorIx, Vec<u64>)]) -> Result<Verdict> {
        verdict(self.net, self.properties, &self.packing, what, path)
    }
}

/// Unpacks the steps to a finding and replays them on the network as it was specified.
pub(crate) fn verdict(
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
