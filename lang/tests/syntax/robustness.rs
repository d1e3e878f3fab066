//! Nothing that is fed to the parser makes it panic, overflow its stack or take long.

use crate::{LIMIT_REACHED, limit_work};
use gridlock_lang::diagnostic::render;
use gridlock_lang::syntax;

/// Parses on a thread with the usual stack of threads, within a limit on work; gives the first message, if any.
fn answer(text: String) -> Result<(), String> {
    limit_work();
    let result = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            let result = syntax::parse(&text);
            result.map(drop).map_err(|errors| {
                assert!(!render("file", &text, &errors, true).is_empty());
                errors[0].message.clone()
            })
        })
        .expect("a thread starts")
        .join()
        .expect("the parser does not panic");
    assert!(!result.as_ref().is_err_and(|message| message.contains(LIMIT_REACHED)), "{result:?}");
    result
}

fn nest(open: &str, middle: &str, close: &str, levels: usize) -> String {
    format!("{}{middle}{}", open.repeat(levels), close.repeat(levels))
}

fn too_deep() -> Result<(), String> {
    Err(format!("this expression is nested deeper than {} levels", syntax::MAX_DEPTH))
}

const LEVELS: usize = syntax::MAX_NESTING;

#[test]
fn ten_thousand_parentheses() {
    assert_eq!(answer(format!("eqn f = {};", nest("(", "x", ")", LEVELS))), Ok(()));
    assert_eq!(answer(format!("init {};", nest("(", "x", ")", LEVELS))), Ok(()));
    assert_eq!(answer(format!("init {} -> a;", nest("(", "x", ")", LEVELS))), Ok(()));
    assert_eq!(answer(format!("sort S = {};", nest("(", "Nat", ")", LEVELS))), Ok(()));
}

#[test]
fn more_parentheses_than_are_admitted() {
    let message = Err(format!("brackets are nested deeper than {LEVELS} levels"));
    assert_eq!(answer(format!("eqn f = {};", nest("(", "x", ")", LEVELS + 1))), message);
    assert_eq!(answer(format!("init {};", "(".repeat(1_000_000))), message);
    assert_eq!(answer(format!("init a{};", "({[".repeat(100_000))), message);
}

#[test]
fn deep_trees_of_every_kind() {
    for text in [
        format!("init a({});", nest("f(", "x", ")", LEVELS - 1)),
        format!("eqn f = {};", nest("[", "x", "]", LEVELS)),
        format!("eqn f = {};", nest("{", "x", "}", LEVELS)),
        format!("eqn f = {};", nest("{x: ", "x", "}", LEVELS)),
        format!("eqn f = {};", nest("{x: S | ", "x", "}", LEVELS)),
        format!("eqn f = {};", nest("x[x -> ", "x", "]", LEVELS)),
        format!("eqn f = {};", nest("forall x: S. (", "x", ")", LEVELS)),
        format!("eqn f = {};", nest("x whr y = ", "x", " end", LEVELS)),
        format!("init {} -> a;", nest("!(", "x", ")", LEVELS)),
        format!("init {};", nest("block({a}, ", "a", ")", LEVELS - 1)),
        format!("init {};", nest("c -> (", "a", ")", LEVELS)),
        format!("sort S = {};", nest("List(", "S", ")", LEVELS)),
        format!("sort S = {};", nest("struct a(b: ", "S", ")", LEVELS)),
        format!("eqn f = {}x;", "!".repeat(100_000)),
        format!("eqn f = {}x;", "- ".repeat(20_000)),
        format!("eqn f = {}x;", "forall x: S. ".repeat(5_000)),
        format!("init {}a;", "sum x: S. ".repeat(5_000)),
        format!("init {}a;", "c -> ".repeat(20_000)),
        format!("init {}a;", "c -> a <> ".repeat(20_000)),
        format!("init {};", nest("c -> ", "a", " <> b", 20_000)),
        format!("init a {};", "||_ a ".repeat(20_000)),
        format!("sort S = {}A;", "A -> ".repeat(20_000)),
        format!("eqn f = x{};", " whr y = 1 end".repeat(5_000)),
        format!("eqn f = x{};", "(x)".repeat(20_000)),
    ] {
        assert_eq!(answer(text.clone()), too_deep(), "{:.60}", text);
    }
}

#[test]
fn long_chains() {
    for (operator, length) in [("+", 100_000), (".", 20_000), ("||", 20_000), ("|", 20_000)] {
        assert_eq!(
            answer(format!("init a{};", format!(" {operator} a").repeat(length))),
            Ok(()),
            "{operator}"
        );
    }
    for (operator, length) in [
        ("+", 20_000),
        ("||", 20_000),
        ("&&", 100_000),
        ("=>", 20_000),
        ("|>", 20_000),
        ("<|", 20_000),
        ("*", 20_000),
    ] {
        let text = format!("eqn f = x{};", format!(" {operator} x").repeat(length));
        assert_eq!(answer(text), too_deep(), "{operator}");
    }
    assert_eq!(answer(format!("eqn f = [x{}];", ", x".repeat(20_000))), Ok(()));
    assert_eq!(answer(format!("act a{};", ", a".repeat(100_000))), Ok(()));
}

#[test]
fn just_below_the_limit_of_depth() {
    let levels = syntax::MAX_DEPTH as usize - 1;
    for text in [
        format!("eqn f = x{};", " && x".repeat(levels)),
        format!("eqn f = x{};", " + x".repeat(levels)),
        format!("eqn f = {};", nest("f(", "x", ")", levels)),
        format!("init {}a;", "c -> ".repeat(levels)),
        format!("sort S = {}A;", "A -> ".repeat(levels)),
    ] {
        assert_eq!(answer(text), Ok(()));
    }
}

#[test]
fn unfinished_nesting_does_not_multiply_work() {
    for open in ["(", "f(x = ", "{x: S | ", "a({x: (", "c -> (", "f[x -> ", "x whr y = (", "forall x: S. ("] {
        assert!(answer(format!("init {};", open.repeat(3_000))).is_err());
        assert!(answer(format!("eqn f = {};", open.repeat(3_000))).is_err());
    }
}

#[test]
fn many_mistakes_in_one_declaration() {
    assert!(answer(format!("init x{};", " == x".repeat(50_000))).is_err());
    assert!(answer(format!("init x{} -> a;", " == x".repeat(50_000))).is_err());
    assert!(answer(format!("init a{};", " <> a".repeat(50_000))).is_err());
    assert!(answer(format!("init a{};", " @ 1".repeat(50_000))).is_err());
    assert!(answer(format!("init a{};", " + 1".repeat(50_000))).is_err());
}

#[test]
fn long_texts() {
    let line = "proc P(x: Nat) = (x < 3) -> a(x) . P(x + 1) <> delta; % a comment\n";
    assert_eq!(answer(line.repeat(10_000)), Ok(()));
    assert_eq!(answer(format!("eqn f = 1{};", "7".repeat(1_000_000))), Ok(()));
    assert_eq!(answer(format!("act {};", "x".repeat(1_000_000))), Ok(()));
    assert_eq!(answer(" ".repeat(1_000_000)), Ok(()));
    assert_eq!(answer("%".repeat(1_000_000)), Ok(()));
    assert!(answer(";".repeat(1_000_000)).is_err());
    assert!(answer("(".repeat(1_000_000)).is_err());
    assert!(answer("init a\n".repeat(100_000)).is_err());
    assert_eq!(answer("a".repeat(syntax::MAX_LENGTH + 1)), Err("the text is longer than 8 MiB".into()));
}

#[test]
fn many_names_with_a_long_sort() {
    let names = format!("a{}", ", a".repeat(20_000));
    let sort = format!("struct b{}", " | b".repeat(20_000));
    let message = Err("too many names share a sort as long as this".to_string());
    for text in [
        format!("map {names}: {sort};"),
        format!("act {names}: ({sort}) # Nat;"),
        format!("init sum {names}: {sort}. a;"),
    ] {
        assert_eq!(answer(text), message);
    }
}

#[test]
fn deep_formulas() {
    limit_work();
    for (text, fine) in [
        (nest("(", "true", ")", LEVELS), true),
        (format!("[{}]true", nest("(", "a", ")", LEVELS - 1)), true),
        (format!("{}true", "[a]".repeat(20_000)), false),
        (format!("{}true", "!".repeat(20_000)), false),
        (format!("[{}a]true", "!".repeat(20_000)), false),
        (format!("[a{}]true", "*".repeat(100_000)), false),
        (format!("true{}", " && true".repeat(20_000)), true),
        (format!("true{}", " => true".repeat(20_000)), false),
        (format!("[a{}]true", " . a".repeat(20_000)), true),
        (format!("{}true", "nu X. ".repeat(20_000)), false),
        (format!("[{}", "(".repeat(9_000)), false),
        ("<".repeat(100_000), false),
    ] {
        let answer = syntax::parse_formula(&text);
        assert_eq!(answer.is_ok(), fine, "{text:.60}");
        for error in answer.err().into_iter().flatten() {
            assert!(!error.message.contains(LIMIT_REACHED), "{text:.60}: {}", error.message);
        }
    }
}
