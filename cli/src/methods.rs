//! The list of methods on the command line: `check --search` takes its names and flags from the list.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use gridlock_manager::method::{Chosen, Entry, METHODS};
use std::sync::OnceLock;

static LIST: OnceLock<&'static [Entry]> = OnceLock::new();

/// The methods of this program.
pub fn methods() -> &'static [Entry] {
    LIST.get_or_init(|| METHODS)
}

/// Sets the methods of the program, before the list is first read.
pub fn set(methods: &'static [Entry]) {
    // Once somebody has asked, that stands.
    let _ = LIST.set(methods);
}

/// `--search`, and the method that it means together with the other flags. It must stand before [`Flags`] in a command: clap
/// removes the values of arguments that it has read.
#[derive(Debug)]
pub struct SearchFlag(pub Chosen);

const SEARCH: &str = "search";

impl Args for SearchFlag {
    fn augment_args(command: Command) -> Command {
        let names = PossibleValuesParser::new(Entry::values(methods()));
        let first = methods().iter().find_map(|method| method.search).unwrap_or_default();
        let search = Arg::new(SEARCH)
            .long(SEARCH)
            .value_name("ORDER")
            .help("The order in which states are visited")
            .help_heading("Search")
            .default_value(first)
            .value_parser(names);
        command.arg(search)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SearchFlag {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let name = matches.get_one::<String>(SEARCH).map_or("", String::as_str);
        Chosen::parse(methods(), name, matches).map(SearchFlag)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flags of all methods; [`SearchFlag`] has their values.
#[derive(Debug)]
pub struct Flags;

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        Entry::add_flags(methods(), command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Flags)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        Ok(())
    }
}
