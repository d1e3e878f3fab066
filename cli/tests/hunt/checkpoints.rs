//! Hunts that are killed, stopped and resumed.

use crate::harness::moments::{bytes_in, end_or, wait_for, wait_until_free};
use crate::harness::{command, directory, ends, model, text};
use crate::hunting::{hunt, strip};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn words<'a>(spec: &'a str, out: &'a str) -> Vec<&'a str> {
    vec![
        spec,
        "--property",
        "",
        "--seed",
        "6",
        "--job-memory",
        "32M",
        "--findings",
        "99",
        "--max-jobs",
        "400",
        "--out",
        out,
    ]
}

#[test]
fn a_killed_hunt_is_resumed() {
    let (_dir, path) = directory();
    let (spec, property, out) = (model("paxos/paxos-bug.mcrl2"), model("paxos/one_value.mcf"), path("out"));
    let mut words = words(&spec, &out);
    words[2] = &property;
    let (whole, place) = (path("whole"), path("run"));
    let mut undisturbed = hunt(&[&words[..], &["--checkpoint", &whole]].concat());
    let with = [&words[..], &["--checkpoint", &place, "--resume"]].concat();
    let mut kills = 0;
    for _ in 0..5 {
        let enough = bytes_in(&place) + bytes_in(&whole) / 8;
        let mut child =
            command(&[&["hunt", "--quiet"], &with[..]].concat()).spawn().expect("gridlock starts");
        if end_or(&mut child, "answers", || bytes_in(&place) >= enough).is_none() {
            kills += 1;
            child.kill().expect("a child");
            child.wait().expect("an end");
        }
        wait_until_free(&place);
    }
    let mut resumed = hunt(&with);
    assert!(kills > 0, "nobody was killed");
    assert!(resumed["resumed"].as_u64() > Some(0), "there was something to resume");
    strip(&mut undisturbed);
    strip(&mut resumed);
    assert_eq!(undisturbed, resumed);
    let status = ends(&["status", &place], 0);
    assert!(status.contains("findings") && status.contains("seed 6"), "{status}");
    // Other options are refused by name.
    let other = [&with[..], &["--no-steering"]].concat();
    let output = command(&[&["hunt"], &other[..]].concat()).output().expect("gridlock starts");
    assert!(text(&output.stderr).contains("steering is yes there and no here"), "{}", text(&output.stderr));
}

#[test]
fn a_signal_gives_the_summary() {
    let (_dir, path) = directory();
    let (spec, place) = (model("ieee1394/ieee1394-3.mcrl2"), path("run"));
    let words = ["hunt", &spec, "--checkpoint", &place, "--out", &path("out"), "--seed", "1"];
    let child = command(&words).spawn().expect("gridlock starts");
    wait_for("the status", || Path::new(&place).join("status.json").exists());
    let running: Value = serde_json::from_str(&ends(&["status", &place, "--json"], 0)).expect("JSON");
    assert_eq!(running["state"], "running", "{running}");
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    let output = child.wait_with_output().expect("an end");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{out}{err}");
    assert!(
        out.starts_with("unknown: freedom from deadlock: nothing was found; interrupted, --resume"),
        "{out}"
    );
    assert!(out.contains("local states") && err.contains("seed 1 "), "{out}{err}");
    let stopped: Value = serde_json::from_str(&ends(&["status", &place, "--json"], 0)).expect("JSON");
    assert_eq!((&stopped["state"], &stopped["reason"]), (&"stopped".into(), &"interrupted".into()));
}
