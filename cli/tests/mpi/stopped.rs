//! Runs on ranks that are stopped, and the checkpoints and results that they leave; logs.

use crate::harness::moments::{wait_for, wait_until_free};
use crate::harness::{directory, ends, model, text};
use crate::ranks::{ends_as_its_ranks, gridlock, processes, signal};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Child;

/// A run of minutes, unless it is stopped.
fn long(checkpoint: &str) -> Vec<String> {
    let spec = model("slidingwindow/slidingwindow.mcrl2");
    let options = "--search isv --subsystem Sender --unroll 1 --jobs trace --resume --job-memory 64M";
    let mut all = vec!["check".to_owned(), spec, "--checkpoint".to_owned(), checkpoint.to_owned()];
    all.extend(options.split(' ').map(str::to_owned));
    all
}

fn start(line: &[String]) -> Child {
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    gridlock(3, &line).spawn().expect("mpirun starts")
}

/// The answers on disk, and the state of the run.
fn status(place: &str) -> (u64, String) {
    let status: Value = serde_json::from_str(&ends(&["status", place, "--json"], 0)).expect("JSON");
    (status["answers"].as_u64().expect("a number"), status["state"].as_str().expect("a word").to_owned())
}

#[test]
fn signals_to_mpirun_leave_something_to_resume() {
    let (_dir, path) = directory();
    let (place, logs) = (path("run"), path("logs"));
    let mut before = 0;
    // mpirun passes on USR1 and nothing else happens to it. TERM and INT it passes on, too, but then it ends with a code of
    // its own and, after a second or two, kills what is still there: on a busy machine that may be before anything is said.
    // If the queueing system tells the ranks themselves, it does not.
    for (name, to_rank) in
        [("USR1", None), ("TERM", None), ("INT", None), ("TERM", Some(0)), ("USR1", Some(0))]
    {
        let mut line = long(&place);
        line.extend(["--log-dir".to_owned(), logs.clone()]);
        let child = start(&line);
        let page = Path::new(&place).join("status.json");
        let result = Path::new(&place).join("result.json");
        wait_for("a page", || page.exists() && !result.exists());
        wait_for("an answer", || status(&place).0 > before);
        assert!(signal(name, to_rank.map_or(child.id(), |rank: usize| processes(&place)[rank])));
        let output = child.wait_with_output().expect("an end");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        // MPICH has a word of its own on standard output.
        let said = out.lines().any(|line| line.starts_with("unknown (interrupted, resumable): "));
        if name == "USR1" || to_rank.is_some() {
            assert!(ends_as_its_ranks(&output, 3), "{name}: {out}{err}");
            assert!(said, "{name}: {out}{err}");
        } else {
            // MPICH's launcher may end with 0 all the same.
            let any_end = std::env::var_os("GRIDLOCK_MPIRUN").is_some();
            assert!(any_end || !output.status.success(), "{name}: {out}{err}");
        }
        wait_for("the end of all ranks", || processes(&place).is_empty());
        wait_until_free(&place);
        let (answers, state) = status(&place);
        assert!(!said || state == "stopped", "{name}: {state}");
        assert!(answers > before, "{answers} after {before}");
        before = answers;
    }
    // Each rank has written a log of its own.
    for rank in 0..3 {
        let log = fs::read_to_string(Path::new(&logs).join(format!("rank-{rank}.log"))).expect("a log");
        assert_eq!(log.matches("started").count(), 5, "{log}");
        assert!(log.contains(&format!("rank={rank}")), "{log}");
    }
    assert_eq!(fs::read_dir(&logs).expect("logs").count(), 3);
}

#[test]
fn a_time_limit_is_that_of_the_whole_run() {
    let (_dir, path) = directory();
    let place = path("run");
    // On a slow machine the time may be over before all ranks are there, and then nothing is left behind.
    for limit in ["2s", "8s", "32s", "128s"] {
        let mut line = long(&place);
        line.extend(["--time-limit", limit].map(str::to_owned));
        let output = start(&line).wait_with_output().expect("an end");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{out}{err}");
        assert!(out.contains("freedom from deadlock: the time limit"), "{out}{err}");
        if Path::new(&place).exists() {
            assert!(out.starts_with("unknown (interrupted, resumable): "), "{out}{err}");
            assert_eq!(status(&place).1, "stopped");
            return;
        }
    }
    panic!("no search within minutes");
}

#[test]
fn a_second_run_on_the_same_checkpoint_is_refused() {
    let (_dir, path) = directory();
    let place = path("run");
    let first = start(&long(&place));
    wait_for("a page", || Path::new(&place).join("status.json").exists());
    let second = start(&long(&place)).wait_with_output().expect("an end");
    assert_eq!(second.status.code(), Some(2), "{}", text(&second.stdout));
    assert!(text(&second.stderr).contains("another process uses the checkpoint"), "{}", text(&second.stderr));
    assert!(signal("USR1", first.id()));
    let first = first.wait_with_output().expect("an end");
    let (out, err) = (text(&first.stdout), text(&first.stderr));
    assert!(ends_as_its_ranks(&first, 3), "the first goes on: {out}{err}");
}
