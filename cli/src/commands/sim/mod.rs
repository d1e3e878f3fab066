//! `gridlock sim`: stepping through a specification, by a person or a pipe.

mod order;
mod session;
mod show;

use crate::flags::{Resources, TableArguments, TableMode};
use crate::input::{Specification, is_stdin};
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::quantities::counted;
use crate::start::FromFlag;
use crate::terminal::{Escaping, Style, tell};
use crate::watch::{Phase, Watch};
use clap::Args;
use gridlock_lts::base::whole_file::write_whole;
use order::{HELP, Order};
use session::Session;
use show::Show;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// The longest line that is read; a longer one is no order.
const LONGEST_LINE: u64 = 1 << 16;

/// Step through a specification by hand
///
/// Shows the local state of every process and the actions that are possible; you choose one by its number, and so on.
/// Orders are read from standard input, one a line; with a pipe there is no prompt.
#[derive(Args, Debug)]
#[command(after_long_help = after_help())]
pub struct Arguments {
    /// The specification, a file in mCRL2's language
    #[arg(value_name = "SPEC")]
    specification: PathBuf,

    /// Where random steps begin: equal seeds give equal steps [default: another one each time; it is shown]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    #[command(flatten)]
    from: FromFlag,

    #[command(flatten)]
    pub resources: Resources,

    #[command(flatten)]
    tables: TableArguments,
}

fn after_help() -> String {
    format!(
        "{HELP}\n\n\
         Examples:\n  \
         gridlock sim abp.mcrl2\n  \
         gridlock sim abp.mcrl2 --seed 7 <<< 'r 20'\n  \
         printf '1\\n2\\nu\\ns first.trace\\n' | gridlock sim abp.mcrl2\n\n\
         A saved trace is a text file: the line `gridlock trace 1`, then for each step a line `step` with the label \
         and below it one line for each process that takes part (name, what it contributes, state afterwards), then \
         `end` with the number of steps. Fields are separated by tabs; in them \\t, \\n, \\r and \\\\ stand for a \
         tab, a line break, a carriage return and a backslash."
    )
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch) -> Result<Exit, Failure> {
    let path = &arguments.specification;
    if is_stdin(path) {
        return Err(Failure::input(
            "orders are read from standard input, so the specification must be a file",
        ));
    }
    let specification = Specification::read(path)?;
    // Local states are described by places in the file; its directory would only take room.
    let short = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let options = arguments.tables.options(TableMode::OnDemand);
    let start = arguments.from.read()?;
    let system = specification.load_from(start.as_ref(), &short, &options, options.table_limit, watch)?;
    watch.rest();
    let seed = arguments.seed.unwrap_or_else(any_seed);
    let session = Session::new(system, seed).map_err(Failure::Input)?;
    let mut simulation = Simulation {
        session,
        watch,
        specification: specification.name,
        show: Show { style: Style::of_stdout() },
    };
    match simulation.orders(&mut Escaping(io::stdout().lock())) {
        Ok(()) => Ok(Exit::Yes),
        Err(End::Output(e)) => print(watch, |_| Err(e)).map(|()| Exit::Yes),
        Err(End::Failure(failure)) => Err(failure),
    }
}

/// A seed that differs from run to run, short enough to be typed again.
fn any_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0u8) % 1_000_000
}

/// Why a simulation ends before its orders do.
enum End {
    Output(io::Error),
    Failure(Failure),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        End::Output(error)
    }
}

struct Simulation<'a> {
    session: Session,
    watch: &'a Watch,
    specification: String,
    show: Show,
}

impl Simulation<'_> {
    /// Follows orders until they end.
    fn orders(&mut self, out: &mut dyn Write) -> Result<(), End> {
        writeln!(out, "{}; seed {}; ? shows the orders", self.specification, self.session.seed())?;
        self.show.here(&self.session, false, out)?;
        while let Some(line) = self.next_line(out)? {
            match Order::parse(&line) {
                Ok(None) => {}
                Ok(Some(Order::Quit)) => break,
                Ok(Some(order)) => self.follow(order, out)?,
                Err(problem) => writeln!(out, "{problem}")?,
            }
        }
        out.flush()?;
        Ok(())
    }

    fn follow(&mut self, order: Order, out: &mut dyn Write) -> Result<(), End> {
        match order {
            Order::Step(number) => match number.checked_sub(1).filter(|n| *n < self.session.possible().len())
            {
                Some(choice) => {
                    if self.step(choice, out)? {
                        self.show.here(&self.session, false, out)?;
                    }
                }
                None => writeln!(out, "there is no action {number}: {} possible", self.how_many())?,
            },
            Order::Random(steps) => {
                for _ in 0..steps {
                    let Some(choice) = self.session.random_choice() else {
                        writeln!(out, "no action is possible")?;
                        break;
                    };
                    self.step(choice, out)?;
                }
                self.show.here(&self.session, false, out)?;
            }
            Order::Undo(steps) => {
                let undone = self.session.undo(steps).map_err(|e| End::Failure(Failure::Input(e)))?;
                match undone {
                    0 => writeln!(out, "there is nothing to undo")?,
                    n => writeln!(out, "{} undone", counted(n, "step"))?,
                }
                self.show.here(&self.session, false, out)?;
            }
            Order::List => self.show.here(&self.session, true, out)?,
            Order::History => self.show.history(&self.session, out)?,
            Order::Save(file) => match self.save(Path::new(&file)) {
                Ok(()) => writeln!(out, "{} saved in {file}", counted(self.session.trace().len(), "step"))?,
                Err(e) => writeln!(out, "{e}")?,
            },
            Order::Help => writeln!(out, "{HELP}")?,
            Order::Quit => {}
        }
        Ok(())
    }

    /// Takes a step; `false` if it is a fault.
    fn step(&mut self, choice: usize, out: &mut dyn Write) -> Result<bool, End> {
        if self.watch.stopped().is_some() {
            return Err(End::Failure(Failure::Stopped));
        }
        if let Some(fault) = self.session.fault(choice) {
            writeln!(out, "the specification has no meaning here: {fault}")?;
            return Ok(false);
        }
        self.session.take(choice).map_err(|e| End::Failure(Failure::Input(e)))?;
        self.show.last_step(&self.session, out)?;
        Ok(true)
    }

    fn how_many(&self) -> String {
        match self.session.possible().len() {
            1 => "1 is".to_owned(),
            n => format!("{n} are"),
        }
    }

    fn save(&self, path: &Path) -> io::Result<()> {
        let file = self.session.record(&self.specification);
        self.watch.enter(Phase::Writing);
        let written = write_whole(path, |out| file.write(out));
        self.watch.enter(Phase::Working);
        written
    }

    /// The next line from standard input, `None` at its end.
    fn next_line(&mut self, out: &mut dyn Write) -> Result<Option<String>, End> {
        out.flush()?;
        let mut stdin = io::stdin().lock();
        if stdin.is_terminal() {
            let mut prompt = io::stderr();
            let _ = write!(prompt, "> ").and_then(|()| prompt.flush());
        }
        let mut line = Vec::new();
        self.watch.enter(Phase::Waiting);
        let read = stdin.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        self.watch.enter(Phase::Working);
        match read {
            Ok(0) if stdin.is_terminal() => {
                // The prompt stands on this line.
                tell("");
                Ok(None)
            }
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(String::from_utf8_lossy(&line).into_owned())),
            Err(e) => {
                tell(format_args!("standard input ends: {e}"));
                Ok(None)
            }
        }
    }
}
