#![doc = include_str!("../README.md")]

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

/// The program: reads the command line of this process, and runs the command.
pub fn run() -> ExitCode {
    run_with(METHODS)
}

/// The same with another list of methods.
pub fn run_with(methods: &'static [Entry]) -> ExitCode {
    methods::set(methods);
    match commands::arguments::parse() {
        Ok(arguments) => supervise::run(arguments),
        Err(e) => {
            let code = e.exit_code() as u8;
            ExitCode::from(process::refuse(code, &e.render().to_string(), || {
                if e.use_stderr() && !terminal::Style::of_stderr().coloured() {
                    terminal::tell(e.render().to_string().trim_end());
                } else {
                    // There is nobody else to be told if that fails.
                    let _ = e.print();
                }
            }))
        }
    }
}
