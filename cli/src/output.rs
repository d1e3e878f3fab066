//! Writes results: to a file that appears whole or not at all, or to standard output.

use crate::outcome::Failure;
use crate::terminal::{Escaping, tell};
use crate::watch::{Phase, Watch};
use clap::{Args, ValueEnum};
use gridlock_lts::base::whole_file::write_whole;
use gridlock_lts::model::explicit::Lts;
use gridlock_lts::model::{aut, dot};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file format for labelled transition systems.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Aldebaran: one line for each transition, read by mCRL2, CADP, LTSmin and others
    Aut,
    /// A picture for Graphviz
    Dot,
}

/// Where a labelled transition system is written to.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    /// The file to write, .aut or .dot; `-`, or nothing at all, is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The format [default: by the name of the file, aut on standard output]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// A destination that can be written to, as far as that is known before.
pub struct Destination {
    /// Standard output if there is none.
    path: Option<PathBuf>,
    format: Format,
}

impl OutputArguments {
    /// Checks the place before any work is done for it.
    pub fn destination(&self) -> Result<Destination, Failure> {
        let path = self.output.clone().filter(|path| path.as_os_str() != "-");
        let format = match (&path, self.format) {
            (_, Some(format)) => format,
            (None, None) => Format::Aut,
            (Some(path), None) => format_of(path)?,
        };
        if let Some(path) = &path {
            check_place(path)?;
        }
        Ok(Destination { path, format })
    }
}

fn format_of(path: &Path) -> Result<Format, Failure> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "aut" => Ok(Format::Aut),
        "dot" | "gv" => Ok(Format::Dot),
        _ => Err(Failure::input(format_args!(
            "{} does not end in .aut or .dot: say --format aut or --format dot",
            path.display()
        ))),
    }
}

/// Whether a path stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Checks, before any work is done, that a file can be written there, as far as that is known before.
pub fn check_place(path: &Path) -> Result<(), Failure> {
    let cannot = |reason: String| Failure::input(format_args!("cannot write {}: {reason}", path.display()));
    if path.is_dir() {
        return Err(cannot("it is a directory, name a file".to_owned()));
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            Err(cannot(format!("there is no directory {}", parent.display())))
        }
        _ => Ok(()),
    }
}

impl Destination {
    /// Writes a labelled transition system.
    pub fn write(&self, lts: &Lts, watch: &Watch) -> Result<(), Failure> {
        watch.rest();
        watch.enter(Phase::Writing);
        let content = |out: &mut dyn Write| match self.format {
            Format::Aut => aut::write(lts, out),
            Format::Dot => dot::write(lts, out),
        };
        let written = match &self.path {
            Some(path) => write_whole(path, |out| content(&mut Stoppable { out, watch })),
            None => content(&mut Stoppable { out: &mut io::stdout().lock(), watch })
                .or_else(enough)
                .map_err(to_stdout),
        };
        watch.enter(Phase::Working);
        written.map_err(|e| match watch.stopped() {
            Some(_) => Failure::Stopped,
            None => Failure::input(e),
        })
    }
}

/// Joins several results: returns the first failure, and prints the others before.
pub fn first_failure(results: impl IntoIterator<Item = Result<(), Failure>>) -> Result<(), Failure> {
    let mut failures = results.into_iter().filter_map(Result::err);
    let Some(first) = failures.next() else { return Ok(()) };
    for failure in failures {
        if let Failure::Input(message) = failure {
            tell(format_args!("error: {message}"));
        }
    }
    Err(first)
}

/// Writes text or JSON to standard output.
pub fn print(watch: &Watch, text: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    watch.rest();
    let mut out = Escaping(BufWriter::new(io::stdout().lock()));
    text(&mut out).and_then(|()| out.flush()).or_else(enough).map_err(|e| Failure::input(to_stdout(e)))
}

fn to_stdout(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))
}

/// A reader that stops reading (`| head`) is no failure.
fn enough(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

/// Fails once the run is interrupted, so that no file appears.
struct Stoppable<'a> {
    out: &'a mut dyn Write,
    watch: &'a Watch,
}

impl Write for Stoppable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.watch.stopped() {
            // Not `Interrupted`, which writers take as an invitation to try again.
            Some(_) => Err(io::Error::other("interrupted")),
            None => self.out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
