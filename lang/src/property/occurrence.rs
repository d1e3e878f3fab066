//! Where the names of actions can occur: in visible labels, among what is hidden, or out of reach.
//!
//! Read off the rules of a system, so the answer depends on the specification alone, not on what a search has seen. It
//! over-approximates: a name that counts as visible may still never be performed.

use crate::data::value::Value;
use crate::model::{ActName, Model, Proc, ProcId, ProcKind};
use crate::network::build::Builder;
use crate::process::action::{Act, MultiAction};
use gridlock_lts::base::hash::Set;

/// How the names of actions can occur.
#[derive(Debug, Default)]
pub struct Occurrence {
    visible: Set<ActName>,
    hidden: Set<ActName>,
    buried: Set<ActName>,
}

impl Occurrence {
    /// The names of a system.
    pub fn of(builder: &Builder) -> Self {
        let mut found = Occurrence { buried: buried(builder.model()), ..Occurrence::default() };
        for rule in builder.rules() {
            // Arguments that are equal where the rule says so, and different elsewhere, let exactly the rule's
            // communications happen.
            let mut number = 0;
            let mut parts: Vec<(usize, MultiAction)> = Vec::new();
            for (leaf, names) in &rule.parts {
                let mut fresh = || {
                    number += 1;
                    vec![Value::int(number)]
                };
                parts.push((*leaf, names.iter().map(|&name| Act { name, args: fresh() }).collect()));
            }
            for group in &rule.groups {
                let Some(&(part, position)) = group.first() else { continue };
                let args = parts[part].1[position].args.clone();
                for &(part, position) in group {
                    parts[part].1[position].args.clone_from(&args);
                }
            }
            parts.iter_mut().for_each(|(_, acts)| acts.sort());
            let parts: Vec<(usize, &MultiAction)> = parts.iter().map(|(leaf, acts)| (*leaf, acts)).collect();
            if let Some((visible, hidden)) = builder.context().compose(&parts) {
                found.visible.extend(visible.iter().map(|a| a.name));
                found.hidden.extend(hidden.iter().map(|a| a.name));
            }
        }
        found
    }

    /// Whether the name can only occur hidden.
    pub fn is_hidden(&self, name: ActName) -> bool {
        (self.hidden.contains(&name) || self.buried.contains(&name)) && !self.visible.contains(&name)
    }

    /// Whether no step has the name, visible or hidden.
    pub fn is_absent(&self, name: ActName) -> bool {
        !self.visible.contains(&name) && !self.hidden.contains(&name) && !self.buried.contains(&name)
    }

    /// Whether the name is hidden inside a sequential process, where nothing records what was hidden, and cannot be
    /// visible: not even a [`super::Sight`] uncovers it.
    pub fn is_out_of_reach(&self, name: ActName) -> bool {
        self.buried.contains(&name) && !self.visible.contains(&name)
    }
}

/// The names that some `hide` below a sequence, choice, sum or merge hides. Such a `hide` is part of a leaf.
fn buried(model: &Model) -> Set<ActName> {
    let mut found = Set::default();
    let mut seen: Set<(ProcId, bool)> = Set::default();
    let mut work: Vec<(&Proc, bool)> = model.init.iter().map(|init| (init, false)).collect();
    while let Some((proc, in_leaf)) = work.pop() {
        match &proc.kind {
            ProcKind::Multi(_) | ProcKind::Delta => {}
            ProcKind::Call(id, _) => {
                if seen.insert((*id, in_leaf)) {
                    work.push((&model.processes[id.ix()].body, in_leaf));
                }
            }
            ProcKind::Choice(parts) | ProcKind::Seq(parts) => work.extend(parts.iter().map(|p| (p, true))),
            ProcKind::Sum(_, p) => work.push((p, true)),
            ProcKind::LeftMerge(p, q) | ProcKind::Sync(p, q) => work.extend([(&**p, true), (&**q, true)]),
            ProcKind::Parallel(parts) => work.extend(parts.iter().map(|p| (p, in_leaf))),
            ProcKind::Condition(_, p, q) => {
                work.push((p, in_leaf));
                work.extend(q.iter().map(|q| (&**q, in_leaf)));
            }
            ProcKind::Hide(names, p) => {
                if in_leaf {
                    found.extend(names);
                }
                work.push((p, in_leaf));
            }
            ProcKind::Block(_, p) | ProcKind::Rename(_, p) | ProcKind::Allow(_, p) | ProcKind::Comm(_, p) => {
                work.push((p, in_leaf))
            }
        }
    }
    found
}
