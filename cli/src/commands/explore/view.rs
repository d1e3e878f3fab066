//! The view of a state that the page gets, as JSON: the leaves with their local states, and the possible actions.
//!
//! Invariant: the answer has a bounded size in every state. Long texts are cut, actions and leaves are counted
//! beyond the first ones.

use super::walk::{Move, Walk, arrival, enabled};
use crate::shown_trace::{ShownStep, ShownTrace, brief};
use crate::stuck::{self, ShownStuck};
use gridlock_lts::model::network::{LeafIx, Local, Network, Outcome, Step, TableSource, Vector};
use gridlock_lts::model::trace::Trace;
use serde::Serialize;

/// Actions shown at once; the user narrows them down by a filter.
const ACTIONS: usize = 200;
/// Leaves shown at once.
const LEAVES: usize = 400;
/// Texts that are longer are cut.
const TEXT: usize = 2000;
/// Numbers beyond are not exact in a browser.
const LARGEST: u64 = 1 << 53;

/// A state and what is possible in it.
#[derive(Serialize)]
pub struct View {
    leaves: Vec<LeafView>,
    /// How many leaves are not shown.
    more_leaves: usize,
    actions: Vec<Action>,
    /// How many actions are possible in all, and how many of them pass the filter.
    possible: u64,
    passing: u64,
    /// If none is possible: why.
    stuck: Vec<ShownStuck>,
}

/// A leaf and its local state.
#[derive(Serialize)]
struct LeafView {
    name: String,
    /// The local state as `sim` shows it.
    state: String,
    /// The same in parts, if it has these parts: the control point and the parameters.
    head: Option<String>,
    values: Vec<Parameter>,
    /// The text of the specification at the control point.
    source: Option<String>,
    /// Whether the last step changed it.
    changed: bool,
}

#[derive(Serialize)]
struct Parameter {
    name: String,
    value: String,
    /// Whether the last step changed it.
    changed: bool,
}

/// A possible action.
#[derive(Serialize)]
struct Action {
    #[serde(rename = "move")]
    step: Move,
    #[serde(flatten)]
    shown: ShownStep,
    /// Whether it is no step but a place where the specification has no meaning.
    fault: bool,
}

impl View {
    /// Describes the state after the first `at` steps of a walk, whose local states must be expanded.
    pub fn new(walk: &Walk, at: usize, filter: &str) -> Self {
        let (state, before) = (&walk.states()[at], at.checked_sub(1).map(|k| &walk.states()[k]));
        let net = &walk.system.network;
        let shown = net.leaves.len().min(LEAVES);
        let leaf = |i: usize| leaf(walk, LeafIx(i as u32), state[i], before.map(|b| b[i]));
        let (actions, possible, passing) = actions(walk, state, filter);
        View {
            leaves: (0..shown).map(leaf).collect(),
            more_leaves: net.leaves.len() - shown,
            actions,
            possible: possible.min(LARGEST),
            passing: passing.min(LARGEST),
            stuck: stuck(walk, state),
        }
    }
}

fn leaf(walk: &Walk, ix: LeafIx, local: Local, before: Option<Local>) -> LeafView {
    let describe = |local| walk.system.builder.describe(ix, local);
    let state = describe(local);
    let old = before.filter(|before| *before != local).map(describe);
    let old_values = old.as_deref().and_then(split).map(|(_, values)| values);
    let is_new = |name: &str, value: &str| match &old_values {
        Some(values) => !values.contains(&(name, value)),
        None => old.is_some(),
    };
    let parts = split(&state);
    let (head, values) = parts.map_or((None, Vec::new()), |(head, values)| (Some(head), values));
    let source = walk.system.builder.excerpt(ix, local);
    let parameter = |(name, value): (&str, &str)| Parameter {
        changed: is_new(name, value),
        name: cut(name),
        value: cut(value),
    };
    LeafView {
        name: cut(&walk.system.network.leaves[ix.0 as usize].name),
        head: head.map(cut),
        values: values.into_iter().map(parameter).collect(),
        source: source.as_deref().map(cut),
        changed: old.is_some(),
        state: cut(&state),
    }
}

/// Why no step is possible, for as many processes as are shown.
fn stuck(walk: &Walk, state: &[Local]) -> Vec<ShownStuck> {
    let net = &walk.system.network;
    let mut all = stuck::explain(net, &walk.system.builder, state, &brief(net));
    all.truncate(LEAVES);
    for process in &mut all {
        process.name = cut(&process.name);
        for offer in &mut process.offers {
            offer.action = cut(&offer.action);
            offer.why = cut(&offer.why);
        }
    }
    all
}

/// The first actions that pass the filter, how many there are, and how many pass it.
fn actions(walk: &Walk, state: &[Local], filter: &str) -> (Vec<Action>, u64, u64) {
    let (net, filter) = (&walk.system.network, filter.trim().to_lowercase());
    let (mut chosen, mut possible, mut passing) = (Vec::new(), 0u64, 0u64);
    enabled(net, state, |v, number| {
        possible = possible.saturating_add(number);
        if !filter.is_empty() && !passes(net, &net.vectors[v.0 as usize], &filter) {
            return;
        }
        passing = passing.saturating_add(number);
        let room = (ACTIONS - chosen.len()) as u64;
        chosen.extend((0..number.min(room)).map(|k| Move(v.0, k)));
    });
    (chosen.into_iter().filter_map(|step| action(walk, state, step)).collect(), possible, passing)
}

fn passes(net: &Network, vector: &Vector, filter: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(filter);
    let label = match vector.outcome {
        Outcome::Step(label) => &net.labels[label.0 as usize],
        Outcome::Fault(fault) => &net.faults[fault as usize],
    };
    has(label) || has(&net.labels[vector.unhidden.0 as usize])
}

fn action(walk: &Walk, state: &[Local], step: Move) -> Option<Action> {
    let net = &walk.system.network;
    let target = arrival(net, state, step)?;
    let vector = gridlock_lts::model::network::VectorIx(step.0);
    let trace = Trace { steps: vec![Step { vector, target }] };
    let mut shown = ShownTrace::steps(net, &walk.system.builder, &trace).steps.pop()?;
    shown.label = cut(&shown.label);
    shown.unhidden = shown.unhidden.as_deref().map(cut);
    for part in &mut shown.leaves {
        (part.name, part.action, part.state) = (cut(&part.name), cut(&part.action), cut(&part.state));
    }
    let fault = matches!(net.vectors[step.0 as usize].outcome, Outcome::Fault(_));
    Some(Action { step, shown, fault })
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A local state in parts: `P(n = 1, f = [])` is `P` with n and f. None if it is made of several terms.
fn split(text: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let open = text.find('(').filter(|open| *open > 0)?;
    let inside = text[open + 1..].strip_suffix(')')?;
    let (mut depth, mut start, mut pieces) = (0usize, 0, Vec::new());
    for (i, c) in inside.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            // The first bracket was closed before the end.
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            // A comma may also belong to a value, such as the variables of a function.
            ',' if depth == 0 && named(&inside[i + 1..]).is_some() => {
                pieces.push(&inside[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    pieces.push(&inside[start..]);
    let values: Option<Vec<_>> = pieces.into_iter().map(named).collect();
    Some((&text[..open], values.filter(|_| depth == 0)?))
}

/// A name and what is equal to it.
fn named(piece: &str) -> Option<(&str, &str)> {
    let (name, value) = piece.trim_start().split_once(" = ")?;
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\'' | '@'));
    is_name.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_states_are_taken_apart() {
        assert_eq!(split("P(n = 1, f = [])"), Some(("P", vec![("n", "1"), ("f", "[]")])));
        assert_eq!(split("S line 3:4(d = g(1, 2))"), Some(("S line 3:4", vec![("d", "g(1, 2)")])));
        let function = "lambda x: Nat, y: Nat. x";
        assert_eq!(
            split(&format!("P(f = {function}, n = 2)")),
            Some(("P", vec![("f", function), ("n", "2")]))
        );
        for whole in
            ["P", "", "(P(n = 1) || Q(n = 2))", "P(n = 1) . Q(n = 2)", "P(1)", "P(n = )) (", "P(n = (1)"]
        {
            assert_eq!(split(whole), None, "{whole}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "ä".repeat(3 * TEXT);
        assert_eq!(cut(&long).chars().count(), TEXT + 1);
        assert_eq!(cut("ä"), "ä");
    }
}
