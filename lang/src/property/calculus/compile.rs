//! From the syntax tree of a formula to nodes.
//!
//! Negations move inwards; `[R*]f` becomes `nu X. f && [R]X`, `<R*>f` becomes `mu X. f || <R>X`. A fixed point has an even
//! rank if it is a greatest one and an odd one if it is a least one, and no smaller one than the fixed points inside of it.
//!
//! Quantifiers are in `quantify`.

use super::action::{Action, Pattern, joined};
use super::node::{Kind, Modal, Node, NodeId, Quantified, Unknown};
use crate::data::code::{Code, Slot, visit_slots};
use crate::data::compile::{Compiler, Scope, negate};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{Expr, Model, VarId};
use crate::property::labels::TERMINATE;
use crate::property::resolve::Meanings;
use crate::syntax::formula::{
    Action as SyntaxAction, ActionFormula, ActionKind, Fixpoint, Quantifier, RegularFormula, RegularKind,
    StateFormula, StateKind,
};
use crate::syntax::tree::{Data, VarDecl};
use gridlock_lts::base::hash::{Map, Set};
use std::sync::Arc;

/// The most parts of a formula after translation.
const MOST_NODES: usize = 100_000;

/// The most ways to read a multi-action.
const MOST_READINGS: usize = 64;

/// A fixed point while its body is translated.
struct Open {
    body: NodeId,
    /// How often the formula around it is negated, modulo two.
    positive: bool,
}

/// Translates one formula.
pub struct Translation<'m> {
    pub(super) meanings: &'m Meanings,
    pub(super) model: &'m Model,
    pub(super) scope: Scope,
    pub(super) lambdas: u32,
    /// The slots of the variables that the formula declares.
    declared: Set<Slot>,
    nodes: Vec<Node>,
    /// By the place of the name.
    open: Map<Span, Open>,
    /// The modal formula whose regular formula is translated: what people are shown for each of its parts.
    pub(super) around: Option<Span>,
}

impl<'m> Translation<'m> {
    /// Translates a formula: the nodes, the first one last, and the frame that their data needs.
    pub fn of(
        meanings: &'m Meanings,
        model: &'m Model,
        lambdas: u32,
        formula: &StateFormula,
    ) -> Result<(Vec<Node>, NodeId, u32), Diagnostic> {
        let mut translation = Translation {
            meanings,
            model,
            scope: Scope::default(),
            lambdas,
            declared: Set::default(),
            nodes: Vec::new(),
            open: Map::default(),
            around: None,
        };
        let root = translation.state(formula, true)?;
        translation.free_variables();
        Ok((translation.nodes, root, translation.scope.size()))
    }

    pub(super) fn add(&mut self, kind: Kind, span: Span) -> Result<NodeId, Diagnostic> {
        if self.nodes.len() >= MOST_NODES {
            let message = format!("the formula has more than {MOST_NODES} parts when it is spelt out");
            return Err(Diagnostic::new(span, message).help("split it over several files"));
        }
        let of = |node: &NodeId| self.nodes[*node as usize].rank;
        let rank = match &kind {
            Kind::Const(_) | Kind::Data(..) => 0,
            Kind::Junction(_, parts) => parts.iter().map(of).max().unwrap_or(0),
            Kind::Quantifier(_, quantifier) => of(&quantifier.body),
            Kind::Modal(_, modal) => of(&modal.next),
            // A first call comes after its body, any other one leads outwards: see `fix`.
            Kind::Call(..) => 0,
            Kind::Body(_, _, rank) => *rank,
        };
        self.nodes.push(Node { kind, span, free: Vec::new(), rank });
        Ok((self.nodes.len() - 1) as NodeId)
    }

    pub(super) fn constant(&mut self, b: bool, span: Span) -> Result<NodeId, Diagnostic> {
        self.add(Kind::Const(b), span)
    }

    pub(super) fn junction(
        &mut self,
        and: bool,
        mut parts: Vec<NodeId>,
        span: Span,
    ) -> Result<NodeId, Diagnostic> {
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        self.add(Kind::Junction(and, parts), span)
    }

    /// Compiles an expression.
    pub(super) fn code(&mut self, expr: &Expr) -> Code {
        let mut compiler = Compiler::numbering_from(self.model, self.lambdas);
        let code = compiler.expr(expr, &mut self.scope);
        self.lambdas = compiler.lambdas();
        code
    }

    /// Compiles data that must be true, or false.
    pub(super) fn data(&mut self, data: &Data, positive: bool) -> Code {
        let code = self.code(self.meanings.expr(data));
        if positive { code } else { negate(code) }
    }

    pub(super) fn bind(&mut self, var: VarId) -> Slot {
        let slot = self.scope.bind(var);
        self.declared.insert(slot);
        slot
    }

    /// A variable to be given values.
    pub(super) fn unknown(&mut self, decl: &VarDecl) -> Unknown {
        let var = self.meanings.var(decl);
        let slot = self.bind(var);
        Unknown {
            slot,
            sort: self.model.vars[var.ix()].sort,
            name: decl.name.name.clone(),
            span: decl.name.span,
        }
    }

    /// A state formula or, if not `positive`, its negation.
    pub(super) fn state(&mut self, formula: &StateFormula, positive: bool) -> Result<NodeId, Diagnostic> {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.state_here(formula, positive))
    }

    fn state_here(&mut self, formula: &StateFormula, positive: bool) -> Result<NodeId, Diagnostic> {
        let span = formula.span;
        match &formula.kind {
            StateKind::Bool(b) => self.constant(*b == positive, span),
            StateKind::Data(data) => {
                let code = self.data(data, true);
                self.add(Kind::Data(code, positive), data.span)
            }
            StateKind::Not(f) => self.state(f, !positive),
            StateKind::And(fs) => self.parts(positive, fs.iter().map(|f| (f, positive)), span),
            StateKind::Or(fs) => self.parts(!positive, fs.iter().map(|f| (f, positive)), span),
            StateKind::Implies(f, g) => {
                self.parts(!positive, [(&**f, !positive), (&**g, positive)].into_iter(), span)
            }
            StateKind::Box(r, f) => self.modality(positive, r, f, positive, span),
            StateKind::Diamond(r, f) => self.modality(!positive, r, f, positive, span),
            StateKind::Quantifier(quantifier, vars, body) => {
                let all = (*quantifier == Quantifier::Forall) == positive;
                self.quantified(all, vars.iter().collect(), Vec::new(), body, positive)
            }
            StateKind::Fixpoint(fixpoint, name, params, f) => {
                let greatest = (*fixpoint == Fixpoint::Greatest) == positive;
                let (mut slots, mut first) = (Vec::new(), Vec::new());
                for param in params {
                    let var = self.meanings.named(&param.name);
                    first.push((self.code(self.meanings.expr(&param.value)), self.model.vars[var.ix()].sort));
                    slots.push(self.bind(var));
                }
                let body = self.open_body(slots, span)?;
                self.open.insert(name.span, Open { body, positive });
                let inside = self.state(f, positive)?;
                self.open.remove(&name.span);
                self.close_body(body, greatest, inside, first, span)
            }
            StateKind::Variable(name, args) => {
                let open = &self.open[&self.meanings.declared_at(name)];
                let body = open.body;
                if open.positive != positive {
                    let message = format!("'{}' stands behind an odd number of negations", name.name);
                    return Err(Diagnostic::new(name.span, message)
                        .help("a fixed point exists for sure only if its variable is negated an even number of times"));
                }
                let mut values = Vec::new();
                for arg in args {
                    let expr = self.meanings.expr(arg);
                    values.push((self.code(expr), expr.sort));
                }
                self.add(Kind::Call(body, values), span)
            }
        }
    }

    pub(super) fn parts<'f>(
        &mut self,
        and: bool,
        parts: impl Iterator<Item = (&'f StateFormula, bool)>,
        span: Span,
    ) -> Result<NodeId, Diagnostic> {
        let parts = parts.map(|(f, positive)| self.state(f, positive)).collect::<Result<Vec<_>, _>>()?;
        self.junction(and, parts, span)
    }

    fn modality(
        &mut self,
        every: bool,
        r: &RegularFormula,
        f: &StateFormula,
        positive: bool,
        span: Span,
    ) -> Result<NodeId, Diagnostic> {
        let next = self.state(f, positive)?;
        let before = self.around.replace(span);
        let modality = self.regular(every, r, next);
        self.around = before;
        modality
    }

    /// The body of a fixed point whose inside is not known yet.
    fn open_body(&mut self, params: Vec<Slot>, span: Span) -> Result<NodeId, Diagnostic> {
        self.add(Kind::Body(params, 0, 0), span)
    }

    /// Gives a fixed point its inside and rank, and makes its first call.
    fn close_body(
        &mut self,
        body: NodeId,
        greatest: bool,
        inside: NodeId,
        first: Vec<(Code, crate::model::SortId)>,
        span: Span,
    ) -> Result<NodeId, Diagnostic> {
        let below = self.nodes[inside as usize].rank;
        let rank = below + u32::from(below.is_multiple_of(2) != greatest);
        let node = &mut self.nodes[body as usize];
        if let Kind::Body(_, to, own) = &mut node.kind {
            (*to, *own) = (inside, rank);
        }
        node.rank = rank;
        let call = self.add(Kind::Call(body, first), span)?;
        self.nodes[call as usize].rank = rank;
        Ok(call)
    }

    /// `[R]` or `<R>` before what follows.
    pub(super) fn regular(
        &mut self,
        every: bool,
        r: &RegularFormula,
        next: NodeId,
    ) -> Result<NodeId, Diagnostic> {
        match &r.kind {
            RegularKind::Action(action) => self.step(every, Vec::new(), Vec::new(), action, next),
            RegularKind::Seq(rs) => rs.iter().rev().try_fold(next, |next, r| self.regular(every, r, next)),
            RegularKind::Choice(rs) => {
                let parts = rs.iter().map(|r| self.regular(every, r, next)).collect::<Result<Vec<_>, _>>()?;
                self.junction(every, parts, r.span)
            }
            RegularKind::Star(body) => self.star(every, body, next, r.span),
            RegularKind::Plus(body) => {
                let star = self.star(every, body, next, r.span)?;
                self.regular(every, body, star)
            }
        }
    }

    pub(super) fn star(
        &mut self,
        every: bool,
        body: &RegularFormula,
        next: NodeId,
        span: Span,
    ) -> Result<NodeId, Diagnostic> {
        let span = self.around.unwrap_or(span);
        let fix = self.open_body(Vec::new(), span)?;
        let again = self.add(Kind::Call(fix, Vec::new()), span)?;
        let round = self.regular(every, body, again)?;
        let inside = self.junction(every, vec![next, round], span)?;
        self.close_body(fix, every, inside, Vec::new(), span)
    }

    /// One step, with variables that get their values from it.
    pub(super) fn step(
        &mut self,
        every: bool,
        unknowns: Vec<Unknown>,
        guards: Vec<Code>,
        action: &ActionFormula,
        next: NodeId,
    ) -> Result<NodeId, Diagnostic> {
        let span = self.around.unwrap_or(action.span);
        let actions = action.span;
        let action = self.action(action)?;
        let modal = Modal { unknowns, condition: joined(true, guards), action, actions, next };
        self.add(Kind::Modal(every, Arc::new(modal)), span)
    }

    pub(super) fn action(&mut self, formula: &ActionFormula) -> Result<Action, Diagnostic> {
        let mut all = |parts: &[ActionFormula]| {
            parts.iter().map(|part| self.action(part)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match &formula.kind {
            ActionKind::Bool(b) => Action::Const(*b),
            ActionKind::Data(data) => Action::Data(self.data(data, true), data.span),
            ActionKind::MultiAction(actions) => self.multi_action(actions, formula.span)?,
            ActionKind::Not(inner) => Action::Not(Box::new(self.action(inner)?)),
            ActionKind::And(parts) => Action::Junction(true, all(parts)?),
            ActionKind::Or(parts) => Action::Junction(false, all(parts)?),
            ActionKind::Implies(a, b) => {
                let premise = Action::Not(Box::new(self.action(a)?));
                Action::Junction(false, vec![premise, self.action(b)?])
            }
            ActionKind::Quantifier(quantifier, vars, inner) => {
                let unknowns = vars.iter().map(|decl| self.unknown(decl)).collect();
                let inner = Box::new(self.action(inner)?);
                Action::Quantifier(*quantifier == Quantifier::Forall, unknowns, inner)
            }
        })
    }

    fn multi_action(&mut self, actions: &[SyntaxAction], span: Span) -> Result<Action, Diagnostic> {
        let mut ways: Vec<Vec<Pattern>> = vec![Vec::new()];
        for action in actions {
            let mut patterns = Vec::new();
            for reading in self.meanings.readings(&action.name) {
                let args = match &reading.args {
                    _ if reading.name == TERMINATE => Some(Vec::new()),
                    None => None,
                    Some(args) => {
                        let code = |(expr, sort): &(Option<Expr>, _)| {
                            expr.as_ref().map(|expr| (self.code(expr), *sort))
                        };
                        Some(args.iter().map(code).collect())
                    }
                };
                patterns.push(Pattern { name: reading.name, args });
            }
            let with = |way: &Vec<Pattern>| {
                patterns
                    .iter()
                    .map(|last| [&way[..], std::slice::from_ref(last)].concat())
                    .collect::<Vec<_>>()
            };
            ways = ways.iter().flat_map(with).collect();
            if ways.len() > MOST_READINGS {
                let message = "the overloads of these actions can be combined in too many ways";
                return Err(
                    Diagnostic::new(span, message).help("give arguments that fit one declaration only")
                );
            }
        }
        Ok(Action::Multi(ways, span))
    }

    /// Which variables each node depends on. Fixed points make a cycle of it, so that it takes a few rounds.
    fn free_variables(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for at in 0..self.nodes.len() {
                let free = self.free_of(at);
                if free != self.nodes[at].free {
                    self.nodes[at].free = free;
                    changed = true;
                }
            }
        }
    }

    fn free_of(&self, at: usize) -> Vec<Slot> {
        let mut free: Vec<Slot> = Vec::new();
        let of = |node: &NodeId| self.nodes[*node as usize].free.iter().copied();
        let add = |code: &Code, free: &mut Vec<Slot>| {
            visit_slots(code, &mut |slot| free.extend(self.declared.contains(&slot).then_some(slot)));
        };
        match &self.nodes[at].kind {
            Kind::Const(_) => {}
            Kind::Data(code, _) => {
                add(code, &mut free);
                // A quantifier over data alone binds variables of the formula.
                if let Code::Quantifier(_, quantifier) = code {
                    free.retain(|slot| quantifier.vars.iter().all(|var| var.0 != *slot));
                }
            }
            Kind::Junction(_, parts) => free.extend(parts.iter().flat_map(of)),
            Kind::Quantifier(_, quantifier) => {
                let Quantified { unknowns, condition, needs, body } = &**quantifier;
                let mut inner = needs.inner.clone();
                needs.need.visit(&mut |action| {
                    action.visit(&mut |code| add(code, &mut free));
                    bound_in(action, &mut inner);
                });
                free.retain(|slot| !inner.contains(slot));
                add(condition, &mut free);
                free.extend(of(body));
                free.retain(|slot| unknowns.iter().all(|unknown| unknown.slot != *slot));
            }
            Kind::Modal(_, modal) => {
                add(&modal.condition, &mut free);
                modal.action.visit(&mut |code| add(code, &mut free));
                free.extend(of(&modal.next));
                let mut bound: Vec<Slot> = modal.unknowns.iter().map(|unknown| unknown.slot).collect();
                bound_in(&modal.action, &mut bound);
                free.retain(|slot| !bound.contains(slot));
            }
            Kind::Call(body, args) => {
                let Kind::Body(params, ..) = &self.nodes[*body as usize].kind else { unreachable!("a body") };
                free.extend(of(body).filter(|slot| !params.contains(slot)));
                args.iter().for_each(|(code, _)| add(code, &mut free));
            }
            Kind::Body(_, inside, _) => free.extend(of(inside)),
        }
        free.sort_unstable();
        free.dedup();
        free
    }
}

/// The slots that quantifiers inside an action formula bind. No slot is bound at two places.
fn bound_in(action: &Action, bound: &mut Vec<Slot>) {
    match action {
        Action::Const(_) | Action::Data(..) | Action::Multi(..) => {}
        Action::Not(inner) => bound_in(inner, bound),
        Action::Junction(_, parts) => parts.iter().for_each(|part| bound_in(part, bound)),
        Action::Quantifier(_, unknowns, inner) => {
            bound.extend(unknowns.iter().map(|unknown| unknown.slot));
            bound_in(inner, bound);
        }
    }
}
