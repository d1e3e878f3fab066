//! What a step does, in actions with values, and patterns for it.
//!
//! A pattern is matched as a whole: `a` does not match the multi-action `a|b`. Hidden actions are left out, unless the
//! property's [`Sight`] uncovers them.
//!
//! Invariant: of two patterns that [`LabelPattern::excludes`] tells apart no step matches both.

use super::sight::Sight;
use crate::data::eval::Evaluator;
use crate::data::ops;
use crate::data::value::{Base, Function, Set, Value};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{ActName, SortId};
use crate::network::build::LabelActions;
use crate::process::action::{Act, MultiAction, Names};
use gridlock_lts::model::network::{Label, Network, Outcome, VectorIx};
use std::cmp::Ordering;
use std::sync::Mutex;

/// The name of the step in which the whole system ends, which no specification declares.
pub const TERMINATE: ActName = ActName(u32::MAX);

/// How that step is written.
pub const TERMINATE_TEXT: &str = "Terminate";

/// What one argument must be.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Arg {
    /// Anything.
    Any,
    /// This value.
    Equal(Value),
    /// This value of a sort in which equal values may look different.
    Same(Value, SortId),
}

/// One action of a pattern.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActPattern {
    /// Its name.
    pub name: ActName,
    /// Its arguments; `None` if any number of any values will do.
    pub args: Option<Vec<Arg>>,
}

/// A pattern for what a step does.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LabelPattern {
    /// The actions, sorted.
    acts: Vec<ActPattern>,
}

impl LabelPattern {
    /// A pattern of these actions.
    pub fn new(mut acts: Vec<ActPattern>) -> Self {
        acts.sort();
        LabelPattern { acts }
    }

    /// The names, sorted.
    pub fn names(&self) -> Names {
        self.acts.iter().map(|a| a.name).collect()
    }

    /// Whether it is clear that no step matches both patterns.
    pub fn excludes(&self, other: &LabelPattern) -> bool {
        if !self.acts.iter().map(|a| a.name).eq(other.acts.iter().map(|a| a.name)) {
            return true;
        }
        // Where a name occurs twice, it is open which action a part of the pattern is for.
        let unique = self.acts.windows(2).all(|w| w[0].name != w[1].name);
        unique && self.acts.iter().zip(&other.acts).any(|(x, y)| arguments_exclude(x, y))
    }

    /// Whether the pattern matches a multi-action: its parts and the actions can be paired.
    fn matches(&self, view: &[Act], comparer: &Comparer) -> bool {
        if view.len() != self.acts.len() {
            return false;
        }
        let fits: Vec<Vec<usize>> = self
            .acts
            .iter()
            .map(|p| (0..view.len()).filter(|&i| comparer.fits(p, &view[i])).collect())
            .collect();
        let mut partner: Vec<Option<usize>> = vec![None; view.len()];
        (0..fits.len()).all(|part| augment(part, &fits, &mut vec![false; view.len()], &mut partner))
    }
}

fn arguments_exclude(x: &ActPattern, y: &ActPattern) -> bool {
    let (Some(x), Some(y)) = (&x.args, &y.args) else { return false };
    x.len() != y.len()
        || x.iter().zip(y).any(|(a, b)| matches!((a, b), (Arg::Equal(v), Arg::Equal(w)) if v != w))
}

/// Finds an action for a part of a pattern, moving other parts to other actions if need be.
fn augment(
    part: usize,
    fits: &[Vec<usize>],
    visited: &mut Vec<bool>,
    partner: &mut Vec<Option<usize>>,
) -> bool {
    for &act in &fits[part] {
        if std::mem::replace(&mut visited[act], true) {
            continue;
        }
        if partner[act].is_none_or(|other| augment(other, fits, visited, partner)) {
            partner[act] = Some(part);
            return true;
        }
    }
    false
}

/// Compares arguments. The evaluator brings values of sorts with functions or infinite sets into a comparable form.
struct Comparer {
    evaluator: Mutex<Evaluator>,
}

impl Comparer {
    fn fits(&self, pattern: &ActPattern, act: &Act) -> bool {
        pattern.name == act.name
            && pattern.args.as_ref().is_none_or(|args| {
                args.len() == act.args.len() && args.iter().zip(&act.args).all(|(p, v)| self.is(p, v))
            })
    }

    fn is(&self, pattern: &Arg, value: &Value) -> bool {
        match pattern {
            Arg::Any => true,
            Arg::Equal(wanted) => wanted == value,
            Arg::Same(wanted, sort) => {
                let Ok(evaluator) = self.evaluator.lock() else { return wanted == value };
                evaluator.begin();
                match evaluator.comparable(*sort, value.clone()) {
                    Ok(value) => ops::equal(wanted, &value) == Some(true),
                    Err(_) => wanted == value,
                }
            }
        }
    }
}

/// Tells what the steps of a network do.
pub struct Steps {
    actions: LabelActions,
    sight: Sight,
    comparer: Comparer,
}

impl Steps {
    /// The steps of the network whose labels these are.
    pub fn new(actions: LabelActions, sight: Sight, evaluator: Evaluator) -> Self {
        Steps { actions, sight, comparer: Comparer { evaluator: Mutex::new(evaluator) } }
    }

    /// What the steps of a vector do as far as it is seen, sorted; `None` if taking it is a fault.
    pub fn of(&self, net: &Network, vector: VectorIx) -> Option<MultiAction> {
        let vector = &net.vectors[vector.0 as usize];
        let Outcome::Step(label) = vector.outcome else { return None };
        let visible = self.label(net, label);
        let hidden = match vector.unhidden == label {
            true => Vec::new(),
            false => difference(&self.label(net, vector.unhidden), &visible),
        };
        Some(self.sight.view(visible, hidden))
    }

    fn label(&self, net: &Network, label: Label) -> MultiAction {
        let actions = self.actions.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        match actions.get(&label) {
            Some(acts) => acts.clone(),
            None if net.labels[label.0 as usize] == TERMINATE_TEXT => {
                vec![Act { name: TERMINATE, args: Vec::new() }]
            }
            None => Vec::new(),
        }
    }

    /// Whether a step matches a pattern.
    pub fn matches(&self, pattern: &LabelPattern, doing: &[Act]) -> bool {
        pattern.matches(doing, &self.comparer)
    }
}

/// A sorted multiset without the members of another one.
fn difference(all: &[Act], without: &[Act]) -> MultiAction {
    let mut rest = Vec::new();
    let mut without = without.iter().peekable();
    for act in all {
        while without.next_if(|w| (*w).cmp(act) == Ordering::Less).is_some() {}
        if without.next_if_eq(&act).is_none() {
            rest.push(act.clone());
        }
    }
    rest
}

/// Whether a value contains a function that is not a table, so that equal ones need not look equal.
pub fn has_function(value: &Value) -> bool {
    stacker::maybe_grow(64 << 10, 1 << 20, || match value {
        Value::Bool(_) | Value::Number(_) => false,
        Value::Ctor(_, args) => args.iter().any(has_function),
        Value::List(items) => items.iter().any(has_function),
        Value::Set(set) => match &**set {
            Set::Finite(items) | Set::CoFinite(items) => items.iter().any(has_function),
            Set::Where(_) | Set::Combined(..) => true,
        },
        Value::Bag(bag) => {
            !matches!(bag.base, Base::Zero | Base::One) || bag.exceptions.iter().any(|(v, _)| has_function(v))
        }
        Value::Function(function) => match &**function {
            Function::Table(_, values) => values.iter().any(has_function),
            _ => true,
        },
        Value::Stuck(stuck) => stuck.args.iter().any(has_function),
    })
}

/// What to say about data that stands for such a value as an argument.
pub fn incomparable(span: Span) -> Diagnostic {
    let message = "arguments cannot be compared with this value: it contains a function over many values";
    Diagnostic::new(span, message).help("write '_' for an argument that may be anything")
}
