//! Exhaustive searches, breadth first and depth first: every reachable state in the memory of one process, or, breadth
//! first on ranks, in that of all of them ([`ranks`]).

mod ranks;

use super::quantities::{bytes, count, counted, tenths};
use super::trials::{self, Decision};
use super::{Common, Figures, Json, Listed, Method, Outcome, Row, Run, Spent, Tables, formulas};
use crate::grid::transport::launch::launched;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::mesh::Mesh;
use gridlock_lts::engine::reduce::Keep;
use gridlock_lts::engine::search::{self, Options, Order, RankStats, Reduction, Report, Stats, Verdict};
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::property::Property;
use gridlock_worker::hunt::shorten;
use gridlock_worker::life::Life;
use serde::Serialize;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Breadth first, on all threads.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct BreadthFirst {
    #[command(flatten)]
    depth: Depth,
    #[command(flatten)]
    less: Less,

    /// With --reduce on: keep counterexamples as short as can be, for fewer steps that are left out
    #[arg(long, help_heading = "Search")]
    shortest: bool,

    /// On MPI ranks, what decides which rank owns a state: `hash` (of the whole state), `leaves=auto` (those that move least) or
    /// `leaves=NAMES` [default: hash]
    #[arg(long, value_name = "WHAT", help_heading = "Search", value_parser = ranks::parse_owner)]
    owner: Option<ranks::OwnerFlag>,
}

/// Depth first, on one thread.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct DepthFirst {
    #[command(flatten)]
    depth: Depth,
    #[command(flatten)]
    less: Less,
}

/// The flags of both.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
struct Depth {
    /// Expand states up to this depth; `unknown` if there are deeper ones
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_depth: Option<u64>,
}

/// Whether steps are left out.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
struct Less {
    /// Leave out steps whose order makes no difference: the same verdict from fewer states. Needs complete tables
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, help_heading = "Search")]
    reduce: Reduce,
}

/// The values of `--reduce`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Reduce {
    /// Leave out what stubborn sets allow
    On,
    /// Search in full, and try now and then whether a reduced search would be over already
    Auto,
    /// Take every step: the counts are those of the state space
    #[default]
    Off,
}

/// What steps a search takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Taken {
    #[default]
    All,
    /// Those that a reduction keeps.
    Reduced(Keep),
    /// All, with trials of a reduced search in between.
    Trials,
}

impl Less {
    fn taken(self, shortest: bool) -> Taken {
        match self.reduce {
            Reduce::On if shortest => Taken::Reduced(Keep::Lengths),
            Reduce::On => Taken::Reduced(Keep::Verdicts),
            Reduce::Auto => Taken::Trials,
            Reduce::Off => Taken::All,
        }
    }

    /// Which leaf can reach what is read off its table, so that there must be nothing left to fill.
    fn needs_complete_tables(self) -> Option<&'static str> {
        (self.reduce == Reduce::On).then_some("--reduce on")
    }
}

impl Method for BreadthFirst {
    fn runs_on_ranks(&self) -> bool {
        true
    }

    fn needs_complete_tables(&self) -> Option<&'static str> {
        let owner = self.owner.as_ref().and_then(ranks::OwnerFlag::needs_complete_tables);
        self.less.needs_complete_tables().or(owner)
    }

    fn check(&self, _: &Common) -> Result<()> {
        if self.shortest && self.less.reduce != Reduce::On {
            return Err(Error::input(
                "--shortest belongs to --reduce on: else counterexamples are as short as can be anyway",
            ));
        }
        if self.owner.is_some() && !launched().is_some_and(|launch| launch.has_company()) {
            return Err(Error::input(
                "--owner is about the ranks of an MPI job, and there is one process: start it with mpirun or srun",
            ));
        }
        Ok(())
    }

    fn unbegun(&self) -> Box<dyn Figures> {
        Box::new(Exhausted::default())
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        let bounds = self.bounds(run);
        if formulas::are_asked(run) {
            self.check_formulas(run)?;
            return formulas::conduct(run, bounds.depth);
        }
        if run.peers.has_company() {
            return ranks::conduct(run, bounds, self.owner.as_ref());
        }
        run.host.begin("searching", "states");
        let (report, decision) = search(run, Order::BreadthFirst, bounds, None)?;
        Ok(outcome(run, report, true, decision, None))
    }

    fn serve(&self, run: &mut Run) -> Result<u8> {
        if formulas::are_asked(run) {
            self.check_formulas(run)?;
        }
        let bounds = self.bounds(run);
        ranks::serve(run, bounds, self.owner.as_ref())
    }
}

impl BreadthFirst {
    /// Says no to formulas that are no safety formulas where they cannot be decided.
    fn check_formulas(&self, run: &Run) -> Result<()> {
        if self.less.reduce == Reduce::On {
            return Err(Error::input(
                "--reduce on cannot decide a formula that is no safety formula: leave it out",
            ));
        }
        if run.peers.has_company() {
            return Err(Error::input(
                "a formula that is no safety formula is decided in one process: start gridlock without mpirun",
            ));
        }
        Ok(())
    }

    fn bounds(&self, run: &Run) -> Bounds {
        Bounds {
            depth: self.depth.max_depth,
            states: run.common.max_states,
            taken: self.less.taken(self.shortest),
        }
    }
}

/// What a search leaves out.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Bounds {
    /// Expand no state that is this far away.
    pub(super) depth: Option<u64>,
    /// Stop after this many states.
    pub(super) states: Option<u64>,
    /// Which steps it takes.
    pub(super) taken: Taken,
}

impl Listed for BreadthFirst {
    const NAME: &'static str = "bfs";
    const CHOSEN_BY: &'static str = "--search bfs";
    const ABOUT: &'static str = "Breadth first, on all workers: counterexamples are as short as can be";

    fn decides(property: &Property) -> bool {
        match property {
            Property::DeadlockFree { .. } | Property::Never(_) | Property::Monitor(_) => true,
            Property::Formula(_) => true,
        }
    }
}

impl Method for DepthFirst {
    fn threads(&self, _: Option<u16>) -> usize {
        1
    }

    fn needs_complete_tables(&self) -> Option<&'static str> {
        self.less.needs_complete_tables()
    }

    fn unbegun(&self) -> Box<dyn Figures> {
        Box::new(Exhausted::default())
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        if run.common.workers.is_some_and(|n| n > 1) {
            run.host.note("note: a depth-first search has one worker");
        }
        run.host.begin("searching", "states");
        let bounds = Bounds {
            depth: self.depth.max_depth,
            states: run.common.max_states,
            taken: self.less.taken(false),
        };
        let (report, decision) = search(run, Order::DepthFirst, bounds, None)?;
        Ok(outcome(run, report, false, decision, None))
    }
}

impl Listed for DepthFirst {
    const NAME: &'static str = "dfs";
    const CHOSEN_BY: &'static str = "--search dfs";
    const ABOUT: &'static str = "Depth first, on one worker";

    /// A new kind of property is not decided before somebody has thought about it here.
    fn decides(property: &Property) -> bool {
        match property {
            Property::DeadlockFree { .. } | Property::Never(_) | Property::Monitor(_) => true,
            Property::Formula(_) => false,
        }
    }
}

/// What a report means for the user. `shortest`: whether the order of the search makes counterexamples short.
/// `decision`: what `--reduce auto` came to. `owner`: what decided which rank owns a state, if there were several.
fn outcome(
    run: &Run,
    report: Report,
    shortest: bool,
    decision: Option<Decision>,
    owner: Option<String>,
) -> Outcome {
    let Report { verdict, stats, reduction, ranks } = report;
    let limit = match verdict {
        // What specification and tables take counts, too.
        Verdict::Unknown(Limit::Memory(_)) => Limit::Memory(run.memory),
        Verdict::Unknown(limit) => limit,
        _ => run.limit(),
    };
    let time = stats.time;
    let figures = Exhausted { stats, reduction, shortest, decision, ranks, owner };
    Outcome::of(verdict, time, Box::new(figures), || limit.into())
}

/// The search itself, with compiled tables if they are complete; together with other ranks if there is a mesh, and perhaps
/// leaves that decide which rank owns a state. On one process it leaves formulas out: the caller looks after them.
pub(super) fn search(
    run: &mut Run,
    order: Order,
    bounds: Bounds,
    mesh: Option<(&mut dyn Mesh, Option<&[LeafIx]>)>,
) -> Result<(Report, Option<Decision>)> {
    let (mesh, owners) = mesh.unzip();
    let owners = owners.flatten();
    let Bounds { depth: max_depth, states: max_states, taken } = bounds;
    let (host, halt) = (run.host, run.host.halt());
    // Called by the search about every 100 ms.
    let progress = |stats: &Stats| {
        let each = per_state(stats.memory, stats);
        let detail = format!("{} waiting, {each:.1} bytes/state", count(stats.frontier));
        host.progress(stats.states, stats.transitions, detail);
    };
    let reason = || host.stopped().unwrap_or(Limit::Interrupted);
    let options = Options {
        order,
        workers: run.threads,
        max_states,
        max_depth,
        // What specification and tables take is not for the search any more.
        max_memory: Some(run.room()),
        // The host counts from the start of the program.
        time_limit: None,
        cancel: Some(halt.flag()),
        reason: Some(&reason),
        progress: Some(&progress),
        reduce: match taken {
            Taken::Reduced(keep) => Some(keep),
            Taken::All | Taken::Trials => None,
        },
        pause: None,
        owners,
    };
    if run.tables().complete {
        let (net, properties) = (&run.tables().network, &run.properties);
        let (report, decision) = match (taken, mesh) {
            (Taken::Trials, None) => {
                trials::search(net, properties, &options).map(|(report, d)| (report, Some(d)))?
            }
            (_, Some(mesh)) => (search::check_on_ranks(net, properties, &options, mesh)?, None),
            (Taken::All | Taken::Reduced(_), None) => {
                (search::check_but_formulas(net, properties, &options)?, None)
            }
        };
        let report = if order == Order::DepthFirst { shorter(run, report)? } else { report };
        return Ok((report, decision));
    }
    if taken == Taken::Trials {
        host.note("note: --reduce auto takes every step: a reduction needs complete tables");
    }
    let Tables { network, source, complete } = run.take_tables()?;
    let properties = run.properties.clone();
    let lazy = Lazy::new(Arc::unwrap_or_clone(network), source, &properties)?;
    let report = match mesh {
        Some(mesh) => search::check_on_demand_on_ranks(&lazy, &options, mesh),
        None => search::check_on_demand(&lazy, &options),
    };
    let (network, source) = lazy.into_parts();
    run.put_tables(Tables { network: Arc::new(network), source, complete });
    Ok((report?, None))
}

/// States that are expanded to shorten a counterexample of a depth-first search.
const SHORTENING: u64 = 2_000_000;

/// A counterexample of a depth-first search is as long as it happened to be; this shortens it as a hunt does.
fn shorter(run: &Run, report: Report) -> Result<Report> {
    let effort = shorten::Effort { states: SHORTENING, memory: run.room() };
    let (life, done) = (Life::default(), AtomicBool::new(false));
    let verdict = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            while !done.load(Relaxed) {
                if run.host.stopped().is_some() {
                    life.cancel();
                }
                std::thread::park_timeout(Duration::from_millis(20));
            }
        });
        let (network, properties) = (&run.tables().network, &run.properties);
        let verdict = shorten::shortened(network, properties, report.verdict, effort, &life);
        done.store(true, Relaxed);
        watching.thread().unpark();
        verdict
    });
    Ok(Report { verdict: verdict?, ..report })
}

/// The figures of an exhaustive search.
#[derive(Default)]
struct Exhausted {
    stats: Stats,
    /// What was kept, if steps were left out.
    reduction: Option<Reduction>,
    /// Whether the order of the search alone makes counterexamples short.
    shortest: bool,
    /// What `--reduce auto` came to.
    decision: Option<Decision>,
    /// What each rank has done, if there were several.
    ranks: Vec<RankStats>,
    /// What decided which of them owns a state.
    owner: Option<String>,
}

/// The reduction in the JSON result.
#[derive(Serialize)]
struct Reduced {
    method: &'static str,
    shortest: bool,
    /// States of the full search when this one took over.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of: Option<u64>,
}

impl Exhausted {
    /// The number of deadlocks, if states without steps were deadlocks.
    fn deadlocks(&self) -> Option<u64> {
        self.reduction.is_none_or(|kept| kept.deadlocks).then_some(self.stats.deadlocks)
    }

    fn reduced(&self) -> Option<Reduced> {
        let instead_of = match self.decision {
            Some(Decision::Trial(states) | Decision::Memory(states)) => Some(states),
            Some(Decision::Full(_)) | None => None,
        };
        self.reduction.map(|kept| Reduced {
            method: "stubborn sets",
            shortest: kept.lengths && self.shortest,
            instead_of,
        })
    }
}

/// Bytes for each state.
pub(super) fn per_state(memory: u64, stats: &Stats) -> f64 {
    memory as f64 / stats.states.max(1) as f64
}

/// Fewer states than this do not tell what a state takes: most of the memory is that of empty tables.
const TELLING: u64 = 100_000;

/// Rows that every search has that expands each state once.
pub(super) fn memory_rows(stats: &Stats) -> Vec<Row> {
    let mut rows = vec![("peak memory", bytes(stats.peak_memory))];
    if stats.states >= TELLING {
        rows.push(("bytes/state", tenths(per_state(stats.peak_memory, stats))));
    }
    rows
}

/// The fields of a search that expands each state once.
pub(super) fn fields(stats: &Stats, depth: Option<u64>) -> Vec<(&'static str, Json<'static>)> {
    vec![
        ("states", Box::new(stats.states)),
        ("transitions", Box::new(stats.transitions)),
        ("depth", Box::new(depth)),
        ("deadlocks", Box::new(stats.deadlocks)),
        ("peak_memory_bytes", Box::new(stats.peak_memory)),
        ("bytes_per_state", Box::new(per_state(stats.peak_memory, stats))),
    ]
}

impl Figures for Exhausted {
    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let stats = &self.stats;
        let mut rows = vec![
            ("states", count(stats.states)),
            ("transitions", count(stats.transitions)),
            ("depth", count(stats.depth)),
        ];
        rows.extend(self.deadlocks().map(|deadlocks| ("deadlocks", count(deadlocks))));
        rows.extend(spent.seconds());
        rows.extend(memory_rows(stats));
        rows.extend(ranks::rows(&self.ranks, stats));
        rows
    }

    fn write_tables(&self, strong: &str, off: &str, out: &mut dyn Write) -> io::Result<()> {
        ranks::write_table(&self.ranks, strong, off, out)
    }

    fn settings(&self) -> Vec<Row> {
        let shown = |reduced: Reduced| {
            let length = match (reduced.shortest, self.shortest) {
                (true, _) => "counterexamples are as short as can be",
                (false, true) => "counterexamples may be longer than necessary (--shortest)",
                (false, false) => "counterexamples are as the search meets them",
            };
            (
                "reduction",
                format!("{}: states are those visited, not all there are; {length}", reduced.method),
            )
        };
        let auto = |decision| match decision {
            Decision::Full(0) => "took every step: the system is small".to_owned(),
            Decision::Full(trials) => {
                format!("took every step: {} did not end", counted(trials as usize, "reduced trial"))
            }
            Decision::Trial(states) => {
                format!("reduced: a trial ended when the full search had {} states", count(states))
            }
            Decision::Memory(states) => {
                format!("reduced: the full search ran out of memory at {} states", count(states))
            }
        };
        let owner = self.owner.as_ref().map(|owner| ("owner", owner.clone()));
        let mut rows: Vec<Row> = owner.into_iter().chain(self.reduced().map(shown)).collect();
        rows.extend(self.decision.map(|decision| ("--reduce auto", auto(decision))));
        rows
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        let mut fields = fields(&self.stats, Some(self.stats.depth));
        if let Some(field) = fields.iter_mut().find(|(name, _)| *name == "deadlocks") {
            field.1 = Box::new(self.deadlocks());
        }
        fields.push(("reduction", Box::new(self.reduced())));
        if !self.ranks.is_empty() {
            fields.push(("ranks", Box::new(ranks::fields(&self.ranks))));
            fields.push(("owner", Box::new(&self.owner)));
        }
        fields
    }
}
