//! Formula files and action patterns.

use crate::placeless;
use gridlock_lang::syntax::{self, formula::*};

fn state(text: &str) -> StateFormula {
    syntax::parse_formula(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}")).state
}

fn same(bare: &str, full: &str) {
    assert_eq!(placeless(&state(bare)), placeless(&state(full)), "{bare}");
}

/// The first message for a text that is refused.
fn refused(text: &str) -> (usize, String) {
    let errors = syntax::parse_formula(text).expect_err(text);
    (errors[0].span.start as usize, errors[0].message.clone())
}

#[test]
fn state_formulas_bind_as_in_mcrl2() {
    same("[a]true && false", "([a]true) && false");
    same("<a>true || false", "(<a>true) || false");
    same("![a]true && X", "(!([a]true)) && X");
    same("true && false || true => X => false", "((true && false) || true) => (X => false)");
    same("mu X. [a]X && Y", "mu X. (([a]X) && Y)");
    same("nu X. mu Y. <a>X || Y => true", "nu X. (mu Y. (((<a>X) || Y) => true))");
    same("exists n: Nat. val(n > 1) && [a(n)]false", "exists n: Nat. (val(n > 1) && ([a(n)]false))");
    same("true || forall n: Nat. X(n) && false", "true || (forall n: Nat. (X(n) && false))");
}

#[test]
fn regular_formulas_bind_as_in_mcrl2() {
    same("[a.b+c]X", "[(a.b)+c]X");
    same("[a+b.c]X", "[a+(b.c)]X");
    same("[a.b*]X", "[a.(b*)]X");
    same("[a.b+]X", "[a.(b+)]X");
    same("[a+.b]X", "[(a+).b]X");
    same("[a+ + b]X", "[(a+)+b]X");
    same("[a+b]X", "[(a)+(b)]X");
    same("[a||b.c]X", "[(a||b).c]X");
    same("[!a.b]X", "[(!a).b]X");
    same("[!a*]X", "[(!a)*]X");
    same("[a && b*]X", "[(a && b)*]X");
    same("[a && b || c => d]X", "[((a && b) || c) => d]X");
    same("[a => b => c]X", "[a => (b => c)]X");
    same("[!a && b]X", "[(!a) && b]X");
    same("[exists n: Nat. a(n) || b . c]X", "[(exists n: Nat. (a(n) || b)) . c]X");
    same("[a|b . c]X", "[(a|b) . c]X");
}

#[test]
fn the_parts_are_what_they_should_be() {
    let StateKind::Box(regular, body) = state("[true* . send(1, f(x))|ack . (tau || val(b))]false").kind
    else {
        panic!()
    };
    assert!(matches!(body.kind, StateKind::Bool(false)));
    let RegularKind::Seq(steps) = regular.kind else { panic!() };
    assert!(matches!(&steps[0].kind, RegularKind::Star(_)));
    let RegularKind::Action(ActionFormula { kind: ActionKind::MultiAction(actions), .. }) = &steps[1].kind
    else {
        panic!()
    };
    assert_eq!(actions.len(), 2);
    assert_eq!((&*actions[0].name.name, actions[0].arguments.len()), ("send", 2));
    let RegularKind::Action(ActionFormula { kind: ActionKind::Or(parts), .. }) = &steps[2].kind else {
        panic!()
    };
    assert!(matches!(&parts[0].kind, ActionKind::MultiAction(none) if none.is_empty()));
    assert!(matches!(&parts[1].kind, ActionKind::Data(_)));
}

#[test]
fn a_fixed_point_has_parameters() {
    let StateKind::Fixpoint(Fixpoint::Least, name, params, _) =
        state("mu X(n: Nat = 0, b: Bool = n < 1). X(n, b)").kind
    else {
        panic!()
    };
    assert_eq!(&*name.name, "X");
    assert_eq!(params.len(), 2);
}

#[test]
fn declarations_stand_around_the_formula() {
    let text =
        "map f: Nat -> Bool; var n: Nat; eqn f(n) = n < 3;\nform exists n: Nat. <a(n)>val(f(n)); act a: Nat;";
    let formula = syntax::parse_formula(text).expect("the file is correct");
    assert_eq!(formula.declarations.maps.len(), 1);
    assert_eq!(formula.declarations.equations[0].vars.len(), 1);
    assert_eq!(formula.declarations.actions.len(), 1);
    assert!(matches!(formula.state.kind, StateKind::Quantifier(Quantifier::Exists, ..)));
    assert!(syntax::parse_formula("% a comment\n[true*]<true>true % and another\n").is_ok());
    assert!(syntax::parse_formula("\u{feff}true").is_ok());
}

#[test]
fn what_is_not_supported_is_named_where_it_stands() {
    assert_eq!(refused("true && delay@3"), (8, "time ('delay') is not supported".into()));
    assert_eq!(refused("yaled"), (0, "time ('yaled') is not supported".into()));
    assert_eq!(refused("[a@3]true"), (2, "time ('@') is not supported".into()));
    for (text, at, word) in [("inf x: Nat. X", 0, "inf"), ("true + X", 5, "+"), ("true && - X", 8, "-")] {
        let (place, message) = refused(text);
        assert_eq!(place, at, "{text}");
        assert!(message.starts_with(&format!("'{word}' on formulas is not supported")), "{message}");
    }
    assert!(refused("[!(a.b)]X").1.contains("one action"));
    assert!(refused("[a && (b*)]X").1.contains("one action"));
}

#[test]
fn mistakes_in_formula_files() {
    assert_eq!(refused("form true; form false;"), (11, "a formula file has only one section 'form'".into()));
    assert_eq!(refused("act a;"), (6, "there is no formula".into()));
    assert_eq!(refused("proc P = a; form true;"), (0, "a formula file has no section 'proc'".into()));
    assert_eq!(refused(""), (0, "expected a formula, found the end of the text".into()));
    assert_eq!(refused("[a]"), (3, "expected a formula, found the end of the text".into()));
    assert_eq!(refused("[]true"), (1, "expected an action or regular formula, found ']'".into()));
    assert_eq!(refused("X()"), (1, "expected an argument between '(' and ')'".into()));
    assert_eq!(
        refused("form true true;"),
        (10, "expected an operator or ';', found the keyword 'true'".into())
    );
    assert_eq!(refused("true true"), (5, "expected an operator or the end, found the keyword 'true'".into()));
    assert_eq!(refused("true;"), (4, "expected an operator or the end, found ';'".into()));
}

#[test]
fn patterns() {
    let pattern =
        |text: &str| syntax::parse_action_pattern(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    assert!(pattern("tau").actions.is_empty());
    assert!(pattern(" send ").actions[0].arguments.is_none());
    assert_eq!(pattern("send()").actions[0].arguments.as_ref().map(Vec::len), Some(0));
    let parts = pattern("cPDind(0, _, 1 + 2)|ack").actions;
    assert_eq!(parts.iter().map(|part| &*part.name.name).collect::<Vec<_>>(), ["cPDind", "ack"]);
    let arguments = parts[0].arguments.as_ref().unwrap();
    assert!(matches!(arguments[0], PatternArgument::Data(_)));
    assert!(matches!(arguments[1], PatternArgument::Any(span) if span.start == 10));
    assert!(matches!(arguments[2], PatternArgument::Data(_)));
    let message = |text: &str| syntax::parse_action_pattern(text).expect_err(text)[0].message.clone();
    assert_eq!(message(""), "expected an action, found the end of the text");
    assert_eq!(message("a(f(_))"), "'_' stands for a whole argument, not for a part of one");
    assert_eq!(message("a b"), "expected '|' or the end, found 'b'");
    assert_eq!(message("a(1"), "expected an operator, ')' or ',', found the end of the text");
}
