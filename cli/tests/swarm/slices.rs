//! Searches by slices from outside: the default, checkpoints, the page.

use crate::harness::{command, directory, ends, model, run, swarm, text};
use serde_json::Value;
use std::fs;

#[test]
fn slices_are_the_default_unless_something_is_about_traces() {
    let spec = model("beverage/beverage.mcrl2");
    let plain = swarm(&spec, &["--never", "get_tea"]);
    assert_eq!((&plain["verdict"], &plain["exhaustive"]), (&"holds".into(), &true.into()));
    assert!(plain["swarm"].is_null() && plain["slices"]["subsystem"].is_array() && plain["states"].is_u64());
    for about_traces in [
        &["--unroll", "0"][..],
        &["--job-states", "1000"],
        &["--strategy", "order"],
        &["--iss", "dfs"],
        &["--window", "4"],
        &["--simulate-workers", "4"],
        &["--states", "10"],
        &["--compare-bfs"],
        &["--jobs", "prefix"],
    ] {
        let options = [&["--subsystem", "User", "--never", "get_tea"], about_traces].concat();
        let report = swarm(&spec, &options);
        assert!(report["swarm"].is_object() && report["slices"].is_null(), "{about_traces:?}");
        assert_eq!(report["verdict"], plain["verdict"]);
    }
}

#[test]
fn what_is_too_little_for_one_state_is_told_with_the_remedy() {
    let report = swarm(&model("beverage/beverage.mcrl2"), &["--job-memory", "100", "--subsystem", "User"]);
    assert_eq!((&report["verdict"], &report["reason"]), (&"unknown".into(), &"job-too-large".into()));
    let message = report["message"].as_str().expect("a message");
    assert!(message.contains("100 bytes") && message.contains("--job-memory"), "{message}");
}

#[test]
fn the_page_shows_the_slices() {
    let (_dir, path) = directory();
    let page = path("page.html");
    for (spec, property, found) in
        [("ieee1394/ieee1394-single.mcrl2", "--deadlock", false), ("abp/abp-bug.mcrl2", "--deadlock", false)]
    {
        run(&["check", &model(spec), "--search", "isv", property, "--report", &page]);
        let html = fs::read_to_string(&page).expect("written");
        for part in
            ["<h2>Sizes of slices</h2>", "<rect class=\"w0\"", "<h2>Largest slices</h2>", "activations"]
        {
            assert!(html.contains(part), "no {part}");
        }
        assert_eq!(html.contains("<h2>Counterexample</h2>"), found);
        crate::results::balanced(&html);
    }
}

#[cfg(unix)]
mod checkpoints {
    use super::*;
    use crate::harness::moments::{bytes_in, end_or, wait_for};
    use gridlock_lts::base::rng::Rng;
    use std::path::Path;
    use std::process::{Child, Command};

    /// A run of a second or more with thousands of activations.
    fn long(checkpoint: &str, philosophers: u32) -> Vec<String> {
        let spec = Path::new(checkpoint).with_extension("mcrl2");
        let text = fs::read_to_string(model("philosophers/philosophers-bug.mcrl2")).expect("a model");
        let n = text.lines().find(|line| line.starts_with("eqn  N = ")).expect("a number").to_owned();
        fs::write(&spec, text.replace(&n, &format!("eqn  N = {philosophers};"))).expect("written");
        let options = "--search isv --never Terminate --job-memory 300K --subsystem Philosopher(1) --resume";
        let mut all = vec!["check".to_owned(), spec.display().to_string(), "--checkpoint".to_owned()];
        all.push(checkpoint.to_owned());
        all.extend(options.split(' ').map(str::to_owned));
        all
    }

    fn spawn(arguments: &[String]) -> Child {
        command(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).spawn().expect("gridlock starts")
    }

    fn facts(dir: &str) -> Vec<Value> {
        let result = fs::read(Path::new(dir).join("result.json")).expect("a result");
        let result: Value = serde_json::from_slice(&result).expect("JSON");
        let own = ["verdict", "states", "transitions", "deadlocks"].map(|name| result[name].clone());
        let names =
            ["slices", "largest_states", "divided", "rounds", "activations", "states_sent", "states_loaded"];
        own.into_iter().chain(names.map(|name| result["slices"][name].clone())).collect()
    }

    #[test]
    fn a_killed_search_is_resumed() {
        let (_dir, path) = directory();
        let undisturbed = path("undisturbed");
        assert_eq!(spawn(&long(&undisturbed, 12)).wait().expect("an end").code(), Some(0));
        let expected = facts(&undisturbed);
        assert_eq!(expected[1], 531_440, "3^12 - 1 states");
        let slow = std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1");
        let (most, mut kills, mut runs, rng) = (if slow { 20 } else { 6 }, 0, 0, &mut Rng::new(3));
        let whole = bytes_in(&undisturbed);
        // A run may come to its end while somebody is about to kill it.
        while kills < most && runs < 2 * most {
            let place = path(&format!("killed-{runs}"));
            runs += 1;
            loop {
                let mut arguments = long(&place, 12);
                // The number of workers does not matter.
                arguments.extend(["--workers".to_owned(), (1 + kills % 3).to_string()]);
                let mut child = spawn(&arguments);
                let enough = bytes_in(&place) + rng.below(whole as usize / 3) as u64;
                let due = || kills < most && bytes_in(&place) >= enough;
                if end_or(&mut child, "an end", due).is_some() {
                    assert_eq!(child.wait().expect("an end").code(), Some(0));
                    break;
                }
                child.kill().expect("killed");
                child.wait().expect("an end");
                kills += 1;
                let status = run(&["status", &place]);
                assert!(matches!(status.status.code(), Some(0 | 2)), "{}", text(&status.stderr));
            }
            assert_eq!(facts(&place), expected, "after {kills} kills");
        }
        assert!(kills > 0, "nothing was killed in {runs} runs");
        // Once more, and nothing is left to do.
        let again = spawn(&long(&undisturbed, 12)).wait_with_output().expect("an end");
        let out = text(&again.stdout);
        assert!(out.starts_with("holds") && !out.contains(" 0 results resumed"), "{out}");
        assert!(ends(&["status", &undisturbed], 0).starts_with("finished: holds"));
        // What is different is named.
        for (more, says) in [
            (&["--never", "take(_, _)"][..], "properties is "),
            (&["--job-memory", "1M"], "job memory is 307200 there and 1048576 here"),
            (&["--subsystem", "Philosopher(2)"], "subsystem is "),
            (&["--strategy", "even"], "method is slices there and traces here"),
        ] {
            let mut other = long(&undisturbed, 12);
            other.retain(|word| {
                more[0] != "--subsystem" || !["--subsystem", "Philosopher(1)"].contains(&&word[..])
            });
            other.retain(|word| more[0] != "--job-memory" || !["--job-memory", "300K"].contains(&&word[..]));
            other.extend(more.iter().map(|word| (*word).to_owned()));
            if more[0] == "--strategy" {
                other.extend(["--unroll".to_owned(), "0".to_owned()]);
            }
            let refused = spawn(&other).wait_with_output().expect("an end");
            assert!(text(&refused.stderr).contains(says), "{more:?}: {}", text(&refused.stderr));
        }
        let again: Vec<String> = long(&undisturbed, 12).into_iter().filter(|a| a != "--resume").collect();
        let refused = spawn(&again).wait_with_output().expect("an end");
        assert!(text(&refused.stderr).contains("say --resume to continue it"));
    }

    #[test]
    fn signals_and_limits_leave_something_to_resume() {
        let (_dir, path) = directory();
        let place = path("run");
        let mut before = 0;
        for signal in ["INT", "TERM", "USR1"] {
            let child = spawn(&long(&place, 16));
            let status = || -> Option<Value> {
                serde_json::from_slice(&run(&["status", &place, "--json"]).stdout).ok()
            };
            let answers = |status: &Value| status["answers"].as_u64().expect("a number");
            wait_for("an answer", || {
                status().is_some_and(|status| answers(&status) > before && status["state"] == "running")
            });
            let second = spawn(&long(&place, 16)).wait_with_output().expect("an end");
            assert_eq!(second.status.code(), Some(2));
            assert!(text(&second.stderr).contains("another process uses the checkpoint"));
            let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
            assert!(sent.expect("kill").success());
            let output = child.wait_with_output().expect("an end");
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            assert_eq!(output.status.code(), Some(3), "{out}{err}");
            assert!(
                out.starts_with("unknown (interrupted, resumable): never Terminate: interrupted"),
                "{out}{err}"
            );
            let stopped = status().expect("a status");
            assert_eq!((&stopped["state"], &stopped["reason"]), (&"stopped".into(), &"interrupted".into()));
            before = answers(&stopped);
            assert!(stopped["page"]["slices"]["states"].is_u64());
            let shown = ends(&["status", &place], 0);
            assert!(shown.contains("states waiting") && shown.contains("jobs slice"), "{shown}");
        }
    }

    /// A limit on the size of files stands for a full disk: a program sees both in the same way.
    #[test]
    fn a_full_disk_leaves_something_to_resume() {
        let (_dir, path) = directory();
        let place = path("run");
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_gridlock")]);
        let output = shell.args(long(&place, 12)).output().expect("a shell");
        let out = text(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{out}{}", text(&output.stderr));
        assert!(out.starts_with("unknown: never Terminate: the checkpoint cannot be written: "), "{out}");
        assert!(ends(&["status", &place], 0).starts_with("stopped: "));
        let output = spawn(&long(&place, 12)).wait_with_output().expect("an end");
        let out = text(&output.stdout);
        assert!(out.starts_with("holds: ") && !out.contains(" 0 results resumed"), "{out}");
    }

    /// The path to a finding is found again, also if the finding itself is in the checkpoint.
    #[test]
    fn a_finding_is_resumed() {
        let (_dir, path) = directory();
        let (place, spec) = (path("run"), model("abp/abp-bug.mcrl2"));
        let property = model("abp/no_loss.mcf");
        let options = ["--property", &property, "--checkpoint", &place, "--resume"];
        let first = swarm(&spec, &options);
        let second = swarm(&spec, &options);
        assert_eq!(first["verdict"], "violated");
        assert_eq!(first["trace"], second["trace"]);
        assert_eq!(second["slices"]["resumed"], second["slices"]["activations"]);
    }
}
