//! Breadth-first search that is killed, stopped and resumed, from outside: it has the same result, or names the file that was
//! changed.
#![cfg(unix)]

#[allow(dead_code)]
mod harness;

use harness::moments::end_or;
use harness::{command, directory, ends, model, run, text};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The philosophers with another number of them.
fn philosophers(file: &str, n: u32) -> String {
    let text = fs::read_to_string(model("philosophers/philosophers-bug.mcrl2")).expect("a model");
    let line = text.lines().find(|line| line.starts_with("eqn  N = ")).expect("a number").to_owned();
    fs::write(file, text.replace(&line, &format!("eqn  N = {n};"))).expect("written");
    file.to_owned()
}

/// The facts that must be the same, no matter how often a run was interrupted.
fn facts(result: &Value) -> Vec<Value> {
    ["verdict", "reason", "states", "transitions", "deadlocks", "depth", "trace", "end"]
        .map(|name| result[name].clone())
        .to_vec()
}

fn parsed(out: &[u8]) -> Value {
    serde_json::from_slice(out).unwrap_or_else(|e| panic!("{e}: {}", text(out)))
}

fn result(line: &[&str]) -> Value {
    parsed(&run(&[line, &["--json", "-"]].concat()).stdout)
}

#[test]
fn a_killed_search_is_resumed() {
    let (_dir, path) = directory();
    let spec = philosophers(&path("spec.mcrl2"), 12);
    let line = ["check", &spec, "--never", "Terminate"];
    let expected = facts(&result(&line));
    assert_eq!(expected[0], "holds");
    let place = path("run");
    let kept = ["--checkpoint", &place, "--resume", "--checkpoint-every", "0s"];
    for kills in 0..20u32 {
        let workers = (1 + kills % 3).to_string();
        let all = [&line[..], &kept, &["--workers", &workers, "--json", "-"]].concat();
        let mut child = command(&all).spawn().expect("gridlock starts");
        // Every time there is more in the checkpoint the search is killed.
        let manifest = Path::new(&place).join("manifest.json");
        let seen = fs::read(&manifest).unwrap_or_default();
        let more = || kills < 4 && fs::read(&manifest).unwrap_or_default() != seen;
        if end_or(&mut child, "an end", more).is_none() {
            child.kill().expect("killed");
        }
        let output = child.wait_with_output().expect("an end");
        if output.status.code() == Some(0) {
            let result = parsed(&output.stdout);
            assert_eq!(facts(&result), expected, "after {kills} kills");
            assert_eq!(result["checkpoint"]["resumed_states"].as_u64() > Some(0), kills > 0);
            assert!(kills > 0, "it was never killed");
            assert!(ends(&["status", &place], 0).starts_with("finished: holds"));
            return;
        }
        assert_eq!(output.status.code(), None, "{}", text(&output.stderr));
        assert!(ends(&["status", &place], 0).starts_with("silent: "));
    }
    panic!("it never came to its end");
}

#[test]
fn limits_leave_something_to_resume() {
    let (_dir, path) = directory();
    // The states alone take 37 MiB.
    let spec = philosophers(&path("spec.mcrl2"), 14);
    let line = ["check", &spec, "--never", "Terminate", "--reduce", "off"];
    let expected = facts(&result(&line));
    for (limit, reason, word) in [
        (["--max-states", "90000"], "max-states", "interrupted"),
        (["--max-depth", "9"], "max-depth", "interrupted"),
        (["--max-memory", "40M"], "max-memory", "memory"),
    ] {
        let place = path(reason);
        let stopped = command(&[&line[..], &limit, &["--checkpoint", &place]].concat()).output();
        let stopped = stopped.expect("gridlock starts");
        let out = text(&stopped.stdout);
        assert_eq!(stopped.status.code(), Some(3), "{out}{}", text(&stopped.stderr));
        assert!(out.starts_with(&format!("unknown ({word}, resumable): ")), "{out}");
        assert!(out.contains("--resume continues"), "{out}");
        if word == "memory" {
            assert!(out.contains("--reduce on, or slices (--search isv)"), "{out}");
        }
        let status = parsed(ends(&["status", &place, "--json"], 0).as_bytes());
        assert_eq!((&status["state"], &status["reason"]), (&"stopped".into(), &reason.into()), "{status}");
        let kept = status["page"]["levels"]["kept_states"].as_u64();
        assert_eq!(kept, status["answered_states"].as_u64(), "{status}");
        assert!(kept > Some(1), "{status}");
        let resumed = result(&[&line[..], &["--checkpoint", &place, "--resume"]].concat());
        assert_eq!(facts(&resumed), expected, "{reason}");
        assert_eq!(resumed["checkpoint"]["resumed_states"].as_u64(), kept, "{resumed}");
    }
}

/// A counterexample behind the checkpoint, with and without reduction, and with tables on demand.
#[test]
fn counterexamples_are_the_same() {
    let (_dir, path) = directory();
    let philosophers = philosophers(&path("spec.mcrl2"), 8);
    let queue = model("abp/abp-bug.mcrl2");
    for (k, line) in [
        &["check", &philosophers, "--reduce", "on"][..],
        &["check", &philosophers],
        &["check", &queue, "--tables", "on-demand", "--property", &model("abp/no_loss.mcf")],
    ]
    .iter()
    .enumerate()
    {
        let expected = facts(&result(line));
        assert_eq!(expected[0], "violated", "{line:?}");
        let place = path(&format!("run-{k}"));
        let kept = ["--checkpoint", &place, "--resume"];
        for depth in ["2", "4"] {
            let stopped = result(&[line, &kept[..], &["--max-depth", depth]].concat());
            assert_eq!(stopped["reason"], "max-depth", "{line:?}");
        }
        assert_eq!(facts(&result(&[line, &kept[..]].concat())), expected, "{line:?}");
    }
}

#[test]
fn what_is_not_as_it_was_is_named() {
    let (_dir, path) = directory();
    let spec = model("philosophers/philosophers-8.mcrl2");
    let place = path("run");
    let line = ["check", &spec, "--checkpoint", &place];
    ends(&[&line[..], &["--max-depth", "5"]].concat(), 3);
    let refused = |more: &[&str], says: &[&str]| {
        let output = run(&[&line[..], more].concat());
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}{err}", text(&output.stdout));
        assert!(says.iter().all(|word| err.contains(word)), "{more:?}: {err}");
    };
    refused(&[], &["say --resume to continue it"]);
    refused(&["--resume", "--reduce", "on"], &["reduction is off there and verdicts here"]);
    refused(&["--resume", "--never", "Terminate"], &["properties is "]);
    refused(&["--resume", "--reduce", "auto"], &["say --reduce on or off"]);
    refused(&["--resume", "--search", "dfs"], &["--checkpoint belongs to --search"]);
    for file in ["manifest.json", "levels-001-00000"] {
        let file = Path::new(&place).join(file);
        let name = file.file_name().and_then(|name| name.to_str()).expect("a name");
        let whole = fs::read(&file).expect("a file");
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 4;
        for (content, says) in
            [(Some(&whole[..whole.len() - 3]), "damaged"), (Some(&flipped), "damaged"), (None, "missing")]
        {
            match content {
                Some(content) => fs::write(&file, content).expect("written"),
                None => fs::remove_file(&file).expect("removed"),
            }
            refused(&["--resume"], &[name, says, "begin again in another directory"]);
            fs::write(&file, &whole).expect("written");
        }
    }
    let formula = path("response.mcf");
    fs::write(&formula, "nu X. mu Y. [true]Y && <true>X").expect("written");
    refused(&["--resume", "--property", &formula], &["not the game of a formula"]);
    let out = ends(&[&line[..], &["--resume"]].concat(), 0);
    assert!(out.contains("resumed at depth 5 with"), "{out}");
}

/// A limit on the size of files stands for a full disk: a program sees both in the same way.
#[test]
fn a_full_disk_costs_no_verdict() {
    let (_dir, path) = directory();
    let spec = philosophers(&path("spec.mcrl2"), 12);
    let place = path("run");
    let line = ["check", &spec, "--never", "Terminate", "--checkpoint", &place, "--resume"];
    let full = |more: &[&str]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 200; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_gridlock")]);
        shell.args(line).args(more).output().expect("a shell")
    };
    let stopped = full(&["--checkpoint-every", "0s", "--max-states", "400000"]);
    let out = text(&stopped.stdout);
    assert_eq!(stopped.status.code(), Some(3), "{out}{}", text(&stopped.stderr));
    assert!(out.contains("the checkpoint could not be written to the end: "), "{out}");
    assert!(text(&stopped.stderr).contains("the search goes on without"), "{}", text(&stopped.stderr));
    let output = full(&["--checkpoint-every", "0s"]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}{}", text(&output.stderr));
    assert!(out.starts_with("holds") && out.contains("resumed at depth"), "{out}");
    assert_eq!(facts(&result(&line)), facts(&result(&line[..4])), "the checkpoint is whole");
}
