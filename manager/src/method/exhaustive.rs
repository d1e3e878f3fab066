//! Exhaustive searches, breadth first and depth first: every reachable state in the memory of one process.

use super::quantities::{bytes, count, tenths};
use super::{Figures, Json, Listed, Method, Outcome, Row, Run, Spent, Tables};
use gridlock_lts::base::error::{Limit, Result};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::search::{self, Options, Order, Report, Stats, Verdict};
use gridlock_lts::property::Property;
use gridlock_worker::hunt::shorten;
use gridlock_worker::life::Life;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Breadth first, on all threads.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct BreadthFirst {
    #[command(flatten)]
    depth: Depth,
}

/// Depth first, on one thread.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct DepthFirst {
    #[command(flatten)]
    depth: Depth,
}

/// The flags of both.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
struct Depth {
    /// Expand no state that is so many steps away from the initial one; `unknown` if there are any
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_depth: Option<u64>,
}

impl Method for BreadthFirst {
    fn unbegun(&self) -> Box<dyn Figures> {
        Box::new(Exhausted(Stats::default()))
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        conduct(run, Order::BreadthFirst, self.depth)
    }
}

impl Listed for BreadthFirst {
    const NAME: &'static str = "bfs";
    const CHOSEN_BY: &'static str = "--search bfs";
    const ABOUT: &'static str = "Breadth first, on all workers: counterexamples are as short as can be";

    fn decides(property: &Property) -> bool {
        decides(property)
    }
}

impl Method for DepthFirst {
    fn threads(&self, _: Option<u16>) -> usize {
        1
    }

    fn unbegun(&self) -> Box<dyn Figures> {
        Box::new(Exhausted(Stats::default()))
    }

    fn conduct(&self, run: &mut Run) -> Result<Outcome> {
        if run.common.workers.is_some_and(|n| n > 1) {
            run.host.note("note: a depth-first search has one worker");
        }
        conduct(run, Order::DepthFirst, self.depth)
    }
}

impl Listed for DepthFirst {
    const NAME: &'static str = "dfs";
    const CHOSEN_BY: &'static str = "--search dfs";
    const ABOUT: &'static str = "Depth first, on one worker";

    fn decides(property: &Property) -> bool {
        decides(property)
    }
}

/// A new kind of property is not decided before somebody has thought about it here.
fn decides(property: &Property) -> bool {
    match property {
        Property::DeadlockFree { .. } | Property::Never(_) | Property::Monitor(_) => true,
    }
}

/// Searches a network, with compiled tables if they are complete.
fn conduct(run: &mut Run, order: Order, depth: Depth) -> Result<Outcome> {
    run.host.begin("searching", "states");
    let Report { verdict, stats } = search(run, order, depth.max_depth, run.common.max_states)?;
    let limit = match verdict {
        // What specification and tables take counts, too.
        Verdict::Unknown(Limit::Memory(_)) => Limit::Memory(run.memory),
        Verdict::Unknown(Limit::Interrupted) => run.limit(),
        Verdict::Unknown(limit) => limit,
        _ => run.limit(),
    };
    let time = stats.time;
    Ok(Outcome::of(verdict, time, Box::new(Exhausted(stats)), || limit.into()))
}

/// The search itself.
pub(super) fn search(
    run: &mut Run,
    order: Order,
    max_depth: Option<u64>,
    max_states: Option<u64>,
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
    };
    if run.tables().complete {
        let report = search::check(&run.tables().network, &run.properties, &options)?;
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
struct Exhausted(Stats);

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
        let Exhausted(stats) = self;
        let mut rows = vec![
            ("states", count(stats.states)),
            ("transitions", count(stats.transitions)),
            ("depth", count(stats.depth)),
            ("deadlocks", count(stats.deadlocks)),
        ];
        rows.extend(spent.seconds());
        rows.extend(memory_rows(stats));
        rows
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        fields(&self.0, Some(self.0.depth))
    }
}
