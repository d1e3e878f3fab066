//! Growing games and their limits: the breadth-first game, the depth-first game beside it, and games that show what sweeps
//! found.
//!
//! Invariant: how large a game is when it is looked at, or set aside, depends on the system and the formula alone, so the answer
//! and its evidence are the same for every number of workers.

use super::MOST_CHECKED;
use super::arena::Stop;
use super::build::{ClassOf, Game, Order};
use super::evidence::Evidence;
use super::graph::Player;
use super::solve::{self, Solution};
use crate::base::error::{Error, Limit, Result};
use crate::base::memory;
use crate::engine::search::sweep::{Audience, Swept, Truths};
use crate::engine::search::{Options, Stats};
use crate::engine::successors::{EveryStep, Via};
use crate::property::formula::{Equations, Position};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Vertices after which a game is first solved before it is complete. Tests have small games.
const FIRST_LOOK: usize = if cfg!(test) { 16 } else { 256 };

/// The same for games that are made depth first: what they are made for is found after some ten states, or not at all.
const FIRST_DEEP_LOOK: usize = if cfg!(test) { 8 } else { 256 };

/// Vertices after which a game is set aside for others: first for one that is made depth first, which finds cycles and traps
/// that are far away, then for sweeps, which are faster but have no proof.
const SET_ASIDE: usize = if cfg!(test) { 64 } else { 1 << 13 };

/// How many vertices the game that is made depth first has then.
const DEEP: usize = if cfg!(test) { 32 } else { 1 << 12 };

/// While a search goes on, the game that is made depth first has this part of its states.
const DEEP_PART: u64 = 64;

/// The same of the game that is made breadth first, where tables are filled as needed: the search may be one without end.
const BROAD_PART: u64 = 16;

/// Vertices of a game that shows what sweeps have found out.
const SHOWN: usize = 4 * MOST_CHECKED;

/// How many times larger it must be for the next look.
const NEXT_LOOK: usize = 3;

/// Vertices between looks at limits.
const BETWEEN: usize = if cfg!(test) { 8 } else { 1024 };

/// Sweeps over all states.
pub(super) type Sweep<'a> = &'a dyn Fn(&mut dyn Audience) -> Result<Option<Swept>>;

/// How building games ended if nothing stopped it.
pub(super) enum Ended<'a, S: EveryStep> {
    /// A player wins the game that was grown.
    Solved(Solution),
    /// A player wins another game, which is given too.
    SolvedBy(Box<Play<'a, S>>, Solution),
    /// Sweeps have decided.
    Swept(Box<Swept>, Option<Evidence>),
}

/// A game and its limits.
pub(super) struct Play<'a, S: EveryStep> {
    system: &'a S,
    pub(super) game: Game<'a, S>,
    options: &'a Options<'a>,
    started: Instant,
    limit: u64,
    resident_before: u64,
    peak: u64,
    /// The number of expanded vertices at which the game is solved next.
    look: usize,
    /// When progress is reported next.
    report: u128,
    /// Called now and then in all phases of the game, since other ranks may wait for a sign of life.
    pub(super) attend: Option<&'a dyn Fn()>,
}

/// Ways to show why a formula holds or does not: a solved game, and a way into a trap.
pub(super) struct Shows<'s, S: EveryStep> {
    pub(super) proof: &'s dyn Fn(&Game<'_, S>, &Solution) -> Result<Option<Evidence>>,
    pub(super) way: &'s dyn Fn(&[(Via, Vec<u64>)]) -> Result<Evidence>,
}

/// Goes on with a game that is made depth first while sweeps are made, and shows what they find out.
struct Aside<'p, 'a, S: EveryStep> {
    play: &'p mut Play<'a, S>,
    deep: &'p mut Play<'a, S>,
    class: ClassOf<'p>,
    equations: &'a dyn Equations,
    shows: &'p Shows<'p, S>,
    /// The solution of one of them, and whether it is that of the one made depth first.
    solution: Option<(Solution, bool)>,
    stopped: Option<Stop>,
    evidence: Option<Evidence>,
}

impl<S: EveryStep> Audience for Aside<'_, '_, S> {
    fn has_enough(&mut self, states: u64) -> bool {
        let broad = self.play.system.fills_tables();
        for (play, part, deep) in [(&mut *self.deep, DEEP_PART, true), (&mut *self.play, BROAD_PART, false)] {
            if !(deep || broad) || self.solution.is_some() || self.stopped.is_some() {
                continue;
            }
            let size = (states / part) as usize;
            // The broad one goes on if the search comes to nothing, so that nothing of it may be given up.
            let grown = if deep { play.grow_aside(self.class, size) } else { play.grow(self.class, size) };
            match grown {
                Ok(solution) => self.solution = solution.map(|solution| (solution, deep)),
                Err(stop) => self.stopped = Some(stop),
            }
        }
        self.solution.is_some() || self.stopped.is_some()
    }

    /// The winner need not move where he loses, and no move of the other player leads to a better place for that player:
    /// what is left is mostly a small game.
    fn hear(&mut self, truths: &dyn Truths) -> Result<()> {
        let holds = truths.holds();
        let known = |state: &[u64], position: Position| truths.truth(state, position).filter(|t| *t != holds);
        let Play { system, options, started, .. } = *self.play;
        let mut play = Play::new(system, self.equations, options, started, Order::Depth(Vec::new()))?;
        play.look = FIRST_LOOK;
        play.attend = self.play.attend;
        play.game = play.game.knowing(&known);
        let solution = match play.grow_aside(self.class, SHOWN) {
            Ok(solution) => solution,
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Fault(_)) => return Err(Error::internal("no state has a fault, and yet one has")),
        };
        if let Some(solution) = solution
            && (solution.winner[Game::<S>::INITIAL as usize] == Player::Some) == holds
        {
            self.evidence = (self.shows.proof)(&play.game, &solution)?;
        }
        if self.evidence.is_none() {
            self.evidence = truths.way().map(|way| (self.shows.way)(&way)).transpose()?;
        }
        Ok(())
    }
}

impl<'a, S: EveryStep> Play<'a, S> {
    pub(super) fn new(
        system: &'a S,
        equations: &'a dyn Equations,
        options: &'a Options<'a>,
        started: Instant,
        order: Order,
    ) -> Result<Self> {
        let look = if matches!(order, Order::Breadth) { FIRST_LOOK } else { FIRST_DEEP_LOOK };
        Ok(Play {
            system,
            game: Game::new(system, equations, options.max_depth, order)?,
            options,
            started,
            limit: options.max_memory.unwrap_or_else(memory::default_limit),
            resident_before: memory::resident().unwrap_or(0),
            peak: 0,
            look,
            report: 0,
            attend: None,
        })
    }

    /// Makes games, and sweeps, until the formula is decided.
    pub(super) fn run(
        &mut self,
        class: ClassOf,
        sweep: Option<Sweep>,
        equations: &'a dyn Equations,
        shows: &Shows<S>,
    ) -> Result<Ended<'a, S>, Stop> {
        // Where depths are limited, the order in which states are met makes a difference.
        let Some(sweep) = sweep.filter(|_| self.options.max_depth.is_none()) else {
            return self.play_on(class);
        };
        if let Some(solution) = self.grow(class, SET_ASIDE)? {
            return Ok(Ended::Solved(solution));
        }
        let mut deep =
            Play::new(self.system, equations, self.options, self.started, Order::Depth(Vec::new()))?;
        deep.attend = self.attend;
        if let Some(solution) = deep.grow_aside(class, DEEP)? {
            return Ok(Ended::SolvedBy(Box::new(deep), solution));
        }
        let (swept, evidence) = {
            let mut aside = Aside {
                play: self,
                deep: &mut deep,
                class,
                equations,
                shows,
                solution: None,
                stopped: None,
                evidence: None,
            };
            let swept = sweep(&mut aside);
            let Aside { solution, stopped, evidence, .. } = aside;
            if let Some(stop) = stopped {
                return Err(stop);
            }
            match solution {
                Some((solution, true)) => return Ok(Ended::SolvedBy(Box::new(deep), solution)),
                Some((solution, false)) => return Ok(Ended::Solved(solution)),
                None => {}
            }
            (self.unless_needed(swept)?, evidence)
        };
        // What is small gets its proof by the game.
        let large = |swept: &Swept| swept.stats.states * swept.positions > MOST_CHECKED as u64;
        match swept.filter(|swept| evidence.is_some() || large(swept)) {
            Some(swept) => Ok(Ended::Swept(Box::new(swept), evidence)),
            None => self.play_on(class),
        }
    }

    /// Where tables are filled as needed, a search of all states may meet what the formula never looks at: tables that cannot be
    /// filled, or more states than there is room for. The game goes on then.
    fn unless_needed(&self, swept: Result<Option<Swept>>) -> Result<Option<Swept>> {
        match swept {
            Err(Error::Limit(Limit::Interrupted | Limit::Time(_))) => swept,
            Err(_) if self.system.fills_tables() => self.go_on().map(|()| None),
            swept => swept,
        }
    }

    /// Makes the game until it is decided.
    fn play_on(&mut self, class: ClassOf) -> Result<Ended<'a, S>, Stop> {
        match self.grow(class, usize::MAX)? {
            Some(solution) => Ok(Ended::Solved(solution)),
            None => Err(Error::internal("a game ends when all of it is made").into()),
        }
    }

    /// [`Play::grow`] for a game beside the main one: a failure gives this game up, unless it is a reason for the whole run
    /// to stop.
    fn grow_aside(&mut self, class: ClassOf, size: usize) -> Result<Option<Solution>, Stop> {
        match self.grow(class, size) {
            Err(Stop::Error(Error::Limit(limit @ (Limit::Interrupted | Limit::Time(_))))) => {
                Err(Error::Limit(limit).into())
            }
            Err(_) => Ok(None),
            solution => solution,
        }
    }

    /// Grows the game until a player is known to win, or until `size` vertices are expanded.
    fn grow(&mut self, class: ClassOf, size: usize) -> Result<Option<Solution>, Stop> {
        while self.game.graph.expanded() < size {
            for _ in 0..BETWEEN {
                if self.game.is_complete() {
                    self.check_limits()?;
                    return Ok(Some(self.solve(Player::All)?));
                }
                if self.game.graph.expanded() >= self.look {
                    break;
                }
                self.game.expand(class)?;
            }
            self.check_limits()?;
            let now = self.started.elapsed().as_millis();
            if now >= self.report
                && let Some(progress) = self.options.progress
            {
                self.report = now + 100;
                progress(&self.stats());
            }
            if self.game.graph.expanded() >= self.look {
                self.look = self.game.graph.expanded() * NEXT_LOOK;
                for pessimist in [Player::Some, Player::All] {
                    let solution = self.solve(pessimist)?;
                    if solution.winner[Game::<S>::INITIAL as usize] != pessimist {
                        return Ok(Some(solution));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Solves the game, with what is unknown given to a player.
    fn solve(&self, unknown: Player) -> Result<Solution> {
        solve::solve(&self.game.graph, unknown, &|| self.go_on())
    }

    /// What the game takes, with what solving it will.
    fn bytes(&self) -> u64 {
        let graph = &self.game.graph;
        (self.game.bytes() + graph.len() * solve::BYTES_A_VERTEX + graph.edge_count() * 8) as u64
    }

    /// Whether the user, or the clock, wants an end.
    fn go_on(&self) -> Result<()> {
        if let Some(attend) = self.attend {
            attend();
        }
        let options = self.options;
        if options.cancel.is_some_and(|cancel| cancel.load(Relaxed)) {
            return Err(Limit::Interrupted.into());
        }
        match options.time_limit.filter(|limit| self.started.elapsed() >= *limit) {
            Some(limit) => Err(Limit::Time(limit).into()),
            None => Ok(()),
        }
    }

    fn check_limits(&mut self) -> Result<()> {
        self.go_on()?;
        let options = self.options;
        if let Some(max) = options.max_states
            && self.game.arena.len() as u64 > max
        {
            return Err(Limit::States(max).into());
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

    pub(super) fn stats(&self) -> Stats {
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
