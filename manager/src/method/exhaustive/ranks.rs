//! Breadth-first search on the ranks of an MPI job, each of which owns a part of the states.
//!
//! All ranks search, rank 0 like the others, and get the same report; only rank 0 prints it. Invariant: a rank that has
//! joined waits only for the mesh and for rank 0's exit code, even after an error.

use super::super::quantities::{bytes, count};
use super::saved::LevelCheckpoint;
use super::{Bounds, BreadthFirst, Told, outcome, search_kept};
use crate::fingerprint::tables_made;
use crate::grid::journal::Identity;
use crate::method::formulas::{self, Distributed};
use crate::method::page::{self, COLUMNS};
use crate::method::reduction::Taken;
use crate::method::subsystem::{find_leaves_for, names, split_names};
use crate::method::{Listed, Outcome, Row, Run, Team, Together};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::mesh::Mesh;
use gridlock_lts::engine::mesh::choose::{Choice, choose};
use gridlock_lts::engine::search::{Level, Order, RankStats, Report, Stats};
use gridlock_lts::model::network::LeafIx;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::time::Duration;

/// The value of `--owner`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum OwnerFlag {
    /// The whole state decides.
    Hash,
    /// The leaves that move least decide.
    Auto,
    /// These leaves decide.
    Leaves(Vec<String>),
}

impl OwnerFlag {
    /// The packing of states is known only with complete tables.
    pub(super) fn needs_complete_tables(&self) -> Option<&'static str> {
        (*self != OwnerFlag::Hash).then_some("--owner leaves")
    }
}

/// Reads the value of `--owner`.
pub(super) fn parse_owner(text: &str) -> std::result::Result<OwnerFlag, String> {
    match text.strip_prefix("leaves=") {
        None if text == "hash" => Ok(OwnerFlag::Hash),
        Some("auto") => Ok(OwnerFlag::Auto),
        Some(names) if !names.trim().is_empty() => Ok(OwnerFlag::Leaves(split_names(&[names.to_owned()]))),
        _ => Err("it is `hash`, `leaves=auto` or `leaves=NAMES`, with commas between names".to_owned()),
    }
}

/// The settings of a search on ranks besides bounds.
pub(super) struct Wanted<'a> {
    /// What decides which rank owns a state.
    pub(super) owner: Option<&'a OwnerFlag>,
    /// The checkpoint.
    pub(super) place: Option<&'a LevelCheckpoint<'a>>,
    /// How long a rank may give no sign of life.
    pub(super) stuck_after: Option<Duration>,
}

/// What decides which rank owns a state.
struct Owners {
    /// `None`: the whole state.
    leaves: Option<Vec<LeafIx>>,
    shown: String,
}

impl Owners {
    fn new(run: &Run, flag: Option<&OwnerFlag>) -> Result<Self> {
        let net = &run.tables().network;
        let shown = |leaves: &[LeafIx]| names(net, leaves).join(", ");
        Ok(match flag {
            None | Some(OwnerFlag::Hash) => Owners { leaves: None, shown: "the whole state".to_owned() },
            Some(OwnerFlag::Leaves(named)) => {
                let leaves = find_leaves_for("--owner", net, named)?;
                Owners { shown: shown(&leaves), leaves: Some(leaves) }
            }
            Some(OwnerFlag::Auto) => {
                let Choice { leaves, crossing, crossing_by_all, imbalance } =
                    choose(net, run.peers.size() as usize);
                let tried = format!(
                    "of the first steps {:.0} % lead to another rank, by the whole state {:.0} %; the largest part has \
                     {imbalance:.2} times the mean",
                    100.0 * crossing,
                    100.0 * crossing_by_all
                );
                match leaves.is_empty() {
                    true => Owners { leaves: None, shown: format!("the whole state: {tried}") },
                    false => Owners { shown: format!("{}: {tried}", shown(&leaves)), leaves: Some(leaves) },
                }
            }
        })
    }
}

/// The identity that all ranks must agree on. Their tables have been made from the same text; their fingerprint is compared
/// nevertheless, since states are sent as numbers.
fn identity(run: &Run, bounds: Bounds, owners: &Owners, place: Option<&LevelCheckpoint>) -> Identity {
    let Bounds { depth, states, taken, alike } = bounds;
    let shown = |limit: Option<u64>| limit.map_or("none".to_owned(), |n| n.to_string());
    let tables = run.tables();
    let filled = if tables.complete { "complete" } else { "on demand" };
    run.identity(
        BreadthFirst::NAME,
        [
            ("max-depth", shown(depth)),
            ("max-states", shown(states)),
            ("reduction", alike.shown(taken)),
            ("owner", owners.shown.clone()),
            ("tables made", format!("{}, {filled}", tables_made(&tables.network))),
            ("checkpoint", if place.is_some() { "wanted" } else { "not wanted" }.to_owned()),
        ],
    )
}

/// Searches with all other ranks.
fn together(
    run: &mut Run,
    bounds: Bounds,
    owners: &Owners,
    wanted: &Wanted,
) -> Result<Together<Result<Report>>> {
    let place = wanted.place;
    with_all(run, bounds, owners, wanted, |run, mesh, leaves| {
        search_kept(run, Order::BreadthFirst, bounds, Some((mesh, leaves)), place).map(|(report, _)| report)
    })
}

/// Runs a search together with all other ranks, once they have joined.
fn with_all<R>(
    run: &mut Run,
    bounds: Bounds,
    owners: &Owners,
    wanted: &Wanted,
    search: impl FnOnce(&mut Run, &mut dyn Mesh, Option<&[LeafIx]>) -> R,
) -> Result<Together<R>> {
    let stuck_after = wanted.stuck_after;
    let identity = identity(run, bounds, owners, wanted.place);
    let (host, peers, file) = (run.host, run.peers, run.file.clone());
    let team = Team { identity: &identity, file: &file, threads: run.threads, stuck_after, warn: run.warn };
    let stop = || host.stopped().is_some();
    let leaves = owners.leaves.as_deref();
    let searched = peers.together(&team, &stop, |mesh| search(run, mesh, leaves))?;
    searched.ok_or_else(|| Error::internal("there are no other ranks"))
}

/// On rank 0.
pub(super) fn conduct(run: &mut Run, bounds: Bounds, wanted: &Wanted) -> Result<Outcome> {
    let owners = Owners::new(run, wanted.owner)?;
    run.host.begin("searching", "states");
    if bounds.taken == (Taken::Trials { asked: true }) {
        run.host.note("note: --reduce auto takes every step on ranks; --reduce on works there");
    }
    match together(run, bounds, &owners, wanted)? {
        Together::Searched(report) => {
            let report = report?;
            let end = wanted.place.map(|place| place.end(&report.stats));
            let told = Told {
                shortest: true,
                alike: bounds.alike,
                owner: Some(owners.shown),
                end,
                ..Told::default()
            };
            Ok(outcome(run, report, told))
        }
        Together::Over(_) => Err(Error::internal("rank 0 decides when it is over")),
    }
}

/// On rank 0, if formulas are asked for that are no safety formulas.
pub(super) fn conduct_formulas(run: &mut Run, bounds: Bounds, wanted: &Wanted) -> Result<Outcome> {
    let owners = Owners::new(run, wanted.owner)?;
    let shown = owners.shown.clone();
    let decided = with_all(run, bounds, &owners, wanted, |run, mesh, owners| {
        formulas::conduct(run, bounds.depth, Some(Distributed { mesh, owners, shown }))
    });
    match decided? {
        Together::Searched(outcome) => outcome,
        Together::Over(_) => Err(Error::internal("rank 0 decides when it is over")),
    }
}

/// On the other ranks. Rank 0 reports how the search ended, errors included.
pub(super) fn serve(run: &mut Run, bounds: Bounds, wanted: &Wanted) -> Result<u8> {
    let owners = Owners::new(run, wanted.owner)?;
    let served = if formulas::are_asked(run) {
        with_all(run, bounds, &owners, wanted, |run, mesh, owners| {
            formulas::follow(run, bounds.depth, mesh, owners)
        })
        .and_then(|served| match served {
            Together::Searched(followed) => followed.map(|()| None),
            Together::Over(code) => Ok(Some(code)),
        })
    } else {
        together(run, bounds, &owners, wanted).map(|served| match served {
            Together::Searched(_) => None,
            Together::Over(code) => Some(code),
        })
    };
    let served = served.and_then(|over| over.map_or_else(|| run.peers.wait_for_end(None), Ok));
    if let Err(why) = &served {
        (run.warn)(format!("rank {}: {why}", run.peers.rank()));
        run.peers.abort(2);
    }
    served
}

/// The largest part of a rank, relative to the mean.
fn imbalance(ranks: &[RankStats]) -> f64 {
    let total: u64 = ranks.iter().map(|rank| rank.states).sum();
    let largest = ranks.iter().map(|rank| rank.states).max().unwrap_or(0);
    largest as f64 * ranks.len() as f64 / total.max(1) as f64
}

/// Rows about all ranks.
pub(in crate::method) fn rows(ranks: &[RankStats], stats: &Stats) -> Vec<Row> {
    if ranks.is_empty() {
        return Vec::new();
    }
    let sent: u64 = ranks.iter().map(|rank| rank.states_sent).sum();
    let volume: u64 = ranks.iter().map(|rank| rank.bytes_sent).sum();
    let waited: Duration = ranks.iter().map(|rank| rank.waited).sum();
    // Those of this run, as what was sent is: a checkpoint that was resumed has more.
    let transitions: u64 = ranks.iter().map(|rank| rank.transitions).sum();
    let all = stats.time.as_secs_f64() * ranks.len() as f64;
    let percent = |part: f64, all: f64| 100.0 * part / if all > 0.0 { all } else { 1.0 };
    vec![
        (
            "ranks",
            format!(
                "{}, the largest has {:.2} times the mean of the states",
                count(ranks.len() as u64),
                imbalance(ranks)
            ),
        ),
        (
            "states sent",
            format!(
                "{}, {:.1} % of the transitions, {}",
                count(sent),
                percent(sent as f64, transitions as f64),
                bytes(volume)
            ),
        ),
        ("waiting", format!("{:.1} % of the time of all ranks", percent(waited.as_secs_f64(), all))),
    ]
}

/// The columns of the table of ranks.
const HEADER: [&str; 7] =
    ["rank", "states", "transitions", "states sent", "bytes sent", "peak memory", "waiting s"];

/// The row of a rank.
fn cells((number, rank): (usize, &RankStats)) -> [String; 7] {
    [
        number.to_string(),
        count(rank.states),
        count(rank.transitions),
        count(rank.states_sent),
        bytes(rank.bytes_sent),
        bytes(rank.peak_memory),
        format!("{:.3}", rank.waited.as_secs_f64()),
    ]
}

/// The work of a rank so far, in one row.
pub(super) fn row((number, rank): (usize, &RankStats)) -> Row {
    let [number, states, _, sent, volume, memory, waited] = cells((number, rank));
    (
        "rank",
        format!("{number}: {states} states, {sent} sent, {volume}, peak memory {memory}, waiting {waited} s"),
    )
}

/// The height of the picture of levels.
const HEIGHT: usize = 160;

/// The page: levels over time, and a row for each rank.
pub(in crate::method) fn write_page(
    ranks: &[RankStats],
    levels: &[Level],
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(last) = levels.last().filter(|last| !last.ended.is_zero()) {
        let most = levels.iter().map(|level| level.states).max().unwrap_or(0).max(1);
        let mut picture = String::new();
        page::open(&mut picture, "levels over time", HEIGHT);
        let at = |time: Duration| COLUMNS as f64 * time.as_secs_f64() / last.ended.as_secs_f64();
        let mut begun = Duration::ZERO;
        for level in levels {
            let (from, to) = (at(begun), at(level.ended));
            begun = level.ended;
            let height = HEIGHT as f64 * level.states as f64 / most as f64;
            let (width, top) = ((to - from).max(0.2), HEIGHT as f64 - height);
            picture.push_str(&format!(
                "<rect class=\"w0\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\n"
            ));
        }
        picture.push_str("</svg>");
        writeln!(out, "<h2>Levels over time</h2>\n{picture}")?;
        writeln!(
            out,
            "<p class=\"note\">Levels of all ranks together, the first at the left; a level is as wide as it took time, of {:.3} s, \
             and as high as it has states, of at most {}.</p>",
            last.ended.as_secs_f64(),
            count(most)
        )?;
    }
    let lines: Vec<[String; 7]> = ranks.iter().enumerate().map(cells).collect();
    page::write_numbers("Ranks", HEADER, &lines, out)
}

/// A line for each rank.
pub(in crate::method) fn write_table(
    ranks: &[RankStats],
    strong: &str,
    off: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    if ranks.is_empty() {
        return Ok(());
    }
    let lines: Vec<[String; 7]> = ranks.iter().enumerate().map(cells).collect();
    let widths: Vec<usize> = (0..HEADER.len())
        .map(|k| lines.iter().map(|line| line[k].len()).chain([HEADER[k].len()]).max().unwrap_or(0))
        .collect();
    let written = |cells: Vec<&str>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    writeln!(out, "\n{strong}  {}{off}", written(HEADER.to_vec()))?;
    for line in &lines {
        writeln!(out, "  {}", written(line.iter().map(String::as_str).collect()))?;
    }
    Ok(())
}

/// A rank in the JSON result, and in the page of a checkpoint.
#[derive(Serialize, Deserialize)]
pub(in crate::method) struct RankFields {
    states: u64,
    transitions: u64,
    states_sent: u64,
    bytes_sent: u64,
    peak_memory_bytes: u64,
    waiting_seconds: f64,
}

impl RankFields {
    /// Converts to the figures of the search, as far as these fields have them.
    pub(super) fn stats(&self) -> RankStats {
        RankStats {
            states: self.states,
            transitions: self.transitions,
            states_sent: self.states_sent,
            bytes_sent: self.bytes_sent,
            peak_memory: self.peak_memory_bytes,
            waited: Duration::try_from_secs_f64(self.waiting_seconds).unwrap_or_default(),
            ..RankStats::default()
        }
    }
}

/// The ranks in the JSON result.
pub(in crate::method) fn fields(ranks: &[RankStats]) -> Vec<RankFields> {
    let fields = |rank: &RankStats| RankFields {
        states: rank.states,
        transitions: rank.transitions,
        states_sent: rank.states_sent,
        bytes_sent: rank.bytes_sent,
        peak_memory_bytes: rank.peak_memory,
        waiting_seconds: rank.waited.as_secs_f64(),
    };
    ranks.iter().map(fields).collect()
}
