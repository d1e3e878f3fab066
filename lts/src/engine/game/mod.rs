//! Decides formulas of the modal µ-calculus: a parity game over pairs of states and positions, made on the fly.
//!
//! [`build`] makes the game from the initial pair outwards, [`solve`] says who wins. While the game grows it is solved now
//! and then with everything unknown given to either player, so that an answer that needs few states is found before all
//! are seen. Invariant: an answer comes with a certificate that [`certificate::check`], which shares no code with the
//! solver, has checked on the plain network, unless it has more than [`MOST_CHECKED`] pairs; [`Decided::evidence`] is
//! missing then.
//!
//! What was chosen and why: the ranks of the formula are taken as they nest, without looking for what alternates. Where
//! nothing does, a component of the game has ranks of one player only, and the solver sees that for itself.

mod arena;
mod build;
mod certificate;
mod evidence;
mod graph;
mod route;
mod solve;
#[cfg(test)]
mod tests;

pub use evidence::{End, Evidence};

use crate::base::error::{Error, Limit, Result};
use crate::base::hash::Map;
use crate::base::memory;
use crate::engine::lazy::Lazy;
use crate::engine::pack::Packing;
use crate::engine::prepared::{self, Visitor};
use crate::engine::replay;
use crate::engine::search::{Options, Stats, Verdict};
use crate::engine::successors::{EveryStep, Via};
use crate::model::network::{Network, Step};
use crate::model::trace::Trace;
use crate::property::formula::{Class, Equations};
use crate::property::{self, Instrumented};
use arena::{Fault, Stop};
use build::Game;
use certificate::Certificate;
use graph::{Player, Vertex};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Pairs of a certificate that are checked and shown.
pub const MOST_CHECKED: usize = 100_000;

/// Vertices after which a game is first solved before it is complete. Tests have small games.
const FIRST_LOOK: usize = if cfg!(test) { 16 } else { 2048 };

/// How many times larger it must be for the next look.
const NEXT_LOOK: usize = 3;

/// Vertices between looks at limits.
const BETWEEN: usize = if cfg!(test) { 8 } else { 1024 };

/// The answer to a formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
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

/// What came out for a formula.
#[derive(Clone, PartialEq, Debug)]
pub struct Decided {
    /// The answer.
    pub answer: Answer,
    /// Why, if it was checked.
    pub evidence: Option<Evidence>,
    /// How much was searched: the states that the formula talks about.
    pub stats: Stats,
    /// Pairs of states and positions.
    pub pairs: u64,
    /// Positions of the formula.
    pub positions: u64,
}

/// The network behind a successor function.
trait Plain {
    fn with<R>(&self, look: impl FnOnce(&Network) -> R) -> R;
}

impl Plain for &Network {
    fn with<R>(&self, look: impl FnOnce(&Network) -> R) -> R {
        look(self)
    }
}

impl Plain for &Lazy<'_> {
    fn with<R>(&self, look: impl FnOnce(&Network) -> R) -> R {
        self.with_network(look)
    }
}

/// Decides a formula on a network whose tables are complete. Of the options, `order`, `workers` and `reduce` do not
/// matter.
pub fn decide(net: &Network, equations: &dyn Equations, options: &Options) -> Result<Decided> {
    let Instrumented { network, alarms } = property::instrument(net, &[]);
    let packing = Packing::for_network(&network);
    struct Deciding<'a>(&'a Network, &'a dyn Equations, &'a Options<'a>);
    impl Visitor for Deciding<'_> {
        type Out = Result<Decided>;
        fn visit<S: EveryStep + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
            play(&*system, self.0, self.1, self.2)
        }
    }
    prepared::visit(&network, packing, alarms, Deciding(net, equations, options))?
}

/// The same on tables that are filled as needed. The network must have no properties.
pub fn decide_on_demand(lazy: &Lazy, equations: &dyn Equations, options: &Options) -> Result<Decided> {
    play(lazy, lazy, equations, options)
}

/// A game and its limits.
struct Play<'a, S: EveryStep> {
    game: Game<'a, S>,
    options: &'a Options<'a>,
    started: Instant,
    limit: u64,
    resident_before: u64,
    peak: u64,
}

fn play<S: EveryStep>(
    system: &S,
    plain: impl Plain,
    equations: &dyn Equations,
    options: &Options,
) -> Result<Decided> {
    let started = Instant::now();
    let mut play = Play {
        game: Game::new(system, equations, options.max_depth)?,
        options,
        started,
        limit: options.max_memory.unwrap_or_else(memory::default_limit),
        resident_before: memory::resident().unwrap_or(0),
        peak: 0,
    };
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
    let answer = play.run(&mut class);
    let stats = play.stats();
    let (pairs, positions) = (play.game.pair_count() as u64, play.game.positions() as u64);
    let decided = |answer, evidence, time: Instant| Decided {
        answer,
        evidence,
        stats: Stats { time: time.elapsed(), ..stats.clone() },
        pairs,
        positions,
    };
    match answer {
        Ok(solution) => {
            let holds = solution.winner[Game::<S>::INITIAL as usize] == Player::Some;
            let evidence = plain.with(|net| -> Result<Option<Evidence>> {
                let packing = system.packing();
                let leaves = net.leaves.len();
                let of = |choices: &Map<Vertex, Vertex>| {
                    Certificate::of(&play.game, &solution, choices, packing, leaves, MOST_CHECKED)
                };
                let short = of(&route::choices(&play.game, &solution));
                let short = short.filter(|short| certificate::check(net, equations, short).is_ok());
                let certificate = match short {
                    Some(certificate) => certificate,
                    None => {
                        let Some(certificate) = of(&Map::default()) else { return Ok(None) };
                        certificate::check(net, equations, &certificate)?;
                        certificate
                    }
                };
                let evidence = evidence::of(net, equations, &certificate)?;
                shown(net, &evidence)?;
                Ok(Some(evidence))
            })?;
            let answer = if holds { Answer::Holds } else { Answer::Violated };
            Ok(decided(answer, evidence, started))
        }
        Err(Stop::Fault(fault)) => {
            let answer = plain.with(|net| faulty(net, system.packing(), &play.game, &fault))?;
            Ok(decided(answer, None, started))
        }
        Err(Stop::Error(Error::Limit(limit))) => Ok(decided(Answer::Unknown(limit), None, started)),
        // A table source that is told to stop fails, and that is no fault of it.
        Err(Stop::Error(_)) if options.cancel.is_some_and(|cancel| cancel.load(Relaxed)) => {
            Ok(decided(Answer::Unknown(Limit::Interrupted), None, started))
        }
        Err(Stop::Error(error)) => Err(error),
    }
}

/// Replays the run of an evidence, and looks whether it closes where it says so.
fn shown(net: &Network, evidence: &Evidence) -> Result<()> {
    let wrong = |why: String| Error::internal(format_args!("the evidence does not replay, {why}"));
    replay::steps(net, &evidence.trace).map_err(|mismatch| wrong(mismatch.to_string()))?;
    if let End::Repeats(from) = evidence.end {
        let before = Trace { steps: evidence.trace.steps[..from].to_vec() };
        if before.end(net) != evidence.trace.end(net) {
            return Err(wrong("it does not close".to_owned()));
        }
    }
    Ok(())
}

/// The verdict of a fault, replayed.
fn faulty<S: EveryStep>(net: &Network, packing: &Packing, game: &Game<S>, fault: &Fault) -> Result<Answer> {
    let steps = game.way_to(fault).into_iter().map(|(via, target)| {
        let mut target = packing.unpack(&target);
        target.truncate(net.leaves.len());
        Step { vector: via.vector(), target }
    });
    let trace = Trace { steps: steps.collect() };
    replay::fault(net, &trace)
        .map_err(|mismatch| Error::internal(format_args!("a fault does not replay, {mismatch}")))?;
    Ok(Answer::Faulty { message: net.faults[fault.fault as usize].clone(), trace })
}

impl<S: EveryStep> Play<'_, S> {
    /// Makes the game until it is decided.
    fn run(&mut self, class: &mut dyn FnMut(Via) -> Result<Class>) -> Result<solve::Solution, Stop> {
        let mut look = FIRST_LOOK;
        let mut report = 0;
        loop {
            for _ in 0..BETWEEN {
                if self.game.is_complete() {
                    self.check_limits()?;
                    return Ok(solve::solve(&self.game.graph, Player::All));
                }
                self.game.expand(class)?;
            }
            self.check_limits()?;
            let now = self.started.elapsed().as_millis();
            if now >= report
                && let Some(progress) = self.options.progress
            {
                report = now + 100;
                progress(&self.stats());
            }
            if self.game.graph.expanded() >= look {
                look = self.game.graph.expanded() * NEXT_LOOK;
                for pessimist in [Player::Some, Player::All] {
                    let solution = solve::solve(&self.game.graph, pessimist);
                    if solution.winner[Game::<S>::INITIAL as usize] != pessimist {
                        return Ok(solution);
                    }
                }
            }
        }
    }

    /// What the game takes, with what solving it will.
    fn bytes(&self) -> u64 {
        let graph = &self.game.graph;
        (self.game.bytes() + graph.len() * solve::BYTES_A_VERTEX + graph.edge_count() * 8) as u64
    }

    fn check_limits(&mut self) -> Result<()> {
        let options = self.options;
        if options.cancel.is_some_and(|cancel| cancel.load(Relaxed)) {
            return Err(Limit::Interrupted.into());
        }
        if let Some(limit) = options.time_limit
            && self.started.elapsed() >= limit
        {
            return Err(Limit::Time(limit).into());
        }
        if let Some(max) = options.max_states
            && self.game.arena.len() as u64 > max
        {
            return Err(Limit::States(max).into());
        }
        if self.game.graph.edge_count() >= u32::MAX as usize {
            return Err(Error::input("the formula and the system together have more than 2^32 steps"));
        }
        let grown = memory::resident().unwrap_or(0).saturating_sub(self.resident_before);
        let bytes = self.bytes();
        self.peak = self.peak.max(bytes);
        // Positions have values, which are not in the account: what the process really has counts as well.
        if bytes.max(grown) > self.limit {
            return Err(Limit::Memory(self.limit).into());
        }
        Ok(())
    }

    fn stats(&self) -> Stats {
        let (arena, graph) = (&self.game.arena, &self.game.graph);
        Stats {
            states: arena.len() as u64,
            transitions: arena.transitions,
            depth: u64::from(arena.depth()),
            deadlocks: arena.deadlocks,
            frontier: (graph.len() - graph.expanded()) as u64,
            memory: self.bytes(),
            peak_memory: self.peak.max(self.bytes()),
            time: self.started.elapsed(),
        }
    }
}

/// The verdict of a formula that is the property of that index, for reports that know no evidence.
pub fn verdict(answer: &Answer, property: usize, evidence: Option<&Evidence>) -> Verdict {
    match answer {
        Answer::Holds => Verdict::Holds,
        Answer::Violated => Verdict::Violated {
            property,
            trace: evidence.map(|evidence| evidence.trace.clone()).unwrap_or_default(),
        },
        Answer::Faulty { message, trace } => {
            Verdict::Faulty { message: message.clone(), trace: trace.clone() }
        }
        Answer::Unknown(limit) => Verdict::Unknown(*limit),
    }
}
