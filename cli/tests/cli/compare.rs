//! `gridlock minimise` and `gridlock compare`.

use crate::harness::{BUFFERS, Bench};

/// The behaviour of two buffers in a row, seen from outside.
const SERVICE: &str = "
sort D = struct d1 | d2;
act r1, s4: D;
proc Q(ds: List(D)) = (#ds < 2) -> sum d: D . r1(d) . Q(ds <| d)
                    + (ds != []) -> s4(head(ds)) . Q(tail(ds));
init Q([]);
";

const EARLY: &str = "act a, b, c; init a . b + a . c;";
const LATE: &str = "act a, b, c; init a . (b + c);";

fn bench() -> Bench {
    let files = [
        ("buffers.mcrl2", BUFFERS),
        ("service.mcrl2", SERVICE),
        ("early.mcrl2", EARLY),
        ("late.mcrl2", LATE),
    ];
    Bench::new(&files)
}

#[test]
fn minimal_systems() {
    let b = bench();
    for (equivalence, header) in [
        ("strong", "des (0,14,9)"),
        ("branching", "des (0,12,7)"),
        ("weak-trace", "des (0,12,7)"),
        ("trace", "des (0,14,9)"),
        ("divergence-preserving-branching", "des (0,12,7)"),
    ] {
        let out = b.run(&["minimise", "buffers.mcrl2", "--equivalence", equivalence]).exits(0).out;
        assert_eq!(out.lines().next(), Some(header), "{equivalence}");
    }
    let ran = b.run(&["minimize", "service.mcrl2", "-o", "small.dot"]).exits(0);
    ran.tells(&["7 states, 12 transitions -> 7 states, 12 transitions"]);
    assert!(b.read("small.dot").starts_with("digraph"));
}

#[test]
fn aut_files_come_back_the_same() {
    let b = bench();
    b.run(&["lts", "buffers.mcrl2", "-o", "one.aut"]).exits(0);
    b.run(&["minimise", "one.aut", "-o", "two.aut"]).exits(0);
    b.run(&["minimise", "two.aut", "-o", "three.aut"]).exits(0);
    assert_eq!(b.read("two.aut"), b.read("three.aut"));
    for second in ["one.aut", "two.aut", "buffers.mcrl2"] {
        b.run(&["compare", "one.aut", second]).exits(0);
    }
    // By content where the name tells nothing, and from a pipe.
    b.write("plain", b.read("one.aut"));
    b.run(&["compare", "plain", "one.aut"]).exits(0);
    b.write("spec", BUFFERS);
    b.run(&["compare", "spec", "one.aut"]).exits(0);
    assert!(
        b.pipe(&["compare", "-", "one.aut"], &b.read("two.aut")).exits(0).out.starts_with("equal (strong)")
    );
    b.run(&["compare", "-", "-"]).exits(2).tells(&["standard input"]);
}

#[test]
fn equal_and_different() {
    let b = bench();
    let compare = |first, second, equivalence| b.run(&["compare", first, second, "-e", equivalence]);
    assert_eq!(compare("buffers.mcrl2", "service.mcrl2", "branching").exits(0).out, "equal (branching)\n");
    assert_eq!(compare("early.mcrl2", "late.mcrl2", "trace").exits(0).out, "equal (trace)\n");
    let different = compare("early.mcrl2", "late.mcrl2", "strong").exits(1);
    // They have the same traces, so only a formula shows it.
    assert!(different.out.starts_with("different (strong): only the first system"), "{}", different.out);
    assert!(different.out.contains("\n  <a>["), "{}", different.out);
    let different = compare("buffers.mcrl2", "service.mcrl2", "trace").exits(1).out;
    assert!(
        different.starts_with("different (trace): only the ") && different.contains("\n  r1(d1)"),
        "{different}"
    );
    assert!(compare("early.mcrl2", "late.mcrl2", "bisim").exits(1).err.contains("first: "));
}

#[test]
fn the_equivalence_must_exist() {
    let b = bench();
    for command in [&["minimise", "early.mcrl2"][..], &["compare", "early.mcrl2", "late.mcrl2"]] {
        let ran = b.run(&[command, &["--equivalence", "weird"]].concat()).exits(2);
        ran.tells(&["weird", "strong", "branching", "weak-trace"]);
    }
}

#[test]
fn faulty_files_are_named_with_their_line() {
    let b = bench();
    b.write("bad.aut", "des (0,1,2)\n(0,\"a\",5)\n");
    b.write("cut.aut", "des (0,2,2)\n(0,\"a\",1)\n");
    b.write("empty.aut", "");
    b.run(&["minimise", "bad.aut", "-o", "out.aut"]).exits(2).tells(&["bad.aut:2: "]);
    b.run(&["compare", "early.mcrl2", "cut.aut"]).exits(2).tells(&["cut.aut: ", "cut off"]);
    b.run(&["minimise", "empty.aut"]).exits(2).tells(&["empty.aut: the file is empty"]);
    b.run(&["compare", "missing.aut", "bad.aut"]).exits(2).tells(&["missing.aut", "no such file"]);
    assert!(!b.names().contains(&"out.aut".to_owned()));
}
