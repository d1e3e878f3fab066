//! Runs that are killed, stopped and resumed.
#![cfg(unix)]

use crate::harness::moments::{bytes_in, end_or, wait_for};
use crate::harness::{command, directory, ends, model, run, text};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};

/// Many traces, for some seconds of work.
fn long(checkpoint: &str, unroll: &str) -> Vec<String> {
    let spec = model("slidingwindow/slidingwindow.mcrl2");
    let options =
        ["--search", "isv", "--subsystem", "Sender", "--unroll", unroll, "--jobs", "trace", "--resume"];
    let mut all = vec!["check".to_owned(), spec, "--checkpoint".to_owned(), checkpoint.to_owned()];
    all.extend(options.map(str::to_owned));
    all
}

fn spawn(arguments: &[String]) -> Child {
    command(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).spawn().expect("gridlock starts")
}

/// The facts that must be the same, no matter how often a run was killed.
fn facts(result: &Value) -> Vec<Value> {
    let names =
        ["searches", "ids_explored", "ids_pruned", "largest_states", "total_states", "total_transitions"];
    let mut facts: Vec<Value> = names.iter().map(|name| result["swarm"][*name].clone()).collect();
    facts.extend(["verdict", "reason"].map(|name| result[name].clone()));
    facts
}

/// Kills a run again and again, each time when there is a little more in its checkpoint, until it comes to its end. `whole`
/// is the size of the checkpoint then.
fn kill_and_resume(place: &str, kills: &mut u32, most: u32, whole: u64) {
    let mut more = 0;
    loop {
        let mut arguments = long(place, "0");
        // The number of workers does not matter.
        arguments.extend(["--workers".to_owned(), (1 + *kills % 3).to_string()]);
        let mut child = spawn(&arguments);
        let enough = bytes_in(place) + more;
        if end_or(&mut child, "an end", || *kills < most && bytes_in(place) >= enough).is_some() {
            assert_eq!(child.wait().expect("an end").code(), Some(3));
            return;
        }
        child.kill().expect("killed");
        child.wait().expect("an end");
        *kills += 1;
        more += whole / 40;
        let status = run(&["status", place]);
        // It may have been killed before there was anything.
        assert!(matches!(status.status.code(), Some(0 | 2)), "{}", text(&status.stderr));
    }
}

/// More workers need a wider window, which decides the sequence of jobs. So a run that is resumed keeps the one it has.
#[test]
fn the_window_is_as_wide_as_the_workers_need() {
    let (_dir, path) = directory();
    let spec = model("twophase/twophase.mcrl2");
    let line = |workers: &str, more: &[&str]| {
        let swarm =
            ["check", &spec, "--search", "isv", "--jobs", "trace", "--subsystem", "TransactionManager"];
        let result = ends(&[&swarm[..], &["--workers", workers, "--json", "-"], more].concat(), 0);
        serde_json::from_str::<Value>(&result).expect("JSON")["swarm"].clone()
    };
    assert_eq!(line("64", &[])["window"], 64);
    assert_eq!(line("100", &["--window", "7"])["window"], 7);
    let place = path("run");
    let many = line("100", &["--checkpoint", &place]);
    assert_eq!(many["window"], 256);
    let one = line("1", &["--checkpoint", &place, "--resume"]);
    assert_eq!((&one["window"], &one["searches"]), (&many["window"], &many["searches"]));
}

#[test]
fn a_killed_run_is_resumed() {
    let (_dir, path) = directory();
    let undisturbed = path("undisturbed");
    assert_eq!(spawn(&long(&undisturbed, "0")).wait().expect("an end").code(), Some(3));
    let result = |dir: &str| -> Value {
        serde_json::from_slice(&fs::read(Path::new(dir).join("result.json")).expect("a result"))
            .expect("JSON")
    };
    let expected = facts(&result(&undisturbed));
    assert!(expected[0].as_u64().is_some_and(|searches| searches > 1000), "{expected:?}");
    let slow = std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1");
    let (most, mut kills, mut runs) = (if slow { 20 } else { 5 }, 0, 0);
    let mut killed = String::new();
    // A fast machine may need several runs to be killed so often.
    while kills < most {
        killed = path(&format!("killed-{runs}"));
        runs += 1;
        let before = kills;
        kill_and_resume(&killed, &mut kills, most, bytes_in(&undisturbed));
        assert!(kills > before, "too fast to be killed");
        assert_eq!(facts(&result(&killed)), expected, "after {kills} kills");
    }
    assert!(ends(&["status", &killed], 0).starts_with("finished: unknown: nothing was found while cycles"));
    // Other options are refused by name, and so is a second beginning.
    let mut other = long(&killed, "0");
    other.extend(["--strategy".to_owned(), "order".to_owned()]);
    let refused = spawn(&other).wait_with_output().expect("an end");
    assert!(
        text(&refused.stderr).contains("strategy is even there and order here"),
        "{}",
        text(&refused.stderr)
    );
    let again: Vec<String> = long(&killed, "0").into_iter().filter(|a| a != "--resume").collect();
    let refused = spawn(&again).wait_with_output().expect("an end");
    assert!(text(&refused.stderr).contains("say --resume to continue it"));
}

/// The lock is released with the process that holds it, so `status` need not wait until the page is old.
#[test]
fn status_knows_at_once_that_a_run_was_killed() {
    let (_dir, path) = directory();
    let place = path("run");
    let mut child = spawn(&long(&place, "1"));
    let page = Path::new(&place).join("status.json");
    wait_for("a page", || page.exists());
    let state = || {
        let status: Value = serde_json::from_str(&ends(&["status", &place, "--json"], 0)).expect("JSON");
        status["state"].as_str().expect("a word").to_owned()
    };
    assert_eq!(state(), "running");
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    assert_eq!(state(), "silent");
}

#[test]
fn signals_and_limits_leave_something_to_resume() {
    use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
    let (_dir, path) = directory();
    let place = path("run");
    for signal in [SIGINT, SIGTERM, SIGUSR1] {
        let child = spawn(&long(&place, "1"));
        let mut running = Value::Null;
        wait_for("a page of a run that goes on", || {
            let said = run(&["status", &place, "--json"]);
            running = serde_json::from_slice(&said.stdout).unwrap_or_default();
            running["state"] == "running"
        });
        let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        let output = child.wait_with_output().expect("an end");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{out}{err}");
        assert!(
            out.starts_with("unknown (interrupted, resumable): freedom from deadlock: interrupted"),
            "{out}{err}"
        );
        let stopped: Value = serde_json::from_str(&ends(&["status", &place, "--json"], 0)).expect("JSON");
        assert_eq!((&stopped["state"], &stopped["reason"]), (&"stopped".into(), &"interrupted".into()));
        assert!(stopped["answers"].as_u64() >= running["answers"].as_u64());
    }
    let mut limited = long(&place, "1");
    limited.extend(["--time-limit".to_owned(), "1500ms".to_owned()]);
    let output = spawn(&limited).wait_with_output().expect("an end");
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        out.starts_with("unknown (interrupted, resumable): freedom from deadlock: the time limit"),
        "{out}"
    );
}

/// A limit on the size of files stands for a full disk: a program sees both in the same way.
#[test]
fn a_full_disk_leaves_something_to_resume() {
    let (_dir, path) = directory();
    let place = path("run");
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_gridlock")]);
    let output = shell.args(long(&place, "0")).output().expect("a shell");
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{out}{}", text(&output.stderr));
    assert!(out.starts_with("unknown: freedom from deadlock: the checkpoint cannot be written: "), "{out}");
    assert!(ends(&["status", &place], 0).starts_with("stopped: "));
    let output = spawn(&long(&place, "0")).wait_with_output().expect("an end");
    let out = text(&output.stdout);
    assert!(out.starts_with("unknown (bounded): ") && !out.contains(" 0 answers resumed"), "{out}");
}
