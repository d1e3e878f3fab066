//! Process expressions, from pairs to the tree.
//!
//! A `mixed` sequence is read from left to right. An operand directly before `->` is a condition, and `c ->` is then a
//! prefix operator. Each `<>` belongs to the nearest `->` before it that has none yet; what stands between the two is the
//! then-branch, with any operators.

use super::climb::{Assoc, Climb, Language};
use super::grammar::{Deep, Infix, Reader, Rule, infix, parts_of};
use super::tree::{BinaryOp, Data, Process, ProcessKind, VarDecl};
use crate::diagnostic::Span;
use pest::iterators::Pair;

/// A process being put together.
pub(super) struct Part {
    pub(super) process: Deep<Process>,
    /// The associative operator whose chain this is, as long as no parentheses close it.
    pub(super) chain: Option<Chain>,
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

/// How tightly operators bind; higher is tighter.
pub(super) mod levels {
    pub(in crate::syntax) const CHOICE: u8 = 1;
    pub(in crate::syntax) const SUM: u8 = 2;
    pub(in crate::syntax) const PARALLEL: u8 = 3;
    pub(in crate::syntax) const LEFT_MERGE: u8 = 4;
    pub(in crate::syntax) const CONDITION: u8 = 5;
    pub(in crate::syntax) const SEQ: u8 = 7;
    pub(in crate::syntax) const SYNC: u8 = 9;
}

impl Chain {
    fn level(self) -> u8 {
        match self {
            Chain::Choice => levels::CHOICE,
            Chain::Parallel => levels::PARALLEL,
            Chain::Seq => levels::SEQ,
            Chain::Sync => levels::SYNC,
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

    fn span(node: &Part) -> Span {
        node.process.node.span
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

/// A process that no chain can take up.
pub(super) fn part(kind: ProcessKind, span: Span) -> Part {
    Part { process: Deep::leaf(Process { kind, span }), chain: None }
}

/// What is known about a sequence before it is read, by position.
struct Outlook {
    /// Whether a `<>` belongs to this `->`.
    has_else: Vec<bool>,
    /// Whether `->` comes before the next operator of processes: what stands here is then part of a condition.
    in_condition: Vec<bool>,
    /// The `<>` that belong to no `->`.
    orphans: Vec<usize>,
}

impl Outlook {
    fn new(items: &[Pair<'_, Rule>]) -> Self {
        let mut outlook = Outlook {
            has_else: vec![false; items.len()],
            in_condition: vec![false; items.len()],
            orphans: Vec::new(),
        };
        let mut open = Vec::new();
        for (at, item) in items.iter().enumerate() {
            match infix(item) {
                Some(Infix::Arrow) => open.push(at),
                Some(Infix::Else) => match open.pop() {
                    Some(arrow) => outlook.has_else[arrow] = true,
                    None => outlook.orphans.push(at),
                },
                _ => {}
            }
        }
        let mut arrow_ahead = false;
        for (at, item) in items.iter().enumerate().rev() {
            match infix(item) {
                Some(Infix::Arrow) => arrow_ahead = true,
                Some(op) if chain(op).is_some() || op == Infix::Else => arrow_ahead = false,
                _ => {}
            }
            outlook.in_condition[at] = arrow_ahead;
        }
        outlook
    }
}

/// The associative operator of processes that a sign stands for.
fn chain(op: Infix) -> Option<Chain> {
    Some(match op {
        Infix::Data(BinaryOp::Plus) => Chain::Choice,
        Infix::Data(BinaryOp::Or) => Chain::Parallel,
        Infix::Data(BinaryOp::At) => Chain::Seq,
        Infix::Bar => Chain::Sync,
        _ => return None,
    })
}

/// Whether an item is an operator that only data has.
fn is_data_operator(item: &Pair<'_, Rule>) -> bool {
    infix(item).is_some_and(|op| matches!(op, Infix::Data(_)) && chain(op).is_none())
}

/// Whether a rule is something applied to the operand before it.
pub(super) fn is_postfix(rule: Rule) -> bool {
    matches!(rule, Rule::arguments | Rule::update | Rule::where_clause)
}

impl Reader {
    /// A `mixed` that has to be a process.
    pub(super) fn process(&mut self, pair: Pair<'_, Rule>) -> Deep<Process> {
        let items: Vec<_> = pair.into_inner().collect();
        let outlook = Outlook::new(&items);
        for orphan in &outlook.orphans {
            let span = self.span(&items[*orphan]);
            self.error_help(
                span,
                "'<>' has no '->' before it",
                "a choice by condition is written c -> p <> q",
            );
        }
        let mut climb = Climb::new();
        let mut at = 0;
        while at < items.len() {
            at = self.process_operand(&mut climb, &items, at, &outlook);
            while items.get(at).and_then(infix) == Some(Infix::At) {
                let span = self.span(&items[at]);
                self.no_time(span, "@");
                at = unit_end(&items, at + 1);
            }
            if at < items.len() {
                at = self.process_operator(&mut climb, &items, at, &outlook);
            }
        }
        // Sums and conditions reach as far as they can in every version of mCRL2: `a . sum d: D. b(d) . c(d)`.
        let (whole, _) = climb.finish(&mut Processes(self));
        whole.map_or_else(
            || {
                self.broken();
                part(ProcessKind::Delta, Span::default()).process
            },
            |whole| whole.process,
        )
    }

    /// Takes prefixes and one operand; gives the position behind them.
    fn process_operand(
        &mut self,
        climb: &mut Climb<Part, ProcessOp>,
        items: &[Pair<'_, Rule>],
        mut at: usize,
        outlook: &Outlook,
    ) -> usize {
        loop {
            let item = &items[at];
            if matches!(item.as_rule(), Rule::sum | Rule::dist) {
                let op = self.sum(item.clone());
                climb.prefix(levels::SUM, op, self.span(item));
                at += 1;
                continue;
            }
            if let Some(sum) = sum_behind_data_prefixes(items, at) {
                let span = self.span(item);
                let word = item.as_str().split_whitespace().next().unwrap_or_default();
                self.error(span, format!("'{word}' belongs to data and cannot stand before a process"));
                at = sum;
                continue;
            }
            let end = unit_end(items, at);
            let unit = &items[at..end];
            if items.get(end).and_then(infix) != Some(Infix::Arrow) {
                // The operator of data that follows will say what is wrong with a condition.
                let followed = items.get(end).is_some_and(is_data_operator);
                let part = self.process_primary(unit, followed && outlook.in_condition[end]);
                climb.operand(part);
                return end;
            }
            // An operator of data before it has been told that the whole condition needs parentheses.
            if at == 0 || !is_data_operator(&items[at - 1]) {
                self.check_condition(unit);
            }
            let condition = self.data_sequence(unit.iter().cloned());
            if outlook.has_else[end] {
                climb.open(ProcessOp::Then(condition));
            } else {
                let place = condition.node.span;
                climb.prefix(levels::CONDITION, ProcessOp::Then(condition), place);
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
        outlook: &Outlook,
    ) -> usize {
        let item = &items[at];
        let span = self.span(item);
        let chain = match infix(item) {
            Some(Infix::LeftMerge) => {
                climb.infix(&mut Processes(self), levels::LEFT_MERGE, Assoc::Right, ProcessOp::LeftMerge);
                return at + 1;
            }
            Some(Infix::Else) => {
                if let Some((ProcessOp::Then(condition), then)) = climb.close(&mut Processes(self)) {
                    let place = condition.node.span;
                    climb.prefix(levels::CONDITION, ProcessOp::Else(condition, then.process), place);
                    return at + 1;
                }
                Chain::Choice
            }
            Some(Infix::Until) => {
                self.error_help(
                    span,
                    "bounded initialisation ('<<') is not supported: it is an operator of time",
                    "remove it; only the order of actions is explored",
                );
                Chain::Choice
            }
            op => op.and_then(chain).unwrap_or_else(|| {
                self.not_process_operator(item, outlook.in_condition[at]);
                Chain::Choice
            }),
        };
        climb.infix(&mut Processes(self), chain.level(), Assoc::Chain, ProcessOp::Chain(chain));
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
    fn not_process_operator(&mut self, item: &Pair<'_, Rule>, in_condition: bool) {
        let span = self.span(item);
        let word = item.as_str();
        if in_condition {
            self.error_help(
                span,
                format!("a condition with '{word}' must be in parentheses"),
                "write (condition) -> process",
            );
        } else {
            self.error_help(
                span,
                format!("'{word}' combines data, not processes"),
                "processes are combined with '+', '.', '||', '|', '->' and '<>'",
            );
        }
    }
}

/// Where `sum` stands behind prefixes of data, if it does.
fn sum_behind_data_prefixes(items: &[Pair<'_, Rule>], start: usize) -> Option<usize> {
    let prefixes = items[start..].iter().take_while(|item| is_data_prefix(item.as_rule())).count();
    let next = items.get(start + prefixes)?;
    (prefixes > 0 && matches!(next.as_rule(), Rule::sum | Rule::dist)).then_some(start + prefixes)
}

fn is_data_prefix(rule: Rule) -> bool {
    matches!(rule, Rule::sign | Rule::binder)
}

/// The end of the operand that begins at a position: its prefixes, the operand itself, what is applied to it.
fn unit_end(items: &[Pair<'_, Rule>], start: usize) -> usize {
    let is_prefix = |rule| is_data_prefix(rule) || matches!(rule, Rule::sum | Rule::dist);
    let prefixes = items[start..].iter().take_while(|item| is_prefix(item.as_rule())).count();
    let primary = (start + prefixes + 1).min(items.len());
    let postfixes = items[primary..].iter().take_while(|item| is_postfix(item.as_rule())).count();
    primary + postfixes
}
