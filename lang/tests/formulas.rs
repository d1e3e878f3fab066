//! Formulas of the modal µ-calculus with data: small ones by hand, random ones against their meaning.
//!
//! The meaning is computed on the explicit state space, set by set: regular formulas as relations between states, fixed
//! points by iteration, quantifiers by trying values. It shares nothing with the translation but the syntax.

#[path = "formulas/declarations.rs"]
mod declarations;
#[path = "formulas/meaning.rs"]
mod meaning;
#[path = "formulas/random.rs"]
mod random;

use gridlock_lang::property::{self, Sight};
use gridlock_lang::system::{self, System, Tables};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::explore;
use gridlock_lts::engine::game::{self, Decision, RunEnd, vacuity};
use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::search::{self, Options, Verdict};
use gridlock_lts::model::equivalence::{Equivalence, minimise};
use gridlock_lts::model::explicit::Lts;
use gridlock_lts::model::network::{Outcome, Step};
use gridlock_lts::property::Property;
use meaning::{Explicit, Mistake};
use random::random_formula;

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
    unless_unbounded(system, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The same, or the error that says which variable has too many values.
fn unless_unbounded(system: &System, text: &str) -> Result<bool, String> {
    let properties = properties(system, text);
    let options = Options::default();
    Ok(match &properties[..] {
        [Property::Formula(equations)] => {
            match game::decide(&system.network, &**equations, &options).map(|decided| decided.answer) {
                Ok(Decision::Holds) => true,
                Ok(Decision::Violated) => false,
                Ok(other) => panic!("{text}: {other:?}"),
                Err(error) => {
                    let told = error.to_string();
                    let unbounded = ["has too many values to try them all", "nothing bounds a variable"];
                    assert!(unbounded.iter().any(|part| told.contains(part)), "{text}: {told}");
                    return Err(told);
                }
            }
        }
        properties => match search::check(&system.network, properties, &options).expect("a search").verdict {
            Verdict::Holds => true,
            Verdict::Violated { .. } => false,
            other => panic!("{text}: {other:?}"),
        },
    })
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

/// A component is no cycle: this one has `b`, and a cycle that does without. Fairness as `[R]<S>true` gives up none of it,
/// and the run shown against the others repeats without `b`.
#[test]
fn a_component_with_an_unfair_cycle() {
    let spec = "act a, b, c, d; proc P = a . Q; Q = b . P + c . R; R = d . Q; init P;";
    let always = "nu X. mu Y. ([b]X && [!b]Y)";
    let inevitable = "[true* . a](mu X. ([!b]X && <true>true))";
    check(
        spec,
        &[
            ("[true*]<true* . b>true", true),
            ("[true* . a . (!b)*]<(!b)* . b>true", true),
            (inevitable, false),
            (always, false),
            ("nu X. mu Y. (<b>X || <!b>Y)", true),
            // Unless c is done again and again: then it is fulfilled.
            ("nu X. mu Y. ([b || c]X && [!(b || c)]Y)", true),
            ("nu X. mu Y. ([c]X && [!c]Y)", false),
        ],
    );
    let system = load(spec, Tables::Auto);
    for text in [inevitable, always] {
        let properties = properties(&system, text);
        let [Property::Formula(equations)] = &properties[..] else { panic!("{text} is a safety formula") };
        let decided = game::decide(&system.network, &**equations, &Options::default()).expect("decided");
        let evidence = decided.evidence.expect("small");
        let RunEnd::Repeats(from) = evidence.end else { panic!("{text}: {:?}", evidence.end) };
        let round = &evidence.trace.steps[from..];
        let name = |step: &Step| match system.network.vectors[step.vector.0 as usize].outcome {
            Outcome::Step(label) => system.network.labels[label.0 as usize].clone(),
            Outcome::Fault(_) => "a fault".to_owned(),
        };
        let mut names: Vec<String> = round.iter().map(name).collect();
        names.sort();
        assert_eq!(names, ["c", "d"]);
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
    assert_eq!(evidence(COUNTER, response), (false, RunEnd::Repeats(2), 4));
    assert_eq!(evidence(COUNTER, "<true* . down(3)>true"), (true, RunEnd::Decides, 4));
    let trap = "act a, b, c; proc P = a . P + b . Q; Q = c . Q + c . R; R = c . Q; init P;";
    assert_eq!(evidence(trap, "[true*]<true* . a>true"), (false, RunEnd::Branches, 1));
    // What repeats without a step is no run.
    assert_eq!(evidence(COUNTER, "mu X. X"), (false, RunEnd::Decides, 0));
    // A run into the deadlock.
    let stuck = "act a, b; init a . a . delta;";
    assert_eq!(evidence(stuck, "mu X. ([!b]X && <true>true)"), (false, RunEnd::Decides, 2));
}

/// Of formulas that automata watch, too, it is known after which steps they ask for something.
#[test]
fn antecedents_without_steps_are_found_in_tables() {
    let system = load(COUNTER, Tables::Auto);
    for (text, expected) in [
        ("[true* . up(0) . (!down(1))* . up(0)]false", &[][..]),
        ("[true* . up(7)]false", &[]),
        ("[true* . up(7) . down(1)]false", &["'up(7)'"]),
        // Only the first of them is asked for at all.
        ("[true* . reset . up(7) . down(1)]false", &["'reset'"]),
        ("[true* . up(2)]([reset]false && [down(9)][true*]<true>true)", &["'down(9)'"]),
        ("forall n: Nat. val(n < 5) => [true* . up(n) . down(n)]false", &[]),
        (
            "nu X(n: Nat = 0). (val(n < 9) && [up(n)]X(n + 1) && [down(n)]X(0) && [reset][up(0)]false)",
            &["'reset'"],
        ),
    ] {
        let equations =
            property::equations(&system.builder, &Sight::default(), "f.mcf", text).expect("it is fine");
        let found = vacuity::in_tables(&system.network, &*equations).expect("few questions");
        assert_eq!(found, expected, "{text}");
    }
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
    // What nothing bounds is reported when a search meets it.
    for text in ["exists n: Nat. [up(n)]false", "forall n: Nat. <true* . up(n)>true"] {
        let properties = properties(&system, text);
        let [Property::Formula(equations)] = &properties[..] else { panic!("no safety formula") };
        let error = game::decide(&system.network, &**equations, &Options::default()).expect_err(text);
        let told = error.to_string();
        assert!(told.contains("f.mcf:1:8: sort Nat of 'n' has too many values"), "{told}");
    }
}

const LABELS: &str = "sort L = struct up(n: Nat) | down(n: Nat);
    act label: L; x: Nat;
    proc P(k: Nat) = (k < 2) -> label(up(k)) . x(k) . P(k + 1) + (k > 0) -> label(down(k)) . P(Int2Nat(k - 1));
    init P(0);";

/// Where neither data nor a single modality gives a variable its values, the steps of the whole system do.
#[test]
fn steps_of_the_system_give_values() {
    check(
        LABELS,
        &[
            ("<true*>(exists i, j: Nat. <label(up(i))>true && <label(down(j))>true && val(i == j))", true),
            ("<true*>(exists i, j: Nat. <label(up(i))>true && <label(down(j))>true && val(i != j))", false),
            (
                "[true*](forall a: L. (<label(a)>true => (exists b: L. val(b != a) && <true* . label(b)>true)))",
                true,
            ),
            ("[true*](forall a: L. (<label(a)>true => (exists b: L. val(b != a) && <label(b)>true)))", false),
            ("nu X. (forall a: L. (<label(a)>true => <true>(<true>X && [label(a)]false)))", true),
            ("nu X. (forall a: L. (<label(a)>true => <!label(a)>X))", false),
            ("exists n: Nat. (mu X. (<x(n)>val(n == 1) || <true>X)) && [label(up(n))]false", true),
            ("forall n, m: Nat. [true*]([x(n)]false || [x(m)]val(n == m))", true),
            ("forall n, m: Nat. [true* . x(n)]([x(m)]false || [label(up(n))]false)", true),
        ],
    );
}

/// What no step bounds, and nothing but data is about: one value is enough.
#[test]
fn values_that_data_alone_is_about() {
    check(
        COUNTER,
        &[
            ("exists n, m: Nat. val(n > m) && <true* . up(1)>true", true),
            ("exists n, m: Nat. val(n > m) && <up(1)>true", false),
            ("exists n: Nat. val(n > 5 && n mod 3 == 1) && <true>true", true),
            ("forall n: Nat. val(n < 5) || <up(1)>true", false),
            ("forall n: Nat. val(n < 5) || <up(0)>true", true),
            ("[true*](exists n: Nat. val(n > 5 && n mod 3 == 1) && <true>true)", true),
            ("nu X(k: Nat = 4). [true]((exists n: Nat. val(n < k) && val(n > 2)) && X(k))", true),
            // Described sets with few elements can be compared.
            (
                "nu X(s: Set(Nat) = {n: Nat | 0 < n && n < 3}). val(exists n: Nat. n in s && s - {n} != {})",
                true,
            ),
            (
                "nu X(s: Set(Nat) = {n: Nat | 0 < n && n < 3}). val(s - {1} == {2} && s != {n: Nat | n < 3})",
                true,
            ),
            ("nu X(s: Set(Nat) = {n: Nat | n mod 2 == 0}). val(s != {n: Nat | n mod 2 == 1})", true),
        ],
    );
}

/// A variable behind an operator that one version of mCRL2 ends before, and that only this operator declares, says which
/// version is meant.
#[test]
fn names_tell_how_far_an_operator_reaches() {
    check(
        COUNTER,
        &[
            ("[true*]forall n: Nat. val(n < 2) => [up(n)]<down(n + 1)>true", true),
            ("[true*]forall n: Nat. val(n < 3) => [up(n)]<up(n + 1)>true", false),
            ("[true*]mu X. <up(2)>true || <true>X", true),
            ("[true && !exists n: Nat. up(n) || down(n)]false", true),
            ("[up(0)]nu X(k: Nat = 1). val(k < 4) && [up(k)]X(k + 1)", true),
        ],
    );
    let system = load(COUNTER, Tables::Auto);
    for text in [
        "[true*]forall n: Nat. [up(n)]false && [reset]false",
        "[true*]mu X. [!reset]X && <true>true",
        // The name means something outside, too.
        "forall n: Nat. [up(n)]forall n: Nat. [up(n)]true && [down(n)]true",
        "nu X. [reset]nu X. [true]X && [up(0)]X",
        "[!exists n: Nat. up(n) || reset]false",
        // It is another one that is meant.
        "[true*]forall n: Nat. [up(n)]false && (exists n: Nat. <down(n)>true)",
    ] {
        let errors = property::formula(&system.builder, &Sight::default(), "f.mcf", text).expect_err(text);
        assert!(errors.iter().all(|e| e.message.contains("brackets are needed")), "{text}: {errors:?}");
    }
}

/// A random specification: two processes that communicate, with data, multi-actions, hidden steps and perhaps a deadlock, or an
/// end.
fn specification(rng: &mut Rng) -> String {
    let mut text = "sort D = struct d0 | d1;\nact a, s, r: Nat; b: Nat # Nat; c, h; e: D;\n".to_owned();
    for (name, other) in [("P", "s"), ("Q", "r")] {
        for k in 0..3 {
            let mut summands = Vec::new();
            for _ in 0..1 + rng.below(3) {
                let action = match rng.below(10) {
                    0 => format!("a({})", rng.below(4)),
                    1 => format!("b({}, {})", rng.below(3), rng.below(2)),
                    2 => "c".to_owned(),
                    3 => "h".to_owned(),
                    4 => format!("e(d{})", rng.below(2)),
                    5 => format!("a({})|c", rng.below(3)),
                    6 => format!("{}|h", ["c", "a(2)", "b(1, 1)"][rng.below(3)]),
                    _ => format!("{other}({})", rng.below(2)),
                };
                let then = match rng.below(12) {
                    0 => " . delta".to_owned(),
                    1 => String::new(),
                    _ => format!(" . {name}{}", rng.below(3)),
                };
                summands.push(format!("{action}{then}"));
            }
            text += &format!("proc {name}{k} = {};\n", summands.join(" + "));
        }
    }
    let allowed = "{a, b, c, h, e, a|c, c|h, a|h, b|h}";
    text + &format!("init hide({{h}}, allow({allowed}, comm({{s|r -> a}}, P0 || Q0)));\n")
}

fn explicit(system: &System) -> Lts {
    let mut network = system.network.clone();
    let options = explore::Options { max_states: 100_000, progress: &mut |_| true };
    explore::explore(&mut network, None, options).expect("a small system")
}

/// How many specifications are tried.
fn rounds(few: u64) -> u64 {
    if std::env::var_os("GRIDLOCK_SLOW").is_some() { 20 * few } else { few }
}

#[test]
fn random_formulas_agree_with_their_meaning() {
    let mut rng = Rng::new(3);
    let (mut verdicts, mut games, mut unbounded, mut heavy) = ([0; 2], 0, 0, 0);
    let rounds = rounds(150);
    for round in 0..rounds {
        let spec = specification(&mut rng);
        let system = load(&spec, Tables::Auto);
        let lts = explicit(&system);
        let small = minimise(&lts, Equivalence::Strong).expect("no determinisation");
        let (whole, minimised) = (Explicit::of(&lts), Explicit::of(&small));
        for _ in 0..6 {
            let formula = random_formula(&mut rng);
            let text = formula.text(0, 0);
            let Some(expected) = whole.holds(&formula, Mistake::None) else {
                heavy += 1;
                continue;
            };
            let Ok(answer) = unless_unbounded(&system, &text) else {
                unbounded += 1;
                continue;
            };
            assert_eq!(answer, expected, "round {round}: {text}\n{spec}");
            if let Ok(opposite) = unless_unbounded(&system, &format!("!({text})")) {
                assert_eq!(opposite, !expected, "round {round}: {text}\n{spec}");
            }
            if let Some(there) = minimised.holds(&formula, Mistake::None) {
                assert_eq!(there, expected, "round {round}: {text}\n{spec}");
            }
            verdicts[usize::from(expected)] += 1;
            if let [Property::Formula(_)] = &properties(&system, &text)[..] {
                games += 1;
                on_demand(&spec, &text, expected);
            }
        }
    }
    assert!(verdicts.iter().all(|n| *n > rounds), "too easy: {verdicts:?}");
    assert!(games > 2 * rounds, "{games}");
    assert!(
        unbounded + heavy < rounds,
        "{unbounded} have variables without bounds, {heavy} are too much work"
    );
}

/// The same on tables that are filled as needed.
fn on_demand(spec: &str, text: &str, expected: bool) {
    let system = load(spec, Tables::OnDemand);
    let properties = properties(&system, text);
    let [Property::Formula(equations)] = &properties[..] else { panic!("a game before, and now?") };
    let lazy = Lazy::new(system.network, Box::new(system.builder), &[]).expect("a network");
    match game::decide_on_demand(&lazy, &**equations, &Options::default()) {
        Ok(decided) => assert_eq!(decided.answer == Decision::Holds, expected, "{text}\n{spec}"),
        // Games are made in another order, and may ask for more.
        Err(error) if error.to_string().contains("has too many values to try them all") => {}
        Err(error) => panic!("{text}: {error}\n{spec}"),
    }
}

#[test]
fn deliberate_mistakes_are_noticed() {
    for mistake in [
        Mistake::StarOfAtLeastOne,
        Mistake::BoxNeedsSteps,
        Mistake::LeastIsGreatest,
        Mistake::ParametersForgotten,
        Mistake::PartsMatch,
    ] {
        let mut rng = Rng::new(4);
        let noticed = (0..60).any(|_| {
            let system = load(&specification(&mut rng), Tables::Auto);
            let lts = Explicit::of(&explicit(&system));
            (0..10).any(|_| {
                let formula = random_formula(&mut rng);
                let wrong = lts.holds(&formula, mistake);
                let right = unless_unbounded(&system, &formula.text(0, 0));
                wrong.zip(right.ok()).is_some_and(|(wrong, right)| wrong != right)
            })
        });
        assert!(noticed, "{mistake:?}");
    }
}
