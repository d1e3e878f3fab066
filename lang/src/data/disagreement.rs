//! Equations that disagree: both fit the same arguments, with different results, so that their order decides.
//!
//! mCRL2 assumes that this never happens. For a user who wants to know, every application of equations is tried with all
//! that fit ([`Disagreements`] given to the evaluator), which takes more time. Invariant: what is found depends on what was
//! evaluated, not on the order in which it was.

use crate::diagnostic::Span;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The most pairs of equations that are kept.
const MOST: usize = 1000;

/// Two equations that disagree.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Example {
    /// The application, the shortest that was met and of these the least.
    pub call: String,
    /// What the equation yields that decides.
    pub first: String,
    /// What the other yields.
    pub second: String,
}

/// The pairs of equations that were found to disagree: the place of the one that decides, and of the other one, which is
/// none where the built-in meaning of an operator takes its place.
#[derive(Debug, Default)]
pub struct Disagreements(Mutex<BTreeMap<(Span, Option<Span>), Example>>);

impl Disagreements {
    /// Notes a pair with an example.
    pub fn add(&self, first: Span, second: Option<Span>, example: Example) {
        let mut found = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let room = found.len() < MOST;
        match found.get_mut(&(first, second)) {
            Some(known) if (example.call.len(), &example) < (known.call.len(), known) => *known = example,
            Some(_) => {}
            None if room => _ = found.insert((first, second), example),
            None => {}
        }
    }

    /// All of them, in the order of the text.
    pub fn list(&self) -> Vec<(Span, Option<Span>, Example)> {
        let found = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        found.iter().map(|((first, second), example)| (*first, *second, example.clone())).collect()
    }
}
