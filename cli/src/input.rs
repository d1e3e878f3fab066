//! Reads the input of commands: specifications, and files in the Aldebaran format (`.aut`).

use crate::flags::{LimitFlags, TableArguments, TableMode};
use crate::outcome::Failure;
use crate::quantities::{count, counted};
use crate::start::Start;
use crate::terminal::{Style, tell};
use crate::watch::Watch;
use gridlock_lang::data::disagreement::{Disagreements, Example};
use gridlock_lang::diagnostic::{Diagnostic, Span, locate, render};
use gridlock_lang::network::build::Builder;
use gridlock_lang::syntax::{MAX_LENGTH, decode};
use gridlock_lang::system::{Checked, LeftOpen, Options, System};
use gridlock_lts::base::error::Error;
use gridlock_lts::engine::explore::{self, Stop};
use gridlock_lts::model::aut;
use gridlock_lts::model::explicit::Lts;
use gridlock_lts::model::network::{LeafIx, Local, Network, TableSource};
use gridlock_lts::property::Property;
use gridlock_manager::fingerprint::fingerprint;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The name of standard input on the command line.
const STDIN: &str = "-";

/// At least this many states are explored while tables are built, even if the user allows fewer.
const FEW_STATES: usize = 4096;

/// The text of a specification.
pub struct Specification {
    /// The file, as the user named it.
    pub name: String,
    text: String,
}

impl Specification {
    /// Reads a specification from a file, or from standard input if the path is `-`.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let (name, input) = open(path)?;
        Self::read_from(name, input)
    }

    fn read_from(name: String, input: impl Read) -> Result<Self, Failure> {
        let mut bytes = Vec::new();
        // One byte too many is enough to know that it is too long; the parser says so.
        let most = MAX_LENGTH as u64 + 1;
        input.take(most).read_to_end(&mut bytes).map_err(|e| cannot_read(&name, &e))?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Failure::input(format_args!(
                "{name} is empty: expected a specification, which ends in `init` and a process"
            )));
        }
        match decode(&bytes) {
            Ok(text) => Ok(Specification { name, text }),
            Err(problem) => Err(faulty(&name, &String::from_utf8_lossy(&bytes), &[problem])),
        }
    }

    /// Equal for equal texts.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.text)
    }

    /// Reads the text: properties can then be translated, and tables filled. `place` is the name of the specification in the
    /// places that states and faults mention. Tables are not filled ahead far beyond `most` states.
    pub fn check(
        &self,
        place: &str,
        options: &Options,
        most: usize,
        watch: &Watch,
    ) -> Result<Checked, Failure> {
        watch.begin("reading the specification", "");
        // Small tables are built anyway: searches are faster with them.
        let most = most.max(FEW_STATES);
        let options = Options {
            table_limit: options.table_limit.min(most),
            warm_up: options.warm_up.min(most),
            halt: watch.halt(),
            ..options.clone()
        };
        let checked = Checked::read(&self.text, place, options);
        match watch.stopped() {
            Some(_) => Err(Failure::Stopped),
            None => checked.map_err(|problems| {
                match (faulty(&self.name, &self.text, &problems), self.mistaken()) {
                    (Failure::Specification(text), Some(note)) => {
                        Failure::Specification(format!("{}\n  {note}", text.trim_end()))
                    }
                    (failure, _) => failure,
                }
            }),
        }
    }

    /// Reports on standard error which equations disagree.
    pub fn tell(&self, disagreements: &Disagreements) {
        let place = |span: Span| {
            let (line, column) = locate(&self.text, span.start as usize);
            format!("{}:{line}:{column}", self.name)
        };
        let equation = |span: Span| {
            let text = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for (first, second, example) in disagreements.list() {
            let Example { call, first: one, second: two } = example;
            let other = match second {
                Some(second) => format!("{}: '{}' yields {two}", place(second), equation(second)),
                None => format!(
                    "what the operator means anyway is {two}, and counts unless the sort is one of 'cons'"
                ),
            };
            let counts = if second.is_some() { ", which counts" } else { "" };
            tell(format_args!(
                "warning: equations disagree on the arguments {call}\n  {}: '{}' yields {one}{counts}\n  {other}",
                place(first),
                equation(first)
            ));
        }
    }

    /// Reads the text and fills the tables, when no properties are to be checked.
    pub fn load(
        &self,
        place: &str,
        options: &Options,
        most: usize,
        watch: &Watch,
    ) -> Result<System, Failure> {
        self.load_from(None, place, options, most, watch)
    }

    /// The same, from another state than the initial one.
    pub fn load_from(
        &self,
        start: Option<&Start>,
        place: &str,
        options: &Options,
        most: usize,
        watch: &Watch,
    ) -> Result<System, Failure> {
        let mut checked = self.check(place, options, most, watch)?;
        if let Some(start) = start {
            start.enter(&mut checked, watch)?;
        }
        fill(checked, &[], watch)
    }

    /// A hint if, by its name, the file is no specification at all.
    fn mistaken(&self) -> Option<String> {
        let name = &self.name;
        match Path::new(name).extension()?.to_str()? {
            "mcf" => {
                Some(format!("{name} looks like a property: name the specification, and --property {name}"))
            }
            "aut" => {
                Some(format!("{name} looks like a state space, which only `minimise` and `compare` read"))
            }
            _ => None,
        }
    }

    fn explore(
        &self,
        start: Option<&Start>,
        tables: &TableArguments,
        limits: &LimitFlags,
        watch: &Watch,
    ) -> Result<Lts, Failure> {
        let options = tables.options(TableMode::Auto);
        let mut system = self.load_from(start, &self.name, &options, limits.states(), watch)?;
        watch.begin("exploring", "states");
        let mut progress = |p: explore::Progress| {
            watch.count(p.states, p.transitions);
            watch.stopped().is_none()
        };
        let options = explore::Options { max_states: limits.states(), progress: &mut progress };
        let mut source = Stoppable { builder: &mut system.builder, watch };
        let source: Option<&mut dyn TableSource> = if system.closed { None } else { Some(&mut source) };
        explore::explore(&mut system.network, source, options).map_err(|stop| failure(stop, watch))
    }
}

/// Refuses a specification whose tables are not complete.
pub fn require_closed(system: &System, what: &str) -> Result<(), Failure> {
    let Some(why) = system.left_open else { return Ok(()) };
    let remedy = match why {
        LeftOpen::Asked => "leave out --tables on-demand",
        // The run is over then, and says so.
        LeftOpen::Stopped | LeftOpen::Violated => "run it again",
        LeftOpen::States(_) | LeftOpen::Work(_) => {
            "bound the data that grows, or allow more with --table-limit"
        }
        LeftOpen::Vectors(_) => {
            "put an allow around the parallel processes that names fewer actions that may happen at once, or bound \
             the values of their arguments"
        }
        LeftOpen::Steps(_) => "give the equations an end for all values of their sorts",
    };
    Err(Failure::input(format_args!(
        "{what} needs complete tables, and those of this specification are filled on demand: {why}\n  help: \
         {remedy}; `gridlock check` with --search bfs or dfs needs no complete tables"
    )))
}

/// Fills the tables of a specification.
pub fn fill(checked: Checked, properties: &[Property], watch: &Watch) -> Result<System, Failure> {
    filled(watch, |progress| checked.fill(properties, progress))
}

/// The same for a search that is better with complete tables and can do without.
pub fn fill_if_cheap(checked: Checked, properties: &[Property], watch: &Watch) -> Result<System, Failure> {
    filled(watch, |progress| checked.fill_if_cheap(properties, progress))
}

fn filled(
    watch: &Watch,
    fill: impl FnOnce(&mut dyn FnMut(usize) -> bool) -> System,
) -> Result<System, Failure> {
    watch.begin("building tables", "states");
    let system = fill(&mut |states| {
        watch.count(states, 0);
        watch.stopped().is_none()
    });
    if watch.stopped().is_some() { Err(Failure::Stopped) } else { Ok(system) }
}

/// A table source that stops filling once the run is to stop: if filling is slow, the search itself asks too seldom.
pub struct Stoppable<'a> {
    /// The source that fills the tables.
    pub builder: &'a mut Builder,
    /// The watch that it asks.
    pub watch: &'a Watch,
}

impl TableSource for Stoppable<'_> {
    fn expand(&mut self, net: &mut Network, leaf: LeafIx, local: Local) -> Result<(), Error> {
        match self.watch.stopped() {
            Some(_) => Err(Error::Input(self.watch.why_stopped())),
            None => self.builder.expand(net, leaf, local),
        }
    }

    fn describe(&self, leaf: LeafIx, local: Local) -> String {
        self.builder.describe(leaf, local)
    }

    fn content(&self, leaf: LeafIx, local: Local) -> u128 {
        self.builder.content(leaf, local)
    }
}

fn failure(stop: Stop, watch: &Watch) -> Failure {
    match stop {
        _ if watch.stopped().is_some() => Failure::Stopped,
        Stop::Interrupted(_) => Failure::Stopped,
        Stop::Limit(p) => Failure::Limit(format!(
            "there are more than {}, which is the limit; {} were explored completely, with {}",
            counted(p.states, "state"),
            count(p.expanded as u64),
            counted(p.transitions, "transition"),
        )),
        Stop::Fault { message, trace } => fault(&message, &trace),
        Stop::Source(message) => Failure::Input(message),
    }
}

/// A reachable state in which the specification has no meaning.
fn fault(message: &str, trace: &[String]) -> Failure {
    const SHOWN: usize = 100;
    let Style { wrong, strong, off, .. } = Style::of_stderr();
    let mut text = format!("{wrong}error{off}{strong}: {message}{off}\n");
    match trace.len() {
        0 => text += "  this happens in the initial state",
        n => text += &format!("  this happens after {}:", counted(n, "step")),
    }
    let skipped = trace.len().saturating_sub(SHOWN);
    for (i, label) in trace.iter().enumerate() {
        if skipped > 0 && (SHOWN / 2..SHOWN / 2 + skipped).contains(&i) {
            if i == SHOWN / 2 {
                text += &format!("\n         ... {} ...", counted(skipped, "step"));
            }
            continue;
        }
        text += &format!("\n  {:>5}  {label}", i + 1);
    }
    Failure::Specification(text)
}

/// Problems in a text that the user wrote, shown with their places.
pub fn faulty(name: &str, text: &str, problems: &[Diagnostic]) -> Failure {
    Failure::Specification(render(name, text, problems, Style::of_stderr().coloured()))
}

/// Reads a labelled transition system: that of a file in the Aldebaran format, or the state space of a specification.
pub fn read_lts(
    path: &Path,
    tables: &TableArguments,
    limits: &LimitFlags,
    watch: &Watch,
) -> Result<Lts, Failure> {
    let (name, mut input) = open(path)?;
    let aldebaran = match path.extension().and_then(|e| e.to_str()) {
        Some("aut") => true,
        Some("mcrl2") => false,
        _ => input.fill_buf().map_err(|e| cannot_read(&name, &e))?.starts_with(b"des"),
    };
    if aldebaran {
        watch.begin("reading", "");
        let lts = aut::read(input, &name).map_err(Failure::input)?;
        return if watch.stopped().is_some() { Err(Failure::Stopped) } else { Ok(lts) };
    }
    Specification::read_from(name, input)?.explore(None, tables, limits, watch)
}

/// Reads a specification and explores it.
pub fn explore(
    path: &Path,
    start: Option<&Start>,
    tables: &TableArguments,
    limits: &LimitFlags,
    watch: &Watch,
) -> Result<Lts, Failure> {
    Specification::read(path)?.explore(start, tables, limits, watch)
}

/// The name of a text file in messages, and its content, of which there may be at most this many bytes.
pub fn read_text(path: &Path, most: u64) -> Result<(String, String), Failure> {
    let (name, input) = open(path)?;
    let mut bytes = Vec::new();
    input.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| cannot_read(&name, &e))?;
    if bytes.len() as u64 > most {
        return Err(Failure::input(format_args!("{name} is longer than {} MiB", most >> 20)));
    }
    match decode(&bytes) {
        Ok(text) => Ok((name, text)),
        Err(problem) => Err(faulty(&name, &String::from_utf8_lossy(&bytes), &[problem])),
    }
}

/// The name of an input in messages.
pub fn name_of(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// The name of an input in messages, and a reader of its content.
pub fn open(path: &Path) -> Result<(String, Box<dyn BufRead>), Failure> {
    let name = name_of(path);
    if is_stdin(path) {
        return Ok((name, Box::new(BufReader::new(io::stdin()))));
    }
    let file = File::open(path).map_err(|e| cannot_read(&name, &e))?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(Failure::input(format_args!("cannot read {name}: it is a directory, name a file")));
    }
    Ok((name, Box::new(BufReader::with_capacity(1 << 16, file))))
}

fn cannot_read(name: &str, error: &io::Error) -> Failure {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Failure::input(format_args!("cannot read {name}: {reason}"))
}

/// Whether a path stands for standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}
