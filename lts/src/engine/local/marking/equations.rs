//! The equations of a deadlock, for the solver.
//!
//! Variables: the tokens at the end of each place, how often each move was made, and each sync. A label of a leaf is a
//! *class*: its moves are made as often as the syncs that need it. `microlp` is named in this file only.

use super::certificate::{Certificate, fraction};
use super::{Fixed, Frame};
use crate::base::hash::Map;
use crate::engine::parts::system::TAU;
use crate::model::explicit::State;
use microlp::{ComparisonOp, Error, LinearExpr, OptimizationDirection, Problem, Solution, Variable};

/// The net of a frame, from which the equations are made. Places and classes are numbered over all leaves.
#[derive(Debug)]
pub(super) struct Equations {
    /// For each place whether a token is there at the beginning.
    pub(super) initial: Vec<bool>,
    /// From which place to which, and the class.
    pub(super) moves: Vec<(u32, u32, u32)>,
    /// For each class the places that offer it, ascending.
    pub(super) offering: Vec<Vec<u32>>,
    /// For each sync the classes that it needs.
    pub(super) syncs: Vec<Vec<u32>>,
}

/// What the solver says.
pub(super) enum Solved {
    /// There is no solution; it may be wrong.
    Impossible,
    /// The tokens of each place at the end.
    Marking(Vec<f64>),
    /// It failed.
    Unknown,
}

impl Equations {
    pub(super) fn new(frame: &Frame) -> Self {
        let mut equations =
            Equations { initial: Vec::new(), moves: Vec::new(), offering: Vec::new(), syncs: Vec::new() };
        let mut classes: Map<(u32, u32), u32> = Map::default();
        for slot in frame.slots() {
            let lts = frame.lts(slot);
            let first = equations.initial.len() as u32;
            equations.initial.extend((0..lts.num_states()).map(|state| state == 0));
            for (from, label, to) in lts.transitions() {
                let class = equations.class(&mut classes, (slot, label.0));
                equations.moves.push((first + from.0, first + to.0, class));
                let offering = &mut equations.offering[class as usize];
                if offering.last() != Some(&(first + from.0)) {
                    offering.push(first + from.0);
                }
            }
            // A step that a leaf takes alone is a sync like others.
            let alone = |state: State| lts.outgoing(state).iter().any(|t| t.label.0 == TAU);
            if lts.states().any(alone) {
                let class = equations.class(&mut classes, (slot, TAU));
                equations.syncs.push(vec![class]);
            }
        }
        for sync in frame.syncs() {
            let needed = sync.iter().map(|&part| equations.class(&mut classes, part)).collect();
            equations.syncs.push(needed);
        }
        for offering in &mut equations.offering {
            offering.sort_unstable();
            offering.dedup();
        }
        equations
    }

    fn class(&mut self, classes: &mut Map<(u32, u32), u32>, part: (u32, u32)) -> u32 {
        *classes.entry(part).or_insert_with(|| {
            self.offering.push(Vec::new());
            self.offering.len() as u32 - 1
        })
    }

    pub(super) fn variables(&self) -> usize {
        self.initial.len() + self.moves.len() + self.syncs.len()
    }

    /// Whether the equations have a solution.
    pub(super) fn solve(&self, traps: &[Vec<u32>], fixed: &[Fixed]) -> Solved {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let mut tokens = Vec::with_capacity(self.initial.len());
        for place in 0..self.initial.len() as u32 {
            let known = fixed.iter().find(|(fixed, _)| *fixed == place).map(|&(_, full)| f64::from(full));
            tokens.push(problem.add_var(0.0, known.map_or((0.0, 1.0), |known| (known, known))));
        }
        let unbounded = (0.0, f64::INFINITY);
        let moves: Vec<Variable> = self.moves.iter().map(|_| problem.add_var(1.0, unbounded)).collect();
        let syncs: Vec<Variable> = self.syncs.iter().map(|_| problem.add_var(0.0, unbounded)).collect();
        // The tokens of a place: those at the beginning, plus what came, minus what went.
        let mut flows: Vec<Vec<(Variable, f64)>> = tokens.iter().map(|&token| vec![(token, 1.0)]).collect();
        let mut made: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); self.offering.len()];
        for (&(from, to, class), &variable) in self.moves.iter().zip(&moves) {
            if from != to {
                flows[from as usize].push((variable, 1.0));
                flows[to as usize].push((variable, -1.0));
            }
            made[class as usize].push((variable, 1.0));
        }
        for (flow, &initial) in flows.iter().zip(&self.initial) {
            problem.add_constraint(expression(flow), ComparisonOp::Eq, f64::from(initial));
        }
        for (sync, &variable) in self.syncs.iter().zip(&syncs) {
            sync.iter().for_each(|&class| made[class as usize].push((variable, -1.0)));
        }
        for made in &made {
            problem.add_constraint(expression(made), ComparisonOp::Eq, 0.0);
        }
        for sync in &self.syncs {
            let offered = sync.iter().flat_map(|&class| &self.offering[class as usize]);
            let offered: Vec<_> = offered.map(|&place| (tokens[place as usize], 1.0)).collect();
            problem.add_constraint(expression(&offered), ComparisonOp::Le, sync.len() as f64 - 1.0);
        }
        for trap in traps {
            let inside: Vec<_> = trap.iter().map(|&place| (tokens[place as usize], 1.0)).collect();
            problem.add_constraint(expression(&inside), ComparisonOp::Ge, 1.0);
        }
        match problem.solve().map(microlp::SolveOutcome::into_solution) {
            Ok(Ok(solution)) => {
                Solved::Marking(tokens.iter().map(|&token| solution.var_value(token)).collect())
            }
            Err(Error::Infeasible) => Solved::Impossible,
            _ => Solved::Unknown,
        }
    }

    /// Multipliers of the equations whose sum is a contradiction, rounded to fractions.
    pub(super) fn certificate(&self, traps: &[Vec<u32>], fixed: &[Fixed]) -> Option<Certificate> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let any = (f64::NEG_INFINITY, f64::INFINITY);
        let mut variables = |number: usize, cost: f64, bounds: (f64, f64)| -> Vec<Variable> {
            (0..number).map(|_| problem.add_var(cost, bounds)).collect()
        };
        let potential = variables(self.initial.len(), 0.0, any);
        let price = variables(self.offering.len(), 0.0, any);
        let stuck = variables(self.syncs.len(), 1.0, (0.0, f64::INFINITY));
        let held = variables(traps.len(), 1.0, (0.0, f64::INFINITY));
        let cases = variables(fixed.len(), 0.0, any);
        for &(from, to, class) in &self.moves {
            let mut row = vec![(price[class as usize], 1.0)];
            if from != to {
                row.extend([(potential[from as usize], 1.0), (potential[to as usize], -1.0)]);
            }
            problem.add_constraint(expression(&row), ComparisonOp::Ge, 0.0);
        }
        let mut places: Vec<Vec<(Variable, f64)>> = potential.iter().map(|&u| vec![(u, 1.0)]).collect();
        let mut total: Vec<(Variable, f64)> = Vec::new();
        for (&u, &initial) in potential.iter().zip(&self.initial) {
            if initial {
                total.push((u, 1.0));
            }
        }
        for (sync, &d) in self.syncs.iter().zip(&stuck) {
            let row: Vec<_> = sync.iter().map(|&class| (price[class as usize], 1.0)).collect();
            problem.add_constraint(expression(&row), ComparisonOp::Le, 0.0);
            for &place in sync.iter().flat_map(|&class| &self.offering[class as usize]) {
                places[place as usize].push((d, 1.0));
            }
            total.push((d, sync.len() as f64 - 1.0));
        }
        for (trap, &r) in traps.iter().zip(&held) {
            trap.iter().for_each(|&place| places[place as usize].push((r, -1.0)));
            total.push((r, -1.0));
        }
        for (&(place, full), &b) in fixed.iter().zip(&cases) {
            places[place as usize].push((b, 1.0));
            total.push((b, f64::from(full)));
        }
        for row in &places {
            problem.add_constraint(expression(row), ComparisonOp::Ge, 0.0);
        }
        problem.add_constraint(expression(&total), ComparisonOp::Le, -1.0);
        let solution = problem.solve().ok()?.into_solution().ok()?;
        let fractions = |of: &[Variable]| of.iter().map(|&v| value(&solution, v)).collect::<Option<Vec<_>>>();
        Some(Certificate {
            potential: fractions(&potential)?,
            price: fractions(&price)?,
            stuck: fractions(&stuck)?,
            held: fractions(&held)?,
            cases: fractions(&cases)?,
        })
    }
}

fn value(solution: &Solution, variable: Variable) -> Option<num_rational::BigRational> {
    fraction(solution.var_value(variable))
}

/// A sum in which no variable comes twice.
fn expression(terms: &[(Variable, f64)]) -> LinearExpr {
    let mut terms = terms.to_vec();
    terms.sort_by_key(|(variable, _)| variable.idx());
    let mut sum: Vec<(Variable, f64)> = Vec::with_capacity(terms.len());
    for (variable, factor) in terms {
        match sum.last_mut() {
            Some((last, so_far)) if last.idx() == variable.idx() => *so_far += factor,
            _ => sum.push((variable, factor)),
        }
    }
    let mut expression = LinearExpr::empty();
    sum.into_iter().for_each(|(variable, factor)| expression.add(variable, factor));
    expression
}
