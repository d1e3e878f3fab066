//! Multi-actions with values, and the operators on them.
//!
//! Communication is a rewriting of multisets: since no action stands on two left-hand sides and all partners carry the
//! same arguments, the result does not depend on the order of rewriting.

use crate::data::print::write_value;
use crate::data::value::Value;
use crate::model::{ActName, Model};

/// An action with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Act {
    /// Its name.
    pub name: ActName,
    /// Its arguments.
    pub args: Vec<Value>,
}

/// Actions that happen at once, sorted. Empty is `tau`.
pub type MultiAction = Vec<Act>;

/// The names of a multi-action, sorted: what operators look at.
pub type Names = Vec<ActName>;

/// The names of a multi-action.
pub fn names(acts: &[Act]) -> Names {
    let mut names: Names = acts.iter().map(|a| a.name).collect();
    names.sort();
    names
}

/// An operator on the actions of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `block`.
    Block(Vec<ActName>),
    /// `hide`.
    Hide(Vec<ActName>),
    /// `rename`.
    Rename(Vec<(ActName, ActName)>),
    /// `allow`; each entry sorted.
    Allow(Vec<Names>),
    /// `comm`; each left-hand side sorted.
    Comm(Vec<(Names, ActName)>),
}

impl Operator {
    /// Whether applying the operator twice is the same as once.
    pub fn is_idempotent(&self) -> bool {
        match self {
            Operator::Block(_) | Operator::Hide(_) | Operator::Allow(_) => true,
            // No name that comes out is changed again.
            Operator::Rename(pairs) => {
                pairs.iter().all(|(_, to)| pairs.iter().all(|(from, next)| from != to || next == to))
            }
            // Everything that can communicate has, and what comes out cannot.
            Operator::Comm(rules) => {
                rules.iter().all(|(_, to)| rules.iter().all(|(left, _)| !left.contains(to)))
            }
        }
    }

    /// Applies the operator to a multi-action; `false` if it forbids it. Hidden actions move to `hidden`.
    pub fn apply(&self, acts: &mut MultiAction, hidden: &mut MultiAction) -> bool {
        match self {
            Operator::Block(blocked) => !acts.iter().any(|a| blocked.contains(&a.name)),
            Operator::Hide(names) => {
                acts.retain(|a| {
                    let hide = names.contains(&a.name);
                    if hide {
                        hidden.push(a.clone());
                    }
                    !hide
                });
                true
            }
            Operator::Rename(pairs) => {
                for a in acts.iter_mut() {
                    if let Some((_, to)) = pairs.iter().find(|(from, _)| *from == a.name) {
                        a.name = *to;
                    }
                }
                acts.sort();
                true
            }
            Operator::Allow(allowed) => acts.is_empty() || allowed.contains(&names(acts)),
            Operator::Comm(rules) => {
                // What a communication yields does not communicate again under the same operator.
                let mut results = Vec::new();
                for (left, to) in rules {
                    communicate(acts, left, *to, &mut results);
                }
                if !results.is_empty() {
                    acts.append(&mut results);
                    acts.sort();
                }
                true
            }
        }
    }
}

/// Takes every group of actions with the names `left` and equal arguments out and adds one action `to` for it.
fn communicate(acts: &mut MultiAction, left: &[ActName], to: ActName, results: &mut MultiAction) {
    let mut done = Vec::new();
    'next: while let Some(first) = acts.iter().find(|a| a.name == left[0] && !done.contains(&a.args)).cloned()
    {
        let mut taken: Vec<usize> = Vec::with_capacity(left.len());
        for name in left {
            let partner = acts
                .iter()
                .enumerate()
                .position(|(i, a)| a.name == *name && a.args == first.args && !taken.contains(&i));
            match partner {
                Some(i) => taken.push(i),
                None => {
                    done.push(first.args);
                    continue 'next;
                }
            }
        }
        taken.sort_unstable();
        for i in taken.into_iter().rev() {
            acts.remove(i);
        }
        results.push(Act { name: to, args: first.args });
    }
}

/// A multi-action as mCRL2 prints it: `tau`, `a`, `a(1, true)|b`. Actions are ordered by name, then by arguments.
pub fn label_text(model: &Model, acts: &[Act]) -> String {
    if acts.is_empty() {
        return "tau".to_owned();
    }
    let mut parts: Vec<(&str, String)> = acts
        .iter()
        .map(|a| {
            let mut args = String::new();
            for (i, v) in a.args.iter().enumerate() {
                args.push_str(if i == 0 { "(" } else { ", " });
                write_value(model, v, &mut args);
            }
            if !a.args.is_empty() {
                args.push(')');
            }
            (&*model.action_names[a.name.ix()], args)
        })
        .collect();
    parts.sort();
    parts.into_iter().map(|(name, args)| format!("{name}{args}")).collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(name: u32, arg: i64) -> Act {
        Act { name: ActName(name), args: vec![Value::int(arg)] }
    }

    fn after(op: &Operator, mut acts: MultiAction) -> Option<MultiAction> {
        acts.sort();
        op.apply(&mut acts, &mut Vec::new()).then_some(acts)
    }

    #[test]
    fn communication_needs_equal_arguments_and_takes_all_it_can() {
        let (a, b, c) = (ActName(0), ActName(1), ActName(2));
        let comm = Operator::Comm(vec![(vec![a, b], c)]);
        assert_eq!(after(&comm, vec![act(0, 1), act(1, 1)]), Some(vec![act(2, 1)]));
        assert_eq!(after(&comm, vec![act(0, 1), act(1, 2)]), Some(vec![act(0, 1), act(1, 2)]));
        assert_eq!(after(&comm, vec![act(0, 1), act(0, 2), act(1, 2)]), Some(vec![act(0, 1), act(2, 2)]));
        assert_eq!(
            after(&comm, vec![act(0, 1), act(0, 2), act(1, 2), act(1, 1)]),
            Some(vec![act(2, 1), act(2, 2)])
        );
    }

    #[test]
    fn an_action_may_communicate_with_itself_and_with_two_others() {
        let (s, t) = (ActName(0), ActName(1));
        let pair = Operator::Comm(vec![(vec![s, s], t)]);
        assert_eq!(after(&pair, vec![act(0, 3), act(0, 3), act(0, 3)]), Some(vec![act(0, 3), act(1, 3)]));
        let three = Operator::Comm(vec![(vec![ActName(0), ActName(1), ActName(2)], ActName(3))]);
        assert_eq!(after(&three, vec![act(0, 1), act(1, 1), act(2, 1)]), Some(vec![act(3, 1)]));
    }

    #[test]
    fn allow_looks_at_the_whole_multiset_and_always_lets_tau_pass() {
        let allow = Operator::Allow(vec![vec![ActName(0), ActName(0)]]);
        assert_eq!(after(&allow, vec![act(0, 1)]), None);
        assert!(after(&allow, vec![act(0, 1), act(0, 2)]).is_some());
        assert!(after(&allow, vec![]).is_some());
    }
}
