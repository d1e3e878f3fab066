//! The messages for mistakes of users.

use gridlock_lang::diagnostic::{locate, render};
use gridlock_lang::syntax;

/// Checks line, column and message of every problem, and that the remedy of the first contains a text.
fn check(text: &str, expected: &[(usize, usize, &str)], help: &str) {
    let errors = syntax::parse(text).expect_err(text);
    let found: Vec<_> = errors
        .iter()
        .map(|error| {
            let (line, column) = locate(text, error.span.start as usize);
            (line, column, error.message.as_str())
        })
        .collect();
    assert_eq!(found, expected, "{text}");
    let remedy = errors[0].help.as_deref().unwrap_or("");
    assert!(remedy.contains(help), "{text}: {remedy:?}");
    assert!(!help.is_empty() || remedy.is_empty(), "{text}: {remedy:?}");
}

fn check_one(text: &str, column: usize, message: &str, help: &str) {
    check(text, &[(1, column, message)], help);
}

#[test]
fn a_message_shows_the_place() {
    let text = "act a;\ninit hide({a},\n\ta . );\n";
    let errors = syntax::parse(text).expect_err("something is missing");
    assert_eq!(
        render("x.mcrl2", text, &errors, false),
        "error: expected an action or process, found ')'\n --> x.mcrl2:3:6\n  |\n3 |     a . );\n  |         ^\n\n"
    );
}

#[test]
fn what_was_expected_is_in_the_users_words() {
    check_one("init a + ;", 10, "expected an action or process, found ';'", "");
    check_one("init ;", 6, "expected an action or process, found ';'", "");
    check_one("eqn f = 1 + ;", 13, "expected a data expression, found ';'", "");
    check_one("map f: A -> ;", 13, "expected a sort, found ';'", "");
    check_one("proc = a;", 6, "expected a name, found '='", "");
    check_one("proc P a;", 8, "expected '(' or '=', found 'a'", "");
    check_one("init block(a, b);", 12, "expected '{', found 'a'", "");
    check_one("init sum x. a;", 11, "expected ',' or ':', found '.'", "");
    check_one("sort S = List;", 14, "expected '(', found ';'", "");
    check_one("init a . b c;", 12, "expected an operator or ';', found 'c'", "is a '.' missing before 'c'?");
    check_one("init in;", 6, "expected an action or process, found the keyword 'in'", "");
    check_one("init a", 7, "expected ';' at the end of the file", "a ';' ends each declaration");
    check_one("init a +", 9, "expected an action or process, found the end of the text", "");
    check_one("init", 1, "there is nothing behind 'init'", "write a process");
}

#[test]
fn brackets() {
    check_one(
        "init (a . b;",
        12,
        "expected an operator or ')', found ';'",
        "the '(' in line 1, column 6 is not closed",
    );
    check_one(
        "eqn f = [1, 2;",
        14,
        "expected an operator, ',' or ']', found ';'",
        "the '[' in line 1, column 9",
    );
    check_one("init a(1));", 10, "expected an operator or ';', found ')'", "no opening bracket for this ')'");
    check_one("eqn f = (1];", 11, "expected an operator or ')', found ']'", "the '(' in line 1, column 9");
}

#[test]
fn a_misspelt_section() {
    check(
        "act a;\nporc P = a;\ninit P;",
        &[(2, 6, "expected ',', ':' or ';', found 'P'")],
        "did you mean the section 'proc'?",
    );
}

#[test]
fn a_missing_end_of_a_declaration() {
    check("act a\nproc P = a;", &[(1, 6, "expected ';' before 'proc'")], "'proc' begins a new section");
    check(
        "eqn f = x\n  g = y;",
        &[(2, 3, "expected an operator or ';', found 'g'")],
        "is a ';' missing on the line before?",
    );
    check("proc P = a +\ninit P;", &[(2, 1, "expected an action or process, found the keyword 'init'")], "");
}

#[test]
fn keywords_are_no_names() {
    check_one("act end;", 5, "'end' is a keyword and cannot be used as a name", "choose another name");
    check_one(
        "sort Bool = Nat;",
        6,
        "'Bool' is a keyword and cannot be used as a name",
        "choose another name",
    );
    check_one(
        "proc P = map(x) . a;",
        10,
        "'map' is a keyword and cannot be used as a name",
        "choose another name",
    );
    check_one(
        "init hide({tau}, a);",
        12,
        "'tau' is a keyword and cannot be used as a name",
        "choose another name",
    );
}

#[test]
fn equality_and_choice_in_data() {
    check_one("init (x = 1) -> a;", 9, "expected an operator or ')', found '='", "to compare, write '=='");
    check_one("init (f(x = 1)) -> a;", 11, "'=' cannot stand in data", "to compare, write '=='");
    check_one(
        "eqn f(x) == 3;",
        14,
        "expected an operator or '=', found ';'",
        "an equation is written 'left = right'",
    );
    check_one("eqn f = 1 -> 2;", 11, "expected an operator or ';', found '->'", "if(condition, then, else)");
    check_one(
        "eqn f = if x then y;",
        12,
        "expected an operator or ';', found 'x'",
        "if(condition, then, else)",
    );
    check_one("eqn f = g();", 10, "expected an argument between '(' and ')'", "without parentheses");
    check_one("eqn f = 007;", 9, "expected a data expression, found the number 007", "does not begin with 0");
    check_one("eqn f = {1, 2: 3};", 9, "some elements have a count and some do not", "a bag is written");
}

#[test]
fn conditions_need_parentheses() {
    check_one(
        "init x == 1 -> a;",
        8,
        "a condition with '==' must be in parentheses",
        "write (condition) -> process",
    );
    check_one(
        "init b . x in {1} -> a;",
        12,
        "a condition with 'in' must be in parentheses",
        "write (condition)",
    );
    check_one(
        "init forall x: S. p -> a;",
        6,
        "a condition with a quantifier must be in parentheses",
        "write (condition)",
    );
    check_one(
        "init (a -> b) -> c;",
        9,
        "'->' chooses between processes and cannot stand in data",
        "if(condition",
    );
    check_one("init (sum x: S. a) -> c;", 7, "'sum' belongs to processes and cannot stand in data", "");
    check_one("init (a | b) -> c;", 9, "'|' cannot stand in data", "'||'");
}

#[test]
fn data_is_no_process() {
    check_one("init 5;", 6, "expected an action or process, found data", "a condition is followed by '->'");
    check_one(
        "init a . [1];",
        10,
        "expected an action or process, found data",
        "a condition is followed by '->'",
    );
    check_one("init !a;", 6, "expected an action or process, found data", "a condition is followed by '->'");
    check_one(
        "init forall x: S. sum y: S. a;",
        6,
        "'forall' belongs to data and cannot stand before a process",
        "",
    );
    check_one("init !!sum y: S. a;", 6, "'!' belongs to data and cannot stand before a process", "");
    check_one("init a && b;", 8, "'&&' combines data, not processes", "processes are combined with");
    check_one("init a * b;", 8, "'*' combines data, not processes", "processes are combined with");
    check_one("init delta(1);", 6, "'delta' takes no arguments", "");
    check_one(
        "init P(x = 1, 2);",
        7,
        "arguments are given either by position or by name, not both",
        "write P(e, f)",
    );
    check_one("init a <> b;", 8, "'<>' has no '->' before it", "c -> p <> q");
    check_one(
        "init comm({a -> b}, P);",
        12,
        "a communication needs at least two actions, here is only 'a'",
        "rename",
    );
}

#[test]
fn what_is_not_supported_is_named_where_it_stands() {
    check_one("init a @ 3 . b;", 8, "time ('@') is not supported", "remove the time");
    check_one("init delta @ f(t)(1) + b;", 12, "time ('@') is not supported", "remove the time");
    check_one(
        "init a << b;",
        8,
        "bounded initialisation ('<<') is not supported: it is an operator of time",
        "remove",
    );
    check_one("init dist x: Bool[1/2]. a(x);", 6, "probabilistic choice ('dist') is not supported", "'sum'");
}

#[test]
fn characters_that_are_not_in_the_language() {
    check_one("init a & b;", 8, "'&' is not part of the language", "write '&&'");
    check_one("init a ∧ b;", 8, "'∧' is not part of the language", "write '&&'");
    check_one("init \"x\";", 6, "'\"' is not part of the language", "no strings");
    check_one("init a\0;", 7, "the character U+0000 is not part of the language", "");
    check_one("init\u{a0}a;", 5, "the character U+00A0 is not part of the language", "");
    check_one("init $;", 6, "'$' is not part of the language", "");
}

#[test]
fn sections() {
    check_one("hello;", 1, "expected a section, found 'hello'", "a section begins with");
    check_one("init a; b;", 9, "expected a section, found 'b'", "a section begins with");
    check_one("act a;;", 7, "expected a declaration of 'act', found ';'", "");
    check_one(";", 1, "there is nothing for this ';' to end", "remove");
    check("act\nproc P = a;", &[(1, 1, "there is nothing behind 'act'")], "remove 'act'");
    check(
        "var x: Nat;\nmap f: Nat;",
        &[(1, 1, "a section 'var' must be followed by a section 'eqn'")],
        "equations",
    );
    let domain = "a product of sorts can only be the domain of a function";
    let result = "a function has one result; a product of sorts cannot be it";
    check_one("map f: Nat # Nat;", 8, domain, "'-> S'");
    check_one("cons c: (Nat # Bool);", 10, domain, "'-> S'");
    check_one("map f: Nat -> Nat # Nat;", 15, result, "'struct'");
    check_one("map f: Nat -> Nat # Nat -> (Nat # Nat);", 29, result, "'struct'");
}

#[test]
fn every_declaration_is_looked_at() {
    check(
        "act a: ;\nmap f: Nat -> ;\neqn f(1) = ;\nproc P = a . ;\n     Q = b;\n     R = (a;\ninit a +;",
        &[
            (1, 8, "expected a sort, found ';'"),
            (2, 15, "expected a sort, found ';'"),
            (3, 12, "expected a data expression, found ';'"),
            (4, 14, "expected an action or process, found ';'"),
            (6, 12, "expected an operator or ')', found ';'"),
            (7, 9, "expected an action or process, found ';'"),
        ],
        "",
    );
}

#[test]
fn one_declaration_can_have_several_problems() {
    check(
        "init a @ 1 . (5 + b << c);",
        &[
            (1, 8, "time ('@') is not supported"),
            (1, 15, "expected an action or process, found data"),
            (1, 21, "bounded initialisation ('<<') is not supported: it is an operator of time"),
        ],
        "remove the time",
    );
}
