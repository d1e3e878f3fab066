//! Decides formulas of the modal µ-calculus: a parity game over pairs of states and positions, made on the fly.
//!
//! [`build`] makes the game from the initial pair outwards, [`solve`] says who wins. While the game grows it is solved now
//! and then with everything unknown given to either player, so that an answer that needs few states is found before all
//! are seen. Invariant: an answer comes with a certificate that [`certificate::check`], which shares no code with the
//! solver, has checked on the plain network, unless it has more than [`MOST_CHECKED`] pairs; [`Decided::evidence`] is
//! missing then.
//!
//! Design: ranks follow the nesting of the fixed points, without an analysis of which of them alternate. Where none do,
//! each component of the game has ranks of one player only, which the solver detects.

mod arena;
mod build;
mod certificate;
mod evidence;
mod graph;
pub mod live;
mod play;
mod proof;
pub mod ranks;
mod route;
mod solve;
#[cfg(test)]
mod tests;
pub mod vacuity;

pub use evidence::{Evidence, RunEnd};
pub use proof::{Proof, ProofLts};

use crate::base::error::{Error, Limit, Result};
use crate::base::hash::Map;
use crate::engine::lazy::{Lazy, Plain};
use crate::engine::pack::Packing;
use crate::engine::prepared::{self, Visitor};
use crate::engine::replay;
use crate::engine::search::sweep::{self, Audience, Swept};
use crate::engine::search::{Level, Options, RankStats, Stats, Verdict};
use crate::engine::successors::{EveryStep, Via};
use crate::model::network::{Network, Step};
use crate::model::trace::Trace;
use crate::property::formula::{Class, Equations, Position};
use crate::property::{self, Instrumented};
use arena::{Fault, Stop};
use build::{Game, Order};
use certificate::Certificate;
use graph::{Player, Vertex};
use play::{Ended, Play, Shows, Sweep};
use solve::Solution;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Pairs of a certificate that are checked and shown.
pub const MOST_CHECKED: usize = 100_000;

/// The answer to a formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It holds.
    Holds,
    /// It does not.
    Violated,
    /// The specification has no meaning at the end of the trace.
    Faulty {
        /// The message of the fault.
        message: String,
        /// Ends with the step that has no meaning.
        trace: Trace,
    },
    /// No answer.
    Unknown(Limit),
}

/// The result for a formula.
#[derive(Clone, PartialEq, Debug)]
pub struct Decided {
    /// The answer.
    pub answer: Decision,
    /// Why, if it was checked.
    pub evidence: Option<Evidence>,
    /// How much was searched: the states that the formula talks about.
    pub stats: Stats,
    /// Pairs of states and positions.
    pub pairs: u64,
    /// Positions of the formula.
    pub positions: u64,
    /// If it holds: the steps after which it asks for something although none of them is possible in any state that it
    /// looks at.
    pub vacuous: Vec<String>,
    /// What each rank has done, if several decided it together.
    pub ranks: Vec<RankStats>,
    /// When levels of their search ended.
    pub levels: Vec<Level>,
    /// Bytes of states that were in a file, since they would have taken too much memory.
    pub spilled: u64,
}

/// Decides a formula on a network whose tables are complete. Of the options, `order` and `reduce` do not matter.
pub fn decide(net: &Network, equations: &dyn Equations, options: &Options) -> Result<Decided> {
    equations.prepare(net, true)?;
    let Instrumented { network, alarms } = property::instrument(net, &[]);
    let packing = Packing::for_network(&network);
    struct Deciding<'a>(&'a Network, &'a dyn Equations, &'a Options<'a>);
    impl Visitor for Deciding<'_> {
        type Out = Result<Decided>;
        fn visit<S: EveryStep + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
            let sweep =
                |audience: &mut dyn Audience| sweep::decide(&*system, self.0, self.1, self.2, audience);
            play(&*system, self.0, self.1, self.2, Some(&sweep), None)
        }
    }
    prepared::visit(&network, packing, alarms, Deciding(net, equations, options))?
}

/// The same on tables that are filled as needed. The network must have no properties.
pub fn decide_on_demand(lazy: &Lazy, equations: &dyn Equations, options: &Options) -> Result<Decided> {
    on_demand(lazy, equations, options, None)
}

fn on_demand(
    lazy: &Lazy,
    equations: &dyn Equations,
    options: &Options,
    attend: Option<&dyn Fn()>,
) -> Result<Decided> {
    lazy.with_network(|net| equations.prepare(net, false))?;
    let sweep = |audience: &mut dyn Audience| sweep::decide(lazy, lazy, equations, options, audience);
    // Other ranks wait for signs of life, which sweeps do not give.
    let sweep: Option<Sweep> = if attend.is_some() { None } else { Some(&sweep) };
    play(lazy, lazy, equations, options, sweep, attend)
}

fn play<S: EveryStep>(
    system: &S,
    plain: &impl Plain,
    equations: &dyn Equations,
    options: &Options,
    sweep: Option<Sweep>,
    attend: Option<&dyn Fn()>,
) -> Result<Decided> {
    let started = Instant::now();
    let mut play = Play::new(system, equations, options, started, Order::Breadth)?;
    play.attend = attend;
    let mut known: Vec<Option<Class>> = Vec::new();
    let mut class = |via: Via| {
        let at = via.vector().0 as usize;
        if known.len() <= at {
            known.resize(at + 1, None);
        }
        if let Some(class) = known[at] {
            return Ok(class);
        }
        let class = plain.with(|net| equations.class(net, via.vector()))?;
        known[at] = Some(class);
        Ok(class)
    };
    let proof = |game: &Game<S>, solution: &Solution| {
        plain.with(|net| prove(net, equations, system.packing(), game, solution))
    };
    let way = |way: &[(Via, Vec<u64>)]| plain.with(|net| into_trap(net, equations, system.packing(), way));
    let shows = Shows { proof: &proof, way: &way };
    let (answer, play) = match play.run(&mut class, sweep, equations, &shows) {
        Ok(Ended::SolvedBy(other, solution)) => (Ok(Ended::Solved(solution)), *other),
        answer => (answer, play),
    };
    let stats = play.stats();
    let (pairs, positions) = (play.game.pair_count() as u64, play.game.positions() as u64);
    let decided = |answer, evidence, time: Instant| Decided {
        answer,
        evidence,
        stats: Stats { time: time.elapsed(), ..stats.clone() },
        pairs,
        positions,
        vacuous: Vec::new(),
        ranks: Vec::new(),
        levels: Vec::new(),
        spilled: 0,
    };
    match answer {
        Ok(Ended::SolvedBy(..)) => Err(Error::internal("a game was solved by another one twice")),
        Ok(Ended::Swept(swept, evidence)) => {
            let Swept { holds, stats, positions, classes, ranks, levels, spilled } = *swept;
            let pairs = stats.states * positions;
            let stats = Stats { time: started.elapsed(), ..stats };
            let answer = if holds { Decision::Holds } else { Decision::Violated };
            let asked = (0..positions as u32).map(Position);
            let vacuous = if holds { vacuity::of(equations, asked, &classes)? } else { Vec::new() };
            Ok(Decided { answer, evidence, stats, pairs, positions, vacuous, ranks, levels, spilled })
        }
        Ok(Ended::Solved(solution)) => {
            let holds = solution.winner[Game::<S>::INITIAL as usize] == Player::Some;
            let evidence = proof(&play.game, &solution)?;
            let mut vacuous = Vec::new();
            if holds && play.game.is_complete() {
                let asked = (0..play.game.positions() as u32).map(Position);
                vacuous = vacuity::of(equations, asked, &play.game.arena.classes())?;
            }
            let answer = if holds { Decision::Holds } else { Decision::Violated };
            Ok(Decided { vacuous, ..decided(answer, evidence, started) })
        }
        Err(Stop::Fault(fault)) => {
            let answer = plain.with(|net| faulty(net, system.packing(), &play.game, &fault))?;
            Ok(decided(answer, None, started))
        }
        Err(Stop::Error(Error::Limit(limit))) => Ok(decided(Decision::Unknown(limit), None, started)),
        // A table source fails when it is asked to stop; that is no error of the source.
        Err(Stop::Error(_)) if options.cancel.is_some_and(|cancel| cancel.load(Relaxed)) => {
            Ok(decided(Decision::Unknown(Limit::Interrupted), None, started))
        }
        Err(Stop::Error(error)) => Err(error),
    }
}

/// The evidence of a solved game, checked; nothing if it is too large for that.
fn prove<S: EveryStep>(
    net: &Network,
    equations: &dyn Equations,
    packing: &Packing,
    game: &Game<S>,
    solution: &Solution,
) -> Result<Option<Evidence>> {
    let of = |choices: &Map<Vertex, Vertex>| {
        Certificate::of(game, solution, choices, packing, net.leaves.len(), MOST_CHECKED)
    };
    let short = of(&route::choices(game, solution));
    let short = short.filter(|short| certificate::check(net, equations, short).is_ok());
    let certificate = match short {
        Some(certificate) => certificate,
        None => {
            let Some(certificate) = of(&Map::default()) else { return Ok(None) };
            certificate::check(net, equations, &certificate)?;
            certificate
        }
    };
    let evidence = evidence::of(net, equations, &Arc::new(certificate))?;
    shown(net, equations, &evidence)?;
    Ok(Some(evidence))
}

/// A run into a trap that is too large to be checked.
fn into_trap(
    net: &Network,
    equations: &dyn Equations,
    packing: &Packing,
    way: &[(Via, Vec<u64>)],
) -> Result<Evidence> {
    let steps = way.iter().map(|(via, target)| {
        let mut target = packing.unpack(target);
        target.truncate(net.leaves.len());
        Step { vector: via.vector(), target }
    });
    let trace = Trace { steps: steps.collect() };
    let asks = equations.describe(Position(0));
    let evidence = Evidence { trace, end: RunEnd::Branches, asks, pairs: 0, closure: None, proof: None };
    shown(net, equations, &evidence)?;
    Ok(evidence)
}

/// Replays the run of an evidence, and looks whether it closes where it says so, and is what the formula is about.
fn shown(net: &Network, equations: &dyn Equations, evidence: &Evidence) -> Result<()> {
    let wrong = |why: String| Error::internal(format_args!("the evidence does not replay, {why}"));
    replay::steps(net, &evidence.trace).map_err(|mismatch| wrong(mismatch.to_string()))?;
    if let RunEnd::Repeats(from) = evidence.end {
        let before = Trace { steps: evidence.trace.steps[..from].to_vec() };
        if before.end(net) != evidence.trace.end(net) {
            return Err(wrong("it does not close".to_owned()));
        }
    }
    // No single run shows that a formula about all runs holds.
    match evidence.end {
        _ if evidence.proof.as_ref().is_some_and(Proof::holds) => Ok(()),
        RunEnd::Repeats(from) => equations.confirm(net, &evidence.trace, Some(from)),
        RunEnd::Decides => equations.confirm(net, &evidence.trace, None),
        RunEnd::Branches => Ok(()),
    }
}

/// The verdict of a fault, replayed.
fn faulty<S: EveryStep>(net: &Network, packing: &Packing, game: &Game<S>, fault: &Fault) -> Result<Decision> {
    let steps = game.way_to(fault).into_iter().map(|(via, target)| {
        let mut target = packing.unpack(&target);
        target.truncate(net.leaves.len());
        Step { vector: via.vector(), target }
    });
    let trace = Trace { steps: steps.collect() };
    replay::fault(net, &trace)
        .map_err(|mismatch| Error::internal(format_args!("a fault does not replay, {mismatch}")))?;
    Ok(Decision::Faulty { message: net.faults[fault.fault as usize].clone(), trace })
}

/// The verdict of a formula that is the property of that index, for reports that know no evidence.
pub fn verdict(answer: &Decision, property: usize, evidence: Option<&Evidence>) -> Verdict {
    match answer {
        Decision::Holds => Verdict::Holds,
        Decision::Violated => Verdict::Violated {
            property,
            trace: evidence.map(|evidence| evidence.trace.clone()).unwrap_or_default(),
        },
        Decision::Faulty { message, trace } => {
            Verdict::Faulty { message: message.clone(), trace: trace.clone() }
        }
        Decision::Unknown(limit) => Verdict::Unknown(*limit),
    }
}
