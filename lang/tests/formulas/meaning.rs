//! Random formulas, and what they mean: relations and sets of states, on the explicit state space.

use gridlock_lts::base::rng::Rng;
use gridlock_lts::model::explicit::Lts;

/// An explicit LTS with labels taken apart.
pub struct Explicit {
    pub initial: usize,
    steps: Vec<Vec<((String, Vec<u64>), usize)>>,
}

impl Explicit {
    pub fn of(lts: &Lts) -> Self {
        let label = |text: &str| match text.split_once('(') {
            Some((name, args)) => {
                let args = args.trim_end_matches(')').split(", ").map(|a| a.parse().expect("a number"));
                (name.to_owned(), args.collect())
            }
            None => (text.to_owned(), Vec::new()),
        };
        let mut steps = vec![Vec::new(); lts.num_states()];
        for (from, by, to) in lts.transitions() {
            steps[from.0 as usize].push((label(lts.label(by)), to.0 as usize));
        }
        Explicit { initial: lts.initial().0 as usize, steps }
    }
}

/// Deliberate mistakes in the meaning, which random formulas must notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    None,
    StarOfAtLeastOne,
    BoxNeedsSteps,
    LeastIsGreatest,
    ParametersForgotten,
}

/// Values of parameters are below this, and of variables that the meaning tries.
const MODULUS: u64 = 3;
const RANGE: u64 = 5;

type Truths = Vec<bool>;

#[derive(Clone, Debug)]
pub enum Act {
    Any,
    Tau,
    C,
    A(Term),
    B(Term),
    Not(Box<Act>),
    Both(bool, Box<Act>, Box<Act>),
    /// For some (`true`) or all values below 3 of a new variable.
    Some(bool, Box<Act>),
    /// `exists x: Nat. a(x)`.
    AnyA,
}

/// A constant, or a variable by its depth.
#[derive(Clone, Copy, Debug)]
pub enum Term {
    Number(u64),
    Var(usize),
}

#[derive(Clone, Debug)]
pub enum Regular {
    One(Act),
    Seq(Box<Regular>, Box<Regular>),
    Choice(Box<Regular>, Box<Regular>),
    Star(Box<Regular>),
    Plus(Box<Regular>),
}

#[derive(Clone, Debug)]
pub enum State {
    Const(bool),
    Less(Term, Term),
    Not(Box<State>),
    Both(bool, Box<State>, Box<State>),
    Implies(Box<State>, Box<State>),
    Modal(bool, Regular, Box<State>),
    /// A greatest or least fixed point with a parameter that is a new variable, and its first value.
    Fix(bool, Term, Box<State>),
    /// The fixed point of that depth, with a value plus one modulo 3.
    Call(usize, Term),
    /// For some (`true`) or all values below 3.
    Some(bool, Box<State>),
    /// `exists x: Nat. <a(x)>f` (`true`), or `forall x: Nat. [true* . a(x)]f`.
    ByStep(bool, Box<State>),
}

/// What is in scope: variables, and for each fixed point how deep it is and whether it is negated.
#[derive(Clone, Default)]
struct InScope {
    vars: usize,
    fixes: Vec<bool>,
    negated: bool,
}

fn term(rng: &mut Rng, vars: usize) -> Term {
    match rng.below(vars + 1) {
        0 => Term::Number(rng.below(3) as u64),
        n => Term::Var(n - 1),
    }
}

fn act(rng: &mut Rng, depth: usize, vars: usize) -> Act {
    match rng.below(if depth == 0 { 6 } else { 11 }) {
        0 => Act::Any,
        1 => Act::Tau,
        2 => Act::C,
        3 => Act::A(term(rng, vars)),
        4 => Act::B(term(rng, vars)),
        5 => Act::AnyA,
        6 | 7 => Act::Not(Box::new(act(rng, depth - 1, vars))),
        8 | 9 => {
            let and = rng.below(2) == 0;
            Act::Both(and, Box::new(act(rng, depth - 1, vars)), Box::new(act(rng, depth - 1, vars)))
        }
        _ => Act::Some(rng.below(2) == 0, Box::new(act(rng, depth - 1, vars + 1))),
    }
}

fn regular(rng: &mut Rng, depth: usize, vars: usize) -> Regular {
    let more = |rng: &mut Rng| Box::new(regular(rng, depth - 1, vars));
    match rng.below(if depth == 0 { 2 } else { 6 }) {
        0 | 1 => Regular::One(act(rng, 2, vars)),
        2 => Regular::Seq(more(rng), more(rng)),
        3 => Regular::Choice(more(rng), more(rng)),
        4 => Regular::Star(more(rng)),
        _ => Regular::Plus(more(rng)),
    }
}

fn state(rng: &mut Rng, depth: usize, scope: &InScope) -> State {
    let more = |rng: &mut Rng, scope: &InScope| Box::new(state(rng, depth - 1, scope));
    let usable: Vec<usize> = (0..scope.fixes.len()).filter(|k| scope.fixes[*k] == scope.negated).collect();
    match rng.below(if depth == 0 { 4 } else { 15 }) {
        0 => State::Const(rng.below(2) == 0),
        1 => State::Less(term(rng, scope.vars), term(rng, scope.vars)),
        2 | 3 if !usable.is_empty() => State::Call(usable[rng.below(usable.len())], term(rng, scope.vars)),
        2 | 3 => State::Const(rng.below(2) == 0),
        4 => State::Not(more(rng, &InScope { negated: !scope.negated, ..scope.clone() })),
        5 | 6 => State::Both(rng.below(2) == 0, more(rng, scope), more(rng, scope)),
        7 => {
            let premise = InScope { negated: !scope.negated, ..scope.clone() };
            State::Implies(more(rng, &premise), more(rng, scope))
        }
        8..=10 => State::Modal(rng.below(2) == 0, regular(rng, 2, scope.vars), more(rng, scope)),
        11 | 12 => {
            let mut inner = InScope { vars: scope.vars + 1, ..scope.clone() };
            inner.fixes.push(scope.negated);
            State::Fix(rng.below(2) == 0, term(rng, scope.vars), more(rng, &inner))
        }
        13 => State::Some(rng.below(2) == 0, more(rng, &InScope { vars: scope.vars + 1, ..scope.clone() })),
        _ => State::ByStep(rng.below(2) == 0, more(rng, &InScope { vars: scope.vars + 1, ..scope.clone() })),
    }
}

impl Term {
    fn text(self) -> String {
        match self {
            Term::Number(n) => n.to_string(),
            Term::Var(at) => format!("x{at}"),
        }
    }

    fn value(self, env: &[u64]) -> u64 {
        match self {
            Term::Number(n) => n,
            Term::Var(at) => env[at],
        }
    }
}

impl Act {
    fn text(&self, vars: usize) -> String {
        match self {
            Act::Any => "true".to_owned(),
            Act::Tau => "tau".to_owned(),
            Act::C => "c".to_owned(),
            Act::A(term) => format!("a({})", term.text()),
            Act::B(term) => format!("b({}, 1)", term.text()),
            Act::AnyA => format!("(exists x{vars}: Nat. a(x{vars}))"),
            Act::Not(inner) => format!("!({})", inner.text(vars)),
            Act::Both(and, x, y) => {
                format!("(({}) {} ({}))", x.text(vars), if *and { "&&" } else { "||" }, y.text(vars))
            }
            Act::Some(true, inner) => {
                format!("(exists x{vars}: Nat. val(x{vars} < 3) && ({}))", inner.text(vars + 1))
            }
            Act::Some(false, inner) => {
                format!("(forall x{vars}: Nat. val(x{vars} < 3) => ({}))", inner.text(vars + 1))
            }
        }
    }

    fn holds(&self, (name, args): &(String, Vec<u64>), env: &mut Vec<u64>) -> bool {
        let label = &(name.clone(), args.clone());
        match self {
            Act::Any => true,
            Act::Tau => name == "tau",
            Act::C => name == "c",
            Act::A(term) => name == "a" && args[0] == term.value(env),
            Act::B(term) => name == "b" && *args == [term.value(env), 1],
            Act::AnyA => name == "a",
            Act::Not(inner) => !inner.holds(label, env),
            Act::Both(true, x, y) => x.holds(label, env) && y.holds(label, env),
            Act::Both(false, x, y) => x.holds(label, env) || y.holds(label, env),
            Act::Some(some, inner) => {
                let mut with = |value| {
                    env.push(value);
                    let holds = inner.holds(label, env);
                    env.pop();
                    holds
                };
                if *some { (0..3).any(&mut with) } else { (0..3).all(&mut with) }
            }
        }
    }
}

impl Regular {
    fn text(&self, vars: usize) -> String {
        match self {
            Regular::One(act) => format!("({})", act.text(vars)),
            Regular::Seq(x, y) => format!("({} . {})", x.text(vars), y.text(vars)),
            Regular::Choice(x, y) => format!("({} + {})", x.text(vars), y.text(vars)),
            Regular::Star(x) => format!("{}*", x.text(vars)),
            Regular::Plus(x) => format!("{}+", x.text(vars)),
        }
    }

    /// Which state leads to which.
    fn pairs(&self, lts: &Explicit, env: &mut Vec<u64>, mistake: Mistake) -> Vec<Truths> {
        let n = lts.steps.len();
        let compose = |x: &[Truths], y: &[Truths]| -> Vec<Truths> {
            let row = |from: &Truths| (0..n).map(|to| (0..n).any(|k| from[k] && y[k][to])).collect();
            x.iter().map(row).collect()
        };
        let or = |x: &[Truths], y: &[Truths]| -> Vec<Truths> {
            x.iter().zip(y).map(|(x, y)| x.iter().zip(y).map(|(x, y)| *x || *y).collect()).collect()
        };
        let plus = |x: Vec<Truths>| {
            let mut all = x;
            loop {
                let next = or(&all, &compose(&all, &all));
                if next == all {
                    return all;
                }
                all = next;
            }
        };
        match self {
            Regular::One(act) => {
                let mut all = vec![vec![false; n]; n];
                for (from, steps) in lts.steps.iter().enumerate() {
                    for (label, to) in steps {
                        all[from][*to] |= act.holds(label, env);
                    }
                }
                all
            }
            Regular::Seq(x, y) => compose(&x.pairs(lts, env, mistake), &y.pairs(lts, env, mistake)),
            Regular::Choice(x, y) => or(&x.pairs(lts, env, mistake), &y.pairs(lts, env, mistake)),
            Regular::Plus(x) => plus(x.pairs(lts, env, mistake)),
            Regular::Star(x) => {
                let mut all = plus(x.pairs(lts, env, mistake));
                if mistake != Mistake::StarOfAtLeastOne {
                    all.iter_mut().enumerate().for_each(|(at, row)| row[at] = true);
                }
                all
            }
        }
    }
}

impl State {
    pub fn text(&self, vars: usize, fixes: usize) -> String {
        match self {
            State::Const(b) => b.to_string(),
            State::Less(x, y) => format!("val({} < {})", x.text(), y.text()),
            State::Not(f) => format!("!({})", f.text(vars, fixes)),
            State::Both(and, f, g) => {
                let word = if *and { "&&" } else { "||" };
                format!("(({}) {word} ({}))", f.text(vars, fixes), g.text(vars, fixes))
            }
            State::Implies(f, g) => format!("(({}) => ({}))", f.text(vars, fixes), g.text(vars, fixes)),
            State::Modal(true, r, f) => format!("[{}]({})", r.text(vars), f.text(vars, fixes)),
            State::Modal(false, r, f) => format!("<{}>({})", r.text(vars), f.text(vars, fixes)),
            State::Fix(greatest, first, f) => format!(
                "({} X{fixes}(x{vars}: Nat = {}). ({}))",
                if *greatest { "nu" } else { "mu" },
                first.text(),
                f.text(vars + 1, fixes + 1)
            ),
            State::Call(at, term) => format!("X{at}(({} + 1) mod 3)", term.text()),
            State::Some(true, f) => {
                format!("(exists x{vars}: Nat. val(x{vars} < 3) && ({}))", f.text(vars + 1, fixes))
            }
            State::Some(false, f) => {
                format!("(forall x{vars}: Nat. val(x{vars} < 3) => ({}))", f.text(vars + 1, fixes))
            }
            State::ByStep(true, f) => {
                format!("(exists x{vars}: Nat. <a(x{vars})>({}))", f.text(vars + 1, fixes))
            }
            State::ByStep(false, f) => {
                format!("(forall x{vars}: Nat. [true* . a(x{vars})]({}))", f.text(vars + 1, fixes))
            }
        }
    }

    /// The states in which it holds. `fixes` has for each fixed point in scope the states for each value.
    pub fn truths(
        &self,
        lts: &Explicit,
        env: &mut Vec<u64>,
        fixes: &mut Vec<Vec<Truths>>,
        mistake: Mistake,
    ) -> Truths {
        let n = lts.steps.len();
        let each = |x: &Truths, y: &Truths, f: fn(bool, bool) -> bool| -> Truths {
            x.iter().zip(y).map(|(x, y)| f(*x, *y)).collect()
        };
        match self {
            State::Const(b) => vec![*b; n],
            State::Less(x, y) => vec![x.value(env) < y.value(env); n],
            State::Not(f) => f.truths(lts, env, fixes, mistake).iter().map(|b| !b).collect(),
            State::Both(and, f, g) => {
                let (x, y) = (f.truths(lts, env, fixes, mistake), g.truths(lts, env, fixes, mistake));
                each(&x, &y, if *and { |x, y| x && y } else { |x, y| x || y })
            }
            State::Implies(f, g) => {
                let (x, y) = (f.truths(lts, env, fixes, mistake), g.truths(lts, env, fixes, mistake));
                each(&x, &y, |x, y| !x || y)
            }
            State::Modal(every, r, f) => {
                let pairs = r.pairs(lts, env, mistake);
                let inside = f.truths(lts, env, fixes, mistake);
                modal(&pairs, &inside, *every, mistake)
            }
            State::Fix(greatest, first, f) => {
                let start = *greatest || mistake == Mistake::LeastIsGreatest;
                let first = first.value(env);
                fixes.push(vec![vec![start; n]; MODULUS as usize]);
                let here = fixes.len() - 1;
                loop {
                    let mut next = Vec::new();
                    for value in 0..MODULUS {
                        env.push(if mistake == Mistake::ParametersForgotten { first } else { value });
                        next.push(f.truths(lts, env, fixes, mistake));
                        env.pop();
                    }
                    if next == fixes[here] {
                        fixes.pop();
                        return next.swap_remove(first as usize % 3);
                    }
                    fixes[here] = next;
                }
            }
            State::Call(at, term) => fixes[*at][((term.value(env) + 1) % MODULUS) as usize].clone(),
            State::Some(some, f) => {
                let mut all = vec![!*some; n];
                for value in 0..3 {
                    env.push(value);
                    let these = f.truths(lts, env, fixes, mistake);
                    env.pop();
                    all = each(&all, &these, if *some { |x, y| x || y } else { |x, y| x && y });
                }
                all
            }
            State::ByStep(some, f) => {
                let mut all = vec![!*some; n];
                for value in 0..RANGE {
                    env.push(value);
                    let inside = f.truths(lts, env, fixes, mistake);
                    let step = Regular::One(Act::A(Term::Var(env.len() - 1)));
                    let regular = match some {
                        true => step,
                        false => {
                            let any = Regular::Star(Box::new(Regular::One(Act::Any)));
                            Regular::Seq(Box::new(any), Box::new(step))
                        }
                    };
                    let these = modal(&regular.pairs(lts, env, mistake), &inside, !*some, mistake);
                    env.pop();
                    all = each(&all, &these, if *some { |x, y| x || y } else { |x, y| x && y });
                }
                all
            }
        }
    }
}

fn modal(pairs: &[Truths], inside: &Truths, every: bool, mistake: Mistake) -> Truths {
    let there = |row: &Truths| row.iter().zip(inside).filter(|(to, _)| **to).map(|(_, b)| *b).collect();
    let holds = |row: &Truths| {
        let there: Vec<bool> = there(row);
        match every {
            true if mistake == Mistake::BoxNeedsSteps && there.is_empty() => false,
            true => there.iter().all(|b| *b),
            false => there.iter().any(|b| *b),
        }
    };
    pairs.iter().map(holds).collect()
}

/// A formula with a verdict that depends on more than its first operators.
pub fn random_formula(rng: &mut Rng) -> State {
    let scope = InScope::default();
    let inner = state(rng, 4, &scope);
    match rng.below(3) {
        0 => inner,
        1 => State::Modal(rng.below(2) == 0, regular(rng, 2, 0), Box::new(inner)),
        _ => {
            let mut one = InScope { vars: 1, ..scope };
            one.fixes.push(false);
            State::Fix(rng.below(2) == 0, Term::Number(0), Box::new(state(rng, 4, &one)))
        }
    }
}
