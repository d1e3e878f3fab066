//! Formulas of the modal µ-calculus with data: small ones by hand, random ones against their meaning.
//!
//! The meaning is computed on the explicit state space, set by set: regular formulas as relations between states, fixed
//! points by iteration, quantifiers by trying values. It shares nothing with the translation but the syntax.

use gridlock_lang::property::{self, Sight};
use gridlock_lang::system::{self, System, Tables};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::explore;
use gridlock_lts::engine::game::{self, Decision, End};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::search::{self, Options, Verdict};
use gridlock_lts::model::equivalence::{Equivalence, minimise};
use gridlock_lts::model::explicit::Lts;
use gridlock_lts::property::Property;

fn load(spec: &str, tables: Tables) -> System {
    let options = system::Options { tables, ..system::Options::default() };
    system::load(spec, "test.mcrl2", &options, &mut |_| true)
        .unwrap_or_else(|errors| panic!("{spec}: {errors:?}"))
}

fn properties(system: &System, text: &str) -> Vec<Property> {
    let parts = property::formula(&system.builder, &Sight::default(), "f.mcf", text)
        .unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    parts.into_iter().map(|part| part.1).collect()
}

/// Whether a formula holds, on complete tables.
fn holds(system: &System, text: &str) -> bool {
    let properties = properties(system, text);
    let options = Options::default();
    match &properties[..] {
        [Property::Formula(equations)] => {
            let decided = game::decide(&system.network, &**equations, &options)
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            match decided.answer {
                Decision::Holds => true,
                Decision::Violated => false,
                other => panic!("{text}: {other:?}"),
            }
        }
        properties => match search::check(&system.network, properties, &options).expect("a search").verdict {
            Verdict::Holds => true,
            Verdict::Violated { .. } => false,
            other => panic!("{text}: {other:?}"),
        },
    }
}

#[track_caller]
fn check(spec: &str, expected: &[(&str, bool)]) {
    let system = load(spec, Tables::Auto);
    for (text, truth) in expected {
        assert_eq!(holds(&system, text), *truth, "{text} of {spec}");
        assert_eq!(holds(&system, &format!("!({text})")), !*truth, "!({text}) of {spec}");
    }
}

const COUNTER: &str = "act up, down: Nat; reset;
    proc C(n: Nat) = (n < 3) -> up(n) . C(n + 1) + (n > 0) -> down(n) . C(Int2Nat(n - 1));
    init C(0);";

#[test]
fn formulas_outside_the_safety_part_are_decided() {
    check(
        COUNTER,
        &[
            ("mu X. [true]X", false),
            ("mu X. X", false),
            ("nu X. X", true),
            ("[true*](mu X. <true>X || <up(0)>true)", true),
            ("nu X(n: Nat = 0). (val(n < 4) && [up(n)]X(n + 1))", true),
            ("nu X(n: Nat = 0). (val(n < 3) && [up(n)]X(n + 1))", false),
            ("nu X. <true>X", true),
            ("!(nu X. [true]X && [up(0)]false)", true),
            ("<up(0)>true", true),
            ("<up(1)>true", false),
            ("[true*]<true* . up(0)>true", true),
            ("[true*]<true>[up(0)]false", true),
            ("<true>true", true),
            ("[up(0)*]<true>true", true),
            ("[up(0)]false || [up(1)]false", true),
            ("[up(1)]false => [up(0)]false", false),
            ("exists b: Bool. [up(if(b, 0, 1))]false", true),
            ("forall n: Nat. [up(n)]val(n < 1)", true),
            ("forall n: Nat. [true* . up(n)]val(n < 2)", false),
            ("exists n: Nat. <true* . up(n)>val(n == 2)", true),
            ("forall n: Nat. val(n > 3) => [true* . up(n)]false", true),
            ("[true* . (exists n: Nat. up(n) && val(n > 2))]false", true),
            ("[true* . (exists n: Nat. up(n) && val(n > 1))]false", false),
            ("[true* . (exists n: Nat. up(n)|down(n))]false", true),
            ("[true*](forall n: Nat. [up(n)](nu X. (<down(n + 1)>true && [reset]X)))", true),
            ("nu X. mu Y. (<down(1)>X || <!down(1)>Y)", true),
            ("mu Y. nu X. (<up(0)>Y || <!up(0)>X)", true),
            ("mu Y. nu X. ([up(0)]Y && [!up(0)]X)", false),
        ],
    );
}

/// Weak inevitability (`mu X. [!a]X`) does not mind a deadlock, the strong one does.
#[test]
fn deadlocks_loops_and_diamonds() {
    let weak = |a: &str| format!("mu X. [!({a})]X");
    let strong = |a: &str| format!("mu X. ([!({a})]X && <true>true)");
    let cases = [
        // The deadlock, the self-loop, the 2-cycle, and a diamond only one arm of which does it.
        ("act a, b; init b . delta;", false, true),
        ("act a, b; proc P = b . P; init P;", false, false),
        ("act a, b; proc P = b . Q; Q = b . P; init P;", false, false),
        ("act a, b, c; proc E = c . E; init b . a . E + b . c . E;", false, false),
        ("act a, b, c; proc E = c . E; init b . a . E + c . a . E;", true, true),
        ("act a, b; init a . delta;", true, true),
    ];
    for (spec, strongly, weakly) in cases {
        check(spec, &[(&strong("a"), strongly), (&weak("a"), weakly)]);
    }
}

#[test]
fn evidence_is_short_and_closes() {
    let evidence = |spec: &str, text: &str| {
        let system = load(spec, Tables::Auto);
        let properties = properties(&system, text);
        let [Property::Formula(equations)] = &properties[..] else { panic!("{text} is a safety formula") };
        let decided = game::decide(&system.network, &**equations, &Options::default()).expect("decided");
        let evidence = decided.evidence.expect("small");
        (decided.answer == Decision::Holds, evidence.end, evidence.trace.len())
    };
    let response = "[true* . up(1)](mu X. ([!down(3)]X && <true>true))";
    assert_eq!(evidence(COUNTER, response), (false, End::Repeats(2), 4));
    assert_eq!(evidence(COUNTER, "<true* . down(3)>true"), (true, End::Decides, 4));
    let trap = "act a, b, c; proc P = a . P + b . Q; Q = c . Q + c . R; R = c . Q; init P;";
    assert_eq!(evidence(trap, "[true*]<true* . a>true"), (false, End::Branches, 1));
    // A run into the deadlock.
    let stuck = "act a, b; init a . a . delta;";
    assert_eq!(evidence(stuck, "mu X. ([!b]X && <true>true)"), (false, End::Decides, 2));
}

#[test]
fn parameters_without_end_are_unknown_and_not_true() {
    let system = load("act a: Nat; b; proc P(n: Nat) = b . P(n); init P(0);", Tables::Auto);
    let properties = properties(&system, "nu X(n: Nat = 0). [true]X(n + 1)");
    let [Property::Formula(equations)] = &properties[..] else { panic!("no safety formula") };
    let decided = game::decide(&system.network, &**equations, &Options::default()).expect("no error");
    assert!(matches!(decided.answer, Decision::Unknown(_)), "{:?}", decided.answer);
}

#[test]
fn mistakes_are_errors_with_their_place() {
    let system = load(COUNTER, Tables::Auto);
    for (text, place, message) in [
        ("mu X. !X", "X", "'X' stands behind an odd number of negations"),
        ("nu X. (X => <true>true)", "X", "'X' stands behind an odd number of negations"),
        ("[true*]X", "X", "no fixed point variable 'X' is in scope"),
        ("mu X. X(1)", "X", "'X' has 0 parameters, and 1 are given"),
        ("mu X(n: Nat = 0). X", "X", "'X' has 1 parameter, and 0 are given"),
        ("mu X(n: Nat = true). X(n)", "true", ""),
        ("mu X(n: Nat = 0). X(true)", "true", ""),
        ("mu X(n: Nat = 0, n: Nat = 1). X(n, n)", "n", "'X' has two parameters 'n'"),
        ("mu X. <upp(1)>X", "upp", "no action 'upp' is declared"),
    ] {
        let errors = property::formula(&system.builder, &Sight::default(), "f.mcf", text).expect_err(text);
        let span = errors[0].span;
        assert_eq!(&text[span.start as usize..span.end as usize], place, "{text}: {errors:?}");
        assert!(errors[0].message.starts_with(message), "{text}: {errors:?}");
    }
    // What nothing bounds is told when it is met.
    for text in ["exists n: Nat. [up(n)]false", "forall n: Nat. <true* . up(n)>true"] {
        let properties = properties(&system, text);
        let [Property::Formula(equations)] = &properties[..] else { panic!("no safety formula") };
        let error = game::decide(&system.network, &**equations, &Options::default()).expect_err(text);
        let told = error.to_string();
        assert!(told.contains("f.mcf:1:8: sort Nat of 'n' has too many values"), "{told}");
    }
}

/// An explicit LTS with labels taken apart.
struct Explicit {
    initial: usize,
    steps: Vec<Vec<((String, Vec<u64>), usize)>>,
}

impl Explicit {
    fn of(lts: &Lts) -> Self {
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
enum Mistake {
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
enum Act {
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
enum Term {
    Number(u64),
    Var(usize),
}

#[derive(Clone, Debug)]
enum Regular {
    One(Act),
    Seq(Box<Regular>, Box<Regular>),
    Choice(Box<Regular>, Box<Regular>),
    Star(Box<Regular>),
    Plus(Box<Regular>),
}

#[derive(Clone, Debug)]
enum State {
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
    fn text(&self, vars: usize, fixes: usize) -> String {
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
    fn truths(
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

/// A random specification: two processes that communicate, with data, hidden steps and perhaps a deadlock.
fn specification(rng: &mut Rng) -> String {
    let mut text = "act a, s, r: Nat; b: Nat # Nat; c, h;\n".to_owned();
    for (name, other) in [("P", "s"), ("Q", "r")] {
        for k in 0..3 {
            let mut summands = Vec::new();
            for _ in 0..1 + rng.below(3) {
                let action = match rng.below(6) {
                    0 => format!("a({})", rng.below(4)),
                    1 => format!("b({}, {})", rng.below(3), rng.below(2)),
                    2 => "c".to_owned(),
                    3 => "h".to_owned(),
                    _ => format!("{other}({})", rng.below(2)),
                };
                let then = match rng.below(8) {
                    0 => "delta".to_owned(),
                    _ => format!("{name}{}", rng.below(3)),
                };
                summands.push(format!("{action} . {then}"));
            }
            text += &format!("proc {name}{k} = {};\n", summands.join(" + "));
        }
    }
    text + "init hide({h}, allow({a, b, c, h}, comm({s|r -> a}, P0 || Q0)));\n"
}

/// A formula with a verdict that depends on more than its first operators.
fn random_formula(rng: &mut Rng) -> State {
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

fn explicit(system: &System) -> Lts {
    let mut network = system.network.clone();
    let options = explore::Options { max_states: 100_000, progress: &mut |_| true };
    explore::explore(&mut network, None, options).expect("a small system")
}

#[test]
fn random_formulas_agree_with_their_meaning() {
    let mut rng = Rng::new(3);
    let (mut verdicts, mut games) = ([0; 2], 0);
    for round in 0..150 {
        let spec = specification(&mut rng);
        let system = load(&spec, Tables::Auto);
        let lts = explicit(&system);
        let small = minimise(&lts, Equivalence::Strong).expect("no determinisation");
        let (whole, minimised) = (Explicit::of(&lts), Explicit::of(&small));
        for _ in 0..6 {
            let formula = random_formula(&mut rng);
            let text = formula.text(0, 0);
            let truths = |lts: &Explicit| {
                formula.truths(lts, &mut Vec::new(), &mut Vec::new(), Mistake::None)[lts.initial]
            };
            let expected = truths(&whole);
            assert_eq!(holds(&system, &text), expected, "round {round}: {text}\n{spec}");
            assert_eq!(holds(&system, &format!("!({text})")), !expected, "round {round}: {text}\n{spec}");
            assert_eq!(truths(&minimised), expected, "round {round}: {text}\n{spec}");
            verdicts[usize::from(expected)] += 1;
            if let [Property::Formula(_)] = &properties(&system, &text)[..] {
                games += 1;
                on_demand(&spec, &text, expected);
            }
        }
    }
    assert!(verdicts.iter().all(|n| *n > 200), "too easy: {verdicts:?}");
    assert!(games > 400, "{games}");
}

/// The same on tables that are filled as needed.
fn on_demand(spec: &str, text: &str, expected: bool) {
    let system = load(spec, Tables::OnDemand);
    let properties = properties(&system, text);
    let [Property::Formula(equations)] = &properties[..] else { panic!("a game before, and now?") };
    let lazy = Lazy::new(system.network, Box::new(system.builder), &[]).expect("a network");
    let decided = game::decide_on_demand(&lazy, &**equations, &Options::default());
    let decided = decided.unwrap_or_else(|error| panic!("{text}: {error}\n{spec}"));
    assert_eq!(decided.answer == Decision::Holds, expected, "{text}\n{spec}");
}

#[test]
fn deliberate_mistakes_are_noticed() {
    for mistake in [
        Mistake::StarOfAtLeastOne,
        Mistake::BoxNeedsSteps,
        Mistake::LeastIsGreatest,
        Mistake::ParametersForgotten,
    ] {
        let mut rng = Rng::new(4);
        let noticed = (0..60).any(|_| {
            let system = load(&specification(&mut rng), Tables::Auto);
            let lts = Explicit::of(&explicit(&system));
            (0..10).any(|_| {
                let formula = random_formula(&mut rng);
                let wrong = formula.truths(&lts, &mut Vec::new(), &mut Vec::new(), mistake)[lts.initial];
                holds(&system, &formula.text(0, 0)) != wrong
            })
        });
        assert!(noticed, "{mistake:?}");
    }
}
