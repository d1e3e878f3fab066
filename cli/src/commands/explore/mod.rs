//! `gridlock explore`: a page on this machine to walk through the state space by hand.
//!
//! The page keeps the walk, as a list of moves, and asks for the states on it ([`walk`], [`view`]); the answers go through a
//! small server that only the page itself can reach ([`server`], [`gate`]).

mod gate;
mod impatient;
mod server;
mod view;
mod walk;

use crate::chart;
use crate::flags::{Resources, TableArguments, TableMode};
use crate::input::{Specification, is_stdin};
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::quantities::counted;
use crate::saved_trace::{self, Followed, Saved, Wanted};
use crate::shown_trace::ShownTrace;
use crate::terminal::tell;
use crate::watch::{Reason, Watch};
use clap::Args;
use gate::Gate;
use gridlock_lang::system::System;
use gridlock_lts::model::network::Outcome;
use gridlock_lts::model::trace_file::TraceFile;
use serde::{Deserialize, Serialize};
use serde_json::json;
use server::{Question, Reply};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use view::View;
use walk::{LONGEST, Move, Walk};

/// Steps of the history that are drawn at once.
const DRAWN: usize = 300;

const HELP: &str = "\
Examples:
  gridlock explore abp.mcrl2
  gridlock check abp.mcrl2 --trace-out why.trace || gridlock explore abp.mcrl2 --trace why.trace
  gridlock explore abp.mcrl2 --port 8080      from elsewhere: ssh -L 8080:127.0.0.1:8080 HOST

The address is printed on standard output; open it in a browser, Ctrl-C ends the server. It is served on 127.0.0.1 \
only, begins with a secret that is new each time, and needs no network. In the page, ? shows the keys. A trace is what \
`check --trace-out` or `sim` wrote, or a list of labels, as for `replay`; one can also be opened in the page.";

/// Walk through a specification in the browser
///
/// Serves a page on this machine with the processes side by side, the actions that are possible, and the steps so far as a
/// sequence chart (who did what with whom, from top to bottom). A saved counterexample can be walked step by step.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The specification, a file in mCRL2's language; `-` is standard input
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    /// Begin with the steps of this trace
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// The port to serve on [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,

    #[command(flatten)]
    pub resources: Resources,

    #[command(flatten)]
    tables: TableArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch, quiet: bool) -> Result<Exit, Failure> {
    let path = &arguments.specification;
    if is_stdin(path) && arguments.trace.as_deref().is_some_and(is_stdin) {
        return Err(Failure::input("only one of the two can be read from standard input"));
    }
    let wanted = arguments.trace.as_deref().map(saved_trace::read).transpose()?;
    let specification = Specification::read(path)?;
    let short = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let options = arguments.tables.options(TableMode::OnDemand);
    let system = specification.load(&short, &options, options.table_limit, watch)?;
    let mut explorer = Explorer {
        walk: Walk::new(system),
        specification,
        watch,
        start: Opened { path: Vec::new(), repeats_from: None, note: None },
    };
    if let Some(wanted) = wanted {
        explorer.start = explorer.open(wanted)?;
    }
    watch.rest();
    let port = arguments.port;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|e| {
        let remedy = if port == 0 { "" } else { "; without --port a free one is taken" };
        Failure::input(format_args!("cannot serve on 127.0.0.1:{port}: {e}{remedy}"))
    })?;
    let failed = |e: std::io::Error| Failure::input(format_args!("cannot serve on 127.0.0.1: {e}"));
    let port = listener.local_addr().map_err(failed)?.port();
    let secret = secret()?;
    let address = format!("http://127.0.0.1:{port}/{secret}/");
    print(watch, |out| writeln!(out, "{address}"))?;
    if !quiet {
        if let Some(note) = &explorer.start.note {
            tell(note);
        }
        tell("open this address in a browser; Ctrl-C ends");
    }
    server::serve(listener, Gate::new(port, secret), watch, |question| explorer.answer(&question))
        .map_err(failed)?;
    match watch.stopped() {
        Some(Reason::Interrupted) | None => Ok(Exit::Yes),
        Some(_) => Err(Failure::Stopped),
    }
}

/// A random secret for the address of the page.
fn secret() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Failure::input(format_args!("the system gives no random numbers: {e}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A trace as a walk.
#[derive(Serialize, Clone)]
struct Opened {
    path: Vec<Move>,
    /// The first of the steps that are repeated for ever, counted from 1, if any are.
    repeats_from: Option<usize>,
    /// A remark about the trace.
    note: Option<String>,
}

/// A walk, and the number of its steps up to the current place.
#[derive(Deserialize)]
struct WalkRequest {
    path: Vec<Move>,
    #[serde(default)]
    at: usize,
    #[serde(default)]
    filter: String,
    /// The first of the steps that are repeated for ever, if the walk is such a run.
    #[serde(default)]
    repeats_from: Option<usize>,
}

impl WalkRequest {
    /// The same, if it is a step of the walk.
    fn repeats_from(&self) -> Option<usize> {
        self.repeats_from.filter(|from| (1..=self.path.len()).contains(from))
    }
}

/// A part of the history as a picture.
#[derive(Serialize)]
struct Drawn {
    svg: String,
    /// The steps it shows: after the first, up to and including the second.
    from: usize,
    to: usize,
}

struct Explorer<'a> {
    walk: Walk,
    specification: Specification,
    watch: &'a Watch,
    start: Opened,
}

impl Explorer<'_> {
    /// Answers a question of the page.
    fn answer(&mut self, question: &Question) -> Reply {
        let problem = |e: String| serde_json::to_vec(&json!({ "error": e }));
        let place = || serde_json::from_slice::<WalkRequest>(&question.body).map_err(|e| e.to_string());
        let written = match question.about.as_str() {
            "start" => serde_json::to_vec(&json!({
                "specification": self.specification.name,
                "version": env!("CARGO_PKG_VERSION"),
                "longest": LONGEST,
                "trace": self.start,
            })),
            "look" | "chart" | "save" => {
                let place = match place() {
                    Ok(place) if place.at <= place.path.len() => place,
                    Ok(_) => return Reply::Wrong("the walk has fewer steps".to_owned()),
                    Err(e) => return Reply::Wrong(e),
                };
                match question.about.as_str() {
                    "look" => self.look(&place).map_or_else(problem, |view| serde_json::to_vec(&view)),
                    "chart" => self.chart(&place).map_or_else(problem, |drawn| serde_json::to_vec(&drawn)),
                    _ => self
                        .save(&place)
                        .map_or_else(problem, |text| serde_json::to_vec(&json!({ "text": text }))),
                }
            }
            "trace" => match self.read(&question.body) {
                Ok(opened) => serde_json::to_vec(&opened),
                Err(Failure::Input(text) | Failure::Specification(text)) => problem(text),
                Err(_) => problem(self.watch.why_stopped()),
            },
            _ => return Reply::Unknown,
        };
        written.map_or_else(|e| Reply::Wrong(e.to_string()), Reply::Json)
    }

    fn look(&mut self, place: &WalkRequest) -> Result<View, String> {
        self.walk.follow(&place.path, self.watch)?;
        let state = self.walk.states()[place.at].clone();
        self.walk.expand(&state, self.watch)?;
        Ok(View::new(&self.walk, place.at, &place.filter))
    }

    /// Draws the steps around the place.
    fn chart(&mut self, place: &WalkRequest) -> Result<Drawn, String> {
        self.walk.follow(&place.path, self.watch)?;
        let length = place.path.len();
        let from = place.at.saturating_sub(DRAWN / 2).min(length.saturating_sub(DRAWN));
        let to = length.min(from + DRAWN);
        let trace = self.walk.steps(from, to);
        let shown = ShownTrace {
            repeats_from: place.repeats_from().filter(|_| to == length),
            ..ShownTrace::steps(&self.walk.system.network, &self.walk.system.builder, &trace)
        };
        Ok(Drawn { svg: chart::embedded(&shown, from + 1), from, to })
    }

    /// The walk as the text of a trace file.
    fn save(&mut self, place: &WalkRequest) -> Result<String, String> {
        self.walk.follow(&place.path, self.watch)?;
        let (trace, system) = (self.walk.steps(0, place.path.len()), &self.walk.system);
        let file = TraceFile::record(&system.network, &system.builder, &self.specification.name, &trace);
        let states = self.walk.states();
        let closes = |from: &usize| states[from - 1] == states[place.path.len()];
        let file = TraceFile { repeats_from: place.repeats_from().filter(closes), ..file };
        let mut text = Vec::new();
        file.write(&mut text).map_err(|e| e.to_string())?;
        String::from_utf8(text).map_err(|e| e.to_string())
    }

    /// Opens a trace that the page sent.
    fn read(&mut self, text: &[u8]) -> Result<Opened, Failure> {
        let text = std::str::from_utf8(text).map_err(|_| Failure::input("this is no text, so no trace"))?;
        let wanted = saved_trace::parse("this file", text)?;
        self.open(wanted)
    }

    fn open(&mut self, mut saved: Saved) -> Result<Opened, Failure> {
        let (length, repeats_from) = (saved.steps.len(), saved.repeats_from);
        let is_cut = length > LONGEST;
        saved.steps.truncate(LONGEST);
        saved.repeats_from = repeats_from.filter(|_| !is_cut);
        let System { network, builder, .. } = &mut self.walk.system;
        let (trace, followed) = saved_trace::follow((network, builder), &saved, self.watch)?;
        let net = &self.walk.system.network;
        let path = walk::moves(net, &trace);
        let fault = trace.steps.get(path.len()).map(|step| net.vectors[step.vector.0 as usize].outcome);
        let repeats_from = saved.repeats_from.filter(|_| followed == Followed::Whole);
        let note = if followed == Followed::Part {
            let label = saved.steps.get(trace.len()).map_or("", Wanted::shown);
            let steps = counted(length, "step");
            Some(format!(
                "after {} of {steps}, `{label}` is not possible: the trace is shown until there",
                trace.len()
            ))
        } else if let Some(Outcome::Fault(fault)) = fault {
            Some(format!("the specification has no meaning after this: {}", net.faults[fault as usize]))
        } else if is_cut {
            Some(format!("the first {} of {} are shown", counted(LONGEST, "step"), counted(length, "step")))
        } else if followed == Followed::Open {
            Some("all steps are possible, but the run does not go round as the trace says".to_owned())
        } else {
            repeats_from
                .map(|from| format!("it repeats from step {from} for ever: forward at its end goes on there"))
        };
        Ok(Opened { path, repeats_from, note })
    }
}
