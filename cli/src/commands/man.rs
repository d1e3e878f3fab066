//! `gridlock man`: the help as pages for `man`.

use super::arguments::command;
use crate::outcome::{Exit, Failure};
use crate::output::print;
use crate::watch::{Phase, Watch};
use clap::Args;
use clap_mangen::Man;
use gridlock_lts::base::whole_file::write_whole;
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
pub fn run(arguments: &Arguments, watch: &Watch) -> Result<Exit, Failure> {
    // There is no page for the command `help`, which would be listed.
    let mut command = command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = &arguments.directory else {
        let page = rendered(command).map_err(Failure::input)?;
        print(watch, |out| out.write_all(&page))?;
        return Ok(Exit::Yes);
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
    Ok(Exit::Yes)
}

fn rendered(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    match String::from_utf8(page) {
        Ok(text) => Ok(with_sections(&text).into_bytes()),
        Err(e) => Err(io::Error::other(e)),
    }
}

/// The end of a help text, divided into sections: a line that ends in a colon becomes the title of the indented lines below
/// it, which are not filled.
fn with_sections(page: &str) -> String {
    const LAST: &str = ".SH EXTRA\n";
    let Some((before, help)) = page.split_once(LAST) else { return page.to_owned() };
    let mut text = before.to_owned();
    let lines: Vec<&str> = help.lines().collect();
    let is_block = |k: usize| lines.get(k).is_some_and(|line| line.starts_with("  "));
    for (k, line) in lines.iter().enumerate() {
        let title = line.strip_suffix(':').filter(|_| is_block(k + 1) && !is_block(k));
        match title {
            Some(title) => text += &format!(".SH {}\n", title.to_uppercase()),
            None if is_block(k) => {
                let first = k == 0 || !is_block(k - 1);
                let last = !is_block(k + 1);
                text += &format!(
                    "{}{line}\n{}",
                    if first { ".nf\n" } else { "" },
                    if last { ".fi\n" } else { "" }
                );
            }
            None if k == 0 => text += &format!(".SH NOTES\n{line}\n"),
            None if line.is_empty() => text += ".PP\n",
            None => text += &format!("{line}\n"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_its_examples_as_they_are() {
        let mut command = command();
        command.build();
        let names: Vec<_> = command.get_subcommands().filter(|c| c.get_name() != "help").cloned().collect();
        for command in names.into_iter().chain([command]) {
            let name = command.get_name().to_owned();
            let page = String::from_utf8(rendered(command).expect("memory")).expect("text");
            assert!(page.contains("\n.SH EXAMPLES\n.nf\n  "), "{name}: {page}");
            assert_eq!(page.matches("\n.nf\n").count(), page.matches("\n.fi\n").count(), "{name}");
            assert!(!page.contains(".SH EXTRA") && page.starts_with(".ie"), "{name}");
        }
    }
}
