//! Minimisation and comparison against the definitions on seeded random systems, and examples from textbooks.

mod bunches;
mod random;
mod reference;

use super::*;
use random::{Random, build, changed, copied, delayed, edges, random_lts};
use reference::{Deterministic, minimal_size, relation, satisfies};

const BISIMULATIONS: [Equivalence; 3] =
    [Equivalence::Strong, Equivalence::Branching, Equivalence::DivergencePreservingBranching];

fn lts(transitions: &[(u32, &str, u32)]) -> Lts {
    build(1, 0, &transitions.iter().map(|&(f, l, t)| (f, l.to_owned(), t)).collect::<Vec<_>>())
}

fn size(lts: &Lts) -> (usize, usize) {
    (lts.num_states(), lts.num_transitions())
}

fn text(lts: &Lts) -> String {
    let mut out = Vec::new();
    crate::model::aut::write(lts, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn difference(first: &Lts, second: &Lts, equivalence: Equivalence) -> Option<Difference> {
    match compare(first, second, equivalence).unwrap() {
        Comparison::Equal => None,
        Comparison::Different(difference) => Some(difference),
    }
}

fn related(first: &Lts, second: &Lts, equivalence: Equivalence) -> bool {
    let (both, start) = first.beside(second).unwrap();
    relation(&both, equivalence)[both.initial().0 as usize][start.0 as usize]
}

#[test]
fn minimal_systems_have_the_canonical_size() {
    let mut random = Random(1);
    for round in 0..3000 {
        let lts = random_lts(&mut random, 9);
        for equivalence in Equivalence::ALL {
            let small = minimise(&lts, equivalence).unwrap();
            assert_eq!(
                size(&small),
                minimal_size(&lts, equivalence),
                "{round} {equivalence}\n{}",
                text(&lts)
            );
            assert_eq!(
                minimise(&small, equivalence).unwrap(),
                small,
                "{round} {equivalence}\n{}",
                text(&lts)
            );
            assert!(
                compare(&lts, &small, equivalence).unwrap().is_equal(),
                "{round} {equivalence}\n{}",
                text(&lts)
            );
            if BISIMULATIONS.contains(&equivalence) {
                assert!(related(&lts, &small, equivalence), "{round} {equivalence}\n{}", text(&lts));
            }
        }
    }
}

#[test]
fn minimal_systems_look_as_promised() {
    let mut random = Random(2);
    for _ in 0..500 {
        let lts = random_lts(&mut random, 9);
        for equivalence in Equivalence::ALL {
            let small = minimise(&lts, equivalence).unwrap();
            assert_eq!(small.initial(), State(0));
            let mut seen = 1;
            for (from, _, to) in edges(&small) {
                assert!(from < seen && to <= seen, "breadth-first\n{}", text(&small));
                seen = seen.max(to + 1);
            }
            assert!(small.labels()[1..].is_sorted() && small.labels()[0] == "tau");
            assert!(small.labels()[1..].iter().all(|l| edges(&small).iter().any(|e| e.1 == *l)));
            assert!(small.states().all(|s| small.outgoing(s).windows(2).all(|w| w[0] < w[1])));
        }
    }
}

/// A pair of systems, related in one of several ways.
fn random_pair(random: &mut Random) -> (Lts, Lts) {
    let first = random_lts(random, 7);
    let second = match random.below(5) {
        0 => random_lts(random, 7),
        1 => copied(random, &first),
        2 => delayed(random, &first),
        3 => changed(random, &first),
        _ => {
            let other = changed(random, &first);
            copied(random, &other)
        }
    };
    (first, second)
}

#[test]
fn bisimulations_agree_with_their_definitions_and_differences_are_real() {
    let mut random = Random(3);
    let (mut equal, mut traces, mut formulas) = (0, 0, 0);
    for round in 0..4000 {
        let (first, second) = random_pair(&mut random);
        for equivalence in BISIMULATIONS {
            let context = || format!("{round} {equivalence}\n{}{}", text(&first), text(&second));
            let found = difference(&first, &second, equivalence);
            assert_eq!(found.is_none(), related(&first, &second, equivalence), "{}", context());
            match found {
                None => equal += 1,
                Some(Difference::Trace { only, labels }) => {
                    traces += 1;
                    check_trace(&first, &second, equivalence != Equivalence::Strong, only, &labels);
                }
                Some(Difference::Formula(formula)) => {
                    formulas += 1;
                    assert!(satisfies(&first, &formula), "{formula}\n{}", context());
                    assert!(!satisfies(&second, &formula), "{formula}\n{}", context());
                }
                Some(Difference::Unexplained) => panic!("{}", context()),
            }
        }
    }
    assert!(equal > 1000 && traces > 1000 && formulas > 300, "{equal} {traces} {formulas}");
}

/// Formulas where a trace would have done as well, so that all kinds of them are seen.
#[test]
fn formulas_distinguish_whenever_states_differ() {
    let mut random = Random(4);
    let mut formulas = 0;
    for round in 0..4000 {
        let (first, second) = random_pair(&mut random);
        for equivalence in BISIMULATIONS {
            let (both, start) = first.beside(&second).unwrap();
            let roots = [both.initial(), start];
            let Some(formula) = formula_difference(&both, roots, equivalence) else {
                assert!(related(&first, &second, equivalence));
                continue;
            };
            formulas += 1;
            let context = || format!("{round} {equivalence} {formula}\n{}{}", text(&first), text(&second));
            assert!(satisfies(&first, &formula) && !satisfies(&second, &formula), "{}", context());
        }
    }
    assert!(formulas > 2000);
}

fn check_trace(first: &Lts, second: &Lts, weak: bool, only: Side, labels: &[String]) {
    let (one, two) = (Deterministic::of(first, weak), Deterministic::of(second, weak));
    assert_eq!((one.has_trace(labels), two.has_trace(labels)), (only == Side::First, only == Side::Second));
    assert_eq!(one.first_difference(&two).as_deref(), Some(labels));
}

#[test]
fn traces_agree_with_plain_determinisation() {
    let mut random = Random(5);
    let mut different = 0;
    for round in 0..3000 {
        let (first, second) = random_pair(&mut random);
        for (equivalence, weak) in [(Equivalence::Trace, false), (Equivalence::WeakTrace, true)] {
            match difference(&first, &second, equivalence) {
                Some(Difference::Trace { only, labels }) => {
                    different += 1;
                    check_trace(&first, &second, weak, only, &labels);
                }
                Some(other) => panic!("traces are compared by traces, not by {other}"),
                None => {
                    let (one, two) = (Deterministic::of(&first, weak), Deterministic::of(&second, weak));
                    assert_eq!(
                        one.first_difference(&two),
                        None,
                        "{round}\n{}{}",
                        text(&first),
                        text(&second)
                    );
                    let [one, two] = [&first, &second].map(|l| minimise(l, equivalence).unwrap());
                    assert_eq!(one, two, "equal traces look alike");
                }
            }
        }
    }
    assert!(different > 500);
}

#[test]
fn the_same_moment_of_choice() {
    let early = lts(&[(0, "a", 1), (0, "a", 2), (1, "b", 3), (2, "c", 3)]);
    let late = lts(&[(0, "a", 1), (1, "b", 2), (1, "c", 2)]);
    assert!(difference(&early, &late, Equivalence::Trace).is_none());
    let Some(Difference::Formula(formula)) = difference(&early, &late, Equivalence::Strong) else { panic!() };
    assert_eq!(formula.to_string(), "<a>[c]false");
    let Some(Difference::Formula(formula)) = difference(&late, &early, Equivalence::Strong) else { panic!() };
    assert_eq!(formula.to_string(), "!<a>[c]false");
}

#[test]
fn tau_that_matters_and_tau_that_does_not() {
    let plain = lts(&[(0, "a", 1), (0, "b", 2)]);
    let inert = lts(&[(0, "tau", 3), (3, "a", 1), (3, "b", 2)]);
    let choice = lts(&[(0, "tau", 3), (3, "a", 1), (0, "b", 2), (0, "a", 1)]);
    assert!(difference(&plain, &inert, Equivalence::Branching).is_none());
    assert_eq!(size(&minimise(&inert, Equivalence::Branching).unwrap()), (2, 2));
    let Some(Difference::Formula(formula)) = difference(&choice, &plain, Equivalence::Branching) else {
        panic!()
    };
    assert_eq!(formula.to_string(), "<tau* . tau>[tau* . b]false");
    let Some(Difference::Trace { only, labels }) = difference(&plain, &inert, Equivalence::Strong) else {
        panic!()
    };
    assert_eq!((only, labels), (Side::Second, vec!["tau".to_owned()]));
}

#[test]
fn divergence_is_ignored_or_kept() {
    let stops = lts(&[(0, "a", 1)]);
    let spins = lts(&[(0, "a", 1), (1, "tau", 2), (2, "tau", 1)]);
    assert!(difference(&stops, &spins, Equivalence::Branching).is_none());
    let dp = Equivalence::DivergencePreservingBranching;
    let Some(Difference::Formula(formula)) = difference(&spins, &stops, dp) else { panic!() };
    assert_eq!(formula.to_string(), "<tau* . a>(nu X1. <tau>X1)");
    assert_eq!(edges(&minimise(&spins, dp).unwrap()), [(0, "a".to_owned(), 1), (1, "tau".to_owned(), 1)]);
    assert_eq!(size(&minimise(&spins, Equivalence::Branching).unwrap()), (2, 1));
}

#[test]
fn a_label_like_the_mark_of_divergence_is_just_a_label() {
    let spins = lts(&[(0, "divergence", 0), (0, "tau", 0)]);
    let small = minimise(&spins, Equivalence::DivergencePreservingBranching).unwrap();
    assert_eq!(edges(&small), [(0, "tau".to_owned(), 0), (0, "divergence".to_owned(), 0)]);
}

#[test]
fn determinisation_stops_at_its_limit() {
    // The n-th label before the end was a: 2^n sets.
    let n = 40;
    let mut transitions = vec![(0, "a", 0), (0, "b", 0), (0, "a", 1)];
    for s in 1..n {
        transitions.extend([(s, "a", s + 1), (s, "b", s + 1)]);
    }
    transitions.push((n, "end", n));
    let big = lts(&transitions);
    let limit = DeterminisationLimit(100_000);
    let Err(TooLarge::Deterministic { states, .. }) = minimise_within(&big, Equivalence::Trace, limit) else {
        panic!()
    };
    assert!(states > 1000);
    let other = changed(&mut Random(7), &big);
    assert!(minimise_within(&big, Equivalence::Strong, limit).is_ok());
    assert!(compare_within(&big, &other, Equivalence::Strong, limit).is_ok());
}

/// Shapes that would be slow or deep if anything were quadratic or recursive.
#[test]
fn long_chains_are_no_problem() {
    let n = 30_000;
    let chain = |label: &dyn Fn(u32) -> String| {
        build(1, 0, &(0..n).map(|s| (s, label(s), s + 1)).collect::<Vec<_>>())
    };
    let same = chain(&|_| "a".to_owned());
    let silent = chain(&|_| "tau".to_owned());
    for equivalence in Equivalence::ALL {
        let states = minimise(&same, equivalence).unwrap().num_states();
        assert_eq!(states, n as usize + 1, "{equivalence}");
        let states = minimise(&silent, equivalence).unwrap().num_states();
        assert_eq!(states, if equivalence.is_weak() { 1 } else { n as usize + 1 }, "{equivalence}");
    }
    let mut branches = edges(&silent);
    branches.extend((0..n).map(|s| (s, format!("b{s}"), n)));
    let branches = build(1, 0, &branches);
    assert_eq!(minimise(&branches, Equivalence::Branching).unwrap().num_states(), n as usize + 1);

    let longer = build(1, 0, &(0..=n).map(|s| (s, "a".to_owned(), s + 1)).collect::<Vec<_>>());
    let Some(Difference::Trace { only, labels }) = difference(&same, &longer, Equivalence::Strong) else {
        panic!()
    };
    assert_eq!((only, labels.len()), (Side::Second, n as usize + 1));
}

#[test]
fn deep_formulas_are_printed_as_definitions() {
    // A choice at the end of a long chain, made early or late.
    let n = 5000;
    let mut late: Vec<_> = (0..n).map(|s| (s, "a".to_owned(), s + 1)).collect();
    let mut early = late.clone();
    late.extend([(n, "b".to_owned(), n + 1), (n, "c".to_owned(), n + 1)]);
    early.extend([
        (n, "b".to_owned(), n + 1),
        (n - 1, "a".to_owned(), n + 2),
        (n + 2, "c".to_owned(), n + 1),
    ]);
    let (late, early) = (build(1, 0, &late), build(1, 0, &early));
    let Some(Difference::Formula(formula)) = difference(&early, &late, Equivalence::Strong) else { panic!() };
    let printed = formula.to_string();
    assert!(printed.starts_with("F1\nwhere\n  F1 = <a>F2\n  F2 = <a>F3\n"), "{}", &printed[..200]);
    assert!(
        printed.ends_with("\n  F4999 = <a>F5000\n  F5000 = <a>[c]false"),
        "{}",
        &printed[printed.len() - 200..]
    );
}

#[test]
fn names_are_understood() {
    for equivalence in Equivalence::ALL {
        for name in equivalence.names() {
            assert_eq!(name.parse(), Ok(equivalence));
        }
        assert_eq!(equivalence.to_string().parse(), Ok(equivalence));
    }
    let error = "weak".parse::<Equivalence>().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("`weak`") && error.contains("strong, branching, "), "{error}");
}
