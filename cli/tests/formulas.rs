//! Formulas and the flags that stand for them, from outside: verdicts, evidence, which searches refuse them.

// Not all of it is needed here.
#[allow(dead_code)]
#[path = "harness/mod.rs"]
mod harness;

use harness::{models, run, text};
use serde_json::Value;
use std::fs;

/// A buffer that may lose what it got, or break down.
const LOSSY: &str = "\
act receive, send: Nat; lose, break, idle;
proc B = sum n: Nat. (n < 2) -> receive(n) . (send(n) . B + lose . B) + break . D;
     D = idle . D + idle . E;
     E = idle . D;
init hide({idle}, B);";

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Files(tempfile::tempdir().expect("a directory"))
    }

    fn write(&self, name: &str, content: &str) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, content).expect("a file");
        path.display().to_string()
    }
}

fn json(arguments: &[&str]) -> (Value, i32) {
    let output = run(&[&["check", "--json", "-"], arguments].concat());
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}{}", text(&output.stdout), text(&output.stderr)));
    (report, output.status.code().expect("an exit code"))
}

/// The rows of the table in the documentation: the flag with its actions, and the formula.
fn documented() -> Vec<(Vec<String>, String)> {
    let page = fs::read_to_string(models().join("../docs/properties.md")).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains("| `--"));
    let code = |cell: &str| Some(cell.trim().strip_prefix('`')?.strip_suffix('`')?.to_owned());
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let [_, flag, formula] = cells[..] else { return None };
        let flag = code(flag)?.split(' ').map(str::to_owned).collect();
        Some((flag, code(formula)?))
    };
    rows.filter_map(row).collect()
}

#[test]
fn every_flag_means_its_formula() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let rows = documented();
    assert_eq!(rows.len(), 7, "{rows:?}");
    let actions = [("receive(0)", "send(0)"), ("lose", "lose"), ("break", "tau"), ("receive(_)", "!idle")];
    let mut verdicts = [0; 2];
    for (flag, formula) in rows {
        for (a, b) in actions {
            let arguments: Vec<&str> = flag
                .iter()
                .map(|word| match word.as_str() {
                    "A" | "P" => a,
                    "B" => b,
                    other => other,
                })
                .collect();
            let formula = formula.replace('A', &format!("({a})")).replace('P', &format!("({a})"));
            let file = files.write("f.mcf", &formula.replace('B', &format!("({b})")));
            let (by_flag, exit) = json(&[&[spec.as_str()], &arguments[..]].concat());
            let (by_formula, same) = json(&[&spec, "--property", &file]);
            assert_eq!(
                (exit, &by_flag["verdict"]),
                (same, &by_formula["verdict"]),
                "{arguments:?}: {formula}"
            );
            assert!(exit < 2, "{by_flag}");
            verdicts[exit as usize] += 1;
        }
    }
    assert!(verdicts.iter().all(|n| *n > 3), "too easy: {verdicts:?}");
}

#[test]
fn evidence_is_told_in_text_and_json() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    // Loses for ever.
    let (report, exit) = json(&[&spec, "--response", "receive(0)", "send(0)"]);
    assert_eq!((exit, &report["verdict"]), (1, &"violated".into()));
    let steps = report["trace"].as_array().expect("a run").len();
    let from = report["repeats_from"].as_u64().expect("it goes round") as usize;
    assert!(2 <= from && from <= steps, "{report}");
    let output = run(&["check", &spec, "--response", "receive(0)", "send(0)"]);
    assert!(text(&output.stdout).contains(&format!("repeats from step {from} for ever")), "{output:?}");
    // Breaks down, and can never send again.
    let (report, exit) = json(&[&spec, "--always-possible", "send(_)"]);
    assert_eq!((exit, &report["critical_step"]), (1, &1.into()), "{report}");
    assert_eq!(report["trace"][0]["label"], "break");
    // A witness.
    let (report, exit) = json(&[&spec, "--possible", "send(1)"]);
    assert_eq!((exit, report["trace"].as_array().map(Vec::len)), (0, Some(2)), "{report}");
    let output = run(&["check", &spec, "--possible", "send(1)"]);
    assert!(text(&output.stdout).contains("witness, 2 steps"), "{output:?}");
    // Hidden steps for ever, unless one looks behind the hiding.
    assert_eq!(json(&[&spec, "--no-livelock"]).1, 1);
    assert_eq!(json(&[&spec, "--no-livelock", "--see-hidden", "idle"]).1, 0);
    // A deadlock is the end of a run.
    let stops = files.write("stops.mcrl2", "act a, b; init a . delta;");
    let (report, exit) = json(&[&stops, "--inevitable", "b"]);
    assert_eq!((exit, report["trace"].as_array().map(Vec::len)), (1, Some(1)), "{report}");
    assert_eq!(report["repeats_from"], Value::Null);
}

#[test]
fn answers_do_not_depend_on_workers_or_tables() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let formula = files.write("f.mcf", "nu X. mu Y. ([lose]X && [!lose]Y)");
    let without_times = |arguments: &[&str]| {
        let (mut report, exit) = json(&[&[spec.as_str(), "--property", &formula], arguments].concat());
        let fields = report.as_object_mut().expect("an object");
        for field in ["seconds", "build_seconds", "workers"] {
            fields.remove(field);
        }
        (report, exit)
    };
    let one = without_times(&["--workers", "1"]);
    assert_eq!(one.1, 1);
    for workers in ["2", "3"] {
        assert_eq!(without_times(&["--workers", workers]), one);
    }
    assert_eq!(without_times(&["--tables", "on-demand"]).0["verdict"], "violated");
}

#[test]
fn a_formula_with_other_properties() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let all = ["--deadlock", "--never", "Terminate", "--possible", "lose", "--no-livelock"];
    let (report, exit) = json(&[&[spec.as_str()], &all[..]].concat());
    assert_eq!((exit, &report["property"]), (1, &"no-livelock".into()), "{report}");
    let (report, exit) = json(&[&spec, "--possible", "lose", "--never", "lose"]);
    assert_eq!((exit, &report["property"]), (1, &"never lose".into()), "{report}");
}

#[test]
fn other_searches_refuse_formulas_by_name() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let possible = ["--possible", "lose"];
    for (arguments, part) in [
        (&["check", "--search", "dfs"][..], "--search dfs cannot decide possible lose: use --search bfs"),
        (&["check", "--search", "isv"], "cannot decide possible lose: use --search bfs"),
        (
            &["check", "--search", "isv", "--jobs", "trace", "--subsystem", "auto"],
            "cannot decide possible lose: use --search bfs",
        ),
        (&["check", "--reduce", "on"], "--reduce on cannot decide a formula that is no safety formula"),
        (&["check", "--fair", "full"], "--fair belongs to --inevitable and --response"),
        (&["hunt"], "cannot decide possible lose: use --search bfs"),
    ] {
        let output = run(&[arguments, &[spec.as_str()], &possible[..]].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(part), "{arguments:?}: {told}");
    }
}

#[test]
fn bad_formulas_have_a_place_and_limits_a_name() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    for (formula, part) in [
        ("mu X. !X", "f.mcf:1:8"),
        ("<zap>true", "no action 'zap' is declared"),
        ("exists n: Nat. [receive(n)]false", "f.mcf:1:8: sort Nat of 'n' has too many values"),
    ] {
        let file = files.write("f.mcf", formula);
        let output = run(&["check", &spec, "--property", &file]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{formula}: {told}");
        assert!(told.contains(part), "{formula}: {told}");
    }
    let grows = files.write("grows.mcf", "nu X(n: Nat = 0). [true]X(n + 1)");
    let (report, exit) = json(&[&spec, "--property", &grows, "--max-memory", "150M"]);
    assert_eq!((exit, &report["verdict"]), (3, &"unknown".into()), "{report}");
    assert!(["max-positions", "max-memory"].map(Value::from).contains(&report["reason"]), "{report}");
}
