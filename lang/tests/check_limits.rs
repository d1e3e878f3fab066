//! Large and hostile specifications: each gets some answer.

use gridlock_lang::{check, syntax};
use std::fmt::Write;

/// Parses and checks; says how many errors there are. The texts are such that work which grows much faster than they do
/// would not end.
#[track_caller]
fn errors(text: &str) -> usize {
    match syntax::parse(text).and_then(|spec| check::check(&spec)) {
        Ok(_) => 0,
        Err(errors) => errors.len(),
    }
}

#[test]
fn long_chains() {
    for (op, term) in [("+", "n"), ("&&", "(n == 1)"), ("++", "[n]"), ("|>", "n")] {
        let mut chain = vec![term; 1000].join(&format!(" {op} "));
        if op == "|>" {
            chain += " |> []";
        }
        assert_eq!(
            errors(&format!("proc P(n: Nat) = (({chain}) == ({chain})) -> tau; init P(1);")),
            0,
            "{op}"
        );
    }
    let elements = vec!["1, 0, -1"; 30_000].join(", ");
    assert_eq!(errors(&format!("map l: List(Real); eqn l = [{elements}]; init delta;")), 0);
    let parallel = vec!["a"; 10_000].join(" || ");
    assert_eq!(errors(&format!("act a; init {parallel};")), 0);
}

#[test]
fn deep_nesting() {
    let depth = 900;
    for (open, close) in
        [("[", "]"), ("-(", ")"), ("f(", ")"), ("if(true, 1, ", ")"), ("(lambda x: Nat. ", ")(1)")]
    {
        let text = format!(
            "map f: Int -> Int; b: Bool; eqn b = ({}1{} == {}1{}); init delta;",
            open.repeat(depth),
            close.repeat(depth),
            open.repeat(depth),
            close.repeat(depth)
        );
        assert_eq!(errors(&text), 0, "{open}");
    }
    let sort = format!("{}Nat{}", "List(".repeat(depth), ")".repeat(depth));
    assert_eq!(errors(&format!("map f: {sort} -> {sort}; g: Nat; eqn g = f; init delta;")), 1);
    let sort = format!("{}Nat{}", "struct c(".repeat(500), ")".repeat(500));
    errors(&format!("sort S = {sort}; init delta;"));
}

#[test]
fn sorts_that_double() {
    let mut text = String::from("sort S0 = Nat -> Nat;");
    for i in 1..200 {
        let _ = write!(text, "sort S{i} = S{} # S{} -> S{};", i - 1, i - 1, i - 1);
    }
    let _ = write!(text, "map f: S199 -> Nat; x: Nat; eqn x = f(f); init delta;");
    assert_eq!(errors(&text), 1);
}

#[test]
fn many_overloads() {
    let declared = |n: usize| {
        let mut text = String::new();
        for i in 0..n {
            let _ = write!(text, "sort S{i}; map f: S{i}; f: S{i} -> S{};", (i + 1) % n);
        }
        text
    };
    assert_eq!(errors(&format!("{} init delta;", declared(80))), 32, "the limit is 128");
    // Ambiguous, in one way or the other.
    for n in [16, 64] {
        let uses = "b = (f(f(f(f))) == f);".repeat(300);
        assert_eq!(errors(&format!("{} map b: Bool; eqn {uses} init delta;", declared(n))), 300);
    }
}

#[test]
fn many_errors() {
    let mut text = String::from("act a: Nat; map ");
    for i in 0..5_000 {
        let _ = write!(text, "function_{i}: Nat;");
    }
    text += "init ";
    for i in 0..5_000 {
        let _ = write!(text, "a(functoin_{i}) . ");
    }
    assert_eq!(errors(&format!("{text} delta;")), 5_000);
}

#[test]
fn many_declarations() {
    let mut text = String::new();
    for i in 0..3_000 {
        let _ = write!(
            text,
            "sort T{i} = struct leaf{i} | node{i}(l: T{i}, r: T{}); map m{i}: T{i} -> Nat; var t: T{i}; u: T{}; \
             eqn m{i}(leaf{i}) = {i}; m{i}(node{i}(t, u)) = m{i}(t) + m{}(u); ",
            (i + 1) % 3_000,
            (i + 1) % 3_000,
            (i + 1) % 3_000
        );
    }
    // `l` and `r` are overloaded far beyond the limit.
    assert!(errors(&format!("{text} init delta;")) > 0);
    let text = text.replace("l: T", "T").replace("r: T", "T");
    assert_eq!(errors(&format!("{text} init delta;")), 0);
}
