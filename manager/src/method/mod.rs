//! Methods of searching: one trait, one list, and what all methods share.
//!
//! A [`Method`] is one way to search, with the user's flags. The command line is made from [`METHODS`]: their names, their
//! flags and the help of these. The road of the program is the same for all of them: load the specification, choose the
//! method, [`conduct`](Method::conduct) it, report the [`Outcome`], exit. To add a search, write its folder and one line in
//! [`METHODS`].
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

/// A way to search, with the user's flags.
pub trait Method: fmt::Debug + Send + Sync {
    /// Whether the ranks of an MPI job can do it together.
    fn runs_on_ranks(&self) -> bool {
        false
    }

    /// Its name in the message that it needs complete tables; `None`: it also searches while they are filled.
    fn needs_complete_tables(&self) -> Option<&'static str> {
        None
    }

    /// Whether tables are completed if that is possible, rather than left open for a violation that is near.
    fn prefers_complete_tables(&self) -> bool {
        self.needs_complete_tables().is_some()
    }

    /// Refuses flags that do not fit together, before any work is done.
    fn check(&self, _common: &Common) -> Result<()> {
        Ok(())
    }

    /// The number of threads of this process, from the number that the user asked for.
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

    /// Whether it goes on after a violation and may find several, each reported as soon as it is known.
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

    /// Works for rank 0 until that ends the run, and returns its exit code.
    fn serve(&self, _run: &mut Run) -> Result<u8> {
        Err(Error::internal("this search does not run on ranks"))
    }
}

/// A [`Method`] that stands in the list: its fields are its flags.
pub trait Listed: Method + clap::Args + 'static {
    /// Its name in identities, and also as a value of `check --search`, unless [`Listed::SEARCH`] is another one.
    const NAME: &'static str;
    /// Its name as a value of `check --search`; `None`: it has a command of its own.
    const SEARCH: Option<&'static str> = Some(Self::NAME);
    /// The flags by which the user chooses it.
    const CHOSEN_BY: &'static str;
    /// One line for the help.
    const ABOUT: &'static str;

    /// Whether it can find a violation of a property, and, if it is a method that concludes `holds` at all, conclude it for
    /// the property.
    fn decides(property: &Property) -> bool;

    /// Whether the message to users whose search cannot decide a property names this method: not if it may refuse the
    /// property, too.
    fn is_advised(property: &Property) -> bool {
        Self::decides(property)
    }

    /// Of several methods with one name: whether this one is meant. The first that returns true is chosen.
    fn is_meant(_matches: &clap::ArgMatches, _given: &[String]) -> bool {
        true
    }

    /// The rows of the page in a checkpoint of this method.
    fn status(_page: &StatusPage) -> Vec<Row> {
        Vec::new()
    }
}
