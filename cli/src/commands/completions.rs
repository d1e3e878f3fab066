//! `gridlock completions`: the script that a shell needs to complete commands and options.

use super::arguments::command;
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::watch::Watch;
use clap::Args;
use clap_complete::{Shell, generate};

const HELP: &str = "\
Examples:
  gridlock completions bash > ~/.local/share/bash-completion/completions/gridlock
  gridlock completions zsh > ~/.zfunc/_gridlock        a directory that is in $fpath
  gridlock completions fish > ~/.config/fish/completions/gridlock.fish";

/// Write what a shell needs to complete commands and options with the Tab key
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub struct Arguments {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// Runs the command.
pub fn run(arguments: &Arguments, watch: &Watch) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut command(), "gridlock", &mut script);
    print(watch, |out| out.write_all(&script))?;
    Ok(Exit::Yes)
}
