//! `--from`: searches that begin in the state after a saved trace, from outside. Every search has the same verdict there,
//! counterexamples replay from there, checkpoints have the state where their run began, and impossible states are refused.

#[allow(dead_code, reason = "other tests need the rest of it")]
#[path = "harness/mod.rs"]
mod harness;

use harness::{directory, ends, expectations, model, run, text};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// Saves a random walk.
fn walk(spec: &str, seed: u64, steps: usize, file: &str) {
    let mut child = harness::command(&["sim", spec, "--seed", &seed.to_string()])
        .stdin(Stdio::piped())
        .spawn()
        .expect("gridlock starts");
    let mut orders = child.stdin.take().expect("a pipe");
    write!(orders, "r {steps}\ns {file}\n").expect("orders");
    drop(orders);
    assert!(child.wait_with_output().expect("an end").status.success());
}

fn check(arguments: &[&str]) -> Option<Value> {
    let output = run(&[&["check", "--quiet", "--json", "-"], arguments].concat());
    serde_json::from_slice(&output.stdout).ok()
}

const SEARCHES: [&[&str]; 7] = [
    &["--search", "dfs"],
    &["--search", "isv"],
    &["--search", "parts"],
    &["--search", "local"],
    &["--search", "bfs", "--reduce", "on"],
    &["--search", "bfs", "--symmetry", "auto"],
    &["--search", "bfs", "--tables", "on-demand"],
];

#[test]
fn every_search_agrees_from_anywhere() {
    let slow = std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1");
    let (_dir, path) = directory();
    let (mut seen, mut changed, mut violated) = (0u64, 0, 0);
    for (number, row) in (0u64..).zip(expectations(if slow { 5000 } else { 500 })) {
        let steps = 1 + (number * 7 % 12) as usize;
        let (walked, why) = (path("walk.trace"), path("why.trace"));
        let _ = fs::remove_file(&why);
        walk(&row.spec, number, steps, &walked);
        let from = format!("{walked}@{}", steps / 2);
        let mut asked = vec![row.spec.as_str(), "--from", from.as_str()];
        asked.extend(row.property.iter().map(String::as_str));
        let Some(first) = check(&[&asked[..], &["--trace-out", &why]].concat()) else { continue };
        assert_eq!(first["from"]["step"], steps / 2, "{first}");
        seen += 1;
        changed += u64::from(first["states"] != row.states);
        if first["verdict"] == "violated" {
            violated += 1;
            ends(&["replay", &row.spec, &why, "--from", &from], 0);
        }
        for (other, search) in SEARCHES.iter().enumerate() {
            if !slow && !(number as usize + other).is_multiple_of(3) {
                continue;
            }
            // A search refuses properties that it cannot decide.
            let Some(report) = check(&[&asked[..], search].concat()) else { continue };
            assert_eq!(report["verdict"], first["verdict"], "{asked:?} {search:?}");
            assert_eq!(report["from"], first["from"], "{asked:?} {search:?}");
        }
    }
    assert!(seen > 15 && changed > 3 && violated > 2, "{seen} seen, {changed} smaller, {violated} violated");
}

#[test]
fn the_verdict_says_where_it_began() {
    let (_dir, path) = directory();
    let (whole, rest) = (path("whole.trace"), path("rest.trace"));
    let spec = model("abp/abp-bug.mcrl2");
    let asked = ["check", &spec, "--property", &model("abp/no_loss.mcf")];
    ends(&[&asked[..], &["--trace-out", &whole]].concat(), 1);
    let from = format!("{whole}@5");
    // A search that begins on the way finds the rest of the way.
    let out = ends(&[&asked[..], &["--from", &from, "--trace-out", &rest]].concat(), 1);
    let place = format!(", from step 5 of {whole}");
    assert!(out.lines().next().is_some_and(|line| line.ends_with(&place)), "{out}");
    assert!(out.contains(&format!("counterexample, 8 steps{place}")), "{out}");
    assert!(fs::read_to_string(&rest).expect("a trace").contains(&format!("# from step 5 of {whole}\n")));
    ends(&["replay", &spec, &rest, "--from", &from], 0);
    assert_eq!(run(&["replay", &spec, &rest]).status.code(), Some(1));
    // A monitor that has seen the beginning would know more: the property counts from there.
    let out = ends(&["check", &spec, "--from", &whole], 0);
    assert!(out.starts_with("holds: freedom from deadlock, from step 13 of "), "{out}");
    let all: usize = ends(&["lts", &spec], 0).lines().count();
    assert!(ends(&["lts", &spec, "--from", &whole], 0).lines().count() <= all);
    let hunted = ends(&["hunt", &spec, "--from", &from, "--never", "deliver(_)", "--out", &path("bugs")], 1);
    assert!(hunted.contains(&format!("--from {from}")), "{hunted}");
}

#[test]
fn a_state_is_found_by_what_it_is_called() {
    let (_dir, path) = directory();
    let (why, state) = (path("why.json"), path("state.json"));
    let spec = model("abp/abp-bug.mcrl2");
    ends(&["check", &spec, "--property", &model("abp/no_loss.mcf"), "--trace-out", &why], 1);
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&why).expect("a trace")).expect("JSON");
    let asked = ["check", &spec, "--deadlock", "--quiet", "--json", "-", "--from"];
    let by_trace: Value = serde_json::from_str(&ends(&[&asked[..], &[&why]].concat(), 0)).expect("JSON");
    json.as_object_mut().expect("an object").remove("trace");
    fs::write(&state, json.to_string()).expect("a file");
    let by_state: Value = serde_json::from_str(&ends(&[&asked[..], &[&state]].concat(), 0)).expect("JSON");
    assert_eq!(by_trace["states"], by_state["states"]);
    assert_eq!(by_state["from"], serde_json::json!({ "file": state, "step": null, "steps": null }));
    let refused = |json: &Value, expected: &str| {
        fs::write(&state, json.to_string()).expect("a file");
        let output = run(&[&asked[..], &[&state]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    };
    let mut other = json.clone();
    other["end"][0]["state"] = "nowhere".into();
    refused(&other, "is never in the state `nowhere`");
    let mut other = json.clone();
    other["end"][0]["name"] = "Nobody".into();
    refused(&other, "there is no process `Nobody`");
    let mut other = json.clone();
    other["end"].as_array_mut().expect("a list").pop();
    refused(&other, "it does not say where");
}

#[test]
fn checkpoints_know_where_they_began() {
    let (_dir, path) = directory();
    let (walked, place) = (path("walk.trace"), path("run"));
    let spec = model("philosophers/philosophers.mcrl2");
    walk(&spec, 3, 6, &walked);
    let kept = ["check", &spec, "--checkpoint", &place, "--resume", "--from"];
    let at = |step: usize| format!("{walked}@{step}");
    assert!(ends(&[&kept[..], &[&at(2)]].concat(), 0).starts_with("holds"));
    assert!(ends(&[&kept[..], &[&at(2)]].concat(), 0).starts_with("holds"));
    let output = run(&[&kept[..], &[&at(3)]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("from"), "{}", text(&output.stderr));
}

#[test]
fn what_is_no_run_is_refused() {
    let (_dir, path) = directory();
    let labels = path("labels");
    let spec = model("abp/abp.mcrl2");
    let refused = |from: &str, expected: &str| {
        let output = run(&["check", &spec, "--from", from]);
        assert_eq!(output.status.code(), Some(2), "{from}");
        assert!(text(&output.stderr).contains(expected), "{from}: {}", text(&output.stderr));
    };
    fs::write(&labels, "nonsense\n").expect("a file");
    refused(&labels, "no run of the specification: after 0 steps, `nonsense` is not possible");
    refused(&format!("{labels}@2"), "has only 1 step");
    refused(&path("nothing"), "there is no such file");
    refused("-", "needs the name of a file");
}
