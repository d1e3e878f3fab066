//! Process expressions, from pairs to the tree.
//!
//! A `mixed` sequence is read from left to right. An operand directly before `->` is a condition, and `c ->` is then
//! a prefix operator. Each `<>` belongs to the nearest `->` before it that has none yet; what stands between the two
//! is the then-branch, whatever its operators.

use super::climb::{Assoc, Climb, Language};
use super::data::binary_op;
use super::grammar::{Deep, Reader, Rule, parts, parts_of};
use super::tree::{BinaryOp, Data, Ident, Process, ProcessKind, VarDecl};
use crate::diagnostic::Span;
use pest::iterators::Pair;

/// A process being put together.
pub(super) struct Part {
    process: Deep<Process>,
    /// The associative operator whose chain this is, as long as no parentheses close it.
    chain: Option<Chain>,
}

/// The associative operators. Their operands stand side by side in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Chain {
    Choice,
    Parallel,
    Seq,
    Sync,
}

/// An operator of processes that waits for its operands.
pub(super) enum ProcessOp {
    Chain(Chain),
    LeftMerge,
    Sum(Vec<VarDecl>, u32, Span),
    /// `c ->`; where `<>` follows, this opens the then-branch.
    Then(Deep<Data>),
    /// `c -> p <>`.
    Else(Deep<Data>, Deep<Process>),
}

const CHOICE: u8 = 1;
const SUM: u8 = 2;
const PARALLEL: u8 = 3;
const LEFT_MERGE: u8 = 4;
const CONDITION: u8 = 5;
const SEQ: u8 = 7;
const SYNC: u8 = 9;

impl Chain {
    fn level(self) -> u8 {
        match self {
            Chain::Choice => CHOICE,
            Chain::Parallel => PARALLEL,
            Chain::Seq => SEQ,
            Chain::Sync => SYNC,
        }
    }

    fn kind(self, operands: Vec<Process>) -> ProcessKind {
        match self {
            Chain::Choice => ProcessKind::Choice(operands),
            Chain::Parallel => ProcessKind::Parallel(operands),
            Chain::Seq => ProcessKind::Seq(operands),
            Chain::Sync => ProcessKind::Sync(operands),
        }
    }
}

/// The operators of processes over a reader.
struct Processes<'r>(&'r mut Reader);

impl Language for Processes<'_> {
    type Node = Part;
    type Op = ProcessOp;

    fn prefix(&mut self, op: ProcessOp, operand: Part) -> Part {
        let Deep { node: body, depth } = operand.process;
        match op {
            ProcessOp::Sum(vars, below, span) => {
                let span = span.to(body.span);
                self.0.process_node(ProcessKind::Sum(vars, Box::new(body)), span, below.max(depth))
            }
            ProcessOp::Then(condition) => {
                let span = condition.node.span.to(body.span);
                let kind = ProcessKind::Condition(Box::new(condition.node), Box::new(body), None);
                self.0.process_node(kind, span, condition.depth.max(depth))
            }
            ProcessOp::Else(condition, then) => {
                let span = condition.node.span.to(body.span);
                let below = condition.depth.max(then.depth).max(depth);
                let kind = ProcessKind::Condition(
                    Box::new(condition.node),
                    Box::new(then.node),
                    Some(Box::new(body)),
                );
                self.0.process_node(kind, span, below)
            }
            ProcessOp::Chain(_) | ProcessOp::LeftMerge => {
                Part { process: Deep { node: body, depth }, chain: None }
            }
        }
    }

    fn infix(&mut self, left: Part, op: ProcessOp, right: Part) -> Part {
        let span = left.process.node.span.to(right.process.node.span);
        let ProcessOp::Chain(chain) = op else {
            let below = left.process.depth.max(right.process.depth);
            let kind = ProcessKind::LeftMerge(Box::new(left.process.node), Box::new(right.process.node));
            return self.0.process_node(kind, span, below);
        };
        if left.chain == Some(chain) {
            return extend(left, right, span);
        }
        let below = left.process.depth.max(right.process.depth);
        let mut part =
            self.0.process_node(chain.kind(vec![left.process.node, right.process.node]), span, below);
        part.chain = Some(chain);
        part
    }
}

/// Adds an operand to a chain.
fn extend(mut left: Part, right: Part, span: Span) -> Part {
    left.process.depth = left.process.depth.max(right.process.depth + 1);
    left.process.node.span = span;
    if let ProcessKind::Choice(operands)
    | ProcessKind::Parallel(operands)
    | ProcessKind::Seq(operands)
    | ProcessKind::Sync(operands) = &mut left.process.node.kind
    {
        operands.push(right.process.node);
    }
    left
}

fn part(kind: ProcessKind, span: Span) -> Part {
    Part { process: Deep::leaf(Process { kind, span }), chain: None }
}

/// For each `->` of a sequence whether a `<>` belongs to it, by position; and the `<>` that belong to none.
fn match_branches(items: &[Pair<'_, Rule>]) -> (Vec<bool>, Vec<usize>) {
    let mut has_else = vec![false; items.len()];
    let mut open = Vec::new();
    let mut orphans = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item.as_rule() {
            Rule::arrow => open.push(at),
            Rule::otherwise => match open.pop() {
                Some(arrow) => has_else[arrow] = true,
                None => orphans.push(at),
            },
            _ => {}
        }
    }
    (has_else, orphans)
}

/// Whether a rule can stand before the operand of a process.
fn is_process_operator(rule: Rule) -> bool {
    use Rule::*;
    matches!(rule, plus | or | dot | bar | left_merge | arrow | otherwise | until | sum | dist)
}

fn is_postfix(rule: Rule) -> bool {
    matches!(rule, Rule::arguments | Rule::update | Rule::where_clause)
}

impl Reader {
    /// A `mixed` that has to be a process.
    pub(super) fn process(&mut self, pair: Pair<'_, Rule>) -> Deep<Process> {
        let items: Vec<_> = pair.into_inner().collect();
        let (has_else, orphans) = match_branches(&items);
        for orphan in orphans {
            let span = self.span(&items[orphan]);
            self.error_help(
                span,
                "'<>' has no '->' before it",
                "a choice by condition is written c -> p <> q",
            );
        }
        let mut climb = Climb::new();
        let mut at = 0;
        while at < items.len() {
            at = self.process_operand(&mut climb, &items, at, &has_else);
            while items.get(at).is_some_and(|item| item.as_rule() == Rule::at) {
                let span = self.span(&items[at]);
                self.no_time(span, "@");
                at = unit_end(&items, at + 1);
            }
            if at < items.len() {
                at = self.process_operator(&mut climb, &items, at);
            }
        }
        climb.finish(&mut Processes(self)).process
    }

    /// Takes prefixes and one operand; gives the position behind them.
    fn process_operand<'i>(
        &mut self,
        climb: &mut Climb<Part, ProcessOp>,
        items: &[Pair<'i, Rule>],
        mut at: usize,
        has_else: &[bool],
    ) -> usize {
        loop {
            let item = &items[at];
            if matches!(item.as_rule(), Rule::sum | Rule::dist) {
                let op = self.sum(item.clone());
                climb.prefix(SUM, op);
                at += 1;
                continue;
            }
            let end = unit_end(items, at);
            let unit = &items[at..end];
            if items.get(end).is_none_or(|next| next.as_rule() != Rule::arrow) {
                let part = self.process_primary(unit, &items[end..]);
                climb.operand(part);
                return end;
            }
            // An operator of data before it has been told that the whole condition needs parentheses.
            if at == 0 || is_process_operator(items[at - 1].as_rule()) {
                self.check_condition(unit);
            }
            let condition = self.data_sequence(unit.iter().cloned());
            if has_else[end] {
                climb.open(ProcessOp::Then(condition));
            } else {
                climb.prefix(CONDITION, ProcessOp::Then(condition));
            }
            at = end + 1;
        }
    }

    /// Takes one infix operator; gives the position behind it.
    fn process_operator(
        &mut self,
        climb: &mut Climb<Part, ProcessOp>,
        items: &[Pair<'_, Rule>],
        at: usize,
    ) -> usize {
        let item = &items[at];
        let span = self.span(item);
        let chain = match item.as_rule() {
            Rule::plus => Chain::Choice,
            Rule::or => Chain::Parallel,
            Rule::dot => Chain::Seq,
            Rule::bar => Chain::Sync,
            Rule::left_merge => {
                climb.infix(&mut Processes(self), LEFT_MERGE, Assoc::Right, ProcessOp::LeftMerge);
                return at + 1;
            }
            Rule::otherwise => {
                if let Some((ProcessOp::Then(condition), then)) = climb.close(&mut Processes(self)) {
                    climb.prefix(CONDITION, ProcessOp::Else(condition, then.process));
                    return at + 1;
                }
                Chain::Choice
            }
            Rule::until => {
                self.error_help(
                    span,
                    "bounded initialisation ('<<') is not supported: it is an operator of time",
                    "remove it; only the order of actions is explored",
                );
                Chain::Choice
            }
            _ => {
                self.not_process_operator(items, at);
                Chain::Choice
            }
        };
        climb.infix(&mut Processes(self), chain.level(), Assoc::Left, ProcessOp::Chain(chain));
        at + 1
    }

    pub(super) fn process_node(&mut self, kind: ProcessKind, span: Span, below: u32) -> Part {
        match self.deepen(below, span) {
            Some(depth) => Part { process: Deep { node: Process { kind, span }, depth }, chain: None },
            None => part(ProcessKind::Delta, span),
        }
    }

    fn sum(&mut self, pair: Pair<'_, Rule>) -> ProcessOp {
        let span = self.span(&pair);
        if pair.as_rule() == Rule::dist {
            self.error_help(
                Span::new(span.start as usize, span.start as usize + "dist".len()),
                "probabilistic choice ('dist') is not supported",
                "'sum' offers the same outcomes without their probabilities",
            );
        }
        let vars = parts_of(pair, Rule::vars).next().map(|vars| self.vars(vars)).unwrap_or_default();
        ProcessOp::Sum(vars.0, vars.1, span)
    }

    /// Only a few forms of data may stand before `->` without parentheses.
    fn check_condition(&mut self, unit: &[Pair<'_, Rule>]) {
        for item in unit {
            let refused = match item.as_rule() {
                Rule::binder => "a quantifier",
                Rule::list => "a list",
                Rule::set => "a set",
                Rule::update => "a function update",
                Rule::where_clause => "'whr'",
                _ => continue,
            };
            let span = self.span(item);
            self.error_help(
                span,
                format!("a condition with {refused} must be in parentheses"),
                "write (condition) -> process",
            );
        }
    }

    /// Complains about an operator of data between processes.
    fn not_process_operator(&mut self, items: &[Pair<'_, Rule>], at: usize) {
        let span = self.span(&items[at]);
        let word = items[at].as_str();
        // A '->' before the next operator of processes means that a condition was left without parentheses.
        let bare_condition = items[at + 1..]
            .iter()
            .take_while(|item| !matches!(item.as_rule(), Rule::plus | Rule::or | Rule::dot | Rule::bar))
            .any(|item| item.as_rule() == Rule::arrow);
        if bare_condition {
            self.error_help(
                span,
                format!("a condition with '{word}' must be in parentheses"),
                "write (condition) -> process",
            );
        } else if binary_op(items[at].as_rule()) == Some(BinaryOp::And) {
            self.error(span, "'&&' combines data, not processes");
        } else {
            self.error_help(
                span,
                format!("'{word}' combines data, not processes"),
                "processes are combined with '+', '.', '||', '|', '->' and '<>'",
            );
        }
    }

    /// An operand that is not a condition. `rest` is what follows, to explain what is wrong.
    fn process_primary(&mut self, unit: &[Pair<'_, Rule>], rest: &[Pair<'_, Rule>]) -> Part {
        let span = self.span(&unit[0]);
        let whole = span.to(self.span(&unit[unit.len() - 1]));
        match unit {
            [name] if name.as_rule() == Rule::name => {
                part(ProcessKind::Call(self.ident(name), Vec::new()), span)
            }
            [name, arguments] if name.as_rule() == Rule::name && arguments.as_rule() == Rule::arguments => {
                self.call(self.ident(name), arguments.clone(), whole)
            }
            [other] => self.process_atom(other.clone(), rest, span),
            _ => self.no_process(unit, rest, whole),
        }
    }

    fn process_atom(&mut self, pair: Pair<'_, Rule>, rest: &[Pair<'_, Rule>], span: Span) -> Part {
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
            _ => self.no_process(&[pair], rest, span),
        }
    }

    /// Complains about data where a process is due.
    fn no_process(&mut self, unit: &[Pair<'_, Rule>], rest: &[Pair<'_, Rule>], span: Span) -> Part {
        let condition = rest.iter().find(|item| {
            matches!(item.as_rule(), Rule::arrow | Rule::plus | Rule::dot | Rule::bar | Rule::otherwise)
        });
        let in_condition = condition.is_some_and(|item| item.as_rule() == Rule::arrow);
        // The operator that follows says the same and says it better.
        let explained = in_condition && rest.first().is_some_and(|item| binary_op(item.as_rule()).is_some());
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

/// The end of the operand that begins at a position: prefixes of data, the operand itself, what is applied to it.
fn unit_end(items: &[Pair<'_, Rule>], start: usize) -> usize {
    let prefixes = items[start..]
        .iter()
        .take_while(|item| matches!(item.as_rule(), Rule::not | Rule::minus | Rule::size | Rule::binder))
        .count();
    let primary = (start + prefixes + 1).min(items.len());
    let postfixes = items[primary..].iter().take_while(|item| is_postfix(item.as_rule())).count();
    primary + postfixes
}
