//! Formulas and action patterns, from pairs to their tree.

use super::climb::{Assoc, Climb, Language};
use super::formula::{
    Action, ActionFormula, ActionKind, ActionPattern, Fixpoint, FixpointParam, PatternAction,
    PatternArgument, Quantifier, RegularFormula, StateFormula, StateKind, Unclear,
};
use super::grammar::{Deep, Reader, Rule, parts, parts_of};
use super::tree::{Data, Ident, VarDecl};
use crate::diagnostic::Span;
use pest::iterators::Pair;

/// An operator of state formulas that waits for its operands.
enum StateOp {
    Not(Span),
    And,
    Or,
    Implies,
    Box(Deep<RegularFormula>, Span),
    Diamond(Deep<RegularFormula>, Span),
    Fixpoint(Fixpoint, Ident, Vec<FixpointParam>, u32, Span),
    Quantifier(Quantifier, Vec<VarDecl>, u32, Span),
}

/// How tightly operators bind; higher is tighter.
pub(super) mod levels {
    pub(in crate::syntax) const FIXPOINT: u8 = 1;
    pub(in crate::syntax) const QUANTIFIER: u8 = 2;
    pub(in crate::syntax) const IMPLIES: u8 = 3;
    pub(in crate::syntax) const OR: u8 = 4;
    pub(in crate::syntax) const AND: u8 = 5;
    pub(in crate::syntax) const MODALITY: u8 = 6;
}

/// A state formula being put together. `open` says that it is a chain of `&&` or `||` that no parentheses close.
struct StatePart {
    formula: Deep<StateFormula>,
    open: bool,
}

/// The operators of state formulas over a reader.
struct States<'r>(&'r mut Reader);

impl Language for States<'_> {
    type Node = StatePart;
    type Op = StateOp;

    fn prefix(&mut self, op: StateOp, operand: StatePart) -> StatePart {
        let Deep { node: body, depth } = operand.formula;
        let end = body.span;
        let body = Box::new(body);
        match op {
            StateOp::Not(span) => self.0.state_node(StateKind::Not(body), span.to(end), depth),
            StateOp::Box(regular, span) => {
                self.0.state_node(StateKind::Box(regular.node, body), span.to(end), depth.max(regular.depth))
            }
            StateOp::Diamond(regular, span) => self.0.state_node(
                StateKind::Diamond(regular.node, body),
                span.to(end),
                depth.max(regular.depth),
            ),
            StateOp::Fixpoint(fixpoint, name, params, below, span) => {
                let kind = StateKind::Fixpoint(fixpoint, name, params, body);
                self.0.state_node(kind, span.to(end), depth.max(below))
            }
            StateOp::Quantifier(quantifier, vars, below, span) => {
                let kind = StateKind::Quantifier(quantifier, vars, body);
                self.0.state_node(kind, span.to(end), depth.max(below))
            }
            StateOp::And | StateOp::Or | StateOp::Implies => closed(Deep { node: *body, depth }),
        }
    }

    fn infix(&mut self, mut left: StatePart, op: StateOp, right: StatePart) -> StatePart {
        let span = left.formula.node.span.to(right.formula.node.span);
        match (&mut left.formula.node.kind, &op) {
            (StateKind::And(operands), StateOp::And) | (StateKind::Or(operands), StateOp::Or)
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
        let (left, right) = (left.formula.node, right.formula.node);
        let (kind, open) = match op {
            StateOp::And => (StateKind::And(vec![left, right]), true),
            StateOp::Or => (StateKind::Or(vec![left, right]), true),
            _ => (StateKind::Implies(Box::new(left), Box::new(right)), false),
        };
        let part = self.0.state_node(kind, span, below);
        StatePart { open: open && part.formula.depth > 1, ..part }
    }

    fn span(node: &StatePart) -> Span {
        node.formula.node.span
    }
}

fn closed(formula: Deep<StateFormula>) -> StatePart {
    StatePart { formula, open: false }
}

/// Stands where a formula had to be refused.
fn no_state(span: Span) -> Deep<StateFormula> {
    Deep::leaf(StateFormula { kind: StateKind::Bool(true), span })
}

impl Reader {
    fn state_node(&mut self, kind: StateKind, span: Span, below: u32) -> StatePart {
        closed(match self.deepen(below, span) {
            Some(depth) => Deep { node: StateFormula { kind, span }, depth },
            None => no_state(span),
        })
    }

    /// The formula of a whole file or of `form`, and what is unclear in it.
    pub(super) fn formula(&mut self, pair: Pair<'_, Rule>) -> Option<(StateFormula, Vec<Unclear>)> {
        let state = parts(pair).next().map(|state| self.state(state).node)?;
        Some((state, std::mem::take(&mut self.unclear)))
    }

    fn state(&mut self, pair: Pair<'_, Rule>) -> Deep<StateFormula> {
        let mut climb = Climb::new();
        let text = pair.get_input();
        for item in pair.into_inner() {
            let span = self.span(&item);
            if item.as_rule() == Rule::state_infix {
                let (level, assoc, op) = match item.as_str() {
                    "=>" => (levels::IMPLIES, Assoc::Right, StateOp::Implies),
                    "||" => (levels::OR, Assoc::Chain, StateOp::Or),
                    "&&" => (levels::AND, Assoc::Chain, StateOp::And),
                    _ => {
                        self.no_quantity(&item);
                        (levels::AND, Assoc::Chain, StateOp::And)
                    }
                };
                climb.infix(&mut States(self), level, assoc, op);
            } else if item.as_rule() == Rule::quantity || matches!(item.as_str(), "-" | "#") {
                self.no_quantity(&item);
            } else if let Some((level, op)) = self.state_prefix(&item, span) {
                climb.prefix(level, op, span);
            } else {
                climb.operand(closed(self.state_primary(item, span)));
            }
        }
        let (whole, partings) = climb.finish(&mut States(self));
        self.perhaps_ambiguous(text, &partings);
        whole.map_or_else(
            || {
                self.broken();
                no_state(Span::default())
            },
            |whole| whole.formula,
        )
    }

    fn no_quantity(&mut self, item: &Pair<'_, Rule>) {
        let span = self.span(item);
        let word = item.as_str().split_whitespace().next().unwrap_or_default();
        self.error_help(
            span,
            format!("'{word}' on formulas is not supported: a formula holds or does not, it has no quantity"),
            "combine formulas with '&&', '||', '=>' and '!'",
        );
    }

    fn state_prefix(&mut self, item: &Pair<'_, Rule>, span: Span) -> Option<(u8, StateOp)> {
        let item = item.clone();
        Some(match item.as_rule() {
            Rule::sign => (levels::MODALITY, StateOp::Not(span)),
            Rule::box_modality => (levels::MODALITY, StateOp::Box(self.regular_inside(item)?, span)),
            Rule::diamond_modality => (levels::MODALITY, StateOp::Diamond(self.regular_inside(item)?, span)),
            Rule::quantifier => {
                let (quantifier, vars, below) = self.quantifier(item);
                (levels::QUANTIFIER, StateOp::Quantifier(quantifier, vars, below, span))
            }
            Rule::fixpoint => (levels::FIXPOINT, self.fixpoint(item, span)?),
            _ => return None,
        })
    }

    fn regular_inside(&mut self, pair: Pair<'_, Rule>) -> Option<Deep<RegularFormula>> {
        parts_of(pair, Rule::regular).next().map(|regular| self.regular(regular))
    }

    /// `forall x: S.` or `exists x: S.`: which, its variables, and the depth of their sorts.
    pub(super) fn quantifier(&mut self, pair: Pair<'_, Rule>) -> (Quantifier, Vec<VarDecl>, u32) {
        let mut quantifier = Quantifier::Forall;
        let mut vars = (Vec::new(), 0);
        for part in parts(pair) {
            match part.as_str() {
                "forall" => quantifier = Quantifier::Forall,
                "exists" => quantifier = Quantifier::Exists,
                _ => vars = self.vars(part),
            }
        }
        (quantifier, vars.0, vars.1)
    }

    fn fixpoint(&mut self, pair: Pair<'_, Rule>, span: Span) -> Option<StateOp> {
        let mut fixpoint = Fixpoint::Least;
        let mut name = None;
        let mut params = Vec::new();
        let mut below = 0;
        for part in parts(pair) {
            match part.as_rule() {
                Rule::fixpoint_word if part.as_str() == "nu" => fixpoint = Fixpoint::Greatest,
                Rule::formula_name => name = Some(self.ident(&part)),
                Rule::fixpoint_params => {
                    for param in parts_of(part, Rule::fixpoint_param) {
                        let (param, depth) = self.fixpoint_param(param);
                        below = below.max(depth);
                        params.extend(param);
                    }
                }
                _ => {}
            }
        }
        Some(StateOp::Fixpoint(fixpoint, name?, params, below, span))
    }

    fn fixpoint_param(&mut self, pair: Pair<'_, Rule>) -> (Option<FixpointParam>, u32) {
        let mut name = None;
        let mut sort = None;
        let mut value = None;
        for part in parts(pair) {
            match part.as_rule() {
                Rule::name => name = Some(self.ident(&part)),
                Rule::sort => sort = Some(self.sort(part)),
                _ => value = Some(self.data(part)),
            }
        }
        let (Some(name), Some(sort), Some(value)) = (name, sort, value) else { return (None, 0) };
        let below = sort.depth.max(value.depth);
        (Some(FixpointParam { name, sort: sort.node, value: value.node }), below)
    }

    fn state_primary(&mut self, pair: Pair<'_, Rule>, span: Span) -> Deep<StateFormula> {
        let (kind, below) = match pair.as_rule() {
            Rule::truth => (StateKind::Bool(pair.as_str() == "true"), 0),
            Rule::value => {
                let value = self.value(pair, span);
                (StateKind::Data(value.node), value.depth)
            }
            Rule::variable => {
                let Some((name, arguments, below)) = self.applied_name(pair) else { return no_state(span) };
                let span = arguments.last().map_or(name.span, |_| span);
                return self.state_node(StateKind::Variable(name, arguments), span, below).formula;
            }
            Rule::state_parens => {
                let Some(inner) = parts(pair).next() else { return no_state(span) };
                let mut inner = self.state(inner);
                inner.node.span = span;
                return inner;
            }
            _ => {
                let word =
                    pair.as_str().split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
                self.no_time(Span::new(span.start as usize, span.start as usize + word.len()), word);
                return no_state(span);
            }
        };
        self.state_node(kind, span, below).formula
    }

    /// Reports an operator of time.
    pub(super) fn no_time(&mut self, span: Span, word: &str) {
        self.error_help(
            span,
            format!("time ('{word}') is not supported"),
            "remove the time; only the order of actions is explored",
        );
    }

    /// `val(e)`.
    pub(super) fn value(&mut self, pair: Pair<'_, Rule>, span: Span) -> Deep<Data> {
        match parts_of(pair, Rule::data).next() {
            Some(data) => self.data(data),
            None => super::data::no_data(span),
        }
    }

    /// `X`, `a(e, f)`: the name, the arguments and their depth.
    fn applied_name(&mut self, pair: Pair<'_, Rule>) -> Option<(Ident, Vec<Data>, u32)> {
        let mut name = None;
        let mut arguments = (Vec::new(), 0);
        for part in parts(pair) {
            match part.as_rule() {
                Rule::arguments => arguments = self.plain_arguments(part),
                _ => name = Some(self.ident(&part)),
            }
        }
        Some((name?, arguments.0, arguments.1))
    }

    /// `a(e) | b`.
    pub(super) fn multi_action(&mut self, pair: Pair<'_, Rule>) -> Deep<ActionFormula> {
        let mut actions = Vec::new();
        let mut below = 0;
        let mut span = Span::new(self.span(&pair).start as usize, self.span(&pair).start as usize);
        for action in parts_of(pair, Rule::action) {
            span = action.clone().into_inner().fold(span, |span, part| span.to(self.span(&part)));
            let Some((name, arguments, depth)) = self.applied_name(action) else { continue };
            below = below.max(depth);
            actions.push(Action { name, arguments });
        }
        self.action_node(ActionKind::MultiAction(actions), span, below)
    }

    /// An action pattern.
    pub(super) fn pattern(&mut self, pair: Pair<'_, Rule>) -> ActionPattern {
        let span = self.span(&pair);
        let mut actions = Vec::new();
        for action in parts_of(pair, Rule::pattern_action) {
            let mut name = None;
            let mut arguments = None;
            for part in parts(action) {
                match part.as_rule() {
                    Rule::name => name = Some(self.ident(&part)),
                    _ => {
                        arguments =
                            Some(parts(part).map(|argument| self.pattern_argument(argument)).collect())
                    }
                }
            }
            actions.extend(name.map(|name| PatternAction { name, arguments }));
        }
        ActionPattern { actions, span }
    }

    fn pattern_argument(&mut self, pair: Pair<'_, Rule>) -> PatternArgument {
        let span = self.span(&pair);
        if pair.as_rule() == Rule::wildcard {
            return PatternArgument::Any(span);
        }
        let inner = pair.clone().into_inner().flatten();
        if let Some(wildcard) =
            inner.into_iter().find(|part| part.as_rule() == Rule::name && part.as_str() == "_")
        {
            let place = self.span(&wildcard);
            self.error_help(
                place,
                "'_' stands for a whole argument, not for a part of one",
                "write '_' in place of the whole argument",
            );
        }
        PatternArgument::Data(self.data(pair).node)
    }
}
