//! Exhaustive searches, breadth first and depth first: all reachable states are kept in the memory of one process, or,
//! breadth first on ranks, in that of all ranks ([`ranks`]).

pub(super) mod ranks;
mod saved;
mod shorter;

use super::quantities::{bytes, count, parse_duration, tenths};
use super::reduction::{self, Alike, Less, Reduced, Taken};
use super::trials::{self, Decision};
use super::{
    Checkpoint, Common, Figures, Json, Listed, Method, Outcome, Patience, Row, Run, Spent, StatusPage,
    Tables, formulas, subsystem,
};
use crate::grid::transport::launch::launched;
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::mesh::Mesh;
use gridlock_lts::engine::search::{
    self, Level, Options, Order, RankStats, Reduction, Report, Stats, Verdict,
};
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::property::Property;
use saved::{LevelCheckpoint, LevelEnd};
use shorter::shorter;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Breadth first, on all threads.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct BreadthFirst {
    #[command(flatten)]
    depth: Depth,
    #[command(flatten)]
    less: Less,
    #[command(flatten)]
    alike: Alike,

    /// With --reduce on: keep counterexamples as short as possible; fewer steps are left out
    #[arg(long, help_heading = "Search")]
    shortest: bool,

    /// On MPI ranks, what decides which rank owns a state: `hash` (of the whole state), `leaves=auto` (those that move least) or
    /// `leaves=NAMES` [default: hash]
    #[arg(long, value_name = "WHAT", help_heading = "Search", value_parser = ranks::parse_owner)]
    owner: Option<ranks::OwnerFlag>,

    #[command(flatten)]
    checkpoint: Checkpoint,

    /// Breadth first: time between two checkpoints [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "checkpoint", help_heading = "Checkpoint")]
    checkpoint_every: Option<Duration>,

    #[command(flatten)]
    patience: Patience,

    /// Write an HTML page about the run
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// What breadth-first search is called.
const NAME: &str = "bfs";

/// Depth first, on one thread.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct DepthFirst {
    #[command(flatten)]
    depth: Depth,
    #[command(flatten)]
    less: Less,
    #[command(flatten)]
    alike: Alike,
}

/// The flags of both.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
struct Depth {
    /// Expand states up to this depth; `unknown` if there are deeper ones
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_depth: Option<u64>,
}

impl Method for BreadthFirst {
    fn runs_on_ranks(&self) -> bool {
        true
    }

    fn needs_complete_tables(&self) -> Option<&'static str> {
        let owner = self.owner.as_ref().and_then(ranks::OwnerFlag::needs_complete_tables);
        self.less.needs_complete_tables().or(owner)
    }

    fn checkpoint(&self) -> Option<&Checkpoint> {
        Some(&self.checkpoint)
    }

    fn report(&self) -> Option<&Path> {
        self.report.as_deref()
    }

    fn check(&self, _: &Common) -> Result<()> {
        self.less.check(self.depth.max_depth)?;
        self.alike.check(self.less)?;
        self.checkpoint.check()?;
        if self.checkpoint.checkpoint.is_some() {
            self.less.check_checkpoint()?;
        }
        if self.shortest && !self.less.is_on() {
            return Err(Error::input(
                "--shortest belongs to --reduce on: else counterexamples are as short as possible anyway",
            ));
        }
        if self.owner.is_some() && !launched().is_some_and(|launch| launch.is_distributed()) {
            return Err(Error::input(
                "--owner is about the ranks of an MPI job, and there is one process: start it with mpirun or srun",
            ));
        }
        if self.patience.is_given() && !launched().is_some_and(|launch| launch.is_distributed()) {
            return Err(Error::input(
                "--stuck-after is, breadth first, about the ranks of an MPI job, and there is one process: leave it out",
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
            self.check_formulas()?;
            if run.peers.is_distributed() {
                return ranks::conduct_formulas(run, bounds, &self.ranks(None));
            }
            return formulas::conduct(run, bounds.depth, None);
        }
        let place = self.place(run)?;
        if run.peers.is_distributed() {
            return ranks::conduct(run, bounds, &self.ranks(place.as_ref()));
        }
        run.host.begin("searching", "states");
        let (report, decision) = search_kept(run, Order::BreadthFirst, bounds, None, place.as_ref())?;
        let end = place.as_ref().map(|place| place.end(&report.stats));
        let alike = self.alike;
        Ok(outcome(run, report, Told { shortest: true, alike, decision, end, ..Told::default() }))
    }

    fn serve(&self, run: &mut Run) -> Result<u8> {
        if formulas::are_asked(run) {
            self.check_formulas()?;
        }
        let bounds = self.bounds(run);
        // The manifest is that of the run or an error, which all must hear of.
        let place = self.place(run).inspect_err(|why| {
            (run.warn)(format!("rank {}: {why}", run.peers.rank()));
            run.peers.abort(2);
        })?;
        ranks::serve(run, bounds, &self.ranks(place.as_ref()))
    }
}

impl BreadthFirst {
    /// The settings for ranks.
    fn ranks<'a>(&'a self, place: Option<&'a LevelCheckpoint<'a>>) -> ranks::Wanted<'a> {
        ranks::Wanted { owner: self.owner.as_ref(), place, stuck_after: self.patience.stuck_after() }
    }

    /// The checkpoint, if one is wanted.
    fn place<'a>(&self, run: &Run<'a>) -> Result<Option<LevelCheckpoint<'a>>> {
        let taken = self.alike.shown(self.less.taken(self.shortest, false));
        LevelCheckpoint::open(&self.checkpoint, self.checkpoint_every, run, &taken)
    }

    /// Refuses formulas that are no safety formulas where they cannot be decided.
    fn check_formulas(&self) -> Result<()> {
        if let Some(flag) = self.less.needs_complete_tables() {
            return Err(Error::Input(format!(
                "{flag} cannot decide a formula that is no safety formula: leave it out"
            )));
        }
        if self.alike.is_wanted() {
            return Err(Error::input(
                "--symmetry auto cannot decide a formula that is no safety formula: leave it out",
            ));
        }
        if self.checkpoint.checkpoint.is_some() {
            return Err(Error::input(
                "--checkpoint keeps the states of a search, not the game of a formula that is no safety formula: leave it out",
            ));
        }
        Ok(())
    }

    fn bounds(&self, run: &Run) -> Bounds {
        let saved = self.checkpoint.checkpoint.is_some();
        let alone = !(run.peers.is_distributed() || saved || self.alike.is_wanted());
        Bounds {
            depth: self.depth.max_depth,
            states: run.common.max_states,
            taken: self.less.taken(self.shortest, alone),
            alike: self.alike,
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
    /// Whether states stand for others.
    pub(super) alike: Alike,
}

impl Listed for BreadthFirst {
    const NAME: &'static str = NAME;
    const CHOSEN_BY: &'static str = "--search bfs";
    const ABOUT: &'static str = "Breadth first, on all workers: counterexamples are as short as possible";

    fn decides(property: &Property) -> bool {
        match property {
            Property::DeadlockFree { .. } | Property::Never(_) | Property::Monitor(_) => true,
            Property::Formula(_) => true,
        }
    }

    fn status(page: &StatusPage) -> Vec<Row> {
        saved::status(page)
    }
}

impl Method for DepthFirst {
    fn threads(&self, _: Option<u16>) -> usize {
        1
    }

    fn needs_complete_tables(&self) -> Option<&'static str> {
        self.less.needs_complete_tables()
    }

    fn check(&self, _: &Common) -> Result<()> {
        self.less.check(self.depth.max_depth)?;
        self.alike.check(self.less)
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
            taken: self.less.taken(false, !self.alike.is_wanted()),
            alike: self.alike,
        };
        let (report, decision) = search(run, Order::DepthFirst, bounds, None)?;
        let alike = self.alike;
        Ok(outcome(run, report, Told { alike, decision, ..Told::default() }))
    }
}

impl Listed for DepthFirst {
    const NAME: &'static str = "dfs";
    const CHOSEN_BY: &'static str = "--search dfs";
    const ABOUT: &'static str = "Depth first, on one worker";

    /// A new kind of property needs an arm of its own here: there is no default that would accept it.
    fn decides(property: &Property) -> bool {
        match property {
            Property::DeadlockFree { .. } | Property::Never(_) | Property::Monitor(_) => true,
            Property::Formula(_) => false,
        }
    }
}

/// Facts about a search besides its report.
#[derive(Default)]
struct Told {
    /// Whether the order of the search makes counterexamples short.
    shortest: bool,
    /// Whether states may stand for others.
    alike: Alike,
    /// The decision of `--reduce auto`.
    decision: Option<Decision>,
    /// What decided which rank owns a state, if there were several.
    owner: Option<String>,
    /// What became of the checkpoint.
    end: Option<LevelEnd>,
}

/// What a report means for the user.
fn outcome(run: &Run, report: Report, told: Told) -> Outcome {
    let Report { verdict, stats, reduction, like_leaves, ranks, levels } = report;
    let names = |class: &Vec<LeafIx>| subsystem::names(&run.tables().network, class);
    let classes = like_leaves.unwrap_or_default().iter().map(names).collect();
    let symmetry = told.alike.is_wanted().then_some(classes);
    let limit = match verdict {
        // What specification and tables take counts, too.
        Verdict::Unknown(Limit::Memory(_)) => Limit::Memory(run.memory),
        Verdict::Unknown(limit) => limit,
        _ => run.limit(),
    };
    let time = stats.time;
    let bound = match told.shortest {
        true => saved::bound(limit, told.end.as_ref(), run.peers.is_distributed()),
        false => limit.into(),
    };
    let Told { shortest, decision, owner, end, .. } = told;
    let figures =
        Exhausted { begun: true, stats, reduction, symmetry, shortest, decision, ranks, levels, owner, end };
    Outcome::of(verdict, time, Box::new(figures), || bound)
}

/// The search itself, with compiled tables if they are complete; together with other ranks if there is a mesh, and perhaps
/// leaves that decide which rank owns a state. It leaves formulas out: the caller looks after them.
pub(super) fn search(
    run: &mut Run,
    order: Order,
    bounds: Bounds,
    mesh: Option<(&mut dyn Mesh, Option<&[LeafIx]>)>,
) -> Result<(Report, Option<Decision>)> {
    search_kept(run, order, bounds, mesh, None)
}

/// The same with a checkpoint.
fn search_kept(
    run: &mut Run,
    order: Order,
    bounds: Bounds,
    mesh: Option<(&mut dyn Mesh, Option<&[LeafIx]>)>,
    place: Option<&LevelCheckpoint>,
) -> Result<(Report, Option<Decision>)> {
    let (mesh, owners) = mesh.unzip();
    let owners = owners.flatten();
    let Bounds { depth: max_depth, states: max_states, taken, alike } = bounds;
    let (host, halt) = (run.host, run.host.halt());
    // Called by the search about every 100 ms.
    let progress = |stats: &Stats| {
        let each = per_state(stats.memory, stats);
        let detail = format!("{} waiting, {each:.1} bytes/state", count(stats.frontier));
        host.progress(stats.states, stats.transitions, detail);
        if let Some(place) = place {
            place.tell(stats);
        }
    };
    let checkpoint = place.map(LevelCheckpoint::checkpoint);
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
            Taken::All | Taken::Trials { .. } => None,
        },
        symmetry: alike.is_wanted() && run.tables().complete,
        pause: None,
        allowance: None,
        owners,
        checkpoint: checkpoint.as_ref(),
    };
    if run.tables().complete {
        let (net, properties) = (&run.tables().network, &run.properties);
        let (report, decision) = match (taken, mesh) {
            (Taken::Trials { asked }, None) => {
                let found = |steps| {
                    host.note(&format!(
                        "note: a violation after {steps} steps was found with reduction; the search goes on for a shortest one, \
                         and an interrupt or a limit ends it with that"
                    ));
                };
                let (report, decision) = trials::search(net, properties, &options, &found)?;
                // Nobody asked, and nothing came of it.
                let silent = !asked && decision == Decision::Full(false);
                (report, Some(decision).filter(|_| !silent))
            }
            (_, Some(mesh)) => (search::check_but_formulas_on_ranks(net, properties, &options, mesh)?, None),
            (Taken::All | Taken::Reduced(_), None) => {
                (search::check_but_formulas(net, properties, &options)?, None)
            }
        };
        let report = if order == Order::DepthFirst { shorter(run, report)? } else { report };
        return Ok((report, decision));
    }
    if alike.is_wanted() {
        host.note("note: --symmetry auto tells all processes apart: it needs complete tables");
    }
    if taken == (Taken::Trials { asked: true }) {
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

/// The figures of an exhaustive search.
#[derive(Default)]
struct Exhausted {
    /// Whether the search began.
    begun: bool,
    stats: Stats,
    /// What was kept, if steps were left out.
    reduction: Option<Reduction>,
    /// The names of processes that took each other's places, if they were looked for.
    symmetry: Option<Vec<Vec<String>>>,
    /// Whether the order of the search alone makes counterexamples short.
    shortest: bool,
    /// The decision of `--reduce auto`.
    decision: Option<Decision>,
    /// What each rank has done, if there were several.
    ranks: Vec<RankStats>,
    /// When levels ended then.
    levels: Vec<Level>,
    /// What decided which of them owns a state.
    owner: Option<String>,
    /// What became of the checkpoint, if there is one.
    end: Option<LevelEnd>,
}

impl Exhausted {
    /// The number of deadlocks, if states without steps were deadlocks.
    fn deadlocks(&self) -> Option<u64> {
        self.reduction.is_none_or(|kept| kept.deadlocks).then_some(self.stats.deadlocks)
    }

    fn reduced(&self) -> Option<Reduced> {
        self.reduction.map(|kept| Reduced::new(kept, self.shortest, self.decision))
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
    fn begun(&self) -> bool {
        self.begun
    }

    fn rows(&self, spent: &Spent) -> Vec<Row> {
        let stats = &self.stats;
        // Nobody shall take what a reduction visits for the size of the state space.
        let states = self.reduction.map_or("states", |kept| reduction::states(kept.keep));
        let mut rows = vec![
            (states, count(stats.states)),
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

    fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        ranks::write_page(&self.ranks, &self.levels, out)
    }

    fn settings(&self) -> Vec<Row> {
        let owner = self.owner.as_ref().map(|owner| ("owner", owner.clone()));
        let kept = self.reduction.map(|kept| reduction::row(kept, self.shortest));
        let mut rows: Vec<Row> = owner.into_iter().chain(kept).collect();
        rows.extend(self.symmetry.as_deref().map(reduction::symmetry_row));
        rows.extend(self.decision.map(|decision| ("--reduce auto", reduction::auto(decision))));
        rows.extend(self.end.as_ref().map(LevelEnd::row));
        rows
    }

    fn fields(&self) -> Vec<(&'static str, Json<'_>)> {
        let mut fields = fields(&self.stats, Some(self.stats.depth));
        if let Some(field) = fields.iter_mut().find(|(name, _)| *name == "deadlocks") {
            field.1 = Box::new(self.deadlocks());
        }
        fields.push(("reduction", Box::new(self.reduced())));
        fields.push(("symmetry", Box::new(&self.symmetry)));
        if !self.ranks.is_empty() {
            fields.push(("ranks", Box::new(ranks::fields(&self.ranks))));
            fields.push(("owner", Box::new(&self.owner)));
        }
        if let Some(end) = &self.end {
            fields.push(("checkpoint", Box::new(end.fields())));
        }
        fields
    }
}
