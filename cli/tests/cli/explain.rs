//! A deadlock explains itself, names stay short, and no output can control a terminal or cost a verdict.

use crate::harness::Bench;
use serde_json::Value;
use std::path::Path;

/// A communication whose result the `allow` does not list.
const FORGOTTEN: &str = "act s, r, c, go;
proc P = go . s . P; Q = r . Q;
init allow({go},
  comm({s|r -> c}, P || Q));
";

#[test]
fn a_deadlock_is_explained_wherever_it_is_shown() {
    let bench = Bench::new(&[("f.mcrl2", FORGOTTEN)]);
    let remedy = "add c to the allow of line 3";
    let told = [
        "why nothing happens",
        "P  offers s: allow (line 3) does not list c, which comm makes of it",
        remedy,
        "P line 2  s . P",
    ];
    let contains =
        |out: &str| told.iter().for_each(|part| assert!(out.contains(part), "no `{part}` in {out}"));
    contains(&bench.run(&["check", "f.mcrl2", "--trace-out", "t.trace"]).exits(1).out);
    contains(&bench.run(&["replay", "f.mcrl2", "t.trace"]).exits(0).out);
    contains(&bench.run(&["hunt", "f.mcrl2", "--seed", "1"]).exits(1).out);
    let sim = bench.pipe(&["sim", "f.mcrl2"], "1\nq\n").exits(0).out;
    told[..3].iter().for_each(|part| assert!(sim.contains(part), "no `{part}` in {sim}"));

    let json = bench.run(&["check", "f.mcrl2", "--json", "-"]).exits(1).out;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["stuck"][0]["name"], "P");
    assert_eq!(json["stuck"][0]["offers"][0]["obstacle"], "blocked");
    assert_eq!(json["stuck"][1]["offers"][0]["remedy"], remedy);
    assert_eq!(json["end"][0]["source"], "s . P");
    bench.run(&["check", "f.mcrl2", "--search", "isv", "--report", "p.html"]).exits(1);
    assert!(bench.read("p.html").contains("Why nothing happens"));

    // A violation of something else does not end in a lecture on deadlocks.
    let other = bench.run(&["check", "f.mcrl2", "--never", "go"]).exits(1).out;
    assert!(!other.contains("why nothing happens"), "{other}");
}

#[test]
fn info_lists_what_never_happens() {
    let bench = Bench::new(&[("f.mcrl2", &FORGOTTEN.replace("|| Q", "|| Q || delta"))]);
    let out = bench.run(&["info", "f.mcrl2"]).exits(0).out;
    for part in
        ["2 actions can never happen", "r of Q: allow (line 3)", "2 processes can never move", "  Q\n"]
    {
        assert!(out.contains(part), "no `{part}` in {out}");
    }
    let json: Value =
        serde_json::from_str(&bench.run(&["info", "f.mcrl2", "--json"]).exits(0).out).expect("JSON");
    assert_eq!(json["blocked"][0]["action"], "s");
    assert_eq!(json["motionless"][0], "Q");
}

#[test]
fn long_names_stand_above_a_counterexample_once() {
    let list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let text = format!(
        "act a; proc Controller(xs: List(Nat)) = a . a . (xs == []) -> Controller([]) <> delta; \
         init Controller({list});"
    );
    let bench = Bench::new(&[("long.mcrl2", &text)]);
    let out = bench.run(&["check", "long.mcrl2", "--trace-out", "t.trace"]).exits(1).out;
    assert_eq!(out.matches(&format!("Controller({list})")).count(), 1, "{out}");
    assert!(out.contains("1  a  Controller\n") && !out.contains("long.mcrl2:"), "{out}");
    bench.run(&["replay", "long.mcrl2", "t.trace"]).exits(0);
    // States in a file may be those of an earlier version, which named them by the path.
    let old = bench.read("t.trace").replace("\tController line 1", "\tsome/where/long.mcrl2:1:44");
    bench.write("old.trace", &old);
    bench.run(&["replay", "long.mcrl2", "old.trace"]).exits(0);
}

#[test]
fn a_full_disk_costs_no_verdict() {
    let full = "/dev/full";
    if !Path::new(full).exists() {
        return;
    }
    let bench = Bench::new(&[("f.mcrl2", FORGOTTEN), ("h.mcrl2", "act a; proc P = a . P; init P;")]);
    for (arguments, verdict) in [
        (&["check", "f.mcrl2", "--json", full][..], "violated: "),
        (&["check", "f.mcrl2", "--trace-out", full], "violated: "),
        (&["check", "h.mcrl2", "--json", full], "holds: "),
        (&["check", "f.mcrl2", "--search", "isv", "--report", full], "violated: "),
        (&["hunt", "f.mcrl2", "--json", full, "--seed", "1"], "violated: "),
    ] {
        let ran = bench.run(arguments).exits(2).tells(&["cannot write /dev/full"]);
        assert!(ran.out.starts_with(verdict), "{arguments:?}: {}", ran.out);
    }
    let ran = bench.run(&["check", "f.mcrl2", "--json", full, "--trace-out", full]).exits(2);
    assert_eq!(ran.err.matches("cannot write /dev/full").count(), 2, "{}", ran.err);
    // One file that cannot be written does not keep another from being written.
    bench.run(&["check", "f.mcrl2", "--json", full, "--trace-out", "t.trace"]).exits(2);
    bench.run(&["replay", "f.mcrl2", "t.trace"]).exits(0);
}

#[test]
fn text_from_files_cannot_steer_a_terminal() {
    let steering = "\u{1b}[2J\u{202e}x\u{9b}";
    let aut = |label: &str| format!("des (0,1,2)\n(0,\"{label}\",1)\n");
    let bench = Bench::new(&[("a.aut", &aut(steering)), ("b.aut", &aut("b"))]);
    let harmless = |text: &str| {
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{text:?}");
        assert!(text.contains("\\u001b[2J\\u202ex\\u009b"), "{text:?}");
    };
    harmless(&bench.run(&["compare", "a.aut", "b.aut"]).exits(1).out);
    bench.run(&["minimise", "a.aut", "-o", "a.dot"]).exits(0);
    assert!(bench.read("a.dot").contains("\\\\u001b[2J\\\\u202ex\\\\u009b"), "{}", bench.read("a.dot"));
    bench.write("s.mcrl2", "act a; init a;");
    harmless(&bench.run(&["replay", "s.mcrl2", "a.aut"]).exits(1).out);
    harmless(&bench.run(&["check", &format!("{steering}.mcrl2")]).exits(2).err);
    harmless(&bench.run(&["status", &format!("no{steering}")]).exits(2).err);
}
