//! Informed swarm verification with a guide that is discovered, for systems whose tables never close.
//!
//! The edges of the guide are moves of the subsystem that have happened somewhere, so there are no false ones, and the
//! subsystem may have endlessly many local states. Invariant: a violation is replayed by other code before it is reported,
//! and the conclusion is `holds` only if every known state is expanded.

mod places;
mod swarm;
#[cfg(test)]
mod tests;

pub use swarm::{Config, DiscoveredOutcome, DiscoveredStatus, Swarm};

use crate::grid::driver::{self, Control, Ended};
use crate::grid::journal::{Tally, Trouble};
use crate::grid::machine::{Numbered, Reply};
use crate::grid::work::{Grid, Work, Worker};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::memory::Budget;
use gridlock_lts::engine::prepared;
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::model::network::{LeafIx, LocalLabel, VectorIx};
use gridlock_lts::property::Property;
use gridlock_worker::discovered::{self, Feedback, Growing, Job, Stand};
use gridlock_worker::job::{Finding, JobEnd};
use gridlock_worker::life::Life;
use std::sync::Arc;

/// A journal and the answers that were in it.
pub type Opened = driver::Opened<Feedback>;

impl Numbered for Job {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Numbered for Feedback {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Reply for Feedback {
    fn is_interrupted(&self) -> bool {
        self.end == JobEnd::Interrupted
    }

    fn end(&self) -> &'static str {
        self.end.name()
    }

    fn tally(&self) -> Tally {
        Tally { states: self.effort.states, nanoseconds: self.effort.nanoseconds }
    }
}

/// The work of the workers of a process.
pub struct Discovering(pub Arc<Growing>);

impl Work for Discovering {
    type Job = Job;
    type Answer = Feedback;

    fn worker(&self) -> Worker<'_, Job, Feedback> {
        let mut worker = discovered::Worker::new(&self.0);
        Box::new(move |job, life| worker.run(&job, life))
    }
}

/// What a swarm concludes.
#[derive(Debug)]
pub enum Conclusion {
    /// All properties hold: every reachable state was visited.
    Holds,
    /// A property is violated or the specification is faulty, with a trace that replays.
    Found(Verdict),
    /// Nothing was found among as many states as are allowed.
    Bounded,
    /// Nothing was found, and the known states take this many bytes, which is the limit.
    Full(u64),
    /// Nothing was found, and a place does not fit into a job.
    TooLarge,
    /// The run was stopped.
    Stopped,
    /// The journal could not be written.
    Journal(Trouble),
}

/// The result of a swarm.
#[derive(Debug)]
pub struct DiscoveredReport {
    /// The answer.
    pub conclusion: Conclusion,
    /// How far it came and what it took.
    pub status: DiscoveredStatus,
    /// The largest places: states, how often they were searched, and the labels of the prefix that led there first.
    pub largest: Vec<(u64, u64, Vec<String>)>,
}

/// The task of a swarm, and its memory.
pub struct Task<'t> {
    /// The properties to check.
    pub properties: &'t [Property],
    /// How it is run.
    pub config: Config,
    /// Bytes for known places and states.
    pub memory: u64,
    /// How many of the largest places are reported.
    pub largest: usize,
}

/// Runs a swarm.
pub fn conduct(
    growing: &Arc<Growing>,
    task: &Task,
    grid: &Grid,
    journal: Option<Opened>,
    control: &Control<DiscoveredStatus>,
) -> Result<DiscoveredReport> {
    let (lazy, budget) = (&growing.lazy, Budget::new(task.memory));
    let stand = Stand::new(lazy.packing(), &growing.leaves);
    let full = || Error::input("there is no memory for a single state: --job-memory allows more");
    let mut swarm = Swarm::new(task.config, stand, &lazy.initial(), &budget).map_err(|_| full())?;
    let (ended, _) = grid.lead(&mut swarm, &Arc::new(Discovering(growing.clone())), journal, control)?;
    let mut largest = task.largest;
    if largest > 0 || matches!(swarm.outcome(), Some(DiscoveredOutcome::Found(_))) {
        // Other ranks may have done the jobs; without their tables vectors have no meaning here.
        match (growing.fill(swarm.filled(), &Life::default()), swarm.outcome()) {
            (Err(error), Some(DiscoveredOutcome::Found(_))) => return Err(error),
            // A run that is to stop fills nothing any more, and has no names for its moves.
            (Err(_), _) => largest = 0,
            (Ok(()), _) => {}
        }
    }
    let conclusion = match (ended, swarm.outcome()) {
        (Ended::Journal(trouble), _) => Conclusion::Journal(trouble),
        (Ended::Stopped | Ended::Limit(_), None) => Conclusion::Stopped,
        (Ended::Done, None) => return Err(Error::internal("a swarm is done without an outcome")),
        (_, Some(DiscoveredOutcome::Exhausted)) => Conclusion::Holds,
        (_, Some(DiscoveredOutcome::Bounded)) => Conclusion::Bounded,
        (_, Some(DiscoveredOutcome::Full)) => Conclusion::Full(budget.limit()),
        (_, Some(DiscoveredOutcome::TooLarge)) => Conclusion::TooLarge,
        (_, Some(DiscoveredOutcome::Failed(error))) => return Err(error.clone()),
        (_, Some(DiscoveredOutcome::Found(finding))) => {
            Conclusion::Found(verdict(growing, task.properties, finding)?)
        }
    };
    let labels = |(states, searched, prefix): (u64, u64, Vec<u32>)| {
        (states, searched, prefix.into_iter().map(|vector| label(growing, vector)).collect())
    };
    let largest = swarm.largest(largest).into_iter().map(labels).collect();
    Ok(DiscoveredReport { conclusion, status: crate::grid::machine::Machine::status(&swarm), largest })
}

/// What the subsystem does in a vector, printed.
fn label(growing: &Growing, vector: u32) -> String {
    growing.lazy.with_network(|net| {
        let own = net.vectors[vector as usize].parts.iter().filter(|(leaf, _)| growing.leaves.contains(leaf));
        let text = |(leaf, label): &(LeafIx, LocalLabel)| {
            net.leaves[leaf.0 as usize].labels[label.0 as usize].clone()
        };
        own.map(text).collect::<Vec<_>>().join(" | ")
    })
}

fn verdict(growing: &Growing, properties: &[Property], finding: &Finding) -> Result<Verdict> {
    let path: Vec<_> = finding.path.iter().map(|(v, target)| (VectorIx(*v), target.clone())).collect();
    let packing = growing.lazy.packing();
    growing.lazy.with_network(|net| prepared::verdict(net, properties, packing, finding.what, &path))
}
