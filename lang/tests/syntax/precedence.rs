//! Operators bind as in mCRL2: each expression means the same as with all its parentheses written.

use crate::placeless;
use gridlock_lang::syntax::{self, tree::*};

fn data(text: &str) -> Data {
    let spec =
        syntax::parse(&format!("eqn left = {text};")).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    spec.equations.into_iter().next().unwrap().equations.remove(0).right
}

fn process(text: &str) -> Process {
    let spec = syntax::parse(&format!("init {text};")).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    spec.inits.into_iter().next().unwrap()
}

fn same_data(bare: &str, full: &str) {
    assert_eq!(placeless(&data(bare)), placeless(&data(full)), "{bare}");
}

fn same_process(bare: &str, full: &str) {
    assert_eq!(placeless(&process(bare)), placeless(&process(full)), "{bare}");
}

/// The infix operators of data by level, the loosest first; whether they associate to the right.
const DATA: [(&[&str], bool); 11] = [
    (&["=>"], true),
    (&["||"], true),
    (&["&&"], true),
    (&["==", "!="], false),
    (&["<", "<=", ">=", ">", "in"], false),
    (&["|>"], true),
    (&["<|"], false),
    (&["++"], false),
    (&["+", "-"], false),
    (&["/", "div", "mod"], false),
    (&["*", "."], false),
];

#[test]
fn every_pair_of_data_operators() {
    for (i, (loose, right)) in DATA.iter().enumerate() {
        for o in *loose {
            for p in *loose {
                match right {
                    true => same_data(&format!("a {o} b {p} c"), &format!("a {o} (b {p} c)")),
                    false => same_data(&format!("a {o} b {p} c"), &format!("(a {o} b) {p} c")),
                }
            }
            for p in DATA[i + 1..].iter().flat_map(|(tight, _)| *tight) {
                same_data(&format!("a {o} b {p} c"), &format!("a {o} (b {p} c)"));
                same_data(&format!("a {p} b {o} c"), &format!("(a {p} b) {o} c"));
            }
        }
    }
}

#[test]
fn prefixes_bind_more_tightly_than_infix_operators() {
    for o in DATA.iter().flat_map(|(level, _)| *level) {
        for p in ["!", "-", "#"] {
            same_data(&format!("{p}a {o} b"), &format!("({p}a) {o} b"));
            same_data(&format!("a {o} {p}b"), &format!("a {o} ({p}b)"));
        }
    }
    same_data("!-#a", "!(-(#a))");
    same_data("- -a", "-(-a)");
    same_data("--a", "-(-a)");
    same_data("a--b", "a - (-b)");
    same_data("-f(x)", "-(f(x))");
    same_data("#f[x -> y]", "#(f[x -> y])");
}

#[test]
fn binders_reach_as_far_as_they_can() {
    for b in ["forall x: Nat.", "exists x: Nat.", "lambda x: Nat."] {
        same_data(&format!("{b} a => b"), &format!("{b} (a => b)"));
        same_data(&format!("a || {b} b && c"), &format!("a || ({b} (b && c))"));
        same_data(&format!("{b} {b} a && b"), &format!("{b} ({b} (a && b))"));
        same_data(&format!("!{b} a"), &format!("!({b} a)"));
        same_data(&format!("{b} a whr y = 1 end"), &format!("({b} a) whr y = 1 end"));
    }
}

#[test]
fn application_update_and_whr() {
    same_data("f(x)(y)", "(f(x))(y)");
    same_data("f[x -> y](z)", "(f[x -> y])(z)");
    same_data("f[x -> y][z -> w]", "(f[x -> y])[z -> w]");
    same_data("a . f(b)", "a . (f(b))");
    same_data("a => b whr a = 1 end", "(a => b) whr a = 1 end");
    same_data("a whr b = 1 end whr c = 2 end", "(a whr b = 1 end) whr c = 2 end");
    same_data("a whr b = 1 end + c", "(a whr b = 1 end) + c");
}

#[test]
fn operators_that_begin_alike() {
    same_data("a<|b", "a <| b");
    same_data("a<b", "a < b");
    same_data("a|>b", "a |> b");
    same_data("a||b", "a || b");
    same_data("a++b", "a ++ b");
    same_data("a=>b", "a => b");
    same_data("a!=b", "a != b");
    same_data("a!=!b", "a != (!b)");
    same_data("a in b", "a in (b)");
    same_data("a div b mod c", "(a div b) mod c");
    same_process("a||_b", "a ||_ b");
    same_process("c->a<>b", "c -> a <> b");
    same_process("a.b|d", "a . (b | d)");
    assert!(matches!(&data("inside").kind, DataKind::Name(name) if &**name == "inside"));
    assert!(matches!(&data("divide").kind, DataKind::Name(name) if &**name == "divide"));
}

#[test]
fn processes() {
    same_process("a + b . c", "a + (b . c)");
    same_process("a . b + c", "(a . b) + c");
    same_process("a || b + c", "(a || b) + c");
    same_process("a || b . c", "a || (b . c)");
    same_process("a || b ||_ c", "a || (b ||_ c)");
    same_process("a ||_ b || c", "(a ||_ b) || c");
    same_process("a ||_ b ||_ c", "a ||_ (b ||_ c)");
    same_process("a | b . c", "(a | b) . c");
    same_process("a . b | c", "a . (b | c)");
    same_process("a || b | c", "a || (b | c)");
}

#[test]
fn sums() {
    same_process("sum x: S. a + b", "(sum x: S. a) + b");
    same_process("sum x: S. a || b", "sum x: S. (a || b)");
    same_process("sum x: S. a . b", "sum x: S. (a . b)");
    same_process("sum x: S. sum y: S. a . b", "sum x: S. (sum y: S. (a . b))");
    same_process("a . sum x: S. b . c", "a . (sum x: S. (b . c))");
    same_process("a . sum x: S. b + c", "(a . (sum x: S. b)) + c");
    same_process("a + sum x: S. b + c", "a + (sum x: S. b) + c");
    same_process("a || sum x: S. b || c", "a || (sum x: S. (b || c))");
    same_process("a . sum x: S. b || c", "a . (sum x: S. (b || c))");
}

#[test]
fn conditions() {
    same_process("c -> a . b", "c -> (a . b)");
    same_process("c -> a + b", "(c -> a) + b");
    same_process("c -> a || b", "(c -> a) || b");
    same_process("c -> a | b", "c -> (a | b)");
    same_process("c -> sum x: S. a + b", "(c -> (sum x: S. a)) + b");
    same_process("a . c -> b . d", "a . (c -> (b . d))");
    same_process("c -> d -> a", "c -> (d -> a)");
    same_process("c -> a <> b + e", "(c -> a <> b) + e");
    same_process("c -> a . b <> e . f", "c -> (a . b) <> (e . f)");
    same_process("c -> a <> d -> b <> e", "c -> a <> (d -> b <> e)");
    same_process("sum x: S. c -> a <> b", "sum x: S. (c -> a <> b)");
}

#[test]
fn an_else_belongs_to_the_nearest_condition() {
    same_process("c -> d -> a <> b", "c -> (d -> a <> b)");
    same_process("c -> d -> a <> b <> e", "c -> (d -> a <> b) <> e");
    same_process("c -> a . d -> b <> e", "c -> (a . (d -> b <> e))");
    same_process("c -> a + d -> b <> e", "(c -> a) + (d -> b <> e)");
    same_process("c -> (d -> a) <> b", "c -> ((d -> a)) <> b");
}

#[test]
fn a_then_branch_may_hold_looser_operators() {
    same_process("c -> a + b <> e", "c -> (a + b) <> e");
    same_process("a . c -> a || b <> e + f", "(a . (c -> (a || b) <> e)) + f");
    same_process("c -> sum x: S. a <> b", "c -> (sum x: S. a) <> b");
}

#[test]
fn a_condition_is_a_unit_of_data() {
    same_process("!c -> a", "(!c) -> a");
    same_process("!f(x)(y) -> a", "(!(f(x)(y))) -> a");
    same_process("-x -> a", "(-x) -> a");
    same_process("#l -> a", "(#l) -> a");
    same_process("true -> a", "(true) -> a");
    same_process("a . f(x) -> b", "a . ((f(x)) -> b)");
    same_process("((c)) -> ((a))", "c -> a");
    same_process("(c && !(d || e)) -> a", "((c) && (!((d) || (e)))) -> a");
    let Process { kind: ProcessKind::Condition(condition, ..), .. } = process("(a . b) -> (a . b)") else {
        panic!()
    };
    assert!(
        matches!(condition.kind, DataKind::Binary(BinaryOp::At, ..)),
        "in a condition '.' picks from a list"
    );
}

#[test]
fn chains_are_flat_and_parentheses_are_kept() {
    let count = |text: &str| match process(text).kind {
        ProcessKind::Choice(p) | ProcessKind::Seq(p) | ProcessKind::Parallel(p) | ProcessKind::Sync(p) => {
            p.len()
        }
        other => panic!("{other:?}"),
    };
    for o in ["+", ".", "||", "|"] {
        assert_eq!(count(&format!("a {o} b {o} c {o} d")), 4);
        assert_eq!(count(&format!("(a {o} b) {o} c {o} d")), 3);
        assert_eq!(count(&format!("a {o} (b {o} c {o} d)")), 2);
    }
}

#[test]
fn sorts() {
    let sort = |text: &str| {
        let spec =
            syntax::parse(&format!("sort T = {text};")).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        placeless(&spec.sorts[0])
    };
    assert_eq!(sort("A # B -> C -> D"), sort("A # B -> (C -> D)"));
    assert_eq!(sort("A -> B # C -> D"), sort("A -> (B # C -> D)"));
    assert_eq!(sort("(A # B) -> C"), sort("A # B -> C"));
    assert_ne!(sort("(A -> B) # C -> D"), sort("A -> B # C -> D"));
    assert_ne!(sort("(A -> B) -> C"), sort("A -> B -> C"));
    assert_eq!(sort("struct a | b -> C"), sort("(struct a | b) -> C"));
}
