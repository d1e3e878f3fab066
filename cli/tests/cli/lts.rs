//! `gridlock lts`, and what all commands share: help, version, pipes.

use crate::harness::{BUFFERS, Bench, PARTIAL};
use std::process::Stdio;

fn bench() -> Bench {
    Bench::new(&[("buffers.mcrl2", BUFFERS)])
}

#[test]
fn a_file_in_each_format() {
    let b = bench();
    let ran = b.run(&["lts", "buffers.mcrl2", "-o", "out.aut"]).exits(0).tells(&["9 states, 14 transitions"]);
    assert_eq!(ran.out, "");
    let aut = b.read("out.aut");
    assert!(aut.starts_with("des (0,14,9)\n(0,\"r1(d1)\",1)\n(0,\"r1(d2)\",2)\n(1,\"tau\",3)\n"), "{aut}");
    assert_eq!(aut.lines().count(), 15);
    b.run(&["lts", "buffers.mcrl2", "-o", "out.dot"]).exits(0);
    assert!(b.read("out.dot").starts_with("digraph"));
    b.run(&["lts", "buffers.mcrl2", "-o", "out.txt", "--format", "aut"]).exits(0);
    assert_eq!(b.read("out.txt"), aut);
    for arguments in [&["lts", "buffers.mcrl2"][..], &["lts", "buffers.mcrl2", "-o", "-", "--quiet"]] {
        let ran = b.run(arguments).exits(0);
        assert_eq!(ran.out, aut);
        assert_eq!(ran.err.is_empty(), arguments.len() == 5);
    }
    let ran = b.pipe(&["lts", "-", "--format", "dot"], BUFFERS).exits(0);
    assert_eq!(ran.out, b.read("out.dot"));
    assert_eq!(b.names(), ["buffers.mcrl2", "out.aut", "out.dot", "out.txt"]);
}

#[test]
fn however_tables_are_filled() {
    let b = bench();
    let outs: Vec<String> = ["auto", "ahead", "on-demand"]
        .map(|mode| b.run(&["lts", "buffers.mcrl2", "--tables", mode]).exits(0).out)
        .into();
    assert!(outs.iter().all(|out| out.starts_with("des (0,14,9)")), "{outs:?}");
    let b = Bench::new(&[("c.mcrl2", "act a; proc P(n: Nat) = (n < 9) -> a . P(n + 1); init P(0);")]);
    for limit in ["0", "3", "100"] {
        let ran = b.run(&["lts", "c.mcrl2", "--table-limit", limit]).exits(0);
        assert!(ran.out.starts_with("des (0,9,10)"), "{}", ran.out);
    }
}

#[test]
fn unknown_formats_are_refused_before_any_work() {
    let b = bench();
    for name in ["out", "out.lts"] {
        b.run(&["lts", "buffers.mcrl2", "-o", name]).exits(2).tells(&[name, ".aut or .dot", "--format"]);
    }
    b.run(&["lts", "buffers.mcrl2", "-o", "out.aut", "--format", "svg"])
        .exits(2)
        .tells(&["svg", "aut", "dot"]);
    assert_eq!(b.names(), ["buffers.mcrl2"]);
}

#[test]
fn a_fault_that_is_reached_comes_with_its_way() {
    let b = Bench::new(&[("partial.mcrl2", PARTIAL), ("out.aut", "old")]);
    let ran = b.run(&["lts", "partial.mcrl2", "-o", "out.aut"]).exits(2);
    let ran = ran.tells(&["partial.mcrl2:5:", "after 2 steps", "1  a(0)", "2  a(1)"]);
    assert_eq!(ran.out, "");
    assert_eq!(b.read("out.aut"), "old");
}

#[test]
fn a_long_way_to_a_fault_is_cut() {
    let spec = PARTIAL
        .replace("f(0) = true; f(1) = true;", "n < 5000 -> f(n) = true;")
        .replace("eqn", "var n: Nat; eqn");
    let b = Bench::new(&[("partial.mcrl2", &spec)]);
    let ran = b.run(&["lts", "partial.mcrl2"]).exits(2);
    let ran = ran.tells(&["after 5,000 steps", "1  a(0)", "... 4,900 steps ...", "5000  a(4999)"]);
    assert!(ran.err.lines().count() < 120, "{}", ran.err);
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let b =
        Bench::new(&[("c.mcrl2", "act a: Nat; proc P(n: Nat) = (n < 20000) -> a(n) . P(n + 1); init P(0);")]);
    for arguments in [&["lts", "c.mcrl2"][..], &["minimise", "c.mcrl2"], &["info", "c.mcrl2"], &["--help"]] {
        let mut child = b.command(arguments).spawn().expect("the binary");
        drop(child.stdout.take());
        let ran = crate::harness::finish(child).exits(0);
        assert!(!ran.err.contains("error"), "{}", ran.err);
    }
    // Nobody listens to messages either.
    let child = b.command(&["lts", "missing"]).stderr(Stdio::null()).spawn().expect("the binary");
    crate::harness::finish(child).exits(2);
}

#[test]
fn help_and_version() {
    let b = bench();
    let version = b.run(&["--version"]).exits(0).out;
    assert!(version.starts_with(&format!("gridlock {} (", env!("CARGO_PKG_VERSION"))), "{version}");
    assert!(version.contains("build"), "{version}");
    let help = b.run(&["--help"]).exits(0).out;
    for word in ["lts", "info", "minimise", "compare", "sim", "Exit codes", "Examples", "NO_COLOR"] {
        assert!(help.contains(word), "no {word} in {help}");
    }
    for command in ["lts", "info", "minimise", "compare", "sim"] {
        let help = b.run(&[command, "--help"]).exits(0).out;
        assert!(help.contains("Examples:") && help.contains("Limits:"), "{help}");
        let short = b.run(&[command, "-h"]).exits(0).out;
        assert!(short.len() < help.len());
    }
    b.run(&["frobnicate"]).exits(2).tells(&["frobnicate"]);
    b.run(&["lts"]).exits(2).tells(&["SPEC"]);
    b.run(&[]).exits(2);
    b.run(&["lts", "buffers.mcrl2", "--max-memory", "much"]).exits(2).tells(&["500M", "`much`"]);
    b.run(&["lts", "buffers.mcrl2", "--time-limit", "soon"]).exits(2).tells(&["30s", "`soon`"]);
    b.run(&["lts", "buffers.mcrl2", "--max-states", "0"]).exits(2).tells(&["--max-states"]);
}

#[test]
fn no_colours_in_pipes() {
    let b = bench();
    for arguments in [&["lts", "missing"][..], &["info", "buffers.mcrl2"], &["--help"], &["nonsense"]] {
        let ran = b.run(arguments);
        assert!(!ran.out.contains('\x1b') && !ran.err.contains('\x1b'), "{ran:?}");
    }
}
