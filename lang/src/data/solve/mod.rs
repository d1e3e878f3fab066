//! Enumeration: all values of some variables that satisfy a condition.
//!
//! Guarded sums, quantifiers and queries from synchronisation partners are all the same problem. Variables are bound
//! one at a time, the one with the fewest candidates first; candidates come from equations with known values, from
//! equalities, memberships and bounds in the condition, and from finite sorts. If none of that bounds a variable, it
//! is replaced by unknowns that are split by constructors (numbers: by their least value) as long as the partially
//! evaluated condition does not say no.

mod candidates;
mod split;

use crate::data::code::{Code, Goal, QuantifierCode, Slot};
use crate::data::eval::{Bound, Eval, Evaluator, Failure, Frame};
use crate::data::sorts::fits;
use crate::data::value::{Number, Value};
use crate::model::{SortDef, SortId};
use candidates::{Unified, both, integers, span_size};
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
    /// Whether a solution that holds for all values of its remaining unknowns may be reported: enough for a quantifier.
    pub symbolic: bool,
}

type OnSolution<'r> = dyn FnMut(&mut Frame) -> Eval<ControlFlow<()>> + 'r;

struct Enumeration<'a, 'r> {
    ev: &'a Evaluator,
    problem: &'a Problem<'a>,
    tried: usize,
    undecided: bool,
    report: &'r mut OnSolution<'r>,
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
    pub fn solve(&self, problem: &Problem, frame: &mut Frame, report: &mut OnSolution) -> Eval<Solved> {
        let mut search = Enumeration { ev: self, problem, tried: 0, undecided: false, report };
        let unbound: Vec<usize> = (0..problem.vars.len()).collect();
        let checked = vec![false; problem.goal.conjuncts.len() + problem.equations.len()];
        let outcome = search.step(unbound, checked, frame)?;
        Ok(match outcome {
            Solved::All if search.undecided => Solved::Undecided,
            other => other,
        })
    }
}

impl<'a> Enumeration<'a, '_> {
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
}
