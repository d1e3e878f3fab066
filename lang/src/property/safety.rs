//! The safety part of state formulas: what must never happen, as regular expressions.
//!
//! A formula is walked with the boxes around it and with its polarity, and falls apart into obligations: no beginning of a
//! run may be a word of a regular language (`[R]false`), or no word of it may lead to a deadlock (`[true*]<true>true`). Any
//! other formula is refused, with the operator that makes it so.

use super::automaton::Regular;
use super::instantiate::Instantiation;
use super::predicate::Predicate;
use crate::diagnostic::{Diagnostic, Span};
use crate::syntax::formula::{Fixpoint, Quantifier, RegularFormula, RegularKind, StateFormula, StateKind};

/// The most obligations of one formula: as many parts as its quantifiers may be spelt out to.
const MAX_OBLIGATIONS: usize = 100_000;

/// What formulas may look like, for people.
const SUPPORTED: &str = "supported are [R]f, f && g, forall over finite or bounded sorts, val(b), true, false, \
                         <true>true behind [true*], and nu X. f && [R]X, where f and g are such formulas";

/// What a formula asks for.
#[derive(Debug)]
pub struct Obligation {
    /// The words after which the obligation applies.
    pub words: Regular,
    /// What must not be the case then.
    pub kind: Kind,
    /// The values of the variables, for people.
    pub bindings: String,
}

/// What must not be the case after a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// That the word happens at all.
    Word,
    /// A deadlock. The place is that of the formula.
    Deadlock(Span),
}

/// Refuses an operator.
fn unsupported(span: Span, operator: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(span, format!("{operator} is not supported here: {reason}")).help(SUPPORTED)
}

/// Refuses a fixed point, at its `mu` or `nu`.
fn no_fixpoint(fixpoint: Fixpoint, name: Span, formula: Span) -> Diagnostic {
    let (word, reason) = match fixpoint {
        Fixpoint::Least => ("'mu'", "a least fixed point is no safety property"),
        Fixpoint::Greatest => {
            ("'nu'", "only 'nu X. f && [R]X' without parameters is a safety property for sure")
        }
    };
    unsupported(Span { start: formula.start.min(name.start), end: name.end }, word, reason)
}

/// Collects the obligations of a formula.
pub struct Collector<'a, 'b> {
    instantiation: &'b mut Instantiation<'a>,
    prefix: Vec<Regular>,
    obligations: Vec<Obligation>,
}

impl<'a, 'b> Collector<'a, 'b> {
    /// The obligations of a formula, in the order of the text.
    pub fn collect(
        instantiation: &'b mut Instantiation<'a>,
        formula: &StateFormula,
    ) -> Result<Vec<Obligation>, Diagnostic> {
        let mut collector = Collector { instantiation, prefix: Vec::new(), obligations: Vec::new() };
        collector.state(formula, true)?;
        Ok(collector.obligations)
    }

    fn oblige(&mut self, kind: Kind, span: Span) -> Result<(), Diagnostic> {
        if self.obligations.len() >= MAX_OBLIGATIONS {
            return Err(Diagnostic::new(
                span,
                format!("the formula has more than {MAX_OBLIGATIONS} conjuncts"),
            )
            .help("split it over several files, or quantify inside the action formulas"));
        }
        let words = Regular::Seq(self.prefix.clone());
        self.obligations.push(Obligation { words, kind, bindings: self.instantiation.bindings() });
        Ok(())
    }

    /// `formula` if `positive`, else its negation.
    fn state(&mut self, formula: &StateFormula, positive: bool) -> Result<(), Diagnostic> {
        if let Some(truth) = self.constant(formula)? {
            return if truth == positive { Ok(()) } else { self.oblige(Kind::Word, formula.span) };
        }
        match &formula.kind {
            StateKind::Bool(_) | StateKind::Data(_) => Ok(()),
            StateKind::Not(f) => self.state(f, !positive),
            StateKind::And(fs) if positive => fs.iter().try_for_each(|f| self.state(f, true)),
            StateKind::Or(fs) if !positive => fs.iter().try_for_each(|f| self.state(f, false)),
            StateKind::And(fs) => self.one_of(fs, false, formula.span, "'!' before a conjunction"),
            StateKind::Or(fs) => self.one_of(fs, true, formula.span, "'||'"),
            StateKind::Implies(f, g) => self.implies(f, g, positive, formula.span),
            StateKind::Box(r, f) if positive => self.modality(r, f, true),
            StateKind::Diamond(r, f) if !positive => self.modality(r, f, false),
            StateKind::Diamond(r, f) => self.diamond(r, f, true, formula.span),
            StateKind::Box(r, f) => self.diamond(r, f, false, formula.span),
            StateKind::Quantifier(quantifier, vars, body) => {
                if positive != (*quantifier == Quantifier::Forall) {
                    let word = if positive { "'exists'" } else { "'!' before 'forall'" };
                    let reason = "one value would be enough, which no single run can refute";
                    return Err(unsupported(operator_place(formula, &body.span), word, reason));
                }
                let (prefix, obligations) = (&mut self.prefix, &mut self.obligations);
                let vars: Vec<_> = vars.iter().collect();
                // Values for which the body is just true oblige to nothing.
                self.instantiation.for_each(&vars, &|g| g.state(body, !positive), &mut |instantiation| {
                    let mut inner = Collector {
                        instantiation,
                        prefix: std::mem::take(prefix),
                        obligations: std::mem::take(obligations),
                    };
                    let result = inner.state(body, positive);
                    (*prefix, *obligations) = (inner.prefix, inner.obligations);
                    result
                })
            }
            StateKind::Fixpoint(fixpoint, name, params, body) => {
                let refused = no_fixpoint(*fixpoint, name.span, formula.span);
                if !positive || *fixpoint == Fixpoint::Least || !params.is_empty() {
                    return Err(refused);
                }
                self.invariant(&name.name, body).unwrap_or(Err(refused))
            }
            StateKind::Variable(name, _) => {
                let word = format!("'{}'", name.name);
                Err(unsupported(name.span, &word, "a fixed point variable stands only in 'nu X. f && [R]X'"))
            }
        }
    }

    /// The truth of a formula without modalities, quantifiers and fixed points.
    fn constant(&mut self, formula: &StateFormula) -> Result<Option<bool>, Diagnostic> {
        Ok(match &formula.kind {
            StateKind::Bool(b) => Some(*b),
            StateKind::Data(data) => Some(self.instantiation.truth(data)?),
            StateKind::Not(f) => self.constant(f)?.map(|b| !b),
            StateKind::And(fs) | StateKind::Or(fs) => {
                let and = matches!(formula.kind, StateKind::And(_));
                let mut all = Some(and);
                for f in fs {
                    match self.constant(f)? {
                        Some(b) if b == and => {}
                        Some(b) => return Ok(Some(b)),
                        None => all = None,
                    }
                }
                all
            }
            // What stands behind a premise that does not hold may have no value at all.
            StateKind::Implies(f, g) => match self.constant(f)? {
                Some(false) => Some(true),
                Some(true) => self.constant(g)?,
                None => self.constant(g)?.filter(|b| *b),
            },
            _ => None,
        })
    }

    /// A disjunction of formulas or, if not `positive`, of their negations. At most one may be more than a constant.
    fn one_of(
        &mut self,
        operands: &[StateFormula],
        positive: bool,
        span: Span,
        word: &str,
    ) -> Result<(), Diagnostic> {
        let mut open = Vec::new();
        for f in operands {
            // Had a constant decided the whole, it would be a constant itself.
            if self.constant(f)?.is_none() {
                open.push(f);
            }
        }
        match open[..] {
            [only] => self.state(only, positive),
            _ => {
                let reason = "with two alternatives that are not just data no single run refutes it";
                Err(unsupported(operator_between(operands, span), word, reason))
            }
        }
    }

    fn implies(
        &mut self,
        f: &StateFormula,
        g: &StateFormula,
        positive: bool,
        span: Span,
    ) -> Result<(), Diagnostic> {
        if !positive {
            self.state(f, true)?;
            return self.state(g, false);
        }
        match (self.constant(f)?, self.constant(g)?) {
            (Some(_), _) => self.state(g, true),
            (_, Some(_)) => self.state(f, false),
            _ => {
                let place = Span { start: f.span.end, end: g.span.start.max(f.span.end) };
                let place = if place.start < place.end { place } else { span };
                Err(unsupported(place, "'=>'", "its left side must be data, as in 'val(b) => f'"))
            }
        }
    }

    /// `[R]f` if `positive`, else `!<R>f`, which is `[R]!f`.
    fn modality(&mut self, r: &RegularFormula, f: &StateFormula, positive: bool) -> Result<(), Diagnostic> {
        let regular = self.instantiation.regular(r)?;
        self.prefix.push(regular);
        let result = self.state(f, positive);
        self.prefix.pop();
        result
    }

    /// `<R>f` if `positive`, else `![R]f`. Only `<true>true` is possible.
    fn diamond(
        &mut self,
        r: &RegularFormula,
        f: &StateFormula,
        positive: bool,
        span: Span,
    ) -> Result<(), Diagnostic> {
        if let RegularKind::Action(action) = &r.kind
            && self.instantiation.action(action)? == Predicate::Const(true)
            && self.constant(f)? == Some(positive)
        {
            return self.oblige(Kind::Deadlock(span), span);
        }
        let word = if positive { "'<…>'" } else { "'!' before '[…]'" };
        let place = Span { start: span.start, end: f.span.start.max(span.start + 1) };
        Err(unsupported(
            place,
            word,
            "it asks for a step that some run makes; only '<true>true' behind '[true*]' does",
        ))
    }

    /// `nu X. f && [R]X`, which is `[R*]f`; `None` if the body is not like that.
    fn invariant(&mut self, name: &str, body: &StateFormula) -> Option<Result<(), Diagnostic>> {
        let mut conjuncts = Vec::new();
        flatten(body, &mut conjuncts);
        let mut steps = Vec::new();
        let mut rest = Vec::new();
        for f in conjuncts {
            match &f.kind {
                StateKind::Box(r, x) if is_variable(x, name) => steps.push(r),
                _ if mentions(f, name) => return None,
                _ => rest.push(f),
            }
        }
        let steps: Result<Vec<Regular>, Diagnostic> =
            steps.into_iter().map(|r| self.instantiation.regular(r)).collect();
        Some(steps.and_then(|steps| {
            self.prefix.push(Regular::Star(Box::new(Regular::Choice(steps))));
            let result = rest.into_iter().try_for_each(|f| self.state(f, true));
            self.prefix.pop();
            result
        }))
    }
}

fn flatten<'f>(formula: &'f StateFormula, out: &mut Vec<&'f StateFormula>) {
    match &formula.kind {
        StateKind::And(fs) => fs.iter().for_each(|f| flatten(f, out)),
        _ => out.push(formula),
    }
}

fn is_variable(formula: &StateFormula, name: &str) -> bool {
    matches!(&formula.kind, StateKind::Variable(x, args) if &*x.name == name && args.is_empty())
}

/// Whether a fixed point variable of that name occurs anywhere.
fn mentions(formula: &StateFormula, name: &str) -> bool {
    match &formula.kind {
        StateKind::Bool(_) | StateKind::Data(_) => false,
        StateKind::Variable(x, _) => &*x.name == name,
        StateKind::And(fs) | StateKind::Or(fs) => fs.iter().any(|f| mentions(f, name)),
        StateKind::Implies(f, g) => mentions(f, name) || mentions(g, name),
        StateKind::Not(f)
        | StateKind::Box(_, f)
        | StateKind::Diamond(_, f)
        | StateKind::Fixpoint(_, _, _, f)
        | StateKind::Quantifier(_, _, f) => mentions(f, name),
    }
}

/// What stands before the body of a formula.
fn operator_place(formula: &StateFormula, body: &Span) -> Span {
    Span { start: formula.span.start, end: body.start.max(formula.span.start + 1) }
}

/// What stands between the first two operands.
fn operator_between(operands: &[StateFormula], whole: Span) -> Span {
    match operands {
        [a, b, ..] if a.span.end < b.span.start => Span { start: a.span.end, end: b.span.start },
        _ => whole,
    }
}
