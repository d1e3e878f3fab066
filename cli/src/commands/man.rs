//! `gridlock man`: the help as pages for `man`.

use crate::arguments::command;
use crate::outcome::{Answer, Failure};
use crate::output::print;
use crate::watch::{Phase, Watch};
use clap::Args;
use clap_mangen::Man;
use gridlock_lts::whole_file::write_whole;
use std::io;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  gridlock man | man -l -                     read the main page
  gridlock man ~/.local/share/man/man1        then `man gridlock` and `man gridlock-check` work";

/// Write the manual pages
///
/// One page for gridlock, and one for each of its commands, gridlock-check.1 and so on.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The directory to write them to, which is made if there is none [default: only the main page, on standard output]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch) -> Result<Answer, Failure> {
    let mut command = command();
    command.build();
    let Some(directory) = &arguments.directory else {
        let page = rendered(command).map_err(Failure::input)?;
        print(watch, |out| out.write_all(&page))?;
        return Ok(Answer::Yes);
    };
    std::fs::create_dir_all(directory).map_err(|e| {
        Failure::input(format_args!("cannot make the directory {}: {e}", directory.display()))
    })?;
    let commands: Vec<_> = command.get_subcommands().filter(|c| c.get_name() != "help").cloned().collect();
    watch.enter(Phase::Writing);
    for command in commands.into_iter().chain([command]) {
        // A command of gridlock is known as gridlock-check, so that `man` finds it.
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let page = rendered(command).map_err(Failure::input)?;
        write_whole(&directory.join(format!("{name}.1")), |out| out.write_all(&page))
            .map_err(Failure::input)?;
    }
    watch.enter(Phase::Working);
    Ok(Answer::Yes)
}

fn rendered(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}
