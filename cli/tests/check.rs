//! `gridlock check` and `gridlock replay` from outside: exit codes, standard output, JSON, files.
//!
//! The expected sizes of the models come from `models/*/expect.tsv`, which were computed by hand, by formula or by other
//! tools; the verdict, counts and counterexample must not depend on the number of workers.

// Not all of it is needed here.
#[allow(dead_code)]
#[path = "harness/mod.rs"]
mod harness;
#[path = "check/replay.rs"]
mod replay;

use harness::moments::wait_for;
use harness::{command as gridlock, models, run, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const STOPS: &str = "act a; init a . delta;";
const RUNS: &str = "act a; proc P = a . P; init P;";
/// Far more states than any machine holds, from small tables.
const HUGE: &str = "\
act tick: Nat;
proc Clock(n: Nat) = tick(n) . Clock((n + 1) mod 50);
init allow({tick}, Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0));";
/// A single process with endlessly many states.
const COUNTER: &str = "act up: Nat; proc P(n: Nat) = up(n) . P(n + 1); init P(0);";
const FAULTY: &str = "\
act a: Nat; b;
map good: Nat -> Bool;
eqn good(0) = true; good(1) = true;
proc P(n: Nat) = good(n) -> a(n) . P(n + 1) <> delta;
     R = b . R;
init P(0) || R;";

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

/// The JSON of a check, and its exit code.
fn json(arguments: &[&str]) -> (Value, i32) {
    let output = run(&[&["check", "--json", "-"], arguments].concat());
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}{}", text(&output.stdout), text(&output.stderr)));
    (report, code(&output))
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Files(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.0.path().join(name), content).expect("a file");
        self.path(name)
    }
}

#[test]
fn verdict_exit_code_and_summary() {
    let files = Files::new();
    for (content, options, expected, first) in [
        (RUNS, &[][..], 0, "holds: freedom from deadlock"),
        (RUNS, &["--never", "tau", "--deadlock"], 0, "holds: freedom from deadlock, never tau"),
        (RUNS, &["--never", "a"], 1, "violated: never a: step 1 is one of these"),
        (STOPS, &[], 1, "violated: freedom from deadlock: no action is possible after 1 step"),
        (STOPS, &["--never", "tau"], 0, "holds: never tau"),
        (
            "init delta;",
            &[],
            1,
            "violated: freedom from deadlock: no action is possible in the initial state",
        ),
        (
            HUGE,
            &["--max-states", "1000"],
            3,
            "unknown: freedom from deadlock: there are more than 1,000 states",
        ),
        (HUGE, &["--max-depth", "2"], 3, "unknown: freedom from deadlock: there are states at a depth of 2"),
        (
            HUGE,
            &["--time-limit", "700ms", "--reduce", "off"],
            3,
            "unknown: freedom from deadlock: the time limit of 0.70 s",
        ),
        (
            HUGE,
            &["--max-memory", "100M", "--reduce", "off"],
            3,
            "unknown: freedom from deadlock: the memory limit of 100.0 MiB",
        ),
        (
            HUGE,
            &["--max-memory", "100M", "--search", "dfs", "--reduce", "off"],
            3,
            "unknown: freedom from deadlock: the memory limit",
        ),
        (
            COUNTER,
            &["--max-states", "5000"],
            3,
            "unknown: freedom from deadlock: there are more than 5,000 states",
        ),
    ] {
        let file = files.write("spec.mcrl2", content);
        let output = run(&[&["check", &file, "--quiet"], options].concat());
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(code(&output), expected, "{content} {options:?}: {out}{err}");
        assert!(out.starts_with(first), "{content} {options:?}: {out}");
        for row in ["states", "transitions", "depth", "deadlocks", "seconds", "build seconds", "peak memory"]
        {
            assert!(out.lines().any(|line| line.trim_start().starts_with(row)), "no {row} in {out}");
        }
        // Of few states it would be the size of empty tables.
        let states = out.lines().find_map(|line| line.trim_start().strip_prefix("states"));
        let states: u64 = states.expect("a row").trim().replace(',', "").parse().expect("a number");
        assert_eq!(out.contains("bytes/state"), states >= 100_000, "{out}");
        assert_eq!(err, "");
    }
}

#[test]
fn a_limit_that_is_exceeded_at_once_has_a_result_too() {
    let files = Files::new();
    let file = files.write("stops.mcrl2", STOPS);
    for (limit, value, reason) in [("--time-limit", "0", "time-limit"), ("--max-memory", "1", "max-memory")] {
        for search in ["bfs", "dfs", "isv"] {
            let (report, exit) = json(&[&file, "--search", search, limit, value]);
            assert_eq!((exit, &report["verdict"], &report["reason"]), (3, &"unknown".into(), &reason.into()));
            assert_eq!((&report["exhaustive"], &report["trace"]), (&false.into(), &Value::Null));
        }
        let output = run(&["check", &file, limit, value]);
        assert!(text(&output.stdout).starts_with("unknown: freedom from deadlock: the "), "{output:?}");
    }
}

#[test]
fn a_formula_may_come_through_a_pipe() {
    let files = Files::new();
    let file = files.write("stops.mcrl2", STOPS);
    for (formula, exit) in [("[true* . a]false", 1), ("[true* . a . a]false", 0)] {
        for search in ["bfs", "dfs", "isv"] {
            let mut check = gridlock(&["check", &file, "--quiet", "--search", search, "--property", "-"]);
            let child = check.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = child.spawn().expect("gridlock starts");
            let mut pipe = child.stdin.take().expect("a pipe");
            std::io::Write::write_all(&mut pipe, formula.as_bytes()).expect("the formula");
            drop(pipe);
            let output = child.wait_with_output().expect("an end");
            assert_eq!(code(&output), exit, "{formula}, {search}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn a_property_about_what_cannot_happen_is_told() {
    let files = Files::new();
    let spec = "act s, r, c, x; proc P = s . P; Q = r . Q; init allow({c, x}, comm({s|r -> c}, P || Q));";
    let file = files.write("spec.mcrl2", spec);
    let formula = files.write("f.mcf", "[true* . s . c . !s]false && [x]false");
    let output = run(&["check", &file, "--never", "r|c", "--property", &formula]);
    assert_eq!(code(&output), 0);
    let err = text(&output.stderr);
    for (place, name) in [("--never r|c", "r"), ("f.mcf", "s"), ("f.mcf", "x")] {
        let note = format!("{place}: no step can have the action '{name}'");
        assert_eq!(err.matches(&note).count(), 1, "{note}: {err}");
    }
    assert!(!err.contains("action 'c'"), "{err}");
    let hidden = files.write("hidden.mcrl2", "act h; proc P = h . P; init hide({h}, P);");
    let output = run(&["check", &hidden, "--never", "h"]);
    assert_eq!(code(&output), 0);
    let warning = "warning: --never h: the specification hides the action 'h' wherever it occurs";
    assert!(text(&output.stderr).starts_with(warning), "{}", text(&output.stderr));
    for see in [&["--see-hidden"][..], &["--see-hidden", "h"], &["--see-hidden=h"]] {
        let output = run(&[&["check", &hidden, "--never", "h"], see].concat());
        assert_eq!((code(&output), text(&output.stderr)), (1, String::new()), "{see:?}");
    }
    let output = run(&["check", &hidden, "--never", "h", "--see-hidden", "g"]);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("--see-hidden: no action 'g' is declared"));
}

/// A computation that never asks whether to stop costs neither the first line nor the JSON.
#[test]
fn a_long_computation_leaves_a_result() {
    let files = Files::new();
    // Two numbers of some ten million digits.
    let text_of = "act a: Bool; init a(exp(3, 30000000) mod exp(7, 10000000) == 0) . delta;";
    let file = files.write("division.mcrl2", text_of);
    let out = Path::new(&file).with_file_name("result.json");
    let ran = run(&["check", &file, "--time-limit", "300ms", "--json", &out.display().to_string()]);
    assert_eq!(code(&ran), 3, "{}", text(&ran.stderr));
    let expected = "unknown: freedom from deadlock: the time limit of 0.30 s is reached";
    assert!(text(&ran.stdout).starts_with(expected), "{}", text(&ran.stdout));
    let report: Value = serde_json::from_slice(&fs::read(&out).expect("it is written")).expect("JSON");
    assert_eq!((&report["verdict"], &report["reason"]), (&"unknown".into(), &"time-limit".into()));
}

#[test]
fn the_time_limit_holds_for_an_endless_process() {
    let file = Files::new();
    let file = file.write("endless.mcrl2", COUNTER);
    let (report, exit) = json(&[&file, "--time-limit", "500ms"]);
    assert_eq!((exit, &report["verdict"], &report["reason"]), (3, &"unknown".into(), &"time-limit".into()));
    assert_eq!(report["property"], "deadlock");
}

#[test]
fn json_has_its_fields_and_nothing_beside_it() {
    let files = Files::new();
    let file = files.write("stops.mcrl2", STOPS);
    let (report, exit) = json(&[&file, "--workers", "2"]);
    assert_eq!(exit, 1);
    let expected = [
        ("version", Value::from(1)),
        ("verdict", "violated".into()),
        ("exhaustive", false.into()),
        ("property", "deadlock".into()),
        ("search", "bfs".into()),
        ("workers", 2.into()),
        ("states", 2.into()),
        ("transitions", 1.into()),
        ("depth", 1.into()),
        ("deadlocks", 1.into()),
        ("reason", Value::Null),
        ("specification", file.as_str().into()),
    ];
    for (field, value) in expected {
        assert_eq!(report[field], value, "{field} in {report}");
    }
    for field in ["seconds", "build_seconds", "peak_memory_bytes", "bytes_per_state"] {
        assert!(report[field].as_f64().is_some_and(|n| n > 0.0), "{field} in {report}");
    }
    let step = &report["trace"][0];
    assert_eq!((&step["label"], &step["leaves"][0]["action"]), (&"a".into(), &"a".into()));
    assert!(
        step["leaves"][0]["name"].is_string() && report["trace"].as_array().is_some_and(|t| t.len() == 1)
    );
    assert_eq!(report["properties"][0]["verdict"], "violated");

    let runs = files.write("runs.mcrl2", RUNS);
    let place = files.path("report.json");
    let output = run(&["check", &runs, "--json", &place, "--deadlock", "--never", "tau"]);
    assert!(code(&output) == 0 && text(&output.stdout).starts_with("holds"));
    let report: Value = serde_json::from_str(&fs::read_to_string(place).expect("written")).expect("JSON");
    assert_eq!((&report["verdict"], &report["exhaustive"]), (&"holds".into(), &true.into()));
    assert_eq!(report["trace"], Value::Null);
    assert_eq!(report["properties"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["property"], "deadlock, never tau");
}

/// The documentation names exactly the fields of the result.
#[test]
fn every_field_is_documented() {
    let files = Files::new();
    let (report, _) = json(&[&files.write("stops.mcrl2", STOPS)]);
    let page = fs::read_to_string(models().join("../docs/json.md")).expect("the page");
    let documented: Vec<&str> = page
        .lines()
        .filter_map(|l| l.strip_prefix("| `")?.split('`').next())
        .take_while(|f| *f != "title")
        .collect();
    for field in report.as_object().expect("an object").keys() {
        assert!(documented.contains(&field.as_str()), "{field} is not documented");
    }
}

#[test]
fn a_specification_without_meaning() {
    let files = Files::new();
    let file = files.write("faulty.mcrl2", FAULTY);
    for tables in ["auto", "on-demand"] {
        let trace = files.path("fault.trace");
        let output = run(&["check", &file, "--json", "-", "--tables", tables, "--trace-out", &trace]);
        let (report, err): (Value, _) =
            (serde_json::from_slice(&output.stdout).expect("JSON"), text(&output.stderr));
        assert_eq!(
            (code(&output), &report["verdict"], &report["reason"]),
            (2, &"faulty".into(), &"fault".into())
        );
        assert!(err.contains(":4:18: the condition is neither true nor false: good(2)"), "{err}");
        assert!(err.contains("after 2 steps") && err.contains("a(0)") && err.contains("a(1)"), "{err}");
        let labels = report["trace"].as_array().expect("a trace").len();
        assert_eq!(labels, 3, "two steps and the fault");
        let replayed = run(&["replay", &file, &trace]);
        assert_eq!(code(&replayed), 0, "{}{}", text(&replayed.stdout), text(&replayed.stderr));
        assert!(text(&replayed.stdout).starts_with("runs: 3 steps, the last one without meaning"));
    }
}

#[test]
fn wrong_use_is_told() {
    let files = Files::new();
    let file = files.write("runs.mcrl2", RUNS);
    let broken = files.write("broken.mcrl2", "act a; init b;");
    let formula = files.write("liveness.mcf", "mu X. !X");
    let slow = files.write("slow.mcf", "forall n: Nat. val(n < 9) => [a]val(n < 9)");
    let elsewhere = files.path("nowhere/report.json");
    for (arguments, part) in [
        (&["check", &file, "--never", "crash"][..], "no action 'crash' is declared"),
        (&["check", &file, "--never", "a("], "--never:1"),
        (&["check", &file, "--property", &formula], "liveness.mcf:1:8"),
        (
            &["check", &file, "--property", &slow, "--step-limit", "7"],
            "evaluation did not end within 7 steps",
        ),
        (&["check", &file, "--property", &files.path("none.mcf")], "there is no such file"),
        (&["check", &broken], "broken.mcrl2:1:13"),
        (&["check", &files.path("none.mcrl2")], "there is no such file"),
        (&["check", &file, "--json", &elsewhere], "there is no directory"),
        (&["check", &file, "--trace-out", &elsewhere], "there is no directory"),
        (&["check", &file, "--trace-out", "-"], "--trace-out needs the name of a file"),
        (&["check", &file, "--workers", "0"], "--workers"),
        (&["check", &file, "--search", "random"], "possible values"),
        (&["replay", "-", "-"], "only one of the two"),
        (&["replay", &file, &files.path("none.trace")], "there is no such file"),
        (&["replay", &file, &files.write("cut.trace", "gridlock trace 1\nstep\ta\n")], "cut off"),
        (
            &["replay", &file, &files.write("other.json", "{\"steps\": []}")],
            "other.json: missing field `trace`",
        ),
        (
            &["replay", &file, &files.write("t.aut", "des (0,2,1)\n(0,\"a\",0)\n(0,\"b\",0)\n")],
            "this is no trace",
        ),
        (
            &["replay", &file, &files.write("u.aut", "des (0,2,4)\n(0,\"a\",1)\n(2,\"a\",3)\n")],
            "this is no trace",
        ),
        (
            &["replay", &file, &files.write("headless.trace", "step\ta\n\tP\ta\tP\nend\t1\n")],
            "line 1: expected",
        ),
        (
            &["replay", &file, &files.write("new.json", "{\"version\": 2, \"trace\": []}")],
            "this is version 2",
        ),
        (
            &["replay", &file, &files.write("holds.json", "{\"verdict\": \"holds\", \"trace\": null}")],
            "there is no trace in it; the verdict is 'holds'",
        ),
        (
            &["replay", &file, &files.write("list.json", "[1, 2]")],
            "list.json: this is a list: expected an object",
        ),
        (&["replay", &file, &files.write("none.txt", "# nothing\n")], "none.txt: there is nothing in it"),
        (
            &["replay", &file, &files.write("why.svg", "<svg xmlns=\"…\">\n</svg>\n")],
            "why.svg: this is a picture or a page, not a trace",
        ),
        (&["replay", &file, &files.write("numbers.txt", "a\n17\n")], "line 2: expected a label"),
        (&["check", "-", "--property", "-"], "only one file can be read from standard input"),
    ] {
        let output = run(arguments);
        let err = text(&output.stderr);
        assert_eq!((code(&output), text(&output.stdout)), (2, String::new()), "{arguments:?}: {err}");
        assert!(err.contains(part), "{arguments:?}: {err}");
    }
}

/// One line of an `expect.tsv`.
struct Expected {
    directory: PathBuf,
    spec: String,
    /// `None`: too many to be counted.
    states: Option<u64>,
    transitions: Option<u64>,
    deadlocks: Option<u64>,
    property: String,
    verdict: String,
    trace_length: Option<usize>,
}

fn expectations() -> Vec<Expected> {
    let mut rows = Vec::new();
    let mut directories: Vec<PathBuf> =
        fs::read_dir(models()).expect("models").map(|entry| entry.expect("an entry").path()).collect();
    directories.sort();
    for directory in directories.iter().filter(|d| d.join("expect.tsv").exists()) {
        let table = fs::read_to_string(directory.join("expect.tsv")).expect("text");
        for line in table.lines().skip(1).filter(|l| !l.is_empty()) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [spec, states, transitions, deadlocks, property, verdict, trace_length, ..] = fields[..]
            else {
                panic!("{}: {line}", directory.display())
            };
            // What not every search decides has a test of its own.
            if verdict == "-" || property == "liveness.mcf" {
                continue;
            }
            rows.push(Expected {
                directory: directory.clone(),
                spec: spec.to_owned(),
                states: states.parse().ok(),
                transitions: transitions.parse().ok(),
                deadlocks: deadlocks.parse().ok(),
                property: property.to_owned(),
                verdict: verdict.to_owned(),
                trace_length: trace_length.parse().ok(),
            });
        }
    }
    rows
}

impl Expected {
    /// Larger models are left to the benchmarks, and those that take seconds to the tests that may be slow.
    fn is_quick(&self) -> bool {
        let most = if std::env::var_os("GRIDLOCK_SLOW").is_some() { 200_000 } else { 30_000 };
        self.states.is_some_and(|states| states <= most)
    }

    /// Where several processes can make the same hidden step to the same state, a search counts each, the table one.
    fn has_equal_steps(&self) -> bool {
        self.directory.ends_with("ieee1394")
    }

    fn arguments(&self) -> Vec<String> {
        let path = |name: &str| self.directory.join(name).display().to_string();
        let mut arguments = vec![path(&self.spec)];
        if self.property == "deadlock" {
            arguments.push("--deadlock".to_owned());
        } else if self.property.ends_with(".mcf") {
            arguments.extend(["--property".to_owned(), path(&self.property)]);
        } else {
            arguments.extend(["--never".to_owned(), self.property.trim_start_matches("never ").to_owned()]);
        }
        arguments
    }
}

/// Everything that must not depend on how a search runs.
fn facts(report: &Value) -> Vec<&Value> {
    ["verdict", "property", "states", "transitions", "depth", "deadlocks", "trace"].map(|f| &report[f]).into()
}

#[test]
fn the_models_are_as_expected_whatever_the_number_of_workers() {
    let rows = expectations();
    assert!(rows.len() >= 18, "the models are there");
    for row in rows.iter().filter(|row| row.is_quick()) {
        let arguments = row.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (one, exit) = json(&[&arguments[..], &["--workers", "1"]].concat());
        assert_eq!(one["verdict"], row.verdict, "{arguments:?}");
        assert_eq!(exit, if row.verdict == "holds" { 0 } else { 1 }, "{arguments:?}");
        if row.verdict == "holds" {
            assert_eq!(one["exhaustive"], true);
            // A monitor counts: the system is then searched together with it.
            let (states, transitions) = (one["states"].as_u64(), one["transitions"].as_u64());
            if row.property.ends_with(".mcf") || row.has_equal_steps() {
                assert!(states >= row.states && transitions >= row.transitions, "{arguments:?}: {one}");
            } else {
                assert_eq!((states, transitions), (row.states, row.transitions), "{arguments:?}");
            }
        } else {
            assert_eq!(one["trace"].as_array().map(Vec::len), row.trace_length, "{arguments:?}");
        }
        for workers in ["2", "3", "8"] {
            let (many, _) = json(&[&arguments[..], &["--workers", workers]].concat());
            assert_eq!(facts(&many), facts(&one), "{arguments:?} with {workers} workers");
        }
        let (deep, _) = json(&[&arguments[..], &["--search", "dfs"]].concat());
        assert_eq!(deep["verdict"], one["verdict"], "{arguments:?} depth first");
        if row.verdict == "holds" {
            let sizes = |r: &Value| [r["states"].clone(), r["transitions"].clone(), r["deadlocks"].clone()];
            assert_eq!(sizes(&deep), sizes(&one), "{arguments:?} depth first");
        }
    }
}

/// Models that are too large for the other tests, but not for one search of the specification alone.
#[test]
fn larger_models_have_the_expected_sizes() {
    if std::env::var_os("GRIDLOCK_SLOW").is_none() {
        return;
    }
    let mut rows = expectations();
    rows.retain(|row| !row.is_quick() && row.states <= Some(2_000_000) && row.states.is_some());
    rows.dedup_by(|a, b| (&a.directory, &a.spec) == (&b.directory, &b.spec));
    assert!(rows.len() >= 2, "drm-2 and three links of ieee1394 are there");
    for row in rows {
        let spec = row.directory.join(&row.spec).display().to_string();
        let (report, exit) = json(&[&spec, "--never", "Terminate", "--reduce", "off"]);
        assert_eq!((exit, report["states"].as_u64()), (0, row.states), "{spec}");
        assert_eq!(report["deadlocks"].as_u64(), row.deadlocks, "{spec}");
        if row.transitions.is_some() && !row.has_equal_steps() {
            assert_eq!(report["transitions"].as_u64(), row.transitions, "{spec}");
        }
    }
}

#[test]
fn tables_on_demand_give_the_same_answers() {
    for row in expectations().iter().filter(|row| row.states <= Some(1000) && row.is_quick()) {
        let arguments = row.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (before, _) = json(&[&arguments[..], &["--tables", "auto"]].concat());
        let (demand, _) = json(&[&arguments[..], &["--tables", "on-demand"]].concat());
        for field in ["verdict", "states", "transitions", "depth", "deadlocks"] {
            assert_eq!(demand[field], before[field], "{field} of {arguments:?}");
        }
        let length = |r: &Value| r["trace"].as_array().map(Vec::len);
        assert_eq!(length(&demand), length(&before), "{arguments:?}");
    }
}

/// Without a counterexample no file is written.
#[test]
fn nothing_is_written_where_nothing_was_found() {
    let files = Files::new();
    let file = files.write("runs.mcrl2", RUNS);
    let place = files.path("why.trace");
    let output = run(&["check", &file, "--trace-out", &place]);
    assert!(code(&output) == 0 && !Path::new(&place).exists());
    assert!(text(&output.stderr).contains("there is no counterexample"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_tells_what_it_saw() {
    let files = Files::new();
    let file = files.write("huge.mcrl2", HUGE);
    for signal in ["-INT", "-TERM"] {
        let place = files.path(signal);
        let mut child = gridlock(&["check", &file, "--json", "-", "--checkpoint", &place]);
        let child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("gridlock starts");
        // Who searches has told what it has seen.
        wait_for("the search", || Path::new(&place).join("status.json").exists());
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
        assert!(sent.success(), "it was still running");
        let output = child.wait_with_output().expect("an end");
        assert_eq!(code(&output), 3);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((&report["verdict"], &report["reason"]), (&"unknown".into(), &"interrupted".into()));
        assert!(report["states"].as_u64() > Some(0), "{report}");
    }
}

#[test]
fn a_regular_end_is_no_deadlock_in_any_search_if_it_is_allowed() {
    let files = Files::new();
    let ends = files.write("ends.mcrl2", "act a, b; init a . b || b;");
    let stuck = files.write("stuck.mcrl2", "act a, b; init a . b || (a + b . delta);");
    for search in [
        &["--search", "bfs"][..],
        &["--search", "bfs", "--tables", "on-demand"],
        &["--search", "dfs"],
        &["--search", "isv"],
        &["--search", "isv", "--jobs", "trace", "--subsystem", "auto"],
        &["--search", "isv", "--jobs", "prefix", "--subsystem", "auto"],
    ] {
        for (file, option, expected) in [
            (&ends, "--deadlock", 1),
            (&ends, "--allow-termination", 0),
            (&stuck, "--deadlock", 1),
            (&stuck, "--allow-termination", 1),
        ] {
            let output = run(&[&["check", file, option, "--quiet"], search].concat());
            let out = text(&output.stdout);
            assert_eq!(code(&output), expected, "{search:?} {option}: {out}{}", text(&output.stderr));
            let regular = out.contains("the processes have all terminated");
            assert!(!regular || option == "--deadlock", "{search:?} {option}: {out}");
            assert!(file == &stuck || regular == (option == "--deadlock"), "{search:?} {option}: {out}");
        }
    }
    let output = run(&["check", &ends, "--quiet"]);
    assert!(text(&output.stdout).contains("  terminated"), "{}", text(&output.stdout));
}

#[test]
fn depth_first_search_keeps_the_limit_on_states_and_shortens() {
    let files = Files::new();
    let huge = files.write("huge.mcrl2", HUGE);
    let (report, status) = json(&[&huge, "--search", "dfs", "--max-states", "1000"]);
    assert_eq!((status, &report["states"]), (3, &Value::from(1000)));
    let [bug, mutex] = ["peterson-bug.mcrl2", "mutex.mcf"]
        .map(|name| models().join("peterson").join(name).display().to_string());
    let [bfs, dfs] = ["bfs", "dfs"].map(|search| {
        let (report, status) = json(&[&bug, "--search", search, "--property", &mutex]);
        assert_eq!(status, 1, "{report}");
        report["trace"].as_array().expect("steps").len()
    });
    assert!(dfs <= 2 * bfs, "{dfs} steps, {bfs} would do");
}
