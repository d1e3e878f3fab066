//! `gridlock check --search local` from outside: the verdicts of the models, properties that are handed over, flags that are
//! refused, and the figures about blocks.

#[allow(dead_code, reason = "other tests need the rest of it")]
#[path = "harness/mod.rs"]
mod harness;

use harness::{directory, expectations, model, run, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// The JSON of a local check; `None` if it cannot decide the property.
#[track_caller]
fn check(arguments: &[&str]) -> Option<Value> {
    let output = run(&[&["check", "--quiet", "--json", "-", "--search", "local"], arguments].concat());
    if output.status.code() == Some(2) {
        let message = text(&output.stderr);
        assert!(message.contains("--search local cannot decide"), "{arguments:?}: {message}");
        return None;
    }
    let parsed = serde_json::from_slice(&output.stdout);
    Some(parsed.unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", text(&output.stderr))))
}

/// Models larger than this take too long in a test.
fn most() -> u64 {
    if std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1") { 100_000 } else { 5000 }
}

/// For each property that holds, and was not handed over, whether all of its obligations needed only a part of the processes.
/// An obligation that was split is one.
fn needed_a_part(report: &Value) -> Vec<bool> {
    let obligations = report["local"]["obligations"].as_array().expect("a list");
    let mut needed: BTreeMap<u64, Option<bool>> = BTreeMap::new();
    for obligation in obligations.iter().filter(|obligation| obligation["result"] != "split") {
        let Some(property) = obligation["property"].as_u64() else { continue };
        let block = obligation["block"].as_array().expect("a list").len() as u64;
        let part = Some(block) < obligation["processes"].as_u64();
        let all = needed.entry(property).or_insert(Some(true));
        *all = all.filter(|_| obligation["result"] == "holds").map(|all| all && part);
    }
    needed.into_values().flatten().collect()
}

#[test]
fn the_models_get_their_verdicts() {
    let (mut seen, mut proved, mut proper) = (0, 0, 0);
    for row in expectations(most()) {
        let mut asked = vec![row.spec.as_str()];
        asked.extend(row.property.iter().map(String::as_str));
        let Some(report) = check(&[&asked[..], &["--local-limit", "20000"]].concat()) else { continue };
        seen += 1;
        assert_eq!(report["verdict"], row.verdict, "{asked:?}");
        for obligation in report["local"]["obligations"].as_array().expect("a list") {
            assert!(obligation["states"].as_u64() <= Some(20_000), "{asked:?}");
        }
        let needed = needed_a_part(&report);
        proved += needed.len();
        proper += needed.iter().filter(|part| **part).count();
    }
    let least = if most() > 5000 { 30 } else { 6 };
    assert!(
        seen > 15 && proper >= least,
        "{seen} rows were checked, {proved} properties proved, {proper} of them with a part of the processes"
    );
}

/// Twelve managers, and two workers: if each takes the next job as soon as it is free, how much sooner are they done than
/// one? Time is counted in states and not by the clock, which depends on the load of the machine.
#[test]
fn the_jobs_of_twelve_managers_are_even() {
    if std::env::var_os("GRIDLOCK_SLOW").is_none_or(|v| v != "1") {
        return;
    }
    let (_dir, path) = directory();
    let (spec, formula) = (path("spec.mcrl2"), model("twophase/consistent.mcf"));
    let text = fs::read_to_string(model("twophase/twophase.mcrl2")).expect("a model");
    let line = text.lines().find(|line| line.starts_with("eqn  N = ")).expect("a number");
    fs::write(&spec, text.replace(line, "eqn  N = 12;")).expect("written");
    let report = check(&[&spec, "--property", &formula]).expect("decided");
    assert_eq!(report["verdict"], "holds", "{report}");
    let obligations = report["local"]["obligations"].as_array().expect("a list");
    assert!(obligations.iter().all(|o| o["largest_states"].as_u64() <= Some(21_000)), "{report}");
    let states = |split: bool| -> Vec<u64> {
        let of = obligations.iter().filter(|o| (o["result"] == "split") == split);
        of.filter_map(|o| o["states"].as_u64()).collect()
    };
    // The last of those that are split ends before the first member begins: later than in truth.
    let (splits, members) = (states(true), states(false));
    assert_eq!((splits.len(), members.len()), (2, 24), "{report}");
    let mut busy = [splits.iter().copied().max().unwrap_or(0); 2];
    for states in &members {
        let free = if busy[0] <= busy[1] { 0 } else { 1 };
        busy[free] += states;
    }
    let one: u64 = splits.iter().chain(&members).sum();
    let two = busy[0].max(busy[1]);
    assert!(10 * one >= 18 * two, "{one} states by one worker, {two} by each of two");
}

#[test]
fn a_limit_of_one_state_hands_over_and_says_so() {
    let (spec, formula) = (model("twophase/twophase.mcrl2"), model("twophase/consistent.mcf"));
    let asked = [spec.as_str(), "--property", &formula, "--local-limit", "1"];
    for (then, name) in
        [("bfs", "breadth first"), ("dfs", "depth first"), ("parts", "by parts"), ("slice", "by slices")]
    {
        let report = check(&[&asked[..], &["--then", then]].concat()).expect("decided");
        let local = &report["local"];
        assert_eq!((&report["verdict"], &local["then"]), (&"holds".into(), &name.into()), "{report}");
        assert!(local["left"].as_str().is_some_and(|left| left.contains("suspicious still")), "{local}");
    }
    let report = check(&[&asked[..], &["--then", "none"]].concat()).expect("decided");
    assert_eq!((&report["verdict"], &report["reason"]), (&"unknown".into(), &"local-limit".into()));
    let output = run(&["check", &spec, "--search", "parts", "--then", "parts"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--then parts is for --search local"), "{}", text(&output.stderr));
}

#[test]
fn a_violation_replays_and_a_page_shows_the_blocks() {
    let (_dir, path) = directory();
    let (trace, page) = (path("why.trace"), path("local.html"));
    let (spec, formula) = (model("twophase/twophase-bug.mcrl2"), model("twophase/consistent.mcf"));
    let asked = [spec.as_str(), "--property", &formula, "--trace-out", &trace, "--report", &page];
    let report = check(&asked).expect("decided");
    assert_eq!((&report["verdict"], &report["states"]), (&"violated".into(), &Value::Null));
    assert!(run(&["replay", &spec, &trace]).status.success());
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("aria-label=\"growth of the block\""), "{page}");
}

#[test]
fn alike_processes_get_an_obligation_each() {
    let (spec, formula) = (model("twophase/twophase-5.mcrl2"), model("twophase/consistent.mcf"));
    let one = check(&[&spec, "--property", &formula, "--workers", "1"]).expect("decided");
    assert_eq!(one["verdict"], "holds", "{one}");
    let obligations = one["local"]["obligations"].as_array().expect("a list");
    let members = |o: &&Value| o["members"].as_array().is_some_and(|members| !members.is_empty());
    assert!(obligations.iter().filter(members).count() >= 10, "{one}");
    assert!(obligations.iter().all(|o| o["block"].as_array().is_some_and(|b| b.len() <= 2)), "{one}");
    let timeless = |report: &Value| {
        let mut obligations = report["local"]["obligations"].clone();
        for obligation in obligations.as_array_mut().expect("a list") {
            obligation["seconds"] = Value::Null;
        }
        obligations
    };
    let three = check(&[&spec, "--property", &formula, "--workers", "3"]).expect("decided");
    assert_eq!(timeless(&one), timeless(&three));
}

#[test]
fn what_is_no_safety_property_is_refused() {
    assert_eq!(check(&[&model("abp/abp.mcrl2"), "--no-livelock"]), None);
    let output = run(&["check", &model("abp/abp.mcrl2"), "--local-limit", "7"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("--local-limit belongs to --search local"), "{message}");
}

#[test]
fn what_grows_for_ever_is_handed_over() {
    let (_dir, path) = directory();
    let counter = path("counter.mcrl2");
    let text = "act up: Nat; stop; proc P(n: Nat) = up(n) . P(n + 1) + (n == 3) -> stop . delta; init P(0);";
    fs::write(&counter, text).expect("a file");
    let report = check(&[&counter]).expect("decided");
    assert_eq!((&report["verdict"], &report["local"]["then"]), (&"violated".into(), &"breadth first".into()));
    let report = check(&[&counter, "--then", "none"]).expect("decided");
    assert_eq!((&report["verdict"], &report["reason"]), (&"unknown".into(), &"tables".into()));
    // The guide is discovered then.
    let report = check(&[&counter, "--then", "slice"]).expect("decided");
    assert_eq!((&report["verdict"], &report["local"]["then"]), (&"violated".into(), &"by slices".into()));
}

/// Watches a log: exit code, standard output and standard error.
fn watch(arguments: &[&str], log: &str) -> (Option<i32>, String, String) {
    let (_dir, path) = directory();
    let file = path("log.jsonl");
    fs::write(&file, log).expect("a log");
    let output = run(&[&["watch", "--log", &file], arguments].concat());
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Two proposals of Paxos with the paper's kind of bug: from a snapshot in which one acceptor has accepted, and another one
/// has promised without knowing of that, the violation is predicted.
#[test]
fn a_violation_is_predicted_from_a_snapshot() {
    let (_dir, path) = directory();
    let (whole, part) = (path("whole.json"), path("part.json"));
    let (spec, formula) = (model("paxos/paxos-bug.mcrl2"), model("paxos/one_value.mcf"));
    let asked = ["check", &spec, "--property", &formula, "--quiet"];
    run(&[&asked[..], &["--trace-out", &whole]].concat());
    let read = |file: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(file).expect("a trace")).expect("JSON")
    };
    let steps = read(&whole)["trace"].as_array().expect("steps").clone();
    assert!(steps.len() > 12, "{steps:?}");
    // The state on the way as `check` describes it: what is never done is violated by any step.
    let from = format!("{whole}@9");
    run(&[
        "check",
        &spec,
        "--never",
        "Terminate",
        "--deadlock",
        "--from",
        &from,
        "--trace-out",
        &part,
        "--quiet",
    ]);
    let labels: Vec<Value> = steps[..9].iter().map(|step| step["label"].clone()).collect();
    let log = format!(
        "# the beginning, as a trace\n{}\n\n{}\n",
        serde_json::json!({ "trace": steps[..9] }),
        serde_json::json!({ "id": 7, "trace": labels })
    );
    let (code, out, err) = watch(&[&spec, "--property", &formula, "--json"], &log);
    assert_eq!(code, Some(1), "{out}{err}");
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), 2, "{out}");
    assert_eq!((&answers[0]["verdict"], &answers[0]["from"]["step"]), (&"violated".into(), &9.into()));
    assert!(answers[0]["trace"].as_array().is_some_and(|rest| rest.len() < steps.len()), "{out}");
    assert!(err.contains("2 states:"), "{err}");
    // The same as a snapshot.
    let end = serde_json::json!({ "leaves": read(&part)["end"] });
    let (code, out, err) = watch(&[&spec, "--property", &formula], &format!("{end}\n"));
    assert!(matches!(code, Some(0 | 1)), "{out}{err}");
    assert!(out.contains("from the state in line 1 of "), "{out}{err}");
}

/// The paper's bug of Paxos, from the state in which the paper found it: nodes 0 and 1 have accepted, and the vote of node 0
/// is known to its own learner only. The snapshot has only the local states of the processes.
#[test]
fn the_bug_of_paxos_is_predicted_from_a_described_snapshot() {
    let (_dir, path) = directory();
    let (heard, accepted) = (path("heard.json"), path("accepted.json"));
    let (spec, formula) = (model("paxos/paxos-learners-bug.mcrl2"), model("paxos/learners_agree.mcf"));
    let until = |step: &str, from: &[&str], file: &str| {
        let asked =
            ["check", &spec, "--never", step, "--tables", "on-demand", "--quiet", "--trace-out", file];
        assert_eq!(run(&[&asked[..], from].concat()).status.code(), Some(1), "{step}");
    };
    until("learn(n0, vote(n0, b1, v1))", &[], &heard);
    until("send_vote(vote(n1, b1, v1))", &["--from", &heard], &accepted);
    let saved: Value = serde_json::from_str(&fs::read_to_string(accepted).expect("a trace")).expect("JSON");
    let snapshot: Vec<Value> = saved["end"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|leaf| serde_json::json!({ "name": leaf["name"], "state": leaf["state"] }))
        .collect();
    let has = |state: &str| snapshot.iter().filter(|leaf| leaf["state"] == state).count();
    assert_eq!(has("Learner(me = n0, b = b1, votes = 1)"), 1, "{snapshot:?}");
    for node in ["n0", "n1"] {
        let accepted = format!("Acceptor(me = {node}, promised = b1, under = b1, value = v1, inbox = {{}})");
        assert_eq!(has(&accepted), 1, "{snapshot:?}");
    }
    let log = serde_json::json!({ "leaves": snapshot }).to_string();
    let (code, out, err) = watch(&[&spec, "--property", &formula, "--json"], &log);
    assert_eq!(code, Some(1), "{out}{err}");
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    let steps = answer["trace"].as_array().expect("steps");
    let chosen: Vec<&str> = steps.iter().filter_map(|step| step["label"].as_str()).collect();
    let chosen: Vec<&&str> = chosen.iter().filter(|label| label.starts_with("chosen(")).collect();
    assert!(chosen.first().is_some_and(|label| label.contains(", v1,")), "{chosen:?}");
    assert!(chosen.last().is_some_and(|label| label.contains(", v2,")), "{chosen:?}");
}

#[test]
fn equations_show_freedom_from_deadlock() {
    let spec = model("philosophers/philosophers-8.mcrl2");
    let report = check(&[&spec, "--marking", "--tables", "ahead"]).expect("decided");
    let obligation = &report["local"]["obligations"][0];
    assert_eq!((&report["verdict"], &obligation["result"]), (&"holds".into(), &"holds".into()), "{report}");
    assert!(obligation["marking"]["cases"].as_u64() >= Some(1), "{obligation}");
    assert_eq!(obligation["rounds"].as_array().map(Vec::len), Some(0), "{obligation}");
    let report = check(&[&model("philosophers/philosophers-bug-8.mcrl2"), "--marking"]).expect("decided");
    let obligation = &report["local"]["obligations"][0];
    assert_eq!((&report["verdict"], &obligation["marking"]), (&"violated".into(), &Value::Null), "{report}");
}

#[test]
fn lines_that_cannot_be_used_are_told() {
    let spec = model("abp/abp.mcrl2");
    let (code, out, err) = watch(&[&spec], "{\"trace\": []}\n");
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.starts_with("holds: freedom from deadlock, from step 0 of line 1 of "), "{out}");
    let log = "{\"trace\": [\"nonsense\"]}\nnothing\n{\"end\": []}\n{\"trace\": []}\n";
    let (code, out, err) = watch(&[&spec], log);
    assert_eq!((code, out.lines().count()), (Some(2), 1), "{out}{err}");
    for expected in ["line 1 of ", "line 2 of ", "line 3 of ", "3 lines could not be used"] {
        assert!(err.contains(expected), "{expected}: {err}");
    }
    // Each is told once where it stands, and what is missing.
    let log = "{}\n{\"leaves\": [{\"name\": \"x\"}]}\n[]\n{\"trace\": 5}\n";
    let (code, out, err) = watch(&[&spec], log);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    let told: Vec<&str> = err.lines().filter(|line| line.starts_with("error: line ")).collect();
    let missing =
        ["neither a list `trace`", "missing field `state`", "this is a list", "invalid type: integer"];
    assert_eq!(told.len(), missing.len(), "{err}");
    for (line, why) in told.iter().zip(missing) {
        assert!(line.contains(why) && line.matches("log.jsonl").count() == 1, "{why}: {line}");
    }
    let (code, _, err) = watch(&[&spec, "--local-limit", "1"], "{\"trace\": []}\n");
    assert_eq!(code, Some(3), "{err}");
    // What cannot be decided from any state is refused before the first line.
    let (code, out, err) = watch(&[&spec, "--no-livelock"], "{\"trace\": []}\n{\"trace\": []}\n");
    assert_eq!((code, out.as_str(), err.lines().count()), (Some(2), "", 1), "{err}");
    assert!(err.contains("cannot decide no-livelock"), "{err}");
    let output = run(&["watch", &spec, "--log", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no such file"), "{}", text(&output.stderr));
}

/// A log that grows is watched until the user ends the command: the predictions until then are the answer.
#[cfg(unix)]
#[test]
fn an_interrupted_watch_takes_no_prediction_back() {
    use std::io::{BufRead, BufReader, Read, Write};
    let (spec, formula) = (model("abp/abp-bug.mcrl2"), model("abp/no_loss.mcf"));
    for (lines, code) in [("{\"trace\": []}\n", 1), ("nothing\n{\"trace\": []}\n", 1), ("", 3)] {
        let mut child = harness::command(&["watch", &spec, "--property", &formula])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("gridlock starts");
        // It stays open, so the log has no end.
        let mut log = child.stdin.take().expect("a pipe");
        log.write_all(lines.as_bytes()).expect("a line");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut answer = String::new();
        if code == 1 {
            out.read_line(&mut answer).expect("an answer");
            assert!(answer.starts_with("violated: "), "{answer}");
        }
        harness::moments::wait_for("an ear", || harness::moments::catches(child.id(), 15));
        let sent = std::process::Command::new("kill").args(["-15", &child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        let ended = child.wait().expect("an end");
        let mut err = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        assert_eq!(ended.code(), Some(code), "{err}");
        let expected =
            if code == 1 { "the log was not read to its end: interrupted" } else { "unknown: interrupted" };
        assert!(err.contains(expected), "{err}");
        drop(log);
    }
}
