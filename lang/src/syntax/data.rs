//! Data expressions, from pairs to the tree.
//!
//! The same code reads `data` and, where a condition stands, `mixed`: both are flat sequences of the same operators,
//! only that `mixed` may also hold those of processes, which are refused here.

use super::climb::{Assoc, Climb, Language};
use super::grammar::{Deep, Infix, Reader, Rule, infix, parts, parts_of};
use super::number;
use super::tree::{BinaryOp, Binder, Data, DataKind, Ident, UnaryOp, VarDecl};
use crate::diagnostic::Span;
use pest::iterators::Pair;
use std::sync::Arc;

/// An operator of data expressions that waits for its operands.
pub(super) enum DataOp {
    Unary(UnaryOp, Span),
    Binary(BinaryOp),
    Binder(Binder, Vec<VarDecl>, u32, Span),
}

/// How tightly operators bind; higher is tighter.
pub(super) mod levels {
    /// Prefix operators bind more tightly than `*`: `-x * y` is `(-x) * y`.
    pub(in crate::syntax) const PREFIX: u8 = 13;
    pub(in crate::syntax) const POSTFIX: u8 = 14;
    pub(in crate::syntax) const BINDER: u8 = 1;
    pub(in crate::syntax) const WHERE: u8 = 0;
}

/// How tightly an infix operator binds.
pub(super) fn binary_level(op: BinaryOp) -> (u8, Assoc) {
    use BinaryOp::*;
    match op {
        Implies => (2, Assoc::Right),
        Or => (3, Assoc::Right),
        And => (4, Assoc::Right),
        Equal | NotEqual => (5, Assoc::Left),
        Less | LessEqual | GreaterEqual | Greater | In => (6, Assoc::Left),
        Cons => (7, Assoc::Right),
        Snoc => (8, Assoc::Left),
        Concat => (9, Assoc::Left),
        Plus | Minus => (10, Assoc::Left),
        Divide | Div | Mod => (11, Assoc::Left),
        Times | At => (12, Assoc::Left),
    }
}

/// The infix operators and how they are written.
const SYMBOLS: [(BinaryOp, &str); 20] = [
    (BinaryOp::Implies, "=>"),
    (BinaryOp::Or, "||"),
    (BinaryOp::And, "&&"),
    (BinaryOp::Equal, "=="),
    (BinaryOp::NotEqual, "!="),
    (BinaryOp::Less, "<"),
    (BinaryOp::LessEqual, "<="),
    (BinaryOp::GreaterEqual, ">="),
    (BinaryOp::Greater, ">"),
    (BinaryOp::In, "in"),
    (BinaryOp::Cons, "|>"),
    (BinaryOp::Snoc, "<|"),
    (BinaryOp::Concat, "++"),
    (BinaryOp::Plus, "+"),
    (BinaryOp::Minus, "-"),
    (BinaryOp::Divide, "/"),
    (BinaryOp::Div, "div"),
    (BinaryOp::Mod, "mod"),
    (BinaryOp::Times, "*"),
    (BinaryOp::At, "."),
];

impl BinaryOp {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        SYMBOLS.iter().find(|(op, _)| *op == self).map_or("", |(_, symbol)| symbol)
    }

    /// The operator that is written so.
    pub(super) fn of_symbol(symbol: &str) -> Option<BinaryOp> {
        SYMBOLS.iter().find(|(_, written)| *written == symbol).map(|(op, _)| *op)
    }
}

impl UnaryOp {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Not => "!",
            UnaryOp::Minus => "-",
            UnaryOp::Size => "#",
        }
    }
}

impl Language for Reader {
    type Node = Deep<Data>;
    type Op = DataOp;

    fn prefix(&mut self, op: DataOp, operand: Deep<Data>) -> Deep<Data> {
        let inner = operand.node.span;
        match op {
            DataOp::Unary(op, span) => {
                self.data_node(DataKind::Unary(op, Box::new(operand.node)), span.to(inner), operand.depth)
            }
            DataOp::Binder(binder, vars, depth, span) => {
                let below = depth.max(operand.depth);
                self.data_node(DataKind::Binder(binder, vars, Box::new(operand.node)), span.to(inner), below)
            }
            DataOp::Binary(_) => operand,
        }
    }

    fn infix(&mut self, left: Deep<Data>, op: DataOp, right: Deep<Data>) -> Deep<Data> {
        let span = left.node.span.to(right.node.span);
        let below = left.depth.max(right.depth);
        match op {
            DataOp::Binary(op) => {
                self.data_node(DataKind::Binary(op, Box::new(left.node), Box::new(right.node)), span, below)
            }
            DataOp::Unary(..) | DataOp::Binder(..) => left,
        }
    }

    fn span(node: &Deep<Data>) -> Span {
        node.node.span
    }
}

impl Reader {
    /// A `data` or a `mixed` that has to be data.
    pub(super) fn data(&mut self, pair: Pair<'_, Rule>) -> Deep<Data> {
        self.data_sequence(pair.into_inner())
    }

    /// A flat sequence of operands and operators.
    pub(super) fn data_sequence<'i>(&mut self, items: impl Iterator<Item = Pair<'i, Rule>>) -> Deep<Data> {
        let mut climb = Climb::new();
        let mut text = "";
        for item in items {
            text = item.get_input();
            match item.as_rule() {
                Rule::sign => {
                    let op = match item.as_str() {
                        "!" => UnaryOp::Not,
                        "-" => UnaryOp::Minus,
                        _ => UnaryOp::Size,
                    };
                    let span = self.span(&item);
                    climb.prefix(levels::PREFIX, DataOp::Unary(op, span), span);
                }
                Rule::binder => {
                    let span = self.span(&item);
                    let op = self.binder(item, span);
                    climb.prefix(levels::BINDER, op, span);
                }
                Rule::sum | Rule::dist => self.not_data(&item),
                Rule::arguments | Rule::update => {
                    if let Some(target) = climb.postfix(self, levels::POSTFIX) {
                        climb.operand(self.postfix(target, item));
                    }
                }
                Rule::where_clause => {
                    if let Some(target) = climb.postfix(self, levels::WHERE) {
                        climb.operand(self.where_clause(target, item));
                    }
                }
                Rule::data_infix | Rule::mixed_infix => {
                    let op = match infix(&item) {
                        Some(Infix::Data(op)) => op,
                        _ => {
                            self.not_data(&item);
                            BinaryOp::Or
                        }
                    };
                    let (level, assoc) = binary_level(op);
                    climb.infix(self, level, assoc, DataOp::Binary(op));
                }
                _ => {
                    let primary = self.data_primary(item);
                    climb.operand(primary);
                }
            }
        }
        let (whole, partings) = climb.finish(self);
        self.ambiguous(text, &partings);
        whole.unwrap_or_else(|| {
            self.broken();
            no_data(Span::default())
        })
    }

    fn data_node(&mut self, kind: DataKind, span: Span, below: u32) -> Deep<Data> {
        match self.deepen(below, span) {
            Some(depth) => Deep { node: Data { kind, span }, depth },
            None => no_data(span),
        }
    }

    /// Complains about a process operator inside data.
    fn not_data(&mut self, item: &Pair<'_, Rule>) {
        let span = self.span(item);
        let word = item.as_str().split_whitespace().next().unwrap_or_default();
        match infix(item) {
            Some(Infix::Arrow | Infix::Else) => self.error_help(
                span,
                format!("'{word}' chooses between processes and cannot stand in data"),
                match infix(item) {
                    Some(Infix::Else) => {
                        "data is chosen with if(condition, then, else); that data differs is written '!='"
                    }
                    _ => "data is chosen with if(condition, then, else)",
                },
            ),
            Some(Infix::Bar) => self.error_help(span, "'|' cannot stand in data", "'or' is written '||'"),
            _ => self.error(span, format!("'{word}' belongs to processes and cannot stand in data")),
        }
    }

    fn data_primary(&mut self, pair: Pair<'_, Rule>) -> Deep<Data> {
        let span = self.span(&pair);
        let kind = match pair.as_rule() {
            Rule::name => DataKind::Name(Arc::from(pair.as_str())),
            Rule::truth => DataKind::Bool(pair.as_str() == "true"),
            Rule::number => DataKind::Number(number::parse(pair.as_str())),
            Rule::list => {
                let (elements, below) = self.data_list(pair);
                return self.data_node(DataKind::List(elements), span, below);
            }
            Rule::set => return self.set(pair, span),
            Rule::data_parens | Rule::mixed_parens => {
                return match parts(pair).next() {
                    Some(inner) => {
                        let mut inner = self.data(inner);
                        inner.node.span = span;
                        inner
                    }
                    None => no_data(span),
                };
            }
            _ => {
                self.not_data(&pair);
                return no_data(span);
            }
        };
        Deep::leaf(Data { kind, span })
    }

    /// The data expressions among the parts of a pair.
    pub(super) fn data_list(&mut self, pair: Pair<'_, Rule>) -> (Vec<Data>, u32) {
        let mut below = 0;
        let mut list = Vec::new();
        for part in parts_of(pair, Rule::data) {
            let data = self.data(part);
            below = below.max(data.depth);
            list.push(data.node);
        }
        (list, below)
    }

    fn set(&mut self, pair: Pair<'_, Rule>, span: Span) -> Deep<Data> {
        let mut elements: Vec<(Data, Option<Data>)> = Vec::new();
        let mut below = 0;
        for part in parts(pair) {
            match part.as_rule() {
                Rule::empty_bag => return Deep::leaf(Data { kind: DataKind::Bag(Vec::new()), span }),
                Rule::comprehension => return self.comprehension(part, span),
                _ => {
                    let (pair, depth) = self.element(part);
                    below = below.max(depth);
                    elements.extend(pair);
                }
            }
        }
        let counted = elements.iter().filter(|(_, count)| count.is_some()).count();
        if counted > 0 && counted < elements.len() {
            self.error_help(
                span,
                "some elements have a count and some do not",
                "a bag is written {a: 2, b: 1}, a set {a, b}",
            );
        }
        let kind = if counted == 0 {
            DataKind::Set(elements.into_iter().map(|(element, _)| element).collect())
        } else {
            DataKind::Bag(
                elements.into_iter().filter_map(|(element, count)| Some((element, count?))).collect(),
            )
        };
        self.data_node(kind, span, below)
    }

    fn element(&mut self, pair: Pair<'_, Rule>) -> (Option<(Data, Option<Data>)>, u32) {
        let (list, below) = self.data_list(pair);
        let mut list = list.into_iter();
        (list.next().map(|element| (element, list.next())), below)
    }

    fn comprehension(&mut self, pair: Pair<'_, Rule>, span: Span) -> Deep<Data> {
        let mut name = self.ident(&pair);
        let mut sort = None;
        for part in parts(pair) {
            match part.as_rule() {
                Rule::name => name = self.ident(&part),
                Rule::sort => sort = Some(self.sort(part)),
                _ => {
                    let Some(sort) = sort.take() else { continue };
                    let body = self.data(part);
                    let below = sort.depth.max(body.depth);
                    let variable = Box::new(VarDecl { name, sort: sort.node });
                    return self.data_node(
                        DataKind::Comprehension(variable, Box::new(body.node)),
                        span,
                        below,
                    );
                }
            }
        }
        no_data(span)
    }

    fn binder(&mut self, pair: Pair<'_, Rule>, span: Span) -> DataOp {
        let mut binder = Binder::Lambda;
        let mut vars = (Vec::new(), 0);
        for part in parts(pair) {
            match part.as_str() {
                "forall" => binder = Binder::Forall,
                "exists" => binder = Binder::Exists,
                "lambda" => binder = Binder::Lambda,
                _ => vars = self.vars(part),
            }
        }
        DataOp::Binder(binder, vars.0, vars.1, span)
    }

    fn postfix(&mut self, target: Deep<Data>, pair: Pair<'_, Rule>) -> Deep<Data> {
        let span = target.node.span.to(self.span(&pair));
        if pair.as_rule() == Rule::update {
            let (list, below) = self.data_list(pair);
            let mut list = list.into_iter();
            let (Some(at), Some(value)) = (list.next(), list.next()) else { return target };
            let below = below.max(target.depth);
            let kind = DataKind::Update(Box::new(target.node), Box::new(at), Box::new(value));
            return self.data_node(kind, span, below);
        }
        if let Some(assignment) = parts_of(pair.clone(), Rule::assignment).next() {
            let equals = parts_of(assignment.clone(), Rule::equals).next().unwrap_or(assignment);
            let place = self.span(&equals);
            self.error_help(place, "'=' cannot stand in data", "to compare, write '=='");
            return target;
        }
        let place = self.span(&pair);
        let (arguments, below) = self.data_list(pair);
        if arguments.is_empty() {
            self.error_help(
                place,
                "expected an argument between '(' and ')'",
                "a function without arguments is written without parentheses",
            );
            return target;
        }
        let below = below.max(target.depth);
        self.data_node(DataKind::Apply(Box::new(target.node), arguments), span, below)
    }

    fn where_clause(&mut self, target: Deep<Data>, pair: Pair<'_, Rule>) -> Deep<Data> {
        let span = target.node.span.to(self.span(&pair));
        let (assignments, below) = self.assignments(pair);
        let below = below.max(target.depth);
        self.data_node(DataKind::Where(Box::new(target.node), assignments), span, below)
    }

    /// The assignments `x = e` among the parts of a pair.
    pub(super) fn assignments(&mut self, pair: Pair<'_, Rule>) -> (Vec<(Ident, Data)>, u32) {
        let mut assignments = Vec::new();
        let mut below = 0;
        for assignment in parts_of(pair, Rule::assignment) {
            let mut name = None;
            for part in parts(assignment) {
                match part.as_rule() {
                    Rule::name => name = Some(self.ident(&part)),
                    _ => {
                        let value = self.data(part);
                        below = below.max(value.depth);
                        assignments.extend(name.take().map(|name| (name, value.node)));
                    }
                }
            }
        }
        (assignments, below)
    }
}

/// Stands where data had to be refused; the diagnostics keep it from being used.
pub(super) fn no_data(span: Span) -> Deep<Data> {
    Deep::leaf(Data { kind: DataKind::Bool(true), span })
}
