//! `gridlock plan`: estimates the size of a state space from a sample, and the resources to check it on a cluster.
//!
//! Invariant: the output distinguishes measured figures, estimates and unknown ones.

use crate::flags::{Resources, TableArguments, TableMode};
use crate::input::{Specification, fill, is_stdin};
use crate::outcome::{Exit, Failure};
use crate::output::{check_place, is_stdout, print};
use crate::quantities::{bytes, count, duration, parse_bytes, parse_duration};
use crate::road::properties::Wanted;
use crate::terminal::tell;
use crate::watch::Watch;
use clap::Args;
use gridlock_lang::system::System;
use gridlock_lts::base::error::Limit;
use gridlock_lts::base::memory::resident;
use gridlock_lts::base::whole_file::write_whole;
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::pack::Packing;
use gridlock_lts::engine::reduce::Keep;
use gridlock_lts::engine::search::{self, Options, Report, Stats, Verdict};
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::property::{Property, instrument};
use gridlock_manager::plan::{Costs, Estimate, Need, Size, estimate, need, room};
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

const HELP: &str = "\
Examples:
  gridlock plan big.mcrl2 --memory-per-rank 32G --workers 16
  gridlock plan big.mcrl2 --memory-per-rank 4G --sample 10000000 --script job.sh && sbatch job.sh

Searches the first states breadth first, once in full and once with --reduce on, and continues the \
sizes of the levels. That is a guess: it is good where processes are independent of each other, and \
too low where much lies behind a narrow place. The range is what parts of the sample say; where they \
contradict each other, the plan says only what was seen. docs/cluster.md explains the figures.";

/// Estimate what it takes to check a specification on a cluster, and write the job script
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    #[command(flatten)]
    wanted: Wanted,

    /// What one rank may use, e.g. `32G`
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Plan")]
    memory_per_rank: u64,

    /// Threads of one rank
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Plan", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,

    /// Plan with this many ranks, whatever the estimate says [default: as many as the states need]
    #[arg(long, value_name = "N", help_heading = "Plan", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    ranks: Option<u64>,

    /// States that are searched for the estimate
    #[arg(long, value_name = "N", default_value_t = 1_000_000, help_heading = "Plan", value_parser = clap::value_parser!(u64).range(1000..))]
    sample: u64,

    /// Write a job script for Slurm
    #[arg(long, value_name = "FILE", help_heading = "Plan")]
    script: Option<PathBuf>,

    /// The time limit in the script [default: twice what is expected, at least 1h, at most 7 days]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "script", help_heading = "Plan")]
    job_time: Option<Duration>,

    /// Write JSON, for programs
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pub resources: Resources,

    #[command(flatten)]
    tables: TableArguments,
}

/// A reduced search may visit only this part of the sample, as a divisor: its states cost ten times as much and more.
const DEARER: u64 = 10;

/// The figures of a sample.
struct Sampled {
    estimate: Estimate,
    stats: Stats,
    words: usize,
    violated: bool,
}

impl Sampled {
    /// The largest level as a part of all states, as far as that is known.
    fn widest(&self) -> f64 {
        let states = match self.estimate.size {
            Size::Exact(n) | Size::AtLeast(n) => n as f64,
            Size::Estimated { likely, .. } => likely,
        };
        self.estimate.widest / states.max(1.0)
    }

    fn rate(&self) -> f64 {
        self.stats.states as f64 / self.stats.time.as_secs_f64().max(1e-6)
    }
}

/// The advice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Advice {
    /// A violation was met in the sample.
    Violated,
    /// One process is enough.
    One,
    /// One process with a reduction is enough.
    Reduced,
    /// Ranks.
    Ranks,
    /// More ranks are needed than is realistic.
    Slices,
    /// There is no estimate.
    Unknown,
}

/// More ranks than this are not advised.
const MOST_RANKS: u64 = 4096;

/// The plan, for programs.
#[derive(Serialize)]
struct Plan {
    version: u32,
    specification: String,
    advice: Advice,
    sample_states: u64,
    sample_seconds: f64,
    words_per_state: usize,
    /// Exact, or estimated, or null.
    states: Option<f64>,
    /// A certain lower bound on the states.
    states_at_least: u64,
    states_low: Option<f64>,
    states_high: Option<f64>,
    exact: bool,
    reduced_states: Option<u64>,
    states_per_second: f64,
    bytes: Option<f64>,
    ranks: Option<u64>,
    seconds: Option<f64>,
    /// States that the ranks have room for: those of `--ranks`, or else one.
    room_ranks: u64,
    room_states: f64,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch, quiet: bool) -> Result<Exit, Failure> {
    if let Some(script) = &arguments.script {
        if is_stdin(&arguments.specification) {
            return Err(Failure::input(
                "a job script needs the name of a file, and the specification is standard input",
            ));
        }
        if is_stdout(script) {
            return Err(Failure::input("--script needs the name of a file; standard output has the plan"));
        }
        check_place(script)?;
    }
    let specification = Specification::read(&arguments.specification)?;
    let options = arguments.tables.options(TableMode::Auto);
    let checked = specification.check(&specification.name, &options, usize::MAX, watch)?;
    let properties = arguments.wanted.translate(checked.builder())?.checked;
    let system = fill(checked, &properties, watch)?;
    let closed = system.closed;
    let base = resident().unwrap_or(0);
    let reduced = match closed {
        true => Some(sample(arguments, watch, &system, &properties, Some(Keep::Verdicts))?),
        false => None,
    };
    let full = match closed {
        true => sample(arguments, watch, &system, &properties, None)?,
        false => sample_on_demand(arguments, watch, system, &properties)?,
    };
    if watch.stopped().is_some() {
        return Err(Failure::Stopped);
    }
    let costs = Costs { memory: arguments.memory_per_rank, base, words: full.words, rate: full.rate() };
    let reduced = reduced.and_then(|sampled| match sampled.estimate.size {
        Size::Exact(states) if !sampled.violated => Some(states),
        _ => None,
    });
    let needs = needs(&full.estimate, costs);
    let advice = advice(&full, reduced, needs.map(|needs| needs[1]), costs);
    let mut plan = plan(&specification.name, &full, reduced, needs, advice);
    plan.room_ranks = arguments.ranks.unwrap_or(1);
    plan.room_states = room(plan.room_ranks, full.widest(), costs).floor();
    print(watch, |out| match arguments.json {
        true => {
            serde_json::to_writer_pretty(&mut *out, &plan)?;
            writeln!(out)
        }
        false => show(arguments, &full, &plan, needs, out),
    })?;
    let Some(path) = &arguments.script else { return Ok(Exit::Yes) };
    match advice {
        Advice::Violated => Err(Failure::input(
            "no script is written: one machine finds a violation within the sample; see above",
        )),
        Advice::Unknown if arguments.ranks.is_none() => Err(Failure::input(
            "no script is written: nobody knows how many ranks it takes; see above, and give --ranks N for a script that \
             begins with as many",
        )),
        _ => {
            let text = script(arguments, advice, needs.map(|needs| needs[1]));
            write_whole(path, |out| out.write_all(text.as_bytes())).map_err(Failure::input)?;
            if !quiet {
                tell(format_args!("{} is written: sbatch {}", path.display(), path.display()));
            }
            Ok(Exit::Yes)
        }
    }
}

/// The resources for the least, the likely and the largest size.
fn needs(estimate: &Estimate, costs: Costs) -> Option<[Need; 3]> {
    match estimate.size {
        Size::Exact(n) => Some([need(n as f64, estimate.widest, costs); 3]),
        Size::Estimated { low, likely, high } => {
            Some([low, likely, high].map(|n| need(n, estimate.widest * (n / likely), costs)))
        }
        Size::AtLeast(_) => None,
    }
}

fn advice(full: &Sampled, reduced: Option<u64>, likely: Option<Need>, costs: Costs) -> Advice {
    let ranks = likely.and_then(|need| need.ranks);
    let fits = |states: u64| need(states as f64, states as f64, costs).ranks == Some(1);
    match (ranks, reduced) {
        _ if full.violated => Advice::Violated,
        (Some(1), _) => Advice::One,
        (_, Some(states)) if fits(states) => Advice::Reduced,
        (Some(n), _) if n <= MOST_RANKS => Advice::Ranks,
        (_, _) if likely.is_some() => Advice::Slices,
        _ => Advice::Unknown,
    }
}

fn plan(
    specification: &str,
    full: &Sampled,
    reduced: Option<u64>,
    needs: Option<[Need; 3]>,
    advice: Advice,
) -> Plan {
    let (low, likely, high) = match full.estimate.size {
        Size::Exact(n) => (Some(n as f64), Some(n as f64), Some(n as f64)),
        Size::Estimated { low, likely, high } => (Some(low), Some(likely), Some(high)),
        Size::AtLeast(_) => (None, None, None),
    };
    Plan {
        version: 1,
        specification: specification.to_owned(),
        advice,
        sample_states: full.stats.states,
        sample_seconds: full.stats.time.as_secs_f64(),
        words_per_state: full.words,
        states: likely,
        states_at_least: full.stats.states,
        states_low: low,
        states_high: high,
        exact: matches!(full.estimate.size, Size::Exact(_)),
        reduced_states: reduced,
        states_per_second: full.rate(),
        bytes: needs.map(|needs| needs[1].bytes),
        ranks: needs.and_then(|needs| needs[1].ranks),
        seconds: needs.map(|needs| needs[1].seconds),
        room_ranks: 0,
        room_states: 0.0,
    }
}

/// Searches the first states of a system with complete tables.
fn sample(
    arguments: &Arguments,
    watch: &Watch,
    system: &System,
    properties: &[Property],
    reduce: Option<Keep>,
) -> Result<Sampled, Failure> {
    let words = Packing::for_network(&instrument(&system.network, properties).network).words();
    watched(arguments, watch, words, reduce, |options| {
        search::check_but_formulas(&system.network, properties, options)
    })
}

/// The same where tables are filled on demand.
fn sample_on_demand(
    arguments: &Arguments,
    watch: &Watch,
    system: System,
    properties: &[Property],
) -> Result<Sampled, Failure> {
    let lazy = Lazy::new(system.network, Box::new(system.builder), properties)?;
    watched(arguments, watch, lazy.packing().words(), None, |options| search::check_on_demand(&lazy, options))
}

fn watched(
    arguments: &Arguments,
    watch: &Watch,
    words: usize,
    reduce: Option<Keep>,
    search: impl FnOnce(&Options) -> Result<Report, gridlock_lts::base::error::Error>,
) -> Result<Sampled, Failure> {
    watch.begin(if reduce.is_some() { "sampling, reduced" } else { "sampling" }, "states");
    let halt = watch.halt();
    let progress = |stats: &Stats| watch.count(stats.states as usize, stats.transitions as usize);
    // How many states there were when each level ended, the initial one before.
    let ends = Mutex::new(vec![1u64]);
    let pause = |stats: &Stats| {
        if let Ok(mut ends) = ends.lock() {
            ends.push(stats.states);
        }
        false
    };
    let options = Options {
        workers: usize::from(arguments.workers),
        max_states: Some(reduce.map_or(arguments.sample, |_| arguments.sample / DEARER)),
        max_memory: Some(arguments.resources.memory().saturating_sub(resident().unwrap_or(0))),
        cancel: Some(halt.flag()),
        progress: Some(&progress),
        pause: Some(&pause),
        reduce,
        ..Options::default()
    };
    let report = search(&options)?;
    let ends = ends.into_inner().unwrap_or_default();
    let complete = report.verdict == Verdict::Holds;
    if matches!(report.verdict, Verdict::Unknown(Limit::Interrupted)) && watch.stopped().is_some() {
        return Err(Failure::Stopped);
    }
    let first = ends.first().copied();
    let levels: Vec<u64> =
        first.into_iter().chain(ends.windows(2).map(|pair| pair[1].saturating_sub(pair[0]))).collect();
    let violated = matches!(report.verdict, Verdict::Violated { .. } | Verdict::Faulty { .. });
    Ok(Sampled {
        estimate: estimate(&levels, report.stats.states, complete),
        stats: report.stats,
        words,
        violated,
    })
}

/// A number that is not exact.
fn about(number: f64) -> String {
    match number {
        n if n < 1e6 => count(n.round() as u64),
        n => format!("{n:.1e}"),
    }
}

fn time(seconds: f64) -> String {
    match Duration::try_from_secs_f64(seconds.ceil()) {
        Ok(time) if seconds < 1e9 => duration(time),
        _ => "longer than thirty years".to_owned(),
    }
}

fn show(
    arguments: &Arguments,
    full: &Sampled,
    plan: &Plan,
    needs: Option<[Need; 3]>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut row = |name: &str, value: String| writeln!(out, "  {name:<17}{value}");
    row(
        "sample",
        format!(
            "{} states in {:.1} s on {} threads, {} states/s",
            count(full.stats.states),
            full.stats.time.as_secs_f64(),
            arguments.workers,
            about(full.rate())
        ),
    )?;
    row(
        "states",
        match full.estimate.size {
            _ if full.violated => "not known: the sample ends with a violation".to_owned(),
            Size::Exact(n) => format!("{}, all of which were seen", count(n)),
            Size::Estimated { low, likely, high } => format!(
                "about {}, a guess: parts of the sample say {} to {}",
                about(likely),
                about(low),
                about(high)
            ),
            Size::AtLeast(n) => format!(
                "at least {}; how many more the sample does not tell (a larger one may: --sample)",
                count(n)
            ),
        },
    )?;
    match plan.reduced_states {
        Some(states) => row("with --reduce on", format!("{}, all of which were seen", count(states)))?,
        None => row("with --reduce on", "not known: no end within the sample".to_owned())?,
    }
    if let (Some([low, likely, high]), false) = (needs, full.violated) {
        row("memory", format!("{} breadth first", bytes(likely.bytes as u64)))?;
        let ranks = |need: Need| need.ranks.map_or("no number".to_owned(), count);
        let range = match (low.ranks, high.ranks) {
            (a, b) if a == b => String::new(),
            _ => format!(" ({} to {})", ranks(low), ranks(high)),
        };
        row("ranks", format!("{}{range} of {} each", ranks(likely), bytes(arguments.memory_per_rank)))?;
        let assumed = if likely.ranks == Some(1) { "" } else { ", if ranks keep 0.7 of the rate of one" };
        row("time", format!("{}{assumed}", time(likely.seconds)))?;
    }
    row(
        "room",
        format!(
            "{} of {} {} room for about {} states",
            if plan.room_ranks == 1 {
                "one rank".to_owned()
            } else {
                format!("{} ranks", count(plan.room_ranks))
            },
            bytes(arguments.memory_per_rank),
            if plan.room_ranks == 1 { "has" } else { "have" },
            about(plan.room_states)
        ),
    )?;
    row("do", command(arguments, plan.advice, needs))
}

/// The command to type.
fn command(arguments: &Arguments, advice: Advice, needs: Option<[Need; 3]>) -> String {
    let spec = asked(arguments);
    let ranks = arguments.ranks.filter(|&n| n > 1);
    let mpirun = ranks.map_or(String::new(), |n| format!("mpirun -n {n} "));
    match advice {
        Advice::Violated => format!("gridlock check {spec}: it finds a violation within the sample"),
        Advice::One => format!("{mpirun}gridlock check {spec} --workers {}", arguments.workers),
        Advice::Reduced => {
            format!("{mpirun}gridlock check {spec} --reduce on --workers {}", arguments.workers)
        }
        Advice::Ranks => format!(
            "mpirun -n {} gridlock check {spec} --workers {} --checkpoint DIR --resume",
            arguments.ranks.or(needs.and_then(|needs| needs[1].ranks)).unwrap_or(1),
            arguments.workers
        ),
        Advice::Slices => format!(
            "{mpirun}gridlock check {spec} --search isv --spill DIR, or gridlock hunt {spec} to look for errors only: more \
             than {} ranks would be needed",
            count(MOST_RANKS)
        ),
        Advice::Unknown if ranks.is_some() => format!(
            "try {mpirun}gridlock check {spec} --workers {} --checkpoint DIR --resume, and resume it with more ranks if \
             they are full",
            arguments.workers
        ),
        Advice::Unknown => format!(
            "try gridlock check {spec} --checkpoint DIR --resume on a few ranks, and resume it with more if they are full"
        ),
    }
}

/// The job script.
fn script(arguments: &Arguments, advice: Advice, likely: Option<Need>) -> String {
    let ranks = match advice {
        Advice::Ranks => likely.and_then(|need| need.ranks),
        _ => None,
    };
    let ranks = arguments.ranks.or(ranks).unwrap_or(1);
    let expected = likely.map_or(Duration::ZERO, |need| {
        Duration::try_from_secs_f64((2.0 * need.seconds).min(1e7)).unwrap_or_default()
    });
    let hour = Duration::from_secs(3600);
    let wall = arguments.job_time.unwrap_or_else(|| expected.clamp(hour, 7 * 24 * hour));
    let minutes = wall.as_secs().div_ceil(60);
    let megabytes = arguments.memory_per_rank.div_ceil(u64::from(arguments.workers) << 20);
    let options = match advice {
        Advice::Reduced => " --reduce on",
        Advice::Slices => " --search isv",
        _ => "",
    };
    let memory = arguments.memory_per_rank / 10 * 9;
    let spec = asked(arguments);
    format!(
        "#!/usr/bin/env bash\n\
         #SBATCH --job-name=gridlock\n\
         #SBATCH --ntasks={ranks}\n\
         #SBATCH --cpus-per-task={workers}\n\
         #SBATCH --mem-per-cpu={megabytes}M\n\
         #SBATCH --time={minutes}\n\
         #SBATCH --signal=B:USR1@300\n\
         #SBATCH --requeue\n\
         #SBATCH --open-mode=append\n\
         #SBATCH --output=gridlock-%j.log\n\
         # Written by `gridlock plan`. Five minutes before its time limit the job writes a checkpoint and goes back into the queue.\n\
         # GRIDLOCK is the program, LAUNCH what starts its processes. If memory was not enough, add tasks and submit it again with\n\
         # CHECKPOINT=the directory of the first job.\n\
         set -u\n\
         launch=${{LAUNCH:-mpirun --bind-to none}}\n\
         checkpoint=${{CHECKPOINT:-gridlock-$SLURM_JOB_ID}}\n\
         warned=no\n\
         job=\n\
         trap 'warned=yes; [ -n \"$job\" ] && kill -USR1 \"$job\" 2> /dev/null' USR1\n\
         # shellcheck disable=SC2086\n\
         $launch \"${{GRIDLOCK:-gridlock}}\" check {spec}{options} --workers {workers} --max-memory {memory} \\\n    \
         --checkpoint \"$checkpoint\" --resume &\n\
         job=$!\n\
         while kill -0 \"$job\" 2> /dev/null; do\n    wait \"$job\"\ndone\n\
         wait \"$job\"\n\
         code=$?\n\
         if [ $warned = yes ] && [ $code -eq 3 ]; then\n    scontrol requeue \"$SLURM_JOB_ID\"\nfi\n\
         exit $code\n",
        workers = arguments.workers,
    )
}

/// The specification and the properties, as words for a shell.
fn asked(arguments: &Arguments) -> String {
    let spec = arguments.specification.display().to_string();
    let more = arguments.wanted.arguments().into_iter().chain(arguments.tables.arguments());
    std::iter::once(spec).chain(more).map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    match word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c)) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
