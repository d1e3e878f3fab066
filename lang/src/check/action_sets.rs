//! The action sets of `block`, `hide`, `rename`, `allow` and `comm`, with mCRL2's static rules for them.

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::model::{ActName, SortId};
use crate::syntax::tree::Ident;
use gridlock_lts::base::hash::{Map, Set};

impl Checker {
    /// A declared action; an error if there is none of this name.
    fn declared_action(&mut self, operator: &str, name: &Ident) -> Option<ActName> {
        if let Some(&action) = self.actions.get(&name.name) {
            return Some(action);
        }
        let diagnostic = match self.processes.contains_key(&name.name) {
            true => Diagnostic::new(
                name.span,
                format!("'{}' is a process; '{operator}' is about actions", name.name),
            ),
            false => {
                let names = self.actions.keys().map(|n| &**n);
                self.unknown(name.span, "action", &name.name, names)
            }
        };
        self.error(diagnostic);
        None
    }

    pub(super) fn action_set(&mut self, operator: &str, names: &[Ident]) -> Vec<ActName> {
        let mut set: Vec<ActName> =
            names.iter().filter_map(|name| self.declared_action(operator, name)).collect();
        set.sort();
        set.dedup();
        set
    }

    pub(super) fn allow_set(&mut self, multis: &[Vec<Ident>]) -> Vec<Vec<ActName>> {
        let mut set: Vec<Vec<ActName>> = Vec::with_capacity(multis.len());
        let mut seen: Set<Vec<ActName>> = Set::default();
        for multi in multis {
            let mut names: Vec<ActName> =
                multi.iter().filter_map(|name| self.declared_action("allow", name)).collect();
            names.sort();
            if seen.insert(names.clone()) {
                set.push(names);
            }
        }
        set
    }

    /// Whether there are sorts of arguments that all these actions are declared with.
    fn common_sorts(&self, actions: &[ActName]) -> bool {
        let sorts = |action: &ActName| {
            self.signatures[action.ix()].iter().map(|&i| &self.model.actions[i as usize].1)
        };
        let Some((first, rest)) = actions.split_first() else { return true };
        sorts(first).any(|wanted| {
            wanted.contains(&SortId::ERROR)
                || rest
                    .iter()
                    .all(|other| sorts(other).any(|found| found == wanted || found.contains(&SortId::ERROR)))
        })
    }

    pub(super) fn rename_set(&mut self, pairs: &[(Ident, Ident)]) -> Vec<(ActName, ActName)> {
        let mut set: Vec<(ActName, ActName)> = Vec::with_capacity(pairs.len());
        let mut sources: Set<ActName> = Set::default();
        for (source, target) in pairs {
            let from = self.declared_action("rename", source);
            let to = self.declared_action("rename", target);
            let (Some(from), Some(to)) = (from, to) else { continue };
            if !sources.insert(from) {
                let message = format!("action '{}' is renamed twice", source.name);
                self.error(Diagnostic::new(source.span, message));
            } else if !self.common_sorts(&[from, to]) {
                let message = format!(
                    "'{}' cannot be renamed to '{}': they never have arguments of the same sorts",
                    source.name, target.name
                );
                self.error(Diagnostic::new(source.span.to(target.span), message));
            }
            set.push((from, to));
        }
        set
    }

    pub(super) fn comm_set(&mut self, rules: &[(Vec<Ident>, Ident)]) -> Vec<(Vec<ActName>, ActName)> {
        let mut set: Vec<(Vec<ActName>, ActName)> = Vec::with_capacity(rules.len());
        // For each action, the rule on whose left-hand side it stands.
        let mut owner: Map<ActName, usize> = Map::default();
        for (i, (left, result)) in rules.iter().enumerate() {
            let errors = self.errors.len();
            let mut names = Vec::with_capacity(left.len());
            for name in left {
                let Some(action) = self.declared_action("comm", name) else { continue };
                names.push(action);
                if *owner.entry(action).or_insert(i) != i {
                    let message = format!("action '{}' communicates in two different ways", name.name);
                    self.error(
                        Diagnostic::new(name.span, message).help(
                            "the left-hand sides of one 'comm' may not share an action; nest two 'comm'",
                        ),
                    );
                }
            }
            let target = self.declared_action("comm", result);
            if let [single] = &left[..] {
                let message = format!("'{}' alone is no communication", single.name);
                self.error(
                    Diagnostic::new(single.span, message)
                        .help("a communication has at least two actions on the left; use 'rename' for one"),
                );
            }
            let Some(target) = target else { continue };
            let mut all = names.clone();
            all.push(target);
            if self.errors.len() == errors && !self.common_sorts(&all) {
                let span = left.first().map_or(result.span, |first| first.span.to(result.span));
                let message = format!(
                    "these actions and '{}' never have arguments of the same sorts, so they cannot communicate",
                    result.name
                );
                self.error(Diagnostic::new(span, message));
            }
            names.sort();
            set.push((names, target));
        }
        for (i, (_, result)) in rules.iter().enumerate() {
            let Some(action) = self.actions.get(&result.name) else { continue };
            if owner.get(action).is_some_and(|rule| *rule != i) {
                let message = format!(
                    "action '{}' is the result of one communication and takes part in another",
                    result.name
                );
                self.error(Diagnostic::new(result.span, message).help("nest two 'comm' for that"));
            }
        }
        set
    }
}
