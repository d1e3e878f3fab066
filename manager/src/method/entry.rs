//! The list of methods, and how the command line chooses one of them.
//!
//! Invariant: a flag is either taken by the chosen method or refused with the methods that take it. No flag is ignored.

use super::{Listed, Method, Row, StatusPage};
use clap::builder::PossibleValue;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::property::Property;
use std::fmt;

type Parsed = std::result::Result<Box<dyn Method>, clap::Error>;

/// A method in the list.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name in identities.
    pub name: &'static str,
    /// Its name as a value of `check --search`.
    pub search: Option<&'static str>,
    /// The flags by which the user chooses it.
    pub chosen_by: &'static str,
    /// One line for the help.
    pub about: &'static str,
    /// Whether it can decide a property.
    pub decides: fn(&Property) -> bool,
    /// Whether it is advised for a property that another one cannot decide.
    pub is_advised: fn(&Property) -> bool,
    /// The rows of the page in its checkpoint.
    pub status: fn(&StatusPage) -> Vec<Row>,
    augment: fn(Command) -> Command,
    parse: fn(&ArgMatches) -> Parsed,
    is_meant: fn(&ArgMatches, &[String]) -> bool,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

fn parse<M: Listed>(matches: &ArgMatches) -> Parsed {
    Ok(Box::new(M::from_arg_matches(matches)?))
}

impl Entry {
    /// The entry of a method.
    pub const fn of<M: Listed>() -> Self {
        Entry {
            name: M::NAME,
            search: M::SEARCH,
            chosen_by: M::CHOSEN_BY,
            about: M::ABOUT,
            decides: M::decides,
            is_advised: M::is_advised,
            status: M::status,
            augment: M::augment_args,
            parse: parse::<M>,
            is_meant: M::is_meant,
        }
    }

    /// Its flags, as `--flag`.
    pub fn flags(&self) -> Vec<String> {
        let command = (self.augment)(Command::new(self.name));
        command.get_arguments().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}")).collect()
    }

    /// What distinguishes it from other methods with the same `--search` name.
    fn variant(&self) -> &'static str {
        self.chosen_by
            .rsplit_once(" --")
            .map_or(self.chosen_by, |(rest, _)| &self.chosen_by[rest.len() + 1..])
    }

    /// Adds the flags of all methods that `--search` names. Some methods share flags.
    pub fn add_flags(methods: &[Entry], mut command: Command) -> Command {
        for method in methods.iter().filter(|method| method.search.is_some()) {
            for arg in (method.augment)(Command::new(method.name)).get_arguments() {
                if command.get_arguments().all(|known| known.get_id() != arg.get_id()) {
                    command = command.arg(arg.clone());
                }
            }
        }
        command
    }

    /// The values of `--search`, each once, with the help of the first method of that name.
    pub fn values(methods: &[Entry]) -> Vec<PossibleValue> {
        let mut values: Vec<PossibleValue> = Vec::new();
        for method in methods {
            let Some(name) = method.search else { continue };
            if values.iter().all(|value| value.get_name() != name) {
                values.push(PossibleValue::new(name).help(method.about));
            }
        }
        values
    }

    /// The method of a name, as identities have it.
    pub fn named(methods: &'static [Entry], name: &str) -> Option<&'static Entry> {
        methods.iter().find(|method| method.name == name)
    }
}

/// The method that is meant, with its flags.
#[derive(Debug)]
pub struct Chosen {
    /// Its entry.
    pub entry: &'static Entry,
    /// The method with the user's flags.
    pub method: Box<dyn Method>,
    /// All flags on the command line.
    pub given: Vec<String>,
}

impl Chosen {
    /// Finds the method that `--search` and the other flags mean.
    pub fn parse(
        methods: &'static [Entry],
        search: &str,
        matches: &ArgMatches,
    ) -> std::result::Result<Self, clap::Error> {
        let on_line = |id: &clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let given: Vec<String> = matches
            .ids()
            .filter(|id| on_line(id))
            .map(|id| format!("--{}", id.as_str().replace('_', "-")))
            .collect();
        let same = methods.iter().filter(|method| method.search == Some(search));
        let meant = same.clone().find(|method| (method.is_meant)(matches, &given));
        let Some(entry) = meant.or(same.clone().next_back()) else {
            return Err(clap::Error::raw(clap::error::ErrorKind::InvalidValue, "there is no such search\n"));
        };
        Ok(Chosen { entry, method: (entry.parse)(matches)?, given })
    }

    /// Refuses flags of other methods.
    pub fn check_flags(&self, methods: &[Entry]) -> Result<()> {
        let own = self.entry.flags();
        for flag in self.given.iter().filter(|flag| !own.contains(flag)) {
            let takes = |method: &&Entry| method.search.is_some() && method.flags().contains(flag);
            let others: Vec<&Entry> = methods.iter().filter(takes).collect();
            let related = others.iter().find(|other| other.search == self.entry.search);
            return Err(match (related, &others[..]) {
                // Every search has it.
                (None, []) => continue,
                (Some(other), _) => Error::input(format_args!(
                    "{flag} belongs to {}, not to {}",
                    other.variant(),
                    self.entry.variant()
                )),
                (None, others) => {
                    let mut names: Vec<&str> = others.iter().filter_map(|other| other.search).collect();
                    names.dedup();
                    Error::input(format_args!("{flag} belongs to --search {}", names.join(" or ")))
                }
            });
        }
        Ok(())
    }
}

/// A search that cannot decide a property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The name of the property.
    pub property: String,
    /// The method that was chosen, by its flags.
    pub method: &'static str,
    /// The methods that can decide it, by their flags.
    pub able: Vec<&'static str>,
}

impl Refusal {
    /// Asks a method about properties and their names.
    pub fn of<'p>(
        methods: &[Entry],
        entry: &Entry,
        properties: impl IntoIterator<Item = (&'p str, &'p Property)>,
    ) -> Option<Refusal> {
        let (name, property) = properties.into_iter().find(|(_, property)| !(entry.decides)(property))?;
        Some(Refusal::by(methods, entry.chosen_by, name, property))
    }
}

impl Refusal {
    /// A method, known by its flags, refuses a property.
    pub fn by(methods: &[Entry], method: &'static str, name: &str, property: &Property) -> Refusal {
        let able = methods.iter().filter(|other| (other.is_advised)(property)).map(|other| other.chosen_by);
        Refusal { property: name.to_owned(), method, able: able.collect() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { property, method, able } = self;
        write!(f, "{method} cannot decide {property}")?;
        // What is no search of `gridlock check` does not have its flags.
        let elsewhere = if method.starts_with("--") { "" } else { "`gridlock check` with " };
        match &able[..] {
            [] => f.write_str(", nor can any other search"),
            able => write!(f, ": use {elsewhere}{}", able.join(" or ")),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Error::input(refusal)
    }
}
