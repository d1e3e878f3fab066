//! Exhaustive searches: does a network have its properties, and if not, by which trace.
//!
//! [`check`] does everything: it builds the properties into the network, compiles it, searches, rebuilds the trace and
//! replays it with code that shares nothing with the search. Invariant: a verdict other than [`Verdict::Unknown`] is a fact
//! about the network. It holds only if every reachable state was expanded, and a violation carries a trace that replays.

mod backward;
mod bfs;
mod dfs;
mod owned;
mod recent;
mod run;
mod saved;
pub(crate) mod sweep;
#[cfg(test)]
mod tests;

pub use crate::engine::verdict::{Reduction, Verdict};
pub use saved::{Checkpoint, Keeper, Saved, SavedFile};

use crate::base::error::{Error, Limit, Result};
use crate::base::memory::{self, Budget};
use crate::engine::lazy::Lazy;
use crate::engine::look::Found;
use crate::engine::mesh::{Alone, Mesh, Owner};
use crate::engine::pack::Packing;
use crate::engine::prepared::{self, FrugalVisitor};
use crate::engine::reduce::{self, Allowance, Keep, Own, Wanted};
use crate::engine::successors::{Successors, Via};
use crate::model::network::{LeafIx, Network};
use crate::model::trace::Trace;
use crate::property::{self, Instrumented, Property};
use backward::Backward;
use run::Run;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The order in which states are visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Level by level, on all workers: counterexamples are of minimal length.
    BreadthFirst,
    /// Along one path as far as it goes, on one worker.
    DepthFirst,
}

/// The limits of a search, and where it reports progress.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The order in which states are visited.
    pub order: Order,
    /// The number of threads.
    pub workers: usize,
    /// Stop after this number of states.
    pub max_states: Option<u64>,
    /// Expand no state at this depth.
    pub max_depth: Option<u64>,
    /// Bytes that visited states, frontiers and tables may take. `None`: 80 % of what the machine or its control group
    /// has.
    pub max_memory: Option<u64>,
    /// Stop after this time.
    pub time_limit: Option<Duration>,
    /// Stop when this becomes true.
    pub cancel: Option<&'a AtomicBool>,
    /// The limit to report if `cancel` became true; `None`: the run was interrupted.
    pub reason: Option<&'a (dyn Fn() -> Limit + Sync)>,
    /// Called now and then with the progress, from one of the search's threads.
    pub progress: Option<&'a (dyn Fn(&Stats) + Sync)>,
    /// Whether steps are left out that are not needed, and what is kept besides verdicts. Only for complete tables.
    pub reduce: Option<Keep>,
    /// Whether only one of several states that differ by exchanging like leaves is searched. Only for complete tables.
    pub symmetry: bool,
    /// Called at points that depend on the system only: after each level, whose depth is given, or depth first after some
    /// states. It says whether to end; a search that it ends was interrupted.
    pub pause: Option<&'a (dyn Fn(&Stats) -> bool + Sync)>,
    /// With a reduction: what its work is taken from. It waits when nothing is left.
    pub allowance: Option<&'a Arc<Allowance>>,
    /// On ranks: the leaves whose local states decide which rank owns a state. `None`: all of the state decides.
    pub owners: Option<&'a [LeafIx]>,
    /// Breadth first: where levels are kept, so that the search can be resumed.
    pub checkpoint: Option<&'a Checkpoint<'a>>,
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
            reason: None,
            progress: None,
            reduce: None,
            symmetry: false,
            pause: None,
            allowance: None,
            owners: None,
            checkpoint: None,
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
    /// Time since the search began; properties were built in and tables compiled before.
    pub time: Duration,
}

/// What one of several ranks has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankStats {
    /// States that it owns.
    pub states: u64,
    /// States that a reduction passed and this rank stored all the same.
    pub states_saved: u64,
    /// Steps of those that it expanded.
    pub transitions: u64,
    /// States that it sent to others.
    pub states_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Bytes in use at the end of the last level.
    pub memory: u64,
    /// The most bytes that were in use at a time.
    pub peak_memory: u64,
    /// Idle time, waiting for other ranks.
    pub waited: Duration,
}

/// A level of a search on ranks, or several that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// States that were expanded in it, on all ranks; of several levels the most.
    pub states: u64,
    /// When it ended, since the search began.
    pub ended: Duration,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// How much was searched for it.
    pub stats: Stats,
    /// What was kept, if steps were left out. [`Stats`] then count what was visited, not all that is reachable.
    pub reduction: Option<Reduction>,
    /// The classes of leaves that were exchanged, if symmetric states were left out. [`Stats`] then count representatives.
    pub like_leaves: Option<Vec<Vec<LeafIx>>>,
    /// What each rank has done, if there were several; [`Stats`] are those of all together.
    pub ranks: Vec<RankStats>,
    /// When levels ended, if there were several ranks. Of very many, neighbours are taken together.
    pub levels: Vec<Level>,
}

/// Checks properties of a network whose tables are complete. There must be no formula among them, which
/// [`game`](crate::engine::game) decides.
pub fn check(net: &Network, properties: &[Property], options: &Options) -> Result<Report> {
    refuse_formulas(properties)?;
    check_here(net, properties, options, None)
}

/// As [`check`], for all properties that are no formulas; the caller decides those.
pub fn check_but_formulas(net: &Network, properties: &[Property], options: &Options) -> Result<Report> {
    check_here(net, properties, options, None)
}

/// The same, breadth first, together with other ranks, which must all do so with the same network, properties and options
/// (apart from memory, workers and progress). Every rank owns a part of the states. The report is the same on all.
pub fn check_on_ranks(
    net: &Network,
    properties: &[Property],
    options: &Options,
    mesh: &mut dyn Mesh,
) -> Result<Report> {
    refuse_formulas(properties)?;
    check_here(net, properties, options, Some(mesh))
}

/// The same for all properties that are no formulas.
pub fn check_but_formulas_on_ranks(
    net: &Network,
    properties: &[Property],
    options: &Options,
    mesh: &mut dyn Mesh,
) -> Result<Report> {
    check_here(net, properties, options, Some(mesh))
}

fn refuse_formulas(properties: &[Property]) -> Result<()> {
    match properties.iter().any(|property| matches!(property, Property::Formula(_))) {
        true => Err(Error::internal("a search for violations does not decide formulas")),
        false => Ok(()),
    }
}

fn check_here(
    net: &Network,
    properties: &[Property],
    options: &Options,
    mesh: Option<&mut dyn Mesh>,
) -> Result<Report> {
    let Instrumented { network, alarms } = property::instrument(net, properties);
    let packing = Packing::for_network(&network);
    let networks = Complete { net, network: &network, packing: &packing };
    let own =
        mesh.as_ref().map(|mesh| Own { owner: owner(mesh.size(), &packing, options), rank: mesh.rank() });
    let exhaustive = Exhaustive { networks, task: Task { properties, options }, mesh };
    let deadlocks = property::asks_for_deadlocks(properties).is_some();
    let reduction =
        options.reduce.map(|keep| Reduction::of(keep, reduce::asked(&network, &alarms, deadlocks)));
    let memory = options.max_memory.unwrap_or_else(memory::default_limit);
    let reduce = options.reduce.map(|keep| Wanted {
        own,
        allowance: options.allowance.cloned(),
        ..Wanted::new(keep, deadlocks, memory, options.workers)
    });
    let way = prepared::Way { reduce, symmetry: options.symmetry };
    let (report, told) = prepared::visit_frugally(&network, packing.clone(), alarms, way, exhaustive)??;
    let Told { passed, saved, like_leaves } = told;
    let reduction = reduction.map(|reduction| Reduction { passed, saved, ..reduction });
    Ok(Report { reduction, like_leaves, ..report })
}

/// The search of a network whose tables are complete.
struct Exhaustive<'a, 'm> {
    networks: Complete<'a>,
    task: Task<'a>,
    mesh: Option<&'a mut (dyn Mesh + 'm)>,
}

impl FrugalVisitor for Exhaustive<'_, '_> {
    type Out = Result<(Report, Told)>;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        examine(&*system, &self.networks, &self.task, self.mesh)
    }
}

/// Checks the properties of a network whose tables are filled as the search goes. An error of the table source ends the
/// search with that error.
pub fn check_on_demand(lazy: &Lazy, options: &Options) -> Result<Report> {
    check_lazy(lazy, options, None)
}

/// The same together with other ranks, as [`check_on_ranks`]. Every rank fills all tables, in the same order.
pub fn check_on_demand_on_ranks(lazy: &Lazy, options: &Options, mesh: &mut dyn Mesh) -> Result<Report> {
    check_lazy(lazy, options, Some(mesh))
}

fn check_lazy(lazy: &Lazy, options: &Options, mesh: Option<&mut dyn Mesh>) -> Result<Report> {
    if options.reduce.is_some() || options.symmetry {
        return Err(Error::input(
            "a reduction needs complete tables: of tables that still grow it cannot tell what is reachable",
        ));
    }
    let (report, _) = examine(lazy, lazy, &Task { properties: lazy.properties(), options }, mesh)?;
    Ok(report)
}

/// What is asked of a search.
struct Task<'a> {
    properties: &'a [Property],
    options: &'a Options<'a>,
}

/// The networks behind a successor function: the one that is checked, the one with monitors that is searched, and how
/// its states are packed. Needed only once something was found.
trait Networks {
    fn with<R>(&self, use_them: impl FnOnce(&Network, &Network, &Packing) -> R) -> R;
}

/// Those of a network whose tables are complete.
struct Complete<'a> {
    net: &'a Network,
    network: &'a Network,
    packing: &'a Packing,
}

impl Networks for Complete<'_> {
    fn with<R>(&self, use_them: impl FnOnce(&Network, &Network, &Packing) -> R) -> R {
        use_them(self.net, self.network, self.packing)
    }
}

impl Networks for Lazy<'_> {
    fn with<R>(&self, use_them: impl FnOnce(&Network, &Network, &Packing) -> R) -> R {
        self.with_network(|net| {
            let Instrumented { network, .. } = property::instrument(net, self.properties());
            use_them(net, &network, self.packing())
        })
    }
}

/// What a successor function has counted by itself.
#[derive(Default)]
struct Told {
    passed: Option<u64>,
    saved: Option<u64>,
    like_leaves: Option<Vec<Vec<LeafIx>>>,
}

/// What decides which rank owns a state.
fn owner(ranks: usize, packing: &Packing, options: &Options) -> Owner {
    options.owners.map_or_else(|| Owner::new(ranks), |leaves| Owner::by_leaves(ranks, packing, leaves))
}

/// Searches, and makes a report of what comes out.
fn examine<S: Successors>(
    system: &S,
    networks: &impl Networks,
    task: &Task,
    mesh: Option<&mut (dyn Mesh + '_)>,
) -> Result<(Report, Told)> {
    let started = Instant::now();
    let report = |verdict, stats| Report {
        verdict,
        stats,
        reduction: None,
        like_leaves: None,
        ranks: Vec::new(),
        levels: Vec::new(),
    };
    if let Some(property) = property::violated_initially(task.properties) {
        let stats = Stats { states: 1, time: started.elapsed(), ..Stats::default() };
        return Ok((report(Verdict::Violated { property, trace: Trace::default() }, stats), Told::default()));
    }
    let budget = Budget::new(task.options.max_memory.unwrap_or_else(memory::default_limit));
    let ranks = mesh.as_ref().map_or(1, |mesh| mesh.size());
    let run = budget
        .take(system.table_bytes())
        .and_then(|()| Run::new(system, task.options, &budget, started, ranks));
    let run = run.map_err(Error::from);
    let alone: &mut dyn Mesh = &mut Alone::default();
    let (mesh, several) = match mesh {
        Some(_) if task.options.order == Order::DepthFirst => {
            return Err(Error::internal("a depth-first search has no ranks"));
        }
        Some(mesh) => (mesh, true),
        None => (alone, false),
    };
    let run = match owned::agree(mesh, run) {
        Ok(run) => run,
        Err(Error::Limit(limit)) => {
            let stats = Stats { time: started.elapsed(), ..Stats::default() };
            return Ok((report(Verdict::Unknown(limit), stats), Told::default()));
        }
        Err(error) => return Err(error),
    };
    let (found, stop, stats, ranks, levels) = match task.options.order {
        Order::BreadthFirst if several => {
            let ended = owned::search(&run, mesh, None)?;
            let stats = all_ranks(&ended, run.stats(), run.earlier());
            let found = ended.found.map(|(found, depth)| (found, Way::Depth(depth)));
            (found, ended.stop, stats, ended.ranks, ended.levels)
        }
        Order::BreadthFirst => {
            let found = bfs::search(&run).map(|(found, depth)| (found, Way::Depth(depth)));
            // Before the trace is rebuilt, which may search again.
            let (stats, earlier) = (run.stats(), run.earlier());
            let transitions = earlier.transitions + stats.transitions;
            let deadlocks = earlier.deadlocks + stats.deadlocks;
            (found, run.why_stopped(), Stats { transitions, deadlocks, ..stats }, Vec::new(), Vec::new())
        }
        Order::DepthFirst => {
            let found = dfs::search(&run).map(|(found, steps)| (found, Way::Steps(steps)));
            (found, run.why_stopped(), run.stats(), Vec::new(), Vec::new())
        }
    };
    let saved_here =
        |saved: u64| if several { ranks.iter().map(|rank| rank.states_saved).sum() } else { saved };
    let told = Told {
        passed: Some(system.passed()).filter(|_| system.has_chains() && !several),
        saved: system.saved().map(saved_here),
        like_leaves: system.like_leaves().map(<[_]>::to_vec),
    };
    // A finding is a fact, even if something else ended the search at the same time.
    let verdict = match (found, stop) {
        (Some((found, way)), _) => networks
            .with(|net, network, packing| conclude(&run, (net, network, packing), found, way, task, mesh)),
        (None, Some(stop)) => Err(stop),
        (None, None) => Ok(Verdict::Holds),
    };
    let verdict = match verdict {
        Ok(verdict) => verdict,
        Err(Error::Limit(limit)) => Verdict::Unknown(limit),
        Err(error) => return Err(error),
    };
    let peak = if several { stats.peak_memory } else { budget.peak() };
    let stats = Stats { time: started.elapsed(), peak_memory: peak, ..stats };
    // What was kept is for the caller to say.
    Ok((Report { verdict, stats, reduction: None, like_leaves: None, ranks, levels }, told))
}

/// What all ranks have done together.
fn all_ranks(ended: &owned::Ended, own: Stats, earlier: run::Earlier) -> Stats {
    let sum = |of: fn(&RankStats) -> u64| ended.ranks.iter().map(of).sum();
    Stats {
        states: sum(|rank| rank.states),
        transitions: earlier.transitions + sum(|rank| rank.transitions),
        depth: ended.depth,
        deadlocks: earlier.deadlocks + ended.deadlocks,
        frontier: ended.frontier,
        memory: sum(|rank| rank.memory),
        peak_memory: sum(|rank| rank.peak_memory),
        time: own.time,
    }
}

/// What is known of the way to a finding.
enum Way {
    Depth(u64),
    Steps(Vec<(Via, Vec<u64>)>),
}

/// Rebuilds the trace of a finding, and replays it.
fn conclude<S: Successors>(
    run: &Run<S>,
    (net, network, packing): (&Network, &Network, &Packing),
    found: Found,
    way: Way,
    task: &Task,
    mesh: &mut dyn Mesh,
) -> Result<Verdict> {
    let mut path = match way {
        Way::Depth(depth) => Backward::new(run, network, packing, mesh).path_to(&found.state, depth)?,
        Way::Steps(steps) if run.system.has_chains() => {
            let (mut path, mut from) = (Vec::new(), run.system.initial());
            for (_, target) in steps {
                path.extend(run.system.unfold(&from, &target)?);
                from = target;
            }
            path
        }
        Way::Steps(steps) => steps.into_iter().map(|(via, target)| (via.vector(), target)).collect(),
    };
    path.extend(found.step);
    let path = run.system.lift(path, found.what)?;
    prepared::verdict(net, task.properties, packing, found.what, &path)
}
