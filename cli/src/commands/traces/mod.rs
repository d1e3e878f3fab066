//! `gridlock traces`: the traces of a subsystem, which guide an informed swarm.

mod show;

use crate::flags::{Resources, TableArguments, TableMode};
use crate::input::{Specification, require_closed};
use crate::outcome::{Exit, Failure};
use crate::output::{check_place, print};
use crate::quantities::{big, count};
use crate::terminal::tell;
use crate::watch::{Phase, Watch};
use clap::Args;
use gridlock_lts::base::whole_file::write_whole;
use gridlock_lts::guide::Guide;
use gridlock_lts::model::network::Network;
use gridlock_manager::method::subsystem;
use gridlock_manager::method::traces::ids::{Ids, parse_id};
use gridlock_manager::method::traces::options::Which;
use num_bigint::BigUint;
use show::{Listed, Summary};
use std::io::BufWriter;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  gridlock traces drink.mcrl2 --subsystem User                how many traces has the user?
  gridlock traces drink.mcrl2 --subsystem User --id 2         the third of them
  gridlock traces drink.mcrl2 --subsystem User --range 0..10
  gridlock traces bus.mcrl2 --subsystem 'LINK(2, 0),BUS' --unroll 1 --sample 5 --json
  gridlock traces drink.mcrl2 --subsystem User --dot user.dot

A subsystem is one process or several, by the names that `gridlock info` prints. Its partners \
are taken to be always willing, so that not every trace can be followed to its end in the whole \
system. `gridlock check --search isv` does one search, or a part of one, for each trace. \
docs/swarm.md explains the method, docs/json.md the fields of --json.";

/// Count, number and show the traces of a subsystem: what one process or a few can do
///
/// Works out what some of the processes can do if their partners are always willing, and counts the ways from its
/// beginning to its ends. Each has a number, its ID, by which an informed swarm (`check --search isv`) knows it.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    /// A process as `info` names it; may be repeated, or several with commas between them
    #[arg(long, value_name = "LEAF", required = true)]
    subsystem: Vec<String>,

    /// Bound a cyclic subsystem: go round at most K times in each of its cyclic parts
    #[arg(long, value_name = "K")]
    unroll: Option<u32>,

    /// Count, number and show one trace of each class that differ only in the order of moves in which no process takes part in
    /// both, as jobs of `--search isv --jobs trace --orders one` are
    #[arg(long, value_name = "WHICH", value_enum, default_value = "all")]
    orders: Which,

    /// Show the trace of this ID
    #[arg(long, value_name = "N", value_parser = parse_id, help_heading = "Traces to show", conflicts_with_all = ["range", "sample"])]
    id: Option<BigUint>,

    /// Show the traces of these IDs, the last one not included; either end may be left out
    #[arg(long, value_name = "A..B", value_parser = str::parse::<Ids>, help_heading = "Traces to show", conflicts_with = "sample")]
    range: Option<Ids>,

    /// Show this many traces, their IDs spread evenly
    #[arg(long, value_name = "K", help_heading = "Traces to show")]
    sample: Option<u64>,

    /// The most traces that may be shown
    #[arg(long, value_name = "N", default_value_t = 10_000, help_heading = "Traces to show")]
    limit: u64,

    /// Write JSON, for programs
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Draw the subsystem for Graphviz, in each state the number of traces from there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    dot: Option<PathBuf>,

    #[command(flatten)]
    pub resources: Resources,

    #[command(flatten)]
    tables: TableArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch, quiet: bool) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.dot {
        if path.as_os_str() == "-" {
            return Err(Failure::input("--dot needs the name of a file; standard output has the result"));
        }
        check_place(path)?;
    }
    let specification = Specification::read(&arguments.specification)?;
    let options = arguments.tables.options(TableMode::Auto);
    let system = specification.load(&specification.name, &options, options.table_limit, watch)?;
    require_closed(&system, "counting traces")?;
    let net = &system.network;
    let leaves = subsystem::find_leaves(net, &subsystem::split_names(&arguments.subsystem))?;
    watch.begin("counting traces", "");
    let built = subsystem::build(net, &leaves)?;
    let cycle = built.cycle(net);
    let shows = arguments.id.is_some() || arguments.range.is_some() || arguments.sample.is_some();
    // Sizes can be told of any subsystem; traces only if they have an end.
    let guide = match &cycle {
        Some(_) if arguments.unroll.is_none() && !shows && arguments.dot.is_none() => None,
        _ => Some(subsystem::guide(net, &built, arguments.unroll)?),
    };
    let guide = match guide {
        Some(guide) if arguments.orders == Which::One => Some(subsystem::orders(&guide)?.classes().clone()),
        guide => guide,
    };
    let listed = match &guide {
        Some(guide) => ids(arguments, guide)?.into_iter().map(|id| Listed::new(net, guide, id)).collect(),
        None => Vec::new(),
    };
    let names = subsystem::names(net, &leaves);
    let summary =
        Summary::new(&specification.name, names, &built, cycle, arguments.unroll, guide.as_ref(), listed)
            .of(arguments.orders);
    if watch.stopped().is_some() {
        return Err(Failure::Stopped);
    }
    watch.rest();
    watch.enter(Phase::Writing);
    if let (Some(path), Some(guide)) = (&arguments.dot, &guide) {
        draw(path, net, guide)?;
        if !quiet {
            tell(format_args!("{} is written", path.display()));
        }
    }
    let single = arguments.id.is_some();
    print(
        watch,
        |out| if arguments.json { summary.write_json(out) } else { summary.write_text(single, out) },
    )?;
    Ok(Exit::Yes)
}

fn draw(path: &std::path::Path, net: &Network, guide: &Guide) -> Result<(), Failure> {
    let written = write_whole(path, |out| {
        let mut out = BufWriter::new(out);
        guide.write_dot(net, &mut out)?;
        std::io::Write::flush(&mut out)
    });
    written.map_err(Failure::input)
}

/// The IDs that are asked for, ascending.
fn ids(arguments: &Arguments, guide: &Guide) -> Result<Vec<BigUint>, Failure> {
    let traces = guide.traces();
    let limited = |wanted: &BigUint, flag: &str| match u64::try_from(wanted) {
        Ok(n) if n <= arguments.limit => Ok(n),
        _ => Err(Failure::input(format_args!(
            "{flag} asks for {} traces, and at most {} are shown: --limit N allows more",
            big(wanted),
            count(arguments.limit)
        ))),
    };
    if let Some(id) = &arguments.id {
        if id >= traces {
            return Err(Failure::input(format_args!(
                "there is no trace {id}: there are {}, numbered from 0",
                big(traces)
            )));
        }
        return Ok(vec![id.clone()]);
    }
    if let Some(range) = &arguments.range {
        let range = range.resolve(traces, "--range")?;
        let size = limited(&(&range.end - &range.start), "--range")?;
        return Ok((0..size).map(|k| &range.start + k).collect());
    }
    if let Some(sample) = arguments.sample {
        // More than there are would show some of them twice.
        let sample = limited(&BigUint::from(sample).min(traces.clone()), "--sample")?;
        return Ok((0..sample).map(|k| traces * k / sample).collect());
    }
    Ok(Vec::new())
}
