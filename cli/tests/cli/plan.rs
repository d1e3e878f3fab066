//! `gridlock plan`: measured figures, estimates, and figures that are unknown.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn model(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models").join(name).display().to_string()
}

fn plan(spec: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridlock"));
    command.args(["plan", spec]).args(more).output().expect("gridlock starts")
}

fn parsed(output: &Output) -> Value {
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {err}"))
}

/// Counters of four values, independent of each other: the number of states is known.
fn counters(dir: &tempfile::TempDir, n: usize) -> String {
    let mut text = "act ".to_owned();
    text += &(0..n).map(|k| format!("a{k}")).collect::<Vec<_>>().join(", ");
    text += ";\nproc ";
    for k in 0..n {
        text += &format!("P{k}(i: Nat) = (i < 3) -> a{k} . P{k}(i + 1);\n");
    }
    text += "init ";
    text += &(0..n).map(|k| format!("P{k}(0)")).collect::<Vec<_>>().join(" || ");
    text += ";\n";
    text = text.replacen("init ", &format!("init allow({{{}}}, ", names(n)), 1);
    text = text.trim_end().trim_end_matches(';').to_owned() + ");\n";
    let path = dir.path().join("counters.mcrl2");
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

fn names(n: usize) -> String {
    (0..n).map(|k| format!("a{k}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn what_was_seen_is_exact() {
    let spec = model("philosophers/philosophers-8.mcrl2");
    let result = parsed(&plan(&spec, &["--memory-per-rank", "1G", "--json"]));
    assert_eq!((&result["states"], &result["exact"]), (&6561.0.into(), &true.into()), "{result}");
    assert_eq!((&result["advice"], &result["ranks"]), (&"one".into(), &1.into()), "{result}");
}

#[test]
fn a_violation_in_the_sample_is_told() {
    let spec = model("philosophers/philosophers-bug.mcrl2");
    let result = parsed(&plan(&spec, &["--memory-per-rank", "1G", "--json"]));
    assert_eq!(result["advice"], "violated", "{result}");
}

#[test]
fn a_sample_is_continued_and_a_script_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let (n, states) = (12, 4f64.powi(12));
    let spec = counters(&dir, n);
    let script = dir.path().join("job.sh").display().to_string();
    let line = ["--never", "a0|a1", "--memory-per-rank", "64M", "--workers", "2", "--sample", "3000000"];
    let line = [&line[..], &["--script", &script]].concat();
    let result = parsed(&plan(&spec, &[&line[..], &["--json"]].concat()));
    let number = |name: &str| result[name].as_f64().expect("a number");
    assert_eq!(result["exact"], false, "{result}");
    assert!(
        number("states_low") <= number("states") && number("states") <= number("states_high"),
        "{result}"
    );
    assert!(number("states") > states / 4.0 && number("states") < states * 4.0, "{result} of {states}");
    let text = fs::read_to_string(&script).expect("a script");
    assert!(
        text.contains("--cpus-per-task=2") && text.contains("--checkpoint \"$checkpoint\" --resume"),
        "{text}"
    );
    assert!(text.contains("--never 'a0|a1'") && text.contains("--mem-per-cpu=32M"), "{text}");
    let checked = Command::new("bash").args(["-n", &script]).status().expect("bash");
    assert!(checked.success(), "{text}");
    let shown = plan(&spec, &line);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("a guess") || shown.contains("does not tell"), "{shown}");
    assert!(shown.contains(" --never 'a0|a1' "), "what is to be typed asks for the same: {shown}");
}

#[test]
fn what_the_sample_does_not_tell_is_no_obstacle_to_a_script() {
    let dir = tempfile::tempdir().expect("a directory");
    let spec = model("msi/msi.mcrl2");
    let script = dir.path().join("job.sh").display().to_string();
    let line = ["--memory-per-rank", "1G", "--sample", "1000", "--script", &script];
    let refused = plan(&spec, &line);
    let err = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && err.contains("--ranks"), "{err}");
    assert!(!Path::new(&script).exists());
    let result = parsed(&plan(&spec, &[&line[..], &["--ranks", "12", "--json"]].concat()));
    assert_eq!((&result["advice"], &result["states"]), (&"unknown".into(), &Value::Null), "{result}");
    let number = |result: &Value, name: &str| result[name].as_f64().expect("a number");
    assert!(number(&result, "states_at_least") >= number(&result, "sample_states"), "{result}");
    assert_eq!(result["room_ranks"], 12, "{result}");
    let text = fs::read_to_string(&script).expect("a script");
    assert!(text.contains("--ntasks=12") && text.contains("--checkpoint \"$checkpoint\" --resume"), "{text}");
    let one = parsed(&plan(&spec, &["--memory-per-rank", "1G", "--sample", "1000", "--json"]));
    let (one, twelve) = (number(&one, "room_states"), number(&result, "room_states"));
    assert!(twelve > 6.0 * one && twelve < 12.0 * one, "{one} {twelve}");
}

#[test]
fn wrong_use_is_named() {
    let spec = model("philosophers/philosophers-8.mcrl2");
    let says = |more: &[&str], word: &str| {
        let output = plan(&spec, more);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(word), "{err}");
    };
    says(&[], "--memory-per-rank");
    says(&["--memory-per-rank", "1G", "--script", "-"], "standard output has the plan");
    says(&["--memory-per-rank", "1G", "--script", "/none/at/all.sh"], "/none/at");
}
