//! Exhaustive searches: does a network have its properties, and if not, by which trace.
//!
//! [`check`] is the whole road: it builds the properties into the network, compiles it, searches, rebuilds the trace and
//! replays it with code that shares nothing with the search. Invariant: a verdict other than [`Verdict::Unknown`] is a
//! fact about the network. It holds only if every reachable state was expanded, and a violation carries a trace that
//! replays.

mod bfs;
#[cfg(test)]
mod tests;

use crate::network::Network;
use crate::pack::{Many, One, Packing, Two};
use crate::property::{self, Property};
use crate::successors::Compiled;
use crate::trace::Trace;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The order in which states are visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Level by level, on all workers: counterexamples are of minimal length.
    BreadthFirst,
    /// Along one path as far as it goes, on one worker.
    DepthFirst,
}

/// What a search may spend, and whom it tells.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The order in which states are visited.
    pub order: Order,
    /// The number of threads.
    pub workers: usize,
    /// Stop after so many states.
    pub max_states: Option<u64>,
    /// Expand no state that is so many steps away from the initial one.
    pub max_depth: Option<u64>,
    /// Bytes that visited states, frontiers and tables may take. `None`: 80 % of what the machine or its control group
    /// has.
    pub max_memory: Option<u64>,
    /// Stop after so much time.
    pub time_limit: Option<Duration>,
    /// Stop when this becomes true.
    pub cancel: Option<&'a AtomicBool>,
    /// Is told now and then how far the search is, from one of its threads.
    pub progress: Option<&'a (dyn Fn(&Stats) + Sync)>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            order: Order::BreadthFirst,
            workers: 1,
            max_states: None,
            max_depth: None,
            max_memory: None,
            time_limit: None,
            cancel: None,
            progress: None,
        }
    }
}

/// How much was searched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// States visited.
    pub states: u64,
    /// Steps of the expanded states; faults are not counted.
    pub transitions: u64,
    /// The greatest distance from the initial state, or the longest path of a depth-first search.
    pub depth: u64,
    /// Expanded states without steps.
    pub deadlocks: u64,
    /// States that wait for their expansion.
    pub frontier: u64,
    /// Bytes in use for visited states, frontiers and tables.
    pub memory: u64,
    /// The most that was in use at a time.
    pub peak_memory: u64,
    /// Time since the search began.
    pub time: Duration,
}

/// Why a search ended without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// [`Options::max_states`] was reached.
    States(u64),
    /// [`Options::max_depth`] was reached.
    Depth(u64),
    /// [`Options::max_memory`] would have been exceeded.
    Memory(u64),
    /// [`Options::time_limit`] was reached.
    Time(Duration),
    /// [`Options::cancel`] became true.
    Cancelled,
}

/// The answer of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All properties hold; all reachable states were expanded.
    Holds,
    /// A property does not hold.
    Violated {
        /// Its index.
        property: usize,
        /// Shows it: it ends in the deadlock, or with the forbidden step.
        trace: Trace,
    },
    /// The specification has no meaning at the end of the trace.
    Faulty {
        /// The message of the fault.
        message: String,
        /// Ends with the step that has no meaning.
        trace: Trace,
    },
    /// No answer.
    Unknown(Reason),
}

/// What came out of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// How much was searched for it.
    pub stats: Stats,
}

/// Checks properties of a network whose tables are complete.
pub fn check(net: &Network, properties: &[Property], options: &Options) -> Result<Report, String> {
    let instrumented = property::instrument(net, properties);
    let (network, alarms) = (&*instrumented.network, instrumented.alarms);
    let packing = Packing::for_network(network);
    match packing.words() {
        1 => bfs::run(
            net,
            &Compiled::new(network, packing.clone(), One, alarms)?,
            &packing,
            properties,
            options,
        ),
        2 => bfs::run(
            net,
            &Compiled::new(network, packing.clone(), Two, alarms)?,
            &packing,
            properties,
            options,
        ),
        n => bfs::run(
            net,
            &Compiled::new(network, packing.clone(), Many(n), alarms)?,
            &packing,
            properties,
            options,
        ),
    }
}
