//! How a hunt is run: its portfolio, its budgets, its seed.

use crate::grid::machine::WINDOW;
use crate::traces::strategy::StrategyKind;
use gridlock_lts::engine::game::live::Shape;
use gridlock_worker::hunt::job::HuntJob;
use gridlock_worker::job::Order;
use std::fmt;
use std::str::FromStr;

/// A member of a portfolio: a way to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Searches guided by traces of a subsystem, in some order, the traces chosen by some strategy.
    Guided(Order, StrategyKind),
    /// Depth first, successors in random order, states kept exactly.
    DepthFirst,
    /// Depth first, successors in random order, states kept as bits.
    Bitstate,
    /// Depth first within a bound, divided by prefixes of paths; the bound is raised once all states within it were searched.
    Prefix,
    /// Random walks.
    Walk,
    /// Random walks that prefer local transitions taken least often.
    WeightedWalk,
    /// Breadth first with bounded levels, steps with preferred labels first.
    Beam,
    /// Breadth first with bounded levels, at random.
    Highway,
    /// Breadth first with bounded levels, rare local transitions first.
    Rare,
    /// Breadth first with bounded levels, towards steps that were not seen yet.
    Aimed,
    /// Depth first for lassos that violate a formula.
    Lasso,
    /// Random walks into states after which a formula cannot be fulfilled any more.
    Trap,
}

impl Kind {
    /// All members whose names need no strategy, in the order of their first turns: the cheapest ways down come first.
    pub const NAMED: [Kind; 13] = [
        Kind::DepthFirst,
        Kind::WeightedWalk,
        Kind::Aimed,
        Kind::Guided(Order::DepthFirst, StrategyKind::Random),
        Kind::Guided(Order::BreadthFirst, StrategyKind::Different),
        Kind::Walk,
        Kind::Rare,
        Kind::Bitstate,
        Kind::Prefix,
        Kind::Highway,
        Kind::Beam,
        Kind::Lasso,
        Kind::Trap,
    ];

    /// The name without a strategy.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Guided(Order::BreadthFirst, _) => "guided-bfs",
            Kind::Guided(Order::DepthFirst, _) => "guided-dfs",
            Kind::DepthFirst => "dfs",
            Kind::Bitstate => "bitstate",
            Kind::Prefix => "prefix",
            Kind::Walk => "walk",
            Kind::WeightedWalk => "weighted-walk",
            Kind::Beam => "beam",
            Kind::Highway => "highway",
            Kind::Rare => "rare",
            Kind::Aimed => "aimed",
            Kind::Lasso => "lasso",
            Kind::Trap => "trap",
        }
    }

    /// Whether it needs a guide.
    pub fn is_guided(self) -> bool {
        matches!(self, Kind::Guided(..))
    }

    /// Whether it needs to know all local states and steps of the processes before it begins.
    pub fn needs_complete_tables(self) -> bool {
        match self {
            Kind::DepthFirst | Kind::Bitstate | Kind::Prefix | Kind::Walk | Kind::Highway => false,
            // Traces of a subsystem; counts of local steps; distances to them; a list of all vectors; certificates.
            Kind::Guided(..)
            | Kind::WeightedWalk
            | Kind::Rare
            | Kind::Aimed
            | Kind::Beam
            | Kind::Lasso
            | Kind::Trap => true,
        }
    }

    /// Whether it looks for runs against formulas, and for nothing else.
    pub fn is_for_formulas(self) -> bool {
        matches!(self, Kind::Lasso | Kind::Trap)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Kind::Guided(_, strategy) if !Kind::NAMED.contains(self) => write!(f, ":{strategy}"),
            _ => Ok(()),
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, strategy) = text.split_once(':').map_or((text, None), |(name, how)| (name, Some(how)));
        let found = Kind::NAMED.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Kind::NAMED.iter().map(|kind| kind.name()).collect();
            format!("there is no member '{name}'; choose from {}", names.join(", "))
        })?;
        match (found, strategy) {
            (kind, None) => Ok(kind),
            (Kind::Guided(order, _), Some(strategy)) => Ok(Kind::Guided(order, strategy.parse()?)),
            (_, Some(_)) => Err(format!("only guided members have a strategy, and {name} is none")),
        }
    }
}

/// How a hunt is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The seed of all random choices.
    pub seed: u64,
    /// Whether jobs of `prefix` tell each other which states they have expanded.
    pub share: bool,
    /// The members, in the order in which they have their first turns.
    pub portfolio: Vec<Kind>,
    /// Whether members with more new coverage get more work; otherwise they take turns.
    pub steering: bool,
    /// Bytes that the states of one job may take.
    pub job_memory: u64,
    /// States that the first jobs of each member may expand.
    pub job_states: u64,
    /// The largest number of jobs.
    pub max_jobs: Option<u64>,
    /// The largest number of states expanded, states for shortening not counted.
    pub max_states: Option<u64>,
    /// The hunt ends with the finding of this number.
    pub findings: u64,
    /// Job n is based on the feedback to the jobs up to n - window; more workers than this are idle.
    pub window: u64,
    /// States that may be expanded to shorten a finding.
    pub shorten: u64,
    /// For beams: the vectors whose steps are preferred, ascending.
    pub preferred: Vec<u32>,
    /// The formulas whose violations are looked for, by the numbers of their properties, each with its shape.
    pub formulas: Vec<(u32, Shape)>,
    /// Nothing but this job is done, one of another hunt; the portfolio is the member that it belonged to.
    pub only: Option<HuntJob>,
}

impl Config {
    /// The usual choices. The portfolio depends on whether there is a guide and whether labels are preferred.
    pub fn new(seed: u64, guided: bool, preferred: Vec<u32>) -> Self {
        let fits = |kind: &Kind| match kind {
            Kind::Guided(..) => guided,
            Kind::Beam => !preferred.is_empty(),
            Kind::Lasso | Kind::Trap => false,
            _ => true,
        };
        Config {
            seed,
            portfolio: Kind::NAMED.into_iter().filter(fits).collect(),
            steering: true,
            share: true,
            job_memory: 128 << 20,
            job_states: 1_000,
            max_jobs: None,
            max_states: None,
            findings: 1,
            window: WINDOW,
            shorten: 100_000,
            preferred,
            formulas: Vec::new(),
            only: None,
        }
    }

    /// The same, looking for runs that violate these formulas as well, or for these alone.
    pub fn with_formulas(self, formulas: Vec<(u32, Shape)>, alone: bool) -> Self {
        let fits = |kind: &Kind| match kind {
            Kind::Lasso => formulas.iter().any(|(_, shape)| shape.run),
            Kind::Trap => formulas.iter().any(|(_, shape)| shape.trap),
            _ => false,
        };
        let others = self.portfolio.into_iter().filter(|_| !alone);
        let portfolio = Kind::NAMED.into_iter().filter(fits).chain(others).collect();
        Config { portfolio, formulas, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written() {
        for kind in Kind::NAMED {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(kind.to_string(), kind.name());
        }
        let kind = Kind::Guided(Order::DepthFirst, StrategyKind::Even);
        assert_eq!(kind.to_string(), "guided-dfs:even");
        assert_eq!("guided-dfs:even".parse(), Ok(kind));
        for wrong in ["", "bfs", "walk:even", "guided-bfs:", "guided-bfs:sideways", "Walk"] {
            assert!(wrong.parse::<Kind>().is_err(), "{wrong}");
        }
    }
}
