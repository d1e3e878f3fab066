//! Processes without operators around them: calls, `delta`, `tau`, parentheses, and `block` and its kin.

use super::grammar::{Reader, Rule, parts, parts_of};
use super::process::{Part, is_postfix, part};
use super::tree::{Ident, ProcessKind};
use crate::diagnostic::Span;
use pest::iterators::Pair;

impl Reader {
    /// An operand that is not a condition. `explained` says that the caller reports an error if it is data.
    pub(super) fn process_primary(&mut self, unit: &[Pair<'_, Rule>], explained: bool) -> Part {
        let span = self.span(&unit[0]);
        let whole = span.to(self.span(&unit[unit.len() - 1]));
        match unit {
            [name] if name.as_rule() == Rule::name => {
                part(ProcessKind::Call(self.ident(name), Vec::new()), span)
            }
            [name, arguments] if name.as_rule() == Rule::name && arguments.as_rule() == Rule::arguments => {
                self.call(self.ident(name), arguments.clone(), whole)
            }
            [other] => self.process_atom(other.clone(), explained, span),
            _ => self.no_process(unit, explained, whole),
        }
    }

    fn process_atom(&mut self, pair: Pair<'_, Rule>, explained: bool, span: Span) -> Part {
        match pair.as_rule() {
            Rule::delta => part(ProcessKind::Delta, span),
            Rule::tau => part(ProcessKind::Tau, span),
            Rule::block | Rule::hide | Rule::allow | Rule::rename | Rule::comm => {
                self.restriction(pair, span)
            }
            Rule::mixed_parens => match parts(pair).next() {
                Some(inner) => {
                    let mut process = self.process(inner);
                    process.node.span = span;
                    Part { process, chain: None }
                }
                None => part(ProcessKind::Delta, span),
            },
            _ => self.no_process(&[pair], explained, span),
        }
    }

    /// Complains about data where a process is due.
    fn no_process(&mut self, unit: &[Pair<'_, Rule>], explained: bool, span: Span) -> Part {
        if explained {
            return part(ProcessKind::Delta, span);
        }
        match unit {
            [call, .., last] if call.as_rule() == Rule::name && is_postfix(last.as_rule()) => {
                let place = self.span(last);
                self.error(place, "expected an operator of processes behind the arguments");
            }
            [delta, ..] if matches!(delta.as_rule(), Rule::delta | Rule::tau) => {
                self.error(span, format!("'{}' takes no arguments", delta.as_str()));
            }
            _ => self.error_help(
                span,
                "expected an action or process, found data",
                "a condition is followed by '->'",
            ),
        }
        part(ProcessKind::Delta, span)
    }

    /// `a(e, f)`, `P(x = e)` or `P()`.
    fn call(&mut self, name: Ident, arguments: Pair<'_, Rule>, span: Span) -> Part {
        let place = self.span(&arguments);
        let (assignments, assigned_depth) = self.assignments(arguments.clone());
        let (positional, depth) = self.data_list(arguments);
        if !assignments.is_empty() && !positional.is_empty() {
            self.error_help(
                place,
                "arguments are given either by position or by name, not both",
                "write P(e, f) or P(x = e, y = f)",
            );
        }
        let below = assigned_depth.max(depth);
        if positional.is_empty() {
            self.process_node(ProcessKind::Assign(name, assignments), span, below)
        } else {
            self.process_node(ProcessKind::Call(name, positional), span, below)
        }
    }

    /// `block`, `hide`, `allow`, `rename` and `comm`.
    fn restriction(&mut self, pair: Pair<'_, Rule>, span: Span) -> Part {
        let rule = pair.as_rule();
        let mut set = None;
        let mut body = None;
        for inner in parts(pair) {
            match inner.as_rule() {
                Rule::mixed => body = Some(self.process(inner)),
                _ => set = Some(inner),
            }
        }
        let (Some(set), Some(body)) = (set, body) else { return part(ProcessKind::Delta, span) };
        let depth = body.depth;
        let body = Box::new(body.node);
        let kind = match rule {
            Rule::block => ProcessKind::Block(self.idents(set), body),
            Rule::hide => ProcessKind::Hide(self.idents(set), body),
            Rule::allow => ProcessKind::Allow(parts(set).map(|names| self.idents(names)).collect(), body),
            Rule::rename => {
                let renaming = |names: Vec<Ident>| {
                    let mut names = names.into_iter();
                    Some((names.next()?, names.next()?))
                };
                ProcessKind::Rename(parts(set).filter_map(|pair| renaming(self.idents(pair))).collect(), body)
            }
            _ => ProcessKind::Comm(parts(set).filter_map(|pair| self.communication(pair)).collect(), body),
        };
        self.process_node(kind, span, depth)
    }

    fn communication(&mut self, pair: Pair<'_, Rule>) -> Option<(Vec<Ident>, Ident)> {
        let span = self.span(&pair);
        let mut parties = Vec::new();
        let mut result = None;
        for part in parts(pair) {
            match part.as_rule() {
                Rule::multi_action_name => parties = self.idents(part),
                Rule::name => result = Some(self.ident(&part)),
                _ => {}
            }
        }
        if let [only] = &parties[..] {
            let message = format!("a communication needs at least two actions, here is only '{}'", only.name);
            self.error_help(span, message, "to give an action another name use 'rename'");
        }
        result.map(|result| (parties, result))
    }

    fn idents(&self, pair: Pair<'_, Rule>) -> Vec<Ident> {
        parts_of(pair, Rule::name).map(|name| self.ident(&name)).collect()
    }
}
