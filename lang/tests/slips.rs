//! Common slips: the exact place, message and remedy of each.

use gridlock_lang::diagnostic::{Diagnostic, locate};
use gridlock_lang::system::{Checked, Options};

fn shown(text: &str, error: &Diagnostic) -> String {
    let (line, column) = locate(text, error.span.start as usize);
    let help = error.help.as_ref().map(|help| format!(" [{help}]")).unwrap_or_default();
    format!("{line}:{column} {}{help}", error.message)
}

/// The problems of a specification, one a line.
fn problems(text: &str) -> String {
    match Checked::read(text, "x.mcrl2", Options::default()) {
        Ok(_) => String::new(),
        Err(errors) => errors.iter().map(|e| shown(text, e)).collect::<Vec<_>>().join("\n"),
    }
}

/// Compares all, and shows all that differ at once.
#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (text, expected) in cases {
        let found = problems(text);
        if found != *expected {
            wrong.push_str(&format!("{text}\n  expected {expected:?}\n  found    {found:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn a_number_of_a_larger_sort() {
    check(&[
        (
            "act a: Nat; proc P(left: Nat) = (left > 0) -> a(left) . P(left - 1); init P(3);",
            "1:59 expected Nat, found Int [if the value is surely of sort Nat, write 'Int2Nat(left - 1)'; declared: 'P: Nat']",
        ),
        (
            "act a: Nat; proc P(left: Nat) = (left > 0) -> a(left) . P(left = left - 1); init P(3);",
            "1:66 expected Nat, found Int [if the value is surely of sort Nat, write 'Int2Nat(left - 1)']",
        ),
        (
            "act a: Pos; proc P(left: Pos) = (left > 1) -> a(left) . P(left - 1); init P(3);",
            "1:59 expected Pos, found Int [if the value is surely of sort Pos, write 'Int2Pos(left - 1)'; declared: 'P: Pos']",
        ),
        (
            "map f: Nat -> Nat; var n: Nat; eqn (n > 0) -> f(n) = f(n - 1); act a; init a;",
            "1:56 expected Nat, found Int [if the value is surely of sort Nat, write 'Int2Nat(n - 1)'; declared: 'f: Nat -> Nat']",
        ),
        (
            "map f: Nat -> Nat; var n: Nat; eqn f(n) = n - 1; act a; init a;",
            "1:43 expected Nat, found Int [if the value is surely of sort Nat, write 'Int2Nat(n - 1)']",
        ),
        (
            "act a: List(Nat); init sum n: Nat. (n < 3) -> a([n - 1]) . delta;",
            "1:50 expected Nat, found Int [if the value is surely of sort Nat, write 'Int2Nat(n - 1)'; declared: 'a: List(Nat)']",
        ),
        (
            "sort S = struct s(Nat); act a: S; init sum n: Nat. (n < 3) -> a(s(n - 1)) . delta;",
            "1:67 expected Nat, found Int [if the value is surely of sort Nat, write 'Int2Nat(n - 1)'; declared: 's: Nat -> S']",
        ),
        (
            "act a; proc P(l: List(Nat), n: Nat) = (l.(n - 1) > 0) -> a; init P([1],1);",
            "1:40 '.' cannot be applied to List(Nat) and Int [a list stands before '.', and behind it a position, which is a Nat; convert with Int2Nat]",
        ),
        (
            "act a: Nat; proc P(n: Nat) = a(n / 2); init P(2);",
            "1:32 expected Nat, found Real [to divide and round down, write 'n div 2'; declared: 'a: Nat']",
        ),
        (
            "act a; proc P(n: Nat) = a . P(-n); init P(1);",
            "1:31 expected Nat, found Int [if the value is surely of sort Nat, write 'Int2Nat(-n)'; declared: 'P: Nat']",
        ),
    ]);
}

#[test]
fn a_variable_that_nothing_declares() {
    check(&[
        (
            "map f: Nat -> Nat; eqn f(n) = n + 1; act a; init a;",
            "1:26 no name 'n' is declared [a variable is declared before the equations: 'var n: Nat;']",
        ),
        (
            "map f: Nat # List(Bool) -> Nat; eqn f(n, l) = n + #l; act a; init a;",
            "1:39 no name 'n' is declared [a variable is declared before the equations: 'var n: Nat;']\n1:42 no name 'l' is declared [a variable is declared before the equations: 'var l: List(Bool);']",
        ),
        (
            "map f: Nat -> Nat; var m: Nat; eqn f(n) = n + 1; act a; init a;",
            "1:38 no name 'n' is declared [a variable is declared before the equations: 'var n: Nat;']",
        ),
        (
            "map f: Nat # Bool -> Nat; N: Nat; eqn f(total, b) = N; M = 3; g(N) = 1; act a; init a;",
            "1:41 no name 'total' is declared [a variable is declared before the equations: 'var total: Nat;']\n1:48 no name 'b' is declared [a variable is declared before the equations: 'var b: Bool;']\n1:56 no name 'M' is declared [a mapping is declared in a section 'map' before the equations]\n1:63 no name 'g' is declared [a mapping is declared in a section 'map' before the equations]",
        ),
        (
            "sort S = struct s(Nat, Bool); map f: List(S) -> Nat; eqn f(s(n, b) |> rest) = f(rest); act a; init a;",
            "1:62 no name 'n' is declared [a variable is declared before the equations: 'var n: Nat;']\n1:65 no name 'b' is declared [a variable is declared before the equations: 'var b: Bool;']\n1:71 no name 'rest' is declared [a variable is declared before the equations: 'var rest: List(S);']",
        ),
        (
            "map f: Nat -> Nat; var x: Nat; eqn f(x) = y; act a; init a;",
            "1:43 no name 'y' is declared [a variable is declared before the equations: 'var y: SORT;']",
        ),
    ]);
}

#[test]
fn truth_values_and_logic_of_other_languages() {
    check(&[
        (
            "act a; proc P(b: Bool) = (b == True) -> a . P(False); init P(TRUE);",
            "1:32 no name 'True' is declared [did you mean 'true'?]\n1:47 no name 'False' is declared [did you mean 'false'?]\n1:62 no name 'TRUE' is declared [did you mean 'true'?]",
        ),
        (
            "act a; proc P(b: Bool) = (b and b) -> a . P(b); init P(true);",
            "1:29 expected an operator or ')', found 'and' [write '&&']",
        ),
        (
            "act a; proc P(b: Bool) = (b or b) -> a . P(b); init P(true);",
            "1:29 expected an operator or ')', found 'or' [write '||']",
        ),
        (
            "act a; proc P(b: Bool) = (not b) -> a . P(b); init P(true);",
            "1:31 expected an operator or ')', found 'b' [write '!']",
        ),
        (
            "act a; proc P(b: Bool) = not b -> a . P(b); init P(true);",
            "1:30 expected an operator or ';', found 'b' [write '!']",
        ),
        (
            "act a; proc P(b: Bool) = (not(b)) -> a . P(b); init P(true);",
            "1:27 no name 'not' is declared [did you mean '!'?]",
        ),
        (
            "map f: Bool # Bool -> Bool; var x,y: Bool; eqn f(x,y) = x and not y; init delta;",
            "1:59 expected an operator or ';', found 'and' [write '&&']",
        ),
        (
            "act a; proc P(b: Bool) = (b & b) -> a; init P(true);",
            "1:29 '&' is not part of the language [write '&&']",
        ),
    ]);
}

#[test]
fn comments_of_other_languages() {
    check(&[
        (
            "// a comment\nact a;\ninit a;",
            "1:1 '//' begins no comment [a comment begins with '%' and reaches to the end of the line]",
        ),
        (
            "act a; // a comment\ninit a;",
            "1:8 '//' begins no comment [a comment begins with '%' and reaches to the end of the line]",
        ),
        (
            "act a; \ninit a; // the end",
            "2:9 '//' begins no comment [a comment begins with '%' and reaches to the end of the line]",
        ),
        (
            "act a;\nproc P = a . // first\n   P;\ninit P;",
            "2:14 '//' begins no comment [a comment begins with '%' and reaches to the end of the line]",
        ),
        (
            "/* a comment */\nact a;\ninit a;",
            "1:1 '/*' begins no comment [a comment begins with '%' and reaches to the end of the line]",
        ),
        (
            "act a; // one\n       b; // two\ninit a . b;",
            "1:8 '//' begins no comment [a comment begins with '%' and reaches to the end of the line]",
        ),
    ]);
}

#[test]
fn choices() {
    check(&[
        (
            "act a; proc P(b: Bool) = if b then a . P(b) else a; init P(true);",
            "1:29 expected an operator or ';', found 'b' [data is chosen with if(condition, then, else), processes with 'condition -> then <> else']",
        ),
        (
            "map f: Nat -> Nat; var n: Nat; eqn f(n) = if n == 0 then 1 else 2; init delta;",
            "1:46 expected an operator or ';', found 'n' [data is chosen with if(condition, then, else), processes with 'condition -> then <> else']",
        ),
        (
            "act a; proc P(b: Bool) = if (b) then a . P(b) else a; init P(true);",
            "1:33 expected an operator or ';', found 'then' [data is chosen with if(condition, then, else), processes with 'condition -> then <> else']",
        ),
        (
            "act a; proc P(b: Bool) = if(b, a.P(b), a); init P(true);",
            "1:26 no action or process 'if' is declared [data is chosen with if(condition, then, else), processes with 'condition -> then <> else']\n1:32 'a' is an action, but a data expression is expected\n1:34 'P' is a process, but a data expression is expected\n1:40 'a' is an action, but a data expression is expected",
        ),
        (
            "map f: Nat -> Nat; var n: Nat; eqn f(n) = if (n == 0) then 1 else 2; init delta;",
            "1:55 expected an operator or ';', found 'then' [data is chosen with if(condition, then, else), processes with 'condition -> then <> else']",
        ),
        (
            "act a:Nat; proc P(b: Bool) = a(if b then 1 else 2); init P(true);",
            "1:35 expected an operator, ')', ',' or '=', found 'b' [data is chosen with if(condition, then, else), processes with 'condition -> then <> else']",
        ),
        (
            "act a; proc P(b: Bool) = b -> a else delta; init P(true);",
            "1:33 expected an operator or ';', found 'else' [data is chosen with if(condition, then, else), processes with 'condition -> then <> else']",
        ),
    ]);
}

#[test]
fn decimal_fractions() {
    check(&[
        (
            "act a: Real; init a(0.5);",
            "1:21 '.' cannot be applied to Nat and Pos [there are no decimal fractions; write '1/2']",
        ),
        (
            "map x: Real; eqn x = 0.5; act a: Real; init a(x);",
            "1:22 '.' cannot be applied to Nat and Pos [there are no decimal fractions; write '1/2']",
        ),
        (
            "act a; proc P(r: Real) = (r > 1.25) -> a; init P(2);",
            "1:31 '.' cannot be applied to Pos and Pos [there are no decimal fractions; write '5/4']",
        ),
        (
            "act a: Real; init a(0.05);",
            "1:23 expected a data expression, found the number 05 [there are no decimal fractions; write a fraction such as '1/20']",
        ),
    ]);
}

#[test]
fn misspelt_keywords() {
    check(&[
        (
            "act a;\nproc P = a . P;\ninti P;",
            "3:6 expected '(' or '=', found 'P' [did you mean the section 'init'?]",
        ),
        (
            "act a; proc P = a . P; inti P;",
            "1:29 expected '(' or '=', found 'P' [did you mean the section 'init'?]",
        ),
        (
            "act a;\nporc P = a . P;\ninit P;",
            "2:6 expected ',', ':' or ';', found 'P' [did you mean the section 'proc'?]",
        ),
        ("porc P = a . P;\ninit P;", "1:1 expected a section, found 'porc' [did you mean 'proc'?]"),
        (
            "act a; porc P = a . P; init P;",
            "1:13 expected ',', ':' or ';', found 'P' [did you mean the section 'proc'?]",
        ),
        ("atc a; init a;", "1:1 expected a section, found 'atc' [did you mean 'act'?]"),
        ("mpa f: Nat; act a; init a;", "1:1 expected a section, found 'mpa' [did you mean 'map'?]"),
        (
            "map f: Nat; eqns f = 1; act a; init a;",
            "1:18 expected ',' or ':', found 'f' [did you mean the section 'eqn'?]",
        ),
        (
            "map f: Nat;\neqns f = 1;\nact a; init a;",
            "2:6 expected ',' or ':', found 'f' [did you mean the section 'eqn'?]",
        ),
        (
            "map f: Nat -> Nat;\nvars n: Nat;\neqn f(n) = 1;\nact a; init a;",
            "2:6 expected ',' or ':', found 'n' [did you mean the section 'var'?]",
        ),
        ("acts a; init a;", "1:1 expected a section, found 'acts' [did you mean 'act'?]"),
        (
            "sorts S = struct a; act b; init b;",
            "1:1 expected a section, found 'sorts' [did you mean 'sort'?]",
        ),
        (
            "act a;\nprocs P = a;\ninit P;",
            "2:7 expected ',', ':' or ';', found 'P' [did you mean the section 'proc'?]",
        ),
        (
            "act a;\nprocess P = a;\ninit P;",
            "2:9 expected ',', ':' or ';', found 'P' [did you mean the section 'proc'?]",
        ),
        (
            "sort S = strcut a | b; act c; init c;",
            "1:17 expected '#', '->' or ';', found 'a' [did you mean 'struct'?]",
        ),
        (
            "act a: Nat; init smu n: Nat. (n < 3) -> a(n);",
            "1:22 expected an operator or ';', found 'n' [did you mean 'sum'?]",
        ),
        ("act a; init a . dleta;", "1:17 no action or process 'dleta' is declared [did you mean 'delta'?]"),
    ]);
}

#[test]
fn a_missing_full_stop() {
    check(&[
        (
            "act a; proc P = a P; init P;",
            "1:19 expected an operator or ';', found 'P' [is a '.' missing before 'P'? 'a . b' is first a and then b]",
        ),
        (
            "act a: Nat; proc P = a(1) P; init P;",
            "1:27 expected an operator or ';', found 'P' [is a '.' missing before 'P'? 'a . b' is first a and then b]",
        ),
        (
            "act a; proc P(n: Nat) = a P(n); init P(1);",
            "1:27 expected an operator or ';', found 'P' [is a '.' missing before 'P'? 'a . b' is first a and then b]",
        ),
        (
            "act a, b; proc P = (a + b) P; init P;",
            "1:28 expected an operator or ';', found 'P' [is a '.' missing before 'P'? 'a . b' is first a and then b]",
        ),
        (
            "act a,b; proc P = a . b\n P; init P;",
            "2:2 expected an operator or ';', found 'P' [is a '.' missing before 'P'? 'a . b' is first a and then b]",
        ),
        (
            "act a, b;\nproc P = a . b\n     Q(n: Nat) = a;\ninit P;",
            "3:6 expected an operator or ';', found 'Q' [is a ';' missing on the line before?]",
        ),
    ]);
}

#[test]
fn names_of_other_languages() {
    check(&[
        (
            "act a; init a . skip;",
            "1:17 no action or process 'skip' is declared ['delta' does nothing for ever; a process ends after its last action; 'tau' is a silent step]",
        ),
        (
            "act a; init a . nil;",
            "1:17 no action or process 'nil' is declared ['delta' does nothing for ever; a process ends after its last action; 'tau' is a silent step]",
        ),
        (
            "act a; init a . STOP;",
            "1:17 no action or process 'STOP' is declared ['delta' does nothing for ever; a process ends after its last action; 'tau' is a silent step]",
        ),
        ("act a: bool; init a(true);", "1:8 no sort 'bool' is declared [did you mean 'Bool'?]"),
        ("act a: nat; init a(1);", "1:8 no sort 'nat' is declared [did you mean 'Nat'?]"),
        ("act a: Integer; init a(1);", "1:8 no sort 'Integer' is declared [did you mean 'Int'?]"),
        (
            "act a: String; init a;",
            "1:8 no sort 'String' is declared [there are no strings; use the constructors of a 'struct' instead]\n1:21 action 'a' needs arguments [declared: 'a: ?']",
        ),
    ]);
}

#[test]
fn comparisons_of_other_languages() {
    check(&[
        (
            "act a; proc P(n: Nat) = (n =< 1) -> a; init P(1);",
            "1:28 expected an operator or ')', found '=' [write '<=']",
        ),
        (
            "act a; proc P(n: Nat) = (n <> 1) -> a; init P(1);",
            "1:28 '<>' chooses between processes and cannot stand in data [data is chosen with if(condition, then, else); that data differs is written '!=']",
        ),
        (
            "act a; proc P(n: Nat) = (n /= 1) -> a; init P(1);",
            "1:29 expected an action or process, found '=' [write '!=']",
        ),
        (
            "act a; proc P(n: Nat) = (n = 1) -> a; init P(1);",
            "1:28 expected an operator or ')', found '=' [to compare, write '==']",
        ),
    ]);
}

#[test]
fn parameters() {
    check(&[
        (
            "act a; proc Producer(i: Nat) = a . Producer(j = 1); init Producer(1);",
            "1:45 process 'Producer' has no parameter 'j' [it has 'i']",
        ),
        (
            "act a; proc Producer = a . Producer(j = 1); init Producer;",
            "1:37 process 'Producer' has no parameter 'j' [it has no parameters]",
        ),
        (
            "act a; proc Producer(item, n: Nat) = a . Producer(itme = 1); init Producer(1, 2);",
            "1:51 process 'Producer' has no parameter 'itme' [did you mean 'item'?]",
        ),
    ]);
}

#[test]
fn every_problem_has_a_place() {
    check(&[
        ("act a; proc P = a;", "1:19 there is no 'init' [say where the system starts, as in 'init P;']"),
        (
            "act a;\nproc P(n: Nat) = (n > 0) -> (a || P(Int2Nat(n - 1))) <> a;\ninit\n  P(20);",
            "4:3 too many combinations of actions could happen at once [put an 'allow' around the parallel processes that names what may happen together]",
        ),
        (
            "act a, b;\nproc P(n: Nat) = (n > 0) -> (a || P(Int2Nat(n - 1))) <> a;\ninit allow({b},\n  hide({a}, P(20)));",
            "4:3 too many combinations of actions could happen at once [the 'allow' further out leaves too much open, for instance what a 'hide' inside it hides; put another 'allow' directly around the parallel processes, or around groups of them]",
        ),
        (
            "act a, b;\nproc P(n: Nat) = (n > 0) -> (a || P(Int2Nat(n - 1))) <> a;\n  Q = a . (Q || Q);\ninit b . Q;",
            "3:11 a parallel composition inside a sequential process can do too many actions at once [put an 'allow' around it, or move the parallel composition to the initial process]",
        ),
    ]);
}

#[test]
fn time_is_refused_by_name() {
    check(&[
        (
            "act a; init a@1 . a@2;",
            "1:14 time ('@') is not supported [remove the time; only the order of actions is explored]\n1:20 time ('@') is not supported [remove the time; only the order of actions is explored]",
        ),
        (
            "act a; init sum t: Real. a@t;",
            "1:27 time ('@') is not supported [remove the time; only the order of actions is explored]",
        ),
    ]);
}

#[test]
fn equations_for_built_in_operators() {
    const LOGIC: &str = "what logical operators and 'if' yield is fixed for all truth values; remove the equation, or \
                         declare a mapping of your own for it";
    let refused = |place: &str, name: &str| {
        format!("{place} this equation gives '{name}' another meaning than it has [{LOGIC}]")
    };
    let with =
        |equation: &str| format!("map f: Nat -> Nat; var b, c: Bool; x, y: Nat; eqn {equation}; init delta;");
    // What holds anyway is no news.
    for equation in [
        "if(b, x, x) = x",
        "if(true, x, y) = x",
        "if(!b, x, y) = if(b, y, x)",
        "if(b, f(x), f(y)) = f(if(b, x, y))",
        "!(b && c) = !b || !c",
        "!!b = b",
        "b && b = b",
        "b -> b || c = true",
        "b => c = !b || c",
        "(x == y) && !(x == y) = false",
    ] {
        assert_eq!(problems(&with(equation)), "", "{equation}");
    }
    for (equation, name) in [
        ("if(b, x, y) = y", "if"),
        ("!true = true", "!"),
        ("b && c = b", "&&"),
        ("b || false = true", "||"),
        ("b => c = c", "=>"),
        ("!b -> b || c = true", "||"),
    ] {
        assert_eq!(problems(&with(equation)), refused("1:51", name), "{equation}");
    }
    check(&[
        (
            "sort S = struct c(Nat) | d; eqn c(0) = d; init delta;",
            "1:33 equations for the constructor 'c' are not supported: values that are built differently are different \
             [declare a mapping under 'map' that yields such values, give it this equation, and use it where 'c' stands \
             for more than itself]",
        ),
        (
            "var n: Nat; l: List(Nat); eqn n |> l = l; init delta;",
            "1:31 equations for '|>' are not supported: it builds lists, and lists that are built differently are \
             different [declare a mapping under 'map' that adds an element as you want it, and use it for '|>']",
        ),
    ]);
}
