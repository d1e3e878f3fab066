//! Exhaustive searches, breadth first and depth first: every reachable state in the memory of one process.

use super::quantities::{bytes, count, tenths};
use super::{Common, Figures, Json, Listed, Method, Outcome, Row, Run, Spent, Tables, formulas};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::reduce::Keep;
use gridlock_lts::engine::search::{self, Options, Order, Reduction, Report, Stats, Verdict};
use gridlock_lts::property::Property;
use gridlock_worker::hunt::shorten;
use gridlock_worker::life::Life;
use serde::Serialize;
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
    /// Expand no state that is so many steps away from the initial one; `unknown` if there are any
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
    /// Take every step: the counts are those of the state space
    #[default]
    Off,
}

impl Less {
    fn keep(self, shortest: bool) -> Option<Keep> {
        let keep = if shortest { Keep::Lengths } else { Keep::Verdicts };
        (self.reduce == Reduce::On).then_some(keep)
    }

    /// Which leaf can reach what is read off its table, so that there must be nothing left to fill.
    fn needs_complete_tables(self) -> Option<&'static str> {
        (self.reduce == Reduce::On).then_some("--reduce on")
    }
}

impl Method for BreadthFirst {
    fn needs_complete_tables(&self) -> Option<&'static str> {
        self.less.needs_complete_tables()
    }

    fn check(&self, _: &Common) -> Result<()> {
        if self.shortest && self.less.reduce == Reduce::Off {
            return Err(Error::input(
                "--shortest belongs to --reduce on: without reduction counterexamples are as short as can be",
            ));
        }
        Ok(())
    }

    fn unbegun(&self) -> Box<dyn Figures> {
        Box::new(Exhausted::default())
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        if formulas::are_asked(run) {
            if self.less.reduce == Reduce::On {
                return Err(Error::input(
                    "--reduce on cannot decide a formula that is no safety formula: leave it out",
                ));
            }
            return formulas::conduct(run, self.depth.max_depth);
        }
        conduct(run, Order::BreadthFirst, self.depth, self.less.keep(self.shortest))
    }
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
        conduct(run, Order::DepthFirst, self.depth, self.less.keep(false))
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

/// Searches a network, with compiled tables if they are complete.
fn conduct(run: &mut Run, order: Order, depth: Depth, reduce: Option<Keep>) -> Result<Outcome> {
    run.host.begin("searching", "states");
    let Report { verdict, stats, reduction } =
        search(run, order, depth.max_depth, run.common.max_states, reduce)?;
    let limit = match verdict {
        // What specification and tables take counts, too.
        Verdict::Unknown(Limit::Memory(_)) => Limit::Memory(run.memory),
        Verdict::Unknown(Limit::Interrupted) => run.limit(),
        Verdict::Unknown(limit) => limit,
        _ => run.limit(),
    };
    let time = stats.time;
    let shortest = order == Order::BreadthFirst;
    Ok(Outcome::of(verdict, time, Box::new(Exhausted { stats, reduction, shortest }), || limit.into()))
}

/// The search itself. It leaves formulas out: the caller looks after them.
pub(super) fn search(
    run: &mut Run,
    order: Order,
    max_depth: Option<u64>,
    max_states: Option<u64>,
    reduce: Option<Keep>,
) -> Result<Report> {
    let (host, halt) = (run.host, run.host.halt());
    // Called by the search about every 100 ms.
    let progress = |stats: &Stats| {
        let each = per_state(stats.memory, stats);
        let detail = format!("{} waiting, {each:.1} bytes/state", count(stats.frontier));
        host.progress(stats.states, stats.transitions, detail);
    };
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
        progress: Some(&progress),
        reduce,
    };
    if run.tables().complete {
        let report = search::check_but_formulas(&run.tables().network, &run.properties, &options)?;
        return if order == Order::DepthFirst { shorter(run, report) } else { Ok(report) };
    }
    let Tables { network, source, complete } = run.take_tables()?;
    let properties = run.properties.clone();
    let lazy = Lazy::new(Arc::unwrap_or_clone(network), source, &properties)?;
    let report = search::check_on_demand(&lazy, &options);
    let (network, source) = lazy.into_parts();
    run.put_tables(Tables { network: Arc::new(network), source, complete });
    report
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
}

/// The reduction in the JSON result.
#[derive(Serialize)]
struct Reduced {
    method: &'static str,
    shortest: bool,
}

impl Exhausted {
    /// The number of deadlocks, if states without steps were deadlocks.
    fn deadlocks(&self) -> Option<u64> {
        self.reduction.is_none_or(|kept| kept.deadlocks).then_some(self.stats.deadlocks)
    }

    fn reduced(&self) -> Option<Reduced> {
        self.reduction
            .map(|kept| Reduced { method: "stubborn sets", shortest: kept.lengths && self.shortest })
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
        rows
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
        self.reduced().map(shown).into_iter().collect()
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        let mut fields = fields(&self.stats, Some(self.stats.depth));
        if let Some(field) = fields.iter_mut().find(|(name, _)| *name == "deadlocks") {
            field.1 = Box::new(self.deadlocks());
        }
        fields.push(("reduction", Box::new(self.reduced())));
        fields
    }
}
