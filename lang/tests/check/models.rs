//! The content of the checked model.

use crate::run;
use gridlock_lang::check;
use gridlock_lang::check::Checker;
use gridlock_lang::model::{ExprKind, ProcKind, SortId};
use gridlock_lang::syntax;

/// The data expression that stands as the condition of the first process.
fn condition(text: &str) -> syntax::tree::Data {
    let spec = syntax::parse(&format!("proc X = ({text}) -> tau; init delta;")).expect("syntax");
    match &spec.processes[0].body.kind {
        syntax::tree::ProcessKind::Condition(condition, ..) => (**condition).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn expressions_are_checked_against_a_finished_model() {
    let mut model = run(
        "sort D = struct d1 | d2; Q = List(D); act a: Q # Nat; b; map f: struct t(x: D) -> Nat; proc P(q: Q) = b.P(); \
         init P([]);",
    )
    .expect("accepted");
    let q = model.processes[0].params[0];
    let expr =
        check::check_data_in(&mut model, &[q], &condition("head(q) == d1 && f(t(d2)) > 1"), SortId::BOOL);
    assert!(matches!(expr.expect("accepted").kind, ExprKind::Apply(..)));
    let errors = check::check_data_in(&mut model, &[], &condition("q == [] && d1 + 1"), SortId::BOOL)
        .expect_err("wrong");
    assert_eq!(errors.len(), 2, "{errors:?}");
    let errors = check::check_data_in(&mut model, &[q], &condition("#q"), SortId::BOOL).expect_err("wrong");
    assert_eq!(errors[0].message, "expected Bool, found Nat");

    let sorts = model.sorts.len();
    let mut checker = Checker::new(model);
    let spec =
        syntax::parse("map x: Q; y: List(D); z: struct t(x: D); w: Quue; init delta;").expect("syntax");
    let first = checker.sort(&spec.maps[0].sort).expect("declared");
    assert_eq!(checker.sort(&spec.maps[1].sort), Ok(first));
    assert!(checker.sort(&spec.maps[2].sort).is_ok());
    assert_eq!(checker.model().sorts.len(), sorts, "nothing new");
    let errors = checker.sort(&spec.maps[3].sort).expect_err("not declared");
    assert_eq!(errors[0].message, "no sort 'Quue' is declared");

    let spec = syntax::parse("act a; init a([d1], 3) + a(3) + c;").expect("syntax");
    let syntax::tree::ProcessKind::Choice(calls) = &spec.inits[0].kind else { panic!("a choice") };
    let results: Vec<bool> = calls
        .iter()
        .map(|call| match &call.kind {
            syntax::tree::ProcessKind::Call(name, args) => checker.action(&[], name, args, call.span).is_ok(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(results, [true, false, false]);
}

#[test]
fn multi_actions_are_flattened_and_calls_completed() {
    let model = run(
        "act a: Nat; b, c; proc P(n: Nat, m: Nat) = (a(1)|b|tau|c) . P(m = n) + (b . c) | b; init P(1, 2);",
    )
    .expect("accepted");
    let ProcKind::Choice(parts) = &model.processes[0].body.kind else { panic!("a choice") };
    let ProcKind::Seq(steps) = &parts[0].kind else { panic!("a sequence") };
    assert!(matches!(&steps[0].kind, ProcKind::Multi(actions) if actions.len() == 3));
    let ProcKind::Call(_, args) = &steps[1].kind else { panic!("a call") };
    let n = model.processes[0].params[0];
    assert!(args.len() == 2 && args.iter().all(|arg| matches!(arg.kind, ExprKind::Var(v) if v == n)));
    assert!(matches!(&parts[1].kind, ProcKind::Sync(..)));
    let basic: Vec<String> = (0..5).map(|i| model.sort_name(SortId(i))).collect();
    assert_eq!(basic, ["Bool", "Pos", "Nat", "Int", "Real"]);
}

#[test]
fn equations_that_never_match_have_no_effect() {
    let model = run(
        "map f: List(Nat) -> Nat; g: Nat # Bool -> Nat; var l, m: List(Nat); c: Bool; n: Nat; \
         eqn f(if(c, l, m)) = if(c, f(l), f(m)); f(l ++ m) = f(l) + f(m); f([]) = 0; g(n, n == n) = 1; g(1 + 1, true) = 2; \
         init delta;",
    )
    .expect("accepted");
    assert_eq!(model.functions[0].clauses.len(), 1);
    assert_eq!(model.functions[1].clauses.len(), 1, "a closed expression is compared by value");
}
