//! The command line: the commands, and the options that all of them take.

use super::{Command, GROUPS};
use crate::outcome::EXIT_CODES;
use crate::terminal::colours_wanted;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, ColorChoice, CommandFactory, FromArgMatches, Parser};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The heading of options that every command takes. They stand last in its help, since they are needed least.
const GENERAL: &str = "General options";

/// A model checker for specifications in mCRL2's language.
///
/// A specification describes processes that run side by side. Gridlock works out everything they can do together: the
/// labelled transition system (LTS), whose states are what the processes can be in and whose transitions carry the
/// actions.
#[derive(Parser, Debug)]
#[command(name = "gridlock", version = version(), after_help = EXIT_CODES, after_long_help = after_help())]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Arguments {
    /// Print only errors on standard error: no progress, no summary
    #[arg(short, long, global = true, help_heading = GENERAL)]
    pub quiet: bool,

    /// Write a log to this directory, one file for each process; the variable RUST_LOG sets its level [default: info]
    #[arg(long, global = true, value_name = "DIR", help_heading = GENERAL)]
    pub log_dir: Option<PathBuf>,

    /// Print help; -h prints a summary of it
    #[arg(short, long, global = true, action = ArgAction::Help, help_heading = GENERAL)]
    help: Option<bool>,

    /// Print the version and what was built in
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = GENERAL)]
    version: Option<bool>,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Reads the command line. The error is shown to the user; it may be the help that was asked for.
pub fn parse() -> Result<Arguments, clap::Error> {
    let mut command = command();
    if !colours_wanted() {
        // Left to itself, clap takes a terminal that says it is dumb for one with colours where the variable CI is set.
        command = command.color(ColorChoice::Never);
    }
    let matches = command.try_get_matches_from_mut(std::env::args_os()).map_err(with_remedy)?;
    Arguments::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
}

/// A hint for a property that was named without the option for it.
fn with_remedy(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg)
        && given.ends_with(".mcf")
    {
        let tip = format!("a property is named by an option: --property {given}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The definition of the command line, with the commands in groups.
pub fn command() -> clap::Command {
    let mut command = Arguments::command();
    // Only then is there a command `help`.
    command.build();
    let heading = command.get_styles().get_header();
    let name = command.get_styles().get_literal();
    let about = |n: &str| command.find_subcommand(n).and_then(|c| c.get_about()).map(ToString::to_string);
    let width = command.get_subcommands().map(|c| c.get_name().len()).max().unwrap_or(0);
    let mut listed = String::new();
    for (group, commands) in groups(&command) {
        listed += &format!("{heading}{group}:{heading:#}\n");
        for n in commands {
            let gap = width - n.len();
            listed += &format!("  {name}{n}{name:#}{:gap$}  {}\n", "", about(&n).unwrap_or_default());
        }
        listed.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}{heading}Options:{heading:#}\n{{options}}{{after-help}}"
    );
    Arguments::command().help_template(template)
}

/// [`GROUPS`], and the commands that they do not list.
fn groups(command: &clap::Command) -> Vec<(&'static str, Vec<String>)> {
    let named = |n: &str| GROUPS.iter().any(|(_, commands)| commands.contains(&n));
    let mut groups: Vec<(&str, Vec<String>)> = GROUPS
        .iter()
        .map(|(group, commands)| (*group, commands.iter().map(ToString::to_string).collect()))
        .collect();
    let rest: Vec<String> =
        command.get_subcommands().map(|c| c.get_name().to_owned()).filter(|n| !named(n)).collect();
    if !rest.is_empty() {
        groups.push(("More", rest));
    }
    groups
}

fn after_help() -> String {
    format!(
        "Examples:\n  \
         gridlock check abp.mcrl2               whether it can get stuck\n  \
         gridlock info abp.mcrl2                what the specification is made of\n  \
         gridlock lts abp.mcrl2 -o abp.aut      everything it can do, as a file\n  \
         gridlock explore abp.mcrl2             walk through it in the browser\n  \
         gridlock compare abp.mcrl2 spec.mcrl2 --equivalence branching\n  \
         gridlock check big.mcrl2 --search isv --subsystem auto\n  \
         gridlock hunt huge.mcrl2 --budget 10m  look for bugs where there is too much to verify\n\n\
         {EXIT_CODES}\n\n\
         Results go to standard output, everything else to standard error. Colours are used on a terminal only, and \
         not if NO_COLOR is set."
    )
}

/// Version, build profile and what was built in.
fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        format!(
            "{} ({profile} build, {arch} {os}, {})",
            env!("CARGO_PKG_VERSION"),
            if cfg!(feature = "mpi") { "with MPI" } else { "without MPI" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_command_is_in_a_group() {
        let mut built = command();
        built.build();
        assert_eq!(
            groups(&built).len(),
            GROUPS.len(),
            "name new commands in GROUPS: {:?}",
            groups(&built).last()
        );
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(built.find_subcommand(name).is_some(), "{name} is no command");
        }
        let help = command().render_help().to_string();
        for (group, names) in GROUPS {
            assert!(help.contains(&format!("{group}:\n  {}", names[0])), "{help}");
        }
    }

    /// The words of a shell command, up to the first that only a shell understands or an explanation.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted, mut blanks) = (Vec::new(), None::<String>, false, 0);
        for c in line.chars().chain([' ']) {
            match c {
                '\'' => {
                    quoted = !quoted;
                    word.get_or_insert_default();
                }
                ' ' if !quoted => {
                    blanks += 1;
                    if word.as_deref().is_some_and(|w| matches!(w, "|" | "||" | "&&" | ">" | "<<<"))
                        || blanks == 2
                    {
                        return words;
                    }
                    words.extend(word.take());
                    continue;
                }
                c => word.get_or_insert_default().push(c),
            }
            blanks = 0;
        }
        words
    }

    #[test]
    fn every_command_has_examples_that_can_be_read() {
        let commands = command();
        let (mut read, mut all) = (0, vec![&commands]);
        all.extend(commands.get_subcommands());
        for one in all {
            let name = one.get_name();
            let help = one.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            let (_, examples) =
                help.split_once("Examples:\n").unwrap_or_else(|| panic!("{name} has no examples"));
            let lines = examples.lines().take_while(|line| line.is_empty() || line.starts_with("  "));
            let before = read;
            for line in lines {
                // One line may use several commands.
                for (start, _) in line.match_indices("gridlock ") {
                    if !line[..start].ends_with([' ', '\n']) || line[..start].ends_with("watch ") {
                        continue;
                    }
                    let words = words(&line[start..]);
                    let result = command().try_get_matches_from(&words);
                    assert!(result.is_ok(), "{name}: `{line}`, {words:?}: {}", result.unwrap_err());
                    read += 1;
                }
            }
            assert!(read > before, "{name} has no example of its own");
        }
        assert!(read > 30, "{read}");
    }

    /// The commands in a page: in lines that are code, or between backquotes.
    fn commands_in(page: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for line in page.lines() {
            if line.starts_with("    ") {
                found.extend(line.find("gridlock ").map(|start| &line[start..]));
            } else {
                found.extend(line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("gridlock ")));
            }
        }
        found
    }

    #[test]
    fn the_commands_of_the_pages_can_be_read() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
        let mut directories = vec![root.join("docs"), root.join("models"), root.join("bench")];
        let (mut commands, mut read) = (command(), 0);
        commands.build();
        while let Some(directory) = directories.pop() {
            for path in
                std::fs::read_dir(&directory).expect("a directory").map(|e| e.expect("an entry").path())
            {
                if path.is_dir() {
                    directories.push(path);
                } else if path.extension().is_some_and(|e| e == "md") {
                    let page = std::fs::read_to_string(&path).expect("text");
                    for line in commands_in(&page).into_iter().filter(|line| !line.contains(['…', '['])) {
                        let words = words(line);
                        // Some are no commands but the beginning of a file, or only the name of a command.
                        if words.len() < 3 || commands.find_subcommand(&words[1]).is_none() {
                            continue;
                        }
                        // Where only an option is spoken of, what else has to be there is left out.
                        let wrong = command().try_get_matches_from(&words).err();
                        let wrong = wrong.filter(|e| e.kind() != ErrorKind::MissingRequiredArgument);
                        assert!(
                            wrong.is_none(),
                            "{}: `{line}`: {}",
                            path.display(),
                            wrong.expect("an error")
                        );
                        read += 1;
                    }
                }
            }
        }
        assert!(read > 50, "{read}");
    }

    #[test]
    fn the_version_says_what_was_built() {
        let shown = version();
        assert!(
            shown.starts_with(env!("CARGO_PKG_VERSION")) && shown.contains(std::env::consts::ARCH),
            "{shown}"
        );
        assert!(shown.contains(if cfg!(feature = "mpi") { "with MPI" } else { "without MPI" }), "{shown}");
    }
}
