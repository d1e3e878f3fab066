//! Violations that hunts find and find again, and properties that hold.

use crate::harness::{directory, ends, model, run, text};
use crate::hunting::{expected, hunt};
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// With more states than this a full search takes too long in a test.
const SMALL: u64 = 20_000;

#[test]
fn every_seeded_bug_is_found() {
    let (_dir, path) = directory();
    let slow = std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1");
    let seeds = if slow { 20 } else { 2 };
    let mut found = 0;
    for bug in expected().iter().filter(|e| e.violated && e.states.is_some_and(|n| n < 10_000_000)) {
        for seed in 1..=seeds {
            let seed = seed.to_string();
            let report = hunt(&[&bug.words()[..], &["--seed", &seed, "--out", &path("out")]].concat());
            assert_eq!(report["verdict"], "violated", "{:?} seed {seed}", bug.arguments);
            let finding = &report["findings"][0];
            let steps = finding["steps"].as_u64().expect("a number");
            assert!(steps >= bug.shortest.unwrap_or(0), "nothing is shorter than the shortest");
            assert!(steps <= finding["found_steps"].as_u64().expect("a number"), "shortened");
            assert_eq!(report["found"], 1);
            found += 1;
        }
    }
    assert!(found >= 20, "{found}");
}

#[test]
fn what_holds_is_never_violated() {
    let (_dir, path) = directory();
    let mut everything = 0;
    for good in expected().iter().filter(|e| !e.violated && e.states.is_some_and(|n| n < SMALL)) {
        let options = ["--seed", "5", "--max-states", "60000", "--out", &path("out")];
        let report = hunt(&[&good.words()[..], &options].concat());
        assert_eq!(report["verdict"], "unknown", "{:?}", good.arguments);
        assert!(report["findings"].as_array().is_some_and(Vec::is_empty));
        let all = report["coverage"]["everything"] == true;
        assert_eq!(all, report["reason"] == "everything");
        if all {
            everything += 1;
            // The sketch knows how many there are. Properties may add states of their own.
            let (seen, states) = (report["coverage"]["distinct_states"].as_f64(), good.states);
            assert!(seen.unwrap_or(0.0) > 0.93 * states.unwrap_or(0) as f64, "{seen:?} of {states:?}");
        }
    }
    assert!(everything > 5, "small systems are seen as a whole: {everything}");
    assert!(!fs::exists(path("out")).expect("known"), "without findings there is no directory");
    let out = ends(&["hunt", &model("abp/abp.mcrl2"), "--seed", "1", "--quiet", "--out", &path("out")], 3);
    assert!(
        out.starts_with("unknown: freedom from deadlock: nothing was found; every reachable state was seen")
    );
    assert!(!out.contains("holds"), "{out}");
}

/// Runs a command line that the program itself has written.
fn shell(line: &str, json: &str, out: &str) -> Value {
    let line = line.strip_prefix("gridlock ").expect("a command of ours");
    let line = format!("{} {line} --json {json} --quiet --out {out}", env!("CARGO_BIN_EXE_gridlock"));
    let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
    assert_eq!(output.status.code(), Some(1), "{line}: {}", text(&output.stderr));
    serde_json::from_slice(&fs::read(json).expect("a result")).expect("JSON")
}

#[test]
fn findings_are_saved_and_found_again() {
    let (_dir, path) = directory();
    let out = path("some where");
    let mut members = Vec::new();
    for (spec, property, portfolio) in [
        ("paxos/paxos-bug.mcrl2", Some("paxos/one_value.mcf"), "walk"),
        ("philosophers/philosophers-bug-8.mcrl2", None, "guided-dfs:even"),
        ("ieee1394/ieee1394-bug.mcrl2", None, "bitstate"),
        ("peterson/peterson-bug.mcrl2", Some("peterson/mutex.mcf"), "guided-bfs,rare"),
    ] {
        let (spec, property) = (model(spec), property.map(model));
        let mut words = vec![spec.as_str(), "--portfolio", portfolio, "--out", &out, "--seed", "11"];
        words.extend(property.iter().flat_map(|file| ["--property", file]));
        let report = hunt(&words);
        let finding = &report["findings"][0];
        let field = |name: &str| finding[name].as_str().unwrap_or_else(|| panic!("{name}: {finding}"));
        ends(&["replay", &spec, field("trace_file")], 0);
        for command in ["command", "from_seed"] {
            let again = shell(field(command), &path("again.json"), &path("again"));
            for part in ["trace", "end", "property", "found_steps", "steps", "message", "member"] {
                assert_eq!(again["findings"][0][part], finding[part], "{command}: {part}");
            }
        }
        // What is the same is not written twice; nothing is replaced.
        assert_eq!(hunt(&words)["findings"][0]["trace_file"], finding["trace_file"]);
        fs::write(field("trace_file"), "somebody else's").expect("written");
        let other = hunt(&words)["findings"][0]["trace_file"].clone();
        assert_ne!(other, finding["trace_file"]);
        assert_eq!(fs::read_to_string(field("trace_file")).expect("read"), "somebody else's");
        members.push(field("member").to_owned());
    }
    assert!(members.iter().any(|member| member.starts_with("guided")), "{members:?}");
}

#[test]
fn several_findings_differ() {
    let (_dir, path) = directory();
    let spec = model("ieee1394/ieee1394-bug.mcrl2");
    let words = [spec.as_str(), "--findings", "5", "--seed", "2", "--out", &path("out")];
    let report = hunt(&words);
    let findings = report["findings"].as_array().expect("findings");
    assert_eq!((findings.len(), report["reason"].as_str()), (5, Some("findings")));
    for (k, one) in findings.iter().enumerate() {
        assert_eq!(one["number"], k + 1);
        assert!(
            findings[..k].iter().all(|other| other["end"] != one["end"]),
            "deadlocks differ in their states"
        );
        ends(&["replay", &spec, one["trace_file"].as_str().expect("saved")], 0);
        for command in ["command", "from_seed"] {
            let again = shell(one[command].as_str().expect("a command"), &path("again.json"), &path("again"));
            let found = again["findings"].as_array().expect("findings");
            assert!(found.iter().any(|other| other["trace"] == one["trace"]), "{command} of finding {k}");
        }
    }
    assert_eq!(fs::read_dir(path("out")).expect("a directory").count(), 10);
}

/// The time budget is kept, even if single searches are long.
#[test]
fn budgets_are_kept() {
    let (_dir, path) = directory();
    let large = fs::read_to_string(model("philosophers/philosophers.mcrl2")).expect("a model");
    let place = large.find("eqn  N = ").expect("a parameter") + 9;
    let end = place + large[place..].find(';').expect("its end");
    let spec = path("large.mcrl2");
    fs::write(&spec, format!("{}18{}", &large[..place], &large[end..])).expect("written");
    let begun = Instant::now();
    let report = hunt(&[&spec, "--budget", "4s", "--memory", "600M", "--out", &path("out")]);
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
    assert_eq!((&report["verdict"], &report["reason"]), (&"unknown".into(), &"budget".into()));
    assert!(report["seed"].is_u64(), "a seed that nobody chose is reported");
    let report = hunt(&[&spec, "--max-states", "30000", "--workers", "3"]);
    assert_eq!((&report["states"], &report["reason"]), (&30_000.into(), &"max-states".into()));
    let report = hunt(&[&spec, "--max-jobs", "9", "--no-steering", "--portfolio", "walk,rare,dfs"]);
    assert_eq!((&report["searches"], &report["reason"]), (&9.into(), &"max-jobs".into()));
    let members = report["members"].as_array().expect("members");
    assert!(members.iter().all(|member| member["jobs"] == 3), "{members:?}");
}

#[test]
fn labels_are_preferred() {
    let (_dir, path) = directory();
    let (spec, property) = (model("abp/abp-bug.mcrl2"), model("abp/no_loss.mcf"));
    let words = [&spec, "--property", &property, "--portfolio", "beam", "--prefer", "frame_lost", "--out"];
    let report = hunt(&[&words[..], &[&path("out"), "--seed", "4"]].concat());
    assert_eq!(report["findings"][0]["member"], "beam");
    let refused = run(&["hunt", &spec, "--prefer", "no_such(_)"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

/// Violations that need many steps of one kind and none of another: no manager but the last may give up before the commit.
#[test]
fn aims_lead_far_into_large_systems() {
    let (_dir, path) = directory();
    let (spec, property) = (model("twophase/twophase-bug-12.mcrl2"), model("twophase/consistent.mcf"));
    let options = ["--portfolio", "aimed", "--max-states", "200000", "--seed", "3", "--out", &path("out")];
    let report = hunt(&[&[spec.as_str(), "--property", &property], &options[..]].concat());
    assert_eq!(report["findings"][0]["member"], "aimed");
    assert_eq!(report["findings"][0]["steps"], 25);
}

/// Jobs begin with 1,000 states. Jobs that find nothing new any more are followed by larger ones.
#[test]
fn a_system_a_little_larger_than_a_job_is_seen_as_a_whole() {
    let spec = model("slidingwindow/slidingwindow.mcrl2");
    let report = hunt(&[&spec, "--seed", "1", "--max-jobs", "2000"]);
    assert_eq!((&report["reason"], &report["coverage"]["everything"]), (&"everything".into(), &true.into()));
}
