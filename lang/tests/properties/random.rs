//! Random formulas against their definition.

use super::{formula, load, search};
use gridlock_lang::system::System;
use gridlock_lts::property::Property;

/// A regular formula, and what it means, straight from the definition.
enum Regular {
    Step(&'static str, fn(&str) -> bool),
    Seq(Box<[Regular; 2]>),
    Choice(Box<[Regular; 2]>),
    Star(Box<Regular>),
    Plus(Box<Regular>),
}

impl Regular {
    fn text(&self) -> String {
        match self {
            Regular::Step(text, _) => (*text).to_owned(),
            Regular::Seq(parts) => format!("({} . {})", parts[0].text(), parts[1].text()),
            Regular::Choice(parts) => format!("({} + {})", parts[0].text(), parts[1].text()),
            Regular::Star(body) => format!("({})*", body.text()),
            Regular::Plus(body) => format!("(({})+)", body.text()),
        }
    }

    fn has(&self, word: &[&str]) -> bool {
        let splits = 0..=word.len();
        match self {
            Regular::Step(_, holds) => word.len() == 1 && holds(word[0]),
            Regular::Seq(parts) => {
                splits.into_iter().any(|at| parts[0].has(&word[..at]) && parts[1].has(&word[at..]))
            }
            Regular::Choice(parts) => parts.iter().any(|part| part.has(word)),
            Regular::Star(body) => {
                word.is_empty() || (1..=word.len()).any(|at| body.has(&word[..at]) && self.has(&word[at..]))
            }
            Regular::Plus(body) => {
                body.has(word) || (1..word.len()).any(|at| body.has(&word[..at]) && self.has(&word[at..]))
            }
        }
    }
}

const STEPS: [(&str, fn(&str) -> bool); 10] = [
    ("true", |_| true),
    ("a", |l| l == "a"),
    ("!a", |l| l != "a"),
    ("c(1)", |l| l == "c(1)"),
    ("(a || b)", |l| l == "a" || l == "b"),
    ("!(c(_) || b)", |l| l == "a" || l == "a|b"),
    ("a|b", |l| l == "a|b"),
    ("(exists n: Nat. c(n))", |l| l.starts_with("c(")),
    ("(forall x: Bool. !c(if(x, 0, 1)))", |l| !l.starts_with("c(")),
    ("(c => c(0))", |l| l != "c(1)"),
];

fn random_regular(below: &mut dyn FnMut(usize) -> usize, depth: u32) -> Regular {
    if depth == 0 {
        let (text, holds) = STEPS[below(STEPS.len())];
        return Regular::Step(text, holds);
    }
    let (x, y) = (random_regular(below, depth - 1), random_regular(below, depth - 1));
    match below(6) {
        0..=2 => Regular::Seq(Box::new([x, y])),
        3 => Regular::Choice(Box::new([x, y])),
        4 => Regular::Star(Box::new(x)),
        _ => Regular::Plus(Box::new(y)),
    }
}

#[test]
fn random_formulas_on_runs_agree_with_their_definition() {
    let mut state = 5u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let letters = ["a", "b", "c(0)", "c(1)", "a|b"];
    let mut lengths = std::collections::BTreeMap::new();
    for _ in 0..25 {
        let word: Vec<&str> = (0..6).map(|_| letters[below(letters.len())]).collect();
        let system = load(&format!("act a, b; c: Nat; init {} . delta;", word.join(" . ")));
        for _ in 0..12 {
            let regular = random_regular(&mut below, 3);
            let text = format!("[{}]false", regular.text());
            let expected = (0..=word.len()).find(|n| regular.has(&word[..*n]));
            let properties: Vec<Property> = formula(&system, &text).into_iter().map(|p| p.1).collect();
            assert_eq!(search(&system, &properties), expected, "{text} on {word:?}");
            *lengths.entry(expected).or_insert(0) += 1;
        }
    }
    assert!(lengths.len() >= 7 && lengths.values().all(|n| *n < 250), "too easy: {lengths:?}");
}

/// The meaning of an action formula: values of the variables in scope, name and arguments of a step.
type Meaning = Box<dyn Fn(&mut Vec<u64>, &str, &[u64]) -> bool>;

/// A random action formula over the variables `x0`, `x1`, … in scope, with its meaning.
fn random_action_formula(
    below: &mut dyn FnMut(usize) -> usize,
    scope: usize,
    depth: u32,
) -> (String, Meaning) {
    if depth == 0 {
        return random_atom(below, scope);
    }
    let kind = below(9);
    if kind >= 3 {
        return random_quantifier(below, kind, scope, depth);
    }
    let (x, p) = random_action_formula(below, scope, depth - 1);
    let (y, q) = random_action_formula(below, scope, depth - 1);
    match kind {
        0 => (format!("(({x}) && ({y}))"), Box::new(move |env, n, a| p(env, n, a) && q(env, n, a))),
        1 => (format!("(({x}) || !({y}))"), Box::new(move |env, n, a| p(env, n, a) || !q(env, n, a))),
        _ => (format!("(({x}) => ({y}))"), Box::new(move |env, n, a| !p(env, n, a) || q(env, n, a))),
    }
}

fn random_atom(below: &mut dyn FnMut(usize) -> usize, scope: usize) -> (String, Meaning) {
    let mut operand = || match below(scope + 1) {
        0 => (below(4).to_string(), None),
        i => (format!("x{}", i - 1), Some(i - 1)),
    };
    let ((x, i), (y, j)) = (operand(), operand());
    let value = |text: &str, at: Option<usize>| {
        let constant = text.parse().unwrap_or(0);
        move |env: &[u64]| at.map_or(constant, |at| env[at])
    };
    let (f, g) = (value(&x, i), value(&y, j));
    match below(5) {
        0 => (format!("val({x} < {y})"), Box::new(move |env, _, _| f(env) < g(env))),
        1 => (format!("val({x} + 1 != {y})"), Box::new(move |env, _, _| f(env) + 1 != g(env))),
        2 => (format!("a({x})"), Box::new(move |env, n, a| n == "a" && a[0] == f(env))),
        3 => (format!("a({x} + {y})"), Box::new(move |env, n, a| n == "a" && a[0] == f(env) + g(env))),
        _ => (format!("b({x}, {y})"), Box::new(move |env, n, a| n == "b" && a == [f(env), g(env)])),
    }
}

/// Values that the meaning of a quantifier tries: more than any bound and any argument.
const RANGE: u64 = 9;

fn random_quantifier(
    below: &mut dyn FnMut(usize) -> usize,
    kind: usize,
    scope: usize,
    depth: u32,
) -> (String, Meaning) {
    let x = format!("x{scope}");
    let bound = below(5) as u64;
    let exists = |fits: Box<dyn Fn(&[u64]) -> bool>, p: Meaning| -> Meaning {
        Box::new(move |env, n, a| {
            (0..RANGE).any(|value| {
                env.push(value);
                let found = fits(env) && p(env, n, a);
                env.pop();
                found
            })
        })
    };
    let negated = |p: Meaning| -> Meaning { Box::new(move |env, n, a| !p(env, n, a)) };
    let small = move |env: &[u64]| env[scope] < bound;
    match kind {
        // The outer variable is bounded by the inner one only.
        3 => {
            let (text, p) = random_action_formula(below, scope + 2, depth - 1);
            let y = format!("x{}", scope + 1);
            let inner =
                exists(Box::new(move |env| env[scope] <= env[scope + 1] && env[scope + 1] < bound), p);
            let text =
                format!("(exists {x}: Nat. exists {y}: Nat. val({x} <= {y} && {y} < {bound}) && ({text}))");
            (text, exists(Box::new(|_| true), inner))
        }
        4 => {
            let y = format!("x{}", scope + 1);
            let (text, p) = random_action_formula(below, scope + 1, depth - 1);
            let text =
                format!("(exists {x}: Nat. ({text}) && (exists {y}: Nat. val({y} < {bound} && {x} < {y})))");
            (text, exists(Box::new(move |env| env[scope] + 1 < bound), p))
        }
        5 | 6 => {
            let (text, p) = random_action_formula(below, scope + 1, depth - 1);
            let text = match below(2) {
                0 => format!("(exists {x}: Nat. val({x} < {bound}) && ({text}))"),
                _ => format!("!(forall {x}: Nat. (({text}) => val({x} >= {bound})))"),
            };
            (text, exists(Box::new(small), p))
        }
        7 => {
            let (text, p) = random_action_formula(below, scope + 1, depth - 1);
            let listed = below(2) == 0;
            let text = match listed {
                true => format!("(forall {x}: Nat. (({text}) || !val({x} in [{bound}, 1, {bound}])))"),
                false => format!("(forall {x}: Nat. (val({x} < {bound}) => ({text})))"),
            };
            let fits = move |env: &[u64]| match listed {
                true => env[scope] == bound || env[scope] == 1,
                false => small(env),
            };
            (text, negated(exists(Box::new(fits), negated(p))))
        }
        // Any argument.
        _ => {
            let k = below(4) as u64;
            let meaning: Meaning = Box::new(move |_, n, a| n == "a" || n == "b" && a[1] == k);
            (format!("(exists {x}: Nat. a({x}) || val(true) && b({x}, {k}))"), meaning)
        }
    }
}

#[test]
fn random_action_formulas_agree_with_their_meaning() {
    let mut state = 11u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let labels: [(&str, &[u64]); 6] =
        [("a", &[0]), ("a", &[2]), ("a", &[5]), ("b", &[0, 0]), ("b", &[1, 3]), ("c", &[])];
    let text = |(name, args): (&str, &[u64])| match args {
        [] => name.to_owned(),
        args => format!("{name}({})", args.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    };
    let systems: Vec<System> = labels
        .iter()
        .map(|label| load(&format!("act a: Nat; b: Nat # Nat; c; init {} . delta;", text(*label))))
        .collect();
    let mut satisfied = 0;
    for _ in 0..150 {
        let (formula_text, meaning) = random_action_formula(&mut below, 0, 3);
        for (system, (name, args)) in systems.iter().zip(labels) {
            let expected = meaning(&mut Vec::new(), name, args).then_some(1);
            let properties: Vec<Property> =
                formula(system, &format!("[{formula_text}]false")).into_iter().map(|p| p.1).collect();
            assert_eq!(search(system, &properties), expected, "{formula_text} on {}", text((name, args)));
            satisfied += expected.unwrap_or(0);
        }
    }
    assert!((150..750).contains(&satisfied), "too easy: {satisfied} of 900");
}
