//! Enumeration: all values of some variables that satisfy a condition.
//!
//! Guarded sums, quantifiers and queries from synchronisation partners are all the same problem. Variables are bound
//! one at a time, the one with the fewest candidates first; candidates come from equations with known values, from
//! equalities, memberships and bounds in the condition, and from finite sorts. If none of that bounds a variable, it
//! is replaced by unknowns that are split by constructors (numbers: by their least value) as long as the partially
//! evaluated condition does not say no.

use crate::data::code::{Code, Goal, QuantifierCode, Slot};
use crate::data::compile::occurring;
use crate::data::eval::{Bound, Eval, Evaluator, Failure, Frame};
use crate::data::numbers;
use crate::data::ops;
use crate::data::sorts::fits;
use crate::data::value::{Base, Head, Number, Set, Value};
use crate::model::{Op, SortDef, SortId, Symbol};
use num_traits::ToPrimitive;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// How often unknowns may be split in one enumeration.
const MAX_SPLITS: usize = 20_000;

/// A known value for an expression over the variables: `code == value`.
#[derive(Clone, Debug)]
pub struct Equation<'a> {
    /// The expression.
    pub code: &'a Code,
    /// What it must be.
    pub value: &'a Value,
}

/// How an enumeration ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Solved {
    /// Every solution was reported.
    All,
    /// The caller had enough.
    Stopped,
    /// Nothing bounds this variable.
    Unbounded(Slot),
    /// More candidates than allowed.
    TooMany,
    /// Some condition has no truth value even with every variable bound; the others were reported.
    Undecided,
}

/// What is to be enumerated.
pub struct Problem<'a> {
    /// The variables.
    pub vars: &'a [(Slot, SortId)],
    /// The condition.
    pub goal: &'a Goal,
    /// Values that are known.
    pub equations: Vec<Equation<'a>>,
    /// How many candidates may be tried.
    pub max_candidates: usize,
    /// Whether a solution in which unknowns are left, whatever they are, may be reported: enough for a quantifier.
    pub symbolic: bool,
}

type Report<'r> = dyn FnMut(&mut Frame) -> Eval<ControlFlow<()>> + 'r;

struct Search<'a, 'r> {
    ev: &'a Evaluator,
    problem: &'a Problem<'a>,
    tried: usize,
    undecided: bool,
    report: &'r mut Report<'r>,
}

enum Candidates {
    Values(Vec<Value>),
    Between(Option<Number>, Option<Number>),
}

impl Evaluator {
    /// Whether a quantifier's goal has a solution; `None` if the values it is asked about are themselves unknown.
    pub fn solvable(&self, q: &QuantifierCode, frame: &mut Frame) -> Eval<Option<bool>> {
        let problem = Problem {
            vars: &q.vars,
            goal: &q.goal,
            equations: Vec::new(),
            max_candidates: usize::MAX,
            symbolic: true,
        };
        let mut found = false;
        let outcome = self.solve(&problem, frame, &mut |_| {
            found = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(match outcome {
            _ if found => Some(true),
            Solved::All => Some(false),
            Solved::Undecided => None,
            Solved::Stopped | Solved::Unbounded(_) | Solved::TooMany => {
                let bound: Vec<Slot> = q.vars.iter().map(|v| v.0).collect();
                let vague = q.goal.conjuncts.iter().any(|(code, _)| {
                    let mut vague = false;
                    crate::data::code::visit_slots(code, &mut |s| {
                        if !bound.contains(&s)
                            && let Some(Bound::Now(v)) = frame.get(s as usize)
                        {
                            vague |= v.has_stuck();
                        }
                    });
                    vague
                });
                if vague {
                    return Ok(None);
                }
                return Err(Failure::new(
                    Some(q.span),
                    "cannot decide this quantifier: nothing bounds a variable of an infinite sort",
                    "bound the variable in the body, for example 'exists n: Nat. n < 10 && …'",
                ));
            }
        })
    }

    /// Reports every solution of a problem, each once, in a fixed order.
    pub fn solve(&self, problem: &Problem, frame: &mut Frame, report: &mut Report) -> Eval<Solved> {
        let mut search = Search { ev: self, problem, tried: 0, undecided: false, report };
        let unbound: Vec<usize> = (0..problem.vars.len()).collect();
        let checked = vec![false; problem.goal.conjuncts.len() + problem.equations.len()];
        let outcome = search.step(unbound, checked, frame)?;
        Ok(match outcome {
            Solved::All if search.undecided => Solved::Undecided,
            other => other,
        })
    }
}

impl<'a> Search<'a, '_> {
    fn slots(&self, unbound: &[usize]) -> Vec<Slot> {
        unbound.iter().map(|&i| self.problem.vars[i].0).collect()
    }

    fn step(&mut self, mut unbound: Vec<usize>, mut checked: Vec<bool>, frame: &mut Frame) -> Eval<Solved> {
        let open = self.slots(&unbound);
        // Equations first: they bind variables without any choice.
        for (e, equation) in self.problem.equations.iter().enumerate() {
            let at = self.problem.goal.conjuncts.len() + e;
            if checked[at] {
                continue;
            }
            let open: Vec<Slot> = self.slots(&unbound);
            match self.unify(equation.code, equation.value, &open, frame)? {
                Unified::No => return Ok(Solved::All),
                Unified::Yes(bound) => {
                    checked[at] = true;
                    unbound.retain(|&i| !bound.contains(&self.problem.vars[i].0));
                }
                Unified::Later => {}
            }
        }
        if open.len() != unbound.len() {
            // Newly bound variables may decide further equations.
            return self.step(unbound, checked, frame);
        }
        for (c, (code, occurs)) in self.problem.goal.conjuncts.iter().enumerate() {
            if checked[c] || occurs.iter().any(|s| open.contains(s)) {
                continue;
            }
            match self.ev.eval(code, frame)? {
                Value::Bool(true) => checked[c] = true,
                Value::Bool(false) => return Ok(Solved::All),
                _ => {
                    self.undecided = true;
                    return Ok(Solved::All);
                }
            }
        }
        if unbound.is_empty() {
            return Ok(match (self.report)(frame)? {
                ControlFlow::Continue(()) => Solved::All,
                ControlFlow::Break(()) => Solved::Stopped,
            });
        }
        match self.pick(&unbound, &checked, frame)? {
            Some((var, values)) => self.branch(var, values, unbound, checked, frame),
            None => self.split(unbound, checked, frame),
        }
    }

    fn branch(
        &mut self,
        var: usize,
        values: Vec<Value>,
        mut unbound: Vec<usize>,
        checked: Vec<bool>,
        frame: &mut Frame,
    ) -> Eval<Solved> {
        unbound.retain(|&i| i != var);
        let slot = self.problem.vars[var].0;
        for value in values {
            self.tried += 1;
            if self.tried > self.problem.max_candidates {
                return Ok(Solved::TooMany);
            }
            self.ev.tick(None)?;
            frame[slot as usize] = Bound::Now(value);
            match self.step(unbound.clone(), checked.clone(), frame)? {
                Solved::All => {}
                other => return Ok(other),
            }
        }
        Ok(Solved::All)
    }

    /// The variable with the fewest candidates, and these.
    fn pick(
        &mut self,
        unbound: &[usize],
        checked: &[bool],
        frame: &mut Frame,
    ) -> Eval<Option<(usize, Vec<Value>)>> {
        let open = self.slots(unbound);
        let room = self.problem.max_candidates.saturating_sub(self.tried).saturating_add(1);
        let mut best: Option<(usize, usize, Candidates)> = None;
        for &i in unbound {
            let (slot, sort) = self.problem.vars[i];
            let def = &self.ev.model.sorts[sort.ix()];
            let mut found: Option<Candidates> = match def {
                SortDef::Nat => Some(Candidates::Between(Some(Number::Small(0)), None)),
                SortDef::Pos => Some(Candidates::Between(Some(Number::Small(1)), None)),
                _ => None,
            };
            for (c, (code, occurs)) in self.problem.goal.conjuncts.iter().enumerate() {
                if !checked[c] && occurs.contains(&slot) {
                    let more = self.candidates(code, slot, &open, frame)?;
                    found = both(found, more);
                }
            }
            let size = match &found {
                Some(Candidates::Values(v)) => Some(v.len()),
                Some(Candidates::Between(Some(lo), Some(hi))) if !matches!(def, SortDef::Real) => {
                    span_size(lo, hi)
                }
                _ => None,
            };
            let (size, found) = match (size, self.ev.sorts.size(sort)) {
                (Some(s), Some(n)) if s <= n => (s, found),
                (Some(s), None) => (s, found),
                (_, Some(n)) => (n, None),
                (None, None) => continue,
            };
            if best.as_ref().is_none_or(|b| size < b.1) {
                best = Some((i, size, found.unwrap_or(Candidates::Between(None, None))));
            }
        }
        let Some((i, size, candidates)) = best else { return Ok(None) };
        let sort = self.problem.vars[i].1;
        let def = &self.ev.model.sorts[sort.ix()];
        let mut values = match candidates {
            Candidates::Values(v) => v,
            Candidates::Between(Some(lo), Some(hi)) => integers(&lo, &hi, room),
            // One more than there is room for is enough to notice that it is too many.
            Candidates::Between(..) if size > room => return Ok(Some((i, self.first_values(sort, room)))),
            Candidates::Between(..) => (*self.ev.sorts.values(&self.ev.model, sort).expect("finite")).clone(),
        };
        values.retain(|v| fits(def, v));
        let mut seen = gridlock_lts::base::hash::Set::default();
        values.retain(|v| seen.insert(v.clone()));
        Ok(Some((i, values)))
    }

    fn first_values(&self, sort: SortId, room: usize) -> Vec<Value> {
        let all = self.ev.sorts.values(&self.ev.model, sort).expect("finite");
        all.iter().take(room).cloned().collect()
    }

    /// Values outside of which the condition is surely false for the variable; `None` if it does not say.
    fn candidates(
        &self,
        code: &Code,
        var: Slot,
        open: &[Slot],
        frame: &mut Frame,
    ) -> Eval<Option<Candidates>> {
        let known = |code: &Code| occurring(code, open).is_empty();
        Ok(match code {
            Code::Const(Value::Bool(false)) => Some(Candidates::Values(Vec::new())),
            Code::Junction(true, parts) => {
                let mut all = None;
                for part in parts {
                    all = both(all, self.candidates(part, var, open, frame)?);
                }
                all
            }
            Code::Junction(false, parts) => {
                let mut all = Some(Candidates::Values(Vec::new()));
                for part in parts {
                    if known(part) && self.ev.eval(part, frame)? == Value::Bool(false) {
                        continue;
                    }
                    all = either(all, self.candidates(part, var, open, frame)?);
                }
                all
            }
            Code::If(parts) => {
                if known(&parts[0]) {
                    match self.ev.eval(&parts[0], frame)? {
                        Value::Bool(true) => return self.candidates(&parts[1], var, open, frame),
                        Value::Bool(false) => return self.candidates(&parts[2], var, open, frame),
                        _ => {}
                    }
                }
                let yes = both(
                    self.candidates(&parts[0], var, open, frame)?,
                    self.candidates(&parts[1], var, open, frame)?,
                );
                either(yes, self.candidates(&parts[2], var, open, frame)?)
            }
            Code::Op(op, _, args, _) if args.len() == 2 => {
                let (slot_first, other) = match (&args[0], &args[1]) {
                    (Code::Slot(s), other) if *s == var && known(other) => (true, other),
                    (other, Code::Slot(s)) if *s == var && known(other) => (false, other),
                    (a, b) if *op == Op::Equal && (known(a) || known(b)) => {
                        return self.component(if known(a) { (b, a) } else { (a, b) }, var, open, frame);
                    }
                    _ => return Ok(None),
                };
                self.compare_candidates(*op, slot_first, other, frame)?
            }
            _ => None,
        })
    }

    fn compare_candidates(
        &self,
        op: Op,
        first: bool,
        other: &Code,
        frame: &mut Frame,
    ) -> Eval<Option<Candidates>> {
        let container = matches!(op, Op::InList | Op::InSet | Op::InBag);
        let order = matches!(op, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual);
        if !(op == Op::Equal || order || (container && first)) {
            return Ok(None);
        }
        let value = self.ev.eval(other, frame)?;
        Ok(match (op, &value) {
            (Op::Equal, _) => (!value.has_stuck()).then(|| Candidates::Values(vec![value])),
            (Op::InList, Value::List(l)) => Some(Candidates::Values(l.iter().cloned().collect())),
            (Op::InSet, Value::Set(s)) => finite_part(s).map(Candidates::Values),
            (Op::InBag, Value::Bag(b)) if b.base == Base::Zero => {
                Some(Candidates::Values(b.exceptions.iter().map(|i| i.0.clone()).collect()))
            }
            (_, Value::Number(n)) if order => {
                let upper = matches!(op, Op::Less | Op::LessEqual) == first;
                // Bounds of integers; the exact comparison is checked again once the variable is bound.
                let n = match n {
                    Number::Ratio(r) if upper => Number::from_big(r.floor().to_integer()),
                    Number::Ratio(r) => Number::from_big(r.ceil().to_integer()),
                    n => n.clone(),
                };
                Some(if upper {
                    Candidates::Between(None, Some(n))
                } else {
                    Candidates::Between(Some(n), None)
                })
            }
            _ => None,
        })
    }

    /// The variable's value if `pattern`, which contains it, must equal what `known` yields.
    fn component(
        &self,
        (pattern, known): (&Code, &Code),
        var: Slot,
        open: &[Slot],
        frame: &mut Frame,
    ) -> Eval<Option<Candidates>> {
        if !matches!(pattern, Code::Ctor(..) | Code::List(_) | Code::Op(Op::Cons, ..)) {
            return Ok(None);
        }
        let value = self.ev.eval(known, frame)?;
        let mut trial = frame.clone();
        Ok(match self.unify(pattern, &value, open, &mut trial)? {
            Unified::No => Some(Candidates::Values(Vec::new())),
            Unified::Yes(bound) if bound.contains(&var) => {
                Some(Candidates::Values(vec![self.ev.force(&mut trial, var)?]))
            }
            _ => None,
        })
    }

    /// Makes `code` equal `value` by binding open variables in the frame.
    fn unify(&self, code: &Code, value: &Value, open: &[Slot], frame: &mut Frame) -> Eval<Unified> {
        if let Code::Slot(s) = code
            && open.contains(s)
        {
            let sort =
                self.problem.vars.iter().find(|v| v.0 == *s).expect("open variables are of the problem").1;
            if !fits(&self.ev.model.sorts[sort.ix()], value) {
                return Ok(Unified::No);
            }
            frame[*s as usize] = Bound::Now(value.clone());
            return Ok(Unified::Yes(vec![*s]));
        }
        if occurring(code, open).is_empty() {
            let have = self.ev.eval(code, frame)?;
            return Ok(match ops::equal(&have, value) {
                Some(true) => Unified::Yes(Vec::new()),
                // Two different irreducible terms are different values, as in mCRL2's own exploration.
                _ => Unified::No,
            });
        }
        match (code, value) {
            (Code::Ctor(c, _), Value::Ctor(d, _)) if c != d => Ok(Unified::No),
            (Code::Ctor(_, parts), Value::Ctor(_, args)) => self.unify_all(parts, &args[..], open, frame),
            (Code::List(parts), Value::List(l)) => {
                if parts.len() != l.len() {
                    return Ok(Unified::No);
                }
                let items: Vec<Value> = l.iter().cloned().collect();
                self.unify_all(parts, &items, open, frame)
            }
            (Code::Op(Op::Cons, _, parts, _), Value::List(l)) => match l.get(0) {
                None => Ok(Unified::No),
                Some(first) => {
                    let rest = Value::List(l.clone().tail().expect("not empty"));
                    self.unify_all(parts, &[first.clone(), rest], open, frame)
                }
            },
            _ => Ok(Unified::Later),
        }
    }

    fn unify_all(&self, codes: &[Code], values: &[Value], open: &[Slot], frame: &mut Frame) -> Eval<Unified> {
        let mut bound: Vec<Slot> = Vec::new();
        for (code, value) in codes.iter().zip(values) {
            let still: Vec<Slot> = open.iter().copied().filter(|s| !bound.contains(s)).collect();
            match self.unify(code, value, &still, frame)? {
                Unified::Yes(more) => bound.extend(more),
                // What was bound so far is not reported, so the caller treats all of it as open; the values left in
                // the frame are overwritten before they are read.
                other => return Ok(other),
            }
        }
        Ok(Unified::Yes(bound))
    }

    /// Replaces what nothing bounds by unknowns and splits those.
    fn split(&mut self, unbound: Vec<usize>, checked: Vec<bool>, frame: &mut Frame) -> Eval<Solved> {
        let start: Vec<Value> = unbound.iter().map(|&i| self.unknown(self.problem.vars[i].1)).collect();
        let mut queue = VecDeque::from([start]);
        let mut splits = 0;
        while let Some(partial) = queue.pop_front() {
            for (&i, value) in unbound.iter().zip(&partial) {
                frame[self.problem.vars[i].0 as usize] = Bound::Now(value.clone());
            }
            let mut all_true = true;
            let mut refuted = false;
            for (c, (code, _)) in self.problem.goal.conjuncts.iter().enumerate() {
                if !checked[c] {
                    match self.ev.eval(code, frame)? {
                        Value::Bool(true) => {}
                        Value::Bool(false) => {
                            refuted = true;
                            break;
                        }
                        _ => all_true = false,
                    }
                }
            }
            if !refuted {
                for equation in &self.problem.equations {
                    match ops::equal(&self.ev.eval(equation.code, frame)?, equation.value) {
                        Some(true) => {}
                        Some(false) => refuted = true,
                        None => all_true = false,
                    }
                }
            }
            if refuted {
                continue;
            }
            let place = partial.iter().position(has_unknown);
            let Some(place) = place else {
                if all_true {
                    if let ControlFlow::Break(()) = (self.report)(frame)? {
                        return Ok(Solved::Stopped);
                    }
                } else {
                    self.undecided = true;
                }
                continue;
            };
            if all_true && self.problem.symbolic {
                if let ControlFlow::Break(()) = (self.report)(frame)? {
                    return Ok(Solved::Stopped);
                }
                continue;
            }
            // Whatever an unknown of an infinite sort is, the condition holds: there is no end to the solutions.
            if all_true && !self.first_unknown_is_finite(&partial[place]) {
                return Ok(Solved::Unbounded(self.problem.vars[unbound[place]].0));
            }
            splits += 1;
            self.tried += 1;
            self.ev.tick(None)?;
            if splits > MAX_SPLITS || self.tried > self.problem.max_candidates {
                return Ok(Solved::Unbounded(self.problem.vars[unbound[place]].0));
            }
            let Some(parts) = self.split_value(&partial[place]) else {
                return Ok(Solved::Unbounded(self.problem.vars[unbound[place]].0));
            };
            for part in parts {
                let mut next = partial.clone();
                next[place] = part;
                queue.push_back(next);
            }
        }
        Ok(Solved::All)
    }

    fn first_unknown_is_finite(&self, value: &Value) -> bool {
        match value {
            Value::Stuck(s) => match &s.head {
                Head::Unknown(_, sort) => self.ev.sorts.size(*sort).is_some(),
                Head::Range(..) => false,
                _ => s.args.iter().find(|a| has_unknown(a)).is_some_and(|a| self.first_unknown_is_finite(a)),
            },
            Value::Ctor(_, args) => {
                args.iter().find(|a| has_unknown(a)).is_some_and(|a| self.first_unknown_is_finite(a))
            }
            Value::List(l) => {
                l.iter().find(|a| has_unknown(a)).is_some_and(|a| self.first_unknown_is_finite(a))
            }
            _ => false,
        }
    }

    fn unknown(&self, sort: SortId) -> Value {
        match &self.ev.model.sorts[sort.ix()] {
            SortDef::Pos => numbers::range(Some(Number::Small(1)), None),
            SortDef::Nat => numbers::range(Some(Number::Small(0)), None),
            SortDef::Int => numbers::range(None, None),
            _ => Value::stuck(Head::Unknown(0, sort), Vec::new()),
        }
    }

    /// The ways in which the first unknown inside a value can be refined; `None` if its sort cannot be split.
    fn split_value(&self, value: &Value) -> Option<Vec<Value>> {
        match value {
            Value::Stuck(s) => match &s.head {
                Head::Unknown(_, sort) => self.split_sort(*sort),
                Head::Range(lo, hi) => Some(split_range(lo, hi)),
                Head::Symbol(Symbol::Op(Op::Cons), _) => {
                    let at = s.args.iter().position(has_unknown)?;
                    let parts = self.split_value(&s.args[at])?;
                    Some(
                        parts
                            .into_iter()
                            .map(|part| {
                                let mut args = s.args.clone();
                                args[at] = part;
                                cons(args)
                            })
                            .collect(),
                    )
                }
                _ => None,
            },
            Value::Ctor(c, args) => {
                let at = args.iter().position(has_unknown)?;
                let parts = self.split_value(&args[at])?;
                Some(
                    parts
                        .into_iter()
                        .map(|part| {
                            let mut args = args.to_vec();
                            args[at] = part;
                            Value::Ctor(*c, args.into())
                        })
                        .collect(),
                )
            }
            Value::List(l) => {
                let items: Vec<Value> = l.iter().cloned().collect();
                let at = items.iter().position(has_unknown)?;
                let parts = self.split_value(&items[at])?;
                Some(
                    parts
                        .into_iter()
                        .map(|part| {
                            let mut items = items.clone();
                            items[at] = part;
                            Value::List(crate::data::value::List::new(items))
                        })
                        .collect(),
                )
            }
            _ => None,
        }
    }

    fn split_sort(&self, sort: SortId) -> Option<Vec<Value>> {
        match &self.ev.model.sorts[sort.ix()] {
            SortDef::List(e) => {
                Some(vec![Value::List(Default::default()), cons(vec![self.unknown(*e), self.unknown(sort)])])
            }
            SortDef::Named { constructors, .. } if !constructors.is_empty() => Some(
                constructors
                    .iter()
                    .map(|c| {
                        let fields = &self.ev.model.constructors[c.ix()].fields;
                        Value::Ctor(*c, fields.iter().map(|f| self.unknown(*f)).collect())
                    })
                    .collect(),
            ),
            _ => self.ev.sorts.values(&self.ev.model, sort).map(|v| (*v).clone()),
        }
    }
}

enum Unified {
    No,
    Later,
    Yes(Vec<Slot>),
}

fn cons(args: Vec<Value>) -> Value {
    if let [head, Value::List(tail)] = &args[..] {
        return Value::List(tail.clone().cons(head.clone()));
    }
    Value::stuck(Head::Symbol(Symbol::Op(Op::Cons), 1), args)
}

fn has_unknown(value: &Value) -> bool {
    match value {
        Value::Stuck(s) => {
            matches!(s.head, Head::Unknown(..) | Head::Range(..)) || s.args.iter().any(has_unknown)
        }
        Value::Ctor(_, args) => args.iter().any(has_unknown),
        Value::List(l) => l.iter().any(has_unknown),
        _ => false,
    }
}

fn split_range(lo: &Option<Number>, hi: &Option<Number>) -> Vec<Value> {
    let shift = |n: &Number, by: i64| {
        Number::from_big(n.to_big().expect("bounds of unknowns are integers") + num_bigint::BigInt::from(by))
    };
    match (lo, hi) {
        (Some(lo), hi) => vec![Value::Number(lo.clone()), numbers::range(Some(shift(lo, 1)), hi.clone())],
        (None, Some(hi)) => vec![Value::Number(hi.clone()), numbers::range(None, Some(shift(hi, -1)))],
        (None, None) => {
            vec![numbers::range(Some(Number::Small(0)), None), numbers::range(None, Some(Number::Small(-1)))]
        }
    }
}

fn finite_part(set: &Set) -> Option<Vec<Value>> {
    match set {
        Set::Finite(items) => Some(items.clone()),
        Set::Combined(crate::data::value::SetOp::Intersection, a, b) => {
            finite_part(a).or_else(|| finite_part(b))
        }
        Set::Combined(crate::data::value::SetOp::Difference, a, _) => finite_part(a),
        _ => None,
    }
}

fn span_size(lo: &Number, hi: &Number) -> Option<usize> {
    if hi < lo {
        return Some(0);
    }
    (hi.to_big()? - lo.to_big()? + 1u32).to_usize()
}

/// The integers from `lo` to `hi`, at most one more than there is room for.
fn integers(lo: &Number, hi: &Number, room: usize) -> Vec<Value> {
    let (Some(mut n), Some(hi)) = (lo.to_big(), hi.to_big()) else { return Vec::new() };
    let mut values = Vec::new();
    while n <= hi && values.len() <= room {
        values.push(Value::Number(Number::from_big(n.clone())));
        n += 1u32;
    }
    values
}

fn both(a: Option<Candidates>, b: Option<Candidates>) -> Option<Candidates> {
    use Candidates::{Between, Values};
    Some(match (a, b) {
        (None, x) | (x, None) => return x,
        (Some(Values(x)), Some(Values(y))) => Values(if x.len() <= y.len() { x } else { y }),
        (Some(Values(x)), Some(Between(..))) | (Some(Between(..)), Some(Values(x))) => Values(x),
        (Some(Between(a, b)), Some(Between(c, d))) => {
            let lo = match (a, c) {
                (Some(a), Some(c)) => Some(a.max(c)),
                (a, c) => a.or(c),
            };
            let hi = match (b, d) {
                (Some(b), Some(d)) => Some(b.min(d)),
                (b, d) => b.or(d),
            };
            Between(lo, hi)
        }
    })
}

fn either(a: Option<Candidates>, b: Option<Candidates>) -> Option<Candidates> {
    use Candidates::{Between, Values};
    let hull = |values: &[Value]| -> Option<(Number, Number)> {
        let numbers = values.iter().map(|v| match v {
            Value::Number(n) => Some(n.clone()),
            _ => None,
        });
        let numbers: Vec<Number> = numbers.collect::<Option<_>>()?;
        Some((numbers.iter().min()?.clone(), numbers.iter().max()?.clone()))
    };
    Some(match (a?, b?) {
        (Values(mut x), Values(y)) => {
            x.extend(y);
            Values(x)
        }
        (Values(x), Between(lo, hi)) | (Between(lo, hi), Values(x)) => {
            if x.is_empty() {
                return Some(Between(lo, hi));
            }
            let (least, most) = hull(&x)?;
            Between(lo.map(|lo| lo.min(least)), hi.map(|hi| hi.max(most)))
        }
        (Between(a, b), Between(c, d)) => {
            let lo = a.zip(c).map(|(a, c)| a.min(c));
            let hi = b.zip(d).map(|(b, d)| b.max(d));
            Between(lo, hi)
        }
    })
}
