//! What formulas mean: relations and sets of states, on the explicit state space.

use super::random::{Act, Bound, FREE, Pattern, RANGE, Regular, Sort, State, Term};
use gridlock_lts::model::explicit::Lts;
use std::cell::Cell;

/// The actions of a label, with numbers for their arguments; none if it is hidden.
type Label = Vec<(String, Vec<u64>)>;

/// An explicit LTS with labels taken apart.
pub struct Explicit {
    pub initial: usize,
    steps: Vec<Vec<(Label, usize)>>,
    /// How much work a meaning may still be: nested fixed points with parameters can take any number of rounds.
    left: Cell<u64>,
}

/// Work for one formula, in products of relations and the like.
const WORK: u64 = 4_000;

impl Explicit {
    pub fn of(lts: &Lts) -> Self {
        let number = |arg: &str| arg.trim_start_matches('d').parse().expect("a number, or d0, d1");
        let action = |text: &str| match text.split_once('(') {
            Some((name, args)) => {
                (name.to_owned(), args.trim_end_matches(')').split(", ").map(number).collect())
            }
            None => (text.to_owned(), Vec::new()),
        };
        let label =
            |text: &str| if text == "tau" { Vec::new() } else { text.split('|').map(action).collect() };
        let mut steps = vec![Vec::new(); lts.num_states()];
        for (from, by, to) in lts.transitions() {
            steps[from.0 as usize].push((label(lts.label(by)), to.0 as usize));
        }
        Explicit { initial: lts.initial().0 as usize, steps, left: Cell::new(0) }
    }

    /// Whether a formula holds initially. `None`: that is too much work.
    pub fn holds(&self, formula: &State, mistake: Mistake) -> Option<bool> {
        self.left.set(WORK);
        let truths = formula.truths(self, &mut Vec::new(), &mut Vec::new(), mistake);
        (self.left.get() > 0).then(|| truths[self.initial])
    }

    /// Whether there is work left to be done.
    fn works(&self) -> bool {
        self.left.set(self.left.get().saturating_sub(1));
        self.left.get() > 0
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
    /// A pattern matches a part of a label.
    PartsMatch,
}

type Truths = Vec<bool>;

impl Act {
    fn holds(&self, label: &Label, env: &mut Vec<u64>, mistake: Mistake) -> bool {
        match self {
            Act::Const(b) => *b,
            Act::Acts(acts) => {
                let parts = mistake == Mistake::PartsMatch && !acts.is_empty();
                let fits = |(name, args): &Pattern, act: &(String, Vec<u64>)| {
                    let same =
                        |(arg, value): (&Option<Term>, &u64)| arg.is_none_or(|t| t.value(env) == *value);
                    let args = args.as_ref();
                    *name == act.0
                        && args
                            .is_none_or(|args| args.len() == act.1.len() && args.iter().zip(&act.1).all(same))
                };
                match &acts[..] {
                    [] => label.is_empty(),
                    _ if label.len() != acts.len() && !parts => false,
                    [one] => label.iter().any(|act| fits(one, act)),
                    [one, two] => (0..label.len()).any(|k| {
                        let mut others = (0..label.len()).filter(|other| *other != k);
                        fits(one, &label[k]) && others.any(|other| fits(two, &label[other]))
                    }),
                    _ => unreachable!("two actions at most"),
                }
            }
            Act::Less(x, y) => x.value(env) < y.value(env),
            Act::Not(inner) => !inner.holds(label, env, mistake),
            Act::Both(true, x, y) => x.holds(label, env, mistake) && y.holds(label, env, mistake),
            Act::Both(false, x, y) => x.holds(label, env, mistake) || y.holds(label, env, mistake),
            Act::Implies(x, y) => !x.holds(label, env, mistake) || y.holds(label, env, mistake),
            Act::Some(some, bound, inner) => bound.any(*some, env, |env| {
                let is_step = |env: &[u64]| {
                    let last = env[env.len() - 1];
                    matches!(&label[..], [(name, args)] if name == "a" && args[..] == [last])
                };
                match bound {
                    Bound::Step if !is_step(env) => !some,
                    _ => inner.holds(label, env, mistake),
                }
            }),
        }
    }
}

impl Regular {
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
                if next == all || !lts.works() {
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
                        all[from][*to] |= act.holds(label, env, mistake);
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
    /// The states in which it holds. `fixes` has for each fixed point in scope the sorts of its parameters, and the states for
    /// all of their values.
    fn truths(
        &self,
        lts: &Explicit,
        env: &mut Vec<u64>,
        fixes: &mut Vec<(Vec<Sort>, Vec<Truths>)>,
        mistake: Mistake,
    ) -> Truths {
        let n = lts.steps.len();
        if !lts.works() {
            return vec![false; n];
        }
        let each = |x: &Truths, y: &Truths, f: fn(bool, bool) -> bool| -> Truths {
            x.iter().zip(y).map(|(x, y)| f(*x, *y)).collect()
        };
        match self {
            State::Const(b) => vec![*b; n],
            State::Less(x, y) => vec![x.value(env) < y.value(env); n],
            State::Same(x, y) => vec![x.value(env) == y.value(env); n],
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
            State::Fix(greatest, params, f) => {
                let start = *greatest || mistake == Mistake::LeastIsGreatest;
                let sorts: Vec<Sort> = params.iter().map(|(sort, _)| *sort).collect();
                let first: Vec<u64> = params.iter().map(|(_, first)| first.value(env)).collect();
                let all = sorts.iter().map(|sort| sort.count()).product::<u64>();
                fixes.push((sorts, vec![vec![start; n]; all as usize]));
                let here = fixes.len() - 1;
                loop {
                    let mut next = Vec::new();
                    for place in 0..all {
                        let values = values_at(&fixes[here].0, place);
                        let depth = env.len();
                        env.extend(if mistake == Mistake::ParametersForgotten { &first } else { &values });
                        next.push(f.truths(lts, env, fixes, mistake));
                        env.truncate(depth);
                    }
                    if next == fixes[here].1 || !lts.works() {
                        let (sorts, _) = fixes.pop().expect("it is the last one");
                        return next.swap_remove(place_of(&sorts, &first));
                    }
                    fixes[here].1 = next;
                }
            }
            State::Call(at, args) => {
                let args: Vec<u64> = args.iter().map(|arg| arg.value(env)).collect();
                fixes[*at].1[place_of(&fixes[*at].0, &args)].clone()
            }
            State::Some(..) | State::Two(..) | State::ByStep(..) | State::Free(..) => {
                let (some, values): (bool, Vec<Vec<u64>>) = match self {
                    State::Some(some, bound, _) => {
                        (*some, (0..bound.sort().count()).map(|value| vec![value]).collect())
                    }
                    State::Two(some, _) => (*some, vec![vec![0, 0], vec![1, 0], vec![1, 1]]),
                    State::ByStep(some, 1, ..) => (*some, (0..RANGE).map(|value| vec![value]).collect()),
                    State::ByStep(some, ..) => {
                        (*some, (0..RANGE * RANGE).map(|k| vec![k / RANGE, k % RANGE]).collect())
                    }
                    State::Free(some, _) => (*some, (0..FREE).map(|value| vec![value]).collect()),
                    _ => unreachable!("a quantifier"),
                };
                let mut all = vec![!some; n];
                for values in values {
                    let depth = env.len();
                    env.extend(values);
                    let these = match self {
                        State::ByStep(some, _, r, f) => {
                            let inside = f.truths(lts, env, fixes, mistake);
                            modal(&r.pairs(lts, env, mistake), &inside, !*some, mistake)
                        }
                        State::Some(_, _, f) | State::Two(_, f) | State::Free(_, f) => {
                            f.truths(lts, env, fixes, mistake)
                        }
                        _ => unreachable!("a quantifier"),
                    };
                    env.truncate(depth);
                    all = each(&all, &these, if some { |x, y| x || y } else { |x, y| x && y });
                }
                all
            }
        }
    }
}

/// Where the states for these values of parameters are.
fn place_of(sorts: &[Sort], values: &[u64]) -> usize {
    sorts.iter().zip(values).fold(0, |place, (sort, value)| place * sort.count() + value) as usize
}

fn values_at(sorts: &[Sort], mut place: u64) -> Vec<u64> {
    let mut values: Vec<u64> = sorts
        .iter()
        .rev()
        .map(|sort| {
            let value = place % sort.count();
            place /= sort.count();
            value
        })
        .collect();
    values.reverse();
    values
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
