//! Regular and action formulas, from pairs to their tree.
//!
//! Both come as one flat sequence. The operators of action formulas bind more tightly than those of regular
//! formulas, and take only action formulas.

use super::climb::{Assoc, Climb, Language};
use super::formula::{ActionFormula, ActionKind, Quantifier, RegularFormula, RegularKind};
use super::grammar::{Deep, Reader, Rule, parts, parts_of};
use super::tree::{Data, VarDecl};
use crate::diagnostic::Span;
use pest::iterators::Pair;

/// An operator of regular or action formulas that waits for its operands.
enum RegularOp {
    Choice,
    Seq,
    And(Span),
    Or(Span),
    Implies(Span),
    Not(Span),
    Quantifier(Quantifier, Vec<VarDecl>, u32, Span),
}

/// How tightly operators bind; higher is tighter.
pub(super) mod levels {
    pub(in crate::syntax) const CHOICE: u8 = 1;
    pub(in crate::syntax) const SEQ: u8 = 2;
    pub(in crate::syntax) const REPEAT: u8 = 3;
    pub(in crate::syntax) const QUANTIFIER: u8 = 4;
    pub(in crate::syntax) const IMPLIES: u8 = 5;
    pub(in crate::syntax) const OR: u8 = 6;
    pub(in crate::syntax) const AND: u8 = 7;
    pub(in crate::syntax) const NOT: u8 = 8;
}

/// A formula being put together. `open` says that it is a chain of an associative operator that no parentheses close.
struct Part {
    formula: Deep<RegularFormula>,
    open: bool,
}

/// The operators over a reader.
struct Regulars<'r>(&'r mut Reader);

impl Language for Regulars<'_> {
    type Node = Part;
    type Op = RegularOp;

    fn prefix(&mut self, op: RegularOp, operand: Part) -> Part {
        let end = operand.formula.node.span;
        let action = match op {
            RegularOp::Quantifier(quantifier, vars, below, span) => {
                let body = self.0.action_only(operand, span);
                let kind = ActionKind::Quantifier(quantifier, vars, Box::new(body.node));
                self.0.action_node(kind, span.to(end), body.depth.max(below))
            }
            RegularOp::Not(span) => {
                let body = self.0.action_only(operand, span);
                self.0.action_node(ActionKind::Not(Box::new(body.node)), span.to(end), body.depth)
            }
            _ => return operand,
        };
        closed(lift(action))
    }

    fn infix(&mut self, left: Part, op: RegularOp, right: Part) -> Part {
        let span = left.formula.node.span.to(right.formula.node.span);
        let place = match op {
            RegularOp::And(place) | RegularOp::Or(place) | RegularOp::Implies(place) => place,
            _ => return self.0.regular_infix(left, &op, right, span),
        };
        let open = left.open;
        let mut left = self.0.action_only(left, place);
        let right = self.0.action_only(right, place);
        match (&mut left.node.kind, &op) {
            (ActionKind::And(operands), RegularOp::And(_)) | (ActionKind::Or(operands), RegularOp::Or(_))
                if open =>
            {
                operands.push(right.node);
                left.node.span = span;
                left.depth = left.depth.max(right.depth + 1);
                return Part { formula: lift(left), open };
            }
            _ => {}
        }
        let below = left.depth.max(right.depth);
        let (kind, open) = match op {
            RegularOp::And(_) => (ActionKind::And(vec![left.node, right.node]), true),
            RegularOp::Or(_) => (ActionKind::Or(vec![left.node, right.node]), true),
            _ => (ActionKind::Implies(Box::new(left.node), Box::new(right.node)), false),
        };
        let action = self.0.action_node(kind, span, below);
        Part { open: open && action.depth > 1, formula: lift(action) }
    }

    fn span(node: &Part) -> Span {
        node.formula.node.span
    }
}

fn closed(formula: Deep<RegularFormula>) -> Part {
    Part { formula, open: false }
}

/// An action formula as a regular formula of one step.
fn lift(action: Deep<ActionFormula>) -> Deep<RegularFormula> {
    let span = action.node.span;
    Deep { node: RegularFormula { kind: RegularKind::Action(action.node), span }, depth: action.depth }
}

/// Stands where an action formula had to be refused.
fn no_action(span: Span) -> Deep<ActionFormula> {
    Deep::leaf(ActionFormula { kind: ActionKind::Bool(true), span })
}

impl Reader {
    pub(super) fn action_node(&mut self, kind: ActionKind, span: Span, below: u32) -> Deep<ActionFormula> {
        match self.deepen(below, span) {
            Some(depth) => Deep { node: ActionFormula { kind, span }, depth },
            None => no_action(span),
        }
    }

    fn regular_node(&mut self, kind: RegularKind, span: Span, below: u32) -> Deep<RegularFormula> {
        match self.deepen(below, span) {
            Some(depth) => Deep { node: RegularFormula { kind, span }, depth },
            None => lift(no_action(span)),
        }
    }

    /// The action formula that an operand of an operator at `place` has to be.
    fn action_only(&mut self, part: Part, place: Span) -> Deep<ActionFormula> {
        let Deep { node, depth } = part.formula;
        match node.kind {
            RegularKind::Action(action) => Deep { node: action, depth },
            _ => {
                self.error_help(
                    place,
                    "this operator takes formulas of one action, but an operand is a sequence, choice or repetition",
                    "combine regular formulas with '.', '+' and '*'",
                );
                no_action(node.span)
            }
        }
    }

    fn regular_infix(&mut self, mut left: Part, op: &RegularOp, right: Part, span: Span) -> Part {
        match (&mut left.formula.node.kind, op) {
            (RegularKind::Choice(operands), RegularOp::Choice)
            | (RegularKind::Seq(operands), RegularOp::Seq)
                if left.open =>
            {
                operands.push(right.formula.node);
                left.formula.node.span = span;
                left.formula.depth = left.formula.depth.max(right.formula.depth + 1);
                return left;
            }
            _ => {}
        }
        let below = left.formula.depth.max(right.formula.depth);
        let operands = vec![left.formula.node, right.formula.node];
        let kind = match op {
            RegularOp::Seq => RegularKind::Seq(operands),
            _ => RegularKind::Choice(operands),
        };
        let formula = self.regular_node(kind, span, below);
        Part { open: formula.depth > 1, formula }
    }

    pub(super) fn regular(&mut self, pair: Pair<'_, Rule>) -> Deep<RegularFormula> {
        let mut climb = Climb::new();
        let text = pair.get_input();
        for item in pair.into_inner() {
            let span = self.span(&item);
            match item.as_rule() {
                Rule::regular_infix => {
                    let (level, assoc, op) = match item.as_str() {
                        "+" => (levels::CHOICE, Assoc::Chain, RegularOp::Choice),
                        "." => (levels::SEQ, Assoc::Chain, RegularOp::Seq),
                        "=>" => (levels::IMPLIES, Assoc::Right, RegularOp::Implies(span)),
                        "||" => (levels::OR, Assoc::Chain, RegularOp::Or(span)),
                        _ => (levels::AND, Assoc::Chain, RegularOp::And(span)),
                    };
                    climb.infix(&mut Regulars(self), level, assoc, op);
                }
                Rule::star | Rule::repeat => {
                    let Some(operand) = climb.postfix(&mut Regulars(self), levels::REPEAT) else { continue };
                    let operand = operand.formula;
                    let place = operand.node.span.to(span);
                    let body = Box::new(operand.node);
                    let star = item.as_rule() == Rule::star;
                    let kind = if star { RegularKind::Star(body) } else { RegularKind::Plus(body) };
                    climb.operand(closed(self.regular_node(kind, place, operand.depth)));
                }
                Rule::action_time => {
                    self.no_time(Span::new(span.start as usize, span.start as usize + 1), "@")
                }
                Rule::sign => {
                    if item.as_str() != "!" {
                        self.error_help(
                            span,
                            format!("'{}' cannot stand before actions", item.as_str()),
                            "'not' is '!'",
                        );
                    }
                    climb.prefix(levels::NOT, RegularOp::Not(span), span);
                }
                Rule::quantifier => {
                    let (quantifier, vars, below) = self.quantifier(item);
                    climb.prefix(
                        levels::QUANTIFIER,
                        RegularOp::Quantifier(quantifier, vars, below, span),
                        span,
                    );
                }
                _ => climb.operand(closed(self.regular_primary(item, span))),
            }
        }
        let (whole, partings) = climb.finish(&mut Regulars(self));
        self.perhaps_ambiguous(text, &partings);
        whole.map_or_else(
            || {
                self.broken();
                lift(no_action(Span::default()))
            },
            |whole| whole.formula,
        )
    }

    fn regular_primary(&mut self, pair: Pair<'_, Rule>, span: Span) -> Deep<RegularFormula> {
        lift(match pair.as_rule() {
            Rule::truth => self.action_node(ActionKind::Bool(pair.as_str() == "true"), span, 0),
            Rule::tau => self.action_node(ActionKind::MultiAction(Vec::new()), span, 0),
            Rule::value => {
                let value = self.value(pair, span);
                self.action_node(ActionKind::Data(value.node), span, value.depth)
            }
            Rule::multi_action => self.multi_action(pair),
            _ => {
                let Some(inner) = parts(pair).next() else { return lift(no_action(span)) };
                let mut inner = self.regular(inner);
                inner.node.span = span;
                return inner;
            }
        })
    }

    /// Arguments by position, none of them an assignment, and their depth.
    pub(super) fn plain_arguments(&mut self, pair: Pair<'_, Rule>) -> (Vec<Data>, u32) {
        if let Some(assignment) = parts_of(pair.clone(), Rule::assignment).next() {
            let place = self.span(&assignment);
            self.error_help(place, "arguments are given by position here", "to compare, write '=='");
            return (Vec::new(), 0);
        }
        let place = self.span(&pair);
        let (arguments, below) = self.data_list(pair);
        if arguments.is_empty() {
            self.error_help(
                place,
                "expected an argument between '(' and ')'",
                "without arguments, leave out the parentheses",
            );
        }
        (arguments, below)
    }
}
