#![doc = include_str!("../README.md")]

mod arguments;
mod by_parts;
mod chart;
mod commands;
mod flags;
mod input;
mod log;
mod methods;
mod outcome;
mod output;
mod process;
mod progress;
mod road;
mod saved_trace;
mod shown_trace;
mod start;
mod stuck;
mod supervise;
mod terminal;
mod watch;

use gridlock_manager::method::{Entry, METHODS, quantities};
use std::process::ExitCode;

/// The program: reads the command line of this process, and does what it says.
pub fn run() -> ExitCode {
    run_with(METHODS)
}

/// The same with other ways to search than the usual ones.
pub fn run_with(methods: &'static [Entry]) -> ExitCode {
    methods::set(methods);
    match arguments::parse() {
        Ok(arguments) => supervise::run(arguments),
        // The same wrong arguments are told once, by the process that speaks for all.
        Err(e) if process::is_silent() => {
            process::speak_after_others(&e.render().to_string());
            ExitCode::from(e.exit_code() as u8)
        }
        Err(e) if e.use_stderr() && !terminal::Style::of_stderr().coloured() => {
            terminal::tell(e.render().to_string().trim_end());
            ExitCode::from(e.exit_code() as u8)
        }
        Err(e) => e.exit(),
    }
}
