//! Hidden actions: `tau` to properties, unless they are uncovered.

use super::{check_formulas, check_never, load, search, shown};
use gridlock_lang::property::{self, Sight, Unseen};

/// What `never` finds with these hidden names uncovered, all if there is none.
#[track_caller]
fn check_uncovered(spec: &str, names: &[&str], expected: &[(&str, Option<usize>)]) {
    let system = load(spec);
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let sight = Sight::of(system.builder.model(), &names).unwrap();
    for (pattern, length) in expected {
        let property = property::never(&system.builder, &sight, pattern)
            .unwrap_or_else(|errors| panic!("{pattern}: {:?}", shown(pattern, &errors)));
        assert_eq!(search(&system, &[property]), *length, "never {pattern} of {spec} with {names:?}");
    }
}

const HIDING: &str = "act s, r, c: Nat; x;
    init hide({c}, allow({c, x}, comm({s|r -> c}, s(1) . delta || sum n: Nat. r(n) . x . delta)));";

#[test]
fn a_hidden_action_is_tau() {
    check_never(HIDING, &[("c(1)", None), ("c", None), ("tau", Some(1)), ("x", Some(2)), ("c|x", None)]);
    check_formulas(
        HIDING,
        &[
            ("[true* . c(1)]false", None),
            ("[tau . x]false", Some(2)),
            ("[!c]false", Some(1)),
            ("[tau . !c]false", Some(2)),
        ],
    );
    // The label is what is left over.
    let part = "act a, h, g; init hide({h, g}, a|h|g . h . delta);";
    check_never(part, &[("a", Some(1)), ("a|h", None), ("h|a|g", None), ("h", None), ("tau", Some(2))]);
    let both = "act a, b; init allow({a, b}, hide({a}, a . delta) || b . b . a . delta);";
    check_never(both, &[("a", Some(3)), ("tau", Some(1))]);
    let buried = "act a, h; proc P = a . hide({h}, h . h . delta); init P;";
    check_never(buried, &[("h", None), ("a", Some(1)), ("tau", Some(2))]);
}

#[test]
fn hidden_actions_can_be_uncovered() {
    for names in [&[][..], &["c"], &["x", "c"]] {
        check_uncovered(HIDING, names, &[("c(1)", Some(1)), ("c", Some(1)), ("c(2)", None), ("tau", None)]);
    }
    check_uncovered(HIDING, &["x"], &[("c", None), ("tau", Some(1))]);
    let part = "act a, h, g; init hide({h, g}, a|h|g . h . delta);";
    check_uncovered(part, &[], &[("a", None), ("a|h", None), ("h|a|g", Some(1)), ("h", Some(2))]);
    check_uncovered(part, &["h"], &[("a", None), ("a|h", Some(1)), ("h|a|g", None), ("h", Some(2))]);
    check_uncovered(part, &["g"], &[("a|g", Some(1)), ("h", None), ("tau", Some(2))]);
    let both = "act a, b; init allow({a, b}, hide({a}, a . delta) || b . b . a . delta);";
    check_uncovered(both, &["a"], &[("a", Some(1)), ("tau", None)]);
    let error = Sight::of(load(HIDING).builder.model(), &["cc".to_owned()]).unwrap_err();
    assert_eq!(error, "no action 'cc' is declared; did you mean 'c'?");
}

#[test]
fn a_name_hidden_inside_a_sequential_process_cannot_be_uncovered() {
    let system = load("act a, h; proc P = a . hide({h}, h . h . delta); init P;");
    for names in [&[][..], &["h".to_owned()]] {
        let sight = Sight::of(system.builder.model(), names).unwrap();
        let errors = property::never(&system.builder, &sight, "h").unwrap_err();
        assert!(errors[0].message.starts_with("action 'h' is hidden inside a sequential process"));
        assert!(property::formula(&system.builder, &sight, "f", "[true* . h]false").is_err());
    }
}

#[test]
fn names_that_are_not_seen_are_told() {
    let system =
        load("act a, h, gone, both; init hide({h, both}, block({gone}, a . h . both + gone)) . both;");
    let unseen = |names: Option<&[String]>, pattern: &str| {
        let sight = names.map_or_else(Sight::default, |n| Sight::of(system.builder.model(), n).unwrap());
        let formula = format!("[true* . {pattern}]false");
        let in_formula = property::unseen_in_formula(&system.builder, &sight, &formula).unwrap();
        assert_eq!(property::unseen_in_pattern(&system.builder, &sight, pattern).unwrap(), in_formula);
        in_formula
    };
    assert_eq!(unseen(None, "a|both"), []);
    assert_eq!(unseen(None, "gone|a"), [("gone".to_owned(), Unseen::Absent)]);
    assert_eq!(unseen(None, "h|h"), [("h".to_owned(), Unseen::Hidden)]);
}
