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
