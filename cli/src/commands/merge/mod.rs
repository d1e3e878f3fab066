//! `gridlock merge`: joins the shards of a swarm.
//!
//! Invariant: the verdict is `holds` only if shards of the same swarm hold, unbounded, for all trace IDs.

mod shard;

use crate::outcome::{Exit, Failure};
use crate::output::{check_place, first_failure, print};
use crate::quantities::{big, count};
use crate::shown_trace::{JSON_VERSION, ShownStep, write_steps};
use crate::terminal::Style;
use crate::watch::Watch;
use clap::Args;
use gridlock_lts::base::whole_file::write_whole;
use gridlock_manager::method::traces::ids::parse_id;
use num_bigint::BigUint;
use serde::Serialize;
use serde_json::Value;
use shard::{Says, Shard, gaps};
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  gridlock check big.mcrl2 --search isv --subsystem P --shard 0/2 --json a.json
  gridlock check big.mcrl2 --search isv --subsystem P --shard 1/2 --json b.json
  gridlock merge a.json b.json

  gridlock merge shards/*            directories that --checkpoint was given

All must be of the same specification, properties, subsystem and --unroll. Budgets, strategies \
and numbers of workers may differ. The exit codes are those of `check`.";

/// Join the results of the shards of a swarm: of runs that each did a part of it
///
/// Takes the results of `check --search isv --json` with `--shard I/N` or `--ids A..B`, or the checkpoints of such runs, and
/// gives the verdict of the whole swarm.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// Results of shards (.json), or their checkpoints
    #[arg(value_name = "FILE|DIR", required = true)]
    shards: Vec<PathBuf>,

    /// Write the result as JSON; `-` is standard output, which then has nothing else on it
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The verdict of a whole swarm, as `docs/json.md` documents it.
#[derive(Serialize)]
struct Merged<'a> {
    version: u32,
    gridlock: &'static str,
    specification: &'a Value,
    verdict: &'static str,
    exhaustive: bool,
    property: &'a Value,
    reason: Option<&'static str>,
    message: Option<String>,
    traces: String,
    missing: Vec<[String; 2]>,
    searches: u64,
    largest_states: u64,
    longest_seconds: f64,
    total_states: u64,
    shards: Vec<MergedShard<'a>>,
    trace: &'a Value,
    end: &'a Value,
}

#[derive(Serialize)]
struct MergedShard<'a> {
    name: &'a str,
    ids: [String; 2],
    verdict: &'static str,
    reason: Option<&'a str>,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch) -> Result<Exit, Failure> {
    let on_stdout = arguments.json.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = arguments.json.as_ref().filter(|_| !on_stdout) {
        check_place(path)?;
    }
    let shards = arguments.shards.iter().map(|path| Shard::read(path)).collect::<Result<Vec<_>, _>>()?;
    if let Some(why) = shards.iter().skip(1).find_map(|shard| shard.differs(&shards[0])) {
        return Err(Failure::input(why));
    }
    let traces = shards[0].identity.get("traces").map(|digits| parse_id(digits));
    let Some(Ok(traces)) = traces else {
        return Err(Failure::input(format_args!(
            "{} does not say how many traces there are",
            shards[0].name
        )));
    };
    let merged = merge(&shards, &traces);
    match &arguments.json {
        Some(_) if on_stdout => print(watch, |out| merged.write_json(out))?,
        other => {
            // The verdict first: a disk that is full must not cost it.
            let shown = print(watch, |out| merged.write_text(out));
            let written = other.as_ref().map_or(Ok(()), |path| {
                write_whole(path, |out| merged.write_json(out)).map_err(Failure::input)
            });
            first_failure([shown, written])?;
        }
    }
    match merged.verdict {
        "holds" => Ok(Exit::Yes),
        "violated" => Ok(Exit::No),
        "faulty" => Err(Failure::Input(merged.message.unwrap_or_default())),
        _ => Ok(Exit::Unknown),
    }
}

fn merge<'a>(shards: &'a [Shard], traces: &BigUint) -> Merged<'a> {
    let missing = gaps(shards.iter().map(|shard| shard.ids.clone()).collect(), traces);
    // The one that speaks for all: the first that found something, else the first.
    let found = shards.iter().find(|s| matches!(s.says, Says::Violated | Says::Faulty));
    let speaker = found.or_else(|| shards.iter().find(|s| !s.result.is_null())).unwrap_or(&shards[0]);
    let field = |name: &str| speaker.result.get(name).unwrap_or(&Value::Null);
    let (verdict, reason, message) = conclude(shards, found, &missing);
    let pair = |r: &Range<BigUint>| [r.start.to_string(), r.end.to_string()];
    let all = |name: &'static str| shards.iter().map(move |shard| shard.number(name));
    let shown = shards.iter().map(|shard| MergedShard {
        name: &shard.name,
        ids: pair(&shard.ids),
        verdict: shard.says.name(),
        reason: (shard.says == Says::Unknown).then(|| shard.reason()),
    });
    Merged {
        version: JSON_VERSION,
        gridlock: env!("CARGO_PKG_VERSION"),
        specification: field("specification"),
        verdict,
        exhaustive: verdict == "holds",
        property: field("property"),
        reason,
        message,
        traces: traces.to_string(),
        missing: missing.iter().map(pair).collect(),
        searches: all("searches").sum::<f64>() as u64,
        largest_states: all("largest_states").fold(0.0, f64::max) as u64,
        longest_seconds: all("longest_seconds").fold(0.0, f64::max),
        total_states: all("total_states").sum::<f64>() as u64,
        shards: shown.collect(),
        trace: if found.is_some() { field("trace") } else { &Value::Null },
        end: if found.is_some() { field("end") } else { &Value::Null },
    }
}

/// Verdict, a stable word for why there is no answer, and the same for people.
fn conclude(
    shards: &[Shard],
    found: Option<&Shard>,
    missing: &[Range<BigUint>],
) -> (&'static str, Option<&'static str>, Option<String>) {
    if let Some(found) = found {
        let message = found.result.get("message").and_then(Value::as_str).unwrap_or_default();
        let verdict = found.says.name();
        return (
            verdict,
            (found.says == Says::Faulty).then_some("fault"),
            Some(format!("{message} (found by {})", found.name)),
        );
    }
    let names = |says: Says| -> Vec<String> {
        let shards = shards.iter().filter(|shard| shard.says == says);
        shards.map(|shard| format!("{} ({})", shard.name, shard.reason())).collect()
    };
    let unknown = names(Says::Unknown);
    if !unknown.is_empty() {
        return ("unknown", Some("shard-unknown"), Some(format!("no answer from {}", unknown.join(", "))));
    }
    if let Some(first) = missing.first() {
        let more =
            if missing.len() > 1 { format!(" and {} more ranges", missing.len() - 1) } else { String::new() };
        let message = format!("nobody has done the trace IDs {}..{}{more}", first.start, first.end);
        return ("unknown", Some("missing"), Some(message));
    }
    if !names(Says::Bounded).is_empty() {
        let message =
            "all shards hold, but cycles of the subsystem were bounded (--unroll) and it could have gone on";
        return ("unknown", Some("bounded"), Some(message.to_owned()));
    }
    ("holds", None, None)
}

impl Says {
    fn name(self) -> &'static str {
        match self {
            Says::Holds => "holds",
            Says::Bounded => "bounded",
            Says::Violated => "violated",
            Says::Faulty => "faulty",
            Says::Unknown => "unknown",
        }
    }
}

impl Merged<'_> {
    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)?;
        out.flush()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = Style::of_stdout();
        let Style { strong, wrong, off, .. } = style;
        let colour = if self.verdict == "violated" { wrong } else { strong };
        let kind = if self.reason == Some("bounded") { " (bounded)" } else { "" };
        let about = self.property.as_str().unwrap_or("all shards");
        let message = self.message.as_ref().map_or(String::new(), |message| format!(": {message}"));
        writeln!(out, "{colour}{}{kind}{off}: {about}{message}\n", self.verdict)?;
        let number = |digits: &str| digits.parse::<BigUint>().map_or_else(|_| digits.to_owned(), |n| big(&n));
        let rows = [
            ("shards", count(self.shards.len() as u64)),
            ("traces", number(&self.traces)),
            ("searches", count(self.searches)),
            ("largest search", count(self.largest_states)),
            ("longest search", format!("{:.3}", self.longest_seconds)),
            ("states in total", count(self.total_states)),
        ];
        let width = rows.iter().map(|(_, value)| value.len()).max().unwrap_or(0);
        rows.iter().try_for_each(|(name, value)| writeln!(out, "  {name:<17}{value:>width$}"))?;
        if let Ok(steps) = serde_json::from_value::<Vec<ShownStep>>(self.trace.clone()) {
            writeln!(out, "\n{strong}counterexample{off}")?;
            write_steps(&steps, style, out)?;
        }
        Ok(())
    }
}
