//! `gridlock sim`, driven by a pipe.

use crate::harness::{BUFFERS, Bench, PARTIAL};
use gridlock_lts::model::trace_file::TraceFile;

fn bench() -> Bench {
    Bench::new(&[("buffers.mcrl2", BUFFERS), ("partial.mcrl2", PARTIAL)])
}

/// The lines about steps.
fn steps(out: &str) -> Vec<&str> {
    out.lines().filter(|line| line.starts_with("step ")).collect()
}

#[test]
fn choosing_undoing_and_saving() {
    let b = bench();
    let out = b.pipe(&["sim", "buffers.mcrl2"], "1\n1\nu\n1\n3\ns my trace.txt\nh\nq\n1\n").exits(0).out;
    let taken = [
        "step 1: r1(d1)  S",
        "step 2: tau (hiding c2(d1))  S: s2(d1), R: r2(d1)",
        "step 2: tau (hiding c2(d1))  S: s2(d1), R: r2(d1)",
        "step 3: s4(d1)  R",
    ];
    let history = [taken[0], taken[1], taken[3]];
    assert_eq!(steps(&out), [&taken[..], &history].concat());
    assert!(out.contains("1 step undone") && out.contains("3 steps saved in my trace.txt"), "{out}");
    assert!(!out.contains("> "), "no prompt in a pipe: {out}");
    let trace = TraceFile::read(&b.read("my trace.txt")).expect("a trace");
    let labels: Vec<&str> = trace.steps.iter().map(|s| s.label.as_str()).collect();
    assert_eq!(labels, ["r1(d1)", "tau", "s4(d1)"]);
    let parts: Vec<(&str, &str)> =
        trace.steps[1].parts.iter().map(|p| (p.leaf.as_str(), p.action.as_str())).collect();
    assert_eq!(parts, [("S", "s2(d1)"), ("R", "r2(d1)")]);
    assert_eq!(trace.specification, "buffers.mcrl2");
}

#[test]
fn undoing_goes_back_to_the_same_place() {
    let b = bench();
    let shown = |orders: &str| {
        let out = b.pipe(&["sim", "buffers.mcrl2", "--seed", "5"], orders).exits(0).out;
        out.split("\n\n").last().expect("a state").to_owned()
    };
    let here = shown("r 7\n");
    assert!(here.starts_with("after 7 steps\n"), "{here}");
    assert_eq!(shown("r 7\nr 20\nu 20\n"), here);
    assert_eq!(shown("r 7\nl\n"), here);
    assert_eq!(shown("r 7\nu 99\n"), shown(""));
}

#[test]
fn random_steps_can_be_repeated() {
    let b = bench();
    let run = |arguments: &[&str]| {
        let out = b.pipe(&[&["sim", "buffers.mcrl2"], arguments].concat(), "r 30\n").exits(0).out;
        let seed = out.split("; seed ").nth(1).and_then(|t| t.split(';').next()).expect("a seed").to_owned();
        (seed, steps(&out).join("\n"))
    };
    let (seed, taken) = run(&[]);
    assert_eq!(taken.lines().count(), 30);
    assert_eq!(run(&["--seed", &seed]), (seed, taken.clone()));
    let others: Vec<String> = ["1", "2", "3"].map(|seed| run(&["--seed", seed]).1).into();
    assert!(others.iter().any(|other| *other != taken), "seeds make a difference");
}

#[test]
fn what_is_wrong_is_told_and_is_not_the_end() {
    let b = bench();
    let orders = "9\n0\nfly\nr x\ns\ns no/such/place\n\n# remark\nu\n\u{7f}\nh\n2\n";
    let out = b.pipe(&["sim", "buffers.mcrl2"], orders).exits(0).out;
    for part in [
        "there is no action 9: 2 are possible",
        "there is no action 0",
        "`fly` is no order",
        "takes a number after it, not `x`",
        "needs the name of a file",
        "cannot write no/such/place: there is no directory no/such",
        "there is nothing to undo",
        "no steps yet",
    ] {
        assert!(out.contains(part), "no `{part}` in {out}");
    }
    assert_eq!(steps(&out), ["step 1: r1(d2)  S"]);
    let long = "x".repeat(1 << 20);
    assert_eq!(steps(&b.pipe(&["sim", "buffers.mcrl2"], &format!("{long}\n1\n")).exits(0).out).len(), 1);
}

#[test]
fn ends_of_the_road() {
    let b = bench();
    b.write("short.mcrl2", "act a; proc P = a . delta; init P;");
    let out = b.pipe(&["sim", "short.mcrl2"], "r 5\n1\n").exits(0).out;
    assert_eq!(steps(&out), ["step 1: a  P"], "{out}");
    assert!(
        out.contains("this is a deadlock") && out.contains("there is no action 1: 0 are possible"),
        "{out}"
    );
    let out = b.pipe(&["sim", "partial.mcrl2"], "r 5\n1\n").exits(0).out;
    assert_eq!(steps(&out).len(), 2);
    assert!(out.contains("the specification has no meaning here: partial.mcrl2:5:"), "{out}");
}

#[test]
fn only_files_can_be_simulated() {
    let b = bench();
    b.pipe(&["sim", "-"], BUFFERS).exits(2).tells(&["standard input"]);
    b.run(&["sim", "missing"]).exits(2).tells(&["missing"]);
}
