//! Guides that are discovered: swarms on tables that are not complete.

use crate::harness::{command, directory, ends, expectations, run, swarm, text};
use serde_json::Value;
use std::fs;

/// A process with endlessly many local states.
pub const COUNTER: &str =
    "act up, down: Nat; proc P(n: Nat) = up(n) . P(n + 1) + (n > 0) -> down(n) . P(Int2Nat(n - 1));
init P(0);";

/// Two of them beside one that ends, and a step that happens late.
pub const PAIR: &str =
    "act up: Nat; turn, both; proc P(n: Nat) = up(n) . P(n + 1); Q = turn . Q; R = turn . R;
init allow({up, both}, comm({turn|turn -> both}, P(0) || P(0) || Q || R));";

fn file(text: &str) -> (tempfile::TempDir, String, impl Fn(&str) -> String) {
    let (dir, path) = directory();
    let spec = path("spec.mcrl2");
    fs::write(&spec, text).expect("a file");
    (dir, spec, path)
}

/// Removes fields that depend on time and on the workers.
fn timeless(report: &mut Value) {
    let fields = report.as_object_mut().expect("an object");
    fields.retain(|name, _| !name.contains("second") && name != "workers");
}

#[test]
fn a_violation_is_found_where_tables_never_close() {
    let (_dir, spec, path) = file(COUNTER);
    for options in [&["--tables", "on-demand"][..], &[], &["--subsystem", "P", "--jobs", "prefix"]] {
        let report = swarm(&spec, &[&["--never", "up(5)"], options].concat());
        assert_eq!(report["verdict"], "violated", "{report}");
        let discovered = &report["discovered"];
        assert_eq!((&discovered["closed"], &discovered["subsystem"][0]), (&false.into(), &"P(0)".into()));
        // Places 0 to 5 are known, and moves in both directions but from the last one.
        assert_eq!((&discovered["places"], &discovered["edges"]), (&6.into(), &9.into()), "{report}");
    }
    let page = path("page.html");
    let line = ["check", &spec, "--search", "isv", "--never", "up(5)", "--report", &page];
    let shown = ends(&line, 1);
    assert!(shown.contains("6 places, 9 moves known so far"), "{shown}");
    let page = fs::read_to_string(&page).expect("a page");
    assert!(page.contains("up(0) . up(1) . up(2)"), "{page}");
}

#[test]
fn what_has_no_end_is_bounded() {
    let (_dir, spec, _path) = file(PAIR);
    let options = ["--never", "up(1000000)", "--max-states", "500", "--table-limit", "100"];
    let mut reports: Vec<Value> = ["1", "2", "8"]
        .map(|workers| swarm(&spec, &[&options[..], &["--workers", workers, "--job-memory", "64M"]].concat()))
        .into();
    for report in &mut reports {
        assert_eq!(
            (&report["verdict"], &report["reason"]),
            (&"unknown".into(), &"max-states".into()),
            "{report}"
        );
        let states = report["states"].as_u64().expect("a number");
        assert!((400..=500).contains(&states), "{states}");
        timeless(report);
    }
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
    let shown = ends(&[&["check", &spec, "--search", "isv"], &options[..]].concat(), 3);
    assert!(shown.starts_with("unknown (bounded): never up(1000000): nothing was found in"), "{shown}");
    assert!(shown.contains("are known so far"), "{shown}");
}

/// If the guide is finite, the answer and the counts are those of complete tables.
#[test]
fn a_guide_with_an_end_is_exhausted() {
    let (mut held, mut violated) = (0, 0);
    for row in expectations(3_000).into_iter().filter(|row| row.property[0] != "--property") {
        let property: Vec<&str> = row.property.iter().map(String::as_str).collect();
        let report = swarm(&row.spec, &[&property[..], &["--tables", "on-demand"]].concat());
        assert_eq!(report["verdict"], row.verdict.as_str(), "{}: {report}", row.spec);
        if row.verdict == "holds" {
            assert_eq!(report["states"], row.states, "{}: {report}", row.spec);
            assert_eq!(
                (&report["discovered"]["closed"], &report["discovered"]["states_waiting"]),
                (&true.into(), &0.into())
            );
            held += 1;
        } else {
            violated += 1;
        }
    }
    assert!(held > 5 && violated > 2, "{held} {violated}");
}

#[test]
fn a_run_is_resumed_and_other_flags_are_refused() {
    let (_dir, spec, path) = file(PAIR);
    let place = path("run");
    let options =
        ["--search", "isv", "--never", "up(1000000)", "--table-limit", "100", "--checkpoint", &place];
    let line = |more: &[&str]| ends(&[&["check", &spec], &options[..], more].concat(), 3);
    line(&["--max-states", "200", "--json", &path("first.json")]);
    line(&["--max-states", "900", "--resume", "--workers", "3", "--json", &path("second.json")]);
    let status = text(&run(&["status", &place]).stdout);
    assert!(status.contains("known so far"), "{status}");
    let plain = ["check", &spec, "--search", "isv", "--never", "up(1000000)", "--table-limit", "100"];
    ends(&[&plain[..], &["--max-states", "900", "--json", &path("plain.json")]].concat(), 3);
    let json = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(path(name)).expect("a result")).expect("JSON")
    };
    let [first, second, plain] = ["first.json", "second.json", "plain.json"].map(json);
    let states = |value: &Value| value["states"].as_u64().expect("a number");
    assert!(states(&first) <= 200 && states(&second) > 700 && states(&plain) > 700);
    assert!(second["discovered"]["resumed"].as_u64() > Some(0), "{second}");
    for flag in [
        &["--subsystem", "Q", "--unroll", "1"][..],
        &["--spill", "."],
        &["--jobs", "trace", "--subsystem", "Q"],
    ] {
        let refused =
            command(&[&["check", &spec, "--search", "isv"], flag].concat()).output().expect("an end");
        assert_eq!(refused.status.code(), Some(2), "{flag:?}");
        assert!(
            text(&refused.stderr).contains("is about a guide that is made ahead of the search"),
            "{flag:?}"
        );
    }
}
