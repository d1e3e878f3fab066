//! Local checking: prove or refute without the state space of the whole.
//!
//! First the leaves are looked at one by one, within the joint fixpoint ([`frame`]): each moves against all that the others
//! may ever offer. What is bad nowhere there never is. Else a *block* of leaves around the observer is explored exactly
//! while the others are left out ([`block`]); a path to something suspicious is followed by the leaves outside
//! ([`follow`]), and a leaf that cannot follow joins the block ([`refine`]). A path that all can follow together is a run
//! ([`concrete`]). Where many alike leaves can make the observer advance, each gets an obligation of its own ([`split`]).
//!
//! The method follows R. Guerraoui and M. Yabandeh, "Model checking a networked system without the network" (2011): their
//! sets of node states under a network that only grows are the fixpoint, and their check of soundness is the search for a
//! run. The block makes it complete.
//!
//! Freedom from deadlock may be shown by equations before anything is explored ([`marking`]).
//!
//! Invariants: an answer is exact, or there is none and the report says what was left and why. Obligations are decided in any
//! order, here ([`workers`]) or elsewhere ([`task`]), but the first in a fixed order that does not hold counts ([`board`]), so
//! nothing depends on the number of workers.

mod block;
mod board;
mod calm;
mod concrete;
mod follow;
mod frame;
mod marking;
mod mutants;
mod refine;
mod split;
mod survey;
mod task;
#[cfg(test)]
mod tests;
mod ticks;
mod workers;

use crate::base::error::{Error, Limit, Result};
use crate::engine::parts::{Obligation, obligations};
use crate::engine::search::Verdict;
use crate::model::network::{LeafIx, Network, Outcome};
use crate::model::trace::Trace;
use crate::property::{self, Property};
pub use board::{Board, TaskPath};
pub use frame::Size;
pub use marking::Marking;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
pub use survey::{Survey, survey};
pub use task::{Answered, Setting, Task, TaskEnd};

/// What an obligation may take if nothing else is said: see [`Options::limit`].
pub const DEFAULT_LIMIT: u64 = 1_000_000;

/// What is spent on the paths of an obligation if nothing else is said: see [`Options::tries`] and [`Options::pairs`].
pub const DEFAULT_TRIES: u64 = 100_000;
/// See [`DEFAULT_TRIES`].
pub const DEFAULT_PAIRS: u64 = 10_000_000;

/// One path gets no more than this part of [`Options::tries`].
pub const SHARE: u64 = 5;

/// The limits of a search, and where it reports progress.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The number of threads.
    pub workers: usize,
    /// The most states that the blocks of an obligation may have, all rounds together; paths may take as much work as these.
    pub limit: u64,
    /// States that are expanded to make runs of paths, in all rounds of an obligation together; for one path no more than
    /// [`SHARE`] of them.
    pub tries: u64,
    /// Labels that are tried in pairs of states to find two leaves that cannot follow, in all rounds of an obligation together.
    pub pairs: u64,
    /// Whether freedom from deadlock is tried by equations first: see [`Marking`].
    pub marking: bool,
    /// Bytes that leaves and blocks may take.
    pub max_memory: u64,
    /// Whether and why to stop.
    pub stop: &'a (dyn Fn() -> Option<Limit> + Sync),
    /// Called with the number of decided obligations and the number of states of all blocks so far.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

/// What became of an obligation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Fate {
    /// It holds.
    Holds,
    /// It does not.
    Violated,
    /// It was divided into one for each of this number of members, which follow.
    Split(usize),
    /// Undecided, and why.
    Left(Why),
}

/// Why an obligation was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Why {
    /// It takes more states, or more work, than this limit allows.
    Limit(u64),
    /// The memory does not suffice.
    Memory,
    /// The run was asked to stop.
    Stopped,
}

/// Why leaves joined the block after a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Joined {
    /// No leaf did.
    Nobody,
    /// A leaf could not follow the path.
    CannotFollow,
    /// Two leaves could not follow it together.
    PairCannotFollow,
    /// No run was found along the path, and the leaf was in the way.
    InTheWay,
    /// All leaves had been in the block for once, which was too much: it goes on with those before.
    TooManyAtOnce,
}

/// What was done with one block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Round {
    /// Leaves in the block.
    pub leaves: u64,
    /// States of the block that were reached.
    pub states: u64,
    /// Steps of those that were expanded.
    pub transitions: u64,
    /// Steps to the suspicious state, if there is one.
    pub path: Option<u64>,
    /// States that were expanded in vain to make a run of it.
    pub runs: u64,
    /// Why leaves joined then.
    pub joined: Joined,
}

/// What was done about an obligation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Account {
    /// The obligation.
    pub obligation: Obligation,
    /// The leaves by which the observer advances, where it was split.
    pub members: Vec<LeafIx>,
    /// Its outcome.
    pub result: Fate,
    /// The leaves that matter within the joint fixpoint, the observer included.
    pub fixpoint: Size,
    /// The leaves in the last block.
    pub block: Vec<LeafIx>,
    /// The equations that decided, if they did.
    pub marking: Option<Marking>,
    /// The rounds; none: the fixpoint or the equations alone decided.
    pub rounds: Vec<Round>,
    /// The time it took.
    pub time: Duration,
}

impl Account {
    /// States of the largest block.
    pub fn largest(&self) -> u64 {
        self.rounds.iter().map(|round| round.states).max().unwrap_or(0)
    }

    /// States of all blocks.
    pub fn states(&self) -> u64 {
        self.rounds.iter().map(|round| round.states).sum()
    }
}

/// The result of local checking.
#[derive(Clone, Debug)]
pub struct LocalReport {
    /// The answer; `None`: an obligation was left.
    pub verdict: Option<Verdict>,
    /// The obligations in order, up to the first that does not hold.
    pub accounts: Vec<Account>,
    /// The most bytes in use at a time.
    pub peak_memory: u64,
    /// The time it took.
    pub time: Duration,
}

/// Whether some vector has no meaning.
fn has_faults(net: &Network) -> bool {
    net.vectors.iter().any(|vector| matches!(vector.outcome, Outcome::Fault(_)))
}

/// Decides properties of a network whose tables are complete; there must be no formula among them. A run that is asked to
/// stop ends with [`Verdict::Unknown`].
pub fn check(net: &Network, properties: &[Property], options: &Options) -> Result<LocalReport> {
    let start = Instant::now();
    let setting = Setting::new(net, properties, options.max_memory)?;
    if let Some(property) = property::violated_initially(properties) {
        let verdict = Some(Verdict::Violated { property, trace: Trace::default() });
        return Ok(LocalReport { verdict, accounts: Vec::new(), peak_memory: 0, time: start.elapsed() });
    }
    let (accounts, ended) = workers::decide(&setting, options).end();
    let verdict = match ended {
        None => Some(Verdict::Holds),
        Some((obligation, TaskEnd::Run(trace))) => Some(setting.verdict(obligation, trace)?),
        Some((_, TaskEnd::Stopped)) => Some(Verdict::Unknown((options.stop)().unwrap_or(Limit::Interrupted))),
        Some((_, TaskEnd::Failed(why))) => return Err(Error::Internal(why)),
        Some(_) => None,
    };
    Ok(LocalReport { verdict, accounts, peak_memory: setting.peak_memory(), time: start.elapsed() })
}
