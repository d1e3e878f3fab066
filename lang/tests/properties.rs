//! Properties from their text to the verdict of a search, on small specifications.

#[path = "properties/hidden.rs"]
mod hidden;
#[path = "properties/random.rs"]
mod random;

use gridlock_lang::diagnostic::Diagnostic;
use gridlock_lang::property::{self, Sight};
use gridlock_lang::system::{self, System};
use gridlock_lts::engine::search::{self, Verdict};
use gridlock_lts::property::Property;

fn load(spec: &str) -> System {
    let system = system::load(spec, "test.mcrl2", &system::Options::default(), &mut |_| true)
        .unwrap_or_else(|errors| panic!("{spec}: {errors:?}"));
    assert!(system.closed, "{spec}");
    system
}

/// The length of the shortest counterexample; `None` if the properties hold.
fn search(system: &System, properties: &[Property]) -> Option<usize> {
    let report = search::check(&system.network, properties, &search::Options::default()).unwrap();
    match report.verdict {
        Verdict::Holds => None,
        Verdict::Violated { trace, .. } => Some(trace.len()),
        other => panic!("{other:?}"),
    }
}

fn shown(text: &str, errors: &[Diagnostic]) -> Vec<String> {
    let show = |e: &Diagnostic| {
        let place = &text[e.span.start as usize..e.span.end as usize];
        format!("{}: {} [{}]", place.trim(), e.message, e.help.as_deref().unwrap_or(""))
    };
    errors.iter().map(show).collect()
}

#[track_caller]
fn check_never(spec: &str, expected: &[(&str, Option<usize>)]) {
    let system = load(spec);
    for (pattern, length) in expected {
        let property = property::never(&system.builder, &Sight::default(), pattern)
            .unwrap_or_else(|errors| panic!("{pattern}: {:?}", shown(pattern, &errors)));
        assert_eq!(search(&system, &[property]), *length, "never {pattern} of {spec}");
    }
}

#[track_caller]
fn check_never_error(spec: &str, pattern: &str, expected: &str) {
    let errors = property::never(&load(spec).builder, &Sight::default(), pattern).unwrap_err();
    let found = shown(pattern, &errors);
    assert!(found.len() == 1 && found[0].starts_with(expected), "{pattern}: {found:?}");
}

fn formula(system: &System, text: &str) -> Vec<(String, Property)> {
    property::formula(&system.builder, &Sight::default(), "f.mcf", text)
        .unwrap_or_else(|errors| panic!("{text}: {:?}", shown(text, &errors)))
}

#[track_caller]
fn check_formulas(spec: &str, expected: &[(&str, Option<usize>)]) {
    let system = load(spec);
    for (text, length) in expected {
        let properties: Vec<Property> = formula(&system, text).into_iter().map(|p| p.1).collect();
        assert_eq!(search(&system, &properties), *length, "{text} of {spec}");
    }
}

#[track_caller]
fn check_formula_errors(spec: &str, expected: &[(&str, &str)]) {
    let system = load(spec);
    for (text, error) in expected {
        let errors = match property::formula(&system.builder, &Sight::default(), "f.mcf", text) {
            Ok(properties) => panic!("{text} was accepted: {properties:?}"),
            Err(errors) => shown(text, &errors),
        };
        assert!(errors.len() == 1 && errors[0].starts_with(error), "{text}: {errors:?}");
    }
}

const BUFFER: &str = "sort D = struct d1 | d2; act receive, send: D; lost;
    proc B = sum d: D. receive(d) . send(d) . B; init B;";

const COUNTER: &str = "act up, down: Nat; reset;
    proc C(n: Nat) = (n < 3) -> up(n) . C(n + 1) + (n > 0) -> down(n) . C(Int2Nat(n - 1));
    init C(0);";

#[test]
fn a_pattern_names_an_action_with_some_of_its_arguments() {
    check_never(
        BUFFER,
        &[
            ("send", Some(2)),
            ("send(_)", Some(2)),
            ("send(d2)", Some(2)),
            ("receive(if(1 < 2, d1, d2))", Some(1)),
            ("lost", None),
            ("lost()", None),
            ("send|receive", None),
            ("tau", None),
            ("Terminate", None),
        ],
    );
    check_never(
        COUNTER,
        &[("down(3)", Some(4)), ("down(1 + 1)", Some(3)), ("up(3)", None), ("up(_)", Some(1))],
    );
}

#[test]
fn a_pattern_must_fit_a_declaration() {
    check_never_error(BUFFER, "sedn", "sedn: no action 'sedn' is declared [did you mean 'send'?]");
    check_never_error(BUFFER, "send|zap", "zap: no action 'zap' is declared [");
    check_never_error(
        BUFFER,
        "send(d1, _)",
        "send: action 'send' does not take 2 arguments [declared: 'send: D'",
    );
    check_never_error(BUFFER, "send()", "send: action 'send' needs arguments [declared: 'send: D'");
    check_never_error(BUFFER, "lost(_)", "lost: action 'lost' does not take 1 argument [declared: 'lost'");
    check_never_error(BUFFER, "send(true)", "true: ");
    check_never_error(BUFFER, "send(d3)", "d3: ");
    check_formula_errors(
        COUNTER,
        &[("[up(1 + _)]false", "_: no name '_' is declared ['_' stands for a whole argument")],
    );
    let overloaded = "act a: Bool; a: List(Nat); init a(true) . a([1]) . delta;";
    check_never_error(
        overloaded,
        "a(1)",
        "a: action 'a' cannot be used with these arguments [declared: 'a: Bool'",
    );
    check_never(overloaded, &[("a(true)", Some(1)), ("a([1])", Some(2)), ("a([])", None), ("a", Some(1))]);
}

#[test]
fn a_pattern_matches_the_whole_multi_action() {
    check_never(
        "act a, b: Nat; c; init a(1)|b(2) . a(1)|a(2) . c . delta;",
        &[
            ("a(1)", None),
            ("a", None),
            ("a|b", Some(1)),
            ("b(2)|a(_)", Some(1)),
            ("b(1)|a", None),
            ("a(_)|a(1)", Some(2)),
            ("a(2)|a(_)", Some(2)),
            ("a(1)|a(1)", None),
            ("a|a", Some(2)),
            ("a|a|a", None),
            ("c", Some(3)),
        ],
    );
}

#[test]
fn values_are_compared_by_what_they_are() {
    // A set given by a condition, one by its elements; an irreducible constant; a function over a small domain.
    check_never(
        "sort E; map e, f: E; act s: Set(Bool); i: E; g: Bool -> Bool; r: Real;
         init s({ x: Bool | x || x }) . i(e) . g(lambda x: Bool. !!x) . r(1/2) . delta;",
        &[
            ("s({true})", Some(1)),
            ("s({ x: Bool | x })", Some(1)),
            ("s({})", None),
            ("i(e)", Some(2)),
            ("i(f)", None),
            ("g(lambda y: Bool. y)", Some(3)),
            ("g(lambda y: Bool. !y)", None),
            ("r(2/4)", Some(4)),
        ],
    );
    check_never_error(
        "act g: Nat -> Nat; init g(lambda x: Nat. x) . delta;",
        "g(lambda x: Nat. x)",
        "lambda x: Nat. x: arguments cannot be compared with this value",
    );
}

#[test]
fn the_end_counts_as_a_deadlock() {
    check_formulas(
        "act a; init a;",
        &[("[true*]<true>true", Some(2)), ("[true* . Terminate]false", Some(2))],
    );
    check_formulas(
        "act a; init a . delta;",
        &[("[true*]<true>true", Some(1)), ("[true* . Terminate]false", None)],
    );
    check_formulas("act a; proc P = a . P; init P;", &[("[true*]<true>true", None)]);
    check_never("act a; init a;", &[("Terminate", Some(2)), ("Terminate()", Some(2))]);
}

#[test]
fn a_declared_action_terminate_does_not_take_the_place_of_the_end() {
    for declared in ["Terminate", "Terminate: Bool", "Terminate: Bool; Terminate"] {
        let spec = format!("act a; {declared}; init a;");
        check_never(&spec, &[("Terminate", Some(2)), ("Terminate()", Some(2))]);
        check_formulas(&spec, &[("[true* . Terminate]false", Some(2)), ("[a . !Terminate]false", None)]);
    }
    let both = "act a; Terminate: Bool; init Terminate(true) . a;";
    check_never(both, &[("Terminate(_)", Some(1)), ("Terminate(false)", None), ("Terminate()", Some(3))]);
    check_formulas(
        both,
        &[("[a]false", None), ("[!Terminate]false", None), ("[!(Terminate(_))]false", None)],
    );
}

#[test]
fn formulas_of_the_safety_part_are_decided() {
    check_formulas(
        COUNTER,
        &[
            ("true", None),
            ("false", Some(0)),
            ("[true*]false", Some(0)),
            ("[up(0)*]false", Some(0)),
            ("[up(0)+]false", Some(1)),
            ("[true]false", Some(1)),
            ("[false]false", None),
            ("[tau]false", None),
            ("[reset]false", None),
            ("[true* . up(1) . down(2)]false", Some(3)),
            ("[true*][up(1)][down(2)]false", Some(3)),
            ("[true* . up(2) . up(_)]false", None),
            ("[(!down(1))* . up(2)]false", Some(3)),
            ("[up(0) . (up(1) + down(1)) . true . true]false", Some(4)),
            ("[(up(0) . down(1))* . up(1)]false", None),
            ("[(up(0) . down(1))* . up(0) . up(1)]false", Some(2)),
            ("[true* . (down(2) || down(3))]false", Some(3)),
            ("[true* . (up(_) && !up(0) && !up(1))]false", Some(3)),
            ("[true* . (up(0) => down)]false", Some(2)),
            ("[true* . up . up . up . up]false", None),
            ("[true* . up . up . up]false", Some(3)),
            ("[true* . (up|down)]false", None),
            ("[true*]<true>true", None),
            ("[true*](<true>true && [down(0)]false)", None),
            ("[true*](<true>true && [down(1)]false)", Some(2)),
            ("[true*][true*]<true || up(0)>true", None),
            ("[up(0)]([up(0)]false && [up(1)]([up(1)]false && [down(2)]false))", Some(3)),
            ("!<true* . down(3)>true", Some(4)),
            ("!(<up(1)>true || <up(0) . up(1)>true)", Some(2)),
            ("!([up(0)]true => <up(0)>true)", Some(1)),
            ("!![true* . down(3)]false", Some(4)),
            ("!(<down>true || ![true*]<true>true)", None),
        ],
    );
}

#[test]
fn data_decides_parts_of_formulas() {
    check_formulas(
        COUNTER,
        &[
            ("val(1 < 2)", None),
            ("val(2 < 1)", Some(0)),
            ("[up(0)]val(2 < 1)", Some(1)),
            ("val(1 == 2) || [true* . down(3)]false", Some(4)),
            ("val(1 == 1) || <true>false", None),
            ("val(1 == 1) => [true* . down(2)]false", Some(3)),
            ("val(head([]) == 1 && false) => [up(0)]false", None),
            ("[true* . (val(1 < 2) && up(1))]false", Some(2)),
            ("forall b: Bool. val(b) => [true* . up(if(b, 1, 0))]false", Some(2)),
            ("!(exists b: Bool. <true* . up(if(b, 2, 3))>true)", Some(3)),
            ("[true* . (exists n: Nat. down(n))]false", Some(2)),
            ("[true* . !(exists n: Nat. up(n))]false", Some(2)),
            ("[true* . (forall n: Nat. !up(n))]false", Some(2)),
            ("[true* . (exists n: Nat. up(n) || down(n)) . (exists n, m: Nat. up(n)|down(m))]false", None),
            ("[true* . (exists b: Bool. up(if(b, 1, 2)) && val(!b))]false", Some(3)),
            ("[(forall b: Bool. (val(b) => up(0)))]false", Some(1)),
        ],
    );
    check_formulas(
        "sort D = struct d1 | d2 | d3; act r, s: D # Bool; q: D;
         proc B = sum d: D, b: Bool. r(d, b) . (s(d, b) . B + (d == d2 && b) -> s(d3, b) . delta); init B;",
        &[
            ("forall d: D, b: Bool. [true* . r(d, b) . (!s(d, b))]false", Some(2)),
            ("forall d: D, b: Bool. val(!b || d != d2) => [true* . r(d, b) . (!s(d, b))]false", None),
            ("[true* . (exists d: D. r(d, true)) . (exists d: D. s(d, false))]false", None),
            (
                "forall d: D. [true* . (exists b: Bool. r(d, b)) . (exists e: D, b: Bool. val(e != d) && s(e, b))]false",
                Some(2),
            ),
            ("[true* . (exists b: Bool. r(d2, b) && val(b)) . s(d2, _) . r(d1, _)]false", Some(3)),
            ("[true* . (forall d: D. !(r(d, true) || r(d, false) || s(d, true) || s(d, false)))]false", None),
        ],
    );
}

#[test]
fn invariants_may_be_written_as_greatest_fixed_points() {
    check_formulas(
        COUNTER,
        &[
            ("nu X. [true]X && [down(3)]false", Some(4)),
            ("nu X. [true]X && <true>true", None),
            ("nu X. [up]X && [down(2)]false", Some(3)),
            ("nu X. [up(0)]X && [up(1)]X && [up(2)]false", Some(3)),
            ("nu X. [up(1)]X && [up(0)]X && [down(1)]false && ([down(3)]false)", Some(2)),
            ("nu X. [up(1)]X && [up(1)]false", None),
            ("[up(0)](nu X. ([true]X && [up(2)]false))", Some(3)),
        ],
    );
}

#[test]
fn samples_in_the_style_of_protocol_descriptions() {
    let racy = "act enter, leave: Pos; look, show, seen, put, store, stored: Bool;
        proc P(i: Pos) = look(false) . put(true) . enter(i) . leave(i) . put(false) . P(i);
        Lock(b: Bool) = show(b) . Lock(b) + sum c: Bool. store(c) . Lock(c);
        init allow({enter, leave, seen, stored},
               comm({look|show -> seen, put|store -> stored}, P(1) || P(2) || Lock(false)));";
    let exclusion = "% Nobody enters while another is inside.
        forall i, j: Bool.
          val(i != j) => [true* . enter(if(i, 1, 2)) . (!leave(if(i, 1, 2)))* . enter(if(j, 1, 2))]false";
    // The check and the setting of the lock are two steps: both can pass before either sets it.
    check_formulas(racy, &[(exclusion, Some(6))]);
    let atomic = "act enter, leave: Pos; take, give, taken, free, accept, freed;
        proc P(i: Pos) = take . enter(i) . leave(i) . free . P(i);
        Lock = give . accept . Lock;
        init allow({enter, leave, taken, freed},
               comm({take|give -> taken, free|accept -> freed}, P(1) || P(2) || Lock));";
    check_formulas(
        atomic,
        &[
            (exclusion, None),
            ("[true* . taken . (!freed)* . taken]false", None),
            ("[!taken* . enter(1)]false", None),
            ("[true* . enter(1) . (!leave(1))* . freed]false", None),
            ("[true*](<true>true && [leave(1)][enter(2)]false)", None),
            ("[true* . leave(1) . true . true . enter(2)]false", Some(6)),
        ],
    );
}

#[test]
fn names_tell_conjuncts_apart() {
    let system = load(COUNTER);
    let names = |text: &str| formula(&system, text).into_iter().map(|p| p.0).collect::<Vec<_>>();
    assert_eq!(names("[true* . up(3)]false"), ["f.mcf"]);
    assert_eq!(names("true"), ["f.mcf"]);
    assert_eq!(names("[true*](<true>true && [up(3)]false) && [true*]<true>true"), ["f.mcf #1", "f.mcf #2"]);
    assert_eq!(
        names("forall b: Bool. [true* . up(if(b, 3, 4))]false && [true*]<true>true"),
        ["f.mcf #1 (b = false)", "f.mcf #2", "f.mcf #3 (b = true)"]
    );
    let kinds: Vec<String> =
        formula(&system, "[true*]<true>true && [up]false").iter().map(|p| format!("{:?}", p.1)).collect();
    assert_eq!(kinds, ["DeadlockFree", "Monitor"]);
}

#[test]
fn mistakes_are_refused_at_their_place() {
    check_formula_errors(
        COUNTER,
        &[
            ("[up(0) . upp(1)]false", "upp: no action 'upp' is declared [did you mean 'up'?"),
            ("[up(true)]false", "true: "),
            ("[up(0, 1)]false", "up: action 'up' does not take 2 arguments"),
            ("[reset(1)]false", "reset: action 'reset' does not take 1 argument"),
            ("[up(n)]false", "n: "),
            ("val(1 + 2)", "1 + 2: "),
            ("val(head([]) == 1)", "head([]) == 1: this has no truth value"),
        ],
    );
}

#[test]
fn all_errors_of_names_are_reported_at_once() {
    let text = "[upp(1)]false && [dwn(1)]false";
    let errors = property::formula(&load(COUNTER).builder, &Sight::default(), "f.mcf", text).unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn formula_files_may_declare_the_actions_again() {
    check_formulas(COUNTER, &[("act up, down: Nat; form [true* . down(2)]false;", Some(3))]);
    check_formula_errors(
        COUNTER,
        &[(
            "act up: Bool; form [true*]<true>true;",
            "up: the specification declares action 'up' differently",
        )],
    );
    for (text, error) in [
        ("act left; form [true* . left]false;", "left: no action 'left' is declared"),
        ("proc P = up(0); form true;", "proc: a formula file has no section 'proc'"),
    ] {
        let errors = property::formula(&load(COUNTER).builder, &Sight::default(), "f.mcf", text).unwrap_err();
        assert!(shown(text, &errors)[0].starts_with(error), "{:?}", shown(text, &errors));
    }
}

#[test]
fn large_formulas_end_with_an_answer_or_an_error() {
    // Many exclusive patterns are few classes.
    let sort: Vec<String> = (0..300).map(|i| format!("e{i}")).collect();
    let spec =
        format!("sort E = struct {}; act a, b: E; init sum e: E. a(e) . b(e) . delta;", sort.join(" | "));
    check_formulas(
        &spec,
        &[
            ("[true* . (exists e: E. val(e != e7) && a(e)) . b(e7)]false", None),
            ("[true* . (exists e: E. val(e != e7) && a(e)) . b(e8)]false", Some(2)),
            ("forall e: E. [true* . b(e) . a(e)]false", None),
            ("forall e: E. [true* . a(e) . b(e)]false && [true*]<true>true", Some(2)),
        ],
    );
    // What no automaton can be made for is left to a game.
    let parts = formula(&load(&spec), "[(exists e, f, g: E. val(e != f && f != g) && a(e))]false");
    assert!(matches!(parts[..], [(_, Property::Formula(_))]), "{parts:?}");
    let bits = "act a: Bool # Bool # Bool; init a(true, true, true) . delta;";
    check_formulas(bits, &[("[a(true, _, _) && a(_, true, _) && a(_, _, true)]false", Some(1))]);
    let nested = format!("{}false{}", "[a(true, _, _)](true && ".repeat(900), ")".repeat(900));
    let errors = property::formula(&load(bits).builder, &Sight::default(), "f.mcf", &nested);
    assert!(errors.is_ok(), "{:?}", errors.unwrap_err());
}

#[test]
fn data_bounds_variables_of_infinite_sorts() {
    check_formulas(
        COUNTER,
        &[
            ("[true* . (exists n: Nat. val(n < 3) && down(n + 1))]false", Some(2)),
            ("[true* . (exists n: Nat. down(n + 2) && val(n < 3))]false", Some(3)),
            ("[true* . (exists n: Nat. val(n == 3) && down(n))]false", Some(4)),
            ("[true* . (exists n: Nat. val(n in [3, 7, 7]) && down(n))]false", Some(4)),
            ("[true* . (exists n: Nat. val(1 < n && n <= 5) && up(n))]false", Some(3)),
            ("[true* . (exists i: Int. val(i > -3 && i < 0) && down(abs(i)))]false", Some(2)),
            ("[true* . (exists n: Pos. val(n < 3) && up(n))]false", Some(2)),
            ("[true* . (exists n: Nat. val(n < 0) && down(n + 1))]false", None),
            ("[true* . (exists n: Nat. val(n * n < 2) && down(n + 2))]false", Some(3)),
            // A bound can come from another variable, whichever is declared first.
            ("[true* . (exists m, n: Nat. val(n < 3 && m < n) && down(m + n))]false", Some(2)),
            ("[true* . (exists m: Nat. exists n: Nat. val(n < 3 && m < n) && down(m + n))]false", Some(2)),
            (
                "[true* . (exists n: Nat. val(n < 3) && (exists m: Nat. val(m < n) && down(m + n)))]false",
                Some(2),
            ),
            ("[true* . (exists m: Nat. (exists n: Nat. val(n < 3 && m < n)) && down(m + 2))]false", Some(3)),
            (
                "[true* . (exists m: Nat. down(m + 2) && !(forall n: Nat. val(n < 3 => n <= m)))]false",
                Some(3),
            ),
            // Each alternative has its own.
            (
                "[true* . (exists n: Nat. val(n == 7) && up(n + 1) || val(n == 1) && down(n + 1))]false",
                Some(3),
            ),
            ("[true* . (exists n: Nat. val(n < 2) && (up(n + 1) || down(n + 3)))]false", Some(2)),
            (
                "[true* . (exists n: Nat. val(n < 2) && (up(n + 2) || (exists m: Nat. val(n > 0) && down(m))))]false",
                Some(2),
            ),
            ("[true* . (exists n: Nat. reset || val(n < 1) && down(n + 3))]false", Some(4)),
            // Some are any argument, others have bounds.
            ("[true* . (exists n, m: Nat. val(m < 4) && up(n) && !up(m))]false", Some(1)),
            // For all values within bounds.
            ("[true* . (forall n: Nat. val(n < 3) => !up(n))]false", Some(2)),
            ("[true* . (forall n: Nat. val(n >= 3) || !up(n))]false", Some(2)),
            ("[true* . (forall n: Nat. !(val(n < 2) && (up(n) || down(n + 1))))]false", Some(3)),
            ("[true* . (forall n: Nat. val(n < 2) => (exists m: Nat. val(m <= n) && up(m)))]false", Some(1)),
            (
                "[true* . up(2) . (forall m: Nat. forall n: Nat. val(m < n && n < 2) => !down(m + n))]false",
                Some(4),
            ),
            // The same for state formulas.
            ("forall n: Nat. val(n < 3) => [true* . up(n) . down(n + 1)]false", Some(2)),
            ("forall n: Nat. val(2 < n && n < 5) => [true* . down(n)]false", Some(4)),
            (
                "forall n: Nat. forall m: Nat. val(m < n && n < 4) => [true* . up(m) . up(n) . down(m + 2)]false",
                Some(3),
            ),
            ("!(exists n: Nat. val(n in [2, 3]) && <true* . down(n)>true)", Some(3)),
        ],
    );
    let bounded = formula(&load(COUNTER), "forall n: Nat. val(n in [2, 5]) => [true* . down(n)]false");
    let names: Vec<&str> = bounded.iter().map(|p| &*p.0).collect();
    assert_eq!(names, ["f.mcf #1 (n = 2)", "f.mcf #2 (n = 5)"]);
}

#[test]
fn a_variable_that_is_any_argument_has_its_sort_among_overloaded_actions() {
    let overloaded =
        "act a: Nat; a: Bool; a: Nat # Nat; b: Nat; init a(3) . a(true) . a(1, 2) . b(1) . delta;";
    check_formulas(
        overloaded,
        &[
            ("[exists x: Bool. a(x)]false", None),
            ("[true* . (exists x: Bool. a(x))]false", Some(2)),
            ("[!(exists x: Bool. a(x))]false", Some(1)),
            ("[true* . (forall x: Bool. !a(x))]false", Some(1)),
            ("[a(3) . (forall x: Bool. !a(x))]false", None),
            ("[true* . (exists x: Nat. a(x, 2))]false", Some(3)),
            ("[true* . (exists x: Nat. b(x))]false", Some(4)),
            ("[a(_)]false", Some(1)),
        ],
    );
}

#[test]
fn data_without_a_truth_value_is_refused() {
    check_formula_errors(
        COUNTER,
        &[(
            "[(exists n: Nat. val(n < 3 && head([]) == n) && up(n))]false",
            "n: for some value of 'n' the data has no",
        )],
    );
}

#[test]
fn the_step_limit_is_that_of_the_specification() {
    let spec = "map total: Nat -> Nat; var n: Nat; eqn total(0) = 0; (n > 0) -> total(n) = n + total(Int2Nat(n - 1)); act a: Nat; init a(3) . delta;";
    let with_limit = |step_limit| {
        let options = system::Options { step_limit, ..system::Options::default() };
        system::load(spec, "test.mcrl2", &options, &mut |_| true)
            .unwrap_or_else(|errors| panic!("{errors:?}"))
    };
    let (few, many) = (with_limit(2_000), with_limit(100_000));
    assert!(property::never(&many.builder, &Sight::default(), "a(total(5000))").is_ok());
    let errors = property::never(&few.builder, &Sight::default(), "a(total(5000))").unwrap_err();
    assert_eq!(errors[0].message, "evaluation did not end within 2000 steps");
    assert_eq!(
        search(&few, &[property::never(&few.builder, &Sight::default(), "a(total(2))").unwrap()]),
        Some(1)
    );
    // Many small evaluations count together.
    let sums = "forall n: Nat. val(n < 100 && total(n) == 3) => [a(n + 1)]false";
    assert_eq!(search(&many, &[formula(&many, sums).remove(0).1]), Some(1));
    for text in [
        sums,
        "[(exists m: Nat. val(m < 99) && (exists n: Nat. val(n < 99 && n mod 7 == 9) && a(n + m)))]false",
    ] {
        let errors = property::formula(&few.builder, &Sight::default(), "f.mcf", text).unwrap_err();
        assert_eq!(errors[0].message, "evaluation did not end within 2000 steps", "{text}");
    }
}
