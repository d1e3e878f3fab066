//! The syntax of specifications and formulas, from outside.

mod ambiguity;
mod corpus;
mod formulas;
mod fuzz;
mod messages;
mod precedence;
mod random;
mod robustness;
mod round_trip;
mod structure;

use std::fmt::Debug;
use std::num::NonZeroUsize;

/// The message for a text whose parser reached a limit.
const LIMIT_REACHED: &str = "this is nested too deep to be read";

/// Bounds what parsers of this process may do, in calls of rules: most texts take a few thousand, and a grammar that goes
/// back too often needs more than any number.
fn limit_work() {
    pest::set_call_limit(NonZeroUsize::new(20_000_000));
}

/// A tree in Debug form without its places, so that trees can be compared apart from these.
fn placeless(tree: &impl Debug) -> String {
    let mut out = String::new();
    let text = format!("{tree:?}");
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("Span {") {
        out.push_str(before);
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out
}
