//! Ways to search: one trait, one list, and what every way shares.
//!
//! A [`Method`] is what the user wrote about one way to search, and what is done about it. The command line is made from
//! [`METHODS`]: its names, its flags and their help. The road of the program is the same for all of them: load the
//! specification, choose the method, [`conduct`](Method::conduct) it, report the [`Outcome`], exit. To add a search means
//! to write its folder and one line in [`METHODS`].
//!
//! Invariant: nothing outside the folder of a method asks which method it is.

pub mod checkpoint;
mod discovered;
mod entry;
pub mod exhaustive;
mod figures;
mod formulas;
pub mod hunt;
pub mod local;
mod options;
mod outcome;
pub mod page;
pub mod parts;
mod peers;
pub mod quantities;
mod reduction;
mod run;
pub mod slices;
pub mod subsystem;
mod then;
pub mod traces;
mod trials;

pub use entry::{Chosen, Entry, Refusal};
pub use figures::{Figures, Json, Nothing, Row, Spent, StatusPage, Traffic, kept_in};
pub use options::{Checkpoint, Patience};
pub use outcome::{Bound, Conclusion, Outcome};
pub use peers::{Peers, Team, Together};
pub use run::{Common, Finding, Host, Origin, Run, Shown, Tables};

use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::property::Property;
use std::fmt;
use std::path::{Path, PathBuf};

/// Every way to search, one line each.
pub static METHODS: &[Entry] = &[
    Entry::of::<exhaustive::BreadthFirst>(),
    Entry::of::<exhaustive::DepthFirst>(),
    Entry::of::<slices::Slices>(),
    Entry::of::<traces::Traces>(),
    Entry::of::<parts::Parts>(),
    Entry::of::<local::Local>(),
    Entry::of::<hunt::Hunting>(),
];

/// A version of the JSON formats; it changes if a field changes its meaning.
pub const JSON_VERSION: u32 = 1;

/// A way to search, with what the user wrote about it.
pub trait Method: fmt::Debug + Send + Sync {
    /// Whether the ranks of an MPI job can do it together.
    fn runs_on_ranks(&self) -> bool {
        false
    }

    /// What it is called in the message that it needs complete tables; `None`: it also searches while they are filled.
    fn needs_complete_tables(&self) -> Option<&'static str> {
        None
    }

    /// Whether tables are completed if that is possible, rather than left open for a violation that is near.
    fn prefers_complete_tables(&self) -> bool {
        self.needs_complete_tables().is_some()
    }

    /// Says no to what does not fit together, before any work is done.
    fn check(&self, _common: &Common) -> Result<()> {
        Ok(())
    }

    /// The number of threads of this process, given what the user wants.
    fn threads(&self, wanted: Option<u16>) -> usize {
        options::threads(wanted, self.runs_on_ranks())
    }

    /// Where answers are kept, if they are.
    fn checkpoint(&self) -> Option<&Checkpoint> {
        None
    }

    /// Where a page about the run is wanted.
    fn report(&self) -> Option<&Path> {
        None
    }

    /// The option that names a file for a picture of the run, and the file, if one is wanted.
    fn picture(&self) -> Option<(&'static str, &Path)> {
        None
    }

    /// Whether it goes on after a violation and may find several, each told as soon as it is known.
    fn finds_several(&self) -> bool {
        false
    }

    /// For a method that may find several violations: where each is saved.
    fn findings(&self) -> Option<PathBuf> {
        None
    }

    /// The option that names patterns of steps, and the patterns; [`Run::patterns`] has what they mean.
    fn patterns(&self) -> (&'static str, &[String]) {
        ("", &[])
    }

    /// What a limit that ended the run means for the answer.
    fn bound(&self, limit: Limit) -> Bound {
        limit.into()
    }

    /// The figures of a run that ended before the search began.
    fn unbegun(&self) -> Box<dyn Figures> {
        Box::new(Nothing)
    }

    /// Searches, on the only process or on rank 0.
    fn conduct(&self, run: &mut Run) -> Result<Outcome>;

    /// Works for rank 0 until that ends, and returns its exit code.
    fn serve(&self, _run: &mut Run) -> Result<u8> {
        Err(Error::internal("this search does not run on ranks"))
    }
}

/// A [`Method`] that stands in the list: its fields are its flags.
pub trait Listed: Method + clap::Args + 'static {
    /// What it is called in identities; `check --search` calls it so, too, unless [`Listed::SEARCH`] says otherwise.
    const NAME: &'static str;
    /// What `check --search` calls it; `None`: a command of its own.
    const SEARCH: Option<&'static str> = Some(Self::NAME);
    /// The flags by which the user chooses it.
    const CHOSEN_BY: &'static str;
    /// One line for the help.
    const ABOUT: &'static str;

    /// Whether it can find a violation of a property, and, if it ever says `holds`, say that of it.
    fn decides(property: &Property) -> bool;

    /// Whether users whose search cannot decide a property are told to use this one: not if it may refuse it, too.
    fn is_advised(property: &Property) -> bool {
        Self::decides(property)
    }

    /// Of several methods with one name: whether this is meant. The first that says so is.
    fn is_meant(_matches: &clap::ArgMatches, _given: &[String]) -> bool {
        true
    }

    /// What the page in a checkpoint of this method says, for people.
    fn status(_page: &StatusPage) -> Vec<Row> {
        Vec::new()
    }
}
