//! How far `forall`, `exists`, `mu` and `nu` reach where mCRL2's versions differ.
//!
//! In `[true*]forall i: Nat. val(i < 2) => [a(i)]f` versions before 202507 let `forall` reach to the end, and later ones
//! end it before `=>`. In the later reading `i` would be undeclared, and such a version refuses the file, so only the
//! earlier reading can be meant. Where what follows would make sense both ways, brackets are asked for.
//!
//! Invariant: a reading is taken only if no version reads the formula in another way.

use super::resolve::Meanings;
use crate::diagnostic::{Diagnostic, Span};
use crate::syntax::formula::Unclear;

/// The operators of a formula of which it is unclear how far they reach.
#[derive(Default)]
pub struct Reach {
    open: Vec<Open>,
}

struct Open {
    unclear: Unclear,
    /// Where the operator declares names.
    declared: Vec<Span>,
    /// Whether one of these names stands for something else outside.
    elsewhere: bool,
}

impl Reach {
    /// What the parser found.
    pub fn new(unclear: &[Unclear]) -> Self {
        let open =
            |unclear: &Unclear| Open { unclear: unclear.clone(), declared: Vec::new(), elsewhere: false };
        Reach { open: unclear.iter().map(open).collect() }
    }

    /// Whether it is unclear how far the operator reaches that begins here.
    pub fn asks(&self, prefix: u32) -> bool {
        self.open.iter().any(|open| open.unclear.prefix == prefix)
    }

    /// Whether a name that the operator declares stands for something else outside.
    pub fn declares(&mut self, prefix: u32, elsewhere: bool) {
        for open in self.open.iter_mut().filter(|open| open.unclear.prefix == prefix) {
            open.elsewhere |= elsewhere;
        }
    }

    /// Where the operator declares names.
    pub fn declared(&mut self, prefix: u32, places: impl Iterator<Item = Span> + Clone) {
        for open in self.open.iter_mut().filter(|open| open.unclear.prefix == prefix) {
            open.declared.extend(places.clone());
        }
    }

    /// What has to be asked, once it is known what all names stand for.
    pub fn problems(self, meanings: &Meanings) -> impl Iterator<Item = Diagnostic> {
        let asked = self
            .open
            .into_iter()
            .filter(|open| open.elsewhere || !meanings.uses_in(open.unclear.rest, &open.declared));
        asked.map(|open| open.unclear.problem)
    }
}
