//! The `gridlock` binary: flags, output and exit codes; no algorithms.
//!
//! The road of a command: [`arguments`] (what the user wrote) → [`supervise`] (a thread for the work; the main thread
//! watches signals, limits and progress) → one module of [`commands`] → [`outcome`] (the exit code and the last message).
//! Invariants: results and nothing else go to standard output; a file appears whole or not at all; every way to end has
//! one of the exit codes that `--help` lists.

mod arguments;
mod chart;
mod commands;
mod company;
mod input;
mod log;
mod outcome;
mod output;
mod progress;
mod quantities;
mod saved_trace;
mod shown_trace;
mod stuck;
mod supervise;
mod swarm;
mod terminal;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    match arguments::parse() {
        Ok(arguments) => supervise::run(arguments),
        // The same wrong arguments are told once, by the process that speaks for all.
        Err(e) if company::is_silent() => {
            company::speak_after_others(&e.render().to_string());
            ExitCode::from(e.exit_code() as u8)
        }
        Err(e) if e.use_stderr() && !terminal::Style::of_stderr().coloured() => {
            terminal::tell(e.render().to_string().trim_end());
            ExitCode::from(e.exit_code() as u8)
        }
        Err(e) => e.exit(),
    }
}
