//! The commands, one module each: its arguments, and its work with the libraries.

pub mod arguments;
mod check;
mod compare;
mod completions;
mod explore;
mod hunt;
mod info;
mod lts;
mod man;
mod merge;
mod minimise;
mod parts;
mod plan;
mod replay;
mod sim;
mod status;
mod traces;
mod watch;

use crate::outcome::{Exit, Failure};
use crate::watch::{Limits, Watch};
use clap::Subcommand;
use gridlock_manager::grid::transport::launch::launched;
use gridlock_manager::method::Peers;

/// The commands by what they are for, as `--help` lists them.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Check a specification", &["check", "hunt", "watch", "replay", "plan"]),
    ("Look at a specification", &["info", "parts", "sim", "explore"]),
    ("Work with whole state spaces", &["lts", "minimise", "compare"]),
    (
        "Informed swarms (many small searches instead of one, see docs/swarm.md)",
        &["traces", "status", "merge"],
    ),
    ("Set up", &["completions", "man", "help"]),
];

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    Check(Box<check::Arguments>),
    Hunt(Box<hunt::Arguments>),
    Watch(Box<watch::Arguments>),
    Replay(replay::Arguments),
    Plan(plan::Arguments),
    Lts(lts::Arguments),
    Info(info::Arguments),
    Parts(parts::Arguments),
    Minimise(minimise::Arguments),
    Compare(compare::Arguments),
    Sim(sim::Arguments),
    Explore(explore::Arguments),
    Traces(traces::Arguments),
    Status(status::Arguments),
    Merge(merge::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

impl Command {
    /// The limits of the command.
    pub fn limits(&self) -> Limits {
        match self {
            Command::Check(a) => a.limits.watched(),
            Command::Hunt(a) => a.watched(),
            Command::Watch(a) => a.resources.watched(),
            Command::Replay(a) => a.resources.watched(),
            Command::Plan(a) => a.resources.watched(),
            Command::Lts(a) => a.limits.watched(),
            Command::Info(a) => a.resources.watched(),
            Command::Parts(a) => a.limits.watched(),
            Command::Minimise(a) => a.limits.watched(),
            Command::Compare(a) => a.limits.watched(),
            Command::Sim(a) => a.resources.watched(),
            Command::Explore(a) => a.resources.watched(),
            Command::Traces(a) => a.resources.watched(),
            Command::Status(_) | Command::Merge(_) | Command::Completions(_) | Command::Man(_) => {
                Limits::default()
            }
        }
    }

    /// Whether the ranks of an MPI job can do it together.
    pub fn runs_on_ranks(&self) -> bool {
        match self {
            Command::Check(a) => a.runs_on_ranks(),
            Command::Hunt(_) => true,
            _ => false,
        }
    }

    /// Whether it also writes a result if it was stopped before it began.
    pub fn reports_its_end(&self) -> bool {
        let distributed = launched().is_some_and(|launch| launch.is_distributed());
        matches!(self, Command::Check(_) | Command::Hunt(_)) && !distributed
    }

    /// Writes the result of a run that does not notice that it is to stop, from another thread than that of the run. `None`: the
    /// run has just come to a result of its own.
    pub fn give_up(&self, watch: &Watch, quiet: bool) -> Option<Result<Exit, Failure>> {
        match self {
            Command::Check(a) if self.reports_its_end() => {
                watch.claim_result().then(|| check::give_up(a, watch, quiet))
            }
            Command::Watch(a) => watch.claim_result().then(|| watch::give_up(a, watch, quiet)),
            Command::Hunt(a) if self.reports_its_end() => {
                watch.claim_result().then(|| hunt::give_up(a, watch, quiet))
            }
            _ => Some(Err(Failure::Stopped)),
        }
    }

    /// Runs the command. `quiet`: no summary on standard error.
    pub fn run(&self, watch: &Watch, quiet: bool, peers: &Peers) -> Result<Exit, Failure> {
        match self {
            Command::Check(a) => check::run(a, watch, quiet, peers),
            Command::Hunt(a) => hunt::run(a, watch, quiet, peers),
            Command::Watch(a) => watch::run(a, watch, quiet, peers),
            Command::Replay(a) => replay::run(a, watch),
            Command::Plan(a) => plan::run(a, watch, quiet),
            Command::Lts(a) => lts::run(a, watch, quiet),
            Command::Info(a) => info::run(a, watch),
            Command::Parts(a) => parts::run(a, watch),
            Command::Minimise(a) => minimise::run(a, watch, quiet),
            Command::Compare(a) => compare::run(a, watch, quiet),
            Command::Sim(a) => sim::run(a, watch),
            Command::Explore(a) => explore::run(a, watch, quiet),
            Command::Traces(a) => traces::run(a, watch, quiet),
            Command::Status(a) => status::run(a, watch),
            Command::Merge(a) => merge::run(a, watch),
            Command::Completions(a) => completions::run(a, watch),
            Command::Man(a) => man::run(a, watch),
        }
    }
}
