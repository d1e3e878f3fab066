//! Draws how a swarm covers a state space: every state a dot, placed by its distance from the initial state, and after
//! some of the searches the states that this search visited and those that were visited before.
//!
//! `cargo run --release -p gridlock-manager --example picture -- SPEC PROCESS > picture.svg`
//!
//! PROCESS is the beginning of the name of the process whose traces guide the searches.

use gridlock_lang::system::{Options, load};
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::guide::{Guide, Subsystem};
use gridlock_lts::model::network::{LeafIx, Local, Network};
use gridlock_manager::grid::machine::{Machine, Next};
use gridlock_manager::traces::strategy::StrategyKind;
use gridlock_manager::traces::swarm::{Config, Granularity, Pace, Swarm};
use gridlock_worker::guided::{Setting, Worker};
use gridlock_worker::job::JobLimits;
use gridlock_worker::life::Life;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 210.0;
const GAP: f64 = 16.0;
/// Above the dots of a panel.
const CAPTION: f64 = 30.0;
const COLUMNS: usize = 3;
/// Places are rounded to this part of a unit; where several dots or steps fall on the same place, one is drawn.
const GRID: f64 = 2.0;
/// Between lines of states of the same level.
const PITCH: f64 = 3.0;
/// Up to this many states dots are large and steps are lines; more are drawn as dots only, and smaller.
const FEW: usize = 600;
const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#888}path{stroke-linecap:round;fill:none}\
                     .edge{stroke:#8886;stroke-width:.5}.dot{stroke:#8886}.old{stroke:#7aa7c7}.new{stroke:#d1495b}";

type State = Vec<Local>;

/// All states with their places, and the steps between them.
struct Space {
    places: BTreeMap<State, (f64, f64)>,
    steps: Vec<(State, State)>,
    /// The width of a dot.
    dot: f64,
}

impl Space {
    /// Where a state is, on the grid.
    fn rounded(&self, state: &State) -> (i32, i32) {
        let (x, y) = self.places[state];
        ((x * GRID).round() as i32, (y * GRID).round() as i32)
    }
}

fn space(net: &Network) -> Space {
    let (mut levels, mut steps, mut out) = (vec![vec![net.initial()]], Vec::new(), Vec::new());
    let mut seen = BTreeSet::from([net.initial()]);
    while let Some(level) = levels.last().filter(|level| !level.is_empty()) {
        let mut next = Vec::new();
        for state in level {
            net.successors(state, &mut out);
            for step in &out {
                steps.push((state.clone(), step.target.clone()));
                if seen.insert(step.target.clone()) {
                    next.push(step.target.clone());
                }
            }
        }
        levels.push(next);
    }
    levels.pop();
    let spacing = (WIDTH - 16.0) / (levels.len() - 1).max(1) as f64;
    // The states of a level stand in a line, or, if there are many, in a few beside each other.
    let many = levels.iter().map(Vec::len).sum::<usize>() > FEW;
    let lines = if many { (0.8 * spacing / PITCH).max(1.0) as usize } else { 1 };
    let widest = levels.iter().map(|level| level.len().div_ceil(lines)).max().unwrap_or(1) as f64;
    let pitch = (HEIGHT - CAPTION) / (widest + 1.0);
    let mut places = BTreeMap::new();
    for (depth, level) in levels.iter().enumerate() {
        let rows = level.len().div_ceil(lines);
        for (k, state) in level.iter().enumerate() {
            let line = (k / rows) as f64 - (level.len().div_ceil(rows) - 1) as f64 / 2.0;
            let x = 8.0 + depth as f64 * spacing + line * PITCH;
            let y =
                CAPTION + (HEIGHT - CAPTION) / 2.0 + ((k % rows) as f64 - (rows - 1) as f64 / 2.0) * pitch;
            places.insert(state.clone(), (x, y));
        }
    }
    Space { places, steps, dot: if many { 0.75 * PITCH } else { 5.0 } }
}

/// The states that each search of a swarm visits, one search a trace, one after the other.
struct Play<'a> {
    net: &'a Network,
    guide: Guide,
}

impl Visitor for Play<'_> {
    type Out = Vec<BTreeSet<State>>;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        let system = &*system;
        let Play { net, guide } = self;
        let mut config = Config::new(JobLimits { states: u64::MAX, memory: 1 << 28 });
        config.granularity = Granularity::Trace;
        config.strategy = StrategyKind::Different;
        config.pace = Pace::Window(1);
        let setting = Setting { system, net, guide: Arc::new(guide.clone()), relevance: None };
        let (mut worker, mut swarm) = (Worker::new(setting), Swarm::new(net, guide, config));
        let mut searches = Vec::new();
        while let Next::Job(job) = swarm.next() {
            let mut seen = BTreeSet::new();
            let feedback = worker.observed(&job, &Life::default(), &mut |state| {
                seen.insert(system.packing().unpack(state));
            });
            swarm.accept(feedback, 0);
            searches.push(seen);
        }
        searches
    }
}

fn draw(space: &Space, searches: &[BTreeSet<State>]) -> String {
    let mut chosen: Vec<usize> =
        (0..).map(|power| 1 << power).take_while(|&n| n < searches.len()).take(5).collect();
    chosen.push(searches.len());
    let (columns, rows) = (COLUMNS.min(chosen.len()), chosen.len().div_ceil(COLUMNS));
    let size = |count: usize, one: f64| count as f64 * (one + GAP) - GAP;
    let mut svg = String::new();
    let (width, height) = (size(columns, WIDTH), size(rows, HEIGHT));
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\"><style>{STYLE}</style><defs><g id=\"all\">"
    );
    if space.places.len() <= FEW {
        let lines: BTreeSet<_> =
            space.steps.iter().map(|(from, to)| (space.rounded(from), space.rounded(to))).collect();
        svg.push_str("<path class=\"edge\" d=\"");
        for ((x, y), (u, v)) in lines {
            let _ = write!(svg, "M{} {}L{} {}", shown(x), shown(y), shown(u), shown(v));
        }
        svg.push_str("\"/>\n");
    }
    dots(&mut svg, space, space.places.keys(), "dot");
    svg.push_str("</g></defs>\n");
    for (k, &number) in chosen.iter().enumerate() {
        let (x, y) = ((k % COLUMNS) as f64 * (WIDTH + GAP), (k / COLUMNS) as f64 * (HEIGHT + GAP));
        let before: BTreeSet<&State> = searches[..number - 1].iter().flatten().collect();
        let this = &searches[number - 1];
        let seen = before.union(&this.iter().collect()).count();
        let _ = writeln!(
            svg,
            "<g transform=\"translate({x} {y})\"><text x=\"4\" y=\"14\">search {number} of {}: {} states, {seen}/{} \
             seen</text><use href=\"#all\"/>",
            searches.len(),
            this.len(),
            space.places.len()
        );
        dots(&mut svg, space, before.iter().copied().filter(|state| !this.contains(*state)), "old");
        dots(&mut svg, space, this, "new");
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn dots<'s>(svg: &mut String, space: &Space, states: impl IntoIterator<Item = &'s State>, class: &str) {
    let places: BTreeSet<_> = states.into_iter().map(|state| space.rounded(state)).collect();
    let size = space.dot;
    let _ = write!(svg, "<path class=\"{class}\" stroke-width=\"{size:.1}\" d=\"");
    for (x, y) in places {
        let _ = write!(svg, "M{} {}h0", shown(x), shown(y));
    }
    svg.push_str("\"/>\n");
}

/// A place on the grid as a number of units.
fn shown(place: i32) -> f64 {
    f64::from(place) / GRID
}

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, process] = &args[..] else { return Err("SPEC PROCESS".to_owned()) };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let system = load(&text, file, &Options::default(), &mut |_| true)
        .map_err(|problems| format!("{file}: {problems:?}"))?;
    let net = &system.network;
    let leaf = net.leaves.iter().position(|leaf| leaf.name.starts_with(process.as_str()));
    let leaf = LeafIx(leaf.ok_or(format!("no process begins with {process}"))? as u32);
    let guide = Subsystem::new(net, &[leaf], 1 << 20).and_then(|subsystem| subsystem.guide(net));
    let guide = guide.map_err(|_| format!("{process} is cyclic or too large"))?;
    let searches = Prepared::new(net.clone(), []).visit(Play { net, guide }).map_err(|e| e.to_string())?;
    print!("{}", draw(&space(net), &searches));
    Ok(())
}
